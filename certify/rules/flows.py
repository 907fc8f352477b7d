# SPDX-License-Identifier: Apache-2.0
"""Flows as witnesses: how much an operator sheds at most when some lines are out, and when any further ones go out too.

**Shed from flows (R1).** Let f be flows with limits low <= f <= high and net outflow w_i at bus i, -D_i <= w_i <= G_i. Then d_i = min(D_i, G_i -
w_i) >= 0 served and p_i = w_i + d_i >= 0 produced balance at every bus, and shed = sum of D_i - d_i = sum of max(0, D_i - G_i + w_i).
**Cancellation (R2).** Let f be such a flow with f = 0 on O, and let a contain O. Then transport sheds at most shed(f) + sum of |f_l| over a \\ O.
Proof. Cancel directed cycles, and split f into paths from supply to demand, all oriented along f. Drop the paths that use a line of a: they
carry at most the sum of |f_l| over a \\ O. The others obey all limits, for |f| only fell and low <= 0 <= high; supply only fell, which is allowed
because every unit can go down to 0; unserved demand rose by at most what was dropped. QED.

So if a tree of attacked and never attacked lines ends at a leaf with O attacked, F free and a budget r left, no attack on the way to that leaf
sheds more than shed(f) + the largest sum of |f_l| over a set of F of cost at most r. All in integers: flows over one `scale` each, limits over
one common denominator.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from typing import Any

import numpy as np

from certify.errors import Rejected
from certify.limits import Limits
from certify.readers.power import Network
from certify.rules.attack_tree import Leaf, worst_leaf
from certify.rules.attacks import Game, dearest

Integers = np.ndarray[Any, Any]
"""An array of int64, or of Python integers where int64 might overflow."""
_MOST_FLOW = 1 << 53  # of a line without limits


@dataclass(frozen=True)
class Witnesses:
    """Flows that were checked: |flow| [W, L], or more, and shed [W] in units of 1 / (`scale` [W] times `quantum`)."""

    size: Integers
    shed: Integers
    scale: list[int]
    quantum: int

    def bound(self, record: int, leaf: Leaf, limits: Limits) -> Fraction:
        """Return the largest shed of an attack of a leaf, in MW (R2); raises Rejected `leaf-attacked-flow`."""
        size = self.size[record]
        if any(size[line] for line in leaf.attacked):
            raise Rejected("leaf-attacked-flow", f"flow {record} uses a line that is attacked at its leaf", where="evidence array flow")
        lost = dearest(size[leaf.free], leaf.costs, leaf.budget, limits)
        return Fraction(int(self.shed[record]) + lost, self.scale[record] * self.quantum)


def check_flows(network: Network, flow: Integers, scale: Integers, limits: Limits) -> Witnesses:
    """Return the sheds of all flows (R1); raises Rejected `leaf-flow-limit`, `leaf-balance`, or `malformed` shapes and scales."""
    lines, buses = network.lines, len(network.numbers)
    if flow.shape != (len(scale), len(lines)):
        raise Rejected("array-shape", f"flow of shape {list(flow.shape)} for {len(scale)} scales and {len(lines)} lines", where="evidence array flow")
    if bool((scale < 1).any()):
        raise Rejected("evidence-range", "a scale is below 1", where="evidence array scale")
    ends = [end for line in lines for end in (line.low, line.high) if end is not None]
    quantum = lcm(*(value.denominator for value in (*network.demand, *network.supply, *ends)))
    demand, supply = ([int(value * quantum) for value in side] for side in (network.demand, network.supply))
    most = [None if line.high is None else int(line.high * quantum) for line in lines]
    least = [None if line.low is None else int(line.low * quantum) for line in lines]
    most_flow = max(int(flow.max(initial=1)), -int(flow.min(initial=0)))  # at least 1: the denominator alone may not fit
    largest = max([*demand, *supply, *(abs(end) for end in (*least, *most) if end is not None), 1])
    words = (quantum * most_flow * (len(lines) + 1) + 2 * int(scale.max(initial=1)) * largest * (buses + 1)).bit_length() // 62
    dtype: Any = np.int64 if words == 0 else object
    limits.spend(((40 if words == 0 else 600 + 40 * words) * len(scale) + 1000) * (len(lines) + buses), "checking flows")
    limits.within((8 if words == 0 else 80 + 10 * words) * len(scale) * (3 * len(lines) + buses + 6), "memory", "memory for flows in bytes")
    moved, scaled = flow.astype(dtype) * quantum, scale.astype(dtype)
    outflow = np.zeros((len(scale), buses), dtype)
    for k, line in enumerate(lines):
        mine, above, below = moved[:, k], most[k], least[k]
        outflow[:, line.start] += mine
        outflow[:, line.end] -= mine
        broken = np.zeros(len(scale), bool) if None not in (above, below) else np.abs(flow[:, k].astype(dtype)) > _MOST_FLOW
        broken |= False if above is None else mine > above * scaled
        broken |= False if below is None else mine < below * scaled
        if bool(broken.any()):
            raise Rejected("leaf-flow-limit", f"the flow on row {line.row} exceeds its limit", where=f"flow {int(np.flatnonzero(broken)[0])}")
    shed = np.zeros(len(scale), dtype)
    for bus, (need, room) in enumerate(zip(demand, supply, strict=True)):
        out = outflow[:, bus]
        broken = (out > room * scaled) | (out < -need * scaled)
        if bool(broken.any()):
            raise Rejected("leaf-balance", f"bus {network.numbers[bus]} can't supply or take what the flows leave it",
                           where=f"flow {int(np.flatnonzero(broken)[0])}")
        shed += np.maximum((need - room) * scaled + out, 0)
    return Witnesses(np.abs(moved), shed, [int(value) for value in scale], quantum)


def tree_of_flows(network: Network, game: Game, tree: Integers, witnesses: Witnesses, limits: Limits) -> tuple[Fraction, int]:
    """Return the largest shed that a leaf of the tree allows (R2), in MW, and the number of leaves; raises Rejected `leaf-attacked-flow` too."""
    return worst_leaf(network, game, tree, len(witnesses.scale), lambda record, leaf: witnesses.bound(record, leaf, limits), limits)
