# SPDX-License-Identifier: Apache-2.0
"""Statuses: 0 is a verdict or what was asked for, 130 an interrupt, and a fault of the user is never an internal error."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from certify.cli import selftest as module
from certify.cli.main import cli
from cli.test_bad_input import CERTIFY, _path, refused, run
from kinds.region_vectors import bases

CHECK = [sys.executable, "-m", "certify.cli.check"]
SUBJECTS = ("--subject", "ramp.onnx", "--subject", "ramp.vnnlib")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a certificate, its subjects and a damaged certificate."""
    for name, data in bases().leaf.files.values():
        (tmp_path / name).write_bytes(data)
    (tmp_path / "ok.cert").write_bytes(bases().leaf.seal())
    (tmp_path / "bad.cert").write_bytes(bases().leaf.seal()[:-1])
    return tmp_path


def check(folder: Path, *words: str, before: str = "") -> subprocess.CompletedProcess[str]:
    """Run certify-check in a folder, behind commands of a shell."""
    command = ["bash", "-c", f'{before} exec "$@"', "bash"] if before else []
    done = subprocess.run([*command, *CHECK, *words], cwd=folder, capture_output=True, text=True, timeout=120, check=False,
                          env={**os.environ, "PYTHONPATH": _path()})
    assert "Traceback" not in done.stdout + done.stderr
    return done


@pytest.mark.parametrize("name", ["--help", "-h", "--version", "-hh"])
def test_a_file_that_is_called_like_an_option_gives_no_success(folder: Path, name: str) -> None:
    assert run(folder, "verify", "bad.cert", name).returncode == 2
    assert check(folder, "bad.cert", name).returncode == 2
    assert run(folder, name, "verify", "bad.cert").returncode == 2
    for command in (("verify",), ("diff", "ok.cert"), ("report", "ok.cert", "-o", "x.html"), ("prove", "region")):
        assert run(folder, *command, "ok.cert", name).returncode == 2
    (folder / name).write_bytes(b"anything")
    done = run(folder, "verify", name)
    assert done.returncode == 2 and not done.stdout.startswith("verified")
    assert check(folder, name).returncode == 2
    for program in (lambda *words: run(folder, "verify", *words), lambda *words: check(folder, *words)):
        assert program(*SUBJECTS, "--", name, "ok.cert").returncode == 1


def test_help_and_version_are_answered(folder: Path) -> None:
    for words in (("--help",), ("-h",), ("--version",), ("verify", "--help"), ("key", "new", "-h"), ("prove", "--help")):
        assert run(folder, *words).returncode == 0, words
    assert check(folder, "--help").returncode == check(folder, "--version").returncode == 0
    assert check(folder, "--vers").returncode == check(folder, "--sub", "ramp.onnx", "ok.cert").returncode == 2  # options are not abbreviated


def test_a_variable_of_completion_that_was_left_over_asks_nothing(folder: Path) -> None:
    for value in ("bash_source", "bash_complete", "zsh_complete", "x"):
        done = subprocess.run([*CERTIFY, "verify", "bad.cert"], cwd=folder, capture_output=True, text=True, check=False,
                              env={**os.environ, "PYTHONPATH": _path(), "_CERTIFY_COMPLETE": value, "COMP_WORDS": "certify", "COMP_CWORD": "1"})
        assert done.returncode == 1 and done.stdout.startswith("rejected")


@pytest.mark.parametrize("index", ["[]", "{", "{}", "null", "[1]", '[{"verdict": "verified"}]', "[" * 100_000, '[{"verdict": 1, "code": 2}]'])
def test_a_selftest_without_vectors_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, index: str) -> None:
    monkeypatch.setattr(module, "vectors", lambda: tmp_path)
    done = CliRunner().invoke(cli, ["selftest"])
    assert done.exit_code == 70 and done.output.startswith("failed ")
    (tmp_path / "region").mkdir()
    (tmp_path / "region/index.json").write_text(index)
    done = CliRunner().invoke(cli, ["selftest", "--json"])
    told = json.loads(done.output)
    assert done.exit_code == 70 and told["verdict"] == "failed" and told["vectors"] == {"region": 0} and len(told["wrong"]) == 1


def test_a_selftest_whose_files_are_gone_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "vectors", lambda: tmp_path)
    (tmp_path / "region").mkdir()
    entry = {"verdict": "verified", "name": "gone\x1b[2J", "code": "", "subjects": [], "allow": None, "limits": {}}
    (tmp_path / "region/index.json").write_text(json.dumps([entry]))
    done = CliRunner().invoke(cli, ["selftest"])
    assert done.exit_code == 70 and "crashed FileNotFoundError" in done.output and "\x1b" not in done.output


def test_circular_links_and_long_names_are_faults_of_the_request(folder: Path) -> None:
    (folder / "a").symlink_to("b")
    (folder / "b").symlink_to("a")
    long = "x" * 300
    for name in ("a", long):
        refused(folder, 2, "file-unreadable", "verify", name)
        refused(folder, 2, "file-unreadable", "verify", "ok.cert", "--subject", f"model={name}")
        refused(folder, 2, "file-unreadable", "verify", "ok.cert", "--subject", name)
        refused(folder, 2, "file-unreadable", "report", name, "-o", "x.html")
        refused(folder, 73, "output-unwritable", "report", "ok.cert", *SUBJECTS, "-o", name)
        refused(folder, 73, "output-unwritable", "prove", "region", "ramp.onnx", "ramp.vnnlib", "-o", name)
        refused(folder, 2, "file-unreadable", "prove", "region", name, "ramp.vnnlib")
        refused(folder, 73, "output-unwritable", "convert", "onnx", "ramp.onnx", "-o", name)
        refused(folder, 2, "file-unreadable", "sign", name, "--key", "ok.cert")
        refused(folder, 2, "file-unreadable", "sign", "ok.cert", "--key", name)
        done = check(folder, "ok.cert", "--subject", f"model={name}")
        assert done.returncode == 2 and "file-unreadable" in done.stderr


def test_a_key_needs_a_name(folder: Path) -> None:
    for name in (".", "..", "", "/", "x/.."):
        refused(folder, 2, "setting-value", "key", "new", name)
    refused(folder, 73, "output-unwritable", "key", "new", "x" * 300)
    refused(folder, 73, "output-unwritable", "key", "new", "missing/key")


def test_an_interrupted_check_says_so(folder: Path) -> None:
    (folder / "slow").mkdir()
    (folder / "slow/sitecustomize.py").write_text("import sys, time\nif '-c' in sys.orig_argv: time.sleep(60)\n")
    process = subprocess.Popen([*CHECK, "ok.cert", *SUBJECTS], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               env={**os.environ, "PYTHONPATH": f"{folder / 'slow'}{os.pathsep}{_path()}"}, start_new_session=True)
    deadline = time.monotonic() + 30
    while not _children(process.pid) and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=60)
    assert process.returncode == 130 and errors == "interrupted\n" and "verified" not in output


def _children(process: int) -> list[str]:
    return Path(f"/proc/{process}/task/{process}/children").read_text().split()


def test_the_smaller_limit_on_address_space_counts(folder: Path) -> None:
    assert check(folder, "ok.cert", *SUBJECTS, before="ulimit -v 2500000;").returncode == 0
    done = check(folder, "ok.cert", *SUBJECTS, before="ulimit -v 70000;")
    assert done.returncode == 3 and "ulimit -v" in done.stdout and "68 MiB" in done.stdout and "--memory" not in done.stdout
    for size in ("9999999999999999GiB", "99999999999999999999", "1073741825GiB"):
        done = check(folder, "ok.cert", "--memory", size)
        assert done.returncode == 2 and size in done.stderr and "_bytes" not in done.stderr
    assert check(folder, "ok.cert", *SUBJECTS, "--memory", "1073741824GiB").returncode == 0
