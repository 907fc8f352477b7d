# SPDX-License-Identifier: Apache-2.0
"""Interval and CROWN bounds of a ReLU network in plain binary64 with BLAS, for a batch of boxes: fast, unverified.

The mathematics is that of `certify.rules.relaxation` without its error terms; rows carry the index of their box (`owner`). Neurons that are
inactive in every box of the batch are left out of the products, and a ReLU costs work only for neurons that are not active in every box.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from certify.readers.network import Dense, Network, Relu, Scale

Array = np.ndarray[Any, np.dtype[np.float64]]
Index = np.ndarray[Any, Any]

_ROW_BYTES = 1 << 20  # of a block of rows: it should stay in the cache


@dataclass(frozen=True, eq=False)
class Lines:
    """The lines around each ReLU z of a layer: slope z below it, (slope + rise) z + offset above it, of shape (boxes, open).

    `columns` are the neurons that are not inactive in every box, the first `open` of them those that are not active in every box either.
    """

    columns: Index
    open: int
    slope: Array
    rise: Array
    offset: Array


@dataclass(frozen=True, eq=False)
class Planes:
    """Backward bounds of neurons of one value on the boxes `owner`: of z and of -z (first axis), with their coefficients of the inputs."""

    owner: Index
    neuron: Index
    bound: Array
    coefficients: Array


@dataclass(eq=False)
class Bounds:
    """Bounds on every value: `lower[k]`, `upper[k]` of shape (boxes, size of value k); value 0 is the input.

    `planes` belong to some of them. Bounds must not change once `backward` has used them: what it derives from them is kept.
    """

    lower: list[Array]
    upper: list[Array]
    planes: dict[int, Planes] = field(default_factory=dict)
    _lines: dict[int, Lines] = field(default_factory=dict)
    _weights: dict[tuple[int, bool], Array] = field(default_factory=dict)

    def lines(self, k: int) -> Lines:
        """Return the lines of the ReLU layer k."""
        if k not in self._lines:
            low, high = self.lower[k], self.upper[k]
            inactive, active = (high <= 0).all(axis=0), (low >= 0).all(axis=0)
            some = np.flatnonzero(~inactive & ~active)
            slope, chord, offset = slopes(low[:, some], high[:, some])
            self._lines[k] = Lines(np.concatenate([some, np.flatnonzero(active & ~inactive)]), some.size, slope, chord - slope, offset)
        return self._lines[k]

    def columns(self, network: Network, k: int) -> Index | None:
        """Return the entries of value k that matter (None: all): behind a ReLU those that are not 0 in every box."""
        return self.lines(k - 1).columns if k and isinstance(network.layers[k - 1], Relu) else None

    def weight(self, network: Network, k: int, outputs: Index | None) -> Array:
        """Return the weight of the dense layer k from the inputs that matter to `outputs`: None (all), or those that matter behind it."""
        key = k, outputs is None
        if key not in self._weights:
            layer = network.layers[k]
            weight = layer.weight if outputs is None else layer.weight[outputs]
            inputs = self.columns(network, k)
            self._weights[key] = weight if inputs is None else weight[:, inputs]
        return self._weights[key]


def propagate(network: Network, lower: Array, upper: Array, inherited: Mapping[int, tuple[Array, Array]] | None = None,
              planes: bool = False) -> Bounds:
    """Return bounds on every value over boxes of shape (boxes, inputs); `inherited` bounds, by value, hold on larger boxes.

    With `planes`, those of each input of a ReLU that is unstable by interval and inherited bounds are kept.
    """
    bounds = Bounds([lower], [upper])
    behind = False
    for k, layer in enumerate(network.layers):
        low, high = bounds.lower[k], bounds.upper[k]
        if isinstance(layer, Relu):
            low, high = np.maximum(low, 0.0), np.maximum(high, 0.0)
        elif isinstance(layer, Scale):
            low, high = (low + layer.bias, high + layer.bias) if layer.sign > 0 else (layer.bias - high, layer.bias - low)
        else:
            centre, radius = (low + high) / 2 @ layer.weight.T + layer.bias, (high - low) / 2 @ _size(layer)
            low, high = centre - radius, centre + radius
        if inherited is not None and k + 1 in inherited:
            low, high = np.maximum(low, inherited[k + 1][0]), np.minimum(high, inherited[k + 1][1])
        bounds.lower.append(low)
        bounds.upper.append(high)
        following = network.layers[k + 1] if k + 1 < len(network.layers) else None
        if isinstance(following, Relu) and not isinstance(layer, Relu) and (behind or planes):
            found = _planes(network, k + 1, bounds)
            if behind:  # else interval bounds are as good
                low[found.owner, found.neuron] = np.maximum(low[found.owner, found.neuron], found.bound[0])
                high[found.owner, found.neuron] = np.minimum(high[found.owner, found.neuron], -found.bound[1])
            if planes:
                bounds.planes[k + 1] = found
        behind = behind or isinstance(layer, Relu)
    return bounds


@lru_cache(maxsize=64)
def _size(layer: Dense) -> Array:
    return np.abs(layer.weight).T


def backward(network: Network, k: int, rows: Array, constant: Array, owner: Index, bounds: Bounds, lower: Array, upper: Array) -> tuple[Array, Array]:
    """Return (lower bounds, input coefficients) of rows given on value k, over the boxes [lower, upper] of their owners."""
    return _backward(network, k, rows, constant, owner, bounds, lower, upper, None)


def _backward(network: Network, k: int, rows: Array, constant: Array, owner: Index, bounds: Bounds, lower: Array, upper: Array,
              columns: Index | None) -> tuple[Array, Array]:
    """Return what `backward` does for rows whose columns are these entries of value k (None: all); rows with columns are written over."""
    for j in range(k - 1, -1, -1):
        layer = network.layers[j]
        if isinstance(layer, Relu):
            lines = bounds.lines(j)
            if columns is not lines.columns:
                rows, columns = _spread(rows, columns, layer.size)[:, lines.columns], lines.columns
            if lines.open:
                some = rows[:, : lines.open]
                falling = np.minimum(some, 0.0)
                constant = constant + np.einsum("rn,rn->r", falling, lines.offset[owner])
                some *= lines.slope[owner]
                falling *= lines.rise[owner]
                some += falling
            continue
        constant = constant + rows @ (layer.bias if columns is None else layer.bias[columns])
        if isinstance(layer, Dense):
            rows, columns = rows @ bounds.weight(network, j, columns), bounds.columns(network, j)
        else:
            rows = layer.sign * rows
    rows = _spread(rows, columns, network.inputs)
    ends = np.einsum("rn,rn->r", np.maximum(rows, 0.0), lower[owner]) + np.einsum("rn,rn->r", np.minimum(rows, 0.0), upper[owner])
    return constant + ends, rows


def _spread(rows: Array, columns: Index | None, size: int) -> Array:
    """Return rows with all columns."""
    if columns is None:
        return rows
    full = np.zeros((rows.shape[0], size))
    full[:, columns] = rows
    return full


def slopes(low: Array, high: Array) -> tuple[Array, Array, Array]:
    """Return (lower slope, chord slope, chord offset) of each ReLU on [low, high]; the lower slope is 1 where high >= -low."""
    crossing = (low < 0) & (high > 0)
    chord = np.where(low >= 0, 1.0, np.where(crossing, high / np.where(crossing, high - low, 1.0), 0.0))
    slope = np.where((low >= 0) | (crossing & (high >= -low)), 1.0, 0.0)
    return slope, chord, np.where(crossing, -chord * low, 0.0)


def _planes(network: Network, k: int, bounds: Bounds) -> Planes:
    """Return backward bounds of the neurons of value k that are unstable, each in its box."""
    boxes, neurons = np.nonzero((bounds.lower[k] < 0) & (bounds.upper[k] > 0))
    found, coefficients = np.zeros((2, boxes.size)), np.zeros((2, boxes.size, network.inputs))
    block = max(1, _ROW_BYTES // (16 * max(network.inputs, *(layer.size for layer in network.layers[:k]))))
    for start in range(0, boxes.size, block):
        own = slice(start, start + block)
        j, rows, constant, columns = _rows(network, k, neurons[own], bounds)
        owner = np.concatenate([boxes[own], boxes[own]])
        bound, some = _backward(network, j, np.concatenate([rows, -rows]), np.concatenate([constant, -constant]), owner, bounds, bounds.lower[0],
                                 bounds.upper[0], columns)
        found[:, own], coefficients[:, own] = bound.reshape(2, -1), some.reshape(2, -1, network.inputs)
    return Planes(boxes, neurons, found, coefficients)


def _rows(network: Network, k: int, neuron: Index, bounds: Bounds) -> tuple[int, Array, Array, Index | None]:
    """Return (j, rows, constant, columns): neurons of value k as rows on value j, before layers where that takes no more than a look-up."""
    sign, constant = 1, np.zeros(neuron.size)
    while k and isinstance(layer := network.layers[k - 1], Scale):
        constant, sign, k = constant + sign * layer.bias[neuron], sign * layer.sign, k - 1
    if k and isinstance(layer := network.layers[k - 1], Dense):
        rows = sign * bounds.weight(network, k - 1, None)[neuron]
        return k - 1, rows, constant + sign * layer.bias[neuron], bounds.columns(network, k - 1)
    rows = np.zeros((neuron.size, bounds.lower[k].shape[1]))
    rows[np.arange(neuron.size), neuron] = sign
    return k, rows, constant, None


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
