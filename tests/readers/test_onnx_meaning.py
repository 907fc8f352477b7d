# SPDX-License-Identifier: Apache-2.0
"""What the ONNX reader understands is what the file says: against onnxruntime, and exactly against a second evaluator on the protobuf."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import cache
from itertools import permutations, product
from math import prod
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from google.protobuf.message import DecodeError
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

from certify.errors import Declined
from certify.limits import Limits
from certify.readers.network import Network
from certify.readers.onnx_ops import read_network as read_within
from certify.rules.evaluation import evaluate
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
    model,
    node,
    perceptron,
    raw_model,
    raw_tensor,
    typed,
    varint,
    with_other,
)

Exact = np.ndarray[Any, Any]
OPSETS = range(7, 29)
OPERATORS = ("gemm", "matmul_right", "matmul_left", "add", "sub", "sub_from", "relu", "flatten", "reshape", "identity", "dropout", "squeeze",
             "unsqueeze")
INPUT_SHAPES: tuple[tuple[int | str | None, ...], ...] = (
    (5,), (1, 4), (1, 6), ("N", 3), (None, 4), (1, 2, 3), ("batch", 1, 4), (1, 2, 1, 2), (1, 1), (1,), ("unk__6", 3), (None, 1, 1, 2))


def read_network(data: bytes) -> Network:
    """Return the network in the bytes of a model, under the usual limits."""
    return read_within(data, Limits())


class Definition:
    """The ONNX operators, written from their documentation, over arrays of rationals; tensors are computed when they are asked for.

    With `absolute`, every number is replaced by its size and every difference by a sum, which bounds all that a float32 run can round.
    """

    def __init__(self, made: ModelProto, absolute: bool = False) -> None:
        self.made, self.absolute = made, absolute
        self.nodes = {name: item for item in made.graph.node for name in item.output if name}
        self.stored = {tensor.name: tensor for tensor in made.graph.initializer}
        self.free, = (value for value in made.graph.input if value.name not in self.stored)
        dims = self.free.type.tensor_type.shape.dim
        self.shape = tuple(dim.dim_value or 1 for dim in dims)  # an unknown size, also one written as 0, is a batch of 1

    def output(self, point: Sequence[Fraction]) -> list[Fraction]:
        """Return the flattened output at a flattened input."""
        self.known: dict[str, Exact] = {self.free.name: self.sized(np.array(list(point), object).reshape(self.shape))}
        return list(self.value(self.made.graph.output[0].name).reshape(-1))

    def sized(self, values: Exact) -> Exact:
        return _each(abs, values) if self.absolute else values

    def constant(self, tensor: TensorProto) -> Exact:
        array = numpy_helper.to_array(tensor)
        return self.sized(_each(Fraction, array.astype(object))) if array.dtype == np.float32 else array

    def value(self, name: str) -> Exact:
        if name not in self.known:
            made = self.constant(self.stored[name]) if name in self.stored else self.computed(self.nodes[name])
            self.known[name] = made if isinstance(made, np.ndarray) else np.array(made, object)
        return self.known[name]

    def computed(self, item: NodeProto) -> Any:
        given = {attribute.name: helper.get_attribute_value(attribute) for attribute in item.attribute}
        names = [*item.input, "", "", ""]
        if item.op_type == "Constant":
            (label, value), = given.items()
            if label == "value":
                return self.constant(value)
            return self.sized(_each(Fraction, np.array(value, object))) if "float" in label else np.array(value, np.int64)
        data = self.value(names[0])
        second = self.value(names[1]) if names[1] and item.op_type != "Dropout" else None
        if item.op_type == "Gemm":
            left, right = data.T if given.get("transA") else data, second.T if given.get("transB") else second
            alpha, beta = (self.sized(np.array(Fraction(given.get(label, 1.0)), object)) for label in ("alpha", "beta"))
            result = alpha * np.matmul(left, right)
            if names[2]:
                added = beta * self.value(names[2])
                assert np.broadcast_shapes(np.shape(added), result.shape) == result.shape
                result = result + added
            return result
        if item.op_type == "MatMul":
            return np.matmul(data, second)
        if item.op_type == "Add" or (item.op_type == "Sub" and self.absolute):
            return data + second
        if item.op_type == "Sub":
            return data - second
        if item.op_type == "Relu":
            return data if self.absolute else _each(lambda number: number if number > 0 else Fraction(0), data)
        if item.op_type == "Flatten":
            axis = given.get("axis", 1)
            axis = axis + data.ndim if axis < 0 else axis
            return data.reshape(prod(data.shape[:axis]), prod(data.shape[axis:]))
        if item.op_type == "Reshape":
            sizes = second.tolist()
            if not given.get("allowzero"):
                sizes = [size if size != 0 else data.shape[place] for place, size in enumerate(sizes)]
            return data.reshape(sizes)
        if item.op_type in ("Identity", "Dropout"):
            return data
        axes = given.get("axes") if second is None else second.tolist()
        if item.op_type == "Squeeze":
            return np.squeeze(data) if axes is None else np.squeeze(data, axis=tuple({axis % data.ndim for axis in axes}))
        assert item.op_type == "Unsqueeze"
        return np.expand_dims(data, tuple(axes))


def _each(change: Callable[[Any], Any], values: Exact) -> Exact:
    return np.array([change(number) for number in values.reshape(-1)], object).reshape(values.shape)


@cache
def newest_opset() -> int:
    """Return the newest operator set that the installed onnxruntime loads."""
    for opset in reversed(OPSETS):
        try:
            session(encoded([node("Relu", ["x"], ["y"])], opset=opset))
        except Exception:  # noqa: S112  (onnxruntime raises classes of its own)
            continue
        return opset
    return 0


def session(data: bytes) -> onnxruntime.InferenceSession:
    """Return an onnxruntime session of one thread without graph rewrites."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])


def agree(made: ModelProto, rng: np.random.Generator, run: bool = True) -> Network:
    """Assert that certify reads `made` as its definition and, if `run`, as onnxruntime; returns the network."""
    data = made.SerializeToString()
    network = read_network(data)
    definition = Definition(made)
    values = rng.standard_normal(prod(definition.shape)).astype(np.float32)
    exact_point = [Fraction(float(value)) for value in values]
    expected = definition.output(exact_point)
    assert network.input_shape == definition.shape
    assert (network.inputs, network.outputs) == (len(exact_point), len(expected))
    assert list(evaluate(network, exact_point, Limits())) == expected
    if run:
        sizes = Definition(made, absolute=True).output(exact_point)
        found, = session(data).run(None, {definition.free.name: values.reshape(definition.shape)})
        assert found.size == len(expected)
        for value, exact, size in zip(found.reshape(-1).tolist(), expected, sizes, strict=True):
            assert abs(Fraction(value) - exact) <= size / 50_000
    return network


class Maker:
    """A random chain of operators under construction."""

    def __init__(self, rng: np.random.Generator, opset: int, wild: bool = False) -> None:
        self.rng, self.opset, self.wild = rng, opset, wild
        self.nodes: list[NodeProto] = []
        self.tensors: list[TensorProto] = []
        self.name, self.count = "x", 0
        self.declared: Sequence[int | str | None] = self.pick(INPUT_SHAPES)
        self.shape: tuple[int, ...] = tuple(size if isinstance(size, int) else 1 for size in self.declared)

    def pick(self, choices: Sequence[Any]) -> Any:
        return choices[int(self.rng.integers(len(choices)))]

    def coin(self) -> bool:
        return bool(self.rng.integers(2))

    def fresh(self) -> str:
        self.count += 1
        return f"t{self.count}"

    def emit(self, operator: str, inputs: Sequence[str], shape: Sequence[int], extra: Sequence[str] = (), **attributes: Any) -> None:
        self.name, self.shape = self.fresh(), tuple(shape)
        self.nodes.append(node(operator, inputs, [self.name, *extra], **attributes))

    def numbers(self, shape: Sequence[int]) -> Exact:
        """Return random float32 numbers; wild ones have any exponent, or are zeros of either sign."""
        if not self.wild:
            return self.rng.standard_normal(shape).astype(np.float32)
        values = self.rng.standard_normal(shape) * np.exp2(self.rng.integers(-150, 125, shape).astype(np.float64))
        return np.asarray(np.where(self.rng.random(shape) < 0.2, -0.0, values), np.float32).reshape(shape)

    def number(self) -> float:
        return float(self.pick([0.0, 1.0, -1.0, 0.5, float(self.numbers(()))]))

    def constant(self, values: Any, dtype: Any = np.float32) -> str:
        """Write a constant in one of its forms, and return its name."""
        array, name = np.array(values, dtype), self.fresh()
        forms = ["raw", "list"] if self.opset < 9 and dtype != np.float32 else ["raw", "list", "value", "value list"]
        if self.opset >= 12 and array.ndim < 2 and dtype != np.bool_:
            forms += ["attribute"] * 2
        form = self.pick(forms)
        kind = helper.np_dtype_to_tensor_dtype(array.dtype)
        stored = (numpy_helper.from_array(array, name) if form in ("raw", "value") else
                  helper.make_tensor(name, kind, array.shape, array.reshape(-1).tolist()))
        if form in ("raw", "list"):
            self.tensors.append(stored)
        elif form == "attribute":
            word = ("value_float" if dtype == np.float32 else "value_int") + ("s" if array.ndim else "")
            self.nodes.append(helper.make_node("Constant", [], [name]))
            kinds = {"value_float": onnx.AttributeProto.FLOAT, "value_int": onnx.AttributeProto.INT, "value_floats": onnx.AttributeProto.FLOATS,
                     "value_ints": onnx.AttributeProto.INTS}
            self.nodes[-1].attribute.append(helper.make_attribute(word, array.tolist(), attr_type=kinds[word]))
        else:
            self.nodes.append(node("Constant", [], [name], value=stored))
        return name

    def need(self, shapes: Sequence[Sequence[int]]) -> None:
        """Reshape to one of the shapes, unless it is one already."""
        if self.shape not in [tuple(shape) for shape in shapes]:
            shape = self.pick(shapes)
            self.emit("Reshape", [self.name, self.constant(shape, np.int64)], shape)

    # The operators of stage 1, each in all its forms.

    def gemm(self) -> None:
        inner, outputs, turned, given = prod(self.shape), int(self.rng.integers(1, 6)), self.coin(), self.coin()
        self.need([(inner, 1)] if turned else [(1, inner)])
        inputs = [self.name, self.constant(self.numbers((outputs, inner) if given else (inner, outputs)))]
        offsets: list[Sequence[int] | None] = [(), (1,), (outputs,), (1, 1), (1, outputs)]
        offset = self.pick([*offsets, None, None] if self.opset >= 11 else offsets)
        if offset is not None:
            inputs.append(self.constant(self.numbers(offset)))
        elif self.coin():
            inputs.append("")
        attributes: dict[str, Any] = {label: self.number() for label in ("alpha", "beta") if self.coin()}
        attributes |= {label: int(on) for label, on in (("transA", turned), ("transB", given)) if on or self.coin()}
        self.emit("Gemm", inputs, (1, outputs), **attributes)

    def matmul_right(self) -> None:
        inner = prod(self.shape)
        self.need([(inner,), (1, inner), (1, 1, inner)])
        weight = self.pick([(inner,), (inner, 1), (inner, 3), (inner, 5)])
        self.emit("MatMul", [self.name, self.constant(self.numbers(weight))], self.shape[:-1] + weight[1:])

    def matmul_left(self) -> None:
        inner = prod(self.shape)
        self.need([(inner,), (inner, 1), (1, inner, 1)])
        weight = self.pick([(inner,), (1, inner), (3, inner), (5, inner)])
        column = 0 if len(self.shape) == 1 else len(self.shape) - 2
        self.emit("MatMul", [self.constant(self.numbers(weight)), self.name], self.shape[:column] + weight[:-1] + self.shape[column + 1 :])

    def added(self) -> tuple[str, tuple[int, ...]]:
        """Return a constant that broadcasts to the value, or the value to it by sizes of 1; and the shape of the result."""
        shape = [size if self.coin() else 1 for size in self.shape]
        shape = shape[int(self.rng.integers(len(shape) + 1)) :] if self.coin() else [1] * int(self.rng.integers(5 - len(shape))) + shape
        if not shape and not self.shape:
            shape = [1]
        return self.constant(self.numbers(shape)), np.broadcast_shapes(shape, self.shape)

    def add(self) -> None:
        constant, shape = self.added()
        self.emit("Add", [self.name, constant] if self.coin() else [constant, self.name], shape)

    def sub(self) -> None:
        constant, shape = self.added()
        self.emit("Sub", [self.name, constant], shape)

    def sub_from(self) -> None:
        constant, shape = self.added()
        self.emit("Sub", [constant, self.name], shape)

    def relu(self) -> None:
        self.emit("Relu", [self.name], self.shape)

    def identity(self) -> None:
        self.emit("Identity", [self.name], self.shape)

    def flatten(self) -> None:
        rank = len(self.shape)
        axis = int(self.rng.integers(-rank if self.opset >= 11 else 0, rank + 1))
        place = axis + rank if axis < 0 else axis
        given = {} if axis == 1 and self.coin() else {"axis": axis}
        self.emit("Flatten", [self.name], (prod(self.shape[:place]), prod(self.shape[place:])), **given)

    def reshape(self) -> None:
        total = prod(self.shape)
        shape: list[int] = []
        while total > 1 and len(shape) < 3:
            shape.append(self.pick([size for size in range(1, total + 1) if total % size == 0]))
            total //= shape[-1]
        shape.append(total)
        shape += [1] * int(self.rng.integers(2))
        written = list(shape)
        if self.coin():
            written[int(self.rng.integers(len(written)))] = -1
        attributes = {"allowzero": int(self.coin())} if self.opset >= 14 and self.coin() else {}
        if not attributes.get("allowzero"):
            kept = [place < len(self.shape) and self.shape[place] == size and self.coin() for place, size in enumerate(shape)]
            written = [0 if keep else size for keep, size in zip(kept, written, strict=True)]
        self.emit("Reshape", [self.name, self.constant(written, np.int64)], shape, **attributes)

    def dropout(self) -> None:
        inputs, attributes = [self.name], {}
        if self.opset < 12:
            attributes = {"ratio": 0.25} if self.coin() else {}
        elif self.coin():
            inputs.append(self.constant(0.25) if self.coin() else "")
            if self.coin():
                inputs.append(self.constant(False, np.bool_) if self.coin() else "")
            attributes = {"seed": 7} if self.coin() else {}
        self.emit("Dropout", inputs, self.shape, [self.fresh()] if self.coin() else [], **attributes)

    def axes(self, operator: str, axes: Sequence[int], shape: Sequence[int]) -> None:
        given = list(axes)
        if self.opset >= 11:  # earlier, the onnx package expects them in order
            self.rng.shuffle(given)
        if self.opset >= 13:
            self.emit(operator, [self.name, self.constant(given, np.int64)], shape)
        else:
            self.emit(operator, [self.name], shape, axes=given)

    def squeeze(self) -> None:
        ones = [place for place, size in enumerate(self.shape) if size == 1]
        if self.coin() or not ones:
            self.emit("Squeeze", [self.name], [size for size in self.shape if size != 1])
            return
        gone = [place for place in ones if self.coin()] or ones[:1]
        shape = [size for place, size in enumerate(self.shape) if place not in gone]
        rank = len(self.shape)
        self.axes("Squeeze", [place - rank if self.opset >= 11 and self.coin() else place for place in gone], shape)

    def unsqueeze(self) -> None:
        count = int(self.rng.integers(1, 3))
        rank = len(self.shape) + count
        new = sorted(self.rng.choice(rank, count, replace=False).tolist())
        sizes = iter(self.shape)
        shape = [1 if place in new else next(sizes) for place in range(rank)]
        self.axes("Unsqueeze", [place - rank if self.opset >= 11 and self.coin() else place for place in new], shape)

    def step(self, operator: str) -> None:
        """Append an operator, behind a Reshape where the rank or the size would grow too large."""
        if len(self.shape) > 4 or prod(self.shape) > 12:
            self.need([(1, prod(self.shape))])
        getattr(self, operator)()

    def model(self) -> ModelProto:
        made = model(self.nodes, self.tensors, shape=self.declared, opset=self.opset, outputs=[info(self.name, self.shape)])
        onnx.checker.check_model(made, full_check=True)
        return made


def chain(rng: np.random.Generator, opset: int, among: str, wild: bool = False) -> ModelProto:
    """Return a random chain of two to six operators, one of them `among`."""
    maker = Maker(rng, opset, wild)
    steps = [maker.pick(OPERATORS) for _ in range(int(rng.integers(1, 6)))]
    steps.insert(int(rng.integers(len(steps) + 1)), among)
    for step in steps:
        maker.step(step)
    return maker.model()


@pytest.mark.parametrize("opset", OPSETS)
@pytest.mark.parametrize("operator", OPERATORS)
def test_random_chains_mean_what_they_say(operator: str, opset: int) -> None:
    rng = np.random.default_rng([OPERATORS.index(operator), opset])
    for _ in range(3):
        network = agree(chain(rng, opset, operator), rng, run=opset <= newest_opset())
        assert network.inputs > 0


@pytest.mark.parametrize("opset", OPSETS)
def test_constants_of_every_size_are_exact(opset: int) -> None:
    rng = np.random.default_rng([1, opset])
    for operator in OPERATORS:
        network = agree(chain(rng, opset, operator, wild=True), rng, run=False)
        assert network.outputs > 0


@pytest.mark.parametrize("given", (0, 1))
@pytest.mark.parametrize("turned", (0, 1))
@pytest.mark.parametrize("offset", (None, (), (1,), (4,), (1, 1), (1, 4)))
def test_gemm_in_every_form(offset: tuple[int, ...] | None, turned: int, given: int) -> None:
    rng = np.random.default_rng([2, turned, given])
    weight = floats("w", rng.standard_normal((4, 3) if given else (3, 4)))
    tensors = [weight] if offset is None else [weight, floats("c", rng.standard_normal(offset))]
    for alpha, beta in product((None, 1.0, 0.0, -0.3, 1e-30), (None, 1.0, 0.0, 0.7, 3e30)):
        attributes = {label: value for label, value in (("alpha", alpha), ("beta", beta)) if value is not None}
        gemm = node("Gemm", ["r", "w"] + ["c"] * (offset is not None), ["y"], transA=turned, transB=given, **attributes)
        reshape = node("Reshape", ["x", "s"], ["r"])
        network = agree(model([reshape, gemm], [*tensors, integers("s", [3, 1] if turned else [1, 3])], outputs=[info("y", (1, 4))]), rng)
        assert network.outputs == 4


@pytest.mark.parametrize("shape", ((6,), (1, 6), (1, 2, 3), (1, 3, 1, 2), (1, 1, 2, 1, 3)))
def test_flatten_at_every_axis(shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(3)
    for axis in (None, *range(-len(shape), len(shape) + 1)):
        place = 1 if axis is None else axis % len(shape) if axis < 0 else axis
        sizes = prod(shape[:place]), prod(shape[place:])
        for row in ((sizes[1],), (sizes[0], 1), sizes):  # the sum shows which sizes the flattened tensor has
            made = model([node("Flatten", ["x"], ["f"], **({} if axis is None else {"axis": axis})), node("Add", ["f", "c"], ["y"])],
                         [floats("c", rng.standard_normal(row))], shape=shape, outputs=[info("y", sizes)])
            assert agree(made, rng).outputs == 6


@pytest.mark.parametrize(("shape", "target", "result", "allowzero"), (
    ((1, 2, 3), [6], (6,), None), ((1, 2, 3), [-1], (6,), None), ((1, 2, 3), [0, -1], (1, 6), None), ((1, 2, 3), [0, 0, 0], (1, 2, 3), 0),
    ((1, 2, 3), [2, -1, 1], (2, 3, 1), 1), ((1, 2, 3), [3, 2], (3, 2), 1), ((1, 2, 3), [-1, 0], (3, 2), 0), ((1, 2, 3), [1, -1, 0], (1, 2, 3), None),
    ((1, 4), [2, 2], (2, 2), None), ((4,), [0], (4,), None), ((4,), [0, 1, -1], (4, 1, 1), None), ((1, 1), [], (), None),
    ((1,), [1, 1, 1], (1, 1, 1), 1),
))
def test_reshape_reads_zero_and_minus_one(shape: tuple[int, ...], target: list[int], result: tuple[int, ...], allowzero: int | None) -> None:
    rng = np.random.default_rng(4)
    reshape = node("Reshape", ["x", "s"], ["r"], **({} if allowzero is None else {"allowzero": allowzero}))
    for row in {result, result[1:], (*result[:-1], 1) if result else (1,)} - {()}:
        made = model([reshape, node("Add", ["r", "c"], ["y"])], [integers("s", target), floats("c", rng.standard_normal(row))], shape=shape, opset=14,
                     outputs=[info("y", np.broadcast_shapes(result, row))])
        assert agree(made, rng).outputs == prod(shape)


@pytest.mark.parametrize("opset", (7, 11, 13, 21, 28))
@pytest.mark.parametrize("operator", ("Squeeze", "Unsqueeze"))
def test_squeeze_and_unsqueeze_at_every_axis(operator: str, opset: int) -> None:
    rng = np.random.default_rng(5)
    shape = (1, 2, 1, 3, 1) if operator == "Squeeze" else (2, 3)
    allowed = [0, 2, 4] if operator == "Squeeze" else range(4)
    tried = 0
    for axes in (list(chosen) for count in ((1, 2, 3) if operator == "Squeeze" else (2,)) for chosen in permutations(allowed, count)):
        rank = 5 if operator == "Squeeze" else 4
        written = [axis - rank if opset >= 11 and rng.integers(2) else axis for axis in axes]
        result = tuple(size for place, size in enumerate(shape) if place not in axes) if operator == "Squeeze" else np.expand_dims(
            np.zeros(shape), tuple(axes)).shape
        last = node(operator, ["r", "a"], ["q"]) if opset >= 13 else node(operator, ["r"], ["q"], axes=written)
        tensors = [integers("s", shape), floats("c", rng.standard_normal([size if rng.integers(2) else 1 for size in result]))]
        made = model([node("Reshape", ["x", "s"], ["r"]), last, node("Sub", ["c", "q"], ["y"])],
                     [*tensors, integers("a", written)] if opset >= 13 else tensors, shape=(1, 6), opset=opset, outputs=[info("y", result)])
        assert agree(made, rng, run=opset <= newest_opset()).outputs == 6
        tried += 1
    assert tried >= 12


def test_a_sum_before_the_first_product_is_no_bias_of_it() -> None:
    rng = np.random.default_rng(6)
    tensors = [floats("c", [1, -2, 3]), floats("w", rng.standard_normal((3, 2))), floats("b", [0.5, 0.25])]
    for first in (["x", "c"], ["c", "x"]):
        for operator in ("Add", "Sub"):
            made = model([node(operator, first, ["s"]), node("MatMul", ["s", "w"], ["m"]), node("Add", ["b", "m"], ["y"])], tensors,
                         outputs=[info("y", (1, 2))])
            assert agree(made, rng).inputs == 3


def test_a_scalar_is_added_to_a_scalar() -> None:
    made = model([node("MatMul", ["x", "w"], ["m"]), node("Add", ["m", "c"], ["y"])], [floats("w", [1, 2, 3]), floats("c", 0.5)], shape=(3,),
                 outputs=[info("y", ())])
    assert agree(made, np.random.default_rng(7)).outputs == 1


def test_two_sums_behind_a_product_are_both_added() -> None:
    rng = np.random.default_rng(8)
    weight = floats("w", rng.standard_normal((3, 2)))
    for first, second in product(([0.0, 0.0], [1.0, 2.0]), repeat=2):
        made = model([node("MatMul", ["x", "w"], ["m"]), node("Add", ["m", "b"], ["a"]), node("Add", ["a", "c"], ["y"])],
                     [weight, floats("b", first), floats("c", second)], outputs=[info("y", (1, 2))])
        assert agree(made, rng).outputs == 2


def test_initialisers_are_also_inputs_in_any_order() -> None:
    rng = np.random.default_rng(9)
    tensors = [floats("w", rng.standard_normal((3, 2))), floats("b", rng.standard_normal(2))]
    declared = [info("w", (3, 2)), info("x", (1, 3)), info("b", (2,))]
    for inputs in permutations(declared):
        for ir_version in (3, 8):
            made = model([node("Gemm", ["x", "w", "b"], ["y"])], tensors, inputs=inputs, outputs=[info("y", (1, 2))], ir_version=ir_version)
            network = agree(made, rng)
            assert len(network.notes) == 1
            assert "2 initialisers" in network.notes[0]
    assert agree(model([node("Gemm", ["x", "w", "b"], ["y"])], tensors, inputs=declared[:2], outputs=[info("y", (1, 2))]), rng).notes
    assert not agree(model([node("Gemm", ["x", "w", "b"], ["y"])], tensors, outputs=[info("y", (1, 2))]), rng).notes


def test_an_initialiser_that_is_an_input_of_unknown_size() -> None:
    rng = np.random.default_rng(10)
    made = model([node("Gemm", ["x", "w"], ["y"])], [floats("w", rng.standard_normal((3, 2)))], inputs=[info("x", (1, 3)), info("w", ("K", 2))],
                 outputs=[info("y", (1, 2))])
    assert agree(made, rng).outputs == 2


def test_an_empty_initialiser_that_is_an_input() -> None:
    made = model([node("Relu", ["x"], ["y"])], [floats("roi", [])], inputs=[info("x", (1, 3)), info("roi", (0,))], outputs=[info("y", (1, 3))])
    onnx.checker.check_model(made, full_check=True)
    assert agree(made, np.random.default_rng(21)).outputs == 3


@pytest.mark.parametrize("ir_version", range(3, 15))
def test_ir_versions(ir_version: int) -> None:
    made = perceptron(ir_version=ir_version)
    if ir_version == 3:  # it lists all initialisers as inputs
        made.graph.input.extend(info(tensor.name, tuple(tensor.dims), tensor.data_type) for tensor in made.graph.initializer)
    assert agree(made, np.random.default_rng(11)).outputs == 2


@pytest.mark.parametrize("shape", (
    (3,), (1, 3), ("N", 3), ("BatchSize", 3), ("unk__6", 1, 3), (None, 3), (None, 3, 1), ("N", 1, 1, 3), (1, 1, 1, 1, 1, 3)))
def test_input_shapes(shape: tuple[int | str | None, ...]) -> None:
    rng = np.random.default_rng(12)
    made = model([node("Reshape", ["x", "s"], ["r"]), node("MatMul", ["r", "w"], ["y"])],
                 [integers("s", [1, -1]), floats("w", rng.standard_normal((3, 2)))], shape=shape, outputs=[info("y", (1, 2))])
    assert agree(made, rng).input_shape == tuple(size if isinstance(size, int) else 1 for size in shape)


def test_rank_one_from_input_to_output() -> None:
    rng = np.random.default_rng(13)
    made = model([node("MatMul", ["w", "x"], ["m"]), node("Add", ["b", "m"], ["a"]), node("Relu", ["a"], ["h"]), node("MatMul", ["h", "v"], ["y"])],
                 [typed("w", rng.standard_normal((4, 3))), typed("b", rng.standard_normal(4)), typed("v", rng.standard_normal((4, 2)))], shape=(3,),
                 outputs=[info("y", (2,))])
    assert agree(made, rng).outputs == 2


def test_repeated_entries_and_both_names_of_the_default_domain() -> None:
    rng = np.random.default_rng(14)
    for opsets in ([("", 13), ("", 13)], [("ai.onnx", 13)], [("", 13), ("ai.onnx", 13)], [("com.example", 3), ("", 13), ("com.example", 3)]):
        for domain in ("", "ai.onnx"):
            made = model([node("Gemm", ["x", "w"], ["h"], domain=domain), node("Relu", ["h"], ["y"])], [floats("w", rng.standard_normal((3, 2)))],
                         opsets=opsets, outputs=[info("y", (1, 2))])
            assert agree(made, rng, run=len(opsets) == 1).outputs == 2


def test_dangling_nodes_are_no_part_of_the_network() -> None:
    rng = np.random.default_rng(15)
    dangling = [node("Constant", [], ["u"], value_float=1.5), node("Add", ["x", "u"], ["v"]), node("Relu", ["y"], ["z"])]
    weight = floats("w", rng.standard_normal((3, 2)))
    for extra in ([], dangling[:1], dangling[:2], dangling):
        made = model([*extra[:2], node("MatMul", ["x", "w"], ["y"]), *extra[2:]], [weight, floats("unused", [1.0])], outputs=[info("y", (1, 2))])
        assert len(agree(made, rng).layers) == 1


def test_dangling_constants_are_reported() -> None:
    assert read_network(encoded([node("Constant", [], ["u"], value_float=1.5), node("Relu", ["x"], ["y"])])).notes


def test_omitted_inputs_have_empty_names() -> None:
    rng = np.random.default_rng(16)
    weight = floats("w", rng.standard_normal((3, 2)))
    for nodes in ([node("Gemm", ["x", "w", ""], ["y"])], [node("Squeeze", ["x", ""], ["s"]), node("MatMul", ["s", "w"], ["y"])],
                  [node("Dropout", ["x", "", ""], ["d", ""]), node("MatMul", ["d", "w"], ["y"])],
                  [node("Dropout", ["x", ""], ["d"]), node("Gemm", ["d", "w", ""], ["y"])]):
        assert agree(model(nodes, [weight], outputs=[info("y", None)]), rng, run=False).outputs == 2


def test_numbers_are_packed_or_not() -> None:
    """Protobuf lets a writer choose, value by value."""
    values = [1.0, -2.5, 3.25, 0.0, 0.1, -0.5]
    packed, single = delimited(4, np.array(values, "<f4").tobytes()), [(4, value) for value in values]
    dims, dims_packed = [(1, 2), (1, 3)], [delimited(1, varint(2) + varint(3))]
    point = [Fraction(1, 3), Fraction(-2), Fraction(5, 7)]
    expected = read_network(encode(_weighted([*dims, (2, 1), (8, "w"), (9, np.array(values, "<f4").tobytes())])))
    for shape, data in product((dims, dims_packed, [(1, 2), delimited(1, varint(3))]), ([packed], single, [*single[:2], delimited(4, packed[-16:])])):
        raw = encode(_weighted([*data, (8, "w"), (2, 1), *shape]))
        found = evaluate(read_network(raw), point, Limits())
        assert list(found) == Definition(ModelProto.FromString(raw)).output(point)
        assert found == evaluate(expected, point, Limits())


def _weighted(tensor: list[Any]) -> list[Any]:
    tree = raw_model()
    inside(tree, (7, 5))[:] = tensor
    return tree


def test_a_present_attribute_without_its_value_is_zero() -> None:
    point = [Fraction(1), Fraction(2), Fraction(4)]
    assert list(evaluate(read_network(with_other((*DENSE, 5), 2)), point, Limits())) == [1, -1]  # alpha
    plain = evaluate(read_network(with_other(DENSE, 5, [(1, "transB"), (3, 1), (20, 2)])), point, Limits())
    assert list(plain) == [18, Fraction(0)]
    cases = [with_other((*DENSE, 5), 2), with_other(DENSE, 5, [(1, "beta"), (20, 1)], [(1, "transB"), (3, 1), (20, 2)])]
    square = _weighted(raw_tensor("w", [3, 3], [float(k) for k in range(9)]))
    inside(square, CONSTANT)[3][1][1] = (5, raw_tensor("b", [3], [1.0, 2.0, 3.0]))
    inside(square, (7, 12))[:] = [(1, "y")]
    inside(square, (*DENSE, (5, 1)))[:] = [(1, "transB"), (20, 2)]
    cases.append(encode(square))
    for raw in cases:
        assert list(evaluate(read_network(raw), point, Limits())) == Definition(ModelProto.FromString(raw)).output(point)


def test_a_constant_is_the_same_in_every_form() -> None:
    rng = np.random.default_rng(17)
    values = rng.standard_normal(3).astype(np.float32)
    expected = list(evaluate(read_network(encoded([node("Add", ["x", "c"], ["y"])], [floats("c", values)])), [Fraction(0)] * 3, Limits()))
    assert expected == [Fraction(float(value)) for value in values]
    forms: dict[str, Any] = {"raw": {"value": floats("", values)}, "list": {"value": typed("", values)}, "floats": {"value_floats": values.tolist()}}
    for attributes in forms.values():
        made = model([node("Constant", [], ["c"], **attributes), node("Add", ["x", "c"], ["y"])], outputs=[info("y", (1, 3))])
        assert agree(made, rng).outputs == 3
        assert list(evaluate(read_network(made.SerializeToString()), [Fraction(0)] * 3, Limits())) == expected


def test_a_product_that_two_nodes_read_is_never_misread() -> None:
    rng = np.random.default_rng(18)
    tensors = [floats("w", rng.standard_normal((3, 2))), floats("b", [5.0, -5.0])]
    product_ = node("MatMul", ["x", "w"], ["m"])
    alias, biased, biased_alias = node("Identity", ["m"], ["i"]), node("Add", ["m", "b"], ["a"]), node("Add", ["i", "b"], ["a"])
    for nodes, output in (
        ([product_, alias, biased_alias, node("Relu", ["m"], ["out"])], "out"), ([product_, biased, node("Relu", ["m"], ["out"])], "out"),
        ([product_, node("Relu", ["m"], ["out"]), biased], "out"), ([product_, biased], "m"), ([product_, alias, biased], "i"),
        ([product_, alias, biased_alias], "m"), ([product_, biased, alias], "i"), ([product_, biased, node("Identity", ["a"], ["out"])], "out"),
        ([product_, biased, node("Sub", ["b", "m"], ["out"])], "out"), ([product_, alias, biased], "a"),
        ([product_, node("Flatten", ["m"], ["f"]), node("Add", ["f", "b"], ["a"]), node("Relu", ["f"], ["out"])], "out"),
    ):
        made = model(nodes, tensors, outputs=[info(output, (1, 2))])
        onnx.checker.check_model(made, full_check=True)
        assert agree(made, rng).outputs == 2


def tangle(rng: np.random.Generator) -> ModelProto:
    """Return a graph whose nodes read any earlier tensor, and whose output is any tensor."""
    values, nodes = ["x"], []
    tensors = [floats("w", rng.integers(-3, 4, (2, 2))), floats("b", rng.integers(-3, 4, 2)), floats("c", [[0.0, 0.0]]), integers("s", [1, 2])]
    for count in range(int(rng.integers(3, 9))):
        # Mostly the newest tensors: chains with few side branches.
        source, name = values[-1 - min(int(rng.geometric(0.6)) - 1, len(values) - 1)], f"t{count}"
        kind = ("MatMul", "Add", "Add", "Sub", "Gemm", "Relu", "Identity", "Reshape", "Dropout", "Zero")[int(rng.integers(10))]
        inputs = {"MatMul": [source, "w"], "Add": ["b", source], "Sub": [source, "b"], "Gemm": [source, "w"], "Reshape": [source, "s"],
                  "Zero": [source, "c"]}.get(kind, [source])
        nodes.append(node("Add" if kind == "Zero" else kind, inputs, [name]))
        values.append(name)
    output = values[-1] if rng.random() < 0.7 else values[int(rng.integers(1, len(values)))]
    made = model(nodes, tensors, shape=(1, 2), outputs=[info(output, (1, 2))])
    onnx.checker.check_model(made, full_check=True)
    return made


def test_random_graphs_with_branches_are_never_misread() -> None:
    rng = np.random.default_rng(19)
    branching = 0
    for _ in range(600):
        made = tangle(rng)
        assert agree(made, rng, run=False).outputs == 2
        read = [name for item in made.graph.node for name in item.input if name == "x" or name.startswith("t")]
        branching += len(set(read)) < len(read)
    assert branching > 100


def mutated(rng: np.random.Generator, data: bytes) -> bytes:
    """Return the bytes with one or more of them changed, put in or taken out."""
    changed = bytearray(data)
    for _ in range(int(rng.geometric(0.8))):
        place, byte = int(rng.integers(len(changed))), int(rng.integers(256))
        kind = int(rng.integers(5))
        if kind == 0:
            changed[place] = byte
        elif kind == 1:
            changed[place] ^= 1 << byte % 8
        elif kind == 2:
            changed[place] = (changed[place] + (1, -1, 2)[byte % 3]) % 256
        elif kind == 3:
            changed.insert(place, byte)
        else:
            del changed[place]
    return bytes(changed)


def mutants_that_are_read(seed: int, count: int) -> Iterator[tuple[bytes, Network]]:
    """Yield damaged models that are read, with what was read."""
    rng = np.random.default_rng([20, seed])
    bases = [encode(raw_model()), perceptron(7).SerializeToString(), perceptron().SerializeToString(),
             *(chain(rng, 13, operator).SerializeToString() for operator in OPERATORS)]
    for number in range(count):
        data = mutated(rng, bases[number % len(bases)])
        try:
            yield data, read_network(data)
        except Declined as error:
            assert error.code.startswith("onnx-")


def assert_that_mutants_mean_what_they_say(seed: int, count: int, least: int) -> None:
    """Assert that a damaged model is refused, or read as the onnx package and the definition read it."""
    read = 0
    for data, network in mutants_that_are_read(seed, count):
        try:
            made = ModelProto.FromString(data)
        except DecodeError:  # damaged in value_info or metadata, which certify skips
            continue
        definition = Definition(made)
        point = [Fraction(number * number - 3, 2) for number in range(network.inputs)]
        assert network.input_shape == definition.shape
        assert list(evaluate(network, point, Limits())) == definition.output(point)
        read += 1
    assert read >= least


def test_damaged_models_are_refused_or_read_as_they_stand() -> None:
    assert_that_mutants_mean_what_they_say(0, 12_000, 800)


@pytest.mark.slow
def test_many_damaged_models_are_refused_or_read_as_they_stand() -> None:
    assert_that_mutants_mean_what_they_say(1, 200_000, 13_000)
