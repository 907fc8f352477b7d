# SPDX-License-Identifier: Apache-2.0
"""Branch and bound on the signs of neurons, for networks with many inputs: slopes and multipliers are tuned at every node.

Depth first. A node that stays open is split on the neuron whose line costs the worst conjunct most, or on one of the next two where one
plain pass over both halves promises more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from certify.readers.network import Network
from certify.rules.neuron_splits import Path
from certify_solvers.common.prover import Effort
from certify_solvers.crown.alpha import Conjunct, Tuned, tune
from certify_solvers.crown.domain import Domain
from certify_solvers.crown.emission import Arrays
from certify_solvers.crown.kernel import Array

_NODE_STEPS = 20
_LOOK = 3
Hit = Callable[[Array], bool]


@dataclass(eq=False)
class _Node:
    path: Path
    found: Tuned | None = None
    neuron: int = -1
    children: tuple[_Node, _Node] | None = None


@dataclass(frozen=True, eq=False)
class Closed:
    """A tree whose leaves are all closed, as evidence."""

    arrays: Arrays


def search(network: Network, domain: Domain, conjuncts: Sequence[Conjunct], root: Tuned, effort: Effort, hit: Hit, most: int) -> Closed | None:
    """Return the closed tree, or None where the time, the number of nodes or a counterexample (`hit` of its points) ended the search first."""
    top = _Node((), root)
    pending, bounded = [top], 0
    while pending:
        node = pending.pop()
        if node is not top:
            warm = node.found
            bounded += 1
            if bounded > most or effort.left() <= 0:
                return None
            node.found = tune(network, domain, conjuncts, effort, _NODE_STEPS, node.path, warm)
        found = node.found
        if found is None or (not found.closed and hit(found.points)):
            return None
        if found.closed:
            continue
        node.neuron = _choose(network, domain, conjuncts, node.path, found, effort)
        if node.neuron < 0:
            return None
        node.children = (_Node((*node.path, (node.neuron, 1)), found), _Node((*node.path, (node.neuron, -1)), found))
        pending += [node.children[1], node.children[0]]
    return Closed(_evidence(network, top))


def _choose(network: Network, domain: Domain, conjuncts: Sequence[Conjunct], path: Path, found: Tuned, effort: Effort) -> int:
    """Return the neuron to split on, or -1 where none is left."""
    order = np.argsort(-found.scores, kind="stable")[:_LOOK]
    order = order[found.scores[order] > 0]
    if order.size <= 1:
        return int(order[0]) if order.size else -1
    values = []
    for neuron in order.tolist():
        halves = [tune(network, domain, conjuncts, effort, 2, (*path, (neuron, sign)), found) for sign in (1, -1)]
        values.append(min(-np.inf if half is None else np.inf if half.closed else float(half.margins.min()) for half in halves))
    return int(order[int(np.argmax(values))])


def _evidence(network: Network, top: _Node) -> Arrays:
    """Return the arrays of the tree: bounds at the root and at every leaf, each leaf with its own slopes and multipliers."""
    tree: list[int] = []
    flags: list[int] = []
    node_slope: list[int] = []
    leaf_slope: list[int] = []
    sets: list[np.ndarray] = []  # type: ignore[type-arg]
    beta: list[float] = []
    leaves, pending = 0, [top]
    while pending:
        node = pending.pop()
        if node.children is not None:
            tree.append(network.inputs + node.neuron)
            flags.append(int(node is top))
            node_slope += [-1] if node is top else []
            pending += [node.children[1], node.children[0]]
            continue
        tree.append(-1 - leaves)
        flags.append(1)
        leaves += 1
        if node.found is None:
            raise ValueError("a leaf of a closed tree was bounded")
        node_slope.append(len(sets))
        leaf_slope += range(len(sets) + 1, len(sets) + 1 + len(node.found.leaf))
        sets += [*node.found.node, *node.found.leaf]
        beta += node.found.beta.reshape(-1).tolist()
    return {"tree": np.array(tree, "<i4"), "recompute": np.array(flags, "|u1"), "slope": np.array(sets, "|u1"),
            "leaf_slope": np.array(leaf_slope, "<i4"), "node_slope": np.array(node_slope, "<i4"), "beta": np.array(beta, "<f8")}
