# SPDX-License-Identifier: Apache-2.0
"""Layers of fractions that have columns, and the rounds that set their variables.

A layer has the fractions of existing rows alone, column after column: entry (column, row) has the number column rows + row, so the most significant
variable of the columns splits it into halves. The sum of a round runs over what is left of the children's two halves, with weight
eq(column's point, .) eq(row's point, .), which is never stored: a table of the high bits of columns is one factor, and one of low bits and rows the
other. Guarantee: with honest layers, a round's message has the coefficients of the polynomial that `sumcheck` describes, but for absent rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from certify_zk.field import Element, Extension
from certify_zk.kernels import cell_fractions, fractions
from certify_zk.kernels.planes import matrices, matrix
from certify_zk.kernels.sums import equality
from certify_zk.kernels.threads import shared
from certify_zk.kernels.vectors import Words, add, multiply, subtract, total
from certify_zk.sumcheck_prover import element, word

PART = 1 << 13
"""Entries for which a second thread is worth its start."""
_INNER = 1 << 8

Cells = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Planes:
    """Numerators and denominators, arrays [degree, entries]."""

    p: Words
    q: Words

    @staticmethod
    def empty(degree: int, entries: int) -> Planes:
        """Return planes to be filled."""
        return Planes(*(np.empty((degree, entries), np.uint64) for _ in range(2)))

    def above(self) -> Planes:
        """Return the parents."""
        found = Planes.empty(len(self.p), self.p.shape[1] // 2)
        shared(lambda first, last: fractions.join(self.p, self.q, found.p, found.q, first, last), found.p.shape[1], PART)
        return found


class Leaves:
    """Fractions 1/(A - f) of cells f, 16-bit or 64-bit words, in at least 8 columns; `pole` is A.

    Of layers above them, only the third one and those above it are stored: the others are made when their turn comes, one after the other, in the
    same memory.
    """

    def __init__(self, cells: Cells, pole: Element) -> None:
        self.cells, self.pole, self.degree = cells, pole, len(pole)
        self.known = cells, word(pole), word(Extension(len(pole)).multiply(pole, pole))

    @cached_property
    def space(self) -> Words:
        """Memory for half as many elements as there are cells."""
        return np.empty((self.degree, len(self.cells) // 2), np.uint64)

    def planes(self) -> Planes:
        """Return planes of that memory, for a quarter as many entries as there are cells."""
        return Planes(*self.space.reshape(2, self.degree, -1))

    def octets(self) -> Planes:
        """Return the third layer."""
        found = Planes.empty(self.degree, len(self.cells) // 8)
        shared(lambda first, last: cell_fractions.octets(*self.known, found.p, found.q, first, last), found.p.shape[1], PART)
        return found

    def quads(self) -> Planes:
        """Return the second layer."""
        found = self.planes()
        shared(lambda first, last: cell_fractions.quads(*self.known, found.p, found.q, first, last), found.p.shape[1], PART)
        return found


@dataclass(frozen=True)
class Weights:
    """Weights of existing rows [rows, degree], and the point whose coordinates weigh columns."""

    field: Extension
    rows: Words
    column: Sequence[Element]

    def of(self, entries: int) -> tuple[Words, Words]:
        """Return the factors of the weights of so many entries, [outer, degree] and [inner, degree]."""
        bits = (entries // len(self.rows)).bit_length() - 1
        low = min(bits, max(0, (_INNER // len(self.rows)).bit_length() - 1))
        inner = multiply(equality(list(self.column[:low]), self.field.degree)[:, None], self.rows[None])
        return equality(list(self.column[low:bits]), self.field.degree), inner.reshape(-1, self.field.degree)

    def summed(self, count: int, entries: int, kernel: Callable[[int, Words, Words, int, int], object]) -> list[Element]:
        """Return `count` sums over so many entries.

        `kernel` is given the number of inner entries, the weights of outer ones, an array [count, degree, inner entries] to which it adds what has
        no weights of inner entries yet, and which outer ones, from a first to a last one.
        """
        outer, inner = self.of(entries)

        def work(first: int, last: int) -> Words:
            sums = np.zeros((count, self.field.degree, len(inner)), np.uint64)
            kernel(len(inner), outer, sums, first, last)
            return sums
        parts = shared(work, len(outer), max(1, PART // len(inner)))
        found = parts[0]
        for part in parts[1:]:
            found = add(found, part)
        return [element(total(multiply(part.T, inner))) for part in found]


class WideLayer:
    """The sum of p0 q1 + p1 q0 + factor q0 q1, which is p0 q1 + q0 (p1 + factor q1): p1 + factor q1 is stored in place of p1."""

    def __init__(self, planes: Planes, weights: Weights, factor: Element) -> None:
        self.p, self.q, self.weights, self.factor = planes.p, planes.q, weights, factor
        self.size = self.p.shape[1] // 2
        shared(lambda first, last: fractions.weigh_all(self.p, self.q, matrix(factor), first, last), self.size, PART)
        self._sums: list[Element] | None = None

    def round(self) -> list[Element]:
        """Return the coefficients of a round's polynomial, constant and quadratic."""
        return self._sums or self._summed(self.size // 2, matrix(self.factor), False)

    def bind(self, challenge: Element) -> None:
        """Set the round's variable, and prepare the next round in the same pass."""
        t, size = matrix(challenge), self.size
        self.size //= 2
        if self.size > len(self.weights.rows):
            self._sums = self._summed(size // 4, t, True)
            return
        for part in (self.p, self.q):
            fractions.bind_all(part, size, t, 0, self.size)

    def parts(self) -> list[Words]:
        """Return p0, p1, q0, q1 of existing rows, [rows, degree], once there is one column."""
        p0, p1, q0, q1 = ends(self.p, self.size) + ends(self.q, self.size)
        return [p0, subtract(p1, multiply(q1, word(self.factor))), q0, q1]

    def _summed(self, entries: int, challenge: Words, bound: bool) -> list[Element]:
        size = entries * (4 if bound else 2)
        return self.weights.summed(2, entries, lambda inner, outer, sums, first, last: fractions.general_round(
            self.p, self.q, size, inner, matrices(outer), sums, challenge, bound, first, last))


class WidePairs(WideLayer):
    """The first layer above cells, which takes part as it is made of them until the first variable is set."""

    def __init__(self, leaves: Leaves, weights: Weights, factor: Element) -> None:
        self.leaves, self.weights, self.factor = leaves, weights, factor
        self.size = len(leaves.cells) // 4
        self._sums = weights.summed(2, self.size // 2, lambda inner, outer, sums, first, last: cell_fractions.pair_round(
            *leaves.known, matrix(factor), inner, matrices(outer), sums, first, last))
        self._made = False

    def bind(self, challenge: Element) -> None:
        """Set the round's variable, and prepare the next round."""
        if self._made:
            super().bind(challenge)
            return
        self._made, planes = True, self.leaves.planes()
        self.p, self.q, self.size = planes.p, planes.q, self.size // 2
        shared(lambda first, last: cell_fractions.bind_pairs(*self.leaves.known, matrix(self.factor), matrix(challenge), self.p, self.q, first, last),
               self.size, PART)
        self._sums = self._summed(self.size // 2, matrix(challenge), False) if self.size > len(self.weights.rows) else []


class WideLeaves:
    """The sum of q0 + q1 + factor q0 q1: numerators are 1. Cells take part as they are until the first variable is set."""

    def __init__(self, leaves: Leaves, weights: Weights, factor: Element) -> None:
        self.leaves, self.weights, self.factor, self.field = leaves, weights, factor, weights.field
        self.size = len(leaves.cells) // 2
        self.q = np.empty((0, 0), np.uint64)
        self._sums: list[Element] | None = None

    def round(self) -> list[Element]:
        """Return the coefficients of a round's polynomial, constant and quadratic."""
        return self._sums or self._first()

    def _first(self) -> list[Element]:
        """Return those of the first round: with s = f + g, q0 + q1 is 2 A - s, and q0 q1 is A^2 - A s + f g."""
        field, pole = self.field, self.leaves.pole
        sums, products, leading = self.weights.summed(3, self.size // 2, lambda inner, outer, found, first, last: cell_fractions.cell_round(
            self.leaves.cells, inner, outer, found, first, last))
        weight = element(total(self.weights.rows))
        linear = field.subtract(field.multiply(field.add(pole, pole), weight), sums)
        crossed = field.subtract(field.multiply(field.multiply(pole, pole), weight), field.multiply(pole, sums))
        return [field.add(linear, field.multiply(self.factor, field.add(crossed, products))), field.multiply(self.factor, leading)]

    def bind(self, challenge: Element) -> None:
        """Set the round's variable, and prepare the next round."""
        t, size = matrix(challenge), self.size
        self.size //= 2
        first = not self.q.size
        if first:
            self.q = self.leaves.space
            shared(lambda start, stop: cell_fractions.bind_cells(self.leaves.cells, word(self.leaves.pole), word(challenge), self.q, start, stop),
                   self.size, PART)
        if self.size > len(self.weights.rows):
            entries = self.size // 2
            constant, leading = self.weights.summed(2, entries, lambda inner, outer, sums, start, stop: fractions.leaf_round(
                self.q, self.size if first else size, inner, matrices(outer), matrix(self.factor), sums, t, not first, start, stop))
            self._sums = [constant, self.field.multiply(self.factor, leading)]
        elif not first:
            fractions.bind_all(self.q, size, t, 0, self.size)

    def parts(self) -> list[Words]:
        """Return p0, p1, q0, q1 of existing rows, [rows, degree], once there is one column."""
        ones = np.zeros((self.size, self.field.degree), np.uint64)
        ones[:, 0] = 1
        return [ones, ones, *ends(self.q, self.size)]


def ends(part: Words, size: int) -> list[Words]:
    """Return what is left of the halves of a plane, [entries, degree]."""
    half = part.shape[1] // 2
    return [np.ascontiguousarray(part[:, start : start + size].T) for start in (0, half)]
