# SPDX-License-Identifier: Apache-2.0
"""The verifier of the argument, in clear mode.

Guarantee: `verify` returns only if the relations of the circuit hold over the integers between cells that the roots fix, all in range, but for the
chance that the ledger adds up, which is at most 2^-level; so the statement is true of the network that the model's root commits to. Sizes and counts
come from policy and statement; nothing of them is taken from the evidence. It imports no prover and no compiled kernel. Messages are not masked:
they tell about the network.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import prod

from certify.errors import Rejected
from certify.limits import Limits
from certify_zk import argument, soundness
from certify_zk.circuit import Circuit, circuit
from certify_zk.dialogue import Dialogue, Recorded, Silent, Words, elements
from certify_zk.field import Extension
from certify_zk.layout import Layout, layout
from certify_zk.ligero import Opening, Shape, verify_claim
from certify_zk.merkle import DIGEST_BYTES
from certify_zk.policy import LEVELS, Policy
from certify_zk.publics import public_values
from certify_zk.reed_solomon import Code
from certify_zk.relations import ONE, Block
from certify_zk.soundness import Counts, Ledger, Parameters
from certify_zk.statement import Statement
from certify_zk.transcript import Transcript

_CLAIM, _STEP, _ENTRY, _ROW = 1 << 19, 1 << 17, 1 << 11, 1 << 14
"""Operations of a claim with its weight, of a round, and of an entry of a public block or of a table of rows, in both runs; of a row's place."""


@dataclass(frozen=True)
class Argument:
    """What a prover sends: the root of the certificate, messages [n, D] in the order of `argument`, and the opening."""

    root: bytes
    messages: Words
    opening: Opening


def verify(policy: Policy, model_root: bytes, statement: Statement, claim: bytes, given: Argument, limits: Limits) -> Ledger:
    """Return the soundness ledger if the argument shows the statement of the model with this root; `claim` are bytes that it is bound to.

    Raises Declined `commitment-*`, `property-range` or `limit-reached`; Rejected `claim-vacuous`, `argument-*`, or the code of a relation.
    """
    made = circuit(policy, statement)
    limits.spend(_ROW * (made.cells // policy.columns + len(made.blocks)), "placing the cells of a circuit")
    arranged = arrangement(policy, made.blocks.values())
    sizes = shape(policy, arranged)
    limits.spend(_cost(made, arranged), "checking the messages of an argument")
    counted = count(policy, statement, made, arranged)
    ledger = soundness.require(Parameters(policy.level, sizes.degree, policy.uses, policy.queries, sizes.code), counted)
    if any(len(root) != DIGEST_BYTES for root in (model_root, given.root)):
        raise Rejected("argument-malformed", "a root has not 32 bytes", where="evidence.roots")
    messages = elements(given.messages, sizes.degree)
    if len(messages) != counted.messages:
        raise Rejected("argument-malformed", f"there are {len(messages)} messages of {counted.messages}", where="evidence.messages")

    roots, field = (model_root, given.root), Extension(sizes.degree)
    transcript = argument.begin(policy, statement, claim, roots)
    remaining = argument.run(Dialogue(transcript, field, Recorded(messages), True), made, arranged, public_values(policy, statement))
    weights = field.equality(remaining.row)
    verify_claim(transcript, sizes, roots, [weights[r] for r in arranged.physical], remaining.column, remaining.value, given.opening, limits)
    return ledger


def arrangement(policy: Policy, blocks: Iterable[Block]) -> Layout:
    """Return the layout of blocks in the rows of a policy."""
    return layout(blocks, policy.columns.bit_length() - 1)


def shape(policy: Policy, arranged: Layout) -> Shape:
    """Return the sizes of the committed tableaux; raises Declined `commitment-limit` for a code that there is not."""
    code = Code(policy.columns, policy.pads, policy.codeword)
    return Shape(code, LEVELS[policy.level], policy.queries, len(arranged.model), len(arranged.certificate) + len(arranged.free))


def count(policy: Policy, statement: Statement, made: Circuit, arranged: Layout) -> Counts:
    """Return what a run consists of, found by a run on zeros."""
    degree = LEVELS[policy.level]
    dialogue = Dialogue(Transcript(), Extension(degree), Silent(degree), False)
    argument.run(dialogue, made, arranged, public_values(policy, statement))
    found = dialogue.counts
    return Counts(arranged.ranged_cells, found["rounds"], found["relations"], found["batch"], found["messages"], found["constraints"],
                  found["products"])


def _cost(made: Circuit, arranged: Layout) -> int:
    """Return elementary operations of two runs: one claim at most for each term of a relation, and all rounds."""
    terms, entries = 0, 0
    for relation in made.relations:
        for identity in relation.identities():
            for form in (identity.left, identity.right, *(factor.form for product in identity.products for factor in product.factors)):
                terms += len(form.terms)
                public = [made.blocks[term.block] for term in form.terms if term.block != ONE and made.blocks[term.block].kind == "public"]
                entries += sum(prod(block.shape) for block in public)
    depth = arranged.rows + arranged.columns
    rounds = depth * depth + 16 * 16 + 16 * len(made.relations)
    return _CLAIM * terms + _STEP * rounds + _ENTRY * (entries + (8 << arranged.rows))
