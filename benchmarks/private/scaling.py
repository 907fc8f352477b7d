# SPDX-License-Identifier: Apache-2.0
"""Private networks of several widths, 784-n-n-n-10 with Gaussian weights: committing, proving with zero knowledge, and verifying, all from files.

Each step is a process of its own that runs the command line: `certify commit`, `certify prove`, which checks and writes the certificate, and `certify
verify`, which must not import numba. With bounds of all layers back to the input (crown) the class of a point is proved on its box, x +- 6/4096 for
n = 1024 and a smaller one for other widths. With interval bounds of hidden layers (ibp) a random network has no positive margin: the rows asked, of
`private-linear`, are those that hold, and the work is the same.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise
from math import floor
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "nn"))

import numpy as np
from machine import described, load

UNIT = 4096
DIGITS = Path(__file__).resolve().parents[2] / "examples/private"
PHASES = ("start", "read", "witness", "model", "commit", "tree", "lookup", "relations", "batch", "open", "check")
CHECK = """
import sys
from certify.cli.main import main
try:
    main()
except SystemExit as done:
    assert "numba" not in sys.modules, "the verifier imported numba"
    sys.exit(done.code)
"""
LIMITED = """
import os, resource, sys
resource.setrlimit(resource.RLIMIT_CPU, (int(sys.argv[1]), int(sys.argv[1]) + 5))
os.execv(sys.argv[2], sys.argv[2:])
"""
CHECKS = 3
MEASURES = {"commit": "commit CPU s", "cpu": "prove CPU s", "warm": "warm CPU s", "peak": "peak GiB", "verify": "verify CPU s", "megabytes": "MB"}
LOOSE = -(1 << 46)


@dataclass(frozen=True)
class Case:
    """The sizes of a network's layers, the bounds of its hidden layers, how many boxes are asked about, and the level of the argument in bits.

    `example` is the network of the examples; others have Gaussian weights. `eps` is the radius of the boxes in units of 1/4096.
    """

    sizes: tuple[int, ...]
    mode: str
    boxes: int = 1
    level: int = 100
    example: bool = False
    eps: int = 2

    @property
    def name(self) -> str:
        """The network as it is printed."""
        first, *hidden, last = self.sizes
        return f"{first}-{hidden[0]}^3-{last}" if len(hidden) == 3 and len(set(hidden)) == 1 else "-".join(map(str, self.sizes))

    @property
    def label(self) -> bool:
        """Whether the class of the point is asked, which full bounds prove on one small box."""
        return self.example or (self.mode == "crown" and self.boxes == 1)

    @property
    def words(self) -> list[str]:
        """The claim and the subjects."""
        return ["private-robust" if self.label else "private-linear", "model.commit", "question.vnnlib"]

    @property
    def parameters(self) -> int:
        """The number of weights and biases."""
        return sum(n * m + m for n, m in pairwise(self.sizes))


def wide(width: int, mode: str, boxes: int = 1, level: int = 100) -> Case:
    """Return 784-n-n-n-10."""
    return Case((784, width, width, width, 10), mode, boxes, level, eps=6 if width == 1024 else 2)


DIGITS_CASE = Case((64, 64, 64, 10), "crown", example=True)
EXTRA = (wide(1024, "crown", level=128), wide(1024, "ibp", boxes=20), DIGITS_CASE)
TARGETS: Mapping[Case, Mapping[str, float]] = {
    wide(1024, "crown"): {"commit": 3, "cpu": 15, "verify": 0.5, "megabytes": 3.5, "peak": 3},
    wide(2048, "ibp"): {"cpu": 15, "peak": 3},
    wide(2048, "crown"): {"cpu": 60, "peak": 3},
    wide(1024, "ibp", boxes=20): {"cpu": 8, "verify": 1.5},
    DIGITS_CASE: {"warm": 0.5, "megabytes": 0.7},
}


@dataclass(frozen=True)
class Run:
    """What a process took: CPU and wall seconds, start-up included, and its largest memory in bytes."""

    cpu: float
    wall: float
    peak: int


def run(words: Sequence[str | Path], folder: Path, python: str | Path = sys.executable, seconds: int | None = None,
        environment: Mapping[str, str] | None = None) -> Run:
    """Run a Python process with these words; raises RuntimeError with what it said if it fails, TimeoutError after so many CPU seconds.

    The limit is for each of its processes; a machine that is shared does not count against them, unless a step takes ten times as long.
    """
    if environment is None:
        environment = {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    start = time.monotonic()
    with (folder / "said").open("w+b") as said:
        limited = [] if seconds is None else ["-c", LIMITED, str(seconds), str(python)]
        process = subprocess.Popen([sys.executable if limited else str(python), *limited, *map(str, words)], cwd=folder, stdout=said,
                                   stderr=subprocess.STDOUT, env={**os.environ, **environment}, start_new_session=True)
        usage, status = _waited(process, seconds and 10 * seconds)
        wall = time.monotonic() - start
        said.seek(0)
        text = said.read().decode(errors="replace")
    if status in (None, -signal.SIGXCPU):
        raise TimeoutError(f"not finished after {usage.ru_utime + usage.ru_stime:.0f} CPU seconds, {wall:.0f} s of wall time")
    if status:
        raise RuntimeError(f"{' '.join(map(str, words[:4]))} ended with status {status}: {text[-2000:]}")
    return Run(usage.ru_utime + usage.ru_stime, wall, usage.ru_maxrss * 1024)


def _waited(process: subprocess.Popen[bytes], seconds: float | None) -> tuple[Any, int | None]:
    """Return the usage of a process that we started, that of its children included, and its status, None if its wall time was up."""
    end = time.monotonic() + (seconds or float("inf"))
    asked = False
    while True:
        pid, status, usage = os.wait4(process.pid, os.WNOHANG)
        if pid:
            process.returncode = os.waitstatus_to_exitcode(status)
            return usage, None if asked else process.returncode
        if time.monotonic() > end:
            os.killpg(process.pid, signal.SIGKILL if asked else signal.SIGTERM)  # the group of our own process; mpiexec hands the first one on
            asked, end = True, end + 5
        time.sleep(0.005)


def network(sizes: Sequence[int], points: int = 1, seed: int = 0) -> tuple[list[Any], list[Any], Any]:
    """Return weights and biases in units of 1/4096, and points of the unit cube in the same."""
    rng, weights, biases = np.random.default_rng(seed), [], []
    for before, after in pairwise(sizes):
        weights.append(np.rint(rng.normal(0, np.sqrt(2 / before), (after, before)) * UNIT).astype(np.int64))
        biases.append(np.rint(rng.normal(0, 0.05, after) * UNIT).astype(np.int64))
    return weights, biases, rng.integers(0, UNIT, (points, sizes[0]))


def outputs(weights: Sequence[Any], biases: Sequence[Any], x: Any) -> Any:
    """Return the outputs at a point, in binary64."""
    values = x / UNIT
    for k, (weight, bias) in enumerate(zip(weights, biases, strict=True)):
        values = weight / UNIT @ (np.maximum(values, 0) if k else values) + bias / UNIT
    return values


def decimal(value: int, unit: int = UNIT) -> str:
    """Return value/unit as an exact decimal; the unit is a power of two."""
    return f"{Decimal(value) / unit:f}"


def write_question(folder: Path, points: Any, eps: int, outputs: int, unsafe: Sequence[str]) -> None:
    """Write the property that one of some comparisons of outputs holds in a box around one of the points."""
    lines = [f"(declare-const X_{i} Real)" for i in range(points.shape[1])] + [f"(declare-const Y_{o} Real)" for o in range(outputs)]
    boxes = [[(f"(>= X_{i} {decimal(max(x - eps, 0))})", f"(<= X_{i} {decimal(min(x + eps, UNIT))})") for i, x in enumerate(point)]
             for point in points.tolist()]
    if len(boxes) == 1:
        lines += [f"(assert {end})" for ends in boxes[0] for end in ends]
    else:
        lines.append("(assert (or " + "\n".join(f"(and {' '.join(end for ends in box for end in ends)})" for box in boxes) + "))")
    lines.append(f"(assert (or {' '.join(f'(and {row})' for row in unsafe)}))")
    (folder / "question.vnnlib").write_text("\n".join([*lines, ""]))


def write_network(folder: Path, sizes: Sequence[int], weights: Sequence[Any], biases: Sequence[Any]) -> None:
    """Write model.onnx, with the attributes of Gemm that are written by exporters, and that a peer does not read without."""
    import onnx

    from certify_problems.nn.dense import dense_onnx

    model = onnx.load_from_string(dense_onnx([weight / UNIT for weight in weights], [bias / UNIT for bias in biases], "x".join(map(str, sizes))))
    for node in model.graph.node:
        if node.op_type == "Gemm":
            node.attribute.extend([onnx.helper.make_attribute(name, 1.0) for name in ("alpha", "beta")])
    (folder / "model.onnx").write_bytes(model.SerializeToString(deterministic=True))


def commit(folder: Path) -> Run:
    """Commit to the network in a folder, in a process of its own."""
    return run(["-m", "certify.cli.main", "commit", "model.onnx", "--set", "policy=policy.toml", "--set", "calibrate=rows.npy", "-o",
                "model.commit"], folder)


def prepared(case: Case, folder: Path) -> Run:
    """Write the files of a case and commit, and return what the latter took.

    Other processes do it: what this one holds in memory would count as theirs, whose peak begins with what they are forked from.
    """
    asked = json.dumps([case.sizes, case.mode, case.boxes, case.level, case.example, case.eps])
    run([__file__, "--write", asked], folder)
    taken = commit(folder)
    if not case.example:
        run([__file__, "--ask", asked], folder)
    return taken


def write(case: Case) -> None:
    """Write the network, the policy and the rows to calibrate on to the current directory; of the example also the question."""
    if case.example:
        for name, target in (("digits.onnx", "model.onnx"), ("digits-policy.toml", "policy.toml"), ("digits-calibration.npy", "rows.npy"),
                             ("digits.vnnlib", "question.vnnlib")):
            shutil.copy(DIGITS / name, target)
        return
    weights, biases, points = network(case.sizes, case.boxes)
    write_network(Path(), case.sizes, weights, biases)
    np.save("rows.npy", points / UNIT)
    Path("policy.toml").write_text(f'modes = "{case.mode}"\nlevel = {case.level}\ncalibration_radius = "{case.eps}/{UNIT}"\n')


def ask(case: Case) -> None:
    """Write a question that can be proved to the current directory."""
    weights, biases, points = network(case.sizes, case.boxes)
    label = int(outputs(weights, biases, points[0]).argmax())
    others = [c for c in range(case.sizes[-1]) if c != label]
    unsafe = [f"(<= Y_{label} Y_{c})" for c in others]
    if not case.label:
        below = [floor(margin * UNIT) - 1 for margin in loosest(Path(), points, case.eps, label)]
        unsafe = [f"(<= (- Y_{label} Y_{c}) {decimal(low)})" for c, low in zip(others, below, strict=True)]
    write_question(Path(), points, case.eps, case.sizes[-1], unsafe)


def loosest(folder: Path, points: Any, eps: int, label: int) -> list[Any]:
    """Return the margins over all other classes that can be proved in all boxes together."""
    from certify.limits import Limits
    from certify.readers.commitment import read_commitment
    from certify_zk import secret
    from certify_zk.statement import Box, robust
    from certify_zk.witness import Witness, witness

    policy = read_commitment((folder / "model.commit").read_bytes(), Limits()).policy
    lower, upper = np.maximum(points - eps, 0), np.minimum(points + eps, UNIT)
    boxes = tuple(Box(tuple(low), tuple(width)) for low, width in zip(lower.tolist(), (upper - lower).tolist(), strict=True))
    found = witness(policy, secret.read(folder / "model.secret").model, robust(boxes, policy.size(policy.depth), label, LOOSE))
    assert isinstance(found, Witness), found
    return [min(region[row] for region in found.margins) for row in range(len(found.margins[0]))]


def measured(case: Case, folder: Path) -> dict[str, Any]:
    """Commit, prove and verify, and return what it took."""
    committed = prepared(case, folder)
    return {"parameters": case.parameters, "commit": committed.cpu, "commit_run": committed, "commit_bytes": (folder / "model.commit").stat().st_size,
            "secret_bytes": (folder / "model.secret").stat().st_size, **proved(folder, case.words, twice=case.example)}


def proved(folder: Path, words: Sequence[str], twice: bool = False) -> dict[str, Any]:
    """Prove what was prepared, and verify it in fresh processes; where it is done twice, `warm` is what the second time took."""
    proving = run([__file__, "--prove", *(["--twice"] if twice else []), *words], folder)
    told = json.loads((folder / "phases.json").read_text())
    checks = [run(["-c", CHECK, "verify", "proof.cert", *(f"--subject={word}" for word in words[1:])], folder) for _ in range(CHECKS)]
    check = sorted(checks, key=lambda one: one.cpu)[CHECKS // 2]
    warm = sum(told.get("warm", {}).values())
    return {**told, "cpu": proving.cpu - warm, "wall": proving.wall - told["warm_wall"], "warm_phases": told.get("warm"), "warm": warm,
            "peak": proving.peak / 2**30, "verify": check.cpu, "verify_wall": check.wall,
            "verify_peak": check.peak / 2**30, "megabytes": (folder / "proof.cert").stat().st_size / 1e6}


class Clock:
    """CPU seconds by phase, of all threads."""

    def __init__(self, last: float = 0.0) -> None:
        self.phases: dict[str, float] = {}
        self._last = last

    def end(self, phase: str) -> None:
        """End a phase."""
        now = time.process_time()
        self.phases[phase] = self.phases.get(phase, 0) + now - self._last
        self._last = now

    def after(self, phase: str, work: Callable[..., Any], before: str | None = None) -> Callable[..., Any]:
        """Return the same work, which ends a phase, and where it begins the one before."""
        @functools.wraps(work)
        def timed(*given: Any, **named: Any) -> Any:
            if before is not None:
                self.end(before)
            found = work(*given, **named)
            self.end(phase)
            return found
        return timed


def prove(words: Sequence[str], twice: bool) -> None:
    """Run `certify prove` in this process, and write down its phases and the number of cells."""
    from certify.cli.main import main
    from certify_solvers.private import prover as _  # noqa: F401  (imports belong to the start)
    from certify_zk import owner, prover, witness

    clock, cells = Clock(), 0
    make, commit_to, argue, answers = witness.witness, owner.committed, owner.argue, prover.Answers

    def watched(*given: Any) -> Any:
        nonlocal cells
        found = make(*given)
        cells = found.circuit.cells
        return found

    class Timed(answers):  # type: ignore[valid-type,misc]
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

    found: dict[str, Any] = {}
    for name in ("phases", *(["warm"] if twice else [])):
        witness.witness = clock.after("witness", watched, "read")
        owner.committed = clock.after("model", commit_to)
        owner.argue = clock.after("open", argue)
        prover.Answers = Timed  # type: ignore[misc]
        clock.end("start")
        began = time.monotonic()
        sys.argv = ["certify", "prove", *words, "--set", "secret=model.secret", "--progress", "none", "-o", "proof.cert"]
        try:
            main()
        except SystemExit as done:
            assert not done.code, f"certify prove ended with status {done.code}"
        clock.end("check")
        found[name], clock = clock.phases, Clock(time.process_time())
    Path("phases.json").write_text(json.dumps({**found, "cells": cells, "warm_wall": time.monotonic() - began if twice else 0}))


def bare(words: Sequence[str]) -> None:
    """Prove without pads as well, and write the bytes of an argument's parts and the CPU seconds of both."""
    from certify.limits import Limits
    from certify.rules.argument import encoded
    from certify_solvers.common.prover import Problem
    from certify_solvers.private import prover as private
    from certify_zk import owner, prover, secret
    from certify_zk.witness import Witness, witness

    files = {"commitment": Path(words[1]).read_bytes(), "property": Path(words[2]).read_bytes()}
    given = {"format": "vnnlib-1", "audience": None, "nonce": None, "expires": None}
    problem = Problem(words[0], {}, (), files, given, {}, {"secret": "model.secret"}, Limits())
    commitment, statement, _ = private._asked(problem)
    mine = secret.read(Path("model.secret"))
    found = witness(commitment.policy, mine.model, statement)
    assert isinstance(found, Witness)
    model = owner.committed(commitment.policy, mine.model, mine.commitment_seed)
    told: dict[str, float] = {}
    for name, padded in (("clear", False), ("padded", True)):
        best = float("inf")
        for _ in range(2):  # the first one loads the kernels
            start = time.process_time()
            made = prover.prove(commitment.policy, found.circuit, statement, b"", found.tables, model, np.random.default_rng(2).bytes, padded)
            best = min(best, time.process_time() - start)
        told[f"{name}_cpu"] = best
        if padded:
            arrays = encoded(made)
            told["messages"] = arrays["messages"].nbytes
            told["pads"] = sum(array.nbytes for key, array in arrays.items() if key.startswith("pad_"))
            told["padded"] = sum(array.nbytes for array in arrays.values())
        else:
            opening = made.opening
            told["clear"] = 32 + sum(array.nbytes for array in (made.messages, opening.u1, opening.u2, *opening.columns, *opening.salts,
                                                                *opening.paths))
    Path("bare.json").write_text(json.dumps(told))


def header() -> str:
    """Return the first lines of the table of proofs."""
    phases = "".join(f"{phase:>{_wide(phase)}s}" for phase in PHASES)
    title = ' CPU seconds of proving, start-up included'
    return (f"{'':42s}{title:{len(phases) + 8}s}{'':8s}{'peak':>7s}{'verify':>10s}\n"
            f"{'network':14s}{'parameters':>11s} {'cells':>10s} {'mode':5s}{phases}{'all':>8s}{'wall':>8s}{'GiB':>7s}{'CPU':>10s}{'wall':>7s}"
            f"{'MB':>7s}")


def line(case: Case, row: Mapping[str, Any]) -> str:
    """Return a line of the table of proofs, and one for the second proof of the same process, if there is one."""
    def times(phases: Mapping[str, float]) -> str:
        return "".join(f"{phases.get(phase, 0):{_wide(phase)}.2f}" for phase in PHASES)

    note = "".join([f"   {case.boxes} boxes" if case.boxes > 1 else "", f"   {case.level} bits" if case.level != 100 else ""])
    again = f"\n{'   again, in the same process':42s}{times(row['warm_phases'])}{row['warm']:8.2f}" if row["warm"] else ""
    return (f"{case.name:14s}{row['parameters']:11,d} {row['cells']:10,d} {case.mode:5s}{times(row['phases'])}{row['cpu']:8.2f}{row['wall']:8.2f}"
            f"{row['peak']:7.2f}{row['verify']:10.2f}{row['verify_wall']:7.2f}{row['megabytes']:7.2f}{note}{again}")


def _wide(phase: str) -> int:
    return max(8, len(phase) + 1)


def judged(case: Case, row: Mapping[str, Any]) -> str:
    """Return the targets of a case, each with whether it is met."""
    parts = [f"{MEASURES[key]} {row[key]:.2f} <= {most:g} {'met' if row[key] <= most else 'MISSED'}" for key, most in TARGETS.get(case, {}).items()]
    note = f", {case.boxes} boxes" if case.boxes > 1 else ""
    return f"  {case.name} {case.mode}{note}: {'; '.join(parts)}" if parts else ""


def warm_up() -> None:
    """Compile the kernels of the prover, which are kept on the disk, by a small proof of each level."""
    with tempfile.TemporaryDirectory() as folder:
        for level in (100, 128):
            scratch = Path(folder) / str(level)
            scratch.mkdir()
            measured(wide(16, "crown", level=level), scratch)


def scaling(cases: Iterable[Case], privacy: Sequence[Case]) -> None:
    """Print the tables of proofs, of commitments, and of what pads cost."""
    rows: dict[Case, dict[str, Any]] = {}
    print(header())
    with tempfile.TemporaryDirectory() as scratch:
        for number, case in enumerate(cases):
            folder = Path(scratch) / str(number)
            folder.mkdir()
            row = rows[case] = measured(case, folder)
            print(line(case, row), flush=True)
            if case in privacy:
                run([__file__, "--bare", *case.words], folder)
                row["bare"] = json.loads((folder / "bare.json").read_text())
            shutil.rmtree(folder)
    if told := [text for case, row in rows.items() if (text := judged(case, row))]:
        print("targets:", *told, sep="\n")
    print(f"\n{'commit':14s}{'parameters':>11s} {'':5s}{'CPU s':>8s}{'wall s':>8s}{'peak GiB':>10s}{'commitment bytes':>18s}{'secret MB':>11s}")
    for case, row in rows.items():
        made: Run = row["commit_run"]
        print(f"{case.name:14s}{row['parameters']:11,d} {case.mode:5s}{made.cpu:8.2f}{made.wall:8.2f}{made.peak / 2**30:10.2f}"
              f"{row['commit_bytes']:18,d}{row['secret_bytes'] / 1e6:11.2f}{f'   {case.boxes} rows to calibrate on' if case.boxes > 1 else ''}")
    print(f"\n{'what hiding costs':14s}{'':8s}{'MB with pads':>14s}{'of these pads':>15s}{'messages':>10s}{'without pads':>14s}"
          f"{'CPU s with':>12s}{'without':>9s}   of the argument alone; without pads it hides nothing, and no file is read that way")
    for case, row in rows.items():
        if parts := row.get("bare"):
            sizes = "".join(f"{parts[key] / 1e6:{width}.3f}" for key, width in (("padded", 14), ("pads", 15), ("messages", 10), ("clear", 14)))
            print(f"{case.name:14s}  {case.mode:6s}{sizes}{parts['padded_cpu']:12.2f}{parts['clear_cpu']:9.2f}")


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("widths", nargs="*", default=["256", "512", "1024", "2048"], help="default: %(default)s")
    parser.add_argument("--mode", action="append", choices=("crown", "ibp"), help="bounds of hidden layers; both if it is not given")
    parser.add_argument("--no-extra", action="store_true", help="without the 128-bit level, 20 boxes and the digits")
    parser.add_argument("--no-privacy", action="store_true", help="without the table of what pads cost")
    parser.add_argument("--cold", action="store_true", help="without compiling kernels first")
    for name in ("--prove", "--twice", "--bare", "--write", "--ask"):
        parser.add_argument(name, action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.prove:
        prove(given.widths, given.twice)
    elif given.bare:
        bare(given.widths)
    elif given.write or given.ask:
        sizes, *rest = json.loads(given.widths[0])
        (write if given.write else ask)(Case(tuple(sizes), *rest))
    else:
        print(described(), flush=True)
        if not given.cold:
            warm_up()
        cases = [wide(int(width), mode) for width in given.widths for mode in given.mode or ("crown", "ibp")]
        cases += [] if given.no_extra else EXTRA
        scaling(cases, [] if given.no_privacy else [case for case in cases if case.boxes == 1 and case.level == 100 and max(case.sizes) <= 1024])
        print(load())


if __name__ == "__main__":
    main()
