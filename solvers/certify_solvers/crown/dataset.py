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
from math import nextafter
from pathlib import Path
from time import monotonic, time
from typing import Any

import numpy as np

from certify import container
from certify._version import VERSION
from certify.claims import accuracy
from certify.errors import CertifyError, OutputError, Rejected
from certify.limits import Limits
from certify.rules.evaluation import evaluate
from certify.rules.neighbourhood import Neighbourhoods
from certify.rules.unsafe_set import BOUNDS_TREE, WITNESS, UnsafeSet
from certify.verification import decode
from certify_solvers.common.emit import certificate, checked
from certify_solvers.common.executor import run
from certify_solvers.common.prover import Draft, Effort, Problem, Progress
from certify_solvers.crown.decide import Holds, Settings, Violated, decide
from certify_solvers.crown.domain import claim_point
from certify_solvers.crown.emission import Arrays, join


@dataclass(frozen=True, eq=False)
class Row:
    """What is known of a row: `robust` with evidence, `wrong` (at its own point), `witness` with a point, or `open` (`why`: refused)."""

    word: str
    items: Mapping[str, Any]
    arrays: Arrays
    point: tuple[Fraction, ...] = ()
    why: str = ""


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

    def remarks(self) -> tuple[str, ...]:
        """Return the counts, and how many rows were refused: no claim can be made about them, or the checker did not accept it."""
        refused = {row: found.why for row, found in sorted(self.rows.items()) if found.why}
        if not refused:
            return (self.line(),)
        row, why = next(iter(refused.items()))
        return (self.line(), f"{len(refused)} of the open rows {'was' if len(refused) == 1 else 'were'} refused, such as row {row}: {why}")


def collect(problem: Problem, settings: Settings, effort: Effort, progress: Progress) -> Table:
    """Return what was found about every row; an interrupt ends the search and keeps what there is."""
    near = accuracy.neighbourhoods(problem.given, problem.files, problem.limits.fresh())
    _require_askable(near)
    folder = effort.resume
    if folder is not None:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as trouble:
            raise _unwritable(folder, trouble) from None
        for part in folder.glob(".row-*.part"):  # what a killed run left; no file takes a minute to write
            with contextlib.suppress(OSError):
                if time() - part.stat().st_mtime > 60:
                    part.unlink()
    question = _question(problem, settings, effort)
    table = Table({}, near.rows)
    own = _State(problem, near, settings, effort, folder, question)
    for row in range(near.rows):
        found = _kept(own, row)
        if found is not None:
            table.rows[row] = found
    _report(table, progress)
    missing = [row for row in range(near.rows) if row not in table.rows]
    plain = replace(problem, given=dict(problem.given), limits=Limits(**{name: getattr(problem.limits, name) for name in _LIMITS}))
    own_effort = replace(effort, workers=1) if len(missing) > 1 else effort  # rows share the processes; a row alone may use them all
    results = run(_make, (plain, settings, own_effort, folder, question), _answer, missing, effort.workers)
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
        items = dict(found[0].items)  # the same for all: one search was asked for, and kept rows of another one are not taken
        near = accuracy.neighbourhoods(problem.given, problem.files, problem.limits.fresh())
        arrays = join([(row.arrays, near.network.outputs - 1) for row in found], near.network.inputs)
    for word, name in (("robust", "robust_row"), ("wrong", "wrong_row"), ("witness", "witness_row")):
        if by_word[word]:
            arrays[name] = np.array(by_word[word], "<i4")
    if by_word["witness"]:
        arrays["witness"] = np.array([[float(v) for v in table.rows[row].point] for row in by_word["witness"]], "<f8")
    says = {"robust_at_least": len(by_word["robust"]), "not_robust_at_least": len(by_word["wrong"]) + len(by_word["witness"]), "of": table.size}
    premises = ("real-arithmetic",) if problem.given["semantics"] == "real" else ()
    return Draft("accuracy", 1, problem.given, says, premises, accuracy.ROWS.kind, accuracy.ROWS.version, items, arrays)


_LIMITS = ("file_bytes", "json_bytes", "segment_bytes", "members", "depth", "table_cells", "tree_nodes", "tree_depth", "memory", "work")


def _require_askable(near: Neighbourhoods) -> None:
    """Raise what is wrong with the first row if no claim can be made about any: a question that makes no sense is refused before any work."""
    first: Rejected | None = None
    for row in range(near.rows):
        near.limits = near.limits.fresh()
        try:
            near.part(row, near.label(row))
        except Rejected as trouble:
            first = first or trouble
        else:
            return
    if first is not None:
        raise first


def _report(table: Table, progress: Progress) -> None:
    progress("rows", {"done": len(table.rows), "of": table.size, "robust": table.count("robust"),
                      "not robust": table.count("wrong") + table.count("witness"), "open": table.count("open")})


def _question(problem: Problem, settings: Settings, effort: Effort) -> str:
    """Return what an open row depends on, as text: the files, the question and how it was searched."""
    given = {name: str(value) for name, value in problem.given.items()}
    return json.dumps({"files": {subject.name: subject.sha256 for subject in problem.subjects}, "given": given, "search": asdict(settings),
                       "version": VERSION, "seconds": effort.seconds, "seed": effort.seed}, sort_keys=True)


def _make(problem: Problem, settings: Settings, effort: Effort, folder: Path | None, question: str) -> _State:
    near = accuracy.neighbourhoods(problem.given, problem.files, problem.limits.fresh())
    return _State(problem, near, settings, effort, folder, question)


def _answer(state: _State, row: int) -> Row:
    """Return what is found about a row, kept in the folder first."""
    near, effort = state.near, replace(state.effort, started=monotonic())
    near.limits = state.problem.limits.fresh()  # each row is a question of its own
    try:
        label = near.label(row)
        part = near.part(row, label)
    except Rejected as trouble:  # a row that no claim can be made about, such as one outside the clip range
        return Row("open", {}, {}, why=str(trouble))
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
        point = _binary64(claim_point(unsafe, answer.hit.x), near.centre(row))
        x = near.network_input(point)
        if part.holds_input(x):
            y = evaluate(near.network, x, state.problem.limits.fresh())
            if any(row_.holds(x, y) for conjunct in part.conjuncts for row_ in conjunct):
                found = Row("witness", {}, {}, point)
    return _keep(state, row, found)


def _binary64(point: tuple[Fraction, ...], centre: tuple[Fraction, ...]) -> tuple[Fraction, ...]:
    """Return the point in binary64, as certificates hold it, each coordinate rounded towards the centre: so it stays in the ball."""
    found = []
    for v, c in zip(point, centre, strict=True):
        near = float(v)
        if (v > c and Fraction(near) > v) or (v < c and Fraction(near) < v):
            near = nextafter(near, float("-inf") if v > c else float("inf"))
        found.append(Fraction(near))
    return tuple(found)


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
    except CertifyError as trouble:
        return _keep(state, row, Row("open", {}, {}, why=str(trouble)))
    if state.folder is not None:
        _write(state.folder / f"row-{row:06d}.cert", data)
        with contextlib.suppress(OSError):  # the certificate is read first, so a note that stays does no harm
            (state.folder / f"row-{row:06d}.open").unlink(missing_ok=True)
    return found


def _write(path: Path, data: bytes) -> None:
    """Write a file whole or not at all, also under a kill."""
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with part.open("wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        part.replace(path)
    except OSError as trouble:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)
        raise _unwritable(path, trouble) from None


def _unwritable(path: Path, trouble: OSError) -> OutputError:
    return OutputError("output-unwritable", f"can't keep finished rows there: {trouble.strerror or trouble}", where=str(path),
                       fix="choose another folder with --resume, or free some space; rows that were kept are taken up again")


def _kept(state: _State, row: int) -> Row | None:
    """Return what the folder knows of a row, if it is about this question and the checker accepts it."""
    if state.folder is None:
        return None
    note, path = state.folder / f"row-{row:06d}.open", state.folder / f"row-{row:06d}.cert"
    try:
        if not path.is_file():
            same = note.is_file() and container.load_bytes(note, state.problem.limits) == state.question.encode()
            return Row("open", {}, {}) if same else None
        data = container.load_bytes(path, state.problem.limits)
    except CertifyError:
        return None
    state.near.limits = state.problem.limits.fresh()
    try:
        problem = _row_problem(state, row)
        found = decode(container.read(data, problem.limits, "the kept certificate"))
        if (found.claim.kind, dict(found.claim.given)) != ("robust", dict(problem.given)):
            return None
        checked(data, problem)
        centre = state.near.centre(row)
    except CertifyError:
        return None
    if found.claim.says["holds"]:
        exact = {"fraction_bits": state.settings.fraction_bits} if state.settings.arithmetic == "exact-int" else {}
        if dict(found.evidence.items) != {"arithmetic": state.settings.arithmetic, **exact}:
            return None
        return Row("robust", found.evidence.items, {name: np.array(array) for name, array in found.evidence.arrays.items()})
    point = tuple(found.evidence.items["point"])
    if point == centre:
        return Row("wrong", {}, {}, point)
    with contextlib.suppress(OverflowError):
        if all(Fraction(float(v)) == v for v in point):  # others can't be written to the certificate of all rows
            return Row("witness", {}, {}, point)
    return None
