# SPDX-License-Identifier: Apache-2.0
"""What a verdict says of a private claim beside its sentence: architecture, commitment, context, and what is hidden."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from certify.fields import Nullable, Record, Text
from certify.limits import Limits
from certify.readers.commitment import Commitment
from certify_zk.statement import Statement

_WORD = Nullable(Text(r"[ -~]+"))
_DAY = Text(r"[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])(T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]Z)?")
CONTEXT = Record({"audience": _WORD, "nonce": _WORD, "expires": Nullable(_DAY)})
"""What an argument is bound to beside its statement."""


def context_words(context: Mapping[str, Any]) -> str:
    """Return whom a certificate is for, as a clause, empty where nothing is said."""
    words = [f"{word} {context[name]!r}" for name, word in (("audience", "for audience"), ("nonce", "nonce")) if context[name] is not None]
    if context["expires"] is not None:
        words.append(f"not to be used after {context['expires']}")
    return f" ({', '.join(words)})" if words else ""


def _group(commitment: Commitment, limits: Limits) -> tuple[str, ...]:
    if commitment.policy.backend != "hyrax":
        return ()
    from certify_zk.group import group  # what a verdict doesn't need isn't imported
    return (f"sums of points by {group(limits.reference).name}",)


def facts(commitment: Commitment, statement: Statement, limits: Limits) -> tuple[str, ...]:
    """Return remarks on what was verified and what is public about the network."""
    policy = commitment.policy
    sizes = "-".join(str(policy.size(k)) for k in range(policy.depth + 1))
    count = len(statement.regions)
    return (f"commitment root {commitment.root.hex()}", f"{sizes}, {sum(layer.parameters for layer in policy.layers)} parameters",
            *((f"{count} boxes, in one statement",) if count > 1 else ()), f"a commitment for at most {policy.uses} certificates",
            "masked: as made by certify's prover, the argument shows nothing more of the network (this is not checked)",
            *_group(commitment, limits))
