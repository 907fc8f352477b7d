# SPDX-License-Identifier: Apache-2.0
"""Where the cells of a circuit's blocks are in a virtual tableau, and the weights with which a claim about a block counts them.

*Tableau.* It has 2^columns columns and 2^rows virtual rows; cell a of the address space is in row a >> columns. The cube of a block begins at a
multiple of its size. Of its two axes the one that pads less is the major one: cell (major, minor) has the address start + major 2^m + minor,
and of a block with two axes only the first `count` major entries exist, those without padding; the others are 0. A row exists where an address
of a block is in it: all others are absent, and cost nothing. The model has the lower half of the rows, so its rows depend on the model's blocks
alone; the certificate has the upper half. *Ranged* rows are looked up in full. *Free* rows hold the multiplicities of the lookup's table.

*Claims.* `value = sum of eq(points, x) block(x)` over the block's entries x, or over those alone which are `outside` dimensions; eq as in
`Extension.equality`, a point for each axis. A claim `through` a convolution is about the block's image, at a point for each axis of that. Sums of
eq(p, x) eq(z, x) over x < n are products over dyadic pieces of [0, n), so the multilinear extension of a claim's weights costs the verifier a few
products a bit, and through a convolution what `convolution` says.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from certify.errors import Declined
from certify_zk import convolution
from certify_zk.field import Element, Field
from certify_zk.policy import Conv
from certify_zk.relations import Block
from certify_zk.width import LIMB

MULTIPLICITY = "multiplicity"
"""The block of free rows: how often each of the 2^16 integers of the table occurs in ranged rows."""

Point = tuple[Element, ...]


@dataclass(frozen=True)
class Place:
    """Where a block is: the address of its first cell, the bits of its minor and major index, the major entries that exist, and its major axis."""

    start: int
    minor: int
    major: int
    count: int
    axis: int

    @property
    def stored(self) -> int:
        """How many addresses from `start` on exist."""
        return self.count << self.minor

    def ordered(self, parts: Sequence[Point]) -> tuple[Point, Point]:
        """Return minor and major point of a point for each axis of the block."""
        return ((), parts[0]) if len(parts) == 1 else (parts[1 - self.axis], parts[self.axis])


@dataclass(frozen=True)
class BlockClaim:
    """The sum of eq(points, x) block(x) over the entries of a block, or over those outside dimensions, or over those of its image."""

    block: str
    points: tuple[Point, ...]
    outside: tuple[int, ...] | None = None
    through: Conv | None = None


@dataclass(frozen=True)
class RangedClaim:
    """The sum of eq(row, r) eq(column, c) cell(r, c) over all ranged rows r."""

    row: Point
    column: Point


Claim = BlockClaim | RangedClaim


@dataclass(frozen=True)
class Layout:
    """Places by block, bits of columns and of virtual rows, and the rows that exist: of the model, ranged ones of the certificate, free ones."""

    places: dict[str, Place]
    columns: int
    rows: int
    model: tuple[int, ...]
    certificate: tuple[int, ...]
    free: tuple[int, ...]

    @property
    def ranged(self) -> tuple[int, ...]:
        """The rows that are looked up."""
        return self.model + self.certificate

    @property
    def physical(self) -> tuple[int, ...]:
        """All rows that exist, in the order in which they are committed."""
        return self.ranged + self.free

    @property
    def ranged_cells(self) -> int:
        """The number of cells that are looked up."""
        return len(self.ranged) << self.columns

    def weight(self, field: Field, claim: Claim, row: Point, column: Point) -> Element:
        """Return the multilinear extension, at a cell of F, of the weights with which a claim counts all cells."""
        if isinstance(claim, RangedClaim):
            mine, theirs = field.equality(claim.row), field.equality(row)
            total = field.zero
            for r in self.ranged:
                total = field.add(total, field.multiply(mine[r], theirs[r]))
            return field.multiply(total, same(field, claim.column, column))
        place, address = self.places[claim.block], column + row
        low, high = address[: place.minor], address[place.minor : place.minor + place.major]
        if claim.through is not None:
            weight = convolution.weight(field, claim.through, claim.points, (low, high) if place.axis else (high, low))
        else:
            minor, major = place.ordered(claim.points)
            weight = field.multiply(both(field, minor, low, 1 << place.minor), both(field, major, high, place.count))
            if claim.outside is not None:
                inner, outer = limits(place, claim.outside)
                weight = field.subtract(weight, field.multiply(both(field, minor, low, inner), both(field, major, high, min(outer, place.count))))
        for bit, coordinate in enumerate(address[place.minor + place.major :], place.minor + place.major):
            weight = field.multiply(weight, coordinate if place.start >> bit & 1 else field.subtract(field.one, coordinate))
        return weight


def limits(place: Place, dimensions: Sequence[int]) -> tuple[int, int]:
    """Return the dimensions of a block as those of its minor and major index."""
    return (1, dimensions[0]) if len(dimensions) == 1 else (dimensions[1 - place.axis], dimensions[place.axis])


def layout(blocks: Iterable[Block], columns: int) -> Layout:
    """Return the layout of the committed blocks in rows of 2^columns cells, 1 <= columns <= 16; raises Declined `commitment-limit` for others."""
    if not 1 <= columns <= LIMB:
        raise Declined("commitment-limit", f"rows of 2^{columns} cells", fix="commit with the default sizes")
    committed = [block for block in blocks if block.looked_up]
    table = Block(MULTIPLICITY, (1 << LIMB,), MULTIPLICITY)
    model, model_end = _placed([block for block in committed if block.kind == "model"])
    other, other_end = _placed([block for block in committed if block.kind != "model"] + [table])
    half = (max(-(-end >> columns) for end in (model_end, other_end)) - 1).bit_length()
    base = 1 << (half + columns)
    other = {name: Place(place.start + base, place.minor, place.major, place.count, place.axis) for name, place in other.items()}
    free = _existing([other[MULTIPLICITY]], columns)
    ranged = _existing([place for name, place in other.items() if name != MULTIPLICITY], columns)
    return Layout(model | other, columns, half + 1, _existing(model.values(), columns), ranged, free)


def same(field: Field, first: Point, second: Point) -> Element:
    """Return eq(first, second), the multilinear extension of equality."""
    return both(field, first, second, 1 << len(first))


def both(field: Field, first: Point, second: Point, limit: int) -> Element:
    """Return the sum of eq(first, x) eq(second, x) over x < limit, at most 2^len(first)."""
    ones = [field.multiply(a, b) for a, b in zip(first, second, strict=True)]
    zeros = [field.multiply(field.subtract(field.one, a), field.subtract(field.one, b)) for a, b in zip(first, second, strict=True)]
    return _below(field, zeros, ones, limit)


def below(field: Field, point: Point, limit: int) -> Element:
    """Return the sum of eq(point, x) over x < limit, at most 2^len(point)."""
    return _below(field, [field.subtract(field.one, coordinate) for coordinate in point], list(point), limit)


def _below(field: Field, zeros: Sequence[Element], ones: Sequence[Element], limit: int) -> Element:
    """Return the sum over x < limit of the product of ones[b] over the bits b of x that are set and of zeros[b] over the others.

    [0, limit) is made of one dyadic piece for each bit that is set in `limit`: its higher bits as they are there, this one 0, lower ones free.
    """
    if not 0 <= limit <= 1 << len(ones):
        raise ValueError("a sum ends within its cube")
    free = [field.one]
    for zero, one in zip(zeros, ones, strict=True):
        free.append(field.multiply(free[-1], field.add(zero, one)))
    if limit == 1 << len(ones):
        return free[-1]
    total, fixed = field.zero, field.one
    for bit in reversed(range(len(ones))):
        if limit >> bit & 1:
            total = field.add(total, field.multiply(field.multiply(fixed, zeros[bit]), free[bit]))
        fixed = field.multiply(fixed, ones[bit] if limit >> bit & 1 else zeros[bit])
    return total


def _placed(blocks: Iterable[Block]) -> tuple[dict[str, Place], int]:
    """Return places one behind the other, large cubes first, so that each begins at a multiple of its size; and the end of the last one."""
    found: dict[str, Place] = {}
    end = 0
    for block in sorted(blocks, key=lambda block: -_size(block)):
        bits = [size.bit_length() - 1 for size in block.shape]
        if len(bits) == 1:
            place = Place(end, 0, bits[0], block.shape[0], 0)
        else:
            axis = 0 if block.dimensions[0] * block.shape[1] <= block.shape[0] * block.dimensions[1] else 1
            place = Place(end, bits[1 - axis], bits[axis], block.dimensions[axis], axis)
        found[block.name] = place
        end += _size(block)
    return found, end


def _size(block: Block) -> int:
    size = 1
    for length in block.shape:
        size *= length
    return size


def _existing(places: Iterable[Place], columns: int) -> tuple[int, ...]:
    return tuple(sorted({row for place in places for row in range(place.start >> columns, ((place.start + place.stored - 1) >> columns) + 1)}))
