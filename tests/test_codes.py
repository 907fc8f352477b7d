# SPDX-License-Identifier: Apache-2.0
"""Codes: what is raised, has a page, is listed in docs/format.md and shown in docs/codes/ is the same, and pages are made from one source."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from pathlib import Path

import pytest

from certify.cli.explain import pages as explained
from certify.errors import Declined, OutputError, Rejected, UsageError

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT / "docs"))

import make_codes  # noqa: E402

PAGES = tomllib.loads((ROOT / "certify/cli/codes.toml").read_text("utf-8"))
_ROW = re.compile(r"^\| `([a-z0-9-]+)` \| ([^|]*) \| ([^|]*) \| ([^|]*) \|$", re.MULTILINE)
ROWS = {row[0]: row[1:] for row in _ROW.findall((ROOT / "docs/format.md").read_text("utf-8").split("\n## Codes\n")[1])}
_OUTCOMES = {"rejected": Rejected, "declined": Declined, "usage": UsageError, "output": OutputError}
_RAISERS = {**{kind.__name__: word for word, kind in _OUTCOMES.items()}, "_trouble": "declined", "malformed": "rejected"}


def sources() -> list[Path]:
    """Return all shipped modules."""
    return [path for folder in ("certify", "solvers/certify_solvers", "problems/certify_problems") for path in sorted((ROOT / folder).rglob("*.py"))]


def raised() -> dict[str, set[tuple[str, str]]]:
    """Return (module, verdict) pairs for every code that a call of an error's class, or of a helper that makes one, names."""
    found: dict[str, set[tuple[str, str]]] = {}
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
                if name in _RAISERS and (text in PAGES or (re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)+", text) and text == texts[0])):
                    found.setdefault(text, set()).add((module, _RAISERS[name]))
    return found


def test_every_code_that_is_raised_has_a_page_and_every_page_is_raised() -> None:
    assert set(raised()) == set(PAGES)


def test_no_code_is_made_where_a_search_does_not_see_it() -> None:
    calls = 0
    for path in sources():
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in {kind.__name__ for kind in _OUTCOMES.values()}:
                calls += 1
                first = node.args[0]
                passed_on = isinstance(first, (ast.Name, ast.Attribute)) and ast.unparse(first) in ("code", "trouble.code")
                assert isinstance(first, (ast.Constant, ast.IfExp)) or passed_on, f"{path}: {ast.unparse(node)[:100]}"
    assert calls > 150


def test_format_md_lists_the_codes_with_their_verdicts_and_modules() -> None:
    assert set(ROWS) == set(PAGES)
    found = raised()
    elsewhere = {"limit-reached": {"cli.check"}}  # of a child that was stopped: no exception
    for code, (verdict, modules, _) in ROWS.items():
        assert verdict.split(";")[0] == PAGES[code]["verdict"], code
        inside = {module for module, _ in found[code]} | elsewhere.get(code, set())
        assert set(re.findall(r"`([a-z0-9_.]+)`", modules)) == inside, (code, sorted(inside))


def test_a_code_has_one_verdict() -> None:
    for code, places in raised().items():
        others = {verdict for _, verdict in places} - {PAGES[code]["verdict"]}
        assert not others or (code, others) == ("kind-unknown", {"usage"}), code


@pytest.mark.parametrize("code", sorted(PAGES))
def test_a_page_says_what_a_reader_needs(code: str) -> None:
    page = PAGES[code]
    assert {"verdict", "title", "text", "do"} <= set(page) <= {"verdict", "title", "text", "do", "example"}
    assert page["verdict"] in _OUTCOMES and len(page["title"]) > 15 and not page["title"].endswith(".")
    assert len(page["text"]) > 90 and len(page["do"]) > 30 and page["text"].rstrip().endswith(".") and page["do"].rstrip().endswith((".", ")"))
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", code)


def test_pages_in_the_folder_are_those_of_the_source() -> None:
    made = make_codes.files()
    there = {path.name: path.read_text("utf-8") for path in (ROOT / "docs/codes").iterdir()}
    assert sorted(made) == sorted(there)
    assert [name for name in made if made[name] != there[name]] == []  # `make docs` writes them again
    assert all(f"]({code}.md)" in made["README.md"] for code in PAGES)


def test_explain_prints_every_page() -> None:
    assert set(PAGES) < set(explained())
