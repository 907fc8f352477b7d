# SPDX-License-Identifier: Apache-2.0
"""Branch and bound on inputs: what it closes the checker accepts, the same tree with any number of workers, and every way to end without one."""

from __future__ import annotations

import multiprocessing
import os
import signal
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import random_networks as made
from certify.certificate import Evidence
from certify.limits import Limits
from certify.readers.formula import Part, Row
from certify.readers.network import Dense, Network, Relu
from certify.rules.bounds_tree import check
from certify.rules.unsafe_set import BOUNDS_TREE, UnsafeSet, arithmetic
from certify_solvers.common.pool import Pool
from certify_solvers.common.prover import Effort
from certify_solvers.crown import input_split
from certify_solvers.crown.decide import Holds, Settings, decide
from certify_solvers.crown.input_split import Closed, Rows, search
from certify_solvers.crown.kernel import backward, propagate
from certify_solvers.crown.mix import combine

Box = tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]


def _network(rng: np.random.Generator, sizes: tuple[int, ...] = (3, 12, 12, 2)) -> Network:
    layers: list[Dense | Relu] = []
    for n, m in pairwise(sizes):
        layers += [Dense(rng.standard_normal((m, n)).astype(np.float32).astype(float) / np.sqrt(n), rng.standard_normal(m) / 4), Relu(m)]
    return Network((sizes[0],), sizes[0], tuple(layers[:-1]))


def _rows(rng: np.random.Generator, network: Network, conjuncts: tuple[int, ...], share: float) -> tuple[Rows, Box]:
    """Return rows of which, at every one of many points, one is positive in each conjunct, by so much of their spread, and a box."""
    box = -np.ones(network.inputs), np.ones(network.inputs)
    values = np.clip(rng.uniform(-1.5, 1.5, (20000, network.inputs)), -1, 1)  # many at the edges
    for layer in network.layers:
        values = np.maximum(values, 0) if isinstance(layer, Relu) else values @ layer.weight.T + layer.bias  # type: ignore[union-attr]
    outputs = rng.standard_normal((sum(conjuncts), network.outputs))
    found = values @ outputs.T
    starts = np.cumsum([0, *conjuncts])[:-1]
    constant = -found.mean(axis=0)
    least = np.maximum.reduceat(found + constant, starts, axis=1).min(axis=0)
    constant += np.repeat(share * found.std() - least, conjuncts)
    return Rows(np.zeros((sum(conjuncts), network.inputs)), outputs, constant, starts), box


def _part(rows: Rows, box: Box) -> Part:
    def terms(values: Any) -> dict[int, Fraction]:
        return {i: Fraction(v) for i, v in enumerate(values.tolist()) if v}

    listed = [Row(terms(a), terms(b), Fraction(c)) for a, b, c in zip(rows.inputs, rows.outputs, rows.constant.tolist(), strict=True)]
    return Part(tuple(map(Fraction, box[0].tolist())), tuple(map(Fraction, box[1].tolist())), tuple(tuple(listed[own]) for own in rows.conjuncts))


def _accepted(network: Network, parts: list[Part], arrays: Any) -> None:
    evidence = Evidence(BOUNDS_TREE.kind, BOUNDS_TREE.version, {"arithmetic": "f64-gamma"}, arrays)
    limits = Limits()
    check(arithmetic(network, "real", evidence, limits), parts, arrays, limits)


def _closed(network: Network, rows: Rows, box: Box, workers: int = 1) -> Closed:
    found = search(network, rows, box, Effort(workers=workers), lambda points: False, 100000)
    assert found is not None
    return found


@pytest.mark.parametrize("conjuncts", [(1,), (1, 1), (3,), (4, 1, 2)])
def test_what_is_closed_is_accepted(conjuncts: tuple[int, ...]) -> None:
    splits = mixes = 0
    for seed in range(8):
        rng = np.random.default_rng(seed)
        network = _network(rng)
        rows, box = _rows(rng, network, conjuncts, 0.2)
        arrays = _closed(network, rows, box).arrays()
        _accepted(network, [_part(rows, box)], arrays)
        splits += "split_at" in arrays
        mixes += "mix" in arrays
    assert splits > 4
    assert (mixes > 0) == (max(conjuncts) > 1)


def test_parts_with_and_without_combinations_make_one_tree() -> None:
    network = _network(np.random.default_rng(0))
    rows, box = _rows(np.random.default_rng(0), network, (3,), 0.2)
    assert "mix" in _closed(network, rows, box).arrays()
    small = box[0], box[0] + 2.0**-12
    other = Rows(rows.inputs[:2], rows.outputs[:2], rows.constant[:2] + 10.0, np.array([0, 1]))
    orders = [[_part(rows, box), _part(rows, small), _part(other, box)], [_part(other, box), _part(rows, small), _part(rows, box)]]
    for parts in orders:
        unsafe = UnsafeSet(network, tuple(parts), 0, (Fraction(1),) * 3, (Fraction(0),) * 3)
        answer = decide(unsafe, Settings(), Effort(), Limits(), lambda stage, facts: None)
        assert isinstance(answer, Holds)
        assert "mix" in answer.arrays
        _accepted(network, parts, answer.arrays)


def test_the_tree_does_not_depend_on_the_number_of_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(11)
    network = _network(rng)
    rows, box = _rows(rng, network, (3,), 0.05)
    monkeypatch.setattr(input_split, "_SHARED", 0)
    monkeypatch.setattr(input_split, "_CHUNK", 4)
    first = _closed(network, rows, box)
    assert first.bounded > 100
    for workers in (1, 2, 3):
        again = _closed(network, rows, box, workers)
        assert again.bounded == first.bounded
        assert {name: array.tobytes() for name, array in again.arrays().items()} == {name: array.tobytes() for name, array in first.arrays().items()}
    assert not multiprocessing.active_children()


def _crossing(width: float) -> tuple[Network, Rows, Box]:
    """A network |x| whose row |x| >= 0 is never above 0 on a box around 0."""
    network = Network((1,), 1, (Dense(np.array([[1.0], [-1.0]]), np.zeros(2)), Relu(2), Dense(np.ones((1, 2)), np.zeros(1))))
    return network, Rows(np.zeros((1, 1)), np.ones((1, 1)), np.zeros(1), np.array([0])), (np.array([-width]), np.array([width]))


@pytest.mark.parametrize("width", [0.0, 5e-324])
def test_a_box_that_cannot_be_split_ends_the_search(width: float) -> None:
    network, rows, box = _crossing(width)
    box = box[0], box[0] + width
    assert search(network, rows, box, Effort(), lambda points: False, 100) is None


def test_the_number_of_boxes_ends_the_search() -> None:
    asked = []
    network, rows, box = _crossing(1.0)
    assert search(network, rows, box, Effort(), lambda points: asked.append(len(points)) or False, 50) is None
    assert 10 < len(asked) < 60


def test_the_time_limit_ends_the_search() -> None:
    network, rows, box = _crossing(1.0)
    assert search(network, rows, box, Effort(seconds=1e-9), lambda points: pytest.fail("no time was left"), 50) is None


def test_a_hit_ends_the_search_and_points_lie_in_their_boxes() -> None:
    network, rows, box = _crossing(1.0)
    seen: list[np.ndarray[Any, Any]] = []

    def hit(points: np.ndarray[Any, Any]) -> bool:
        seen.append(points)
        return len(seen) == 5

    assert search(network, rows, box, Effort(), hit, 10**6) is None
    assert len(seen) == 5
    assert all((np.abs(points) <= 1).all() and points.shape[1] == 1 for points in seen)


def test_overflow_is_not_taken_for_a_bound() -> None:
    network = Network((2,), 2, (Dense(np.full((2, 2), 1e300), np.zeros(2)), Relu(2), Dense(np.full((1, 2), 1e300), np.zeros(1))))
    rows = Rows(np.zeros((1, 2)), np.ones((1, 1)), np.ones(1), np.array([0]))
    assert search(network, rows, (-np.ones(2), np.ones(2)), Effort(), lambda points: False, 20) is None


def test_bounds_do_not_depend_on_the_other_boxes_of_a_batch() -> None:
    rng = np.random.default_rng(12)
    for _ in range(40):
        network = made.network(rng, wild=False)
        ends = rng.uniform(-2, 2, (2, 7, network.inputs)) * rng.choice([0.01, 1.0], (1, 7, 1))
        lower, upper = ends.min(axis=0), ends.max(axis=0)
        together = propagate(network, lower, upper)
        rows = rng.standard_normal((7, network.outputs))
        found, slopes = backward(network, len(network.layers), rows.copy(), np.zeros(7), np.arange(7), together, lower, upper)
        for box in range(7):
            own = slice(box, box + 1)
            alone = propagate(network, lower[own], upper[own])
            for k in range(len(together.lower)):
                size = 1e-9 * (1 + np.abs(alone.lower[k]).max() + np.abs(alone.upper[k]).max())
                assert np.allclose(together.lower[k][own], alone.lower[k], atol=size)
                assert np.allclose(together.upper[k][own], alone.upper[k], atol=size)
            bound, slope = backward(network, len(network.layers), rows[own].copy(), np.zeros(1), np.zeros(1, int), alone, lower[own], upper[own])
            assert np.allclose(found[own], bound, rtol=1e-7, atol=1e-7) and np.allclose(slopes[own], slope, rtol=1e-7, atol=1e-7)


def test_combinations_reach_the_best_bound_nearly() -> None:
    from scipy.optimize import linprog

    rng = np.random.default_rng(13)
    closed = reached = 0
    for _ in range(60):
        rows, inputs = int(rng.integers(1, 6)), int(rng.integers(1, 6))
        planes, constants = rng.standard_normal((1, rows, inputs)), rng.standard_normal((1, rows))
        lower = rng.uniform(-1, 0, (1, inputs))
        upper = lower + rng.uniform(0, 1, (1, inputs))
        (bound,), (weights,) = combine(planes, constants, lower, upper)
        assert (weights >= 0).all() and weights.sum() == pytest.approx(1, abs=1e-12)
        plane = weights @ planes[0]
        assert weights @ constants[0] + np.where(plane > 0, plane * lower[0], plane * upper[0]).sum() == pytest.approx(bound, abs=1e-9)
        single = constants[0] + np.where(planes[0] > 0, planes[0] * lower, planes[0] * upper).sum(axis=1)
        assert bound >= single.max() - 1e-12
        best = linprog(np.r_[np.zeros(inputs), 1.0], np.c_[planes[0], -np.ones(rows)], -constants[0],
                       bounds=[*zip(lower[0], upper[0], strict=True), (None, None)]).fun
        assert bound <= best + 1e-9
        closed += best > 0
        reached += bound > 0
    assert reached >= 0.9 * closed > 10


def _twice(value: int, caller: int, mood: str) -> int:
    if mood == "dies" and os.getpid() != caller and value % 3 == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    if mood == "interrupted" and os.getpid() == caller:
        raise KeyboardInterrupt
    if mood == "fails" and value == 5:
        raise ZeroDivisionError
    return 2 * value


@pytest.mark.parametrize("workers", [1, 2, 3])
@pytest.mark.parametrize("mood", ["well", "dies"])
def test_calls_are_answered_in_order_even_if_processes_die(workers: int, mood: str) -> None:
    with Pool(_twice, workers) as pool:
        for count in (1, 0, 12, 5):
            assert pool.run([(value, os.getpid(), mood) for value in range(count)]) == [2 * value for value in range(count)]
    assert not multiprocessing.active_children()


@pytest.mark.parametrize(("mood", "error"), [("interrupted", KeyboardInterrupt), ("fails", ZeroDivisionError)])
def test_an_error_leaves_no_process_behind(mood: str, error: type[BaseException]) -> None:
    with pytest.raises(error), Pool(_twice, 3) as pool:
        pool.run([(value, os.getpid(), mood) for value in range(12)])
    assert not multiprocessing.active_children()
