# SPDX-License-Identifier: Apache-2.0
"""The tree rule against exact enumeration: what it accepts is true, its margins are below the exact ones, parts don't mix."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import oracle
from certify.claims import region as claim
from certify.errors import Rejected
from certify.limits import Limits
from certify.rules import bounds_tree
from certify.rules.relaxation import Relaxation
from certify.rules.unsafe_set import UnsafeSet
from kinds import common, region
from kinds.region_vectors import RAMP, specimen
from toolkit import model


def _unsafe(made: region.Instance) -> UnsafeSet:
    return claim.problem(region.GIVEN, {"model": model(made.layers), "property": made.text()}, Limits())


def _leaves(tree: list[int], parts: int) -> list[int]:
    counts, at = [], 0
    for _ in range(parts):
        need = 1
        leaves = 0
        while need:
            leaves += tree[at] < 0
            need += 1 if tree[at] >= 0 else -1
            at += 1
        counts.append(leaves)
    return counts


def _run(seed: int, instances: int) -> tuple[int, int]:
    rng = np.random.default_rng(seed)
    accepted = refused = 0
    for _ in range(instances):
        made = region.instance(rng)
        unsafe = _unsafe(made)
        found = common.split_evidence(unsafe, rng, 40)
        arrays = found if found is not None else {"tree": np.array([-1 - k for k in range(len(unsafe.parts))], "<i4")}
        for attempt in range(3):
            chosen = dict(arrays)
            if attempt:
                row, mix = common.rows_for(unsafe, _leaves(arrays["tree"].tolist(), len(unsafe.parts)), rng)
                chosen["row"] = row
                if mix is not None:
                    chosen["mix"] = mix
            if "recompute" in chosen and rng.random() < 0.5:
                flags = rng.integers(0, 2, len(chosen["recompute"])).astype("|u1")
                at = 0
                for count in _leaves(arrays["tree"].tolist(), len(unsafe.parts)):  # roots are flagged
                    flags[at] = 1
                    at += 2 * count - 1
                if flags[1:].any():
                    chosen["recompute"] = flags
            try:
                figures = bounds_tree.check(Relaxation(unsafe.network, Limits()), unsafe.parts, chosen, Limits())
            except Rejected as trouble:
                roots_only = trouble.code == "unused-evidence" and int(chosen["recompute"].sum()) == len(unsafe.parts)
                assert trouble.code == "leaf-uncovered" or roots_only
                refused += 1
                continue
            accepted += 1
            assert not made.violated()
            if all(len(conjunct) == 1 for part in unsafe.parts for conjunct in part.conjuncts) and "mix" not in chosen:
                exact = min(oracle.minimum(common.exact(made.layers), box[0], box[1], conjunct[0]) for box, conjunct in made.disjuncts)
                assert Fraction(figures.smallest_margin) <= exact
    return accepted, refused


@pytest.mark.parametrize("seed", range(31, 36))
def test_what_is_accepted_is_true(seed: int) -> None:
    accepted, refused = _run(seed, 50)
    assert accepted > 20 and refused > 10


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(300, 310))
def test_what_is_accepted_is_true_in_long_runs(seed: int) -> None:
    accepted, _ = _run(seed, 1000)
    assert accepted > 500


def test_large_trees_are_checked_in_batches_like_small_ones() -> None:
    good = specimen("(assert (>= Y_0 0.5))")
    count = 2600
    thresholds = np.linspace(0.999, -0.999, count)
    tree = [item for k in range(count) for item in (0, -1 - k)] + [-1 - count]
    recompute = np.ones(len(tree), "|u1")
    unsafe = claim.problem(good.given, {role: data for role, (_, data) in good.files.items()}, Limits())
    arrays = {"tree": np.array(tree, "<i4"), "split_at": thresholds, "recompute": recompute}
    figures = bounds_tree.check(Relaxation(unsafe.network, Limits()), unsafe.parts, arrays, Limits())
    assert figures.leaves == count + 1
    assert Fraction(figures.smallest_margin) <= Fraction(1, 2) - Fraction(3, 8)
    late = dict(arrays, tree=np.array([item for k in range(3) for item in (0, -1 - k)] + [-4], "<i4"), split_at=thresholds[:3],
                recompute=recompute[:7])
    with pytest.raises(Rejected) as caught:
        bounds_tree.check(Relaxation(unsafe.network, Limits()), unsafe.parts, late, Limits())
    assert caught.value.code == "leaf-uncovered" and caught.value.where == "leaf 3"


def test_every_part_has_its_own_tree() -> None:
    text = "(assert (or (and (<= X_0 0) (>= Y_0 0.2)) (and (>= X_0 0) (<= X_0 0.5) (>= Y_0 0.5)) (and (>= X_0 0.5) (>= Y_0 0.4))))"
    made = specimen(text)
    unsafe = claim.problem(made.given, {role: data for role, (_, data) in made.files.items()}, Limits())
    assert len(unsafe.parts) == 3
    assert bounds_tree.check(Relaxation(unsafe.network, Limits()), unsafe.parts, {"tree": np.array([-1, -2, -3], "<i4")}, Limits()).leaves == 3
    for wrong in range(3):  # a part that is violated is found wherever it stands
        parts = list(unsafe.parts)
        parts[wrong] = claim.problem(made.given, {"model": model(RAMP), "property": specimen("(assert (>= Y_0 0.3))").files["property"][1]},
                                     Limits()).parts[0]
        with pytest.raises(Rejected) as caught:
            bounds_tree.check(Relaxation(unsafe.network, Limits()), parts, {"tree": np.array([-1, -2, -3], "<i4")}, Limits())
        assert caught.value.code == "leaf-uncovered" and caught.value.where == f"leaf {wrong}"
