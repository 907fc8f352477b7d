# SPDX-License-Identifier: Apache-2.0
"""The last proof of an argument with the backend hyrax: pads and rows that were committed as points satisfy all that was compared before.

With T_1..T_k the points of the rows of pads and, as T_k, of the combination of all rows that the last claim is about, it shows
    sum over i of <a_i, row_i> = b   (linear),   and   x_g y_g = z_g for each product g.
Challenge c; answers z, t, u, and for each block of products x^, y^ and the blinding h_x, h_y, h_z:
    (1)  Com(z; t) = T_0 + sum of c^i T_i          (2)  <a(c), z> U + u H = sum over d /= k of c^d V_d + c^k b U,   a(X) = sum of X^(k-i) a_i
    (3)  Com(x^; h_x) = X' + c T_x      (4)  Com(y^; h_y) = Y' + c T_y      (5)  Com(x^ * y^; h_z) = E0 + c E1 + c^2 T_z
Guarantee: from answers to 2 k challenges one computes rows that open the points and satisfy both, or a relation of generators (docs/hyrax.md, 7).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from certify.errors import Rejected
from certify_zk.affine import Affine
from certify_zk.argument import Remaining
from certify_zk.dialogue import MESSAGE, PAIR, Padded
from certify_zk.group import Group, Point
from certify_zk.layout import Layout
from certify_zk.prime_field import Bytes, PrimeField, R, ScalarTranscript, equality, inner, powers
from certify_zk.transcript import Transcript

H, U, COLUMN = 0, 1, 2
"""Numbers of generators: that of blinding, that of values, and that of the first column."""


@dataclass(frozen=True)
class Shape:
    """Public sizes: columns of a row, rows of the model and all rows, messages, and products."""

    columns: int
    model_rows: int
    rows: int
    messages: int
    products: int

    @property
    def message_rows(self) -> int:
        """Rows of the pads of messages."""
        return -(-self.messages // self.columns)

    @property
    def blocks(self) -> list[int]:
        """The products of each block: each has a row of x, one of y and one of z."""
        return [min(self.columns, self.products - start) for start in range(0, self.products, self.columns)]

    @property
    def slots(self) -> int:
        """Rows of pads."""
        return self.message_rows + len(PAIR) * len(self.blocks)

    @property
    def rounds(self) -> int:
        """k: the rows of the linear equation."""
        return self.slots + 1

    @property
    def first(self) -> int:
        """Points of the last proof: T_0, V_d for 2 k - 1 powers, and four for each block."""
        return 2 * self.rounds + 4 * len(self.blocks)

    @property
    def responses(self) -> int:
        """Numbers of the last proof: z, t, u, and for each block two vectors and three for blinding."""
        return self.columns + 2 + 2 * self.products + 3 * len(self.blocks)

    @property
    def points(self) -> int:
        """All points of an argument."""
        return self.rows + self.slots + self.first

    def place(self, name: str, number: int) -> tuple[int, int]:
        """Return the row and slot of a hidden element."""
        row, slot = divmod(number, self.columns)
        return (row if name == MESSAGE else self.product_row(PAIR.index(name), row)), slot

    def product_row(self, part: int, block: int) -> int:
        """Return the row of x, y or z (part 0, 1, 2) of a block."""
        return self.message_rows + part * len(self.blocks) + block


@dataclass(frozen=True)
class Linear:
    """One equation between all rows of pads and the combination of the committed rows: coefficients [k][columns], what the sum must be, and the
    weight of each committed row in the last row.
    """

    coefficients: list[list[int]]
    due: int
    weights: list[int]


def linear(run: Padded, shape: Shape, arranged: Layout, remaining: Remaining) -> Linear:
    """Return the sum of all constraints of a run and of the last claim, with powers of a challenge that is drawn here."""
    field = PrimeField()
    (rho,) = run.transcript.elements("hyrax/weight", 1, field.degree)
    terms: list[tuple[tuple[int, ...], Affine]] = []
    power, due = field.one, field.zero
    for value in (*run.constraints, remaining.value):
        power = field.multiply(power, rho)
        terms.append((power, value))
        due = field.subtract(due, field.multiply(power, value.known))
    table = [[0] * shape.columns for _ in range(shape.slots)]
    for node, (coefficient,) in run.tape.spread(terms).items():
        row, slot = shape.place(*run.where[node])
        table[row][slot] = coefficient
    last = [-power[0] * entry % R for entry in equality(remaining.column)]
    every = equality(remaining.row)
    return Linear([*table, last], due[0], [every[row] for row in arranged.physical])


def challenged(transcript: Transcript, first: Bytes) -> int:
    """Absorb the points of the last proof and return its challenge."""
    transcript.absorb("hyrax/first", first.tobytes())
    return transcript.elements("hyrax/challenge", 1, PrimeField.degree)[0][0]


def folded(equation: Linear, challenge: int) -> list[int]:
    """Return a(c), the sum of c^(k-i) a_i over i = 1..k."""
    found = [0] * len(equation.coefficients[0])
    for row in equation.coefficients:
        found = [(entry * challenge + more) % R for entry, more in zip(found, row, strict=True)]
    return found


def verify_last(transcript: ScalarTranscript, curve: Group, generators: Sequence[Point], shape: Shape, equation: Linear, rows: Sequence[Point],
                slots: Sequence[Point], first: tuple[Bytes, Sequence[Point]], responses: tuple[Bytes, Sequence[int]]) -> None:
    """Return if points and answers of the last proof satisfy its equations; of both are given what was sent and what it says.

    Raises Rejected `argument-opening` for (1), (3) and (4), `argument-constraints` for (2), `argument-products` for (5).
    """
    challenge = challenged(transcript, first[0])
    transcript.absorb("hyrax/response", responses[0].tobytes())
    points = [*generators, *rows, *slots, *first[1]]
    sums = _equations(shape, equation, challenge, responses[1])
    joint = [0] * len(points)
    for (weight,), (_, scalars) in zip(transcript.elements("hyrax/combine", len(sums), PrimeField.degree), sums, strict=True):
        for index, scalar in scalars.items():
            joint[index] = (joint[index] + weight * scalar) % R
    if curve.is_identity(curve.combination(points, joint)):
        return
    for code, scalars in sums:
        if not curve.is_identity(curve.combination([points[index] for index in scalars], [scalar % R for scalar in scalars.values()])):
            raise Rejected(code, "an equation of the last proof does not hold", where="evidence.responses")
    raise Rejected("argument-opening", "the equations of the last proof do not hold together", where="evidence.responses")


def _equations(shape: Shape, equation: Linear, c: int, answers: Sequence[int]) -> list[tuple[str, dict[int, int]]]:
    """Return (1) to (5), each as its code and the multiples, by number of a point, whose sum must be the identity."""
    k, width = shape.rounds, shape.columns
    row = COLUMN + width
    slot = row + shape.rows
    first = slot + shape.slots
    z, (t, u) = answers[:width], answers[width : width + 2]
    power = powers(c, 2 * k)
    opened = {COLUMN + j: value for j, value in enumerate(z)} | {H: t, first: -1}
    opened |= {slot + i: -power[i + 1] for i in range(k - 1)}
    opened |= {row + r: -power[k] * weight for r, weight in enumerate(equation.weights)}
    compared = {U: inner(folded(equation, c), z) - power[k] * equation.due, H: u}
    compared |= {first + 1 + d - (d > k): -power[d] for d in range(2 * k) if d != k}
    found = [("argument-opening", opened), ("argument-constraints", compared)]
    start, point = width + 2, first + 2 * k
    for block, count in enumerate(shape.blocks):
        x, y, blinds = answers[start : start + count], answers[start + count : start + 2 * count], answers[start + 2 * count :][:3]
        start, own = start + 2 * count + 3, [slot + shape.product_row(part, block) for part in range(3)]
        for values, blind, mask, hidden in ((x, blinds[0], point, own[0]), (y, blinds[1], point + 1, own[1])):
            found.append(("argument-opening", {COLUMN + j: value for j, value in enumerate(values)} | {H: blind, mask: -1, hidden: -c}))
        both = {COLUMN + j: a * b for j, (a, b) in enumerate(zip(x, y, strict=True))}
        found.append(("argument-products", both | {H: blinds[2], point + 3: -1, point + 2: -c, own[2]: -c * c}))
        point += 4
    return found
