# SPDX-License-Identifier: Apache-2.0
"""What the owner of a network does: commit to it, and prove statements about it under that commitment.

Guarantee: randomness is a function of the secret seeds and of what it serves, so a proof that is made again is the same bytes, and no pads serve two
statements, two witnesses or two uses. The number of a use is on the disk before anything that depends on it leaves this module.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from certify.errors import Declined
from certify_zk import hyrax_prover, secret
from certify_zk.argument import canonical
from certify_zk.evaluation import padded
from certify_zk.exact import Integers
from certify_zk.hyrax import HyraxArgument
from certify_zk.ligero_prover import Committed
from certify_zk.policy import Policy
from certify_zk.prover import commit_model, prove
from certify_zk.relations import Block
from certify_zk.secret import Secret
from certify_zk.statement import Statement
from certify_zk.values import Value, layer_values
from certify_zk.verifier import Argument, arrangement
from certify_zk.witness import Model, Witness, cells

VERSION = b"certify/private/1"


def committed(policy: Policy, model: Model, seed: bytes) -> Committed | hyrax_prover.Points:
    """Return the commitment to a network's rows; the same seed, policy and integers give the same root."""
    blocks, tables = _model_tables(policy, model)
    draw = secret.stream(seed, b"model", VERSION, canonical(policy), _digest(tables))
    return hyrax_prover.commit_model(policy, blocks, tables, draw) if policy.backend == "hyrax" else commit_model(policy, blocks, tables, draw)


def model_rows(policy: Policy) -> int:
    """Return how many rows of a commitment hold the network."""
    blocks, _ = _model_blocks(policy)
    return len(arrangement(policy, blocks.values()).model)


@dataclass(frozen=True)
class Made:
    """An argument, and the number of the use that it took."""

    argument: Argument | HyraxArgument
    use: int


def argue(policy: Policy, root: bytes, mine: Secret, statement: Statement, claim: bytes, found: Witness) -> Made:
    """Return the argument for a witness.

    Raises Declined `commitment-root` where the secret file does not give the commitment's root, and what `Secret.take` raises.
    """
    model = committed(policy, mine.model, mine.commitment_seed)
    if model.root != root:
        raise Declined("commitment-root", "the secret file gives another root than the commitment has", where=mine.path.name,
                       fix="use the secret file that `certify commit` wrote beside this commitment")
    asked = hashlib.sha256(VERSION + hashlib.sha256(canonical(policy)).digest() + hashlib.sha256(claim).digest() + canonical(statement)).digest()
    witness = _digest({name: table for name, table in found.tables.items() if name in found.circuit.blocks})
    use = mine.take(asked, witness, policy.uses)
    draw = secret.stream(mine.proof_seed, b"certificate", VERSION, asked, use.to_bytes(8, "big"), witness)
    if isinstance(model, hyrax_prover.Points):
        return Made(hyrax_prover.prove(policy, statement, claim, found.tables, model, draw), use)
    return Made(prove(policy, found.circuit, statement, claim, found.tables, model, draw), use)


def _model_blocks(policy: Policy) -> tuple[dict[str, Block], list[tuple[Value, ...]]]:
    """Return the blocks of a network, in the order of `circuit`, and the values of each layer: both parts of its weights, and its biases."""
    values: list[tuple[Value, ...]] = [layer_values(policy, k) for k in range(1, policy.depth + 1)]
    return {block.name: block for layer in values for value in layer for block in value.blocks()}, values


def _model_tables(policy: Policy, model: Model) -> tuple[dict[str, Block], dict[str, Integers]]:
    """Return the blocks and cells of a network."""
    blocks, values = _model_blocks(policy)
    tables: dict[str, Integers] = {}
    for layer, weight, bias in zip(values, model.weights, model.biases, strict=True):
        for value, table in zip(layer, (np.maximum(weight, 0), np.maximum(-weight, 0), bias), strict=True):
            tables |= cells(value, padded(table, value.shape))
    return blocks, tables


def _digest(tables: Mapping[str, Integers]) -> bytes:
    """Return a digest of all cells, with their names and shapes."""
    digest = hashlib.sha256()
    for name in sorted(tables):
        table = np.ascontiguousarray(tables[name])
        plain = table.dtype != object
        data = table.astype(table.dtype.newbyteorder("<")).tobytes() if plain else json.dumps([int(entry) for entry in table.ravel()]).encode()
        digest.update(json.dumps([name, list(table.shape), str(table.dtype), len(data)]).encode() + data)
    return digest.digest()
