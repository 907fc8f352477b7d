# SPDX-License-Identifier: Apache-2.0
"""The lookup: sums of fractions, its leaves and absent rows, and provers that hide a cell that is not in the table."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from certify.errors import Rejected
from certify_zk.affine import Affine
from certify_zk.circuit import Circuit
from certify_zk.dialogue import Dialogue
from certify_zk.field import Element, Extension, P
from certify_zk.layout import MULTIPLICITY, BlockClaim, Layout, RangedClaim, layout
from certify_zk.lookup import lookup
from certify_zk.lookup_prover import Layer, tree
from certify_zk.prover import Answers, multiplicities
from certify_zk.relations import Block
from certify_zk.sumcheck import weights
from certify_zk.sumcheck_prover import element
from certify_zk.transcript import Transcript

Words = np.ndarray


def arranged(columns: int, cells: int) -> Layout:
    """Return a layout with one row of the model, and some of the certificate."""
    return layout([Block("m", (2,), "model"), Block("x", (cells, 1 << columns), "certificate")], columns)


def source(made: Layout, cells: Words, counted: Words | None = None, degree: int = 2) -> Answers:
    counts = multiplicities(cells) if counted is None else counted
    return Answers(Extension(degree), Circuit({}, {}, ()), made, {MULTIPLICITY: counts}, cells)


def code(answers: Answers) -> str:
    """Return what a strict run says."""
    try:
        lookup(Dialogue(Transcript(), answers.field, answers, True), answers.layout)
    except Rejected as trouble:
        return trouble.code
    return "verified"


def random_cells(made: Layout, seed: int) -> Words:
    return np.random.default_rng(seed).integers(0, 1 << 16, (len(made.ranged), 1 << made.columns)).astype(np.uint64)


@pytest.mark.parametrize(("columns", "rows", "degree"), [(9, 1, 2), (9, 3, 2), (10, 5, 3), (11, 2, 2), (16, 1, 2)])
def test_what_is_left_of_a_lookup_is_true(columns: int, rows: int, degree: int) -> None:
    made = arranged(columns, rows)
    cells = random_cells(made, columns)
    answers = source(made, cells, degree=degree)
    field, dialogue = answers.field, Dialogue(Transcript(), answers.field, answers, True)
    (ranged, cells_value), (table, numerator) = lookup(dialogue, made)
    assert isinstance(ranged, RangedClaim) and isinstance(table, BlockClaim) and table.block == MULTIPLICITY
    weights, total = field.equality(ranged.row), field.zero
    for row, line in zip(made.ranged, cells.tolist(), strict=True):
        nothing = [[0] * len(line)] * (degree - 1)
        total = field.add(total, field.multiply(weights[row], field.multilinear([line, *nothing], ranged.column)))
    assert cells_value == Affine(total)
    counts = multiplicities(cells).tolist()
    assert field.multilinear([counts, *[[0] * len(counts)] * (degree - 1)], table.points[0]) == numerator.known
    depth = made.rows + columns
    assert dialogue.counts["poles"] == cells.size + (1 << 16)
    assert dialogue.counts["rounds"] == sum(2 * (level * (level - 1) // 2) + 2 * level for level in (depth, 16))


def test_layers_are_sums_over_their_rows_absent_ones_too() -> None:
    field, rng = Extension(2), np.random.default_rng(1)
    existing, rows, columns = (0, 1, 4), 3, 2
    p, q = (rng.integers(0, P, (len(existing), 1 << columns, 2), dtype=np.uint64) for _ in range(2))
    grown = tree(p, q, existing, rows)
    fractions = {}
    for c in range(1 << columns):
        for r in range(1 << rows):
            at = existing.index(r) if r in existing else None
            fractions[r, c] = (field.zero, field.one) if at is None else (element(p[at, c]), element(q[at, c]))
    top, bottom = field.zero, field.one
    for a, b in fractions.values():
        top, bottom = field.add(field.multiply(top, b), field.multiply(a, bottom)), field.multiply(bottom, b)
    assert grown.root == (top, bottom)
    row, column, factor = ([tuple(int(w) for w in rng.integers(0, P, 2, dtype=np.uint64)) for _ in range(n)] for n in (3, 1, 1))
    expected, eq_row, eq_column = field.zero, field.equality(row), field.equality(column)
    for c in range(2):
        for r in range(1 << rows):
            (p0, q0), (p1, q1) = fractions[r, c], fractions[r, c + 2]
            inner = field.add(field.add(field.multiply(p0, q1), field.multiply(p1, q0)), field.multiply(factor[0], field.multiply(q0, q1)))
            expected = field.add(expected, field.multiply(field.multiply(eq_row[r], eq_column[c]), inner))

    ends = {}
    for at in ((0, 0), (1, 0), (5, 3)):  # the polynomial of the first round, from what is left behind it
        some = tree(p.copy(), q.copy(), existing, rows)
        del some.layers[2:]
        layer = Layer(field, some, tuple(row), tuple(column), factor[0])
        constant, leading = layer.round()
        layer.bind(at)
        ends[at] = field.zero
        for r in range(1 << rows):
            a, b, c, d = (element(part[r]) for part in layer.parts)
            inner = field.add(field.add(field.multiply(a, d), field.multiply(b, c)), field.multiply(factor[0], field.multiply(c, d)))
            ends[at] = field.add(ends[at], field.multiply(eq_row[r], inner))
    for at, end in ends.items():
        kept, (first, second) = weights(field, 2, column[0], at)
        sent = field.add(field.multiply(first, constant), field.multiply(second, leading))
        assert end == field.add(field.multiply(kept, expected), sent)


@pytest.mark.parametrize("bad", [65536, 70000, P - 1, P - 65536])
def test_a_cell_that_is_not_in_the_table_is_found(bad: int) -> None:
    made = arranged(9, 2)
    cells = random_cells(made, 3)
    assert code(source(made, cells)) == "verified"
    cells[1, 7] = bad
    assert code(source(made, cells)) == "relation-lookup"
    for forged in (bad % 65536, 0, 65535):  # whatever is counted in its place
        counted = multiplicities(cells)
        counted[forged] += 1
        assert code(source(made, cells, counted)) == "relation-lookup"


def test_counts_that_are_wrong_are_found() -> None:
    made = arranged(9, 2)
    cells = random_cells(made, 4)
    for change in (1, P - 1):
        counted = multiplicities(cells)
        counted[5] = (int(counted[5]) + change) % P
        assert code(source(made, cells, counted)) == "relation-lookup"


class Liar(Answers):
    """A prover that makes roots agree, and is honest after that."""

    blank = False

    def roots(self, challenge: Element) -> Sequence[Element]:
        field = self.field
        p, q, _, q_table, inverse = super().roots(challenge)
        if self.blank:
            return (field.zero,) * 5
        return p, q, field.multiply(p, field.multiply(q_table, field.inverse(q))), q_table, inverse


def test_roots_that_agree_by_a_lie_are_found_below() -> None:
    made = arranged(9, 2)
    cells = random_cells(made, 5)
    cells[0, 0] = 65536
    for blank in (False, True):
        answers = Liar(Extension(2), Circuit({}, {}, ()), made, {MULTIPLICITY: multiplicities(cells)}, cells)
        answers.blank = blank
        assert code(answers) == "relation-lookup"
