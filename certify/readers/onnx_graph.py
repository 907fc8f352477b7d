# SPDX-License-Identifier: Apache-2.0
"""ONNX messages to a checked graph: named tensors with values, nodes with typed attributes, one input and one output.

Guarantee: names are unique and written before they are read, every initialiser is finite and as long as its shape says,
every attribute's value is in the field its type names, and the opset is one whose operator definitions were reviewed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite, prod
from typing import Any

import numpy as np

from certify.errors import Declined
from certify.readers.onnx_wire import Message, decode_model

Array = np.ndarray[Any, Any]

OPSETS = range(7, 29)
IR_VERSIONS = range(3, 15)
_MOST_ELEMENTS = 1 << 28
_MOST_RANK = 6
_FLOAT, _INT32, _INT64, _BOOL = 1, 6, 7, 9
_DTYPES = {_FLOAT: "<f4", _INT32: "<i4", _INT64: "<i8", _BOOL: "|u1"}
_ELEMENT_TYPES = {dtype: kind for kind, dtype in _DTYPES.items()}
_TYPE_NAMES = {10: "float16", 11: "double", 8: "string", 16: "bfloat16", 2: "uint8", 3: "int8"}
_ATTRIBUTES = {1: "f", 2: "i", 3: "s", 4: "t", 6: "floats", 7: "ints", 8: "strings"}
_EMPTY: Mapping[str, Any] = {"f": 0.0, "i": 0, "s": b"", "floats": [], "ints": [], "strings": []}
_FIX = "export the model again with a current exporter"


@dataclass(frozen=True)
class Node:
    """One operator: `attributes` maps a name to (field, value) with tensors as arrays; an empty input name is an omitted input."""

    operator: str
    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, tuple[str, Any]]


@dataclass(frozen=True)
class Graph:
    """A checked graph; shapes hold a leading unknown batch dimension as 1."""

    opset: int
    nodes: tuple[Node, ...]
    tensors: Mapping[str, Array]
    input: str
    input_shape: tuple[int, ...]
    output: str
    output_shape: tuple[int, ...] | None
    inputs_with_values: tuple[str, ...]


def read_graph(data: bytes) -> Graph:
    """Return the checked graph of an ONNX model; raises Declined with an `onnx-` code."""
    model = decode_model(data)
    if model.get("ir_version", 0) not in IR_VERSIONS:
        raise Declined("onnx-opset", f"ir_version {model.get('ir_version', 0)} is not one of 3 to 14", where="Model", fix=_FIX)
    if "graph" not in model:
        raise Declined("onnx-graph", "the model holds no graph", where="Model", fix=_FIX)
    graph = model["graph"]
    tensors: dict[str, Array] = {}
    for message in graph["initializer"]:
        name = message.get("name", "")
        if not name or name in tensors:
            raise Declined("onnx-name", f"the initialiser name {name!r} is empty or written twice", where="Graph.initializer", fix=_FIX)
        tensors[name] = read_tensor(message, name)
    inputs = [(info.get("name", ""), info) for info in graph["input"]]
    names = [name for name, _ in inputs]
    if len(set(names)) != len(names) or "" in names:
        raise Declined("onnx-name", "a graph input name is empty or written twice", where="Graph.input", fix=_FIX)
    for name, info in inputs:
        if name in tensors and _element_type(info) not in (0, _ELEMENT_TYPES[tensors[name].dtype.str]):
            raise Declined("onnx-tensor", "the graph input declares another element type than its initialiser has", where=name, fix=_FIX)
        if name in tensors and (shape := _shape(info, name, False)) is not None and shape != tensors[name].shape:
            raise Declined("onnx-tensor", "the graph input declares another shape than its initialiser has", where=name, fix=_FIX)
    free = [(name, info) for name, info in inputs if name not in tensors]
    if len(free) != 1 or len(graph["output"]) != 1:
        raise Declined("onnx-graph", f"{len(free)} inputs without a value and {len(graph['output'])} outputs: exactly one of each is supported",
                       where="Graph", fix="export the part of the network with one input and one output")
    name, info = free[0]
    shape = _shape(info, name, True)
    if shape is None:
        raise Declined("onnx-graph", "the input's shape is not declared", where=name, fix=_FIX)
    output = graph["output"][0]
    if _element_type(output) not in (0, _FLOAT):
        raise Declined("onnx-graph", "the network's output is not float32", where=output.get("name", ""), fix="export the model in float32")
    nodes = tuple(_node(message, index) for index, message in enumerate(graph["node"]))
    result = Graph(_opset(model), nodes, tensors, name, shape, output.get("name", ""), _shape(output, output.get("name", ""), False),
                   tuple(n for n in names if n in tensors))
    _check_names(result)
    return result


def _opset(model: Message) -> int:
    versions: dict[str, int] = {}
    for entry in model["opset_import"]:
        domain, version = entry.get("domain", ""), entry.get("version", 0)
        domain = "" if domain == "ai.onnx" else domain
        if versions.setdefault(domain, version) != version:
            raise Declined("onnx-opset", f"two versions for the operator set {domain!r}", where="Model.opset_import", fix=_FIX)
    if versions.get("", 0) not in OPSETS:
        raise Declined("onnx-opset", f"operator set version {versions.get('', 0)} is not one of {OPSETS.start} to {OPSETS.stop - 1}",
                       where="Model.opset_import", fix="export the model with a supported operator set")
    return versions[""]


def _node(message: Message, index: int) -> Node:
    operator, name = message.get("op_type", ""), message.get("name", "")
    where = f"node {name or index} ({operator})"
    if message.get("domain", "") not in ("", "ai.onnx") or message.get("overload", ""):
        raise Declined("onnx-domain", f"operator domain {message.get('domain', '')!r} is not supported", where=where,
                       fix="export the model with standard ONNX operators only")
    attributes: dict[str, tuple[str, Any]] = {}
    for attribute in message["attribute"]:
        label = attribute.get("name", "")
        field = _ATTRIBUTES.get(attribute.get("type", 0))
        present = [key for key in (*_EMPTY, "t") if attribute.get(key, []) != []]
        if not label or label in attributes or field is None or attribute.get("ref_attr_name", "") or any(key != field for key in present):
            raise Declined("onnx-attribute", f"the attribute {label!r} is written twice, has no supported type, or a value of another type",
                           where=where, fix=_FIX)
        if field == "t":
            if "t" not in attribute:
                raise Declined("onnx-attribute", f"the attribute {label!r} has no value", where=where, fix=_FIX)
            value: Any = read_tensor(attribute["t"], where)
        else:
            value = attribute.get(field, _EMPTY[field])
        numbers = value if field == "floats" else [value] if field == "f" else []
        if not all(isfinite(number) for number in numbers):
            raise Declined("onnx-attribute", f"the attribute {label!r} is not finite", where=where, fix=_FIX)
        attributes[label] = (field, value)
    return Node(operator, name or str(index), tuple(message["input"]), tuple(message["output"]), attributes)


def read_tensor(message: Message, where: str) -> Array:
    """Return the array in a Tensor message: float32, int64, int32 or bool (as uint8); raises Declined `onnx-tensor`."""
    kind, shape = message.get("data_type", 0), tuple(message["dims"])
    if kind not in _DTYPES:
        raise Declined("onnx-tensor", f"element type {_TYPE_NAMES.get(kind, kind)} is not supported (float32, int64, int32 and bool are)",
                       where=where, fix="export the model in float32")
    if message["external_data"] or message.get("data_location", 0) != 0:
        raise Declined("onnx-tensor", "its values are in another file (external data)", where=where,
                       fix="put everything in one file: certify convert onnx MODEL.onnx -o SINGLE.onnx")
    if len(shape) > _MOST_RANK or any(size < 0 for size in shape) or prod(shape) > _MOST_ELEMENTS:
        raise Declined("onnx-tensor", f"shape {list(shape)[:8]} is negative, too large or of rank above {_MOST_RANK}", where=where, fix=_FIX)
    lists = {_FLOAT: "float_data", _INT64: "int64_data", _INT32: "int32_data", _BOOL: "int32_data"}
    filled = [key for key in ("float_data", "int32_data", "int64_data") if message[key]]
    raw = message.get("raw_data", b"")
    if (raw and filled) or filled not in ([], [lists[kind]]):
        raise Declined("onnx-tensor", "its values are written in two places, or in the place of another type", where=where, fix=_FIX)
    dtype = np.dtype(_DTYPES[kind])
    if filled:
        values = message[lists[kind]]
        if kind != _FLOAT and not all(np.iinfo(dtype).min <= value <= np.iinfo(dtype).max for value in values):
            raise Declined("onnx-tensor", "a value is outside its element type", where=where, fix=_FIX)
        array: Array = np.array(values, dtype)
    else:
        if len(raw) % dtype.itemsize:
            raise Declined("onnx-tensor", "its raw bytes are cut off", where=where, fix=_FIX)
        array = np.frombuffer(raw, dtype)
    if array.size != prod(shape):
        raise Declined("onnx-tensor", f"{array.size} values don't fill the shape {list(shape)}", where=where, fix=_FIX)
    if kind == _FLOAT and not np.isfinite(array).all():
        raise Declined("onnx-tensor", "it holds a NaN or an infinity", where=where,
                       fix="repair the weights: no property of such a network can be proved")
    try:
        return array.reshape(shape)
    except ValueError:  # an empty tensor with dimensions that numpy can't hold
        raise Declined("onnx-tensor", f"the shape {list(shape)} is too large", where=where, fix=_FIX) from None


def _element_type(info: Message) -> int:
    """Return a declared element type, 0 where none is declared."""
    found: int = info.get("type", {}).get("tensor_type", {}).get("elem_type", 0)
    return found


def _shape(info: Message, where: str, free: bool) -> tuple[int, ...] | None:
    """Return a declared shape, or None where none is fully declared; of a `free` input, an unknown leading dimension becomes 1."""
    tensor = info.get("type", {}).get("tensor_type")
    if tensor is None or "shape" not in tensor:
        return None
    if free and tensor.get("elem_type", 0) != _FLOAT:
        raise Declined("onnx-graph", "the network's input is not float32", where=where, fix="export the model in float32")
    dims = tensor["shape"]["dim"]
    shape: list[int] = []
    for index, dim in enumerate(dims):
        if "dim_value" not in dim:
            if not free:
                return None
            if index != 0 or len(dims) == 1:
                raise Declined("onnx-graph", f"dimension {index} of the input is unknown: only a leading batch dimension may be", where=where,
                               fix="export the model with fixed input sizes")
        size = dim.get("dim_value", 1)
        if size < 0 and not free:
            return None
        if size <= 0 and free:
            raise Declined("onnx-graph", f"dimension {index} has the size {size}", where=where, fix="export the model with fixed input sizes")
        shape.append(size)
    if len(shape) > _MOST_RANK or prod(shape) > _MOST_ELEMENTS:
        raise Declined("onnx-graph", f"the shape {shape[:8]} is too large or of rank above {_MOST_RANK}", where=where, fix=_FIX)
    return tuple(shape)


def _check_names(graph: Graph) -> None:
    written = {graph.input, *graph.tensors}
    for node in graph.nodes:
        where = f"node {node.name} ({node.operator})"
        for name in node.inputs:
            if name and name not in written:
                raise Declined("onnx-name", f"{name!r} is read before it is written", where=where, fix=_FIX)
        for name in node.outputs:
            if name in written:
                raise Declined("onnx-name", f"{name!r} is written twice", where=where, fix=_FIX)
            if name:
                written.add(name)
    if graph.output not in written:
        raise Declined("onnx-name", f"the output {graph.output!r} is never written", where="Graph.output", fix=_FIX)
