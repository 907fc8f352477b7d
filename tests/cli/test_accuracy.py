# SPDX-License-Identifier: Apache-2.0
"""`prove accuracy` from the command line: what it says, kills and interrupts in the middle, folders that can't be written to, lost workers."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest

import certify
from cli.test_bad_input import CERTIFY, _path, refused, run
from toolkit import npy

DIGITS = Path(__file__).resolve().parents[2] / "examples/digits"
ROWS = 60
FILES = ("digits.onnx", "images.npy", "labels.npy")
QUESTION = ("prove", "accuracy", *FILES, "--set", "radius=1", "--set", "scale=1/16", "--set", "clip=[0,1]")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with the digits network and 60 images: the example's, and two that are shifted by a pixel for each."""
    images, labels = np.load(DIGITS / "images.npy"), np.load(DIGITS / "labels.npy")
    (tmp_path / "digits.onnx").write_bytes((DIGITS / "digits.onnx").read_bytes())
    (tmp_path / "images.npy").write_bytes(npy(np.vstack([images, np.roll(images, 1, axis=1), np.roll(images, 8, axis=1)])))
    (tmp_path / "labels.npy").write_bytes(npy(np.tile(labels, 3)))
    return tmp_path


def _verified(folder: Path, name: str) -> certify.Verification:
    return certify.verify(folder / name, [folder / file for file in FILES])


def _started(folder: Path, *words: str) -> subprocess.Popen[str]:
    """Start a command in a session of its own, so that what it leaves behind can be found."""
    return subprocess.Popen([*CERTIFY, *QUESTION, "--progress", "json", *words], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            text=True,
                            env={**os.environ, "PYTHONPATH": _path()}, start_new_session=True)


def _until(process: subprocess.Popen[str], done: int) -> None:
    """Wait until so many rows are done."""
    assert process.stderr is not None
    for line in process.stderr:
        facts = json.loads(line)
        if facts["stage"] == "rows" and facts["done"] >= done:
            return
    raise AssertionError("it ended too early")


def _session(session: int) -> list[int]:
    """Return the processes of a session that still run; nothing where the system can't tell."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[3]) == session and fields[0] != "Z":
            found.append(int(stat.parent.name))
    return found


def _nobody_left(session: int) -> bool:
    deadline = time.monotonic() + 20
    while _session(session) and time.monotonic() < deadline:
        time.sleep(0.1)
    return not _session(session)


def test_counts_certificate_and_show(folder: Path) -> None:
    done = run(folder, *QUESTION, "-o", "out.cert", "--workers", "2")
    assert done.stderr == "" and done.returncode in (0, 4)
    first, counts = done.stdout.splitlines()[:2]
    assert first.startswith(f"proved    Of the {ROWS} rows of images.npy, at least ") and " get their label in labels.npy from digits.onnx " in first
    result = _verified(folder, "out.cert")
    says = result.claim.says
    assert f"robust {says['robust_at_least']} · not robust " in counts and f"of {ROWS}   →   certified accuracy " in counts
    assert (done.returncode == 4) == (result.figures["open"] > 0)
    assert result.figures["open"] == ROWS - says["robust_at_least"] - says["not_robust_at_least"]
    shown = run(folder, "show", "out.cert").stdout
    assert "kind      accuracy v1" in shown and f"robust    {says['robust_at_least']} rows" in shown
    told = json.loads(run(folder, *QUESTION, "-o", "out.cert", "--json").stdout)
    assert told["verdict"] == "proved" and told["id"] == result.id and ("open" in told) == (result.figures["open"] > 0)
    assert any("so the exit status is 4" in line for line in told["remarks"]) == ("open" in told)


def test_wanted_counts_that_are_not_reached(folder: Path) -> None:
    done = run(folder, *QUESTION, "--set", f"robust_at_least={ROWS}", "-o", "out.cert")
    assert done.returncode == 4 and done.stdout.startswith("unknown ") and f"wanted {ROWS}" in done.stdout and "certified accuracy" in done.stdout
    assert not (folder / "out.cert").exists()
    told = json.loads(run(folder, *QUESTION, "--set", f"not_robust_at_least={ROWS}", "-o", "out.cert", "--json").stdout)
    assert told["verdict"] == "unknown" and f"wanted {ROWS}" in told["why"]
    assert run(folder, *QUESTION, "--set", "robust_at_least=1", "-o", "out.cert").returncode in (0, 4) and (folder / "out.cert").exists()


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_run_that_is_killed_goes_on_where_it_stopped(folder: Path, workers: str) -> None:
    whole = run(folder, *QUESTION, "-o", "whole.cert")
    assert whole.returncode in (0, 4)
    process = _started(folder, "-o", "out.cert", "--resume", "rows", "--workers", workers)
    _until(process, 8)
    process.kill()
    process.communicate(timeout=60)
    assert _nobody_left(process.pid)  # workers of a killed run end, too
    kept = {path.name: (path.stat().st_mtime_ns, path.read_bytes()) for path in (folder / "rows").iterdir() if not path.name.startswith(".")}
    assert 8 <= len(kept) < ROWS and not (folder / "out.cert").exists()
    done = run(folder, *QUESTION, "-o", "out.cert", "--resume", "rows", "--workers", workers)
    assert done.returncode == whole.returncode and done.stdout.replace("out.cert", "whole.cert") == whole.stdout
    assert (folder / "out.cert").read_bytes() == (folder / "whole.cert").read_bytes()
    assert {name: ((folder / "rows" / name).stat().st_mtime_ns, (folder / "rows" / name).read_bytes()) for name in kept} == kept
    assert len([path for path in (folder / "rows").iterdir() if not path.name.startswith(".")]) == ROWS


@pytest.mark.parametrize("workers", ["1", "2"])
@pytest.mark.parametrize("everyone", [False, True])
def test_an_interrupt_writes_what_was_found(folder: Path, workers: str, everyone: bool) -> None:
    process = _started(folder, "-o", "out.cert", "--workers", workers)
    _until(process, 5)
    if everyone:  # as a terminal does it: workers get the signal, too
        os.killpg(process.pid, signal.SIGINT)
    else:
        process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=60)
    assert process.returncode == 130 and "Traceback" not in output + errors
    assert output.startswith("proved ") and "interrupted: what was found so far was written" in output
    assert all(line.startswith("{") for line in errors.splitlines())
    result = _verified(folder, "out.cert")
    assert result.claim.says["of"] == ROWS and 5 <= ROWS - result.figures["open"] < ROWS
    assert _nobody_left(process.pid)


def test_an_interrupt_at_the_start_leaves_no_traceback(folder: Path) -> None:
    for delay in (0.3, 0.5, 0.7, 0.9):
        process = _started(folder, "-o", "out.cert", "--workers", "2")
        time.sleep(delay)
        os.killpg(process.pid, signal.SIGINT)
        output, errors = process.communicate(timeout=60)
        assert "Traceback" not in output + errors and _nobody_left(process.pid)
        assert process.returncode in (130, -signal.SIGINT)  # the latter before our code runs


def test_a_lost_worker_is_an_error_and_rows_are_kept(folder: Path) -> None:
    process = _started(folder, "-o", "out.cert", "--workers", "2", "--resume", "rows")
    _until(process, 3)
    workers = [pid for pid in _session(process.pid) if b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes()]
    if not workers:
        process.kill()
        process.communicate(timeout=60)
        pytest.skip("the processes of a session can't be listed")
    os.kill(workers[0], signal.SIGKILL)
    output, errors = process.communicate(timeout=60)
    assert process.returncode == 3 and output.startswith("declined  limit-reached: a worker process was stopped")
    assert "Traceback" not in errors and "--resume" in output and _nobody_left(process.pid)
    assert not (folder / "out.cert").exists() and len(list((folder / "rows").glob("row-*"))) >= 3
    assert run(folder, *QUESTION, "-o", "out.cert", "--resume", "rows").returncode in (0, 4)


def test_folders_that_can_not_hold_rows(folder: Path) -> None:
    (folder / "file").write_bytes(b"")
    done = run(folder, *QUESTION, "--resume", "file")
    assert done.returncode == 2 and "is a file" in done.stderr
    refused(folder, 73, "output-unwritable", *QUESTION, "--resume", "file/below", "-o", "out.cert")
    (folder / "rows/row-000003.cert").mkdir(parents=True)
    for workers in ("1", "2"):
        refused(folder, 73, "output-unwritable", *QUESTION, "--resume", "rows", "-o", "out.cert", "--workers", workers)
    told = json.loads(run(folder, *QUESTION, "--resume", "rows", "-o", "out.cert", "--json").stdout)
    assert told["verdict"] == "output" and told["code"] == "output-unwritable"


@pytest.mark.parametrize("read_only", [True, False])
def test_a_folder_that_is_full_or_read_only(folder: Path, read_only: bool) -> None:
    small = folder / "small"
    small.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", str(small)], capture_output=True, check=False).returncode != 0:
        pytest.skip("mounting a small file system needs root")
    try:
        if read_only:
            subprocess.run(["mount", "-o", "remount,ro", str(small)], check=True)
        done = run(folder, *QUESTION, "--resume", "small/rows" if read_only else "small", "-o", "out.cert")
        assert done.returncode == 73 and done.stdout == "" and len(done.stderr.splitlines()) == 2
        assert "output-unwritable" in done.stderr and ("Read-only" if read_only else "space") in done.stderr
        assert not [path for path in small.iterdir() if path.name.startswith(".")] and not (folder / "out.cert").exists()
        if not read_only:  # what fitted is good, and the run can go on elsewhere
            kept = sorted(path.name for path in small.glob("row-*.cert"))
            assert kept
            again = folder / "again"
            again.mkdir()
            for name in kept:
                (again / name).write_bytes((small / name).read_bytes())
            assert run(folder, *QUESTION, "--resume", "again", "-o", "out.cert").returncode in (0, 4)
            assert all((again / name).read_bytes() == (small / name).read_bytes() for name in kept)
    finally:
        subprocess.run(["umount", str(small)], check=False)


def test_time_limits_and_questions_that_make_no_sense(folder: Path) -> None:
    done = run(folder, *QUESTION, "--time-limit", "1ms", "-o", "out.cert")
    assert done.returncode == 4 and "of 60" in done.stdout
    refused(folder, 2, "setting-value", *QUESTION, "--time-limit", "0")
    refused(folder, 2, "setting-unknown", *QUESTION, "--set", "row=1")
    refused(folder, 2, "role-missing", "prove", "accuracy", "digits.onnx", "images.npy", "--set", "radius=1")
    refused(folder, 2, "setting-missing", "prove", "accuracy", *FILES)
    refused(folder, 2, "outside-domain", "prove", "accuracy", *FILES, "--set", "radius=1", "--set", "clip=[0,1]")
    refused(folder, 2, "claim-mismatch", "prove", "accuracy", "digits.onnx", "images.npy", "images.npy", "--set", "radius=1")
    refused(folder, 2, "claim-mismatch", "prove", "accuracy", "digits.onnx", "labels.npy", "images.npy", "--set", "radius=1")
    refused(folder, 2, "setting-value", "prove", "robust", "digits.onnx", "images.npy", "--set", "row=0", "--set", "radius=1", "--resume", "rows")
    assert json.loads(run(folder, *QUESTION, "--dry-run").stdout)["given"]["radius"] == "1"
