# SPDX-License-Identifier: Apache-2.0
"""Runs of `certify` in processes of their own, with what they took, and where the cases lie."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[1] / "nn")]
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from machine import described  # noqa: E402

CERTIFY = Path(sys.executable).with_name("certify")


@dataclass(frozen=True)
class Run:
    """What one command took (CPU seconds, peak memory in MiB), its exit status and what it printed."""

    seconds: float
    memory: float
    status: int
    text: str


def certify(*arguments: str | Path) -> Run:
    """Run one command of certify."""
    child = subprocess.Popen([str(CERTIFY), *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if child.stdout is None:
        raise RuntimeError("no pipe")
    text = child.stdout.read()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    return Run(usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, child.returncode, text)


def start_up() -> float:
    """Return the CPU seconds that `certify` needs to start."""
    return min(certify("--version").seconds for _ in range(3))


def case(folder: Path, name: str) -> Path:
    """Return the path of a case of pglib."""
    return folder / f"pglib_opf_case{name}.m"


def header(columns: str) -> None:
    """Print the machine and the columns of a table."""
    print(described())
    print(f"one run each, CPU seconds of a process of its own; start-up, contained in each, {start_up():.2f} s")
    print(columns, flush=True)
