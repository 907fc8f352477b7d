# SPDX-License-Identifier: Apache-2.0
"""The conventions by which a case becomes a network for load shedding: live parts, demand, supply, and the limits of lines.

Guarantee: with the conventions in `model`, `power_network` returns the network of docs/claims/grid-shedding.md exactly. What the operator can
do there contains (for `attack` claims) or is contained in (for upper claims) what the case allows: pi enters through an enclosure, loose or
tight, and units that may consume are free to do so, or are dropped. A case that an operator does not cover is declined by name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from certify.errors import Declined
from certify.readers.matpower import Branch, Case, Unit

OPERATORS = ("transport", "dc-switch", "dc")
MODEL = {"pmin": ("relaxed",), "angle_limits": ("enforced", "ignored"), "dispatchable": ("counted", "uncounted"), "shunts": ("as-load",)}
"""The values of each convention that this version knows."""


@dataclass(frozen=True)
class Line:
    """A branch in service between live buses: its row in the file (from 1), the indices of its ends, flow limits in MW (None: unlimited).

    `susceptance` is b in MW per radian, `shift` in degrees; both matter where flows obey Ohm's law only.
    """

    row: int
    start: int
    end: int
    low: Fraction | None
    high: Fraction | None
    susceptance: Fraction
    shift: Fraction


@dataclass(frozen=True)
class Network:
    """Live buses with demand and supply in MW, `consumption` (what units may take for free), and lines in the order of the file."""

    numbers: tuple[int, ...]
    demand: tuple[Fraction, ...]
    supply: tuple[Fraction, ...]
    consumption: tuple[Fraction, ...]
    lines: tuple[Line, ...]
    premises: frozenset[str]

    @property
    def total(self) -> Fraction:
        """The demand of all buses."""
        return sum(self.demand, Fraction(0))


def power_network(case: Case, operator: str, model: Mapping[str, str], attack: bool) -> Network:
    """Return the network of a case under an operator; raises Declined with a code that names what is not covered.

    `attack` is whether the claim bounds the shed from below, so that the operator must not be weaker than in the case.
    """
    for name, values in (("operator", OPERATORS), *MODEL.items()):
        word = operator if name == "operator" else model.get(name)
        if word not in values:
            raise Declined("feature-unsupported", f"this version does not know {name} {word!r}, only {', '.join(values)}", where="claim.given",
                           fix="choose one of them, or verify it with a newer version of certify")
    if operator == "transport" and model["angle_limits"] != "ignored":
        raise Declined("feature-unsupported", "transport has no angles: its angle limits are ignored", where="claim.given.model.angle_limits",
                       fix="set angle_limits to ignored")
    live = {bus.number: index for index, bus in enumerate(bus for bus in case.buses if bus.type != 4)}
    buses = [bus for bus in case.buses if bus.type != 4]
    if not buses:
        raise Declined("case-empty", "every bus is isolated (type 4)", fix="give a case with live buses")
    units = [(row, unit) for row, unit in enumerate(case.units, start=1) if unit.in_service and unit.bus in live]
    demand = [max(bus.pd, Fraction(0)) + max(bus.gs, Fraction(0)) for bus in buses]
    supply = [max(-bus.pd, Fraction(0)) + max(-bus.gs, Fraction(0)) for bus in buses]
    consumption = [Fraction(0)] * len(buses)
    counted = model["dispatchable"] == "counted"
    for row, unit in units:
        lowest = _lowest(row, unit, counted)
        (demand if counted else consumption)[live[unit.bus]] += lowest
    most = sum(demand, Fraction(0)) + sum(consumption, Fraction(0))
    for _, unit in units:
        supply[live[unit.bus]] += most if isinstance(unit.pmax, float) else unit.pmax
    lines = tuple(_line(row, branch, live, case.base_mva, operator, model, attack) for row, branch in enumerate(case.branches, start=1)
                  if branch.in_service and branch.from_bus in live and branch.to_bus in live)
    premises = {{"transport": "transport-flow", "dc-switch": "dc-switching", "dc": "dc-power-flow"}[operator]}
    premises |= {"pmin-relaxed"} if any(unit.pmin > 0 for _, unit in units) else set()
    premises |= {"angle-limits-ignored"} if operator != "transport" and model["angle_limits"] == "ignored" else set()
    return Network(tuple(bus.number for bus in buses), tuple(demand), tuple(supply), tuple(consumption), lines, frozenset(premises))


def _lowest(row: int, unit: Unit, counted: bool) -> Fraction:
    """Return what a unit can consume, in MW; raises Declined for a range that this version does not cover."""
    pmin = unit.pmin
    if unit.pmax < 0 or pmin > unit.pmax or isinstance(pmin, float):
        raise Declined("feature-unsupported", "Pmax < 0, Pmin > Pmax or an infinite Pmin", where=f"row {row} of mpc.gen",
                       fix="correct the limits of the unit, or take it out of service")
    if counted and pmin < 0 < unit.pmax:
        raise Declined("feature-unsupported", "a unit that may produce or consume can't be counted as demand", where=f"row {row} of mpc.gen",
                       fix="set dispatchable to uncounted")
    return max(-pmin, Fraction(0))


def _line(row: int, branch: Branch, live: Mapping[int, int], base: Fraction, operator: str, model: Mapping[str, str], attack: bool) -> Line:
    """Return the line of a branch; raises Declined where its operator does not cover it."""
    low, high = (-branch.rate, branch.rate) if branch.rate else (None, None)
    line = Line(row, live[branch.from_bus], live[branch.to_bus], low, high, Fraction(0), Fraction(0))
    if operator == "transport":
        return line
    from certify.readers.susceptances import bound_line
    return bound_line(line, branch, base, operator, model, attack)
