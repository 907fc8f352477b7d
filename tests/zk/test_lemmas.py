# SPDX-License-Identifier: Apache-2.0
"""The inequalities of the certificate, by brute force: whatever a prover chooses, bounds and rows hold at every point, in exact rationals."""

from __future__ import annotations

from fractions import Fraction
from math import isqrt

import numpy as np
import pytest

from certify_zk.evaluation import violations
from certify_zk.policy import Dense, InputMap, Policy
from certify_zk.statement import Ball, Rows, Score, Statement
from certify_zk.values import Value
from certify_zk.witness import Choices, Integers, Model, Unknown, Witness, witness
from zk.tiny import LOW, Erratic, points, specimen, values


def read(found: Witness, name: str) -> list[int]:
    """Return the integers of a value from its cells."""
    value: Value = found.circuit.values[name]
    total: Integers = -value.offset + sum(found.tables[limb].astype(np.int64) << (16 * i) for i, (limb, _) in enumerate(value.limbs))
    return [int(v) for v in total[: value.dimensions[0]]]


def worst_slack(rng: np.random.Generator, policy: Policy, model: Model, statement: Statement, found: Witness) -> Fraction:
    """Return the least distance of a bound from what it bounds, over layers, rows and points."""
    least, unit = Fraction(1 << 60), Fraction(1, 1 << policy.bias_scale)
    for index, region in enumerate(statement.regions):
        bounds = [[[unit * v for v in read(found, f"region{index}.layer{k}.{name}")] for name in ("lower", "upper")] for k in range(1, policy.depth)]
        for x in points(rng, policy, region, 4):
            *hidden, outputs = values(policy, model, x)
            for z, (lower, upper) in zip(hidden, bounds, strict=True):
                least = min([least, *(v - low for v, low in zip(z, lower, strict=True)), *(high - v for v, high in zip(z, upper, strict=True))])
            if isinstance(statement.asked, Score):
                rows = [[sign * (o == statement.asked.output) for o in range(len(outputs))] for sign in (1, -1)]
                ends = unit * read(found, "least")[0], unit * read(found, "most")[0]
                least = min(least, outputs[statement.asked.output] - ends[0], ends[1] - outputs[statement.asked.output])
            else:
                rows = [list(row) for row in statement.asked.coefficients]
            for row, margin in zip(rows, found.margins[index], strict=True):
                least = min(least, sum((c * v for c, v in zip(row, outputs, strict=True)), Fraction(0)) - margin)
    return least


def run(seed: int, count: int, erratic: bool) -> tuple[int, int, int]:
    """Return how many random problems were bounded, how many of them were tight within 1/8, and how many had no witness."""
    rng, bounded, tight, without = np.random.default_rng(seed), 0, 0, 0
    for _ in range(count):
        policy, model, statement = specimen(rng)
        found = witness(policy, model, statement, Erratic(rng) if erratic else Choices())
        if isinstance(found, Unknown):
            without += 1
            continue
        assert violations(policy, statement, found.circuit, found.tables) == ()
        slack = worst_slack(rng, policy, model, statement, found)
        assert slack >= 0
        bounded, tight = bounded + 1, tight + (slack < Fraction(1, 8))
    return bounded, tight, without


@pytest.mark.parametrize("erratic", [False, True])
def test_bounds_and_rows_hold_at_every_point(erratic: bool) -> None:
    bounded, tight, without = run(3 + erratic, 150, erratic)
    assert bounded > 120 and tight > bounded // 3 and bounded + without == 150


@pytest.mark.slow
@pytest.mark.parametrize("erratic", [False, True])
def test_bounds_and_rows_of_many_networks_hold(erratic: bool) -> None:
    bounded, *_ = run(5 + erratic, 6000, erratic)
    assert bounded > 4800


def test_bounds_over_balls_are_the_least_values_but_for_the_rounding_of_the_norm() -> None:
    """Without floors, rows of a linear network reach their bounds at one end of the ball, and would pass them with a root that is less by one."""
    rng, too_low = np.random.default_rng(9), 0
    policy = Policy((Dense(4, 3),), ("crown",), ((),), InputMap.uniform(0, 1, 0, 4), total_scale=32)
    for _ in range(60):
        model = Model((rng.integers(-40000, 40001, (3, 4)),), (rng.integers(-9, 10, 3),))
        centre, radius = rng.integers(5000, 9000, 4), int(rng.integers(1, 5000))
        found = witness(policy, model, Statement((Ball(tuple(centre.tolist()), radius),), Rows(((1, 0, 0), (0, 1, 0)), (LOW, LOW))))
        assert isinstance(found, Witness)
        for row in (0, 1):
            h = [int(v) for v in model.weights[0][row]]
            root = Fraction(isqrt(sum(v * v for v in h) << 80), 1 << 40)  # a little less than the norm
            x = [c - (radius - Fraction(1, 1 << 30)) * v / root for c, v in zip(centre.tolist(), h, strict=True)]
            assert sum((v - c) ** 2 for v, c in zip(x, centre.tolist(), strict=True)) <= radius**2 and min(x) >= 0
            value = values(policy, model, [v / 4096 for v in x])[0][row]
            unit = Fraction(radius, 1 << 28)  # of the norm, times the radius
            assert found.margins[0][row] <= value <= found.margins[0][row] + unit + Fraction(1, 1 << 28)
            too_low += value < found.margins[0][row] + unit
    assert too_low > 100


def test_margins_are_what_is_claimed() -> None:
    rng, asked = np.random.default_rng(8), 0
    while asked < 30:
        policy, model, statement = specimen(rng)
        if not isinstance(statement.asked, Rows):
            continue
        found = witness(policy, model, statement)
        if isinstance(found, Unknown):
            continue
        least = [int(min(margin[i] for margin in found.margins) * (1 << policy.total_scale)) for i in range(len(statement.asked.thresholds))]
        for more, kind in ((0, Witness), (1, Unknown)):
            again = witness(policy, model, Statement(statement.regions, Rows(statement.asked.coefficients, (*least[:-1], least[-1] + more))))
            assert isinstance(again, kind)
            assert again.margins == found.margins
        asked += 1
