# SPDX-License-Identifier: Apache-2.0
"""`certify show` of what was added to the format: counts of a data set, trees with splits on neurons, strict rows and open ends."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from cli.test_bad_input import run
from kinds import accuracy_vectors, robust_vectors

PROPERTY = """(vnnlib-version <2.0>)
(declare-network N (declare-input A Real [1,2]) (declare-output B Real [1,1]))
(assert (and (>= A[0,0] -1) (< A[0,0] 0.5) (> A[0,1] -1) (<= A[0,1] 1)))
(assert (or (> B[0,0] 0.75) (<= (+ B[0,0] A[0,1]) -2)))
"""


def test_counts_of_a_data_set(tmp_path: Path) -> None:
    (tmp_path / "a.cert").write_bytes(accuracy_vectors.specimen().seal())
    said = run(tmp_path, "show", "a.cert").stdout
    for line in ("robust    2 rows: 1, 2", "wrong     1 rows, at their own points: 3", "witness   1 rows, each with a counterexample: 0",
                 "open      3 of 7 rows", "evidence  robust-rows v1: "):
        assert line in said.splitlines() or any(shown.startswith(line) for shown in said.splitlines()), line
    assert run(tmp_path, "show", "a.cert", "--tree").stdout.splitlines() == [
        "row 1: split input 0 at 0.0", "  x_0 >= 0.0: leaf 0", "  x_0 <= 0.0: leaf 1", "row 2: leaf 2"]
    assert run(tmp_path, "show", "a.cert", "--evidence", "robust_row").stdout.split() == ["1", "2"]
    assert "at least 2 get their label in labels.npy" in run(tmp_path, "show", "a.cert", "--claim").stdout
    (tmp_path / "b.cert").write_bytes(accuracy_vectors.wrong_only().seal())
    said = run(tmp_path, "show", "b.cert").stdout
    assert "robust    0 rows\n" in said and "open      6 of 7 rows" in said
    done = run(tmp_path, "show", "b.cert", "--tree")
    assert done.returncode == 2 and "no tree" in done.stderr


def test_splits_on_inputs_and_neurons(tmp_path: Path) -> None:
    made = robust_vectors.specimen(0.5)
    made.arrays = {"tree": np.array([0, 3, -1, -2, -3], "<i4"), "split_at": np.array([0.25]), "recompute": np.ones(5, "|u1")}
    (tmp_path / "a.cert").write_bytes(made.seal())
    assert run(tmp_path, "show", "a.cert", "--tree").stdout.splitlines() == [
        "split input 0 at 0.25", "  x_0 >= 0.25: split neuron, item 3, at 0", "    z_3 >= 0: leaf 0", "    z_3 <= 0: leaf 1", "  x_0 <= 0.25: leaf 2"]


def test_properties_of_version_two(tmp_path: Path) -> None:
    (tmp_path / "p.vnnlib").write_text(PROPERTY)
    done = run(tmp_path, "show", "p.vnnlib")
    assert done.returncode == 0 and "property  VNN-LIB 2.0, 2 inputs, 1 outputs" in done.stdout
    assert "box       -1 <= X_0 < 0.5, -1 < X_1 <= 1" in done.stdout
    assert "unsafe where -1 Y_0 +0.75 < 0" in done.stdout and "unsafe where +1 X_1 +1 Y_0 +2 <= 0" in done.stdout
    (tmp_path / "broken.vnnlib").write_text(PROPERTY.replace("Real [1,1]", "Int [1,1]"))
    assert run(tmp_path, "show", "broken.vnnlib").returncode == 3


def test_deep_and_long_trees_are_cut_and_say_so(tmp_path: Path) -> None:
    made = robust_vectors.specimen(0.5)
    made.arrays = {"tree": np.zeros(60_000, "<i4"), "recompute": np.ones(1, "|u1")}  # splits only: each a level deeper
    (tmp_path / "a.cert").write_bytes(made.seal())
    shown = run(tmp_path, "show", "a.cert", "--tree").stdout
    lines = shown.splitlines()
    assert len(lines) == 10_001 and max(map(len, lines)) < 200 and lines[-1].startswith("... 50000 of 60000 nodes left out")
    assert lines[40].startswith(" " * 80 + "z_0") and lines[41].startswith(" " * 80 + "[depth 41] z_0") and "[depth 9999]" in lines[9999]
    made.arrays["tree"] = np.tile(np.array([0, -1, -2], "<i4"), 2)
    (tmp_path / "a.cert").write_bytes(made.seal())
    assert [line for line in run(tmp_path, "show", "a.cert", "--tree").stdout.splitlines() if line.startswith("part ")] == [
        "part 0: split neuron, item 0, at 0", "part 1: split neuron, item 0, at 0"]


def test_rows_of_any_number_are_counted_and_the_first_shown(tmp_path: Path) -> None:
    made = accuracy_vectors.specimen()
    made.arrays["robust_row"] = np.arange(1_000_000, dtype="<i4")
    (tmp_path / "a.cert").write_bytes(made.seal())
    assert "robust    1000000 rows: 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, ... (" in run(tmp_path, "show", "a.cert").stdout
