# SPDX-License-Identifier: Apache-2.0
"""The prover of private claims: the owner's integers and the property, to exact CROWN bounds, to a zero-knowledge argument."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from certify import registry
from certify.certificate import Files, Kind
from certify.claims import private, private_fair
from certify.errors import Declined, UsageError
from certify.limits import Limits
from certify.readers.commitment import Commitment
from certify.readers.vnnlib2 import declared_format
from certify.rules import private_statement
from certify.rules.argument import BACKENDS, bound, encoded, premises
from certify_solvers.common.prover import Draft, Effort, Outcome, Problem, Progress, Proved, Refuted, Unknown
from certify_solvers.private.attack import Attack, outputs, search
from certify_zk.statement import Statement

if TYPE_CHECKING:
    from certify_zk.secret import Secret
    from certify_zk.witness import Witness

_CONTEXT = {"audience": "null", "nonce": "null", "expires": "null"}
_MEANINGS = {
    "format": "the version of VNN-LIB; auto: by the file's first command",
    "audience": "for whom the certificate is made, as text that is bound to it", "nonce": "a text that the auditor chose, against replay",
    "expires": "the day (2027-01-31) after which the auditor should not take it; the checker has no clock",
    "refute": "yes: where the claim is false, write a counterexample; its point is public and tells about the network",
    "secret": "the owner's file, written by `certify commit`; it is needed, and its list of uses grows by one",
    "label": "the class that the property asks for; found in the property", "margin_at_least": "by how much every other class is lower",
    "output": "the output whose values are compared", "score_gap_at_most": "the largest difference of two values",
    "radius_l2": "the l_2 distance, in units of the network's inputs", "point": "a point of the region on the grid of the commitment",
    "row": "the row of the points file, from 0 on", "decision": "1 favourable, 0 not; or the class; found by the network",
    "label_wrong": "the class that is at least as high there",
}


_REQUIRED = ("score_gap_at_most", "label_wrong")


class Private:
    """Proves statements about the network behind a commitment; what it sees of the network stays in the secret file."""

    name = "private"
    emits = (*private.KINDS, private_fair.KIND.name)
    summary = "CROWN bounds in exact integers, and a zero-knowledge argument that they hold"

    def defaults(self, kind: str) -> Mapping[str, str]:
        """Return the text of every `given` field that has a default."""
        return _CONTEXT if kind == private_fair.KIND.name else {"format": "auto", **_CONTEXT}

    def options(self, kind: str) -> Mapping[str, str]:
        """Return the prover options with their default texts."""
        return {"secret": "", **({"refute": "no"} if kind == "private-robust" else {})}

    def required(self, kind: str) -> frozenset[str]:
        """Return the fields of `says` that have no default."""
        return frozenset(_REQUIRED)

    def help(self, kind: str) -> Mapping[str, str]:
        """Return one line of meaning for every setting of a kind."""
        return _MEANINGS

    def searched(self, kind: str) -> Mapping[str, str]:
        """Nothing is searched for."""
        return {}

    def complete(self, kind: str, given: Mapping[str, Any], files: Files, limits: Limits) -> Mapping[str, Any]:
        """Return `given` with its format."""
        text = files.get("property")
        return {**given, "format": declared_format(text)} if isinstance(text, bytes) and given["format"] is None else given

    def rehearse(self, problem: Problem) -> Mapping[str, Any]:
        """Return what a proof would show and cost, without a use: private, for the owner only.

        Margins are by region and row, in the units of outputs; widths are logarithms of what each relation could reach, which must stay below 63.
        """
        from certify_zk.witness import Unknown as Unfit
        from certify_zk.witness import witness

        commitment, statement, says = _asked(problem)
        mine = secret_of(problem)
        found = witness(commitment.policy, mine.model, statement)
        kind = registry.kind(problem.kind)
        return {"for": "the owner only: margins tell about the network", "outcome": "unknown" if isinstance(found, Unfit) else "would be proved",
                "says": kind.says.encode(says), "uses_left": commitment.policy.uses - mine.used(),
                "smallest_margin": float(min(map(min, found.margins), default=0)) if found.margins else None,
                "margins": [[str(margin) for margin in row] for row in found.margins], "widths_log2": statement_widths(commitment, statement),
                **({"why": found.why, "quantity": found.quantity} if isinstance(found, Unfit) else {})}

    def prove(self, problem: Problem, effort: Effort, progress: Progress) -> Outcome:
        """Return the outcome of one problem."""
        from certify_zk.secret import require_numba
        from certify_zk.witness import Unknown as Unfit
        from certify_zk.witness import witness

        progress("reading", {})
        require_numba()
        commitment, statement, says = _asked(problem)
        mine = secret_of(problem)
        progress("bounding", {})
        seen = witness(commitment.policy, mine.model, statement)
        if isinstance(seen, Unfit):
            return self._refuted(problem, commitment, statement, mine, seen.quantity, progress)
        _affordable(problem, commitment, statement)
        progress("arguing", {"cells": seen.circuit.cells})
        return Proved(*_draft(problem, registry.kind(problem.kind), commitment, mine, statement, problem.given, says, seen))

    def _refuted(self, problem: Problem, commitment: Commitment, statement: Statement, mine: Secret, quantity: str,
                 progress: Progress) -> Outcome:
        """Return a counterexample in place of a claim of robustness, where there is one."""
        from certify_zk.witness import Unknown as Unfit
        from certify_zk.witness import witness

        weak = (f"bounds are too weak ({quantity}), or the claim is false: a smaller region may do; --dry-run shows margins, for the owner only; "
                "no use was taken")
        if problem.kind != "private-robust":
            return Unknown(f"{weak}; counterexamples are not searched for claims of this kind")
        progress("attacking", {})
        _, found = private.read(problem.given, problem.files, problem.limits.fresh())
        hit: Attack | None = search(commitment.policy, mine.model, statement, found)
        if hit is None:
            return Unknown(f"{weak}; no counterexample was found")
        if problem.options["refute"] != "yes":
            return Unknown("the claim is false: a counterexample was found, and not written, because its point tells about the network "
                           "(--set refute=yes writes it); no use was taken")
        given, says = {**problem.given, "point": hit.point}, {"label_wrong": hit.label}
        kind = private.KINDS["private-counterexample"]
        asked = private.stated(kind.name, commitment, found, given, says, problem.limits.fresh())
        seen = witness(commitment.policy, mine.model, asked)
        if isinstance(seen, Unfit):
            return Unknown(f"{weak}; the counterexample that was found is too close to a tie for the units of this commitment")
        return Refuted(*_draft(problem, kind, commitment, mine, asked, given, says, seen))


def _draft(problem: Problem, kind: Kind, commitment: Commitment, mine: Secret, statement: Statement, given: Mapping[str, Any],
           says: Mapping[str, Any], seen: Witness) -> tuple[Draft, tuple[str, ...]]:
    """Return the certificate of a witness, and which use of the commitment it is."""
    from certify_zk import owner
    claim = bound(kind, problem.roles, problem.files, given, says)
    made = owner.argue(commitment.policy, commitment.root, mine, statement, claim, seen)
    remarks = [f"use {made.use} of {commitment.policy.uses} of this commitment; the same question again takes no other"]
    if mine.path.stat().st_mode & 0o077:
        remarks.append(f"{mine.path.name} can be read by others than its owner: chmod 600 {mine.path.name}")
    spec = BACKENDS[commitment.policy.backend]
    draft = Draft(kind.name, kind.version, given, says, tuple(sorted(premises(commitment))), spec.kind, spec.version, {}, encoded(made.argument))
    return draft, tuple(remarks)


def _affordable(problem: Problem, commitment: Commitment, statement: Statement) -> None:
    """Raise Declined `limit-reached` where the check would not fit into its budget of work, before a use is taken."""
    from certify_zk import hyrax, verifier
    limits = problem.limits.fresh()
    if commitment.policy.backend == "hyrax":
        hyrax.measured(commitment.policy, statement, limits)
        return
    sizes = verifier.measured(commitment.policy, statement, limits)
    limits.spend(sizes.shape.cost + sizes.pads.cost, "checking the argument")


def _asked(problem: Problem) -> tuple[Commitment, Statement, Mapping[str, Any]]:
    """Return the commitment, the statement and what is said, defaults filled in."""
    limits, says = problem.limits.fresh(), dict(problem.wanted)
    if problem.kind == private_fair.KIND.name:
        if "decision" not in says:
            commitment, schema, person = private_fair.person_of(problem.given, problem.files, limits)
            scores = outputs(commitment.policy, secret_of(problem).model, person)
            above = schema.favourable_above
            says["decision"] = int(scores.argmax()) if above is None else int(scores[0] > above)
        return *private_fair.statement_of(problem.given, says, problem.files, limits), says
    commitment, found = private.read(problem.given, problem.files, limits)
    if problem.kind in ("private-robust", "private-ball"):
        says.setdefault("label", private_statement.label(found, commitment.policy.size(commitment.policy.depth)))
        says.setdefault("margin_at_least", Fraction(1, 1 << commitment.policy.total_scale))
    for name in private.KINDS[problem.kind].says.fields:
        if name not in says:
            raise UsageError("setting-missing", f"{problem.kind} needs --set {name}=...", fix=f"`certify claims {problem.kind}` says what it means")
    return commitment, private.stated(problem.kind, commitment, found, problem.given, says, limits), says


def statement_widths(commitment: Commitment, statement: Statement) -> Mapping[str, float]:
    """Return the logarithm of the largest value that each relation could reach; half of the prime is below 2^63."""
    from certify_zk.circuit import circuit
    return {name: round(interval.bits, 2) for name, interval in circuit(commitment.policy, statement).require()}


def secret_of(problem: Problem) -> Secret:
    """Return the owner's file that a problem names; raises UsageError or Declined."""
    from certify_zk import secret
    if not problem.options["secret"]:
        raise UsageError("setting-missing", f"{problem.kind} needs --set secret=FILE", fix="name the file that `certify commit` wrote for the owner")
    found, commitment = secret.read(Path(problem.options["secret"])), problem.files["commitment"]
    if not isinstance(commitment, bytes) or hashlib.sha256(commitment).digest() != found.commitment:
        raise Declined("commitment-root", "the secret file belongs to another commitment", where=found.path.name,
                       fix="use the secret file that `certify commit` wrote beside this commitment")
    return found
