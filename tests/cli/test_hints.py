# SPDX-License-Identifier: Apache-2.0
"""What helps a newcomer along: which checker it was, units of points, completion, JSON for every error, hints that lead somewhere."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from certify.cli import main
from certify.cli.main import cli
from certify.cli.trusted import digest
from kinds import accuracy_vectors, region_vectors, robust_vectors
from toolkit import Specimen

ROOT = Path(__file__).resolve().parents[2]


def run(*words: str) -> tuple[int, str]:
    """Run a command and return its exit status and output."""
    done = CliRunner().invoke(cli, list(words))
    return done.exit_code, done.output


@pytest.mark.skipif(shutil.which("sha256sum") is None, reason="no sha256sum")
def test_the_digest_of_the_trusted_modules_is_what_the_page_says(tmp_path: Path) -> None:
    command = re.search(r"^find \. .*$", (ROOT / "docs/trust.md").read_text("utf-8"), re.MULTILINE)
    assert command is not None
    done = subprocess.run(["bash", "-c", command[0]], cwd=ROOT / "certify", capture_output=True, text=True, check=True)
    assert done.stdout.split()[0] == digest()
    assert json.loads(run("doctor", "--json")[1])["trusted"] == digest() and f"trusted   sha256 {digest()} " in run("doctor")[1]
    shutil.copytree(ROOT / "certify", tmp_path / "copy", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "copy/cli/show.py").write_text("other")
    assert digest(tmp_path / "copy") == digest()
    (tmp_path / "copy/limits.py").rename(tmp_path / "copy/limit.py")
    assert digest(tmp_path / "copy") != digest()


@pytest.mark.parametrize(("made", "name", "unit"), [
    (robust_vectors.bases().witness, "point", "in values of the points file times 1/16, that is after `scale`, before `subtract` and `divide`"),
    (region_vectors.bases().witness, "point", "in the units of the property's X"),
    (accuracy_vectors.specimen(), "witness", "in values of the points file")])
def test_show_says_in_which_units_a_point_is(made: Specimen, name: str, unit: str, tmp_path: Path) -> None:
    path = tmp_path / "x.cert"
    path.write_bytes(made.seal())
    alone = CliRunner().invoke(cli, ["show", str(path), "--evidence", name])
    assert alone.exit_code == 0 and alone.stderr.startswith(f"{name}: {unit}") and name not in alone.stdout
    if name == "point":
        assert f"({name}: {unit}" in run("show", str(path))[1]


@pytest.mark.parametrize(("words", "code"), [
    (["--allow", "wishful"], "assumption-unknown"), (["--allow", "none,real-arithmetic"], "setting-value"), (["--key", "x.cert"], "key-unreadable"),
    (["--threshold", "1"], "setting-value"), (["--key", "absent.pem"], "file-unreadable"), (["--subject", "absent.onnx"], "file-unreadable")])
def test_errors_of_the_request_are_json_where_json_was_asked_for(words: list[str], code: str, tmp_path: Path,
                                                                         monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("x.cert", "y.cert"):
        Path(name).write_bytes(robust_vectors.bases().witness.seal())
    status, said = run("verify", "x.cert", "y.cert", "--json", *words)
    told = [json.loads(line) for line in said.splitlines()]
    assert [(one["file"], one["code"]) for one in told] == [("x.cert", code), ("y.cert", code)]
    assert status == {"usage": 2, "declined": 3}[told[0]["verdict"]]


@pytest.mark.parametrize(("words", "wanted"), [
    (["prove", "ro"], ["plain,robust"]), (["prove", "robust", "dig"], ["file,dig"]), (["prove", "robust", "a", "-o", "x"], ["file,x"]),
    (["verify", "x"], ["file,x"]), (["verify", "x", "--subject", "dig"], ["file,dig"]), (["verify", "x", "--key", "a"], ["file,a"]),
    (["verify", "x", "--allow", "rea"], ["plain,real-arithmetic"]), (["verify", "x", "--allow", "n"], ["plain,none"]),
    (["report", "x", "--subject", "d"], ["file,d"]), (["show", "d"], ["file,d"]), (["claims", "acc"], ["plain,accuracy"]),
    (["explain", "radius-s"], ["plain,radius-sign"]), (["explain", "real"], ["plain,real-arithmetic"])])
def test_the_shell_is_told_what_could_come_next(words: list[str], wanted: list[str], monkeypatch: pytest.MonkeyPatch,
                                                capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.argv", ["certify"])
    monkeypatch.setenv("_CERTIFY_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", " ".join(["certify", *words]))
    monkeypatch.setenv("COMP_CWORD", str(len(words)))
    assert main._run() == 0
    assert capsys.readouterr().out.splitlines() == wanted


@pytest.mark.parametrize(("words", "said"), [
    (["explain", "region"], "certify claims region"), (["explain", "5"], "`certify --help` lists the exit statuses"),
    (["report", "x.cert", "-o", "-"], "ends in .html"), (["report", "x.cert", "-o", "x.pdf"], "ends in .html"),
    (["verify", "x.cert", "--key", "x.cert"], "(x.cert)"), (["explain", "malformed"], "an installed package has none"),
    (["sign", "no.cert", "--key", "x.cert"], "no certificate")])
def test_hints_lead_somewhere(words: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                              capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    Path("x.cert").write_bytes(robust_vectors.bases().witness.seal())
    Path("no.cert").write_text("hello")
    monkeypatch.setattr("sys.argv", ["certify", *words])
    main._run()
    told = "".join(capsys.readouterr())
    assert said in told and not (words[0] == "sign" and "--subject" in told)
    assert not list(tmp_path.glob("*.pdf")) and not Path("-").exists()


@pytest.mark.parametrize(("words", "silent"), [(["claims"], True), (["explain"], True), (["verify", "x.cert"], False)])
def test_only_a_verdict_that_is_lost_is_told(words: list[str], silent: bool, tmp_path: Path) -> None:
    (tmp_path / "x.cert").write_bytes(b"hello")
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run([sys.executable, "-P", "-c", "from certify.cli.main import main; main()", *words], cwd=tmp_path, stdout=writer,
                          stderr=subprocess.PIPE, text=True, check=False)
    os.close(writer)
    assert done.returncode == 73 and (done.stderr == "") == silent


@pytest.mark.parametrize(("command", "words"), [("selftest", "it is not done, and says nothing"), ("prove", "files are written whole or not at all")])
def test_an_interrupt_says_what_is_so(command: str, words: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted(*given: object, **more: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("sys.argv", ["certify", command])
    monkeypatch.setattr(cli, "invoke", interrupted)
    assert main._run() == 130 and capsys.readouterr().err == f"interrupted: {words}\n"
