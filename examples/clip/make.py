# SPDX-License-Identifier: Apache-2.0
"""Make the second example: clip.onnx computes min(max(x_0, 0), 1/4) + max(x_1, 0)/8, and clip.vnnlib asks whether it reaches 3/4."""

from pathlib import Path

import numpy as np
from onnx import TensorProto, helper, numpy_helper, save

HERE = Path(__file__).parent
PROPERTY = """(declare-const X_0 Real)
(declare-const X_1 Real)
(declare-const Y_0 Real)
(assert (and (>= X_0 -1) (<= X_0 0.1) (>= X_1 -1) (<= X_1 1)))
(assert (>= Y_0 0.75))
"""


def main() -> None:
    """Write both files."""
    tensors = [numpy_helper.from_array(np.array(value, np.float32), name) for name, value in (
        ("w0", [[1, 0], [1, 0], [0, 1]]), ("b0", [0, -0.25, 0]), ("w1", [[1, -1, 0.125]]), ("b1", [0]))]
    nodes = [helper.make_node("Gemm", ["x", "w0", "b0"], ["z"], "dense0", transB=1), helper.make_node("Relu", ["z"], ["h"], "relu0"),
             helper.make_node("Gemm", ["h", "w1", "b1"], ["y"], "dense1", transB=1)]
    graph = helper.make_graph(nodes, "clip", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 2])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 1])], tensors)
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), HERE / "clip.onnx")
    (HERE / "clip.vnnlib").write_text(PROPERTY)


if __name__ == "__main__":
    main()
