# SPDX-License-Identifier: Apache-2.0
"""The prover for neural networks: interval and CROWN bounds, and an attack whose hits are replayed exactly."""
