# SPDX-License-Identifier: Apache-2.0
"""What is tried against the checker: resealed mutants of certificates, mutants of the checker, fuzzed inputs, hostile files."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import hostile
from certify import registry
from fuzz import run as fuzzing
from reliability import ROOT, Effort, Row, tell

_CHUNK = 1000


def _mutants(kind: str, seed: int, count: int) -> Counter[str]:
    from test_mutants import run
    return run(kind, seed, count, stop=False)


def mutants(effort: Effort) -> list[Row]:
    """Try resealed mutants of certificates, in equal numbers for every kind, but for those that take a hundred times as long."""
    from test_mutants import COSTLY, KINDS
    missing = sorted(set(registry.KINDS) - set(KINDS))
    chunks = max(1, round(effort.mutants / len(KINDS) / _CHUNK))
    due = [(kind, 70_000 + chunk) for kind in sorted(KINDS) for chunk in range(1 if kind in COSTLY else chunks)]
    total: Counter[str] = Counter()
    with ProcessPoolExecutor(effort.jobs) as pool:
        running = [pool.submit(_mutants, kind, seed, min(_CHUNK, effort.mutants)) for kind, seed in due]
        for number, future in enumerate(running, start=1):
            total += future.result()
            if number % 10 == 0:
                tell(f"mutants: {total['mutants']} of {len(due) * min(_CHUNK, effort.mutants)}")
    wrong = total["false accepts"]
    rows = [Row(f"resealed mutants of `{kind}`", "none", False) for kind in missing]
    return [
        *rows,
        Row("resealed mutants tried / false accepts", f"{total['mutants']:,} / {wrong}", not wrong),
        Row("resealed mutants verified / rejected / declined", f"{total['verified']:,} / {total['rejected']:,} / {total['declined']:,}"),
        Row("independent-oracle instances / verified / disagreements", f"{total['mutants']:,} ({total['false']:,} of them false) / "
            f"{total['verified']:,} / {wrong}", not wrong),
    ]


def mutation(effort: Effort) -> list[Row]:
    """Run the mutants of the checker's rules and claims."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "mutation.json"
        done = subprocess.run([sys.executable, str(ROOT / "tests/mutation/run.py"), "--jobs", str(effort.jobs), "--out", str(out)],
                              stdout=subprocess.PIPE, text=True, check=False)
        if not out.exists():
            raise RuntimeError(f"the run of mutants of the checker failed\n{done.stdout}")
        told = json.loads(out.read_text("utf-8"))
    tell(done.stdout)
    noticed, listed, surviving = (told[name] for name in ("noticed", "listed", "surviving"))
    total = noticed + listed + surviving
    return [Row("mutants of the checker: noticed / listed as equivalent / surviving", f"{noticed:,} / {listed} / {surviving} of {total:,}",
                not surviving and not done.returncode),
            Row("mutation score of the checker, without those listed", f"{noticed / max(1, noticed + surviving):.1%}", not surviving)]


def fuzz(effort: Effort) -> list[Row]:
    """Fuzz everything that reads bytes."""
    if not fuzzing.available():
        return [Row("fuzz runs / foreign exceptions", "none: atheris is not installed", False)]
    found = fuzzing.fuzz(effort.fuzz, 20_260_101, effort.jobs, ROOT / "fuzz-failures", tell)
    failed = [one for one in found if one.failing is not None]
    for one in failed:
        tell(f"{one.target}: {one.told}")
    return [Row(f"fuzz runs over {len(found)} readers / foreign exceptions or slow inputs", f"{sum(one.runs for one in found):,} / {len(failed)}",
                not failed and sum(one.runs for one in found) >= 0.9 * effort.fuzz)]


def hostiles(effort: Effort) -> list[Row]:
    """Check hostile files, one at a time, so that times mean something."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for what, files, seconds in (("hostile files", list(hostile.small()), hostile.SECONDS + hostile.START_UP),
                                     ("hostile megabytes", list(hostile.megabytes()), hostile.MEGABYTE_SECONDS + hostile.START_UP)):
            decided = []
            for one in files:
                decision = hostile.decide(Path(folder), one)
                decided.append(decision)
                if not decision.fits(one) or decision.seconds > seconds or decision.peak > hostile.MEMORY:
                    tell(f"{one.name}: {decision}")
            good = sum(decision.fits(one) and decision.seconds <= seconds and decision.peak <= hostile.MEMORY
                       for one, decision in zip(files, decided, strict=True))
            tell(f"{what}: {good} of {len(files)}")
            limit = "1 s and the start of two interpreters" if what == "hostile files" else "90 s"
            rows.append(Row(f"{what} / decided within {limit}, and 2 GiB",
                            f"{len(files)} / {good} (slowest {max(d.seconds for d in decided):.1f} s, most {max(d.peak for d in decided) >> 20} MiB)",
                            good == len(files)))
    return rows
