# SPDX-License-Identifier: Apache-2.0
"""`certify report`: one certificate, verified again, as one HTML page to read, print and file."""

from __future__ import annotations

from pathlib import Path

import click

from certify.cli.arguments import allowed_names, pinned_subjects, public_keys
from certify.cli.explain import pages
from certify.cli.output import fail, require_writable, verdict
from certify.cli.report_text import verification_lines
from certify.errors import UsageError, one_line


@click.command()
@click.argument("certificate", type=click.Path(path_type=Path))
@click.option("--subject", "subjects", multiple=True, metavar="[ROLE=]FILE", help="A file that the claim is about; matched by its digest.")
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), metavar="FILE.html", help="The page to write.")
@click.option("--allow", "allowed", multiple=True, metavar="NAME,...", help="Allow exactly these assumptions (none: no assumption).")
@click.option("--key", "keys", multiple=True, type=click.Path(path_type=Path), metavar="PUB.pem", help="A public key that must have signed it.")
@click.option("--threshold", type=click.IntRange(1), default=None, metavar="N", help="How many of the keys must have signed.  [default: all]")
@click.option("--work", type=click.IntRange(1), default=None, help="Work budget in elementary operations.  [default: 2^36]")
@click.option("--blas", is_flag=True, help="Let this run take products from a BLAS: faster, and trusts that it computes what it says.")
def report(certificate: Path, subjects: tuple[str, ...], output: Path, allowed: tuple[str, ...], keys: tuple[Path, ...], threshold: int | None,
           work: int | None, blas: bool) -> None:
    """Verify CERTIFICATE and write the verdict, what it is about and how it was reached as one HTML page.

    \b
    certify report out.cert --subject model.onnx --subject property.vnnlib -o report.html

    The exit status is that of `certify verify`; the page is written for rejected and declined certificates too, and says so first.
    """
    from certify.container import load_bytes
    from certify.files import save
    from certify.limits import Limits
    from certify.report.outcome import examine
    from certify.report.page import START, render
    from certify.verification import read_subjects

    pinned = pinned_subjects(subjects)
    if any(output.resolve() == path.resolve() for path in [certificate, *keys, *map(Path, (file for files in pinned.values() for file in files))]):
        raise UsageError("output-taken", "the output is one of the inputs: it would be lost", fix="choose another name with -o")
    require_writable(output, START, "report")
    limits = Limits(blas=blas) if work is None else Limits(work=work, blas=blas)
    allow = allowed_names(allowed)
    given, pems = read_subjects(pinned, limits), public_keys(keys, threshold, limits)
    outcome = examine(load_bytes(certificate, limits), certificate.name, given, allow, limits, pems, threshold)
    save(output, [render(outcome, pages())])
    if outcome.verification is not None:
        status = 0
        verdict("verified", outcome.verification.sentence, verification_lines(outcome.verification))
    elif outcome.trouble is not None:
        status = fail(outcome.trouble)
    click.echo(f"          wrote {one_line(str(output))}")
    raise SystemExit(status)
