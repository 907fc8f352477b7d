# SPDX-License-Identifier: Apache-2.0
"""The linear program at a node of the attack tree: flows whose shed, plus the dearest flows that the budget left can take out, is least.

min sum s + r eta + sum zeta, with net outflow = p - (D - s), low <= f <= high, f = 0 where attacked, and w_l eta + zeta_l >= |f_l| where line l
may still be attacked. By linear programming duality r eta + sum zeta is the (fractional) worst loss of flow within the budget r, so the optimum
bounds what the node's attacks can do, and its flows are the leaf's witness. One HiGHS model, whose bounds and costs change from node to node.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import highspy
import numpy as np

from certify.readers.power import Network
from certify.rules.attacks import Game

Array = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True, eq=False)
class Solution:
    """An optimum: its value, flows [lines], and the prices of buses (the duals of their balances)."""

    value: float
    flow: Array
    prices: Array


class SolverFailed(Exception):
    """HiGHS gave no optimum twice; its answer is not used."""


class NodeLP:
    """The program of one network and game, warm-started from node to node."""

    def __init__(self, network: Network, played: Game) -> None:
        self.lines, self.buses = len(network.lines), len(network.numbers)
        infinity = highspy.kHighsInf
        self.low = np.array([-infinity if line.low is None else float(line.low) for line in network.lines])
        self.high = np.array([infinity if line.high is None else float(line.high) for line in network.lines])
        lines, buses = self.lines, self.buses
        demand, supply = (np.array([float(v) for v in side]) for side in (network.demand, network.supply))
        self.eta, self.zeta = lines + 2 * buses, lines + 2 * buses + 1  # behind flows, sheds and supplies
        lp = highspy.HighsLp()
        lp.num_col_, lp.num_row_ = self.zeta + lines, buses + 2 * lines
        lp.col_cost_ = np.concatenate([np.zeros(lines), np.ones(buses), np.zeros(buses + 1), np.ones(lines)])
        lp.col_lower_ = np.concatenate([self.low, np.zeros(2 * buses + 1 + lines)])
        lp.col_upper_ = np.concatenate([self.high, demand, supply, np.full(1 + lines, infinity)])
        lp.row_lower_ = np.concatenate([-demand, np.zeros(2 * lines)])
        lp.row_upper_ = np.concatenate([-demand, np.full(2 * lines, infinity)])
        starts, index, value = [0], [], []
        for k, line in enumerate(network.lines):
            index += [line.start, line.end, buses + k, buses + lines + k]
            value += [1.0, -1.0, -1.0, 1.0]
            starts.append(len(index))
        for _ in range(2):  # sheds and supplies: outflow - p - s = -D
            for bus in range(buses):
                index.append(bus)
                value.append(-1.0)
                starts.append(len(index))
        index += list(range(buses, buses + 2 * lines))
        value += [float(cost) for cost in (*played.costs, *played.costs)]
        starts.append(len(index))
        for k in range(lines):
            index += [buses + k, buses + lines + k]
            value += [1.0, 1.0]
            starts.append(len(index))
        lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
        lp.a_matrix_.start_, lp.a_matrix_.index_, lp.a_matrix_.value_ = np.array(starts), np.array(index), np.array(value)
        self.highs = quiet()
        if self.highs.passModel(lp) == highspy.HighsStatus.kError:
            raise SolverFailed("HiGHS refused the model of a node")
        self._flow_columns = np.arange(lines, dtype=np.int32)
        self._zeta_columns = np.arange(self.zeta, self.zeta + lines, dtype=np.int32)

    def solve(self, attacked: Sequence[int], free: np.ndarray[Any, Any], budget: int) -> Solution:
        """Return an optimum at a node; raises SolverFailed."""
        out = np.zeros(self.lines, bool)
        out[list(attacked)] = True
        self.highs.changeColsBounds(self.lines, self._flow_columns, np.where(out, 0.0, self.low), np.where(out, 0.0, self.high))
        self.highs.changeColsCost(self.lines, self._zeta_columns, np.where(free, 1.0, 0.0))
        self.highs.changeColCost(self.eta, float(budget))
        for _ in range(2):
            self.highs.run()
            if self.highs.getModelStatus() == highspy.HighsModelStatus.kOptimal:
                found = self.highs.getSolution()
                return Solution(self.highs.getInfo().objective_function_value, np.array(found.col_value[: self.lines]),
                                np.array(found.row_dual[: self.buses]))
            self.highs.clearSolver()
        raise SolverFailed(f"HiGHS ended with {self.highs.modelStatusToString(self.highs.getModelStatus())}")


class _Highs(highspy.Highs):
    """HiGHS without callbacks: its constructor prints a banner when it enables them, before any option can silence it."""

    def __init__(self) -> None:
        super(highspy.Highs, self).__init__()


def quiet() -> Any:
    """Return a HiGHS object that prints nothing and runs in this thread alone."""
    highs = _Highs()
    for name, value in (("output_flag", False), ("threads", 1), ("simplex_strategy", 1), ("presolve", "off"), ("random_seed", 0)):
        if highs.setOptionValue(name, value) == highspy.HighsStatus.kError:
            raise SolverFailed(f"HiGHS has no option {name}")
    return highs
