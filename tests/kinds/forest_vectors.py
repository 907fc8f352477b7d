# SPDX-License-Identifier: Apache-2.0
"""Test vectors of `grid-shedding` for an operator who may open lines: forests of closed lines and dispatches on the triangle of `grid_hand`.

Row 4 of TWINS is a second circuit between buses 1 and 2, in the other direction and with twice the reactance of row 1: of a flow of 60 MW it
carries a third.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from kinds.attacks import Vector, ask, put, say, vector
from kinds.grid_hand import HAIR, LEAST, ROUND, ROW_1, ROW_2, both, given, model, text, triangle
from power_networks import Branch, Grid
from toolkit import Specimen

NODES, FLOW = (0, -1, 1, -2, -3), ((0, 60, -10), (60, 0, 10), (50, 50, 0))
CLOSED = ((0, 1, 1), (1, 0, 1), (1, 1, 0))


def forests(grid: Grid | None = None, bound: str = "40", nodes: tuple[int, ...] = NODES, flow: tuple[tuple[int, ...], ...] = FLOW,
            closed: tuple[tuple[int, ...], ...] = CLOSED, scale: int = 1, **fields: Any) -> Specimen:
    """Return a worst case shown by flows: row 1 attacked, or row 2, or neither, each on two closed lines."""
    count = len(flow)
    arrays = {"tree": np.array(nodes, "<i4"), "flow": np.array(flow, "<i8"), "scale": np.full(count, scale, "<i8"),
              "closed": np.array(closed, "|u1"), "kind": np.zeros(count, "|u1"), "supply": np.zeros((0, 3), "<i8"),
              "demand": np.zeros((0, 3), "<i8")}
    return Specimen("grid-shedding", {"case": ("case.m", (grid or triangle()).data())}, given("dc-switch", **fields), {"shed_mw_at_most": bound},
                    "forest-tree", {"quantum_mw": "1"}, arrays, ["dc-switching"])


def dispatched(bound: str = ROUND, **fields: Any) -> Specimen:
    """Return the same worst case with a dispatch where row 1 is attacked: nothing further can be attacked there."""
    made = forests(bound=bound, flow=((0, 0, 0), *FLOW[1:]), closed=((1, 1, 1), *CLOSED[1:]), **fields)
    made.arrays |= {"kind": np.array([1, 0, 0], "|u1"), "supply": np.array([[60, 0, 0]], "<i8"), "demand": np.array([[0, 10, 50]], "<i8")}
    return made


def twins(rate: int = 40, second: int = 20, **second_circuit: Any) -> Grid:
    """Return TWINS, with the ratings of rows 1 and 4."""
    made = triangle(rate)
    made.branches[3] = Branch(2, 1, Fraction(second), Fraction(2, 10), **second_circuit)
    return made


def lone(grid: Grid, flow: tuple[int, ...], closed: tuple[int, ...], bound: str, attacks: int = 0) -> Specimen:
    """Return one flow for every attack."""
    return forests(grid, bound, (-1,), (flow,), (closed,), attacks=attacks)


def vectors() -> Iterator[Vector]:
    """Yield all vectors of evidence `forest-tree`."""
    yield from _flows()
    yield from _circuits()
    yield from _dispatches()


def _flows() -> Iterator[Vector]:
    base = forests()
    yield vector("forest", "verified", "", base, "none: a forest for each of the attacks on row 1, row 2, and what is left")
    yield vector("forest-one-leaf", "verified", "", lone(triangle(), (50, 50, 0), (1, 1, 0), "50", 1), "none: one flow, and what one line takes out")
    yield vector("forest-all-open", "verified", "", lone(triangle(), (0, 0, 0), (0, 0, 0), "100", 3), "none: everything is shed")
    yield vector("forest-bound-a-hair-too-low", "rejected", "bound-too-strong", base, "a tolerance on the bound",
                 say(says={"shed_mw_at_most": str(40 - HAIR)}), effect="the attack on row 1 sheds 40 MW")
    yield vector("forest-budget-raised", "rejected", "bound-too-strong", base, "the budget is taken from the tree", ask(attacks=2),
                 effect="two lines shed 100 MW")
    loop = triangle(60, 60, 5)
    loop.branches[0].x = loop.branches[2].x = Fraction(1, 20)
    yield vector("forest-cycle-closed", "rejected", "leaf-cycle", base, "Kirchhoff's voltage law holds by itself on a cycle",
                 put(closed=("|u1", [[0, 1, 1], [1, 0, 1], [1, 1, 1]])))
    yield vector("forest-cycle-that-ohm-forbids", "rejected", "leaf-cycle", lone(loop, (55, 45, 5), (1, 1, 1), "0"),
                 "flows on a cycle need no angles")
    yield vector("forest-flow-on-an-open-pair", "rejected", "leaf-open-flow", base, "open lines carry flow",
                 put(closed=("|u1", [[0, 1, 1], [1, 0, 1], [1, 0, 0]])))
    yield vector("forest-attacked-line-closed", "rejected", "leaf-attacked-flow", base, "flows of an attacked line are not looked at",
                 put(tree=("<i4", [0, -2, 1, -1, -3])), effect="the flow of the other attack uses the attacked row")
    yield vector("forest-flow-a-quantum-over-its-limit", "rejected", "leaf-flow-limit", base, "a tolerance on limits",
                 put(flow=("<i8", [[0, 60001, -10000], *FLOW[1:]]), scale=("<i8", [1000, 1, 1])))
    yield vector("forest-flow-a-quantum-under-its-limit", "rejected", "leaf-flow-limit", base, "limits hold in one direction",
                 put(flow=("<i8", [[0, 60000, -10001], *FLOW[1:]]), scale=("<i8", [1000, 1, 1])))
    yield vector("forest-supply-exceeded", "rejected", "leaf-balance", lone(triangle(0, 0), (71, 50, 0), (1, 1, 0), "100"),
                 "a bus may supply more than it has")
    yield vector("forest-demand-exceeded", "rejected", "leaf-balance", lone(triangle(), (51, 49, 0), (1, 1, 0), "100"),
                 "a bus may take more than it wants")
    yield vector("forest-flow-of-the-least-integer", "rejected", "leaf-flow-limit", lone(triangle(0), (LEAST, 0, 0), (1, 0, 0), "100"),
                 "the size of the least integer is negative")
    yield vector("forest-scale-zero", "rejected", "evidence-range", base, "0 <= 0 holds for every limit", put(scale=("<i8", [1, 1, 0])))
    for name, array in (("closed", ("|u1", [[0, 1, 1], [1, 0, 1], [1, 2, 0]])), ("kind", ("|u1", [0, 0, 2]))):
        yield vector(f"forest-{name}-of-two", "rejected", "evidence-range", base, "two is read as one", put(**{name: array}))
    for name, array in (("flow", np.zeros((3, 2), "<i8")), ("closed", np.zeros((3, 4), "|u1")), ("closed", np.zeros((2, 3), "|u1")),
                        ("kind", np.zeros(2, "|u1")), ("scale", np.ones(2, "<i8")), ("supply", np.zeros((1, 3), "<i8"))):
        yield vector(f"forest-{name}-of-shape-{'x'.join(map(str, array.shape))}", "rejected", "array-shape", base, "what is missing has a default",
                     put(**{name: array}))
    yield vector("forest-unused", "rejected", "unused-evidence", base, "flows that no leaf names are ignored", put(tree=("<i4", [0, -1, 1, -2, -2])))
    for operator, words, premise in (("dc", "enforced", "dc-power-flow"), ("transport", "ignored", "transport-flow")):
        yield vector(f"forest-for-{operator}", "rejected", "evidence-kind", base, "every operator may open lines" if operator == "dc" else
                     "none: true, but no evidence of this kind", both(ask(operator=operator), model(angle_limits=words), say(assumptions=[premise])))


def _circuits() -> Iterator[Vector]:
    yield vector("forest-circuits-share", "verified", "", lone(twins(), (50, 50, 0), (1, 1, 0, 1), "0"),
                 "none: two circuits of one pair are no cycle, and share 50 MW as 2 to 1")
    yield vector("forest-circuit-attacked", "verified", "", lone(twins(), (50, 50, 0), (1, 1, 0, 1), "50", 1), "none: row 2 takes out 50 MW")
    share = Fraction(100, 3)
    only = lone(twins(), (50, 50, 0), (1, 1, 0, 1), str(Fraction(-(-share * 10**6 // 1), 10**6)), 1)
    only.given["attackable"] = [1, 4]
    yield vector("forest-share-of-a-circuit", "verified", "", only, "none: row 1 takes out two thirds of 50 MW")
    yield vector("forest-share-of-a-circuit-too-low", "rejected", "bound-too-strong", only, "circuits of a pair share equally",
                 say(says={"shed_mw_at_most": "25"}))
    yield vector("forest-circuit-over-its-rating", "rejected", "leaf-flow-limit", lone(twins(60, 10), (50, 50, 0), (1, 1, 0, 1), "0"),
                 "ratings of circuits add up")
    yield vector("forest-circuit-over-its-rating-opened", "verified", "", lone(twins(60, 10), (50, 50, 0), (1, 1, 0, 0), "0"),
                 "none: without row 4 the other carries all")
    yield vector("forest-circuit-of-negative-reactance", "declined", "susceptance-not-positive",
                 lone(twins(), (50, 50, 0), (1, 1, 0, 1), "0"), "shares of one sign are taken for granted",
                 text("\t2\t1\t0.01\t0.2", "\t2\t1\t0.01\t-0.2"))
    yield vector("forest-line-of-negative-reactance", "verified", "", forests(), "none: a line alone takes any angle",
                 text(ROW_2, ROW_2.replace("\t0.1\t", "\t-0.1\t")))
    yield vector("forest-circuits-of-different-shifts", "declined", "phase-shift-unsupported",
                 lone(twins(shift=Fraction(3)), (50, 50, 0), (1, 1, 0, 1), "0"), "shifts of parallel circuits are forgotten")
    both_shifted = twins(shift=Fraction(-3))
    both_shifted.branches[0].shift = Fraction(3)
    yield vector("forest-circuits-of-one-shift", "verified", "", lone(both_shifted, (50, 50, 0), (1, 1, 0, 1), "0"),
                 "none: row 4 runs the other way, so that -3 degrees are 3")
    both_shifted.branches[3].shift = Fraction(3)
    yield vector("forest-circuits-of-opposite-shifts", "declined", "phase-shift-unsupported", lone(both_shifted, (50, 50, 0), (1, 1, 0, 1), "0"),
                 "the direction of a circuit is forgotten")


def _dispatches() -> Iterator[Vector]:
    base = dispatched()
    yield vector("forest-dispatch", "verified", "", base, "none: angles are solved for where nothing further can be attacked")
    yield vector("forest-dispatch-a-little-too-low", "rejected", "bound-too-strong", base, "rounding is not counted",
                 say(says={"shed_mw_at_most": "40"}), effect="none: true, but floating point does not show it")
    yield vector("forest-dispatch-uncovered", "rejected", "leaf-uncovered", base, "a dispatch stands for further attacks", ask(attacks=2),
                 effect="a second line can be attacked below")
    yield vector("forest-dispatch-uncovered-by-one-line", "rejected", "leaf-uncovered", base, "a dispatch needs one line that can't be attacked",
                 ask(attacks=2, attack_costs=[[2, 2]]), effect="row 3 can be attacked below, and row 2 costs too much: rows 1 and 3 shed 50 MW")
    yield vector("forest-dispatch-with-flows", "rejected", "evidence-range", base, "flows of a dispatch are ignored",
                 put(flow=("<i8", [[0, 1, 0], *FLOW[1:]])))
    yield vector("forest-dispatch-missing", "rejected", "array-shape", base, "a missing dispatch serves everything",
                 put(supply=np.zeros((0, 3), "<i8"), demand=np.zeros((0, 3), "<i8")))
    yield vector("forest-dispatch-left-over", "rejected", "array-shape", base, "further dispatches are ignored",
                 put(kind=("|u1", [0, 0, 0]), flow=("<i8", FLOW), closed=("|u1", CLOSED)))
    yield vector("forest-dispatch-over-the-supply", "rejected", "pool-dispatch-range", base, "more is served than there is",
                 put(supply=("<i8", [[121, 0, 0]])))
    for name, quantum in (("zero", "0"), ("minus-one", "-1")):
        yield vector(f"forest-quantum-of-{name}", "rejected", "malformed", base, "what is not positive is a dispatch of nothing",
                     say(items={"quantum_mw": quantum}))
    yield vector("forest-dispatch-over-a-rating", "rejected", "bound-too-strong", base, "flows of angles have no limit",
                 put(supply=("<i8", [[100, 0, 0]]), demand=("<i8", [[0, 50, 50]])), effect="row 2 would carry 100 MW")
    yield vector("forest-dispatch-on-open-lines", "rejected", "bound-too-strong", base, "open lines carry flow",
                 put(closed=("|u1", [[0, 0, 0], *CLOSED[1:]])))
    for name, code, old, new in (("negative-reactance", "susceptance-not-positive", "\t0.1\t", "\t-0.1\t"),
                                 ("a-shift", "phase-shift-unsupported", "\t0\t1\t-360", "\t3\t1\t-360")):
        yield vector(f"forest-dispatch-on-{name}", "declined", code, base, "angles of lines of this sort are not bounded",
                     text(ROW_2, ROW_2.replace(old, new)))
    yield vector("forest-dispatch-attacked-line-shifted", "verified", "", base, "none: the attacked line is out",
                 text(ROW_1, ROW_1.replace("\t0\t1\t-360", "\t3\t1\t-360")))
