# SPDX-License-Identifier: Apache-2.0
"""Layers of trees of fractions, in planes: their parents, and the sums of the rounds that are about them.

Entry i of a layer with n entries meets entry i + n/2; numerators p and denominators q are arrays [degree, n]. A sum over entries counts entry (o, i),
o outer and i inner, with weight outer[o] inner[i]: loops run over o, and leave a sum for each i, which the caller weighs. Either half of a layer
holds what is left of it in its first `size` entries. Guarantee: words below p give the results of the field, below p.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from certify_zk.kernels.planes import bind, multiply, multiply_add, subtract, weigh

STRIP = 256
"""Elements of a strip, so that what a loop keeps of all its operands fits the first caches."""


@njit(cache=True, nogil=True)
def join(p, q, above_p, above_q, first, last):  # type: ignore[no-untyped-def]
    """Write the parents [first, last) of a layer: (p0 q1 + p1 q0, q0 q1)."""
    half = p.shape[1] // 2
    for i in range(first, last, STRIP):
        n = min(STRIP, last - i)
        multiply(above_p, i, p, i, q, half + i, n)
        multiply_add(above_p, i, p, half + i, q, i, n)
        multiply(above_q, i, q, i, q, half + i, n)


@njit(cache=True, nogil=True)
def weigh_all(out, a, m, first, last):  # type: ignore[no-untyped-def]
    """Add entries [first, last) of the second half of `a`, times the constant of a matrix, to those of `out`."""
    half = a.shape[1] // 2
    for i in range(first, last, STRIP):
        weigh(out, half + i, a, half + i, m, min(STRIP, last - i))


@njit(cache=True, nogil=True)
def general_round(p, q, size, inner, outer, sums, challenge, bound, first, last):  # type: ignore[no-untyped-def]
    """Add to `sums` [2, degree, inner] constant and quadratic coefficient of the sum of p0 q1 + q0 p1 over outer numbers [first, last).

    With `bound`, entries are first bound at the constant of the matrix `challenge`, from `size` to size / 2; `outer` [n, degree, degree] are
    matrices.
    """
    split, degree = p.shape[1] // 2, len(p)
    low = np.empty((degree, STRIP), np.uint64)
    slopes = np.empty((4, degree, STRIP), np.uint64)
    half = size // 4 if bound else size // 2
    for o in range(first, last):
        for start in range(0, inner, STRIP):
            n, i = min(STRIP, inner - start), o * inner + start
            if bound:
                for at in (i, i + half, split + i, split + i + half):
                    bind(p, at, at + size // 2, challenge, n)
                    bind(q, at, at + size // 2, challenge, n)
            add_sums(p, q, i, half, split, low, slopes, sums, start, outer[o], n)


@njit(cache=True, nogil=True)
def add_sums(p, q, i, half, split, low, slopes, sums, start, weight, n):  # type: ignore[no-untyped-def]
    """Add a strip's part to the sums of `general_round`; `low` and `slopes` are room for a strip and for four, `weight` is a matrix."""
    multiply(low, 0, p, i, q, split + i, n)
    multiply_add(low, 0, q, i, p, split + i, n)
    weigh(sums[0], start, low, 0, weight, n)
    subtract(slopes[0], 0, p, i + half, p, i, n)
    subtract(slopes[1], 0, q, split + i + half, q, split + i, n)
    subtract(slopes[2], 0, q, i + half, q, i, n)
    subtract(slopes[3], 0, p, split + i + half, p, split + i, n)
    multiply(low, 0, slopes[0], 0, slopes[1], 0, n)
    multiply_add(low, 0, slopes[2], 0, slopes[3], 0, n)
    weigh(sums[1], start, low, 0, weight, n)


@njit(cache=True, nogil=True)
def leaf_round(q, size, inner, outer, factor, sums, challenge, bound, first, last):  # type: ignore[no-untyped-def]
    """As `general_round` where numerators are 1: the constant of the sum of q0 + q1 + factor q0 q1, but the coefficient of that of q0 q1."""
    split, degree = q.shape[1] // 2, len(q)
    low, more, found = np.empty((degree, STRIP), np.uint64), np.empty((degree, STRIP), np.uint64), np.empty((degree, STRIP), np.uint64)
    half = size // 4 if bound else size // 2
    for o in range(first, last):
        for start in range(0, inner, STRIP):
            n, i = min(STRIP, inner - start), o * inner + start
            if bound:
                for at in (i, i + half, split + i, split + i + half):
                    bind(q, at, at + size // 2, challenge, n)
            more[:] = np.uint64(0)
            more[0] = np.uint64(1)
            weigh(more, 0, q, split + i, factor, n)
            for d in range(degree):
                low[d, :n] = q[d, split + i : split + i + n]
            multiply_add(low, 0, q, i, more, 0, n)
            weigh(sums[0], start, low, 0, outer[o], n)
            subtract(low, 0, q, i + half, q, i, n)
            subtract(more, 0, q, split + i + half, q, split + i, n)
            multiply(found, 0, low, 0, more, 0, n)
            weigh(sums[1], start, found, 0, outer[o], n)


@njit(cache=True, nogil=True)
def bind_all(a, size, challenge, first, last):  # type: ignore[no-untyped-def]
    """Bind both halves of an array at the constant of a matrix, from `size` entries to size / 2, of which [first, last) here."""
    split = a.shape[1] // 2
    for i in range(first, last, STRIP):
        n = min(STRIP, last - i)
        bind(a, i, i + size // 2, challenge, n)
        bind(a, split + i, split + i + size // 2, challenge, n)
