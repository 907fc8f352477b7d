# SPDX-License-Identifier: Apache-2.0
"""The prover's side of the range check: trees of fractions, and the rounds of their layers.

While a layer has columns it is stored as [columns, existing rows, degree of F]; all absent rows are the fraction (0, 1), and add to a round's
constant coefficient what they weigh. Where there is one column, all virtual rows are stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from certify_zk.field import Element, Extension
from certify_zk.kernels.sums import equality
from certify_zk.kernels.vectors import Words, add, between, multiply, subtract, total
from certify_zk.layout import Point
from certify_zk.sumcheck_prover import element, word


@dataclass(frozen=True)
class Tree:
    """Layers of fractions, numerators and denominators, leaves first; the virtual rows' numbers of existing rows, and the bits of all rows."""

    layers: tuple[tuple[Words, Words], ...]
    existing: tuple[int, ...]
    rows: int

    @property
    def root(self) -> tuple[Element, Element]:
        """The sum of all leaves."""
        p, q = self.layers[-1]
        return element(p[0]), element(q[0])


def tree(numerators: Words, denominators: Words, existing: Sequence[int], rows: int) -> Tree:
    """Return the tree above leaves [columns, existing rows, degree]."""
    layers = [(numerators, denominators)]
    while len(layers[-1][0]) > 1:
        layers.append(_joined(*layers[-1]))
    p, q = (_spread(part[0], existing, rows, one) for part, one in zip(layers[-1], (0, 1), strict=True))
    layers[-1] = p, q
    while len(layers[-1][0]) > 1:
        layers.append(_joined(*layers[-1]))
    return Tree(tuple(layers), tuple(existing), rows)


class Layer:
    """The rounds of one layer: the sum of eq(point, x) (p0 q1 + p1 q0 + factor q0 q1)(x)."""

    def __init__(self, field: Extension, grown: Tree, row: Point, column: Point, factor: Element) -> None:
        self.field, self.grown, self.factor = field, grown, word(factor)
        self.row, self.column = list(row), list(column)
        p, q = grown.layers[-2 - len(row) - len(column)]
        half = len(p) // 2
        self.parts = [p[:half], p[half:], q[:half], q[half:]]
        self.wide = len(row) == grown.rows and p.ndim == 3
        self.absent = field.zero
        if self.wide:
            weights = equality(self.row, field.degree)
            self.weights = weights[list(grown.existing)]
            self.absent = element(multiply(subtract(total(weights), total(self.weights)), self.factor))
            self._narrow()

    def round(self) -> list[Element]:
        """Return constant and quadratic coefficient of the round's polynomial."""
        half = len(self.parts[0]) // 2
        low, high = [part[:half] for part in self.parts], [subtract(part[half:], part[:half]) for part in self.parts]
        if self.wide:
            columns = equality(self.column[:-1], self.field.degree)
            sums = [total(multiply(total(multiply(self._sum(some), self.weights)), columns)) for some in (low, high)]
            self.column.pop()
            return [self.field.add(element(sums[0]), self.absent), element(sums[1])]
        weights = equality(self.row[:-1], self.field.degree)
        self.row.pop()
        return [element(total(multiply(self._sum(some), weights))) for some in (low, high)]

    def bind(self, challenge: Element) -> None:
        """Set the round's variable."""
        half, at = len(self.parts[0]) // 2, word(challenge)
        self.parts = [between(part[:half], part[half:], at) for part in self.parts]
        if self.wide:
            self._narrow()

    def ends(self) -> list[Element]:
        """Return p0, p1, q0, q1 where all variables are set."""
        return [element(part[0]) for part in self.parts]

    def _narrow(self) -> None:
        """Take in all virtual rows once there is one column."""
        if len(self.parts[0]) == 1:
            self.parts = [_spread(part[0], self.grown.existing, self.grown.rows, one) for part, one in zip(self.parts, (0, 0, 1, 1), strict=True)]
            self.wide = False

    def _sum(self, parts: Sequence[Words]) -> Words:
        p0, p1, q0, q1 = parts
        found: Words = add(add(multiply(p0, q1), multiply(p1, q0)), multiply(multiply(q0, q1), self.factor))
        return found


def _joined(p: Words, q: Words) -> tuple[Words, Words]:
    half = len(p) // 2
    return add(multiply(p[:half], q[half:]), multiply(p[half:], q[:half])), multiply(q[:half], q[half:])


def _spread(values: Words, existing: Sequence[int], rows: int, absent: int) -> Words:
    found = np.zeros((1 << rows, values.shape[-1]), np.uint64)
    found[:, 0] = absent
    found[list(existing)] = values
    return found
