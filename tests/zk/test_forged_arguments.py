# SPDX-License-Identifier: Apache-2.0
"""Provers with forged cells, or with lies among their messages, that follow the protocol honestly else: each is rejected, with its own code.

What cells break is told by an oracle that evaluates the relations on them: the verifier says the same of cells that it never sees.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from certify_zk import argument, prover, verifier
from certify_zk.circuit import Circuit
from certify_zk.dialogue import Dialogue
from certify_zk.evaluation import violations
from certify_zk.field import Element, P
from certify_zk.kernels import vectors
from certify_zk.layout import MULTIPLICITY, BlockClaim, Claim
from certify_zk.lookup_prover import tree
from certify_zk.policy import Policy
from certify_zk.statement import Box, Rows, Score, Statement
from certify_zk.sumcheck_prover import word
from certify_zk.verifier import arrangement
from certify_zk.witness import Choices, Integers
from zk.arguments import Case, case, played, small, verdict, without
from zk.forging import Forger, forged
from zk.test_argument import NETWORKS
from zk.test_forged_witnesses import FULL, LIES, STOPPED, STORED, Floors, Problem, at, problem
from zk.tiny import specimen


def tidied(policy: Policy, statement: Statement, circuit: Circuit, tables: Mapping[str, Integers]) -> Case:
    """Return a case without the cells that no row has."""
    places, found = arrangement(policy, circuit.blocks.values()).places, {}
    for name, values in tables.items():
        table = np.array(values)
        if name in places and table.ndim == 2:
            np.moveaxis(table, places[name].axis, 0)[places[name].count :] = 0
        found[name] = table
    return Case(policy, statement, circuit, found)


def expected(given: Case) -> str:
    """Return the code of what the tables of a case break first."""
    found = violations(given.policy, given.statement, given.circuit, given.tables)
    return found[0].code if found else "verified"


def forgery(some: Problem, lies: Mapping[str, Callable[[Integers], Integers]], wrapped: bool, choices: Choices | None = None) -> Case:
    """Return the case of a prover that lies."""
    run = forged(small(some[0]), some[1], some[2], lies, wrapped, choices)
    return tidied(run.policy, run.statement, run.circuit, run.tables)


@pytest.mark.parametrize(("some", "choices", "wrapped"), [line[1:4] for line in LIES], ids=[line[0] for line in LIES])
def test_lies_in_what_a_prover_may_choose(some: Problem, choices: Callable[[], Choices], wrapped: str) -> None:
    given = forgery(some, {}, True, choices())
    assert played(given) == expected(given) == wrapped
    given = forgery(some, {}, False, choices())
    assert played(given) == expected(given) != "verified"


@pytest.mark.parametrize(("some", "lies", "codes"), [line[1:] for line in STORED], ids=[line[0] for line in STORED])
def test_lies_in_one_value(some: Problem, lies: Mapping[str, Callable[[Integers], Integers]], codes: list[str]) -> None:
    given = forgery(some, lies, True)
    assert played(given) == expected(given) == codes[0]


@pytest.mark.parametrize("seed", range(3))
def test_random_changes_of_cells_are_found_as_the_oracle_finds_them(seed: int) -> None:
    rng, found = np.random.default_rng(seed), set()
    for number in range(14):
        policy, model, statement = specimen(rng)
        given = case(policy, model, statement)
        names = [name for name, block in given.circuit.blocks.items() if block.looked_up]
        tables = {name: np.array(table).astype(object) for name, table in given.tables.items()}
        for name in rng.choice(names, 1 + number % 2):
            table, dimensions = tables[str(name)], given.circuit.blocks[str(name)].dimensions
            place = tuple(int(rng.integers(size)) for size in dimensions)
            table[place] = (table[place] + int(rng.choice([1, -1, 256, 65536, P - 1, 5 * P]))) % P if number % 3 else int(rng.integers(1 << 16))
        given = tidied(given.policy, statement, given.circuit, tables)
        found.add(played(given))
        assert played(given) == expected(given)
    assert len(found) > 1


def test_a_false_statement_is_not_verified() -> None:
    policy, model, statement = FULL
    given = case(policy, model, statement)
    rows = statement.asked
    assert isinstance(rows, Rows)
    false = Statement(statement.regions, Rows(rows.coefficients, (1 << 20,) * 2))
    assert played(replace(given, statement=false)) == "relation-margin"
    swapped = Statement(statement.regions, Rows(rows.coefficients[::-1], rows.thresholds))
    assert played(replace(given, statement=swapped)) == "relation-margin"


@pytest.mark.parametrize("wrapped", [True, False])
def test_a_floor_of_what_is_subtracted_is_found(wrapped: bool) -> None:
    policy, model, statement = FULL
    run = Floors(small(policy), model, statement, Choices(), {}, wrapped)
    run.all()
    given = tidied(run.policy, statement, run.circuit, run.tables)
    assert played(given) == expected(given) == ("relation-lookup" if wrapped else "relation-floor")


def test_a_huge_intercept_is_out_of_range() -> None:
    given = case(*FULL)
    tables = {name: np.array(table) for name, table in given.tables.items() if name.startswith("region0.layer1.intercept")}
    tables["region0.layer1.intercept.0"][0] += 3 << 13
    tables["region0.layer1.intercept.narrow"] = tables["region0.layer1.intercept.0"] << 4 & 65535
    given = given.tampered(tables)
    assert played(given) == expected(given) == "relation-range"


@pytest.mark.parametrize("name", ["region0.pass2.c3", "region0.pass3.step2.c1", "region0.pass3.bias", "region0.pass3.step1.c2"])
def test_a_constant_that_is_none_is_found(name: str) -> None:
    given = case(*(STOPPED if name == "region0.pass2.c3" else FULL))
    table = np.array(given.tables[name]).astype(object)
    table[0] -= 1 << 8
    given = given.tampered({name: table})
    assert played(given) == expected(given) and expected(given) in ("relation-constant", "relation-step")


def test_two_boxes_have_one_pair_of_ends() -> None:
    policy, model, statement = FULL
    both = Statement((statement.regions[0], Box((0,) * 3, (1,) * 3)), Score(1, 1 << 31))
    assert played(case(policy, model, both)) == "verified"
    lies = {"least": at(0, 1), "gap.slack": at(0, 1)} | {f"region{index}.pass3.slack": lambda values: values - [16, 0] for index in (0, 1)}
    for wrapped, code in ((True, "relation-lookup"), (False, "relation-margin")):
        assert played(forgery((policy, model, both), lies, wrapped)) == code


def test_integers_of_a_statement_are_in_their_ranges() -> None:
    policy, model, statement = FULL
    given = case(policy, model, statement)
    committed = given.commit()
    made, rows = given.prove(committed), statement.asked
    assert isinstance(rows, Rows)
    for asked in (Rows(rows.coefficients, ((P + 1) >> 16, 0)), Rows(((128, -1, 0), (1, 0, -1)), rows.thresholds), Score(0, 1 << 32)):
        assert verdict(given, made, committed.root, Statement(statement.regions, asked)) == "property-range"


def test_tableaux_of_other_sizes_are_malformed() -> None:
    given = case(*FULL)
    model = given.commit()
    more = prover.ligero_prover.commit(verifier.shape(given.policy, arrangement(given.policy, given.circuit.blocks.values())).code,
                                       np.concatenate([model.tableau.limbs] * 2), model.tableau.words, np.random.default_rng(1).bytes)
    made = given.prove(model)
    longer = np.concatenate([made.opening.columns[0]] * 2, axis=1)
    opening = replace(made.opening, columns=(longer, made.opening.columns[1]))
    assert verdict(given, replace(made, opening=opening), model.root) == "argument-malformed"
    assert verdict(given, made, more.root) == "relation-lookup"
    assert verdict(given, made, model.root, policy=small(given.policy, 128)) == "argument-malformed"


class Late(prover.Answers):
    """A prover that counts a cell which is not in the table once A is known, in the extension field."""

    def roots(self, challenge: Element) -> Sequence[Element]:
        field = self.field
        start = len(self.sent)
        super().roots(challenge)
        table = self._trees[1].layers[0]
        missing = field.inverse(field.subtract(challenge, field.embed(70000)))  # 1 / (A - f), to be m / (A - 0)
        table[0][0, 0] = vectors.add(table[0][0, 0], word(field.multiply(missing, challenge)))
        self._trees[1] = tree(*table, (0,), 0)
        (p, q), (p_table, q_table) = (grown.root for grown in self._trees)
        assert field.multiply(p, q_table) == field.multiply(p_table, q)
        del self.sent[start:]
        return self._say(p, q, p_table, q_table, field.inverse(field.multiply(q, q_table)))


def test_multiplicities_that_are_not_committed_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    given = case(*FULL)
    table = np.array(given.tables["region0.pass3.slack.0"]).astype(np.int64)
    table[0] = 70000
    given = given.tampered({"region0.pass3.slack.0": table})
    assert played(given) == "relation-lookup"
    real = prover.Answers
    monkeypatch.setattr(prover, "Answers", Late)
    assert played(given) == "relation-margin"  # the lookup holds, and is only refuted by the batch
    monkeypatch.setattr(verifier, "circuit", lambda policy, statement: replace(given.circuit, relations=()))
    assert played(replace(given, circuit=replace(given.circuit, relations=()))) == "argument-constraints"
    monkeypatch.setattr(prover, "Answers", real)
    assert played(replace(given, circuit=replace(given.circuit, relations=()))) == "relation-lookup"


def test_a_phantom_neuron_in_the_padding_is_found() -> None:
    policy, model, statement = problem(width=3)
    run = Forger(small(policy), model, statement, Choices(), {}, True)
    run.weights[2][:3, 3], run.biases[1][3] = 40, 9
    run.parts[2] = (np.maximum(run.weights[2], 0), np.maximum(-run.weights[2], 0))
    run.all()
    given = tidied(run.policy, statement, run.circuit, run.tables)
    assert played(given) == "relation-padding"
    names = [found.name for found in violations(given.policy, statement, given.circuit, given.tables)]
    assert names == ["bias2.padding", "weight3.plus.padding"]


def test_a_network_with_another_weight_is_not_the_committed_one() -> None:
    """The weight is changed under the old root: in the tableau alone, or in its codewords too."""
    given = case(*FULL)
    model = given.commit()
    table = np.array(given.tables["weight2.plus.0"]).astype(np.int64)
    table[1, 1] += 1
    other = given.tampered({"weight2.plus.0": table})
    assert played(other) == expected(other) == "relation-constant"  # under a root of its own, with the old bounds
    policy, network, statement = FULL
    changed = [np.array(weight) for weight in network.weights]
    changed[1][1, 1] += 1
    true = case(policy, replace(network, weights=tuple(changed)), statement)
    assert played(true) == "verified"
    fresh = true.commit()
    for tampered, code in ((model, "argument-opening"), (replace(fresh, tree=[*fresh.tree[:-1], model.tree[-1]]), "argument-path"),
                           (replace(model, tableau=fresh.tableau), "argument-opening")):
        assert verdict(true, true.prove(tampered), model.root) == code


def lying(monkeypatch: pytest.MonkeyPatch, **methods: Any) -> None:
    """Let provers use a source with other methods."""
    monkeypatch.setattr(prover, "Answers", type("Liar", (prover.Answers,), methods))


@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize("name", ["4-4-4-3", "ball stop"])
def test_a_lie_in_any_message_is_found(name: str, padded: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The prover adds 1 to one message, and goes on with all challenges that follow from it."""
    given = case(*NETWORKS[name])
    model, rng, codes = given.commit(), np.random.default_rng(2), set()
    count = len(given.prove(model, padded=padded).messages)
    for index in sorted({*range(5), *rng.choice(count, 40, replace=False).tolist(), count - 1}):
        def say(self: prover.Answers, *messages: Element, lie: int = index) -> list[Element]:
            start = len(self.sent)
            found = [((message[0] + (start + number == lie)) % P, *message[1:]) for number, message in enumerate(messages)]
            self.sent.extend(found)
            return found
        lying(monkeypatch, _say=say)
        codes.add(verdict(given, given.prove(model, padded=padded), model.root))
    assert codes == {"argument-constraints"} if padded else "verified" not in codes and {"relation-lookup", "argument-constraints"} <= codes


def test_honest_messages_about_other_cells_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Claims that all relations hold are made of honest tables, and cells are committed that differ in one place: the batch is false.

    If the prover makes the last value fit the batch, the opening is false.
    """
    given = case(*FULL)
    model = given.commit()
    real = prover.filled

    def other(layout: Any, rows: Sequence[int], tables: prover.Tables) -> Any:
        cells = real(layout, rows, tables)
        if rows == layout.ranged:
            place = layout.places["region0.pass3.slack.0"]
            cells[layout.ranged.index(place.start >> layout.columns), place.start & ((1 << layout.columns) - 1)] += np.uint64(1)
        return cells
    monkeypatch.setattr(prover, "filled", other)
    assert verdict(given, given.prove(model), model.root) == "argument-constraints"

    class Fitted(prover.Answers):
        """A prover that sends the value which the claims need where the rounds of the batch end."""

        ends: Element

        def batch(self, claims: Sequence[Claim], factor: Element) -> None:
            super().batch(claims, factor)
            self.claims, self.factor, self.points = claims, factor, list[Element]()

        def bind(self, challenge: Element) -> None:
            if hasattr(self, "points"):
                self.points.append(challenge)
            super().bind(challenge)

        def value(self) -> Element:
            field, total, power, columns = self.field, self.field.zero, self.field.one, self.layout.columns
            column, row = tuple(self.points[:columns][::-1]), tuple(self.points[columns:][::-1])
            for claim in self.claims:
                total = field.add(total, field.multiply(power, self.layout.weight(field, claim, row, column)))
                power = field.multiply(power, self.factor)
            return self._say(field.multiply(self.ends, field.inverse(total)))[0]

    real_rounds = argument.rounds

    def rounds(dialogue: Dialogue, label: str, entry: str, claim: Any, plan: Any) -> Any:
        found = real_rounds(dialogue, label, entry, claim, plan)
        if isinstance(dialogue.source, Fitted):
            dialogue.source.ends = found[0].known
        return found
    monkeypatch.setattr(prover, "Answers", Fitted)
    monkeypatch.setattr(argument, "rounds", rounds)
    assert verdict(given, given.prove(model), model.root) == "argument-opening"


def test_claims_that_make_a_relation_hold_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A slack is claimed that makes a margin of cells hold that it doesn't hold for."""
    given = forgery(FULL, {"region0.pass3.slack": at(0, 1)}, True)
    honest, real = case(*FULL), prover.Answers.claim

    def claim(self: prover.Answers, about: BlockClaim) -> Element:
        if about.block.startswith("region0.pass3.slack"):
            tables = self.tables
            self.tables = {**tables, **{name: prover.residues(table) for name, table in honest.tables.items() if name == about.block}}
            found = real(self, about)
            self.tables = tables
            return found
        return real(self, about)
    assert played(given) == "relation-margin"
    lying(monkeypatch, claim=claim)
    assert played(given) == "argument-constraints"


NARROW = problem(width=3)
ALONE: list[tuple[str, Problem, str, list[int], str]] = [
    ("region0.pass3.closure", FULL, "region0.pass3.slack.0", [0], "relation-margin"),
    ("region0.pass2.closure", FULL, "region0.pass2.slack.0", [1], "relation-closure"),
    ("region0.pass3.step1.c4.floor", FULL, "region0.pass3.step1.c4.rest.0", [0], "relation-floor"),
    ("region0.pass3.step2.step", FULL, "region0.pass3.step2.rest.0", [1], "relation-step"),
    ("region0.layer1.hull", STOPPED, "region0.layer1.hull.slack.0", [0], "relation-hull"),
    ("region0.layer1.line1", FULL, "region0.layer1.line1.0", [0], "relation-line"),
    ("region0.layer2.intercept.range", FULL, "region0.layer2.intercept.narrow", [0], "relation-range"),
    ("region0.layer2.alpha.range", FULL, "region0.layer2.alpha.rest", [2], "relation-range"),
    ("weight3.plus.padding", NARROW, "weight3.plus.0", [3, 7, 11], "relation-padding"),  # the same for all outputs, of which rows are differences
    ("bias3.range", FULL, "bias3.narrow", [0], "relation-range"),
]


@pytest.mark.parametrize(("name", "some", "block", "places", "code"), ALONE, ids=[line[0] for line in ALONE])
def test_each_relation_is_missed_where_the_verifier_leaves_it_out(name: str, some: Problem, block: str, places: list[int], code: str,
                                                                 monkeypatch: pytest.MonkeyPatch) -> None:
    given = case(*some)
    table = np.array(given.tables[block]).astype(np.int64)
    table.reshape(-1)[places] += 1
    given = given.tampered({block: table})
    assert played(given) == expected(given) == code
    fewer = without(given, name)
    monkeypatch.setattr(verifier, "circuit", lambda policy, statement: fewer)
    assert played(replace(given, circuit=fewer)) == "verified"


def test_without_a_relation_that_defines_a_constant_nothing_is_verified(monkeypatch: pytest.MonkeyPatch) -> None:
    given = case(*FULL)
    model = given.commit()
    made = given.prove(model)
    for name in ("region0.pass3.step2.step", "region0.pass3.step2.c1", "region0.pass3.bias", "region0.pass3.c3"):
        fewer = replace(given.circuit, relations=tuple(relation for relation in given.circuit.relations if relation.name != name))
        monkeypatch.setattr(verifier, "circuit", lambda policy, statement, fewer=fewer: fewer)
        with pytest.raises(ValueError, match="no relation defines"):
            verdict(given, made, model.root)


def test_integers_of_all_types_become_residues() -> None:
    for values in (np.array([0, 1, -1, -(1 << 63), (1 << 63) - 1]), np.array([0, 65535], np.uint16), np.array([P - 1, 5], np.uint64),
                   np.array([-P, -1, 3 * P + 2, -(1 << 90)], object), np.array([True, False]), np.array([-3, 4], np.int16)):
        found = prover.residues(values)
        assert found.dtype == np.uint64 and found.tolist() == [int(value) % P for value in values]


def test_cells_that_are_looked_up_are_those_that_are_committed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A slack below 0, wrapped: relations hold, and the prover looks up 0 in its place."""
    rows = FULL[2].asked
    assert isinstance(rows, Rows)
    given = forgery((*FULL[:2], Statement(FULL[2].regions, Rows(rows.coefficients, (1 << 20,) * 2))), {}, True)
    assert played(given) == expected(given) == "relation-lookup"

    class Elsewhere(prover.Answers):
        def roots(self, challenge: Element) -> Sequence[Element]:
            committed, count = self.cells, len(self.layout.ranged)
            self.cells = np.where(committed < 1 << 16, committed, 0).astype(np.uint64)
            self.tables[MULTIPLICITY] = real(self.cells[:count])
            found = super().roots(challenge)
            self.cells = committed
            return found
    real = prover.multiplicities
    monkeypatch.setattr(prover, "multiplicities", lambda cells: real(np.where(cells < 1 << 16, cells, 0).astype(np.uint64)))
    monkeypatch.setattr(prover, "Answers", Elsewhere)
    assert played(given) == "argument-constraints"


def test_points_of_rows_and_of_columns_are_independent() -> None:
    """What is added to the matrix is antisymmetric, so where both points are equal its extension is 0."""
    given = case(*FULL)
    name = "region0.pass3.step2.rest.0"
    table = np.array(given.tables[name]).astype(np.int64)
    table[0, 1] += 1
    table[1, 0] -= 1
    given = given.tampered({name: table})
    assert played(given) == expected(given) == "relation-step"
