# SPDX-License-Identifier: Apache-2.0
"""`certify explain`: a page for every code and every assumption."""

from __future__ import annotations

import difflib
import tomllib
from importlib.resources import files
from typing import Any

import click

from certify.errors import UsageError


def pages() -> dict[str, dict[str, Any]]:
    """Return all pages by name: codes and assumptions, each with its verdict, title and text, codes also with what to do."""
    root = files("certify.cli")
    return {name: page for file in ("codes.toml", "assumptions.toml") for name, page in tomllib.loads((root / file).read_text("utf-8")).items()}


@click.command()
@click.argument("code", required=False)
def explain(code: str | None) -> None:
    """Explain CODE: an error code or an assumption; without CODE, list them."""
    known = pages()
    if code is None:
        for name, page in known.items():
            click.echo(f"{name:26s} {page['verdict']:10s} {page['title']}")
        return
    if code not in known:
        near = difflib.get_close_matches(code, known, n=1)
        raise UsageError("setting-value", f"no page for {code!r}", fix=f"did you mean {near[0]!r}?" if near else "`certify explain` lists the pages")
    page = known[code]
    click.echo(f"{code}: {page['title']}  [{page['verdict']}]\n")
    click.echo(page["text"].strip())
    for heading, part in (("What to do", "do"), ("Example", "example")):
        if part in page:
            click.echo(f"\n{heading}:\n{page[part].strip()}")
