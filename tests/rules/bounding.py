# SPDX-License-Identifier: Apache-2.0
"""Random bounding problems for either arithmetic: a network, a part (box, ball), a row, slope sets, perhaps a split; and points of the part."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import isqrt
from typing import Any

import numpy as np

import random_networks as made
from certify.limits import Limits
from certify.readers.ball import Ball
from certify.readers.formula import Part, Row
from certify.readers.network import Network
from certify.rules.fixed_point import FixedPoint
from certify.rules.relaxation import Relaxation
from certify.rules.slopes import slope_sets

Make = Callable[["Problem"], Any]  # makes the arithmetic


@dataclass(frozen=True)
class Problem:
    """What is bounded; `split` cuts input 0 at a share of its box, and keeps one side."""

    network: Network
    part: Part
    row: Row
    slopes: Any = None
    chosen: int = -1
    split: tuple[Fraction, bool] | None = None
    inherit: bool = False

    def inside(self, x: tuple[Fraction, ...], theta: float | None) -> bool:
        """Return whether a point lies in the part and on the side that is kept."""
        side = self.split is None or theta is None or (x[0] >= Fraction(theta) if self.split[1] else x[0] <= Fraction(theta))
        return side and self.part.holds_input(x)


@dataclass(frozen=True)
class Answer:
    """Bounds on every value, and the lower bound of the row, as rationals; `theta` is the threshold of the split that was made."""

    lower: list[list[Fraction]]
    upper: list[list[Fraction]]
    bound: Fraction
    theta: float | None


def problem(rng: np.random.Generator, wild: bool, norm: str | None = None, gemm: bool = False, network: Network | None = None) -> Problem:
    """Return a random problem; `norm` adds a ball, `gemm` gives some layers alpha and beta."""
    net = network or made.network(rng, wild)
    if gemm:
        net = made.with_gemm(rng, net)
    lower, upper = made.box(rng, net.inputs, wild)
    ball = None
    if norm is not None:
        centre = tuple(a + (b - a) * Fraction(int(rng.integers(0, 11)), 10) for a, b in zip(lower, upper, strict=True))
        weight = tuple(Fraction(int(rng.integers(1, 20)), int(rng.integers(1, 20))) for _ in centre)
        ball = Ball("l2" if norm == "l2" else "l1", centre, weight, Fraction(int(rng.integers(1, 900)), 500))
    terms = {i: Fraction(int(v), 7) for i, v in enumerate(rng.integers(-3, 4, net.inputs)) if v} if rng.random() < 0.4 else {}
    outputs = {i: Fraction(int(v), 7) for i, v in enumerate(rng.integers(-9, 10, net.outputs)) if v}
    row = Row(terms, outputs, Fraction(int(rng.integers(-9, 9)), 3))
    neurons = sum(net.layers[k].size for k in net.activations)
    slopes = rng.integers(0, 256, (2, neurons)).astype(np.uint8) if neurons and rng.random() < 0.5 else None
    split = (Fraction(int(rng.integers(1, 10)), 10), bool(rng.random() < 0.5)) if rng.random() < 0.4 else None
    return Problem(net, Part(tuple(lower), tuple(upper), (), ball=ball), row, slopes, int(rng.integers(-1, 2)) if slopes is not None else -1, split,
                   bool(rng.random() < 0.5))


def by_layer(p: Problem) -> Any:
    """Return the slope sets of a problem by layer."""
    return None if p.slopes is None else slope_sets(p.network, p.slopes, Limits())


def f64(rounding: Any = None) -> Make:
    """Return a maker of f64-gamma; `rounding` makes the float32 errors of a network."""
    return lambda p: Relaxation(p.network, Limits(), by_layer(p), rounding(p.network) if rounding else None)


def integers(bits: int, rounding: Any = None, kind: Any = FixedPoint) -> Make:
    """Return a maker of exact-int with some fraction bits."""
    return lambda p: kind(p.network, Limits(), bits, by_layer(p), rounding(p.network) if rounding else None)


def answer(p: Problem, make: Make) -> Answer:
    """Return what the checker computes; raises its errors."""
    arithmetic = make(p)
    low, high = arithmetic.start(p.part)
    chosen = None if p.slopes is None else np.array([p.chosen])
    theta = None
    with np.errstate(all="ignore"):
        bounds = arithmetic.propagate(low[None], high[None], None, chosen)
        if p.split is not None:
            theta = float(p.part.lower[0] + (p.part.upper[0] - p.part.lower[0]) * p.split[0])
            ends = arithmetic.cut(low[0], high[0], theta)
            theta = None if ends is None else theta
            if ends is not None:
                low, high = low.copy(), high.copy()
                if p.split[1]:
                    low[0] = ends[0]
                else:
                    high[0] = ends[1]
                if p.inherit:  # otherwise the bounds of the root serve
                    bounds = arithmetic.propagate(low[None], high[None], bounds, chosen)
        found = arithmetic.bound([arithmetic.specify([(p.row, Fraction(1))])], np.array([0]), bounds, low[None], high[None], chosen)[0]
    unit = arithmetic.unit
    if isinstance(found, float | np.floating) and not np.isfinite(found):
        found = -(2.0**1000)  # no bound
    return Answer([[Fraction(v) / unit for v in level[0].tolist()] for level in bounds.lower],
                  [[Fraction(v) / unit for v in level[0].tolist()] for level in bounds.upper], Fraction(found) / unit, theta)


def points(rng: np.random.Generator, p: Problem, theta: float | None, count: int) -> list[tuple[Fraction, ...]]:
    """Return rational points of the part and of its side of the split: corners, inner points, and points on the ball."""
    found: list[tuple[Fraction, ...]] = []
    for point in made.points(rng, p.part.lower, p.part.upper, count):
        x = tuple(point)
        if theta is not None and rng.random() < 0.3:
            x = (Fraction(theta), *x[1:])
        candidates = [x]
        if p.part.ball is not None:
            candidates = [on_ball(p.part.ball, x), toward(p.part.ball.centre, on_ball(p.part.ball, x), Fraction(1, 3)), p.part.ball.centre]
        found += [x for x in candidates if p.inside(x, theta)]
    return found


def on_ball(ball: Ball, x: tuple[Fraction, ...]) -> tuple[Fraction, ...]:
    """Return the point where the ray from the centre through x leaves the ball, or one just inside (a root is rounded)."""
    moves = [w * (v - c) for v, c, w in zip(x, ball.centre, ball.weight, strict=True)]
    if not any(moves):
        return x
    if ball.norm == "l1":
        share = ball.radius / sum(map(abs, moves))
    else:
        square = ball.radius**2 / sum((v * v for v in moves), Fraction(0))
        scale = 1 << 200
        share = Fraction(isqrt(square.numerator * scale * scale // square.denominator), scale)
    found = toward(ball.centre, x, share)
    assert ball.holds(found)
    return found


def toward(start: tuple[Fraction, ...], end: tuple[Fraction, ...], share: Fraction) -> tuple[Fraction, ...]:
    """Return start + share (end - start)."""
    return tuple(a + (b - a) * share for a, b in zip(start, end, strict=True))


def violations(p: Problem, found: Answer, x: tuple[Fraction, ...], values: list[list[Fraction]]) -> int:
    """Return how many values, and whether the row, lie outside their bounds."""
    bad = sum(not low <= v <= high for level, lows, highs in zip(values, found.lower, found.upper, strict=True)
              for v, low, high in zip(level, lows, highs, strict=True))
    return bad + (found.bound > p.row.value(x, tuple(values[-1])))
