# SPDX-License-Identifier: Apache-2.0
"""Compiled arithmetic of the prover; the verifier never imports it."""
