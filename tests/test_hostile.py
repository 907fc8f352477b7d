# SPDX-License-Identifier: Apache-2.0
"""Hostile files through `certify-check`, in a child with limits: each decided in time and memory, none with a crash; limits on files."""

from __future__ import annotations

import gzip
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
from certify.verification import read_subject
from hostile import MEGABYTE_SECONDS, MEMORY, SECONDS, START_UP, Hostile, decide, megabytes, small
from kinds.region_vectors import bases
from kinds.robust_vectors import specimen as robust_specimen

SMALL, LARGE = {one.name: one for one in small()}, {one.name: one for one in megabytes()}
QUICK = ("tree-without-leaves", "splits-on-neurons", "sets-of-slopes", "statement-of-fields")


@pytest.mark.parametrize("name", sorted(SMALL))
def test_hostile_files_are_decided_within_a_second(name: str, tmp_path: Path) -> None:
    decided = decide(tmp_path, SMALL[name])
    assert decided.fits(SMALL[name]), decided.output
    assert decided.seconds < SECONDS + START_UP and decided.peak < MEMORY


def _decided_in_time(name: str, folder: Path) -> None:
    decided = decide(folder, LARGE[name])
    assert decided.fits(LARGE[name]), decided.output
    assert decided.seconds < MEGABYTE_SECONDS + START_UP and decided.peak < MEMORY


@pytest.mark.parametrize("name", QUICK)
def test_a_megabyte_that_reads_fast_is_decided_within_the_limits(name: str, tmp_path: Path) -> None:
    _decided_in_time(name, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(set(LARGE) - set(QUICK)))
def test_a_megabyte_that_asks_for_much_work_is_decided_within_the_limits(name: str, tmp_path: Path) -> None:
    _decided_in_time(name, tmp_path)


def test_a_wide_tree_of_many_leaves_is_charged(tmp_path: Path) -> None:
    leaf = bases().leaf
    leaf.arrays = {"tree": np.array([item for k in range(4000) for item in (0, -1 - k)] + [-4001], "<i4"),
                   "split_at": np.linspace(0.999, -0.999, 4000)}
    for options, verdict, code in (((), "verified", ""), (("--work", "100000"), "declined", "limit-reached")):
        hostile = Hostile("comb", leaf.seal(), dict(leaf.files.values()), (verdict,), code, options)
        decided = decide(tmp_path, hostile)
        assert decided.fits(hostile) and decided.seconds < 30


@pytest.mark.parametrize("packed", [False, True])
def test_a_file_at_the_limit_is_read_and_one_above_is_not(packed: bool, tmp_path: Path) -> None:
    noise = np.random.default_rng(0).bytes(5000)
    path = tmp_path / ("noise.gz" if packed else "noise")
    path.write_bytes(gzip.compress(noise, 0) if packed else noise)
    size = path.stat().st_size
    assert read_subject(path, Limits(file_bytes=size)) == noise
    assert len(load_bytes(path, Limits(file_bytes=size))) == size
    for read in (read_subject, load_bytes):
        with pytest.raises(Declined) as caught:
            read(path, Limits(file_bytes=size - 1))
        assert caught.value.code == "limit-reached"


def test_what_is_unpacked_is_limited_to_the_byte(tmp_path: Path) -> None:
    for size, most, fits in ((70_000, 70_000, True), (70_000, 69_999, False)):
        path = tmp_path / "zeros.gz"
        path.write_bytes(gzip.compress(bytes(size), 9))
        if fits:
            assert read_subject(path, Limits(file_bytes=most)) == bytes(size)
            continue
        with pytest.raises(Declined) as caught:
            read_subject(path, Limits(file_bytes=most))
        assert caught.value.code == "limit-reached"


def test_a_gzip_bomb_is_unpacked_under_the_limits(tmp_path: Path) -> None:
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


def test_memory_and_time_limits_of_the_child_decline(tmp_path: Path) -> None:
    leaf = bases().leaf
    (tmp_path / "a.cert").write_bytes(leaf.seal())
    asked = {"certificates": [str(tmp_path / "a.cert")], "inside": 0, "json": False, "memory": (8 << 20) - (1 << 30)}  # 8 MiB in all
    done = subprocess.run([sys.executable, "-c", "from certify.cli.check import child; child()"], input=json.dumps(asked), capture_output=True,
                          text=True, check=True)
    status, lines = json.loads(done.stdout)
    assert status == 3 and lines[0].startswith("declined  limit-reached")
    decided = decide(tmp_path, Hostile("none", leaf.seal(), dict(leaf.files.values()), options=("--json",)))
    assert json.loads(decided.output)["verdict"] == "verified"


def test_a_small_file_is_checked_in_little_memory(tmp_path: Path) -> None:
    made = robust_specimen(2)
    hostile = Hostile("none", made.seal(), dict(made.files.values()), ("verified",), options=("--memory", "512MiB"))
    assert decide(tmp_path, hostile).fits(hostile)


def test_pipes_and_devices_are_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/zero"), tmp_path):
        started = time.monotonic()
        with pytest.raises(UsageError) as caught:
            load_bytes(path, Limits())
        assert caught.value.code == "file-unreadable" and time.monotonic() - started < SECONDS


def test_a_sparse_file_above_the_limit_is_not_read(tmp_path: Path) -> None:
    with (tmp_path / "sparse").open("wb") as stream:
        stream.truncate(10 << 30)
    tracemalloc.start()
    with pytest.raises(Declined) as caught:
        load_bytes(tmp_path / "sparse", Limits())
    assert caught.value.code == "limit-reached" and tracemalloc.get_traced_memory()[1] < 1 << 20
    tracemalloc.stop()
