# SPDX-License-Identifier: Apache-2.0
"""Zero-knowledge arguments about private networks: the verifier is part of the checker, the prover is untrusted."""
