# SPDX-License-Identifier: Apache-2.0
"""`accuracy`: its sentences, its figures, agreement with `robust` row by row, and work that is charged for every row."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from certify.errors import CertifyError, Declined
from certify.limits import Limits
from kinds.accuracy_vectors import LABELS, POINTS, robust_only, specimen, told, wrong_only
from toolkit import Specimen, npy


def test_sentences_say_counts_ball_files_and_preprocessing() -> None:
    assert specimen().verify().sentence == (
        "Of the 7 rows of points.npy, at least 2 get their label in labels.npy from ramp.onnx for every input within 1 (linf, in scaled units) of "
        "the row; the network gets it times 1/16, and at least 2 do not.")
    made = specimen()
    made.given |= {"clip": ["-1", "3/2"], "subtract": ["0", "0"]}
    assert "times 1/16, clipped to [-1, 3/2], minus [0, 0], and at least 2 do not." in made.verify().sentence
    made = robust_only(assumptions=[])
    made.given["semantics"] = "exec32"
    result = made.verify()
    assert "from every float32 execution of ramp.onnx for every input" in result.sentence and "TF32" in result.sentence
    assert result.assumptions == () and "semantics exec32" in result.facts


def test_figures_and_facts() -> None:
    result = specimen().verify()
    assert (result.figures["leaves"], result.figures["wrong"], result.figures["open"]) == (3, 1, 3)
    assert 0 < result.figures["smallest_margin"] < 1 / 64 and result.facts[:2] == ("semantics real", "arithmetic f64-gamma")
    result = wrong_only().verify()
    assert result.figures["leaves"] == 0 and result.figures["smallest_margin"] == 0
    assert result.facts[:1] == ("semantics real",) and result.assumptions == ("real-arithmetic",)


def test_a_row_is_accepted_exactly_where_robust_accepts_it() -> None:
    rng = np.random.default_rng(81)
    accepted = 0
    for _ in range(120):
        row, label = int(rng.integers(7)), int(rng.integers(2))
        labels = LABELS.copy()
        labels[row] = label
        radius, norm = str(rng.choice(["1/8", "1/2", "1", "5/4"])), str(rng.choice(["linf", "l2", "l1"]))
        files = {**specimen().files, "labels": ("labels.npy", npy(labels))}
        given = {**specimen().given, "radius": radius, "norm": norm}
        leaf = {"tree": np.array([-1], "<i4")}
        items = {"arithmetic": "f64-gamma"}
        many = Specimen("accuracy", files, given, told(1, 0), "robust-rows", items, {**leaf, "robust_row": np.array([row], "<i4")})
        one = Specimen("robust", files, {**given, "row": row, "label": label}, {"holds": True}, "bounds-tree", items, leaf)
        assert _outcome(many) == _outcome(one)
        point = (POINTS[row] / 16 + rng.choice([-1, 0, 1], 2) * float(rng.choice([0.125, 0.5, 1.0, 1.25]))).tolist()
        many = Specimen("accuracy", files, given, told(0, 1), "robust-rows", {},
                        {"witness_row": np.array([row], "<i4"), "witness": np.array([point])})
        one = Specimen("robust", files, {**given, "row": row, "label": label}, {"holds": False}, "witness", {"point": [_text(v) for v in point]})
        assert _outcome(many) == _outcome(one)
        accepted += _outcome(many) == "" or _outcome(one) == ""
    assert accepted > 10


def _outcome(made: Specimen) -> str:
    try:
        made.verify()
    except CertifyError as trouble:
        return trouble.code
    return ""


def _text(value: float) -> str:
    return str(Fraction(value))


@pytest.mark.parametrize("listed", ["robust", "wrong", "witness"])
def test_every_row_is_charged_before_its_work(listed: str) -> None:
    work = []
    for rows in (1, 200, 400):
        points, labels = np.tile(POINTS[2], (rows, 1)), np.full(rows, 1 if listed == "robust" else 0)
        numbers = np.arange(rows, dtype="<i4")
        made = wrong_only(says=told(0, rows, rows), arrays={"wrong_row": numbers})
        if listed == "robust":
            made = robust_only()
            made.says, made.arrays = told(rows, 0, rows), {"tree": np.arange(-1, -rows - 1, -1, "<i4"), "robust_row": numbers}
        elif listed == "witness":
            made.arrays = {"witness_row": numbers, "witness": np.tile(np.array([1.0, 0.25]), (rows, 1))}
        made.files |= {"points": ("points.npy", npy(points.astype(np.uint8))), "labels": ("labels.npy", npy(labels))}
        work.append(made.verify().figures["work"])
        with pytest.raises(Declined) as caught:
            made.verify(Limits(work=int(work[-1]) - 1))
        assert caught.value.code == "limit-reached" and "--work" in caught.value.fix
    assert 200_000 <= (work[2] - work[1]) / 200 <= 2_000_000
    assert abs((work[2] - work[1]) - (work[1] - work[0]) * 200 / 199) <= 0.02 * work[1]
