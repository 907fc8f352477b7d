# SPDX-License-Identifier: Apache-2.0
"""What `certify verify` and `certify-check` have in common: --allow, --subject, and which of several files an error is about."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from certify.assumptions import require_known
from certify.errors import UsageError, one_line


def allowed_names(texts: Sequence[str]) -> set[str] | None:
    """Return the set of allowed assumptions, or None where --allow was not given."""
    if not texts:
        return None
    names = {name.strip() for text in texts for name in text.split(",")}
    require_known(names - {"none"})
    if "none" in names and len(names) > 1:
        raise UsageError("setting-value", "--allow none beside other names", fix="give none alone, or the names")
    return names - {"none"}


def pinned_subjects(texts: Sequence[str]) -> dict[str, list[str]]:
    """Return files by role, "" where none was named; a text that is a file is taken as one, whatever it contains."""
    pinned: dict[str, list[str]] = {}
    for text in texts:
        role, equals, file = text.partition("=")
        if equals and role.isidentifier() and not Path(text).exists():
            pinned.setdefault(role, []).append(file)
        else:
            pinned.setdefault("", []).append(text)
    return pinned


def of_file(name: str, where: str) -> str:
    """Return the place of an error with the file it is in, named once."""
    return where if name in where else one_line(f"{name}: {where}" if where else name)
