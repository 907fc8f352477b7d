# SPDX-License-Identifier: Apache-2.0
"""The prover of the argument: commits the cells of a witness, and sends what `argument` asks for.

Guarantee: for tables that break no relation, `verifier.verify` accepts the proof. Tables that do are not looked at: the prover follows the protocol
with whatever it has, but for cells of rows that do not exist, which raise ValueError.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from certify.limits import Limits
from certify_zk import argument, convolution_prover, ligero_prover
from certify_zk.affine import Affine
from certify_zk.batch_prover import Batch, Cells, Weights
from certify_zk.circuit import Circuit
from certify_zk.convolution import image
from certify_zk.dialogue import Dialogue, Padded
from certify_zk.exact import Integers
from certify_zk.field import Element, Extension, P
from certify_zk.form_prover import Bound, entries
from certify_zk.kernels.sums import count
from certify_zk.kernels.vectors import Words, embedded, scale, subtract
from certify_zk.layout import MULTIPLICITY, BlockClaim, Claim, Layout, Point
from certify_zk.ligero_prover import Committed, Draw
from certify_zk.lookup import CELLS
from certify_zk.lookup_prover import Layer, Tree, tree, tree_of_cells
from certify_zk.pads_prover import commit_pads, open_pads
from certify_zk.policy import Policy
from certify_zk.publics import public_values
from certify_zk.relations import Block, Factor, Identity
from certify_zk.statement import Statement
from certify_zk.sumcheck_prover import Products, word
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
    source = Answers(field, circuit, layout, {**tables, **publics, MULTIPLICITY: counted}, cells, free)
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


def filled(layout: Layout, rows: Sequence[int], tables: Tables) -> Cells:
    """Return the cells of rows, as 16-bit words if all are limbs; raises ValueError for cells that are not 0 and in no row."""
    number = {row: index for index, row in enumerate(rows)}
    names = [name for name, place in layout.places.items() if place.start >> layout.columns in number]
    limbs = all(tables[name].dtype == np.uint16 for name in names)
    found = np.zeros((len(rows), 1 << layout.columns), np.uint16 if limbs else np.uint64)
    for name in names:
        place, table = layout.places[name], tables[name] if limbs else residues(tables[name])
        if table.ndim == 2 and place.axis == 1:
            table = table.T
        cells = table.ravel()
        if cells[place.stored :].any():
            raise ValueError(f"{name} has cells in padding that is not stored")
        row, start = divmod(place.start, 1 << layout.columns)
        for offset in range(0, place.stored, 1 << layout.columns):
            part = cells[offset : min(offset + (1 << layout.columns), place.stored)]
            found[number[row + (offset >> layout.columns)], start : start + len(part)] = part
    return narrowed(found)


def narrowed(cells: Cells) -> Cells:
    """Return cells as 16-bit words if all are limbs."""
    return cells.astype(np.uint16, copy=False) if cells.dtype == np.uint16 or bool((cells < 1 << LIMB).all()) else cells


def multiplicities(cells: Cells) -> Words:
    """Return how often each integer of the lookup's table occurs."""
    found = np.zeros(1 << LIMB, np.uint64)
    count(np.ascontiguousarray(cells), found)
    return found


def residues(values: Integers) -> Words:
    """Return integers modulo p."""
    table = np.asarray(values)
    if table.dtype == object:
        return (table % P).astype(np.uint64)
    words: Words = table.astype(np.uint64)
    if table.dtype.kind == "i":
        words[table < 0] += np.uint64(P)  # 2^64 more than the integer, and p more modulo 2^64
    return words


class Answers:
    """The source of a prover: what it sends is in `sent`."""

    def __init__(self, field: Extension, circuit: Circuit, layout: Layout, tables: Tables, cells: Cells, free: Cells | None = None) -> None:
        """Take the cells of ranged rows and those of free rows; without `free`, the latter follow in `cells`."""
        self.field, self.circuit, self.layout = field, circuit, layout
        self.cells = narrowed(cells[: len(layout.ranged)])
        self.free = cells[len(layout.ranged) :].copy() if free is None else free
        self.tables = {name: table if table.dtype == np.uint16 else residues(table) for name, table in tables.items()}
        self.tables |= {name: image(block.image.layer, entries(block.image.form, self.tables, 0), block.shape)
                        for name, block in circuit.blocks.items() if block.image is not None}
        self.sent: list[Element] = []
        self._bound = Bound(field)
        self._trees: list[Tree] = []
        self._state: Layer | Products | Batch | None = None

    def _say(self, *messages: Element) -> list[Element]:
        self.sent.extend(messages)
        return list(messages)

    def roots(self, challenge: Element) -> Sequence[Element]:
        """Grow both trees."""
        field, degree, layout = self.field, self.field.degree, self.layout
        table = embedded(self.tables[MULTIPLICITY][None], degree)
        poles = subtract(word(challenge), embedded(np.arange(1 << LIMB, dtype=np.uint64)[None], degree))
        self._trees = [tree_of_cells(self.cells, challenge, layout.ranged, layout.rows), tree(table, poles, (0,), 0)]
        (p, q), (p_table, q_table) = (grown.root for grown in self._trees)
        both = field.multiply(q, q_table)
        return self._say(p, q, p_table, q_table, field.inverse(both) if any(both) else field.zero)

    def layer(self, tree: int, row: Point, column: Point, factor: Element) -> None:
        """Begin a layer."""
        self._state = None
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
            return self._say(convolution_prover.value(claim.through, claim.points, self.tables[claim.block], self.field.degree))[0]
        return self._say(self._bound.claim(self.tables[claim.block], claim))[0]

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
        letters, shape = factor.axes, (1 << summed[1], 1 << summed[0], self.field.degree)
        if "j" in letters:
            table = self._bound.form(factor.form, self.tables, letters.index("j"), column)
            letters = letters.replace("j", "")
        elif "i" in letters and not summed[1]:
            table = self._bound.form(factor.form, self.tables, 0, row)
            letters = letters.replace("i", "")
        else:
            table = embedded(entries(factor.form, self.tables, 1 << len(row)), self.field.degree)
        if letters == "i":
            table = table[:, None]
        return np.ascontiguousarray(np.moveaxis(np.broadcast_to(table, shape), 0, 1)).reshape(-1, self.field.degree)

    def batch(self, claims: Sequence[Claim], factor: Element) -> None:
        """Begin the batch."""
        self._state = None
        self._trees = []
        self._state = Batch(self.cells, self.free, Weights(self.field, self.layout, claims, factor))

    def round(self, degree: int) -> Sequence[Element]:
        """Return a round's message."""
        if isinstance(self._state, Products):
            return self._say(*self._state.round(degree))
        return self._say(*self._open().round())

    def bind(self, challenge: Element) -> None:
        """Set a round's variable."""
        (self._state if isinstance(self._state, Products) else self._open()).bind(challenge)

    def value(self) -> Element:
        """Return the cells' value where the batch ended."""
        if not isinstance(self._state, Batch):
            raise ValueError("no batch is open")
        return self._say(self._state.value())[0]

    def _open(self) -> Layer | Batch:
        if not isinstance(self._state, Layer | Batch):
            raise ValueError("no sumcheck is open")
        return self._state

    def echo(self, value: Element | None) -> Element:
        """Return the value that is asked."""
        if value is None:
            raise ValueError("a prover knows its values")
        return self._say(value)[0]


def _split(cells: Cells) -> tuple[Cells, Words]:
    """Return rows of limbs and rows of words, one of them empty: all are words if a cell is no limb."""
    cut = len(cells) if cells.dtype == np.uint16 else 0
    return cells[:cut].astype(np.uint16, copy=False), cells[cut:].astype(np.uint64, copy=False)
