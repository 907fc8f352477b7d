# SPDX-License-Identifier: Apache-2.0
"""Layouts: no two cells in one place, the rows of a model always the same, and weights of claims against sums over all cells."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from certify.errors import Declined
from certify_zk.circuit import assemble
from certify_zk.field import Element, Extension, P
from certify_zk.layout import MULTIPLICITY, BlockClaim, Claim, Layout, Point, RangedClaim, below, both, layout
from certify_zk.prover import filled
from certify_zk.relations import Block
from certify_zk.statement import Box, Rows, Score, Statement
from zk.tiny import specimen

FIELD = Extension(2)


def point(rng: np.random.Generator, bits: int) -> Point:
    return tuple(tuple(int(word) for word in rng.integers(0, P, 2, dtype=np.uint64)) for _ in range(bits))


def total(values: list[Element]) -> Element:
    found = FIELD.zero
    for value in values:
        found = FIELD.add(found, value)
    return found


def weights(made: Layout, block: Block, claim: BlockClaim) -> dict[int, Element]:
    """Return the weights of a claim by address, from its definition."""
    place, tables = made.places[block.name], [FIELD.equality(part) for part in claim.points]
    found = {}
    for entry in product(*map(range, block.shape)):
        weight = FIELD.one
        for table, index in zip(tables, entry, strict=True):
            weight = FIELD.multiply(weight, table[index])
        major = entry[place.axis]
        minor = entry[1 - place.axis] if len(entry) == 2 else 0
        outside = claim.outside is None or any(index >= limit for index, limit in zip(entry, claim.outside, strict=True))
        if major < place.count and outside:
            found[place.start + (major << place.minor) + minor] = weight
    return found


def extended(found: dict[int, Element], address: Point) -> Element:
    """Return the multilinear extension of weights by address."""
    value = FIELD.zero
    for cell, weight in found.items():
        for bit, coordinate in enumerate(address):
            weight = FIELD.multiply(weight, coordinate if cell >> bit & 1 else FIELD.subtract(FIELD.one, coordinate))
        value = FIELD.add(value, weight)
    return value


def check(made: Layout, block: Block, rng: np.random.Generator) -> None:
    """Compare the closed form of claims about a block with sums over its cells."""
    points = tuple(point(rng, size.bit_length() - 1) for size in block.shape)
    row, column = point(rng, made.rows), point(rng, made.columns)
    claims = [BlockClaim(block.name, points), BlockClaim(block.name, points, block.dimensions)]
    for claim in claims:
        assert made.weight(FIELD, claim, row, column) == extended(weights(made, block, claim), column + row)


@pytest.mark.parametrize("columns", [1, 3, 5])
def test_weights_of_matrices_of_all_small_sizes(columns: int) -> None:
    rng = np.random.default_rng(columns)
    for a, b in product(range(1, 10), repeat=2):
        block = Block("x", (a, b), "certificate")
        made = layout([Block("m", (3,), "model"), block, Block("y", (2, 3), "certificate")], columns)
        check(made, block, rng)
        place = made.places["x"]
        assert place.stored == block.cells and place.start % (block.shape[0] * block.shape[1]) == 0


def test_weights_of_vectors() -> None:
    rng = np.random.default_rng(5)
    for size in range(1, 20):
        block = Block("x", (size,), "certificate")
        for columns in (2, 5):
            made = layout([Block("m", (3, 2), "model"), block], columns)
            assert made.places["x"].stored == block.shape[0]
            check(made, block, rng)


def test_sums_below_a_limit() -> None:
    rng = np.random.default_rng(6)
    for bits in range(7):
        first, second = point(rng, bits), point(rng, bits)
        mine, theirs = FIELD.equality(first), FIELD.equality(second)
        for limit in range((1 << bits) + 1):
            assert below(FIELD, first, limit) == total(mine[:limit])
            assert both(FIELD, first, second, limit) == total([FIELD.multiply(a, b) for a, b in zip(mine[:limit], theirs, strict=False)])
        for limit in (-1, (1 << bits) + 1):
            with pytest.raises(ValueError, match="within its cube"):
                below(FIELD, first, limit)


def test_weights_of_ranged_rows() -> None:
    rng = np.random.default_rng(7)
    made = layout([Block("m", (3, 9), "model"), Block("x", (5, 7), "certificate"), Block("y", (3,), "certificate")], 12)
    claim: Claim = RangedClaim(point(rng, made.rows), point(rng, made.columns))
    row, column = point(rng, made.rows), point(rng, made.columns)
    assert isinstance(claim, RangedClaim)
    tables = [FIELD.equality(part) for part in (claim.row, row, claim.column, column)]
    rows = total([FIELD.multiply(tables[0][r], tables[1][r]) for r in (*made.model, *made.certificate)])
    columns = total([FIELD.multiply(a, b) for a, b in zip(tables[2], tables[3], strict=True)])
    assert made.weight(FIELD, claim, row, column) == FIELD.multiply(rows, columns)


def test_no_two_cells_in_one_place_and_every_row_that_exists_has_one() -> None:
    rng = np.random.default_rng(8)
    for number in range(20):
        policy, _, statement = specimen(rng)
        made = assemble(policy, statement)
        arranged = layout(made.blocks.values(), 3 + number % 7)
        used: set[int] = set()
        for name, place in arranged.places.items():
            cells = set(range(place.start, place.start + place.stored))
            assert not cells & used
            used |= cells
            model = name != MULTIPLICITY and made.blocks[name].kind == "model"
            rows = arranged.free if name == MULTIPLICITY else arranged.model if model else arranged.certificate
            assert {cell >> arranged.columns for cell in cells} <= set(rows)
        assert {cell >> arranged.columns for cell in used} == set(arranged.physical) and len(set(arranged.physical)) == len(arranged.physical)
        assert max(arranged.physical) < 1 << arranged.rows and len(used) == made.cells + (1 << 16)
        assert max(arranged.model) < 1 << (arranged.rows - 1) <= min(arranged.certificate)


def test_rows_of_a_model_do_not_depend_on_the_statement() -> None:
    rng = np.random.default_rng(9)
    policy, _, _ = specimen(rng)
    inputs, outputs = policy.size(0), policy.size(policy.depth)
    box = Box((0,) * inputs, (1,) * inputs)
    found = [layout(assemble(policy, statement).blocks.values(), 4) for statement in (
        Statement((box,), Score(0, 5)), Statement((box,) * 9, Rows(((1,) * outputs,) * 7, (0,) * 7)))]
    assert found[0].model == found[1].model and len(found[0].certificate) < len(found[1].certificate)
    for name in found[0].places:
        if name.startswith(("weight", "bias")):
            assert found[0].places[name] == found[1].places[name]


def test_cells_are_where_their_place_says() -> None:
    rng = np.random.default_rng(10)
    blocks = [Block("a", (3, 8), "model"), Block("b", (8, 3), "certificate"), Block("c", (5,), "certificate"), Block("d", (13, 4), "certificate")]
    for columns in (2, 3, 4, 6):
        made = layout(blocks, columns)
        tables = {block.name: rng.integers(1, 1 << 16, block.shape) for block in blocks}
        for block in blocks:
            place = made.places[block.name]
            if len(block.shape) == 2:
                np.moveaxis(tables[block.name], place.axis, 0)[place.count :] = 0
        cells = filled(made, made.ranged, tables)
        for block in blocks:
            place = made.places[block.name]
            for entry in product(*map(range, block.shape)):
                address = place.start + (entry[place.axis] << place.minor) + (entry[1 - place.axis] if len(entry) == 2 else 0)
                if address < place.start + place.stored:
                    assert cells[made.ranged.index(address >> columns), address & ((1 << columns) - 1)] == tables[block.name][entry]
        tables["a"] = np.ones((4, 8), np.int64)
        with pytest.raises(ValueError, match="a has cells in padding"):
            filled(made, made.ranged, tables)


def test_rows_of_a_length_that_is_not_taken() -> None:
    for columns in (0, 17):
        with pytest.raises(Declined) as caught:
            layout([Block("m", (3,), "model")], columns)
        assert caught.value.code == "commitment-limit"
