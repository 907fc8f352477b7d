# SPDX-License-Identifier: Apache-2.0
"""`certify`: the group of commands, each imported only when it runs, and the one place where outcomes become exit statuses."""

from __future__ import annotations

import difflib
import errno
import os
import sys
from importlib import import_module

import click

from certify._version import VERSION
from certify.cli.lines import asked_for_help
from certify.cli.output import fail, misused, say, stop
from certify.errors import CertifyError

_COMMANDS = {
    "claims": ("certify.cli.listing:claims", "List the kinds of claims, their roles and fields."),
    "commit": ("certify.cli.commit:commit", "Commit to a private network, so that claims about it can be proved."),
    "completion": ("certify.cli.completion:completion", "Print a shell's completion script."),
    "convert": ("certify.cli.convert:convert", "Make a canonical subject file from what you have."),
    "diff": ("certify.cli.diff:diff", "Say in what two certificates differ."),
    "doctor": ("certify.cli.doctor:doctor", "Say what is installed and what is missing."),
    "explain": ("certify.cli.explain:explain", "Explain a code or an assumption."),
    "generate": ("certify.cli.convert:generate", "Make a random subject file, for tests."),
    "key": ("certify.cli.sign:key", "Make a pair of keys for signatures."),
    "prove": ("certify.cli.prove:prove", "Prove or refute a claim and write its certificate."),
    "provers": ("certify.cli.listing:provers", "List the provers and the kinds they emit."),
    "report": ("certify.cli.report:report", "Verify a certificate and write the verdict as an HTML page."),
    "selftest": ("certify.cli.selftest:selftest", "Run the shipped test vectors."),
    "show": ("certify.cli.show:show", "Show what is in a certificate or a subject file."),
    "sign": ("certify.cli.sign:sign", "Sign a certificate; its id stays the same."),
    "verify": ("certify.cli.verify:verify", "Verify certificates against their subject files."),
}
_LISTS = ("claims", "completion", "doctor", "explain", "provers", "show")  # whose output is no verdict
_WRITERS = ("commit", "convert", "generate", "key", "prove", "report", "sign")


class _Lazy(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        # Threads of a BLAS only cost time on small products, and results should not depend on their number; numpy is not imported yet.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        module, name = _COMMANDS[cmd_name][0].split(":")
        found: click.Command = getattr(import_module(module), name)
        return found

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in _COMMANDS and not args[0].startswith("-") and (near := difflib.get_close_matches(args[0], _COMMANDS, n=1)):
            ctx.fail(f"no such command {args[0]!r}: did you mean {near[0]!r}?")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in sorted(_COMMANDS.items())])


@click.group(cls=_Lazy, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120})
@click.version_option(VERSION, "--version", prog_name="certify")
def cli() -> None:
    """Machine-checkable certificates: prove with any solver, verify with a small trusted checker.

    \b
    certify prove region model.onnx property.vnnlib -o out.cert
    certify verify out.cert --subject model.onnx --subject property.vnnlib

    Exit statuses: 0 verified or proved, 1 rejected, 2 usage, 3 declined, 4 not proved, 5 refuted, 70 internal, 73 can't write, 130 interrupted.
    """


def main() -> None:
    """Run the command line and exit; never shows a traceback unless CERTIFY_TRACEBACK is set."""
    os.environ["PYTHONSAFEPATH"] = "1"  # workers start as `python -c`, which would import from the working directory first
    try:
        if sys.stdout is None:
            raise OSError("standard output is closed")
        sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
        status = _run()
        sys.stdout.flush()
    except OSError as trouble:  # whoever read the verdict went away, or the disk is full: nobody may take silence for a verdict
        if sys.stdout is not None:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if trouble.errno != errno.EPIPE or sys.argv[1:2] not in [[name] for name in _LISTS]:  # `certify claims | head` is no accident
            say(f"error: the verdict can't be written: {trouble.strerror or trouble}", err=True)
        status = 73
    sys.exit(status)


def _run() -> int:
    words, asked = sys.argv[1:], os.environ.get("_CERTIFY_COMPLETE")
    if asked and not words:  # a shell asks what could come next, by the script of `certify completion`; a variable that was left over asks nothing
        from click.shell_completion import shell_complete
        return shell_complete(cli, {}, "certify", "_CERTIFY_COMPLETE", asked)
    try:
        with cli.make_context("certify", words) as context:
            cli.invoke(context)
        return 0
    except SystemExit as done:
        return done.code if isinstance(done.code, int) else 1
    except click.exceptions.Exit as done:  # of --help and --version: nothing was checked, so status 0 is for those who asked for nothing else
        from certify_problems.formats import FORMATS
        wrong = asked_for_help(words, {*_COMMANDS, "new", *FORMATS})
        say(*([wrong] if wrong else []), err=True)
        return done.exit_code or (2 if wrong else 0)
    except (click.Abort, KeyboardInterrupt):
        writes = sys.argv[1:2] in [[name] for name in _WRITERS]
        say(f"interrupted: {'files are written whole or not at all' if writes else 'it is not done, and says nothing'}", err=True)
        return 130
    except click.ClickException as trouble:
        return misused(trouble)
    except CertifyError as trouble:
        return fail(trouble)
    except OSError as trouble:
        if trouble.errno in (errno.EPIPE, errno.ENOSPC):
            raise
        return stop(trouble)
    except Exception as trouble:
        if os.environ.get("CERTIFY_TRACEBACK"):
            raise
        return stop(trouble)


if __name__ == "__main__":
    main()
