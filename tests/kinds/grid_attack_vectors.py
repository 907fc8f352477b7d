# SPDX-License-Identifier: Apache-2.0
"""Test vectors of `grid-attack`: cuts and duals on the grids of `grid_hand`."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from kinds.attacks import Vector, ask, put, say, vector
from kinds.grid_hand import HAIR, LARGEST, LEAST, ROW_2, both, cut, dual, mesh, model, text, triangle
from kinds.grid_vectors import cases, questions


def attack() -> Iterator[Vector]:
    """Yield all vectors of `grid-attack`."""
    yield from _cuts()
    yield from _duals()
    yield from _attacks()
    yield from questions(cut(), cut(operator="dc"), lambda value: say(says={"shed_mw_at_least": value}))
    yield from cases(cut(), cut(operator="dc"))
    yield from _attack_envelope()


def _cuts() -> Iterator[Vector]:
    base = cut()
    yield vector("cut", "verified", "", base, "none: 50 MW wanted, 10 MW can come in")
    yield vector("cut-of-two-buses", "verified", "", cut(bound="100", side=(0, 1, 1), attack=[1, 2], attacks=2), "none: nothing can come in")
    yield vector("cut-of-nothing", "verified", "", cut(bound="0", side=(0, 0, 0)), "none: nothing is shown")
    yield vector("cut-of-everything", "verified", "", cut(bound="-20", side=(1, 1, 1)), "none: more is there than is wanted")
    for operator in ("dc-switch", "dc"):
        yield vector(f"cut-for-{operator}", "verified", "", cut(operator=operator), "none: who can do less sheds no less")
    for name, more in (("a-hair", HAIR), ("1e-9", Fraction(1, 10**9)), ("a-lot", Fraction(10))):
        yield vector(f"cut-{name}-too-high", "rejected", "bound-too-strong", base, "a tolerance on the bound",
                     say(says={"shed_mw_at_least": str(40 + more)}),
                     effect="row 3 can bring in 10 MW")
    yield vector("cut-of-the-other-side", "rejected", "bound-too-strong", base, "sides are mixed up", put(side=("|u1", [1, 0, 1])))
    yield vector("cut-of-another-bus", "rejected", "bound-too-strong", base, "attacked lines don't count anywhere", put(side=("|u1", [0, 0, 1])))
    yield vector("cut-attacked-line-counted-for-two", "rejected", "bound-too-strong", base, "only one line crosses the cut",
                 say(says={"shed_mw_at_least": "50"}))
    yield vector("cut-without-supply", "rejected", "bound-too-strong", cut(bound="100", side=(1, 1, 1), attack=[1]),
                 "supply inside the cut is forgotten")
    yield vector("cut-across-an-unlimited-line", "rejected", "bound-too-strong", cut(triangle(60, 60, 0)), "a rating of 0 is no flow",
                 effect="everything can come in through row 3")
    yield vector("cut-along-an-unlimited-line", "verified", "", cut(triangle(60, 60, 0), "40", (0, 1, 1)), "none: it does not cross the cut")
    yield vector("cut-through-an-attacked-unlimited-line", "verified", "", cut(triangle(0, 60, 10)), "none: it is out")
    for name, code, side in (("short", "array-shape", [0, 1]), ("long", "array-shape", [0, 1, 0, 0]), ("empty", "array-shape", []),
                             ("two", "evidence-range", [0, 2, 0]),
                             ("255", "evidence-range", [0, 255, 0])):
        yield vector(f"side-{name}", "rejected", code, base, "sides are not read strictly", put(side=("|u1", side)))
    yield vector("side-missing", "rejected", "array-shape", base, "a missing side is empty", put(side=None))
    yield vector("side-of-rank-two", "rejected", "array-shape", base, "another rank is flattened", put(side=("|u1", [[0, 1, 0]])))
    yield vector("side-wide", "rejected", "array-dtype", base, "another integer type is cast", put(side=("<i8", [0, 1, 0])))
    yield vector("side-beside-prices", "rejected", "unused-evidence", base, "unknown arrays are ignored", put(pi=("<i8", [0, 1, 0])))


def _duals() -> Iterator[Vector]:
    base = dual()
    yield vector("dual", "verified", "", base, "none: a circulation around the loop shows what no cut shows")
    yield vector("dual-scaled", "verified", "", dual(pi=(0, 10, 20), around=(3000, -3000, -3000), scale=(10, 3)), "none: integers over their scales")
    yield vector("dual-shifted", "rejected", "bound-too-strong", dual(pi=(1, 2, 3)), "prices count by their differences only",
                 effect="none: a weaker dual")
    yield vector("dual-as-a-cut", "verified", "", dual(triangle(), "40", (0, 1, 0), (0, 0, 0), attack=[1]), "none: no circulation")
    for name, more in (("a-hair", HAIR), ("1e-9", Fraction(1, 10**9))):
        yield vector(f"dual-{name}-too-high", "rejected", "bound-too-strong", base, "a tolerance on the bound",
                     say(says={"shed_mw_at_least": str(60 + more)}))
    for name, around in (("off-by-one", [1001, -1000, -1000]), ("off-by-one-at-the-end", [1000, -1000, -999]), ("turned-around", [1000, 1000, -1000]),
                         ("on-one-line", [0, 0, 1]), ("that-wraps-around", [LARGEST, LARGEST, LEAST])):
        yield vector(f"circulation-{name}", "rejected", "dual-infeasible", base, "a circulation is not asked to balance",
                     put(circulation=("<i8", around)))
    lost = dual(bound="80", pi=(0, 1, 1), around=(0, 0, 0), attack=[2])
    lost.files["case"] = ("case.m", mesh(10, 100, 100).data())
    yield vector("dual-of-an-attack", "verified", "", lost, "none: row 1 brings in 10 MW, and no loop is left")
    yield vector("circulation-on-an-attacked-line", "rejected", "dual-infeasible", base, "attacked lines obey Ohm's law", ask(attack=[2]))
    yield vector("circulation-half-on-an-attacked-line", "rejected", "dual-infeasible", base, "an attacked line is skipped before it is looked at",
                 both(
        ask(attack=[3]), put(circulation=("<i8", [0, 0, -1000]))))
    yield vector("dual-across-an-unlimited-line", "rejected", "bound-too-strong", dual(mesh(100, 0, 100)), "a rating of 0 is no flow",
                 effect="nothing is shed")
    yield vector("dual-along-unlimited-lines", "verified", "", dual(mesh(0, 10, 0)), "none: they have no slope")
    eats = dual(mesh(100, 100, 10, 20), "40", (0, 1, -1), (1000, -1000, -1000))
    yield vector("dual-who-may-consume", "verified", "", eats, "none: a unit takes 20 MW out of the loop", model(dispatchable="uncounted"))
    yield vector("dual-who-may-consume-forgotten", "rejected", "bound-too-strong", eats, "units never consume", both(
        model(dispatchable="uncounted"), say(says={"shed_mw_at_least": "60"})), effect="consuming at bus 3 lets more through")
    yield vector("dual-who-may-consume-counted", "verified", "", eats, "none: its demand counts, and is shed at a negative price",
                 say(says={"shed_mw_at_least": "40"}))
    limited = mesh(100, 0, 100)
    limited.branches[1].amin, limited.branches[1].amax = Fraction(-1), Fraction(1)
    shown = 90 - 3 * Fraction("3.14159265358980") * 1000 / 180
    yield vector("dual-angle-limit", "verified", "", dual(limited, str(shown)), "none: one degree is 17.45 MW, loosely")
    yield vector("dual-angle-limit-tight", "rejected", "bound-too-strong", dual(limited, str(90 - 3 * Fraction("3.14159265358979") * 1000 / 180)),
                 "pi is on the tight side", effect="the operator of the claim is weaker than the case says")
    yield vector("dual-angle-limit-ignored", "rejected", "bound-too-strong", dual(limited, str(shown)), "ignored limits still bound", both(
        model(angle_limits="ignored"), say(assumptions=["angle-limits-ignored", "dc-power-flow"])))
    for name, scale in (("zero", [0, 1]), ("negative", [1, -1]), ("short", [1]), ("long", [1, 1, 1]),
                        ("a-word", ["1", 1])):
        yield vector(f"dual-scale-{name}", "rejected", "malformed", base, "scales are not read strictly", say(items={"scale": scale}))
    yield vector("dual-scale-missing", "rejected", "malformed", base, "a missing scale is 1", say(items={}))
    yield vector("dual-scales-swapped", "rejected", "bound-too-strong", dual(pi=(0, 10, 20), around=(3000, -3000, -3000), scale=(10, 3)),
                 "one scale serves both",
                 say(items={"scale": [3, 10]}))
    for name, arrays in (("prices-short", {"pi": ("<i8", [0, 1])}), ("prices-of-a-dead-bus", {"pi": ("<i8", [0, 1, 2, 0])}),
                         ("circulation-short", {"circulation": ("<i8", [1000, -1000])}),
                         ("circulation-long", {"circulation": ("<i8", [1000, -1000, -1000, 0])}),
                         ("prices-missing", {"pi": None}), ("circulation-missing", {"circulation": None}),
                         ("prices-and-circulation-of-rank-two", {"pi": ("<i8", [[0, 1, 2]])})):
        yield vector(f"dual-{name}", "rejected", "array-shape", base, "what is missing is zero", put(**arrays))
    yield vector("dual-prices-of-floats", "rejected", "array-dtype", base, "floats are read as integers", put(pi=("<f8", [0, 1, 2])))
    yield vector("dual-prices-at-the-ends", "rejected", "bound-too-strong", base, "differences of prices wrap around",
                 put(pi=("<i8", [LEAST, LARGEST, 0])))


def _attacks() -> Iterator[Vector]:
    base = cut()
    for name, code, rows, bug in (
        ("over-the-budget", "attack-over-budget", [1, 2], "the budget is not read"),
        ("row-twice", "malformed", [1, 1], "a row counts once for the budget, twice here"),
        ("rows-out-of-order", "malformed", [2, 1], "a second form of an attack"), ("row-off", "attack-row", [4], "rows that are off may be attacked"),
        ("row-of-a-dead-bus", "attack-row", [5], "rows of dead buses may be attacked"),
        ("row-beyond-the-file", "attack-row", [6], "rows wrap around"),
        ("row-zero", "malformed", [0], "rows count from 0"), ("row-negative", "malformed", [-1], "rows count from the end"),
    ):
        yield vector(f"attack-{name}", "rejected", code, base, bug, ask(attack=rows))
    yield vector("attack-not-attackable", "rejected", "attack-row", base, "attackable lines are not asked for", ask(attackable=[2, 3]))
    yield vector("attack-attackable", "verified", "", base, "none", ask(attackable=[1]))
    yield vector("attack-defended", "rejected", "attack-defended", base, "defended lines are not asked for", ask(defended=[1]))
    yield vector("attack-beside-a-defence", "verified", "", base, "none: another row is defended", ask(defended=[2], budget=1))
    yield vector("attack-defence-over-its-budget", "rejected", "defence-over-budget", base, "the budget of the defence is not read",
                 ask(defended=[2], budget=0))
    yield vector("attack-cost-over-the-budget", "rejected", "attack-over-budget", base, "lines are counted, not paid", ask(attack_costs=[[1, 2]]))
    for costs in ([1], [1, 2, 3], []):
        yield vector(f"attack-cost-of-{len(costs)}-numbers", "rejected", "malformed", base, "a cost that is left out has a default",
                     ask(attack_costs=[costs]))
    yield vector("attack-cost-within-the-budget", "verified", "", base, "none", ask(attack_costs=[[1, 2]], attacks=2))
    yield vector("attack-on-nothing", "verified", "", cut(bound="0", attack=[], attacks=0, side=(0, 0, 0)), "none: the empty attack")
    yield vector("attack-on-nothing-claims-shed", "rejected", "bound-too-strong", cut(bound="1", attack=[], attacks=0),
                 "the attack is the evidence's")
    yield vector("attack-missing", "rejected", "malformed", base, "a missing attack is empty", lambda specimen: specimen.given.pop("attack"))
    yield vector("attack-null", "rejected", "malformed", base, "no attack is any attack", ask(attack=None))


def _attack_envelope() -> Iterator[Vector]:
    base = dual()
    yield vector("dual-for-transport", "rejected", "evidence-kind", base, "Ohm's law holds for transport", both(
        ask(operator="transport"), model(angle_limits="ignored"), say(assumptions=["transport-flow"])), effect="transport sheds nothing")
    yield vector("dual-for-dc-switch", "rejected", "evidence-kind", base, "Ohm's law holds for lines that may be opened", both(
        ask(operator="dc-switch"), say(assumptions=["dc-switching"])), effect="with row 2 open nothing is shed")
    yield vector("cut-for-dc-switch-with-shifts", "verified", "", cut(operator="dc-switch"), "none: a cut needs no Ohm's law",
                 text(ROW_2, ROW_2.replace("\t0\t1\t-360", "\t3\t1\t-360").replace("\t0.1\t", "\t-0.1\t")))
    yield vector("tree-for-an-attack", "rejected", "evidence-kind", cut(), "a tree bounds from below", say(evidence="penalty-tree"))
    yield vector("ac-dual", "rejected", "evidence-kind", cut(), "evidence of an unknown kind", say(evidence="ac-dual"))
    yield vector("cut-called-dual", "rejected", "malformed", cut(), "kinds of evidence are told apart by their arrays", say(evidence="dc-dual"))
    yield vector("dual-called-cut", "rejected", "malformed", base, "kinds of evidence are told apart by their arrays", say(evidence="cut"))
    yield vector("evidence-version-two", "declined", "version-unknown", base, "the version of evidence is not read", say(evidence_version=2))
    yield vector("claim-version-two", "declined", "version-unknown", base, "the version of the claim is not read", say(version=2))
    yield vector("says-of-the-other-kind", "rejected", "malformed", base, "directions are mixed up", say(says={"shed_mw_at_most": "60"}))
    yield vector("kind-of-the-other-claim", "rejected", "malformed", cut(), "fields of another kind are ignored", say(kind="grid-shedding"))
    yield vector("work-above-the-budget", "declined", "limit-reached", base, "work is not charged before it is done", limits={"work": 400_000})
