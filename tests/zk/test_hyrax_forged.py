# SPDX-License-Identifier: Apache-2.0
"""Provers with forged cells, pads or messages that follow the protocol with points honestly else: each is rejected, with the code of what is false.

What cells break is told by an oracle that evaluates the relations on them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from zk.hyrax_cases import commit, expected, played, pointed, prove, verdict  # isort: skip  (skips the module where a package is missing)

from certify.limits import Limits
from certify_zk import hyrax, hyrax_prover
from certify_zk.dialogue import Padded
from certify_zk.field import Element
from certify_zk.hyrax import HyraxArgument
from certify_zk.hyrax_equations import Linear
from certify_zk.hyrax_prover import Points
from certify_zk.kernels.bls import spread
from certify_zk.layout import MULTIPLICITY
from certify_zk.prime_field import R, ScalarTranscript, inner
from certify_zk.statement import Rows, Statement
from certify_zk.transcript import Transcript
from certify_zk.witness import Choices, Integers
from zk.arguments import case, without
from zk.convolutions import NETWORKS as CONVOLUTIONS
from zk.test_argument import NETWORKS
from zk.test_forged_arguments import ALONE, forgery, tidied
from zk.test_forged_witnesses import FULL, LIES, STORED, Floors, Problem
from zk.tiny import specimen


@pytest.mark.parametrize(("some", "choices"), [line[1:3] for line in LIES], ids=[line[0] for line in LIES])
@pytest.mark.parametrize("wrapped", [True, False])
def test_lies_in_what_a_prover_may_choose(some: Problem, choices: Callable[[], Choices], wrapped: bool) -> None:
    given = forgery(some, {}, wrapped, choices())
    assert played(given) == expected(given) == "argument-constraints"


@pytest.mark.parametrize(("some", "lies"), [line[1:3] for line in STORED], ids=[line[0] for line in STORED])
def test_lies_in_one_value(some: Problem, lies: Mapping[str, Callable[[Integers], Integers]]) -> None:
    given = forgery(some, lies, True)
    assert played(given) == expected(given) == "argument-constraints"


def test_one_weight_of_a_kernel() -> None:
    given = case(*CONVOLUTIONS["conv-dense"])
    table = np.array(given.tables["kernel1.plus.0"]).astype(np.int64)
    table[0, 0] += 1
    given = given.tampered({"kernel1.plus.0": table})
    assert played(given) == expected(given) == "argument-constraints"


def test_random_changes_of_cells_are_found_as_the_oracle_finds_them() -> None:
    rng, found = np.random.default_rng(7), set()
    for number in range(10):
        policy, model, statement = specimen(rng)
        given = case(policy, model, statement)
        names = [name for name, block in given.circuit.blocks.items() if block.looked_up]
        tables = {name: np.array(table).astype(object) for name, table in given.tables.items()}
        table = tables[name := str(rng.choice(names))]
        place = tuple(int(rng.integers(size)) for size in given.circuit.blocks[name].dimensions)
        table[place] = table[place] + int(rng.choice([1, -1, 256, 65536])) if number % 3 else int(rng.integers(1 << 16))
        given = tidied(given.policy, statement, given.circuit, tables)
        found.add(played(given))
        assert played(given) == expected(given)
    assert "argument-constraints" in found


def test_a_cell_that_is_an_integer_only_modulo_the_order_is_out_of_range() -> None:
    given = case(*FULL)
    table = np.array(given.tables["region0.pass3.slack.0"]).astype(object)
    table[0] += R
    assert played(given.tampered({"region0.pass3.slack.0": table})) == "verified"  # the same element
    table[0] += 1 << 16
    assert played(given.tampered({"region0.pass3.slack.0": table})) == "argument-constraints"


def test_false_statements_and_floors() -> None:
    policy, model, statement = FULL
    given = case(policy, model, statement)
    rows = statement.asked
    assert isinstance(rows, Rows)
    false = Statement(statement.regions, Rows(rows.coefficients, (1 << 20,) * 2))
    assert played(replace(given, statement=false)) == "argument-constraints"
    run = Floors(given.policy, model, statement, Choices(), {}, False)
    run.all()
    assert played(tidied(run.policy, statement, run.circuit, run.tables)) == "argument-constraints"


@pytest.mark.parametrize(("name", "some", "block", "places"), [line[:4] for line in ALONE], ids=[line[0] for line in ALONE])
def test_each_relation_is_missed_where_the_verifier_leaves_it_out(name: str, some: Problem, block: str, places: list[int],
                                                                 monkeypatch: pytest.MonkeyPatch) -> None:
    given = case(*some)
    table = np.array(given.tables[block]).astype(np.int64)
    table.reshape(-1)[places] += 1
    given = given.tampered({block: table})
    assert played(given) == "argument-constraints"
    fewer = without(given, name)
    monkeypatch.setattr(hyrax, "circuit", lambda policy, statement: fewer)
    assert played(replace(given, circuit=fewer)) == "verified"


@pytest.mark.parametrize("name", ["4-4-4-3", "ball stop"])
def test_a_lie_in_any_message_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The prover adds 1 to one message, and goes on with all challenges that follow from it."""
    given = pointed(case(*NETWORKS[name]))
    model, rng = commit(given), np.random.default_rng(2)
    count = len(prove(given, model).messages)
    for index in sorted({*range(5), *rng.choice(count, 18, replace=False).tolist(), count - 1}):
        class Liar(Padded):
            def _taken(self, label: str, message: Element, lie: int = index) -> Any:
                return super()._taken(label, self.field.add(message, self.field.one) if len(self.sent) == lie else message)
        monkeypatch.setattr(hyrax_prover, "Padded", Liar)
        assert verdict(given, prove(given, model), model.root) == "argument-constraints"


def test_cells_that_are_looked_up_are_those_that_are_committed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A slack below 0, wrapped: relations hold, and the prover looks up 0 in its place."""
    rows = FULL[2].asked
    assert isinstance(rows, Rows)
    given = forgery((*FULL[:2], Statement(FULL[2].regions, Rows(rows.coefficients, (1 << 20,) * 2))), {}, True)
    assert played(given) == expected(given) == "argument-constraints"
    real = hyrax_prover.multiplicities

    class Elsewhere(hyrax_prover.Answers):
        def roots(self, challenge: Element) -> Sequence[Element]:
            committed = self.cells
            low = np.where(self.plain < 1 << 16, self.plain, 0)
            self.cells, self.tables[MULTIPLICITY] = spread(low), spread(real(low[: len(self.layout.ranged)]))
            found = super().roots(challenge)
            self.cells = committed
            return found

        def __init__(self, circuit: Any, layout: Any, tables: Any, cells: Any) -> None:
            super().__init__(circuit, layout, tables, cells)
            held = hyrax_prover.shown(cells.reshape(-1, 4))
            self.plain = np.array(held, object).reshape(cells.shape[:2])
    monkeypatch.setattr(hyrax_prover, "multiplicities", lambda cells: real(np.where(cells < 1 << 16, cells, 0)))
    monkeypatch.setattr(hyrax_prover, "Answers", Elsewhere)
    assert played(given) == "argument-constraints"


def test_honest_messages_about_other_cells_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """All messages are of honest tables, and one committed cell differs: the last claim is false."""
    given = pointed(case(*FULL))
    model, real = commit(given), hyrax_prover.commit

    def other(curve: Any, rows: Sequence[Sequence[int]], draw: Any) -> Points:
        changed = [list(row) for row in rows]
        changed[0][0] += len(rows) > 20  # the certificate's rows, not those of pads
        return real(curve, changed, draw)
    monkeypatch.setattr(hyrax_prover, "commit", other)
    assert verdict(given, prove(given, model), model.root) == "argument-opening"


def changed_pads(name: str, number: int) -> Callable[..., Points]:
    """Return a commitment to pads that adds 1 to one slot."""
    def commit_pads(curve: Any, sizes: Any, draw: Any) -> Points:
        honest = real_pads(curve, sizes, draw)
        row, slot = sizes.shape.place(name, number)
        rows = [list(each) for each in honest.rows]
        rows[row][slot] = (rows[row][slot] + 1) % R
        return hyrax_prover.commit(curve, rows, draw)
    return commit_pads


real_pads = hyrax_prover.commit_pads


@pytest.mark.parametrize("name", ["x", "y", "z"])
@pytest.mark.parametrize("number", [0, 60, -1])
def test_pads_of_products_that_are_others(name: str, number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The factors' pads are tied to those of their messages, and the product is what the checks of the argument use."""
    given = pointed(case(*NETWORKS["4-4-4-3"]))
    model, sizes = commit(given), hyrax.measured(given.policy, given.statement, Limits())
    monkeypatch.setattr(hyrax_prover, "commit_pads", changed_pads(name, number % len(sizes.pairs)))
    assert verdict(given, prove(given, model), model.root) == "argument-constraints"


def test_a_false_product_that_makes_a_false_check_hold_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The prover knows where its checks fail: a Z that is no product repairs the first, and only the equation of products can tell.

    The proof of a false statement is made, and the slot z that its first failing constraint contains is changed until the constraint holds; as the
    slot's row is committed before, the prover may choose it once messages are fixed only if they do not depend on the commitment: here the
    transcript of both sides ignores the rows of pads.
    """
    class Deaf(ScalarTranscript):
        def absorb(self, label: str, data: bytes) -> None:
            super().absorb(label, data[:64] if label == "roots" else data)
    monkeypatch.setattr(hyrax, "ScalarTranscript", Deaf)
    given = pointed(case(*NETWORKS["4-4-4-3"]))
    model, runs = commit(given), list[Padded]()

    class Liar(Padded):
        def __init__(self, *given: Any) -> None:
            super().__init__(*given)
            runs.append(self)

        def _taken(self, label: str, message: Element) -> Any:  # the ends of the first layer
            return super()._taken(label, self.field.add(message, self.field.one) if len(self.sent) == 7 else message)
    monkeypatch.setattr(hyrax_prover, "Padded", Liar)
    assert verdict(given, prove(given, model), model.root) == "argument-constraints"
    run = runs[-1]
    false = [constraint for constraint in run.constraints if any(run.tape.value(constraint))]
    assert false
    shifts: dict[int, int] = {}
    for constraint in false:
        leaves = run.tape.spread([(run.field.one, constraint)])
        number, coefficient = next((run.where[node][1], value) for node, value in leaves.items() if run.where[node][0] == "z")
        shifts[number] = (shifts.get(number, 0) - run.tape.value(constraint)[0] * pow(coefficient[0], -1, R)) % R

    def commit_pads(curve: Any, sizes: Any, draw: Any) -> Points:
        honest = real_pads(curve, sizes, draw)
        rows = [list(each) for each in honest.rows]
        for number, shift in shifts.items():
            row, slot = sizes.shape.place("z", number)
            rows[row][slot] = (rows[row][slot] + shift) % R
        return hyrax_prover.commit(curve, rows, draw)
    monkeypatch.setattr(hyrax_prover, "commit_pads", commit_pads)
    assert verdict(given, prove(given, model), model.root) == "argument-products"


def test_weights_of_the_sum_depend_on_the_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    """A verifier that draws them before the answers is fooled: errors of three equations cancel in the sum, and the real one is not."""
    class Early(ScalarTranscript):
        def absorb(self, label: str, data: bytes) -> None:
            if label != "hyrax/response":
                super().absorb(label, data)
    given = pointed(case(*NETWORKS["4-4-4-3"]))
    model, seen = commit(given), dict[str, Any]()
    false = replace(given.statement, asked=Rows(given.statement.asked.coefficients, (1 << 20,) * 2))
    lying, real = replace(given, statement=false), hyrax_prover._last

    def last(run: Padded, curve: Any, shape: Any, equation: Linear, rows: Points, draw: Any) -> Any:
        first, responses = real(run, curve, shape, equation, rows, draw)
        seen.update(run=run, shape=shape, equation=equation, rows=rows, transcript=run.transcript)
        return first, responses
    monkeypatch.setattr(hyrax_prover, "_last", last)
    monkeypatch.setattr(hyrax, "ScalarTranscript", Early)
    made = prove(lying, model)
    assert verdict(lying, made, model.root) == "argument-constraints"
    forged_one = cancelled(made, seen)
    assert verdict(lying, forged_one, model.root) == "verified"
    monkeypatch.setattr(hyrax, "ScalarTranscript", ScalarTranscript)
    monkeypatch.setattr(hyrax_prover, "_last", real)
    assert verdict(lying, forged_one, model.root) != "verified"


def cancelled(made: HyraxArgument, seen: Mapping[str, Any]) -> HyraxArgument:
    """Return an argument whose answers are changed so that the error of (2) is cancelled by z, and that of z by x^ in (3) and (5).

    With weights w of the equations: w2 (error + <a(c), dz>) = 0, and w1 dz_j + w3 dx_j + w5 dx_j y_j = 0 for each column j.
    """
    shape, equation, rows = seen["shape"], seen["equation"], seen["rows"]
    transcript: Transcript = seen["transcript"]
    challenge = last_challenge(transcript)
    folded = hyrax_folded(equation, challenge)
    error = (sum(inner(a, row) for a, row in zip(equation.coefficients, rows.rows, strict=True)) - equation.due) * pow(challenge, shape.rounds, R) % R
    assert error
    weights = [weight for (weight,) in transcript.elements("hyrax/combine", 5, 1)]
    answers = [int.from_bytes(row.tobytes(), "little") for row in made.responses]
    x, y = shape.columns + 2, shape.columns + 2 + shape.products
    step = -(weights[2] + weights[4] * answers[y]) * pow(weights[0], -1, R) % R  # of z_0, where that of x^_0 is 1
    scale = -error * pow(step * folded[0], -1, R) % R
    answers[0], answers[x] = (answers[0] + scale * step) % R, (answers[x] + scale) % R
    return replace(made, responses=hyrax_prover._scalars(answers))


def last_challenge(transcript: Transcript) -> int:
    """Return the challenge that a transcript drew last."""
    from certify_zk.transcript import _stream
    words = _stream(transcript.state)
    return sum(next(words) << 64 * i for i in range(8)) % R


def hyrax_folded(equation: Linear, challenge: int) -> list[int]:
    """Return a(c)."""
    from certify_zk.hyrax_equations import folded
    return folded(equation, challenge)
