# SPDX-License-Identifier: Apache-2.0
"""`certify completion`: what a shell needs to complete commands, options, files, kinds, codes and assumptions."""

from __future__ import annotations

import click
from click.shell_completion import CompletionItem, get_completion_class


def file_names(context: click.Context, parameter: click.Parameter, start: str) -> list[CompletionItem]:
    """Return the word that lets the shell complete names of files, behind ROLE= too."""
    return [CompletionItem(start, type="file")]


def kind_names(context: click.Context, parameter: click.Parameter, start: str) -> list[CompletionItem]:
    """Return the kinds of claims."""
    from certify.registry import KINDS
    return [CompletionItem(name) for name in sorted(KINDS) if name.startswith(start)]


def page_names(context: click.Context, parameter: click.Parameter, start: str) -> list[CompletionItem]:
    """Return the codes and assumptions that `certify explain` has pages of."""
    from certify.cli.explain import pages
    return [CompletionItem(name, help=page["title"]) for name, page in pages().items() if name.startswith(start)]


def assumption_names(context: click.Context, parameter: click.Parameter, start: str) -> list[CompletionItem]:
    """Return the assumptions, or `none`, behind the names that stand before a comma."""
    from certify.assumptions import NAMES
    before, comma, last = start.rpartition(",")
    return [CompletionItem(f"{before}{comma}{name}") for name in [*sorted(NAMES), *([] if comma else ["none"])] if name.startswith(last)]


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the script that makes SHELL complete `certify` commands.

    \b
    certify completion bash > ~/.local/share/bash-completion/completions/certify
    """
    from certify.cli.main import cli

    found = get_completion_class(shell)
    if found is None:
        raise click.UsageError(f"no completion for {shell}")
    click.echo(found(cli, {}, "certify", "_CERTIFY_COMPLETE").source())
