# SPDX-License-Identifier: Apache-2.0
"""Bad attacks in the DC model where there are too many to look at each: a beam search, then exchanges of single lines.

Nothing here is complete: in this model a larger attack can do less, so no bound steers the search. What is found is shown by its dual.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from certify.readers.power import Network
from certify.rules.attacks import Game
from certify_solvers.common.prover import Progress
from certify_solvers.grid.cuts import promising
from certify_solvers.grid.dispatch import DispatchLP

_STARTS, _BEAM, _EXCHANGED, _SLACK = 40, 8, 3, 1e-6  # attacks to start from, to go on with at each size, to improve; MW that count as better
_Attack = tuple[int, ...]


class Hunt:
    """One network and game."""

    def __init__(self, network: Network, played: Game, stop: Callable[[], bool], progress: Progress) -> None:
        self.network, self.played, self.stop, self.progress = network, played, stop, progress
        self.program = DispatchLP(network, attack=True)
        self.shed: dict[_Attack, float] = {(): self.program.solve(()).shed}

    def run(self) -> _Attack:
        """Return the attack that sheds most of those that were tried."""
        for attack in promising(self.network, self.played, _STARTS):
            self._try(tuple(sorted(attack)))
        beam: list[_Attack] = [()]
        while beam and not self.stop():
            beam = self._best({grown for attack in beam for grown in self._grown(attack)}, _BEAM)
            self.progress("searching", {"attacks tried": len(self.shed), "MW shed by the worst attack so far": f"{max(self.shed.values()):.6g}"})
        for attack in self._best(set(self.shed), _EXCHANGED):
            self._improve(attack)
        return self._best(set(self.shed), 1)[0]

    def _try(self, attack: _Attack) -> float:
        if attack not in self.shed:
            self.shed[attack] = self.program.solve(attack).shed
        return self.shed[attack]

    def _best(self, attacks: set[_Attack], count: int) -> list[_Attack]:
        """Return the attacks that shed most; of those that shed as much, the smaller first."""
        found = {attack: self._try(attack) for attack in sorted(attacks) if attack in self.shed or not self.stop()}
        return sorted(found, key=lambda attack: (-found[attack], len(attack), attack))[:count]

    def _grown(self, attack: _Attack) -> Iterator[_Attack]:
        """Yield the attacks with one line more."""
        left = self.played.budget - sum(self.played.costs[k] for k in attack)
        for k, free in enumerate(self.played.free):
            if free and k not in attack and self.played.costs[k] <= left:
                yield tuple(sorted((*attack, k)))

    def _improve(self, attack: _Attack) -> None:
        """Exchange one line for another as long as that sheds more."""
        while True:
            rests = [tuple(k for k in attack if k != line) for line in attack]
            better = self._best({grown for rest in rests for grown in self._grown(rest)}, 1)
            if not better or self.stop() or self.shed[better[0]] <= self.shed[attack] + _SLACK:
                return
            attack = better[0]
