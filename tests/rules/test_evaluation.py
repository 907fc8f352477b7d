# SPDX-License-Identifier: Apache-2.0
"""Exact evaluation against a second one in Fractions."""

from fractions import Fraction

import numpy as np
import pytest

import random_networks as made
from certify.errors import Declined
from certify.limits import Limits
from certify.readers.network import Dense, Network, Relu
from certify.rules.dyadic import integers
from certify.rules.evaluation import evaluate


def test_evaluation_equals_the_definition_on_random_networks() -> None:
    rng = np.random.default_rng(11)
    for k in range(200):
        net = made.network(rng, wild=k % 2 == 0)
        lower, upper = made.box(rng, net.inputs, wild=k % 3 == 0)
        for point in made.points(rng, lower, upper, 3):
            assert list(evaluate(net, point, Limits())) == made.exact_values(net, point)[-1]


def test_integers_are_the_doubles_exactly() -> None:
    rng = np.random.default_rng(12)
    arrays = [np.array([0.0, -0.0]), np.array([1.0, -2.5, 2.0**-149, 2.0**200]), np.array([3.0, 2.0**61]), np.array([2.0**62, 1.0]),
              np.array([-(2.0**52 + 1), 2.0**-10]), np.zeros((2, 0))]
    arrays += [rng.standard_normal((3, 4)) * 2.0 ** rng.integers(-200, 200, (3, 4)) for _ in range(50)]
    arrays += [rng.standard_normal(5).astype(np.float32).astype(np.float64) for _ in range(50)]
    for array in arrays:
        whole, power = integers(array)
        assert power >= 0
        assert [Fraction(int(k), 2**power) for k in whole.reshape(-1).tolist()] == [Fraction(v) for v in array.reshape(-1).tolist()]


def test_evaluation_is_charged_before_it_is_done() -> None:
    net = made.network(np.random.default_rng(13), wild=False)
    with pytest.raises(Declined) as caught:
        evaluate(net, [Fraction(0)] * net.inputs, Limits(work=10))
    assert caught.value.code == "limit-reached"


def test_a_point_of_another_size_is_refused() -> None:
    net = made.network(np.random.default_rng(14), wild=False)
    with pytest.raises(ValueError, match="coordinates"):
        evaluate(net, [Fraction(0)] * (net.inputs + 1), Limits())


def test_wide_layers_are_evaluated_row_by_row() -> None:
    """Rows of a weight are taken in blocks of 256: none is left out, and none is taken twice."""
    for rows in (255, 256, 257, 600):
        weight = np.arange(rows, dtype=float)[:, None] - 7
        found = evaluate(Network((1, 1), 1, (Dense(weight, np.full(rows, 0.5)),)), [Fraction(1, 3)], Limits())
        assert found == tuple(Fraction(k - 7, 3) + Fraction(1, 2) for k in range(rows))


def test_a_point_has_a_coordinate_for_each_input() -> None:
    for count in (1, 3):
        with pytest.raises(ValueError, match="coordinates"):
            evaluate(Network((1, 2), 2, (Relu(2),)), [Fraction(1)] * count, Limits())
