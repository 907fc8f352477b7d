# SPDX-License-Identifier: Apache-2.0
"""The commands on good input: what they print, where, and with which exit status; the Python API beside them."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import certify
from cli.test_bad_input import run
from kinds.region_vectors import bases
from kinds.robust_vectors import POINTS, classifier
from toolkit import model, npy

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a model, a property that holds, one that does not, points and labels."""
    for name, data in bases().leaf.files.values():
        (tmp_path / name).write_bytes(data)
    (tmp_path / "violated.vnnlib").write_bytes(bases().witness.files["property"][1])
    (tmp_path / "net.onnx").write_bytes(model(classifier(2)))
    (tmp_path / "points.npy").write_bytes(npy(POINTS))
    (tmp_path / "points.csv").write_text("a,b\n8,8\n0,0\n16,4\n")
    (tmp_path / "labels.npy").write_bytes(npy(np.array([1, 1, 1])))
    return tmp_path


def test_prove_verify_and_show_a_region(folder: Path) -> None:
    done = run(folder, "prove", "region", "ramp.onnx", "ramp.vnnlib", "-o", "out.cert")
    assert done.returncode == 0 and done.stdout.startswith("proved ") and done.stderr == ""
    again = run(folder, "prove", "region", "ramp.onnx", "ramp.vnnlib", "-o", "again.cert")
    assert again.returncode == 0 and (folder / "out.cert").read_bytes() == (folder / "again.cert").read_bytes()
    done = run(folder, "verify", "out.cert", "--subject", "ramp.vnnlib", "--subject", "ramp.onnx")
    assert done.returncode == 0 and done.stdout.startswith("verified ")
    assert "rests on: real-arithmetic" in done.stdout and "model: ramp.onnx" in done.stdout
    done = run(folder, "verify", "out.cert", "--subject", "model=ramp.onnx", "--subject", "property=ramp.vnnlib", "--allow", "none")
    assert done.returncode == 3 and "assumption-not-allowed" in done.stdout
    for words, wanted in ((["out.cert"], "kind      region v1"), (["out.cert", "--claim"], "No input of the region"),
                          (["out.cert", "--tree"], "leaf 0"),
                          (["out.cert", "--evidence", "tree"], "-1"), (["ramp.onnx"], "dense 2 -> 3"),
                          (["ramp.vnnlib"], "unsafe where -1 Y_0 +2 <= 0"),
                          (["points.npy"], "|u1 of shape [3, 2]"), (["points.csv"], "3 rows of a, b")):
        done = run(folder, "show", *words)
        assert done.returncode == 0 and wanted in done.stdout
    assert json.loads(run(folder, "show", "out.cert", "--json").stdout)["claim"]["says"] == {"holds": True}


def test_a_mistyped_role_is_a_usage_error(folder: Path) -> None:
    run(folder, "prove", "region", "ramp.onnx", "ramp.vnnlib", "-o", "out.cert")
    done = run(folder, "verify", "out.cert", "--subject", "modell=ramp.onnx", "--subject", "ramp.vnnlib")
    assert done.returncode == 2 and "role-unknown" in done.stderr and "its roles are model, property" in done.stderr


def test_a_refutation_is_written_beside_the_answer(folder: Path) -> None:
    done = run(folder, "prove", "region", "ramp.onnx", "violated.vnnlib", "-o", "out.cert", "--json")
    told = json.loads(done.stdout)
    assert done.returncode == 5 and told["verdict"] == "refuted" and told["certificate"] == "out-refuted.cert"
    assert not (folder / "out.cert").exists()
    result = certify.verify(folder / "out-refuted.cert", [folder / "ramp.onnx", folder / "violated.vnnlib"])
    assert result.claim.says["holds"] is False and result.assumptions == ("real-arithmetic",)
    done = run(folder, "prove", "region", "ramp.onnx", "violated.vnnlib", "--set", "holds=false", "-o", "wanted.cert")
    assert done.returncode == 0 and done.stdout.startswith("proved ") and (folder / "wanted.cert").exists()


def test_unknown_writes_nothing(folder: Path) -> None:
    text = (folder / "ramp.vnnlib").read_text().replace("Y_0 2", "Y_0 0.5")
    (folder / "hard.vnnlib").write_text(text)
    before = sorted(p.name for p in folder.iterdir())
    done = run(folder, "prove", "region", "ramp.onnx", "hard.vnnlib", "--set", "method=crown", "-o", "out.cert")
    assert done.returncode == 4 and done.stdout.startswith("unknown ")
    assert sorted(p.name for p in folder.iterdir()) == before
    done = run(folder, "prove", "region", "ramp.onnx", "hard.vnnlib", "-o", "out.cert")
    assert done.returncode == 0 and "2 leaves" in done.stdout


def test_robust_with_labels_csv_and_its_own_answer(folder: Path) -> None:
    for words in (["points.npy"], ["points.csv"], ["points.npy", "labels.npy"], ["points.npy", "--set", "labels=labels.npy"]):
        done = run(folder, "prove", "robust", "net.onnx", *words, "--set", "row=1", "--set", "radius=0.5", "-o", "out.cert")
        assert done.returncode == 0 and "for every input within 1/2 (linf, in the units of the points file) of row 1" in done.stdout
        assert ("answers 1, the label in labels.npy," if "labels" in " ".join(words) else "keeps its answer 1 ") in done.stdout
    files = [folder / "net.onnx", folder / "points.npy", folder / "labels.npy"]
    result = certify.verify(folder / "out.cert", files, allow={"real-arithmetic"})
    assert result.claim.given["radius"] == Fraction(1, 2) and result.claim.given["label"] == 1
    assert certify.load(folder / "out.cert").claim.sentence() == result.sentence
    assert certify.verify(folder / "out.cert", files, allow=["real-arithmetic"]).id == result.id
    with pytest.raises(certify.Declined) as caught:
        certify.verify(folder / "out.cert", files, allow=set())
    assert caught.value.code == "assumption-not-allowed"
    with pytest.raises(certify.Declined) as caught:
        certify.verify(folder / "out.cert", files[:2])
    assert caught.value.code == "subject-missing"
    with pytest.raises(TypeError, match="a single string"):
        certify.verify(folder / "out.cert", files, allow="real-arithmetic")  # type: ignore[arg-type]
    with pytest.raises(certify.UsageError) as unknown:
        certify.verify(folder / "out.cert", files, allow={"real-arithmetic", "wishful"})
    assert unknown.value.code == "assumption-unknown"
    with pytest.raises(certify.Rejected) as wrong:
        certify.verify(folder / "out.cert", {"model": folder / "points.npy", "points": folder / "points.npy"})
    assert wrong.value.code == "subject-mismatch"


def test_dry_run_prints_the_whole_question_and_writes_nothing(folder: Path) -> None:
    before = sorted(p.name for p in folder.iterdir())
    done = run(folder, "prove", "robust", "net.onnx", "points.npy", "--set", "row=1", "--set", "radius=1/2", "--dry-run")
    assert done.returncode == 0
    assert json.loads(done.stdout)["given"] == {"row": 1, "label": 1, "norm": "linf", "radius": "1/2", "radius_unit": "raw", "clip": None,
                                                "scale": "1", "subtract": "0",
                                                "divide": "1", "semantics": "real"}
    assert sorted(p.name for p in folder.iterdir()) == before


def test_several_certificates_give_the_worst_status(folder: Path) -> None:
    run(folder, "prove", "region", "ramp.onnx", "ramp.vnnlib", "-o", "good.cert")
    (folder / "bad.cert").write_bytes(b"PK")
    subjects = ["--subject", "ramp.onnx", "--subject", "ramp.vnnlib"]
    done = run(folder, "verify", "good.cert", "bad.cert", *subjects)
    assert done.returncode == 1 and [line.split()[0] for line in done.stdout.splitlines() if not line.startswith(" ")] == ["verified", "rejected"]
    lines = run(folder, "verify", "bad.cert", "good.cert", *subjects, "--json").stdout.splitlines()
    assert [json.loads(line)["verdict"] for line in lines] == ["rejected", "verified"]


def test_two_files_of_one_name_get_two_names(folder: Path) -> None:
    (folder / "sub").mkdir()
    (folder / "sub" / "net.onnx").write_bytes((folder / "points.csv").read_bytes())
    done = run(folder, "prove", "robust", "net.onnx", "sub/net.onnx", "--set", "row=1", "--set", "radius=1/2", "-o", "out.cert")
    assert done.returncode == 0
    done = run(folder, "verify", "out.cert", "--subject", "net.onnx", "--subject", "sub/net.onnx")
    assert done.returncode == 0 and "points: points-net.onnx" in done.stdout


def test_gzipped_subjects_are_unpacked(folder: Path) -> None:
    import gzip
    for name in ("ramp.onnx", "ramp.vnnlib"):
        (folder / f"{name}.gz").write_bytes(gzip.compress((folder / name).read_bytes()))
    done = run(folder, "prove", "region", "ramp.onnx.gz", "ramp.vnnlib.gz", "-o", "out.cert")
    assert done.returncode == 0
    assert run(folder, "verify", "out.cert", "--subject", "ramp.onnx", "--subject", "ramp.vnnlib.gz").returncode == 0


def test_listing_commands(folder: Path) -> None:
    assert "roles: model, points, labels?" in run(folder, "claims").stdout
    assert "[default: raw]" in run(folder, "claims", "robust").stdout
    assert "crown" in run(folder, "provers").stdout
    assert "leaf-uncovered" in run(folder, "explain").stdout
    assert run(folder, "explain", "leaf-uncoverd").returncode == 2
    help_text = run(folder, "--help").stdout
    for command in ("claims", "convert", "explain", "prove", "provers", "show", "verify"):
        assert command in help_text and run(folder, command, "--help").returncode == 0


def test_no_colour_without_a_terminal(folder: Path) -> None:
    assert "\x1b" not in run(folder, "prove", "region", "ramp.onnx", "ramp.vnnlib", "-o", "out.cert").stdout


def test_every_assumption_has_a_page() -> None:
    from certify.assumptions import NAMES
    assert set(tomllib.loads((ROOT / "certify/cli/assumptions.toml").read_text("utf-8"))) == NAMES
    assert {path.stem for path in (ROOT / "docs/assumptions").glob("*.md")} == NAMES


def test_the_checker_imports_no_prover_and_no_command_line() -> None:
    script = """
import sys, certify, certify.cli.check
from certify import registry, verification
for kind in registry.KINDS:
    registry.kind(kind)
others = ("certify_solvers", "certify_problems", "click", "rich", "onnx", "onnxruntime", "scipy", "pickle")
print(",".join(name for name in sys.modules if name.split(".")[0] in others))
"""
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert set(done.stdout.strip().split(",")) <= {"pickle", ""}  # numpy itself imports pickle; ours never does


def test_import_is_lazy() -> None:
    script = "import sys; import certify; certify.Rejected; print('numpy' in sys.modules, 'flint' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split() == ["False", "False"]


def test_external_weights_are_converted_to_one_file(folder: Path) -> None:
    import onnx
    loaded = onnx.load(str(folder / "net.onnx"))
    onnx.save(loaded, str(folder / "split.onnx"), save_as_external_data=True, location="split.onnx.data", size_threshold=0)
    done = run(folder, "prove", "robust", "split.onnx", "points.npy", "--set", "row=1", "--set", "radius=1/2", "-o", "out.cert")
    assert done.returncode == 3 and "certify convert onnx" in done.stdout
    done = run(folder, "convert", "onnx", "split.onnx", "-o", "single.onnx")
    assert done.returncode == 0 and "4 tensors" in done.stdout and "certify can read it" in done.stdout
    assert run(folder, "convert", "onnx", "split.onnx", "-o", "single.onnx", "--check").returncode == 0
    assert run(folder, "prove", "robust", "single.onnx", "points.npy", "--set", "row=1", "--set", "radius=1/2", "-o", "out.cert").returncode == 0
    assert run(folder, "convert", "onnx", "split.onnx", "-o", "split.onnx").returncode == 2


def test_the_sentence_says_everything_between_the_points_and_the_network(folder: Path) -> None:
    words = ["--set", "row=2", "--set", "radius=1/2", "--set", "scale=1/16", "--set", "clip=[0,1]", "--set", "subtract=[1/2,1/4]", "--set",
             "divide=2"]
    done = run(folder, "prove", "robust", "net.onnx", "points.npy", *words, "-o", "out.cert")
    assert done.returncode == 0
    assert "of row 2 of points.npy; the network gets it times 1/16, clipped to [0, 1], minus [1/2, 1/4], divided by 2." in done.stdout


def test_certificates_about_different_files_are_verified_together(folder: Path) -> None:
    run(folder, "prove", "region", "ramp.onnx", "ramp.vnnlib", "-o", "a.cert")
    run(folder, "prove", "robust", "net.onnx", "points.npy", "--set", "row=1", "--set", "radius=1/2", "-o", "b.cert")
    subjects = [f"--subject={name}" for name in ("ramp.onnx", "ramp.vnnlib", "net.onnx", "points.npy")]
    for command in (["certify.cli.main", "verify"], ["certify.cli.check"]):
        done = subprocess.run([sys.executable, "-m", *command, "a.cert", "b.cert", *subjects], cwd=folder, capture_output=True, text=True,
                              check=False)
        assert done.returncode == 0 and done.stdout.count("verified ") == 2
        done = subprocess.run([sys.executable, "-m", *command, "a.cert", "b.cert", *subjects, "--subject=labels.npy"], cwd=folder,
                              capture_output=True, text=True, check=False)
        assert done.returncode == 1 and done.stdout.count("rejected  subject-mismatch") == 2


def test_a_module_in_the_working_folder_is_not_imported_by_the_check(folder: Path) -> None:
    run(folder, "prove", "region", "ramp.onnx", "ramp.vnnlib", "-o", "a.cert")
    (folder / "bad.cert").write_bytes((folder / "a.cert").read_bytes()[:-1])
    for name in ("flint", "json", "numpy", "certify"):
        (folder / f"{name}.py").write_text("print('[0, \\'verified  anything\\']'); raise SystemExit(0)")
    script = str(Path(sys.executable).parent / "certify-check")
    done = subprocess.run([script, "bad.cert"], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and done.stdout.startswith("rejected")


def test_show_prints_the_counterexample(folder: Path) -> None:
    run(folder, "prove", "region", "ramp.onnx", "violated.vnnlib", "-o", "out.cert")
    point = certify.load(folder / "out-refuted.cert").evidence.items["point"]
    assert [line.split()[0] for line in run(folder, "show", "out-refuted.cert", "--evidence", "point").stdout.splitlines()] == [str(v) for v in point]
    assert json.loads(run(folder, "show", "out-refuted.cert", "--json").stdout)["evidence"]["items"]["point"] == [str(v) for v in point]
    assert "point: " in run(folder, "show", "out-refuted.cert").stdout


def test_a_wrong_label_is_told_from_an_attack(folder: Path) -> None:
    done = run(folder, "prove", "robust", "net.onnx", "points.npy", "--set", "row=1", "--set", "radius=1/100", "--set", "label=0", "-o", "out.cert")
    assert done.returncode == 5 and "at the point itself class 1 has 2, class 0 has 0" in done.stdout
    assert "the network answers 1 at row 1 itself; labels are numbered from 0" in done.stdout
    assert done.stdout.startswith("refuted   shown instead: net.onnx does not answer 0 alone ")


def test_files_in_the_wrong_order_are_named(folder: Path) -> None:
    done = run(folder, "prove", "region", "ramp.vnnlib", "ramp.onnx")
    assert done.returncode == 3 and ": ramp.vnnlib looks like a VNN-LIB property, not like an ONNX model: " in done.stdout.splitlines()[0]
    assert done.stdout.splitlines()[1].strip().startswith("usage: certify prove region MODEL PROPERTY")
    done = run(folder, "prove", "robust", "points.csv", "net.onnx", "--set", "row=0", "--set", "radius=1")
    assert done.returncode == 3 and ": points.csv looks like a text or CSV file, not like an ONNX model: " in done.stdout


@pytest.mark.parametrize(("operator", "advice"), [("Softmax", "ends in scores (logits)"), ("ArgMax", "ends in scores (logits)"),
                                                  ("Div", "--set divide=..."), ("Erf", "supported operators: ")])
def test_an_operator_that_is_not_read_brings_advice(folder: Path, operator: str, advice: str) -> None:
    import onnx

    made = onnx.load(folder / "net.onnx")
    made.graph.node.append(onnx.helper.make_node(operator, [made.graph.output[0].name] * (2 if operator == "Div" else 1), ["z"], name="last"))
    made.graph.output[0].name = "z"
    onnx.save(made, folder / "more.onnx")
    done = run(folder, "prove", "robust", "more.onnx", "points.npy", "--set", "row=1", "--set", "radius=1/100")
    assert done.returncode == 3 and f"the operator '{operator}' is not supported" in done.stdout and advice in done.stdout


def test_an_older_certificate_that_stays_is_mentioned(folder: Path) -> None:
    run(folder, "prove", "region", "ramp.onnx", "ramp.vnnlib", "-o", "out.cert")
    done = run(folder, "prove", "region", "ramp.onnx", "violated.vnnlib", "-o", "out.cert")
    assert done.returncode == 5 and "out.cert is from an earlier run and was left as it is" in done.stdout


def test_convert_does_not_overwrite_what_is_no_model(folder: Path) -> None:
    before = (folder / "points.csv").read_bytes()
    done = run(folder, "convert", "onnx", "net.onnx", "-o", "points.csv")
    assert done.returncode == 2 and "output-taken" in done.stderr and (folder / "points.csv").read_bytes() == before


def test_a_full_standard_output_is_no_verdict(folder: Path) -> None:
    run(folder, "prove", "region", "ramp.onnx", "ramp.vnnlib", "-o", "a.cert")
    command = f"{sys.executable} -m certify.cli.main verify a.cert --subject ramp.onnx --subject ramp.vnnlib >/dev/full"
    done = subprocess.run(["bash", "-c", command], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 73 and "can't be written" in done.stderr


def test_names_of_files_are_never_options_or_verdicts(folder: Path) -> None:
    run(folder, "prove", "region", "ramp.onnx", "ramp.vnnlib", "-o", "a.cert")
    bad = (folder / "a.cert").read_bytes()[:-1]
    subjects = ["--subject", "ramp.onnx", "--subject", "ramp.vnnlib"]
    script = str(Path(sys.executable).parent / "certify-check")
    for name in ("--inside=0", "--json", "--work=1", "verified  everything\n          id 00.cert"):
        (folder / name).write_bytes(bad)
        done = subprocess.run([script, f"./{name}", "a.cert", *subjects], cwd=folder, capture_output=True, text=True, check=False)
        assert done.returncode == 1 and done.stdout.startswith("rejected") and done.stdout.count("\nverified") == 1
        done = subprocess.run([script, name, *subjects], cwd=folder, capture_output=True, text=True, check=False)
        assert done.returncode in (1, 2)
        done = run(folder, "verify", f"./{name}", "a.cert", *subjects)
        assert done.returncode == 1 and done.stdout.startswith("rejected") and done.stdout.count("\nverified") == 1


@pytest.mark.parametrize("command", [["certify.cli.main", "verify"], ["certify.cli.check"]])
def test_a_verdict_that_can_not_be_written_is_none(folder: Path, command: list[str]) -> None:
    run(folder, "prove", "region", "ramp.onnx", "ramp.vnnlib", "-o", "a.cert")
    words = " ".join([sys.executable, "-m", *command, "a.cert", "--subject", "ramp.onnx", "--subject", "ramp.vnnlib"])
    for redirect in (">/dev/full", ">&-"):
        done = subprocess.run(["bash", "-c", f"{words} {redirect}"], cwd=folder, capture_output=True, text=True, check=False)
        assert done.returncode == 73 and "Traceback" not in done.stderr
    done = subprocess.run(["bash", "-c", f"PYTHONIOENCODING=ascii {words}"], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and done.stdout.startswith("verified")


def test_show_survives_numbers_that_no_double_holds(folder: Path) -> None:
    (folder / "huge.vnnlib").write_text((folder / "ramp.vnnlib").read_text() + "(assert (<= X_0 1e999))\n")
    assert run(folder, "show", "huge.vnnlib").returncode == 0
    specimen = bases().witness.copy()
    specimen.items["point"] = ["1" + "0" * 999, "1/3"]
    (folder / "huge.cert").write_bytes(specimen.seal())
    assert "beyond the range" in run(folder, "show", "huge.cert").stdout
    assert run(folder, "show", "huge.cert", "--evidence", "point").returncode == 0
    (folder / "evil.csv").write_bytes(b"a\rverified  everything,b\n1,2\n")
    assert "\r" not in run(folder, "show", "evil.csv").stdout
