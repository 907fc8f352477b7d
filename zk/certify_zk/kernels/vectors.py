# SPDX-License-Identifier: Apache-2.0
"""Compiled arithmetic on arrays of elements of the extensions, shape [..., degree], which broadcast as numpy's do.

Guarantee: operands below p give the results of the field, below p.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import guvectorize, vectorize

from certify_zk.kernels import goldilocks
from certify_zk.kernels.goldilocks import U64, ZERO, multiply_cubic, multiply_quadratic

Words = np.ndarray[Any, np.dtype[np.uint64]]


@vectorize(["uint64(uint64, uint64)"], nopython=True, cache=True)
def add(a, b):  # type: ignore[no-untyped-def]
    """Return a + b."""
    return goldilocks.add(a, b)


@vectorize(["uint64(uint64, uint64)"], nopython=True, cache=True)
def subtract(a, b):  # type: ignore[no-untyped-def]
    """Return a - b."""
    return goldilocks.subtract(a, b)


@vectorize(["uint64(uint64, uint64)"], nopython=True, cache=True)
def scale(a, b):  # type: ignore[no-untyped-def]
    """Return the products of words: of elements with elements [..., 1] of the prime field."""
    return goldilocks.multiply(a, b)


@guvectorize(["void(uint64[:], uint64[:], uint64[:])"], "(d),(d)->(d)", nopython=True, cache=True)
def multiply(a, b, out):  # type: ignore[no-untyped-def]
    """Return a b."""
    if len(a) == 2:
        out[0], out[1] = multiply_quadratic(a[0], a[1], b[0], b[1])
    else:
        out[0], out[1], out[2] = multiply_cubic(a[0], a[1], a[2], b[0], b[1], b[2])


@guvectorize(["void(uint64[:,:], uint64[:])"], "(n,d)->(d)", nopython=True, cache=True)
def total(a, out):  # type: ignore[no-untyped-def]
    """Return the sum over the last axis but one."""
    for d in range(a.shape[1]):
        out[d] = ZERO
        for i in range(a.shape[0]):
            out[d] = goldilocks.add(out[d], a[i, d])


def between(first: Words, second: Words, at: Words) -> Words:
    """Return first + at (second - first)."""
    found: Words = add(first, multiply(subtract(second, first), at))
    return found


def embedded(values: Words, degree: int) -> Words:
    """Return elements of the prime field as elements of the extension."""
    found = np.zeros((*values.shape, degree), U64)
    found[..., 0] = values
    return found
