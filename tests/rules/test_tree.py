# SPDX-License-Identifier: Apache-2.0
"""Preorder trees: the leaves that are visited cover the space, and nothing else is a tree."""

import numpy as np
import pytest

from certify.errors import Declined, Rejected
from certify.limits import Limits
from certify.rules.tree import walk


def _leaves(tree: list[int], start: int = 0, limits: Limits | None = None) -> tuple[int, list[tuple[frozenset[int], int]]]:
    """Walk a tree over subsets: branching on item t takes the elements divisible by t + 2 first, the others second."""
    found: list[tuple[frozenset[int], int]] = []

    def children(state: frozenset[int], item: int) -> tuple[frozenset[int], frozenset[int]]:
        taken = frozenset(v for v in state if v % (item + 2) == 0)
        return taken, state - taken

    end = walk(np.array(tree, "<i4"), start, frozenset(range(30)), children, lambda state, record: found.append((state, record)), limits or Limits())
    return end, found


def _random(rng: np.random.Generator, depth: int) -> list[int]:
    if depth == 0 or rng.random() < 0.3:
        return [-1]
    return [int(rng.integers(0, 5)), *_random(rng, depth - 1), *_random(rng, depth - 1)]


def test_leaves_of_random_trees_cover_the_space_in_preorder() -> None:
    rng = np.random.default_rng(1)
    for _ in range(300):
        tree = _random(rng, 6)
        end, found = _leaves([*tree, 99, -1, -1])
        assert end == len(tree)
        assert len(found) == sum(item < 0 for item in tree)
        assert frozenset().union(*(state for state, _ in found)) == frozenset(range(30))


def test_every_proper_prefix_is_malformed() -> None:
    rng = np.random.default_rng(2)
    for _ in range(50):
        tree = _random(rng, 5)
        for length in range(len(tree)):
            with pytest.raises(Rejected) as caught:
                _leaves(tree[:length])
            assert caught.value.code == "tree-malformed"


def test_taken_child_comes_first() -> None:
    _, found = _leaves([0, -5, -6])
    assert found == [(frozenset(range(0, 30, 2)), 4), (frozenset(range(1, 30, 2)), 5)]


def test_depth_at_the_limit_is_walked_and_one_above_declined() -> None:
    limits = Limits(tree_depth=4096)
    deep = [0] * 4096 + [-1] * 4097
    assert _leaves(deep, limits=limits)[0] == len(deep)
    with pytest.raises(Declined) as caught:
        _leaves([0] * 4097 + [-1] * 4098, limits=limits)
    assert caught.value.code == "limit-reached"
