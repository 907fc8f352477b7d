# SPDX-License-Identifier: Apache-2.0
"""Run the mutants: each in a forked child, against the vectors and tests that run its lines, the quickest and most telling first.

A survivor that `equivalents.toml` does not list fails, and so does an entry there that fits no mutant. `--listed` runs the listed ones too,
and fails where one is noticed after all.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import select
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / part) for part in ("", "solvers", "problems", "tests")]

import pytest  # noqa: E402

from mutation import killers, swap  # noqa: E402
from mutation.equivalents import equivalents  # noqa: E402
from mutation.killers import Coverage, Killer  # noqa: E402
from mutation.operators import Mutant, mutants  # noqa: E402

FOLDERS = ("certify/rules", "certify/claims")
_ROOM = 3 << 30  # bytes that a mutant may take beyond what is mapped already
_WALL = 900.0
_UNTRIED = "untried: "


@dataclass
class Outcome:
    """What became of the mutants that were run: who noticed each, or None; and what the list says."""

    noticed: dict[Mutant, str] = field(default_factory=dict)
    surviving: list[Mutant] = field(default_factory=list)
    listed: int = 0
    unneeded: list[Mutant] = field(default_factory=list)
    unmatched: list[tuple[str, str, str, str, int]] = field(default_factory=list)

    @property
    def sound(self) -> bool:
        """Whether every mutant was noticed or is listed, and every entry of the list is needed."""
        return not (self.surviving or self.unneeded or self.unmatched)


def all_mutants(folders: Sequence[str] = FOLDERS, module: str = "") -> list[Mutant]:
    """Return the mutants of the files in some folders, or of the files of some names only (commas between them)."""
    return [mutant for folder in folders for path in sorted((ROOT / folder).glob("*.py")) if module == "" or path.stem in module.split(",")
            for mutant in mutants(path, str(path.relative_to(ROOT)))]


class Campaign:
    """One run over mutants; made in a process in which the tests are collected."""

    def __init__(self, options: argparse.Namespace, items: Sequence[pytest.Item]) -> None:
        self.options = options
        self.vectors, self.tests = [one for one in killers.vectors() if options.kind in ("", one.id.split("/")[0])], killers.tests(items)
        self.by_vectors = killers.measured(self.vectors, "vectors", _tell)
        self.by_tests = killers.measured(self.tests, "tests", _tell) if not options.sample else _by_name(self.tests)
        for killer in (*self.vectors, *self.tests):
            killer.seconds = self.by_vectors.seconds.get(killer.id) or self.by_tests.seconds.get(killer.id, 1.0)
        self.by_id = {killer.id: killer for killer in (*self.vectors, *self.tests)}

    def run(self) -> Outcome:
        """Run the mutants that the options name."""
        outcome, told = Outcome(), equivalents()
        chosen = all_mutants(self.options.folder or FOLDERS, self.options.module)
        everything = {mutant.key for mutant in (all_mutants(("certify/rules", "certify/claims", "certify/readers", "certify")))}
        outcome.unmatched = [key for key in told if key not in everything]
        if self.options.again:
            before = {tuple(key) for key, by in json.loads(self.options.again.read_text("utf-8"))["by"] if not by}
            chosen = [mutant for mutant in chosen if mutant.key in before]
        if self.options.match:
            chosen = [mutant for mutant in chosen if self.options.match in str(mutant)]
        outcome.listed = sum(mutant.key in told for mutant in chosen)
        due = [mutant for mutant in chosen if self.options.listed or mutant.key not in told]
        if self.options.sample:
            due = sorted(due, key=lambda mutant: Random(f"{self.options.seed} {mutant.key}").random())[: self.options.sample]
        started, running = time.monotonic(), {}
        waiting = iter(due)
        done = 0
        while True:
            while len(running) < self.options.jobs and (mutant := next(waiting, None)) is not None:
                child, pipe = self._start(mutant)
                running[pipe] = (mutant, child, time.monotonic())
            if not running:
                break
            for pipe in select.select(list(running), [], [], 1.0)[0] or _late(running):
                mutant, child, _ = running.pop(pipe)
                noticed = self._end(child, pipe)
                done += 1
                if noticed is None and mutant.key not in told:
                    outcome.surviving.append(mutant)
                elif noticed is not None and mutant.key in told:
                    outcome.unneeded.append(mutant)
                if noticed is not None:
                    outcome.noticed[mutant] = noticed
                    if killer := self.by_id.get(noticed):
                        for place in ("", mutant.function):
                            killer.kills[place] = killer.kills.get(place, 0) + 1
                if noticed is None:
                    _tell(f"survives: {mutant}")
                if done % 100 == 0:
                    _tell(f"{done} of {len(due)} mutants, {len(outcome.surviving)} survive, {time.monotonic() - started:.0f} s")
        return outcome

    def _due(self, mutant: Mutant) -> Iterator[Killer]:
        """Yield the killers for a mutant: vectors, then tests; those that noticed most in its function first, then the quickest."""
        def rank(killer: Killer) -> float:
            return -(1 + 10 * killer.kills.get(mutant.function, 0) + 0.1 * killer.kills.get("", 0)) / (0.005 + killer.seconds)

        left = self.options.budget
        for group, ran in ((self.vectors, self.by_vectors), (self.tests, self.by_tests)):
            ids = ran.of(mutant)
            # what is fixed when a module is imported decides about vectors that run none of its lines: the types of fields, for one
            everything = group is self.vectors and not mutant.inside
            for killer in sorted((killer for killer in group if everything or killer.id in ids), key=rank):
                if not killer.is_vector:
                    left -= killer.seconds
                    if left < 0:
                        return
                yield killer

    def _start(self, mutant: Mutant) -> tuple[int, int]:
        read, write = os.pipe()
        child = os.fork()
        if child:
            os.close(write)
            return child, read
        status = 1
        try:
            os.close(read)
            nowhere = os.open(os.devnull, os.O_RDWR)
            for stream in (0, 1, 2):
                os.dup2(nowhere, stream)
            noticed = self._noticed(mutant)
            os.write(write, json.dumps(noticed).encode())
            status = 0
        finally:
            os._exit(status)

    def _noticed(self, mutant: Mutant) -> str | None:
        """Return who notices a mutant that is put in place here, or None."""
        pages = int(Path("/proc/self/statm").read_text("ascii").split()[0]) if Path("/proc/self/statm").exists() else 0
        resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + _ROOM,) * 2)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        due = list(self._due(mutant))
        signal.setitimer(signal.ITIMER_PROF, 60)
        try:
            exchanged = swap.exchange(mutant)
            if not exchanged:
                swap.import_again(mutant)
        except Exception as trouble:
            return f"{_UNTRIED}{trouble!r}"
        for killer in due:
            if not killer.is_vector and not exchanged:
                break
            signal.setitimer(signal.ITIMER_PROF, 3 + 10 * killer.seconds)
            if killer.notices():
                return killer.id
        rest = [killer.id for killer in due if not killer.is_vector]
        if exchanged or not rest:
            return None
        signal.setitimer(signal.ITIMER_PROF, 60 + 10 * sum(self.by_id[name].seconds for name in rest))
        return "tests, collected again" if pytest.main(["-x", "-q", "-s", "-p", "no:cacheprovider", "-p", "no:xdist", *rest]) else None

    def _end(self, child: int, pipe: int) -> str | None:
        """Return who noticed the mutant of a child that is done; one that died, or took too long, was noticed too."""
        with os.fdopen(pipe, "rb") as stream:
            said = stream.read()
        _, status = os.waitpid(child, 0)
        if not said:
            return f"signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else "it died"
        noticed: str | None = json.loads(said)
        if noticed is not None and noticed.startswith(_UNTRIED):
            raise RuntimeError(f"a mutant could not be put in place, so nobody can have noticed it: {noticed.removeprefix(_UNTRIED)}")
        return noticed


def _late(running: dict[int, tuple[Mutant, int, float]]) -> list[int]:
    """End children that wait for ever; return nothing: their pipes close."""
    for _, child, since in running.values():
        if time.monotonic() - since > _WALL:
            os.kill(child, signal.SIGKILL)
    return []


def _by_name(tests: Sequence[Killer]) -> Coverage:
    """Return the tests that a module's name finds, where what they run is not measured: those in files that import it."""
    files: dict[str, str] = {}
    found: dict[str, dict[int, frozenset[str]]] = {}
    for killer in tests:
        path = killer.id.split("::")[0]
        files.setdefault(path, (ROOT / path).read_text("utf-8"))
    for module in {mutant.file for mutant in all_mutants()}:
        name = Path(module).stem
        ids = frozenset(killer.id for killer in tests if name in files[killer.id.split("::")[0]])
        found[module] = {line: ids for line in range(1, 1000)}
    return Coverage({}, found)


def _tell(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


class _Loop:
    """A plugin that runs mutants in place of the collected tests."""

    def __init__(self, action: Callable[[Sequence[pytest.Item]], None]) -> None:
        self.action = action

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        self.action(session.items)
        return True


def run(options: argparse.Namespace) -> Outcome:
    """Collect the tests and run the mutants that the options name."""
    found: list[Outcome] = []
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    quiet = ["-q", "-s", "--no-header", "--no-summary", "-p", "no:cacheprovider", "-p", "no:xdist", f"--rootdir={ROOT}"]
    os.chdir(ROOT)
    status = pytest.main([*quiet, *killers.TESTS], plugins=[_Loop(lambda items: found.append(Campaign(options, items).run()))])
    if not found:
        raise RuntimeError(f"the tests could not be collected ({status})")
    return found[0]


def parser() -> argparse.ArgumentParser:
    """Return the parser of the options."""
    made = argparse.ArgumentParser(description=__doc__)
    made.add_argument("--module", default="", help="only the files of these names, such as tree or tree,hitting")
    made.add_argument("--folder", action="append", help="a folder of the checker in place of its rules and claims, such as certify/readers")
    made.add_argument("--match", default="", help="only mutants whose description holds this text")
    made.add_argument("--again", type=Path, metavar="FILE", help="only those that survived in a run with `--out FILE`")
    made.add_argument("--sample", type=int, default=0, metavar="N", help="only N mutants; tests are chosen by name, not by the lines they run")
    made.add_argument("--seed", type=int, default=0, help="of the sample")
    made.add_argument("--kind", default="", help="only the vectors of this kind")
    made.add_argument("--budget", type=float, default=float("inf"), metavar="S", help="seconds of tests for each mutant, the most telling first")
    made.add_argument("--jobs", type=int, default=1, help="mutants at a time")
    made.add_argument("--listed", action="store_true", help="run those that equivalents.toml lists too")
    made.add_argument("--out", type=Path, help="write who noticed each mutant as JSON")
    return made


def main() -> int:
    """Run and print survivors; return 1 where something is neither noticed nor listed, or listed and not needed."""
    options = parser().parse_args()
    outcome = run(options)
    for title, found in (("survives", outcome.surviving), ("is listed, and noticed", outcome.unneeded)):
        for mutant in found:
            print(f"{title}: {mutant}")
    for key in outcome.unmatched:
        print(f"fits no mutant: {key}")
    print(f"{len(outcome.noticed)} noticed, {outcome.listed} listed, {len(outcome.surviving)} survive")
    if options.out:
        options.out.write_text(json.dumps({
            "noticed": len(outcome.noticed), "listed": outcome.listed, "surviving": len(outcome.surviving),
            "by": [[mutant.key, by] for mutant, by in [*outcome.noticed.items(), *((mutant, "") for mutant in outcome.surviving)]],
        }, indent=1), "utf-8")
    return 0 if outcome.sound else 1


if __name__ == "__main__":
    sys.exit(main())
