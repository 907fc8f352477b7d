# SPDX-License-Identifier: Apache-2.0
"""Write docs/man/certify.1 and certify-check.1 from the commands themselves: nothing about an option is said twice.

The pages hold no date, so they change only when a command or the version does. A wheel installs them under share/man/man1.
"""

from __future__ import annotations

import argparse
import inspect
import sys
from collections.abc import Iterator
from pathlib import Path

import click

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from certify._version import VERSION  # noqa: E402
from certify.cli.check import _parser  # noqa: E402
from certify.cli.main import cli  # noqa: E402

_EXIT = (
    ("0", "verified or proved; done"), ("1", "rejected; of diff: the certificates differ"),
    ("2", "usage: an unknown option, a file that can't be read, a question that makes no sense"),
    ("3", "declined: this checker can't say; of prove also a subject that its reader refuses"),
    ("4", "not proved, or rows of a data set stayed open (prove)"), ("5", "refuted: a counterexample was written (prove)"),
    ("70", "internal error: no verdict was reached; a self-test that failed"), ("73", "the result, or the verdict, can't be written"),
    ("130", "interrupted"),
)
_EXIT_OF_CHECK = (
    ("0", "verified"), ("1", "rejected"), ("2", "usage: an unknown option, or a file that can't be read"), ("3", "declined: this checker can't say"),
    ("70", "internal error: no verdict was reached"), ("73", "the verdict can't be written"),
)
_ENVIRONMENT = (
    ("NO_COLOR", "If it is set, verdicts are not coloured. They are coloured on a terminal only."),
    ("CERTIFY_TRACEBACK", "If it is set, an internal error shows where it was raised. For reports of faults."),
    ("OPENBLAS_NUM_THREADS", "Threads of numpy's BLAS, 1 where it is not set. The checker uses no BLAS without --blas; no verdict depends on it."),
    ("PYTHONPATH, PYTHONHOME", "Read by Python before certify runs, so whoever sets them decides which code runs: trust.md, "
     "\"Where Python looks for code\"."),
)
_OF_CHECK_ENVIRONMENT = tuple(entry for entry in _ENVIRONMENT if entry[0].startswith("PYTHON"))
_FILES = (
    ("NAME.cert", "A certificate: a ZIP archive with one JSON statement and the evidence."),
    ("NAME-refuted.cert", "The certificate of a counterexample, beside the output of prove."),
    ("certify.toml", "Settings of prove, read only where --config names it."),
    ("NAME.pem, NAME.pub.pem", "The private and the public key that key new writes (Ed25519)."),
)


def files() -> dict[str, str]:
    """Return the text of each man page by file name."""
    return {"certify.1": "\n".join(_certify()) + "\n", "certify-check.1": "\n".join(_check()) + "\n"}


def _certify() -> Iterator[str]:
    yield from _head("certify", "prove with any solver, verify with a small trusted checker")
    yield from (".SH SYNOPSIS", r"\fBcertify\fR \fICOMMAND\fR [\fIOPTION\fR...] [\fIARGUMENT\fR...]", ".SH DESCRIPTION")
    yield _plain("A certificate is a file with a claim about other files and evidence for it. Any program may make it; certify verifies it with a "
                 "small checker, in exact or outward-rounded arithmetic and without a solver. The verdict is the first word of standard output: "
                 "verified, rejected or declined; of prove: proved, refuted or unknown. Errors in the use of a command go to standard error.")
    yield ".SH COMMANDS"
    context = click.Context(cli, info_name="certify")
    for name in cli.list_commands(context):
        command = cli.get_command(context, name)
        if isinstance(command, click.Group):
            inner = click.Context(command, info_name=name, parent=context)
            for part in command.list_commands(inner):
                found = command.get_command(inner, part)
                if found is not None:
                    yield from _command(found, f"{name} {part}")
        elif command is not None:
            yield from _command(command, name)
    yield from _tables(_EXIT, "Several certificates in one command give the first of 70, 1, 3, 2, 0 that occurred.", _ENVIRONMENT, _FILES)
    yield from _tail("certify-check", ("Prove a claim, and verify it:",
                                       "certify prove robust model.onnx images.npy --set row=3 --set radius=1/2 -o out.cert",
                                       "certify verify out.cert --subject model.onnx --subject images.npy --allow real-arithmetic"))


def _check() -> Iterator[str]:
    parser = _parser()
    yield from _head("certify-check", "verify certificates with the trusted checker alone")
    words = [rf"[\fB{_plain(action.option_strings[-1])}\fR{_value(action)}]" + ("..." if isinstance(action.default, list) else "")
             for action in parser._actions if action.option_strings and action.dest != "help"]
    yield from (".SH SYNOPSIS", rf"\fBcertify\-check\fR {' '.join(words)} \fIF.cert\fR...", ".SH DESCRIPTION")
    yield _plain("Each certificate is checked in a child process with limits on memory and time, by the modules that a verdict rests on and "
                 "nothing else: no prover, no converter, no other command. A child that takes too long, runs out of memory or is stopped is "
                 "declined. It needs no network and writes no file. The verdict is the first word of standard output.")
    yield ".SH OPTIONS"
    for action in parser._actions:
        names = ", ".join(rf"\fB{_plain(option)}\fR{_value(action)}" for option in action.option_strings)
        yield from (".TP", names or rf"\fI{action.metavar}\fR", _plain((action.help or "").replace("%(default)s", str(action.default))))
    yield from _tables(_EXIT_OF_CHECK,
                       "Several certificates give the first of 70, 1, 3, 2, 0 that occurred.", _OF_CHECK_ENVIRONMENT, _FILES[:1])
    yield from _tail("certify", ("Verify with a pinned list of assumptions:",
                                 "certify-check out.cert --subject model.onnx --subject images.npy --allow real-arithmetic"))


def _head(name: str, summary: str) -> Iterator[str]:
    yield r'.\" Made by docs/make_man.py: change the command or that script, then run `make docs`.'
    yield f'.TH {_plain(name.upper())} 1 "" "certify {VERSION}" "User Commands"'
    yield from (".SH NAME", rf"{_plain(name)} \- {_plain(summary)}")


def _command(command: click.Command, name: str) -> Iterator[str]:
    arguments = [_argument(parameter) for parameter in command.params if isinstance(parameter, click.Argument)]
    yield rf".SS certify {_plain(name)} {' '.join(arguments)}".rstrip()
    for number, block in enumerate(inspect.cleandoc(command.help or "").split("\n\n")):
        if number:
            yield ".PP"
        if block.startswith("\b"):
            yield from (".EX", *(_plain(line) for line in block.splitlines()[1:]), ".EE")
        else:
            yield _plain(" ".join(block.split()))
    context = click.Context(command, info_name=name)
    for option in command.params:
        record = option.get_help_record(context) if isinstance(option, click.Option) else None
        if record is not None:
            yield from (".TP", rf"\fB{_plain(record[0])}\fR", _plain(record[1]))


def _argument(argument: click.Argument) -> str:
    shown = rf"\fI{_plain(argument.make_metavar(click.Context(click.Command('certify'))).removesuffix('...').strip('[]'))}\fR"
    shown += "..." if argument.nargs == -1 else ""
    return shown if argument.required else f"[{shown}]"


def _value(action: argparse.Action) -> str:
    return rf" \fI{_plain(action.metavar)}\fR" if action.option_strings and isinstance(action.metavar, str) else ""


def _tables(exits: tuple[tuple[str, str], ...], several: str, environment: tuple[tuple[str, str], ...],
            files: tuple[tuple[str, str], ...]) -> Iterator[str]:
    yield ".SH EXIT STATUS"
    yield from (line for status, meaning in exits for line in (".TP", rf"\fB{status}\fR", _plain(meaning)))
    yield from (".PP", _plain(several))
    for heading, entries in (("ENVIRONMENT", environment), ("FILES", files)):
        yield f".SH {heading}"
        yield from (line for name, meaning in entries for line in (".TP", rf"\fB{_plain(name)}\fR", _plain(meaning)))


def _tail(other: str, example: tuple[str, ...]) -> Iterator[str]:
    yield from (".SH EXAMPLES", _plain(example[0]), ".PP", ".EX", *map(_plain, example[1:]), ".EE")
    yield from (".SH SEE ALSO", rf"\fB{_plain(other)}\fR(1). `certify explain CODE` explains every code and assumption.",
                "The documentation has the format (format.md), what is trusted (trust.md) and a page for each kind of claim.")


def _plain(text: str) -> str:
    """Return text as troff input: no character of it is a command."""
    text = text.replace("\\", r"\e").replace("-", r"\-").replace("'", r"\(aq").replace("`", r"\(ga").replace("^", r"\(ha").replace("~", r"\(ti")
    return rf"\&{text}" if text.startswith(".") else text


def main() -> None:
    """Write the pages."""
    folder = HERE / "man"
    folder.mkdir(exist_ok=True)
    for name, text in files().items():
        (folder / name).write_text(text, "utf-8")
    print(f"{len(files())} man pages")


if __name__ == "__main__":
    main()
