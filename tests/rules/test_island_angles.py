# SPDX-License-Identifier: Apache-2.0
"""Proposals of angles solve the power flow after every attack, whatever it splits. Nothing depends on them but what a pool covers."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from certify.limits import Limits
from certify.readers.power import Network
from certify.rules import island_angles
from certify.rules.island_angles import Proposals, angles_on, balanced
from rules.hand_networks import network as by_hand


def _network(rng: np.random.Generator) -> Network:
    buses = int(rng.integers(2, 7))
    lines = [(*(int(v) for v in rng.choice(buses, 2, replace=False)), -9, 9, int(rng.integers(1, 5))) for _ in range(int(rng.integers(1, 9)))]
    return by_hand(lines, rng.integers(0, 9, buses).tolist(), rng.integers(0, 9, buses).tolist())


def _islands(network: Network, out: tuple[int, ...]) -> list[int]:
    group = list(range(len(network.numbers)))
    for k, line in enumerate(network.lines):
        if k not in out:
            group = [group[line.start] if g == group[line.end] else g for g in group]
    return group


def _solves(network: Network, out: tuple[int, ...], theta: np.ndarray, given: np.ndarray, taken: np.ndarray, supply: np.ndarray,
            demand: np.ndarray) -> None:
    """Require that angles drive what is given and taken, and that this is as much as every island can balance."""
    left = given - taken
    for k, line in enumerate(network.lines):
        if k not in out:
            flow = float(line.susceptance) * (theta[line.start] - theta[line.end])
            left[line.start] -= flow
            left[line.end] += flow
    assert np.abs(left).max() < 1e-9, (out, left)
    group = np.array(_islands(network, out))
    for island in set(group.tolist()):
        mine = group == island
        least = min(supply[mine].sum(), demand[mine].sum())
        assert abs(given[mine].sum() - least) < 1e-9 and abs(taken[mine].sum() - least) < 1e-9
    assert (given <= supply + 1e-12).all() and (taken <= demand + 1e-12).all()


def test_proposals_solve_the_power_flow_after_every_attack() -> None:
    rng = np.random.default_rng(1)
    whole = split = 0
    for _ in range(80):
        network = _network(rng)
        lines = len(network.lines)
        supply, demand = np.array([float(v) for v in network.supply]), np.array([float(v) for v in network.demand])
        proposals = Proposals(network, Limits().fresh())
        for size in range(min(lines, 4) + 1):
            every = list(combinations(range(lines), size))
            seen: list[int] = []
            for which, shape in proposals.shapes(np.array(every, np.int64).reshape(len(every), size)):
                seen += which.tolist()
                assert shape.attacks.tolist() == [list(every[k]) for k in which]
                theta, given, taken = (np.broadcast_to(v, (len(supply), len(which))) for v in proposals.angles(shape, supply, demand))
                for column, k in enumerate(which.tolist()):
                    _solves(network, every[k], theta[:, column], given[:, column], taken[:, column], supply, demand)
                parts = {len(set(_islands(network, every[k]))) > len(set(_islands(network, ()))) for k in which.tolist()}
                assert len(parts) == 1  # attacks that split an island are told from those that don't
                whole, split = whole + (parts == {False}), split + (parts == {True})
            assert sorted(seen) == list(range(len(every)))
    assert whole > 100 and split > 100


def test_angles_on_closed_lines_solve_their_power_flow() -> None:
    rng = np.random.default_rng(2)
    for _ in range(100):
        network = _network(rng)
        supply, demand = np.array([float(v) for v in network.supply]), np.array([float(v) for v in network.demand])
        shut = rng.random(len(network.lines)) < 0.6
        theta, given, taken = angles_on(network, shut, supply, demand)
        _solves(network, tuple(np.flatnonzero(~shut).tolist()), theta[:, 0], given[:, 0], taken[:, 0], supply, demand)


def test_an_island_of_one_side_gets_nothing() -> None:
    islands = np.array([[0], [0], [1], [2], [2]])
    given, taken = balanced(islands, np.array([[4.0], [4.0], [5.0], [0.0], [3.0]]), np.array([[2.0], [0.0], [0.0], [1.0], [8.0]]))
    assert given[:, 0].tolist() == [1.0, 1.0, 0.0, 0.0, 3.0] and np.allclose(taken[:, 0], [2.0, 0.0, 0.0, 1 / 3, 8 / 3])


def test_splits_are_charged_when_they_are_found_and_so_many_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    """A path of six buses: each of its five lines splits it."""
    network, limits = by_hand([(k, k + 1, -9, 9) for k in range(5)], [1] * 6, [1] * 6), Limits().fresh()
    proposals = Proposals(network, limits)
    monkeypatch.setattr(island_angles, "_KEPT", 2 * (5 + 6))
    before, known = limits.spent, []
    for line in (0, 1, 1, 2, 3, 2, 0):  # when a fourth comes, three are forgotten
        assert [which.tolist() for which, _ in proposals.shapes(np.array([[line]]))] == [[0]]
        known.append(len(proposals.known))
    assert known == [1, 2, 2, 3, 1, 2, 3]
    assert limits.spent - before == 6 * 5000 * (5 + 6)
