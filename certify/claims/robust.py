# SPDX-License-Identifier: Apache-2.0
"""`robust` v1: a classifier keeps its answer for every input near a given one, or doesn't for some.

Statement. Let f be the ONNX graph over the reals, x0 = scale * (row of the points file), B the x with ||x - x0|| <= radius (l_inf, l_2 or l_1;
times `scale` if `radius_unit` is raw) and clip_lo <= x_i <= clip_hi; the network gets (x - subtract) / divide.
`holds` true: for every x of B and every j other than label: f_label > f_j, strictly. `holds` false: for some x of B and j:
f_j >= f_label. Semantics `exec32` (`holds` true only): the same for every float32 execution, as `region` defines it.
B holds x0 (else `outside-domain`), so the claim is never vacuous; there are at least two outputs (`label-range`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from certify.certificate import Checked, Claim, Evidence, Files, Kind, Role
from certify.errors import Rejected
from certify.fields import Boolean, Integer, Record
from certify.limits import Limits
from certify.readers.onnx_ops import read_network
from certify.rules.neighbourhood import FIELDS, Neighbourhoods, words
from certify.rules.unsafe_set import BOUNDS_TREE, EXCLUDED, WITNESS, UnsafeSet, establish


def neighbourhoods(given: Mapping[str, Any], files: Files, limits: Limits) -> Neighbourhoods:
    """Return the network and the balls that the subject files denote; raises Declined or Rejected."""
    model, points, labels = files["model"], files["points"], files.get("labels")
    if isinstance(model, tuple) or isinstance(points, tuple) or isinstance(labels, tuple):
        raise TypeError("a role takes one file")
    return Neighbourhoods(given, points, labels, read_network(model, limits), limits)


def problem(given: Mapping[str, Any], files: Files, limits: Limits) -> UnsafeSet:
    """Return the network and the unsafe set: inputs of the ball at which another class is at least as high; raises Declined or Rejected."""
    near = neighbourhoods(given, files, limits)
    return UnsafeSet(near.network, (near.part(given["row"], given["label"]),), 0, near.divide, near.subtract, given["semantics"])


def check(claim: Claim, evidence: Evidence, files: Files, limits: Limits) -> Checked:
    """Return what was checked if the evidence establishes the claim; raises Rejected or Declined."""
    unsafe = problem(claim.given, files, limits)
    if claim.says["holds"] != (evidence.kind == BOUNDS_TREE.kind):
        raise Rejected("evidence-kind", f"evidence of kind {evidence.kind!r} can't show this answer", where="evidence.kind")
    if not claim.says["holds"]:
        from certify.rules.counterexample import refute
        refute(unsafe, evidence, limits)
        return Checked(unsafe.premises, ("semantics real", "a point, evaluated exactly", *unsafe.network.notes))
    figures = establish(unsafe, evidence, limits)
    return Checked(unsafe.premises, (f"semantics {unsafe.semantics}", f"arithmetic {evidence.items['arithmetic']}", *unsafe.network.notes),
                   {"leaves": figures.leaves, "smallest_margin": figures.smallest_margin, "largest_value": figures.largest_value})


def sentence(claim: Claim) -> str:
    """Return the claim in words: the ball, and everything between the points file and the network."""
    given, name = claim.given, claim.roles["model"]
    ball = words(given, f"row {given['row']} of {claim.roles['points']}")
    if not claim.says["holds"]:
        return f"{name} does not answer {given['label']} alone for some input {ball}."
    who, end = (name, "") if given["semantics"] == "real" else (f"Every float32 execution of {name}", EXCLUDED)
    whose = f"answers {given['label']}, the label in {claim.roles['labels']}," if "labels" in claim.roles else f"keeps its answer {given['label']}"
    return f"{who} {whose} for every input {ball}{end}."


KIND = Kind(
    name="robust", version=1, roles=(Role("model"), Role("points"), Role("labels", optional=True)),
    given=Record({"row": Integer(), "label": Integer(), **FIELDS}),
    says=Record({"holds": Boolean()}), evidence=(BOUNDS_TREE, WITNESS), check=check, sentence=sentence,
    summary="a classifier keeps its answer for every input within a radius of a point",
)
