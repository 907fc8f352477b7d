# SPDX-License-Identifier: Apache-2.0
"""alpha-CROWN without automatic differentiation: lower slopes of ReLUs tuned by gradient ascent on the bound.

For a fixed choice of which line bounds each ReLU, a backward bound is the minimum over the region of the *relaxed network*, reached at a point
x*. By the envelope theorem its derivative with respect to a slope or to a bound [l, u] of a neuron is that of the neuron's own line at x*:
with coefficient A on the neuron's output and z its input in the relaxed network, A+ z for the lower slope, and A- times the derivatives of
u (z - l) / (u - l) for l and u. Bounds of inner neurons are backward bounds too, so the chain goes on through them to the slopes that
they share. Source: Xu et al., Fast and complete, ICLR 2021 (2011.13824), with analytic gradients in place of autograd.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from certify.readers.network import Dense, Network, Relu, Scale
from certify.rules.relaxation import refined
from certify_solvers.common.prover import Effort
from certify_solvers.crown.domain import Domain
from certify_solvers.crown.kernel import Array

_STEPS = 60
_RATE, _DECAY = 0.25, 0.97
_PATIENCE, _GAIN = 12, 1e-3
_MARGIN = 1e-7  # tuned slopes are rounded, and the chords of the checker too
_CLEAR = 1e-9
Conjunct = tuple[Array, Array, Array]
"""Input coefficients, output coefficients, constants: one row a row of the conjunct."""
Slopes = dict[int, Array]
"""Lower slopes by activation layer: one row for all, or one for each row that is bounded."""


@dataclass(frozen=True, eq=False)
class Tuned:
    """Slope sets that were found: `node` for inner bounds, `leaf` one a conjunct, as integers 0..255; the margins that they reach.

    `points` are where the bounds are attained in the relaxed network; `closed` says whether all margins are above 0 for certain.
    """

    node: np.ndarray[Any, Any]
    leaf: np.ndarray[Any, Any]
    margins: Array
    points: Array
    closed: bool

    def arrays(self) -> dict[str, np.ndarray[Any, Any]]:
        """Return the evidence arrays of one leaf, the root."""
        return {"tree": np.array([-1], "<i4"), "slope": np.vstack([self.node, self.leaf]).astype("|u1"),
                "leaf_slope": np.arange(1, 1 + len(self.leaf), dtype="<i4"),
                "node_slope": np.zeros(1, "<i4")}


@dataclass(frozen=True, eq=False)
class _Passed:
    """Rows bounded backward from value k: bounds, coefficients on the outputs of each activation layer, minimisers."""

    k: int
    bound: Array
    coefficients: dict[int, Array]
    points: Array


@dataclass(eq=False)
class _Trace:
    """Bounds on every value, and the backward passes that gave some of them: at layer k + 1, neurons and whether they won."""

    low: list[Array]
    high: list[Array]
    passes: dict[int, tuple[np.ndarray[Any, Any], _Passed, _Passed]] = field(default_factory=dict)


class Tuner:
    """One network on one region; rows are of its outputs and inputs, given as arrays."""

    def __init__(self, network: Network, domain: Domain) -> None:
        self.network, self.domain = network, domain
        self.activations = network.activations

    def default(self, trace: _Trace) -> Slopes:
        """Return the default slopes on the bounds of a trace: 1 where u >= -l, else 0."""
        return {j: np.where(trace.high[j] >= -trace.low[j], 1.0, 0.0)[None, :] for j in self.activations}

    def propagate(self, slopes: Slopes | None) -> _Trace:
        """Return bounds on every value, inner rows bounded with `slopes` (None: the default ones)."""
        trace = _Trace([self.domain.lower], [self.domain.upper])
        for k, layer in enumerate(self.network.layers):
            low, high = trace.low[k], trace.high[k]
            if isinstance(layer, Relu):
                low, high = np.maximum(low, 0.0), np.maximum(high, 0.0)
            elif isinstance(layer, Scale):
                low, high = (low + layer.bias, high + layer.bias) if layer.sign > 0 else (layer.bias - high, layer.bias - low)
            else:
                positive, negative = np.maximum(layer.weight, 0.0), np.minimum(layer.weight, 0.0)
                low, high = positive @ low + negative @ high + layer.bias, positive @ high + negative @ low + layer.bias
            if refined(self.network, k, self.domain.ball is not None):
                low, high = self._refine(trace, k, low, high, slopes)
            trace.low.append(low)
            trace.high.append(high)
        return trace

    def _refine(self, trace: _Trace, k: int, low: Array, high: Array, slopes: Slopes | None) -> tuple[Array, Array]:
        neurons = np.flatnonzero((low < 0) & (high > 0))
        if not neurons.size:
            return low, high
        rows = np.zeros((neurons.size, low.size))
        rows[np.arange(neurons.size), neurons] = 1.0
        used = slopes if slopes is not None else {j: np.where(trace.high[j] >= -trace.low[j], 1.0, 0.0)[None, :] for j in self.activations if j <= k}
        below = self.backward(rows, np.zeros(neurons.size), k + 1, trace, used)
        above = self.backward(-rows, np.zeros(neurons.size), k + 1, trace, used)
        trace.passes[k + 1] = (neurons, below, above)
        low, high = low.copy(), high.copy()
        low[neurons], high[neurons] = np.maximum(low[neurons], below.bound), np.minimum(high[neurons], -above.bound)
        return low, high

    def backward(self, rows: Array, constant: Array, k: int, trace: _Trace, slopes: Slopes, added: Array | None = None) -> _Passed:
        """Return the bounds of rows given on value k; `added` are coefficients of the inputs."""
        coefficients: dict[int, Array] = {}
        for j in range(k - 1, -1, -1):
            layer = self.network.layers[j]
            if isinstance(layer, Relu):
                coefficients[j] = rows
                slope, chord, offset = _lines(trace.low[j], trace.high[j], slopes[j])
                falling = np.minimum(rows, 0.0)
                constant = constant + falling @ offset
                rows = np.maximum(rows, 0.0) * slope + falling * chord
            else:
                constant = constant + rows @ layer.bias
                rows = rows @ layer.weight if isinstance(layer, Dense) else layer.sign * rows
        rows = rows if added is None else rows + added
        least, points = self.domain.least(rows)
        return _Passed(k, constant + least, coefficients, points)

    def gradients(self, passed: _Passed, weight: Array, trace: _Trace, slopes: Slopes) -> tuple[Slopes, dict[int, Array], dict[int, Array]]:
        """Return the derivatives of weight.bound by slopes (one row a row), and by the lower and upper bounds of activation inputs."""
        by_slope: Slopes = {}
        by_low: dict[int, Array] = {}
        by_high: dict[int, Array] = {}
        h = passed.points
        for j in range(passed.k):
            layer = self.network.layers[j]
            if isinstance(layer, Dense):
                h = h @ layer.weight.T + layer.bias
            elif isinstance(layer, Scale):
                h = layer.sign * h + layer.bias
            else:
                low, high, a = trace.low[j], trace.high[j], passed.coefficients[j]
                crossing = (low < 0) & (high > 0)
                slope, chord, offset = _lines(low, high, slopes[j])
                by_slope[j] = weight[:, None] * np.where(crossing, np.maximum(a, 0.0) * h, 0.0)
                falling = weight[:, None] * np.minimum(a, 0.0)
                square = np.where(crossing, high - low, 1.0) ** 2
                by_low[j] = np.where(crossing, high * (falling * (h - high)).sum(axis=0) / square, 0.0)
                by_high[j] = np.where(crossing, -low * (falling * (h - low)).sum(axis=0) / square, 0.0)
                h = np.where(a >= 0, slope * h, chord * h + offset)
        return by_slope, by_low, by_high

    def shared(self, trace: _Trace, slopes: Slopes, by_low: dict[int, Array], by_high: dict[int, Array]) -> Slopes:
        """Return the derivatives by the slopes of inner rows, given those by the bounds of activation inputs, down the chain."""
        total = {j: np.zeros_like(trace.low[j]) for j in self.activations}
        for j in sorted(trace.passes, reverse=True):
            if j not in by_low:
                continue
            neurons, below, above = trace.passes[j]
            for passed, weight in ((below, np.where(below.bound >= trace.low[j][neurons], by_low[j][neurons], 0.0)),
                                   (above, np.where(-above.bound <= trace.high[j][neurons], -by_high[j][neurons], 0.0))):
                some = np.flatnonzero(weight)
                if not some.size:
                    continue
                part = _Passed(passed.k, passed.bound[some], {i: a[some] for i, a in passed.coefficients.items()}, passed.points[some])
                slope, low, high = self.gradients(part, weight[some], trace, slopes)
                for i in slope:
                    total[i] += slope[i].sum(axis=0)
                    by_low[i] = by_low[i] + low[i]
                    by_high[i] = by_high[i] + high[i]
        return {j: total[j][None, :] for j in total}


def _lines(low: Array, high: Array, slope: Array) -> tuple[Array, Array, Array]:
    """Return (lower slope, chord slope, chord offset) of each ReLU, with tuned lower slopes where it crosses 0."""
    crossing = (low < 0) & (high > 0)
    active = np.where(low >= 0, 1.0, 0.0)
    chord = np.where(crossing, high / np.where(crossing, high - low, 1.0), active)
    return np.where(crossing, slope, active), chord, np.where(crossing, -chord * low, 0.0)


class _Adam:
    """Ascent steps on slopes, kept in [0, 1]."""

    def __init__(self) -> None:
        self.first: Slopes = {}
        self.second: Slopes = {}

    def step(self, slopes: Slopes, gradient: Slopes, rate: float, count: int) -> Slopes:
        """Return the slopes after one step."""
        moved = {}
        for j, g in gradient.items():
            self.first[j] = 0.9 * self.first.get(j, 0.0) + 0.1 * g
            self.second[j] = 0.999 * self.second.get(j, 0.0) + 0.001 * g * g
            step = self.first[j] / (1 - 0.9**count) / (np.sqrt(self.second[j] / (1 - 0.999**count)) + 1e-12)
            moved[j] = np.clip(slopes[j] + rate * step, 0.0, 1.0)
        return moved


def tune(network: Network, domain: Domain, conjuncts: Sequence[Conjunct], effort: Effort, steps: int = _STEPS) -> Tuned | None:
    """Return slopes that make the smallest margin as large as ascent finds; None where no bound is finite or nothing can be tuned.

    A conjunct is (input coefficients, output coefficients, constant) with one row a row; the row that the default slopes bound best is tuned.
    """
    tuner, last = Tuner(network, domain), len(network.layers)
    with np.errstate(all="ignore"):
        trace = tuner.propagate(None)
        slopes = tuner.default(trace)
        if not all(np.isfinite(level).all() for level in (*trace.low, *trace.high)):
            return None
        if not network.activations and steps > 1:
            return None
        rows = [_best(tuner, conjunct, trace, slopes) for conjunct in conjuncts]
        added, outputs, constant = (np.array(values) for values in zip(*rows, strict=True))
        if steps == 1:  # the default slopes only, none of which need be told
            found = tuner.backward(outputs, constant, last, trace, slopes, added)
            return Tuned(_bytes(slopes), _bytes(slopes), found.bound, found.points, bool((found.bound > _CLEAR * (1 + np.abs(constant))).all()))
        node, leaf = slopes, {j: np.repeat(a, len(rows), axis=0) for j, a in slopes.items()}
        best: Tuned | None = None
        adams, since = (_Adam(), _Adam()), 0
        for count in range(1, steps + 1):
            trace = tuner.propagate(node) if count > 1 else trace
            passed = tuner.backward(outputs, constant, last, trace, leaf, added)
            if best is None or passed.bound.min() > best.margins.min() + (_GAIN * abs(best.margins.min()) if count > 1 else 0.0):
                best, since = Tuned(_bytes(node), _bytes(leaf), passed.bound, passed.points, False), 0
            else:
                since += 1
            if passed.bound.min() > _MARGIN * (1 + np.abs(constant).max()):
                exact = _quantised(tuner, outputs, constant, added, _bytes(node), _bytes(leaf))
                if exact.closed:
                    return exact
            if since > _PATIENCE or effort.left() <= 0:
                break
            weight = np.where(passed.bound <= passed.bound.min() + 1e-12, 1.0, np.where(passed.bound <= 10 * _MARGIN, 0.3, 0.0))
            by_slope, by_low, by_high = tuner.gradients(passed, weight, trace, leaf)
            inner = tuner.shared(trace, node, by_low, by_high)
            rate = _RATE * _DECAY**count
            node, leaf = adams[0].step(node, inner, rate, count), adams[1].step(leaf, by_slope, rate, count)
        return None if best is None else _quantised(tuner, outputs, constant, added, best.node, best.leaf)


def _best(tuner: Tuner, conjunct: Conjunct, trace: _Trace, slopes: Slopes) -> tuple[Array, Array, float]:
    """Return the row of a conjunct that the default slopes bound best."""
    inputs, outputs, constant = conjunct
    index = int(tuner.backward(outputs, constant, len(tuner.network.layers), trace, slopes, inputs).bound.argmax())
    return inputs[index], outputs[index], float(constant[index])


def _bytes(slopes: Slopes) -> np.ndarray[Any, Any]:
    pieces = [slopes[j] for j in sorted(slopes)]
    return np.rint(255 * np.concatenate(pieces, axis=1)).astype(np.uint8) if pieces else np.zeros((1, 0), np.uint8)


def _quantised(tuner: Tuner, outputs: Array, constant: Array, added: Array, node: np.ndarray[Any, Any], leaf: np.ndarray[Any, Any]) -> Tuned:
    """Return the slopes rounded to multiples of 1/255 with the margins that they reach."""
    ends = np.cumsum([tuner.network.layers[j].size for j in tuner.activations])[:-1]
    shared, own = (dict(zip(tuner.activations, np.split(values / 255.0, ends, axis=1), strict=True)) for values in (node, leaf))
    trace = tuner.propagate(shared)
    found = tuner.backward(outputs, constant, len(tuner.network.layers), trace, own, added)
    return Tuned(node, leaf, found.bound, found.points, bool((found.bound > _MARGIN * (1 + np.abs(constant))).all()))
