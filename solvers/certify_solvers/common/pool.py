# SPDX-License-Identifier: Apache-2.0
"""Long-lived processes that share the calls of one pure function; results don't depend on how many there are.

The processes start with the first call that has work for them. The caller works too. What a process that died was to do, the caller does.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import signal
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, Generic, TypeVar

from certify_solvers.common.executor import no_interrupt

Result = TypeVar("Result")


class Pool(Generic[Result]):
    """`workers` processes in all for calls of `work`, which is sent to each of them once; a context manager that leaves none of them behind."""

    def __init__(self, work: Callable[..., Result], workers: int) -> None:
        self.work, self.workers = work, workers
        self._idle: list[Connection] = []
        self._processes: list[BaseProcess] | None = None

    def __enter__(self) -> Pool[Result]:
        return self

    def __exit__(self, *exception: object) -> None:
        for process in self._processes or []:
            process.terminate()
            process.join()
        for link in self._idle:
            link.close()

    def run(self, calls: Sequence[tuple[Any, ...]]) -> list[Result]:
        """Return work(*call) for every call, in order."""
        if self.workers > 1 and len(calls) > 1 and self._processes is None:
            self._start()
        results: list[Result | None] = [None] * len(calls)
        left = list(range(len(calls)))[::-1]
        busy: dict[Connection, int] = {}
        lost: list[int] = []
        while left or busy or lost:
            while self._idle and len(left) > 1:
                link, number = self._idle.pop(), left.pop()
                if _send(link, calls[number]):
                    busy[link] = number
                else:
                    left.append(number)
            if left or lost:
                number = (left or lost).pop()
                results[number] = self.work(*calls[number])
            for link in wait(list(busy), 0 if left or lost else None) if busy else []:
                number = busy.pop(link)  # type: ignore[call-overload]
                try:
                    results[number] = link.recv()  # type: ignore[union-attr]
                    self._idle.append(link)  # type: ignore[arg-type]
                except (EOFError, OSError):
                    lost.append(number)
        return results  # type: ignore[return-value]

    def _start(self) -> None:
        # New interpreters: forking a process that runs threads (of a progress display, of a BLAS) can hang.
        context = multiprocessing.get_context("spawn")
        self._processes = []
        for _ in range(self.workers - 1):
            own, other = context.Pipe()
            process = context.Process(target=_serve, args=(other, self.work), daemon=True)
            with no_interrupt():  # a process that is just starting would show a traceback; it inherits the mask
                process.start()
            other.close()  # so that the death of the process shows
            self._processes.append(process)
            self._idle.append(own)


def _send(link: Connection, call: tuple[Any, ...]) -> bool:
    try:
        link.send(call)
    except OSError:
        link.close()
        return False
    return True


def _serve(link: Connection, work: Callable[..., Any]) -> None:
    """Answer calls until the other end is closed; any failure ends the process, and the caller meets the same one."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the caller decides what an interrupt means
    with contextlib.suppress(Exception):
        while True:
            link.send(work(*link.recv()))

