# SPDX-License-Identifier: Apache-2.0
"""The linear program of pair flows: circuits between two buses share a flow by their susceptances, as Ohm's law has it.

Sparse flows are asked for at a bound of at most the target, by a weighted l_1 norm whose weights the search changes from round to round
(`switching`): a flow whose pairs form a forest is a witness for an operator who may open lines.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import highspy
import numpy as np

from certify.readers.power import Network
from certify.rules.attacks import Game
from certify.rules.forests import pairs_of
from certify_solvers.grid.nodelp import Array, SolverFailed, quiet

Integers = np.ndarray[Any, Any]


@dataclass(eq=False)
class ForestTree:
    """The tree so far: nodes in preorder; each witness is (kind, pair flows, closed lines, supply, demand)."""

    scale: int
    nodes: list[int] = field(default_factory=list)
    witnesses: list[tuple[int, list[int], Integers, Integers, Integers]] = field(default_factory=list)
    worst: float = 0.0
    complete: bool = True


class PairLP:
    """Pair flows at a node: circuits of a pair share its flow by their susceptances; one HiGHS model."""

    def __init__(self, network: Network, played: Game) -> None:
        self.network, self.played = network, played
        self.pairs = pairs_of(network)
        place = {frozenset(pair): e for e, pair in enumerate(self.pairs)}
        self.pair = np.array([place[frozenset((line.start, line.end))] for line in network.lines])
        lines, buses, pairs = len(network.lines), len(network.numbers), len(self.pairs)
        infinity = highspy.kHighsInf
        demand, supply = (np.array([float(v) for v in side]) for side in (network.demand, network.supply))
        self.g, self.t = 0, pairs  # columns: g, t >= |g|, s, p, eta, zeta
        self.s, self.eta = 2 * pairs, 2 * pairs + 2 * buses
        self.zeta = self.eta + 1
        self.highs = quiet()
        columns = self.zeta + lines
        lp = highspy.HighsLp()
        lp.num_col_, lp.num_row_ = columns, buses + 2 * pairs + lines + 1
        lp.col_cost_ = np.zeros(columns)
        lp.col_lower_ = np.concatenate([np.full(pairs, -infinity), np.zeros(columns - pairs)])
        lp.col_upper_ = np.concatenate([np.full(2 * pairs, infinity), demand, supply, np.full(1 + lines, infinity)])
        lp.row_lower_ = np.concatenate([-demand, np.zeros(2 * pairs + lines), [-infinity]])
        lp.row_upper_ = np.concatenate([-demand, np.full(2 * pairs + lines, infinity), [infinity]])
        self.rows = (buses, buses + 2 * pairs, buses + 2 * pairs + lines)  # of |g|, of losses, of the value
        entries: list[tuple[int, int, float]] = []
        for e, (start, end) in enumerate(self.pairs):
            entries += [(e, start, 1.0), (e, end, -1.0), (e, buses + e, -1.0), (e, buses + pairs + e, 1.0), (pairs + e, buses + e, 1.0),
                        (pairs + e, buses + pairs + e, 1.0)]
        for bus in range(buses):
            entries += [(self.s + bus, bus, -1.0), (self.s + buses + bus, bus, -1.0), (self.s + bus, self.rows[2], 1.0)]
        for k in range(lines):
            entries += [(pairs + int(self.pair[k]), self.rows[1] + k, -1.0), (self.eta, self.rows[1] + k, float(played.costs[k])),
                        (self.zeta + k, self.rows[1] + k, 1.0), (self.zeta + k, self.rows[2], 1.0)]
        entries += [(self.eta, self.rows[2], 1.0)]
        entries.sort()
        lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
        lp.a_matrix_.start_ = np.searchsorted([column for column, _, _ in entries], np.arange(columns + 1))
        lp.a_matrix_.index_ = np.array([row for _, row, _ in entries])
        lp.a_matrix_.value_ = np.array([value for _, _, value in entries])
        if self.highs.passModel(lp) == highspy.HighsStatus.kError:
            raise SolverFailed("HiGHS refused the model of pair flows")

    def shares(self, attacked: tuple[int, ...]) -> tuple[Array, Integers]:
        """Return the share of each line in its pair's flow, and which lines are closed: all that are not attacked and can share."""
        shares, closed = np.zeros(len(self.network.lines)), np.zeros(len(self.network.lines), np.uint8)
        out = set(attacked)
        for e in range(len(self.pairs)):
            mine = [k for k in np.flatnonzero(self.pair == e).tolist() if k not in out]
            lines = [self.network.lines[k] for k in mine]
            start = self.pairs[e][0]
            alike = all(line.susceptance > 0 for line in lines) and len({line.shift if line.start == start else -line.shift for line in lines}) < 2
            if len(mine) > 1 and not alike:
                mine = [max(mine, key=lambda k: (self._capacity(k), -k))]
            whole = sum(float(self.network.lines[k].susceptance) for k in mine)
            for k in mine:
                closed[k] = 1
                shares[k] = float(self.network.lines[k].susceptance) / whole if len(mine) > 1 else 1.0
        return shares, closed

    def _capacity(self, k: int) -> float:
        line = self.network.lines[k]
        return min(float("inf") if line.low is None else -float(line.low), float("inf") if line.high is None else float(line.high))

    def enter(self, attacked: tuple[int, ...], free: Integers, budget: int) -> Integers:
        """Set the model to a node and return the closed lines."""
        shares, closed = self.shares(attacked)
        most = np.zeros(len(self.pairs))
        for e in range(len(self.pairs)):
            ends = [self._capacity(k) / shares[k] for k in np.flatnonzero(self.pair == e).tolist() if closed[k]]
            most[e] = min(ends) if ends else 0.0
        pairs = len(self.pairs)
        self.highs.changeColsBounds(pairs, np.arange(pairs, dtype=np.int32), -most, most)
        for k in range(len(self.network.lines)):
            self.highs.changeCoeff(self.rows[1] + k, pairs + int(self.pair[k]), -float(shares[k]) if free[k] else 0.0)
        self.highs.changeCoeff(self.rows[2], self.eta, float(budget))
        return closed

    def solve(self, weights: Array | None, value: float, out: Sequence[int] = ()) -> tuple[float, Array] | None:
        """Return (value of the objective, pair flows): least bound without weights, else least weighted size at a bound of at most `value`.

        Pairs in `out` carry nothing, until the next node is entered.
        """
        for e in out:
            self.highs.changeColBounds(e, 0.0, 0.0)
        pairs, columns = len(self.pairs), self.zeta + len(self.network.lines)
        cost = np.zeros(columns)
        if weights is None:
            cost[self.s : self.s + len(self.network.numbers)] = 1.0
            cost[self.zeta :] = 1.0
            cost[self.eta] = self._budget
        else:
            cost[self.t : self.t + pairs] = weights
        self.highs.changeColsCost(columns, np.arange(columns, dtype=np.int32), cost)
        self.highs.changeRowBounds(self.rows[2], -highspy.kHighsInf, highspy.kHighsInf if weights is None else value)
        for _ in range(2):
            self.highs.run()
            status = self.highs.getModelStatus()
            if status == highspy.HighsModelStatus.kOptimal:
                return self.highs.getInfo().objective_function_value, np.array(self.highs.getSolution().col_value[:pairs])
            if status == highspy.HighsModelStatus.kInfeasible and weights is not None:
                return None
            self.highs.clearSolver()
        raise SolverFailed(f"HiGHS ended with {self.highs.modelStatusToString(self.highs.getModelStatus())}")

    _budget = 0.0

    def at(self, attacked: tuple[int, ...], free: Integers, budget: int) -> Integers:
        """Enter a node, with the budget in the objective too."""
        self._budget = float(budget)
        return self.enter(attacked, free, budget)
