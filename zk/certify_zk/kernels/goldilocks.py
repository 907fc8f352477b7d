# SPDX-License-Identifier: Apache-2.0
"""Compiled arithmetic modulo p = 2^64 - 2^32 + 1 and in its extensions, on unsigned 64-bit words.

Guarantee: operands below p give results below p, but for the two loose sums, whose results are any word. With epsilon = 2^32 - 1, 2^64 = epsilon and
2^96 = -1 (mod p), so a 128-bit number lo + 2^64 (hl + 2^32 hh) is lo - hh + hl epsilon. Each carry or borrow is put right by adding or subtracting
epsilon (or p) under a mask made of it. The carry first passes through an empty piece of assembly: a compiler that sees a comparison makes a branch of
the mask, and carries of random numbers are not predictable.
"""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

U64 = np.uint64
P = U64((1 << 64) - (1 << 32) + 1)
EPSILON = U64((1 << 32) - 1)
ZERO = U64(0)
HALF = U64(32)
SEVEN = U64(7)


@intrinsic
def opaque(typingctx, value):  # type: ignore[no-untyped-def]
    """Return a word unchanged, in a way that an optimiser cannot see through."""
    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        word = ir.IntType(64)
        return builder.call(ir.InlineAsm(ir.FunctionType(word, [word]), "", "=r,0", False), arguments)
    return types.uint64(types.uint64), generate


@intrinsic
def wide(typingctx, a, b):  # type: ignore[no-untyped-def]
    """Return the low and the high word of a b."""
    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        double = ir.IntType(128)
        both = builder.mul(*(builder.zext(argument, double) for argument in arguments))
        low, high = (builder.trunc(part, ir.IntType(64)) for part in (both, builder.lshr(both, ir.Constant(double, 64))))
        return cgutils.pack_array(builder, [low, high])
    return types.UniTuple(types.uint64, 2)(types.uint64, types.uint64), generate


@njit(cache=True)
def canonical(a):  # type: ignore[no-untyped-def]
    """Return the element of [0, p) that a word stands for."""
    return a - (P & (ZERO - opaque(U64(a >= P))))


@njit(cache=True)
def reduce(low, high):  # type: ignore[no-untyped-def]
    """Return low + 2^64 high mod p, for any two words.

    A borrow leaves at least 2^64 - 2^32 + 1, from which epsilon can be taken; a carry leaves at most 2^64 - 2^33, to which it can be added.
    """
    top = high >> HALF
    value = low - top
    borrow = opaque(U64(low < top))
    value -= (borrow << HALF) - borrow
    rest = (high & EPSILON) * EPSILON
    total = value + rest
    carry = opaque(U64(total < rest))
    total += (carry << HALF) - carry
    return canonical(total)


@njit(cache=True)
def multiply(a, b):  # type: ignore[no-untyped-def]
    """Return a b."""
    low, high = wide(a, b)
    return reduce(low, high)


@njit(cache=True)
def multiply_add(a, b, c):  # type: ignore[no-untyped-def]
    """Return a b + c, for any word c: (p - 1)^2 + 2^64 is below 2^128."""
    low, high = wide(a, b)
    total = low + c
    return reduce(total, high + U64(total < c))


@njit(cache=True)
def multiply_add_seven(a, b, c):  # type: ignore[no-untyped-def]
    """Return a b + 7 c with one reduction, c < p: (p - 1)^2 + 7 p is below 2^128."""
    low, high = wide(a, b)
    more_low, more_high = wide(SEVEN, c)
    total = low + more_low
    return reduce(total, high + more_high + U64(total < low))


@njit(cache=True)
def add(a, b):  # type: ignore[no-untyped-def]
    """Return a + b, as a - (p - b)."""
    other = P - b
    borrow = opaque(U64(a < other))
    return a - other + (P & (ZERO - borrow))


@njit(cache=True)
def subtract(a, b):  # type: ignore[no-untyped-def]
    """Return a - b."""
    borrow = opaque(U64(a < b))
    return a - b + (P & (ZERO - borrow))


@njit(cache=True)
def multiply_quadratic(a0, a1, b0, b1):  # type: ignore[no-untyped-def]
    """Return (a0 + a1 X)(b0 + b1 X) modulo X^2 - 7."""
    return multiply_add_seven(a0, b0, multiply(a1, b1)), multiply_add(a0, b1, multiply(a1, b0))


@njit(cache=True)
def multiply_cubic(a0, a1, a2, b0, b1, b2):  # type: ignore[no-untyped-def]
    """Return (a0 + a1 X + a2 X^2)(b0 + b1 X + b2 X^2) modulo X^3 - 7."""
    return (multiply_add_seven(a0, b0, multiply_add(a1, b2, multiply(a2, b1))),
            multiply_add(a1, b0, multiply_add_seven(a0, b1, multiply(a2, b2))),
            multiply_add(a0, b2, multiply_add(a1, b1, multiply(a2, b0))))
