# SPDX-License-Identifier: Apache-2.0
"""Worst cases of load shedding, three ways: a certificate, plain enumeration, and one mixed-integer program with a big-M constant.

Each certificate is made by `certify prove`, and checked from its file by `certify verify` in another process; the value is compared with the one
listed. Enumeration solves one warm-started linear program an attack (HiGHS, bounds changed in place); beyond `--most` attacks it is timed on that
many and extrapolated (~). The program is the operator's dual with the attack as binary variables and M1 as told, solved by HiGHS within
`--seconds`; an optimum that is not the worst case is marked WRONG. `M=1*`: prices between -1 and 1, too, as textbooks have them.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations
from math import comb
from pathlib import Path

import numpy as np
from measured import case, certify, header

from certify import verify
from certify.limits import Limits
from certify.readers.matpower import read_case
from certify.readers.power import Network, power_network
from certify.rules.attacks import Game

LISTED = [  # operator, case, lines, worst case in MW; at least, where the true one is not known
    ("transport", "24_ieee_rts", 3, "309"), ("transport", "24_ieee_rts", 6, "1017"), ("transport", "30_ieee", 4, "261.7"),
    ("transport", "39_epri", 3, "1517.23"), ("transport", "39_epri", 6, "3493.03"), ("transport", "57_ieee", 4, "276.8"),
    ("transport", "57_ieee", 6, "331.6"),
    ("transport", "73_ieee_rts", 4, "516"), ("transport", "73_ieee_rts", 6, "1017"), ("transport", "118_ieee", 4, "621"),
    ("transport", "118_ieee", 6, "982"), ("transport", "240_pserc", 2, ""), ("transport", "300_ieee", 2, ""),
    ("dc", "24_ieee_rts", 3, "309"), ("dc", "24_ieee_rts", 5, "842"), ("dc", "39_epri", 2, "803.0888"), ("dc", "39_epri", 4, "2204.23"),
    ("dc", "57_ieee", 3, "276.8"), ("dc", "73_ieee_rts", 3, "309"), ("dc", "118_ieee", 2, "334.1321"), ("dc", "118_ieee", 3, "528.1514"),
    ("dc-switch", "24_ieee_rts", 2, ""), ("dc-switch", "39_epri", 2, ""), ("dc-switch", "118_ieee", 2, ""), ("dc-switch", "118_ieee", 3, "528.65"),
    ("dc-switch", "118_ieee", 4, "785"),
]


def main() -> int:
    """Print the table; return 1 where a value contradicts the one listed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, help="the folder with the cases of pglib")
    parser.add_argument("--match", default="", help="only rows that contain this text, such as dc,118")
    parser.add_argument("--most", type=int, default=3000, help="attacks that enumeration solves, before it is extrapolated  [default: 3000]")
    parser.add_argument("--seconds", type=float, default=45.0, help="for each mixed-integer program  [default: 45]")
    parser.add_argument("--in-process", action="store_true", help="also the CPU seconds of the check alone, in this process, the fastest of five")
    parser.add_argument("--big-m", action="store_true", help="also solve the programs with M1 = 1, 3 and a rigorous one")
    options = parser.parse_args()
    header(f"{'operator':10s} {'case':12s} {'k':>2s} {'MW':>11s} {'listed':>9s} {'prove s':>8s} {'MiB':>5s} {'check s':>8s} {'MiB':>5s} "
           f"{'bytes':>7s} {'pieces':>7s} {'attacks':>9s} {'enumeration s':>14s}   big M")
    wrong = 0
    for operator, name, attacks, listed in LISTED:
        if not all(part in f"{operator} {name} {attacks}" for part in options.match.split(",")):
            continue
        wrong += not row(options, operator, name, attacks, listed)
    return 1 if wrong else 0


def row(options: argparse.Namespace, operator: str, name: str, attacks: int, listed: str) -> bool:
    """Measure and print one row; return whether the value is the one listed."""
    path = case(options.data, name)
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "w.cert"
        asked = ["--set", f"attacks={attacks}", "--set", f"operator={operator}"]
        made = certify("prove", "grid-shedding", path, *asked, "-o", out, "--time-limit", "15m")
        if not out.exists():
            print(f"{operator:10s} {name:12s} {attacks:2d} no certificate after {made.seconds:.1f} s: {made.text.splitlines()[0][:60]}", flush=True)
            return True
        checked = certify("verify", out, "--subject", path, "--json")
        told = json.loads(checked.text)
        alone = f"check alone {min(seconds_of_check(out, path) for _ in range(5)):.3f} s" if options.in_process else ""
        value = Fraction(told["claim"]["says"]["shed_mw_at_most"])
        size = out.stat().st_size
    pieces = told["figures"].get("leaves", told["figures"].get("dispatches"))
    network = power_network(read_case(path.read_bytes(), Limits()), operator, told["claim"]["given"]["model"], False)
    count = sum(comb(len(network.lines), size) for size in range(attacks + 1))
    right = not listed or (abs(value - Fraction(listed)) < Fraction(1, 1000) if operator != "dc-switch" else value <= Fraction(listed) + 1)
    print(f"{operator:10s} {name:12s} {attacks:2d} {float(value):11.4f} {listed or '-':>9s} {made.seconds:8.2f} {made.memory:5.0f} "
          f"{checked.seconds:8.2f} {checked.memory:5.0f} {size:7d} {pieces:7d} {count:9d}", end="", flush=True)
    programs = big_m(network, operator, attacks, value, options.seconds) if options.big_m and operator != "dc-switch" else iter(())
    print(f" {enumeration(network, operator, attacks, count, options.most):>14s}   {', '.join(([alone] if alone else []) + list(programs))}"
          f"{'' if right else '   NOT WHAT IS LISTED'}".rstrip(), flush=True)
    return right and made.status in (0, 4) and told["verdict"] == "verified"


def seconds_of_check(certificate: Path, path: Path) -> float:
    """Return the CPU seconds of one check, without the start of a process."""
    started = time.process_time()
    verify(certificate, [path])
    return time.process_time() - started


def _attacks(lines: int, most: int, count: int, wanted: int) -> Iterator[tuple[int, ...]]:
    """Yield every attack, or about as many as are wanted: runs that differ in one line only, for the warm starts that enumeration would have."""
    if count <= wanted:
        for size in range(most + 1):
            yield from combinations(range(lines), size)
        return
    rng = np.random.default_rng(0)
    for _ in range(max(1, wanted // lines)):
        first = set(rng.choice(lines, most - 1, replace=False).tolist())
        yield from ((*first, last) for last in range(lines) if last not in first)


def enumeration(network: Network, operator: str, attacks: int, count: int, most: int) -> str:
    """Return the CPU seconds of one linear program an attack, extrapolated where there are more than `most`."""
    from certify_solvers.grid.dispatch import DispatchLP
    from certify_solvers.grid.nodelp import NodeLP

    if operator == "dc-switch":  # a mixed-integer program an attack
        return "-"
    lines = len(network.lines)
    nothing = np.zeros(lines, bool)
    plain = NodeLP(network, Game((1,) * lines, (False,) * lines, 0)) if operator == "transport" else None
    program = DispatchLP(network, attack=False) if operator == "dc" else None
    started, done = time.process_time(), 0
    for attack in _attacks(lines, attacks, count, most):
        if program is not None:
            program.solve(attack)
        elif plain is not None:
            plain.solve(attack, nothing, 0)
        done += 1
    taken = time.process_time() - started
    return f"{taken:.1f}" if done == count else f"~{taken / done * count:.0f}"


def big_m(network: Network, operator: str, attacks: int, value: Fraction, seconds: float) -> Iterator[str]:
    """Yield what the program says for each constant."""
    from bigm import solved
    lines = len(network.lines)
    played = Game((1,) * lines, (True,) * lines, attacks)
    finite = [abs(float(end)) for line in network.lines for end in (line.low, line.high) if end]
    rigorous = 1 + 2 * float(network.total) / min(finite) if operator == "dc" else 1.0
    for m1, prices in ((1.0, 1.0), (1.0, None), (3.0, None), (rigorous, None)) if operator == "dc" else ((1.0, None),):
        status, best, limit, taken = solved(network, played, operator == "dc", m1, seconds, prices)
        judged = "right" if abs(best - float(value)) < 0.01 else "WRONG"
        judged = judged if status == "Optimal" else f"bounds {best:.0f} to {limit:.0f}"
        yield f"M={m1:.0f}{'*' if prices else ''}: {best:.2f} {status} {judged} {taken:.1f} s"


if __name__ == "__main__":
    sys.exit(main())
