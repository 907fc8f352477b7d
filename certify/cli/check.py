# SPDX-License-Identifier: Apache-2.0
"""`certify-check`: the checker alone, in a child process with limits on memory and time.

It imports no prover, no click and no rich. A child that dies or takes too long is *declined*, never a verdict about the claim.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
from pathlib import Path

from certify._version import VERSION

_WORST = (70, 1, 3, 2, 0)


def main() -> None:
    """Run `certify-check` and exit with the statuses of `certify verify`."""
    options = _parser().parse_args()
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    try:
        if sys.stdout is None:
            raise OSError("standard output is closed")
        statuses = [_outside(index, options) for index in range(len(options.certificates))]
    except OSError as trouble:  # nobody may take silence, or a cut-off line, for a verdict
        if sys.stdout is not None:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        print(f"error: the verdict can't be written: {trouble.strerror or trouble}", file=sys.stderr)
        sys.exit(73)
    sys.exit(min(statuses, key=_WORST.index))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="certify-check", description="Verify certificates with the trusted checker alone, under resource limits.")
    parser.add_argument("certificates", nargs="+", metavar="F.cert", help="a certificate")
    parser.add_argument("--subject", action="append", default=[], metavar="[ROLE=]FILE", help="a file that the claim is about")
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
    match = re.fullmatch(r"([1-9]\d{0,15})(MiB|GiB)?", text, re.ASCII)
    if not match:
        raise argparse.ArgumentTypeError(f"{text!r} is not a size: give bytes, or a size such as 512MiB or 2GiB")
    return int(match[1]) * {None: 1, "MiB": 1 << 20, "GiB": 1 << 30}[match[2]]


def _seconds(text: str) -> int:
    if not re.fullmatch(r"[1-9]\d{0,4}", text, re.ASCII) or int(text) > 86_400:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of seconds from 1 to 86400")
    return int(text)


def _outside(index: int, options: argparse.Namespace) -> int:
    """Check one certificate in a child and print what it found; a child that did not finish its answer is declined, never a verdict."""
    command = [sys.executable, "-P", "-c", "from certify.cli.check import child; child()"]  # no name of a file is ever an option of the child
    asked = json.dumps({**vars(options), "inside": index}).encode()
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    try:
        done = subprocess.run(command, input=asked, capture_output=True, timeout=options.seconds, env=environment, check=False)
        status, text = json.loads(done.stdout)
    except subprocess.TimeoutExpired:
        status, text = _declined(index, f"the check took more than {options.seconds} s", "allow more with --seconds", options)
    except ValueError:
        status, text = _declined(index, "the check was stopped before it was done", "allow more with --memory", options)
    print(text, file=sys.stdout if status in (0, 1, 3) else sys.stderr, flush=True)
    return int(status)


def child() -> None:
    """Check the certificate that standard input names, under a limit on memory, and print (status, text) as JSON as the last thing done."""
    import resource

    options = argparse.Namespace(**json.load(sys.stdin))
    room = options.memory + (1 << 30)  # the interpreter maps address space that it never uses
    try:
        resource.setrlimit(resource.RLIMIT_AS, (room, room))
        answer = _answer(options)
    except (MemoryError, ImportError, ValueError):  # an import fails in many ways when memory is short
        answer = _declined(options.inside, "the check ran out of memory", "allow more with --memory", options)
    print(json.dumps(answer))


def _answer(options: argparse.Namespace) -> tuple[int, str]:
    from certify.cli.arguments import allowed_names, assign, of_file, pinned_subjects, public_keys
    from certify.cli.report_text import verification_json, verification_lines
    from certify.container import load_bytes
    from certify.errors import CertifyError, one_line
    from certify.limits import Limits
    from certify.verification import check, read_subjects

    name = options.certificates[options.inside]
    try:
        limits = Limits(work=options.work, memory=options.memory, blas=options.blas)
        paths = [Path(name) for name in options.certificates]
        given = read_subjects(pinned_subjects(options.subject), limits)
        files = assign(paths, given, limits)[options.inside]
        path = paths[options.inside]
        result = check(load_bytes(path, limits), path.name, files, allowed_names(options.allow), limits.fresh(),
                       public_keys([Path(key) for key in options.key], options.threshold, limits) or None, options.threshold)
    except CertifyError as trouble:
        told = {"file": name, "verdict": trouble.verdict, "code": trouble.code, "what": trouble.what, "where": trouble.where, "fix": trouble.fix}
        if options.json:
            return trouble.exit_status, json.dumps(told)
        word = f"{trouble.verdict} " if trouble.verdict in ("rejected", "declined") else "error:"
        if len(options.certificates) > 1:
            trouble.where = of_file(name, trouble.where)
        return trouble.exit_status, f"{word} {trouble}\n{' ' * (len(word) + 1)}{trouble.fix}  (certify explain {trouble.code})"
    except MemoryError:
        raise
    except Exception as trouble:
        return 70, f"internal error: {type(trouble).__name__}: {one_line(str(trouble), 200)}: no verdict was reached"
    if options.json:
        return 0, json.dumps({"file": name, **verification_json(result)})
    several = [f"certificate: {one_line(name)}"] if len(options.certificates) > 1 else []
    return 0, "\n          ".join([f"verified  {result.sentence}", *several, *verification_lines(result)])


def _declined(index: int, what: str, fix: str, options: argparse.Namespace) -> tuple[int, str]:
    if options.json:
        return 3, json.dumps({"file": options.certificates[index], "verdict": "declined", "code": "limit-reached", "what": what, "where": "",
                              "fix": fix})
    return 3, f"declined  limit-reached: {what}\n          {fix}"


if __name__ == "__main__":
    main()
