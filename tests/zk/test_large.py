# SPDX-License-Identifier: Apache-2.0
"""A network of 2.9 million parameters: exact margins beside those of CROWN in floating point, for slopes of 8 and of 12 bits."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from certify_zk.calibration import calibrate
from certify_zk.evaluation import violations
from certify_zk.policy import Dense, Policy
from certify_zk.statement import Box, robust
from certify_zk.witness import Model, Unknown, Witness, witness

SIZES = (784, 1024, 1024, 1024, 10)
FLOAT = {6: 0.26695, 40: -29.209, 60: -99.529}
"""The worst margins of CROWN in floating point, by radius in units of 1/4096."""
UNSTABLE = {6: (39, 56, 67), 40: (297, 630, 1023), 60: (428, 934, 1024)}


@cache
def network() -> tuple[Model, Any]:
    """Return the network, and the point around which boxes are."""
    rng, weights, biases = np.random.default_rng(0), [], []
    for before, after in pairwise(SIZES):
        weights.append(np.rint(rng.normal(0, np.sqrt(2 / before), (after, before)) * 4096).astype(np.int64))
        biases.append(np.rint(rng.normal(0, 0.05, after) * 4096).astype(np.int64))
    return Model(tuple(weights), tuple(biases)), rng.integers(0, 4096, SIZES[0])


def box(eps: int) -> Box:
    """Return the box of a radius in the domain."""
    _, x = network()
    lower, upper = np.maximum(x - eps, 0), np.minimum(x + eps, 4096)
    return Box(tuple(lower.tolist()), tuple((upper - lower).tolist()))


def crown(eps: int) -> tuple[float, tuple[int, ...]]:
    """Return the worst margin and the numbers of unstable neurons of CROWN in floating point."""
    model, x = network()
    low, high = np.maximum(x - eps, 0) / 4096, np.minimum(x + eps, 4096) / 4096
    weights, biases = [w / 4096 for w in model.weights], [b / 4096 for b in model.biases]
    lines: list[tuple[Any, ...]] = []
    unstable = []

    def bound(rows: Any, constant: Any, k: int) -> Any:
        for j in range(k - 1, -1, -1):
            alpha, slope, rise = lines[j]
            plus, minus = np.maximum(rows, 0), np.minimum(rows, 0)
            constant = constant + minus @ rise
            rows = plus * alpha + minus * slope
            constant, rows = constant + rows @ biases[j], rows @ weights[j]
        return np.maximum(rows, 0) @ low + np.minimum(rows, 0) @ high + constant

    for k in range(3):
        lower, upper = bound(weights[k], biases[k], k), -bound(-weights[k], -biases[k], k)
        crossing = (lower < 0) & (upper > 0)
        unstable.append(int(crossing.sum()))
        slope = np.where(crossing, upper / np.where(crossing, upper - lower, 1), lower >= 0)
        lines.append(((upper > -lower) * 1.0, slope, np.where(crossing, -slope * lower, 0)))
    rows = np.delete(np.eye(10)[7] - np.eye(10), 7, axis=0)
    return float(bound(rows @ weights[3], rows @ biases[3], 3).min()), tuple(unstable)


def policy(slope_bits: int, tau: tuple[tuple[int, ...], ...]) -> Policy:
    """Return the policy with full passes."""
    return Policy(tuple(Dense(a, b) for a, b in pairwise(SIZES)), ("crown",) * 4, tau, slope_bits=slope_bits)


def margin(found: Witness | Unknown) -> float:
    """Return the worst margin."""
    return float(min(found.margins[0]))


@pytest.mark.slow
def test_the_network_is_the_one_of_the_table() -> None:
    model, x = network()
    y = x / 4096
    for k in range(4):
        y = model.weights[k] / 4096 @ (np.maximum(y, 0)) + model.biases[k] / 4096
    assert y.argmax() == 7 and abs(y[7] - np.delete(y, 7).max() - 0.39318) < 1e-5
    assert sum(w.size + b.size for w, b in zip(model.weights, model.biases, strict=True)) == 2_913_290


@pytest.mark.slow
@pytest.mark.parametrize("eps", [6, 40, 60])
def test_exact_margins_are_those_of_floating_point_within_3_percent(eps: int) -> None:
    model, _ = network()
    reference, unstable = crown(eps)
    assert abs(reference - FLOAT[eps]) < 1e-3 and all(abs(a - b) <= 5 for a, b in zip(unstable, UNSTABLE[eps], strict=True))
    statement = robust((box(eps),), 10, 7)
    for slope_bits in (8, 12):
        fitted = calibrate(policy(slope_bits, ((),) * 4), model, [statement], 0)
        kept, dropped = (witness(replace(fitted, remainder=remainder), model, statement) for remainder in (True, False))
        assert isinstance(kept, Witness if eps == 6 else Unknown) and isinstance(dropped, type(kept))
        assert reference - 0.03 * abs(reference) <= margin(kept) <= reference + 2.0**-10
        assert margin(kept) - (0.012 if eps == 6 else 0.5) <= margin(dropped) < margin(kept)


@pytest.mark.slow
@pytest.mark.parametrize(("slope_bits", "tau", "expected"), [(8, ((), (16,), (15, 21), (15, 20, 21)), 0.26105),
                                                             (12, ((), (20,), (19, 25), (19, 24, 25)), 0.26190)])
def test_the_certificate_of_the_default_policies(slope_bits: int, tau: tuple[tuple[int, ...], ...], expected: float) -> None:
    model, _ = network()
    some, statement = policy(slope_bits, tau), robust((box(6),), 10, 7)
    found = witness(some, model, statement)
    assert isinstance(found, Witness) and abs(margin(found) - expected) < 2e-4
    assert violations(some, statement, found.circuit, found.tables) == ()
    wrong = found.tables["weight3.plus.0"].copy()
    wrong[17, 4] ^= 1
    broken = violations(some, statement, found.circuit, {**found.tables, "weight3.plus.0": wrong})
    assert {violation.code for violation in broken} == {"relation-step", "relation-constant"}
