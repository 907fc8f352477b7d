# SPDX-License-Identifier: Apache-2.0
"""The prover of private claims: the owner's integers and the property, to exact CROWN bounds, to a zero-knowledge argument."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

from certify.certificate import Files
from certify.claims import private
from certify.errors import UsageError
from certify.limits import Limits
from certify.readers.commitment import Commitment, read_commitment
from certify.readers.formula import Parts
from certify.readers.vnnlib2 import declared_format
from certify.rules import private_statement
from certify.rules.argument import LIGERO, PREMISES, bound, encoded
from certify_solvers.common.prover import Draft, Effort, Outcome, Problem, Progress, Proved, Refuted, Unknown
from certify_solvers.private.attack import Attack, search
from certify_zk.statement import Statement

_CONTEXT = {"audience": "null", "nonce": "null", "expires": "null"}
_MEANINGS = {
    "format": "the version of VNN-LIB; auto: by the file's first command",
    "audience": "for whom the certificate is made, as text that is bound to it", "nonce": "a text that the auditor chose, against replay",
    "expires": "the day (2027-01-31) after which the auditor should not take it; the checker has no clock",
    "secret": "the owner's file, written by `certify commit`; it is needed, and its list of uses grows by one",
    "label": "the class that the property asks for; found in the property", "margin_at_least": "by how much every other class is lower",
    "output": "the output whose values are compared", "score_gap_at_most": "the largest difference of two values",
    "radius_l2": "the l_2 distance, in units of the network's inputs", "point": "a point of the region on the grid of the commitment",
    "label_wrong": "the class that is at least as high there",
}


class Private:
    """Proves statements about the network behind a commitment; what it sees of the network stays in the secret file."""

    name = "private"
    emits = tuple(private.KINDS)
    summary = "CROWN bounds in exact integers, and a zero-knowledge argument that they hold"

    def defaults(self, kind: str) -> Mapping[str, str]:
        """Return the text of every `given` field that has a default."""
        return {"format": "auto", **_CONTEXT}

    def options(self, kind: str) -> Mapping[str, str]:
        """Return the prover options with their default texts."""
        return {"secret": ""}

    def help(self, kind: str) -> Mapping[str, str]:
        """Return one line of meaning for every setting of a kind."""
        return _MEANINGS

    def searched(self, kind: str) -> Mapping[str, str]:
        """Nothing is searched for."""
        return {}

    def complete(self, kind: str, given: Mapping[str, Any], files: Files, limits: Limits) -> Mapping[str, Any]:
        """Return `given` with its format."""
        text = files["property"]
        return {**given, "format": declared_format(text)} if given["format"] is None and isinstance(text, bytes) else given

    def rehearse(self, problem: Problem) -> Mapping[str, Any]:
        """Return what a proof would show and cost, without a use: the margins by region and row, and how near each relation comes to the prime."""
        from certify_zk import secret
        from certify_zk.witness import witness

        commitment, _, statement, _ = _asked(problem)
        found = witness(commitment.policy, secret.read(_secret(problem)).model, statement)
        widths = statement_widths(commitment, statement)
        why = {"why": found.why, "quantity": found.quantity} if hasattr(found, "why") else {}
        return {"margins": [[str(margin) for margin in row] for row in found.margins], "widths_log2": widths, **why}

    def prove(self, problem: Problem, effort: Effort, progress: Progress) -> Outcome:
        """Return the outcome of one problem."""
        from certify_zk import owner, secret
        from certify_zk.witness import Unknown as Unfit
        from certify_zk.witness import witness

        progress("reading", {})
        commitment, found, statement, says = _asked(problem)
        mine = secret.read(_secret(problem))
        progress("bounding", {})
        seen = witness(commitment.policy, mine.model, statement)
        if isinstance(seen, Unfit):
            return self._refuted(problem, commitment, found, statement, mine.model, seen.why, progress)
        progress("arguing", {"cells": seen.circuit.cells})
        claim = bound(private.KINDS[problem.kind], problem.roles, problem.files, problem.given, says)
        made = owner.argue(commitment.policy, commitment.root, mine, statement, claim, seen)
        draft = Draft(problem.kind, 1, problem.given, says, tuple(sorted(PREMISES)), LIGERO.kind, LIGERO.version, {}, encoded(made.argument))
        return Proved(draft, (f"use {made.use} of {commitment.policy.uses} of this commitment",))

    def _refuted(self, problem: Problem, commitment: Commitment, found: Parts, statement: Statement, model: Any, why: str,
                 progress: Progress) -> Outcome:
        """Return a counterexample in place of a claim of robustness, where there is one."""
        from certify_zk import owner, secret
        from certify_zk.witness import Unknown as Unfit
        from certify_zk.witness import witness

        margin = f"{why}: bounds were too weak, or the claim is false; a smaller region, or a smaller margin, may do"
        if problem.kind != "private-robust":
            return Unknown(margin)
        progress("attacking", {})
        hit: Attack | None = search(commitment.policy, model, statement, found)
        if hit is None:
            return Unknown(f"{margin}; no counterexample was found")
        given, says = {**problem.given, "point": hit.point}, {"label_wrong": hit.label}
        kind = private.KINDS["private-counterexample"]
        _, asked = private.private_statement_of(kind.name, given, says, problem.files, problem.limits.fresh())
        seen = witness(commitment.policy, model, asked)
        if isinstance(seen, Unfit):
            return Unknown(f"{margin}; the counterexample that was found is too close to a tie for the units of this commitment")
        claim = bound(kind, problem.roles, problem.files, given, says)
        made = owner.argue(commitment.policy, commitment.root, secret.read(_secret(problem)), asked, claim, seen)
        draft = Draft(kind.name, 1, given, says, tuple(sorted(PREMISES)), LIGERO.kind, LIGERO.version, {}, encoded(made.argument))
        return Refuted(draft, (f"use {made.use} of {commitment.policy.uses} of this commitment",))


def _asked(problem: Problem) -> tuple[Commitment, Parts, Statement, Mapping[str, Any]]:
    """Return the commitment, the property, the statement and what is said, defaults filled in."""
    commitment_file, property_file, limits = problem.files["commitment"], problem.files["property"], problem.limits.fresh()
    if not isinstance(commitment_file, bytes) or not isinstance(property_file, bytes):
        raise TypeError("a role takes one file")
    commitment = read_commitment(commitment_file, limits)
    found = private_statement.read_property(property_file, problem.given["format"], commitment, limits)
    says = dict(problem.wanted)
    if problem.kind in ("private-robust", "private-ball"):
        says.setdefault("label", private_statement.label(found, commitment.policy.size(commitment.policy.depth)))
        says.setdefault("margin_at_least", Fraction(1, 1 << commitment.policy.total_scale))
    for name in private.KINDS[problem.kind].says.fields:
        if name not in says:
            raise UsageError("setting-missing", f"{problem.kind} needs --set {name}=...", fix=f"`certify claims {problem.kind}` says what it means")
    _, statement = private.private_statement_of(problem.kind, problem.given, says, problem.files, limits)
    return commitment, found, statement, says


def statement_widths(commitment: Commitment, statement: Statement) -> Mapping[str, float]:
    """Return the logarithm of the largest value that each relation could reach; half of the prime is below 2^63."""
    from certify_zk.circuit import circuit
    return {name: round(interval.bits, 2) for name, interval in circuit(commitment.policy, statement).require()}


def _secret(problem: Problem) -> Path:
    if not problem.options["secret"]:
        raise UsageError("setting-missing", f"{problem.kind} needs --set secret=FILE", fix="name the file that `certify commit` wrote for the owner")
    return Path(problem.options["secret"])


