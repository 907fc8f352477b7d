# SPDX-License-Identifier: Apache-2.0
"""Small arguments with rows committed as points, honest and forged, and the verifier's verdicts; skipped without the packages of the group."""

from __future__ import annotations

from dataclasses import replace
from importlib.util import find_spec

import numpy as np
import pytest

if find_spec("py_arkworks_bls12381") is None or find_spec("py_ecc") is None:
    pytest.skip("a package of the backend hyrax is missing", allow_module_level=True)

from certify.errors import CertifyError
from certify.limits import Limits
from certify_zk import hyrax, hyrax_prover
from certify_zk.evaluation import violations
from certify_zk.group import Reference
from certify_zk.hyrax import HyraxArgument
from certify_zk.hyrax_prover import Points
from certify_zk.policy import Policy
from certify_zk.statement import Statement
from zk.arguments import CLAIM, Case

SLOW = Reference()  # imports py_ecc, and keeps the limit of recursion
ARRAYS = ("model_rows", "rows", "slots", "messages", "first", "responses")


def by_points(policy: Policy, columns: int = 512) -> Policy:
    """Return a policy with the backend hyrax."""
    return replace(policy, backend="hyrax", level=100, uses=1, queries=0, pads=0, codeword=0, columns=columns)


def pointed(given: Case) -> Case:
    """Return a case with the backend hyrax."""
    return replace(given, policy=by_points(given.policy))


def commit(given: Case, seed: int = 1) -> Points:
    """Return the commitment to the model of a case."""
    return hyrax_prover.commit_model(given.policy, given.circuit.blocks, given.tables, np.random.default_rng(seed).bytes)


def prove(given: Case, model: Points, seed: int = 2) -> HyraxArgument:
    """Return the argument of a case."""
    return hyrax_prover.prove(given.policy, given.statement, CLAIM, given.tables, model, np.random.default_rng(seed).bytes)


def verdict(given: Case, made: HyraxArgument, root: bytes, statement: Statement | None = None, claim: bytes = CLAIM, policy: Policy | None = None,
            reference: bool = False) -> str:
    """Return the code of the verifier, or `verified`."""
    try:
        hyrax.verify(policy or given.policy, root, statement or given.statement, claim, made, Limits(reference=reference))
    except CertifyError as trouble:
        return trouble.code
    return "verified"


def played(given: Case) -> str:
    """Return the verdict on a prover that follows the protocol with the tables of a case, with points in place of its commitments."""
    some = pointed(given)
    model = commit(some)
    return verdict(some, prove(some, model), model.root)


def expected(given: Case) -> str:
    """Return what `played` is to return: all that is said of relations is that some constraint does not hold."""
    return "argument-constraints" if violations(given.policy, given.statement, given.circuit, given.tables) else "verified"
