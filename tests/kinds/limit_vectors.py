# SPDX-License-Identifier: Apache-2.0
"""Pairs of vectors for limits: the least limit with which a specimen is verified, and one less.

The least one is found with the checker and then pinned by the corpus: a cost that is charged twice, or not at all, changes a verdict.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from certify.errors import Declined
from certify.limits import Limits
from kinds.arithmetic_vectors import EXEC, bits, neurons
from kinds.attacks import Bases, Vector, put, say, vector
from toolkit import Specimen, model, npy

_BUGS = {"work": "work is not charged before it is done, or charged twice", "memory": "memory is not estimated before it is taken"}


def least(specimen: Specimen, limit: str) -> int:
    """Return the least value of a limit with which a specimen is verified."""
    if limit == "work":
        return int(specimen.verify().figures["work"])
    low, high = 0, int(getattr(Limits(), limit))
    while low + 1 < high:
        middle = (low + high) // 2
        try:
            specimen.verify(Limits(**{limit: middle}))
            high = middle
        except Declined:
            low = middle
    return high


def pairs(limits: tuple[str, ...], **specimens: Specimen) -> Iterator[Vector]:
    """Yield, for each specimen and limit, a vector at the limit and one below what it needs."""
    for name, specimen in specimens.items():
        for limit in limits:
            at = least(specimen, limit)
            shown = f"{limit.replace('_', '-')}-of-{name.replace('_', '-')}"
            yield vector(f"{shown}-at-the-limit", "verified", "", specimen, f"none: {limit} {at} is enough", limits={limit: at})
            yield vector(f"{shown}-above-the-limit", "declined", "limit-reached", specimen, _BUGS.get(limit, "a size without a limit"),
                         limits={limit: at - 1})


def changed(specimen: Specimen, *changes: Callable[[Specimen], Any]) -> Specimen:
    """Return a changed copy."""
    made = specimen.copy()
    for change in changes:
        change(made)
    return made


def shared(b: Bases) -> Iterator[Vector]:
    """Yield the work of each arithmetic and each form of evidence."""
    first = 2  # the item of the first neuron
    signs = put(tree=("<i4", [first, -1, -2]), beta=("<f8", [0.0, 0.25]))
    set_of_slopes = put(slope=np.full((1, neurons(b.leaf)), 99, "|u1"), leaf_slope=("<i4", [0]))
    specimens = {
        "leaf": b.leaf, "split": b.split, "mixed": b.mixed, "point": b.witness, "slopes": changed(b.leaf, set_of_slopes),
        "neuron-split": changed(b.leaf, signs), "exact-int": changed(b.split, bits(60)), "exact-int-mixed": changed(b.mixed, bits(60)),
        "exact-int-of-4096": changed(b.split, bits(4096)),
        "exact-int-neuron-split": changed(b.leaf, signs, bits(60)), "exec32": changed(b.split, EXEC),
        "exec32-exact-int": changed(b.split, EXEC, bits(60)),
    }
    yield from pairs(("work",), **specimens)


def memory(b: Bases) -> Iterator[Vector]:
    """Yield the memory of everything that is estimated: of each, a specimen of `robust` in which it takes the most."""
    deep, wide, classes = b.leaf, _chain("Relu"), b.leaf.copy()
    classes.files["model"] = ("classes.onnx", model([([[0, 0]] * 40, [0, 2, *([-1] * 38)])]))
    halvings = put(tree=("<i4", _first(50)), split_at=("<f8", _halves(50)))
    fresh = put(tree=("<i4", _first(8)), split_at=("<f8", _halves(8)), recompute=("|u1", [1] * 17))
    refuted = changed(_chain("Add"), say(says={"holds": False}, evidence="witness", items={"point": ["0"] * _WIDTH}, arrays={}))
    tables = changed(b.leaf, lambda made: made.files.update(points=("points.csv", b"a,b\n" + b"0.000,0.000\n" * 40),
                                                            labels=("labels.csv", b"label\n" + b"1\n" * 40)))
    yield from pairs(("memory",), boxes=changed(deep, halvings), relus=wide, relus_exact_int=changed(wide, bits(60)), bounds=changed(wide, fresh),
                     classes=classes, classes_named=changed(classes, put(row=("<i4", [0] * 39))), sums=refuted, tables=tables,
                     slopes=changed(wide, put(slope=np.zeros((8, neurons(wide)), "|u1"), leaf_slope=("<i4", [*range(8), 0]), tree=("<i4", _first(8)),
                                                  split_at=("<f8", _halves(8)))))


def _first(depth: int) -> list[int]:
    """Return a tree that goes on splitting the first child of input 0."""
    return [0] * depth + [-1 - k for k in range(depth + 1)]


def _halves(depth: int) -> list[float]:
    """Return its thresholds between -1 and 1."""
    return [1 - 0.5**k for k in range(depth)]


_WIDTH, _LENGTH = 16, 20


def _chain(operator: str) -> Specimen:
    """Return a specimen of two constant classes behind a chain of nodes: `Relu`, or `Add` with a number."""
    nodes = [helper.make_node(operator, [f"h{k}" if k else "x", *(["one"] if operator == "Add" else [])], [f"h{k + 1}"]) for k in range(_LENGTH)]
    nodes.append(helper.make_node("Gemm", [f"h{_LENGTH}", "w", "b"], ["y"], transB=1))
    tensors = [numpy_helper.from_array(np.array(values, np.float32), name) for name, values in (
        ("w", np.zeros((2, _WIDTH))), ("b", [1, 0] if operator == "Relu" else [0, 1]), ("one", [1]))]
    graph = helper.make_graph(nodes, "chain", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, _WIDTH])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 2])], tensors)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8, producer_name="")
    given = {"row": 0, "label": 0, "norm": "linf", "radius": "1", "radius_unit": "scaled", "clip": None, "scale": "1", "subtract": "0",
             "divide": "1", "semantics": "real"}
    return Specimen("robust", {"model": ("chain.onnx", bytes(made.SerializeToString(deterministic=True))),
                               "points": ("points.npy", npy(np.zeros((1, _WIDTH), np.uint8)))}, given, {"holds": True}, "bounds-tree",
                    {"arithmetic": "f64-gamma"}, {"tree": np.array([-1], "<i4")})
