# SPDX-License-Identifier: Apache-2.0
"""Sumchecks against sums over all points, and rounds of a prover that begins with a false claim."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from itertools import product as pairs_of

import numpy as np
import pytest

from certify.errors import Rejected
from certify_zk.affine import Affine
from certify_zk.dialogue import Dialogue, Silent
from certify_zk.field import Element, Extension, P
from certify_zk.sumcheck import Round, rounds, weights
from certify_zk.sumcheck_prover import Products
from certify_zk.transcript import Transcript


class Prover(Silent):
    """A source that only answers rounds."""

    def __init__(self, sums: Products) -> None:
        super().__init__(sums.degree)
        self.sums = sums

    def round(self, degree: int) -> Sequence[Element]:
        return self.sums.round(degree)

    def bind(self, challenge: Element) -> None:
        self.sums.bind(challenge)


def brute(field: Extension, products: list[list[list[Element]]], point: list[Element]) -> Element:
    """Return the sum that a `Products` is about."""
    table, total = field.equality(point), field.zero
    for product in products:
        for index in range(len(product[0])):
            term = table[index % len(table)]
            for factor in product:
                term = field.multiply(term, factor[index])
            total = field.add(total, term)
    return total


@pytest.mark.parametrize("extension", [2, 3])
@pytest.mark.parametrize(("bits", "split", "factors"), [(0, 0, (2,)), (1, 0, (2, 2)), (3, 0, (3, 3)), (4, 0, (3, 2)), (3, 3, (2,)), (4, 2, (2, 1)),
                                                        (5, 1, (3, 3)), (2, 0, (1,)), (6, 3, (2, 2))])
def test_rounds_end_at_the_products_of_the_factors(extension: int, bits: int, split: int, factors: tuple[int, ...]) -> None:
    field, rng = Extension(extension), np.random.default_rng(bits)
    def some() -> list[Element]:
        return [tuple(int(word) for word in rng.integers(0, P, extension, dtype=np.uint64)) for _ in range(1 << bits)]
    products = [[some() for _ in range(count)] for count in factors]
    point = [tuple(int(word) for word in rng.integers(1, P, extension, dtype=np.uint64)) for _ in range(split)]
    degree, claim = max(factors), brute(field, products, point)
    plan = [Round(degree)] * (bits - split) + [Round(degree, coordinate) for coordinate in point[::-1]]
    for false in (False, True):
        arrays = [[np.array(factor, np.uint64) for factor in product] for product in products]
        dialogue = Dialogue(Transcript(), field, Prover(Products(arrays, point, extension)), True)
        start = field.add(claim, field.one) if false else claim
        end, challenges = rounds(dialogue, "x", "rounds", Affine(start), plan)
        expected = field.zero
        for product in products:
            term = field.one
            for factor in product:
                flat = [list(words) for words in zip(*factor, strict=True)]
                term = field.multiply(term, field.multilinear(flat, challenges[::-1]))
            expected = field.add(expected, term)
        assert (end == Affine(expected)) is not false
        assert dialogue.counts["rounds"] == degree * bits and dialogue.counts["messages"] == degree * bits


def test_a_check_compares_all_coefficients() -> None:
    for degree in (2, 3):
        field = Extension(degree)
        for strict in (True, False):
            dialogue = Dialogue(Transcript(), field, Silent(degree), strict)
            dialogue.check(Affine((5,) * degree), Affine((5,) * degree), "x", "a sum")
            for place in range(degree):
                other = tuple(5 + (place == index) for index in range(degree))
                with pytest.raises(Rejected, match="a sum does not hold") if strict else nullcontext():
                    dialogue.check(Affine((5,) * degree), Affine(other), "x", "a sum")


def test_weights_give_the_polynomial_that_the_claim_leaves() -> None:
    rng = np.random.default_rng(1)
    for extension, degree in pairs_of((2, 3), (1, 2, 3)):
        field = Extension(extension)
        def some(count: int, extension: int = extension) -> list[Element]:
            return [tuple(int(word) for word in rng.integers(0, P, extension, dtype=np.uint64)) for _ in range(count)]
        coefficients, (rho, at) = some(degree + 1), some(2)
        ends = value(field, coefficients, field.zero), value(field, coefficients, field.one)
        sent = [coefficients[0], *coefficients[2:]]
        split = field.add(field.multiply(field.subtract(field.one, rho), ends[0]), field.multiply(rho, ends[1]))
        for claim, coordinate in ((field.add(*ends), None), (split, rho)):
            kept, found = weights(field, degree, coordinate, at)
            total = field.multiply(kept, claim)
            for weight, message in zip(found, sent, strict=True):
                total = field.add(total, field.multiply(weight, message))
            assert total == value(field, coefficients, at)
        with pytest.raises(Rejected) as caught:
            weights(field, degree, field.zero, at)
        assert caught.value.code == "argument-constraints"


def value(field: Extension, coefficients: Sequence[Element], point: Element) -> Element:
    """Return the value of a polynomial, lowest coefficient first."""
    total = field.zero
    for coefficient in reversed(coefficients):
        total = field.add(field.multiply(total, point), coefficient)
    return total
