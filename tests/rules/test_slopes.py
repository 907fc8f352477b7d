# SPDX-License-Identifier: Apache-2.0
"""Sets of lower slopes: sound whatever they are, the default where they are not chosen, refused in any other shape, and of use."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import random_networks as made
from certify.errors import CertifyError
from certify.limits import Limits
from certify.readers.formula import Part, Row
from certify.readers.network import Dense, Network, Relu
from certify.rules import bounds_tree
from certify.rules.fixed_point import FixedPoint
from certify.rules.relaxation import Relaxation
from certify.rules.slopes import slope_sets
from rules import bounding
from rules.bounding import Problem
from toolkit import refused

ARITHMETICS = ("f64", "int")
SMALL = Network((1, 1), 1, (Dense(np.array([[1.0], [1.0]]), np.array([0.25, -0.25])), Relu(2), Dense(np.array([[1.0, 1.0]]), np.zeros(1)), Relu(1),
                            Dense(np.array([[1.0]]), np.zeros(1))))


def checked(network: Network, part: Part, arrays: dict[str, Any], arithmetic: str = "f64", limits: Limits | None = None) -> bounds_tree.Figures:
    """Check evidence for one part."""
    limits = limits or Limits()
    slopes = slope_sets(network, arrays["slope"], limits) if "slope" in arrays else None
    made_one: Any = Relaxation(network, limits, slopes) if arithmetic == "f64" else FixedPoint(network, limits, 60, slopes)
    return bounds_tree.check(made_one, [part], arrays, limits)


def index(*values: int) -> np.ndarray[Any, Any]:
    """Return an array of indices."""
    return np.array(values, "<i4")


def sets(*rows: list[int]) -> np.ndarray[Any, Any]:
    """Return sets of slopes."""
    return np.array(rows, "|u1")


def part(*conjuncts: tuple[Row, ...], end: int = 1) -> Part:
    """Return the part [-end, end] of one input."""
    return Part((Fraction(-end),), (Fraction(end),), conjuncts)


def above(value: Fraction, inputs: dict[int, Fraction] | None = None) -> tuple[Row, ...]:
    """Return the conjunct y + inputs.x <= value, closed where the left side stays above."""
    return (Row(inputs or {}, {0: Fraction(1)}, -value),)


@pytest.mark.parametrize("arithmetic", ARITHMETICS)
def test_bounds_are_sound_for_any_set(arithmetic: str) -> None:
    chosen = 0
    for seed in range(250):
        rng = np.random.default_rng([71, seed])
        p = bounding.problem(rng, bool(rng.random() < 0.3))
        neurons = sum(p.network.layers[k].size for k in p.network.activations)
        if not neurons:
            continue
        slopes = rng.integers(0, 256, (3, neurons)) if seed % 5 else np.array([[0] * neurons, [255] * neurons, [1] * neurons])
        p = Problem(p.network, p.part, p.row, slopes.astype(np.uint8), int(rng.integers(0, 3)), p.split, p.inherit)
        try:
            found = bounding.answer(p, bounding.f64() if arithmetic == "f64" else bounding.integers(int(rng.choice([16, 60]))))
        except CertifyError as trouble:
            assert trouble.code == "number-too-large"
            continue
        chosen += 1
        for x in bounding.points(rng, p, found.theta, 5):
            assert bounding.violations(p, found, x, made.exact_values(p.network, x)) == 0, seed
    assert chosen > 150


@pytest.mark.parametrize("make", [bounding.f64(), bounding.integers(60)])
def test_the_default_set_is_absence(make: bounding.Make) -> None:
    differs = 0
    for seed in range(80):
        rng = np.random.default_rng([72, seed])
        p = bounding.problem(rng, False)
        neurons = sum(p.network.layers[k].size for k in p.network.activations)
        slopes = rng.integers(0, 256, (1, neurons)).astype(np.uint8) if neurons else None
        if slopes is None:
            continue
        plain, default, other = (bounding.answer(Problem(p.network, p.part, p.row, values, which), make)
                                 for values, which in ((None, -1), (slopes, -1), (slopes, 0)))
        assert plain == default
        differs += other != plain
    assert differs > 20


@pytest.mark.parametrize("arithmetic", ARITHMETICS)
def test_wrong_shapes_and_indices(arithmetic: str) -> None:
    far = part(above(Fraction(-9)), above(Fraction(-9)))
    leaf = {"tree": index(-1)}
    good = {**leaf, "slope": sets([0, 9, 255]), "leaf_slope": index(0, -1)}
    checked(SMALL, far, good, arithmetic)
    for change, code in (
        ({"slope": sets([0, 9])}, "array-shape"), ({"slope": sets([0, 9, 255, 0])}, "array-shape"),
        ({"slope": np.zeros((0, 3), "|u1")}, "array-shape"), ({"slope": sets([])}, "array-shape"),
        ({"leaf_slope": index(0)}, "array-shape"), ({"leaf_slope": index()}, "unused-evidence"),
        ({"leaf_slope": index(0, -1, -1)}, "unused-evidence"),
        ({"leaf_slope": index(0, 1)}, "evidence-range"), ({"leaf_slope": index(0, -2)}, "evidence-range"),
        ({"leaf_slope": index(0, 2**31 - 1)}, "evidence-range"), ({"leaf_slope": index(0, -(2**31))}, "evidence-range"),
        ({"leaf_slope": index(-1, -1)}, "unused-evidence"), ({"leaf_slope": None}, "unused-evidence"),
        ({"slope": sets([0, 9, 255], [1, 2, 3])}, "unused-evidence"),
        ({"node_slope": index(-1)}, "unused-evidence"), ({"node_slope": index()}, "unused-evidence"), ({"node_slope": index(1)}, "evidence-range"),
        ({"node_slope": index(0, 0)}, "unused-evidence"), ({"slope": None}, "evidence-range"), ({"slope": None, "leaf_slope": index(-1, -1)},
                                                                                              "unused-evidence"),
    ):
        refused(code, checked, SMALL, far, {k: v for k, v in {**good, **change}.items() if v is not None}, arithmetic)
    checked(SMALL, far, {**leaf, "slope": sets([0, 9, 255]), "node_slope": index(0)}, arithmetic)
    checked(SMALL, far, {**leaf, "slope": sets([0, 9, 255], [1, 2, 3]), "node_slope": index(0), "leaf_slope": index(-1, 1)}, arithmetic)


@pytest.mark.parametrize("arithmetic", ARITHMETICS)
def test_node_slopes_are_counted_by_nodes_that_compute_bounds(arithmetic: str) -> None:
    far = part(above(Fraction(-9)))
    tree = {"tree": index(0, -1, -2), "split_at": np.array([0.0]), "slope": sets([0, 9, 255])}
    checked(SMALL, far, {**tree, "node_slope": index(0)}, arithmetic)  # the root only
    refused("unused-evidence", checked, SMALL, far, {**tree, "node_slope": index(0, -1, -1)}, arithmetic)
    flags = {"recompute": np.array([1, 0, 1], "|u1")}
    checked(SMALL, far, {**tree, **flags, "node_slope": index(-1, 0)}, arithmetic)
    refused("array-shape", checked, SMALL, far, {**tree, **flags, "node_slope": index(0)}, arithmetic)
    refused("unused-evidence", checked, SMALL, far, {**tree, **flags, "node_slope": index(0, 0, 0)}, arithmetic)
    checked(SMALL, far, {**tree, **flags, "leaf_slope": index(-1, 0)}, arithmetic)


@pytest.mark.parametrize("arithmetic", ARITHMETICS)
def test_a_tuned_slope_closes_what_the_default_leaves_open(arithmetic: str) -> None:
    """relu(x) - x/2 is at least 0, by the slope 1/2 only: 1 gives -1/2 at -1, 0 gives -1/2 at 1."""
    net = Network((1, 1), 1, (Relu(1),))
    half = {0: -Fraction(1, 2)}
    box = part(above(-Fraction(1, 100), half))
    leaf = {"tree": index(-1)}
    refused("leaf-uncovered", checked, net, box, leaf, arithmetic)
    for slope in range(0, 256, 15):
        arrays = {**leaf, "slope": sets([slope]), "leaf_slope": index(0)}
        if abs(Fraction(slope, 255) - Fraction(1, 2)) < Fraction(1, 100):
            checked(net, box, arrays, arithmetic)
        else:
            refused("leaf-uncovered", checked, net, box, arrays, arithmetic)
    for slope in (127, 128):
        figures = checked(net, box, {**leaf, "slope": sets([slope]), "leaf_slope": index(0)}, arithmetic)
        assert abs(Fraction(figures.smallest_margin) - (Fraction(1, 100) - Fraction(1, 510))) < Fraction(1, 10**9)
        refused("leaf-uncovered", checked, net, part(above(Fraction(0), half)), {**leaf, "slope": sets([slope]), "leaf_slope": index(0)}, arithmetic)
    # each conjunct has its own set
    other = (Row({0: Fraction(-1, 10)}, {0: Fraction(1)}, Fraction(1, 9)),)
    both = part(box.conjuncts[0], other)
    refused("leaf-uncovered", checked, net, both, {**leaf, "slope": sets([127]), "leaf_slope": index(0, 0)}, arithmetic)
    checked(net, both, {**leaf, "slope": sets([127], [20]), "leaf_slope": index(0, 1)}, arithmetic)
    refused("leaf-uncovered", checked, net, both, {**leaf, "slope": sets([127], [20]), "leaf_slope": index(1, 0)}, arithmetic)


@pytest.mark.parametrize("arithmetic", ARITHMETICS)
def test_a_tuned_slope_at_a_node_tightens_its_bounds(arithmetic: str) -> None:
    """z = relu(x) + (2 - x)/2 - 0.99 is at least 0.01: its ReLU is seen to be the identity with the slope 1/2 only."""
    second = Dense(np.array([[1.0, 0.5], [1.0, 0.0]]), np.array([-0.99, 0.0]))
    net = Network((1, 1), 1, (Dense(np.array([[1.0], [-1.0]]), np.array([0.0, 2.0])), Relu(2), second, Relu(2),
                              Dense(np.array([[-1.0, 1.0]]), np.zeros(1))))
    values = []
    for slope in (None, 0, 127, 255):
        p = Problem(net, part(), Row({}, {0: Fraction(1)}, Fraction(0)), None if slope is None else sets([slope, 0, 0, 255]), 0)
        values.append(bounding.answer(p, bounding.f64() if arithmetic == "f64" else bounding.integers(60)).lower[3][0])
    assert values[2] > 0 > max(values[0], values[1], values[3])
    row = part((Row({0: -Fraction(1, 2)}, {0: Fraction(1)}, Fraction(5, 100)),))
    tuned = {"tree": index(-1), "slope": sets([127, 0, 0, 255])}
    refused("leaf-uncovered", checked, net, row, {"tree": index(-1)}, arithmetic)
    refused("leaf-uncovered", checked, net, row, {**tuned, "leaf_slope": index(0)}, arithmetic)
    assert abs(checked(net, row, {**tuned, "node_slope": index(0)}, arithmetic).smallest_margin - 0.04) < 1e-6


@pytest.mark.parametrize("arithmetic", ARITHMETICS)
def test_a_set_counts_only_where_a_neuron_is_unstable(arithmetic: str) -> None:
    """On a side where the ReLU is the identity or zero, the slopes 0 and 1 of a set would be wrong or weak: they are not used."""
    net = Network((1, 1), 1, (Relu(1),))
    for box, value in (((1, 2), 1), ((-2, -1), 0)):
        for slope in (0, 255):
            p = Problem(net, Part((Fraction(box[0]),), (Fraction(box[1]),), ()), Row({}, {0: Fraction(1)}, Fraction(0)), sets([slope]), 0)
            found = bounding.answer(p, bounding.f64() if arithmetic == "f64" else bounding.integers(60)).bound
            assert value - Fraction(1, 10**9) < found <= value


def test_memory_of_sets_is_charged() -> None:
    checked(SMALL, part(above(Fraction(-9))), {"tree": index(-1), "slope": sets([0, 9, 255]), "leaf_slope": index(0)}, "f64")
    refused("limit-reached", slope_sets, SMALL, sets([0, 9, 255]), Limits(memory=16 * 3 - 1))
    assert slope_sets(SMALL, sets([0, 9, 255]), Limits(memory=16 * 3)).keys() == {1, 3}
