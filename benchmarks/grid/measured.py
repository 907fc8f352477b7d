# SPDX-License-Identifier: Apache-2.0
"""Runs of `certify` in processes of their own, with what they took, and where the cases lie."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
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
    with tempfile.TemporaryFile("w+") as out:
        child = subprocess.Popen([str(CERTIFY), *map(str, arguments)], stdout=out, stderr=subprocess.STDOUT)
        ended, memory = 0, 0.0
        while not ended:
            memory = max(memory, _resident(child.pid))
            time.sleep(0.005)
            ended, status, usage = os.wait4(child.pid, os.WNOHANG)
        child.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        return Run(usage.ru_utime + usage.ru_stime, memory, child.returncode, out.read())


def _resident(pid: int) -> float:
    """Return the peak of a process's memory in MiB so far; what `wait4` tells would count that of this process too, which it was forked from."""
    status = Path(f"/proc/{pid}/status").read_text("ascii")
    return next((int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith("VmHWM")), 0.0)


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
