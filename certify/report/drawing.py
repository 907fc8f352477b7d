# SPDX-License-Identifier: Apache-2.0
"""Drawings as inline SVG: bars on one axis, a bar of shares. Text stays in the page, so that it can be read, searched and printed.

Guarantee: coordinates are integers computed from the numbers drawn, so the same numbers give the same bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from certify.report.html import Html, join, number, table, tag

ROUNDED = "A bound is on the safe side: the true least amount is at least as large. Numbers are rounded to four significant digits."
_WIDE = 1000


@dataclass(frozen=True)
class Bar:
    """A number with its name; `look` is its class in the style sheet: `good`, `bad`, `other` or `plain`."""

    name: str
    value: Fraction
    look: str = "plain"
    note: str = ""


def bars(drawn: Sequence[Bar], head: tuple[str, str], caption: str, digits: int = 4) -> Html:
    """Return a table of bars from 0 on one axis, each with its number; `head` names the bars and the numbers."""
    low, high = min(Fraction(0), *(bar.value for bar in drawn)), max(Fraction(0), *(bar.value for bar in drawn))
    span = high - low or Fraction(1)
    lines = []
    for bar in drawn:
        zero, end = (round(_WIDE * (value - low) / span) for value in (Fraction(0), bar.value))
        left, width = min(zero, end), max(abs(end - zero), 3)
        picture = tag("svg", tag("title", f"{bar.name}: {number(bar.value, digits)}"),
                      tag("rect", x=min(left, _WIDE - width), y=2, width=width, height=16, class_=f"bar {bar.look}"),
                      tag("rect", x=min(max(zero - 1, 0), _WIDE - 3), y=0, width=3, height=20, class_="axis"),
                      viewBox=f"0 0 {_WIDE} 20", preserveAspectRatio="none", role="img", class_="bar")
        shown = [number(bar.value, digits), *([tag("br"), tag("span", bar.note, class_="note")] if bar.note else [])]
        lines.append((bar.name, picture, join(shown)))
    return tag("div", table((head[0], "drawn from 0", head[1]), lines, caption), class_="bars")


@dataclass(frozen=True)
class Share:
    """A count of a whole with its name; `look` as for `Bar`."""

    name: str
    count: int
    look: str
    meaning: str


def shares(drawn: Sequence[Share], caption: str) -> Html:
    """Return one bar that is divided in proportion to the counts, and a table that says what each part is."""
    whole = max(1, sum(share.count for share in drawn))
    place, pieces = 0, []
    for share in drawn:
        end = place + share.count
        left, right = (_WIDE * at // whole for at in (place, end))
        if share.count:
            pieces.append(tag("rect", tag("title", f"{share.name}: {share.count} of {whole}"), x=left, y=0, width=max(right - left, 2), height=40,
                              class_=f"bar {share.look}"))
        place = end
    told = ", ".join(f"{share.name} {share.count}" for share in drawn)
    picture = tag("svg", tag("title", f"{caption}: {told}"), *pieces, viewBox=f"0 0 {_WIDE} 40", preserveAspectRatio="none", role="img",
                  class_="shares")
    lines = [(join([tag("span", class_=f"swatch {share.look}"), share.name]), str(share.count),
              f"{number(Fraction(100 * share.count, whole), 3)}%", share.meaning) for share in drawn]
    return join([picture, table(("status", "rows", "share", "what was shown"), lines, caption)])
