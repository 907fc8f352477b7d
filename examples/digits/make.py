# SPDX-License-Identifier: Apache-2.0
"""Make the example: train a 64-32-16-10 perceptron on scikit-learn's digits and write it with twenty test images.

The files beside this script were made by it (scikit-learn 1.9, numpy 2.4); another version may train other weights.
"""

from pathlib import Path

import numpy as np
from onnx import TensorProto, helper, numpy_helper, save
from sklearn.datasets import load_digits
from sklearn.neural_network import MLPClassifier

HERE = Path(__file__).parent
_TEST = 300


def main() -> None:
    """Train, write digits.onnx, images.npy (|u1, 0..16) and labels.npy (<i8), and print the test accuracy."""
    digits = load_digits()
    images, labels = digits.data.astype(np.uint8), digits.target.astype(np.int64)
    rng = np.random.default_rng(0)
    noisy = np.vstack([images / 16 + rng.uniform(-0.08, 0.08, images.shape) * scale for scale in (0, 1, 1, 1)]).clip(0, 1)
    keep = np.arange(len(noisy)) % len(images) >= _TEST
    model = MLPClassifier((32, 16), alpha=0.3, max_iter=300, random_state=0)
    model.fit(noisy[keep], np.tile(labels, 4)[keep])
    print(f"test accuracy {model.score(images[:_TEST] / 16, labels[:_TEST]):.3f}")
    nodes, tensors, name = [], [], "input"
    for k, (weight, bias) in enumerate(zip(model.coefs_, model.intercepts_, strict=True)):
        tensors += [numpy_helper.from_array(weight.T.astype(np.float32).copy(), f"w{k}"), numpy_helper.from_array(bias.astype(np.float32), f"b{k}")]
        last = k == len(model.coefs_) - 1
        nodes.append(helper.make_node("Gemm", [name, f"w{k}", f"b{k}"], ["output" if last else f"z{k}"], f"dense{k}", transB=1))
        if not last:
            nodes.append(helper.make_node("Relu", [f"z{k}"], [f"h{k}"], f"relu{k}"))
            name = f"h{k}"
    graph = helper.make_graph(nodes, "digits", [helper.make_tensor_value_info("input", TensorProto.FLOAT, [1, 64])],
                              [helper.make_tensor_value_info("output", TensorProto.FLOAT, [1, 10])], tensors)
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), HERE / "digits.onnx")
    np.save(HERE / "images.npy", images[:20])
    np.save(HERE / "labels.npy", labels[:20])


if __name__ == "__main__":
    main()
