# SPDX-License-Identifier: Apache-2.0
"""Sums of products over a tableau: combinations of its rows and multilinear evaluations of each of them.

Guarantee: results are those of the field, below p. A sum of f e with cells f below 2^16 keeps the two 32-bit halves of e apart and adds plain 64-bit
products: 2^16 terms stay below 2^16 (2^16 - 1) (2^32 - 1) < 2^64, so they are reduced once a block of 2^16 terms. Such a loop has no carry.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from certify_zk.field import Element
from certify_zk.kernels.goldilocks import EPSILON, HALF, U64, ZERO, add, multiply_add, multiply_cubic, multiply_quadratic, reduce, subtract

Words = np.ndarray[Any, np.dtype[np.uint64]]
BLOCK = 1 << 16
_STRIP = 1 << 9


def combine(weights: Words, cells: np.ndarray[Any, Any], result: Words) -> None:
    """Add the sum of weights[r, d] cells[r, :] over the rows r to `result`, [columns, degree]; `cells` are 16-bit words, or 64-bit words below p."""
    for start in range(0, len(cells), BLOCK):
        part, rows = weights[start : start + BLOCK], cells[start : start + BLOCK]
        (_combine_limbs if cells.dtype == np.uint16 else _combine_words)(part, rows, result)


def evaluations(cells: np.ndarray[Any, Any], weights: Words) -> Words:
    """Return the sum of cells[r, c] weights[c, d] over the columns c, shape [rows, degree]; `cells` as for `combine`."""
    result = np.zeros((cells.shape[0], weights.shape[1]), np.uint64)
    for start in range(0, len(weights), BLOCK):
        part, columns = weights[start : start + BLOCK], cells[:, start : start + BLOCK]
        (_evaluate_limbs if cells.dtype == np.uint16 else _evaluate_words)(columns, part, result)
    return result


def equality(point: list[Element], degree: int) -> Words:
    """Return eq(point, i) for all i, as `Extension.equality` orders them, shape [2^len(point), degree]."""
    table = np.zeros((1 << len(point), degree), np.uint64)
    table[0, 0] = 1
    for bit, coordinate in enumerate(point):
        _double(table, 1 << bit, np.array(coordinate, np.uint64))
    return table


@njit(cache=True, nogil=True)
def _combine_limbs(weights, cells, result):  # type: ignore[no-untyped-def]
    rows, columns = cells.shape
    low, high = np.empty(_STRIP, np.uint64), np.empty(_STRIP, np.uint64)
    for d in range(weights.shape[1]):
        for start in range(0, columns, _STRIP):
            width = min(_STRIP, columns - start)
            low[:], high[:] = ZERO, ZERO
            for r in range(rows):
                below, above = weights[r, d] & EPSILON, weights[r, d] >> HALF
                for i in range(width):
                    cell = U64(cells[r, start + i])
                    low[i] += cell * below
                    high[i] += cell * above
            for i in range(width):
                result[start + i, d] = add(result[start + i, d], _joined(low[i], high[i]))


@njit(cache=True, nogil=True)
def _evaluate_limbs(cells, weights, result):  # type: ignore[no-untyped-def]
    columns, degree = weights.shape
    below, above = np.empty(columns, np.uint64), np.empty(columns, np.uint64)
    for d in range(degree):
        for i in range(columns):
            below[i], above[i] = weights[i, d] & EPSILON, weights[i, d] >> HALF
        for r in range(cells.shape[0]):
            low, high = ZERO, ZERO
            for i in range(columns):
                cell = U64(cells[r, i])
                low += cell * below[i]
                high += cell * above[i]
            result[r, d] = add(result[r, d], _joined(low, high))


@njit(cache=True, nogil=True)
def _combine_words(weights, cells, result):  # type: ignore[no-untyped-def]
    for r in range(cells.shape[0]):
        for c in range(cells.shape[1]):
            for d in range(weights.shape[1]):
                result[c, d] = multiply_add(cells[r, c], weights[r, d], result[c, d])


@njit(cache=True, nogil=True)
def _evaluate_words(cells, weights, result):  # type: ignore[no-untyped-def]
    for r in range(cells.shape[0]):
        for c in range(weights.shape[0]):
            for d in range(weights.shape[1]):
                result[r, d] = multiply_add(cells[r, c], weights[c, d], result[r, d])


@njit(cache=True)
def _joined(low, high):  # type: ignore[no-untyped-def]
    """Return low + 2^32 high mod p, for any two words."""
    total = low + (high << HALF)
    return reduce(total, (high >> HALF) + U64(total < low))


@njit(cache=True)
def _double(table, size, coordinate):  # type: ignore[no-untyped-def]
    for i in range(size):
        if table.shape[1] == 2:
            table[size + i, 0], table[size + i, 1] = multiply_quadratic(table[i, 0], table[i, 1], coordinate[0], coordinate[1])
        else:
            table[size + i, 0], table[size + i, 1], table[size + i, 2] = multiply_cubic(
                table[i, 0], table[i, 1], table[i, 2], coordinate[0], coordinate[1], coordinate[2])
        for d in range(table.shape[1]):
            table[i, d] = subtract(table[i, d], table[size + i, d])
