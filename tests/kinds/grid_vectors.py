# SPDX-License-Identifier: Apache-2.0
"""Test vectors of `grid-shedding`, and of the questions and cases that `grid-attack` shares: trees and pools on the grids of `grid_hand`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from kinds import forest_vectors
from kinds.attacks import Vector, ask, put, say, vector
from kinds.grid_hand import HAIR, LARGEST, LEAST, ROW_1, both, mesh, model, pool, text, tree, triangle
from power_networks import Branch, Bus, Grid, Unit
from toolkit import Specimen


def shedding() -> Iterator[Vector]:
    """Yield all vectors of `grid-shedding`."""
    yield from _trees()
    yield from _flows()
    yield from _pools()
    yield from questions(tree(), pool(), lambda value: say(says={"shed_mw_at_most": value}))
    yield from cases(tree(), pool())
    yield from _limits()
    yield from forest_vectors.vectors()
    yield from _envelope(tree(), pool())


def _trees() -> Iterator[Vector]:
    base = tree()
    yield vector("tree", "verified", "", base, "none: a flow for each of the attacks on row 1, row 2, and what is left")
    yield vector("tree-one-leaf", "verified", "", tree(bound="50", nodes=(-1,), flow=((50, 50, 0),)),
                 "none: one flow, and the most that one line takes out")
    yield vector("tree-nothing-moves", "verified", "", tree(bound="100", nodes=(-1,), flow=((0, 0, 0),), attacks=3), "none: everything is shed")
    yield vector("bound-a-hair-too-low", "rejected", "bound-too-strong", base, "a tolerance on the bound",
                 say(says={"shed_mw_at_most": str(40 - HAIR)}), effect="the attack on row 1 sheds 40 MW")
    yield vector("bound-below-zero", "rejected", "bound-too-strong", tree(bound="-1", attacks=0, nodes=(-1,), flow=((50, 50, 0),)),
                 "a bound has no sign")
    yield vector("budget-raised", "rejected", "bound-too-strong", base, "the budget is taken from the tree", ask(attacks=2),
                 effect="two lines shed 100 MW")
    yield vector("budget-of-zero", "rejected", "branch-invalid", base, "a branch costs nothing", ask(attacks=0),
                 effect="none: true, but no node can branch")
    three = tree(attacks=3, attack_costs=[[1, 2], [2, 2], [3, 2]])
    yield vector("costs", "verified", "", three, "none: a budget of 3 pays for one line of cost 2")
    yield vector("cost-lowered", "rejected", "bound-too-strong", three, "costs are taken from the tree", ask(attack_costs=[[1, 2], [3, 2]]),
                 effect="rows 1 and 2 cost 3 together and shed 100 MW")
    yield vector("cost-above-the-budget-at-a-node", "rejected", "branch-invalid", three, "what a node costs is not charged",
                 ask(attack_costs=[[1, 4]]))
    knapsack = tree(bound="50", nodes=(-1,), flow=((50, 50, 0),), attacks=4, attack_costs=[[1, 2], [2, 3]])
    yield vector("knapsack", "verified", "", knapsack, "none: rows 1 and 2 cost 5 together")
    yield vector("knapsack-affords-both", "rejected", "bound-too-strong", knapsack, "the dearest line for its cost is taken first", ask(attacks=5))
    yield vector("knapsack-of-fractions", "rejected", "bound-too-strong", knapsack, "the budget is divided by the least cost, rounded down", ask(
        attack_costs=[[1, 2], [2, 2]]), effect="rows 1 and 2 cost 4 together")
    yield vector("defended", "verified", "", tree(bound="0", nodes=(-1,), flow=((50, 50, 0),), defended=[1, 2]),
                 "none: only row 3 is left, and unused")
    yield vector("defended-row-of-a-node", "rejected", "branch-invalid", base, "a tree may branch on what is defended", ask(defended=[1]))
    yield vector("defended-row-forgotten", "rejected", "bound-too-strong",
                 tree(bound="0", nodes=(-1,), flow=((50, 50, 0),), defended=[1, 2]), "defended lines are still counted out", ask(defended=[2]))
    yield vector("defence-over-its-budget", "rejected", "defence-over-budget",
                 tree(bound="0", nodes=(-1,), flow=((50, 50, 0),), defended=[1, 2], budget=2),
                 "the budget of the defence is not read", ask(budget=1))
    yield vector("defence-within-its-budget", "verified", "",
                 tree(bound="0", nodes=(-1,), flow=((50, 50, 0),), defended=[1, 2], budget=4, defence_costs=[[1, 3]]), "none: 3 + 1")
    yield vector("defence-costs-over-the-budget", "rejected", "defence-over-budget",
                 tree(bound="0", nodes=(-1,), flow=((50, 50, 0),), defended=[1, 2], budget=3, defence_costs=[[1, 3]]),
                 "defended lines are counted, not paid")
    yield vector("attackable", "verified", "", tree(bound="0", nodes=(-1,), flow=((50, 50, 0),), attackable=[3]), "none: row 3 carries nothing")
    yield vector("attackable-row-forgotten", "rejected", "bound-too-strong", tree(bound="0", nodes=(-1,), flow=((50, 50, 0),), attackable=[3]),
                 "attackable lines are the tree's", ask(attackable=[2, 3]))
    yield vector("attackable-none", "verified", "", tree(bound="0", nodes=(-1,), flow=((50, 50, 0),), attackable=[], attacks=9),
                 "none: no line, no attack")
    yield vector("node-on-a-line-that-can-not-be-attacked", "rejected", "branch-invalid", base, "attackable lines are not asked for",
                 ask(attackable=[2, 3]))
    for name, code, nodes, bug in (
        ("last-leaf-dropped", "tree-malformed", [0, -1, 1, -2], "the walk stops where the array ends"),
        ("leaf-appended", "tree-malformed", [0, -1, 1, -2, -3, -3], "what is left over is ignored"),
        ("second-tree", "tree-malformed", [-3, -1, -2], "what is left over is ignored"),
        ("empty-tree", "tree-malformed", [], "no leaf, nothing to fail"),
        ("branch-twice-below-never", "branch-invalid", [0, -1, 0, -2, -3], "a line is attacked after it was promised not to be"),
        ("branch-twice-below-attacked", "branch-invalid", [0, 0, -1, -1, -3], "a line is paid for twice"),
        ("index-of-a-line-too-large", "branch-invalid", [3, -1, 1, -2, -3], "row 4, which is off, is line 3"),
        ("index-of-a-line-huge", "branch-invalid", [2**31 - 1, -1, 1, -2, -3], "indices wrap around"),
        ("leaf-of-no-flow", "evidence-range", [0, -1, 1, -2, -4], "an index beyond the flows"),
        ("leaf-of-the-least-integer", "evidence-range", [0, -1, 1, -2, -(2**31)], "-1 - x overflows"),
        ("flows-swapped", "leaf-attacked-flow", [0, -2, 1, -1, -3], "flows of an attacked line are not looked at"),
        ("leaves-swapped", "leaf-attacked-flow", [0, -3, 1, -2, -1], "the second child is the attacked one"),
        ("flow-unused", "unused-evidence", [0, -1, 1, -2, -2], "flows that no leaf names are ignored"),
        ("subtree-of-never-dropped", "bound-too-strong", [0, -1, -3], "lines that are still free are not counted"),
    ):
        used = put(tree=("<i4", nodes))
        if name == "subtree-of-never-dropped":
            used = put(tree=("<i4", [0, -1, -2]), flow=("<i8", [[0, 60, -10], [50, 50, 0]]), scale=("<i8", [1, 1]))
        yield vector(name, "rejected", code, base, bug, used,
                     effect="an attack is never looked at" if code in ("tree-malformed", "branch-invalid") else "")
    yield vector("subtree-of-attacked-replaced", "rejected", "leaf-attacked-flow", base, "a flow of 1 on the attacked line is let pass",
                 put(flow=("<i8", [[1, 60, -10], [60, 0, 10], [50, 50, 0]])))
    yield vector("every-branch-off", "verified", "", tree(off(), "100", (-1,), ((),), attacks=2), "none: nothing to attack, and all is shed")
    yield vector("every-branch-off-claims-less", "rejected", "bound-too-strong", tree(off(), "99", (-1,), ((),), attacks=2),
                 "no line, no flow, no shed")
    yield vector("tree-for-two-lines", "verified", "", tree(bound="100", attacks=2, nodes=(0, -1, -2), flow=((0, 60, -10), (50, 50, 0))),
                 "none: 40 shed and 60 taken out, 50 and 10, ...")


def _tiny() -> Grid:
    """Return the triangle with unlimited lines, where 1e-30 MW are wanted at each of two buses."""
    made = triangle(0, 0, 0)
    for bus in made.buses:
        bus.pd = Fraction(1, 10**30) if bus.pd else bus.pd
    made.units[0].pmax = Fraction(1, 10**30)
    made.branches[4].rate = made.branches[3].rate = Fraction(0)
    return made


def _flows() -> Iterator[Vector]:
    base = tree()

    def flow(values: list[list[int]], scale: list[int] | None = None) -> Callable[[Specimen], None]:
        return put(flow=("<i8", values), scale=("<i8", [1] * len(values) if scale is None else scale))

    fine = [[0, 60000, -10000], [60, 0, 10], [50, 50, 0]]
    yield vector("scales", "verified", "", base, "none: each flow has its scale", flow(fine, [1000, 1, 1]))
    yield vector("scale-of-another-flow", "rejected", "leaf-flow-limit", base, "one scale serves all flows", flow(fine, [1, 1000, 1]))
    yield vector("flow-of-nothing-beside-a-long-denominator", "verified", "", tree(_tiny(), f"1/{5 * 10**29}", (-1,), ((0, 0, 0),), attacks=0),
                 "none: 2e-30 MW are shed, and 10^30 does not fit 64 bits")
    yield vector("flow-of-nothing-beside-a-long-denominator-too-low", "rejected", "bound-too-strong",
                 tree(_tiny(), "0", (-1,), ((0, 0, 0),), attacks=0), "a number that does not fit is none")
    yield vector("flow-a-quantum-over-its-limit", "rejected", "leaf-flow-limit", base, "a tolerance on limits", flow(
        [[0, 60001, -10000], [60, 0, 10], [50, 50, 0]], [1000, 1, 1]))
    yield vector("flow-a-quantum-under-its-limit", "rejected", "leaf-flow-limit", base, "limits hold in one direction", flow(
        [[0, 60000, -10001], [60, 0, 10], [50, 50, 0]], [1000, 1, 1]))
    short = triangle(0, 60, 0)
    short.units[0].pmax = Fraction(100)
    whole = tree(short, "100", (-1,), ((100, 0, 50),), attacks=0)
    yield vector("balance-met", "verified", "", tree(short, "0", (-1,), ((100, 0, 50),), attacks=0), "none: supply and demand are used up")
    yield vector("supply-exceeded-by-a-quantum", "rejected", "leaf-balance", whole, "a tolerance on supply", flow([[100001, 0, 50001]], [1000]))
    yield vector("demand-exceeded-by-a-quantum", "rejected", "leaf-balance", whole, "a bus may take more than it wants",
                 flow([[100000, 0, 49999]], [1000]))
    yield vector("bus-without-supply-supplies", "rejected", "leaf-balance", whole, "supply is where it is needed", flow([[0, -1, 0]]))
    yield vector("unit-out-of-service-supplies", "rejected", "leaf-balance", whole, "units that are off supply", flow([[0, 0, -20]]))
    yield vector("flows-that-wrap-around", "rejected", "leaf-flow-limit", whole, "sums wrap around modulo 2^64", flow([[1 << 62, 0, 1 << 62]]))
    ring = tree(triangle(0, 0, 0), "100", (-1,), ((0, 0, 0),), attacks=0)
    yield vector("ring-that-wraps-around", "rejected", "leaf-flow-limit", ring, "unlimited lines have no limit at all", flow([[LEAST, LEAST, LEAST]]))
    yield vector("least-integer", "rejected", "leaf-flow-limit", ring, "the size of the least integer is negative", flow([[LEAST, 0, 0]]))
    yield vector("unlimited-line-at-2-53", "verified", "", ring, "none: at the limit of entries of unlimited lines",
                 flow([[1 << 53, 0, 0]], [1 << 53]))
    yield vector("unlimited-line-above-2-53", "rejected", "leaf-flow-limit", ring, "sums of large entries wrap around",
                 flow([[(1 << 53) + 1, 0, 0]], [1 << 53]))
    yield vector("unlimited-lines", "verified", "", tree(triangle(0, 0, 0), "0", (-1,), ((100, 0, 50),), attacks=0),
                 "none: a rating of 0 is no limit")
    yield vector("rating-of-zero-is-no-flow", "rejected", "bound-too-strong", tree(triangle(0, 0, 0), "0", (-1,), ((100, 0, 50),), attacks=1),
                 "unlimited lines can't be attacked", effect="row 1 carries everything")
    yield vector("scale-zero", "rejected", "evidence-range", base, "0 <= 0 holds for every limit", put(scale=("<i8", [1, 1, 0])),
                 effect="any flow fits")
    yield vector("scale-negative", "rejected", "evidence-range", base, "comparisons turn around", put(scale=("<i8", [1, -1, 1])))
    yield vector("scale-largest", "verified", "", tree(bound="100", nodes=(-1,), flow=((0, 0, 0),), scale=LARGEST, attacks=0),
                 "none: products are exact")
    yield vector("scale-that-overflows", "rejected", "bound-too-strong", tree(bound="99", nodes=(-1,), flow=((0, 0, 0),), scale=LARGEST, attacks=0),
                 "a shed times the scale wraps around", effect="100 MW are shed")
    for name, scale, buses in (("shed", 1 << 58, (50, 50)), ("sum-of-sheds", 1 << 60, (1,) * 8)):
        starved = Grid([Bus(1, type=3), *(Bus(2 + k, Fraction(v)) for k, v in enumerate(buses))], [Unit(1, Fraction(0))], [Branch(1, 2, Fraction(9))])
        yield vector(f"scale-at-which-a-{name}-wraps-around", "rejected", "bound-too-strong", tree(starved, "7", (-1,), ((0,),), scale, attacks=0),
                     "sheds times the scale wrap around", effect="everything is shed")
    small = triangle()
    small.buses[1].pd = Fraction(1, 10**10)
    yield vector("flow-times-the-unit-wraps-around", "rejected", "leaf-flow-limit", tree(small, "100", (-1,), ((1 << 54, 0, 0),), attacks=0),
                 "flows in units of the data wrap around", effect="10^10 times 2^54 is 0 modulo 2^64")
    wide = Grid([Bus(1, type=3), Bus(2, Fraction(1, 2**20))], [Unit(1, Fraction(1))], [Branch(1, 2, Fraction(0)) for _ in range(8)])
    yield vector("flows-at-a-bus-wrap-around", "rejected", "leaf-balance", tree(wide, "1", (-1,), ((1 << 41,) * 8,), attacks=0),
                 "sums at a bus wrap around", effect="2^20 times 8 times 2^41 is 0 modulo 2^64")
    yield vector("scale-missing-for-a-flow", "rejected", "array-shape", base, "a missing scale is 1", put(scale=("<i8", [1, 1])))
    yield vector("scale-left-over", "rejected", "array-shape", base, "further scales are ignored", put(scale=("<i8", [1, 1, 1, 1])))
    yield vector("flow-for-the-row-that-is-off", "rejected", "array-shape", base, "columns are rows of the file", flow(
        [[0, 60, -10, 0], [60, 0, 10, 0], [50, 50, 0, 0]]))
    yield vector("flow-short-of-a-line", "rejected", "array-shape", base, "missing columns are zero", flow([[0, 60], [60, 0], [50, 50]]))
    yield vector("flow-transposed", "rejected", "leaf-flow-limit", tree(bound="40"), "rows and columns are swapped", put(
        flow=np.array([[0, 60, -10], [60, 0, 10], [50, 50, 0]], "<i8").T.copy()), effect="none: another flow")
    yield vector("no-flow-at-all", "rejected", "evidence-range", base, "no flow, nothing to fail", both(
        put(flow=np.zeros((0, 3), "<i8"), scale=("<i8", [])), put(tree=("<i4", [-1]))))
    yield vector("flow-and-scale-swapped", "rejected", "array-shape", base, "arrays are told apart by order",
                 put(scale=np.zeros((3, 3), "<i8"), flow=("<i8", [1] * 3)))
    yield vector("flow-of-half-size", "rejected", "array-dtype", base, "another integer type is cast", put(flow=np.zeros((3, 3), "<i4")))
    yield vector("flow-of-floats", "rejected", "array-dtype", base, "floats are read as integers", put(flow=np.zeros((3, 3), "<f8")))
    yield vector("tree-wide", "rejected", "array-dtype", base, "another integer type is cast", put(tree=("<i8", [0, -1, 1, -2, -3])))
    for name in ("tree", "flow", "scale"):
        yield vector(f"{name}-missing", "rejected", "array-shape", base, "a missing array has a default", put(**{name: None}))
    yield vector("unknown-array", "rejected", "unused-evidence", base, "unknown arrays are ignored", put(extra=("<i8", [1])))


def _pools() -> Iterator[Vector]:
    base = pool()

    def dispatches(supply: list[list[int]], demand: list[list[int]]) -> Callable[[Specimen], None]:
        return put(supply=("<i8", supply), demand=("<i8", demand))

    supply, demand = base.arrays["supply"].tolist(), base.arrays["demand"].tolist()
    yield vector("pool", "verified", "", base, "none: a dispatch for each attack")
    yield vector("pool-in-another-order", "verified", "", base, "none: dispatches are tried one after the other",
                 dispatches(supply[::-1], demand[::-1]))
    yield vector("pool-of-everything-shed", "verified", "", pool(bound="100", supply=((0, 0, 0),), demand=((0, 0, 0),), attacks=3),
                 "none: 100 MW are wanted")
    for k, name in ((0, "row-1"), (1, "row-2"), (2, "no-attack")):
        yield vector(f"pool-without-the-dispatch-for-{name}", "rejected", "attack-uncovered", base, "attacks are not all tried",
                     dispatches(supply[:k] + supply[k + 1:], demand[:k] + demand[k + 1:]))
    yield vector("pool-empty", "rejected", "attack-uncovered", base, "no dispatch, nothing to fail",
                 put(supply=np.zeros((0, 3), "<i8"), demand=np.zeros((0, 3), "<i8")), effect="a proof of anything")
    yield vector("pool-bound-at-the-optimum", "rejected", "attack-uncovered", base, "rounding inwards",
                 say(says={"shed_mw_at_most": str(40 - Fraction(1, 10**6))}),
                 effect="the attack on row 1 sheds 40 MW")
    yield vector("pool-bound-below-zero", "rejected", "attack-uncovered", pool(bound="-1", attacks=0), "a bound has no sign")
    yield vector("pool-budget-raised", "rejected", "attack-uncovered", base, "the pool is for its own budget", ask(attacks=2),
                 effect="two lines shed 100 MW")
    yield vector("pool-cost-lowered", "rejected", "attack-uncovered", pool(attacks=3, attack_costs=[[1, 2], [2, 2], [3, 2]]), "costs are not read",
                 ask(attack_costs=[[1, 2], [3, 2]]))
    yield vector("pool-costs", "verified", "", pool(attacks=3, attack_costs=[[1, 2], [2, 2], [3, 2]]),
                 "none: a budget of 3 pays for one line of cost 2")
    calm = pool(bound=str(Fraction(1, 10**6)), supply=((100, 0, 0),), demand=((0, 50, 50),), defended=[1, 2])
    yield vector("pool-defended", "verified", "", calm, "none: only row 3 can be attacked")
    yield vector("pool-defended-forgotten", "rejected", "attack-uncovered", calm, "defended lines are the pool's", ask(defended=[1]))
    yield vector("pool-attackable-forgotten", "rejected", "attack-uncovered",
                 pool(bound=str(Fraction(1, 10**6)), supply=((100, 0, 0),), demand=((0, 50, 50),), attackable=[3]), "attackable lines are the pool's",
                 ask(attackable=[1, 3]))
    for name, change, bug in (
        ("supply-above-pmax", dispatches([*supply[:2], [121, 0, 0]], demand), "supply is clipped, or not compared"),
        ("supply-where-there-is-none", dispatches([*supply[:2], [99, 1, 0]], demand), "supply is compared in total"),
        ("supply-of-a-unit-that-is-off", dispatches([*supply[:2], [70, 0, 30]], demand), "units that are off supply"),
        ("supply-negative", dispatches([*supply[:2], [100, 0, -1]], demand), "units may consume for free"),
        ("demand-negative", dispatches(supply, [*demand[:2], [0, 50, -1]]), "a negative demand supplies"),
        ("demand-above-what-is-wanted", dispatches(supply, [*demand[:2], [0, 100, 0]]), "demand is compared in total"),
        ("demand-where-there-is-none", dispatches(supply, [*demand[:2], [1, 50, 49]]), "any bus may be served"),
        ("supply-near-the-end-of-int64", dispatches([*supply[:2], [LARGEST, 0, 0]], demand), "products with the quantum wrap around"),
        ("demand-near-the-end-of-int64", dispatches(supply, [*demand[:2], [0, LEAST, 50]]), "products with the quantum wrap around"),
    ):
        yield vector(f"pool-{name}", "rejected", "pool-dispatch-range", base, bug, change)
    yield vector("pool-supply-at-pmax", "verified", "", base, "none: 120 MW, of which 20 are not needed",
                 dispatches([*supply[:2], [120, 0, 0]], demand))
    yield vector("pool-demand-at-a-dead-bus", "rejected", "array-shape", base, "dead buses have a column", dispatches(
        [[*row, 0] for row in supply], [[*row, 5] for row in demand]))
    yield vector("pool-supply-and-demand-swapped", "rejected", "pool-dispatch-range", base, "arrays are told apart by order",
                 dispatches(demand, supply))
    yield vector("pool-of-unequal-parts", "rejected", "array-shape", base, "what is missing is zero", put(supply=("<i8", supply[:2])))
    yield vector("pool-short-of-a-bus", "rejected", "array-shape", base, "what is missing is zero",
                 dispatches([row[:2] for row in supply], [row[:2] for row in demand]))
    fine = pool(quantum="1/1000", supply=((60000, 0, 0), (60000, 0, 0), (100000, 0, 0)),
                demand=((0, 10000, 50000), (0, 50000, 10000), (0, 50000, 50000)))
    yield vector("pool-quantum", "verified", "", fine, "none: integers are thousandths of a MW")
    yield vector("pool-quantum-too-large", "rejected", "pool-dispatch-range", fine, "the quantum is a default", say(items={"quantum_mw": "1"}))
    yield vector("pool-quantum-too-small", "rejected", "attack-uncovered", base, "the quantum is a default", say(items={"quantum_mw": "1/1000"}))
    for name, value in (("zero", "0"), ("negative", "-1"), ("a-number", 1), ("not-in-lowest-terms", "2/2000"), ("a-decimal", "0.001")):
        yield vector(f"pool-quantum-{name}", "rejected", "malformed", base, "the quantum is not read strictly", say(items={"quantum_mw": value}))
    yield vector("pool-quantum-missing", "rejected", "malformed", base, "a missing quantum has a default", say(items={}))
    apart = pool(off(), "99", ((100, 0, 0),), ((0, 50, 50),), attacks=2)
    yield vector("pool-every-branch-off", "verified", "", apart, "none: nothing to attack, and all is shed", say(says={"shed_mw_at_most": "100"}))
    yield vector("pool-every-branch-off-claims-less", "rejected", "attack-uncovered", apart, "without lines nothing is out of balance")
    bridge = Grid([Bus(1, Fraction(10), type=3), Bus(2), Bus(3, Fraction(10))], [Unit(1, Fraction(25))],
                  [Branch(1, 2, Fraction(0)), Branch(2, 3, Fraction(0))])
    behind = pool(bridge, str(10 + Fraction(1, 10**6)), ((20, 0, 0),), ((10, 0, 10),))
    yield vector("pool-bridge", "verified", "", behind, "none: what is behind the bridge is shed")
    yield vector("pool-bridge-imbalanced", "rejected", "attack-uncovered", behind, "an island out of balance is served, for no limit is broken",
                 say(says={"shed_mw_at_most": "9"}), effect="10 MW are behind the bridge")
    loop = pool(mesh(100, 10, 100), str(60 + Fraction(1, 10**6)), ((30, 0, 0),), ((0, 30, 0),), attacks=0)
    yield vector("pool-loop", "verified", "", loop, "none: a third goes through the line of 10 MW")
    yield vector("pool-loop-without-ohm", "rejected", "attack-uncovered", loop, "flows obey balance only",
                 both(say(says={"shed_mw_at_most": "1"}), dispatches([[90, 0, 0]], [[0, 90, 0]])), effect="60 MW are shed in the DC model")
    worse = mesh(100, 10, 100)
    worse.branches[1].rate = Fraction(2)
    yield vector("pool-loop-braess", "verified", "",
                 pool(worse, str(84 + Fraction(1, 10**6)), ((6, 0, 0), (90, 0, 0)), ((0, 6, 0), (0, 90, 0)), attackable=[2]),
                 "none: the attack on row 2 helps, the empty one is the worst")
    yield vector("pool-loop-braess-empty-attack-skipped", "rejected", "attack-uncovered",
                 pool(worse, str(Fraction(1, 10**6)), ((90, 0, 0),), ((0, 90, 0),), attackable=[2]), "only attacks of the whole budget are tried",
                 effect="without any attack 84 MW are shed")
    for name in ("supply", "demand"):
        yield vector(f"pool-{name}-missing", "rejected", "array-shape", base, "a missing array has a default", put(**{name: None}))


def questions(first: Specimen, second: Specimen, bound: Callable[[Any], Callable[[Specimen], None]]) -> Iterator[Vector]:
    """Vectors about `given` and `says` that both kinds share; `first` is for transport, `second` for dc."""
    for key in ("attackable", "defended"):
        for name, rows in (("twice", [2, 2]), ("out-of-order", [2, 1]), ("off", [4]), ("of-a-dead-bus", [5]), ("beyond-the-file", [6]), ("zero", [0]),
                           ("negative", [-1]), ("a-word", ["1"])):
            if key == "attackable" or name in ("twice", "off", "beyond-the-file", "zero"):
                yield vector(f"{key}-row-{name}", "rejected", "malformed", first, "rows are not compared with the file", ask(**{key: rows}))
    for name, costs in (("one", [[1, 1]]), ("zero", [[1, 0]]), ("negative", [[1, -2]]), ("twice", [[1, 2], [1, 3]]), ("off", [[4, 2]]),
                        ("triple", [[1, 2, 3]]),
                        ("out-of-order", [[2, 2], [1, 2]])):
        yield vector(f"attack-cost-{name}", "rejected", "malformed", first, "costs are not read strictly", ask(attack_costs=costs))
    yield vector("defence-cost-of-no-line", "rejected", "malformed", first, "costs are not read strictly", ask(defence_costs=[[4, 2]]))
    for name, value in (("negative", -1), ("a-fraction", "1/2"), ("true", True), ("missing", None)):
        yield vector(f"budget-{name}", "rejected", "malformed", first, "the budget is not read strictly", ask(attacks=value))
    yield vector("given-unknown", "rejected", "malformed", first, "unknown fields are ignored", ask(tolerance="1/100"))
    yield vector("bound-a-number", "rejected", "malformed", first, "a number is read as a rational", bound(40))
    yield vector("bound-a-decimal", "rejected", "malformed", first, "decimals in place of rationals", bound("40.0"))
    yield vector("bound-infinite", "rejected", "malformed", first, "an infinite bound holds always", bound("inf"))
    yield vector("operator-unknown", "declined", "feature-unsupported", first, "an unknown operator is transport", ask(operator="nothing"))
    yield vector("operator-ac", "declined", "feature-unsupported", first, "transport says something about ac", ask(operator="ac"))
    yield vector("operator-in-capitals", "rejected", "malformed", first, "words are compared without case", ask(operator="DC"))
    for key, value in (("pmin", "enforced"), ("angle_limits", "half"), ("dispatchable", "free"), ("shunts", "ignored")):
        yield vector(f"model-{key.replace('_', '-')}-unknown", "declined", "feature-unsupported", second, "conventions are not read",
                     model(**{key: value}))
    yield vector("model-angle-limits-of-transport", "declined", "feature-unsupported", first, "transport has angles", model(angle_limits="enforced"))
    yield vector("model-unknown-word", "rejected", "malformed", first, "unknown conventions are ignored", model(losses="ignored"))
    yield vector("angle-limits-ignored-and-not-listed", "rejected", "assumption-missing", second, "the list of assumptions is the author's",
                 model(angle_limits="ignored"))
    yield vector("angle-limits-ignored", "verified", "", second, "none: listed", both(
        model(angle_limits="ignored"), say(assumptions=["angle-limits-ignored", "dc-power-flow"])))
    yield vector("angle-limits-enforced-but-listed", "rejected", "claim-mismatch", second, "an assumption that the claim doesn't rest on",
                 say(assumptions=["angle-limits-ignored", "dc-power-flow"]))
    yield vector("assumption-of-another-operator", "rejected", "assumption-missing", second, "one model is as good as another",
                 say(assumptions=["transport-flow"]))
    yield vector("assumption-not-allowed", "declined", "assumption-not-allowed", first, "the auditor's list is not read", allow=("dc-power-flow",))
    yield vector("assumption-allowed", "verified", "", second, "none", allow=("dc-power-flow",))
    pmin = text("\t120\t0;", "\t120\t60;")
    yield vector("pmin-and-not-listed", "rejected", "assumption-missing", first, "minimum outputs are not looked at", pmin)
    yield vector("pmin-listed", "verified", "", first, "none: a unit with a minimum output",
                 both(pmin, say(assumptions=["pmin-relaxed", "transport-flow"])))
    yield vector("pmin-of-a-unit-that-is-off", "verified", "", first, "none: it does not matter", text("\t0\t30\t0;", "\t0\t30\t10;"))


def cases(first: Specimen, second: Specimen) -> Iterator[Vector]:
    """Vectors about the case file that both kinds share; `first` is for transport, `second` for dc."""
    name, data = first.files["case"]
    for vector_name, old, new in (("rating-raised", ROW_1, ROW_1.replace("\t60\t", "\t70\t")), ("row-removed", ROW_1 + "\n", ""),
                                  ("comment-added", "\n", "%\n")):
        changed = data.replace(old.encode(), new.encode(), 1)
        yield vector(f"file-{vector_name}", "rejected", "subject-mismatch", first, "digests are not compared", files=[("", name, changed)])
    yield vector("file-missing", "declined", "subject-missing", first, "a missing subject is skipped", files=[])
    comment = "mpc.baseMVA = 100;"
    hidden = "mpc.branch = [ 1 2 0 0.1 0 999 0 0 0 0 1 ];"
    for vector_name, verdict, code, old, new, bug in (
        ("form-feed", "declined", "case-code", comment, f"{comment} % a\x0c{hidden}", "a form feed ends a comment"),
        ("lone-carriage-return", "declined", "case-code", comment, f"{comment} % a\r{hidden}", "a lone carriage return ends a comment"),
        ("nul", "declined", "case-code", comment, f"{comment} % a\x00", "a NUL ends the file"),
        ("line-separator", "verified", "", comment, f"{comment} % a\u2028{hidden}", "none: U+2028 in a comment does not end it"),
        ("next-line", "verified", "", comment, comment.encode() + b" % a\x85" + hidden.encode(), "none: 0x85 in a comment does not end it"),
        ("difference", "declined", "case-literal", "\t120\t0;", "\t1 - 2;", "1 - 2 is two numbers"),
        ("difference-without-blanks", "declined", "case-literal", "\t120\t", "\t121-1\t", "a number is read as far as it goes"),
        ("dots", "declined", "case-literal", "\t120\t", "\t120...\n\t", "a number is read as far as it goes"),
        ("transposed", "declined", "case-code", "];", "]';", "a transposed matrix is read as it is"),
        ("assigned-entry", "declined", "case-code", comment, f"{comment}\nmpc.bus(2, 3) = 0;", "code is skipped"),
        ("scaled", "declined", "case-code", "];\nmpc.gen", "];\nmpc.bus(:, 3) = mpc.bus(:, 3) / 1e3;\nmpc.gen", "code is skipped"),
        ("twice", "declined", "case-twice", "mpc.gen", "mpc.gen = [ 1 0 0 0 0 1 100 1 999 0 ];\nmpc.gen", "the first matrix wins"),
        ("block-comment", "declined", "case-block-comment", "mpc.gen", "%{\nmpc.gen", "block comments are line comments"),
        ("dc-line", "declined", "feature-unsupported", "mpc.gen", "mpc.dcline = [ 1 2 1 ];\nmpc.gen", "what is not known is ignored"),
        ("version-1", "declined", "case-version", "'2'", "'1'", "versions differ in their columns"),
        ("not-a-number", "declined", "case-literal", "\t2\t1\t50", "\t2\t1\tNaN", "comparisons with NaN are false"),
        ("infinite-load", "declined", "case-literal", "\t2\t1\t50", "\t2\t1\tInf", "infinite numbers cancel"),
        ("short-row", "declined", "case-row", ROW_1, "\t1\t2\t0.01;", "missing columns are zero"),
        ("status-2", "declined", "case-row", ROW_1, ROW_1.replace("\t1\t-360", "\t2\t-360"), "any status but 1 is off"),
        ("unknown-bus", "declined", "case-reference", ROW_1, ROW_1.replace("\t1\t2", "\t1\t7"), "a branch to nowhere is dropped"),
        ("bus-twice", "declined", "case-reference", "\t3\t1\t50", "\t2\t1\t50", "the last bus of a number wins"),
        ("base-of-zero", "declined", "case-reference", comment, "mpc.baseMVA = 0;", "the base is not compared"),
        ("exponent-50", "verified", "", "\t0\t0\t10\t-10", "\t0\t1e50\t10\t-10",
         "none: at the limit of exponents, in a column that doesn't matter"),
        ("exponent-51", "declined", "case-literal", "\t0\t0\t10\t-10", "\t0\t1e51\t10\t-10", "exponents without a limit"),
        ("digits-400", "verified", "", "\t0\t0\t10\t-10", "\t0\t0." + "1" * 398 + "\t10\t-10", "none: at the limit of digits"),
        ("digits-401", "declined", "case-literal", "\t0\t0\t10\t-10", "\t0\t0." + "1" * 399 + "\t10\t-10", "digits without a limit"),
        ("carriage-returns", "verified", "", "\n", "\r\n", "none: lines may end with CRLF"),
    ):
        yield vector(f"case-{vector_name}", verdict, code, first, bug, text(old, new, vector_name != "carriage-returns"),
                     flags=("subject",))
    for vector_name, code, old, new in (
        ("reactance-negative", "susceptance-not-positive", "\t0.1\t", "\t-0.1\t"), ("reactance-zero", "susceptance-not-positive", "\t0.1\t", "\t0\t"),
        ("phase-shift", "phase-shift-unsupported", "\t0\t1\t-360", "\t3\t1\t-360"),
        ("angle-above-zero", "angle-limit-excludes-zero", "\t-360\t360", "\t5\t30"),
        ("angle-at-zero", "angle-limit-excludes-zero", "\t-360\t360", "\t-30\t0"),
        ("angle-swapped", "angle-limit-excludes-zero", "\t-360\t360", "\t30\t-30"),
    ):
        yield vector(f"case-{vector_name}", "declined", code, second, "a line that the proof doesn't cover", text(ROW_1, ROW_1.replace(old, new)),
                     flags=("subject",))
        yield vector(f"case-{vector_name}-of-transport", "verified", "", first, "none: transport has neither angles nor reactances",
                     text(ROW_1, ROW_1.replace(old, new)))
        yield vector(f"case-{vector_name}-off", "verified", "", second, "none: the branch is off", text(
            "\t2\t3\t0.01\t0.1\t0\t50\t0\t0\t0\t0\t0\t-360\t360;", "\t2\t3\t0.01\t0.1\t0\t50\t0\t0\t0\t0\t0\t-360\t360;".replace(
                old.replace("\t1\t-360", "\t0\t-360"), new.replace("\t1\t-360", "\t0\t-360"))))
    for vector_name, ends in (("pmax-negative", "\t-1\t-2;"), ("pmin-above-pmax", "\t120\t121;"), ("pmin-infinite", "\t120\t-Inf;"),
                              ("may-consume", "\t120\t-5;")):
        yield vector(f"case-{vector_name}", "declined", "feature-unsupported", first, "units with p = 0 out of their range", text("\t120\t0;", ends),
                     flags=("subject",))


def off() -> Grid:
    """Return the triangle with every branch out of service."""
    made = triangle()
    for branch in made.branches:
        branch.status = 0
    return made


def _limits() -> Iterator[Vector]:
    base = tree()
    for nodes, verdict, code in ((5, "verified", ""), (4, "declined", "limit-reached")):
        yield vector(f"nodes-5-of-{nodes}", verdict, code, base, "a size without a limit", limits={"tree_nodes": nodes})
    for depth, verdict, code in ((2, "verified", ""), (1, "declined", "limit-reached")):
        yield vector(f"depth-2-of-{depth}", verdict, code, base, "a depth without a limit", limits={"tree_depth": depth})
    for budget, verdict, code in ((10**4, "verified", ""), (10**4 + 1, "declined", "limit-reached")):
        made = tree(bound="60", nodes=(-1,), flow=((50, 50, 0),), attacks=budget, attack_costs=[[1, 5001], [2, 5002], [3, 4999]])
        yield vector(f"knapsack-of-{budget}", verdict, code, made, "a table without a limit")
    yield vector("budget-of-2-53-less-one", "verified", "", tree(bound="100", nodes=(-1,), flow=((50, 50, 0),), attacks=2**53 - 1),
                 "none: all lines cost 3")
    yield vector("costs-of-2-53-less-one", "verified", "", pool(attacks=2**53 - 1, attack_costs=[[k, 2**53 - 1] for k in (1, 2, 3)]),
                 "none: one line at most")
    many = Grid([Bus(1, type=3), Bus(2, Fraction(1))], [Unit(1, Fraction(1))], [Branch(1, 2, Fraction(1)) for _ in range(60)])
    yield vector("pool-of-too-many-attacks", "declined", "limit-reached", pool(many, "1", ((0, 0),), ((0, 0),), attacks=7), "attacks without a limit",
                 limits={"work": 1 << 60})
    yield vector("pool-of-too-many-attacks-for-the-work", "declined", "limit-reached", pool(many, "1", ((0, 0),), ((0, 0),), attacks=6),
                 "work is not charged before it is done")
    yield vector("work-above-the-budget-of-a-tree", "declined", "limit-reached", base, "work is not charged before it is done", limits={"work": 1000})
    yield vector("work-above-the-budget-of-a-pool", "declined", "limit-reached", pool(), "work is not charged before it is done",
                 limits={"work": 530_000})
    yield vector("memory-above-the-budget", "declined", "limit-reached", pool(), "memory is not charged before it is used", limits={"memory": 1000})


def _envelope(first: Specimen, second: Specimen) -> Iterator[Vector]:
    yield vector("tree-relabelled-dc", "rejected", "evidence-kind", first, "transport says something about dc", both(
        ask(operator="dc"), model(angle_limits="enforced"), say(assumptions=["dc-power-flow"])))
    yield vector("tree-relabelled-dc-switch", "rejected", "evidence-kind", first, "transport says something about switching", both(
        ask(operator="dc-switch"), model(angle_limits="enforced"), say(assumptions=["dc-switching"])))
    yield vector("pool-relabelled-transport", "rejected", "evidence-kind", second, "none: true, but no evidence of this kind", both(
        ask(operator="transport"), model(angle_limits="ignored"), say(assumptions=["transport-flow"])))
    yield vector("pool-relabelled-dc-switch", "rejected", "evidence-kind", second, "none: true, but no evidence of this kind", both(
        ask(operator="dc-switch"), say(assumptions=["dc-switching"])))
    yield vector("tree-called-forest-tree", "rejected", "malformed", first, "kinds of evidence are told apart by their arrays",
                 say(evidence="forest-tree"))
    yield vector("evidence-unknown", "rejected", "evidence-kind", first, "evidence of an unknown kind", say(evidence="oak-tree"))
    yield vector("cut-for-a-worst-case", "rejected", "evidence-kind", first, "a cut bounds from above", both(
        say(evidence="cut", items={}), put(tree=None, flow=None, scale=None, side=("|u1", [0, 1, 0]))))
    yield vector("pool-called-tree", "rejected", "malformed", second, "kinds of evidence are told apart by their arrays",
                 say(evidence="penalty-tree"))
    yield vector("tree-called-pool", "rejected", "malformed", first, "kinds of evidence are told apart by their arrays", say(evidence="policy-pool"))
    yield vector("item-unknown", "rejected", "malformed", first, "unknown items are ignored", say(items={"trust": True}))
    yield vector("evidence-version-two", "declined", "version-unknown", first, "the version of evidence is not read", say(evidence_version=2))
    yield vector("claim-version-two", "declined", "version-unknown", first, "the version of the claim is not read", say(version=2))
    yield vector("says-of-the-other-kind", "rejected", "malformed", first, "directions are mixed up", say(says={"shed_mw_at_least": "40"}))
    yield vector("attack-named", "rejected", "malformed", first, "fields of another kind are ignored", ask(attack=[1]))
