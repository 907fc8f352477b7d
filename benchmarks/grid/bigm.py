# SPDX-License-Identifier: Apache-2.0
"""The attacker's program with a big-M constant, and a column-and-constraint loop for three levels, in Pyomo and HiGHS: what others do."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from pyomo.environ import Binary, ConcreteModel, Constraint, NonNegativeReals, Objective, Reals, Var, minimize
from pyomo.opt import ProblemFormat

from certify.readers.power import Network
from certify.rules.attacks import Game
from certify_solvers.grid.nodelp import quiet
from certify_solvers.grid.paper import dualise, linearise
from certify_solvers.grid.paper.solve import solve
from certify_solvers.grid.paper.trilevel import TriLevel

LARGE = 1e4  # for the multiplier of Ohm's law, so that M1 alone is on trial


def solved(network: Network, played: Game, ohm: bool, m1: float, seconds: float, prices: float | None = None) -> tuple[str, float, float, float]:
    """Return HiGHS' status, its best value, its bound, and the CPU seconds, for the attacker's program with M1, and prices of at most so much."""
    problem = TriLevel(network, played, played.costs, 0, ohm, m1, LARGE)
    model = linearise.apply(problem, dualise.apply(problem))
    for price in model.pi.values() if prices is not None else ():
        price.setlb(-prices)
        price.setub(prices)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.lp"
        model.write(str(path), format=ProblemFormat.cpxlp)
        highs = quiet()
        highs.setOptionValue("presolve", "choose")
        highs.setOptionValue("time_limit", seconds)
        highs.readModel(str(path))
    started = time.process_time()
    highs.run()
    info = highs.getInfo()
    return highs.modelStatusToString(highs.getModelStatus()), info.objective_function_value, info.mip_dual_bound, time.process_time() - started


def columns_and_constraints(network: Network, played: Game, money: int, seconds: float) -> tuple[float, float, int, float]:
    """Return the guarantee of the best plan found, the master's bound, rounds and CPU seconds, for `transport`."""
    lines, buses = range(len(network.lines)), range(len(network.numbers))
    master = ConcreteModel()
    master.d, master.eta = Var(lines, within=Binary), Var(within=NonNegativeReals)
    master.money = Constraint(expr=sum(master.d.values()) <= money)
    master.value = Objective(expr=master.eta, sense=minimize)
    started, best, low, rounds = time.process_time(), float("inf"), 0.0, 0
    base = TriLevel(network, played, played.costs, money)
    while time.process_time() - started < seconds:
        if rounds:
            low = solve(master)
        plan = {k for k in lines if (master.d[k].value or 0.0) > 0.5}
        against = Game(played.costs, tuple(free and k not in plan for k, free in enumerate(played.free)), played.budget)
        inner = TriLevel(network, against, played.costs, money)
        model = linearise.apply(inner, dualise.apply(inner))
        best = min(best, solve(model))
        if best <= low + 1e-6:
            break
        attack, rounds = linearise.invert(inner, model), rounds + 1
        f = Var(lines, within=Reals)
        s = Var(buses, bounds=lambda _, i: (0.0, float(network.demand[i])))
        p = Var(buses, bounds=lambda _, i: (0.0, float(network.supply[i])))
        for name, part in (("f", f), ("s", s), ("p", p)):
            master.add_component(f"{name}{rounds}", part)
        master.add_component(f"balance{rounds}", Constraint(
            buses, rule=lambda m, i, f=f, s=s, p=p: dualise.outflow(base, f, i) - p[i] - s[i] == -float(network.demand[i])))
        for name, sign in (("up", 1), ("down", -1)):
            master.add_component(f"{name}{rounds}", Constraint(
                lines, rule=lambda m, k, f=f, sign=sign, out=frozenset(attack): sign * f[k] <= base.limit(k) * (m.d[k] if k in out else 1)))
        master.add_component(f"worst{rounds}", Constraint(expr=master.eta >= sum(s.values())))
    return best, low, rounds, time.process_time() - started
