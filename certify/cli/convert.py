# SPDX-License-Identifier: Apache-2.0
"""`certify convert`: what users have to canonical subject files, by the converters of `certify_problems`."""

from __future__ import annotations

import os
from pathlib import Path

import click

from certify.cli.output import require_other, require_writable, say
from certify.errors import CertifyError, UsageError
from certify.files import save
from certify.limits import Limits
from certify.readers.onnx_wire import decode_model
from certify.verification import read_subject


@click.command()
@click.argument("format_name", metavar="FORMAT")
@click.argument("inputs", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help="The subject file to write.")
@click.option("--check", is_flag=True, help="Convert again and compare with the output instead of writing it.")
def convert(format_name: str, inputs: tuple[Path, ...], output: Path, check: bool) -> None:
    """Convert INPUTS to a subject file of the given FORMAT and say what was changed.

    \b
    certify convert onnx model.onnx -o single.onnx    external weights into one file
    """
    from certify_problems.nn.convert import CONVERTERS

    if format_name not in CONVERTERS:
        raise UsageError("setting-value", f"no converter for {format_name!r}", fix=f"formats: {', '.join(CONVERTERS)}")
    require_other(output, inputs)
    if not check:
        require_writable(output)
    data, said = CONVERTERS[format_name](inputs)
    if os.path.lexists(output) and not check and not _is_model(output):
        raise UsageError("output-taken", f"{output} exists and is not an ONNX model: it would be lost", fix="choose another name with -o")
    if check:
        if read_subject(output, Limits()) != data:
            raise UsageError("convert-differs", f"{output} is not what the inputs convert to", fix="convert them again")
        say(f"same      {output} is what the inputs convert to")
        return
    save(output, [data])
    say(f"wrote     {output} ({len(data)} bytes)")
    for line in said:
        say(f"          {line}")


def _is_model(path: Path) -> bool:
    try:
        return path.is_file() and "graph" in decode_model(read_subject(path, Limits()))
    except CertifyError:
        return False
