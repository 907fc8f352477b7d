# SPDX-License-Identifier: Apache-2.0
"""A `Verification` as the lines and as the JSON that both command lines print."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

from certify import registry
from certify.verification import Verification


def verification_lines(result: Verification) -> list[str]:
    """Return the lines under the verdict: subjects, assumptions, figures."""
    lines = [f"{role}: {', '.join(f'{subject.name} (sha256 {subject.sha256})' for subject in subjects)}" for role,
             subjects in result.subjects.items()]
    lines.append(f"rests on: {', '.join(result.assumptions) or 'nothing outside the files'}")
    figures = [f"{name.replace('_', ' ')} {_told(value)}" for name, value in result.figures.items() if name != "work"]
    lines.append(" · ".join([*result.facts, *figures]))
    lines += [f"signed by {keyid}" for keyid in result.signed_by]
    lines.append(f"id {result.id}")
    return lines


def verification_json(result: Verification) -> dict[str, Any]:
    """Return the JSON object of a successful verification; rationals are strings."""
    kind = registry.kind(result.claim.kind, result.claim.version)
    return {
        "verdict": "verified", "id": result.id, "sentence": result.sentence,
        "claim": {"kind": result.claim.kind, "version": result.claim.version, "given": kind.given.encode(result.claim.given),
                  "says": kind.says.encode(result.claim.says)},
        "subjects": {role: [{"name": s.name, "sha256": s.sha256} for s in subjects] for role, subjects in result.subjects.items()},
        "assumptions": list(result.assumptions), "facts": list(result.facts),
        "figures": {name: str(value) if isinstance(value, Fraction) else value for name, value in result.figures.items()}, "checker": result.checker,
        "signed_by": list(result.signed_by),
    }


def _told(value: Any) -> str:
    """Return a figure as people read it: rationals as exact decimals where they are some of at most nine digits behind the point."""
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, Fraction) and (value * 10**9).denominator == 1 and value.numerator.bit_length() < 80:
        return f"{(Decimal(value.numerator) / value.denominator).normalize():f}"
    return str(value)
