# SPDX-License-Identifier: Apache-2.0
"""Networks of pandapower, as `pandapower.to_json` writes them, to the tables of a case. The JSON is read as data: no class that it names is made.

Rows keep their order whether they are in service or not: branches are the lines, then the transformers, then the impedances; units the
generators, then the external grids, then the static generators and negative loads. Buses that closed switches join become one. Elements that the
tables of a case can't hold are refused by name while they are in service. Values are computed in binary64 and written with
twelve digits; ratings, which come from a current and a root of 3, with six.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from math import isfinite, pi, sqrt
from typing import Any

from certify.errors import Declined, UsageError
from certify_problems.grid.case_arrays import load_json
from certify_problems.grid.case_tables import Rows, Tables, literal

_READ = frozenset({"bus", "line", "trafo", "impedance", "gen", "ext_grid", "sgen", "load", "shunt", "switch"})
_NEEDED = frozenset({"bus", "line", "sn_mva"})
Row = Mapping[str, Any]


class _Net:
    """The frames of a network as rows by column, and the buses that are joined."""

    def __init__(self, content: Mapping[str, Any]) -> None:
        self.frames = {name: _rows(name, value) for name, value in content.items() if isinstance(value, dict) and value.get("_class") == "DataFrame"}
        self.base = _above(_float(content.get("sn_mva"), "net.sn_mva"), "net.sn_mva")
        self.hertz = _float(content.get("f_hz"), "net.f_hz", 50.0)
        self.buses = dict(self.frames.get("bus", []))
        self.joined = {bus: bus for bus in self.buses}

    def of(self, name: str) -> list[tuple[int, Row]]:
        """Return (index, row) of a frame."""
        return self.frames.get(name, [])

    def root(self, bus: int) -> int:
        """Return the bus that stands for all that closed switches join with one."""
        while self.joined[bus] != bus:
            bus = self.joined[bus]
        return bus

    def at(self, row: Row, column: str, where: str) -> int:
        """Return the bus in a column, as it is joined; raises Declined `case-reference`."""
        bus = row.get(column)
        if not isinstance(bus, str) or not bus.isdecimal() or int(bus) not in self.joined:
            raise Declined("case-reference", f"the bus {bus} is not in net.bus", where=where, fix="correct the element")
        return self.root(int(bus))

    def kv(self, row: Row, column: str, where: str) -> float:
        """Return the rated voltage of the bus in a column."""
        self.at(row, column, where)
        return _positive(self.buses[int(row[column])], "vn_kv", f"net.bus {row[column]}")


def from_pandapower(content: Mapping[str, Any]) -> Tables:
    """Return the tables of a network; raises Declined for what a case can't hold."""
    inner = content.get("_object")
    if not isinstance(inner, dict) or not _NEEDED <= inner.keys():
        raise UsageError("file-unreadable", "it is no network of pandapower.to_json", fix="write it again with pandapower.to_json(net, FILE)")
    net = _Net(inner)
    said = [f"net.{name} was dropped: it holds nothing that a case has" for name in ("controller", "group") if net.of(name)]
    for name, rows in net.frames.items():
        if name not in _READ and not name.startswith("res_") and any(_on(row) for _, row in rows if "in_service" in row):
            raise Declined("feature-unsupported", f"net.{name} holds elements in service, which can't be converted", where=f"net.{name}",
                           fix="model them with loads, generators, lines and transformers, or take them out of service")
    open_ends = _switches(net, said)
    demand, units = _injections(net, said)
    shunts = _shunts(net)
    branches = [*_lines(net, open_ends, said), *_transformers(net, open_ends, said), *_impedances(net)]
    counts = [len(net.of(name)) for name in ("line", "trafo", "impedance")]
    said.append("rows of branch: " + ", ".join(f"{sum(counts[:k]) + 1} to {sum(counts[: k + 1])} are net.{name}"
                                               for k, name in enumerate(("line", "trafo", "impedance")) if counts[k]))
    said.append("bus k of pandapower has the number k + 1")
    slack = {net.at(row, "bus", f"net.ext_grid {k}") for k, row in net.of("ext_grid") if _on(row)}
    buses = []
    for bus, row in net.buses.items():
        if net.root(bus) != bus:
            continue
        kind = 4 if not _on(row) else 3 if bus in slack else 2 if str(bus + 1) in {unit[0] for unit in units} else 1
        (p, q), (gs, bs) = demand[bus], shunts[bus]
        buses.append([str(bus + 1), str(kind), *map(_shown, (p, q, gs, bs)), "1", "1", "0", _shown(_value(row, "vn_kv", f"net.bus {bus}")), "1",
                      _shown(_value(row, "max_vm_pu", "", 1.1)), _shown(_value(row, "min_vm_pu", "", 0.9))])
    return Tables(_shown(net.base), {"bus": buses, "gen": units, "branch": branches}, (), (), said)


def _rows(name: str, frame: Mapping[str, Any]) -> list[tuple[int, Row]]:
    """Return (index, row) of a frame that was written with orient `split`."""
    text = frame.get("_object")
    found = load_json(text.encode()) if isinstance(text, str) else text
    try:
        columns, index, data = found["columns"], found["index"], found["data"]
        rows = [(int(k), dict(zip(columns, row, strict=True))) for k, row in zip(index, data, strict=True)] if name in _READ else [
            (at, dict(zip(columns, row, strict=True))) for at, row in enumerate(data)]
    except (TypeError, KeyError, ValueError):
        raise UsageError("file-unreadable", f"net.{name} is no table as pandapower.to_json writes them",
                         fix="write it again with pandapower.to_json") from None
    return rows


def _switches(net: _Net, said: list[str]) -> set[tuple[str, int]]:
    """Join buses by closed switches, and return the lines (l) and transformers (t) that an open switch takes out."""
    out: set[tuple[str, int]] = set()
    for k, row in net.of("switch"):
        closed, kind, where = row.get("closed") is True, row.get("et"), f"net.switch {k}"
        if kind == "b" and closed:
            ends = [net.at(row, column, where) for column in ("bus", "element")]
            if _value(row, "z_ohm", where, 0.0) > 0:
                raise Declined("feature-unsupported", "a switch between buses with an impedance", where=where,
                               fix="set its z_ohm to 0, or model it as a line")
            if all(_on(net.buses[int(row[column])]) for column in ("bus", "element")):
                net.joined[max(ends)] = min(ends)
        elif not closed and kind in ("l", "t"):
            out.add((kind, int(_value(row, "element", where))))
    fused = sum(net.root(bus) != bus for bus in net.buses)
    said += [f"{fused} buses were joined with others by closed switches"] if fused else []
    said += [f"{len(out)} lines or transformers with an open switch are out of service"] if out else []
    return out


def _injections(net: _Net, said: list[str]) -> tuple[defaultdict[int, tuple[float, float]], Rows]:
    """Return demand (MW, MVAr) by bus, and units."""
    demand: defaultdict[int, tuple[float, float]] = defaultdict(lambda: (0.0, 0.0))
    units: Rows = []
    late: Rows = []
    bent = endless = 0
    for name in ("load", "sgen"):
        for k, row in net.of(name):
            where = f"net.{name} {k}"
            bus, factor = net.at(row, "bus", where), _value(row, "scaling", where, 1.0)
            p, q = (_value(row, column, where) * factor * (1 if name == "load" else -1) for column in ("p_mw", "q_mvar"))
            bent += any(_value(row, f"const_{kind}_percent", where, 0.0) for kind in ("z", "i", "z_p", "i_p"))
            if p < 0:
                late.append(_unit(bus, _on(row), -p, 0.0))
            elif _on(row):
                demand[bus] = (demand[bus][0] + p, demand[bus][1] + q)
    for k, row in net.of("gen"):
        where = f"net.gen {k}"
        most = _value(row, "max_p_mw", where)
        units.append(_unit(net.at(row, "bus", where), _on(row), most, _value(row, "min_p_mw", where, 0.0)))
    for k, row in net.of("ext_grid"):
        where = f"net.ext_grid {k}"
        most = _value(row, "max_p_mw", where, float("inf"))
        endless += not isfinite(most)
        units.append(_unit(net.at(row, "bus", where), _on(row), most, _value(row, "min_p_mw", where, 0.0)))
    said += [f"{endless} external grids without max_p_mw can supply any amount"] if endless else []
    said += [f"{bent} loads that depend on voltage are taken at rated voltage"] if bent else []
    said += [f"{len(late)} static generators or negative loads are units from 0 to their p_mw"] if late else []
    return demand, units + late


def _unit(bus: int, on: bool, most: float, least: float) -> list[str]:
    return [str(bus + 1), "0", "0", "0", "0", "1", "0", str(int(on)), _shown(most), _shown(least)]


def _shunts(net: _Net) -> defaultdict[int, tuple[float, float]]:
    """Return Gs and Bs in MW and MVAr at rated voltage, by bus."""
    found: defaultdict[int, tuple[float, float]] = defaultdict(lambda: (0.0, 0.0))
    for k, row in net.of("shunt"):
        where = f"net.shunt {k}"
        bus = net.at(row, "bus", where)
        if _on(row):
            kv = net.kv(row, "bus", where)
            factor = _value(row, "step", where, 1.0) * (kv / _positive(row, "vn_kv", where, kv)) ** 2
            found[bus] = (found[bus][0] + _value(row, "p_mw", where) * factor, found[bus][1] - _value(row, "q_mvar", where) * factor)
    return found


def _lines(net: _Net, open_ends: set[tuple[str, int]], said: list[str]) -> Iterator[list[str]]:
    several = endless = 0
    for k, row in net.of("line"):
        where = f"net.line {k}"
        ends, kv = [net.at(row, column, where) for column in ("from_bus", "to_bus")], net.kv(row, "from_bus", where)
        parallel, length = _positive(row, "parallel", where, 1.0), _value(row, "length_km", where)
        unit = kv**2 / net.base
        r, x = (_value(row, column, where) * length / parallel / unit for column in ("r_ohm_per_km", "x_ohm_per_km"))
        current = _value(row, "max_i_ka", where, float("inf")) * _value(row, "df", where, 1.0) * parallel
        rate = sqrt(3) * kv * current * _value(row, "max_loading_percent", where, 100.0) / 100
        charging = 2 * pi * net.hertz * _value(row, "c_nf_per_km", where, 0.0) * 1e-9 * length * parallel * unit
        several, endless = several + (parallel > 1), endless + (not isfinite(rate))
        yield _branch(ends, (r, x, charging), rate, 0.0, 0.0, _on(row) and ("l", k) not in open_ends, where)
    said += [f"{several} lines of several parallel systems are one branch each"] if several else []
    said += [f"{endless} lines without max_i_ka are without a rating"] if endless else []


def _transformers(net: _Net, open_ends: set[tuple[str, int]], said: list[str]) -> Iterator[list[str]]:
    shifted = lossy = 0
    for k, row in net.of("trafo"):
        where = f"net.trafo {k}"
        ends = [net.at(row, column, where) for column in ("hv_bus", "lv_bus")]
        hv, lv = net.kv(row, "hv_bus", where), net.kv(row, "lv_bus", where)
        high, low = (_positive(row, column, where) for column in ("vn_hv_kv", "vn_lv_kv"))
        steps = _value(row, "tap_pos", where, 0.0) - _value(row, "tap_neutral", where, 0.0)
        if steps and row.get("tap_side") in ("hv", "lv"):
            turns = row.get("tap_phase_shifter") is True or _value(row, "tap_step_degree", where, 0.0) != 0
            if turns or row.get("tap_changer_type") not in (None, "None", "Ratio"):
                raise Declined("feature-unsupported", "a tap changer that shifts the phase", where=where, fix="set it to its neutral position")
            factor = 1 + steps * _value(row, "tap_step_percent", where, 0.0) / 100
            high, low = (high * factor, low) if row["tap_side"] == "hv" else (high, low * factor)
        parallel, power = _positive(row, "parallel", where, 1.0), _positive(row, "sn_mva", where)
        unit = (low / lv) ** 2 * net.base / power / 100 / parallel
        z, r = _value(row, "vk_percent", where) * unit, _value(row, "vkr_percent", where) * unit
        if abs(z) < abs(r):
            raise Declined("case-reference", "vk_percent is below vkr_percent", where=where, fix="correct the transformer")
        shift = _value(row, "shift_degree", where, 0.0)
        shifted, lossy = shifted + (shift != 0), lossy + any(_value(row, column, where, 0.0) for column in ("i0_percent", "pfe_kw"))
        rate = power * _value(row, "df", where, 1.0) * parallel * _value(row, "max_loading_percent", where, 100.0) / 100
        ratio = _above(high, where) / _above(low, where) * lv / hv
        yield _branch(ends, (r, sqrt(z * z - r * r), 0.0), rate, ratio, shift, _on(row) and ("t", k) not in open_ends, where)
    said += [f"{shifted} transformers shift the phase (shift_degree): operator dc refuses them"] if shifted else []
    said += [f"iron losses of {lossy} transformers were dropped"] if lossy else []


def _impedances(net: _Net) -> Iterator[list[str]]:
    for k, row in net.of("impedance"):
        where = f"net.impedance {k}"
        factor = net.base / _positive(row, "sn_mva", where)
        r, x = (_value(row, f"{part}ft_pu", where) * factor for part in ("r", "x"))
        if (r, x) != tuple(_value(row, f"{part}tf_pu", where) * factor for part in ("r", "x")):
            raise Declined("feature-unsupported", "an impedance that differs by direction", where=where, fix="give it one value for both directions")
        yield _branch([net.at(row, column, where) for column in ("from_bus", "to_bus")], (r, x, 0.0), float("inf"), 0.0, 0.0, _on(row), where)


def _branch(ends: list[int], impedance: tuple[float, float, float], rate: float, ratio: float, shift: float, on: bool, where: str) -> list[str]:
    """Return a row of branch; `impedance` is r, x and b per unit."""
    if ends[0] == ends[1]:
        raise Declined("case-reference", "both ends are one bus, joined by closed switches", where=where, fix="delete the element, or open a switch")
    first, second = (str(end + 1) for end in ends)
    return [first, second, *map(_shown, impedance), _shown(rate, 6), "0", "0", _shown(ratio), _shown(shift), str(int(on)), "0", "0"]


def _on(row: Row) -> bool:
    return row.get("in_service") is True


def _value(row: Row, column: str, where: str, otherwise: float | None = None) -> float:
    """Return a number of a row, or what stands for one that is missing; raises Declined `case-literal` where nothing does."""
    return _float(row.get(column), f"{where}: {column}", otherwise)


def _positive(row: Row, column: str, where: str, otherwise: float | None = None) -> float:
    return _above(_value(row, column, where, otherwise), f"{where}: {column}")


def _above(value: float, where: str) -> float:
    """Return a number above 0; raises Declined `case-reference` for any other."""
    if not 0 < value < float("inf"):
        raise Declined("case-reference", f"{value:g} is not a number above 0", where=where, fix="correct the element")
    return value


def _float(entry: Any, where: str, otherwise: float | None = None) -> float:
    try:
        value = float(entry) if isinstance(entry, str) else float("nan")
    except ValueError:
        value = float("nan")
    if value != value:
        if otherwise is None:
            raise Declined("case-literal", "a number is missing", where=where, fix="give it, for example a limit max_p_mw of each generator")
        return otherwise
    return value


def _shown(value: float, digits: int = 12) -> str:
    """Return a number with so many digits; raises Declined `case-literal` for what infinite numbers made."""
    if value != value:
        raise Declined("case-literal", "an infinite number where a finite one is needed", fix="correct the network")
    return ("inf" if value > 0 else "-inf") if not isfinite(value) else literal(float(f"{value:.{digits}g}"))
