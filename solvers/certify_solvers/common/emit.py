# SPDX-License-Identifier: Apache-2.0
"""From a draft to the bytes of a certificate, checked by the checker before anyone sees them."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from certify import archive, container, registry
from certify._version import VERSION
from certify.canonical import Json
from certify.certificate import PREDICATE_TYPE, TYPE
from certify.fields import MapOf, OneOrMany, Text
from certify.verification import Verification, check
from certify_solvers.common.prover import Draft, Problem


def array_entry(key: str, array: np.ndarray[Any, Any]) -> Json:
    """Return the statement's description of an evidence array."""
    digest = hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()
    return {"name": f"evidence/{key}.bin", "sha256": digest, "dtype": array.dtype.str, "shape": list(array.shape)}


def content(draft: Draft, problem: Problem, prover: str, solver: str, seed: int) -> Json:
    """Return the JSON of the statement for a draft."""
    kind = registry.kind(draft.kind, draft.version)
    spec = next(spec for spec in kind.evidence if (spec.kind, spec.version) == (draft.evidence, draft.evidence_version))
    return {
        "_type": TYPE,
        "predicateType": PREDICATE_TYPE,
        "subject": [{"name": subject.name, "digest": {"sha256": subject.sha256}} for subject in sorted(problem.subjects, key=lambda s: s.name)],
        "predicate": {
            "claim": {"kind": draft.kind, "version": draft.version, "roles": MapOf(".*", OneOrMany(Text())).encode(problem.roles),
                      "given": kind.given.encode(draft.given), "says": kind.says.encode(draft.says)},
            "assumptions": sorted(draft.assumptions),
            "evidence": {"kind": draft.evidence, "version": draft.evidence_version, "items": spec.items.encode(draft.items),
                         "arrays": {key: array_entry(key, array) for key, array in draft.arrays.items()}},
            "producer": {"name": "certify", "version": VERSION, "prover": prover, "solver": solver, "seed": seed},
        },
    }


def certificate(draft: Draft, problem: Problem, prover: str, seed: int, solver: str = "") -> bytes:
    """Return the bytes of the certificate for a draft; the same draft and seed give the same bytes."""
    return b"".join(archive.pieces(container.members(content(draft, problem, prover, solver, seed), draft.arrays, {})))


def checked(data: bytes, problem: Problem) -> Verification:
    """Return what the checker says of a certificate of our own; raises what it raises."""
    given: dict[str, list[tuple[str, bytes]]] = {}
    for role, file in problem.files.items():
        names = problem.roles[role]
        pairs = [(names, file)] if isinstance(names, str) and isinstance(file, bytes) else list(zip(names, file, strict=True))
        given[role] = [(str(name), bytes(part)) for name, part in pairs if isinstance(part, bytes)]
    return check(data, "the certificate", given, None, problem.limits.fresh())
