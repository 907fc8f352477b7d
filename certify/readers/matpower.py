# SPDX-License-Identifier: Apache-2.0
"""MATPOWER case files, version 2: text to a case with exact decimals, without evaluating anything.

Guarantee: every number is the rational that its decimal text denotes, and the file assigns literal matrices and nothing else: code that would
change them, a second assignment, and whatever is not in the grammar below are refused with a `case-` code and the line.
Grammar: `function mpc = NAME`, then `mpc.version = '2'`, `mpc.baseMVA = NUMBER`, `mpc.bus|gen|branch|gencost|areas = [ ROWS ];`, and cells of
quoted strings for a few names that carry no physics. Numbers in a row are separated by blanks, tabs or commas, rows by `;` or line ends, `...`
continues a row. A line ends at LF or CRLF only; comments run from `%` to the end of the line and may hold any byte that is no control character.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import inf

from certify.errors import Declined
from certify.limits import Limits

_CONTROL = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f]|\r(?!\n)")
_FUNCTION = re.compile(rb"function[ \t]+mpc[ \t]*=[ \t]*[A-Za-z]\w*[ \t]*;?")
_ASSIGNMENT = re.compile(rb"mpc\.([A-Za-z]\w*)[ \t]*=[ \t]*(.*)", re.DOTALL)
_LITERAL = re.compile(rb"[+-]?(\d+(\.\d*)?|\.\d+)([eEdD][+-]?(\d{1,3}))?")
_INFINITE = re.compile(rb"[+-]?[Ii]nf")
_TOKEN = re.compile(rb"[ \t]+|[,;\]]|\.\.\.|[^ \t,;\]]+")
_CELL = re.compile(rb"[ \t,;]+|'(?:[^']|'')*'|\}|%.*")
_COLUMNS = {"bus": 13, "gen": 10, "branch": 11, "gencost": 0, "areas": 0}
_NAMES = ("areas", "bus_name", "genfuel", "gentype")
_MOST_ROWS, _MOST_DIGITS, _MOST_EXPONENT = 10**5, 400, 400
_FIX = "write the case with plain matrices: load it in MATPOWER and save it with savecase"

_LEAST = Fraction(1, 10**50)  # so that products of a few numbers stay within binary64
_SAVE = "save the case in version 2 with MATPOWER's savecase"

Number = Fraction | float
"""A rational, or an infinity as a float; no other float occurs."""


@dataclass(frozen=True)
class Bus:
    """A row of mpc.bus: MW, MVAr and per unit, exact."""

    number: int
    type: int
    pd: Fraction
    qd: Fraction
    gs: Fraction
    bs: Fraction
    vmax: Fraction
    vmin: Fraction


@dataclass(frozen=True)
class Unit:
    """A row of mpc.gen: limits in MW and MVAr, which may be infinite."""

    bus: int
    in_service: bool
    pmax: Number
    pmin: Number
    qmax: Number
    qmin: Number


@dataclass(frozen=True)
class Branch:
    """A row of mpc.branch: impedances per unit, `rate` in MVA (0: unlimited), `ratio` (0: a line), angles in degrees."""

    from_bus: int
    to_bus: int
    in_service: bool
    r: Fraction
    x: Fraction
    b: Fraction
    rate: Fraction
    ratio: Fraction
    shift: Fraction
    angle_min: Fraction
    angle_max: Fraction


@dataclass(frozen=True)
class Case:
    """A case file: `units` and `branches` in the order of the file, so that row k of a matrix is entry k - 1."""

    base_mva: Fraction
    buses: tuple[Bus, ...]
    units: tuple[Unit, ...]
    branches: tuple[Branch, ...]


_Row = tuple[int, tuple[bytes, ...]]  # the line on which it starts, and its literals


def read_case(data: bytes, limits: Limits) -> Case:
    """Return the case in the bytes of a MATPOWER file; raises Declined with a `case-` code or `feature-unsupported`."""
    limits.within(100 * len(data), "memory", "memory for reading the case in bytes")
    limits.spend(1000 * len(data), "reading the case")
    if bad := _CONTROL.search(data):
        raise _refusal("case-code", "a control character, or a line that ends with a lone carriage return", data.count(b"\n", 0, bad.start()) + 1)
    matrices, base, unknown = _statements(data, limits)
    for name in ("bus", "gen", "branch"):
        if not matrices.get(name):
            raise Declined("case-empty", f"mpc.{name} is missing or empty", fix="give a transmission case with buses, units and branches")
    if unknown:
        raise _refusal("feature-unsupported", f"mpc.{unknown[0][1]} is not read", unknown[0][0], "remove it if it does not matter for power flow")
    if base is None or base <= 0:
        raise Declined("case-reference", "mpc.baseMVA is missing or not above 0", fix="give the base power in MVA")
    buses = tuple(_bus(row) for row in matrices["bus"])
    known = {bus.number for bus in buses}
    if len(known) != len(buses):
        raise Declined("case-reference", "a bus number occurs twice in mpc.bus", fix="give every bus its own number")
    return Case(base, buses, tuple(_unit(row, known) for row in matrices["gen"]), tuple(_branch(row, known) for row in matrices["branch"]))


def _statements(data: bytes, limits: Limits) -> tuple[dict[str, list[_Row]], Fraction | None, list[tuple[int, str]]]:
    """Return the matrices, the base power, and the names with lines of matrices that are not known."""
    matrices: dict[str, list[_Row]] = {}
    base, unknown, seen = None, [], set[str]()
    lines = enumerate((line.removesuffix(b"\r") for line in data.split(b"\n")), start=1)
    for number, line in lines:
        code = _code(line, number)
        if not code:
            continue
        if not seen:
            if not _FUNCTION.fullmatch(code):
                raise _refusal("case-version", f"it starts with {_shown(code)}, not `function mpc = NAME`: no case file of version 2", number, _SAVE)
            seen.add("function")
            continue
        found = _ASSIGNMENT.fullmatch(code)
        if found is None:
            raise _refusal("case-code", f"{_shown(code)} is code, not the assignment of a matrix", number)
        name, rest = found.group(1).decode(), found.group(2)
        if name in seen:
            raise _refusal("case-twice", f"mpc.{name} is assigned a second time", number, "keep one of the two")
        seen.add(name)
        if rest[:1] == b"{" and name in _NAMES:
            _cell(line[line.index(b"{") + 1 :], number, lines)
        elif rest[:1] == b"[":
            matrices[name] = _matrix(rest[1:], number, lines, name, limits)
            if name not in _COLUMNS and name not in _NAMES:
                unknown.append((number, name))
        elif name in _COLUMNS:
            raise _refusal("case-code", f"mpc.{name} is not assigned a matrix of numbers", number)
        elif name == "version":
            if not re.fullmatch(rb"'2'[ \t]*;?", rest):
                raise _refusal("case-version", f"the version is {_shown(rest)}, not '2'", number, _SAVE)
        elif name == "baseMVA":
            if not rest.endswith(b";"):
                raise _refusal("case-code", "mpc.baseMVA does not end with `;`: the file may be cut off", number, "add the ;")
            base = _finite((number, (rest.removesuffix(b";").rstrip(b" \t"),)), 0)
        else:
            unknown.append((number, name))
    if "version" not in seen:
        raise Declined("case-version", "mpc.version is missing", fix=_SAVE)
    return matrices, base, unknown


def _code(line: bytes, number: int) -> bytes:
    """Return a line without comment and surrounding blanks; raises Declined for a block comment."""
    code, percent, comment = line.partition(b"%")
    if percent and comment[:1] in (b"{", b"}"):
        raise _refusal("case-block-comment", "block comments are not read", number, "remove the block comment, or start each line with %")
    return code.strip(b" \t")


def _matrix(code: bytes, number: int, lines: Iterator[tuple[int, bytes]], name: str, limits: Limits) -> list[_Row]:
    """Return the rows of a matrix, from behind its bracket to `];`; all are equally long."""
    rows: list[_Row] = []

    def close(start: int, row: list[bytes]) -> list[bytes]:
        limits.spend(5000 * len(row), "reading the case")
        if len(rows) == _MOST_ROWS:
            raise Declined("limit-reached", f"mpc.{name} has more than {_MOST_ROWS} rows", fix="give a smaller case")
        rows.append((start, tuple(row)))
        return []

    row: list[bytes] = []
    start = number
    while True:
        comma = continued = False
        for found in _TOKEN.finditer(code):
            token = found.group()
            if token == b"...":
                continued = True
                break
            if token in (b",", b";", b"]"):
                if comma or (token != b"]" and not row):
                    raise _refusal("case-literal", f"a {token.decode()!r} without a number before it", number)
                comma = token == b","
            elif token.strip(b" \t"):
                _number(token, number)
                start = start if row else number
                row.append(token)
                comma = False
            if token in (b";", b"]") and row:
                row = close(start, row)
            if token == b"]":
                if not re.fullmatch(rb"[ \t]*;[ \t]*", code[found.end():]):
                    raise _refusal("case-code", f"mpc.{name} does not end with `];`", number)
                return _checked(rows, name)
        if comma and not continued:
            raise _refusal("case-literal", "a line ends with a comma", number)
        if row and not continued:
            row = close(start, row)
        number, line = next(lines, (0, b""))
        if not number:
            raise Declined("case-code", f"the file ends inside mpc.{name}: it is cut off", fix="fetch the file again")
        code = _code(line, number)


def _checked(rows: list[_Row], name: str) -> list[_Row]:
    least = _COLUMNS.get(name, 0)
    for number, row in rows:
        if len(row) != len(rows[0][1]) or len(row) < least or (name == "branch" and len(row) == 12):
            raise _refusal("case-row", f"a row of mpc.{name} has {len(row)} columns", number, f"give each row the same number, {least or 1} or more")
    return rows


def _cell(code: bytes, number: int, lines: Iterator[tuple[int, bytes]]) -> None:
    """Read over a cell array of quoted strings, up to `};`."""
    while True:
        position = 0
        while position < len(code):
            found = _CELL.match(code, position)
            if found is None or found.group()[:2] in (b"%{", b"%}"):
                raise _refusal("case-code", f"{_shown(code[position:])} in a cell of names", number)
            position = found.end()
            if found.group() == b"}":
                if not re.fullmatch(rb"[ \t]*;[ \t]*(%.*)?", code[position:]):
                    raise _refusal("case-code", "a cell of names does not end with `};`", number)
                return
        number, code = next(lines, (0, b""))
        if not number:
            raise Declined("case-code", "the file ends inside a cell of names: it is cut off", fix="fetch the file again")


def _number(token: bytes, line: int) -> Number:
    """Return the number that a literal denotes."""
    if _INFINITE.fullmatch(token):
        return -inf if token[:1] == b"-" else inf
    found = _LITERAL.fullmatch(token)
    if found is None or len(token) > _MOST_DIGITS or int(found.group(4) or 0) > _MOST_EXPONENT:
        raise _refusal("case-literal", f"{_shown(token)} is not a decimal number, or a very long one", line, "write numbers as 0.5 or 1e-3")
    value = Fraction(token.decode().lower().replace("d", "e"))
    if value and not _LEAST <= abs(value) <= 1 / _LEAST:
        raise _refusal("case-literal", f"{_shown(token)} is below 1e-50 or above 1e50 in size", line, "correct the number, or write 0")
    return value


def _finite(row: _Row, index: int) -> Fraction:
    value = _number(row[1][index], row[0])
    if isinstance(value, float):
        raise _refusal("case-literal", f"column {index + 1} is infinite", row[0], "only limits of units may be infinite")
    return value


def _whole(row: _Row, index: int, what: str) -> int:
    value = _finite(row, index)
    if value.denominator != 1:
        raise _refusal("case-row", f"the {what} {float(value):g} is not a whole number", row[0], "give a whole number")
    return int(value)


def _status(row: _Row, index: int) -> bool:
    value = _whole(row, index, "status")
    if value not in (0, 1):
        raise _refusal("case-row", f"the status {value} is not 0 or 1", row[0], "give 1 for in service, 0 for out of service")
    return value == 1


def _require(held: bool, row: _Row, what: str) -> None:
    if not held:
        raise _refusal("case-reference", what, row[0], "correct the row")


def _bus(row: _Row) -> Bus:
    bus = Bus(_whole(row, 0, "bus number"), _whole(row, 1, "bus type"), *(_finite(row, index) for index in (2, 3, 4, 5, 11, 12)))
    _require(bus.number > 0 and 1 <= bus.type <= 4, row, "a bus number is not above 0, or a bus type not 1 to 4")
    _require(0 <= bus.vmin <= bus.vmax, row, "the voltage limits are negative or swapped")
    return bus


def _unit(row: _Row, known: set[int]) -> Unit:
    qmax, qmin, pmax, pmin = (_number(row[1][index], row[0]) for index in (3, 4, 8, 9))
    for index in (1, 2, 5, 6):
        _finite(row, index)
    unit = Unit(_whole(row, 0, "bus number"), _status(row, 7), pmax, pmin, qmax, qmin)
    _require(unit.bus in known, row, f"the bus {unit.bus} of a unit is not in mpc.bus")
    _require(not unit.in_service or qmin <= qmax, row, "Qmin is above Qmax")
    return unit


def _branch(row: _Row, known: set[int]) -> Branch:
    first, second = _whole(row, 0, "bus number"), _whole(row, 1, "bus number")
    _require({first, second} <= known, row, f"the branch from bus {first} to bus {second} has an end that is not in mpc.bus")
    _require(first != second, row, f"a branch from bus {first} to itself")
    angles = (_finite(row, 11), _finite(row, 12)) if len(row[1]) > 11 else (Fraction(0), Fraction(0))
    r, x, b, rate, ratio, shift = (_finite(row, index) for index in (2, 3, 4, 5, 8, 9))
    _require(rate >= 0 and ratio >= 0, row, "rateA or the ratio is negative")
    return Branch(first, second, _status(row, 10), r, x, b, rate, ratio, shift, *angles)


def _refusal(code: str, what: str, line: int, fix: str = _FIX) -> Declined:
    return Declined(code, what, where=f"line {line}", fix=fix)


def _shown(text: bytes) -> str:
    return repr(text[:40])[1:]
