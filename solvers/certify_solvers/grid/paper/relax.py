# SPDX-License-Identifier: Apache-2.0
"""Third reduction: fractional attacks, of which nothing is left on defended lines. An upper bound of the attacker's program."""

from __future__ import annotations

from collections.abc import Sequence

from pyomo.environ import ConcreteModel, UnitInterval

from certify_solvers.grid.paper.trilevel import TriLevel


def apply(problem: TriLevel, model: ConcreteModel, defence: Sequence[int] = ()) -> ConcreteModel:
    """Return the linear program with 0 <= a <= 1 - d (changed in place)."""
    for k in range(len(problem.network.lines)):
        model.a[k].domain = UnitInterval
        if k in defence:
            model.a[k].fix(0.0)
    return model


def invert(problem: TriLevel, model: ConcreteModel) -> tuple[int, ...]:
    """Return an attack within the budget near a fractional one: its largest entries, while the budget lasts."""
    budget, chosen = problem.played.budget, []
    for k in sorted(range(len(problem.network.lines)), key=lambda k: -(model.a[k].value or 0.0)):
        if (model.a[k].value or 0.0) > 1e-9 and problem.played.costs[k] <= budget:
            chosen.append(k)
            budget -= problem.played.costs[k]
    return tuple(sorted(chosen))
