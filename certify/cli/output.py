# SPDX-License-Identifier: Apache-2.0
"""Verdicts on stdout, first word first; everything else on stderr; colour only on a terminal and without NO_COLOR."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import click

from certify.errors import CertifyError, OutputError, UsageError

_COLOURS = {"verified": "green", "proved": "green", "refuted": "red", "rejected": "red", "declined": "yellow", "unknown": "yellow"}


def styled(word: str) -> str:
    """Return a verdict word, coloured where stdout is a terminal that wants it."""
    if not sys.stdout.isatty() or os.environ.get("NO_COLOR") is not None or word not in _COLOURS:
        return word
    return click.style(word, fg=_COLOURS[word], bold=True)


def verdict(word: str, first: str, rest: Iterable[str] = ()) -> None:
    """Print a verdict: the word, one line, and further lines under it."""
    click.echo(f"{styled(word)}{' ' * max(1, 10 - len(word))}{first}")
    for line in rest:
        click.echo(f"          {line}")


def as_json(value: Mapping[str, Any]) -> None:
    """Print one JSON object on one line; rationals are strings."""
    click.echo(json.dumps(value, default=_plain, sort_keys=True))


def error_json(trouble: CertifyError, word: str | None = None) -> dict[str, Any]:
    """Return an error as the JSON object that `--json` prints."""
    return {"verdict": word or trouble.verdict, "code": trouble.code, "what": trouble.what, "where": trouble.where, "fix": trouble.fix}


def fail(trouble: CertifyError) -> int:
    """Say an error: verdicts on stdout, usage and output errors on stderr; return its exit status."""
    if trouble.verdict in ("rejected", "declined"):
        verdict(trouble.verdict, str(trouble), [f"{trouble.fix}  (certify explain {trouble.code})"])
    else:
        click.echo(f"error: {trouble}\n       {trouble.fix}  (certify explain {trouble.code})", err=True)
    return trouble.exit_status


def stop(trouble: BaseException) -> int:
    """Say that certify itself failed; return 70. A crash is never a verdict."""
    what = "out of memory" if isinstance(trouble, MemoryError) else f"{type(trouble).__name__}: {trouble}".splitlines()[0][:300]
    click.echo(f"internal error: {what}\n       no verdict was reached; please report it (set CERTIFY_TRACEBACK=1 to see where)", err=True)
    return 70


def require_writable(path: Path, start: bytes, what: str) -> None:
    """Raise early where a result can't be written, or would replace a file that does not begin like an earlier one: `what` it is in words."""
    folder = path.parent
    if not path.name or path.is_dir():
        raise OutputError("output-unwritable", f"{path} is a folder", fix="name a file with -o")
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        raise OutputError("output-unwritable", f"can't write {path.name} there: the folder is missing or not writable", where=str(folder),
                          fix="choose another place with -o")
    if path.exists():
        if not path.is_file():
            raise OutputError("output-unwritable", f"{path.name} exists and is not a regular file", where=str(folder),
                              fix="choose another place with -o")
        with path.open("rb") as stream:
            found = stream.read(len(start))
        if found not in (b"", start):
            raise UsageError("output-taken", f"{path} exists and is not a {what}: it would be lost", fix="choose another name with -o")


def _plain(value: Any) -> Any:
    if isinstance(value, Fraction):
        return str(value)
    if isinstance(value, Mapping):
        return dict(value)
    return str(value)
