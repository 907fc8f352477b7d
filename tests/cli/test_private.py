# SPDX-License-Identifier: Apache-2.0
"""Owner and auditor on the command line: commit, prove, verify, refute, run out of uses; and what is refused, with nothing written or lost."""

from __future__ import annotations

import json
import os
import shutil
import stat
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from certify.cli.main import cli
from certify.errors import CertifyError
from certify_zk import secret

PRIVATE = Path(__file__).resolve().parents[2] / "examples/private"
FAIR = "decision 0: the output is not above 0 · sensitive: age (18 to 75), sex (0, 1) · tolerances: none · commitment root "
DIGITS = ("prove", "private-robust", "digits.commit", "digits.vnnlib", "--set", "secret=digits.secret")


def run(*words: str, status: int = 0) -> str:
    """Run a command; return what it printed, errors included."""
    done: Result = CliRunner().invoke(cli, words)
    if isinstance(done.exception, CertifyError):  # `certify` itself says it
        assert done.exception.exit_status == status, done.exception
        return f"{done.exception} {done.exception.fix}"
    assert done.exit_code == status, (done.exit_code, done.output, done.exception)
    return done.output


@pytest.fixture(scope="module")
def owner(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder in which both networks are committed."""
    folder = tmp_path_factory.mktemp("owner")
    before = Path.cwd()
    os.chdir(folder)
    try:
        for path in PRIVATE.iterdir():
            shutil.copy(path, folder)
        run("commit", "digits.onnx", "--set", "policy=digits-policy.toml", "--set", "calibrate=digits-calibration.npy", "--set", "seed=digits.seed")
        run("commit", "credit.onnx", "--set", "policy=credit-policy.toml", "--set", "calibrate=applicants.csv", "-o", "credit.commit")
    finally:
        os.chdir(before)
    return folder


@pytest.fixture
def folder(owner: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a copy of that folder, which is the working directory."""
    shutil.copytree(owner, tmp_path / "work")
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path / "work"


def test_what_a_commitment_writes(folder: Path) -> None:
    for name, mode in (("digits.commit", 0o644), ("digits.secret", 0o600), ("digits.quantised.onnx", 0o600), ("digits.seed", 0o600)):
        assert stat.S_IMODE((folder / name).stat().st_mode) & 0o077 == mode & 0o077, name
    public = (folder / "digits.commit").read_bytes()
    assert len(public) < 6000 and secret.read(folder / "digits.secret").commitment.hex() in run("show", "digits.commit")
    for line in ("network   64-64-64-10", "uses      16", "sound     100.", "hidden    weights"):
        assert line in run("show", "digits.commit")
    assert "age: integer, 18 to 75, sensitive" in run("show", "credit.schema")


def test_nothing_is_replaced(folder: Path) -> None:
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    for words in (("commit", "digits.onnx"), ("commit", "digits.onnx", "-o", "new.commit", "--set", "secret=credit.secret"),
                  ("commit", "digits.onnx", "-o", "new.commit", "--set", "seed=digits.seed"), ("commit", "digits.onnx", "-o", "digits.onnx")):
        assert "output-taken" in run(*words, status=2)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_a_laboratory_compares_network_and_commitment(folder: Path) -> None:
    assert run("commit", "digits.quantised.onnx", "--set", "check=digits.commit", "--set", "seed=digits.seed").startswith("same ")
    for model, seed in (("digits.onnx", "digits.seed"), ("credit.quantised.onnx", "digits.seed")):
        assert "commitment-root" in run("commit", model, "--set", "check=digits.commit", "--set", f"seed={seed}", status=3)
    (folder / "other.seed").write_text("00" * 32)
    assert "commitment-root" in run("commit", "digits.quantised.onnx", "--set", "check=digits.commit", "--set", "seed=other.seed", status=3)
    assert "setting-value" in run("commit", "digits.quantised.onnx", "--set", "check=digits.commit", "--set", "seed=digits.vnnlib", status=2)
    assert "setting-missing" in run("commit", "digits.quantised.onnx", "--set", "check=digits.commit", status=2)


def test_settings_that_commit_does_not_have(folder: Path) -> None:
    assert "setting-unknown" in run("commit", "digits.onnx", "--set", "polcy=x", status=2)
    assert "file-unreadable" in run("commit", "absent.onnx", status=2)
    (folder / "bad.toml").write_text("usse = 3\n")
    said = run("commit", "digits.onnx", "-o", "new.commit", "--set", "policy=bad.toml", status=2)
    assert "policy-file" in said and "did you mean 'uses'" in said and not (folder / "new.commit").exists()


def test_prove_verify_and_show(folder: Path) -> None:
    told = json.loads(run(*DIGITS, "--set", "nonce=4711", "--set", "audience=x y", "--set", "expires=2027-01-31", "-o", "d.cert", "--json"))
    assert told["verdict"] == "proved" and told["claim"]["given"]["context"] == {"audience": "x y", "nonce": "4711", "expires": "2027-01-31"}
    said = run("verify", "d.cert", "--subject", "digits.commit", "--subject", "digits.vnnlib")
    assert said.startswith("verified  For every real x") and "(for audience 'x y', nonce '4711', not to be used after 2027-01-31)" in said
    assert "this is not checked" in said and "soundness bits 100." in said
    assert "subject-mismatch" in run("verify", "d.cert", "--subject", "commitment=credit.commit", "--subject", "digits.vnnlib", status=1)
    assert "assumption-not-allowed" in run("verify", "d.cert", "--subject", "digits.commit", "--subject", "digits.vnnlib", "--allow",
                                           "real-arithmetic", status=3)
    assert "zk/verifier.py" in run("show", "d.cert", "--trusted", "--subject", "digits.commit", "--subject", "digits.vnnlib")
    assert '"decision"' not in run("show", "d.cert") and "evidence  ligero v1" in run("show", "d.cert")


def test_a_proof_that_is_made_again_is_the_same_and_takes_no_use(folder: Path) -> None:
    for name in ("a.cert", "b.cert"):
        assert "use 1 of 16" in run(*DIGITS, "-o", name)
    assert (folder / "a.cert").read_bytes() == (folder / "b.cert").read_bytes()
    assert "use 2 of 16" in run(*DIGITS, "--set", "nonce=1", "-o", "c.cert") and secret.read(folder / "digits.secret").used() == 2


def test_a_rehearsal_takes_no_use(folder: Path) -> None:
    told = json.loads(run(*DIGITS, "--dry-run"))
    assert len(told["rehearsal"]["margins"][0]) == 9 and max(told["rehearsal"]["widths_log2"].values()) < 63
    assert secret.read(folder / "digits.secret").used() == 0 and not list(folder.glob("*.cert"))


def test_a_false_claim_is_refuted_at_a_public_point(folder: Path) -> None:
    text = (folder / "digits.vnnlib").read_text()
    for index in range(64):
        text = text.replace(f"(assert (>= X_{index} ", f"(assert (>= X_{index} 0)) ;")
        text = text.replace(f"(assert (<= X_{index} ", f"(assert (<= X_{index} 16)) ;")
    (folder / "all.vnnlib").write_text(text)
    words = ("prove", "private-robust", "digits.commit", "all.vnnlib", "--set", "secret=digits.secret", "-o", "x.cert")
    said = run(*words, status=4)
    assert said.startswith("unknown ") and "--set refute=yes" in said and secret.read(folder / "digits.secret").used() == 0
    assert run(*words, "--set", "refute=yes", status=5).startswith("refuted ")
    said = run("verify", "x-refuted.cert", "--subject", "digits.commit", "--subject", "all.vnnlib")
    assert "scores class" in said and "at least as high" in said and not (folder / "x.cert").exists()
    words = ("prove", "private-linear", *words[2:])
    assert run(*words, status=4).startswith("unknown ") and secret.read(folder / "digits.secret").used() == 1


def test_the_secret_must_be_the_commitments_own(folder: Path) -> None:
    words = DIGITS[:-1]
    assert "setting-missing" in run(*DIGITS[:4], status=2)
    assert "commitment-root" in run(*words, "secret=credit.secret", status=3)
    assert "file-unreadable" in run(*words, "secret=absent", status=2)
    assert "secret-damaged" in run(*words, "secret=digits.vnnlib", status=3)
    assert secret.read(folder / "credit.secret").used() == 0 and not list(folder.glob("*.cert"))


def test_uses_run_out(folder: Path) -> None:
    (folder / "two.toml").write_text("uses = 2\n[input]\nlower = 0\nupper = 16\n")
    run("commit", "digits.onnx", "--set", "policy=two.toml", "--set", "calibrate=digits-calibration.npy", "-o", "two.commit")
    words = ("prove", "private-robust", "two.commit", "digits.vnnlib", "--set", "secret=two.secret", "-o", "t.cert", "--set")
    for number in (1, 2):
        assert f"use {number} of 2" in run(*words, f"nonce={number}")
    kept = (folder / "t.cert").read_bytes()
    said = run(*words, "nonce=3", status=3)
    assert "pad-budget-spent" in said and "commit again" in said and (folder / "t.cert").read_bytes() == kept


def test_fairness_is_about_persons(folder: Path) -> None:
    words = ("prove", "private-fair", "credit.commit", "credit.schema", "applicants.csv", "--set", "secret=credit.secret", "-o", "f.cert")
    assert "needs --set row=" in run(*words, status=2)
    assert run(*words, "--set", "row=0").startswith("proved ")
    assert FAIR in run("verify", "f.cert", *(word for name in ("credit.commit", "credit.schema", "applicants.csv") for word in ("--subject", name)))
    assert run(*words, "--set", "row=0", "--set", "decision=1", status=4).startswith("unknown ")
    assert "row 100 of a points file" in run(*words, "--set", "row=100", status=2)


def test_128_bits(folder: Path) -> None:
    (folder / "p.toml").write_text('level = 128\nuses = 1\n[input]\nlower = 0\nupper = 16\n')
    run("commit", "digits.onnx", "--set", "policy=p.toml", "-o", "strong.commit")
    run("prove", "private-robust", "strong.commit", "digits.vnnlib", "--set", "secret=strong.secret", "-o", "s.cert")
    assert "soundness bits 129.1" in run("verify", "s.cert", "--subject", "strong.commit", "--subject", "digits.vnnlib")


def test_a_schema_is_made_canonical(folder: Path) -> None:
    draft = json.loads((folder / "credit.schema").read_bytes())
    draft["features"][0] |= {"lower": 18, "upper": "75.0"}
    draft["tolerances"] = {"income": 0.5}
    (folder / "draft.json").write_text(json.dumps(draft, indent=2))
    assert "12 columns of 7 features" in run("convert", "schema", "draft.json", "-o", "new.schema")
    made = json.loads((folder / "new.schema").read_bytes())
    assert made["features"][0]["lower"] == "18" and made["features"][0]["upper"] == "75" and made["tolerances"] == {"income": "1/2"}
    assert "tolerance 1/2" in run("show", "new.schema")
    (folder / "draft.json").write_text('{"decision": [1, 2')
    assert "setting-value" in run("convert", "schema", "draft.json", "-o", "other.schema", status=2)
    (folder / "draft.json").write_text('{"decision": "argmax", "features": [], "sensitive": [], "tolerances": {}}')
    assert "schema-malformed" in run("convert", "schema", "draft.json", "-o", "other.schema", status=3) and not (folder / "other.schema").exists()
