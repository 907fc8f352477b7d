# SPDX-License-Identifier: Apache-2.0
"""The words of claims about power networks, each as it is told."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from certify.rules.grid_words import attacker, budget, defender, listed_rows, model, mw, rounded


@pytest.mark.parametrize(("value", "words"), [
    (0, "0"), (7, "7"), (-7, "-7"), (120, "120"), (Fraction(1, 2), "0.5"), (Fraction(-1, 2), "-0.5"), (Fraction(5, 4), "1.25"),
    (Fraction(-121, 100), "-1.21"), (Fraction(1001, 1000), "1.001"), (1 + Fraction(1, 10**9), "1.000000001"), (Fraction(1, 10**10), "1/10000000000"),
    (Fraction(1, 3), "1/3"), (Fraction(-10, 11), "-10/11"), (Fraction(1, 9), "1/9"), (1 << 3499, str(1 << 3499)), (-(1 << 3499), str(-(1 << 3499))),
    (Fraction(1, 3**2208), str(Fraction(1, 3**2208))), (1 << 3500, f"about {1 << 3500}"), (-(1 << 3500), f"about -{1 << 3500}"),
    (Fraction(1, 3**2209), "about 1/1000000000"), (Fraction(-1, 3**2209), "about 0")])
def test_numbers_are_told_exactly_but_for_very_long_ones(value: Fraction | int, words: str) -> None:
    assert mw(Fraction(value)) == words


@pytest.mark.parametrize(("value", "down", "up"), [
    (Fraction(1, 3), "0.333333333", "0.333333334"), (Fraction(-1, 3), "-0.333333334", "-0.333333333"), (Fraction(7, 2), "3.5", "3.5"),
    (Fraction(1, 10**9), "0.000000001", "0.000000001"), (Fraction(3, 10**10), "0", "0.000000001")])
def test_numbers_are_rounded_to_a_billionth(value: Fraction, down: str, up: str) -> None:
    assert (rounded(value, up=False), rounded(value, up=True)) == (Fraction(down), Fraction(up))


def _given(**fields: Any) -> dict[str, Any]:
    chosen = {"angle_limits": "enforced", "dispatchable": "counted"}
    return {"attacks": 2, "attack_costs": [], "attackable": None, "defended": [], "budget": None, "defence_costs": [], "operator": "dc",
            "model": chosen, **fields}


def test_rows_in_words() -> None:
    assert [listed_rows(rows) for rows in ([], [3], [3, 4], [1, 5, 9])] == ["no row", "row 3", "rows 3, 4", "rows 1, 5, 9"]


def test_who_attacks() -> None:
    assert [attacker(_given(attacks=count)) for count in (0, 1, 2)] == ["on at most 0 lines", "on at most 1 line", "on at most 2 lines"]
    assert attacker(_given(attackable=[1, 4])) == "on at most 2 lines, all among rows 1, 4,"
    assert attacker(_given(attack_costs=[(3, 0), (4, 5)])) == "of cost at most 2 (rows cost 1, but row 3 costs 0, row 4 costs 5)"
    both = _given(attacks=1, attackable=[], attack_costs=[(3, 2)])
    assert attacker(both) == "of cost at most 1, all among no row, (rows cost 1, but row 3 costs 2)"


def test_who_defends() -> None:
    assert defender(_given()) == " with nothing defended,"
    assert defender(_given(defended=[2])) == " with row 2 defended,"
    assert defender(_given(defended=[2, 3], budget=0)) == " with rows 2, 3 defended within a defence budget of 0,"
    dear = _given(budget=4, defence_costs=[(2, 3)])
    assert defender(dear) == " with nothing defended within a defence budget of 4 (rows cost 1, but row 2 costs 3),"
    assert budget(_given(budget=4, defendable=[1])) == " within a defence budget of 4, all among row 1"
    assert budget(_given(budget=4, defendable=None)) == " within a defence budget of 4"


def test_what_the_operator_does() -> None:
    ignoring, units = {"angle_limits": "ignored", "dispatchable": "counted"}, "; minimum outputs of units, if any, are not enforced"
    assert model(_given()) == f" in the DC model, with no line opened{units}"
    assert model(_given(operator="dc-switch")) == f" in the DC model, where the operator may open lines{units}"
    assert model(_given(operator="transport", model=ignoring)) == f" when flows obey balance and ratings only (transport){units}"
    assert model(_given(operator="ac")) == f" with the operator ac{units}"
    assert model(_given(model=ignoring)) == f" in the DC model, with no line opened{units}, angle limits are ignored"
    assert model(_given(operator="a", model=ignoring)) == f" with the operator a{units}, angle limits are ignored"
    loads = "dispatchable loads don't count as demand"
    for word, told in (("uncounted", f", {loads}"), ("a", ""), ("z", "")):
        assert model(_given(model={"angle_limits": "enforced", "dispatchable": word})) == f" in the DC model, with no line opened{units}{told}"
    for word in ("a", "z"):
        assert model(_given(model={"angle_limits": word, "dispatchable": "counted"})) == f" in the DC model, with no line opened{units}"
    both = {"angle_limits": "ignored", "dispatchable": "uncounted"}
    assert model(_given(operator="zz", model=both)) == f" with the operator zz{units}, angle limits are ignored, {loads}"
