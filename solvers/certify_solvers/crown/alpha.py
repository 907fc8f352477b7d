# SPDX-License-Identifier: Apache-2.0
"""alpha-CROWN without automatic differentiation: lower slopes of ReLUs tuned by gradient ascent on the bound.

For a fixed choice of which line bounds each ReLU, a backward bound is the minimum over the region of the *relaxed network*, reached at a point
x*. By the envelope theorem its derivative with respect to a slope or to a bound [l, u] of a neuron is that of the neuron's own line at x*:
with coefficient A on the neuron's output and z its input in the relaxed network, A+ z for the lower slope, and A- times the derivatives of
u (z - l) / (u - l) for l and u. Bounds of inner neurons are backward bounds too, so the chain goes on through them to the slopes that
they share. On a part of the region where neurons are split, sigma z_i >= 0, a row may lose beta sigma from its coefficient of z_i, beta >= 0;
the derivative by beta is -sigma z_i. Sources: Xu et al., Fast and complete, ICLR 2021 (2011.13824); Wang et al., beta-CROWN, NeurIPS 2021
(2103.06624); analytic gradients in place of autograd.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from certify.readers.network import Dense, Network, Relu, Scale
from certify.rules.neuron_splits import Path
from certify.rules.relaxation import clamp, refined
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

    `points` are where the bounds are attained in the relaxed network; `closed` says whether all margins are above 0 for certain. `beta` are the
    multipliers of the split neurons, one row a conjunct; `scores` say how much each ReLU neuron's line costs the worst conjunct. `rows` are
    the rows of the conjuncts that were bounded; `low`, `high` bound the inputs of all ReLU neurons.
    """

    node: np.ndarray[Any, Any]
    leaf: np.ndarray[Any, Any]
    margins: Array
    points: Array
    closed: bool
    beta: Array
    scores: Array
    rows: list[int]
    low: Array
    high: Array

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

    def __init__(self, network: Network, domain: Domain, path: Path = ()) -> None:
        self.network, self.domain, self.path = network, domain, path
        self.activations = network.activations
        ends = np.cumsum([0, *(network.layers[j].size for j in self.activations)])
        signs = np.zeros(ends[-1], np.int8)
        for neuron, sigma in path:
            signs[neuron] = sigma
        self.signs = {j: signs[a:b] for j, a, b in zip(self.activations, ends[:-1], ends[1:], strict=True)}
        self.split = {j: np.flatnonzero(self.signs[j]) for j in self.activations}

    def default(self, trace: _Trace) -> Slopes:
        """Return the default slopes on the bounds of a trace: 1 where u >= -l, else 0."""
        return {j: np.where(trace.high[j] >= -trace.low[j], 1.0, 0.0)[None, :] for j in self.activations}

    def propagate(self, slopes: Slopes | None) -> _Trace:
        """Return bounds on every value, inner rows bounded with `slopes` (None: the default ones)."""
        trace = _Trace([self.domain.lower], [self.domain.upper])
        for k, layer in enumerate(self.network.layers):
            low, high = trace.low[k], trace.high[k]
            if isinstance(layer, Relu):
                if self.path:
                    low, high = trace.low[k], trace.high[k] = clamp(low, high, self.signs[k])
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

    def backward(self, rows: Array, constant: Array, k: int, trace: _Trace, slopes: Slopes, added: Array | None = None,
                 beta: Slopes | None = None) -> _Passed:
        """Return the bounds of rows given on value k; `added` are coefficients of the inputs, `beta` multipliers of split neurons."""
        coefficients: dict[int, Array] = {}
        for j in range(k - 1, -1, -1):
            layer = self.network.layers[j]
            if isinstance(layer, Relu):
                coefficients[j] = rows
                slope, chord, offset = _lines(trace.low[j], trace.high[j], slopes[j])
                falling = np.minimum(rows, 0.0)
                constant = constant + falling @ offset
                rows = np.maximum(rows, 0.0) * slope + falling * chord
                if beta is not None and self.split[j].size:
                    rows[:, self.split[j]] -= beta[j] * self.signs[j][self.split[j]]
            else:
                constant = constant + rows @ layer.bias
                rows = rows @ layer.weight if isinstance(layer, Dense) else layer.sign * rows
        rows = rows if added is None else rows + added
        least, points = self.domain.least(rows)
        return _Passed(k, constant + least, coefficients, points)

    def gradients(self, passed: _Passed, weight: Array, trace: _Trace, slopes: Slopes) -> tuple[Slopes, dict[int, Array], dict[int, Array], Slopes]:
        """Return the derivatives of weight.bound by slopes (one row a row), by the lower and upper bounds of activation inputs, and by beta."""
        by_slope: Slopes = {}
        by_beta: Slopes = {}
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
                if self.split[j].size:
                    by_beta[j] = -weight[:, None] * h[:, self.split[j]] * self.signs[j][self.split[j]]
                by_slope[j] = weight[:, None] * np.where(crossing, np.maximum(a, 0.0) * h, 0.0)
                falling = weight[:, None] * np.minimum(a, 0.0)
                square = np.where(crossing, high - low, 1.0) ** 2
                by_low[j] = np.where(crossing, high * (falling * (h - high)).sum(axis=0) / square, 0.0)
                by_high[j] = np.where(crossing, -low * (falling * (h - low)).sum(axis=0) / square, 0.0)
                h = np.where(a >= 0, slope * h, chord * h + offset)
        return by_slope, by_low, by_high, by_beta

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
                slope, low, high, _ = self.gradients(part, weight[some], trace, slopes)
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
    """Ascent steps on parameters from 0 to `most`."""

    def __init__(self, most: float) -> None:
        self.most = most
        self.first: Slopes = {}
        self.second: Slopes = {}

    def step(self, slopes: Slopes, gradient: Slopes, rate: float, count: int) -> Slopes:
        """Return the slopes after one step."""
        moved = {}
        for j, g in gradient.items():
            self.first[j] = 0.9 * self.first.get(j, 0.0) + 0.1 * g
            self.second[j] = 0.999 * self.second.get(j, 0.0) + 0.001 * g * g
            step = self.first[j] / (1 - 0.9**count) / (np.sqrt(self.second[j] / (1 - 0.999**count)) + 1e-12)
            moved[j] = np.clip(slopes[j] + rate * step, 0.0, self.most)
        return moved


def tune(network: Network, domain: Domain, conjuncts: Sequence[Conjunct], effort: Effort, steps: int = _STEPS, path: Path = (),
         warm: Tuned | None = None) -> Tuned | None:
    """Return slopes that make the smallest margin as large as ascent finds; None where no bound is finite or nothing can be tuned.

    A conjunct is (input coefficients, output coefficients, constant) with one row a row; the row that the default slopes bound best is tuned.
    `path` are the neurons that the region is split on, `warm` is what was found for a larger region (its path a beginning of this one).
    """
    tuner = Tuner(network, domain, path)
    with np.errstate(all="ignore"):
        trace = tuner.propagate(None)
        slopes = tuner.default(trace)
        if not all(np.isfinite(level).all() for level in (*trace.low, *trace.high)) or (not network.activations and steps > 1):
            return None
        rows = [_best(tuner, conjunct, trace, slopes) for conjunct in conjuncts]
        search = _Search(tuner, [row[0] for row in rows], *(np.array(values) for values in list(zip(*rows, strict=True))[1:]))
        if steps == 1:  # the default slopes only, none of which need be told
            return search.result(slopes, slopes, search.no_beta(), trace, _CLEAR)
        if any((low > high).any() for low, high in zip(trace.low, trace.high, strict=True)):
            return search.empty(slopes, trace)
        node, leaf, beta = slopes, {j: np.repeat(a, len(rows), axis=0) for j, a in slopes.items()}, search.no_beta()
        if warm is not None:
            node, leaf, beta = search.split_sets(warm.node), search.split_sets(warm.leaf), search.warm_beta(warm.beta)
        return search.climb(node, leaf, beta, steps, effort)


class _Search:
    """The ascent for fixed rows, one a conjunct."""

    def __init__(self, tuner: Tuner, rows: list[int], added: Array, outputs: Array, constant: Array) -> None:
        self.tuner, self.rows, self.added, self.outputs, self.constant = tuner, rows, added, outputs, constant
        self.last = len(tuner.network.layers)
        ends = np.cumsum([0, *(tuner.network.layers[j].size for j in tuner.activations)])
        self.spans = dict(zip(tuner.activations, zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True), strict=True))

    def climb(self, node: Slopes, leaf: Slopes, beta: Slopes, steps: int, effort: Effort) -> Tuned:
        """Return the best of some steps from given slopes and multipliers."""
        best: tuple[float, Slopes, Slopes, Slopes] | None = None
        adams, since = (_Adam(1.0), _Adam(1.0), _Adam(np.inf)), 0
        scale = max(1e-12, float(np.abs(self.outputs).max()))
        for count in range(1, steps + 1):
            trace = self.tuner.propagate(node)
            passed = self._pass(leaf, beta, trace)
            worst = float(passed.bound.min())
            if best is None or worst > best[0] + (_GAIN * abs(best[0]) if count > 1 else 0.0):
                best, since = (worst, node, leaf, beta), 0
            else:
                since += 1
            if worst > _MARGIN * (1 + np.abs(self.constant).max()):
                exact = self.quantised(node, leaf, beta)
                if exact.closed:
                    return exact
            if since > _PATIENCE or effort.left() <= 0 or count == steps:
                break
            weight = np.where(passed.bound <= worst + 1e-12, 1.0, np.where(passed.bound <= 10 * _MARGIN, 0.3, 0.0))
            by_slope, by_low, by_high, by_beta = self.tuner.gradients(passed, weight, trace, leaf)
            inner = self.tuner.shared(trace, node, by_low, by_high)
            rate = _RATE * _DECAY**count
            node, leaf = adams[0].step(node, inner, rate, count), adams[1].step(leaf, by_slope, rate, count)
            beta = {**beta, **adams[2].step(beta, by_beta, rate * scale, count)}
        return self.quantised(*(best or (0.0, node, leaf, beta))[1:])

    def quantised(self, node: Slopes, leaf: Slopes, beta: Slopes) -> Tuned:
        """Return what the slopes reach when they are rounded to multiples of 1/255."""
        shared, own = self.split_sets(_bytes(node)), self.split_sets(_bytes(leaf))
        return self.result(shared, own, beta, self.tuner.propagate(shared), _MARGIN)

    def result(self, node: Slopes, leaf: Slopes, beta: Slopes, trace: _Trace, margin: float) -> Tuned:
        """Return slopes and multipliers with what they reach on the bounds of a trace."""
        found = self._pass(leaf, beta, trace)
        clear = (found.bound > max(margin, self.tuner.domain.slack) * (1 + np.abs(self.constant))).all()
        void = any((low > high + 1e-9 * (1 + np.abs(low))).any() for low, high in zip(trace.low, trace.high, strict=True))
        low, high = (np.concatenate([np.zeros(0), *(level[j] for j in self.tuner.activations)]) for level in (trace.low, trace.high))
        return Tuned(_bytes(node), _bytes(leaf), found.bound, found.points, bool(clear or void), self._by_path(beta), self._scores(found, trace),
                     self.rows, low, high)

    def empty(self, slopes: Slopes, trace: _Trace) -> Tuned:
        """Return the default slopes for a part without points."""
        return self.result(slopes, {j: np.repeat(a, len(self.constant), axis=0) for j, a in slopes.items()}, self.no_beta(), trace, _MARGIN)

    def no_beta(self) -> Slopes:
        """Return multipliers of 0."""
        return {j: np.zeros((len(self.constant), split.size)) for j, split in self.tuner.split.items() if split.size}

    def warm_beta(self, known: Array) -> Slopes:
        """Return the multipliers of a larger region, by path, as multipliers here: 0 for neurons split since."""
        made = self.no_beta()
        for index, (neuron, _) in enumerate(self.tuner.path[: known.shape[1]]):
            for j, (start, end) in self.spans.items():
                if start <= neuron < end:
                    made[j][:, np.searchsorted(self.tuner.split[j], neuron - start)] = known[:, index]
        return made

    def split_sets(self, sets: np.ndarray[Any, Any]) -> Slopes:
        """Return slope sets of integers as slopes by layer."""
        return {j: sets[:, start:end] / 255.0 for j, (start, end) in self.spans.items()}

    def _pass(self, leaf: Slopes, beta: Slopes, trace: _Trace) -> _Passed:
        return self.tuner.backward(self.outputs, self.constant, self.last, trace, leaf, self.added, beta if self.tuner.path else None)

    def _by_path(self, beta: Slopes) -> Array:
        made = np.zeros((len(self.constant), len(self.tuner.path)))
        for index, (neuron, _) in enumerate(self.tuner.path):
            for j, (start, end) in self.spans.items():
                if start <= neuron < end:
                    made[:, index] = beta[j][:, np.searchsorted(self.tuner.split[j], neuron - start)]
        return made

    def _scores(self, found: _Passed, trace: _Trace) -> Array:
        worst = int(found.bound.argmin())
        pieces = [np.zeros(0)]
        for j in self.tuner.activations:
            low, high = trace.low[j], trace.high[j]
            _, _, offset = _lines(low, high, np.zeros(low.size))
            pieces.append(np.abs(np.minimum(found.coefficients[j][worst], 0.0)) * offset)
        return np.concatenate(pieces)


def _best(tuner: Tuner, conjunct: Conjunct, trace: _Trace, slopes: Slopes) -> tuple[int, Array, Array, float]:
    """Return the row of a conjunct that the default slopes bound best, with its number."""
    inputs, outputs, constant = conjunct
    index = int(tuner.backward(outputs, constant, len(tuner.network.layers), trace, slopes, inputs).bound.argmax())
    return index, inputs[index], outputs[index], float(constant[index])


def _bytes(slopes: Slopes) -> np.ndarray[Any, Any]:
    pieces = [slopes[j] for j in sorted(slopes)]
    return np.rint(255 * np.concatenate(pieces, axis=1)).astype(np.uint8) if pieces else np.zeros((1, 0), np.uint8)
