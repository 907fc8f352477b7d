# SPDX-License-Identifier: Apache-2.0
"""Second reduction: the attack as binary variables that switch the dual's rows of lines by big-M constants.

|pi_start - pi_end + alpha- - alpha+ + mu| <= M1 a and |mu| <= M2 (1 - a), within the attacker's budget. Exact where M1 and M2 bound what they stand
for; without Ohm's law M1 = 1 does (prices of an optimal cut are 0 or 1).
"""

from __future__ import annotations

from pyomo.environ import Binary, ConcreteModel, Constraint, Var

from certify_solvers.grid.paper.dualise import gap
from certify_solvers.grid.paper.trilevel import TriLevel


def apply(problem: TriLevel, model: ConcreteModel) -> ConcreteModel:
    """Return the attacker's mixed-integer program, made of the dual without a fixed attack (changed in place)."""
    played, lines = problem.played, range(len(problem.network.lines))
    model.a = Var(lines, within=Binary)
    for k in lines:
        if not played.free[k]:
            model.a[k].fix(0)
    model.budget = Constraint(expr=sum(played.costs[k] * model.a[k] for k in lines) <= played.budget)
    model.above = Constraint(lines, rule=lambda m, k: gap(problem, m, k) <= problem.m1 * m.a[k])
    model.below = Constraint(lines, rule=lambda m, k: -gap(problem, m, k) <= problem.m1 * m.a[k])
    if problem.ohm:
        model.closed = Constraint(lines, rule=lambda m, k: m.mu[k] <= problem.m2 * (1 - m.a[k]))
        model.opened = Constraint(lines, rule=lambda m, k: -m.mu[k] <= problem.m2 * (1 - m.a[k]))
    return model


def invert(problem: TriLevel, model: ConcreteModel) -> tuple[int, ...]:
    """Return the attack of a solved program."""
    return tuple(k for k in range(len(problem.network.lines)) if (model.a[k].value or 0.0) > 0.5)
