# SPDX-License-Identifier: Apache-2.0
"""Linear relaxation of a ReLU network in integers (exact-int): no floating point, the same result on every machine.

The rules are those of `relaxation`; coefficients, constants, bounds and H are integers in units of 2^-Q, weights in units of 2^-P of their
layer. **Invariant** spec(x) >= A.v(x) + c, every step rounding the right side down:
- Dense: A' = floor(A W / 2^P), c' = c + floor(A b / 2^P) - ceil(sum of H over entries with a remainder / 2^Q): a true coefficient exceeds
  its floor by less than one unit.
- Relu: lower slopes are a/255, chords s/2^16: A' = floor(A a / 255) or floor(A s / 2^16), the same deduction; the offset is
  t = ceil(max(-s l, (2^16 - s) u) / 2^16), c gains floor(sum of A t over A < 0 / 2^Q).
- Rationals become floors, and cost one unit times H where they are no multiple of the unit; D, E, radii and norms are rounded up.
Nothing is deducted where nothing was lost, so what is exactly zero stays exactly zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import ceil, floor, isqrt
from typing import TYPE_CHECKING, Any

import numpy as np
from flint import fmpz_mat

from certify.errors import Rejected
from certify.limits import Limits
from certify.readers.formula import Part, Row
from certify.readers.network import Dense, Network, Relu, Scale
from certify.rules.dyadic import integers
from certify.rules.neuron_splits import multipliers
from certify.rules.relaxation import Bounds, ByLayer, Index, Specification, clamp, refined, total

if TYPE_CHECKING:
    from certify.rules.float32 import Rounding

Integers = np.ndarray[Any, Any]
"""An object array of Python integers."""
_ROW_BYTES = 64 << 20
_CHORD = 16
_CALL = 100_000  # the interpreted part of one layer's step, in elementary operations
_MANY = 32  # rows, from which on it pays to make smaller matrices
_LARGE_BITS = 300


class FixedPoint:
    """The rules above for one network; `bits` is Q, `slopes` and `rounding` are as for `Relaxation`."""

    def __init__(self, network: Network, limits: Limits, bits: int, slopes: ByLayer | None = None, rounding: Rounding | None = None) -> None:
        self.network, self.limits, self.bits, self.rounding = network, limits, bits, rounding
        self.unit = 1 << bits  # bounds are in these
        self.sizes = (network.inputs, *(layer.size for layer in network.layers))
        self.part: Part | None = None
        weights = sum(layer.weight.size for layer in network.layers if isinstance(layer, Dense))
        limits.within(300 * weights + 500 * sum(self.sizes), "memory", "memory for the weights, and the bounds of a box, in bytes")
        self._weights: list[tuple[Integers, Integers, int]] = []  # weight, bias, P; a vector of signs where the layer is no matrix
        for layer in network.layers:
            if isinstance(layer, Relu):
                self._weights.append((np.zeros(0, object), np.zeros(0, object), 0))
                continue
            found = [integers(layer.weight) if isinstance(layer, Dense) else (np.full(layer.size, layer.sign), 0), integers(layer.bias)]
            power = max(p for _, p in found)
            weight, bias = (np.array(values, object) << (power - p) for values, p in found)
            self._weights.append((weight, bias, power))
        self._matrices: dict[tuple[int, str], fmpz_mat] = {}
        self._words = 1 + (2 * bits + max((power for *_, power in self._weights), default=0)) // 64
        self._slopes = {k: values.astype(object) for k, values in (slopes or {}).items()}

    def start(self, part: Part) -> tuple[Integers, Integers]:
        """Return the box of a part, rounded outward; bounds from here on are over this part."""
        self.part = part
        lower, upper = self._round(part.lower, floor), self._round(part.upper, ceil)
        self._require_size(np.concatenate([lower, upper]))
        return lower, upper

    def cut(self, lower: Any, upper: Any, theta: float) -> tuple[int, int] | None:
        """Return the ends (of the upper half, of the lower half) of [lower, upper] cut at theta; None unless theta is strictly inside."""
        at = Fraction(theta) * self.unit
        return (floor(at), ceil(at)) if lower < at < upper else None

    def multipliers(self, rows: Sequence[Any]) -> ByLayer:
        """Return beta sigma of split neurons in units; any beta >= 0 will do, so it is rounded down."""
        return multipliers(self.network, [(path, [floor(Fraction(beta) * self.unit) for beta in betas]) for path, betas in rows], object)

    def magnitude(self, bounds: Bounds, k: int) -> Integers:
        """Return H of value k."""
        found: Integers = np.maximum(abs(bounds.lower[k]), abs(bounds.upper[k]))
        return found

    def largest(self, bounds: Bounds) -> float:
        """Return the largest H."""
        return max(float(self.magnitude(bounds, k).max() / self.unit) for k in range(len(bounds.lower)))

    def propagate(self, lower: Integers, upper: Integers, inherited: Bounds | None, chosen: Index | None = None,
                  signs: ByLayer | None = None) -> Bounds:
        """Return bounds on every value over boxes, as `Relaxation.propagate` does."""
        reach = np.maximum(abs(lower), abs(upper))
        if self.rounding is not None:
            self.rounding.require_input(reach.max() / self.unit)
        moved = self._input_error(reach) if self.rounding is not None else 0
        lows, highs = [lower - moved], [upper + moved]
        for k, layer in enumerate(self.network.layers):
            if signs is not None and isinstance(layer, Relu):
                lows[k], highs[k] = clamp(lows[k], highs[k], signs[k])
            self._forward(k, lows, highs)
            if inherited is not None:
                lows[-1], highs[-1] = np.maximum(lows[-1], inherited.lower[k + 1]), np.minimum(highs[-1], inherited.upper[k + 1])
            if refined(self.network, k, self.part is not None and self.part.ball is not None):
                self._refine(k, lows, highs, lower, upper, chosen)
            self._require_size(lows[-1])
            self._require_size(highs[-1])
        return Bounds(tuple(lows), tuple(highs))

    def specify(self, rows: Sequence[tuple[Row, Fraction]]) -> Specification:
        """Return the sum of weighted rows in units, with what its floors lack."""
        sides: list[Any] = []
        inputs, outputs = [(row.inputs, w) for row, w in rows], [(row.outputs, w) for row, w in rows]
        for size, terms in ((self.network.inputs, inputs), (self.network.outputs, outputs)):
            coefficients, residue = np.full(size, 0, object), np.full(size, 0, object)
            for index, value in total(terms).items():
                coefficients[index] = floor(value * self.unit)
                residue[index] = int((value * self.unit).denominator != 1)
            self._require_size(coefficients)
            sides.append((coefficients, residue))
        constant: Any = floor(sum((weight * row.constant for row, weight in rows), Fraction(0)) * self.unit)
        self._require_size(np.array([constant], object))
        return Specification(sides[0][0], sides[1][0], sides[0][1], sides[1][1], constant)

    def bound(self, rows: Sequence[Specification], owner: Index, bounds: Bounds, lower: Integers, upper: Integers,
              chosen: Index | None = None, multipliers: ByLayer | None = None) -> Integers:
        """Return a lower bound of each specification over the box of its owner, as `Relaxation.bound` does."""
        last = len(self.network.layers)
        found: list[Integers] = [np.zeros(0, object)]
        for start in range(0, len(rows), self._block(last)):
            some, whose = rows[start : start + self._block(last)], owner[start : start + self._block(last)]
            reach = np.maximum(abs(lower), abs(upper))[whose]
            constant = np.array([row.constant for row in some], object)
            constant = constant - self._ceil((np.stack([row.output_residue for row in some]) * self.magnitude(bounds, last)[whose]).sum(axis=1))
            constant = constant - self._ceil((np.stack([row.input_residue for row in some]) * reach).sum(axis=1))
            added = np.stack([row.inputs for row in some])
            picked = None if chosen is None else chosen[start : start + self._block(last)]
            taken = None if multipliers is None else {j: values[start : start + self._block(last)] for j, values in multipliers.items()}
            outputs = np.stack([row.outputs for row in some])
            found.append(self._lower_bounds(outputs, constant, whose, last, bounds, lower, upper, added, picked, taken))
        return np.concatenate(found)

    def _lower_bounds(self, rows: Integers, constant: Integers, owner: Index, k: int, bounds: Bounds, lower: Integers, upper: Integers,
                      added: Integers | None, chosen: Index | None, multipliers: ByLayer | None = None) -> Integers:
        for j in range(k - 1, -1, -1):
            layer, (weight, bias, power) = self.network.layers[j], self._weights[j]
            self.limits.spend(_CALL + 300 * self._words * rows.shape[0] * (self.sizes[j] + self.sizes[j + 1]), "bounding backward in integers")
            if self.rounding is not None:
                constant = constant - self._ceil((abs(rows) * self._radius(j, bounds)[owner]).sum(axis=1))
            if isinstance(layer, Relu):
                rows, constant = self._relu(j, rows, constant, owner, bounds, chosen)
                rows = rows if multipliers is None else rows - multipliers[j]
                self._require_size(rows)
                continue
            constant = constant + ((rows * bias).sum(axis=1) >> power)
            raw = self._back(rows, j, bounds) if isinstance(layer, Dense) else rows * weight
            rows, constant = self._floor(raw, power, constant, self.magnitude(bounds, j)[owner])
            self._require_size(rows)
        low, high = lower[owner], upper[owner]
        if self.rounding is not None:
            constant = constant - self._ceil((abs(rows) * self._input_error(np.maximum(abs(low), abs(high)))).sum(axis=1))
        rows = rows if added is None else rows + added
        found: Integers = constant + ((np.maximum(rows, 0) * low + np.minimum(rows, 0) * high).sum(axis=1) >> self.bits)
        if self.part is not None and self.part.ball is not None:
            found = np.maximum(found, constant + self._ball(rows, low, high))
        return found

    def _ball(self, rows: Integers, low: Integers, high: Integers) -> Integers:
        """Return a lower bound of rows.x over the ball and the box, by the rule of `norm_ball`."""
        ball = self.part.ball if self.part is not None else None
        if ball is None:
            raise ValueError("the part has no ball")
        centre, factor = self._round(ball.centre, floor), self._round([1 / w for w in ball.weight], ceil)
        radius, residue = ceil(ball.radius * self.unit), np.array([int((v * self.unit).denominator != 1) for v in ball.centre], object)
        room = np.where(rows > 0, centre - low, high - centre)
        best: Integers | None = None
        for least in (np.full(len(centre), 0, object), (factor * radius >> self.bits) * 999 // 1000):
            free = np.where(room > least, rows, 0)
            rest = rows - free
            gain = (free * centre + np.maximum(rest, 0) * low + np.minimum(rest, 0) * high).sum(axis=1) >> self.bits
            scaled = abs(free) * factor
            norm = np.array([_root(int(v)) for v in (scaled * scaled).sum(axis=1)], object) if ball.norm == "l2" else scaled.max(axis=1)
            found = gain - self._ceil((abs(free) * residue).sum(axis=1)) + (-(norm * radius) >> (2 * self.bits))
            best = found if best is None else np.maximum(best, found)
        return found if best is None else best

    def _forward(self, k: int, lows: list[Integers], highs: list[Integers]) -> None:
        """Append interval bounds of value k + 1."""
        layer, (_, bias, power), low, high = self.network.layers[k], self._weights[k], lows[k], highs[k]
        known = Bounds(tuple(lows), tuple(highs))
        self.limits.spend(_CALL + 500 * self._words * low.shape[0] * (self.sizes[k] + self.sizes[k + 1]), "interval bounds in integers")
        if isinstance(layer, Relu):
            low, high = np.maximum(low, 0), np.maximum(high, 0)
        else:
            if isinstance(layer, Scale):
                first, second = (low, high) if layer.sign > 0 else (-high, -low)
                ends = (first << power, second << power)
            else:
                ends = (self._product(low, k, "W+") + self._product(high, k, "W-"), self._product(high, k, "W+") + self._product(low, k, "W-"))
            low, high = (ends[0] + (bias << self.bits)) >> power, -(-(ends[1] + (bias << self.bits)) >> power)
        moved = self._radius(k, known) if self.rounding is not None else 0
        lows.append(low - moved)
        highs.append(high + moved)

    def _refine(self, k: int, lows: list[Integers], highs: list[Integers], lower: Integers, upper: Integers, chosen: Index | None) -> None:
        """Intersect the bounds of value k + 1 with backward bounds, for the neurons that are still unstable."""
        low, high = lows[k + 1], highs[k + 1]
        boxes, neurons = np.nonzero((low < 0) & (high > 0))
        known = Bounds(tuple(lows), tuple(highs))
        for start in range(0, boxes.size, self._block(k + 1)):
            owner, neuron = boxes[start : start + self._block(k + 1)], neurons[start : start + self._block(k + 1)]
            for sign, ends in ((1, low), (-1, high)):
                first = np.full((owner.size, self.sizes[k + 1]), 0, object)
                first[np.arange(owner.size), neuron] = sign * self.unit
                found = self._lower_bounds(first, np.full(owner.size, 0, object), owner, k + 1, known, lower, upper, None,
                                           None if chosen is None else chosen[owner])
                ends[owner, neuron] = np.maximum(ends[owner, neuron], found) if sign > 0 else np.minimum(ends[owner, neuron], -found)

    def _relu(self, j: int, rows: Integers, constant: Integers, owner: Index, bounds: Bounds, chosen: Index | None) -> tuple[Integers, Integers]:
        low: Integers = bounds.lower[j]
        high: Integers = bounds.upper[j]
        crossing, active = (low < 0) & (high > 0), low >= 0
        result = np.where(active[owner], rows, 0)
        columns = np.flatnonzero(crossing.any(axis=0))  # the others are kept or dropped whole, without loss
        rows, crossing, low, high = rows[:, columns], crossing[:, columns], low[:, columns], high[:, columns]
        chord = np.where(crossing, (high << _CHORD) // np.where(crossing, high - low, 1), 0)
        offset = np.where(crossing, -(-np.maximum(-chord * low, ((1 << _CHORD) - chord) * high) >> _CHORD), 0)
        rising = np.where(high >= -low, 255, 0).astype(object)[owner]
        if chosen is not None and self._slopes:
            rising = np.where((chosen >= 0)[:, None], self._slopes[j][chosen][:, columns], rising)
        falling = rows < 0
        scaled = rows * np.where(falling, chord[owner], rising)
        quotient = np.where(falling, scaled >> _CHORD, scaled // 255)
        whole = np.where(falling, quotient << _CHORD, quotient * 255) == scaled
        mine = crossing[owner]
        result[:, columns] = np.where(mine, quotient, result[:, columns])
        lost = np.where(mine & ~whole, self.magnitude(bounds, j)[:, columns][owner], 0).sum(axis=1)
        gain = np.where(mine & falling, rows * offset[owner], 0).sum(axis=1) >> self.bits
        return result, constant + gain - self._ceil(lost)

    def _radius(self, k: int, bounds: Bounds) -> Integers:
        """Return D: how far a float32 execution of layer k is from the layer over the reals."""
        if self.rounding is None:
            raise ValueError("float32 executions were not asked for")
        layer, (_, bias, power), rounding = self.network.layers[k], self._weights[k], self.rounding.of(k)
        size, offset = self.magnitude(bounds, k), np.abs(bias) << self.bits
        growth: Integers = np.full(size.shape, 0, object)
        if isinstance(layer, Dense):
            growth = -(-(self._product(size, k, "|W|") + offset) >> power)
        elif isinstance(layer, Scale):
            growth = size - (-offset >> power)
        rounding.require(growth.max() / self.unit)
        fixed = self._round([Fraction(v) for v in rounding.fixed.tolist()], ceil)
        summed = fixed + (size.sum(axis=1, keepdims=True) if isinstance(layer, Dense) else size if isinstance(layer, Scale) else 0)
        found: Integers = _times(growth, rounding.relative) + _times(summed, Fraction(rounding.absolute))
        return found

    def _input_error(self, reach: Integers) -> Integers:
        """Return E: how far the float32 input that is run is from x."""
        found: Integers = _times(reach, Fraction(1, 1 << 24)) + ceil(Fraction(self.unit, 1 << 126))
        return found

    def _back(self, rows: Integers, k: int, bounds: Bounds) -> Integers:
        """Return rows times W of layer k; many rows leave out what is 0: their columns, and coefficients of ReLUs that are 0 on every region."""
        weight = self._weights[k][0]
        (r, _), n = rows.shape, weight.shape[1]
        dead = k > 0 and isinstance(self.network.layers[k - 1], Relu) and self.rounding is None
        if r < _MANY:
            return self._product(rows, k, "W")
        used, live = np.flatnonzero((rows != 0).any(axis=0)), np.flatnonzero((bounds.upper[k - 1] > 0).any(axis=0)) if dead else np.arange(n)
        self.limits.spend(8 * self._words * (r * used.size * live.size + 40 * (r * used.size + r * n + weight.size)), "products in integers")
        small = fmpz_mat(used.size, live.size, weight[np.ix_(used, live)].reshape(-1).tolist())
        found = fmpz_mat(r, used.size, rows[:, used].reshape(-1).tolist()) * small
        result: Integers = np.full((r, n), 0, object)
        result[:, live] = np.array([int(v) for v in found.entries()], object).reshape(r, live.size)
        return result

    def _product(self, rows: Integers, k: int, which: str) -> Integers:
        """Return rows times the matrix of layer k, exactly: W, or the transpose of W+, W- or |W|."""
        weight = self._weights[k][0]
        if (k, which) not in self._matrices:
            chosen: Integers = weight if which == "W" else {"W+": np.maximum(weight, 0), "W-": np.minimum(weight, 0), "|W|": abs(weight)}[which].T
            self._matrices[k, which] = fmpz_mat(chosen.shape[0], chosen.shape[1], chosen.reshape(-1).tolist())
        matrix = self._matrices[k, which]
        (r, m), n = rows.shape, matrix.ncols()
        self.limits.spend(8 * self._words * (r * m * n + 40 * (r * m + r * n)), "products in integers")
        found = fmpz_mat(r, m, rows.reshape(-1).tolist()) * matrix
        return np.array([int(v) for v in found.entries()], object).reshape(r, n)

    def _floor(self, raw: Integers, power: int, constant: Integers, size: Integers) -> tuple[Integers, Integers]:
        """Return floor(raw / 2^power), and the constant less one unit times H for each entry that lost something."""
        quotient = raw >> power
        lost = np.where((quotient << power) != raw, size, 0).sum(axis=1)
        return quotient, constant - self._ceil(lost)

    def _ceil(self, sums: Integers) -> Integers:
        """Return sums of products of two integers in units, in units, rounded up."""
        found: Integers = -(-sums >> self.bits)
        return found

    def _round(self, values: Sequence[Fraction], direction: Any) -> Integers:
        return np.array([direction(v * self.unit) for v in values], object)

    def _block(self, k: int) -> int:
        return max(1, _ROW_BYTES // ((64 + self.bits // 4) * max(self.sizes[: k + 1])))

    def _require_size(self, values: Integers) -> None:
        if bool((abs(values) > self.unit << _LARGE_BITS).any()):
            raise Rejected("number-too-large", "bounds or coefficients exceed 2^300 in size", fix="such a network or region can't be checked")


def _root(value: int) -> int:
    """Return the square root, rounded up."""
    root = isqrt(value)
    return root + (root * root != value)


def _times(values: Integers, factor: Fraction) -> Integers:
    """Return values times a factor >= 0, rounded up."""
    found: Integers = -(-values * factor.numerator // factor.denominator)
    return found
