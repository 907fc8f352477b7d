# SPDX-License-Identifier: Apache-2.0
"""The prover's side of the batch: the sum over all cells of cell times weight, where the weights of many claims are added up.

The weights of a claim are eq(high bits of the address) eq(low bits), the low ones those of the column, or 0 where a block ends. So the rows of the
tableau know few *patterns* v of weights, and have s_v(row) v(column) of each. While columns are bound,
    sum over rows and columns of f(row, column) sum over v of s_v(row) v(column) = sum over v and columns of F_v(column) v(column),
F_v the sum over rows of s_v(row) f(row, .), which is made once, of cells that are still 16-bit words. A row that has parts of blocks is a term of its
own, F its cells and v its weights. Where all columns are bound, cells and weights of all virtual rows take over.
Guarantee: messages have the coefficients of the polynomials that `sumcheck` describes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from certify_zk import convolution_prover
from certify_zk.field import Element, Extension
from certify_zk.kernels.sums import combine, equality, evaluations
from certify_zk.kernels.vectors import Words, add, between, embedded, multiply, subtract, total
from certify_zk.layout import BlockClaim, Claim, Layout, Place, Point, RangedClaim, limits
from certify_zk.lookup_prover import spread
from certify_zk.sumcheck_prover import element, word

Numbers = np.ndarray[Any, np.dtype[np.int64]]
Cells = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Pattern:
    """eq(point, .) in the columns before `end` whose last `minor` bits are a number below `inner`, and 0 in all others."""

    point: Point
    minor: int
    inner: int
    end: int

    def weights(self, degree: int) -> Words:
        """Return the weights, [columns, degree]."""
        table = equality(list(self.point), degree)
        table.reshape(-1, 1 << self.minor, degree)[:, self.inner :] = 0
        table[self.end :] = 0
        return table


class Weights:
    """The weights of all claims: multiples of patterns, as numbers of existing rows with factors, and weights of single rows."""

    def __init__(self, field: Extension, layout: Layout, claims: Sequence[Claim], factor: Element) -> None:
        self.field, self.layout = field, layout
        self.patterns: dict[Pattern, list[tuple[Numbers, Words]]] = {}
        self.single: dict[int, Words] = {}
        self.number = np.full(1 << layout.rows, -1)
        self.number[list(layout.physical)] = np.arange(len(layout.physical))
        power = field.one
        for claim in claims:
            if isinstance(claim, RangedClaim):
                factors = equality(list(claim.row), field.degree)[list(layout.ranged)]
                self._many(self._whole(claim.column), np.arange(len(layout.ranged)), multiply(factors, word(power)))
            else:
                self._block(claim, power)
            power = field.multiply(power, factor)

    def _whole(self, point: Point) -> Pattern:
        return Pattern(point, self.layout.columns, 1 << self.layout.columns, 1 << self.layout.columns)

    def _many(self, pattern: Pattern, rows: Numbers, factors: Words) -> None:
        self.patterns.setdefault(pattern, []).append((rows, factors))

    def _block(self, claim: BlockClaim, power: Element) -> None:
        place, columns = self.layout.places[claim.block], self.layout.columns
        if claim.through is not None:
            self._written(place, multiply(convolution_prover.placed(claim.through, claim.points, place, self.field.degree), word(power)))
            return
        minor, major = place.ordered(claim.points)
        pieces = [(power, 1 << place.minor, place.count)]
        if claim.outside is not None:
            inner, outer = limits(place, claim.outside)
            pieces.append((self.field.subtract(self.field.zero, power), inner, min(outer, place.count)))
        row, start = divmod(place.start, 1 << columns)
        for scale, inner, outer in pieces:
            if place.minor + place.major <= columns:
                self._single(int(self.number[row]), start, (minor, major), (inner, outer), scale)
                continue
            high = multiply(equality(list((minor + major)[columns:]), self.field.degree), word(scale))
            for pattern, rows in self._rows((minor + major)[:columns], place.minor, inner, outer):
                self._many(pattern, self.number[row + rows], high[rows])

    def _rows(self, low: Point, minor: int, inner: int, outer: int) -> Iterator[tuple[Pattern, Numbers]]:
        """Yield patterns of a cube in several rows, each with the numbers of its rows, for entries (major below `outer`, minor below `inner`)."""
        columns = self.layout.columns
        width = 1 << columns
        if minor <= columns:
            whole, rest = divmod(outer << minor, width)
            found = [(Pattern(low, minor, inner, width), np.arange(whole)), (Pattern(low, minor, inner, rest), np.arange(whole, whole + 1))]
        else:
            whole, rest = divmod(inner, width)
            rows = np.arange(outer)[:, None] << (minor - columns)
            found = [(self._whole(low), (rows + np.arange(whole)).ravel()), (Pattern(low, columns, width, rest), (rows + whole).ravel())]
        yield from (each for each in found if each[0].end and each[1].size)

    def _written(self, place: Place, weights: Words) -> None:
        """Add weights [major, minor, degree] that are written out, row by row."""
        width, flat = 1 << self.layout.columns, weights.reshape(-1, self.field.degree)[: place.stored]
        row, start = divmod(place.start, width)
        for index in range(-(-len(flat) // width)):
            part = flat[index * width : (index + 1) * width]
            table = self.single.setdefault(int(self.number[row + index]), np.zeros((width, self.field.degree), np.uint64))
            table[start : start + len(part)] = add(table[start : start + len(part)], part)

    def _single(self, row: int, start: int, points: tuple[Point, Point], ends: tuple[int, int], scale: Element) -> None:
        minor, major = (equality(list(point), self.field.degree)[:end] for point, end in zip(points, ends, strict=True))
        table = self.single.setdefault(row, np.zeros((1 << self.layout.columns, self.field.degree), np.uint64))
        size = len(major) << len(points[0])
        cells = table[start : start + size].reshape(len(major), -1, self.field.degree)[:, : len(minor)]
        cells[:] = add(cells, multiply(multiply(major, word(scale))[:, None], minor))


class Batch:
    """The rounds. `cells` are those of ranged rows, 16-bit or 64-bit words, and `free` those of free rows."""

    def __init__(self, cells: Cells, free: Words, weights: Weights) -> None:
        self.rows, self.weights = (cells, free), weights
        self.field, self.layout = weights.field, weights.layout
        degree = self.field.degree
        terms = [(self._combined(parts), pattern.weights(degree)) for pattern, parts in weights.patterns.items()]
        terms += [(embedded(self._cells(row), degree), table) for row, table in weights.single.items()]
        self.tables = [np.stack(part) for part in zip(*terms, strict=True)]
        self.point: list[Element] = []

    def _cells(self, row: int) -> Words:
        ranged, free = self.rows
        found: Words = (ranged[row] if row < len(ranged) else free[row - len(ranged)]).astype(np.uint64)
        return found

    def _combined(self, parts: Sequence[tuple[Numbers, Words]]) -> Words:
        """Return the sum of factors times rows."""
        found = np.zeros((1 << self.layout.columns, self.field.degree), np.uint64)
        rows, factors = (np.concatenate(part) for part in zip(*parts, strict=True))
        ranged = rows < len(self.rows[0])
        for some, cells, first in ((ranged, self.rows[0], 0), (~ranged, self.rows[1], len(self.rows[0]))):
            if some.any():
                combine(np.ascontiguousarray(factors[some]), cells, found, rows[some] - first)
        return found

    def round(self) -> list[Element]:
        """Return constant and quadratic coefficient of the sum of cells times weights."""
        half = self.tables[0].shape[1] // 2
        ends = [(part[:, :half], subtract(part[:, half:], part[:, :half])) for part in self.tables]
        return [element(total(total(multiply(first, second)))) for first, second in zip(*ends, strict=True)]

    def bind(self, challenge: Element) -> None:
        """Set the round's variable."""
        half, at = self.tables[0].shape[1] // 2, word(challenge)
        self.tables = [between(part[:, :half], part[:, half:], at) for part in self.tables]
        self.point.append(challenge)
        if len(self.point) == self.layout.columns:
            self._turn()

    def _turn(self) -> None:
        """Take in cells and weights of all virtual rows, once there is one column."""
        point = equality(self.point[::-1], self.field.degree)
        cells = np.concatenate([evaluations(part, point) for part in self.rows])
        weights, values = np.zeros_like(cells), self.tables[1][:, 0]
        for parts, value in zip(self.weights.patterns.values(), values, strict=False):
            for rows, factors in parts:
                weights[rows] = add(weights[rows], multiply(factors, value))
        for row, value in zip(self.weights.single, values[len(self.weights.patterns) :], strict=True):
            weights[row] = add(weights[row], value)
        self.tables = [spread(part, self.layout.physical, self.layout.rows, 0)[None] for part in (cells, weights)]

    def value(self) -> Element:
        """Return the cells' value where all variables are set."""
        return element(self.tables[0][0, 0])
