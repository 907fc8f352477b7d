# SPDX-License-Identifier: Apache-2.0
"""Arguments in clear mode: honest ones of all modes, what they are bound to, their transcript, and their ledger."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from certify.errors import Declined, Rejected
from certify.limits import Limits
from certify_zk import argument, verifier
from certify_zk.circuit import circuit
from certify_zk.field import P
from certify_zk.policy import LEVELS, InputMap, Policy
from certify_zk.relations import Gated, Inner, Linear
from certify_zk.soundness import Parameters
from certify_zk.statement import Ball, Box, Rows, Score, Statement
from certify_zk.transcript import Transcript
from certify_zk.verifier import arrangement, shape, verify, verify_clear
from certify_zk.witness import Choices, Model
from zk.arguments import CLAIM, Case, Tidy, case, count, played, small, verdict
from zk.forging import hand_policy
from zk.test_forged_witnesses import FULL, STOPPED, problem
from zk.tiny import specimen


def network(sizes: tuple[int, ...], modes: tuple[str, ...], tau: tuple[tuple[int, ...], ...], seed: int = 3) -> tuple[Policy, Model, Statement]:
    """Return a random network, and the box around a point on which its rows hold."""
    policy = hand_policy(sizes, modes, tau)
    rng = np.random.default_rng(seed)
    model = Model(tuple(rng.integers(-32, 33, (b, a)) for a, b in pairwise(sizes)), tuple(rng.integers(-16, 17, b) for b in sizes[1:]))
    x = rng.integers(4, 24, sizes[0])
    rows = tuple(tuple(int(c) for c in rng.integers(-2, 3, sizes[-1])) for _ in range(2))
    return policy, model, Statement((Box(tuple(x.tolist()), (3,) * sizes[0]),), Rows(rows, (-(1 << 20),) * 2))


CROWN = ((), (9,), (9, 9))
NETWORKS = {
    "4-4-4-3": network((4, 4, 4, 3), ("crown",) * 3, CROWN),
    "8-8-8-3": network((8, 8, 8, 3), ("crown",) * 3, CROWN),
    "8-8-8-3 stop": network((8, 8, 8, 3), ("crown", "crown", "stop:1"), ((), (9,), (9,))),
    "8-8-8-3 ibp": network((8, 8, 8, 3), ("crown", "ibp", "ibp"), ((), (), ())),
    "5-7-6-9-3": network((5, 7, 6, 9, 3), ("crown", "crown", "ibp", "crown"), ((), (9,), (), (9, 9, 10))),
    "20-40-3": network((20, 40, 3), ("crown", "crown"), ((), (9,))),
    "1-1-1": network((1, 1, 1), ("crown", "crown"), ((), (9,))),
}


def changed(name: str, statement: Statement) -> tuple[Policy, Model, Statement]:
    return (*NETWORKS[name][:2], statement)


BOX = NETWORKS["8-8-8-3"][2].regions[0]
assert isinstance(BOX, Box)
ROWS = NETWORKS["8-8-8-3"][2].asked
NETWORKS |= {
    "ball": changed("8-8-8-3", Statement((Ball(BOX.lower, 5),), ROWS)),
    "ball stop": changed("8-8-8-3 stop", Statement((Ball(BOX.lower, 5), BOX), ROWS)),
    "boxes": changed("8-8-8-3", Statement((BOX, Box((0,) * 8, (1,) * 8), Box(BOX.lower, (0,) * 8)), ROWS)),
    "score": changed("8-8-8-3", Statement((BOX, Box((0,) * 8, (1,) * 8)), Score(1, 1 << 31))),
    "score of a ball": changed("8-8-8-3 ibp", Statement((Ball(BOX.lower, 3),), Score(0, 1 << 31))),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_honest_arguments_verify(name: str) -> None:
    assert played(case(*NETWORKS[name])) == "verified"


@pytest.mark.parametrize("seed", range(4))
def test_honest_arguments_of_random_networks_verify(seed: int) -> None:
    rng = np.random.default_rng(100 + seed)
    for number in range(8):
        some = specimen(rng)
        assert played(case(*some, Tidy(rng) if number % 2 else Choices())) == "verified"


def test_arguments_of_128_bits_verify() -> None:
    given = case(*NETWORKS["8-8-8-3"], level=128)
    model = given.commit()
    assert played(given) == "verified"
    made = given.prove(model, padded=True)
    assert made.messages.shape[1] == 3 and verify(given.policy, model.root, given.statement, CLAIM, made, Limits()).tenths >= 1280


@pytest.fixture(scope="module")
def honest() -> tuple[Case, bytes, verifier.Argument]:
    given = case(*NETWORKS["4-4-4-3"])
    model = given.commit()
    return given, model.root, given.prove(model)


def test_an_argument_is_determined_by_its_seed(honest: tuple[Case, bytes, verifier.Argument]) -> None:
    given, _, made = honest
    again, other = given.prove(), given.prove(seed=3)
    assert again.root == made.root != other.root and (again.messages == made.messages).all()
    assert verdict(given, other, given.commit().root) == "verified"


def test_an_argument_is_about_its_statement(honest: tuple[Case, bytes, verifier.Argument]) -> None:
    given, root, made = honest
    assert verdict(given, made, root) == "verified"
    box, rows = given.statement.regions[0], given.statement.asked
    assert isinstance(box, Box) and isinstance(rows, Rows)
    others = [
        Statement((Box(box.lower, (3, 3, 3, 2)),), rows), Statement((Box((box.lower[0] - 1, *box.lower[1:]), box.width),), rows),
        Statement((box,), Rows(rows.coefficients, (rows.thresholds[0] - 1, rows.thresholds[1]))),
        Statement((box,), Rows(rows.coefficients[::-1], rows.thresholds)),
        Statement((box,), Rows(((*rows.coefficients[0][:-1], 3), rows.coefficients[1]), rows.thresholds)),
    ]
    for other in others:
        assert verdict(given, made, root, other) in ("relation-lookup", "relation-margin", "relation-constant")
    assert verdict(given, made, root, Statement((box, box), rows)) == "argument-malformed"
    assert verdict(given, made, root, claim=CLAIM + b" ") == "relation-lookup"
    assert verdict(given, made, bytes([root[0] ^ 1]) + root[1:]) == "relation-lookup"
    assert verdict(given, replace(made, root=bytes([made.root[0] ^ 1]) + made.root[1:]), root) == "relation-lookup"
    for roots in ((root[:31], made.root), (root, made.root + b"0")):
        assert verdict(given, replace(made, root=roots[1]), roots[0]) == "argument-malformed"
    for policy in (replace(given.policy, inputs=inputs) for inputs in (InputMap.uniform(0, 1, 0, 5), InputMap.uniform(0, Fraction(3, 2), 0, 4))):
        assert verdict(given, made, root, policy=policy) == "relation-lookup"


def test_a_box_of_a_certificate_is_not_another() -> None:
    policy, model, statement = NETWORKS["boxes"]
    given = case(policy, model, Statement(statement.regions[:2], statement.asked))
    committed = given.commit()
    made = given.prove(committed)
    assert verdict(given, made, committed.root) == "verified"
    assert verdict(given, made, committed.root, Statement(statement.regions[1::-1], statement.asked)) == "relation-lookup"


def test_proofs_are_not_of_another_commitment(honest: tuple[Case, bytes, verifier.Argument]) -> None:
    given, _, made = honest
    policy, model, statement = NETWORKS["4-4-4-3"]
    other = case(policy, Model((model.weights[0] + 1, *model.weights[1:]), model.biases), statement)
    assert verdict(given, made, other.commit().root) == "relation-lookup"


class Spy(Transcript):
    """A transcript that notes what it hears, in the order of hearing."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, bytes]] = []
        super().__init__()

    def absorb(self, label: str, data: bytes) -> None:
        self.heard.append((label, data))
        super().absorb(label, data)


def test_everything_is_absorbed_before_the_challenges_that_follow(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("4-4-4-3", "ball"):
        given = case(*NETWORKS[name])
        model = given.commit()
        made = given.prove(model)
        spies: list[Spy] = []
        monkeypatch.setattr(argument, "Transcript", lambda: spies.append(Spy()) or spies[-1])  # noqa: B023
        assert verdict(given, made, model.root) == "verified"
        monkeypatch.undo()
        heard = spies[-1].heard
        labels = [label for label, _ in heard]
        assert labels[:7] == ["protocol", "policy", "claim", "box", "roots", "challenge/lookup/pole", "lookup/roots"]
        assert heard[2][1] == CLAIM and heard[4][1] == model.root + made.root
        said = [data for label, data in heard if "/" in label and label.split("/")[-1] in ("roots", "round", "ends", "claim", "value")]
        value = labels.index("opening/value")
        assert b"".join(said) == made.messages.astype("<u8").tobytes() + heard[value][1]  # the opening absorbs its value itself
        stages = [label.removeprefix("challenge/").split("/")[0] for label in labels[5:]]
        assert [stage for stage, before in pairwise([*stages, ""]) if stage != before] == ["lookup", "relation", "batch", "opening"]
        for before, label in pairwise(labels):
            if label in ("challenge/lookup/point", "challenge/relation/point", "challenge/batch/point"):
                assert before == label.removeprefix("challenge/").replace("point", "round")
        last = max(index for index, label in enumerate(labels) if label == "relation/claim")
        assert labels.index("challenge/relation/row") < labels.index("relation/claim") and labels[last + 1] == "challenge/batch/factor"
        assert labels[value - 1] == "batch/value"


class Deaf(Transcript):
    """A transcript of a verifier that does not absorb one label."""

    ignored = ""

    def absorb(self, label: str, data: bytes) -> None:
        if label != self.ignored:
            super().absorb(label, data)


@pytest.mark.parametrize("label", ["protocol", "policy", "claim", "box", "roots", "lookup/roots", "lookup/round", "lookup/ends", "relation/claim",
                                   "relation/round", "batch/round", "batch/value", "opening/value"])
def test_a_verifier_that_does_not_absorb_something_rejects_what_is_honest(label: str, honest: tuple[Case, bytes, verifier.Argument],
                                                                         monkeypatch: pytest.MonkeyPatch) -> None:
    given, root, made = honest
    monkeypatch.setattr(argument, "Transcript", Deaf)
    monkeypatch.setattr(Deaf, "ignored", label)
    assert verdict(given, made, root) != "verified"


def test_messages_are_words_of_the_field_and_none_is_left(honest: tuple[Case, bytes, verifier.Argument]) -> None:
    given, root, made = honest
    for messages in (made.messages[:-1], np.concatenate([made.messages, made.messages[:1]]), made.messages.ravel(), made.messages.astype(np.int64),
                     made.messages[:, :1], np.zeros((0, 2), np.uint64)):
        assert verdict(given, replace(made, messages=messages), root) == "argument-malformed"
    for index in (0, len(made.messages) // 2, len(made.messages) - 1):
        messages = made.messages.copy()
        messages[index, 1] = P + 5
        assert verdict(given, replace(made, messages=messages), root) == "argument-noncanonical"


def test_flips_are_rejected(honest: tuple[Case, bytes, verifier.Argument]) -> None:
    given, root, made = honest
    rng, found = np.random.default_rng(1), set()
    for index in rng.choice(len(made.messages), 60, replace=False):
        messages = made.messages.copy()
        messages[index, rng.integers(2)] ^= np.uint64(1 << int(rng.integers(64)))
        found.add(verdict(given, replace(made, messages=messages), root))
    assert "verified" not in found and {"relation-lookup", "argument-constraints"} <= found
    codes = set()
    for _ in range(60):
        opening, tree = made.opening, int(rng.integers(2))
        columns = [array.copy() for array in opening.columns]
        columns[tree][rng.integers(len(columns[tree])), rng.integers(columns[tree].shape[1])] ^= np.uint64(1 << int(rng.integers(64)))
        codes.add(verdict(given, replace(made, opening=replace(opening, columns=(columns[0], columns[1]))), root))
    assert codes <= {"argument-path", "argument-noncanonical"}


def test_the_ledger_has_what_a_run_consists_of() -> None:
    for name in ("4-4-4-3", "20-40-3", "ball", "score"):
        given = case(*NETWORKS[name])
        arranged = arrangement(given.policy, given.circuit.blocks.values())
        counted = count(given, arranged)
        made = given.prove()
        model = given.commit()
        assert counted.messages == len(made.messages) + 1 and counted.ranged_cells == 512 * len(arranged.ranged) >= given.circuit.cells
        depth = arranged.rows + arranged.columns
        assert counted.round_degrees == depth * (depth - 1) + 2 * depth + 16 * 15 + 2 * 16
        claims = counted.batch_degrees - 2 * depth + 1
        assert 2 < claims < len(made.messages)
        least = sum(1 for relation in given.circuit.relations if not (isinstance(relation, Linear) and relation.outside))
        assert counted.relation_degrees >= least and counted.constraints > len(given.circuit.relations)
        found = verify_clear(given.policy, model.root, given.statement, CLAIM, made, Limits())
        order = P**2
        assert found.entries["lookup"] == Fraction(counted.ranged_cells + (1 << 16), order)
        assert found.entries["batch"] == Fraction(claims - 1 + 2 * depth, order) and found.tenths >= 1000


def test_degrees_of_a_step_and_of_an_inner_product() -> None:
    """The rounds over 4 neurons of a step and its constant have degree 3, those of a product with a vector degree 2."""
    given = case(*NETWORKS["4-4-4-3"])
    arranged = arrangement(given.policy, given.circuit.blocks.values())
    whole = count(given, arranged).relation_degrees
    steps = [relation for relation in given.circuit.relations if isinstance(relation, Gated)]
    inner = [relation for relation in given.circuit.relations if isinstance(relation, Inner) and relation.name.endswith("c1")]
    without = replace(given.circuit, relations=tuple(relation for relation in given.circuit.relations if relation not in steps[:1]))
    rows = {2: 3, 3: 1}[int(steps[0].name.split("pass")[1][0])]
    with pytest.raises(ValueError, match="no relation defines"):
        count(given, arranged, without)
    assert inner[0].products[0].factors[1].axes == "k"
    only = [replace(given.circuit, relations=(relation,)) for relation in (steps[0], inner[0])]
    assert count(given, arranged, only[0]).relation_degrees == 2 * (2 * 3) + (rows + 2) + rows
    assert count(given, arranged, only[1]).relation_degrees == 2 * 2 + 3 < whole


def test_policies_without_their_level_are_declined() -> None:
    policy, model, statement = NETWORKS["4-4-4-3"]
    given = case(policy, model, statement)
    committed = given.commit()
    made = given.prove(committed)
    for code, other in (("commitment-soundness", replace(given.policy, queries=150)), ("commitment-limit", replace(given.policy, uses=2)),
                        ("commitment-limit", replace(given.policy, columns=256, codeword=1024))):
        assert verdict(given, made, committed.root, policy=other) == code
    assert verdict(given, made, committed.root, Statement((Box((0,) * 4, (-1,) * 4),), statement.asked)) == "claim-vacuous"
    assert verdict(given, made, committed.root, Statement((Box((0,) * 4, (99,) * 4),), statement.asked)) == "property-range"


def test_the_work_is_charged_before_it_is_done(honest: tuple[Case, bytes, verifier.Argument]) -> None:
    given, root, made = honest
    limits = Limits()
    verify_clear(given.policy, root, given.statement, CLAIM, made, limits)
    assert 1 << 26 < limits.spent < 1 << 31
    for work in (1 << 10, limits.spent - 1):
        with pytest.raises(Declined) as caught:
            verify_clear(given.policy, root, given.statement, CLAIM, made, Limits(work=work))
        assert caught.value.code == "limit-reached"


def test_identities_are_of_the_fields_of_their_relations() -> None:
    for policy, _, statement in (FULL, STOPPED, problem(width=3)):
        made = circuit(small(policy), statement)
        for relation in made.relations:
            first = relation.identities()[0]
            assert first.name == relation.name and first.code == relation.code and first.left == relation.left
        assert shape(small(policy), arrangement(small(policy), made.blocks.values())).degree == LEVELS[100]
        assert Parameters(100, 2, 1, policy.queries, shape(small(policy), arrangement(small(policy), made.blocks.values())).code).degree == 2


def test_the_verifier_imports_no_prover_and_nothing_compiled() -> None:
    script = ("import sys; import certify_zk.verifier\n"
              "bad = [name for name in sys.modules if name.split('.')[0] in ('numba', 'llvmlite', 'scipy') or name.startswith('certify_zk.')\n"
              "       and name.split('.')[1] in ('kernels', 'exact', 'witness', 'evaluation', 'prover') or name.endswith('_prover')]\n"
              "sys.exit(f'imported {bad}' if bad else 0)")
    assert subprocess.run([sys.executable, "-c", script], env={"PYTHONPATH": ":".join(sys.path)}, check=False).returncode == 0


def test_a_strict_dialogue_names_what_does_not_hold() -> None:
    given = case(*FULL)
    tables = dict(given.tables)
    slack = "region0.pass3.slack.0"
    tables[slack] = tables[slack].astype(np.int64) + np.eye(1, 2, dtype=np.int64)[0]
    model = given.commit()
    with pytest.raises(Rejected, match=r"region0\.pass3\.closure does not hold"):
        verify_clear(given.policy, model.root, given.statement, CLAIM, given.tampered(tables).prove(model), Limits())
