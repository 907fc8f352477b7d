# SPDX-License-Identifier: Apache-2.0
"""What an operator bound by Ohm's law can serve after an attack, from any angles: the recourse of the DC model, outward-rounded.

**Recourse (R4).** All b_l > 0, no phase shifts, low < 0 < high. Take *any* angles theta, supplies 0 <= p and demands 0 <= d, f_l = b_l
(theta_start - theta_end) on surviving lines, r = p - d - (net outflow of f), R = sum of |r_i|, rho = max(1, (f_l + R) / high_l, (f_l - R) /
low_l), and p / rho <= G, d / rho <= D. Then the operator serves at least (sum of d - R) / rho.
Proof. In one island, sum of r = sum p - sum d = beta, since flows cancel. Lower p (or d) by |beta| <= R in total: the injection is balanced, and what
is left of r has 1-norm at most 2R and sums to 0: it is a sum of transfers of at most R in all. A transfer of one unit puts at most 1 on a line
when b > 0 (for a line u -> v with theta_u > theta_v, all lines leaving the buses with angle >= theta_u carry flow outwards, and these add up to at
most 1). So the true flow of the balanced injection is within R of f. All of it scaled by 1 / rho is feasible: the model is linear and homogeneous.
Several islands: their R add up, each is within its own, and one rho serves all. QED.

So neither the angles nor the islands need to be right: wrong ones cost coverage, never soundness. Angles are proposed by low-rank updates of one
inverse (`Proposals`), in floating point. Outward rounding, u = 2^-53: theta, p and d are the doubles that they are; f has three roundings, a
residual at most degree + 3 terms, a sum over buses n; all are covered by c u (2 sum |f| + 2 sum (p + d)), c = 2 (degree + n + 12). rho starts
at 1 + 16u, which absorbs the rounding of p, d and limits to binary64. A value that is not finite covers nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain, groupby, pairwise
from typing import Any

import numpy as np

from certify.errors import Declined, Rejected
from certify.limits import Limits
from certify.readers.power import Network
from certify.rules.attacks import Game
from certify.rules.balls import Array, U, above
from certify.rules.enumeration import attacks_within
from certify.rules.island_angles import BLOCK, Proposals

Integers = np.ndarray[Any, Any]
_STAGES = (4, 16)  # after so many dispatches, what is left waits until there is a block of it


@dataclass(frozen=True, eq=False)
class Pool:
    """Dispatches [witnesses, buses] in MW, each within the limits of supply and demand."""

    supply: Array
    demand: Array


def check_pool(network: Network, supply: Integers, demand: Integers, quantum: Fraction) -> Pool:
    """Return the dispatches, integers times `quantum`; raises Rejected `evidence-range`, `array-shape`, `pool-dispatch-range`."""
    if not Fraction(1, 10**300) <= quantum <= 10**300:
        raise Rejected("evidence-range", "the quantum is outside 1e-300 to 1e300 MW", where="evidence.items.quantum_mw")
    if supply.shape != demand.shape or supply.shape[1] != len(network.numbers):
        raise Rejected("array-shape", "supply and demand are not one row a witness and one column a bus", where="evidence arrays supply, demand")
    for name, array, most in (("supply", supply, network.supply), ("demand", demand, network.demand)):
        broken = (array < 0) | (array > np.array([min(int(v / quantum), (1 << 63) - 1) for v in most]))
        if bool(broken.any()):
            which, bus = (int(index[0]) for index in np.nonzero(broken))
            raise Rejected("pool-dispatch-range", f"the {name} at bus {network.numbers[bus]} is outside its range", where=f"witness {which}")
    factor = float(quantum)
    return Pool(supply * factor, demand * factor)


class Recourse:
    """Lower bounds on what the operator serves, for blocks of attacks; arrays are [buses or lines, attacks]."""

    def __init__(self, network: Network) -> None:
        lines, buses = network.lines, len(network.numbers)
        self.start, self.end = (np.array(ends, np.int64) for ends in ([line.start for line in lines], [line.end for line in lines]))
        if not all(Fraction(1, 10**200) <= line.susceptance <= 10**200 for line in lines if line.susceptance > 0):
            raise Declined("limit-reached", "a susceptance is outside 1e-200 to 1e200 MW", fix="correct the reactances of the case")
        self.susceptance = np.array([float(line.susceptance) for line in lines])[:, None]
        infinite = float("inf")
        self.high = np.array([infinite if line.high is None else float(line.high) for line in lines])[:, None]
        self.below = np.array([infinite if line.low is None else float(-line.low) for line in lines])[:, None]
        halves = np.concatenate([self.start, self.end])
        self.order = np.argsort(halves, kind="stable")
        degree = np.bincount(halves, minlength=buses)
        self.touched = np.flatnonzero(degree)  # buses with lines, in the order of the half-lines
        self.first = np.concatenate([[0], np.cumsum(degree[self.touched])[:-1]]).astype(np.int64)
        self.slack = 2.0 * (int(degree.max(initial=0)) + buses + 12) * U
        self.buses = buses
        self.most_supply, self.most_demand = (np.array([float(v) for v in side])[:, None] for side in (network.supply, network.demand))

    def served(self, theta: Array, supply: Array, demand: Array, attacks: Integers) -> Array:
        """Return lower bounds in MW, one an attack [attacks, size], from any angles, supplies and demands [buses, attacks or 1] (R4).

        Supplies and demands are cut to their ranges.
        """
        supply, demand = np.clip(supply, 0.0, self.most_supply), np.clip(demand, 0.0, self.most_demand)
        flow = self.susceptance * (theta[self.start] - theta[self.end])
        every = np.arange(len(attacks))
        for line in attacks.T:
            flow[line, every] = 0.0
        size = np.abs(flow)
        residual = np.broadcast_to(supply - demand, theta.shape).copy()
        if self.touched.size:
            residual[self.touched] -= np.add.reduceat(np.concatenate([flow, -flow])[self.order], self.first)
        power = 2.0 * size.sum(axis=0) + 2.0 * (supply + demand).sum(axis=0)
        lost = np.abs(residual).sum(axis=0) + self.slack * power + 2.0**-1000
        size *= 16.0 * U
        size += lost
        rho = np.maximum(((size + flow) / self.high).max(axis=0, initial=0.0), ((size - flow) / self.below).max(axis=0, initial=0.0))
        rho = np.maximum(rho * (1.0 + 8.0 * U), 1.0 + 16.0 * U)
        below = 1.0 - (self.buses + 64.0) * U
        kept = (demand.sum(axis=0) * below - lost) / rho
        return np.where(np.isfinite(kept) & np.isfinite(rho) & (kept > 0), kept * below, 0.0)


class Coverage:
    """Which attacks of a game a pool leaves open: dispatches are tried in the order of the pool, the later ones on what the first few leave."""

    def __init__(self, network: Network, limits: Limits) -> None:
        self.rule, self.proposals, self.limits = Recourse(network), Proposals(network, limits), limits
        self.cost = 60 * (len(network.lines) + len(network.numbers))
        self.attacks = 0
        np.empty(31 << 20, np.uint8)  # once freed, glibc keeps blocks of up to this size: else every array below is paged in anew

    def left(self, attacks: Integers, supply: Array, demand: Array, wanted: float) -> Integers:
        """Return which attacks are not served `wanted` MW by one dispatch (a mask)."""
        subsets = 1 << attacks.shape[1]
        self.limits.spend(200_000 + 20_000 * subsets + (self.cost + 20 * subsets) * len(attacks), "serving demand after attacks")
        found = np.zeros(len(attacks))
        for which, shape in self.proposals.shapes(attacks):
            theta, given, taken = self.proposals.angles(shape, supply, demand)
            found[which] = self.rule.served(theta, given, taken, attacks[which])
        return ~(found >= wanted)

    def uncovered(self, played: Game, pool: Pool, wanted: float) -> Integers | None:
        """Return an attack after which no dispatch of the pool serves `wanted` MW; None if there is none."""
        ends = sorted({0, *(end for end in _STAGES if end < len(pool.supply)), len(pool.supply)})
        for _, blocks in groupby(attacks_within(played, self.limits), key=lambda block: block.shape[1]):
            left = self._parts(blocks)
            for start, end in pairwise(ends):
                left = self._stage(left, pool, range(start, end), wanted)
            for attacks in left:
                return np.array(attacks[0])
        return None

    def _parts(self, blocks: Iterator[Integers]) -> Iterator[Integers]:
        for block in blocks:
            self.attacks += len(block)
            yield from (block[start : start + BLOCK] for start in range(0, len(block), BLOCK))

    def _stage(self, parts: Iterator[Integers], pool: Pool, witnesses: range, wanted: float) -> Iterator[Integers]:
        """Yield the attacks that these dispatches leave, tried on a block of them at a time."""
        waiting: list[Integers] = []
        for part in chain(parts, (None,)):
            if part is not None:
                waiting.append(part)
            if waiting and (part is None or sum(map(len, waiting)) >= BLOCK):
                attacks, waiting = np.concatenate(waiting), []
                for witness in witnesses:
                    attacks = attacks[self.left(attacks, pool.supply[witness], pool.demand[witness], wanted)]
                    if not len(attacks):
                        break
                if len(attacks):
                    yield attacks


def cover(network: Network, played: Game, pool: Pool, shed: Fraction, limits: Limits) -> int:
    """Return the number of attacks, after each of which some dispatch of the pool serves all but `shed` MW; raises Rejected `attack-uncovered`."""
    coverage = Coverage(network, limits)
    found = coverage.uncovered(played, pool, above(network.total - shed))
    if found is not None:
        rows = ", ".join(str(network.lines[k].row) for k in found.tolist())
        raise Rejected("attack-uncovered", f"no dispatch of the pool serves enough after the attack on rows {rows or 'none'}", where="evidence",
                       fix="the evidence does not establish the claim: ask the author for a new certificate")
    return coverage.attacks
