# SPDX-License-Identifier: Apache-2.0
"""Hostile files through `certify-check`, in a child with limits: each decided within a second, none with a crash."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from certify.container import load_bytes
from certify.errors import Declined, UsageError
from certify.limits import Limits
from kinds.container_vectors import vectors as container_vectors
from kinds.region_vectors import bases
from kinds.robust_vectors import specimen as robust_specimen
from toolkit import npy

_SECONDS = 1.0
_START_UP = 2.0  # an interpreter that imports numpy, on a loaded machine

NAMES = [vector.name for vector in container_vectors()]


def _check(folder: Path, certificate: bytes, files: dict[str, bytes], *options: str) -> tuple[int, str, float]:
    path = folder / "hostile.cert"
    path.write_bytes(certificate)
    command = [sys.executable, "-m", "certify.cli.check", str(path), *options]
    for name, data in files.items():
        (folder / name).write_bytes(data)
        command += ["--subject", str(folder / name)]
    started = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode, done.stdout, time.monotonic() - started


@pytest.mark.parametrize("name", ["nested-200000-deep", "unclosed-200000-deep", "unclosed-quotes", "number-five-thousand-digits",
                                  "number-huge-exponent", "rational-1e9999999",
                                  "two-members-of-one-name", "junk-before", "junk-behind", "deflated", "array-of-2-to-the-40", "array-of-objects",
                                  "member-outside",
                                  "duplicate-key", "too-many-members", "number-nan", "rational-2-over-6", "rational-plus", "rational-underscore"])
def test_hostile_certificates_are_decided_quickly(name: str, tmp_path: Path) -> None:
    vector = next(vector for vector in container_vectors() if vector.name == name)
    status, output, seconds = _check(tmp_path, vector.data, {file: data for _, file, data in vector.files})
    assert status == {"rejected": 1, "declined": 3}[vector.verdict]
    assert output.startswith(f"{vector.verdict}  {vector.code}")
    assert seconds < _SECONDS + _START_UP


def test_a_megabyte_of_tree_is_decided_within_the_limits(tmp_path: Path) -> None:
    hostile = bases().leaf.copy()
    hostile.arrays = {"tree": np.array([0] * 250_000, "<i4"), "split_at": np.linspace(0.999, -0.999, 60_000)}
    status, output, seconds = _check(tmp_path, hostile.seal(), dict(hostile.files.values()))
    assert status in (1, 3) and output.split()[0] in ("rejected", "declined")
    assert seconds < 90


def test_a_wide_tree_of_many_leaves_is_charged(tmp_path: Path) -> None:
    hostile = bases().leaf.copy()
    comb = [item for k in range(4000) for item in (0, -1 - k)] + [-4001]
    hostile.arrays = {"tree": np.array(comb, "<i4"), "split_at": np.linspace(0.999, -0.999, 4000)}
    status, _, seconds = _check(tmp_path, hostile.seal(), dict(hostile.files.values()))
    assert status == 0 and seconds < 30
    status, output, _ = _check(tmp_path, hostile.seal(), dict(hostile.files.values()), "--work", "100000")
    assert status == 3 and "limit-reached" in output


def test_a_gzip_bomb_is_unpacked_under_the_limits(tmp_path: Path) -> None:
    import gzip

    from certify.errors import Declined
    from certify.limits import Limits
    from certify.verification import read_subject

    path = tmp_path / "model.onnx.gz"
    noise = np.random.default_rng(0).bytes(2 << 20)
    path.write_bytes(gzip.compress(noise))
    with pytest.raises(Declined) as caught:
        read_subject(path, Limits(file_bytes=1 << 20))
    assert caught.value.code == "limit-reached"
    bomb = tmp_path / "bomb.csv.gz"
    bomb.write_bytes(gzip.compress(b"12\n" * (8 << 20)))
    with pytest.raises(Declined) as caught:
        read_subject(bomb, Limits())
    assert caught.value.code == "limit-reached"
    for broken in (path.read_bytes()[:-5], path.read_bytes() + gzip.compress(b"x"), b"not gzip", b""):
        path.write_bytes(broken)
        with pytest.raises(Declined) as caught:
            read_subject(path, Limits())
        assert caught.value.code == "gzip-damaged"


def test_a_model_that_declares_huge_shapes_is_refused(tmp_path: Path) -> None:
    from onnx import TensorProto, helper

    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 1 << 40])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 1 << 40])])
    hostile = bases().leaf.copy()
    hostile.files["model"] = ("ramp.onnx", helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString())
    status, output, seconds = _check(tmp_path, hostile.seal(), dict(hostile.files.values()))
    assert status == 3 and "onnx-graph" in output and seconds < _SECONDS + _START_UP


def test_a_points_file_that_claims_more_than_it_holds_is_refused(tmp_path: Path) -> None:
    hostile = robust_specimen(2)
    hostile.files["points"] = ("points.npy", npy(np.zeros((1, 2), np.uint8)).replace(b"(1, 2)", b"(1099511627776, 2)".ljust(18)[:18])[:200])
    status, output, _ = _check(tmp_path, hostile.seal(), dict(hostile.files.values()))
    assert status == 3 and "arrays-" in output


def test_memory_and_time_limits_of_the_child_decline(tmp_path: Path) -> None:
    leaf = bases().leaf
    (tmp_path / "a.cert").write_bytes(leaf.seal())
    asked = {"certificates": [str(tmp_path / "a.cert")], "inside": 0, "json": False, "memory": (8 << 20) - (1 << 30)}  # 8 MiB in all
    done = subprocess.run([sys.executable, "-c", "from certify.cli.check import child; child()"], input=json.dumps(asked), capture_output=True,
                          text=True, check=True)
    status, lines = json.loads(done.stdout)
    assert status == 3 and lines[0].startswith("declined  limit-reached")
    status, output, _ = _check(tmp_path, leaf.seal(), dict(leaf.files.values()), "--json")
    assert status == 0 and json.loads(output)["verdict"] == "verified"


def test_a_small_file_is_checked_in_little_memory(tmp_path: Path) -> None:
    made = robust_specimen(2)
    status, said, _ = _check(tmp_path, made.seal(), {name: data for name, data in made.files.values()}, "--memory", "512MiB")
    assert (status, said.split()[0]) == (0, "verified"), said


def test_pipes_and_devices_are_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/zero"), tmp_path):
        started = time.monotonic()
        with pytest.raises(UsageError) as caught:
            load_bytes(path, Limits())
        assert caught.value.code == "file-unreadable" and time.monotonic() - started < _SECONDS


def test_a_sparse_file_above_the_limit_is_not_read(tmp_path: Path) -> None:
    with (tmp_path / "sparse").open("wb") as stream:
        stream.truncate(10 << 30)
    tracemalloc.start()
    with pytest.raises(Declined) as caught:
        load_bytes(tmp_path / "sparse", Limits())
    assert caught.value.code == "limit-reached" and tracemalloc.get_traced_memory()[1] < 1 << 20
    tracemalloc.stop()
