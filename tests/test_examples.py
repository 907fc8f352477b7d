# SPDX-License-Identifier: Apache-2.0
"""The auditor's script of examples/: one line a certificate, the worst status, and nothing that a file can do to it."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from kinds.region_vectors import bases

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT / "examples"))

import audit  # noqa: E402


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


def test_all_verified(folders: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    status, lines = run(folders, capsys, "--allow", "real-arithmetic")
    assert status == 0 and [line.split()[0] for line in lines] == ["verified", "verified", "2"]
    assert lines[0].endswith("rests on: real-arithmetic)  [1.cert]") and lines[1].endswith("[deeper/0.cert]")


def test_the_worst_status_counts(folders: tuple[Path, Path], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(folders, capsys)[0] == 3  # nothing is allowed by default
    assert run(folders, capsys, "--allow", "wishful")[0] == 2
    whole = (folders[0] / "1.cert").read_bytes()
    (folders[0] / "2.cert").write_bytes(whole[:-1])
    status, lines = run(folders, capsys, "--allow", "real-arithmetic")
    assert status == 1 and [line.split()[0] for line in lines] == ["verified", "rejected", "verified", "2"]
    (folders[0] / "2.cert").unlink()
    next(folders[1].glob("1-*.vnnlib")).unlink()
    status, lines = run(folders, capsys, "--allow", "real-arithmetic")
    assert status == 3 and "declined   subject-missing" in lines[0]
    monkeypatch.setattr("certify.load", lambda path: 1 / 0)
    status, lines = run(folders, capsys, "--allow", "real-arithmetic")
    assert status == 70 and lines[0].startswith("internal   ZeroDivisionError")


def test_an_empty_folder_is_not_a_success(folders: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "empty").mkdir()
    assert run((tmp_path / "empty", folders[1]), capsys)[0] == 2
    assert run((tmp_path / "missing", folders[1]), capsys)[0] == 2


def test_names_stay_on_their_line(folders: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    (folders[0] / "a\nverified   everything.cert").write_bytes(b"PK")
    lines = run(folders, capsys, "--allow", "real-arithmetic")[1]
    assert len(lines) == 4 and sum(line.startswith("verified") for line in lines) == 2
