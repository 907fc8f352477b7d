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
from make_codes import raised, sources  # noqa: E402

PAGES = tomllib.loads((ROOT / "certify/cli/codes.toml").read_text("utf-8"))
_ROW = re.compile(r"^\| `([a-z0-9-]+)` \| ([^|]*) \| ([^|]*) \| ([^|]*) \|$", re.MULTILINE)
ROWS = {row[0]: row[1:] for row in _ROW.findall((ROOT / "docs/format.md").read_text("utf-8").split("\n## Codes\n")[1])}
_OUTCOMES = {"rejected": Rejected, "declined": Declined, "usage": UsageError, "output": OutputError}


def test_every_code_that_is_raised_has_a_page_and_every_page_is_raised() -> None:
    assert set(raised(PAGES)) == set(PAGES)


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
    found = raised(PAGES)
    for code, (verdict, modules, _) in ROWS.items():
        assert verdict.split(";")[0] == PAGES[code]["verdict"], code
        assert modules == make_codes.modules(found[code]), code  # `make docs` writes the column again


def test_a_code_has_one_verdict() -> None:
    for code, places in raised(PAGES).items():
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
