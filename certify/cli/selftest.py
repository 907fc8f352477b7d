# SPDX-License-Identifier: Apache-2.0
"""`certify selftest`: the shipped test vectors, each with the verdict and code that it must give."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from certify.cli.output import as_json, verdict
from certify.errors import CertifyError, UsageError
from certify.limits import Limits


@click.command()
@click.argument("kinds", nargs=-1)
@click.option("--json", "json_output", is_flag=True, help="The counts as one JSON object.")
def selftest(kinds: tuple[str, ...], json_output: bool) -> None:
    """Check that this installation gives every shipped test vector its verdict and code; KINDS selects some of them.

    Exit status 0 if all agree, 70 otherwise: then trust no verdict of this installation.
    """
    root = vectors()
    known = sorted(path.name for path in root.iterdir() if (path / "index.json").is_file())
    for kind in kinds:
        if kind not in known:
            raise UsageError("setting-value", f"there are no test vectors of {kind!r}", fix=f"there are {', '.join(known)}")
    wrong: list[str] = []
    counts: dict[str, int] = {}
    for kind in kinds or known:
        entries = _index(root / kind)
        counts[kind] = len(entries)
        wrong += [] if entries else [f"{kind}: there are no test vectors, or their index can't be read"]
        for entry in entries:
            found = _run(root / kind, entry)
            if found != (entry["verdict"], entry["code"]):
                wrong.append(f"{kind}/{entry['verdict']}/{entry['name']}: {' '.join(found)}, not {entry['verdict']} {entry['code']}".rstrip())
    wrong += [] if counts else ["there are no test vectors"]
    if json_output:
        as_json({"verdict": "failed" if wrong else "passed", "vectors": counts, "wrong": wrong})
    else:
        listed = ", ".join(f"{count} of {kind}" for kind, count in counts.items())
        total = sum(counts.values())
        verdict("failed" if wrong else "passed", f"{max(0, total - len(wrong))} of {total} test vectors agree ({listed or 'none'})", wrong)
    raise SystemExit(70 if wrong else 0)


def vectors() -> Path:
    """Return the folder of the test vectors: inside the package, or that of a checkout; raises UsageError where there is none."""
    here = Path(__file__).resolve().parent.parent
    for folder in (here / "vectors", here.parent / "tests" / "vectors"):
        if folder.is_dir():
            return folder
    raise UsageError("file-unreadable", "the test vectors are not installed", fix="install certify-engine again, from a wheel or a checkout")


def _index(folder: Path) -> list[dict[str, Any]]:
    """Return the entries of an index, or none where any of it can't be read."""
    try:
        entries = json.loads((folder / "index.json").read_text("utf-8"))
        kinds: list[tuple[str, type]] = [("verdict", str), ("code", str), ("name", str), ("subjects", list), ("limits", dict)]
        good = isinstance(entries, list) and all(isinstance(entry[key], kind) for entry in entries for key, kind in kinds)
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return []
    return entries if good else []


def _run(folder: Path, entry: dict[str, Any]) -> tuple[str, str]:
    """Return the verdict and the code of one vector."""
    from certify.verification import check

    given: dict[str, list[tuple[str, bytes]]] = {}
    try:
        data = (folder / entry["verdict"] / f"{entry['name']}.cert").read_bytes()
        for subject in entry["subjects"]:
            given.setdefault(subject["role"], []).append((subject["file"].split("-", 1)[1], (folder / subject["file"]).read_bytes()))
        check(data, entry["name"], given, None if entry["allow"] is None else set(entry["allow"]), Limits(**entry["limits"]).fresh())
    except CertifyError as trouble:
        return trouble.verdict, trouble.code
    except Exception as trouble:  # a crash is no verdict
        return "crashed", type(trouble).__name__
    return "verified", ""
