# SPDX-License-Identifier: Apache-2.0
"""The first Ctrl-C as a flag, for searches that can end with what they have; the second one interrupts."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from typing import Any


class Interrupt:
    """Whether Ctrl-C was pressed since the block was entered."""

    def __init__(self) -> None:
        self.set = False


@contextlib.contextmanager
def flagged() -> Iterator[Interrupt]:
    """Hold a first interrupt back as a flag while the block runs; outside of the main thread interrupts stay as they are."""
    found = Interrupt()
    if threading.current_thread() is not threading.main_thread():
        yield found
        return

    def note(number: int, frame: Any) -> None:
        if found.set:
            raise KeyboardInterrupt
        found.set = True

    before = signal.signal(signal.SIGINT, note)
    try:
        yield found
    finally:
        signal.signal(signal.SIGINT, before)
