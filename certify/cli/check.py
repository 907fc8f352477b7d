# SPDX-License-Identifier: Apache-2.0
"""`certify-check`: the checker alone, in a child process with limits on memory and time.

It imports no prover, no click and no rich. A child that dies or takes too long is *declined*, never a verdict about the claim. This process itself
reads none of the files, so that none can hinder the verdict on another.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

from certify._version import VERSION
from certify.cli.arguments import assign, pinned_subjects
from certify.cli.lines import asked_for_help, printable

_WORST = (70, 1, 3, 2, 0)
_MOST_BYTES = 1 << 60


def main() -> None:
    """Run `certify-check` and exit with the statuses of `certify verify`."""
    try:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
        options = _options(sys.argv[1:])
        if sys.stdout is None:
            raise OSError("standard output is closed")
        statuses = [_outside(index, texts, options) for index, texts in enumerate(_subjects(options))]
    except OSError as trouble:  # nobody may take silence, or a cut-off line, for a verdict
        if sys.stdout is not None:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        print(f"error: the verdict can't be written: {trouble.strerror or trouble}", file=sys.stderr)
        sys.exit(73)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        sys.exit(130)
    sys.exit(min(statuses, key=_WORST.index))


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(2, f"{self.prog}: error: {printable(message)}\n")


def _options(words: list[str]) -> argparse.Namespace:
    try:
        return _parser().parse_args(words)
    except SystemExit as done:  # of --help and --version: nothing was checked, so status 0 is for those who asked for nothing else
        wrong = asked_for_help(words) if done.code == 0 else ""
        if wrong:
            print(wrong, file=sys.stderr)
        sys.exit(2 if wrong else done.code)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="certify-check", description="Verify certificates with the trusted checker alone, under resource limits.",
                     allow_abbrev=False)
    parser.add_argument("certificates", nargs="+", metavar="F.cert", help="a certificate; names that begin with a hyphen stand behind --")
    parser.add_argument("--subject", action="append", default=[], metavar="[ROLE=]FILE",
                        help="a file that the claim is about; one whose own name reads ROLE=FILE is written ./NAME")
    parser.add_argument("--allow", action="append", default=[], metavar="NAME,...", help="allow exactly these assumptions (none: no assumption)")
    parser.add_argument("--key", action="append", default=[], metavar="PUB.pem", help="a public key that must have signed it")
    parser.add_argument("--threshold", type=int, default=None, metavar="N", help="how many of the keys must have signed (default: all)")
    parser.add_argument("--work", type=int, default=1 << 36, metavar="N", help="work budget in elementary operations (default 2^36)")
    parser.add_argument("--memory", type=_bytes, default=2 << 30, metavar="SIZE", help="memory for the check, such as 512MiB (default 2GiB)")
    parser.add_argument("--seconds", type=_seconds, metavar="N", default=90, help="seconds that one check may take (default 90)")
    parser.add_argument("--blas", action="store_true", help="let this run take products from a BLAS")
    parser.add_argument("--json", action="store_true", help="one JSON object a certificate")
    parser.add_argument("--version", action="version", version=f"certify-check {VERSION}")
    return parser


def _bytes(text: str) -> int:
    """Return the bytes in "1000000", "512MiB" or "2GiB"."""
    match = re.fullmatch(r"([1-9]\d{0,18})(MiB|GiB)?", text, re.ASCII)
    if not match:
        raise argparse.ArgumentTypeError(f"{text!r} is not a size: give bytes, or a size such as 512MiB or 2GiB")
    size = int(match[1]) * {None: 1, "MiB": 1 << 20, "GiB": 1 << 30}[match[2]]
    if size > _MOST_BYTES:
        raise argparse.ArgumentTypeError(f"{text} is too large: give at most {_MOST_BYTES >> 30}GiB")
    return size


def _seconds(text: str) -> int:
    if not re.fullmatch(r"[1-9]\d{0,4}", text, re.ASCII) or int(text) > 86_400:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of seconds from 1 to 86400")
    return int(text)


def _subjects(options: argparse.Namespace) -> Iterator[list[str]]:
    """Yield, for each certificate, the texts of --subject that it is checked against: pinned files always, of the others those that `assign` says."""
    pinned = [text for text in options.subject if "" not in pinned_subjects([text])]
    loose = [text for text in options.subject if "" in pinned_subjects([text])]
    found = _looked("subjects", loose, options) if len(options.certificates) > 1 else [None]
    if not loose or None in found:  # what can't be read, every check says
        yield from ([*pinned, *loose] for _ in options.certificates)
        return
    wanted = [None if digests is None else set(digests) for digests in _looked("certificates", options.certificates, options)]
    for indices in assign(wanted, [digest for digests in found for digest in digests or []]):
        yield [*pinned, *(loose[index] for index in indices)]


def _outside(index: int, texts: list[str], options: argparse.Namespace) -> int:
    """Check one certificate in a child and print what it found; a child that did not finish its answer is declined, never a verdict."""
    try:
        status, lines = json.loads(_child({**vars(options), "subject": texts, "inside": index}, options))
    except subprocess.TimeoutExpired:
        status, lines = _declined(index, f"the check took more than {options.seconds} s", "allow more with --seconds", options)
    except ValueError:
        status, lines = _declined(index, "the check was stopped before it was done", _more_memory(options.memory), options)
    print("\n".join(map(printable, lines)), file=sys.stdout if status in (0, 1, 3) else sys.stderr, flush=True)
    return int(status)


def _looked(what: str, files: list[str], options: argparse.Namespace) -> list[list[str] | None]:
    """Return the digests that a child found in each file, None where it could not; after one that stopped it, another child goes on."""
    found: list[list[str] | None] = []
    while len(found) < len(files):
        try:
            said = _child({**vars(options), "look": what, "files": files[len(found) :]}, options)
        except subprocess.TimeoutExpired as trouble:
            said = trouble.stdout or b""
        answers = [json.loads(line) for line in said.splitlines(keepends=True) if line.endswith(b"\n")]
        found += answers or [None]
    return found


def _child(asked: dict[str, Any], options: argparse.Namespace) -> bytes:
    """Return what a child printed; raises TimeoutExpired."""
    command = [sys.executable, "-P", "-c", "from certify.cli.check import child; child()"]  # no name of a file is ever an option of the child
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(command, input=json.dumps(asked).encode(), capture_output=True, timeout=options.seconds, env=environment, check=False)
    return done.stdout


def child() -> None:
    """Do what standard input asks, under a limit on memory, and print the answer as JSON as the last thing done."""
    import resource

    options = argparse.Namespace(**json.load(sys.stdin))
    room = _room(options.memory)
    resource.setrlimit(resource.RLIMIT_AS, (room, room))
    if "look" in options:
        for digests in _look(options):
            print(json.dumps(digests), flush=True)
        return
    try:
        answer = _answer(options)
    except (MemoryError, ImportError, ValueError):  # an import fails in many ways when memory is short
        answer = _declined(options.inside, "the check ran out of memory", _more_memory(options.memory), options)
    print(json.dumps(answer))


def _room(memory: int) -> int:
    """Return the address space for a check: 1 GiB more than its memory, which the interpreter maps and never uses, but what is allowed at most."""
    import resource

    allowed = [limit for limit in resource.getrlimit(resource.RLIMIT_AS) if limit != resource.RLIM_INFINITY]
    return min([memory + (1 << 30), *allowed])


def _more_memory(memory: int) -> str:
    room = _room(memory)
    if room < memory + (1 << 30):
        return f"this process may have {room >> 20} MiB of address space only: raise that limit (ulimit -v)"
    return "allow more with --memory"


def _look(options: argparse.Namespace) -> Iterator[list[str] | None]:
    """Yield the digests that each certificate names, or that of each subject file; None where it can't be read."""
    import hashlib

    from certify.cli.arguments import named_digests
    from certify.errors import CertifyError
    from certify.limits import Limits
    from certify.verification import read_subject

    limits = Limits(memory=options.memory)
    for path in map(Path, options.files):
        try:
            found = named_digests(path, limits) if options.look == "certificates" else {hashlib.sha256(read_subject(path, limits)).hexdigest()}
        except (CertifyError, MemoryError):
            found = None
        yield None if found is None else sorted(found)


def _answer(options: argparse.Namespace) -> tuple[int, list[str]]:
    from certify.cli.arguments import allowed_names, of_file, public_keys
    from certify.cli.report_text import verification_json, verification_lines
    from certify.container import load_bytes
    from certify.errors import CertifyError
    from certify.limits import Limits
    from certify.verification import check, read_subjects

    name = options.certificates[options.inside]
    try:
        limits = Limits(work=options.work, memory=options.memory, blas=options.blas)
        path = Path(name)
        given = read_subjects(pinned_subjects(options.subject), limits)
        result = check(load_bytes(path, limits), path.name, given, allowed_names(options.allow), limits.fresh(),
                       public_keys([Path(key) for key in options.key], options.threshold, limits) or None, options.threshold)
    except CertifyError as trouble:
        told = {"file": name, "verdict": trouble.verdict, "code": trouble.code, "what": trouble.what, "where": trouble.where, "fix": trouble.fix}
        if options.json:
            return trouble.exit_status, [json.dumps(told)]
        word = f"{trouble.verdict} " if trouble.verdict in ("rejected", "declined") else "error:"
        if len(options.certificates) > 1:
            trouble.where = of_file(name, trouble.where)
        return trouble.exit_status, [f"{word} {trouble}", f"{' ' * (len(word) + 1)}{trouble.fix}  (certify explain {trouble.code})"]
    except MemoryError:
        raise
    except Exception as trouble:
        return 70, [f"internal error: {type(trouble).__name__}: {str(trouble)[:200]}: no verdict was reached"]
    if options.json:
        return 0, [json.dumps({"file": name, **verification_json(result)})]
    several = [f"certificate: {name}"] if len(options.certificates) > 1 else []
    return 0, [f"verified  {result.sentence}", *(f"          {line}" for line in [*several, *verification_lines(result)])]


def _declined(index: int, what: str, fix: str, options: argparse.Namespace) -> tuple[int, list[str]]:
    if options.json:
        return 3, [json.dumps({"file": options.certificates[index], "verdict": "declined", "code": "limit-reached", "what": what, "where": "",
                               "fix": fix})]
    return 3, [f"declined  limit-reached: {what}", f"          {fix}"]


if __name__ == "__main__":
    main()
