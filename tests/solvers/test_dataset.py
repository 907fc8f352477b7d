# SPDX-License-Identifier: Apache-2.0
"""Data sets: every row's outcome is true and that of `robust`; workers and a folder of finished rows change no byte; no file is believed."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import oracle
from certify import archive, container
from certify.certificate import Subject
from certify.claims import accuracy as claim
from certify.claims import robust as robust_claim
from certify.errors import Declined, Rejected, UsageError
from certify.files import OutputError
from certify.limits import Limits
from certify_solvers.common.emit import array_entry, certificate, checked
from certify_solvers.common.prover import Effort, Outcome, Problem, Proved, Refuted, Unknown
from certify_solvers.crown import dataset
from certify_solvers.crown.attack import Hit
from certify_solvers.crown.decide import Holds, Settings, Violated
from certify_solvers.crown.prover import Crown
from kinds import common
from kinds.accuracy import DataSet
from toolkit import npy

OPTIONS = {**Crown().options("accuracy"), "restarts": "20", "boxes": "2000"}
GIVEN = {"norm": "linf", "radius": "3/2", "radius_unit": "raw", "clip": ["0", "1"], "scale": "1/16", "subtract": "0", "divide": "1",
         "semantics": "real"}


def data_set(seed: int, rows: int = 10) -> DataSet:
    """Return a random data set of a tiny network: mostly labelled by the network itself."""
    rng = np.random.default_rng(seed)
    made = DataSet(common.tiny_layers(rng, 3), rng.integers(0, 17, (rows, 2)).astype(np.uint8), rng.integers(0, 3, rows))
    for row in range(rows):
        outputs = oracle.outputs_at(common.exact(made.layers), [Fraction(int(v), 16) for v in made.points[row]])
        if rng.random() < 0.8:
            made.labels[row] = outputs.index(max(outputs))
    return made


def problem(made: DataSet, wanted: dict[str, int] | None = None, options: dict[str, str] | None = None, **fields: object) -> Problem:
    """Return the question about all rows."""
    files = {role: content for role, (_, content) in made.files().items()}
    subjects = tuple(Subject(role, hashlib.sha256(content).hexdigest()) for role, content in files.items())
    return Problem("accuracy", {role: role for role in files}, subjects, files, claim.KIND.given.decode({**GIVEN, **fields}, "given"), wanted or {},
                   {**OPTIONS, **(options or {})}, Limits())


def prove(question: Problem, effort: Effort | None = None, told: list[Any] | None = None) -> Outcome:
    """Return the prover's outcome."""
    return Crown().prove(question, effort or Effort(), lambda stage, facts: None if told is None else told.append((stage, dict(facts))))


def final(question: Problem, effort: Effort | None = None) -> bytes:
    """Return the bytes of the certificate that is proved."""
    found = prove(question, effort)
    assert isinstance(found, Proved)
    data = certificate(found.draft, question, "crown", 0)
    checked(data, question)
    return data


def row_problem(question: Problem, made: DataSet, row: int, **fields: object) -> Problem:
    """Return the question about one row, as `robust`."""
    given = robust_claim.KIND.given.decode({**GIVEN, "row": row, "label": int(made.labels[row]), **fields}, "given")
    return replace(question, kind="robust", given=given)


def listed(found: Proved) -> dict[int, str]:
    """Return what a draft says of each row."""
    return {int(row): name for name in ("robust", "wrong", "witness") for row in found.draft.arrays.get(f"{name}_row", [])}


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("norm", ["linf", "l2"])
def test_every_row_is_true_and_the_same_as_alone(seed: int, norm: str) -> None:
    made = data_set(100 + seed)
    question = problem(made, norm=norm)
    found = prove(question)
    assert isinstance(found, Proved)
    result = checked(certificate(found.draft, question, "crown", 0), question)
    told, rows = found.draft.says, listed(found)
    truth = [made.robust(row, {**GIVEN, "norm": norm}) for row in range(10)]
    assert told["of"] == 10 and result.figures["open"] == 10 - len(rows) == 10 - told["robust_at_least"] - told["not_robust_at_least"]
    assert bool(found.left) == (len(rows) < 10)
    for row in range(10):
        alone = prove(row_problem(question, made, row, norm=norm))
        word = rows.get(row, "open")
        assert (word == "robust") == isinstance(alone, Proved)
        if word != "open":
            assert truth[row] == (word == "robust")
            assert isinstance(alone, (Proved, Refuted))
    assert told["robust_at_least"] <= truth.count(True) <= 10 - told["not_robust_at_least"]
    assert len(rows) >= 9  # tiny networks leave little open


def test_the_counts_are_told_in_one_line() -> None:
    made = data_set(101)
    found = prove(problem(made))
    assert isinstance(found, Proved)
    says = found.draft.says
    line = found.remarks[0]
    assert f"robust {says['robust_at_least']} · not robust " in line and line.count("·") == 4 and "of 10" in line
    assert f"certified accuracy {10 * says['robust_at_least']}.0 % (at most {100 - 10 * says['not_robust_at_least']}.0 %)" in line


def test_progress_counts_up_to_the_end() -> None:
    told: list[Any] = []
    found = prove(problem(data_set(102)), told=told)
    assert isinstance(found, Proved)
    rows = [facts for stage, facts in told if stage == "rows"]
    assert [facts["done"] for facts in rows] == list(range(11)) and all(facts["of"] == 10 for facts in rows)
    assert rows[-1]["robust"] == found.draft.says["robust_at_least"] and rows[-1]["not robust"] == found.draft.says["not_robust_at_least"]
    assert all(facts["robust"] + facts["not robust"] + facts["open"] == facts["done"] for facts in rows)


def test_workers_and_the_folder_change_no_byte(tmp_path: Path) -> None:
    question = problem(data_set(106))
    alone = final(question)
    assert final(question, Effort(workers=2)) == alone
    assert final(question, Effort(resume=tmp_path / "one")) == alone
    assert final(question, Effort(workers=3, resume=tmp_path / "two")) == alone
    names = sorted(path.name for path in (tmp_path / "one").iterdir())
    assert names == sorted(path.name for path in (tmp_path / "two").iterdir()) and len(names) == 10
    assert all((tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes() for name in names)


@pytest.mark.parametrize(("rows", "wanted"), [(10, 1), (1, 3)])
def test_rows_that_share_processes_take_one_each(rows: int, wanted: int, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def run(make: Any, arguments: Any, work: Any, jobs: Any, workers: int) -> Any:
        seen.append((arguments[2].workers, workers))
        return (pair for pair in ())
    monkeypatch.setattr(dataset, "run", run)
    made = data_set(106)
    prove(problem(DataSet(made.layers, made.points[:rows], made.labels[:rows])), Effort(workers=3))
    assert seen == [(wanted, 3)]


def _counting(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list to which every row that is worked on is added."""
    rows: list[int] = []
    answer = dataset._answer

    def counted(state: Any, row: int) -> Any:
        rows.append(row)
        return answer(state, row)
    monkeypatch.setattr(dataset, "_answer", counted)
    return rows


def test_a_finished_folder_is_not_worked_on_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    question, rows = problem(data_set(106)), _counting(monkeypatch)
    first = final(question, Effort(resume=tmp_path))
    assert rows == list(range(10))
    before = {path.name: (path.stat().st_mtime_ns, path.read_bytes()) for path in tmp_path.iterdir()}
    assert final(question, Effort(resume=tmp_path)) == first and rows == list(range(10))
    assert {path.name: (path.stat().st_mtime_ns, path.read_bytes()) for path in tmp_path.iterdir()} == before
    (tmp_path / "row-000004.cert").unlink(missing_ok=True)
    (tmp_path / "row-000004.open").unlink(missing_ok=True)
    assert final(question, Effort(resume=tmp_path)) == first and rows == [*range(10), 4]


def test_an_open_row_is_tried_again_under_other_settings_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = data_set(101)
    weak = {"method": "crown", "restarts": "1"}
    question = problem(made, options=weak, radius="9/2")
    rows = _counting(monkeypatch)
    first = prove(question, Effort(resume=tmp_path))
    assert isinstance(first, Proved) and first.left
    still = [int(path.name[4:10]) for path in sorted(tmp_path.glob("*.open"))]
    assert still
    rows.clear()
    prove(question, Effort(resume=tmp_path))
    assert rows == []
    for other in (problem(made, options={**weak, "restarts": "2"}, radius="9/2"), problem(made, options={"method": "auto"}, radius="9/2")):
        rows.clear()
        prove(other, Effort(resume=tmp_path))
        assert rows == sorted(rows) and set(rows) <= set(still) and rows
    assert final(problem(made, radius="9/2"), Effort(resume=tmp_path))


def _spoil(data: bytes, change: Callable[[dict[str, Any]], None]) -> bytes:
    """Return a certificate with a changed statement, every digest and checksum made right again."""
    statement = container.read(data, Limits(), "kept")
    content = json.loads(dict(archive.read(data, Limits(), "kept"))["certificate.json"].tobytes())
    change(content["predicate"])
    return b"".join(bytes(piece) for piece in archive.pieces(container.members(content, statement.arrays, statement.inputs)))


def _bytes_of(kind: str, folder: Path, made: DataSet, question: Problem, row: int) -> bytes:
    """Return what an adversary, an accident or another run may have left under a row's name."""
    own = (folder / f"row-{row:06d}.cert").read_bytes()
    others = [path for path in sorted(folder.glob("*.cert")) if path.name != f"row-{row:06d}.cert"]
    if kind == "empty":
        return b""
    if kind == "cut off":
        return own[: len(own) // 2]
    if kind == "one bit":
        return own[:-90] + bytes([own[-90] ^ 1]) + own[-89:]
    if kind == "text":
        return b"robust\n"
    if kind == "another row's":
        return others[0].read_bytes()
    if kind == "another row's, renamed":
        return _spoil(others[0].read_bytes(), lambda predicate: predicate["claim"]["given"].update(row=row, label=int(made.labels[row])))
    if kind == "another radius":
        return _spoil(own, lambda predicate: predicate["claim"]["given"].update(radius="1/1000"))
    if kind == "the opposite":
        return _spoil(own, lambda predicate: predicate["claim"].update(says={"holds": not predicate["claim"]["says"]["holds"]}))
    if kind == "the opposite in full":
        arrays = {"tree": np.array([-1], "<i4")}
        robust = container.read(own, Limits(), "kept").content["predicate"]["claim"]["says"]["holds"]

        def change(predicate: dict[str, Any]) -> None:
            predicate["claim"]["says"] = {"holds": not robust}
            predicate["evidence"] = ({"kind": "witness", "version": 1, "items": {"point": ["1/2", "1/2"]}, "arrays": {}} if robust else
                                     {"kind": "bounds-tree", "version": 1, "items": {"arithmetic": "f64-gamma"},
                                      "arrays": {"tree": array_entry("tree", arrays["tree"])}})
        content = json.loads(dict(archive.read(own, Limits(), "kept"))["certificate.json"].tobytes())
        change(content["predicate"])
        return b"".join(bytes(piece) for piece in archive.pieces(container.members(content, {} if robust else arrays, {})))
    if kind == "of the whole":
        return certificate(_draft(question), question, "crown", 0)
    raise ValueError(kind)


def _draft(question: Problem) -> Any:
    found = prove(question)
    assert isinstance(found, Proved)
    return found.draft


@pytest.mark.parametrize("kind", ["empty", "cut off", "one bit", "text", "another row's", "another row's, renamed", "another radius", "the opposite",
                                  "the opposite in full", "of the whole"])
def test_files_in_the_folder_are_not_believed(kind: str, tmp_path: Path) -> None:
    made = data_set(106)
    question = problem(made)
    first = final(question, Effort(resume=tmp_path))
    good = {path.name: path.read_bytes() for path in tmp_path.glob("*.cert")}
    assert len(good) >= 9
    for name in good:
        row = int(name[4:10])
        (tmp_path / name).write_bytes(_bytes_of(kind, tmp_path, made, question, row))
        assert final(question, Effort(resume=tmp_path)) == first, row
        assert (tmp_path / name).read_bytes() == good[name]  # the row was done again, and kept


def test_things_in_the_folder_that_are_no_files(tmp_path: Path) -> None:
    question = problem(data_set(106))
    os.mkfifo(tmp_path / "row-000001.cert")  # reading it would wait for ever
    os.mkfifo(tmp_path / "row-000002.open")
    (tmp_path / "row-000003.cert").symlink_to(tmp_path / "nowhere")
    (tmp_path / "row-000004.cert").symlink_to("/dev/zero")
    assert final(question, Effort(resume=tmp_path)) == final(question)
    assert all((tmp_path / f"row-00000{row}.cert").is_file() for row in (1, 2, 3, 4))


def test_certificates_of_other_settings_are_true_but_not_what_was_asked(tmp_path: Path) -> None:
    question = problem(data_set(106))
    first = final(question, Effort(resume=tmp_path))
    integers = problem(data_set(106), options={"arithmetic": "exact-int", "fraction_bits": "100"})
    again = final(integers, Effort(resume=tmp_path))
    assert again != first and again == final(integers)
    assert final(problem(data_set(106), options={"arithmetic": "exact-int", "fraction_bits": "90"}), Effort(resume=tmp_path)) != again


def test_a_witness_that_no_binary64_number_holds_is_not_taken_over(tmp_path: Path) -> None:
    made = data_set(106)
    question = problem(made)
    first = final(question, Effort(resume=tmp_path))
    found = prove(question)
    assert isinstance(found, Proved)
    row = int(found.draft.arrays["witness_row"][0])
    path = tmp_path / f"row-{row:06d}.cert"

    def thirds(predicate: dict[str, Any]) -> None:
        point = [Fraction(v) for v in predicate["evidence"]["items"]["point"]]
        centre = [Fraction(int(v), 16) for v in made.points[row]]
        # Towards the centre by 10^-40 of the way: as good a counterexample where the margin is not exactly 0
        predicate["evidence"]["items"]["point"] = [str(v + (c - v) / 10**40 / 3) for v, c in zip(point, centre, strict=True)]
    path.write_bytes(_spoil(path.read_bytes(), thirds))
    assert final(question, Effort(resume=tmp_path)) == first


def test_witnesses_survive_preprocessing_that_is_not_dyadic() -> None:
    made = data_set(102, rows=20)
    fields = {"subtract": "1307/10000", "divide": "3081/10000", "scale": "1/17", "clip": ["0", "1"]}
    witnessed = 0
    for radius in ("7/3", "10/3"):
        question = problem(made, radius=radius, **fields)
        found = prove(question)
        assert isinstance(found, Proved)
        checked(certificate(found.draft, question, "crown", 0), question)
        rows = listed(found)
        witnessed += sum(word == "witness" for word in rows.values())
        for row in range(20):
            alone = prove(row_problem(question, made, row, radius=radius, **fields))
            assert (rows.get(row) in ("wrong", "witness")) == isinstance(alone, Refuted)
    assert witnessed >= 3


def test_rows_that_can_not_be_asked_about_are_open_and_told() -> None:
    made = data_set(110)
    made.points[0] = 17  # outside the clip range
    made.labels[3] = 7  # no such class
    found = prove(problem(made))
    assert isinstance(found, Proved)
    assert {0, 3} & set(listed(found)) == set() and found.left
    assert "2 of the open rows were refused, such as row 0: outside-domain" in found.remarks[1]
    made.points[:] = 17
    with pytest.raises(Rejected) as caught:
        prove(problem(made))
    assert caught.value.code == "outside-domain"


def test_counts_that_are_wanted_and_not_reached() -> None:
    made = data_set(111)
    found = prove(problem(made))
    assert isinstance(found, Proved)
    says = found.draft.says
    assert isinstance(prove(problem(made, dict(says))), Proved)
    for name, more in (("robust_at_least", 1), ("not_robust_at_least", 1), ("of", 1), ("of", -1)):
        short = prove(problem(made, {name: says[name] + more}))
        assert isinstance(short, Unknown) and f"{name} is {says[name]}, wanted {says[name] + more}" in short.why and "certified accuracy" in short.why


def test_nothing_known_is_unknown() -> None:
    made = data_set(112)
    found = prove(problem(made, options={"method": "crown", "restarts": "1"}, radius="100", semantics="exec32"))
    assert isinstance(found, Unknown) and "open 10" in found.why


def test_a_time_limit_is_for_each_row() -> None:
    found = prove(problem(data_set(113)), Effort(seconds=1e-9))
    wrong = sum(word == "wrong" for word in (listed(found).values() if isinstance(found, Proved) else ()))
    assert isinstance(found, (Proved, Unknown))
    if isinstance(found, Proved):  # only what needs no search: points that are wrong themselves
        assert found.draft.says == {"robust_at_least": 0, "not_robust_at_least": wrong, "of": 10}
    assert isinstance(prove(problem(data_set(113)), Effort(seconds=30)), Proved)


@pytest.mark.parametrize("workers", [1, 2])
def test_a_folder_that_can_not_hold_rows(tmp_path: Path, workers: int) -> None:
    (tmp_path / "taken").write_bytes(b"")
    for place, made in ((tmp_path / "taken", None), (tmp_path / "taken/below", None), (tmp_path / "rows", "row-000002.cert")):
        if made is not None:
            (place / made).mkdir(parents=True)
        with pytest.raises(OutputError) as caught:
            prove(problem(data_set(114)), Effort(resume=place, workers=workers))
        assert caught.value.code == "output-unwritable" and str(place) in caught.value.where
    assert workers > 1 or not list((tmp_path / "rows").glob(".*"))  # no half of a file; a worker that is stopped may leave one


def test_halves_of_files_that_a_killed_run_left_are_removed(tmp_path: Path) -> None:
    for name, age in ((".row-000001.cert.77.part", 3600), (".row-000002.cert.78.part", 0), ("notes.part", 3600)):
        (tmp_path / name).write_bytes(b"half")
        os.utime(tmp_path / name, (time.time() - age,) * 2)
    final(problem(data_set(106)), Effort(resume=tmp_path))
    assert sorted(path.name for path in tmp_path.glob("*.part")) == [".row-000002.cert.78.part", "notes.part"]  # another run may write the first


def test_data_sets_that_are_none() -> None:
    made = data_set(115)
    question = problem(made)
    for role, data, code in (("labels", npy(made.labels[:-1]), "claim-mismatch"), ("labels", npy(made.labels + 0.0), "claim-mismatch"),
                             ("points", npy(made.points[:, :1]), "claim-mismatch")):
        with pytest.raises(Rejected) as caught:
            prove(replace(question, files={**question.files, role: data}))
        assert caught.value.code == code
    with pytest.raises(Rejected) as vacuous:
        prove(replace(question, files={**question.files, "points": npy(made.points[:0]), "labels": npy(made.labels[:0])}))
    assert vacuous.value.code == "claim-vacuous"
    with pytest.raises(Declined) as damaged:
        prove(replace(question, files={**question.files, "points": b"\x93NUMPY"}))
    assert damaged.value.code == "arrays-header"
    with pytest.raises(UsageError):
        prove(problem(made, options={"method": "magic"}))


@pytest.mark.parametrize("lie", ["holds", "violated"])
def test_a_search_that_errs_costs_rows_and_nothing_else(lie: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def decide(unsafe: Any, *arguments: Any) -> Any:
        if lie == "holds":
            return Holds({"arithmetic": "f64-gamma"}, {"tree": np.array([-1], "<i4")}, 1.0)
        middle = tuple((a + b) / 2 for a, b in zip(unsafe.parts[0].lower, unsafe.parts[0].upper, strict=True))
        return Violated(Hit(middle, (), True))
    monkeypatch.setattr(dataset, "decide", decide)
    made = data_set(106)
    question = problem(made, radius="3")
    found = prove(question, Effort(resume=tmp_path))
    assert isinstance(found, Proved) and found.left
    checked(certificate(found.draft, question, "crown", 0), question)
    for row, word in listed(found).items():
        assert made.robust(row, {**GIVEN, "radius": "3"}) == (word == "robust")
    assert len(list(tmp_path.glob("*.open"))) == 10 - len(listed(found))
    assert lie == "violated" or ("refused, such as row" in found.remarks[1] and "leaf-uncovered" in found.remarks[1])


def test_an_interrupt_keeps_what_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = dataset._answer

    def interrupted(state: Any, row: int) -> Any:
        if row == 6:
            raise KeyboardInterrupt
        return answer(state, row)
    monkeypatch.setattr(dataset, "_answer", interrupted)
    question = problem(data_set(116))
    found = prove(question)
    assert isinstance(found, Proved) and found.interrupted and found.left and max(listed(found)) < 6
    checked(certificate(found.draft, question, "crown", 0), question)
    monkeypatch.setattr(dataset, "_answer", lambda state, row: interrupted(state, 6))
    with pytest.raises(KeyboardInterrupt):  # nothing was found, so there is nothing to write
        prove(question)


def test_the_settings_that_count_are_in_the_note_of_an_open_row() -> None:
    question, settings, effort = problem(data_set(117)), Settings(), Effort()
    notes = [dataset._question(*arguments) for arguments in (
        (question, settings, effort), (problem(data_set(118)), settings, effort), (problem(data_set(117), radius="1"), settings, effort),
        (question, Settings(boxes=7), effort), (question, settings, Effort(seed=1)), (question, settings, Effort(seconds=1.0)))]
    assert len(set(notes)) == len(notes)
    assert dataset._question(question, settings, Effort(workers=5)) == notes[0]
