# SPDX-License-Identifier: Apache-2.0
"""What a prover needs of blocks and forms where some of their axes are bound at a point: sums of eq(point, .) times entries.

A matrix is bound at few points, and its bound vectors serve many claims and factors, so they are kept. Guarantee: the results are those of the field,
whatever integers below p tables have.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from certify_zk.field import Element, Extension, P
from certify_zk.kernels.sums import combine, equality, evaluations
from certify_zk.kernels.vectors import Words, add, embedded, multiply, scale, total
from certify_zk.layout import BlockClaim, Point
from certify_zk.relations import ONE, Form
from certify_zk.sumcheck_prover import element, word

Table = np.ndarray[Any, Any]
"""Entries of a block: 16-bit words, or 64-bit words below p."""


class Bound:
    """Matrices with one axis bound, by the table, the axis, and the point."""

    def __init__(self, field: Extension) -> None:
        self.field = field
        self._kept: dict[tuple[int, int, Point], tuple[Table, Words]] = {}

    def vector(self, table: Table, axis: int, point: Point) -> Words:
        """Return the sums over one axis, [other axis, degree]."""
        key = id(table), axis, point
        if key not in self._kept:  # the table is kept too, so that no other one gets its number
            weights = equality(list(point), self.field.degree)
            self._kept[key] = table, summed(table, weights) if axis == 0 else evaluations(np.ascontiguousarray(table), weights)
        return self._kept[key][1]

    def claim(self, table: Table, claim: BlockClaim) -> Element:
        """Return the value of a claim about a block with these entries."""
        degree = self.field.degree
        axes = [equality(list(point), degree) for point in claim.points]
        if claim.outside is not None:
            return _outside(table, axes, claim.outside)
        if table.ndim == 1:
            return element(total(multiply(embedded(table, degree), axes[0])))
        axis = 1 if (id(table), 1, claim.points[1]) in self._kept else 0
        return element(total(multiply(self.vector(table, axis, claim.points[axis]), axes[1 - axis])))

    def form(self, form: Form, tables: Mapping[str, Table], axis: int, point: Point) -> Words:
        """Return the sums of a form's entries over one axis, [other axis, degree]: 1 entry if there is no other axis, or all have the same value."""
        found = np.zeros((1, self.field.degree), np.uint64)
        for term in form.terms:
            at, weight = point, self.field.one
            if term.sign is not None:
                weight, at = point[0] if term.sign else self.field.subtract(self.field.one, point[0]), point[1:]
            part = self._part(term.block, tables, axis, at)
            found = add(found, multiply(part, word(self.field.scale(weight, term.coefficient % P))))
        return found

    def _part(self, block: str, tables: Mapping[str, Table], axis: int, point: Point) -> Words:
        """Return the sums of a block; one that has a single entry along the axis stands for as many as are needed."""
        if block == ONE:
            return embedded(np.ones(1, np.uint64), self.field.degree)
        table = tables[block]
        at = point if table.shape[axis if table.ndim > 1 else 0] > 1 else ()
        if table.ndim == 1:
            return word(self.claim(table, BlockClaim(block, (at,))))[None]
        return self.vector(table, axis, at)


def entries(form: Form, tables: Mapping[str, Table], rows: int) -> Words:
    """Return the entries of a form modulo p, in so many rows where it has terms with a sign."""
    found = np.zeros(1, np.uint64)
    for term in form.terms:
        table = np.ones(1, np.uint64) if term.block == ONE else tables[term.block]
        part = scale(table, np.uint64(term.coefficient % P))
        if term.sign is not None:
            spread = np.zeros((rows, *part.shape[1:]), np.uint64)
            spread[term.sign :: 2] = part
            part = spread
        found = add(found, part)
    return found


def summed(table: Table, weights: Words) -> Words:
    """Return the sums of weights times entries over the first axis of a matrix."""
    found = np.zeros((table.shape[1], weights.shape[1]), np.uint64)
    combine(np.ascontiguousarray(weights), np.ascontiguousarray(table), found)
    return found


def _outside(table: Table, axes: Sequence[Words], limits: Sequence[int]) -> Element:
    """Return the sum of weights times those entries that are not within limits."""
    first, degree = limits[0], axes[0].shape[1]
    if table.ndim == 1:
        return element(total(multiply(embedded(table[first:], degree), axes[0][first:])))
    below, beside = summed(table[first:], axes[0][first:]), summed(table[:first, limits[1] :], axes[0][:first])
    return element(add(total(multiply(below, axes[1])), total(multiply(beside, axes[1][limits[1] :]))))
