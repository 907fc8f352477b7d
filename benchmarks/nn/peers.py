# SPDX-License-Identifier: Apache-2.0
"""Side by side with other verifiers of neural networks: the same instances, each tool in a process and an environment of its own, one thread.

Every counterexample of a peer is checked exactly by our own rules; every verdict that contradicts ours is printed with both. A peer whose
environment ENVS/NAME is absent is a column "not installed". With `--results FILE` rows are kept, and only missing ones are run.
All tools run with their default settings (untuned). Exits 1 if a counterexample that our exact check confirms contradicts a proof of ours.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import os
import platform
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import exp, log
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from certify import __version__
from certify.claims import region
from certify.limits import Limits
from certify.readers.network import Dense, Relu
from certify.rules.counterexample import violates
from certify.rules.evaluation import evaluate
from certify.rules.unsafe_set import UnsafeSet

BIN = Path(sys.executable).parent
ADAPTERS = Path(__file__).parent / "peers"
ONE_THREAD = {name: "1" for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")}
LISTED = {"unsat": "proved", "sat": "refuted"}
DECIDED = ("proved", "refuted")
OURS = "certify"
_MOVE = Fraction(1, 1000)  # a counterexample farther outside the region is none
_TORCH = "pip install torch==2.13.0  # a CPU build is enough"


@dataclass(frozen=True)
class Peer:
    """A tool: its adapter, the pip commands of its environment, and what it hands over beside the verdict."""

    adapter: str
    install: tuple[str, ...]
    evidence: str


PEERS: Mapping[str, Peer] = {
    "marabou": Peer("run_marabou.py", ("pip install maraboupy==2.0.0 numpy==1.26.4 onnx==1.16.2 onnxruntime==1.19.2",),
                    "counterexamples; proofs are an option, checked inside the tool and not written"),
    "vibecheck": Peer("run_vibecheck.py", (_TORCH, "pip install vibecheck-nn==1.1.0"), "counterexamples"),
    "neuralsat": Peer("run_neuralsat.py", (_TORCH, "pip install beartype==0.23.1 gurobipy==13.0.3 onnx==1.22.0 onnxruntime==1.32.0 onnxsim==0.8.1 "
                                                   "psutil==7.2.2 sortedcontainers==2.4.0 termcolor==3.3.0 tqdm==4.70.1 scipy==1.17.1 joblib==1.6.0 "
                                                   "coloredlogs==15.0.1 numpy==2.4.6 protobuf==5.29.6",
                                           "pip install --no-deps neuralsat==0.2.17"),
                      "counterexamples; a trace of its reasoning is an option"),
    "auto_lirpa": Peer("run_auto_lirpa.py", (_TORCH, "pip install numpy==2.4.6 appdirs==1.4.4 pyyaml==6.0.3 tqdm==4.70.1 packaging==26.4",
                                             "pip install --no-deps auto-LiRPA==0.3"),
                       "none (a library of bounds: proves or is silent)"),
}
NOT_ON_PYPI = ("nnenum", "alpha-beta-CROWN", "ERAN")
SELECTION: Mapping[str, Sequence[str]] = {
    "acasxu": ("_1_1_ prop_3", "_1_3_ prop_3", "_5_1_ prop_3", "_1_1_ prop_6", "_2_2_ prop_4", "_1_7_ prop_3", "_1_9_ prop_4", "_2_9_ prop_8",
               "_4_5_ prop_10", "_2_5_ prop_3", "_3_3_ prop_3", "_4_1_ prop_4", "_5_5_ prop_4"),
    "test": ("tiny tiny", "small small", "sat prop", "unsat prop"),
    "tllverifybench": ("0_0 8_0", "0_1 8_1", "0_2 8_2", "0_3 8_3"),
    "rl_benchmarks": ("cartpole safe_97", "cartpole unsafe_3.", "cartpole safe_99", "lunarlander unsafe_78", "lunarlander safe_19",
                      "lunarlander safe_49"),
    "reach_prob_density": ("gcas gcas_0.", "gcas gcas_1.", "gcas gcas_3.", "gcas gcas_6.", "robot robot_3.", "vdp vdp_0."),
    "mnist_fc": ("256x2 prop_0_0.03", "256x2 prop_1_0.03", "256x4 prop_0_0.03", "256x4 prop_1_0.03", "256x2 prop_3_0.05",
                 "256x2 prop_9_0.05", "256x4 prop_3_0.05", "256x4 prop_9_0.05"),
    "traps": ("fma32", "absorb32", "boundary", "decimal", "constin"),
}
TRAPS = {"fma32": "refuted", "absorb32": "refuted", "boundary": "refuted", "decimal": "proved", "constin": "refuted"}


@dataclass(frozen=True)
class Instance:
    """An unpacked model and property, and the verdict that is listed for them."""

    folder: str
    name: str
    model: Path
    property: Path
    listed: str


Row = dict[str, Any]


def main() -> int:
    """Run what is missing, print the tables; return 1 if one of our proofs is contradicted by a confirmed counterexample."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, nargs="?", help="the folder that holds verdicts.csv and traps/")
    parser.add_argument("--peers", default=",".join(PEERS), help="comma-separated; default: %(default)s")
    parser.add_argument("--envs", type=Path, default=Path("peers-envs"), help="the folder of the peers' environments; default: %(default)s")
    parser.add_argument("--folders", default=",".join(SELECTION), help="comma-separated; default: %(default)s")
    parser.add_argument("--limit", type=int, default=100, help="at most so many instances of a folder")
    parser.add_argument("--time-limit", type=float, default=20, help="seconds for an instance and a tool; default: %(default)s")
    parser.add_argument("--results", type=Path, help="a file that keeps the rows: only missing ones are run")
    parser.add_argument("--again", default="", help="tools (comma-separated, certify is ours) whose kept rows are run again")
    parser.add_argument("--again-open", action="store_true", help="kept rows without a verdict are run again (at a quieter moment)")
    parser.add_argument("--no-bounds", action="store_true", help="without the table of CROWN passes")
    parser.add_argument("--how", action="store_true", help="print the commands that make the peers' environments, and stop")
    options = parser.parse_args()
    if options.how:
        return how()
    if options.data is None:
        parser.error("the folder of the instances is missing")
    tools = [OURS, *(name for name in options.peers.split(",") if name)]
    if unknown := set(tools) - set(PEERS) - {OURS}:
        parser.error(f"no such peer: {', '.join(sorted(unknown))}")
    if unknown := set(options.folders.split(",")) - set(SELECTION):
        parser.error(f"no such folder: {', '.join(sorted(unknown))}")
    kept: dict[str, Any] = json.loads(options.results.read_text()) if options.results and options.results.exists() else {}
    again = [f"{tool} " for tool in options.again.split(",") if tool]
    kept = {key: row for key, row in kept.items() if not key.startswith(tuple(again))
            and not (options.again_open and row.get("verdict") in ("time-out", "unknown", "error"))}
    with tempfile.TemporaryDirectory() as scratch:
        bench = Bench(options.envs, Path(scratch), options.time_limit, kept, options.results)
        instances = [one for folder in options.folders.split(",") for one in select(options.data, folder, Path(scratch), options.limit)]
        rows = {tool: {one: bench.row(tool, one) for one in instances} for tool in tools if bench.installed(tool)}
        starts = {tool: bench.start(tool) for tool in rows}
        told = header(kept, starts, options.time_limit)
        told += instance_table(tools, [one for one in instances if one.folder != "traps"], rows, starts)
        told += trap_table(tools, [one for one in instances if one.folder == "traps"], rows)
        if not options.no_bounds and "mnist_fc" in options.folders.split(","):
            told += bounds_table(bench, options.data)
        found, wrong = contradictions(instances, rows)
    print("\n".join([*told, *found, f"contradictions: {len(found)}, of them against a proof of ours: {wrong}"]))
    return 1 if wrong else 0


def how() -> int:
    """Print the commands that make the environments."""
    for name, peer in PEERS.items():
        print(f"python3.11 -m venv ENVS/{name}")
        for command in peer.install:
            print(f"ENVS/{name}/bin/{command}")
    print(f"# no package on PyPI, not run: {', '.join(NOT_ON_PYPI)}")
    return 0


def select(data: Path, folder: str, scratch: Path, limit: int) -> Iterator[Instance]:
    """Yield the selected instances of a folder, unpacked into `scratch`."""
    listed: list[tuple[str, str, str]]
    if folder == "traps":
        listed = [(f"{name}.onnx", f"{name}.vnnlib", verdict) for name, verdict in TRAPS.items()]
    else:
        with (data / "verdicts.csv").open(newline="") as rows:
            listed = [(row["onnx"], row["vnnlib"], LISTED[row["verdict"]]) for row in csv.DictReader(rows) if row["folder"] == folder]
    for pattern in SELECTION[folder][:limit]:
        in_model, _, in_property = pattern.partition(" ")
        model, text, verdict = next(row for row in listed if in_model in row[0] and in_property in row[1])
        name = pattern.replace("_", " ").strip(" .").replace("  ", " ")
        yield Instance(folder, name, unpacked(data / folder / model, scratch), unpacked(data / folder / text, scratch), verdict)


def unpacked(path: Path, scratch: Path) -> Path:
    """Return a file without its `.gz`, below `scratch`."""
    target = scratch / path.parent.parent.name / path.name.removesuffix(".gz")
    target.parent.mkdir(exist_ok=True)
    target.write_bytes(gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes())
    return target


@dataclass(frozen=True)
class Ran:
    """A finished process: CPU and wall seconds, exit code (None: killed at the limit), what it printed."""

    cpu: float
    wall: float
    code: int | None
    out: str
    error: str


def run(command: Sequence[str | Path], seconds: float) -> Ran:
    """Run a command with one thread, at most `seconds` long, in a process group of its own."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as error:
        started = time.monotonic()
        process = subprocess.Popen([str(word) for word in command], stdout=out, stderr=error, env={**os.environ, **ONE_THREAD},
                                   start_new_session=True)
        late = threading.Event()

        def stop() -> None:
            late.set()
            os.killpg(process.pid, signal.SIGKILL)

        timer = threading.Timer(seconds, stop)
        timer.start()
        _, status, usage = os.wait4(process.pid, 0)
        timer.cancel()
        wall = time.monotonic() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        error.seek(0)
        return Ran(usage.ru_utime + usage.ru_stime, wall, None if late.is_set() else process.returncode, out.read(), error.read())


class Bench:
    """Runs tools on instances, and keeps what was found."""

    def __init__(self, envs: Path, scratch: Path, seconds: float, kept: dict[str, Any], results: Path | None) -> None:
        self.envs, self.scratch, self.seconds, self.kept, self.results = envs, scratch, seconds, kept, results

    def installed(self, tool: str) -> bool:
        """Return whether the tool has an environment, or kept rows."""
        return tool == OURS or self._python(tool).exists() or any(key.startswith(f"{tool} ") for key in self.kept)

    def start(self, tool: str) -> Row:
        """Return the tool's version and its start-up: importing it and exiting, the median of three."""
        return self._once(f"{tool} start", lambda: self._start(tool))

    def row(self, tool: str, one: Instance) -> Row:
        """Return what a tool says of an instance."""
        key = f"{tool} {self.seconds:g} {one.folder} {one.model.name} {one.property.name}"
        return self._once(key, lambda: self._ours(one) if tool == OURS else self._theirs(tool, one))

    def bounds(self, name: str, python: Path, command: Sequence[str | Path]) -> Row | None:
        """Return the bounds that a command writes to {}, or None where its environment is absent."""
        target = self.scratch / "bounds.json"

        def measure() -> Row:
            ran = run([python, *(target if word == "{}" else word for word in command)], 170)
            if ran.code != 0 and python == Path(sys.executable):
                raise RuntimeError(f"our own pass fails: {_last(ran.error)}")
            return json.loads(target.read_text()) if ran.code == 0 else {"error": _last(ran.error)}

        return self._once(f"{name} bounds", measure) if python.exists() or f"{name} bounds" in self.kept else None

    def _once(self, key: str, measure: Callable[[], Row]) -> Row:
        if key not in self.kept:
            load = os.getloadavg()[0]
            self.kept[key] = {**measure(), "load": load}
            if self.results:
                self.results.write_text(json.dumps(self.kept, indent=1))
        found: Row = self.kept[key]
        return found

    def _python(self, tool: str) -> Path:
        return self.envs.absolute() / tool / "bin" / "python"

    def _start(self, tool: str) -> Row:
        words = "import certify.cli.prove, certify_solvers.crown.prover, certify_solvers.common.emit"
        command: list[str | Path] = [sys.executable, "-P", "-c", words]
        if tool != OURS:
            command = [self._python(tool), ADAPTERS / PEERS[tool].adapter, "start"]
        ran = [run(command, 60) for _ in range(3)]
        if any(one.code != 0 for one in ran):
            return {"version": f"does not start: {_last(ran[0].error)}", "cpu": 0.0, "wall": 0.0}
        return {"version": __version__ if tool == OURS else ran[0].out.split()[-1], "cpu": median(one.cpu for one in ran),
                "wall": median(one.wall for one in ran)}

    def _ours(self, one: Instance) -> Row:
        target = self.scratch / "a.cert"
        ran = run([BIN / "certify", "prove", "region", one.model, one.property, "-o", target, "--time-limit", f"{self.seconds:g}s", "--json"],
                  2 * self.seconds + 20)
        if ran.code is None:
            return {"verdict": "time-out", "cpu": ran.cpu, "wall": ran.wall}
        told = json.loads(ran.out)
        row = {"verdict": told["verdict"], "cpu": ran.cpu, "wall": ran.wall}
        if told["verdict"] in DECIDED:
            path = Path(told["certificate"])
            checked = run([BIN / "certify-check", path, "--seconds=600", f"--subject={one.model}", f"--subject={one.property}"], 600)
            if checked.code != 0:
                raise RuntimeError(f"a certificate of {one.name} fails its check: {checked.out}")
            row |= {"check": checked.cpu, "bytes": path.stat().st_size}
            path.unlink()
        return row

    def _theirs(self, tool: str, one: Instance) -> Row:
        unsafe = problem(one)
        arrays, target = self.scratch / "problem.npz", self.scratch / "answer.json"
        np.savez(arrays, **as_arrays(unsafe))
        target.unlink(missing_ok=True)
        ran = run([self._python(tool), ADAPTERS / PEERS[tool].adapter, one.model, one.property, f"{self.seconds:g}", arrays, target],
                  1.5 * self.seconds + 20)
        if not target.exists():
            return {"verdict": "time-out" if ran.code is None else "error", "cpu": ran.cpu, "wall": ran.wall, "error": _last(ran.error)}
        told = json.loads(target.read_text())
        row = {"verdict": told["verdict"], "cpu": ran.cpu, "wall": ran.wall}
        if told["verdict"] == "refuted":
            row["exactly"] = confirm(unsafe, told["point"])
        return row


def problem(one: Instance) -> UnsafeSet:
    """Return the instance as our checker reads it."""
    files = {"model": one.model.read_bytes(), "property": one.property.read_bytes()}
    return region.problem({"semantics": "real", "format": "vnnlib-1"}, files, Limits())


def as_arrays(unsafe: UnsafeSet) -> dict[str, Any]:
    """Return the instance rounded to binary64 arrays, for tools that read no files: rows are lower-bounded, 0 is the threshold."""
    made: dict[str, Any] = {"layers": np.array(["relu" if isinstance(layer, Relu) else "linear" for layer in unsafe.network.layers])}
    for index, layer in enumerate(unsafe.network.layers):
        if not isinstance(layer, Relu):
            made[f"bias{index}"] = layer.bias
            made[f"weight{index}"] = layer.weight if isinstance(layer, Dense) else layer.sign * np.eye(layer.size)
    listed = [(part, conjunct, row) for part, held in enumerate(unsafe.parts) for conjunct, rows in enumerate(held.conjuncts) for row in rows]
    made["lower"] = np.array([[float(value) for value in part.lower] for part in unsafe.parts])
    made["upper"] = np.array([[float(value) for value in part.upper] for part in unsafe.parts])
    made["rows"] = np.array([[float(row.outputs.get(k, 0)) for k in range(unsafe.network.outputs)] for _, _, row in listed])
    made["constant"] = np.array([float(row.constant) for _, _, row in listed])
    made["of_inputs"] = np.array([bool(row.inputs) for _, _, row in listed])
    made["part"], made["conjunct"] = (np.array([entry[column] for entry in listed]) for column in (0, 1))
    return made


def confirm(unsafe: UnsafeSet, numbers: Sequence[float] | None) -> str:
    """Return what exact arithmetic says of a peer's counterexample: confirmed, confirmed once moved into the region, or refused."""
    if numbers is None or len(numbers) != unsafe.network.inputs:
        return "refused: no point was given"
    x = tuple(map(Fraction, numbers))
    tried = []
    for part in unsafe.parts:
        moved = tuple(min(max(v, a), b) for a, v, b in zip(part.lower, x, part.upper, strict=True))
        y = evaluate(unsafe.network, moved, Limits())
        hit = part.holds_input(moved) and any(violates(conjunct, moved, y) for conjunct in part.conjuncts)
        miss = min(max((row.value(moved, y) for row in conjunct), default=Fraction(0)) for conjunct in part.conjuncts)
        tried.append((max(abs(v - w) for v, w in zip(x, moved, strict=True)), not hit, miss))
    hits = [distance for distance, missed, _ in tried if not missed]
    if hits and min(hits) == 0:
        return "confirmed"
    if hits and min(hits) <= _MOVE:
        return f"moved by {float(min(hits)):.1e}, then confirmed"
    distance, _, miss = min(tried)
    return f"refused: {float(distance):.1e} outside the region, and once moved into it it misses the unsafe set by {float(miss):.1e}"


def _last(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1][:150] if lines else ""


def header(kept: Mapping[str, Any], starts: Mapping[str, Row], seconds: float) -> list[str]:
    """Return the lines about the machine, the versions and the start-up of each tool."""
    loads = [row["load"] for row in kept.values()]
    lines = [f"{os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}, numpy {np.__version__}, one thread a tool, "
             f"limit {seconds:g} s an instance; load average {min(loads):.1f} to {max(loads):.1f} (median {median(loads):.1f}) when runs began", "",
             f"{'tool':18s} {'version':12s} {'start-up CPU':>12s} {'wall':>6s}   evidence"]
    for tool, start in starts.items():
        evidence = "a certificate, checked by certify-check in another process" if tool == OURS else PEERS[tool].evidence
        lines.append(f"{tool:18s} {start['version']:12s} {start['cpu']:11.2f}s {start['wall']:5.2f}s   {evidence}")
    lines += [f"{name:18s} not installed" for name in PEERS if name not in starts]
    return [*lines, *(f"{name:18s} not installed (no package on PyPI)" for name in NOT_ON_PYPI), ""]


def _cell(row: Row | None) -> str:
    if row is None:
        return "not installed"
    return f"{row['verdict']}{_mark(row)} {row['cpu']:.2f}"


def _mark(row: Row) -> str:
    return {"c": "+", "m": "~", "r": "!", "": ""}[row.get("exactly", "")[:1]]


def instance_table(tools: Sequence[str], instances: Sequence[Instance], rows: Mapping[str, Mapping[Instance, Row]],
                   starts: Mapping[str, Row]) -> list[str]:
    """Return table (a): verdict and CPU seconds by instance and tool, then totals and ratios."""
    if not instances:
        return []
    lines = ["(a) verdict and CPU seconds, start-up included. A peer's counterexample: + confirmed exactly, ~ confirmed once moved into the "
             "region, ! refused.",
             f"{'instance':46s} {'listed':8s} {'check':>6s} {'bytes':>6s}" + "".join(f"  {tool:16s}" for tool in tools)]
    for one in instances:
        ours = rows[OURS][one]
        lines.append(f"{one.folder + ' ' + one.name:46s} {one.listed:8s} {ours.get('check', 0):6.2f} {ours.get('bytes', 0):6d}"
                     + "".join(f"  {_cell(rows[tool][one] if tool in rows else None):16s}" for tool in tools))
    for name, figure in (("decided", lambda held, _: f"{len(held)} of {len(instances)}"),
                         ("contradicting the listed verdict", lambda held, tool: str(sum(rows[tool][one]["verdict"] != one.listed for one in held))),
                         ("CPU seconds of those decided", lambda held, tool: f"{sum(rows[tool][one]['cpu'] for one in held):.1f}"),
                         ("all CPU seconds", lambda _, tool: f"{sum(rows[tool][one]['cpu'] for one in instances):.1f}")):
        cells = [figure([one for one in instances if rows[tool][one]["verdict"] in DECIDED], tool) if tool in rows else "" for tool in tools]
        lines.append(f"{name:69s}" + "".join(f"  {cell:16s}" for cell in cells))
    lines += ["", "CPU ours / peer, geometric mean over the instances that both decide rightly; without start-up: over those of them "
              "(number in brackets) that take one of the two 0.1 s beyond its start-up",
              f"{'peer':10s} {'both':>5s} {'with start-up':>14s} {'and certify-check':>18s} {'without start-up':>22s} {'largest with':>12s}"]
    for tool in tools[1:]:
        both = [one for one in instances if tool in rows and {rows[OURS][one]["verdict"], rows[tool][one]["verdict"]} == {one.listed}]
        if not both:
            continue
        pairs = [(rows[OURS][one]["cpu"], rows[tool][one]["cpu"]) for one in both]
        net = [tuple(max(cpu - starts[name]["cpu"], 0.02) for name, cpu in zip((OURS, tool), pair, strict=True)) for pair in pairs]
        long = [pair for pair in net if max(pair) >= 0.1]
        with_check = [(ours + rows[OURS][one]["check"], theirs) for one, (ours, theirs) in zip(both, pairs, strict=True)]
        worst = max(both, key=lambda one: rows[OURS][one]["cpu"] / rows[tool][one]["cpu"])
        lines.append(f"{tool:10s} {len(both):5d} {_ratio(pairs):14.2f} {_ratio(with_check):18.2f} {_ratio(long):17.2f} ({len(long):2d}) "
                     f"{rows[OURS][worst]['cpu'] / rows[tool][worst]['cpu']:12.2f}  {worst.folder} {worst.name}")
    lines.append("")
    for tool in tools[1:]:
        for one in instances if tool in rows else ():
            row = rows[tool][one]
            if row.get("exactly", "confirmed") != "confirmed" or row["verdict"] == "error":
                lines.append(f"{tool}, {one.folder} {one.name}: {row.get('exactly') or row['error']}")
    return [*lines, ""]


def _ratio(pairs: Sequence[tuple[float, ...]]) -> float:
    return exp(sum(log(ours / theirs) for ours, theirs in pairs) / len(pairs)) if pairs else float("nan")


def trap_table(tools: Sequence[str], traps: Sequence[Instance], rows: Mapping[str, Mapping[Instance, Row]]) -> list[str]:
    """Return table (c): what each tool says of each trap, against the right answer."""
    if not traps:
        return []
    lines = ["(c) traps: the verdict, and whether it is right", f"{'trap':12s} {'right':9s}" + "".join(f"  {tool:18s}" for tool in tools)]
    for one in traps:
        cells = []
        for tool in tools:
            row = rows[tool][one] if tool in rows else {"verdict": "not installed"}
            right = f" {'right' if row['verdict'] == one.listed else 'WRONG'}" if row["verdict"] in DECIDED else ""
            cells.append(f"{row['verdict']}{_mark(row)}{right}")
        lines.append(f"{one.name:12s} {one.listed:9s}" + "".join(f"  {cell:18s}" for cell in cells))
    return [*lines, ""]


def bounds_table(bench: Bench, data: Path) -> list[str]:
    """Return table (b): one CROWN pass of auto_LiRPA in float64 and float32, of our prover and of our checker, on mnist_fc with eps 0.03."""
    with (data / "verdicts.csv").open(newline="") as rows:
        listed = [(row["onnx"], row["vnnlib"]) for row in csv.DictReader(rows)
                  if row["folder"] == "mnist_fc" and row["vnnlib"].endswith("_0.03.vnnlib.gz")]
    lines = ["(b) one CROWN pass over mnist_fc, eps 0.03: CPU seconds of the fastest of three passes, median over the images",
             f"{'network':8s} {'tool':38s} {'CPU':>8s} {'mean bound':>11s} {'images proved':>14s} "
             f"{'bound minus our prover: least':>30s} {'mean':>9s} {'most':>9s}"]
    for network in ("256x2", "256x4"):
        instances = [Instance("mnist_fc", text, unpacked(data / "mnist_fc" / model, bench.scratch),
                              unpacked(data / "mnist_fc" / text, bench.scratch), "") for model, text in listed if network in model]
        paths = []
        for index, one in enumerate(instances):
            paths.append(bench.scratch / f"bounds{index}.npz")
            np.savez(paths[-1], **as_arrays(problem(one)))
        files = [path for one in instances for path in (one.model, one.property)]
        base: Any = None
        for name, env, words in _passes(files, paths):
            python = Path(sys.executable) if env == OURS else bench.envs.absolute() / env / "bin" / "python"
            found = bench.bounds(f"{env} {name} {network}", python, words)
            if found is None or "error" in found:
                lines.append(f"{network:8s} {name:38s} {'not installed' if found is None else found['error']}")
                continue
            lower = np.array([one["lower"] for one in found["problems"]])
            base = lower if base is None else base
            seconds = median(one["seconds"] for one in found["problems"])
            lines.append(f"{network:8s} {name + ', ' + found['version']:38s} {seconds:7.4f}s {lower.mean():11.5f} "
                         f"{int((lower > 0).all(axis=1).sum()):6d} of {len(lower):4d} {(lower - base).min():30.1e} "
                         f"{(lower - base).mean():9.1e} {(lower - base).max():9.1e}")
    return [*lines, ""]


def _passes(files: Sequence[Path], paths: Sequence[Path]) -> Iterator[tuple[str, str, list[str | Path]]]:
    """Yield (name, environment, command) of each pass; ours first, the others are compared with it."""
    for which, name in (("kernel", "certify prover"), ("checker", "certify checker"), ("blas", "certify checker, BLAS allowed")):
        yield name, OURS, [ADAPTERS / "run_certify_bounds.py", which, "{}", *files]
    for env in ("auto_lirpa", "neuralsat"):
        for dtype in ("float64", "float32"):
            yield f"auto_LiRPA {dtype}", env, [ADAPTERS / "run_auto_lirpa.py", "bounds", dtype, "{}", *paths]


def contradictions(instances: Sequence[Instance], rows: Mapping[str, Mapping[Instance, Row]]) -> tuple[list[str], int]:
    """Return a line for every contradiction between a peer and us or the listed verdict, and how many are against a proof of ours."""
    found, wrong = [], 0
    for tool, one in ((tool, one) for tool in rows for one in instances):
        theirs, ours = rows[tool][one]["verdict"], rows[OURS][one]["verdict"]
        if theirs not in DECIDED:
            continue
        if tool != OURS and ours in DECIDED and theirs != ours:
            exactly = rows[tool][one].get("exactly", "it gives no evidence")
            against = theirs == "refuted" and not exactly.startswith("refused")
            wrong += against
            found.append(f"CONTRADICTION {one.folder} {one.name}: {tool} says {theirs} ({exactly}); "
                         f"ours is {ours}, with a certificate that was checked" + (": OUR PROOF IS WRONG" if against else ""))
        elif theirs != one.listed:
            found.append(f"CONTRADICTION {one.folder} {one.name}: {tool} says {theirs}, listed is {one.listed}")
    return found, wrong


if __name__ == "__main__":
    sys.exit(main())
