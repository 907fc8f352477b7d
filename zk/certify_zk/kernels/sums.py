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
from certify_zk.kernels.lanes import product_plus
from certify_zk.kernels.threads import shared

Words = np.ndarray[Any, np.dtype[np.uint64]]
BLOCK = 1 << 16
_STRIP = 1 << 9
_PART = 1 << 16


def combine(weights: Words, cells: np.ndarray[Any, Any], result: Words, rows: np.ndarray[Any, Any] | None = None) -> None:
    """Add the sum of weights[r, d] cells[r, :] over r to `result`, [columns, degree]; with `rows`, that of weights[r, d] cells[rows[r], :].

    `cells` are 16-bit words, or 64-bit words below p.
    """
    kernel = _combine_limbs if cells.dtype == np.uint16 else _combine_words
    numbers = np.arange(len(cells)) if rows is None else rows
    for start in range(0, len(numbers), BLOCK):
        part, some = weights[start : start + BLOCK], numbers[start : start + BLOCK]
        shared(lambda first, last, part=part, some=some: kernel(part, some, cells, result, first, last), cells.shape[1], _PART // len(some) + 1)


def evaluations(cells: np.ndarray[Any, Any], weights: Words) -> Words:
    """Return the sum of cells[r, c] weights[c, d] over the columns c, shape [rows, degree]; `cells` as for `combine`."""
    kernel = _evaluate_limbs if cells.dtype == np.uint16 else _evaluate_words
    result = np.zeros((cells.shape[0], weights.shape[1]), np.uint64)
    for start in range(0, len(weights), BLOCK):
        part = weights[start : start + BLOCK]
        shared(lambda first, last, part=part, start=start: kernel(cells, start, part, result, first, last), len(cells), _PART // len(part) + 1)
    return result


def equality(point: list[Element], degree: int) -> Words:
    """Return eq(point, i) for all i, as `Extension.equality` orders them, shape [2^len(point), degree]."""
    table = np.zeros((1 << len(point), degree), np.uint64)
    table[0, 0] = 1
    for bit, coordinate in enumerate(point):
        _double(table, 1 << bit, np.array(coordinate, np.uint64))
    return table


@njit(cache=True, nogil=True)
def _combine_limbs(weights, rows, cells, result, first, last):  # type: ignore[no-untyped-def]
    """Do columns [first, last)."""
    degree = weights.shape[1]
    low, high = np.empty((degree, _STRIP), np.uint64), np.empty((degree, _STRIP), np.uint64)
    for start in range(first, last, _STRIP):
        width = min(_STRIP, last - start)
        low[:], high[:] = ZERO, ZERO
        for r in range(len(rows)):
            strip = cells[rows[r], start : start + width]
            for d in range(degree):
                below, above, low_row, high_row = weights[r, d] & EPSILON, weights[r, d] >> HALF, low[d], high[d]
                for i in range(width):
                    cell = U64(strip[i])
                    low_row[i] += cell * below
                    high_row[i] += cell * above
        for d in range(degree):
            for i in range(width):
                result[start + i, d] = add(result[start + i, d], _joined(low[d, i], high[d, i]))


@njit(cache=True, nogil=True)
def _evaluate_limbs(cells, start, weights, result, first, last):  # type: ignore[no-untyped-def]
    """Do rows [first, last), and columns from `start` on."""
    columns, degree = weights.shape
    below, above = np.empty((degree, columns), np.uint64), np.empty((degree, columns), np.uint64)
    for d in range(degree):
        for i in range(columns):
            below[d, i], above[d, i] = weights[i, d] & EPSILON, weights[i, d] >> HALF
    for r in range(first, last):
        strip = cells[r, start : start + columns]
        for d in range(degree):
            low, high, below_row, above_row = ZERO, ZERO, below[d], above[d]
            for i in range(columns):
                cell = U64(strip[i])
                low += cell * below_row[i]
                high += cell * above_row[i]
            result[r, d] = add(result[r, d], _joined(low, high))


@njit(cache=True, nogil=True)
def _combine_words(weights, rows, cells, result, first, last):  # type: ignore[no-untyped-def]
    for r in range(len(rows)):
        for d in range(weights.shape[1]):
            weight = weights[r, d]
            for c in range(first, last):
                result[c, d] = product_plus(cells[rows[r], c], weight, result[c, d])


@njit(cache=True, nogil=True)
def _evaluate_words(cells, start, weights, result, first, last):  # type: ignore[no-untyped-def]
    for r in range(first, last):
        for c in range(weights.shape[0]):
            for d in range(weights.shape[1]):
                result[r, d] = multiply_add(cells[r, start + c], weights[c, d], result[r, d])


@njit(cache=True)
def _joined(low, high):  # type: ignore[no-untyped-def]
    """Return low + 2^32 high mod p, for any two words."""
    total = low + (high << HALF)
    return reduce(total, (high >> HALF) + U64(total < low))


@njit(cache=True, nogil=True)
def count(cells, found):  # type: ignore[no-untyped-def]
    """Add to `found` how often each of its numbers occurs in rows of cells; cells beyond them are passed over."""
    for r in range(cells.shape[0]):
        for c in range(cells.shape[1]):
            if cells[r, c] < len(found):
                found[cells[r, c]] += U64(1)


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
