# SPDX-License-Identifier: Apache-2.0
"""Points and labels from CSV files: a header row, then decimal numbers, exact.

Guarantee: `read_table` returns the header and, for every cell, the rational number that its decimal text denotes; anything
else (a missing cell, quotes, an empty line, NaN) is refused with a `table-` code and its line.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

from certify.errors import Declined
from certify.limits import Limits

_NUMBER = re.compile(r"[+-]?(\d{1,400}(\.\d{0,400})?|\.\d{1,400})([eE][+-]?\d{1,3})?", re.ASCII)


@dataclass(frozen=True)
class Table:
    """Column names and rows of exact numbers."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Fraction, ...], ...]


def read_table(data: bytes, limits: Limits) -> Table:
    """Return the table in the bytes of a CSV file; raises Declined with a `table-` code."""
    limits.within(40 * len(data), "memory", "memory for reading the table in bytes")
    limits.within(data.count(b"\n"), "table_cells", "lines of the table")
    try:
        lines = data.decode("utf-8").replace("\r\n", "\n").split("\n")
    except UnicodeDecodeError:
        raise Declined("table-encoding", "the file is not UTF-8", fix="save it as UTF-8") from None
    if lines[-1] == "":
        lines.pop()
    if not lines:
        raise Declined("table-shape", "the file is empty", fix="give a header row and one row for each point")
    if lines[0][:1] == "\ufeff" or '"' in lines[0]:
        trouble, what = ("starts with a byte-order mark", "UTF-8 without it") if lines[0][:1] == "\ufeff" else ("has quoted cells", "plain cells")
        raise Declined("table-header", f"the file {trouble}", where="line 1", fix=f"save it as {what}")
    columns = tuple(name.strip(" \t") for name in lines[0].split(","))
    if all(_NUMBER.fullmatch(name) for name in columns):
        raise Declined("table-header", "the first row holds numbers only, and it should name the columns", where="line 1", fix="add a header row")
    if len(set(columns)) != len(columns) or "" in columns or any("\ufeff" in name for name in columns):
        raise Declined("table-header", "the first row does not name every column once", where="line 1",
                       fix="give a header row with a name for each column")
    limits.within(len(columns) * (len(lines) - 1), "table_cells", "cells of the table")
    limits.spend(1000 * len(columns) * len(lines), "reading the table")
    return Table(columns, tuple(_row(line, number, len(columns)) for number, line in enumerate(lines[1:], start=2)))


def _row(line: str, number: int, width: int) -> tuple[Fraction, ...]:
    cells = [cell.strip(" \t") for cell in line.split(",")]
    if len(cells) != width:
        raise Declined("table-shape", f"{len(cells)} cells, the header has {width}", where=f"line {number}",
                       fix="give every row one cell for each column")
    for cell in cells:
        if not _NUMBER.fullmatch(cell):
            raise Declined("table-number", f"{cell[:40]!r} is not a decimal number", where=f"line {number}", fix="write numbers as 0.5 or 1e-3")
    return tuple(Fraction(cell) for cell in cells)
