# SPDX-License-Identifier: Apache-2.0
"""Relations one by one: cells that break a single relation are rejected with its code, and verified where the verifier leaves that one out.

Which relations cells break is told by the evaluation of all relations. Where no cell belongs to a relation alone it is left out here: what breaks
such a relation breaks others as well, and tests of forged arguments have a case of each kind.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from certify_zk import verifier
from certify_zk.evaluation import violations
from certify_zk.relations import ONE, Linear, Relation
from certify_zk.verifier import arrangement
from zk.arguments import Case, case, played
from zk.test_argument import NETWORKS
from zk.test_forged_arguments import NARROW
from zk.test_forged_witnesses import FULL, STOPPED

CASES = {"full": FULL, "stopped": STOPPED, "narrow": NARROW, "ball": NETWORKS["ball"], "score": NETWORKS["score"], "ibp": NETWORKS["8-8-8-3 ibp"]}


def broken(given: Case, relation: Linear) -> Case | None:
    """Return the case with one cell moved by one, such that this relation is all that does not hold; None where no cell does that."""
    for term in (*relation.left.terms, *relation.right.terms):
        if term.block == ONE or not given.circuit.blocks[term.block].looked_up:
            continue
        table = np.array(given.tables[term.block]).astype(np.int64)
        places = range(table.size) if relation.outside else (0, table.size - 1)
        stored = _stored(given, term.block)
        for place in (place for place in places if stored.ravel()[place]):
            for step in (1, -1):
                moved = table.copy()
                moved.reshape(-1)[place] += step
                if not 0 <= moved.reshape(-1)[place] < 1 << 16:
                    continue
                changed = given.tampered({term.block: moved})
                if {found.name for found in violations(given.policy, given.statement, given.circuit, changed.tables)} == {relation.name}:
                    return changed
    return None


def _stored(given: Case, block: str) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Return which cells of a block are in a row."""
    place = arrangement(given.policy, given.circuit.blocks.values()).places[block]
    found = np.ones(given.circuit.blocks[block].shape, bool)
    np.moveaxis(found, place.axis, 0)[place.count :] = False
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_each_linear_relation_is_needed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    given = case(*CASES[name])
    linear = [relation for relation in given.circuit.relations if isinstance(relation, Linear)]
    tried = 0
    for relation in linear:
        changed = broken(given, relation)
        if changed is None:
            continue
        tried += 1
        assert played(changed) == relation.code, relation.name
        kept: tuple[Relation, ...] = tuple(other for other in given.circuit.relations if other is not relation)
        fewer = replace(given.circuit, relations=kept)
        monkeypatch.setattr(verifier, "circuit", lambda policy, statement, fewer=fewer: fewer)
        assert played(replace(changed, circuit=fewer)) == "verified", relation.name
        monkeypatch.undo()
    assert tried >= 0.6 * len(linear), (tried, len(linear))
