# SPDX-License-Identifier: Apache-2.0
"""The range check: all cells f of ranged rows are in the table 0, ..., 2^16 - 1, by sums of fractions (LogUp) in two trees (GKR).

*Identity.* The sum over cells of 1/(A - f) is the sum over v < 2^16 of m_v/(A - v), A drawn after all m_v are committed. A cell outside of the table
would be a pole of the left side with a coefficient that is not 0 mod p, for there are fewer than 2^32 cells; so the identity fails whatever m is,
but for a chance of (cells + 2^16)/|F| over A.

*Trees.* A leaf is a fraction (numerator, denominator): (1, A - f) of a cell, (0, 1) in all other rows, (m_v, A - v) in the table. A parent is the sum
(p0 q1 + p1 q0, q0 q1) of its children. Upwards, column c meets c + half of the columns, then row r meets r + half of the virtual rows. From the root
down, a layer's claim (p, q) at a point becomes, with a challenge lambda, a sumcheck over x of
    p + lambda q = sum of eq(point, x) (p0 q1 + p1 q0 + lambda q0 q1)(x)
and its four ends; a challenge mu joins them to the next claim. Of leaves only those are sent that are not public: q0 and q1 of cells, where
p0 = p1 = sum of eq(row, r) over ranged rows; p0 and p1 of the table, where q0 and q1 are A less a linear form of the point.

*Roots.* Both sums are equal: p q' = p' q, with q q' /= 0 shown by an inverse. Source: Papini, Habock, 2023.
"""

from __future__ import annotations

from certify_zk.affine import Affine
from certify_zk.dialogue import Dialogue
from certify_zk.field import Element, Field
from certify_zk.layout import MULTIPLICITY, BlockClaim, Claim, Layout, Point, RangedClaim
from certify_zk.sumcheck import Round, rounds
from certify_zk.width import LIMB

LOOKUP = "relation-lookup"
CELLS, TABLE = 0, 1
"""The two trees."""


def lookup(dialogue: Dialogue, layout: Layout) -> list[tuple[Claim, Affine]]:
    """Return the claims that are left of a lookup: about the ranged rows, and about the multiplicities; raises Rejected `relation-lookup`."""
    field = dialogue.field
    (challenge,) = dialogue.challenge("lookup/pole", 1, "poles", layout.ranged_cells + (1 << LIMB))
    p, q, p_table, q_table, inverse = dialogue.heard("lookup/roots", dialogue.source.roots(challenge))
    dialogue.check(dialogue.product(p, q_table), dialogue.product(p_table, q), LOOKUP, "the equality of cells and table")
    dialogue.check(dialogue.product(dialogue.product(q, q_table), inverse), Affine(field.one), LOOKUP, "that no cell is a pole")

    row, column, _, denominator = _descend(dialogue, CELLS, layout.rows, layout.columns, p, q, challenge, layout)
    existing = _ranged(field, layout, row)
    cells = field.add(field.multiply(challenge, existing), field.subtract(field.one, existing))
    found: list[tuple[Claim, Affine]] = [(RangedClaim(row, column), dialogue.combined([(field.negated(field.one), denominator)], cells))]
    _, column, numerator, _ = _descend(dialogue, TABLE, 0, LIMB, p_table, q_table, challenge, layout)
    return [*found, (BlockClaim(MULTIPLICITY, (column,)), numerator)]


def _descend(dialogue: Dialogue, tree: int, rows: int, columns: int, p: Affine, q: Affine, challenge: Element,
             layout: Layout) -> tuple[Point, Point, Affine, Affine]:
    """Return the point of a leaf, row and column, and its numerator and denominator."""
    field = dialogue.field
    row: Point = ()
    column: Point = ()
    for level in range(rows + columns):
        (factor,) = dialogue.challenge("lookup/factor", 1, "rounds", 1)
        dialogue.source.layer(tree, row, column, factor)
        claim = dialogue.combined([(field.one, p), (factor, q)])
        claim, found = rounds(dialogue, "lookup", "rounds", claim, [Round(2, coordinate) for coordinate in (*column[::-1], *row[::-1])])
        column, row = tuple(found[: len(column)][::-1]), tuple(found[len(column) :][::-1])
        leaf = level == rows + columns - 1
        ends = dialogue.heard("lookup/ends", dialogue.source.ends(leaf))
        if not leaf:
            p0, p1, q0, q1 = ends
        elif tree == CELLS:
            p0 = p1 = Affine(_ranged(field, layout, row))
            q0, q1 = ends
        else:
            known = field.subtract(challenge, _number(field, column))
            (p0, p1), q0, q1 = ends, Affine(known), Affine(field.subtract(known, field.embed(1 << (columns - 1))))
        crossed = [(field.one, dialogue.product(p0, q1)), (field.one, dialogue.product(p1, q0)), (factor, dialogue.product(q0, q1))]
        dialogue.check(claim, dialogue.combined(crossed), LOOKUP, "a sum of fractions")
        (joint,) = dialogue.challenge("lookup/joint", 1, "rounds", 1)
        other = field.subtract(field.one, joint)
        p, q = dialogue.combined([(other, p0), (joint, p1)]), dialogue.combined([(other, q0), (joint, q1)])
        row, column = ((*row, joint), column) if level < rows else (row, (*column, joint))
    return row, column, p, q


def _ranged(field: Field, layout: Layout, row: Point) -> Element:
    """Return the sum of eq(row, r) over ranged rows."""
    table, total = field.equality(row), field.zero
    for r in layout.ranged:
        total = field.add(total, table[r])
    return total


def _number(field: Field, point: Point) -> Element:
    """Return the multilinear extension of the number of an entry: the sum of 2^b point[b]."""
    total = field.zero
    for bit, coordinate in enumerate(point):
        total = field.add(total, field.scale(coordinate, 1 << bit))
    return total

