# SPDX-License-Identifier: Apache-2.0
"""Small random power networks as MATPOWER text and as plain numbers, and the least shed after attacks by definition; no code of certify.

`Grid` is what the file says, `plain` what the conventions make of it (design: demand, supply, limits, pi between two rationals), `Transport` the
exact least shed by max-flow min-cut over all sets of buses, `Dc` the least shed of the DC model by a linear program.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import lcm

import numpy as np

PI = Fraction("3.14159265358979323846264338327950288")
PI_BELOW, PI_ABOVE = Fraction("3.14159265358979"), Fraction("3.14159265358980")
MODEL = {"pmin": "relaxed", "angle_limits": "enforced", "dispatchable": "counted", "shunts": "as-load"}


class Refused(Exception):
    """The conventions do not cover a grid; `code` is what the reader must say."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


@dataclass
class Bus:
    number: int
    pd: Fraction = Fraction(0)
    gs: Fraction = Fraction(0)
    type: int = 1


@dataclass
class Unit:
    bus: int
    pmax: Fraction | None  # None: Inf
    pmin: Fraction = Fraction(0)
    status: int = 1


@dataclass
class Branch:
    a: int
    b: int
    rate: Fraction
    x: Fraction = Fraction(1, 10)
    ratio: Fraction = Fraction(0)
    shift: Fraction = Fraction(0)
    status: int = 1
    amin: Fraction = Fraction(-360)
    amax: Fraction = Fraction(360)


@dataclass
class Grid:
    """A case as its author wrote it: rows are numbered from 1 in the order of the lists."""

    buses: list[Bus]
    units: list[Unit]
    branches: list[Branch]
    base: Fraction = Fraction(100)
    angles: bool = True  # whether the branch rows have columns 12 and 13
    names: list[str] = field(default_factory=list)

    def text(self) -> str:
        """Return the MATPOWER file."""
        rows = [f"\t{b.number}\t{b.type}\t{told(b.pd)}\t0\t{told(b.gs)}\t0\t1\t1\t0\t138\t1\t1.1\t0.9;" for b in self.buses]
        units = [f"\t{u.bus}\t0\t0\t10\t-10\t1\t100\t{u.status}\t{'Inf' if u.pmax is None else told(u.pmax)}\t{told(u.pmin)};" for u in self.units]
        lines = []
        for k in self.branches:
            angles = f"\t{told(k.amin)}\t{told(k.amax)}" if self.angles else ""
            lines.append(f"\t{k.a}\t{k.b}\t0.01\t{told(k.x)}\t0\t{told(k.rate)}\t0\t0\t{told(k.ratio)}\t{told(k.shift)}\t{k.status}{angles};")
        parts = [f"mpc.{name} = [\n" + "\n".join(given) + "\n];\n" for name, given in (("bus", rows), ("gen", units), ("branch", lines))]
        return f"function mpc = small\nmpc.version = '2';\nmpc.baseMVA = {told(self.base)};\n" + "".join(parts)

    def data(self) -> bytes:
        """Return the bytes of the MATPOWER file."""
        return self.text().encode()

    def copy(self) -> Grid:
        """Return an independent copy."""
        return replace(self, buses=[replace(b) for b in self.buses], units=[replace(u) for u in self.units],
                       branches=[replace(k) for k in self.branches])


def told(value: Fraction) -> str:
    """Return an exact decimal."""
    digits = next(k for k in range(400) if (value * 10**k).denominator == 1)
    whole = str(abs(int(value * 10**digits))).rjust(digits + 1, "0")
    sign = "-" if value < 0 else ""
    return f"{sign}{whole[:-digits]}.{whole[-digits:]}" if digits else f"{sign}{whole}"


@dataclass(frozen=True)
class Line:
    row: int
    a: int
    b: int
    low: Fraction | None
    high: Fraction | None
    susceptance: Fraction
    shift: Fraction


@dataclass(frozen=True)
class Plain:
    """What the conventions make of a grid: MW at live buses, lines in service between them, the assumptions that it rests on."""

    numbers: tuple[int, ...]
    demand: tuple[Fraction, ...]
    supply: tuple[Fraction, ...]
    consumption: tuple[Fraction, ...]
    lines: tuple[Line, ...]
    premises: frozenset[str]

    @property
    def total(self) -> Fraction:
        return sum(self.demand, Fraction(0))

    def index(self, row: int) -> int:
        """Return the index of the line in a row of the file; raises KeyError."""
        return {line.row: k for k, line in enumerate(self.lines)}[row]


def plain(grid: Grid, operator: str, model: Mapping[str, str], pi: Fraction = PI) -> Plain:
    """Return the network by the table of conventions, or raise Refused. `pi` stands where degrees become radians."""
    words = {"pmin": {"relaxed"}, "angle_limits": {"enforced", "ignored"}, "dispatchable": {"counted", "uncounted"}, "shunts": {"as-load"}}
    if operator not in ("transport", "dc-switch", "dc") or any(model[key] not in known for key, known in words.items()):
        raise Refused("feature-unsupported")
    if operator == "transport" and model["angle_limits"] == "enforced":
        raise Refused("feature-unsupported")
    live = [bus for bus in grid.buses if bus.type in (1, 2, 3)]
    at = {bus.number: k for k, bus in enumerate(live)}
    running = [unit for unit in grid.units if unit.status == 1 and unit.bus in at]
    zero = Fraction(0)
    demand, supply, consumption = [zero] * len(live), [zero] * len(live), [zero] * len(live)
    for k, bus in enumerate(live):
        for amount in (bus.pd, bus.gs):
            if amount > 0:
                demand[k] += amount
            else:
                supply[k] -= amount
    for unit in running:
        if unit.pmax is not None and (unit.pmax < 0 or unit.pmin > unit.pmax):
            raise Refused("feature-unsupported")
        if unit.pmin < 0:
            if model["dispatchable"] == "uncounted":
                consumption[at[unit.bus]] -= unit.pmin
            elif unit.pmax == 0:
                demand[at[unit.bus]] -= unit.pmin
            else:
                raise Refused("feature-unsupported")
    everything = sum(demand) + sum(consumption)
    for unit in running:
        supply[at[unit.bus]] += everything if unit.pmax is None else unit.pmax
    lines = []
    for row, k in enumerate(grid.branches, start=1):
        if k.status == 1 and k.a in at and k.b in at:
            lines.append(_line(grid, row, k, at, operator, model, pi))
    premises = {{"transport": "transport-flow", "dc-switch": "dc-switching", "dc": "dc-power-flow"}[operator]}
    if any(unit.pmin > 0 for unit in running):
        premises.add("pmin-relaxed")
    if operator != "transport" and model["angle_limits"] == "ignored":
        premises.add("angle-limits-ignored")
    return Plain(tuple(at), tuple(demand), tuple(supply), tuple(consumption), tuple(lines), frozenset(premises))


def _line(grid: Grid, row: int, k: Branch, at: Mapping[int, int], operator: str, model: Mapping[str, str], pi: Fraction) -> Line:
    high = k.rate if k.rate > 0 else None
    low = None if high is None else -high
    if operator == "transport":
        return Line(row, at[k.a], at[k.b], low, high, Fraction(0), Fraction(0))
    if k.x == 0 or (k.x < 0 and operator == "dc"):
        raise Refused("susceptance-not-positive")
    if k.shift != 0 and operator == "dc":
        raise Refused("phase-shift-unsupported")
    b = grid.base / (k.x * (k.ratio if k.ratio != 0 else 1))
    if grid.angles and model["angle_limits"] == "enforced" and (k.amin, k.amax) != (0, 0):
        flows = {}
        if k.amin > -360:
            flows["below" if b > 0 else "above"] = b * (k.amin - k.shift) * pi / 180
        if k.amax < 360:
            flows["above" if b > 0 else "below"] = b * (k.amax - k.shift) * pi / 180
        if "below" in flows and (low is None or flows["below"] > low):
            low = flows["below"]
        if "above" in flows and (high is None or flows["above"] < high):
            high = flows["above"]
        if (low is not None and low >= 0) or (high is not None and high <= 0):
            raise Refused("angle-limit-excludes-zero")
    return Line(row, at[k.a], at[k.b], low, high, b, k.shift)


def within(free: Sequence[bool], costs: Sequence[int], budget: int) -> Iterator[tuple[int, ...]]:
    """Yield every set of free lines whose costs add up to at most the budget, small sets first."""
    lines = [k for k, may in enumerate(free) if may]
    for size in range(len(lines) + 1):
        for chosen in itertools.combinations(lines, size):
            if sum(costs[k] for k in chosen) <= budget:
                yield chosen


class Transport:
    """The least shed when flows obey balance and limits: the largest of demand - supply - surviving limits over all 2^n sets of buses."""

    def __init__(self, network: Plain) -> None:
        self.network = network
        ends = [value for line in network.lines for value in (line.low, line.high) if value is not None]
        self.unit = lcm(*(value.denominator for value in (*network.demand, *network.supply, *ends)))
        buses, lines = len(network.numbers), len(network.lines)
        size = sum(abs(int(value * self.unit)) for value in (*network.demand, *network.supply, *ends))
        exact = np.int64 if size < 2**53 else object
        self.void = -4 * size - 1
        self.base = np.zeros(1 << buses, exact)
        self.limit = np.zeros((1 << buses, lines), exact)
        self.open = np.zeros((1 << buses, lines), np.int64)
        for subset in range(1 << buses):
            inside = [bool(subset >> bus & 1) for bus in range(buses)]
            self.base[subset] = sum(int((d - g) * self.unit) for d, g, mine in zip(network.demand, network.supply, inside, strict=True) if mine)
            for k, line in enumerate(network.lines):
                if inside[line.a] != inside[line.b]:
                    limit = line.high if inside[line.b] else None if line.low is None else -line.low  # what can flow into the set
                    self.open[subset, k] = limit is None
                    self.limit[subset, k] = 0 if limit is None else int(limit * self.unit)

    def sheds(self, attacks: Sequence[Sequence[int]]) -> list[Fraction]:
        """Return the least shed after each attack, exact."""
        out = np.zeros((len(attacks), len(self.network.lines)), np.int64)
        for row, attack in enumerate(attacks):
            out[row, list(attack)] = 1
        left = 1 - out
        values = self.base[None] - left @ self.limit.T
        values[left @ self.open.T > 0] = self.void
        return [Fraction(int(value), self.unit) for value in values.max(axis=1)]

    def shed(self, attack: Sequence[int]) -> Fraction:
        """Return the least shed after one attack."""
        return self.sheds([attack])[0]

    def worst(self, free: Sequence[bool], costs: Sequence[int], budget: int) -> Fraction:
        """Return the largest least shed over all attacks within the budget."""
        return max(self.sheds(list(within(free, costs, budget))))

    def cut(self, attack: Sequence[int]) -> list[int]:
        """Return the side of each bus in a set that attains the shed."""
        values = [self._value(subset, attack) for subset in range(len(self.base))]
        best = values.index(max(values))
        return [best >> bus & 1 for bus in range(len(self.network.numbers))]

    def _value(self, subset: int, attack: Sequence[int]) -> int:
        left = [k for k in range(len(self.network.lines)) if k not in attack]
        return self.void if self.open[subset, left].any() else int(self.base[subset] - self.limit[subset, left].sum())


@dataclass(frozen=True, eq=False)
class Optimum:
    """An optimum of the DC model: the shed in MW, supply, demand served, angles, and the duals of the balances and of Ohm's law."""

    shed: float
    supply: np.ndarray
    served: np.ndarray
    theta: np.ndarray
    prices: np.ndarray
    ohm: np.ndarray


class Dc:
    """The least shed when flows also obey Ohm's law on all surviving lines, by scipy's HiGHS; one program an attack, remembered."""

    def __init__(self, network: Plain, consume: bool = False) -> None:
        self.network, self.consume = network, consume
        self.known: dict[frozenset[int], Optimum | None] = {}

    def solve(self, attack: Sequence[int]) -> Optimum | None:
        """Return the optimum after an attack; None where no operating point exists (phase shifts on closed cycles only)."""
        key = frozenset(attack)
        if key not in self.known:
            self.known[key] = self._solve(key)
        return self.known[key]

    def shed(self, attack: Sequence[int]) -> float:
        """Return the least shed in MW."""
        found = self.solve(attack)
        return float("inf") if found is None else found.shed

    def worst(self, free: Sequence[bool], costs: Sequence[int], budget: int) -> float:
        """Return the largest least shed over all attacks within the budget."""
        return max(self.shed(attack) for attack in within(free, costs, budget))

    def switched(self, attack: Sequence[int]) -> float:
        """Return the least shed of an operator who may open any lines."""
        left = [k for k in range(len(self.network.lines)) if k not in attack]
        return min(self.shed((*attack, *opened)) for size in range(len(left) + 1) for opened in itertools.combinations(left, size))

    def _solve(self, attack: frozenset[int]) -> Optimum | None:
        from scipy.optimize import linprog

        network = self.network
        left = [k for k in range(len(network.lines)) if k not in attack]
        buses, lines = len(network.numbers), len(left)
        if not buses:
            return Optimum(0.0, *(np.zeros(0),) * 5)
        # variables: flow [lines], angle in 1/100 rad [buses], served [buses], supply [buses]
        rows = np.zeros((buses + lines, lines + 3 * buses))
        right = np.zeros(buses + lines)
        bounds: list[tuple[float | None, float | None]] = []
        for j, k in enumerate(left):
            line = network.lines[k]
            bounds.append((None if line.low is None else float(line.low), None if line.high is None else float(line.high)))
            rows[line.a, j], rows[line.b, j] = -1.0, 1.0
            rows[buses + j, j] = float(100 / line.susceptance)
            rows[buses + j, lines + line.a] = -1.0
            rows[buses + j, lines + line.b] = 1.0
            right[buses + j] = -100 * float(line.shift * PI / 180)
        bounds += [(None, None)] * buses
        for bus in range(buses):
            rows[bus, lines + buses + bus], rows[bus, lines + 2 * buses + bus] = -1.0, 1.0
        bounds += [(0.0, float(value)) for value in network.demand]
        bounds += [(-float(c) if self.consume else 0.0, float(value)) for c, value in zip(network.consumption, network.supply, strict=True)]
        cost = np.zeros(lines + 3 * buses)
        cost[lines + buses : lines + 2 * buses] = -1.0
        found = linprog(cost, A_eq=rows, b_eq=right, bounds=bounds, method="highs-ds",
                        options={"presolve": False, "primal_feasibility_tolerance": 1e-9, "dual_feasibility_tolerance": 1e-9})
        if found.status == 2 and any(line.shift for line in network.lines):
            return None
        assert found.status == 0, (found.status, found.message)
        values, duals = found.x, found.eqlin.marginals
        ohm = np.zeros(len(network.lines))
        ohm[left] = duals[buses:]
        return Optimum(float(network.total) + found.fun, values[lines + 2 * buses :], values[lines + buses : lines + 2 * buses],
                       values[lines : lines + buses] / 100, duals[:buses], ohm)


def conventions(grid: Grid, operator: str, angles: str = "enforced") -> dict[str, str]:
    """Return a model that covers a grid: units that may produce or consume can't be counted, and transport has no angles."""
    both = any(unit.status and unit.pmin < 0 and unit.pmax != 0 for unit in grid.units)
    return {**MODEL, "angle_limits": "ignored" if operator == "transport" else angles, "dispatchable": "uncounted" if both else "counted"}


def served_exactly(network: Plain, attack: Sequence[int], theta: Sequence[Fraction], supply: Sequence[Fraction],
                   demand: Sequence[Fraction]) -> Fraction:
    """Return what the recourse formula says that the operator serves at least, in rationals: (sum d - R) / rho."""
    residual = [p - d for p, d in zip(supply, demand, strict=True)]
    flows = {}
    for k, line in enumerate(network.lines):
        if k not in attack:
            flows[k] = line.susceptance * (theta[line.a] - theta[line.b])
            residual[line.a] -= flows[k]
            residual[line.b] += flows[k]
    lost = sum((abs(value) for value in residual), Fraction(0))
    rho = Fraction(1)
    for k, flow in flows.items():
        low, high = network.lines[k].low, network.lines[k].high
        if high is not None:
            rho = max(rho, (flow + lost) / high)
        if low is not None:
            rho = max(rho, (flow - lost) / low)
    for value, most in (*zip(supply, network.supply, strict=True), *zip(demand, network.demand, strict=True)):
        if value > 0:
            rho = max(rho, value / most)
    return (sum(demand, Fraction(0)) - lost) / rho


def random_grid(rng: np.random.Generator, dc: bool, buses: tuple[int, int] = (2, 6), lines: tuple[int, int] = (1, 14), odd: float = 1.0) -> Grid:
    """Return a random grid; with `dc`, one that the DC model covers. `odd` scales how often its features are unusual."""

    def often(chance: float) -> bool:
        return bool(rng.random() < chance * odd)

    def amount(low: int, high: int) -> Fraction:
        return Fraction(int(rng.integers(low, high)), int(rng.choice([1, 1, 2, 4, 10])))

    count = int(rng.integers(buses[0], buses[1] + 1))
    numbers = [int(v) for v in rng.choice(np.arange(1, 60), count, replace=False)]
    made = Grid([Bus(number, amount(0, 90) if rng.random() < 0.7 else Fraction(0), type=int(rng.choice([1, 2, 3]))) for number in numbers], [], [])
    for bus in made.buses:
        if often(0.1):
            bus.pd = -bus.pd
        if often(0.15):
            bus.gs = amount(-9, 10)
        if often(0.06):
            bus.type = 4
    for _ in range(int(rng.integers(1, count + 2))):
        unit = Unit(int(rng.choice(numbers)), amount(10, 160))
        if often(0.06):
            unit.pmax = None
        if often(0.15):
            unit.pmin = Fraction(5) if unit.pmax is None else unit.pmax / 2
        if often(0.1):
            unit.pmax, unit.pmin = Fraction(0), -amount(1, 30)
        if often(0.04):
            unit.pmin = -amount(1, 30)  # may produce or consume
        if often(0.1):
            unit.status = 0
        made.units.append(unit)
    for _ in range(int(rng.integers(lines[0], lines[1] + 1))):
        a, b = (int(v) for v in rng.choice(numbers, 2, replace=False))
        if made.branches and often(0.2):
            a, b = made.branches[-1].b, made.branches[-1].a  # a parallel circuit, the other way round
        branch = Branch(a, b, amount(2, 70), Fraction(int(rng.integers(1, 60)), 100))
        if often(0.12):
            branch.rate = Fraction(0)
        if often(0.1):
            branch.status = 0
        if often(0.2):
            branch.ratio = Fraction(int(rng.integers(90, 111)), 100)
        if often(0.3):
            branch.amin, branch.amax = Fraction(-int(rng.integers(1, 40))), Fraction(int(rng.integers(1, 40)))
        if often(0.05):
            branch.amin, branch.amax = Fraction(0), Fraction(0)
        if not dc:
            if often(0.1):
                branch.x = -branch.x
            if often(0.1):
                branch.shift = amount(-20, 20)
        made.branches.append(branch)
    if all(bus.type == 4 for bus in made.buses):
        made.buses[0].type = 3
    if dc and any(line.shift or line.x <= 0 for line in made.branches):
        raise ValueError("the DC model covers positive reactances and no shifts")
    return made


@functools.lru_cache(maxsize=4096)
def _oracles(text: str, operator: str, model: tuple[tuple[str, str], ...], consume: bool) -> tuple[Plain, Transport, Dc]:
    network = plain(_GRIDS[text], operator, dict(model))
    return network, Transport(network), Dc(network, consume)


_GRIDS: dict[str, Grid] = {}


def oracles(grid: Grid, operator: str, model: Mapping[str, str], consume: bool = False) -> tuple[Plain, Transport, Dc]:
    """Return the network of a grid and its oracles, remembered by the text of the file; raises Refused."""
    text = grid.text()
    _GRIDS.setdefault(text, grid.copy())
    return _oracles(text, operator, tuple(sorted(model.items())), consume)
