# SPDX-License-Identifier: Apache-2.0
"""The prover of claims about private networks."""
