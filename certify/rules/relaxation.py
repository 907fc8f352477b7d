# SPDX-License-Identifier: Apache-2.0
"""Linear relaxation of a ReLU network with outward-rounded binary64 (f64-gamma): interval bounds and backward (CROWN) bounds.

Notation: value 0 is the input, value k + 1 the output of layer k; on the current region H bounds |value| componentwise. fl = computed
in binary64. S = 2^-300: bounds and coefficients are 0 or at least S in size and at most 2^300, weights are 0 or in
[2^-220, 2^210]; hence no product or sum of products underflows or overflows, with or without flush-to-zero.

Backward pass: **invariant** spec(x) >= A.v(x) + c for all x of the region, where A, c are the exact values of the stored doubles.
- Snap: an entry 0 < |a| < S of A becomes 0; costs S times the sum of H over these entries.
- Dense v = W h + b with m rows: A' = fl(A W), c' = c + fl(A b) - gamma_(m+1) (|A|.G), G >= |W|H + |b|. Proof: |(A W)_j - A'_j|
  <= gamma_m (|A||W|)_j, so replacing A W by A' costs gamma_m |A||W|H; |A b - fl(A b)| <= gamma_m |A||b|; the sum is <= gamma_m |A|G.
- Relu on [l, u]: relu(z) >= alpha z for alpha in [0, 1]; relu(z) <= s z + t for s in [0, 1] with t >= max(-s l, (1 - s) u), since relu(z) - s z
  is convex and has its maximum at an end. l >= 0: the identity; u <= 0: zero. Slopes are multiples of 2^-30, so 1 - s is exact. A'_i = fl(A_i
  alpha_i) or fl(A_i s_i) costs 1.01 u |A'|.H; c gains the sum of A_i t_i over A_i < 0, less gamma_(2m+2) |A-|.t.
- Float32 executions (`float32`): layer k computes v = f(h) + d with |d| <= D; costs |A|.D. The input that is run differs from x by at most
  E = 2^-24 |x| + 2^-126; costs |A|.E, before input coefficients of the row, which are of x itself, are added.
- Input box [lo, hi]: for any m and r >= max(hi - m, m - lo), spec >= c + A.m - |A|.r, less gamma_(3n+8) |A|.X, X = max(|lo|, |hi|, S): for
  m near the middle |m| + r <= X + S and a few roundings, below 2.1 X, so the two sums and their difference are off by less. In a ball, for any
  split A = B + (A - B) by coordinates: c + (infimum of B over the ball, `norm_ball`) + (bound of A - B over the box); the largest is taken.
Interval pass: W+ l + W- u + b rounded outward by gamma_(2n+3) G, and by D. Both bounds are valid, so their intersection is.
Computed error terms are sums of non-negative numbers, KAPPA covers their own rounding. Source: Zhang et al., CROWN, 2018.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from certify.errors import Rejected
from certify.limits import Limits
from certify.readers.formula import Part, Row
from certify.readers.network import Dense, Network, Relu, Scale
from certify.rules.balls import KAPPA, LARGE, SNAP, Array, U, above, below, down, gamma, require_size, snap_lower, snap_upper, up
from certify.rules.products import dot, matmul, matmul_transposed

if TYPE_CHECKING:
    from certify.rules.float32 import Rounding
    from certify.rules.norm_ball import NormBall

Index = np.ndarray[Any, np.dtype[np.int64]]
ByLayer = Mapping[int, np.ndarray[Any, Any]]
"""Arrays by ReLU layer."""
_ROW_BYTES = 64 << 20
_STEP = 2.0**30
_MANY = 32  # rows, from which on it pays to make smaller matrices
_CALL = 100_000  # the interpreted part of one layer's step, in elementary operations


@dataclass(frozen=True, eq=False)
class Bounds:
    """Bounds on every value of the network for a batch of boxes: `lower[k]`, `upper[k]` of shape (boxes, size of value k).

    `derived` keeps what was computed from them, by name and layer; it is shared only by bounds that agree on the values below that layer.
    """

    lower: tuple[Array, ...]
    upper: tuple[Array, ...]
    derived: dict[tuple[str, int], Any] = field(default_factory=dict)

    def take(self, boxes: list[int]) -> Bounds:
        """Return the bounds of some boxes of the batch."""
        return Bounds(tuple(a[boxes] for a in self.lower), tuple(a[boxes] for a in self.upper))


def stack(bounds: list[Bounds]) -> Bounds:
    """Return one batch of all boxes in `bounds`."""
    return Bounds(tuple(np.concatenate(level) for level in zip(*(b.lower for b in bounds), strict=True)),
                  tuple(np.concatenate(level) for level in zip(*(b.upper for b in bounds), strict=True)))


@dataclass(frozen=True, eq=False)
class Specification:
    """g with double coefficients: g(x, y) >= inputs.x + outputs.y + constant - input_residue.|x| - output_residue.|y|."""

    inputs: Array
    outputs: Array
    input_residue: Array
    output_residue: Array
    constant: float


class Relaxation:
    """The rules above for one network; weights outside [2^-220, 2^210] are refused (`number-too-large`).

    `slopes` are sets of lower slopes a/255 by ReLU layer, one row a set; `rounding` makes the bounds hold for float32 executions.
    """

    unit = 1  # bounds are in these

    def __init__(self, network: Network, limits: Limits, slopes: ByLayer | None = None, rounding: Rounding | None = None) -> None:
        self.network, self.limits = network, limits
        self.rounding: Any = rounding
        self.sizes = (network.inputs, *(layer.size for layer in network.layers))
        self.ball: NormBall | None = None
        weights = sum(layer.weight.size for layer in network.layers if isinstance(layer, Dense))
        limits.within(32 * weights + 100 * sum(self.sizes), "memory", "memory for the weights, and the bounds of a box, in bytes")
        self._weights: dict[int, tuple[Array, Array, Array]] = {}  # |W|, W+ and W- of each dense layer
        for index, layer in enumerate(network.layers):
            constants = [layer.weight, layer.bias] if isinstance(layer, Dense) else [layer.bias] if isinstance(layer, Scale) else []
            for values in constants:
                sizes = np.abs(values[values != 0])
                if sizes.size and (sizes.min() < 2.0**-220 or sizes.max() > 2.0**210):
                    raise Rejected("number-too-large", f"a weight of layer {index} is outside [2^-220, 2^210] in size",
                                   fix="such a network can't be checked in f64-gamma")
            if isinstance(layer, Dense):
                self._weights[index] = np.abs(layer.weight), np.maximum(layer.weight, 0.0), np.minimum(layer.weight, 0.0)
        self._slopes = {k: np.rint(values * (_STEP / 255)) / _STEP for k, values in (slopes or {}).items()}

    def start(self, part: Part) -> tuple[Array, Array]:
        """Return the box of a part, rounded outward; bounds from here on are over this part."""
        self.ball = None
        if part.ball is not None:
            from certify.rules.norm_ball import NormBall
            self.ball = NormBall(part.ball)
        return np.array([below(v) for v in part.lower]), np.array([above(v) for v in part.upper])

    def cut(self, lower: Any, upper: Any, theta: float) -> tuple[float, float] | None:
        """Return the ends (of the upper half, of the lower half) of [lower, upper] cut at theta; None unless theta is strictly inside."""
        return (theta, theta) if lower < theta < upper else None

    def multipliers(self, rows: Sequence[Any]) -> ByLayer:
        """Return beta sigma of split neurons, one row a row, given each row's path and betas."""
        from certify.rules.neuron_splits import multipliers
        return multipliers(self.network, rows, np.float64)

    def magnitude(self, bounds: Bounds, k: int) -> Array:
        """Return H of value k: max(|lower|, |upper|), at least S."""
        return np.maximum(np.maximum(-bounds.lower[k], bounds.upper[k]), SNAP)

    def largest(self, bounds: Bounds) -> float:
        """Return the largest H."""
        return max(float(self.magnitude(bounds, k).max()) for k in range(len(bounds.lower)))

    def propagate(self, lower: Array, upper: Array, inherited: Bounds | None, chosen: Index | None = None, signs: ByLayer | None = None) -> Bounds:
        """Return bounds on every value over boxes [lower, upper] of shape (boxes, inputs), rounded outward by the caller.

        `inherited` bounds hold for larger boxes. Inputs of activations that the interval pass leaves unstable are bounded backward, with
        the slope set `chosen` for each box (-1: the default slopes), on the part of the box that `signs` select (`neuron_splits`).
        """
        self.limits.spend(_CALL * len(self.network.layers), "interval bounds")
        lows, highs = [snap_lower(lower)], [snap_upper(upper)]
        if self.rounding is not None:
            self.rounding.require_input(float(_reach(lower, upper).max()))
            moved = self.rounding.input_error(_reach(lower, upper))
            lows, highs = [snap_lower(down(lower - moved))], [snap_upper(up(upper + moved))]
        derived: dict[tuple[str, int], Any] = {}  # of values that are final: those up to k when layer k is bounded
        for k, layer in enumerate(self.network.layers):
            if signs is not None and isinstance(layer, Relu):
                lows[k], highs[k] = clamp(lows[k], highs[k], signs[k])
            self._forward(k, lows, highs, derived)
            if inherited is not None:
                lows[-1], highs[-1] = np.maximum(lows[-1], inherited.lower[k + 1]), np.minimum(highs[-1], inherited.upper[k + 1])
            if refined(self.network, k, self.ball is not None):
                self._refine(k, lows, highs, derived, lower, upper, chosen)
            require_size(lows[-1], f"bounds behind layer {k}")
            require_size(highs[-1], f"bounds behind layer {k}")
        return Bounds(tuple(lows), tuple(highs))

    def specify(self, rows: Sequence[tuple[Row, Fraction]]) -> Specification:
        """Return the sum of weighted rows, formed in rationals, with its coefficients rounded to doubles."""
        sides = []
        inputs, outputs = [(row.inputs, w) for row, w in rows], [(row.outputs, w) for row, w in rows]
        for size, terms in ((self.network.inputs, inputs), (self.network.outputs, outputs)):
            coefficients, residue = np.zeros(size), np.zeros(size)
            for index, value in total(terms).items():
                near = below(value)
                near = 0.0 if abs(near) < SNAP else near
                lost = abs(value - Fraction(near))
                coefficients[index], residue[index] = near, max(above(lost), SNAP) if lost else 0.0
            sides.append((coefficients, residue))
        constant = below(sum((weight * row.constant for row, weight in rows), Fraction(0)))
        if abs(constant) > LARGE or any(bool((np.abs(values) > LARGE).any()) for side in sides for values in side):
            raise Rejected("number-too-large", "a coefficient of the property exceeds 2^300 in size",
                           fix="such a property can't be checked in f64-gamma")
        return Specification(sides[0][0], sides[1][0], sides[0][1], sides[1][1], constant)

    def bound(self, rows: Sequence[Specification], owner: Index, bounds: Bounds, lower: Array, upper: Array, chosen: Index | None = None,
              multipliers: ByLayer | None = None) -> Array:
        """Return a lower bound of each specification over the box [lower, upper] of its owner, with the slope set `chosen` for each row.

        `multipliers` are beta sigma of the neurons that the row's region is split on, one row a row.
        """
        last = len(self.network.layers)
        block = max(1, _ROW_BYTES // (8 * max(self.sizes)))
        found: list[Array] = [np.zeros(0)]
        for start in range(0, len(rows), block):
            some, whose = rows[start : start + block], owner[start : start + block]
            picked = None if chosen is None else chosen[start : start + block]
            taken = None if multipliers is None else {j: values[start : start + block] for j, values in multipliers.items()}
            lost = dot(np.stack([row.output_residue for row in some]), self.magnitude(bounds, last)[whose])
            lost = lost + dot(np.stack([row.input_residue for row in some]), _reach(lower, upper)[whose])
            constant = down(np.array([row.constant for row in some]) - KAPPA * lost)
            added = np.stack([row.inputs for row in some])
            found.append(self.lower_bounds(np.stack([row.outputs for row in some]), constant, whose, last, bounds, lower, upper,
                                           added if bool(added.any()) else None, picked, taken))
        return np.concatenate(found)

    def lower_bounds(self, coefficients: Array, constant: Array, owner: Index, k: int, bounds: Bounds, lower: Array, upper: Array,
                     added: Array | None = None, chosen: Index | None = None, multipliers: ByLayer | None = None) -> Array:
        """Return a lower bound of each row coefficients.value_k + constant over the box [lower, upper] of its owner, an index of the batch.

        `bounds` hold on larger boxes; `added` are exact coefficients of the inputs, one row of them a row, added at the input.
        """
        self.limits.spend(_CALL * (k + 1) + 10 * coefficients.shape[0] * sum(self.sizes[: k + 1]), "bounding backward through the network")
        # Outputs of ReLUs that are 0 on every region of the batch need no coefficients; `columns` are those that are kept, until the next
        # dense layer makes all coefficients again. Without one below, nothing is dropped.
        drop = coefficients.shape[0] >= _MANY and multipliers is None and self.rounding is None
        columns: Any = slice(None)
        for j in range(k - 1, -1, -1):
            layer = self.network.layers[j]
            if drop and isinstance(columns, slice):
                columns = self._live(j, bounds)
                coefficients = coefficients[:, columns]
            coefficients, size, constant = _snap(coefficients, constant, _of(self.magnitude(bounds, j + 1)[:, columns], owner))
            if self.rounding is not None:
                constant = _spend(constant, 0.0, dot(size, _of(self._radius(j, bounds), owner)))
            if isinstance(layer, Relu):
                coefficients, constant = self._relu(j, coefficients, constant, owner, bounds, chosen, columns)
                if multipliers is not None:  # multiples of 2^-352, as A is: the difference does not underflow
                    coefficients = coefficients - np.where(np.abs(multipliers[j]) < SNAP, 0.0, multipliers[j])
                    constant = down(constant - KAPPA * 1.01 * U * dot(np.abs(coefficients), _of(self.magnitude(bounds, j), owner)))
            elif isinstance(layer, Dense):
                growth = gamma(layer.size + 1) * dot(size, _of(self._growth(j, bounds)[:, columns], owner))
                constant = _spend(constant, dot(coefficients, layer.bias[columns]), growth)
                self.limits.spend((coefficients.shape[0] + len(bounds.lower[0])) * layer.weight.size, "bounding backward through the network")
                weight = layer.weight[columns]
                columns = self._live(j - 1, bounds) if drop else slice(None)
                coefficients = matmul(coefficients, np.ascontiguousarray(weight[:, columns]), self.limits.blas)
            else:
                constant = _spend(constant, dot(coefficients, layer.bias[columns]), gamma(layer.size + 1) * dot(size, np.abs(layer.bias[columns])))
                coefficients = layer.sign * coefficients
        if coefficients.shape[1] != self.network.inputs:
            raise RuntimeError("coefficients were dropped and not made again")
        low, high, reach = snap_lower(lower), snap_upper(upper), _of(_reach(lower, upper), owner)
        if self.rounding is not None:
            coefficients, size, constant = _snap(coefficients, constant, _of(self.magnitude(bounds, 0), owner))
            constant = _spend(constant, 0.0, dot(size, self.rounding.input_error(reach)))
        if added is not None:
            coefficients = coefficients + added
            constant = down(constant - KAPPA * 1.01 * U * dot(np.abs(coefficients), reach))
        coefficients, size, constant = _snap(coefficients, constant, reach)
        middle = (low + high) / 2
        half = up(np.maximum(high - middle, middle - low))
        gain = dot(coefficients, _of(middle, owner)) - dot(size, _of(half, owner))
        found = _spend(constant, gain, gamma(3 * self.network.inputs + 8) * dot(size, reach))
        return found if self.ball is None else np.maximum(found, self.ball.lower_bounds(coefficients, constant, _of(low, owner), _of(high, owner)))

    def _live(self, j: int, bounds: Bounds) -> Any:
        """Return the neurons of layer j that are not 0 on every region of the batch; all, unless it is a ReLU with a dense layer below."""
        if j < 0 or not isinstance(self.network.layers[j], Relu) or not any(isinstance(layer, Dense) for layer in self.network.layers[:j]):
            return slice(None)
        if ("live", j) not in bounds.derived:
            bounds.derived["live", j] = np.flatnonzero((bounds.upper[j] > 0).any(axis=0))
        return bounds.derived["live", j]

    def _forward(self, k: int, lows: list[Array], highs: list[Array], derived: dict[tuple[str, int], Any]) -> None:
        """Append interval bounds of value k + 1."""
        layer, low, high = self.network.layers[k], lows[k], highs[k]
        known = Bounds(tuple(lows), tuple(highs), derived)
        if isinstance(layer, Relu):
            low, high = np.maximum(low, 0.0), np.maximum(high, 0.0)
        elif isinstance(layer, Scale):
            first, second = (low, high) if layer.sign > 0 else (-high, -low)
            low, high = down(first + layer.bias), up(second + layer.bias)
        else:
            self.limits.spend(5 * low.shape[0] * layer.weight.size, "interval bounds")
            _, positive, negative = self._weights[k]
            growth = gamma(2 * self.sizes[k] + 3) * self._growth(k, known)
            ends = [matmul_transposed(first, positive, self.limits.blas) + matmul_transposed(second, negative, self.limits.blas)
                    for first, second in ((low, high), (high, low))]
            low, high = _spend(ends[0], layer.bias, growth), -_spend(-ends[1], -layer.bias, growth)
        if self.rounding is not None:
            moved = self._radius(k, known)
            low, high = down(low - moved), up(high + moved)
        lows.append(snap_lower(low))
        highs.append(snap_upper(high))

    def _refine(self, k: int, lows: list[Array], highs: list[Array], derived: dict[tuple[str, int], Any], lower: Array, upper: Array,
                chosen: Index | None) -> None:
        """Intersect the bounds of value k + 1 with backward bounds, for the neurons that are still unstable."""
        layer, low, high = self.network.layers[k], lows[k + 1], highs[k + 1]
        boxes, neurons = np.nonzero((low < 0) & (high > 0))
        known = Bounds(tuple(lows), tuple(highs), derived)
        moved = self._radius(k, known) if self.rounding is not None else None
        block = max(1, _ROW_BYTES // (16 * max(self.sizes[: k + 2])))
        for start in range(0, boxes.size, block):
            owner, neuron = boxes[start : start + block], neurons[start : start + block]
            if isinstance(layer, Dense):  # +-z_i = +-(W_i h + b_i), exactly
                first, constant = layer.weight[neuron], layer.bias[neuron]
            else:
                first = np.zeros((owner.size, layer.size))
                first[np.arange(owner.size), neuron] = layer.sign if isinstance(layer, Scale) else 1
                constant = layer.bias[neuron] if isinstance(layer, Scale) else np.zeros(owner.size)
            rows, both, twice = np.concatenate([first, -first]), np.concatenate([constant, -constant]), np.concatenate([owner, owner])
            both = both if moved is None else down(both - np.tile(moved[owner, neuron], 2))
            found = self.lower_bounds(rows, both, twice, k, known, lower, upper, None, None if chosen is None else chosen[twice])
            low[owner, neuron] = snap_lower(np.maximum(low[owner, neuron], found[: owner.size]))
            high[owner, neuron] = snap_upper(np.minimum(high[owner, neuron], -found[owner.size :]))

    def _relu(self, j: int, coefficients: Array, constant: Array, owner: Index, bounds: Bounds, chosen: Index | None,
              columns: Any) -> tuple[Array, Array]:
        if ("lines", j) not in bounds.derived:
            bounds.derived["lines", j] = _lines(bounds.lower[j], bounds.upper[j])
        crossing, slope, chord, offset = (_of(values[:, columns], owner) for values in bounds.derived["lines", j])
        if chosen is not None and self._slopes:
            slope = np.where((chosen >= 0)[:, None] & (crossing > 0), self._slopes[j][chosen][:, columns], slope)
        falling = np.minimum(coefficients, 0.0)
        result = np.maximum(coefficients, 0.0) * slope + falling * chord  # one of the two is 0
        gain = dot(falling, offset)
        lost = 1.01 * U * dot(np.abs(result), _of(self.magnitude(bounds, j)[:, columns], owner)) - gamma(2 * self.sizes[j] + 2) * gain
        return result, _spend(constant, gain, lost)

    def _growth(self, k: int, bounds: Bounds) -> Array:
        """Return G >= |W|H + |b| of the dense layer k."""
        layer = self.network.layers[k]
        if not isinstance(layer, Dense):
            raise ValueError("growth is of dense layers")
        if ("growth", k) not in bounds.derived:
            sums = matmul_transposed(self.magnitude(bounds, k), self._weights[k][0], self.limits.blas)
            bounds.derived["growth", k] = KAPPA * (sums + np.abs(layer.bias))
        found: Array = bounds.derived["growth", k]
        return found

    def _radius(self, k: int, bounds: Bounds) -> Array:
        """Return D: how far a float32 execution of layer k is from the layer over the reals."""
        growth = self._growth(k, bounds) if isinstance(self.network.layers[k], Dense) else None
        found: Array = self.rounding.radius(k, self.magnitude(bounds, k), growth)
        return found


def refined(network: Network, k: int, ball: bool) -> bool:
    """Return whether the output of layer k is bounded backward: it enters a ReLU, and its interval bounds over the region are not tight."""
    layers = network.layers
    return k + 1 < len(layers) and isinstance(layers[k + 1], Relu) and not isinstance(layers[k], Relu) and (
        ball or any(isinstance(before, Relu) for before in layers[:k]))


def _lines(low: Array, high: Array) -> tuple[Array, Array, Array, Array]:
    """Return (1 where it crosses 0, default lower slope, chord slope, chord offset) of each ReLU on [low, high]."""
    crossing = (low < 0) & (high > 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        chord = np.floor(np.where(crossing, high / (high - low), 0.0) * _STEP) / _STEP
    chord = np.where(low >= 0, 1.0, np.where(crossing, np.clip(chord, 0.0, 1.0), 0.0))
    offset = np.where(crossing, np.maximum(up(-chord * low), up((1.0 - chord) * high)), 0.0)
    return crossing.astype(np.float64), np.where((low >= 0) | (crossing & (high >= -low)), 1.0, 0.0), chord, offset


def clamp(low: np.ndarray[Any, Any], high: np.ndarray[Any, Any], signs: np.ndarray[Any, Any]) -> tuple[Any, Any]:
    """Return bounds of the inputs of a ReLU layer on the part where inputs with a positive sign are >= 0, with a negative one <= 0."""
    return np.where(signs > 0, np.maximum(low, 0), low), np.where(signs < 0, np.minimum(high, 0), high)


def total(terms: Iterable[tuple[Mapping[int, Fraction], Fraction]]) -> dict[int, Fraction]:
    """Return the sum of weighted linear forms."""
    found: dict[int, Fraction] = {}
    for term, weight in terms:
        for index, value in term.items():
            found[index] = found.get(index, Fraction(0)) + weight * value
    return found


def _reach(lower: Array, upper: Array) -> Array:
    """Return X = max(|lower|, |upper|), at least S."""
    return np.maximum(np.maximum(np.abs(snap_lower(lower)), np.abs(snap_upper(upper))), SNAP)


def _of(values: np.ndarray[Any, Any], owner: Index) -> Array:
    """Return the row of each owner, or the only row as a vector where there is one box: it broadcasts without a copy."""
    found: Array = values[0] if values.shape[0] == 1 else values[owner]
    return found


def _snap(coefficients: Array, constant: Array, reach: Array) -> tuple[Array, Array, Array]:
    """Set coefficients 0 < |a| < S to 0, at the cost of S times the sum of the bounds `reach` of what they multiply.

    Return coefficients, their absolute values and the constant; raises Rejected `number-too-large` for coefficients above 2^300.
    """
    size = np.abs(coefficients)
    if not size.max(initial=0.0) <= LARGE:  # a NaN fails too
        require_size(coefficients, "coefficients")
    large = size >= SNAP
    if np.count_nonzero(large) == np.count_nonzero(size):
        return coefficients, size, constant
    tiny = ~large & (size > 0)
    kept = np.where(tiny, 0.0, coefficients)
    return kept, np.abs(kept), down(constant - KAPPA * SNAP * dot(tiny.astype(np.float64), reach))


def _spend(constant: Array, gain: Array | float, lost: Array) -> Array:
    """Return a lower bound of constant + gain - lost, `lost` an error term of non-negative sums."""
    return down(down(constant + gain) - KAPPA * lost)
