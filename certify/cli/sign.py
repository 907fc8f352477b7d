# SPDX-License-Identifier: Apache-2.0
"""`certify key new` and `certify sign`: Ed25519 keys, and signatures that leave a certificate's id as it is."""

from __future__ import annotations

from pathlib import Path

import click

from certify.errors import Rejected, UsageError


@click.group()
def key() -> None:
    """Make a pair of keys for signatures."""


@key.command()
@click.argument("name", type=click.Path(path_type=Path))
def new(name: Path) -> None:
    """Write NAME.pem, the private key (keep it secret), and NAME.pub.pem, the public key that auditors need."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

    from certify.files import save
    from certify.signature import read_key

    private, public = name.with_name(f"{name.name}.pem"), name.with_name(f"{name.name}.pub.pem")
    for path in (private, public):
        if path.exists():
            raise UsageError("output-taken", f"{path} exists: a key that is overwritten is lost", fix="choose another name")
    made = Ed25519PrivateKey.generate()
    pem = made.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    save(private, [made.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())], 0o600)
    save(public, [pem])
    click.echo(f"wrote {private} (secret) and {public}\nkey id {read_key(pem)[1]}")


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
    """
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_private_key

    from certify import archive, container, signature
    from certify.files import save
    from certify.limits import Limits

    limits = Limits()
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
    target = output if output is not None else certificate
    if output is not None and output.exists() and not output.samefile(certificate):
        raise UsageError("output-taken", f"{output} exists", fix="choose another name with -o")
    members = [member for member in archive.read(data, limits, certificate.name) if not member[0].startswith("signatures/")]
    members += [(f"signatures/{name}", signature.envelope(signature.start(statement.raw), name, signatures[name])) for name in sorted(signatures)]
    save(target, archive.pieces(members))
    click.echo(f"signed {target} with the key {keyid}\nid {statement.id} (unchanged)")
