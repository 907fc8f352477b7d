# SPDX-License-Identifier: Apache-2.0
"""First reduction: the operator's linear program after a fixed attack, to its dual. Exact by strong duality.

Operator: min sum of s, with net outflow of f = p - (D - s), -F <= f <= F and f = 0 where attacked, f_l = b_l (theta_start - theta_end) on surviving
lines if `ohm`. Dual: max sum of pi D - sum of G g - sum of D e - sum over surviving lines of F (alpha+ + alpha-), with g >= pi, e >= pi - 1,
pi_start - pi_end + alpha- - alpha+ + mu = 0 on surviving lines, and A'(b mu) = 0 (mu = 0 without Ohm's law).
"""

from __future__ import annotations

from collections.abc import Sequence

from pyomo.environ import ConcreteModel, Constraint, NonNegativeReals, Objective, RangeSet, Reals, Suffix, Var, maximize, minimize

from certify_solvers.grid.paper.trilevel import TriLevel


def operator(problem: TriLevel, attack: Sequence[int]) -> ConcreteModel:
    """Return the operator's program after an attack."""
    network, model = problem.network, ConcreteModel()
    lines, buses = range(len(network.lines)), range(len(network.numbers))
    surviving = [k for k in lines if k not in set(attack)]
    model.f = Var(lines, bounds=lambda _, k: (-problem.limit(k), problem.limit(k)) if k in set(surviving) else (0.0, 0.0))
    model.s = Var(buses, bounds=lambda _, i: (0.0, float(network.demand[i])))
    model.p = Var(buses, bounds=lambda _, i: (0.0, float(network.supply[i])))
    model.balance = Constraint(buses, rule=lambda m, i: outflow(problem, m.f, i) - m.p[i] - m.s[i] == -float(network.demand[i]))
    if problem.ohm:
        model.theta = Var(buses, within=Reals)
        model.law = Constraint(surviving, rule=lambda m, k: m.f[k] == float(network.lines[k].susceptance)
                               * (m.theta[network.lines[k].start] - m.theta[network.lines[k].end]))
    model.value = Objective(expr=sum(model.s.values()), sense=minimize)
    return model


def apply(problem: TriLevel, attack: Sequence[int] | None = None) -> ConcreteModel:
    """Return the dual after a fixed attack; without one, the dual whose rows of lines `linearise` is still to switch."""
    network, model = problem.network, ConcreteModel()
    lines, buses = range(len(network.lines)), range(len(network.numbers))
    model.lines, model.buses = RangeSet(0, len(lines) - 1), RangeSet(0, len(buses) - 1)
    model.pi = Var(buses, within=Reals)
    model.g, model.e = Var(buses, within=NonNegativeReals), Var(buses, within=NonNegativeReals)
    model.plus, model.minus = Var(lines, within=NonNegativeReals), Var(lines, within=NonNegativeReals)
    model.mu = Var(lines, within=Reals)
    model.supply = Constraint(buses, rule=lambda m, i: m.g[i] >= m.pi[i])
    model.unserved = Constraint(buses, rule=lambda m, i: m.e[i] >= m.pi[i] - 1)
    if problem.ohm:
        model.around = Constraint(buses, rule=lambda m, i: _weighted(problem, m, i) == 0.0 if _touched(problem, i) else Constraint.Skip)
    else:
        model.mu.fix(0.0)
    model.value = Objective(sense=maximize, expr=sum(
        float(network.demand[i]) * (model.pi[i] - model.e[i]) - float(network.supply[i]) * model.g[i] for i in buses)
        - sum(problem.limit(k) * (model.plus[k] + model.minus[k]) for k in lines))
    if attack is not None:
        out = set(attack)
        for k in out:
            model.mu[k].fix(0.0)
        model.link = Constraint([k for k in lines if k not in out], rule=lambda m, k: gap(problem, m, k) == 0.0)
        model.dual = Suffix(direction=Suffix.IMPORT)
    return model


def invert(problem: TriLevel, model: ConcreteModel) -> list[float]:
    """Return the operator's flows from a solved dual: the multipliers of its rows of lines, 0 where attacked."""
    return [model.dual.get(model.link[k], 0.0) if k in model.link else 0.0 for k in range(len(problem.network.lines))]


def gap(problem: TriLevel, model: ConcreteModel, k: int) -> object:
    """Return the expression that is 0 on a surviving line."""
    line = problem.network.lines[k]
    return model.pi[line.start] - model.pi[line.end] + model.minus[k] - model.plus[k] + model.mu[k]


def outflow(problem: TriLevel, values: object, bus: int) -> object:
    """Return the net outflow of line values at a bus."""
    return sum((values[k] if line.start == bus else -values[k])  # type: ignore[index]
               for k, line in enumerate(problem.network.lines) if bus in (line.start, line.end))


def _weighted(problem: TriLevel, model: ConcreteModel, bus: int) -> object:
    return sum(float(line.susceptance) * (model.mu[k] if line.start == bus else -model.mu[k])
               for k, line in enumerate(problem.network.lines) if bus in (line.start, line.end))


def _touched(problem: TriLevel, bus: int) -> bool:
    return any(bus in (line.start, line.end) for line in problem.network.lines)
