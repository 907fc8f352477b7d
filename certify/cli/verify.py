# SPDX-License-Identifier: Apache-2.0
"""`certify verify`: certificates and subject files to verdicts."""

from __future__ import annotations

import hashlib
from pathlib import Path

import click

from certify.cli.arguments import allowed_names, assign, named_digests, of_file, pinned_subjects, public_keys
from certify.cli.completion import assumption_names, file_names
from certify.cli.output import as_json, error_json, fail, stop, verdict
from certify.cli.report_text import verification_json, verification_lines
from certify.errors import CertifyError

_WORST = (70, 1, 3, 2, 0)


@click.command()
@click.argument("certificates", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--subject", "subjects", multiple=True, metavar="[ROLE=]FILE", shell_complete=file_names,
              help="A file that the claim is about; matched by its digest.")
@click.option("--allow", "allowed", multiple=True, metavar="NAME,...", shell_complete=assumption_names,
              help="Allow exactly these assumptions (none: no assumption).")
@click.option("--key", "keys", multiple=True, type=click.Path(path_type=Path), metavar="PUB.pem", help="A public key that must have signed it.")
@click.option("--threshold", type=click.IntRange(1), default=None, metavar="N", help="How many of the keys must have signed.  [default: all]")
@click.option("--work", type=click.IntRange(1), default=None, help="Work budget in elementary operations.  [default: 2^36]")
@click.option("--blas", is_flag=True, help="Let this run take products from a BLAS: faster, and trusts that it computes what it says.")
@click.option("--reference", is_flag=True, help="Take the group of `hyrax` evidence from py_ecc alone: plain Python, a second opinion, slower.")
@click.option("--json", "json_output", is_flag=True, help="One JSON object a certificate.")
def verify(certificates: tuple[Path, ...], subjects: tuple[str, ...], allowed: tuple[str, ...], keys: tuple[Path, ...],
           threshold: int | None, work: int | None, blas: bool, reference: bool, json_output: bool) -> None:
    """Verify CERTIFICATES against their subject files, with the trusted checker alone.

    \b
    certify verify out.cert --subject model.onnx --subject property.vnnlib
    certify verify out.cert --subject model=model.onnx --subject property=p.vnnlib --allow real-arithmetic

    ROLE=FILE pins a file to a role, for every certificate; a file whose own name reads so is written ./NAME. Names that begin with a hyphen stand
    behind --, such as in `certify verify --subject model.onnx -- *`. Status 0 is a verdict only with `verified` as the first word.
    """
    from certify.container import load_bytes
    from certify.limits import Limits
    from certify.verification import check, read_subjects

    limits = Limits(blas=blas, reference=reference) if work is None else Limits(work=work, blas=blas, reference=reference)
    try:
        allow = allowed_names(allowed)
        given = read_subjects(pinned_subjects(subjects), limits)
        pems = public_keys(keys, threshold, limits)
        fitting = [given]
        if len(certificates) > 1:
            loose = given.get("", [])
            chosen = assign([named_digests(path, limits) for path in certificates], [hashlib.sha256(data).hexdigest() for _, data in loose])
            fitting = [{**given, "": [loose[index] for index in indices]} for indices in chosen]
    except CertifyError as trouble:  # the request as a whole is at fault, and so none of the certificates was verified
        if not json_output:
            raise
        for path in certificates:
            as_json({"file": str(path), **error_json(trouble)})
        raise SystemExit(trouble.exit_status) from None
    statuses: list[int] = []
    for path, files in zip(certificates, fitting, strict=True):
        try:
            result = check(load_bytes(path, limits), path.name, files, allow, limits.fresh(), pems or None, threshold)
        except CertifyError as trouble:
            statuses.append(trouble.exit_status)
            if json_output:
                as_json({"file": str(path), **error_json(trouble)})
            else:
                if len(certificates) > 1:
                    trouble.where = of_file(str(path), trouble.where)
                fail(trouble)
            continue
        except Exception as trouble:  # a crash is never a verdict, and does not hide the other certificates
            statuses.append(stop(trouble))
            continue
        statuses.append(0)
        if json_output:
            as_json({"file": str(path), **verification_json(result)})
        else:
            several = [f"certificate: {path}"] if len(certificates) > 1 else []
            verdict("verified", result.sentence, [*several, *verification_lines(result)])
    raise SystemExit(min(statuses, key=_WORST.index))
