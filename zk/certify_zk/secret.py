# SPDX-License-Identifier: Apache-2.0
"""The owner's secret file: seeds, the committed integers, and a list of uses that no fault can make shorter.

Layout: a line of canonical JSON with both seeds (hex), the digest of `model.commit`, and the shapes of the integers; then these, each array as
little-endian 32-bit words; the SHA-256 of all that; then one record of 72 bytes for each use: its number (big-endian), and the digests of statement
and witness. Guarantee: the file is created readable by its owner alone and never replaced; a use is on the disk (fsync, under an exclusive lock)
before `take` returns its number, so no number is given to two statements or two witnesses, whatever is killed when. A record that was cut off counts
as a use.

*Why.* Pads, masks and salts come from the proof seed, the statement, the witness and the number of the use. The same pads under two witnesses would
give away the difference of their messages; and each use opens columns of the model's rows, which have pads for as many as the policy allows. Whoever
restores an old copy of this file takes that risk back.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import hmac
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20

from certify import canonical
from certify.errors import Declined, Rejected, UsageError
from certify.fields import Choice, Integer, ListOf, Record, Text
from certify.files import create
from certify.limits import Limits
from certify_zk.witness import Model

SEED_BYTES = 32
_RECORD = 72
_HEX = Text(r"[0-9a-f]{64}")
_HEADER = Record({"format": Choice(("certify/secret",)), "version": Integer(1, 1), "commitment_seed": _HEX, "proof_seed": _HEX, "commitment": _HEX,
                  "layers": ListOf(ListOf(Integer(1, 1 << 16), 2, 2), 1, 128)})
_MOST_HEADER = 1 << 16

Draw = Callable[[int], bytes]


def require_numba() -> None:
    """Raise Declined `backend-missing` where the package is not installed that makes proofs."""
    if find_spec("numba") is None:
        raise Declined("backend-missing", "commitments and proofs need the package numba", fix="pip install 'certify-engine[zk]'")


@dataclass(frozen=True, eq=False)
class Secret:
    """The seeds and integers in a file; `commitment` is the SHA-256 of the `model.commit` that belongs to it."""

    path: Path
    commitment_seed: bytes
    proof_seed: bytes
    commitment: bytes
    model: Model
    end: int

    def take(self, statement: bytes, witness: bytes, most: int) -> int:
        """Return the number of the use, from 1 on, that serves a statement with a witness (digests of 32 bytes): a new one unless both had one.

        Raises Declined `pad-budget-spent` where `most` uses are taken, or `secret-damaged` where the file has become shorter.
        """
        handle = -1
        try:
            handle = os.open(self.path, os.O_RDWR)
            fcntl.flock(handle, fcntl.LOCK_EX)
            size = os.fstat(handle).st_size - self.end
            if size < 0:
                raise _damaged(self.path, "it has become shorter")
            found = os.pread(handle, size, self.end)
            used = -(-size // _RECORD)
            for number in range(size // _RECORD):
                if found[number * _RECORD + 8 : (number + 1) * _RECORD] == statement + witness:
                    return number + 1
            if used >= most:
                raise Declined("pad-budget-spent", f"all {most} uses of this commitment are spent", where=self.path.name,
                               fix="commit again: further columns of the committed rows would tell about the network")
            record = (used + 1).to_bytes(8, "big") + statement + witness
            whole = bytes(used * _RECORD - size) + record  # a record that was cut off is filled up: it was a use
            if os.pwrite(handle, whole, self.end + size) != len(whole):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            os.fsync(handle)
            return used + 1
        except OSError as trouble:
            raise UsageError("secret-unwritable", f"{self.path.name}: {trouble.strerror or trouble}",
                             fix="the owner's file must be writable: each use is written down before a certificate is made") from None
        finally:
            if handle >= 0:
                os.close(handle)

    def used(self) -> int:
        """Return how many uses are taken."""
        return -(-(self.path.stat().st_size - self.end) // _RECORD)


def contents(commitment_seed: bytes, proof_seed: bytes, commitment: bytes, model: Model) -> bytes:
    """Return the bytes of a new secret file; raises ValueError for integers of more than 32 bits."""
    arrays = [*model.weights, *model.biases]
    if any(int(array.min()) < -(1 << 31) or int(array.max()) >= 1 << 31 for array in arrays):
        raise ValueError("the integers of a network have at most 32 bits")
    header = canonical.encode({
        "format": "certify/secret", "version": 1, "commitment_seed": commitment_seed.hex(), "proof_seed": proof_seed.hex(),
        "commitment": commitment.hex(), "layers": [list(weight.shape) for weight in model.weights]})
    body = b"".join([header, b"\n", *(np.ascontiguousarray(array, "<i4").tobytes() for array in arrays)])
    return body + hashlib.sha256(body).digest()


def write(commit: tuple[Path, bytes], secrets: Sequence[tuple[Path, bytes]]) -> None:
    """Write files that only the owner may read, and then a commitment, all new, all or none; raises UsageError `output-taken` or OutputError."""
    create([*((*secret, 0o600) for secret in secrets), (*commit, 0o644)])


def read(path: Path) -> Secret:
    """Return what a secret file holds; raises UsageError `file-unreadable` or Declined `secret-damaged`."""
    try:
        data = path.read_bytes()
    except OSError as trouble:
        raise UsageError("file-unreadable", f"can't read {path}: {trouble.strerror or trouble}", fix="name it with --set secret=FILE") from None
    line, newline, _ = data[:_MOST_HEADER].partition(b"\n")
    try:
        found = _HEADER.decode(canonical.parse(line, Limits(), path.name), path.name)
    except Rejected:
        raise _damaged(path, "it does not begin as a secret file does") from None
    shapes = [tuple(shape) for shape in found["layers"]]
    start, arrays = len(line) + len(newline), []
    for shape in (*shapes, *((shape[0],) for shape in shapes)):
        count = int(np.prod(shape))
        part = data[start : start + 4 * count]
        if len(part) != 4 * count:
            raise _damaged(path, "it is cut off")
        arrays.append(np.frombuffer(part, "<i4").reshape(shape).astype(np.int64))
        start += 4 * count
    if hashlib.sha256(data[:start]).digest() != data[start : start + 32]:
        raise _damaged(path, "its digest differs")
    model = Model(tuple(arrays[: len(shapes)]), tuple(arrays[len(shapes) :]))
    commitment_seed, proof_seed, commitment = (bytes.fromhex(found[name]) for name in ("commitment_seed", "proof_seed", "commitment"))
    return Secret(path, commitment_seed, proof_seed, commitment, model, start + 32)


def stream(seed: bytes, *parts: bytes) -> Draw:
    """Return a generator of bytes: ChaCha20 with the key HMAC-SHA-256(seed, parts), each with its length before it."""
    key = hmac.new(seed, b"".join(len(part).to_bytes(8, "big") + part for part in parts), hashlib.sha256).digest()
    encryptor = Cipher(ChaCha20(key, bytes(16)), None).encryptor()
    return lambda count: encryptor.update(bytes(count))


def _damaged(path: Path, what: str) -> Declined:
    return Declined("secret-damaged", what, where=path.name, fix="use the file that `certify commit` wrote; without it, commit again")
