# SPDX-License-Identifier: Apache-2.0
"""A tree over attacks: each node takes out a line or leaves it alone for good, and each leaf names a witness that bounds what is left.

A leaf stands for the attacks that hold its attacked lines and else only free ones, of cost at most its budget. Every attack of the game is one
of a leaf: it goes to the first child of a node if it takes the line out, else to the second (`tree`). So the largest bound of a leaf bounds the
shed of every attack. A line may be branched on only while it is free and affordable, so nothing is counted twice.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from certify.errors import Rejected
from certify.limits import Limits
from certify.readers.power import Network
from certify.rules.attacks import Game
from certify.rules.tree import walk

Integers = np.ndarray[Any, Any]


@dataclass(frozen=True, eq=False)
class Leaf:
    """Lines that are attacked, which lines still can be [lines], the costs of all lines, and the budget that is left."""

    attacked: tuple[int, ...]
    free: Integers
    prices: Integers
    budget: int

    @property
    def costs(self) -> Integers:
        """The costs of the free lines."""
        costs: Integers = self.prices[self.free]
        return costs


def worst_leaf(network: Network, game: Game, tree: Integers, records: int, bound: Callable[[int, Leaf], Fraction],
               limits: Limits) -> tuple[Fraction, int]:
    """Return the largest `bound(record, leaf)`, in MW, and the number of leaves; every one of `records` witnesses must be named.

    Raises Rejected `branch-invalid`, `tree-malformed`, `evidence-range`, `unused-evidence`, and what `bound` raises.
    """
    limits.within(len(tree), "tree_nodes", "nodes of the tree")
    limits.spend(len(tree) * (20_000 + 20 * len(network.lines)), "walking the tree")
    limits.within(min(len(tree), limits.tree_depth) * len(network.lines), "memory", "memory for a path of the tree in bytes")
    costs = np.array(game.costs, np.int64)
    used = np.zeros(records, bool)
    worst, leaves = Fraction(0), 0

    def children(state: Leaf, item: int) -> tuple[Leaf, Leaf]:
        if item >= len(network.lines) or not state.free[item] or costs[item] > state.budget:
            raise Rejected("branch-invalid", f"this node can't branch on line {item}: it is not free, or costs too much", where="evidence array tree")
        free = state.free.copy()
        free[item] = False
        return (Leaf((*state.attacked, item), free, costs, state.budget - game.costs[item]), Leaf(state.attacked, free, costs, state.budget))

    def leaf(state: Leaf, record: int) -> None:
        nonlocal worst, leaves
        if record >= records:
            raise Rejected("evidence-range", f"leaf {leaves} names the witness {record} of {records}", where="evidence array tree")
        used[record] = True
        worst = max(worst, bound(record, state))
        leaves += 1

    free = np.array(game.free, bool)
    end = walk(tree, 0, Leaf((), free, costs, game.budget), children, leaf, limits)
    if end != len(tree):
        raise Rejected("tree-malformed", f"{len(tree) - end} entries are left over", where="evidence array tree")
    if not bool(used.all()):
        raise Rejected("unused-evidence", f"witness {int(np.flatnonzero(~used)[0])} belongs to no leaf", where="evidence array tree")
    return worst, leaves
