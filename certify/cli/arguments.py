# SPDX-License-Identifier: Apache-2.0
"""What `certify verify` and `certify-check` have in common: --allow, --subject, and which of several files an error is about."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path

from certify.assumptions import require_known
from certify.errors import CertifyError, UsageError, one_line
from certify.limits import Limits


def allowed_names(texts: Sequence[str]) -> set[str] | None:
    """Return the set of allowed assumptions, or None where --allow was not given."""
    if not texts:
        return None
    names = {name.strip() for text in texts for name in text.split(",")}
    require_known(names - {"none"})
    if "none" in names and len(names) > 1:
        raise UsageError("setting-value", "--allow none beside other names", fix="give none alone, or the names")
    return names - {"none"}


def public_keys(paths: Sequence[Path], threshold: int | None, limits: Limits) -> list[bytes]:
    """Return the public keys in files; raises UsageError for one that can't be read, or a threshold that can't be met."""
    from certify.container import load_bytes
    from certify.signature import read_key

    if threshold is not None and not 1 <= threshold <= len(paths):
        raise UsageError("setting-value", f"--threshold {threshold} with {len(paths)} keys", fix="give a number from 1 to that of the keys")
    keys = [load_bytes(path, limits) for path in paths]
    ids = []
    for path, key in zip(paths, keys, strict=True):
        try:
            ids.append(read_key(key)[1])
        except UsageError as trouble:
            trouble.where = trouble.where or one_line(str(path))
            raise
    if len(set(ids)) != len(ids):
        raise UsageError("setting-value", "the same key is given twice", fix="give each key once")
    return keys


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


def assign(paths: Sequence[Path], given: Mapping[str, Sequence[tuple[str, bytes]]], limits: Limits) -> list[dict[str, list[tuple[str, bytes]]]]:
    """Return, for each certificate, the files that fit it or fit none: of several certificates, a file need fit only one."""
    from certify import container

    wanted: list[set[str]] = []
    for path in paths:
        try:
            statement = container.read(container.load_bytes(path, limits), limits, path.name)
            wanted.append({subject["digest"]["sha256"] for subject in statement.content["subject"]})
        except CertifyError:  # its own check says what is wrong with it
            wanted.append(set())
    known: set[str] = set().union(*wanted)
    digests = {role: [(hashlib.sha256(data).hexdigest(), name, data) for name, data in files] for role, files in given.items()}
    return [{role: [(name, data) for digest, name, data in files if digest in own or digest not in known] for role, files in digests.items()}
            for own in wanted]


def of_file(name: str, where: str) -> str:
    """Return the place of an error with the file it is in, named once."""
    return where if name in where else one_line(f"{name}: {where}" if where else name)
