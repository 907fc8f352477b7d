# SPDX-License-Identifier: Apache-2.0
"""Work in two threads: compiled loops and hashes let go of the interpreter's lock."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import TypeVar

Result = TypeVar("Result")

THREADS = 2
"""The caller's and one more: many loops are as fast as two cores read memory."""


class _Pool:
    """The other threads; a process that is forked begins with new ones, as threads are not copied."""

    def __init__(self) -> None:
        self.start()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self.start)

    def start(self) -> None:
        self.executor = ThreadPoolExecutor(THREADS - 1, "certify-zk")


_POOL = _Pool()


def shared(work: Callable[[int, int], Result], count: int, least: int = 1) -> list[Result]:
    """Return what `work(first, last)` returns for consecutive parts of [0, count), of at least `least` numbers each if there are several.

    `work` must not share work itself.
    """
    parts = max(1, min(THREADS, count // max(least, 1)))
    ends = [count * part // parts for part in range(parts + 1)]
    others = [_POOL.executor.submit(work, first, last) for first, last in pairwise(ends[1:])]
    mine = work(ends[0], ends[1])
    return [mine, *(other.result() for other in others)]
