# SPDX-License-Identifier: Apache-2.0
"""What a prover of a sumcheck sends: the polynomials of its rounds, from tables of the factors.

A table has 2^n entries [degree of F]; the variable of a round is the most significant bit of an entry's number. Guarantee: with honest tables, the
coefficients returned are those of the round's polynomial that `sumcheck` describes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from certify_zk.field import Element
from certify_zk.kernels.sums import equality
from certify_zk.kernels.vectors import Words, add, between, multiply, subtract, total


def word(element: Element) -> Words:
    """Return an element as an array."""
    return np.array(element, np.uint64)


def element(words: Words) -> Element:
    """Return an array as an element."""
    return tuple(int(entry) for entry in words)


class Products:
    """The sum over x of eq(point, the low bits of x) times a sum of products of factors, each a table."""

    def __init__(self, products: Sequence[Sequence[Words]], point: Sequence[Element], degree: int) -> None:
        self.products, self.point, self.degree = [list(product) for product in products], list(point), degree

    def round(self, degree: int) -> list[Element]:
        """Return the coefficients of the round's polynomial but for the linear one."""
        half = len(self.products[0][0]) // 2
        low = min(len(self.point), half.bit_length() - 1)
        weights = np.tile(equality(self.point[:low], self.degree), (half >> low, 1))
        sums = [np.zeros(self.degree, np.uint64) for _ in range(degree + 1)]
        for product in self.products:
            coefficients = [weights]
            for factor in product:
                start, slope = factor[:half], subtract(factor[half:], factor[:half])
                longer = [multiply(coefficient, start) for coefficient in coefficients] + [np.zeros_like(weights)]
                for power, coefficient in enumerate(coefficients, start=1):
                    longer[power] = add(longer[power], multiply(coefficient, slope))
                coefficients = longer
            for power, coefficient in enumerate(coefficients[: degree + 1]):
                sums[power] = add(sums[power], total(coefficient))
        return [element(sums[power]) for power in range(degree + 1) if power != 1]

    def bind(self, challenge: Element) -> None:
        """Set the round's variable."""
        half, at = len(self.products[0][0]) // 2, word(challenge)
        self.products = [[between(factor[:half], factor[half:], at) for factor in product] for product in self.products]
