# SPDX-License-Identifier: Apache-2.0
"""What a search on inputs does with a batch of boxes: bound the rows on each, and choose the input to split where it stays open.

Everything here is a pure function of its arguments, so it may run in any process.

The choice looks ahead at both halves of each input. The plane behind a bound of a neuron holds on the halves too, where it gives a tighter bound
for a few operations; one backward pass of the rows then says how much of the deficit a split removes. The best inputs are tried again with
bounds computed on the halves. A half is never taken to be worse than its box: the line below a ReLU can change for the worse, and splits
that seem to gain nothing would stall the search.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from certify.readers.network import Network
from certify_solvers.crown.kernel import Array, Bounds, Index, backward, forward, gradient, propagate
from certify_solvers.crown.mix import combine

_MARGIN = 1e-9
_TRIED = 8  # inputs that the look-ahead tries, by effect on the open rows times width
_EXACT = 2  # of these inputs that the look-ahead tries again, with bounds of their own on the halves
_DESCENTS, _STEPS = 16, tuple(0.1 * 0.8**k for k in range(20))  # points of a batch that are moved, and how far, as shares of the root box
_HOPE = 0.2  # a combination is bounded for itself where its planes leave less than this share of the deficit


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows of a part's conjuncts as arrays, and where each conjunct starts."""

    inputs: Array
    outputs: Array
    constant: Array
    starts: Index

    @property
    def conjuncts(self) -> list[slice]:
        """The rows of each conjunct."""
        ends = [*self.starts.tolist(), len(self.constant)]
        return [slice(a, b) for a, b in pairwise(ends)]


@dataclass(frozen=True, eq=False)
class Examined:
    """What a batch gave: on each box the `weights` of the rows that bound each conjunct best.

    Of those that stay open, `failed`: points of the root box worth trying, the input to split (-1: none can be), bounds of the inputs of all ReLUs.
    """

    weights: Array
    failed: Index
    points: Array
    items: Index
    known: Array


@dataclass(frozen=True, eq=False)
class Examiner:
    """Examines boxes within one root box."""

    network: Network
    rows: Rows
    lower: Array  # of the root
    upper: Array

    def __call__(self, lower: Array, upper: Array, known: Array | None) -> Examined:
        """Return what a batch of boxes gave; `known` bounds hold on larger boxes, of shape (boxes, 2, inputs of all ReLUs)."""
        at = self.network.activations
        with np.errstate(all="ignore"):
            ends = np.cumsum([0, *(self.network.layers[k].size for k in at)])
            inherited = None if known is None else {k: (known[:, 0, a:b], known[:, 1, a:b]) for k, (a, b) in zip(at, pairwise(ends), strict=True)}
            bounds = propagate(self.network, lower, upper, inherited, planes=True)
            margins, planes = self._margins(bounds, lower, upper)
            worst, weights = self._closed(bounds, lower, upper, margins, planes)
            failed = np.flatnonzero(~(worst > 0))
            points = np.concatenate([np.where(planes[failed] > 0, lower[failed, None], upper[failed, None]),
                                     (lower[failed, None] + upper[failed, None]) / 2], axis=1).reshape(-1, self.network.inputs)
            points = np.concatenate([points, self._descend(points)])
            items = self._items(bounds, failed, margins[failed], planes[failed]) if failed.size else failed
        found = [np.concatenate([side[k][failed] for k in at], axis=1) if at else np.zeros((failed.size, 0)) for side in (bounds.lower, bounds.upper)]
        return Examined(weights, failed, points, items, np.stack(found, axis=1))

    def _descend(self, points: Array) -> Array:
        """Return the most promising points after some steps in the root box that make the largest row of the nearest conjunct smaller."""
        rows = self.rows
        for step in (0.0, *_STEPS):
            values = forward(self.network, points)
            found = points @ rows.inputs.T + values[-1] @ rows.outputs.T + rows.constant
            worst = np.stack([found[:, own].argmax(axis=1) + own.start for own in rows.conjuncts], axis=1)
            least = np.take_along_axis(found, worst, axis=1)
            some = np.argsort(least.min(axis=1), kind="stable")[:_DESCENTS]
            row = worst[some, least[some].argmin(axis=1)]
            slope = rows.inputs[row] + gradient(self.network, [value[some] for value in values], rows.outputs[row])
            points = np.clip(points[some] - step * (self.upper - self.lower) * np.sign(slope), self.lower, self.upper)
        return points

    def _margins(self, bounds: Bounds, lower: Array, upper: Array) -> tuple[Array, Array]:
        """Return (margins, input coefficients) of every row on each box, of shape (boxes, rows, ...)."""
        count, rows = len(lower), self.rows
        found, planes = self._bound(bounds, lower, upper, np.repeat(np.arange(count), len(rows.constant)), np.tile(rows.inputs, (count, 1)),
                                    np.tile(rows.outputs, (count, 1)), np.tile(rows.constant, count))
        found = found - np.tile(_MARGIN * (1 + np.abs(rows.constant)), count)
        return found.reshape(count, -1), planes.reshape(count, -1, self.network.inputs)

    def _bound(self, bounds: Bounds, lower: Array, upper: Array, owner: Index, inputs: Array, outputs: Array, constant: Array) -> tuple[Array, Array]:
        zero = np.zeros_like(lower)
        found, planes = backward(self.network, len(self.network.layers), outputs, constant, owner, bounds, zero, zero)
        planes = planes + inputs
        return found + np.where(planes > 0, planes * lower[owner], planes * upper[owner]).sum(axis=1), planes

    def _closed(self, bounds: Bounds, lower: Array, upper: Array, margins: Array, planes: Array) -> tuple[Array, Array]:
        """Return (worst margin, weights of rows) of each box: a conjunct counts with its best row, or a combination where no row closes it."""
        weights, worst = np.zeros(margins.shape), np.full(len(margins), np.inf)
        for own in self.rows.conjuncts:
            best, choice = margins[:, own].max(axis=1), margins[:, own].argmax(axis=1)
            weights[np.arange(len(best)), own.start + choice] = 1.0
            open_ = np.flatnonzero(~(best > 0))
            if own.stop - own.start > 1 and open_.size:
                found, mixed = self._combine(margins[open_, own], planes[open_, own], lower[open_], upper[open_])
                hope = found > _HOPE * best[open_]
                open_, mixed = open_[hope], mixed[hope]
                found = self._mixed(bounds, lower, upper, open_, own, mixed)
                shut = open_[found > 0]
                weights[shut, own], best[shut] = mixed[found > 0], found[found > 0]
            worst = np.minimum(worst, best)
        return worst, weights

    def _mixed(self, bounds: Bounds, lower: Array, upper: Array, boxes: Index, own: slice, weights: Array) -> Array:
        """Return the margins of combinations of the rows of one conjunct, one on each of the boxes."""
        rows = self.rows
        found, _ = self._bound(bounds, lower, upper, boxes, weights @ rows.inputs[own], weights @ rows.outputs[own], weights @ rows.constant[own])
        return found - _MARGIN * (1 + weights @ np.abs(rows.constant[own]))

    def _combine(self, margins: Array, planes: Array, lower: Array, upper: Array) -> tuple[Array, Array]:
        """Return the margins and weights of combinations of the rows of one conjunct."""
        return combine(planes, margins - np.where(planes > 0, planes * lower[:, None], planes * upper[:, None]).sum(axis=2), lower, upper)

    def _items(self, bounds: Bounds, boxes: Index, margins: Array, planes: Array) -> Index:
        """Return the input to split for each open box, -1 where no input can be split."""
        lower, upper = bounds.lower[0][boxes], bounds.upper[0][boxes]
        width, middle = upper - lower, (lower + upper) / 2
        score = (np.abs(planes) * (margins <= 0)[:, :, None]).sum(axis=1) * width
        # Where no row has a coefficient, nothing but the width tells inputs apart.
        score = score + (0.01 * score.max(axis=1, keepdims=True) + 1e-12) * width / np.maximum(self.upper - self.lower, 1e-300)
        possible = (lower < middle) & (middle < upper)
        tried = np.argsort(np.where(possible, -score, np.inf), axis=1, kind="stable")[:, : min(_TRIED, np.count_nonzero(self.upper > self.lower))]
        if not tried.size:
            return np.full(boxes.size, -1)
        for exact in (False, True):
            deficits = self._ahead(bounds, boxes, margins, planes, tried, exact)
            deficits = np.where(np.take_along_axis(possible, tried, axis=1), np.nan_to_num(deficits, nan=np.inf), np.inf)
            tried = np.take_along_axis(tried, np.argsort(deficits, axis=1, kind="stable")[:, :_EXACT], axis=1)
            if tried.shape[1] == 1:
                break
        item = tried[:, 0]
        return np.where(possible[np.arange(boxes.size), item], item, -1)

    def _ahead(self, bounds: Bounds, boxes: Index, margins: Array, planes: Array, tried: Index, exact: bool) -> Array:
        """Return, for each open box and tried input, the sum of the deficits of all conjuncts on both halves.

        `exact` is whether the halves get bounds of their own.
        """
        count, tries = tried.shape
        lower, upper = bounds.lower[0][boxes], bounds.upper[0][boxes]
        half = np.take_along_axis(upper - lower, tried, axis=1) / 2
        low, high = np.repeat(lower, 2 * tries, axis=0), np.repeat(upper, 2 * tries, axis=0)  # by box, input, half (the upper one first)
        first, item = np.arange(0, 2 * count * tries, 2), tried.ravel()
        low[first, item] = high[first + 1, item] = (low[first, item] + high[first, item]) / 2
        if exact:
            known = {k: (np.repeat(bounds.lower[k][boxes], 2 * tries, axis=0), np.repeat(bounds.upper[k][boxes], 2 * tries, axis=0))
                     for k in self.network.activations}
            halves = propagate(self.network, low, high, known)
        else:
            halves = self._halves(bounds, boxes, tried, half, low, high)
        found, slopes = self._margins(halves, low, high)
        change = np.take_along_axis(planes, tried[:, None], axis=2).transpose(0, 2, 1) * half[:, :, None]
        least = margins[:, None, None] + np.stack([np.maximum(change, 0), np.maximum(-change, 0)], axis=2)  # by the planes of the box itself
        least = least.reshape(found.shape)
        total = np.zeros(len(found))
        for own in self.rows.conjuncts:
            best = np.maximum(found[:, own], least[:, own]).max(axis=1)
            if own.stop - own.start > 1:
                best = np.maximum(best, self._combine(found[:, own], slopes[:, own], low, high)[0])
            total -= np.minimum(best, 0)
        return total.reshape(count, tries, 2).sum(axis=2)

    def _halves(self, bounds: Bounds, boxes: Index, tried: Index, half: Array, low: Array, high: Array) -> Bounds:
        """Return bounds of the inputs of ReLUs on all halves [low, high], from those on their boxes and the planes behind them."""
        tries = tried.shape[1]
        halves = Bounds([low], [high])
        position = np.full(len(bounds.lower[0]), -1)
        position[boxes] = np.arange(boxes.size)
        for k in range(1, len(bounds.lower)):
            if k not in bounds.planes:  # a backward pass needs the inputs of ReLUs only
                halves.lower.append(low)
                halves.upper.append(high)
                continue
            behind = bounds.planes[k]
            some = np.flatnonzero(position[behind.owner] >= 0)
            own, neuron = position[behind.owner[some]], behind.neuron[some, None]
            ends = [np.repeat(side[k][boxes], 2 * tries, axis=0) for side in (bounds.lower, bounds.upper)]
            first = own[:, None] * (2 * tries) + np.arange(0, 2 * tries, 2)
            for sign, end, tighter in ((0, ends[0], np.maximum), (1, ends[1], np.minimum)):
                change = np.take_along_axis(behind.coefficients[sign, some], tried[own], axis=1) * half[own]
                for index, gain in ((first, np.maximum(change, 0)), (first + 1, np.maximum(-change, 0))):
                    found = behind.bound[sign, some, None] + gain
                    end[index, neuron] = tighter(end[index, neuron], -found if sign else found)
            halves.lower.append(ends[0])
            halves.upper.append(ends[1])
        return halves
