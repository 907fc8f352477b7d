# SPDX-License-Identifier: Apache-2.0
"""`accuracy`: every row of a data set is one question, answered on its own, kept on disk if asked, and joined to one certificate.

A folder for `--resume` holds, for each finished row, a certificate of kind `robust` (checked again when it is read), or a note that it
stayed open under the same settings. Files are written whole or not at all, so a run that was killed goes on where it stopped.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np

from certify import container
from certify.claims import accuracy
from certify.errors import CertifyError
from certify.limits import Limits
from certify.rules.evaluation import evaluate
from certify.rules.neighbourhood import Neighbourhoods
from certify.rules.unsafe_set import BOUNDS_TREE, WITNESS, UnsafeSet
from certify.verification import decode
from certify_solvers.common.emit import certificate, checked
from certify_solvers.common.executor import run
from certify_solvers.common.prover import Draft, Effort, Problem, Progress
from certify_solvers.crown.decide import Holds, Settings, Violated, decide
from certify_solvers.crown.emission import Arrays, join


@dataclass(frozen=True, eq=False)
class Row:
    """What is known of a row: `robust` with evidence, `wrong` (at its own point), `witness` with a point, or `open`."""

    word: str
    items: Mapping[str, Any]
    arrays: Arrays
    point: tuple[Fraction, ...] = ()


@dataclass(frozen=True, eq=False)
class _State:
    problem: Problem
    near: Neighbourhoods
    settings: Settings
    effort: Effort
    folder: Path | None
    question: str


@dataclass(eq=False)
class Table:
    """The rows so far."""

    rows: dict[int, Row]
    size: int
    interrupted: bool = False

    def count(self, word: str) -> int:
        """Return how many rows are known as `word`."""
        return sum(row.word == word for row in self.rows.values())

    def line(self) -> str:
        """Return the counts, and certified accuracy."""
        robust, wrong, witness = (self.count(word) for word in ("robust", "wrong", "witness"))
        most = self.size - wrong - witness
        return (f"robust {robust} · not robust {witness} · wrong already {wrong} · open {most - robust} · of {self.size}   →   certified accuracy "
                f"{100 * robust / self.size:.1f} % (at most {100 * most / self.size:.1f} %)")


def collect(problem: Problem, settings: Settings, effort: Effort, progress: Progress) -> Table:
    """Return what was found about every row; an interrupt ends the search and keeps what there is."""
    near = accuracy.neighbourhoods(problem.given, problem.files, problem.limits.fresh())
    near.part(0, near.label(0))  # a question that can't be asked is refused before any work
    folder = effort.resume
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    question = _question(problem, settings, effort)
    table = Table({}, near.rows)
    own = _State(problem, near, settings, effort, folder, question)
    for row in range(near.rows):
        found = _kept(own, row)
        if found is not None:
            table.rows[row] = found
    _report(table, progress)
    missing = [row for row in range(near.rows) if row not in table.rows]
    plain = replace(problem, limits=Limits(**{name: getattr(problem.limits, name) for name in _LIMITS}))
    results = run(_make, (plain, settings, effort, folder, question), _answer, missing, effort.workers)
    with contextlib.closing(results):
        try:
            for number, found in results:
                table.rows[missing[number]] = found
                _report(table, progress)
        except KeyboardInterrupt:
            table.interrupted = True
    return table


def draft(problem: Problem, table: Table, settings: Settings) -> Draft:
    """Return the claim about all rows with the evidence of each."""
    by_word: dict[str, list[int]] = {word: sorted(row for row, found in table.rows.items() if found.word == word)
                                     for word in ("robust", "wrong", "witness")}
    arrays: Arrays = {}
    items: dict[str, Any] = {}
    if by_word["robust"]:
        found = [table.rows[row] for row in by_word["robust"]]
        kinds = {str(row.items["arithmetic"]) for row in found}
        items = dict(next(row.items for row in found if kinds == {"f64-gamma"} or row.items["arithmetic"] == "exact-int"))
        near = accuracy.neighbourhoods(problem.given, problem.files, problem.limits.fresh())
        arrays = join([(row.arrays, near.network.outputs - 1) for row in found])
    for word, name in (("robust", "robust_row"), ("wrong", "wrong_row"), ("witness", "witness_row")):
        if by_word[word]:
            arrays[name] = np.array(by_word[word], "<i4")
    if by_word["witness"]:
        arrays["witness"] = np.array([[float(v) for v in table.rows[row].point] for row in by_word["witness"]], "<f8")
    says = {"robust_at_least": len(by_word["robust"]), "not_robust_at_least": len(by_word["wrong"]) + len(by_word["witness"]), "of": table.size}
    premises = ("real-arithmetic",) if problem.given["semantics"] == "real" else ()
    return Draft("accuracy", 1, problem.given, says, premises, accuracy.ROWS.kind, accuracy.ROWS.version, items, arrays)


_LIMITS = ("file_bytes", "json_bytes", "segment_bytes", "members", "depth", "table_cells", "tree_nodes", "tree_depth", "memory", "work")


def _report(table: Table, progress: Progress) -> None:
    progress("rows", {"done": len(table.rows), "of": table.size, "robust": table.count("robust"),
                      "not robust": table.count("wrong") + table.count("witness"), "open": table.count("open")})


def _question(problem: Problem, settings: Settings, effort: Effort) -> str:
    """Return what an open row depends on, as text: the files, the question and how it was searched."""
    given = {name: str(value) for name, value in problem.given.items()}
    return json.dumps({"files": {subject.name: subject.sha256 for subject in problem.subjects}, "given": given, "search": asdict(settings),
                       "seconds": effort.seconds, "seed": effort.seed}, sort_keys=True)


def _make(problem: Problem, settings: Settings, effort: Effort, folder: Path | None, question: str) -> _State:
    near = accuracy.neighbourhoods(problem.given, problem.files, problem.limits.fresh())
    return _State(problem, near, settings, effort, folder, question)


def _answer(state: _State, row: int) -> Row:
    """Return what is found about a row, kept in the folder first."""
    near, effort = state.near, replace(state.effort, started=monotonic())
    label = near.label(row)
    try:
        part = near.part(row, label)
    except CertifyError:  # a row that no claim can be made about, such as one outside the clip range
        return Row("open", {}, {})
    x0 = near.network_input(near.centre(row))
    y = evaluate(near.network, x0, state.problem.limits.fresh())
    if any(y[j] >= y[label or 0] for j in range(len(y)) if j != label):
        found = Row("wrong", {}, {}, near.centre(row)) if state.problem.given["semantics"] == "real" else Row("open", {}, {})
        return _keep(state, row, found)
    unsafe = UnsafeSet(near.network, (part,), 0, near.divide, near.subtract, state.problem.given["semantics"])
    answer = decide(unsafe, state.settings, effort, state.problem.limits, lambda stage, facts: None, np.array([[float(v) for v in x0]]))
    found = Row("open", {}, {})
    if isinstance(answer, Holds):
        found = Row("robust", answer.items, answer.arrays)
    elif isinstance(answer, Violated) and state.problem.given["semantics"] == "real":
        point = tuple(Fraction(float(v)) for v in unsafe.claim_point(answer.hit.x))  # the certificate holds binary64 numbers
        x = near.network_input(point)
        if part.holds_input(x):
            y = evaluate(near.network, x, state.problem.limits.fresh())
            if any(row_.holds(x, y) for conjunct in part.conjuncts for row_ in conjunct):
                found = Row("witness", {}, {}, point)
    return _keep(state, row, found)


def _row_problem(state: _State, row: int) -> Problem:
    given = {**state.problem.given, "row": row, "label": state.near.label(row)}
    return replace(state.problem, kind="robust", given=given, limits=state.problem.limits.fresh())


def _keep(state: _State, row: int, found: Row) -> Row:
    """Write a row's certificate, or a note that it stayed open; a robust row whose certificate the checker refuses is open."""
    problem = _row_problem(state, row)
    if found.word == "open":
        if state.folder is not None:
            _write(state.folder / f"row-{row:06d}.open", state.question.encode())
        return found
    holds = found.word == "robust"
    spec = BOUNDS_TREE if holds else WITNESS
    premises = ("real-arithmetic",) if state.problem.given["semantics"] == "real" else ()
    made = Draft("robust", 1, problem.given, {"holds": holds}, premises, spec.kind, spec.version,
                 found.items if holds else {"point": found.point}, found.arrays)
    data = certificate(made, problem, "crown", state.effort.seed)
    try:
        checked(data, problem)
    except CertifyError:
        return _keep(state, row, Row("open", {}, {}))
    if state.folder is not None:
        _write(state.folder / f"row-{row:06d}.cert", data)
        (state.folder / f"row-{row:06d}.open").unlink(missing_ok=True)
    return found


def _write(path: Path, data: bytes) -> None:
    """Write a file whole or not at all, also under a kill."""
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    with part.open("wb") as stream:
        stream.write(data)
        stream.flush()
        os.fsync(stream.fileno())
    part.replace(path)


def _kept(state: _State, row: int) -> Row | None:
    """Return what the folder knows of a row, if it is about this question and the checker accepts it."""
    if state.folder is None:
        return None
    try:
        data = (state.folder / f"row-{row:06d}.cert").read_bytes()
    except OSError:
        with contextlib.suppress(OSError):
            if (state.folder / f"row-{row:06d}.open").read_bytes() == state.question.encode():
                return Row("open", {}, {})
        return None
    problem = _row_problem(state, row)
    try:
        found = decode(container.read(data, problem.limits, "the kept certificate"))
        if dict(found.claim.given) != dict(problem.given):
            return None
        checked(data, problem)
    except CertifyError:
        return None
    if found.claim.says["holds"]:
        return Row("robust", found.evidence.items, {name: np.array(array) for name, array in found.evidence.arrays.items()})
    point = tuple(found.evidence.items["point"])
    return Row("wrong" if point == state.near.centre(row) else "witness", {}, {}, point)

