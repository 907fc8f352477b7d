# SPDX-License-Identifier: Apache-2.0
"""ONNX wire format: protobuf bytes to nested dictionaries, for exactly the messages and fields listed here.

Guarantee: a message is returned only if every byte of it was understood. Truncation, over-long varints, group wire types,
a length beyond its parent and bad UTF-8 are `onnx-wire`; a field number that isn't listed is `onnx-field`; a singular field that
occurs twice, which protobuf would silently merge, is `onnx-duplicate-field`.
Source: onnx.proto3 (IR versions 3 to 14) and the protobuf encoding specification.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any

from certify.errors import Declined

Message = dict[str, Any]


@dataclass(frozen=True)
class _Field:
    name: str
    type: str  # int, float, text, bytes, skip or skip-int (understood and not needed), or the name of a message
    many: bool = False


def _skip(name: str, many: bool = False) -> _Field:
    return _Field(name, "skip", many)


_MESSAGES: dict[str, dict[int, _Field]] = {
    "Model": {
        1: _Field("ir_version", "int"), 2: _skip("producer_name"), 3: _skip("producer_version"), 4: _skip("domain"), 6: _skip("doc_string"),
        5: _Field("model_version", "skip-int"), 7: _Field("graph", "Graph"), 8: _Field("opset_import", "OperatorSet", True),
        14: _skip("metadata_props", True),
    },
    "OperatorSet": {1: _Field("domain", "text"), 2: _Field("version", "int")},
    "Graph": {
        1: _Field("node", "Node", True), 2: _skip("name"), 5: _Field("initializer", "Tensor", True), 10: _skip("doc_string"),
        11: _Field("input", "ValueInfo", True), 12: _Field("output", "ValueInfo", True), 13: _skip("value_info", True),
        16: _skip("metadata_props", True),
    },
    "Node": {
        1: _Field("input", "text", True), 2: _Field("output", "text", True), 3: _Field("name", "text"), 4: _Field("op_type", "text"),
        5: _Field("attribute", "Attribute", True), 6: _skip("doc_string"), 7: _Field("domain", "text"), 8: _Field("overload", "text"),
        9: _skip("metadata_props", True),
    },
    "Attribute": {
        1: _Field("name", "text"), 2: _Field("f", "float"), 3: _Field("i", "int"), 4: _Field("s", "bytes"), 5: _Field("t", "Tensor"),
        7: _Field("floats", "float", True), 8: _Field("ints", "int", True), 9: _Field("strings", "bytes", True), 13: _skip("doc_string"),
        20: _Field("type", "int"), 21: _Field("ref_attr_name", "text"),
    },
    "Tensor": {
        1: _Field("dims", "int", True), 2: _Field("data_type", "int"), 4: _Field("float_data", "float", True), 5: _Field("int32_data", "int", True),
        7: _Field("int64_data", "int", True), 8: _Field("name", "text"), 9: _Field("raw_data", "bytes"), 12: _skip("doc_string"),
        13: _Field("external_data", "bytes", True), 14: _Field("data_location", "int"), 16: _skip("metadata_props", True),
    },
    "ValueInfo": {1: _Field("name", "text"), 2: _Field("type", "Type"), 3: _skip("doc_string"), 4: _skip("metadata_props", True)},
    "Type": {1: _Field("tensor_type", "TensorType"), 6: _skip("denotation")},
    "TensorType": {1: _Field("elem_type", "int"), 2: _Field("shape", "Shape")},
    "Shape": {1: _Field("dim", "Dimension", True)},
    "Dimension": {1: _Field("dim_value", "int"), 2: _Field("dim_param", "text"), 3: _skip("denotation")},
}
_MOST_MESSAGES = 1 << 19
_WIRE = {"int": 0, "skip-int": 0, "float": 5}
_FIX = "export the model again with a current exporter, or check that the file arrived whole"


def decode_model(data: bytes) -> Message:
    """Return the Model message in `data`: present fields by name, repeated ones as lists (absent: empty list)."""
    return _decode("Model", memoryview(data), "Model", [_MOST_MESSAGES])


def _decode(kind: str, data: memoryview, where: str, room: list[int]) -> Message:
    room[0] -= 1
    if room[0] < 0:
        raise Declined("limit-reached", f"the model has more than {_MOST_MESSAGES} nodes, tensors and attributes", where=where,
                       fix="export a smaller graph")
    fields = _MESSAGES[kind]
    message: Message = {field.name: [] for field in fields.values() if field.many and field.type != "skip"}
    seen: set[int] = set()
    position = 0
    while position < len(data):
        key, position = _varint(data, position, where)
        number, wire = key >> 3, key & 7
        if number == 0:
            raise Declined("onnx-wire", "field number 0 does not exist", where=where, fix=_FIX)
        field = fields.get(number)
        if field is None:
            raise Declined("onnx-field", f"the field {number} of {kind} is not supported", where=where,
                           fix="export the model without subgraphs, functions, sparse or quantised tensors, with a current exporter")
        inside = f"{where}.{field.name}"
        value, position = _value(data, position, wire, inside)
        if not field.many:
            if number in seen:
                raise Declined("onnx-duplicate-field", f"the field {field.name} occurs twice", where=where, fix=_FIX)
            seen.add(number)
        _store(message, field, wire, value, inside, room)
    if kind == "Dimension" and len(message) > 1:  # one of the two, says the format; protobuf would keep the last
        raise Declined("onnx-duplicate-field", "a dimension has a size and a name", where=where, fix=_FIX)
    return message


def _store(message: Message, field: _Field, wire: int, value: Any, where: str, room: list[int]) -> None:
    if field.type in _WIRE and wire == 2 and field.many:  # packed
        message[field.name] += _packed(field.type, value, where)
        return
    if wire != _WIRE.get(field.type, 2):
        raise Declined("onnx-wire", "the field has the wrong wire type", where=where, fix=_FIX)
    if field.type.startswith("skip"):
        return
    if field.type in _MESSAGES:
        value = _decode(field.type, value, where, room)
    elif field.type == "int":
        value = _signed(value)
    elif field.type == "float":
        value = struct.unpack("<f", value)[0]
    elif field.type == "text":
        try:
            value = bytes(value).decode("utf-8")
        except UnicodeDecodeError:
            raise Declined("onnx-wire", "a name is not UTF-8", where=where, fix=_FIX) from None
    elif field.type == "bytes":
        value = bytes(value)
    if field.many:
        message[field.name].append(value)
    else:
        message[field.name] = value


def _packed(kind: str, data: memoryview, where: str) -> list[Any]:
    if kind == "float":
        if len(data) % 4:
            raise Declined("onnx-wire", "packed numbers are cut off", where=where, fix=_FIX)
        return [number for (number,) in struct.iter_unpack("<f", data)]
    numbers: list[int] = []
    position = 0
    while position < len(data):
        number, position = _varint(data, position, where)
        numbers.append(_signed(number))
    return numbers


def _value(data: memoryview, position: int, wire: int, where: str) -> tuple[Any, int]:
    if wire == 0:
        return _varint(data, position, where)
    if wire == 2:
        size, position = _varint(data, position, where)
    elif wire in (1, 5):
        size = 8 if wire == 1 else 4
    else:
        raise Declined("onnx-wire", f"wire type {wire} does not occur in ONNX", where=where, fix=_FIX)
    if size > len(data) - position:
        raise Declined("onnx-wire", "the file is cut off, or a length goes beyond its parent", where=where, fix=_FIX)
    return data[position : position + size], position + size


def _varint(data: memoryview, position: int, where: str) -> tuple[int, int]:
    number = 0
    for count in range(10):
        if position >= len(data):
            raise Declined("onnx-wire", "the file is cut off in a number", where=where, fix=_FIX)
        byte = data[position]
        position += 1
        number |= (byte & 0x7F) << (7 * count)
        if byte < 0x80:
            if (count and byte == 0) or number >= 1 << 64:
                break
            return number, position
    raise Declined("onnx-wire", "a number is written in more bytes than it needs", where=where, fix=_FIX)


def _signed(number: int) -> int:
    return number - (1 << 64) if number >= 1 << 63 else number
