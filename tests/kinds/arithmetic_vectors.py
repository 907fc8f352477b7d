# SPDX-License-Identifier: Apache-2.0
"""Vectors of how bounds are computed: integer arithmetic, sets of slopes, float32 executions, and l_2 and l_1 balls."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from certify.limits import Limits
from certify.readers.onnx_ops import read_network
from kinds.attacks import Bases, Vector, ask, put, say, vector
from toolkit import Layers, Specimen, model

Change = Callable[[Specimen], None]
INT: dict[str, Any] = {"arithmetic": "exact-int", "fraction_bits": 60}


def both(*changes: Change) -> Change:
    """Return a change that makes several."""
    def change(specimen: Specimen) -> None:
        for one in changes:
            one(specimen)
    return change


def bits(value: Any) -> Change:
    """Return a change to exact-int with a number of fraction bits."""
    return say(items={"arithmetic": "exact-int", "fraction_bits": value})


EXEC = both(ask(semantics="exec32"), say(assumptions=[]))


def neurons(specimen: Specimen) -> int:
    """Return the number of ReLU neurons of a specimen's model."""
    network = read_network(specimen.files["model"][1], Limits())
    return sum(network.layers[k].size for k in network.activations)


def shared(b: Bases) -> Iterator[Vector]:
    """Yield what every kind with `bounds-tree` evidence shares."""
    yield from _integers(b)
    yield from _slopes(b)
    yield from _executions(b)
    yield from _neurons(b)


def _neurons(b: Bases) -> Iterator[Vector]:
    inputs, count = 2, neurons(b.split)

    def tree(*items: int, **arrays: Any) -> Change:
        return put(tree=("<i4", list(items)), **arrays)

    bare = {"split_at": None, "recompute": None}
    first = inputs  # x_0, the input of the first ReLU: its signs are the two boxes of `split`
    yield vector("neuron-split", "verified", "", b.leaf, "none: a split on the sign of a neuron", tree(first, -1, -2))
    # Where x_0 >= 0, relu(x_0 - 1/4) is bounded below by x_0 - 1/4; where x_0 <= 0, by 0, which is the default.
    signs = tree(first, -1, -2, split_at=None, slope=np.array([[0, 255, *([0] * (count - 2))]], "|u1"), leaf_slope=("<i4", [0, -1]))
    for name, change in (("", say()), ("-exact-int", bits(60)), ("-exec32", EXEC)):
        yield vector(f"neuron-split-and-slopes{name}", "verified", "", b.split, "none: each sign has its own slopes", both(change, signs))
    mixed = tree(0, -1, first, -2, -3, split_at=("<f8", [0.5]), recompute=("|u1", [1] * 5), slope=np.array([[0, 255, *([0] * (count - 2))]], "|u1"),
                 leaf_slope=("<i4", [-1, 0, -1]))
    for name, change in (("", say()), ("-exact-int", bits(60))):
        yield vector(f"neuron-split-in-one-half{name}", "verified", "", b.split, "none: one leaf lies behind a sign, the other does not",
                     both(change, mixed))
    yield vector("neuron-split-sides-swapped", "rejected", "leaf-uncovered", b.split, "the first child of a neuron is z <= 0",
                 both(signs, put(leaf_slope=("<i4", [-1, 0]))))
    yield vector("neuron-split-default-slopes", "rejected", "leaf-uncovered", b.split, "a split on a neuron is read as one on an input",
                 both(signs, put(slope=None, leaf_slope=None)), effect="none: true, but the default slopes don't show it")
    yield vector("neuron-split-twice", "verified", "", b.leaf, "none: the inner split has an empty side", tree(first, first, -1, -2, -3))
    yield vector("neuron-split-beta", "verified", "", b.leaf, "none: multipliers of a split", tree(first, -1, -2, beta=("<f8", [0.0, 0.25])))
    yield vector("neuron-split-beta-weak", "rejected", "leaf-uncovered", b.leaf, "multipliers are not read",
                 tree(first, -1, -2, beta=("<f8", [64.0, 64.0])), effect="none: true, but these multipliers don't show it")
    yield vector("last-neuron", "verified", "", b.leaf, "none: the last item", tree(first + count - 1, -1, -2))
    yield vector("item-behind-the-last-neuron", "rejected", "branch-invalid", b.leaf, "items are not bounded by the subject",
                 tree(first + count, -1, -2))
    yield vector("neuron-split-with-threshold", "rejected", "unused-evidence", b.leaf, "a split on a neuron takes a threshold",
                 tree(first, -1, -2, split_at=("<f8", [0.0])))
    yield vector("neuron-split-one-side", "rejected", "tree-malformed", b.leaf, "the other sign is taken to be impossible", tree(first, -1),
                 effect="half of the inputs are never looked at")
    yield vector("neuron-split-weak", "rejected", "leaf-uncovered", b.split, "a split counts without bounds on its sides",
                 tree(first + 2, -1, -2, **bare))
    for name, code, values in (("negative", "evidence-range", [0.0, -0.25]), ("all-zero", "unused-evidence", [0.0, 0.0]),
                               ("short", "array-shape", [0.25]),
                               ("long", "unused-evidence", [0.0, 0.25, 0.25]), ("nan", "array-nonfinite", [0.0, float("nan")]),
                               ("infinite", "array-nonfinite", [0.0, float("inf")]), ("huge", "number-too-large", [1e300, 1e300])):
        yield vector(f"beta-{name}", "rejected", code, b.leaf, "multipliers of splits are not looked at", tree(first, -1, -2, beta=("<f8", values)))
    yield vector("beta-without-neuron-splits", "rejected", "unused-evidence", b.leaf, "an array that nothing refers to", put(beta=("<f8", [0.25])))


def _integers(b: Bases) -> Iterator[Vector]:
    for count in (16, 60, 4096):
        yield vector(f"exact-int-{count}", "verified", "", b.leaf, "none: integers in units of 2^-fraction_bits", bits(count))
    yield vector("exact-int-splits", "verified", "", b.split, "none: a tree with splits in integers", bits(60))
    for name, at in (("on-the-lower-end", -1.0), ("on-the-upper-end", 1.0), ("below", -1.5), ("above", 1.5)):
        yield vector(f"exact-int-threshold-{name}", "rejected", "branch-invalid", b.split, "a split that cuts nothing off",
                     both(bits(60), put(split_at=("<f8", [at]))))
    yield vector("exact-int-row-and-mix", "verified", "", b.mixed, "none: combinations of rows in integers", bits(60))
    for count in (0, 8, 15, 4097, 10**6):
        yield vector(f"exact-int-{count}", "rejected", "evidence-range", b.leaf, "any number of fraction bits", bits(count))
    yield vector("exact-int-without-bits", "rejected", "evidence-range", b.leaf, "fraction bits have a default",
                 say(items={"arithmetic": "exact-int"}))
    yield vector("exact-int-bits-negative", "rejected", "malformed", b.leaf, "units above 1", bits(-60))
    yield vector("exact-int-bits-text", "rejected", "malformed", b.leaf, "a text is read as a number", bits("60"))
    yield vector("f64-with-bits", "rejected", "unused-evidence", b.leaf, "items that nothing needs",
                 say(items={"arithmetic": "f64-gamma", "fraction_bits": 60}))
    yield vector("exact-int-weak", "rejected", "leaf-uncovered", b.split, "integers are taken for proofs",
                 both(bits(60), put(tree=("<i4", [-1]), split_at=None, recompute=None)))
    mix = b.mixed.arrays["mix"]
    yield vector("exact-int-mix-huge", "rejected", "number-too-large", b.mixed, "integers have no limit on size",
                 both(bits(60), put(mix=("<f8", [1e300, *mix[1:].tolist()]))), effect="a check that costs more than it was charged")
    yield vector("exact-int-mix-all-zero", "rejected", "all-zero", b.mixed, "0 is above 0", both(bits(60), put(mix=("<f8", [0.0] * len(mix)))),
                 effect="a proof of anything")


def _slopes(b: Bases) -> Iterator[Vector]:
    width = neurons(b.leaf)
    conjuncts = 2 if b.mixed.arrays["row"].size == 4 else 1
    one: list[list[int]] = [list(range(0, 200, 200 // width))[:width]]
    two = [*one, [255] * width]

    def sets(rows: Any, **arrays: Any) -> Change:
        return put(slope=np.array(rows, "|u1").reshape(len(rows), -1), **arrays)

    def leaf(*values: int) -> tuple[str, list[int]]:
        return "<i4", list(values)

    yield vector("slopes-of-leaf", "verified", "", b.leaf, "none: a set of slopes for the rows of a leaf", sets(one, leaf_slope=leaf(0)))
    yield vector("slopes-of-node", "verified", "", b.leaf, "none: a set of slopes for the bounds of a node", sets(one, node_slope=leaf(0)))
    yield vector("slopes-exact-int", "verified", "", b.leaf, "none: slopes in integers",
                 both(bits(60), sets(two, node_slope=leaf(0), leaf_slope=leaf(1))))
    yield vector("slopes-of-conjuncts", "verified", "", b.mixed, "none: leaf by leaf, conjunct by conjunct",
                 sets(two, leaf_slope=leaf(0, *([-1] * (2 * conjuncts - 2)), 1)))
    bad = "array-shape", "sets of another width are cut or filled up"
    yield vector("slopes-narrow", "rejected", bad[0], b.leaf, bad[1], sets([one[0][:-1]], leaf_slope=leaf(0)))
    yield vector("slopes-wide", "rejected", bad[0], b.leaf, bad[1], sets([[*one[0], 0]], leaf_slope=leaf(0)))
    yield vector("slopes-without-sets", "rejected", bad[0], b.leaf, "an empty array of sets",
                 put(slope=np.zeros((0, width), "|u1"), leaf_slope=leaf(0)))
    yield vector("slopes-flat", "rejected", "array-shape", b.leaf, "another rank is reshaped", put(slope=("|u1", one[0]), leaf_slope=leaf(0)))
    yield vector("slopes-signed", "rejected", "array-dtype", b.leaf, "slopes outside [0, 1]",
                 put(slope=np.array(one, "<i4"), leaf_slope=leaf(0)), effect="a lower line above the ReLU")
    yield vector("slopes-as-floats", "rejected", "array-dtype", b.leaf, "slopes outside [0, 1]",
                 put(slope=np.array(one, "<f8") * 2, leaf_slope=leaf(0)), effect="a lower line above the ReLU")
    yield vector("slopes-unused", "rejected", "unused-evidence", b.leaf, "sets that nothing refers to", sets(one))
    yield vector("slopes-one-unused", "rejected", "unused-evidence", b.leaf, "sets that nothing refers to", sets(two, leaf_slope=leaf(1)))
    yield vector("leaf-slope-beyond-sets", "rejected", "evidence-range", b.mixed, "an index beyond the sets",
                 sets(one, leaf_slope=leaf(0, *([1] * (2 * conjuncts - 1)))))
    yield vector("leaf-slope-behind-the-last-set", "rejected", "unused-evidence", b.leaf, "an index behind the last set counts as a use of one",
                 sets(one, leaf_slope=leaf(1)))
    yield vector("leaf-slope-minus-two", "rejected", "evidence-range", b.mixed, "negative indices count from the end",
                 sets(one, leaf_slope=leaf(0, *([-2] * (2 * conjuncts - 1)))))
    yield vector("leaf-slope-short", "rejected", "array-shape", b.mixed, "missing choices are the default", sets(one, leaf_slope=leaf(0)))
    yield vector("leaf-slope-long", "rejected", "unused-evidence", b.leaf, "left-over choices are ignored", sets(one, leaf_slope=leaf(0, 0)))
    yield vector("leaf-slope-all-default", "rejected", "unused-evidence", b.leaf, "two forms of one choice", put(leaf_slope=leaf(-1)))
    yield vector("leaf-slope-all-minus-two", "rejected", "evidence-range", b.leaf, "any negative index is the default", put(leaf_slope=leaf(-2)))
    yield vector("leaf-slope-empty", "rejected", "unused-evidence", b.leaf, "an array without entries", put(leaf_slope=leaf()))
    yield vector("leaf-slope-without-sets", "rejected", "evidence-range", b.leaf, "an index into nothing", put(leaf_slope=leaf(0)))
    yield vector("node-slope-beyond-sets", "rejected", "evidence-range", b.split, "an index beyond the sets", sets(one, node_slope=leaf(0, 1, 0)))
    yield vector("node-slope-short", "rejected", "array-shape", b.split, "missing choices are the default", sets(one, node_slope=leaf(0)))
    yield vector("node-slope-long", "rejected", "unused-evidence", b.leaf, "left-over choices are ignored", sets(one, node_slope=leaf(0, 0)))
    yield vector("node-slope-for-nodes-that-inherit", "rejected", "unused-evidence", b.mixed, "an entry a node, computed or not",
                 both(put(row=None, mix=None), sets(one, node_slope=leaf(0, 0, 0))))
    yield vector("node-slope-all-default", "rejected", "unused-evidence", b.leaf, "two forms of one choice", put(node_slope=leaf(-1)))
    yield vector("slopes-that-prove-too-little", "rejected", "leaf-uncovered", b.split, "slopes are taken for bounds",
                 both(put(tree=("<i4", [-1]), split_at=None, recompute=None), sets(one, leaf_slope=leaf(0))))
    for name in ("upper_slope", "tangent"):
        yield vector(f"reserved-{name.replace('_', '-')}", "declined", "feature-unsupported", b.leaf, "arrays of a later version are ignored",
                     put(**{name: ("<f8", [0.5])}), flags=("later-version",))


def _executions(b: Bases) -> Iterator[Vector]:
    yield vector("exec32", "verified", "", b.leaf, "none: every float32 execution", EXEC)
    yield vector("exec32-splits", "verified", "", b.split, "none: a tree with splits for float32 executions", EXEC)
    yield vector("exec32-exact-int", "verified", "", b.leaf, "none: float32 executions, bounded in integers", both(EXEC, bits(200)))
    yield vector("exec32-slopes", "verified", "", b.leaf, "none: sets of slopes for float32 executions",
                 both(EXEC, put(slope=np.full((1, neurons(b.leaf)), 99, "|u1"), leaf_slope=("<i4", [0]))))
    yield vector("exec32-no-assumption-allowed", "verified", "", b.leaf, "none: it rests on no assumption", EXEC, allow=())
    yield vector("exec32-assumption-listed", "rejected", "claim-mismatch", b.leaf, "an assumption that the claim doesn't rest on",
                 ask(semantics="exec32"))
    yield vector("exec32-made-real", "rejected", "assumption-missing", b.leaf, "real-arithmetic without saying so", say(assumptions=[]))
    yield vector("exec32-counterexample", "rejected", "evidence-kind", b.witness, "a point over the reals shows what float32 executions do", EXEC)
    yield vector("exec32-weak", "rejected", "leaf-uncovered", b.split, "float32 executions are not bounded",
                 both(EXEC, put(tree=("<i4", [-1]), split_at=None, recompute=None)))


def gemm(weight: float, bias: float, alpha: float = 1.0, beta: float = 1.0) -> bytes:
    """Return a model of two inputs with y = alpha (weight x_0) + beta bias."""
    tensors = [numpy_helper.from_array(np.array(values, np.float32), name) for name, values in (("w", [[weight], [0.0]]), ("b", [bias]))]
    graph = helper.make_graph([helper.make_node("Gemm", ["x", "w", "b"], ["y"], alpha=alpha, beta=beta)], "net",
                              [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 2])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 1])], tensors)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8, producer_name="")
    return bytes(made.SerializeToString(deterministic=True))


def decimal(value: Fraction) -> str:
    """Return a dyadic number as a decimal."""
    power = value.denominator.bit_length() - 1
    digits = str(abs(value.numerator) * 5**power).rjust(power + 1, "0")
    return ("-" if value < 0 else "") + (f"{digits[:-power]}.{digits[-power:]}" if power else digits)


def region(specimen: Callable[..., Specimen]) -> Iterator[Vector]:
    """Yield what takes special networks and properties: `specimen(unsafe, box, layers)` makes one."""
    def at(x: Fraction | str) -> str:
        shown = x if isinstance(x, str) else decimal(x)
        return f"(assert (and (>= X_0 {shown}) (<= X_0 {shown}) (>= X_1 0) (<= X_1 0)))\n"

    def pair(name: str, made: Specimen, bug: str, effect: str) -> Iterator[Vector]:
        yield vector(f"{name}-real", "verified", "", made, "none: it holds over the reals")
        yield vector(f"{name}-exec32", "rejected", "leaf-uncovered", made, bug, EXEC, effect=effect)
        yield vector(f"{name}-exec32-exact-int", "rejected", "leaf-uncovered", made, bug, both(EXEC, bits(400)), effect=effect)

    def with_model(made: Specimen, data: bytes) -> Specimen:
        made.files["model"] = ("gemm.onnx", data)
        return made

    yield from pair("decimal", specimen("(assert (>= Y_0 0.100000001490116))",
                                        "(assert (and (>= X_0 0) (<= X_0 0.1) (>= X_1 0) (<= X_1 0)))\n", (([[1, 0]], [0]),)),
                    "the input that runs is taken to be the real one", "0.1 becomes a float32 above it")
    small = Fraction(127, 64) / (1 << 67)
    yield from pair("flushed-sum-times-alpha", with_model(specimen(f"(assert (<= Y_0 {decimal(Fraction(1, 1 << 100))}))", at(small)),
                                                          gemm(2.0**-60, 0.0, 2.0**60)),
                    "alpha times the weights stands for the stored ones", "flushing the sum and then alpha = 2^60 give 0")
    yield from pair("denormal-bias-times-beta", with_model(specimen(f"(assert (<= Y_0 {decimal(Fraction(1, 1 << 100))}))", at("1")),
                                                           gemm(0.0, 2.0**-127, 1.0, 2.0**60)),
                    "beta times the bias stands for the stored one", "a bias read as 0")
    ident: Layers = (([[1, 0]], [0]), ([[1]], [0]))
    hair = decimal(Fraction(1, 1 << 26))
    yield from pair("input-term-against-the-output", specimen(f"(assert (>= X_0 (+ Y_0 {hair})))", at(1 + Fraction(1, 1 << 24)), ident),
                    "the input's rounding is charged after the terms of x cancelled it", "y = x' is below x by 2^-24")
    absorbing: Layers = (([[1, 0]], [2.0**25]), ([[1]], [-(2.0**25)]))
    yield from pair("absorbed-term", specimen("(assert (<= Y_0 0.5))", at("1"), absorbing), "sums in float32 are taken to be exact",
                    "1 is absorbed by 2^25")
    yield vector("exec32-overflow", "declined", "exec32-overflow",
                 specimen("(assert (<= Y_0 -1))", "(assert (and (>= X_0 0) (<= X_0 2097152) (>= X_1 0) (<= X_1 0)))\n", (([[2.0**100, 0]], [0]),)),
                 "infinities are numbers", EXEC)
    yield vector("exec32-below-overflow", "verified", "",
                 specimen("(assert (<= Y_0 -1e32))", "(assert (and (>= X_0 0) (<= X_0 1048000) (>= X_1 0) (<= X_1 0)))\n", (([[2.0**100, 0]], [0]),)),
                 "none: sums below 2^120", EXEC)
    lifted = with_model(specimen("(assert (<= Y_0 -1000000))", "(assert (and (>= X_0 0) (<= X_0 4194304) (>= X_1 0) (<= X_1 0)))\n"),
                        gemm(2.0**100, 0.0, 2.0**-60))
    yield vector("overflow-before-alpha-real", "verified", "", lifted, "none: over the reals alpha makes it small")
    yield vector("overflow-before-alpha", "declined", "exec32-overflow", lifted, "overflow is looked for behind alpha", EXEC)
    tiny = with_model(specimen("(assert (>= Y_0 2))"), gemm(1.0, 0.0, 2.0**-127))
    yield vector("alpha-that-may-flush-real", "verified", "", tiny, "none: a denormal alpha over the reals")
    yield vector("alpha-that-may-flush", "declined", "exec32-operator", tiny, "a denormal alpha is never read as 0", EXEC)
    yield vector("beta-of-zero", "declined", "exec32-operator", with_model(specimen("(assert (>= Y_0 2))"), gemm(1.0, 1.0, 1.0, 0.0)),
                 "stored biases are found by dividing by beta", EXEC)
    chain: Layers = tuple([([[2.0**120, 0], [0, 1]], [0, 0])] * 3 + [([[1, 0]], [0])])
    yield vector("exact-int-huge-weight", "rejected", "number-too-large", specimen("(assert (>= Y_0 2))", layers=chain),
                 "integers have no limit on size", bits(60))
    half: Layers = (([[1, 0]], [0]), ([[1]], [0]))
    tuned = specimen("(assert (<= (- Y_0 (* 0.5 X_0)) -0.0625))", layers=half)
    yield vector("default-slope-too-weak", "rejected", "leaf-uncovered", tuned, "a lower line through the ReLU's middle",
                 effect="none: true, but the slopes 0 and 1 don't show it")
    for arithmetic, name in ((say(), "tuned-slope"), (bits(60), "tuned-slope-exact-int")):
        yield vector(name, "verified", "", tuned, "none: the slope 127/255 shows relu(x) >= x/2 - 1/500",
                     both(arithmetic, put(slope=np.array([[127]], "|u1"), leaf_slope=("<i4", [0]))))
    yield vector("tuned-slope-changed", "rejected", "leaf-uncovered", tuned, "slopes are not read",
                 put(slope=np.array([[191]], "|u1"), leaf_slope=("<i4", [0])), effect="none: true, but this slope doesn't show it")


def balls(specimen: Callable[..., Specimen]) -> Iterator[Vector]:
    """Yield what takes balls: `specimen(files...)` makes a classifier of points near (0, 0) within 1."""
    def near(norm: str, level: float, **more: Any) -> Specimen:
        made = specimen()
        layers: Layers = (([[1, 0], [0, 1]], [0, 0]), ([[1, 1], [0, 0]], [0, level]))  # x_0+ + x_1+ against a constant: 1, sqrt 2, 2 are the limits
        made.files["model"] = ("sum.onnx", model(layers))
        made.given = {**made.given, "norm": norm, **more}
        return made

    unit = {"clip": ["0", "1"]}
    for norm, level in (("l1", 1.125), ("l2", 1.4375), ("linf", 2.0625)):
        for name, change in (("", say()), ("-exact-int", bits(60)), ("-exec32", EXEC)):
            yield vector(f"{norm}-ball{name}", "verified", "", near(norm, level, **unit), "none: just above the largest value in the ball", change)
    for norm, level, other in (("l1", 1.125, "l2"), ("l1", 1.125, "linf"), ("l2", 1.4375, "linf")):
        for name, change in (("", say()), ("-exact-int", bits(60))):
            yield vector(f"norm-{norm}-made-{other}{name}", "rejected", "leaf-uncovered", near(norm, level, **unit), "the norm is not read",
                         both(change, ask(norm=other)), effect="the other ball reaches further")
    for norm, other, level in (("linf", "l2", 2.0625), ("l2", "l1", 1.4375)):
        yield vector(f"norm-{norm}-made-{other}", "verified", "", near(norm, level, **unit), "none: true of the smaller ball too", ask(norm=other))
    for norm, level in (("l1", 0.9375), ("l2", 1.375)):
        for name, change in (("", say()), ("-exact-int", bits(60))):
            yield vector(f"{norm}-ball-too-large{name}", "rejected", "leaf-uncovered", near(norm, level, **unit), "the box bound or half the radius",
                         change, effect="a point of the ball is of another class")
        yield vector(f"{norm}-ball-radius-enlarged", "rejected", "leaf-uncovered", near(norm, 1.125 if norm == "l1" else 1.4375, **unit),
                     "the radius of the claim is not used", ask(radius="5/4"))
    stretched = near("l2", 1.4375, divide=["1", "2"], **unit)
    yield vector("l2-ball-with-weights", "verified", "", stretched, "none: the ball is that of x, the network gets x / divide")
    yield vector("l2-ball-weights-dropped", "rejected", "leaf-uncovered", near("l2", 1.4375, divide=["1", "1/2"], **unit),
                 "the ball is taken around the network's input", effect="1 + 2 are reached on the axes' side")
    cut = {"tree": np.array([0, 1, -1, -2, -3], "<i4"), "split_at": np.array([0.75, 0.75]), "recompute": np.ones(5, "|u1")}
    yield vector("l2-ball-split", "verified", "", near("l2", 1.4375, **unit), "none: boxes that cut the ball, and one beyond it",
                 say(arrays=cut))
    yield vector("l2-ball-split-too-weak", "rejected", "leaf-uncovered", near("l2", 1.375, **unit), "a box that meets the ball is taken to be empty",
                 say(arrays=cut), effect="a point of the ball is of another class")

    def point(*x: str) -> Change:
        return both(say(says={"holds": False}, evidence="witness", items={"point": list(x)}, arrays={}))

    hair = Fraction(1, 10**30)
    for norm, x, level in (("l2", ("3/5", "4/5"), 1.375), ("l1", ("1/3", "2/3"), 1.0)):
        outside = (str(Fraction(x[0]) + hair), x[1])
        yield vector(f"point-on-the-{norm}-sphere", "verified", "", near(norm, level), "none: the ball is closed", point(*x))
        yield vector(f"point-outside-the-{norm}-sphere", "rejected", "outside-domain", near(norm, level), "a tolerance on the norm", point(*outside))
    yield vector("point-in-the-box-only", "rejected", "outside-domain", near("l2", 1.375), "the box around the ball stands for it", point("1", "1"))
    yield vector("point-in-the-l2-ball-only", "rejected", "outside-domain", near("l1", 1.0), "the norm is not read", point("3/5", "4/5"))
    yield vector("point-on-the-sphere-outside-the-clip", "rejected", "outside-domain", near("l2", 0.5, clip=["-1/2", "1/2"]),
                 "the clip range is not cut with the ball", point("3/5", "4/5"))
    for norm in ("l2", "l1"):
        yield vector(f"{norm}-radius-zero", "rejected", "radius-sign", near(norm, 1.4375), "a ball of radius 0", ask(radius="0"))
    yield vector("l2-radius-beyond-binary64", "rejected", "number-too-large", near("l2", 2.0625), "an infinite radius is a number",
                 ask(radius=str(10**400)))
    yield vector("l2-radius-huge", "rejected", "number-too-large", near("l2", 2.0625, **unit), "a radius beyond 2^210 in f64-gamma",
                 ask(radius=str(2**211)))
