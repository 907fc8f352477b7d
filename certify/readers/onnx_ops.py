# SPDX-License-Identifier: Apache-2.0
"""ONNX operators to network layers: multilayer perceptrons, every other operator refused by name before any work.

Guarantee: `read_network` returns the function that the graph denotes over the reals, for opsets 7 to 28 (the definitions
of the operators below changed only in element types and in attribute-or-input form, which both are read).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib import import_module
from math import prod
from typing import Any

import numpy as np

from certify.errors import Declined
from certify.limits import Limits
from certify.readers.network import Array, Dense, Layer, Network, Relu, Scale
from certify.readers.onnx_graph import OPSETS, Graph, Node, read_graph

Constant = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Computed:
    """A tensor that depends on the input: its shape, and the number of layers after which it is the flat vector."""

    shape: tuple[int, ...]
    depth: int


Value = Constant | Computed


@dataclass
class Builder:
    """A network that is being read: the values of names so far, and the layers made of them."""

    graph: Graph
    values: dict[str, Value]
    layers: list[Layer]
    uses: Counter[str]
    limits: Limits
    readers: Counter[int]  # how many nodes read the value after that many layers, under any name
    elements: int = 0

    def put(self, name: str, value: Value) -> None:
        """Note the value of a name."""
        self.values[name] = value
        if isinstance(value, Computed):
            self.readers[value.depth] += self.uses[name]

    def charge(self, elements: int) -> None:
        """Charge constants of a layer before they are made."""
        self.elements += elements
        self.limits.within(32 * self.elements, "memory", "memory for the network's constants in bytes")
        self.limits.spend(10 * elements, "making the network's constants")


def read_network(data: bytes, limits: Limits | None = None) -> Network:
    """Return the network in the bytes of an ONNX model; raises Declined with an `onnx-` code, or `limit-reached` for its size."""
    limits = limits or Limits()
    limits.within(8 * len(data), "memory", "memory for reading the model in bytes")
    limits.spend(100 * len(data), "reading the model")
    return read_chain(read_graph(data), limits)


def read_chain(graph: Graph, limits: Limits) -> Network:
    """Return the network of a checked graph; raises as `read_network` does."""
    for node in graph.nodes:
        if node.operator not in _OPERATORS:
            raise Declined("onnx-operator", f"the operator {node.operator!r} is not supported", where=f"node {node.name}",
                           fix=f"supported operators: {', '.join(sorted(_OPERATORS))}")
    if len(graph.input_shape) > 1 and graph.input_shape[0] != 1:
        raise Declined("onnx-graph", f"the batch size is fixed at {graph.input_shape[0]}", where=graph.input,
                       fix="export the model with batch size 1")
    uses = Counter(name for node in graph.nodes for name in node.inputs)
    uses[graph.output] += 1
    builder = Builder(graph, {**graph.tensors}, [], uses, limits, Counter())
    builder.put(graph.input, Computed(graph.input_shape, 0))
    live = live_names(graph)
    for node in graph.nodes:
        if node.outputs and node.outputs[0] in live:
            handler, attributes = _OPERATORS[node.operator]
            handler = getattr(import_module("certify.readers.onnx_shapes"), handler) if isinstance(handler, str) else handler
            for name in node.attributes:
                if graph.opset not in attributes.get(name, ()):
                    raise trouble(node, "onnx-attribute", f"unknown attribute {name!r} for operator set {graph.opset}")
            builder.put(node.outputs[0], handler(builder, node))
    result = builder.values.get(graph.output)
    if not isinstance(result, Computed):  # a constant, or an output of a node that is not supported
        raise Declined("onnx-graph", "the output does not depend on the input", where=graph.output, fix="check that the right file was exported")
    if result.depth != len(builder.layers):
        raise Declined("onnx-graph", "the graph branches: only chains of layers are supported", where=graph.output,
                       fix="export a multilayer perceptron")
    if graph.output_shape is not None and prod(graph.output_shape) != prod(result.shape):
        raise Declined("onnx-graph", f"the output declares the shape {list(graph.output_shape)} and has {list(result.shape)}", where=graph.output,
                       fix="export the model again with a current exporter")
    idle = sum(not any(name in live for name in node.outputs) for node in graph.nodes)
    notes = [f"{idle} nodes don't lead to the output"] if idle else []
    notes += [f"{len(graph.inputs_with_values)} initialisers are also graph inputs: their stored values are used"] if graph.inputs_with_values else []
    return Network(graph.input_shape, prod(graph.input_shape), tuple(builder.layers), tuple(notes), result.shape)


def live_names(graph: Graph) -> set[str]:
    """Return the names that the output depends on: dangling nodes are read, not computed."""
    live = {graph.output}
    for node in reversed(graph.nodes):
        if any(name in live for name in node.outputs):
            live.update(node.inputs)
    return live


def trouble(node: Node, code: str, what: str, fix: str = "export the model again with a current exporter") -> Declined:
    """Return the refusal of a node."""
    return Declined(code, what, where=f"node {node.name} ({node.operator})", fix=fix)


def attribute(node: Node, name: str, field: str, default: Any) -> Any:
    """Return an attribute of the named type, or the default; raises Declined."""
    found = node.attributes.get(name)
    if found is None:
        return default
    if found[0] != field:
        raise trouble(node, "onnx-attribute", f"the attribute {name!r} has the wrong type")
    return found[1]


def flag(node: Node, name: str) -> bool:
    """Return an attribute that is 0 or 1."""
    value = attribute(node, name, "i", 0)
    if value not in (0, 1):
        raise trouble(node, "onnx-attribute", f"the attribute {name!r} is {value}, not 0 or 1")
    return bool(value)


def operand(builder: Builder, node: Node, index: int) -> Value | None:
    """Return the value of an input, None where it is left out."""
    if index >= len(node.inputs) or not node.inputs[index]:
        return None
    value = builder.values.get(node.inputs[index])
    if value is None:
        raise trouble(node, "onnx-graph", f"the input {node.inputs[index]!r} is an output that is not supported")
    return value


def require_arity(node: Node, least: int, most: int) -> None:
    """Raise Declined unless the node has so many inputs, the first of them named, and one output."""
    if not least <= len(node.inputs) <= most or len(node.outputs) < 1 or any(not name for name in node.inputs[:least]):
        raise trouble(node, "onnx-attribute", f"{len(node.inputs)} inputs")
    if len(node.outputs) > (2 if node.operator == "Dropout" else 1):
        raise trouble(node, "onnx-attribute", f"{len(node.outputs)} outputs")


def _float(node: Node, value: Value | None, what: str) -> Array:
    if not isinstance(value, np.ndarray) or value.dtype != np.dtype("<f4"):
        raise trouble(node, "onnx-graph", f"{what} must be a float32 constant", "export a multilayer perceptron with constant weights")
    return np.asarray(value, np.float64)


def _append(builder: Builder, node: Node, source: Computed, layer: Layer, shape: tuple[int, ...]) -> Computed:
    if source.depth != len(builder.layers):
        raise trouble(node, "onnx-graph", "the graph branches here: only chains of layers are supported", "export a multilayer perceptron")
    if layer.size == 0:
        raise trouble(node, "onnx-graph", "the layer is empty", "export a network whose layers have neurons")
    builder.layers.append(layer)
    return Computed(shape, len(builder.layers))


def _gemm(builder: Builder, node: Node) -> Value:
    require_arity(node, 2, 3)
    left, constant = operand(builder, node, 0), _float(node, operand(builder, node, 1), "B")
    if not isinstance(left, Computed) or len(left.shape) != 2 or constant.ndim != 2:
        raise trouble(node, "onnx-graph", "A must be computed, B constant, both of rank 2", "export a multilayer perceptron with constant weights")
    rows, inner = left.shape[::-1] if flag(node, "transA") else left.shape
    weight = constant if flag(node, "transB") else constant.T
    if rows != 1 or weight.shape[1] != inner:
        raise trouble(node, "onnx-graph", f"A is {rows} x {inner}, B {weight.shape[1]} x {weight.shape[0]}: one row that fits is supported")
    if len(node.inputs) < 3 and builder.graph.opset < 11:
        raise trouble(node, "onnx-attribute", f"C is missing, which it may not be in operator set {builder.graph.opset}")
    builder.charge(weight.size)
    alpha, beta = (float(np.float32(attribute(node, name, "f", 1.0))) for name in ("alpha", "beta"))
    outputs = weight.shape[0]
    offset = operand(builder, node, 2)
    bias = np.zeros(outputs)
    if offset is not None:
        added = _float(node, offset, "C")
        if added.ndim > 2 or (added.ndim == 2 and added.shape[0] != 1) or added.size not in (1, outputs):
            raise trouble(node, "onnx-graph", f"C of shape {list(added.shape)} does not broadcast to 1 x {outputs}")
        bias = bias + beta * added.reshape(-1)
    return _append(builder, node, left, Dense(np.ascontiguousarray(alpha * weight) + 0.0, bias, alpha, beta), (1, outputs))


def _matmul(builder: Builder, node: Node) -> Value:
    require_arity(node, 2, 2)
    left, right = operand(builder, node, 0), operand(builder, node, 1)
    if isinstance(left, Computed) == isinstance(right, Computed):
        raise trouble(node, "onnx-operator", "a product of two computed or of two constant tensors is not supported",
                       "export a multilayer perceptron")
    if isinstance(left, Computed):
        weight = _float(node, right, "the right side")
        inner, others = left.shape[-1] if left.shape else 0, left.shape[:-1]
        if not left.shape or weight.ndim not in (1, 2) or weight.shape[0] != inner or prod(others) != 1:
            raise trouble(node, "onnx-graph", f"{list(left.shape)} times {list(weight.shape)}: one row times a matrix that fits is supported")
        builder.charge(weight.size)
        return _append(builder, node, left, _bare(weight.reshape(inner, -1).T), others + weight.shape[1:])
    if not isinstance(right, Computed):
        raise trouble(node, "onnx-attribute", "an input is missing")
    weight, shape = _float(node, left, "the left side"), right.shape
    inner_axis = 0 if len(shape) == 1 else len(shape) - 2
    if weight.ndim not in (1, 2) or not shape or weight.shape[-1] != shape[inner_axis] or prod(shape) != shape[inner_axis]:
        raise trouble(node, "onnx-graph", f"{list(weight.shape)} times {list(shape)}: a matrix times one column that fits is supported")
    builder.charge(weight.size)
    return _append(builder, node, right, _bare(weight.reshape(-1, weight.shape[-1])),
                   shape[:inner_axis] + weight.shape[:-1] + shape[inner_axis + 1 :])


def _bare(weight: Array) -> Dense:
    return Dense(np.ascontiguousarray(weight), np.zeros(weight.shape[0]))


def _add(builder: Builder, node: Node) -> Value:
    require_arity(node, 2, 2)
    left, right = operand(builder, node, 0), operand(builder, node, 1)
    source, other = (left, right) if isinstance(left, Computed) else (right, left)
    if not isinstance(source, Computed) or isinstance(other, Computed):
        raise trouble(node, "onnx-operator", "a sum of two computed or of two constant tensors is not supported", "export a multilayer perceptron")
    constant = _float(node, other, "the other side")
    shape: tuple[int, ...] | None = None
    with suppress(ValueError):
        shape = np.broadcast_shapes(source.shape, constant.shape)
    if shape is None or prod(shape) != prod(source.shape):
        raise trouble(node, "onnx-graph", f"{list(constant.shape)} does not broadcast to {list(source.shape)}")
    builder.charge(prod(shape))
    bias = np.array(np.broadcast_to(constant, shape)).reshape(-1)
    sign = -1 if node.operator == "Sub" and source is right else 1
    bias = -bias if node.operator == "Sub" and source is left else bias
    last = builder.layers[source.depth - 1] if source.depth else None
    if sign == 1 and isinstance(last, Dense) and not last.bias.any() and builder.readers[source.depth] == 1 and source.depth == len(builder.layers):
        # Its only reader, under any name, is this node, so nobody needs the product without the bias.
        builder.layers[-1] = replace(last, bias=bias + 0.0)
        return Computed(shape, source.depth)
    return _append(builder, node, source, Scale(sign, bias + 0.0), shape)


def _relu(builder: Builder, node: Node) -> Value:
    require_arity(node, 1, 1)
    source = operand(builder, node, 0)
    if not isinstance(source, Computed):
        raise trouble(node, "onnx-operator", "Relu of a constant is not supported")
    return _append(builder, node, source, Relu(prod(source.shape)), source.shape)


_EVER = range(OPSETS.start, OPSETS.stop)
_SINCE_12, _SINCE_14, _UNTIL_11, _UNTIL_12 = _EVER[5:], _EVER[7:], _EVER[:5], _EVER[:6]
_Handler = Callable[[Builder, Node], Value]
_OPERATORS: Mapping[str, tuple[_Handler | str, Mapping[str, range]]] = {
    "Add": (_add, {}),
    "Constant": ("constant", {"value": _EVER, "value_float": _SINCE_12, "value_floats": _SINCE_12, "value_int": _SINCE_12, "value_ints": _SINCE_12}),
    "Dropout": ("dropout", {"ratio": _UNTIL_11, "seed": _SINCE_12}),
    "Flatten": ("flatten", {"axis": _EVER}),
    "Gemm": (_gemm, {"alpha": _EVER, "beta": _EVER, "transA": _EVER, "transB": _EVER}),
    "Identity": ("identity", {}),
    "MatMul": (_matmul, {}),
    "Relu": (_relu, {}),
    "Reshape": ("reshape", {"allowzero": _SINCE_14}),
    "Squeeze": ("squeeze", {"axes": _UNTIL_12}),
    "Sub": (_add, {}),
    "Unsqueeze": ("unsqueeze", {"axes": _UNTIL_12}),
}
"""Each operator's function, or the name of one in `onnx_shapes`, and the operator sets that know each attribute."""
