# SPDX-License-Identifier: Apache-2.0
"""Flows on forests: what `check_forests` accepts obeys Ohm's law on the closed lines, and what `forest_tree` returns bounds every attack."""

from __future__ import annotations

from collections import Counter
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
from certify.rules.attacks import Game
from certify.rules.flows import Witnesses
from certify.rules.forests import check_forests, forest_tree, pairs_of
from rules.hand_networks import End
from rules.hand_networks import network as by_hand
from toolkit import refused

TOLERANCE = 1e-6  # MW: by so much the linear programs of the oracle may be off
LARGEST = (1 << 63) - 1


def networks(rng: np.random.Generator, lines: tuple[int, int], buses: tuple[int, int]) -> tuple[power.Plain, power.Dc, Network]:
    """Return a random network: plain, with its oracle, and as the checker reads it."""
    while True:
        plain_lines = rng.random() < 0.6
        grid = power.random_grid(rng, plain_lines, buses, lines, odd=0.2 if plain_lines else 1.0)
        model = power.conventions(grid, "dc-switch", "enforced" if rng.random() < 0.7 else "ignored")
        try:
            network, _, dc = power.oracles(grid, "dc-switch", model)
        except power.Refused:
            continue
        if network.lines:
            return network, dc, power_network(read_case(grid.data(), Limits()), "dc-switch", model, False)


def checked(network: Network, flows: list[list[int]], scales: list[int], closed: list[list[int]], kind: list[int] | None = None) -> Witnesses:
    """Return the witnesses that the checker makes of pair flows and closed lines."""
    return check_forests(network, np.array(flows, np.int64).reshape(len(flows), -1), np.array(scales, np.int64),
                         np.array(closed, np.uint8).reshape(len(closed), -1), np.array(kind or [0] * len(scales), np.uint8), Limits().fresh())


def _components(buses: int, joined: list[tuple[int, int]]) -> int:
    group = list(range(buses))
    for a, b in joined:
        group = [group[a] if g == group[b] else g for g in group]
    return len(set(group))


def by_ohm(plain: power.Plain, flow: list[int], scale: int, closed: list[int], tight: Fraction) -> list[Fraction] | None:
    """Return the flow of each line in MW, from the angle that drives each pair; None where no angles do, or a limit (times `tight`) is broken."""
    places = evidence.pairs(plain)
    shut = [k for k, value in enumerate(closed) if value]
    joined = [pair for pair in places if any({plain.lines[k].a, plain.lines[k].b} == set(pair) for k in shut)]
    if len(joined) != len(plain.numbers) - _components(len(plain.numbers), joined):
        return None  # not a forest
    found = [Fraction(0)] * len(plain.lines)
    for (a, b), value in zip(places, flow, strict=True):
        mine = [k for k in shut if {plain.lines[k].a, plain.lines[k].b} == {a, b}]
        if not mine:
            if value:
                return None
            continue
        if len(mine) > 1 and (any(plain.lines[k].susceptance <= 0 for k in mine)
                              or len({plain.lines[k].shift * (1 if plain.lines[k].a == a else -1) for k in mine}) > 1):
            return None
        turn = {k: 1 if plain.lines[k].a == a else -1 for k in mine}
        # sum of b (difference - shift) is the flow of the pair
        drawn = sum((plain.lines[k].susceptance * turn[k] * plain.lines[k].shift for k in mine), Fraction(0))
        difference = (Fraction(value, scale) + drawn) / sum((plain.lines[k].susceptance for k in mine), Fraction(0))
        for k in mine:
            line = plain.lines[k]
            found[k] = line.susceptance * (turn[k] * difference - line.shift)
            if (line.high is not None and found[k] > line.high * tight) or (line.low is not None and found[k] < line.low * tight):
                return None
    return found


def _shed(plain: power.Plain, flows: list[Fraction]) -> Fraction | None:
    unit = 1
    for value in flows:
        unit = int(np.lcm(unit, value.denominator)) if value.denominator < 1 << 20 and unit < 1 << 20 else unit * value.denominator
    return evidence.shed_of(plain, [int(value * unit) for value in flows], unit)


def _witness(rng: np.random.Generator, plain: power.Plain) -> tuple[list[int], int, list[int]]:
    """Return a flow on a random forest with its scale and closed lines, edited at random."""
    scale = evidence.unit_of(plain) * int(rng.choice([1, 3, 1000]))
    scale = scale if scale < 1 << 50 else 1000
    shut = evidence.forest(plain, (), rng)
    flows = evidence.flow(plain, [k for k in range(len(plain.lines)) if k not in shut], scale, rng if rng.random() < 0.5 else None)
    places = evidence.pairs(plain)
    row = [0] * len(places)
    for k in shut:
        line = plain.lines[k]
        row[places.index((line.a, line.b)) if (line.a, line.b) in places else places.index((line.b, line.a))] = (
            flows[k] if (line.a, line.b) in places else -flows[k])
    closed = [int(k in shut) for k in range(len(plain.lines))]
    for k, line in enumerate(plain.lines):  # circuits beside those of the forest
        if not closed[k] and rng.random() < 0.6 and any(closed[j] and {line.a, line.b} == {o.a, o.b} for j, o in enumerate(plain.lines)):
            closed[k] = 1
    for _ in range(int(rng.integers(0, 3))):
        edit = rng.random()
        if edit < 0.4:
            closed[int(rng.integers(len(closed)))] ^= 1
        elif edit < 0.7:
            at = int(rng.integers(len(row)))
            row[at] = [row[at] + 1, row[at] - 1, -row[at], 2 * row[at], 0][int(rng.integers(5))]
        else:
            at = int(rng.integers(len(row)))
            line = plain.lines[int(rng.integers(len(plain.lines)))]
            row[at] = int((line.high or 7) * scale) + int(rng.integers(-1, 2))
    return [min(LARGEST, max(-LARGEST, value)) for value in row], scale, closed


def _accepted(rng: np.random.Generator, count: int) -> tuple[int, Counter[str]]:
    accepted, codes = 0, Counter[str]()
    for _ in range(count):
        plain, _, network = networks(rng, (1, 8), (2, 5))
        assert pairs_of(network) == evidence.pairs(plain)
        row, scale, closed = _witness(rng, plain)
        loose, tight = (by_ohm(plain, row, scale, closed, factor) for factor in (Fraction(1), 1 - Fraction(1, 10**9)))
        try:
            found = checked(network, [row], [scale], [closed])
        except CertifyError as trouble:
            codes[trouble.code] += 1
            assert tight is None or _shed(plain, tight) is None, (trouble, row, scale, closed)
            continue
        accepted += 1
        assert loose is not None, (row, scale, closed)
        shed = _shed(plain, loose)
        assert shed is not None and 0 <= Fraction(int(found.shed[0]), scale * found.quantum) - shed <= Fraction(1, scale * 10**6)
        for value, size in zip(loose, found.size[0], strict=True):
            assert 0 <= Fraction(int(size), scale * found.quantum) - abs(value) <= Fraction(1, scale * 10**6)
    return accepted, codes


def test_exactly_the_flows_that_ohm_allows_are_accepted() -> None:
    accepted, codes = _accepted(np.random.default_rng(1), 700)
    assert accepted > 250
    assert set(codes) == {"leaf-cycle", "leaf-open-flow", "leaf-flow-limit", "leaf-balance", "susceptance-not-positive", "phase-shift-unsupported"}


@pytest.mark.slow
def test_exactly_the_flows_that_ohm_allows_are_accepted_in_long_runs() -> None:
    accepted, _ = _accepted(np.random.default_rng(2), 20_000)
    assert accepted > 7000


def _trees(rng: np.random.Generator, count: int, edits: int) -> tuple[int, Counter[str], int]:
    """Try trees, as grown or edited; the bound of an accepted one is at least the shed of every attack, by linear programs over all switchings."""
    accepted, codes, dispatches = 0, Counter[str](), 0
    for _ in range(count):
        plain, dc, network = networks(rng, (4, 6), (3, 4))
        lines = len(plain.lines)
        played = Game(tuple(int(v) for v in rng.choice([1, 1, 1, 2], lines)), tuple(bool(v) for v in rng.random(lines) < 0.85),
                      int(rng.integers(0, 4)))
        attacks = list(power.within(played.free, played.costs, played.budget))
        truth = max(dc.switched(attack) for attack in attacks)
        scale = evidence.unit_of(plain)
        scale = scale if scale < 10**9 else 10**6
        made = evidence.forest_tree(dc, played.free, played.costs, played.budget, truth + 1e-5, scale, rng)
        nodes, closed, kind, flows = list(made.nodes), [list(row) for row in made.closed], list(made.kind), [list(row) for row in made.flows]
        for _ in range(int(rng.integers(1, 3)) if edits else 0):
            edit, at = rng.random(), int(rng.integers(len(kind)))
            if edit < 0.2:
                nodes[int(rng.integers(len(nodes)))] = int(rng.integers(-len(kind), lines))
            elif edit < 0.4:
                closed[at][int(rng.integers(lines))] ^= 1
            elif edit < 0.55:
                closed[at] = [1] * lines
            elif edit < 0.7:
                kind[at] ^= 1
            elif edit < 0.85:
                flows[at] = flows[int(rng.integers(len(flows)))]
            else:
                nodes = nodes[:1] if nodes[0] < 0 else [-1 - int(rng.integers(len(kind)))]
        if edits and rng.random() < 0.85:  # what no leaf names is dropped, as an adversary would
            used = sorted({-1 - node for node in nodes if node < 0} or {0})
            nodes = [-1 - used.index(-1 - node) if node < 0 else node for node in nodes]
            order = np.cumsum(made.kind) - 1
            keep = [int(order[k]) for k in used if made.kind[k]]
            closed, kind, flows = ([part[k] for k in used] for part in (closed, kind, flows))  # type: ignore[assignment]
        else:
            keep = list(range(len(made.supply)))
        buses = len(plain.numbers)
        pairs = len(evidence.pairs(plain))
        arrays = {"tree": np.array(nodes, np.int32), "flow": np.array(flows, np.int64).reshape(len(kind), pairs), "scale": np.full(len(kind), scale),
                  "closed": np.array(closed, np.uint8).reshape(len(kind), -1), "kind": np.array(kind, np.uint8),
                  "supply": np.array([made.supply[k] for k in keep], np.int64).reshape(-1, buses),
                  "demand": np.array([made.demand[k] for k in keep], np.int64).reshape(-1, buses)}
        try:
            worst, leaves = forest_tree(network, played, arrays, Fraction(1, 10**9), Limits().fresh())
        except CertifyError as trouble:
            codes[trouble.code] += 1
            continue
        accepted += 1
        dispatches += sum(kind)
        assert float(worst) >= truth - TOLERANCE, (nodes, closed, kind, flows)
        assert leaves == sum(node < 0 for node in nodes)
        if not edits:
            assert worst <= made.worst
    return accepted, codes, dispatches


def test_leaves_of_grown_trees_bound_every_attack() -> None:
    accepted, codes, dispatches = _trees(np.random.default_rng(3), 120, 0)
    assert accepted == 120 and not codes and dispatches > 5


def test_no_tree_that_is_accepted_is_wrong() -> None:
    accepted, codes, _ = _trees(np.random.default_rng(4), 300, 1)
    assert accepted > 60 and {"leaf-cycle", "leaf-attacked-flow", "branch-invalid", "leaf-open-flow", "leaf-uncovered", "array-shape"} <= set(codes)


@pytest.mark.slow
def test_no_tree_that_is_accepted_is_wrong_in_long_runs() -> None:
    accepted, _, _ = _trees(np.random.default_rng(5), 4000, 1)
    assert accepted > 600


def test_work_is_charged_before_it_is_done() -> None:
    plain, _, network = networks(np.random.default_rng(6), (4, 8), (3, 5))
    row, scale, closed = [0] * len(evidence.pairs(plain)), 1, [0] * len(plain.lines)
    few: Any = Limits(work=20_000 * (len(plain.lines) + len(plain.numbers)) - 1).fresh()
    given = np.array([row], np.int64), np.array([scale], np.int64), np.array([closed], np.uint8), np.array([0], np.uint8)
    refused("limit-reached", check_forests, network, *given, few)
    assert checked(network, [row], [scale], [closed]).size.tolist() == [[0] * len(plain.lines)]


@pytest.mark.parametrize("sign", [1, -1])
def test_flows_without_limits_end_at_two_to_the_53(sign: int) -> None:
    most = 1 << 53
    network = by_hand([(0, 1, None, None)], [2 * most] * 2, [2 * most] * 2)
    assert checked(network, [[sign * most]], [1], [[1]]).size.tolist() == [[most * 10**6]]
    refused("leaf-flow-limit", checked, network, [[sign * (most + 1)]], [1], [[1]])


def test_sizes_and_sheds_are_rounded_up_to_a_millionth() -> None:
    network = by_hand([(0, 1, None, None, 1), (0, 1, None, None, 2)], [0, Fraction(4, 3)], [1, 0])
    found = checked(network, [[1], [0]], [1, 1], [[1, 1], [1, 1]])
    assert found.quantum == 10**6 and found.size.tolist() == [[333_334, 666_667], [0, 0]] and found.shed.tolist() == [333_334, 1_333_334]
    found = checked(network, [[3]], [7], [[1, 1]])
    assert found.size.tolist() == [[10**6, 2 * 10**6]] and found.shed.tolist() == [6_333_334] and found.scale == [7]


def _lines(*lines: End) -> Network:
    """Return lines between three buses that can give and take 9 MW each."""
    return by_hand(lines, [9] * 3, [9] * 3)


@pytest.mark.parametrize("first", [(0, 1), (1, 0)])
@pytest.mark.parametrize("turned", [False, True])
def test_limits_hold_in_the_direction_of_the_line(first: tuple[int, int], turned: bool) -> None:
    """A pair has the direction of its first line; each circuit carries its flow forwards or backwards, and is limited in its own direction."""
    second = first[::-1] if turned else first
    network = _lines((*first, -5, 5), (*second, -1, 3))
    least, most = (-6, 2) if turned else (-2, 6)
    for flow in range(-8, 9):
        if least <= flow <= most:
            assert checked(network, [[flow]], [1], [[1, 1]]).size.tolist() == [[abs(flow) * 10**6 // 2] * 2]
        else:
            refused("leaf-flow-limit", checked, network, [[flow]], [1], [[1, 1]])


@pytest.mark.parametrize(("low", "high"), [(None, 1), (-1, None), (None, None), (-1, 1)])
def test_a_limit_on_one_side_only(low: int | None, high: int | None) -> None:
    network = _lines((0, 1, low, high))
    for flow, free in ((-2, low is None), (2, high is None), (-1, True), (1, True)):
        if free:
            checked(network, [[flow]], [1], [[1]])
        else:
            refused("leaf-flow-limit", checked, network, [[flow]], [1], [[1]])


@pytest.mark.parametrize("first", [(0, 1), (1, 0)])
def test_shifts_of_parallel_lines_are_compared_in_one_direction(first: tuple[int, int]) -> None:
    other = first[::-1]
    for second, shift, fine in ((first, 3, True), (first, -3, False), (other, -3, True), (other, 3, False)):
        network = _lines((*first, None, None, 1, 3), (*second, None, None, 1, shift))
        if fine:
            checked(network, [[1]], [1], [[1, 1]])
        else:
            refused("phase-shift-unsupported", checked, network, [[1]], [1], [[1, 1]])
        checked(network, [[1]], [1], [[1, 0]])


@pytest.mark.parametrize("b", [-1, 0, 1, Fraction(1, 2)])
def test_parallel_lines_and_lines_of_a_dispatch_have_a_positive_b(b: Fraction) -> None:
    network = _lines((0, 1, -5, 5), (0, 1, -5, 5, b))
    played = Game((1, 1), (False, False), 0)
    dispatch = {"tree": np.array([-1], np.int32), "flow": np.zeros((1, 1), np.int64), "scale": np.ones(1, np.int64),
                "closed": np.ones((1, 2), np.uint8), "kind": np.ones(1, np.uint8), "supply": np.ones((1, 3), np.int64),
                "demand": np.ones((1, 3), np.int64)}
    if b > 0:
        checked(network, [[1]], [1], [[1, 1]])
        assert 24 <= forest_tree(network, played, dispatch, Fraction(1), Limits().fresh())[0] < 24 + Fraction(1, 10**9)
    else:
        refused("susceptance-not-positive", checked, network, [[1]], [1], [[1, 1]])
        refused("susceptance-not-positive", forest_tree, network, played, dispatch, Fraction(1), Limits().fresh())


def test_one_kind_a_witness() -> None:
    network = _lines((0, 1, None, None))
    for kind in ([], [0, 0], [0, 1]):
        refused("array-shape", check_forests, network, np.zeros((1, 1), np.int64), np.ones(1, np.int64), np.ones((1, 1), np.uint8),
                np.array(kind, np.uint8), Limits().fresh())


def test_work_is_the_sum_of_its_parts() -> None:
    network, limits = _lines((0, 1, -5, 5), (1, 2, -5, 5)), Limits().fresh()
    arrays = {"tree": np.array([0, -1, -2], np.int32), "flow": np.zeros((2, 2), np.int64), "scale": np.ones(2, np.int64),
              "closed": np.ones((2, 2), np.uint8), "kind": np.array([1, 0], np.uint8), "supply": np.ones((1, 3), np.int64),
              "demand": np.ones((1, 3), np.int64)}
    worst, leaves = forest_tree(network, Game((1, 1), (True, True), 1), arrays, Fraction(1), limits)
    assert 24 <= worst < 24 + Fraction(1, 10**9) and leaves == 2
    dispatch, sorting = 10 * 3**3 + 5000 * (2 + 3), 4000 * 1
    assert limits.spent == 20_000 * 2 * (2 + 3) + 3 * (20_000 + 20 * 2) + dispatch + sorting


def test_flows_take_memory_and_circuits_are_charged_for_their_digits() -> None:
    """Of the pair of two circuits, the susceptances have 4096 bits together: 64 words."""
    network = _lines((0, 1, -5, 5, 1 << 2000), (1, 0, -5, 5, 1 << 2092), (1, 2, -5, 5))
    assert sum(part.bit_length() for line in network.lines[:2] for part in line.susceptance.as_integer_ratio()) == 4096
    given: Any = network, np.zeros((3, 2), np.int64), np.ones(3, np.int64), np.zeros((3, 3), np.uint8), np.zeros(3, np.uint8)
    limits = Limits(memory=80 * 3 * 3).fresh()
    check_forests(*given, limits)
    assert limits.spent == 20_000 * 3 * (3 + 3) + 20 * 3 * (2 * 64**2 + 1 * 0**2)
    refused("limit-reached", check_forests, *given, Limits(memory=80 * 3 * 3 - 1).fresh())
