# SPDX-License-Identifier: Apache-2.0
"""What a verdict says of a private claim beside its sentence: architecture, commitment, context, and what is hidden."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from certify.fields import Nullable, Record, Text
from certify.readers.commitment import Commitment
from certify_zk.statement import Statement

_WORD = Nullable(Text(r"[ -~]+"))
CONTEXT = Record({"audience": _WORD, "nonce": _WORD, "expires": Nullable(Text(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(T[0-9]{2}:[0-9]{2}:[0-9]{2}Z)?"))})
"""What an argument is bound to beside its statement."""


def context_words(context: Mapping[str, Any]) -> str:
    """Return whom a certificate is for, as a clause, empty where nothing is said."""
    words = [f"{word} {context[name]!r}" for name, word in (("audience", "for audience"), ("nonce", "nonce")) if context[name] is not None]
    if context["expires"] is not None:
        words.append(f"not to be used after {context['expires']}")
    return f" ({', '.join(words)})" if words else ""


def facts(commitment: Commitment, statement: Statement) -> tuple[str, ...]:
    """Return remarks on what was verified and what is public about the network."""
    policy = commitment.policy
    sizes = "-".join(str(policy.size(k)) for k in range(policy.depth + 1))
    count = len(statement.regions)
    return (f"commitment root {commitment.root.hex()}", f"{sizes}, {sum(layer.parameters for layer in policy.layers)} parameters, none of them shown",
            *((f"{count} boxes, all of them shown together",) if count > 1 else ()), f"a commitment for {policy.uses} certificates")
