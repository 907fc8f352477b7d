# SPDX-License-Identifier: Apache-2.0
"""Hitting trees: what is accepted is true of every affordable defence, a tree by definition is accepted, and its work and memory are charged."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from certify.errors import CertifyError
from certify.limits import Limits
from certify.rules.hitting import require_hit
from power_networks import within
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
    for name, most in (("tree_nodes", 7), ("memory", 100 * 2 * (2 + 1) + 100 * 2 * (2 + 1 + 1 + 1))):
        _three(Limits(**{name: most}).fresh())
        refused("limit-reached", _three, Limits(**{name: most - 1}).fresh())
