# SPDX-License-Identifier: Apache-2.0
"""The field and its extensions: laws, irreducibility, and bulk operations against definitions."""

from __future__ import annotations

from math import gcd

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from certify_zk.field import GENERATOR, TWO_ADICITY, Element, Extension, P, combined, evaluate, product, root_of_unity

EXTREME = (0, 1, 2, 6, 7, P - 1, P - 2, (1 << 32) - 1, 1 << 32, (1 << 32) + 1, (1 << 63) - 1, 1 << 63, P - (1 << 32))
_WORDS = st.one_of(st.sampled_from(EXTREME), st.integers(0, P - 1))
FIELDS = [Extension(2), Extension(3)]


def _elements(degree: int) -> st.SearchStrategy[Element]:
    return st.tuples(*[_WORDS] * degree)


def _power(field: Extension, a: Element, exponent: int) -> Element:
    result = field.one
    for bit in f"{exponent:b}":
        result = field.multiply(result, result)
        if bit == "1":
            result = field.multiply(result, a)
    return result


def _schoolbook(a: Element, b: Element) -> Element:
    """Multiply the polynomials, and replace X^degree by 7."""
    degree, long = len(a), [0] * (2 * len(a) - 1)
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            long[i + j] += x * y
    return tuple((long[i] + 7 * (long[i + degree] if i + degree < len(long) else 0)) % P for i in range(degree))


def test_p_is_prime_and_seven_generates() -> None:
    primes = (2, 3, 5, 17, 257, 65537)
    left = P - 1
    for prime in primes:
        while left % prime == 0:
            left //= prime
    assert left == 1  # p - 1 is a product of those, so the order of 7 below proves that p is prime (Lucas)
    assert pow(GENERATOR, P - 1, P) == 1 and all(pow(GENERATOR, (P - 1) // prime, P) != 1 for prime in primes)
    assert (P - 1) % (1 << TWO_ADICITY) == 0 and gcd((P - 1) >> TWO_ADICITY, 2) == 1


def test_the_moduli_are_irreducible() -> None:
    assert pow(7, (P - 1) // 2, P) != 1 and pow(7, (P - 1) // 3, P) != 1
    for degree in (0, 1, 4):
        with pytest.raises(ValueError, match="2 or 3"):
            Extension(degree)


@pytest.mark.parametrize("field", FIELDS, ids=lambda field: f"degree{field.degree}")
@settings(max_examples=150, deadline=None, derandomize=True)
@given(data=st.data())
def test_laws(field: Extension, data: st.DataObject) -> None:
    a, b, c = (data.draw(_elements(field.degree)) for _ in range(3))
    mul, add = field.multiply, field.add
    assert mul(a, b) == mul(b, a) == _schoolbook(a, b)
    assert mul(a, mul(b, c)) == mul(mul(a, b), c)
    assert mul(a, add(b, c)) == add(mul(a, b), mul(a, c))
    assert add(field.subtract(a, b), b) == a and add(a, field.zero) == a == mul(a, field.one)
    assert field.scale(a, c[0]) == mul(a, field.embed(c[0]))
    if any(a):
        assert mul(a, field.inverse(a)) == field.one
    else:
        with pytest.raises(ZeroDivisionError):
            field.inverse(a)


@pytest.mark.parametrize("field", FIELDS, ids=lambda field: f"degree{field.degree}")
def test_frobenius_and_order(field: Extension) -> None:
    a = (3, 5, 11)[: field.degree]
    assert _power(field, a, field.order) == a and _power(field, a, P) != a
    assert _power(field, a, field.order - 2) == field.inverse(a)
    assert _power(field, field.unit(1), field.degree) == field.embed(7)
    assert field.embed(-1) == (P - 1, *(0,) * (field.degree - 1)) and field.order == P**field.degree


def test_roots_of_unity_have_their_order() -> None:
    for bits in (0, 1, 2, 5, 17, 32):
        root = root_of_unity(1 << bits)
        assert pow(root, 1 << bits, P) == 1 and (bits == 0 or pow(root, 1 << (bits - 1), P) == P - 1)
    assert root_of_unity(8) == pow(root_of_unity(32), 4, P)
    for order in (0, -2, 3, 12, 1 << 33):
        with pytest.raises(ValueError, match="power of two"):
            root_of_unity(order)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.lists(_WORDS, max_size=9), st.lists(_WORDS, max_size=5))
def test_evaluation_is_that_of_the_definition(coefficients: list[int], points: list[int]) -> None:
    assert evaluate(coefficients, points) == [sum(c * pow(x, i, P) for i, c in enumerate(coefficients)) % P for x in points]


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.data(), st.integers(1, 4), st.integers(1, 5), st.integers(1, 3))
def test_product_is_that_of_the_definition(data: st.DataObject, rows: int, inner: int, columns: int) -> None:
    left = data.draw(st.lists(_WORDS, min_size=rows * inner, max_size=rows * inner))
    right = data.draw(st.lists(_WORDS, min_size=inner * columns, max_size=inner * columns))
    expected = [sum(left[i * inner + k] * right[k * columns + j] for k in range(inner)) % P for i in range(rows) for j in range(columns)]
    assert product(left, right, rows, inner, columns) == expected
    for wrong in ((left[1:], right), ([*left, 0], right), (left, right[1:]), (left, [*right, 0])):
        with pytest.raises(ValueError, match="entries"):
            product(*wrong, rows, inner, columns)


@pytest.mark.parametrize("field", FIELDS, ids=lambda field: f"degree{field.degree}")
@pytest.mark.parametrize("size", range(6))
def test_equality_is_the_interpolation_of_the_unit_cube(field: Extension, size: int) -> None:
    for corner in range(1 << size):
        table = field.equality([field.embed(corner >> bit & 1) for bit in range(size)])
        assert table == [field.one if i == corner else field.zero for i in range(1 << size)]
    point = [tuple(P - 1 - 3 * bit - d for d in range(field.degree)) for bit in range(size)]
    for i, entry in enumerate(field.equality(point)):
        expected = field.one
        for bit, coordinate in enumerate(point):
            expected = field.multiply(expected, coordinate if i >> bit & 1 else field.subtract(field.one, coordinate))
        assert entry == expected


@pytest.mark.parametrize("field", FIELDS, ids=lambda field: f"degree{field.degree}")
@pytest.mark.parametrize("size", range(7))
def test_multilinear_extension_is_the_weighted_sum(field: Extension, size: int) -> None:
    point = [tuple(P - 5 - 7 * bit * bit - d for d in range(field.degree)) for bit in range(size)]
    values = [[pow(3 + power, 5 * i + 1, P) for i in range(1 << size)] for power in range(field.degree)]
    expected = field.zero
    for i, entry in enumerate(field.equality(point)):
        expected = field.add(expected, field.multiply(entry, tuple(column[i] for column in values)))
    assert field.multilinear(values, point) == expected


def test_combinations_of_words_are_products_of_matrices() -> None:
    rng = np.random.default_rng(5)
    for rows, inner, columns in ((1, 1, 1), (3, 7, 2), (20, 300, 6), (5, 4000, 4)):
        words, right = (rng.integers(0, P, size, dtype=np.uint64) for size in ((rows, inner), inner * columns))
        words[0], right[:columns] = P - 1, P - 1  # as large as they may be
        assert combined(words, right.tolist(), columns) == product(words.ravel().tolist(), right.tolist(), rows, inner, columns)
    with pytest.raises(ValueError, match="would not fit"):
        combined(np.broadcast_to(np.uint64(0), (1, 1 << 29)), [], 0)
