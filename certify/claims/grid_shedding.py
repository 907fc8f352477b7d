# SPDX-License-Identifier: Apache-2.0
"""`grid-shedding` v1: no attack within a budget makes an operator shed more than a number of MW.

Statement. With the network that `certify.readers.power` makes of the case, an attack a is a set of lines that are attackable and not defended,
with costs that add up to at most `attacks`; Q(a) is the least shed of an operator who knows a: the sum of D_i - d_i over buses, 0 <= d <= D
served, 0 <= p <= G produced, p - d the net outflow of flows within the limits of the surviving lines, which obey what the operator's model says.
Claim: Q(a) <= `shed_mw_at_most` for every attack. With `budget`, the defended lines cost at most that.
Not claimed: dynamics, cascades, protection, cost, that an attack is physically possible, or anything about AC power flow.
"""

from __future__ import annotations

from certify.certificate import ArraySpec, Checked, Claim, Evidence, EvidenceSpec, Files, Kind, Role
from certify.errors import Rejected
from certify.fields import Rational, Record
from certify.limits import Limits
from certify.rules.attacks import FIELDS, defended_network
from certify.rules.grid_words import attacker, defender, model, mw

PENALTY_TREE = EvidenceSpec("penalty-tree", 1, Record({}), {"tree": ArraySpec("<i4", 1), "flow": ArraySpec("<i8", 2), "scale": ArraySpec("<i8", 1)},
                            required=frozenset({"tree", "flow", "scale"}))
POLICY_POOL = EvidenceSpec("policy-pool", 1, Record({"quantum_mw": Rational(positive=True)}),
                           {"supply": ArraySpec("<i8", 2), "demand": ArraySpec("<i8", 2)}, required=frozenset({"supply", "demand"}))
_FOREST = {"tree": ArraySpec("<i4", 1), "flow": ArraySpec("<i8", 2), "scale": ArraySpec("<i8", 1), "closed": ArraySpec("|u1", 2),
           "kind": ArraySpec("|u1", 1), "supply": ArraySpec("<i8", 2), "demand": ArraySpec("<i8", 2)}
FOREST_TREE = EvidenceSpec("forest-tree", 1, Record({"quantum_mw": Rational(positive=True)}), _FOREST, required=frozenset(_FOREST))
_EVIDENCE = {"transport": PENALTY_TREE.kind, "dc": POLICY_POOL.kind, "dc-switch": FOREST_TREE.kind}


def check(claim: Claim, evidence: Evidence, files: Files, limits: Limits) -> Checked:
    """Return what was checked if the evidence establishes the claim; raises Rejected or Declined."""
    network, played = defended_network(claim.given, files, limits, attack=False)
    if _EVIDENCE.get(claim.given["operator"]) != evidence.kind:
        raise Rejected("evidence-kind", f"evidence of kind {evidence.kind!r} says nothing about operator {claim.given['operator']!r}",
                       where="evidence.kind")
    shed = claim.says["shed_mw_at_most"]
    fact = f"{sum(played.free)} of {len(network.lines)} lines in service can be attacked, demand {mw(network.total)} MW"
    if evidence.kind == POLICY_POOL.kind:
        from certify.rules.recourse import check_pool, cover
        pool = check_pool(network, evidence.arrays["supply"], evidence.arrays["demand"], evidence.items["quantum_mw"])
        return Checked(network.premises, (fact,), {"attacks": cover(network, played, pool, shed, limits), "dispatches": len(pool.supply)})
    if evidence.kind == FOREST_TREE.kind:
        from certify.rules.forests import forest_tree
        worst, leaves = forest_tree(network, played, evidence.arrays, evidence.items["quantum_mw"], limits)
    else:
        from certify.rules.flows import check_flows, tree_of_flows
        witnesses = check_flows(network, evidence.arrays["flow"], evidence.arrays["scale"], limits)
        worst, leaves = tree_of_flows(network, played, evidence.arrays["tree"], witnesses, limits)
    if worst > shed:
        raise Rejected("bound-too-strong", f"the evidence shows at most {mw(worst)} MW, not {mw(shed)}", where="claim.says.shed_mw_at_most")
    return Checked(network.premises, (fact,), {"leaves": leaves, "shed_mw_shown": worst})


def sentence(claim: Claim) -> str:
    """Return the claim in words, with everything in `given` that is not the default."""
    given = claim.given
    return (f"No attack {attacker(given)} of {claim.roles['case']},{defender(given)} sheds more than "
            f"{mw(claim.says['shed_mw_at_most'])} MW{model(given)}.")


KIND = Kind(
    name="grid-shedding", version=1, roles=(Role("case"),), given=Record(FIELDS), says=Record({"shed_mw_at_most": Rational()}),
    evidence=(PENALTY_TREE, POLICY_POOL, FOREST_TREE), check=check, sentence=sentence,
    summary="no attack on a power network within a budget sheds more than a number of MW",
)
