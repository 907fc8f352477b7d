# SPDX-License-Identifier: Apache-2.0
"""`grid-defence`: the lines to defend within a budget, with two certificates: what the plan guarantees, and that no plan guarantees less."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from certify.claims.grid_defence_limit import HITTING_TREE
from certify.claims.grid_shedding import PENALTY_TREE, POLICY_POOL
from certify.errors import UsageError
from certify.rules.attacks import QUESTION, costs_of, game, lines_of, network_of
from certify.rules.grid_words import listed_rows, mw, rounded
from certify_solvers.common.interrupts import Interrupt
from certify_solvers.common.prover import Draft, Effort, Outcome, Problem, Progress, Proved, Unknown
from certify_solvers.grid.attack import best_cut
from certify_solvers.grid.cuts import promising
from certify_solvers.grid.defence import Attack, Attacks, Budget, Limit, search
from certify_solvers.grid.dispatch import DispatchLP, exact_dual
from certify_solvers.grid.emission import pool_arrays, tree_arrays
from certify_solvers.grid.nodelp import NodeLP
from certify_solvers.grid.pool import QUANTUM, PoolSearch
from certify_solvers.grid.tree import Attack as Found
from certify_solvers.grid.tree import Search

_FIRST, _MORE = 200, 40  # attacks to start with, and a round
_ROOM, _MOST_ROOM = Fraction(4, 10**6), Fraction(1, 10**4)  # MW between a dual bound and a pool's, at first and at most


class Stopped(Exception):
    """The search was stopped before anything could be shown."""


class Planner:
    """The attacks and the oracle of one problem; what differs between operators is in the two classes below."""

    evidence = PENALTY_TREE

    def __init__(self, problem: Problem, interrupt: Interrupt, effort: Effort, progress: Progress) -> None:
        self.problem, self.interrupt, self.effort, self.progress = problem, interrupt, effort, progress
        given = problem.given
        self.network = network_of(given, problem.files, problem.limits.fresh(), attack=False)
        self.played = game(self.network, given, ())
        lines = range(len(self.network.lines))
        defendable = lines if given["defendable"] is None else lines_of(self.network, given["defendable"], "defendable")
        self.budget = Budget(costs_of(self.network, given["defence_costs"], "defence_costs"), frozenset(defendable), given["budget"])
        self.shown: dict[Attack, Any] = {}  # what shows the shed of each attack
        self.room = _ROOM

    def stop(self) -> bool:
        """Return whether the search for a plan must end, so that what is left is enough for its guarantee."""
        return self.interrupt.set or self.effort.left() <= self.reserve()

    def reserve(self) -> float:
        """Return the seconds that a guarantee takes once the search was stopped."""
        return 0.0

    def rows(self, lines: frozenset[int]) -> tuple[int, ...]:
        """Return the rows of lines in the file."""
        return tuple(sorted(self.network.lines[k].row for k in lines))

    def evaluate(self, lines: Sequence[int]) -> Fraction:
        """Return a shed that is shown for an attack, and keep what shows it."""
        raise NotImplementedError

    def worse(self, defence: frozenset[int], shed: Fraction) -> tuple[int, ...] | None:
        """Return an attack that avoids a defence and sheds more; None where there is none, or the search was stopped."""
        raise NotImplementedError

    def beyond(self, defence: frozenset[int], shed: Fraction) -> list[tuple[Attack, Fraction]]:
        """Return attacks that avoid a defence and shed more than `shed`: quickly found ones, else one by a complete search."""
        against = game(self.network, self.problem.given, self.rows(defence))
        quick = [(frozenset(lines), self.evaluate(lines)) for lines in promising(self.network, against, _MORE)]
        if better := [(lines, value) for lines, value in quick if value > shed]:
            return better
        found = self.worse(defence, shed)
        return [] if found is None else [(frozenset(found), self.evaluate(found))]

    def guarantee(self, defence: frozenset[int], shed: Fraction) -> tuple[Fraction, dict[str, Any], dict[str, Any]]:
        """Return what a defence guarantees in MW, if possible `shed`, with items and arrays of the evidence."""
        raise NotImplementedError

    def limit_arrays(self, limit: Limit) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return items and arrays of a limit's evidence."""
        most = max(map(len, limit.attacks))
        rows = [[*self.rows(attack), *([-1] * (most - len(attack)))] for attack in limit.attacks]
        items, arrays = self.bounds([self.shown[attack] for attack in limit.attacks])
        return items, {**arrays, "attacks": np.array(rows, "<i4").reshape(len(rows), most), "tree": np.array(limit.tree, "<i4")}

    def bounds(self, shown: list[Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return items and arrays that show the sheds of attacks."""
        raise NotImplementedError


class TransportPlanner(Planner):
    """Cuts show sheds, attack trees guarantee."""

    def __init__(self, problem: Problem, interrupt: Interrupt, effort: Effort, progress: Progress) -> None:
        super().__init__(problem, interrupt, effort, progress)
        self.program = NodeLP(self.network, self.played)

    def evaluate(self, lines: Sequence[int]) -> Fraction:
        """Return the exact shed by a cut."""
        attack = frozenset(lines)
        if attack not in self.shown:
            found = self.program.solve(tuple(sorted(attack)), np.zeros(len(self.network.lines), bool), 0)
            self.shown[attack] = best_cut(self.network, tuple(sorted(attack)), found.prices)
        value: Fraction = self.shown[attack][0]
        return value

    def _search(self, defence: frozenset[int]) -> Search:
        return Search(self.network, game(self.network, self.problem.given, self.rows(defence)), self.stop, self.progress)

    def worse(self, defence: frozenset[int], shed: Fraction) -> tuple[int, ...] | None:
        """Return an attack by a search tree against `shed`."""
        found = self._search(defence).run(shed)
        return found.lines if isinstance(found, Found) else None

    def guarantee(self, defence: frozenset[int], shed: Fraction) -> tuple[Fraction, dict[str, Any], dict[str, Any]]:
        """Return the worst case of a defence with its tree."""
        found = self._search(defence).run(shed)
        if isinstance(found, Found):
            again = self._search(defence)
            again.warm()
            found = again.run()
        if isinstance(found, Found):
            raise RuntimeError("a search without a demand ends with a tree")
        return max(rounded(found.worst, up=True), shed), {}, tree_arrays(self.network, found)

    def bounds(self, shown: list[Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the sides of the cuts."""
        return {}, {"side": np.array([side for _, side in shown], "|u1")}


class DcPlanner(Planner):
    """Dual numbers show sheds, pools of dispatches guarantee."""

    evidence = POLICY_POOL

    def __init__(self, problem: Problem, interrupt: Interrupt, effort: Effort, progress: Progress) -> None:
        super().__init__(problem, interrupt, effort, progress)
        self.loose = network_of(problem.given, problem.files, problem.limits.fresh(), attack=True)
        self.program = DispatchLP(self.loose, attack=True)
        self.last: tuple[frozenset[int], PoolSearch] | None = None

    def evaluate(self, lines: Sequence[int]) -> Fraction:
        """Return the shed that rounded duals show."""
        attack = frozenset(lines)
        if attack not in self.shown:
            self.shown[attack] = exact_dual(self.loose, tuple(sorted(attack)), self.program.solve(tuple(sorted(attack))))
        bound: Fraction = self.shown[attack].bound
        return bound

    def reserve(self) -> float:
        """Return the seconds that a look at the attacks on one plan takes by the pace so far."""
        return 0.0 if self.last is None else self.last[1].needed()

    def _sweep(self, defence: frozenset[int], demanded: Fraction | None, stop: Callable[[], bool], finish: bool) -> PoolSearch:
        against = game(self.network, self.problem.given, self.rows(defence))
        found = PoolSearch(self.network, against, self.problem.limits, stop, self.progress, self.effort.left)
        if self.last is not None:
            found.start_from(self.last[1])
        found.run(demanded, finish)
        self.last = defence, found
        return found

    def worse(self, defence: frozenset[int], shed: Fraction) -> tuple[int, ...] | None:
        """Return an attack by a sweep over all of them."""
        while True:
            found = self._sweep(defence, shed + self.room, self.stop, finish=False)
            if found.sweep.done or self.stop():
                return None
            room = rounded(Fraction(found.sweep.worst), up=True) - shed + _ROOM
            if self.evaluate(found.sweep.attack) > shed or room > _MOST_ROOM:  # units that may consume cost duals more than rounding: a real gap
                return found.sweep.attack
            self.room = room

    def guarantee(self, defence: frozenset[int], shed: Fraction) -> tuple[Fraction, dict[str, Any], dict[str, Any]]:
        """Return the worst case of a defence with its pool: that of the last sweep, where it was on this defence and ended well."""
        found = self.last[1] if self.last is not None and self.last[0] == defence else None
        if (found is None or not found.sweep.done) and not self.stop():
            found = self._sweep(defence, shed + self.room, self.stop, finish=False)
        if found is None or not found.sweep.done:
            found = self._sweep(defence, None, lambda: self.interrupt.set or self.effort.left() <= 0, finish=True)
        if not found.sweep.done:
            raise Stopped("the search was stopped before there was a bound on all attacks on the best plan so far")
        return found.bound(), {"quantum_mw": QUANTUM}, pool_arrays(found, found.chosen())

    def bounds(self, shown: list[Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return prices and circulations over one pair of scales."""
        scale = min(dual.scales[1] for dual in shown)
        return {"scale": (shown[0].scales[0], scale)}, {"pi": np.array([dual.prices for dual in shown], "<i8"),
                                                        "circulation": np.array([dual.circulation for dual in shown], "<i8")}


def plan(problem: Problem, interrupt: Interrupt, effort: Effort, progress: Progress) -> Outcome:
    """Return the best defence with what it guarantees, and the limit of every defence; with `method=sl-milp`, that program's defence."""
    paper = problem.options.get("method") == "sl-milp"
    planner: Planner = (DcPlanner if problem.given["operator"] == "dc" else TransportPlanner)(problem, interrupt, effort, progress)
    known = Attacks()
    known.add((frozenset(lines), planner.evaluate(lines)) for lines in promising(planner.network, planner.played, _FIRST))

    def note(rounds: int, shed: Fraction) -> None:
        progress("defending", {"rounds": rounds, "attacks": len(known.shed), "MW that no defence can do better than": f"{float(shed):.6g}"})

    limit, defence, _ = search(known, planner.budget, planner.beyond, planner.stop, note)
    if problem.kind == "grid-defence-limit":
        return _limit(problem, planner, limit, interrupt)
    remarks: list[str] = []
    if paper:
        from certify_solvers.grid.paper.hint import hint
        found = hint(planner.network, planner.played, planner.budget, problem.given["operator"] == "dc", effort.left(), _export(problem))
        defence, remarks = found.defence, [found.words]
    shed, items, arrays = planner.guarantee(defence, limit.shed)
    given, rows = problem.given, planner.rows(defence)
    asked = {name: given[name] for name in QUESTION}
    plan_draft = Draft("grid-shedding", 1, {**asked, "defended": rows, "budget": given["budget"], "defence_costs": given["defence_costs"]},
                       {"shed_mw_at_most": shed}, tuple(sorted(planner.network.premises)), planner.evidence.kind, 1, items, arrays)
    optimal = shed - limit.shed <= 2 * planner.room
    who = "none in budget" if given["defendable"] is None else f"no choice from {listed_rows(given['defendable'])} in budget"
    said = f"defending {listed_rows(rows)} keeps every attack at {mw(shed)} MW or less; {who} guarantees less than {mw(limit.shed)} MW"
    left = "" if optimal or paper else f"the best guarantee lies between {mw(limit.shed)} and {mw(shed)} MW"
    further = (("limit", _limit_draft(problem, planner, limit)),) if limit.shed > 0 else ()
    return Proved(plan_draft, (said + (" (optimal)" if optimal else ""), *remarks), left=left, interrupted=interrupt.set, further=further)


def _limit_draft(problem: Problem, planner: Planner, limit: Limit) -> Draft:
    items, arrays = planner.limit_arrays(limit)
    return Draft("grid-defence-limit", 1, problem.given, {"shed_mw_at_least": limit.shed}, tuple(sorted(planner.network.premises)), HITTING_TREE.kind,
                 HITTING_TREE.version, items, arrays)


def _limit(problem: Problem, planner: Planner, limit: Limit, interrupt: Interrupt) -> Outcome:
    """Return the outcome of a question about the limit alone."""
    wanted = problem.wanted.get("shed_mw_at_least", limit.shed)
    if limit.shed < wanted or limit.shed == 0:
        if interrupt.set:
            raise KeyboardInterrupt
        return Unknown(f"no defence was shown to guarantee less than {mw(limit.shed)} MW only")
    draft = _limit_draft(problem, planner, limit)
    return Proved(replace(draft, says={"shed_mw_at_least": wanted}), (f"{len(limit.attacks)} attacks",), interrupted=interrupt.set)


def _export(problem: Problem) -> Path | None:
    """Return where the model is to be written; raises UsageError for a file that exists and is no model of ours."""
    if not problem.options["export"]:
        return None
    path = Path(problem.options["export"])
    if path.suffix != ".lp":
        raise UsageError("setting-value", f"--set export={path}: the model is written as an LP file", fix="give a name that ends in .lp")
    if path.exists() or not path.parent.is_dir():
        raise UsageError("output-taken", f"{path} exists, or its folder does not", fix="give another name for the model")
    return path
