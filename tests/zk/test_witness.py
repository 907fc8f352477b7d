# SPDX-License-Identifier: Apache-2.0
"""Witnesses: what does not fit is named and never clipped; tau fitted to examples leaves room for others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from certify.errors import Declined
from certify_zk.calibration import calibrate, fitted
from certify_zk.evaluation import public_tables, violations
from certify_zk.policy import Dense, InputMap, Policy
from certify_zk.statement import Box, Rows, Score, Statement, robust
from certify_zk.witness import Model, Unknown, Witness, quantised, witness

SIZES = (5, 16, 16, 3)
BARE = Policy(tuple(Dense(a, b) for a, b in pairwise(SIZES)), ("crown",) * 3, ((),) * 3, InputMap.uniform(0, 1, 0, 1))


def network() -> Model:
    """Return a random network."""
    rng = np.random.default_rng(2)
    return quantised([rng.normal(0, 0.5, (b, a)) for a, b in pairwise(SIZES)], [rng.normal(0, 0.1, b) for b in SIZES[1:]], BARE)


def box(rng: np.random.Generator, eps: int) -> Box:
    """Return a box around a random point."""
    x = rng.integers(0, 4097, SIZES[0])
    lower, upper = np.maximum(x - eps, 0), np.minimum(x + eps, 4096)
    return Box(tuple(lower.tolist()), tuple((upper - lower).tolist()))


def examples(seed: int, count: int, eps: int = 200) -> list[Statement]:
    """Return robustness around random points, for margins that always hold."""
    rng = np.random.default_rng(seed)
    return [robust((box(rng, eps),), 3, int(rng.integers(3)), -(1 << 40)) for _ in range(count)]


def test_calibration_leaves_room_for_other_inputs() -> None:
    model, some = network(), examples(3, 12)
    tight, roomy = calibrate(BARE, model, some, 0), calibrate(BARE, model, some)
    assert all(b == a + 2 or m > 1 for m in range(3) for a, b in zip(tight.tau[m][:1], roomy.tau[m][:1], strict=True))
    limbs = []
    for statement in some:
        found = witness(tight, model, statement)
        assert isinstance(found, Witness)
        assert isinstance(witness(roomy, model, statement), Witness)
        limbs.append({name: int(table.max()) for name, table in found.tables.items() if ".step" in name and name.endswith(("plus.0", "minus.0"))})
    steps = {name.rsplit(".", 2)[0] for name in limbs[0]}
    for step in steps:  # the largest coefficient over all examples has the top bit of its limb
        assert max(value for seen in limbs for name, value in seen.items() if name.startswith(step)) >= 1 << 15
    fitted = [isinstance(witness(roomy, model, statement), Witness) for statement in examples(4, 40, 400)]
    assert all(fitted)


def test_tau_that_is_less_than_needed_is_told() -> None:
    model, some = network(), examples(3, 4)
    policy = calibrate(BARE, model, some, 0)
    less = replace(policy, tau=(*policy.tau[:2], (policy.tau[2][0] - 1, policy.tau[2][1])))
    found = [witness(less, model, statement) for statement in some]
    told = [why for why in found if isinstance(why, Unknown)]
    assert told and all(why.quantity in ("region0.pass3.step2.plus", "region0.pass3.step2.minus") and "65535" in why.why for why in told)


def test_slopes_and_biases_are_as_wide_as_the_widths_allow(monkeypatch: pytest.MonkeyPatch) -> None:
    model, some = network(), examples(3, 4)
    assert fitted(BARE, model, some) == calibrate(BARE, model, some)
    tried: list[tuple[int, int]] = []

    def taken(policy: Policy, statement: Statement) -> None:
        tried.append((policy.slope_bits, policy.bias_bits))
        if policy.slope_bits + policy.bias_bits > 32:
            raise Declined("commitment-width", "too wide")
    monkeypatch.setattr("certify_zk.calibration.circuit", taken)
    found = fitted(BARE, model, some)
    needed = max(1 + int(abs(bias).max()).bit_length() for bias in model.biases)
    widest = [bits for bits in range(24, needed - 1, -2)]
    expected = next((slope, bias) for slope in range(12, 7, -1) for bias in widest if slope + bias <= 32)
    assert (found.slope_bits, found.bias_bits) == expected == tried[-1]
    assert found.tau == calibrate(replace(BARE, slope_bits=expected[0]), model, some).tau
    monkeypatch.setattr("certify_zk.calibration.circuit", lambda policy, statement: taken(replace(policy, bias_bits=40), statement))
    with pytest.raises(Declined, match="too wide"):
        fitted(BARE, model, some)


def test_calibration_needs_an_example() -> None:
    with pytest.raises(ValueError, match="needs an example"):
        calibrate(BARE, network(), [])
    one = Policy((Dense(2, 2),), ("crown",), ((),))
    assert calibrate(one, Model((np.eye(2, dtype=np.int64),), (np.zeros(2, np.int64),)), []) == one


@pytest.mark.parametrize(("fields", "model", "quantity"), [
    ({}, lambda m: Model((np.where(m.weights[0] == m.weights[0].max(), 65536, m.weights[0]), *m.weights[1:]), m.biases), "weight1.plus"),
    ({}, lambda m: Model(m.weights, (*m.biases[:2], m.biases[2] - (1 << 24))), "bias3"),
    ({"bound_bits": 12}, lambda m: m, "region0.layer1."),
    ({"intercept_bits": 8}, lambda m: m, "region0.layer1.intercept"),
    ({}, lambda m: Model((*m.weights[:2], m.weights[2] + np.array([[40000], [-40000], [0]])), m.biases), "region0.pass3."),
])
def test_what_does_not_fit_is_named(fields: Mapping[str, Any], model: Any, quantity: str) -> None:
    honest = network()
    policy = replace(calibrate(BARE, honest, examples(3, 4)), **fields)
    found = witness(policy, model(honest), robust((box(np.random.default_rng(3), 900),), 3, 0, -(1 << 40)))
    assert isinstance(found, Unknown) and found.quantity.startswith(quantity) and found.quantity in found.why


def test_margins_that_are_missed_are_told() -> None:
    model = network()
    statement = examples(3, 1)[0]
    policy = calibrate(BARE, model, [statement])
    found = witness(policy, model, statement)
    assert isinstance(found, Witness) and isinstance(statement.asked, Rows)
    worst = min(found.margins[0])
    asked = int(worst * (1 << 16)) + 1
    missed = witness(policy, model, Statement(statement.regions, Rows(statement.asked.coefficients, (asked,) * 2)))
    assert isinstance(missed, Unknown) and missed.quantity == "region0.pass3.slack" and min(missed.margins[0]) == worst


def test_scores_have_a_least_gap() -> None:
    model, rng = network(), np.random.default_rng(6)
    regions = (box(rng, 100), box(rng, 100))
    policy = calibrate(BARE, model, examples(3, 6))
    wide = witness(policy, model, Statement(regions, Score(1, 1 << 20)))
    assert isinstance(wide, Witness)
    low, high = min(margins[0] for margins in wide.margins), max(-margins[1] for margins in wide.margins)
    gap = -((-high * 4096) // 1) - (low * 4096) // 1
    assert isinstance(witness(policy, model, Statement(regions, Score(1, int(gap)))), Witness)
    assert isinstance(witness(policy, model, Statement(regions, Score(1, int(gap) - 1))), Unknown)
    assert Fraction(0) < high - low


def test_an_inner_value_that_is_missing_is_an_error() -> None:
    model, statement = network(), examples(3, 1)[0]
    policy = calibrate(BARE, model, [statement])
    found = witness(policy, model, statement)
    assert isinstance(found, Witness)
    for name in ("weight1.plus.0", "region0.pass3.c3"):
        for tables in ({key: value for key, value in found.tables.items() if key != name}, {**found.tables, name: found.tables[name][:-1]}):
            with pytest.raises(ValueError, match="is missing, or not of the shape"):
                violations(policy, statement, found.circuit, tables)
    hostile = {name: np.zeros_like(table) for name, table in public_tables(policy, statement).items()}
    assert violations(policy, statement, found.circuit, found.tables | hostile) == ()  # public integers are the statement's
