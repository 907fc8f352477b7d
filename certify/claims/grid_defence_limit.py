# SPDX-License-Identifier: Apache-2.0
"""`grid-defence-limit` v1: whatever is defended within a budget, an attack within another one makes an operator shed at least a number of MW.

Statement. With the network, attacks and Q of `grid-attack`: for every set D of defendable lines of cost at most `budget` there is a set of attackable
lines outside of D, of cost at most `attacks`, with Q >= `shed_mw_at_least`. It refutes that a plan within the budget guarantees less.
"""

from __future__ import annotations

from collections.abc import Mapping

from certify.certificate import ArraySpec, Checked, Claim, Evidence, EvidenceSpec, Files, Kind, Role
from certify.errors import Rejected
from certify.fields import Field, Integer, Nullable, Rational, Record
from certify.limits import Limits
from certify.rules.attacks import COSTS, QUESTION, ROWS, costs_of, game, lines_of, network_of, rows_of
from certify.rules.grid_words import attacker, budget, model, mw, rounded
from certify.rules.hitting import require_hit
from certify.rules.shedding_dual import CUT, DC_DUAL, SCALE, bounds, require_attack, require_kind

HITTING_TREE = EvidenceSpec(
    "hitting-tree", 1, Record({"scale": SCALE}, optional=frozenset({"scale"})),
    {"attacks": ArraySpec("<i4", 2), "tree": ArraySpec("<i4", 1), "side": ArraySpec("|u1", 2), "pi": ArraySpec("<i8", 2),
     "circulation": ArraySpec("<i8", 2)}, required=frozenset({"attacks", "tree"}))
_GIVEN: Mapping[str, Field] = {**QUESTION, "budget": Integer(), "defence_costs": COSTS, "defendable": Nullable(ROWS)}


def check(claim: Claim, evidence: Evidence, files: Files, limits: Limits) -> Checked:
    """Return what was checked if the evidence establishes the claim; raises Rejected or Declined."""
    given, arrays = claim.given, evidence.arrays
    network = network_of(given, files, limits, attack=True)
    played = game(network, given, ())
    costs = costs_of(network, given["defence_costs"], "defence_costs")
    defendable = range(len(network.lines)) if given["defendable"] is None else lines_of(network, given["defendable"], "defendable")
    by_cut, by_dual = "side" in arrays, "pi" in arrays and "circulation" in arrays and "scale" in evidence.items
    if by_cut == by_dual or (by_cut and len(arrays) + len(evidence.items) != 3):
        raise Rejected("array-shape", "each attack has a side, or prices and a circulation with their scales", where="evidence.arrays")
    require_kind(CUT.kind if by_cut else DC_DUAL.kind, given["operator"])
    limits.spend(5000 * (len(arrays["attacks"]) + arrays["attacks"].size), "reading attacks")
    index = rows_of(network)
    attacks = [require_attack(index, played, _rows(row), (), "evidence array attacks") for row in arrays["attacks"].tolist()]
    worst = min(bounds(network, attacks, arrays, evidence.items.get("scale", ()), limits), default=claim.says["shed_mw_at_least"])
    if worst < claim.says["shed_mw_at_least"]:
        raise Rejected("bound-too-strong", f"an attack is shown to shed {mw(worst)} MW, not {mw(claim.says['shed_mw_at_least'])}",
                       where="claim.says.shed_mw_at_least")
    require_hit(attacks, arrays["tree"], costs, frozenset(defendable), given["budget"], limits)
    return Checked(network.premises, (f"{len(attacks)} attacks, demand {mw(network.total)} MW",),
                   {"nodes": len(arrays["tree"]), "shed_mw_shown": rounded(worst, up=False)})


def _rows(padded: list[int]) -> list[int]:
    """Return the rows before the padding of -1."""
    rows = [row for row in padded if row != -1]
    if padded != rows + [-1] * (len(padded) - len(rows)):
        raise Rejected("evidence-range", "a row of an attack stands behind -1", where="evidence array attacks")
    return rows


def sentence(claim: Claim) -> str:
    """Return the claim in words, with everything in `given` that is not the default."""
    given = claim.given
    return (f"Whatever lines of {claim.roles['case']} are defended{budget(given)}, some attack {attacker(given)} sheds at least "
            f"{mw(claim.says['shed_mw_at_least'])} MW{model(given)}.")


KIND = Kind(
    name="grid-defence-limit", version=1, roles=(Role("case"),), given=Record(_GIVEN), says=Record({"shed_mw_at_least": Rational()}),
    evidence=(HITTING_TREE,), check=check, sentence=sentence,
    summary="no defence of a power network within a budget guarantees less than a number of MW",
)
