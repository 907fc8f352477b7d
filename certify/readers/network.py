# SPDX-License-Identifier: Apache-2.0
"""The network as a subject model: a chain of simple nodes over flat vectors, with exact binary64 constants.

Guarantee: a `Network` denotes one function R^inputs -> R^outputs, the ONNX graph read over the reals: every float32
constant is the dyadic number it encodes, products of two of them (alpha times a weight) are exact in binary64, and moving
data (Flatten, Reshape, ...) keeps the C order, in which all vectors here are written.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True, eq=False)
class Dense:
    """v = W h + b; `weight` is (outputs, inputs), `bias` (outputs,).

    A Gemm scales what the file stores: `weight` is alpha times the stored matrix, `bias` beta times the stored vector.
    """

    weight: Array
    bias: Array
    alpha: float = 1.0
    beta: float = 1.0

    @property
    def size(self) -> int:
        """The number of outputs."""
        return int(self.bias.size)


@dataclass(frozen=True, eq=False)
class Scale:
    """v = sign h + b elementwise, sign 1 or -1 (Add and Sub with a constant that is no bias)."""

    sign: int
    bias: Array

    @property
    def size(self) -> int:
        """The number of outputs."""
        return int(self.bias.size)


@dataclass(frozen=True)
class Relu:
    """v = max(h, 0) elementwise."""

    size: int


Layer = Dense | Scale | Relu


@dataclass(frozen=True, eq=False)
class Network:
    """Layers in order, each applied to the one before; `input_shape` and `output_shape` are the graph's, the flat size of the first is `inputs`."""

    input_shape: tuple[int, ...]
    inputs: int
    layers: tuple[Layer, ...]
    notes: tuple[str, ...] = ()
    output_shape: tuple[int, ...] = ()

    @property
    def outputs(self) -> int:
        """The number of outputs."""
        return self.layers[-1].size if self.layers else self.inputs

    @property
    def activations(self) -> tuple[int, ...]:
        """The positions of the activation layers, in order; neurons are numbered through them in this order."""
        return tuple(index for index, layer in enumerate(self.layers) if isinstance(layer, Relu))

    @property
    def channels(self) -> tuple[int, int]:
        """(channels, elements a channel) of the input: the first dimension behind a batch dimension of 1."""
        shape = self.input_shape[1:] if len(self.input_shape) > 1 and self.input_shape[0] == 1 else self.input_shape
        channels = shape[0] if shape else 1
        return channels, self.inputs // channels
