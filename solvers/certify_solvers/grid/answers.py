# SPDX-License-Identifier: Apache-2.0
"""Answers of the grid prover: worst cases by trees and pools, single attacks, refutations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from certify.claims.grid_shedding import FOREST_TREE, PENALTY_TREE, POLICY_POOL
from certify.errors import Declined
from certify.readers.power import Network
from certify.rules.attacks import Game, defended_network, network_of, rows_of
from certify.rules.grid_words import listed_rows, mw, rounded
from certify.rules.shedding_dual import CUT, DC_DUAL, require_attack
from certify_solvers.common.interrupts import Interrupt, flagged
from certify_solvers.common.prover import Draft, Effort, Outcome, Problem, Progress, Proved, Refuted, Unknown
from certify_solvers.grid.cuts import promising
from certify_solvers.grid.dispatch import DispatchLP, exact_dual
from certify_solvers.grid.emission import forest_arrays, pool_arrays, tree_arrays
from certify_solvers.grid.hunt import Hunt
from certify_solvers.grid.nodelp import SolverFailed
from certify_solvers.grid.plan import Stopped, plan
from certify_solvers.grid.pool import QUANTUM, PoolSearch, TooTight, sets
from certify_solvers.grid.switching import SwitchSearch
from certify_solvers.grid.tree import Attack, Search, Tree

_EVERY = 100_000  # sets of lines that are few enough to look at each attack for the worst one
_GUESSES, _SWITCH_ROOM = 40, Fraction(2, 10**5)  # attacks to start from; MW by which bounds on forests may exceed what the programs say


def answer(problem: Problem, effort: Effort, progress: Progress) -> Outcome:
    """Return the outcome of one problem."""
    progress("reading", {})
    if problem.kind in ("grid-defence", "grid-defence-limit"):
        return _planned(problem, effort, progress)
    network, played = defended_network(problem.given, problem.files, problem.limits.fresh(), attack=problem.kind == "grid-attack")
    operator = problem.given["operator"]
    try:
        with flagged() as interrupt:
            def stop() -> bool:
                return interrupt.set or effort.left() <= 0

            if problem.kind == "grid-attack":
                return _attack(problem, network, played, stop, progress)
            if operator == "dc":
                return _pool(problem, network, PoolSearch(network, played, problem.limits, stop, progress, effort.left), interrupt)
            if operator == "dc-switch":
                return _switching(problem, network, played, stop, interrupt, progress, effort.seed)
            search = Search(network, played, stop, progress)
            if problem.options["method"] == "sl-milp":  # without a defence to choose, its solutions are trees of one leaf
                return _shedding(problem, network, search, search.one_leaf(), interrupt)
            search.warm()
            return _shedding(problem, network, search, search.run(problem.wanted.get("shed_mw_at_most")), interrupt)
    except TooTight as trouble:
        return Unknown(f"{trouble}: ask for a few millionths of a MW more, or leave shed_mw_at_most out")
    except SolverFailed as trouble:
        return Unknown(f"the linear programming solver failed: {trouble}")


def _planned(problem: Problem, effort: Effort, progress: Progress) -> Outcome:
    if problem.given["operator"] == "dc-switch":
        raise Declined("feature-unsupported", "there is no prover of the best defence for an operator who switches yet",
                       fix="use operator=transport or operator=dc; grid-shedding with operator=dc-switch bounds what a given defence allows")
    try:
        with flagged() as interrupt:
            try:
                return plan(problem, interrupt, effort, progress)
            except Stopped as trouble:
                if interrupt.set:
                    raise KeyboardInterrupt from None
                return Unknown(str(trouble))
    except SolverFailed as trouble:
        return Unknown(f"the linear programming solver failed: {trouble}")


def _shedding(problem: Problem, network: Network, search: Search, found: Tree | Attack, interrupt: Interrupt) -> Outcome:
    """Return the outcome of a worst case: a tree, or an attack that sheds more than was wanted."""
    wanted = problem.wanted.get("shed_mw_at_most")
    if isinstance(found, Attack):
        return Refuted(_attack_draft(problem, network, found), (_told(network, found.lines, found.shed, "bus cut"),))
    if wanted is not None and found.worst > wanted:
        if interrupt.set:
            raise KeyboardInterrupt
        return Unknown(f"only {_about(found.worst)} MW could be shown: try more time, or leave shed_mw_at_most out")
    says = {"shed_mw_at_most": rounded(found.worst, up=True) if wanted is None else wanted}
    arrays = tree_arrays(network, found)
    given = {name: value for name, value in problem.given.items() if name != "attack"}
    draft = Draft("grid-shedding", 1, given, says, tuple(sorted(network.premises)), PENALTY_TREE.kind, PENALTY_TREE.version, {}, arrays)
    return _bounded(draft, _leaves(found.leaves), network, search, "" if found.complete else _between(search.known, found.worst), interrupt)


def _bounded(draft: Draft, pieces: str, network: Network, search: Search, gap: str, interrupt: Interrupt) -> Proved:
    """Return a proved bound with the worst attack that is known, and with what a search that was stopped leaves open."""
    worst = () if search.best is None else (_told(network, search.best.lines, search.best.shed, "bus cut"),)
    high = draft.says["shed_mw_at_most"]
    apart = () if gap or high - search.known <= _SWITCH_ROOM else (f"the worst case lies between {_about(search.known)} and {_about(high)} MW",)
    found = {} if search.best is None else _found(network, search.best.lines, search.best.shed)
    return Proved(draft, (pieces, *worst, *apart), left=gap, interrupted=interrupt.set, found=found)


def _between(low: Fraction, high: Fraction) -> str:
    return f"the search was stopped: the worst case lies between {_about(low)} and {_about(high)} MW"


def _pool(problem: Problem, network: Network, search: PoolSearch, interrupt: Interrupt) -> Outcome:
    """Return the outcome of a worst case in the DC model: a pool of dispatches, or an attack that sheds more than was wanted."""
    wanted = problem.wanted.get("shed_mw_at_most")
    sweep = search.run(wanted)
    if not sweep.done:
        refuted = _dual_attack(problem, sweep.attack)
        if wanted is not None and refuted is not None and refuted.says["shed_mw_at_least"] > wanted:
            return Refuted(refuted, (_told(network, sweep.attack, refuted.says["shed_mw_at_least"], "dual"),))
        if interrupt.set:
            raise KeyboardInterrupt
        seconds = search.needed()
        time = f"; a look at all of them takes about {seconds:.2g} s" if seconds >= 1 else ""
        return Unknown(f"the sweep over all attacks was stopped before there was a bound; the worst so far sheds {sweep.worst:.6g} MW{time}")
    chosen = search.chosen()
    arrays = pool_arrays(search, chosen)
    draft = Draft("grid-shedding", 1, problem.given, {"shed_mw_at_most": search.bound()}, tuple(sorted(network.premises)), POLICY_POOL.kind,
                  POLICY_POOL.version, {"quantum_mw": QUANTUM}, arrays)
    worst = _dual_attack(problem, sweep.attack) if wanted is None else None
    remarks = [f"pool, {len(chosen)} dispatch{'' if len(chosen) == 1 else 'es'}, of {len(sweep.supply)} that were tried"]
    remarks += [_told(network, sweep.attack, worst.says["shed_mw_at_least"], "dual")] if worst is not None else []
    gap = "" if worst is None or not sweep.hurried else _between(worst.says["shed_mw_at_least"], draft.says["shed_mw_at_most"])
    found = {} if worst is None else _found(network, sweep.attack, worst.says["shed_mw_at_least"])
    return Proved(draft, tuple(remarks), left=gap, interrupted=interrupt.set, found=found)


def _switching(problem: Problem, network: Network, played: Game, stop: Callable[[], bool], interrupt: Interrupt, progress: Progress,
               seed: int) -> Outcome:
    """Return the outcome of a worst case with switching: a tree of forests, or an attack whose cut shows more than was wanted."""
    wanted = problem.wanted.get("shed_mw_at_most")
    plain = Search(network, played, stop, progress)  # without Ohm's law the operator can do more: its worst attack refutes
    plain.warm()
    plain.run()
    if wanted is not None and plain.best is not None and plain.best.shed > wanted:
        return Refuted(_attack_draft(problem, network, plain.best), (_told(network, plain.best.lines, plain.best.shed, "bus cut"),))
    search = SwitchSearch(network, played, stop, progress, seed)
    start = max(float(plain.known), search.guess([*promising(network, played, _GUESSES), *([plain.best.lines] if plain.best is not None else [])]))
    tree = search.run(start if wanted is None else float(wanted - _SWITCH_ROOM), wanted is not None)
    if tree is None:
        if interrupt.set:
            raise KeyboardInterrupt
        about = "" if search.refuting is None else f", at the attack on {listed_rows(sorted(network.lines[k].row for k in search.refuting))}"
        return Unknown(f"no tree was found{about}; without Ohm's law the worst attack sheds {_about(plain.known)} MW: try a larger shed_mw_at_most")
    shed = Fraction(round(tree.worst * 10**6), 10**6) + _SWITCH_ROOM if wanted is None else wanted
    draft = Draft("grid-shedding", 1, problem.given, {"shed_mw_at_most": shed}, tuple(sorted(network.premises)), FOREST_TREE.kind,
                  FOREST_TREE.version, {"quantum_mw": QUANTUM}, forest_arrays(network, tree))
    return _bounded(draft, _leaves(len(tree.witnesses)), network, plain, "" if tree.complete else _between(plain.known, shed), interrupt)


def _attack(problem: Problem, network: Network, played: Game, stop: Callable[[], bool], progress: Progress) -> Outcome:
    """Return the outcome of one attack: the given one, or the worst that is found."""
    rows, dc = problem.given["attack"], problem.given["operator"] == "dc"
    lines = None if rows is None else tuple(sorted(require_attack(rows_of(network), played, rows, problem.given["defended"])))
    if dc:
        if lines is None:
            every = sum(sets(played)) <= _EVERY
            lines = (PoolSearch(network, played, problem.limits, stop, progress).run(finish=False).attack if every
                     else Hunt(network, played, stop, progress).run())
        draft = _dual_attack(problem, lines)
    else:
        tree = Search(network, played, stop, progress)
        if lines is None:
            tree.warm()
            tree.run()
        else:
            tree.try_attack(lines)
        found = tree.best if tree.best is not None else tree.none(lines or ())
        draft = _attack_draft(problem, network, found)
    wanted = problem.wanted.get("shed_mw_at_least")
    if wanted is not None and draft.says["shed_mw_at_least"] < wanted:
        return Unknown(f"the attack was shown to shed {_about(draft.says['shed_mw_at_least'])} MW")
    told = _told(network, tuple(k for k, line in enumerate(network.lines) if line.row in draft.given["attack"]), draft.says["shed_mw_at_least"],
                 "dual" if draft.evidence == DC_DUAL.kind else "bus cut")
    return Proved(draft if wanted is None else replace(draft, says={"shed_mw_at_least": wanted}), (told,))


def _dual_attack(problem: Problem, lines: tuple[int, ...]) -> Draft:
    """Return an attack with its dual bound in the DC model, in the network of attack claims."""
    network = network_of(problem.given, problem.files, problem.limits.fresh(), attack=True)
    dual = exact_dual(network, lines, DispatchLP(network, attack=True).solve(lines))
    given = {**problem.given, "attack": tuple(sorted(network.lines[k].row for k in lines))}
    return Draft("grid-attack", 1, given, {"shed_mw_at_least": dual.bound}, tuple(sorted(network.premises)), DC_DUAL.kind, DC_DUAL.version,
                 {"scale": dual.scales}, {"pi": np.array(dual.prices, "<i8"), "circulation": np.array(dual.circulation, "<i8")})


def _attack_draft(problem: Problem, network: Network, attack: Attack) -> Draft:
    given = {**problem.given, "attack": tuple(sorted(network.lines[k].row for k in attack.lines))}
    return Draft("grid-attack", 1, given, {"shed_mw_at_least": attack.shed}, tuple(sorted(network.premises)), CUT.kind, CUT.version, {},
                 {"side": attack.side.astype("|u1")})


def _told(network: Network, lines: tuple[int, ...], shed: Fraction, how: str) -> str:
    return f"the attack on {listed_rows(sorted(network.lines[k].row for k in lines))} sheds at least {mw(shed)} MW ({how})"


def _found(network: Network, lines: tuple[int, ...], shed: Fraction) -> dict[str, Any]:
    return {"attack": sorted(network.lines[k].row for k in lines), "shed_mw_at_least": str(shed)}


def _leaves(count: int) -> str:
    return f"tree, {count} {'leaf' if count == 1 else 'leaves'}"


def _about(value: Fraction) -> str:
    return f"{float(value):.6g}"
