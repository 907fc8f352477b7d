# SPDX-License-Identifier: Apache-2.0
"""Claims about power networks: on which side pi is enclosed and figures are rounded, which parts evidence has, and what reading it is charged."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from certify.certificate import Checked, Claim, Evidence
from certify.claims import grid_attack, grid_defence_limit, grid_shedding
from certify.limits import Limits
from certify.rules.attacks import network_of
from power_networks import MODEL
from toolkit import refused

_CASE = b"""function mpc = c
mpc.version = '2';
mpc.baseMVA = 1000000000;
mpc.bus = [
1 3 0 0 0 0 1 1 0 1 1 1 1;
2 1 100000000 0 0 0 1 1 0 1 1 1 1;
];
mpc.gen = [
1 0 0 0 0 1 1 1 100000000 0;
];
mpc.branch = [
1 2 0 1 0 0 0 0 0 0 1 -2 2;
1 2 0 1 0 0 0 0 0 0 1 -360 360;
];
"""
"""Two lines; over the first flow at most 10^9 MW times two degrees, so that in a claim the enclosure of pi is seen."""
_FILES = {"case": _CASE}
_GIVEN = {"operator": "dc", "model": {**MODEL, "angle_limits": "enforced"}, "attacks": 1, "attack_costs": [], "attackable": None, "defence_costs": []}
_CUT = {"attacks": np.array([[2, -1]], np.int32), "tree": np.zeros(1, np.int32), "side": np.array([[0, 1]], np.uint8)}
_DUAL = {"attacks": _CUT["attacks"], "tree": _CUT["tree"], "pi": np.array([[0, 1]]), "circulation": np.zeros((1, 2), np.int64)}
_SCALE = {"scale": (1, 1)}


def _limit(limits: Limits, arrays: dict[str, Any], items: dict[str, Any], **fields: Any) -> Checked:
    """Return what `grid-defence-limit` makes of evidence that nothing is served after an attack on the second line, if no line is defended."""
    claim = Claim("grid-defence-limit", 1, {}, {**_GIVEN, "budget": 0, "defendable": None, **fields}, {"shed_mw_at_least": Fraction(1)}, str)
    return grid_defence_limit.check(claim, Evidence("hitting-tree", 1, items, arrays), _FILES, limits.fresh())


def test_what_an_attack_is_shown_to_shed_is_told_rounded_down_for_the_larger_pi() -> None:
    shed = 10**8 - Fraction(314159265358980, 10**14) * 2 * 10**9 / 180
    told = Fraction(shed * 10**9 // 1, 10**9)
    assert told < shed
    for arrays, items in ((_CUT, {}), (_DUAL, _SCALE)):
        assert _limit(Limits(), arrays, items).figures["shed_mw_shown"] == told
    claim = Claim("grid-attack", 1, {}, {**_GIVEN, "defended": [], "budget": None, "attack": [2]}, {"shed_mw_at_least": Fraction(1)}, str)
    found = grid_attack.check(claim, Evidence("cut", 1, {}, {"side": _CUT["side"][0]}), _FILES, Limits().fresh())
    assert found.figures["shed_mw_shown"] == told


@pytest.mark.parametrize(("names", "items"), [
    ((), {}), ((), _SCALE), (("pi",), _SCALE), (("circulation",), _SCALE), (("pi", "circulation"), {}), (("side",), _SCALE), (("side", "pi"), {}),
    (("side", "pi"), _SCALE), (("side", "pi", "circulation"), {}), (("side", "pi", "circulation"), _SCALE)])
def test_bounds_are_all_of_one_kind_and_complete(names: Sequence[str], items: dict[str, Any]) -> None:
    arrays = {name: array for name, array in {**_CUT, **_DUAL}.items() if name in ("attacks", "tree", *names)}
    refused("array-shape", _limit, Limits(), arrays, items)


def test_no_row_stands_behind_padding() -> None:
    for padded in ([-1, 2], [-1, -5]):
        refused("evidence-range", _limit, Limits(), {**_CUT, "attacks": np.array([padded], np.int32)}, {})


def test_what_is_shed_at_most_is_told_rounded_up_for_the_smaller_pi() -> None:
    """One line is closed, and carries nearly all that its angle limit allows."""
    most, scale = Fraction(314159265358979, 10**14) * 2 * 10**9 / 180, 21 * 10**7
    claim = Claim("grid-shedding", 1, {}, {**_GIVEN, "operator": "dc-switch", "attacks": 0, "defended": [], "budget": None},
                  {"shed_mw_at_most": Fraction(10**8)}, str)
    arrays = {"tree": np.array([-1], np.int32), "scale": np.array([scale]), "closed": np.array([[1, 0]], np.uint8), "kind": np.zeros(1, np.uint8),
              "supply": np.zeros((0, 2), np.int64), "demand": np.zeros((0, 2), np.int64)}

    def shown(flow: int) -> Fraction:
        told = Evidence("forest-tree", 1, {"quantum_mw": Fraction(1)}, {**arrays, "flow": np.array([[flow]])})
        found: Fraction = grid_shedding.check(claim, told, _FILES, Limits().fresh()).figures["shed_mw_shown"]
        return found

    flow = int(most * scale) // 21 * 21 - 2
    shed = 10**8 - Fraction(flow, scale)
    assert shown(flow) == -Fraction(-shed * 10**9 // 1, 10**9) > shed
    refused("leaf-flow-limit", shown, int(most * scale) + 1)


def test_reading_attacks_is_charged(monkeypatch: pytest.MonkeyPatch) -> None:
    fields = {"operator": "transport", "model": {**MODEL, "angle_limits": "ignored"}, "attackable": [2], "defendable": [1]}
    seen = []
    monkeypatch.setattr(grid_defence_limit, "require_hit", lambda *arguments: seen.append(arguments))
    reading, limits = Limits().fresh(), Limits().fresh()
    network_of({**_GIVEN, **fields}, _FILES, reading, True)
    arrays = {**_CUT, "attacks": np.array([[2, -1, -1], [-1] * 3], np.int32), "side": np.array([[0, 1]] * 2, np.uint8)}
    claim = Claim("grid-defence-limit", 1, {}, {**_GIVEN, "budget": 0, **fields}, {"shed_mw_at_least": Fraction(-1 << 60)}, str)
    grid_defence_limit.check(claim, Evidence("hitting-tree", 1, {}, arrays), _FILES, limits)
    assert limits.spent == reading.spent + 5000 * (2 + 2 * 3) + 2 * (2 + 2) * 10_000
    attacks, _, _, defendable, _, _ = seen[0]
    assert attacks == [frozenset({1}), frozenset()]
    assert isinstance(defendable, frozenset) and defendable == {0}  # looked up for every line of an attack at every node, so no list
