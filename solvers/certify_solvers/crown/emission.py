# SPDX-License-Identifier: Apache-2.0
"""Evidence of several parts, each found on its own, joined to the arrays of one bounds tree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

Arrays = dict[str, np.ndarray[Any, Any]]


def leaf() -> Arrays:
    """Return the arrays of a part that is closed without splits, with the default slopes."""
    return {"tree": np.array([-1], "<i4")}


def join(parts: Sequence[tuple[Arrays, int]], inputs: int) -> Arrays:
    """Return the arrays of all parts in order, for a network with so many inputs; each comes with its number of conjuncts.

    Arrays that say what their absence says are dropped.
    """
    trees: list[np.ndarray[Any, Any]] = []
    split_at: list[np.ndarray[Any, Any]] = []
    recompute: list[np.ndarray[Any, Any]] = []
    leaf_slope: list[np.ndarray[Any, Any]] = []
    node_slope: list[np.ndarray[Any, Any]] = []
    beta: list[np.ndarray[Any, Any]] = []
    row: list[np.ndarray[Any, Any]] = []
    mix: list[np.ndarray[Any, Any]] = []
    sets: dict[bytes, int] = {}
    listed: list[np.ndarray[Any, Any]] = []
    leaves = 0
    for arrays, conjuncts in parts:
        tree = arrays["tree"]
        count = int((tree < 0).sum())
        trees.append(np.where(tree < 0, tree - leaves, tree))
        leaves += count
        split_at.append(arrays.get("split_at", np.zeros(0)))
        row.append(arrays.get("row", np.zeros(count * conjuncts)))
        mix.append(arrays.get("mix", np.zeros(0)))
        flags = arrays.get("recompute", np.arange(len(tree)) == 0)
        recompute.append(flags)
        numbers = [-1]  # the new number of each set of this part; the last entry is for -1
        for one in arrays.get("slope", np.zeros((0, 0), np.uint8)):
            if one.tobytes() not in sets:
                sets[one.tobytes()] = len(listed)
                listed.append(one)
            numbers.insert(len(numbers) - 1, sets[one.tobytes()])
        leaf_slope.append(np.array(numbers)[arrays.get("leaf_slope", np.full(count * conjuncts, -1))])
        node_slope.append(np.array(numbers)[arrays.get("node_slope", np.full(int(flags.sum()), -1))])
        beta.append(arrays.get("beta", np.zeros(conjuncts * _neuron_splits(tree, inputs))))
    made: Arrays = {"tree": np.concatenate(trees).astype("<i4")}
    for name, pieces, dtype in (("split_at", split_at, "<f8"), ("recompute", recompute, "|u1"), ("leaf_slope", leaf_slope, "<i4"),
                                ("node_slope", node_slope, "<i4"), ("beta", beta, "<f8"), ("row", row, "<i4"), ("mix", mix, "<f8")):
        made[name] = np.concatenate(pieces).astype(dtype)
    starts = np.cumsum([0, *(len(tree) for tree in trees)])[:-1]
    if set(np.flatnonzero(made["recompute"]).tolist()) == set(starts.tolist()):
        del made["recompute"]
    for name, default in (("leaf_slope", -1), ("node_slope", -1), ("beta", 0.0)):
        if (made[name] == default).all():
            del made[name]
    if not len(made["mix"]):  # the best row of each conjunct is as good as a named one
        del made["row"], made["mix"]
    if not len(made["split_at"]):
        del made["split_at"]
    used = np.unique(np.concatenate([made.get("leaf_slope", np.zeros(0, int)), made.get("node_slope", np.zeros(0, int))])).astype(int)
    used = used[used >= 0]
    if used.size:
        renumbered = np.full(len(listed) + 1, -1)
        renumbered[used] = np.arange(used.size)
        made["slope"] = np.stack([listed[k] for k in used]).astype("|u1")
        for name in ("leaf_slope", "node_slope"):
            if name in made:
                made[name] = renumbered[made[name]].astype("<i4")
    return made


def _neuron_splits(tree: np.ndarray[Any, Any], inputs: int) -> int:
    """Return the number of neurons split on the ways to all leaves together."""
    count, pending = 0, [0]
    for item in tree.tolist():
        above = pending.pop()
        if item < 0:
            count += above
        else:
            pending += [above + (item >= inputs)] * 2
    return count
