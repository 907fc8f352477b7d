# SPDX-License-Identifier: Apache-2.0
"""What can notice a mutant: the vectors, then the tests of rules and claims; which lines of the checker each of them runs, and for how long."""

from __future__ import annotations

import hashlib
import json
import os
import re
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import coverage
import pytest
from _pytest.runner import runtestprotocol

from mutation.operators import Mutant
from mutation.swap import ROOT
from vectors.stored import HERE, Stored, kinds, stored

TESTS = ("tests/rules", "tests/test_claims.py", "tests/test_accuracy_claim.py", "tests/test_attacks_nn.py")
_TIMED = re.compile(r"test_attacks_nn.*charged|test_accuracy_claim.*charged")
_CACHE = ROOT / ".mutation-cache"


@dataclass
class Killer:
    """A vector or a test: `notices` returns whether it fails."""

    id: str
    notices: Callable[[], bool]
    is_vector: bool
    seconds: float = 0.0
    kills: dict[str, int] = field(default_factory=dict)  # by function, and "" in all


@dataclass
class Coverage:
    """Which killers, by id, run each line of each file."""

    seconds: dict[str, float]
    lines: dict[str, dict[int, frozenset[str]]]

    def of(self, mutant: Mutant) -> frozenset[str]:
        """Return the ids of the killers that run a line of the mutant, or any line of its file where it is at module level."""
        lines = self.lines.get(mutant.file, {})
        return frozenset().union(*(lines.get(line, frozenset()) for line in (mutant.lines if mutant.inside else lines)))


def vectors() -> list[Killer]:
    """Return all vectors."""
    return [Killer(vector.id, lambda vector=vector: _missed(vector), True) for kind in kinds() for vector in stored(kind)]


def _missed(vector: Stored) -> bool:
    try:
        return vector.found() != vector.wanted
    except Exception:
        return True


def tests(items: Sequence[pytest.Item]) -> list[Killer]:
    """Return collected tests, without those that compare a time with what was charged: they depend on what else the machine does."""
    return [Killer(item.nodeid, lambda item=item: any(report.failed for report in runtestprotocol(item, log=False)), False)
            for item in items if not _TIMED.search(item.nodeid)]


def measured(killers: list[Killer], part: str, tell: Callable[[str], None]) -> Coverage:
    """Return what the killers run, from a cache if neither the checker nor they have changed; raises ValueError if one fails without a mutant."""
    sources = sorted([*(ROOT / "certify").rglob("*.py"), *(ROOT / "tests").rglob("*.py"), *HERE.glob("*/index.json")])
    mark = hashlib.sha256(b"".join(path.read_bytes() for path in sources if path.parent != Path(__file__).parent))
    mark.update("\n".join(killer.id for killer in killers).encode())
    path = _CACHE / f"{part}-{mark.hexdigest()[:16]}.json"
    if not path.exists():
        tell(f"measuring what {len(killers)} {part} run")
        path.parent.mkdir(exist_ok=True)
        for old in path.parent.glob(f"{part}-*"):
            old.unlink()
        _in_child(lambda: path.write_text(json.dumps(_measure(killers)), "utf-8"))
    found = json.loads(path.read_text("utf-8"))
    names = [killer.id for killer in killers]
    return Coverage(dict(zip(names, found["seconds"], strict=True)),
                    {file: {int(line): frozenset(names[index] for index in ran) for line, ran in lines.items()}
                     for file, lines in found["lines"].items()})


def _measure(killers: Iterable[Killer]) -> dict[str, Any]:
    recorder = coverage.Coverage(data_file=None, config_file=False, include=[str(ROOT / "certify/*")], messages=False)
    seconds = []
    recorder.start()
    for index, killer in enumerate(killers):
        recorder.switch_context(str(index))
        started = time.process_time()
        if killer.notices():
            raise ValueError(f"{killer.id} fails without a mutant")
        seconds.append(time.process_time() - started)
    recorder.switch_context("")
    recorder.stop()
    data, lines = recorder.get_data(), {}
    for file in data.measured_files():
        by_line = {line: sorted(int(name) for name in names if name) for line, names in data.contexts_by_lineno(file).items()}
        lines[str(Path(file).relative_to(ROOT))] = {line: ran for line, ran in by_line.items() if ran}
    return {"seconds": seconds, "lines": lines}


def _in_child(action: Callable[[], object]) -> None:
    """Run an action in a forked child, so that its traces are gone afterwards; raises ValueError if it fails."""
    child = os.fork()
    if not child:
        try:
            action()
        except BaseException as trouble:
            print(trouble, flush=True)
            os._exit(1)
        os._exit(0)
    if os.waitpid(child, 0)[1]:
        raise ValueError("what the killers run could not be measured")
