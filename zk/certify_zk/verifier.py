# SPDX-License-Identifier: Apache-2.0
"""The verifier of the argument.

Guarantee: `verify` returns only if the relations of the circuit hold over the integers between cells that the roots fix, all in range, but for the
chance that the ledger adds up, which is at most 2^-level; so the statement is true of the network that the model's root commits to. Sizes and counts
come from policy and statement; nothing of them is taken from the evidence. It imports no prover and no compiled kernel.

Zero knowledge: all messages are masked by committed pads, so an honest prover's argument shows nothing but that the statement is true, as long as a
commitment is used no more often than its policy says. `verify_clear` checks the same of messages that are not masked; it serves tests, which see
there which relation is broken, and no file is ever read that way.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import prod

from certify.errors import Declined, Rejected
from certify.limits import Limits
from certify_zk import argument, convolution, soundness
from certify_zk.affine import Affine
from certify_zk.circuit import Circuit, circuit
from certify_zk.dialogue import Dialogue, Padded, Recorded, Silent, Words, elements
from certify_zk.field import Element, Extension
from certify_zk.layout import Layout, layout
from certify_zk.ligero import Opening, Shape, verify_opening
from certify_zk.merkle import DIGEST_BYTES
from certify_zk.pads import PadOpening, PadShape, verify_pads
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
    """What a prover sends: the root of the certificate, messages [n, D] in the order of `argument`, and the opening; of masked messages also the root
    and the opening of their pads.
    """

    root: bytes
    messages: Words
    opening: Opening
    pad_root: bytes = b""
    pads: PadOpening | None = None


@dataclass(frozen=True)
class Sizes:
    """The circuit of a statement, where its cells are, the sizes of the tableaux, the ledger, and which messages are multiplied."""

    circuit: Circuit
    layout: Layout
    shape: Shape
    pads: PadShape
    ledger: Ledger
    pairs: tuple[tuple[int, int], ...]


def verify(policy: Policy, model_root: bytes, statement: Statement, claim: bytes, given: Argument, limits: Limits,
           model_rows: int | None = None) -> Ledger:
    """Return the soundness ledger if the argument shows the statement of the model with this root; `claim` are bytes that it is bound to.

    `model_rows` is how many rows a commitment states. Raises Declined `commitment-*`, `property-range` or `limit-reached`; Rejected `claim-vacuous`
    or `argument-*`.
    """
    sizes = measured(policy, statement, limits)
    if model_rows not in (None, sizes.shape.model_rows):
        raise Declined("commitment-root", f"the commitment states {model_rows} rows, its architecture has {sizes.shape.model_rows}",
                       where="commitment", fix="ask the owner for the file that `certify commit` wrote")
    roots = model_root, given.root, given.pad_root
    if given.pads is None:
        raise Rejected("argument-malformed", "there are no pads", where="evidence")
    messages, transcript = _begun(sizes, policy, statement, claim, roots, given.messages)
    run = Padded(transcript, Extension(sizes.shape.degree), Recorded(messages), None)
    _run(run, sizes, policy, statement, roots, given.opening, limits)
    verify_pads(transcript, sizes.pads, given.pad_root, run, given.pads, limits)
    return sizes.ledger


def verify_clear(policy: Policy, model_root: bytes, statement: Statement, claim: bytes, given: Argument, limits: Limits) -> Ledger:
    """Return the ledger as `verify` does, of an argument whose messages are not masked, or raise the code of the relation that is broken."""
    sizes = measured(policy, statement, limits, Dialogue)
    roots = model_root, given.root
    messages, transcript = _begun(sizes, policy, statement, claim, roots, given.messages)
    run = Dialogue(transcript, Extension(sizes.shape.degree), Recorded(messages), True)
    _run(run, sizes, policy, statement, roots, given.opening, limits)
    return sizes.ledger


def measured(policy: Policy, statement: Statement, limits: Limits, mode: type[Dialogue] = Padded) -> Sizes:
    """Return the sizes of an argument in one of both modes, once they have the level of the policy; raises Declined as `verify` does."""
    limits.spend(_CLAIM * len(statement.regions) * (1 + sum(1 + len(tau) for tau in policy.tau)), "building the relations of all regions")
    made = circuit(policy, statement)
    limits.spend(_ROW * (made.cells // policy.columns + len(made.blocks)), "placing the cells of a circuit")
    arranged = arrangement(policy, made.blocks.values())
    sizes = shape(policy, arranged)
    limits.spend(messages_cost(made, arranged), "checking the messages of an argument")
    rehearsed = rehearsal(mode, policy, statement, made, arranged)
    counted = counts(rehearsed, arranged)
    parameters = Parameters(policy.level, sizes.degree, policy.uses, policy.queries, sizes.code)
    ledger = soundness.require(parameters, counted)
    pads = PadShape(soundness.pad_code(parameters, counted.messages), sizes.degree, counted.messages, counted.products)
    return Sizes(made, arranged, sizes, pads, ledger, tuple(rehearsed.pairs) if isinstance(rehearsed, Padded) else ())


def _begun(sizes: Sizes, policy: Policy, statement: Statement, claim: bytes, roots: Sequence[bytes],
           given: Words) -> tuple[list[Element], Transcript]:
    """Return all messages, and the transcript before the first one."""
    if any(len(root) != DIGEST_BYTES for root in roots):
        raise Rejected("argument-malformed", f"a root has not {DIGEST_BYTES} bytes", where="evidence.roots")
    messages = elements(given, sizes.pads.messages - 1, sizes.shape.degree)
    return messages, argument.begin(policy, statement, claim, roots)


def _run(run: Dialogue, sizes: Sizes, policy: Policy, statement: Statement, roots: Sequence[bytes], opening: Opening,
         limits: Limits) -> None:
    """Go through the argument and its opening, whose mask value is the last message."""
    arranged = sizes.layout
    remaining = argument.run(run, sizes.circuit, arranged, public_values(policy, statement))
    weights = run.field.equality(remaining.row)
    equation = verify_opening(run.transcript, sizes.shape, (roots[0], roots[1]), [weights[r] for r in arranged.physical], remaining.column,
                              remaining.value.known, opening, limits)
    run.check(opened(run, equation.scale, remaining.value, opening.mask_value), Affine(equation.right), "argument-opening", "the opened value")


def opened(run: Dialogue, scale: Element, value: Affine, mask: Element) -> Affine:
    """Return what an opening compares: the value times its scale, plus the mask's value, which the opening absorbs."""
    return run.combined([(scale, value), (run.field.one, run.adopted(mask))])


def arrangement(policy: Policy, blocks: Iterable[Block]) -> Layout:
    """Return the layout of blocks in the rows of a policy."""
    return layout(blocks, policy.columns.bit_length() - 1)


def shape(policy: Policy, arranged: Layout) -> Shape:
    """Return the sizes of the committed tableaux; raises Declined `commitment-limit` for a code that there is not."""
    code = Code(policy.columns, policy.pads, policy.codeword)
    return Shape(code, LEVELS[policy.level], policy.queries, len(arranged.model), len(arranged.certificate) + len(arranged.free))


def rehearsal(mode: type[Dialogue], policy: Policy, statement: Statement, made: Circuit, arranged: Layout) -> Dialogue:
    """Return the dialogue of a run on zeros, with the last message and check, which are the opening's."""
    field = Extension(LEVELS[policy.level])
    source = Silent(field.degree)
    run = Padded(Transcript(), field, source, None) if mode is Padded else Dialogue(Transcript(), field, source, False)
    remaining = argument.run(run, made, arranged, public_values(policy, statement))
    run.check(opened(run, field.one, remaining.value, field.zero), Affine(field.zero), "argument-opening", "the opened value")
    return run


def counts(run: Dialogue, arranged: Layout) -> Counts:
    """Return what a run consists of."""
    found = run.counts
    return Counts(arranged.ranged_cells, found["rounds"], found["relations"], found["batch"], found["messages"], found["constraints"],
                  found["products"])


def messages_cost(made: Circuit, arranged: Layout) -> int:
    """Return elementary operations of two runs: one claim at most for each term of a relation, and all rounds."""
    terms, entries = 0, 0
    for relation in made.relations:
        for identity in relation.identities():
            for form in (identity.left, identity.right, *(factor.form for product in identity.products for factor in product.factors)):
                for block in (made.blocks[term.block] for term in form.terms if term.block != ONE):
                    claims = 1 if block.image is None else len(block.image.form.terms)
                    terms += claims
                    entries += prod(block.shape) if block.kind == "public" else 0
                    entries += 0 if block.image is None else claims * convolution.entries(block.image.layer, len(block.shape))
                terms += sum(term.block == ONE for term in form.terms)
    depth = arranged.rows + arranged.columns
    rounds = depth * depth + 16 * 16 + 16 * len(made.relations)
    return _CLAIM * terms + _STEP * rounds + _ENTRY * (entries + (8 << arranged.rows))
