# SPDX-License-Identifier: Apache-2.0
"""The premises outside the files that a certificate may rest on, and which of them an auditor allows.

Guarantee: a verdict names every assumption its kind computed; one that isn't listed is `assumption-missing`, one that isn't
allowed declines the certificate. Each has a page, printed by `certify explain NAME`.
"""

from __future__ import annotations

from collections.abc import Set

from certify.errors import Declined, Rejected, UsageError

NAMES = frozenset({"angle-limits-ignored", "collision-resistant", "dc-power-flow", "dc-switching", "discrete-logarithm", "pmin-relaxed",
                   "random-oracle", "real-arithmetic", "transport-flow"})
OPT_IN: frozenset[str] = frozenset()


def require_listed(needed: Set[str], listed: tuple[str, ...]) -> None:
    """Raise Rejected unless the certificate lists exactly the assumptions that its check needs."""
    for name in sorted(needed - set(listed)):
        raise Rejected("assumption-missing", f"the claim rests on {name!r}, which the certificate does not list", where="predicate.assumptions",
                       fix="the prover must list every assumption: ask the author for a new certificate")
    for name in sorted(set(listed) - needed):
        raise Rejected("claim-mismatch", f"the certificate lists {name!r}, on which its claim does not rest", where="predicate.assumptions",
                       fix="the prover must list what the claim rests on and nothing else: ask the author for a new certificate")


def require_known(allow: Set[str] | None) -> None:
    """Raise UsageError `assumption-unknown` for a name in `allow` that is no assumption: a mistyped name would silently allow less."""
    for name in sorted((allow or set()) - NAMES):
        raise UsageError("assumption-unknown", f"there is no assumption {name!r}", fix=f"known assumptions: {', '.join(sorted(NAMES))}")


def require_allowed(listed: tuple[str, ...], allow: Set[str] | None) -> None:
    """Raise Declined `assumption-not-allowed` unless every listed assumption is in `allow` (None: all but the opt-in ones)."""
    for name in listed:
        if (name not in allow) if allow is not None else (name in OPT_IN or name not in NAMES):
            raise Declined("assumption-not-allowed", f"the claim rests on {name!r}, which is not allowed here",
                           fix=f"read `certify explain {name}`, then allow it with --allow {name}")
