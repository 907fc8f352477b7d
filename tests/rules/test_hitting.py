# SPDX-License-Identifier: Apache-2.0
"""Hitting trees: what is accepted is true of every affordable defence, a tree by definition is accepted, and its work and memory are charged."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from certify.certificate import Checked, Claim, Evidence
from certify.claims import grid_attack, grid_defence_limit
from certify.errors import CertifyError
from certify.limits import Limits
from certify.rules.attacks import network_of
from certify.rules.hitting import require_hit
from power_networks import MODEL, within
from toolkit import refused

Sets = Sequence[frozenset[int]]


def _beats(attacks: Sets, costs: Sequence[int], defendable: frozenset[int], budget: int) -> bool:
    """Return whether every affordable defence misses an attack, by trying all."""
    plans = [frozenset(plan) for plan in within(tuple(k in defendable for k in range(len(costs))), tuple(costs), budget)]
    return all(any(not attack & plan for attack in attacks) for plan in plans)


def _grown(rng: np.random.Generator, attacks: Sets, costs: Sequence[int], defendable: frozenset[int], budget: int) -> list[int]:
    """Return a tree by the definition of R8: at each node any attack that its defence misses, or any at all where it misses none."""
    nodes, stack = [], [(frozenset[int](), frozenset[int](), budget)]
    while stack and len(nodes) < 200:
        inside, outside, left = stack.pop()
        missed = [k for k, attack in enumerate(attacks) if not attack & inside] or list(range(len(attacks)))
        nodes.append(int(rng.choice(missed)))
        lines = [k for k in range(len(costs)) if k in attacks[nodes[-1]] and k not in outside and k in defendable and costs[k] <= left]
        stack += [(inside | {k}, outside | {e for e in lines if e < k}, left - costs[k]) for k in reversed(lines)]
    return nodes


def _code(*arguments: Any) -> str:
    try:
        require_hit(*arguments)
    except CertifyError as error:
        return error.code
    return ""


def test_trees_by_definition_are_accepted_where_the_claim_is_true_and_no_tree_where_it_is_not() -> None:
    rng = np.random.default_rng(1)
    told = {True: 0, False: 0}
    for _ in range(600):
        lines = int(rng.integers(3, 8))
        sets = {frozenset(rng.choice(lines, int(rng.integers(1, 4)), replace=False).tolist()) for _ in range(int(rng.integers(2, 12)))}
        attacks, costs, budget = sorted(sets, key=sorted), rng.integers(1, 3, lines).tolist(), int(rng.integers(1, 5))
        defendable = frozenset(np.flatnonzero(rng.random(lines) < 0.8).tolist())
        nodes = _grown(rng, attacks, costs, defendable, budget)
        named = sorted(set(nodes))
        few, tree = [attacks[k] for k in named], np.array([named.index(k) for k in nodes], np.int32)
        true = _beats(few, costs, defendable, budget)
        told[true] += len(nodes) > 3
        assert _code(few, tree, costs, defendable, budget, Limits().fresh()) == ("" if true else "hitting-touched")
        for _ in range(4):
            other = tree[: int(rng.integers(1, len(tree) + 1))].copy()
            other[int(rng.integers(0, len(other)))] = int(rng.integers(0, len(few)))
            assert _code(few, other, costs, defendable, budget, Limits().fresh()) or true
    assert min(told.values()) > 60


_THREE = [frozenset({0, 1}), frozenset({2, 3}), frozenset({4})]


def _three(limits: Limits) -> None:
    require_hit(_THREE, np.array([0, 1, 2, 2, 1, 2, 2], np.int32), [1] * 5, frozenset(range(5)), 2, limits)


def test_work_is_the_sum_of_its_parts() -> None:
    limits = Limits().fresh()
    _three(limits)
    assert limits.spent == 7 * 20_000 * (1 + 2) + 100 * (2 * 2 + 2 * 2 + 2 * (2 + 1))  # of the root, and of each of its children
    limits = Limits().fresh()
    refused("evidence-range", require_hit, [], np.zeros(1, np.int32), [1], frozenset({0}), 1, limits)
    assert limits.spent == 20_000


def test_limits_hold_exactly() -> None:
    for name, most in (("tree_nodes", 7), ("memory", 100 * 2 * (2 + 1) * (1 + 1))):
        _three(Limits(**{name: most}).fresh())
        refused("limit-reached", _three, Limits(**{name: most - 1}).fresh())


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
