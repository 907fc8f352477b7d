# SPDX-License-Identifier: Apache-2.0
"""The benchmarks of private networks run, with the smallest networks and without peers."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def printed(script: str, *words: str) -> str:
    """Return what a benchmark prints."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(str(ROOT / folder) for folder in ("", "solvers", "problems", "zk"))}
    done = subprocess.run([sys.executable, str(ROOT / "benchmarks/private" / script), *words], capture_output=True, text=True, check=False,
                          env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["crown", "ibp"])
def test_scaling(mode: str) -> None:
    found = printed("scaling.py", "16", "--mode", mode, "--no-extra", "--cold").splitlines()
    rows = [line.split() for line in found if line.startswith("784-16^3-10")]
    proofs, commitments, hiding = rows
    assert proofs[1] == commitments[1] == "13,274" and proofs[3] == hiding[1] == mode
    with_pads, _, _, without = map(float, hiding[2:6])
    assert without < with_pads <= float(proofs[-1]) + 0.01  # the file holds the argument and its description


@pytest.mark.slow
def test_peers_that_are_not_installed_are_said_to_be() -> None:
    found = printed("peers.py", "12-8-10", "--cold")
    assert "A WHOLE BOX" in found.splitlines()[1] and "not measured here" in found
    assert found.count("not installed") == 2 and "certify, full" in found and "certify, IBP" in found


def test_installation_of_peers_is_told() -> None:
    assert "pip install ezkl" in printed("peers.py", "--how")
