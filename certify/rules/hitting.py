# SPDX-License-Identifier: Apache-2.0
"""No affordable defence touches every attack of a list: the hitting tree.

A node (In, Out, B') stands for the defences D that hold In, none of Out, and cost at most B' beyond In. It names an attack S of the list with S
disjoint from In. Its children, for l in S minus Out that can be defended at a cost of at most B', ascending: (In + l, Out + the earlier ones, B' -
cost of l). **R8.** Every defence of the root's node misses an attack of the list. Proof. D of a node misses S, or its least member l of S
is in none of Out, can be defended, costs at most B', and the earlier ones are not in D: so D is in the child of l. Each child has one line
more in In, and the tree is finite, so the descent ends where D misses an attack. QED. The children follow from the node, so the tree has no
freedom but its attacks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from certify.errors import Rejected
from certify.limits import Limits
from certify.rules.tree import walk

_State = tuple[frozenset[int], frozenset[int], int]


def require_hit(attacks: Sequence[frozenset[int]], tree: np.ndarray[Any, Any], costs: Sequence[int], defendable: frozenset[int], budget: int,
                limits: Limits) -> None:
    """Raise Rejected unless the tree shows that every defence within the budget misses one of the attacks.

    Codes: `hitting-touched` (an attack meets In), `evidence-range`, `tree-malformed`, `unused-evidence`.
    """
    limits.within(len(tree), "tree_nodes", "nodes of the tree")
    limits.spend(len(tree) * 20_000 * (1 + max(map(len, attacks), default=0)), "walking the tree")
    used: set[int] = set()
    held: list[int] = []  # bytes of the children of each node on the way to this one

    def children(state: _State, item: int) -> list[_State]:
        inside, outside, left = state
        if item >= len(attacks):
            raise Rejected("evidence-range", f"a node names the attack {item} of {len(attacks)}", where="evidence array tree")
        if attacks[item] & inside:
            raise Rejected("hitting-touched", f"a node names the attack {item}, which the defence of the node touches", where="evidence array tree")
        used.add(item)
        candidates = sorted(line for line in attacks[item] - outside if line in defendable and costs[line] <= left)
        limits.spend(100 * len(candidates) * (len(candidates) + len(outside)), "the children of a node")
        held[len(inside) :] = [100 * len(candidates) * (len(candidates) + len(outside) + len(inside) + 1)]
        limits.within(sum(held), "memory", "memory for open nodes in bytes")
        return [(inside | {line}, outside | frozenset(candidates[:k]), left - costs[line]) for k, line in enumerate(candidates)]

    def leaf(state: _State, record: int) -> None:
        raise Rejected("tree-malformed", "a hitting tree has no leaf codes: every node names an attack", where="evidence array tree")

    end = walk(tree, 0, (frozenset[int](), frozenset[int](), budget), children, leaf, limits)
    if end != len(tree):
        raise Rejected("tree-malformed", f"{len(tree) - end} entries are left over", where="evidence array tree")
    if len(used) != len(attacks):
        raise Rejected("unused-evidence", f"{len(attacks) - len(used)} attacks are named by no node", where="evidence array attacks")
