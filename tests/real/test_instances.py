# SPDX-License-Identifier: Apache-2.0
"""Published networks and properties: no verdict contradicts a listed one, traps come out right, plain CROWN proves what it should.

The data are not part of the repository: the tests are skipped, visibly, where the folder is missing.
"""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from benchmarks.nn.instances import instance

DATA = Path(__file__).resolve().parents[3] / "shared/data/nn"
pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason="the folder ../shared/data/nn with published networks is missing")
_TOLD = {"unsat": "proved", "sat": "refuted"}
TRAPS = {"fma32": "refuted", "absorb32": "refuted", "boundary": "refuted", "decimal": "proved", "constin": "refuted"}
READ = ("acasxu", "mnist_fc", "rl_benchmarks", "reach_prob_density", "test", "tllverifybench")


def _rows() -> list[dict[str, str]]:
    if not DATA.is_dir():
        return []
    with (DATA / "verdicts.csv").open(newline="") as stream:
        return list(csv.DictReader(stream))


ROWS = _rows()
SLICE = [row for folder in READ for row in [r for r in ROWS if r["folder"] == folder][::12]]
OTHERS = list({row["folder"]: row for row in ROWS if row["folder"] not in READ}.values())


def _run(row: dict[str, str], folder: Path) -> str:
    word, _, _, code = instance([DATA / row["folder"] / row[key] for key in ("onnx", "vnnlib")], folder / "a.cert", "10s")
    if word in ("proved", "refuted"):
        assert word == _TOLD[row["verdict"]], row
    return f"{word} {code}".strip()


@pytest.mark.parametrize("arithmetic", ["auto", "exact-int"])
@pytest.mark.parametrize("semantics", ["real", "exec32"])
@pytest.mark.parametrize(("name", "word"), sorted(TRAPS.items()))
def test_traps(name: str, word: str, semantics: str, arithmetic: str, tmp_path: Path) -> None:
    files = [DATA / f"traps/{name}.onnx", DATA / f"traps/{name}.vnnlib"]
    found, _, _, _ = instance(files, tmp_path / "a.cert", "60s", f"semantics={semantics}", f"arithmetic={arithmetic}")
    assert found == (word if semantics == "real" else "unknown")  # no claim about every float32 execution of a trap can be proved


@pytest.mark.parametrize("row", SLICE, ids=[f"{row['folder']}-{row['onnx'][5:-8]}-{row['vnnlib'][7:-10]}" for row in SLICE])
def test_a_slice_of_the_instances(row: dict[str, str], tmp_path: Path) -> None:
    assert _run(row, tmp_path).split()[0] in ("proved", "refuted", "unknown")


@pytest.mark.parametrize("row", OTHERS, ids=[row["folder"] for row in OTHERS])
def test_networks_with_other_operators_are_refused_by_name(row: dict[str, str], tmp_path: Path) -> None:
    assert _run(row, tmp_path) == "declined onnx-operator"


@pytest.mark.slow
def test_all_instances(tmp_path: Path) -> None:
    proved: dict[str, int] = {}
    refuted = 0
    for row in ROWS:
        if row["folder"] in READ:
            word = _run(row, tmp_path)
            name = row["onnx"] if row["folder"] == "mnist_fc" else row["folder"]
            proved[name] = proved.get(name, 0) + (word == "proved")
            refuted += word == "refuted"
    assert proved["onnx/mnist-net_256x2.onnx.gz"] >= 12 and proved["onnx/mnist-net_256x4.onnx.gz"] >= 11
    assert proved["acasxu"] == 86 and proved["rl_benchmarks"] == 39 and proved["test"] == 3 and proved["tllverifybench"] == 1 and refuted >= 60


def test_digits_at_one_thirty_second(tmp_path: Path) -> None:
    import numpy as np

    from certify.claims.robust import KIND
    from certify.fields import Record
    from certify.limits import Limits
    from certify_solvers.common.prover import Effort, Problem, Proved
    from certify_solvers.crown.prover import Crown

    files = {"model": (DATA / "digits/digits_48x32.onnx").read_bytes(), "points": (DATA / "digits/images.npy").read_bytes()}
    labels = np.load(DATA / "digits/labels.npy")
    assert isinstance(KIND.given, Record)
    proved = 0
    for row in range(40):
        raw = {"row": row, "label": int(labels[row]), "norm": "linf", "radius": "1/2", "radius_unit": "raw", "clip": ["0", "1"], "scale": "1/16",
               "subtract": "0",
               "divide": "1", "semantics": "real"}
        problem = Problem("robust", {}, (), files, KIND.given.decode(raw, "given"), {}, {**Crown().options("robust"), "restarts": "20"}, Limits())
        proved += isinstance(Crown().prove(problem, Effort(), lambda stage, facts: None), Proved)
    assert proved >= 28
