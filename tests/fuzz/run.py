# SPDX-License-Identifier: Apache-2.0
"""Fuzz with atheris: every target in a process of its own, from seeds of the corpus; print runs and what was found.

An input that lets out a foreign exception, or takes too long, is written to `--artifacts` under the name of its target.
"""

from __future__ import annotations

import argparse
import hashlib
import math
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / part) for part in ("", "solvers", "problems", "tests")]

_SLOW_SHARE = {"evidence": 0.2, "statement": 0.3, "gzip": 0.3}  # of the runs of other targets: each of their runs is a whole check, or a file


@dataclass(frozen=True)
class Found:
    """One target's run: how many inputs, in how many seconds, and the first that failed, with the end of what was printed."""

    target: str
    runs: int
    seconds: float
    failing: bytes | None
    told: str


def available() -> bool:
    """Return whether atheris is installed."""
    return find_spec("atheris") is not None


def names() -> list[str]:
    """Return the names of all targets."""
    from fuzz.targets import TARGETS
    return list(TARGETS)


def shares(runs: int) -> dict[str, int]:
    """Return how many of `runs` inputs each target gets: at least `runs` in all, fewer where one run is a whole check."""
    weights = {name: _SLOW_SHARE.get(name, 1.0) for name in names()}
    return {name: max(200, math.ceil(runs * weight / sum(weights.values()))) for name, weight in weights.items()}


def fuzz(runs: int, seed: int, jobs: int, artifacts: Path | None, tell: Callable[[str], None], only: str = "") -> list[Found]:
    """Fuzz every target, or one, and return what was found."""
    with ThreadPoolExecutor(jobs) as pool:
        def one(name: str, count: int) -> Found:
            found = _run(name, count, seed)
            tell(f"{name}: {found.runs} runs in {found.seconds:.0f} s{'' if found.failing is None else ', FAILED'}")
            if found.failing is not None and artifacts is not None:
                artifacts.mkdir(parents=True, exist_ok=True)
                (artifacts / f"{name}-{hashlib.sha256(found.failing).hexdigest()[:12]}").write_bytes(found.failing)
            return found
        due = [pool.submit(one, name, count) for name, count in shares(runs).items() if only in ("", name)]
        return [future.result() for future in due]


def _run(name: str, runs: int, seed: int) -> Found:
    with tempfile.TemporaryDirectory() as folder:
        corpus, failures = Path(folder) / "corpus", Path(folder) / "failures"
        corpus.mkdir()
        failures.mkdir()
        command = [sys.executable, str(Path(__file__).resolve()), "--inside", name, str(corpus), f"-runs={runs}", f"-seed={seed}", "-max_len=20000",
                   "-timeout=20", "-rss_limit_mb=3000", "-print_final_stats=1", f"-artifact_prefix={failures}/"]
        started = time.monotonic()
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
        seconds = time.monotonic() - started
        told = re.search(r"stat::number_of_executed_units:\s*(\d+)", done.stderr)
        kept = sorted(failures.iterdir())
        failed = done.returncode != 0 or told is None
        return Found(name, int(told.group(1)) if told else 0, seconds, kept[0].read_bytes() if kept else b"" if failed else None,
                     (done.stdout + done.stderr)[-3000:] if failed else "")


def inside(name: str, arguments: list[str]) -> None:
    """Fuzz one target in this process, which libFuzzer ends."""
    import atheris
    with atheris.instrument_imports(include=["certify"]):
        from fuzz.targets import TARGETS
    target = TARGETS[name]
    corpus = Path(arguments[0])
    for index, seed in enumerate(target.seeds()):
        (corpus / f"{index:05d}").write_bytes(seed)
    atheris.Setup([sys.argv[0], *arguments], target)
    atheris.Fuzz()


def main() -> int:
    """Run the targets; return 1 if anything left that is no error of ours."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=100_000, help="inputs over all targets")
    parser.add_argument("--target", default="", help="only this target")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1, help="targets at a time")
    parser.add_argument("--artifacts", type=Path, help="a folder for failing inputs")
    options = parser.parse_args()
    found = fuzz(options.runs, options.seed, options.jobs, options.artifacts, lambda text: print(text, file=sys.stderr, flush=True), options.target)
    for one in found:
        if one.failing is not None:
            print(f"{one.target}: {one.failing[:200]!r}\n{one.told}")
    print(f"{sum(one.runs for one in found)} runs, {sum(one.failing is not None for one in found)} targets failed")
    return 1 if any(one.failing is not None for one in found) else 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["--inside"]:
        inside(sys.argv[2], sys.argv[3:])
    else:
        sys.exit(main())
