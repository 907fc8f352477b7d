# SPDX-License-Identifier: Apache-2.0
"""Every row of the table of refusals of the ONNX reader, clause by clause, and that no bytes raise anything but an error of ours."""

from __future__ import annotations

import struct
import time
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from onnx import AttributeProto, TensorProto, helper, numpy_helper

from certify.errors import CertifyError, Declined
from certify.limits import Limits
from certify.readers.network import Dense, Network, Relu
from certify.readers.onnx_ops import read_network as read_within
from readers.onnx_models import (
    CONSTANT,
    DENSE,
    delimited,
    encode,
    encoded,
    floats,
    info,
    inside,
    integers,
    key,
    node,
    perceptron,
    raw_model,
    raw_tensor,
    typed,
    varint,
    with_more,
    with_other,
)

Case = tuple[str, bytes]
RELU = node("Relu", ["x"], ["y"])
WEIGHT = floats("w", np.ones((3, 2)))
GEMM = node("Gemm", ["x", "w"], ["y"])
INPUT_TYPE = (7, 11, 2, 1)
INPUT_DIMENSION = (7, 11, 2, 1, 2, 1)
MESSAGES: dict[str, Any] = {
    "Model": (), "OperatorSet": (8,), "Graph": (7,), "Node": DENSE, "Attribute": (*DENSE, 5), "Tensor": (7, 5),
    "Tensor-in-attribute": (*CONSTANT, 5, 5), "ValueInfo": (7, 11), "Type": (7, 11, 2), "TensorType": INPUT_TYPE, "Shape": (7, 11, 2, 1, 2),
    "Dimension": INPUT_DIMENSION,
}


def read_network(data: bytes) -> Network:
    """Return the network in the bytes of a model, under the usual limits."""
    return read_within(data, Limits())


def altered(change: Any, **settings: Any) -> bytes:
    """Return the perceptron's bytes after `change(model)`."""
    made = perceptron(**settings)
    change(made)
    return bytes(made.SerializeToString())


def with_graph(*items: Any) -> bytes:
    """Return the raw model with these items as its graph."""
    tree = raw_model()
    inside(tree, (7,))[:] = items
    return encode(tree)


def wire() -> Iterator[Case]:
    whole = encode(raw_model())
    yield "cut in the last field", whole[:-1]
    yield "cut in the graph", whole[: len(whole) // 2]
    yield "cut behind a key", whole + key(7, 2)
    yield "cut in a key", whole + b"\x80"
    yield "cut in a number", whole + key(5, 0) + b"\xff"
    yield "cut in a fixed32", with_more((*DENSE, 5), key(2, 5) + b"\0\0\0")
    yield "cut in a fixed64", with_more((), key(14, 1) + bytes(7))
    yield "cut in packed floats", with_more((7, 5), delimited(4, bytes(5)))
    yield "cut in packed numbers", with_more((7, 5), delimited(7, b"\1\x80"))
    yield "number in two bytes for one", b"\x08\x88\x00" + whole[2:]
    yield "number in eleven bytes", b"\x08" + b"\x88" + b"\x80" * 9 + b"\x00" + whole[2:]
    yield "number above 64 bits", b"\x08" + b"\xff" * 9 + b"\x02" + whole[2:]
    yield "key in two bytes for one", b"\x88\x00\x08" + whole[2:]
    yield "length in two bytes for one", whole + b"\x32\x81\x00a"
    yield "packed number in two bytes for one", with_more((7, 5), delimited(7, b"\x81\x00"))
    for kind in (3, 4, 6, 7):
        yield f"wire type {kind}", whole + key(2, kind)
        yield f"wire type {kind} in a node", with_more(DENSE, key(3, kind) + key(3, 4))
    yield "wrong wire type: a number as bytes", with_other((), 1) + delimited(1, b"\x08")
    yield "wrong wire type: a message as a number", with_other((), 7) + key(7, 0) + b"\x01"
    yield "wrong wire type: a float as a number", with_other((*DENSE, 5), 2, 1)
    yield "wrong wire type: a float as fixed64", with_more((*CONSTANT, 5), key(2, 1) + bytes(8))
    yield "wrong wire type: a name as a number", with_other((7, 5), 8, 1)
    yield "trailing key", whole + b"\x08"
    yield "a trailing zero", whole + b"\0"
    yield "trailing zeros", whole + bytes(512)
    yield "trailing line feed", whole + b"\n"
    yield "trailing length", whole + b"\x3a\x05"
    for name, path in MESSAGES.items():
        yield f"length beyond the parent in {name}", with_more(path, key(1, 2) + varint(1 << 40))
    yield "length of 2^64 - 1", with_more((), key(2, 2) + b"\xff" * 9 + b"\x01")
    bad = {"a stray byte": b"\xff", "a surrogate": b"\xed\xa0\x80", "an overlong form": b"\xc0\xaf", "a cut character": b"\xe2\x82"}
    for name, data in bad.items():
        yield f"UTF-8: {name} as a node's name", with_other(DENSE, 3, data)
        yield f"UTF-8: {name} as an input's name", with_other(DENSE, 1, data, "w", "b")
    yield "UTF-8: an operator", with_other(DENSE, 4, b"Gemm\xff")
    yield "UTF-8: an initialiser", with_other((7, 5), 8, b"w\xff")
    yield "UTF-8: a dimension", with_other(INPUT_DIMENSION, 2, b"\xff")
    yield "UTF-8: an attribute", with_other((*DENSE, 5), 1, b"alpha\xff")
    yield "UTF-8: a domain", with_other((8,), 1, b"\xff")


def fields() -> Iterator[Case]:
    unknown = {"Model": 9, "OperatorSet": 3, "Graph": 3, "Node": 11, "Attribute": 12, "Tensor": 15, "ValueInfo": 5, "Type": 7, "TensorType": 3,
               "Shape": 2, "Dimension": 4}
    for name, number in unknown.items():
        yield f"unknown field {number} of {name}", with_more(MESSAGES[name], (number, 1))
        yield f"unknown field 536870911 of {name}", with_more(MESSAGES[name], (536870911, b"a"))
    refused = {"training_info": ((), 20), "functions": ((), 25), "configuration": ((), 26), "quantization_annotation": ((7,), 14),
               "sparse_initializer": ((7,), 15), "device_configurations": (DENSE, 10), "tensors": ((*DENSE, 5), 10), "graphs": ((*DENSE, 5), 11),
               "type_proto": ((*DENSE, 5), 14), "type_protos": ((*DENSE, 5), 15), "sparse_tensor": ((*DENSE, 5), 22),
               "sparse_tensors": ((*DENSE, 5), 23), "segment": ((7, 5), 3), "string_data": ((7, 5), 6),
               "double_data": ((7, 5), 10), "uint64_data": ((7, 5), 11), "sequence_type": ((7, 11, 2), 4), "map_type": ((7, 11, 2), 5),
               "sparse_tensor_type": ((7, 11, 2), 8), "optional_type": ((7, 11, 2), 9)}
    for name, (path, number) in refused.items():
        yield f"{name}", with_more(path, (number, []))
    yield "a function of the onnx package", altered(lambda made: made.functions.append(
        helper.make_function("here", "f", ["x"], ["y"], [RELU], [helper.make_opsetid("", 13)])))
    yield "a string tensor", encoded([RELU], [numpy_helper.from_array(np.array(["a", "b"], object), "c")])
    yield "a double tensor in double_data", encoded([RELU], [helper.make_tensor("c", TensorProto.DOUBLE, [2], [1.0, 2.0])])
    inner = helper.make_graph([node("Identity", ["x"], ["t"])], "inner", [], [info("t", (1, 3))])
    yes = numpy_helper.from_array(np.array(True), "yes")
    yield "If", encoded([node("If", ["yes"], ["y"], then_branch=inner, else_branch=inner)], [yes])
    yield "Loop", encoded([node("Loop", ["", "yes", "x"], ["y"], body=inner)], [yes])
    yield "Scan", encoded([node("Scan", ["x"], ["y"], body=inner, num_scan_inputs=1)])
    yield "a subgraph in an attribute of Gemm", with_more((*DENSE, 5), (6, [(2, "inner")]))


def duplicates() -> Iterator[Case]:
    singular: dict[str, tuple[tuple[int, Any], ...]] = {
        "Model": ((1, 8), (2, "tests"), (3, "1"), (4, "d"), (5, 1), (6, "doc"), (7, [])), "OperatorSet": ((1, ""), (2, 13)),
        "Graph": ((2, "g"), (10, "doc")), "Node": ((3, "dense"), (4, "Gemm"), (6, "doc"), (7, ""), (8, "")),
        "Attribute": ((1, "alpha"), (2, 0.5), (13, "doc"), (20, 1), (21, "")), "Tensor": ((2, 1), (8, "w"), (9, b""), (12, "doc"), (14, 0)),
        "ValueInfo": ((1, "x"), (2, []), (3, "doc")), "Type": ((1, []), (6, "t")), "TensorType": ((1, 1), (2, [])),
        "Dimension": ((1, 1), (3, "d")),
    }
    for name, pairs in singular.items():
        for number, value in pairs:
            present = any(item[0] == number for item in inside(raw_model(), MESSAGES[name]))
            yield f"field {number} of {name}", with_more(MESSAGES[name], *[(number, value)] * (1 if present else 2))
    yield "field 3 of Attribute", with_more((*DENSE, (5, 1)), (3, 1))
    yield "field 4 of Attribute", with_more((*DENSE, 5), (4, b"s"), (4, b"s"))
    yield "field 5 of Attribute", with_more((*CONSTANT, 5), (5, raw_tensor("b", [2], [1.0, -1.0])))


def opsets() -> Iterator[Case]:
    for first, second in ((("", 13), ("", 14)), (("", 13), ("ai.onnx", 14)), (("ai.onnx", 14), ("", 13)), (("ai.onnx", 13), ("ai.onnx", 12))):
        yield f"{first} beside {second}", encoded([RELU], opsets=[first, second])
    yield "two versions of a domain that no node uses", encoded([RELU], opsets=[("", 13), ("com.example", 1), ("com.example", 2)])
    yield "no entry", with_other((), 8)
    yield "no entry for the default domain", encoded([RELU], opsets=[("com.example", 13)])
    yield "no version", with_other((8,), 2)
    for version in (-1, 0, 1, 6, 29, 1 << 40):
        yield f"version {version}", encoded([RELU], opset=version)
    for version in (0, 2, 15, -8):
        yield f"ir_version {version}", with_other((), 1, version)
    yield "no ir_version", with_other((), 1)
    yield "an empty file", b""


def operators() -> Iterator[Case]:
    for operator in ("Conv", "Sigmoid", "relu", "GEMM", "", "Mul", "Div", "BatchNormalization", "Softmax", "Cast", "If", "Loop", "Scan",
                     "RandomNormalLike", "RandomUniformLike", "Bernoulli", "Multinomial"):
        yield f"operator {operator!r}", encoded([node(operator, ["x"], ["y"])])
    yield "operator without a name", with_other(DENSE, 4)
    yield "an operator that the output does not need", encoded([node("Tanh", ["x"], ["unused"]), RELU])
    yield "sum of two computed", encoded([node("Add", ["x", "x"], ["y"])])
    yield "difference of two computed", encoded([RELU, node("Sub", ["y", "x"], ["z"])], outputs=[info("z", None)])
    yield "product of two computed", encoded([node("MatMul", ["x", "x"], ["y"])], shape=(1, 1))
    yield "sum of two constants", encoded([node("Add", ["a", "a"], ["b"]), node("Add", ["x", "b"], ["y"])], [floats("a", [1, 2, 3])])
    yield "product of two constants", encoded([node("MatMul", ["w", "v"], ["p"]), node("MatMul", ["x", "p"], ["y"])],
                                              [WEIGHT, floats("v", [[1], [2]])])
    yield "Relu of a constant", encoded([node("Relu", ["a"], ["b"]), node("Add", ["x", "b"], ["y"])], [floats("a", [1, 2, 3])])


def domains() -> Iterator[Case]:
    for domain in ("com.microsoft", "ai.onnx.ml", "AI.ONNX", " ", "ai.onnx.preview.training"):
        yield f"domain {domain!r}", encoded([node("Relu", ["x"], ["y"], domain=domain)], opsets=[("", 13), (domain, 1)])
    yield "an overload", with_more(DENSE, (8, "fast"))


def attributes() -> Iterator[Case]:
    strange = {"Relu": (["x"], []), "Gemm": (["x", "w"], [WEIGHT]), "MatMul": (["x", "w"], [WEIGHT]), "Add": (["x", "c"], [floats("c", 1)]),
               "Sub": (["x", "c"], [floats("c", 1)]), "Flatten": (["x"], []), "Reshape": (["x", "s"], [integers("s", [3])]), "Identity": (["x"], []),
               "Dropout": (["x"], []), "Squeeze": (["x"], []), "Unsqueeze": (["x", "s"], [integers("s", [0])])}
    for operator, (inputs, tensors) in strange.items():
        for label in ("strange", "broadcast", "consumed_inputs"):
            yield f"{operator} with {label}", encoded([node(operator, inputs, ["y"], **{label: 1})], tensors)
    yield "Constant with strange", encoded([node("Constant", [], ["c"], strange=1), node("Add", ["x", "c"], ["y"])])
    yield "Constant without a value", encoded([node("Constant", [], ["c"]), node("Add", ["x", "c"], ["y"])])
    yield "Constant with two values", encoded([node("Constant", [], ["c"], value_float=1.0, value=floats("", 1)), node("Add", ["x", "c"], ["y"])])
    yield "Constant with value_string", encoded([node("Constant", [], ["c"], value_string="1"), node("Add", ["x", "c"], ["y"])])
    for label, value in (("value", 1.0), ("value", 1), ("value_float", 1), ("value_int", 1.0), ("value_floats", [1, 2, 3]), ("value_ints", [0.5]),
                         ("value_float", [1.0])):
        yield f"Constant with {label} {value}", encoded([node("Constant", [], ["c"], **{label: value}), node("Add", ["x", "c"], ["y"])])
    yield "twice", with_more(DENSE, (5, [(1, "alpha"), (2, 0.5), (20, 1)]))
    yield "twice, once under another type", with_more(DENSE, (5, [(1, "alpha"), (3, 1), (20, 2)]))
    yield "without type", with_other((*DENSE, 5), 20)
    yield "type UNDEFINED", with_other((*DENSE, 5), 20, 0)
    for kind in (5, 9, 10, 11, 12, 13, 14, 99, -1):
        yield f"type {kind}", with_other((*DENSE, 5), 20, kind)
    for kind in (2, 3, 4, 6, 7, 8):
        yield f"a float under type {kind}", with_other((*DENSE, 5), 20, kind)
    for number, value in ((3, 1), (4, b"s"), (5, raw_tensor("b", [1], [1.0])), (7, 1.0), (8, 1), (9, b"s")):
        yield f"a float and a value in field {number}", with_more((*DENSE, 5), (number, value))
    yield "an int and a zero float", with_more((*DENSE, (5, 1)), (2, 0.0))
    yield "a tensor without its value", with_other((*CONSTANT, 5), 5)
    yield "ref_attr_name", with_more((*DENSE, 5), (21, "outer"))
    yield "without a name", with_other((*DENSE, 5), 1)
    for value in (float("nan"), float("inf"), float("-inf")):
        yield f"alpha {value}", with_other((*DENSE, 5), 2, value)
        yield f"value_floats {value}", encoded([node("Constant", [], ["c"], value_floats=[1.0, value, 2.0]), node("Add", ["x", "c"], ["y"])])
    for label, value in (("alpha", 1), ("beta", 1), ("transA", 0.5), ("transB", 0.5), ("transB", [1]), ("alpha", [1.0]), ("transA", 2),
                         ("transB", -1), ("transB", 2)):
        yield f"Gemm with {label} {value}", encoded([node("Gemm", ["x", "w"], ["y"], **{label: value})], [floats("w", np.ones((3, 3)))])
    for value in (1.0, [1], 3, -3, 1 << 40):
        yield f"Flatten with axis {value}", encoded([node("Flatten", ["x"], ["y"], axis=value)])
    for value in (2, -1, 1.0):
        yield f"Reshape with allowzero {value}", encoded([node("Reshape", ["x", "s"], ["y"], allowzero=value)], [integers("s", [3])], opset=14)
    for value in (0, [0.5]):
        yield f"Squeeze with axes {value}", encoded([node("Squeeze", ["x"], ["y"], axes=value)], opset=11)
    for axes in ([2], [-3], [1 << 40]):
        yield f"Squeeze with axes {axes}", encoded([node("Squeeze", ["x"], ["y"], axes=axes)], opset=11)
    for axes in ([3], [-4], [0, 0], [0, -4], [0, 1, 2, 3, 4]):
        yield f"Unsqueeze with axes {axes}", encoded([node("Unsqueeze", ["x"], ["y"], axes=axes)], opset=11)
    yield "axes given twice", encoded([node("Squeeze", ["x", "s"], ["y"], axes=[0])], [integers("s", [0])])
    for operator, inputs in (("Relu", []), ("Relu", ["x", "x"]), ("Relu", [""]), ("Gemm", ["x"]), ("Gemm", ["x", "w", "", "w"]), ("Gemm", ["x", ""]),
                             ("MatMul", ["x"]), ("MatMul", ["x", "w", "w"]), ("Add", ["x"]), ("Add", ["", "x"]), ("Identity", ["x", "x"]),
                             ("Flatten", ["x", "x"]), ("Reshape", ["", "w"]), ("Dropout", ["x", "", "", ""])):
        yield f"{operator} of {inputs}", encoded([node(operator, inputs, ["y"])], [WEIGHT])
    yield "Relu with two outputs", encoded([node("Relu", ["x"], ["y", "z"])])
    yield "Dropout with three outputs", encoded([node("Dropout", ["x"], ["y", "m", "n"])])
    yield "Constant with an input", encoded([node("Constant", ["x"], ["c"], value_float=1.0), node("Add", ["x", "c"], ["y"])])


def other_versions() -> Iterator[Case]:
    """Attributes and inputs that a version of the operator lacks, and ones that it requires."""
    axes = integers("s", [0])
    yield "allowzero before 14", encoded([node("Reshape", ["x", "s"], ["y"], allowzero=1)], [integers("s", [3])], opset=13)
    for operator in ("Squeeze", "Unsqueeze"):
        yield f"{operator} with the attribute axes from 13 on", encoded([node(operator, ["x"], ["y"], axes=[0])], opset=13)
        yield f"{operator} with the input axes before 13", encoded([node(operator, ["x", "s"], ["y"])], [axes], opset=12)
    for opset in (11, 13):
        yield f"Unsqueeze without axes, {opset}", encoded([node("Unsqueeze", ["x"], ["y"])], opset=opset)
    yield "Dropout with the attribute ratio from 12 on", encoded([node("Dropout", ["x"], ["y"], ratio=0.5)], opset=12)
    yield "Dropout with seed before 12", encoded([node("Dropout", ["x"], ["y"], seed=1)], opset=11)
    yield "Dropout with the input ratio before 12", encoded([node("Dropout", ["x", "r"], ["y"])], [floats("r", 0.5)], opset=11)
    for label, value in (("value_float", 1.0), ("value_floats", [1.0])):
        yield f"Constant with {label} before 12", encoded([node("Constant", [], ["c"], **{label: value}), node("Add", ["x", "c"], ["y"])], opset=11)


def names() -> Iterator[Case]:
    yield "two initialisers", encoded([GEMM], [WEIGHT, WEIGHT])
    yield "an initialiser without a name", encoded([RELU], [floats("", [1.0])])
    yield "two inputs", encoded([RELU], inputs=[info("x", (1, 3)), info("x", (1, 3))])
    yield "an input without a name", encoded([RELU], inputs=[info("x", (1, 3)), info("", (1, 3))])
    yield "two nodes", encoded([RELU, node("Identity", ["x"], ["y"])])
    yield "a node twice", encoded([RELU, RELU])
    yield "two outputs of one node", encoded([node("Dropout", ["x"], ["y", "y"])])
    yield "a node and the input", encoded([node("Relu", ["x"], ["x"])], outputs=[info("x", None)])
    yield "a node and an initialiser", encoded([GEMM, node("Identity", ["y"], ["w"])], [WEIGHT])
    yield "read and never written", encoded([node("Relu", ["z"], ["y"])])
    yield "read before it is written", encoded([node("Relu", ["z"], ["y"]), node("Identity", ["x"], ["z"])])
    yield "read by its own node", encoded([node("Relu", ["y"], ["y"])])
    yield "read and never written, in a dangling node", encoded([RELU, node("Relu", ["z"], ["u"])])
    yield "output never written", encoded([RELU], outputs=[info("z", None)])
    yield "output without a name", with_other((7, 12), 1)
    yield "a name that differs in case", encoded([node("Gemm", ["x", "W"], ["y"])], [WEIGHT])


def tensors() -> Iterator[Case]:
    def used(tensor: TensorProto) -> bytes:
        return encoded([node("Add", ["x", "c"], ["y"])], [tensor])

    for dtype in (np.float16, np.float64, np.uint8, np.int8, np.uint16, np.int16, np.uint32, np.uint64, np.complex64):
        yield f"{np.dtype(dtype)}", used(numpy_helper.from_array(np.ones((1, 3), dtype), "c"))
    yield "float16 in int32_data", used(helper.make_tensor("c", TensorProto.FLOAT16, [3], [1.0, 2.0, 3.0]))
    yield "bfloat16", used(helper.make_tensor("c", TensorProto.BFLOAT16, [3], [1.0, 2.0, 3.0]))
    for kind in (TensorProto.FLOAT8E4M3FN, TensorProto.UNDEFINED, 99, -1):
        yield f"element type {kind}", with_other((7, 5), 2, kind)
    yield "without an element type", with_other((7, 5), 2)
    yield "float16 in a Constant", with_other((*CONSTANT, 5, 5), 2, TensorProto.FLOAT16)
    yield "float16 that nothing reads", encoded([RELU], [numpy_helper.from_array(np.ones(3, np.float16), "c")])
    outside = floats("c", [[1, 2, 3]])
    outside.ClearField("raw_data")
    outside.data_location = TensorProto.EXTERNAL
    outside.external_data.add(key="location", value="weights.bin")
    yield "external data", used(outside)
    yield "data_location without external_data", with_more((7, 5), (14, 1))
    yield "external_data without data_location", with_more((7, 5), (13, [(1, "location"), (2, "weights.bin")]))
    yield "too few values", with_other((7, 5), 9, bytes(20))
    yield "too many values", with_other((7, 5), 9, bytes(28))
    yield "raw data cut in a value", with_other((7, 5), 9, bytes(23))
    yield "no values", with_other((7, 5), 9)
    yield "no dims and six values", with_other((7, 5), 1)
    yield "too few in float_data", _float_data([1.0] * 5)
    yield "too many in float_data", _float_data([1.0] * 7)
    yield "raw_data and float_data", with_more((7, 5), delimited(4, struct.pack("<6f", 1, 2, 3, -1, 0.5, 0.25)))
    yield "raw_data and int32_data", with_more((7, 5), (5, 1))
    yield "float values in int64_data", _float_data([], (7, b"\1\1\1\1\1\1"))
    yield "float values in int32_data", _float_data([], (5, b"\1\1\1\1\1\1"))
    yield "float_data and int64_data", _float_data([1.0] * 6, (7, b"\1"))
    shaped = integers("s", [3])
    shaped.ClearField("raw_data")
    shaped.float_data.append(3.0)
    yield "int64 values in float_data", encoded([node("Reshape", ["x", "s"], ["y"])], [shaped])
    for value in (float("nan"), float("inf"), float("-inf")):
        yield f"{value} in raw_data", used(floats("c", [[1, value, 3]]))
        yield f"{value} in float_data", used(typed("c", [[1, value, 3]]))
        yield f"{value} that nothing reads", encoded([RELU], [floats("c", value)])
        yield f"{value} in a Constant", encoded([node("Constant", [], ["c"], value=floats("", value)), node("Add", ["x", "c"], ["y"])])
    yield "a NaN with a payload", with_other((7, 5), 9, struct.pack("<6I", 0x7FA00001, 0, 0, 0, 0, 0))
    yield "int32 beyond 32 bits", _odd_tensor(TensorProto.INT32, 1 << 31)
    yield "int32 below 32 bits", _odd_tensor(TensorProto.INT32, -(1 << 31) - 1)
    yield "bool of 256", _odd_tensor(TensorProto.BOOL, 256)
    yield "negative dim", with_other((7, 5), 1, -2, -3)
    yield "rank 7", with_other((7, 5), 1, 1, 1, 1, 1, 1, 2, 3)
    yield "more than 2^28 elements", with_other((7, 5), 1, 1 << 14, (1 << 14) + 1)
    yield "dims whose product wraps", with_other((7, 5), 1, 1 << 32, 1 << 32)
    for declared in ((2, 3), (3,), (3, 2, 1), (6,), (), (3, 3)):
        yield f"a graph input declares {declared}", encoded([GEMM], [WEIGHT], inputs=[info("x", (1, 3)), info("w", declared)])


def _float_data(values: list[float], *more: Any) -> bytes:
    tree = raw_model()
    inside(tree, (7, 5))[:] = [(1, 2), (1, 3), (2, 1), (8, "w"), (4, struct.pack(f"<{len(values)}f", *values)), *more]
    return encode(tree)


def _odd_tensor(kind: int, value: int) -> bytes:
    return with_more((7,), (5, [(1, 1), (2, kind), (5, varint(value)), (8, "odd")]))


def graphs() -> Iterator[Case]:
    def fed(*settings: Any, **more: Any) -> bytes:
        return encoded([RELU], inputs=[info("x", *settings, **more)])

    yield "no graph", with_other((), 7)
    yield "an empty graph", with_graph()
    yield "two inputs", encoded([RELU], inputs=[info("x", (1, 3)), info("z", (1, 3))])
    yield "no input", encoded([RELU], inputs=[])
    yield "no input without a value", encoded([node("Add", ["w", "w"], ["y"])], [WEIGHT], inputs=[info("w", (3, 2))])
    yield "two outputs", encoded([RELU, node("Identity", ["y"], ["z"])], outputs=[info("y", None), info("z", None)])
    yield "one output twice", encoded([RELU], outputs=[info("y", None), info("y", None)])
    yield "no output", encoded([RELU], outputs=[])
    for kind in (TensorProto.DOUBLE, TensorProto.FLOAT16, TensorProto.INT64, TensorProto.BOOL, TensorProto.UNDEFINED, TensorProto.STRING):
        yield f"input of type {kind}", fed((1, 3), kind)
    yield "input without a type", with_other((7, 11), 2)
    yield "input with an empty type", with_other((7, 11, 2), 1)
    yield "input without an element type", with_other(INPUT_TYPE, 1)
    yield "input without a shape", with_other(INPUT_TYPE, 2)
    for shape in ((1, "N"), (1, None), ("N",), (None,), ("N", "M"), ("N", 3, "M"), (1, 3, 0), (0,), (1, -1), (-1, 3), (3, -1)):
        yield f"input of shape {shape}", fed(shape)
    yield "input of rank 7", fed((1, 1, 1, 1, 1, 1, 3))
    yield "input of more than 2^28 elements", fed((1, 1 << 14, (1 << 14) + 1))
    yield "input whose elements wrap around", fed((1, 1 << 32, 1 << 32))
    for shape in ((2, 3), (3, 1), (2, 1, 3)):
        yield f"a batch of {shape}", fed(shape)
    yield "output of another size", encoded([RELU], outputs=[info("y", (1, 4))])
    yield "output that does not depend on the input", encoded([node("Identity", ["w"], ["y"])], [WEIGHT])
    yield "output that is an initialiser", encoded([RELU], [WEIGHT], outputs=[info("w", None)])
    yield "an input read again behind a layer", encoded(
        [node("Relu", ["x"], ["h"]), node("Gemm", ["x", "w"], ["y"]), node("Gemm", ["h", "w", "y"], ["z"])], [WEIGHT], outputs=[info("z", None)])
    yield "Gemm with a computed B", encoded([node("Gemm", ["w", "x"], ["y"])], [floats("w", [[1]])])
    yield "Gemm with a computed C", encoded([node("Gemm", ["v", "w", "x"], ["y"])], [floats("v", [[1]]), floats("w", np.ones((1, 3)))])
    yield "Gemm of rank 3", encoded([GEMM], [WEIGHT], shape=(1, 1, 3))
    yield "Gemm of rank 1", encoded([GEMM], [WEIGHT], shape=(3,))
    yield "Gemm with a B of rank 1", encoded([GEMM], [floats("w", [1, 2, 3])])
    yield "Gemm with a B of rank 3", encoded([GEMM], [floats("w", np.ones((1, 3, 2)))])
    yield "Gemm with a B that does not fit", encoded([GEMM], [floats("w", np.ones((2, 3)))])
    yield "Gemm of several rows", encoded([node("Reshape", ["x", "s"], ["r"]), node("Gemm", ["r", "w"], ["y"])],
                                          [integers("s", [2, 3]), WEIGHT], shape=(1, 6))
    yield "Gemm with an integer B", encoded([GEMM], [numpy_helper.from_array(np.ones((3, 2), np.int32), "w")])
    for shape in ((3,), (2, 1), (2, 2), (1, 1, 2), (0,), (1, 3), (1, 0)):
        yield f"Gemm with a C of shape {shape}", encoded([node("Gemm", ["x", "w", "c"], ["y"])], [WEIGHT, floats("c", np.ones(shape))])
    for shape in ((2, 3), (1, 3, 2), (4,), ()):
        yield f"MatMul with a constant of shape {shape}", encoded([node("MatMul", ["x", "w"], ["y"])], [floats("w", np.ones(shape))])
    yield "MatMul of several rows", encoded([node("MatMul", ["x", "w"], ["y"])], [WEIGHT], shape=(1, 2, 3))
    yield "MatMul of several columns", encoded([node("MatMul", ["w", "x"], ["y"])], [floats("w", np.ones((2, 2)))], shape=(1, 2, 3))
    for shape in ((2, 3), (4,), (2,), (0,), (1, 0), (2, 1)):
        yield f"Add of a constant of shape {shape}", encoded([node("Add", ["x", "c"], ["y"])], [floats("c", np.ones(shape))])
    yield "Add of integers", encoded([node("Add", ["x", "c"], ["y"])], [integers("c", [1, 2, 3])])
    for target in ([2, 3], [-1, -1], [2, -1], [-3, -1], [4], [], [0, 0, 0], [-2]):
        yield f"Reshape to {target}", encoded([node("Reshape", ["x", "s"], ["y"])], [integers("s", target)])
    yield "Reshape to [0, 3] with allowzero", encoded([node("Reshape", ["x", "s"], ["y"], allowzero=1)], [integers("s", [0, 3])], opset=14)
    yield "Reshape to [0, -1] with allowzero", encoded([node("Reshape", ["x", "s"], ["y"], allowzero=1)], [integers("s", [0, -1])], opset=14)
    yield "Reshape to a computed shape", encoded([node("Reshape", ["x", "x"], ["y"])])
    yield "Reshape to a float shape", encoded([node("Reshape", ["x", "s"], ["y"])], [floats("s", [3])])
    yield "Reshape to an int32 shape", encoded([node("Reshape", ["x", "s"], ["y"])], [numpy_helper.from_array(np.array([3], np.int32), "s")])
    yield "Reshape to a matrix", encoded([node("Reshape", ["x", "s"], ["y"])], [integers("s", [[3]])])
    yield "Squeeze of a size above 1", encoded([node("Squeeze", ["x", "s"], ["y"])], [integers("s", [1])])
    yield "the mask of a Dropout is read", encoded([node("Dropout", ["x"], ["d", "mask"]), node("Relu", ["mask"], ["y"])])
    yield "the mask and the output of a Dropout are read", encoded([node("Dropout", ["x"], ["d", "mask"]), node("Relu", ["d"], ["r"]),
                                                                    node("Add", ["r", "mask"], ["y"])])
    yield "Reshape to rank 7", encoded([node("Reshape", ["x", "s"], ["y"])], [integers("s", [1] * 6 + [3])])
    yield "a constant to rank 7", encoded([node("Reshape", ["c", "s"], ["d"]), node("Add", ["x", "d"], ["y"])],
                                          [floats("c", [1, 2, 3]), integers("s", [1] * 6 + [3])])
    yield "a constant to rank 80", encoded([node("Reshape", ["c", "s"], ["d"]), node("Add", ["x", "d"], ["y"])],
                                           [floats("c", [1, 2, 3]), integers("s", [1] * 79 + [3])])
    yield "the output is the mask of a Dropout", encoded([node("Dropout", ["x"], ["d", "y"])])
    yield "a layer without neurons", encoded([GEMM], [floats("w", np.ones((3, 0)))])


def training() -> Iterator[Case]:
    on = numpy_helper.from_array(np.array(True), "on")
    for opset in (12, 13, 22):
        yield f"Dropout, {opset}", encoded([node("Dropout", ["x", "", "on"], ["y"])], [on], opset=opset)
    yield "Dropout, of a list", encoded([node("Dropout", ["x", "", "on"], ["y"])], [numpy_helper.from_array(np.array([True]), "on")])
    yield "Dropout, by a Constant", encoded([node("Constant", [], ["on"], value=on), node("Dropout", ["x", "", "on"], ["y"])])
    yield "Dropout, in bool data", encoded([node("Dropout", ["x", "", "on"], ["y"])], [helper.make_tensor("on", TensorProto.BOOL, [], [True])])
    yield "Dropout, of several", encoded([node("Dropout", ["x", "", "on"], ["y"])], [numpy_helper.from_array(np.array([False, False]), "on")])
    yield "Dropout, computed", encoded([node("Dropout", ["x", "", "x"], ["y"])])
    yield "Dropout, ratio 0", encoded([node("Dropout", ["x", "r", "on"], ["y"])], [floats("r", 0), on])


def skipped_wires() -> Iterator[Case]:
    for name, (path, number) in {"producer_name": ((), 3), "doc_string": ((7,), 10), "metadata_props": (DENSE, 9)}.items():
        yield f"{name} as a number", with_more(path, (number, 1))
    yield "model_version as bytes", with_more((), (5, b"1"))


def alternatives() -> Iterator[Case]:
    """The two fields of a dimension exclude each other: protobuf silently keeps the last."""
    yield "dim_value, then dim_param", with_more((7, 11, 2, 1, 2, (1, 1)), (2, "N"))
    yield "dim_param, then dim_value", with_other((7, 11, 2, 1, 2), 1, [(2, "N"), (1, 1)], [(1, 3)])


def empty_and_huge() -> Iterator[Case]:
    for shape in ((0, 1 << 62, 1 << 62), (1 << 40, 1 << 40, 0)):
        yield f"shape {shape}", with_more((7,), (5, [*((1, size) for size in shape), (2, 1), (8, "odd")]))


def empty_axes() -> Iterator[Case]:
    """Without axes all sizes of 1 go; with an empty list the onnx package keeps all of them, and onnxruntime none."""
    yield "Squeeze with an empty input", encoded([node("Squeeze", ["x", "a"], ["y"])], [integers("a", [])])
    none = helper.make_node("Squeeze", ["x"], ["y"])
    none.attribute.append(helper.make_attribute("axes", [], attr_type=AttributeProto.INTS))
    yield "Squeeze with an empty attribute", encoded([none], opset=11)


def empty_batches() -> Iterator[Case]:
    yield "a batch of 0", encoded([RELU], shape=(0, 3))


TABLE: tuple[tuple[str, Callable[[], Iterator[Case]]], ...] = (
    ("onnx-wire", wire), ("onnx-field", fields), ("onnx-duplicate-field", duplicates), ("onnx-opset", opsets),
    ("onnx-operator", operators), ("onnx-domain", domains), ("onnx-attribute", attributes), ("onnx-name", names),
    ("onnx-tensor", tensors), ("onnx-graph", graphs), ("onnx-training", training), ("onnx-wire", skipped_wires),
    ("onnx-duplicate-field", alternatives), ("onnx-tensor", empty_and_huge), ("onnx-attribute", other_versions),
    ("onnx-attribute", empty_axes), ("onnx-graph", empty_batches),
)


CASES = [pytest.param(code, data, id=f"{code}: {name}") for code, rows in TABLE for name, data in rows()]


@pytest.mark.parametrize(("code", "data"), CASES)
def test_refused_with_its_code(code: str, data: bytes) -> None:
    with pytest.raises(Declined) as caught:
        read_network(data)
    assert caught.value.code == code
    assert caught.value.what
    assert caught.value.fix


def test_models_that_the_cases_start_from_are_read() -> None:
    network = read_network(encode(raw_model()))
    assert [type(layer) for layer in network.layers] == [Dense]
    for opset in (7, 13, 28):
        network = read_network(perceptron(opset).SerializeToString())
        assert (network.inputs, network.outputs) == (3, 2)
    network = read_network(encoded([GEMM], [WEIGHT], inputs=[info("w", (3, 2)), info("x", (1, 3))]))
    assert (network.inputs, network.outputs) == (3, 2)
    assert read_network(encoded([RELU])).layers == (Relu(3),)
    assert read_network(with_other(DENSE, 7, "ai.onnx")).outputs == 2
    assert read_network(_float_data([1.0] * 6)).outputs == 2


def test_every_cut_is_refused() -> None:
    tree = raw_model()
    whole = encode(tree)
    ends = {len(encode(tree[:count])) for count in range(len(tree) + 1)}
    for length in range(len(whole)):
        with pytest.raises(Declined) as caught:
            read_network(whole[:length])
        assert caught.value.code == "onnx-wire" or length in ends
        assert caught.value.code.startswith("onnx-")


def test_an_unsupported_operator_is_named_with_its_node_and_the_supported_ones() -> None:
    with pytest.raises(Declined) as caught:
        read_network(encoded([node("Softplus", ["x"], ["y"], name="the last one")]))
    assert "Softplus" in caught.value.what
    assert "the last one" in caught.value.where
    stage = {"Add", "Constant", "Dropout", "Flatten", "Gemm", "Identity", "MatMul", "Relu", "Reshape", "Squeeze", "Sub", "Unsqueeze"}
    assert set(caught.value.fix.split(": ")[1].split(", ")) == stage


def test_large_models_are_declined_before_they_are_read() -> None:
    data = perceptron().SerializeToString()
    for limits in (Limits(work=1000), Limits(memory=1000)):
        with pytest.raises(Declined) as caught:
            read_within(data, limits)
        assert caught.value.code == "limit-reached"


def chain_of_sums(count: int, size: int) -> bytes:
    """Return a model that adds one scalar `count` times to an input of `size` elements."""
    nodes = [node("Add", [f"v{k}" if k else "x", "c"], [f"v{k + 1}"]) for k in range(count)]
    return encoded(nodes, [floats("c", 1.0)], shape=(1, size), outputs=[info(f"v{count}", None)])


def test_small_models_take_little_memory_or_are_declined() -> None:
    data = chain_of_sums(16, 1 << 18)
    assert len(data) < 400
    tracemalloc.start()
    try:
        read_within(data, Limits(memory=1 << 23))
    except Declined as error:
        assert error.code == "limit-reached"
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak < 1 << 24


def test_deep_nesting_is_refused_at_once() -> None:
    started = time.process_time()
    chains = (((), (7, 1, 5, 6)), (DENSE, (5, 6)), ((*DENSE, 5), (6, 1, 5)), ((7, 11, 2), (4, 1)), ((7, 11, 2), (9, 1)), ((), (25, 7, 1, 5)))
    for path, numbers in chains:
        nested = b""
        for depth in range(2000):
            nested = delimited(numbers[-1 - depth % len(numbers)], nested)
        with pytest.raises(Declined) as caught:
            read_network(with_more(path, nested))
        assert caught.value.code in {"onnx-field", "onnx-duplicate-field", "onnx-graph", "onnx-wire"}
    assert time.process_time() - started < 2


def read_or_refuse(data: bytes) -> bool:
    """Return whether the bytes are a network; an exception that is not ours goes through."""
    try:
        network = read_network(data)
    except CertifyError as error:
        assert error.code.startswith("onnx-")
        return False
    return network.inputs > 0 and network.outputs > 0


BASES = [encode(raw_model()), perceptron(7).SerializeToString(), perceptron(13).SerializeToString(),
         encoded([node("Unsqueeze", ["x", "a"], ["u"]), node("Squeeze", ["u", "a"], ["s"]), node("MatMul", ["s", "w"], ["m"]),
                  node("Dropout", ["m"], ["d", "mask"]), node("Identity", ["d"], ["y"])], [integers("a", [0]), WEIGHT], shape=("N", 3))]


@st.composite
def mutants(draw: st.DrawFn) -> bytes:
    """Draw a valid model with one to six bytes or stretches changed, put in, taken out, doubled or cut off."""
    data = bytearray(draw(st.sampled_from(BASES)))
    for _ in range(draw(st.integers(1, 6))):
        place = draw(st.integers(0, max(0, len(data) - 1)))
        kind = draw(st.sampled_from(("bit", "byte", "insert", "delete", "double", "cut")))
        if kind == "bit" and data:
            data[place] ^= 1 << draw(st.integers(0, 7))
        elif kind == "byte" and data:
            data[place] = draw(st.integers(0, 255))
        elif kind == "insert":
            data[place:place] = draw(st.binary(min_size=1, max_size=6))
        elif kind == "delete":
            del data[place : place + draw(st.integers(1, 12))]
        elif kind == "double":
            data[place:place] = data[place : place + draw(st.integers(1, 40))]
        elif kind == "cut":
            del data[place:]
    return bytes(data)


few = settings(derandomize=True, database=None, max_examples=300, deadline=None)
many = settings(few, max_examples=100_000, suppress_health_check=list(HealthCheck))


@few
@given(st.binary(max_size=400))
def test_random_bytes_are_refused(data: bytes) -> None:
    assert not read_or_refuse(data)


@few
@given(mutants())
def test_mutated_models_are_read_or_refused(data: bytes) -> None:
    assert read_or_refuse(data) in (True, False)


@pytest.mark.slow
@many
@given(st.binary(max_size=1000))
def test_many_random_bytes_are_refused(data: bytes) -> None:
    assert not read_or_refuse(data)


@pytest.mark.slow
@many
@given(mutants())
def test_many_mutated_models_are_read_or_refused(data: bytes) -> None:
    assert read_or_refuse(data) in (True, False)
