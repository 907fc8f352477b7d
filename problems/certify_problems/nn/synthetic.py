# SPDX-License-Identifier: Apache-2.0
"""Perceptrons of any size with random weights, as ONNX bytes: for benchmarks and tests of size, not of meaning."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from certify_problems.nn.dense import dense_onnx


def perceptron(sizes: Sequence[int], seed: int = 0) -> bytes:
    """Return the ONNX bytes of a ReLU perceptron with `sizes` = inputs, hidden layers, outputs; needs the package onnx.

    Weights are Gaussian with variance 1/inputs of the layer, biases zero: same seed, same bytes.
    """
    rng = np.random.default_rng(seed)
    weights = [rng.standard_normal((m, n), np.float32) / np.float32(np.sqrt(n)) for n, m in pairwise(sizes)]
    return dense_onnx(weights, [np.zeros(m, np.float32) for m in sizes[1:]], "perceptron")
