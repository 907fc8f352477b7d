# SPDX-License-Identifier: Apache-2.0
"""`certify convert` and `certify generate`: what users have, or random instances, as canonical subject files, by `certify_problems`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from certify.cli.output import require_other, require_writable, say
from certify.errors import CertifyError, UsageError
from certify.files import save
from certify.limits import Limits
from certify.verification import read_subject

if TYPE_CHECKING:
    from certify_problems.formats import Format


@click.command()
@click.argument("format_name", metavar="FORMAT")
@click.argument("inputs", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help="The subject file to write.")
@click.option("--check", is_flag=True, help="Convert again and compare with the output instead of writing it.")
def convert(format_name: str, inputs: tuple[Path, ...], output: Path, check: bool) -> None:
    """Convert INPUTS to a subject file of the given FORMAT and say what was changed.

    \b
    certify convert onnx model.onnx -o single.onnx    external weights into one file
    certify convert schema draft.json -o final.schema any layout of JSON into the canonical one
    certify convert matpower net.json -o case.m       a pandapower network, a PYPOWER dictionary (.json, .npz), a .mat file, or another .m file
    """
    from certify_problems.formats import FORMATS

    form = _format(FORMATS, format_name, "converter")
    require_other(output, inputs)
    if not check:
        require_writable(output)
    data, said = form.convert(inputs)
    if not check:
        _require_same_kind(output, form)
    if check:
        if read_subject(output, Limits()) != data:
            raise UsageError("convert-differs", f"{output} is not what the inputs convert to", fix="convert them again")
        say(f"same      {output} is what the inputs convert to")
        return
    _write(output, data, said)


@click.command()
@click.argument("format_name", metavar="FORMAT")
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help="The subject file to write.")
@click.option("--set", "pairs", multiple=True, metavar="KEY=VALUE", help="A setting of the generator, such as buses=30.")
def generate(format_name: str, output: Path, pairs: tuple[str, ...]) -> None:
    """Write a random subject file of the given FORMAT, for tests and benchmarks: the same settings give the same bytes.

    \b
    certify generate matpower --set buses=30 --set lines=45 --set seed=1 -o case.m
    """
    from certify.cli.settings import keyed, parse
    from certify_problems.formats import FORMATS

    form = _format(FORMATS, format_name, "generator")
    known, texts = form.settings or {}, keyed(pairs)
    for key in texts:
        if key not in known:
            raise UsageError("setting-unknown", f"the generator of {format_name} has no setting {key!r}", fix=f"its settings are {', '.join(known)}")
    values = {}
    for key, (field, default) in known.items():
        text = texts.get(key, default)
        if text is None:
            raise UsageError("setting-missing", f"generate {format_name} needs --set {key}=...", fix=f"its settings are {', '.join(known)}")
        values[key] = parse(field, text, key)
    require_writable(output)
    _require_same_kind(output, form)
    _write(output, *form.generate(values))


def _format(formats: Mapping[str, Format], name: str, part: str) -> Format:
    """Return a format that has a converter or a generator; raises UsageError `setting-value`."""
    able = [key for key, form in formats.items() if getattr(form, part)]
    if name not in able:
        raise UsageError("setting-value", f"no {part} for {name!r}", fix=f"formats: {', '.join(able)}")
    return formats[name]


def _require_same_kind(output: Path, form: Format) -> None:
    """Raise UsageError `output-taken` where a file of another kind would be lost."""
    if not os.path.lexists(output):
        return
    try:
        same = output.is_file() and form.knows(read_subject(output, Limits()))
    except CertifyError:
        same = False
    if not same:
        raise UsageError("output-taken", f"{output} exists and is not {form.noun}: it would be lost", fix="choose another name with -o")


def _write(output: Path, data: bytes, said: list[str]) -> None:
    save(output, [data])
    say(f"wrote     {output} ({len(data)} bytes)", *(f"          {line}" for line in said))
