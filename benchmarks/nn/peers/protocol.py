# SPDX-License-Identifier: Apache-2.0
"""What `peers.py` asks of an adapter, which runs in the peer's own environment.

`run_X.py start` imports the tool, prints its version and exits: the start-up. `run_X.py MODEL PROPERTY SECONDS PROBLEM ANSWER` decides one
instance and writes `{"verdict": ..., "point": ...}` to ANSWER; PROBLEM is the same instance as arrays, for a tool that reads no property files.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

WORDS = {"unsat": "proved", "sat": "refuted", "timeout": "time-out"}


class Job(NamedTuple):
    """One instance: files, the time limit, and the instance as an `.npz` of arrays."""

    model: str
    property: str
    seconds: float
    problem: str


class Answer(NamedTuple):
    """A verdict (proved, refuted, unknown, time-out) and, if refuted, the input that the tool found."""

    verdict: str
    point: Sequence[float] | None = None


def serve(distribution: str, load: Callable[[], Any], run: Callable[[Any, Job], Answer]) -> None:
    """Carry out the command line: `load` imports the tool and what it returns is handed to `run`."""
    tool = load()
    if sys.argv[1] == "start":
        sys.stdout.write(f"{version(distribution)}\n")
        return
    model, text, seconds, problem, target = sys.argv[1:]
    verdict, point = run(tool, Job(model, text, float(seconds), problem))
    numbers = None if point is None else [float(value) for value in point]
    Path(target).write_text(json.dumps({"verdict": WORDS.get(verdict.lower(), verdict.lower()), "point": numbers}))
