# SPDX-License-Identifier: Apache-2.0
"""Many rows and boxes bounded together: each bound is that of the row on its own box, whatever else is in the batch."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import random_networks as made
from certify.errors import Rejected
from certify.limits import Limits
from certify.readers.formula import Part, Row
from certify.readers.network import Dense, Network, Relu, Scale
from certify.rules import fixed_point, relaxation
from certify.rules.fixed_point import FixedPoint
from certify.rules.float32 import Rounding
from certify.rules.relaxation import Relaxation


@pytest.mark.parametrize("block", range(6))
@pytest.mark.parametrize("arithmetic", ["f64", "f64 exec32", "int"])
def test_rows_in_a_batch_are_bounded_like_single_ones(arithmetic: str, block: int) -> None:
    """Sizes of batches choose other code, so every size is tried; networks may begin with ReLUs or shifts, and neurons may be dead."""
    compared = 0
    for seed in range(10 * block, 10 * block + 10):
        rng = np.random.default_rng([81, seed])
        net = made.network(rng, False)
        start = rng.random()
        front = [Relu(net.inputs)] if start < 0.4 else [Scale(1, np.full(net.inputs, 0.25)), Relu(net.inputs)] if start < 0.6 else []
        net = Network(net.input_shape, net.inputs, (*front, *net.layers)) if rng.random() < 0.7 or not front else Network(
            net.input_shape, net.inputs, tuple(front))
        limits = Limits()
        bounds_of = (FixedPoint(net, limits, 60) if arithmetic == "int"
                     else Relaxation(net, limits, None, Rounding(net) if arithmetic == "f64 exec32" else None))
        boxes = [made.box(rng, net.inputs, False) for _ in range(int(rng.integers(1, 4)))]
        if rng.random() < 0.5:  # negative inputs: their ReLUs are 0
            boxes = [([-abs(v) - 3 if rng.random() < 0.6 else v for v in low], high) for low, high in boxes]
            boxes = [(low, [min(b, Fraction(-1)) if a < -3 else b for a, b in zip(low, high, strict=True)]) for low, high in boxes]
        ends = [bounds_of.start(Part(tuple(low), tuple(high), ())) for low, high in boxes]
        lower, upper = np.stack([low for low, _ in ends]), np.stack([high for _, high in ends])
        rows = [Row({i: Fraction(int(rng.integers(-3, 4))) for i in range(net.inputs)} if rng.random() < 0.4 else {},
                    {i: Fraction(int(v), 4) for i, v in enumerate(rng.integers(-9, 10, net.outputs))}, Fraction(0)) for _ in range(100)]
        specified = [bounds_of.specify([(row, Fraction(1))]) for row in rows]
        owner = rng.integers(0, len(boxes), len(rows))
        try:
            known = bounds_of.propagate(lower, upper, None)
        except Rejected as trouble:
            assert trouble.code == "number-too-large"
            continue
        for count in (1, 2, 31, 32, 33, 100):
            found = bounds_of.bound(specified[:count], owner[:count], known, lower, upper)
            for k in rng.choice(count, min(count, 8), replace=False).tolist():
                low, high = boxes[owner[k]]
                value = Fraction(found[k]) / bounds_of.unit
                for point in made.points(rng, low, high, 6):
                    compared += 1
                    assert value <= rows[k].value(tuple(point), tuple(made.exact_values(net, point)[-1])), (seed, count)
                alone = bounds_of.bound([specified[k]], np.array([0]), known.take([int(owner[k])]), lower[owner[k]][None], upper[owner[k]][None])
                assert abs(value - Fraction(alone[0]) / bounds_of.unit) <= (1 + abs(value)) / 10**9, (seed, count)
    assert compared > 500


def test_many_rows_over_dead_inputs() -> None:
    """y = relu(x) with one or two dead inputs of three: -y_2 is at least -1, for one row and for many."""
    for lower, upper in (((-2, -3, -1), (-1, -2, 1)), ((-2, 0, -1), (-1, 1, 1)), ((-2, -9, -1), (-1, -8, 1))):
        for layers in ((Relu(3),), (Scale(1, np.zeros(3)), Relu(3)), (Relu(3), Scale(1, np.zeros(3)))):
            relaxation = Relaxation(Network((1, 3), 3, layers), Limits())
            low, high = relaxation.start(Part(tuple(map(Fraction, lower)), tuple(map(Fraction, upper)), ()))
            known = relaxation.propagate(low[None], high[None], None)
            row = relaxation.specify([(Row({}, {2: Fraction(-1)}, Fraction(0)), Fraction(1))])
            for count in (1, 40):
                found = relaxation.bound([row] * count, np.zeros(count, np.int64), known, low[None], high[None])
                assert found.shape == (count,) and found.max() <= -1 and found.min() > -1.1


@pytest.mark.parametrize("arithmetic", ["f64", "int"])
def test_many_rows_of_a_network_whose_last_relu_is_dead(arithmetic: str) -> None:
    """y = relu(x_1 + x_2), 0: the first layer keeps both inputs, though the second output is 0 everywhere."""
    net = Network((1, 2), 2, (Dense(np.array([[1.0, 1.0], [0.0, 0.0]]), np.array([0.0, -1.0])), Relu(2)))
    bounds_of: Any = Relaxation(net, Limits()) if arithmetic == "f64" else FixedPoint(net, Limits(), 60)
    low, high = bounds_of.start(Part((Fraction(0),) * 2, (Fraction(1),) * 2, ()))
    known = bounds_of.propagate(low[None], high[None], None)
    row = bounds_of.specify([(Row({}, {0: Fraction(-1)}, Fraction(0)), Fraction(1))])
    for count in (1, 31, 32, 40):
        found = bounds_of.bound([row] * count, np.zeros(count, np.int64), known, low[None], high[None])
        assert found.shape == (count,) and max(found) <= -2 * bounds_of.unit and min(found) > -2.1 * bounds_of.unit


@pytest.mark.parametrize("size", [0, 100, 200])
@pytest.mark.parametrize("arithmetic", ["f64", "f64 exec32", "int"])
def test_blocks_of_any_size_give_the_same_bounds(arithmetic: str, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of one row or a few give the bounds of one block of all rows: with one box or several, sets of slopes, and split neurons."""
    module = fixed_point if arithmetic == "int" else relaxation
    usual = module._ROW_BYTES
    refined = 0
    for seed in range(12):
        rng = np.random.default_rng([82, seed])
        sizes = (2, 3, 3, 2)
        layers = [Dense(rng.integers(-4, 5, (n, m)) / 4, rng.integers(-4, 5, n) / 4) for m, n in pairwise(sizes)]
        net = Network((1, 2), 2, (layers[0], Relu(3), layers[1], Relu(3), layers[2]))
        slopes = {1: rng.integers(0, 256, (2, 3)), 3: rng.integers(0, 256, (2, 3))}
        bounds_of: Any = (FixedPoint(net, Limits(), 60, slopes) if arithmetic == "int"
                          else Relaxation(net, Limits(), slopes, Rounding(net) if arithmetic == "f64 exec32" else None))
        boxes = [made.box(rng, 2, False) for _ in range(int(rng.integers(1, 4)))]
        ends = [bounds_of.start(Part(tuple(low), tuple(high), ())) for low, high in boxes]
        lower, upper = np.stack([low for low, _ in ends]), np.stack([high for _, high in ends])
        specified = [bounds_of.specify([(Row({0: Fraction(int(v))}, {0: Fraction(1), 1: Fraction(int(v), 2)}, Fraction(1)), Fraction(1))])
                     for v in rng.integers(-3, 4, 7)]
        owner = rng.integers(0, len(boxes), 7)
        picked = rng.integers(-1, 2, len(boxes))
        split = bounds_of.multipliers([(((int(rng.integers(0, 6)), 1),), [float(v)]) for v in rng.integers(0, 3, 7) / 4])
        found = []
        for bytes_of_rows in (usual, size):
            monkeypatch.setattr(module, "_ROW_BYTES", bytes_of_rows)
            known = bounds_of.propagate(lower, upper, None, picked)
            found.append([*known.lower, *known.upper, bounds_of.bound(specified, owner, known, lower, upper, picked[owner], split),
                          bounds_of.bound(specified, owner, known, lower, upper), bounds_of.bound([], owner[:0], known, lower, upper)])
        assert all(a.shape == b.shape and (abs(a - b) <= abs(a) * 1e-12).all() for a, b in zip(*found, strict=True)), seed
        refined += int(((known.lower[3] < 0) & (known.upper[3] > 0)).sum())
    assert refined > 10


@pytest.mark.parametrize("dead", [1, 2])
@pytest.mark.parametrize("case", ["plain", "multipliers", "exec32"])
def test_many_rows_keep_dead_neurons_that_count(case: str, dead: int) -> None:
    """A neuron that is 0 on the box has a coefficient where the region is split on it, and an error in float32."""
    weight = np.zeros((3, 2))
    weight[0] = 1.0
    bias = np.array([-0.5, -1.0, -1.0 if dead == 2 else 1.0])
    net = Network((1, 2), 2, (Dense(weight, bias), Relu(3), Dense(np.array([[0.0, 1.0, 0.0]]), np.zeros(1))))
    bounds_of = Relaxation(net, Limits(), None, Rounding(net) if case == "exec32" else None)
    low, high = bounds_of.start(Part((Fraction(0),) * 2, (Fraction(1),) * 2, ()))
    known = bounds_of.propagate(low[None], high[None], None)
    row = bounds_of.specify([(Row({}, {0: Fraction(1)}, Fraction(0)), Fraction(1))])
    found = []
    for count in (1, 31, 32, 40):
        split = bounds_of.multipliers([(((1, 1),), [0.25])] * count) if case == "multipliers" else None
        found.append(bounds_of.bound([row] * count, np.zeros(count, np.int64), known, low[None], high[None], None, split).tolist())
    assert {value for values in found for value in values} == {found[0][0]}
    assert {"plain": -1e-80, "multipliers": 0.25 - 1e-9, "exec32": -(2.0**-115)}[case] < found[0][0] < {
        "plain": 0, "multipliers": 0.25, "exec32": -(2.0**-125)}[case]


def test_many_rows_keep_what_a_shift_adds_to_a_dead_neuron() -> None:
    """y = relu(x) + (relu(-1) + 5): a shift above a dead ReLU has a value of its own."""
    net = Network((1, 1), 1, (Dense(np.array([[1.0], [0.0]]), np.array([0.0, -1.0])), Relu(2), Scale(1, np.array([0.0, 5.0])),
                              Dense(np.array([[1.0, 1.0]]), np.zeros(1))))
    bounds_of = Relaxation(net, Limits())
    low, high = bounds_of.start(Part((Fraction(0),), (Fraction(1),), ()))
    known = bounds_of.propagate(low[None], high[None], None)
    for sign, wanted in ((1, 5), (-1, -6)):
        row = bounds_of.specify([(Row({}, {0: Fraction(sign)}, Fraction(0)), Fraction(1))])
        for count in (1, 31, 32, 40):
            found = bounds_of.bound([row] * count, np.zeros(count, np.int64), known, low[None], high[None])
            assert wanted - 1e-9 < found.min() and found.max() <= wanted
