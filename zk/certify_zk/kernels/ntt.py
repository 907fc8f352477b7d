# SPDX-License-Identifier: Apache-2.0
"""Rows of a tableau to codewords: number-theoretic transforms over the cosets of the domain.

Guarantee: `encode` writes, for every row, the values of its polynomial at the points of `Code.point` in the order of the columns.

The points of coset c are the roots of X^K - s, K = cells and s = g^(c K), so a row is first taken modulo that: the coefficient of X^(q K + i) is
added, times s^q, to that of X^i. Then X^(2 h) - r^2 = (X^h - r)(X^h + r) splits every block of 2 h coefficients in two, (a + r b, a - r b), until h =
1. In block j of a level with h, whose points have index m = rev(j) in their lowest bits, r = (g^c w^rev(j))^h: the shift of the coset costs nothing,
and natural order becomes bit-reversed order. Two levels are done at a time.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from certify_zk.field import P as PRIME
from certify_zk.field import root_of_unity
from certify_zk.kernels.goldilocks import U64, add_loosely, canonical, multiply, multiply_add, subtract_loosely
from certify_zk.reed_solomon import Code

Words = np.ndarray[Any, np.dtype[np.uint64]]


def encode(code: Code, cells: np.ndarray[Any, Any], pads: Words) -> Words:
    """Return the codewords of rows of cells (16-bit or 64-bit words below p, shape [rows, cells]) and pads ([rows, pads]), shape [rows, length]."""
    codewords = np.empty((len(cells), code.length), np.uint64)
    encode_rows(cells, pads, tables(code), codewords)
    return codewords


def tables(code: Code) -> Words:
    """Return the factors r of every coset, shape [cosets, cells]: entry 0 is s, entry b + j that of block j on the level with b blocks.

    On that level h = K / (2 b), so r = g^(c h) times u_j, u_j the root of unity of order 2 b to the power of rev(j). u_j is the same on all levels
    that have a block j, and u_(b/2 + j) is u_j times the root of order 2 b, because rev(b/2 + j) is 1 more than twice the reversal of j among b/2
    blocks.
    """
    generator, turned = root_of_unity(code.length), np.ones(code.cells, np.uint64)
    factors = np.empty((code.cosets, code.cells), np.uint64)
    blocks = 1
    while blocks < code.cells:
        turned[blocks : 2 * blocks] = scaled(turned[:blocks], U64(root_of_unity(4 * blocks)))
        for coset in range(code.cosets):
            factors[coset, blocks : 2 * blocks] = scaled(turned[:blocks], U64(pow(generator, coset * code.cells // (2 * blocks), PRIME)))
        blocks *= 2
    factors[:, 0] = [pow(generator, coset * code.cells, PRIME) for coset in range(code.cosets)]
    return factors


@njit(cache=True)
def scaled(values, factor):  # type: ignore[no-untyped-def]
    """Return all values times one factor."""
    result = np.empty_like(values)
    for i in range(len(values)):
        result[i] = multiply(values[i], factor)
    return result


@njit(cache=True, nogil=True)
def encode_rows(cells, pads, factors, codewords):  # type: ignore[no-untyped-def]
    """Write the codewords of all rows; `factors` as `tables` returns them."""
    rows, size = cells.shape
    for row in range(rows):
        for coset in range(len(factors)):
            values = codewords[row, coset * size : (coset + 1) * size]
            for i in range(size):
                values[i] = cells[row, i]
            step = power = factors[coset, 0]
            for start in range(0, pads.shape[1], size):
                for i in range(min(size, pads.shape[1] - start)):
                    values[i] = multiply_add(pads[row, start + i], power, values[i])
                power = multiply(power, step)
            transform(values, factors[coset])


@njit(cache=True, nogil=True)
def transform(values, factors):  # type: ignore[no-untyped-def]
    """Replace coefficients by values at the points of a coset, whose factors `tables` gives; between levels words may be p or more."""
    half, blocks = len(values) // 2, 1
    while half > 1:
        quarter = half // 2
        for block in range(blocks):
            r, left, right = factors[blocks + block], factors[2 * (blocks + block)], factors[2 * (blocks + block) + 1]
            for i in range(2 * half * block, 2 * half * block + quarter):
                c, d = multiply(values[i + half], r), multiply(values[i + half + quarter], r)
                a, c = add_loosely(values[i], c), subtract_loosely(values[i], c)
                b, d = multiply(add_loosely(values[i + quarter], d), left), multiply(subtract_loosely(values[i + quarter], d), right)
                values[i], values[i + quarter] = add_loosely(a, b), subtract_loosely(a, b)
                values[i + half], values[i + half + quarter] = add_loosely(c, d), subtract_loosely(c, d)
        half, blocks = half // 4, blocks * 4
    if half:
        for block in range(blocks):
            a, b = values[2 * block], multiply(values[2 * block + 1], factors[blocks + block])
            values[2 * block], values[2 * block + 1] = add_loosely(a, b), subtract_loosely(a, b)
    for i in range(len(values)):
        values[i] = canonical(values[i])


@njit(cache=True, nogil=True)
def transpose(codewords, start, strip):  # type: ignore[no-untyped-def]
    """Write columns of the codewords, from `start` on, as rows of `strip`; eight at a time, a cache line of its rows."""
    rows = len(codewords)
    for first in range(0, rows, 8):
        last = min(first + 8, rows)
        for i in range(len(strip)):
            for row in range(first, last):
                strip[i, row] = codewords[row, start + i]
