# SPDX-License-Identifier: Apache-2.0
"""The operator's linear program after one attack in the DC model: least shed, its dispatch, and dual numbers that bound it from below.

min sum s, with net outflow of f = p - (D - s) and f_l = b_l (theta_start - theta_end) on surviving lines, limits on f. One HiGHS model, whose bounds
change from attack to attack. Ohm's rows are scaled by 1000 / b_l.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import highspy
import numpy as np

from certify.readers.power import Network
from certify.rules.graphs import spanning_forest
from certify.rules.shedding_dual import dual_bound
from certify_solvers.grid.nodelp import Array, SolverFailed, quiet

_OHM = 1000.0
_SCALE, _FINE = 10**9, 10**6


@dataclass(frozen=True, eq=False)
class Dispatch:
    """An optimum: the shed, supply and demand served at each bus, and the duals of balances and of Ohm's rows (in MW per MW)."""

    shed: float
    supply: Array
    served: Array
    prices: Array
    ohm: Array


class DispatchLP:
    """The program of one network, warm-started from attack to attack; with `attack`, units that may consume are free to."""

    def __init__(self, network: Network, attack: bool) -> None:
        self.network = network
        lines, buses = len(network.lines), len(network.numbers)
        infinity = highspy.kHighsInf
        self.low = np.array([-infinity if line.low is None else float(line.low) for line in network.lines])
        self.high = np.array([infinity if line.high is None else float(line.high) for line in network.lines])
        self.demand, self.supply = (np.array([float(v) for v in side]) for side in (network.demand, network.supply))
        consumption = np.array([float(v) if attack else 0.0 for v in network.consumption])
        lp = highspy.HighsLp()
        lp.num_col_, lp.num_row_ = lines + 3 * buses, buses + lines
        lp.col_cost_ = np.concatenate([np.zeros(lines + buses), np.ones(buses), np.zeros(buses)])
        lp.col_lower_ = np.concatenate([self.low, np.full(buses, -infinity), np.zeros(buses), -consumption])
        lp.col_upper_ = np.concatenate([self.high, np.full(buses, infinity), self.demand, self.supply])
        lp.row_lower_ = lp.row_upper_ = np.concatenate([-self.demand, np.zeros(lines)])
        starts, index, value = [0], [], []
        self.factor = np.array([_OHM / float(line.susceptance) for line in network.lines])
        at: list[list[tuple[int, float]]] = [[] for _ in range(buses)]
        for k, line in enumerate(network.lines):
            index += [line.start, line.end, buses + k]
            value += [1.0, -1.0, float(self.factor[k])]
            starts.append(len(index))
            at[line.start].append((buses + k, -_OHM))
            at[line.end].append((buses + k, _OHM))
        for terms in at:
            index += [row for row, _ in terms]
            value += [number for _, number in terms]
            starts.append(len(index))
        for _ in range(2):
            for bus in range(buses):
                index.append(bus)
                value.append(-1.0)
                starts.append(len(index))
        lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
        lp.a_matrix_.start_, lp.a_matrix_.index_, lp.a_matrix_.value_ = np.array(starts), np.array(index), np.array(value)
        self.highs = quiet()
        if self.highs.passModel(lp) == highspy.HighsStatus.kError:
            raise SolverFailed("HiGHS refused the model of a dispatch")
        self.out: list[int] = []

    def solve(self, attacked: Sequence[int]) -> Dispatch:
        """Return an optimum after an attack; raises SolverFailed."""
        lines, buses = len(self.network.lines), len(self.network.numbers)
        infinity = highspy.kHighsInf
        for k in self.out:
            self.highs.changeColBounds(k, self.low[k], self.high[k])
            self.highs.changeRowBounds(buses + k, 0.0, 0.0)
        self.out = list(attacked)
        for k in self.out:
            self.highs.changeColBounds(k, 0.0, 0.0)
            self.highs.changeRowBounds(buses + k, -infinity, infinity)
        for _ in range(2):
            self.highs.run()
            if self.highs.getModelStatus() == highspy.HighsModelStatus.kOptimal:
                found = self.highs.getSolution()
                columns, duals = np.array(found.col_value), np.array(found.row_dual)
                shed, supply = columns[lines + buses : lines + 2 * buses], columns[lines + 2 * buses :]
                return Dispatch(self.highs.getInfo().objective_function_value, np.clip(supply, 0.0, self.supply),
                                np.clip(self.demand - shed, 0.0, self.demand), -duals[:buses], -duals[buses:] * self.factor)
            self.highs.clearSolver()
        raise SolverFailed(f"HiGHS ended with {self.highs.modelStatusToString(self.highs.getModelStatus())}")


@dataclass(frozen=True, eq=False)
class Dual:
    """Integer prices [buses] and a circulation [lines] over their scales, and the shed in MW that they show."""

    bound: Fraction
    prices: list[int]
    circulation: list[int]
    scales: tuple[int, int]


def exact_dual(network: Network, attacked: Sequence[int], found: Dispatch) -> Dual:
    """Return the duals of an optimum as exact numbers that bound the shed from below.

    The circulation is rounded off a spanning forest of surviving lines and follows exactly on it.
    """
    out = set(attacked)
    prices = [round(float(value) * _SCALE) for value in found.prices]
    wanted = found.ohm * np.array([float(line.susceptance) for line in network.lines])
    size = max(1.0, float(np.abs(wanted).max(initial=0.0)))
    scale = max(1, min(_SCALE, int(1e17 / size)))
    circulation = [0 if k in out else round(float(value) * scale) for k, value in enumerate(wanted)]
    _balance(network, out, circulation)
    shown = []
    nothing = [0] * len(circulation)
    for mine, around in ((prices, circulation), (prices, nothing), ([0] * len(prices), nothing)):  # the last shows 0 MW
        bound = dual_bound(network, frozenset(out), [Fraction(p, _SCALE) for p in mine], [Fraction(y, scale) for y in around])
        shown.append(Dual(Fraction(bound * _FINE // 1, _FINE), mine, around, (_SCALE, scale)))  # a number that people can read
    return max(shown, key=lambda dual: dual.bound)


def _balance(network: Network, out: set[int], circulation: list[int]) -> None:
    """Change the values on a spanning forest of surviving lines so that every bus is in balance."""
    order, via = spanning_forest(network, out)
    forest = set(via)
    outflow = [0] * len(network.numbers)
    for k, value in enumerate(circulation):
        if k not in forest:
            outflow[network.lines[k].start] += value
            outflow[network.lines[k].end] -= value
    for bus in reversed(order):
        if (k := via[bus]) >= 0:
            up = network.lines[k].start == bus
            circulation[k] = -outflow[bus] if up else outflow[bus]
            other = network.lines[k].end if up else network.lines[k].start
            outflow[other] += outflow[bus]
            outflow[bus] = 0
