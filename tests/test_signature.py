# SPDX-License-Identifier: Apache-2.0
"""Signatures: who signed is told, the id stays, one copied from another certificate fails, and another implementation agrees."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from certify import archive, canonical, container, signature
from certify.cli import arguments
from certify.cli.main import cli
from certify.errors import CertifyError, Declined
from certify.limits import Limits
from certify.verification import Verification, check, verify
from kinds.region_vectors import bases
from toolkit import Specimen, refused

ONE, TWO = (Ed25519PrivateKey.from_private_bytes(bytes([k] * 32)) for k in (1, 2))


def pem(secret: Ed25519PrivateKey) -> bytes:
    """Return the public key in PEM."""
    return secret.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


def keyid(secret: Ed25519PrivateKey) -> str:
    """Return a key's id."""
    return signature.read_key(pem(secret))[1]


def raw(specimen: Specimen) -> bytes:
    """Return the bytes of a specimen's statement."""
    return canonical.encode(specimen.content())


def signed(specimen: Specimen, *secrets: Ed25519PrivateKey) -> dict[str, bytes]:
    """Return signatures over a specimen by key id."""
    return {keyid(secret): secret.sign(signature.pre_authentication(raw(specimen))) for secret in secrets}


def seal(specimen: Specimen, signatures: Mapping[str, bytes]) -> bytes:
    """Return the bytes of a signed certificate."""
    return b"".join(map(bytes, archive.pieces(container.members(specimen.content(), specimen.arrays, {}, signatures))))


def verified(specimen: Specimen, data: bytes, keys: list[bytes] | None, threshold: int | None = None) -> Verification:
    """Verify a signed certificate against the specimen's files."""
    return check(data, "signed", {role: [pair] for role, pair in specimen.files.items()}, None, Limits().fresh(), keys, threshold)


def test_signing_keeps_the_id_and_the_verdict_names_the_signers() -> None:
    leaf = bases().leaf
    plain = leaf.verify()
    both = verified(leaf, seal(leaf, signed(leaf, ONE, TWO)), [pem(ONE), pem(TWO)])
    assert both.id == plain.id and both.signed_by == tuple(sorted((keyid(ONE), keyid(TWO)))) and plain.signed_by == ()
    one = verified(leaf, seal(leaf, signed(leaf, ONE, TWO)), [pem(TWO)])
    assert one.signed_by == (keyid(TWO),) and any("signatures not checked" in fact and fact.endswith(": 1") for fact in one.facts)
    none = verified(leaf, seal(leaf, signed(leaf, ONE)), None)
    assert none.signed_by == () and any("not checked" in fact for fact in none.facts)


def test_a_key_that_did_not_sign_is_missing_and_a_threshold_counts_keys() -> None:
    leaf = bases().leaf
    data = seal(leaf, signed(leaf, ONE))
    refused("signature-missing", verified, leaf, leaf.seal(), [pem(ONE)])
    refused("signature-missing", verified, leaf, data, [pem(TWO)])
    refused("signature-missing", verified, leaf, data, [pem(ONE), pem(TWO)])
    assert verified(leaf, data, [pem(ONE), pem(TWO)], 1).signed_by == (keyid(ONE),)


def test_without_the_package_that_checks_signatures_the_certificate_is_declined(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(arguments, "find_spec", lambda name: None)
    with pytest.raises(Declined) as caught:
        arguments.public_keys([tmp_path / "one.pub.pem"], None, Limits())
    assert caught.value.code == "backend-missing" and "cryptography" in caught.value.fix
    assert arguments.public_keys([], None, Limits()) == []


@pytest.mark.parametrize(("count", "threshold"), [(0, None), (0, 1), (0, 2), (1, 0), (1, -1), (1, 2), (2, 3), (1, True), (1, False), (1, 1.0),
                                                  (1, float("nan")), (2, 1.5), (1, "1")])
def test_a_threshold_that_asks_for_nothing_or_too_much_is_refused(count: int, threshold: Any) -> None:
    leaf = bases().leaf
    for data in (leaf.seal(), seal(leaf, signed(leaf, ONE, TWO))):
        refused("setting-value", verified, leaf, data, [pem(ONE), pem(TWO)][:count], threshold)
    refused("setting-value", check, leaf.seal(), "unsigned", {}, None, Limits().fresh(), None, 1)


def test_a_key_that_is_given_twice_is_refused_in_any_form() -> None:
    leaf = bases().leaf
    data = seal(leaf, signed(leaf, ONE))
    for again in (pem(ONE), pem(ONE).replace(b"\n", b"\r\n"), pem(ONE).rstrip(b"\n")):
        refused("setting-value", verified, leaf, data, [pem(ONE), again], 2)
        assert verified(leaf, data, [again]).signed_by == (keyid(ONE),)


def test_the_files_of_keys_are_a_list() -> None:
    for keys in ("a.pem", b"a.pem", {"a.pem": 1}):
        with pytest.raises(TypeError):
            verify("a.cert", keys=keys)  # type: ignore[arg-type]


def test_a_file_of_keys_holds_one_and_nothing_else() -> None:
    leaf = bases().leaf
    data = seal(leaf, signed(leaf, ONE))
    for bad in (pem(ONE) + pem(TWO), b"of Ann\n" + pem(ONE), pem(ONE) + b"of Ann\n", pem(ONE).replace(b"\n", b"\nx: y\n", 1),
                pem(ONE).replace(b"\n", b" \n", 1), b" " + pem(ONE)):
        refused("key-unreadable", verified, leaf, data, [bad])


def _encoded(height: int, odd: int = 0) -> bytes:
    body = bytes.fromhex("302a300506032b6570032100") + (height | odd << 255).to_bytes(32, "little")
    return b"-----BEGIN PUBLIC KEY-----\n" + base64.b64encode(body) + b"\n-----END PUBLIC KEY-----\n"


def test_points_of_small_order_and_second_forms_are_no_keys() -> None:
    prime = 2**255 - 19
    factor = -121665 * pow(121666, -1, prime) % prime

    def added(p: tuple[int, int], q: tuple[int, int]) -> tuple[int, int]:
        """Return the sum of two points of the Edwards curve -x^2 + y^2 = 1 + d x^2 y^2."""
        both = factor * p[0] * q[0] * p[1] * q[1] % prime
        return ((p[0] * q[1] + q[0] * p[1]) * pow(1 + both, -1, prime) % prime, (p[1] * q[1] + p[0] * q[0]) * pow(1 - both, -1, prime) % prime)

    eighth = signature._EIGHTH
    square = (eighth * eighth - 1) * pow(factor * eighth * eighth + 1, -1, prime) % prime
    root = pow(square, (prime + 3) // 8, prime)
    root = root if root * root % prime == square else root * pow(2, (prime - 1) // 4, prime) % prime
    assert root * root % prime == square
    small, point = [], (0, 1)
    for _ in range(8):
        small.append(point)
        point = added(point, (root, eighth))
    assert point == (0, 1) and len(set(small)) == 8  # all points of order 1, 2, 4 and 8
    assert {y for _, y in small} == set(signature._SMALL)
    leaf = bases().leaf
    for height in [y for _, y in small] + [prime, prime + 1, 2**255 - 1]:
        for odd in (0, 1):
            refused("key-unreadable", verified, leaf, leaf.seal(), [_encoded(height, odd)])


def test_a_signature_of_another_certificate_is_refused_with_and_without_keys() -> None:
    leaf, split = bases().leaf, bases().split
    foreign = signed(split, ONE)
    data = seal(leaf, foreign)  # a well-formed envelope over this statement, with the other's signature in it
    refused("signature-invalid", verified, leaf, data, [pem(ONE)])
    envelope = signature.envelope(signature.start(raw(split)), keyid(ONE), foreign[keyid(ONE)])
    copied = [*container.members(leaf.content(), leaf.arrays, {}), (f"signatures/{keyid(ONE)}", envelope)]
    whole = b"".join(map(bytes, archive.pieces(copied)))
    for keys in (None, [pem(ONE)]):
        refused("signature-invalid", verified, leaf, whole, keys)


def test_every_bit_of_a_signature_counts() -> None:
    leaf = bases().leaf
    right = signed(leaf, ONE)[keyid(ONE)]
    for bit in range(0, 512, 37):
        wrong = bytearray(right)
        wrong[bit // 8] ^= 1 << bit % 8
        refused("signature-invalid", verified, leaf, seal(leaf, {keyid(ONE): bytes(wrong)}), [pem(ONE)])
    refused("signature-invalid", verified, leaf, seal(leaf, {keyid(ONE): TWO.sign(signature.pre_authentication(raw(leaf)))}), [pem(ONE)])


def _with(specimen: Specimen, name: str, data: bytes) -> bytes:
    return b"".join(map(bytes, archive.pieces([*container.members(specimen.content(), specimen.arrays, {}), (name, data)])))


def test_an_envelope_has_one_form() -> None:
    leaf = bases().leaf
    name, text = f"signatures/{keyid(ONE)}", signature.envelope(signature.start(raw(leaf)), keyid(ONE), signed(leaf, ONE)[keyid(ONE)])
    assert verified(leaf, _with(leaf, name, text), [pem(ONE)])
    parsed = json.loads(text)
    assert canonical.encode(parsed) == text and base64.b64decode(parsed["payload"]) == raw(leaf)
    others = [text + b" ", text[:-1], text.replace(b'":"', b'": "'), json.dumps(parsed, indent=1).encode(), text.replace(b"==", b"="),
              text.replace(b"in-toto", b"other-x"), canonical.encode({**parsed, "x": 1}), b"", b"{}", text.replace(b"}]}", b"},{}]}")]
    for other in others:
        refused("signature-invalid", verified, leaf, _with(leaf, name, other), None)
    tail = bytearray(text)
    at = text.rindex(b"==") - 1
    for spare in b"ABCDEFGHIJKLMNOP":  # base64 with unused bits set decodes to the same signature
        tail[at] = spare
        try:
            verified(leaf, _with(leaf, name, bytes(tail)), None)
        except CertifyError as trouble:
            assert trouble.code == "malformed"
        else:
            assert spare in b"AQgw" and base64.b64decode(json.loads(bytes(tail))["signatures"][0]["sig"])
    refused("malformed", verified, leaf, _with(leaf, f"signatures/{keyid(TWO)}", text), None)
    for bad in ("signatures/x", "signatures/", "signatures/" + "g" * 64):
        with pytest.raises(CertifyError) as caught:
            verified(leaf, _with(leaf, bad, text), None)
        assert caught.value.code in ("malformed", "unused-evidence")


def test_keys_that_are_none_are_usage_errors() -> None:
    leaf = bases().leaf
    secret = ONE.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    for bad in (b"", b"x", secret, b"-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n"):
        refused("key-unreadable", verified, leaf, seal(leaf, signed(leaf, ONE)), [bad])


def test_another_implementation_agrees() -> None:
    dsse = pytest.importorskip("securesystemslib.dsse")
    signer = pytest.importorskip("securesystemslib.signer")
    leaf = bases().leaf
    text = signature.envelope(signature.start(raw(leaf)), keyid(ONE), signed(leaf, ONE)[keyid(ONE)])
    theirs = dsse.Envelope.from_dict(json.loads(text))
    key = signer.SSlibKey.from_crypto(ONE.public_key(), keyid=keyid(ONE))
    assert set(theirs.verify([key], 1)) == {keyid(ONE)} and theirs.payload == raw(leaf)
    other = signer.SSlibKey.from_crypto(TWO.public_key(), keyid=keyid(ONE))
    with pytest.raises(Exception, match="signature"):
        theirs.verify([other], 1)
    made = dsse.Envelope(raw(leaf), signature.PAYLOAD_TYPE, {})
    made.sign(signer.CryptoSigner(ONE, key))
    assert made.signatures[keyid(ONE)].signature == signed(leaf, ONE)[keyid(ONE)].hex()


def test_the_commands_make_keys_sign_and_verify(tmp_path: Path) -> None:
    leaf = bases().leaf
    path = tmp_path / "a.cert"
    path.write_bytes(leaf.seal())
    subjects = []
    for _, (name, data) in leaf.files.items():
        (tmp_path / name).write_bytes(data)
        subjects += ["--subject", str(tmp_path / name)]

    def run(*words: str) -> tuple[int, str]:
        done = CliRunner().invoke(cli, list(words))
        return done.exit_code, done.output

    assert run("key", "new", str(tmp_path / "k"))[0] == 0 and run("key", "new", str(tmp_path / "other"))[0] == 0
    assert (tmp_path / "k.pem").stat().st_mode & 0o077 == 0
    with pytest.raises(CertifyError):
        CliRunner().invoke(cli, ["key", "new", str(tmp_path / "k")], catch_exceptions=False)
    before = container.read(path.read_bytes(), Limits(), "a").id
    assert run("sign", str(path), "--key", str(tmp_path / "k.pem"))[0] == 0
    once = path.read_bytes()
    assert run("sign", str(path), "--key", str(tmp_path / "k.pem"))[0] == 0 and path.read_bytes() == once  # Ed25519 is deterministic
    assert container.read(once, Limits(), "a").id == before
    status, text = run("verify", str(path), *subjects, "--key", str(tmp_path / "k.pub.pem"))
    assert status == 0 and "signed by" in text
    status, text = run("verify", str(path), *subjects, "--key", str(tmp_path / "other.pub.pem"))
    assert status == 1 and "signature-missing" in text
    both = ("--key", str(tmp_path / "other.pub.pem"), "--key", str(tmp_path / "k.pub.pem"))
    status, text = run("verify", str(path), *subjects, *both, "--threshold", "1")
    assert status == 0
