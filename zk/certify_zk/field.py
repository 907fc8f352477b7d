# SPDX-License-Identifier: Apache-2.0
"""The prime field F_p, p = 2^64 - 2^32 + 1, and its extensions F_p[X]/(X^2 - 7) and F_p[X]/(X^3 - 7), in Python integers.

Guarantee: every result is canonical, an integer of [0, p) or a tuple of `degree` of them (coefficients of 1, X, X^2). An extension element is an
`Element`; operations take canonical operands. `evaluate` and `product` do in python-flint what a verifier does in bulk.

7 generates the multiplicative group, so it is no square and, as 3 divides p - 1, no cube: both moduli are irreducible (X^2 - 7 and X^3 - 7 have
degree at most 3 and no root). 2^32 divides p - 1, so there are subgroups of every order 2^m, m <= 32.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from flint import nmod_mat, nmod_poly

P = (1 << 64) - (1 << 32) + 1
GENERATOR = 7
TWO_ADICITY = 32

Element = tuple[int, ...]
Words = np.ndarray[Any, np.dtype[np.uint64]]


def root_of_unity(order: int) -> int:
    """Return the generator 7^((p-1)/order) of the subgroup whose order is this power of two, at most 2^32; raises ValueError for other orders."""
    if order < 1 or order & (order - 1) or order > 1 << TWO_ADICITY:
        raise ValueError("the order is a power of two, at most 2^32")
    return pow(GENERATOR, (P - 1) // order, P)


def evaluate(coefficients: Sequence[int], points: Iterable[int]) -> list[int]:
    """Return the values of the polynomial with these coefficients, lowest degree first, at points of F_p."""
    polynomial = nmod_poly(list(coefficients), P)
    return [int(polynomial(point)) for point in points]


def product(left: Sequence[int], right: Sequence[int], rows: int, inner: int, columns: int) -> list[int]:
    """Return the product of a rows x inner by an inner x columns matrix over F_p; all three are flat, row after row.

    Raises ValueError, which is flint's, where a length is not that of its matrix.
    """
    return [int(entry) for entry in (nmod_mat(rows, inner, list(left), P) * nmod_mat(inner, columns, list(right), P)).entries()]


class Field(Protocol):
    """What the argument needs of a field whose elements are tuples of `degree` integers: an `Extension`, or a field of its own of another backend."""

    @property
    def degree(self) -> int:
        """Integers an element."""

    @property
    def characteristic(self) -> int:
        """The prime by which the integers 0, 1, 2, ... of the field are reduced."""

    @property
    def order(self) -> int:
        """Number of elements."""

    @property
    def zero(self) -> Element:
        """The neutral element of addition."""

    @property
    def one(self) -> Element:
        """The neutral element of multiplication."""

    def embed(self, value: int) -> Element:
        """Return an integer as an element."""

    def add(self, a: Element, b: Element) -> Element:
        """Return a + b."""

    def subtract(self, a: Element, b: Element) -> Element:
        """Return a - b."""

    def negated(self, a: Element) -> Element:
        """Return -a."""

    def scale(self, a: Element, c: int) -> Element:
        """Return c a for an integer c."""

    def multiply(self, a: Element, b: Element) -> Element:
        """Return a b."""

    def inverse(self, a: Element) -> Element:
        """Return 1/a; raises ZeroDivisionError for a = 0."""

    def equality(self, point: Sequence[Element]) -> list[Element]:
        """Return eq(point, i) for 0 <= i < 2^len(point), as `Extension.equality` orders them."""

    def multilinear(self, values: Sequence[Sequence[int]], point: Sequence[Element]) -> Element:
        """Return the multilinear extension of elements given as the flat lists of their coefficients."""

    def matrices(self, left: Sequence[Sequence[Element]], right: Sequence[Sequence[Element]]) -> list[list[Element]]:
        """Return a product of matrices, lists of their rows."""


def combined(words: Words, right: Sequence[int], columns: int) -> list[int]:
    """Return the product of an array [n, inner] of words below p by an inner x columns matrix over F_p, row after row.

    Exact: both are cut into limbs of 16 bits, whose products, summed in 64-bit integers, stay below 2^34 inner; raises ValueError for an inner
    dimension of 2^29 or more.
    """
    inner = words.shape[1]
    if inner >= 1 << 29:
        raise ValueError("the sums of limbs would not fit")
    factors = np.array(right, np.uint64).reshape(inner, columns)
    first, second = ([(part >> np.uint64(16 * i) & np.uint64(0xFFFF)).astype(np.int64) for i in range(4)] for part in (words, factors))
    sums = [np.zeros((len(words), columns), np.int64) for _ in range(7)]
    for i, a in enumerate(first):
        for j, b in enumerate(second):
            sums[i + j] += np.einsum("nr,rc->nc", a, b, optimize=False)
    flat = zip(*(total.ravel().tolist() for total in sums), strict=True)
    return [sum(part << (16 * power) for power, part in enumerate(parts)) % P for parts in flat]


@dataclass(frozen=True)
class Extension:
    """The field with p^degree elements, F_p[X]/(X^degree - 7), degree 2 or 3; raises ValueError for another degree."""

    degree: int

    def __post_init__(self) -> None:
        if self.degree not in (2, 3):
            raise ValueError("the degree of the extension is 2 or 3")

    @property
    def characteristic(self) -> int:
        """The prime p."""
        return P

    @property
    def order(self) -> int:
        """Number of elements."""
        return int(P**self.degree)

    @cached_property
    def zero(self) -> Element:
        """The neutral element of addition."""
        return (0,) * self.degree

    @cached_property
    def one(self) -> Element:
        """The neutral element of multiplication."""
        return self.embed(1)

    def embed(self, value: int) -> Element:
        """Return an integer as an element of the prime field."""
        return (value % P, *(0,) * (self.degree - 1))

    def unit(self, power: int) -> Element:
        """Return X^power, 0 <= power < degree: the element of the basis over F_p with that number."""
        return tuple(int(d == power) for d in range(self.degree))

    def add(self, a: Element, b: Element) -> Element:
        """Return a + b."""
        if self.degree == 2:  # written out: a verifier adds and subtracts tens of thousands of times
            return ((a[0] + b[0]) % P, (a[1] + b[1]) % P)
        return tuple((x + y) % P for x, y in zip(a, b, strict=True))

    def subtract(self, a: Element, b: Element) -> Element:
        """Return a - b."""
        if self.degree == 2:
            return ((a[0] - b[0]) % P, (a[1] - b[1]) % P)
        return tuple((x - y) % P for x, y in zip(a, b, strict=True))

    def negated(self, a: Element) -> Element:
        """Return -a."""
        return tuple(-x % P for x in a)

    def scale(self, a: Element, c: int) -> Element:
        """Return c a for an integer c."""
        return tuple(x * c % P for x in a)

    def multiply(self, a: Element, b: Element) -> Element:
        """Return a b."""
        if self.degree == 2:
            (a0, a1), (b0, b1) = a, b
            return ((a0 * b0 + GENERATOR * a1 * b1) % P, (a0 * b1 + a1 * b0) % P)
        (a0, a1, a2), (b0, b1, b2) = a, b
        return ((a0 * b0 + GENERATOR * (a1 * b2 + a2 * b1)) % P, (a0 * b1 + a1 * b0 + GENERATOR * a2 * b2) % P, (a0 * b2 + a1 * b1 + a2 * b0) % P)

    def inverse(self, a: Element) -> Element:
        """Return 1/a; raises ZeroDivisionError for a = 0.

        The adjugate b of multiplication by a satisfies a b = N(a), the norm, an element of F_p that is zero only for a = 0.
        """
        if not any(a):
            raise ZeroDivisionError("zero has no inverse")
        adjugate: Element
        if self.degree == 2:
            adjugate = (a[0], -a[1] % P)
        else:
            adjugate = ((a[0] * a[0] - GENERATOR * a[1] * a[2]) % P, (GENERATOR * a[2] * a[2] - a[0] * a[1]) % P, (a[1] * a[1] - a[0] * a[2]) % P)
        return self.scale(adjugate, pow(self.multiply(a, adjugate)[0], -1, P))

    def equality(self, point: Sequence[Element]) -> list[Element]:
        """Return eq(point, i) for 0 <= i < 2^len(point).

        eq(point, i) is the product of point[b] over the bits b of i that are set and of 1 - point[b] over the others, bit 0 the lowest.
        """
        table = [self.one]
        for coordinate in point:
            high = [self.multiply(entry, coordinate) for entry in table]
            table = [self.subtract(entry, above) for entry, above in zip(table, high, strict=True)] + high
        return table

    def multilinear(self, values: Sequence[Sequence[int]], point: Sequence[Element]) -> Element:
        """Return the multilinear extension at `point` of 2^len(point) elements of the field, given as the flat lists of their coefficients of 1, X,
        ...

        eq(point, .) is a product of one table over the low bits and one over the high bits, so only the sums over the low bits touch every value:
        they are one matrix product over F_p.
        """
        low = len(point) // 2
        inner, outer = self.equality(point[:low]), self.equality(point[low:])
        total, weights = self.zero, [c for entry in inner for c in entry]
        for power, flat in enumerate(values):
            sums = product(flat, weights, len(outer), len(inner), self.degree)
            part = self.zero
            for h, entry in enumerate(outer):
                part = self.add(part, self.multiply(entry, tuple(sums[h * self.degree : (h + 1) * self.degree])))
            total = self.add(total, self.multiply(part, self.unit(power)))
        return total

    def matrices(self, left: Sequence[Sequence[Element]], right: Sequence[Sequence[Element]]) -> list[list[Element]]:
        """Return a product of matrices, lists of their rows, by one over F_p: of the coefficients of rows with those of columns."""
        degree, width = self.degree, self.degree * len(right[0])
        flat = product([entry[a] for row in left for a in range(degree) for entry in row], [c for row in right for entry in row for c in entry],
                       degree * len(left), len(right), width)
        found = []
        for row in range(len(left)):
            sums = [self.zero] * len(right[0])
            for a in range(degree):
                part = flat[(row * degree + a) * width : (row * degree + a + 1) * width]
                for column in range(len(right[0])):
                    entry = tuple(part[column * degree : (column + 1) * degree])
                    sums[column] = self.add(sums[column], self.multiply(self.unit(a), entry))
            found.append(sums)
        return found
