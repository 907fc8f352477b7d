# SPDX-License-Identifier: Apache-2.0
"""Write docs/codes/: a page for each code of certify/cli/codes.toml, and an index by what a code is about.

The column of docs/format.md that says where a code is raised is written too, from the calls in the sources. Examples are transcripts of codes.toml,
or the first test vector that gives the code, with what the checker says of it now.
"""

from __future__ import annotations

import ast
import json
import re
import sys
import tomllib
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path.insert(0, str(ROOT))

from certify.errors import CertifyError, Declined, Rejected, UsageError  # noqa: E402
from certify.files import OutputError  # noqa: E402
from certify.limits import Limits  # noqa: E402
from certify.verification import check  # noqa: E402

_SOURCE = ROOT / "certify/cli/codes.toml"
_STATUS = {kind.verdict: kind.exit_status for kind in (Rejected, Declined, UsageError, OutputError)}
_RAISERS = {"Rejected": "rejected", "Declined": "declined", "UsageError": "usage", "OutputError": "output", "trouble": "declined",
            "malformed": "rejected", "_refusal": "declined"}
_ELSEWHERE = {"limit-reached": ("cli.check", "declined")}  # of a child that was stopped: no exception
_ROW = re.compile(r"^(\| `([a-z0-9-]+)` \| [^|]* \| )([^|]*)( \| [^|]* \|)$", re.MULTILINE)
_MEANING = {
    "rejected": "The certificate was not accepted. That does not say that its claim is false.",
    "declined": "This checker can't say. It is no verdict about the claim.",
    "usage": "The request makes no sense as it is. Nothing was checked.",
    "output": "The result could not be written.",
}
_QUESTION = {
    "rejected": " In `certify prove` the question is at fault: exit status 2.", "usage": "",
    "declined": "", "output": "",
}


def files() -> dict[str, str]:
    """Return the text of every page by file name."""
    source = _SOURCE.read_text("utf-8")
    pages = tomllib.loads(source)
    found = raised(pages)
    made = {f"{code}.md": _page(code, page, modules(found[code]), _vector(code)) for code, page in pages.items()}
    return {"README.md": _index(source, pages), **made}


def _page(code: str, page: dict[str, Any], places: str, vector: tuple[dict[str, Any], CertifyError] | None) -> str:
    verdict = page["verdict"]
    lines = [f"# `{code}`", "", f"*{page['title'][0].upper()}{page['title'][1:]}.*", "", "| verdict | exit status | raised in |", "|---|---|---|",
             f"| {verdict} | {_STATUS[verdict]} | {places} |", "", f"{_MEANING[verdict]}{_QUESTION[verdict]}", "", "## Meaning", "",
             page["text"].strip(), "", "## What to do", "", page["do"].strip()]
    if "example" in page:
        lines += ["", "## Example", "", "```console", page["example"].strip(), "```"]
    elif vector is not None:
        entry, trouble = vector
        path = f"../../tests/vectors/{entry['kind']}/{entry['verdict']}/{entry['name']}.cert"
        lines += ["", "## Example", "", f"The test vector [{entry['kind']}/{entry['name']}]({path}) tells a checker with this fault apart: "
                  f"*{entry['bug'].removeprefix('none: ')}*.", "", "```", f"{verdict}  {trouble}", f"          {trouble.fix}", "```"]
    return "\n".join([*lines, "", "[All codes](README.md) · [the format](../format.md#codes)", ""])


def _index(source: str, pages: dict[str, Any]) -> str:
    lines = ["# Codes", "", "Every error has a stable code. `certify explain CODE` prints the same pages. They are made by `make docs` from",
             "`certify/cli/codes.toml`: change them there.", "", "| verdict | exit status | says |", "|---|---|---|"]
    lines += [f"| {verdict} | {_STATUS[verdict]} | {meaning} |" for verdict, meaning in _MEANING.items()]
    for found in re.finditer(r"^# (.+)|^\[([a-z0-9-]+)\]$", source.split("\n\n", 1)[1], re.MULTILINE):
        if found[1]:
            lines += ["", f"## {found[1]}", "", "| code | verdict | when |", "|---|---|---|"]
        else:
            page = pages[found[2]]
            lines.append(f"| [`{found[2]}`]({found[2]}.md) | {page['verdict']} | {page['title']} |")
    return "\n".join([*lines, ""])


def sources() -> list[Path]:
    """Return all shipped modules."""
    return [path for folder in ("certify", "zk/certify_zk", "solvers/certify_solvers", "problems/certify_problems")
            for path in sorted((ROOT / folder).rglob("*.py"))]


def raised(known: Collection[str]) -> dict[str, set[tuple[str, str]]]:
    """Return (module, verdict) pairs for every code that a call of an error's class, or of a helper that makes one, names."""
    found: dict[str, set[tuple[str, str]]] = {code: {place} for code, place in _ELSEWHERE.items()}
    for path in sources():
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts).removeprefix("certify.").split("certify_")[-1]
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if not isinstance(node, ast.Call) or module == "errors":  # there the helper `malformed` itself
                continue
            name = node.func.id if isinstance(node.func, ast.Name) else node.func.attr if isinstance(node.func, ast.Attribute) else ""
            texts = [c.value for c in ast.walk(ast.Tuple(node.args)) if isinstance(c, ast.Constant) and isinstance(c.value, str)]
            if name == "malformed":
                texts = ["malformed"]
            for text in texts:
                if name in _RAISERS and (text in known or (re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)+", text) and text == texts[0])):
                    found.setdefault(text, set()).add((module, _RAISERS[name]))
    return found


def modules(places: Iterable[tuple[str, str]]) -> str:
    """Return the modules in which a code is raised, as docs/format.md shows them."""
    return ", ".join(f"`{module}`" for module in sorted({module for module, _ in places}))


def _vector(code: str) -> tuple[dict[str, Any], CertifyError] | None:
    """Return the first test vector that gives a code, with the error that the checker raises."""
    for kind in ("region", "robust", "accuracy", "container"):
        folder = ROOT / "tests/vectors" / kind
        for entry in json.loads((folder / "index.json").read_text("utf-8")):
            if entry["code"] == code:
                data = (folder / entry["verdict"] / f"{entry['name']}.cert").read_bytes()
                given: dict[str, list[tuple[str, bytes]]] = {}
                for subject in entry["subjects"]:
                    given.setdefault(subject["role"], []).append((subject["file"].split("-", 1)[1], (folder / subject["file"]).read_bytes()))
                try:
                    check(data, f"{entry['name']}.cert", given, None if entry["allow"] is None else set(entry["allow"]),
                          Limits(**entry["limits"]).fresh())
                except CertifyError as trouble:
                    return {**entry, "kind": kind}, trouble
    return None


def main() -> None:
    """Write the pages, remove those of codes that are gone, and write the column of docs/format.md."""
    page = HERE / "format.md"
    before, heading, table = page.read_text("utf-8").partition("\n## Codes\n")
    found = raised(tomllib.loads(_SOURCE.read_text("utf-8")))
    page.write_text(before + heading + _ROW.sub(lambda row: row[1] + modules(found.get(row[2], ())) + row[4], table), "utf-8")
    folder = HERE / "codes"
    folder.mkdir(exist_ok=True)
    made = files()
    for old in folder.iterdir():
        if old.name not in made:
            old.unlink()
    for name, text in made.items():
        (folder / name).write_text(text, "utf-8")
    print(f"{len(made) - 1} pages of codes")


if __name__ == "__main__":
    main()
