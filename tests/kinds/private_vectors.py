# SPDX-License-Identifier: Apache-2.0
"""Vectors of the private claims: for each kind an argument that verifies, and questions, commitments and arguments that must not.

Where the question or the commitment is refused nothing of the evidence is read, so there it is a few words only.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import Any

import numpy as np

from kinds import private
from kinds.attacks import Vector, ask, say, vector
from toolkit import Specimen, canonical

_SEEDS = {"private-ball": 3, "private-counterexample": 1, "private-fair": 1, "private-linear": 4, "private-robust": 1, "private-score": 1}
P = (1 << 64) - (1 << 32) + 1
Change = Callable[[Specimen], None]


@cache
def original(kind: str) -> Specimen:
    """Return a certificate that verifies, with longer rows than those of tests: that makes it shorter."""
    for seed in range(_SEEDS[kind], 100):
        found = private.maker(kind, 1024, ("crown",))(np.random.default_rng(seed))
        if found is not None:
            return found[1]
    raise ValueError(f"no seed gives a certificate of {kind}")


def bare(kind: str) -> Specimen:
    """Return the same claim with evidence of the right types and next to nothing in it."""
    made = original(kind).copy()
    made.arrays = {name: np.zeros((2, 32) if name == "roots" else (1, 2), array.dtype) for name, array in made.arrays.items()}
    return made


def commitment(**fields: Any) -> Change:
    """Return a change of fields of the commitment, which is sealed again."""
    def change(specimen: Specimen) -> None:
        name, data = specimen.files["commitment"]
        content = json.loads(data)
        for key, value in fields.items():
            content[key] = value(content[key]) if callable(value) else value
        specimen.files = {**specimen.files, "commitment": (name, canonical(content))}
    return change


def text(role: str, before: str, after: str) -> Change:
    """Return a change of the text of a subject file, everywhere."""
    def change(specimen: Specimen) -> None:
        name, data = specimen.files[role]
        if before.encode() not in data:
            raise ValueError(f"{before!r} is not in {name}")
        specimen.files = {**specimen.files, role: (name, data.replace(before.encode(), after.encode()))}
    return change


def words(key: str, change: Callable[[np.ndarray[Any, Any]], np.ndarray[Any, Any]]) -> Change:
    """Return a change of one array."""
    def changed(specimen: Specimen) -> None:
        specimen.arrays = {**specimen.arrays, key: change(specimen.arrays[key].copy())}
    return changed


def plus(place: tuple[int, ...], amount: int) -> Callable[[np.ndarray[Any, Any]], np.ndarray[Any, Any]]:
    """Return what adds a number to one entry."""
    def change(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        array[place] = (int(array[place]) + amount) % (1 << 8 * array.dtype.itemsize)
        return array
    return change


def vectors(kind: str) -> Iterator[Vector]:
    """Yield the vectors of a kind."""
    valid, asked = original(kind), bare(kind)
    yield vector("argument", "verified", "", valid, "none: an honest argument")
    yield vector("another-nonce", "rejected", "argument-malformed", valid, "what a proof was made for is not in the transcript",
                 ask(context={**private.NOBODY, "nonce": "another"}), effect="a proof is taken for another question of the auditor")
    yield from _of_commitments(asked)
    yield from _of_questions(kind, asked)
    if kind == "private-robust":
        yield from _of_evidence(valid)


def _of_commitments(asked: Specimen) -> Iterator[Vector]:
    for name, code, bug, change in (
        ("few-queries", "commitment-soundness", "the level that a commitment states is believed", commitment(queries=lambda n: n - 20)),
        ("level-is-a-word", "commitment-soundness", "the ledger is that of the lower level", commitment(level=128)),
        ("more-uses-than-pads", "commitment-limit", "pads are not compared with what all uses open", commitment(uses=2)),
        ("rows-of-300", "commitment-limit", "rows need not be a power of two", commitment(columns=300)),
        ("one-row-more", "commitment-root", "the number of rows is the commitment's own", commitment(model_rows=lambda n: n + 1)),
        ("wide-biases", "commitment-width", "widths are argued by hand", commitment(intercept_bits=48)),
        ("coarse-units", "commitment-unit", "units are not compared", commitment(tau=lambda taus: [[48] * len(tau) for tau in taus])),
        ("one-key-more", "commitment-malformed", "unknown keys are ignored", commitment(more=1)),
        ("root-in-capitals", "commitment-malformed", "a root has two forms", commitment(root=lambda root: "A" + root[1:])),
        ("scale-of-0", "commitment-limit", "a map of inputs may lose them", commitment(inputs=lambda some: {**some, "scale": ["0"]})),
    ):
        yield vector(name, "declined", code, asked, bug, change)
    yield vector("little-work", "declined", "limit-reached", asked, "work is not charged before it is done", limits={"work": 1 << 20})
    yield vector("one-premise-less", "rejected", "argument-malformed", asked, "assumptions are compared first", say(assumptions=["random-oracle"]))


def _of_questions(kind: str, asked: Specimen) -> Iterator[Vector]:
    if kind == "private-fair":
        yield vector("another-row", "rejected", "claim-mismatch", asked, "rows wrap around", ask(row=1))
        yield vector("nobody-sensitive", "rejected", "claim-vacuous", asked, "without sensitive features everyone is treated alike",
                     text("schema", '"sensitive":["group"]', '"sensitive":[]'))
        yield vector("person-out-of-range", "rejected", "outside-domain", asked, "a person is not looked at", _older)
        yield vector("decision-2", "rejected", "claim-mismatch", asked, "any decision is one", say(says={"decision": 2}))
        yield vector("tolerance-of-a-choice", "declined", "schema-range", asked, "a choice may move", text("schema", '{"x0":', '{"group":'))
        yield vector("no-schema", "declined", "schema-malformed", asked, "a schema is read loosely",
                     text("schema", '"kind":"choice",', '"kind":"choice", '))
        return
    yield vector("domain-left", "rejected", "outside-domain", asked, "boxes are cut to the domain",
                 commitment(inputs=lambda some: {**some, "upper": [str(int(some["offset"][0]) + 1)]}))
    yield vector("another-network", "declined", "vnnlib-shape", asked, "inputs that a property lacks are free",
                 text("property", "(declare-const X_0 Real)\n", "(declare-const X_0 Real)\n(declare-const X_9 Real)\n".replace("X_9", _next(asked))))
    yield vector("empty-box", "rejected", "claim-vacuous", asked, "an empty box is rounded to one with points", _emptied)
    yield vector("inputs-related", "declined", "property-form", asked, "rows of inputs are dropped",
                 lambda specimen: _also(specimen, "(<= (+ X_0 X_1) 99.0)"))
    if kind in ("private-robust", "private-ball"):
        yield vector("another-label", "rejected", "claim-mismatch", asked, "the label is the claim's own",
                     lambda specimen: say(says={**specimen.says, "label": (specimen.says["label"] + 1) % 3})(specimen))
        yield vector("margin-between-units", "rejected", "claim-mismatch", asked, "margins are rounded down",
                     lambda specimen: say(says={**specimen.says, "margin_at_least": "1/131072"})(specimen))
        yield vector("margin-that-wraps", "declined", "property-range", asked, "a threshold is taken modulo the prime",
                     lambda specimen: say(says={**specimen.says, "margin_at_least": str((P + 1) // (1 << 16))})(specimen))
    if kind == "private-linear":
        yield vector("intersection", "declined", "property-disjunction", asked, "an intersection of half-spaces is read as a union",
                     lambda specimen: _also(specimen, "(<= Y_2 7.0)"))
        yield vector("large-coefficients", "declined", "property-range", asked, "coefficients are taken modulo the prime",
                     text("property", "(and (>= Y_0 ", "(and (>= (+ Y_0 (* 1.001 Y_1)) "))
    if kind == "private-score":
        yield vector("output-3", "rejected", "claim-mismatch", asked, "outputs wrap around", ask(output=3))
        yield vector("gap-that-wraps", "declined", "property-range", asked, "a gap is taken modulo the prime",
                     say(says={"score_gap_at_most": str(1 << 40)}))
    if kind == "private-ball":
        yield vector("box-for-a-point", "rejected", "claim-mismatch", asked, "the ball is around a corner", _widened)
    if kind == "private-counterexample":
        yield vector("point-of-another-box", "rejected", "outside-domain", asked, "the point is not compared with the region",
                     lambda specimen: ask(point=["1" for _ in specimen.given["point"]])(specimen))
        yield vector("right-label", "rejected", "claim-mismatch", asked, "the label itself is at least as high",
                     lambda specimen: say(says={"label_wrong": (specimen.says["label_wrong"] + 1) % 3})(specimen))


def _of_evidence(valid: Specimen) -> Iterator[Vector]:
    def swapped(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        array[[0, 1]] = array[[1, 0]]
        return array
    for name, code, bug, change in (
        ("opened-column", "argument-path", "columns are not compared with the root", words("cert_columns", plus((3, 2), 1))),
        ("columns-exchanged", "argument-path", "columns stand in any order", words("model_columns", swapped)),
        ("word-and-prime", "argument-noncanonical", "words are taken modulo the prime", words("u1", lambda u1: _over(u1))),
        ("salt", "argument-path", "salts are not hashed", words("cert_salts", plus((0, 0), 1))),
        ("product-of-pads", "argument-malformed", "polynomials of the pads are not absorbed", words("pad_product", plus((5, 0), 1))),
        ("last-message", "argument-malformed", "the mask's value is drawn after the factor", words("messages", plus((-1, 0), 1))),
    ):
        yield vector(name, "rejected", code, valid, bug, change)


def _over(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    array[0, 0] = P
    return array


def _next(specimen: Specimen) -> str:
    return f"X_{specimen.files['property'][1].count(b'declare-const X_')}"


def _also(specimen: Specimen, assertion: str) -> None:
    name, data = specimen.files["property"]
    specimen.files = {**specimen.files, "property": (name, data + f"(assert {assertion})\n".encode())}


def _older(specimen: Specimen) -> None:
    name, data = specimen.files["points"]
    head, row, _ = data.decode().split("\n")
    specimen.files = {**specimen.files, "points": (name, f"{head}\n99,{row.partition(',')[2]}\n".encode())}


def _emptied(specimen: Specimen) -> None:
    _also(specimen, "(<= X_0 -99.0)")


def _widened(specimen: Specimen) -> None:
    name, data = specimen.files["property"]
    lines = data.decode().split("(<= X_0 ")
    value = lines[1].split(")", 1)
    specimen.files = {**specimen.files, "property": (name, f"{lines[0]}(<= X_0 {float(value[0]) + 0.125}){value[1]}".encode())}


KINDS = {kind: partial(vectors, kind) for kind in private.KINDS}
