# SPDX-License-Identifier: Apache-2.0
"""Which module shows claims of a kind, one line each, imported only when such a claim is reported; without one, the page has no figures.

A module gives four functions, those of `Family`, and may give `MEANINGS` of the figures that its kinds report.
`sections` must not raise anything but errors of certify, whatever a rejected certificate holds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Protocol

from certify.certificate import Claim
from certify.report.html import Html, Section
from certify.report.outcome import Outcome

MODULES: dict[str, str] = {
    "accuracy": "certify.report.dataset",
    "grid-attack": "certify.report.grid",
    "grid-defence-limit": "certify.report.grid",
    "grid-shedding": "certify.report.grid",
    "region": "certify.report.network",
    "robust": "certify.report.network",
}


class Family(Protocol):
    """What a module of this package gives for the kinds that it shows."""

    def headline(self, claim: Claim) -> str:
        """Return what a verified claim is, in a few words behind the verdict; may be empty."""

    def gloss(self, outcome: Outcome) -> list[Html]:
        """Return a verified claim in plain words, for the box of the verdict; may be empty, may raise errors of certify."""

    def sections(self, outcome: Outcome) -> list[Section]:
        """Return the parts of the page that are the kind's own; bounds and outputs only where the verdict is `verified`."""

    def not_claimed(self, claim: Claim) -> Sequence[str]:
        """Return sentences that say what the claim does not say."""


def family(kind: str) -> Family | None:
    """Return the module that shows claims of a kind, or None."""
    found: Family | None = import_module(MODULES[kind]) if kind in MODULES else None
    return found


def meanings(kind: str) -> Mapping[str, str] | None:
    """Return the meanings of the figures that a kind reports, or None where its module gives none."""
    found: Mapping[str, str] | None = getattr(family(kind), "MEANINGS", None)
    return found
