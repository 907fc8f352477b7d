# SPDX-License-Identifier: Apache-2.0
"""l_2 and l_1 balls cut with boxes: bounds below exact values at points of the part, near closed forms; refusals; each error term decides."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import float32_runs as runs
import oracle
import random_networks as made
from certify.errors import CertifyError
from certify.limits import Limits
from certify.readers.ball import Ball
from certify.readers.formula import Part, Row
from certify.readers.network import Dense, Network, Relu
from certify.rules import norm_ball
from certify.rules.fixed_point import FixedPoint
from certify.rules.float32 import Rounding
from certify.rules.norm_ball import NormBall
from certify.rules.relaxation import Relaxation
from rules import bounding
from rules.bounding import Problem
from rules.sabotage import variant
from toolkit import refused

LOOSE = Fraction(1, 1 << 18)  # f64-gamma multiplies r ||.|| by (1 + 2^-20)^2
ARITHMETICS = {"f64": bounding.f64(), "int": bounding.integers(70)}
IDENTITY = {n: Network((1, n), n, ()) for n in (1, 2, 3)}


def linear(norm: str, centre: list[Fraction], weight: list[Fraction], radius: Fraction, slope: list[Fraction],
           box: tuple[list[Fraction], list[Fraction]] | None = None) -> Problem:
    """Return the problem of bounding slope.x over a ball and a box (by default one that doesn't cut the ball)."""
    reach = [radius / w + 1 for w in weight]
    low, high = box or ([c - v for c, v in zip(centre, reach, strict=True)], [c + v for c, v in zip(centre, reach, strict=True)])
    ball = Ball("l2" if norm == "l2" else "l1", tuple(centre), tuple(weight), radius)
    return Problem(IDENTITY[len(centre)], Part(tuple(low), tuple(high), (), ball=ball), Row({}, dict(enumerate(slope)), Fraction(0)))


def lowest(ball: Ball, slope: list[Fraction]) -> tuple[Fraction, ...]:
    """Return the point of the ball where slope.x is least, or one just inside."""
    steps = [s / w**2 for s, w in zip(slope, ball.weight, strict=True)]
    if ball.norm == "l1":
        best = max(range(len(slope)), key=lambda i: abs(slope[i] / ball.weight[i]))
        steps = [s if i == best else Fraction(0) for i, s in enumerate(steps)]
    return bounding.on_ball(ball, tuple(c - s for c, s in zip(ball.centre, steps, strict=True)))


def numbers(rng: np.random.Generator, count: int, most: int = 30) -> list[Fraction]:
    """Return rationals, most of them no doubles."""
    return [Fraction(int(rng.integers(-most, most + 1)), int(rng.integers(1, 12))) for _ in range(count)]


def _run(seeds: range) -> Counter[str]:
    counts: Counter[str] = Counter()
    for seed in seeds:
        rng = np.random.default_rng([52, seed])
        p = bounding.problem(rng, bool(rng.random() < 0.3), "l2" if seed % 2 else "l1", network=IDENTITY[int(rng.integers(1, 4))]
                             if rng.random() < 0.3 else None)
        for name, make in ARITHMETICS.items():
            for rounding in (None, Rounding):
                try:
                    found = bounding.answer(p, bounding.f64(rounding) if name == "f64" else bounding.integers(70, rounding) if rounding else make)
                except CertifyError as trouble:
                    counts[trouble.code] += 1
                    continue
                counts[name] += 1
                for x in bounding.points(rng, p, found.theta, 6):
                    counts["points"] += 1
                    values = made.exact_values(p.network, x)
                    if rounding:
                        values = [[runs.real(v) for v in level] for level in runs.execute(p.network, runs.inputs(rng, x), runs.machine(rng))]
                    assert bounding.violations(p, found, x, values) == 0, (seed, name)
    return counts


@pytest.mark.parametrize("block", range(10))
def test_no_value_at_a_point_of_ball_and_box_leaves_its_bounds(block: int) -> None:
    counts = _run(range(20 * block, 20 * block + 20))
    assert counts["f64"] > 20 and counts["int"] > 20 and counts["points"] > 400


def test_no_value_leaves_its_bounds_when_denormals_are_flushed() -> None:
    with made.flushed_denormals() as possible:
        if not possible:
            pytest.skip("setting the FPU's flush modes is implemented for x86-64 only")
        assert _run(range(200, 240))["points"] > 500


@pytest.mark.slow
@pytest.mark.parametrize("block", range(10))
def test_no_value_at_a_point_of_ball_and_box_leaves_its_bounds_in_long_runs(block: int) -> None:
    assert _run(range(1000 + 500 * block, 1500 + 500 * block))["points"] > 10000


@pytest.mark.parametrize("arithmetic", sorted(ARITHMETICS))
@pytest.mark.parametrize("norm", ["l2", "l1"])
def test_closed_forms(norm: str, arithmetic: str) -> None:
    """One input: the ball is an interval. Two or three: c.x0 - r ||c / w||_q, attained; compared exactly, squares for l_2."""
    rng = np.random.default_rng(53)
    for n in (1, 2, 3) * 60:
        centre, slope = numbers(rng, n), numbers(rng, n)
        weight, radius = [abs(v) + Fraction(1, 7) for v in numbers(rng, n)], abs(numbers(rng, 1)[0]) + Fraction(1, 9)
        p = linear(norm, centre, weight, radius, slope)
        found = bounding.answer(p, ARITHMETICS[arithmetic]).bound
        value = sum((s * c for s, c in zip(slope, centre, strict=True)), Fraction(0))
        share = [abs(s / w) for s, w in zip(slope, weight, strict=True)]
        size = value.numerator // value.denominator + radius * sum(share) + 1
        tolerance = abs(size) / 10**11 + radius * sum(share) * LOOSE
        assert p.part.ball is not None
        assert found <= p.row.value(lowest(p.part.ball, slope), lowest(p.part.ball, slope))
        if norm == "l1" or n == 1:
            exact = value - radius * max(share)
            assert exact - tolerance <= found <= exact
        else:
            square = radius**2 * sum((v * v for v in share), Fraction(0))
            drop = value - found
            assert drop >= 0 and square <= drop**2 and (drop < tolerance or (drop - tolerance) ** 2 <= square)


@pytest.mark.parametrize("arithmetic", sorted(ARITHMETICS))
def test_one_input_cut_by_a_box(arithmetic: str) -> None:
    """The least value over [c - r/w, c + r/w] cut with [lo, hi] is found, whichever end is nearer."""
    rng = np.random.default_rng(54)
    for _ in range(200):
        (centre,), (slope,) = numbers(rng, 1), numbers(rng, 1)
        weight, radius = Fraction(int(rng.integers(1, 9)), int(rng.integers(1, 9))), Fraction(int(rng.integers(1, 30)), 7)
        low, high = centre - Fraction(int(rng.integers(0, 30)), 11), centre + Fraction(int(rng.integers(0, 30)), 11)
        norm = "l2" if rng.random() < 0.5 else "l1"
        found = bounding.answer(linear(norm, [centre], [weight], radius, [slope], ([low], [high])), ARITHMETICS[arithmetic]).bound
        ends = (max(low, centre - radius / weight), min(high, centre + radius / weight))
        exact = min(slope * v for v in ends)
        assert exact - (abs(exact) + abs(slope) * 100 + 1) / 10**11 - abs(slope) * radius / weight * LOOSE <= found <= exact


@pytest.mark.parametrize("arithmetic", sorted(ARITHMETICS))
def test_two_inputs_cut_by_a_box(arithmetic: str) -> None:
    """The l_1 ball cut with a box is a polygon: its least corner is never below the bound; neither is the bound below both of its parts."""
    rng = np.random.default_rng(55)
    tight = 0
    for _ in range(150):
        centre, slope, weight = numbers(rng, 2), numbers(rng, 2), [abs(v) + Fraction(1, 7) for v in numbers(rng, 2)]
        radius = abs(numbers(rng, 1)[0]) + Fraction(1, 9)
        low = [c - Fraction(int(rng.integers(0, 40)), 11) for c in centre]
        high = [c + Fraction(int(rng.integers(0, 40)), 11) for c in centre]
        p = linear("l1", centre, weight, radius, slope, (low, high))
        polygon: oracle.Polygon = [(low[0], low[1]), (high[0], low[1]), (high[0], high[1]), (low[0], high[1])]
        for first in (1, -1):
            for second in (1, -1):
                a, b = first * weight[0], second * weight[1]
                polygon = oracle.clip(polygon, (a, b, -a * centre[0] - b * centre[1] - radius))
        exact = min(slope[0] * v[0] + slope[1] * v[1] for v in polygon)
        found = bounding.answer(p, ARITHMETICS[arithmetic]).bound
        tolerance = (1 + sum(abs(s) * (abs(c) + 99) for s, c in zip(slope, centre, strict=True))) * LOOSE
        over_box = sum(min(s * a, s * b) for s, a, b in zip(slope, low, high, strict=True))
        assert over_box - tolerance <= found <= exact
        tight += found >= exact - tolerance
    assert tight > 100  # the two masks find most least values


@pytest.mark.parametrize("arithmetic", sorted(ARITHMETICS))
def test_the_box_of_a_leaf_may_miss_the_centre_or_the_ball(arithmetic: str) -> None:
    for low, high in ((Fraction(2), Fraction(3)), (Fraction(-3), Fraction(-2)), (Fraction(1, 2), Fraction(9, 10)), (Fraction(10), Fraction(11))):
        for slope in (Fraction(1), Fraction(-1)):
            p = linear("l2", [Fraction(0)] * 2, [Fraction(1)] * 2, Fraction(5, 2), [slope, Fraction(1)], ([low, Fraction(-3)], [high, Fraction(3)]))
            found = bounding.answer(p, ARITHMETICS[arithmetic]).bound
            for x in bounding.points(np.random.default_rng(56), p, None, 60):
                assert found <= slope * x[0] + x[1]


@pytest.mark.parametrize("arithmetic", sorted(ARITHMETICS))
@pytest.mark.parametrize("norm", ["l2", "l1"])
def test_tiny_and_huge_radii(norm: str, arithmetic: str) -> None:
    for radius in (Fraction(1, 10**400), Fraction(1, 1 << 60), Fraction(10) ** 40):
        p = linear(norm, [Fraction(1, 3), Fraction(-1, 7)], [Fraction(1), Fraction(3)], radius, [Fraction(1), Fraction(2)])
        found = bounding.answer(p, ARITHMETICS[arithmetic]).bound
        assert p.part.ball is not None
        x = lowest(p.part.ball, [Fraction(1), Fraction(2)])
        assert found <= x[0] + 2 * x[1] and found >= -3 * radius - Fraction(1, 10**9)


def test_balls_outside_the_proved_range_are_refused() -> None:
    one, far = Fraction(1), Fraction(2) ** 211
    for radius, weight in ((far, one), (one, 1 / far), (Fraction(10) ** 400, one), (one, Fraction(1, 10**400))):
        refused("number-too-large", NormBall, Ball("l2", (one,), (weight,), radius))
    NormBall(Ball("l2", (one,), (one / 2**210,), Fraction(2) ** 210))
    refused("number-too-large", NormBall, Ball("l2", (Fraction(10) ** 400,), (one,), one))


def test_infinite_sums_are_no_bound() -> None:
    """Coefficients and factors so large that squares overflow: the ball gives no bound, the box does."""
    n = 16
    ball = NormBall(Ball("l2", (Fraction(0),) * n, (Fraction(1, 2**210),) * n, Fraction(2) ** 210))
    with np.errstate(all="ignore"):
        found = ball.lower_bounds(np.full((1, n), 2.0**300), np.zeros(1), np.full(n, -1.0), np.full(n, 1.0))
    assert not found[0] > -n * 2.0**300


def test_balls_bound_the_first_layers_too() -> None:
    """In a ball, the inputs of the first ReLU are bounded backward: the corner of the box is out of reach."""
    net = Network((1, 2), 2, (Dense(np.array([[1.0, 1.0]]), np.zeros(1)), Relu(1), Dense(np.array([[1.0]]), np.zeros(1))))
    ball = Ball("l1", (Fraction(0),) * 2, (Fraction(1),) * 2, Fraction(1))
    part = Part((Fraction(-1),) * 2, (Fraction(1),) * 2, (), ball=ball)
    for make in ARITHMETICS.values():
        p = Problem(net, part, Row({}, {0: Fraction(-1)}, Fraction(0)))
        assert abs(bounding.answer(p, make).upper[1][0] - 1) < LOOSE  # 2 on the box


@pytest.mark.parametrize("arithmetic", ["f64", "int"])
def test_a_part_without_a_ball_is_not_bounded_over_the_ball_before_it(arithmetic: str) -> None:
    bounds_of: Any = Relaxation(IDENTITY[2], Limits()) if arithmetic == "f64" else FixedPoint(IDENTITY[2], Limits(), 60)
    ends = (Fraction(-1),) * 2, (Fraction(1),) * 2
    found = []
    for ball in (None, Ball("l1", (Fraction(0),) * 2, (Fraction(1),) * 2, Fraction(1)), None):
        low, high = bounds_of.start(Part(*ends, (), ball=ball))
        row = bounds_of.specify([(Row({}, {0: Fraction(1), 1: Fraction(1)}, Fraction(0)), Fraction(1))])
        known = bounds_of.propagate(low[None], high[None], None)
        found.append(Fraction(bounds_of.bound([row], np.zeros(1, np.int64), known, low[None], high[None])[0]) / bounds_of.unit)
    assert found[0] == found[2] <= -2 and abs(found[1] + 1) < LOOSE


# Each error term of the binary64 rule alone.

TERMS: dict[str, list[tuple[str, str]]] = {
    "residue of the centre": [("spent = lost + dot(np.abs(free), self.residue)", "spent = lost + 0 * dot(np.abs(free), self.residue)"),
                              ("lost = gamma(3", "lost = 0 * gamma(3")],
    "products": [("lost = gamma(3", "lost = 0 * gamma(3"), ("down(down(constant + gain) - KAPPA * spent)", "(constant + gain) - spent")],
    "rounded 1/w": [("np.array([above(1 / w) for w in ball.weight])", "np.array([below(1 / w) for w in ball.weight])"),
                    ("lost = gamma(3", "lost = 0 * gamma(3"), ("up(scaled.max(axis=1))", "scaled.max(axis=1)"),
                    ("down(down(constant + gain) - KAPPA * spent)", "(constant + gain) - spent")],
    "rounded r": [("self.radius = max(above(ball.radius), SNAP)", "self.radius = max(below(ball.radius), SNAP)"),
                  ("lost = gamma(3", "lost = 0 * gamma(3"), ("up(scaled.max(axis=1))", "scaled.max(axis=1)"),
                  ("down(down(constant + gain) - KAPPA * spent)", "(constant + gain) - spent")],
    "the other coordinates": [("+ dot(np.maximum(rest, 0.0), low) + dot(np.minimum(rest, 0.0), high)", "")],
    "the norm": [('norm = KAPPA * np.sqrt(dot(scaled, scaled)) if self.norm == "l2" else up(scaled.max(axis=1))', "norm = up(scaled.max(axis=1))")],
    "the norm, halved": [("self.radius * norm", "0.999 * self.radius * norm")],
}


@pytest.mark.parametrize("name", sorted(TERMS))
def test_each_term_decides(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = variant(norm_ball, *TERMS[name])
    for seed in range(1500):
        rng = np.random.default_rng([57, seed])
        n = int(rng.integers(1, 3))
        centre, slope = numbers(rng, n), numbers(rng, n)
        weight, radius = [abs(v) + Fraction(1, 7) for v in numbers(rng, n)], abs(numbers(rng, 1)[0]) + Fraction(1, 9)
        cut = None
        if name == "residue of the centre":  # the factor KAPPA on a larger radius would hide it
            radius /= 10**20
        if name == "the other coordinates":
            cut = ([c - Fraction(1, 10**6) for c in centre], [c + Fraction(1, 10**6) for c in centre])
            centre = [c + Fraction(1, 10**7) for c in centre]
        p = linear("l2" if rng.random() < 0.5 else "l1", centre, weight, radius, slope, cut)
        assert p.part.ball is not None
        points = [lowest(p.part.ball, slope), p.part.lower, p.part.upper]
        least = min((p.row.value(x, x) for x in points if p.part.holds_input(x)), default=None)
        if least is None:
            continue
        with monkeypatch.context() as patched:
            patched.setattr(norm_ball, "NormBall", broken.NormBall)
            patched.setattr(Relaxation, "lower_bounds", _ball_only)
            found: Any = bounding.answer(p, bounding.f64()).bound
        if found > least:
            assert bounding.answer(p, bounding.f64()).bound <= least
            return
    raise AssertionError("the variant was never wrong")


def _ball_only(self: Relaxation, coefficients: Any, constant: Any, owner: Any, k: int, bounds: Any, lower: Any, upper: Any, *more: Any) -> Any:
    """Bound by the ball alone, without the errors of the pass that would hide its own."""
    assert self.ball is not None and k == 0
    return self.ball.lower_bounds(coefficients, constant, lower, upper)
