# SPDX-License-Identifier: Apache-2.0
"""A branching over the input box whose every leaf is shown to be free of unsafe points.

A leaf closes a conjunct {g_1 <= 0, ..., g_r <= 0} if a lower bound of some g_i, or of some sum of lambda_i g_i with lambda >= 0 not
all 0, is positive on its box: at an unsafe point the sum would be <= 0. If a g_i with lambda_i > 0 is strict (unsafe where g_i < 0), a bound
of 0 is enough. A conjunct without rows is never closed. If every leaf closes every
conjunct of its part, no point of any part is unsafe: the leaves cover the box (`tree`; a split at theta is x_t >= theta or x_t <=
theta, a split on a neuron is z >= 0 or z <= 0, `neuron_splits`), and each bound is sound (`relaxation`, or `fixed_point` in the arithmetic
exact-int); combinations are formed in rationals.

Evidence: `tree`, `split_at` (thresholds in preorder), `recompute` (where bounds are computed afresh, else inherited from the
nearest ancestor), `row` (leaf by leaf, conjunct by conjunct: which row; -1: the next vector of `mix`), `mix`; `slope` (sets of lower
slopes), `leaf_slope` (leaf by leaf, conjunct by conjunct: which set its rows use; -1: the default), `node_slope` (the same for the backward
bounds of each node that computes them), `beta` (leaf by leaf, conjunct by conjunct: multipliers of the neurons split on the way, from the
root). Every number is a choice for which any value in its range is sound; no bound is stored.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any
from weakref import ref

import numpy as np

from certify.errors import Rejected
from certify.limits import Limits
from certify.readers.formula import Part, Row
from certify.rules.balls import Array
from certify.rules.relaxation import Bounds, ByLayer, Relaxation, Specification, stack
from certify.rules.tree import walk

if TYPE_CHECKING:
    from certify.rules.fixed_point import FixedPoint

_BATCH = 512
_NODE_COST = 20_000  # a node's share of interpreted code, in elementary operations
_SEGMENT_BYTES = 64 << 20


@dataclass(frozen=True)
class Figures:
    """What the check saw: leaves, the smallest bound by which a leaf closed a conjunct, the largest bound on any value."""

    leaves: int
    smallest_margin: float
    largest_value: float


@dataclass(eq=False)
class _Slot:
    """Bounds that are computed when their batch is due: row `index` of `bounds`."""

    bounds: Bounds | None = None
    index: int = 0


@dataclass(frozen=True, eq=False)
class _State:
    lower: Array
    upper: Array
    slot: _Slot | None
    depth: int
    path: tuple[tuple[int, int], ...] = ()  # neurons split on the way, each with its sign


@dataclass(frozen=True, eq=False)
class _Leaf:
    state: _State
    number: int
    rows: tuple[tuple[tuple[Row, Fraction], ...], ...] | None  # for each conjunct rows with weights, or None: the best single row
    slopes: list[int]
    betas: list[list[float]]


@dataclass(eq=False)
class _Work:
    fresh: list[tuple[_State, _Slot, _Slot | None, int]] = field(default_factory=list)
    leaves: list[_Leaf] = field(default_factory=list)


def check(arithmetic: Relaxation | FixedPoint, parts: Iterable[Part], arrays: Mapping[str, Any], limits: Limits) -> Figures:
    """Return figures if every leaf closes every conjunct; raises Rejected (`leaf-uncovered` where one does not) or Declined.

    `arithmetic` was made with the network and with the array `slope`.
    """
    with np.errstate(over="ignore", invalid="ignore"):  # infinities and NaN end in a rejection, not in a warning
        return _Check(arithmetic, parts, arrays, limits).run()


class _Indices:
    """An array of choices, taken one by one: indices from -1 on."""

    def __init__(self, arrays: Mapping[str, Any], name: str) -> None:
        self.name, self.array, self.used = name, arrays.get(name), 0
        if self.array is not None and name != "row" and bool((self.array == -1).all()):
            raise Rejected("unused-evidence", "it says what its absence says", where=f"evidence array {name}")

    def take(self, count: int, most: int) -> list[int]:
        """Return the next `count` entries, each from -1 to `most` - 1; all -1 where the array is absent."""
        if self.array is None:
            return [-1] * count
        found: list[int] = self.array[self.used : self.used + count].tolist()
        self.used += count
        if len(found) != count:
            raise Rejected("array-shape", f"it ends after {len(self.array)} entries, before every choice is made",
                           where=f"evidence array {self.name}")
        if any(not -1 <= index < most for index in found):
            raise Rejected("evidence-range", f"an index is outside -1 to {most - 1}", where=f"evidence array {self.name}")
        return found


class _Check:
    def __init__(self, arithmetic: Relaxation | FixedPoint, parts: Iterable[Part], arrays: Mapping[str, Any], limits: Limits) -> None:
        self.arithmetic: Any = arithmetic  # one of two types with the same methods, each closed over its own arrays
        self.network, self.parts, self.limits = arithmetic.network, parts, limits
        self.tree = arrays["tree"]
        limits.within(len(self.tree), "tree_nodes", "nodes of the tree")
        limits.spend(_NODE_COST * len(self.tree), "walking the tree")
        self.split_at = arrays.get("split_at")
        self.recompute = arrays.get("recompute")
        self.row, self.leaf_slope, self.node_slope = (_Indices(arrays, name) for name in ("row", "leaf_slope", "node_slope"))
        self.mix, self.beta = arrays.get("mix"), arrays.get("beta")
        if self.beta is not None and bool((self.beta < 0).any()):
            raise Rejected("evidence-range", "a multiplier is negative", where="evidence array beta")
        if self.beta is not None and not bool(self.beta.any()):
            raise Rejected("unused-evidence", "multipliers that are all 0 say what their absence says", where="evidence array beta")
        self.sets = 0 if arrays.get("slope") is None else len(arrays["slope"])
        named = [np.zeros(0, int), *(np.unique(one.array) for one in (self.leaf_slope, self.node_slope) if one.array is not None)]
        listed = np.unique(np.concatenate(named))
        if self.sets > np.count_nonzero((listed >= 0) & (listed < self.sets)):
            raise Rejected("unused-evidence", "a set of slopes is never used", where="evidence array slope")
        if self.recompute is not None and (len(self.recompute) != len(self.tree) or bool((self.recompute > 1).any())):
            raise Rejected("array-shape" if len(self.recompute) != len(self.tree) else "evidence-range",
                           "recompute holds 0 or 1 for each node of the tree", where="evidence array recompute")
        self.neurons = sum(self.network.layers[k].size for k in self.network.activations)
        self.node = self.splits = self.mixed = self.multiplied = self.leaves = self.fresh = 0
        self.margins: list[Fraction] = []  # the smallest so far
        self.largest = 0.0
        self.bytes = 16 * sum(arithmetic.sizes)  # of the bounds of a box
        self.room = min(_SEGMENT_BYTES, limits.memory // 8)
        self.segment = max(1, min(8 * _BATCH, 4 * self.room // self.bytes))

    def run(self) -> Figures:
        position = roots = 0
        for part in self.parts:
            roots += 1
            self.part, self.work = part, _Work()
            listed = [row for conjunct in part.conjuncts for row in conjunct] if self.row.array is None else []
            self._charge(len(listed))
            self.singles = [self._specify(((row, Fraction(1)),)) for row in listed]
            lower, upper = self.arithmetic.start(part)
            position = walk(self.tree, position, _State(lower, upper, None, 0), self._children, self._leaf, self.limits)
            self._flush()
        if self.recompute is not None and self.fresh == roots:
            raise Rejected("unused-evidence", "it says what its absence says", where="evidence array recompute")
        for name, used, array in (("tree", position, self.tree), ("split_at", self.splits, self.split_at), ("mix", self.mixed, self.mix),
                                  ("beta", self.multiplied, self.beta),
                                  *((one.name, one.used, one.array) for one in (self.row, self.leaf_slope, self.node_slope))):
            if array is not None and (used != len(array) or used == 0):
                raise Rejected("tree-malformed" if name == "tree" else "unused-evidence", f"{len(array) - used} entries are left over",
                               where=f"evidence array {name}")
        # On a region without points a bound can be of any size, and so can its quotient by a small weight.
        return Figures(self.leaves, float(min(self.margins[0], Fraction(1 << 1000))) if self.margins else float("inf"), self.largest)

    def _enter(self, state: _State) -> _State:
        """Note a visited node: its own bounds are due where `recompute` says so, and always at a root."""
        flagged = self.recompute is not None and self.node < len(self.recompute) and bool(self.recompute[self.node])
        fresh = state.slot is None or flagged
        if state.slot is None and self.recompute is not None and not flagged:
            raise Rejected("evidence-range", "the root's bounds are always computed", where="evidence array recompute")
        self.node += 1
        self.fresh += fresh
        if not fresh:
            return state
        self.limits.within(self.bytes * (state.depth + 1), "memory", "memory for the bounds of the tree in bytes")
        slot = _Slot()
        own = _State(state.lower, state.upper, slot, state.depth, state.path)
        self.work.fresh.append((own, slot, state.slot, self.node_slope.take(1, self.sets)[0]))
        return own

    def _children(self, state: _State, item: int) -> tuple[_State, _State]:
        own = self._enter(state)
        inputs = self.network.inputs
        if item >= inputs + self.neurons:
            raise Rejected("branch-invalid", f"the network has no item {item} to branch on", where=f"node {self.node - 1}")
        if item >= inputs:
            self.limits.spend(20 * (self.neurons + own.depth), "splitting on a neuron")
            on, off = (_State(own.lower, own.upper, own.slot, own.depth + 1, (*own.path, (item - inputs, sign))) for sign in (1, -1))
            return on, off
        if self.split_at is None or self.splits >= len(self.split_at):
            raise Rejected("array-shape", "there are fewer thresholds than splits", where="evidence array split_at")
        self.limits.within(32 * inputs * (own.depth + 1), "memory", "memory for the boxes of the tree in bytes")
        self.limits.spend(4 * inputs, "splitting a box")
        theta = float(self.split_at[self.splits])
        self.splits += 1
        ends = self.arithmetic.cut(own.lower[item], own.upper[item], theta)
        if ends is None:
            raise Rejected("branch-invalid", f"the threshold {theta} is not strictly inside the box of input {item}", where=f"node {self.node - 1}")
        high, low = own.lower.copy(), own.upper.copy()
        high[item], low[item] = ends
        return (_State(high, own.upper, own.slot, own.depth + 1, own.path), _State(own.lower, low, own.slot, own.depth + 1, own.path))

    def _leaf(self, state: _State, record: int) -> None:
        own = self._enter(state)
        if record != self.leaves:
            raise Rejected("tree-malformed", f"leaf {self.leaves} names the record {record}: leaves are numbered in order",
                           where="evidence array tree")
        if not all(self.part.conjuncts):
            raise Rejected("leaf-uncovered", "a conjunct constrains no output: its whole box is unsafe", where=f"leaf {record}",
                           fix="the property is violated by every input of this box")
        chosen = None if self.row.array is None else tuple(self._choose(conjunct) for conjunct in self.part.conjuncts)
        slopes = self.leaf_slope.take(len(self.part.conjuncts), self.sets)
        self.work.leaves.append(_Leaf(own, record, chosen, slopes, [self._betas(len(own.path)) for _ in self.part.conjuncts]))
        self.leaves += 1
        if len(self.work.leaves) + len(self.work.fresh) >= self.segment:
            self._flush()

    def _betas(self, count: int) -> list[float]:
        """Return the multipliers of the neurons split on the way to a leaf, for its next conjunct; none where all are 0."""
        if self.beta is None:
            return []
        self.multiplied += count
        if self.multiplied > len(self.beta):
            raise Rejected("array-shape", "there are fewer multipliers than splits on the way to leaves", where="evidence array beta")
        found: list[float] = self.beta[self.multiplied - count : self.multiplied].tolist()
        return found

    def _charge(self, rows: int) -> None:
        """Charge the making of the specifications of that many rows, before they are made."""
        width = self.network.inputs + self.network.outputs
        self.limits.within(32 * rows * width, "memory", "memory for the rows of the property in bytes")
        self.limits.spend(rows * (20_000 + 20 * width), "rounding the rows of the property")

    def _specify(self, rows: Sequence[tuple[Row, Fraction]]) -> tuple[Specification, bool]:
        """Return the sum of weighted rows for the arithmetic, and whether one of them is strict."""
        return self.arithmetic.specify(rows), any(row.strict for row, _ in rows)

    def _choose(self, conjunct: tuple[Row, ...]) -> tuple[tuple[Row, Fraction], ...]:
        """Return the rows that close a conjunct at the next entry of `row`, with their weights."""
        index, = self.row.take(1, len(conjunct))
        if index >= 0:
            return ((conjunct[index], Fraction(1)),)
        weights = self.mix[self.mixed : self.mixed + len(conjunct)] if self.mix is not None else np.zeros(0)
        self.mixed += len(conjunct)
        if len(weights) != len(conjunct):
            raise Rejected("array-shape", "there are fewer multipliers than combinations need", where="evidence array mix")
        if bool((weights < 0).any()):
            raise Rejected("evidence-range", "a multiplier is negative", where="evidence array mix")
        if not bool(weights.any()):
            raise Rejected("all-zero", "multipliers that are all zero prove nothing", where="evidence array mix")
        self.limits.spend(5000 * sum(1 + len(row.inputs) + len(row.outputs) for row in conjunct), "combining rows")
        return tuple((row, Fraction(float(weight))) for row, weight in zip(conjunct, weights, strict=True) if weight)

    def _flush(self) -> None:
        """Work off what is due; bounds that nodes still to come inherit are kept, each on its own, and no whole batches."""
        slots = [ref(slot) for _, slot, _, _ in self.work.fresh]
        self._work_off()
        for slot in filter(None, (one() for one in slots)):
            slot.bounds, slot.index = slot.bounds.take([slot.index]) if slot.bounds is not None else None, 0

    def _work_off(self) -> None:
        work, self.work = self.work, _Work()
        for depth in sorted({own.depth for own, *_ in work.fresh}):
            level = [entry for entry in work.fresh if entry[0].depth == depth]
            size = self._batch()
            for start in range(0, len(level), size):
                self._propagate(level[start : start + size])
        rows = len(self.singles) or len(self.part.conjuncts)
        size = max(1, min(self._batch(), _SEGMENT_BYTES // (32 * rows * (self.network.inputs + self.network.outputs + self.neurons))))
        for start in range(0, len(work.leaves), size):
            self._close(work.leaves[start : start + size])

    def _signs(self, states: list[_State]) -> ByLayer | None:
        """Return the signs of split neurons of a batch, or None where no neuron is split."""
        if not any(state.path for state in states):
            return None
        from certify.rules import neuron_splits
        self.limits.spend(4 * len(states) * self.neurons, "signs of split neurons")
        return neuron_splits.signs(self.network, [state.path for state in states])

    def _batch(self) -> int:
        return max(1, min(_BATCH, self.room // self.bytes))

    def _propagate(self, batch: list[tuple[_State, _Slot, _Slot | None, int]]) -> None:
        known = [parent for _, _, parent, _ in batch if parent is not None]
        inherited = _gathered(known) if known else None  # at one depth, either all nodes are roots or none is
        bounds = self.arithmetic.propagate(np.stack([own.lower for own, *_ in batch]), np.stack([own.upper for own, *_ in batch]), inherited,
                                           np.array([chosen for *_, chosen in batch]) if self.node_slope.array is not None else None,
                                           self._signs([own for own, *_ in batch]))
        self.largest = max(self.largest, self.arithmetic.largest(bounds))
        for index, (_, slot, _, _) in enumerate(batch):
            slot.bounds, slot.index = bounds, index

    def _close(self, leaves: list[_Leaf]) -> None:
        """Raise Rejected `leaf-uncovered` unless every conjunct is closed at every leaf of the batch."""
        bounds, empty = _gathered([leaf.state.slot for leaf in leaves]), np.zeros(len(leaves), bool)
        signs, multipliers = self._signs([leaf.state for leaf in leaves]), None
        lower, upper = np.stack([leaf.state.lower for leaf in leaves]), np.stack([leaf.state.upper for leaf in leaves])
        alone = self.row.array is None
        lengths = [len(conjunct) if alone else 1 for conjunct in self.part.conjuncts]
        rows: list[tuple[Specification, bool]] = []
        self._charge(sum(len(leaf.rows) for leaf in leaves if leaf.rows is not None))
        for leaf in leaves:
            rows += self.singles if leaf.rows is None else [self._specify(chosen) for chosen in leaf.rows]
        owner = np.repeat(np.arange(len(leaves)), sum(lengths))
        chosen = np.repeat(np.array([leaf.slopes for leaf in leaves]), lengths, axis=1).reshape(-1) if self.leaf_slope.array is not None else None
        self.limits.spend(owner.size * (4000 + 20 * sum(self.arithmetic.sizes)) + 30_000 * len(lengths), "bounding the rows of leaves")
        if signs is not None:
            from certify.rules import neuron_splits
            bounds, empty = neuron_splits.clamped(bounds, signs)
            if self.beta is not None:
                betas = [(leaf.state.path, beta) for leaf in leaves for beta, count in zip(leaf.betas, lengths, strict=True) for _ in range(count)]
                multipliers = self.arithmetic.multipliers(betas)
        found = self.arithmetic.bound([row for row, _ in rows], owner, bounds, lower, upper, chosen, multipliers).reshape(len(leaves), -1)
        strict = np.array([strict for _, strict in rows]).reshape(found.shape)
        ends = np.cumsum([0, *lengths])
        for conjunct, (start, stop) in enumerate(pairwise(ends)):
            mine = found[:, start:stop]
            best = mine.max(axis=1)
            shut = ((mine > 0) | (strict[:, start:stop] & (mine >= 0))).any(axis=1) | empty
            if not shut.all():
                worst = int(np.flatnonzero(~shut)[0])
                raise Rejected("leaf-uncovered", f"the bound of conjunct {conjunct} is {best[worst] / self.arithmetic.unit:.3g}, not above 0",
                               where=f"leaf {leaves[worst].number}",
                               fix="the evidence does not establish the claim: ask the author for a new certificate")
            # In the units of the rows: an author must not scale the margin by the weights of a combination.
            margins = [Fraction(best[~empty].min())] if alone and not empty.all() else [
                Fraction(bound) / sum(weight for _, weight in leaf.rows[conjunct])
                for leaf, bound, gone in zip(leaves, best.tolist(), empty, strict=True) if leaf.rows is not None and not gone]
            self.margins = sorted([*self.margins, *(margin / self.arithmetic.unit for margin in margins)])[:1]


def _gathered(slots: Sequence[_Slot | None]) -> Bounds:
    """Return one batch with the bounds of every slot, in order."""
    found: dict[int, tuple[Bounds, list[int], list[int]]] = {}
    for place, slot in enumerate(slots):
        if slot is None or slot.bounds is None:
            raise RuntimeError("bounds are due before their batch was computed")
        _, rows, places = found.setdefault(id(slot.bounds), (slot.bounds, [], []))
        rows.append(slot.index)
        places.append(place)
    order = np.argsort(np.concatenate([places for _, _, places in found.values()]))
    together = stack([bounds.take(rows) for bounds, rows, _ in found.values()])
    return together if len(found) == 1 else together.take(order.tolist())
