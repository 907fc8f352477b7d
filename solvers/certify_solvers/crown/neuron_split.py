# SPDX-License-Identifier: Apache-2.0
"""Branch and bound on the signs of neurons, for networks with many inputs.

Bounds of inner neurons are computed at a few nodes only (*bases*: the root, and every node some levels below the last base) and inherited below
them; at every other node just the lines of the split neurons change, and the slopes and multipliers of the conjuncts that are open are tuned,
for many nodes at once. Nodes are taken depth first; an open one is split on the neuron whose line costs its worst conjunct most.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from certify.readers.network import Dense, Network, Relu, Scale
from certify.rules.neuron_splits import Path
from certify_solvers.common.prover import Effort, Progress
from certify_solvers.crown.alpha import Conjunct, Tuned, tune
from certify_solvers.crown.domain import Domain
from certify_solvers.crown.emission import Arrays
from certify_solvers.crown.kernel import Array

_BATCH = 32
_STEPS = 24
_BASE_STEPS = 5
_PATIENT = 20  # times as many steps where nothing is left to split
_LEVELS = 8  # from one base to the next
_RISING = 0.01  # the weight of a neuron whose lower line counts, beside one whose chord does
_LOOK = 3  # candidates for a split that are looked at by bounding both halves
_RATE, _DECAY = 0.1, 0.96
_MARGIN = 1e-7
Hit = Callable[[Array], bool]


@dataclass(eq=False)
class _Base:
    """Bounds of inner neurons on the region of a node: inputs of all ReLU neurons in one row, and the slope set that gave them."""

    low: Array
    high: Array
    node_set: np.ndarray[Any, Any]


@dataclass(eq=False)
class _Node:
    path: Path
    base: _Base
    leaf: Array  # lower slopes 0..255, one row a conjunct
    beta: dict[int, Array] = field(default_factory=dict)  # multipliers by neuron, one a conjunct
    fresh: bool = False  # bounds are computed at this node
    neuron: int = -1
    children: tuple[_Node, _Node] | None = None


@dataclass(frozen=True, eq=False)
class Closed:
    """A tree whose leaves are all closed, as evidence."""

    arrays: Arrays


class Search:
    """The search for one part; `most` nodes at most."""

    def __init__(self, network: Network, domain: Domain, conjuncts: Sequence[Conjunct], root: Tuned, effort: Effort, most: int) -> None:
        self.network, self.domain, self.conjuncts, self.effort, self.most = network, domain, conjuncts, effort, most
        chosen = list(zip(conjuncts, root.rows, strict=True))
        self.added, self.outputs, self.constant = (np.stack([conjunct[side][row] for conjunct, row in chosen]) for side in range(3))
        ends = np.cumsum([0, *(network.layers[j].size for j in network.activations)]).tolist()
        self.spans = dict(zip(network.activations, pairwise(ends), strict=True))
        self.top = _Node((), _Base(root.low, root.high, root.node[0]), root.leaf.astype(float), fresh=True)
        self.bounded = 0

    def run(self, hit: Hit, report: Progress = lambda stage, facts: None) -> Closed | None:
        """Return the closed tree, or None where the time, the number of nodes or a counterexample (`hit` of its points) ended it first."""
        pending = [self.top]
        while pending:
            batch = [pending.pop() for _ in range(min(_BATCH, len(pending)))]
            self.bounded += len(batch)
            if self.bounded > self.most or self.effort.left() <= 0:
                return None
            with np.errstate(all="ignore"):
                closed, scores, points = self._tune(batch)
            if points.size and hit(points):
                return None
            opened = []
            for index, node in enumerate(batch):
                if closed[index]:
                    continue
                node.neuron = int(scores[index].argmax())
                if not scores[index, node.neuron] > 0:  # no line is loose: only the multipliers can still be wrong
                    with np.errstate(all="ignore"):
                        settled, _, _ = self._tune([node], _PATIENT * _STEPS)
                    if settled[0]:
                        continue
                    return None
                node.children = self._split(node)
                opened += [node.children[1], node.children[0]]
            pending += opened
            report("splitting neurons", {"parts bounded": self.bounded, "waiting": len(pending)})
        return Closed(self._evidence())

    def _split(self, node: _Node) -> tuple[_Node, _Node]:
        on, off = (_Node((*node.path, (node.neuron, sign)), node.base, node.leaf, dict(node.beta)) for sign in (1, -1))
        for child in (on, off):
            if len(child.path) % _LEVELS == 0:
                self._rebase(child)
        return on, off

    def _rebase(self, node: _Node) -> None:
        """Bound the inner neurons anew on a node's region, with slopes tuned for it."""
        beta = np.array([node.beta.get(neuron, np.zeros(len(self.constant))) for neuron, _ in node.path]).T
        none = np.zeros(0)
        warm = Tuned(node.base.node_set[None], np.rint(node.leaf).astype(np.uint8), none, none, False, beta, none, [], none, none)
        found = tune(self.network, self.domain, self.conjuncts, self.effort, _BASE_STEPS, node.path, warm)
        if found is None:
            return
        node.base = _Base(np.maximum(found.low, node.base.low), np.minimum(found.high, node.base.high), found.node[0])
        node.leaf, node.fresh = found.leaf.astype(float), True
        for index, (neuron, _) in enumerate(node.path):
            node.beta[neuron] = found.beta[:, index]

    def _tune(self, batch: list[_Node], steps: int = _STEPS) -> tuple[np.ndarray[Any, Any], Array, Array]:
        """Tune the conjuncts of a batch of nodes; return which nodes are closed, how much each neuron costs the others, and their minimisers."""
        count, conjuncts = len(batch), len(self.constant)
        low, high = np.stack([node.base.low for node in batch]), np.stack([node.base.high for node in batch])
        signs = np.zeros(low.shape)
        for index, node in enumerate(batch):
            for neuron, sign in node.path:
                signs[index, neuron] = sign
        low, high = np.where(signs > 0, np.maximum(low, 0.0), low), np.where(signs < 0, np.minimum(high, 0.0), high)
        void = (low > high + 1e-9 * (1 + np.abs(low))).any(axis=1)
        lines = _Lines(low, high, signs)
        owner, conjunct = np.repeat(np.arange(count), conjuncts), np.tile(np.arange(conjuncts), count)
        alpha = np.concatenate([node.leaf for node in batch]) / 255.0
        beta = np.zeros_like(alpha)
        for index, node in enumerate(batch):
            for neuron, value in node.beta.items():
                beta[index * conjuncts : (index + 1) * conjuncts, neuron] = value
        bound, coefficients, points = self._pass(alpha, beta, owner, conjunct, lines)
        best, best_alpha, best_beta = bound.copy(), alpha.copy(), beta.copy()
        rows = np.flatnonzero(~self._clear(bound, conjunct) & ~void[owner])
        first, second = [np.zeros_like(alpha), np.zeros_like(alpha)], [np.zeros_like(alpha), np.zeros_like(alpha)]
        scale = max(1e-12, float(np.abs(self.outputs).max()))
        for step in range(1, steps + 1):
            if not rows.size:
                break
            if step > 1:
                bound[rows], coefficients[rows], points[rows] = self._pass(alpha[rows], beta[rows], owner[rows], conjunct[rows], lines)
                better = rows[bound[rows] > best[rows]]
                best[better], best_alpha[better], best_beta[better] = bound[better], alpha[better], beta[better]
                rows = rows[~self._clear(best[rows], conjunct[rows])]
                if not rows.size or step == steps:
                    break
            z = self._forward(points[rows], coefficients[rows], alpha[rows], owner[rows], lines)
            gradients = (np.where(lines.crossing[owner[rows]], np.maximum(coefficients[rows], 0.0) * z, 0.0), -lines.signs[owner[rows]] * z)
            rate = _RATE * _DECAY ** (step * _STEPS / steps)
            for parameter, gradient, a, b, size in ((alpha, gradients[0], first[0], second[0], rate),
                                                    (beta, gradients[1], first[1], second[1], rate * scale)):
                a[rows] = 0.9 * a[rows] + 0.1 * gradient
                b[rows] = 0.999 * b[rows] + 0.001 * gradient * gradient
                move = a[rows] / (1 - 0.9**step) / (np.sqrt(b[rows] / (1 - 0.999**step)) + 1e-12)
                parameter[rows] = np.maximum(parameter[rows] + size * move, 0.0)
            alpha[rows] = np.minimum(alpha[rows], 1.0)
        clear = self._clear(best, conjunct).reshape(count, conjuncts)
        closed = clear.all(axis=1) | void
        bound, coefficients, points = self._pass(best_alpha, best_beta, owner, conjunct, lines)
        worst = np.arange(count) * conjuncts + best.reshape(count, conjuncts).argmin(axis=1)
        scores = np.where(coefficients[worst] < 0, 1.0, _RISING) * np.abs(coefficients[worst]) * lines.offset
        # Where no line of the row is loose, a neuron that is stable on the part is split all the same if its sign is wrong at the minimiser: one
        # half is void, and the other gets a multiplier for what inner bounds knew and the row did not. Else any loose line will do: the
        # inputs of split neurons depend on it.
        z = self._forward(points[worst], coefficients[worst], best_alpha[worst], owner[worst], lines)
        wrong = np.where(lines.active > 0, np.maximum(-z, 0.0), np.maximum(z, 0.0)) * ((signs == 0) & ~lines.crossing)
        for others in (wrong, np.where(lines.crossing, lines.offset, 0.0)):
            scores = np.where(scores.max(axis=1, keepdims=True) > 0, scores, others)
        opened = np.flatnonzero(~closed & (scores.max(axis=1) > 0))
        if opened.size:
            self._look_ahead(scores, opened, (low, high, signs), best_alpha[worst], best_beta[worst], conjunct[worst])
        for index, node in enumerate(batch):
            mine = slice(index * conjuncts, (index + 1) * conjuncts)
            node.leaf = np.rint(255 * best_alpha[mine])
            node.beta = {neuron: best_beta[mine, neuron] for neuron, _ in node.path}
        return closed, scores, points[worst][~closed]

    def _look_ahead(self, scores: Array, opened: Any, state: tuple[Array, Array, Array], alpha: Array, beta: Array, conjunct: Any) -> None:
        """Raise the score of the candidate, of the best few of each open node, whose halves are bounded best by one pass."""
        picks = np.argsort(-scores[opened], axis=1, kind="stable")[:, :_LOOK]
        node, neuron, sign = np.repeat(opened, 2 * _LOOK), np.repeat(picks.reshape(-1), 2), np.tile([1.0, -1.0], picks.size)
        low, high, signs = (values[node] for values in state)
        every = np.arange(len(node))
        signs[every, neuron] = sign
        low[every, neuron] = np.where(sign > 0, np.maximum(low[every, neuron], 0.0), low[every, neuron])
        high[every, neuron] = np.where(sign < 0, np.minimum(high[every, neuron], 0.0), high[every, neuron])
        bound, _, _ = self._pass(alpha[node], beta[node], every, conjunct[node], _Lines(low, high, signs))
        halves = bound.reshape(len(opened), _LOOK, 2).min(axis=2)
        halves = np.where(np.take_along_axis(scores[opened], picks, axis=1) > 0, halves, -np.inf)
        chosen = picks[np.arange(len(opened)), halves.argmax(axis=1)]
        scores[opened, chosen] += scores[opened].max(axis=1)

    def _clear(self, bound: Array, conjunct: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        found: np.ndarray[Any, Any] = bound > max(_MARGIN, self.domain.slack) * (1 + np.abs(self.constant[conjunct]))
        return found

    def _pass(self, alpha: Array, beta: Array, owner: Any, conjunct: Any, lines: _Lines) -> tuple[Array, Array, Array]:
        """Return bounds of rows, with slopes rounded as in evidence, their coefficients on the outputs of ReLU neurons, and minimisers."""
        alpha = np.rint(255 * alpha) / 255
        rows, constant = self.outputs[conjunct], self.constant[conjunct]
        coefficients = np.zeros(alpha.shape)
        for j in range(len(self.network.layers) - 1, -1, -1):
            layer = self.network.layers[j]
            if isinstance(layer, Relu):
                span = slice(*self.spans[j])
                coefficients[:, span] = rows
                falling = np.minimum(rows, 0.0)
                constant = constant + (falling * lines.offset[owner, span]).sum(axis=1)
                slope = np.where(lines.crossing[owner, span], alpha[:, span], lines.active[owner, span])
                rows = np.maximum(rows, 0.0) * slope + falling * lines.chord[owner, span] - beta[:, span] * lines.signs[owner, span]
            else:
                constant = constant + rows @ layer.bias
                rows = rows @ layer.weight if isinstance(layer, Dense) else layer.sign * rows
        least, points = self.domain.least(rows + self.added[conjunct])
        return constant + least, coefficients, points

    def _forward(self, points: Array, coefficients: Array, alpha: Array, owner: Any, lines: _Lines) -> Array:
        """Return the inputs of all ReLU neurons in the relaxed networks of rows, at their minimisers."""
        z, h = np.zeros(alpha.shape), points
        for j, layer in enumerate(self.network.layers):
            if isinstance(layer, Dense):
                h = h @ layer.weight.T + layer.bias
            elif isinstance(layer, Scale):
                h = layer.sign * h + layer.bias
            else:
                span = slice(*self.spans[j])
                z[:, span] = h
                slope = np.where(lines.crossing[owner, span], alpha[:, span], lines.active[owner, span])
                h = np.where(coefficients[:, span] >= 0, slope * h, lines.chord[owner, span] * h + lines.offset[owner, span])
        return z

    def _evidence(self) -> Arrays:
        """Return the arrays of the tree: bounds at the bases, each leaf with its own slopes and multipliers."""
        tree: list[int] = []
        flags: list[int] = []
        node_slope: list[int] = []
        leaf_slope: list[int] = []
        sets: dict[bytes, int] = {}
        beta: list[float] = []
        leaves, pending = 0, [self.top]

        def number(values: Array) -> int:
            return sets.setdefault(np.rint(values).astype(np.uint8).tobytes(), len(sets))

        while pending:
            node = pending.pop()
            flags.append(int(node.fresh))
            if node.fresh:
                node_slope.append(number(node.base.node_set))
            if node.children is not None:
                tree.append(self.network.inputs + node.neuron)
                pending += [node.children[1], node.children[0]]
                continue
            tree.append(-1 - leaves)
            leaves += 1
            leaf_slope += [number(values) for values in node.leaf]
            beta += [float(node.beta[neuron][c]) for c in range(len(self.constant)) for neuron, _ in node.path]
        slope = np.frombuffer(b"".join(sets), np.uint8).reshape(len(sets), -1)
        return {"tree": np.array(tree, "<i4"), "recompute": np.array(flags, "|u1"), "slope": slope, "leaf_slope": np.array(leaf_slope, "<i4"),
                "node_slope": np.array(node_slope, "<i4"), "beta": np.array(beta, "<f8")}


class _Lines:
    """The lines of ReLU neurons on bounds, one row a node."""

    def __init__(self, low: Array, high: Array, signs: Array) -> None:
        self.signs = signs
        self.crossing = (low < 0) & (high > 0)
        self.active = np.where(low >= 0, 1.0, 0.0)
        self.chord = np.where(self.crossing, high / np.where(self.crossing, high - low, 1.0), self.active)
        self.offset = np.where(self.crossing, -self.chord * low, 0.0)


def search(network: Network, domain: Domain, conjuncts: Sequence[Conjunct], root: Tuned, effort: Effort, hit: Hit, most: int,
           report: Progress = lambda stage, facts: None) -> Closed | None:
    """Return the closed tree, or None where the time, the number of nodes or a counterexample (`hit` of its points) ended the search first."""
    return Search(network, domain, conjuncts, root, effort, most).run(hit, report)
