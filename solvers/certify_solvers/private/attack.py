# SPDX-License-Identifier: Apache-2.0
"""The search for a counterexample to a private claim: projected gradient ascent from random points, moved to the grid of the commitment."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from certify.readers.formula import Parts
from certify.rules.private_statement import spread
from certify_zk.policy import Policy
from certify_zk.statement import Box, Rows, Statement
from certify_zk.witness import Model

_STARTS, _STEPS = 16, 40


@dataclass(frozen=True)
class Attack:
    """A point, in the units of the network's inputs, and the class that is at least as high there."""

    point: tuple[Fraction, ...]
    label: int


def search(policy: Policy, model: Model, statement: Statement, found: Parts, seed: int = 0) -> Attack | None:
    """Return a point of the region, on the grid, where a row of a robustness statement fails by floating-point arithmetic; None if none was found."""
    rng, rows = np.random.default_rng(seed), statement.asked
    if not isinstance(rows, Rows):
        return None
    weights, biases = _floats(policy, model)
    asked = np.array(rows.coefficients, np.float64)
    for region, part in zip(statement.regions, found.parts, strict=True):
        if not isinstance(region, Box):
            return None
        low, width = (np.array(values, np.float64) for values in (region.lower, region.width))
        for coefficients in asked:
            x = low + width * rng.random((_STARTS, len(low)))
            x[0] = low + np.floor(width / 2)
            for step in range(_STEPS + 1):
                near = np.rint(x)
                for at, value in zip(near, _values(policy, weights, biases, near)[0] @ coefficients, strict=True):
                    if value <= 0 and part.holds_input(point := _point(policy, at)):
                        return Attack(point, int(np.flatnonzero(coefficients < 0)[0]))
                slope = _slope(policy, weights, biases, x, coefficients)
                x = np.clip(x - np.sign(slope) * width * 0.5 * (1 - step / _STEPS), low, low + width)
    return None


def outputs(policy: Policy, model: Model, point: tuple[Fraction, ...]) -> Any:
    """Return the outputs at a point in the units of the network's inputs, in floating point."""
    offsets, scales = spread(policy, policy.inputs.offset), spread(policy, policy.inputs.scale)
    x = np.array([[float((value - offset) * scale) for value, offset, scale in zip(point, offsets, scales, strict=True)]])
    return _values(policy, *_floats(policy, model), np.ldexp(x, policy.input_scale))[0][0]


def _floats(policy: Policy, model: Model) -> tuple[list[Any], list[Any]]:
    dense = model.dense(policy.layers)
    return ([np.ldexp(weight.astype(np.float64), -policy.weight_scale) for weight in dense.weights],
            [np.ldexp(bias.astype(np.float64), -policy.bias_scale) for bias in dense.biases])


def _values(policy: Policy, weights: list[Any], biases: list[Any], x: Any) -> tuple[Any, list[Any]]:
    value, active = np.ldexp(x, -policy.input_scale), []
    for k, (weight, bias) in enumerate(zip(weights, biases, strict=True), start=1):
        value = value @ weight.T + bias
        if k < policy.depth:
            active.append(value > 0)
            value = np.maximum(value, 0)
    return value, active


def _slope(policy: Policy, weights: list[Any], biases: list[Any], x: Any, coefficients: Any) -> Any:
    _, active = _values(policy, weights, biases, x)
    found = np.broadcast_to(coefficients @ weights[-1], (len(x), weights[-1].shape[1]))
    for weight, on in zip(weights[-2::-1], active[::-1], strict=True):
        found = (found * on) @ weight
    return found


def _point(policy: Policy, at: Any) -> tuple[Fraction, ...]:
    """Return a point of the grid in the units of the network's inputs."""
    offsets, scales = spread(policy, policy.inputs.offset), spread(policy, policy.inputs.scale)
    return tuple(Fraction(int(value), 1 << policy.input_scale) / scale + offset for value, offset, scale in zip(at, offsets, scales, strict=True))
