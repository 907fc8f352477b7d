# SPDX-License-Identifier: Apache-2.0
"""The search over attacks for an operator who may switch: leaves with flows on forests, or with a dispatch where nothing more can be attacked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from certify.errors import Rejected
from certify.limits import Limits
from certify.readers.power import Network
from certify.rules.attack_tree import Leaf
from certify.rules.attacks import Game
from certify.rules.forests import check_forests
from certify.rules.graphs import UnionFind
from certify.rules.island_angles import angles_on
from certify.rules.recourse import Recourse
from certify_solvers.common.prover import Progress
from certify_solvers.grid.dispatch import DispatchLP
from certify_solvers.grid.forest import ForestTree, PairLP
from certify_solvers.grid.pool import QUANTUM

_MANY, _RAISE = 800, 1.05  # leaves of a tree that is small enough; by how much the target is raised where it is not, from 1 % of the demand at least
_ROUNDS, _EPS, _MARGIN, _UNITS = 8, 1e-7, 1e-5, 10**6  # MW within which a bound counts as met; units of a MW that flows are rounded to
Integers = np.ndarray[Any, Any]


class SwitchSearch:
    """One network and game."""

    def __init__(self, network: Network, played: Game, stop: Callable[[], bool], progress: Progress, seed: int) -> None:
        self.network, self.played, self.stop, self.progress = network, played, stop, progress
        self.program, self.random = PairLP(network, played), np.random.default_rng(seed)
        plain = all(line.susceptance > 0 and not line.shift for line in network.lines)
        self.dispatch = DispatchLP(network, attack=False) if plain else None
        self.rule = Recourse(network)
        self.costs = np.array(played.costs, np.int64)
        self.limits = Limits(work=1 << 62)
        self.refuting: tuple[int, ...] | None = None

    def guess(self, attacks: Sequence[tuple[int, ...]]) -> float:
        """Return what the worst of some attacks sheds with no line opened: a target to start from, for one that rises late costs leaves."""
        if self.dispatch is None:
            return 0.0
        return max((self.dispatch.solve(attack).shed for attack in attacks if not self.stop()), default=0.0)

    def run(self, target: float, demanded: bool) -> ForestTree | None:
        """Return a tree; the target rises where it must, unless it is demanded: then None where it can't be shown (`refuting`: at which attack).

        A search that is stopped closes what is open with the best of one forest a node, so its tree bounds all attacks too, by more. One whose tree
        gets large starts again with a higher target: near the worst case leaves multiply.
        """
        tree = ForestTree(_UNITS)
        stack: list[tuple[tuple[int, ...], Integers, int]] = [((), np.array(self.played.free), self.played.budget)]
        while stack:
            attacked, free, budget = stack.pop()
            if len(tree.nodes) % 20 == 0:
                self.progress("searching", {"nodes": len(tree.nodes), "open": len(stack), "MW": f"{target:.6g}"})
            affordable = free & (self.costs <= budget)
            if not demanded and len(tree.witnesses) > _MANY and not self.stop():
                return self.run(max(target * _RAISE, float(self.network.total) / 100), False)
            if self.stop():
                if demanded:
                    return None
                found, shed = self._fallback(attacked, free, budget)
                target, tree.complete = max(target, shed), False
            else:
                found = self._leaf(attacked, free, budget, target)
            if found is None and not affordable.any():
                found, shed = self._only(attacked)
                if found is None and not demanded:  # a phase shifter, or a reactance below 0: a forest is all there is
                    found, shed = self._fallback(attacked, free, budget)
                if found is None or (demanded and shed > target):
                    self.refuting = attacked
                    return None
                target = max(target, shed)
            if found is not None:
                tree.nodes.append(-1 - len(tree.witnesses))
                tree.witnesses.append(found)
                continue
            line = int(np.where(affordable, self._size, -1.0).argmax())
            tree.nodes.append(line)
            less = free.copy()
            less[line] = False
            stack.append((attacked, less, budget))
            stack.append(((*attacked, line), less, budget - self.played.costs[line]))
        tree.worst = target
        return tree

    def _leaf(self, attacked: tuple[int, ...], free: Integers, budget: int, target: float) -> Any:
        """Return a witness on a forest that bounds a node by the target, or None."""
        closed = self.program.at(attacked, free, budget)
        value, flow = self.program.solve(None, 0.0) or (float("inf"), np.zeros(len(self.program.pairs)))
        shares, _ = self.program.shares(attacked)
        self._size = np.abs(flow)[self.program.pair] * shares
        if value > target + _MARGIN / 2:
            return None
        weights = np.ones(len(flow))
        for _ in range(_ROUNDS):
            sparse = self.program.solve(weights, target + _MARGIN / 2)
            if sparse is None:
                return None
            flow = sparse[1]
            extra = self._cycles(flow)
            if not extra and (made := self._exact(attacked, free, budget, flow, closed, target)) is not None:
                return made
            weights = 1.0 / (np.abs(flow) + 5.0) * self.random.uniform(0.5, 1.5, len(flow))
            weights[extra] *= 1.5
        return None

    def _fallback(self, attacked: tuple[int, ...], free: Integers, budget: int) -> tuple[Any, float]:
        """Return a witness for a node on one forest, and the bound that it shows: at worst with all lines open, and all demand."""
        closed = self.program.at(attacked, free, budget)
        _, flow = self.program.solve(None, 0.0) or (0.0, np.zeros(len(self.program.pairs)))
        found = self.program.solve(None, 0.0, self._cycles(flow, 0.0))
        everything = float(self.network.total)
        made = None if found is None or found[0] >= everything else self._exact(attacked, free, budget, found[1], closed, found[0] + _MARGIN)
        if found is not None and made is not None:
            return made, found[0] + 2 * _MARGIN
        nothing = np.zeros(0, np.int64)
        return (0, [0] * len(flow), np.zeros(len(closed), "|u1"), nothing, nothing), everything

    def _cycles(self, flow: Any, least: float = _EPS) -> list[int]:
        """Return the pairs with a flow of more than `least` (0: all pairs) that close a cycle with larger ones."""
        joined, extra = UnionFind(len(self.network.numbers)), []
        for e in np.argsort(-np.abs(flow), kind="stable").tolist():
            if least and abs(flow[e]) <= least:
                break
            if not joined.join(*self.program.pairs[e]):
                extra.append(e)
        return extra

    def _exact(self, attacked: tuple[int, ...], free: Integers, budget: int, flow: Any, closed: Integers, target: float) -> Any:
        """Return the witness with these flows as integers, if the checker's rule bounds the node by the target."""
        rounded = [round(float(value) * _UNITS) if abs(value) > _EPS else 0 for value in flow]
        used = np.array([bool(rounded[e]) for e in self.program.pair.tolist()])
        shut = (closed.astype(bool) & used).astype("|u1")
        self._repair(rounded)
        try:
            flows, scale = np.array([rounded], "<i8"), np.array([_UNITS], "<i8")
            made = check_forests(self.network, flows, scale, shut[None], np.zeros(1, "|u1"), self.limits.fresh())
            bound = made.bound(0, Leaf(attacked, free, self.costs, budget), self.limits.fresh())
        except Rejected:
            return None
        nothing = np.zeros(0, np.int64)
        return (0, rounded, shut, nothing, nothing) if bound <= Fraction(target) + Fraction(_MARGIN) else None

    def _repair(self, flow: list[int]) -> None:
        """Change flows of a forest by rounding errors, from its ends inwards, so that no bus has more than it can supply or take."""
        at: list[list[int]] = [[] for _ in self.network.numbers]
        for e, value in enumerate(flow):
            if value:
                at[self.program.pairs[e][0]].append(e)
                at[self.program.pairs[e][1]].append(e)
        most = [int(v * _UNITS) for v in self.network.supply]
        least = [-int(v * _UNITS) for v in self.network.demand]
        seen = [False] * len(at)
        for start in sorted(range(len(at)), key=lambda bus: least[bus] - most[bus]):
            order, stack = [], [] if seen[start] else [(start, -1)]
            while stack:
                bus, up = stack.pop()
                seen[bus] = True
                order.append((bus, up))
                stack += [(self._other(e, bus), e) for e in at[bus] if e != up]
            for bus, up in reversed(order):
                out = sum(flow[e] if self.program.pairs[e][0] == bus else -flow[e] for e in at[bus])
                excess = max(0, out - most[bus]) + min(0, out - least[bus])
                if excess and up >= 0:
                    flow[up] -= excess if self.program.pairs[up][0] == bus else -excess

    def _other(self, e: int, bus: int) -> int:
        start, end = self.program.pairs[e]
        return end if start == bus else start

    def _only(self, attacked: tuple[int, ...]) -> tuple[Any, float]:
        """Return a dispatch for one attack with all other lines closed, and a little more than what it sheds."""
        if self.dispatch is None:
            return None, float("inf")
        found = self.dispatch.solve(attacked)
        factor = float(1 / QUANTUM)
        supply, served = (np.minimum(np.floor(values * factor), np.array([int(v / QUANTUM) for v in most])).astype(np.int64)
                          for values, most in ((found.supply, self.network.supply), (found.served, self.network.demand)))
        closed = np.ones(len(self.network.lines), "|u1")
        shut = closed.astype(bool)
        shut[list(attacked)] = False
        theta, given, taken = angles_on(self.network, shut, supply * float(QUANTUM), served * float(QUANTUM))
        shed = float(self.network.total) - float(self.rule.served(theta, given, taken, np.array([attacked], np.int64).reshape(1, -1))[0])
        return (1, [0] * len(self.program.pairs), closed, supply, served), shed + 1e-6
