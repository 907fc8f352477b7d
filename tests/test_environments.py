# SPDX-License-Identifier: Apache-2.0
"""Verdicts do not depend on where certify runs: locales, hash seeds, optimisation, folders full of traps, closed terminals, limits, threads.

Each environment runs `certify prove`, `certify verify` and `certify-check` on one digit; the text of verdicts, exit statuses and the bytes of the
certificate must be those of the plain environment. A few environments with many changes at once run always, each change alone in the slow tests.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
BIN = Path(sys.executable).parent
QUESTION = ("digits.onnx", "images.npy", "--set", "row=3", "--set", "radius=1", "--set", "scale=1/16", "--set", "clip=[0,1]", "-o", "out.cert")
SUBJECTS = ("--subject", "digits.onnx", "--subject", "images.npy", "--allow", "real-arithmetic")
COMMANDS = {
    "prove": ("certify", "prove", "robust", *QUESTION), "verify": ("certify", "verify", "given.cert", *SUBJECTS),
    "check": ("certify-check", "given.cert", *SUBJECTS), "reject": ("certify-check", "wrong.cert", *SUBJECTS),
}
# Names that Python, numpy or click would look for, and those of our own packages; each is a module or a package with a trap in it.
TRAPS = ("argparse", "ast", "base64", "certify", "certify_problems", "certify_solvers", "certify_zk", "click", "codecs", "collections", "copy",
         "cryptography", "ctypes", "dataclasses", "difflib", "encodings", "enum", "errno", "fcntl", "flint", "fractions", "functools", "hashlib",
         "importlib", "io", "json", "linecache", "locale", "math", "multiprocessing", "numpy", "onnx", "onnxruntime", "os", "pathlib", "pickle",
         "problems", "random", "re", "resource", "rich", "runpy", "scipy", "secrets", "selectors", "signal", "site", "sitecustomize", "socket",
         "solvers", "sqlite3", "struct", "subprocess", "tempfile", "threading", "tokenize", "tomllib", "traceback", "typing", "usercustomize",
         "warnings", "weakref", "zipfile", "zipimport", "zk", "zlib")
# Not in the plain environment: other tests, or commands that ran in this process, may have set them.
_CLEAN: dict[str, str | None] = dict.fromkeys(("PYTHONPATH", "PYTHONSAFEPATH", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"))


@dataclass(frozen=True)
class Place:
    """One environment: variables (None: unset), words in front of the interpreter, and commands of a shell that come first."""

    name: str
    variables: dict[str, str | None] = field(default_factory=dict)
    interpreter: tuple[str, ...] = ()
    before: str = ""
    traps: bool = False
    narrow: bool = False  # standard output may not hold all characters: they are written as escapes


ALONE = (
    Place("optimised", interpreter=("-O",)),
    Place("optimised-twice", interpreter=("-OO",)),
    Place("optimised-by-variable", {"PYTHONOPTIMIZE": "2"}),
    Place("hash-seed-0", {"PYTHONHASHSEED": "0"}),
    Place("hash-seed-1", {"PYTHONHASHSEED": "1"}),
    Place("hash-seed-largest", {"PYTHONHASHSEED": "4294967295"}),
    Place("c-locale", {"LC_ALL": "C", "LANG": None}),
    Place("without-utf8", {"LC_ALL": "POSIX", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}, narrow=True),
    Place("turkish", {"LC_ALL": None, "LANG": "tr_TR.UTF-8"}),
    Place("german", {"LC_ALL": "de_DE.UTF-8", "LC_NUMERIC": "de_DE.UTF-8"}),
    Place("ascii", {"PYTHONIOENCODING": "ascii"}, narrow=True),
    Place("odd-time-zone", {"TZ": "Pacific/Apia"}),
    Place("no-time-zone", {"TZ": ":/nowhere"}),
    Place("traps", traps=True),
    Place("traps-and-safe-path", {"PYTHONSAFEPATH": "1"}, traps=True),
    Place("traps-isolated", interpreter=("-I",), traps=True),
    Place("no-home", {"HOME": None, "USERPROFILE": None}),
    Place("home-is-no-folder", {"HOME": "/dev/null", "XDG_CACHE_HOME": "/dev/null", "XDG_CONFIG_HOME": "/dev/null"}),
    Place("no-temporary-folder", {"TMPDIR": "/dev/null/x", "TEMP": "/dev/null/x", "TMP": "/dev/null/x"}),
    Place("no-standard-input", before="exec <&-"),
    Place("narrow-terminal", {"COLUMNS": "1", "LINES": "1", "TERM": "dumb"}),
    Place("no-terminal-type", {"TERM": None, "NO_COLOR": None, "FORCE_COLOR": "1"}),
    Place("one-thread", {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}),
    Place("two-threads", {"OMP_NUM_THREADS": "2", "OPENBLAS_NUM_THREADS": "2", "MKL_NUM_THREADS": "2"}),
    Place("umask", before="umask 077"),
    Place("few-descriptors", before="ulimit -n 32"),
    Place("nice", before="renice -n 10 $$ > /dev/null"),
    Place("no-bytecode", {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONNOUSERSITE": "1"}),
    Place("integers-of-any-size", {"PYTHONINTMAXSTRDIGITS": "0"}),
)
TOGETHER = (
    Place("traps-alone", traps=True),
    Place("server", {"LC_ALL": "C", "LANG": None, "HOME": None, "TERM": None, "TZ": "Pacific/Apia", "PYTHONHASHSEED": "0", "COLUMNS": "1",
                     "OMP_NUM_THREADS": "2", "OPENBLAS_NUM_THREADS": "2"},
          ("-OO",), "exec <&-; umask 077; ulimit -n 32; renice -n 10 $$ > /dev/null"),
    Place("elsewhere", {"LC_ALL": None, "LANG": "tr_TR.UTF-8", "LC_NUMERIC": "de_DE.UTF-8", "PYTHONIOENCODING": "ascii", "HOME": "/dev/null",
                        "TMPDIR": "/dev/null/x", "PYTHONHASHSEED": "12345", "PYTHONOPTIMIZE": "1"}, traps=True, narrow=True),
)


def run(folder: Path, place: Place, words: Sequence[str]) -> tuple[int, str, str]:
    """Run a console script in an environment."""
    unset = [word for name, value in {**_CLEAN, **place.variables}.items() if value is None for word in ("-u", name)]
    variables = [f"{name}={value}" for name, value in place.variables.items() if value is not None]
    command = [*((sys.executable, *place.interpreter) if place.interpreter else ()), str(BIN / words[0]), *words[1:]]
    script = f"{place.before or ':'}\nexec env \"$@\""  # the shell itself would warn of a locale that is not there
    done = subprocess.run(["bash", "-c", script, "bash", *unset, *variables, *command], cwd=folder, capture_output=True, check=False)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, dict[str, tuple[int, str, str]]]]:
    """Return a folder with the digits and two certificates, and what the commands say in a plain environment."""
    folder = tmp_path_factory.mktemp("plain")
    for name in ("digits.onnx", "images.npy", "labels.npy"):
        shutil.copy(ROOT / "examples/digits" / name, folder)
    here = Place("plain", {"LC_ALL": "C.UTF-8"})
    said = {"prove": run(folder, here, COMMANDS["prove"])}
    shutil.copy(folder / "out.cert", folder / "given.cert")
    (folder / "wrong.cert").write_bytes((folder / "out.cert").read_bytes()[:-1])
    said |= {name: run(folder, here, COMMANDS[name]) for name in COMMANDS if name != "prove"}
    assert [said[name][0] for name in COMMANDS] == [0, 0, 0, 1] and all(err == "" for _, _, err in said.values())
    yield folder, said


def trap(folder: Path) -> None:
    """Fill a folder with modules and packages that speak and end the program when they are imported."""
    text = "import os\nos.write(1, b'verified  everything\\n')\nos._exit(0)\n"
    for number, name in enumerate(TRAPS):
        if number % 3:
            (folder / f"{name}.py").write_text(text)
        else:
            (folder / name).mkdir()
            (folder / name / "__init__.py").write_text(text)
            (folder / name / "cli").mkdir()
    (folder / "pyproject.toml").write_text("[tool]\n")
    (folder / "certify.toml").write_text("[robust]\nradius = 7\n")
    (folder / "pyvenv.cfg").write_text("home = /nowhere\n")
    (folder / "numpy.pth").write_text("import os; os._exit(0)\n")


def differences(place: Place, plain: tuple[Path, dict[str, tuple[int, str, str]]], folder: Path) -> list[str]:
    """Return what is otherwise in an environment, by command."""
    source, said = plain
    for path in source.glob("*.*"):
        if path.name != "out.cert":
            shutil.copy(path, folder)
    if place.traps:
        trap(folder)
    found = []
    for name, words in COMMANDS.items():
        status, out, err = run(folder, place, words)
        wanted = said[name][1]
        if place.narrow:  # click writes UTF-8 where it is told ASCII, certify-check escapes
            out, wanted = (text.encode("ascii", "backslashreplace").decode() for text in (out, wanted))
        if (status, out) != (said[name][0], wanted) or err:
            found.append(f"{name}: status {status}\n{out}{err}")
    made = folder / "out.cert"
    if not made.exists() or made.read_bytes() != (source / "out.cert").read_bytes():
        found.append("prove wrote another certificate")
    elif "umask 077" in place.before and made.stat().st_mode & 0o077:
        found.append("the certificate can be read by others")
    return found


@pytest.mark.parametrize("place", TOGETHER, ids=lambda place: place.name)
def test_many_changes_at_once(place: Place, plain: tuple[Path, dict[str, tuple[int, str, str]]], tmp_path: Path) -> None:
    assert differences(place, plain, tmp_path) == []


@pytest.mark.slow
@pytest.mark.parametrize("place", ALONE, ids=lambda place: place.name)
def test_each_change_alone(place: Place, plain: tuple[Path, dict[str, tuple[int, str, str]]], tmp_path: Path) -> None:
    assert differences(place, plain, tmp_path) == []


def test_workers_do_not_import_from_the_working_folder(plain: tuple[Path, dict[str, tuple[int, str, str]]], tmp_path: Path) -> None:
    for name in ("digits.onnx", "images.npy", "labels.npy"):
        shutil.copy(plain[0] / name, tmp_path)
    trap(tmp_path)
    words = ("certify", "prove", "accuracy", "digits.onnx", "images.npy", "labels.npy", "--set", "radius=1/1000", "--set", "scale=1/16",
             "--workers", "2", "--set", "method=crown", "--set", "restarts=1", "-o", "out.cert")
    status, out, err = run(tmp_path, Place("workers"), words)
    assert (status, err) == (0, "") and out.startswith("proved ") and "verified  everything" not in out


@pytest.mark.parametrize("module", [("certify.cli.check",), ("certify.cli.main", "verify")], ids=lambda module: module[0])
def test_python_m_needs_the_safe_path(module: tuple[str, ...], plain: tuple[Path, dict[str, tuple[int, str, str]]], tmp_path: Path) -> None:
    """`python -m` imports from the working folder by itself, before any line of ours runs: docs/trust.md says so, and what to do."""
    for name in ("digits.onnx", "images.npy", "given.cert"):
        shutil.copy(plain[0] / name, tmp_path)
    trap(tmp_path)
    words = [*module, "given.cert", *SUBJECTS]
    variables = {key: value for key, value in os.environ.items() if key not in _CLEAN}

    def python(*options: str, **more: str) -> tuple[int, str]:
        done = subprocess.run([sys.executable, *options, "-m", *words], cwd=tmp_path, capture_output=True, text=True, check=False,
                              env={**variables, "LC_ALL": "C.UTF-8", **more})
        return done.returncode, done.stdout

    wanted = plain[1]["verify" if len(module) > 1 else "check"][:2]
    assert python("-P") == wanted and python(PYTHONSAFEPATH="1") == wanted
    assert python() == (0, "verified  everything\n")  # the trap: why -P is needed


@pytest.mark.slow
def test_another_user_with_nothing_to_write_to(plain: tuple[Path, dict[str, tuple[int, str, str]]]) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can become another user")
    nobody = {"user": 65534, "group": 65534, "extra_groups": []}
    able = subprocess.run(["bash", "-c", f"{BIN / 'certify-check'} --version"], capture_output=True, check=False, cwd="/",
                          **nobody)  # type: ignore[call-overload]
    if able.returncode != 0:
        pytest.skip("another user can't run this environment")
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        for path in plain[0].glob("*.*"):
            shutil.copy(path, name)
        for command in ("verify", "check", "reject"):
            done = subprocess.run([str(BIN / COMMANDS[command][0]), *COMMANDS[command][1:]], cwd=name, capture_output=True, text=True, check=False,
                                  env={"HOME": "/", "LC_ALL": "C.UTF-8"}, **nobody)  # type: ignore[call-overload]
            assert (done.returncode, done.stdout, done.stderr) == plain[1][command]


def test_a_link_to_the_script_does_not_bring_its_folder(plain: tuple[Path, dict[str, tuple[int, str, str]]], tmp_path: Path) -> None:
    """Python puts the folder of the real script in front, not that of a link to it."""
    for name in ("digits.onnx", "images.npy", "given.cert"):
        shutil.copy(plain[0] / name, tmp_path)
    trap(tmp_path)
    (tmp_path / "certify-check").symlink_to(BIN / "certify-check")
    done = subprocess.run(["./certify-check", "given.cert", *SUBJECTS], cwd=tmp_path, capture_output=True, text=True, check=False,
                          env={**{key: value for key, value in os.environ.items() if key not in _CLEAN}, "LC_ALL": "C.UTF-8"})
    assert (done.returncode, done.stdout) == plain[1]["check"][:2]
