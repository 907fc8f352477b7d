# SPDX-License-Identifier: Apache-2.0
"""What a certificate states about a committed network, in the integers of its policy: boxes or balls, and rows of outputs.

Guarantee: the relations take public integers with the ranges that are declared here, whatever the statement; `require_ranges` compares the
values with them, so widths that hold for a policy hold for each of its certificates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from certify.errors import Declined, Rejected
from certify_zk.policy import Policy
from certify_zk.width import Interval

COEFFICIENT = Interval(-127, 127)
THRESHOLD = Interval(1 - (1 << 47), (1 << 47) - 1)
RADIUS = Interval(0, (1 << 24) - 1)
GAP = Interval(0, (1 << 32) - 1)
MOST_ROWS = 1 << 12
MOST_BOXES = 1 << 12
MOST_COEFFICIENTS = 1 << 24

T = TypeVar("T")


@dataclass(frozen=True)
class Box:
    """lower <= x <= lower + width, in units of the grid of inputs."""

    lower: tuple[int, ...]
    width: tuple[int, ...]


@dataclass(frozen=True)
class Ball:
    """|x - centre|_2 <= radius and x >= 0, in units of the grid of inputs."""

    centre: tuple[int, ...]
    radius: int


@dataclass(frozen=True)
class Rows:
    """For every x of each region and every row: coefficients . f(x) >= threshold, thresholds in units of totals."""

    coefficients: tuple[tuple[int, ...], ...]
    thresholds: tuple[int, ...]


@dataclass(frozen=True)
class Score:
    """|f_output(x) - f_output(x')| <= gap for all x, x' of all regions together, in units of bounds."""

    output: int
    gap: int


@dataclass(frozen=True)
class Statement:
    """The regions and what holds on them."""

    regions: tuple[Box | Ball, ...]
    asked: Rows | Score

    def require_ranges(self, policy: Policy) -> None:
        """Raise Declined `property-range` unless all integers are in the declared ranges, Rejected `claim-vacuous` for a region without points."""
        if not 1 <= len(self.regions) <= MOST_BOXES:
            raise _range(f"{len(self.regions)} regions", f"a statement has 1 to {MOST_BOXES}")
        _, top = policy.inputs.domain(policy.size(0), policy.input_scale)
        for region in self.regions:
            start, other = (region.lower, region.width) if isinstance(region, Box) else (region.centre, None)
            if len(start) != len(top) or (other is not None and len(other) != len(top)):
                raise _range("a region of another dimension", "a region has one entry for each input")
            if any(not 0 <= low <= high for low, high in zip(start, top, strict=True)):
                raise _range("a region begins outside the domain", "regions lie in the domain of the policy")
            if other is not None and min(other) < 0:
                raise Rejected("claim-vacuous", "a box has no point", where="box", fix="a lower end is at most its upper end")
            if other is not None and any(low + more > high for low, more, high in zip(start, other, top, strict=True)):
                raise _range("a box ends outside the domain", "boxes lie in the domain of the policy")
            if isinstance(region, Ball) and not RADIUS.low <= region.radius <= RADIUS.high:
                raise _range(f"a radius of {region.radius} steps", f"a radius is from 0 to {RADIUS.high} steps of the grid")
        self._require_asked(policy.size(policy.depth))

    def _require_asked(self, outputs: int) -> None:
        if isinstance(self.asked, Score):
            if not 0 <= self.asked.output < outputs or not GAP.low <= self.asked.gap <= GAP.high:
                raise _range("an output or a gap of scores outside its range", f"there are {outputs} outputs; a gap is from 0 to {GAP.high} units")
            return
        rows, thresholds = require_rows(self.asked.coefficients, outputs), self.asked.thresholds
        if not 1 <= len(rows) <= MOST_ROWS or len(rows) != len(thresholds) or any(len(row) != outputs for row in rows):
            raise _range("rows that don't fit", f"a statement has 1 to {MOST_ROWS} rows, each of {outputs} coefficients and a threshold")
        if any(not COEFFICIENT.low <= c <= COEFFICIENT.high for row in rows for c in row):
            raise _range("a coefficient of a row exceeds 127", "scale the row by a positive number")
        if any(not THRESHOLD.low <= v <= THRESHOLD.high for v in thresholds):
            raise _range("a threshold of a row is 2^47 units or more", "thresholds are below 2^47 units of totals in size")


def robust(regions: tuple[Box | Ball, ...], outputs: int, label: int, margin: int = 1) -> Statement:
    """Return the statement that the label's output exceeds each other one by `margin` units of totals or more."""
    others = require_rows([c for c in range(outputs) if c != label], outputs)
    rows = tuple(tuple((o == label) - (o == c) for o in range(outputs)) for c in others)
    return Statement(regions, Rows(rows, (margin,) * len(others)))


def require_rows(rows: Sequence[T], outputs: int) -> Sequence[T]:
    """Return what rows are made of, before they are; raises Declined `property-range` for too many."""
    if len(rows) > MOST_ROWS or len(rows) * outputs > MOST_COEFFICIENTS:
        raise _range(f"{len(rows)} rows of {outputs} coefficients", f"at most {MOST_ROWS} rows, and {MOST_COEFFICIENTS} coefficients, are taken")
    return rows


def _range(what: str, fix: str) -> Declined:
    return Declined("property-range", what, where="property", fix=fix)
