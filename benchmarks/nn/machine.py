# SPDX-License-Identifier: Apache-2.0
"""What a benchmark was run on: one line for the machine and its versions, and the load, which every figure of a shared machine needs."""

from __future__ import annotations

import os
import platform
import sys
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path


def described() -> str:
    """Return the processor, its cores, memory, the system, versions, the date and the load averages."""
    names = [line.partition(":")[2].strip() for line in _lines("/proc/cpuinfo") if line.startswith("model name")]
    memory = [int(line.split()[1]) / 2**20 for line in _lines("/proc/meminfo") if line.startswith("MemTotal")]
    packages = ", ".join(f"{name} {_version(name)}" for name in ("numpy", "python-flint", "onnxruntime"))
    return (f"{names[0] if names else platform.processor()}, {os.cpu_count()} cores, {memory[0] if memory else 0:.0f} GiB, {platform.system()} "
            f"{platform.release().split('-')[0]}; Python {platform.python_version()}, {packages}; {time.strftime('%Y-%m-%d', time.gmtime())}; "
            f"{load()}")


def load() -> str:
    """Return the load averages of the last minute and of the last five."""
    one, five, _ = os.getloadavg()
    return f"load {one:.1f} (1 min), {five:.1f} (5 min)"


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "absent"


def _lines(path: str) -> list[str]:
    return Path(path).read_text("utf-8").splitlines() if sys.platform == "linux" else []
