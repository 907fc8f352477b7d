# SPDX-License-Identifier: Apache-2.0
"""Arguments whose messages are masked: what they are bound to, their transcript, and changes of every part of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from flint import nmod_poly
from pads_cases import Case as Talk
from pads_cases import Sent, equations, sealed

from certify.errors import Declined
from certify.limits import Limits
from certify_zk import argument, prover, verifier
from certify_zk.affine import Affine
from certify_zk.dialogue import Dialogue, Padded, Recorded
from certify_zk.field import Element, Extension, P
from certify_zk.ligero import Opening
from certify_zk.pads import PadOpening, PadShape
from certify_zk.pads_prover import Pads, commit_pads
from certify_zk.publics import public_values
from certify_zk.statement import Box, Rows, Statement
from certify_zk.transcript import Transcript
from certify_zk.verifier import Argument, measured, verify
from certify_zk.witness import Model
from zk.arguments import CLAIM, Case, case, verdict
from zk.test_argument import NETWORKS, Deaf, Spy

Honest = tuple[Case, bytes, Argument]


@pytest.fixture(scope="module")
def honest() -> Honest:
    given = case(*NETWORKS["4-4-4-3"])
    model = given.commit()
    return given, model.root, given.prove(model, padded=True)


def test_a_masked_argument_is_determined_by_its_seed(honest: Honest) -> None:
    given, root, made = honest
    again, other = given.prove(padded=True), given.prove(seed=3, padded=True)
    assert again.pad_root == made.pad_root != other.pad_root and (again.messages == made.messages).all()
    assert not (made.messages == other.messages).any() and verdict(given, other, root) == verdict(given, made, root) == "verified"
    clear = given.prove()
    assert not np.isin(made.messages, clear.messages).any()


def test_a_masked_argument_is_about_its_statement(honest: Honest) -> None:
    given, root, made = honest
    box, rows = given.statement.regions[0], given.statement.asked
    assert isinstance(box, Box) and isinstance(rows, Rows)
    others = [
        Statement((Box(box.lower, (3, 3, 3, 2)),), rows), Statement((Box((box.lower[0] - 1, *box.lower[1:]), box.width),), rows),
        Statement((box,), Rows(rows.coefficients, (rows.thresholds[0] - 1, rows.thresholds[1]))),
        Statement((box,), Rows(rows.coefficients[::-1], rows.thresholds)),
    ]
    refused = ("argument-path", "argument-malformed")  # other challenges ask for other columns
    assert all(verdict(given, made, root, other) in refused for other in others)
    assert verdict(given, made, root, Statement((box, box), rows)) == "argument-malformed"
    for claim in (CLAIM + b" ", b"", b'{"kind":"test","nonce":1}'):
        assert verdict(given, made, root, claim=claim) in refused
    assert verdict(given, made, root, policy=replace(given.policy, uses=2, pads=2 * given.policy.pads)) != "verified"


def test_a_box_of_a_masked_certificate_is_not_another() -> None:
    policy, model, statement = NETWORKS["boxes"]
    given = case(policy, model, Statement(statement.regions[:2], statement.asked))
    committed = given.commit()
    made = given.prove(committed, padded=True)
    assert verdict(given, made, committed.root) == "verified"
    assert verdict(given, made, committed.root, Statement(statement.regions[1::-1], statement.asked)) in ("argument-path", "argument-malformed")


def test_roots_are_not_exchanged(honest: Honest) -> None:
    given, root, made = honest
    roots = root, made.root, made.pad_root
    for order in ((1, 0, 2), (2, 1, 0), (0, 2, 1), (1, 2, 0), (2, 0, 1), (0, 0, 2), (0, 1, 1)):
        changed = replace(made, root=roots[order[1]], pad_root=roots[order[2]])
        assert verdict(given, changed, roots[order[0]]) in ("argument-path", "argument-malformed")
    for wrong in (b"", made.pad_root[:31], made.pad_root + b"0"):
        assert verdict(given, replace(made, pad_root=wrong), root) == "argument-malformed"
    assert verdict(given, replace(made, pad_root=bytes([made.pad_root[0] ^ 1]) + made.pad_root[1:]), root) in ("argument-path", "argument-malformed")


def test_pads_of_another_argument_and_of_another_network(honest: Honest) -> None:
    given, root, made = honest
    other = given.prove(seed=3, padded=True)
    assert made.pads is not None and other.pads is not None
    for names in (["pads"], ["pads", "pad_root"], ["messages"], ["opening"], ["root"], ["pads", "pad_root", "messages"]):
        changed = replace(made, **{name: getattr(other, name) for name in names})
        assert verdict(given, changed, root) in ("argument-path", "argument-malformed")
    policy, model, statement = NETWORKS["4-4-4-3"]
    another = case(policy, Model((model.weights[0] + 1, *model.weights[1:]), model.biases), statement)
    assert verdict(given, made, another.commit().root) in ("argument-path", "argument-malformed")
    clear = given.prove()
    for changed in (replace(made, pads=None), clear, replace(clear, pads=made.pads, pad_root=made.pad_root),
                    replace(made, messages=clear.messages), replace(made, messages=np.zeros_like(made.messages))):
        assert _verified(given, root, changed) in ("argument-malformed", "argument-path")


def _verified(given: Case, root: bytes, made: Argument) -> str:
    """Return the verdict of the verifier of masked arguments, whatever it is given."""
    try:
        verify(given.policy, root, given.statement, CLAIM, made, Limits())
    except verifier.Rejected as trouble:
        return trouble.code
    return "verified"


def test_columns_and_paths_of_another_tree(honest: Honest, monkeypatch: pytest.MonkeyPatch) -> None:
    """What other trees have at the columns that are asked."""
    given, root, made = honest
    seen: list[tuple[PadShape, Pads]] = []
    real = prover.open_pads
    monkeypatch.setattr(prover, "open_pads", lambda transcript, shape, run, pads: seen.append((shape, pads)) or real(transcript, shape, run, pads))
    again = given.prove(padded=True)
    shape, pads = seen[0]
    other = sealed(shape, pads, pads.rows, 17)
    monkeypatch.setattr(prover, "open_pads", lambda transcript, shape, run, pads: real(transcript, shape, run, other))
    elsewhere = given.prove(padded=True)
    assert again.pads is not None and elsewhere.pads is not None
    assert (again.pads.columns == elsewhere.pads.columns).all() and (again.pads.u == elsewhere.pads.u).all()
    assert verdict(given, again, root) == "verified" and verdict(given, elsewhere, root) == "argument-path"
    for name in ("salts", "path"):
        changed = replace(again, pads=replace(again.pads, **{name: getattr(elsewhere.pads, name)}))
        assert verdict(given, changed, root) == "argument-path"
    changed = replace(made, opening=replace(made.opening, paths=made.opening.paths[::-1], salts=made.opening.salts[::-1]))
    assert verdict(given, changed, root) == "argument-path"


def test_arrays_of_pads_of_another_length(honest: Honest) -> None:
    given, root, made = honest
    assert made.pads is not None
    for field in fields(PadOpening):
        array = getattr(made.pads, field.name)
        for change in (array[:-1], np.concatenate([array, array[:1]]), array[:, :-1]):
            assert verdict(given, replace(made, pads=replace(made.pads, **{field.name: change})), root) == "argument-malformed"
    fewer = replace(made.pads, columns=made.pads.columns[:-1], salts=made.pads.salts[:-1])
    assert verdict(given, replace(made, pads=fewer), root) == "argument-malformed"
    for policy in (replace(given.policy, queries=given.policy.queries - 1), replace(given.policy, queries=150)):
        assert verdict(given, made, root, policy=policy) in ("commitment-soundness", "argument-malformed")


def test_masked_messages_are_words_of_the_field_and_none_is_left(honest: Honest) -> None:
    given, root, made = honest
    for messages in (made.messages[:-1], np.concatenate([made.messages, made.messages[:1]]), made.messages.ravel(), made.messages.astype(np.int64),
                     made.messages[:, :1], np.zeros((0, 2), np.uint64), np.array(5, np.uint64), made.messages[:, :, None]):
        assert verdict(given, replace(made, messages=messages), root) == "argument-malformed"
    for index in (0, len(made.messages) - 1):
        messages = made.messages.copy()
        messages[index, 1] = P
        assert verdict(given, replace(made, messages=messages), root) == "argument-noncanonical"
    for value, code in (((P, 0), "argument-noncanonical"), ((1,), "argument-malformed"), ((-1, 0), "argument-noncanonical")):
        assert verdict(given, replace(made, opening=replace(made.opening, mask_value=value)), root) == code


class Uncounted(np.ndarray[Any, np.dtype[np.uint64]]):
    """An array of messages that may not become Python integers."""

    def tolist(self) -> Any:
        raise AssertionError("messages were read before they were counted")


def test_messages_are_counted_before_they_are_read(honest: Honest) -> None:
    given, root, made = honest
    assert verdict(given, replace(made, messages=np.zeros((5000, 2), np.uint64).view(Uncounted)), root) == "argument-malformed"
    with pytest.raises(AssertionError, match="before they were counted"):
        verdict(given, replace(made, messages=made.messages.view(Uncounted)), root)


def test_flips_in_masked_arguments_are_rejected(honest: Honest) -> None:
    given, root, made = honest
    assert made.pads is not None
    rng, found = np.random.default_rng(1), set()
    names = [field.name for field in fields(PadOpening)]
    for number in range(60):
        name = names[number % len(names)]
        array = getattr(made.pads, name).copy()
        array.view(np.uint8).reshape(-1)[rng.integers(array.nbytes)] ^= np.uint8(1 << rng.integers(8))
        found.add(verdict(given, replace(made, pads=replace(made.pads, **{name: array})), root))
    for index in rng.choice(len(made.messages), 8, replace=False):
        messages = made.messages.copy()
        messages[index, rng.integers(2)] ^= np.uint64(1 << int(rng.integers(64)))
        found.add(verdict(given, replace(made, messages=messages), root))
    for name in ("columns", "salts", "paths", "u1", "u2"):
        arrays = getattr(made.opening, name)
        array = (arrays[1] if isinstance(arrays, tuple) else arrays).copy()
        array.view(np.uint8).reshape(-1)[rng.integers(array.nbytes)] ^= np.uint8(1 << rng.integers(8))
        changed: Any = (arrays[0], array) if isinstance(arrays, tuple) else array
        found.add(verdict(given, replace(made, opening=replace(made.opening, **{name: changed})), root))
    assert found <= {"argument-path", "argument-malformed", "argument-noncanonical"}


HEARD = ["protocol", "policy", "claim", "box", "roots", "lookup/roots", "lookup/round", "lookup/ends", "product/factor", "relation/claim",
         "relation/round", "batch/round", "batch/value", "opening/value", "opening/u1", "opening/mask", "opening/u2", "pads/u", "pads/linear",
         "pads/product"]
DRAWN = ["lookup/pole", "lookup/factor", "lookup/point", "lookup/joint", "relation/row", "relation/column", "relation/point", "batch/factor",
         "batch/point", "opening/gamma", "opening/scale", "opening/columns", "pads/challenges", "pads/rows", "pads/columns"]


@pytest.mark.parametrize("label", [*HEARD, *("challenge/" + label for label in DRAWN)])
def test_a_verifier_of_masked_arguments_that_does_not_absorb_something_rejects_what_is_honest(label: str, honest: Honest,
                                                                                             monkeypatch: pytest.MonkeyPatch) -> None:
    given, root, made = honest
    monkeypatch.setattr(argument, "Transcript", Deaf)
    monkeypatch.setattr(Deaf, "ignored", label)
    assert verdict(given, made, root) != "verified"


def test_everything_masked_is_absorbed_before_the_challenges_that_follow(honest: Honest, monkeypatch: pytest.MonkeyPatch) -> None:
    given, root, made = honest
    spies: list[Spy] = []
    monkeypatch.setattr(argument, "Transcript", lambda: spies.append(Spy()) or spies[-1])
    assert verdict(given, made, root) == "verified"
    heard = spies[-1].heard
    labels = [label for label, _ in heard]
    assert set(labels) == {*HEARD, *("challenge/" + label for label in DRAWN)}
    assert labels[:7] == ["protocol", "policy", "claim", "box", "roots", "challenge/lookup/pole", "lookup/roots"]
    assert heard[0][1] != argument.PROTOCOLS[2] and heard[2][1] == CLAIM and heard[4][1] == root + made.root + made.pad_root
    said = [data for label, data in heard if label.split("/")[0] in ("lookup", "relation", "batch", "product")]
    assert b"".join(said) == made.messages.astype("<u8").tobytes()
    absorbed = dict(heard)
    assert made.pads is not None
    assert absorbed["opening/value"] == made.messages[-1].astype("<u8").tobytes()
    assert absorbed["opening/mask"] == b"".join(word.to_bytes(8, "little") for word in made.opening.mask_value)
    for name, array in (("opening/u1", made.opening.u1), ("opening/u2", made.opening.u2), ("pads/u", made.pads.u),
                        ("pads/linear", made.pads.linear), ("pads/product", made.pads.product)):
        assert absorbed[name] == array.astype("<u8").tobytes() and labels.count(name) == 1
    assert labels[labels.index("opening/value") :] == [
        "opening/value", "challenge/opening/gamma", "opening/u1", "opening/mask", "challenge/opening/scale", "opening/u2",
        "challenge/opening/columns", "challenge/pads/challenges", "challenge/pads/rows", "pads/u", "pads/linear", "pads/product",
        "challenge/pads/columns"]
    for before, label in pairwise(labels):
        if label in ("challenge/lookup/point", "challenge/relation/point", "challenge/batch/point"):
            assert before == label.removeprefix("challenge/").replace("point", "round")


@pytest.mark.parametrize("name", ["4-4-4-3", "20-40-3", "ball", "score", "boxes", "1-1-1"])
def test_the_ledger_of_masked_arguments_has_what_a_run_consists_of(name: str) -> None:
    given = case(*NETWORKS[name])
    model = given.commit()
    made = given.prove(model, padded=True)
    sizes = measured(given.policy, given.statement, Limits())
    run = Padded(argument.begin(given.policy, given.statement, CLAIM, (model.root, made.root, made.pad_root)), Extension(2),
                 Recorded([tuple(words) for words in made.messages.tolist()]), None)
    remaining = argument.run(run, sizes.circuit, sizes.layout, public_values(given.policy, given.statement))
    run.check(verifier.opened(run, run.field.one, remaining.value, run.field.zero), Affine(run.field.zero), "x", "x")
    assert len(run.sent) == sizes.pads.messages == len(made.messages) + 1 and tuple(run.pairs) == sizes.pairs
    assert len(run.pairs) == sizes.pads.products == run.counts["products"] and len(run.constraints) == run.counts["constraints"]
    clear = measured(given.policy, given.statement, Limits(), Dialogue)
    assert clear.pads.products == 0 and clear.pads.messages == len(given.prove(model).messages) + 1 < sizes.pads.messages
    order = P**2
    found = verify(given.policy, model.root, given.statement, CLAIM, made, Limits())
    assert found == sizes.ledger and found.tenths >= 1000
    rows = -(-sizes.pads.products // sizes.pads.code.cells)
    assert found.entries["pad field"] * order == sizes.pads.code.length + len(run.constraints) + rows
    kappa, length = sizes.pads.code.dimension, sizes.pads.code.length
    agreeing = 2 * kappa - 2 + (length - kappa) // 2
    assert found.entries["pad queries"] * length**given.policy.queries == agreeing**given.policy.queries


def test_the_work_of_masked_arguments_is_charged_before_it_is_done(honest: Honest) -> None:
    given, root, made = honest
    limits = Limits()
    verify(given.policy, root, given.statement, CLAIM, made, limits)
    assert 1 << 28 < limits.spent < 1 << 32
    for work in (1 << 10, limits.spent >> 1, limits.spent - 1):
        with pytest.raises(Declined) as caught:
            verify(given.policy, root, given.statement, CLAIM, made, Limits(work=work))
        assert caught.value.code == "limit-reached"
    verify(given.policy, root, given.statement, CLAIM, made, Limits(work=limits.spent))


def tampered(given: Case, monkeypatch: pytest.MonkeyPatch, change: Callable[[PadShape, Pads], Pads], opened: bool = False) -> str:
    """Return the verdict on a prover that changes its pads before it commits to them, or before it opens them."""
    model, real = given.commit(), prover.open_pads
    if opened:
        monkeypatch.setattr(prover, "open_pads", lambda transcript, shape, run, pads: real(transcript, shape, run, change(shape, pads)))
    else:
        monkeypatch.setattr(prover, "commit_pads", lambda shape, pairs, draw: change(shape, commit_pads(shape, pairs, draw)))
    made = given.prove(model, padded=True)
    monkeypatch.undo()
    return verdict(given, made, model.root)


def bumped(row: Callable[[PadShape], int], commit: bool) -> Callable[[PadShape, Pads], Pads]:
    """Return a change of the constant coefficient of a row: of the values in all its slots."""
    def change(shape: PadShape, pads: Pads) -> Pads:
        rows = [list(polynomial) for polynomial in pads.rows]
        rows[row(shape)][0] = rows[row(shape)][0] + nmod_poly([1], P)
        return sealed(shape, pads, rows) if commit else replace(pads, rows=rows)
    return change


def test_pads_that_are_tampered_with_in_an_argument(monkeypatch: pytest.MonkeyPatch) -> None:
    given = case(*NETWORKS["4-4-4-3"])
    for row, code in ((lambda shape: 0, "argument-constraints"), (lambda shape: shape.place("x", 0)[0], "argument-constraints"),
                      (lambda shape: shape.place("z", 0)[0], "argument-constraints"), (lambda shape: shape.witness, "verified"),
                      (lambda shape: shape.witness + 1, "argument-constraints"), (lambda shape: shape.witness + 3, "argument-products"),
                      (lambda shape: shape.witness + 5, "argument-products")):
        assert tampered(given, monkeypatch, bumped(row, True)) == code
    for row, code in ((lambda shape: 0, "argument-constraints"), (lambda shape: shape.witness, "argument-lowdegree"),
                       (lambda shape: shape.witness + 4, "argument-products")):
        assert tampered(given, monkeypatch, bumped(row, False), opened=True) == code


def test_a_false_value_of_all_cells_that_its_own_pad_would_hide(monkeypatch: pytest.MonkeyPatch) -> None:
    """The prover lies in the value that is opened, or in the mask's value, and goes on honestly: masked, both look like any other."""
    given = case(*NETWORKS["4-4-4-3"])
    model, real = given.commit(), prover.ligero_prover.open_claim

    def value(self: prover.Answers) -> Element:
        (said,) = self._say(real_value(self))
        return self.field.add(said, self.field.one)
    real_value = prover.Answers.value
    monkeypatch.setattr(prover.Answers, "value", value)
    assert verdict(given, given.prove(model, padded=True), model.root) == "argument-constraints"
    monkeypatch.undo()

    def shifted(*args: Any) -> tuple[Opening, Element]:
        field, hide = Extension(2), args[-1]
        return real(*args[:-1], (hide[0], field.add(hide[1], field.one)))
    monkeypatch.setattr(prover.ligero_prover, "open_claim", shifted)
    assert verdict(given, given.prove(model, padded=True), model.root) == "argument-constraints"


def test_a_false_factor_of_a_product_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A factor that is no message becomes one: the prover sends another, and computes all that follows with it."""
    given = case(*NETWORKS["4-4-4-3"])
    model = given.commit()
    sent: list[Element] = []
    lie = [0]

    def echo(self: prover.Answers, value: Element | None) -> Element:
        assert value is not None
        sent.append(value)
        return self._say(self.field.add(value, self.field.one) if len(sent) == lie[0] else value)[0]
    monkeypatch.setattr(prover.Answers, "echo", echo)
    assert verdict(given, given.prove(model, padded=True), model.root) == "verified" and len(sent) > 10
    for place in np.random.default_rng(5).choice(len(sent), 8, replace=False).tolist():
        lie[0] = place + 1
        sent.clear()
        assert verdict(given, given.prove(model, padded=True), model.root) == "argument-constraints"


@dataclass(frozen=True, kw_only=True)
class Whole(Talk):
    """The run of an argument, its opening included."""

    given: Case
    model: bytes
    made: Argument

    @property
    def roots(self) -> tuple[bytes, bytes, bytes]:
        return self.model, self.made.root, self.made.pad_root

    @property
    def shape(self) -> PadShape:
        return measured(self.given.policy, self.given.statement, Limits()).pads

    def start(self, root: bytes) -> Transcript:
        return argument.begin(self.given.policy, self.given.statement, CLAIM, self.roots)

    def talk(self, run: Padded) -> None:
        policy, statement = self.given.policy, self.given.statement
        sizes = measured(policy, statement, Limits())
        verifier._run(run, sizes, policy, statement, self.roots, self.made.opening, Limits())


@pytest.mark.slow
@pytest.mark.parametrize(("name", "level"), [("4-4-4-3", 100), ("ball", 100), ("4-4-4-3", 128)])
def test_arguments_against_the_verifier_in_python_integers(name: str, level: int) -> None:
    """Whole arguments, honest and with a broken relation, satisfy the equations of the tableau, or break the sum of the constraints."""
    given = case(*NETWORKS[name], level=level)
    model = given.commit()
    slack = next(block for block in given.tables if block.endswith("slack.0"))
    table = np.array(given.tables[slack]).astype(np.int64)
    table.reshape(-1)[0] += 1
    for some, wrong in ((given, set()), (given.tampered({slack: table}), {"sum of linear"})):
        made = some.prove(model, padded=True)
        assert made.pads is not None and (verdict(some, made, model.root) == "verified") is not bool(wrong)
        whole = Whole(degree=made.messages.shape[1], given=some, model=model.root, made=made)
        sent = Sent(made.pad_root, [tuple(words) for words in made.messages.tolist()], made.pads)
        assert equations(whole, sent) == wrong


def test_transcripts_of_both_modes_are_apart() -> None:
    given = case(*NETWORKS["1-1-1"])
    roots: Sequence[bytes] = (b"a" * 32, b"b" * 32, b"c" * 32)
    states = {argument.begin(given.policy, given.statement, CLAIM, roots[:count]).state for count in (2, 3)}
    assert len(states) == 2 and argument.begin(given.policy, given.statement, CLAIM, roots).state != Transcript().state
