# SPDX-License-Identifier: Apache-2.0
"""The problem that the chain starts from: min over defences, max over attacks, min over what the operator does, of the shed."""

from __future__ import annotations

from dataclasses import dataclass

from certify.readers.power import Network
from certify.rules.attacks import Game


@dataclass(frozen=True)
class TriLevel:
    """A network with the attacker's game and the defender's costs and budget; `ohm` is whether flows obey Ohm's law on closed lines.

    `m1` and `m2` are the big-M constants of the linearisation: how much prices may differ across an attacked line, and how large the
    multiplier of Ohm's law may be. With `ohm` false, `m1` = 1 is exact; with it, no constant of use is known to be (docs/claims/grid-shedding.md).
    """

    network: Network
    played: Game
    costs: tuple[int, ...]
    money: int
    ohm: bool = False
    m1: float = 1.0
    m2: float = 1e4

    def limit(self, k: int) -> float:
        """Return the flow limit of a line; of an unlimited one the demand of the network, which no acyclic flow exceeds."""
        line = self.network.lines[k]
        ends = [abs(float(end)) for end in (line.low, line.high) if end is not None]
        return max(ends) if len(ends) == 2 else float(self.network.total)
