# SPDX-License-Identifier: Apache-2.0
"""`grid-shedding` v1: no attack within a budget makes an operator shed more than a number of MW.

Statement. With the network that `certify.readers.power` makes of the case, an attack a is a set of lines that are attackable and not defended,
with costs that add up to at most `attacks`; Q(a) is the least shed of an operator who knows a: the sum of D_i - d_i over buses, 0 <= d <= D
served, 0 <= p <= G produced, p - d the net outflow of flows within the limits of the surviving lines, which obey what the operator's model says.
Claim: Q(a) <= `shed_mw_at_most` for every attack. With `budget`, the defended lines cost at most that.
Not claimed: dynamics, cascades, protection, cost, that an attack is physically possible, or anything about AC power flow.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from certify.certificate import ArraySpec, Checked, Claim, Evidence, EvidenceSpec, Files, Kind, Role
from certify.errors import Rejected
from certify.fields import Field, Integer, Nullable, Rational, Record, Text
from certify.limits import Limits
from certify.readers.matpower import read_case
from certify.readers.power import Network, power_network
from certify.rules.attacks import COSTS, FIELDS, ROWS, Game, costs_of, game, spent
from certify.rules.flows import check_flows, worst_leaf
from certify.rules.grid_words import attacker, defender, model, mw

PENALTY_TREE = EvidenceSpec("penalty-tree", 1, Record({}), {"tree": ArraySpec("<i4", 1), "flow": ArraySpec("<i8", 2), "scale": ArraySpec("<i8", 1)},
                            required=frozenset({"tree", "flow", "scale"}))
_WORD = Text(r"[a-z0-9-]+")
GIVEN: Mapping[str, Field] = {
    "operator": _WORD, "model": Record({name: _WORD for name in ("pmin", "angle_limits", "dispatchable", "shunts")}), **FIELDS,
    "defended": ROWS, "budget": Nullable(Integer()), "defence_costs": COSTS,
}
_EVIDENCE = {"transport": "penalty-tree"}


def problem(given: Mapping[str, Any], files: Files, limits: Limits) -> tuple[Network, Game]:
    """Return the network and the attacker's game; raises Declined for a case that is not covered, Rejected for fields that don't fit it."""
    case = files["case"]
    if isinstance(case, tuple):
        raise TypeError("a role takes one file")
    network = power_network(read_case(case, limits), given["operator"], given["model"], attack=False)
    require_affordable(network, given)
    return network, game(network, given, given["defended"])


def require_affordable(network: Network, given: Mapping[str, Any]) -> None:
    """Raise Rejected `defence-over-budget` where the defended lines cost more than `budget`."""
    costs = costs_of(network, given["defence_costs"], "defence_costs")
    cost = spent(network, given["defended"], costs, "defended")
    if given["budget"] is not None and cost > given["budget"]:
        raise Rejected("defence-over-budget", f"the defended lines cost {cost}, the budget is {given['budget']}", where="claim.given.defended")


def check(claim: Claim, evidence: Evidence, files: Files, limits: Limits) -> Checked:
    """Return what was checked if the evidence establishes the claim; raises Rejected or Declined."""
    network, played = problem(claim.given, files, limits)
    if _EVIDENCE.get(claim.given["operator"]) != evidence.kind:
        raise Rejected("evidence-kind", f"evidence of kind {evidence.kind!r} says nothing about operator {claim.given['operator']!r}",
                       where="evidence.kind")
    witnesses = check_flows(network, evidence.arrays["flow"], evidence.arrays["scale"], limits)
    worst, leaves = worst_leaf(network, played, evidence.arrays["tree"], witnesses, limits)
    if worst > claim.says["shed_mw_at_most"]:
        raise Rejected("bound-too-strong", f"the evidence shows at most {mw(worst)} MW, not {mw(claim.says['shed_mw_at_most'])}",
                       where="claim.says.shed_mw_at_most")
    return Checked(network.premises, (f"{sum(played.free)} of {len(network.lines)} lines in service can be attacked, "
                                      f"demand {mw(network.total)} MW",), {"leaves": leaves, "shed_mw_shown": worst})


def sentence(claim: Claim) -> str:
    """Return the claim in words, with everything in `given` that is not the default."""
    given = claim.given
    return (f"No attack {attacker(given)} of {claim.roles['case']},{defender(given)} sheds more than "
            f"{mw(claim.says['shed_mw_at_most'])} MW{model(given)}.")


KIND = Kind(
    name="grid-shedding", version=1, roles=(Role("case"),), given=Record(GIVEN), says=Record({"shed_mw_at_most": Rational()}),
    evidence=(PENALTY_TREE,), check=check, sentence=sentence,
    summary="no attack on a power network within a budget sheds more than a number of MW",
)
