# SPDX-License-Identifier: Apache-2.0
"""Test vectors of `accuracy`: seven points of a ramp against a constant level, and what could be counted wrongly."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from kinds import limit_vectors
from kinds.attacks import Vector, ask, put, say, vector
from kinds.robust_vectors import classifier
from toolkit import Specimen, model, npy

LEVEL = 27 / 64
# With f_0 = min(x_0+, 1/4) + x_1+/8 against the level, radius 1 in scaled units: row 0 is right at its point and not robust, 1 and 2 are robust
# (1 with a split at 0), 3 is wrong, 4 and 5 are not listed, 6 is a tie at its point.
POINTS = np.array([[8, 8], [0, 0], [16, 4], [0, 0], [0, 0], [32, 0], [16, 22]], np.uint8)
LABELS = np.array([1, 1, 1, 0, 1, 1, 1])
_POINTS_CSV = b"a,b\n" + b"".join(b"%d,%d\n" % tuple(row) for row in POINTS.tolist())
_LABELS_CSV = b"label\n" + b"".join(b"%d\n" % label for label in LABELS.tolist())


def specimen(**fields: object) -> Specimen:
    """Return the specimen that most attacks start from: 2 robust rows, 1 wrong, 1 with a witness, 3 that nothing is said of."""
    files = {"model": ("ramp.onnx", model(classifier(LEVEL))), "points": ("points.npy", npy(POINTS)), "labels": ("labels.npy", npy(LABELS))}
    given = {"norm": "linf", "radius": "1", "radius_unit": "scaled", "clip": None, "scale": "1/16", "subtract": "0", "divide": "1",
             "semantics": "real"}
    arrays = {"tree": np.array([0, -1, -2, -3], "<i4"), "split_at": np.array([0.0]), "recompute": np.ones(4, "|u1"),
              "robust_row": np.array([1, 2], "<i4"), "wrong_row": np.array([3], "<i4"), "witness_row": np.array([0], "<i4"),
              "witness": np.array([[1.0, 1.5]])}
    made = Specimen("accuracy", files, given, told(2, 2), "robust-rows", {"arithmetic": "f64-gamma"}, arrays)
    for key, value in fields.items():
        setattr(made, key, value)
    return made


def told(robust: int, not_robust: int, of: int = len(POINTS)) -> dict[str, Any]:
    """Return `says`."""
    return {"robust_at_least": robust, "not_robust_at_least": not_robust, "of": of}


def robust_only(**fields: object) -> Specimen:
    """Return a specimen with the robust rows only."""
    made = specimen(says=told(2, 0), **fields)
    for name in ("wrong_row", "witness_row", "witness"):
        del made.arrays[name]
    return made


def wrong_only(**fields: object) -> Specimen:
    """Return a specimen without a tree: one row that is wrong at its own point."""
    return specimen(**{"says": told(0, 1), "items": {}, "arrays": {"wrong_row": np.array([3], "<i4")}, **fields})


def slopes(last: list[int]) -> Callable[[Specimen], None]:
    """Return a change that closes row 2 with a set of lower slopes a/255."""
    return put(slope=("|u1", [last]), leaf_slope=("<i4", [-1, -1, 0]))


def neuron(beta: list[float] | None, item: int = 3) -> Callable[[Specimen], None]:
    """Return a change that closes row 2 by a split on the sign of x_0 - 1/4 (item 3), with multipliers of its two leaves."""
    tree = put(tree=("<i4", [0, -1, -2, item, -3, -4]), recompute=("|u1", [1] * 6))
    return tree if beta is None else both(tree, put(beta=("<f8", beta)))


def both(*changes: Callable[[Specimen], None]) -> Callable[[Specimen], None]:
    """Return all changes, one behind the other."""
    def change(made: Specimen) -> None:
        for one in changes:
            one(made)
    return change


def file(role: str, name: str, data: bytes) -> Callable[[Specimen], None]:
    """Return a change of a subject file, with its digest."""
    return lambda made: made.files.update({role: (name, data)})


def labelled(*values: float) -> Callable[[Specimen], None]:
    """Return a change of the labels file."""
    return file("labels", "labels.npy", npy(np.array(values)))


def vectors() -> Iterator[Vector]:
    """Yield all vectors of `accuracy`."""
    yield from _verified()
    yield from _counts()
    yield from _trees()
    yield from _points_shown()
    yield from _arrays()
    yield from _questions()
    yield from _files()
    yield from _envelope()
    yield from _limits()


def _verified() -> Iterator[Vector]:
    whole = specimen()
    yield vector("all-forms", "verified", "", whole, "none: robust, wrong, witnessed and unlisted rows")
    yield vector("robust-rows-only", "verified", "", robust_only(), "none: no row is shown not to be robust")
    yield vector("wrong-rows-only", "verified", "", wrong_only(), "none: no tree is needed")
    yield vector("witnessed-rows-only", "verified", "", wrong_only(arrays={"witness_row": np.array([0], "<i4"), "witness": np.array([[1.0, 1.5]])}),
                 "none: no tree is needed")
    yield vector("no-row-listed", "verified", "", specimen(says=told(0, 0), items={}, arrays={}),
                 "none: at least 0 and at least 0 is true of any file")
    yield vector("a-tie-is-wrong", "verified", "", wrong_only(arrays={"wrong_row": np.array([3, 6], "<i4")}, says=told(0, 2)),
                 "none: a tie is not an answer")
    yield vector("a-tie-refutes", "verified", "", whole, "none: a tie is a counterexample", put(witness=("<f8", [[1.0, 1.375]])))
    yield vector("witness-for-a-wrong-row", "verified", "",
                 wrong_only(arrays={"witness_row": np.array([3], "<i4"), "witness": np.array([[0.5, 0.5]])}),
                 "none: any point of the ball will do")
    yield vector("exec32", "verified", "", robust_only(assumptions=[]), "none: robust in every float32 execution", ask(semantics="exec32"))
    yield vector("exact-int", "verified", "", whole, "none: integers", say(items={"arithmetic": "exact-int", "fraction_bits": 64}))
    yield vector("exec32-in-integers", "verified", "", robust_only(assumptions=[]), "none: both",
                 both(ask(semantics="exec32"), say(items={"arithmetic": "exact-int", "fraction_bits": 64})))
    yield vector("slope-sets", "verified", "", whole, "none: a row with its own lower slopes", slopes([0, 255, 0]))
    yield vector("split-on-a-neuron", "verified", "", whole, "none: the second half needs a multiplier of its split", neuron([0.0, 1.0]))
    yield vector("rows-named", "verified", "", whole, "none: the one row of each conjunct, by its number", put(row=("<i4", [0, 0, 0])))
    yield vector("three-classes", "verified", "", whole, "none: two conjuncts a row", file("model", "ramp.onnx", model(classifier(LEVEL, 0.25))))
    yield vector("tables", "verified", "", whole, "none: points and labels as tables of decimals",
                 both(file("points", "points.csv", _POINTS_CSV), file("labels", "labels.csv", _LABELS_CSV)))
    yield vector("radius-raw", "verified", "", whole, "none: a raw radius is multiplied by scale", ask(radius="16", radius_unit="raw"))
    yield vector("norm-l2", "verified", "", whole, "none: balls of another norm", both(ask(norm="l2"), put(witness=("<f8", [[0.5, 1.5]]))))
    yield vector("norm-l1", "verified", "", whole, "none: balls of another norm", both(ask(norm="l1"), put(witness=("<f8", [[0.5, 1.5]]))))
    yield vector("preprocessed", "verified", "", robust_only(), "none: one value a channel",
                 both(ask(subtract=["0", "1/4"], divide=["1", "2"]), file("model", "ramp.onnx", model(classifier(0.75)))))
    yield vector("clip-excludes-an-unlisted-row", "verified", "", whole, "none: nothing is said of that row", ask(clip=["-1", "3/2"]))
    yield vector("label-beyond-outputs-unlisted", "verified", "", whole, "none: nothing is said of that row", labelled(1, 1, 1, 0, 9, -1, 1))
    carried = specimen()
    carried.inputs = {hashlib.sha256(data).hexdigest(): data for _, data in carried.files.values()}
    yield vector("carries-its-subjects", "verified", "", carried, "none: subjects inside the certificate need no file", files=[])


def _counts() -> Iterator[Vector]:
    whole, robust = specimen(), robust_only()
    for name, says in (("robust-overstated", told(3, 2)), ("not-robust-overstated", told(2, 3)), ("robust-understated", told(1, 2)),
                       ("not-robust-understated", told(2, 1)), ("counts-swapped", told(0, 2)), ("of-overstated", told(2, 2, 8)),
                       ("of-understated", told(2, 2, 6)), ("of-is-what-is-listed", told(2, 2, 4))):
        base = robust if name == "counts-swapped" else whole
        yield vector(name, "rejected", "says-mismatch", base, "counts are the author's", say(says=says),
                     effect="accuracy above what was shown" if "over" in name else "")
    yield vector("nothing-shown", "rejected", "says-mismatch", whole, "counts are the author's", say(items={}, arrays={}),
                 effect="a proof of anything")
    yield vector("robust-row-twice", "rejected", "row-duplicate", whole, "a row counts twice",
                 both(put(robust_row=("<i4", [2, 2]), tree=("<i4", [-1, -2]), split_at=None, recompute=None)), effect="accuracy above what was shown")
    yield vector("wrong-row-twice", "rejected", "row-duplicate", whole, "a row counts twice",
                 both(put(wrong_row=("<i4", [3, 3])), say(says=told(2, 3))))
    yield vector("witness-row-twice", "rejected", "row-duplicate", whole, "a row counts twice",
                 both(put(witness_row=("<i4", [0, 0]), witness=("<f8", [[1.0, 1.5], [1.0, 1.5]])), say(says=told(2, 3))))
    yield vector("row-wrong-and-witnessed", "rejected", "row-duplicate", whole, "a row counts in two lists",
                 both(put(witness_row=("<i4", [0, 3]), witness=("<f8", [[1.0, 1.5], [0.5, 0.5]])), say(says=told(2, 3))))
    yield vector("row-robust-and-witnessed", "rejected", "row-duplicate", whole, "lists are not compared",
                 both(put(witness_row=("<i4", [0, 1]), witness=("<f8", [[1.0, 1.5], [0.5, 1.5]])), say(says=told(2, 3))))
    yield vector("row-robust-and-wrong", "rejected", "row-duplicate", whole, "lists are not compared",
                 both(put(wrong_row=("<i4", [1, 3])), say(says=told(2, 3))))
    yield vector("rows-descending", "rejected", "row-duplicate", whole, "a second form of a list: the order of trees is the author's",
                 put(robust_row=("<i4", [2, 1]), tree=("<i4", [-1, 0, -2, -3])))
    yield vector("row-beyond-the-file", "rejected", "evidence-range", whole, "rows wrap around", put(wrong_row=("<i4", [7])))
    yield vector("robust-row-beyond-the-file", "rejected", "evidence-range", whole, "rows wrap around", put(robust_row=("<i4", [1, 7])))
    yield vector("row-negative", "rejected", "evidence-range", whole, "negative rows count from the end", put(wrong_row=("<i4", [-4])),
                 effect="a row counts twice")
    yield vector("last-row-as-minus-one-too", "rejected", "evidence-range", specimen(says=told(2, 3)), "negative rows count from the end",
                 put(wrong_row=("<i4", [-1, 6])), effect="a row counts twice")


def _trees() -> Iterator[Vector]:
    whole, robust = specimen(), robust_only()
    yield vector("trees-swapped", "rejected", "leaf-uncovered", whole, "trees are not tied to rows", put(tree=("<i4", [-1, 0, -2, -3])))
    yield vector("another-rows-tree", "rejected", "leaf-uncovered", robust, "the tree of row 1 shows something of row 0",
                 put(robust_row=("<i4", [0, 2])), effect="a row that is not robust counts as robust")
    yield vector("unlisted-tie-as-robust", "rejected", "leaf-uncovered", robust, ">= 0 in place of > 0", put(robust_row=("<i4", [1, 6])))
    yield vector("wrong-row-as-robust", "rejected", "leaf-uncovered", robust, "the network's answer in place of the label",
                 put(robust_row=("<i4", [2, 3]), tree=("<i4", [-1, 0, -2, -3])))
    yield vector("one-tree-for-two-rows", "rejected", "tree-malformed", robust, "a row without a tree is robust",
                 put(tree=("<i4", [0, -1, -2]), recompute=("|u1", [1, 1, 1])), effect="a proof of anything")
    yield vector("tree-left-over", "rejected", "tree-malformed", robust, "left-over trees are ignored",
                 put(tree=("<i4", [0, -1, -2, -3, -4]), recompute=("|u1", [1] * 5)))
    yield vector("leaves-numbered-by-row", "rejected", "tree-malformed", robust, "leaf numbers start again for each row",
                 put(tree=("<i4", [0, -1, -2, -1])))
    yield vector("subtree-pruned", "rejected", "leaf-uncovered", robust, "a leaf is accepted without its bound",
                 put(tree=("<i4", [-1, -2]), split_at=None, recompute=None))
    yield vector("threshold-outside-this-rows-box", "rejected", "branch-invalid", robust, "the box of another row is split",
                 put(tree=("<i4", [0, -1, -2, 0, -3, -4]), split_at=("<f8", [0.0, -0.5]), recompute=("|u1", [1] * 6)))
    yield vector("root-inherits-from-another-row", "rejected", "evidence-range", robust, "bounds of one row serve another",
                 put(recompute=("|u1", [1, 1, 1, 0])))
    yield vector("slopes-too-flat", "rejected", "leaf-uncovered", whole, "the default slopes in place of the given ones", slopes([0, 0, 0]))
    yield vector("slopes-for-other-neurons", "rejected", "array-shape", whole, "missing slopes are 0", slopes([0, 255]))
    yield vector("slope-set-beyond-the-list", "rejected", "evidence-range", whole, "indices wrap around",
                 put(slope=("|u1", [[0, 255, 0]]), leaf_slope=("<i4", [-1, 0, 1])))
    yield vector("multipliers-missing", "rejected", "leaf-uncovered", whole, "the sign of the neuron is used as if it bounded the inputs",
                 neuron(None))
    yield vector("multipliers-exchanged", "rejected", "leaf-uncovered", whole, "multipliers are not tied to leaves", neuron([1.0, 0.0]))
    yield vector("multiplier-negative", "rejected", "evidence-range", whole, "multipliers of any sign", neuron([-1.0, 1.0]))
    yield vector("multipliers-too-few", "rejected", "array-shape", whole, "missing multipliers are 0", neuron([1.0]))
    yield vector("multipliers-too-many", "rejected", "unused-evidence", whole, "left-over multipliers are ignored", neuron([0.0, 1.0, 1.0]))
    yield vector("neuron-beyond-the-network", "rejected", "branch-invalid", whole, "items are not bounded by the subject", neuron([0.0, 1.0], 5))
    yield vector("multipliers-without-robust-rows", "rejected", "unused-evidence", wrong_only(), "arrays that nothing needs",
                 put(beta=("<f8", [1.0])))
    yield vector("tree-without-robust-rows", "rejected", "unused-evidence", wrong_only(), "a tree that no row needs",
                 both(put(tree=("<i4", [-1])), say(items={"arithmetic": "f64-gamma"})))
    yield vector("arithmetic-without-robust-rows", "rejected", "unused-evidence", wrong_only(), "items that nothing needs",
                 say(items={"arithmetic": "f64-gamma"}))
    yield vector("slopes-without-robust-rows", "rejected", "unused-evidence", wrong_only(), "arrays that nothing needs",
                 put(slope=("|u1", [[1, 2, 3]])))
    yield vector("robust-rows-without-a-tree", "rejected", "array-shape", robust, "no tree: nothing to fail",
                 put(tree=None, split_at=None, recompute=None), effect="a proof of anything")
    yield vector("robust-rows-without-arithmetic", "rejected", "array-shape", robust, "a missing item has a default", say(items={}))
    yield vector("fraction-bits-missing", "rejected", "evidence-range", robust, "a missing item has a default",
                 say(items={"arithmetic": "exact-int"}))
    yield vector("fraction-bits-for-binary64", "rejected", "unused-evidence", robust, "items that nothing needs",
                 say(items={"arithmetic": "f64-gamma", "fraction_bits": 64}))
    yield vector("fraction-bits-too-few", "rejected", "evidence-range", robust, "a range that is not checked",
                 say(items={"arithmetic": "exact-int", "fraction_bits": 15}))
    yield vector("other-arithmetic", "declined", "version-unknown", robust, "the name of the arithmetic is not read",
                 say(items={"arithmetic": "f64-fast"}))


def _points_shown() -> Iterator[Vector]:
    whole = specimen()

    def at(x: float, y: float) -> Callable[[Specimen], None]:
        return put(witness=("<f8", [[x, y]]))

    yield vector("witness-outside-the-ball", "rejected", "outside-domain", whole, "the ball is not asked", at(1.0, 2.0))
    yield vector("witness-outside-by-a-hair", "rejected", "outside-domain", whole, "a tolerance on the ball", at(1.0, float(np.nextafter(1.5, 2))))
    yield vector("witness-in-the-corner-of-l2", "rejected", "outside-domain", whole, "the box around the ball in its place", ask(norm="l2"))
    yield vector("witness-in-the-corner-of-l1", "rejected", "outside-domain", whole, "the box around the ball in its place", ask(norm="l1"))
    yield vector("witness-outside-the-clip", "rejected", "outside-domain", whole, "witnesses are not clipped", ask(clip=["-1", "5/4"]))
    yield vector("witness-of-another-row", "rejected", "outside-domain", whole, "witnesses are not tied to rows",
                 put(witness_row=("<i4", [5])))
    yield vector("label-wins-at-the-witness", "rejected", "witness-fails", whole, "the outputs are not computed", at(1.0, 0.5))
    yield vector("label-wins-by-a-hair", "rejected", "witness-fails", whole, "a tolerance on the outputs", at(1.0, float(np.nextafter(1.375, 0))))
    yield vector("wrong-row-is-right", "rejected", "witness-fails", whole, "the outputs are not computed", put(wrong_row=("<i4", [4])),
                 effect="more rows than true are called not robust")
    yield vector("witness-missing", "rejected", "array-shape", whole, "a row without a point counts", put(witness=None))
    yield vector("witness-rows-missing", "rejected", "array-shape", whole, "points that no row needs",
                 both(put(witness_row=None), say(says=told(2, 1))))
    yield vector("witness-empty", "rejected", "array-shape", wrong_only(), "a second form of absence", put(witness=np.zeros((0, 2))))
    yield vector("witness-short", "rejected", "array-shape", whole, "missing coordinates are zero", put(witness=("<f8", [[1.0]])))
    yield vector("witness-long", "rejected", "array-shape", whole, "further coordinates are ignored", put(witness=("<f8", [[1.0, 1.5, 0.0]])))
    yield vector("witness-flat", "rejected", "array-shape", whole, "another shape is reshaped", put(witness=("<f8", [1.0, 1.5])))
    yield vector("witness-left-over", "rejected", "array-shape", whole, "left-over points are ignored",
                 put(witness=("<f8", [[1.0, 1.5], [1.0, 1.5]])))
    yield vector("witness-nan", "rejected", "array-nonfinite", whole, "comparisons with NaN are false", at(float("nan"), 1.5))
    yield vector("witness-single-precision", "rejected", "array-dtype", whole, "another type is cast", put(witness=("<f4", [[1.0, 1.5]])))
    for name in ("wrong", "witnessed"):
        arrays = ({"wrong_row": np.array([3], "<i4")} if name == "wrong"
                  else {"witness_row": np.array([0], "<i4"), "witness": np.array([[1.0, 1.5]])})
        yield vector(f"exec32-{name}", "rejected", "evidence-kind", wrong_only(arrays=arrays, assumptions=[]),
                     "a point over the reals shows something of every float32 execution", ask(semantics="exec32"))
    yield vector("exec32-beside-robust-rows", "rejected", "evidence-kind", specimen(assumptions=[]),
                 "a point over the reals shows something of every float32 execution", ask(semantics="exec32"))


def _arrays() -> Iterator[Vector]:
    whole = specimen()
    for name in ("robust_row", "wrong_row", "witness_row"):
        yield vector(f"{name.replace('_', '-')}-empty", "rejected", "unused-evidence", whole, "a second form of absence", put(**{name: ("<i4", [])}))
    yield vector("rows-wide", "rejected", "array-dtype", whole, "another integer type is cast", put(robust_row=("<i8", [1, 2])))
    yield vector("rows-of-rank-two", "rejected", "array-shape", whole, "another rank is flattened", put(robust_row=("<i4", [[1, 2]])))
    yield vector("unknown-array", "rejected", "unused-evidence", whole, "unknown arrays are ignored", put(open_row=("<i4", [4])))
    yield vector("reserved-array", "declined", "feature-unsupported", whole, "arrays of a later version are ignored", put(tangent=("<f8", [0.0])),
                 flags=("later-version",))


def _questions() -> Iterator[Vector]:
    whole, robust = specimen(), robust_only()
    yield vector("radius-enlarged", "rejected", "leaf-uncovered", robust, "the radius of the claim is not used: row 2 then reaches a tie",
                 ask(radius="9/8"))
    yield vector("radius-reduced", "rejected", "outside-domain", whole, "the radius is not used for witnesses", ask(radius="1/2"))
    yield vector("radius-zero", "rejected", "radius-sign", whole, "a ball of radius 0", ask(radius="0"))
    yield vector("radius-negative", "rejected", "radius-sign", whole, "a negative radius gives empty boxes", ask(radius="-1"),
                 effect="a proof of anything")
    yield vector("radius-unit-swapped", "rejected", "outside-domain", whole, "the unit of the radius is not read", ask(radius_unit="raw"))
    yield vector("clip-excludes-a-robust-row", "rejected", "outside-domain", robust, "a clip that empties the ball", ask(clip=["-1", "3/4"]),
                 effect="a proof of anything")
    yield vector("clip-excludes-a-wrong-row", "rejected", "outside-domain", wrong_only(), "a point outside the clip counts", ask(clip=["1/8", "3"]))
    yield vector("clip-reversed", "rejected", "outside-domain", robust, "a clip that empties the ball", ask(clip=["1", "0"]),
                 effect="a proof of anything")
    yield vector("clip-reversed-without-a-listed-row", "rejected", "outside-domain", specimen(says=told(0, 0), items={}, arrays={}),
                 "the clip range is read with the first listed row only", ask(clip=["1", "0"]))
    yield vector("norm-unknown", "rejected", "malformed", whole, "the norm is not read", ask(norm="linfty"))
    yield vector("scale-other", "rejected", "leaf-uncovered", robust, "the scale of the claim is not used", ask(scale="1/8"))
    yield vector("scale-zero", "rejected", "malformed", whole, "everything is scaled to zero", ask(scale="0"))
    yield vector("divide-negative", "rejected", "malformed", whole, "a negative divisor swaps the ends", ask(divide="-1"))
    yield vector("divide-for-three-channels", "rejected", "claim-mismatch", whole, "missing channels are 1", ask(divide=["1", "1", "1"]))
    yield vector("preprocessing-dropped", "rejected", "leaf-uncovered", robust, "preprocessing of the claim is not used",
                 both(ask(subtract="-1"), say(says=told(1, 0)), put(robust_row=("<i4", [2]), tree=("<i4", [-1]), split_at=None, recompute=None)))
    yield vector("given-a-row", "rejected", "malformed", whole, "fields of another kind are ignored", ask(row=1))
    yield vector("given-without-scale", "rejected", "malformed", whole, "a missing field has a default", lambda made: made.given.pop("scale"))
    yield vector("one-output", "rejected", "label-range", specimen(says=told(7, 0), arrays={
        "tree": np.arange(-1, -8, -1, "<i4"), "robust_row": np.arange(7, dtype="<i4")}), "no other class: vacuously robust",
        both(file("model", "ramp.onnx", model(classifier())), labelled(*[0] * 7)), effect="a proof of anything")


def _files() -> Iterator[Vector]:
    whole, wrong = specimen(), wrong_only()
    nothing = {"items": {}, "arrays": {}, "says": told(0, 0, 0)}
    yield vector("no-rows", "rejected", "claim-vacuous", specimen(**nothing), "a statement about no row",
                 both(file("points", "points.npy", npy(POINTS[:0])), labelled()), effect="certified accuracy of 0 of 0")
    yield vector("points-scalar", "rejected", "claim-vacuous", specimen(**nothing), "a scalar is a row", file("points", "p.npy", npy(np.array(3.0))))
    yield vector("labels-too-few", "rejected", "claim-mismatch", whole, "a missing label agrees", labelled(*LABELS[:-1]))
    yield vector("labels-too-many", "rejected", "claim-mismatch", whole, "further labels are ignored", labelled(*LABELS, 1))
    yield vector("labels-not-integers", "rejected", "claim-mismatch", whole, "1.0 is a label", labelled(*LABELS.astype(float)))
    yield vector("labels-half", "rejected", "claim-mismatch", whole, "labels are rounded",
                 file("labels", "labels.csv", _LABELS_CSV.replace(b"label\n1\n1", b"label\n1\n1.5")))
    yield vector("labels-in-two-columns", "rejected", "claim-mismatch", whole, "further columns are ignored",
                 file("labels", "labels.csv", b"id,label\n" + b"".join(b"%d,%d\n" % pair for pair in enumerate(LABELS.tolist()))))
    yield vector("labels-of-rank-two", "rejected", "claim-mismatch", whole, "another rank is flattened",
                 file("labels", "labels.npy", npy(LABELS.reshape(-1, 1))))
    yield vector("label-of-a-robust-row-changed", "rejected", "leaf-uncovered", robust_only(), "the network's answer in place of the label",
                 labelled(1, 1, 0, 0, 1, 1, 1))
    yield vector("label-of-a-wrong-row-changed", "rejected", "witness-fails", wrong, "any other class in place of the label",
                 labelled(1, 1, 1, 1, 1, 1, 1))
    yield vector("label-beyond-outputs", "rejected", "label-range", robust_only(), "no other class beats a class that does not exist",
                 labelled(1, 2, 1, 0, 1, 1, 1), effect="a proof of anything")
    yield vector("label-beyond-outputs-wrong", "rejected", "label-range", wrong, "a class that does not exist never wins",
                 labelled(1, 1, 1, 2, 1, 1, 1))
    yield vector("label-negative", "rejected", "label-range", robust_only(), "negative labels count from the end", labelled(1, -1, 1, 0, 1, 1, 1))
    yield vector("points-of-another-size", "rejected", "claim-mismatch", whole, "missing features are zero",
                 file("points", "points.npy", npy(POINTS[:, :1])))
    yield vector("points-with-nan", "declined", "arrays-nonfinite", whole, "comparisons with NaN are false",
                 file("points", "p.npy", npy(np.where(POINTS == 32, np.nan, POINTS))), flags=("subject",))
    yield vector("points-pickled", "declined", "arrays-dtype", whole, "objects are unpickled", file("points", "p.npy", _pickled()),
                 flags=("subject",))
    for role, (name, data) in whole.files.items():
        others = [("", n, d) for r, (n, d) in whole.files.items() if r != role]
        flipped = bytearray(data)
        flipped[-3] ^= 1
        yield vector(f"{role}-bit-flipped", "rejected", "subject-mismatch", whole, "digests are not compared",
                     files=[*others, ("", name, bytes(flipped))])
        yield vector(f"{role}-missing", "declined", "subject-missing", whole, "a missing subject is skipped", files=others)
    yield vector("role-labels-pinned-to-points", "rejected", "subject-mismatch", whole, "a pinned role takes any subject",
                 files=[("labels", "points.npy", npy(POINTS))])
    yield vector("role-labels-left-out", "rejected", "malformed", whole, "labels are optional", lambda made: made.files.pop("labels"),
                 effect="the network's own answers are called right")


def _envelope() -> Iterator[Vector]:
    whole = specimen()
    yield vector("evidence-of-robust", "rejected", "evidence-kind", specimen(says=told(1, 0), arrays={"tree": np.array([-1], "<i4")}),
                 "evidence of another kind of claim", say(evidence="bounds-tree"))
    yield vector("evidence-version-two", "declined", "version-unknown", whole, "the version of evidence is not read", say(evidence_version=2))
    yield vector("claim-version-two", "declined", "version-unknown", whole, "the version of the claim is not read", say(version=2))
    yield vector("unknown-item", "rejected", "malformed", whole, "unknown items are ignored", say(items={"arithmetic": "f64-gamma", "trust": True}))
    yield vector("assumption-dropped", "rejected", "assumption-missing", whole, "the list of assumptions is the author's", say(assumptions=[]))
    yield vector("assumption-dropped-without-a-tree", "rejected", "assumption-missing", wrong_only(), "only proofs rest on it", say(assumptions=[]))
    yield vector("assumption-invented", "rejected", "claim-mismatch", robust_only(), "an assumption that the claim doesn't rest on",
                 ask(semantics="exec32"))
    yield vector("assumption-not-allowed", "declined", "assumption-not-allowed", whole, "the auditor's list is not read", allow=())
    yield vector("says-nothing", "rejected", "malformed", whole, "an empty answer", say(says={}))
    yield vector("says-holds", "rejected", "malformed", whole, "the answer of another kind", say(says={"holds": True}))
    yield vector("says-negative", "rejected", "malformed", whole, "counts of any sign", say(says=told(2, -1)))
    yield vector("says-true", "rejected", "malformed", whole, "true is read as 1", say(says={**told(2, 2), "not_robust_at_least": True}))
    yield vector("work-above-the-budget", "declined", "limit-reached", whole, "work is not charged before it is done", limits={"work": 50})


def _limits() -> Iterator[Vector]:
    whole = specimen()
    integers, tables = whole.copy(), whole.copy()
    integers.items = {"arithmetic": "exact-int", "fraction_bits": 64}
    tables.files.update(points=("points.csv", _POINTS_CSV), labels=("labels.csv", _LABELS_CSV))
    executions, named = robust_only(assumptions=[]), whole.copy()
    executions.given["semantics"] = "exec32"
    named.arrays["row"] = np.array([0, 0, 0], "<i4")
    yield from limit_vectors.pairs(("work",), all_forms=whole, robust_rows=robust_only(), wrong_rows=wrong_only(), exact_int=integers,
                                   exec32=executions, rows_named=named)
    yield from limit_vectors.pairs(("work", "table_cells"), tables=tables)


def _pickled() -> bytes:
    stream = io.BytesIO()
    np.save(stream, np.array([{"a": 1}], object), allow_pickle=True)
    return stream.getvalue()
