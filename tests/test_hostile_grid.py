# SPDX-License-Identifier: Apache-2.0
"""Hostile certificates about power networks: sums that would wrap around, and small files that ask for much work or memory.

Each of these once was verified although false, ended in a traceback, or kept the checker busy far beyond its budget.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from certify.errors import CertifyError
from certify.limits import Limits
from certify.rules.attacks import dearest
from power_networks import MODEL, Branch, Bus, Grid, Unit
from toolkit import Specimen

ASSUMES = {"transport": "transport-flow", "dc": "dc-power-flow", "dc-switch": "dc-switching"}
COST = 2**53 - 1  # the largest that a certificate can say


def given(operator: str, limit: bool = False, **fields: Any) -> dict[str, Any]:
    """Return a question about one attack, or about every plan with `limit`."""
    model = {**MODEL, "angle_limits": "ignored" if operator == "transport" else "enforced"}
    plan = {"budget": 0, "defendable": None} if limit else {"defended": [], "budget": None}
    return {"operator": operator, "model": model, "attacks": 1, "attack_costs": [], "attackable": None, "defence_costs": [], **plan, **fields}


def case(buses: Sequence[int | str], units: Sequence[tuple[int, int | str]], lines: Sequence[Sequence[int | str]]) -> bytes:
    """Return a file with buses numbered from 1 by their demands, units (bus, Pmax), lines (from, to, rating[, x[, ratio[, shift, low, high]]])."""
    return Grid([Bus(k, Fraction(demand)) for k, demand in enumerate(buses, start=1)], [Unit(bus, Fraction(most)) for bus, most in units],
                [Branch(int(a), int(b), *map(Fraction, [*rest, *[0, 1, 0, 0][len(rest) :]][:4]), 1, *map(Fraction, rest[4:]))
                 for a, b, *rest in lines]).data()


def shedding(data: bytes, asked: dict[str, Any], most: str, evidence: str, items: dict[str, Any], **arrays: Any) -> Specimen:
    """Return a certificate of `grid-shedding`."""
    return Specimen("grid-shedding", {"case": ("c.m", data)}, asked, {"shed_mw_at_most": most}, evidence, items, arrays, [ASSUMES[asked["operator"]]])


def code(specimen: Specimen, limits: Limits | None = None) -> str:
    """Return the code with which a certificate is refused, or nothing."""
    try:
        specimen.verify(limits)
    except CertifyError as trouble:
        return trouble.code
    return ""


def _costs(total: int, count: int) -> list[int]:
    """Return different costs, all affordable with a budget of COST, that add up to a total."""
    costs, more = [COST] * count, COST * count - total
    for k in range(count):
        less = min(more, COST - 2 - k)
        costs[k] -= less
        more -= less
    assert sum(costs) == total and min(costs) > 1
    return costs


@pytest.mark.parametrize(("total", "count"), [(2**64 + 5, 2049), (2**63 + 2, 1100)])
def test_costs_whose_sum_would_wrap_around(total: int, count: int) -> None:
    costs = _costs(total, count)
    with pytest.raises(CertifyError, match="with different costs"):
        dearest(np.ones(count, np.int64), np.array(costs), COST, Limits().fresh())
    asked = given("transport", attacks=COST, attack_costs=[[row, cost] for row, cost in enumerate(costs, start=1)])
    data = case([0, count], [(1, count)], [(1, 2, 1)] * count)
    one = {"tree": np.array([-1], "<i4"), "scale": np.ones(1, "<i8")}
    assert code(shedding(data, asked, "0", "penalty-tree", {}, flow=np.ones((1, count), "<i8"), **one)) == "limit-reached"
    asked = {**asked, "operator": "dc-switch", "model": {**MODEL, "angle_limits": "enforced"}}
    nothing = np.zeros((0, 2), "<i8")
    forest = shedding(data, asked, "0", "forest-tree", {"quantum_mw": "1"}, flow=np.full((1, 1), count, "<i8"), closed=np.ones((1, count), "|u1"),
                      kind=np.zeros(1, "|u1"), supply=nothing, demand=nothing, **one)
    assert code(forest) == "limit-reached"


def test_a_knapsack_costs_its_lines_whatever_the_budget() -> None:
    lines, branched = 400, 10
    nodes, waiting = [], [(0, 4)]
    while waiting:
        k, left = waiting.pop()
        nodes.append(k if k < branched and left else -1)
        waiting += [(k + 1, left), (k + 1, left - 1)] if nodes[-1] >= 0 else []
    asked = given("transport", attacks=4, attack_costs=[[lines, 2]])
    tree = {"tree": np.array(nodes, "<i4"), "flow": np.zeros((1, lines), "<i8"), "scale": np.ones(1, "<i8")}
    made = shedding(case([0, 1], [(1, 1)], [(1, 2, 0)] * lines), asked, "1", "penalty-tree", {}, **tree)
    assert code(made, Limits(work=8 * 10**7)) == "limit-reached" and code(made) == ""


def test_flows_in_long_integers_cost_their_words() -> None:
    records, buses = 40, 30
    data = case(["1." + "3" * 390, *[1] * (buses - 1)], [(1, 1)], [(1, 2, 1)])
    arrays = {"tree": np.array([-1], "<i4"), "flow": np.zeros((records, 1), "<i8"), "scale": np.full(records, 2**53 - 1, "<i8")}
    made = shedding(data, given("transport", attacks=0), str(buses + 1), "penalty-tree", {}, **arrays)
    assert code(made) == "unused-evidence"
    assert code(made, Limits(memory=records * (3 + buses + 6) * 200)) == "limit-reached"
    plain = shedding(data.replace(b"3" * 390, b"3"), given("transport", attacks=0), str(buses + 1), "penalty-tree", {}, **arrays)
    assert code(plain, Limits(memory=records * (3 + buses + 6) * 200)) == "unused-evidence"


def test_a_block_of_attacks_costs_memory() -> None:
    dispatch, lines = np.array([[5, 0]], "<i8"), 300
    pool = _pool(case([0, 5], [(1, 5)], [(1, 2, 9)] * lines), 1, dispatch, dispatch[:, ::-1], "5")
    assert code(pool, Limits(memory=8 * (lines * lines + 1536 * 10 * lines))) == "limit-reached"
    assert code(pool, Limits(memory=8 * (lines * lines + 1536 * 10 * (lines + 20)))) == ""


def test_levels_of_a_hitting_tree_add_up() -> None:
    levels, wide = 4, 60
    attacks = np.array([range(j + 1, j + 1 + wide) for j in range(levels)], "<i4")
    asked = given("transport", limit=True, attacks=wide, budget=levels)
    data = case([0, 1], [(1, 1)], [(1, 2, 1)] * (levels + wide))
    made = Specimen("grid-defence-limit", {"case": ("c.m", data)}, asked, {"shed_mw_at_least": "-9999"}, "hitting-tree", {},
                    {"attacks": attacks, "tree": np.arange(levels, dtype="<i4"), "side": np.zeros((levels, 2), "|u1")},
                    [ASSUMES["transport"]])
    one = 100 * wide * (wide + 2 * levels)
    assert code(made, Limits(memory=2 * one)) == "limit-reached" and code(made, Limits(memory=5 * one)) == "tree-malformed"


def test_a_quantum_beyond_int64() -> None:
    data = case([0, "1e-50"], [(1, "1e-50")], [(1, 2, "1e-50")])
    arrays = {"tree": np.array([-1], "<i4"), "flow": np.zeros((1, 1), "<i8"), "scale": np.ones(1, "<i8")}
    assert code(shedding(data, given("transport"), "1", "penalty-tree", {}, **arrays)) == ""
    assert code(shedding(data, given("transport"), "1/" + "1" + "0" * 51, "penalty-tree", {}, **arrays)) == "bound-too-strong"


def _pool(data: bytes, attacks: int, supply: Any, demand: Any, most: str) -> Specimen:
    return shedding(data, given("dc", attacks=attacks), most, "policy-pool", {"quantum_mw": "1"}, supply=supply, demand=demand)


def test_dispatches_that_serve_nothing_cost_what_they_take() -> None:
    nothing = np.zeros((2000, 2), "<i8")
    pool = _pool(case([0, 5], [(1, 5)], [(1, 2, 9)]), 0, nothing, nothing, "1")
    assert code(pool, Limits(work=10**8)) == "limit-reached" and code(pool) == "attack-uncovered"


def test_large_attacks_cost_their_subsets() -> None:
    dispatch = np.array([[5, 0]], "<i8")
    pool = _pool(case([0, 5], [(1, 5)], [(1, 2, 9)] * 12), 12, dispatch, dispatch[:, ::-1], "5")
    assert code(pool, Limits(work=10**8)) == "limit-reached" and code(pool) == ""


def test_many_islands_cost_no_more_than_few() -> None:
    buses, lines = 400, 200
    demand = [int(k == lines) for k in range(buses)]
    supply = np.zeros((1, buses), "<i8")
    supply[0, 0] = 1
    served = np.array([demand], "<i8")
    data = case(demand, [(1, 1)], [(k, k + 1, 9) for k in range(1, lines + 1)])
    assert code(_pool(data, 1, supply, served, "1")) == ""


def test_each_new_split_of_the_network_is_charged() -> None:
    buses = 60
    data = case([buses, *[0] * (buses - 1)], [(1, buses)], [(1, k, 1) for k in range(2, buses + 1)])
    dispatch = np.array([[buses, *[0] * (buses - 1)]], "<i8")
    assert code(_pool(data, 2, dispatch, dispatch, "1"), Limits(work=8 * 10**8)) == "limit-reached"
    assert code(_pool(data, 2, dispatch, dispatch, "1")) == ""


def test_circuits_with_long_reactances_are_charged_for_their_digits() -> None:
    rng, count = random.Random(1), 60

    def long() -> str:
        return "1." + str(rng.getrandbits(1200))[:340] + "7"

    data = case([0, 1], [(1, 1)], [(1, 2, 9, long(), long()) for _ in range(count)])
    nothing = np.zeros((0, 2), "<i8")
    forest = shedding(data, given("dc-switch", attacks=0), "1", "forest-tree", {"quantum_mw": "1"}, tree=np.array([-1], "<i4"),
                      flow=np.ones((1, 1), "<i8"), scale=np.ones(1, "<i8"), closed=np.ones((1, count), "|u1"), kind=np.zeros(1, "|u1"),
                      supply=nothing, demand=nothing)
    assert code(forest, Limits(work=10**9)) == "limit-reached" and code(forest) == ""


def test_limits_of_angles_with_long_numbers_are_charged_for_their_digits() -> None:
    rng = random.Random(1)
    lines = [(1, 2, 0, rng.randrange(10**48, 10**49) | 1, rng.randrange(10**48, 10**49) | 1, 0, -rng.randrange(1, 359), rng.randrange(1, 359))
             for _ in range(300)]
    data = case([0, 1], [(1, 1)], lines)
    attack = Specimen("grid-attack", {"case": ("c.m", data)}, {**given("dc"), "attack": []}, {"shed_mw_at_least": "-10"}, "cut", {},
                      {"side": np.array([0, 1], "|u1")}, ["dc-power-flow"])
    assert code(attack, Limits(work=10**9)) == "limit-reached" and code(attack) == ""


def _limit(data: bytes, asked: dict[str, Any], **arrays: Any) -> Specimen:
    return Specimen("grid-defence-limit", {"case": ("c.m", data)}, asked, {"shed_mw_at_least": "0"}, "hitting-tree", {}, arrays, ["transport-flow"])


def test_attacks_without_lines_are_charged_and_large_ones_take_memory() -> None:
    data = case([0, 1], [(1, 1)], [(1, 2, 1)])
    tree = np.zeros(1, "<i4")
    empty = _limit(data, given("transport", limit=True), attacks=np.zeros((10**7, 0), "<i4"), tree=tree, side=np.zeros((1, 2), "|u1"))
    assert code(empty, Limits(work=10**9)) == "limit-reached"
    count = 6000
    data = case([0, count], [(1, count)], [(1, 2, 1)] * count)
    wide = _limit(data, given("transport", limit=True, attacks=count, budget=1), attacks=np.arange(1, count + 1, dtype="<i4")[None], tree=tree,
                  side=np.zeros((1, 2), "|u1"))
    assert code(wide) == "limit-reached"


def test_flows_at_many_buses_take_memory() -> None:
    buses, count = 1000, 300_000
    data = case([1] * buses, [(1, 1)], [(1, 2, 1)])
    flows = shedding(data, given("transport", attacks=0), str(buses), "penalty-tree", {}, tree=np.array([-1], "<i4"),
                     flow=np.zeros((count, 1), "<i8"), scale=np.ones(count, "<i8"))
    assert code(flows) == "limit-reached"


def test_long_integers_cost_more() -> None:
    rng, count = np.random.default_rng(1), 500
    flow = np.zeros((1, count), "<i8")
    flow[0, 100:] = rng.integers(-9, 10, count - 100) * 10**15
    flow[0, -1] -= flow.sum()
    data = case(["1e20", 1], [(1, 1)], [(1, 2, "1e20")] * count)
    long = shedding(data, given("transport", attacks=20), "1" + "0" * 25, "penalty-tree", {}, tree=np.array([-1], "<i4"), flow=flow,
                    scale=np.ones(1, "<i8"))
    spent = long.verify().figures["work"]
    assert spent > 4000 * count + Limits().fresh().spent


def test_rows_of_a_matrix_are_counted_while_they_are_read() -> None:
    data = case([0, 1], [(1, 1)], [(1, 2, 1)]) + b"mpc.areas = [" + b"0;" * 100_001 + b"];\n"
    flows = {"tree": np.array([-1], "<i4"), "flow": np.zeros((1, 1), "<i8"), "scale": np.ones(1, "<i8")}
    assert code(shedding(data, given("transport"), "1", "penalty-tree", {}, **flows)) == "limit-reached"
