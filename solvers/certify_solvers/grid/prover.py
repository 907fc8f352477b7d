# SPDX-License-Identifier: Apache-2.0
"""The grid prover: worst-case load shedding, single attacks, and their refutations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from certify import registry
from certify.certificate import Files
from certify.errors import Declined, UsageError
from certify.fields import Record
from certify.limits import Limits
from certify.readers.matpower import read_case
from certify.readers.power import MODEL
from certify_solvers.common.prover import Effort, Outcome, Problem, Progress, Task

_METHODS = ("auto", "sl-milp")
_QUESTION: Mapping[str, str] = {
    "operator": "transport", "pmin": "relaxed", "angle_limits": "auto", "dispatchable": "auto", "shunts": "as-load",
    "attack_costs": "[]", "attackable": "null", "defended": "[]", "defence_costs": "[]",
}
_HELP: Mapping[str, str] = {
    "operator": "what the operator can do after the attack: transport (balance and ratings), dc (Ohm's law too), dc-switch (may open lines)",
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
    "defendable": "the rows of mpc.branch that can be defended; null: all lines in service",
    "defence_costs": "lines that don't cost 1 to defend, as [[row, cost], ...]",
    "shed_mw_at_most": "the bound that is wanted in MW; without it, the worst case is found",
    "method": "auto: a search for the exact worst case or the best plan; sl-milp: the single-level program of the literature, certified as it is",
    "export": "where the single-level program is written to, as an LP file",
    "shed_mw_at_least": "the shed that is wanted in MW; without it, the largest that can be shown",
}


class Grid:
    """Proves worst cases by a search tree over attacks with a flow at each leaf; refutes by an attack and a cut."""

    name = "grid"
    emits = ("grid-attack", "grid-defence-limit", "grid-shedding")
    summary = "branch and bound over attacked lines, flows by HiGHS rounded to exact ones; cuts for single attacks"

    def tasks(self) -> Mapping[str, Task]:
        """Return what can be asked for that makes several certificates."""
        limit = registry.kind("grid-defence-limit")
        return {"grid-defence": Task("grid-defence", limit.roles, limit.given, Record({}),
                                     "the best lines to defend within a budget: what they guarantee, and that none guarantees less")}

    def defaults(self, kind: str) -> Mapping[str, str]:
        """Return the text of every `given` field that has a default."""
        known = registry.kind("grid-defence-limit" if kind == "grid-defence" else kind).given.fields
        optional = {"attack": "worst", "defendable": "null", **({} if kind.startswith("grid-defence") else {"budget": "null"})}
        return {name: text for name, text in {**_QUESTION, **optional}.items() if name in known or name in MODEL}

    def options(self, kind: str) -> Mapping[str, str]:
        """Return the prover options with their defaults."""
        return {"method": "auto", **({"export": ""} if kind.startswith("grid-defence") else {})}

    def help(self, kind: str) -> Mapping[str, str]:
        """Return one line of meaning for every setting."""
        return {**_HELP, "budget": "what the defended lines may cost in all"} if kind.startswith("grid-defence") else _HELP

    def searched(self, kind: str) -> Mapping[str, str]:
        """Return the fields of `given` that the prover can search for."""
        return {"attack": "worst"} if kind == "grid-attack" else {}

    def complete(self, kind: str, given: Mapping[str, Any], files: Files, limits: Limits) -> Mapping[str, Any]:
        """Return `given` with the conventions that are `auto` chosen for the case, and lists in the order of a certificate."""
        model = dict(given["model"])
        if model["angle_limits"] is None:
            model["angle_limits"] = "ignored" if given["operator"] == "transport" else "enforced"
        if model["dispatchable"] is None:
            data = files["case"]
            case = read_case(data if isinstance(data, bytes) else b"", limits)
            both = any(unit.in_service and unit.pmin < 0 < unit.pmax for unit in case.units)
            model["dispatchable"] = "uncounted" if both else "counted"
        lists = {name: tuple(sorted(given[name])) for name in ("defended", "attackable", "defendable", "attack") if given.get(name) is not None}
        costs = {name: tuple(sorted(pair for pair in given[name] if pair[1] != 1)) for name in ("attack_costs", "defence_costs") if name in given}
        return {**given, **lists, **costs, "model": model}

    def prove(self, problem: Problem, effort: Effort, progress: Progress) -> Outcome:
        """Return the outcome of one problem; raises Declined `backend-missing` without the solver HiGHS."""
        if problem.options["method"] not in _METHODS:
            raise UsageError("setting-value", f"--set method={problem.options['method']}: no method", fix=f"give one of {', '.join(_METHODS)}")
        if effort.resume is not None:
            raise UsageError("setting-value", f"--resume: {problem.kind} asks one question, and has no rows to keep", fix="leave it out")
        try:
            from certify_solvers.grid.answers import answer
        except ImportError as trouble:
            raise Declined("backend-missing", f"the package {trouble.name} is not installed", fix="pip install 'certify-engine[grid]'") from None
        return answer(problem, effort, progress)
