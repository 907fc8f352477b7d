# SPDX-License-Identifier: Apache-2.0
"""One certificate file: a strict ZIP with a canonical in-toto Statement, raw little-endian arrays, and optional inputs.

Guarantee: `read` returns a statement only if encoding what it understood gives back the same bytes (the re-encode rule), every
array has the digest, dtype and size that the statement says, floats are finite, and nothing is left over. The id is the
sha256 of `certificate.json`, which covers every array by its digest.
"""

from __future__ import annotations

import hashlib
import itertools
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod
from os import fstat
from pathlib import Path
from stat import S_ISREG
from typing import Any

import numpy as np

from certify import archive, canonical
from certify.canonical import Json
from certify.certificate import MIMETYPE, PREDICATE_TYPE, TYPE
from certify.errors import Rejected, UsageError, malformed
from certify.fields import Choice, Integer, ListOf, MapOf, OneOrMany, Raw, Record, Text
from certify.limits import Limits

DTYPES = ("|u1", "<i4", "<i8", "<u8", "<f4", "<f8")
_DIGEST = Text(r"[0-9a-f]{64}")
_NAME = Text(r"[A-Za-z0-9_.+@=,-]+")  # nothing that is drawn as a space or bracket: a name must not read like a sentence or a digest
_PLAIN = Text(r"[ -~]*")  # ASCII, since what is printable beyond it depends on the version of Python
_KEY = r"[a-z][a-z0-9_]{0,58}"
_WORD = Text(r"[a-z0-9][a-z0-9-]{0,63}")

STATEMENT = Record({
    "_type": Choice((TYPE,)),
    "predicateType": Choice((PREDICATE_TYPE,)),
    "subject": ListOf(Record({"name": _NAME, "digest": Record({"sha256": _DIGEST})}), least=1, most=4096),
    "predicate": Record({
        "claim": Record({"kind": _WORD, "version": Integer(1), "roles": MapOf(_KEY, OneOrMany(_NAME)), "given": Raw(), "says": Raw()}),
        "assumptions": ListOf(_WORD, most=64),
        "evidence": Record({
            "kind": _WORD, "version": Integer(1), "items": Raw(),
            "arrays": MapOf(_KEY, Record({"name": Text(), "sha256": _DIGEST, "dtype": Choice(DTYPES), "shape": ListOf(Integer(), most=8)})),
        }),
        "producer": Record({"name": _PLAIN, "version": _PLAIN, "prover": _PLAIN, "solver": _PLAIN, "seed": Integer()}),
    }),
})


@dataclass(frozen=True)
class Statement:
    """One file as read, before its kind has decoded the raw fields: statement, arrays by key, inputs by sha256, signatures by key id.

    `raw` are the bytes of the statement, which signatures are over.
    """

    id: str
    content: Mapping[str, Any]
    arrays: Mapping[str, np.ndarray[Any, Any]]
    inputs: Mapping[str, bytes]
    raw: bytes = b""
    signatures: Mapping[str, bytes] = field(default_factory=dict)


def members(content: Json, arrays: Mapping[str, np.ndarray[Any, Any]], inputs: Mapping[str, bytes],
            signatures: Mapping[str, bytes] | None = None) -> list[archive.Member]:
    """Return the members of a certificate in their order; `content` is the JSON of the statement."""
    raw = canonical.encode(content)
    found: list[archive.Member] = [("mimetype", MIMETYPE.encode()), ("certificate.json", raw)]
    found += [(f"evidence/{key}.bin", np.ascontiguousarray(arrays[key]).tobytes()) for key in sorted(arrays)]
    found += [(f"inputs/{digest}", inputs[digest]) for digest in sorted(inputs)]
    if signatures:
        from certify import signature
        start = signature.start(raw)
        found += [(f"signatures/{keyid}", signature.envelope(start, keyid, signed)) for keyid, signed in sorted(signatures.items())]
    return found


def load_bytes(path: Path, limits: Limits) -> bytes:
    """Return the bytes of a regular file; raises UsageError `file-unreadable`, or Declined `limit-reached` for its size."""
    try:
        if not S_ISREG(path.stat().st_mode):  # to open a pipe would wait for whoever writes into it, and a device has no end
            raise OSError("it is no regular file")
        with open(path, "rb") as stream:
            size = fstat(stream.fileno()).st_size
            limits.within(size, "file_bytes", f"size of {path.name} in bytes")
            data = stream.read(size)  # not up to the limit: that would reserve all of it
    except (OSError, ValueError) as trouble:
        raise UsageError("file-unreadable", f"can't read {path}: {getattr(trouble, 'strerror', None) or trouble}",
                         fix="check the path and its permissions") from None
    return data


def read(data: bytes, limits: Limits, where: str) -> Statement:
    """Return the statement in the bytes of one certificate file; raises Rejected or Declined."""
    found = archive.read(data, limits, where)
    if found[0] != ("mimetype", MIMETYPE.encode()) or len(found) < 2 or found[1][0] != "certificate.json":
        raise malformed("a certificate starts with the members mimetype and certificate.json", where)
    raw = bytes(found[1][1])
    content = canonical.parse(raw, limits, "certificate.json")
    decoded = STATEMENT.decode(content, "certificate.json")
    rest = dict(found[2:])
    if len(rest) != len(found) - 2:
        raise malformed("two members of one name", where)
    names, listed = [subject["name"] for subject in decoded["subject"]], decoded["predicate"]["assumptions"]
    for words, place in ((names, "subject"), (listed, "predicate.assumptions")):
        if any(a >= b for a, b in itertools.pairwise(words)):
            raise malformed("the entries are not in ascending order, each once", f"certificate.json.{place}")
    arrays = {key: _array(key, entry, rest.pop(entry["name"], None), limits) for key, entry in decoded["predicate"]["evidence"]["arrays"].items()}
    inputs = _inputs({name: rest.pop(name) for name in list(rest) if name.startswith("inputs/")}, decoded)
    signed = {name.removeprefix("signatures/"): rest.pop(name) for name in list(rest) if name.startswith("signatures/")}
    signatures = _signatures(raw, signed) if signed else {}
    if rest:
        raise Rejected("unused-evidence", f"the member {next(iter(rest))!r} is not named in certificate.json", where=where,
                       fix="ask the author for a certificate without it")
    if [name for name, _ in members(content, arrays, inputs, signatures)] != [name for name, _ in found]:
        raise malformed("the members are not in their order", where)
    return Statement(hashlib.sha256(raw).hexdigest(), decoded, arrays, inputs, raw, signatures)


def _signatures(raw: bytes, found: Mapping[str, bytes | memoryview]) -> dict[str, bytes]:
    from certify import signature
    start = signature.start(raw)
    return {keyid: signature.signed(start, keyid, bytes(data)) for keyid, data in found.items()}


def _array(key: str, entry: Mapping[str, Any], data: bytes | memoryview | None, limits: Limits) -> np.ndarray[Any, Any]:
    where = f"evidence array {key}"
    if data is None or entry["name"] != f"evidence/{key}.bin":
        raise malformed(f"its data should be the member evidence/{key}.bin", where)
    limits.within(len(data), "segment_bytes", where)
    if hashlib.sha256(data).hexdigest() != entry["sha256"]:
        raise Rejected("digest-mismatch", "its bytes are not those that certificate.json names", where=where,
                       fix="the file was changed after it was made: ask the author for the original")
    dtype, shape = np.dtype(entry["dtype"]), entry["shape"]
    if prod(shape) * dtype.itemsize != len(data):
        raise Rejected("array-shape", f"{len(data)} bytes don't fill the shape {list(shape)} of {entry['dtype']}", where=where)
    try:
        array: np.ndarray[Any, Any] = np.frombuffer(data, dtype).reshape(shape)
    except ValueError:  # an empty array with dimensions that numpy can't hold
        raise Rejected("array-shape", f"the shape {list(shape)} is too large", where=where) from None
    if dtype.kind == "f" and not np.isfinite(array).all():
        raise Rejected("array-nonfinite", "it holds a NaN or an infinity", where=where)
    return array


def _inputs(found: Mapping[str, bytes | memoryview], decoded: Mapping[str, Any]) -> dict[str, bytes]:
    digests = {subject["digest"]["sha256"] for subject in decoded["subject"]}
    inputs: dict[str, bytes] = {}
    for name, data in found.items():
        digest = name.removeprefix("inputs/")
        if not re.fullmatch(r"[0-9a-f]{64}", digest) or digest not in digests:
            raise Rejected("unused-evidence", f"the member {name!r} is no subject of the claim", fix="ask the author for a certificate without it")
        if hashlib.sha256(data).hexdigest() != digest:
            raise Rejected("digest-mismatch", "its bytes are not those that its name promises", where=name,
                           fix="the file was changed after it was made: ask the author for the original")
        inputs[digest] = bytes(data)
    return inputs
