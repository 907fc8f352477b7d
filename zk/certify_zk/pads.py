# SPDX-License-Identifier: Apache-2.0
"""The tableau of pads: what a verifier does to learn that the constraints of a masked run hold, and nothing else.

Rows are polynomials over F of degree below kappa = l + t: what they are at the l-th roots of unity, the *slots*, and a random multiple of X^l - 1.
They are committed by their values at a coset that has no slot, before the first challenge of the run:

    message        the pads of messages, l a row
    x, y, z        of product g, in slot g: the pads of both factors, and their product
    u              one row, random
    linear 0, 1    M = M_0 + X^(l-1) M_1, random of degree below kappa + l - 1, but its sum over the slots is 0
    product 0 to 2 M' = M'_0 + X^l M'_1 + X^(kappa-1) M'_2, a random multiple of X^l - 1 of degree below 2 kappa - 1

The last part of a mask ends where the mask may end: whatever the parts are, the mask has no larger degree. The parts overlap in t coefficients or
more; there one of them is random, so the parts, too, show nothing when t columns are opened: M_1 has t + 1 free coefficients; M'_1 is all random,
and M'_2 has one more. That is enough for t <= l + 1: given M', the first t coefficients of M'_1 are free, and with them l + 1 of M'_2.

*Protocol.* Challenges rho, rho' and gamma_r for every row but `u`. Prover, in clear, as polynomials:
    u       = u row + sum of gamma_r row_r                                   (degree below kappa)
    linear  = M + sum of a_r row_r,      a_r(slot s) = sum over constraints i = 1, 2, ... of rho^i (coefficient of what row r has in slot s)
    product = M' + sum over g = 1, 2, ... of rho'^g (x_g y_g - z_g)           (rows of products)
Then t uniform columns, opened with salts and a multiproof. The verifier compares all three there, and in the whole: the sum of `linear` over the
slots is that of rho^i times what constraint i must give; `product` is 0 in every slot. No weight is the constant 1: a mask could cancel it.

*Soundness.* u: if the rows are not close to codewords it is wrong on more than e columns, but for a chance of N/|F| (see `ligero`); else rows decode
uniquely, and a wrong `linear` or `product` agrees with the right one on at most kappa + l - 2 + e or 2 kappa - 2 + e columns. A right one shows a
false constraint or product but for the roots of a polynomial in rho or rho', whose constant term, the mask's, was fixed before: degree/|F|.
*Zero knowledge.* u, linear and product are uniform given what they must satisfy, because the masks are; t opened columns of the other rows and of
mask parts that the three equations leave free are uniform; unopened leaves are salted hashes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from certify.errors import Rejected
from certify.limits import Limits
from certify_zk.affine import Affine
from certify_zk.dialogue import MESSAGE, PAIR, Padded
from certify_zk.field import GENERATOR, Element, Extension, P, evaluate, root_of_unity
from certify_zk.ligero import Bytes, Words, authentic, distinct, shaped_words, to_bytes
from certify_zk.reed_solomon import Code
from certify_zk.transcript import Transcript

MASKS = 6
"""Rows that hide the three polynomials: one for u, two parts for `linear`, three for `product`."""


@dataclass(frozen=True)
class PadShape:
    """Public sizes: the code of the rows (cells are slots, pads are t), the degree of F, and the numbers of messages and of products."""

    code: Code
    degree: int
    messages: int
    products: int

    @property
    def message_rows(self) -> int:
        """Rows of pads."""
        return -(-self.messages // self.code.cells)

    @property
    def product_rows(self) -> int:
        """Rows of each of x, y and z."""
        return -(-self.products // self.code.cells)

    @property
    def witness(self) -> int:
        """Rows that constraints speak of."""
        return self.message_rows + 3 * self.product_rows

    @property
    def rows(self) -> int:
        """All rows."""
        return self.witness + MASKS

    @property
    def lengths(self) -> tuple[int, int, int]:
        """The number of coefficients of u, linear and product."""
        kappa = self.code.dimension
        return kappa, kappa + self.code.cells - 1, 2 * kappa - 1

    @property
    def shifts(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The powers of X with which the parts of the masks of linear and product count."""
        slots, kappa = self.code.cells, self.code.dimension
        return (0, slots - 1), (0, slots, kappa - 1)

    @property
    def cost(self) -> int:
        """Elementary operations of `verify_pads`, for `Limits.spend`: 2^11 for an operation of F, 2^15 for a column's hashes."""
        columns = min(self.code.pads, self.code.length)
        transforms = self.witness * self.degree * self.code.cells * self.code.cells.bit_length()
        return (columns * (self.rows * self.degree * 4 + 64) + transforms) << 11

    def place(self, name: str, number: int) -> tuple[int, int]:
        """Return the row and slot of a hidden element."""
        row, slot = divmod(number, self.code.cells)
        return (row if name == MESSAGE else self.message_rows + PAIR.index(name) * self.product_rows + row), slot

    def point(self, column: int) -> int:
        """Return the point of a column: on the coset of 7, which has no power of two as order."""
        return GENERATOR * self.code.point(column) % P


@dataclass(frozen=True)
class PadOpening:
    """What the prover sends: coefficients u [kappa, D], linear [kappa + l - 1, D] and product [2 kappa - 1, D]; and of n opened columns, distinct and
    ascending, entries [n, rows D], salts |u1 [n, 16] and a multiproof |u1 [siblings, 32].
    """

    u: Words
    linear: Words
    product: Words
    columns: Words
    salts: Bytes
    path: Bytes


@dataclass(frozen=True)
class Challenges:
    """rho and rho' for constraints and products, and gamma for every row but that of u."""

    constraint: Element
    product: Element
    rows: list[Element]


def challenges(transcript: Transcript, shape: PadShape) -> Challenges:
    """Draw the challenges of the tableau."""
    constraint, product = transcript.elements("pads/challenges", 2, shape.degree)
    return Challenges(constraint, product, transcript.elements("pads/rows", shape.rows - 1, shape.degree))


def combination(run: Padded, shape: PadShape, challenge: Element) -> tuple[list[list[Element]], Element]:
    """Return the coefficients of all hidden elements, [row][slot], in the sum of challenge^i times constraint i, and what that sum must be."""
    field = run.field
    table = [[field.zero] * shape.code.cells for _ in range(shape.witness)]
    weights, power, due = list[tuple[Element, Affine]](), field.one, field.zero
    for constraint in run.constraints:
        power = field.multiply(power, challenge)
        weights.append((power, constraint))
        due = field.subtract(due, field.multiply(power, constraint.known))
    for node, coefficient in run.tape.spread(weights).items():
        row, slot = shape.place(*run.where[node])
        table[row][slot] = coefficient
    return table, due


def verify_pads(transcript: Transcript, shape: PadShape, root: bytes, run: Padded, opening: PadOpening, limits: Limits) -> None:
    """Return if the constraints of a run hold with the pads of the committed tableau.

    Raises Rejected `argument-malformed`, `argument-noncanonical`, `argument-path`, `argument-lowdegree` (u), `argument-constraints` (linear) or
    `argument-products` (product); Declined `limit-reached`.
    """
    field, slots = Extension(shape.degree), shape.code.cells
    limits.spend(shape.cost, "checking the tableau of pads")
    sent = {"u": opening.u, "linear": opening.linear, "product": opening.product}
    for (name, polynomial), length in zip(sent.items(), shape.lengths, strict=True):
        shaped_words(polynomial, (length, shape.degree), f"pad_{name}")
    drawn = challenges(transcript, shape)
    for name, polynomial in sent.items():
        transcript.absorb(f"pads/{name}", to_bytes(polynomial))
    columns = distinct(transcript.indices("pads/columns", shape.code.pads, shape.code.length))
    authentic("pad", root, shape.code.length, shape.rows * shape.degree, columns, opening.columns, opening.salts, opening.path)

    table, due = combination(run, shape, drawn.constraint)
    components = [opening.linear[:, d].tolist() for d in range(shape.degree)]
    if tuple(sum(component[::slots]) * slots % P for component in components) != due:
        raise Rejected("argument-constraints", "the checks of the argument do not hold", where="evidence.pad_linear")
    if any(sum(component[slot::slots]) % P for component in opening.product.T.tolist() for slot in range(slots)):
        raise Rejected("argument-products", "a product of two messages is not what was committed", where="evidence.pad_product")

    points = [shape.point(column) for column in columns]
    factors = [_values(field, coefficients(row, field), points) for row in table]
    first, second, third = (_values(field, polynomial.T.tolist(), points) for polynomial in sent.values())
    for index, (point, words) in enumerate(zip(points, opening.columns.tolist(), strict=True)):
        rows = [tuple(words[start : start + shape.degree]) for start in range(0, len(words), shape.degree)]
        if _u(field, shape, drawn, rows) != first[index]:
            raise Rejected("argument-lowdegree", "an opened column contradicts u", where="evidence.pad_u")
        if _linear(field, shape, [factor[index] for factor in factors], rows, point) != second[index]:
            raise Rejected("argument-constraints", "an opened column contradicts the checks", where="evidence.pad_linear")
        if _product(field, shape, drawn, rows, point) != third[index]:
            raise Rejected("argument-products", "an opened column contradicts the products", where="evidence.pad_product")


def coefficients(slots: Sequence[Element], field: Extension) -> list[list[int]]:
    """Return the coefficients, a list for each basis element of F, of the polynomial of least degree with these values in the slots.

    Slot s is the point w^s, w the root of unity of order l; an inverse transform of each component, decimation in time.
    """
    size = len(slots)
    back = pow(root_of_unity(size), -1, P)
    scale = pow(size, -1, P)
    return [[value * scale % P for value in _transform([slot[d] for slot in slots], back)] for d in range(field.degree)]


def _transform(values: list[int], root: int) -> list[int]:
    """Return the sums of values[s] root^(s k) for k = 0, 1, ..., root of the order of their number, a power of two."""
    if len(values) == 1:
        return values
    even, odd = (_transform(values[start::2], root * root % P) for start in (0, 1))
    found, power = [0] * len(values), 1
    for k, (first, second) in enumerate(zip(even, odd, strict=True)):
        turned = power * second
        found[k], found[k + len(even)] = (first + turned) % P, (first - turned) % P
        power = power * root % P
    return found


def _values(field: Extension, components: Sequence[Sequence[int]], points: Sequence[int]) -> list[Element]:
    """Return the values of a polynomial over F at points of F_p."""
    return list(zip(*(evaluate(component, points) for component in components), strict=True))


def _u(field: Extension, shape: PadShape, drawn: Challenges, rows: Sequence[Element]) -> Element:
    total = rows[shape.witness]
    for gamma, row in zip(drawn.rows, [*rows[: shape.witness], *rows[shape.witness + 1 :]], strict=True):
        total = field.add(total, field.multiply(gamma, row))
    return total


def _linear(field: Extension, shape: PadShape, factors: Sequence[Element], rows: Sequence[Element], point: int) -> Element:
    total = _mask(field, shape.shifts[0], rows[shape.witness + 1 : shape.witness + 3], point)
    for factor, row in zip(factors, rows[: shape.witness], strict=True):
        total = field.add(total, field.multiply(factor, row))
    return total


def _product(field: Extension, shape: PadShape, drawn: Challenges, rows: Sequence[Element], point: int) -> Element:
    total, power, count = _mask(field, shape.shifts[1], rows[shape.witness + 3 :], point), field.one, shape.product_rows
    for x, y, z in zip(*(rows[shape.message_rows + part * count : shape.message_rows + (part + 1) * count] for part in range(3)), strict=True):
        power = field.multiply(power, drawn.product)
        total = field.add(total, field.multiply(power, field.subtract(field.multiply(x, y), z)))
    return total


def _mask(field: Extension, shifts: Sequence[int], parts: Sequence[Element], point: int) -> Element:
    """Return the value of a mask from those of its parts."""
    total = field.zero
    for shift, part in zip(shifts, parts, strict=True):
        total = field.add(total, field.scale(part, pow(point, shift, P)))
    return total
