# SPDX-License-Identifier: Apache-2.0
"""The grid prover: worst-case load shedding, single attacks, and their refutations."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from certify.certificate import Files
from certify.claims.grid_shedding import PENALTY_TREE, POLICY_POOL
from certify.errors import Declined
from certify.limits import Limits
from certify.readers.matpower import read_case
from certify.readers.power import Network
from certify.rules.attacks import Game, defended_network, network_of, require_attack
from certify.rules.grid_words import listed_rows, mw
from certify.rules.shedding_dual import CUT, DC_DUAL
from certify_solvers.common.interrupts import Interrupt, flagged
from certify_solvers.common.prover import Draft, Effort, Outcome, Problem, Progress, Proved, Refuted, Unknown
from certify_solvers.grid.dispatch import DispatchLP, exact_dual
from certify_solvers.grid.nodelp import SolverFailed
from certify_solvers.grid.pool import QUANTUM, PoolSearch
from certify_solvers.grid.tree import Attack, Search, Tree

_QUESTION: Mapping[str, str] = {
    "operator": "transport", "pmin": "relaxed", "angle_limits": "auto", "dispatchable": "auto", "shunts": "as-load",
    "attack_costs": "[]", "attackable": "null", "defended": "[]", "budget": "null", "defence_costs": "[]",
}
_HELP: Mapping[str, str] = {
    "operator": "what the operator can do after the attack: transport (flows obey balance and ratings only), or dc (the DC model, no line opened)",
    "pmin": "minimum outputs of units: relaxed (not enforced)",
    "angle_limits": "enforced or ignored; auto: enforced, but for transport, which has no angles",
    "dispatchable": "loads written as units with Pmin < 0: counted as demand, or uncounted; auto: counted, unless a unit may also produce",
    "shunts": "conductances of buses: as-load",
    "attacks": "what the attacker can spend: the number of lines, where costs are 1",
    "attack_costs": "lines that don't cost 1 to attack, as [[row, cost], ...] in ascending order",
    "attackable": "the rows of mpc.branch that can be attacked; null: all lines in service",
    "attack": "the rows of mpc.branch that are attacked; worst: search for them",
    "defended": "the rows of mpc.branch that are hardened, such as [3,7]",
    "budget": "what the defended lines may cost; null: not part of the claim",
    "defence_costs": "lines that don't cost 1 to defend, as [[row, cost], ...]",
    "shed_mw_at_most": "the bound that is wanted in MW; without it, the worst case is found",
    "shed_mw_at_least": "the shed that is wanted in MW; without it, the largest that can be shown",
}


class Grid:
    """Proves worst cases by a search tree over attacks with a flow at each leaf; refutes by an attack and a cut."""

    name = "grid"
    emits = ("grid-attack", "grid-shedding")
    summary = "branch and bound over attacked lines, flows by HiGHS rounded to exact ones; cuts for single attacks"

    def defaults(self, kind: str) -> Mapping[str, str]:
        """Return the text of every `given` field that has a default."""
        return {**_QUESTION, **({"attack": "worst"} if kind == "grid-attack" else {})}

    def options(self, kind: str) -> Mapping[str, str]:
        """Return the prover options with their defaults."""
        return {}

    def help(self, kind: str) -> Mapping[str, str]:
        """Return one line of meaning for every setting."""
        return _HELP

    def searched(self, kind: str) -> Mapping[str, str]:
        """Return the fields of `given` that the prover can search for."""
        return {"attack": "worst"} if kind == "grid-attack" else {}

    def complete(self, kind: str, given: Mapping[str, Any], files: Files, limits: Limits) -> Mapping[str, Any]:
        """Return `given` with the conventions that are `auto` chosen for the case."""
        model = dict(given["model"])
        if model["angle_limits"] is None:
            model["angle_limits"] = "ignored" if given["operator"] == "transport" else "enforced"
        if model["dispatchable"] is None:
            data = files["case"]
            case = read_case(data if isinstance(data, bytes) else b"", limits)
            both = any(unit.in_service and unit.pmin < 0 < unit.pmax for unit in case.units)
            model["dispatchable"] = "uncounted" if both else "counted"
        return {**given, "model": model}

    def prove(self, problem: Problem, effort: Effort, progress: Progress) -> Outcome:
        """Return the outcome of one problem."""
        progress("reading", {})
        network, played = defended_network(problem.given, problem.files, problem.limits.fresh(), attack=problem.kind == "grid-attack")
        operator = problem.given["operator"]
        if operator == "dc-switch" and problem.kind == "grid-shedding":
            raise Declined("feature-unsupported", "there is no prover of worst cases with switching yet", fix="use operator=transport or operator=dc")
        try:
            with flagged() as interrupt:
                def stop() -> bool:
                    return interrupt.set or effort.left() <= 0

                if problem.kind == "grid-attack":
                    return _attack(problem, network, played, stop, progress)
                if operator == "dc":
                    return _pool(problem, network, PoolSearch(network, played, problem.limits, stop, progress), interrupt)
                search = Search(network, played, stop, progress)
                search.warm()
                return _shedding(problem, network, search, search.run(problem.wanted.get("shed_mw_at_most")), interrupt)
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
    says = {"shed_mw_at_most": found.worst if wanted is None else wanted}
    arrays = {"tree": np.array(found.nodes, "<i4"), "flow": np.array([w.flow for w in found.witnesses], "<i8").reshape(-1, len(network.lines)),
              "scale": np.array([w.scale for w in found.witnesses], "<i8")}
    given = {name: value for name, value in problem.given.items() if name != "attack"}
    draft = Draft("grid-shedding", 1, given, says, tuple(sorted(network.premises)), PENALTY_TREE.kind, PENALTY_TREE.version, {}, arrays)
    remarks = [f"tree, {found.leaves} leaves"] + ([_told(network, search.best.lines, search.best.shed, "bus cut")] if search.best is not None else [])
    gap = "" if found.complete else f"the search was stopped: the worst case lies between {_about(search.known)} and {_about(found.worst)} MW"
    return Proved(draft, (*remarks, *((gap,) if gap else ())), left=gap, interrupted=interrupt.set)


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
        return Unknown(f"the sweep over all attacks was stopped, or no bound could be rounded; the worst attack so far sheds {sweep.worst:.6g} MW")
    chosen = search.chosen()
    arrays = {"supply": np.array(sweep.supply, "<i8")[chosen], "demand": np.array(sweep.served, "<i8")[chosen]}
    draft = Draft("grid-shedding", 1, problem.given, {"shed_mw_at_most": search.bound()}, tuple(sorted(network.premises)), POLICY_POOL.kind,
                  POLICY_POOL.version, {"quantum_mw": QUANTUM}, arrays)
    worst = _dual_attack(problem, sweep.attack)
    remarks = [f"pool, {len(chosen)} dispatches"]
    remarks += [_told(network, sweep.attack, worst.says["shed_mw_at_least"], "dual")] if worst is not None else []
    return Proved(draft, tuple(remarks))


def _attack(problem: Problem, network: Network, played: Game, stop: Callable[[], bool], progress: Progress) -> Outcome:
    """Return the outcome of one attack: the given one, or the worst that is found."""
    rows, dc = problem.given["attack"], problem.given["operator"] == "dc"
    lines = None if rows is None else tuple(sorted(require_attack(network, played, rows, problem.given["defended"])))
    if dc:
        if lines is None:
            search = PoolSearch(network, played, problem.limits, stop, progress)
            lines = search.run().attack
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
    if draft is None or (wanted is not None and draft.says["shed_mw_at_least"] < wanted):
        return Unknown(f"the attack was shown to shed {'nothing' if draft is None else _about(draft.says['shed_mw_at_least'])} MW")
    told = _told(network, tuple(k for k, line in enumerate(network.lines) if line.row in draft.given["attack"]), draft.says["shed_mw_at_least"],
                 "dual" if draft.evidence == DC_DUAL.kind else "bus cut")
    return Proved(draft if wanted is None else replace(draft, says={"shed_mw_at_least": wanted}), (told,))


def _dual_attack(problem: Problem, lines: tuple[int, ...]) -> Draft | None:
    """Return an attack with its dual bound in the DC model, in the network of attack claims; None where no dual can be rounded."""
    network = network_of(problem.given, problem.files, problem.limits.fresh(), attack=True)
    dual = exact_dual(network, lines, DispatchLP(network, attack=True).solve(lines))
    if dual is None:
        return None
    given = {**problem.given, "attack": tuple(sorted(network.lines[k].row for k in lines))}
    return Draft("grid-attack", 1, given, {"shed_mw_at_least": dual.bound}, tuple(sorted(network.premises)), DC_DUAL.kind, DC_DUAL.version,
                 {"scale": dual.scales}, {"pi": np.array(dual.prices, "<i8"), "circulation": np.array(dual.circulation, "<i8")})


def _attack_draft(problem: Problem, network: Network, attack: Attack) -> Draft:
    given = {**problem.given, "attack": tuple(sorted(network.lines[k].row for k in attack.lines))}
    return Draft("grid-attack", 1, given, {"shed_mw_at_least": attack.shed}, tuple(sorted(network.premises)), CUT.kind, CUT.version, {},
                 {"side": attack.side.astype("|u1")})


def _told(network: Network, lines: tuple[int, ...], shed: Fraction, how: str) -> str:
    return f"the attack on {listed_rows(sorted(network.lines[k].row for k in lines))} sheds at least {mw(shed)} MW ({how})"


def _about(value: Fraction) -> str:
    return f"{float(value):.6g}"
