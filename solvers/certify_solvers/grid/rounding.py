# SPDX-License-Identifier: Apache-2.0
"""From the floats of a linear program to integer flows that keep every limit exactly, and the exact bound that they give at a leaf."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from typing import Any

import numpy as np

from certify.limits import Limits
from certify.readers.power import Network
from certify.rules.attacks import Game, dearest

Integers = np.ndarray[Any, Any]
_ROOM, _LONG = 1 << 61, 10**6


@dataclass(frozen=True, eq=False)
class Witness:
    """Flows over a scale, with |flow| and the shed in units of 1 / (scale times quantum)."""

    flow: Integers
    scale: int
    size: Integers
    shed: int


def _inward(limit: Fraction) -> Fraction:
    """Return a limit, or a little less of it where its denominator is long: that of an angle limit, which holds digits of pi."""
    return limit if limit.denominator <= _LONG else Fraction(int(limit * _LONG), _LONG)


class Rounding:
    """Rounds flows of one network; scales are multiples of `quantum`, the common denominator of its data."""

    def __init__(self, network: Network, played: Game) -> None:
        self.network = network
        limits = [[None if end is None else _inward(end) for end in side]
                  for side in ([line.low for line in network.lines], [line.high for line in network.lines])]
        ends = [end for side in limits for end in side if end is not None]
        self.quantum = lcm(*(value.denominator for value in (*network.demand, *network.supply, *ends)))
        self.start = np.array([line.start for line in network.lines])
        self.end = np.array([line.end for line in network.lines])
        self.demand, self.supply = ([int(v * self.quantum) for v in side] for side in (network.demand, network.supply))
        self.low, self.high = ([None if end is None else int(end * self.quantum) for end in side] for side in limits)
        self.costs = np.array(played.costs, np.int64)
        self.limits = Limits()
        largest = max([*self.demand, *self.supply, *(abs(v) for v in (*self.low, *self.high) if v is not None), 1])
        self.most = max(1, _ROOM // (largest * self.quantum * (len(network.lines) + len(network.numbers) + 2)))
        vertices = lcm(*range(1, min(played.budget, 12) + 1)) if played.budget else 1
        self.scales = [s for s in dict.fromkeys((vertices, 60 * vertices, 420_000_000)) if s * self.quantum <= self.most]
        self._neighbours: list[list[tuple[int, int, int]]] = [[] for _ in network.numbers]
        for k, line in enumerate(network.lines):
            self._neighbours[line.start].append((line.end, k, 1))
            self._neighbours[line.end].append((line.start, k, -1))

    def witnesses(self, flow: np.ndarray[Any, Any], attacked: tuple[int, ...]) -> Iterator[Witness]:
        """Yield exact witnesses near float flows, with ever finer scales."""
        for factor in self.scales:
            scale = factor * self.quantum
            rounded = np.rint(flow * scale).astype(np.int64)
            rounded[list(attacked)] = 0
            found = self._exact(rounded, scale, set(attacked))
            if found is not None:
                yield found

    def value(self, witness: Witness, free: Integers, budget: int) -> Fraction:
        """Return the bound that a witness gives at a leaf, as the checker computes it."""
        lost = dearest(witness.size[free], self.costs[free], budget, self.limits.fresh())
        return Fraction(witness.shed + lost, witness.scale * self.quantum)

    def _exact(self, flow: Integers, scale: int, attacked: set[int]) -> Witness | None:
        """Return a witness with these flows, clipped to their limits and moved along paths where a bus has too much; None where that fails."""
        factor = scale // self.quantum
        low = np.array([-_ROOM if v is None else v * factor for v in self.low])
        high = np.array([_ROOM if v is None else v * factor for v in self.high])
        low[list(attacked)] = high[list(attacked)] = 0
        flow = np.clip(flow, low, high)
        outflow = self._outflow(flow)
        least, most = np.array([-v * factor for v in self.demand]), np.array([v * factor for v in self.supply])
        for bus in np.flatnonzero((outflow > most) | (outflow < least)).tolist():
            sign = 1 if outflow[bus] > most[bus] else -1
            while (excess := sign * int(outflow[bus] - (most if sign > 0 else least)[bus])) > 0:
                if not self._push(bus, sign, excess, flow, low, high, outflow, least, most):
                    return None
        size = np.abs(flow) * self.quantum
        shed = np.maximum((np.array(self.demand) - np.array(self.supply)) * scale + outflow * self.quantum, 0)
        return Witness(flow, scale, size, int(shed.sum()))

    def _outflow(self, flow: Integers) -> Integers:
        outflow = np.zeros(len(self.network.numbers), np.int64)
        np.add.at(outflow, self.start, flow)
        np.subtract.at(outflow, self.end, flow)
        return outflow

    def _push(self, bus: int, sign: int, excess: int, flow: Integers, low: Integers, high: Integers, outflow: Integers, least: Integers,
              most: Integers) -> bool:
        """Lower sign * outflow of a bus along a shortest path with room to a bus that can take it; False without one."""
        came: dict[int, tuple[int, int, int]] = {bus: (-1, -1, 0)}
        queue = deque([bus])
        while queue:
            here = queue.popleft()
            room = int(most[here] - outflow[here]) if sign > 0 else int(outflow[here] - least[here])
            if here != bus and room > 0:
                amount, at = min(excess, room), here
                path = []
                while at != bus:
                    before, line, change = came[at]
                    amount = min(amount, int(flow[line] - low[line]) if change < 0 else int(high[line] - flow[line]))
                    path.append((line, change))
                    at = before
                for line, change in path:
                    flow[line] += change * amount
                outflow[bus] -= sign * amount
                outflow[here] += sign * amount
                return True
            for there, line, direction in self._neighbours[here]:
                change = -sign * direction
                if there not in came and (flow[line] > low[line] if change < 0 else flow[line] < high[line]):
                    came[there] = (here, line, change)
                    queue.append(there)
        return False
