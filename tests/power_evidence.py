# SPDX-License-Identifier: Apache-2.0
"""Evidence about power networks made by hand-written code: integer flows, trees of attacks, pools of dispatches, duals; no code of certify."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import lcm

import numpy as np

from power_networks import Dc, Plain, within


def unit_of(network: Plain) -> int:
    """Return the least scale at which all numbers of MW are integers."""
    ends = [value for line in network.lines for value in (line.low, line.high) if value is not None]
    return lcm(*(value.denominator for value in (*network.demand, *network.supply, *ends)))


def flow(network: Plain, out: Sequence[int], scale: int, rng: np.random.Generator | None = None) -> list[int]:
    """Return integer flows (MW times scale) that avoid the lines in `out` and serve most by augmenting paths; with `rng`, some that serve less."""
    buses, lines = len(network.numbers), network.lines
    need = [int(v * scale) for v in network.demand]
    room = [int(v * scale) for v in network.supply]
    for bus in range(buses):  # what is at the same bus needs no line
        both = min(need[bus], room[bus])
        need[bus] -= both
        room[bus] -= both
    everything = sum(need)
    flows = [0] * len(lines)

    def left(k: int, forward: bool) -> int:
        limit = lines[k].high if forward else None if lines[k].low is None else -lines[k].low
        most = 2 * everything if limit is None else int(limit * scale)
        return most - flows[k] if forward else most + flows[k]

    while True:
        if rng is not None and rng.random() < 0.15:
            break
        via: dict[int, tuple[int, bool] | None] = {bus: None for bus in range(buses) if room[bus] > 0}
        queue = deque(via)
        target = next((bus for bus in queue if need[bus] > 0), None)
        while queue and target is None:
            bus = queue.popleft()
            order = list(range(len(lines)))
            if rng is not None:
                rng.shuffle(order)
            for k in order:
                if k in out or bus not in (lines[k].a, lines[k].b):
                    continue
                forward = bus == lines[k].a
                other = lines[k].b if forward else lines[k].a
                if other not in via and left(k, forward) > 0:
                    via[other] = (k, forward)
                    queue.append(other)
                    if need[other] > 0:
                        target = other
                        break
        if target is None:
            break
        path, bus = [], target
        while (step := via[bus]) is not None:
            path.append(step)
            bus = lines[step[0]].a if step[1] else lines[step[0]].b
        amount = min(need[target], room[bus], *(left(k, forward) for k, forward in path))
        if rng is not None and amount > 1:
            amount = int(rng.integers(1, amount + 1))
        need[target] -= amount
        room[bus] -= amount
        for k, forward in path:
            flows[k] += amount if forward else -amount
    return flows


def shed_of(network: Plain, flows: Sequence[int], scale: int) -> Fraction | None:
    """Return what is shed with these flows, exactly; None where a limit or a bus is broken."""
    outflow = [Fraction(0)] * len(network.numbers)
    for value, line in zip(flows, network.lines, strict=True):
        mw = Fraction(value, scale)
        if (line.high is not None and mw > line.high) or (line.low is not None and mw < line.low):
            return None
        outflow[line.a] += mw
        outflow[line.b] -= mw
    shed = Fraction(0)
    for demand, supply, out in zip(network.demand, network.supply, outflow, strict=True):
        if not -demand <= out <= supply:
            return None
        shed += demand - min(demand, supply - out)
    return shed


def lost(flows: Sequence[int], scale: int, free: Sequence[bool], costs: Sequence[int], budget: int) -> Fraction:
    """Return the largest sum of |flows| that an affordable set of free lines takes out, by enumeration."""
    used = [may and value != 0 for may, value in zip(free, flows, strict=True)]
    return max(Fraction(sum(abs(flows[k]) for k in chosen), scale) for chosen in within(used, costs, budget))


@dataclass
class Grown:
    """A tree of attacks: nodes in preorder, flows of its witnesses, and the largest bound of a leaf."""

    nodes: list[int] = field(default_factory=list)
    flows: list[list[int]] = field(default_factory=list)
    worst: Fraction = Fraction(0)


def tree(network: Plain, free: Sequence[bool], costs: Sequence[int], budget: int, bound: Fraction, rng: np.random.Generator | None = None,
         scale: int = 0) -> Grown:
    """Return a tree whose leaves are at most `bound` where that is the true worst case or more; with `rng`, at random."""
    scale = scale or unit_of(network)
    made = Grown()

    def grow(out: tuple[int, ...], open_: list[bool], left: int) -> None:
        loose = rng is not None and rng.random() < 0.7
        flows = flow(network, out, scale, rng if loose else None)
        shed = shed_of(network, flows, scale)
        if shed is None:
            raise AssertionError("a flow breaks its limits")
        value = shed + lost(flows, scale, open_, costs, left)
        choices = [k for k, may in enumerate(open_) if may and costs[k] <= left]
        if rng is None:
            choices = [k for k in choices if flows[k]]
        done = value <= bound or not choices
        if rng is not None:
            done = not choices or rng.random() < 0.4
        if done:
            if flows not in made.flows:
                made.flows.append(flows)
            made.nodes.append(-1 - made.flows.index(flows))
            made.worst = max(made.worst, value)
            return
        line = int(rng.choice(choices)) if rng is not None else max(choices, key=lambda k: (abs(flows[k]), -k))
        made.nodes.append(line)
        closed = [may and k != line for k, may in enumerate(open_)]
        grow((*out, line), closed, left - costs[line])
        grow(out, closed, left)

    grow((), list(free), budget)
    return made


def pairs(network: Plain) -> list[tuple[int, int]]:
    """Return the pairs of buses that lines join, in the order and direction in which they are first seen."""
    found: list[tuple[int, int]] = []
    for line in network.lines:
        if (line.a, line.b) not in found and (line.b, line.a) not in found:
            found.append((line.a, line.b))
    return found


def forest(network: Plain, out: Sequence[int], rng: np.random.Generator) -> list[int]:
    """Return lines that survive and form a random spanning forest, one circuit a pair."""
    joined, chosen = list(range(len(network.numbers))), []
    for k in rng.permutation(len(network.lines)).tolist():
        first, second = joined[network.lines[k].a], joined[network.lines[k].b]
        if k not in out and first != second:
            joined = [second if group == first else group for group in joined]
            chosen.append(k)
    return chosen


@dataclass
class Switched:
    """A tree of attacks with a forest of closed lines, or a dispatch, at each leaf."""

    nodes: list[int] = field(default_factory=list)
    flows: list[list[int]] = field(default_factory=list)
    closed: list[list[int]] = field(default_factory=list)
    kind: list[int] = field(default_factory=list)
    supply: list[list[int]] = field(default_factory=list)
    demand: list[list[int]] = field(default_factory=list)
    worst: Fraction = Fraction(0)


def forest_tree(dc: Dc, free: Sequence[bool], costs: Sequence[int], budget: int, bound: float, scale: int, rng: np.random.Generator) -> Switched:
    """Return a tree whose leaves aim at `bound`: the best of a few forests at each node, or the optimum with all lines closed."""
    network, made, places = dc.network, Switched(), pairs(dc.network)

    def grow(out: tuple[int, ...], open_: list[bool], left: int) -> None:
        best: tuple[Fraction, list[int], list[int]] | None = None
        for _ in range(4):
            shut = forest(network, out, rng)
            flows = flow(network, [k for k in range(len(network.lines)) if k not in shut], scale)
            value = (shed_of(network, flows, scale) or Fraction(0)) + lost(flows, scale, open_, costs, left)
            if best is None or value < best[0]:
                best = (value, shut, flows)
        if best is None:
            raise AssertionError("no forest")
        choices = [k for k, may in enumerate(open_) if may and costs[k] <= left]
        if choices and float(best[0]) > bound and rng.random() < 0.95:
            line = max(choices, key=lambda k: (abs(best[2][k]), -k))
            made.nodes.append(line)
            closed = [may and k != line for k, may in enumerate(open_)]
            grow((*out, line), closed, left - costs[line])
            grow(out, closed, left)
            return
        made.nodes.append(-1 - len(made.kind))
        found = dc.solve(out)
        plain_lines = all(line.susceptance > 0 and not line.shift for line in network.lines)
        if not choices and plain_lines and found is not None and found.shed + 1e-5 < float(best[0]):
            supply, demand = dispatch(dc, out)
            made.supply.append(supply)
            made.demand.append(demand)
            made.kind.append(1)
            made.flows.append([0] * len(places))
            made.closed.append([1] * len(network.lines))
            made.worst = max(made.worst, Fraction(round((found.shed + 1e-5) * 10**9), 10**9))
            return
        row = [0] * len(places)
        for k in best[1]:
            ends = (network.lines[k].a, network.lines[k].b)
            row[places.index(ends) if ends in places else places.index(ends[::-1])] = best[2][k] if ends in places else -best[2][k]
        made.kind.append(0)
        made.flows.append(row)
        made.closed.append([int(k in best[1]) for k in range(len(network.lines))])
        made.worst = max(made.worst, best[0] + Fraction(len(network.lines) + 1, 10**6 * scale))

    grow((), list(free), budget)
    return made


QUANTUM = Fraction(1, 10**9)


def dispatch(dc: Dc, attack: Sequence[int]) -> tuple[list[int], list[int]]:
    """Return supply and demand of the optimum after an attack, rounded down to quanta."""
    found = dc.solve(attack)
    if found is None:
        raise AssertionError("no operating point")
    return tuple([max(0, min(int(value * 10**9), int(most / QUANTUM))) for value,
                  most in zip(values.tolist(), limits, strict=True)]  # type: ignore[return-value]
                 for values, limits in ((found.supply, dc.network.supply), (found.served, dc.network.demand)))


def pool(dc: Dc, free: Sequence[bool], costs: Sequence[int], budget: int) -> tuple[list[list[int]], list[list[int]]]:
    """Return supplies and demands of the optima after every attack within the budget, each once."""
    seen: dict[tuple[tuple[int, ...], tuple[int, ...]], None] = {}
    for attack in within(free, costs, budget):
        supply, demand = dispatch(dc, attack)
        seen[tuple(supply), tuple(demand)] = None
    return [list(supply) for supply, _ in seen], [list(demand) for _, demand in seen]


def dual(dc: Dc, attack: Sequence[int], scales: tuple[int, int] = (10**9, 10**6)) -> tuple[list[int], list[int]]:
    """Return integer prices and a circulation near the duals of the optimum: chords rounded, the forest follows exactly."""
    network, found = dc.network, dc.solve(attack)
    if found is None:
        raise AssertionError("no operating point")
    prices = [round(value * scales[0]) for value in found.prices.tolist()]
    around = [round(-100 * value * scales[1]) for value in found.ohm.tolist()]
    joined = list(range(len(network.numbers)))
    at: list[list[tuple[int, int]]] = [[] for _ in network.numbers]
    result = [0] * len(network.lines)
    for k, line in enumerate(network.lines):
        if k in attack:
            continue
        if joined[line.a] != joined[line.b]:
            first, second = joined[line.a], joined[line.b]
            joined = [second if group == first else group for group in joined]
            at[line.a].append((k, line.b))
            at[line.b].append((k, line.a))
            continue
        result[k] += around[k]
        for step, bus, other in _path(at, line.b, line.a):  # the cycle closes from the end of the chord back to its start
            result[step] += around[k] if (network.lines[step].a, network.lines[step].b) == (bus, other) else -around[k]
    return prices, result


def _path(at: Sequence[Sequence[tuple[int, int]]], start: int, end: int) -> list[tuple[int, int, int]]:
    via: dict[int, tuple[int, int]] = {start: (-1, -1)}
    queue = deque([start])
    while end not in via:
        bus = queue.popleft()
        for k, other in at[bus]:
            if other not in via:
                via[other] = (k, bus)
                queue.append(other)
    path, bus = [], end
    while bus != start:
        k, before = via[bus]
        path.append((k, before, bus))
        bus = before
    return path
