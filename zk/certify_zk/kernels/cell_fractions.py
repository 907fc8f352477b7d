# SPDX-License-Identifier: Apache-2.0
"""Layers above fractions 1/(A - f) of cells f, 16-bit or 64-bit words, made of the cells themselves; as in `fractions`, entry i meets entry i + n/2.

`pole` is A and `square` its square, [degree]; entries [first, last) are written. Guarantee: words below p give the results of the field, below p.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from certify_zk.kernels.fractions import STRIP, add_sums
from certify_zk.kernels.lanes import minus, plus, product, product_plus
from certify_zk.kernels.planes import bind, multiply, multiply_add, weigh


@njit(cache=True, nogil=True)
def _pair(cells, i, j, pole, square, p, q, o, n):  # type: ignore[no-untyped-def]
    """Write a strip of sums 1/(A - f) + 1/(A - g) of cells f from i and g from j on: (2 A - (f + g), A^2 - A (f + g) + f g)."""
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
def _quad(cells, i, step, pole, square, p, q, above_p, above_q, o, n):  # type: ignore[no-untyped-def]
    """Write a strip of sums of pairs of cells from i and from i + step on; p and q are room for two strips."""
    half = len(cells) // 2
    _pair(cells, i, half + i, pole, square, p, q, 0, n)
    _pair(cells, i + step, half + i + step, pole, square, p, q, STRIP, n)
    multiply(above_p, o, p, 0, q, STRIP, n)
    multiply_add(above_p, o, p, STRIP, q, 0, n)
    multiply(above_q, o, q, 0, q, STRIP, n)


@njit(cache=True, nogil=True)
def quads(cells, pole, square, p, q, first, last):  # type: ignore[no-untyped-def]
    """Write the second layer above cells: sums of four fractions."""
    below_p, below_q = np.empty((len(pole), 2 * STRIP), np.uint64), np.empty((len(pole), 2 * STRIP), np.uint64)
    for i in range(first, last, STRIP):
        _quad(cells, i, len(cells) // 4, pole, square, below_p, below_q, p, q, i, min(STRIP, last - i))


@njit(cache=True, nogil=True)
def octets(cells, pole, square, p, q, first, last):  # type: ignore[no-untyped-def]
    """Write the third layer above cells: sums of eight fractions."""
    below_p, below_q = np.empty((len(pole), 2 * STRIP), np.uint64), np.empty((len(pole), 2 * STRIP), np.uint64)
    four_p, four_q = np.empty((len(pole), 2 * STRIP), np.uint64), np.empty((len(pole), 2 * STRIP), np.uint64)
    for i in range(first, last, STRIP):
        n = min(STRIP, last - i)
        for k in range(2):
            _quad(cells, i + k * (len(cells) // 8), len(cells) // 4, pole, square, below_p, below_q, four_p, four_q, k * STRIP, n)
        multiply(p, i, four_p, 0, four_q, STRIP, n)
        multiply_add(p, i, four_p, STRIP, four_q, 0, n)
        multiply(q, i, four_q, 0, four_q, STRIP, n)


@njit(cache=True, nogil=True)
def _pairs(cells, i, pole, square, factor, p, q, n):  # type: ignore[no-untyped-def]
    """Write strips of the first layer above cells: those that a round compares of the first half, then of the second, with p1 + factor q1 for p1."""
    half, quarter, eighth = len(cells) // 2, len(cells) // 4, len(cells) // 8
    for k in range(4):
        at = i + k // 2 * quarter + k % 2 * eighth
        _pair(cells, at, half + at, pole, square, p, q, k * STRIP, n)
    for k in range(2, 4):
        weigh(p, k * STRIP, q, k * STRIP, factor, n)


@njit(cache=True, nogil=True)
def pair_round(cells, pole, square, factor, inner, outer, sums, first, last):  # type: ignore[no-untyped-def]
    """Do what `general_round` does, for the first round of the first layer above cells."""
    p, q = np.empty((len(pole), 4 * STRIP), np.uint64), np.empty((len(pole), 4 * STRIP), np.uint64)
    low, slopes = np.empty((len(pole), STRIP), np.uint64), np.empty((4, len(pole), STRIP), np.uint64)
    for o in range(first, last):
        for start in range(0, inner, STRIP):
            n = min(STRIP, inner - start)
            _pairs(cells, o * inner + start, pole, square, factor, p, q, n)
            add_sums(p, q, 0, STRIP, 2 * STRIP, low, slopes, sums, start, outer[o], n)


@njit(cache=True, nogil=True)
def bind_pairs(cells, pole, square, factor, challenge, p, q, first, last):  # type: ignore[no-untyped-def]
    """Write what the first layer above cells becomes where its first variable is bound at the constant of a matrix, halves of p and q."""
    four_p, four_q = np.empty((len(pole), 4 * STRIP), np.uint64), np.empty((len(pole), 4 * STRIP), np.uint64)
    half = p.shape[1] // 2
    for i in range(first, last, STRIP):
        n = min(STRIP, last - i)
        _pairs(cells, i, pole, square, factor, four_p, four_q, n)
        for four, result in ((four_p, p), (four_q, q)):
            for k in range(2):
                bind(four, 2 * k * STRIP, (2 * k + 1) * STRIP, challenge, n)
                for d in range(len(pole)):
                    result[d, k * half + i : k * half + i + n] = four[d, 2 * k * STRIP : 2 * k * STRIP + n]


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
def turned(cells, result, first, last):  # type: ignore[no-untyped-def]
    """Write rows of cells [rows, columns] column by column, for columns [first, last)."""
    rows = len(cells)
    for start in range(first, last, 64):
        stop = min(start + 64, last)
        for row in range(rows):
            for column in range(start, stop):
                result[column * rows + row] = cells[row, column]
