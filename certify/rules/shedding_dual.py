# SPDX-License-Identifier: Apache-2.0
"""Lower bounds on the shed under one attack: weak duality, exact.

**Dual (R7).** For any prices pi of buses and any circulation y on the surviving lines (zero net outflow at every bus; 0 where flows need not obey
Ohm's law), with u_l = pi_start - pi_end + y_l / b_l: Q >= sum of D_i min(pi_i, 1) - sum of max(G_i pi_i, -C_i pi_i) + sum over surviving lines
of min(u_l low_l, u_l high_l), C_i what units may consume. Proof. Add to the shed pi_i (d_i - p_i + net outflow of f at i) and y_l / b_l times
(f_l - b_l (theta_start - theta_end)), all 0 at a feasible point; theta cancels, for y is a circulation; minimise over each of d, p and f in its
box. Phase shifts are 0 and b > 0 where y is not 0.
**No limit.** A missing low_l or high_l counts as -T or T, T = sum of D_i + C_i. Proof. Without circular flows no line carries more than T, for
all that goes over it arrives at some bus, and d - p <= D + C there. Under `transport` circular flows can be cancelled: |f| falls, limits contain
0. With Ohm's law and b > 0 there are none: flows go down the angles.
**Cut (R6).** pi the indicator of a set of buses, y = 0: what they demand, less what they can supply and what surviving lines can bring in.

The bound holds for `transport` with y = 0, and so for `dc-switch` and `dc`, whose operators can do less; with y, for `dc` alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

from certify.certificate import ArraySpec, EvidenceSpec
from certify.errors import Rejected, malformed
from certify.fields import Integer, ListOf, Record
from certify.limits import Limits
from certify.readers.power import Network
from certify.rules.attacks import Game

SCALE = ListOf(Integer(1), 2, 2)  # of prices, and of the circulation
CUT = EvidenceSpec("cut", 1, Record({}), {"side": ArraySpec("|u1", 1)}, required=frozenset({"side"}))
DC_DUAL = EvidenceSpec("dc-dual", 1, Record({"scale": SCALE}), {"pi": ArraySpec("<i8", 1), "circulation": ArraySpec("<i8", 1)},
                       required=frozenset({"pi", "circulation"}))
_DUAL = ("dc",)  # operators that no line may be opened for: Ohm's law binds every surviving line


def require_kind(kind: str, operator: str) -> None:
    """Raise Rejected `evidence-kind` unless this kind of bound holds for the operator."""
    if kind != CUT.kind and operator not in _DUAL:
        raise Rejected("evidence-kind", f"evidence of kind {kind!r} says nothing about operator {operator!r}", where="evidence.kind")


def require_attack(index: Mapping[int, int], played: Game, rows: Sequence[int], defended: Sequence[int],
                   where: str = "claim.given.attack") -> frozenset[int]:
    """Return the lines of an attack, by the line of each row; raises Rejected `attack-row`, `attack-defended`, `attack-over-budget`, `malformed`."""
    if any(a >= b for a, b in pairwise(rows)):
        raise malformed("rows are not in ascending order, each once", where)
    hardened = set(defended)
    for row in rows:
        if row in hardened:
            raise Rejected("attack-defended", f"row {row} is defended", where=where)
        if row not in index or not played.free[index[row]]:
            raise Rejected("attack-row", f"row {row} of mpc.branch is no line in service that can be attacked", where=where)
    lines = frozenset(index[row] for row in rows)
    if (cost := sum(played.costs[k] for k in lines)) > played.budget:
        raise Rejected("attack-over-budget", f"the attack costs {cost}, the budget is {played.budget}", where=where)
    return lines


def bounds(network: Network, attacks: Sequence[frozenset[int]], arrays: Mapping[str, Any], scale: Sequence[int], limits: Limits) -> list[Fraction]:
    """Return the shed in MW that is shown for each attack: by `side` [attacks, buses], or by `pi` and `circulation` over their scales.

    Raises Rejected `array-shape`, `evidence-range`, `dual-infeasible`.
    """
    widths = {"side": len(network.numbers), "pi": len(network.numbers), "circulation": len(network.lines)}
    for name in widths.keys() & arrays.keys():
        if arrays[name].shape != (len(attacks), widths[name]):
            raise Rejected("array-shape", f"{list(arrays[name].shape)}, not {[len(attacks), widths[name]]}", where=f"evidence array {name}")
    parts = {part.denominator for part in (*network.demand, *network.supply, *network.consumption)}
    parts |= {end.denominator for line in network.lines for end in (line.low, line.high) if end is not None}
    parts |= {line.susceptance.numerator for line in network.lines if "circulation" in arrays}
    words = sum(part.bit_length() for part in parts) // 64  # at most so many in the common denominator that a sum of fractions gets
    limits.spend(len(attacks) * (len(network.numbers) + len(network.lines)) * (10_000 + words * words), "bounds on the shed of attacks")
    if "side" in arrays:
        if bool((arrays["side"] > 1).any()):
            raise Rejected("evidence-range", "a side is not 0 or 1", where="evidence array side")
        return [dual_bound(network, attack, [Fraction(bus) for bus in side], None)
                for attack, side in zip(attacks, arrays["side"].tolist(), strict=True)]
    prices, circulation = ([[Fraction(value, one) for value in row] for row in arrays[name].tolist()]
                           for name, one in zip(("pi", "circulation"), scale, strict=True))
    return [dual_bound(network, attack, mine, around) for attack, mine, around in zip(attacks, prices, circulation, strict=True)]


def dual_bound(network: Network, attacked: frozenset[int], prices: Sequence[Fraction], circulation: Sequence[Fraction] | None) -> Fraction:
    """Return the bound in MW for prices [buses] and a circulation [lines] or None; raises Rejected `dual-infeasible`."""
    bound = sum((demand * min(price, Fraction(1)) - max(supply * price, -consumption * price) for price, demand, supply, consumption
                 in zip(prices, network.demand, network.supply, network.consumption, strict=True)), Fraction(0))
    outflow = [Fraction(0)] * len(network.numbers)
    most = network.total + sum(network.consumption, Fraction(0))
    for k, line in enumerate(network.lines):
        around = Fraction(0) if circulation is None else circulation[k]
        if k in attacked:
            if around:
                raise Rejected("dual-infeasible", f"the circulation uses row {line.row}, which is attacked", where="evidence array circulation")
            continue
        outflow[line.start] += around
        outflow[line.end] -= around
        slope = prices[line.start] - prices[line.end] + (around / line.susceptance if around else 0)
        limit = line.low if slope > 0 else line.high
        bound += slope * limit if limit is not None else -abs(slope) * most
    if any(outflow):
        raise Rejected("dual-infeasible", "the circulation does not balance at every bus", where="evidence array circulation")
    return bound
