# SPDX-License-Identifier: Apache-2.0
"""What is committed of a network's file: the nearest integers of the exact function on mapped inputs, and a file that denotes them exactly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import onnxruntime
import pytest
from onnx import NodeProto, TensorProto

from certify.errors import CertifyError, Declined, UsageError
from certify.readers.onnx_graph import read_graph
from certify_zk import conversion
from certify_zk.conversion import Converted, convert
from certify_zk.deployment import quantised_onnx
from certify_zk.policy import InputMap
from certify_zk.settings import Settings, spread
from readers.onnx_models import encoded, floats, info, integers, node
from zk.tiny import values

DOMAINS = (Settings(lower=(Fraction(-2),), upper=(Fraction(2),)), Settings(lower=(Fraction(-2),), upper=(Fraction(2),), scale=(Fraction(3, 7),)),
           Settings(lower=(Fraction(-1, 3),), upper=(Fraction(2),), offset=(Fraction(-7, 10),)),
           Settings(offset=(Fraction(-1, 2),), scale=(Fraction(1, 4),), lower=(Fraction(0),), upper=(Fraction(1),)))


class Case:
    """A random network, constants in front and then layers: its file, and its exact values."""

    def __init__(self, seed: int, shape: tuple[int, ...] = (1, 2, 2), hidden: Sequence[int] = (5, 4)) -> None:
        rng = np.random.default_rng(seed)
        self.inputs = int(np.prod(shape))
        self.nodes: list[NodeProto] = []
        self.tensors: list[TensorProto] = []
        self.front: list[tuple[str, bool, list[Fraction]]] = []
        value = "x"
        for index in range(int(rng.integers(0, 4))):
            operator, flipped = str(rng.choice(["Sub", "Add", "Mul", "Div"])), bool(rng.random() < 0.3)
            constant = np.float32(rng.uniform(0.3, 1.7, shape if rng.random() < 0.5 else (shape[-1],)) * rng.choice([-1, 1]))
            flipped &= operator != "Div"
            self.tensors.append(floats(f"c{index}", constant))
            self.nodes.append(node(operator, [f"c{index}", value] if flipped else [value, f"c{index}"], [f"v{index}"], name=f"front{index}"))
            self.front.append((operator, flipped, [Fraction(float(c)) for c in np.broadcast_to(constant, shape).reshape(-1)]))
            value = f"v{index}"
        self.nodes.append(node("Reshape", [value, "target"], ["flat"], name="flat"))
        self.tensors.append(integers("target", [1, self.inputs]))
        value, sizes = "flat", [self.inputs, *hidden, 3]
        self.weights: list[np.ndarray[Any, Any]] = []
        self.biases: list[np.ndarray[Any, Any]] = []
        for k, (n, m) in enumerate(pairwise(sizes)):
            weight, bias = rng.normal(0, 0.6, (m, n)).astype(np.float32), rng.normal(0, 0.3, m).astype(np.float32)
            self.weights.append(weight)
            self.biases.append(bias)
            last = "y" if k == len(hidden) else f"z{k}"
            self.tensors += [floats(f"b{k}", bias), floats(f"w{k}", weight if rng.random() < 0.5 else weight.T)]
            transposed = self.tensors[-1].dims[0] == m and not self._square(k, weight, m, n)
            if transposed or rng.random() < 0.5:
                self.nodes.append(node("Gemm", [value, f"w{k}", f"b{k}"], [last], name=f"dense{k}", transB=int(transposed)))
            else:
                self.nodes.append(node("MatMul", [value, f"w{k}"], [f"m{k}"], name=f"product{k}"))
                self.nodes.append(node("Add", [f"m{k}", f"b{k}"], [last], name=f"add{k}"))
            if last != "y":
                self.nodes.append(node("Relu", [last], [f"h{k}"], name=f"relu{k}"))
                value = f"h{k}"
        self.shape = shape
        self.data = encoded(self.nodes, self.tensors, shape=shape, outputs=[info("y", (1, 3))])

    def _square(self, k: int, weight: np.ndarray[Any, Any], m: int, n: int) -> bool:
        if m == n:  # which of both was stored can't be told from its shape: store the transpose
            self.tensors[-1] = floats(f"w{k}", weight.T)
        return m == n

    def inner(self, x: list[Fraction]) -> list[Fraction]:
        """Return what the nodes in front make of an input."""
        for operator, flipped, constants in self.front:
            x = [{"Add": a + c, "Sub": c - a if flipped else a - c, "Mul": a * c, "Div": a / c}[operator] for a, c in zip(x, constants, strict=True)]
        return x

    def exact(self, x: list[Fraction]) -> list[Fraction]:
        """Return the network's value at an input."""
        y = self.inner(x)
        for k, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            z = [Fraction(float(b)) + sum(Fraction(float(w)) * v for w, v in zip(row, y, strict=True)) for row, b in zip(weight, bias, strict=True)]
            y = [max(v, Fraction(0)) for v in z] if k + 1 < len(self.weights) else z
        return y


def mapped(inputs: InputMap, x: Sequence[Fraction]) -> list[Fraction]:
    """Return inputs as a commitment takes them."""
    offset, scale = spread(inputs.offset, len(x)), spread(inputs.scale, len(x))
    return [(v - o) * s for v, o, s in zip(x, offset, scale, strict=True)]


def unmapped(inputs: InputMap, x: Sequence[Fraction]) -> list[Fraction]:
    """Return inputs of the file."""
    offset, scale = spread(inputs.offset, len(x)), spread(inputs.scale, len(x))
    return [o + v / s for v, o, s in zip(x, offset, scale, strict=True)]


def run(data: bytes, x: Sequence[Fraction], shape: Sequence[int]) -> np.ndarray[Any, Any]:
    """Return what onnxruntime computes."""
    session = onnxruntime.InferenceSession(data)
    found: np.ndarray[Any, Any] = session.run(None, {session.get_inputs()[0].name: np.array([float(v) for v in x], np.float32).reshape(shape)})[0]
    return found.reshape(-1)


def interpreted(data: bytes, x: list[Fraction]) -> list[Fraction]:
    """Return the exact value of a file of `deployment`."""
    graph = read_graph(data)
    for item in graph.nodes:
        constants = [[Fraction(v) for v in np.asarray(graph.tensors[name], np.float64).reshape(-1).tolist()] for name in item.inputs[1:]]
        if item.operator == "Gemm":
            rows = [constants[0][i * len(x):(i + 1) * len(x)] for i in range(len(constants[1]))]
            x = [b + sum(w * v for w, v in zip(row, x, strict=True)) for row, b in zip(rows, constants[1], strict=True)]
        elif item.operator == "Relu":
            x = [max(v, Fraction(0)) for v in x]
        elif item.operator != "Reshape":
            x = [{"Add": a + c, "Sub": a - c, "Mul": a * c, "Div": a / c}[item.operator] for a, c in zip(x, constants[0], strict=True)]
    return x


def points(seed: int, count: int, inputs: int, some: InputMap) -> list[list[Fraction]]:
    """Return random points of the domain."""
    rng = np.random.default_rng(seed)
    lower, upper = spread(some.lower, inputs), spread(some.upper, inputs)
    return [[low + (high - low) * Fraction(int(t), 97) for low, high, t in zip(lower, upper, rng.integers(0, 98, inputs), strict=True)]
            for _ in range(count)]


@pytest.mark.parametrize("seed", range(24))
def test_integers_are_the_nearest_of_the_exact_function(seed: int) -> None:
    case, settings = Case(seed), DOMAINS[seed % len(DOMAINS)]
    made = convert(case.data, settings)
    policy, inputs = made.policy, case.inputs
    zero, units = [Fraction(0)] * inputs, [[Fraction(int(i == j)) for i in range(inputs)] for j in range(inputs)]

    def first(x: list[Fraction]) -> list[Fraction]:  # z_1 as a function of mapped inputs
        inner = case.inner(unmapped(policy.inputs, x))
        return [Fraction(float(b)) + sum(Fraction(float(w)) * v for w, v in zip(row, inner, strict=True))
                for row, b in zip(case.weights[0], case.biases[0], strict=True)]
    bias = first(zero)
    weight = [[a - b for a, b in zip(column, bias, strict=True)] for column in map(first, units)]
    exact = [np.array(weight, object).T, *(np.vectorize(lambda w: Fraction(float(w)), otypes=[object])(w) for w in case.weights[1:])]
    biases = [bias, *([Fraction(float(b)) for b in bias] for bias in case.biases[1:])]
    for wanted, found in zip(exact, made.model.weights, strict=True):
        assert found.dtype == np.int64 and [[round(w * 4096) for w in row] for row in wanted] == found.tolist()
    assert [[round(b * 4096) for b in bias] for bias in biases] == [bias.tolist() for bias in made.model.biases]
    roundings = [abs(w - Fraction(int(q), 4096)) for wanted, found in zip(exact, made.model.weights, strict=True)
                 for w, q in zip(wanted.reshape(-1), found.reshape(-1), strict=True)]
    assert made.rounding == max(roundings) <= Fraction(1, 8192)
    assert made.interface == conversion.Interface("x", case.shape, "y", (1, 3))


@pytest.mark.parametrize("seed", range(24))
def test_the_quantised_file_is_the_committed_network(seed: int) -> None:
    case, settings = Case(seed), DOMAINS[seed % len(DOMAINS)]
    made = convert(case.data, settings)
    try:
        data = quantised_onnx(made)
    except UsageError as trouble:
        assert trouble.code == "policy-file" and any(max(s.numerator, s.denominator) >= 1 << 24 for s in made.policy.inputs.scale)
        made = convert(case.data, replace(settings, scale=(Fraction(2, 3),)))
        data = quantised_onnx(made)
    for x in points(seed, 8, case.inputs, made.policy.inputs):
        committed = values(made.policy, made.model, mapped(made.policy.inputs, x))[-1]
        assert interpreted(data, x) == committed
        assert np.allclose(run(data, x, case.shape), [float(v) for v in committed], atol=1e-4)
        assert np.allclose(run(case.data, x, case.shape), [float(v) for v in case.exact(x)], atol=1e-4)
        assert all(abs(a - b) < Fraction(1, 50) for a, b in zip(committed, case.exact(x), strict=True))
    again = convert(data, replace(settings, scale=made.policy.inputs.scale, offset=made.policy.inputs.offset))
    assert again.rounding == 0 and again.interface == made.interface and again.policy == made.policy
    both = [(*found.model.weights, *found.model.biases) for found in (again, made)]
    assert all(np.array_equal(a, b) for a, b in zip(*both, strict=True))


def dense(weight: Any, bias: Any = (0.0,), front: Sequence[tuple[str, Any]] = ()) -> bytes:
    """Return a network of one layer, with elementwise nodes in front."""
    nodes, tensors, value = [], [floats("w", weight), floats("b", bias)], "x"
    for k, (operator, constant) in enumerate(front):
        nodes.append(node(operator, [value, f"c{k}"], [f"v{k}"], name=f"{operator}{k}"))
        tensors.append(floats(f"c{k}", constant))
        value = f"v{k}"
    return encoded([*nodes, node("Gemm", [value, "w", "b"], ["y"], name="dense", transB=1)], tensors, shape=(1, np.shape(weight)[1]))


HALF = Fraction(1, 8192)


def test_ties_are_to_even_and_near_ties_to_the_nearest() -> None:
    steps = np.arange(-9, 10, dtype=np.float64)
    weight = (steps / 8192)[None].repeat(2, 0)
    plain = convert(dense(weight, [0.0, 0.0]), Settings())
    assert plain.model.weights[0][0].tolist() == [round(Fraction(int(s), 2)) for s in steps] and plain.rounding == HALF
    third = convert(dense(weight * 3, [0.0, 0.0]), Settings(scale=(Fraction(3),)))  # the same values, by a ratio that binary64 rounds
    assert all(np.array_equal(a, b) for a, b in zip(plain.model.weights, third.model.weights, strict=True)) and third.rounding == HALF
    assert 49 * float(Fraction(1, 49)) < 1  # so binary64 takes each of these ties for less
    below = convert(dense(weight * 49, [0.0, 0.0]), Settings(scale=(Fraction(49),)))
    assert all(np.array_equal(a, b) for a, b in zip(plain.model.weights, below.model.weights, strict=True)) and below.rounding == HALF
    for odd in (1, 3, 5, 7):
        at = convert(dense([[49 * odd / 8192]], [0.0]), Settings(offset=(Fraction(1, 49),), lower=(Fraction(1, 2),)))
        assert at.model.biases[0].tolist() == [round(Fraction(odd, 2))]
    by = Fraction(3, 1 << 60)
    for more in (Fraction(0), by, -by):  # less than binary64 tells
        found = convert(dense(weight * 3, [0.0, 0.0]), Settings(scale=(3 / (1 + more),)))
        assert found.model.weights[0][0].tolist() == [round(Fraction(int(s), 2) * (1 + more)) for s in steps]
        at = convert(dense([[1.0, 1.0, 1.0]], [0.0]), Settings(offset=((HALF + more - 1) / 3,), lower=(Fraction(1),), upper=(Fraction(2),)))
        assert at.model.biases[0].tolist() == [round((HALF + more - 1) * 4096)]


def test_the_map_of_the_file_becomes_the_map_of_the_inputs() -> None:
    data = dense([[1.0, -2.0], [0.5, 0.25]], [0.0, 1.0], [("Sub", [18.0, 250.0]), ("Div", [57.0, 19750.0])])
    made = convert(data, Settings(lower=(Fraction(18), Fraction(250)), upper=(Fraction(75), Fraction(20000))))
    assert made.policy.inputs == InputMap((Fraction(18), Fraction(250)), (Fraction(1, 57), Fraction(1, 19750)), (Fraction(18), Fraction(250)),
                                          (Fraction(75), Fraction(20000)))
    assert made.model.weights[0].tolist() == [[4096, -8192], [2048, 1024]] and made.model.biases[0].tolist() == [0, 4096] and made.rounding == 0
    operators = [item.operator for item in read_graph(quantised_onnx(made)).nodes]
    assert operators == ["Sub", "Div", "Gemm"]
    mirrored = convert(dense([[1.0]], [0.0], [("Mul", [-0.5])]), Settings())  # weights have the sign, scales are positive
    assert mirrored.policy.inputs.scale == (Fraction(1, 2),) and mirrored.model.weights[0].tolist() == [[-4096]]
    assert [item.operator for item in read_graph(quantised_onnx(mirrored)).nodes] == ["Gemm"]
    deaf = convert(dense([[1.0]], [0.5], [("Mul", [0.0])]), Settings())
    assert deaf.policy.inputs.scale == (Fraction(1),) and deaf.model.weights[0].tolist() == [[0]] and deaf.model.biases[0].tolist() == [2048]


def test_a_bias_of_more_bits_than_float32_has_is_added_in_two() -> None:
    settings = Settings(bias_bits=32, scales={"bias_scale": 24, "total_scale": 24}, lower=(Fraction(-3),), upper=(Fraction(1),))
    made = convert(dense([[1.0 + 2.0**-20]], [2.0**-24]), settings)
    assert made.model.biases[0].tolist() == [round(Fraction(-3) * (1 + Fraction(1, 1 << 20)) * (1 << 24)) + 1]
    data = quantised_onnx(made)
    assert [item.operator for item in read_graph(data).nodes] == ["Sub", "Gemm", "Add"]
    assert interpreted(data, [Fraction(1, 7)]) == values(made.policy, made.model, mapped(made.policy.inputs, [Fraction(1, 7)]))[-1]


def test_names_and_shapes_are_those_of_the_file() -> None:
    nodes = [node("Gemm", ["q.in", "w", "b"], ["z"], name="dense"), node("Reshape", ["z", "s"], ["q.dense1.out"], name="shaped")]
    data = encoded(nodes, [floats("w", np.eye(2)), floats("b", [0.0, 1.0]), integers("s", [2, 1])], inputs=[info("q.in", (1, 2))],
                   outputs=[info("q.dense1.out", (2, 1))])
    made = convert(data, Settings())
    assert made.interface == conversion.Interface("q.in", (1, 2), "q.dense1.out", (2, 1))
    assert run(quantised_onnx(made), [Fraction(1), Fraction(2)], (1, 2)).tolist() == [1.0, 3.0]
    assert convert(quantised_onnx(made), Settings()).interface == made.interface


def chain(*operators: str) -> bytes:
    """Return a network of square layers and elementwise nodes, in this order."""
    nodes, value = [], "x"
    for index, operator in enumerate(operators):
        others = {"Gemm": ["w", "b"], "MatMul": ["w"], "Relu": [], "Flatten": []}.get(operator, ["b"])
        last = "y" if index == len(operators) - 1 else f"v{index}"
        nodes.append(node(operator, [value, *others], [last], name=f"n{index}"))
        value = last
    return encoded(nodes, [floats("w", np.eye(2) / 2), floats("b", [0.5, 0.25])], shape=(1, 2))


def test_what_is_added_to_a_biased_product_joins_its_bias() -> None:
    assert convert(chain("Gemm", "Add", "Sub"), Settings()).model.biases[0].tolist() == [2048, 1024]
    nodes = [node("Gemm", ["x", "w", "b"], ["z"]), node("Sub", ["b", "z"], ["y"])]
    flipped = convert(encoded(nodes, [floats("w", np.eye(2)), floats("b", [0.5, 0.25])], shape=(1, 2)), Settings())
    assert flipped.model.weights[0].tolist() == [[-4096, 0], [0, -4096]] and flipped.model.biases[0].tolist() == [0, 0]


def test_nodes_that_do_not_lead_to_the_output_are_no_part_of_the_chain() -> None:
    nodes = [node("Relu", ["x"], ["idle"], name="idle"), node("Add", ["x", "b"], ["other"]), node("Sub", ["x", "b"], ["v"]),
             node("Gemm", ["v", "w", "b"], ["y"])]
    made = convert(encoded(nodes, [floats("w", np.eye(2)), floats("b", [0.5, 0.25])], shape=(1, 2)), Settings())
    assert made.model.biases[0].tolist() == [0, 0]


@pytest.mark.parametrize(("operators", "named"), [
    (("Gemm", "Gemm"), "n1 (Gemm)"), (("MatMul", "Add", "Flatten", "MatMul"), "n3 (MatMul)"), (("Relu", "Gemm"), "n0 (Relu)"),
    (("Gemm", "Relu", "Relu", "Gemm"), "n2 (Relu)"), (("Gemm", "Mul", "Relu", "Gemm"), "n1 (Mul)"), (("Gemm", "Relu", "Div", "Gemm"), "n2 (Div)"),
    (("Gemm", "Relu", "Sub", "Gemm"), "n2 (Sub)"), (("Gemm", "Relu"), "y"), (("Add", "Sub"), "Graph"), (("Flatten",), "Graph"),
    (("Gemm", "Div"), "n1 (Div)"),
])
def test_nodes_in_no_order_of_a_chain_are_named(operators: tuple[str, ...], named: str) -> None:
    with pytest.raises(Declined) as trouble:
        convert(chain(*operators), Settings())
    assert trouble.value.code == "onnx-graph" and trouble.value.where.endswith(named) and trouble.value.fix


@pytest.mark.parametrize(("nodes", "code", "named"), [
    ([node("Sigmoid", ["x"], ["y"], name="squash")], "onnx-operator", "squash"),
    ([node("Softmax", ["x"], ["y"], name="soft")], "onnx-operator", "soft"),
    ([node("Conv", ["x", "w"], ["y"], name="conv")], "onnx-graph", "conv"),
    ([node("MaxPool", ["x"], ["y"], name="pool")], "onnx-operator", "pool"),
    ([node("Div", ["b", "x"], ["v"], name="inverse"), node("Gemm", ["v", "w", "b"], ["y"])], "onnx-graph", "inverse"),
    ([node("Mul", ["x", "x"], ["v"], name="square"), node("Gemm", ["v", "w", "b"], ["y"])], "onnx-graph", "square"),
    ([node("Mul", ["x"], ["v"], name="lone"), node("Gemm", ["v", "w", "b"], ["y"])], "onnx-graph", "lone"),
    ([node("Div", ["x", "zero"], ["v"], name="nothing"), node("Gemm", ["v", "w", "b"], ["y"])], "onnx-graph", "nothing"),
    ([node("Mul", ["x", "wide"], ["v"], name="wide"), node("Gemm", ["v", "w", "b"], ["y"])], "onnx-graph", "wide"),
    ([node("Gemm", ["x", "w", "b"], ["z"]), node("Add", ["z", "x"], ["y"], name="skip")], "onnx-operator", "skip"),
    ([node("Gemm", ["x", "nan", "b"], ["y"])], "onnx-tensor", "nan"),
])
def test_other_operators_are_named(nodes: list[NodeProto], code: str, named: str) -> None:
    tensors = [floats("w", np.eye(2)), floats("b", [0.5, 0.25]), floats("zero", [0.0, 1.0]), floats("wide", np.ones((3, 2)))]
    tensors += [floats("nan", [[1.0, np.nan], [0.0, 1.0]])] if named == "nan" else []
    with pytest.raises(Declined) as trouble:
        convert(encoded(nodes, tensors, shape=(1, 2)), Settings())
    assert trouble.value.code == code and named in trouble.value.where


def deep(hidden: int) -> bytes:
    """Return a network of this many hidden layers of one neuron."""
    nodes, value = [], "x"
    for k in range(hidden):
        nodes += [node("Gemm", [value, "w", "b"], [f"z{k}"]), node("Relu", [f"z{k}"], [f"h{k}"])]
        value = f"h{k}"
    return encoded([*nodes, node("Gemm", [value, "w", "b"], ["y"])], [floats("w", [[1.0]]), floats("b", [0.0])], shape=(1, 1))


def test_limits_of_what_can_be_committed(monkeypatch: pytest.MonkeyPatch) -> None:
    def code(data: bytes, settings: Settings | None = None) -> str:
        try:
            convert(data, settings or Settings())
        except CertifyError as trouble:
            return f"{trouble.code} {trouble.where}"
        return ""
    most = float(np.float32(65535 / 4096))
    assert code(dense([[most], [-most]], [0.0, 0.0])) == ""
    assert code(dense([[0.0], [-16.0]], [0.0, 0.0])) == code(dense([[np.float32(16 - 2.0**-14)]])) == "onnx-weight-range layer 1"
    assert code(dense([[1.0]]), Settings(scale=(Fraction(1, 17),))) == "onnx-weight-range layer 1"
    assert code(dense([[16.0]]), Settings(scales={"weight_scale": 11})) == ""
    assert code(dense([[1.0]], [2047.0])) == "" and code(dense([[1.0]], [2048.0])) == "onnx-weight-range layer 1"
    assert code(dense([[1.0]], [-2048.0]), Settings(bias_bits=25)) == ""
    tiny = Settings(scale=(Fraction(1, 10**99),), upper=(Fraction(10**99),))
    huge = [("Mul", [1e38]), ("Mul", [1e38])]
    assert code(dense([[0.0]], [0.0], huge), tiny) == "onnx-weight-range layer 1"
    assert code(deep(64)) == "" and code(deep(65)) == "onnx-weight-range Graph"
    monkeypatch.setattr(conversion, "MOST_PARAMETERS", 129)
    assert code(deep(64)) == "onnx-weight-range Graph"
    monkeypatch.setattr(conversion, "MOST_PARAMETERS", 130)
    monkeypatch.setattr(conversion, "MOST_SIZE", 1)
    assert code(deep(64)) == "" and code(dense(np.zeros((2, 1)), [0.0, 0.0])) == "onnx-weight-range Graph"


@pytest.mark.parametrize("name", ["offset", "scale", "lower", "upper"])
def test_a_list_of_another_length_than_the_inputs(name: str) -> None:
    settings = replace(Settings(), **{name: (Fraction(1), Fraction(2), Fraction(3))})
    with pytest.raises(UsageError) as trouble:
        convert(dense([[1.0, 2.0]], [0.0]), settings)
    assert trouble.value.code == "policy-file" and trouble.value.where == f"key input.{name}"


def test_a_map_that_float32_does_not_hold_is_refused() -> None:
    def written(**settings: Any) -> Converted | str:
        made = convert(dense([[1.0]], [0.0]), Settings(**settings))
        try:
            quantised_onnx(made)
        except UsageError as trouble:
            return trouble.code
        return made
    assert isinstance(written(offset=(Fraction(-1, 10),)), Converted)
    assert isinstance(written(scale=(Fraction((1 << 24) - 1, 1 << 25),)), Converted)
    deaf = convert(dense([[0.0]], [0.0]), Settings(offset=(Fraction(-10**60),), scale=(Fraction(1, 10**60),)))
    with pytest.raises(UsageError, match="policy-file"):
        quantised_onnx(deaf)
    assert written(scale=(Fraction((1 << 25) + 1, 1 << 25),)) == written(offset=(Fraction(-1, (1 << 25) + 1),)) == "policy-file"
    steep = convert(dense([[2.0**-70]], [0.0], [("Mul", [2.0**100])] * 2), Settings(scale=(Fraction(1 << 127),), upper=(Fraction(1, 1 << 127),)))
    assert steep.model.weights[0].tolist() == [[8 * 4096]]
    with pytest.raises(UsageError, match="policy-file"):
        quantised_onnx(steep)  # its slope in the units of the file is 2^130


def test_the_offset_is_a_float32_number_below_a_lower_end_that_is_none() -> None:
    settings = Settings(lower=(Fraction(7, 10), Fraction(-1, 3)), upper=(Fraction(3), Fraction(1)))
    made = convert(dense([[1.0, -2.0]], [0.5]), settings)
    for offset, lower in zip(made.policy.inputs.offset, settings.lower, strict=True):
        assert Fraction(float(np.float32(float(offset)))) == offset < lower and lower - offset < Fraction(1, 1 << 23)
    assert quantised_onnx(made)
    exact = Settings(lower=(Fraction(1, 4), Fraction(-2)), upper=(Fraction(3), Fraction(1)))
    assert convert(dense([[1.0, -2.0]], [0.5]), exact).policy.inputs.offset == exact.lower
