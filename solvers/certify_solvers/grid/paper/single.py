# SPDX-License-Identifier: Apache-2.0
"""Fourth reduction: the relaxed attacker's program to its dual, with the defence as binary variables: one minimisation.

min sum of s + K eta + sum of zeta + sum of M2 V, with net outflow of f = p - (D - s), |f| <= F, |f_l - b_l (theta_start - theta_end)| <= V_l, w_l eta
+ zeta_l + M2 V_l >= M1 (|f_l| - F_l d_l), cost of d within the budget. Exact by strong duality, for each d. Without Ohm's law and with M1 = 1 its
solutions are attack trees of one leaf: any feasible point is a certificate for transport.
"""

from __future__ import annotations

from pyomo.environ import Binary, ConcreteModel, Constraint, NonNegativeReals, Objective, Reals, Var, minimize

from certify_solvers.grid.paper.dualise import outflow
from certify_solvers.grid.paper.trilevel import TriLevel


def apply(problem: TriLevel, defendable: frozenset[int]) -> ConcreteModel:
    """Return the defender's mixed-integer program."""
    network, played, model = problem.network, problem.played, ConcreteModel()
    lines, buses = range(len(network.lines)), range(len(network.numbers))
    model.d = Var(lines, within=Binary)
    for k in lines:
        if k not in defendable:
            model.d[k].fix(0)
    model.f = Var(lines, bounds=lambda _, k: (-problem.limit(k), problem.limit(k)))
    model.size = Var(lines, within=NonNegativeReals)
    model.s = Var(buses, bounds=lambda _, i: (0.0, float(network.demand[i])))
    model.p = Var(buses, bounds=lambda _, i: (0.0, float(network.supply[i])))
    model.eta, model.zeta = Var(within=NonNegativeReals), Var(lines, within=NonNegativeReals)
    model.balance = Constraint(buses, rule=lambda m, i: outflow(problem, m.f, i) - m.p[i] - m.s[i] == -float(network.demand[i]))
    model.up = Constraint(lines, rule=lambda m, k: m.size[k] >= m.f[k])
    model.down = Constraint(lines, rule=lambda m, k: m.size[k] >= -m.f[k])
    model.slack = Var(lines, within=NonNegativeReals)
    if problem.ohm:
        model.theta = Var(buses, within=Reals)
        model.high = Constraint(lines, rule=lambda m, k: m.f[k] - _ohm(problem, m, k) <= m.slack[k])
        model.low = Constraint(lines, rule=lambda m, k: _ohm(problem, m, k) - m.f[k] <= m.slack[k])
    else:
        model.slack.fix(0.0)
    model.loss = Constraint([k for k in lines if played.free[k]], rule=lambda m, k: played.costs[k] * m.eta + m.zeta[k] + problem.m2 * m.slack[k]
                            >= problem.m1 * (m.size[k] - problem.limit(k) * m.d[k]))
    model.money = Constraint(expr=sum(problem.costs[k] * model.d[k] for k in lines) <= problem.money)
    model.value = Objective(sense=minimize, expr=sum(model.s.values()) + played.budget * model.eta + sum(model.zeta.values())
                            + problem.m2 * sum(model.slack.values()))
    return model


def invert(problem: TriLevel, model: ConcreteModel) -> frozenset[int]:
    """Return the defended lines of a solved program."""
    return frozenset(k for k in range(len(problem.network.lines)) if (model.d[k].value or 0.0) > 0.5)


def _ohm(problem: TriLevel, model: ConcreteModel, k: int) -> object:
    line = problem.network.lines[k]
    return float(line.susceptance) * (model.theta[line.start] - model.theta[line.end])
