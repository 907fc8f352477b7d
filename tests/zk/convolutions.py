# SPDX-License-Identifier: Apache-2.0
"""Convolutions from their definition, entry by entry, and small networks that have some."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from certify_zk.policy import Conv, Dense, Layer, Policy
from certify_zk.statement import Ball, Box, Rows, Score, Statement
from certify_zk.witness import Integers, Model
from zk import tiny
from zk.forging import hand_policy
from zk.tiny import LOW

Problem = tuple[Policy, Model, Statement]

GEOMETRIES = [Conv(1, 1, 1, 1, 1), Conv(2, 3, 4, 3, 2), Conv(1, 4, 4, 2, 3, 1, 1), Conv(3, 5, 4, 2, 3, 2, 1), Conv(2, 6, 5, 3, 3, 3),
              Conv(1, 2, 2, 1, 4, 1, 3), Conv(2, 4, 1, 5, 1, 2), Conv(1, 7, 3, 4, 3, 2, 2), Conv(4, 2, 2, 1, 2, 2)]


def convolved(layer: Conv, kernel: Any, bias: Sequence[Any], values: Sequence[Any]) -> list[Any]:
    """Return z for one input by the sums of the definition, on an image with a border of zeros."""
    side, border = layer.kernel, layer.padding
    image = np.full((layer.channels_in, layer.height + 2 * border, layer.width + 2 * border), 0, object)
    image[:, border : border + layer.height, border : border + layer.width] = np.array(values, object).reshape(layer.channels_in, layer.height, -1)
    rows, columns = (image.shape[axis] - side for axis in (1, 2))
    found = []
    for c in range(layer.channels_out):
        for y in range(0, rows + 1, layer.stride):
            for x in range(0, columns + 1, layer.stride):
                z = bias[c]
                for number, weight in enumerate(kernel[c]):
                    tap = number % (side * side)
                    z = z + weight * image[number // (side * side), y + tap // side, x + tap % side]
                found.append(z)
    return found


def written_out(layer: Layer, weight: Integers, bias: Integers) -> tuple[Integers, Integers]:
    """Return matrix and biases of a layer, column by column from the definition."""
    if isinstance(layer, Dense):
        return weight, bias
    zero, none = [0] * layer.inputs, [0] * layer.channels_out
    columns = [convolved(layer, weight.tolist(), none, [int(i == j) for i in range(layer.inputs)]) for j in range(layer.inputs)]
    return np.array(columns, np.int64).T, np.array(convolved(layer, weight.tolist(), bias.tolist(), zero), np.int64)


def as_dense(some: Problem) -> Problem:
    """Return the same problem with dense layers."""
    policy, model, statement = some
    found = [written_out(*given) for given in zip(policy.layers, model.weights, model.biases, strict=True)]
    layers = tuple(Dense(layer.inputs, layer.outputs) for layer in policy.layers)
    return replace(policy, layers=layers), Model(tuple(weight for weight, _ in found), tuple(bias for _, bias in found)), statement


def model(rng: np.random.Generator, policy: Policy, most: int, shift: int) -> Model:
    """Return random weights and biases up to a size."""
    return Model(tuple(rng.integers(-most, most + 1, layer.stored) for layer in policy.layers),
                 tuple(rng.integers(-shift, shift + 1, layer.stored[0]) for layer in policy.layers))


def network(layers: tuple[Layer, ...], modes: tuple[str, ...], tau: tuple[tuple[int, ...], ...], seed: int = 3, most: int = 32) -> Problem:
    """Return a random network, and a wide box, so that most neurons are unstable, on which its rows hold."""
    sizes = (layers[0].inputs, *(layer.outputs for layer in layers))
    policy, rng = replace(hand_policy(sizes, modes, tau), layers=layers), np.random.default_rng(seed)
    some = model(rng, policy, most, 16)
    x = rng.integers(0, 8, sizes[0])
    rows = tuple(tuple(int(c) for c in rng.integers(-2, 3, sizes[-1])) for _ in range(2))
    return policy, some, Statement((Box(tuple(x.tolist()), (20,) * sizes[0]),), Rows(rows, (-(1 << 20),) * 2))


def architecture(rng: np.random.Generator) -> tuple[Layer, ...]:
    """Return two or three layers, at least one of them a convolution, with few entries."""
    shape: tuple[int, int, int] | None = (int(rng.integers(1, 3)), int(rng.integers(1, 4)), int(rng.integers(1, 4)))
    assert shape is not None
    size, layers = int(np.prod(shape)), list[Layer]()
    count = int(rng.integers(2, 4))
    for index in range(count):
        if shape is not None and (rng.random() < 0.6 or (index == count - 1 and not any(isinstance(layer, Conv) for layer in layers))):
            channels, height, width = shape
            padding = int(rng.integers(0, 2))
            kernel = int(rng.integers(padding + 1, min(height, width) + 2 * padding + 1))
            more = int(rng.integers(1, 4 if index < count - 1 else 3))
            layers.append(Conv(channels, height, width, more, min(kernel, 3), int(rng.integers(1, 3)), padding))
            shape = (layers[-1].channels_out, *layers[-1].places)
        else:
            layers.append(Dense(size, int(rng.integers(2, 5))))
            shape = (1, 1, layers[-1].outputs) if rng.random() < 0.3 else None
        size = layers[-1].outputs
    return tuple(layers)


def specimen(rng: np.random.Generator) -> Problem:
    """Return a random problem whose rows hold."""
    layers = architecture(rng)
    policy = replace(tiny.policy(rng, [layers[0].inputs, *(layer.outputs for layer in layers)]), layers=layers)
    ball = bool(rng.random() < 0.25)
    regions: tuple[Box | Ball, ...] = tuple(tiny.region(rng, policy, ball) for _ in range(1 if rng.random() < 0.8 else 2))
    some, outputs = model(rng, policy, 1 << policy.weight_scale, 1 << policy.bias_scale), layers[-1].outputs
    if rng.random() < 0.15:
        return policy, some, Statement(regions, Score(int(rng.integers(0, outputs)), (1 << 32) - 1))
    rows = tuple(tuple(int(c) for c in rng.integers(-2, 3, outputs)) for _ in range(int(rng.integers(1, 4))))
    return policy, some, Statement(regions, Rows(rows, (LOW,) * len(rows)))


def values(policy: Policy, some: Model, x: list[Fraction]) -> list[list[Fraction]]:
    """Return z_1 to z_L at an input, exactly, from the definition."""
    found, y = [], x
    for k, layer in enumerate(policy.layers):
        weight = [[Fraction(int(w), 1 << policy.weight_scale) for w in row] for row in some.weights[k]]
        bias = [Fraction(int(b), 1 << policy.bias_scale) for b in some.biases[k]]
        if isinstance(layer, Conv):
            z = convolved(layer, weight, bias, y)
        else:
            z = [sum((w * v for w, v in zip(row, y, strict=True)), b) for row, b in zip(weight, bias, strict=True)]
        found.append(z)
        y = [max(v, Fraction(0)) for v in z]
    return found


CROWN = ((), (9,), (9, 9))
NETWORKS: dict[str, Problem] = {
    "conv-dense": network((Conv(2, 3, 3, 3, 2, 1, 1), Dense(48, 3)), ("crown",) * 2, ((), (9,))),
    "conv-conv-dense": network((Conv(1, 5, 4, 2, 3, 1, 1), Conv(2, 5, 4, 3, 3, 2, 1), Dense(18, 3)), ("crown",) * 3, CROWN, most=12),
    "conv-conv-dense ibp": network((Conv(1, 5, 4, 2, 3, 1, 1), Conv(2, 5, 4, 3, 3, 2, 1), Dense(18, 3)), ("crown", "ibp", "ibp"), ((), (), ())),
    "conv-conv-dense stop": network((Conv(1, 5, 4, 2, 3), Conv(2, 3, 2, 3, 2), Dense(6, 3)), ("crown", "crown", "stop:1"), ((), (9,), (9,))),
    "dense-conv-conv": network((Dense(3, 8), Conv(2, 2, 2, 3, 2), Conv(3, 1, 1, 3, 1)), ("crown",) * 3, CROWN),
    "one conv": network((Conv(3, 2, 3, 2, 2, 1, 1),), ("crown",), ((),)),
    "one entry": network((Conv(1, 1, 1, 1, 1), Conv(1, 1, 1, 1, 1)), ("crown",) * 2, ((), (9,))),
    "conv-dense-dense": network((Conv(1, 3, 3, 2, 2), Dense(8, 4), Dense(4, 2)), ("crown", "ibp", "crown"), ((), (), (9, 9))),
}


def _changed(name: str, statement: Statement) -> Problem:
    return (*NETWORKS[name][:2], statement)


_BOX, _ROWS = NETWORKS["conv-dense"][2].regions[0], NETWORKS["conv-dense"][2].asked
assert isinstance(_BOX, Box)
NETWORKS |= {
    "ball": _changed("conv-dense", Statement((Ball(_BOX.lower, 5),), _ROWS)),
    "boxes": _changed("conv-dense", Statement((_BOX, Box((0,) * 18, (1,) * 18)), _ROWS)),
    "score": _changed("conv-dense", Statement((_BOX, Box((0,) * 18, (1,) * 18)), Score(0, 1 << 31))),
}
