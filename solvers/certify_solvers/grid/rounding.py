# SPDX-License-Identifier: Apache-2.0
"""From the floats of a linear program to integer flows that keep every limit exactly, and the exact bound that they give at a leaf."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from typing import Any

import numpy as np

from certify.limits import Limits
from certify.readers.power import Network
from certify.rules.attacks import Game, dearest

Integers = np.ndarray[Any, Any]
_ROOM, _LONG = 1 << 61, 10**6  # of sums in int64; units of a MW where the data have digits beyond


@dataclass(frozen=True, eq=False)
class Witness:
    """Flows over a scale, and their shed in MW."""

    flow: Integers
    scale: int
    shed: Fraction


class Rounding:
    """Rounds flows of one network; scales are multiples of the common denominator of its data, or of 10^6 where that is larger.

    Where a limit has more digits than a scale, it is rounded inwards: flows within the rounded limits are within the true ones.
    """

    def __init__(self, network: Network, played: Game) -> None:
        self.network = network
        ends = [end for line in network.lines for end in (line.low, line.high) if end is not None]
        self.quantum = lcm(*(value.denominator for value in (*network.demand, *network.supply, *ends)))
        self.start = np.array([line.start for line in network.lines])
        self.end = np.array([line.end for line in network.lines])
        self.gaps = [int((d - s) * self.quantum) for d, s in zip(network.demand, network.supply, strict=True)]
        self.costs = np.array(played.costs, np.int64)
        self.limits = Limits()
        unit = self.quantum if self.quantum <= _LONG else _LONG
        largest = int(max([*network.demand, *network.supply, *map(abs, ends), Fraction(1)])) + 1
        most = max(1, _ROOM // (largest * unit * (len(network.lines) + len(network.numbers) + 2)))
        vertices = lcm(*range(1, min(played.budget, 12) + 1)) if played.budget else 1
        self.scales = [s * unit for s in dict.fromkeys((vertices, 60 * vertices, 420_000_000)) if s <= most] or ([unit] if most > 1 else [])
        self.boxes = [self._box(scale) for scale in self.scales]
        self._neighbours: list[list[tuple[int, int, int]]] = [[] for _ in network.numbers]
        for k, line in enumerate(network.lines):
            self._neighbours[line.start].append((line.end, k, 1))
            self._neighbours[line.end].append((line.start, k, -1))

    def witnesses(self, flow: np.ndarray[Any, Any], attacked: tuple[int, ...]) -> Iterator[Witness]:
        """Yield exact witnesses near float flows, with ever finer scales."""
        for scale, box in zip(self.scales, self.boxes, strict=True):
            rounded = np.rint(flow * scale).astype(np.int64)
            rounded[list(attacked)] = 0
            found = self._exact(rounded, scale, box, set(attacked))
            if found is not None:
                yield found

    def value(self, witness: Witness, free: Integers, budget: int) -> Fraction:
        """Return the bound that a witness gives at a leaf, as the checker computes it."""
        lost = dearest(np.abs(witness.flow)[free], self.costs[free], budget, self.limits.fresh())
        return witness.shed + Fraction(lost, witness.scale)

    def _box(self, scale: int) -> tuple[Integers, Integers, Integers, Integers]:
        """Return the limits of lines (low, high) and of net outflows (least, most) at a scale, rounded towards 0."""
        def rounded(values: Sequence[Fraction | None], missing: int) -> Integers:
            return np.array([missing if value is None else int(value * scale) for value in values], np.int64)

        network = self.network
        return (rounded([line.low for line in network.lines], -_ROOM), rounded([line.high for line in network.lines], _ROOM),
                -rounded(network.demand, 0), rounded(network.supply, 0))

    def _exact(self, flow: Integers, scale: int, box: tuple[Integers, Integers, Integers, Integers], attacked: set[int]) -> Witness | None:
        """Return a witness with these flows, clipped to their limits and moved along paths where a bus has too much; None where that fails."""
        low, high, least, most = box
        low, high = low.copy(), high.copy()
        low[list(attacked)] = high[list(attacked)] = 0
        flow = np.clip(flow, low, high)
        outflow = self._outflow(flow)
        for bus in np.flatnonzero((outflow > most) | (outflow < least)).tolist():
            sign = 1 if outflow[bus] > most[bus] else -1
            while (excess := sign * int(outflow[bus] - (most if sign > 0 else least)[bus])) > 0:
                if not self._push(bus, sign, excess, flow, low, high, outflow, least, most):
                    return None
        shed = sum(max(0, gap * scale + out * self.quantum) for gap, out in zip(self.gaps, outflow.tolist(), strict=True))
        return Witness(flow, scale, Fraction(shed, scale * self.quantum))

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
