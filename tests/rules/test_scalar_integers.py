# SPDX-License-Identifier: Apache-2.0
"""exact-int gives the same integers as its rules, written out for one box and one row: whatever the batch, the splits, the ball or the slopes."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import random_networks as made
from certify.errors import CertifyError
from certify.limits import Limits
from certify.readers.ball import Ball
from certify.readers.formula import Part, Row
from certify.readers.network import Network
from certify.rules import fixed_point, neuron_splits
from certify.rules.fixed_point import FixedPoint
from certify.rules.float32 import Rounding
from certify.rules.slopes import slope_sets
from rules.scalar_integers import ScalarIntegers


def _part(rng: np.random.Generator, net: Network, wild: bool) -> Part:
    lower, upper = made.box(rng, net.inputs, wild)
    if rng.random() < 0.4:  # whole numbers lose nothing
        lower, upper = [Fraction(int(v)) for v in lower], [Fraction(int(v) + int(rng.integers(0, 3))) for v in upper]
        upper = [max(a, b) for a, b in zip(lower, upper, strict=True)]
    if rng.random() < 0.2:  # a few units of 2^-16, so that whole sums are of a unit or two
        lower, upper = ([v * Fraction(3, 1 << 16) for v in ends] for ends in (lower, upper))
    ball = None
    if rng.random() < 0.5:
        centre = tuple(a + (b - a) * Fraction(int(rng.integers(0, 5)), int(rng.choice([4, 7]))) for a, b in zip(lower, upper, strict=True))
        weight = tuple(Fraction(int(rng.integers(1, 9)), int(rng.integers(1, 9))) for _ in centre)
        ball = Ball("l2" if rng.random() < 0.5 else "l1", centre, weight, Fraction(int(rng.integers(1, 60)), int(rng.choice([8, 30]))))
    return Part(tuple(lower), tuple(upper), (), ball=ball)


def _rows(rng: np.random.Generator, net: Network) -> list[tuple[Row, Fraction]]:
    def one() -> Row:
        below = int(rng.choice([1, 4, 7]))
        inputs = {i: Fraction(int(v), below) for i, v in enumerate(rng.integers(-3, 4, net.inputs)) if v} if rng.random() < 0.4 else {}
        return Row(inputs, {i: Fraction(int(v), below) for i, v in enumerate(rng.integers(-9, 10, net.outputs)) if v}, 
                   Fraction(int(rng.integers(-9, 9)), 3))
    return [(one(), Fraction(float(rng.choice([1.0, 0.25, 0.3])))) for _ in range(int(rng.integers(1, 3)))]


def _split(rng: np.random.Generator, low: Any, high: Any, arithmetic: FixedPoint) -> tuple[Any, Any]:
    """Return one half of a box, cut at a number that may be no multiple of the unit."""
    item = int(rng.integers(len(low)))
    ends = arithmetic.cut(low[item], high[item], float(Fraction(int(low[item] + high[item]), 2 * arithmetic.unit)) + float(rng.choice([0.0, 1e-9])))
    low, high = low.copy(), high.copy()
    if ends is not None:
        if rng.random() < 0.5:
            low[item] = ends[0]
        else:
            high[item] = ends[1]
    return low, high


def _compare(seed: int, monkeypatch: pytest.MonkeyPatch) -> int:
    rng = np.random.default_rng([94, seed])
    monkeypatch.setattr(fixed_point, "_ROW_BYTES", int(rng.choice([100, 2000, 64 << 20])))
    wild, executions = bool(rng.random() < 0.4), bool(rng.random() < 0.4)
    net = made.network(rng, wild)
    net = made.with_gemm(rng, net) if executions and rng.random() < 0.5 else net
    part, bits = _part(rng, net, wild), int(rng.choice([16, 17, 24, 60, 130]))
    neurons = sum(net.layers[k].size for k in net.activations)
    sets = rng.integers(0, 256, (2, neurons)).astype(np.uint8) if neurons and rng.random() < 0.6 else None
    slopes = None if sets is None else slope_sets(net, sets, Limits())
    limits = Limits()
    try:
        arithmetic = FixedPoint(net, limits, bits, slopes, Rounding(net) if executions else None)
        scalar = ScalarIntegers(net, part, bits, executions)
    except CertifyError:
        return 0
    low, high = arithmetic.start(part)
    assert low.tolist() == scalar.lower and high.tolist() == scalar.upper
    boxes = int(rng.integers(1, 4))
    ends = [(low, high), *(_split(rng, low, high, arithmetic) for _ in range(boxes - 1))]
    lower, upper = np.stack([a for a, _ in ends]), np.stack([b for _, b in ends])
    chosen = rng.integers(-1, 2, boxes) if sets is not None else np.full(boxes, -1)
    paths = [tuple((int(rng.integers(neurons)), int(rng.choice([1, -1]))) for _ in range(int(rng.integers(0, 3)) if neurons else 0))
             for _ in range(boxes)]
    signs = neuron_splits.signs(net, paths) if any(paths) else None

    def of(box: int, which: Any) -> Any:
        return None if which < 0 or slopes is None else {k: values[which].tolist() for k, values in slopes.items()}

    try:
        whole = arithmetic.propagate(low[None], high[None], None)
        inherited = whole.take([0] * boxes) if rng.random() < 0.5 else None
        bounds = arithmetic.propagate(lower, upper, inherited, chosen if sets is not None else None, signs)
    except CertifyError as trouble:
        assert trouble.code in ("number-too-large", "exec32-overflow")
        return 0
    everything = ([level[0].tolist() for level in whole.lower], [level[0].tolist() for level in whole.upper])
    assert everything == scalar.propagate(None, None, None, scalar.lower, scalar.upper)
    for box in range(boxes):
        found = ([level[box].tolist() for level in bounds.lower], [level[box].tolist() for level in bounds.upper])
        mine = None if signs is None else {k: values[box].tolist() for k, values in signs.items()}
        assert found == scalar.propagate(everything if inherited is not None else None, of(box, chosen[box]), mine, lower[box].tolist(),
                                         upper[box].tolist()), (seed, box)
    count = int(rng.choice([1, 5, 40]))
    rows, owner = [_rows(rng, net) for _ in range(count)], rng.integers(0, boxes, count)
    picked = rng.integers(-1, 2, count) if sets is not None else np.full(count, -1)
    betas = [[float(rng.choice([0, 0.3, 1, 1e-9])) for _ in paths[box]] for box in owner]
    multipliers = arithmetic.multipliers([(paths[box], beta) for box, beta in zip(owner, betas, strict=True)]) if signs is not None else None
    try:
        found = arithmetic.bound([arithmetic.specify(row) for row in rows], owner, bounds, lower, upper, picked if sets is not None else None,
                                 multipliers)
    except CertifyError as trouble:
        assert trouble.code == "number-too-large"
        return 0
    for k, box in enumerate(owner.tolist()):
        lows, highs = [level[box].tolist() for level in bounds.lower], [level[box].tolist() for level in bounds.upper]
        if any(a > b for ends in zip(lows, highs, strict=True) for a, b in zip(*ends, strict=True)):
            continue  # signs that no point has: any bound is right, and batches give others than single rows
        if any(a == b == 0 for ends in zip(lows, highs, strict=True) for a, b in zip(*ends, strict=True)):
            continue  # an input of a ReLU that is 0 everywhere: large batches leave its coefficient out, others keep it
        own = None if multipliers is None else {j: values[k].tolist() for j, values in multipliers.items()}
        assert found[k] == scalar.bound(rows[k], lows, highs, lower[box].tolist(), upper[box].tolist(), of(box, picked[k]), own), (seed, k)
    for k, (path, beta) in enumerate(zip([paths[box] for box in owner], betas, strict=True)):
        if multipliers is not None:
            told = [0] * neurons
            for (neuron, sign), value in zip(path, beta, strict=True):
                told[neuron] += sign * (Fraction(value) * arithmetic.unit).__floor__()
            assert [v for layer in net.activations for v in multipliers[layer][k].tolist()] == told
    return count


@pytest.mark.parametrize("block", range(12))
def test_integers_are_those_of_the_rules(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    compared = sum(_compare(seed, monkeypatch) for seed in range(25 * block, 25 * block + 25))
    assert compared > 60
