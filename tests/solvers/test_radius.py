# SPDX-License-Identifier: Apache-2.0
"""The search for the largest radius: a bracket as tight as the answers allow, whatever they are."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from certify_solvers.common.prover import Effort
from certify_solvers.crown.attack import Hit
from certify_solvers.crown.decide import Answer, Holds, Open, Violated
from certify_solvers.crown.radius import Bracket, bracket, on_grid

PROVED, REFUTED, OPEN = Holds({}, {}, 1.0), Violated(Hit((), (), True)), Open(-1.0, False)
FIRST = Fraction(1, 16)


def _unit(radius: Fraction) -> Fraction:
    """Return the distance of grid points at a radius, from its decimal digits."""
    return Fraction(10) ** (int(f"{float(radius):.3e}".split("e")[1]) - 3)


def _answers(proved: Fraction, refuted: Fraction) -> tuple[Callable[[Fraction, bool], Answer], list[tuple[Fraction, bool]]]:
    """Return a monotone question: proved up to one radius, refuted from another on, open between; and the list of what was asked."""
    asked: list[tuple[Fraction, bool]] = []

    def ask(radius: Fraction, only_attack: bool) -> Answer:
        asked.append((radius, only_attack))
        assert radius > 0 and on_grid(radius) == radius and len(asked) < 200
        return PROVED if radius <= proved else REFUTED if radius >= refuted else OPEN

    return ask, asked


def _bracket(ask: Callable[[Fraction, bool], Answer], first: Fraction = FIRST, effort: Effort | None = None, most: Fraction | None = None) -> Bracket:
    return bracket(ask, first, effort or Effort(), lambda stage, facts: None, most)


def test_the_grid_has_four_digits() -> None:
    rng = np.random.default_rng(1)
    for text, wanted in (("0.123456", "0.1234"), ("1", "1"), ("9999.9", "9999"), ("10000", "10000"), ("12345", "12340"), ("1/3", "0.3333")):
        assert on_grid(Fraction(text)) == Fraction(wanted)
    for _ in range(200):
        radius = Fraction(int(rng.integers(1, 10**9)), int(rng.integers(1, 10**9))) * Fraction(10) ** int(rng.integers(-30, 30))
        found = on_grid(radius)
        digits = str(found.numerator * 10**60 // found.denominator).rstrip("0")
        assert 0 < found <= radius < found * Fraction(1001, 1000) and len(digits) <= 4 and on_grid(found) == found


@pytest.mark.parametrize("first", [FIRST, Fraction(1, 10**6), Fraction(1000)])
def test_a_bracket_of_random_answers_is_next_to_the_truth(first: Fraction) -> None:
    rng = np.random.default_rng(2)
    for _ in range(150):
        proved = Fraction(int(rng.integers(1, 10**6)), 10**6) * Fraction(10) ** int(rng.integers(-4, 3))
        refuted = proved * (1 + Fraction(int(rng.integers(1, 10**6)), 10 ** int(rng.integers(4, 12))))
        ask, asked = _answers(proved, refuted)
        found = _bracket(ask, first)
        assert found.lower is not None and found.upper is not None
        lower, upper = found.lower[0], found.upper[0]
        assert lower <= proved and upper >= refuted and on_grid(lower) == lower and on_grid(upper) == upper
        assert proved - lower < 2 * _unit(proved) and upper - refuted < 2 * _unit(upper)  # the next grid point was asked, or is the other end
        assert (found.lower[1], found.upper[1]) == (PROVED, REFUTED) and len(asked) < 100


def test_ends_on_the_grid_are_found_exactly() -> None:
    ask, _ = _answers(Fraction("0.1234"), Fraction("0.1235"))
    found = _bracket(ask)
    assert found.lower is not None and found.upper is not None
    assert (found.lower[0], found.upper[0]) == (Fraction("0.1234"), Fraction("0.1235"))
    ask, _ = _answers(Fraction("0.9999"), Fraction(1))  # the grid is coarser above
    found = _bracket(ask)
    assert found.lower is not None and found.upper is not None
    assert (found.lower[0], found.upper[0]) == (Fraction("0.9999"), Fraction(1))


def test_never_refuted_never_proved_and_neither() -> None:
    huge, tiny = Fraction(10) ** 30, Fraction(1, 10**40)
    ask, asked = _answers(huge, 10 * huge)
    found = _bracket(ask)
    assert found.lower is not None and found.lower[0] > 10**9 and found.upper is None and not any(attack for _, attack in asked)
    ask, asked = _answers(Fraction(1, 3), huge)
    found = _bracket(ask)
    assert found.lower is not None and found.lower[0] == Fraction("0.3333") and found.upper is None and len(asked) < 80
    ask, _ = _answers(tiny, Fraction("0.02"))
    found = _bracket(ask)
    assert found.lower is None and found.upper is not None and found.upper[0] == Fraction("0.02")
    ask, asked = _answers(tiny, huge)
    assert _bracket(ask) == Bracket(None, None) and len(asked) <= 80


def test_a_radius_that_holds_the_whole_range_is_large_enough() -> None:
    ask, asked = _answers(Fraction(10) ** 30, Fraction(10) ** 31)
    found = _bracket(ask, most=Fraction(1))
    assert found.lower is not None and 1 <= found.lower[0] <= 2 and found.upper is None and len(asked) <= 6
    ask, asked = _answers(Fraction(1, 3), Fraction(10) ** 30)
    found = _bracket(ask, most=Fraction(1))
    assert found.lower is not None and found.lower[0] == Fraction("0.3333") and found.upper is None
    assert max(radius for radius, _ in asked) <= 2


def test_the_time_limit_keeps_what_was_found() -> None:
    ask, asked = _answers(Fraction(1, 3), Fraction(1, 2))
    assert _bracket(ask, effort=Effort(seconds=1e-9)) == Bracket(None, None) and asked == []

    class Steps(Effort):
        """An effort that ends after four questions."""

        def left(self) -> float:
            return 1.0 if len(asked) < 4 else 0.0

    found = _bracket(ask, effort=Steps())
    assert len(asked) == 4 and found.lower is not None and found.lower[0] <= Fraction(1, 3)


def test_progress_tells_the_ends() -> None:
    ask, _ = _answers(Fraction(1, 3), Fraction(1, 2))
    told: list[dict[str, float]] = []
    bracket(ask, FIRST, Effort(), lambda stage, facts: told.append({"stage": stage, **facts}))  # type: ignore[dict-item]
    assert all(entry["stage"] == "radius" and {"at", "proved", "refuted"} < set(entry) for entry in told)
    assert told[-1]["proved"] > 0 and told[0]["proved"] == 0
