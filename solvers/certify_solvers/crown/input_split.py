# SPDX-License-Identifier: Apache-2.0
"""Branch and bound on the inputs: split boxes until CROWN closes every leaf, or a box's corner is a counterexample.

Two rules race, by counted boxes, so that the same input and seed give the same certificate: the plain rule splits the input with the
largest score (effect on the open rows times width), the other bounds both halves of the two best inputs and takes the better.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from certify.readers.network import Network
from certify_solvers.common.prover import Effort
from certify_solvers.crown.kernel import Array, Bounds, backward, propagate

_BATCH = 256
_MARGIN = 1e-9
Hit = Callable[[Array], bool]


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows of a part's conjuncts as arrays, and where each conjunct starts."""

    inputs: Array
    outputs: Array
    constant: Array
    starts: Array


@dataclass(eq=False)
class Box:
    """A box of the tree: a leaf until it gets an item and a threshold, and two children, the upper one first."""

    lower: Array
    upper: Array
    known: Bounds | None = None
    item: int = -1
    theta: float = 0.0
    children: tuple[Box, Box] | None = None


@dataclass(eq=False)
class Search:
    """One rule's search of one part: `open` boxes on a stack, `bounded` counts boxes; `stuck` where a box can't be split."""

    network: Network
    rows: Rows
    root: Box
    ahead: bool
    open: list[Box] = field(default_factory=list)
    bounded: int = 0
    stuck: bool = False
    worst: float = -np.inf

    def step(self, hit: Hit) -> bool:
        """Bound one batch of open boxes and split those that stay open; return True if `hit` accepted a corner."""
        batch = [self.open.pop() for _ in range(min(_BATCH, len(self.open)))]
        bounds, margins, slopes = self.bound(batch)
        self.bounded += len(batch)
        worst = _worst(margins, self.rows.starts)
        failed = [index for index in range(len(batch)) if not worst[index] > 0]
        self.worst = float(worst.min())
        if not failed:
            return False
        lower, upper = np.stack([batch[i].lower for i in failed]), np.stack([batch[i].upper for i in failed])
        corners = np.where(slopes[failed] > 0, lower[:, None, :], upper[:, None, :])
        if hit(corners.reshape(-1, self.network.inputs)):
            return True
        items = self._items([batch[i] for i in failed], slopes[failed], margins[failed], bounds, failed)
        for position, index in enumerate(failed):
            node = batch[index]
            if items[position] < 0:
                self.stuck = True
                return False
            self._split(node, int(items[position]), Bounds([a[index] for a in bounds.lower], [a[index] for a in bounds.upper]))
        return False

    def bound(self, batch: list[Box]) -> tuple[Bounds, Array, Array]:
        """Return (bounds, margins of rows, input coefficients of rows) of a batch."""
        lower, upper = np.stack([node.lower for node in batch]), np.stack([node.upper for node in batch])
        known = [node.known for node in batch if node.known is not None]
        inherited = None
        if len(known) == len(batch):
            inherited = Bounds([np.stack(level) for level in zip(*(b.lower for b in known), strict=True)],
                               [np.stack(level) for level in zip(*(b.upper for b in known), strict=True)])
        bounds = propagate(self.network, lower, upper, inherited)
        count, rows = len(batch), self.rows
        owner = np.repeat(np.arange(count), len(rows.constant))
        first = np.tile(rows.outputs, (count, 1))
        constant = np.tile(rows.constant, count)
        zero = np.zeros_like(lower)
        found, coefficients = backward(self.network, len(self.network.layers), first, constant, owner, bounds, zero, zero)
        slopes = coefficients + np.tile(rows.inputs, (count, 1))
        found = found + np.where(slopes > 0, slopes * lower[owner], slopes * upper[owner]).sum(axis=1)
        margins = found - _MARGIN * (1 + np.abs(constant))
        return bounds, margins.reshape(count, -1), slopes.reshape(count, -1, self.network.inputs)

    def _items(self, nodes: list[Box], slopes: Array, margins: Array, bounds: Bounds, failed: list[int]) -> np.ndarray:  # type: ignore[type-arg]
        """Return the input to split for each failed box, -1 where no input can be split."""
        lower, upper = np.stack([node.lower for node in nodes]), np.stack([node.upper for node in nodes])
        width = upper - lower
        middle = (lower + upper) / 2
        possible = (lower < middle) & (middle < upper)
        still = margins <= 0
        score = (np.abs(slopes) * still[:, :, None]).sum(axis=1) * width
        root = np.maximum(self.root.upper - self.root.lower, 1e-300)
        score = score + (0.01 * score.max(axis=1, keepdims=True) + 1e-12) * width / root
        score = np.where(possible, score, -1.0)
        best = score.argmax(axis=1)
        best = np.where(score.max(axis=1) > 0, best, -1)
        if not self.ahead:
            return best
        pair = np.argsort(-score, axis=1, kind="stable")[:, :2]
        trials: list[Box] = []
        owners: list[tuple[int, int]] = []
        for index, node in enumerate(nodes):
            known = Bounds([a[failed[index]] for a in bounds.lower], [a[failed[index]] for a in bounds.upper])
            for item in pair[index]:
                if score[index, item] > 0:
                    trials += _halves(node, int(item), known)
                    owners.append((index, int(item)))
        found = np.full(len(owners), -np.inf)
        for start in range(0, len(owners), _BATCH // 2):
            some = trials[2 * start : 2 * start + _BATCH]
            _, halves, _ = self.bound(some)
            self.bounded += len(some)
            worst = _worst(halves, self.rows.starts)
            found[start : start + len(some) // 2] = worst.reshape(-1, 2).min(axis=1)
        chosen = np.full(len(nodes), -1)
        value = np.full(len(nodes), -np.inf)
        for (index, item), bound in zip(owners, found, strict=True):
            if bound > value[index] or chosen[index] < 0:
                chosen[index], value[index] = item, bound
        return chosen

    def _split(self, node: Box, item: int, known: Bounds) -> None:
        node.item = item
        node.theta = float((node.lower[item] + node.upper[item]) / 2)
        node.children = _halves(node, item, known)
        node.known = None
        self.open += [node.children[1], node.children[0]]


def _halves(node: Box, item: int, known: Bounds) -> tuple[Box, Box]:
    theta = (node.lower[item] + node.upper[item]) / 2
    high, low = node.lower.copy(), node.upper.copy()
    high[item] = low[item] = theta
    return Box(high, node.upper, known), Box(node.lower, low, known)


def _worst(margins: Array, starts: Array) -> Array:
    """Return, for each box, the smallest over conjuncts of the largest margin of their rows."""
    found: Array = np.maximum.reduceat(margins, starts, axis=1).min(axis=1)
    return found


def search(network: Network, rows: Rows, box: tuple[Array, Array], effort: Effort, hit: Hit, most: int) -> Search | None:
    """Return the search that closed the part, or None where the time, the number of boxes or a hit ended it first.

    The rules take turns by counted boxes; the first to close the part wins, whatever time it took.
    """
    searches = []
    for ahead in (False, True):
        root = Box(*box)
        searches.append(Search(network, rows, root, ahead, [root]))
    quota = 2 * _BATCH
    while True:
        for one in searches:
            while one.open and not one.stuck and one.bounded < quota:
                if effort.left() <= 0 or one.step(hit):
                    return None
            if not one.open and not one.stuck:
                return one
        if quota > most or all(one.stuck for one in searches):
            return None
        quota *= 2


def evidence(roots: list[Box | None]) -> dict[str, np.ndarray]:  # type: ignore[type-arg]
    """Return the arrays of a bounds-tree: trees in preorder (None: one leaf), thresholds, and bounds computed at every node."""
    tree: list[int] = []
    thresholds: list[float] = []
    leaves = 0
    for root in roots:
        pending = [root or Box(np.zeros(0), np.zeros(0))]
        while pending:
            node = pending.pop()
            if node.children is None:
                tree.append(-1 - leaves)
                leaves += 1
            else:
                tree.append(node.item)
                thresholds.append(node.theta)
                pending += [node.children[1], node.children[0]]
    arrays: dict[str, np.ndarray] = {"tree": np.array(tree, "<i4")}  # type: ignore[type-arg]
    if thresholds:
        arrays |= {"split_at": np.array(thresholds, "<f8"), "recompute": np.ones(len(tree), "|u1")}
    return arrays
