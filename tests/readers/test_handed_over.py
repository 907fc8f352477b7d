# SPDX-License-Identifier: Apache-2.0
"""Published networks and properties: chains of stage 1 agree with onnxruntime, every other model is refused, every property is read."""

from __future__ import annotations

import gzip
from collections import Counter
from fractions import Fraction
from math import prod
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import ModelProto

from certify.errors import Declined
from certify.limits import Limits
from certify.readers.formula import parts
from certify.readers.network import Dense, Network, Relu
from certify.readers.onnx_ops import read_network
from certify.readers.vnnlib1 import read_vnnlib1
from certify.rules.evaluation import evaluate

REPOSITORY = Path(__file__).resolve().parents[2]
FOLDER = REPOSITORY.parent / "shared" / "data" / "nn"
STAGE_1 = {"Gemm", "MatMul", "Add", "Sub", "Relu", "Flatten", "Reshape", "Identity", "Dropout", "Constant", "Squeeze", "Unsqueeze"}


def files(ending: str) -> list[Path]:
    """Return the files with an ending, packed or not."""
    return sorted(path for path in FOLDER.rglob("*") if path.name.endswith((ending, f"{ending}.gz")))


def parameters(ending: str) -> list[object]:
    """Return one test parameter for each file, or one that is skipped."""
    found = [pytest.param(path, id=path.relative_to(FOLDER).as_posix()) for path in files(ending)]
    reason = "the published networks and properties are not beside this repository (shared/data/nn)"
    return found or [pytest.param(None, id="none", marks=pytest.mark.skip(reason=reason))]


def unpacked(path: Path) -> bytes:
    """Return the bytes of a file, unpacked."""
    data = path.read_bytes()
    return gzip.decompress(data) if path.suffix == ".gz" else data


def stage_1_chain(model: ModelProto) -> bool:
    """Return whether the operators are of stage 1, and every computed tensor feeds one node, with constants beside it."""
    graph = model.graph
    computed = {value.name for value in graph.input} - {tensor.name for tensor in graph.initializer}
    uses: Counter[str] = Counter({value.name: 1 for value in graph.output})
    for node in graph.node:
        read = [name for name in node.input if name in computed]
        if node.op_type not in STAGE_1 or len(read) > 1:
            return False
        uses.update(read)
        computed.update(node.output if read else ())
    return all(uses[name] <= 1 for name in computed)


def sizes(network: Network, point: np.ndarray) -> np.ndarray:
    """Return a bound of all numbers that a run adds up: the traps cancel numbers so large that float32 loses the result."""
    size = np.abs(point.reshape(-1).astype(np.float64))
    for layer in network.layers:
        if not isinstance(layer, Relu):
            size = (np.abs(layer.weight) @ size if isinstance(layer, Dense) else size) + np.abs(layer.bias)
    return size


@pytest.mark.parametrize("path", parameters(".onnx"))
def test_network_is_read_right_or_refused(path: Path) -> None:
    data = unpacked(path)
    model = onnx.load_from_string(data)
    if not stage_1_chain(model):
        with pytest.raises(Declined) as caught:
            read_network(data, Limits())
        assert caught.value.code == "onnx-operator"
        return
    network = read_network(data, Limits())
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
    free = session.get_inputs()[0]
    assert network.input_shape == tuple(size if isinstance(size, int) else 1 for size in free.shape)
    assert network.inputs == prod(network.input_shape)
    rng = np.random.default_rng(1)
    for scale in (0.0, 0.5, 1.0):
        point = (scale * rng.standard_normal(network.input_shape)).astype(np.float32)
        exact = evaluate(network, [Fraction(float(value)) for value in point.reshape(-1)], Limits())
        found = session.run(None, {free.name: point})[0].reshape(-1)
        assert len(exact) == network.outputs == found.size
        expected = np.array([float(value) for value in exact])
        allowed = 1e-6 * sizes(network, point) if path.parent.name == "traps" else 1e-4 * (1 + np.abs(expected).max())
        assert (np.abs(found - expected) <= allowed + 1e-3 * np.abs(expected)).all()


@pytest.mark.parametrize("path", parameters(".vnnlib"))
def test_property_is_read(path: Path) -> None:
    data = unpacked(path)
    limits = Limits()
    specification = read_vnnlib1(data, limits)
    text = data.decode()
    assert (specification.inputs, specification.outputs) == (text.count("(declare-const X_"), text.count("(declare-const Y_"))
    found = parts(specification, limits)
    assert found.parts
    assert found.empty == 0
    for part in found.parts:
        assert len(part.lower) == len(part.upper) == specification.inputs
        assert all(part.conjuncts)
        centre = tuple((low + high) / 2 for low, high in zip(part.lower, part.upper, strict=True))
        assert part.holds_input(centre)
        assert all(row.outputs for rows in part.conjuncts for row in rows)
