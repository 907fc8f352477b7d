# SPDX-License-Identifier: Apache-2.0
"""Signatures: DSSE envelopes with Ed25519 over the bytes of `certificate.json`, one a signer. They say who; the checker says whether.

Guarantee: an envelope has one byte form for its statement, key id and signature, so one copied from another certificate is refused; the id
of a certificate does not depend on its signatures. A key's id is the sha256 of its public key (DER SubjectPublicKeyInfo). Source: DSSE v1.0.2.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping, Sequence
from typing import Any

from certify.errors import Rejected, UsageError, malformed

PAYLOAD_TYPE = "application/vnd.in-toto+json"
_PRIME = (1 << 255) - 19
_EIGHTH = 0x7A03AC9277FDC74EC6CC392CFA53202A0F67100D760B3CBA4FD84D3D706A17C7  # y of a point of order 8
_SMALL = (0, 1, _PRIME - 1, _EIGHTH, _PRIME - _EIGHTH)  # y of all points of order 1, 2, 4 and 8
_REST = re.compile(rb'\{"keyid":"([0-9a-f]{64})","sig":"([A-Za-z0-9+/]{86}==)"\}\]\}')


def start(raw: bytes) -> bytes:
    """Return how every envelope over the statement with these bytes begins."""
    return b'{"payload":"%s","payloadType":"%s","signatures":[' % (base64.b64encode(raw), PAYLOAD_TYPE.encode())


def envelope(start: bytes, keyid: str, signed: bytes) -> bytes:
    """Return the envelope of one signature, as canonical JSON; `start` is that of its statement."""
    return start + f'{{"keyid":"{keyid}","sig":"{base64.b64encode(signed).decode()}"}}]}}'.encode()


def signed(start: bytes, keyid: str, data: bytes) -> bytes:
    """Return the signature in an envelope named by its key id; raises Rejected `signature-invalid` where it is over another statement."""
    found = _REST.fullmatch(data, len(start)) if data.startswith(start) else None
    if found is None:
        raise Rejected("signature-invalid", "it is not over this certificate", where=f"signatures/{keyid}", fix="ask the author for the signed file")
    signature = base64.b64decode(found.group(2))
    if found.group(1).decode() != keyid or envelope(start, keyid, signature) != data:
        raise malformed("a signature is named after its key and has one form", f"signatures/{keyid}")
    return signature


def require(raw: bytes, signatures: Mapping[str, bytes], keys: Sequence[bytes], threshold: int | None) -> tuple[str, ...]:
    """Return the ids of the keys (PEM) that signed, at least `threshold` of them (None: all).

    Raises Rejected `signature-invalid`, `signature-missing`, or UsageError: `key-unreadable`, `setting-value` for no key, one key twice, or a
    threshold that is no whole number from 1 to that of the keys.
    """
    from cryptography.exceptions import InvalidSignature
    known = {keyid: public for public, keyid in map(read_key, keys)}
    least = len(keys) if threshold is None else threshold
    if len(known) < len(keys) or isinstance(least, bool) or not isinstance(least, int) or not 1 <= least <= len(known):
        raise UsageError("setting-value", f"{least} of {len(keys)} keys, {len(known)} of them different, must have signed",
                         fix="give each key once, and a threshold from 1 to their number")
    found = sorted(known.keys() & signatures.keys())
    for keyid in found:
        try:
            known[keyid].verify(signatures[keyid], pre_authentication(raw))
        except InvalidSignature:
            raise Rejected("signature-invalid", f"the signature of the key {keyid[:12]} does not fit the certificate") from None
    if len(found) < least:
        raise Rejected("signature-missing", f"{len(found)} of the given keys signed it, {least} must", where="signatures",
                       fix="ask the author to sign it with `certify sign`, or give the keys of those who did")
    return tuple(found)


def read_key(pem: bytes) -> tuple[Any, str]:
    """Return an Ed25519 public key and its id; raises UsageError `key-unreadable`.

    The file holds one PEM block and nothing else, or a second key in it would not count. A point of small order, or one that is not in
    lowest form, is no key: signatures by the first need no secret.
    """
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_public_key
    trouble = UsageError("key-unreadable", "not an Ed25519 public key in PEM", fix="give the NAME.pub.pem that `certify key new NAME` wrote")
    try:
        key = load_pem_public_key(pem)
    except (ValueError, UnsupportedAlgorithm):
        raise trouble from None
    if not isinstance(key, Ed25519PublicKey):
        raise trouble
    height = int.from_bytes(key.public_bytes_raw(), "little") % (1 << 255)
    written = key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    if pem.replace(b"\r\n", b"\n").strip(b"\n") != written.strip() or height in _SMALL or height >= _PRIME:
        raise trouble
    return key, hashlib.sha256(key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)).hexdigest()


def pre_authentication(raw: bytes) -> bytes:
    """Return the bytes that are signed: DSSE's encoding of payload type and payload."""
    return b"DSSEv1 %d %s %d %s" % (len(PAYLOAD_TYPE), PAYLOAD_TYPE.encode(), len(raw), raw)
