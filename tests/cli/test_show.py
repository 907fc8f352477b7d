# SPDX-License-Identifier: Apache-2.0
"""`certify show` of what was added to the format: counts of a data set, trees with splits on neurons, strict rows and open ends."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from cli.test_bad_input import refused, run
from kinds import accuracy_vectors, forest_vectors, grid_hand, grid_limit_vectors, robust_vectors

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


def test_trees_over_attacks_name_rows_witnesses_and_sheds(tmp_path: Path) -> None:
    for name, made in (("tree", grid_hand.tree()), ("forest", forest_vectors.dispatched())):
        (tmp_path / "case.m").write_bytes(made.files["case"][1])
        (tmp_path / "a.cert").write_bytes(made.seal())
        done = run(tmp_path, "show", "a.cert", "--tree", "--subject", "case.m")
        first = "40 MW" if name == "tree" else "40.000"
        assert done.returncode == 0 and done.stderr == ""
        lines = done.stdout.splitlines()
        assert lines[0] == "branch on row 1" and lines[1].startswith(f"  row 1 attacked: leaf 0: witness 0, at most {first}"), lines
        assert lines[2:] == ["  row 1 never attacked: branch on row 2", "    row 2 attacked: leaf 1: witness 1, at most 40 MW shed",
                             "    row 2 never attacked: leaf 2: witness 2, at most 0 MW shed, with up to 1 more to spend"]


def test_trees_over_attacks_without_the_case_or_with_a_broken_one(tmp_path: Path) -> None:
    made = grid_hand.tree()
    (tmp_path / "a.cert").write_bytes(made.seal())
    done = run(tmp_path, "show", "a.cert", "--tree")
    assert done.returncode == 0 and done.stdout.splitlines()[:2] == ["branch on line 0", "  line 0 attacked: leaf 0: witness 0"]
    assert "--subject CASE.m names their rows" in done.stderr
    (tmp_path / "other.m").write_text("function mpc = other")
    said = refused(tmp_path, 2, "setting-value", "show", "a.cert", "--tree", "--subject", "other.m")
    assert "not the file that the claim is about" in said
    made.arrays["flow"][0, 0] = 1
    (tmp_path / "a.cert").write_bytes(made.seal())
    (tmp_path / "case.m").write_bytes(made.files["case"][1])
    done = run(tmp_path, "show", "a.cert", "--tree", "--subject", "case.m")
    assert done.returncode == 0 and "left out: leaf-attacked-flow" in done.stderr and "  line 0 attacked: leaf 0: witness 0\n" in done.stdout
    pool = grid_hand.pool()
    (tmp_path / "a.cert").write_bytes(pool.seal())
    assert "policy-pool has no tree" in refused(tmp_path, 2, "setting-value", "show", "a.cert", "--tree")


def test_hitting_trees_say_what_is_defended_and_which_attack_is_missed(tmp_path: Path) -> None:
    left = ", of which nothing more can be defended"
    for made, wanted in ((grid_limit_vectors.limit(), ["attack 0 on row 1", f"  defend row 1: attack 1 on row 2{left}"]),
                         (grid_limit_vectors.limit(nodes=(0,), budget=1, defendable=[2]), [f"attack 0 on row 1{left}"]),
                         (grid_limit_vectors.limit(nodes=(0,), defence_costs=[[1, 2]]), [f"attack 0 on row 1{left}"]),
                         (grid_limit_vectors.limit(nodes=(0, 7, -3)), ["attack 0 on row 1", f"  defend row 1: attack 7 on no row{left}"])):
        (tmp_path / "a.cert").write_bytes(made.seal())
        done = run(tmp_path, "show", "a.cert", "--tree")
        assert done.returncode == 0 and done.stderr == "" and done.stdout.splitlines() == wanted
