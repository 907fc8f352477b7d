# SPDX-License-Identifier: Apache-2.0
"""Prove or refute, and check, every instance of one folder of a verdicts.csv in one process, so that start-up does not count.

Prints for each instance the verdict, CPU seconds to prove (all of reading the files, attack and search) and to check the certificate
from its bytes, without and with a BLAS (the fastest of `--repeats`), boxes that the search bounded, leaves, bytes; then totals beside the
targets. With `--exec32`, every instance that is proved over the reals is also proved for every float32 execution. Deterministic but for the
times.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import os
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path
from resource import RUSAGE_CHILDREN, RUSAGE_SELF, getrusage
from typing import Any
from unittest import mock

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as `certify prove` does; numpy is not imported yet

from machine import described, load

TARGETS = {"acasxu": "targets: prove 10 s, check 6 s (4 s with BLAS), 150 kB a certificate, 300 MiB"}
TOLD = {"unsat": "proved", "sat": "refuted"}


@dataclass(frozen=True)
class Figures:
    """What one instance took."""

    word: str
    prove: float
    wall: float
    check: float
    blas: float
    boxes: int
    leaves: int
    size: int
    digest: str


def main() -> int:
    """Run the instances and print the table; return 1 if a verdict of ours contradicts a listed one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, help="the folder that holds verdicts.csv")
    parser.add_argument("--folder", default="acasxu")
    parser.add_argument("--match", default="", help="only instances whose file names contain this text")
    parser.add_argument("--seconds", type=float, default=None, help="for proving an instance  [default: no limit]")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=1, help="checks of a certificate, of which the fastest counts  [default: 1]")
    parser.add_argument("--exec32", action="store_true", help="prove for float32 executions too, and compare the leaves")
    options = parser.parse_args()
    print(described())
    with (options.data / "verdicts.csv").open(newline="") as table:
        rows = [row for row in csv.DictReader(table) if row["folder"] == options.folder and options.match in row["onnx"] + row["vnnlib"]]
    print(f"{'network':28s} {'property':12s} {'verdict':8s} {'prove':>7s} {'wall':>7s} {'check':>7s} {'BLAS':>7s} {'boxes':>7s} "
          f"{'leaves':>7s} {'bytes':>7s}"
          + (f"   exec32: {'verdict':8s} {'prove':>7s} {'check':>7s} {'BLAS':>7s} {'leaves':>7s}" if options.exec32 else ""))
    done, contradictions, pairs = [], 0, []
    for row in rows:
        files = {role: options.data / row["folder"] / row[key] for role, key in (("model", "onnx"), ("property", "vnnlib"))}
        one = instance(files, options.seconds, options.workers, options.repeats)
        done.append(one)
        other = ""
        if options.exec32 and one.word == "proved":
            float32 = instance(files, options.seconds, options.workers, options.repeats, "exec32")
            pairs.append((one, float32))
            other = f"           {float32.word:8s} {float32.prove:7.2f} {float32.check:7.2f} {float32.blas:7.2f} {float32.leaves:7d}"
        names = [path.name.removesuffix(".gz").rsplit(".", 1)[0] for path in files.values()]
        print(f"{names[0]:28.28s} {names[1]:12.12s} {one.word:8s} {one.prove:7.2f} {one.wall:7.2f} {one.check:7.2f} {one.blas:7.2f} {one.boxes:7d} "
              f"{one.leaves:7d} {one.size:7d}{other}", flush=True)
        if one.word != "unknown" and one.word != TOLD[row["verdict"]]:
            contradictions += 1
            print(f"CONTRADICTION: listed {row['verdict']}")
    words = ", ".join(f"{sum(one.word == word for one in done)} {word}" for word in ("proved", "refuted", "unknown"))
    peak = getrusage(RUSAGE_SELF).ru_maxrss / 1024
    print(f"{len(done)} instances: {words}; {contradictions} contradictions")
    print(f"CPU: prove {sum(one.prove for one in done):.2f} s, check {sum(one.check for one in done):.2f} s, with BLAS "
          f"{sum(one.blas for one in done):.2f} s; wall: prove {sum(one.wall for one in done):.2f} s; "
          f"boxes {sum(one.boxes for one in done)}, leaves {sum(one.leaves for one in done)}")
    print(f"largest certificate {max((one.size for one in done), default=0)} bytes; peak memory {peak:.0f} MiB")
    print(f"digest of all certificates {hashlib.sha256(''.join(one.digest for one in done).encode()).hexdigest()[:16]}")
    both = [(one, other) for one, other in pairs if other.word == "proved"]
    if both:
        leaves, check = ([sum(getattr(pair[k], name) for pair in both) for k in (0, 1)] for name in ("leaves", "check"))
        print(f"exec32: {len(both)} of {len(pairs)} proved; leaves {leaves[1]} against {leaves[0]} over the reals "
              f"({100 * (leaves[1] / leaves[0] - 1):+.1f} %), check {check[1]:.2f} s against {check[0]:.2f} s")
    print(TARGETS.get(options.folder, ""))
    print(load())
    return 1 if contradictions else 0


def instance(files: dict[str, Path], seconds: float | None, workers: int, repeats: int = 1, semantics: str = "real") -> Figures:
    """Return the figures of one instance; a certificate that the checker does not accept raises."""
    from certify import registry
    from certify.certificate import Subject
    from certify.limits import Limits
    from certify.verification import read_subject
    from certify_solvers.common.emit import certificate, checked
    from certify_solvers.common.prover import Effort, Problem, Unknown
    from certify_solvers.crown import decide
    from certify_solvers.crown.prover import Crown

    kind, prover, searches = registry.kind("region"), Crown(), []

    def counted(*arguments: Any) -> Any:
        found = search(*arguments)
        searches.extend([found] if found is not None else [])
        return found

    search = decide.search
    limits = Limits()
    start, started = _cpu(), time.monotonic()
    data = {role: read_subject(path, limits) for role, path in files.items()}
    subjects = tuple(Subject(role, hashlib.sha256(content).hexdigest()) for role, content in data.items())
    given = kind.given.decode({"format": "vnnlib-1", "semantics": semantics}, "given")
    problem = Problem("region", {role: role for role in data}, subjects, data, given, {}, dict(prover.options("region")), limits)
    with mock.patch.object(decide, "search", counted):
        outcome = prover.prove(problem, Effort(seconds=seconds, workers=workers), lambda stage, facts: None)
    if isinstance(outcome, Unknown):
        return Figures("unknown", _cpu() - start, time.monotonic() - started, 0.0, 0.0, 0, 0, 0, "")
    made = certificate(outcome.draft, problem, prover.name, 0)
    prove, wall = _cpu() - start, time.monotonic() - started
    times: dict[bool, list[float]] = {False: [], True: []}
    for blas in times:
        own = replace(problem, limits=replace(limits, blas=blas))
        for _ in range(repeats):
            start = _cpu()
            told = checked(made, own)
            times[blas].append(_cpu() - start)
    holds = bool(told.claim.says["holds"])
    leaves = int((outcome.draft.arrays["tree"] < 0).sum()) if holds else 0
    return Figures("proved" if holds else "refuted", prove, wall, min(times[False]), min(times[True]),
                   sum(one.bounded for one in searches), leaves, len(made), hashlib.sha256(made).hexdigest())


def _cpu() -> float:
    return sum(usage.ru_utime + usage.ru_stime for usage in map(getrusage, (RUSAGE_SELF, RUSAGE_CHILDREN)))


if __name__ == "__main__":
    sys.exit(main())
