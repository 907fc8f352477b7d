# SPDX-License-Identifier: Apache-2.0
"""The MATPOWER reader and the conventions: odd files, published cases, truncation and mutation, and networks against a second derivation."""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Iterator
from fractions import Fraction
from math import inf
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import power_networks as power
from certify.errors import CertifyError, Declined
from certify.limits import Limits
from certify.readers.matpower import Case, read_case
from certify.readers.power import power_network
from toolkit import refused

DATA = Path(__file__).resolve().parents[3] / "shared/data/grid"
ODD = sorted((DATA / "odd").glob("*.m")) if DATA.is_dir() else []
PGLIB = sorted((DATA / "pglib").glob("*.m")) if DATA.is_dir() else []
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="the folder ../shared/data/grid is missing")

BASE = """function mpc = base
% a comment with [ in it
mpc.version = '2';
mpc.baseMVA = 100;
mpc.bus = [
\t1\t3\t0\t0\t0\t0\t1\t1\t0\t138\t1\t1.1\t0.9;
\t2\t1\t90\t30\t0\t0\t1\t1\t0\t138\t1\t1.1\t0.9;
\t3\t1\t60.5\t15.25\t0\t0\t1\t1\t0\t138\t1\t1.1\t0.9;
];
mpc.gen = [
\t1\t0\t0\t60\t-60\t1\t100\t1\t160\t0;
\t2\t0\t0\t40\t-40\t1\t100\t1\t40\t0;
];
mpc.branch = [
\t1\t2\t0.01\t0.1\t0.02\t100\t0\t0\t0\t0\t1\t-30\t30;
\t1\t3\t0.01\t0.125\t0.02\t80\t0\t0\t0\t0\t1\t-30\t30;
\t2\t3\t0.02\t0.2\t0\t50\t0\t0\t0\t0\t1\t-30\t30;
];
mpc.gencost = [
\t2\t0\t0\t3\t0\t1\t0;
\t2\t0\t0\t3\t0\t1\t0;
];
"""


def read(text: str | bytes) -> Case:
    """Return the case in a text."""
    return read_case(text.encode() if isinstance(text, str) else text, Limits().fresh())


def change(old: str, new: str) -> str:
    """Return the base case with one text, which it holds, replaced once."""
    assert old in BASE
    return BASE.replace(old, new, 1)


# Files of the shared folder

REFUSED = {  # by the reader, whatever the operator
    "block_comment": "case-block-comment", "code_after": "case-code", "code_scale": "case-code", "cond": "case-code",
    "dcline": "feature-unsupported", "dup_bus": "case-reference", "empty": "case-empty", "expr": "case-literal", "float_bus": "case-row",
    "nan": "case-literal", "no_version": "case-version", "old_format": "case-version", "selfloop": "case-reference", "short_row": "case-row",
    "truncated": "case-code", "twice": "case-twice", "unknown_bus": "case-reference",
}
BY_OPERATOR = {  # transport, dc-switch, dc; "" where it is covered
    "angle_excludes_zero": ("", "angle-limit-excludes-zero", "angle-limit-excludes-zero"), "angle_unbounded": ("", "", ""), "base": ("", "", ""),
    "cells": ("", "", ""), "continuation": ("", "", ""), "inf": ("", "", ""), "isolated": ("", "", ""), "negload": ("", "", ""),
    "norate": ("", "", ""), "off": ("", "", ""), "pmin": ("", "", ""), "pwl": ("", "", ""), "dispatchable": ("feature-unsupported",) * 3,
    "negx": ("", "", "susceptance-not-positive"), "parallel_shift": ("", "", "phase-shift-unsupported"),
    "shift": ("", "", "phase-shift-unsupported"), "zerox": ("", "susceptance-not-positive", "susceptance-not-positive"),
}


@needs_data
def test_every_odd_file_is_expected() -> None:
    assert {path.stem.removeprefix("odd_") for path in ODD} == set(REFUSED) | set(BY_OPERATOR)
    assert len(ODD) == 34


@needs_data
@pytest.mark.parametrize("name", sorted(REFUSED))
def test_odd_files_are_refused_with_their_code(name: str) -> None:
    refused(REFUSED[name], read, (DATA / f"odd/odd_{name}.m").read_bytes())


@needs_data
@pytest.mark.parametrize("name", sorted(BY_OPERATOR))
def test_odd_files_by_operator(name: str) -> None:
    case = read((DATA / f"odd/odd_{name}.m").read_bytes())
    for operator, code in zip(("transport", "dc-switch", "dc"), BY_OPERATOR[name], strict=True):
        model = {**power.MODEL, "angle_limits": "ignored" if operator == "transport" else "enforced"}
        for attack in (False, True):
            if code:
                refused(code, power_network, case, operator, model, attack)
            else:
                power_network(case, operator, model, attack)


@needs_data
def test_what_odd_files_mean() -> None:
    def network(name: str, operator: str = "transport", **model: str):  # type: ignore[no-untyped-def]
        chosen = {**power.MODEL, "angle_limits": "ignored" if operator == "transport" else "enforced", **model}
        return power_network(read((DATA / f"odd/odd_{name}.m").read_bytes()), operator, chosen, False)

    base = network("base")
    assert base.demand == (0, 90, Fraction("60.5")) and base.supply == (160, 40, 0)
    assert [(k.row, k.start, k.end, k.low, k.high) for k in base.lines] == [(1, 0, 1, -100, 100), (2, 0, 2, -80, 80), (3, 1, 2, -50, 50)]
    for same in ("continuation", "cells", "pwl", "isolated", "off", "angle_unbounded"):
        assert network(same) == base, same
    assert [k.low is None and k.high is None for k in network("norate").lines] == [True] * 3
    assert network("inf").supply == (Fraction("150.5"), 0, 0)
    assert network("negload").demand == (0, 4, Fraction("60.5")) and network("negload").supply == (160, 65, 3)
    loose = network("dispatchable", dispatchable="uncounted")
    assert (loose.demand, loose.supply, loose.consumption) == ((0, 90, Fraction("60.5")), (160, 55, 0), (0, 15, 20))
    assert network("pmin").premises == {"transport-flow", "pmin-relaxed"} and network("pmin").supply == base.supply
    assert network("shift", "dc-switch").lines[2].susceptance == Fraction(100) / (Fraction("0.2") * Fraction("1.02"))
    assert all(k.high == 100 / Fraction(1) and k.low == -100 for k in network("angle_unbounded", "dc").lines[:1])


# Published cases

_LIVE = {"3_lmbd": (3, 3), "5_pjm": (5, 6), "14_ieee": (14, 20), "30_ieee": (30, 41), "39_epri": (39, 46), "30_as": (30, 41),
         "24_ieee_rts": (24, 38), "73_ieee_rts": (73, 120), "57_ieee": (57, 80), "118_ieee": (118, 186), "60_c": (60, 88), "89_pegase": (89, 210),
         "162_ieee_dtc": (162, 284), "197_snem": (197, 286), "179_goc": (179, 263), "200_activ": (200, 245), "240_pserc": (240, 448),
         "300_ieee": (300, 411), "500_goc": (500, 728)}


def case_of(name: str) -> Case:
    """Return a published case."""
    return read((DATA / f"pglib/pglib_opf_case{name}.m").read_bytes())


@needs_data
@pytest.mark.parametrize("name", sorted(_LIVE))
def test_live_parts_of_published_cases(name: str) -> None:
    case = case_of(name)
    both = any(unit.in_service and unit.pmin < 0 < unit.pmax for unit in case.units)
    model = {**power.MODEL, "angle_limits": "ignored", "dispatchable": "uncounted" if both else "counted"}
    network = power_network(case, "transport", model, False)
    assert (len(network.numbers), len(network.lines)) == _LIVE[name]
    assert all(line.high is not None for line in network.lines)
    if both:
        refused("feature-unsupported", power_network, case, "transport", {**model, "dispatchable": "counted"}, False)


@needs_data
def test_every_published_case_is_expected() -> None:
    assert {path.stem.removeprefix("pglib_opf_case") for path in PGLIB} == set(_LIVE)


@needs_data
def test_what_is_odd_in_published_cases() -> None:
    cases = {name: case_of(name) for name in _LIVE}

    def count(name: str, where: str) -> int:
        case = cases[name]
        pairs = [frozenset((k.from_bus, k.to_bus)) for k in case.branches if k.in_service]
        return {
            "x<0": sum(k.in_service and k.x < 0 for k in case.branches), "shifters": sum(k.in_service and k.shift != 0 for k in case.branches),
            "gs": sum(bus.gs != 0 for bus in case.buses), "pd<0": sum(bus.pd < 0 for bus in case.buses),
            "pmin>0": sum(unit.in_service and unit.pmin > 0 for unit in case.units),
            "both": sum(unit.in_service and unit.pmin < 0 < unit.pmax for unit in case.units),
            "loads": sum(unit.in_service and unit.pmin < 0 == unit.pmax for unit in case.units),
            "branches off": sum(not k.in_service for k in case.branches), "units off": sum(not unit.in_service for unit in case.units),
            "parallel": len(pairs) - len(set(pairs)),
        }[where]

    for name, where, wanted in (
        ("60_c", "x<0", 5), ("240_pserc", "x<0", 12), ("300_ieee", "x<0", 1), ("89_pegase", "shifters", 3), ("300_ieee", "shifters", 1),
        ("89_pegase", "gs", 26), ("300_ieee", "gs", 17), ("89_pegase", "pd<0", 6), ("162_ieee_dtc", "pd<0", 9), ("197_snem", "pd<0", 3),
        ("179_goc", "pd<0", 13), ("300_ieee", "pd<0", 8), ("30_as", "pmin>0", 6), ("24_ieee_rts", "pmin>0", 32), ("73_ieee_rts", "pmin>0", 96),
        ("60_c", "pmin>0", 22), ("179_goc", "pmin>0", 29), ("200_activ", "pmin>0", 38), ("500_goc", "pmin>0", 171), ("89_pegase", "both", 2),
        ("240_pserc", "both", 4), ("240_pserc", "loads", 3), ("200_activ", "units off", 11), ("500_goc", "branches off", 5),
        ("500_goc", "units off", 53), ("24_ieee_rts", "parallel", 4), ("73_ieee_rts", "parallel", 12), ("57_ieee", "parallel", 2),
        ("118_ieee", "parallel", 7), ("60_c", "parallel", 16), ("240_pserc", "parallel", 100),
    ):
        assert count(name, where) == wanted, (name, where)


@needs_data
@pytest.mark.parametrize(("name", "rows"), [("3_lmbd", 2), ("24_ieee_rts", 1), ("73_ieee_rts", 3), ("60_c", 9), ("500_goc", 42), ("118_ieee", 0)])
def test_angle_limits_tighter_than_ratings(name: str, rows: int) -> None:
    lines = power_network(case_of(name), "dc-switch", power.MODEL, False).lines
    ratings = {row: branch.rate for row, branch in enumerate(case_of(name).branches, start=1)}
    assert sum(max(abs(line.low),
                   line.high) < ratings[line.row] or -line.low != line.high for line in lines) == rows  # type: ignore[arg-type,operator]


OTHERS = {*REFUSED, "continuation"}  # which the other parser does not read, or misreads: it takes a continuation line for a row


@needs_data
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("path", [path for path in (*ODD, *PGLIB) if path.stem.removeprefix("odd_") not in OTHERS],
                         ids=lambda path: path.stem)
def test_numbers_agree_with_another_parser(path: Path) -> None:
    frames = pytest.importorskip("matpowercaseframes", reason="matpowercaseframes is not installed")
    case, other = read(path.read_bytes()), frames.CaseFrames(str(path))
    assert float(case.base_mva) == float(other.baseMVA)
    for mine, frame, columns in (
        (case.buses, other.bus, {"number": 0, "type": 1, "pd": 2, "qd": 3, "gs": 4, "bs": 5, "vmax": 11, "vmin": 12}),
        (case.units, other.gen, {"bus": 0, "qmax": 3, "qmin": 4, "in_service": 7, "pmax": 8, "pmin": 9}),
        (case.branches, other.branch, {"from_bus": 0, "to_bus": 1, "r": 2, "x": 3, "b": 4, "rate": 5, "ratio": 8, "shift": 9, "in_service": 10,
                                       "angle_min": 11, "angle_max": 12}),
    ):
        table = frame.to_numpy(dtype=float)
        assert len(mine) == len(table)
        for row, values in zip(mine, table, strict=True):
            for key, column in columns.items():
                assert float(getattr(row, key)) == values[column], (path.stem, key)


# Truncation and bytes

def test_no_truncation_gives_other_numbers() -> None:
    whole = read(BASE)
    data = BASE.encode()
    ends = []
    for end in range(len(data)):
        try:
            assert read(data[:end]) == whole
        except CertifyError as trouble:
            assert trouble.code in ("case-version", "case-empty", "case-code", "case-literal", "case-row", "case-reference"), trouble.code
            continue
        ends.append(end)
    branches = BASE.index("];", BASE.index("mpc.branch")) + 2
    assert ends and min(ends) >= branches  # never before the last matrix that matters is complete


def test_no_truncation_of_a_case_that_ends_with_what_matters_gives_other_numbers() -> None:
    start, stop = BASE.index("mpc.branch"), BASE.index("mpc.gencost")
    data = (BASE[:BASE.index("mpc.bus")] + BASE[start:stop] + BASE[BASE.index("mpc.bus"):start]).encode()  # mpc.gen comes last
    whole = read(data)
    assert whole == read(BASE)
    for end in range(len(data)):
        try:
            found = read(data[:end])
        except CertifyError:
            continue
        assert found == whole and end >= len(data) - 1


SAME = {
    "CRLF": BASE.replace("\n", "\r\n").encode(), "no last line end": BASE[:-1].encode(), "blanks": BASE.replace("\t", "   ").encode(),
    "commas": BASE.replace("\t1\t2\t0.01\t0.1\t", "1,2 , 0.01,0.1\t,").encode(),
    "0x85 in a comment": BASE.encode().replace(b"% a comment", b"% a \x85 comment \x85 mpc.bus = [1 2 3];"),
    "U+2028 in a comment": change("% a comment", "% a \u2028 mpc.gen = [ 1 2 3 ];").encode(),
    "Latin-1 in a comment": BASE.encode().replace(b"% a comment", b"% Stra\xdfe \xff\xfe"),
    "quotes and brackets in a comment": change("% a comment", "% a 'comment ]; } % %{ ").encode(),
    "a comment behind a row": change("0.9;\n", "0.9; % ]; 4 1 5\n").encode(),
    "a comment in place of a semicolon": change("0.9;\n", "0.9 % ;\n").encode(),
    "rows on one line": change("0.9;\n\t2", "0.9; 2").encode(), "rows without semicolons": BASE.replace(";\n\t", "\n\t").encode(),
    "a continuation": change("\t90\t30", "\t90 ... the rest is a comment ];\n\t30").encode(),
    "signs and exponents": change("\t90\t30", "\t+9.e1\t3E+1").encode(), "a D exponent": change("\t90\t30", "\t9d1\t.3D2").encode(),
    "empty lines": BASE.replace(";\n", ";\n\n \t\n").encode(), "areas": (BASE + "mpc.areas = [ 1 1 ];\n").encode(),
    "names": (BASE + "mpc.bus_name = {\n'a]; %{'; 'It''s'\n'c'};\n").encode(),
    "more columns": BASE.replace("\t-30\t30;", "\t-30\t30\t0\t1e-3;").encode(),
}


@pytest.mark.parametrize("name", sorted(SAME))
def test_the_same_case_in_other_words(name: str) -> None:
    assert read(SAME[name]) == read(BASE)


def other(old: str, new: str | bytes) -> bytes:
    assert BASE.count(old) >= 1
    return BASE.encode().replace(old.encode(), new if isinstance(new, bytes) else new.encode(), 1)


ROW = "\t1\t2\t0.01\t0.1\t0.02\t100\t0\t0\t0\t0\t1\t-30\t30;\n"
WRONG: dict[str, tuple[str, bytes]] = {
    "a form feed in a comment before a row": ("case-code", other("% a comment", b"% a\x0c")),
    "a lone carriage return in a comment": ("case-code", other("% a comment", b"% a\rmpc.x = 1;")),
    "a carriage return in a row": ("case-code", other("\t90\t", b"\t90\r\t")), "NUL": ("case-code", other("% a comment", b"% a\x00")),
    "NUL in a number": ("case-code", other("90", b"9\x000")), "a vertical tab": ("case-code", other("\t90", b"\x0b90")),
    "an escape in a comment": ("case-code", other("% a comment", b"% \x1b[2J")),
    "two carriage returns": ("case-code", BASE.replace("\n", "\r\r\n").encode()),
    "a byte order mark": ("case-version", b"\xef\xbb\xbf" + BASE.encode()), "UTF-16": ("case-code", BASE.encode("utf-16")),
    "nothing": ("case-version", b""), "text": ("case-version", b"hello\n"), "a comment only": ("case-version", b"% hello\n"),
    "a difference": ("case-literal", other("\t90\t", "\t1 - 2\t")), "a difference without blanks": ("case-literal", other("\t90\t", "\t91-1\t")),
    "dots at a number": ("case-literal", other("\t90\t", "\t90...\n\t")), "a sum": ("case-literal", other("\t90\t", "\t90+0\t")),
    "a quotient": ("case-literal", other("\t90\t", "\t90/1\t")), "a power": ("case-literal", other("\t90\t", "\t9^2\t")),
    "a call": ("case-literal", other("\t90\t", "\tsqrt(4)\t")), "a word": ("case-literal", other("\t90\t", "\tpi\t")),
    "a complex number": ("case-literal", other("\t90\t", "\t90i\t")), "hexadecimal": ("case-literal", other("\t90\t", "\t0x5A\t")),
    "NaN": ("case-literal", other("\t90\t", "\tNaN\t")), "an underscore": ("case-literal", other("\t90\t", "\t9_0\t")),
    "Arabic digits": ("case-literal", other("\t90\t", "\t\u0669\u0660\t")), "a no-break space": ("case-literal", other("\t90\t", "\t90\u00a0\t")),
    "a string": ("case-literal", other("\t90\t", "\t'90'\t")), "an infinite load": ("case-literal", other("\t90\t", "\tInf\t")),
    "an infinite rating": ("case-literal", other("\t100\t0\t0\t0", "\tInf\t0\t0\t0")), "an infinite base": ("case-literal", other("= 100", "= Inf")),
    "two decimal points": ("case-literal", other("60.5", "6.0.5")), "a double sign": ("case-literal", other("\t90\t", "\t+-90\t")),
    "an empty exponent": ("case-literal", other("\t90\t", "\t90e\t")), "a fraction as exponent": ("case-literal", other("\t90\t", "\t9e1.0\t")),
    "1e999999": ("case-literal", other("\t90\t", "\t1e999999\t")), "1e51": ("case-literal", other("\t90\t", "\t1e51\t")),
    "1e-51": ("case-literal", other("\t90\t", "\t1e-51\t")), "10^5 digits": ("case-literal", other("\t90\t", "\t" + "9" * 10**5 + "\t")),
    "10^5 decimals": ("case-literal", other("\t90\t", "\t0." + "9" * 10**5 + "\t")), "two commas": ("case-literal", other("\t90\t", "\t90,,")),
    "a comma at the end": ("case-literal", other("\t-30\t30;", "\t-30\t30,;")),
    "a comma at the start": ("case-literal", other("\t1\t3\t0\t0", ",1\t3\t0\t0")),
    "a quote behind a matrix": ("case-code", other("];", "]';")), "a dot quote behind a matrix": ("case-code", other("];", "].';")),
    "a product of a matrix": ("case-code", other("];", "] * 2;")), "no semicolon behind a matrix": ("case-code", other("];", "]")),
    "an index behind a matrix": ("case-code", other("];", "](1:2, :);")),
    "two statements on a line": ("case-code", other("];", "]; mpc.bus(1) = 3;")),
    "two assignments on a line": ("case-code", other("];\nmpc.gen", "]; mpc.gen")),
    "an assigned row": ("case-code", (BASE + "mpc.bus(2, 3) = 1;\n").encode()),
    "an assigned column": ("case-code", (BASE + "mpc.branch(:, 6) = 0;\n").encode()), "a loop": ("case-code", (BASE + "for k = 1:3\nend\n").encode()),
    "a call behind": ("case-code", (BASE + "mpc = scale_load(2, mpc);\n").encode()), "a return": ("case-code", (BASE + "return;\n").encode()),
    "a deleted row": ("case-code", (BASE + "mpc.branch(1, :) = [];\n").encode()), "an alias": ("case-code", (BASE + "mpc2 = mpc;\n").encode()),
    "a second function": ("case-code", (BASE + "function mpc = other\n").encode()), "an include": ("case-code", (BASE + "run('x.m')\n").encode()),
    "a computed matrix": ("case-code", other("mpc.bus = [", "mpc.bus = 2*[")), "a nested matrix": ("case-literal", other("\t90\t", "\t[90]\t")),
    "a struct": ("case-code", other("mpc.gen = [", "mpc.gen = struct(")), "braces for a matrix": ("case-code", other("mpc.bus = [", "mpc.bus = {")),
    "a hash comment": ("case-code", other("% a comment", "# a comment")), "code before": ("case-version", ("x = 1;\n" + BASE).encode()),
    "a base twice": ("case-twice", other("mpc.baseMVA = 100;", "mpc.baseMVA = 100;\nmpc.baseMVA = 10;")),
    "a version twice": ("case-twice", other("mpc.baseMVA", "mpc.version = '2';\nmpc.baseMVA")),
    "a matrix twice": ("case-twice", (BASE + "mpc.gen = [];\n").encode()),
    "names twice": ("case-twice", (BASE + "mpc.bus_name = {};\nmpc.bus_name = {};\n").encode()),
    "a block comment": ("case-block-comment", (BASE + "%{\nmpc.x = 1;\n%}\n").encode()),
    "a block comment in a matrix": ("case-block-comment", other(ROW, "%{\n" + ROW + "%}\n")),
    "version 1": ("case-version", other("'2'", "'1'")), "a number as version": ("case-version", other("'2'", "2")),
    "no version": ("case-version", other("mpc.version = '2';", "")),
    "the old function line": ("case-version", other("function mpc = base", "function [baseMVA, bus] = base")),
    "no buses": ("case-empty", (BASE[:BASE.index("mpc.bus")] + BASE[BASE.index("mpc.gen"):]).encode()),
    "an empty matrix": ("case-empty", (BASE[:BASE.index("mpc.gen =")] + "mpc.gen = [];\n" + BASE[BASE.index("mpc.branch"):]).encode()),
    "a short row": ("case-row", other(ROW, ROW.replace("\t-30\t30", ""))), "a long row": ("case-row", other(ROW, ROW.replace(";", "\t1;"))),
    "ten columns": ("case-row", BASE.replace("\t0\t0\t0\t1\t-30\t30;", "\t0\t0\t1;").encode()),
    "twelve columns": ("case-row", BASE.replace("\t-30\t30;", "\t-30;").encode()),
    "twelve bus columns": ("case-row", BASE.replace("\t1.1\t0.9;", "\t1.1;").encode()),
    "nine unit columns": ("case-row", BASE.replace("\t160\t0;", "\t160;").replace("\t40\t0;", "\t40;").encode()),
    "status 2": ("case-row", other("\t1\t-30", "\t2\t-30")), "status -1": ("case-row", other("\t1\t-30", "\t-1\t-30")),
    "status 0.5": ("case-row", other("\t1\t-30", "\t0.5\t-30")),
    "half a bus": ("case-row", other("\t2\t1\t90", "\t2.5\t1\t90")), "a bus type of 1.5": ("case-row", other("\t2\t1\t90", "\t2\t1.5\t90")),
    "an unknown bus": ("case-reference", other("\t2\t3\t0.02", "\t2\t7\t0.02")),
    "a unit at an unknown bus": ("case-reference", other("\t2\t0\t0\t40", "\t8\t0\t0\t40")),
    "a bus twice": ("case-reference", other("\t3\t1\t60.5", "\t2\t1\t60.5")),
    "a self loop": ("case-reference", other("\t2\t3\t0.02", "\t3\t3\t0.02")),
    "a base of zero": ("case-reference", other("= 100", "= 0")), "a negative base": ("case-reference", other("= 100", "= -100")),
    "no base": ("case-reference", other("mpc.baseMVA = 100;", "")),
    "a negative rating": ("case-reference", other("\t100\t0\t0\t0", "\t-100\t0\t0\t0")),
    "a negative ratio": ("case-reference", other("\t100\t0\t0\t0", "\t100\t0\t0\t-1")),
    "type 5": ("case-reference", other("\t2\t1\t90", "\t2\t5\t90")), "type 0": ("case-reference", other("\t2\t1\t90", "\t2\t0\t90")),
    "swapped voltages": ("case-reference", other("\t1.1\t0.9", "\t0.9\t1.1")),
    "a negative voltage": ("case-reference", other("\t1.1\t0.9", "\t1.1\t-0.9")),
    "swapped reactive limits": ("case-reference", other("\t60\t-60", "\t-60\t60")),
    "bus zero": ("case-reference", BASE.replace("\t1\t", "\t0\t").encode()),
    "a dc line": ("feature-unsupported", (BASE + "mpc.dcline = [ 1 2 1 ];\n").encode()),
    "an empty dc line": ("feature-unsupported", (BASE + "mpc.dcline = [];\n").encode()),
    "storage": ("feature-unsupported", (BASE + "mpc.storage = [ 1 2 ];\n").encode()),
    "interfaces": ("feature-unsupported", (BASE + "mpc.if.map = [ 1 2 ];\n").encode()),
    "another spelling": ("feature-unsupported", (BASE + "mpc.Branch = [ 1 2 ];\n").encode()),
    "a number of another name": ("feature-unsupported", (BASE + "mpc.scale = 2;\n").encode()),
    "a number among names": ("case-code", (BASE + "mpc.bus_name = { 3 };\n").encode()),
    "names without an end": ("case-code", (BASE + "mpc.bus_name = {\n'a'\n").encode()),
    "names, then code": ("case-code", (BASE + "mpc.bus_name = {'a'}; mpc.bus(1) = 2;\n").encode()),
    "names, transposed": ("case-code", (BASE + "mpc.bus_name = {'a'}';\n").encode()),
}


@pytest.mark.parametrize("name", sorted(WRONG))
def test_what_is_refused(name: str) -> None:
    code, data = WRONG[name]
    if name == "interfaces":
        with pytest.raises(Declined) as caught:
            read(data)
        assert caught.value.code in ("case-code", "feature-unsupported")  # it is refused either as code or by name
        return
    refused(code, read, data)


def test_numbers_are_exact() -> None:
    case = read(other("\t90\t30", "\t0.1\t-" + "3" * 49 + "." + "7" * 340))
    assert case.buses[1].pd == Fraction(1, 10) and case.buses[1].qd == -Fraction("3" * 49 + "." + "7" * 340)
    assert read(other("\t90\t", "\t1e50\t")).buses[1].pd == 10**50 and read(other("\t90\t", "\t1e-50\t")).buses[1].pd == Fraction(1, 10**50)
    unit = read(other("\t60\t-60\t1\t100\t1\t160\t0;", "\tInf\t-Inf\t1\t100\t1\tinf\t0;")).units[0]
    assert (unit.qmax, unit.qmin, unit.pmax) == (inf, -inf, inf)


def test_huge_files_are_decided_quickly() -> None:
    started = time.monotonic()
    for data in (BASE.encode().replace(b"% a comment", b"% " + b"x" * 10**7), b"function mpc = a\n" + b"mpc.bus = [ " + b"1 " * 10**5,
                 BASE.encode().replace(b"\t90\t", b"\t" + b"9" * 10**6 + b"\t"), BASE.encode().replace(b"\t90\t", b" " * 10**6 + b"90 ")):
        tracemalloc.start()
        try:
            assert read(data) == read(BASE)
        except CertifyError as trouble:
            assert trouble.code in ("case-code", "case-literal")
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 100 * len(data) + 10**6  # what the reader charges
    assert time.monotonic() - started < 30


def test_rows_have_a_limit() -> None:
    rows = "".join(f"{k} 1 0 0 0 0 1 1 0 1 1 1 1\n" for k in range(1, 100_002))
    refused("limit-reached", read, BASE.replace(BASE[BASE.index("\t1\t3"):BASE.index("];")], rows))


def test_the_cost_is_charged_before() -> None:
    refused("limit-reached", read_case, BASE.encode(), Limits(work=100).fresh())
    refused("limit-reached", read_case, BASE.encode(), Limits(memory=100).fresh())


# Mutations

_PIECES = st.sampled_from([b"\r", b"\n", b"\r\n", b"%", b"%{", b"[", b"]", b"];", b"'", b"{", b"}", b";", b",", b"...", b" - ", b"-", b"e", b"1e9",
                           b"Inf",
                           b"NaN", b"\x00", b"\x0c", b"\x85", b"\xff", b"\xe2\x80\xa8", b"mpc.bus = [", b"mpc.", b"=", b"0", b".", b"\t", b"if 1\n",
                           b"9" * 400])
_EDITS = st.lists(st.tuples(st.integers(0, len(BASE)), st.integers(0, 12), _PIECES), min_size=1, max_size=4)


def _edited(edits: list[tuple[int, int, bytes]]) -> bytes:
    data = BASE.encode()
    for at, length, piece in edits:
        data = data[:at] + piece + data[at + length:]
    return data


@given(_EDITS)
@example([(0, len(BASE), b"")])
@settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck))
def test_only_our_errors_leave(edits: list[tuple[int, int, bytes]]) -> None:
    _only_ours(_edited(edits))


@pytest.mark.slow
@given(_EDITS)
@settings(max_examples=100_000, deadline=None, suppress_health_check=list(HealthCheck))
def test_only_our_errors_leave_in_long_runs(edits: list[tuple[int, int, bytes]]) -> None:
    _only_ours(_edited(edits))


def _only_ours(data: bytes) -> None:
    try:
        case = read(data)
    except CertifyError as trouble:
        assert trouble.code.startswith("case-") or trouble.code in ("feature-unsupported", "limit-reached")
        assert trouble.fix and "\n" not in str(trouble)
        return
    for operator in ("transport", "dc-switch", "dc"):
        try:
            power_network(case, operator, {**power.MODEL, "angle_limits": "ignored" if operator == "transport" else "enforced"}, True)
        except CertifyError as trouble:
            assert trouble.verdict == "declined"


# What the conventions make of a case

def _compared(rng: np.random.Generator, count: int) -> dict[str, int]:
    seen: dict[str, int] = {}
    for _ in range(count):
        grid = power.random_grid(rng, bool(rng.random() < 0.4))
        grid.angles = bool(rng.random() < 0.8)
        case = read(grid.data())
        for operator, angles, dispatchable, attack in _choices():
            model = {**power.MODEL, "angle_limits": angles, "dispatchable": dispatchable}
            try:
                wanted = power.plain(grid, operator, model, power.PI_ABOVE if attack else power.PI_BELOW)
            except power.Refused as trouble:
                refused(trouble.code, power_network, case, operator, model, attack)
                seen[trouble.code] = seen.get(trouble.code, 0) + 1
                continue
            found = power_network(case, operator, model, attack)
            assert (found.numbers, found.demand, found.supply, found.consumption) == (wanted.numbers, wanted.demand, wanted.supply,
                                                                                      wanted.consumption)
            assert found.premises == wanted.premises and found.total == wanted.total
            assert [(k.row, k.start, k.end, k.low, k.high, k.susceptance, k.shift) for k in found.lines] == [
                (k.row, k.a, k.b, k.low, k.high, k.susceptance, k.shift) for k in wanted.lines]
            seen["covered"] = seen.get("covered", 0) + 1
    return seen


def _choices() -> Iterator[tuple[str, str, str, bool]]:
    for operator in ("transport", "dc-switch", "dc"):
        for angles in ("enforced", "ignored"):
            for dispatchable in ("counted", "uncounted"):
                for attack in (False, True):
                    yield operator, angles, dispatchable, attack


def test_networks_against_a_second_derivation() -> None:
    seen = _compared(np.random.default_rng(1), 120)
    assert set(seen) == {"covered", "feature-unsupported", "susceptance-not-positive", "phase-shift-unsupported", "angle-limit-excludes-zero"}
    assert seen["covered"] > 500


def test_pi_is_tight_for_upper_claims_and_loose_for_attacks() -> None:
    case = read(change("\t100\t0\t0\t0\t0\t1\t-30\t30", "\t0\t0\t0\t0\t0\t1\t-1\t2"))
    (below, above), (low, high) = ((line.low,
                                    line.high) for line in (power_network(case, "dc", power.MODEL, attack).lines[0] for attack in (False, True)))
    degree = 1000 * power.PI / 180
    assert low < -degree < below < 0 < above < 2 * degree < high  # type: ignore[operator]
    assert high - above < Fraction(1, 10**10)  # type: ignore[operator]


@pytest.mark.parametrize(("angles", "code"),
                         [("-30\t0", "zero"), ("0\t30", "zero"), ("5\t30", "zero"), ("-30\t-5", "zero"), ("-361\t0", "zero"), ("0\t0", ""),
                                              ("-360\t360", ""), ("-361\t400", ""), ("-1\t360", ""), ("10\t-10", "zero"), ("1e-9\t30", "zero"),
                                              ("-1e-9\t1e-9", "")])
def test_angle_limits_must_allow_zero(angles: str, code: str) -> None:
    case = read(change("\t1\t-30\t30", f"\t1\t{angles}"))
    for operator in ("dc", "dc-switch"):
        for attack in (False, True):
            if code:
                refused("angle-limit-excludes-zero", power_network, case, operator, power.MODEL, attack)
            else:
                power_network(case, operator, power.MODEL, attack)
            power_network(case, operator, {**power.MODEL, "angle_limits": "ignored"}, attack)


@pytest.mark.parametrize(("operator", "model"),
                         [("ac", {}), ("nothing", {}), ("transport", {}), ("dc", {"pmin": "enforced"}), ("dc", {"angle_limits": "maybe"}),
                                                 ("dc", {"dispatchable": "free"}), ("dc", {"shunts": "ignored"})])
def test_conventions_that_are_not_known(operator: str, model: dict[str, str]) -> None:
    refused("feature-unsupported", power_network, read(BASE), operator, {**power.MODEL, **model}, False)


@pytest.mark.parametrize(("pmax", "pmin"),
                         [("-1", "-5"), ("10", "11"), ("10", "-Inf"), ("-1e-9", "-1e-9"), ("10", "Inf"), ("-Inf", "-Inf"), ("Inf", "Inf")])
def test_units_that_are_not_covered(pmax: str, pmin: str) -> None:
    case = read(change("\t160\t0;", f"\t{pmax}\t{pmin};"))
    for operator in ("transport", "dc-switch", "dc"):
        for dispatchable in ("counted", "uncounted"):
            model = {**power.MODEL, "angle_limits": "ignored", "dispatchable": dispatchable}
            refused("feature-unsupported", power_network, case, operator, model, False)
    power_network(read(change("\t1\t160\t0;", f"\t0\t{pmax}\t{pmin};")), "dc", power.MODEL, False)  # out of service: no matter
