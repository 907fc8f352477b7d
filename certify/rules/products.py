# SPDX-License-Identifier: Apache-2.0
"""Array products for the checker: numpy's own compiled loops, or a BLAS where the user of this run allows it.

Guarantee: each entry is an inner product evaluated in binary64 in some order, with or without FMA, so it differs from the exact one by
at most gamma_(n+1) |A||B| when no operation underflows or overflows; the caller keeps operands 0 or at least 2^-300 in size.
`optimize=False` keeps einsum away from BLAS, so no assumption on a BLAS is needed; with `blas`, the BLAS must keep the same guarantee.
"""

from __future__ import annotations

import numpy as np

from certify.rules.balls import Array


def matmul(rows: Array, matrix: Array, blas: bool = False) -> Array:
    """Return rows (r, m) times matrix (m, n)."""
    product: Array = rows @ matrix if blas else np.einsum("rm,mn->rn", rows, matrix, optimize=False)
    return product


def matmul_transposed(rows: Array, matrix: Array, blas: bool = False) -> Array:
    """Return rows (r, n) times the transpose of matrix (m, n)."""
    product: Array = rows @ matrix.T if blas else np.einsum("rn,mn->rm", rows, matrix, optimize=False)
    return product


def dot(left: Array, right: Array) -> Array:
    """Return the inner product of each row of left (r, n) with the same row of right (r, n), or with right (n,)."""
    product: Array = np.einsum("rn,rn->r" if right.ndim == 2 else "rn,n->r", left, right, optimize=False)
    return product
