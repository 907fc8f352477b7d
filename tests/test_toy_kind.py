# SPDX-License-Identifier: Apache-2.0
"""Adding a kind works as CONTRIBUTING.md says: the example is applied to a copy of the repository, built, and used there."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
TOY = ROOT / "examples/toy_kind"
sys.path.append(str(TOY))

import apply  # noqa: E402

from certify.registry import KINDS  # noqa: E402

pytestmark = pytest.mark.skipif("reaches" in KINDS, reason="the example is applied to this checkout already")

_PARTS = ("certify", "solvers", "problems", "zk", "docs", "examples", "tests", "pyproject.toml", "README.md", "CONTRIBUTING.md", "SECURITY.md",
          "CHANGELOG.md", "LICENSE", ".importlinter", "cli.py")


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the repository with the kind added, its vectors written."""
    made = tmp_path_factory.mktemp("toy") / "repository"
    made.mkdir()
    for name in _PARTS:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, made / name, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
        else:
            shutil.copy(ROOT / name, made / name)
    apply.apply(made)
    done = python(made, "from pathlib import Path\nfrom vectors.build import corpus\nfor path, data in corpus('reaches').items():\n"
                        "    at = Path('tests/vectors/reaches', path)\n    at.parent.mkdir(parents=True, exist_ok=True)\n    at.write_bytes(data)\n"
                        "import make_codes\nmake_codes.main()")
    assert "pages of codes" in done
    return made


@pytest.fixture(scope="module")
def installed(copy: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the package installed from the copy, as `make test` would."""
    target = tmp_path_factory.mktemp("installed")
    done = subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--no-index",
                           "--disable-pip-version-check", "--target", str(target), str(copy)], capture_output=True, text=True, check=False)
    if done.returncode != 0 and "No module named pip" in done.stderr:
        pytest.skip("pip is not installed")
    assert done.returncode == 0, done.stderr
    return target


def python(copy: Path, script: str) -> str:
    """Run a script in the copy, with its modules in front of all others."""
    roots = os.pathsep.join(str(copy / part) for part in (".", "solvers", "problems", "tests", "docs"))
    done = subprocess.run([sys.executable, "-P", "-c", script], cwd=copy, capture_output=True, text=True, check=False,
                          env={**os.environ, "PYTHONPATH": roots})
    assert done.returncode == 0, done.stderr
    return done.stdout


def certify(installed: Path, folder: Path, *words: str) -> tuple[int, str]:
    """Run a command of the installed package."""
    done = subprocess.run([sys.executable, str(installed / "bin/certify"), *words], cwd=folder, capture_output=True, text=True, check=False,
                          env={**os.environ, "PYTHONPATH": str(installed)})
    return done.returncode, done.stdout + done.stderr


def test_the_code_of_the_guide_is_that_of_the_example() -> None:
    guide = (ROOT / "CONTRIBUTING.md").read_text("utf-8").split("## Adding a kind of claim")[1]
    files = {path.read_text("utf-8") for path in TOY.rglob("*.py")}
    added = "".join(instead for _, _, instead in apply.EDITS)
    blocks = re.findall(r"^```(\w*)\n(.*?)^```$", guide, re.DOTALL | re.MULTILINE)
    assert [language for language, _ in blocks] == ["python", "python", "", "toml", "", "toml"]
    for _, text in blocks:
        assert text in files or text in added or text.startswith("certify claims reaches\n"), text
    named = re.findall(r"`((?:certify|solvers|tests|docs)/[\w/]*(?:reaches|_vectors)\.(?:py|md))`", guide)
    assert len(set(named)) == 4 and all((TOY / name).is_file() for name in named)


def test_an_edit_that_does_not_fit_changes_nothing(tmp_path: Path) -> None:
    for name, _, _ in apply.EDITS:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("another version\n")
    with pytest.raises(ValueError, match="not once"):
        apply.apply(tmp_path)
    assert {path.read_text() for path in tmp_path.rglob("*") if path.is_file()} == {"another version\n"}


def test_vectors_are_made_before_the_package_is_installed() -> None:
    """The package can't be built without the folders that it includes, so nothing that writes them may need it."""
    rules = dict(re.findall(r"^([\w$()/.]+): ([^#\n]*)", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    assert rules["vectors"].split() == ["$(VENV)/.packages"] and "$(VENV)/.packages" in rules["$(VENV)/.installed"]
    assert '"vectors", "install", "docs"' in (TOY / "apply.py").read_text("utf-8")


def test_the_commands_of_the_guide(installed: Path, tmp_path: Path) -> None:
    shutil.copy(ROOT / "examples/clip/clip.onnx", tmp_path / "model.onnx")
    status, said = certify(installed, tmp_path, "claims", "reaches")
    assert status == 0 and "which output, from 0" in said
    status, said = certify(installed, tmp_path, "prove", "reaches", "model.onnx", "--set", "output=0", "--set", "at_least=1/2", "-o", "out.cert")
    assert status == 0 and said.startswith("proved    For some input, output 0 of model.onnx is at least 1/2.")
    status, said = certify(installed, tmp_path, "verify", "out.cert", "--subject", "model.onnx")
    assert status == 0 and "value 0.75" in said
    status, said = certify(installed, tmp_path, "prove", "reaches", "model.onnx", "--set", "output=0", "--set", "at_least=2", "-o", "other.cert")
    assert status == 4 and said.startswith("unknown ") and not (tmp_path / "other.cert").exists()
    status, said = certify(installed, tmp_path, "prove", "reaches", "model.onnx", "--set", "output=1", "-o", "other.cert")
    assert status == 2 and "claim-mismatch: output 1 of a network with 1" in said and "numbered from 0" in said
    status, said = certify(installed, tmp_path, "selftest", "reaches")
    assert status == 0 and "23 of 23" in said


def test_a_wrong_certificate_is_refused(copy: Path, installed: Path, tmp_path: Path) -> None:
    hair = Fraction(3, 8) + Fraction(1, 10**30)
    python(copy, f"from pathlib import Path\nfrom kinds.reaches_vectors import specimen\nmade = specimen()\n"
                 f"made.says['at_least'] = '{hair}'\nPath({str(tmp_path / 'wrong.cert')!r}).write_bytes(made.seal())\n"
                 f"Path({str(tmp_path / 'ramp.onnx')!r}).write_bytes(made.files['model'][1])")
    status, said = certify(installed, tmp_path, "verify", "wrong.cert", "--subject", "ramp.onnx")
    assert status == 1 and said.startswith("rejected  witness-fails")


def test_mutants_with_the_oracle(copy: Path) -> None:
    said = python(copy, "from test_mutants import run\ncounts = run('reaches', 5, 300)\n"
                        "print(counts['false accepts'], counts['false'] > 60, counts['true'] > 60, counts['verified'] > 20)")
    assert said.split() == ["0", "True", "True", "True"]


def test_the_house_rules_hold_there(copy: Path) -> None:
    done = subprocess.run([sys.executable, "-m", "ruff", "check", "--no-cache", "certify/claims", "solvers", "tests/kinds", "tests/test_mutants.py"],
                          cwd=copy, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/test_codes.py", "tests/test_vectors.py", "-k",
                           "reaches or raised or format or folder"], cwd=copy, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.slow
def test_types_contracts_and_all_its_tests(copy: Path) -> None:
    roots = os.pathsep.join(str(copy / part) for part in (".", "solvers", "problems"))
    for words in (["-m", "mypy", "--no-incremental"], ["-c", "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports())"],
                  ["-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/test_mutants.py", "tests/test_vectors.py", "tests/test_claims.py", "-k",
                   "reaches or claims"]):
        done = subprocess.run([sys.executable, *words], cwd=copy, capture_output=True, text=True, check=False,
                              env={**os.environ, "PYTHONPATH": roots})
        assert done.returncode == 0, done.stdout + done.stderr
