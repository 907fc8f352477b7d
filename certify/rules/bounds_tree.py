# SPDX-License-Identifier: Apache-2.0
"""A branching over the input box whose every leaf is shown to be free of unsafe points.

A leaf closes a conjunct {g_1 <= 0, ..., g_r <= 0} if a lower bound of some g_i, or of some sum of lambda_i g_i with lambda >= 0 not
all 0, is positive on its box: at an unsafe point the sum would be <= 0. If a g_i with lambda_i > 0 is strict (unsafe where g_i < 0), a bound
of 0 is enough. A conjunct without rows is never closed. If every leaf closes every
conjunct of its part, no point of any part is unsafe: the leaves cover the box (`tree`; a split at theta is x_t >= theta or x_t <=
theta), and each bound is sound (`relaxation`). Rational coefficients q that are no doubles are rounded to r, and
|q - r| H is deducted; combinations are formed in rationals.

Evidence: `tree`, `split_at` (thresholds in preorder), `recompute` (where bounds are computed afresh, else inherited from the
nearest ancestor), `row` (leaf by leaf, conjunct by conjunct: which row; -1: the next vector of `mix`), `mix`. Every number is a choice for
which any value in its range is sound; no bound is stored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from certify.errors import Declined, Rejected
from certify.limits import Limits
from certify.readers.formula import Part, Row
from certify.readers.network import Network
from certify.rules.balls import KAPPA, SNAP, Array, above, below, down, snap_lower, snap_upper
from certify.rules.products import dot
from certify.rules.relaxation import Bounds, Index, Relaxation, Rows, stack
from certify.rules.tree import walk

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


@dataclass(frozen=True, eq=False)
class _Leaf:
    state: _State
    number: int
    rows: tuple[tuple[tuple[Row, Fraction], ...], ...] | None  # for each conjunct rows with weights, or None: the best single row


@dataclass(eq=False)
class _Work:
    fresh: list[tuple[_State, _Slot, _Slot | None]] = field(default_factory=list)
    leaves: list[_Leaf] = field(default_factory=list)


def check(network: Network, parts: Sequence[Part], arrays: Mapping[str, Array], limits: Limits) -> Figures:
    """Return figures if every leaf closes every conjunct; raises Rejected (`leaf-uncovered` where one does not) or Declined."""
    with np.errstate(over="ignore", invalid="ignore"):  # infinities and NaN end in a rejection, not in a warning
        return _Check(network, parts, arrays, limits).run()


class _Check:
    def __init__(self, network: Network, parts: Sequence[Part], arrays: Mapping[str, Array], limits: Limits) -> None:
        self.network, self.parts, self.limits = network, parts, limits
        self.tree = arrays["tree"]
        limits.within(len(self.tree), "tree_nodes", "nodes of the tree")
        limits.spend(_NODE_COST * len(self.tree), "walking the tree")
        self.split_at = arrays.get("split_at")
        self.recompute = arrays.get("recompute")
        self.row = arrays.get("row")
        self.mix = arrays.get("mix")
        if self.recompute is not None and (len(self.recompute) != len(self.tree) or bool((self.recompute > 1).any())):
            raise Rejected("array-shape" if len(self.recompute) != len(self.tree) else "evidence-range",
                           "recompute holds 0 or 1 for each node of the tree", where="evidence array recompute")
        if self.recompute is not None and not bool(self.recompute[1:].any()):
            raise Rejected("unused-evidence", "it says what its absence says", where="evidence array recompute")
        self.relaxation = Relaxation(network, limits)
        self.neurons = sum(network.layers[k].size for k in network.activations)
        self.node = self.splits = self.rows_used = self.mixed = self.leaves = 0
        self.smallest, self.largest = float("inf"), 0.0
        self.segment = max(_BATCH, min(8 * _BATCH, _SEGMENT_BYTES // (16 * network.inputs + 1)))

    def run(self) -> Figures:
        position = 0
        for part in self.parts:
            self.part, self.work = part, _Work()
            self._charge(sum(map(len, part.conjuncts)) if self.row is None else 0)
            listed = [row for conjunct in part.conjuncts for row in conjunct] if self.row is None else []
            self.singles = [_specification(((row, Fraction(1)),), self.network) for row in listed]
            root = _State(np.array([below(v) for v in part.lower]), np.array([above(v) for v in part.upper]), None, 0)
            position = walk(self.tree, position, root, self._children, self._leaf, self.limits)
            self._flush()
        for name, used, array in (("tree", position, self.tree), ("split_at", self.splits, self.split_at), ("row", self.rows_used, self.row),
                                  ("mix", self.mixed, self.mix)):
            if array is not None and (used != len(array) or used == 0):
                raise Rejected("tree-malformed" if name == "tree" else "unused-evidence", f"{len(array) - used} entries are left over",
                               where=f"evidence array {name}")
        return Figures(self.leaves, self.smallest, self.largest)

    def _enter(self, state: _State) -> _State:
        """Note a visited node: its own bounds are due where `recompute` says so, and always at a root."""
        flagged = self.recompute is not None and self.node < len(self.recompute) and bool(self.recompute[self.node])
        fresh = state.slot is None or flagged
        if state.slot is None and self.recompute is not None and not flagged:
            raise Rejected("evidence-range", "the root's bounds are always computed", where="evidence array recompute")
        self.node += 1
        if not fresh:
            return state
        slot = _Slot()
        own = _State(state.lower, state.upper, slot, state.depth)
        self.work.fresh.append((own, slot, state.slot))
        return own

    def _children(self, state: _State, item: int) -> tuple[_State, _State]:
        own = self._enter(state)
        inputs = self.network.inputs
        if inputs <= item < inputs + self.neurons:
            raise Declined("feature-unsupported", "this version can't check splits on neurons", where="evidence array tree",
                           fix="verify it with a newer version of certify")
        if item >= inputs:
            raise Rejected("branch-invalid", f"the network has no item {item} to branch on", where=f"node {self.node - 1}")
        if self.split_at is None or self.splits >= len(self.split_at):
            raise Rejected("array-shape", "there are fewer thresholds than splits", where="evidence array split_at")
        self.limits.within(32 * inputs * (own.depth + 1), "memory", "memory for the boxes of the tree in bytes")
        self.limits.spend(4 * inputs, "splitting a box")
        theta = float(self.split_at[self.splits])
        self.splits += 1
        if not own.lower[item] < theta < own.upper[item]:
            raise Rejected("branch-invalid", f"the threshold {theta} is not strictly inside the box of input {item}", where=f"node {self.node - 1}")
        high, low = own.lower.copy(), own.upper.copy()
        high[item] = low[item] = theta
        return _State(high, own.upper, own.slot, own.depth + 1), _State(own.lower, low, own.slot, own.depth + 1)

    def _leaf(self, state: _State, record: int) -> None:
        own = self._enter(state)
        if record != self.leaves:
            raise Rejected("tree-malformed", f"leaf {self.leaves} names the record {record}: leaves are numbered in order",
                           where="evidence array tree")
        if not all(self.part.conjuncts):
            raise Rejected("leaf-uncovered", "a conjunct constrains no output: its whole box is unsafe", where=f"leaf {record}",
                           fix="the property is violated by every input of this box")
        chosen = None if self.row is None else tuple(self._choose(conjunct) for conjunct in self.part.conjuncts)
        self.work.leaves.append(_Leaf(own, record, chosen))
        self.leaves += 1
        if len(self.work.leaves) + len(self.work.fresh) >= self.segment:
            self._flush()

    def _charge(self, rows: int) -> None:
        """Charge the making of the specifications of that many rows, before they are made."""
        width = self.network.inputs + self.network.outputs
        self.limits.within(32 * rows * width, "memory", "memory for the rows of the property in bytes")
        self.limits.spend(rows * (20_000 + 20 * width), "rounding the rows of the property")

    def _choose(self, conjunct: tuple[Row, ...]) -> tuple[tuple[Row, Fraction], ...]:
        """Return the rows that close a conjunct at the next entry of `row`, with their weights."""
        row = self.row if self.row is not None else np.zeros(0)
        if self.rows_used >= len(row):
            raise Rejected("array-shape", "there are fewer entries than conjuncts at leaves", where="evidence array row")
        index = int(row[self.rows_used])
        self.rows_used += 1
        if index >= len(conjunct) or index < -1:
            raise Rejected("evidence-range", f"a conjunct of {len(conjunct)} rows has no row {index}", where="evidence array row")
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
        work, self.work = self.work, _Work()
        for depth in sorted({own.depth for own, _, _ in work.fresh}):
            level = [entry for entry in work.fresh if entry[0].depth == depth]
            size = self._batch()
            for start in range(0, len(level), size):
                self._propagate(level[start : start + size])
        rows = len(self.singles) or len(self.part.conjuncts)
        size = max(1, min(self._batch(), _SEGMENT_BYTES // (32 * rows * (self.network.inputs + self.network.outputs))))
        for start in range(0, len(work.leaves), size):
            self._close(work.leaves[start : start + size])

    def _batch(self) -> int:
        return max(1, min(_BATCH, _SEGMENT_BYTES // (16 * sum(self.relaxation.sizes))))

    def _propagate(self, batch: list[tuple[_State, _Slot, _Slot | None]]) -> None:
        known = [_bounds(parent) for _, _, parent in batch if parent is not None]
        inherited = stack(known) if known else None  # at one depth, either all nodes are roots or none is
        bounds = self.relaxation.propagate(np.stack([own.lower for own, _, _ in batch]), np.stack([own.upper for own, _, _ in batch]), inherited)
        self.largest = max(self.largest, *(float(self.relaxation.magnitude(bounds, k).max()) for k in range(len(bounds.lower))))
        for index, (_, slot, _) in enumerate(batch):
            slot.bounds, slot.index = bounds, index

    def _close(self, leaves: list[_Leaf]) -> None:
        """Raise Rejected `leaf-uncovered` unless every conjunct is closed at every leaf of the batch."""
        bounds = stack([_bounds(leaf.state.slot) for leaf in leaves])
        lower, upper = np.stack([leaf.state.lower for leaf in leaves]), np.stack([leaf.state.upper for leaf in leaves])
        lengths = [len(conjunct) if self.row is None else 1 for conjunct in self.part.conjuncts]
        rows: list[_Specification] = []
        self._charge(sum(len(leaf.rows) for leaf in leaves if leaf.rows is not None))
        for leaf in leaves:
            rows += self.singles if leaf.rows is None else [_specification(chosen, self.network) for chosen in leaf.rows]
        owner = np.repeat(np.arange(len(leaves)), sum(lengths))
        self.limits.spend(20 * owner.size * sum(self.relaxation.sizes), "bounding the rows of leaves")
        found = self._bound(rows, owner, bounds, lower, upper).reshape(len(leaves), sum(lengths))
        strict = np.array([row.strict for row in rows]).reshape(found.shape)
        ends = np.cumsum([0, *lengths])
        for conjunct in range(len(lengths)):
            own = slice(ends[conjunct], ends[conjunct + 1])
            best = found[:, own].max(axis=1)
            shut = ((found > 0) | (strict & (found >= 0)))[:, own].any(axis=1)
            if not shut.all():
                worst = int(np.where(shut, np.inf, best).argmin())
                raise Rejected("leaf-uncovered", f"the bound of conjunct {conjunct} is {best[worst]:.3g}, not above 0",
                               where=f"leaf {leaves[worst].number}",
                               fix="the evidence does not establish the claim: ask the author for a new certificate")
            # In the units of the rows: an author must not scale the margin by the weights of a combination.
            for leaf, bound in zip(leaves, best.tolist(), strict=True):
                total = Fraction(1) if leaf.rows is None else sum((weight for _, weight in leaf.rows[conjunct]), Fraction(0))
                self.smallest = min(self.smallest, bound if total == 1 else float(Fraction(bound) / total))

    def _bound(self, rows: list[_Specification], owner: Index, bounds: Bounds, lower: Array, upper: Array) -> Array:
        last = len(self.network.layers)
        block = max(1, _SEGMENT_BYTES // (8 * max(self.relaxation.sizes)))
        found: list[Array] = []
        for start in range(0, len(rows), block):
            some, whose = rows[start : start + block], owner[start : start + block]
            reach = np.maximum(np.maximum(np.abs(snap_lower(lower)), np.abs(snap_upper(upper))), SNAP)[whose]
            lost = dot(np.stack([row.output_residue for row in some]), self.relaxation.magnitude(bounds, last)[whose])
            lost = lost + dot(np.stack([row.input_residue for row in some]), reach)
            constant = down(np.array([row.constant for row in some]) - KAPPA * lost)
            added = np.stack([row.inputs for row in some])
            found.append(self.relaxation.lower_bounds(Rows(np.stack([row.outputs for row in some]), constant, whose), last, bounds, lower, upper,
                                                      added if bool(added.any()) else None))
        return np.concatenate(found) if found else np.zeros(0)


@dataclass(frozen=True, eq=False)
class _Specification:
    """g with double coefficients: g(x, y) >= inputs.x + outputs.y + constant - input_residue.|x| - output_residue.|y|."""

    inputs: Array
    outputs: Array
    input_residue: Array
    output_residue: Array
    constant: float
    strict: bool


def _specification(rows: Sequence[tuple[Row, Fraction]], network: Network) -> _Specification:
    """Return the sum of weighted rows, formed in rationals, with its coefficients rounded to doubles."""
    sides = []
    for size, terms in ((network.inputs, [(row.inputs, w) for row, w in rows]), (network.outputs, [(row.outputs, w) for row, w in rows])):
        total: dict[int, Fraction] = {}
        for term, weight in terms:
            for index, value in term.items():
                total[index] = total.get(index, Fraction(0)) + weight * value
        coefficients, residue = np.zeros(size), np.zeros(size)
        for index, value in total.items():
            near = below(value)
            near = 0.0 if abs(near) < SNAP else near
            lost = abs(value - Fraction(near))
            coefficients[index], residue[index] = near, max(above(lost), SNAP) if lost else 0.0
        sides.append((coefficients, residue))
    constant = below(sum((weight * row.constant for row, weight in rows), Fraction(0)))
    if abs(constant) > 2.0**300 or any(bool((np.abs(values) > 2.0**300).any()) for side in sides for values in side):
        raise Rejected("number-too-large", "a coefficient of the property exceeds 2^300 in size", fix="such a property can't be checked in f64-gamma")
    return _Specification(sides[0][0], sides[1][0], sides[0][1], sides[1][1], constant, any(row.strict for row, _ in rows))


def _bounds(slot: _Slot | None) -> Bounds:
    if slot is None or slot.bounds is None:
        raise RuntimeError("bounds are due before their batch was computed")
    return slot.bounds.take([slot.index])
