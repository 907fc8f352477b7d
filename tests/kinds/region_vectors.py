# SPDX-License-Identifier: Apache-2.0
"""Test vectors of `region`: a clipped ramp over two inputs, its properties, and the attacks on them."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from kinds.attacks import Bases, Vector, put, say, shared, vector
from toolkit import Layers, Specimen, model

RAMP: Layers = (([[1, 0], [1, 0], [0, 1]], [0, -0.25, 0]), ([[1, -1, 0.125]], [0]))  # min(x_0+, 1/4) + x_1+/8
_HEAD = "(declare-const X_0 Real)\n(declare-const X_1 Real)\n(declare-const Y_0 Real)\n"
_BOX = "(assert (and (>= X_0 -1) (<= X_0 1) (>= X_1 -1.0) (<= X_1 1)))\n"


def specimen(unsafe: str, box: str = _BOX, layers: Layers = RAMP, **fields: object) -> Specimen:
    """Return a specimen of the ramp with an unsafe set given as VNN-LIB assertions."""
    made = Specimen("region", {"model": ("ramp.onnx", model(layers)), "property": ("ramp.vnnlib", (_HEAD + box + unsafe + "\n").encode())},
                    {"format": "vnnlib-1", "semantics": "real"}, {"holds": True}, "bounds-tree", {"arithmetic": "f64-gamma"},
                    {"tree": np.array([-1], "<i4")})
    made.box = made.network_box = ([Fraction(-1)] * 2, [Fraction(1)] * 2)
    for key, value in fields.items():
        setattr(made, key, value)
    return made


def bases() -> Bases:
    """Return the valid specimens that attacks start from."""
    leaf = specimen("(assert (>= Y_0 2))")
    split = specimen("(assert (>= Y_0 0.5))",
                     arrays={"tree": np.array([0, -1, -2], "<i4"), "split_at": np.array([0.0]), "recompute": np.ones(3, "|u1")})
    mixed = specimen("(assert (or (and (>= Y_0 2) (>= Y_0 3)) (and (>= Y_0 2.5) (>= Y_0 4))))",
                     arrays={"tree": np.array([0, -1, -2], "<i4"), "split_at": np.array([0.0]), "row": np.array([0, -1, -1, 1], "<i4"),
                             "mix": np.array([1.0, 2.0, 0.5, 0.25])})
    witness = specimen("(assert (>= Y_0 0.25))", says={"holds": False}, evidence="witness", items={"point": ["1/2", "1/3"]}, arrays={})
    return Bases(leaf, split, mixed, witness, [str(Fraction(1, 4) - Fraction(1, 10**30)), "-1"])


def vectors() -> Iterator[Vector]:
    """Yield all vectors of `region`."""
    yield from shared(bases())
    leaf = bases().leaf
    two = put(tree=("<i4", [-1, -2]))
    yield vector("two-parts", "verified", "", specimen("(assert (or (and (<= X_0 0) (>= Y_0 2)) (and (>= X_0 0) (>= Y_0 2))))"),
                 "none: one tree a part", two)
    yield vector("two-parts-one-tree", "rejected", "tree-malformed",
                 specimen("(assert (or (and (<= X_0 0) (>= Y_0 2)) (and (>= X_0 0) (>= Y_0 0.1))))"),
                 "only the first part is checked", effect="the second part is violated")
    yield vector("second-disjunct-open", "rejected", "leaf-uncovered", specimen("(assert (or (>= Y_0 2) (>= Y_0 0.25)))"),
                 "one closed conjunct is enough")
    yield vector("or-then-assert", "verified", "", specimen("(assert (or (>= Y_0 0.1) (>= Y_0 2)))\n(assert (>= Y_0 3))"),
                 "none: an assertion after an or is a conjunction")
    yield vector("or-then-assert-misread", "rejected", "leaf-uncovered", specimen("(assert (or (>= Y_0 0.1) (>= Y_0 2)))\n(assert (>= Y_0 0.2))"),
                 "an assertion after an or is read as one more disjunct, or replaces it")
    yield vector("inputs-only", "rejected", "leaf-uncovered", specimen(""), "no output atom, so nothing is unsafe", effect="the whole box is unsafe")
    yield vector("conjunct-without-rows", "rejected", "leaf-uncovered", specimen("(assert (or (>= Y_0 2) (<= X_0 1)))"),
                 "a conjunct without rows is skipped")
    yield vector("empty-region", "rejected", "claim-vacuous",
                 specimen("(assert (>= Y_0 0))", "(assert (and (>= X_0 1) (<= X_0 -1) (>= X_1 0) (<= X_1 1)))\n"),
                 "lower above upper gives a vacuous proof", effect="a proof of anything")
    yield vector("empty-disjunct-beside-another", "verified", "", specimen("(assert (or (and (>= X_0 2) (>= Y_0 0)) (>= Y_0 2)))"),
                 "none: empty disjuncts are counted")
    yield vector("all-false-constant", "rejected", "claim-vacuous", specimen("(assert (<= 1 0))"), "an unsatisfiable assertion proves everything")
    yield vector("point-box", "verified", "",
                 specimen("(assert (>= Y_0 2))", "(assert (and (>= X_0 0.1) (<= X_0 0.1) (>= X_1 0.5) (<= X_1 0.5)))\n"), "none: lo = hi")
    constrained = "(assert (and (<= (+ X_0 X_1) 1) (>= Y_0 2)))"
    yield vector("constrained-inputs", "verified", "", specimen(constrained, items={"arithmetic": "f64-gamma", "witness": ["0", "0"]}),
                 "none: a point shows inputs exist")
    yield vector("constrained-inputs-no-point", "rejected", "claim-vacuous", specimen(constrained), "linear input constraints may leave no input")
    yield vector("constrained-inputs-point-outside", "rejected", "claim-vacuous",
                 specimen(constrained, items={"arithmetic": "f64-gamma", "witness": ["1", "1"]}),
                 "the point is not compared with the constraints")
    yield vector("constrained-inputs-contradictory", "rejected", "claim-vacuous",
                 specimen("(assert (and (<= (+ X_0 X_1) -3) (>= Y_0 0)))", items={"arithmetic": "f64-gamma", "witness": ["-1", "-1"]}),
                 "contradictory constraints prove everything")
    yield vector("touching-the-unsafe-set", "rejected", "leaf-uncovered", specimen("(assert (<= Y_0 0))"),
                 ">= 0 in place of > 0: the unsafe set is closed",
                 effect="the boundary point is unsafe")
    yield vector("violated-on-the-boundary", "verified", "",
                 specimen("(assert (<= Y_0 0))", says={"holds": False}, evidence="witness", items={"point": ["0", "0"]}, arrays={}),
                 "none: equality counts as unsafe")
    yield vector("not-dyadic-point", "verified", "",
                 specimen("(assert (>= Y_0 0.25))", "(assert (and (>= X_0 0.3) (<= X_0 0.3) (>= X_1 0.1) (<= X_1 0.1)))\n", says={"holds": False},
                 evidence="witness", items={"point": ["3/10", "1/10"]}, arrays={}), "none: a region that holds no double")
    yield vector("rounded-point", "rejected", "outside-domain",
                 specimen("(assert (>= Y_0 0.25))", "(assert (and (>= X_0 0.3) (<= X_0 0.3) (>= X_1 0.1) (<= X_1 0.1)))\n",
                 says={"holds": False}, evidence="witness", items={"point": [str(Fraction(0.3)), "1/10"]}, arrays={}),
                 "a witness rounded to a double, outside a decimal box")
    yield vector("fixed-input", "verified", "",
                 specimen("(assert (>= Y_0 0.25))", "(assert (and (>= X_0 -1) (<= X_0 1) (>= X_1 0.5) (<= X_1 0.5)))\n", says={"holds": False},
                 evidence="witness", items={"point": ["1", "1/2"]}, arrays={}), "none: an input with lo = hi counts")
    yield vector("format-2", "declined", "feature-unsupported", leaf, "the format is not read", lambda s: s.given.update(format="vnnlib-2"),
                 flags=("later-version",))
    yield from _files(leaf)


def _files(leaf: Specimen) -> Iterator[Vector]:
    def model_file(data: bytes) -> dict[str, tuple[str, bytes]]:
        return {**leaf.files, "model": ("ramp.onnx", data)}

    def text(body: str) -> dict[str, tuple[str, bytes]]:
        return {**leaf.files, "property": ("ramp.vnnlib", body.encode())}

    whole, said = leaf.files["model"][1], leaf.files["property"][1].decode()
    for name, code, files, bug in (
        ("model-truncated", "onnx-wire", model_file(whole[:-7]), "a model that is cut off is read as far as it goes"),
        ("model-empty", "onnx-opset", model_file(b""), "an empty model is the identity"),
        ("model-with-trailing-bytes", "onnx-wire", model_file(whole + b"\0\0"), "bytes behind the model are ignored"),
        ("model-three-inputs", "vnnlib-shape", model_file(model((([[1, 0, 0]], [0]),))), "sizes are not compared"),
        ("model-nan-weight", "onnx-tensor", model_file(model((([[float("nan"), 0]], [0]),))), "comparisons with NaN are false"),
        ("model-two-outputs", "vnnlib-shape", model_file(model((([[1, 0], [0, 1]], [0, 0]),))), "sizes are not compared"),
        ("property-undeclared-variable", "vnnlib-name", text(said.replace("Y_0 2", "Y_1 2")), "an unknown variable is zero"),
        ("property-unbounded", "vnnlib-unbounded", text(said.replace("(>= X_0 -1) ", "")), "a missing bound is zero"),
        ("property-cut-off", "vnnlib-syntax", text(said.rstrip()[:-1]), "an open parenthesis is closed silently"),
        ("property-with-not", "vnnlib-operator", text(said + "(assert (not (<= Y_0 3)))\n"), "an unknown connective is skipped"),
        ("property-nonlinear", "vnnlib-nonlinear", text(said + "(assert (<= (* X_0 Y_0) 3))\n"), "a product of variables is read as one of them"),
        ("property-bad-number", "vnnlib-number", text(said.replace("2)", "2e)")), "a number is read as far as it goes"),
    ):
        yield vector(name, "declined", code, leaf, bug, say(files=files), flags=("subject",))
    yield vector("model-huge-weight", "rejected", "number-too-large", leaf, "overflow to infinity is above zero",
                 say(files=model_file(model(tuple([([[2.0**120, 0], [0, 1]], [0, 0])] * 3 + [([[1, 0]], [0])])))))
