# SPDX-License-Identifier: Apache-2.0
"""One question through all stages: answers against the exact oracle for every norm, semantics and arithmetic, and evidence that is accepted."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from certify.claims import robust
from certify.errors import CertifyError
from certify.limits import Limits
from certify.rules.counterexample import violates
from certify.rules.evaluation import evaluate
from certify.rules.unsafe_set import UnsafeSet
from certify_solvers.common.prover import Effort
from certify_solvers.crown import decide as stages
from certify_solvers.crown.decide import Answer, Holds, Open, Settings, Violated, decide
from kinds import accuracy, common
from toolkit import Layers, Specimen, model, npy

QUICK = Settings(restarts=20, boxes=3000)


def _instance(rng: np.random.Generator, norm: str, semantics: str) -> tuple[Layers, np.ndarray[Any, Any], dict[str, Any]]:
    layers = common.tiny_layers(rng, int(rng.integers(2, 4)))
    points = rng.integers(0, 17, (1, 2)).astype(np.uint8)
    given = {"row": 0, "label": int(rng.integers(0, len(layers[-1][1]))), "norm": norm, "radius": str(Fraction(int(rng.integers(1, 40)), 10)),
             "radius_unit": "raw", "clip": ["0", "1"] if rng.random() < 0.5 else None, "scale": "1/16",
             "subtract": "0" if rng.random() < 0.5 else ["1/2", "1/4"], "divide": "1" if rng.random() < 0.5 else ["1/2", "2"],
             "semantics": semantics}
    return layers, points, given


def _unsafe(layers: Layers, points: np.ndarray[Any, Any], given: dict[str, Any]) -> UnsafeSet:
    return robust.problem(robust.KIND.given.decode(given, "given"), {"model": model(layers), "points": npy(points)}, Limits())


def _decide(unsafe: UnsafeSet, settings: Settings = QUICK, effort: Effort | None = None) -> Answer:
    return decide(unsafe, settings, effort or Effort(), Limits(), lambda stage, facts: None)


def _accept(layers: Layers, points: np.ndarray[Any, Any], given: dict[str, Any], answer: Holds) -> None:
    """Require that the checker verifies the certificate that the evidence makes."""
    made = Specimen("robust", {"model": ("net.onnx", model(layers)), "points": ("points.npy", npy(points))}, given, {"holds": True}, "bounds-tree",
                    dict(answer.items), answer.arrays, assumptions=["real-arithmetic"] if given["semantics"] == "real" else [])
    made.verify()


@pytest.mark.parametrize("semantics", ["real", "exec32"])
@pytest.mark.parametrize("norm", ["linf", "l2", "l1"])
def test_answers_are_true_and_few_stay_open(norm: str, semantics: str) -> None:
    rng = np.random.default_rng(71)
    counts: Counter[str] = Counter()
    for _ in range(60):
        layers, points, given = _instance(rng, norm, semantics)
        unsafe = _unsafe(layers, points, given)
        answer = _decide(unsafe)
        truth = accuracy.robust(layers, points[0], given["label"], given)
        counts[type(answer).__name__] += 1
        if isinstance(answer, Holds):
            assert truth is True
            _accept(layers, points, given, answer)
        elif isinstance(answer, Violated):
            assert truth is False
            x = answer.hit.x
            assert unsafe.parts[0].holds_input(x) and evaluate(unsafe.network, x, Limits()) == answer.hit.y
            assert any(violates(conjunct, x, answer.hit.y) for conjunct in unsafe.parts[0].conjuncts)
    assert counts["Holds"] >= 5 and counts["Violated"] >= 20 and counts["Open"] <= (6 if semantics == "real" else 10)


@pytest.mark.parametrize("norm", ["linf", "l2"])
@pytest.mark.parametrize("method", ["auto", "alpha", "crown"])
def test_methods_do_not_differ_in_what_is_true(norm: str, method: str) -> None:
    rng = np.random.default_rng(72)
    held = 0
    for _ in range(25):
        layers, points, given = _instance(rng, norm, "real")
        answer = _decide(_unsafe(layers, points, given), Settings(method=method, restarts=10, boxes=1000))
        if isinstance(answer, Holds):
            held += 1
            assert accuracy.robust(layers, points[0], given["label"], given) is True
            _accept(layers, points, given, answer)
            assert method == "auto" or "split_at" not in answer.arrays
            assert method != "crown" or set(answer.arrays) == {"tree"}
    assert held >= 2


def test_integers_where_they_are_asked_for() -> None:
    rng = np.random.default_rng(73)
    held = 0
    for _ in range(40):
        layers, points, given = _instance(rng, "linf", "real")
        answer = _decide(_unsafe(layers, points, given), Settings(restarts=10, boxes=1000, arithmetic="exact-int", fraction_bits=80))
        if isinstance(answer, Holds):
            held += 1
            assert answer.items == {"arithmetic": "exact-int", "fraction_bits": 80} and answer.margin > 0
            _accept(layers, points, given, answer)
    assert held >= 3


def test_a_margin_at_the_limits_of_binary64_is_shown_in_integers() -> None:
    # f_0 - f_1 = 2^-40 everywhere: f64-gamma deducts more than that where the bounds are of size 2^14, integers nothing
    layers: Layers = (([[1, 0], [1, 0]], [2.0**14, 2.0**14]), ([[1, 0], [0, 1]], [2.0**-40, 0]))
    points, given = np.zeros((1, 2), np.uint8), _instance(np.random.default_rng(0), "linf", "real")[2]
    given |= {"label": 0, "clip": None}
    answer = _decide(_unsafe(layers, points, given))
    assert isinstance(answer, Holds) and answer.items["arithmetic"] == "exact-int" and 0 < answer.margin <= 2.0**-40
    _accept(layers, points, given, answer)
    only = _decide(_unsafe(layers, points, given), Settings(restarts=10, arithmetic="f64-gamma"))
    assert isinstance(only, Open)
    tie: Layers = (layers[0], ([[1, 0], [0, 1]], [0, 0]))
    assert isinstance(_decide(_unsafe(tie, points, given)), Violated)


def test_the_same_seed_gives_the_same_answer_and_another_seed_a_true_one() -> None:
    rng = np.random.default_rng(74)
    for _ in range(8):
        layers, points, given = _instance(rng, "linf", "real")
        first, second, other = (_decide(_unsafe(layers, points, given), effort=Effort(seed=seed)) for seed in (5, 5, 6))
        assert type(first) is type(second)
        if isinstance(first, Holds) and isinstance(second, Holds):
            assert first.items == second.items and set(first.arrays) == set(second.arrays)
            assert all((first.arrays[name] == second.arrays[name]).all() for name in first.arrays)
        if isinstance(first, Violated) and isinstance(second, Violated):
            assert first.hit == second.hit
        assert not {type(first), type(other)} == {Holds, Violated}


def test_no_time_left_is_open_and_says_so() -> None:
    layers, points, given = _instance(np.random.default_rng(75), "linf", "real")
    assert _decide(_unsafe(layers, points, given), effort=Effort(seconds=1e-9)) == Open(-np.inf, True)


def test_stages_are_told_in_order() -> None:
    rng, seen = np.random.default_rng(76), set()
    for _ in range(20):
        layers, points, given = _instance(rng, "linf", "real")
        told: list[str] = []
        decide(_unsafe(layers, points, given), QUICK, Effort(), Limits(), lambda stage, facts, told=told: told.append(stage))  # type: ignore[misc]
        assert told == ["bounding", "attacking", "splitting"][: len(told)] and told
        seen.add(len(told))
    assert len(seen) > 1


def test_a_start_that_is_a_counterexample_is_taken() -> None:
    layers: Layers = (([[1, 0]], [0]), ([[0], [1]], [0.25, 0]))
    points = np.array([[16, 0]], np.uint8)
    given = {**_instance(np.random.default_rng(0), "linf", "real")[2], "label": 0, "radius": "1/1000", "clip": None, "subtract": "0", "divide": "1"}
    unsafe = _unsafe(layers, points, given)
    answer = decide(unsafe, QUICK, Effort(), Limits(), lambda stage, facts: None, np.array([[1.0, 0.0]]))
    assert isinstance(answer, Violated)


def test_the_checker_decides_about_integers(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: object) -> None:
        raise CertifyError("leaf-uncovered", "no")
    rng, tried = np.random.default_rng(77), 0
    while tried < 3:
        layers, points, given = _instance(rng, "linf", "real")
        settings = Settings(restarts=10, boxes=1000, arithmetic="exact-int")
        if isinstance(_decide(_unsafe(layers, points, given), settings), Holds):
            tried += 1
            with monkeypatch.context() as patch:
                patch.setattr(stages, "check", refuse)
                assert isinstance(_decide(_unsafe(layers, points, given), settings), Open)


@pytest.mark.parametrize("arithmetic", ["f64-gamma", "exact-int"])
def test_float32_evidence_that_is_refused_is_searched_again_with_a_margin(arithmetic: str, monkeypatch: pytest.MonkeyPatch) -> None:
    given = {"row": 0, "label": 0, "norm": "linf", "radius": "1", "radius_unit": "raw", "clip": None, "scale": "1/16", "subtract": "0",
             "divide": "1", "semantics": "exec32"}
    unsafe = _unsafe([([[1.0, 0.0], [0.0, 1.0]], [1.0, 0.0])], np.array([[4, 4]], np.uint8), given)
    assert isinstance(_decide(unsafe, Settings(arithmetic=arithmetic)), Holds)
    shares: list[float] = []
    search = stages._decide

    def noted(*words: Any) -> Answer:
        shares.append(words[-1])
        return search(*words)

    monkeypatch.setattr(stages, "_decide", noted)
    monkeypatch.setattr(stages, "accepted", lambda *words: None)
    _decide(unsafe, Settings(arithmetic=arithmetic))
    assert shares == [0.0, 0.1, 1.0]
