# SPDX-License-Identifier: Apache-2.0
"""Private networks of several widths, 784-n-n-n-10 with Gaussian weights: proving and verifying in clear mode, each width in a fresh process.

The box is x +- 6/4096 for n = 1024, and a smaller one for other widths, where the same box need not be proved. With intermediate bounds by
intervals a random network has no positive margin: the rows asked are those that hold, and the work is the same.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from resource import RUSAGE_SELF, getrusage
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "nn"))

import numpy as np
from machine import described, load

from certify.limits import Limits
from certify_zk import prover, verifier
from certify_zk.calibration import calibrate
from certify_zk.policy import Dense, Policy
from certify_zk.statement import Box, Rows, Statement, robust
from certify_zk.witness import Model, Witness, witness

INPUTS, OUTPUTS = 784, 10
TAU = {("crown", 1024): ((), (20,), (19, 25), (19, 24, 25))}
"""Fixed policies; those of other networks are fitted to the box."""
LOOSE = -(1 << 46)


class Clock:
    """CPU seconds by phase, of all threads."""

    def __init__(self) -> None:
        self.phases: dict[str, float] = {}
        self._last, self._start = time.process_time(), time.monotonic()

    def end(self, phase: str) -> None:
        """End a phase."""
        now = time.process_time()
        self.phases[phase] = self.phases.get(phase, 0) + now - self._last
        self._last = now

    @property
    def wall(self) -> float:
        """Wall seconds since the clock was made."""
        return time.monotonic() - self._start


def network(width: int) -> tuple[Model, np.ndarray[Any, Any]]:
    """Return the network and a point."""
    rng, weights, biases = np.random.default_rng(0), [], []
    for before, after in pairwise((INPUTS, width, width, width, OUTPUTS)):
        weights.append(np.rint(rng.normal(0, np.sqrt(2 / before), (after, before)) * 4096).astype(np.int64))
        biases.append(np.rint(rng.normal(0, 0.05, after) * 4096).astype(np.int64))
    return Model(tuple(weights), tuple(biases)), rng.integers(0, 4096, INPUTS)


def question(width: int, mode: str) -> tuple[Policy, Model, Statement]:
    """Return the policy, the network and the statement of a size."""
    model, x = network(width)
    eps = 6 if width == 1024 else 2
    lower, upper = np.maximum(x - eps, 0), np.minimum(x + eps, 4096)
    values = x / 4096
    for k, (weight, bias) in enumerate(zip(model.weights, model.biases, strict=True)):
        values = weight / 4096 @ (np.maximum(values, 0) if k else values) + bias / 4096
    statement = robust((Box(tuple(lower.tolist()), tuple((upper - lower).tolist())),), OUTPUTS, int(values.argmax()))
    layers = tuple(Dense(a, b) for a, b in pairwise((INPUTS, width, width, width, OUTPUTS)))
    policy = Policy(layers, ("crown", *[mode] * 3), TAU.get((mode, width), ((),) * 4))
    if mode == "crown" and (mode, width) not in TAU:
        policy = calibrate(policy, model, [statement], 1)
    if mode == "ibp":
        assert isinstance(statement.asked, Rows)
        loose = replace(statement, asked=Rows(statement.asked.coefficients, (LOOSE,) * (OUTPUTS - 1)))
        found = witness(policy, model, loose)
        threshold = min(1, int(min(min(row) for row in found.margins) * (1 << policy.total_scale)) - 1)
        statement = replace(statement, asked=Rows(statement.asked.coefficients, (threshold,) * (OUTPUTS - 1)))
    return policy, model, statement


def measured(width: int, mode: str) -> dict[str, Any]:
    """Prove and verify, and return what it took."""
    policy, model, statement = question(width, mode)
    clock = Clock()

    class Timed(prover.Answers):
        """Answers that tell the clock where phases end."""

        def roots(self, challenge: Any) -> Any:
            clock.end("commit")
            found = super().roots(challenge)
            clock.end("tree")
            return found

        def sums(self, *rest: Any) -> None:
            if "lookup" not in clock.phases:
                clock.end("lookup")
            super().sums(*rest)

        def batch(self, *rest: Any) -> None:
            clock.end("relations")
            super().batch(*rest)

        def value(self) -> Any:
            found = super().value()
            clock.end("batch")
            return found

    found = witness(policy, model, statement)
    assert isinstance(found, Witness), found
    clock.end("witness")
    committed = prover.commit_model(policy, found.circuit.blocks, found.tables, np.random.default_rng(1).bytes)
    clock.end("model")
    prover.Answers = Timed  # type: ignore[misc]
    given = prover.prove(policy, found.circuit, statement, b"", found.tables, committed, np.random.default_rng(2).bytes)
    clock.end("open")
    wall, peak = clock.wall, getrusage(RUSAGE_SELF).ru_maxrss
    start = time.process_time()
    verifier.verify(policy, committed.root, statement, b"", given, Limits())
    opening = given.opening
    arrays = given.messages, opening.u1, opening.u2, *opening.columns, *opening.salts, *opening.paths
    return {"parameters": sum(weight.size + bias.size for weight, bias in zip(model.weights, model.biases, strict=True)),
            "cells": found.circuit.cells, "margin": float(min(map(min, found.margins))), "phases": clock.phases, "wall": wall, "peak": peak,
            "verify": time.process_time() - start, "bytes": sum(array.nbytes for array in arrays)}


def main() -> None:
    """Print a row for each width and mode."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("widths", nargs="*", type=int, default=[1024])
    parser.add_argument("--mode", action="append", choices=("crown", "ibp"), help="intermediate bounds; both if it is not given")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        print(json.dumps(measured(given.widths[0], given.mode[0])))
        return
    print(described())
    phases = ("witness", "model", "commit", "tree", "lookup", "relations", "batch", "open")
    print(f"{'':12s}{'parameters':>11s}{'cells':>11s}  CPU seconds: " + "".join(f"{phase:>10s}" for phase in phases) +
          f"{'all':>8s}{'wall':>8s}{'peak GiB':>10s}{'verify':>8s}{'MB':>6s}  margin")
    for width in given.widths:
        for mode in given.mode or ("crown", "ibp"):
            done = subprocess.run([sys.executable, __file__, "--one", str(width), "--mode", mode], capture_output=True, text=True, check=True)
            row = json.loads(done.stdout)
            times = "".join(f"{row['phases'][phase]:10.2f}" for phase in phases)
            print(f"{width:5d} {mode:6s}{row['parameters']:11d}{row['cells']:11d}{'':15s}{times}{sum(row['phases'].values()):8.2f}{row['wall']:8.2f}"
                  f"{row['peak'] / 2**20:10.2f}{row['verify']:8.2f}{row['bytes'] / 1e6:6.2f}  {row['margin']:.5f}", flush=True)
    print(load())


if __name__ == "__main__":
    main()
