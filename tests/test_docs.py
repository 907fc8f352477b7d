# SPDX-License-Identifier: Apache-2.0
"""The pages of docs/ are true: the Python of api.md runs and prints what is shown, and transcripts (```console) are run again and compared."""

from __future__ import annotations

import contextlib
import io
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
# What may differ between machines: ids, digests of what a prover found, sizes, and margins that a search found.
_VARYING = ((re.compile(r"\b[0-9a-f]{64}\b"), "digest"), (re.compile(r"\(\d+ bytes\)"), "(bytes)"), (re.compile(r"(margin|leaves) [-0-9.e]+"), r"\1"))
_QUESTION = ("prove", "robust", "digits.onnx", "images.npy", "--set", "row=3", "--set", "scale=1/16", "--set", "clip=[0,1]", "-o", "digit.cert")


def blocks(path: Path) -> list[tuple[str, str]]:
    """Return (language, text) of every fenced block."""
    return _BLOCK.findall(path.read_text("utf-8"))


def with_console() -> list[Path]:
    """Return the pages with transcripts."""
    return [path for path in sorted(DOCS.rglob("*.md")) if any(language == "console" for language, _ in blocks(path))]


def examples(folder: Path) -> Path:
    """Copy the example files into a folder."""
    for path in [*(ROOT / "examples/digits").iterdir(), *(ROOT / "examples/clip").iterdir()]:
        if path.is_file():
            shutil.copy(path, folder)
    return folder


def shell(folder: Path, commands: list[str]) -> list[str]:
    """Run commands in one shell and return what each printed, errors included."""
    script = "\n".join(f"{command}\nprintf '\\001'" for command in commands)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(["bash", "-c", script], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
                          env={**os.environ, "PATH": path, "LC_ALL": "C.UTF-8"})
    return done.stdout.split("\001")[:-1]


def same(text: str) -> str:
    """Return a text without what may differ."""
    for pattern, word in _VARYING:
        text = pattern.sub(word, text)
    return text.rstrip("\n")


@pytest.mark.parametrize("page", with_console(), ids=lambda page: page.relative_to(DOCS).as_posix())
def test_transcripts_are_what_the_commands_print(page: Path, tmp_path: Path) -> None:
    examples(tmp_path)
    text = "".join(text for language, text in blocks(page) if language == "console")
    parts = re.split(r"^\$ (.*)\n", text, flags=re.MULTILINE)
    assert parts[0] == "" and len(parts) > 2
    for command, wanted, found in zip(parts[1::2], parts[2::2], shell(tmp_path, parts[1::2]), strict=True):
        assert same(found) == same(wanted), command


def test_there_are_transcripts() -> None:
    assert len(with_console()) >= 20 and DOCS / "config.md" in with_console()


def test_the_python_of_the_page_for_auditors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    examples(tmp_path)
    quoted = [" ".join(f"'{word}'" for word in (*_QUESTION, "--set", f"radius={radius}")) for radius in (1, 3)]
    accuracy = ("prove", "accuracy", "digits.onnx", "images.npy", "labels.npy", *_QUESTION[6:10], "--set", "radius=1", "-o", "digits.cert")
    shell(tmp_path, [f"certify {quoted[0]}", f"certify {quoted[1]}", "certify " + " ".join(f"'{word}'" for word in accuracy), "certify key new ann",
                     "certify key new bob", "certify sign digit.cert --key ann.pem -o signed.cert"])
    monkeypatch.chdir(tmp_path)
    found = blocks(DOCS / "api.md")
    space: dict[str, object] = {"__name__": "page"}
    compared = 0
    for (language, code), (after, wanted) in zip(found, [*found[1:], ("", "")], strict=True):
        if language != "python":
            continue
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            exec(compile(code, "docs/api.md", "exec"), space)  # noqa: S102 - the page is ours
        assert after == "text", code
        assert said.getvalue() == wanted, code
        compared += 1
    assert compared >= 11
    assert {language for language, _ in found} == {"python", "text"}


@pytest.mark.parametrize("page", ["trust.md", "claims/region.md", "claims/robust.md"])
def test_python_of_other_pages_names_what_exists(page: str, tmp_path: Path) -> None:
    """The blocks of these pages speak of files that a reader has: they run with files of their names."""
    examples(tmp_path)
    shutil.copy(tmp_path / "clip.onnx", tmp_path / "model.onnx")
    shutil.copy(tmp_path / "clip.vnnlib", tmp_path / "prop.vnnlib")
    shell(tmp_path, ["certify prove region model.onnx prop.vnnlib -o out.cert"])
    if page == "claims/robust.md":
        shutil.copy(tmp_path / "digits.onnx", tmp_path / "model.onnx")
        shutil.copy(tmp_path / "images.npy", tmp_path / "points.npy")
        shell(tmp_path, ["certify prove robust model.onnx points.npy --set row=3 --set scale=1/16 --set radius=1 --set 'clip=[0,1]' -o out.cert"])
    code = "\n".join(text for language, text in blocks(DOCS / page) if language == "python")
    done = subprocess.run([sys.executable, "-P", "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and done.stdout, done.stderr
