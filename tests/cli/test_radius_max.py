# SPDX-License-Identifier: Apache-2.0
"""`prove robust --set radius=max`: a proof and a counterexample next to each other, both certificates of their own."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import certify
from certify_solvers.crown.radius import on_grid
from cli.test_bad_input import refused, run
from kinds.robust_vectors import POINTS, classifier
from toolkit import model, npy


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a classifier of two features, points and labels; the network calls every point a 1."""
    (tmp_path / "net.onnx").write_bytes(model(classifier(0.4375)))
    (tmp_path / "points.npy").write_bytes(npy(POINTS))
    (tmp_path / "labels.npy").write_bytes(npy(np.array([1, 1, 0])))
    return tmp_path


def _certified(folder: Path, *words: str) -> tuple[certify.Verification, certify.Verification]:
    done = run(folder, "prove", "robust", "net.onnx", "points.npy", *words, "--set", "radius=max", "-o", "out.cert", "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    told = json.loads(done.stdout)
    assert told["verdict"] == "proved" and told["refuted"] == "out-refuted.cert"
    files = [folder / "net.onnx", folder / "points.npy"]
    lower, upper = (certify.verify(folder / name, files) for name in ("out.cert", "out-refuted.cert"))
    assert lower.claim.says["holds"] is True and upper.claim.says["holds"] is False
    differing = {key for key in lower.claim.given if lower.claim.given[key] != upper.claim.given[key]}
    assert differing == {"radius"}
    assert on_grid(lower.claim.given["radius"]) == lower.claim.given["radius"] and on_grid(upper.claim.given["radius"]) == upper.claim.given["radius"]
    return lower, upper


# Row 1 is the point 0, and 1/4 + x_1/8 reaches 7/16 at x_1 = 3/2 (scaled): the true radius is 3/2 in every norm but for x_0 >= 1/4.
@pytest.mark.parametrize(("unit", "factor"), [("scaled", 1), ("raw", 16)])
def test_both_ends_are_next_to_the_true_radius(folder: Path, unit: str, factor: int) -> None:
    lower, upper = _certified(folder, "--set", "row=1", "--set", "scale=1/16", "--set", f"radius_unit={unit}")
    truth = Fraction(3, 2) * factor
    assert lower.claim.given["radius"] < truth <= upper.claim.given["radius"]
    assert truth - lower.claim.given["radius"] <= truth / 500 and upper.claim.given["radius"] - truth <= truth / 500


def test_other_norms(folder: Path) -> None:
    for norm, truth in (("l1", 1.75), ("l2", 1.5207)):
        lower, upper = _certified(folder, "--set", "row=1", "--set", "scale=1/16", "--set", "radius_unit=scaled", "--set", f"norm={norm}")
        assert lower.claim.given["norm"] == norm
        assert lower.claim.given["radius"] < truth * 1.0001 and upper.claim.given["radius"] > truth * 0.9999
        assert upper.claim.given["radius"] < truth * 1.01


def test_a_label_that_is_wrong_at_the_point(folder: Path) -> None:
    question = ("prove", "robust", "net.onnx", "points.npy", "labels.npy", "--set", "row=2", "--set", "scale=1/16", "--set", "radius=max")
    done = run(folder, *question, "-o", "out.cert")
    assert done.returncode == 5 and done.stdout.startswith("refuted ") and "does not win at the point itself" in done.stdout
    assert not (folder / "out.cert").exists()
    result = certify.verify(folder / "out-refuted.cert", [folder / name for name in ("net.onnx", "points.npy", "labels.npy")])
    assert result.claim.says["holds"] is False
    done = run(folder, *question, "--set", "semantics=exec32", "-o", "other.cert")
    assert done.returncode == 4 and "no radius can be proved" in done.stdout and not (folder / "other.cert").exists()


def test_a_clip_range_without_counterexamples(folder: Path) -> None:
    done = run(folder, "prove", "robust", "net.onnx", "points.npy", "--set", "row=1", "--set", "radius=max", "--set", "scale=1/16", "--set",
               "clip=[0,1]", "-o", "out.cert")
    assert done.returncode == 0 and "every input of the clip range" in done.stdout and not (folder / "out-refuted.cert").exists()


def test_float32_executions_are_bracketed_from_below_only(folder: Path) -> None:
    done = run(folder, "prove", "robust", "net.onnx", "points.npy", "--set", "row=1", "--set", "radius=max", "--set", "semantics=exec32", "-o",
               "out.cert")
    assert done.returncode == 0 and "the largest radius that was proved is" in done.stdout and "\n          smallest margin " in done.stdout
    assert "not shown for" not in done.stdout
    assert certify.verify(folder / "out.cert", [folder / "net.onnx", folder / "points.npy"], allow=set()).claim.given["semantics"] == "exec32"
    assert not (folder / "out-refuted.cert").exists()


def test_questions_that_make_no_sense(folder: Path) -> None:
    question = ("prove", "robust", "net.onnx", "points.npy", "--set", "radius=max")
    refused(folder, 2, "setting-value", *question, "--set", "row=1", "--set", "holds=false")
    refused(folder, 2, "claim-mismatch", *question, "--set", "row=3")
    refused(folder, 2, "outside-domain", *question, "--set", "row=0", "--set", "clip=[0,1]")
    refused(folder, 2, "setting-value", "prove", "accuracy", "net.onnx", "points.npy", "labels.npy", "--set", "radius=max")


def test_a_dry_run_shows_the_word(folder: Path) -> None:
    done = run(folder, "prove", "robust", "net.onnx", "points.npy", "--set", "row=1", "--set", "radius=max", "--dry-run")
    assert json.loads(done.stdout)["given"]["radius"] == "max"
