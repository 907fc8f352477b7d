# SPDX-License-Identifier: Apache-2.0
"""A pool of dispatches that between them serve all but V MW after every attack: swept once, with a linear program where none is good enough.

A sweep that is stopped says nothing of the attacks it did not reach. So when the time runs out it goes on in a hurry, against a larger V that few
dispatches show for most attacks. That takes as long as a check, and is begun early enough to end in time.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import accumulate, chain
from typing import Any

import numpy as np

from certify.limits import Limits
from certify.readers.power import Network
from certify.rules.attacks import Game
from certify.rules.balls import above
from certify.rules.enumeration import attacks_within
from certify.rules.grid_words import rounded
from certify.rules.recourse import Coverage
from certify_solvers.common.prover import Progress
from certify_solvers.grid.dispatch import Dispatch, DispatchLP
from certify_solvers.grid.nodelp import SolverFailed

Integers = np.ndarray[Any, Any]
QUANTUM = Fraction(1, 10**9)
_BLOCK, _FIRST, _HEAD, _SAMPLE = 1024, 6, 6, 300
_TAKEN, _GRACE, _LOOSE = 64, 60.0, Fraction(3, 2)  # dispatches for the next search; in a hurry: seconds beyond the limit, V by the worst attack
_MOST_SETS = 10**8
_MARGIN, _MOST_MARGIN = Fraction(2, 10**6), Fraction(1, 10**3)  # MW above the worst optimum: outward rounding and the quantum cost that much


class TooTight(Exception):
    """What was demanded is so near to the worst case that outward rounding can't show it."""


@dataclass(eq=False)
class Sweep:
    """The pool while it grows: integer supplies and demands, the worst attack, and how often each dispatch was the one that served.

    `hurried`: the time ran out, and V is larger than it needs to be.
    """

    supply: list[np.ndarray[Any, Any]] = field(default_factory=list)
    served: list[np.ndarray[Any, Any]] = field(default_factory=list)
    uses: list[int] = field(default_factory=list)
    order: list[int] = field(default_factory=lambda: [0])
    worst: float = 0.0
    attack: tuple[int, ...] = ()
    done: bool = False
    hurried: bool = False


def sets(played: Game) -> list[int]:
    """Return how many sets of lines there are of each size that an attack can have, up to a size with more than are ever looked at."""
    costs = sorted(cost for cost, free in zip(played.costs, played.free, strict=True) if free and cost <= played.budget)
    counts: list[int] = []
    for size, total in enumerate(accumulate(costs, initial=0)):
        if total > played.budget or (counts and counts[-1] > _MOST_SETS):
            break
        counts.append(math.comb(len(costs), size))
    return counts


class PoolSearch:
    """One network and game in the DC model; `left` returns the seconds left."""

    def __init__(self, network: Network, played: Game, limits: Limits, stop: Callable[[], bool], progress: Progress,
                 left: Callable[[], float] = lambda: math.inf) -> None:
        self.network, self.played, self.limits, self.stop, self.progress, self.time_left = network, played, limits, stop, progress, left
        self.program = DispatchLP(network, attack=False)
        self.coverage = Coverage(network, Limits(work=1 << 62))
        self.coverage.rule.slack *= 2.0  # proposals differ between machines: the pool must not depend on their last bits
        self.floor = [np.array([min(int(v / QUANTUM), (1 << 63) - 1) for v in side]) for side in (network.supply, network.demand)]
        self.sweep = Sweep()
        self.margin = _MARGIN
        self.sets = sets(played)
        self.serving, self.pace = 0.0, 0.0  # seconds of looking what the dispatches serve: in all, and by attack lately

    def add(self, attack: tuple[int, ...]) -> Dispatch:
        """Solve one attack, keep its dispatch, and note it if it is the worst."""
        found = self.program.solve(attack)
        for values, most, kept in ((found.supply, self.floor[0], self.sweep.supply), (found.served, self.floor[1], self.sweep.served)):
            kept.append(np.minimum(np.floor(values * float(1 / QUANTUM)).astype(np.int64), most))
        self.sweep.uses.append(0)
        if found.shed > self.sweep.worst:
            self.sweep.worst, self.sweep.attack = found.shed, attack
        return found

    def start_from(self, other: PoolSearch) -> None:
        """Take over the dispatches that served most in another search on the same network: they are valid whatever is attacked."""
        self.pace = other.pace
        for witness in sorted(range(len(other.sweep.supply)), key=lambda k: -other.sweep.uses[k])[:_TAKEN]:
            self.sweep.supply.append(other.sweep.supply[witness])
            self.sweep.served.append(other.sweep.served[witness])
            self.sweep.uses.append(0)
        self.sweep.order = list(range(len(self.sweep.supply)))

    def run(self, demanded: Fraction | None = None, finish: bool = True) -> Sweep:
        """Sweep over all attacks; ends early when one sheds more than what is demanded.

        When it is stopped or the time runs out, the rest is looked at in a hurry; without `finish`, or where that takes too long, it ends.
        """
        sweep = self.sweep
        self.demanded = demanded
        if not sweep.supply:
            self.add(())
        seen, size, typical, waiting = 0, 0, self.sets.index(max(self.sets)), list[Integers]()
        for block in chain(attacks_within(self.played, self.limits.fresh()), (None,)):
            if waiting and (block is None or block.shape[1] != size or sum(map(len, waiting)) >= _BLOCK):
                self._cover(np.concatenate(waiting), len(sweep.supply))
                waiting = []
            if block is None:
                sweep.done = not self._refuted()
                break
            if self._refuted() or (self._late(seen) and not (finish and self._hurry(seen))):
                break
            size, begun = block.shape[1], self.serving
            for start in range(0, len(block), _BLOCK):
                left = self._cover(block[start : start + _BLOCK], _FIRST)
                if len(left):
                    waiting.append(left)
            seen += len(block)
            if size == typical:  # attacks of fewer lines come first, and say little of the time that most take
                spent = (self.serving - begun) / max(len(block), 1)
                self.pace = ((self.pace or spent) + spent) / 2
            stage = "sweeping in a hurry" if sweep.hurried else "sweeping"
            self.progress(stage, {"attacks": seen, "dispatches": len(sweep.supply), "MW shed by the worst attack so far": f"{sweep.worst:.6g}"})
        return sweep

    def needed(self, seen: int = 0) -> float:
        """Return the seconds that a hurried look at all but `seen` attacks and the check of it all take by the pace so far; 0 while it is unknown."""
        return self.pace * (2 * sum(self.sets) - seen)

    def _late(self, seen: int) -> bool:
        return self.sweep.hurried or self.stop() or self.time_left() < self.needed(seen)

    def _hurry(self, seen: int) -> bool:
        """Go on against a larger bound; return whether that can end in time."""
        self.sweep.hurried = True
        return self.needed(seen) <= max(self.time_left(), 0.0) + _GRACE

    def bound(self) -> Fraction:
        """Return the shed that the pool is to show for every attack."""
        if self.demanded is not None:
            return self.demanded
        worst, total = Fraction(round(self.sweep.worst * 10**9), 10**9), self.network.total
        if self.sweep.hurried and worst < total:
            worst = rounded(min(max(worst * _LOOSE, total / 100), (worst + total) / 2), up=True)
        return worst + self.margin

    def _refuted(self) -> bool:
        return self.demanded is not None and self.sweep.worst > float(self.demanded) + float(self.margin)

    def _cover(self, left: Integers, most: int) -> Integers:
        """Return the attacks that the `most` dispatches in front of the order leave; with all of them, add new ones until none is left."""
        order = self.sweep.order
        for witness in order[:most]:
            left = self._serve(left, witness)
            if not len(left):
                return left
        while len(left) and most >= len(order) and not self._refuted():
            attack = tuple(left[0].tolist())
            self.add(attack)
            order.insert(0, len(self.sweep.supply) - 1)
            most += 1
            while True:
                left = self._serve(left, order[0])
                if not len(left) or tuple(left[0].tolist()) != attack or self._refuted():
                    break
                if self.demanded is not None:
                    raise TooTight(f"the attack found sheds {self.sweep.worst:.9g} MW, and rounding outward needs a bound a little above that")
                self.margin *= 2  # outward rounding costs more on this network
                if self.margin > _MOST_MARGIN:
                    raise SolverFailed(f"the dispatch found for one attack does not serve what it should within {float(_MOST_MARGIN)} MW")
        return left

    def _serve(self, left: Integers, witness: int) -> Integers:
        """Return the attacks after which a dispatch does not serve enough; one that serves some moves to the front of the order."""
        sweep, factor, begun = self.sweep, float(QUANTUM), time.monotonic()
        missing = self.coverage.left(left, sweep.supply[witness] * factor, sweep.served[witness] * factor, above(self.network.total - self.bound()))
        self.serving += time.monotonic() - begun
        if gained := len(left) - int(missing.sum()):
            sweep.uses[witness] += gained
            sweep.order.remove(witness)
            sweep.order.insert(0, witness)
        return left[missing]

    def chosen(self) -> list[int]:
        """Return a small part of the pool that still covers every attack, in an order in which most attacks are served early."""
        sweep, factor = self.sweep, float(QUANTUM)
        order = sorted(range(len(sweep.supply)), key=lambda witness: (-sweep.uses[witness], witness))
        head = order[:_HEAD]
        wanted = above(self.network.total - self.bound())

        def left_by(attacks: Integers, witness: int) -> Integers:
            return self.coverage.left(attacks, sweep.supply[witness] * factor, sweep.served[witness] * factor, wanted)

        hard: dict[int, list[Integers]] = {}
        for block in attacks_within(self.played, self.limits.fresh()):
            for start in range(0, len(block), _BLOCK):
                left = block[start : start + _BLOCK]
                for witness in head:
                    left = left[left_by(left, witness)]
                    if not len(left):
                        break
                if len(left):
                    hard.setdefault(left.shape[1], []).append(left)
            if self.stop() or sweep.hurried:
                return order
        blocks, rest, rng = [np.concatenate(parts) for parts in hard.values()], order[_HEAD:], np.random.default_rng(0)
        while blocks:  # a small set for a sample, then the same for a sample of what that leaves
            sample = [block[rng.choice(len(block), min(len(block), _SAMPLE), replace=False)] for block in blocks]
            served = np.concatenate([np.stack([~left_by(part, witness) for witness in rest], axis=1) for part in sample])
            while served.size:
                best = int(served.sum(axis=0).argmax())
                if not served[:, best].any() or self.stop():
                    return order  # rounding: what the sweep covered is not covered in this order
                served = served[~served[:, best]]
                head.append(rest[best])
                blocks = [left for block in blocks if len(left := block[left_by(block, rest[best])])]
        return head
