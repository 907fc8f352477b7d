# SPDX-License-Identifier: Apache-2.0
"""Compiled arithmetic in the scalar field of BLS12-381 against Python integers, on random and on extreme values, and the field in Python."""

from __future__ import annotations

import numpy as np
import pytest

from certify.errors import Rejected
from certify_zk.kernels import bls
from certify_zk.prime_field import PrimeField, R, elements, equality, inner, packed, powers

_EDGE = [0, 1, 2, R - 1, R - 2, R // 2, R // 2 + 1, 1 << 64, (1 << 64) - 1, (1 << 128) - 1, (1 << 192) + 5, (1 << 254) - 1, R - (1 << 64),
         R - (1 << 192), R & ~((1 << 64) - 1), R & ((1 << 192) - 1), pow(2, 256, R), -pow(2, 256, R) % R]


def _random(count: int) -> list[int]:
    rng = np.random.default_rng(5)
    return [int.from_bytes(rng.bytes(40), "little") % R for _ in range(count)]


def test_operations() -> None:
    values = [*_EDGE, *_random(120)]
    first, second = [a for a in values for _ in values], [b for _ in values for b in values]
    a, b = bls.held(first), bls.held(second)
    for found, meaning in ((bls.multiply(a, b), lambda x, y: x * y), (bls.add(a, b), lambda x, y: x + y), (bls.subtract(a, b), lambda x, y: x - y)):
        assert bls.shown(found) == [meaning(x, y) % R for x, y in zip(first, second, strict=True)]
    assert bls.shown(bls.total(a)[None]) == [sum(first) % R]
    assert bls.shown(bls.between(a[:5], b[:5], bls.held([7])[0])) == [(x + 7 * (y - x)) % R for x, y in zip(first[:5], second[:5], strict=True)]


def test_integers_of_all_types_are_held() -> None:
    for values in (np.array([[0, 1], [-1, 65535]]), np.array([0, (1 << 64) - 1], np.uint64), np.array([-R, 3 * R + 2, -(1 << 300)], object),
                   np.array([True, False]), np.zeros((0,), np.int64)):
        found = bls.spread(values)
        assert found.shape == (*values.shape, 4) and bls.shown(found.reshape(-1, 4)) == [int(value) % R for value in values.ravel()]


def test_equality_and_its_sums() -> None:
    point = _random(4)
    table = bls.shown(bls.equality(bls.held(point)))
    for index in range(16):
        expected = 1
        for bit, coordinate in enumerate(point):
            expected = expected * (coordinate if index >> bit & 1 else 1 - coordinate) % R
        assert table[index] == expected
    assert table == equality([(coordinate,) for coordinate in point]) and bls.shown(bls.equality([])) == [1]
    values = _random(16)
    assert PrimeField().multilinear([values], [(coordinate,) for coordinate in point]) == (inner(values, table),)


def test_the_field_in_python() -> None:
    field = PrimeField()
    for a, b in zip(_random(20), reversed(_random(20)), strict=True):
        assert field.add((a,), (b,)) == ((a + b) % R,) and field.subtract((a,), (b,)) == ((a - b) % R,) and field.negated((a,)) == (-a % R,)
        assert field.multiply((a,), field.inverse((a,))) == field.one and field.scale((a,), -3) == (-3 * a % R,)
    assert field.embed(-1) == (R - 1,) and powers(3, 4) == [1, 3, 9, 27] and powers(3, 1) == [1]
    with pytest.raises(ZeroDivisionError):
        field.inverse((0,))
    assert pow(5, R - 1, R) == 1 and R.bit_length() == 255


def test_elements_have_one_form() -> None:
    array = np.frombuffer(packed([0, R - 1]), np.uint8).reshape(2, 32)
    assert elements(array, 2, "some") == [0, R - 1]
    for changed, code in ((np.frombuffer(R.to_bytes(32, "little"), np.uint8).reshape(1, 32), "argument-noncanonical"),
                          (array, "argument-malformed"), (array[:1, :31], "argument-malformed"), (array[:1].view(np.int8), "argument-malformed")):
        with pytest.raises(Rejected) as caught:
            elements(changed, 1, "some")
        assert caught.value.code == code
