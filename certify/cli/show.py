# SPDX-License-Identifier: Apache-2.0
"""`certify show`: what is in a certificate or a subject file, without checking any claim."""

from __future__ import annotations

import hashlib
import json
from fractions import Fraction
from pathlib import Path

import click
import numpy as np

from certify import registry
from certify.certificate import Certificate
from certify.cli.lines import quoted
from certify.cli.output import as_json, say
from certify.cli.show_tree import show_tree
from certify.container import load_bytes, read
from certify.errors import CertifyError, UsageError, one_line
from certify.limits import Limits
from certify.readers.arrays import read_npy
from certify.readers.formula import Part, Parts, Row, parts
from certify.readers.network import Dense, Scale
from certify.readers.onnx_ops import read_network
from certify.readers.table import read_table
from certify.readers.vnnlib1 import read_vnnlib1
from certify.readers.vnnlib2 import declared_format, read_vnnlib2
from certify.verification import decode, read_subject

_MOST = 12
_MOST_PRODUCER = 24
_POINTS = ("point", "witness")


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--claim", "part", flag_value="claim", help="Only the claim in words.")
@click.option("--json", "part", flag_value="json", help="The statement as JSON.")
@click.option("--tree", "part", flag_value="tree", help="The tree of the evidence, indented.")
@click.option("--trusted", "part", flag_value="trusted", help="The modules that its verdict rests on, with their lines of code.")
@click.option("--subject", "subjects", multiple=True, type=click.Path(path_type=Path),
              help="A file that the claim is about, for --trusted, and to name rows in --tree.")
@click.option("--evidence", "array", metavar="NAME", help="Print one item or array of the evidence, one entry a line.")
def show(file: Path, part: str | None, subjects: tuple[Path, ...], array: str | None) -> None:
    """Show FILE: a certificate, an ONNX model, a VNN-LIB property, points or labels, or a MATPOWER case. Nothing is checked."""
    limits = Limits()
    data = load_bytes(file, limits)
    if not data.startswith(b"PK\3\4"):
        if part is not None or array is not None:
            raise UsageError("setting-value", f"{file.name} is no certificate, and only certificates have parts to show", fix=f"certify show {file}")
        _subject(file, read_subject(file, limits), limits)
        return
    statement = read(data, limits, file.name)
    certificate = decode(statement)
    if part == "claim":
        say(certificate.claim.sentence())
    elif part == "json":
        kind = registry.kind(certificate.claim.kind, certificate.claim.version)
        as_json({"id": certificate.id, "subjects": [{"name": s.name, "sha256": s.sha256} for s in certificate.subjects],
                 "claim": {"kind": kind.name, "version": kind.version, "roles": dict(certificate.claim.roles),
                           "given": kind.given.encode(certificate.claim.given),
                           "says": kind.says.encode(certificate.claim.says)},
                 "assumptions": list(certificate.assumptions),
                 "evidence": {"kind": certificate.evidence.kind, "version": certificate.evidence.version, "items": dict(certificate.evidence.items),
                              "arrays": {k: {"dtype": a.dtype.str, "shape": list(a.shape)} for k, a in certificate.evidence.arrays.items()}},
                 "producer": dict(certificate.producer)})
    elif part == "trusted":
        _trusted(file, subjects)
    elif part == "tree":
        show_tree(certificate, subjects, limits)
    elif array is not None and array in certificate.evidence.items:
        value = certificate.evidence.items[array]
        if array in _POINTS and (unit := _unit(certificate)):
            say(f"{array}: {unit}", err=True)  # what is on stdout is read by programs
        for entry in value if isinstance(value, tuple) else (value,):
            say(f"{entry}" + (f"  {_float(entry)}" if isinstance(entry, Fraction) else ""))
    elif array is not None:
        if array not in certificate.evidence.arrays:
            raise UsageError("setting-value", f"--evidence {array}: no such item or array",
                             fix=f"there are {', '.join([*certificate.evidence.items, *certificate.evidence.arrays])}")
        if array in _POINTS and (unit := _unit(certificate)):
            say(f"{array}: {unit}", err=True)
        for row in np.atleast_1d(certificate.evidence.arrays[array]).tolist():
            say(json.dumps(row))
    else:
        _certificate(certificate, len(data))


def _trusted(file: Path, subjects: tuple[Path, ...]) -> None:
    """Print the modules that the checker imported to verify a certificate."""
    import certify
    from certify.cli.trusted import code_lines, imported

    root = Path(certify.__file__).parent
    names = {path: f"certify/{path.relative_to(root).as_posix()}" if path.is_relative_to(root) else f"{path.parent.name}/{path.name}"
             for path in imported(certificate=file, subjects=subjects)}
    counts = {name: code_lines(path) for path, name in names.items()}
    for name, lines in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])):
        if lines:
            say(f"{lines:6d}  {name}")
    say(f"{sum(counts.values()):6d}  lines of code in all, without blank lines, comments and docstrings")


def _certificate(certificate: Certificate, size: int) -> None:
    claim, evidence = certificate.claim, certificate.evidence
    kind = registry.kind(claim.kind, claim.version)
    digests = {subject.name: subject.sha256 for subject in certificate.subjects}
    say(f"claims    {claim.sentence()}", "          (not checked here: use certify verify)")
    say(f"kind      {claim.kind} v{claim.version}")
    for role, names in claim.roles.items():
        for name in (names,) if isinstance(names, str) else names:
            say(f"subject   {role}: {name} (sha256 {digests[name]})")
    say(f"given     {json.dumps(kind.given.encode(claim.given), sort_keys=True)}")
    say(f"says      {json.dumps(kind.says.encode(claim.says), sort_keys=True)}")
    if claim.kind == "accuracy":
        _rows(certificate)
    say(f"rests on  {', '.join(certificate.assumptions) or 'nothing outside the files'}")
    arrays = ", ".join(f"{key} {array.dtype.str}{list(array.shape)}" for key, array in evidence.arrays.items())
    say(f"evidence  {evidence.kind} v{evidence.version}{': ' + arrays if arrays else ''}")
    for name, value in evidence.items.items():
        shown = ", ".join(f"{_float(v)}" if isinstance(v, Fraction) else str(v) for v in value[:12]) if isinstance(value, tuple) else value
        more = f", ... ({len(value)} in all; --evidence {name} prints them exactly)" if isinstance(value, tuple) and len(value) > 12 else ""
        say(f"          {name}: {shown}{more}")
        if name in _POINTS and (unit := _unit(certificate)):
            say(f"          ({name}: {unit})")
    made = certificate.producer
    told = {key: quoted(made[key], _MOST_PRODUCER) for key in ("name", "version", "prover")}
    if any(text.startswith('"') for text in told.values()):  # not the words of one of our provers: no line is long enough to be broken
        say("producer  in the words of the author:", *(f"          {key} {text}" for key, text in told.items()), f"          seed {made['seed']}")
    else:
        say(f"producer  {told['name']} {told['version']}, prover {told['prover']}, seed {made['seed']}")
    for keyid in certificate.signatures[:_MOST]:
        say(f"signature of the key {keyid} (not checked here: certify verify --key)")
    if len(certificate.signatures) > _MOST:
        say(f"          ... ({len(certificate.signatures)} signatures in all)")
    say(f"id        {certificate.id}", f"size      {size} bytes")


def _unit(certificate: Certificate) -> str:
    """Return in which units a point of the evidence is, or nothing for kinds that are not known here."""
    given = certificate.claim.given
    if certificate.claim.kind == "region":
        return "in the units of the property's X"
    if "scale" not in given:
        return ""
    times = f" times {given['scale']}, that is after `scale`," if given["scale"] != 1 else ","
    return f"in values of the points file{times} before `subtract` and `divide`"


def _rows(certificate: Certificate) -> None:
    """Print how many rows of a data set are listed as what, and the first of them."""
    listed = 0
    for name, words in (("robust", "rows"), ("wrong", "rows, at their own points"), ("witness", "rows, each with a counterexample")):
        rows = certificate.evidence.arrays.get(f"{name}_row", np.zeros(0, "<i4"))
        listed += len(rows)
        shown = ", ".join(map(str, rows[:_MOST].tolist()))
        more = f", ... (--evidence {name}_row prints them all)" if len(rows) > _MOST else ""
        say(f"{name:10s}{len(rows)} {words}{': ' if shown else ''}{shown}{more}")
    say(f"open      {certificate.claim.says['of'] - listed} of {certificate.claim.says['of']} rows")


def _parts(found: Parts) -> None:
    """Print what is unsafe, in words that reveal a condition written the wrong way round."""
    for part in found.parts[:_MOST]:
        sides = [_side(part, index) for index in range(len(part.lower))[:_MOST]]
        say(f"box       {', '.join(sides)}{', ...' if len(part.lower) > _MOST else ''}")
        for conjunct in part.conjuncts[:_MOST]:
            rows = [_row(row) for row in conjunct]
            say(f"          unsafe where {' and '.join(rows) or 'anything (no output is constrained)'}")
        if len(part.conjuncts) > _MOST:
            say(f"          ... ({len(part.conjuncts)} conditions in all)")
    if len(found.parts) > _MOST:
        say(f"          ... ({len(found.parts)} boxes in all)")
    if found.empty:
        say(f"          {found.empty} disjuncts admit no input")


def _float(value: Fraction, sign: str = "") -> str:
    try:
        return f"{float(value):{sign}.9g}"
    except OverflowError:
        return "a number beyond the range of binary64"


def _row(row: Row) -> str:
    terms = [f"{_float(c, '+')} {letter}_{i}" for letter, side in (("X", row.inputs), ("Y", row.outputs)) for i, c in side.items()]
    terms += [_float(row.constant, "+")] if row.constant or not terms else []
    return f"{' '.join(terms)} {'<' if row.strict else '<='} 0"


def _side(part: Part, index: int) -> str:
    """Return the range of one input; an end that does not belong to the box is marked by <."""
    below, above = ("<" if index in ends else "<=" for ends in (part.open_lower, part.open_upper))
    return f"{_float(part.lower[index])} {below} X_{index} {above} {_float(part.upper[index])}"


def _subject(path: Path, data: bytes, limits: Limits) -> None:
    name = path.name.removesuffix(".gz")
    if name.endswith(".m"):
        from certify.cli.show_case import case_lines
        say(f"sha256    {hashlib.sha256(data).hexdigest()}", *case_lines(data, limits))
        return
    say(f"sha256    {hashlib.sha256(data).hexdigest()}")
    if name.endswith((".commit", ".schema")):
        from certify.cli.show_private import commitment_lines, schema_lines
        say(*(commitment_lines if name.endswith(".commit") else schema_lines)(data, limits))
        return
    if data.startswith(b"\x93NUMPY"):
        array = read_npy(data)
        between = f", values from {array.min():g} to {array.max():g}" if array.size else ""
        say(f"array     {array.dtype.str} of shape {list(array.shape)} ({array.dtype.name}){between}")
        return
    if name.endswith(".vnnlib"):
        later = declared_format(data) == "vnnlib-2"
        specification = read_vnnlib2(data, limits) if later else read_vnnlib1(data, limits)
        found = parts(specification, limits)
        sizes = f"{specification.inputs} inputs, {specification.outputs} outputs, {len(specification.assertions)} assertions"
        say(f"property  VNN-LIB {'2.0' if later else '1.0'}, {sizes}" + ("; X and Y are its input and output, flat" if later else ""))
        _parts(found)
        return
    if name.endswith(".csv"):
        table = read_table(data, limits)
        say(f"table     {len(table.rows)} rows of {one_line(', '.join(quoted(column, 40) for column in table.columns))}")
        return
    try:
        network = read_network(data, limits)
    except CertifyError as trouble:
        if name.endswith(".onnx"):
            raise
        raise UsageError("file-unknown", f"{path.name} is no certificate, .onnx, .vnnlib, .npy, .csv or .m file", where=str(trouble),
                         fix="check the file") from None
    say(f"network   {network.inputs} inputs {list(network.input_shape)}, {network.outputs} outputs")
    for layer in network.layers:
        if isinstance(layer, Dense):
            say(f"layer     dense {layer.weight.shape[1]} -> {layer.size}")
        else:
            say(f"layer     {'shift' if isinstance(layer, Scale) else 'relu'} {layer.size}")
    for note in network.notes:
        say(f"note      {note}")
