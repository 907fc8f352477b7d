# SPDX-License-Identifier: Apache-2.0
"""Certified accuracy of the digits classifier (200 rows, pixels scaled to [0, 1]) by radius, method, norm and arithmetic.

Everything runs in one process, so start-up does not count. Each line is one `accuracy` claim: rows robust, not robust (attacked, or wrong
already) and open; CPU seconds to prove (every row's certificate is checked on the way) and to check the one certificate of all rows from its
bytes, without and with BLAS; leaves and bytes. `--seconds` limits a row, in CPU seconds; rows stopped by it depend on the machine.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from resource import RUSAGE_CHILDREN, RUSAGE_SELF, getrusage
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # numpy is not imported yet

from machine import described, load

from certify import registry
from certify.certificate import Subject
from certify.limits import Limits
from certify_solvers.common import prover
from certify_solvers.common.emit import certificate, checked
from certify_solvers.common.prover import Effort, Problem
from certify_solvers.crown import dataset
from certify_solvers.crown.decide import Settings

_METHODS = {"plain CROWN": "crown", "tuned slopes": "alpha", "all": "auto"}
_TARGETS = {Fraction(1, 32): 0, Fraction(1, 16): 2, Fraction(3, 32): 15}
_HEAD = (f"{'norm':5s} {'radius':7s} {'method':14s} {'semantics':9s} {'arithmetic':13s} {'robust':>6s} {'not':>4s} {'open':>5s} {'target':>7s} "
         f"{'prove':>8s} {'check':>7s} {'BLAS':>7s} {'leaves':>7s} {'bytes':>8s}")


@dataclass(frozen=True)
class Question:
    """One claim about all rows, and how it is to be proved."""

    norm: str
    radius: Fraction
    method: str
    semantics: str = "real"
    arithmetic: str = "f64-gamma"
    bits: int = 128


def main() -> int:
    """Answer the questions of one table, or of all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, help="the folder that holds digits")
    parser.add_argument("--table", choices=("radius", "norms", "arithmetic", "all"), default="all")
    parser.add_argument("--radii", default="1/32,1/16,3/32,1/8", help="of the table radius; default: %(default)s")
    parser.add_argument("--seconds", type=float, default=10, help="CPU seconds for a row; default: %(default)s")
    parser.add_argument("--workers", type=int, default=1)
    options = parser.parse_args()
    vars(prover)["monotonic"] = vars(dataset)["monotonic"] = time.process_time  # limits mean the same on a machine shared with others
    print(described())
    if options.table in ("radius", "all"):
        print(f"\ncertified accuracy by radius\n{_HEAD}")
        for radius in map(Fraction, options.radii.split(",")):
            for method in _METHODS:
                answer(options, Question("linf", radius, method))
    if options.table in ("norms", "all"):
        print(f"\nother norms\n{_HEAD}")
        for norm, radii in (("l2", ("1/8", "1/4", "1/2")), ("l1", ("1/4", "1/2", "1"))):
            for text in radii:
                answer(options, Question(norm, Fraction(text), "all"))
    if options.table in ("arithmetic", "all"):
        for radius, method in ((Fraction(1, 32), "all"), (Fraction(1, 16), "plain CROWN"), (Fraction(1, 16), "all")):
            arithmetics(options, radius, method)
    print(load())
    return 0


def arithmetics(options: argparse.Namespace, radius: Fraction, method: str) -> None:
    """Compare arithmetics on one claim, with the leaves of the rows that all of them prove."""
    print(f"\nreal, float32 executions, and integers\n{_HEAD}")
    found = {name: answer(options, one) for name, one in (
        ("real", Question("linf", radius, method)), ("exec32", Question("linf", radius, method, "exec32")),
        ("exact-int, 64 bits", Question("linf", radius, method, arithmetic="exact-int", bits=64)),
        ("exact-int, 128 bits", Question("linf", radius, method, arithmetic="exact-int")))}
    shared = set.intersection(*(set(rows) for rows in found.values()))
    base = sum(found["real"][row] for row in shared)
    for name, rows in found.items():
        missing = sorted(set(found["real"]) - set(rows))
        print(f"{name}: {len(rows)} rows proved; {sum(rows[row] for row in shared)} leaves over the {len(shared)} rows that all prove "
              f"({100 * (sum(rows[row] for row in shared) / base - 1):+.1f} %)" + (f"; not proved: rows {missing}" if missing else ""))


def answer(options: argparse.Namespace, one: Question) -> dict[int, int]:
    """Prove, check and print one claim; return the leaves of each row that was proved."""
    files = {role: (options.data / "digits" / name).read_bytes()
             for role, name in (("model", "digits_48x32.onnx"), ("points", "images.npy"), ("labels", "labels.npy"))}
    kind = registry.kind("accuracy")
    given: Any = kind.given.decode({"norm": one.norm, "radius": str(one.radius), "radius_unit": "scaled", "clip": ["0", "1"],
                                    "scale": "1/16", "subtract": "0", "divide": "1", "semantics": one.semantics}, "given")
    subjects = tuple(Subject(role, hashlib.sha256(data).hexdigest()) for role, data in files.items())
    problem = Problem("accuracy", {role: role for role in files}, subjects, files, given, {}, {}, Limits(work=1 << 42))
    settings = Settings(_METHODS[one.method], arithmetic=one.arithmetic, fraction_bits=one.bits)
    start = _cpu()
    table = dataset.collect(problem, settings, Effort(seconds=options.seconds, workers=options.workers), lambda stage, facts: None)
    made = certificate(dataset.draft(problem, table, settings), problem, "crown", 0)
    prove = _cpu() - start
    check, blas = fastest(made, problem, 1 if one.arithmetic == "exact-int" else 3)
    words = {word: table.count(word) for word in ("robust", "wrong", "witness")}
    leaves = {row: int((found.arrays["tree"] < 0).sum()) for row, found in table.rows.items() if found.word == "robust"}
    target = _TARGETS.get(one.radius, None) if (one.norm, one.method, one.arithmetic, one.semantics) == ("linf", "all", "f64-gamma", "real") else None
    arithmetic = one.arithmetic if one.arithmetic != "exact-int" else f"exact-int {one.bits}"
    print(f"{one.norm:5s} {one.radius!s:7s} {one.method:14s} {one.semantics:9s} {arithmetic:13s} {words['robust']:6d} "
          f"{words['wrong'] + words['witness']:4d} {table.size - sum(words.values()):5d} {'' if target is None else f'<= {target}':>7s} "
          f"{prove:7.2f}s {check:6.2f}s {blas:6.2f}s {sum(leaves.values()):7d} {len(made):8d}", flush=True)
    return leaves


def fastest(made: bytes, problem: Problem, repeats: int) -> tuple[float, float]:
    """Return the CPU seconds of the fastest check, without and with BLAS; a certificate that the checker does not accept raises."""
    found = []
    for blas in (False, True):
        told: Sequence[float] = [_timed(made, replace(problem, limits=replace(problem.limits, blas=blas))) for _ in range(repeats)]
        found.append(min(told))
    return found[0], found[1]


def _timed(made: bytes, problem: Problem) -> float:
    start = _cpu()
    checked(made, problem)
    return _cpu() - start


def _cpu() -> float:
    return sum(usage.ru_utime + usage.ru_stime for usage in map(getrusage, (RUSAGE_SELF, RUSAGE_CHILDREN)))


if __name__ == "__main__":
    sys.exit(main())
