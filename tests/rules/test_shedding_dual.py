# SPDX-License-Identifier: Apache-2.0
"""Cuts and duals: no bound is above the truth, whatever the prices; cuts of the oracle and duals of the linear program attain it."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest

import power_evidence as evidence
import power_networks as power
from certify.certificate import Evidence
from certify.limits import Limits
from certify.readers.matpower import read_case
from certify.readers.power import Network, power_network
from certify.rules.shedding_dual import bounds, dual_bound, require_kind
from rules.hand_networks import network as by_hand
from toolkit import refused

TOLERANCE = 1e-6  # MW: by so much the linear program may be off


def networks(rng: np.random.Generator, operator: str, lines: tuple[int, int] = (1, 9), buses: tuple[int, int] = (2, 6)) -> tuple[
        power.Plain, power.Transport, power.Dc, Network]:
    """Return a random network of an attack claim: plain, with its oracles, and as the checker reads it."""
    while True:
        grid = power.random_grid(rng, operator == "dc", buses, lines)
        model = power.conventions(grid, operator, str(rng.choice(["enforced", "ignored"])))
        try:
            plain, transport, dc = power.oracles(grid, operator, model, True)
        except power.Refused:
            continue
        return plain, transport, dc, power_network(read_case(grid.data(), Limits()), operator, model, True)


def bound(network: Network, attack: Sequence[int], prices: Sequence[Fraction], around: Sequence[Fraction] | None) -> Fraction:
    """Return the checker's bound."""
    return dual_bound(network, frozenset(attack), list(prices), None if around is None else list(around))


def shown(network: Network, attacked: frozenset[int], operator: str, told: Evidence, limits: Limits) -> Fraction:
    """Return what evidence shows for one attack."""
    require_kind(told.kind, operator)
    return bounds(network, [attacked], {name: array[None] for name, array in told.arrays.items()}, told.items.get("scale", ()), limits)[0]


def cut(network: Network, attack: Sequence[int], side: Sequence[int], operator: str) -> Fraction:
    """Return what a cut shows."""
    return shown(network, frozenset(attack), operator, Evidence("cut", 1, {}, {"side": np.array(side, "|u1")}), Limits().fresh())


def attack_on(rng: np.random.Generator, lines: int) -> tuple[int, ...]:
    """Return a random attack."""
    return tuple(sorted(int(k) for k in rng.choice(lines, int(rng.integers(0, min(lines, 4) + 1)), replace=False))) if lines else ()


def test_the_best_cut_is_the_truth_of_transport() -> None:
    rng = np.random.default_rng(1)
    shedding = 0
    for _ in range(200):
        plain, transport, _, network = networks(rng, "transport")
        attack = attack_on(rng, len(plain.lines))
        found = cut(network, attack, transport.cut(attack), "transport")
        assert found == transport.shed(attack)
        shedding += found > 0
    assert shedding > 100


def test_no_cut_is_above_the_truth_of_transport() -> None:
    rng = np.random.default_rng(2)
    unlimited = 0
    for _ in range(150):
        plain, transport, _, network = networks(rng, "transport", buses=(2, 5))
        attack = attack_on(rng, len(plain.lines))
        truth = transport.shed(attack)
        for subset in range(1 << len(plain.numbers)):
            found = cut(network, attack, [subset >> bus & 1 for bus in range(len(plain.numbers))], "transport")
            assert found <= truth
            if any(line.high is None and (subset >> line.a & 1) != (subset >> line.b & 1) for k, line in enumerate(plain.lines) if k not in attack):
                assert found <= 0  # whatever is wanted can come in
                unlimited += 1
    assert unlimited > 20


def _random_prices(rng: np.random.Generator, network: power.Plain, attack: Sequence[int], loops: bool) -> tuple[list[Fraction],
                                                                                                                list[Fraction] | None]:
    """Return prices and a circulation on surviving lines: a sum of random cycles of a spanning forest."""
    prices = [Fraction(int(v), 4) for v in rng.integers(-6, 9, len(network.numbers))]
    if rng.random() < 0.6:
        prices = [Fraction(int(v)) for v in rng.integers(0, 2, len(network.numbers))]
    if not loops or rng.random() < 0.3:
        return prices, None
    left = [k for k in range(len(network.lines)) if k not in attack]
    joined, at = list(range(len(network.numbers))), [[] for _ in network.numbers]  # type: ignore[var-annotated]
    around = [Fraction(0)] * len(network.lines)
    rng.shuffle(left)
    for k in left:
        line = network.lines[k]
        if joined[line.a] != joined[line.b]:
            first, second = joined[line.a], joined[line.b]
            joined = [second if group == first else group for group in joined]
            at[line.a].append((k, line.b))
            at[line.b].append((k, line.a))
        elif rng.random() < 0.7:
            size = Fraction(int(rng.integers(-9, 10)), 3) * line.susceptance / 10
            around[k] += size
            for step, bus, other in evidence._path(at, line.b, line.a):
                around[step] += size if (network.lines[step].a, network.lines[step].b) == (bus, other) else -size
    return prices, around


def _no_dual_above(rng: np.random.Generator, count: int) -> tuple[int, int]:
    positive = looped = 0
    for _ in range(count):
        plain, _, dc, network = networks(rng, "dc", (1, 8), (2, 4))
        for _ in range(4):
            attack = attack_on(rng, len(plain.lines))
            prices, around = _random_prices(rng, plain, attack, True)
            found = bound(network, attack, prices, around)
            assert float(found) <= dc.shed(attack) + TOLERANCE, (attack, prices, around)
            positive += found > 0
            looped += around is not None and any(around)
            if around is not None:  # near the optimum, where a limit that is a little too small would show
                near, loops = evidence.dual(dc, attack)
                assert float(bound(network, attack, [Fraction(v, 10**9) for v in near], [Fraction(v, 10**6) for v in loops])) <= (
                    dc.shed(attack) + TOLERANCE)
    return positive, looped


def test_no_dual_is_above_the_truth_of_dc() -> None:
    positive, looped = _no_dual_above(np.random.default_rng(3), 150)
    assert positive > 40 and looped > 50


@pytest.mark.slow
def test_no_dual_is_above_the_truth_of_dc_in_long_runs() -> None:
    positive, looped = _no_dual_above(np.random.default_rng(4), 3000)
    assert positive > 800 and looped > 1000


def test_no_dual_without_a_circulation_is_above_the_truth_of_switching() -> None:
    rng = np.random.default_rng(5)
    positive = 0
    for _ in range(40):
        plain, _, dc, network = networks(rng, "dc-switch", (1, 5), (2, 4))
        attack = attack_on(rng, len(plain.lines))
        truth = dc.switched(attack)
        for _ in range(4):
            prices, _ = _random_prices(rng, plain, attack, False)
            found = bound(network, attack, prices, None)
            assert float(found) <= truth + TOLERANCE
            positive += found > 0
    assert positive > 10


def test_duals_of_the_linear_program_attain_the_truth() -> None:
    rng = np.random.default_rng(6)
    sharp = tried = 0
    for _ in range(100):
        plain, _, dc, network = networks(rng, "dc", (1, 8), (2, 5))
        attack = attack_on(rng, len(plain.lines))
        prices, around = evidence.dual(dc, attack)
        tried += 1
        found = bound(network, attack, [Fraction(v, 10**9) for v in prices], [Fraction(v, 10**6) for v in around])
        assert float(found) <= dc.shed(attack) + TOLERANCE
        sharp += float(found) >= dc.shed(attack) - 1e-3
    assert sharp > 0.95 * tried


def test_a_line_without_a_limit_counts_with_all_that_can_be_taken() -> None:
    """One line without a limit brings 20 MW to a bus that wants them: at a slope of 1 it counts with 20 MW, and not with less."""
    for consumption, most in ((0, 20), (3, 23)):
        units = [power.Unit(1, Fraction(30))] + ([power.Unit(2, Fraction(0), Fraction(-consumption))] if consumption else [])
        made = power.Grid([power.Bus(1), power.Bus(2, Fraction(20))], units, [power.Branch(1, 2, Fraction(0))])
        model = {**power.MODEL, "dispatchable": "uncounted"}
        network = power_network(read_case(made.data(), Limits()), "dc", model, True)
        for price in (Fraction(1), Fraction(1, 2)):
            assert bound(network, (), [Fraction(0), price], None) == 20 * price - most * price
        assert bound(network, (), [Fraction(0), Fraction(-1)], None) == -20 - consumption - most


def _two() -> tuple[Network, power.Plain]:
    """Two buses, three circuits of 5, 6 and 7 MW; 20 MW wanted at the second bus, where a unit may consume 3."""
    grid = power.Grid([power.Bus(1), power.Bus(2, Fraction(20))], [power.Unit(1, Fraction(30)), power.Unit(2, Fraction(0), Fraction(-3))],
                      [power.Branch(1, 2, Fraction(5)), power.Branch(2, 1, Fraction(6)), power.Branch(1, 2, Fraction(7))])
    model = {**power.MODEL, "dispatchable": "uncounted"}
    return power_network(read_case(grid.data(), Limits()), "dc", model, True), power.plain(grid, "dc", model)


def test_what_a_dual_must_satisfy() -> None:
    network, _ = _two()
    one, zero = Fraction(1), Fraction(0)
    assert bound(network, (), [zero, one], None) == 2 and bound(network, (2,), [zero, one], None) == 9
    assert bound(network, (2,), [zero, one], [one, one, zero]) < 9  # row 2 runs the other way: a circulation through both
    assert bound(network, (), [zero, -one], None) == -20 - 3 - 18  # demand and what may consume at a negative price, and all limits
    assert bound(network, (), [-one, -one], None) == -20 - 3
    for around in ([one, zero, zero], [one, one, one], [one, -one, zero], [one, one + Fraction(1, 10**30), zero]):
        refused("dual-infeasible", bound, network, (), [zero, one], around)
    for around in ([one, zero, -one], [zero, zero, Fraction(1, 10**30)]):
        refused("dual-infeasible", bound, network, (2,), [zero, one], around)
    told = Evidence("cut", 1, {}, {"side": np.array([0, 1], "|u1")})
    refused("limit-reached", shown, network, frozenset(), "dc", told, Limits(work=1000).fresh())


@pytest.mark.parametrize(("operator", "kind", "code"), [
    ("transport", "cut", ""), ("dc-switch", "cut", ""), ("dc", "cut", ""), ("dc", "dc-dual", ""), ("transport", "dc-dual", "evidence-kind"),
    ("dc-switch", "dc-dual", "evidence-kind"),
])
def test_which_evidence_goes_with_which_operator(operator: str, kind: str, code: str) -> None:
    arrays = {"side": np.array([0, 1], "|u1")} if kind == "cut" else {"pi": np.array([0, 2]), "circulation": np.array([3, 3, 0])}
    items = {} if kind == "cut" else {"scale": (2, 7)}
    told = Evidence(kind, 1, items, arrays)
    if code:
        refused(code, shown, _two()[0], frozenset({2}), operator, told, Limits().fresh())
    else:
        wanted = Fraction(9) if kind == "cut" else bound(_two()[0], (2,), [Fraction(0), Fraction(1)], [Fraction(3, 7)] * 2 + [Fraction(0)])
        assert shown(_two()[0], frozenset({2}), operator, told, Limits().fresh()) == wanted


@pytest.mark.parametrize(("side", "code"),
                         [([0, 2], "evidence-range"), ([255, 0], "evidence-range"), ([0], "array-shape"), ([0, 1, 0], "array-shape"),
                                            ([], "array-shape")])
def test_sides_that_are_refused(side: list[int], code: str) -> None:
    refused(code, cut, _two()[0], (), side, "dc")


@pytest.mark.parametrize(("prices", "around"), [(1, 3), (3, 3), (2, 2), (2, 4), (3, 2), (2, 0)])
def test_duals_of_another_size(prices: int, around: int) -> None:
    told = Evidence("dc-dual", 1, {"scale": (1, 1)}, {"pi": np.zeros(prices, np.int64), "circulation": np.zeros(around, np.int64)})
    refused("array-shape", shown, _two()[0], frozenset(), "dc", told, Limits().fresh())


def test_numbers_at_the_ends_of_int64() -> None:
    low, high = -(1 << 63), (1 << 63) - 1
    told = Evidence("dc-dual", 1, {"scale": ((1 << 53) - 1, 1)}, {"pi": np.array([low, high]), "circulation": np.array([high, high, 0])})
    found = shown(_two()[0], frozenset({2}), "dc", told, Limits().fresh())
    assert found == bound(_two()[0], (2,), [Fraction(low, (1 << 53) - 1), Fraction(high, (1 << 53) - 1)],
                          [Fraction(high), Fraction(high), Fraction(0)])
    wraps = Evidence("dc-dual", 1, {"scale": (1, 1)}, {"pi": np.array([0, 1]), "circulation": np.array([low, 0, low])})
    refused("dual-infeasible", shown, _two()[0], frozenset(), "dc", wraps, Limits().fresh())  # the sum at a bus is -2^64


@pytest.mark.parametrize(("bits", "words"), [(1, 0), (630, 9), (640, 10)])
def test_work_is_the_sum_of_its_parts(bits: int, words: int) -> None:
    """Two buses and a line for each of three attacks, and the square of the words of the susceptances, which a common denominator can get."""
    network, limits = by_hand([(0, 1, -5, 5, (1 << bits) - 1)], [0, 20], [30, 0]), Limits().fresh()
    prices = {"pi": np.array([[0, 1]] * 3), "circulation": np.zeros((3, 1), np.int64)}
    assert bounds(network, [frozenset()] * 3, prices, (1, 1), limits) == [Fraction(15)] * 3
    assert limits.spent == 3 * (2 + 1) * (10_000 + words**2)
    limits = limits.fresh()
    assert bounds(network, [frozenset()] * 3, {"side": np.array([[0, 1]] * 3, "|u1")}, (), limits) == [Fraction(15)] * 3
    assert limits.spent == 3 * (2 + 1) * 10_000  # a cut needs no susceptance


@pytest.mark.parametrize("ends", [(-5, 5 + Fraction(1, 1 << 639)), (-5 - Fraction(1, 1 << 639), 5), (None, 5 + Fraction(1, 1 << 639))])
def test_long_denominators_of_limits_are_charged(ends: tuple[int | Fraction | None, int | Fraction]) -> None:
    """A limit whose denominator has ten words."""
    network, limits = by_hand([(0, 1, *ends)], [0, 20], [30, 0]), Limits().fresh()
    bounds(network, [frozenset()], {"side": np.array([[0, 1]], "|u1")}, (), limits)
    assert limits.spent == (2 + 1) * (10_000 + 10**2)
