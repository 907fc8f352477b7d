# SPDX-License-Identifier: Apache-2.0
"""Outward rounding against exact rational arithmetic."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from certify.errors import Rejected
from certify.rules.balls import KAPPA, LARGE, SNAP, U, above, below, down, gamma, require_size, snap_lower, snap_upper, up

_SIZES = st.floats(min_value=-(2.0**300), max_value=2.0**300, allow_nan=False)


@settings(max_examples=400, deadline=None, derandomize=True)
@given(_SIZES, _SIZES)
def test_down_and_up_cover_one_rounded_operation(a: float, b: float) -> None:
    for rounded, exact in ((a + b, Fraction(a) + Fraction(b)), (a * b, Fraction(a) * Fraction(b)), (a - b, Fraction(a) - Fraction(b))):
        low, high = float(down(np.array(rounded))), float(up(np.array(rounded)))
        assert Fraction(low) <= exact <= Fraction(high)


def test_down_and_up_at_powers_of_two_and_around_them() -> None:
    for exponent in (-1074, -1022, -970, -301, -300, -53, 0, 1, 52, 53, 300, 600, 990):
        for factor in (1, 1 + 2.0**-52, 2 - 2.0**-52, 1.5):
            for sign in (1.0, -1.0):
                x = sign * factor * 2.0**exponent
                reach = Fraction(abs(x)) * Fraction(U) if abs(x) >= 2.0**-900 else Fraction(2) ** -1075
                assert Fraction(float(down(np.array(x)))) <= Fraction(x) - reach
                assert Fraction(float(up(np.array(x)))) >= Fraction(x) + reach


@pytest.mark.parametrize("n", [0, 1, 2, 3, 10, 1000, 2**20, 2**28, 2**30 - 1])
def test_gamma_is_above_the_exact_one_with_room(n: int) -> None:
    u = Fraction(1, 2**53)
    exact = n * u / (1 - n * u)
    assert Fraction(gamma(n)) >= exact * (1 + Fraction(1, 2**21))
    assert Fraction(KAPPA) == 1 + Fraction(1, 2**20)


def test_gamma_refuses_sizes_for_which_it_is_not_proved() -> None:
    for n in (2**30, -1):
        with pytest.raises(ValueError, match="fewer than"):
            gamma(n)


def test_down_and_up_move_by_two_roundings_and_no_more() -> None:
    for x in (0.0, 1.0, -1.0, 3.0, -(2.0**40), 2.0**-400):
        moved = Fraction(abs(x)) / 2**52 + Fraction(SNAP)
        for found, sign in ((down, -1), (up, 1)):
            assert abs(Fraction(float(found(np.array(x)))) - Fraction(x) - sign * moved) <= (Fraction(abs(x)) + Fraction(SNAP)) / 2**53


def test_snapping_moves_no_further_than_to_the_next_number_kept() -> None:
    tiny = 2.0**-301
    for x, low in ((tiny, 0.0), (-tiny, -SNAP), (SNAP, SNAP), (-SNAP, -SNAP), (0.0, 0.0), (1.0, 1.0), (-1.0, -1.0), (0.5, 0.5)):
        assert snap_lower(np.array([x])).tolist() == [low] and snap_upper(np.array([-x])).tolist() == [-low]


def test_sizes_up_to_the_limit_are_taken() -> None:
    require_size(np.array([LARGE, -LARGE, 0.0]), "numbers")
    for bad in (float(np.nextafter(LARGE, np.inf)), -float(np.nextafter(LARGE, np.inf)), np.inf, -np.inf, np.nan):
        with pytest.raises(Rejected) as caught:
            require_size(np.array([0.0, bad]), "numbers")
        assert caught.value.code == "number-too-large"


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.fractions(max_denominator=10**12), st.integers(-400, 400))
def test_below_and_above_are_the_nearest_doubles_on_their_side(value: Fraction, exponent: int) -> None:
    scaled = value * Fraction(2) ** exponent
    low, high = below(scaled), above(scaled)
    assert Fraction(low) <= scaled <= Fraction(high)
    assert low == high or (np.nextafter(low, np.inf) == high)


def test_below_refuses_what_no_double_can_hold() -> None:
    for value in (Fraction(10) ** 400, -(Fraction(10) ** 400)):
        with pytest.raises(Rejected) as caught:
            below(value)
        assert caught.value.code == "number-too-large"


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_snapping_moves_outward_only_and_leaves_no_tiny_number(x: float) -> None:
    low, high = float(snap_lower(np.array(x))), float(snap_upper(np.array(x)))
    assert low <= x <= high
    assert low == 0 or abs(low) >= SNAP
    assert high == 0 or abs(high) >= SNAP
