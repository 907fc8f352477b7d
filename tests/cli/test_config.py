# SPDX-License-Identifier: Apache-2.0
"""`prove --config`: a file says what --set would say, to the digit; its errors name the file, the key and what to do."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from certify.cli import main

ROOT = Path(__file__).resolve().parents[2]
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Return a function that runs a command in this process, in a folder with the digits in a folder of their own."""
    shutil.copytree(ROOT / "examples/digits", tmp_path / "digits")
    monkeypatch.chdir(tmp_path)

    def call(*words: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["certify", *words])
        status = main._run()
        said = capsys.readouterr()
        return status, said.out, said.err

    return call


def asked(run: Run, text: str, *words: str) -> Any:
    """Return what a dry run of `robust` says to a file of settings."""
    Path("certify.toml").write_text(text, "utf-8")
    status, out, err = run("prove", "robust", "digits/digits.onnx", "digits/images.npy", "--config", "certify.toml", *words, "--dry-run")
    assert status == 0, err
    return json.loads(out)


def refused(run: Run, text: str, *words: str) -> str:
    """Return the error of a file of settings that must be one: two lines, exit status 2."""
    Path("certify.toml").write_text(text, "utf-8")
    status, out, err = run("prove", "robust", *words, "--config", "certify.toml", "-o", "out.cert")
    assert status == 2 and not out and err.startswith("error: ") and len(err.splitlines()) == 2
    assert not Path("out.cert").exists()
    return err


def test_a_file_and_settings_give_the_same_certificate(run: Run) -> None:
    assert run("prove", "robust", "--config", "digits/certify.toml", "-o", "a.cert")[0] == 0
    words = [word for pair in ("row=3", "radius=1", "scale=1/16", "clip=[0,1]") for word in ("--set", pair)]
    assert run("prove", "robust", "digits/digits.onnx", "digits/images.npy", *words, "-o", "b.cert")[0] == 0
    assert Path("a.cert").read_bytes() == Path("b.cert").read_bytes()


def test_numbers_are_the_digits_of_the_file(run: Run) -> None:
    given = asked(run, "[robust]\nrow = 1_1\nradius = 0.1\nscale = 1e-3\nclip = [-0.0, \"1/3\"]\nsubtract = 1_0.5\n")["given"]
    assert given == {"row": 11, "radius": "1/10", "scale": "1/1000", "clip": ["0", "1/3"], "subtract": "21/2", "divide": "1", "norm": "linf",
                     "radius_unit": "raw", "label": given["label"], "semantics": "real"}
    third = "0.333333333333333333333333333333333333"
    assert asked(run, f"[robust]\nrow = 0x3\nradius = {third}\n")["given"]["radius"] == f"{third[2:]}/1{'0' * 36}".replace("333/1000", "333/1000")
    told = asked(run, '[robust]\nrow = 3\nradius = "max"\nholds = true\nboxes = 500\nclip = "null"\n')
    assert told["given"]["radius"] == "max" and told["says"] == {"holds": True} and told["options"]["boxes"] == "500"


def test_the_command_line_counts_more(run: Run) -> None:
    text = '[prove]\ntime-limit = "10m"\nworkers = 2\nseed = 5\n[robust]\nrow = 3\nradius = 1\n'
    told = asked(run, text)
    assert (told["time_limit"], told["workers"], told["seed"], told["given"]["row"]) == (600.0, 2, 5, 3)
    told = asked(run, text, "--set", "row=4", "--time-limit", "5s", "--workers", "1", "--seed", "0", "-o", "other.cert")
    assert (told["time_limit"], told["workers"], told["seed"], told["given"]["row"], told["output"]) == (5.0, 1, 0, 4, "other.cert")
    told = asked(run, "[prove]\ntime-limit = 90\n[robust]\nrow = 3\nradius = 1\n")
    assert (told["time_limit"], told["workers"], told["seed"]) == (90.0, 1, 0)


def test_files_are_relative_to_the_file_of_settings(run: Run) -> None:
    status, out, _ = run("prove", "robust", "--config", "digits/certify.toml", "--dry-run")
    assert status == 0 and json.loads(out)["files"] == {"model": ["digits/digits.onnx"], "points": ["digits/images.npy"]}
    status, out, _ = run("prove", "robust", "--config", "digits/certify.toml", "--set", "points=digits/labels.npy", "--set", "row=0")
    assert status == 2  # the labels are no points of this network: the file on the command line was taken
    status, out, _ = run("prove", "robust", "digits/digits.onnx", "--set", "labels=digits/labels.npy", "--config", "digits/certify.toml", "--dry-run")
    assert json.loads(out)["files"] == {"model": ["digits/digits.onnx"], "points": ["digits/images.npy"], "labels": ["digits/labels.npy"]}
    shutil.copy("digits/digits.onnx", "other.onnx")
    status, out, _ = run("prove", "robust", "other.onnx", "--config", "digits/certify.toml", "--dry-run")
    assert json.loads(out)["files"] == {"model": ["other.onnx"], "points": ["digits/images.npy"]}


def test_one_file_serves_several_claims(run: Run) -> None:
    assert asked(run, "[robust]\nrow = 3\nradius = 1\n[region]\nnonsense = 1\n")["kind"] == "robust"
    status, out, _ = run("prove", "accuracy", "--config", "digits/certify.toml", "--dry-run")
    assert status == 0 and json.loads(out)["files"]["labels"] == ["digits/labels.npy"]


@pytest.mark.parametrize(("text", "wanted"), [
    ("[robust]\nradus = 1\n", ("setting-unknown: robust has no setting 'radus' (certify.toml: [robust] radus)", "did you mean 'radius'?")),
    ("[robustt]\nradius = 1\n", ("setting-unknown: there is no claim of kind 'robustt' (certify.toml: [robustt])", "did you mean [robust]?")),
    ("[x]\n", ("there is no claim of kind 'x'", "tables are [prove] and the kinds: accuracy, region, robust")),
    ("radius = 1\n", ("setting-unknown: 'radius' stands in no table (certify.toml)", "below [prove] or [robust]")),
    ("[prove]\ntimelimit = 1\n", ("setting-unknown: [prove] has no setting 'timelimit'", "did you mean 'time-limit'?")),
    ("[prove]\nout = 1\n", ("setting-unknown", "its settings are time-limit, workers, seed")),
    ("[prove]\nworkers = 0\n", ("setting-value: workers = 0: not an integer from 1 to 256 (certify.toml: [prove] workers)",)),
    ("[prove]\nseed = 1.5\n", ("setting-value: seed = 1.5", "[prove] seed")),
    ('[prove]\ntime-limit = "soon"\n', ("setting-value: time-limit = soon: not a time (certify.toml: [prove] time-limit)",)),
    ('[robust]\nrow = 1\nradius = "much"\n', ("setting-value: radius=much: not a number (certify.toml: [robust] radius)", "such as 1/20")),
    ("[robust]\nrow = 1\nradius = nan\n", ("setting-value: radius=nan",)),
    ("[robust]\nrow = 1\nradius = 2020-01-01\n", ("setting-value: a value is a number, a text", "(certify.toml: [robust] radius)")),
    ("[robust]\nrow = 1\nradius = 1\nclip = [[0, 1]]\n", ("setting-value", "[robust] clip")),
    ('[robust]\nrow = 1\nradius = 1\nclip = ["0,1"]\n', ("setting-value", "[robust] clip")),
    ("[robust]\nrow = 1\nradius = 1\nclip.low = 0\n", ("setting-value", "[robust] clip")),
    (f"[robust]\nrow = 0x{'f' * 5000}\n", ("setting-value: an integer of too many digits",)),
    ("[robust]\nrow = 1\nradius = 0\n", ("radius-sign", "(certify.toml: [robust] radius)")),
    ("[robust]\nrow = 1\nradius = 1\nboxes = 0\n", ("setting-value: boxes=0", "(certify.toml: [robust] boxes)")),
    ("[robust]\nrow = 1\nradius = 1\nlabels = 7\n", ("setting-value: labels takes the path of a file (certify.toml: [robust] labels)",)),
    ('[robust]\nrow = 1\nradius = 1\nlabels = "none.npy"\n', ("file-unreadable: can't read none.npy", "(certify.toml: [robust] labels)")),
    ("[robust]\nrow =\n", ("config-syntax: Invalid value (at line 2, column 6) (certify.toml)",)),
    ("[robust]\nrow = 1\nrow = 2\n", ("config-syntax: Cannot overwrite a value (at line 3",)),
    ("[robust", ("config-syntax", "at line 1, the end")),
    (f"[robust]\nrow = {'[' * 20000}\n", ("config-syntax: the brackets are nested too deep",)),
])
def test_errors_name_the_file_the_key_and_what_to_do(run: Run, text: str, wanted: tuple[str, ...]) -> None:
    err = refused(run, text, "digits/digits.onnx", "digits/images.npy")
    assert all(part in err for part in wanted), err


def test_errors_of_the_command_line_do_not_blame_the_file(run: Run) -> None:
    err = refused(run, "[robust]\nrow = 1\nradius = 1\n", "digits/digits.onnx", "digits/images.npy", "--set", "radius=much")
    assert "--set radius=much: not a number" in err and "certify.toml" not in err


def test_files_that_are_no_settings(run: Run) -> None:
    for data, wanted in ((b"[robust]\nrow = 1 # \xff\n", "config-syntax: not UTF-8 (at line 2)"), (b"#" * (1 << 21), "config-syntax: 2097152 bytes")):
        Path("certify.toml").write_bytes(data)
        status, _, err = run("prove", "robust", "--config", "certify.toml")
        assert status == 2 and wanted in err
    status, _, err = run("prove", "robust", "--config", "none.toml")
    assert status == 2 and "file-unreadable: can't read none.toml" in err
    status, out, _ = run("prove", "robust", "--config", "none.toml", "--json")
    assert status == 2 and json.loads(out)["code"] == "file-unreadable"
