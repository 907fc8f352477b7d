# SPDX-License-Identifier: Apache-2.0
"""A perceptron of 2.9 million parameters (784-1024-1024-1024-10): time, memory and size of proving and of checking."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage

import numpy as np
from machine import described, load

from certify_problems.nn.synthetic import perceptron

BIN = Path(sys.executable).parent
SIZES = (784, 1024, 1024, 1024, 10)
RADIUS = "1/1000"


def main() -> int:
    """Prove and check one `robust` claim, each in its own process, and print what they took."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        (folder / "large.onnx").write_bytes(perceptron(SIZES))
        np.save(folder / "images.npy", np.random.default_rng(1).random((1, SIZES[0]), np.float32))
        parameters = sum(n * m + m for n, m in pairwise(SIZES))
        print(described())
        print(f"{parameters} parameters, radius {RADIUS}")
        files = ["large.onnx", "images.npy"]
        worst = 0
        for name, words in (("prove", ["certify", "prove", "robust", *files, "--set", "row=0", "--set", f"radius={RADIUS}", "-o", "a.cert"]),
                            ("check", ["certify", "verify", "a.cert", *(f"--subject={file}" for file in files)]),
                            ("certify-check", ["certify-check", "a.cert", *(f"--subject={file}" for file in files)]),
                            ("with BLAS", ["certify-check", "a.cert", "--blas", *(f"--subject={file}" for file in files)])):
            cpu, wall, peak, done = measured([str(BIN / words[0]), *words[1:]], folder)
            said = done.stdout.splitlines()[0][:60] if done.stdout else ""
            print(f"{name:14s} exit {done.returncode}  wall {wall:6.2f} s  CPU {cpu:6.2f} s  peak {peak / 2**20:7.0f} MiB   {said}")
            worst = max(worst, done.returncode)
        if (folder / "a.cert").exists():
            print(f"certificate {(folder / 'a.cert').stat().st_size} bytes")
    print(load())
    return worst


def measured(command: list[str], folder: Path) -> tuple[float, float, int, subprocess.CompletedProcess[str]]:
    """Return (CPU seconds, wall seconds, peak bytes so far of any child, the finished process)."""
    before, started = getrusage(RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    after = getrusage(RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return cpu, time.monotonic() - started, after.ru_maxrss * 1024, done


if __name__ == "__main__":
    sys.exit(main())
