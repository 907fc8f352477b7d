# SPDX-License-Identifier: Apache-2.0
"""`certify convert matpower` and `certify generate matpower`: the network stays the same, no row is lost, what is dropped is said."""

from __future__ import annotations

import io
import json
import random
from collections.abc import Iterator
from math import inf, pi, sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from certify.errors import CertifyError
from certify.limits import Limits
from certify.readers.matpower import Case, read_case
from certify_problems.grid.convert import matpower
from cli.test_bad_input import refused, run
from kinds.grid_hand import triangle
from power_networks import MODEL, Branch, Bus, Grid, Transport, Unit, plain

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT.parent / "shared/data/grid"
published = pytest.mark.skipif(not DATA.is_dir(), reason="the folder ../shared/data/grid with published networks is missing")


def converted(folder: Path, name: str, data: bytes | str) -> tuple[Case, list[str], bytes]:
    """Return the case that a file converts to, what was said, and its bytes."""
    path = folder / name
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    made, said = matpower([path])
    return read_case(made, Limits()), said, made


def trouble(folder: Path, name: str, data: bytes | str) -> CertifyError:
    """Return the error with which a file is not converted."""
    with pytest.raises(CertifyError) as found:
        converted(folder, name, data)
    assert found.value.where.startswith(name) and found.value.fix
    return found.value


@published
@pytest.mark.parametrize("path", sorted((DATA / "pglib").glob("*.m")) if DATA.is_dir() else [], ids=lambda path: path.stem)
def test_published_cases_stay_the_same_network(path: Path, tmp_path: Path) -> None:
    case, said, data = converted(tmp_path, "case.m", path.read_bytes())
    assert case == read_case(path.read_bytes(), Limits())
    assert f"{len(case.branches)} branches were kept" in said[-1]
    again, _, same = converted(tmp_path, "case.m", data)
    assert again == case and same == data
    if "500_goc" in path.stem:
        assert said[-1] == "500 buses, 224 units and 733 branches were kept; out of service are 53 of the units and 5 of the branches"


@published
@pytest.mark.parametrize("path", sorted((DATA / "odd").glob("*.m")) if DATA.is_dir() else [], ids=lambda path: path.stem)
def test_odd_cases_mean_what_the_strict_reader_says_or_are_refused(path: Path, tmp_path: Path) -> None:
    recovered = {"odd_block_comment", "odd_no_version", "odd_old_format"}
    try:
        strict: Case | None = read_case(path.read_bytes(), Limits())
    except CertifyError:
        strict = None
    if strict is None and path.stem not in recovered:
        assert trouble(tmp_path, "case.m", path.read_bytes()).exit_status in (2, 3)
        return
    case, _, _ = converted(tmp_path, "case.m", path.read_bytes())
    assert strict is None or case == strict


TEXT = triangle().data().decode()


@pytest.mark.parametrize(("old", "new", "code"), [
    ("mpc.version", "mpc.bus(:, 3) = mpc.bus(:, 3) / 1e3;\nmpc.version", "case-code"),
    ("mpc.version", "x = 3;\nmpc.version", "case-code"),
    ("mpc.version", "if true, end\nmpc.version", "case-code"), ("];\n", "]';\n", "case-code"), ("];\n", "] * 2;\n", "case-code"),
    ("mpc.version", "mpc.dcline = [1 2 1 10 10];\nmpc.version", "feature-unsupported"),
    ("mpc.version", "mpc.if = struct();\nmpc.version", "case-code"),
    ("mpc.version", "mpc.if = [1 2];\nmpc.version", "feature-unsupported"), ("mpc.version", "mpc.branch = [1];\nmpc.version", "case-twice"),
    ("\t60\t", "\t60-1\t", "case-literal"), ("\t60\t", "\t1/3\t", "case-literal"), ("\t60\t", "\tNaN\t", "case-literal"),
    ("\t60\t", "\t0x10\t", "case-literal"), ("\t60\t", "\t\t", "case-row"), ("function mpc = ", "% \x0c\nfunction mpc = ", "case-code"),
    ("function mpc = ", "% \r 1 2\nfunction mpc = ", "case-code"), ("function mpc = ", "% \u2028\nfunction mpc = ", "case-code"),
    ("function", "%{\nfunction", "case-code"), ("function mpc", "mpc", "case-version"), ("mpc.baseMVA", "mpc.base", "case-reference"),
    ("mpc.version", "mpc.note = 'open;\nmpc.version", "case-code"), ("\t1\t2\t", "\t1\t77\t", "case-reference")])
def test_what_can_not_be_converted_is_refused(old: str, new: str, code: str, tmp_path: Path) -> None:
    assert old in TEXT
    found = trouble(tmp_path, "case.m", TEXT.replace(old, new, 1))
    assert found.code == code, (found.code, str(found))


def test_forms_that_the_strict_reader_refuses_are_put_right(tmp_path: Path) -> None:
    strict = read_case(TEXT.encode(), Limits())
    other = TEXT.replace("function mpc", "function net").replace("mpc.", "net.").replace("\n", "\r\n")
    other = other.replace("net.version = '2';", "%{\nnothing\n%}\nnet.note = 'what it''s for';\nnet.gencost = [2 0 0 3 1 1 0];\n"
                                                "net.version = \"2\"; net.genfuel = {'a'; 'b'};")
    with pytest.raises(CertifyError):
        read_case(other.encode(), Limits())
    case, said, data = converted(tmp_path, "case.m", b"\xef\xbb\xbf% Licence: CC0\r\n" + other.encode())
    assert case == strict and b"% Licence: CC0\n" in data and b"\r" not in data
    assert [line for line in said if "dropped" in line] == ["note was dropped: it is a text", "mpc.gencost was dropped: no claim reads it",
                                                            "mpc.genfuel was dropped: no claim reads it"]


def test_infinities_and_statuses_are_written_as_matpower_takes_them(tmp_path: Path) -> None:
    text = TEXT.replace("\t60\t", "\tInf\t", 1).replace("-360\t360;", "-Inf\tInf;", 1)
    case, said, _ = converted(tmp_path, "case.m", text)
    assert case.branches[0].rate == 0 and case.branches[0].angle_max == 360 and case.branches[0].angle_min == -360
    assert any(line.startswith("a rating of Inf was written as 0") for line in said)
    row = triangle().data().decode().split("mpc.gen = [\n")[1].split("\n")[0]
    fields = row.strip().rstrip(";").split("\t")
    fields[5], fields[7] = "NaN", "2"
    case, said, _ = converted(tmp_path, "case.m", TEXT.replace(row, "\t" + "\t".join(fields) + ";", 1))
    assert case.units[0].in_service and any("status of gen" in line for line in said) and any("NaN or Inf in columns of gen" in line for line in said)


def arrays(text: bytes) -> dict[str, Any]:
    """Return a case as a PYPOWER dictionary."""
    case = read_case(text, Limits())
    return {
        "version": "2", "baseMVA": float(case.base_mva),
        "bus": np.array([[b.number, b.type, b.pd, b.qd, b.gs, b.bs, 1, 1, 0, 230, 1, b.vmax, b.vmin] for b in case.buses], float),
        "gen": np.array([[u.bus, 0, 0, u.qmax, u.qmin, 1, 100, u.in_service, u.pmax, u.pmin, *[0] * 11] for u in case.units], float),
        "branch": np.array([[b.from_bus, b.to_bus, b.r, b.x, b.b, b.rate, 0, 0, b.ratio, b.shift, b.in_service, b.angle_min, b.angle_max]
                            for b in case.branches], float),
    }


def test_dictionaries_as_json_npz_and_mat(tmp_path: Path) -> None:
    data = triangle().data()
    strict, ppc = read_case(data, Limits()), arrays(data)
    listed = {key: value.tolist() if isinstance(value, np.ndarray) else value for key, value in ppc.items()}
    case, said, _ = converted(tmp_path, "case.json", json.dumps(listed))
    assert case == strict and any(line.startswith("columns 11 to 21 of gen were dropped") for line in said)
    exact = json.dumps(listed).replace("60.0", "60.10000000000000000001", 1)
    assert str(converted(tmp_path, "case.json", exact)[0].branches[0].rate.limit_denominator(10**30)) != "601/10"
    stream = io.BytesIO()
    np.savez(stream, **ppc)
    assert converted(tmp_path, "case.npz", stream.getvalue())[0] == strict
    savemat = pytest.importorskip("scipy.io", reason=".mat files need scipy").savemat
    for content in ({"mpc": ppc}, {"ppc": ppc}, ppc):
        stream = io.BytesIO()
        savemat(stream, content)
        assert converted(tmp_path, "case.mat", stream.getvalue())[0] == strict


def test_files_that_hold_no_case(tmp_path: Path) -> None:
    stream = io.BytesIO()
    np.savez(stream, bus=np.array([{"a": 1}], object))
    for name, data, code in (("a.json", "{", "file-unreadable"), ("a.json", "[1]", "setting-value"), ("a.json", '{"bus": 1}', "setting-value"),
                             ("a.json", "[" * 100_000, "file-unreadable"), ("a.npz", b"PK", "file-unreadable"),
                             ("a.npz", stream.getvalue(), "file-unreadable"),
                             ("a.mat", b"x" * 300, "file-unreadable"), ("a.py", "import os", "setting-value"), ("a.txt", "", "setting-value"),
                             ("a.m", "", "case-version"), ("a.json", '{"bus": [["x"]], "gen": [], "branch": [], "baseMVA": 100}', "case-literal"),
                             ("a.json", '{"bus": [[1]], "gen": [], "branch": []}', "case-reference")):
        assert trouble(tmp_path, name, data).code == code, (name, data)


def net(**changes: Any) -> dict[str, dict[str, list[Any]]]:
    """Return a pandapower network as frames of columns: 110 kV buses 0 to 2 and 4, joined with 2 by a switch, and a 20 kV bus 3."""
    frames: dict[str, dict[str, list[Any]]] = {
        "bus": {"vn_kv": [110.0, 110.0, 110.0, 20.0, 110.0], "in_service": [True] * 5},
        "line": {"from_bus": [0, 0, 1], "to_bus": [1, 2, 2], "length_km": [10.0, 20.0, 5.0], "r_ohm_per_km": [0.1] * 3, "x_ohm_per_km": [0.4] * 3,
                 "c_nf_per_km": [9.0] * 3, "max_i_ka": [0.3, None, 0.3], "df": [1.0] * 3, "parallel": [1, 1, 2], "in_service": [True, True, False]},
        "trafo": {"hv_bus": [4], "lv_bus": [3], "sn_mva": [40.0], "vn_hv_kv": [110.0], "vn_lv_kv": [20.0], "vk_percent": [10.0], "vkr_percent": [0.5],
                  "tap_side": ["hv"], "tap_pos": [2], "tap_neutral": [0], "tap_step_percent": [1.5],
                  "tap_changer_type": ["Ratio"],
                  "shift_degree": [150.0], "parallel": [1], "df": [1.0], "in_service": [True], "i0_percent": [0.1]},
        "load": {"bus": [1, 3, 4], "p_mw": [30.0, 20.0, 5.0], "q_mvar": [3.0, 2.0, 0.0], "scaling": [1.0, 0.5, 1.0],
                 "in_service": [True, True, False]},
        "sgen": {"bus": [3], "p_mw": [4.0], "q_mvar": [0.0], "scaling": [1.0], "in_service": [True]},
        "gen": {"bus": [2], "p_mw": [10.0], "max_p_mw": [50.0], "min_p_mw": [5.0], "in_service": [False]},
        "ext_grid": {"bus": [0], "in_service": [True]},
        "shunt": {"bus": [1], "p_mw": [2.0], "q_mvar": [-10.0], "vn_kv": [55.0], "step": [1], "in_service": [True]},
        "switch": {"bus": [2], "element": [4], "et": ["b"], "closed": [True], "z_ohm": [0.0]},
    }
    for name, columns in changes.items():
        frames[name] = {**frames.get(name, {}), **columns}
    return frames


def pandapower_json(frames: dict[str, dict[str, list[Any]]], **scalars: Any) -> str:
    """Return the JSON that pandapower.to_json writes for frames."""
    content: dict[str, Any] = {"sn_mva": 100.0, "f_hz": 50.0, "name": "net", **scalars}
    for name, columns in frames.items():
        rows = [list(row) for row in zip(*columns.values(), strict=True)]
        content[name] = {"_module": "pandas.core.frame", "_class": "DataFrame", "orient": "split",
                         "_object": json.dumps({"columns": list(columns), "index": list(range(len(rows))), "data": rows})}
    return json.dumps({"_module": "pandapower.auxiliary", "_class": "pandapowerNet", "_object": content})


def test_a_pandapower_network(tmp_path: Path) -> None:
    case, said, _ = converted(tmp_path, "net.json", pandapower_json(net()))
    assert [(bus.number, bus.type, float(bus.pd), float(bus.gs), float(bus.bs)) for bus in case.buses] == [
        (1, 3, 0, 0, 0), (2, 1, 30, 8, 40), (3, 2, 0, 0, 0), (4, 2, 10, 0, 0)]
    assert [(unit.bus, unit.in_service, unit.pmin, unit.pmax) for unit in case.units] == [(3, False, 5, 50), (1, True, 0, inf), (4, True, 0, 4)]
    assert [(line.from_bus, line.to_bus, line.in_service) for line in case.branches] == [(1, 2, True), (1, 3, True), (2, 3, False), (3, 4, True)]
    first, second, third, trafo = case.branches
    assert float(first.x) == pytest.approx(4 / 121, rel=1e-11) and str(float(first.rate)) == f"{sqrt(3) * 110 * 0.3:.6g}" == "57.1577"
    assert float(first.b) == pytest.approx(2 * pi * 50 * 90e-9 * 121, rel=1e-11) and second.rate == 0
    assert float(third.x) == pytest.approx(1 / 121, rel=1e-11) and float(third.rate) == pytest.approx(2 * sqrt(3) * 110 * 0.3, rel=1e-5)
    assert float(trafo.x) == pytest.approx(sqrt(0.25**2 - 0.0125**2), rel=1e-11) and (float(trafo.ratio), trafo.shift, trafo.rate) == (1.03, 150, 40)
    for words in ("1 buses were joined", "1 external grids without max_p_mw", "1 lines of several parallel", "1 lines without max_i_ka",
                  "1 transformers shift the phase", "iron losses of 1 transformers", "rows of branch: 1 to 3 are net.line, 4 to 4 are net.trafo"):
        assert any(line.startswith(words) for line in said), words


@pytest.mark.parametrize(("changes", "code"), [
    ({"trafo3w": {"hv_bus": [0], "in_service": [True]}}, "feature-unsupported"),
    ({"dcline": {"from_bus": [0], "in_service": [True]}}, "feature-unsupported"),
    ({"storage": {"bus": [0], "in_service": [True]}}, "feature-unsupported"), ({"gen": {"max_p_mw": [None], "in_service": [True]}}, "case-literal"),
    ({"load": {"bus": [1, 3, 9]}}, "case-reference"),
    ({"line": {"from_bus": [4, 0, 1]}, "switch": {"bus": [1], "element": [4]}}, "case-reference"),
    ({"switch": {"z_ohm": [0.1]}}, "feature-unsupported"), ({"trafo": {"tap_changer_type": ["Ideal"]}}, "feature-unsupported"),
    ({"trafo": {"sn_mva": [0.0]}}, "case-reference"), ({"trafo": {"vkr_percent": [11.0]}}, "case-reference"),
    ({"bus": {"vn_kv": [0.0] * 5}}, "case-reference"),
    ({"line": {"parallel": [0, 1, 1]}}, "case-reference"), ({"line": {"x_ohm_per_km": [None] * 3}}, "case-literal"),
    ({"trafo": {"tap_step_percent": [-50.0]}}, "case-reference"), ({"line": {"length_km": ["1e400", 1, 1]}}, "case-literal"),
    ({"impedance": {"from_bus": [0], "to_bus": [1], "rft_pu": [0.1], "xft_pu": [0.1], "rtf_pu": [0.1], "xtf_pu": [0.2], "sn_mva": [1.0],
                    "in_service": [True]}}, "feature-unsupported")])
def test_networks_that_a_case_can_not_hold(changes: dict[str, Any], code: str, tmp_path: Path) -> None:
    assert trouble(tmp_path, "net.json", pandapower_json(net(**changes))).code == code


def test_parts_out_of_service_open_switches_and_impedances(tmp_path: Path) -> None:
    frames = net(trafo3w={"hv_bus": [0], "in_service": [False]},
                 switch={"bus": [0], "element": [1], "et": ["l"], "closed": [False], "z_ohm": [None]},
                 impedance={"from_bus": [0], "to_bus": [4], "rft_pu": [0.01], "xft_pu": [0.1], "rtf_pu": [0.01], "xtf_pu": [0.1], "sn_mva": [50.0],
                            "in_service": [True]}, bus={"in_service": [True, True, True, True, False]})
    case, said, _ = converted(tmp_path, "net.json", pandapower_json(frames))
    assert [line.in_service for line in case.branches] == [True, False, False, True, True] and float(case.branches[4].x) == pytest.approx(0.2)
    assert [bus.type for bus in case.buses] == [3, 1, 2, 2, 4]
    assert any(line.startswith("1 lines or transformers with an open switch") for line in said)


def test_broken_networks_are_refused(tmp_path: Path) -> None:
    good = pandapower_json(net())
    for data in (good.replace('"columns', '"colums', 1).replace('\\"columns', '\\"colums', 1), good.replace("pandapowerNet", "Net"),
                 json.dumps({"_class": "pandapowerNet", "_object": 3}), good.replace('"sn_mva": 100.0', '"sn_mva": 0', 1),
                 good.replace('"sn_mva": 100.0', '"sn_mva": null', 1)):
        assert trouble(tmp_path, "net.json", data).exit_status in (2, 3)


def test_the_command_converts_checks_and_loses_nothing(tmp_path: Path) -> None:
    (tmp_path / "net.json").write_text(pandapower_json(net()))
    done = run(tmp_path, "convert", "matpower", "net.json", "-o", "case.m")
    assert done.returncode == 0 and done.stdout.startswith("wrote     case.m (")
    assert "          bus k of pandapower has the number k + 1\n" in done.stdout
    assert run(tmp_path, "convert", "matpower", "net.json", "-o", "case.m", "--check").stdout == "same      case.m is what the inputs convert to\n"
    assert run(tmp_path, "convert", "matpower", "net.json", "-o", "case.m").returncode == 0
    (tmp_path / "other.m").write_text(TEXT)
    refused(tmp_path, 2, "convert-differs", "convert", "matpower", "net.json", "-o", "other.m", "--check")
    refused(tmp_path, 2, "output-taken", "convert", "matpower", "net.json", "-o", "net.json")
    (tmp_path / "notes.txt").write_text("notes")
    refused(tmp_path, 2, "output-taken", "convert", "matpower", "net.json", "-o", "notes.txt")
    refused(tmp_path, 2, "role-extra", "convert", "matpower", "net.json", "case.m", "-o", "new.m")
    refused(tmp_path, 2, "file-unreadable", "convert", "matpower", "missing.m", "-o", "new.m")
    (tmp_path / "notes.m").write_text(TEXT + "mpc.bus(1, 3) = 5;\n")
    assert "notes.m: line" in refused(tmp_path, 3, "case-code", "convert", "matpower", "notes.m", "-o", "new.m")
    refused(tmp_path, 2, "setting-value", "convert", "pdf", "net.json", "-o", "new.m")


@pytest.mark.parametrize(("buses", "lines", "seed"), [(2, 1, 0), (2, 3, 1), (5, 6, 2), (6, 9, 3), (6, 5, 4)])
def test_random_networks_serve_everything_while_nothing_is_attacked(buses: int, lines: int, seed: int, tmp_path: Path) -> None:
    words = [f"--set={key}={value}" for key, value in (("buses", buses), ("lines", lines), ("seed", seed))]
    assert run(tmp_path, "generate", "matpower", *words, "-o", "a.m").returncode == 0
    assert run(tmp_path, "generate", "matpower", *words, "-o", "b.m").returncode == 0
    data = (tmp_path / "a.m").read_bytes()
    case = read_case(data, Limits())
    assert data == (tmp_path / "b.m").read_bytes() and (len(case.buses), len(case.branches)) == (buses, lines)
    grid = Grid([Bus(bus.number, bus.pd, bus.gs, bus.type) for bus in case.buses],
                [Unit(unit.bus, unit.pmax, unit.pmin) for unit in case.units],  # type: ignore[arg-type]
                [Branch(line.from_bus, line.to_bus, line.rate, line.x) for line in case.branches])
    assert Transport(plain(grid, "transport", {**MODEL, "angle_limits": "ignored"})).shed(()) == 0


def test_settings_of_the_generator(tmp_path: Path) -> None:
    refused(tmp_path, 2, "setting-missing", "generate", "matpower", "--set", "buses=5", "-o", "a.m")
    refused(tmp_path, 2, "setting-value", "generate", "matpower", "--set", "buses=5", "--set", "lines=3", "-o", "a.m")
    refused(tmp_path, 2, "setting-value", "generate", "matpower", "--set", "buses=1", "--set", "lines=3", "-o", "a.m")
    refused(tmp_path, 2, "setting-unknown", "generate", "matpower", "--set", "nodes=1", "-o", "a.m")
    refused(tmp_path, 2, "setting-value", "generate", "onnx", "-o", "a.onnx")
    (tmp_path / "notes.txt").write_text("notes")
    refused(tmp_path, 2, "output-taken", "generate", "matpower", "--set", "buses=5", "--set", "lines=6", "-o", "notes.txt")
    refused(tmp_path, 73, "output-unwritable", "generate", "matpower", "--set", "buses=5", "--set", "lines=6", "-o", "missing/a.m")


PIECES = (b"'", b'"', b"%", b"%{\n", b"%}\n", b"...", b"[", b"]", b";", b",", b"\n", b"\r\n", b"\r", b"=", b"{", b"}", b"(", b"mpc.", b"NaN", b"Inf",
          b"-", b".", b"e5", b"1 -2", b"]'", b"\xe2\x80\xa8", b"\x85", b"mpc.bus = [1];", b"end\n", b"\x00", b"0")


def mutants(data: bytes, count: int, seed: int) -> Iterator[bytes]:
    """Yield copies with a few pieces put in, cut out or doubled."""
    draw = random.Random(seed)
    for _ in range(count):
        made = data
        for _ in range(draw.randint(1, 3)):
            at, end = draw.randrange(len(made)), draw.randrange(1, 12)
            made = made[:at] + draw.choice((draw.choice(PIECES), b"", made[at : at + end] * 2)) + made[at + draw.choice((0, end)) :]
        yield made


def agreed(data: bytes, folder: Path) -> bool:
    """Return whether both readers take a file; require then that they read the same."""
    try:
        strict: Case | None = read_case(data, Limits())
    except CertifyError:
        strict = None
    try:
        case, _, _ = converted(folder, "case.m", data)
    except CertifyError:
        return False
    assert strict is None or case == strict, data
    return strict is not None


def test_mutants_of_a_case_are_refused_or_read_as_the_strict_reader_does(tmp_path: Path) -> None:
    assert sum(agreed(data, tmp_path) for data in mutants(TEXT.encode(), 400, 1)) > 10


def test_mutants_of_a_network_are_refused_or_converted(tmp_path: Path) -> None:
    done = 0
    for data in mutants(pandapower_json(net()).encode(), 300, 2):
        try:
            converted(tmp_path, "net.json", data)
            done += 1
        except CertifyError as trouble:
            assert trouble.code and trouble.fix
    assert done > 10
