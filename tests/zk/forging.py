# SPDX-License-Identifier: Apache-2.0
"""A prover that lies about one quantity and follows the recipe honestly from there, with none of its own checks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise

import numpy as np

from certify_zk.circuit import assemble
from certify_zk.evaluation import violations
from certify_zk.policy import Dense, InputMap, Policy
from certify_zk.relations import Linear
from certify_zk.statement import Score, Statement
from certify_zk.witness import Choices, Integers, Model, Run, Witness, cells, witness

Lie = Callable[[Integers], Integers]


class Forger(Run):
    """A run that puts the values of `lies` in place of honest ones.

    A value that has no place is `wrapped`, so that all linear relations hold and a cell is out of range, or else the nearest one that has a place.
    """

    def __init__(self, policy: Policy, model: Model, statement: Statement, choices: Choices, lies: Mapping[str, Lie], wrapped: bool) -> None:
        super().__init__(policy, model, statement, choices, assemble(policy, statement))
        self.lies, self.wrapped = lies, wrapped

    def put(self, name: str, values: Integers) -> None:
        value = self.circuit.values[name]
        if name in self.lies:
            values = self.lies[name](values.copy())
        least, most = (-value.offset, (1 << value.bits) - 1 - value.offset) if value.top is None else (0, value.top)
        near = np.clip(values, least, most)
        self.tables |= {name: table.astype(object) for name, table in cells(value, near).items()}
        if self.wrapped:
            self.tables[value.limbs[0][0]] += values - near
            if value.rest is not None:
                self.tables[value.rest] -= values - near


def forged(policy: Policy, model: Model, statement: Statement, lies: Mapping[str, Lie], wrapped: bool, choices: Choices | None = None) -> Forger:
    """Return the run of a prover that lies."""
    run = Forger(policy, model, statement, choices or Choices(), lies, wrapped)
    run.all()
    return run


def codes(run: Forger) -> list[str]:
    """Return the codes of what the run breaks, each once, in order."""
    return list(dict.fromkeys(found.code for found in violations(run.policy, run.statement, run.circuit, run.tables)))


def hand_policy(sizes: tuple[int, ...], modes: tuple[str, ...], tau: tuple[tuple[int, ...], ...]) -> Policy:
    """Return a policy for a small network on inputs up to 4."""
    return Policy(tuple(Dense(a, b) for a, b in pairwise(sizes)), modes, tau, InputMap.uniform(0, 1, 0, 4), weight_scale=5, slope_bits=4,
                  bias_scale=4, input_scale=3, total_scale=8, bias_bits=12, bound_bits=20, intercept_bits=12)


def require_each_counts(policy: Policy, model: Model, statement: Statement, ignored: tuple[str, ...]) -> None:
    """Raise AssertionError unless two changed cells of each table break a relation, and every relation is broken by some; of `ignored` tables, in a
    statement about one output, only the first row counts.
    """
    found = witness(policy, model, statement)
    assert isinstance(found, Witness)
    rng, caught = np.random.default_rng(1), set()
    for name in found.tables:
        dimensions = found.circuit.blocks[name].dimensions
        if isinstance(statement.asked, Score) and name.startswith(ignored):
            dimensions = (1, *dimensions[1:])  # other outputs don't count
        for _ in range(2):
            place = tuple(int(rng.integers(size)) for size in dimensions)
            table = found.tables[name].astype(np.int64)
            table[place] += 1 if table[place] < 65535 else -1
            broken = violations(policy, statement, found.circuit, {**found.tables, name: table})
            assert broken, name
            caught |= {violation.name for violation in broken}
    assert {relation.name for relation in found.circuit.relations if not (isinstance(relation, Linear) and relation.outside)} <= caught
