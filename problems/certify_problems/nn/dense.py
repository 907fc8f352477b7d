# SPDX-License-Identifier: Apache-2.0
"""Perceptrons with given weights, as ONNX bytes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def dense_onnx(weights: Sequence[Array], biases: Sequence[Array], name: str, before: Sequence[tuple[str, Array]] = ()) -> bytes:
    """Return the ONNX bytes of a chain of Gemm nodes with a Relu between each two; needs the package onnx.

    Weights are (outputs, inputs), all arrays become float32. `before` are elementwise operators in front, each with its constant. The input
    "input" and the output "output" have shapes [1, inputs] and [1, outputs]. Same arrays, same bytes.
    """
    from onnx import TensorProto, helper, numpy_helper

    nodes, tensors, value = [], [], "input"
    for k, (operator, constant) in enumerate(before):
        tensors.append(numpy_helper.from_array(constant.astype(np.float32), f"c{k}"))
        nodes.append(helper.make_node(operator, [value, f"c{k}"], [f"x{k}"], f"{operator.lower()}{k}"))
        value = f"x{k}"
    for k, (weight, bias) in enumerate(zip(weights, biases, strict=True)):
        tensors += [numpy_helper.from_array(np.ascontiguousarray(weight, np.float32), f"w{k}"),
                    numpy_helper.from_array(bias.astype(np.float32), f"b{k}")]
        last = k == len(weights) - 1
        nodes.append(helper.make_node("Gemm", [value, f"w{k}", f"b{k}"], ["output" if last else f"z{k}"], f"dense{k}", transB=1))
        if not last:
            nodes.append(helper.make_node("Relu", [f"z{k}"], [f"h{k}"], f"relu{k}"))
            value = f"h{k}"
    outputs, inputs = weights[-1].shape[0], weights[0].shape[1]
    graph = helper.make_graph(nodes, name, [helper.make_tensor_value_info("input", TensorProto.FLOAT, [1, inputs])],
                              [helper.make_tensor_value_info("output", TensorProto.FLOAT, [1, outputs])], tensors)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return bytes(model.SerializeToString(deterministic=True))
