# SPDX-License-Identifier: Apache-2.0
"""Rows of a tableau to codewords: number-theoretic transforms over the cosets of the domain.

Guarantee: `encode` writes, for every row, the values of its polynomial at the points of `Code.point` in the order of the columns. On the coset of g^c
the coefficient of X^(q cells + i) acts as one of X^i times g^(c q cells), so pads are folded onto the cells, each sum is scaled by g^(c i), and a
transform of length `cells` gives the coset's values: decimation in frequency, natural order in, bit-reversed order out.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from certify_zk.field import P as PRIME
from certify_zk.field import root_of_unity
from certify_zk.kernels.goldilocks import U64, add, multiply, multiply_add, subtract
from certify_zk.reed_solomon import Code

Words = np.ndarray[Any, np.dtype[np.uint64]]


def encode(code: Code, cells: np.ndarray[Any, Any], pads: Words) -> Words:
    """Return the codewords of rows of cells (16-bit or 64-bit words below p, shape [rows, cells]) and pads ([rows, pads]), shape [rows, length]."""
    codewords = np.empty((len(cells), code.length), np.uint64)
    encode_rows(cells, pads, *tables(code), codewords)
    return codewords


def tables(code: Code) -> tuple[Words, Words]:
    """Return what the transforms need: the twiddle factors, and g^(c i) for every coset c and 0 <= i <= cells.

    With h = 1, 2, 4, ..., cells / 2, the entries h to 2 h - 1 of the first are the powers of a root of unity of order 2 h.
    """
    twiddles = np.ones(code.cells, np.uint64)
    half = 1
    while half < code.cells:
        twiddles[half : 2 * half] = powers(root_of_unity(2 * half), half)
        half *= 2
    generator = root_of_unity(code.length)
    shifts = np.stack([powers(pow(generator, coset, PRIME), code.cells + 1) for coset in range(code.cosets)])
    return twiddles, shifts


def powers(base: int, count: int) -> Words:
    """Return base^0, ..., base^(count - 1)."""
    return _powers(U64(base), count)


@njit(cache=True)
def _powers(base, count):  # type: ignore[no-untyped-def]
    result = np.empty(count, np.uint64)
    value = U64(1)
    for i in range(count):
        result[i] = value
        value = multiply(value, base)
    return result


@njit(cache=True, nogil=True)
def encode_rows(cells, pads, twiddles, shifts, codewords):  # type: ignore[no-untyped-def]
    """Write the codewords of all rows; `twiddles` and `shifts` as `tables` returns them."""
    rows, size = cells.shape
    for row in range(rows):
        for coset in range(shifts.shape[0]):
            values = codewords[row, coset * size : (coset + 1) * size]
            for i in range(size):
                values[i] = cells[row, i]
            step = factor = shifts[coset, size]
            for start in range(0, pads.shape[1], size):
                for i in range(min(size, pads.shape[1] - start)):
                    values[i] = multiply_add(pads[row, start + i], factor, values[i])
                factor = multiply(factor, step)
            if coset:
                for i in range(size):
                    values[i] = multiply(values[i], shifts[coset, i])
            transform(values, twiddles)


@njit(cache=True, nogil=True)
def transform(values, twiddles):  # type: ignore[no-untyped-def]
    """Replace coefficients by the values at the powers of the root of unity whose order is their number: entry i is the value at w^rev(i)."""
    half = values.shape[0] // 2
    while half:
        for start in range(0, values.shape[0], 2 * half):
            for j in range(half):
                a, b = values[start + j], values[start + half + j]
                values[start + j] = add(a, b)
                values[start + half + j] = multiply(subtract(a, b), twiddles[half + j])
        half //= 2
