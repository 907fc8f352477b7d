# SPDX-License-Identifier: Apache-2.0
"""Interval and CROWN bounds of a ReLU network in plain binary64 with BLAS, for a batch of boxes: fast, unverified.

The mathematics is that of `certify.rules.relaxation` without its error terms; rows carry the index of their box (`owner`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from certify.readers.network import Dense, Network, Relu, Scale

Array = np.ndarray[Any, np.dtype[np.float64]]
Index = np.ndarray[Any, Any]

_ROWS = 4096


@dataclass(frozen=True, eq=False)
class Bounds:
    """Bounds on every value: `lower[k]`, `upper[k]` of shape (boxes, size of value k); value 0 is the input."""

    lower: list[Array]
    upper: list[Array]


def propagate(network: Network, lower: Array, upper: Array, inherited: Bounds | None = None) -> Bounds:
    """Return bounds on every value over boxes of shape (boxes, inputs); `inherited` bounds hold on larger boxes."""
    bounds = Bounds([lower], [upper])
    seen_activation = False
    for k, layer in enumerate(network.layers):
        low, high = bounds.lower[k], bounds.upper[k]
        if isinstance(layer, Relu):
            low, high = np.maximum(low, 0.0), np.maximum(high, 0.0)
        elif isinstance(layer, Scale):
            low, high = (low + layer.bias, high + layer.bias) if layer.sign > 0 else (layer.bias - high, layer.bias - low)
        else:
            positive, negative = _signed(layer)
            low, high = low @ positive + high @ negative + layer.bias, high @ positive + low @ negative + layer.bias
        if inherited is not None:
            low, high = np.maximum(low, inherited.lower[k + 1]), np.minimum(high, inherited.upper[k + 1])
        bounds.lower.append(low)
        bounds.upper.append(high)
        following = network.layers[k + 1] if k + 1 < len(network.layers) else None
        if seen_activation and isinstance(following, Relu) and not isinstance(layer, Relu):
            _refine(network, k + 1, bounds)
        seen_activation = seen_activation or isinstance(layer, Relu)
    return bounds


@lru_cache(maxsize=64)
def _signed(layer: Dense) -> tuple[Array, Array]:
    return np.maximum(layer.weight, 0.0).T, np.minimum(layer.weight, 0.0).T


def backward(network: Network, k: int, rows: Array, constant: Array, owner: Index, bounds: Bounds, lower: Array, upper: Array) -> tuple[Array, Array]:
    """Return (lower bounds, input coefficients) of rows given on value k, over the boxes [lower, upper] of their owners."""
    for j in range(k - 1, -1, -1):
        layer = network.layers[j]
        if isinstance(layer, Dense):
            constant = constant + rows @ layer.bias
            rows = rows @ layer.weight
        elif isinstance(layer, Scale):
            constant = constant + rows @ layer.bias
            rows = layer.sign * rows
        else:
            slope, chord, offset = (values[owner] for values in slopes(bounds.lower[j], bounds.upper[j]))
            falling = np.minimum(rows, 0.0)
            constant = constant + np.einsum("rn,rn->r", falling, offset)
            rows = np.maximum(rows, 0.0) * slope + falling * chord
    ends = np.einsum("rn,rn->r", np.maximum(rows, 0.0), lower[owner]) + np.einsum("rn,rn->r", np.minimum(rows, 0.0), upper[owner])
    return constant + ends, rows


def slopes(low: Array, high: Array) -> tuple[Array, Array, Array]:
    """Return (lower slope, chord slope, chord offset) of each ReLU on [low, high]; the lower slope is 1 where high >= -low."""
    crossing = (low < 0) & (high > 0)
    chord = np.where(low >= 0, 1.0, np.where(crossing, high / np.where(crossing, high - low, 1.0), 0.0))
    slope = np.where((low >= 0) | (crossing & (high >= -low)), 1.0, 0.0)
    return slope, chord, np.where(crossing, -chord * low, 0.0)


def _refine(network: Network, k: int, bounds: Bounds) -> None:
    """Intersect the bounds of value k with CROWN bounds for its unstable neurons."""
    boxes, neurons = np.nonzero((bounds.lower[k] < 0) & (bounds.upper[k] > 0))
    for start in range(0, boxes.size, _ROWS):
        owner, neuron = boxes[start : start + _ROWS], neurons[start : start + _ROWS]
        for sign in (1.0, -1.0):
            rows = np.zeros((owner.size, bounds.lower[k].shape[1]))
            rows[np.arange(owner.size), neuron] = sign
            found, _ = backward(network, k, rows, np.zeros(owner.size), owner, bounds, bounds.lower[0], bounds.upper[0])
            if sign > 0:
                bounds.lower[k][owner, neuron] = np.maximum(bounds.lower[k][owner, neuron], found)
            else:
                bounds.upper[k][owner, neuron] = np.minimum(bounds.upper[k][owner, neuron], -found)


def forward(network: Network, points: Array) -> list[Array]:
    """Return every value at points of shape (points, inputs)."""
    values = [points]
    for layer in network.layers:
        h = values[-1]
        values.append(np.maximum(h, 0.0) if isinstance(layer, Relu) else layer.sign * h + layer.bias if isinstance(layer, Scale)
                      else h @ layer.weight.T + layer.bias)
    return values


def gradient(network: Network, values: list[Array], rows: Array) -> Array:
    """Return the gradient with respect to the inputs of rows.outputs, one row a point, at the point's values."""
    for k in range(len(network.layers) - 1, -1, -1):
        layer = network.layers[k]
        rows = rows * (values[k] > 0) if isinstance(layer, Relu) else layer.sign * rows if isinstance(layer, Scale) else rows @ layer.weight
    return rows
