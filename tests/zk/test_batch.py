# SPDX-License-Identifier: Apache-2.0
"""Rounds of the batch against the sum over all cells that they stand for, for claims about blocks of all kinds; and bound forms."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from certify_zk.batch_prover import Batch, Weights
from certify_zk.circuit import Circuit
from certify_zk.field import Element, Extension, P
from certify_zk.form_prover import Bound, entries
from certify_zk.layout import MULTIPLICITY, BlockClaim, Claim, Layout, RangedClaim, layout
from certify_zk.prover import Answers, filled, narrowed
from certify_zk.relations import ONE, Block, Form, Term


def points(random: np.random.Generator, count: int, degree: int) -> tuple[Element, ...]:
    return tuple(tuple(row) for row in random.integers(0, P, (count, degree), dtype=np.uint64).tolist())


def block_value(field: Extension, table: Any, claim: BlockClaim) -> Element:
    """Return what a claim says of the entries of a block."""
    total, axes = field.zero, [field.equality(point) for point in claim.points]
    for place in np.ndindex(table.shape):
        if claim.outside is None or any(index >= limit for index, limit in zip(place, claim.outside, strict=True)):
            weight = field.one
            for axis, index in zip(axes, place, strict=True):
                weight = field.multiply(weight, axis[index])
            total = field.add(total, field.scale(weight, int(table[place]) % P))
    return total


BLOCKS = [Block("small", (3, 4), "model"), Block("wide", (3, 37), "model"), Block("tall", (37, 3), "certificate"),
          Block("row", (5, 8), "certificate"), Block("line", (60,), "certificate"), Block("long", (9, 64), "certificate"),
          Block("one", (1,), "certificate")]


def committed(random: np.random.Generator, made: Layout, dtype: type) -> dict[str, Any]:
    """Return tables with cells in all entries that exist, those in padding too."""
    found: dict[str, Any] = {}
    for block in BLOCKS:
        place = made.places[block.name]
        table = random.integers(1, 1 << 16, block.shape).astype(dtype)
        np.moveaxis(table, place.axis, 0)[place.count :] = 0
        found[block.name] = table
    return found


@pytest.mark.parametrize("degree", [2, 3])
@pytest.mark.parametrize("dtype", [np.uint16, np.uint64])
@pytest.mark.parametrize("columns", [3, 4, 5, 7])
def test_rounds_of_the_batch_are_those_of_the_sum(columns: int, dtype: type, degree: int) -> None:
    random, field, made = np.random.default_rng(columns), Extension(degree), layout(BLOCKS, columns)
    tables = committed(random, made, dtype)
    if dtype is np.uint64:
        tables["tall"][1, 1] = P - 5
    counts = random.integers(0, P, 1 << 16, dtype=np.uint64)
    cells, free = filled(made, made.ranged, tables), filled(made, made.free, {MULTIPLICITY: counts})
    assert cells.dtype == dtype and free.dtype == np.uint64 and narrowed(cells) is cells
    (factor,) = points(random, 1, degree)
    several: list[Claim] = [RangedClaim(points(random, made.rows, degree), points(random, columns, degree))]
    for block in BLOCKS:
        for outside in (None, None, block.dimensions):
            several.append(BlockClaim(block.name, tuple(points(random, size.bit_length() - 1, degree) for size in block.shape), outside))
    again = next(claim for claim in several if isinstance(claim, BlockClaim) and claim.block == "tall" and claim.outside)
    several.append(BlockClaim("tall", again.points))  # at the same point, all entries
    several.append(BlockClaim(MULTIPLICITY, (points(random, 16, degree),)))

    batch, total, power = Batch(cells, free, Weights(field, made, several, factor)), field.zero, field.one
    for claim in several:
        if isinstance(claim, RangedClaim):
            rows, value = field.equality(claim.row), field.zero
            for row, line in zip(made.ranged, cells.tolist(), strict=True):
                value = field.add(value, field.multiply(rows[row], field.multilinear([line, *[[0] * len(line)] * (degree - 1)], claim.column)))
        elif claim.block == MULTIPLICITY:
            value = field.multilinear([counts.tolist(), *[[0] * len(counts)] * (degree - 1)], claim.points[0])
        else:
            value = block_value(field, tables[claim.block], claim)
        total, power = field.add(total, field.multiply(power, value)), field.multiply(power, factor)
    challenges = points(random, columns + made.rows, degree)
    for challenge in challenges:
        constant, leading = batch.round()
        linear = field.subtract(total, field.add(field.add(constant, constant), leading))
        total = field.add(constant, field.multiply(challenge, field.add(linear, field.multiply(challenge, leading))))
        batch.bind(challenge)
    column, row = challenges[:columns][::-1], challenges[columns:][::-1]
    weight, power, rows, cell = field.zero, field.one, field.equality(row), field.zero
    for claim in several:
        weight, power = field.add(weight, field.multiply(power, made.weight(field, claim, row, column))), field.multiply(power, factor)
    for number, line in zip(made.physical, [*cells.tolist(), *free.tolist()], strict=True):
        cell = field.add(cell, field.multiply(rows[number], field.multilinear([line, *[[0] * len(line)] * (degree - 1)], column)))
    assert batch.value() == cell and total == field.multiply(weight, cell)


def test_cells_of_free_rows_follow_or_are_given_apart() -> None:
    random, made = np.random.default_rng(4), layout(BLOCKS, 5)
    counts = random.integers(0, 1 << 20, 1 << 16, dtype=np.uint64)
    cells, free = filled(made, made.ranged, committed(random, made, np.uint16)), filled(made, made.free, {MULTIPLICITY: counts})
    for some in ((np.concatenate([cells, free]),), (cells, free)):
        source = Answers(Extension(2), Circuit({}, {}, ()), made, {MULTIPLICITY: counts}, *some)
        assert source.cells.dtype == np.uint16 and (source.cells == cells).all() and (source.free == free).all()


@pytest.mark.parametrize("degree", [2, 3])
@pytest.mark.parametrize("dtype", [np.uint16, np.uint64])
def test_bound_forms_and_claims(degree: int, dtype: type) -> None:
    random, field = np.random.default_rng(3), Extension(degree)
    shapes: dict[str, tuple[int, ...]] = {"a": (8, 16), "b": (16, 16), "line": (16,), "one": (1,), "flat": (1, 16)}
    tables = {name: random.integers(0, 1 << 16, shape).astype(dtype) for name, shape in shapes.items()}
    bound = Bound(field)
    for block, table in tables.items():
        at = tuple(points(random, size.bit_length() - 1, degree) for size in table.shape)
        for claim in (BlockClaim(block, at), BlockClaim(block, at, tuple(size // 2 + 1 for size in table.shape)), BlockClaim(block, at)):
            assert bound.claim(table, claim) == block_value(field, table, claim)
        if table.ndim == 2:  # along the other axis, which is then kept
            other = points(random, len(at[0]), degree), at[1]
            bound.vector(table, 1, at[1])
            assert bound.claim(table, BlockClaim(block, other)) == block_value(field, table, BlockClaim(block, other))
    signed = Form((Term("a", 3, 0), Term("a", -5, 1), Term("b", -1), Term("flat", 7)))
    plain = Form((Term("b", 1 << 16), Term(ONE, -9)))
    line = Form((Term("line", -4), Term(ONE, P - 1), Term("one", 2)))
    for form, axis, size in ((signed, 0, 16), (plain, 0, 16), (plain, 1, 16), (line, 0, 1)):
        point, whole = points(random, 4, degree), entries(form, tables, 16).astype(object)
        whole, weights = np.broadcast_to(whole, (16, 16) if size > 1 else (16,)), field.equality(point)
        expected = []
        for index in range(size):
            line_of = whole if size == 1 else whole[:, index] if axis == 0 else whole[index]
            total = field.zero
            for weight, entry in zip(weights, line_of, strict=True):
                total = field.add(total, field.scale(weight, int(entry)))
            expected.append(total)
        found = bound.form(form, tables, axis, point)
        assert [tuple(row) for row in np.broadcast_to(found, (size, degree)).tolist()] == expected
