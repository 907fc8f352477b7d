# SPDX-License-Identifier: Apache-2.0
"""The corpus of vectors: how many, how many of them negative, whether the checker gives each its verdict, and which wrong checkers it tells apart."""

from __future__ import annotations

from certify import registry
from reliability import Effort, Row
from vectors.controls import always_accept, is_semantic, parse_only
from vectors.stored import kinds, stored

MOST_WRONG, LEAST = 0.6, 15


def vectors(effort: Effort) -> list[Row]:
    """Count vectors, and check each."""
    rows = [Row(f"vectors of {kind}", "none", False) for kind in sorted(set(registry.KINDS) - set(kinds()))]
    for kind in kinds():
        found = stored(kind)
        negative = sum(vector.wanted[0] != "verified" for vector in found)
        missed = sum(vector.found() != vector.wanted for vector in found)
        sound = not missed and len(found) >= LEAST and negative >= MOST_WRONG * len(found)
        rows.append(Row(f"vectors of `{kind}` / share negative / with another verdict or code",
                        f"{len(found)} / {negative / len(found):.0%} / {missed}", sound))
    return rows


def controls(effort: Effort) -> list[Row]:
    """Check that wrong checkers fail."""
    found = [vector for kind in kinds() for vector in stored(kind)]
    accepted, parsed = (sum(control(vector) != vector.wanted for vector in found) for control in (always_accept, parse_only))
    semantic = [vector for vector in found if vector.kind in registry.KINDS and is_semantic(vector)]
    seen = sum(parse_only(vector) != vector.wanted for vector in semantic)
    return [
        Row("control: a checker that always accepts fails", f"{accepted} of {len(found)} vectors ({accepted / len(found):.0%})",
            accepted >= MOST_WRONG * len(found)),
        Row("control: a checker that only parses fails", f"{parsed} of {len(found)} vectors, {seen} of the {len(semantic)} semantic negatives",
            seen == len(semantic)),
    ]
