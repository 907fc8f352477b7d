# SPDX-License-Identifier: Apache-2.0
"""What `certify verify` and `certify-check` have in common: --allow, --subject, and which of several files an error is about."""

from __future__ import annotations

from collections.abc import Sequence, Set
from importlib.util import find_spec
from pathlib import Path

from certify.assumptions import require_known
from certify.errors import CertifyError, Declined, UsageError, one_line
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
    """Return the public keys in files; raises UsageError for one that can't be read, or a threshold that can't be met.

    Raises Declined `backend-missing` without the package that checks signatures.
    """
    from certify.container import load_bytes
    from certify.signature import read_key

    if threshold is not None and not 1 <= threshold <= len(paths):
        raise UsageError("setting-value", f"--threshold {threshold} with {len(paths)} keys", fix="give a number from 1 to that of the keys")
    if paths and find_spec("cryptography") is None:
        raise Declined("backend-missing", "signatures need the package cryptography, which is missing", fix="pip install cryptography")
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
    """Return files by role, "" where none was named. `identifier=...` always names a role, whatever files there are."""
    pinned: dict[str, list[str]] = {}
    for text in texts:
        role, equals, file = text.partition("=")
        if equals and role.isidentifier():
            pinned.setdefault(role, []).append(file)
        else:
            pinned.setdefault("", []).append(text)
    return pinned


def named_digests(path: Path, limits: Limits) -> set[str] | None:
    """Return the sha256 of the subjects that a certificate names; None where it can't be read: its own check says what is wrong with it."""
    from certify import container

    try:
        statement = container.read(container.load_bytes(path, limits), limits, path.name)
    except (CertifyError, MemoryError):
        return None
    return {subject["digest"]["sha256"] for subject in statement.content["subject"]}


def assign(wanted: Sequence[Set[str] | None], loose: Sequence[str]) -> list[list[int]]:
    """Return, for several certificates, which of the files without a role each is checked against: those that fit it, or fit none of them.

    `wanted` are the digests that each certificate names, `loose` those of the files. What fits none may be a file of one that can't be read (None),
    so it is held against that one only. Files with a role are no matter of this: they are pinned, so every certificate is checked against them.
    """
    known: Set[str] = set().union(*(own for own in wanted if own is not None))
    strange = {index for index, digest in enumerate(loose) if digest not in known}
    fits = [{index for index, digest in enumerate(loose) if own is not None and digest in own} for own in wanted]
    unread = None in wanted
    return [sorted(fits[k] | (strange if own is None or not unread else set())) for k, own in enumerate(wanted)]


def of_file(name: str, where: str) -> str:
    """Return the place of an error with the file it is in, named once."""
    return where if name in where else one_line(f"{name}: {where}" if where else name)
