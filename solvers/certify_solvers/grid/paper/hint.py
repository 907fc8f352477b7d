# SPDX-License-Identifier: Apache-2.0
"""The chain run forward and back: a defence and a value, both hints, and in words what the value is worth."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from certify.readers.power import Network
from certify.rules.attacks import Game
from certify_solvers.grid.defence import Budget
from certify_solvers.grid.paper import single
from certify_solvers.grid.paper.solve import solve
from certify_solvers.grid.paper.trilevel import TriLevel


@dataclass(frozen=True)
class Hint:
    """A defence and the value of the single-level program; `words` say what the value bounds."""

    defence: frozenset[int]
    value: float
    words: str


def hint(network: Network, played: Game, budget: Budget, ohm: bool, seconds: float, export: Path | None) -> Hint:
    """Return the defence of the single-level program with M1 = 1; raises SolverFailed."""
    problem = TriLevel(network, played, budget.costs, budget.money, ohm)
    model = single.apply(problem, budget.defendable)
    value = solve(model, seconds, export)
    worth = "a heuristic: with Ohm's law, M1 = 1 is not known to be large enough" if ohm else "an upper bound of what the plan guarantees"
    return Hint(single.invert(problem, model), value, f"value of the single-level program {value:.6g} MW ({worth})")
