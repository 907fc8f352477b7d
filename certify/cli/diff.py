# SPDX-License-Identifier: Apache-2.0
"""`certify diff`: in what two certificates differ, field by field and array by array."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import numpy as np

from certify import registry
from certify.cli.lines import quoted
from certify.cli.output import as_json, say
from certify.container import Statement, load_bytes, read
from certify.limits import Limits
from certify.verification import decode

_MOST = 5  # entries of an array that are shown


@click.command()
@click.argument("left", type=click.Path(path_type=Path))
@click.argument("right", type=click.Path(path_type=Path))
@click.option("--json", "json_output", is_flag=True, help="As one JSON object.")
def diff(left: Path, right: Path, json_output: bool) -> None:
    """Say in what the certificates LEFT and RIGHT differ. Nothing is checked here. Exit status 0 if they are the same, 1 if not.

    A line names the field, then what it is on the left and on the right. Files that are the same have the same bytes.
    """
    found = list(differences(*(read(load_bytes(path, Limits()), Limits(), path.name) for path in (left, right))))
    if json_output:
        as_json({"same": not found, "differences": [{"field": field, "left": a, "right": b} for field, a, b in found]})
    else:
        for field, a, b in found:
            say(field, *(f"    {sign} {_text(value, field.startswith('producer '))}" for sign, value in (("-", a), ("+", b))))
        if not found:
            say("the certificates are the same")
    raise SystemExit(1 if found else 0)


def differences(left: Statement, right: Statement) -> Iterator[tuple[str, Any, Any]]:
    """Yield (field, left, right) for everything that differs, the id first; None is what a side does not have."""
    sides = [_fields(statement) for statement in (left, right)]
    for field in dict.fromkeys([*sides[0], *sides[1]]):
        a, b = (side.get(field) for side in sides)
        if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
            yield from _arrays(field, a, b)
        elif a != b:
            yield field, a, b


def _fields(statement: Statement) -> dict[str, Any]:
    """Return all that the bytes of a certificate are made of, by name."""
    certificate = decode(statement)
    claim, evidence = certificate.claim, certificate.evidence
    kind = registry.kind(claim.kind, claim.version)
    spec = next(spec for spec in kind.evidence if (spec.kind, spec.version) == (evidence.kind, evidence.version))
    subjects = {subject.name: subject.sha256 for subject in certificate.subjects}
    found: dict[str, Any] = {"id": certificate.id, "kind": f"{claim.kind} v{claim.version}"}
    for role, names in claim.roles.items():
        for index, name in enumerate((names,) if isinstance(names, str) else names):
            place = f"subject {role}{f'[{index}]' if index else ''}"
            found |= {place: subjects[name], f"{place} name": name}
    parts: list[tuple[str, Any]] = [("given", kind.given.encode(claim.given)), ("says", kind.says.encode(claim.says))]
    for part, values in parts:
        found |= {f"{part} {key}": value for key, value in values.items()}
    found["assumptions"] = list(certificate.assumptions)
    found["evidence"] = f"{evidence.kind} v{evidence.version}"
    items: Any = spec.items.encode(evidence.items)
    found |= {f"evidence item {key}": value for key, value in items.items()}
    found |= {f"evidence array {key}": array for key, array in sorted(evidence.arrays.items())}
    found |= {f"producer {key}": value for key, value in certificate.producer.items()}
    found |= {f"copy of the subject {digest}": f"{len(data)} bytes" for digest, data in statement.inputs.items()}
    found |= {f"signature of the key {keyid}": signed.hex() for keyid, signed in statement.signatures.items()}
    return found


def _arrays(field: str, left: Any, right: Any) -> Iterator[tuple[str, Any, Any]]:
    if left is None or right is None or left.dtype != right.dtype or left.shape != right.shape:
        a, b = (None if array is None else f"{array.dtype.str}{list(array.shape)}" for array in (left, right))
        yield field, a, b
        return
    # The bytes are compared, not the numbers: 0.0 and -0.0 are equal, and give two ids.
    places = np.flatnonzero(np.not_equal(*(array.reshape(-1).view(f"u{array.dtype.itemsize}") for array in (left, right))))
    if places.size:
        more = f", {places.size} entries in all" if places.size > _MOST else ""
        first = places[:_MOST].tolist()
        yield f"{field} at {', '.join(map(str, first))}{more}", left.reshape(-1)[first].tolist(), right.reshape(-1)[first].tolist()


def _text(value: Any, of_the_author: bool) -> str:
    text = "absent" if value is None else value if isinstance(value, str) else json.dumps(value)
    return quoted(text, 300) if of_the_author else text if len(text) <= 300 else text[:299] + "\N{HORIZONTAL ELLIPSIS}"
