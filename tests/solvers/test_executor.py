# SPDX-License-Identifier: Apache-2.0
"""Pure jobs in one process or several: all results, whatever the order; errors, lost workers and early ends leave no process behind."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import time
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import pytest

from certify.errors import Declined
from certify.files import OutputError
from certify_solvers.common.executor import run


def make(factor: int) -> int:
    """Return a state."""
    return factor


def work(factor: int, job: int) -> int:
    """Return a product; larger jobs first become ready later."""
    time.sleep(0.002 * (job % 3))
    return factor * job


def refuse(factor: int, job: int) -> int:
    """Raise an error of ours with all its fields, at one job."""
    if job == 3:
        raise OutputError("output-unwritable", "no room", where="there", fix="make room")
    return job


def die(factor: int, job: int) -> int:
    """Be killed, as for lack of memory, at one job."""
    if job == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return job


def wait(factor: int, job: int) -> int:
    """Take very long, but for the first job."""
    if job:
        time.sleep(600)
    return job


def _gone() -> bool:
    deadline = time.monotonic() + 20
    while multiprocessing.active_children() and time.monotonic() < deadline:
        time.sleep(0.05)
    return not multiprocessing.active_children()


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_every_job_is_done_once(workers: int) -> None:
    found = list(run(make, (7,), work, list(range(20)), workers))
    assert sorted(found) == [(n, 7 * n) for n in range(20)]
    assert _gone()


def test_no_job_and_one_job_need_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    def pool(*arguments: Any) -> ProcessPoolExecutor:
        raise AssertionError("a process was started")
    monkeypatch.setattr("certify_solvers.common.executor.ProcessPoolExecutor", pool)
    assert list(run(make, (7,), work, [], 4)) == []
    assert list(run(make, (7,), work, [5], 4)) == [(0, 35)]


@pytest.mark.parametrize("workers", [1, 2])
def test_an_error_of_a_job_arrives_whole(workers: int) -> None:
    with pytest.raises(OutputError) as caught:
        list(run(make, (7,), refuse, list(range(8)), workers))
    assert (caught.value.code, caught.value.what, caught.value.where, caught.value.fix) == ("output-unwritable", "no room", "there", "make room")
    assert _gone()


def test_a_killed_worker_is_an_error_and_no_hang() -> None:
    started = time.monotonic()
    with pytest.raises(Declined) as caught:
        list(run(make, (7,), die, list(range(8)), 2))
    assert caught.value.code == "limit-reached" and "worker" in caught.value.what and "--resume" in caught.value.fix
    assert time.monotonic() - started < 60 and _gone()


def test_closing_early_stops_running_jobs() -> None:
    started = time.monotonic()
    with contextlib.closing(run(make, (7,), wait, list(range(6)), 2)) as results:
        assert next(results) == (0, 0)
        assert len(multiprocessing.active_children()) == 2
    assert time.monotonic() - started < 60 and _gone()
