# SPDX-License-Identifier: Apache-2.0
"""Vectors of `grid-defence-limit`: on the triangle, one attack on row 1 or row 2 sheds 40 MW, and one defended line leaves the other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from kinds.attacks import Vector, ask, say, vector
from kinds.grid_vectors import both, model, text, triangle
from power_networks import MODEL
from toolkit import Specimen


def limit(bound: str = "40", nodes: tuple[int, ...] = (0, 1), attacks: tuple[tuple[int, ...], ...] = ((1,), (2,)),
          side: tuple[tuple[int, ...], ...] = ((0, 1, 0), (0, 0, 1)), **fields: Any) -> Specimen:
    """Return a limit of every plan that defends one line against an attack on one line."""
    given = {"operator": "transport", "model": {**MODEL, "angle_limits": "ignored"}, "attacks": 1, "attack_costs": [], "attackable": None,
             "budget": 1, "defence_costs": [], "defendable": None, **fields}
    arrays = {"tree": np.array(nodes, "<i4"), "attacks": np.array(attacks, "<i4").reshape(len(attacks), -1), "side": np.array(side, "|u1")}
    return Specimen("grid-defence-limit", {"case": ("case.m", triangle().data())}, given, {"shed_mw_at_least": bound}, "hitting-tree", {}, arrays,
                    ["transport-flow"])


def vectors() -> Iterator[Vector]:
    """Yield all vectors."""
    base, first = limit(), limit(nodes=(0,), attacks=((1,),), side=((0, 1, 0),), budget=0)
    arrays = base.arrays
    yield vector("limit", "verified", "", base, "none: row 1, and row 2 where row 1 is defended")
    yield vector("less-than-shown", "verified", "", limit("30"), "none: the claim is weaker than the evidence")
    yield vector("nothing-to-spend", "verified", "", first, "none: without money the first attack is enough")
    yield vector("nothing-can-be-defended", "verified", "", first, "none: what can't be defended has no child", ask(budget=1, defendable=[2]))
    yield vector("too-dear-to-defend", "verified", "", first, "none: what costs more than the money left has no child",
                 ask(budget=1, defence_costs=[[1, 2]]))
    yield vector("padded", "verified", "", limit(attacks=((1, -1), (2, -1))), "none: rows of unequal attacks end with -1")
    yield vector("bound-a-hair-too-high", "rejected", "bound-too-strong", base, "a tolerance on the bound",
                 say(says={"shed_mw_at_least": "40000001/1000000"}))
    yield vector("one-attack-too-weak", "rejected", "bound-too-strong", limit(side=((0, 1, 0), (0, 1, 0))), "only the first attack is compared")
    yield vector("child-missing", "rejected", "tree-malformed", limit(nodes=(0,)), "a child that is not there counts as proved",
                 effect="the plan that defends row 1 is not looked at")
    yield vector("node-behind-the-end", "rejected", "tree-malformed", limit(nodes=(0, 1, 0)), "what is left over is ignored")
    yield vector("empty-tree", "rejected", "tree-malformed", limit(nodes=()), "no node is a proof")
    yield vector("leaf-code", "rejected", "tree-malformed", limit(nodes=(0, -1)), "a leaf code closes a node")
    yield vector("attack-touches-the-defence", "rejected", "hitting-touched", limit(nodes=(0, 0), attacks=((1,),), side=((0, 1, 0),)),
                 "an attack on what is defended counts")
    yield vector("more-money", "rejected", "tree-malformed", base, "the budget is taken from the tree", ask(budget=2),
                 effect="both rows can be defended")
    yield vector("attack-beyond-the-list", "rejected", "evidence-range", limit(nodes=(0, 2)), "an index beyond the list wraps around")
    yield vector("attack-of-no-node", "rejected", "unused-evidence", limit(nodes=(0,), budget=0), "attacks that no node names are ignored")
    yield vector("attack-over-budget", "rejected", "attack-over-budget", limit(attacks=((1, 2), (2, -1))), "the budget of attacks is not compared")
    yield vector("attack-dearer", "rejected", "attack-over-budget", base, "costs of attacks are not read", ask(attack_costs=[[1, 2]]))
    yield vector("attack-twice-on-a-row", "rejected", "malformed", limit(attacks=((1, 1), (2, -1))), "a row counts twice")
    yield vector("attack-out-of-service", "rejected", "attack-row", limit(attacks=((4,), (2,))), "rows out of service are attacked")
    yield vector("attack-beyond-the-file", "rejected", "attack-row", limit(attacks=((99,), (2,))), "rows that are not there are attacked")
    yield vector("attack-not-attackable", "rejected", "attack-row", base, "what can be attacked is not compared", ask(attackable=[2]))
    yield vector("padding-before-a-row", "rejected", "evidence-range", limit(attacks=((-1, 1), (2, -1))), "rows behind the padding are dropped")
    yield vector("attack-on-a-dead-line", "rejected", "attack-row", limit(attacks=((1, 5), (2, -1))), "rows of dead lines are attacked")
    yield vector("padding-of-another-number", "rejected", "attack-row", limit(attacks=((-2, 1), (2, -1))), "any negative row is padding")
    yield vector("side-of-another-width", "rejected", "array-shape", limit(side=((0, 1), (0, 0))), "sides are cut or filled")
    yield vector("side-of-fewer-attacks", "rejected", "array-shape", limit(side=((0, 1, 0),)), "the last side is used again")
    yield vector("side-of-2", "rejected", "evidence-range", limit(side=((0, 2, 0), (0, 0, 1))), "a side counts twice",
                 effect="every bound doubles")
    yield vector("without-sides", "rejected", "array-shape", base, "attacks without a bound are taken",
                 say(arrays={"tree": arrays["tree"], "attacks": arrays["attacks"]}))
    yield vector("sides-and-prices", "rejected", "array-shape", base, "the weaker of two bounds is not looked at",
                 say(arrays={**arrays, "pi": np.zeros((2, 3), "<i8")}))
    prices = {"tree": arrays["tree"], "attacks": arrays["attacks"], "pi": np.array([[0, 1, 0], [0, 0, 1]], "<i8"),
              "circulation": np.zeros((2, 3), "<i8")}
    dual = say(arrays=prices, items={"scale": [1, 1]})
    yield vector("prices-for-transport", "rejected", "evidence-kind", base, "prices with a circulation hold for every operator", dual)
    yield vector("prices-for-dc", "verified", "", base, "none: prices of a cut", both(dual, ask(operator="dc"), say(assumptions=["dc-power-flow"]),
                                                                                   model(angle_limits="enforced")))
    yield vector("circulation-on-the-attacked", "rejected", "dual-infeasible", base, "attacked lines carry a circulation",
                 both(say(arrays={**prices, "circulation": np.array([[1, -1, -1], [0, 0, 0]], "<i8")}, items={"scale": [1, 1]}), ask(operator="dc"),
                      say(assumptions=["dc-power-flow"]), model(angle_limits="enforced")))
    yield vector("prices-without-scales", "rejected", "array-shape", base, "scales default to 1", say(arrays=prices))
    yield vector("defendable-out-of-order", "rejected", "malformed", base, "a second form of the same rows", ask(defendable=[2, 1]))
    yield vector("defendable-no-line", "rejected", "malformed", base, "rows that are no line are dropped", ask(defendable=[1, 4]))
    yield vector("cost-of-1-listed", "rejected", "malformed", base, "a second form of the same costs", ask(defence_costs=[[1, 1]]))
    yield vector("attack-costs-no-line", "rejected", "malformed", base, "costs of rows that are no line are dropped", ask(attack_costs=[[4, 2]]))
    yield vector("assumption-left-out", "rejected", "assumption-missing", base, "assumptions are not computed", say(assumptions=[]))
    yield vector("operator-ac", "declined", "feature-unsupported", base, "an operator that is not known is taken for another", ask(operator="ac"))
    yield vector("other-case", "rejected", "bound-too-strong", base, "the case is not read", text("\t2\t1\t50", "\t2\t1\t40"), flags=("subject",))
    for number in range(4):
        yield vector(f"case-with-comment-{number}", "verified", "", base, "none: a comment changes the file and not the network",
                     text("function mpc", f"% {number}\nfunction mpc"), flags=("subject",))
    yield vector("work-above-the-budget", "declined", "limit-reached", base, "work is not charged before it is done", limits={"work": 400_000})
