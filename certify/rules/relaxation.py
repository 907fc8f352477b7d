# SPDX-License-Identifier: Apache-2.0
"""Linear relaxation of a ReLU network with outward-rounded binary64: interval bounds and backward (CROWN) bounds.

Notation: value 0 is the input, value k + 1 the output of layer k; on the current box H bounds |value| componentwise. fl = computed
in binary64. S = 2^-300: bounds and coefficients are 0 or at least S in size and at most 2^300, weights are 0 or in
[2^-220, 2^210]; hence no product or sum of products underflows or overflows, with or without flush-to-zero.

Backward pass: **invariant** spec(x) >= A.v(x) + c for all x of the box, where A, c are the exact values of the stored doubles.
- Snap: an entry 0 < |a| < S of A becomes 0; costs S times the sum of H over these entries.
- Dense v = W h + b with m rows: A' = fl(A W), c' = c + fl(A b) - gamma_(m+1) (|A|.G), G >= |W|H + |b|. Proof: |(A W)_j - A'_j|
  <= gamma_m (|A||W|)_j, so replacing A W by A' costs gamma_m |A||W|H; |A b - fl(A b)| <= gamma_m |A||b|; the sum is <= gamma_m |A|G.
- Relu on [l, u]: relu(z) >= alpha z for alpha in [0, 1]; relu(z) <= s z + t for s in [0, 1] with t >= max(-s l, (1 - s) u), since relu(z) - s z
  is convex and has its maximum at an end. l >= 0: the identity; u <= 0: zero. s is a multiple of 2^-30, so 1 - s is exact. A'_i = fl(A_i
  alpha_i) or fl(A_i s_i) costs 1.01 u |A'|.H; c gains the sum of A_i t_i over A_i < 0, less gamma_(2m+2) |A-|.t.
- Input box [lo, hi]: spec >= c + A+.lo + A-.hi, less gamma_(2n+2) |A|.X, X = max(|lo|, |hi|).
Interval pass: W+ l + W- u + b rounded outward by gamma_(2n+3) G. Both bounds are valid, so their intersection is.
Computed error terms are sums of non-negative numbers, KAPPA covers their own rounding. Source: Zhang et al., CROWN, 2018.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from certify.errors import Rejected
from certify.limits import Limits
from certify.readers.network import Dense, Network, Relu, Scale
from certify.rules.balls import KAPPA, SNAP, Array, U, down, gamma, require_size, snap_lower, snap_upper, up
from certify.rules.products import dot, matmul, matmul_transposed

Index = np.ndarray[Any, np.dtype[np.int64]]
_ROW_BYTES = 64 << 20
_STEP = 2.0**30
_CALL = 100_000  # the interpreted part of one layer's step, in elementary operations


@dataclass(frozen=True, eq=False)
class Bounds:
    """Bounds on every value of the network for a batch of boxes: `lower[k]`, `upper[k]` of shape (boxes, size of value k)."""

    lower: tuple[Array, ...]
    upper: tuple[Array, ...]

    def take(self, boxes: list[int]) -> Bounds:
        """Return the bounds of some boxes of the batch."""
        return Bounds(tuple(a[boxes] for a in self.lower), tuple(a[boxes] for a in self.upper))


def stack(bounds: list[Bounds]) -> Bounds:
    """Return one batch of all boxes in `bounds`."""
    return Bounds(tuple(np.concatenate(level) for level in zip(*(b.lower for b in bounds), strict=True)),
                  tuple(np.concatenate(level) for level in zip(*(b.upper for b in bounds), strict=True)))


@dataclass(frozen=True, eq=False)
class Rows:
    """Lower bounds spec >= coefficients.value + constant, one a row; `owner` is the row's box in the batch."""

    coefficients: Array
    constant: Array
    owner: Index


class Relaxation:
    """The rules above for one network; weights outside [2^-220, 2^210] are refused (`number-too-large`)."""

    def __init__(self, network: Network, limits: Limits) -> None:
        self.network = network
        self.limits = limits
        self.sizes = (network.inputs, *(layer.size for layer in network.layers))
        limits.within(4 * 8 * sum(layer.weight.size for layer in network.layers if isinstance(layer, Dense)), "memory",
                      "memory for the weights in bytes")
        self._parts: list[tuple[Array, Array, Array] | None] = []
        for index, layer in enumerate(network.layers):
            constants = [layer.weight, layer.bias] if isinstance(layer, Dense) else [layer.bias] if isinstance(layer, Scale) else []
            for values in constants:
                sizes = np.abs(values[values != 0])
                if sizes.size and (sizes.min() < 2.0**-220 or sizes.max() > 2.0**210):
                    raise Rejected("number-too-large", f"a weight of layer {index} is outside [2^-220, 2^210] in size",
                                   fix="such a network can't be checked in f64-gamma")
            self._parts.append((np.abs(layer.weight), np.maximum(layer.weight, 0.0), np.minimum(layer.weight, 0.0)) if isinstance(layer, Dense)
                               else None)

    def magnitude(self, bounds: Bounds, k: int) -> Array:
        """Return H of value k: max(|lower|, |upper|), at least S."""
        return np.maximum(np.maximum(np.abs(bounds.lower[k]), np.abs(bounds.upper[k])), SNAP)

    def propagate(self, lower: Array, upper: Array, inherited: Bounds | None) -> Bounds:
        """Return bounds on every value over boxes [lower, upper] of shape (boxes, inputs), rounded outward by the caller.

        `inherited` bounds hold for larger boxes. Inputs of activations that the interval pass leaves unstable are bounded backward.
        """
        self.limits.spend(_CALL * len(self.network.layers), "interval bounds")
        lows, highs = [snap_lower(lower)], [snap_upper(upper)]
        for k, layer in enumerate(self.network.layers):
            self._forward(k, lows, highs)
            if inherited is not None:
                lows[-1], highs[-1] = np.maximum(lows[-1], inherited.lower[k + 1]), np.minimum(highs[-1], inherited.upper[k + 1])
            following = self.network.layers[k + 1] if k + 1 < len(self.network.layers) else None
            if isinstance(following, Relu) and not isinstance(layer, Relu) and any(isinstance(before, Relu) for before in self.network.layers[:k]):
                self._refine(k, lows, highs)
            require_size(lows[-1], f"bounds behind layer {k}")
            require_size(highs[-1], f"bounds behind layer {k}")
        return Bounds(tuple(lows), tuple(highs))

    def lower_bounds(self, rows: Rows, k: int, bounds: Bounds, lower: Array, upper: Array, added: Array | None = None) -> Array:
        """Return a lower bound of each row, given on value k, over the box [lower, upper] of its owner.

        `bounds` hold on larger boxes; `added` are exact coefficients of the inputs, one row of them a row, added at the input.
        """
        coefficients, constant, owner = rows.coefficients, rows.constant, rows.owner
        self.limits.spend(_CALL * (k + 1) + 10 * coefficients.shape[0] * sum(self.sizes[: k + 1]), "bounding backward through the network")
        for j in range(k - 1, -1, -1):
            layer = self.network.layers[j]
            above = _of(self.magnitude(bounds, j + 1), owner)
            coefficients, constant = _snap(coefficients, constant, above)
            if isinstance(layer, Relu):
                coefficients, constant = self._relu(j, coefficients, constant, owner, bounds)
            elif isinstance(layer, Dense):
                growth = gamma(layer.size + 1) * dot(np.abs(coefficients), _of(self._growth(j, bounds), owner))
                constant = _spend(constant, dot(coefficients, layer.bias), growth)
                self.limits.spend((coefficients.shape[0] + len(bounds.lower[0])) * layer.weight.size, "bounding backward through the network")
                coefficients = matmul(coefficients, layer.weight)
            else:
                constant = _spend(constant, dot(coefficients, layer.bias), gamma(layer.size + 1) * dot(np.abs(coefficients), np.abs(layer.bias)))
                coefficients = layer.sign * coefficients
            require_size(coefficients, f"coefficients before layer {j}")
        low, high = _of(snap_lower(lower), owner), _of(snap_upper(upper), owner)
        reach = np.maximum(np.maximum(np.abs(low), np.abs(high)), SNAP)
        if added is not None:
            coefficients = coefficients + added
            constant = down(constant - KAPPA * 1.01 * U * dot(np.abs(coefficients), reach))
        coefficients, constant = _snap(coefficients, constant, reach)
        gain = dot(np.maximum(coefficients, 0.0), low) + dot(np.minimum(coefficients, 0.0), high)
        return _spend(constant, gain, gamma(2 * self.network.inputs + 2) * dot(np.abs(coefficients), reach))

    def _forward(self, k: int, lows: list[Array], highs: list[Array]) -> None:
        """Append interval bounds of value k + 1."""
        layer, low, high = self.network.layers[k], lows[k], highs[k]
        if isinstance(layer, Relu):
            lows.append(np.maximum(low, 0.0))
            highs.append(np.maximum(high, 0.0))
            return
        if isinstance(layer, Scale):
            first, second = (low, high) if layer.sign > 0 else (-high, -low)
            lows.append(snap_lower(down(first + layer.bias)))
            highs.append(snap_upper(up(second + layer.bias)))
            return
        self.limits.spend(5 * low.shape[0] * layer.weight.size, "interval bounds")
        _, positive, negative = self._weights(k)
        growth = gamma(2 * self.sizes[k] + 3) * self._growth(k, Bounds(tuple(lows), tuple(highs)))
        lows.append(snap_lower(_spend(matmul_transposed(low, positive) + matmul_transposed(high, negative), layer.bias, growth)))
        highs.append(snap_upper(-_spend(-(matmul_transposed(high, positive) + matmul_transposed(low, negative)), -layer.bias, growth)))

    def _refine(self, k: int, lows: list[Array], highs: list[Array]) -> None:
        """Intersect the bounds of value k + 1 with backward bounds, for the neurons that are still unstable."""
        layer, low, high = self.network.layers[k], lows[k + 1], highs[k + 1]
        boxes, neurons = np.nonzero((low < 0) & (high > 0))
        known = Bounds(tuple(lows), tuple(highs))
        width = max(self.sizes[: k + 2])
        block = max(1, _ROW_BYTES // (8 * width))
        for start in range(0, boxes.size, block):
            owner, neuron = boxes[start : start + block], neurons[start : start + block]
            for sign, ends in ((1.0, low), (-1.0, high)):
                if isinstance(layer, Dense):  # +-z_i = +-(W_i h + b_i), exactly
                    rows = Rows(sign * layer.weight[neuron], sign * layer.bias[neuron], owner)
                else:
                    first = np.zeros((owner.size, layer.size))
                    first[np.arange(owner.size), neuron] = sign * (layer.sign if isinstance(layer, Scale) else 1)
                    rows = Rows(first, sign * layer.bias[neuron] if isinstance(layer, Scale) else np.zeros(owner.size), owner)
                found = self.lower_bounds(rows, k, known, lows[0], highs[0])
                if sign > 0:
                    ends[owner, neuron] = snap_lower(np.maximum(ends[owner, neuron], found))
                else:
                    ends[owner, neuron] = snap_upper(np.minimum(ends[owner, neuron], -found))

    def _relu(self, j: int, coefficients: Array, constant: Array, owner: Index, bounds: Bounds) -> tuple[Array, Array]:
        low, high = bounds.lower[j], bounds.upper[j]
        crossing = (low < 0) & (high > 0)
        active = low >= 0
        with np.errstate(divide="ignore", invalid="ignore"):
            chord = np.floor(np.where(crossing, high / (high - low), 0.0) * _STEP) / _STEP
        chord = np.where(active, 1.0, np.where(crossing, np.clip(chord, 0.0, 1.0), 0.0))
        offset = np.where(crossing, np.maximum(up(-chord * low), up((1.0 - chord) * high)), 0.0)
        slope = np.where(active | (crossing & (high >= -low)), 1.0, 0.0)
        below_zero = coefficients < 0
        falling = np.minimum(coefficients, 0.0)
        result = coefficients * np.where(below_zero, _of(chord, owner), _of(slope, owner))
        lost = 1.01 * U * dot(np.abs(result), _of(self.magnitude(bounds, j), owner)) + gamma(2 * self.sizes[j] + 2) * dot(-falling,
                                                                                                                          _of(offset, owner))
        return result, _spend(constant, dot(falling, _of(offset, owner)), lost)

    def _growth(self, k: int, bounds: Bounds) -> Array:
        """Return G >= |W|H + |b| of the dense layer k."""
        layer = self.network.layers[k]
        if not isinstance(layer, Dense):
            raise ValueError("growth is of dense layers")
        return KAPPA * (matmul_transposed(self.magnitude(bounds, k), self._weights(k)[0]) + np.abs(layer.bias))

    def _weights(self, k: int) -> tuple[Array, Array, Array]:
        """Return |W|, W+ and W- of the dense layer k."""
        parts = self._parts[k]
        if parts is None:
            raise ValueError("weights are of dense layers")
        return parts


def _of(values: Array, owner: Index) -> Array:
    """Return the row of each owner, or the only row as a vector where there is one box: it broadcasts without a copy."""
    found: Array = values[0] if values.shape[0] == 1 else values[owner]
    return found


def _snap(coefficients: Array, constant: Array, reach: Array) -> tuple[Array, Array]:
    """Set coefficients 0 < |a| < S to 0, at the cost of S times the sum of the bounds `reach` of what they multiply."""
    tiny = (coefficients != 0) & (np.abs(coefficients) < SNAP)
    if not bool(tiny.any()):
        return coefficients, constant
    return np.where(tiny, 0.0, coefficients), down(constant - KAPPA * SNAP * dot(tiny.astype(np.float64), reach))


def _spend(constant: Array, gain: Array, lost: Array) -> Array:
    """Return a lower bound of constant + gain - lost, `lost` an error term of non-negative sums."""
    return down(down(constant + gain) - KAPPA * lost)
