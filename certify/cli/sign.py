# SPDX-License-Identifier: Apache-2.0
"""`certify key new` and `certify sign`: Ed25519 keys, and signatures that leave a certificate's id as it is."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

import click

from certify.cli.output import say
from certify.errors import Rejected, UsageError
from certify.files import OutputError


@click.group()
def key() -> None:
    """Make a pair of keys for signatures."""


@key.command()
@click.argument("name", type=click.Path(path_type=Path))
def new(name: Path) -> None:
    """Write NAME.pem, the private key (keep it secret), and NAME.pub.pem, the public key that auditors need."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

    from certify.files import create
    from certify.signature import read_key

    if name.name in ("", ".."):
        raise UsageError("setting-value", f"{name} names a folder, not a pair of keys", fix="give a name such as mine, for mine.pem and mine.pub.pem")
    private, public = name.with_name(f"{name.name}.pem"), name.with_name(f"{name.name}.pub.pem")
    made = Ed25519PrivateKey.generate()
    pem = made.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    # The public one first: whatever happens, there is no private key without it.
    create([(public, pem, 0o666), (private, made.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()), 0o600)])
    say(f"wrote {private} (secret) and {public}", f"key id {read_key(pem)[1]}")


@click.command()
@click.argument("certificate", type=click.Path(path_type=Path))
@click.option("--key", "private", required=True, type=click.Path(path_type=Path), metavar="K.pem", help="The private key.")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Where the signed certificate goes.  [default: in place]")
def sign(certificate: Path, private: Path, output: Path | None) -> None:
    """Add a signature to CERTIFICATE. It says who stands behind it; whether it holds, `certify verify` says.

    \b
    certify key new mine
    certify sign out.cert --key mine.pem
    certify verify out.cert --subject model.onnx --subject property.vnnlib --key mine.pub.pem

    In place, the file keeps its permissions; a symbolic link stays, and the file that it points to is signed.
    """
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_private_key

    from certify import archive, container, signature
    from certify.files import save
    from certify.limits import Limits

    limits = Limits()
    place = Path(os.path.realpath(certificate))
    apart = output is not None and Path(os.path.realpath(output)) != place
    with contextlib.nullcontext() if apart else _locked(place, certificate):
        data = container.load_bytes(certificate, limits)
        try:
            statement = container.read(data, limits, certificate.name)
        except Rejected as trouble:
            trouble.what = trouble.what.split("; a subject file is named behind --subject")[0]  # which is no option of this command
            raise
        try:
            secret = load_pem_private_key(container.load_bytes(private, limits), None)
        except (ValueError, TypeError, UnsupportedAlgorithm):
            secret = None
        if not isinstance(secret, Ed25519PrivateKey):
            raise UsageError("key-unreadable", f"{private} is no Ed25519 private key in PEM without a passphrase",
                             fix="give the NAME.pem that `certify key new NAME` wrote")
        _, keyid = signature.read_key(secret.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
        signatures = {**statement.signatures, keyid: secret.sign(signature.pre_authentication(statement.raw))}
        members = [member for member in archive.read(data, limits, certificate.name) if not member[0].startswith("signatures/")]
        members += [(f"signatures/{name}", signature.envelope(signature.start(statement.raw), name, signatures[name])) for name in sorted(signatures)]
        save(output if output is not None and apart else place, archive.pieces(members), new=apart)
    say(f"signed {output or certificate} with the key {keyid}", f"id {statement.id} (unchanged)")


@contextlib.contextmanager
def _locked(path: Path, shown: Path) -> Iterator[None]:
    """Let nobody else sign the file at a path meanwhile: of two signers at once, the second reads what the first wrote."""
    import fcntl

    while True:
        try:
            handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK)  # a pipe is refused when it is read
        except OSError as trouble:
            raise UsageError("file-unreadable", f"can't read {shown}: {trouble.strerror}", fix="check the path and its permissions") from None
        try:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX)
                again = os.stat(path)
            except OSError as trouble:
                raise OutputError("output-unwritable", f"{path.name} can't be locked: {trouble.strerror or trouble}", where=str(path.parent),
                                  fix="name another file with -o") from None
            if os.path.samestat(os.fstat(handle), again):
                yield
                return
        finally:
            os.close(handle)
