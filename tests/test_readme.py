# SPDX-License-Identifier: Apache-2.0
"""The README is true: its transcripts are run again and compared, its Python runs, its links lead somewhere."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text("utf-8")
_BLOCK = re.compile(r"```(\w+)\n(.*?)```", re.DOTALL)
# What differs between machines and versions of others: bytes of a counterexample, versions of a runtime, leaves of a search.
_VARYING = ((re.compile(r"onnxruntime [0-9.]+"), "onnxruntime"), (re.compile(r"\(\d+ bytes\)"), "(bytes)"),
            (re.compile(r"outputs \[.*\]"), "outputs"), (re.compile(r"tree, \d+ leaves|leaves \d+ · shed|nodes \d+|\d+ attacks,"), "search"),
            (re.compile(r"class \d has [-0-9.e]+"), "class"), (re.compile(r"(id|root|            sha256) [0-9a-f]{64}"), r"\1"),
            (re.compile(r"leaves \d+ · (wrong \d+ · open \d+) · smallest margin [-0-9.e]+"), r"leaves · \1"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the example files."""
    made = tmp_path_factory.mktemp("readme")
    for path in [path for name in ("digits", "clip", "grid") for path in (ROOT / "examples" / name).iterdir()]:
        if path.is_file():
            shutil.copy(path, made)
    shutil.copytree(ROOT / "examples/private", made / "private")
    return made


def _transcript(text: str) -> list[tuple[str, str]]:
    """Return (command, output) pairs of a console block."""
    parts = re.split(r"^\$ (.*)\n", text, flags=re.MULTILINE)
    return list(zip(parts[1::2], parts[2::2], strict=True))


def _same(text: str) -> str:
    for pattern, word in _VARYING:
        text = pattern.sub(word, text)
    return text


def run(folder: Path, commands: list[str]) -> list[str]:
    """Run commands in one shell and return what each printed."""
    script = "\n".join(f"{command}\nstatus=$?\nprintf '\\001'" if command != "echo $?" else "echo $status\nprintf '\\001'" for command in commands)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(["bash", "-c", script], cwd=folder, capture_output=True, text=True, check=False, env={**os.environ, "PATH": path})
    assert done.stderr == ""
    return done.stdout.split("\001")[:-1]


def test_transcripts_are_what_the_commands_print(folder: Path) -> None:
    pairs = [pair for language, text in _BLOCK.findall(README) if language == "console" for pair in _transcript(text)]
    assert len(pairs) >= 6
    for (command, wanted), found in zip(pairs, run(folder, [command for command, _ in pairs]), strict=True):
        assert _same(found) == _same(wanted), command


def test_the_python_of_the_readme_runs(folder: Path) -> None:
    run(folder, ["certify prove robust digits.onnx images.npy --set row=3 --set radius=1 --set scale=1/16 --set 'clip=[0,1]' -o digit.cert",
                 "certify prove robust digits.onnx images.npy --set row=3 --set radius=3 --set scale=1/16 --set 'clip=[0,1]' -o digit.cert"])
    code = "\n".join(text for language, text in _BLOCK.findall(README) if language == "python")
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[0].startswith("digits.onnx keeps its answer 3") and done.stdout.splitlines()[1] == "1"


def test_links_of_the_documentation_lead_somewhere() -> None:
    count = 0
    for page in [ROOT / name for name in ("README.md", "SECURITY.md", "CONTRIBUTING.md", "CHANGELOG.md")] + sorted((ROOT / "docs").rglob("*.md")):
        for link in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text("utf-8")):
            if "://" not in link:
                count += 1
                assert (page.parent / link).exists(), f"{page.name}: {link}"
    assert count > 10


def test_nothing_names_this_machine() -> None:
    words = re.compile(r"/(?:work|root|home)/[a-z]|https?://(?:localhost|127\.)|pypi")
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False)
    if tracked.returncode != 0:
        pytest.skip("not a git checkout")
    for name in tracked.stdout.splitlines():
        path = ROOT / name
        if path.suffix in (".py", ".md", ".toml", ".lock", ".json") and path.name != "test_readme.py" and path.exists():
            assert not words.search(path.read_text("utf-8")), name
