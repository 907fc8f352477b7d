# SPDX-License-Identifier: Apache-2.0
"""`certify show CASE.m`: what is odd about a case, which operators it supports, and one line of error for a bad one."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from certify.cli.show_case import case_lines
from certify.limits import Limits
from cli.test_bad_input import refused, run
from kinds.grid_hand import triangle

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT.parent / "shared/data/grid"
published = pytest.mark.skipif(not DATA.is_dir(), reason="the folder ../shared/data/grid with published networks is missing")

# Live buses, lines in service, the numbers of rows that stand behind a word, and the codes of operators that are refused: from DATA.md there.
PGLIB = {
    "3_lmbd": (3, 3, {"angles": 2}, {}), "24_ieee_rts": (24, 38, {"angles": 1, "pmin": 32, "parallel": 8}, {}),
    "73_ieee_rts": (73, 120, {"angles": 3, "pmin": 96, "parallel": 24}, {}), "118_ieee": (118, 186, {"parallel": 14}, {}),
    "60_c": (60, 88, {"negative": 5, "pmin": 22, "angles": 9, "parallel": 32}, {"dc": "susceptance-not-positive"}),
    "89_pegase": (89, 210, {"shifters": 3, "loads": 2, "pmin": 10, "parallel": 8}, {"dc": "phase-shift-unsupported"}),
    "300_ieee": (300, 411, {"shifters": 1, "negative": 1, "parallel": 4}, {"dc": "susceptance-not-positive"}),
    "240_pserc": (240, 448, {"negative": 12, "loads": 7, "parallel": 188}, {"dc": "susceptance-not-positive"}),
    "500_goc": (500, 728, {"angles": 42, "pmin": 171, "parallel": 133}, {}), "57_ieee": (57, 80, {"parallel": 4}, {}),
}
ODDITIES = ("parallel", "unlimited", "negative", "shorted", "shifters", "angles", "pmin", "loads")


def table(lines: list[str]) -> dict[str, str]:
    """Return the table by its words; operators by their names."""
    found = {}
    for line in lines:
        name, _, rest = line.partition(" ")
        if name == "operator":
            name, _, rest = rest.strip().partition(": ")
        found[name] = rest.strip()
    return found


@published
@pytest.mark.parametrize("name", PGLIB)
def test_published_cases(name: str) -> None:
    buses, lines, counts, codes = PGLIB[name]
    found = table(list(case_lines((DATA / f"pglib/pglib_opf_case{name}.m").read_bytes(), Limits())))
    assert (int(found["buses"].split()[0]), int(found["lines"].split()[0])) == (buses, lines) and found["islands"] == "1"
    assert {word: int(found[word].split()[0]) for word in ODDITIES if word in found} == counts
    for operator in ("transport", "dc-switch", "dc"):
        assert found[operator].startswith(f"refused, {codes[operator]}: " if operator in codes else "supported, rests on "), operator


@published
def test_rows_that_are_out_of_service_are_named() -> None:
    found = table(list(case_lines((DATA / "pglib/pglib_opf_case500_goc.m").read_bytes(), Limits())))
    assert found["lines"] == "728 in service, 5 out of service: rows 49, 58, 210, 504, 550"
    assert found["units"].startswith("171 in service, 53 out of service: rows 2, 9, 13,") and found["demand"] == "17772.920733832 MW at 281 buses"


@published
@pytest.mark.parametrize("path", sorted((DATA / "odd").glob("*.m")) if DATA.is_dir() else [], ids=lambda path: path.stem)
def test_odd_cases_have_a_table_or_one_line_of_error(path: Path, tmp_path: Path) -> None:
    shutil.copy(path, tmp_path / "case.m")
    done = run(tmp_path, "show", "case.m")
    if done.returncode == 0:
        assert set(table(done.stdout.splitlines())) >= {"sha256", "case", "buses", "demand", "transport", "dc-switch", "dc"}
    else:
        assert re.match(r"declined  (case-[a-z-]+|feature-unsupported): ", refused(tmp_path, 3, "", "show", "case.m"))


def test_a_triangle(tmp_path: Path) -> None:
    (tmp_path / "case.m").write_bytes(triangle(60, 0).data())
    done = run(tmp_path, "show", "case.m")
    assert done.returncode == 0
    assert done.stdout.splitlines()[1:] == [
        "case      MATPOWER version 2, base 100 MVA", "buses     3 live, 1 isolated (type 4)", "lines     3 in service, 2 out of service: rows 4, 5",
        "units     1 in service, 2 out of service: rows 2, 3", "demand    100 MW at 2 buses", "supply    120 MW at 1 bus", "islands   1",
        "ratings   10 to 60 MW",
        "unlimited 1 line without a rating (rateA = 0): row 2 of mpc.branch", "operator  transport: supported, rests on transport-flow",
        "operator  dc-switch: supported, rests on dc-switching", "operator  dc: supported, rests on dc-power-flow"]


def test_islands_and_too_little_supply(tmp_path: Path) -> None:
    grid = triangle()
    grid.units[0].pmax /= 2
    for branch in grid.branches[:2]:
        branch.status = 0
    (tmp_path / "case.m").write_bytes(grid.data())
    said = run(tmp_path, "show", "case.m").stdout
    assert "islands   2; demand and no supply at bus" in said
    assert "supply    60 MW at 1 bus: less than the demand, so load is shed without any attack\n" in said


def test_angle_limits_without_zero_are_supported_where_they_are_ignored(tmp_path: Path) -> None:
    text = triangle().data().decode().replace("-360\t360;", "1\t30;", 1)
    (tmp_path / "case.m").write_text(text)
    said = run(tmp_path, "show", "case.m").stdout
    assert "angles    1 line with angle limits that don't allow a flow of 0: row 1 of mpc.branch\n" in said
    assert "dc: refused, angle-limit-excludes-zero: " in said and said.rstrip().endswith("; supported with angle_limits=ignored")


def test_every_bus_isolated_is_said(tmp_path: Path) -> None:
    grid = triangle()
    for bus in grid.buses:
        bus.type = 4
    (tmp_path / "case.m").write_bytes(grid.data())
    done = run(tmp_path, "show", "case.m")
    assert done.returncode == 0 and "buses     0 live, 4 isolated" in done.stdout and "transport: refused, case-empty: every bus" in done.stdout
    (tmp_path / "marked.m").write_bytes(b"\xef\xbb\xbf" + grid.data())
    assert r"it starts with '\xef\xbb\xbffunction mpc" in run(tmp_path, "show", "marked.m").stdout
    (tmp_path / "bad.m").write_text("not a case")
    assert "case-version" in refused(tmp_path, 3, "case-version", "show", "bad.m")
    assert "only certificates have parts" in refused(tmp_path, 2, "setting-value", "show", "case.m", "--tree")
