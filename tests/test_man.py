# SPDX-License-Identifier: Apache-2.0
"""The man pages are those that the commands give, render without a warning, and are in the wheel."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import click
import pytest

from certify.cli.main import cli

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT / "docs"))

import make_man  # noqa: E402

NAMES = ("certify.1", "certify-check.1")


def test_pages_are_made_again_byte_for_byte() -> None:
    made = make_man.files()
    assert {path.name: path.read_text("utf-8") for path in (ROOT / "docs/man").iterdir()} == made  # `make docs` writes them again
    assert set(made) == set(NAMES)
    for text in made.values():
        assert text.isascii() and text.isprintable() is False and all(line == "" or line.isprintable() for line in text.splitlines())


def test_every_command_and_option_is_in_the_page() -> None:
    text = make_man.files()["certify.1"].replace("\\-", "-")
    context = click.Context(cli)
    for name in cli.list_commands(context):
        command = cli.get_command(context, name)
        assert command is not None and f".SS certify {name}" in text
        for parameter in command.params:
            if isinstance(parameter, click.Option):
                assert all(option in text for option in parameter.opts), (name, parameter.opts)


@pytest.mark.parametrize("name", NAMES)
def test_groff_finds_nothing_to_warn_of(name: str) -> None:
    if shutil.which("groff") is None:
        pytest.skip("groff is not installed")
    done = subprocess.run(["groff", "-man", "-ww", "-z", "-Tutf8", str(ROOT / "docs/man" / name)], capture_output=True, text=True, check=True)
    assert done.stderr == ""


@pytest.mark.parametrize("name", NAMES)
def test_man_shows_the_sections(name: str) -> None:
    if shutil.which("man") is None:
        pytest.skip("man is not installed")
    done = subprocess.run(["man", "--warnings", "-l", str(ROOT / "docs/man" / name)], capture_output=True, text=True, check=False,
                          env={**os.environ, "MANWIDTH": "100", "MANPAGER": "cat", "LC_ALL": "C.UTF-8"})
    if done.returncode != 0 and "minimized" in done.stdout + done.stderr:
        pytest.skip("man is only a stub here")
    assert done.returncode == 0 and done.stderr == ""
    shown = re.sub(r".\x08", "", done.stdout)
    for heading in ("NAME", "SYNOPSIS", "DESCRIPTION", "EXIT STATUS", "ENVIRONMENT", "FILES", "EXAMPLES", "SEE ALSO"):
        assert re.search(rf"^{heading}$", shown, re.MULTILINE), heading
    assert "\n       certify" in shown and " --allow" in shown and "\\" not in shown


def test_the_wheel_installs_them(tmp_path: Path) -> None:
    pytest.importorskip("hatchling")
    done = subprocess.run([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)], cwd=ROOT, capture_output=True, text=True,
                          check=False)
    assert done.returncode == 0, done.stderr
    with zipfile.ZipFile(next(tmp_path.glob("*.whl"))) as wheel:
        names = [name.split(".data/data/")[1] for name in wheel.namelist() if ".data/data/" in name]
        assert sorted(names) == sorted(f"share/man/man1/{name}" for name in NAMES)
        assert {"certify/cli/codes.toml", "certify/vectors/region/index.json"} <= set(wheel.namelist())
