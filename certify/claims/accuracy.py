# SPDX-License-Identifier: Apache-2.0
"""`accuracy` v1: on at least so many rows of a data set a classifier is robustly right, on at least so many it is not.

Statement. For each row of the points file let B be the inputs near it as in `robust`, and label the row of the labels file. A row is *robust* if
f_label > f_j, strictly, for every x of B and every j other than label, and *not robust* if f_j >= f_label for some x of B and j (a row whose own
class is wrong is one, with x = x0). `robust_at_least` and `not_robust_at_least` are the numbers of rows for which the evidence shows the one or
the other, `of` is the number of all rows, at least one. Semantics `exec32`: robust means for every float32 execution, as in `region`;
then no row is shown not to be robust.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from itertools import pairwise
from typing import Any

from certify.certificate import ArraySpec, Checked, Claim, Evidence, EvidenceSpec, Files, Kind, Role
from certify.errors import Rejected
from certify.fields import Integer, Record, Text
from certify.limits import Limits
from certify.readers.onnx_ops import read_network
from certify.rules import bounds_tree
from certify.rules.counterexample import violates
from certify.rules.evaluation import evaluate
from certify.rules.neighbourhood import FIELDS, Neighbourhoods, words
from certify.rules.unsafe_set import BOUNDS_TREE, EXCLUDED, arithmetic, charge_point

ROWS = EvidenceSpec(
    "robust-rows", 1,
    Record({"arithmetic": Text(r"[a-z0-9-]+"), "fraction_bits": Integer()}, optional=frozenset({"arithmetic", "fraction_bits"})),
    {**BOUNDS_TREE.arrays, "robust_row": ArraySpec("<i4", 1), "wrong_row": ArraySpec("<i4", 1), "witness_row": ArraySpec("<i4", 1),
     "witness": ArraySpec("<f8", 2)},
    reserved=BOUNDS_TREE.reserved,
)


def neighbourhoods(given: Mapping[str, Any], files: Files, limits: Limits) -> Neighbourhoods:
    """Return the network and the balls around all rows; raises Declined or Rejected."""
    model, points, labels = files["model"], files["points"], files["labels"]
    if isinstance(model, tuple) or isinstance(points, tuple) or isinstance(labels, tuple):
        raise TypeError("a role takes one file")
    near = Neighbourhoods(given, points, labels, read_network(model, limits), limits)
    if near.rows == 0:
        raise Rejected("claim-vacuous", "the points file has no row", where="points", fix="give at least one point")
    if near.labelled != near.rows:
        raise Rejected("claim-mismatch", f"{near.labelled} labels for {near.rows} points", where="labels",
                       fix="give one column of integers, a row for each point")
    return near


def check(claim: Claim, evidence: Evidence, files: Files, limits: Limits) -> Checked:
    """Return what was checked if the evidence establishes the claim; raises Rejected or Declined."""
    near = neighbourhoods(claim.given, files, limits)
    robust, wrong, witnessed = (_rows(evidence, name, near.rows) for name in ("robust_row", "wrong_row", "witness_row"))
    seen: set[int] = set()
    for rows in (robust, wrong, witnessed):
        if twice := seen.intersection(rows):
            raise Rejected("row-duplicate", f"row {min(twice)} is listed twice", where="evidence")
        seen.update(rows)
    told = (claim.says["robust_at_least"], claim.says["not_robust_at_least"], claim.says["of"])
    found = (len(robust), len(wrong) + len(witnessed), near.rows)
    if told != found:
        raise Rejected("says-mismatch", f"the claim says {told[0]} and {told[1]} of {told[2]}; the evidence lists {found[0]} and {found[1]} of "
                       f"{found[2]}", where="claim.says")
    semantics = claim.given["semantics"]
    if semantics != "real" and (wrong or witnessed):
        raise Rejected("evidence-kind", "a point shows what the network does over the reals, not in every float32 execution", where="evidence")
    _violated(near, wrong, witnessed, evidence, limits)
    facts, figures = [f"semantics {semantics}"], bounds_tree.Figures(0, 0.0, 0.0)
    if robust:
        if "tree" not in evidence.arrays or "arithmetic" not in evidence.items:
            raise Rejected("array-shape", "robust rows need a tree and its arithmetic", where="evidence")
        facts.append(f"arithmetic {evidence.items['arithmetic']}")
        figures = bounds_tree.check(arithmetic(near.network, semantics, evidence, limits), (near.part(row, near.label(row)) for row in robust),
                                    evidence.arrays, limits)
    elif evidence.items or any(name in BOUNDS_TREE.arrays for name in evidence.arrays):
        raise Rejected("unused-evidence", "a tree without robust rows", where="evidence")
    return Checked(frozenset({"real-arithmetic"} if semantics == "real" else ()), (*facts, *near.network.notes),
                   {"leaves": figures.leaves, "wrong": len(wrong), "open": near.rows - len(seen), "smallest_margin": figures.smallest_margin})


def _rows(evidence: Evidence, name: str, rows: int) -> list[int]:
    """Return the rows that an array lists, in order; raises Rejected for an empty, unsorted or out-of-range one."""
    array = evidence.arrays.get(name)
    if array is None:
        return []
    listed: list[int] = array.tolist()
    if not listed:
        raise Rejected("unused-evidence", "an empty list of rows", where=f"evidence array {name}")
    if any(a >= b for a, b in pairwise(listed)):
        raise Rejected("row-duplicate", "rows are listed twice, or not in ascending order", where=f"evidence array {name}")
    if listed[0] < 0 or listed[-1] >= rows:
        raise Rejected("evidence-range", f"the points file has no row {listed[0] if listed[0] < 0 else listed[-1]}",
                       where=f"evidence array {name}")
    return listed


def _violated(near: Neighbourhoods, wrong: list[int], witnessed: list[int], evidence: Evidence, limits: Limits) -> None:
    """Raise Rejected unless every listed row is shown not to be robust: at its point, or at its row of `witness`."""
    points = evidence.arrays.get("witness")
    if (points is not None) != bool(witnessed) or (points is not None and points.shape != (len(witnessed), near.network.inputs)):
        raise Rejected("array-shape", "`witness` holds one point for each entry of `witness_row`", where="evidence array witness")
    given = [(row, None) for row in wrong] + [(row, points[k]) for k, row in enumerate(witnessed) if points is not None]
    for row, point in given:
        part = near.part(row, near.label(row))
        limits.spend(200_000 + 5000 * near.network.inputs, "reading a point")
        x = near.network_input(near.centre(row) if point is None else tuple(map(Fraction, point.tolist())))
        if not part.holds_input(x):
            raise Rejected("outside-domain", f"the point for row {row} is not near it", where="evidence array witness")
        y = evaluate(near.network, x, limits)
        charge_point([part], x, y, limits)
        if not any(violates(conjunct, x, y) for conjunct in part.conjuncts):
            raise Rejected("witness-fails", f"the label wins at the point for row {row}, computed exactly", where="evidence")


def sentence(claim: Claim) -> str:
    """Return the claim in words: both counts, and the ball."""
    given, says, name = claim.given, claim.says, claim.roles["model"]
    who, end = (name, "") if given["semantics"] == "real" else (f"every float32 execution of {name}", EXCLUDED)
    ball = words(given, "the row")
    return (f"Of the {says['of']} rows of {claim.roles['points']}, at least {says['robust_at_least']} get their label in "
            f"{claim.roles['labels']} from {who} for every input {ball}, and at least {says['not_robust_at_least']} do not{end}.")


KIND = Kind(
    name="accuracy", version=1, roles=(Role("model"), Role("points"), Role("labels")), given=Record(FIELDS),
    says=Record({"robust_at_least": Integer(), "not_robust_at_least": Integer(), "of": Integer()}), evidence=(ROWS,), check=check,
    sentence=sentence, summary="how many rows of a data set a classifier gets right for every input within a radius",
)
