# SPDX-License-Identifier: Apache-2.0
"""Evidence arrays of trees and pools."""

from __future__ import annotations

from typing import Any

import numpy as np

from certify.readers.power import Network
from certify_solvers.grid.pool import PoolSearch
from certify_solvers.grid.tree import Tree


def tree_arrays(network: Network, tree: Tree) -> dict[str, Any]:
    """Return the arrays of a penalty tree."""
    return {"tree": np.array(tree.nodes, "<i4"), "scale": np.array([w.scale for w in tree.witnesses], "<i8"),
            "flow": np.array([w.flow for w in tree.witnesses], "<i8").reshape(-1, len(network.lines))}


def pool_arrays(search: PoolSearch, chosen: list[int]) -> dict[str, Any]:
    """Return the arrays of a pool, with the chosen dispatches in their order."""
    return {"supply": np.array(search.sweep.supply, "<i8")[chosen], "demand": np.array(search.sweep.served, "<i8")[chosen]}
