# SPDX-License-Identifier: Apache-2.0
"""Layers of trees of fractions, in planes: their parents, and the sums of the rounds that are about them.

Entry i of a layer with n entries meets entry i + n/2; numerators p and denominators q are arrays [degree, n]. A sum over entries counts entry (o, i),
o outer and i inner, with weight outer[o] inner[i]: loops run over o, and leave a sum for each i, which the caller weighs. Either half of a layer
holds what is left of it in its first `size` entries. Guarantee: words below p give the results of the field, below p.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from certify_zk.kernels.lanes import minus, plus, product, product_plus
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
def pair(cells, i, j, pole, square, p, q, o, n):  # type: ignore[no-untyped-def]
    """Write the sums of fractions 1/(A - f) + 1/(A - g) of cells f from i and g from j on: (2 A - (f + g), A^2 - A (f + g) + f g)."""
    p0, q0 = p[0, o : o + n], q[0, o : o + n]
    sums = np.empty(n, np.uint64)
    for x in range(n):
        f, g = np.uint64(cells[i + x]), np.uint64(cells[j + x])
        sums[x] = plus(f, g)
        q0[x] = product_plus(f, g, square[0])
    double = plus(pole[0], pole[0])
    for x in range(n):
        p0[x] = minus(double, sums[x])
        q0[x] = minus(q0[x], product(sums[x], pole[0]))
    for d in range(1, len(p)):
        p[d, o : o + n] = plus(pole[d], pole[d])
        row, part, whole = q[d, o : o + n], pole[d], square[d]
        for x in range(n):
            row[x] = minus(whole, product(sums[x], part))


@njit(cache=True, nogil=True)
def pairs(cells, pole, square, p, q, first, last):  # type: ignore[no-untyped-def]
    """Write the parents [first, last) of cells."""
    half = len(cells) // 2
    for i in range(first, last, STRIP):
        pair(cells, i, half + i, pole, square, p, q, i, min(STRIP, last - i))


@njit(cache=True, nogil=True)
def join_pairs(cells, pole, square, above_p, above_q, first, last):  # type: ignore[no-untyped-def]
    """Write the parents of parents of cells, [first, last)."""
    half, quarter = len(cells) // 2, len(cells) // 4
    p, q = np.empty((len(pole), 2 * STRIP), np.uint64), np.empty((len(pole), 2 * STRIP), np.uint64)
    for i in range(first, last, STRIP):
        n = min(STRIP, last - i)
        pair(cells, i, half + i, pole, square, p, q, 0, n)
        pair(cells, quarter + i, half + quarter + i, pole, square, p, q, STRIP, n)
        multiply(above_p, i, p, 0, q, STRIP, n)
        multiply_add(above_p, i, p, STRIP, q, 0, n)
        multiply(above_q, i, q, 0, q, STRIP, n)


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
            multiply(low, 0, p, i, q, split + i, n)
            multiply_add(low, 0, q, i, p, split + i, n)
            weigh(sums[0], start, low, 0, outer[o], n)
            subtract(slopes[0], 0, p, i + half, p, i, n)
            subtract(slopes[1], 0, q, split + i + half, q, split + i, n)
            subtract(slopes[2], 0, q, i + half, q, i, n)
            subtract(slopes[3], 0, p, split + i + half, p, split + i, n)
            multiply(low, 0, slopes[0], 0, slopes[1], 0, n)
            multiply_add(low, 0, slopes[2], 0, slopes[3], 0, n)
            weigh(sums[1], start, low, 0, outer[o], n)


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
def cell_round(cells, inner, outer, sums, first, last):  # type: ignore[no-untyped-def]
    """Add to `sums` [3, degree, inner] the weighted sums of f + g, f g, and (f' - f)(g' - g), over pairs of cells f, g and those half a part on."""
    split, half = len(cells) // 2, len(cells) // 4
    words = np.empty((3, STRIP), np.uint64)
    for o in range(first, last):
        for start in range(0, inner, STRIP):
            n, i = min(STRIP, inner - start), o * inner + start
            for x in range(n):
                f, g = np.uint64(cells[i + x]), np.uint64(cells[split + i + x])
                words[0, x], words[1, x] = plus(f, g), product(f, g)
                words[2, x] = product(minus(np.uint64(cells[i + half + x]), f), minus(np.uint64(cells[split + i + half + x]), g))
            for k in range(3):
                for d in range(sums.shape[1]):
                    row, weight, values = sums[k, d, start : start + n], outer[o, d], words[k]
                    for x in range(n):
                        row[x] = product_plus(values[x], weight, row[x])


@njit(cache=True, nogil=True)
def bind_cells(cells, pole, challenge, q, first, last):  # type: ignore[no-untyped-def]
    """Write A - (f + t (f' - f)) for entries [first, last) of each half of `q`, and cells f' half a part on."""
    split, half = len(cells) // 2, len(cells) // 4
    for part in range(2):
        base, offset = part * split, part * half
        for i in range(first, last, STRIP):
            n = min(STRIP, last - i)
            steps = np.empty(n, np.uint64)
            row, t, top = q[0, offset + i : offset + i + n], challenge[0], pole[0]
            for x in range(n):
                f = np.uint64(cells[base + i + x])
                steps[x] = minus(f, np.uint64(cells[base + half + i + x]))
                row[x] = product_plus(steps[x], t, minus(top, f))
            for d in range(1, len(q)):
                row, t, top = q[d, offset + i : offset + i + n], challenge[d], pole[d]
                for x in range(n):
                    row[x] = product_plus(steps[x], t, top)


@njit(cache=True, nogil=True)
def bind_all(a, size, challenge, first, last):  # type: ignore[no-untyped-def]
    """Bind both halves of an array at the constant of a matrix, from `size` entries to size / 2, of which [first, last) here."""
    split = a.shape[1] // 2
    for i in range(first, last, STRIP):
        n = min(STRIP, last - i)
        bind(a, i, i + size // 2, challenge, n)
        bind(a, split + i, split + i + size // 2, challenge, n)


@njit(cache=True, nogil=True)
def turned(cells, result, first, last):  # type: ignore[no-untyped-def]
    """Write rows of cells [rows, columns] column by column, for columns [first, last)."""
    rows = len(cells)
    for start in range(first, last, 64):
        stop = min(start + 64, last)
        for row in range(rows):
            for column in range(start, stop):
                result[column * rows + row] = cells[row, column]
