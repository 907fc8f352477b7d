# SPDX-License-Identifier: Apache-2.0
"""Compiled arithmetic that a compiler can turn into vector instructions.

Products are made of four products of 32-bit halves, and corrections are selections: both have vector instructions, which the 128-bit products and
the carries of `goldilocks` have not. Guarantee: `product`, `product_plus` and `below` take any words and give a word below p; `plus` and `minus` take
words below p and give one; `product_loosely` and `seven_loosely` take any words, `plus_loosely` and `minus_loosely` any word and a word below p, and
give any word.
"""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

_WORD = ir.IntType(64)
_P = ir.Constant(_WORD, (1 << 64) - (1 << 32) + 1)
_EPSILON = ir.Constant(_WORD, (1 << 32) - 1)
_HALF = ir.Constant(_WORD, 32)
_ZERO = ir.Constant(_WORD, 0)
_ONE, _THREE, _REST = (ir.Constant(_WORD, number) for number in (1, 3, 61))


def _wide(builder, a, b):  # type: ignore[no-untyped-def]
    """Return both words of a b: no sum below reaches 2^64."""
    (a_low, a_high), (b_low, b_high) = ((builder.and_(word, _EPSILON), builder.lshr(word, _HALF)) for word in (a, b))
    low = builder.mul(a_low, b_low)
    first = builder.add(builder.mul(a_low, b_high), builder.lshr(low, _HALF))
    second = builder.add(builder.mul(a_high, b_low), builder.and_(first, _EPSILON))
    high = builder.add(builder.add(builder.mul(a_high, b_high), builder.lshr(first, _HALF)), builder.lshr(second, _HALF))
    return builder.or_(builder.shl(second, _HALF), builder.and_(low, _EPSILON)), high


def _corrected(builder, condition, value, amount, operation):  # type: ignore[no-untyped-def]
    return operation(value, builder.select(condition, amount, _ZERO))


def _loosely(builder, low, high):  # type: ignore[no-untyped-def]
    """Return a word that is low + 2^64 high, as `goldilocks.reduce` without its last step."""
    top = builder.lshr(high, _HALF)
    value = _corrected(builder, builder.icmp_unsigned("<", low, top), builder.sub(low, top), _EPSILON, builder.sub)
    high = builder.and_(high, _EPSILON)
    rest = builder.sub(builder.shl(high, _HALF), high)
    total = builder.add(value, rest)
    return _corrected(builder, builder.icmp_unsigned("<", total, rest), total, _EPSILON, builder.add)


def _below(builder, word):  # type: ignore[no-untyped-def]
    return _corrected(builder, builder.icmp_unsigned(">=", word, _P), word, _P, builder.sub)


def _lane(count):  # type: ignore[no-untyped-def]
    """Make an operation on so many words, given what builds it, one that compiled code calls."""
    def made(build):  # type: ignore[no-untyped-def]
        def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
            return build(builder, *arguments)
        signature = types.uint64(*[types.uint64] * count)
        typings = {1: lambda typingctx, a: (signature, generate), 2: lambda typingctx, a, b: (signature, generate),
                   3: lambda typingctx, a, b, c: (signature, generate)}
        typing = typings[count]
        typing.__name__, typing.__doc__ = build.__name__, build.__doc__
        return intrinsic(typing)
    return made


@_lane(2)
def product(builder, a, b):  # type: ignore[no-untyped-def]
    """Return a b."""
    return _below(builder, _loosely(builder, *_wide(builder, a, b)))


@_lane(3)
def product_plus(builder, a, b, c):  # type: ignore[no-untyped-def]
    """Return a b + c."""
    low, high = _wide(builder, a, b)
    total = builder.add(low, c)
    more = builder.zext(builder.icmp_unsigned("<", total, c), _WORD)
    return _below(builder, _loosely(builder, total, builder.add(high, more)))


@_lane(2)
def product_loosely(builder, a, b):  # type: ignore[no-untyped-def]
    """Return a word that is a b."""
    return _loosely(builder, *_wide(builder, a, b))


@_lane(1)
def seven_loosely(builder, a):  # type: ignore[no-untyped-def]
    """Return a word that is 7 a: 8 a - a is 7 a mod 2^64, and what is above that is at most 6, so a carry leaves a small word."""
    eight = builder.shl(a, _THREE)
    high = _corrected(builder, builder.icmp_unsigned("<", eight, a), builder.lshr(a, _REST), _ONE, builder.sub)
    rest = builder.sub(builder.shl(high, _HALF), high)
    total = builder.add(builder.sub(eight, a), rest)
    return _corrected(builder, builder.icmp_unsigned("<", total, rest), total, _EPSILON, builder.add)


@_lane(2)
def plus(builder, a, b):  # type: ignore[no-untyped-def]
    """Return a + b, as a - (p - b)."""
    other = builder.sub(_P, b)
    return _corrected(builder, builder.icmp_unsigned("<", a, other), builder.sub(a, other), _P, builder.add)


@_lane(2)
def minus(builder, a, b):  # type: ignore[no-untyped-def]
    """Return a - b."""
    return _corrected(builder, builder.icmp_unsigned("<", a, b), builder.sub(a, b), _P, builder.add)


@_lane(2)
def plus_loosely(builder, a, b):  # type: ignore[no-untyped-def]
    """Return a word that is a + b mod p, for any word a and b < p: after a carry, a + b - 2^64 is at most p - 2, so epsilon can be added."""
    total = builder.add(a, b)
    return _corrected(builder, builder.icmp_unsigned("<", total, b), total, _EPSILON, builder.add)


@_lane(2)
def minus_loosely(builder, a, b):  # type: ignore[no-untyped-def]
    """Return a word that is a - b mod p, for any word a and b < p: after a borrow, a - b + 2^64 is at least 2^32, so epsilon can be subtracted."""
    return _corrected(builder, builder.icmp_unsigned("<", a, b), builder.sub(a, b), _EPSILON, builder.sub)


@_lane(1)
def below(builder, a):  # type: ignore[no-untyped-def]
    """Return the word below p that a word stands for."""
    return _below(builder, a)
