# SPDX-License-Identifier: Apache-2.0
"""Evidence arrays of trees and pools."""

from __future__ import annotations

from typing import Any

import numpy as np

from certify.readers.power import Network
from certify_solvers.grid.forest import ForestTree
from certify_solvers.grid.pool import PoolSearch
from certify_solvers.grid.tree import Tree


def tree_arrays(network: Network, tree: Tree) -> dict[str, Any]:
    """Return the arrays of a penalty tree."""
    return {"tree": np.array(tree.nodes, "<i4"), "scale": np.array([w.scale for w in tree.witnesses], "<i8"),
            "flow": np.array([w.flow for w in tree.witnesses], "<i8").reshape(-1, len(network.lines))}


def pool_arrays(search: PoolSearch, chosen: list[int]) -> dict[str, Any]:
    """Return the arrays of a pool, with the chosen dispatches in their order."""
    return {"supply": np.array(search.sweep.supply, "<i8")[chosen], "demand": np.array(search.sweep.served, "<i8")[chosen]}


def forest_arrays(network: Network, tree: ForestTree) -> dict[str, Any]:
    """Return the arrays of a forest tree."""
    buses, made = len(network.numbers), tree.witnesses
    kinds, flows, closed = ([witness[k] for witness in made] for k in range(3))
    supply, demand = ([witness[k] for witness in made if witness[0]] for k in (3, 4))
    return {"tree": np.array(tree.nodes, "<i4"), "flow": np.array(flows, "<i8"), "scale": np.full(len(made), tree.scale, "<i8"),
            "closed": np.array(closed, "|u1"), "kind": np.array(kinds, "|u1"), "supply": np.array(supply, "<i8").reshape(-1, buses),
            "demand": np.array(demand, "<i8").reshape(-1, buses)}
