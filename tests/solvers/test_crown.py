# SPDX-License-Identifier: Apache-2.0
"""The crown prover against exact enumeration: what it proves holds, what it refutes is violated, and little stays unknown."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

import random_networks as made
from certify.certificate import Subject
from certify.claims.region import KIND
from certify.errors import UsageError
from certify.limits import Limits
from certify_solvers.common.emit import certificate, checked
from certify_solvers.common.prover import Effort, Outcome, Problem, Proved, Refuted
from certify_solvers.crown.kernel import forward, gradient, propagate
from certify_solvers.crown.prover import Crown
from kinds import region
from toolkit import model

_OPTIONS = {**Crown().options("region"), "restarts": "20", "boxes": "3000"}


def _problem(instance: region.Instance, **options: str) -> Problem:
    import hashlib

    files = {"model": model(instance.layers), "property": instance.text()}
    subjects = tuple(Subject(role, hashlib.sha256(data).hexdigest()) for role, data in files.items())
    given = KIND.given.decode(region.GIVEN, "given")
    return Problem("region", {"model": "model", "property": "property"}, subjects, files, given, {}, {**_OPTIONS, **options}, Limits())


def _prove(problem: Problem, seed: int = 0) -> Outcome:
    return Crown().prove(problem, Effort(seed=seed), lambda stage, facts: None)


def _run(seed: int, count: int) -> Counter[str]:
    rng = np.random.default_rng(seed)
    outcomes: Counter[str] = Counter()
    while sum(outcomes.values()) < count:
        instance = region.instance(rng)
        problem = _problem(instance)
        outcome = _prove(problem)
        if isinstance(outcome, (Proved, Refuted)):
            assert checked(certificate(outcome.draft, problem, "crown", 0), problem).claim.says["holds"] == isinstance(outcome, Proved)
            assert instance.violated() == isinstance(outcome, Refuted)
        outcomes[type(outcome).__name__] += 1
        if "split_at" in getattr(getattr(outcome, "draft", None), "arrays", {}):
            outcomes["split"] += 1
    return outcomes


def test_outcomes_are_true_and_few_are_unknown() -> None:
    outcomes = _run(41, 150)
    assert outcomes["Proved"] > 30 and outcomes["Refuted"] > 30 and outcomes["split"] >= 1
    assert outcomes["Unknown"] < 10


@pytest.mark.slow
def test_outcomes_are_true_in_a_long_run() -> None:
    assert _run(42, 3000)["Unknown"] < 150


def test_the_same_seed_gives_the_same_certificate() -> None:
    rng = np.random.default_rng(43)
    for _ in range(10):
        problem = _problem(region.instance(rng))
        first, second = _prove(problem, 7), _prove(problem, 7)
        if isinstance(first, (Proved, Refuted)) and isinstance(second, (Proved, Refuted)):
            assert certificate(first.draft, problem, "crown", 7) == certificate(second.draft, problem, "crown", 7)


def test_without_splits_less_is_proved_and_nothing_false() -> None:
    rng = np.random.default_rng(44)
    proved = 0
    for _ in range(60):
        instance = region.instance(rng)
        outcome = _prove(_problem(instance, method="crown"))
        if isinstance(outcome, Proved):
            proved += 1
            assert "split_at" not in outcome.draft.arrays and not instance.violated()
    assert proved > 10


@pytest.mark.parametrize(("name", "text"), [("method", "magic"), ("restarts", "0"), ("restarts", "-3"), ("restarts", "abc"), ("boxes", "1e9"),
                                           ("fraction_bits", "8"), ("fraction_bits", "5000"), ("arithmetic", "f32")])
def test_options_that_make_no_sense(name: str, text: str) -> None:
    with pytest.raises(UsageError) as caught:
        _prove(_problem(region.instance(np.random.default_rng(45)), **{name: text}))
    assert caught.value.code == "setting-value"


def test_a_time_limit_ends_the_search() -> None:
    instance = region.instance(np.random.default_rng(46))
    outcome = Crown().prove(_problem(instance), Effort(seconds=1e-9), lambda stage, facts: None)
    assert "time limit" in getattr(outcome, "why", "")


def test_float_bounds_and_gradients_are_right_up_to_rounding() -> None:
    rng = np.random.default_rng(47)
    for _ in range(60):
        net = made.network(rng, wild=False)
        lower, upper = made.box(rng, net.inputs, wild=False)
        low, high = np.array([[float(v) for v in lower]]), np.array([[float(v) for v in upper]])
        bounds = propagate(net, low, high)
        for point in made.points(rng, lower, upper, 4):
            values = forward(net, np.array([[float(v) for v in point]]))
            for k, exact in enumerate(made.exact_values(net, point)):
                size = 1e-9 * (1 + max(abs(float(v)) for v in exact))
                assert np.allclose(values[k][0], [float(v) for v in exact], atol=size)
                assert (bounds.lower[k][0] <= values[k][0] + size).all() and (values[k][0] <= bounds.upper[k][0] + size).all()
            rows = rng.standard_normal((1, net.outputs))
            slope = gradient(net, values, rows)[0]
            step = 1e-7
            moved = forward(net, np.array([[float(v) for v in point]]) + step * np.sign(slope))[-1]
            change = ((moved - values[-1]) * rows).sum()
            if all((np.abs(values[k]) > 1e-4).all() for k in net.activations):
                assert abs(change - step * np.abs(slope).sum()) < 1e-4 * (1e-7 + abs(change)) + 1e-12
