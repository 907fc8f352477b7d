# SPDX-License-Identifier: Apache-2.0
"""`grid-attack` v1: one attack within a budget makes an operator shed at least a number of MW, whatever it does.

Statement. With the network, attacks and Q of `grid-shedding` (units that may consume are free to, and angle limits are a little loose, so that the
operator is not weaker than the case says): the lines of `attack` are attackable, not defended, cost at most `attacks`, and Q(attack) >=
`shed_mw_at_least`. It refutes a `grid-shedding` with the same `given` and less MW.
"""

from __future__ import annotations

from collections.abc import Mapping

from certify.certificate import Checked, Claim, Evidence, Files, Kind, Role
from certify.errors import Rejected
from certify.fields import Field, Rational, Record
from certify.limits import Limits
from certify.rules.attacks import FIELDS, ROWS, defended_network, rows_of
from certify.rules.grid_words import attacker, defender, listed_rows, model, mw, rounded
from certify.rules.shedding_dual import CUT, DC_DUAL, bounds, require_attack, require_kind

_GIVEN: Mapping[str, Field] = {**FIELDS, "attack": ROWS}


def check(claim: Claim, evidence: Evidence, files: Files, limits: Limits) -> Checked:
    """Return what was checked if the evidence establishes the claim; raises Rejected or Declined."""
    network, played = defended_network(claim.given, files, limits, attack=True)
    attacked = require_attack(rows_of(network), played, claim.given["attack"], claim.given["defended"])
    require_kind(evidence.kind, claim.given["operator"])
    bound, = bounds(network, [attacked], {name: array[None] for name, array in evidence.arrays.items()}, evidence.items.get("scale", ()), limits)
    if bound < claim.says["shed_mw_at_least"]:
        raise Rejected("bound-too-strong", f"the evidence shows at least {mw(bound)} MW, not {mw(claim.says['shed_mw_at_least'])}",
                       where="claim.says.shed_mw_at_least")
    return Checked(network.premises, (f"demand {mw(network.total)} MW",), {"shed_mw_shown": rounded(bound, up=False)})


def sentence(claim: Claim) -> str:
    """Return the claim in words, with everything in `given` that is not the default."""
    given = claim.given
    return (f"The attack on {listed_rows(given['attack'])} of {claim.roles['case']}, an attack {attacker(given).removesuffix(',')},{defender(given)}"
            f" sheds at least {mw(claim.says['shed_mw_at_least'])} MW{model(given)}.")


KIND = Kind(
    name="grid-attack", version=1, roles=(Role("case"),), given=Record(_GIVEN), says=Record({"shed_mw_at_least": Rational()}),
    evidence=(CUT, DC_DUAL), check=check, sentence=sentence, summary="one attack on a power network sheds at least a number of MW",
)
