# SPDX-License-Identifier: Apache-2.0
"""Arithmetic that becomes vector instructions, strips in planes, work in threads: against Python integers, on random and on extreme values."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import pairwise
from itertools import product as pairs
from typing import Any

import numpy as np
import pytest
from numba import njit

from certify_zk.field import Element, Extension, P
from certify_zk.kernels import lanes, planes, sums, threads

_WORDS = [0, 1, 2, 7, (1 << 16) - 1, (1 << 32) - 2, (1 << 32) - 1, 1 << 32, (1 << 32) + 1, (1 << 48) + 5, (1 << 61) - 1, 1 << 61, (1 << 63) - 1,
          1 << 63, P - (1 << 32), P - (1 << 32) - 1, P - 7, P - 2, P - 1]
_BEYOND = [P, P + 1, (1 << 64) - (1 << 31), (1 << 64) - 2, (1 << 64) - 1]


@njit
def _all(a, b, c, found):  # type: ignore[no-untyped-def]
    """Write what the operations give; the loop is one that becomes vector instructions."""
    for i in range(len(a)):
        found[0, i], found[1, i], found[2, i] = lanes.product(a[i], b[i]), lanes.product_plus(a[i], b[i], c[i]), lanes.below(a[i])
    for i in range(len(a)):
        found[3, i], found[4, i] = lanes.product_loosely(a[i], b[i]), lanes.seven_loosely(a[i])


@njit
def _sums(a, b, found):  # type: ignore[no-untyped-def]
    for i in range(len(a)):
        found[0, i], found[1, i] = lanes.plus(a[i], b[i]), lanes.minus(a[i], b[i])


@njit
def _loose_sums(a, b, found):  # type: ignore[no-untyped-def]
    for i in range(len(a)):
        found[0, i], found[1, i] = lanes.plus_loosely(a[i], b[i]), lanes.minus_loosely(a[i], b[i])


def _columns(rows: list[tuple[int, ...]]) -> list[Any]:
    return [np.array(column, np.uint64) for column in zip(*rows, strict=True)]


def test_operations_on_lanes() -> None:
    random = np.random.default_rng(1).integers(0, 1 << 64, (5000, 3), dtype=np.uint64).tolist()
    rows = [*pairs(_WORDS + _BEYOND, _WORDS + _BEYOND, [0, 5, P - 1, (1 << 64) - 1]), *map(tuple, random)]
    found = np.empty((5, len(rows)), np.uint64)
    _all(*_columns(rows), found)
    for (a, b, c), (first, second, third, fourth, fifth) in zip(rows, found.T.tolist(), strict=True):
        assert (first, second, third) == (a * b % P, (a * b + c) % P, a % P) and (fourth - a * b) % P == (fifth - 7 * a) % P == 0


def test_sums_on_lanes() -> None:
    random = np.random.default_rng(2).integers(0, P, (5000, 2), dtype=np.uint64).tolist()
    rows = [*pairs(_WORDS, _WORDS), *map(tuple, random)]
    found = np.empty((2, len(rows)), np.uint64)
    _sums(*_columns(rows), found)
    assert found.T.tolist() == [[(a + b) % P, (a - b) % P] for a, b in rows]
    rows = [*pairs(_WORDS + _BEYOND, _WORDS), *map(tuple, random)]
    found = np.empty((2, len(rows)), np.uint64)
    _loose_sums(*_columns(rows), found)
    assert [[a % P, b % P] for a, b in found.T.tolist()] == [[(a + b) % P, (a - b) % P] for a, b in rows]


def elements(strip: Any) -> list[Element]:
    return [tuple(entry) for entry in strip.T.tolist()]


@pytest.mark.parametrize("degree", [2, 3])
@pytest.mark.parametrize("count", [1, 3, 37])
def test_strips(degree: int, count: int) -> None:
    random, field = np.random.default_rng(count), Extension(degree)
    a, b, c = (random.integers(0, P, (degree, count + 9), dtype=np.uint64) for _ in range(3))
    a[:, 2], b[:, 5], b[:, 7] = P - 1, P - 1, P - 1
    constant: Element = tuple(random.integers(0, P, degree, dtype=np.uint64).tolist())
    m = planes.matrix(constant)
    assert (planes.matrices(np.array([constant, (P - 1,) * degree], np.uint64)) == [m, planes.matrix((P - 1,) * degree)]).all()
    x, y, z = (elements(part[:, start : start + count]) for part, start in ((a, 2), (b, 5), (c, 1)))

    def changed(kernel: Any, *rest: Any) -> list[Element]:
        out = c.copy()
        kernel(out, 1, a, 2, *rest, count)
        assert (out[:, 0] == c[:, 0]).all() and (out[:, count + 1 :] == c[:, count + 1 :]).all()
        return elements(out[:, 1 : count + 1])
    assert changed(planes.multiply, b, 5) == [field.multiply(e, f) for e, f in zip(x, y, strict=True)]
    assert changed(planes.multiply_add, b, 5) == [field.add(g, field.multiply(e, f)) for e, f, g in zip(x, y, z, strict=True)]
    assert changed(planes.subtract, b, 5) == [field.subtract(e, f) for e, f in zip(x, y, strict=True)]
    assert changed(planes.weigh, m) == [field.add(g, field.multiply(e, constant)) for e, g in zip(x, z, strict=True)]
    both = np.concatenate([a[:, :count], b[:, :count]], axis=1)
    low, high = elements(both[:, :count]), elements(both[:, count:])
    planes.bind(both, 0, count, m, count)
    assert elements(both[:, :count]) == [field.add(e, field.multiply(constant, field.subtract(f, e))) for e, f in zip(low, high, strict=True)]
    assert elements(both[:, count:]) == high


@pytest.mark.parametrize("dtype", [np.uint16, np.uint64])
def test_combinations_of_some_rows(dtype: type) -> None:
    random, most = np.random.default_rng(3), (1 << 16) - 1 if dtype is np.uint16 else P - 1
    cells = random.integers(0, most, (9, 1 << 10), dtype=dtype, endpoint=True)
    rows, weights, found = np.array([7, 0, 7, 3]), random.integers(0, P, (4, 2), dtype=np.uint64), np.zeros((1 << 10, 2), np.uint64)
    sums.combine(weights, cells, found, rows)
    assert (found == cells[rows].astype(object).T @ weights.astype(object) % P).all()


def test_counts() -> None:
    cells, found = np.array([[0, 3, 3], [9, 8, 3]], np.uint64), np.ones(9, np.uint64)
    sums.count(cells, found)
    assert found.tolist() == [2, 1, 1, 4, 1, 1, 1, 1, 2]


def test_threads_share_all_numbers_in_order() -> None:
    for count, least in ((0, 1), (1, 1), (7, 1), (7, 4), (8, 4), (1000, 1)):
        parts = threads.shared(lambda first, last: (first, last), count, least)
        assert parts[0][0] == 0 and parts[-1][1] == count and all(a[1] == b[0] for a, b in pairwise(parts))
        assert len(parts) == 1 or min(last - first for first, last in parts) >= least
    for bad in (0, 500):
        with pytest.raises(ZeroDivisionError):
            threads.shared(lambda first, last, bad=bad: 1 // (bad - first), 1000)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")
def test_a_forked_process_has_threads_of_its_own() -> None:
    code = ("import os; from certify_zk.kernels.threads import shared; work = lambda first, last: last - first; shared(work, 10); child = os.fork()\n"
            "if child:\n    os._exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\nos._exit(shared(work, 10) != [5, 5])")
    assert subprocess.run([sys.executable, "-W", "ignore", "-c", code], timeout=60, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
                          check=False).returncode == 0
