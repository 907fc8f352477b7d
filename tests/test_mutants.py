# SPDX-License-Identifier: Apache-2.0
"""Resealed mutants: no certificate that the exact oracle calls false is verified, and every original is true."""

from __future__ import annotations

import sys
from collections import Counter
from typing import Any

import numpy as np
import pytest

from certify import registry
from certify.errors import CertifyError
from kinds import accuracy, grid_attack, grid_limit, grid_shedding, private, region, robust

KINDS: dict[str, Any] = {"accuracy": accuracy, "grid-attack": grid_attack, "grid-defence-limit": grid_limit,
                         "grid-shedding": grid_shedding, **private.KINDS, "region": region, "robust": robust}
COSTLY = {kind for kind, module in KINDS.items() if getattr(module, "COSTLY", False)}
"""Kinds of which a mutant takes a hundred times as long as of others."""


def run(kind: str, seed: int, mutants: int, stop: bool = True) -> Counter[str]:
    """Try resealed mutants of random specimens of a kind; return counts, among them `false accepts`, at which it stops unless told not to."""
    module = KINDS[kind]
    rng = np.random.default_rng(seed)
    counts: Counter[str] = Counter()
    while counts["mutants"] < mutants:
        found = module.specimen(rng)
        if found is None:
            counts["instances without a certificate"] += 1
            continue
        made, valid = found
        valid.verify()  # raises if an original is not verified
        counts["originals"] += 1
        counts[f"originals {module.side(valid)}"] += 1
        for _ in range(10):
            mutant, words, true = module.mutate(made, valid, rng)
            counts["mutants"] += 1
            counts["true" if true else "false"] += 1
            try:
                mutant.verify()
            except CertifyError as trouble:
                counts[f"{trouble.verdict}"] += 1
                counts[f"code {trouble.code}"] += 1
                continue
            counts["verified"] += 1
            if not true:
                counts["false accepts"] += 1
                told = f"false accept: {kind}, seed {seed}, mutant {counts['mutants']}: {words}"
                if stop:
                    raise AssertionError(told)
                print(told, file=sys.stderr)
    return counts


def test_every_kind_has_mutants() -> None:
    assert set(KINDS) == set(registry.KINDS)


@pytest.mark.parametrize(("kind", "seed"), [(kind, seed) for kind in sorted(KINDS) for seed in range(1 if kind in COSTLY else 5)])
def test_no_false_mutant_is_verified(kind: str, seed: int) -> None:
    counts = run(kind, 1000 + seed, 70 if kind in COSTLY else 500)
    assert counts["false accepts"] == 0
    assert counts["false"] > (35 if kind in COSTLY else 100) and counts["verified"] > (2 if kind in COSTLY else 20) and counts["originals proved"] > 5
    assert all(counts[f"originals {side}"] >= 2 for side in KINDS[kind].SIDES)


@pytest.mark.slow
@pytest.mark.parametrize("kind", sorted(KINDS))
@pytest.mark.parametrize("seed", range(20))
def test_no_false_mutant_is_verified_in_long_runs(kind: str, seed: int) -> None:
    assert run(kind, 2000 + seed, 150 if kind in COSTLY else 2500)["false accepts"] == 0
