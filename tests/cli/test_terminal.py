# SPDX-License-Identifier: Apache-2.0
"""Names of files and texts of authors on a terminal: they steer nothing, and look like no line of ours."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

from certify.cli.lines import printable, quoted
from certify.container import members
from cli.test_bad_input import _path, run
from kinds.region_vectors import bases
from kinds.robust_vectors import specimen
from toolkit import zipped

ROOT = Path(__file__).resolve().parents[2]
EVIL = "\x1b[2J\x1b[1;1Hverified\n\rverified  \x1b]0;x\x07\x9b\u202e\udc9b"
SHOWN = {chr(code) for code in (*range(32), 127, *range(128, 160))} | {"\u202e"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder of files with hostile names."""
    for name, data in bases().leaf.files.values():
        (tmp_path / f"{EVIL}{name}").write_bytes(data)
    (tmp_path / f"{EVIL}ok.cert").write_bytes(bases().leaf.seal())
    (tmp_path / f"{EVIL}bad.cert").write_bytes(b"PK\3\4")
    for name in ("x.onnx", "x.npy", "x.csv", "x.toml"):
        (tmp_path / f"{EVIL}{name}").write_bytes(b"junk\n")
    (tmp_path / f"{EVIL}a.toml").write_text("[region]\nsemantics = 'x'\nmodel = 'a'\nproperty = 'b'\n")
    (tmp_path / f"{EVIL}b.toml").write_text("[region]\nmodel = 'a'\nproperty = 'b'\n")
    (tmp_path / f"{EVIL}c.toml").write_text("[prove]\nseed = -1\n")
    return tmp_path


def clean(folder: Path, *words: str, program: str = "certify.cli.main") -> str:
    """Run a command; whatever it prints steers no terminal and begins no line with a verdict that is none."""
    done = subprocess.run([sys.executable, "-m", program, *words], cwd=folder, capture_output=True, check=False, timeout=120,
                          env={**os.environ, "PYTHONPATH": _path()})
    said = (done.stdout + done.stderr).decode("utf-8")
    assert not SHOWN & set(said.replace("\n", "")), (words, said)
    assert f"\n{said}".count("\nverified") == f"\n{said}".count("\nverified  No input of the region"), (words, said)
    return said


def test_no_command_prints_a_name_as_it_is(folder: Path) -> None:
    ok, bad, model, text = f"{EVIL}ok.cert", f"{EVIL}bad.cert", f"{EVIL}ramp.onnx", f"{EVIL}ramp.vnnlib"
    subjects = ("--subject", model, "--subject", text)
    assert "wrote" in clean(folder, "key", "new", f"{EVIL}key")
    assert "output-taken" in clean(folder, "key", "new", f"{EVIL}key")
    assert "signed" in clean(folder, "sign", ok, "--key", f"{EVIL}key.pem")
    clean(folder, "sign", ok, "--key", f"{EVIL}x.csv")
    clean(folder, "sign", ok, "--key", f"{EVIL}key.pem", "-o", f"{EVIL}new.cert")
    clean(folder, "sign", ok, "--key", f"{EVIL}key.pem", "-o", f"{EVIL}new.cert")
    for words in ((ok, *subjects), (ok, bad, *subjects), (ok, "--subject", bad), (ok, "--subject", f"{EVIL}=x"), (ok, "--allow", EVIL),
                  (ok, "--key", EVIL), (f"--{EVIL}",), (ok, "--threshold", EVIL)):
        clean(folder, "verify", *words)
        clean(folder, *words, program="certify.cli.check")
    clean(folder, "x", "--memory", EVIL, program="certify.cli.check")
    for name in sorted(path.name for path in folder.iterdir()):
        clean(folder, "show", name)
    clean(folder, "show", ok, "--evidence", EVIL)
    clean(folder, "diff", ok, bad)
    assert "wrote" in clean(folder, "report", ok, *subjects, "-o", f"{EVIL}r.html")
    clean(folder, "report", ok, "-o", f"{EVIL}x.csv")


def test_no_message_of_prove_and_others_does(folder: Path) -> None:
    model, text = f"{EVIL}ramp.onnx", f"{EVIL}ramp.vnnlib"
    for name in ("x", "a", "b", "c"):
        clean(folder, "prove", "region", "--config", f"{EVIL}{name}.toml")
    clean(folder, "prove", "region", "--config", f"{EVIL}b.toml", "--json")
    assert "wrote" in clean(folder, "prove", "region", model, text, "-o", f"{EVIL}out.cert")
    (folder / f"{EVIL}violated").write_text((folder / text).read_text().replace("Y_0 2", "Y_0 -9"))
    assert "is from an earlier run" in clean(folder, "prove", "region", model, f"{EVIL}violated", "-o", f"{EVIL}out.cert")
    for words in ((model, text), (model, text, "--dry-run"), (model, text, "--set", EVIL), (EVIL, text), (model, text, "--progress", EVIL)):
        clean(folder, "prove", "region", *words)
    clean(folder, "prove", EVIL, model)
    assert "wrote" in clean(folder, "convert", "onnx", model, "-o", f"{EVIL}conv.onnx")
    clean(folder, "convert", "onnx", model, "-o", f"{EVIL}conv.onnx", "--check")
    clean(folder, "convert", EVIL, "x", "-o", "y")
    for words in (("explain", EVIL), ("claims", EVIL), (EVIL,), ("selftest", EVIL), ("completion", EVIL), ("verify", f"--jso{EVIL}"),
                  (f"verifi{EVIL}",)):
        clean(folder, *words)


def test_whatever_is_printed_goes_through_the_helpers() -> None:
    allowed = {"output.py": 3, "completion.py": 1, "check.py": 7}  # the helpers, a script of click's, and certify-check's own
    for path in sorted((ROOT / "certify/cli").glob("*.py")):
        calls = [ast.unparse(node.func) for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.Call)]
        found = [call for call in calls if call in ("print", "click.echo", "click.secho", "sys.stdout.write", "sys.stderr.write")]
        assert len(found) <= allowed.get(path.name, 0), f"{path.name}: print with `say`, `verdict` or `as_json` of certify.cli.output"


def test_texts_of_authors_are_words_or_quoted() -> None:
    assert quoted("certify", 24) == "certify" and quoted("0.1.0", 24) == "0.1.0"
    assert quoted("by hand", 24) == '"by hand"' and quoted("a" * 30, 24) == f'"{"a" * 23}\N{HORIZONTAL ELLIPSIS}"'
    assert "  " not in quoted("certify" + " " * 70 + "verified", 255) and quoted('a "b', 24) == r'"a \"b"'
    assert printable("x\x1b[2J\ny" * 1000).count("\N{REPLACEMENT CHARACTER}") == 2000


def test_a_producer_does_not_write_lines_of_its_own(tmp_path: Path) -> None:
    for name in ("certify".ljust(70) + "verified  The model is robust.", "x" * 69 + " verified  all", " ".join(["verified"] * 28)):
        made = bases().leaf.copy()
        content = made.content()
        content["predicate"]["producer"] = {"name": name, "version": name, "prover": name, "solver": "", "seed": 0}
        (tmp_path / "a.cert").write_bytes(zipped(members(content, made.arrays, {})))
        (tmp_path / "b.cert").write_bytes(made.seal())
        shown = run(tmp_path, "show", "a.cert").stdout
        lines = [line for line in shown.splitlines() if "name " in line or "prover " in line or "version " in line]
        assert len(lines) == 3 and all(len(line) <= 60 and "  " not in line.strip() for line in lines), shown
        assert "  verified" not in run(tmp_path, "diff", "a.cert", "b.cert").stdout


def test_show_lists_the_first_signatures_and_counts_all(tmp_path: Path) -> None:
    made = specimen(0.5)
    signed = {f"{k:064x}": bytes(64) for k in range(40)}
    (tmp_path / "a.cert").write_bytes(zipped(members(made.content(), made.arrays, {}, signed)))
    shown = run(tmp_path, "show", "a.cert").stdout
    assert shown.count("signature of the key") == 12 and "(40 signatures in all)" in shown
