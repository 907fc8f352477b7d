# SPDX-License-Identifier: Apache-2.0
"""The prover's side of the range check: trees of fractions, and the rounds of their layers.

A layer that has columns is one of `layer_prover`: all its absent rows are the fraction (0, 1), and add to a round's constant coefficient what they
weigh. Where there is one column, all virtual rows are stored, as [rows, degree of F].
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from certify_zk.field import Element, Extension
from certify_zk.kernels import cell_fractions
from certify_zk.kernels.sums import equality
from certify_zk.kernels.threads import shared
from certify_zk.kernels.vectors import Words, add, between, multiply, subtract, total
from certify_zk.layer_prover import Cells, Leaves, Planes, Weights, WideLayer, WideLeaves, WidePairs
from certify_zk.layout import Point
from certify_zk.sumcheck_prover import element, word

Fractions = tuple[Words, Words]


@dataclass(frozen=True)
class Tree:
    """Layers of fractions, leaves first; the virtual rows' numbers of existing rows, the bits of all rows, and the sum of all leaves.

    Leaves are numerators and denominators [existing rows, columns, degree], or those of cells, which stand for the two layers above them too. A layer
    is used up by the rounds that are about it.
    """

    layers: list[Fractions | Planes | Leaves]
    existing: tuple[int, ...]
    rows: int
    root: tuple[Element, Element]


def tree(numerators: Words, denominators: Words, existing: Sequence[int], rows: int) -> Tree:
    """Return the tree above leaves [existing rows, columns, degree]."""
    return _grown([(numerators, denominators)], _planes((numerators, denominators)), existing, rows)


def tree_of_cells(cells: Cells, pole: Element, existing: Sequence[int], rows: int) -> Tree:
    """Return the tree above fractions 1/(A - f) of cells f, [existing rows, columns], `pole` A; there are at least 8 columns."""
    flat = np.empty(cells.size, cells.dtype)
    shared(lambda first, last: cell_fractions.turned(cells, flat, first, last), cells.shape[1], 1 << 10)
    leaves = Leaves(flat, pole)
    octets = leaves.octets()
    return _grown([leaves, leaves, leaves, octets], octets, existing, rows)


def _grown(layers: list[Fractions | Planes | Leaves], top: Planes, existing: Sequence[int], rows: int) -> Tree:
    """Return the tree with these lowest layers; `top` is the last one of them."""
    while top.p.shape[1] > len(existing):
        top = top.above()
        layers.append(top)
    p, q = (spread(part.T, existing, rows, one) for part, one in ((top.p, 0), (top.q, 1)))
    layers[-1] = p, q
    while len(p) > 1:
        half = len(p) // 2
        p, q = _joined(p[:half], p[half:], q[:half], q[half:])
        layers.append((p, q))
    return Tree(layers, tuple(existing), rows, (element(p[0]), element(q[0])))


class Layer:
    """The rounds of one layer: the sum of eq(point, x) (p0 q1 + p1 q0 + factor q0 q1)(x)."""

    def __init__(self, field: Extension, grown: Tree, row: Point, column: Point, factor: Element) -> None:
        self.field, self.grown, self.factor, self.row = field, grown, word(factor), list(row)
        grown.layers.pop()
        self.wide: WideLayer | WideLeaves | None = None
        self.parts: list[Words] = []
        layer = grown.layers[-1]
        if isinstance(layer, tuple) and layer[0].ndim == 2:
            half = len(layer[0]) // 2
            self.parts = [part[start : start + half] for part in layer for start in (0, half)]
            return
        weights = equality(self.row, field.degree)
        existing = Weights(field, weights[list(grown.existing)], column)
        self.absent = element(multiply(subtract(total(weights), total(existing.rows)), self.factor))
        if not isinstance(layer, Leaves):
            self.wide = WideLayer(_planes(layer) if isinstance(layer, tuple) else layer, existing, factor)
        elif len(grown.layers) == 3:
            self.wide = WideLayer(layer.quads(), existing, factor)
        else:
            self.wide = (WidePairs if len(grown.layers) == 2 else WideLeaves)(layer, existing, factor)
        self._narrow()

    def round(self) -> list[Element]:
        """Return constant and quadratic coefficient of the round's polynomial."""
        if self.wide:
            constant, leading = self.wide.round()
            return [self.field.add(constant, self.absent), leading]
        half, weights = len(self.parts[0]) // 2, equality(self.row[:-1], self.field.degree)
        self.row.pop()
        low, high = [part[:half] for part in self.parts], [subtract(part[half:], part[:half]) for part in self.parts]
        return [element(total(multiply(self._sum(some), weights))) for some in (low, high)]

    def bind(self, challenge: Element) -> None:
        """Set the round's variable."""
        if self.wide:
            self.wide.bind(challenge)
            self._narrow()
            return
        half, at = len(self.parts[0]) // 2, word(challenge)
        self.parts = [between(part[:half], part[half:], at) for part in self.parts]

    def ends(self) -> list[Element]:
        """Return p0, p1, q0, q1 where all variables are set."""
        return [element(part[0]) for part in self.parts]

    def _narrow(self) -> None:
        """Take in all virtual rows once there is one column."""
        if self.wide and self.wide.size == len(self.grown.existing):
            parts = zip(self.wide.parts(), (0, 0, 1, 1), strict=True)
            self.parts = [spread(part, self.grown.existing, self.grown.rows, one) for part, one in parts]
            self.wide = None

    def _sum(self, parts: Sequence[Words]) -> Words:
        p0, p1, q0, q1 = parts
        crossed, product = _joined(p0, p1, q0, q1)
        found: Words = add(crossed, multiply(product, self.factor))
        return found


def spread(values: Words, existing: Sequence[int], rows: int, absent: int) -> Words:
    """Return values of existing rows as those of all 2^rows virtual rows, of which absent ones have the value `absent`."""
    found = np.zeros((1 << rows, values.shape[-1]), np.uint64)
    found[:, 0] = absent
    found[list(existing)] = values
    return found


def _joined(p0: Words, p1: Words, q0: Words, q1: Words) -> Fractions:
    return add(multiply(p0, q1), multiply(p1, q0)), multiply(q0, q1)


def _planes(leaves: Fractions) -> Planes:
    """Return leaves column after column."""
    return Planes(*(np.ascontiguousarray(part.transpose(2, 1, 0)).reshape(part.shape[2], -1) for part in leaves))
