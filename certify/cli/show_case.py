# SPDX-License-Identifier: Apache-2.0
"""`certify show CASE.m`: what to know of a MATPOWER case before asking about attacks: sizes, what is odd, and who can be the operator.

Numbers come from the strict reader and from the network that claims are about, with the conventions that `certify prove` takes by default.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction

from certify.errors import CertifyError
from certify.limits import Limits
from certify.readers.matpower import Branch, Case, read_case
from certify.readers.power import OPERATORS, Line, Network, power_network
from certify.report.html import some
from certify.rules.graphs import spanning_forest
from certify.rules.grid_words import mw, rounded

_MOST_ROWS, _MOST_DARK = 12, 3


def case_lines(data: bytes, limits: Limits) -> Iterator[str]:
    """Yield the table of a case, one line each; raises what the reader of cases raises, before the first line."""
    case = read_case(data, limits)
    live = {bus.number for bus in case.buses if bus.type != 4}
    running = [_runs(branch, live) for branch in case.branches]
    committed = [unit.in_service and unit.bus in live for unit in case.units]
    yield f"case      MATPOWER version 2, base {mw(case.base_mva)} MVA"
    yield f"buses     {len(live)} live{_left(len(case.buses) - len(live), 'isolated (type 4)')}"
    yield f"lines     {sum(running)} in service{_out(running)}"
    yield f"units     {sum(committed)} in service{_out(committed)}"
    found = {operator: _network(case, operator) for operator in OPERATORS}
    network = found["transport"]
    if isinstance(network, Network):
        supply = sum(network.supply, Fraction(0))
        islands = _islands(network)
        yield f"demand    {_power(network.total)} MW at {some(sum(value > 0 for value in network.demand), 'bus', 'buses')}"
        yield f"supply    {_power(supply)} MW at {some(sum(value > 0 for value in network.supply), 'bus', 'buses')}" + (
            "" if supply >= network.total else ": less than the demand, so load is shed without any attack")
        dark = [island for island in islands if any(network.demand[bus] for bus in island) and not any(network.supply[bus] for bus in island)]
        yield f"islands   {len(islands)}" + "".join(f"; demand and no supply at {_buses(network, island)}" for island in dark[:_MOST_DARK]) + (
            f"; and {len(dark) - _MOST_DARK} more without supply" if len(dark) > _MOST_DARK else "")
        if limits_set := sorted(line.high for line in network.lines if line.high is not None):
            yield f"ratings   {_power(limits_set[0])} to {_power(limits_set[-1])} MW"
        yield from _oddities(case, network)
    for operator, answer in found.items():
        yield f"operator  {operator}: " + (_premises(answer) if isinstance(answer, Network) else _trouble(answer, case, operator))


def _islands(network: Network) -> list[list[int]]:
    """Return the buses of each island: in the order of a forest, each begins with a root."""
    order, via = spanning_forest(network)
    found: list[list[int]] = []
    for bus in order:
        if via[bus] == -1:
            found.append([])
        found[-1].append(bus)
    return found


def _buses(network: Network, island: Sequence[int]) -> str:
    numbers = sorted(network.numbers[bus] for bus in island)
    return f"bus{'' if len(numbers) == 1 else 'es'} {', '.join(map(str, numbers[:_MOST_ROWS]))}{', ...' if len(numbers) > _MOST_ROWS else ''}"


def _runs(branch: Branch, live: set[int]) -> bool:
    return branch.in_service and branch.from_bus in live and branch.to_bus in live


def _network(case: Case, operator: str, angles: str = "") -> Network | CertifyError:
    """Return the network under the conventions that `prove` takes by default, or why there is none."""
    both = any(unit.in_service and unit.pmin < 0 < unit.pmax for unit in case.units)
    model = {"pmin": "relaxed", "angle_limits": angles or ("ignored" if operator == "transport" else "enforced"),
             "dispatchable": "uncounted" if both else "counted", "shunts": "as-load"}
    try:
        return power_network(case, operator, model, attack=False)
    except CertifyError as trouble:
        return trouble


def _premises(network: Network) -> str:
    return f"supported, rests on {', '.join(sorted(network.premises))}"


def _trouble(trouble: CertifyError, case: Case, operator: str) -> str:
    """Return why an operator can't be asked about, and whether it could without angle limits."""
    other = "; supported with angle_limits=ignored" if operator != "transport" and isinstance(_network(case, operator, "ignored"), Network) else ""
    return f"refused, {trouble}{other}"


def _oddities(case: Case, network: Network) -> Iterator[str]:
    """Yield what is not plain about the lines, with their rows: only what there is."""
    rows = [(line, case.branches[line.row - 1]) for line in network.lines]
    pairs = Counter(frozenset((line.start, line.end)) for line, _ in rows)
    together = [line.row for line, _ in rows if pairs[frozenset((line.start, line.end))] > 1]
    several = some(sum(count > 1 for count in pairs.values()), "pair")
    bite, narrow = _angles(case, rows)
    told = (
        ("parallel", together, "circuit", f"in parallel, between {several} of buses"),
        ("unlimited", [line.row for line, _ in rows if line.high is None], "line", "without a rating (rateA = 0)"),
        ("negative", [line.row for line, branch in rows if branch.x < 0], "line", "with x < 0"),
        ("shorted", [line.row for line, branch in rows if branch.x == 0], "line", "with x = 0"),
        ("shifters", [line.row for line, branch in rows if branch.shift], "line", "with a phase shifter"),
        ("angles", bite, "line", "with angle limits that are tighter than the rating"),
        ("angles", narrow, "line", "with angle limits that don't allow a flow of 0"),
    )
    for name, found, noun, words in told:
        if found:
            yield f"{name:10s}{some(len(found), noun)} {words}: {_rows(found)} of mpc.branch"
    firm = [row for row, unit in enumerate(case.units, 1) if unit.in_service and unit.pmin > 0]
    if firm:
        yield f"pmin      {some(len(firm), 'unit')} with a minimum output, which is not enforced: {_rows(firm)} of mpc.gen"
    loads = [row for row, unit in enumerate(case.units, 1) if unit.in_service and unit.pmin < 0]
    if loads:
        yield f"loads     {some(len(loads), 'unit')} that may consume (Pmin < 0): {_rows(loads)} of mpc.gen"


def _angles(case: Case, rows: Iterable[tuple[Line, Branch]]) -> tuple[list[int], list[int]]:
    """Return the rows of lines whose angle limits bind before their rating, and of those that exclude a flow of 0."""
    from certify.readers.susceptances import bound_line

    bite, narrow = [], []
    for line, branch in rows:
        if branch.x == 0:
            continue
        try:
            bound = bound_line(line, branch, case.base_mva, "dc-switch", {"angle_limits": "enforced"}, attack=False)
        except CertifyError:
            narrow.append(line.row)
            continue
        if (bound.low, bound.high) != (line.low, line.high):
            bite.append(line.row)
    return bite, narrow


def _left(count: int, words: str) -> str:
    return f", {count} {words}" if count else ""


def _out(on: Sequence[bool]) -> str:
    """Return which rows of a matrix are not in service."""
    rows = [row for row, is_on in enumerate(on, 1) if not is_on]
    return f", {len(rows)} out of service: {_rows(rows)}" if rows else ""


def _rows(rows: Sequence[int]) -> str:
    shown = f"{', '.join(map(str, rows[:_MOST_ROWS]))}{', ...' if len(rows) > _MOST_ROWS else ''}"
    return f"row{'' if len(rows) == 1 else 's'} {shown}"


def _power(value: Fraction) -> str:
    """Return MW exactly where a few decimals do, else rounded."""
    near = rounded(value, up=False)
    return mw(value) if near == value else f"about {mw(near)}"
