# SPDX-License-Identifier: Apache-2.0
"""Work in two threads: compiled loops and hashes let go of the interpreter's lock."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Result = TypeVar("Result")

THREADS = 2
"""More would not pay: most loops are as fast as two cores read memory."""
_POOL = ThreadPoolExecutor(THREADS, "certify-zk")


def shared(work: Callable[[int, int], Result], count: int, least: int = 1) -> list[Result]:
    """Return what `work(first, last)` returns for consecutive parts of [0, count), of at least `least` numbers each where there are several."""
    parts = max(1, min(THREADS, count // max(least, 1)))
    ends = [count * part // parts for part in range(parts + 1)]
    if parts == 1:
        return [work(0, count)]
    return list(_POOL.map(work, ends[:-1], ends[1:]))
