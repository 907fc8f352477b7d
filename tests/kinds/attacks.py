# SPDX-License-Identifier: Apache-2.0
"""Vectors that every kind with `bounds-tree` and `witness` evidence shares: attacks on evidence, claim envelope and subjects."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from toolkit import Specimen

Files = list[tuple[str, str, bytes]]  # role to pin or "", file name, bytes


@dataclass(frozen=True)
class Vector:
    """One documented test vector: what a checker must answer, and which bug would answer otherwise."""

    name: str
    verdict: str
    code: str
    data: bytes
    files: Files
    bug: str
    effect: str = ""
    flags: tuple[str, ...] = ()
    limits: dict[str, int] = field(default_factory=dict)
    allow: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Bases:
    """The valid specimens that attacks start from: one leaf; a tree with splits; a combination of rows; a counterexample."""

    leaf: Specimen
    split: Specimen
    mixed: Specimen
    witness: Specimen
    failing_point: list[str]  # inside the region and safe by a hair


def own(specimen: Specimen) -> Files:
    """Return a specimen's own files, matched by digest."""
    return [("", name, data) for name, data in specimen.files.values()]


def vector(name: str, verdict: str, code: str, specimen: Specimen, bug: str, change: Callable[[Specimen], None] | None = None, **more: Any) -> Vector:
    """Return a vector: a copy of the specimen, changed and resealed."""
    made = specimen.copy()
    if change is not None:
        change(made)
    return Vector(name, verdict, code, made.seal(), more.pop("files", own(made)), bug, **more)


def put(**arrays: Any) -> Callable[[Specimen], None]:
    """Return a change that sets arrays: (dtype, values), an array, or None to remove one."""
    def change(specimen: Specimen) -> None:
        for key, value in arrays.items():
            if value is None:
                specimen.arrays.pop(key)
            elif isinstance(value, tuple):
                specimen.arrays[key] = np.array(value[1], value[0])
            else:
                specimen.arrays[key] = value
    return change


def say(**fields: Any) -> Callable[[Specimen], None]:
    """Return a change that sets attributes of the specimen."""
    def change(specimen: Specimen) -> None:
        for key, value in fields.items():
            setattr(specimen, key, value)
    return change


def ask(**fields: Any) -> Callable[[Specimen], None]:
    """Return a change that sets fields of `given`."""
    def change(specimen: Specimen) -> None:
        specimen.given.update(fields)
    return change


def shared(bases: Bases) -> Iterator[Vector]:
    """Yield the shared vectors."""
    yield from _verified(bases)
    yield from _trees(bases)
    yield from _multipliers(bases)
    yield from _arrays(bases)
    yield from _witnesses(bases)
    yield from _envelope(bases)
    yield from _subjects(bases)


def _verified(b: Bases) -> Iterator[Vector]:
    yield vector("one-leaf", "verified", "", b.leaf, "none: the smallest proof")
    yield vector("splits", "verified", "", b.split, "none: a tree with splits, bounds computed at each node")
    yield vector("splits-inherited", "verified", "", b.mixed, "none: bounds of the root serve its leaves", put(row=None, mix=None))
    yield vector("row-and-mix", "verified", "", b.mixed, "none: combinations of rows close conjuncts")
    yield vector("counterexample", "verified", "", b.witness, "none: a point, evaluated exactly")
    carried = b.leaf.copy()
    carried.inputs = {hashlib.sha256(data).hexdigest(): data for _, data in carried.files.values()}
    yield vector("carries-its-subjects", "verified", "", carried, "none: subjects inside the certificate need no file", files=[])
    yield vector("allowed-by-name", "verified", "", b.leaf, "none", allow=("real-arithmetic",))
    role, (name, data) = next(iter(b.leaf.files.items()))
    yield vector("renamed-file", "verified", "", b.leaf, "none: subjects are matched by digest, not by name",
                 files=[("", f"other-{name}", data), *((r, n, d) for r, (n, d) in b.leaf.files.items() if r != role)])


def _trees(b: Bases) -> Iterator[Vector]:
    tree, at = b.split.arrays["tree"], b.split.arrays["split_at"]
    recompute = b.split.arrays["recompute"]
    first = int(tree[0])

    def theta(value: float) -> Callable[[Specimen], None]:
        return put(split_at=("<f8", [value, *at[1:].tolist()]))

    yield vector("leaf-removed", "rejected", "tree-malformed", b.split, "the walk stops when the array ends",
                 put(tree=tree[:-1], recompute=recompute[:-1]),
                 effect="part of the box is never looked at")
    yield vector("node-appended", "rejected", "tree-malformed", b.split, "left-over nodes are ignored",
                 put(tree=np.append(tree, tree.min() - 1).astype("<i4"), recompute=np.append(recompute, 0).astype("|u1")))
    yield vector("two-roots", "rejected", "tree-malformed", b.leaf, "a second tree is read for no part", put(tree=("<i4", [-1, -2])))
    yield vector("empty-tree", "rejected", "tree-malformed", b.leaf, "no leaf, nothing to fail", put(tree=("<i4", [])), effect="a proof of anything")
    yield vector("leaves-renumbered", "rejected", "tree-malformed", b.split, "leaf records are not compared with their order",
                 put(tree=np.where(tree < 0, tree - 1, tree).astype("<i4")))
    yield vector("leaf-record-shared", "rejected", "tree-malformed", b.split, "two leaves share one record",
                 put(tree=np.where(tree < 0, -1, tree).astype("<i4")))
    yield vector("threshold-on-lower-end", "rejected", "branch-invalid", b.split, "a split that cuts nothing off", theta(_end(b.split, first, 0)))
    yield vector("threshold-on-upper-end", "rejected", "branch-invalid", b.split, "a split that cuts nothing off", theta(_end(b.split, first, 1)))
    yield vector("threshold-outside", "rejected", "branch-invalid", b.split, "children that don't lie in their parent", theta(1e6))
    yield vector("threshold-nan", "rejected", "array-nonfinite", b.split, "comparisons with NaN are false", theta(float("nan")),
                 effect="an empty box closes anything")
    yield vector("threshold-infinite", "rejected", "array-nonfinite", b.split, "an infinite end", theta(float("inf")))
    yield vector("item-beyond-last-neuron", "rejected", "branch-invalid", b.split, "items are not bounded by the subject",
                 put(tree=("<i4", [10**6, *tree[1:].tolist()])))
    yield vector("item-is-a-neuron", "rejected", "leaf-uncovered", b.split, "a split on a neuron is read as one on an input",
                 put(tree=("<i4", [len(_box(b.split)[0]), *tree[1:].tolist()])))
    yield vector("subtree-pruned", "rejected", "leaf-uncovered", b.split, "a leaf is accepted without its bound",
                 put(tree=("<i4", [-1]), split_at=None, recompute=None), effect="the hard part of the box is skipped")
    yield vector("threshold-moved", "rejected", "leaf-uncovered", b.split, "bounds are computed for another box than the leaf's",
                 theta(_off_centre(b.split, first)))
    yield vector("root-inherits", "rejected", "evidence-range", b.split, "the root has no ancestor to inherit from",
                 put(recompute=np.array([0, *recompute[1:]], "|u1")))
    yield vector("recompute-two", "rejected", "evidence-range", b.split, "a flag beside 0 and 1",
                 put(recompute=np.array([1, 2, *recompute[2:]], "|u1")))
    yield vector("recompute-long", "rejected", "array-shape", b.split, "flags left over are ignored",
                 put(recompute=np.append(recompute, 0).astype("|u1")))
    yield vector("threshold-missing", "rejected", "array-shape", b.leaf, "a missing threshold defaults to zero",
                 put(tree=("<i4", [first, first, -1, -2, -3]), split_at=("<f8", [_middle(b.leaf, first)])))
    yield vector("recompute-short", "rejected", "array-shape", b.split, "flags run out", put(recompute=recompute[:-1]))
    yield vector("thresholds-missing", "rejected", "array-shape", b.split, "a missing threshold defaults to zero", put(split_at=None))
    yield vector("threshold-left-over", "rejected", "unused-evidence", b.split, "left-over thresholds are ignored", put(split_at=np.append(at, 0.0)))
    for depth, verdict, code in ((16, "verified", ""), (17, "declined", "limit-reached")):
        chain = put(tree=("<i4", [0] * depth + [-1 - k for k in range(depth + 1)]), split_at=("<f8", _halvings(b.leaf, depth)))
        yield vector(f"depth-{depth}-of-16", verdict, code, b.leaf, "a depth without a limit", chain, limits={"tree_depth": 16})
    for nodes, verdict, code in ((33, "verified", ""), (32, "declined", "limit-reached")):
        chain = put(tree=("<i4", [0] * 16 + [-1 - k for k in range(17)]), split_at=("<f8", _halvings(b.leaf, 16)))
        yield vector(f"nodes-33-of-{nodes}", verdict, code, b.leaf, "a size without a limit", chain, limits={"tree_nodes": nodes})


def _multipliers(b: Bases) -> Iterator[Vector]:
    row, mix = b.mixed.arrays["row"], b.mixed.arrays["mix"]

    def weights(values: Any) -> Callable[[Specimen], None]:
        return put(mix=("<f8", values))

    yield vector("row-beyond-conjunct", "rejected", "evidence-range", b.mixed, "a row index beyond its conjunct",
                 put(row=("<i4", [99, *row[1:].tolist()])))
    yield vector("row-minus-two", "rejected", "evidence-range", b.mixed, "negative indices count from the end",
                 put(row=("<i4", [-2, *row[1:].tolist()])))
    yield vector("row-short", "rejected", "array-shape", b.mixed, "a missing entry closes its conjunct", put(row=row[:-1]))
    yield vector("row-long", "rejected", "unused-evidence", b.mixed, "left-over entries are ignored",
                 put(row=np.append(row, np.int32(0)).astype("<i4")))
    yield vector("mix-all-zero", "rejected", "all-zero", b.mixed, "0 > 0 is asked with a tolerance", weights([0.0] * len(mix)),
                 effect="a proof of anything")
    yield vector("mix-negative", "rejected", "evidence-range", b.mixed, "multipliers of any sign", weights([-1.0, *mix[1:].tolist()]),
                 effect="a false row helps")
    yield vector("mix-nan", "rejected", "array-nonfinite", b.mixed, "NaN multipliers", weights([float("nan"), *mix[1:].tolist()]))
    yield vector("mix-huge", "rejected", "number-too-large", b.mixed, "overflow to infinity is above zero", weights([1e300, *mix[1:].tolist()]))
    yield vector("mix-short", "rejected", "array-shape", b.mixed, "missing multipliers are zero", put(mix=mix[:-1]))
    yield vector("mix-left-over", "rejected", "unused-evidence", b.mixed, "left-over multipliers are ignored", put(mix=np.append(mix, 1.0)))
    yield vector("row-combines-without-mix", "rejected", "array-shape", b.mixed, "missing multipliers are one", put(mix=None))
    yield vector("mix-without-row", "rejected", "unused-evidence", b.mixed, "an array that nothing refers to", put(row=None))


def _arrays(b: Bases) -> Iterator[Vector]:
    tree = b.leaf.arrays["tree"]
    yield vector("tree-missing", "rejected", "array-shape", b.leaf, "no tree: nothing to fail", put(tree=None), effect="a proof of anything")
    yield vector("tree-wide", "rejected", "array-dtype", b.leaf, "another integer type is cast", put(tree=tree.astype("<i8")))
    yield vector("tree-of-rank-two", "rejected", "array-shape", b.leaf, "another rank is flattened", put(tree=tree.reshape(1, -1)))
    yield vector("unknown-array", "rejected", "unused-evidence", b.leaf, "unknown arrays are ignored", put(extra=("<f8", [1.0])))


def _witnesses(b: Bases) -> Iterator[Vector]:
    point = b.witness.items["point"]

    def at(values: list[str]) -> Callable[[Specimen], None]:
        return say(items={"point": values})

    lower, upper = _box(b.witness)
    hair = Fraction(1, 10**30)
    yield vector("point-above-the-box", "rejected", "outside-domain", b.witness, "a tolerance on the region", at([str(upper[0] + hair), *point[1:]]))
    yield vector("point-below-the-box", "rejected", "outside-domain", b.witness, "a tolerance on the region", at([str(lower[0] - hair), *point[1:]]))
    yield vector("point-safe-by-a-hair", "rejected", "witness-fails", b.witness, "a tolerance on the outputs", at(b.failing_point))
    yield vector("point-short", "rejected", "outside-domain", b.witness, "missing coordinates are zero", at(point[:-1]))
    yield vector("point-long", "rejected", "outside-domain", b.witness, "further coordinates are ignored", at([*point, "0"]))
    yield vector("point-empty", "rejected", "malformed", b.witness, "an empty point is in every region", at([]))
    yield vector("point-not-in-lowest-terms", "rejected", "malformed", b.witness, "a second form of a number", at(["2/4", *point[1:]]))
    yield vector("point-with-float", "rejected", "malformed", b.witness, "decimals in place of rationals", at(["0.5", *point[1:]]))
    yield vector("witness-beside-a-tree", "rejected", "unused-evidence", b.leaf, "items that nothing needs",
                 say(items={"arithmetic": "f64-gamma", "witness": point}))


def _envelope(b: Bases) -> Iterator[Vector]:
    yield vector("other-arithmetic", "declined", "version-unknown", b.leaf, "the name of the arithmetic is not read",
                 say(items={"arithmetic": "f64-fast"}))
    yield vector("arithmetic-missing", "rejected", "malformed", b.leaf, "a missing item has a default", say(items={}))
    yield vector("unknown-item", "rejected", "malformed", b.leaf, "unknown items are ignored", say(items={"arithmetic": "f64-gamma", "trust": True}))
    yield vector("evidence-kind-unknown", "rejected", "evidence-kind", b.leaf, "evidence of an unknown kind",
                 say(evidence="nothing", items={}, arrays={}))
    yield vector("evidence-version-two", "declined", "version-unknown", b.leaf, "the version of evidence is not read", say(evidence_version=2))
    yield vector("point-for-holds", "rejected", "evidence-kind", b.witness, "a point can't show that nothing happens", say(says={"holds": True}),
                 effect="a proof of anything")
    yield vector("tree-for-violated", "rejected", "evidence-kind", b.leaf, "a tree can't show that something happens", say(says={"holds": False}))
    yield vector("assumption-dropped", "rejected", "assumption-missing", b.leaf, "the list of assumptions is the author's", say(assumptions=[]))
    yield vector("assumption-invented", "rejected", "claim-mismatch", b.leaf, "an assumption that the claim doesn't rest on",
                 say(assumptions=["iid-sample", "real-arithmetic"]))
    yield vector("assumption-not-allowed", "declined", "assumption-not-allowed", b.leaf, "the auditor's list is not read", allow=())
    yield vector("claim-version-two", "declined", "version-unknown", b.leaf, "the version of the claim is not read", say(version=2))
    yield vector("kind-unknown", "declined", "kind-unknown", b.leaf, "unknown kinds pass", say(kind="wishful"))
    yield vector("semantics-unknown", "rejected", "malformed", b.leaf, "the semantics is not read", ask(semantics="float"))
    yield vector("given-unknown", "rejected", "malformed", b.leaf, "unknown fields are ignored", ask(tolerance="1/100"))
    yield vector("says-nothing", "rejected", "malformed", b.leaf, "an empty answer", say(says={}))
    yield vector("says-number", "rejected", "malformed", b.leaf, "1 is read as true", say(says={"holds": 1}))
    yield vector("work-above-the-budget", "declined", "limit-reached", b.leaf, "work is not charged before it is done", limits={"work": 50})


def _subjects(b: Bases) -> Iterator[Vector]:
    files = b.leaf.files
    for role, (name, data) in files.items():
        others = [("", n, d) for r, (n, d) in files.items() if r != role]
        flipped = bytearray(data)
        flipped[-3] ^= 1
        yield vector(f"{role}-bit-flipped", "rejected", "subject-mismatch", b.leaf, "digests are not compared",
                     files=[*others, ("", name, bytes(flipped))])
        yield vector(f"{role}-missing", "declined", "subject-missing", b.leaf, "a missing subject is skipped", files=others)
    first, (name, data) = next(iter(files)), list(files.values())[1]
    yield vector("role-pinned-to-another-file", "rejected", "subject-mismatch", b.leaf, "a pinned role takes any subject",
                 files=[(first, name, data)])


def _box(specimen: Specimen) -> tuple[list[Fraction], list[Fraction]]:
    """Return the region's box in the claim's coordinates, as the specimen's author wrote it down."""
    if specimen.box is None:
        raise ValueError("the specimen's box is not noted")
    return specimen.box


def _end(specimen: Specimen, item: int, side: int) -> float:
    if specimen.network_box is None:
        raise ValueError("the specimen's box is not noted")
    return float(specimen.network_box[side][item])


def _middle(specimen: Specimen, item: int) -> float:
    return (_end(specimen, item, 0) + _end(specimen, item, 1)) / 2


def _off_centre(specimen: Specimen, item: int) -> float:
    low, high = _end(specimen, item, 0), _end(specimen, item, 1)
    return low + (high - low) / 64


def _halvings(specimen: Specimen, count: int) -> list[float]:
    """Return thresholds that go on splitting the first child of input 0."""
    low, high = _end(specimen, 0, 0), _end(specimen, 0, 1)
    found = []
    for _ in range(count):
        low = (low + high) / 2
        found.append(low)
    return found
