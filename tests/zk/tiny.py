# SPDX-License-Identifier: Apache-2.0
"""Random tiny networks with policies, regions and provers' choices, and their exact values in rationals."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise, product

import numpy as np

from certify_zk.policy import Dense, InputMap, Policy
from certify_zk.statement import Ball, Box, Rows, Score, Statement
from certify_zk.witness import Choices, Integers, Model

LOW = -(1 << 40)
"""A threshold that every row of a tiny network exceeds."""


class Erratic(Choices):
    """Choices at random: loose bounds, any slopes, intercepts above the least, and both parts of a coefficient positive."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng

    def _some(self, values: Integers, most: int) -> Integers:
        return self.rng.integers(0, most + 1, values.shape) * (self.rng.random(values.shape) < 0.3)

    def bounds(self, k: int, lower: Integers, upper: Integers) -> tuple[Integers, Integers]:
        return lower - self._some(lower, 9), upper + self._some(upper, 9)

    def alpha(self, k: int, lower: Integers, upper: Integers, one: int) -> Integers:
        mine = np.where(self.rng.random(lower.shape) < 0.5, self.rng.integers(0, one + 1, lower.shape), super().alpha(k, lower, upper, one))
        return np.where(self.rng.random() < 0.5, mine, super().alpha(k, lower, upper, one))

    def slope(self, k: int, lower: Integers, upper: Integers, one: int) -> Integers:
        return np.where(self.rng.random(lower.shape) < 0.2, self.rng.integers(0, one + 1, lower.shape), super().slope(k, lower, upper, one))

    def rise(self, k: int, least: Integers) -> Integers:
        return least + self._some(least, 5)

    def active(self, k: int, lower: Integers) -> Integers:
        return np.where(self.rng.random(lower.shape) < 0.3, self.rng.integers(0, 2, lower.shape), super().active(k, lower))

    def parts(self, coefficients: Integers) -> tuple[Integers, Integers]:
        plus, minus = super().parts(coefficients)
        more = self._some(coefficients, 5)
        return plus + more, minus + more


def policy(rng: np.random.Generator, sizes: list[int]) -> Policy:
    """Return a policy with random modes, units and steps."""
    depth, scale, slope = len(sizes) - 1, int(rng.integers(4, 7)), int(rng.integers(2, 6))
    modes = ("crown", *(str(rng.choice(["crown", "crown", "ibp", *(f"stop:{j}" for j in range(1, m - 1))])) for m in range(2, depth + 1)))
    stops = [0 if mode == "crown" else m - 1 if mode == "ibp" else int(mode[5:]) for m, mode in enumerate(modes, start=1)]
    tau: list[tuple[int, ...]] = []
    for m, stop in enumerate(stops, start=1):
        unit, some = scale, []
        for _ in range(m - 1 - stop):
            some.append(int(rng.integers(0, unit + slope + scale - 3)) if rng.random() < 0.2 else unit + slope + scale - int(rng.integers(5, 9)))
            unit += slope + scale - some[-1]
            if unit > 9:  # coefficients would not fit a limb
                some[-1], unit = some[-1] + unit - 9, 9
        tau.append(tuple(some))
    bias = int(rng.integers(2, 6))
    top = Fraction(int(rng.integers(2, 5)))
    return Policy(tuple(Dense(a, b) for a, b in pairwise(sizes)), modes, tuple(tau), InputMap.uniform(0, 1, 0, top),
                  weight_scale=scale, slope_bits=slope, bias_scale=bias, input_scale=int(rng.integers(2, 5)),
                  total_scale=bias + int(rng.integers(0, 6)), bias_bits=int(rng.integers(9, 18)), bound_bits=26,
                  intercept_bits=int(rng.integers(20, 25)), remainder=bool(rng.random() < 0.6))


def model(rng: np.random.Generator, made: Policy) -> Model:
    """Return weights of size 2 or less, and biases of 1 or less."""
    most, shift = 2 << made.weight_scale, 1 << made.bias_scale
    return Model(tuple(rng.integers(-most, most + 1, (layer.outputs, layer.inputs)) for layer in made.layers),
                 tuple(rng.integers(-shift, shift + 1, layer.outputs) for layer in made.layers))


def region(rng: np.random.Generator, made: Policy, ball: bool) -> Box | Ball:
    """Return a box in the domain, or a ball."""
    top = made.input_top
    lower = rng.integers(0, top + 1, made.size(0))
    if ball:
        return Ball(tuple(lower.tolist()), int(rng.integers(0, top // 2 + 1)))
    upper = np.minimum(lower + rng.integers(0, top // 2 + 1, made.size(0)), top)
    return Box(tuple(lower.tolist()), tuple((upper - lower).tolist()))


def specimen(rng: np.random.Generator) -> tuple[Policy, Model, Statement]:
    """Return a random problem whose rows hold."""
    sizes = [int(rng.integers(2, 5)) for _ in range(int(rng.integers(2, 4)) + 1)]
    made = policy(rng, sizes)
    ball = bool(rng.random() < 0.25)
    regions = tuple(region(rng, made, ball) for _ in range(1 if rng.random() < 0.8 else 2))
    if rng.random() < 0.15:
        return made, model(rng, made), Statement(regions, Score(int(rng.integers(0, sizes[-1])), (1 << 32) - 1))
    rows = int(rng.integers(1, 4))
    coefficients = tuple(tuple(int(c) for c in rng.integers(-2, 3, sizes[-1])) for _ in range(rows))
    return made, model(rng, made), Statement(regions, Rows(coefficients, (LOW,) * rows))


def values(made: Policy, network: Model, x: list[Fraction]) -> list[list[Fraction]]:
    """Return z_1 to z_L at an input, exactly."""
    found, y = [], x
    for k, (weight, bias) in enumerate(zip(network.weights, network.biases, strict=True)):
        z = [sum((Fraction(int(w), 1 << made.weight_scale) * v for w, v in zip(row, y, strict=True)), Fraction(int(b), 1 << made.bias_scale))
             for row, b in zip(weight, bias, strict=True)]
        found.append(z)
        y = [max(v, Fraction(0)) for v in z] if k + 1 < made.depth else z
    return found


def points(rng: np.random.Generator, made: Policy, some: Box | Ball, count: int) -> list[list[Fraction]]:
    """Return corners of a region and points within it."""
    unit = Fraction(1, 1 << made.input_scale)
    if isinstance(some, Box):
        corners = list(product((0, 1), repeat=len(some.lower)))
        inside = [[Fraction(int(v), 7) for v in rng.integers(0, 8, len(some.lower))] for _ in range(count)]
        return [[unit * (low + t * w) for low, w, t in zip(some.lower, some.width, at, strict=True)] for at in [*corners, *inside]]
    found = []
    for index in range(2 * count):
        way = rng.normal(size=len(some.centre))
        if index % 2:
            way = np.eye(len(way))[index % len(way)] * (1 if index % 4 == 1 else -1)
        length = some.radius * (1.0 if index % 3 else rng.random())
        step = [Fraction(int(v), 1 << 20) for v in np.trunc(way / np.linalg.norm(way) * length * (1 << 20) * (1 - 2.0**-40))]
        x = [max(Fraction(0), c + s) for c, s in zip(some.centre, step, strict=True)]  # the part with x >= 0 is convex, and has the centre
        if sum((v - c) ** 2 for v, c in zip(x, some.centre, strict=True)) <= some.radius**2:
            found.append([unit * v for v in x])
    return found
