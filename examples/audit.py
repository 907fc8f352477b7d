# SPDX-License-Identifier: Apache-2.0
"""Verify a folder of certificates against a folder of subject files, with a pinned list of assumptions: one line each.

    python audit.py CERTIFICATES SUBJECTS --allow real-arithmetic

Exit status: the worst of 70 (a fault of certify), 1 (rejected), 3 (declined), 2 (usage, or no certificate at all), 0 (all verified).
"""

from __future__ import annotations

import argparse
import hashlib
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import certify
from certify.errors import one_line
from certify.verification import read_subject

_WORST = (70, 1, 3, 2, 0)


def main(words: Sequence[str] | None = None) -> int:
    """Audit the folders named on the command line and return the worst status."""
    parser = argparse.ArgumentParser(description="Verify a folder of certificates against a folder of subject files.")
    parser.add_argument("certificates", type=Path, help="the folder of .cert files")
    parser.add_argument("subjects", type=Path, help="the folder of files that they are about")
    parser.add_argument("--allow", action="append", default=[], metavar="NAME", help="an assumption that is accepted (default: none)")
    parser.add_argument("--key", action="append", default=[], type=Path, metavar="PUB.pem", help="a key that must have signed each of them")
    options = parser.parse_args(words)
    try:
        known = digests(options.subjects)
    except (certify.CertifyError, OSError) as trouble:
        print(f"usage      {one_line(str(trouble))}")
        return 2
    statuses = []
    for path in sorted(options.certificates.rglob("*.cert")):
        status, line = audit(path, known, frozenset(options.allow), options.key)
        statuses.append(status)
        print(f"{line}  [{one_line(str(path.relative_to(options.certificates)))}]", flush=True)
    if not statuses:
        print(f"usage      no certificate in {one_line(str(options.certificates))}: nothing was verified")
        return 2
    print(f"{statuses.count(0)} of {len(statuses)} certificates verified")
    return min(statuses, key=_WORST.index)


def digests(folder: Path) -> dict[str, Path]:
    """Return the subject files by the sha256 of their (unpacked) bytes; certify hashes them again when it verifies."""
    limits = certify.Limits()
    return {hashlib.sha256(read_subject(path, limits)).hexdigest(): path for path in sorted(folder.rglob("*")) if path.is_file()}


def audit(path: Path, known: Mapping[str, Path], allow: frozenset[str], keys: Sequence[Path]) -> tuple[int, str]:
    """Return the exit status and the line of one certificate."""
    try:
        wanted = certify.load(path).subjects  # not checked yet: it only says which files are needed
        files = [known[subject.sha256] for subject in wanted if subject.sha256 in known]
        result = certify.verify(path, subjects=files, allow=allow, keys=keys)
    except certify.CertifyError as trouble:
        return trouble.exit_status, f"{trouble.verdict:10s} {trouble}"
    except Exception as trouble:  # a crash is no verdict, and the other certificates are still checked
        return 70, f"internal   {type(trouble).__name__}: no verdict was reached"
    return 0, f"verified   {result.sentence} (id {result.id[:12]}, rests on: {', '.join(result.assumptions) or 'nothing outside the files'})"


if __name__ == "__main__":
    sys.exit(main())
