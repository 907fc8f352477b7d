# SPDX-License-Identifier: Apache-2.0
"""The prover of the argument: commits the cells of a witness, and sends what `argument` asks for.

Guarantee: for tables that break no relation, `verifier.verify` accepts the proof. Tables that do are not looked at: the prover follows the protocol
with whatever it has, but for cells of rows that do not exist, which raise ValueError.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from certify.limits import Limits
from certify_zk import argument, convolution_prover, ligero_prover
from certify_zk.affine import Affine
from certify_zk.circuit import Circuit
from certify_zk.convolution import image
from certify_zk.dialogue import Dialogue, Padded
from certify_zk.exact import Integers
from certify_zk.field import Element, Extension, P
from certify_zk.kernels.sums import combine, equality
from certify_zk.kernels.vectors import Words, add, between, embedded, multiply, scale, subtract, total
from certify_zk.layout import MULTIPLICITY, BlockClaim, Claim, Layout, Point, RangedClaim, limits
from certify_zk.ligero_prover import Committed, Draw
from certify_zk.lookup import CELLS
from certify_zk.lookup_prover import Layer, Tree, bound, spread, strips, tree
from certify_zk.pads_prover import commit_pads, open_pads
from certify_zk.policy import Policy
from certify_zk.publics import public_values
from certify_zk.relations import ONE, Block, Factor, Form, Identity
from certify_zk.statement import Statement
from certify_zk.sumcheck_prover import Products, element, word
from certify_zk.verifier import Argument, arrangement, measured, opened, shape
from certify_zk.width import LIMB

Tables = Mapping[str, Integers]


def commit_model(policy: Policy, blocks: Mapping[str, Block], tables: Tables, draw: Draw) -> Committed:
    """Return the commitment to the model's blocks; `draw` gives its pads and salts."""
    layout = arrangement(policy, blocks.values())
    cells = filled(layout, layout.model, tables)
    return ligero_prover.commit(shape(policy, layout).code, *_split(cells), draw)


def prove(policy: Policy, circuit: Circuit, statement: Statement, claim: bytes, tables: Tables, model: Committed, draw: Draw,
          padded: bool = True) -> Argument:
    """Return the argument for a witness; `draw` gives pads, masks and salts. Messages are masked unless, for tests, they are not `padded`."""
    sizes = measured(policy, statement, Limits(), Padded if padded else Dialogue)
    layout, field = sizes.layout, Extension(sizes.shape.degree)
    cells = filled(layout, layout.ranged, tables)
    counted = multiplicities(cells)
    free = filled(layout, layout.free, {MULTIPLICITY: counted})
    limbs, words = _split(cells[len(layout.model) :])
    certificate = ligero_prover.commit_certificate(sizes.shape, limbs, np.concatenate([words, free]), draw)
    publics = public_values(policy, statement)
    source = Answers(field, circuit, layout, {**tables, **publics, MULTIPLICITY: counted}, np.concatenate([cells, free]))
    roots = [model.root, certificate.root]
    pads = commit_pads(sizes.pads, sizes.pairs, draw) if padded else None
    if pads is not None:
        roots.append(pads.committed.root)
    transcript = argument.begin(policy, statement, claim, roots)
    run = Dialogue(transcript, field, source, False) if pads is None else Padded(transcript, field, source, pads.messages)
    remaining = argument.run(run, circuit, layout, publics)
    weights = field.equality(remaining.row)
    hide = (field.zero, field.zero) if pads is None else (pads.messages[-2], pads.messages[-1])
    opening, scale = ligero_prover.open_claim(transcript, sizes.shape, model, certificate, [weights[r] for r in layout.physical],
                                              list(remaining.column), run.tape.value(remaining.value), hide)
    if pads is None or not isinstance(run, Padded):
        return Argument(certificate.root, np.array(source.sent, np.uint64), opening)
    messages = np.array(run.sent, np.uint64)
    run.check(opened(run, scale, remaining.value, opening.mask_value), Affine(field.zero), "argument-opening", "the opened value")
    return Argument(certificate.root, messages, opening, pads.committed.root, open_pads(transcript, sizes.pads, run, pads))


def filled(layout: Layout, rows: Sequence[int], tables: Tables) -> Words:
    """Return the cells of rows; raises ValueError for cells that are not 0 and in no row."""
    found = np.zeros((len(rows), 1 << layout.columns), np.uint64)
    number = {row: index for index, row in enumerate(rows)}
    for name, place in layout.places.items():
        if place.start >> layout.columns not in number:
            continue
        table = residues(tables[name])
        cells = (table.T if table.ndim == 2 and place.axis == 1 else table).ravel()
        if cells[place.stored :].any():
            raise ValueError(f"{name} has cells in padding that is not stored")
        if place.major + place.minor <= layout.columns:
            start = place.start & ((1 << layout.columns) - 1)
            found[number[place.start >> layout.columns], start : start + place.stored] = cells[: place.stored]
            continue
        grid = cells.reshape(-1, 1 << layout.columns)
        for index in range((place.stored - 1 >> layout.columns) + 1):
            found[number[(place.start >> layout.columns) + index]] = grid[index]
    return found


def multiplicities(cells: Words) -> Words:
    """Return how often each integer of the lookup's table occurs."""
    return np.bincount(cells[cells < 1 << LIMB].astype(np.int64), minlength=1 << LIMB).astype(np.uint64)


def residues(values: Integers) -> Words:
    """Return integers modulo p."""
    table = np.asarray(values)
    if table.dtype == object:
        return (table % P).astype(np.uint64)
    words: Words = table.astype(np.uint64)
    if table.dtype.kind == "i":
        words[table < 0] += np.uint64(P)  # 2^64 more than the integer, and p more modulo 2^64
    return words


@dataclass
class _Batch:
    """Cells and weights, [existing rows, columns, degree] until there is one column, and then [virtual rows, degree]."""

    cells: Words
    weights: Words


class Answers:
    """The source of a prover: what it sends is in `sent`."""

    def __init__(self, field: Extension, circuit: Circuit, layout: Layout, tables: Tables, cells: Words) -> None:
        self.field, self.circuit, self.layout, self.cells = field, circuit, layout, cells
        self.tables = {name: residues(table) for name, table in tables.items()}
        self.tables |= {name: image(block.image.layer, self.form(block.image.form, 0), block.shape)
                        for name, block in circuit.blocks.items() if block.image is not None}
        self.sent: list[Element] = []
        self._trees: list[Tree] = []
        self._state: Layer | Products | _Batch | None = None

    def _say(self, *messages: Element) -> list[Element]:
        self.sent.extend(messages)
        return list(messages)

    def roots(self, challenge: Element) -> Sequence[Element]:
        """Grow both trees."""
        field, degree, layout = self.field, self.field.degree, self.layout
        cells = subtract(word(challenge), embedded(self.cells[: len(layout.ranged)], degree))
        ones = embedded(np.ones(cells.shape[:2], np.uint64), degree)
        table = embedded(self.tables[MULTIPLICITY][None], degree)
        poles = subtract(word(challenge), embedded(np.arange(1 << LIMB, dtype=np.uint64)[None], degree))
        self._trees = [tree(ones, cells, layout.ranged, layout.rows), tree(table, poles, (0,), 0)]
        (p, q), (p_table, q_table) = (grown.root for grown in self._trees)
        both = field.multiply(q, q_table)
        return self._say(p, q, p_table, q_table, field.inverse(both) if any(both) else field.zero)

    def layer(self, tree: int, row: Point, column: Point, factor: Element) -> None:
        """Begin a layer."""
        self._state = Layer(self.field, self._trees[tree], row, column, factor)
        self._tree = tree

    def ends(self, leaf: bool) -> Sequence[Element]:
        """Return the ends of a layer."""
        if not isinstance(self._state, Layer):
            raise ValueError("no layer is open")
        p0, p1, q0, q1 = self._state.ends()
        if not leaf:
            return self._say(p0, p1, q0, q1)
        return self._say(q0, q1) if self._tree == CELLS else self._say(p0, p1)

    def claim(self, claim: BlockClaim) -> Element:
        """Return the value of a block."""
        if claim.through is not None:
            counted = scale(convolution_prover.weights(claim.through, claim.points, self.field.degree), self.tables[claim.block][..., None])
            return self._say(element(total(counted.reshape(-1, self.field.degree))))[0]
        axes = [equality(list(point), self.field.degree) for point in claim.points]
        if claim.outside is None:
            return self._say(self._summed(claim.block, axes))[0]
        inside = [axis.copy() for axis in axes]
        for axis, limit in zip(inside, claim.outside, strict=True):
            axis[limit:] = 0
        return self._say(self.field.subtract(self._summed(claim.block, axes), self._summed(claim.block, inside)))[0]

    def _summed(self, block: str, axes: list[Words]) -> Element:
        table = self.tables[block]
        vector = self._bound(table, axes[0]) if table.ndim == 2 else embedded(table, self.field.degree)
        return element(total(multiply(vector, axes[-1])))

    def _bound(self, table: Words, weights: Words) -> Words:
        """Return the sums over the first axis of a matrix."""
        found = np.zeros((table.shape[1], self.field.degree), np.uint64)
        combine(np.ascontiguousarray(weights), np.ascontiguousarray(table), found)
        return found

    def sums(self, identity: Identity, row: Point, column: Point, summed: tuple[int, int]) -> None:
        """Begin an identity."""
        products = []
        for product in identity.products:
            tables = [self._factor(factor, row, column, summed) for factor in product.factors]
            tables[0] = scale(tables[0], np.uint64(product.coefficient % P))
            products.append(tables)
        self._state = Products(products, row[: summed[1]], self.field.degree)

    def _factor(self, factor: Factor, row: Point, column: Point, summed: tuple[int, int]) -> Words:
        """Return a factor's entries by the number k 2^(bits of i) + i, axes that are not summed bound."""
        degree = self.field.degree
        table = embedded(self.form(factor.form, 1 << len(row)), degree)
        letters = factor.axes
        if "j" in letters:
            table = total(multiply(table, equality(list(column), degree)))
            letters = letters.replace("j", "")
        if "i" in letters and not summed[1]:
            table = total(multiply(np.moveaxis(table, 0, -2), equality(list(row), degree))) if letters == "ik" else \
                total(multiply(table, equality(list(row), degree)))
            letters = letters.replace("i", "")
        sizes = {"k": 1 << summed[0], "i": 1 << summed[1]}
        full = table if letters == "ik" else table[:, None] if letters == "i" else table[None] if letters == "k" else table[None, None]
        full = np.broadcast_to(full, (sizes["i"], sizes["k"], degree))
        return np.ascontiguousarray(np.moveaxis(full, 0, 1)).reshape(-1, degree)

    def form(self, form: Form, rows: int) -> Words:
        """Return the entries of a form modulo p, in so many rows where it has terms with a sign."""
        found = np.zeros(1, np.uint64)
        for term in form.terms:
            table = np.ones(1, np.uint64) if term.block == ONE else self.tables[term.block]
            part = scale(table, np.uint64(term.coefficient % P))
            if term.sign is not None:
                spread = np.zeros((rows, *part.shape[1:]), np.uint64)
                spread[term.sign :: 2] = part
                part = spread
            found = add(found, part)
        return found

    def batch(self, claims: Sequence[Claim], factor: Element) -> None:
        """Begin the batch."""
        degree, layout = self.field.degree, self.layout
        number = {row: index for index, row in enumerate(layout.physical)}
        weights = np.zeros((len(layout.physical), 1 << layout.columns, degree), np.uint64)
        power = self.field.one
        for claim in claims:
            if isinstance(claim, RangedClaim):
                rows, columns = equality(list(claim.row), degree)[list(layout.ranged)], equality(list(claim.column), degree)
                count = len(layout.ranged)
                weights[:count] = add(weights[:count], multiply(multiply(rows, word(power))[:, None], columns))
            else:
                self._weigh(claim, power, weights, number)
            power = self.field.multiply(power, factor)
        self._state = _Batch(embedded(self.cells, degree), weights)

    def _weigh(self, claim: BlockClaim, power: Element, weights: Words, number: Mapping[int, int]) -> None:
        """Add the weights of a claim about a block."""
        place, degree, width = self.layout.places[claim.block], self.field.degree, 1 << self.layout.columns
        if claim.through is not None:
            table = multiply(convolution_prover.placed(claim.through, claim.points, place, degree), word(power))
        else:
            minor, major = (equality(list(point), degree) for point in place.ordered(claim.points))
            table = multiply(multiply(major, word(power))[:, None], minor)
            table[place.count :] = 0
        if claim.outside is not None:
            inner, outer = limits(place, claim.outside)
            table[:outer, :inner] = 0
        flat = table.reshape(-1, degree)
        row, start = divmod(place.start, width)
        for index in range((place.stored - 1) // width + 1):
            part = flat[index * width : (index + 1) * width]
            cells = weights[number[row + index], start : start + len(part)]
            cells[:] = add(cells, part)

    def round(self, degree: int) -> Sequence[Element]:
        """Return a round's message."""
        if isinstance(self._state, Products):
            return self._say(*self._state.round(degree))
        if isinstance(self._state, Layer):
            return self._say(*self._state.round())
        return self._say(*self._batch_round())

    def bind(self, challenge: Element) -> None:
        """Set a round's variable."""
        if isinstance(self._state, Products | Layer):
            self._state.bind(challenge)
            return
        some, at = self._batched(), word(challenge)
        if some.cells.ndim == 2:
            half = len(some.cells) // 2
            some.cells, some.weights = (between(part[:half], part[half:], at) for part in (some.cells, some.weights))
            return
        some.cells, some.weights = (bound(part, at) for part in (some.cells, some.weights))
        if some.cells.shape[1] == 1:
            some.cells, some.weights = (spread(part[:, 0], self.layout.physical, self.layout.rows, 0) for part in (some.cells, some.weights))

    def _batch_round(self) -> list[Element]:
        """Return constant and quadratic coefficient of the sum of cells times weights."""
        some, degree = self._batched(), self.field.degree
        if some.cells.ndim == 2:
            half = len(some.cells) // 2
            ends = [(part[:half], subtract(part[half:], part[:half])) for part in (some.cells, some.weights)]
            return [element(total(multiply(first, second))) for first, second in zip(*ends, strict=True)]
        half = some.cells.shape[1] // 2
        sums = np.zeros((2, len(some.cells), degree), np.uint64)
        for strip in strips(len(some.cells), half):
            ends = [(part[strip, :half], subtract(part[strip, half:], part[strip, :half])) for part in (some.cells, some.weights)]
            for found, first, second in zip(sums, *ends, strict=True):
                found[strip] = total(multiply(first, second))
        return [element(total(found)) for found in sums]

    def _batched(self) -> _Batch:
        if not isinstance(self._state, _Batch):
            raise ValueError("no sumcheck is open")
        return self._state

    def value(self) -> Element:
        """Return the cells' value where the batch ended."""
        return self._say(element(self._batched().cells[0]))[0]

    def echo(self, value: Element | None) -> Element:
        """Return the value that is asked."""
        if value is None:
            raise ValueError("a prover knows its values")
        return self._say(value)[0]


def _split(cells: Words) -> tuple[np.ndarray[tuple[int, ...], np.dtype[np.uint16]], Words]:
    """Return rows of limbs and rows of words, one of them empty: all are words if a cell is no limb."""
    limbs = bool((cells < 1 << LIMB).all())
    return cells[: len(cells) if limbs else 0].astype(np.uint16), cells[len(cells) if limbs else 0 :]
