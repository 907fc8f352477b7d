# SPDX-License-Identifier: Apache-2.0
"""Union-find and spanning forests, against reachability by powers of the adjacency matrix."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from certify.readers.power import Line, Network
from certify.rules.graphs import UnionFind, spanning_forest


def _network(rng: np.random.Generator) -> Network:
    buses = int(rng.integers(1, 9))
    ends = [tuple(int(v) for v in rng.choice(buses, 2, replace=False)) for _ in range(int(rng.integers(0, 12)))] if buses > 1 else []
    lines = tuple(Line(row, start, end, None, None, Fraction(1), Fraction(0)) for row, (start, end) in enumerate(ends, start=1))
    zero = (Fraction(0),) * buses
    return Network(tuple(range(1, buses + 1)), zero, zero, zero, lines, ())


def _reachable(buses: int, ends: list[tuple[int, int]]) -> np.ndarray:
    step = np.eye(buses, dtype=bool)
    for a, b in ends:
        step[a, b] = step[b, a] = True
    for _ in range(buses):
        step = step @ step
    return step


def test_parts_are_what_is_joined() -> None:
    rng = np.random.default_rng(1)
    for _ in range(200):
        size, done = int(rng.integers(1, 10)), list[tuple[int, int]]()
        parts = UnionFind(size)
        for _ in range(int(rng.integers(0, 12))):
            a, b = (int(v) for v in rng.integers(0, size, 2))
            assert parts.join(a, b) == (not _reachable(size, done)[a, b])
            done.append((a, b))
        reach = _reachable(size, done)
        assert all((parts.root(a) == parts.root(b)) == reach[a, b] for a in range(size) for b in range(size))


def test_a_forest_spans_what_the_lines_join() -> None:
    rng = np.random.default_rng(2)
    roots = 0
    for _ in range(200):
        network = _network(rng)
        buses, lines = len(network.numbers), network.lines
        without = {k for k in range(len(lines)) if rng.random() < 0.2}
        order, via = spanning_forest(network, without)
        assert sorted(order) == list(range(buses))
        seen: set[int] = set()
        for bus in order:
            if via[bus] >= 0:
                assert via[bus] not in without
                assert len({lines[via[bus]].start, lines[via[bus]].end} & seen) == 1  # it comes after the bus that leads to it
            seen.add(bus)
        chosen = [(lines[k].start, lines[k].end) for k in via if k >= 0]
        everything = _reachable(buses, [(line.start, line.end) for k, line in enumerate(lines) if k not in without])
        assert (_reachable(buses, chosen) == everything).all()
        assert len(chosen) == buses - len({tuple(row) for row in everything.tolist()})
        roots += via.count(-1) > 1
    assert roots > 40
