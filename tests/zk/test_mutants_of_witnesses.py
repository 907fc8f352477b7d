# SPDX-License-Identifier: Apache-2.0
"""Mutants of witnesses, told by an oracle: one entry of one value is changed and all that follows from it is honest; what is false is found."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from certify_zk.evaluation import violations
from certify_zk.witness import Choices, Integers, Witness
from zk.forging import Forger
from zk.test_lemmas import worst_slack
from zk.tiny import Erratic, specimen


class Mutant(Forger):
    """A run that changes one entry of the value `name`, and goes on with it."""

    name, place, change = "", 0.0, 0

    def put(self, name: str, values: Integers) -> None:
        if name == self.name:
            value = self.circuit.values[name]
            within = values[tuple(slice(size) for size in value.dimensions)]
            within[np.unravel_index(int(self.place * within.size), within.shape)] += self.change
        super().put(name, values)


def counts(seed: int, count: int) -> Counter[tuple[bool, bool]]:
    """Return how many mutants were accepted or not, and of each, how many were true or not."""
    rng, found = np.random.default_rng(seed), Counter[tuple[bool, bool]]()
    for _ in range(count):
        policy, model, statement = specimen(rng)
        run = Mutant(policy, model, statement, Erratic(rng) if rng.random() < 0.3 else Choices(), {}, bool(rng.random() < 0.5))
        names = [name for name, value in run.circuit.values.items() if value.kind == "certificate" and not name.endswith("line1")]
        run.name, run.place = str(rng.choice(names)), float(rng.random())
        run.change = int(rng.choice([-1, 1])) * int(1 << rng.integers(0, 12) if rng.random() < 0.7 else 1 << rng.integers(12, 30))
        run.all()
        accepted = violations(policy, statement, run.circuit, run.tables) == ()
        tables = {name: np.asarray(table) for name, table in run.tables.items()}
        true = worst_slack(rng, policy, model, statement, Witness(run.circuit, tables, tuple(run.margins))) >= 0
        found[accepted, true] += 1
    return found


def test_no_false_mutant_is_accepted() -> None:
    found = counts(11, 120)
    assert found[True, False] == 0 and found[False, False] > 12 and found[True, True] > 4


@pytest.mark.slow
def test_no_false_mutant_of_many_is_accepted() -> None:
    found = counts(12, 4000)
    assert found[True, False] == 0 and found[False, False] > 400 and found[True, True] > 150
