# SPDX-License-Identifier: Apache-2.0
"""Conditions of a property as people write them: `Y_0 >= 0.75`, `Y_3 <= Y_1`, from rows that are compared with 0."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from certify.readers.formula import Row
from certify.report.html import number

_MOST_TERMS = 6
_DIGITS = 9


def row_words(row: Row) -> str:
    """Return a row in words: terms on the left, the constant on the right, unless two terms are just compared."""
    terms = [(f"{letter}_{index}", factor) for letter, side in (("X", row.inputs), ("Y", row.outputs)) for index, factor in side.items() if factor]
    sign, right = ("<" if row.strict else "<="), -row.constant
    if not terms:
        return f"0 {sign} {number(right, _DIGITS)}"
    if len(terms) == 2 and not right and sorted(factor for _, factor in terms) == [-1, 1]:
        (greater, _), (less, _) = sorted(terms, key=lambda term: term[1])
        return f"{less} {sign} {greater}"
    if terms[0][1] < 0:
        terms, sign, right = [(name, -factor) for name, factor in terms], sign.replace("<", ">"), -right
    left = " ".join(_term(name, factor, first=k == 0) for k, (name, factor) in enumerate(terms[:_MOST_TERMS]))
    more = f" + {len(terms) - _MOST_TERMS} more terms" if len(terms) > _MOST_TERMS else ""
    return f"{left}{more} {sign} {number(right, _DIGITS)}"


def conjunct_words(rows: Sequence[Row]) -> str:
    """Return the condition that all rows hold."""
    told = " and ".join(row_words(row) for row in rows[:_MOST_TERMS])
    more = f" and {len(rows) - _MOST_TERMS} more" if len(rows) > _MOST_TERMS else ""
    return f"{told}{more}" if rows else "anything (no output is constrained)"


def _term(name: str, factor: Fraction, first: bool) -> str:
    size = "" if abs(factor) == 1 else f"{number(abs(factor), _DIGITS)} "
    sign = "-" if factor < 0 else "" if first else "+"
    return f"{sign}{'' if first or not sign else ' '}{size}{name}"
