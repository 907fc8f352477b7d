# SPDX-License-Identifier: Apache-2.0
"""Tapes of affine forms against direct evaluation, and their coefficients against finite differences."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from certify_zk.affine import Affine, Tape
from certify_zk.field import Element, Extension, P

DEGREES = [2, 3]


def some(rng: np.random.Generator, degree: int) -> Element:
    """Return a random element, often 0, 1 or -1."""
    special = [(0,) * degree, (1, *(0,) * (degree - 1)), (P - 1, *(0,) * (degree - 1))]
    number = int(rng.integers(0, 6))
    return special[number] if number < 3 else tuple(int(word) for word in rng.integers(0, P, degree, dtype=np.uint64))


class Plan:
    """A random directed acyclic graph of combinations: each step takes earlier values and leaves, with coefficients and a constant."""

    def __init__(self, rng: np.random.Generator, field: Extension, leaves: int, steps: int) -> None:
        self.field, self.leaves = field, leaves
        self.known = [some(rng, field.degree) for _ in range(leaves)]
        self.steps: list[tuple[list[tuple[Element, int]], Element]] = []
        for step in range(steps):
            count = int(rng.integers(0, 5))
            terms = [(some(rng, field.degree), int(rng.integers(0, leaves + step))) for _ in range(count)]
            self.steps.append((terms, some(rng, field.degree)))

    def direct(self, hidden: Sequence[Element]) -> list[Element]:
        """Return all values, leaves first, by plain arithmetic."""
        field = self.field
        values = [field.add(known, leaf) for known, leaf in zip(self.known, hidden, strict=True)]
        for terms, constant in self.steps:
            for coefficient, number in terms:
                constant = field.add(constant, field.multiply(coefficient, values[number]))
            values.append(constant)
        return values

    def record(self, tape: Tape, hidden: Sequence[Element | None]) -> list[Affine]:
        """Return all values as affine forms on a tape."""
        made = [Affine(known, tape.leaf(value)) for known, value in zip(self.known, hidden, strict=True)]
        for terms, constant in self.steps:
            made.append(tape.combined([(coefficient, made[number]) for coefficient, number in terms], constant))
        return made


@pytest.mark.parametrize("degree", DEGREES)
@pytest.mark.parametrize("seed", range(8))
def test_values_and_coefficients_are_those_of_direct_evaluation(degree: int, seed: int) -> None:
    rng, field = np.random.default_rng(seed), Extension(degree)
    plan = Plan(rng, field, int(rng.integers(1, 6)), int(rng.integers(1, 40)))
    hidden = [some(rng, degree) for _ in range(plan.leaves)]
    tape, silent = Tape(field), Tape(field)
    made, unknown = plan.record(tape, hidden), plan.record(silent, [None] * plan.leaves)
    values = plan.direct(hidden)
    assert [tape.value(each) for each in made] == values
    assert made == unknown  # a verifier has the same forms, for nodes and known parts do not depend on leaves
    weights = [some(rng, degree) for _ in values]

    def total(leaves: Sequence[Element]) -> Element:
        found = field.zero
        for weight, value in zip(weights, plan.direct(leaves), strict=True):
            found = field.add(found, field.multiply(weight, value))
        return found

    for each in (tape, silent):
        spread = each.spread(zip(weights, made, strict=True))
        assert set(spread) <= {form.node for form in made[: plan.leaves]}
        rest = total(hidden)
        for number, leaf in enumerate(hidden):
            node = made[number].node
            assert node is not None
            for unit in range(degree):  # the difference that a leaf makes, exactly
                step = field.unit(unit)
                moved = [field.add(value, step) if index == number else value for index, value in enumerate(hidden)]
                assert field.subtract(total(moved), total(hidden)) == field.multiply(spread.get(node, field.zero), step)
            rest = field.subtract(rest, field.multiply(spread.get(node, field.zero), leaf))
        known = field.zero
        for weight, form in zip(weights, made, strict=True):
            known = field.add(known, field.multiply(weight, form.known))
        assert rest == known == total([field.zero] * plan.leaves)


@pytest.mark.parametrize("degree", DEGREES)
def test_values_of_unknown_leaves_are_not_given(degree: int) -> None:
    field = Extension(degree)
    tape = Tape(field)
    one, two = Affine(field.one, tape.leaf(field.embed(5))), Affine(field.one, tape.leaf(None))
    both = tape.combined([(field.one, one), (field.one, two)], field.zero)
    for form in (two, both, tape.combined([(field.zero, both)], field.one)):
        with pytest.raises(ValueError, match="only who made the pads"):
            tape.value(form)
    assert tape.value(one) == field.embed(6) and tape.value(Affine(field.embed(3))) == field.embed(3)
    assert tape.value(tape.combined([(field.embed(2), one)], field.one)) == field.embed(13)


@pytest.mark.parametrize("degree", DEGREES)
def test_a_single_term_of_factor_one_has_the_node_of_what_it_is_made_of(degree: int) -> None:
    field = Extension(degree)
    tape = Tape(field)
    leaf = Affine(field.embed(4), tape.leaf(field.embed(9)))
    moved = tape.combined([(field.one, leaf)], field.embed(7))
    assert moved == Affine(field.embed(11), leaf.node) and tape.value(moved) == field.embed(20)
    with_known = tape.combined([(field.embed(3), Affine(field.embed(5))), (field.one, leaf)], field.zero)
    assert with_known == Affine(field.embed(19), leaf.node)
    for other in (tape.combined([(field.embed(2), leaf)], field.zero), tape.combined([(field.one, leaf)] * 2, field.zero),
                  tape.combined([(field.unit(1), leaf)], field.zero), tape.combined([(field.zero, leaf)], field.zero)):
        assert other.node not in (None, leaf.node)
    assert tape.combined([(field.one, Affine(field.embed(5)))], field.one) == Affine(field.embed(6))
    assert tape.combined([], field.embed(8)) == Affine(field.embed(8))


@pytest.mark.parametrize("degree", DEGREES)
def test_weights_of_equal_nodes_and_of_known_values(degree: int) -> None:
    field = Extension(degree)
    tape = Tape(field)
    leaf, other = (Affine(field.embed(number), tape.leaf(None)) for number in (1, 2))
    made = tape.combined([(field.embed(2), leaf), (field.embed(3), other), (field.embed(4), leaf)], field.one)
    assert leaf.node is not None and other.node is not None
    assert tape.spread([]) == {} and tape.spread([(field.one, Affine(field.embed(9)))]) == {}
    assert tape.spread([(field.one, made), (field.embed(10), leaf), (field.embed(100), made)]) == {
        leaf.node: field.embed(616), other.node: field.embed(303)}
    cancelled = tape.spread([(field.one, leaf), (field.negated(field.one), leaf), (field.zero, other)])
    assert all(coefficient == field.zero for coefficient in cancelled.values())
