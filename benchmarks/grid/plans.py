# SPDX-License-Identifier: Apache-2.0
"""Which lines to defend, three ways (`transport`): plan and limit as certificates, the single-level program, and a column-and-constraint loop.

Columns: what the best plan guarantees (plan and limit agree, or both are told), CPU seconds to make both certificates and to check each from its
file in another process, the nodes of the hitting tree; the value of the single-level program and the worst case of its plan (certified), beside
the listed value; the loop's value, rounds and CPU seconds. The last columns: the value of the single-level program with Ohm's law and M1 = 1.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
from pathlib import Path

from measured import case, certify, header

from certify.limits import Limits
from certify.readers.matpower import read_case
from certify.readers.power import power_network
from certify.rules.attacks import Game

LISTED = [  # case, k, b; value of the single-level program, worst case of its plan at most, optimum, value with Ohm's law
    ("24_ieee_rts", 2, 2, 246.8, 74, 309.3), ("24_ieee_rts", 3, 3, 309, 180, 445.9), ("24_ieee_rts", 4, 4, 387, 309, 581.2),
    ("57_ieee", 2, 2, 66.4, 42, 121.1), ("57_ieee", 3, 3, 82.7, 47.3, 150.1), ("57_ieee", 4, 4, 100.1, 81, 158.4),
    ("39_epri", 2, 2, 965.7, 617.23, 1031.2),
    ("118_ieee", 3, 3, 374.5, 281, 601.4),
]
MODEL = {"pmin": "relaxed", "angle_limits": "ignored", "dispatchable": "counted", "shunts": "as-load"}


def main() -> int:
    """Print the table; return 1 where a value contradicts the one listed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, help="the folder with the cases of pglib")
    parser.add_argument("--match", default="", help="only cases whose names contain this text")
    parser.add_argument("--seconds", type=float, default=120.0, help="for the column-and-constraint loop  [default: 120]")
    options = parser.parse_args()
    header(f"{'case':12s} {'k':>2s} {'b':>2s} {'plan':>9s} {'limit':>9s} {'prove s':>8s} {'check s':>8s} {'limit s':>8s} {'nodes':>6s} "
           f"{'program':>9s} {'listed':>7s} {'its plan':>9s} {'loop':>9s} {'rounds':>6s} {'s':>7s} {'with Ohm':>9s} {'listed':>7s}")
    wrong = 0
    for name, attacks, budget, program, optimum, ohm in LISTED:
        if options.match in name:
            wrong += not row(options, name, attacks, budget, (program, optimum, ohm))
    return 1 if wrong else 0


def row(options: argparse.Namespace, name: str, attacks: int, budget: int, listed: tuple[float, float, float]) -> bool:
    """Measure and print one row; return whether the values are the ones listed."""
    from bigm import columns_and_constraints
    path = case(options.data, name)
    asked = ["prove", "grid-defence", path, "--set", f"attacks={attacks}", "--set", f"budget={budget}"]
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "p.cert"
        made = certify(*asked, "-o", out)
        plan, limit = (certify("verify", out.with_name(file), "--subject", path, "--json") for file in ("p.cert", "p-limit.cert"))
        told, told_limit = json.loads(plan.text), json.loads(limit.text)
        paper = certify(*asked, "--set", "method=sl-milp", "-o", Path(folder) / "s.cert")
    guaranteed = re.search(r"keeps every attack at ([\d.]+)", made.text), re.search(r"keeps every attack at ([\d.]+)", paper.text)
    below, value = re.search(r"guarantees less than ([\d.]+)", made.text), re.search(r"single-level program ([\d.]+)", paper.text)
    if None in (*guaranteed, below, value):
        print(f"{name:12s} {attacks:2d} {budget:2d} no answer: {made.text[-200:]} {paper.text[-200:]}", flush=True)
        return False
    best, worst, least, program = (float(found[1]) for found in (*guaranteed, below, value) if found is not None)
    network = power_network(read_case(path.read_bytes(), Limits()), "transport", MODEL, False)
    lines = len(network.lines)
    loop, _, rounds, taken = columns_and_constraints(network, Game((1,) * lines, (True,) * lines, attacks), budget, options.seconds)
    ohm = with_ohm(path, attacks, budget)
    right = (told["verdict"] == told_limit["verdict"] == "verified" and abs(best - listed[1]) < 1e-3 and abs(least - listed[1]) < 1e-3
             and abs(program - listed[0]) < 0.06 and worst <= program + 1e-3)
    print(f"{name:12s} {attacks:2d} {budget:2d} {best:9.2f} {least:9.2f} {made.seconds:8.2f} {plan.seconds:8.2f} {limit.seconds:8.2f} "
          f"{told_limit['figures']['nodes']:6d} {program:9.2f} {listed[0]:7.1f} {worst:9.2f} {loop:9.2f} {rounds:6d} {taken:7.1f} {ohm:9.2f} "
          f"{listed[2]:7.1f}{'' if right else '   NOT WHAT IS LISTED'}", flush=True)
    return right


def with_ohm(path: Path, attacks: int, budget: int) -> float:
    """Return the value of the single-level program with Ohm's law and M1 = 1, a heuristic."""
    from certify_solvers.grid.paper import single
    from certify_solvers.grid.paper.solve import solve
    from certify_solvers.grid.paper.trilevel import TriLevel
    network = power_network(read_case(path.read_bytes(), Limits()), "dc", {**MODEL, "angle_limits": "enforced"}, False)
    lines = len(network.lines)
    problem = TriLevel(network, Game((1,) * lines, (True,) * lines, attacks), (1,) * lines, budget, True)
    return solve(single.apply(problem, frozenset(range(lines))), 120.0)


if __name__ == "__main__":
    sys.exit(main())
