# SPDX-License-Identifier: Apache-2.0
"""Compiled arithmetic against Python integers, on random and on extreme values."""

from __future__ import annotations

from itertools import product as pairs

import numpy as np
import pytest

from certify_zk.field import Extension, P, evaluate
from certify_zk.kernels import goldilocks, sums, vectors
from certify_zk.kernels.ntt import encode, transpose
from certify_zk.reed_solomon import Code

_WORDS = [0, 1, 2, 7, (1 << 16) - 1, (1 << 32) - 2, (1 << 32) - 1, 1 << 32, (1 << 32) + 1, (1 << 48) + 5, (1 << 63) - 1, 1 << 63, P - (1 << 32),
          P - (1 << 32) - 1, P - 7, P - 2, P - 1]
_BEYOND = [P, P + 1, (1 << 64) - (1 << 31), (1 << 64) - 2, (1 << 64) - 1]


def _pairs() -> list[tuple[int, int]]:
    random = np.random.default_rng(5).integers(0, P, (2000, 2), dtype=np.uint64).tolist()
    return [*pairs(_WORDS, _WORDS), *map(tuple, random)]


@pytest.mark.parametrize(("kernel", "meaning"), [(goldilocks.multiply, lambda a, b: a * b), (goldilocks.add, lambda a, b: a + b),
                                                 (goldilocks.subtract, lambda a, b: a - b)])
def test_operations_on_elements(kernel: object, meaning: object) -> None:
    for a, b in _pairs():
        assert int(kernel(np.uint64(a), np.uint64(b))) == meaning(a, b) % P  # type: ignore[operator]


def test_canonical_words_take_any_word() -> None:
    for a in _WORDS + _BEYOND:
        assert int(goldilocks.canonical(np.uint64(a))) == a % P


def test_reduction_takes_any_two_words() -> None:
    random = np.random.default_rng(6).integers(0, 1 << 64, (2000, 2), dtype=np.uint64).tolist()
    for low, high in [*pairs(_WORDS + _BEYOND, _WORDS + _BEYOND), *random]:
        assert int(goldilocks.reduce(np.uint64(low), np.uint64(high))) == (low + (high << 64)) % P


def test_products_with_a_summand() -> None:
    for a, b in _pairs():
        for c in (0, 1, P - 1, (1 << 32) - 1, b):
            assert int(goldilocks.multiply_add_seven(np.uint64(a), np.uint64(b), np.uint64(c))) == (a * b + 7 * c) % P
        for c in (0, P - 1, (1 << 64) - 1, a):
            assert int(goldilocks.multiply_add(np.uint64(a), np.uint64(b), np.uint64(c))) == (a * b + c) % P


@pytest.mark.parametrize(("degree", "kernel"), [(2, goldilocks.multiply_quadratic), (3, goldilocks.multiply_cubic)])
def test_extension_products(degree: int, kernel: object) -> None:
    random = np.random.default_rng(7)
    field = Extension(degree)
    operands = [tuple(random.choice(_WORDS, degree).astype(object)) for _ in range(1000)]
    operands += [tuple(row) for row in random.integers(0, P, (1000, degree), dtype=np.uint64).tolist()] + [(P - 1,) * degree] * 2
    for a, b in zip(operands, operands[::-1], strict=True):
        found = kernel(*(np.uint64(x) for x in (*a, *b)))  # type: ignore[operator]
        assert tuple(map(int, found)) == field.multiply(tuple(map(int, a)), tuple(map(int, b)))


@pytest.mark.parametrize("cells,pads,length", [(1, 0, 4), (1, 3, 16), (2, 0, 4), (2, 5, 16), (4, 4, 16), (4, 30, 64), (8, 6, 32), (8, 24, 64),
                                               (16, 1, 256), (32, 7, 128), (64, 0, 256)])
def test_codewords_are_values_of_the_rows_polynomials(cells: int, pads: int, length: int) -> None:
    code, random = Code(cells, pads, length), np.random.default_rng(cells + pads)
    points = [code.point(column) for column in range(length)]
    assert len(set(points)) == length and all(pow(point, length, P) == 1 for point in points)
    wide = random.integers(0, P, (3, cells), dtype=np.uint64)
    wide[1], wide[2, ::2] = P - 1, 0
    limbs = random.integers(0, 1 << 16, (2, cells)).astype(np.uint16)
    for rows in (wide, limbs):
        padding = random.integers(0, P, (len(rows), pads), dtype=np.uint64)
        padding[0] = P - 1
        for row, pad, codeword in zip(rows, padding, encode(code, rows, padding), strict=True):
            assert codeword.tolist() == evaluate(row.tolist() + pad.tolist(), points)


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (8, 4), (13, 16), (835, 32)])
def test_columns_as_rows(rows: int, columns: int) -> None:
    codewords = np.random.default_rng(3).integers(0, P, (rows, columns), dtype=np.uint64)
    for width in {1, max(1, columns // 4), columns}:
        strip = np.empty((width, rows), np.uint64)
        for start in range(0, columns, width):
            transpose(codewords, start, strip)
            assert (strip == codewords[:, start : start + width].T).all()


def test_no_row_no_codeword() -> None:
    assert encode(Code(8, 2, 32), np.zeros((0, 8), np.uint16), np.zeros((0, 2), np.uint64)).shape == (0, 32)


@pytest.mark.parametrize("degree", [2, 3])
@pytest.mark.parametrize("dtype", [np.uint16, np.uint64])
def test_combinations_and_evaluations(degree: int, dtype: type, monkeypatch: pytest.MonkeyPatch) -> None:
    random, most = np.random.default_rng(8), (1 << 16) - 1 if dtype is np.uint16 else P - 1
    monkeypatch.setattr(sums, "BLOCK", 5)  # several blocks, the last one shorter
    for rows, columns in ((1, 1), (3, 8), (12, 700), (7, 513)):
        cells = random.integers(0, most, (rows, columns), dtype=dtype, endpoint=True)
        cells[0], weights = most, [random.integers(0, P, (n, degree), dtype=np.uint64) for n in (rows, columns)]
        for each in weights:
            each[0] = P - 1
        started = random.integers(0, P, (columns, degree), dtype=np.uint64)
        combined = started.copy()
        sums.combine(weights[0], cells, combined)
        table, exact = cells.astype(object), [each.astype(object) for each in weights]
        assert (combined == (started.astype(object) + table.T @ exact[0]) % P).all()
        assert (sums.evaluations(cells, weights[1]) == table @ exact[1] % P).all()


@pytest.mark.parametrize("degree", [2, 3])
def test_blocks_of_the_largest_terms_do_not_wrap(degree: int) -> None:
    """2^16 terms of (2^16 - 1) times a word with both halves as large as they get, and one term more."""
    rows = (1 << 16) + 1
    weights = np.full((rows, degree), (1 << 64) - (1 << 32), np.uint64)  # p - 1: the largest high half, and the next has the largest low half
    weights[:, 1] = (1 << 32) - 1
    cells = np.full((rows, 2), (1 << 16) - 1, np.uint16)
    combined = np.zeros((2, degree), np.uint64)
    sums.combine(weights, cells, combined)
    expected = [rows * ((1 << 16) - 1) * int(word) % P for word in weights[0]]
    assert combined.tolist() == [expected] * 2 and sums.evaluations(np.ascontiguousarray(cells.T), weights).tolist() == [expected] * 2


@pytest.mark.parametrize("degree", [2, 3])
def test_equality_tables(degree: int) -> None:
    random = np.random.default_rng(9)
    for size in range(6):
        point = [tuple(row) for row in random.integers(0, P, (size, degree), dtype=np.uint64).tolist()]
        assert [tuple(row) for row in sums.equality(point, degree).tolist()] == Extension(degree).equality(point)


@pytest.mark.parametrize("degree", [2, 3])
def test_arrays_of_elements(degree: int) -> None:
    random, field = np.random.default_rng(10), Extension(degree)
    a, b = (random.integers(0, P, (6, 4, degree), dtype=np.uint64) for _ in range(2))
    a[0], b[1], a[2], b[2] = P - 1, P - 1, P - 1, P - 1
    a[3], b[4] = 0, 0
    at = random.integers(0, P, degree, dtype=np.uint64)
    found = {"add": vectors.add(a, b), "subtract": vectors.subtract(a, b), "multiply": vectors.multiply(a, b), "between": vectors.between(a, b, at)}
    for index in np.ndindex(6, 4):
        x, y = (tuple(map(int, part[index])) for part in (a, b))
        t = tuple(map(int, at))
        expected = {"add": field.add(x, y), "subtract": field.subtract(x, y), "multiply": field.multiply(x, y),
                    "between": field.add(x, field.multiply(t, field.subtract(y, x)))}
        assert {name: tuple(map(int, table[index])) for name, table in found.items()} == expected
    assert (vectors.total(a).astype(object) == a.astype(object).sum(axis=1) % P).all()
    assert (vectors.multiply(a[:, :1], b[:1]) == vectors.multiply(np.broadcast_to(a[:, :1], a.shape), np.broadcast_to(b[:1], b.shape))).all()
    assert (vectors.scale(a, np.uint64(P - 3)).astype(object) == a.astype(object) * (P - 3) % P).all()
    assert (vectors.embedded(a, degree)[..., 0] == a).all() and not vectors.embedded(a, degree)[..., 1:].any()
