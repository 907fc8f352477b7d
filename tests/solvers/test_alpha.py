# SPDX-License-Identifier: Apache-2.0
"""Tuned slopes: gradients against finite differences, bounds below sampled values, evidence that the checker accepts; boxes and balls."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from certify.certificate import Evidence
from certify.limits import Limits
from certify.readers.ball import Ball
from certify.readers.formula import Part, Row
from certify.readers.network import Dense, Network, Relu
from certify.rules.bounds_tree import check
from certify.rules.unsafe_set import BOUNDS_TREE, arithmetic
from certify_solvers.common.prover import Effort
from certify_solvers.crown.alpha import Slopes, Tuner, tune
from certify_solvers.crown.domain import Domain
from certify_solvers.crown.emission import join
from certify_solvers.crown.kernel import forward

NORMS = ("linf", "l2", "l1")
INPUTS, OUTPUTS = 6, 4
Array = np.ndarray[Any, Any]


def network(rng: np.random.Generator, *hidden: int) -> Network:
    """Return a random network with a ReLU behind each hidden layer; weights are float32 numbers."""
    sizes = [INPUTS, *hidden, OUTPUTS]
    layers: list[Dense | Relu] = []
    for k, (n, m) in enumerate(itertools.pairwise(sizes)):
        weight, bias = rng.standard_normal((m, n)) / np.sqrt(n), 0.3 * rng.standard_normal(m)
        layers.append(Dense(weight.astype(np.float32).astype(float), bias.astype(np.float32).astype(float)))
        if k < len(sizes) - 2:
            layers.append(Relu(m))
    return Network((1, INPUTS), INPUTS, tuple(layers))


def part(rng: np.random.Generator, norm: str, radius: Fraction, clip: bool = True) -> Part:
    """Return a region around a random point: box or ball, cut with [-1, 1] where the point is near its ends."""
    centre = [Fraction(int(rng.integers(-10, 11)), 10) for _ in range(INPUTS)]
    weight = [Fraction(1) if norm == "linf" else Fraction(int(rng.integers(1, 5)), 2) for _ in range(INPUTS)]
    low, high = ([c + s * radius / w for c, w in zip(centre, weight, strict=True)] for s in (-1, 1))
    if clip:
        low, high = [max(v, Fraction(-1)) for v in low], [min(v, Fraction(1)) for v in high]
    ball = None if norm == "linf" else Ball("l2" if norm == "l2" else "l1", tuple(centre), tuple(weight), radius)
    one = Fraction(1)
    rows = tuple((Row({}, {0: one, other: -one}, Fraction(0)),) for other in range(1, OUTPUTS))
    return Part(tuple(low), tuple(high), rows, ball=ball)


def conjuncts() -> list[tuple[Array, Array, Array]]:
    """Return the rows of `part` as arrays."""
    eye = np.eye(OUTPUTS)
    return [(np.zeros((1, INPUTS)), (eye[0] - eye[k])[None], np.zeros(1)) for k in range(1, OUTPUTS)]


def samples(rng: np.random.Generator, domain: Domain, count: int) -> Array:
    """Return points of a region: inside, corners, and beyond, brought back."""
    width = domain.upper - domain.lower
    inner = domain.lower + rng.random((count, INPUTS)) * width
    corners = np.where(rng.random((count, INPUTS)) < 0.5, domain.lower, domain.upper)
    return domain.project(np.vstack([inner, corners, inner + width * rng.standard_normal((count, INPUTS))]))


@pytest.mark.parametrize("norm", NORMS)
def test_points_of_a_region_are_in_it_and_forms_are_not_below_their_least(norm: str) -> None:
    rng = np.random.default_rng(61)
    tight = 0
    for _ in range(60):
        region = part(rng, norm, Fraction(int(rng.integers(1, 30)), 20), bool(rng.random() < 0.6))
        domain = Domain(region)
        points = samples(rng, domain, 20)
        for point in points:
            assert region.holds_input(tuple(min(max(Fraction(v), a), b) for v, a, b in zip(point.tolist(), region.lower, region.upper, strict=True)))
        rows = rng.standard_normal((5, INPUTS)) * (rng.random((5, INPUTS)) < 0.8)
        least, where = domain.least(rows)
        values = rows @ points.T
        assert (values >= least[:, None] - 1e-9).all()
        reached = (rows * where).sum(axis=1)
        assert np.allclose(reached, least, atol=1e-9)  # the bound is the value at the point that goes with it
        best = (rows @ domain.project(where).T).diagonal()
        tight += int((best <= least + 1e-4 * (1 + np.abs(least))).sum())
        moved = domain.project(points + 0.1 * domain.direction(np.tile(rows[:1], (len(points), 1))))
        assert (moved @ rows[0]).mean() >= (points @ rows[0]).mean() - 1e-9  # a step along `direction` rises
    assert tight > 100


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize(("hidden", "splits"), [((7, 6), 0), ((7, 6, 5), 0), ((7, 6, 5), 3)])
def test_gradients_are_those_of_finite_differences(norm: str, hidden: tuple[int, ...], splits: int) -> None:
    rng = np.random.default_rng(62)
    seen = wrong = runs = 0
    while runs < 6:
        net, neurons = network(rng, *hidden), rng.choice(sum(hidden), splits, replace=False)
        tuner = Tuner(net, Domain(part(rng, norm, Fraction(1, 2))), tuple((int(n), int(rng.choice([-1, 1]))) for n in neurons))
        outputs, weight = np.concatenate([rows for _, rows, _ in conjuncts()]), rng.random(OUTPUTS - 1)
        node = {j: np.clip(a + 0.4 * (rng.random(a.shape) - 0.5), 0.01, 0.99) for j, a in tuner.default(tuner.propagate(None)).items()}
        leaf: Slopes = {j: rng.random((OUTPUTS - 1, net.layers[j].size)) for j in tuner.activations}
        beta: Slopes = {j: rng.random((OUTPUTS - 1, tuner.split[j].size)) for j in tuner.activations if tuner.split[j].size}

        def value(node: Slopes, leaf: Slopes, beta: Slopes, tuner: Tuner = tuner, outputs: Array = outputs, weight: Array = weight) -> float:
            trace = tuner.propagate(node)
            constant = np.zeros(len(outputs))
            return float(weight @ tuner.backward(outputs, constant, len(tuner.network.layers), trace, leaf, None, beta).bound)

        trace = tuner.propagate(node)
        if any((low > high).any() for low, high in zip(trace.low, trace.high, strict=True)) or _intervals_win(tuner, trace):
            continue  # no points are left; or bounds come from intervals, through which the gradient does not go
        runs += 1
        passed = tuner.backward(outputs, np.zeros(len(outputs)), len(net.layers), trace, leaf, None, beta)
        by_leaf, by_low, by_high, by_beta = tuner.gradients(passed, weight, trace, leaf)
        by_node = tuner.shared(trace, node, by_low, by_high)
        for index, (slopes, found) in enumerate(((node, by_node), (leaf, by_leaf), (beta, by_beta))):
            for j in slopes:
                for place in list(np.ndindex(slopes[j].shape))[:12]:
                    ends = []
                    for step in (1e-6, -1e-6):
                        moved = [dict(one) for one in (node, leaf, beta)]
                        moved[index][j] = slopes[j].copy()
                        moved[index][j][place] += step
                        ends.append(value(*moved))
                    slope = (ends[0] - ends[1]) / 2e-6
                    seen += abs(slope) > 1e-6
                    wrong += abs(slope - found[j][place]) > 1e-4 * (1 + abs(slope))
    assert seen > 40 and wrong == 0


def _intervals_win(tuner: Tuner, trace: Any) -> bool:
    """Return whether some bound of a ReLU's input comes from intervals and not from a backward pass, or from the sign of a split."""
    return any((below.bound < trace.low[j][neurons]).any() or (-above.bound > trace.high[j][neurons]).any()
               for j, (neurons, below, above) in trace.passes.items())


@pytest.mark.parametrize("norm", NORMS)
def test_tuned_bounds_are_below_the_network_and_not_below_the_default_ones(norm: str) -> None:
    rng = np.random.default_rng(63)
    better = 0
    for _ in range(15):
        net, domain = network(rng, 7, 6), Domain(part(rng, norm, Fraction(int(rng.integers(2, 20)), 20)))
        plain, tuned = tune(net, domain, conjuncts(), Effort(), 1), tune(net, domain, conjuncts(), Effort())
        assert plain is not None and tuned is not None
        values = forward(net, samples(rng, domain, 100))[-1]
        for k, (margin, first) in enumerate(zip(tuned.margins, plain.margins, strict=True)):
            least = (values[:, 0] - values[:, k + 1]).min()
            assert margin <= least + 1e-9 and first <= least + 1e-9
        if not tuned.closed:
            assert tuned.margins.min() >= plain.margins.min() - 1e-9
            better += bool(tuned.margins.min() > plain.margins.min() + 1e-3)
        else:
            assert tuned.margins.min() > 0
            better += not plain.closed
    assert better >= 3


@pytest.mark.parametrize("norm", NORMS)
def test_evidence_that_looks_closed_is_accepted(norm: str) -> None:
    rng = np.random.default_rng(64)
    accepted = 0
    for _ in range(40):
        net, region = network(rng, 7, 6), part(rng, norm, Fraction(int(rng.integers(2, 12)), 20))
        plain = tune(net, Domain(region), conjuncts(), Effort(), 1)
        last = net.layers[-1]
        assert plain is not None and isinstance(last, Dense)
        lift = np.float32(-plain.margins.min() - 0.03)  # then the default slopes fall short by a little
        net = Network(net.input_shape, net.inputs, (*net.layers[:-1], Dense(last.weight, last.bias + np.eye(OUTPUTS)[0] * float(lift))))
        plain, tuned = tune(net, Domain(region), conjuncts(), Effort(), 1), tune(net, Domain(region), conjuncts(), Effort())
        if tuned is None or plain is None or plain.closed or not tuned.closed:
            continue
        arrays = join([(tuned.arrays(), OUTPUTS - 1)], INPUTS)
        for items in ({"arithmetic": "f64-gamma"}, {"arithmetic": "exact-int", "fraction_bits": 80}):
            made = Evidence(BOUNDS_TREE.kind, 1, items, arrays)
            figures = check(arithmetic(net, "real", made, Limits()), [region], arrays, Limits())
            assert 0 < figures.smallest_margin and float(tuned.margins.min()) < figures.smallest_margin + 1e-4
        accepted += 1
    assert accepted >= 5


def test_nothing_to_tune() -> None:
    rng = np.random.default_rng(65)
    net, domain = network(rng), Domain(part(rng, "linf", Fraction(1, 2)))
    assert tune(net, domain, conjuncts(), Effort()) is None
    plain = tune(net, domain, conjuncts(), Effort(), 1)
    assert plain is not None and np.isfinite(plain.margins).all()


def test_no_time_is_no_error() -> None:
    rng = np.random.default_rng(66)
    net, domain = network(rng, 7, 6), Domain(part(rng, "l2", Fraction(1)))
    found = tune(net, domain, conjuncts(), Effort(seconds=1e-9))
    assert found is not None and found.leaf.dtype == np.uint8
