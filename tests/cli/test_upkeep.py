# SPDX-License-Identifier: Apache-2.0
"""`doctor`, `selftest`, `diff` and `completion`: they tell the truth about an installation and about certificates."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from certify.cli import main
from certify.cli import selftest as module
from certify.cli.main import cli
from kinds.region_vectors import bases


def run(*words: str) -> tuple[int, str]:
    """Run a command and return its exit status and output."""
    done = CliRunner().invoke(cli, list(words))
    return done.exit_code, done.output


def test_selftest_passes_here_and_fails_where_a_vector_gives_another_verdict(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    status, text = run("selftest", "container")
    assert status == 0 and text.startswith("passed")
    shutil.copytree(module.vectors() / "container", tmp_path / "container")
    index = json.loads((tmp_path / "container/index.json").read_text("utf-8"))
    entry = next(entry for entry in index if entry["verdict"] == "verified")
    bad = tmp_path / "container/verified" / f"{entry['name']}.cert"
    bad.write_bytes(bad.read_bytes()[:-1])
    monkeypatch.setattr(module, "vectors", lambda: tmp_path)
    status, text = run("selftest", "--json")
    told = json.loads(text)
    assert status == 70 and told["verdict"] == "failed" and told["wrong"] == [f"container/verified/{entry['name']}: rejected malformed, not verified"]
    assert told["vectors"] == {"container": len(index)}


def test_doctor_lists_versions_and_says_what_brings_a_missing_package(monkeypatch: pytest.MonkeyPatch) -> None:
    status, text = run("doctor", "--json")
    told = json.loads(text)
    assert status == 0 and told["packages"]["numpy"] == np.__version__ and "crown" in told["provers"]
    monkeypatch.setattr("certify.cli.doctor._version", lambda name: None if name in ("onnxruntime", "python-flint") else "1")
    status, text = run("doctor")
    assert status == 3 and 'pip install "certify-engine[nn]"' in text and "can't run: pip install python-flint" in text


def test_diff_names_fields_arrays_and_nothing_for_equal_certificates(tmp_path: Path) -> None:
    split = bases().split
    (tmp_path / "a.cert").write_bytes(split.seal())
    assert run("diff", str(tmp_path / "a.cert"), str(tmp_path / "a.cert")) == (0, "the certificates are the same\n")
    other = split.copy()
    other.given["semantics"] = "exec32"
    other.arrays["split_at"] = other.arrays["split_at"] + 0.25
    other.arrays.pop("recompute")
    (tmp_path / "b.cert").write_bytes(other.seal())
    status, text = run("diff", str(tmp_path / "a.cert"), str(tmp_path / "b.cert"), "--json")
    told = {entry["field"]: (entry["left"], entry["right"]) for entry in json.loads(text)["differences"]}
    assert status == 1 and told["given semantics"] == ("real", "exec32")
    assert told["evidence array split_at at 0"] == ([float(split.arrays["split_at"][0])], [float(split.arrays["split_at"][0]) + 0.25])
    assert told["evidence array recompute"][1] is None and len(told) == 3
    assert "given semantics\n    - real\n    + exec32" in run("diff", str(tmp_path / "a.cert"), str(tmp_path / "b.cert"))[1]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts_name_the_program(shell: str) -> None:
    status, text = run("completion", shell)
    assert status == 0 and "_CERTIFY_COMPLETE" in text


def test_completion_completes(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("_CERTIFY_COMPLETE", "bash_complete")
    for words, position, wanted in (("certify ver", "1", "verify"), ("certify prove --time", "2", "--time-limit"),
                                    ("certify completion z", "2", "zsh")):
        monkeypatch.setenv("COMP_WORDS", words)
        monkeypatch.setenv("COMP_CWORD", position)
        assert main._run() == 0
        assert f"plain,{wanted}" in capsys.readouterr().out.splitlines()
