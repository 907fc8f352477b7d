# SPDX-License-Identifier: Apache-2.0
"""What an argument with points shows: the simulator of its last proof, answers that are one-time pads, and two witnesses that look alike."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from zk.hyrax_cases import ARRAYS, commit, pointed, prove  # isort: skip  (skips the module where a package is missing)

from certify.errors import Rejected
from certify_zk import hyrax_prover
from certify_zk.group import encoded, group
from certify_zk.hyrax import generators
from certify_zk.hyrax_equations import COLUMN, H, Linear, Shape, U, folded, verify_last
from certify_zk.hyrax_prover import pedersen, uniform
from certify_zk.prime_field import R, ScalarTranscript, inner, packed, powers
from certify_zk.witness import Model
from zk.arguments import case
from zk.test_argument import NETWORKS

SHAPE = Shape(8, 1, 3, 13, 11)
CURVE = group()
BASE = generators(CURVE, SHAPE.columns)


class Programmed(ScalarTranscript):
    """A transcript whose challenge of the last proof was chosen before."""

    def __init__(self, challenge: int) -> None:
        super().__init__()
        self.chosen = challenge

    def elements(self, label: str, count: int, degree: int) -> list[tuple[int, ...]]:
        found = super().elements(label, count, degree)
        return [(self.chosen,)] if label == "hyrax/challenge" else found


def minus(point: Any, *terms: tuple[int, Any]) -> Any:
    """Return a point less multiples of points."""
    return CURVE.combination([point, *(other for _, other in terms)], [1, *(-factor % R for factor, _ in terms)])


def simulated(equation: Linear, rows: list[Any], slots: list[Any], c: int, draw: Callable[[int], bytes]) -> tuple[list[Any], list[int]]:
    """Return points and answers as the simulator of docs/hyrax.md, 9, makes them, which knows points, the equation and the challenge."""
    k, width = SHAPE.rounds, SHAPE.columns
    power, answers = powers(c, 2 * k), uniform(draw, SHAPE.responses)
    last = CURVE.combination(rows, equation.weights)
    z, (t, u) = answers[:width], answers[width : width + 2]
    start = minus(pedersen(CURVE, BASE, z, t), *((power[i + 1], point) for i, point in enumerate([*slots, last])))
    values = [CURVE.combination([BASE[H]], [blind]) for blind in uniform(draw, 2 * k - 2)]  # V_d for d >= 1, d /= k
    compared = CURVE.combination([BASE[U], BASE[H]], [(inner(folded(equation, c), z) - power[k] * equation.due) % R, u])
    first = [start, minus(compared, *zip([power[d] for d in range(1, 2 * k) if d != k], values, strict=True)), *values]
    begun = width + 2
    for block, count in enumerate(SHAPE.blocks):
        x, y, (h_x, h_y, h_z) = (answers[begun : begun + count], answers[begun + count : begun + 2 * count],
                                 answers[begun + 2 * count : begun + 2 * count + 3])
        begun += 2 * count + 3
        own = [slots[SHAPE.product_row(part, block)] for part in range(3)]
        mixed = CURVE.combination([BASE[H]], uniform(draw, 1))
        product = [a * b % R for a, b in zip(x, y, strict=True)]
        first += [minus(pedersen(CURVE, BASE, x, h_x), (c, own[0])), minus(pedersen(CURVE, BASE, y, h_y), (c, own[1])), mixed,
                  minus(pedersen(CURVE, BASE, product, h_z), (c, mixed), (c * c % R, own[2]))]
    return first, answers


def random_equation(rng: np.random.Generator) -> Linear:
    """Return an equation with random coefficients and sum."""
    draw = rng.bytes
    return Linear([uniform(draw, SHAPE.columns) for _ in range(SHAPE.rounds)], uniform(draw, 1)[0], uniform(draw, SHAPE.rows))


def test_the_simulator_convinces_a_verifier_whose_challenge_it_knows() -> None:
    """Of random points, which satisfy nothing."""
    rng = np.random.default_rng(1)
    equation = random_equation(rng)
    rows, slots = ([CURVE.combination([BASE[H]], uniform(rng.bytes, 1)) for _ in range(count)] for count in (SHAPE.rows, SHAPE.slots))
    c = uniform(rng.bytes, 1)[0]
    first, answers = simulated(equation, rows, slots, c, rng.bytes)
    assert len(first) == SHAPE.first and len(answers) == SHAPE.responses
    sent = (encoded(CURVE, first), first), (np.frombuffer(packed(answers), np.uint8).reshape(-1, 32), answers)
    verify_last(Programmed(c), CURVE, BASE, SHAPE, equation, rows, slots, *sent)
    for transcript in (Programmed(c + 1), ScalarTranscript()):
        with pytest.raises(Rejected):
            verify_last(transcript, CURVE, BASE, SHAPE, equation, rows, slots, *sent)


def answers_of(equation: Linear, rows: hyrax_prover.Points, c: int, draw: Callable[[int], bytes]) -> list[int]:
    """Return the answers of the prover to a challenge."""
    run: Any = SimpleNamespace(transcript=Programmed(c))
    _, responses = hyrax_prover._last(run, CURVE, SHAPE, equation, rows, draw)
    return [int.from_bytes(row.tobytes(), "little") for row in responses]


def test_answers_are_the_sum_of_something_fixed_and_of_what_was_drawn() -> None:
    """For a fixed challenge each answer has a fresh uniform summand of its own: z, t, u_0, x', y', and the blinding of X', Y' and E0."""
    rng = np.random.default_rng(2)
    equation, c = random_equation(rng), uniform(rng.bytes, 1)[0]
    k, width = SHAPE.rounds, SHAPE.columns
    rows = hyrax_prover.Points([uniform(rng.bytes, width) for _ in range(k)], uniform(rng.bytes, k), np.zeros((0, 48), np.uint8))
    drawn: list[list[int]] = []

    def draw(count: int) -> bytes:
        data = rng.bytes(count)
        drawn.append([int.from_bytes(data[start : start + 64], "little") % R for start in range(0, count, 64)])
        return data
    plain, masked = answers_of(equation, rows, c, bytes), answers_of(equation, rows, c, draw)
    power = powers(c, 2 * k)
    pi, (t,), u, blocks = drawn[0], drawn[1], drawn[2], drawn[3:]
    expected = [*pi, t, sum(power[d] * u[d] for d in range(2 * k) if d != k) % R]
    for x, y, blind in zip(blocks[::3], blocks[1::3], blocks[2::3], strict=True):
        expected += [*x, *y, blind[0], blind[1], (blind[3] + c * blind[2]) % R]
    assert [(a - b) % R for a, b in zip(masked, plain, strict=True)] == expected


def test_points_of_rows_are_uniform_by_their_blinding() -> None:
    """Com(v; s) is that of another row with other blinding: where one knows the logarithms, any row opens a point."""
    rng = np.random.default_rng(4)
    logarithms, blind = uniform(rng.bytes, 8), uniform(rng.bytes, 1)[0]
    known = [BASE[H], BASE[U], *(CURVE.combination([BASE[H]], [factor]) for factor in logarithms)]
    first, second = uniform(rng.bytes, 8), uniform(rng.bytes, 8)
    other = (blind + inner(logarithms, first) - inner(logarithms, second)) % R
    assert CURVE.encode(pedersen(CURVE, known, first, blind)) == CURVE.encode(pedersen(CURVE, known, second, other)) and COLUMN == 2


def test_every_row_of_every_argument_has_blinding_of_its_own() -> None:
    given = pointed(case(*NETWORKS["4-4-4-3"]))
    model = commit(given)
    seen = [row.tobytes() for seed in range(3) for made in (prove(given, model, seed),) for name in ARRAYS[1:] if name != "messages"
            for row in getattr(made, name)]
    assert len(set(seen)) == len(seen)  # most rows of multiplicities are equal, all zero
    assert len(set(model.blinds)) == len(model.blinds) and all(model.blinds)


def _distance(words: np.ndarray[Any, Any], others: np.ndarray[Any, Any], shift: int) -> float:
    """Return the chi-square statistic, per degree of freedom, of the counts of four bits in two samples of one size."""
    counts = [np.bincount((sample >> shift & 15).ravel(), minlength=16) for sample in (words, others)]
    return float(((counts[0] - counts[1]) ** 2 / np.maximum(counts[0] + counts[1], 1)).sum() / 15)


def test_two_networks_look_alike() -> None:
    """Chi-square with 15 degrees of freedom exceeds 45 once in ten thousand times; messages that are not masked are seen at once."""
    policy, model, statement = NETWORKS["4-4-4-3"]
    other = Model(tuple(np.sign(weight) for weight in model.weights), model.biases)
    samples: list[dict[str, np.ndarray[Any, Any]]] = []
    for some in (model, other):
        given = pointed(case(policy, some, statement))
        committed = commit(given)
        made = [prove(given, committed, seed) for seed in range(4)]
        samples.append({name: np.concatenate([getattr(each, name) for each in made]).astype(np.int64) for name in ARRAYS[1:]})
    for name in ("messages", "responses", "rows", "slots", "first"):
        for byte in (0, 7, 15, 30):
            for shift in (0, 4):
                assert _distance(samples[0][name][:, byte], samples[1][name][:, byte], shift) < 3, name


def test_the_statistic_sees_messages_that_are_not_masked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without pads a message that is 0 or small shows: its high bytes are 0."""
    given = pointed(case(*NETWORKS["4-4-4-3"]))
    bare = replace(given)
    monkeypatch.setattr(hyrax_prover, "uniform", lambda draw, count: [0] * count)
    monkeypatch.setattr(hyrax_prover, "encoded", lambda curve, points: np.zeros((len(list(points)), 48), np.uint8))
    monkeypatch.setattr(hyrax_prover, "challenged", lambda transcript, first: 1)
    model = hyrax_prover.commit_model(bare.policy, bare.circuit.blocks, bare.tables, bytes)
    made = hyrax_prover.prove(bare.policy, bare.statement, b"", bare.tables, model, bytes)
    random = np.random.default_rng(1).integers(0, 256, made.responses.shape)
    assert _distance(made.responses[:, 30].astype(np.int64), random[:, 30], 0) > 10
