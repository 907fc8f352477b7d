# SPDX-License-Identifier: Apache-2.0
"""One CROWN pass of the checker, in each arithmetic, beside the prover's plain float64 pass and auto_LiRPA's, over the same rows.

A pass is all intermediate bounds and then the bounds of the rows, with default slopes and no splits; what is made once a network or a
property (weights taken apart, rows as arrays) is not timed. Passes of one image are interleaved, and the fastest of the repeats counts.
auto_LiRPA runs in an environment of its own (`peers.py --how`), with one thread; without that environment its rows are left out.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from statistics import median
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # numpy is not imported yet

import numpy as np
from machine import described, load
from peers import ADAPTERS, as_arrays, run, unpacked

from certify.claims import region, robust
from certify.limits import Limits
from certify.rules.fixed_point import FixedPoint
from certify.rules.float32 import Rounding
from certify.rules.relaxation import Relaxation
from certify.rules.unsafe_set import UnsafeSet
from certify_solvers.crown import kernel
from certify_solvers.crown.decide import matrix

Pass = Callable[[], Any]
_WORK = 1 << 62


def main() -> int:
    """Measure and print a table for each network."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, help="the folder that holds mnist_fc and digits")
    parser.add_argument("--envs", type=Path, default=Path("peers-envs"), help="the folder of the peers' environments; default: %(default)s")
    parser.add_argument("--images", type=int, default=5, help="images a network; default: %(default)s")
    parser.add_argument("--repeats", type=int, default=15, help="passes an image; integers take two; default: %(default)s")
    options = parser.parse_args()
    print(described())
    print(f"CPU seconds: the fastest of {options.repeats} passes an image, median over {options.images} images; ratios are medians of the images'")
    with tempfile.TemporaryDirectory() as scratch:
        networks = {f"mnist_fc {net}, eps 0.03": mnist(options.data, net, options.images, Path(scratch)) for net in ("256x2", "256x4")}
        networks["digits 48x32, radius 1/16"] = digits(options.data, options.images)
        for name, problems in networks.items():
            table(name, problems, options.repeats, options.envs.absolute(), Path(scratch))
    print(load())
    return 0


def mnist(data: Path, network: str, count: int, scratch: Path) -> list[UnsafeSet]:
    """Return the first instances of a network of mnist_fc."""
    model = unpacked(next((data / "mnist_fc" / "onnx").glob(f"*{network}*")), scratch).read_bytes()
    texts = [unpacked(next((data / "mnist_fc" / "vnnlib").glob(f"prop_{k}_0.03.vnnlib*")), scratch).read_bytes() for k in range(count)]
    return [region.problem({"semantics": "real", "format": "vnnlib-1"}, {"model": model, "property": text}, Limits()) for text in texts]


def digits(data: Path, count: int) -> list[UnsafeSet]:
    """Return the first rows of digits: pixels scaled to [0, 1], radius 1/16."""
    files = {role: (data / "digits" / name).read_bytes()
             for role, name in (("model", "digits_48x32.onnx"), ("points", "images.npy"), ("labels", "labels.npy"))}
    labels = np.load(data / "digits" / "labels.npy")
    given = {"norm": "linf", "radius": Fraction(1, 16), "radius_unit": "scaled", "clip": (Fraction(0), Fraction(1)), "scale": Fraction(1, 16),
             "subtract": Fraction(0), "divide": Fraction(1), "semantics": "real"}
    return [robust.problem({**given, "row": row, "label": int(labels[row])}, files, Limits()) for row in range(count)]


def plain(unsafe: UnsafeSet) -> Pass:
    """Return one pass of the prover's kernel, in float64 and rounded nowhere on purpose."""
    network, part = unsafe.network, unsafe.parts[0]
    rows = [row for conjunct in part.conjuncts for row in conjunct]
    outputs, constant = matrix([row.outputs for row in rows], network.outputs), np.array([float(row.constant) for row in rows])
    owner = np.zeros(len(rows), np.int64)
    low, high = (np.array([float(v) for v in end])[None] for end in (part.lower, part.upper))

    def bound() -> Any:
        return kernel.backward(network, len(network.layers), outputs, constant, owner, kernel.propagate(network, low, high), low, high)[0]

    return bound


def rigorous(unsafe: UnsafeSet, rule: Any) -> Pass:
    """Return one pass of a rule of the checker; bounds in floats."""
    part = unsafe.parts[0]
    rows = [rule.specify(((row, Fraction(1)),)) for conjunct in part.conjuncts for row in conjunct]
    owner = np.zeros(len(rows), np.int64)
    box = [end[None] for end in rule.start(part)]

    def bound() -> Any:
        return rule.bound(rows, owner, rule.propagate(*box, None), *box)

    return bound


def table(name: str, problems: Sequence[UnsafeSet], repeats: int, envs: Path, scratch: Path) -> None:
    """Print the table of one network."""
    network = problems[0].network
    rounding = Rounding(network)

    def limits(blas: bool = False) -> Limits:
        return Limits(work=_WORK, blas=blas)

    rules: dict[str, Any] = {
        "checker, real": Relaxation(network, limits()), "checker, real, BLAS": Relaxation(network, limits(True)),
        "checker, exec32": Relaxation(network, limits(), None, rounding), "checker, exec32, BLAS": Relaxation(network, limits(True), None, rounding),
        "exact-int, 64 bits": FixedPoint(network, limits(), 64), "exact-int, 128 bits": FixedPoint(network, limits(), 128)}
    seconds: dict[str, list[float]] = {}
    lower: dict[str, list[Any]] = {}
    for unsafe in problems:
        passes = {"prover, plain float64": plain(unsafe), **{key: rigorous(unsafe, rule) for key, rule in rules.items()}}
        taken: dict[str, list[float]] = {key: [] for key in passes}
        for repeat in range(repeats + 1):
            for key, one in passes.items():
                if repeat > 1 and key.startswith("exact-int"):
                    continue
                started = time.process_time()
                found = one()
                if repeat:  # the first is a warm-up
                    taken[key].append(time.process_time() - started)
                else:
                    lower.setdefault(key, []).append(np.array([float(v) for v in found]) / float(rules[key].unit if key in rules else 1))
        for key, times in taken.items():
            seconds.setdefault(key, []).append(min(times))
    for key, env, dtype in (("auto_LiRPA float64", "auto_lirpa", "float64"), ("auto_LiRPA float32", "auto_lirpa", "float32")):
        their = theirs(envs / env / "bin" / "python", dtype, problems, scratch)
        if their is not None:
            seconds[key], lower[key] = their
    base, lirpa = seconds["prover, plain float64"], seconds.get("auto_LiRPA float64")
    print(f"\n{name}\n{'pass':24s} {'CPU':>10s} {'/ plain':>8s} {'/ auto_LiRPA 64':>16s} {'/ real':>7s} {'smallest margin':>16s} "
          f"{'most lost to plain':>19s}")
    for key, times in seconds.items():
        against = f"{ratio(times, lirpa):16.2f}" if lirpa else f"{'':16s}"
        lost = max(float((a - b).max()) for a, b in zip(lower["prover, plain float64"], lower[key], strict=True))
        print(f"{key:24s} {median(times):9.5f}s {ratio(times, base):8.2f} {against} {ratio(times, seconds['checker, real']):7.2f} "
              f"{min(float(one.min()) for one in lower[key]):16.8f} {lost:19.1e}", flush=True)


def ratio(ours: Sequence[float], theirs: Sequence[float]) -> float:
    """Return the median of the images' ratios."""
    return median(a / b for a, b in zip(ours, theirs, strict=True))


def theirs(python: Path, dtype: str, problems: Sequence[UnsafeSet], scratch: Path) -> tuple[list[float], list[Any]] | None:
    """Return what auto_LiRPA takes for each problem, the fastest of two runs of four passes, and its bounds."""
    if not python.exists():
        return None
    paths = [scratch / f"pass{index}.npz" for index in range(len(problems))]
    for path, unsafe in zip(paths, problems, strict=True):
        np.savez(path, **as_arrays(unsafe))
    found = []
    for _ in range(2):
        ran = run([python, ADAPTERS / "run_auto_lirpa.py", "bounds", dtype, scratch / "bounds.json", *paths], 170)
        if ran.code != 0:
            print(f"auto_LiRPA {dtype} fails: {ran.error.strip().splitlines()[-1] if ran.error.strip() else ran.code}")
            return None
        found.append(json.loads((scratch / "bounds.json").read_text())["problems"])
    return ([min(one["seconds"] for one in images) for images in zip(*found, strict=True)], [np.array(one["lower"]) for one in found[0]])


if __name__ == "__main__":
    sys.exit(main())
