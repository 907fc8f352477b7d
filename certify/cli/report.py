# SPDX-License-Identifier: Apache-2.0
"""`certify report`: a certificate, verified again, as one HTML page to read, print and file; bounds of the same grid by budget in one table."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from certify.cli.arguments import allowed_names, of_file, pinned_subjects, public_keys
from certify.cli.completion import assumption_names, file_names
from certify.cli.explain import pages
from certify.cli.output import fail, require_other, require_writable, say, verdict
from certify.cli.report_text import verification_lines
from certify.errors import UsageError

if TYPE_CHECKING:
    from certify.report.outcome import Outcome

_WORST = (1, 3, 0)


@click.command()
@click.argument("certificates", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--subject", "subjects", multiple=True, metavar="[ROLE=]FILE", shell_complete=file_names,
              help="A file that the claim is about; matched by its digest.")
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), metavar="FILE.html", help="The page to write.")
@click.option("--allow", "allowed", multiple=True, metavar="NAME,...", shell_complete=assumption_names,
              help="Allow exactly these assumptions (none: no assumption).")
@click.option("--key", "keys", multiple=True, type=click.Path(path_type=Path), metavar="PUB.pem", help="A public key that must have signed it.")
@click.option("--threshold", type=click.IntRange(1), default=None, metavar="N", help="How many of the keys must have signed.  [default: all]")
@click.option("--work", type=click.IntRange(1), default=None, help="Work budget in elementary operations.  [default: 2^36]")
@click.option("--blas", is_flag=True, help="Let this run take products from a BLAS: faster, and trusts that it computes what it says.")
def report(certificates: tuple[Path, ...], subjects: tuple[str, ...], output: Path, allowed: tuple[str, ...], keys: tuple[Path, ...],
           threshold: int | None, work: int | None, blas: bool) -> None:
    """Verify CERTIFICATES and write the verdict, what it is about and how it was reached as one HTML page.

    \b
    certify report out.cert --subject model.onnx --subject property.vnnlib -o report.html
    certify report k3.cert k1.cert k2.cert --subject case.m -o report.html

    The page is about the first; other claims about the same case, operator, model and costs of attacks are verified too, and stand beside it:
    bounds in a table by budget, attacks and limits of defences in another.
    The exit status is that of `certify verify`; the page is written for rejected and declined certificates too, and says so first.
    """
    from certify.container import load_bytes
    from certify.files import save
    from certify.limits import Limits
    from certify.report.outcome import examine
    from certify.report.page import START, render
    from certify.verification import read_subjects

    pinned = pinned_subjects(subjects)
    require_other(output, [*certificates, *keys, *map(Path, (file for files in pinned.values() for file in files))])
    require_writable(output, START, "report")
    if output.suffix.lower() not in (".html", ".htm"):
        raise UsageError("setting-value", f"-o {output}: a report is an HTML page in a file",
                         fix="give a name that ends in .html; a browser prints the page to PDF")
    limits = Limits(blas=blas) if work is None else Limits(work=work, blas=blas)
    allow = allowed_names(allowed)
    given, pems = read_subjects(pinned, limits), public_keys(keys, threshold, limits)
    outcome, *beside = [examine(load_bytes(path, limits), path.name, given, allow, limits, pems, threshold) for path in certificates]
    for path, other in zip(certificates[1:], beside, strict=True):
        _require_alike(outcome, path, other)
    save(output, [render(replace(outcome, beside=tuple(beside)), pages())])
    statuses = []
    for path, one in zip(certificates, (outcome, *beside), strict=True):
        if one.verification is not None:
            statuses.append(0)
            verdict("verified", one.verification.sentence, [*([f"certificate: {path}"] if beside else []), *verification_lines(one.verification)])
        elif one.trouble is not None:
            if beside:
                one.trouble.where = of_file(str(path), one.trouble.where)
            statuses.append(fail(one.trouble))
    say(f"          wrote {output}")
    raise SystemExit(min(statuses, key=_WORST.index))


def _require_alike(first: Outcome, path: Path, other: Outcome) -> None:
    """Raise UsageError unless two certificates are about the shed of the same grid for the same operator, so that they can be compared."""
    ours, theirs = first.certificate, other.certificate
    if theirs is None or ours is None:  # what can't be read is in the table as what it is
        return
    names = ("operator", "model", "attack_costs", "attackable")
    asked = [([subject.sha256 for subject in one.subjects], [one.claim.given.get(name) for name in names]) for one in (ours, theirs)]
    if not all(one.claim.kind.startswith("grid-") for one in (ours, theirs)) or asked[0] != asked[1]:
        raise UsageError("setting-value", f"{path} is no claim about the same case, operator, model and costs as the first",
                         fix="give each certificate a report of its own")
