# SPDX-License-Identifier: Apache-2.0
"""Verification: one certificate file and its subjects in, a `Verification` out or an exception.

Guarantee: `verify` returns only if the subjects are byte for byte those the claim names, the evidence is of the kind the
claim accepts, its check established the claim from the subjects, and every assumption is allowed. It never returns a bool.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Collection, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from certify import assumptions, container, registry
from certify._version import VERSION
from certify.certificate import ArraySpec, Certificate, Claim, Evidence, EvidenceSpec, Files, Kind, Role, Subject
from certify.container import Statement
from certify.errors import Declined, Rejected, UsageError, malformed
from certify.limits import Limits

_MOST_KEY = 1 << 16
_MOST_RATIO = 200  # unpacked to packed: real models and properties stay below 20, bombs come near 1000
Subjects = Sequence["str | Path"] | Mapping[str, "str | Path | Sequence[str | Path]"]


@dataclass(frozen=True)
class Verification:
    """The proof that a check succeeded; there is no other way to get one than `verify`.

    `sentence` says what was verified, `subjects` maps each role to (name, sha256) pairs, `assumptions` are those it rests
    on, `facts` are short remarks and `figures` numbers of the check (leaves, smallest margin, work); `signed_by` are the ids of the keys that
    were given and signed it.
    """

    id: str
    claim: Claim
    sentence: str
    subjects: Mapping[str, tuple[Subject, ...]]
    assumptions: tuple[str, ...]
    facts: tuple[str, ...]
    figures: Mapping[str, Any]
    checker: str
    signed_by: tuple[str, ...] = ()


def load(path: str | Path, limits: Limits | None = None) -> Certificate:
    """Read one certificate without checking its claim; raises Rejected `malformed` and its like, or Declined."""
    limits = limits or Limits()
    return decode(container.read(container.load_bytes(Path(path), limits), limits, Path(path).name))


def verify(path: str | Path, subjects: Subjects = (), allow: Collection[str] | None = None, limits: Limits | None = None,
           keys: Sequence[str | Path] | None = None, threshold: int | None = None, reference: bool = False) -> Verification:
    """Verify the certificate at `path` against subject files and return what was verified.

    `subjects` is a list of files, matched by digest, or a mapping that pins roles; a subject that the certificate carries
    needs no file. `allow` are the allowed assumptions (None: all but the opt-in ones). `keys` are files
    of Ed25519 public keys in PEM, of which `threshold` (None: all) must have signed; None asks for no signature, an empty list is an error.
    `reference` takes what has a second implementation from the one in plain Python (`Limits.reference`).
    Raises Rejected, Declined or UsageError (a file that
    can't be read).
    """
    if isinstance(subjects, str) or isinstance(allow, str) or isinstance(keys, (str, bytes, Mapping)):
        raise TypeError("subjects and keys are lists of files (or subjects a mapping), allow names; a single string is none of these")
    assumptions.require_known(allow := None if allow is None else frozenset(allow))
    limits = replace(limits := limits or Limits(), reference=reference or limits.reference).fresh()
    return check(container.load_bytes(Path(path), limits), Path(path).name, read_subjects(subjects, limits), allow, limits,
                 None if keys is None else [container.load_bytes(Path(key), replace(limits, file_bytes=_MOST_KEY)) for key in keys], threshold)


def check(data: bytes, name: str, subjects: Mapping[str, Sequence[tuple[str, bytes]]], allow: Set[str] | None, limits: Limits,
          keys: Sequence[bytes] | None = None, threshold: int | None = None) -> Verification:
    """Verify the bytes of a certificate; `subjects` maps a role, or "" for any, to (file name, bytes) pairs, `keys` are public keys (PEM)."""
    try:
        statement = container.read(data, limits, name)
        signers: tuple[str, ...] = ()
        if keys is not None or threshold is not None:
            from certify import signature
            signers = signature.require(statement.raw, statement.signatures, list(keys or ()), threshold)
        certificate = decode(statement)
        kind = registry.kind(certificate.claim.kind, certificate.claim.version)
        files, carried = _match(certificate, kind, subjects, statement.inputs)
        result = kind.check(certificate.claim, certificate.evidence, files, limits)
        unread = len(statement.signatures) - len(signers)
    except MemoryError:
        raise Declined("limit-reached", "the check ran out of memory", where=name, fix="verify it on a machine with more memory") from None
    assumptions.require_listed(result.assumptions, certificate.assumptions)
    assumptions.require_allowed(certificate.assumptions, allow)
    digests = {subject.name: subject for subject in certificate.subjects}
    return Verification(certificate.id, certificate.claim, certificate.claim.sentence(),
                        {role: tuple(digests[name] for name in _names(given)) for role, given in certificate.claim.roles.items()},
                        certificate.assumptions, (*result.facts, *(f"{role} read from a copy inside the certificate" for role in carried),
                                                  *(("products by a BLAS, as this run allows",) if limits.blas else ()),
                                                  *((f"signatures not checked, for no key of theirs was given: {unread}",) if unread else ())),
                        {**result.figures, "work": limits.spent}, f"certify {VERSION}", signers)


def decode(statement: Statement) -> Certificate:
    """Return the typed certificate in a statement: its kind decodes `given`, `says` and the evidence."""
    predicate = statement.content["predicate"]
    raw, told = predicate["claim"], predicate["evidence"]
    kind = registry.kind(raw["kind"], raw["version"])
    subjects = tuple(Subject(subject["name"], subject["digest"]["sha256"]) for subject in statement.content["subject"])
    _check_roles(kind, raw["roles"], {subject.name for subject in subjects})
    claim = Claim(kind.name, kind.version, raw["roles"], kind.given.decode(raw["given"], "claim.given"),
                  kind.says.decode(raw["says"], "claim.says"), kind.sentence)
    spec = _evidence_spec(kind, told["kind"], told["version"])
    items = spec.items.decode(told["items"], "evidence.items")
    for key, array in statement.arrays.items():
        _check_array(key, array, spec)
    for key in sorted(spec.required - set(statement.arrays)):
        raise Rejected("array-shape", f"the evidence lacks the array {key!r}", where="evidence.arrays")
    evidence = Evidence(spec.kind, spec.version, items, statement.arrays)
    return Certificate(statement.id, subjects, claim, predicate["assumptions"], evidence, predicate["producer"], tuple(statement.signatures))


def read_subjects(subjects: Subjects, limits: Limits) -> dict[str, list[tuple[str, bytes]]]:
    """Return (file name, unpacked bytes) pairs by role, "" where none was pinned."""
    if not isinstance(subjects, Mapping):
        subjects = {"": list(subjects)}
    return {role: [(Path(path).name, read_subject(Path(path), limits)) for path in ([given] if isinstance(given, (str, Path)) else given)]
            for role, given in subjects.items()}


def read_subject(path: Path, limits: Limits) -> bytes:
    """Return the bytes of a subject file, unpacked if its name ends in .gz; the limits hold for what is unpacked too."""
    data = container.load_bytes(path, limits)
    if path.suffix != ".gz":
        return data
    unpacker = zlib.decompressobj(wbits=31)
    try:
        most = min(limits.file_bytes, _MOST_RATIO * len(data) + (1 << 20))
        plain = unpacker.decompress(data, most + 1)
    except zlib.error as trouble:
        raise Declined("gzip-damaged", f"{trouble}", where=path.name, fix="the .gz file is damaged: unpack it yourself, or fetch it again") from None
    if len(plain) > most:
        raise Declined("limit-reached", f"{path.name} unpacks to more than {most} bytes, {_MOST_RATIO} times its size",
                       fix="unpack it yourself if you trust it")
    if not unpacker.eof or unpacker.unused_data:
        raise Declined("gzip-damaged", "it is cut off, or holds more than one gzip stream", where=path.name,
                       fix="the .gz file is damaged: unpack it yourself, or fetch it again")
    return plain


def _match(certificate: Certificate, kind: Kind, given: Mapping[str, Sequence[tuple[str, bytes]]],
           inputs: Mapping[str, bytes]) -> tuple[Files, list[str]]:
    """Return the bytes for every role: by digest from the files given, else from the copies that the certificate carries, and the roles of such."""
    digests = {subject.name: subject.sha256 for subject in certificate.subjects}
    wanted = {role: [digests[name] for name in _names(names)] for role, names in certificate.claim.roles.items()}
    available: dict[str, bytes] = {}
    for role, files in given.items():
        if role and role not in wanted:
            raise UsageError("role-unknown", f"the claim has no role {role!r}", fix=f"its roles are {', '.join(wanted)}")
        for name, data in files:
            digest = hashlib.sha256(data).hexdigest()
            if digest not in (wanted[role] if role else digests.values()):
                raise Rejected("subject-mismatch", f"{name} (sha256 {digest[:12]}) is not the file that the claim is about", where=role,
                               fix="`certify show` prints the names and digests of the files that it is about")
            available[digest] = data
    carried = [role for role, needed in wanted.items() if any(digest in inputs and digest not in available for digest in needed)]
    available = {**inputs, **available}
    for role, needed in wanted.items():
        for digest in needed:
            if digest not in available:
                raise Declined("subject-missing", f"no file was given for the role {role!r} (sha256 {digest[:12]})",
                               fix="name it with --subject FILE")
    many = {role.name for role in kind.roles if role.many}
    return {role: tuple(available[d] for d in needed) if role in many else available[needed[0]] for role, needed in wanted.items()}, carried


def _check_roles(kind: Kind, roles: Mapping[str, str | tuple[str, ...]], names: Set[str]) -> None:
    known: dict[str, Role] = {role.name: role for role in kind.roles}
    used = {name for given in roles.values() for name in _names(given)}
    for role, given in roles.items():
        if role not in known or known[role].many != isinstance(given, tuple):
            raise malformed(f"a claim of kind {kind.name} has no such role", f"claim.roles.{role}")
    for name, declared in known.items():
        if name not in roles and not declared.optional:
            raise malformed(f"the role {name!r} is missing", "claim.roles")
    if used != names:
        raise malformed("the roles and the subjects don't name the same files", "claim.roles")


def _evidence_spec(kind: Kind, name: str, version: int) -> EvidenceSpec:
    known = [spec for spec in kind.evidence if spec.kind == name]
    if not known:
        raise Rejected("evidence-kind", f"evidence of kind {name!r} can't establish a claim of kind {kind.name!r}", where="evidence.kind")
    for spec in known:
        if spec.version == version:
            return spec
    raise Declined("version-unknown", f"this checker doesn't know version {version} of the evidence {name!r}", where="evidence.version",
                   fix="use the version of certify that the author used, or a newer one")


def _check_array(key: str, array: np.ndarray[Any, Any], spec: EvidenceSpec) -> None:
    where = f"evidence array {key}"
    if key in spec.reserved:
        raise Declined("feature-unsupported", f"this version can't check evidence with the array {key!r}", where=where,
                       fix="verify it with a newer version of certify")
    wanted: ArraySpec | None = spec.arrays.get(key)
    if wanted is None:
        raise Rejected("unused-evidence", f"evidence of kind {spec.kind!r} has no array {key!r}", where=where,
                       fix="ask the author for a certificate without it")
    if array.dtype.str != wanted.dtype:
        raise Rejected("array-dtype", f"it is {array.dtype.str}, not {wanted.dtype}", where=where)
    if array.ndim != wanted.ndim:
        raise Rejected("array-shape", f"it has {array.ndim} dimensions, not {wanted.ndim}", where=where)


def _names(given: str | tuple[str, ...]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else given
