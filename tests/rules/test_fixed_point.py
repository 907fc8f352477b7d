# SPDX-License-Identifier: Apache-2.0
"""exact-int: never above the exact value, close to f64-gamma, exact where nothing is lost, the same bits always; each deduction decides."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import random_networks as made
from certify.errors import CertifyError
from certify.limits import Limits
from certify.readers.ball import Ball
from certify.readers.formula import Part, Row
from certify.readers.network import Dense, Network, Relu, Scale
from certify.rules import bounds_tree, fixed_point
from certify.rules.fixed_point import FixedPoint
from certify.rules.float32 import Rounding
from certify.rules.relaxation import Bounds, Relaxation
from rules import bounding
from rules.bounding import Problem
from rules.sabotage import variant
from toolkit import refused

BITS = (16, 20, 60, 90, 1000)
LEAF = {"tree": np.array([-1], "<i4")}


def column(*values: float) -> np.ndarray[Any, Any]:
    """Return a float array of one dimension."""
    return np.array(values, float)


def _run(seeds: range) -> Counter[str]:
    counts: Counter[str] = Counter()
    for seed in seeds:
        rng = np.random.default_rng([150, seed])
        p = bounding.problem(rng, bool(rng.random() < 0.4), [None, None, "l2", "l1"][int(rng.integers(4))])
        try:
            found = bounding.answer(p, bounding.integers(int(rng.choice(BITS)), Rounding if rng.random() < 0.3 else None))
        except CertifyError as trouble:
            assert trouble.code in ("exec32-overflow", "number-too-large"), trouble
            counts[trouble.code] += 1
            continue
        counts["bounded"] += 1
        for x in bounding.points(rng, p, found.theta, 6):
            counts["points"] += 1
            assert bounding.violations(p, found, x, made.exact_values(p.network, x)) == 0, seed
    return counts


@pytest.mark.parametrize("block", range(4))
def test_no_exact_value_leaves_its_bounds(block: int) -> None:
    counts = _run(range(100 * block, 100 * block + 100))
    assert counts["bounded"] > 80 and counts["points"] > 400


@pytest.mark.slow
@pytest.mark.parametrize("block", range(20))
def test_no_exact_value_leaves_its_bounds_on_ten_thousand_networks(block: int) -> None:
    assert _run(range(1000 + 500 * block, 1500 + 500 * block))["points"] > 2500


@pytest.mark.parametrize("rounding", [None, Rounding])
def test_both_arithmetics_agree_on_ordinary_networks(rounding: Any) -> None:
    """To 1e-4 of the size of what is summed, where chords are multiples of 2^-16 in one and of 2^-30 in the other.

    At a tie (an end of exactly 0, u = -l) the rounded bounds of one may choose another line, soundly: that is rare.
    """
    apart = 0
    for seed in range(150):
        rng = np.random.default_rng([151, seed])
        p = bounding.problem(rng, False, [None, "l2", "l1"][seed % 3])
        one, other = bounding.answer(p, bounding.f64(rounding)), bounding.answer(p, bounding.integers(int(rng.choice([60, 90])), rounding))
        size = max(max(map(abs, level)) for found in (one, other) for side in (found.lower, found.upper) for level in side)
        size = 1 + size * (1 + sum(map(abs, (*p.row.outputs.values(), *p.row.inputs.values()))))
        pairs = [(one.bound, other.bound)]
        for side in ("lower", "upper"):
            pairs += [pair for levels in zip(getattr(one, side), getattr(other, side), strict=True) for pair in zip(*levels, strict=True)]
        apart += any(abs(a - b) > size / 10**4 for a, b in pairs)
    assert apart <= 2


def _closes(network: Network, part: Part, bits: int = 60, arrays: Any = None) -> float:
    return bounds_tree.check(FixedPoint(network, Limits(), bits), [part], arrays or LEAF, Limits()).smallest_margin


def _rows(strict: bool, constant: Fraction, *outputs: int) -> tuple[Row, ...]:
    return (Row({}, {i: Fraction(v) for i, v in enumerate(outputs)}, constant, strict),)


RAMP = Network((1, 2), 2, (Dense(np.array([[1.0, 0], [1, 0], [0, 1]]), column(0, -0.25, 0)), Relu(3), Dense(column(1, -1, 0.125)[None], np.zeros(1)),
                           Scale(-1, column(0.5)), Dense(column(0.75)[None], column(0.25))))


@pytest.mark.parametrize("bits", BITS)
def test_a_margin_of_zero_stays_zero(bits: int) -> None:
    """A dyadic network on a dyadic box without unstable neurons: the least value 0 is found, and closes strict rows only."""
    lower, upper = (Fraction(1, 4), Fraction(1, 2)), (Fraction(1), Fraction(3, 4))
    least = Fraction(3, 4) * (Fraction(1, 2) - Fraction(1, 4) - Fraction(3, 32)) + Fraction(1, 4)  # x_1 = 3/4
    assert _closes(RAMP, Part(lower, upper, (_rows(True, -least, 1),)), bits) == 0.0
    refused("leaf-uncovered", _closes, RAMP, Part(lower, upper, (_rows(False, -least, 1),)), bits)
    refused("leaf-uncovered", _closes, RAMP, Part(lower, upper, (_rows(True, -least - Fraction(1, 10**9), 1),)), bits)
    unit = Fraction(1, 1 << bits)
    assert _closes(RAMP, Part(lower, upper, (_rows(False, unit - least, 1),)), bits) == unit
    # a combination: (y - least) + (2 least - 2 y) is not above 0, and y - least + 0 is exactly 0
    both = (*_rows(True, -least, 1), *_rows(False, -5 - least, 1))
    mixed = {**LEAF, "row": np.array([-1], "<i4"), "mix": column(1, 0)}
    assert _closes(RAMP, Part(lower, upper, (both,)), bits, mixed) == 0.0
    refused("leaf-uncovered", _closes, RAMP, Part(lower, upper, (both,)), bits, {**mixed, "mix": column(1, 0.5)})


def test_a_margin_of_zero_through_an_unstable_relu() -> None:
    """Symmetric bounds give the chord 1/2, a multiple of 2^-16: relu(x) <= x/2 + 1/2 on [-1, 1] touches at both ends."""
    net = Network((1, 1), 1, (Relu(1),))
    part = Part((Fraction(-1),), (Fraction(1),), ((Row({}, {0: Fraction(-1)}, Fraction(1), True),),))
    assert _closes(net, part, 16) == 0.0
    refused("leaf-uncovered", _closes, net, Part(part.lower, part.upper, ((Row({}, {0: Fraction(-1)}, Fraction(1)),),)), 16)


def test_f64_never_reaches_exactly_zero() -> None:
    lower, upper = (Fraction(1, 4), Fraction(1, 2)), (Fraction(1), Fraction(3, 4))
    part = Part(lower, upper, (_rows(True, -Fraction(3, 4) * (Fraction(1, 4) - Fraction(3, 32)) - Fraction(1, 4), 1),))
    refused("leaf-uncovered", bounds_tree.check, Relaxation(RAMP, Limits()), [part], LEAF, Limits())


def test_the_bits_are_the_same_every_time() -> None:
    for seed in range(20):
        def once(number: int = seed) -> bounding.Answer:
            rng = np.random.default_rng([152, number])
            return bounding.answer(bounding.problem(rng, False, "l2"), bounding.integers(61))
        assert once() == once()


def test_bounds_are_multiples_of_the_unit() -> None:
    rng = np.random.default_rng(153)
    found = bounding.answer(bounding.problem(rng, False), bounding.integers(17))
    assert all((v * 2**17).denominator == 1 for side in (found.lower, found.upper) for level in side for v in level)
    assert (found.bound * 2**17).denominator == 1


def test_known_bits() -> None:
    """A value that a second implementation can compare with: every rounding of the rules occurs in it."""
    net = Network((1, 2), 2, (Dense(np.array([[0.3, -0.7], [0.9, 0.4]], np.float32).astype(float), column(0.125, -0.5)), Relu(2),
                              Dense(np.array([[1.1, -0.6], [0.2, 0.8]], np.float32).astype(float), column(0.1875, 0.0)), Relu(2),
                              Dense(np.array([[-1.0, 1.3]], np.float32).astype(float), column(0.0))))
    part = Part((Fraction(-1, 3), Fraction(-1, 7)), (Fraction(1, 3), Fraction(1)), ())
    p = Problem(net, part, Row({1: Fraction(1, 9)}, {0: Fraction(2, 3)}, Fraction(1, 10)), np.array([[7, 100, 200, 250]], np.uint8), 0)
    assert [int(bounding.answer(p, bounding.integers(20, rounding)).bound * 2**20) for rounding in (None, Rounding)] == KNOWN


KNOWN = [-580899, -577052]


@pytest.mark.parametrize("bits", [16, 60])
def test_numbers_that_are_too_large(bits: int) -> None:
    far = Fraction(2) ** 301
    part = Part((Fraction(0),), (Fraction(1),), (_rows(False, Fraction(1), 1),))
    many = Network((1, 1), 1, tuple(Dense(column(2.0**120)[None], np.zeros(1)) for _ in range(3)))
    refused("number-too-large", _closes, many, part, bits)
    refused("number-too-large", _closes, Network((1, 1), 1, (Relu(1),)), Part((far,), (far,), part.conjuncts), bits)
    refused("number-too-large", _closes, Network((1, 1), 1, ()), Part(part.lower, part.upper, ((Row({}, {0: far}, Fraction(1)),),)), bits)
    refused("number-too-large", _closes, Network((1, 1), 1, ()), Part(part.lower, part.upper, ((Row({0: far}, {0: Fraction(1)}, Fraction(1)),),)),
            bits)
    small = Network((1, 1), 1, (Dense(column(2.0**-160)[None], np.zeros(1)), Dense(column(2.0**160)[None], np.zeros(1))))
    refused("number-too-large", _closes, small, Part(part.lower, part.upper, ((Row({}, {0: Fraction(2) ** 150}, Fraction(1)),),)), bits)


def test_weights_that_f64_refuses_are_bounded() -> None:
    for weight in (2.0**-250, 2.0**-252 + 2.0**-260):
        net = Network((1, 1), 1, (Dense(column(weight)[None], np.zeros(1)),))
        refused("number-too-large", Relaxation, net, Limits())
        p = Problem(net, Part((Fraction(1),), (Fraction(1),), ()), Row({}, {0: Fraction(1)}, Fraction(0)))
        assert bounding.answer(p, bounding.integers(300)).bound == Fraction(weight)
        assert -Fraction(1, 2**19) <= bounding.answer(p, bounding.integers(20)).bound <= 0


def test_memory_of_weights_is_charged() -> None:
    net = Network((1, 10), 10, (Dense(np.ones((10, 10)), np.zeros(10)),))
    FixedPoint(net, Limits(memory=40000), 60)
    refused("limit-reached", FixedPoint, net, Limits(memory=39999), 60)


def test_work_is_charged() -> None:
    def spent(bits: int, copies: int) -> int:
        limits = Limits().fresh()
        net = Network((1, 2), 2, (Dense(np.ones((3, 2)), np.zeros(3)), Relu(3), Dense(np.ones((copies, 3)), np.zeros(copies))))
        part = Part((Fraction(-1),) * 2, (Fraction(1),) * 2, (_rows(False, Fraction(99), *([1] * copies)),))
        bounds_tree.check(FixedPoint(net, limits, bits), [part], LEAF, limits)
        return limits.spent
    assert spent(60, 1) < spent(60, 10) and spent(60, 1) < spent(1000, 1) < spent(4096, 1)


@pytest.mark.parametrize(("power", "words"), [(0, 1), (31, 1), (32, 2), (598, 10), (607, 10), (608, 11)])
def test_products_are_charged_by_the_words_of_their_numbers(power: int, words: int) -> None:
    """Two numbers of 16 bits behind the point, and a weight of `power`, in words of 64 bits."""
    layers = (Relu(1), Dense(np.array([[2.0**-power]]), np.zeros(1)), Dense(np.ones((1, 1)), np.zeros(1)))
    assert FixedPoint(Network((1, 1), 1, layers), Limits(), 16)._words == words


# Each deduction alone: a variant without it gives a bound above an exact value somewhere. Random problems, with few bits.

_LOST = "lost = np.where((quotient << power) != raw, size, 0).sum(axis=1)\n        return quotient, constant - self._ceil(lost)"
_RESIDUE = "constant = constant - self._ceil((np.stack([row.{0}_residue for row in some]) * {1}).sum(axis=1))"
DEDUCTIONS = {
    "product": (_LOST, "return quotient, constant"),
    "bias": ("((rows * bias).sum(axis=1) >> power)", "-(-(rows * bias).sum(axis=1) >> power)"),
    "relu slopes": ("return result, constant + gain - self._ceil(lost)", "return result, constant + gain"),
    "relu offset": ("-(-np.maximum(-chord * low, ((1 << _CHORD) - chord) * high) >> _CHORD)",
                    "(np.maximum(-chord * low, ((1 << _CHORD) - chord) * high) >> _CHORD)"),
    "relu offset at the upper end": ("np.maximum(-chord * low, ((1 << _CHORD) - chord) * high)", "(-chord * low)"),
    "relu gain": ("rows * offset[owner], 0).sum(axis=1) >> self.bits", "rows * offset[owner], 0).sum(axis=1) // self.unit + 1"),
    "sums of errors": ("found: Integers = -(-sums >> self.bits)", "found: Integers = sums >> self.bits"),
    "residue of outputs": (_RESIDUE.format("output", "self.magnitude(bounds, last)[whose]"), "pass"),
    "residue of inputs": (_RESIDUE.format("input", "reach"), "pass"),
    "constant of the row": ("constant: Any = floor(sum", "constant: Any = ceil(sum"),
    "input": ("found: Integers = constant + ((np.maximum(rows, 0) * low + np.minimum(rows, 0) * high).sum(axis=1) >> self.bits)",
              "found: Integers = constant + -(-(np.maximum(rows, 0) * low + np.minimum(rows, 0) * high).sum(axis=1) >> self.bits)"),
    "lower ends": ("lower, upper = self._round(part.lower, floor)", "lower, upper = self._round(part.lower, ceil)"),
    "upper ends": ("self._round(part.upper, ceil)", "self._round(part.upper, floor)"),
    "threshold": ("return (floor(at), ceil(at)) if", "return (ceil(at), floor(at)) if"),
    "interval, lower": ("(ends[0] + (bias << self.bits)) >> power", "-(-(ends[0] + (bias << self.bits)) >> power)"),
    "interval, upper": ("-(-(ends[1] + (bias << self.bits)) >> power)", "((ends[1] + (bias << self.bits)) >> power)"),
    "centre of the ball": ("gain - self._ceil((abs(free) * residue).sum(axis=1))", "gain"),
    "gain over the ball": ("np.minimum(rest, 0) * high).sum(axis=1) >> self.bits\n            scaled",
                           "np.minimum(rest, 0) * high).sum(axis=1) // self.unit + 1\n            scaled"),
    "factor of the ball": ("self._round([1 / w for w in ball.weight], ceil)", "self._round([1 / w for w in ball.weight], floor)"),
    "radius of the ball": ("ceil(ball.radius * self.unit)", "floor(ball.radius * self.unit)"),
    "norm": ("(-(norm * radius) >> (2 * self.bits))", "-(norm * radius >> (2 * self.bits))"),
}


_BALL = ("centre of the ball", "gain over the ball", "factor of the ball", "radius of the ball", "norm")
_ANY = (*_BALL, "residue of inputs", "input", "constant of the row", "lower ends", "upper ends", "threshold")


def _problem(rng: np.random.Generator, name: str) -> Problem:
    """Return a random problem, half of whose kinds of numbers are multiples of 1/4: where they are, nothing is lost."""
    inputs = int(rng.integers(1, 3))

    def number(low: int, high: int, exact: bool) -> Fraction:
        return Fraction(int(rng.integers(4 * low, 4 * high + 1)), 4) if exact else Fraction(int(rng.integers(999 * low, 999 * high + 1)), 999)

    nice = rng.random(8) < 0.6
    lower = tuple(number(-9, 3, nice[0]) for _ in range(inputs))
    upper = tuple(v + number(0, 9, nice[1]) for v in lower)
    if name == "relu slopes":  # what a slope lacks counts times the size of the bounds
        lower = tuple(64 * v for v in lower)
    layers: list[Any] = []
    if name not in _ANY:
        weights, bias = ([[float(number(-2, 2, nice[k])) if rng.random() < 0.9 else 0.0 for _ in range(size)] for _ in range(2)]
                         for k, size in ((2, inputs), (3, 1)))
        layers = [Relu(inputs)] if name.startswith("relu") else [Dense(np.array(weights), np.array(bias)[:, 0])]
    outputs = {0: number(-3, 3, nice[4])} if rng.random() < 0.8 else {}
    terms = {0: number(-3, 3, nice[5])} if rng.random() < 0.3 else {}
    ball = None
    if name in _BALL:
        centre = tuple((a + b) / 2 if nice[6] else a + (b - a) / 3 for a, b in zip(lower, upper, strict=True))
        lower, upper = tuple(v - 99 for v in lower), tuple(v + 99 for v in upper)
        ball = Ball("l2" if rng.random() < 0.5 else "l1", centre, tuple(Fraction(int(rng.choice([1, 2, 3, 7]))) for _ in centre),
                    Fraction(1, 4) + number(0, 4, nice[7]))
    return Problem(Network((1, inputs), inputs, tuple(layers)), Part(lower, upper, (), ball=ball), Row(terms, outputs, number(-3, 3, nice[7])),
                   None, -1, (Fraction(int(rng.integers(1, 10)), 10), bool(rng.random() < 0.5)) if name == "threshold" else None)


def _lowest(p: Problem, theta: float | None) -> list[tuple[Fraction, ...]]:
    """Return points at which a row over a network without layers is least on the ball."""
    if p.network.layers or p.part.ball is None:
        return []
    ball = p.part.ball
    slope = [p.row.inputs.get(i, Fraction(0)) + p.row.outputs.get(i, Fraction(0)) for i in range(p.network.inputs)]
    steps = [s / w**2 for s, w in zip(slope, ball.weight, strict=True)]
    if ball.norm == "l1":
        best = max(range(len(slope)), key=lambda i: abs(slope[i] / ball.weight[i]))
        steps = [s if i == best else Fraction(0) for i, s in enumerate(steps)]
    x = bounding.on_ball(ball, tuple(c - s for c, s in zip(ball.centre, steps, strict=True)))
    return [x] if p.inside(x, theta) else []


@pytest.mark.parametrize("name", sorted(DEDUCTIONS))
def test_each_deduction_decides(name: str) -> None:
    kind = variant(fixed_point, DEDUCTIONS[name]).FixedPoint
    for seed in range(2000):
        rng = np.random.default_rng([154, seed])
        p = _problem(rng, name)
        found = bounding.answer(p, bounding.integers(16, kind=kind))
        points = bounding.points(rng, p, found.theta, 12) + _lowest(p, found.theta)
        wrong = [x for x in points if bounding.violations(p, found, x, made.exact_values(p.network, x))]
        if wrong:
            sound = bounding.answer(p, bounding.integers(16))
            assert bounding.violations(p, sound, wrong[0], made.exact_values(p.network, wrong[0])) == 0
            return
    raise AssertionError("the variant was never wrong")


def test_a_box_is_cut_at_numbers_that_are_no_multiple_of_the_unit() -> None:
    """Each half reaches over the threshold by less than a unit: the upper one downward, the lower one upward."""
    arithmetic = FixedPoint(Network((1, 1), 1, (Relu(1),)), Limits(), 16)
    for theta in (0.3, -0.3, 1e-9, 0.5, 0.0):
        exact = Fraction(theta) * 65536
        upper, lower = arithmetic.cut(-65536, 65536, theta)
        assert upper <= exact <= lower and (lower - upper, upper == exact) in ((0, True), (1, False))
    for theta in (-1.0, 1.0, 1.5, -2.0):
        assert arithmetic.cut(-65536, 65536, theta) is None


@pytest.mark.parametrize("sign", [1, -1])
def test_values_of_either_sign_are_refused_above_two_to_the_300(sign: int) -> None:
    far = Fraction(2) ** 300
    for over in (False, True):
        ends = sorted((Fraction(0), sign * (far + over)))
        arithmetic = FixedPoint(Network((1, 1), 1, ()), Limits(), 16)
        if over:
            refused("number-too-large", arithmetic.start, Part((ends[0],), (ends[1],), ()))
        else:
            arithmetic.start(Part((ends[0],), (ends[1],), ()))
        for position in (0, 1):  # the layer whose output is too large
            layers = [Scale(1, np.zeros(1)), Scale(1, np.zeros(1))]
            layers[position] = Dense(np.array([[sign * 2.0**200 * (2 if over else 1)]]), np.zeros(1))
            if position == 0:
                layers[1] = Dense(np.array([[2.0**-100]]), np.zeros(1))
            arithmetic = FixedPoint(Network((1, 1), 1, tuple(layers)), Limits(), 16)
            low, high = arithmetic.start(Part((Fraction(0),), (Fraction(2) ** 100,), ()))
            if over:
                refused("number-too-large", arithmetic.propagate, low[None], high[None], None)
            else:
                arithmetic.propagate(low[None], high[None], None)


@pytest.mark.parametrize("count", [1, 31, 32, 33, 40])
def test_products_of_many_rows_are_those_of_single_ones(count: int) -> None:
    """Columns of zeros and neurons that are 0 everywhere are left out, and nothing else is."""
    weight = np.array([[1.0, -2.0, 5.0], [3.0, 0.5, 7.0]])
    layers = (Dense(np.eye(3), np.zeros(3)), Relu(3), Dense(weight, np.zeros(2)))
    arithmetic = FixedPoint(Network((1, 3), 3, layers), Limits(), 16)
    ends = [np.array([low] * 3 + [], object)[None] for low in (-5, 5)]
    ends[1][0, 2] = -1  # the third neuron is 0 on the box
    bounds = arithmetic.propagate(ends[0], ends[1], None)
    exact = np.array(weight * 2, int).astype(object)  # in units of 1/2
    for values in ((1, 1), (-1, -1), (0, 1), (1, 0), (0, 0), (7, -3)):
        rows = np.array([values] * count, object)
        found = arithmetic._back(rows, 2, bounds)
        wanted = rows.dot(exact)
        assert (found[:, :2] == wanted[:, :2]).all()
        assert (found[:, 2] == (0 if count >= 32 else wanted[:, 2])).all()


def test_one_sum_of_a_layer_that_may_overflow_is_enough() -> None:
    for huge in (0, 1):
        weight = np.array([[1.0], [1.0]])
        weight[huge] = 2.0**119
        network = Network((1, 1), 1, (Dense(weight, np.zeros(2)),))
        arithmetic = FixedPoint(network, Limits(), 16, None, Rounding(network))
        low, high = arithmetic.start(Part((Fraction(0),), (Fraction(4),), ()))
        refused("exec32-overflow", arithmetic.propagate, low[None], high[None], None)


def test_a_radius_is_rounded_up_from_what_it_is_exactly() -> None:
    """Four inputs whose sizes fill 2^122 units but for the fixed part, which no unit holds: one unit of error isn't enough."""
    network = Network((1, 4), 4, (Dense(np.zeros((1, 4)), np.zeros(1)),))
    rounding = Rounding(network)
    arithmetic = FixedPoint(network, Limits(), 16, None, rounding)
    (fixed,) = rounding.of(0).fixed.tolist()
    least = int(Fraction(fixed) * arithmetic.unit)
    assert least < Fraction(fixed) * arithmetic.unit and rounding.of(0).absolute == 2.0**-122
    for more, wanted in ((-1, 1), (0, 2), (1, 2)):
        size = np.array([[1, 1, 1, 2**122 - least + more - 3]], object)
        assert arithmetic._radius(0, Bounds((-size, size - size), (size, size - size))).tolist() == [[wanted]]


@pytest.mark.parametrize("count", [1, 32, 40])
def test_a_neuron_that_is_above_0_by_one_unit_is_kept(count: int) -> None:
    arithmetic = FixedPoint(Network((1, 2), 2, (Dense(np.eye(2), np.zeros(2)), Relu(2), Dense(np.ones((1, 2)), np.zeros(1)))), Limits(), 16)
    bounds = arithmetic.propagate(np.array([[-5, -5]], object), np.array([[5, 1]], object), None)
    assert arithmetic._back(np.array([[3]] * count, object), 2, bounds).tolist() == [[3, 3]] * count


@pytest.mark.parametrize("count", [1, 31, 32, 40])
def test_dead_neurons_count_in_float32(count: int) -> None:
    network = Network((1, 1), 1, (Dense(np.array([[1.0], [0.0]]), np.array([-2.0, 1.0])), Relu(2), Dense(np.array([[1.0, 0.0]]), np.zeros(1))))
    arithmetic = FixedPoint(network, Limits(), 200, None, Rounding(network))
    low, high = arithmetic.start(Part((Fraction(0),), (Fraction(1),), ()))
    bounds = arithmetic.propagate(low[None], high[None], None)
    row = arithmetic.specify([(Row({}, {0: Fraction(1)}, Fraction(0)), Fraction(1))])
    found = arithmetic.bound([row] * count, np.zeros(count, np.int64), bounds, low[None], high[None])
    alone = arithmetic.bound([row], np.zeros(1, np.int64), bounds, low[None], high[None])
    assert set(found.tolist()) == set(alone.tolist()) and found[0] < 0


def test_neurons_of_other_boxes_cost_and_give_nothing() -> None:
    """Two boxes of sixteen neurons, in units of 1/16: they cross 0 in the second box only, and what is [-1, 0] in units is 0 in the first."""
    arithmetic = FixedPoint(Network((1, 16), 16, (Relu(16),)), Limits(), 4)
    low, high = np.full((2, 16), -1, object), np.full((2, 16), 0, object)
    low[1], high[1] = -7, 9
    bounds = Bounds((low, low), (high, high))
    for value in (3, -3):
        result, constant = arithmetic._relu(0, np.full((1, 16), value, object), np.full(1, 0, object), np.array([0]), bounds, None)
        assert result.tolist() == [[0] * 16] and constant.tolist() == [0]
    low[0], high[0] = 0, 5
    result, constant = arithmetic._relu(0, np.full((1, 16), -3, object), np.full(1, 0, object), np.array([0]), bounds, None)
    assert result.tolist() == [[-3] * 16] and constant.tolist() == [0]


def test_roots_are_rounded_up() -> None:
    assert [fixed_point._root(v) for v in (0, 1, 2, 3, 4, 5, 9, 10, 10**40, 10**40 + 1)] == [0, 1, 2, 2, 2, 3, 3, 4, 10**20, 10**20 + 1]
