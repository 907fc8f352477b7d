# SPDX-License-Identifier: Apache-2.0
"""The region of one part in binary64: a box, perhaps cut with an l_2 or l_1 ball; least values of linear forms, and projections."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from certify.readers.formula import Part
from certify.rules.balls import above, below
from certify.rules.unsafe_set import UnsafeSet
from certify_solvers.crown.kernel import Array


def claim_point(unsafe: UnsafeSet, x: Sequence[Fraction]) -> tuple[Fraction, ...]:
    """Return the point, in the claim's coordinates, at which the network gets x."""
    return tuple(v * m + a for v, a, m in zip(x, unsafe.add, unsafe.multiply, strict=True))


class Domain:
    """Box and ball of a part: `lower`, `upper`, and where there is a ball `centre`, `factor` (1 / weight), `radius`."""

    def __init__(self, part: Part) -> None:
        self.lower, self.upper = np.array([below(v) for v in part.lower]), np.array([above(v) for v in part.upper])
        self.ball = part.ball
        self.slack = 0.0 if part.ball is None else 1e-4  # what the checker's rounding of norms can cost, beyond that of boxes
        if part.ball is not None:
            self.centre = np.array([float(v) for v in part.ball.centre])
            self.factor = np.array([1.0 / float(w) for w in part.ball.weight])
            self.radius = float(part.ball.radius)

    def least(self, rows: Array) -> tuple[Array, Array]:
        """Return a lower bound of each row over the region, the largest of those that the checker tries, and the point that goes with it."""
        points = np.where(rows > 0, self.lower, self.upper)
        best = (rows * points).sum(axis=1)
        if self.ball is None:
            return best, points
        room = np.where(rows > 0, self.centre - self.lower, self.upper - self.centre)
        for least in (0.0, 0.999 * self.radius * self.factor):
            free = np.where(room > least, rows, 0.0)
            scaled = free * self.factor
            if self.ball.norm == "l2":
                norm = np.sqrt((scaled * scaled).sum(axis=1, keepdims=True))
                direction = scaled / np.where(norm > 0, norm, 1.0)
            else:
                norm = np.abs(scaled).max(axis=1, keepdims=True)
                direction = np.where(np.arange(rows.shape[1]) == np.abs(scaled).argmax(axis=1)[:, None], np.sign(scaled), 0.0)
            moved = self.centre - self.radius * self.factor * direction
            there = np.where(free != 0, moved, np.where(rows != 0, points, np.clip(moved, self.lower, self.upper)))
            found = (rows * there).sum(axis=1)
            better = found > best
            best, points = np.where(better, found, best), np.where(better[:, None], there, points)
        return best, points

    def project(self, points: Array) -> Array:
        """Return points of the box and (but for rounding) of the ball, near the given ones: scaled towards the centre."""
        points = np.clip(points, self.lower, self.upper)
        if self.ball is None:
            return points
        moves = (points - self.centre) / self.factor
        size = np.sqrt((moves * moves).sum(axis=1)) if self.ball.norm == "l2" else np.abs(moves).sum(axis=1)
        share = np.minimum(1.0, self.radius / np.maximum(size, 1e-300))
        return self.centre + (points - self.centre) * np.where(share < 1.0, share * (1 - 1e-6), 1.0)[:, None]

    def direction(self, gradient: Array) -> Array:
        """Return the move across the region that a linear form with these coefficients, one row a point, rises most along."""
        if self.ball is None:
            found: Array = (self.upper - self.lower) * np.sign(gradient)
            return found
        scaled = gradient * self.factor
        if self.ball.norm == "l2":
            return 2 * self.radius * self.factor * scaled / np.maximum(np.sqrt((scaled * scaled).sum(axis=1, keepdims=True)), 1e-300)
        largest = np.abs(scaled).max(axis=1, keepdims=True)
        chosen = np.where(np.abs(scaled) >= 0.8 * largest, np.sign(scaled), 0.0)
        return 2 * self.radius * self.factor * chosen / np.maximum(np.abs(chosen).sum(axis=1, keepdims=True), 1.0)
