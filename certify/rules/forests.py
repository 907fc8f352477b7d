# SPDX-License-Identifier: Apache-2.0
"""Flows on forests: witnesses for an operator who is bound by Ohm's law and may open lines (`dc-switch`).

**Forest cancellation (R3).** Group lines into pairs by their two buses. Let the closed lines form a forest of pairs; closed circuits of one pair
have equal phase shifts (in one direction) and b > 0, unless there is one alone; all have low <= 0 <= high. A flow g_e on each pair with closed
circuits, 0 on the others, is split as f_l = g_e b_l / (sum of closed b in e). Then R2 of `flows` holds for the operator who may switch.
Proof. On a forest every pair flow has angles: Kirchhoff's voltage law says nothing. A tree flow splits into paths without cancellation. To lose the
circuits of a in pair e, drop paths until g_e has fallen by their share; all pair flows fall, the surviving circuits of e carry at most what they
did, angle limits are limits of flow that contain 0, and the operator opens everything else. QED.
**Dispatch.** Where a leaf's budget affords no further line, its only attack is checked by R4 of `recourse` on the closed lines that survive.

|f_l| and the shed are rounded up, to a millionth of the unit of their scale, which only makes the bound larger.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from certify.errors import Declined, Rejected
from certify.limits import Limits
from certify.readers.power import Line, Network
from certify.rules.attack_tree import Leaf, worst_leaf
from certify.rules.attacks import Game
from certify.rules.flows import Witnesses
from certify.rules.graphs import UnionFind
from certify.rules.island_angles import angles_on
from certify.rules.recourse import Recourse, check_pool

Integers = np.ndarray[Any, Any]
_MOST_FLOW, _FINE = 1 << 53, 10**6
_ONE, _FLOW = "close one of the parallel circuits only", "open those lines, or give the leaf a flow on a forest"


def pairs_of(network: Network) -> list[tuple[int, int]]:
    """Return the pairs of buses that lines join, in the order and direction in which they are first seen."""
    found: dict[frozenset[int], tuple[int, int]] = {}
    for line in network.lines:
        found.setdefault(frozenset((line.start, line.end)), (line.start, line.end))
    return list(found.values())


def check_forests(network: Network, flow: Integers, scale: Integers, closed: Integers, kind: Integers, limits: Limits) -> Witnesses:
    """Return the sheds and the flows of lines for pair flows [W, pairs] with closed lines [W, lines]; raises Rejected.

    Codes: `array-shape`, `evidence-range`, `leaf-cycle`, `leaf-open-flow`, `leaf-flow-limit`, `leaf-balance`, `phase-shift-unsupported`,
    `susceptance-not-positive`.
    """
    pairs, lines = pairs_of(network), network.lines
    if flow.shape != (len(scale), len(pairs)) or closed.shape != (len(scale), len(lines)) or kind.shape != scale.shape:
        raise Rejected("array-shape", f"flow and closed don't fit {len(scale)} scales, {len(pairs)} pairs and {len(lines)} lines", where="evidence")
    if bool((scale < 1).any()) or bool((closed > 1).any()) or bool((kind > 1).any()) or bool(flow[kind == 1].any()):
        raise Rejected("evidence-range", "a scale is below 1, `closed` or `kind` is not 0 or 1, or a dispatch has flows", where="evidence")
    limits.spend(20_000 * len(scale) * (len(lines) + len(network.numbers)), "checking flows on forests")
    limits.within(80 * len(scale) * len(lines), "memory", "memory for flows in bytes")
    place = {frozenset(pair): e for e, pair in enumerate(pairs)}
    members: list[list[int]] = [[] for _ in pairs]
    for k, line in enumerate(lines):
        members[place[frozenset((line.start, line.end))]].append(k)
    digits = [sum(sum(map(int.bit_length, lines[k].susceptance.as_integer_ratio())) for k in mine) // 64 for mine in members]
    limits.spend(20 * len(scale) * sum(len(mine) * words * words for mine, words in zip(members, digits, strict=True)), "sharing flows of circuits")
    size, shed = [], []
    for record, (row, units, shut) in enumerate(zip(flow.tolist(), scale.tolist(), closed.tolist(), strict=True)):
        if kind[record]:
            size.append([0] * len(lines))
            shed.append(0)
            continue
        mine = [[k for k in members[e] if shut[k]] for e in range(len(pairs))]
        _require_forest(network, pairs, mine, record)
        outflow, wide = [0] * len(network.numbers), [0] * len(lines)
        for e, (start, end) in enumerate(pairs):
            if row[e]:
                outflow[start] += row[e]
                outflow[end] -= row[e]
                for k, part in _split(lines, start, mine[e], row[e], units, record):
                    wide[k] = _up(abs(part) * _FINE)
        lost = Fraction(0)
        for bus, out in enumerate(outflow):
            if not -network.demand[bus] * units <= out <= network.supply[bus] * units:
                raise Rejected("leaf-balance", f"bus {network.numbers[bus]} can't supply or take what the flows leave it", where=f"flow {record}")
            lost += max(Fraction(0), (network.demand[bus] - network.supply[bus]) * units + out)
        size.append(wide)
        shed.append(_up(lost * _FINE))
    return Witnesses(np.array(size, object).reshape(len(size), len(lines)), np.array(shed, object), [int(value) for value in scale], _FINE)


def _up(value: Fraction) -> int:
    return -(-value.numerator // value.denominator)


def _require_forest(network: Network, pairs: Sequence[tuple[int, int]], mine: Sequence[Sequence[int]], record: int) -> None:
    """Raise Rejected unless the pairs with closed lines form a forest, and parallel closed lines share their flow by b."""
    joined = UnionFind(len(network.numbers))
    for (start, end), together in zip(pairs, mine, strict=True):
        if not together:
            continue
        if not joined.join(start, end):
            raise Rejected("leaf-cycle", f"the closed lines between buses {network.numbers[start]} and {network.numbers[end]} close a cycle",
                           where=f"witness {record}")
        several = [network.lines[k] for k in together] if len(together) > 1 else []
        if any(line.susceptance <= 0 for line in several):
            raise Declined("susceptance-not-positive", "parallel closed lines need x > 0", where=f"witness {record}", fix=_ONE)
        if len({line.shift if line.start == start else -line.shift for line in several}) > 1:
            raise Declined("phase-shift-unsupported", "parallel closed lines have different phase shifts", where=f"witness {record}", fix=_ONE)


def _split(lines: Sequence[Line], start: int, together: Sequence[int], flow: int, scale: int, record: int) -> list[tuple[int, Fraction]]:
    """Return the flow of each closed line of a pair, in units of 1 / scale; raises Rejected."""
    if not together:
        raise Rejected("leaf-open-flow", "a flow on a pair of buses between which no line is closed", where=f"witness {record}")
    whole = sum((lines[k].susceptance for k in together), Fraction(0))
    found = []
    for k in together:
        part = Fraction(flow) * (1 if lines[k].start == start else -1) * (lines[k].susceptance / whole if len(together) > 1 else 1)
        low, high = lines[k].low, lines[k].high
        if abs(part) > _MOST_FLOW or (low is not None and part < low * scale) or (high is not None and part > high * scale):
            raise Rejected("leaf-flow-limit", f"the flow on row {lines[k].row} exceeds its limit", where=f"witness {record}")
        found.append((k, part))
    return found


def forest_bound(network: Network, arrays: Mapping[str, Any], quantum: Fraction, limits: Limits) -> Callable[[int, Leaf], Fraction]:
    """Return what bounds the shed of a leaf's attacks by a witness, in MW; raises Rejected for witnesses that are none.

    `kind` says of each witness whether it is a flow (0: R3) or a dispatch (1: R4), whose supply and demand are the next rows of these arrays.
    """
    kind, closed = arrays["kind"], arrays["closed"]
    witnesses = check_forests(network, arrays["flow"], arrays["scale"], closed, kind, limits)
    pool = check_pool(network, arrays["supply"], arrays["demand"], quantum)
    if len(pool.supply) != int(kind.sum()):
        raise Rejected("array-shape", f"{len(pool.supply)} dispatches for {int(kind.sum())} witnesses of kind 1", where="evidence array supply")
    order, rule = np.cumsum(kind) - 1, Recourse(network)

    def bound(record: int, leaf: Leaf) -> Fraction:
        if not kind[record]:
            return witnesses.bound(record, leaf, limits)
        if bool((leaf.costs <= leaf.budget).any()):
            raise Rejected("leaf-uncovered", f"witness {record} is a dispatch, and its leaf can afford a further line", where="evidence array tree")
        limits.spend(10 * len(network.numbers) ** 3 + 5000 * (len(network.numbers) + len(network.lines)), "angles of a dispatch")
        shut = closed[record].astype(bool)
        shut[list(leaf.attacked)] = False
        used = [network.lines[k] for k in np.flatnonzero(shut).tolist()]
        if any(line.susceptance <= 0 for line in used):
            raise Declined("susceptance-not-positive", "a dispatch needs closed lines with x > 0", where=f"witness {record}", fix=_FLOW)
        if any(line.shift for line in used):
            raise Declined("phase-shift-unsupported", "a dispatch needs closed lines without phase shift", where=f"witness {record}", fix=_FLOW)
        theta, supply, demand = angles_on(network, shut, pool.supply[order[record]], pool.demand[order[record]])
        served = rule.served(theta, supply, demand, np.flatnonzero(~shut)[None])
        return network.total - Fraction(float(served[0]))

    return bound


def forest_tree(network: Network, game: Game, arrays: Mapping[str, Any], quantum: Fraction, limits: Limits) -> tuple[Fraction, int]:
    """Return the largest shed that a leaf of the tree allows, in MW, and the number of leaves."""
    return worst_leaf(network, game, arrays["tree"], len(arrays["kind"]), forest_bound(network, arrays, quantum, limits), limits)
