# SPDX-License-Identifier: Apache-2.0
"""Search for a tree of attacked and never attacked lines whose every leaf has flows that bound its attacks: the worst case, exactly.

Depth first. At a node the linear program gives flows; if what they bound is at most the target, the node is a leaf, else it branches on the free
line with the largest flow. A node without budget that stays above the target is an attack that sheds more: the target rises to its exact cut (or
the claim is refuted, where the target was demanded). So at the end the target is the worst attack found, and the tree shows that none is worse.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from certify.readers.power import Network
from certify.rules.attacks import Game
from certify_solvers.common.prover import Progress
from certify_solvers.grid.attack import best_cut
from certify_solvers.grid.cuts import promising
from certify_solvers.grid.nodelp import NodeLP, Solution
from certify_solvers.grid.rounding import Rounding, Witness

_SLACK = 1e-6  # MW: by so much a linear program may be off
_OFTEN, _EVERY, _PROMISING, _FEW = 200, 20, 20, 100


@dataclass(frozen=True, eq=False)
class Attack:
    """Lines taken out, and the cut that shows that at least `shed` MW are shed."""

    lines: tuple[int, ...]
    shed: Fraction
    side: np.ndarray[Any, Any]


@dataclass(eq=False)
class Tree:
    """The tree so far: nodes in preorder, witnesses, and the largest bound of a leaf; `complete` unless the search was stopped."""

    nodes: list[int] = field(default_factory=list)
    witnesses: list[Witness] = field(default_factory=list)
    worst: Fraction = Fraction(0)
    leaves: int = 0
    complete: bool = True


@dataclass(frozen=True, eq=False)
class _Node:
    attacked: tuple[int, ...]
    free: np.ndarray[Any, Any]
    budget: int
    parent: Witness | None  # whose flows are still allowed here


class Search:
    """One network and game. `stop` says whether to end: what is open is then closed by what its linear program bounds."""

    def __init__(self, network: Network, played: Game, stop: Callable[[], bool], progress: Progress) -> None:
        self.network, self.played, self.stop, self.progress = network, played, stop, progress
        self.program, self.rounding = NodeLP(network, played), Rounding(network, played)
        self.costs = np.array(played.costs)
        self.best: Attack | None = None
        self.seen: set[tuple[int, ...]] = set()

    @property
    def known(self) -> Fraction:
        """What the best attack sheds at least."""
        return Fraction(0) if self.best is None else self.best.shed

    def try_attack(self, lines: tuple[int, ...]) -> None:
        """Evaluate an attack exactly and keep it if it is the best."""
        lines = tuple(sorted(lines))
        if lines in self.seen:
            return
        self.seen.add(lines)
        found = self.program.solve(lines, np.zeros(len(self.costs), bool), 0)
        if found.value > float(self.known) + _SLACK:
            self._keep(lines, found)

    def none(self, lines: tuple[int, ...]) -> Attack:
        """Return an attack that is not known to shed anything."""
        return Attack(tuple(sorted(lines)), Fraction(0), np.zeros(len(self.network.numbers), np.uint8))

    def _keep(self, lines: tuple[int, ...], found: Solution) -> None:
        shed, side = best_cut(self.network, lines, found.prices)
        if shed > self.known:
            self.best = Attack(tuple(sorted(lines)), shed, side)

    def warm(self) -> None:
        """Look for good attacks before the search."""
        for lines in promising(self.network, self.played, _PROMISING):
            self.try_attack(lines)

    def one_leaf(self) -> Tree:
        """Return the tree of one leaf: what the linear program bounds without branching."""
        tree, free = Tree(), np.array(self.played.free)
        node = _Node((), free, self.played.budget, None)
        found = self.program.solve((), free, self.played.budget)
        self._leaf(tree, node, self._witness(node, found, Fraction(found.value).limit_denominator(10**6)))
        return tree

    def run(self, demanded: Fraction | None = None) -> Tree | Attack:
        """Return a tree, or an attack that sheds more than what is demanded; raises SolverFailed."""
        before = self.known
        found = self._search(demanded)
        if isinstance(found, Tree) and found.complete and self.known > before and found.leaves > _FEW:
            again = self._search(demanded)  # against the better target from the start, fewer nodes branch
            return again if isinstance(again, Tree) and again.leaves < found.leaves else found
        return found

    def _search(self, demanded: Fraction | None) -> Tree | Attack:
        tree = Tree()
        stack = [_Node((), np.array(self.played.free), self.played.budget, None)]
        count = 0
        while stack:
            node = stack.pop()
            if node.parent is not None and self.rounding.value(node.parent, node.free, node.budget) <= self._target(demanded):
                self._leaf(tree, node, node.parent)
                continue
            found = self.program.solve(node.attacked, node.free, node.budget)
            count += 1
            if count <= _OFTEN or count % _EVERY == 0:
                self.try_attack(self._completed(node.attacked, node.free, node.budget, found))
            if count % _EVERY == 0:
                self.progress("searching", {"leaves": tree.leaves, "open": len(stack), "MW shed at worst so far": f"{float(self.known):.6g}"})
            tree.complete = tree.complete and not self.stop()
            line = self._branch(found, node.free, node.budget)
            if line is None and found.value > float(self._target(demanded)) + _SLACK:
                self._keep(node.attacked, found)
            if demanded is not None and self.best is not None and self.best.shed > demanded:
                return self.best
            witness = None
            if line is None or not tree.complete or found.value <= float(self._target(demanded)) + _SLACK:
                witness = self._witness(node, found, self._target(demanded))
                if line is None or not tree.complete or self.rounding.value(witness, node.free, node.budget) <= self._accepted(demanded):
                    self._leaf(tree, node, witness)
                    continue
            witness = self._witness(node, found, None) if witness is None else witness
            tree.nodes.append(line)
            free = node.free.copy()
            free[line] = False
            stack.append(_Node(node.attacked, free, node.budget, witness))
            stack.append(_Node((*node.attacked, line), free, node.budget - self.played.costs[line], None))
        return tree

    def _target(self, demanded: Fraction | None) -> Fraction:
        return self.known if demanded is None else demanded

    def _accepted(self, demanded: Fraction | None) -> Fraction:
        """Return the bound at which a leaf is closed: where nothing is demanded, rounding may cost a little."""
        return self.known + Fraction(2, 10**6) if demanded is None else demanded

    def _witness(self, node: _Node, found: Solution, target: Fraction | None) -> Witness:
        """Return an exact witness near the flows: the first that meets the target, else the best; without a target, the first."""
        best, least = None, None
        for witness in self.rounding.witnesses(found.flow, node.attacked):
            value = self.rounding.value(witness, node.free, node.budget)
            if least is None or value < least:
                best, least = witness, value
            if target is None or value <= target:
                break
        if best is None:
            nothing = np.zeros(len(self.costs), np.int64)
            short = (max(d - s, Fraction(0)) for d, s in zip(self.network.demand, self.network.supply, strict=True))
            return Witness(nothing, 1, sum(short, Fraction(0)))
        return best

    def _leaf(self, tree: Tree, node: _Node, witness: Witness) -> None:
        if not tree.witnesses or tree.witnesses[-1] is not witness:
            known = next((k for k, other in enumerate(tree.witnesses) if other is witness), len(tree.witnesses))
            if known == len(tree.witnesses):
                tree.witnesses.append(witness)
        else:
            known = len(tree.witnesses) - 1
        tree.nodes.append(-1 - known)
        tree.leaves += 1
        tree.worst = max(tree.worst, self.rounding.value(witness, node.free, node.budget))

    def _branch(self, found: Solution, free: np.ndarray[Any, Any], budget: int) -> int | None:
        """Return the free, affordable line with the largest flow; None where no line carries any."""
        size = np.where(free & (self.costs <= budget), np.abs(found.flow), -1.0)
        line = int(size.argmax()) if size.size else -1
        return line if line >= 0 and size[line] > 1e-9 else None

    def _completed(self, attacked: tuple[int, ...], free: np.ndarray[Any, Any], budget: int, found: Solution) -> tuple[int, ...]:
        """Return the attack that also takes the free lines with the largest flows for their cost, while the budget lasts."""
        chosen = list(attacked)
        for line in np.argsort(-np.abs(found.flow) / self.costs, kind="stable").tolist():
            if free[line] and self.costs[line] <= budget and abs(found.flow[line]) > 1e-9:
                chosen.append(line)
                budget -= self.played.costs[line]
        return tuple(chosen)
