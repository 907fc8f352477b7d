# SPDX-License-Identifier: Apache-2.0
"""Lower bounds on the shed under one attack: weak duality, exact.

**Dual (R7).** For any prices pi of buses and any circulation y on the surviving lines (zero net outflow at every bus; 0 where flows need not obey
Ohm's law), with u_l = pi_start - pi_end + y_l / b_l: Q >= sum of D_i min(pi_i, 1) - sum of max(G_i pi_i, -C_i pi_i) + sum over surviving lines
of min(u_l low_l, u_l high_l), C_i what units may consume. Proof. Add to the shed pi_i (d_i - p_i + net outflow of f at i) and y_l / b_l times
(f_l - b_l (theta_start - theta_end)), all 0 at a feasible point; theta cancels, for y is a circulation; minimise over each of d, p and f in its
box. An infinite limit that the minimum needs makes the bound void (`dual-infeasible`). Phase shifts are 0 where y is not.
**Cut (R6).** pi the indicator of a set of buses, y = 0: what they demand, less what they can supply and what surviving lines can bring in.

The bound holds for `transport` with y = 0, and so for `dc-switch` and `dc`, whose operators can do less; with y, for `dc` alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from certify.certificate import ArraySpec, Evidence, EvidenceSpec
from certify.errors import Rejected
from certify.fields import Integer, ListOf, Record
from certify.limits import Limits
from certify.readers.power import Network

CUT = EvidenceSpec("cut", 1, Record({}), {"side": ArraySpec("|u1", 1)}, required=frozenset({"side"}))
DC_DUAL = EvidenceSpec("dc-dual", 1, Record({"scale": ListOf(Integer(1), 2, 2)}), {"pi": ArraySpec("<i8", 1), "circulation": ArraySpec("<i8", 1)},
                       required=frozenset({"pi", "circulation"}))
_EVIDENCE = {"transport": ("cut",), "dc-switch": ("cut",), "dc": ("cut", "dc-dual")}


def shown(network: Network, attacked: frozenset[int], operator: str, evidence: Evidence, limits: Limits) -> Fraction:
    """Return the shed in MW that the evidence shows for an attack; raises Rejected `evidence-kind`, `array-shape`, `evidence-range`."""
    if evidence.kind not in _EVIDENCE[operator]:
        raise Rejected("evidence-kind", f"evidence of kind {evidence.kind!r} says nothing about operator {operator!r}", where="evidence.kind")
    wanted = {"side": len(network.numbers), "pi": len(network.numbers), "circulation": len(network.lines)}
    for name, array in evidence.arrays.items():
        if array.shape != (wanted[name],):
            raise Rejected("array-shape", f"{array.size} entries, not {wanted[name]}", where=f"evidence array {name}")
    if evidence.kind == "cut":
        side = evidence.arrays["side"]
        if bool((side > 1).any()):
            raise Rejected("evidence-range", "a side is not 0 or 1", where="evidence array side")
        return dual_bound(network, attacked, [Fraction(int(bus)) for bus in side], None, limits)
    scales = dict(zip(("pi", "circulation"), evidence.items["scale"], strict=True))
    prices, around = ([Fraction(value, scale) for value in evidence.arrays[name].tolist()] for name, scale in scales.items())
    return dual_bound(network, attacked, prices, around, limits)


def dual_bound(network: Network, attacked: frozenset[int], prices: Sequence[Fraction], circulation: Sequence[Fraction] | None,
               limits: Limits) -> Fraction:
    """Return the bound in MW for prices [buses] and a circulation [lines] or None; raises Rejected `dual-infeasible`."""
    limits.spend(10_000 * (len(network.numbers) + len(network.lines)), "a dual bound on the shed")
    bound = sum((demand * min(price, Fraction(1)) - max(supply * price, -consumption * price) for price, demand, supply, consumption
                 in zip(prices, network.demand, network.supply, network.consumption, strict=True)), Fraction(0))
    outflow = [Fraction(0)] * len(network.numbers)
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
        if slope and limit is None:
            raise Rejected("dual-infeasible", f"row {line.row} has no limit, and the bound needs one", where="evidence")
        bound += slope * limit if limit is not None else 0
    if any(outflow):
        raise Rejected("dual-infeasible", "the circulation does not balance at every bus", where="evidence array circulation")
    return bound
