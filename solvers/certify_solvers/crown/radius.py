# SPDX-License-Identifier: Apache-2.0
"""The largest radius: bracket between a proved and a refuted one on a grid of four significant digits, then bisect.

Every step is one whole question (`decide`), so what comes out is a certificate at the lower end and a counterexample at the upper one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import floor, log10

from certify_solvers.common.prover import Effort, Progress
from certify_solvers.crown.decide import Answer, Holds, Violated

_DIGITS = 4
_WIDEST = 40  # doublings in search of a bracket


@dataclass(frozen=True)
class Bracket:
    """`lower` is proved (None: no radius was), `upper` refuted (None: none was); between them nothing is known but that the search ended."""

    lower: tuple[Fraction, Holds] | None
    upper: tuple[Fraction, Violated] | None


def bracket(ask: Callable[[Fraction, bool], Answer], first: Fraction, effort: Effort, progress: Progress, most: Fraction | None = None) -> Bracket:
    """Return the ends found; `ask` answers the question at a radius (True: only look for a counterexample), `first` is where to begin.

    From `most` on, larger radii admit no further inputs.
    """
    lower: tuple[Fraction, Holds] | None = None
    upper: tuple[Fraction, Violated] | None = None
    top: Fraction | None = None  # the smallest radius that is not proved

    def step(radius: Fraction, attack: bool = False) -> None:
        nonlocal lower, upper, top
        progress("radius", {"at": float(radius), "proved": float(lower[0]) if lower else 0, "refuted": float(upper[0]) if upper else 0})
        answer = ask(radius, attack)
        if isinstance(answer, Holds):
            lower = (radius, answer) if lower is None or radius > lower[0] else lower
            return
        if isinstance(answer, Violated):
            upper = (radius, answer) if upper is None or radius < upper[0] else upper
        if not attack:
            top = radius if top is None or radius < top else top

    radius = on_grid(first)
    for _ in range(_WIDEST):
        if effort.left() <= 0 or (lower is not None and (top is not None or (most is not None and lower[0] >= most))):
            break
        step(radius)
        radius = on_grid(2 * radius if lower is not None else radius / 4)
    while effort.left() > 0 and lower is not None and top is not None and (middle := _between(lower[0], top)) is not None:
        step(middle)
    radius = top
    for _ in range(_WIDEST):
        if effort.left() <= 0 or upper is not None or radius is None or (most is not None and radius >= most):
            break
        radius = on_grid(2 * radius)
        step(radius, True)
    missed = top if upper is None or top is None or top < upper[0] else upper[0]  # where no counterexample was found
    while effort.left() > 0 and upper is not None and missed is not None and (middle := _between(missed, upper[0])) is not None:
        before = upper[0]
        step(middle, True)
        missed = middle if upper[0] == before else missed
    return Bracket(lower, upper)


def on_grid(radius: Fraction) -> Fraction:
    """Return the largest decimal of four significant digits that is at most the radius, itself above 0."""
    unit = _unit(radius)
    return floor(radius / unit) * unit


def _between(lower: Fraction, upper: Fraction) -> Fraction | None:
    """Return a grid radius near the middle, strictly between the ends, or None."""
    middle = on_grid((lower + upper) / 2)
    if lower < middle < upper:
        return middle
    following = lower + _unit(lower)
    return following if lower < following < upper else None


def _unit(radius: Fraction) -> Fraction:
    exponent = floor(log10(radius)) - _DIGITS + 1
    unit = Fraction(10) ** exponent
    while radius / unit >= 10**_DIGITS:
        unit *= 10
    while radius / unit < 10 ** (_DIGITS - 1):
        unit /= 10
    return unit
