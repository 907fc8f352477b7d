# SPDX-License-Identifier: Apache-2.0
"""Lower bounds of linear forms over a weighted l_2 or l_1 ball cut with a box, in outward-rounded binary64.

The ball is the x with ||w (x - x0)||_p <= r, w > 0 by coordinates, p = 2 or 1. Hoelder: for 1/p + 1/q = 1 and f_i >= 1/w_i,
B.x = B.x0 + sum (B_i / w_i) w_i (x_i - x0_i) >= B.x0 - r ||B f||_q. Over ball and box, for any 0/1 mask with B = mask A:
A.x >= (B.x0 - r ||B f||_q) + (box bound of A - B), since each side bounds its own sum. Two masks are tried, all choices being sound: the
coordinates that can fall at all from x0 inside the box, and those that the box does not cut before the ball does.
A centre that is no double costs sum |B_i| |x0_i - fl(x0_i)|. ||.||_2 <= fl(sqrt(sum of squares)) KAPPA; the maximum rounds once for f.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from certify.readers.ball import Ball
from certify.rules.balls import KAPPA, SNAP, Array, above, below, down, gamma, require_size, up
from certify.rules.products import dot


class NormBall:
    """The ball as doubles: centre and what it lacks, 1/w rounded up, r rounded up."""

    def __init__(self, ball: Ball) -> None:
        near = [below(v) for v in ball.centre]
        self.norm = ball.norm
        self.centre = np.array([0.0 if abs(v) < SNAP else v for v in near])
        self.residue = np.array([above(abs(v - Fraction(c))) for v, c in zip(ball.centre, self.centre.tolist(), strict=True)])
        self.residue = np.where(self.residue > 0, np.maximum(self.residue, SNAP), 0.0)
        self.factor = np.maximum(np.array([above(1 / w) for w in ball.weight]), SNAP)
        self.radius = max(above(ball.radius), SNAP)
        require_size(np.append(self.factor, self.radius) * 2.0**90, "the radius of the ball, or divisors, times 2^90")

    def lower_bounds(self, coefficients: Array, constant: Array, low: Array, high: Array) -> Array:
        """Return a lower bound of coefficients.x + constant over the ball and the box [low, high], one a row.

        Coefficients are 0 or at least 2^-300, and at most 2^300 in size; the box may be one a row, or one for all rows.
        """
        reach = np.maximum(np.maximum(np.abs(low), np.abs(high)), np.maximum(np.abs(self.centre), SNAP))
        lost = gamma(3 * self.centre.size + 3) * dot(np.abs(coefficients), reach)
        room = np.where(coefficients > 0, self.centre - low, high - self.centre)  # how far a coordinate can move, lowering the form
        best = np.full(constant.shape, -np.inf)
        for least in (np.zeros(self.centre.size), 0.999 * self.radius * self.factor):
            free = np.where(room > least, coefficients, 0.0)
            rest = coefficients - free  # exact: each entry is the coefficient or 0
            gain = dot(free, self.centre) + dot(np.maximum(rest, 0.0), low) + dot(np.minimum(rest, 0.0), high)
            scaled = np.where(free != 0, np.maximum(np.abs(free) * self.factor, SNAP), 0.0)  # squares must not underflow
            norm = KAPPA * np.sqrt(dot(scaled, scaled)) if self.norm == "l2" else up(scaled.max(axis=1))
            spent = lost + dot(np.abs(free), self.residue) + self.radius * norm
            best = np.maximum(best, down(down(constant + gain) - KAPPA * spent))
        return best
