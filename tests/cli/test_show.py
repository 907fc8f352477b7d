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
