# SPDX-License-Identifier: Apache-2.0
"""The argument that all relations of a circuit hold between committed cells, as prover and verifier run it.

What is absorbed (a) and drawn (d), in this order, by label:

    protocol, policy, claim, box, roots  a   name and version; policy; bytes of the claim; regions and rows; roots of model, certificate and pads
    lookup/pole                          d   A
    lookup/roots                         a   p, q of the cells, p, q of the table, the inverse of both q
    lookup/factor                        d   for each layer, first of the cells' tree, then of the table's: lambda,
      lookup/round, lookup/point         a d   for each variable a polynomial and its point,
      lookup/ends                        a     what is not public of p0, p1, q0, q1,
      lookup/joint                       d     mu
    relation/row, relation/column        d   a random point of rows i, and one of columns j
    relation/claim                       a   for each relation, in the order of the circuit: values of its blocks,
      relation/round, relation/point     a d   for each variable a polynomial and its point,
      relation/claim                     a     values of its blocks there
    batch/factor                         d   gamma
      batch/round, batch/point           a d   for each variable a polynomial and its point
    batch/value                          a   the multilinear extension of all cells at that point
    opening/...                              see `ligero`
    pads/...                                 see `pads`

What is absorbed in clear mode as it is, is masked in a `Padded` dialogue, where factors of products are messages too (`product/factor`, absorbed
where the product is made) and there is a third root. Both modes have names of their own.
*Relations.* All are compared at one point, of which a relation uses as many coordinates as it has variables: rows i at the first coordinates of one
half, columns j at those of the other; the halves are independent, for an identity in (i, j) may well hold where both are equal. Each is an
identity of polynomials that the commitments fix, of degree 1 in each variable, so a false one holds with a chance of at most its variables/|F|.
What a relation defines (a constant) is claimed at that point, and is what the relation says it is, or else the relation is false there.
*Sums.* A product's factors that have i only once are bound at the row's point; if i occurs twice, the sum runs over i too, with a factor eq(row, i).
*Batch.* sum of gamma^q value_q = the sum over all cells of cell times sum of gamma^q weight_q; cells in absent rows are 0.
*Equal claims* are sent once: a claim is known by its block, its point and its entries.
*Images* are not committed: a claim about one is a claim about what it is made of, through its layer, with the weights of `convolution`.

Guarantee: if the commitments fix cells for which a relation is false, or which are not in range, a run passes with no more than the ledger's chance.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction

from certify_zk.affine import Affine
from certify_zk.circuit import Circuit
from certify_zk.dialogue import Dialogue
from certify_zk.field import Element
from certify_zk.layout import BlockClaim, Claim, Layout, Point, below
from certify_zk.lookup import lookup
from certify_zk.policy import Policy
from certify_zk.publics import Objects
from certify_zk.relations import ONE, Block, Factor, Form, Identity, Image, of
from certify_zk.statement import Statement
from certify_zk.sumcheck import Round, rounds
from certify_zk.transcript import Transcript

PROTOCOLS = {2: b"certify/private/clear/1", 3: b"certify/private/1"}
"""Names of the protocol by the number of roots: without pads, and with them."""
BATCH = "argument-constraints"


@dataclass(frozen=True)
class Remaining:
    """What a run leaves to an opening: the multilinear extension of all cells has this value at (row, column)."""

    row: Point
    column: Point
    value: Affine


def begin(policy: Policy, statement: Statement, claim: bytes, roots: Sequence[bytes]) -> Transcript:
    """Return a transcript that has absorbed what is to be shown, and the roots of model, certificate and, if there are pads, of these."""
    return begun(Transcript(), PROTOCOLS[len(roots)], policy, statement, claim, roots)


def begun(transcript: Transcript, protocol: bytes, policy: Policy, statement: Statement, claim: bytes, roots: Sequence[bytes]) -> Transcript:
    """Return a new transcript once it has absorbed what is to be shown, by a protocol, and roots."""
    transcript.absorb("protocol", protocol)
    transcript.absorb("policy", canonical(policy))
    transcript.absorb("claim", claim)
    transcript.absorb("box", canonical(statement))
    transcript.absorb("roots", b"".join(roots))
    return transcript


def run(dialogue: Dialogue, circuit: Circuit, layout: Layout, publics: Mapping[str, Objects]) -> Remaining:
    """Return what is left to open once the lookup and all relations are reduced to it.

    Raises Rejected with the code of a relation, `relation-lookup` or `argument-constraints` if the dialogue is strict, and what its source raises.
    """
    return _Run(dialogue, circuit, layout, publics).all()


class _Run:
    """The claims so far; values by claim, so that no claim is made twice."""

    def __init__(self, dialogue: Dialogue, circuit: Circuit, layout: Layout, publics: Mapping[str, Objects]) -> None:
        self.dialogue, self.field, self.circuit, self.layout, self.publics = dialogue, dialogue.field, circuit, layout, publics
        self.claims: list[tuple[Claim, Affine]] = []
        self.values: dict[BlockClaim, Affine] = {}
        self.defined: set[BlockClaim] = set()
        self.row: Point = ()
        self.column: Point = ()

    def all(self) -> Remaining:
        """Run lookup, relations and batch."""
        self.claims += lookup(self.dialogue, self.layout)
        identities = [identity for relation in self.circuit.relations for identity in relation.identities()]
        sizes = [_bits(identity, self.circuit.blocks) for identity in identities]
        longest = [max((size[letter] for size in sizes), default=0) for letter in "ij"]
        entry = sum(size["i"] + size["j"] for size in sizes)
        self.row = tuple(self.dialogue.challenge("relation/row", longest[0], "relations", entry))
        self.column = tuple(self.dialogue.challenge("relation/column", longest[1], "relations", 0))
        for identity, size in zip(identities, sizes, strict=True):
            self._identity(identity, size)
        for claim in self.values:
            if self.circuit.blocks[claim.block].kind == "constant" and claim not in self.defined:
                raise ValueError(f"no relation defines {claim.block}")
        return self._batch()

    def _identity(self, identity: Identity, size: Mapping[str, int]) -> None:
        row, column = self.row[: size["i"]], self.column[: size["j"]]
        at = {"i": row, "j": column}
        if not identity.products:
            axes = "ij"[: _axes(identity, self.circuit.blocks)]
            left, right = (self._form(form, [at[letter] for letter in axes], identity.outside) for form in (identity.left, identity.right))
            self.dialogue.check(left, right, identity.code, identity.name)
            return
        if identity.defines is not None:
            if identity.left != of(identity.defines):
                raise ValueError(f"{identity.name} defines nothing: its left side is no constant")
            self.defined.add(BlockClaim(identity.defines, (row,)))
        claim = self._form(identity.left, [at[letter] for letter in "ij"[: _axes(identity, self.circuit.blocks)]], None)
        summed, plan = _plan(identity, size, row)
        self.dialogue.source.sums(identity, row, column, summed)
        claim, found = rounds(self.dialogue, "relation", "relations", claim, plan)
        point = tuple(found[::-1])
        at |= {"k": point[summed[1] :]}
        if summed[1]:
            at["i"] = point[: summed[1]]
        total = []
        for product in identity.products:
            values = [self._form(factor.form, [at[letter] for letter in factor.axes], None) for factor in product.factors]
            part = values[0]
            for other in values[1:]:
                part = self.dialogue.product(part, other)
            total.append((self.field.embed(product.coefficient), part))
        self.dialogue.check(claim, self.dialogue.combined(total), identity.code, identity.name)

    def _form(self, form: Form, points: list[Point], outside: tuple[int, ...] | None) -> Affine:
        """Return the multilinear extension of a form at a point for each axis."""
        field, total = self.field, []
        for term in form.terms:
            parts, weight = list(points), field.one
            if term.sign is not None:
                sign, parts[0] = parts[0][0], parts[0][1:]
                weight = sign if term.sign else field.subtract(field.one, sign)
            entry = Affine(self._ones(parts, outside)) if term.block == ONE else self._block(term.block, parts, outside)
            total.append((field.scale(weight, term.coefficient), entry))
        return self.dialogue.combined(total)

    def _ones(self, points: list[Point], outside: tuple[int, ...] | None) -> Element:
        if outside is None:
            return self.field.one
        inside = self.field.one
        for point, limit in zip(points, outside, strict=True):
            inside = self.field.multiply(inside, below(self.field, point, limit))
        return self.field.subtract(self.field.one, inside)

    def _block(self, name: str, points: list[Point], outside: tuple[int, ...] | None) -> Affine:
        """Return the value of a block, which the prover claims unless it is public; a block of one entry stands for as many as are needed."""
        block = self.circuit.blocks[name]
        parts = tuple(point if size > 1 else () for point, size in zip(points, block.shape, strict=True))
        if block.image is not None:
            return self._image(block, block.image, parts, outside)
        return self._claimed(BlockClaim(name, parts, outside))

    def _image(self, block: Block, image: Image, parts: tuple[Point, ...], outside: tuple[int, ...] | None) -> Affine:
        """Return the value of an image: that of its form, through its layer; a constant of the form is put at each output."""
        constant = any(term.block == ONE for term in image.form.terms)
        if outside is not None or any(term.sign is not None for term in image.form.terms) or (constant and len(parts) > 1):
            raise ValueError(f"{block.name} is claimed in part, or made of rows, or of a constant that the layer does not put everywhere")
        total = []
        for term in image.form.terms:
            entry = (Affine(below(self.field, parts[0], block.dimensions[0])) if term.block == ONE else
                     self._claimed(BlockClaim(term.block, parts, through=image.layer)))
            total.append((self.field.embed(term.coefficient), entry))
        return self.dialogue.combined(total)

    def _claimed(self, claim: BlockClaim) -> Affine:
        """Return the value of a claim, the same for the same claim."""
        name, block, parts = claim.block, self.circuit.blocks[claim.block], claim.points
        if claim not in self.values:
            if block.kind == "public":
                flat = [int(entry) % self.field.characteristic for entry in self.publics[name].ravel()]
                nothing = [[0] * len(flat)] * (self.field.degree - 1)
                self.values[claim] = Affine(self.field.multilinear([flat, *nothing], [each for part in parts[::-1] for each in part]))
            else:
                (self.values[claim],) = self.dialogue.heard("relation/claim", [self.dialogue.source.claim(claim)])
                if block.kind != "constant":
                    self.claims.append((claim, self.values[claim]))
        return self.values[claim]

    def _batch(self) -> Remaining:
        field, claims = self.field, [claim for claim, _ in self.claims]
        (factor,) = self.dialogue.challenge("batch/factor", 1, "batch", len(claims) - 1)
        self.dialogue.source.batch(claims, factor)
        powers = [field.one]
        for _ in claims[1:]:
            powers.append(field.multiply(powers[-1], factor))
        total = self.dialogue.combined([(power, value) for power, (_, value) in zip(powers, self.claims, strict=True)])
        total, found = rounds(self.dialogue, "batch", "batch", total, [Round(2)] * (self.layout.columns + self.layout.rows))
        column, row = tuple(found[: self.layout.columns][::-1]), tuple(found[self.layout.columns :][::-1])
        (value,) = self.dialogue.heard("batch/value", [self.dialogue.source.value()])
        weight = field.zero
        for power, claim in zip(powers, claims, strict=True):
            weight = field.add(weight, field.multiply(power, self.layout.weight(field, claim, row, column)))
        self.dialogue.check(total, self.dialogue.combined([(weight, value)]), BATCH, "the sum of all claims")
        return Remaining(row, column, value)


def _bits(identity: Identity, blocks: Mapping[str, Block]) -> dict[str, int]:
    """Return the variables of an identity by letter of their axis.

    Raises ValueError for an identity that is not multilinear in j, or has a product whose sum over k the argument would count too often.
    """
    found = {"i": 0, "j": 0, "k": 0}
    factors = [Factor(form, "ij"[: _axes(identity, blocks)]) for form in (identity.left, identity.right)]
    some = any("k" in factor.axes for product in identity.products for factor in product.factors)
    for product in identity.products:
        if some and not any("k" in factor.axes for factor in product.factors):
            raise ValueError(f"{identity.name} has a product without k")
        if sum("j" in factor.axes for factor in product.factors) > 1:
            raise ValueError(f"{identity.name} is not multilinear in j")
        factors += product.factors
    for factor in factors:
        for term in factor.form.terms:
            if term.block == ONE:
                continue
            for number, (letter, size) in enumerate(zip(factor.axes, blocks[term.block].shape, strict=True)):
                doubled = number == 0 and term.sign is not None
                found[letter] = max(found[letter], size.bit_length() - 1 + doubled)
    return found


def _axes(identity: Identity, blocks: Mapping[str, Block]) -> int:
    """Return how many axes the sides of an identity have."""
    return max(len(blocks[term.block].shape) for form in (identity.left, identity.right) for term in form.terms if term.block != ONE)


def _plan(identity: Identity, size: Mapping[str, int], row: Point) -> tuple[tuple[int, int], list[Round]]:
    """Return the bits of k and i over which an identity sums, and its rounds: k before i, most significant bits first."""
    counts = {letter: max(sum(letter in factor.axes for factor in product.factors) for product in identity.products) for letter in "ik"}
    split = row[::-1] if counts["i"] > 1 else ()
    return (size["k"], len(split)), [Round(counts["k"])] * size["k"] + [Round(counts["i"], coordinate) for coordinate in split]


def canonical(value: Policy | Statement) -> bytes:
    def rational(entry: object) -> str:
        if not isinstance(entry, Fraction):
            raise TypeError(f"{type(entry).__name__} has no canonical form")
        return str(entry)
    return json.dumps(asdict(value), default=rational, sort_keys=True, separators=(",", ":")).encode()
