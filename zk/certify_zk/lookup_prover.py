# SPDX-License-Identifier: Apache-2.0
"""The prover's side of the range check: trees of fractions, and the rounds of their layers.

While a layer has columns it is stored as [existing rows, columns, degree of F]; all absent rows are the fraction (0, 1), and add to a round's
constant coefficient what they weigh. Where there is one column, all virtual rows are stored, as [rows, degree]. Arrays with columns are worked
through in strips of rows that fit a cache.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from certify_zk.field import Element, Extension
from certify_zk.kernels.sums import equality
from certify_zk.kernels.vectors import Words, add, between, multiply, subtract, total
from certify_zk.layout import Point
from certify_zk.sumcheck_prover import element, word

_STRIP = 1 << 13


@dataclass(frozen=True)
class Tree:
    """Layers of fractions, numerators and denominators, leaves first; the virtual rows' numbers of existing rows, and the bits of all rows.

    A layer is used up by the rounds that are about it.
    """

    layers: list[tuple[Words, Words]]
    existing: tuple[int, ...]
    rows: int

    @property
    def root(self) -> tuple[Element, Element]:
        """The sum of all leaves."""
        p, q = self.layers[-1]
        return element(p[0]), element(q[0])


def tree(numerators: Words, denominators: Words, existing: Sequence[int], rows: int) -> Tree:
    """Return the tree above leaves [existing rows, columns, degree]."""
    layers = [(numerators, denominators)]
    while layers[-1][0].shape[1] > 1:
        p, q = layers[-1]
        half = p.shape[1] // 2
        above = np.empty((len(p), half, p.shape[2]), np.uint64), np.empty((len(p), half, p.shape[2]), np.uint64)
        for strip in strips(len(p), half):
            above[0][strip], above[1][strip] = _joined(p[strip, :half], p[strip, half:], q[strip, :half], q[strip, half:])
        layers.append(above)
    p, q = (spread(part[:, 0], existing, rows, one) for part, one in zip(layers[-1], (0, 1), strict=True))
    layers[-1] = p, q
    while len(p) > 1:
        half = len(p) // 2
        p, q = _joined(p[:half], p[half:], q[:half], q[half:])
        layers.append((p, q))
    return Tree(layers, tuple(existing), rows)


class Layer:
    """The rounds of one layer: the sum of eq(point, x) (p0 q1 + p1 q0 + factor q0 q1)(x)."""

    def __init__(self, field: Extension, grown: Tree, row: Point, column: Point, factor: Element) -> None:
        self.field, self.grown, self.factor = field, grown, word(factor)
        self.row, self.column = list(row), list(column)
        grown.layers.pop()
        p, q = grown.layers[-1]
        self.wide = p.ndim == 3
        half = p.shape[1] // 2 if self.wide else len(p) // 2
        self.parts = [p[:, :half], p[:, half:], q[:, :half], q[:, half:]] if self.wide else [p[:half], p[half:], q[:half], q[half:]]
        self.absent = field.zero
        if self.wide:
            weights = equality(self.row, field.degree)
            self.weights = weights[list(grown.existing)]
            self.absent = element(multiply(subtract(total(weights), total(self.weights)), self.factor))
            self._narrow()

    def round(self) -> list[Element]:
        """Return constant and quadratic coefficient of the round's polynomial."""
        if self.wide:
            return self._wide_round()
        half, weights = len(self.parts[0]) // 2, equality(self.row[:-1], self.field.degree)
        self.row.pop()
        low, high = [part[:half] for part in self.parts], [subtract(part[half:], part[:half]) for part in self.parts]
        return [element(total(multiply(self._sum(some), weights))) for some in (low, high)]

    def _wide_round(self) -> list[Element]:
        half, columns = self.parts[0].shape[1] // 2, equality(self.column[:-1], self.field.degree)
        self.column.pop()
        sums = np.zeros((2, len(self.weights), self.field.degree), np.uint64)
        for strip in strips(len(self.weights), half):
            low = [part[strip, :half] for part in self.parts]
            high = [subtract(part[strip, half:], start) for part, start in zip(self.parts, low, strict=True)]
            for found, some in zip(sums, (low, high), strict=True):
                found[strip] = total(multiply(self._sum(some), columns))
        constant, leading = (element(total(multiply(found, self.weights))) for found in sums)
        return [self.field.add(constant, self.absent), leading]

    def bind(self, challenge: Element) -> None:
        """Set the round's variable."""
        at = word(challenge)
        if self.wide:
            self.parts = [bound(part, at) for part in self.parts]
            self._narrow()
            return
        half = len(self.parts[0]) // 2
        self.parts = [between(part[:half], part[half:], at) for part in self.parts]

    def ends(self) -> list[Element]:
        """Return p0, p1, q0, q1 where all variables are set."""
        return [element(part[0]) for part in self.parts]

    def _narrow(self) -> None:
        """Take in all virtual rows once there is one column."""
        if self.parts[0].shape[1] == 1:
            parts = zip(self.parts, (0, 0, 1, 1), strict=True)
            self.parts = [spread(part[:, 0], self.grown.existing, self.grown.rows, one) for part, one in parts]
            self.wide = False

    def _sum(self, parts: Sequence[Words]) -> Words:
        p0, p1, q0, q1 = parts
        crossed, product = _joined(p0, p1, q0, q1)
        found: Words = add(crossed, multiply(product, self.factor))
        return found


def bound(part: Words, at: Words) -> Words:
    """Return an array [rows, columns, degree] with its most significant column variable set, which uses it up."""
    half = part.shape[1] // 2
    for strip in strips(len(part), half):
        part[strip, :half] = between(part[strip, :half], part[strip, half:], at)
    return part[:, :half]


def strips(rows: int, columns: int) -> Iterator[slice]:
    """Yield slices of rows that have about 2^13 cells each."""
    step = max(1, _STRIP // columns)
    return (slice(start, start + step) for start in range(0, rows, step))


def spread(values: Words, existing: Sequence[int], rows: int, absent: int) -> Words:
    """Return values of existing rows as those of all 2^rows virtual rows, of which absent ones have the value `absent`."""
    found = np.zeros((1 << rows, values.shape[-1]), np.uint64)
    found[:, 0] = absent
    found[list(existing)] = values
    return found


def _joined(p0: Words, p1: Words, q0: Words, q1: Words) -> tuple[Words, Words]:
    return add(multiply(p0, q1), multiply(p1, q0)), multiply(q0, q1)
