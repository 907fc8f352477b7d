# SPDX-License-Identifier: Apache-2.0
"""The words of a neighbourhood: numbers exactly, and every step between the points file and the network that does something."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from certify.rules.neighbourhood import words


def _words(**fields: Any) -> str:
    plain = {"radius_unit": "raw", "norm": "linf", "radius": Fraction(1, 2), "scale": Fraction(1), "clip": None, "subtract": Fraction(0),
             "divide": Fraction(1)}
    return words({**plain, **fields}, "row 3")


@pytest.mark.parametrize(("value", "told"), [
    ("1/2", "1/2"), ("3", "3"), ("-3", "-3"), ("1/100", "1/100"), ("1/125", "0.008"), ("1/101", "1/101"), ("0.07632", "0.07632"),
    ("-0.07632", "-0.07632"),
    ("12.000001", "12.000001"), ("1e-7", "1/10000000"), ("1.305", "1.305"), ("-1.305", "-1.305"), ("1/255", "1/255"), ("0.0307", "0.0307")])
def test_numbers_are_told_exactly(value: str, told: str) -> None:
    assert _words(radius=Fraction(value)) == f"within {told} (linf, in the units of the points file) of row 3"


def test_every_step_is_told() -> None:
    ball, half, two = "within 1/2 (linf, in the units of the points file) of row 3", Fraction(1, 2), Fraction(2)
    assert [_words(), _words(radius_unit="scaled", norm="l2")] == [ball, "within 1/2 (l2, in scaled units) of row 3"]
    for value, told in ((half, "1/2"), (two, "2")):
        assert _words(scale=value) == f"{ball}; the network gets it times {told}"
        assert _words(divide=value) == f"{ball}; the network gets it divided by {told}"
        for sign in (1, -1):
            assert _words(subtract=sign * value) == f"{ball}; the network gets it minus {'-' if sign < 0 else ''}{told}"
    assert _words(subtract=Fraction(1)) == f"{ball}; the network gets it minus 1"
    assert _words(scale=half, clip=(Fraction(0), Fraction(1)), subtract=(half, two), divide=(Fraction(1), two)) == (
        f"{ball}; the network gets it times 1/2, clipped to [0, 1], minus [1/2, 2], divided by [1, 2]")
