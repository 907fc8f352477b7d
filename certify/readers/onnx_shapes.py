# SPDX-License-Identifier: Apache-2.0
"""ONNX operators that move no number: reshaping, constants, and what does nothing outside of training."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

import numpy as np

from certify.readers.onnx_graph import Node
from certify.readers.onnx_ops import Builder, Computed, Value, attribute, flag, operand, require_arity, trouble


def _integers(node: Node, value: Value | None, what: str) -> list[int]:
    if not isinstance(value, np.ndarray) or value.dtype != np.dtype("<i8") or value.ndim != 1:
        raise trouble(node, "onnx-graph", f"{what} must be a constant list of int64")
    return [int(number) for number in value.reshape(-1)]


def _reshaped(node: Node, value: Value, shape: tuple[int, ...]) -> Value:
    if not isinstance(value, np.ndarray):
        return Computed(shape, value.depth)
    try:
        return value.reshape(shape)
    except ValueError:  # an empty constant with dimensions that numpy can't hold
        raise trouble(node, "onnx-graph", f"the shape {list(shape)[:8]} is too large") from None


def _data(builder: Builder, node: Node, most: int) -> Value:
    require_arity(node, 1, most)
    value = operand(builder, node, 0)
    if value is None:
        raise trouble(node, "onnx-attribute", "the first input is missing")
    return value


def _axis(node: Node, axis: int, rank: int) -> int:
    if not -rank <= axis < rank:
        raise trouble(node, "onnx-attribute", f"axis {axis} is outside the rank {rank}")
    return axis % rank


def flatten(builder: Builder, node: Node) -> Value:
    """Return the value as a matrix: the axes before `axis`, and those from it on."""
    value = _data(builder, node, 1)
    axis = attribute(node, "axis", "i", 1)
    if axis < 0 and builder.graph.opset < 11:
        raise trouble(node, "onnx-attribute", f"a negative axis in operator set {builder.graph.opset}")
    axis = axis if axis == len(value.shape) else _axis(node, axis, len(value.shape))
    return _reshaped(node, value, (prod(value.shape[:axis]), prod(value.shape[axis:])))


def reshape(builder: Builder, node: Node) -> Value:
    """Return the value in the shape that the second input holds; 0 keeps a size, -1 stands for the rest."""
    value = _data(builder, node, 2)
    wanted = _integers(node, operand(builder, node, 1), "the shape")
    if not flag(node, "allowzero"):
        wanted = [value.shape[i] if size == 0 and i < len(value.shape) else size for i, size in enumerate(wanted)]
    if wanted.count(-1) == 1:
        rest = prod(size for size in wanted if size != -1)
        wanted = [prod(value.shape) // rest if size == -1 and rest > 0 else size for size in wanted]
    if len(wanted) > 6 or any(size < 0 for size in wanted) or prod(wanted) != prod(value.shape):
        raise trouble(node, "onnx-graph", f"the shape {wanted[:8]} does not hold the {prod(value.shape)} elements of {list(value.shape)}")
    return _reshaped(node, value, tuple(wanted))


def _axes(builder: Builder, node: Node) -> list[int] | None:
    """Return the axes: an attribute before operator set 13, an input from then on; an empty list, read in two ways by others, is refused."""
    if builder.graph.opset < 13 and len(node.inputs) > 1:
        raise trouble(node, "onnx-attribute", f"axes are an attribute in operator set {builder.graph.opset}")
    given = operand(builder, node, 1)
    axes: list[int] | None = attribute(node, "axes", "ints", None) if given is None else _integers(node, given, "axes")
    if axes == []:
        raise trouble(node, "onnx-attribute", "the list of axes is empty")
    return axes


def squeeze(builder: Builder, node: Node) -> Value:
    """Return the value without the named axes of size 1, or without all of them."""
    value = _data(builder, node, 2)
    axes = _axes(builder, node)
    rank = len(value.shape)
    gone = {i for i, size in enumerate(value.shape) if size == 1} if axes is None else {_axis(node, axis, rank) for axis in axes}
    if any(value.shape[i] != 1 for i in gone):
        raise trouble(node, "onnx-graph", f"axes {sorted(gone)} of {list(value.shape)} are not all of size 1")
    return _reshaped(node, value, tuple(size for i, size in enumerate(value.shape) if i not in gone))


def unsqueeze(builder: Builder, node: Node) -> Value:
    """Return the value with axes of size 1 put in."""
    value = _data(builder, node, 2)
    axes = _axes(builder, node)
    if axes is None:
        raise trouble(node, "onnx-attribute", "axes are missing")
    rank = len(value.shape) + len(axes)
    new = {_axis(node, axis, rank) for axis in axes}
    if len(new) != len(axes) or rank > 6:
        raise trouble(node, "onnx-attribute", f"axes {axes[:8]} repeat, or make a rank above 6")
    sizes = iter(value.shape)
    return _reshaped(node, value, tuple(1 if i in new else next(sizes) for i in range(rank)))


def identity(builder: Builder, node: Node) -> Value:
    """Return the value."""
    return _data(builder, node, 1)


def dropout(builder: Builder, node: Node) -> Value:
    """Return the value; raises Declined `onnx-training` in training mode."""
    value = _data(builder, node, 3 if builder.graph.opset >= 12 else 1)
    training = operand(builder, node, 2)
    if training is not None and not (isinstance(training, np.ndarray) and training.size == 1 and not training.any()):
        raise trouble(node, "onnx-training", "Dropout in training mode is random", "export the model in evaluation mode")
    return value


def constant(builder: Builder, node: Node) -> Value:
    """Return the node's only attribute as an array."""
    require_arity(node, 0, 0)
    if len(node.attributes) != 1:
        raise trouble(node, "onnx-attribute", "a Constant has exactly one value")
    (name, (field, value)), = node.attributes.items()
    forms: Mapping[str, tuple[str, str]] = {"value_float": ("f", "<f4"), "value_floats": ("floats", "<f4"), "value_int": ("i", "<i8"),
                                            "value_ints": ("ints", "<i8")}
    if name == "value" and field == "t":
        return value  # type: ignore[no-any-return]
    if forms.get(name, ("", ""))[0] != field:
        raise trouble(node, "onnx-attribute", f"the attribute {name!r} has the wrong type or is not supported")
    return np.array(value, forms[name][1])
