# SPDX-License-Identifier: Apache-2.0
"""What a prover sends in the argument over the scalar field: a `dialogue.Source` made of the tables of a witness."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from certify_zk.circuit import Circuit
from certify_zk.convolution import image, meetings
from certify_zk.exact import Integers
from certify_zk.field import Element
from certify_zk.hyrax_sums import ONE, Batch, Layer, Products, Tree, element, tree, weights, word
from certify_zk.kernels.bls import WORDS, Words, add, held, multiply, spread, subtract, total
from certify_zk.layout import MULTIPLICITY, BlockClaim, Claim, Layout, Point, RangedClaim, limits
from certify_zk.lookup import CELLS
from certify_zk.policy import Conv
from certify_zk.prime_field import PrimeField
from certify_zk.relations import ONE as CONSTANT_ONE
from certify_zk.relations import Factor, Form, Identity, power_of_two
from certify_zk.width import LIMB


class Answers:
    """The source of a prover; `cells` are those of all rows that exist."""

    def __init__(self, circuit: Circuit, layout: Layout, tables: Mapping[str, Integers], cells: Words) -> None:
        self.field, self.circuit, self.layout, self.cells = PrimeField(), circuit, layout, cells
        made = {name: image(block.image.layer, _integers(block.image.form, tables), block.shape)
                for name, block in circuit.blocks.items() if block.image is not None}
        self.tables = {name: spread(np.asarray(table)) for name, table in {**tables, **made}.items()}
        self._trees: list[Tree] = []
        self._tree = CELLS
        self._state: Layer | Products | Batch | None = None

    def roots(self, challenge: Element) -> Sequence[Element]:
        """Grow both trees."""
        layout, pole = self.layout, word(challenge)
        cells = subtract(pole, self.cells[: len(layout.ranged)])
        poles = subtract(pole, spread(np.arange(1 << LIMB, dtype=np.uint64))[None])
        self._trees = [tree(np.broadcast_to(ONE, cells.shape), cells, layout.ranged, layout.rows),
                       tree(self.tables[MULTIPLICITY][None], poles, (0,), 0)]
        (p, q), (p_table, q_table) = (grown.root for grown in self._trees)
        both = self.field.multiply(q, q_table)
        return p, q, p_table, q_table, self.field.inverse(both) if any(both) else self.field.zero

    def layer(self, tree: int, row: Point, column: Point, factor: Element) -> None:
        """Begin a layer."""
        self._state, self._tree = Layer(self._trees[tree], row, column, factor), tree

    def ends(self, leaf: bool) -> Sequence[Element]:
        """Return the ends of a layer."""
        if not isinstance(self._state, Layer):
            raise ValueError("no layer is open")
        p0, p1, q0, q1 = self._state.ends()
        if not leaf:
            return p0, p1, q0, q1
        return (q0, q1) if self._tree == CELLS else (p0, p1)

    def claim(self, claim: BlockClaim) -> Element:
        """Return the value of a block."""
        if claim.through is not None:
            counted = multiply(_through(claim.through, claim.points), self.tables[claim.block])
            return element(total(counted.reshape(-1, WORDS)))
        axes = [weights(point) for point in claim.points]
        value = self._summed(claim.block, axes)
        if claim.outside is None:
            return value
        for axis, limit in zip(axes, claim.outside, strict=True):
            axis[limit:] = 0
        return self.field.subtract(value, self._summed(claim.block, axes))

    def _summed(self, block: str, axes: list[Words]) -> Element:
        table = self.tables[block]
        vector = _bound(table, axes[0]) if table.ndim == 3 else table
        return element(total(multiply(vector, axes[-1])))

    def sums(self, identity: Identity, row: Point, column: Point, summed: tuple[int, int]) -> None:
        """Begin an identity."""
        products = []
        for product in identity.products:
            tables = [self._factor(factor, row, column, summed) for factor in product.factors]
            tables[0] = multiply(tables[0], held([product.coefficient])[0])
            products.append(tables)
        self._state = Products(products, row[: summed[1]])

    def _factor(self, factor: Factor, row: Point, column: Point, summed: tuple[int, int]) -> Words:
        """Return a factor's entries by the number k 2^(bits of i) + i, axes that are not summed bound."""
        table, letters = self.form(factor.form, 1 << len(row)), factor.axes
        if "j" in letters:
            table = total(multiply(table, weights(column)))
            letters = letters.replace("j", "")
        if "i" in letters and not summed[1]:
            table = _bound(table, weights(row)) if letters == "ik" else total(multiply(table, weights(row)))
            letters = letters.replace("i", "")
        sizes = {"k": 1 << summed[0], "i": 1 << summed[1]}
        full = table if letters == "ik" else table[:, None] if letters == "i" else table[None] if letters == "k" else table[None, None]
        full = np.broadcast_to(full, (sizes["i"], sizes["k"], WORDS))
        return np.ascontiguousarray(np.moveaxis(full, 0, 1)).reshape(-1, WORDS)

    def form(self, form: Form, rows: int) -> Words:
        """Return the entries of a form, in so many rows where it has terms with a sign."""
        found = held([0])
        for term in form.terms:
            table = ONE[None] if term.block == CONSTANT_ONE else self.tables[term.block]
            part = multiply(table, held([term.coefficient])[0])
            if term.sign is not None:
                signed = np.zeros((rows, *part.shape[1:]), np.uint64)
                signed[term.sign :: 2] = part
                part = signed
            found = add(found, part)
        return found

    def batch(self, claims: Sequence[Claim], factor: Element) -> None:
        """Begin the batch."""
        layout, power, step = self.layout, ONE, word(factor)
        number = {row: index for index, row in enumerate(layout.physical)}
        weight = np.zeros(self.cells.shape, np.uint64)
        for claim in claims:
            if isinstance(claim, RangedClaim):
                rows, count = weights(claim.row)[list(layout.ranged)], len(layout.ranged)
                weight[:count] = add(weight[:count], multiply(multiply(rows, power)[:, None], weights(claim.column)))
            else:
                self._weigh(claim, power, weight, number)
            power = multiply(power, step)
        self._state = Batch(self.cells, weight, layout.physical, layout.rows)

    def _weigh(self, claim: BlockClaim, power: Words, weight: Words, number: Mapping[int, int]) -> None:
        """Add the weights of a claim about a block."""
        place, width = self.layout.places[claim.block], 1 << self.layout.columns
        if claim.through is not None:
            table = multiply(_through(claim.through, claim.points), power)
            table = table[:, None] if table.ndim == 2 else np.ascontiguousarray(table.swapaxes(0, place.axis))
        else:
            minor, major = (weights(point) for point in place.ordered(claim.points))
            table = multiply(multiply(major, power)[:, None], minor)
        table[place.count :] = 0
        if claim.outside is not None:
            inner, outer = limits(place, claim.outside)
            table[:outer, :inner] = 0
        flat = table.reshape(-1, WORDS)
        row, start = divmod(place.start, width)
        for index in range((place.stored - 1) // width + 1):
            part = flat[index * width : (index + 1) * width]
            cells = weight[number[row + index], start : start + len(part)]
            cells[:] = add(cells, part)

    def round(self, degree: int) -> Sequence[Element]:
        """Return a round's message."""
        return self._open().round(degree)

    def bind(self, challenge: Element) -> None:
        """Set a round's variable."""
        self._open().bind(challenge)

    def _open(self) -> Layer | Products | Batch:
        if self._state is None:
            raise ValueError("no sumcheck is open")
        return self._state

    def value(self) -> Element:
        """Return the cells' value where the batch ended."""
        if not isinstance(self._state, Batch):
            raise ValueError("no batch is open")
        return self._state.value()

    def echo(self, value: Element | None) -> Element:
        """Return the value that is asked."""
        if value is None:
            raise ValueError("a prover knows its values")
        return value


def _integers(form: Form, tables: Mapping[str, Integers]) -> Integers:
    """Return the entries of a form without signs, as Python's integers."""
    found: Integers = np.zeros(1, object)
    for term in form.terms:
        table = np.ones(1, object) if term.block == CONSTANT_ONE else np.asarray(tables[term.block]).astype(object)
        found = found + term.coefficient * table
    return found


def _through(layer: Conv, points: Sequence[Point]) -> Words:
    """Return the weights with which a claim through a convolution counts its kernel or biases, in the cube of what is stored (`convolution`)."""
    rows, columns = layer.places
    outputs = weights(points[0])[: layer.outputs].reshape(layer.channels_out, rows * columns, WORDS)
    if len(points) == 1:
        found = np.zeros((power_of_two(layer.channels_out), WORDS), np.uint64)
        found[: layer.channels_out] = total(outputs)
        return found
    inputs = weights(points[1])[: layer.inputs].reshape(layer.channels_in, layer.height * layer.width, WORDS)
    found = np.zeros((*map(power_of_two, layer.stored), WORDS), np.uint64)
    for tap, (some, met) in enumerate(meetings(layer)):
        for channel in range(layer.channels_out):
            found[channel, tap : layer.stored[1] : layer.taps] = total(multiply(outputs[channel, some], inputs[:, met]))
    return found


def _bound(table: Words, by: Words) -> Words:
    """Return the sums over the first axis of a matrix."""
    found: Words = total(np.moveaxis(multiply(table, by[:, None]), 0, 1))
    return found
