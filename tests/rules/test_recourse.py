# SPDX-License-Identifier: Apache-2.0
"""The recourse of the DC model: never above a linear program nor above its own formula in rationals, from any angles; pools cover or are refused."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import power_evidence as evidence
import power_networks as power
from certify.errors import CertifyError
from certify.limits import Limits
from certify.readers.matpower import read_case
from certify.readers.power import Network, power_network
from certify.rules import recourse
from certify.rules.attacks import Game
from certify.rules.island_angles import Proposals
from certify.rules.recourse import Coverage, Pool, Recourse, check_pool, cover
from rules.hand_networks import network as by_hand
from rules.sabotage import variant
from toolkit import refused

TOLERANCE = 1e-6  # MW: by so much the linear program may be off


def networks(rng: np.random.Generator, lines: tuple[int, int] = (1, 9), buses: tuple[int, int] = (2, 6)) -> tuple[power.Plain, power.Dc, Network]:
    """Return a random network of an upper claim: plain, with its oracle, and as the checker reads it."""
    grid = power.random_grid(rng, True, buses, lines)
    model = power.conventions(grid, "dc", str(rng.choice(["enforced", "ignored"])))
    plain, _, dc = power.oracles(grid, "dc", model)
    return plain, dc, power_network(read_case(grid.data(), Limits()), "dc", model, False)


def some_attacks(rng: np.random.Generator, lines: int, count: int) -> np.ndarray[Any, Any]:
    """Return distinct attacks of one size as a block."""
    size = int(rng.integers(0, min(lines, 4) + 1))
    found = {tuple(sorted(int(k) for k in rng.choice(lines, size, replace=False))) for _ in range(count)}
    return np.array(sorted(found), np.int64).reshape(len(found), size)


def angles(rng: np.random.Generator, plain: power.Plain, dc: power.Dc, attacks: np.ndarray[Any, Any]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return angles, supplies and demands [buses, attacks]: the optimum's, near it, some other optimum's, or anything at all."""
    buses, count = len(plain.numbers), len(attacks)
    most_supply, most_demand = (np.array([float(v) for v in side])[:, None] for side in (plain.supply, plain.demand))
    theta, supply, demand = np.zeros((buses, count)), np.zeros((buses, count)), np.zeros((buses, count))
    for column, attack in enumerate(attacks.tolist()):
        found = dc.solve(attack if rng.random() < 0.8 else ())
        theta[:, column], supply[:, column], demand[:, column] = found.theta, found.supply, found.served  # type: ignore[union-attr]
    kind = rng.random()
    if kind < 0.2:
        theta *= 1 + 10.0 ** -rng.integers(1, 16) * rng.standard_normal(theta.shape)
    elif kind < 0.35:
        theta = rng.standard_normal(theta.shape) * 10.0 ** rng.integers(-6, 3)
    elif kind < 0.45:
        theta[int(rng.integers(buses))] = rng.choice([np.nan, np.inf, -np.inf, 1e300, -1e300, 1e-310])
    elif kind < 0.55:
        theta *= rng.choice([0.5, 2.0, -1.0, 1e6])
    if rng.random() < 0.3:
        demand = rng.random(demand.shape) * most_demand * 1.2
    if rng.random() < 0.3:
        supply = rng.random(supply.shape) * most_supply * 1.2
    if rng.random() < 0.2:  # out of balance by a little, or of range
        demand = demand * (1 + 10.0 ** -rng.integers(1, 15))
        supply = supply - 1e-9
    return theta, supply, demand


def _never_above(rng: np.random.Generator, pairs: int) -> dict[str, float]:
    """Compare `served` with the linear program and with exact rationals; return counts and the smallest share of the exact value that was kept."""
    seen: dict[str, float] = {"pairs": 0, "positive": 0, "sharp": 0, "least kept": 1.0}
    while seen["pairs"] < pairs:
        plain, dc, network = networks(rng)
        if not plain.lines:
            continue
        rule = Recourse(network)
        for _ in range(3):
            attacks = some_attacks(rng, len(plain.lines), 6)
            truth = np.array([float(plain.total) - dc.shed(attack) for attack in attacks.tolist()])
            for _ in range(2):
                theta, supply, demand = angles(rng, plain, dc, attacks)
                with np.errstate(all="ignore"):
                    found = rule.served(theta, supply, demand, attacks)
                assert found.shape == (len(attacks),) and np.isfinite(found).all() and (found >= 0).all()
                assert (found <= truth + TOLERANCE).all(), (plain, attacks, theta, supply, demand)
                seen["pairs"] += len(attacks)
                seen["positive"] += int((found > 0).sum())
                seen["sharp"] += int((found >= truth - 1e-6 * (1 + truth)).sum())
                if np.isfinite(theta).all() and np.abs(theta).max() < 1e200:
                    _compare(plain, attacks, theta, supply, demand, found, seen)
    return seen


def _compare(plain: power.Plain, attacks: np.ndarray[Any, Any], theta: np.ndarray, supply: np.ndarray, demand: np.ndarray, found: np.ndarray,
             seen: dict[str, float]) -> None:
    most = [np.array([float(v) for v in side])[:, None] for side in (plain.supply, plain.demand)]
    supply, demand = (np.clip(np.broadcast_to(side, theta.shape), 0.0, limit) for side, limit in zip((supply, demand), most, strict=True))
    column = int(np.argmax(found))
    exact = power.served_exactly(plain, attacks[column].tolist(),
                                 *([Fraction(v) for v in side[:, column].tolist()] for side in (theta, supply, demand)))
    assert Fraction(float(found[column])) <= max(exact, Fraction(0))
    if exact > 1 and Fraction(float(found[column])) > 0:
        seen["least kept"] = min(seen["least kept"], float(Fraction(float(found[column])) / exact))


def test_no_angles_serve_more_than_the_linear_program() -> None:
    seen = _never_above(np.random.default_rng(1), 1000)
    assert seen["positive"] > 300 and seen["sharp"] > 150


@pytest.mark.slow
def test_no_angles_serve_more_than_the_linear_program_in_long_runs() -> None:
    seen = _never_above(np.random.default_rng(2), 30_000)
    assert seen["positive"] > 10_000 and seen["sharp"] > 4000


def _dyadic(rng: np.random.Generator, plain: power.Plain) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return angles of few bits, and supplies and demands that balance them where they are in range."""
    buses = len(plain.numbers)
    theta = rng.integers(-2**12, 2**12, (buses, 1)) / 2.0 ** int(rng.integers(14, 24))
    out = np.zeros(buses)
    for line in plain.lines:
        flow = float(line.susceptance) * (theta[line.a, 0] - theta[line.b, 0])
        out[line.a] += flow
        out[line.b] -= flow
    return theta, np.maximum(out, 0.0)[:, None], np.maximum(-out, 0.0)[:, None]


def _precision(rng: np.random.Generator, count: int) -> tuple[int, float]:
    compared, least = 0, 1.0
    for _ in range(count):
        plain, _, network = networks(rng, (1, 14))
        rule = Recourse(network)
        for _ in range(4):
            theta, supply, demand = _dyadic(rng, plain)
            attack = some_attacks(rng, len(plain.lines), 1) if plain.lines and rng.random() < 0.3 else np.zeros((1, 0), np.int64)
            with np.errstate(all="ignore"):
                found = float(rule.served(theta, supply, demand, attack)[0])
            limits = [np.array([float(v) for v in side])[:, None] for side in (plain.supply, plain.demand)]
            parts = [[Fraction(v) for v in side[:, 0].tolist()] for side in (theta,
                                                                             *(np.clip(s, 0, m) for s,
                                                                               m in zip((supply, demand), limits, strict=True)))]
            exact = power.served_exactly(plain, attack[0].tolist(), *parts)
            assert Fraction(found) <= max(exact, Fraction(0))
            if exact > Fraction(1,
                                100) and not attack.size and parts[1:] == [[Fraction(v) for v in side[:, 0].tolist()] for side in (supply, demand)]:
                compared += 1
                least = min(least, found / float(exact))
    return compared, least


def test_outward_rounding_loses_little_and_always_something() -> None:
    compared, least = _precision(np.random.default_rng(3), 300)
    assert compared > 80 and 1 - 1e-9 < least < 1


@pytest.mark.slow
def test_outward_rounding_in_long_runs() -> None:
    compared, least = _precision(np.random.default_rng(4), 10_000)
    assert compared > 2500 and least > 1 - 1e-8


@pytest.mark.parametrize("changes", [
    (("self.slack = 2.0 * (int(degree.max(initial=0)) + buses + 12) * U", "self.slack = 0.0"),
     ("below = 1.0 - (self.buses + 64.0) * U", "below = 1.0")),
    (("        size += lost\n", ""),),
    (("flow[line, every] = 0.0", "pass"),),
    (("- lost) / rho", ") / rho"),),
    (("((size - flow) / self.below)", "((size + flow) / self.below)"),),
    (("((size + flow) / self.high)", "((size - flow) / self.high)"),),
    (("np.clip(demand, 0.0, self.most_demand)", "demand"),),
    (("np.clip(supply, 0.0, self.most_supply)", "supply"),),
], ids=["rounding", "residual in flows", "attacked lines", "residual", "lower limits", "upper limits", "demand", "supply"])
def test_each_term_of_the_rule_matters(changes: tuple[tuple[str, str], ...]) -> None:
    """Without the term, some value is above the exact one. (The factors of rho near 1 are within what the other slack absorbs.)"""
    broken = variant(recourse, *changes).Recourse
    rng = np.random.default_rng(5)
    for _ in range(2000):
        plain, dc, network = networks(rng, (2, 9))
        if len(plain.lines) < 2:
            continue
        theta, supply, demand = _dyadic(rng, plain) if rng.random() < 0.5 else angles(rng, plain, dc, np.zeros((1, 0), np.int64))
        attack = np.array([[int(rng.integers(len(plain.lines)))]]) if rng.random() < 0.5 else np.zeros((1, 0), np.int64)
        with np.errstate(all="ignore"):
            found = float(broken(network).served(theta, supply, demand, attack)[0])
        if not np.isfinite(theta).all() or not np.isfinite(found):
            continue
        limits = [np.array([float(v) for v in side])[:, None] for side in (plain.supply, plain.demand)]
        parts = [[Fraction(v) for v in side[:, 0].tolist()] for side in (theta,
                                                                         *(np.clip(s, 0, m) for s, m in zip((supply, demand), limits, strict=True)))]
        if Fraction(found) > max(Fraction(0), power.served_exactly(plain, attack[0].tolist(), *parts)):
            return
    raise AssertionError("nothing shows the difference")


# Pools and coverage

def _open(plain: power.Plain, dc: power.Dc, played: Game, wanted: float) -> list[tuple[int, ...]]:
    return [attack for attack in power.within(played.free, played.costs, played.budget) if float(plain.total) - dc.shed(attack) < wanted - TOLERANCE]


def _pool(rng: np.random.Generator, plain: power.Plain, dc: power.Dc, played: Game) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    supply, demand = evidence.pool(dc, played.free, played.costs, played.budget)
    if rng.random() < 0.5:
        keep = [k for k in range(len(supply)) if rng.random() < 0.7]
        supply, demand = [supply[k] for k in keep], [demand[k] for k in keep]
    buses = len(plain.numbers)
    return np.array(supply, np.int64).reshape(-1, buses), np.array(demand, np.int64).reshape(-1, buses)


def _coverage(rng: np.random.Generator, count: int) -> dict[str, int]:
    seen = {"covered": 0, "uncovered": 0, "unjustly uncovered": 0}
    for _ in range(count):
        plain, dc, network = networks(rng, (1, 7), (2, 5))
        costs = tuple(int(v) for v in rng.integers(1, 4, len(plain.lines))) if rng.random() < 0.4 else (1,) * len(plain.lines)
        played = Game(costs, tuple(bool(v) for v in rng.random(len(plain.lines)) < 0.9), int(rng.integers(0, 4)))
        worst = dc.worst(played.free, played.costs, played.budget)
        supply, demand = _pool(rng, plain, dc, played)
        whole = len(supply) == len(evidence.pool(dc, played.free, played.costs, played.budget)[0])
        try:
            pool = check_pool(network, supply, demand, evidence.QUANTUM)
        except CertifyError as trouble:
            raise AssertionError(str(trouble)) from trouble
        for extra in (1e-4, float(rng.choice([-0.5, -1e-3, -1e-5])), float(rng.random()) * 40):
            wanted = float(plain.total) - worst - extra
            with np.errstate(all="ignore"):
                found = Coverage(network, Limits().fresh()).uncovered(played, pool, wanted)
            wrong = _open(plain, dc, played, wanted)
            if found is None:
                assert not wrong, (wrong, wanted)
                seen["covered"] += 1
            else:
                attack = tuple(found.tolist())
                assert attack in set(power.within(played.free, played.costs, played.budget))
                seen["uncovered"] += 1
                seen["unjustly uncovered"] += whole and extra > 0 and wanted > 0
    return seen


def test_coverage_never_misses_an_attack() -> None:
    seen = _coverage(np.random.default_rng(6), 60)
    assert seen["covered"] > 30 and seen["uncovered"] > 60 and seen["unjustly uncovered"] <= 3


@pytest.mark.slow
def test_coverage_never_misses_an_attack_in_long_runs() -> None:
    seen = _coverage(np.random.default_rng(7), 2000)
    assert seen["covered"] > 1000


def _with_wrong_proposals(monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator, change: str) -> None:
    original = Proposals.angles

    def wrong(self: Proposals, shape: Any, supply: Any, demand: Any) -> Any:
        theta, given, taken = original(self, shape, supply, demand)
        if change == "nan":
            theta = np.where(rng.random(theta.shape) < 0.2, np.nan, theta)
        elif change == "noise":
            theta = theta + rng.standard_normal(theta.shape) * 0.05
        elif change == "unbalanced":
            given, taken = given * 0 + 1e9, taken * 0 + 1e9
        elif change == "swapped":
            given, taken = taken, given
        elif change == "negative":
            given, taken = -given, taken - 1.0
        return theta, given, taken

    monkeypatch.setattr(Proposals, "angles", wrong)


@pytest.mark.parametrize("change", ["nan", "noise", "unbalanced", "swapped", "negative"])
def test_wrong_angles_and_dispatches_cost_coverage_never_soundness(monkeypatch: pytest.MonkeyPatch, change: str) -> None:
    rng = np.random.default_rng(8)
    _with_wrong_proposals(monkeypatch, rng, change)
    assert _coverage(rng, 25)["uncovered"] > 20


@pytest.mark.parametrize("change", ["labels", "islands"])
def test_wrong_labels_and_islands_cost_coverage_never_soundness(monkeypatch: pytest.MonkeyPatch, change: str) -> None:
    rng = np.random.default_rng(9)
    original = Proposals.__init__

    def wrong(self: Proposals, network: Network, limits: Limits) -> None:
        original(self, network, limits)
        if change == "labels":
            self.labels = rng.integers(0, 3, len(network.lines))
        else:
            self.islands = rng.integers(0, 3, len(network.numbers))

    monkeypatch.setattr(Proposals, "__init__", wrong)
    seen = _coverage(rng, 30)
    assert seen["covered"] > 5 and seen["uncovered"] > 20


def _bridge(rates: tuple[int, int] = (0, 0)) -> tuple[power.Plain, power.Dc, Network]:
    """1 - 2 - 3 in a row with unlimited lines: 10 MW wanted at both ends, 25 MW at the first."""
    grid = power.Grid([power.Bus(1, Fraction(10)), power.Bus(2), power.Bus(3, Fraction(10))], [power.Unit(1, Fraction(25))],
                      [power.Branch(1, 2, Fraction(rates[0])), power.Branch(2, 3, Fraction(rates[1]))])
    plain, _, dc = power.oracles(grid, "dc", power.MODEL)
    return plain, dc, power_network(read_case(grid.data(), Limits()), "dc", power.MODEL, False)


def test_an_island_without_supply_serves_nothing() -> None:
    _, dc, network = _bridge()
    pool = check_pool(network, np.array([[20, 0, 0]]), np.array([[10, 0, 10]]), Fraction(1))
    assert dc.shed((0,)) == pytest.approx(10)
    for attack in ([0], [1], [0, 1]):
        for theta in ([0.0, 0.0, 0.0], [0.02, 0.01, 0.0], [0.0, 0.0, -1e300], [1.0, -1.0, 5.0]):
            with np.errstate(all="ignore"):
                found = Recourse(network).served(np.array(theta)[:, None], pool.supply.T, pool.demand.T, np.array([attack]))
            assert found[0] <= 10
    played = Game((1, 1), (True, True), 1)
    assert cover(network, played, pool, Fraction(10) + Fraction(1, 10**6), Limits().fresh()) == 3
    refused("attack-uncovered", cover, network, played, pool, Fraction(10) - Fraction(1, 10**6), Limits().fresh())


def _cover(network: Network, budget: int, supply: Sequence[Sequence[int]], demand: Sequence[Sequence[int]], shed: Fraction) -> int:
    pool = check_pool(network, np.array(supply, np.int64).reshape(-1, 3), np.array(demand, np.int64).reshape(-1, 3), Fraction(1, 2))
    return cover(network, Game((1, 1), (True, True), budget), pool, shed, Limits().fresh())


def test_bounds_of_cover() -> None:
    network = _bridge()[2]
    assert _cover(network, 2, [[0, 0, 0]], [[0, 0, 0]], Fraction(20)) == 4  # all is shed
    refused("attack-uncovered", _cover, network, 0, [], [], Fraction(20))  # no dispatch shows nothing
    refused("attack-uncovered", _cover, network, 0, [[40, 0, 0]], [[20, 0, 20]], Fraction(0))  # the optimum itself needs a little room
    assert _cover(network, 0, [[40, 0, 0]], [[20, 0, 20]], Fraction(1, 10**9)) == 1
    refused("attack-uncovered", _cover, network, 0, [[40, 0, 0]], [[20, 0, 20]], Fraction(-1))


@pytest.mark.parametrize(("supply", "demand", "code"), [
    ([50, 0, 0], [20, 0, 20], ""), ([51, 0, 0], [20, 0, 20], "pool-dispatch-range"), ([50, 0, 1], [20, 0, 20], "pool-dispatch-range"),
    ([-1, 0, 0], [20, 0, 20], "pool-dispatch-range"), ([50, 0, 0], [20, 0, -1], "pool-dispatch-range"),
    ([50, 0, 0], [20, 0, 21], "pool-dispatch-range"),
    ([50, 0, 0], [20, 1, 0], "pool-dispatch-range"), ([(1 << 63) - 1, 0, 0], [0, 0, 0], "pool-dispatch-range"),
    ([-(1 << 63), 0, 0], [0, 0, 0], "pool-dispatch-range"), ([0, 0, 0], [0, 0, (1 << 63) - 1], "pool-dispatch-range"),
    ([0, 0], [0, 0], "array-shape"), ([0, 0, 0, 0], [0, 0, 0, 0], "array-shape"), ([0, 0, 0], [0, 0], "array-shape"),
])
def test_ranges_of_a_pool(supply: list[int], demand: list[int], code: str) -> None:
    network = _bridge()[2]
    arrays = [np.array([side], np.int64) for side in (supply, demand)]
    if code:
        refused(code, check_pool, network, *arrays, Fraction(1, 2))
    else:
        assert isinstance(check_pool(network, *arrays, Fraction(1, 2)), Pool)


def test_a_pool_of_unequal_parts() -> None:
    network = _bridge()[2]
    refused("array-shape", check_pool, network, np.zeros((2, 3), np.int64), np.zeros((1, 3), np.int64), Fraction(1))


@pytest.mark.parametrize("quantum", [Fraction(1, 10**300), Fraction(1, 3), Fraction(10**18), Fraction(1, 7 * 10**30)])
def test_any_quantum_is_exact_in_its_ranges(quantum: Fraction) -> None:
    network = _bridge()[2]
    most = [min(int(v / quantum), (1 << 63) - 1) for v in network.supply]
    pool = check_pool(network, np.array([most], np.int64), np.array([[0, 0, 0]], np.int64), quantum)
    assert pool.supply[0, 0] <= 25 * (1 + 1e-15)
    if most[0] < (1 << 63) - 1:
        refused("pool-dispatch-range", check_pool, network, np.array([[most[0] + 1, 0, 0]], np.int64), np.array([[0, 0, 0]], np.int64), quantum)


def test_work_is_charged_before_it_is_done() -> None:
    network = _bridge()[2]
    pool = check_pool(network, np.array([[0, 0, 0]]), np.array([[0, 0, 0]]), Fraction(1))
    played = Game((1, 1), (True, True), 2)
    for limits in (Limits(work=100), Limits(memory=100), Limits(work=8200)):
        refused("limit-reached", cover, network, played, pool, Fraction(20), limits.fresh())


def test_stages_of_a_large_pool_try_every_dispatch() -> None:
    """The one dispatch that covers is the first, the fifth, the seventeenth or the last of forty."""
    network = _bridge()[2]
    for good in (0, 3, 4, 15, 16, 39):
        supply, demand = [[0, 0, 0]] * 40, [[0, 0, 0]] * 40
        supply[good], demand[good] = [40, 0, 0], [20, 0, 20]
        assert _cover(network, 1, supply, demand, Fraction(10) + Fraction(1, 10**6)) == 3
    refused("attack-uncovered", _cover, network, 1, [[0, 0, 0]] * 40, [[0, 0, 0]] * 40, Fraction(10) + Fraction(1, 10**6))


def test_more_attacks_than_a_block() -> None:
    """Two buses and thirty circuits: 4526 attacks of up to three; the last one alone is uncovered."""
    grid = power.Grid([power.Bus(1), power.Bus(2, Fraction(27))], [power.Unit(1, Fraction(27))], [power.Branch(1, 2, Fraction(1)) for _ in range(30)])
    network = power_network(read_case(grid.data(), Limits()), "dc", power.MODEL, False)
    pool = check_pool(network, np.array([[27, 0]]), np.array([[0, 27]]), Fraction(1))
    tiny = Fraction(1, 10**6)
    assert cover(network, Game((1,) * 30, (True,) * 30, 3), pool, tiny, Limits().fresh()) == 1 + 30 + 435 + 4060
    grid.branches[29].rate = Fraction(2)  # its circuit carries 1 all the same
    grid.branches[0].x = Fraction(1, 5)  # half the flow of the others
    network = power_network(read_case(grid.data(), Limits()), "dc", power.MODEL, False)
    refused("attack-uncovered", cover, network, Game((1,) * 30, (True,) * 30, 3), pool, tiny, Limits().fresh())
    only = Game((1,) * 30, (True,) + (False,) * 26 + (True,) * 3, 4)
    assert cover(network, Game(only.costs, only.free, 2), pool, tiny, Limits().fresh()) == 11
    refused("attack-uncovered", cover, network, Game(only.costs, only.free, 3), pool, tiny, Limits().fresh())


NORMAL = (Fraction(1, 10**200), Fraction(1, 10**10), Fraction(1), Fraction(10**200))


def test_susceptances_and_quanta_are_normal_doubles() -> None:
    """The roundings of the rule are those of normal doubles, with room; what lies outside is declined, or no evidence."""
    for b in NORMAL:
        Recourse(by_hand([(0, 1, -1, 1, b), (0, 1, -1, 1)], [0, 1], [1, 0]))
    for b in (Fraction(1, 10**200 + 1), Fraction(10**200 + 1)):
        refused("limit-reached", Recourse, by_hand([(0, 1, -1, 1), (0, 1, -1, 1, b)], [0, 1], [1, 0]))
    for b in (-1, Fraction(-1, 2), 0):
        Recourse(by_hand([(0, 1, -1, 1, b)], [0, 1], [1, 0]))  # a line that a dispatch leaves open may be of any sort
    network, nothing = by_hand([(0, 1, -1, 1)], [0, 1], [1, 0]), np.zeros((1, 2), np.int64)
    for quantum in (Fraction(1, 10**300), Fraction(10**300)):
        assert check_pool(network, nothing, nothing, quantum).supply.tolist() == [[0.0, 0.0]]
    for quantum in (Fraction(1, 10**300 + 1), Fraction(10**300 + 1), Fraction(0)):
        refused("evidence-range", check_pool, network, nothing, nothing, quantum)


def _served(network: Network, demand: np.ndarray[Any, Any], where: int, theta: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return the bounds for many demands at one bus, each with as much supply at the first."""
    supply, wanted = np.zeros(theta.shape), np.zeros(theta.shape)
    supply[0], wanted[where] = demand, demand
    return Recourse(network).served(theta, supply, wanted, np.zeros((len(demand), 0), np.int64))


def test_each_constant_of_the_outward_rounding() -> None:
    """In units of u: n + 64 twice for sums, 16 for rho, 8 and 16 more where rho is above 1, and c = 2 (degree + n + 12) times 2 (flows + p + d).

    In the mean over many demands, so that single roundings don't matter.
    """
    demand = np.random.default_rng(7).uniform(1.0, 2.0, 40_000)
    for n, degree in ((2, 1), (5, 4)):
        lines = [(0, k, -2, 4) for k in range(1, degree + 1)]
        c, sums = 2 * (degree + n + 12), 2 * (n + 64)
        wide, still = by_hand(lines, [4] * n, [4] * n), np.zeros((n, len(demand)))
        assert abs(((1 - _served(wide, demand, 0, still) / demand) * 2.0**53).mean() - (sums + 16 + 4 * c)) < 0.4
        moving = np.repeat(demand[None], n, axis=0)
        moving[1] = 0
        assert abs(((1 - _served(wide, demand, 1, moving) / demand) * 2.0**53).mean() - (sums + 16 + 6 * c)) < 0.4
        for first in ((0, 1, -9, 1), (1, 0, -1, 9)):  # flows at d times the limit, in the direction of the line or against it: 1 MW is left
            found = _served(by_hand([first, *lines[1:]], [4] * n, [4] * n), demand, 1, moving)
            assert abs(((1 - found) * 2.0**53).mean() - (sums + 16 + 8 + 12 * c)) < 0.4


def test_a_limit_on_one_side_only() -> None:
    """Twice the demand would flow, so that half of it is served, where the direction is limited."""
    one, theta = np.array([1.0]), np.array([[1.0], [0.0]])
    for low, high, forward, backward in ((None, Fraction(1, 2), 0.5, 1.0), (-Fraction(1, 2), None, 1.0, 0.5), (None, None, 1.0, 1.0)):
        for ends, wanted in (((0, 1), forward), ((1, 0), backward)):
            found = _served(by_hand([(*ends, low, high)], [4, 4], [4, 4]), one, 1, theta)
            assert wanted - 1e-12 < found[0] < wanted


def test_underflow_costs_2_to_the_minus_1000() -> None:
    found = _served(by_hand([(0, 1, -9, 9)], [3, 4], [5, 6]), np.array([2.0**-999, 2.0**-1000, 2.0**-1074]), 0, np.zeros((2, 3)))
    assert abs(found[0] * 2.0**1000 - 1) < 1e-9 and found[1:].tolist() == [0.0, 0.0]


def test_demands_and_supplies_are_cut_to_their_ranges() -> None:
    network, theta = by_hand([(0, 1, -9, 9)], [3, 4], [5, 6]), np.array([[2.0], [0.0]])
    rule, none = Recourse(network), np.zeros((1, 0), np.int64)
    for supply, demand, cut in (((-1, 2), (1, 1), ((0, 2), (1, 1))), ((9, 9), (1, 1), ((5, 6), (1, 1))), ((3, 1), (-1, 4), ((3, 1), (0, 4))),
                                ((3, 3), (9, 9), ((3, 3), (3, 4)))):
        found = [rule.served(theta, np.array(p, float)[:, None], np.array(d, float)[:, None], none) for p, d in ((supply, demand), cut)]
        assert found[0] == found[1]


def test_work_and_memory_are_the_sums_of_their_parts() -> None:
    network, limits = _bridge()[2], Limits().fresh()
    coverage = Coverage(network, limits)
    assert limits.spent == 10 * (3**3 + 2 * 3 * (2 + 3))
    before = limits.spent
    assert coverage.left(np.array([[0, 1]] * 7), np.zeros(3), np.zeros(3), 0.0).tolist() == [False] * 7
    call, attack, islands = 200_000 + (20_000 << 2), 60 * (2 + 3) + (20 << 2), 5000 * (2 + 3)
    assert limits.spent - before == call + 7 * attack + islands
    memory = 8 * (4 * 3 * 3 + 2 * 2 + 3 * 2 * 3 + 1536 * (10 * 2 + 6 * 3))
    Coverage(network, Limits(memory=memory).fresh())
    refused("limit-reached", Coverage, network, Limits(memory=memory - 1).fresh())


def test_attacks_without_a_proposal_are_not_covered(monkeypatch: pytest.MonkeyPatch) -> None:
    coverage = Coverage(_bridge()[2], Limits().fresh())
    monkeypatch.setattr(coverage.proposals, "shapes", lambda attacks: iter(()))
    assert coverage.left(np.array([[0], [1]]), np.zeros(3), np.zeros(3), 1e-9).tolist() == [True, True]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
@pytest.mark.parametrize("dispatches", [1, 20])
def test_every_attack_of_every_block_is_tried(monkeypatch: pytest.MonkeyPatch, size: int, dispatches: int) -> None:
    monkeypatch.setattr(recourse, "BLOCK", size)
    network = by_hand([(0, 1, -1, 1)] * 6, [0, 1], [1, 0])
    played, pool = Game((1,) * 6, (True,) * 6, 2), Pool(np.zeros((dispatches, 2)), np.zeros((dispatches, 2)))
    coverage = Coverage(network, Limits().fresh())
    for target in (*power.within(played.free, played.costs, played.budget), None):
        monkeypatch.setattr(coverage, "left", lambda attacks, *_, target=target: np.array([tuple(row) == target for row in attacks.tolist()], bool))
        found = coverage.uncovered(played, pool, 1.0)
        assert (None if found is None else tuple(found.tolist())) == target


@pytest.mark.parametrize("far", [1 << 62, 1 << 63, (1 << 63) + 1, 1 << 64, 1 << 70])
def test_ranges_are_exact_beside_one_that_no_integer_leaves(far: int) -> None:
    """A range that ends above all 64-bit integers does not turn the others into floating point."""
    near = (1 << 60) + 1
    network, nothing = by_hand([(0, 1, -1, 1)], [0, 0], [near, far]), np.zeros((1, 2), np.int64)
    most = min(far, (1 << 63) - 1)
    check_pool(network, np.array([[near, most]]), nothing, Fraction(1))
    refused("pool-dispatch-range", check_pool, network, np.array([[near + 1, most]]), nothing, Fraction(1))
