# SPDX-License-Identifier: Apache-2.0
"""Policies: what is refused, with its code, and what is taken at the limit; units and domains."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from certify.errors import Declined
from certify_zk.policy import UNIT_CUBE, Dense, InputMap, Policy

GOOD = Policy((Dense(2, 3), Dense(3, 4), Dense(4, 2)), ("crown",) * 3, ((), (20,), (20, 22)))


def deep(hidden: int) -> dict[str, Any]:
    """Return the fields of a policy with so many hidden layers."""
    return {"layers": (Dense(2, 2),) * (hidden + 1), "modes": ("crown", *("ibp",) * hidden), "tau": ((),) * (hidden + 1)}


@pytest.mark.parametrize("fields", [
    {"layers": ()}, deep(65), {"layers": (Dense(0, 3), Dense(3, 4), Dense(4, 2))}, {"layers": (Dense(2, 3), Dense(2, 4), Dense(4, 2))},
    {"layers": (Dense(2, 3), Dense(3, 4), Dense(4, 0))}, {"layers": (Dense((1 << 16) + 1, 3), Dense(3, 4), Dense(4, 2))},
    {"layers": (Dense(4999, 9999), Dense(9999, 1), Dense(1, 1))},
    {"weight_scale": 3}, {"weight_scale": 16}, {"slope_bits": 0}, {"slope_bits": 16}, {"bias_scale": 0}, {"bias_scale": 17}, {"input_scale": 0},
    {"input_scale": 25}, {"total_scale": 11}, {"total_scale": 33}, {"bias_bits": 1}, {"bias_bits": 33}, {"bound_bits": 1}, {"bound_bits": 33},
    {"intercept_bits": 0}, {"intercept_bits": 49},
    {"modes": ("crown",) * 2}, {"modes": ("ibp", "crown", "crown")}, {"modes": ("crown", "crown", "stop:2")}, {"modes": ("crown", "stop:1", "crown")},
    {"modes": ("crown", "crown", "stop:0")}, {"modes": ("crown", "crown", "stop:01")}, {"modes": ("crown", "crown", "other")},
    {"tau": ((), (20,))}, {"tau": ((), (20,), (20,))}, {"tau": ((1,), (20,), (20, 22))},
    {"tau": ((), (20, 3), (20, 22))}, {"tau": ((), (-1,), (20, 22))}, {"tau": ((), (49,), (20, 22))},
    {"level": 99}, {"level": 101}, {"uses": 0}, {"uses": 65, "queries": 1, "pads": 128}, {"queries": 0},
    {"pads": 16 * 154 - 1}, {"pads": 2497}, {"uses": 17},
    {"columns": 3 << 13}, {"columns": 1 << 8, "codeword": 1 << 10}, {"columns": 1 << 16, "codeword": 1 << 18}, {"codeword": 1 << 16},
    {"columns": 1 << 9, "codeword": 1 << 11},
    {"inputs": InputMap.uniform(0, 0, 0, 1)}, {"inputs": InputMap.uniform(0, -1, 0, 1)}, {"inputs": InputMap.uniform(0, 1, 1, 1)},
    {"inputs": InputMap.uniform(Fraction(1, 2), 1, 0, 1)}, {"inputs": InputMap.uniform(0, 1, 0, 1 << 19)},
    {"inputs": replace(UNIT_CUBE, upper=(Fraction(1), Fraction(1)))}, {"inputs": replace(UNIT_CUBE, upper=(Fraction(1), Fraction(2), Fraction(3)))},
    {"inputs": replace(UNIT_CUBE, offset=())},
])
def test_limits(fields: Mapping[str, Any]) -> None:
    with pytest.raises(Declined) as caught:
        replace(GOOD, **fields).require()
    assert caught.value.code == "commitment-limit" and caught.value.fix


@pytest.mark.parametrize("fields", [
    {}, deep(64), deep(0), {"layers": (Dense(1 << 16, 3), Dense(3, 4), Dense(4, 2))},
    {"layers": (Dense(4998, 9998), Dense(9998, 1), Dense(1, 1))}, {"weight_scale": 4, "tau": ((), (12,), (12, 12))},
    {"weight_scale": 15}, {"slope_bits": 15}, {"slope_bits": 1, "tau": ((), (13,), (13, 13))}, {"bias_scale": 16}, {"bias_scale": 1},
    {"total_scale": 12}, {"total_scale": 32}, {"input_scale": 1}, {"input_scale": 24}, {"bias_bits": 2}, {"bias_bits": 32}, {"bound_bits": 2},
    {"bound_bits": 32}, {"intercept_bits": 1}, {"intercept_bits": 48}, {"modes": ("crown", "ibp", "stop:1"), "tau": ((), (), (20,))},
    {"tau": ((), (0,), (0, 48))}, {"level": 128}, {"uses": 1, "queries": 1, "pads": 64}, {"uses": 64, "queries": 173, "pads": 64 * 173},
    {"columns": 1 << 9, "codeword": 1 << 11, "uses": 1, "queries": 1472, "pads": 1472},
    {"inputs": InputMap.uniform(0, 1, 0, Fraction((1 << 31) - 1, 4096))},
    {"inputs": replace(UNIT_CUBE, upper=(Fraction(1), Fraction(2)))},
])
def test_what_is_at_the_limits(fields: Mapping[str, Any]) -> None:
    replace(GOOD, **fields).require()


def test_units_are_2_to_the_minus_4_or_finer() -> None:
    assert GOOD.last_unit(1) == 12 and GOOD.last_unit(2) == 16 and list(GOOD.steps(3)) == [(2, 12, 20), (1, 16, 22)] and GOOD.last_unit(3) == 18
    replace(GOOD, tau=((), (32,), (32, 24))).require()
    for tau in (((), (33,), (20, 22)), ((), (20,), (33, 0)), ((), (20,), (20, 37))):
        with pytest.raises(Declined) as caught:
            replace(GOOD, tau=tau).require()
        assert caught.value.code == "commitment-unit"


def test_domains_are_rounded_outward() -> None:
    some = InputMap((Fraction(-1),), (Fraction(2, 3),), (Fraction(-1), Fraction(0)), (Fraction(1, 5), Fraction(7)))
    some.require(2)
    assert some.domain(2, 2) == ((0, 2), (4, 22))  # 8/3 down, 16/5 and 64/3 up
    assert Policy((Dense(2, 1),), ("crown",), ((),), some, input_scale=2).input_top == 22
