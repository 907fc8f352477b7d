# SPDX-License-Identifier: Apache-2.0
"""The claim kinds that this checker knows, one line each; a kind's module is imported only when it is asked for.

A module has a `KIND`, or `KINDS` by name.
"""

from __future__ import annotations

import difflib
from importlib import import_module

from certify.certificate import Kind
from certify.errors import Declined

KINDS: dict[str, str] = {
    "accuracy": "certify.claims.accuracy",
    "grid-attack": "certify.claims.grid_attack",
    "grid-defence-limit": "certify.claims.grid_defence_limit",
    "grid-shedding": "certify.claims.grid_shedding",
    "private-fair": "certify.claims.private_fair",
    **{f"private-{name}": "certify.claims.private" for name in ("ball", "counterexample", "linear", "robust", "score")},
    "region": "certify.claims.region",
    "robust": "certify.claims.robust",
}


def kind(name: str, version: int = 1) -> Kind:
    """Return the kind called `name`; raises Declined `kind-unknown` or `version-unknown`."""
    if name not in KINDS:
        near = difflib.get_close_matches(name, KINDS, n=1)
        raise Declined("kind-unknown", f"this checker knows no claim of kind {name!r}",
                       fix=f"did you mean {near[0]!r}?" if near else "`certify claims` lists the kinds it knows")
    found: Kind = getattr(module := import_module(KINDS[name]), "KIND", None) or module.KINDS[name]
    if version != found.version:
        raise Declined("version-unknown", f"this checker knows version {found.version} of {name!r}, not {version}",
                       fix="use the version of certify that the author used, or a newer one")
    return found
