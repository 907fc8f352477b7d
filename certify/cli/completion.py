# SPDX-License-Identifier: Apache-2.0
"""`certify completion`: what a shell needs to complete commands, options and files."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class


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
