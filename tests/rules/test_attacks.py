# SPDX-License-Identifier: Apache-2.0
"""Attacks within a budget: enumeration against itertools, the dearest set against enumeration, and rows of `given` read right or refused."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import power_networks as power
from certify.limits import Limits
from certify.readers.matpower import read_case
from certify.readers.power import Network, power_network
from certify.rules import enumeration
from certify.rules.attacks import Game, dearest, defended_network, game, rows_of
from certify.rules.enumeration import attacks_within
from certify.rules.shedding_dual import require_attack
from toolkit import refused


def random_game(rng: np.random.Generator, lines: int) -> Game:
    """Return a random game: half of them with equal costs."""
    costs = tuple(int(v) for v in rng.integers(1, 5, lines)) if rng.random() < 0.5 else (int(rng.integers(1, 3)),) * lines
    return Game(costs, tuple(bool(v) for v in rng.random(lines) < 0.8), int(rng.integers(0, 7)))


def listed(played: Game) -> list[tuple[int, ...]]:
    """Return the attacks that the checker enumerates, in its order."""
    return [tuple(row) for block in attacks_within(played, Limits().fresh()) for row in block.tolist()]


def test_enumeration_against_itertools() -> None:
    rng = np.random.default_rng(1)
    several = 0
    for _ in range(300):
        played = random_game(rng, int(rng.integers(0, 11)))
        found, wanted = listed(played), list(power.within(played.free, played.costs, played.budget))
        assert sorted(found) == sorted(wanted) and len(set(found)) == len(found) and () in found
        several += len(found) > 20
    assert several > 30


def test_blocks_hold_every_attack_of_a_size() -> None:
    played = Game((1,) * 40, (True,) * 40, 3)
    blocks = list(attacks_within(played, Limits().fresh()))
    assert sum(map(len, blocks)) == 1 + 40 + 780 + 9880 and max(map(len, blocks)) == 8192
    assert all(block.dtype == np.int64 and block.ndim == 2 for block in blocks)


def test_too_many_attacks_are_declined_before_the_work() -> None:
    def first(played: Game, limits: Limits) -> Any:
        return next(iter(attacks_within(played, limits)))

    refused("limit-reached", first, Game((1,) * 500, (True,) * 500, 4), Limits().fresh())
    refused("limit-reached", first, Game((1,) * 100, (True,) * 100, 2**53 - 1), Limits().fresh())
    refused("limit-reached", first, Game((1,) * 100, (True,) * 100, 3), Limits(work=10**6).fresh())
    assert len(first(Game((2**53 - 1,) * 500, (True,) * 500, 2**53 - 2), Limits().fresh())) == 1
    assert len(listed(Game((2**53 - 1,) * 3, (True,) * 3, 2**53 - 1))) == 4  # sums of costs do not wrap around


def _dearest(values: Sequence[int], costs: Sequence[int], budget: int) -> int:
    return max(sum(values[k] for k in chosen) for chosen in power.within([True] * len(values), costs, budget))


@pytest.mark.parametrize("dtype", [np.int64, object])
def test_the_dearest_set_against_enumeration(dtype: Any) -> None:
    rng = np.random.default_rng(2)
    knapsacks = 0
    for _ in range(400):
        played = random_game(rng, int(rng.integers(0, 9)))
        size = 2**58 if dtype is np.int64 else 2**80
        values = [int(v) if rng.random() < 0.5 else int(v) * (size // 64) for v in rng.integers(0, 40, len(played.costs))]
        given = np.array(values, dtype)
        before = given.copy()
        found = dearest(given, np.array(played.costs, np.int64), played.budget, Limits().fresh())
        if sum(values) < 2**62 or dtype is object:
            assert found == _dearest(values, played.costs, played.budget)
        assert (given == before).all()
        knapsacks += len(set(played.costs)) > 1
    assert knapsacks > 100


def test_knapsacks_have_a_limit() -> None:
    values, costs = np.array([3, 4, 5]), np.array([5000, 5001, 4999])
    assert dearest(values, costs, 10**4, Limits().fresh()) == 9  # 5001 + 4999
    refused("limit-reached", dearest, values, costs, 10**4 + 1, Limits().fresh())
    assert dearest(values, np.array([5000] * 3), 10**6, Limits().fresh()) == 12  # equal costs need no table
    assert dearest(values, np.array([1, 2, 3]), 2**53 - 1, Limits().fresh()) == 12  # nor does a budget above all costs
    refused("limit-reached", dearest, values, costs, 10**4, Limits(work=10**4).fresh())
    limits = Limits().fresh()
    assert dearest(np.array([3, 4, 5]), np.array([1, 2, 9]), 2, limits) == 4 and limits.spent == 2 * (3000 + 20 * (2 + 1))


def _network(rng: np.random.Generator) -> tuple[power.Grid, Network]:
    while True:
        grid = power.random_grid(rng, False, lines=(3, 9))
        network = power_network(read_case(grid.data(), Limits()), "transport", power.conventions(grid, "transport"), False)
        if len(network.lines) >= 3:
            return grid, network


def _asked(grid: power.Grid, **fields: Any) -> dict[str, Any]:
    return {"operator": "transport", "model": power.conventions(grid, "transport"), "attacks": 2, "attack_costs": (), "attackable": None,
            "defended": (),
            "budget": None, "defence_costs": (), **fields}


def test_rows_are_those_of_the_file() -> None:
    rng = np.random.default_rng(3)
    gaps = 0
    for _ in range(60):
        grid, network = _network(rng)
        rows = [line.row for line in network.lines]
        gaps += rows != list(range(1, len(rows) + 1))
        chosen = sorted(int(v) for v in rng.choice(rows, int(rng.integers(0, len(rows) + 1)), replace=False))
        defended = sorted(int(v) for v in rng.choice(rows, 2, replace=False))
        dear = [(row, 2 + k) for k, row in enumerate(sorted(rows)[::2])]
        asked = _asked(grid, attackable=tuple(chosen), defended=tuple(defended), attack_costs=tuple(dear), attacks=3)
        found, played = defended_network(asked, {"case": grid.data()}, Limits().fresh(), False)
        assert found == network and played.budget == 3
        assert [row for row, free in zip(rows, played.free, strict=True) if free] == [row for row in chosen if row not in defended]
        assert played.costs == tuple(dict(dear).get(row, 1) for row in rows)
        assert game(network, _asked(grid), []).free == (True,) * len(rows)
    assert gaps > 20


def test_rows_that_do_not_fit_are_refused() -> None:
    rng = np.random.default_rng(4)
    grid, _ = _network(rng)
    grid.branches[1].status = 0
    if all(row.status for row in grid.branches[:1]):
        grid.branches[0].status = 1
    network = power_network(read_case(grid.data(), Limits()), "transport", power.conventions(grid, "transport"), False)
    rows = [line.row for line in network.lines]
    assert len(rows) >= 2 and 2 not in rows
    for bad in ((2,), (99,), (rows[1], rows[0]), (rows[0], rows[0]), (2**53 - 1,)):
        for name in ("attackable", "defended"):
            refused("malformed", defended_network, _asked(grid, **{name: bad}), {"case": grid.data()}, Limits().fresh(), False)
        for name in ("attack_costs", "defence_costs"):
            refused("malformed", defended_network, _asked(grid, **{name: tuple((row, 2) for row in bad)}), {"case": grid.data()}, Limits().fresh(),
                    False)
    for name in ("attack_costs", "defence_costs"):
        refused("malformed", defended_network, _asked(grid, **{name: ((rows[0], 1),)}), {"case": grid.data()}, Limits().fresh(), False)
    refused("malformed", defended_network, _asked(grid, defence_costs=((rows[0], 2),)), {"case": grid.data()}, Limits().fresh(), False)
    two = _asked(grid, defended=(rows[0], rows[1]), defence_costs=((rows[0], 5),), budget=6)
    assert defended_network(two, {"case": grid.data()}, Limits().fresh(), False)[1].free[:2] == (False, False)
    refused("defence-over-budget", defended_network, {**two, "budget": 5}, {"case": grid.data()}, Limits().fresh(), False)


def test_an_attack_is_within_the_game() -> None:
    rng = np.random.default_rng(5)
    grid, network = _network(rng)
    rows = [line.row for line in network.lines]
    played = game(network, _asked(grid, attackable=tuple(rows[:2]), attack_costs=((rows[0], 2),), attacks=2), [])
    assert require_attack(rows_of(network), played, [rows[0]], []) == {0} and require_attack(rows_of(network), played, [], []) == frozenset()
    refused("attack-over-budget", require_attack, rows_of(network), played, rows[:2], [])
    refused("attack-row", require_attack, rows_of(network), played, [rows[2]], [])
    refused("attack-row", require_attack, rows_of(network), played, [1000], [])
    refused("malformed", require_attack, rows_of(network), played, [rows[1], rows[1]], [])
    refused("malformed", require_attack, rows_of(network), played, [rows[1], rows[0]], [])
    hardened = game(network, _asked(grid, attackable=tuple(rows[:2])), [rows[1]])
    refused("attack-defended", require_attack, rows_of(network), hardened, [rows[1]], [rows[1]])
    assert require_attack(rows_of(network), hardened, [rows[0]], _Rows([rows[1]])) == {0}


class _Rows(list[int]):
    """Rows that nobody may search for each line of an attack: there may be as many of both as a file has."""

    def __contains__(self, row: object) -> bool:
        raise AssertionError("searched")


def test_the_oracle_itself() -> None:
    """A bridge to a demand, two parallel circuits, and a unit that gives nothing: sheds that one can see."""
    zero, ten = Fraction(0), Fraction(10)
    buses = [power.Bus(1), power.Bus(2, ten), power.Bus(3, Fraction(4))]
    grid = power.Grid(buses, [power.Unit(1, Fraction(12)), power.Unit(3, zero)],
                      [power.Branch(1, 2, Fraction(6)), power.Branch(2, 1, Fraction(5)), power.Branch(2, 3, zero)])
    network, transport, dc = power.oracles(grid, "dc", power.MODEL)
    assert network.total == 14
    wanted = {(): 3, (0,): 9, (1,): 8, (2,): 4, (0, 1): 14, (0, 2): 9}
    assert {attack: transport.shed(attack) for attack in wanted} == wanted
    assert {attack: round(dc.shed(attack), 9) for attack in wanted} == {**wanted, (): 4, (2,): 4}  # equal reactances: both circuits carry 5 at most
    assert transport.worst([True] * 3, [1, 1, 1], 1) == 9 and dc.switched(()) == pytest.approx(4)
    assert sum(transport.cut((0,))) >= 1


def test_sets_are_charged_and_at_most_10_to_the_8_of_one_size(monkeypatch: pytest.MonkeyPatch) -> None:
    limits = Limits().fresh()
    assert sum(map(len, attacks_within(Game((1,) * 5, (True,) * 5, 2), limits))) == 16 and limits.spent == 2000 * 16
    far = Limits(work=10**18)
    assert len(next(attacks_within(Game((1,) * 800, (True,) * 800, 3), far.fresh()))) == 1  # 85 million sets of three
    refused("limit-reached", list, attacks_within(Game((1,) * 1000, (True,) * 1000, 3), far.fresh()))  # 166 million
    monkeypatch.setattr(enumeration, "_MOST_ATTACKS", 10)
    assert sum(map(len, attacks_within(Game((1,) * 5, (True,) * 5, 2), Limits().fresh()))) == 16
    refused("limit-reached", list, attacks_within(Game((1,) * 6, (True,) * 6, 2), Limits().fresh()))
