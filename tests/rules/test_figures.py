# SPDX-License-Identifier: Apache-2.0
"""Figures of a check: the leaves, the smallest bound that closed a conjunct in the units of its rows, and the largest bound on any value."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from certify.limits import Limits
from certify.readers.formula import Part, Row
from certify.readers.network import Dense, Network, Relu, Scale
from certify.rules import bounds_tree
from certify.rules.bounds_tree import Figures
from certify.rules.fixed_point import FixedPoint
from certify.rules.relaxation import Relaxation

ONE = Fraction(1)


def _checked(arithmetic: str, conjuncts: tuple[tuple[Row, ...], ...], network: Network | None = None, **arrays: Any) -> Figures:
    net, limits = network or Network((1, 1), 1, (Relu(1),)), Limits()
    parts = [Part((Fraction(0),), (Fraction(2),), conjuncts)]
    made = Relaxation(net, limits) if arithmetic == "f64" else FixedPoint(net, limits, 60)
    return bounds_tree.check(made, parts, {"tree": np.array([-1], "<i4"), **arrays}, limits)


def _above(constant: Any, factor: Any = ONE) -> Row:
    """Return g = factor y + constant."""
    return Row({}, {0: Fraction(factor)}, Fraction(constant))


ARITHMETICS = pytest.mark.parametrize("arithmetic", ["f64", "int"])


@ARITHMETICS
def test_the_margin_of_a_conjunct_is_that_of_its_best_row(arithmetic: str) -> None:
    found = _checked(arithmetic, ((_above(3), _above(5)), (_above(7), _above(4))))
    assert found.leaves == 1 and abs(found.smallest_margin - 5) < 1e-9


@ARITHMETICS
def test_the_margin_of_a_tree_is_that_of_its_worst_leaf(arithmetic: str) -> None:
    for factor, margin in ((1, 3.0), (-1, 1.0)):
        found = _checked(arithmetic, ((_above(3, factor),),), tree=np.array([0, -1, -2], "<i4"), split_at=np.array([1.0]))
        assert found.leaves == 2 and abs(found.smallest_margin - margin) < 1e-9


@ARITHMETICS
def test_a_combination_is_measured_in_the_units_of_its_rows(arithmetic: str) -> None:
    for weights, margin in (([2.0, 6.0], 4.5), ([0.25, 0.0], 3.0), ([0.0, 8.0], 5.0)):
        found = _checked(arithmetic, ((_above(3), _above(5)),), row=np.array([-1], "<i4"), mix=np.array(weights))
        assert abs(found.smallest_margin - margin) < 1e-9
    found = _checked(arithmetic, ((_above(3), _above(5)), (_above(4),)), row=np.array([1, 0], "<i4"))
    assert abs(found.smallest_margin - 4) < 1e-9


@ARITHMETICS
def test_leaves_without_points_have_no_margin(arithmetic: str) -> None:
    """z >= 0 and z <= 0 for z = x + 3 on [0, 2]: the second side has no point."""
    net = Network((1, 1), 1, (Scale(1, np.array([3.0])), Relu(1)))
    split = {"tree": np.array([1, -1, -2], "<i4")}
    found = _checked(arithmetic, ((_above(-1),),), net, **split)
    assert found.leaves == 2 and abs(found.smallest_margin - 2) < 1e-9
    named = _checked(arithmetic, ((_above(-1),),), net, **split, row=np.array([0, 0], "<i4"))
    assert abs(named.smallest_margin - 2) < 1e-9
    never = Network((1, 1), 1, (Dense(np.array([[1.0], [1.0]]), np.array([3.0, -9.0])), Relu(2), Dense(np.ones((1, 2)), np.zeros(1))))
    nothing = {"tree": np.array([1, 2, -1, -2, -3], "<i4")}
    assert abs(_checked(arithmetic, ((_above(3),),), never, **nothing).smallest_margin - 6) < 1e-9


@ARITHMETICS
def test_batches_without_points_have_no_margin(arithmetic: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds_tree, "_BATCH", 1)
    net = Network((1, 1), 1, (Scale(1, np.array([3.0])), Relu(1)))
    for more in ({}, {"row": np.array([0, 0], "<i4")}):
        found = _checked(arithmetic, ((_above(-1),),), net, tree=np.array([1, -1, -2], "<i4"), **more)
        assert found.leaves == 2 and abs(found.smallest_margin - 2) < 1e-9


@ARITHMETICS
def test_a_margin_beyond_binary64_is_given_as_two_to_the_1000(arithmetic: str) -> None:
    if arithmetic == "int":
        far = _above(Fraction(2) ** 299)
        found = _checked(arithmetic, ((far,),), row=np.array([-1], "<i4"), mix=np.array([2.0**-30]))
        assert found.smallest_margin == 2.0**299
        return
    margins = {weight: _checked(arithmetic, ((_above(Fraction(2) ** power),),), row=np.array([-1], "<i4"), mix=np.array([weight])).smallest_margin
               for weight, power in ((2.0**-900, 1005), (2.0**-900, 999))}
    assert margins[2.0**-900] == 2.0**999 or abs(margins[2.0**-900] / 2.0**999 - 1) < 1e-9
    beyond = _checked(arithmetic, ((_above(Fraction(2) ** 1150),),), row=np.array([-1], "<i4"), mix=np.array([2.0**-900])).smallest_margin
    assert beyond == 2.0**1000


@ARITHMETICS
def test_the_largest_value_is_that_of_any_node(arithmetic: str) -> None:
    net = Network((1, 1), 1, (Scale(1, np.array([-40.0])), Relu(1)))
    assert abs(_checked(arithmetic, ((_above(3),),), net).largest_value - 40) < 1e-9
    assert abs(_checked(arithmetic, ((_above(3),),), net, tree=np.array([0, -1, -2], "<i4"), split_at=np.array([1.0]),
                        recompute=np.ones(3, "|u1")).largest_value - 40) < 1e-9
    two = Network((1, 1), 1, (Dense(np.array([[1.0], [9.0]]), np.zeros(2)), Dense(np.array([[1.0, 0.0]]), np.zeros(1))))
    assert abs(_checked(arithmetic, ((_above(3),),), two).largest_value - 18) < 1e-9
    small = Network((1, 1), 1, (Scale(1, np.array([-0.5])),))
    tiny = Part((Fraction(0),), (Fraction(1, 4),), ((_above(3),),))
    for made in (Relaxation(small, Limits()), FixedPoint(small, Limits(), 60)):
        found = bounds_tree.check(made, [tiny], {"tree": np.array([-1], "<i4")}, Limits())
        assert abs(found.largest_value - 0.5) < 1e-9
