# SPDX-License-Identifier: Apache-2.0
"""Audit a folder of certificates against a folder of subject files: each is checked by `certify-check` in a process of its own.

    python audit.py CERTIFICATES SUBJECTS --allow real-arithmetic [--key PUB.pem]... [--threshold N]

One line a certificate. Exit status, the worst of: 70 a fault of certify, 1 rejected, 3 declined, 2 usage (or no certificate at all),
5 a refutation was verified, 4 what was verified is less than the policy asks for, 0 every certificate holds.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import certify
from certify.errors import one_line
from certify.verification import read_subject

# What is wanted, by kind of claim: change it to your question. A verified claim for which its function is false is "weaker", as is another kind.
WANTED = {"norm": "linf", "radius_unit": "raw", "scale": "1/16", "subtract": "0", "divide": "1", "clip": ["0", "1"]}
POLICY: dict[str, Callable[[Mapping[str, Any], Mapping[str, Any]], bool]] = {
    "region": lambda given, says: says["holds"],
    "robust": lambda given, says: says["holds"] and wanted(given) and Fraction(given["radius"]) >= 1,
    "accuracy": lambda given, says: wanted(given) and Fraction(given["radius"]) >= 1 and 10 * says["robust_at_least"] >= 8 * says["of"],
}
STATUS = {"internal": 70, "rejected": 1, "declined": 3, "usage": 2, "refuted": 5, "weaker": 4, "holds": 0}  # the worst first
_CHECK = "from certify.cli.check import main; main()"
_LOOK = ("import resource, sys; resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30)); import certify, json; "
         "print(json.dumps([subject.sha256 for subject in certify.load(sys.argv[1]).subjects]))")


def wanted(given: Mapping[str, Any]) -> bool:
    """Return whether a question about points is ours: its preprocessing and norm are as much a part of it as its radius."""
    return all(given[name] == value for name, value in WANTED.items())


def main(words: Sequence[str] | None = None) -> int:
    """Audit the folders named on the command line and return the worst status."""
    parser = argparse.ArgumentParser(description="Audit a folder of certificates against a folder of subject files.")
    parser.add_argument("certificates", type=Path, help="the folder of .cert files")
    parser.add_argument("subjects", type=Path, help="the folder of files that they are about")
    parser.add_argument("--allow", action="append", default=[], metavar="NAME", help="an assumption that is accepted (default: none)")
    parser.add_argument("--key", action="append", default=[], type=Path, metavar="PUB.pem", help="a key that must have signed each of them")
    parser.add_argument("--threshold", type=int, metavar="N", help="how many of the keys must have signed (default: all)")
    options = parser.parse_args(words)
    asked = [*(f"--allow={name}" for name in options.allow or ["none"]), *(f"--key={path}" for path in options.key)]
    asked += [f"--threshold={options.threshold}"] if options.threshold is not None else []
    known = digests(options.subjects)
    counts: Counter[str] = Counter()
    for path in sorted(options.certificates.resolve().rglob("*.cert")):
        word, line = audit(path, known, asked)
        counts[word] += 1
        print(f"{word:10s} {line}  [{one_line(str(path.relative_to(options.certificates.resolve())))}]", flush=True)
    if not counts:
        print(f"usage      no certificate in {one_line(str(options.certificates))}: nothing was verified")
        return 2
    print(f"{counts.total()} certificates: " + ", ".join(f"{counts[word]} {word}" for word in reversed(STATUS) if counts[word] or word == "holds"))
    return next(status for word, status in STATUS.items() if counts[word])


def digests(folder: Path) -> dict[str, Path]:
    """Return the subject files by the sha256 of their (unpacked) bytes; one that can't be read is named, and is no subject."""
    known: dict[str, Path] = {}
    for path in sorted(path for path in folder.resolve().rglob("*") if path.is_file()):
        try:
            known[hashlib.sha256(read_subject(path, certify.Limits())).hexdigest()] = path
        except (certify.CertifyError, OSError) as trouble:
            print(f"warning: skipped {one_line(str(path))}: {one_line(str(trouble))}", file=sys.stderr)
    return known


def audit(path: Path, known: Mapping[str, Path], asked: Sequence[str]) -> tuple[str, str]:
    """Return the word and the line of one certificate."""
    needed = child(_LOOK, path)  # not checked: it only says which files are needed
    subjects = json.loads(needed.stdout) if needed.returncode == 0 else []
    done = child(_CHECK, "--json", *asked, *(f"--subject={known[digest]}" for digest in subjects if digest in known), path)
    try:
        told = json.loads(done.stdout or done.stderr)
        verdict = told["verdict"]
    except (ValueError, KeyError):
        return "internal", f"{one_line(done.stderr, 200)} (exit status {done.returncode}): no verdict was reached"
    if verdict != "verified" or done.returncode != 0:
        return (verdict if verdict in STATUS else "internal"), one_line(f"{told['code']}: {told['what']}", 500)
    files = [(role, file["sha256"]) for role, given in told["subjects"].items() for file in given]
    absent = [role for role, digest in files if digest not in known]
    if absent:  # it brought a copy of its own: true of that copy, and of nothing that we have
        return "declined", f"no file of the folder is its {', '.join(absent)}: it was verified about a copy inside the certificate"
    claim = told["claim"]
    enough = POLICY.get(claim["kind"], never)(claim["given"], claim["says"])
    word = "refuted" if claim["says"].get("holds") is False else "holds" if enough else "weaker"
    about = ", ".join(f"{role} {digest[:12]}" for role, digest in files)
    signed = f"; signed by {', '.join(key[:12] for key in told['signed_by'])}" if told["signed_by"] else ""
    return word, (f"{claim['kind']}: {one_line(told['sentence'])} ({about}; rests on: {', '.join(told['assumptions']) or 'nothing outside the files'}"
                  f"{signed}; id {told['id'][:12]})")


def never(given: Mapping[str, Any], says: Mapping[str, Any]) -> bool:
    """The policy of kinds that have none."""
    return False


def child(program: str, *words: str | Path) -> subprocess.CompletedProcess[str]:
    """Run a program of certify; `-P` keeps the working folder out of what it imports."""
    return subprocess.run([sys.executable, "-P", "-c", program, *map(str, words)], capture_output=True, encoding="utf-8", errors="backslashreplace",
                          check=False, env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "PYTHONIOENCODING": "utf-8:backslashreplace"})


if __name__ == "__main__":
    sys.exit(main())
