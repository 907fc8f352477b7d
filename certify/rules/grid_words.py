# SPDX-License-Identifier: Apache-2.0
"""The words in which claims about power networks say what was asked: the attacker, the defender, and the operator's model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

_OPERATOR = {"transport": "when flows obey balance and ratings only (transport)", "dc": "in the DC model, with no line opened",
             "dc-switch": "in the DC model, where the operator may open lines"}


def mw(value: Fraction) -> str:
    """Return a number of MW exactly: as a decimal where there is one of at most nine digits behind the point, else as a quotient.

    A number of more than about a thousand digits, which no claim can hold, is told roughly.
    """
    if max(abs(value.numerator), value.denominator).bit_length() > 3500:
        return f"about {rounded(value, up=True)}"
    digits = next((k for k in range(10) if (value * 10**k).denominator == 1), None)
    if digits is None:
        return str(value)
    whole, part = divmod(abs(int(value * 10**digits)), 10**digits)
    return f"{'-' if value < 0 else ''}{whole}{f'.{part:0{digits}d}' if digits else ''}"


def rounded(value: Fraction, up: bool) -> Fraction:
    """Return a number of MW rounded up or down to a billionth, so that it can be told."""
    return Fraction(-(-value * 10**9 // 1) if up else value * 10**9 // 1, 10**9)


def attacker(given: Mapping[str, Any]) -> str:
    """Return whom the claim defends against: the budget, what may be attacked, and costs other than 1."""
    costs = given["attack_costs"]
    budget = f"of cost at most {given['attacks']}" if costs else f"on at most {given['attacks']} line{'' if given['attacks'] == 1 else 's'}"
    where = "" if given["attackable"] is None else f", all among {listed_rows(given['attackable'])},"
    return f"{budget}{where}{_costs(costs)}"


def defender(given: Mapping[str, Any]) -> str:
    """Return which lines are hardened, and the budget of the defence where there is one."""
    within = "" if given["budget"] is None else budget(given)
    return f" with {listed_rows(given['defended'])} defended{within}," if given["defended"] else f" with nothing defended{within},"


def budget(given: Mapping[str, Any]) -> str:
    """Return what a defence may cost, and costs other than 1; which lines can be defended, where not all can."""
    among = "" if given.get("defendable") is None else f", all among {listed_rows(given['defendable'])}"
    return f" within a defence budget of {given['budget']}{_costs(given['defence_costs'])}{among}"


def model(given: Mapping[str, Any]) -> str:
    """Return the operator's model, with the conventions that leave something out."""
    chosen = given["model"]
    left = ["minimum outputs of units, if any, are not enforced"]
    left += ["angle limits are ignored"] if given["operator"] != "transport" and chosen["angle_limits"] == "ignored" else []
    left += ["dispatchable loads don't count as demand"] if chosen["dispatchable"] == "uncounted" else []
    return f" {_OPERATOR.get(given['operator'], 'with the operator ' + given['operator'])}; {', '.join(left)}"


def _costs(listed: Sequence[tuple[int, int]]) -> str:
    return f" (rows cost 1, but {', '.join(f'row {row} costs {cost}' for row, cost in listed)})" if listed else ""


def listed_rows(rows: Sequence[int]) -> str:
    """Return rows of the branch matrix in words."""
    shown = ", ".join(map(str, rows))
    return f"row {shown}" if len(rows) == 1 else f"rows {shown}" if rows else "no row"
