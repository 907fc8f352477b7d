# SPDX-License-Identifier: Apache-2.0
"""The reviewed list of mutants that no test needs to notice, each with the reason; an entry is keyed by what it changes, not by line numbers."""

from __future__ import annotations

import tomllib
from pathlib import Path

FILE = Path(__file__).parent / "equivalents.toml"

Key = tuple[str, str, str, str, int]


def equivalents() -> dict[Key, str]:
    """Return the reason for every listed mutant; raises ValueError for an entry without one, or two entries for one mutant."""
    found: dict[Key, str] = {}
    for entry in tomllib.loads(FILE.read_text("utf-8")).get("equivalent", []):
        mutated = entry["mutated"] if isinstance(entry["mutated"], list) else [entry["mutated"]]
        for text in mutated:
            key = (entry["file"], entry["function"], entry["original"], text, entry.get("nth", 1))
            if key in found or len(entry["reason"].split()) < 3:
                raise ValueError(f"listed twice, or without a reason: {key}")
            found[key] = entry["reason"]
    return found
