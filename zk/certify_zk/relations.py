# SPDX-License-Identifier: Apache-2.0
"""Relations between cells: four shapes, each with the intervals of its two sides.

A `Form` is a public linear combination of blocks, entry by entry. A row of a pass over a hidden layer is 2 i + sign for neuron i; a term with a
`sign` belongs to a block with one entry a neuron, and counts only in rows of that sign. A relation holds at every entry of its power-of-two cube,
padding included, so the sums over hidden neurons have as many terms as the cube.
An `Image` is a block that is not committed: its entries are those of a form, put elsewhere by a convolution, or 0. Nothing else is special about it.
`interval` and `identities`, which are all that the argument checks, are made from the same fields: they can't speak of different relations.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from operator import add, mul

from certify.errors import Declined
from certify_zk.policy import Conv
from certify_zk.width import LIMB, Interval, Ranges, admitted, cell

CONSTANT = "relation-constant"
ONE = "1"
"""The block whose entries are all 1: constants of a form are its multiples."""
Widths = tuple[tuple[str, Interval], ...]
"""Names with the intervals that must be below half of the prime."""


def power_of_two(size: int) -> int:
    """Return the least power of two that is at least `size`."""
    return 1 << (size - 1).bit_length()


@dataclass(frozen=True)
class Block:
    """A power-of-two cube of cells, with `dimensions` of one or two axes before padding; `kind` says whose it is.

    Kinds are model, certificate, public (known to the verifier), constant (claimed by the prover, defined by a relation) and image (made of other
    blocks, as its `image` says). A block that is `narrowed` has the range that a relation of the list gives it, and until then none. A public block
    has a declared `range`.
    """

    name: str
    dimensions: tuple[int, ...]
    kind: str
    narrowed: bool = False
    range: Interval | None = None
    image: Image | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """The cube."""
        return tuple(power_of_two(size) for size in self.dimensions)

    @property
    def cells(self) -> int:
        """How many cells are stored: rows, or columns, that are padding only are not, and count as 0."""
        if len(self.dimensions) == 1:
            return self.shape[0]
        return min(self.dimensions[0] * self.shape[1], self.shape[0] * self.dimensions[1])

    @property
    def looked_up(self) -> bool:
        """Whether its cells are committed, and are limbs by the lookup."""
        return self.kind in ("model", "certificate")


@dataclass(frozen=True)
class Term:
    """`coefficient` times a block; with a `sign`, in the rows of that sign only."""

    block: str
    coefficient: int = 1
    sign: int | None = None


@dataclass(frozen=True)
class Form:
    """A sum of terms."""

    terms: tuple[Term, ...] = ()

    def __add__(self, other: Form) -> Form:
        return Form(self.terms + other.terms)

    def __sub__(self, other: Form) -> Form:
        return self + other.scaled(-1)

    def scaled(self, factor: int) -> Form:
        """Return the form times a public integer."""
        return Form(tuple(Term(term.block, factor * term.coefficient, term.sign) for term in self.terms))

    def on(self, sign: int) -> Form:
        """Return the form of entries of neurons, in the rows of one sign; other rows are 0."""
        return Form(tuple(Term(term.block, term.coefficient, sign) for term in self.terms))

    def interval(self, ranges: Ranges, limbs: bool = False) -> Interval:
        """Return the enclosure over all rows of both signs; with `limbs`, from the lookup alone."""
        sides = []
        for sign in (0, 1):
            counted = [term for term in self.terms if term.sign in (None, sign)]
            known = [Interval(1, 1) if term.block == ONE else ranges.limb(term.block) if limbs else ranges.of(term.block) for term in counted]
            sides.append(reduce(add, map(Interval.scaled, known, (term.coefficient for term in counted)), Interval(0, 0)))
        return sides[0].joined(sides[1])


def of(block: str) -> Form:
    """Return the form that is one block."""
    return Form((Term(block),))


def constant(value: int) -> Form:
    """Return the form whose entries are all `value`."""
    return Form((Term(ONE, value),)) if value else Form()


@dataclass(frozen=True)
class Image:
    """What a layer makes of a form of its kernel or biases: the matrix of the convolution, or a bias for each output; see `convolution.image`.

    An entry of the image is one of the form, or 0.
    """

    form: Form
    layer: Conv

    def interval(self, ranges: Ranges) -> Interval:
        """Return the enclosure of all entries."""
        return self.form.interval(ranges).joined(Interval(0, 0))


@dataclass(frozen=True)
class Factor:
    """A form in a product, with its axes, one letter an axis of its blocks: "i", "k", "ik" or "kj"."""

    form: Form
    axes: str


@dataclass(frozen=True)
class Product:
    """`coefficient` times a product of factors."""

    factors: tuple[Factor, ...]
    coefficient: int = 1


@dataclass(frozen=True)
class Identity:
    """What is claimed of the multilinear extensions of forms: left = right + the sum over k of products, at every entry i or (i, j).

    With `outside`, only entries that are not within these dimensions count; `defines` names the constant block that is the left side.
    """

    name: str
    code: str
    left: Form
    right: Form = Form()
    products: tuple[Product, ...] = ()
    outside: tuple[int, ...] | None = None
    defines: str | None = None


@dataclass(frozen=True)
class Linear:
    """left = right, entry by entry; with `outside`, only at entries that are not within these dimensions.

    A relation that `narrows` gives ranges: where a x + (terms that are not negative) <= r for a limb x, a > 0 and the largest value r of the
    right side, x <= r / a. Its own intervals, and r, rest on the lookup alone.
    """

    name: str
    code: str
    left: Form
    right: Form
    narrows: bool = False
    outside: tuple[int, ...] | None = None

    def identities(self) -> tuple[Identity, ...]:
        """Return what the argument checks."""
        return (Identity(self.name, self.code, self.left, self.right, outside=self.outside),)

    def interval(self, ranges: Ranges) -> Widths:
        """Return the intervals of both sides."""
        return (self.name, self.left.interval(ranges, self.narrows)), (self.name, self.right.interval(ranges, self.narrows))

    def learn(self, ranges: Ranges) -> None:
        """Take note of the ranges that the relation gives."""
        if not self.narrows:
            return
        if any(term.coefficient <= 0 or term.sign is not None or term.block == ONE for term in self.left.terms):
            raise ValueError(f"{self.name} narrows nothing: a term on its left may be negative")
        most = self.right.interval(ranges, True).high
        for term in self.left.terms:
            ranges.learn(term.block, Interval(0, most // term.coefficient))


@dataclass(frozen=True)
class Hadamard:
    """left = first second, entry by entry; with `defines`, the left side is that constant block."""

    name: str
    code: str
    left: Form
    first: Form
    second: Form
    defines: str | None = None

    def identities(self) -> tuple[Identity, ...]:
        """Return what the argument checks."""
        factors = Factor(self.first, "i"), Factor(self.second, "i")
        return (Identity(self.name, self.code, self.left, products=(Product(factors),), defines=self.defines),)

    def interval(self, ranges: Ranges) -> Widths:
        """Return the intervals of both sides."""
        return _both(self.name, None if self.defines else self.left, self.first.interval(ranges) * self.second.interval(ranges), ranges)

    def learn(self, ranges: Ranges) -> None:
        """Take note of the range of the constant that the relation defines."""
        if self.defines:
            ranges.learn(self.defines, self.first.interval(ranges) * self.second.interval(ranges))


@dataclass(frozen=True)
class Gated:
    """A backward step, with a(i, k) = plus(i, k) alpha(k) - minus(i, k) slope(k) and sums over k:
    left(i, j) = sum of a(i, k) weight(k, j), and the block `constant` is the sum of a(i, k) bias(k).
    """

    name: str
    code: str
    left: Form
    plus: Form
    minus: Form
    alpha: Form
    slope: Form
    weight: Form
    bias: Form
    constant: str
    count: int

    def _coefficient(self, ranges: Ranges) -> Interval:
        return self.plus.interval(ranges) * self.alpha.interval(ranges) + (self.minus.interval(ranges) * self.slope.interval(ranges)).scaled(-1)

    def identities(self) -> tuple[Identity, ...]:
        """Return what the argument checks: the step, and its constant."""
        gates = (self.plus, self.alpha, 1), (self.minus, self.slope, -1)
        step, total = (tuple(Product((Factor(part, "ik"), Factor(gate, "k"), last), sign) for part, gate, sign in gates)
                       for last in (Factor(self.weight, "kj"), Factor(self.bias, "k")))
        return (Identity(self.name, self.code, self.left, products=step),
                Identity(self.constant, CONSTANT, of(self.constant), products=total, defines=self.constant))

    def interval(self, ranges: Ranges) -> Widths:
        """Return the intervals of both sides, and of the constant."""
        a = self._coefficient(ranges)
        return (*_both(self.name, self.left, (a * self.weight.interval(ranges)).summed(self.count), ranges),
                (self.constant, (a * self.bias.interval(ranges)).summed(self.count)))

    def learn(self, ranges: Ranges) -> None:
        """Take note of the range of the constant."""
        ranges.learn(self.constant, (self._coefficient(ranges) * self.bias.interval(ranges)).summed(self.count))


@dataclass(frozen=True)
class Inner:
    """left(i) or left(i, j) = the sum over k of a sum of products, of which at most `count` terms are not 0; `defines` as in `Hadamard`."""

    name: str
    code: str
    left: Form
    products: tuple[Product, ...]
    count: int
    defines: str | None = None

    def _sum(self, ranges: Ranges) -> Interval:
        found = [reduce(mul, (factor.form.interval(ranges) for factor in product.factors)).scaled(product.coefficient) for product in self.products]
        return reduce(add, found).summed(self.count)

    def identities(self) -> tuple[Identity, ...]:
        """Return what the argument checks."""
        return (Identity(self.name, self.code, self.left, products=self.products, defines=self.defines),)

    def interval(self, ranges: Ranges) -> Widths:
        """Return the intervals of both sides."""
        return _both(self.name, None if self.defines else self.left, self._sum(ranges), ranges)

    def learn(self, ranges: Ranges) -> None:
        """Take note of the range of the constant that the relation defines."""
        if self.defines:
            ranges.learn(self.defines, self._sum(ranges))


Relation = Linear | Hadamard | Gated | Inner


def _both(name: str, left: Form | None, right: Interval, ranges: Ranges) -> Widths:
    return ((name, right),) if left is None else ((name, left.interval(ranges)), (name, right))


def widths(blocks: Iterable[Block], relations: Iterable[Relation]) -> Widths:
    """Return the intervals of all sides, in order; raises Declined `commitment-width` where a cell has no range."""
    blocks = tuple(blocks)
    known = {block.name: block.range or cell(LIMB) for block in blocks if block.range is not None or (block.looked_up and not block.narrowed)}
    made = {block.name: block.image.interval for block in blocks if block.image is not None}
    ranges = Ranges(known, frozenset(block.name for block in blocks if block.looked_up), made)
    found: list[tuple[str, Interval]] = []
    for relation in relations:
        found.extend(relation.interval(ranges))
        relation.learn(ranges)
    return tuple(found)


def require_widths(blocks: Iterable[Block], relations: Iterable[Relation]) -> Widths:
    """Return the intervals of all sides, each below half of the prime; raises Declined `commitment-width`, naming the relation."""
    found = widths(blocks, relations)
    for name, interval in found:
        if not admitted(interval):
            raise Declined("commitment-width", f"{name} can reach 2^{interval.bits:.2f}, half of the prime is below 2^63", where=name,
                           fix="commit again with fewer slope bits, narrower biases or intercepts, or fewer neurons a layer")
    return found
