# SPDX-License-Identifier: Apache-2.0
"""Pure jobs behind one interface: in this process, or in several; results come as they finish, each with the number of its job.

A job must depend on its argument only, so the number of workers changes when results come, never what they are.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from typing import Any, TypeVar

from certify.errors import Declined

Job = TypeVar("Job")
Result = TypeVar("Result")

_state: Any = None


def run(make: Callable[..., Any], arguments: tuple[Any, ...], work: Callable[[Any, Job], Result], jobs: Sequence[Job],
        workers: int) -> Iterator[tuple[int, Result]]:
    """Yield (number, work(state, job)) for every job; each process makes its own `state` with make(*arguments).

    `make` and `work` are functions of a module. Closing the iterator, or an interrupt, stops what is running. Raises what a job raises,
    and Declined `limit-reached` if a process is killed.
    """
    if workers <= 1 or len(jobs) <= 1:
        state = make(*arguments)
        for number, job in enumerate(jobs):
            yield number, work(state, job)
        return
    # New interpreters: forking a process that runs threads (of a progress display, of a BLAS) can hang.
    pool = ProcessPoolExecutor(min(workers, len(jobs)), multiprocessing.get_context("spawn"), _prepare, (make, arguments))
    try:
        pending: dict[Future[Any], int] = {}
        following = iter(enumerate(jobs))
        while True:
            for number, job in following:
                with no_interrupt():  # a process that is just starting would show a traceback; it inherits the mask
                    pending[pool.submit(_work, work, job)] = number
                if len(pending) >= 2 * workers:
                    break
            if not pending:
                return
            done, _ = wait(pending, return_when=FIRST_COMPLETED)
            for one in sorted(done, key=pending.__getitem__):
                yield pending.pop(one), one.result()
    except BrokenProcessPool:
        raise Declined("limit-reached", "a worker process was stopped, by a signal or for lack of memory",
                       fix="try fewer --workers; with --resume, finished rows are kept") from None
    finally:
        for process in list((pool._processes or {}).values()):  # a job may run for hours: nobody waits for it
            process.terminate()
        pool.shutdown(wait=True, cancel_futures=True)


@contextlib.contextmanager
def no_interrupt() -> Iterator[None]:
    """Hold back an interrupt until the block is done, where the system can."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _prepare(make: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    global _state
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides what an interrupt means
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _state = make(*arguments)


def _end_with_parent() -> None:
    """End this process when the one that started it is gone, also where that was killed and could tell nobody."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _work(work: Callable[[Any, Any], Any], job: Any) -> Any:
    return work(_state, job)
