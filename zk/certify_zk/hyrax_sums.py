# SPDX-License-Identifier: Apache-2.0
"""Rounds of sumchecks over the scalar field, on the prover's side: layers of trees of fractions, sums of products, and the batch of all claims.

Arrays have a last axis of 4 words (`kernels.bls`); otherwise they are laid out as in `lookup_prover` and `sumcheck_prover`: existing rows times
columns until there is one column, and then all virtual rows. Guarantee: with honest tables, coefficients are those that `sumcheck` describes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from certify_zk.field import Element
from certify_zk.kernels.bls import Words, add, between, equality, held, multiply, shown, subtract, total
from certify_zk.layout import Point

ONE = held([1])[0]
ZERO = held([0])[0]


def word(element: Element) -> Words:
    """Return an element as an array."""
    found: Words = held(element)[0]
    return found


def element(words: Words) -> Element:
    """Return an array as an element."""
    return tuple(shown(words[None]))


def weights(point: Sequence[Element]) -> Words:
    """Return eq(point, i) for all i."""
    return equality([word(coordinate) for coordinate in point])


@dataclass(frozen=True)
class Tree:
    """Layers of fractions, numerators and denominators, leaves first; the virtual rows' numbers of existing rows, and the bits of all rows."""

    layers: list[tuple[Words, Words]]
    existing: tuple[int, ...]
    rows: int

    @property
    def root(self) -> tuple[Element, Element]:
        """The sum of all leaves."""
        p, q = self.layers[-1]
        return element(p[0]), element(q[0])


def tree(numerators: Words, denominators: Words, existing: Sequence[int], rows: int) -> Tree:
    """Return the tree above leaves [existing rows, columns, 4]."""
    p, q = numerators, denominators
    layers = [(p, q)]
    while p.shape[1] > 1:
        half = p.shape[1] // 2
        p, q = _joined(p[:, :half], p[:, half:], q[:, :half], q[:, half:])
        layers.append((p, q))
    p, q = (virtual(part, existing, rows, absent) for part, absent in ((p, ZERO), (q, ONE)))
    layers[-1] = p, q
    while len(p) > 1:
        half = len(p) // 2
        p, q = _joined(p[:half], p[half:], q[:half], q[half:])
        layers.append((p, q))
    return Tree(layers, tuple(existing), rows)


def virtual(part: Words, existing: Sequence[int], rows: int, absent: Words) -> Words:
    """Return existing rows with one column as all virtual rows."""
    found = np.empty((1 << rows, part.shape[-1]), np.uint64)
    found[:] = absent
    found[list(existing)] = part[:, 0]
    return found


class Layer:
    """The rounds of one layer: the sum of eq(point, x) (p0 q1 + p1 q0 + factor q0 q1)(x)."""

    def __init__(self, grown: Tree, row: Point, column: Point, factor: Element) -> None:
        self.grown, self.factor, self.row, self.column = grown, word(factor), list(row), list(column)
        grown.layers.pop()
        p, q = grown.layers[-1]
        self.wide = p.ndim == 3
        half = p.shape[1] // 2 if self.wide else len(p) // 2
        self.parts = [p[:, :half], p[:, half:], q[:, :half], q[:, half:]] if self.wide else [p[:half], p[half:], q[:half], q[half:]]
        self.absent = ZERO
        if self.wide:
            every = weights(self.row)
            self.weights = every[list(grown.existing)]
            self.absent = multiply(subtract(total(every), total(self.weights)), self.factor)
            self._narrow()

    def round(self, degree: int) -> list[Element]:
        """Return constant and quadratic coefficient of the round's polynomial."""
        point, axis = (self.column, 1) if self.wide else (self.row, 0)
        point.pop()
        ends = [_halves(part, axis) for part in self.parts]
        low, high = [start for start, _ in ends], [subtract(end, start) for start, end in ends]
        found = [total(multiply(self._sum(some), weights(point))) for some in (low, high)]
        if self.wide:
            found = [total(multiply(each, self.weights)) for each in found]
            found[0] = add(found[0], self.absent)
        return [element(each) for each in found]

    def bind(self, challenge: Element) -> None:
        """Set the round's variable."""
        self.parts = [between(*_halves(part, int(self.wide)), word(challenge)) for part in self.parts]
        if self.wide:
            self._narrow()

    def ends(self) -> list[Element]:
        """Return p0, p1, q0, q1 where all variables are set."""
        return [element(part[0]) for part in self.parts]

    def _narrow(self) -> None:
        """Take in all virtual rows once there is one column."""
        if self.parts[0].shape[1] == 1:
            parts = zip(self.parts, (ZERO, ZERO, ONE, ONE), strict=True)
            self.parts = [virtual(part, self.grown.existing, self.grown.rows, absent) for part, absent in parts]
            self.wide = False

    def _sum(self, parts: Sequence[Words]) -> Words:
        crossed, product = _joined(*parts)
        found: Words = add(crossed, multiply(product, self.factor))
        return found


class Products:
    """The sum over x of eq(point, the low bits of x) times a sum of products of factors, each a table."""

    def __init__(self, products: Sequence[Sequence[Words]], point: Sequence[Element]) -> None:
        self.products, self.point = [list(product) for product in products], list(point)

    def round(self, degree: int) -> list[Element]:
        """Return the coefficients of the round's polynomial but for the linear one."""
        half = len(self.products[0][0]) // 2
        low = min(len(self.point), half.bit_length() - 1)
        every = np.tile(weights(self.point[:low]), (half >> low, 1))
        sums = [ZERO] * (degree + 1)
        for product in self.products:
            coefficients = [every]
            for factor in product:
                start, slope = factor[:half], subtract(factor[half:], factor[:half])
                longer = [multiply(coefficient, start) for coefficient in coefficients] + [np.zeros_like(every)]
                for power, coefficient in enumerate(coefficients, start=1):
                    longer[power] = add(longer[power], multiply(coefficient, slope))
                coefficients = longer
            for power, coefficient in enumerate(coefficients[: degree + 1]):
                sums[power] = add(sums[power], total(coefficient))
        return [element(sums[power]) for power in range(degree + 1) if power != 1]

    def bind(self, challenge: Element) -> None:
        """Set the round's variable."""
        self.products = [[between(*_halves(factor, 0), word(challenge)) for factor in product] for product in self.products]


class Batch:
    """The sum of cells times weights, both [existing rows, columns, 4]."""

    def __init__(self, cells: Words, weight: Words, existing: Sequence[int], rows: int) -> None:
        self.parts, self.existing, self.rows = [cells, weight], existing, rows

    def round(self, degree: int) -> list[Element]:
        """Return constant and quadratic coefficient of the round's polynomial."""
        ends = [_halves(part, int(part.ndim == 3)) for part in self.parts]
        low, high = [start for start, _ in ends], [subtract(end, start) for start, end in ends]
        return [element(total(multiply(*some).reshape(-1, 4))) for some in (low, high)]

    def bind(self, challenge: Element) -> None:
        """Set the round's variable."""
        self.parts = [between(*_halves(part, int(part.ndim == 3)), word(challenge)) for part in self.parts]
        if self.parts[0].ndim == 3 and self.parts[0].shape[1] == 1:
            self.parts = [virtual(part, self.existing, self.rows, ZERO) for part in self.parts]

    def value(self) -> Element:
        """Return the cells' value where all variables are set."""
        return element(self.parts[0][0])


def _halves(part: Words, axis: int) -> tuple[Words, Words]:
    half = part.shape[axis] // 2
    return (part[:, :half], part[:, half:]) if axis else (part[:half], part[half:])


def _joined(p0: Words, p1: Words, q0: Words, q1: Words) -> tuple[Words, Words]:
    return add(multiply(p0, q1), multiply(p1, q0)), multiply(q0, q1)
