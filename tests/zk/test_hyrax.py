# SPDX-License-Identifier: Apache-2.0
"""Arguments with rows committed as points: honest ones, what they are bound to, damaged ones, their ledger and their transcript."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from zk.hyrax_cases import ARRAYS, commit, played, pointed, prove, verdict  # isort: skip  (skips the module where a package is missing)

from certify.errors import Declined
from certify.limits import Limits
from certify_zk import group, hyrax, soundness
from certify_zk.hyrax import HyraxArgument
from certify_zk.hyrax_equations import Shape
from certify_zk.prime_field import R, ScalarTranscript
from certify_zk.statement import Box, Rows, Statement
from certify_zk.verifier import arrangement, counts
from certify_zk.witness import Choices, Model
from zk.arguments import CLAIM, Case, Tidy, case
from zk.convolutions import NETWORKS as CONVOLUTIONS
from zk.test_argument import NETWORKS
from zk.tiny import specimen

Honest = tuple[Case, bytes, HyraxArgument]


@pytest.fixture(scope="module")
def honest() -> Honest:
    given = pointed(case(*NETWORKS["4-4-4-3"]))
    model = commit(given)
    return given, model.root, prove(given, model)


@pytest.mark.parametrize("name", NETWORKS)
def test_honest_arguments_verify_with_both_groups(name: str) -> None:
    given = pointed(case(*NETWORKS[name]))
    model = commit(given)
    made = prove(given, model)
    assert [verdict(given, made, model.root, reference=reference) for reference in (False, True)] == ["verified"] * 2


@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_honest_arguments_about_convolutions_verify(name: str) -> None:
    assert played(case(*CONVOLUTIONS[name])) == "verified"


def test_honest_arguments_of_random_networks_verify() -> None:
    rng = np.random.default_rng(100)
    for number in range(6):
        assert played(case(*specimen(rng), Tidy(rng) if number % 2 else Choices())) == "verified"


def test_an_argument_is_determined_by_its_seed_and_a_commitment_serves_many(honest: Honest) -> None:
    given, root, made = honest
    model = commit(given)
    again, other = prove(given, model), prove(given, model, seed=3)
    assert all((getattr(again, name) == getattr(made, name)).all() for name in ARRAYS)
    assert all((getattr(other, name) != getattr(made, name)).any() for name in ARRAYS[1:]) and (other.model_rows == made.model_rows).all()
    assert verdict(given, other, root) == "verified" and commit(given, seed=2).root != root


def test_an_argument_is_about_its_statement(honest: Honest) -> None:
    given, root, made = honest
    box, rows = given.statement.regions[0], given.statement.asked
    assert isinstance(box, Box) and isinstance(rows, Rows)
    others = [
        Statement((Box(box.lower, (3, 3, 3, 2)),), rows), Statement((box,), Rows(rows.coefficients, (rows.thresholds[0] - 1, rows.thresholds[1]))),
        Statement((box,), Rows(rows.coefficients[::-1], rows.thresholds)),
    ]
    for other in others:
        assert verdict(given, made, root, other) in ("argument-constraints", "argument-opening")
    assert verdict(given, made, root, Statement((box, box), rows)) == "argument-malformed"
    assert verdict(given, made, root, claim=CLAIM + b" ") in ("argument-constraints", "argument-opening")
    assert verdict(given, made, root, policy=replace(given.policy, uses=2)) in ("argument-constraints", "argument-opening")
    assert verdict(given, made, bytes([root[0] ^ 1]) + root[1:]) == "argument-path"
    with pytest.raises(Declined) as caught:
        hyrax.verify(given.policy, root, given.statement, CLAIM, made, Limits(), len(made.model_rows) + 1)
    assert caught.value.code == "commitment-root"


def test_proofs_are_not_of_another_commitment(honest: Honest) -> None:
    given, _, made = honest
    policy, model, statement = NETWORKS["4-4-4-3"]
    other = commit(pointed(case(policy, Model((model.weights[0] + 1, *model.weights[1:]), model.biases), statement)))
    assert verdict(given, made, other.root) == "argument-path"
    assert verdict(given, replace(made, model_rows=other.points), other.root) in ("argument-constraints", "argument-opening")
    assert verdict(given, made, commit(given, seed=5).root) == "argument-path"  # the same network, other blinding


@pytest.mark.parametrize("name", ARRAYS)
def test_flips_are_rejected(name: str, honest: Honest) -> None:
    given, root, made = honest
    rng, array, codes = np.random.default_rng(1), getattr(made, name), set()
    for _ in range(60):
        changed = array.copy()
        changed[rng.integers(len(array)), rng.integers(array.shape[1])] ^= np.uint8(1 << int(rng.integers(8)))
        codes.add(verdict(given, replace(made, **{name: changed}), root))
    allowed = {"model_rows": {"argument-path"}, "messages": {"argument-noncanonical", "argument-opening", "argument-constraints"},
               "responses": {"argument-noncanonical", "argument-opening", "argument-constraints", "argument-products"}}
    assert codes <= allowed.get(name, {"point-invalid", "argument-opening"}) and codes


def test_points_exchanged_are_rejected(honest: Honest) -> None:
    given, root, made = honest
    for name in ("rows", "slots", "first"):
        array = getattr(made, name)
        changed = array.copy()
        changed[[0, 1]] = array[[1, 0]]
        assert verdict(given, replace(made, **{name: changed}), root) in ("argument-opening", "argument-constraints")


def test_answers_to_another_challenge_are_rejected(honest: Honest) -> None:
    given, root, made = honest
    other = prove(given, commit(given), seed=3)
    for some in ({"responses": other.responses}, {"first": other.first, "responses": other.responses}, {"first": other.first}):
        assert verdict(given, replace(made, **some), root) == "argument-opening"


def test_each_equation_of_the_last_proof_has_its_code(honest: Honest) -> None:
    """An answer that one equation alone contains: t, u, and the blinding of x^, of y^ and of their product."""
    given, root, made = honest
    columns = given.policy.columns
    codes = {columns: "argument-opening", columns + 1: "argument-constraints", -3: "argument-opening", -2: "argument-opening",
             -1: "argument-products"}
    for index, code in codes.items():
        changed = made.responses.copy()
        value = int.from_bytes(changed[index].tobytes(), "little")
        changed[index] = np.frombuffer(((value + 1) % R).to_bytes(32, "little"), np.uint8)
        assert verdict(given, replace(made, responses=changed), root) == code


def test_arrays_have_the_sizes_of_the_statement(honest: Honest) -> None:
    given, root, made = honest
    for name in ARRAYS:
        array = getattr(made, name)
        for changed in (array[:-1], np.concatenate([array, array[:1]]), array[:, :-1], array.ravel(), array.astype(np.uint16), array[:0]):
            assert verdict(given, replace(made, **{name: changed}), root) == "argument-malformed"


def test_numbers_of_the_order_or_more_are_refused(honest: Honest) -> None:
    given, root, made = honest
    for name in ("messages", "responses"):
        for index in (0, -1):
            changed = getattr(made, name).copy()
            value = int.from_bytes(changed[index].tobytes(), "little") + R
            for other in {R, (1 << 256) - 1, *([value] if value < 1 << 256 else [])}:
                changed[index] = np.frombuffer(other.to_bytes(32, "little"), np.uint8)
                assert verdict(given, replace(made, **{name: changed}), root) == "argument-noncanonical"


class Deaf(ScalarTranscript):
    """A transcript that does not absorb one label."""

    ignored = ""

    def absorb(self, label: str, data: bytes) -> None:
        if label != self.ignored:
            super().absorb(label, data)


LABELS = ["protocol", "policy", "claim", "box", "roots", "lookup/roots", "lookup/round", "lookup/ends", "relation/claim", "relation/round",
          "product/factor", "batch/round", "batch/value", "hyrax/first"]


@pytest.mark.parametrize("label", LABELS)
def test_a_verifier_that_does_not_absorb_something_rejects_what_is_honest(label: str, honest: Honest, monkeypatch: pytest.MonkeyPatch) -> None:
    given, root, made = honest
    monkeypatch.setattr(hyrax, "ScalarTranscript", Deaf)
    assert verdict(given, made, root) == "verified"
    monkeypatch.setattr(Deaf, "ignored", label)
    assert verdict(given, made, root) != "verified"


def test_every_label_is_absorbed_in_its_place(honest: Honest, monkeypatch: pytest.MonkeyPatch) -> None:
    given, root, made = honest
    heard: list[tuple[str, bytes]] = []

    class Spy(ScalarTranscript):
        def absorb(self, label: str, data: bytes) -> None:
            heard.append((label, data))
            super().absorb(label, data)
    sizes = hyrax.measured(given.policy, given.statement, Limits())
    monkeypatch.setattr(hyrax, "measured", lambda *_: sizes)
    monkeypatch.setattr(hyrax, "ScalarTranscript", Spy)
    assert verdict(given, made, root) == "verified"
    labels = [label for label, _ in heard]
    assert labels[:6] == ["protocol", "policy", "claim", "box", "roots", "challenge/lookup/pole"] and heard[0][1] == b"certify/private/hyrax/1"
    assert heard[4][1] == b"".join([root, *(group.digest(points) for points in (made.rows, made.slots))])
    assert labels[-6:] == ["batch/value", "challenge/hyrax/weight", "hyrax/first", "challenge/hyrax/challenge", "hyrax/response",
                           "challenge/hyrax/combine"]
    assert {label for label in labels if not label.startswith("challenge/")} == {*LABELS, "hyrax/response"}
    messages = [data for label, data in heard if label.split("/")[0] in ("lookup", "relation", "batch", "product")]
    assert b"".join(messages) == made.messages.tobytes()
    assert heard[-4][1] == made.first.tobytes() and heard[-2][1] == made.responses.tobytes()


def test_elements_of_the_transcript_are_wide_numbers_modulo_the_order() -> None:
    first, second = ScalarTranscript(), ScalarTranscript()
    words = second._words("some")
    wide = [sum(next(words) << 64 * i for i in range(8)) for _ in range(3)]
    assert first.elements("some", 3, 1) == [(value % R,) for value in wide] and max(wide) >= R
    first.element("said", (5,))
    second.absorb("said", (5).to_bytes(32, "little"))
    assert first.state == second.state


def test_the_ledger_has_what_a_run_consists_of(honest: Honest) -> None:
    given, root, made = honest
    found = hyrax.verify(given.policy, root, given.statement, CLAIM, made, Limits())
    arranged = arrangement(given.policy, given.circuit.blocks.values())
    run = hyrax.rehearsal(given.policy, given.statement, given.circuit, arranged)
    counted, sizes = counts(run, arranged), hyrax.measured(given.policy, given.statement, Limits())
    assert counted.messages == len(made.messages) and counted.products == len(run.pairs) == len(sizes.pairs)
    assert found.entries["lookup"] == Fraction(counted.ranged_cells + (1 << 16), R)
    assert found.entries["constraints"] == Fraction(len(run.constraints) + 1, R)
    assert found.entries["answers"] == Fraction(2 * (len(made.slots) + 1), R) and found.entries["group"] == Fraction(1, 1 << 117)
    assert sum(found.entries.values()) - found.entries["group"] < Fraction(1, 1 << 225) and found.tenths == 1169


def test_sizes_of_the_last_proof() -> None:
    shape = Shape(64, 3, 10, 130, 100)
    assert (shape.message_rows, shape.blocks, shape.slots, shape.rounds, shape.first, shape.responses) == (3, [64, 36], 9, 10, 28, 64 + 2 + 200 + 6)
    assert [shape.place(name, 70) for name in ("message", "x", "y", "z")] == [(1, 6), (4, 6), (6, 6), (8, 6)]


def test_policies_that_have_no_hyrax_are_declined(honest: Honest) -> None:
    given, root, made = honest
    for changes in ({"level": 128}, {"queries": 1}, {"pads": 64}, {"codeword": 2048}, {"columns": 32}, {"columns": 2048}, {"columns": 96},
                    {"uses": 65}, {"backend": "other"}):
        with pytest.raises(Declined) as caught:
            replace(given.policy, **changes).require()
        assert caught.value.code == "commitment-limit"
    given.policy.require()
    with pytest.raises(Declined) as caught:
        hyrax.require_cells((1 << 20) + 1)
    assert caught.value.code == "commitment-limit"
    assert verdict(given, made, root, policy=replace(given.policy, level=128)) == "commitment-limit"
    counted = soundness.Counts(1 << 20, 2000, 2000, 2000, 4000, 4000, 400)
    assert soundness.group_ledger(100, R, counted, 50).tenths == 1169
    with pytest.raises(Declined) as caught:
        soundness.group_ledger(128, R, counted, 50)
    assert caught.value.code == "commitment-soundness"


def test_the_work_is_charged_before_it_is_done(honest: Honest) -> None:
    given, root, made = honest
    limits = Limits()
    hyrax.verify(given.policy, root, given.statement, CLAIM, made, limits)
    assert 1 << 30 < limits.spent < 1 << 34
    for work in (1 << 10, limits.spent - 1):
        with pytest.raises(Declined) as caught:
            hyrax.verify(given.policy, root, given.statement, CLAIM, made, Limits(work=work))
        assert caught.value.code == "limit-reached"


@pytest.fixture
def forgetful() -> Iterator[None]:
    """Forget the groups that were made, before and after."""
    for made in (group._compiled, group._reference):
        made.cache_clear()
    yield
    for made in (group._compiled, group._reference):
        made.cache_clear()


def test_packages_that_are_missing(honest: Honest, monkeypatch: pytest.MonkeyPatch, forgetful: None) -> None:
    given, root, made = honest
    monkeypatch.setitem(sys.modules, "py_arkworks_bls12381", None)
    assert group.group().name == group.group(True).name == "py_ecc" and verdict(given, made, root) == "verified"
    group._reference.cache_clear()
    for name in [name for name in sys.modules if name.split(".")[0] == "py_ecc"]:
        monkeypatch.setitem(sys.modules, name, None)
    assert verdict(given, made, root) == verdict(given, made, root, reference=True) == "backend-missing"


def test_the_verifier_imports_no_prover_and_no_group_before_it_is_needed() -> None:
    script = ("import sys; import certify_zk.hyrax\n"
              "bad = [name for name in sys.modules if name.split('.')[0] in ('numba', 'llvmlite', 'scipy', 'py_ecc', 'py_arkworks_bls12381')\n"
              "       or name.startswith('certify_zk.') and name.split('.')[1] in ('kernels', 'exact', 'witness', 'evaluation', 'prover',\n"
              "                                                                  'hyrax_source', 'hyrax_sums') or name.endswith('_prover')]\n"
              "from certify_zk.group import group; group(reference=True)\n"
              "bad += [name for name in ('py_arkworks_bls12381', 'numba') if name in sys.modules]\n"
              "sys.exit(f'imported {bad}' if bad else 0)")
    assert subprocess.run([sys.executable, "-c", script], env={"PYTHONPATH": ":".join(sys.path)}, check=False).returncode == 0
