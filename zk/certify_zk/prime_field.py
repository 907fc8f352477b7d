# SPDX-License-Identifier: Apache-2.0
"""The scalar field F_r of the group G1 of BLS12-381, in Python integers, with its bytes and its challenges.

Guarantee: every result is canonical, an integer of [0, r) in a tuple of one (an `Element` of degree 1); operations take canonical operands. An
element has one form of 32 bytes, little-endian, and `elements` takes no other.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from certify.errors import Rejected
from certify_zk.field import Element
from certify_zk.transcript import Transcript

R = 0x73EDA753299D7D483339D80809A1D80553BDA402FFFE5BFEFFFFFFFF00000001
SCALAR_BYTES = 32
WIDE_BYTES = 64
"""Bytes that are reduced modulo r to a random element: uniform but for 2^-256."""

Bytes = np.ndarray[Any, np.dtype[np.uint8]]


class PrimeField:
    """F_r, as `certify_zk.field.Field` asks for it."""

    degree = 1
    characteristic = R
    order = R
    zero: Element = (0,)
    one: Element = (1,)

    def embed(self, value: int) -> Element:
        """Return an integer as an element."""
        return (value % R,)

    def add(self, a: Element, b: Element) -> Element:
        """Return a + b."""
        return ((a[0] + b[0]) % R,)

    def subtract(self, a: Element, b: Element) -> Element:
        """Return a - b."""
        return ((a[0] - b[0]) % R,)

    def negated(self, a: Element) -> Element:
        """Return -a."""
        return (-a[0] % R,)

    def scale(self, a: Element, c: int) -> Element:
        """Return c a for an integer c."""
        return (a[0] * c % R,)

    def multiply(self, a: Element, b: Element) -> Element:
        """Return a b."""
        return (a[0] * b[0] % R,)

    def inverse(self, a: Element) -> Element:
        """Return 1/a; raises ZeroDivisionError for a = 0."""
        if not a[0]:
            raise ZeroDivisionError("zero has no inverse")
        return (pow(a[0], -1, R),)

    def equality(self, point: Sequence[Element]) -> list[Element]:
        """Return eq(point, i) for 0 <= i < 2^len(point), as `Extension.equality` orders them."""
        return [(value,) for value in equality(point)]

    def multilinear(self, values: Sequence[Sequence[int]], point: Sequence[Element]) -> Element:
        """Return the multilinear extension at `point` of 2^len(point) elements, given as one flat list."""
        return (inner(values[0], equality(point)),)

    def matrices(self, left: Sequence[Sequence[Element]], right: Sequence[Sequence[Element]]) -> list[list[Element]]:
        """Return a product of matrices, lists of their rows."""
        columns = [[entry for (entry,) in column] for column in zip(*right, strict=True)]
        return [[(inner((entry for (entry,) in row), column),) for column in columns] for row in left]


def equality(point: Sequence[Element]) -> list[int]:
    """Return eq(point, i) for 0 <= i < 2^len(point) as integers."""
    table = [1]
    for (coordinate,) in point:
        high = [entry * coordinate % R for entry in table]
        table = [entry - above for entry, above in zip(table, high, strict=True)] + high
    return [entry % R for entry in table]


def inner(first: Iterable[int], second: Iterable[int]) -> int:
    """Return the sum of products modulo r; raises ValueError for lists of two lengths."""
    return sum(a * b for a, b in zip(first, second, strict=True)) % R


def powers(base: int, count: int) -> list[int]:
    """Return 1, base, base^2, ..., so many."""
    found = [1]
    for _ in range(count - 1):
        found.append(found[-1] * base % R)
    return found[:count]


def reduced(data: bytes) -> int:
    """Return the element that random bytes give."""
    return int.from_bytes(data, "little") % R


def packed(values: Iterable[int]) -> bytes:
    """Return elements as the bytes that are sent and absorbed."""
    return b"".join(value.to_bytes(SCALAR_BYTES, "little") for value in values)


def elements(array: Bytes, count: int, name: str) -> list[int]:
    """Return the elements in an array |u1 [count, 32]; raises Rejected `argument-malformed` (shape) or `argument-noncanonical` (r or more)."""
    if array.dtype != np.dtype(np.uint8) or array.shape != (count, SCALAR_BYTES):
        raise Rejected("argument-malformed", f"{name} has {list(array.shape)} entries of type {array.dtype}, and {[count, SCALAR_BYTES]} are needed",
                       where=f"evidence.{name}")
    found = [int.from_bytes(row.tobytes(), "little") for row in array]
    if any(value >= R for value in found):
        raise Rejected("argument-noncanonical", f"{name} has a number that is no element of the field", where=f"evidence.{name}")
    return found


class ScalarTranscript(Transcript):
    """A transcript whose elements are of F_r: 32 bytes little-endian when absorbed, 64 bytes modulo r when drawn."""

    def element(self, label: str, value: Element) -> None:
        """Absorb one element."""
        self.absorb(label, packed(value))

    def elements(self, label: str, count: int, degree: int) -> list[Element]:
        """Return `count` elements, uniform but for 2^-256 each; the degree is 1."""
        words = self._words(label)
        return [(reduced(b"".join(next(words).to_bytes(8, "little") for _ in range(WIDE_BYTES // 8))),) for _ in range(count * degree)]
