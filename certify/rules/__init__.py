# SPDX-License-Identifier: Apache-2.0
"""The rules of inference: each module holds the mathematics and its soundness argument, and knows no certificate."""
