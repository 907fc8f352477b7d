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
_REST = re.compile(rb'\{"keyid":"([0-9a-f]{64})","sig":"([A-Za-z0-9+/]{86}==)"\}\]\}')


def envelope(raw: bytes, keyid: str, signed: bytes) -> bytes:
    """Return the envelope of one signature over the statement with these bytes, as canonical JSON."""
    return _start(raw) + f'{{"keyid":"{keyid}","sig":"{base64.b64encode(signed).decode()}"}}]}}'.encode()


def signed(raw: bytes, keyid: str, data: bytes) -> bytes:
    """Return the signature in an envelope named by its key id; raises Rejected `signature-invalid` where it is over another statement."""
    found = _REST.fullmatch(data, len(_start(raw))) if data.startswith(_start(raw)) else None
    if found is None:
        raise Rejected("signature-invalid", "it is not over this certificate", where=f"signatures/{keyid}", fix="ask the author for the signed file")
    signature = base64.b64decode(found.group(2))
    if found.group(1).decode() != keyid or envelope(raw, keyid, signature) != data:
        raise malformed("a signature is named after its key and has one form", f"signatures/{keyid}")
    return signature


def require(raw: bytes, signatures: Mapping[str, bytes], keys: Sequence[bytes], threshold: int) -> tuple[str, ...]:
    """Return the ids of the keys (PEM) that signed, at least `threshold` of them; raises Rejected, or UsageError `key-unreadable`."""
    from cryptography.exceptions import InvalidSignature
    found = set()
    for pem in keys:
        public, keyid = read_key(pem)
        if keyid in signatures:
            try:
                public.verify(signatures[keyid], pre_authentication(raw))
            except InvalidSignature:
                raise Rejected("signature-invalid", f"the signature of the key {keyid[:12]} does not fit the certificate") from None
            found.add(keyid)
    if len(found) < threshold:
        raise Rejected("signature-missing", f"{len(found)} of the given keys signed it, {threshold} must", where="signatures",
                       fix="ask the author to sign it with `certify sign`, or give the keys of those who did")
    return tuple(sorted(found))


def read_key(pem: bytes) -> tuple[Any, str]:
    """Return an Ed25519 public key and its id; raises UsageError `key-unreadable`."""
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_public_key
    try:
        key = load_pem_public_key(pem)
    except (ValueError, UnsupportedAlgorithm):
        key = None
    if not isinstance(key, Ed25519PublicKey):
        raise UsageError("key-unreadable", "not an Ed25519 public key in PEM", fix="give the NAME.pub.pem that `certify key new NAME` wrote")
    return key, hashlib.sha256(key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)).hexdigest()


def pre_authentication(raw: bytes) -> bytes:
    """Return the bytes that are signed: DSSE's encoding of payload type and payload."""
    return b"DSSEv1 %d %s %d %s" % (len(PAYLOAD_TYPE), PAYLOAD_TYPE.encode(), len(raw), raw)


def _start(raw: bytes) -> bytes:
    return b'{"payload":"%s","payloadType":"%s","signatures":[' % (base64.b64encode(raw), PAYLOAD_TYPE.encode())
