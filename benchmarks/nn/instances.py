# SPDX-License-Identifier: Apache-2.0
"""Prove or refute every instance of a folder with a verdicts.csv (folder,onnx,vnnlib,timeout_s,verdict,...), each in its own process.

Every certificate is checked again from its file by `certify-check`, in a new process. Prints a table by folder, and every
contradiction with the listed verdicts; exits 1 if there is one. On a machine shared with others, `--cpu` makes the time limit one of CPU seconds.
"""

from __future__ import annotations

import argparse
import csv
import json
import re
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage

sys.path[:0] = [str(Path(__file__).resolve().parent)]  # also where this module is imported

from machine import described, load  # noqa: E402

_TOLD = {"unsat": "proved", "sat": "refuted"}
BIN = Path(sys.executable).parent
_CPU = "import time; time.monotonic = time.process_time; from certify.cli.main import main; main()"


def main() -> int:
    """Run the instances and print the table; return 1 if a verdict of ours contradicts a listed one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, help="the folder that holds verdicts.csv")
    parser.add_argument("--folders", default="", help="comma-separated; default: all")
    parser.add_argument("--time-limit", default="60s", help="for proving an instance")
    parser.add_argument("--cpu", action="store_true", help="the limit is of CPU seconds, not of wall time")
    parser.add_argument("--match", default="", help="a regular expression: only instances where it is found in 'ONNX VNNLIB', the file names")
    parser.add_argument("--list", action="store_true", help="print every instance")
    options = parser.parse_args()
    wanted = {name for name in options.folders.split(",") if name}
    table: dict[str, Counter[str]] = defaultdict(Counter)
    seconds: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
    contradictions = 0
    print(described(), flush=True)
    with tempfile.TemporaryDirectory() as scratch, (options.data / "verdicts.csv").open(newline="") as rows:
        for row in csv.DictReader(rows):
            if (wanted and row["folder"] not in wanted) or not re.search(options.match, f"{row['onnx']} {row['vnnlib']}"):
                continue
            files = [options.data / row["folder"] / row[key] for key in ("onnx", "vnnlib")]
            word, prove, check, code = instance(files, Path(scratch) / "a.cert", options.time_limit, cpu=options.cpu)
            net = f"{row['folder']} {files[0].name.removesuffix('.onnx.gz')}" if row["folder"] == "mnist_fc" else row["folder"]
            table[net][f"{word} ({row['verdict']})"] += 1
            seconds[net][0] += prove
            seconds[net][1] += check
            if word in ("proved", "refuted") and word != _TOLD[row["verdict"]]:
                contradictions += 1
                print(f"CONTRADICTION {row['folder']} {row['onnx']} {row['vnnlib']}: {word}, listed {row['verdict']}")
            if options.list:
                names = f"{row['folder']:20s} {row['onnx'][5:45]:40s} {row['vnnlib'][7:40]:33s}"
                print(f"{names} {row['verdict']:6s} {word:9s} {code:16s} {prove:6.2f} {check:6.2f}", flush=True)
    print(f"{'instances':32s} {'ours (listed)':60s} {'CPU prove':>10s} {'CPU check':>10s}")
    for net, counts in table.items():
        words = ", ".join(f"{count} {word}" for word, count in sorted(counts.items()))
        print(f"{net:32s} {words:60s} {seconds[net][0]:9.1f}s {seconds[net][1]:9.1f}s")
    print(f"contradictions: {contradictions}")
    print(load())
    return 1 if contradictions else 0


def instance(files: list[Path], target: Path, limit: str = "60s", *settings: str, cpu: bool = False) -> tuple[str, float, float, str]:
    """Return (word, CPU seconds to prove, CPU seconds to check, code) of one instance; a certificate that fails its check raises."""
    before = _cpu()
    command = [sys.executable, "-P", "-c", _CPU] if cpu else [str(BIN / "certify")]
    done = subprocess.run([*command, "prove", "region", *map(str, files), "-o", str(target), "--time-limit", limit, "--json",
                           *(f"--set={setting}" for setting in settings)],
                          capture_output=True, text=True,
                          check=False)
    told = json.loads(done.stdout)
    between = _cpu()
    if told["verdict"] in ("proved", "refuted"):
        path = told["certificate"]
        checked = subprocess.run([str(BIN / "certify-check"), path, "--seconds=600", *(f"--subject={file}" for file in files)], capture_output=True,
                                 text=True,
                                 check=False)
        if checked.returncode != 0:
            raise RuntimeError(f"{path} of {files}: {checked.stdout}")
        Path(path).unlink()
    return told["verdict"], between - before, _cpu() - between, told.get("code", "")


def _cpu() -> float:
    usage = getrusage(RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


if __name__ == "__main__":
    sys.exit(main())
