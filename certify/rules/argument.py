# SPDX-License-Identifier: Apache-2.0
"""The rule `argument`: a zero-knowledge argument shows a statement about the network behind a commitment.

Statement. Regions of inputs and rows of outputs in the integers of the commitment's policy (`certify_zk.statement`); the network is the one that the
root of the commitment binds. Guarantee: `establish` returns only if the statement is true of it, but for the chance that the ledger adds up, at most
2^-level for each hash call of a forger (random oracle, SHA-256 without collisions). What the argument is bound to: the policy, the bytes of `bound`
(kind, version, roles, digests of all subjects, `given`, `says`), the statement and the roots. It shows nothing but that the statement is true.

Evidence is `ligero` or `hyrax`, as the policy's backend; hyrax rests on discrete logarithms too. Its arrays are the fields of
`certify_zk.hyrax.HyraxArgument`, in the orders of docs/hyrax.md. Arrays of ligero, by name: `roots` |u1 [2, 32], of the certificate's rows and of
the pads; `messages` <u8 [n, D], masked, in the order of `certify_zk.argument`, the last one the opening's mask value; `u1`, `u2` and the opened
columns, salts and paths of `certify_zk.ligero`; the polynomials, columns, salts and path of `certify_zk.pads`. All sizes follow from commitment and
challenges.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from certify import canonical
from certify.certificate import ArraySpec, Evidence, EvidenceSpec, Files, Kind, Roles
from certify.errors import Rejected
from certify.fields import Record
from certify.limits import Limits
from certify.readers.commitment import Commitment
from certify_zk import dialogue, verifier
from certify_zk.ligero import Opening
from certify_zk.pads import PadOpening
from certify_zk.soundness import Ledger
from certify_zk.statement import Statement
from certify_zk.verifier import Argument

if TYPE_CHECKING:
    from certify_zk.hyrax import HyraxArgument

Arrays = Mapping[str, np.ndarray[Any, Any]]

_WORDS, _BYTES = ArraySpec("<u8", 2), ArraySpec("|u1", 2)
_OF_WORDS = ("messages", "u1", "u2", "model_columns", "cert_columns", "pad_u", "pad_linear", "pad_product", "pad_columns")
_OF_BYTES = ("roots", "model_salts", "model_paths", "cert_salts", "cert_paths", "pad_salts", "pad_paths")
_ARRAYS = {**dict.fromkeys(_OF_WORDS, _WORDS), **dict.fromkeys(_OF_BYTES, _BYTES)}
_OF_HYRAX = ("model_rows", "rows", "slots", "messages", "first", "responses")
LIGERO = EvidenceSpec("ligero", 1, Record({}), _ARRAYS, required=frozenset(_ARRAYS))
HYRAX = EvidenceSpec("hyrax", 1, Record({}), dict.fromkeys(_OF_HYRAX, _BYTES), required=frozenset(_OF_HYRAX))
BACKENDS = {spec.kind: spec for spec in (LIGERO, HYRAX)}
PREMISES = frozenset({"random-oracle", "collision-resistant", "real-arithmetic"})
"""The assumptions of an argument about a commitment by ligero."""


def premises(commitment: Commitment) -> frozenset[str]:
    """Return the assumptions of an argument about the network of a commitment."""
    return PREMISES | {"discrete-logarithm"} if commitment.policy.backend == HYRAX.kind else PREMISES


def bound(kind: Kind, roles: Roles, files: Files, given: Mapping[str, Any], says: Mapping[str, Any]) -> bytes:
    """Return the bytes that an argument of a claim is bound to."""
    def digests(data: bytes | tuple[bytes, ...]) -> Any:
        return [hashlib.sha256(part).hexdigest() for part in data] if isinstance(data, tuple) else hashlib.sha256(data).hexdigest()
    names = {role: list(name) if isinstance(name, tuple) else name for role, name in roles.items()}
    return canonical.encode({"kind": kind.name, "version": kind.version, "roles": names,
                             "subjects": {role: digests(data) for role, data in files.items()},
                             "given": kind.given.encode(given), "says": kind.says.encode(says)})


def establish(commitment: Commitment, statement: Statement, claim: bytes, evidence: Evidence, limits: Limits) -> Ledger:
    """Return the soundness ledger if the evidence shows the statement.

    Raises Rejected `argument-malformed` for evidence of another backend than the commitment's; else Rejected or Declined as `verify` of
    `certify_zk.verifier` or `certify_zk.hyrax` does.
    """
    if evidence.kind != commitment.policy.backend:
        raise Rejected("argument-malformed", f"the evidence is {evidence.kind}, and the commitment is for {commitment.policy.backend}",
                       where="evidence.kind")
    if evidence.kind == HYRAX.kind:
        from certify_zk import hyrax  # what a verdict doesn't need isn't imported
        given = hyrax.HyraxArgument(**{name: evidence.arrays[name] for name in _OF_HYRAX})
        return hyrax.verify(commitment.policy, commitment.root, statement, claim, given, limits, commitment.model_rows)
    return verifier.verify(commitment.policy, commitment.root, statement, claim, decoded(evidence.arrays), limits, commitment.model_rows)


def decoded(arrays: Arrays) -> Argument:
    """Return the argument that arrays hold; raises Rejected `argument-malformed` or `argument-noncanonical`."""
    roots, messages = arrays["roots"], arrays["messages"]
    if roots.shape != (2, 32) or not len(messages):
        raise Rejected("argument-malformed", "there are not two roots, or no messages", where="evidence.arrays")
    last = dialogue.elements(messages[-1:], 1, messages.shape[1])[0]
    pairs = ((arrays[f"model_{name}"], arrays[f"cert_{name}"]) for name in ("columns", "salts", "paths"))
    opening = Opening(last, arrays["u1"], arrays["u2"], *pairs)
    pads = PadOpening(*(arrays[f"pad_{name}"] for name in ("u", "linear", "product", "columns", "salts", "paths")))
    return Argument(roots[0].tobytes(), messages[:-1], opening, roots[1].tobytes(), pads)


def encoded(made: Argument | HyraxArgument) -> Arrays:
    """Return the arrays of an argument; raises ValueError for one in clear mode, which no file holds."""
    if not isinstance(made, Argument):
        return {name: np.ascontiguousarray(getattr(made, name), "|u1") for name in _OF_HYRAX}
    pads, opening = made.pads, made.opening
    if pads is None:
        raise ValueError("an argument in clear mode is for tests")
    found: dict[str, np.ndarray[Any, Any]] = {
        "roots": np.frombuffer(made.root + made.pad_root, np.uint8).reshape(2, 32),
        "messages": np.concatenate([made.messages, np.array([opening.mask_value], np.uint64)]), "u1": opening.u1, "u2": opening.u2,
        "pad_u": pads.u, "pad_linear": pads.linear, "pad_product": pads.product, "pad_columns": pads.columns, "pad_salts": pads.salts,
        "pad_paths": pads.path,
    }
    for name, pair in (("columns", opening.columns), ("salts", opening.salts), ("paths", opening.paths)):
        found[f"model_{name}"], found[f"cert_{name}"] = pair
    return {name: np.ascontiguousarray(array, "<u8" if array.dtype == np.uint64 else "|u1") for name, array in found.items()}
