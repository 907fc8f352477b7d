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
from certify.rules.attacks import Game, dearest
from certify.rules.tree import walk

Integers = np.ndarray[Any, Any]
"""An array of int64, or of Python integers where int64 might overflow."""
_MOST_FLOW = 1 << 53  # of a line without limits


@dataclass(frozen=True)
class Witnesses:
    """Flows that were checked: |flow| [W, L] and shed [W] in units of 1 / (`scale` [W] times `quantum`), exact."""

    size: Integers
    shed: Integers
    scale: list[int]
    quantum: int


def check_flows(network: Network, flow: Integers, scale: Integers, limits: Limits) -> Witnesses:
    """Return the sheds of all flows (R1); raises Rejected `leaf-flow-limit`, `leaf-balance`, or `malformed` shapes and scales."""
    lines, buses = network.lines, len(network.numbers)
    if flow.shape != (len(scale), len(lines)):
        raise Rejected("array-shape", f"flow of shape {list(flow.shape)} for {len(scale)} scales and {len(lines)} lines", where="evidence array flow")
    if bool((scale < 1).any()):
        raise Rejected("evidence-range", "a scale is below 1", where="evidence array scale")
    limits.spend(40 * flow.shape[0] * (len(lines) + buses) + 1000 * (len(lines) + buses), "checking flows")
    ends = [end for line in lines for end in (line.low, line.high) if end is not None]
    quantum = lcm(*(value.denominator for value in (*network.demand, *network.supply, *ends)))
    demand, supply = ([int(value * quantum) for value in side] for side in (network.demand, network.supply))
    most = [None if line.high is None else int(line.high * quantum) for line in lines]
    least = [None if line.low is None else int(line.low * quantum) for line in lines]
    most_flow = max(int(flow.max(initial=0)), -int(flow.min(initial=0)))
    largest = max([*demand, *supply, *(abs(end) for end in (*least, *most) if end is not None), 1])
    fits = quantum * most_flow * (len(lines) + 1) + 2 * int(scale.max(initial=1)) * largest * (buses + 1) < 1 << 62
    dtype: Any = np.int64 if fits else object
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
    need, room = np.array(demand, dtype), np.array(supply, dtype)
    broken = (outflow > room * scaled[:, None]) | (outflow < -need * scaled[:, None])
    if bool(broken.any()):
        which, bus = (int(index[0]) for index in np.nonzero(broken))
        raise Rejected("leaf-balance", f"bus {network.numbers[bus]} can't supply or take what the flows leave it", where=f"flow {which}")
    shed = np.maximum((need - room) * scaled[:, None] + outflow, 0).sum(axis=1)
    return Witnesses(np.abs(moved), shed, [int(value) for value in scale], quantum)


@dataclass(frozen=True, eq=False)
class _State:
    attacked: tuple[int, ...]
    free: Integers
    budget: int


def worst_leaf(network: Network, game: Game, tree: Integers, witnesses: Witnesses, limits: Limits) -> tuple[Fraction, int]:
    """Return the largest shed that a leaf of the tree allows (R2), in MW, and the number of leaves.

    Raises Rejected `branch-invalid`, `leaf-attacked-flow`, `tree-malformed`, `evidence-range`, `unused-evidence`.
    """
    limits.within(len(tree), "tree_nodes", "nodes of the tree")
    limits.spend(len(tree) * (20_000 + 20 * len(network.lines)), "walking the tree")
    costs = np.array(game.costs, np.int64)
    used = np.zeros(len(witnesses.scale), bool)
    worst, leaves = Fraction(0), 0

    def children(state: _State, item: int) -> tuple[_State, _State]:
        if item >= len(network.lines) or not state.free[item] or costs[item] > state.budget:
            raise Rejected("branch-invalid", f"this node can't branch on line {item}: it is not free, or costs too much", where="evidence array tree")
        free = state.free.copy()
        free[item] = False
        return _State((*state.attacked, item), free, state.budget - game.costs[item]), _State(state.attacked, free, state.budget)

    def leaf(state: _State, record: int) -> None:
        nonlocal worst, leaves
        if record >= len(used):
            raise Rejected("evidence-range", f"leaf {leaves} names the flow {record} of {len(used)}", where="evidence array tree")
        used[record] = True
        size = witnesses.size[record]
        if any(size[line] for line in state.attacked):
            raise Rejected("leaf-attacked-flow", f"flow {record} uses a line that is attacked at leaf {leaves}", where="evidence array flow")
        lost = dearest(size[state.free], costs[state.free], state.budget, limits)
        worst = max(worst, Fraction(int(witnesses.shed[record]) + lost, witnesses.scale[record] * witnesses.quantum))
        leaves += 1

    end = walk(tree, 0, _State((), np.array(game.free, bool), game.budget), children, leaf, limits)
    if end != len(tree):
        raise Rejected("tree-malformed", f"{len(tree) - end} entries are left over", where="evidence array tree")
    if not bool(used.all()):
        raise Rejected("unused-evidence", f"flow {int(np.flatnonzero(~used)[0])} belongs to no leaf", where="evidence array flow")
    return worst, leaves
