# SPDX-License-Identifier: Apache-2.0
"""Small arguments, masked or in clear mode, honest and forged, and the verifiers' verdicts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from certify.errors import CertifyError
from certify.limits import Limits
from certify_zk import soundness
from certify_zk.circuit import Circuit
from certify_zk.dialogue import Dialogue
from certify_zk.layout import Layout
from certify_zk.ligero_prover import Committed
from certify_zk.policy import Policy
from certify_zk.prover import Tables, commit_model, prove
from certify_zk.relations import Gated, Inner, Relation
from certify_zk.statement import Statement
from certify_zk.verifier import Argument, counts, rehearsal, verify, verify_clear
from certify_zk.witness import Choices, Integers, Model, Witness, witness
from zk.tiny import Erratic

CLAIM = b'{"kind":"test"}'
COUNTS = soundness.Counts(1 << 20, 2000, 2000, 2000, 4000, 4000, 400)  # more than any argument of these tests has
CHOSEN = {level: soundness.choose(level, 1, 512, 2048, COUNTS) for level in (100, 128)}


class Tidy(Erratic):
    """Choices at random that leave zero coefficients alone, as rows of padding are not stored."""

    def parts(self, coefficients: Integers) -> tuple[Integers, Integers]:
        plus, minus = Choices.parts(self, coefficients)
        more = self._some(coefficients, 5) * (coefficients != 0)
        return plus + more, minus + more


@dataclass(frozen=True)
class Case:
    """A statement about a committed model, and the tables of a prover."""

    policy: Policy
    statement: Statement
    circuit: Circuit
    tables: Tables

    def commit(self) -> Committed:
        return commit_model(self.policy, self.circuit.blocks, self.tables, np.random.default_rng(1).bytes)

    def prove(self, model: Committed | None = None, seed: int = 2, padded: bool = False) -> Argument:
        draw = np.random.default_rng(seed).bytes
        return prove(self.policy, self.circuit, self.statement, CLAIM, self.tables, model or self.commit(), draw, padded)

    def tampered(self, changes: Mapping[str, Integers]) -> Case:
        return replace(self, tables={**self.tables, **changes})


def small(policy: Policy, level: int = 100) -> Policy:
    """Return a policy with the smallest rows, for one use."""
    chosen = CHOSEN[level]
    return replace(policy, level=level, uses=1, queries=chosen.queries, pads=chosen.code.pads, columns=512, codeword=2048)


def case(policy: Policy, model: Model, statement: Statement, choices: Choices | None = None, level: int = 100) -> Case:
    """Return a case with an honest witness."""
    found = witness(small(policy, level), model, statement, choices)
    assert isinstance(found, Witness), found
    return Case(small(policy, level), statement, found.circuit, found.tables)


def verdict(given: Case, argument: Argument, root: bytes, statement: Statement | None = None, claim: bytes = CLAIM,
            policy: Policy | None = None) -> str:
    """Return the code of the verifier, or `verified`."""
    try:
        check = verify_clear if argument.pads is None else verify
        check(policy or given.policy, root, statement or given.statement, claim, argument, Limits())
    except CertifyError as trouble:
        return trouble.code
    return "verified"


def without(given: Case, name: str) -> Circuit:
    """Return the circuit of a case without one relation; of a step, what defines its constant is kept."""
    kept: list[Relation] = []
    for relation in given.circuit.relations:
        if relation.name != name:
            kept.append(relation)
        elif isinstance(relation, Gated):
            total = relation.identities()[1]
            kept.append(Inner(total.name, total.code, total.left, total.products, relation.count, total.defines))
    return replace(given.circuit, relations=tuple(kept))


def count(given: Case, arranged: Layout, circuit: Circuit | None = None, mode: type[Dialogue] = Dialogue) -> soundness.Counts:
    """Return what the arguments of a case consist of."""
    return counts(rehearsal(mode, given.policy, given.statement, circuit or given.circuit, arranged), arranged)


def played(given: Case) -> str:
    """Return the verdict, in clear mode, on a prover that follows the protocol with the tables of a case.

    With masked messages the verdict is the same, but that `argument-constraints` is all that is said of relations.
    """
    model = given.commit()
    found, masked = (verdict(given, given.prove(model, padded=padded), model.root) for padded in (False, True))
    assert masked == ("argument-constraints" if found.startswith("relation-") else found)
    return found
