# SPDX-License-Identifier: Apache-2.0
"""The tables of a case on their way to a canonical file: what no claim reads is dropped and said, what may matter is refused by name.

Guarantee: `canonical` returns bytes that the strict reader accepts, with every row of bus, gen and branch of the input, in its order; each number is
written as it came, but for those that are named in what it says.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from certify.errors import CertifyError, Declined
from certify.limits import Limits
from certify.readers.matpower import read_case

Rows = list[list[str]]
_COLUMNS = {"bus": 13, "gen": 10, "branch": 13}
_LEAST = {"bus": 13, "gen": 10, "branch": 11}
_HEADS = {"bus": "bus\ttype\tPd\tQd\tGs\tBs\tarea\tVm\tVa\tbaseKV\tzone\tVmax\tVmin", "gen": "bus\tPg\tQg\tQmax\tQmin\tVg\tmBase\tstatus\tPmax\tPmin",
          "branch": "fbus\ttbus\tr\tx\tb\trateA\trateB\trateC\tratio\tangle\tstatus\tangmin\tangmax"}
_UNREAD = {"bus": (6, 7, 8, 9, 10), "gen": (1, 2, 5, 6), "branch": (6, 7)}  # no claim depends on these columns
_STATUS = {"gen": 7, "branch": 10}
_WHOLE = {"bus": (0, 1), "gen": (0,), "branch": (0, 1)}
_HARMLESS = frozenset({"gencost", "areas", "bus_name", "branch_name", "gen_name", "genfuel", "gentype", "genname", "zone_name", "dclinecost", "name"})
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eEdD][+-]?\d{1,3})?", re.ASCII)
_ENDLESS = re.compile(r"([+-]?)(?:inf|Inf|Infinity)|([+-]?)(?:nan|NaN)")
_RATE, _ANGLES = 5, (11, 12)
_UNLIMITED = {"inf": "360", "-inf": "-360"}


@dataclass
class Tables:
    """What was read: numbers as decimal texts (`inf`, `-inf`, `nan` for what is none), and fields that are no matrix by name."""

    base: str
    matrices: dict[str, Rows]
    others: Sequence[str] = ()
    comments: Sequence[str] = ()
    said: list[str] = field(default_factory=list)


def literal(value: float) -> str:
    """Return a binary64 as the shortest decimal that gives it back."""
    return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)


def number_text(text: str) -> str | None:
    """Return a number as Python and the strict reader know it; None for what is none."""
    if _NUMBER.fullmatch(text):
        return text.replace("d", "e").replace("D", "e")
    endless = _ENDLESS.fullmatch(text)
    if endless is None:
        return None
    return "nan" if endless.group(2) is not None else "-inf" if endless.group(1) == "-" else "inf"


def canonical(tables: Tables, name: str) -> tuple[bytes, list[str]]:
    """Return the bytes of the case and what was dropped or changed; raises Declined with the code of what is refused."""
    said = list(tables.said)
    _drop(tables, said)
    kept = {key: _kept(key, tables.matrices.get(key, []), said) for key in _COLUMNS}
    word = re.sub(r"\W", "_", name, flags=re.ASCII)
    lines = [f"function mpc = {word if word[:1].isalpha() else f'case_{word}'}", *(f"% {comment}".rstrip() for comment in tables.comments),
             "mpc.version = '2';", f"mpc.baseMVA = {tables.base};"]
    for key, rows in kept.items():
        lines += ["", f"%\t{_HEADS[key]}", f"mpc.{key} = [", *("\t" + "\t".join(row) + ";" for row in rows), "];"]
    data = ("\n".join(lines) + "\n").encode()
    try:
        case = read_case(data, Limits())
    except CertifyError as trouble:
        where = _place(trouble.where, lines)
        raise Declined(trouble.code, f"the converted case is refused: {trouble.what}", where=where, fix=trouble.fix) from None
    units, branches = (sum(not one.in_service for one in rows) for rows in (case.units, case.branches))
    said.append(f"{len(case.buses)} buses, {len(case.units)} units and {len(case.branches)} branches were kept; out of service are {units} of the "
                f"units and {branches} of the branches")
    return data, said


def _place(where: str, lines: Sequence[str]) -> str:
    """Return the row of a matrix for a line of the text that was to be written, which nobody will see."""
    found = re.fullmatch(r"line (\d+)", where)
    if found is None:
        return where
    number = int(found.group(1))
    for key in _COLUMNS:
        start = lines.index(f"mpc.{key} = [") + 1
        if start < number <= start + (lines[start:].index("];")):
            return f"row {number - start} of {key}"
    return ""


def _drop(tables: Tables, said: list[str]) -> None:
    """Say which fields are left out; raises Declined for one that may matter."""
    for name in _COLUMNS.keys() & set(tables.others):
        raise Declined("case-literal", f"{name} holds what is no number", where=name, fix="give a matrix of numbers")
    for name in sorted({*tables.matrices, *tables.others} - _COLUMNS.keys()):
        rows = tables.matrices.get(name, [])
        if name == "dcline" and all(len(row) > 2 and float(row[2]) == 0 for row in rows):
            said.append("mpc.dcline was dropped: none of its lines is in service" if rows else "mpc.dcline was dropped: it is empty")
        elif name in _HARMLESS or (name in tables.matrices and not rows):
            said.append(f"mpc.{name} was dropped: no claim reads it")
        else:
            raise Declined("feature-unsupported", f"mpc.{name} may matter for power flow, and can't be converted",
                           fix="delete it from the input if it does not matter, or model it with buses, units and branches")


def _kept(key: str, rows: Rows, said: list[str]) -> Rows:
    """Return a matrix with the columns that a case has; raises Declined `case-row` or `case-literal`."""
    width = len(rows[0]) if rows else _COLUMNS[key]
    if width < _LEAST[key] or (key == "branch" and width == 12) or any(len(row) != width for row in rows):
        raise Declined("case-row", f"{key} has rows of {min(map(len, rows))} to {max(map(len, rows))} columns", where=key,
                       fix=f"give each row the same number, {_LEAST[key]} or more (of branch: not 12)")
    if width > _COLUMNS[key]:
        said.append(f"columns {_COLUMNS[key] + 1} to {width} of {key} were dropped: no claim reads them")
    if key == "branch" and width == 11:
        said.append("branch has no angle limits")
    changes: dict[str, int] = {}
    found = [_row(key, row[: _COLUMNS[key]] + ["0"] * (_COLUMNS[key] - width), number, changes) for number, row in enumerate(rows, start=1)]
    said += [f"{what} ({count} times)" for what, count in changes.items()]
    return found


def _row(key: str, row: list[str], number: int, changes: dict[str, int]) -> list[str]:
    """Return a row with what can be put right put right, counted by what was done."""
    made = list(row)

    def put(index: int, text: str, what: str) -> None:
        made[index] = text
        changes[what] = changes.get(what, 0) + 1

    for index, text in enumerate(row):
        endless = text in ("nan", "inf", "-inf")
        if endless and index in _UNREAD[key]:
            put(index, "0", f"0 was written for NaN or Inf in columns of {key} that no claim reads")
        elif text == "nan":
            raise Declined("case-literal", f"column {index + 1} is not a number (NaN)", where=f"row {number} of {key}", fix="give the number")
        elif key == "branch" and index == _RATE and text == "inf":
            put(index, "0", "a rating of Inf was written as 0, which means unlimited")
        elif key == "branch" and index in _ANGLES and endless:
            put(index, _UNLIMITED[text], "infinite angle limits were written as 360 degrees, which means none")
        elif endless:
            made[index] = "Inf" if text == "inf" else "-Inf"
        elif index in _WHOLE[key] and (value := float(text)).is_integer():
            made[index] = str(int(value))
    status = _STATUS.get(key)
    if status is not None and made[status] not in ("0", "1"):
        value = float(row[status])
        on = value > 0 if key == "gen" else value != 0
        if value in (0, 1):
            made[status] = str(int(on))
        else:
            put(status, str(int(on)), f"a status of {key} other than 0 and 1 was written as MATPOWER takes it")
    return made


def only(tables: Mapping[str, Rows], name: str) -> str:
    """Return the number in a field that should hold one; raises Declined `case-reference`."""
    rows = tables.get(name, [])
    if len(rows) != 1 or len(rows[0]) != 1:
        raise Declined("case-reference", f"{name} is missing or not one number", fix="give the base power in MVA")
    return rows[0][0]
