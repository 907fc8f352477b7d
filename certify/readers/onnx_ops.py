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
class _Builder:
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
    graph = read_graph(data)
    for node in graph.nodes:
        if node.operator not in _OPERATORS:
            raise Declined("onnx-operator", f"the operator {node.operator!r} is not supported", where=f"node {node.name}",
                           fix=f"supported operators: {', '.join(sorted(_OPERATORS))}")
    if len(graph.input_shape) > 1 and graph.input_shape[0] != 1:
        raise Declined("onnx-graph", f"the batch size is fixed at {graph.input_shape[0]}", where=graph.input,
                       fix="export the model with batch size 1")
    uses = Counter(name for node in graph.nodes for name in node.inputs)
    uses[graph.output] += 1
    values: dict[str, Value] = {**graph.tensors}
    builder = _Builder(graph, values, [], uses, limits, Counter())
    builder.put(graph.input, Computed(graph.input_shape, 0))
    live = _live(graph)
    for node in graph.nodes:
        if node.outputs and node.outputs[0] in live:
            handler, attributes = _OPERATORS[node.operator]
            for name in node.attributes:
                if graph.opset not in attributes.get(name, ()):
                    raise _trouble(node, "onnx-attribute", f"unknown attribute {name!r} for operator set {graph.opset}")
            builder.put(node.outputs[0], handler(builder, node))
    result = values.get(graph.output)
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


def _live(graph: Graph) -> set[str]:
    """Return the names that the output depends on: dangling nodes are read, not computed."""
    live = {graph.output}
    for node in reversed(graph.nodes):
        if any(name in live for name in node.outputs):
            live.update(node.inputs)
    return live


def _trouble(node: Node, code: str, what: str, fix: str = "export the model again with a current exporter") -> Declined:
    return Declined(code, what, where=f"node {node.name} ({node.operator})", fix=fix)


def _attribute(node: Node, name: str, field: str, default: Any) -> Any:
    found = node.attributes.get(name)
    if found is None:
        return default
    if found[0] != field:
        raise _trouble(node, "onnx-attribute", f"the attribute {name!r} has the wrong type")
    return found[1]


def _flag(node: Node, name: str) -> bool:
    value = _attribute(node, name, "i", 0)
    if value not in (0, 1):
        raise _trouble(node, "onnx-attribute", f"the attribute {name!r} is {value}, not 0 or 1")
    return bool(value)


def _input(builder: _Builder, node: Node, index: int) -> Value | None:
    if index >= len(node.inputs) or not node.inputs[index]:
        return None
    value = builder.values.get(node.inputs[index])
    if value is None:
        raise _trouble(node, "onnx-graph", f"the input {node.inputs[index]!r} is an output that is not supported")
    return value


def _arity(node: Node, least: int, most: int) -> None:
    if not least <= len(node.inputs) <= most or len(node.outputs) < 1 or any(not name for name in node.inputs[:least]):
        raise _trouble(node, "onnx-attribute", f"{len(node.inputs)} inputs")
    if len(node.outputs) > (2 if node.operator == "Dropout" else 1):
        raise _trouble(node, "onnx-attribute", f"{len(node.outputs)} outputs")


def _float(node: Node, value: Value | None, what: str) -> Array:
    if not isinstance(value, np.ndarray) or value.dtype != np.dtype("<f4"):
        raise _trouble(node, "onnx-graph", f"{what} must be a float32 constant", "export a multilayer perceptron with constant weights")
    return np.asarray(value, np.float64)


def _integers(node: Node, value: Value | None, what: str) -> list[int]:
    if not isinstance(value, np.ndarray) or value.dtype != np.dtype("<i8") or value.ndim != 1:
        raise _trouble(node, "onnx-graph", f"{what} must be a constant list of int64")
    return [int(number) for number in value.reshape(-1)]


def _append(builder: _Builder, node: Node, source: Computed, layer: Layer, shape: tuple[int, ...]) -> Computed:
    if source.depth != len(builder.layers):
        raise _trouble(node, "onnx-graph", "the graph branches here: only chains of layers are supported", "export a multilayer perceptron")
    if layer.size == 0:
        raise _trouble(node, "onnx-graph", "the layer is empty", "export a network whose layers have neurons")
    builder.layers.append(layer)
    return Computed(shape, len(builder.layers))


def _gemm(builder: _Builder, node: Node) -> Value:
    _arity(node, 2, 3)
    left, constant = _input(builder, node, 0), _float(node, _input(builder, node, 1), "B")
    if not isinstance(left, Computed) or len(left.shape) != 2 or constant.ndim != 2:
        raise _trouble(node, "onnx-graph", "A must be computed, B constant, both of rank 2", "export a multilayer perceptron with constant weights")
    rows, inner = left.shape[::-1] if _flag(node, "transA") else left.shape
    weight = constant if _flag(node, "transB") else constant.T
    if rows != 1 or weight.shape[1] != inner:
        raise _trouble(node, "onnx-graph", f"A is {rows} x {inner}, B {weight.shape[1]} x {weight.shape[0]}: one row that fits is supported")
    if len(node.inputs) < 3 and builder.graph.opset < 11:
        raise _trouble(node, "onnx-attribute", f"C is missing, which it may not be in operator set {builder.graph.opset}")
    builder.charge(weight.size)
    alpha, beta = (float(np.float32(_attribute(node, name, "f", 1.0))) for name in ("alpha", "beta"))
    outputs = weight.shape[0]
    offset = _input(builder, node, 2)
    bias = np.zeros(outputs)
    if offset is not None:
        added = _float(node, offset, "C")
        if added.ndim > 2 or (added.ndim == 2 and added.shape[0] != 1) or added.size not in (1, outputs):
            raise _trouble(node, "onnx-graph", f"C of shape {list(added.shape)} does not broadcast to 1 x {outputs}")
        bias = bias + beta * added.reshape(-1)
    return _append(builder, node, left, Dense(np.ascontiguousarray(alpha * weight) + 0.0, bias, alpha, beta), (1, outputs))


def _matmul(builder: _Builder, node: Node) -> Value:
    _arity(node, 2, 2)
    left, right = _input(builder, node, 0), _input(builder, node, 1)
    if isinstance(left, Computed) == isinstance(right, Computed):
        raise _trouble(node, "onnx-operator", "a product of two computed or of two constant tensors is not supported",
                       "export a multilayer perceptron")
    if isinstance(left, Computed):
        weight = _float(node, right, "the right side")
        inner, others = left.shape[-1] if left.shape else 0, left.shape[:-1]
        if not left.shape or weight.ndim not in (1, 2) or weight.shape[0] != inner or prod(others) != 1:
            raise _trouble(node, "onnx-graph", f"{list(left.shape)} times {list(weight.shape)}: one row times a matrix that fits is supported")
        builder.charge(weight.size)
        return _append(builder, node, left, _bare(weight.reshape(inner, -1).T), others + weight.shape[1:])
    if not isinstance(right, Computed):
        raise _trouble(node, "onnx-attribute", "an input is missing")
    weight, shape = _float(node, left, "the left side"), right.shape
    inner_axis = 0 if len(shape) == 1 else len(shape) - 2
    if weight.ndim not in (1, 2) or not shape or weight.shape[-1] != shape[inner_axis] or prod(shape) != shape[inner_axis]:
        raise _trouble(node, "onnx-graph", f"{list(weight.shape)} times {list(shape)}: a matrix times one column that fits is supported")
    builder.charge(weight.size)
    return _append(builder, node, right, _bare(weight.reshape(-1, weight.shape[-1])),
                   shape[:inner_axis] + weight.shape[:-1] + shape[inner_axis + 1 :])


def _bare(weight: Array) -> Dense:
    return Dense(np.ascontiguousarray(weight), np.zeros(weight.shape[0]))


def _add(builder: _Builder, node: Node) -> Value:
    _arity(node, 2, 2)
    left, right = _input(builder, node, 0), _input(builder, node, 1)
    source, other = (left, right) if isinstance(left, Computed) else (right, left)
    if not isinstance(source, Computed) or isinstance(other, Computed):
        raise _trouble(node, "onnx-operator", "a sum of two computed or of two constant tensors is not supported", "export a multilayer perceptron")
    constant = _float(node, other, "the other side")
    shape: tuple[int, ...] | None = None
    with suppress(ValueError):
        shape = np.broadcast_shapes(source.shape, constant.shape)
    if shape is None or prod(shape) != prod(source.shape):
        raise _trouble(node, "onnx-graph", f"{list(constant.shape)} does not broadcast to {list(source.shape)}")
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


def _relu(builder: _Builder, node: Node) -> Value:
    _arity(node, 1, 1)
    source = _input(builder, node, 0)
    if not isinstance(source, Computed):
        raise _trouble(node, "onnx-operator", "Relu of a constant is not supported")
    return _append(builder, node, source, Relu(prod(source.shape)), source.shape)


def _reshaped(node: Node, value: Value, shape: tuple[int, ...]) -> Value:
    if not isinstance(value, np.ndarray):
        return Computed(shape, value.depth)
    try:
        return value.reshape(shape)
    except ValueError:  # an empty constant with dimensions that numpy can't hold
        raise _trouble(node, "onnx-graph", f"the shape {list(shape)[:8]} is too large") from None


def _data(builder: _Builder, node: Node, most: int) -> Value:
    _arity(node, 1, most)
    value = _input(builder, node, 0)
    if value is None:
        raise _trouble(node, "onnx-attribute", "the first input is missing")
    return value


def _axis(node: Node, axis: int, rank: int) -> int:
    if not -rank <= axis < rank:
        raise _trouble(node, "onnx-attribute", f"axis {axis} is outside the rank {rank}")
    return axis % rank


def _flatten(builder: _Builder, node: Node) -> Value:
    value = _data(builder, node, 1)
    axis = _attribute(node, "axis", "i", 1)
    if axis < 0 and builder.graph.opset < 11:
        raise _trouble(node, "onnx-attribute", f"a negative axis in operator set {builder.graph.opset}")
    axis = axis if axis == len(value.shape) else _axis(node, axis, len(value.shape))
    return _reshaped(node, value, (prod(value.shape[:axis]), prod(value.shape[axis:])))


def _reshape(builder: _Builder, node: Node) -> Value:
    value = _data(builder, node, 2)
    wanted = _integers(node, _input(builder, node, 1), "the shape")
    if not _flag(node, "allowzero"):
        wanted = [value.shape[i] if size == 0 and i < len(value.shape) else size for i, size in enumerate(wanted)]
    if wanted.count(-1) == 1:
        rest = prod(size for size in wanted if size != -1)
        wanted = [prod(value.shape) // rest if size == -1 and rest > 0 else size for size in wanted]
    if len(wanted) > 6 or any(size < 0 for size in wanted) or prod(wanted) != prod(value.shape):
        raise _trouble(node, "onnx-graph", f"the shape {wanted[:8]} does not hold the {prod(value.shape)} elements of {list(value.shape)}")
    return _reshaped(node, value, tuple(wanted))


def _axes(builder: _Builder, node: Node) -> list[int] | None:
    """Return the axes: an attribute before operator set 13, an input from then on; an empty list, read in two ways by others, is refused."""
    if builder.graph.opset < 13 and len(node.inputs) > 1:
        raise _trouble(node, "onnx-attribute", f"axes are an attribute in operator set {builder.graph.opset}")
    given = _input(builder, node, 1)
    axes: list[int] | None = _attribute(node, "axes", "ints", None) if given is None else _integers(node, given, "axes")
    if axes == []:
        raise _trouble(node, "onnx-attribute", "the list of axes is empty")
    return axes


def _squeeze(builder: _Builder, node: Node) -> Value:
    value = _data(builder, node, 2)
    axes = _axes(builder, node)
    rank = len(value.shape)
    gone = {i for i, size in enumerate(value.shape) if size == 1} if axes is None else {_axis(node, axis, rank) for axis in axes}
    if any(value.shape[i] != 1 for i in gone):
        raise _trouble(node, "onnx-graph", f"axes {sorted(gone)} of {list(value.shape)} are not all of size 1")
    return _reshaped(node, value, tuple(size for i, size in enumerate(value.shape) if i not in gone))


def _unsqueeze(builder: _Builder, node: Node) -> Value:
    value = _data(builder, node, 2)
    axes = _axes(builder, node)
    if axes is None:
        raise _trouble(node, "onnx-attribute", "axes are missing")
    rank = len(value.shape) + len(axes)
    new = {_axis(node, axis, rank) for axis in axes}
    if len(new) != len(axes) or rank > 6:
        raise _trouble(node, "onnx-attribute", f"axes {axes[:8]} repeat, or make a rank above 6")
    sizes = iter(value.shape)
    return _reshaped(node, value, tuple(1 if i in new else next(sizes) for i in range(rank)))


def _identity(builder: _Builder, node: Node) -> Value:
    return _data(builder, node, 1)


def _dropout(builder: _Builder, node: Node) -> Value:
    value = _data(builder, node, 3 if builder.graph.opset >= 12 else 1)
    training = _input(builder, node, 2)
    if training is not None and not (isinstance(training, np.ndarray) and training.size == 1 and not training.any()):
        raise _trouble(node, "onnx-training", "Dropout in training mode is random", "export the model in evaluation mode")
    return value


def _constant(builder: _Builder, node: Node) -> Value:
    _arity(node, 0, 0)
    if len(node.attributes) != 1:
        raise _trouble(node, "onnx-attribute", "a Constant has exactly one value")
    (name, (field, value)), = node.attributes.items()
    forms: Mapping[str, tuple[str, str]] = {"value_float": ("f", "<f4"), "value_floats": ("floats", "<f4"), "value_int": ("i", "<i8"),
                                            "value_ints": ("ints", "<i8")}
    if name == "value" and field == "t":
        return value  # type: ignore[no-any-return]
    if forms.get(name, ("", ""))[0] != field:
        raise _trouble(node, "onnx-attribute", f"the attribute {name!r} has the wrong type or is not supported")
    return np.array(value, forms[name][1])


_Handler = Callable[[_Builder, Node], Value]
_EVER = range(OPSETS.start, OPSETS.stop)
_SINCE_12, _SINCE_14, _UNTIL_11, _UNTIL_12 = _EVER[5:], _EVER[7:], _EVER[:5], _EVER[:6]
_OPERATORS: Mapping[str, tuple[_Handler, Mapping[str, range]]] = {
    "Add": (_add, {}),
    "Constant": (_constant, {"value": _EVER, "value_float": _SINCE_12, "value_floats": _SINCE_12, "value_int": _SINCE_12, "value_ints": _SINCE_12}),
    "Dropout": (_dropout, {"ratio": _UNTIL_11, "seed": _SINCE_12}),
    "Flatten": (_flatten, {"axis": _EVER}),
    "Gemm": (_gemm, {"alpha": _EVER, "beta": _EVER, "transA": _EVER, "transB": _EVER}),
    "Identity": (_identity, {}),
    "MatMul": (_matmul, {}),
    "Relu": (_relu, {}),
    "Reshape": (_reshape, {"allowzero": _SINCE_14}),
    "Squeeze": (_squeeze, {"axes": _UNTIL_12}),
    "Sub": (_add, {}),
    "Unsqueeze": (_unsqueeze, {"axes": _UNTIL_12}),
}
