# SPDX-License-Identifier: Apache-2.0
"""Search for a counterexample: projected sign-gradient steps from many starts; a hit counts only after exact evaluation.

A candidate is rounded to float32 numbers inside the rational box where the box holds any, so that a float32 network can
be run at the very point; else to doubles, else to an end of the box.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from certify.limits import Limits
from certify.readers.formula import Part
from certify.readers.network import Network
from certify.rules.counterexample import violates
from certify.rules.evaluation import evaluate
from certify.rules.unsafe_set import UnsafeSet
from certify_solvers.common.prover import Effort
from certify_solvers.crown.domain import Domain
from certify_solvers.crown.kernel import Array, forward, gradient

_RESTARTS = 100
# Two rounds: steps along the worst row of the nearest conjunct, then, slower, along all rows that are still positive.
_ROUNDS = ((False, 40, 0.3, 0.85), (True, 120, 0.15, 0.96))
_TRIES = 8  # candidates evaluated exactly in a part


@dataclass(frozen=True)
class Hit:
    """A counterexample, evaluated exactly: network input x and outputs y; `float32` says whether every x_i is a float32 number."""

    x: tuple[Fraction, ...]
    y: tuple[Fraction, ...]
    float32: bool


@dataclass(frozen=True, eq=False)
class _Target:
    """One conjunct as arrays: rows are inputs.x + outputs.y + constant <= 0."""

    inputs: Array
    outputs: Array
    constant: Array


def search(unsafe: UnsafeSet, starts: dict[int, Array], effort: Effort, limits: Limits, restarts: int = _RESTARTS) -> Hit | None:
    """Return a counterexample or None; `starts[p]` are points worth trying in part p."""
    rng = np.random.default_rng(effort.seed)
    for index, part in enumerate(unsafe.parts):
        if effort.left() <= 0:
            return None
        domain = Domain(part)
        points = domain.project(_starts(domain.lower, domain.upper, starts.get(index), rng, restarts))
        targets = [_target(unsafe.network, part, conjunct) for conjunct in range(len(part.conjuncts))]
        for every, steps, first, decay in _ROUNDS if any(len(conjunct) > 1 for conjunct in part.conjuncts) else _ROUNDS[:1]:
            found = _candidates(unsafe.network, targets, points, domain, effort, every, [first * decay**k for k in range(steps)])
            if (hit := _replay(unsafe.network, part, found, limits)) is not None:
                return hit
    return None


def near(network: Network, part: Part, points: Array, limits: Limits) -> Hit | None:
    """Return a counterexample among points of a part's box, or None: those that look unsafe in binary64 are evaluated exactly."""
    values = forward(network, points)
    nearest = np.full(points.shape[0], np.inf)
    for conjunct in range(len(part.conjuncts)):
        target = _target(network, part, conjunct)
        nearest = np.minimum(nearest, _rows(target, points, values).max(axis=1) if target.constant.size else -np.inf)
    order = np.argsort(nearest, kind="stable")[:_TRIES]
    return _replay(network, part, iter(points[order[nearest[order] <= 1e-7 * (1.0 + np.abs(values[-1]).max())]]), limits)


def _replay(network: Network, part: Part, candidates: Iterator[Array], limits: Limits) -> Hit | None:
    for x in candidates:
        for point, single in _rounded(x, part):
            if not part.holds_input(point):  # on an open end
                continue
            y = evaluate(network, point, limits.fresh())
            if any(violates(conjunct, point, y) for conjunct in part.conjuncts):
                return Hit(point, y, single)
    return None


def _starts(lower: Array, upper: Array, given: Array | None, rng: np.random.Generator, restarts: int) -> Array:
    inside = lower + rng.random((restarts // 2, lower.size)) * (upper - lower)
    corners = np.where(rng.random((restarts - restarts // 2, lower.size)) < 0.5, lower, upper)
    known = [(lower + upper) / 2, lower, upper]
    return np.vstack([*known, *([given] if given is not None else []), inside, corners])


def _target(network: Network, part: Part, conjunct: int) -> _Target:
    rows = part.conjuncts[conjunct]
    inputs, outputs = np.zeros((len(rows), network.inputs)), np.zeros((len(rows), network.outputs))
    for r, row in enumerate(rows):
        for side, terms in ((inputs, row.inputs), (outputs, row.outputs)):
            for index, value in terms.items():
                side[r, index] = float(value)
    return _Target(inputs, outputs, np.array([float(row.constant) for row in rows]))


def _candidates(network: Network, targets: list[_Target], points: Array, domain: Domain, effort: Effort, every: bool,
                steps: list[float]) -> Iterator[Array]:
    """Yield promising points, best first; at most `_TRIES` in all."""
    best = np.full(points.shape[0], np.inf)
    best_points = points.copy()
    values = forward(network, points)
    scales = [np.maximum(_rows(target, points, values).std(axis=0), 1e-12) for target in targets]
    for step in [*steps, 0.0]:
        loss, slope = _loss(network, targets, scales, points, values, every)
        better = loss < best
        best[better], best_points[better] = loss[better], points[better]
        if (best <= 0).any() or step == 0 or effort.left() <= 0:
            break
        points = domain.project(points - step * domain.direction(slope))
        values = forward(network, points)
    enough = 1e-7 * (1.0 + np.abs(values[-1]).max())
    for index in np.argsort(best, kind="stable")[:_TRIES]:
        if best[index] <= enough:
            yield best_points[index]


def _rows(target: _Target, points: Array, values: list[Array]) -> Array:
    found: Array = points @ target.inputs.T + values[-1] @ target.outputs.T + target.constant
    return found


def _loss(network: Network, targets: list[_Target], scales: list[Array], points: Array, values: list[Array], every: bool) -> tuple[Array, Array]:
    """Return, for each point, the largest row of the nearest conjunct, and the gradient of that row, or of all positive rows by scale."""
    count = points.shape[0]
    loss, nearest = np.full(count, np.inf), np.full(count, np.inf)
    inputs, outputs = np.zeros_like(points), np.zeros((count, network.outputs))
    for target, scale in zip(targets, scales, strict=True):
        if target.constant.size == 0:
            return np.full(count, -np.inf), np.zeros_like(points)
        rows = _rows(target, points, values)
        largest = rows.max(axis=1)
        loss = np.minimum(loss, largest)
        relative = rows / scale
        distance = np.maximum(relative, 0).sum(axis=1) if every else largest
        near = distance < nearest
        nearest[near] = distance[near]
        weight = (relative > 0) / scale if every else np.eye(rows.shape[1])[rows.argmax(axis=1)]
        inputs[near], outputs[near] = (weight @ target.inputs)[near], (weight @ target.outputs)[near]
    return loss, inputs + gradient(network, values, outputs)


def _rounded(x: Array, part: Part) -> Iterator[tuple[tuple[Fraction, ...], bool]]:
    """Yield exact points of the box near x, those of float32 numbers first."""
    single = [_float32_inside(v, lo, hi) for v, lo, hi in zip(x.tolist(), part.lower, part.upper, strict=True)]
    double = [min(max(Fraction(v), lo), hi) for v, lo, hi in zip(x.tolist(), part.lower, part.upper, strict=True)]
    mixed = tuple(d if s is None else s for s, d in zip(single, double, strict=True))
    yield mixed, all(s is not None for s in single)
    if tuple(double) != mixed:
        yield tuple(double), False


def _float32_inside(value: float, lower: Fraction, upper: Fraction) -> Fraction | None:
    with np.errstate(over="ignore"):
        near: Any = np.float32(value)
    for candidate in (near, np.nextafter(near, np.float32(-np.inf)), np.nextafter(near, np.float32(np.inf))):
        if np.isfinite(candidate) and lower <= Fraction(float(candidate)) <= upper:
            return Fraction(float(candidate))
    return None
