# SPDX-License-Identifier: Apache-2.0
"""Test vectors of `region`: a clipped ramp over two inputs, its properties, and the attacks on them."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from kinds import arithmetic_vectors, limit_vectors
from kinds.attacks import Bases, Vector, put, say, shared, vector
from toolkit import Layers, Specimen, model

_POSITIVE: Layers = (([[1, 0]], [0]), ([[1]], [0]))  # x_0+
RAMP: Layers = (([[1, 0], [1, 0], [0, 1]], [0, -0.25, 0]), ([[1, -1, 0.125]], [0]))  # min(x_0+, 1/4) + x_1+/8
_HEAD = "(declare-const X_0 Real)\n(declare-const X_1 Real)\n(declare-const Y_0 Real)\n"
_BOX = "(assert (and (>= X_0 -1) (<= X_0 1) (>= X_1 -1.0) (<= X_1 1)))\n"
_HEAD_2 = "(vnnlib-version <2.0>)\n(declare-network ramp\n  (declare-input X float32 [1,2])\n  (declare-output Y float32 [1,1]))\n"
_BOX_2 = "(assert (and (>= X[0,0] -1.0) (<= X[0,0] 1.0) (>= X[0,1] -1.0) (<= X[0,1] 1.0)))\n"


def specimen(unsafe: str, box: str = _BOX, layers: Layers = RAMP, **fields: object) -> Specimen:
    """Return a specimen of the ramp with an unsafe set given as VNN-LIB assertions."""
    made = Specimen("region", {"model": ("ramp.onnx", model(layers)), "property": ("ramp.vnnlib", (_HEAD + box + unsafe + "\n").encode())},
                    {"format": "vnnlib-1", "semantics": "real"}, {"holds": True}, "bounds-tree", {"arithmetic": "f64-gamma"},
                    {"tree": np.array([-1], "<i4")})
    made.box = made.network_box = ([Fraction(-1)] * 2, [Fraction(1)] * 2)
    for key, value in fields.items():
        setattr(made, key, value)
    return made


def specimen_2(unsafe: str, box: str = _BOX_2, head: str = _HEAD_2, **fields: object) -> Specimen:
    """Return a specimen of the ramp with an unsafe set given as VNN-LIB 2.0 assertions."""
    made = specimen("", **fields)
    made.given["format"] = "vnnlib-2"
    made.files["property"] = ("ramp.vnnlib", (head + box + unsafe + "\n").encode())
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
    yield from arithmetic_vectors.shared(bases())
    yield from limit_vectors.shared(bases())
    yield from arithmetic_vectors.region(specimen)
    yield from _limits()
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
    yield from _halves()
    yield from _points()
    yield from _files(leaf)
    yield from _format_2()


def _halves() -> Iterator[Vector]:
    """Yield splits of input 0 with one half that is unsafe for one end of input 1."""
    for half in (1, -1):
        for end in (1, -1):
            layers: Layers = (([[half, 0], [0, end]], [0, 0]), ([[1, 0.125]], [0]))  # up to 1 + 1/8 where half x_0 > 0, and up to 1/8 elsewhere
            made = specimen("(assert (>= Y_0 1.0625))", layers=layers, arrays={"tree": np.array([0, -1, -2], "<i4"), "split_at": np.array([0.0])})
            name = f"{'upper' if half > 0 else 'lower'}-half-with-the-{'upper' if end > 0 else 'lower'}-end-of-another-input"
            yield vector(f"unsafe-{name}", "rejected", "leaf-uncovered", made, "a split changes the ends of other inputs",
                         effect="part of the half is never looked at")
    clipped: Layers = (([[-1, 0], [-1, 0], [0, 1]], [0, -0.5, 0]), ([[1, -1, 0.5]], [0]))  # min(x_0-, 1/2) + x_1+/2
    for name, level, at, code in (("closed", 1.15, [-0.5, 0.75], ""), ("open", 1.05, [0.25, 0.5], "leaf-uncovered")):
        # the bounds of the first leaf are its parent's, which were computed in one batch with those of the last
        arrays = {"tree": np.array([0, 0, -1, -2, -3], "<i4"), "split_at": np.array(at), "recompute": np.array([1, 1, 0, 1, 1], "|u1")}
        yield vector(f"own-and-inherited-bounds-{name}", "rejected" if code else "verified", code,
                     specimen(f"(assert (>= Y_0 {level}))", layers=clipped, arrays=arrays),
                     "leaves are closed by each other's bounds" if code else "none: each leaf has its own bounds, or those of its ancestor")


def _points() -> Iterator[Vector]:
    """Yield points that belong to one of several parts or conjuncts only."""
    def at(unsafe: str, *point: str) -> Specimen:
        return specimen(unsafe, says={"holds": False}, evidence="witness", items={"point": list(point)}, arrays={})

    either = "(assert (or (>= Y_0 5) (>= Y_0 0.25) (<= Y_0 -1)))"
    yield vector("point-of-one-conjunct", "verified", "", at(either, "1/2", "0"), "none: one conjunct is enough")
    yield vector("point-of-no-conjunct", "rejected", "witness-fails", at(either, "1/8", "0"), "the last conjunct alone counts, or none")
    parts = "(assert (or (and (<= X_0 0.75) (>= Y_0 5)) (and (>= X_0 0.25) (>= Y_0 0.25))))"
    yield vector("point-of-two-parts", "verified", "", at(parts, "1/2", "0"), "none: unsafe in one of the parts that hold it")
    yield vector("point-of-the-other-part", "rejected", "witness-fails", at(parts, "1/8", "1"),
                 "conjuncts of a part that does not hold the point count")
    yield vector("inhabitant-empty", "rejected", "malformed", specimen("(assert (>= Y_0 2))", items={"arithmetic": "f64-gamma", "witness": []}),
                 "a point without coordinates is no point, and is ignored")
    constrained = "(assert (or (and (<= (+ X_0 X_1) -3) (>= Y_0 2)) (and (<= (- X_0 X_1) 1) (>= Y_0 2))))"
    for name, point, code in (("in-one-conjunct", ["0", "0"], ""), ("in-no-conjunct", ["1", "-1"], "claim-vacuous"),
                              ("short", ["0"], "claim-vacuous"), ("long", ["0", "0", "0"], "claim-vacuous")):
        yield vector(f"inhabitant-{name}", "rejected" if code else "verified", code,
                     specimen(constrained, items={"arithmetic": "f64-gamma", "witness": point}),
                     "constraints of different conjuncts are mixed up" if code else "none: one conjunct has inputs")


def _limits() -> Iterator[Vector]:
    constrained = specimen("(assert (and (<= (+ X_0 X_1) 1) (>= Y_0 2)))", items={"arithmetic": "f64-gamma", "witness": ["1/3", "1/7"]})
    disjuncts = specimen("(assert (or (>= Y_0 2) (and (>= Y_0 3) (<= X_0 1) (<= (+ X_0 (* 2.5 X_1)) 4)) (>= (- Y_0 X_1) 2.5e0)))")
    yield from limit_vectors.pairs(("work", "table_cells", "memory"), disjuncts=disjuncts)
    for name, verdict, code, unsafe in (
        ("depth-32", "verified", "", f"(assert {'(and ' * 30}(>= Y_0 2){')' * 31}"),
        ("depth-33", "declined", "vnnlib-size", f"(assert {'(and ' * 31}(>= Y_0 2){')' * 32}"),
        ("number-of-1000", "verified", "", f"(assert (>= Y_0 2.{'0' * 998}))"), ("number-of-1001", "declined", "vnnlib-number",
                                                                                 f"(assert (>= Y_0 2.{'0' * 999}))"),
        ("exponent-of-4", "verified", "", "(assert (>= Y_0 2e0000))"), ("exponent-of-5", "declined", "vnnlib-number", "(assert (>= Y_0 2e00000))"),
    ):
        yield vector(f"property-{name}", verdict, code, specimen(unsafe), "none: at the limit" if not code else "sizes without a limit",
                     flags=("subject",))
    for name, count, code in (("at", 1 << 28, "vnnlib-shape"), ("above", (1 << 28) + 1, "vnnlib-size")):
        head = _HEAD_2.replace("[1,1]", f"[1,{count}]")
        yield vector(f"2-elements-{name}-the-limit", "declined", code, specimen_2("(assert (>= Y[0,0] 2.0))", head=head),
                     "sizes without a limit", flags=("subject",))
    combined = specimen("(assert (and (>= (+ Y_0 (* 0.5 X_0)) 9) (>= (+ Y_0 X_0 X_1) 8) (>= Y_0 7)))",
                        arrays={"tree": np.array([-1], "<i4"), "row": np.array([-1], "<i4"), "mix": np.array([1.0, 0.5, 2.0])})
    several = "(assert (or (and (<= X_0 0.75) (>= Y_0 5)) (and (>= (- X_0 X_1) -3) (>= (+ Y_0 X_0) 0.25)) (and (>= X_0 0.25) (<= Y_0 -1))))"
    long = specimen(several, says={"holds": False}, evidence="witness", arrays={},
                    items={"point": [str(Fraction(10**250 + 1, 2 * 10**250 + 3)), str(Fraction(10**300 + 7, 3 * 10**301 + 1))]})
    inhabited = specimen("(assert (or (and (<= (+ X_0 X_1) 1) (>= Y_0 2)) (and (<= (- X_0 X_1) 1) (>= Y_0 3) (>= (+ Y_0 X_1) 2))))",
                         items={"arithmetic": "f64-gamma", "witness": long.items["point"]})
    fine = specimen("(assert (>= Y_0 2))", layers=(([[1, 0], [2.0**-70, 1]], [0, 0.5]), ([[1, 2.0**-60]], [0])),
                    items={"arithmetic": "exact-int", "fraction_bits": 62})
    many = specimen("(assert (or " + " ".join(f"(>= Y_0 {k})" for k in range(5, 45)) + "))", items={"arithmetic": "exact-int", "fraction_bits": 60},
                    layers=(([[1, 0], [0, 1], [0, 1]], [0, 0, -9]), ([[1, 1, 1], [0, 1, -1]], [0, 0]), ([[1, 0.125]], [0])))
    yield from limit_vectors.pairs(("work",), fine_weights=fine, many_rows_exact_int=many)
    yield from limit_vectors.pairs(("work",), combined=combined, long_point=long, long_inhabitant=inhabited)
    yield from limit_vectors.pairs(("work",), constrained=constrained, format_2=specimen_2("(assert (or (>= Y[0,0] 2.0) (== Y[0,0] 3.0)))"))


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


def _format_2() -> Iterator[Vector]:
    """Yield the vectors of VNN-LIB 2.0."""
    leaf = specimen_2("(assert (>= Y[0,0] 2.0))")

    def at(*point: str) -> dict[str, object]:
        return {"says": {"holds": False}, "evidence": "witness", "items": {"point": list(point)}, "arrays": {}}

    yield vector("format-2", "verified", "", leaf, "none: a property in VNN-LIB 2.0")
    yield vector("format-2-read-as-1", "declined", "vnnlib-operator", leaf, "the format is guessed from the file",
                 lambda s: s.given.update(format="vnnlib-1"))
    yield vector("format-1-read-as-2", "declined", "vnnlib-syntax", specimen("(assert (>= Y_0 2))"), "the format is guessed from the file",
                 lambda s: s.given.update(format="vnnlib-2"))
    for name, verdict, code, unsafe, bug in (
        ("strict-unsafe-set-touched", "verified", "", "(< Y[0,0] 0.0)", "none: y = x_0+ touches y < 0 and does not reach it"),
        ("closed-unsafe-set-touched", "rejected", "leaf-uncovered", "(<= Y[0,0] 0.0)", "a bound of 0 closes a conjunct that is not strict"),
        ("equation-touched", "rejected", "leaf-uncovered", "(== Y[0,0] 0.0)", "the rows of an equation are read as strict"),
        ("strict-and-closed-row-touched", "verified", "", "(and (<= Y[0,0] 0.0) (< Y[0,0] 0.0))", "none: the second row is strict"),
        ("strict-row-in-a-combination", "verified", "", "(and (<= Y[0,0] 0.0) (< Y[0,0] 0.0))", "none: a strict row with a multiplier above 0"),
        ("strict-row-with-multiplier-zero", "rejected", "leaf-uncovered", "(and (<= Y[0,0] 0.0) (< Y[0,0] 2.0))",
         "a row that takes no part makes a combination strict"),
        ("strictness-of-another-row", "rejected", "leaf-uncovered", "(and (<= Y[0,0] 0.0) (< Y[0,0] 2.0))",
         "one strict row makes the conjunct strict"),
    ):
        box = _BOX_2.replace("(<= X[0,0] 1.0)", "(<= X[0,0] 0.5)")
        made = specimen_2(f"(assert {unsafe})", box, layers=_POSITIVE, items={"arithmetic": "exact-int", "fraction_bits": 16})
        if name.startswith("strict-row"):
            made.arrays |= {"row": np.array([-1], "<i4"), "mix": np.array([1.0, 0.0 if code else 1.0])}
        yield vector(name, verdict, code, made, bug, effect="the boundary point is unsafe" if code else "")
    yield vector("strict-unsafe-set-reached", "rejected", "leaf-uncovered", specimen_2("(assert (< Y[0,0] 0.25))"), "a strict row is always closed",
                 effect="the unsafe set is reached")
    yield vector("strict-witness-on-the-boundary", "rejected", "witness-fails", specimen_2("(assert (> Y[0,0] 0.25))", **at("1/4", "0")),
                 "a strict comparison is read as its closed form", effect="the point is safe")
    yield vector("closed-witness-on-the-boundary", "verified", "", specimen_2("(assert (>= Y[0,0] 0.25))", **at("1/4", "0")), "none: >= is closed")
    yield vector("equation-witness", "verified", "", specimen_2("(assert (== Y[0,0] 0.25))", **at("1/4", "0")), "none: equality, exactly")
    yield vector("equation-witness-beside", "rejected", "witness-fails",
                 specimen_2("(assert (== Y[0,0] 0.25))", **at("1/4", str(Fraction(1, 10**30)))),
                 "an equation holds up to a tolerance, or is read as one inequality")
    open_end = _BOX_2.replace("(<= X[0,0] 1.0)", "(< X[0,0] 0.25)")
    yield vector("open-end-witness", "rejected", "outside-domain", specimen_2("(assert (>= Y[0,0] 0.25))", open_end, **at("1/4", "0")),
                 "a strict bound of an input is closed", effect="the point is outside the region")
    yield vector("open-end-witness-inside", "verified", "",
                 specimen_2("(assert (> Y[0,0] 0.2))", open_end, **at(str(Fraction(1, 4) - Fraction(1, 10**30)), "0")),
                 "none: next to an open end")
    yield vector("open-end-proof", "verified", "", specimen_2("(assert (>= Y[0,0] 2.0))", open_end), "none: the closed box is safe")
    yield vector("open-end-proof-of-the-boundary", "rejected", "leaf-uncovered",
                 specimen_2("(assert (>= Y[0,0] 0.25))", open_end.replace("(<= X[0,1] 1.0)", "(<= X[0,1] 0.0)")),
                 "bounds of the open box are claimed strict", effect="none: true, but bounds are those of the closed box")
    half_open = "(assert (and (< X[0,0] 0.5) (>= X[0,0] 0.5) (>= X[0,1] -1.0) (<= X[0,1] 1.0)))\n"
    for name, box, bug in (
        ("open-and-closed-end-meet", half_open, "an interval without points is a point"),
        ("open-ends-meet", half_open.replace(">= X[0,0]", "> X[0,0]"), "an interval without points is a point"),
        ("two-equations", half_open.replace("(< X[0,0] 0.5)", "(== X[0,0] 0.25)"), "the last equation wins"),
        ("strict-false", _BOX_2 + "(assert (< 0.0 0.0))\n", "0 < 0 is read as 0 <= 0"),
    ):
        yield vector(name, "rejected", "claim-vacuous", specimen_2("(assert (>= Y[0,0] 2.0))", box), bug, effect="a proof of anything")
    point_box = "(assert (and (== X[0,0] 0.25) (== X[0,1] 0.0)))\n"
    yield vector("point-box-by-equations", "verified", "", specimen_2("(assert (>= Y[0,0] 2.0))", point_box),
                 "none: equations bound an input on both sides")
    constrained = "(assert (and (< (+ X[0,0] X[0,1]) 1.0) (>= Y[0,0] 2.0)))"
    for name, verdict, code, point in (("inside", "verified", "", "-1"), ("on-the-boundary", "rejected", "claim-vacuous", "0")):
        yield vector(f"strict-constraint-point-{name}", verdict, code,
                     specimen_2(constrained, items={"arithmetic": "f64-gamma", "witness": ["1", point]}),
                     "none: a point inside a strict constraint" if not code else "a point on a strict constraint counts as inside")
    yield vector("or-of-equation", "rejected", "leaf-uncovered", specimen_2("(assert (or (>= Y[0,0] 2.0) (== Y[0,0] 0.25)))"),
                 "an equation in an or is dropped, or is two disjuncts of which one is closed")
    yield vector("other-order-of-elements", "verified", "",
                 specimen_2("(assert (>= Y[0,0] 0.2))", "(assert (and (== X[0,0] -1.0) (>= X[0,1] -1.0) (<= X[0,1] 1.0)))\n"),
                 "none: X[0,1] is input 1")
    yield vector("other-order-of-elements-misread", "rejected", "leaf-uncovered",
                 specimen_2("(assert (>= Y[0,0] 0.2))", "(assert (and (== X[0,1] -1.0) (>= X[0,0] -1.0) (<= X[0,0] 1.0)))\n"),
                 "indices are read in Fortran order, or by name only", effect="input 0 makes the network unsafe")
    yield from _files_2(leaf)


def _files_2(leaf: Specimen) -> Iterator[Vector]:
    said = leaf.files["property"][1].decode()
    flat = said.replace("[1,2]", "[2]").replace("X[0,", "X[")
    for name, code, text, bug in (
        ("no-version", "vnnlib-syntax", said.replace("(vnnlib-version <2.0>)\n", ""), "the version is optional"),
        ("later-version", "vnnlib-operator", said.replace("<2.0>", "<2.1>"), "another version is read as this one"),
        ("exponent", "vnnlib-number", said.replace("2.0))", "2.0e0))"), "a number is read as far as it goes"),
        ("no-digit-before-the-point", "vnnlib-number", said.replace(" 2.0))", " .5))"), "numbers of 1.0 are read"),
        ("not-equal", "vnnlib-operator", said + "(assert (!= Y[0,0] 3.0))\n", "an unknown comparison is skipped"),
        ("single-equals-sign", "vnnlib-operator", said + "(assert (= Y[0,0] 3.0))\n", "= is read as =="),
        ("chain", "vnnlib-syntax", said + "(assert (< 0.0 Y[0,0] 3.0))\n", "the third side is ignored"),
        ("index-outside", "vnnlib-name", said.replace("Y[0,0]", "Y[0,1]"), "an index wraps around, or an unknown variable is zero"),
        ("index-negative", "vnnlib-name", said.replace("Y[0,0]", "Y[0,-1]"), "a negative index counts from the end"),
        ("index-of-another-rank", "vnnlib-name", said.replace("Y[0,0]", "Y[0]"), "a missing index is zero"),
        ("name-twice", "vnnlib-name", said.replace("declare-output Y", "declare-output X"), "the second declaration wins"),
        ("three-inputs", "vnnlib-shape", said.replace("[1,2]", "[1,3]").replace("(<= X[0,1] 1.0)", "(<= X[0,1] 1.0) (== X[0,2] 0.0)"),
         "sizes are not compared"),
        ("dimension-of-zero", "vnnlib-shape", said.replace("[1,1]", "[1,0]"), "an empty output is safe"),
        ("two-outputs", "vnnlib-shape", said.replace("[1,1]", "[1,2]"), "sizes are not compared"),
        ("two-networks", "vnnlib-operator",
         said.replace("(assert", "(declare-network b (declare-input Z real [1]) (declare-output W real [1]))\n(assert", 1),
         "the second network is ignored"),
        ("equal-to", "vnnlib-operator", said.replace("ramp\n", "ramp (equal-to other)\n"), "a relation between networks is ignored"),
        ("hidden", "vnnlib-operator", said.replace("  (declare-output", '  (declare-hidden H float32 [1,3] "h0")\n  (declare-output'),
         "a hidden node is ignored"),
        ("onnx-name", "vnnlib-operator", said.replace("[1,1])", '[1,1] "h0")'), "the name of a node is ignored"),
        ("element-type", "vnnlib-operator", said.replace("X float32", "X int8"), "integers are read as reals"),
        ("unbounded", "vnnlib-unbounded", said.replace("(>= X[0,0] -1.0) ", ""), "a missing bound is zero"),
        ("nonlinear", "vnnlib-nonlinear", said + "(assert (<= (* 2.0 X[0,0] Y[0,0]) 3.0))\n", "a product of variables is read as one of them"),
        ("lone-carriage-return", "vnnlib-syntax", said + "; a comment\r(assert (>= Y[0,0] 3.0))\n", "readers differ in where a comment ends"),
    ):
        changed = say(files={**leaf.files, "property": ("ramp.vnnlib", text.encode())})
        yield vector(f"2-{name}", "declined", code, leaf, bug, changed, flags=("subject",))
    yield vector("2-flat-shape", "verified", "", leaf, "none: a flat shape fits any network of its size",
                 say(files={**leaf.files, "property": ("ramp.vnnlib", flat.encode())}))
