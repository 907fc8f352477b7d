# SPDX-License-Identifier: Apache-2.0
"""Certified bounds against exact values at points of the box: no value ever lies outside its bounds."""

from fractions import Fraction

import numpy as np
import pytest

import random_networks as made
from certify.errors import Rejected
from certify.limits import Limits
from certify.readers.network import Dense, Network, Relu
from certify.rules.balls import above, below
from certify.rules.relaxation import Bounds, Relaxation, stack


def _violations(rng: np.random.Generator, wild: bool, points: int) -> tuple[int, int]:
    """Return (violations, comparisons) for one random network: every value, and random rows over the outputs and inputs."""
    net = made.network(rng, wild)
    boxes = [made.box(rng, net.inputs, wild and rng.random() < 0.5) for _ in range(int(rng.integers(1, 4)))]
    lower = np.array([[below(v) for v in low] for low, _ in boxes])
    upper = np.array([[above(v) for v in high] for _, high in boxes])
    relaxation = Relaxation(net, Limits())
    try:
        bounds = relaxation.propagate(lower, upper, None)
        halves = relaxation.propagate(lower, (lower + upper) / 2, bounds)
        count = 3 * len(boxes)
        coefficients = rng.standard_normal((count, net.outputs)) * 2.0 ** rng.integers(-30, 30, (count, net.outputs))
        added = rng.standard_normal((count, net.inputs)) * (rng.random(count) < 0.5)[:, None]
        owner = np.repeat(np.arange(len(boxes)), 3)
        constant = rng.standard_normal(count)
        found = relaxation.lower_bounds(coefficients, constant, owner, len(net.layers), bounds, lower, upper, added)
    except Rejected as trouble:
        assert trouble.code == "number-too-large"
        return 0, 0
    bad = compared = 0
    for index, (low, high) in enumerate(boxes):
        for point in made.points(rng, low, high, points):
            values = made.exact_values(net, point)
            inside_half = all(Fraction(v) <= Fraction(float(u)) for v, u in zip(point, halves.upper[0][index], strict=True))
            for known in (bounds, halves) if inside_half else (bounds,):
                for k, value in enumerate(values):
                    compared += len(value)
                    bad += sum(not Fraction(float(a)) <= v <= Fraction(float(b)) for a, v,
                               b in zip(known.lower[k][index], value, known.upper[k][index], strict=True))
            for row in np.nonzero(owner == index)[0]:
                exact = Fraction(float(constant[row]))
                exact += sum((Fraction(float(c)) * v for c, v in zip(coefficients[row], values[-1], strict=True)), Fraction(0))
                exact += sum((Fraction(float(c)) * v for c, v in zip(added[row], point, strict=True)), Fraction(0))
                compared += 1
                bad += not Fraction(float(found[row])) <= exact
    return bad, compared


def _run(seed: int, networks: int) -> None:
    rng = np.random.default_rng(seed)
    total = 0
    for k in range(networks):
        bad, compared = _violations(rng, wild=k % 2 == 0, points=6)
        assert bad == 0, f"network {k} of seed {seed}"
        total += compared
    assert total > 20 * networks


@pytest.mark.parametrize("seed", range(21, 26))
def test_no_exact_value_leaves_its_bounds(seed: int) -> None:
    _run(seed, 50)


def test_no_exact_value_leaves_its_bounds_when_denormals_are_flushed() -> None:
    with made.flushed_denormals() as possible:
        if not possible:
            pytest.skip("setting the FPU's flush modes is implemented for x86-64 only")
        assert np.array(5e-324) * 1.0 == 0 or np.array([5e-324])[0] + np.array([5e-324])[0] == 0
        _run(22, 120)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 120))
def test_no_exact_value_leaves_its_bounds_on_ten_thousand_networks(seed: int) -> None:
    _run(seed, 500)


def test_bounds_are_exact_enough_to_be_useful() -> None:
    rng = np.random.default_rng(23)
    net = Network((1, 2), 2, (Dense(rng.standard_normal((3, 2)), np.zeros(3)), Relu(3), Dense(np.ones((1, 3)), np.zeros(1))))
    lower, upper = np.array([[0.1, 0.2]]), np.array([[0.1, 0.2]])
    bounds = Relaxation(net, Limits()).propagate(lower, upper, None)
    exact = made.exact_values(net, [Fraction(0.1), Fraction(0.2)])[-1][0]
    assert abs(Fraction(float(bounds.lower[-1][0, 0])) - exact) < Fraction(1, 10**12)


def test_stacking_keeps_the_order_of_boxes() -> None:
    a = Bounds((np.array([[1.0]]),), (np.array([[2.0]]),))
    b = Bounds((np.array([[3.0], [4.0]]),), (np.array([[5.0], [6.0]]),))
    both = stack([b, a])
    assert both.lower[0].ravel().tolist() == [3.0, 4.0, 1.0]
    assert both.take([2, 0]).upper[0].ravel().tolist() == [2.0, 5.0]


@pytest.mark.parametrize("weight", [2.0**-221, 2.0**211, -(2.0**-250)])
def test_weights_outside_the_proved_range_are_refused(weight: float) -> None:
    net = Network((1, 1), 1, (Dense(np.array([[weight]]), np.zeros(1)),))
    with pytest.raises(Rejected) as caught:
        Relaxation(net, Limits())
    assert caught.value.code == "number-too-large"


def test_bounds_above_the_proved_size_are_refused() -> None:
    net = Network((1, 1), 1, tuple(Dense(np.array([[2.0**120]]), np.zeros(1)) for _ in range(3)))
    with pytest.raises(Rejected) as caught:
        Relaxation(net, Limits()).propagate(np.array([[1.0]]), np.array([[2.0]]), None)
    assert caught.value.code == "number-too-large"
