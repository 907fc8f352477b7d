# SPDX-License-Identifier: Apache-2.0
"""The auditor's script of examples/: one line a certificate, the worst status, and nothing that a file can do to it."""

from __future__ import annotations

import copy
import hashlib
import shutil
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from certify.cli.main import cli
from kinds.region_vectors import bases

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT / "examples"))

import audit  # noqa: E402

_ALLOW = ("--allow", "real-arithmetic")


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    """Return a folder of certificates, one of them below, and a folder of subjects with other files beside them."""
    certificates, subjects = tmp_path / "certificates", tmp_path / "subjects"
    (certificates / "deeper").mkdir(parents=True)
    shutil.copytree(ROOT / "examples/clip", subjects)
    for number, specimen in enumerate((bases().leaf, bases().witness)):
        (certificates / ("" if number else "deeper") / f"{number}.cert").write_bytes(specimen.seal())
        for name, data in specimen.files.values():
            (subjects / f"{number}-{name}").write_bytes(data)
    return certificates, subjects


def run(folders: tuple[Path, Path], capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, list[str]]:
    """Run the audit; return its status and the lines that it prints."""
    status = audit.main([*map(str, folders), *words])
    return status, capsys.readouterr().out.splitlines()


def words(lines: list[str]) -> list[str]:
    """Return the first word of each line but the last."""
    return [line.split()[0] for line in lines[:-1]]


def test_what_holds_and_what_is_refuted(folders: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    status, lines = run(folders, capsys, *_ALLOW)
    assert status == 5 and words(lines) == ["refuted", "holds"]
    assert "region: No input" in lines[1] and "; rests on: real-arithmetic; id " in lines[1] and lines[1].endswith("[deeper/0.cert]")
    assert all(f"{role} " in lines[1] for role in ("model", "property"))
    assert lines[-1] == "2 certificates: 1 holds, 1 refuted"
    (folders[0] / "1.cert").unlink()
    assert run(folders, capsys, *_ALLOW)[0] == 0


def test_the_worst_status_counts(folders: tuple[Path, Path], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    status, lines = run(folders, capsys)  # nothing is allowed by default
    assert status == 3 and all("assumption-not-allowed" in line for line in lines[:2])
    assert run(folders, capsys, "--allow", "wishful")[0] == 2
    whole = (folders[0] / "1.cert").read_bytes()
    (folders[0] / "2.cert").write_bytes(whole[:-1])
    status, lines = run(folders, capsys, *_ALLOW)
    assert status == 1 and words(lines) == ["refuted", "rejected", "holds"]
    (folders[0] / "2.cert").unlink()
    next(folders[1].glob("1-*.vnnlib")).unlink()
    status, lines = run(folders, capsys, *_ALLOW)
    assert status == 3 and lines[0].startswith("declined   subject-missing")
    monkeypatch.setattr(audit, "_CHECK", "1 / 0")
    status, lines = run(folders, capsys, *_ALLOW)
    assert status == 70 and "ZeroDivisionError" in lines[0] and words(lines) == ["internal", "internal"]


def test_a_copy_inside_the_certificate_is_not_enough(folders: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    made = copy.deepcopy(bases().leaf)
    made.inputs = {hashlib.sha256(data).hexdigest(): data for _, data in made.files.values()}
    (folders[0] / "1.cert").unlink()
    (folders[0] / "deeper/0.cert").write_bytes(made.seal())
    assert run(folders, capsys, *_ALLOW)[0] == 0
    for path in folders[1].glob("*-*.onnx"):
        path.unlink()
    status, lines = run(folders, capsys, *_ALLOW)
    assert status == 3 and "no file of the folder is its model" in lines[0]


def test_weaker_than_the_policy(folders: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str],
                                monkeypatch: pytest.MonkeyPatch) -> None:
    for path in (*folders[0].glob("*.cert"), *folders[0].glob("*/*.cert")):
        path.unlink()
    monkeypatch.chdir(tmp_path)
    digits = [str(shutil.copy(ROOT / "examples/digits" / name, folders[1])) for name in ("digits.onnx", "images.npy")]
    for name, radius, clip in (("a", "1", "[0,1]"), ("b", "1/2", "[0,1]"), ("c", "1", "null")):
        asked = ["row=3", f"radius={radius}", "scale=1/16", f"clip={clip}"]
        made = CliRunner().invoke(cli, ["prove", "robust", *digits, *(word for pair in asked for word in ("--set", pair)), "-o",
                                        str(folders[0] / f"{name}.cert")])
        assert made.exit_code == 0, made.output
    status, lines = run(folders, capsys, *_ALLOW)
    assert status == 4 and words(lines) == ["holds", "weaker", "weaker"] and lines[-1] == "3 certificates: 1 holds, 2 weaker"
    monkeypatch.setattr(audit, "POLICY", {})
    assert words(run(folders, capsys, *_ALLOW)[1]) == ["weaker"] * 3


def test_keys_and_threshold(folders: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (folders[0] / "1.cert").unlink()
    certificate = folders[0] / "deeper/0.cert"
    for asked in (["key", "new", "ann"], ["key", "new", "bob"], ["sign", str(certificate), "--key", "ann.pem", "-o", "signed.cert"]):
        assert CliRunner().invoke(cli, asked).exit_code == 0
    both = ("--key", "ann.pub.pem", "--key", "bob.pub.pem")
    assert run(folders, capsys, *_ALLOW, *both)[0] == 1
    shutil.move("signed.cert", certificate)
    status, lines = run(folders, capsys, *_ALLOW, *both)
    assert status == 1 and "signature-missing" in lines[0]
    status, lines = run(folders, capsys, *_ALLOW, *both, "--threshold", "1")
    assert status == 0 and "; signed by " in lines[0]


def test_a_file_that_cannot_be_read_is_skipped(folders: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    (folders[1] / "junk.gz").write_bytes(b"no gzip")
    (folders[0] / "1.cert").unlink()
    assert audit.main([*map(str, folders), *_ALLOW]) == 0
    said = capsys.readouterr()
    assert said.err.startswith("warning: skipped ") and "junk.gz: gzip-damaged" in said.err and said.out.startswith("holds ")


def test_an_empty_folder_is_not_a_success(folders: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "empty").mkdir()
    assert run((tmp_path / "empty", folders[1]), capsys)[0] == 2
    assert run((tmp_path / "missing", folders[1]), capsys)[0] == 2


def test_names_stay_on_their_line(folders: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    (folders[0] / "a\nholds      everything.cert").write_bytes(b"PK")
    lines = run(folders, capsys, *_ALLOW)[1]
    assert len(lines) == 4 and sum(line.startswith("holds") for line in lines) == 1
