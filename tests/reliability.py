# SPDX-License-Identifier: Apache-2.0
"""Measure how the checker holds and print the table of docs/reliability.md; `--write` writes the page.

Counts are of this run: resealed mutants with their exact truth, the corpus of vectors, random mutations of bytes, trusted lines.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / part) for part in ("", "solvers", "problems", "tests")]

from certify.cli.trusted import code_lines, imported  # noqa: E402


def trusted_files(kind: str) -> list[Path]:
    """Return the files of ours that verifying a kind imports, found in a fresh interpreter."""
    return imported(kind)


def core_lines() -> int:
    """Return the code lines of the core: what every kind of certificate needs before its claim is looked at."""
    names = ("errors", "limits", "canonical", "archive", "fields", "container", "certificate", "assumptions", "signature")
    return sum(code_lines(ROOT / f"certify/{name}.py") for name in names)


def main() -> int:
    """Run the measurements; return 1 if any mutant that is false was verified."""
    from test_container import _mutations
    from test_mutants import KINDS, run

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mutants", type=int, default=5000, help="resealed mutants over all kinds")
    parser.add_argument("--fuzz", type=int, default=20_000, help="random mutations of a certificate's bytes")
    parser.add_argument("--write", action="store_true", help="write docs/reliability.md")
    options = parser.parse_args()
    total: Counter[str] = Counter()
    for kind in sorted(KINDS):
        total += run(kind, 77, options.mutants // len(KINDS))
    _mutations(options.fuzz, 78)
    rows = [("resealed mutants tried", f"{total['mutants']} ({total['false']} of them false, by exact enumeration)"),
            ("mutants that are false and verified", str(total["false accepts"])),
            ("mutants verified / rejected / declined", f"{total['verified']} / {total['rejected']} / {total['declined']}"),
            ("random changes of a certificate's bytes", f"{options.fuzz}, each refused with an error of ours")]
    for folder in sorted((ROOT / "tests/vectors").iterdir()):
        if (folder / "index.json").exists():
            entries = json.loads((folder / "index.json").read_text("utf-8"))
            negative = sum(entry["verdict"] != "verified" for entry in entries)
            rows.append((f"vectors of {folder.name}", f"{len(entries)}, {100 * negative // len(entries)} % negative"))
    rows.append(("trusted lines of code: core", f"{core_lines()} (at most 600)"))
    for kind in sorted(KINDS):
        rows.append((f"trusted lines of code: all that verifying `{kind}` imports", f"{sum(map(code_lines, trusted_files(kind)))} (at most 2,400)"))
    table = "\n".join(f"| {name} | {value} |" for name, value in rows)
    words = "Made by `make reliability`. Lines of code are lines that hold code: no blank lines, comments or docstrings."
    page = f"# Reliability\n\n{words}\n\n| what | measured |\n|---|---|\n{table}\n"
    print(page)
    if options.write:
        (ROOT / "docs/reliability.md").write_text(page, "utf-8")
    return 1 if total["false accepts"] else 0


if __name__ == "__main__":
    sys.exit(main())
