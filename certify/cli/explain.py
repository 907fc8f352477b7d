# SPDX-License-Identifier: Apache-2.0
"""`certify explain`: a page for every code and every assumption."""

from __future__ import annotations

import difflib
import tomllib
from importlib.resources import files
from typing import Any

import click

from certify.cli.completion import page_names
from certify.cli.output import say
from certify.errors import UsageError
from certify.registry import KINDS


def pages() -> dict[str, dict[str, Any]]:
    """Return all pages by name: codes and assumptions, each with its verdict, title and text, codes also with what to do."""
    root = files("certify.cli")
    return {name: page for file in ("codes.toml", "assumptions.toml") for name, page in tomllib.loads((root / file).read_text("utf-8")).items()}


@click.command()
@click.argument("code", required=False, shell_complete=page_names)
def explain(code: str | None) -> None:
    """Explain CODE: an error code or an assumption; without CODE, list them."""
    known = pages()
    if code is None:
        for name, page in known.items():
            say(f"{name:26s} {page['verdict']:10s} {page['title']}")
        return
    if code not in known:
        if code in KINDS:
            raise UsageError("setting-value", f"{code!r} is a kind of claim, no code", fix=f"certify claims {code}")
        if code.isascii() and code.isdigit():
            raise UsageError("setting-value", f"{code!r} is no code", fix="`certify --help` lists the exit statuses; codes are words")
        near = difflib.get_close_matches(code, known, n=1)
        raise UsageError("setting-value", f"no page for {code!r}", fix=f"did you mean {near[0]!r}?" if near else "`certify explain` lists the pages")
    page = known[code]
    say(f"{code}: {page['title']}  [{page['verdict']}]", "", *page["text"].strip().splitlines())
    for heading, part in (("What to do", "do"), ("Example", "example")):
        if part in page:
            say("", f"{heading}:", *page[part].strip().splitlines())
    if any("docs/" in str(text) for text in page.values()):
        say("", "docs/ is a folder of the sources of certify and of its project page; an installed package has none.")
