# SPDX-License-Identifier: Apache-2.0
"""The no-wrap rule: which relations that hold modulo the prime hold over the integers.

The argument works modulo `PRIME`, the mathematics of the certificate needs integers. An `Interval` encloses the value of an expression
for every assignment whose cells are in range: by structural induction, since each operation encloses the results of all pairs of members
(occurrences of one cell count as independent, which is only wider).
**Theorem.** If a relation A = B is admitted, that is |A| < p/2 and |B| < p/2 on their intervals, and A = B modulo p under an assignment that
passes all range checks, then A = B. Proof: |A - B| < p, and p divides A - B.
What counts as a range is fixed: see `Ranges`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from math import log2

from certify.errors import Declined

PRIME = 2**64 - 2**32 + 1
"""The prime of the base field."""
LIMB = 16
"""Bits of a limb: what one cell of the witness holds."""


@dataclass(frozen=True)
class Interval:
    """The integers from `low` to `high`, both included; raises ValueError where there are none."""

    low: int
    high: int

    def __post_init__(self) -> None:
        if self.low > self.high:
            raise ValueError(f"no integer is from {self.low} to {self.high}")

    def __add__(self, other: Interval) -> Interval:
        return Interval(self.low + other.low, self.high + other.high)

    def __mul__(self, other: Interval) -> Interval:
        ends = [a * b for a in (self.low, self.high) for b in (other.low, other.high)]
        return Interval(min(ends), max(ends))

    def scaled(self, factor: int) -> Interval:
        """Return the enclosure of `factor` times a member; a negative factor swaps the ends."""
        ends = factor * self.low, factor * self.high
        return Interval(min(ends), max(ends))

    def summed(self, count: int) -> Interval:
        """Return the enclosure of sums of `count` members."""
        if count < 0:
            raise ValueError("a sum has no fewer than 0 terms")
        return self.scaled(count)

    def joined(self, other: Interval) -> Interval:
        """Return the least interval with the members of both."""
        return Interval(min(self.low, other.low), max(self.high, other.high))

    @property
    def magnitude(self) -> int:
        """The largest absolute value of a member."""
        return max(abs(self.low), abs(self.high))

    @property
    def bits(self) -> float:
        """The logarithm of the magnitude to base 2, for people; 0 where there is none."""
        return log2(self.magnitude) if self.magnitude else 0.0


def cell(bits: int) -> Interval:
    """Return the range of a cell of so many bits."""
    return Interval(0, (1 << bits) - 1)


def signed(bits: int) -> Interval:
    """Return the range of a cell of so many bits from which 2^(bits-1) is subtracted."""
    return Interval(-(1 << (bits - 1)), (1 << (bits - 1)) - 1)


def public(values: Iterable[int]) -> Interval:
    """Return the range of a public vector: the least that has all of its entries."""
    entries = tuple(values)
    return Interval(min(entries), max(entries))


def admitted(*sides: Interval, prime: int = PRIME) -> bool:
    """Return whether equality modulo the prime is equality of integers, for sides within these intervals."""
    return all(2 * side.magnitude < prime for side in sides)


class Ranges:
    """The ranges that the relations read so far establish, by name of the cells.

    A full limb is in [0, 2^16) by the lookup. A limb that is meant to be narrower has no range until a relation that narrows it was read; a
    constant has the one of its definition; public integers have declared ranges, which the verifier has compared with their values. What is made
    of other cells has the range that these give it. There is no other range: where one is missing, `of` raises Declined `commitment-width`.
    """

    def __init__(self, known: Mapping[str, Interval], looked_up: frozenset[str],
                 made: Mapping[str, Callable[[Ranges], Interval]] | None = None) -> None:
        self._known = dict(known)
        self._looked_up = looked_up
        self._made = dict(made or {})

    def of(self, name: str) -> Interval:
        """Return the range of cells; raises Declined `commitment-width` where none is established."""
        if name in self._made:
            return self._made[name](self)
        if name not in self._known:
            raise Declined("commitment-width", f"unknown cell {name}: no relation bounds it", fix="the policy's relations are incomplete: report it")
        return self._known[name]

    def limb(self, name: str) -> Interval:
        """Return what the lookup alone says of a cell; raises Declined `commitment-width` where it is not looked up."""
        if name not in self._looked_up:
            raise Declined("commitment-width", f"unknown cell {name}: it is not looked up", fix="the policy's relations are incomplete: report it")
        return cell(LIMB)

    def learn(self, name: str, interval: Interval) -> None:
        """Take note of a range that a relation establishes."""
        self._known[name] = interval
