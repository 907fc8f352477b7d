# SPDX-License-Identifier: Apache-2.0
"""The no-wrap rule against enumeration: what is admitted never wraps, and every interval encloses what its relation evaluates to."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
import pytest
from flint import fmpz

from certify.errors import Declined
from certify_zk.evaluation import evaluate, gated, inner
from certify_zk.exact import Integers, integers, matmul, multiplied, scaled, summed
from certify_zk.relations import Factor, Form, Gated, Hadamard, Inner, Linear, Product, Term, constant, of
from certify_zk.width import PRIME, Interval, Ranges, admitted, cell, public, signed

Grid = np.ndarray[tuple[int, ...], np.dtype[np.int64]]


@dataclass
class Expressions:
    """Random expressions over few cells, with their values under all assignments."""

    rng: np.random.Generator
    cells: list[tuple[Interval, Grid]]

    def leaf(self) -> tuple[Interval, Grid]:
        if self.rng.random() < 0.15:
            value = int(self.rng.integers(-9, 10))
            return public([value]), np.full_like(self.cells[0][1], value)
        return self.cells[int(self.rng.integers(len(self.cells)))]

    def made(self, depth: int) -> tuple[Interval, Grid]:
        if depth == 0 or self.rng.random() < 0.15:
            return self.leaf()
        kind, (interval, value) = int(self.rng.integers(4)), self.made(depth - 1)
        if kind == 0:
            other, more = self.made(depth - 1)
            return interval + other, value + more
        if kind == 1:
            factor = int(self.rng.integers(-5, 6))
            return interval.scaled(factor), factor * value
        if kind == 2:
            other, more = self.made(depth - 1)
            return interval * other, value * more
        count = int(self.rng.integers(0, 4))
        shifts = [int(self.rng.integers(0, value.size)) for _ in range(count)]  # terms that are independent: other assignments of the same cells
        return interval.summed(count), sum((np.roll(value, shift) for shift in shifts), np.zeros_like(value))


def all_assignments(ranges: list[Interval]) -> list[Grid]:
    return [np.array(values) for values in zip(*product(*(range(r.low, r.high + 1) for r in ranges)), strict=True)]


def test_admitted_relations_never_wrap() -> None:
    rng, wraps, taken = np.random.default_rng(1), 0, 0
    for _ in range(1712):
        bits = rng.integers(1, 4, int(rng.integers(1, 4)))
        ranges = [signed(int(b)) if rng.random() < 0.4 else cell(int(b)) for b in bits]
        made = Expressions(rng, list(zip(ranges, all_assignments(ranges), strict=True)))
        (left, a), (right, b) = made.made(3), made.made(3)
        assert left.low <= a.min() and a.max() <= left.high and right.low <= b.min() and b.max() <= right.high
        for prime in (13, 31, 61, 127, 509):
            wrapped = bool(((a - b) % prime == 0)[a != b].any())
            if admitted(left, right, prime=prime):
                assert not wrapped
                taken += 1
            wraps += wrapped
    assert wraps > 500 and taken > 1000


def test_the_prime() -> None:
    assert PRIME == 18446744069414584321 and PRIME.bit_length() == 64 and fmpz(PRIME).is_prime()


def test_the_bound_on_sides_is_the_best_one() -> None:
    for prime in (5, 7, 13, PRIME):
        half = prime // 2
        assert admitted(Interval(-half, half), Interval(-half, half), prime=prime)  # differences are below the prime
        assert not admitted(Interval(0, half + 1), prime=prime) and not admitted(Interval(-half - 1, 0), prime=prime)
        assert (half + 1 - -half) % prime == 0  # one more, and two different values are equal modulo the prime


def test_ends_of_intervals() -> None:
    assert cell(16) == Interval(0, 65535) and signed(4) == Interval(-8, 7) and public([3, -2, 9]) == Interval(-2, 9)
    assert Interval(-2, 3) * Interval(-5, 4) == Interval(-15, 12) and Interval(-2, 3).scaled(-2) == Interval(-6, 4)
    assert Interval(-2, 3).summed(4) == Interval(-8, 12) and Interval(1, 2).joined(Interval(-4, -3)) == Interval(-4, 2)
    assert Interval(-8, 7).magnitude == 8 and Interval(0, 0).bits == 0 and cell(1).bits == 0 and signed(17).bits == 16
    with pytest.raises(ValueError, match="no integer"):
        Interval(1, 0)
    with pytest.raises(ValueError, match="no fewer than 0"):
        cell(1).summed(-1)


def test_a_cell_without_a_range_is_refused() -> None:
    ranges = Ranges({"a": cell(3)}, frozenset({"b"}))
    assert ranges.of("a") == cell(3) and ranges.limb("b") == cell(16)
    for ask in (lambda: ranges.of("b"), lambda: ranges.limb("a"), lambda: ranges.of("c")):
        with pytest.raises(Declined, match="unknown cell") as caught:
            ask()
        assert caught.value.code == "commitment-width"


def test_a_relation_narrows_what_is_left_of_it() -> None:
    rng = np.random.default_rng(2)
    for _ in range(300):
        a, b, top = (int(v) for v in rng.integers(1, 40, 3))
        ranges = Ranges({}, frozenset("xyz"))
        Linear("r", "relation-range", of("x").scaled(a) + of("y").scaled(b), constant(top), narrows=True).learn(ranges)
        both = [(x, y) for x in range(top + 1) for y in range(top + 1) if a * x + b * y == top]
        assert all(0 <= x <= ranges.of("x").high and 0 <= y <= ranges.of("y").high for x, y in both)
        bits = int(rng.integers(1, 16))
        Linear("r", "relation-range", of("z").scaled(1 << (16 - bits)), of("x"), narrows=True).learn(ranges)
        assert ranges.of("z") == cell(bits)
    for term in (Term("x", -1), Term("x", 0), Term("x", 1, 0), Term("1", 4)):
        with pytest.raises(ValueError, match="narrows nothing"):
            Linear("r", "relation-range", Form((term, Term("y"))), constant(3), narrows=True).learn(Ranges({}, frozenset("xy")))


def _within(found: Integers, interval: Interval) -> None:
    assert interval.low <= int(found.min()) and int(found.max()) <= interval.high


def test_intervals_of_all_shapes_enclose_their_sides() -> None:
    rng = np.random.default_rng(3)
    for _ in range(200):
        known = {name: Interval(low, low + int(rng.integers(0, 6))) for name in ("i", "ik", "n", "k", "k2", "kj", "ij")
                 for low in [int(rng.integers(-4, 3))]}
        ranges = Ranges(known, frozenset())
        shapes = {"i": 4, "ik": (4, 3), "n": 2, "k": 3, "k2": 3, "kj": (3, 2), "ij": (4, 2)}
        tables = {name: rng.choice([known[name].low, known[name].high], shapes[name]) for name in known}

        def form(*names: str) -> Form:
            total = constant(int(rng.integers(-3, 4)))
            for name in names:
                part = of(name).scaled(int(rng.integers(-3, 4)))
                total += part.on(int(rng.integers(2))) if name == "n" else part
            return total

        linear = Linear("l", "", form("i", "n"), form("n", "n"))
        for (_, interval), side in zip(linear.interval(ranges), (linear.left, linear.right), strict=True):
            _within(evaluate(side, tables), interval)
        hadamard = Hadamard("h", "", form("i"), form("i", "n"), form("i"))
        _within(multiplied(evaluate(hadamard.first, tables), evaluate(hadamard.second, tables)), hadamard.interval(ranges)[1][1])
        step = Gated("g", "", form("ij"), form("ik"), form("ik"), form("k"), form("k2"), form("kj"), form("k"), "c", 3)
        found, total = gated(step, tables)
        _within(found, step.interval(ranges)[1][1])
        _within(total, step.interval(ranges)[2][1])
        one, other = Factor(form("ik"), "ik"), Factor(form("k2"), "k")
        for products in ((Product((one, other)), Product((one, one), -2)), (Product((one, Factor(form("kj"), "kj"))),),
                         (Product((one, other, Factor(form("k"), "k")), 3),)):
            sums = Inner("s", "", form("i"), products, 3)
            _within(inner(sums, tables), sums.interval(ranges)[1][1])


def test_integers_widen_instead_of_overflow() -> None:
    rng = np.random.default_rng(4)
    for _ in range(300):
        a, b = (np.array([[int(v) for v in row] for row in rng.integers(-(1 << 30), 1 << 30, shape)], object) << int(rng.integers(0, 50))
                for shape in ((3, 5), (5, 2)))
        a, b = (v >> int(rng.integers(0, 60)) for v in (a, b))
        first, second = integers(a), integers(b)
        assert (matmul(first, second) == a @ b).all() and (matmul(first, second[:, 0]) == a @ b[:, 0]).all()
        assert (multiplied(first, second.T[:, :5][[0, 1, 0]]) == a * b.T[[0, 1, 0]]).all() and (summed(first, 1) == a.sum(axis=1)).all()
        factor = 1 << int(rng.integers(0, 70))
        assert (scaled(first, -factor) == -factor * a).all()
    worst = np.full((1, 1024), (1 << 28) - 1), np.full((1024, 1), 65535)
    assert int(matmul(*worst)[0, 0]) == 1024 * ((1 << 28) - 1) * 65535
