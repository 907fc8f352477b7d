# SPDX-License-Identifier: Apache-2.0
"""Arrays of integers that widen instead of overflow: int64 where a bound shows that it fits, Python integers else.

Every function returns the exact result. A product of matrices runs in binary64, through a BLAS, only where the absolute values of the terms
of each entry sum to less than 2^53, so each partial sum in any order is an integer that binary64 holds; else factors are cut in halves.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Integers = np.ndarray[Any, Any]
"""An int64 array, or an object array of Python integers."""
_DOUBLE = 1 << 53
_WORD = 1 << 63


def integers(values: Any) -> Integers:
    """Return an array as int64 if all entries fit, as Python integers else."""
    found = np.asarray(values)
    if found.dtype != object:
        return found.astype(np.int64) if found.dtype != np.uint64 else integers(found.astype(object))
    return found.astype(np.int64) if peak(found) < _WORD else found


def peak(values: Integers) -> int:
    """Return the largest absolute value."""
    if values.size == 0:
        return 0
    return max(abs(int(values.min())), abs(int(values.max())))


def scaled(values: Integers, factor: int) -> Integers:
    """Return a multiple."""
    return _widened(values, peak(values) * abs(factor)) * factor if abs(factor) < _WORD else values.astype(object) * factor


def added(first: Integers, second: Integers) -> Integers:
    """Return the sum, entry by entry."""
    bound = peak(first) + peak(second)
    return _widened(first, bound) + _widened(second, bound)


def multiplied(first: Integers, second: Integers) -> Integers:
    """Return the product, entry by entry."""
    bound = peak(first) * peak(second)
    return _widened(first, bound) * _widened(second, bound)


def summed(values: Integers, axis: int) -> Integers:
    """Return the sums along an axis."""
    found: Integers = _widened(values, peak(values) * values.shape[axis]).sum(axis=axis)
    return found


def matmul(first: Integers, second: Integers) -> Integers:
    """Return the product of matrices, or of a matrix and a vector."""
    count, left, right = first.shape[-1], peak(first), peak(second)
    bound = count * left * right
    if bound < _DOUBLE:
        found: Integers = (first.astype(np.float64) @ second.astype(np.float64)).astype(np.int64)
        return found
    if max(left, right) < 2 or max(left, right) >= _WORD or count >= 1 << 50:
        exact: Integers = first.astype(object) @ second.astype(object)
        return exact
    if left >= right:
        half = left.bit_length() // 2
        parts = matmul(first >> half, second), matmul(first & ((1 << half) - 1), second)
    else:
        half = right.bit_length() // 2
        parts = matmul(first, second >> half), matmul(first, second & ((1 << half) - 1))
    return added(scaled(parts[0], 1 << half), parts[1])


def _widened(values: Integers, bound: int) -> Integers:
    return values if bound < _WORD else values.astype(object)
