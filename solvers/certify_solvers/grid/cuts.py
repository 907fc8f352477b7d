# SPDX-License-Identifier: Apache-2.0
"""Good attacks without a linear program: sets of buses that demand much, supply little and hang on few lines that cost much to lose.

The shed of an attack is the largest over sets U of buses of demand - supply - limits of surviving lines out of U (max-flow min-cut), so a set
together with its dearest affordable boundary lines is an attack with a known shed. Sets are grown bus by bus from every bus.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from certify.readers.power import Network
from certify.rules.attacks import Game

_STEPS = 40
_WORK = 60_000  # sets that are looked at, in all
_HUGE = 1e12


def promising(network: Network, played: Game, count: int) -> list[tuple[int, ...]]:
    """Return up to `count` attacks, the best first."""
    search = _Cuts(network, played)
    found: dict[tuple[int, ...], float] = {}
    for value, attack in search.grown():
        if attack and value > found.get(attack, 0.0):
            found[attack] = value
    return sorted(found, key=lambda attack: (-found[attack], attack))[:count]


class _Cuts:
    def __init__(self, network: Network, played: Game) -> None:
        self.played = played
        self.need = [float(d - s) for d, s in zip(network.demand, network.supply, strict=True)]
        self.limit = [_HUGE if line.high is None or line.low is None else float(max(line.high, -line.low)) for line in network.lines]
        self.ends = [(line.start, line.end) for line in network.lines]
        self.at: list[list[int]] = [[] for _ in network.numbers]
        for k, (start, end) in enumerate(self.ends):
            self.at[start].append(k)
            self.at[end].append(k)

    def grown(self) -> Iterator[tuple[float, tuple[int, ...]]]:
        """Yield (shed, attack) for sets that grow greedily from each bus, the neediest first."""
        left = _WORK
        for seed in np.argsort(-np.array(self.need), kind="stable").tolist():
            inside, boundary, need = {seed}, set(self.at[seed]), self.need[seed]
            for _ in range(min(_STEPS, len(self.need) - 1)):
                value, attack = self._value(need, boundary)
                yield value, attack
                around = {end for k in boundary for end in self.ends[k]} - inside
                left -= len(around)
                if not around or left < 0:
                    break
                best = max(around, key=lambda bus: (self._value(need + self.need[bus], boundary ^ set(self.at[bus]))[0], -bus))
                inside.add(best)
                boundary = boundary ^ set(self.at[best])
                need += self.need[best]

    def _value(self, need: float, boundary: set[int]) -> tuple[float, tuple[int, ...]]:
        """Return the shed that a cut shows when its dearest lines for their cost are attacked, and these lines."""
        budget, lost, taken = self.played.budget, 0.0, []
        for k in sorted(boundary, key=lambda k: (-self.limit[k] / self.played.costs[k], k)):
            if self.played.free[k] and self.played.costs[k] <= budget:
                budget -= self.played.costs[k]
                taken.append(k)
            else:
                lost += self.limit[k]
        return need - lost, tuple(sorted(taken))
