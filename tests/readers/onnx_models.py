# SPDX-License-Identifier: Apache-2.0
"""ONNX models for the reader tests: whole models through the `onnx` package, and protobuf bytes written by hand for the malformed ones."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper

node = helper.make_node
Shape = Sequence[int | str | None] | None


def floats(name: str, values: Any) -> TensorProto:
    """Return a float32 tensor written as raw_data."""
    return numpy_helper.from_array(np.array(values, np.float32), name)


def integers(name: str, values: Any) -> TensorProto:
    """Return an int64 tensor written as raw_data."""
    return numpy_helper.from_array(np.array(values, np.int64), name)


def typed(name: str, values: Any) -> TensorProto:
    """Return a float32 tensor written as float_data."""
    array = np.array(values, np.float32)
    return helper.make_tensor(name, TensorProto.FLOAT, array.shape, array.reshape(-1).tolist())


def info(name: str, shape: Shape, kind: int = TensorProto.FLOAT) -> ValueInfoProto:
    """Return a value's declaration; a name in the shape is a dim_param, None an empty dimension, no shape at all is left out."""
    return helper.make_tensor_value_info(name, kind, shape)


def model(nodes: Iterable[NodeProto], tensors: Iterable[TensorProto] = (), *, shape: Shape = (1, 3), opset: int = 13, ir_version: int = 8,
          inputs: Sequence[ValueInfoProto] | None = None, outputs: Sequence[ValueInfoProto] | None = None,
          opsets: Sequence[tuple[str, int]] | None = None) -> ModelProto:
    """Return a model from the input "x" of `shape` to the output "y", unless `inputs` and `outputs` say otherwise."""
    graph = helper.make_graph(list(nodes), "g", [info("x", shape)] if inputs is None else inputs,
                              [info("y", None)] if outputs is None else outputs, list(tensors))
    versions = [("", opset)] if opsets is None else opsets
    return helper.make_model(graph, opset_imports=[helper.make_opsetid(domain, version) for domain, version in versions], ir_version=ir_version)


def encoded(nodes: Iterable[NodeProto], tensors: Iterable[TensorProto] = (), **settings: Any) -> bytes:
    """Return the bytes of `model` with the same arguments."""
    return bytes(model(nodes, tensors, **settings).SerializeToString(deterministic=True))


def perceptron(opset: int = 13, **settings: Any) -> ModelProto:
    """Return a valid model with every kind of tensor and attribute that stage 1 reads: 3 inputs, 2 outputs."""
    nodes = [
        node("Constant", [], ["shift"], value=floats("", [[0.5, -0.25, 2.0]])),
        node("Sub", ["x", "shift"], ["moved"], name="moved"),
        node("Flatten", ["moved"], ["flat"], axis=1),
        node("Gemm", ["flat", "w", "b"], ["z"], name="first", alpha=0.5, beta=2.0, transB=1),
        node("Relu", ["z"], ["h"]),
        node("Reshape", ["h", "target"], ["r"]),
        node("MatMul", ["r", "v"], ["m"]),
        node("Add", ["m", "c"], ["y"], name="last"),
    ]
    tensors = [floats("w", np.arange(12).reshape(4, 3) / 4 - 1), typed("b", [0.5, -1, 2, 0.125]), integers("target", [1, -1]),
               floats("v", np.arange(8).reshape(4, 2) / 8 - 0.5), typed("c", [[1.0, -1.5]])]
    return model(nodes, tensors, opset=opset, **{"outputs": [info("y", (1, 2))], **settings})


# Bytes by hand. A tree is a list whose items are raw bytes or (field number, value): an int is a varint, a float a fixed32, text and bytes
# are length-delimited, and a list is a message.

Tree = list[Any]
Path = Sequence[int | tuple[int, int]]


def varint(number: int) -> bytes:
    """Return the shortest varint of a number, negative ones as 64-bit two's complement."""
    number &= (1 << 64) - 1
    out = bytearray()
    while number >= 0x80:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def key(number: int, wire: int) -> bytes:
    """Return the key in front of a field."""
    return varint(number << 3 | wire)


def delimited(number: int, data: bytes) -> bytes:
    """Return a length-delimited field."""
    return key(number, 2) + varint(len(data)) + data


def fixed32(number: int, value: float) -> bytes:
    """Return a float field."""
    return key(number, 5) + struct.pack("<f", value)


def encode(tree: Tree) -> bytes:
    """Return the bytes of a message."""
    out = b""
    for item in tree:
        if isinstance(item, bytes):
            out += item
            continue
        number, value = item
        if isinstance(value, int):
            out += key(number, 0) + varint(value)
        elif isinstance(value, float):
            out += fixed32(number, value)
        else:
            out += delimited(number, encode(value) if isinstance(value, list) else value.encode() if isinstance(value, str) else value)
    return out


def raw_tensor(name: str, shape: Sequence[int], values: Sequence[float]) -> Tree:
    """Return a float32 Tensor message with raw data."""
    return [*((1, size) for size in shape), (2, 1), (8, name), (9, struct.pack(f"<{len(values)}f", *values))]


def raw_info(name: str, shape: Sequence[int]) -> Tree:
    """Return a ValueInfo message of a float32 tensor."""
    return [(1, name), (2, [(1, [(1, 1), (2, [(1, [(1, size)]) for size in shape])])])]


def raw_model() -> Tree:
    """Return y = 0.5 x w' + b with x of 1 x 3, w of 2 x 3, b from a Constant node; singular fields stand once and first fields matter."""
    constant: Tree = [(2, "b"), (3, "bias"), (4, "Constant"), (5, [(1, "value"), (5, raw_tensor("b", [2], [1.0, -1.0])), (20, 4)])]
    dense = [(1, "x"), (1, "w"), (1, "b"), (2, "y"), (3, "dense"), (4, "Gemm"), (5, [(1, "alpha"), (2, 0.5), (20, 1)]),
             (5, [(1, "transB"), (3, 1), (20, 2)]), (7, "")]
    graph: Tree = [(1, constant), (1, dense), (2, "g"), (5, raw_tensor("w", [2, 3], [1.0, 2.0, 3.0, -1.0, 0.5, 0.25])),
             (11, raw_info("x", [1, 3])), (12, raw_info("y", [1, 2]))]
    return [(1, 8), (2, "tests"), (7, graph), (8, [(1, ""), (2, 13)])]


CONSTANT: Path = (7, (1, 0))
DENSE: Path = (7, (1, 1))


def inside(tree: Tree, path: Path) -> Tree:
    """Return the message at a path of field numbers, each the first of its number or the one at the given index."""
    for step in path:
        number, index = step if isinstance(step, tuple) else (step, 0)
        tree = [item[1] for item in tree if not isinstance(item, bytes) and item[0] == number][index]
    return tree


def with_more(path: Path, *items: Any) -> bytes:
    """Return the raw model with items appended to the message at `path`."""
    tree = raw_model()
    inside(tree, path).extend(items)
    return encode(tree)


def with_other(path: Path, number: int, *values: Any) -> bytes:
    """Return the raw model with all fields `number` of the message at `path` replaced by these values (none: removed)."""
    tree = raw_model()
    message = inside(tree, path)
    place = next((k for k, item in enumerate(message) if item[0] == number), len(message))
    kept = [item for item in message if item[0] != number]
    message[:] = [*kept[:place], *((number, value) for value in values), *kept[place:]]
    return encode(tree)
