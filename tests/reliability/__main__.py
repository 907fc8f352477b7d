# SPDX-License-Identifier: Apache-2.0
"""Measure how the checker holds and print the table of docs/reliability.md; `--write` writes the page. Exit status 1 if anything is violated."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / part) for part in ("", "solvers", "problems", "tests")]

from reliability import Effort, Part, Row, tell  # noqa: E402
from reliability.campaigns import fuzz, hostiles, mutants, mutation  # noqa: E402
from reliability.corpus import controls, vectors  # noqa: E402
from reliability.trusted import imports, lines  # noqa: E402

PARTS: dict[str, Part] = {"vectors": vectors, "controls": controls, "mutants": mutants, "mutation": mutation, "fuzz": fuzz, "hostile": hostiles,
                          "lines": lines, "imports": imports}
_WORDS = """Made by `make reliability`, by measurement only. A *resealed mutant* is a certificate that was changed in meaning and given right digests
again; an independent oracle, by exact enumeration, says which are still true. A *mutant of the checker* is the checker with one small change: it must
fail a vector or a test, or stand in a [reviewed list](../tests/mutation/equivalents.toml) with the reason why it is equivalent or harmless. Lines of
code are lines that hold code: no blank lines, comments or docstrings."""


def page(rows: list[Row]) -> str:
    """Return the page with the table."""
    table = "\n".join(f"| {row.what} | {row.measured}{'' if row.sound else ' **violated**'} |" for row in rows)
    return f"# Reliability\n\n{_WORDS}\n\n| what | measured |\n|---|---|\n{table}\n"


def main() -> int:
    """Run the parts that are asked for; return 1 if any row is violated."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", action="append", choices=sorted(PARTS), help="a part to run, in place of all")
    parser.add_argument("--skip", action="append", choices=sorted(PARTS), default=[], help="a part to leave out, which the page says")
    parser.add_argument("--mutants", type=int, default=100_000, help="resealed mutants over all kinds")
    parser.add_argument("--fuzz", type=int, default=1_000_000, help="fuzzed inputs over all readers")
    parser.add_argument("--jobs", type=int, default=2, help="processes at a time")
    parser.add_argument("--write", action="store_true", help="write docs/reliability.md; takes all parts")
    options = parser.parse_args()
    if options.write and options.only:
        parser.error("--write takes all parts")
    rows: list[Row] = []
    for name in options.only or PARTS:
        started = time.monotonic()
        if name in options.skip:
            rows.append(Row(f"{name}", "not run when this page was made", True))
            continue
        rows += PARTS[name](Effort(options.mutants, options.fuzz, options.jobs))
        tell(f"{name}: {time.monotonic() - started:.0f} s")
    print(page(rows))
    if options.write:
        (ROOT / "docs/reliability.md").write_text(page(rows), "utf-8")
    return 0 if all(row.sound for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
