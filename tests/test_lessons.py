# SPDX-License-Identifier: Apache-2.0
"""What went wrong in other checkers, tried on ours: swallowed assertions, crashes read as verdicts, tolerances, evidence for another question."""

from __future__ import annotations

import argparse
import ast
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from certify import verification
from certify.cli import check as command
from certify.cli.main import main
from certify.errors import CertifyError
from certify.limits import Limits
from kinds.region_vectors import bases
from vectors.stored import Stored, kinds, stored

ROOT = Path(__file__).resolve().parents[1]
CHECKED = sorted(path for folder in ("rules", "claims", "readers") for path in (ROOT / f"certify/{folder}").glob("*.py"))


def _broken(*arguments: Any, **named: Any) -> None:
    raise RuntimeError("a bug")


def test_a_crash_is_never_a_verdict(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    leaf = bases().leaf
    (tmp_path / "a.cert").write_bytes(leaf.seal())
    subjects = []
    for name, data in leaf.files.values():
        (tmp_path / name).write_bytes(data)
        subjects += ["--subject", str(tmp_path / name)]
    asked = command._parser().parse_args([str(tmp_path / "a.cert"), *subjects])
    options = argparse.Namespace(**vars(asked), inside=0)
    assert command._answer(options)[0] == 0
    monkeypatch.setattr(verification, "check", _broken)
    status, lines = command._answer(options)
    assert status == 70 and "no verdict was reached" in lines[0]
    with pytest.raises(SystemExit) as left:
        monkeypatch.setattr(sys, "argv", ["certify", "verify", str(tmp_path / "a.cert"), *subjects])
        main()
    said = capsys.readouterr()
    assert left.value.code == 70 and "internal error" in said.err and not said.out


def test_verdicts_do_not_depend_on_assertions(tmp_path: Path) -> None:
    """Python's -O drops every assert: the verdicts of the child stay."""
    for wanted in ("verified", "rejected"):
        vectors = [vector for vector in stored("region") if vector.wanted[0] == wanted and not vector.limits and vector.allow is None]
        for vector in vectors[:: len(vectors) // 4]:
            (tmp_path / "a.cert").write_bytes(vector.data)
            subjects = []
            for pairs in vector.subjects.values():
                for name, data in pairs:
                    (tmp_path / name).write_bytes(data)
                    subjects += ["--subject", str(tmp_path / name)]
            done = subprocess.run([sys.executable, "-m", "certify.cli.check", "--json", str(tmp_path / "a.cert"), *subjects], capture_output=True,
                                  text=True, check=False, env={**os.environ, "PYTHONOPTIMIZE": "2"})
            told = json.loads(done.stdout)
            assert (told["verdict"], told.get("code", "")) == vector.wanted, vector.id


@pytest.mark.parametrize("path", CHECKED, ids=[path.stem for path in CHECKED])
def test_there_are_no_tolerances(path: Path) -> None:
    """A literal such as 1e-6 would be one; error bounds are written as powers of two or factors near 1."""
    source = path.read_text("utf-8")
    numbers = [node.value for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Constant) and isinstance(node.value, float)]
    assert [value for value in numbers if 0 < abs(value) < 0.5] == []
    assert "isclose" not in source and "allclose" not in source


def _others(vector: Stored, candidates: list[Stored]) -> list[tuple[str, bytes]]:
    """Return files of the same name from other vectors, with other bytes."""
    own = {name: data for pairs in vector.subjects.values() for name, data in pairs}
    return [(name, data) for other in candidates for pairs in other.subjects.values() for name, data in pairs if data != own.get(name, data)]


@pytest.mark.parametrize("kind", kinds())
def test_a_certificate_is_about_its_own_files(kind: str) -> None:
    """A bundle passed once that referred to another file: each subject exchanged for one of the same name, from another vector."""
    verified = [vector for vector in stored(kind) if vector.wanted[0] == "verified" and not vector.limits]
    tried = 0
    for vector in verified[::5]:
        for name, data in _others(vector, stored(kind) if kind.startswith("private-") else verified)[:6]:  # of these, one is verified
            given = {role: [(n, data if n == name else d) for n, d in pairs] for role, pairs in vector.subjects.items()}
            try:
                verification.check(vector.data, "x", given, vector.allow, Limits())
            except CertifyError as trouble:
                assert trouble.code == "subject-mismatch", vector.id
                tried += 1
            else:
                raise AssertionError(f"{vector.id} was verified about another {name}")
    assert tried >= 3 or kind == "container"
