# SPDX-License-Identifier: Apache-2.0
"""Branch and bound on the inputs: split boxes until CROWN closes every leaf, or a point of a box is a counterexample.

Depth first, in batches that are cut into chunks of a size that only the network decides; chunks may be examined in several processes. So the
same input gives the same tree, whatever the number of workers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from certify.readers.network import Network
from certify_solvers.common.pool import Pool
from certify_solvers.common.prover import Effort, Progress
from certify_solvers.crown.examine import Examiner, Rows
from certify_solvers.crown.kernel import Array

__all__ = ["Box", "Closed", "Rows", "search"]

_CHUNK, _CHUNKS = 128, 4  # boxes of a chunk at most, chunks of a batch
_CHUNK_BYTES = 32 << 20  # of the bounds on all halves that the look-ahead of a chunk sees
_SHARED = 2048  # boxes that were bounded before other processes are worth their start
Hit = Callable[[Array], bool]


@dataclass(eq=False, slots=True)
class Box:
    """A box of the tree. A leaf has `weights` of the rows that close it; others an item, a threshold and two children, the upper one first."""

    lower: Array | None
    upper: Array | None
    known: Array | None = None
    weights: Array | None = None
    item: int = -1
    theta: float = 0.0
    children: tuple[Box, Box] | None = None

    def split(self, item: int, known: Array) -> tuple[Box, Box]:
        """Split at the middle of an input and return the children; the box itself keeps no more than the tree needs."""
        high, upper, lower, low = self.lower.copy(), self.upper, self.lower, self.upper.copy()  # type: ignore[union-attr]
        self.item, self.theta = item, float((lower[item] + upper[item]) / 2)  # type: ignore[index]
        high[item] = low[item] = self.theta
        self.children = Box(high, upper, known), Box(lower, low, known)
        self.lower = self.upper = self.known = None
        return self.children


@dataclass(frozen=True, eq=False)
class Closed:
    """A part without unsafe points: its rows, its tree, and how many boxes were bounded to find it."""

    rows: Rows
    root: Box
    bounded: int

    def arrays(self) -> dict[str, np.ndarray]:  # type: ignore[type-arg]
        """Return the arrays of a bounds-tree, with bounds computed at every node; `mix` only where a leaf needs a combination."""
        tree: list[int] = []
        thresholds: list[float] = []
        leaves: list[Array] = []
        pending = [self.root]
        while pending:
            node = pending.pop()
            if node.children is None:
                tree.append(-1 - len(leaves))
                leaves.append(node.weights if node.weights is not None else np.zeros(0))
            else:
                tree.append(node.item)
                thresholds.append(node.theta)
                pending += [node.children[1], node.children[0]]
        arrays: dict[str, np.ndarray] = {"tree": np.array(tree, "<i4")}  # type: ignore[type-arg]
        if thresholds:
            arrays |= {"split_at": np.array(thresholds, "<f8"), "recompute": np.ones(len(tree), "|u1")}
        weights = np.stack(leaves)
        parts = [weights[:, own] for own in self.rows.conjuncts]
        mixed = [np.count_nonzero(part, axis=1) > 1 for part in parts]
        row = np.stack([np.where(many, -1, part.argmax(axis=1)) for part, many in zip(parts, mixed, strict=True)], axis=1)
        arrays["row"] = row.ravel().astype("<i4")
        if (row < 0).any():
            used = np.concatenate([np.broadcast_to(many[:, None], part.shape) for part, many in zip(parts, mixed, strict=True)], axis=1)
            arrays["mix"] = weights[used].astype("<f8")
        return arrays


def search(network: Network, rows: Rows, box: tuple[Array, Array], effort: Effort, hit: Hit, most: int,
           report: Progress = lambda stage, facts: None) -> Closed | None:
    """Return the tree that closes a part, or None where the time, `most` boxes, a box that can't be split or a hit ended the search first.

    `hit` gets points worth trying, and says whether one of them is a counterexample.
    """
    root = Box(*box)
    examine = Examiner(network, rows, *box)
    size = max(1, min(_CHUNK, _CHUNK_BYTES // (256 * (1 + sum(network.layers[k].size for k in network.activations)))))
    open_, bounded = [root], 0
    with Pool(examine, effort.workers) as pool:
        while open_:
            if effort.left() <= 0 or bounded > most:
                return None
            batch = [open_.pop() for _ in range(min(_CHUNKS * size, len(open_)))]
            chunks = [batch[start : start + size] for start in range(0, len(batch), size)]
            calls = [_stacked(chunk) for chunk in chunks]
            for chunk, found in zip(chunks, pool.run(calls) if bounded >= _SHARED else [examine(*call) for call in calls], strict=True):
                if found.failed.size and hit(found.points):
                    return None
                if (found.items < 0).any():
                    return None
                for node, weights in zip(chunk, found.weights, strict=True):
                    node.weights = weights
                for index, item, known in zip(found.failed.tolist(), found.items.tolist(), found.known, strict=True):
                    chunk[index].weights = None
                    open_ += chunk[index].split(item, known)[::-1]
            bounded += len(batch)
            report("splitting inputs", {"boxes bounded": bounded, "waiting": len(open_)})
    return Closed(rows, root, bounded)


def _stacked(boxes: list[Box]) -> tuple[Array, Array, Array | None]:
    known = [box.known for box in boxes if box.known is not None]  # of all boxes, or of the root: none
    for box in boxes:
        box.known = None
    return np.stack([box.lower for box in boxes]), np.stack([box.upper for box in boxes]), np.stack(known) if known else None  # type: ignore[misc]
