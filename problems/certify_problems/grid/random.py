# SPDX-License-Identifier: Apache-2.0
"""Random power networks as canonical cases, for tests and benchmarks: connected, with enough supply, and without shedding while nothing is attacked.

Guarantee: the same settings give the same bytes on every machine; numbers are short decimals. Each line of a random tree is rated above the flow that
a dispatch sends over it, so that balance and ratings hold; the further lines have ratings of the same sizes. No real network looks like this.
"""

from __future__ import annotations

from random import Random

from certify.errors import UsageError
from certify_problems.grid.case_tables import Tables, canonical

_LOAD_SHARE, _UNIT_SHARE = 0.7, 0.3
_RESERVE = 1.3


def matpower(buses: int, lines: int, seed: int) -> tuple[bytes, list[str]]:
    """Return the bytes of a case with so many buses and lines, and what it is; raises UsageError for numbers that don't fit."""
    if lines < buses - 1:
        raise UsageError("setting-value", f"{lines} lines can't join {buses} buses", fix=f"give lines={buses - 1} or more")
    draw = Random(seed)  # noqa: S311 - no secret depends on it
    demand = [_pick(draw, 10, 150) if draw.random() < _LOAD_SHARE else 0 for _ in range(buses)]
    demand[_pick(draw, 0, buses - 1)] += 50
    total = sum(demand)
    holders = [bus for bus in range(buses) if draw.random() < _UNIT_SHARE] or [0]
    weights = [1 + draw.random() for _ in holders]
    supply = dict(zip(holders, (1 + int(_RESERVE * total * weight / sum(weights)) for weight in weights), strict=True))
    joins = [(_near(draw, bus), bus) for bus in range(1, buses)]
    flow = _tree_flows(demand, supply, joins)
    ratings = [10 * (1 + int(abs(mw) * (1 + 0.5 * draw.random()) / 10)) for mw in flow]
    for _ in range(lines - len(joins)):
        first = _pick(draw, 0, buses - 2)
        joins.append((first, _pick(draw, first + 1, min(buses - 1, first + 12))))
        ratings.append(ratings[_pick(draw, 0, buses - 2)])
    branch = [_branch(draw, join, rating) for join, rating in zip(joins, ratings, strict=True)]
    first = holders[0]
    bus = [[str(k + 1), "3" if k == first else "2" if k in supply else "1", str(mw), str(mw // 4), "0", "0", "1", "1", "0", "230", "1", "1.1", "0.9"]
           for k, mw in enumerate(demand)]
    gen = [[str(k + 1), "0", "0", str(mw // 2), str(-(mw // 2)), "1", "100", "1", str(mw), "0"] for k, mw in supply.items()]
    comment = f"Random network of {buses} buses and {lines} lines, seed {seed}: made by certify generate, no real network."
    data, _ = canonical(Tables("100", {"bus": bus, "gen": gen, "branch": branch}, (), (comment,)), f"random_{buses}_{lines}_{seed}")
    return data, [f"{buses} buses, {lines} lines, {len(gen)} units; demand {total} MW, supply {sum(supply.values())} MW"]


def _pick(draw: Random, low: int, high: int) -> int:
    """Return an integer of a range: by `random`, whose numbers are the same in every version of Python."""
    return low + int(draw.random() * (high - low + 1))


def _near(draw: Random, bus: int) -> int:
    """Return an earlier bus, mostly one of the last few, so that the network is long rather than a star."""
    return _pick(draw, max(0, bus - 6), bus - 1)


def _tree_flows(demand: list[int], supply: dict[int, int], joins: list[tuple[int, int]]) -> list[float]:
    """Return what a dispatch of all units in proportion sends over each line of the tree, from the root in MW."""
    share = sum(demand) / sum(supply.values())
    below = [mw - share * supply.get(bus, 0) for bus, mw in enumerate(demand)]
    flow = [0.0] * len(joins)
    for k in reversed(range(len(joins))):  # a bus stands behind its parent, so its own subtree is summed up before
        parent, bus = joins[k]
        flow[k] = below[bus]
        below[parent] += below[bus]
    return flow


def _branch(draw: Random, join: tuple[int, int], rating: int) -> list[str]:
    thousandths = _pick(draw, 20, 300)
    x = f"0.{thousandths:03d}".rstrip("0")
    r = f"0.{thousandths:04d}".rstrip("0")
    return [str(join[0] + 1), str(join[1] + 1), r, x, "0", str(rating), str(rating), str(rating), "0", "0", "1", "-60", "60"]
