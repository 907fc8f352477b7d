# SPDX-License-Identifier: Apache-2.0
"""Convolutions of a network's file: the integers that are committed, the file that denotes them, what is refused, and the way to an argument."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import NodeProto, TensorProto

from certify.errors import CertifyError, Declined, Rejected
from certify.limits import Limits
from certify.readers.commitment import Commitment, encode_commitment, read_commitment
from certify.readers.onnx_graph import read_graph
from certify_solvers.private.attack import outputs
from certify_zk import owner, secret
from certify_zk.conversion import Converted, convert
from certify_zk.deployment import quantised_onnx
from certify_zk.owner import argue, committed, model_rows
from certify_zk.policy import Conv, Dense
from certify_zk.preparation import prepare
from certify_zk.settings import Settings, like
from certify_zk.statement import Box, robust
from certify_zk.verifier import verify
from certify_zk.witness import Model, Witness, witness
from readers.onnx_models import encoded, floats, info, integers, node
from zk.convolutions import NETWORKS, specimen, values
from zk.test_conversion import mapped, points, run

CLAIM = b'{"kind":"test"}'
UNIT = Settings()


class File:
    """A random network on images: constants in front, convolutions, pools, and dense layers."""

    def __init__(self, seed: int, front: bool = True) -> None:
        rng = np.random.default_rng(seed)
        channels, height, width = int(rng.integers(1, 4)), 4, int(rng.choice([4, 6]))
        self.shape, self.nodes, self.tensors = (1, channels, height, width), list[NodeProto](), list[TensorProto]()
        self.rng, self.value, self.layers = rng, "x", list[Conv | Dense]()
        self.offset = np.zeros(channels, np.float32)
        if front and rng.random() < 0.7:
            self.offset = np.float32(rng.integers(0, 4, channels) / 4)
            self._put("Sub", [self._constant(self.offset[:, None, None])])
            self._put(str(rng.choice(["Mul", "Div"])), [self._constant(np.float32(rng.uniform(0.5, 2, (1, channels, 1, 1))))])
        pooled = 1
        for index in range(int(rng.integers(1, 3))):
            padding = int(rng.integers(0, 2)) if index or not front else 1
            side, stride, more = int(rng.integers(padding + 1, 4)), int(rng.integers(1, 3)), int(rng.integers(1, 4))
            side = min(side, height + 2 * padding, width + 2 * padding)
            weight, bias = np.float32(rng.normal(0, 0.4, (more, channels, side, side))), np.float32(rng.normal(0, 0.3, more))
            extra = {"pads": [padding] * 4} if padding or rng.random() < 0.5 else {}
            extra |= {"strides": [stride] * 2} if stride > 1 or rng.random() < 0.5 else {}
            extra |= {"kernel_shape": [side] * 2, "dilations": [1, 1], "group": 1} if rng.random() < 0.5 else {}
            kind = rng.random()
            self._put("Conv", [self._constant(weight), *([self._constant(bias)] if kind < 0.6 else [])], **extra)
            if 0.6 <= kind < 0.8:
                self._put("Add", [self._constant(bias[:, None, None])])
            self._put("Relu", [])
            self.layers.append(Conv(channels, height * pooled, width * pooled, more, side * pooled, stride * pooled, padding * pooled))
            channels, pooled = more, 1
            height, width = self.layers[-1].places
            if height % 2 == width % 2 == 0 and rng.random() < 0.7:
                self._put("AveragePool", [], kernel_shape=[2, 2], strides=[2, 2])
                height, width, pooled = height // 2, width // 2, 2
        size = channels * height * width
        if rng.random() < 0.5:
            self._put("Flatten", [])
        else:
            self.tensors.append(integers("target", [1, size]))
            self._put("Reshape", ["target"])
        for index, rows in enumerate((3,) if rng.random() < 0.5 else (4, 3)):
            if index:
                self._put("Relu", [])
            weight, bias = np.float32(rng.normal(0, 0.5, (rows, size))), np.float32(rng.normal(0, 0.3, rows))
            self._put("Gemm", [self._constant(weight), self._constant(bias)], transB=1)
            self.layers.append(Dense(size * (pooled * pooled if not index else 1), rows))
            size = rows
        self.nodes[-1].output[0] = "y"
        self.data = encoded(self.nodes, self.tensors, shape=self.shape, outputs=[info("y", (1, 3))])
        offset = tuple(Fraction(float(v)) for v in np.repeat(self.offset, self.shape[2] * self.shape[3]))
        one = offset[:1] if len(set(offset)) == 1 else offset
        self.settings = Settings(lower=one, upper=tuple(v + 1 for v in one))

    def _constant(self, value: Any) -> str:
        self.tensors.append(floats(f"c{len(self.tensors)}", value))
        return f"c{len(self.tensors) - 1}"

    def _put(self, operator: str, constants: Sequence[str], **attributes: Any) -> None:
        number = len(self.nodes)
        self.nodes.append(node(operator, [self.value, *constants], [f"v{number}"], name=f"n{number}", **attributes))
        self.value = f"v{number}"


@pytest.mark.parametrize("seed", range(24))
def test_the_committed_network_is_near_that_of_the_file(seed: int) -> None:
    file = File(seed)
    made = convert(file.data, file.settings)
    assert made.policy.layers == tuple(file.layers) and made.rounding <= Fraction(1, 8192)
    assert made.interface.input_shape == file.shape and made.interface.output_shape == (1, 3)
    for x in points(seed, 6, made.policy.size(0), made.policy.inputs):
        exact = [float(v) for v in values(made.policy, made.model, mapped(made.policy.inputs, x))[-1]]
        assert np.allclose(run(file.data, x, file.shape), exact, atol=0.03)


@pytest.mark.parametrize("seed", range(24))
def test_the_quantised_file_is_the_committed_network(seed: int) -> None:
    file = File(seed)
    made = convert(file.data, replace(file.settings, scale=(Fraction(3, 4),) if seed % 3 else (Fraction(1, 2),)))
    data = quantised_onnx(made)
    for x in points(seed, 4, made.policy.size(0), made.policy.inputs):
        exact = values(made.policy, made.model, mapped(made.policy.inputs, x))[-1]
        assert np.allclose(run(data, x, file.shape), [float(v) for v in exact], atol=1e-4)
    again = convert(data, like(made.policy))
    assert again.rounding == 0 and again.policy == made.policy and again.interface == made.interface
    assert all(np.array_equal(a, b) for a, b in zip((*again.model.weights, *again.model.biases), (*made.model.weights, *made.model.biases),
                                                    strict=True))


def image(*nodes: NodeProto, shape: tuple[int, ...] = (1, 2, 4, 4), **tensors: Any) -> bytes:
    """Return a network of these nodes and constants, with some by default."""
    rng = np.random.default_rng(0)
    some = {"k": rng.normal(0, 0.3, (3, 2, 3, 3)), "one": rng.normal(0, 0.3, (2, 2, 1, 1)), "b": np.array([0.5, 0.25, -0.125])}
    return encoded(list(nodes), [floats(name, np.float32(value)) for name, value in (some | tensors).items()], shape=shape, outputs=[info("y", None)])


def test_integers_of_kernels_are_the_nearest() -> None:
    kernel = np.arange(18, dtype=np.float64).reshape(1, 2, 3, 3) / 8192
    made = convert(image(node("Conv", ["x", "k"], ["y"]), k=kernel), UNIT)
    assert made.policy.layers == (Conv(2, 4, 4, 1, 3),) and made.policy.modes == ("crown",)
    assert made.model.weights[0].tolist() == [[round(Fraction(i, 2)) for i in range(18)]] and made.model.biases[0].tolist() == [0]
    pool = [node("AveragePool", ["x"], ["p"], kernel_shape=[2, 2], strides=[2, 2]), node("Conv", ["p", "k"], ["y"], pads=[1] * 4)]
    made = convert(image(*pool, k=kernel), UNIT)
    assert made.policy.layers == (Conv(2, 4, 4, 1, 6, 2, 2),) and made.rounding == Fraction(1, 8192)
    found = made.model.weights[0].reshape(2, 6, 6)
    assert all(found[c, u, v] == round(Fraction(9 * c + 3 * (u // 2) + v // 2, 8)) for c in range(2) for u in range(6) for v in range(6))
    thirds = [node("AveragePool", ["x"], ["p"], kernel_shape=[3, 3], strides=[3, 3]), node("Conv", ["p", "one"], ["y"])]
    made = convert(image(*thirds, shape=(1, 2, 3, 3), one=np.full((1, 2, 1, 1), 4.5 / 4096)), UNIT)  # 1/2 of a unit at each of 9 taps: ties to even
    assert made.model.weights[0].tolist() == [[0] * 18] and made.rounding == Fraction(1, 8192)


def test_what_the_map_of_the_inputs_adds() -> None:
    """Without padding, a shift in front joins the biases; with it, the image must begin at what is padded."""
    conv = node("Conv", ["v", "one", "b"], ["y"])
    shifted = image(node("Sub", ["x", "m"], ["v"]), conv, m=[[[0.5]], [[0.25]]], one=np.ones((3, 2, 1, 1)))
    made = convert(shifted, UNIT)
    assert [Fraction(int(b), 4096) for b in made.model.biases[0]] == [Fraction(b) - Fraction(3, 4) for b in (0.5, 0.25, -0.125)]
    padded = image(node("Sub", ["x", "m"], ["v"]), node("Conv", ["v", "k", "b"], ["y"], pads=[1] * 4), m=[[[0.5]], [[0.25]]])
    with pytest.raises(Declined, match="pads with 0") as caught:
        convert(padded, UNIT)
    assert caught.value.code == "onnx-graph" and caught.value.where == "layer 1"
    lower = (Fraction(1, 2),) * 16 + (Fraction(1, 4),) * 16
    made = convert(padded, Settings(lower=lower, upper=(Fraction(1),)))
    assert made.policy.layers == (Conv(2, 4, 4, 3, 3, 1, 1),) and made.policy.inputs.offset == lower
    across = image(node("Sub", ["x", "m"], ["v"]), conv, m=np.arange(4.0), one=np.ones((3, 2, 1, 1)))
    scaled = image(node("Mul", ["x", "m"], ["v"]), conv, m=np.arange(1.0, 5.0), one=np.ones((3, 2, 1, 1)))
    with pytest.raises(Declined, match="within a channel"):
        convert(across, UNIT)
    with pytest.raises(Declined, match="within a channel"):
        convert(scaled, replace(UNIT, scale=(Fraction(1),)))
    by_entry = convert(scaled, UNIT)  # scales are those of the file: weights are the same everywhere
    assert len(by_entry.policy.inputs.scale) == 32
    assert [item.operator for item in read_graph(quantised_onnx(by_entry)).nodes] == ["Reshape", "Mul", "Reshape", "Conv"]


GEMM = [node("Flatten", ["v"], ["f"]), node("Gemm", ["f", "w"], ["y"])]


@pytest.mark.parametrize(("nodes", "code", "named"), [
    ([node("Conv", ["x", "k"], ["y"], name="c", group=2)], "onnx-graph", "c"),
    ([node("Conv", ["x", "k"], ["y"], name="c", dilations=[2, 2])], "onnx-graph", "c"),
    ([node("Conv", ["x", "k"], ["y"], name="c", strides=[1, 2])], "onnx-graph", "c"),
    ([node("Conv", ["x", "k"], ["y"], name="c", strides=[0, 0])], "onnx-graph", "c"),
    ([node("Conv", ["x", "k"], ["y"], name="c", strides=[1])], "onnx-graph", "c"),
    ([node("Conv", ["x", "k"], ["y"], name="c", pads=[1, 1, 0, 0])], "onnx-graph", "c"),
    ([node("Conv", ["x", "k"], ["y"], name="c", pads=[-1] * 4)], "onnx-graph", "c"),
    ([node("Conv", ["x", "k"], ["y"], name="c", pads=[3] * 4)], "onnx-graph", "c"),
    ([node("Conv", ["x", "k"], ["y"], name="c", auto_pad="SAME_UPPER")], "onnx-graph", "c"),
    ([node("Conv", ["x", "k"], ["y"], name="c", kernel_shape=[2, 2])], "onnx-graph", "c"),
    ([node("Conv", ["x", "k"], ["y"], name="c", other=1)], "onnx-attribute", "c"),
    ([node("Conv", ["x", "k"], ["y"], name="c", group=1.0)], "onnx-attribute", "c"),
    ([node("Conv", ["x", "wide"], ["y"], name="c")], "onnx-graph", "c"),
    ([node("Conv", ["x", "oblong"], ["y"], name="c")], "onnx-graph", "c"),
    ([node("Conv", ["x", "big"], ["y"], name="c")], "onnx-graph", "c"),
    ([node("Conv", ["x", "three"], ["y"], name="c")], "onnx-graph", "c"),
    ([node("Conv", ["x", "k", "two"], ["y"], name="c")], "onnx-graph", "c"),
    ([node("Conv", ["x", "missing"], ["y"], name="c")], "onnx-name", ""),
    ([node("Conv", ["k", "x"], ["y"], name="c")], "onnx-graph", "c"),
    ([node("Conv", ["x"], ["y"], name="c")], "onnx-graph", "c"),
    ([node("Identity", ["k"], ["i"]), node("Conv", ["x", "i"], ["y"], name="c")], "onnx-graph", "c"),
    ([node("Conv", ["x", "one"], ["v"]), node("Conv", ["v", "one"], ["y"], name="c")], "onnx-graph", "c"),
    ([node("Conv", ["x", "k"], ["v"]), node("Relu", ["v"], ["y"])], "onnx-graph", "y"),
    ([node("Conv", ["x", "one"], ["v"]), node("Relu", ["v"], ["u"]), node("Relu", ["u"], ["t"], name="r"), node("Conv", ["t", "one"], ["y"])],
     "onnx-graph", "r"),
    ([node("Relu", ["x"], ["v"], name="r"), node("Conv", ["v", "one"], ["y"])], "onnx-graph", "r"),
    ([node("Conv", ["x", "one"], ["v"]), node("Relu", ["v"], ["u"]), node("Add", ["u", "x"], ["t"], name="skip"), node("Conv", ["t", "one"], ["y"])],
     "onnx-graph", "skip"),
    ([node("Conv", ["x", "one"], ["v"]), node("Relu", ["v"], ["u"]), node("Conv", ["v", "one"], ["t"], name="c"), node("Add", ["t", "u"], ["y"])],
     "onnx-graph", "c"),
    ([node("Conv", ["x", "k"], ["v"]), node("Add", ["v", "b"], ["y"], name="a")], "onnx-graph", "a"),
    ([node("Conv", ["x", "k"], ["v"]), node("Mul", ["v", "b"], ["y"], name="a")], "onnx-graph", "a"),
    ([node("Conv", ["x", "k"], ["v"]), node("Flatten", ["v"], ["f"]), node("Sub", ["f", "wide_b"], ["y"])], "onnx-graph", "Graph"),
    ([node("Conv", ["x", "one"], ["v"]), node("MaxPool", ["v"], ["u"], name="p", kernel_shape=[2, 2]), node("Conv", ["u", "one"], ["y"])],
     "onnx-graph", "p"),
    ([node("Conv", ["x", "k"], ["v"]), node("MaxPool", ["v"], ["y"], name="p", kernel_shape=[2, 2])], "onnx-operator", "p"),
    ([node("AveragePool", ["x"], ["v"], name="p", kernel_shape=[2, 2]), *GEMM], "onnx-graph", "p"),
    ([node("AveragePool", ["x"], ["v"], name="p", kernel_shape=[3, 3], strides=[3, 3]), *GEMM], "onnx-graph", "p"),
    ([node("AveragePool", ["x"], ["v"], name="p", kernel_shape=[2, 4], strides=[2, 4]), *GEMM], "onnx-graph", "p"),
    ([node("AveragePool", ["x"], ["v"], name="p", kernel_shape=[2, 2], strides=[2, 2], pads=[1] * 4), *GEMM], "onnx-graph", "p"),
    ([node("AveragePool", ["x"], ["v"], name="p", kernel_shape=[2, 2], strides=[2, 2], ceil_mode=1), *GEMM], "onnx-graph", "p"),
    ([node("AveragePool", ["x"], ["v"], name="p", strides=[2, 2]), *GEMM], "onnx-graph", "p"),
    ([node("AveragePool", ["x"], ["u"], kernel_shape=[2, 2], strides=[2, 2]),
      node("AveragePool", ["u"], ["v"], name="p", kernel_shape=[2, 2], strides=[2, 2]), *GEMM], "onnx-graph", "p"),
    ([node("Conv", ["x", "one"], ["u"]), node("AveragePool", ["u"], ["v"], name="p", kernel_shape=[2, 2], strides=[2, 2]), *GEMM], "onnx-graph", "p"),
    ([node("AveragePool", ["x"], ["y"], kernel_shape=[2, 2], strides=[2, 2])], "onnx-graph", "y"),
    ([node("AveragePool", ["x"], ["v"], kernel_shape=[2, 2], strides=[2, 2]), node("Relu", ["v"], ["u"], name="r"),
      node("Flatten", ["u"], ["f"]), node("Gemm", ["f", "w"], ["y"])], "onnx-graph", "r"),
    ([node("Flatten", ["x"], ["f"]), node("Conv", ["f", "k"], ["y"], name="c")], "onnx-graph", "c"),
    ([node("MatMul", ["x", "square"], ["v"]), node("Relu", ["v"], ["u"]), node("Conv", ["u", "k"], ["y"])], "onnx-graph", ""),
    ([node("Conv", ["x", "k"], ["v"]), node("Relu", ["v"], ["u"]), node("Flatten", ["x"], ["f"]), node("Add", ["u", "f"], ["y"])], "onnx-graph", ""),
])
def test_what_is_refused_is_named(nodes: list[NodeProto], code: str, named: str) -> None:
    tensors = {"wide": np.ones((3, 3, 3, 3)), "oblong": np.ones((3, 2, 3, 2)), "big": np.ones((3, 2, 5, 5)), "three": np.ones((3, 2, 3)),
               "two": np.ones(2), "w": np.ones((8, 2)), "square": np.ones((4, 4)), "wide_b": np.ones(12)}
    with pytest.raises(CertifyError) as trouble:
        convert(image(*nodes, **tensors), UNIT)
    assert trouble.value.code == code and named in trouble.value.where and trouble.value.fix


def test_weights_and_biases_are_in_their_range() -> None:
    for tensors, where in (({"k": np.full((3, 2, 3, 3), 16.0)}, "layer 1"), ({"b": np.array([0.0, 2048.0, 0.0])}, "layer 1")):
        with pytest.raises(Declined) as trouble:
            convert(image(node("Conv", ["x", "k", "b"], ["y"]), **tensors), UNIT)
        assert trouble.value.code == "onnx-weight-range" and trouble.value.where == where
    four = [node("AveragePool", ["x"], ["p"], kernel_shape=[2, 2], strides=[2, 2]), node("Conv", ["p", "one"], ["y"])]
    assert convert(image(*four, one=np.full((1, 2, 1, 1), 63.0)), UNIT).model.weights[0].tolist() == [[64512] * 8]


def test_a_bias_of_more_bits_than_float32_has_is_added_in_two() -> None:
    settings = Settings(bias_bits=32, scales={"bias_scale": 24, "total_scale": 24})
    data = image(node("Conv", ["x", "one", "c"], ["z"]), node("Add", ["z", "d"], ["y"]), c=[1.0, 2.0], d=np.full((2, 1, 1), 2.0**-24))
    made = convert(data, settings)
    assert made.model.biases[0].tolist() == [(1 << 24) + 1, (2 << 24) + 1]
    written = quantised_onnx(made)
    assert [item.operator for item in read_graph(written).nodes] == ["Conv", "Add"]
    assert convert(written, like(made.policy)).model.biases[0].tolist() == made.model.biases[0].tolist()


def test_nodes_that_do_not_lead_to_the_output_are_no_part_of_the_chain() -> None:
    nodes = [node("Relu", ["x"], ["idle"]), node("Conv", ["x", "k", "b"], ["v"]), node("Relu", ["v"], ["u"]), node("Flatten", ["v"], ["other"]),
             node("Flatten", ["u"], ["f"]), node("Gemm", ["f", "w"], ["y"])]
    assert len(convert(image(*nodes, w=np.ones((12, 2))), UNIT).policy.layers) == 2


def test_constants_may_stand_anywhere() -> None:
    constants = [node("Constant", [], [name], value=integers("", shape)) for name, shape in (("first", [1, 2, 4, 4]), ("then", [1, 12]))]
    nodes = [*constants, node("Reshape", ["x", "first"], ["i"]), node("Conv", ["i", "k", "b"], ["v"]), node("Relu", ["v"], ["u"]),
             node("Reshape", ["u", "then"], ["f"]), node("Gemm", ["f", "w"], ["y"])]
    made = convert(image(*nodes, shape=(1, 32), w=np.ones((12, 2))), UNIT)
    assert made.policy.layers == (Conv(2, 4, 4, 3, 3), Dense(12, 2)) and made.interface.input_shape == (1, 32)


def test_attacks_are_on_the_convolution() -> None:
    rng = np.random.default_rng(4)
    for name in ("conv-conv-dense", "dense-conv-conv"):
        policy, model, _ = NETWORKS[name]
        x = tuple(Fraction(int(v), 8) for v in rng.integers(0, 33, policy.size(0)))
        assert np.allclose(outputs(policy, model, x), [float(v) for v in values(policy, model, list(x))[-1]])


def commitment(policy: Any) -> Commitment:
    return Commitment(policy, model_rows(policy), bytes(range(32)))


def test_commitments_of_convolutions_are_read_as_they_are_written() -> None:
    rng = np.random.default_rng(3)
    for policy in [*(specimen(rng)[0] for _ in range(20)), *(some[0] for some in NETWORKS.values())]:
        written = encode_commitment(commitment(policy))
        assert read_commitment(written, Limits()) == commitment(policy)
    some = encode_commitment(commitment(NETWORKS["conv-dense"][0]))
    layer = b'"channels_in":2,"channels_out":3,"height":3,"kernel":2,"kind":"conv","padding":1,"stride":1,"width":3'
    assert layer in some and b'"kind":"dense"' in some
    for other, code in ((layer.replace(b'"conv"', b'"pool"'), "malformed"), (layer.replace(b'"conv"', b'"dense"'), "malformed"),
                        (layer.replace(b'"stride":1,', b""), "malformed"), (layer.replace(b'"kind":"conv",', b""), "malformed"),
                        (layer.replace(b'"stride":1', b'"stride":0'), "malformed"), (layer.replace(b'"stride":1', b'"stride":"1"'), "malformed"),
                        (layer.replace(b'"padding":1', b'"padding":2'), "limit"), (layer.replace(b'"kernel":2', b'"kernel":6'), "limit"),
                        (layer.replace(b'"stride":1', b'"stride":2'), "limit"), (layer.replace(b'"width":3', b'"extra":1,"width":3'), "malformed")):
        with pytest.raises(Declined) as caught:
            read_commitment(some.replace(layer, other), Limits())
        assert caught.value.code == f"commitment-{code}", other


def test_from_a_file_to_an_argument(tmp_path: Path) -> None:
    """The owner's way: a file with a pool is prepared, committed, argued about and verified; another kernel has another root."""
    rng = np.random.default_rng(1)
    tensors = {"k": rng.normal(0, 0.3, (3, 1, 3, 3)), "b": rng.normal(0, 0.1, 3), "w": rng.normal(0, 0.3, (12, 3))}
    nodes = [node("Conv", ["x", "k", "b"], ["z"], pads=[1] * 4), node("Relu", ["z"], ["h"]),
             node("AveragePool", ["h"], ["p"], kernel_shape=[2, 2], strides=[2, 2]), node("Flatten", ["p"], ["f"]), node("Gemm", ["f", "w"], ["y"])]
    rows = [tuple(Fraction(int(v), 16) for v in rng.integers(0, 17, 16)) for _ in range(2)]
    made: Converted = prepare(image(*nodes, shape=(1, 1, 4, 4), **tensors), Settings(radius=Fraction(1, 256)), rows)
    policy, model = made.policy, made.model
    assert policy.layers == (Conv(1, 4, 4, 3, 3, 1, 1), Dense(48, 3))
    seed, proof = bytes(32), bytes([1]) * 32
    root = committed(policy, model, seed).root
    assert owner.model_rows(policy) == model_rows(policy) and root != committed(policy, Model((model.weights[0] + 1, model.weights[1]), model.biases),
                                                                                seed).root
    path = tmp_path / "secret"
    path.write_bytes(secret.contents(seed, proof, bytes(32), model))
    mine = secret.read(path)
    assert all(np.array_equal(a, b) for a, b in zip((*mine.model.weights, *mine.model.biases), (*model.weights, *model.biases), strict=True))
    x = [v * 4096 for v in mapped(policy.inputs, rows[0])]
    lower = tuple(max(0, int(v) - 8) for v in x)
    box = Box(lower, tuple(min(4096, int(v) + 8) - low for v, low in zip(x, lower, strict=True)))
    scores = values(policy, model, mapped(policy.inputs, rows[0]))[-1]
    statement = robust((box,), 3, int(np.argmax([float(v) for v in scores])))
    found = witness(policy, model, statement)
    assert isinstance(found, Witness), found
    argument = argue(policy, root, mine, statement, CLAIM, found).argument
    assert verify(policy, root, statement, CLAIM, argument, Limits()).tenths >= 1000
    other_box = replace(statement, regions=(Box(lower, tuple(width - 1 for width in box.width)),))
    for other_root, other in ((bytes(32), statement), (root, other_box)):
        with pytest.raises(Rejected):
            verify(policy, other_root, other, CLAIM, argument, Limits())
