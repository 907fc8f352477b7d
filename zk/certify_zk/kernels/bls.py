# SPDX-License-Identifier: Apache-2.0
"""Compiled arithmetic in the scalar field of BLS12-381, on arrays [..., 4] of words that broadcast as numpy's do.

An element a is held as a 2^256 mod r, four 64-bit words, lowest first (Montgomery's form). Guarantee: operands below r give the results of the field,
below r; `held` and `shown` change integers to that form and back.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numba import guvectorize, njit

from certify_zk.kernels.goldilocks import U64, wide
from certify_zk.prime_field import SCALAR_BYTES, R

Words = np.ndarray[Any, np.dtype[np.uint64]]
WORDS = 4
R0, R1, R2, R3 = (U64(R >> 64 * i & (1 << 64) - 1) for i in range(WORDS))
BACK = U64(-pow(R, -1, 1 << 64) % (1 << 64))  # -1/r modulo 2^64
ZERO = U64(0)
_SHIFT = (1 << 256) % R
_SQUARE = _SHIFT * _SHIFT % R


@njit(cache=True)
def _step(low, a, b, carry):  # type: ignore[no-untyped-def]
    """Return both words of low + a b + carry, which is below 2^128."""
    bottom, top = wide(a, b)
    bottom += low
    top += U64(bottom < low)
    bottom += carry
    return bottom, top + U64(bottom < carry)


@njit(cache=True)
def _below(t0, t1, t2, t3):  # type: ignore[no-untyped-def]
    """Return t - r where t is r or more, else t; t is below 2 r < 2^256."""
    d0 = t0 - R0
    borrow = U64(t0 < R0)
    d1 = t1 - R1 - borrow
    borrow = U64(t1 < R1) | (U64(t1 == R1) & borrow)
    d2 = t2 - R2 - borrow
    borrow = U64(t2 < R2) | (U64(t2 == R2) & borrow)
    d3 = t3 - R3 - borrow
    borrow = U64(t3 < R3) | (U64(t3 == R3) & borrow)
    if borrow:
        return t0, t1, t2, t3
    return d0, d1, d2, d3


@njit(cache=True)
def _turn(t0, t1, t2, t3, t4):  # type: ignore[no-untyped-def]
    """Return (t + m r) / 2^64 for the m that makes it an integer."""
    m = t0 * BACK
    _, carry = _step(t0, m, R0, ZERO)
    t0, carry = _step(t1, m, R1, carry)
    t1, carry = _step(t2, m, R2, carry)
    t2, carry = _step(t3, m, R3, carry)
    return t0, t1, t2, t4 + carry  # below 2^64, as t stays below 2 r


@njit(cache=True)
def _row(t0, t1, t2, t3, a0, a1, a2, a3, b):  # type: ignore[no-untyped-def]
    """Return (t + a b) / 2^64 modulo r, below 2 r."""
    t0, carry = _step(t0, a0, b, ZERO)
    t1, carry = _step(t1, a1, b, carry)
    t2, carry = _step(t2, a2, b, carry)
    t3, carry = _step(t3, a3, b, carry)
    return _turn(t0, t1, t2, t3, carry)


@guvectorize(["void(uint64[:], uint64[:], uint64[:])"], "(d),(d)->(d)", nopython=True, cache=True)
def multiply(a, b, out):  # type: ignore[no-untyped-def]
    """Return a b: Montgomery's product, one word of b at a time."""
    a0, a1, a2, a3 = a[0], a[1], a[2], a[3]
    t0, t1, t2, t3 = _row(ZERO, ZERO, ZERO, ZERO, a0, a1, a2, a3, b[0])
    t0, t1, t2, t3 = _row(t0, t1, t2, t3, a0, a1, a2, a3, b[1])
    t0, t1, t2, t3 = _row(t0, t1, t2, t3, a0, a1, a2, a3, b[2])
    t0, t1, t2, t3 = _row(t0, t1, t2, t3, a0, a1, a2, a3, b[3])
    out[0], out[1], out[2], out[3] = _below(t0, t1, t2, t3)


@njit(cache=True)
def _sum(a0, a1, a2, a3, b0, b1, b2, b3):  # type: ignore[no-untyped-def]
    t0 = a0 + b0
    carry = U64(t0 < a0)
    t1 = a1 + b1 + carry
    carry = U64(t1 < a1) | (U64(t1 == a1) & carry)
    t2 = a2 + b2 + carry
    carry = U64(t2 < a2) | (U64(t2 == a2) & carry)
    return _below(t0, t1, t2, a3 + b3 + carry)


@guvectorize(["void(uint64[:], uint64[:], uint64[:])"], "(d),(d)->(d)", nopython=True, cache=True)
def add(a, b, out):  # type: ignore[no-untyped-def]
    """Return a + b."""
    out[0], out[1], out[2], out[3] = _sum(a[0], a[1], a[2], a[3], b[0], b[1], b[2], b[3])


@guvectorize(["void(uint64[:], uint64[:], uint64[:])"], "(d),(d)->(d)", nopython=True, cache=True)
def subtract(a, b, out):  # type: ignore[no-untyped-def]
    """Return a - b, as a + (r - b)."""
    c0 = R0 - b[0]
    borrow = U64(R0 < b[0])
    c1 = R1 - b[1] - borrow
    borrow = U64(R1 < b[1]) | (U64(R1 == b[1]) & borrow)
    c2 = R2 - b[2] - borrow
    borrow = U64(R2 < b[2]) | (U64(R2 == b[2]) & borrow)
    out[0], out[1], out[2], out[3] = _sum(a[0], a[1], a[2], a[3], c0, c1, c2, R3 - b[3] - borrow)


@guvectorize(["void(uint64[:,:], uint64[:])"], "(n,d)->(d)", nopython=True, cache=True)
def total(a, out):  # type: ignore[no-untyped-def]
    """Return the sum over the last axis but one."""
    t0, t1, t2, t3 = ZERO, ZERO, ZERO, ZERO
    for i in range(a.shape[0]):
        t0, t1, t2, t3 = _sum(t0, t1, t2, t3, a[i, 0], a[i, 1], a[i, 2], a[i, 3])
    out[0], out[1], out[2], out[3] = t0, t1, t2, t3


def between(first: Words, second: Words, at: Words) -> Words:
    """Return first + at (second - first)."""
    found: Words = add(first, multiply(subtract(second, first), at))
    return found


def equality(point: Iterable[Words]) -> Words:
    """Return eq(point, i) for all i, as `Extension.equality` orders them."""
    table = held([1])
    for coordinate in point:
        high = multiply(table, coordinate)
        table = np.concatenate([subtract(table, high), high])
    return table


def held(values: Iterable[int]) -> Words:
    """Return integers, of any sign and size, in the form of the kernels, [n, 4]."""
    data = b"".join((int(value) % R).to_bytes(SCALAR_BYTES, "little") for value in values)
    found: Words = multiply(np.frombuffer(data, "<u8").reshape(-1, WORDS), _plain(_SQUARE))
    return found


def spread(values: np.ndarray[Any, Any]) -> Words:
    """Return an array of integers in the form of the kernels, with one more axis."""
    if values.dtype == object or (values.dtype.kind == "i" and values.size and int(values.min()) < 0):
        return held(values.ravel().tolist()).reshape(*values.shape, WORDS)
    words = np.zeros((*values.shape, WORDS), np.uint64)
    words[..., 0] = values
    found: Words = multiply(words, _plain(_SQUARE))
    return found


def shown(words: Words) -> list[int]:
    """Return the integers in [0, r) of an array [n, 4]."""
    data = multiply(words, _plain(1)).astype("<u8").tobytes()
    return [int.from_bytes(data[start : start + SCALAR_BYTES], "little") for start in range(0, len(data), SCALAR_BYTES)]


def _plain(value: int) -> Words:
    return np.frombuffer(value.to_bytes(SCALAR_BYTES, "little"), "<u8").astype(np.uint64)
