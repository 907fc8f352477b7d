# SPDX-License-Identifier: Apache-2.0
"""The part of a network's file that works on images: Conv, Relu and AveragePool, between what the strict reader reads before and behind it.

*What is read.* Conv of one group without dilation, with a square kernel, one stride and one padding for all sides, weights and biases being
initialisers; Add of one number a channel behind it, which joins its bias; a Relu behind each; AveragePool without padding or overlap, of images that
it divides, before the next product. Everything else is refused, with its node.

*Pools.* The mean over places of q x q entries, and then a product, is one product: of a convolution, the one whose kernel has each weight, divided by
q^2, at q x q taps, with stride and padding times q; of a dense layer, the one that has each weight, divided by q^2, for q x q inputs. This is exact,
and what is committed: there is no layer for a pool.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from certify.errors import Declined
from certify.readers.network import Array
from certify.readers.onnx_graph import Graph, Node
from certify.readers.onnx_ops import attribute, live_names, require_arity, trouble
from certify_zk.policy import Conv, Dense, Layer

_IMAGES = ("Conv", "AveragePool")
_FIX = "commit a chain of Conv with a Relu behind each, and AveragePool between, then Gemm, or MatMul with Add, with a Relu between each two"
_ATTRIBUTES = {"Conv": {"auto_pad", "dilations", "group", "kernel_shape", "pads", "strides"}, "Relu": set(), "Add": set(),
               "AveragePool": {"auto_pad", "ceil_mode", "count_include_pad", "dilations", "kernel_shape", "pads", "strides"}}


@dataclass(frozen=True, eq=False)
class Weights:
    """A product with weights: the layer, its weights as they are committed, to be multiplied by `factor`, and its biases."""

    layer: Layer
    weight: Array
    bias: tuple[Fraction, ...]
    factor: Fraction = Fraction(1)


@dataclass(frozen=True, eq=False)
class Images:
    """The convolutions of a file, the graph of what is behind them, what that follows (`product` or `Relu`), and the shape of the image before it,
    the entries of which are means over `pool` x `pool` entries of the convolution.
    """

    convolutions: tuple[Weights, ...]
    tail: Graph
    last: str
    shape: tuple[int, int, int]
    pool: int

    def products(self, dense: list[Weights]) -> list[Weights]:
        """Return all products of a file, of which the dense ones are behind the images; raises Declined `onnx-graph` for a pool at the end."""
        if not dense and self.pool > 1:
            raise Declined("onnx-graph", "the network ends with a pool", where=self.tail.input, fix=_FIX)
        if dense and self.pool > 1:
            weight, (channels, height, width), q = dense[0].weight, self.shape, self.pool
            pooled = weight.reshape(-1, channels, height, width).repeat(q, axis=2).repeat(q, axis=3).reshape(len(weight), -1)
            dense[0] = replace(dense[0], layer=Dense(pooled.shape[1], len(pooled)), weight=pooled, factor=Fraction(1, q * q))
        return [*self.convolutions, *dense]


@dataclass(frozen=True, eq=False)
class Parts:
    """A graph in three: what is in front of the first convolution or pool, from there to the last one, and behind; and nodes that none of them is."""

    graph: Graph
    front: Graph
    middle: tuple[Node, ...]
    behind: tuple[Node, ...]
    others: tuple[Node, ...]

    def read(self, shape: tuple[int, ...]) -> Images:
        """Return the images, of which the first has a shape; raises Declined `onnx-*`, naming the node."""
        if len(shape) != 4 or shape[0] != 1:
            raise trouble(self.middle[0], "onnx-graph", f"its input has the shape {list(shape)}, not that of one image with channels", _FIX)
        reader, behind = _Reader(self.graph, self.front.output, (shape[1], shape[2], shape[3])), list(self.behind)
        for node in self.middle:
            reader.read(node)
        while behind and behind[0].operator == "Add" and reader.last == "product":
            reader.read(behind.pop(0))
        if not behind and self.graph.output != reader.value:
            raise Declined("onnx-graph", "the output is not that of the last node", where=self.graph.output, fix=_FIX)
        tail = replace(self.graph, nodes=(*self.others, *behind), input=reader.value, input_shape=(1, *reader.shape))
        return Images(tuple(reader.found), tail, "product" if reader.last == "product" else "Relu", reader.shape, reader.pool)


def split(graph: Graph) -> Parts | None:
    """Return the parts of a graph, None where it has no images; raises Declined `onnx-graph` for a first one that is not computed."""
    live, computed = live_names(graph), {graph.input}
    chain: list[Node] = []
    for node in graph.nodes:
        if any(name in computed for name in node.inputs) and node.outputs and node.outputs[0] in live:
            chain.append(node)
            computed.update(node.outputs)
    places = [index for index, node in enumerate(chain) if node.operator in _IMAGES]
    if not places:
        return None
    taken = {node.outputs[0] for node in chain}
    others = tuple(node for node in graph.nodes if not node.outputs or node.outputs[0] not in taken)
    front, middle, behind = chain[: places[0]], chain[places[0] : places[-1] + 1], chain[places[-1] + 1 :]
    start = middle[0].inputs[0]
    if start not in computed:
        raise trouble(middle[0], "onnx-graph", "its input is a constant", _FIX)
    return Parts(graph, replace(graph, nodes=(*others, *front), output=start, output_shape=None), tuple(middle), tuple(behind), others)


class _Reader:
    """The convolutions so far, the value behind them and its shape, which pools have made smaller by `pool`."""

    def __init__(self, graph: Graph, value: str, shape: tuple[int, int, int]) -> None:
        self.graph, self.value, self.shape = graph, value, shape
        self.found: list[Weights] = []
        self.pool = 1
        self.last = "input"

    def read(self, node: Node) -> None:
        """Take the next node."""
        if node.operator not in _ATTRIBUTES:
            raise trouble(node, "onnx-graph", "it stands between convolutions or pools", _FIX)
        require_arity(node, 1, 3)
        for name in node.attributes:
            if name not in _ATTRIBUTES[node.operator]:
                raise trouble(node, "onnx-attribute", f"unknown attribute {name!r}")
        if node.inputs[0] != self.value:
            raise trouble(node, "onnx-graph", "the graph branches here, or its input is a constant: only chains of layers are supported", _FIX)
        {"Conv": self._conv, "AveragePool": self._pool, "Relu": self._relu, "Add": self._add}[node.operator](node)
        self.value = node.outputs[0]

    def _relu(self, node: Node) -> None:
        if self.last != "product":
            raise trouble(node, "onnx-graph", "this Relu follows no product", _FIX)
        self.last = "Relu"

    def _conv(self, node: Node) -> None:
        if self.last == "product":
            raise trouble(node, "onnx-graph", "no Relu stands between it and the product before", _FIX)
        weight = self._constant(node, 1)
        channels, height, width = self.shape
        if weight.ndim != 4 or weight.shape[1] != channels or weight.shape[2] != weight.shape[3] or attribute(node, "group", "i", 1) != 1:
            raise trouble(node, "onnx-graph", f"weights of the shape {list(weight.shape)} for {channels} channels: one group and a square kernel are "
                          "supported", _FIX)
        bias = self._constant(node, 2) if len(node.inputs) > 2 and node.inputs[2] else np.zeros(weight.shape[0])
        if bias.shape != weight.shape[:1]:
            raise trouble(node, "onnx-graph", f"{bias.size} biases for {weight.shape[0]} channels")
        side, q = weight.shape[2], self.pool
        stride, padding = self._window(node, side)
        if min(height, width) + 2 * padding < side or not padding < side or 0 in weight.shape:
            raise trouble(node, "onnx-graph", f"a kernel of side {side} with a padding of {padding} on {height} x {width} entries", _FIX)
        kernel = weight.repeat(q, axis=2).repeat(q, axis=3)
        layer = Conv(channels, height * q, width * q, weight.shape[0], side * q, stride * q, padding * q)
        self.found.append(Weights(layer, kernel.reshape(layer.stored), tuple(map(Fraction, bias.tolist())), Fraction(1, q * q)))
        self.shape, self.pool, self.last = (layer.channels_out, *layer.places), 1, "product"

    def _pool(self, node: Node) -> None:
        sides = attribute(node, "kernel_shape", "ints", [])
        if self.last == "product" or self.pool > 1 or len(set(sides)) != 1 or attribute(node, "ceil_mode", "i", 0) != 0:
            raise trouble(node, "onnx-graph", "a pool of squares, rounded down, is supported behind a Relu, and one between products", _FIX)
        q = int(sides[0])
        if q < 1 or self._window(node, q) != (q, 0) or self.shape[1] % q or self.shape[2] % q:
            raise trouble(node, "onnx-graph", f"places of {q} x {q} entries that divide the image, without overlap or padding, are supported", _FIX)
        self.shape, self.pool, self.last = (self.shape[0], self.shape[1] // q, self.shape[2] // q), q, "pool"

    def _add(self, node: Node) -> None:
        more, channels = self._constant(node, 1), self.shape[0]
        if self.last != "product" or more.shape not in ((channels, 1, 1), (1, channels, 1, 1)):
            raise trouble(node, "onnx-graph", "one number a channel is added behind a convolution, and nothing else", _FIX)
        last = self.found[-1]
        self.found[-1] = replace(last, bias=tuple(b + Fraction(c) for b, c in zip(last.bias, more.ravel().tolist(), strict=True)))

    def _window(self, node: Node, side: int) -> tuple[int, int]:
        """Return stride and padding of a window, which are one for all sides."""
        strides, pads = attribute(node, "strides", "ints", [1, 1]), attribute(node, "pads", "ints", [0] * 4)
        plain = attribute(node, "auto_pad", "s", b"NOTSET") == b"NOTSET" and list(attribute(node, "dilations", "ints", [1, 1])) == [1, 1]
        sides = list(attribute(node, "kernel_shape", "ints", [side] * 2))
        if not plain or sides != [side] * 2 or len(strides) != 2 or len(pads) != 4 or len(set(strides)) > 1 or len(set(pads)) > 1 or \
                strides[0] < 1 or pads[0] < 0:
            raise trouble(node, "onnx-graph", "one stride and one padding for all sides, and no dilation, are supported", _FIX)
        return int(strides[0]), int(pads[0])

    def _constant(self, node: Node, index: int) -> Array:
        value: Any = self.graph.tensors.get(node.inputs[index]) if index < len(node.inputs) else None
        if value is None or value.dtype != np.dtype("<f4"):
            raise trouble(node, "onnx-graph", f"input {index} must be a float32 initialiser", "export the network with constant weights")
        return np.asarray(value, np.float64)
