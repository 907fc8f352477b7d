# SPDX-License-Identifier: Apache-2.0
"""Splits on the signs of neurons: bounds hold at every point, and every float32 execution, with these signs; no other region is called empty."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import float32_runs as runs
import random_networks as made
from certify.errors import CertifyError
from certify.limits import Limits
from certify.readers.formula import Part, Row
from certify.readers.network import Dense, Network, Relu
from certify.rules import bounds_tree, neuron_splits
from certify.rules.fixed_point import FixedPoint
from certify.rules.float32 import Rounding
from certify.rules.relaxation import Relaxation
from rules import bounding
from toolkit import refused


def _run(seeds: range) -> Counter[str]:
    counts: Counter[str] = Counter()
    for seed in seeds:
        rng = np.random.default_rng([77, seed])
        p = bounding.problem(rng, bool(rng.random() < 0.3), [None, "l2", "l1"][seed % 3])
        net = p.network
        first, total = {}, 0
        for k in net.activations:
            first[k], total = total, total + net.layers[k].size
        if not total:
            continue
        path = tuple((int(rng.integers(total)), int(rng.choice([-1, 1]))) for _ in range(int(rng.integers(1, 4))))
        betas = [float(rng.choice([0, 1e-300, 0.3, 1, 5, 1e-9])) for _ in path]
        for name in ("f64", "int", "f64 exec32", "int exec32"):
            rounding: Any = Rounding if "exec32" in name else None
            arithmetic = (bounding.f64(rounding) if name.startswith("f64") else bounding.integers(int(rng.choice([16, 60])), rounding))(p)
            low, high = arithmetic.start(p.part)
            chosen = None if p.slopes is None else np.array([p.chosen])
            signs = neuron_splits.signs(net, [path])
            try:
                with np.errstate(all="ignore"):
                    bounds = arithmetic.propagate(low[None], high[None], None, chosen, signs if rng.random() < 0.5 else None)
                    bounds, empty = neuron_splits.clamped(bounds, signs)
                    found = arithmetic.bound([arithmetic.specify([(p.row, Fraction(1))])], np.array([0]), bounds, low[None], high[None], chosen,
                                             arithmetic.multipliers([(path, betas)]))[0]
            except CertifyError as trouble:
                assert trouble.code in ("exec32-overflow", "number-too-large")
                continue
            if isinstance(found, float | np.floating) and not np.isfinite(found):
                continue
            answer = bounding.Answer([[Fraction(v) / arithmetic.unit for v in level[0].tolist()] for level in bounds.lower],
                                     [[Fraction(v) / arithmetic.unit for v in level[0].tolist()] for level in bounds.upper],
                                     Fraction(found) / arithmetic.unit, None)
            for x in bounding.points(rng, p, None, 8):
                values = made.exact_values(net, x)
                if rounding:
                    values = [[runs.real(v) for v in level] for level in runs.execute(net, runs.inputs(rng, x), runs.machine(rng))]
                at = [max(k for k in first if first[k] <= neuron) for neuron, _ in path]
                if all(sign * values[k][neuron - first[k]] >= 0 for k, (neuron, sign) in zip(at, path, strict=True)):
                    counts["inside"] += 1
                    assert not empty[0] and bounding.violations(p, answer, x, values) == 0, (seed, name)
                else:
                    counts["outside"] += 1
    return counts


@pytest.mark.parametrize("block", range(10))
def test_no_value_with_these_signs_leaves_its_bounds(block: int) -> None:
    counts = _run(range(15 * block, 15 * block + 15))
    assert counts["inside"] > 50 and counts["outside"] > 50


@pytest.mark.slow
@pytest.mark.parametrize("block", range(10))
def test_no_value_with_these_signs_leaves_its_bounds_in_long_runs(block: int) -> None:
    assert _run(range(1000 + 500 * block, 1500 + 500 * block))["inside"] > 3000


def _check(network: Network, row: Row, arrays: dict[str, Any], arithmetic: str) -> bounds_tree.Figures:
    limits = Limits()
    part = Part((Fraction(-1),) * network.inputs, (Fraction(1),) * network.inputs, ((row,),))
    return bounds_tree.check(Relaxation(network, limits) if arithmetic == "f64" else FixedPoint(network, limits, 60), [part], arrays, limits)


@pytest.mark.parametrize("arithmetic", ["f64", "int"])
def test_signs_and_multipliers_close_what_is_open(arithmetic: str) -> None:
    """relu(x) - x/2 is x/2 where x >= 0 and -x/2 where x <= 0, over the whole box -1/2: the multiplier 1/2 carries the sign to the input."""
    net = Network((1, 1), 1, (Relu(1),))
    row = Row({0: Fraction(-1, 2)}, {0: Fraction(1)}, Fraction(1, 100))
    split = {"tree": np.array([1, -1, -2], "<i4")}
    refused("leaf-uncovered", _check, net, row, {"tree": np.array([-1], "<i4")}, arithmetic)
    refused("leaf-uncovered", _check, net, row, split, arithmetic)
    assert abs(_check(net, row, {**split, "beta": np.array([0.5, 0.5])}, arithmetic).smallest_margin - 0.01) < 1e-9
    for beta in ([0.5, 0.25], [0.25, 0.5], [0.75, 0.5], [0.5, 0.0]):
        refused("leaf-uncovered", _check, net, row, {**split, "beta": np.array(beta)}, arithmetic)
    # the same neuron twice: both multipliers count on the side where the signs agree, and the other side is empty but for 0
    twice = {"tree": np.array([1, 1, -1, -2, -3], "<i4")}
    _check(net, row, {**twice, "beta": np.array([0.25, 0.25, 0.5, 0.0, 0.5])}, arithmetic)
    refused("leaf-uncovered", _check, net, row, {**twice, "beta": np.array([0.25, 0.0, 0.5, 0.0, 0.5])}, arithmetic)


@pytest.mark.parametrize("arithmetic", ["f64", "int"])
def test_a_leaf_without_signs_beside_leaves_with_them(arithmetic: str) -> None:
    net = Network((1, 1), 1, (Relu(1),))
    row = Row({0: Fraction(-1, 2)}, {0: Fraction(1)}, Fraction(1, 100))
    for tree, theta in (([0, -1, 1, -2, -3], 0.5), ([0, 1, -1, -2, -3], -0.5)):
        mixed = {"tree": np.array(tree, "<i4"), "split_at": np.array([theta]), "beta": np.array([0.5, 0.5]),
                 "recompute": np.array([1, 0, 0, 0, 1], "|u1")}
        assert abs(_check(net, row, mixed, arithmetic).smallest_margin - 0.01) < 1e-9


@pytest.mark.parametrize("arithmetic", ["f64", "int"])
def test_a_region_without_points_closes_anything_and_no_other_does(arithmetic: str) -> None:
    """z and -z can't both be above 0, but they meet at 0: bounds of [0, 0] are not empty."""
    net = Network((1, 1), 1, (Dense(np.array([[1.0], [1.0]]), np.array([0.0, -3.0])), Relu(2), Dense(np.array([[1.0, 1.0]]), np.zeros(1))))
    never = Row({}, {0: Fraction(1)}, Fraction(-9))  # y > 9 is false everywhere
    refused("leaf-uncovered", _check, net, never, {"tree": np.array([2, -1, -2], "<i4")}, arithmetic)  # x - 3 <= 0 has points
    try:
        _check(net, never, {"tree": np.array([2, -1, 1, -2, -3], "<i4")}, arithmetic)
    except CertifyError as trouble:
        assert trouble.where == "leaf 1"  # the side x - 3 >= 0 was closed: it has no point
    else:
        raise AssertionError("accepted")
