# SPDX-License-Identifier: Apache-2.0
"""The private claims on VNN-LIB properties, v1: what the network behind a commitment does on a region, and nothing else about it.

Let f be the ReLU network, with rational weights and evaluated over the reals, that the root in `commitment` binds, and B the inputs of the property's
boxes. Shown by a zero-knowledge argument (rule `argument`):
- `private-robust`: for every x of B and every class c other than `label`: f_label(x) - f_c(x) >= `margin_at_least` > 0. The property's unsafe set is
  that another class is at least as high.
- `private-linear`: f(x) is in no half-space of the property's unsafe set, for every x of B.
- `private-score`: |f_o(x) - f_o(x')| <= `score_gap_at_most` for all x, x' of B, o the given `output`; the property's unsafe set does not count.
- `private-ball`: as `private-robust`, for every x with |x - x0|_2 <= `radius_l2` that is not below the domain's lower corner; B is the point x0.
- `private-counterexample`: f_c(x) >= f_y(x) at the given `point` x of B, c = `label_wrong` and y the property's class: it refutes `private-robust`.
B is not empty and lies in the domain of the commitment. `context` is what the prover was told about whom and when the certificate is for: it is
bound to the argument, and the checker, which has no clock, only prints it. Not claimed: that a deployed network is the committed one, what it does in
floating point, anything about inputs outside of B.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import partial
from typing import Any

from certify.certificate import Checked, Claim, Evidence, Files, Kind, Role
from certify.errors import Rejected
from certify.fields import Choice, Field, Integer, ListOf, Rational, Record
from certify.limits import Limits
from certify.readers.commitment import Commitment, read_commitment
from certify.readers.formula import Parts
from certify.rules import private_statement
from certify.rules.argument import HYRAX, LIGERO, bound, establish, premises
from certify.rules.private_words import CONTEXT, context_words, facts
from certify_zk.statement import Rows, Score, Statement, robust

_GIVEN: Mapping[str, Field] = {"format": Choice(("vnnlib-1", "vnnlib-2")), "context": CONTEXT}
_ROBUST: Mapping[str, Field] = {"label": Integer(), "margin_at_least": Rational(positive=True)}
Asked = Callable[[Commitment, Parts, Mapping[str, Any], Mapping[str, Any], Limits], Statement]


def private_statement_of(kind: str, given: Mapping[str, Any], says: Mapping[str, Any], files: Files, limits: Limits) -> tuple[Commitment, Statement]:
    """Return the commitment, and what a claim of a kind states, in the integers of its policy; raises Rejected or Declined."""
    commitment, found = read(given, files, limits)
    return commitment, stated(kind, commitment, found, given, says, limits)


def read(given: Mapping[str, Any], files: Files, limits: Limits) -> tuple[Commitment, Parts]:
    """Return the commitment and the parts of the property that the subject files denote; raises Rejected or Declined."""
    commitment_file, property_file = files["commitment"], files["property"]
    if isinstance(commitment_file, tuple) or isinstance(property_file, tuple):
        raise TypeError("a role takes one file")
    commitment = read_commitment(commitment_file, limits)
    return commitment, private_statement.read_property(property_file, given["format"], commitment, limits)


def stated(kind: str, commitment: Commitment, found: Parts, given: Mapping[str, Any], says: Mapping[str, Any], limits: Limits) -> Statement:
    """Return what a claim of a kind states about a commitment and a property; raises Rejected or Declined."""
    return _ASKED[kind](commitment, found, given, says, limits)


def _robust(commitment: Commitment, found: Parts, given: Mapping[str, Any], says: Mapping[str, Any], limits: Limits) -> Statement:
    policy = commitment.policy
    _require_label(says["label"], found, policy.size(policy.depth), "label")
    regions = private_statement.boxes(policy, private_statement.corners(found), limits)
    return robust(regions, policy.size(policy.depth), says["label"], private_statement.units(policy, says["margin_at_least"]))


def _linear(commitment: Commitment, found: Parts, given: Mapping[str, Any], says: Mapping[str, Any], limits: Limits) -> Statement:
    regions = private_statement.boxes(commitment.policy, private_statement.corners(found), limits)
    return Statement(regions, private_statement.rows(commitment.policy, found, limits))


def _score(commitment: Commitment, found: Parts, given: Mapping[str, Any], says: Mapping[str, Any], limits: Limits) -> Statement:
    policy = commitment.policy
    if given["output"] >= policy.size(policy.depth):
        raise Rejected("claim-mismatch", f"there are {policy.size(policy.depth)} outputs", where="claim.given.output")
    gap = says["score_gap_at_most"] * (1 << policy.bias_scale)
    regions = private_statement.boxes(policy, private_statement.corners(found), limits)
    return Statement(regions, Score(given["output"], gap.numerator // gap.denominator))


def _ball(commitment: Commitment, found: Parts, given: Mapping[str, Any], says: Mapping[str, Any], limits: Limits) -> Statement:
    policy = commitment.policy
    _require_label(says["label"], found, policy.size(policy.depth), "label")
    points = private_statement.corners(found)
    if any(lower != upper for lower, upper in points):
        raise Rejected("claim-mismatch", "the property has a box, and a ball is around a point", where="property",
                       fix="give a property whose bounds are equal, input by input")
    regions = private_statement.balls(policy, [lower for lower, _ in points], given["radius_l2"], limits)
    return robust(regions, policy.size(policy.depth), says["label"], private_statement.units(policy, says["margin_at_least"]))


def _counterexample(commitment: Commitment, found: Parts, given: Mapping[str, Any], says: Mapping[str, Any], limits: Limits) -> Statement:
    policy, point, wrong = commitment.policy, given["point"], says["label_wrong"]
    outputs = policy.size(policy.depth)
    right = private_statement.label(found, outputs)
    if wrong >= outputs or wrong == right:
        raise Rejected("claim-mismatch", f"the wrong class is another one of {outputs} than {right}", where="claim.says.label_wrong")
    if not any(part.holds_input(point) for part in found.parts):
        raise Rejected("outside-domain", "the point is not in the region of the property", where="claim.given.point")
    row = tuple((output == wrong) - (output == right) for output in range(outputs))
    return Statement((private_statement.on_grid(policy, point, limits),), Rows((row,), (0,)))


def _require_label(claimed: int, found: Parts, outputs: int, field: str) -> None:
    label = private_statement.label(found, outputs)
    if claimed != label:
        raise Rejected("claim-mismatch", f"the property is about class {label}", where=f"claim.says.{field}")


_ASKED: Mapping[str, Asked] = {"private-robust": _robust, "private-linear": _linear, "private-score": _score, "private-ball": _ball,
                               "private-counterexample": _counterexample}


def _check(name: str, claim: Claim, evidence: Evidence, files: Files, limits: Limits) -> Checked:
    """Return what was checked if the evidence establishes the claim; raises Rejected or Declined."""
    commitment, statement = private_statement_of(name, claim.given, claim.says, files, limits)
    ledger = establish(commitment, statement, bound(KINDS[name], claim.roles, files, claim.given, claim.says), evidence, limits)
    figures = {"soundness_bits": Fraction(ledger.tenths, 10), "regions": len(statement.regions)}
    return Checked(premises(commitment), facts(commitment, statement, limits), figures)


def _sentence(name: str, claim: Claim) -> str:
    """Return the claim in words."""
    given, says, roles = claim.given, claim.says, claim.roles
    network, where = f"the network committed in {roles['commitment']}, in real arithmetic,", f"of the region of {roles['property']}"
    said = {
        "private-robust": lambda: f"For every real x {where}, {network} scores class {says['label']} higher than every other one, "
                                  f"by {says['margin_at_least']} or more",
        "private-linear": lambda: f"For every real x {where}, {network} stays out of the unsafe set",
        "private-score": lambda: f"For any two real x and x' {where}, {network} has values of output {given['output']} that differ by at most "
                                 f"{says['score_gap_at_most']}",
        "private-ball": lambda: f"For every real x of the domain's orthant within l_2 distance {given['radius_l2']} of the point of "
                                f"{roles['property']}, {network} scores class {says['label']} higher than every other one, "
                                f"by {says['margin_at_least']} or more",
        "private-counterexample": lambda: f"At one point {where}, {network} scores class {says['label_wrong']} at least as high as the class that "
                                          "the property asks for",
    }[name]()
    return f"{said}{context_words(given['context'])}."


def _kind(name: str, given: Mapping[str, Field], says: Mapping[str, Field], summary: str) -> Kind:
    return Kind(name=name, version=1, roles=(Role("commitment"), Role("property")), given=Record({**_GIVEN, **given}), says=Record(says),
                evidence=(LIGERO, HYRAX), check=partial(_check, name), sentence=partial(_sentence, name), summary=summary)


KINDS: Mapping[str, Kind] = {kind.name: kind for kind in (
    _kind("private-robust", {}, _ROBUST, "a hidden network keeps its class on a region, shown in zero knowledge"),
    _kind("private-linear", {}, {}, "a hidden network's outputs stay out of half-spaces on a region, shown in zero knowledge"),
    _kind("private-score", {"output": Integer()}, {"score_gap_at_most": Rational()},
          "an output of a hidden network differs by at most a gap on a region, shown in zero knowledge"),
    _kind("private-ball", {"radius_l2": Rational(positive=True)}, _ROBUST,
          "a hidden network keeps its class within an l_2 distance of a point, shown in zero knowledge"),
    _kind("private-counterexample", {"point": ListOf(Rational(), least=1)}, {"label_wrong": Integer()},
          "a hidden network scores another class at least as high at a point, shown in zero knowledge"),
)}
