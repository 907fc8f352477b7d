# SPDX-License-Identifier: Apache-2.0
"""Weighted l_2 and l_1 balls with rational centre, weights and radius."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal


@dataclass(frozen=True)
class Ball:
    """The x with ||weight (x - centre)||_p <= radius, p = 2 or 1 by `norm`, weight > 0 by coordinates."""

    norm: Literal["l2", "l1"]
    centre: tuple[Fraction, ...]
    weight: tuple[Fraction, ...]
    radius: Fraction

    def holds(self, x: tuple[Fraction, ...]) -> bool:
        """Return whether x lies in the ball, exactly."""
        moves = [w * (v - c) for v, c, w in zip(x, self.centre, self.weight, strict=True)]
        if self.norm == "l1":
            return sum(map(abs, moves), Fraction(0)) <= self.radius
        return sum((v * v for v in moves), Fraction(0)) <= self.radius**2
