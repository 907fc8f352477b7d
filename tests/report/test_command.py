# SPDX-License-Identifier: Apache-2.0
"""`certify report`: the statuses and the words of `verify`, a page in every case with a verdict, nothing lost and nothing of this machine in it."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from certify import signature
from cli.test_bad_input import refused, run
from kinds.region_vectors import bases
from report.reading import Page


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a certificate and its subjects."""
    for name, data in bases().leaf.files.values():
        (tmp_path / name).write_bytes(data)
    (tmp_path / "ok.cert").write_bytes(bases().leaf.seal())
    return tmp_path


SUBJECTS = ("--subject", "ramp.onnx", "--subject", "ramp.vnnlib")


def test_a_page_is_written_and_the_verdict_is_that_of_verify(folder: Path) -> None:
    verified = run(folder, "verify", "ok.cert", *SUBJECTS)
    done = run(folder, "report", "ok.cert", *SUBJECTS, "-o", "out.html")
    assert done.returncode == 0 and done.stdout == verified.stdout + "          wrote out.html\n" and done.stderr == ""
    page = Page((folder / "out.html").read_bytes())
    assert page.headings[0] == (1, "Verified")
    assert str(folder) not in page.source and os.uname().nodename not in page.source
    (folder / "elsewhere").mkdir()
    for name in ("ok.cert", "ramp.onnx", "ramp.vnnlib"):
        shutil.copy(folder / name, folder / "elsewhere" / f"other-{name}")
    more = [word for name in ("ramp.vnnlib", "ramp.onnx") for word in ("--subject", f"elsewhere/other-{name}")]
    assert run(folder, "report", "elsewhere/other-ok.cert", *more, "-o", "again.html").returncode == 0
    assert (folder / "again.html").read_bytes() == (folder / "out.html").read_bytes()


@pytest.mark.parametrize(("words", "status", "first", "code"), [
    (("ok.cert", *SUBJECTS, "--allow", "none"), 3, "declined", "assumption-not-allowed"), (("ok.cert",), 3, "declined", "subject-missing"),
    (("ok.cert", *SUBJECTS, "--work", "10"), 3, "declined", "limit-reached"), (("cut.cert",), 1, "rejected", "malformed"),
    (("ok.cert", "--subject", "cut.cert"), 1, "rejected", "subject-mismatch")])
def test_other_verdicts_have_a_page_too(folder: Path, words: tuple[str, ...], status: int, first: str, code: str) -> None:
    (folder / "cut.cert").write_bytes(bases().leaf.seal()[:200])
    verified, done = run(folder, "verify", *words), run(folder, "report", *words, "-o", "out.html")
    assert verified.returncode == done.returncode == status and done.stdout == verified.stdout + "          wrote out.html\n"
    page = Page((folder / "out.html").read_bytes())
    assert page.headings[0] == (1, first.upper()) and code in page.text and done.stdout.startswith(first)


def test_questions_without_a_verdict_write_nothing(folder: Path) -> None:
    refused(folder, 2, "file-unreadable", "report", "missing.cert", "-o", "out.html")
    refused(folder, 2, "file-unreadable", "report", "ok.cert", "--subject", "missing.onnx", "-o", "out.html")
    refused(folder, 2, "role-unknown", "report", "ok.cert", "--subject", "weights=ramp.onnx", "-o", "out.html")
    refused(folder, 2, "assumption-unknown", "report", "ok.cert", *SUBJECTS, "--allow", "everything", "-o", "out.html")
    assert run(folder, "report", "ok.cert").returncode == 2


def test_nothing_is_overwritten_but_an_earlier_report(folder: Path) -> None:
    question = ("report", "ok.cert", *SUBJECTS, "-o")
    for taken in ("ok.cert", "ramp.onnx", "./ramp.vnnlib", "notes.html"):
        (folder / "notes.html").write_text("<!doctype html>\n<p>mine\n")
        before = (folder / taken).read_bytes()
        refused(folder, 2, "output-taken", *question, taken)
        assert (folder / taken).read_bytes() == before
    refused(folder, 73, "output-unwritable", *question, "missing/out.html")
    refused(folder, 73, "output-unwritable", *question, ".")
    refused(folder, 73, "output-unwritable", *question, "/dev/full")
    assert run(folder, *question, "out.html").returncode == 0
    first = (folder / "out.html").read_bytes()
    assert run(folder, *question, "out.html", "--allow", "none").returncode == 3 and (folder / "out.html").read_bytes() != first
    assert run(folder, *question, "out.html").returncode == 0 and (folder / "out.html").read_bytes() == first


def test_signatures_are_listed_as_checked_or_not(folder: Path) -> None:
    run(folder, "key", "new", "mine")
    run(folder, "key", "new", "other")
    for name in ("mine", "other"):
        run(folder, "sign", "ok.cert", "--key", f"{name}.pem")
    ids = {name: signature.read_key((folder / f"{name}.pub.pem").read_bytes())[1] for name in ("mine", "other")}
    assert run(folder, "report", "ok.cert", *SUBJECTS, "--key", "mine.pub.pem", "-o", "out.html").returncode == 0
    told = {row[0]: row[1] for row in Page((folder / "out.html").read_bytes()).table("key id")}
    assert told[ids["mine"]].startswith("checked: ") and told[ids["other"]].startswith("not checked: no key")
    assert run(folder, "report", "ok.cert", *SUBJECTS, "--key", "mine.pub.pem", "--allow", "none", "-o", "out.html").returncode == 3
    assert all(row[1].startswith("not checked") for row in Page((folder / "out.html").read_bytes()).table("key id"))
    (folder / "plain.cert").write_bytes(bases().leaf.seal())
    assert run(folder, "report", "plain.cert", *SUBJECTS, "--key", "mine.pub.pem", "-o", "out.html").returncode == 1
    assert "signature-missing" in Page((folder / "out.html").read_bytes()).text
