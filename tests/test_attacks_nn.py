# SPDX-License-Identifier: Apache-2.0
"""Attacks on the checker of network claims: what holds is a test, what nobody has repaired yet an expected failure with its reason."""

from __future__ import annotations

import random
import time
import tracemalloc
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import float32_runs as runs
import random_networks as made
from certify.errors import CertifyError
from certify.limits import Limits
from certify.readers.ball import Ball
from certify.readers.formula import Part, Row, parts
from certify.readers.network import Dense, Network, Relu, Scale
from certify.readers.vnnlib2 import read_vnnlib2
from certify.rules import bounds_tree, fixed_point, relaxation
from certify.rules.fixed_point import FixedPoint
from certify.rules.float32 import Rounding
from certify.rules.relaxation import Relaxation
from certify.rules.slopes import slope_sets
from rules import bounding
from toolkit import Specimen, model, npy, refused

LINE = "(declare-const X_0 Real)(declare-const Y_0 Real)"
UNIT_BOX = LINE + "(assert (>= X_0 -1))(assert (<= X_0 1))"
F64 = {"arithmetic": "f64-gamma"}
INT = {"arithmetic": "exact-int", "fraction_bits": 64}
IDENTITY = model([([[1.0]], [0.0])])
Arrays = dict[str, np.ndarray[Any, Any]]


def _region(net: bytes, text: str, arrays: Arrays, items: dict[str, Any] | None = None, holds: bool = True, version: int = 1) -> Specimen:
    given = {"format": f"vnnlib-{version}", "semantics": "real"}
    return Specimen("region", {"model": ("m.onnx", net), "property": ("p.vnnlib", text.encode())}, given, {"holds": holds},
                    "bounds-tree" if holds else "witness", dict(F64 if items is None else items), arrays)


def _graph(nodes: list[Any], tensors: dict[str, Any], inputs: int, outputs: list[int]) -> bytes:
    graph = helper.make_graph(nodes, "net", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, inputs])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, outputs)],
                              [numpy_helper.from_array(np.asarray(value, np.float32), key) for key, value in tensors.items()])
    made_model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8, producer_name="")
    return bytes(made_model.SerializeToString(deterministic=True))


def _tree(depth: int, lower: float = -1.0, upper: float = 1.0) -> Arrays:
    """Return a full tree of splits of input 0 at midpoints."""
    tree: list[int] = []
    split_at: list[float] = []

    def grow(left: int, low: float, high: float) -> None:
        if left == 0:
            tree.append(-1 - sum(t < 0 for t in tree))
            return
        middle = (low + high) / 2
        tree.append(0)
        split_at.append(middle)
        grow(left - 1, middle, high)
        grow(left - 1, low, middle)

    grow(depth, lower, upper)
    return {"tree": np.array(tree, "<i4"), "split_at": np.array(split_at)}


def _any(*rows: str) -> str:
    return f"(assert (or {' '.join(rows)}))"


def _stays_within(memory: int, action: Callable[[Limits], object]) -> None:
    """Require that an action keeps within the memory that the limits allow, or is declined."""
    tracemalloc.start()
    try:
        action(Limits(memory=memory))
    except CertifyError as trouble:
        assert trouble.code in ("limit-reached", "unused-evidence")
    finally:
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert peak <= memory + (16 << 20)


def _is_charged(action: Callable[[Limits], object], most: float = 5.0) -> None:
    """Require that an action takes less than `most` times the time it is charged for, and 0.1 s."""
    limits = Limits()
    start = time.process_time()
    try:
        action(limits)
    except CertifyError:
        pass
    assert time.process_time() - start < 0.1 + most * limits.spent * 1e-9


def _checked(specimen: Specimen) -> Callable[[Limits], object]:
    """Return the check of a specimen with given limits, so that they can be read afterwards."""
    from certify.verification import check
    sealed, files = specimen.seal(), {role: [pair] for role, pair in specimen.files.items()}
    return lambda limits: check(sealed, "specimen", files, None, limits)


# Errors that are none of ours

@pytest.mark.parametrize("items", [F64, {"arithmetic": "exact-int", "fraction_bits": 1500}])
def test_a_margin_beyond_binary64_is_no_crash(items: dict[str, Any]) -> None:
    """g = y + 10^390 with the multiplier 5e-324 has the margin 10^390, in the units of the row."""
    arrays = {"tree": np.array([-1], "<i4"), "row": np.array([-1], "<i4"), "mix": np.array([5e-324])}
    _region(IDENTITY, UNIT_BOX + "(assert (<= Y_0 -1e390))", arrays, items).verify()


def test_huge_multipliers_at_a_first_relu_are_no_crash() -> None:
    net = _graph([helper.make_node("Relu", ["x"], ["y"])], {}, 1, [1, 1])
    text = LINE + "(assert (>= X_0 -1e60))(assert (<= X_0 1e60))(assert (<= Y_0 -1))"
    arrays = {"tree": np.array([1, -1, -2], "<i4"), "beta": np.array([1e300, 1e300])}
    refused("number-too-large", _region(net, text, arrays).verify)
    with pytest.raises(CertifyError):
        _region(net, text, arrays, INT).verify()


# Meaning and form

def test_an_output_declared_in_another_order_is_refused() -> None:
    """The network's y has the shape 3 x 2 and y[1,0] = 2; a file that declares 2 x 3 means element 3 by Y[1,0]."""
    nodes = [helper.make_node("Gemm", ["x", "w", "b"], ["h"], transB=1), helper.make_node("Constant", [], ["s"], value_ints=[3, 2]),
             helper.make_node("Reshape", ["h", "s"], ["y"])]
    net = _graph(nodes, {"w": np.zeros((6, 1)), "b": np.arange(6)}, 1, [3, 2])
    head = "(vnnlib-version <2.0>)(declare-network n (declare-input X real [1])(declare-output Y real [{}]))(assert (>= X[0] 0))(assert (<= X[0] 1))"
    unsafe = "(assert (<= Y[1,0] 2.5))"
    refused("leaf-uncovered", _region(net, head.format("3,2") + unsafe, {"tree": np.array([-1], "<i4")}, version=2).verify)
    refused("vnnlib-shape", _region(net, head.format("2,3") + unsafe, {"tree": np.array([-1], "<i4")}, version=2).verify)


def test_recompute_at_the_roots_of_two_trees_only_is_a_second_form() -> None:
    text = LINE + _any("(and (>= X_0 0) (<= X_0 1) (<= Y_0 -1))", "(and (>= X_0 2) (<= X_0 3) (<= Y_0 -1))")
    arrays = {"tree": np.array([-1, -2], "<i4")}
    _region(IDENTITY, text, arrays).verify()
    refused("unused-evidence", _region(IDENTITY, text, {**arrays, "recompute": np.array([1, 1], "|u1")}).verify)


def test_a_strict_row_is_closed_by_zero_and_another_is_not() -> None:
    for word, closed in ((">", True), (">=", False)):
        text = ("(vnnlib-version <2.0>)(declare-network n (declare-input X real [1])(declare-output Y real [1]))"
                f"(assert (>= X[0] -1))(assert (<= X[0] 1))(assert ({word} Y[0] 1))")
        specimen = _region(IDENTITY, text, {"tree": np.array([-1], "<i4")}, INT, version=2)
        if closed:
            specimen.verify()
        else:
            refused("leaf-uncovered", specimen.verify)


# Memory

def test_deep_splits_on_neurons_keep_within_the_memory() -> None:
    """4000 splits and 100 conjuncts, 35 kB in all, take 6 GiB."""
    net, depth = model([([[1.0]], [0.0]), ([[1.0]], [0.0])]), 400
    tree = np.array([t for k in range(depth) for t in (1, -1 - k)] + [-1 - depth], "<i4")
    text = UNIT_BOX + _any(*(f"(<= Y_0 -{k + 2})" for k in range(100)))
    _stays_within(16 << 20, _checked(_region(net, text, {"tree": tree})))


def test_bounds_of_many_nodes_keep_within_the_memory() -> None:
    """1023 nodes and 100 000 neurons, a model of 1.2 MB, take 3.5 GiB."""
    size = 5_000
    net = model([([[0.0]] * size, [1.0] * size), ([[0.0] * size], [1.0])])
    arrays = _tree(7)
    _stays_within(16 << 20, _checked(_region(net, UNIT_BOX + "(assert (<= Y_0 -2))", {**arrays, "recompute": np.ones(255, "|u1")})))


def test_many_wide_layers_without_weights_keep_within_the_memory() -> None:
    """300 Relu nodes on 200 000 inputs, files of 1.8 MB, take 3.7 GiB."""
    size, depth = 4000, 300
    nodes = [helper.make_node("Relu", [f"h{k}" if k else "x"], [f"h{k + 1}"]) for k in range(depth)]
    net = _graph([*nodes, helper.make_node("Gemm", [f"h{depth}", "w", "b"], ["y"], transB=1)], {"w": np.zeros((2, size)), "b": [1, 0]}, size, [1, 2])
    given = {"norm": "linf", "radius": "1", "radius_unit": "scaled", "clip": None, "scale": "1", "subtract": "0", "divide": "1",
             "semantics": "real", "row": 0, "label": 0}
    specimen = Specimen("robust", {"model": ("m.onnx", net), "points": ("p.npy", npy(np.zeros((1, size), np.uint8)))}, given, {"holds": True},
                        "bounds-tree", dict(F64), {"tree": np.array([-1], "<i4")})
    _stays_within(16 << 20, _checked(specimen))


def test_many_sets_of_slopes_keep_within_the_memory() -> None:
    """16 million sets of one slope, 16 MB, take 2.2 GiB."""
    sets = 1 << 19
    net = model([([[1.0]], [0.0]), ([[1.0]], [0.0])])
    arrays = {"tree": np.array([-1], "<i4"), "slope": np.zeros((sets, 1), "|u1"), "leaf_slope": np.zeros(1, "<i4")}
    _stays_within(24 << 20, _checked(_region(net, UNIT_BOX + "(assert (<= Y_0 -2))", arrays)))


# Time

def test_many_sets_of_slopes_that_nobody_uses_are_charged() -> None:
    """16 million sets of one slope, 16 MB, take 25 s of CPU and are charged nothing; 64 million fit an array."""
    net = model([([[1.0]], [0.0]), ([[1.0]], [0.0])])
    arrays = {"tree": np.array([-1], "<i4"), "slope": np.zeros((1 << 21, 1), "|u1"), "leaf_slope": np.zeros(1, "<i4")}
    _is_charged(_checked(_region(net, UNIT_BOX + "(assert (<= Y_0 -2))", arrays)))


def test_many_conjuncts_are_charged() -> None:
    """100 000 conjuncts and 16 leaves, a property of 1.6 MB, take minutes and are charged 2.6 s."""
    conjuncts = tuple((Row({}, {0: Fraction(1)}, Fraction(k + 2)),) for k in range(6000))
    part, net = Part((Fraction(-1),), (Fraction(1),), conjuncts), Network((1, 1), 1, (Dense(np.ones((1, 1)), np.zeros(1)),))
    spent = []
    for arrays in ({"tree": np.array([-1], "<i4")}, _tree(5)):
        limits, start = Limits(), time.process_time()
        bounds_tree.check(Relaxation(net, limits), [part], arrays, limits)
        spent.append((time.process_time() - start, limits.spent * 1e-9))
    assert spent[1][0] - spent[0][0] < 0.2 + 5 * (spent[1][1] - spent[0][1])


@pytest.mark.parametrize("holds", [True, False])
def test_rows_at_a_point_of_long_rationals_are_charged(holds: bool) -> None:
    """400 coordinates of 990 digits and 10 rows, a certificate of 0.8 MB, take 31 s and are charged 0.01 s."""
    size, count, rng = 50, 12, random.Random(1)
    net = _graph([helper.make_node("Gemm", ["x", "w"], ["y"], transB=1)], {"w": np.zeros((1, size))}, size, [1, 1])
    summed = f"(+ {' '.join(f'X_{i}' for i in range(size))})"
    text = "".join(f"(declare-const X_{i} Real)(assert (>= X_{i} 0))(assert (<= X_{i} 1))" for i in range(size)) + "(declare-const Y_0 Real)" + _any(
        *(f"(and (<= Y_0 1) (>= {summed} {size + 1 + k}))" for k in range(count)))
    point = [str(Fraction(rng.getrandbits(3299), (1 << 3299) | rng.getrandbits(3299) | 1)) for _ in range(size)]
    specimen = (_region(net, text, {"tree": np.array([-1], "<i4")}, {**F64, "witness": point}) if holds
                else _region(net, text, {}, {"point": point}, holds=False))
    _is_charged(_checked(specimen), 2.0)


def test_wrong_rows_of_many_classes_are_charged() -> None:
    """20 rows and 20 000 classes take 5.2 s and are charged 0.06 s; 1000 rows fit the budget."""
    classes, rows = 5000, 8
    bias = np.zeros(classes)
    bias[0], bias[-1] = 0.5, 1.0
    net = _graph([helper.make_node("Gemm", ["x", "w", "b"], ["y"], transB=1)], {"w": np.zeros((classes, 1)), "b": bias}, 1, [1, classes])
    given = {"norm": "linf", "radius": "1", "radius_unit": "scaled", "clip": None, "scale": "1", "subtract": "0", "divide": "1", "semantics": "real"}
    files = {"model": ("m.onnx", net), "points": ("p.npy", npy(np.zeros((rows, 1)))), "labels": ("l.npy", npy(np.zeros(rows, np.int64)))}
    specimen = Specimen("accuracy", files, given, {"robust_at_least": 0, "not_robust_at_least": rows, "of": rows}, "robust-rows", {},
                        {"wrong_row": np.arange(rows, dtype="<i4")})
    _is_charged(_checked(specimen))


def test_a_pass_through_the_network_in_integers_is_charged() -> None:
    limits = Limits()
    arithmetic = FixedPoint(Network((1, 1), 1, (Relu(1),) * 500), limits, 64)
    low, high = arithmetic.start(Part((Fraction(-1),), (Fraction(1),), ()))
    arithmetic.propagate(low[None], high[None], None)
    assert limits.spent >= 500 * 10_000


def test_narrow_deep_networks_in_integers_are_charged() -> None:
    """300 pairs of Relu and Add on one input take 4.9 s and are charged 0.33 s; 3000 pairs take minutes."""
    layers = tuple(layer for _ in range(90) for layer in (Relu(1), Scale(1, np.array([-0.0001]))))
    part = Part((Fraction(-1),), (Fraction(1),), ((Row({}, {0: Fraction(1)}, Fraction(5)),),))
    _is_charged(lambda limits: bounds_tree.check(FixedPoint(Network((1, 1), 1, layers), limits, 64), [part], {"tree": np.array([-1], "<i4")}, limits))


# Soundness, everything mixed

def test_formulas_mean_what_they_say() -> None:
    """The normal form of random VNN-LIB 2.0 files, with strict rows, equalities and open ends, agrees with the formula at points on its edges."""
    counts: Counter[bool] = Counter()
    for seed in range(400):
        rng = random.Random(seed)
        inputs, outputs = rng.randint(1, 2), rng.randint(1, 2)
        names = [f"X[{i}]" for i in range(inputs)] + [f"Y[{i}]" for i in range(outputs)]
        forms = [_formula(rng, names, 2) for _ in range(rng.randint(1, 3))]
        forms += [(rng.choice(["<=", "<"]), left, right) for i in range(inputs)
                  for left, right in ((str(rng.randint(-2, 0)), f"X[{i}]"), (f"X[{i}]", str(rng.randint(0, 2))))]
        rng.shuffle(forms)
        text = (f"(vnnlib-version <2.0>)(declare-network N (declare-input X real [{inputs}])(declare-output Y float32 [{outputs}]))"
                + "".join(f"(assert {_written(form)})" for form in forms))
        found = parts(read_vnnlib2(text.encode(), Limits(), (1, inputs)), Limits()).parts
        for _ in range(30):
            x, y = (tuple(Fraction(rng.randint(-4, 4), 2) for _ in range(n)) for n in (inputs, outputs))
            values = dict(zip(names, (*x, *y), strict=True))
            truth = all(_holds(form, values) for form in forms)
            counts[truth] += 1
            met = any(part.holds_input(x) and any(all(row.holds(x, y) for row in c) for c in part.conjuncts) for part in found)
            assert met == truth, (text, x, y)
    assert counts[True] > 500


def _formula(rng: random.Random, names: list[str], depth: int) -> Any:
    if depth and rng.random() < 0.6:
        return (rng.choice(["and", "or"]), *(_formula(rng, names, depth - 1) for _ in range(rng.randint(1, 3))))
    sides = (rng.choice(names), rng.choice([*names, "-2", "-1", "0", "0.5", "1", "-0"]), ("-", rng.choice(names), rng.choice([*names, "1", "-0.5"])))
    return (rng.choice(["<=", ">=", "<", ">", "=="]), *rng.sample(sides, 2))


def _written(form: Any) -> str:
    return form if isinstance(form, str) else f"({' '.join(map(_written, form))})"


def _holds(form: Any, values: dict[str, Fraction]) -> bool:
    if form[0] in ("and", "or"):
        return (all if form[0] == "and" else any)(_holds(item, values) for item in form[1:])
    a, b = (values[t] if t in values else Fraction(t) if isinstance(t, str) else
            (values[t[1]] - (values[t[2]] if t[2] in values else Fraction(t[2]))) for t in form[1:])
    return {"<=": a <= b, ">=": a >= b, "<": a < b, ">": a > b, "==": a == b}[form[0]]


class _Spy:
    """An arithmetic that notes what it returned and says that every row is above 0, so that a check goes on to the end."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner
        self.calls: list[Any] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def bound(self, rows: Any, owner: Any, bounds: Any, *others: Any) -> Any:
        """Note the bounds of a batch of leaves."""
        found = self.inner.bound(rows, owner, bounds, *others)
        self.calls.append((found, bounds))
        return np.full(len(found), 5e-324) if self.inner.unit == 1 else np.array([1] * len(found), object)


@pytest.mark.parametrize("block", range(5))
def test_no_leaf_of_a_mixed_tree_claims_too_much(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Splits on inputs and neurons, recomputed and inherited bounds, slopes, multipliers, balls, any layers, float32 runs, tiny batches."""
    compared = 0
    for seed in range(40 * block, 40 * block + 40):
        rng = random.Random(seed)
        for module, name, sizes in ((bounds_tree, "_BATCH", (1, 2, 5, 512)), (bounds_tree, "_SEGMENT_BYTES", (64, 1000, 64 << 20)),
                                    (relaxation, "_MANY", (1, 3, 32)), (relaxation, "_ROW_BYTES", (8, 500, 64 << 20)),
                                    (fixed_point, "_ROW_BYTES", (100, 64 << 20))):
            monkeypatch.setattr(module, name, rng.choice(sizes))
        compared += _compare(rng, seed)
    assert compared > 1_000


def _network(rng: random.Random) -> Network:
    inputs = size = rng.randint(1, 3)
    layers: list[Any] = []
    for kind in rng.choice(["", "R", "S"]) + "".join(rng.choice(["DR", "DR", "D", "R", "S"]) for _ in range(rng.randint(0, 4))):
        if kind == "D":
            shape, alpha = (rng.randint(1, 4), size), rng.choice([1.0, 1.0, -0.5, 2.0**20])
            values = np.array([[rng.choice([0.0, 1.0, -1.0, rng.randint(-8, 8) / 4, 2.0 ** rng.randint(-149, 40)]) for _ in range(size + 1)]
                               for _ in range(shape[0])])
            layers.append(Dense(alpha * values[:, 1:] + 0.0, values[:, 0] - (5.0 if rng.random() < 0.2 else 0.0), alpha))
            size = shape[0]
        else:
            layers.append(Relu(size) if kind == "R" else Scale(rng.choice([1, -1]), np.array([rng.randint(-8, 8) / 4 for _ in range(size)])))
    return Network((1, inputs), inputs, tuple(layers))


def _part(rng: random.Random, net: Network) -> Part:
    lower = tuple(Fraction(rng.randint(-40, 20), 10) for _ in range(net.inputs))
    upper = tuple(v + rng.choice([Fraction(0), Fraction(1), Fraction(rng.randint(0, 400), 70)]) for v in lower)
    centre = tuple(a + (b - a) * Fraction(rng.randint(0, 4), 4) for a, b in zip(lower, upper, strict=True))
    ball = Ball(rng.choice(["l1", "l2"]), centre, tuple(Fraction(rng.randint(1, 9), rng.randint(1, 9)) * Fraction(2) ** rng.choice([0, 0, 30, -30])
                                                        for _ in centre), Fraction(rng.randint(1, 900), 300))
    rows = tuple(Row({i: Fraction(rng.randint(-3, 3), 7) for i in range(net.inputs) if rng.random() < 0.3},
                     {i: Fraction(rng.randint(-9, 9), rng.choice([1, 7, 10**40])) for i in range(net.outputs)}, Fraction(rng.randint(-9, 9), 3))
                 for _ in range(3))
    return Part(lower, upper, ((rows[0],), rows[1:]), ball=ball if rng.random() < 0.4 else None)


def _branching(rng: random.Random, net: Network, part: Part, neurons: int, numbered: int) -> tuple[list[int], list[float], list[Any]]:
    tree: list[int] = []
    split_at: list[float] = []
    leaves: list[Any] = []  # the sides of thresholds, the signs of neurons
    stack: list[Any] = [(list(part.lower), list(part.upper), (), ())]
    left = rng.randint(0, 12)
    while stack:
        low, high, sides, path = stack.pop()
        i = rng.randrange(net.inputs)
        theta = float(low[i] + (high[i] - low[i]) * Fraction(rng.randint(1, 7), 8))
        if left and neurons and rng.random() < 0.5:
            k = path[0][0] if path and rng.random() < 0.3 else rng.randrange(neurons)
            tree.append(net.inputs + k)
            stack += [(low, high, sides, (*path, (k, sign))) for sign in (-1, 1)]
        elif left and low[i] < Fraction(theta) < high[i]:
            tree.append(i)
            split_at.append(theta)
            stack += [(low, [*high[:i], Fraction(theta), *high[i + 1 :]], (*sides, (i, theta, -1)), path),
                      ([*low[:i], Fraction(theta), *low[i + 1 :]], high, (*sides, (i, theta, 1)), path)]
        else:
            tree.append(-1 - numbered - len(leaves))
            leaves.append((sides, path))
        left = max(0, left - 1)
    return tree, split_at, leaves


def _compare(rng: random.Random, seed: int) -> int:
    net = _network(rng)
    neurons = sum(net.layers[k].size for k in net.activations)
    places = [(k, i) for k in net.activations for i in range(net.layers[k].size)]
    float32, whole = rng.random() < 0.4, rng.random() < 0.4
    regions = [_part(rng, net) for _ in range(rng.randint(1, 2))]
    arrays: dict[str, Any] = {"tree": [], "split_at": [], "recompute": []}
    leaves: list[Any] = []
    for part in regions:
        tree, split_at, mine = _branching(rng, net, part, neurons, len(leaves))
        arrays["recompute"] += [1] + [int(rng.random() < 0.4) for _ in tree[1:]]
        arrays["tree"] += tree
        arrays["split_at"] += split_at
        leaves += [(part, *leaf) for leaf in mine]
    multipliers = sum(2 * len(path) for _, _, path in leaves)
    slopes = None
    if neurons and rng.random() < 0.5:
        arrays["slope"] = np.array([[rng.choice([0, 255, rng.randint(0, 255)]) for _ in range(neurons)]], "|u1")
        arrays["leaf_slope"] = [*(rng.choice([0, -1]) for _ in range(2 * len(leaves) - 1)), 0]
        arrays["node_slope"] = [0, *(rng.choice([0, -1]) for _ in range(sum(arrays["recompute"]) - 1))]
        slopes = slope_sets(net, arrays["slope"], Limits())
    if multipliers and rng.random() < 0.7:
        arrays["beta"] = [*(rng.choice([0.0, 0.5, 1.0, 1e-300, 5e-324, -0.0, 3.0]) for _ in range(multipliers - 1)), 1.0]
    arrays = {name: np.array(values, {"split_at": "<f8", "beta": "<f8", "recompute": "|u1", "slope": "|u1"}.get(name, "<i4"))
              for name, values in arrays.items() if len(values)}
    if not arrays["recompute"][1:].any():
        del arrays["recompute"]
    limits, compared = Limits(blas=rng.random() < 0.2), 0
    try:
        rounding = Rounding(net) if float32 else None
        spy = _Spy(FixedPoint(net, limits, rng.choice([16, 60, 200]), slopes, rounding) if whole else Relaxation(net, limits, slopes, rounding))
        bounds_tree.check(spy, regions, arrays, limits)  # type: ignore[arg-type]
    except CertifyError as trouble:
        assert trouble.code in ("number-too-large", "exec32-overflow", "branch-invalid", "exec32-operator", "unused-evidence"), seed
        return 0
    unit, number = spy.inner.unit, 0
    points = {id(part): _values(rng, net, part, float32) for part in regions}
    for found, bounds in spy.calls:
        for index in range(bounds.lower[0].shape[0]):
            part, sides, path = leaves[number]
            number += 1
            rows = [row for conjunct in part.conjuncts for row in conjunct]
            for x, values in points[id(part)]:
                if (all(sign * (x[i] - Fraction(theta)) >= 0 for i, theta, sign in sides)
                        and all(sign * values[places[k][0]][places[k][1]] >= 0 for k, sign in path)):
                    for low, level, high in zip(bounds.lower, values, bounds.upper, strict=True):
                        for a, v, b in zip(low[index].tolist(), level, high[index].tolist(), strict=True):
                            assert Fraction(a) <= v * unit <= Fraction(b), seed
                    for row, bound in zip(rows, found[index * len(rows) : (index + 1) * len(rows)].tolist(), strict=True):
                        assert bound == -np.inf or Fraction(bound) <= row.value(x, tuple(values[-1])) * unit, seed
                        compared += 1
    assert number == len(leaves)
    return compared


def _values(rng: random.Random, net: Network, part: Part, float32: bool) -> list[tuple[tuple[Fraction, ...], list[list[Fraction]]]]:
    """Return points of a part, corners and others, with every value of the network there, or of a float32 execution."""
    found = []
    draw = np.random.default_rng(rng.getrandbits(32))
    for point in made.points(draw, part.lower, part.upper, 10):
        x = tuple(point)
        for candidate in [x] if part.ball is None else [bounding.on_ball(part.ball, x), part.ball.centre]:
            if not part.holds_input(candidate):
                continue
            try:
                values = [[runs.real(v) for v in level] for level in runs.execute(net, runs.inputs(draw, candidate), runs.machine(draw))] \
                    if float32 else made.exact_values(net, candidate)
            except (runs.Overflow, ValueError):  # beyond float32, or a constant that is none
                continue
            found.append((candidate, values))
    return found


def test_shifts_with_one_hash_are_told_apart_fast() -> None:
    """20 000 rationals whose hashes are equal took minutes in a set; a certificate holds 150 000 of them."""
    size = 20000
    graph = helper.make_graph([helper.make_node("Flatten", ["x"], ["h"]), helper.make_node("Gemm", ["h", "w", "b"], ["y"], transB=1)], "net",
                              [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, size, 1, 1])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 2])],
                              [numpy_helper.from_array(np.zeros((2, size), np.float32), "w"),
                               numpy_helper.from_array(np.array([1, 0], np.float32), "b")])
    net = bytes(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8, producer_name="").SerializeToString())
    given = {"norm": "linf", "radius": "1", "radius_unit": "scaled", "clip": None, "scale": "1", "divide": "1", "semantics": "real", "row": 0,
             "label": 0, "subtract": [str(Fraction(1, 1 + k * ((1 << 61) - 1))) for k in range(1, size + 1)]}
    specimen = Specimen("robust", {"model": ("m.onnx", net), "points": ("p.npy", npy(np.zeros((1, size), np.uint8)))}, given, {"holds": True},
                        "bounds-tree", dict(F64), {"tree": np.array([-1], "<i4")})
    assert specimen.verify().sentence
