# SPDX-License-Identifier: Apache-2.0
"""What an attacker may take out: lines with costs, a budget, and lines that a defender has hardened.

Guarantee: `game` returns costs and free lines exactly as `given` names them by rows of the case file; an attack is any set of free lines
whose costs add up to at most the budget. `dearest` returns the largest sum of values that such a set can have, exactly: with equal costs
the largest values, else a 0/1 knapsack over the budget.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from certify.certificate import Files
from certify.errors import Declined, Rejected, malformed
from certify.fields import Field, Integer, ListOf, Nullable, Record, Text
from certify.limits import Limits
from certify.readers.matpower import read_case
from certify.readers.power import Network, power_network

ROWS = ListOf(Integer(1))
COSTS = ListOf(ListOf(Integer(1), 2, 2))
_WORD = Text(r"[a-z0-9-]+")
QUESTION: Mapping[str, Field] = {
    "operator": _WORD, "model": Record({name: _WORD for name in ("pmin", "angle_limits", "dispatchable", "shunts")}),
    "attacks": Integer(), "attack_costs": COSTS, "attackable": Nullable(ROWS),
}
"""The fields of `given` that all claims about attacks share."""
FIELDS: Mapping[str, Field] = {**QUESTION, "defended": ROWS, "budget": Nullable(Integer()), "defence_costs": COSTS}
"""The fields of claims with a given defence."""
_MOST_ROOM = 10**4
_ROWS = "name rows of lines in service (`certify show CASE.m`), each once and in ascending order"


@dataclass(frozen=True)
class Game:
    """The attacker's side of a claim: the cost of each line, which lines are free to attack, and the budget."""

    costs: tuple[int, ...]
    free: tuple[bool, ...]
    budget: int


def defended_network(given: Mapping[str, Any], files: Files, limits: Limits, attack: bool) -> tuple[Network, Game]:
    """Return the network of the case and the attacker's game against a given defence; `attack`: for a claim that bounds the shed from below.

    Raises Declined for a case that is not covered, Rejected `malformed` for rows that don't fit it and `defence-over-budget`.
    """
    network = network_of(given, files, limits, attack)
    if given["budget"] is None and given["defence_costs"]:
        raise malformed("costs of a defence without a budget for it", "claim.given.defence_costs", "give a budget, or no costs")
    cost = spent(network, given["defended"], costs_of(network, given["defence_costs"], "defence_costs"), "defended")
    if given["budget"] is not None and cost > given["budget"]:
        raise Rejected("defence-over-budget", f"the defended lines cost {cost}, the budget is {given['budget']}", where="claim.given.defended")
    return network, game(network, given, given["defended"])


def network_of(given: Mapping[str, Any], files: Files, limits: Limits, attack: bool) -> Network:
    """Return the network of the case under the operator and the conventions of `given`."""
    case = files["case"]
    if isinstance(case, tuple):
        raise TypeError("a role takes one file")
    return power_network(read_case(case, limits), given["operator"], given["model"], attack)


def game(network: Network, given: Mapping[str, Any], defended: Sequence[int]) -> Game:
    """Return costs, free lines and budget; raises Rejected `malformed` for rows that are no line, or are not in ascending order."""
    everything = range(len(network.lines))
    attackable = everything if given["attackable"] is None else lines_of(network, given["attackable"], "attackable")
    free = set(attackable) - set(lines_of(network, defended, "defended"))
    return Game(costs_of(network, given["attack_costs"], "attack_costs"), tuple(k in free for k in everything), given["attacks"])


def rows_of(network: Network) -> dict[int, int]:
    """Return the index of the line in each row of the file that has one."""
    return {line.row: k for k, line in enumerate(network.lines)}


def lines_of(network: Network, rows: Sequence[int], where: str) -> list[int]:
    """Return the indices of the lines in rows of the file; raises Rejected `malformed`."""
    index = rows_of(network)
    for row in rows:
        if row not in index:
            raise malformed(f"row {row} of mpc.branch is no line in service", f"claim.given.{where}", _ROWS)
    if any(a >= b for a, b in pairwise(rows)):
        raise malformed("rows are not in ascending order, each once", f"claim.given.{where}", _ROWS)
    return [index[row] for row in rows]


def costs_of(network: Network, listed: Sequence[tuple[int, int]], where: str) -> tuple[int, ...]:
    """Return the cost of each line: 1 unless listed with another one; raises Rejected `malformed`."""
    named = dict(zip(lines_of(network, [row for row, _ in listed], where), (cost for _, cost in listed), strict=True))
    if 1 in named.values():
        raise malformed("a cost of 1 is the default, and not listed", f"claim.given.{where}", "leave it out")
    return tuple(named.get(k, 1) for k in range(len(network.lines)))


def spent(network: Network, rows: Sequence[int], costs: Sequence[int], where: str) -> int:
    """Return what the lines in rows of the file cost together."""
    return sum(costs[k] for k in lines_of(network, rows, where))


def dearest(values: np.ndarray[Any, Any], costs: np.ndarray[Any, Any], budget: int, limits: Limits) -> int:
    """Return the largest sum of non-negative `values` (int64 or object) of a set whose `costs` add up to at most the budget.

    Raises Declined `limit-reached` for a knapsack above 10^4 units of budget or above the work budget.
    """
    values, costs = values[costs <= budget], costs[costs <= budget]
    if not values.size:
        return 0
    each = 5 if values.dtype == object else 1  # times as long as int64
    limits.spend(1000 * (each - 1) * values.size, "sorting long integers")
    if costs.min() == costs.max():
        taken = min(budget // int(costs[0]), values.size)
        return int(np.sort(values)[values.size - taken :].sum())
    room = min(budget, sum(costs.tolist()))  # in int64 the sum of many large costs would wrap around to a small one
    if room > _MOST_ROOM:
        raise Declined("limit-reached", f"a budget of {room} with different costs, at most {_MOST_ROOM} is checked", fix="use smaller whole costs")
    limits.spend((3000 + 20 * each * (room + 1)) * values.size, "a knapsack over the budget")
    best = np.zeros(room + 1, values.dtype)
    for value, cost in zip(values, costs.tolist(), strict=True):
        best[cost:] = np.maximum(best[cost:], best[: best.size - cost] + value)
    return int(best[-1])
