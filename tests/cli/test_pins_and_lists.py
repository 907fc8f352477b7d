# SPDX-License-Identifier: Apache-2.0
"""Pinned subjects stay pinned, and in a list no certificate decides the verdict on another."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from certify.cli.arguments import assign
from cli.test_bad_input import _path
from kinds import robust_vectors
from kinds.region_vectors import bases
from toolkit import model

COMMANDS = (["certify.cli.main", "verify"], ["certify.cli.check"])
PINNED = ("--subject", "model=ramp.onnx", "--subject", "property=ramp.vnnlib")
LOOSE = ("--subject", "ramp.onnx", "--subject", "ramp.vnnlib")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a good certificate and its subjects, and one about another model of the same name that it carries itself."""
    for name, data in bases().leaf.files.values():
        (tmp_path / name).write_bytes(data)
    (tmp_path / "good.cert").write_bytes(bases().leaf.seal())
    evil = bases().leaf.copy()
    evil.files["model"] = ("ramp.onnx", _other_model())
    evil.inputs = {hashlib.sha256(data).hexdigest(): data for _, data in evil.files.values()}
    (tmp_path / "evil.cert").write_bytes(evil.seal())
    return tmp_path


def _other_model() -> bytes:
    import onnx
    loaded = onnx.load_from_string(bases().leaf.files["model"][1])
    loaded.producer_name = "another"
    return bytes(loaded.SerializeToString())


def run(folder: Path, command: list[str], *words: str) -> subprocess.CompletedProcess[str]:
    """Run a command in a folder."""
    done = subprocess.run([sys.executable, "-m", *command, *words], cwd=folder, capture_output=True, text=True, timeout=120, check=False,
                          env={**os.environ, "PYTHONPATH": _path()})
    assert "Traceback" not in done.stdout + done.stderr
    return done


def verdicts(done: subprocess.CompletedProcess[str]) -> list[str]:
    """Return the first words, one a certificate, of both streams."""
    return [line.split()[0] for line in (done.stdout + done.stderr).splitlines() if line and not line.startswith(" ")]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_pinned_file_counts_for_every_certificate(folder: Path, command: list[str]) -> None:
    assert run(folder, command, "evil.cert", *PINNED).returncode == 1
    for words in (("good.cert", "evil.cert"), ("evil.cert", "good.cert")):
        done = run(folder, command, *words, *PINNED)
        assert done.returncode == 1 and verdicts(done) == ["verified" if word == "good.cert" else "rejected" for word in words]
        assert "subject-mismatch" in done.stdout
    assert verdicts(run(folder, command, "good.cert", "evil.cert", "--subject", "weights=ramp.onnx")) == ["error:", "error:"]


@pytest.mark.parametrize("command", COMMANDS)
def test_no_file_or_folder_unpins(folder: Path, command: list[str]) -> None:
    (folder / "model=ramp.onnx").write_bytes(_other_model())
    deep = folder / f"model={folder}"
    deep.mkdir(parents=True)
    (deep / "ramp.onnx").write_bytes(_other_model())
    for pin in ("model=ramp.onnx", f"model={folder}/ramp.onnx"):
        done = run(folder, command, "evil.cert", "--subject", pin, "--subject", "property=ramp.vnnlib")
        assert done.returncode == 1 and "subject-mismatch" in done.stdout
    (folder / "model=x").write_bytes((folder / "ramp.onnx").read_bytes())
    assert run(folder, command, "good.cert", "--subject", "./model=x", "--subject", "ramp.vnnlib").returncode == 0
    assert run(folder, command, "good.cert", "--subject", "model=x").returncode == 2


def test_files_without_a_role_fit_one_certificate_or_are_held_against_all() -> None:
    assert assign([{"a"}, {"b"}], ["a", "b"]) == [[0], [1]]
    assert assign([{"a"}, {"b"}], ["a", "b", "c"]) == [[0, 2], [1, 2]]
    assert assign([{"a"}, {"a", "b"}], ["a", "b"]) == [[0], [0, 1]]
    assert assign([{"a"}, None], ["a", "b"]) == [[0], [1]]  # the other file may be that of the one that can't be read


@pytest.mark.parametrize("command", COMMANDS)
def test_a_damaged_certificate_does_not_decide_the_others(folder: Path, command: list[str]) -> None:
    other = robust_vectors.bases().leaf
    for role, (name, data) in other.files.items():
        (folder / f"other-{role}-{name}").write_bytes(data)
    theirs = [word for role, (name, _) in other.files.items() for word in ("--subject", f"other-{role}-{name}")]
    (folder / "other.cert").write_bytes(other.seal())
    assert run(folder, command, "good.cert", "other.cert", *LOOSE, *theirs).returncode == 0
    (folder / "other.cert").write_bytes(other.seal()[:-1])
    for words in (("good.cert", "other.cert"), ("other.cert", "good.cert"), ("good.cert", "missing.cert"), ("good.cert", ".")):
        done = run(folder, command, *words, *LOOSE, *theirs)
        assert "verified" in verdicts(done) and done.returncode in (1, 2), done.stdout
    (folder / "stranger.onnx").write_bytes(model((([[1, 2]], [0]),)))
    (folder / "other.cert").write_bytes(other.seal())
    done = run(folder, command, "good.cert", "other.cert", *LOOSE, *theirs, "--subject", "stranger.onnx")
    assert verdicts(done) == ["rejected", "rejected"]


def test_a_pipe_and_a_huge_file_do_not_keep_the_checker_from_the_others(folder: Path) -> None:
    os.mkfifo(folder / "pipe.cert")
    with (folder / "huge.cert").open("wb") as stream:
        stream.truncate(10 << 30)
    started = time.monotonic()
    done = run(folder, ["certify.cli.check"], "pipe.cert", "huge.cert", "good.cert", *LOOSE, "--seconds", "15")
    assert time.monotonic() - started < 100
    assert "verified" in verdicts(done) and len(verdicts(done)) == 3, done.stdout
    assert done.returncode in (2, 3) and "traceback" not in done.stderr.lower()


def test_children_read_each_file_a_number_of_times_that_does_not_grow(folder: Path) -> None:
    for k in range(6):
        (folder / f"{k}.cert").write_bytes((folder / "good.cert").read_bytes())
    trace = folder / "opened"
    (folder / "site").mkdir()
    (folder / "site" / "sitecustomize.py").write_text(f"""
import sys
def note(event, arguments):
    if event == "open" and str(arguments[0]).endswith(".cert"):
        with_ = open({str(trace)!r}, "a"); with_.write(str(arguments[0]) + chr(10)); with_.close()
sys.addaudithook(note)
""")
    words = [f"{k}.cert" for k in range(6)]
    done = subprocess.run([sys.executable, "-m", "certify.cli.check", *words, *LOOSE], cwd=folder, capture_output=True, text=True, check=False,
                          env={**os.environ, "PYTHONPATH": os.pathsep.join([str(folder / "site"), _path()])})
    assert done.returncode == 0 and done.stdout.count("verified ") == 6
    opened = trace.read_text().split()
    assert {name: opened.count(name) for name in words} == dict.fromkeys(words, 2)


def test_json_of_a_list_keeps_its_order(folder: Path) -> None:
    done = run(folder, ["certify.cli.check"], "evil.cert", "good.cert", *PINNED, "--json")
    assert [(json.loads(line)["file"], json.loads(line)["verdict"]) for line in done.stdout.splitlines()] == [
        ("evil.cert", "rejected"), ("good.cert", "verified")]
