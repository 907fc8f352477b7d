# SPDX-License-Identifier: Apache-2.0
"""Bad input at the command line: the right exit status, one line that helps, a stable code, no traceback, nothing written or lost."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper

from kinds.region_vectors import bases
from kinds.robust_vectors import POINTS, classifier
from toolkit import model, npy

CERTIFY = [sys.executable, "-m", "certify.cli.main"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a good model, property, points and labels."""
    for name, data in bases().leaf.files.values():
        (tmp_path / name).write_bytes(data)
    (tmp_path / "net.onnx").write_bytes(model(classifier(2)))
    (tmp_path / "points.npy").write_bytes(npy(POINTS))
    (tmp_path / "labels.npy").write_bytes(npy(np.array([1, 1, 7])))
    return tmp_path


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run certify in a folder; the output must never hold a traceback."""
    done = subprocess.run([*CERTIFY, *words], cwd=folder, capture_output=True, text=True, timeout=120, check=False,
                          env={**os.environ, "PYTHONPATH": _path()})
    assert "Traceback" not in done.stdout + done.stderr, done.stderr
    return done


def _path() -> str:
    root = Path(__file__).resolve().parents[2]
    return os.pathsep.join(str(root / part) for part in ("", "solvers", "problems"))


def refused(folder: Path, status: int, code: str, *words: str) -> str:
    """Run a command that must fail: status, code in one line, a line of what to do, and no new file."""
    before = sorted(p.name for p in folder.iterdir())
    done = run(folder, *words)
    said = done.stdout if status in (1, 3) else done.stderr
    assert done.returncode == status, done.stdout + done.stderr
    assert code in said.splitlines()[0], said
    assert len(said.splitlines()) == 2 and len(said.splitlines()[1].strip()) > 10, said
    assert sorted(p.name for p in folder.iterdir()) == before
    return said


def test_a_missing_file_a_folder_and_an_empty_file(folder: Path) -> None:
    refused(folder, 2, "file-unreadable", "prove", "region", "missing.onnx", "ramp.vnnlib")
    refused(folder, 2, "file-unreadable", "prove", "region", "ramp.onnx", "missing.vnnlib")
    refused(folder, 2, "file-unreadable", "prove", "region", ".", "ramp.vnnlib")
    refused(folder, 2, "file-unreadable", "verify", "missing.cert")
    (folder / "empty").write_bytes(b"")
    refused(folder, 3, "onnx-", "prove", "region", "empty", "ramp.vnnlib")
    refused(folder, 3, "vnnlib-", "prove", "region", "ramp.onnx", "empty")
    refused(folder, 1, "malformed", "verify", "empty")


def test_models_that_the_reader_refuses(folder: Path) -> None:
    whole = (folder / "ramp.onnx").read_bytes()
    (folder / "cut.onnx").write_bytes(whole[: len(whole) // 2])
    said = refused(folder, 3, "onnx-wire", "prove", "region", "cut.onnx", "ramp.vnnlib")
    assert "cut.onnx" in said
    graph = helper.make_graph([helper.make_node("Softplus", ["x"], ["y"], "soft")], "g",
                              [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 2])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 2])])
    (folder / "soft.onnx").write_bytes(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString())
    said = refused(folder, 3, "onnx-operator", "prove", "region", "soft.onnx", "ramp.vnnlib")
    assert "Softplus" in said and "node soft" in said and "Gemm" in said
    (folder / "nan.onnx").write_bytes(model((([[float("nan"), 1]], [0]),)))
    refused(folder, 3, "onnx-tensor", "prove", "region", "nan.onnx", "ramp.vnnlib")
    (folder / "wide.onnx").write_bytes(model((([[1, 2, 3]], [0]),)))
    refused(folder, 3, "vnnlib-shape", "prove", "region", "wide.onnx", "ramp.vnnlib")
    refused(folder, 3, "onnx-", "prove", "region", "ramp.vnnlib", "ramp.onnx")


def test_properties_that_the_reader_refuses(folder: Path) -> None:
    text = (folder / "ramp.vnnlib").read_text()
    for name, body, code in (("undeclared", text.replace("Y_0 2", "Y_3 2"), "vnnlib-name"), ("open", text.rstrip()[:-1], "vnnlib-syntax"),
                             ("words", text.replace("Y_0 2", "Y_0 two"), "vnnlib-name"),
                             ("unbounded", text.replace("(>= X_0 -1)", ""), "vnnlib-unbounded")):
        (folder / name).write_text(body)
        refused(folder, 3, code, "prove", "region", "ramp.onnx", name)
    (folder / "empty-box").write_text(text.replace("(>= X_0 -1)", "(>= X_0 2)"))
    refused(folder, 2, "claim-vacuous", "prove", "region", "ramp.onnx", "empty-box")


@pytest.mark.parametrize(("settings", "code"), [
    (["radius=1", "row=0", "label=5"], "label-range"), (["radius=1", "row=0", "label=-1"], "setting-value"), (["radius=-1", "row=0"], "radius-sign"),
    (["radius=0", "row=0"], "radius-sign"), (["radius=much", "row=0"], "setting-value"), (["radius=nan", "row=0"], "setting-value"),
    (["radius=1/0", "row=0"], "setting-value"),
    (["radius=1e9999", "row=0"], "setting-value"), (["radius=1", "row=3"], "claim-mismatch"), (["radius=1", "row=x"], "setting-value"),
    (["row=0"], "setting-missing"),
    (["radius=1"], "setting-missing"), (["radius=1", "row=0", "norm=l7"], "setting-value"), (["radius=1", "row=0", "clip=[0,1]"], "outside-domain"),
    (["radius=1", "row=0", "clip=0,1"], "setting-value"), (["radius=1", "row=0", "scale=0"], "setting-value"),
    (["radius=1", "row=0", "radios=1"], "setting-unknown"),
    (["radius=1", "row=0", "radius=2"], "setting-form"), (["radius", "row=0"], "setting-form"),
    (["radius=1", "row=0", "divide=[1,2,3]"], "claim-mismatch"),
    (["radius=1", "row=2", "labels=labels.npy"], "label-range"), (["radius=1", "row=0", "labels=labels.npy", "label=0"], "claim-mismatch"),
])
def test_settings_that_make_no_sense(folder: Path, settings: list[str], code: str) -> None:
    words = [word for setting in settings for word in ("--set", setting)]
    refused(folder, 2, code, "prove", "robust", "net.onnx", "points.npy", *words)


def test_roles_and_kinds_that_do_not_fit(folder: Path) -> None:
    refused(folder, 2, "role-missing", "prove", "region", "ramp.onnx")
    refused(folder, 2, "role-extra", "prove", "region", "ramp.onnx", "ramp.vnnlib", "points.npy")
    said = refused(folder, 2, "kind-unknown", "prove", "regoin", "ramp.onnx", "ramp.vnnlib")
    assert "region" in said
    refused(folder, 2, "setting-value", "prove", "region", "ramp.onnx", "ramp.vnnlib", "--time-limit", "soon")
    refused(folder, 2, "setting-value", "prove", "region", "ramp.onnx", "ramp.vnnlib", "--set", "semantics=float32")
    refused(folder, 2, "assumption-unknown", "verify", "missing.cert", "--allow", "wishful")


def test_outputs_that_can_not_be_written(folder: Path) -> None:
    question = ("prove", "region", "ramp.onnx", "ramp.vnnlib", "-o")
    refused(folder, 73, "output-unwritable", *question, "missing/out.cert")
    refused(folder, 73, "output-unwritable", *question, ".")
    refused(folder, 73, "output-unwritable", *question, "/dev/full")
    refused(folder, 2, "output-taken", *question, "ramp.onnx")
    assert (folder / "ramp.onnx").read_bytes() == bases().leaf.files["model"][1]


def test_a_full_disk_leaves_no_partial_file(folder: Path) -> None:
    small = folder / "small"
    small.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", str(small)], capture_output=True, check=False).returncode != 0:
        pytest.skip("mounting a small file system needs root")
    try:
        (small / "fill").write_bytes(b"")
        before = sorted(p.name for p in small.iterdir())
        while True:
            try:
                with (small / "fill").open("ab") as stream:
                    stream.write(b"x" * 512)
            except OSError:
                break
        done = run(folder, "prove", "region", "ramp.onnx", "ramp.vnnlib", "-o", "small/out.cert")
        assert done.returncode == 73 and "output-unwritable" in done.stderr and "space" in done.stderr
        assert sorted(p.name for p in small.iterdir()) == before
    finally:
        subprocess.run(["umount", str(small)], check=False)


def test_ctrl_c_during_prove_writes_nothing(folder: Path) -> None:
    rng = np.random.default_rng(0)
    sizes = [784, 2000, 2000, 2000, 10]
    layers = [(rng.standard_normal((m, n)).astype(np.float32) / np.sqrt(n), np.zeros(m, np.float32)) for n, m in itertools.pairwise(sizes)]
    (folder / "large.onnx").write_bytes(model(layers))
    (folder / "images.npy").write_bytes(npy(rng.random((1, 784))))
    before = sorted(p.name for p in folder.iterdir())
    words = ["prove", "robust", "large.onnx", "images.npy", "--set", "row=0", "--set", "radius=1/100", "-o", "out.cert", "--progress", "json"]
    process = subprocess.Popen([*CERTIFY, *words], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               env={**os.environ, "PYTHONPATH": _path()})
    assert process.stderr is not None and "reading" in process.stderr.readline()
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=60)
    assert process.returncode == 130 and "Traceback" not in errors and "interrupted" in errors and output == ""
    assert sorted(p.name for p in folder.iterdir()) == before
