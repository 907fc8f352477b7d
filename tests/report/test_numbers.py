# SPDX-License-Identifier: Apache-2.0
"""The numbers of a page are those of the check, made again here from the files, or evaluated exactly."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from certify.limits import Limits
from certify.readers.formula import Row
from certify.readers.onnx_ops import read_network
from certify.report import network
from certify.report.bounds import margins
from certify.report.conditions import conjunct_words, row_words
from certify.report.outcome import examine
from certify.rules.evaluation import evaluate
from certify.rules.relaxation import Relaxation
from kinds import accuracy_vectors, region_vectors, robust_vectors
from report.reading import ROOT, outcome_of, page_of
from toolkit import Layers, model, npy

VECTORS = ROOT / "tests/vectors"
ENTRIES = [(kind, entry) for kind in ("region", "robust") for entry in json.loads((VECTORS / kind / "index.json").read_text("utf-8"))
           if entry["verdict"] == "verified" and "work" not in entry["limits"]]  # a budget that the check just meets leaves none for the page


def exact(layers: Layers, x: tuple[Fraction, ...]) -> list[Fraction]:
    """Return the outputs of dense layers with Relu between them, in rationals."""
    values = list(x)
    for k, (weight, bias) in enumerate(layers):
        values = [sum((Fraction(float(np.float32(w))) * v for w, v in zip(line, values, strict=True)), Fraction(float(np.float32(b))))
                  for line, b in zip(weight, bias, strict=True)]
        values = values if k == len(layers) - 1 else [max(v, Fraction(0)) for v in values]
    return values


@pytest.mark.parametrize(("kind", "entry"), ENTRIES, ids=[f"{kind}/{entry['name']}" for kind, entry in ENTRIES])
def test_the_smallest_bound_drawn_is_the_smallest_margin_of_the_verdict(kind: str, entry: dict[str, Any]) -> None:
    data = (VECTORS / kind / "verified" / f"{entry['name']}.cert").read_bytes()
    given: dict[str, list[tuple[str, bytes]]] = {}
    for subject in entry["subjects"]:
        given.setdefault(subject["role"], []).append((subject["file"].split("-", 1)[1], (VECTORS / kind / subject["file"]).read_bytes()))
    outcome = examine(data, "x.cert", given, None, Limits(**entry["limits"]))
    assert outcome.verification is not None and outcome.certificate is not None
    asked = network._question(outcome)
    assert asked is not None
    if "smallest_margin" not in outcome.verification.figures:
        return
    found = margins(asked.unsafe.network, asked.unsafe.semantics, asked.unsafe.parts, outcome.certificate.evidence, Limits())
    smallest = [part.smallest for part in found if part.smallest is not None]
    told = outcome.verification.figures["smallest_margin"]
    assert (float(min(smallest)) if smallest else float("inf")) == told
    assert sum(len(part.leaves) for part in found) == outcome.verification.figures["leaves"]
    by_leaf = [margin for part in found for margin in part.leaves if margin is not None]
    assert min(by_leaf, default=None) == min(smallest, default=None)


def test_bars_of_one_leaf_are_the_bounds_over_the_whole_box() -> None:
    layers: Layers = (([[1, 0], [1, 0], [0, 1]], [0, -0.25, 0]), ([[1, -1, 0.125], [0, 0, 0], [0.5, 0, 0], [0, 0, -1]], [0, 2, 0, 0.5]))
    made = robust_vectors.specimen(2)
    made.files["model"] = ("net.onnx", model(layers))
    outcome = outcome_of(made)
    assert outcome.verified
    rows = page_of(made).table("other class")
    relaxation = Relaxation(read_network(made.files["model"][1], Limits()), Limits())
    lower, upper = np.full((1, 2), -1.0), np.full((1, 2), 1.0)
    bounds = relaxation.propagate(lower, upper, None)
    wanted = []
    for other in (0, 2, 3):
        row = Row({}, {1: Fraction(1), other: Fraction(-1)}, Fraction(0))
        value = float(relaxation.bound([relaxation.specify([(row, Fraction(1))])], np.zeros(1, np.int64), bounds, lower, upper)[0])
        wanted.append((f"class {other}", value))
        grid = [Fraction(k, 4) - 1 for k in range(9)]
        assert all(value <= y[1] - y[other] for y in (exact(layers, x) for x in product(grid, grid)))
    least = min(value for _, value in wanted)
    assert [(name, text) for name, _, text in rows] == [(name, f"{value:.4g}{'smallest' if value == least else ''}") for name, value in wanted]


def test_bars_are_drawn_in_proportion_from_zero() -> None:
    found = page_of(robust_vectors.bases().witness)
    bars = [attributes for name, attributes in found.tags if name == "rect" and attributes["class"].startswith("bar")]
    axis = {attributes["x"] for name, attributes in found.tags if name == "rect" and attributes["class"] == "axis"}
    values = exact(robust_vectors.classifier(0.25), (Fraction(1, 2), Fraction(1, 3)))
    assert len(bars) == len(values) == 2 and len(axis) == 1 and min(values) >= 0 and axis == {"0"}
    for bar, value in zip(bars, values, strict=True):
        assert (int(bar["x"]), int(bar["width"])) == (0, max(3, round(1000 * value / max(values))))


@pytest.mark.parametrize("points", [("1/2", "1/3"), ("1/4", "1")])
def test_outputs_at_a_counterexample_are_exact(points: tuple[str, str]) -> None:
    made = robust_vectors.bases().witness
    made.items["point"] = list(points)
    y = exact(robust_vectors.classifier(0.25), tuple(map(Fraction, points)))
    rows = page_of(made).table("class")
    assert [text.removesuffix("the label").removesuffix("reaches the label").removesuffix("reaches ") for *_, text in rows] == [
        f"{float(v):.6g}" for v in y]
    assert rows[1][2].endswith("the label") and rows[0][2].endswith("reaches the label")
    assert f"Class 0 minus class 1 is {float(y[0] - y[1]):.6g}" in page_of(made).text


def test_a_region_names_its_conditions_and_the_one_that_a_point_meets() -> None:
    found = page_of(region_vectors.bases().mixed)
    assert [row[0] for row in found.table("unsafe condition")] == ["Y_0 >= 2 and Y_0 >= 3", "Y_0 >= 2.5 and Y_0 >= 4"]
    assert found.table("input") == [["X_0", "-1", "1"], ["X_1", "-1", "1"]]
    met = page_of(region_vectors.bases().witness)
    y = exact(region_vectors.RAMP, (Fraction(1, 2), Fraction(1, 3)))[0]
    assert met.table("inequality of the unsafe set") == [["Y_0 >= 0.25", f"{float(y - Fraction(1, 4)):.6g}"]]
    assert met.table("input") == [["X_0", "-1", "1", "0.5"], ["X_1", "-1", "1", "0.333333333"]]


def test_rows_in_words() -> None:
    def told(inputs: dict[int, int], outputs: dict[int, int], constant: float, strict: bool = False) -> str:
        return row_words(Row({i: Fraction(v) for i, v in inputs.items()}, {i: Fraction(v) for i, v in outputs.items()}, Fraction(constant), strict))

    assert told({}, {3: 1, 1: -1}, 0) == "Y_3 <= Y_1" and told({}, {3: -1, 1: 1}, 0, True) == "Y_1 < Y_3"
    assert told({}, {0: -1}, 2) == "Y_0 >= 2" and told({}, {0: 2}, -1, True) == "2 Y_0 < 1"
    assert told({1: 1}, {0: -3}, 0.5) == "X_1 - 3 Y_0 <= -0.5" and told({0: -1}, {1: 1}, 1) == "X_0 - Y_1 >= 1"
    assert told({}, {k: 1 for k in range(8)}, 0) == "Y_0 + Y_1 + Y_2 + Y_3 + Y_4 + Y_5 + 2 more terms <= 0" and told({}, {}, 1) == "0 <= -1"
    assert conjunct_words(()) == "anything (no output is constrained)"


def test_a_data_set_is_counted_and_its_rows_are_listed() -> None:
    made = accuracy_vectors.specimen()
    found = page_of(made)
    assert [row[:3] for row in found.table("status")] == [["robust", "2", "28.6%"], ["not robust", "1", "14.3%"], ["wrong already", "1", "14.3%"],
                                                         ["open", "3", "42.9%"]]
    listed = [table[1:] for table in found.tables if table[0][0] == "status"][1]
    assert listed == [["robust", "1, 2"], ["not robust", "0"], ["wrong already", "3"], ["open", "4, 5, 6"]]
    assert "at least 28.57% of 7 rows, at most 71.43%" in found.text
    outcome = outcome_of(made)
    assert outcome.verification is not None
    rows = found.table("row")
    assert [row[0] for row in rows] == ["row 1", "row 2"]
    smallest = f"{outcome.verification.figures['smallest_margin']:.4g}"
    assert [row[2] for row in rows].count(f"{smallest}smallest") == 1 and f"Smallest margin: {smallest}." in found.text
    y = exact(robust_vectors.classifier(accuracy_vectors.LEVEL), (Fraction(1), Fraction(3, 2)))
    assert f"class 0 has {float(y[0]):.6g}, class 1 has {float(y[1]):.6g}, computed exactly" in found.text


def test_many_rows_and_conditions_are_capped_and_counted() -> None:
    count = 1000
    made = accuracy_vectors.robust_only()
    made.files["points"] = ("points.npy", npy(np.zeros((count, 2), np.uint8)))
    made.files["labels"] = ("labels.npy", npy(np.ones(count, np.int64)))
    made.arrays = {"tree": -1 - np.arange(500, dtype="<i4"), "robust_row": np.arange(0, count, 2, dtype="<i4")}
    made.files["model"] = ("ramp.onnx", model(robust_vectors.classifier(2)))
    made.says = accuracy_vectors.told(500, 0, count)
    found = page_of(made)
    assert len(found.table("row")) == 40 and "460 rows with larger bounds left out" in found.text and "and 100 more left out" in found.text
    many = robust_vectors.specimen(2, *[0.5] * 58)
    found = page_of(many)
    assert len(found.table("other class")) == 40 and "19 conditions with larger bounds left out" in found.text



def test_the_tree_names_splits_and_the_bound_of_each_leaf() -> None:
    made = robust_vectors.bases().split
    outcome = outcome_of(made)
    assert outcome.certificate is not None
    asked = network._question(outcome)
    assert asked is not None
    part, = margins(asked.unsafe.network, "real", asked.unsafe.parts, outcome.certificate.evidence, Limits())
    found = page_of(made)
    assert "split input 0 at 0" in found.text and "2 leaves; depth 1; 3 nodes." in found.text
    assert [f"leaf {k}: smallest bound {float(margin or 0):.4g}" in found.text for k, margin in enumerate(part.leaves)] == [True, True]
    high = exact(robust_vectors.classifier(0.5), (Fraction(1), Fraction(1)))
    assert part.leaves[0] is not None and part.leaves[0] <= high[1] - high[0]
    assert evaluate(asked.unsafe.network, (Fraction(1), Fraction(1)), Limits()) == tuple(high)


def test_a_neuron_split_that_leaves_no_input_has_no_bound() -> None:
    layers: Layers = (([[1, 0]], [2]), ([[0], [0]], [0, 1]))
    made = robust_vectors.specimen(2, arrays={"tree": np.array([2, -1, -2], "<i4")})
    made.files["model"] = ("net.onnx", model(layers))
    found = page_of(made)
    assert found.headings[0] == (1, "Verified") and "where z_2 <= 0: leaf 1: no input is left" in found.text
    assert "where z_2 >= 0: leaf 0: smallest bound 1" in found.text
