# SPDX-License-Identifier: Apache-2.0
"""What a newcomer meets: messages that name the file and the next step, notes on questions that are easily misread, figures in JSON."""

from __future__ import annotations

import json
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from certify.cli.prove import _line
from cli.test_bad_input import _path, refused, run
from kinds import accuracy_vectors
from kinds.region_vectors import bases
from kinds.robust_vectors import POINTS, classifier
from toolkit import model, npy

ROBUST = ("prove", "robust", "net.onnx", "points.npy", "--set", "row=1")
ACCURACY = ("prove", "accuracy", "net.onnx", "points.npy", "labels.npy", "-o", "out.cert")
SCALE = ("--set", "scale=1/16")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a network, a property, a classifier of two features, points and labels (the last one is wrong)."""
    for name, data in bases().leaf.files.values():
        (tmp_path / name).write_bytes(data)
    (tmp_path / "net.onnx").write_bytes(model(classifier(0.4375)))
    (tmp_path / "points.npy").write_bytes(npy(POINTS))
    (tmp_path / "labels.npy").write_bytes(npy(np.array([1, 1, 0])))
    return tmp_path


def _check(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "certify.cli.check", *words], cwd=folder, capture_output=True, text=True, check=False,
                          env={"PYTHONPATH": _path()})


def test_limits_of_certify_check_are_refused_in_one_line(folder: Path) -> None:
    for words in (("--seconds", "0"), ("--seconds", "86401"), ("--seconds", "1.5"), ("--memory", "1MB"), ("--memory", "-1")):
        done = _check(folder, "a.cert", *words)
        assert done.returncode == 2 and len(done.stderr) < 500 and words[1] in done.stderr, done.stderr
        assert ("give bytes" if words[0] == "--memory" else "from 1 to 86400") in done.stderr and "_bytes" not in done.stderr


def test_a_setting_without_its_option(folder: Path) -> None:
    said = refused(folder, 2, "setting-form", *ROBUST, "radius=0.1")
    assert "write --set radius=0.1" in said
    (folder / "points=1").write_bytes(npy(POINTS))
    assert run(folder, "prove", "robust", "net.onnx", "./points=1", "--set", "row=1", "--set", "radius=1/8", "-o", "out.cert").returncode == 0


def test_errors_name_the_file(folder: Path) -> None:
    (folder / "halves.npy").write_bytes(npy(np.array([0.5, 1, 1])))
    (folder / "words.csv").write_text("label\ncat\n")
    (folder / "wide.npy").write_bytes(npy(np.zeros((3, 5))))
    question = ("--set", "radius=1/8")
    assert "(halves.npy)" in refused(folder, 2, "claim-mismatch", "prove", "accuracy", "net.onnx", "points.npy", "halves.npy", *question)
    assert "(words.csv: line 2)" in refused(folder, 3, "table-number", "prove", "accuracy", "net.onnx", "points.npy", "words.csv", *question)
    assert "(wide.npy)" in refused(folder, 2, "claim-mismatch", "prove", "accuracy", "net.onnx", "wide.npy", "labels.npy", *question)


def test_several_certificates_name_the_one_that_lacks_a_file(folder: Path) -> None:
    for name in ("a", "b"):
        assert run(folder, *ROBUST, "--set", "radius=1/8", "-o", f"{name}.cert").returncode == 0
    for done in (run(folder, "verify", "a.cert", "b.cert", "--subject", "net.onnx"), _check(folder, "a.cert", "b.cert", "--subject", "net.onnx")):
        assert done.returncode == 3 and "(a.cert)" in done.stdout and ": )" not in done.stdout


def test_a_small_radius_before_a_scale_is_told_in_both_units(folder: Path) -> None:
    done = run(folder, *ROBUST, *SCALE, "--set", "radius=8/255", "-o", "out.cert")
    assert "the radius 8/255 is in the units of the points file: after `scale` it is 0.00196 (--set radius_unit=scaled" in done.stdout
    for words in (("radius=1",), ("radius=max",), ("radius=8/255", "--set", "radius_unit=scaled")):
        assert "note:" not in run(folder, *ROBUST, *SCALE, "--set", *words, "-o", "out.cert").stdout
    told = json.loads(run(folder, *ROBUST, *SCALE, "--set", "radius=8/255", "-o", "out.cert", "--json").stdout)
    assert any(line.startswith("note: the radius") for line in told["remarks"])


def test_axes_in_another_order_are_told(folder: Path) -> None:
    rng = np.random.default_rng(0)
    graph = helper.make_graph(
        [helper.make_node("Flatten", ["x"], ["f"]), helper.make_node("Gemm", ["f", "w"], ["y"])], "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 2, 2])], [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 2])],
        [numpy_helper.from_array(rng.normal(size=(12, 2)).astype(np.float32), "w")])
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    (folder / "image.onnx").write_bytes(made.SerializeToString())
    for name, shape, told in (("last", (1, 2, 2, 3), True), ("first", (1, 3, 2, 2), False), ("flat", (1, 12), False)):
        (folder / f"{name}.npy").write_bytes(npy(rng.normal(size=shape)))
        done = run(folder, "prove", "robust", "image.onnx", f"{name}.npy", "--set", "row=0", "--set", "radius=1/1000", "-o", "out.cert")
        assert done.returncode == 0 and ("axes may be mixed up" in done.stdout) == told, done.stdout


def test_what_stays_open_under_float32_executions_and_why(folder: Path) -> None:
    done = run(folder, *ACCURACY, *SCALE, "--set", "radius=1", "--set", "semantics=exec32")
    assert done.returncode == 4 and "wrong or not robust over the reals are open here" in done.stdout
    assert "over the reals are open" not in run(folder, *ACCURACY, *SCALE, "--set", "radius=1").stdout
    done = run(folder, *ROBUST, *SCALE, "--set", "radius=max", "--set", "semantics=exec32", "-o", "out.cert")
    assert done.returncode == 0 and "over the reals a counterexample exists at radius 2" in done.stdout


def test_wanting_more_rows_than_there_are_says_how_to_get_the_rest(folder: Path) -> None:
    done = run(folder, *ACCURACY, *SCALE, "--set", "radius=1", "--set", "robust_at_least=3")
    assert done.returncode == 4 and "robust_at_least is 2, wanted 3: leave it out" in done.stdout and not (folder / "out.cert").exists()


def test_json_holds_the_claim(folder: Path) -> None:
    told = json.loads(run(folder, *ACCURACY, *SCALE, "--set", "radius=1", "--json").stdout)
    assert told["claim"]["says"] == {"robust_at_least": 2, "not_robust_at_least": 1, "of": 3} and told["claim"]["given"]["radius"] == "1"
    told = json.loads(run(folder, *ROBUST, *SCALE, "--set", "radius=max", "-o", "max.cert", "--json").stdout)
    assert 23 < Fraction(told["claim"]["given"]["radius"]) <= 24


def test_unknown_says_what_to_try(folder: Path) -> None:
    (folder / "hard.vnnlib").write_text((folder / "ramp.vnnlib").read_text().replace("Y_0 2", "Y_0 0.5"))
    question = ("prove", "region", "ramp.onnx", "hard.vnnlib", "-o", "out.cert")
    done = run(folder, *question, "--set", "method=crown")
    assert done.returncode == 4 and "try --set method=auto, a smaller region" in done.stdout
    done = run(folder, *question, "--set", "method=crown", "--time-limit", "1ms")
    assert done.returncode == 4 and "the time limit was reached; " in done.stdout and "try more time (--time-limit)" in done.stdout


def test_a_property_without_outputs(folder: Path) -> None:
    text = "(declare-const X_0 Real)\n(declare-const Y_0 Real)\n(assert (>= X_0 0))\n(assert (<= X_0 1))\n"
    (folder / "free.vnnlib").write_text(text)
    (folder / "one.onnx").write_bytes(model((([[1]], [0]),)))
    done = run(folder, "prove", "region", "one.onnx", "free.vnnlib", "-o", "out.cert")
    assert done.returncode == 5 and "constrains no output" in done.stdout


def test_show_tells_types_ranges_and_where_the_rest_is(folder: Path) -> None:
    assert "array     |u1 of shape [3, 2] (uint8), values from 0 to 16\n" in run(folder, "show", "points.npy").stdout
    (folder / "none.npy").write_bytes(npy(np.zeros((0, 2))))
    assert "array     <f8 of shape [0, 2] (float64)\n" in run(folder, "show", "none.npy").stdout
    made = accuracy_vectors.specimen()
    made.arrays["robust_row"] = np.arange(20, dtype="<i4")
    made.says = {**made.says, "robust_at_least": 20, "of": 30}
    (folder / "a.cert").write_bytes(made.seal())
    assert "11, ... (--evidence robust_row prints them all)" in run(folder, "show", "a.cert").stdout


def test_claims_lists_options_without_types_that_say_nothing(folder: Path) -> None:
    said = run(folder, "claims", "accuracy").stdout
    assert "method              [default: auto]" in said and "not_robust_at_least integer" in said and "text" not in said
    assert "may be left out" in run(folder, "claims").stdout


def test_progress_in_words() -> None:
    assert _line("radius", {"at": 0.0625, "proved": 0.03125, "refuted": 0}) == "radius · at 0.0625 · proved 0.03125"
    assert _line("bounding", {"parts": 2}) == "bounding · 2 parts"
    assert _line("rows", {"done": 1, "of": 2, "open": 0}).endswith("1 of 2 · 0 open")


def test_both_commands_say_an_error_alike(folder: Path) -> None:
    (folder / "cut.cert").write_bytes(b"PK\3\4")
    for name in ("nowhere.cert", "cut.cert"):
        one, other = run(folder, "verify", name), _check(folder, name)
        assert (one.returncode, one.stdout, one.stderr) == (other.returncode, other.stdout, other.stderr)


def test_a_setting_of_another_kind(folder: Path) -> None:
    said = refused(folder, 2, "setting-unknown", *ACCURACY, "--set", "radius=1", "--set", "row=1")
    assert "row is a setting of private-fair and robust; those of accuracy are " in said
    said = refused(folder, 2, "setting-unknown", *ACCURACY, "--set", "radius=1", "--set", "holds=true")
    assert "holds is a setting of region and robust;" in said
    assert "did you mean 'radius'?" in refused(folder, 2, "setting-unknown", *ACCURACY, "--set", "radus=1")


def test_trees_of_several_parts_are_told_apart(folder: Path) -> None:
    text = (folder / "ramp.vnnlib").read_text()
    halves = "(assert (or (and (<= X_0 0) (>= Y_0 2)) (and (>= X_0 0) (>= Y_0 2))))"
    (folder / "two.vnnlib").write_text(text[: text.rindex("(assert")] + halves)
    assert run(folder, "prove", "region", "ramp.onnx", "two.vnnlib", "-o", "two.cert").returncode == 0
    assert run(folder, "show", "two.cert", "--tree").stdout.splitlines() == ["part 0: leaf 0", "part 1: leaf 1"]
