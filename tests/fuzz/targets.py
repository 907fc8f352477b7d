# SPDX-License-Identifier: Apache-2.0
"""What is fuzzed: each target takes bytes, hands them to one reader, and lets nothing out but what is a bug.

Errors of ours are outcomes; any other exception, a result that does not read back, or more than `SECONDS` of processor time for one input is not.
Seeds come from the corpus of vectors, so that a new kind of claim is fuzzed as soon as it has vectors.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import tempfile
import time
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from itertools import zip_longest
from pathlib import Path

import numpy as np

from certify import archive, canonical, container, registry, signature, verification
from certify.cli.show_private import commitment_lines
from certify.errors import CertifyError
from certify.limits import Limits
from certify.readers import arrays, commitment, formula, matpower, onnx_graph, onnx_ops, onnx_wire, power, schema, table, vnnlib1, vnnlib2
from certify.readers.network import Network
from certify.rules.neighbourhood import Neighbourhoods
from certify_solvers.common.emit import array_entry
from certify_zk import settings
from toolkit import model, npy, pack
from vectors.stored import Stored, kinds, stored

SECONDS = 1.0
_PRIVATE = Path(__file__).parents[2] / "examples/private"
LIMITS = Limits(work=1 << 26, memory=256 << 20)  # about a tenth of a second of work


class Slow(Exception):
    """One input took longer than it may."""


@dataclass(frozen=True)
class Target:
    """One reader: `reads` are the modules that it stands for."""

    name: str
    reads: tuple[str, ...]
    read: Callable[[bytes], object]
    seeds: Callable[[], Iterable[bytes]]

    def __call__(self, data: bytes) -> None:
        """Read one input; an error of ours is an outcome, everything else leaves."""
        started = time.process_time()
        try:
            self.read(data)
        except CertifyError as trouble:
            if not trouble.fix or "\n" in f"{trouble}{trouble.fix}":
                raise ValueError(f"{trouble.code} does not say in one line each what is wrong and what to do") from trouble
        if time.process_time() - started > SECONDS:
            raise Slow(f"{time.process_time() - started:.1f} s for {len(data)} bytes")


@cache
def corpus() -> tuple[Stored, ...]:
    """Return all vectors, those of the kinds in turn."""
    mixed = zip_longest(*(stored(kind) for kind in kinds()))
    return tuple(vector for several in mixed for vector in several if vector is not None)


def _subjects(*endings: str) -> list[bytes]:
    """Return the subjects of the vectors whose name ends like this, each once."""
    found = (data for vector in corpus() for pairs in vector.subjects.values() for name, data in pairs if name.endswith(endings))
    return list(dict.fromkeys(found))


@cache
def _verified() -> tuple[Stored, ...]:
    return tuple(vector for vector in corpus() if vector.wanted[0] == "verified" and not vector.limits)


def _archive(data: bytes) -> None:
    members = archive.read(data, LIMITS, "x")
    _same(b"".join(bytes(piece) for piece in archive.pieces(members)), data)


def _canonical(data: bytes) -> None:
    _same(canonical.encode(canonical.parse(data, LIMITS, "x")), data)


def _same(again: bytes, data: bytes) -> None:
    if again != data:
        raise ValueError("it was accepted, and reads back as other bytes")


def _container(data: bytes) -> None:
    statement = container.read(data, LIMITS, "x")
    verification.decode(statement)


def _statement(data: bytes) -> None:
    """Seal a JSON value as the statement of a certificate, with the arrays and subjects of a vector that has its evidence."""
    statement, vector = _parts(0)
    value = canonical.parse(data, LIMITS, "x")
    verification.check(pack(value, statement.arrays), "x", vector.subjects, None, LIMITS.fresh())


def _evidence(data: bytes) -> None:
    """Put bytes into arrays of a verified certificate and seal it again: the first chooses the certificate, the second the array."""
    if len(data) < 2:
        return
    statement, vector = _parts(data[0])
    if not statement.arrays:
        return
    content, changed = json.loads(statement.raw), dict(statement.arrays)
    name = sorted(changed)[data[1] % len(changed)]
    old = changed[name]
    flat = np.frombuffer(data[2 : 2 + (len(data) - 2) // old.itemsize * old.itemsize], old.dtype)
    width = math.prod(old.shape[1:])
    rows = len(flat) // max(1, width)
    changed[name] = flat[: rows * width].reshape(rows, *old.shape[1:])
    content["predicate"]["evidence"]["arrays"][name] = array_entry(name, changed[name])
    verification.check(pack(content, changed), "x", vector.subjects, None, LIMITS.fresh())


@cache
def _parts(index: int) -> tuple[container.Statement, Stored]:
    vector = _verified()[index * 7 % len(_verified())]
    return container.read(vector.data, Limits(), vector.name), vector


def _evidence_seeds() -> Iterable[bytes]:
    for index in range(256):
        statement, _ = _parts(index)
        yield from (bytes([index, position]) + statement.arrays[name].tobytes() for position, name in enumerate(sorted(statement.arrays)))


def _property(read: Callable[[bytes, Limits], formula.Specification]) -> Callable[[bytes], object]:
    def both(data: bytes) -> object:
        limits = LIMITS.fresh()
        return formula.parts(read(data, limits), limits)
    return both


def _network(data: bytes) -> None:
    network = onnx_ops.read_network(data, LIMITS.fresh())
    if any(not np.isfinite(values).all() for layer in network.layers for values in (getattr(layer, "weight", 0.0), getattr(layer, "bias", 0.0))):
        raise ValueError("a network with a constant that is not finite")


def _labels(data: bytes) -> None:
    network = _network_of_labels()
    given = {"norm": "linf", "radius": "1", "radius_unit": "raw", "clip": None, "scale": "1", "subtract": "0", "divide": "1", "semantics": "real"}
    decoded = registry.kind("accuracy").given.decode(given, "x")
    near = Neighbourhoods(decoded, npy(np.zeros((3, network.inputs))), data, network, LIMITS.fresh())
    for row in range(3):
        near.label(row)


@cache
def _network_of_labels() -> Network:
    return onnx_ops.read_network(model([([[1.0, 0.0], [0.0, 1.0]], [0.0, 0.0])]), Limits())


def _fields(data: bytes) -> None:
    """Decode any JSON with the fields of the statement and of every kind: what is decoded is encoded to the same again."""
    try:
        value = json.loads(data)
        canonical.encode(value)
    except (ValueError, RecursionError):
        return
    records = [container.STATEMENT, *(record for name in registry.KINDS for record in (registry.kind(name).given, registry.kind(name).says)),
               *(spec.items for name in registry.KINDS for spec in registry.kind(name).evidence)]
    for record in records:
        try:
            decoded = record.decode(value, "x")
        except CertifyError:
            continue
        if record.encode(decoded) != value:
            raise ValueError("a field with a second form")


def _fields_seeds() -> Iterable[bytes]:
    for vector in _verified():
        content = json.loads(container.read(vector.data, Limits(), vector.name).raw)
        claim = content["predicate"]["claim"]
        yield from (canonical.encode(value) for value in (content, claim["given"], claim["says"], content["predicate"]["evidence"]["items"]))


def _statements() -> Iterable[bytes]:
    for vector in corpus():
        try:
            yield bytes(archive.read(vector.data, Limits(), "x")[1][1])
        except (CertifyError, IndexError):
            continue


_RAW, _KEYID = b'{"a":1}', "5e" * 32


def _envelopes() -> Iterable[bytes]:
    yield signature.envelope(_RAW, _KEYID, bytes(64))
    yield signature.envelope(_RAW, _KEYID, bytes(range(64)))


def _keys() -> Iterable[bytes]:
    from cryptography.hazmat.primitives.asymmetric import ed25519, x25519
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
    for key in (ed25519.Ed25519PrivateKey.from_private_bytes(bytes(32)), x25519.X25519PrivateKey.from_private_bytes(bytes(32))):
        yield key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


@cache
def _scratch() -> Path:
    return Path(tempfile.mkdtemp(prefix="fuzz-", dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None)) / "subject.gz"


def _gzip(data: bytes) -> None:
    _scratch().write_bytes(data)
    verification.read_subject(_scratch(), Limits(file_bytes=1 << 20))


def _packed() -> Iterable[bytes]:
    for data in _subjects("")[:20]:
        packer = zlib.compressobj(9, zlib.DEFLATED, 31)
        yield packer.compress(data) + packer.flush()


def _case(data: bytes) -> None:
    """Read a case under every operator, with units that may consume left out and free to."""
    read = matpower.read_case(data, LIMITS.fresh())
    for operator in power.OPERATORS:
        limits = "ignored" if operator == "transport" else "enforced"
        model = {"pmin": "relaxed", "angle_limits": limits, "dispatchable": "uncounted", "shunts": "as-load"}
        with contextlib.suppress(CertifyError):  # what one operator does not cover, another may
            power.power_network(read, operator, model, attack=operator == "dc")


def _commitment(data: bytes) -> None:
    """Read a commitment, compare what it says with its bytes, and look at the widths of a statement under it."""
    found = commitment.read_commitment(data, LIMITS.fresh())
    _same(commitment.encode_commitment(found), data)
    commitment_lines(data, LIMITS.fresh())


TARGETS = {target.name: target for target in (
    Target("archive", ("archive",), _archive, lambda: (vector.data for vector in corpus())),
    Target("canonical", ("canonical",), _canonical, _statements),
    Target("container", ("container",), _container, lambda: (vector.data for vector in corpus())),
    Target("fields", ("fields",), _fields, _fields_seeds),
    Target("statement", ("verification",), _statement, _statements),
    Target("evidence", ("rules",), _evidence, _evidence_seeds),
    Target("envelope", ("signature",), lambda data: signature.signed(signature.start(_RAW), _KEYID, data), _envelopes),
    Target("keys", ("signature",), signature.read_key, _keys),
    Target("gzip", ("verification",), _gzip, _packed),
    Target("onnx-wire", ("readers.onnx_wire",), onnx_wire.decode_model, lambda: _subjects(".onnx")),
    Target("onnx-graph", ("readers.onnx_graph",), onnx_graph.read_graph, lambda: _subjects(".onnx")),
    Target("onnx", ("readers.onnx_ops", "readers.onnx_shapes", "readers.network"), _network, lambda: _subjects(".onnx")),
    Target("vnnlib-1", ("readers.vnnlib1", "readers.formula"), _property(vnnlib1.read_vnnlib1), lambda: _subjects(".vnnlib")),
    Target("vnnlib-2", ("readers.vnnlib2",), _property(vnnlib2.read_vnnlib2), lambda: _subjects(".vnnlib")),
    Target("npy", ("readers.arrays",), arrays.read_npy, lambda: _subjects(".npy")),
    Target("table", ("readers.table",), lambda data: table.read_table(data, LIMITS.fresh()), lambda: _subjects(".csv")),
    Target("case", ("readers.matpower", "readers.power", "readers.susceptances"), _case, lambda: _subjects(".m")),
    Target("commitment", ("readers.commitment",), _commitment, lambda: _subjects(".commit")),
    Target("schema", ("readers.schema",), lambda data: schema.read_schema(data, LIMITS.fresh()), lambda: _subjects(".schema")),
    Target("policy", ("zk.settings",), settings.read_settings, lambda: (path.read_bytes() for path in sorted(_PRIVATE.glob("*.toml")))),
    Target("labels", ("rules.neighbourhood",), _labels, lambda: _subjects(".csv", ".npy")),
)}
"""By name. A module of `certify.readers` that none of them reads fails a test, unless it is a model of what others read."""
