# SPDX-License-Identifier: Apache-2.0
"""The sample prover: random points, evaluated exactly."""
