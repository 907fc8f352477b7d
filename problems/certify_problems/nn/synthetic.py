# SPDX-License-Identifier: Apache-2.0
"""Perceptrons of any size with random weights, as ONNX bytes: for benchmarks and tests of size, not of meaning."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np


def perceptron(sizes: Sequence[int], seed: int = 0) -> bytes:
    """Return the ONNX bytes of a ReLU perceptron with `sizes` = inputs, hidden layers, outputs; needs the package onnx.

    Weights are Gaussian with variance 1/inputs of the layer, biases zero: same seed, same bytes.
    """
    from onnx import TensorProto, helper, numpy_helper

    rng = np.random.default_rng(seed)
    nodes, tensors, value = [], [], "input"
    for k, (n, m) in enumerate(pairwise(sizes)):
        weight = rng.standard_normal((m, n), np.float32) / np.float32(np.sqrt(n))
        tensors += [numpy_helper.from_array(weight, f"w{k}"), numpy_helper.from_array(np.zeros(m, np.float32), f"b{k}")]
        last = k == len(sizes) - 2
        nodes.append(helper.make_node("Gemm", [value, f"w{k}", f"b{k}"], ["output" if last else f"z{k}"], f"dense{k}", transB=1))
        if not last:
            nodes.append(helper.make_node("Relu", [f"z{k}"], [f"h{k}"], f"relu{k}"))
            value = f"h{k}"
    graph = helper.make_graph(nodes, "perceptron", [helper.make_tensor_value_info("input", TensorProto.FLOAT, [1, sizes[0]])],
                              [helper.make_tensor_value_info("output", TensorProto.FLOAT, [1, sizes[-1]])], tensors)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return bytes(model.SerializeToString(deterministic=True))
