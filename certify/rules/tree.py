# SPDX-License-Identifier: Apache-2.0
"""Preorder trees: a branching whose leaves cover the whole space.

`tree` is a preorder array: t >= 0 branches on item t, t < 0 is a leaf that names record -1 - t. Guarantee: if, for every node,
space(state) is the union of the spaces of the states that `children(state, t)` returns, then space(root) is the union of the
spaces of the states at which `leaf` was called. Proof: by induction on the tree; each popped state is replaced by its
children or handed to `leaf`, and `walk` returns only when no state is left, so none can be left out. Callbacks are called in preorder.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from certify.errors import Rejected
from certify.limits import Limits

State = TypeVar("State")
Array = np.ndarray[Any, Any]


def walk(tree: Array, start: int, root: State, children: Callable[[State, int], Sequence[State]], leaf: Callable[[State, int], None],
         limits: Limits) -> int:
    """Walk the tree that starts at index `start` and return the index behind it.

    Raises Rejected `tree-malformed` if the array ends first, Declined `limit-reached` for its depth.
    """
    stack: list[tuple[State, int]] = [(root, 0)]
    position = start
    while stack:
        state, depth = stack.pop()
        if position >= len(tree):
            raise Rejected("tree-malformed", f"the tree ends after {len(tree)} nodes, before it is complete", where="evidence array tree")
        item = int(tree[position])
        position += 1
        if item < 0:
            leaf(state, -1 - item)
        else:
            limits.within(depth + 1, "tree_depth", "depth of the tree")
            stack.extend((child, depth + 1) for child in reversed(children(state, item)))
    return position
