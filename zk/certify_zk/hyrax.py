# SPDX-License-Identifier: Apache-2.0
"""The commitment backend hyrax: what a verifier does with an argument whose rows are committed as points of a group (docs/hyrax.md).

Guarantee: `verify` returns only if the relations of the circuit hold over the integers between cells that the points bind, all in range, so the
statement is true of the network that the model's root commits to: but for the chance that the ledger adds up, for a prover who finds no relation
between the group's generators. Counts come from policy and statement; nothing of them is taken from the evidence. It imports no prover.

Zero knowledge: points hide perfectly, messages are masked by committed pads, and the last proof, that these pads satisfy all checks of the argument
and the rows the last claim, has a perfect simulator; a commitment may be used any number of times.
"""

from __future__ import annotations

from dataclasses import dataclass

from certify.errors import Declined, Rejected
from certify.limits import Limits
from certify_zk import argument
from certify_zk.circuit import Circuit, circuit
from certify_zk.dialogue import Padded, Recorded, Silent
from certify_zk.group import Group, Point, decoded, digest, group, shaped
from certify_zk.hyrax_equations import Shape, linear, verify_last
from certify_zk.layout import Layout
from certify_zk.policy import Policy
from certify_zk.prime_field import Bytes, PrimeField, ScalarTranscript, elements
from certify_zk.publics import public_values
from certify_zk.soundness import Ledger, group_ledger
from certify_zk.statement import Statement
from certify_zk.verifier import arrangement, counts, messages_cost

PROTOCOL = b"certify/private/hyrax/1"
MOST_CELLS = 1 << 20
_POINT, _GENERATOR, _ROW = 5 << 20, 6 << 20, 1 << 14
"""Operations of a point with its share of sums, and of a generator, in plain Python; of a row's place."""


@dataclass(frozen=True)
class HyraxArgument:
    """What a prover sends: points |u1 [., 48] of the model's rows, of all other rows, of the rows of pads and of the last proof; masked messages and
    the answers of the last proof, |u1 [., 32].
    """

    model_rows: Bytes
    rows: Bytes
    slots: Bytes
    messages: Bytes
    first: Bytes
    responses: Bytes

    @property
    def roots(self) -> list[bytes]:
        """The digests that the transcript absorbs."""
        return [digest(points) for points in (self.model_rows, self.rows, self.slots)]


@dataclass(frozen=True)
class Sizes:
    """The circuit of a statement, where its cells are, the sizes of the last proof, the ledger, and which messages are multiplied."""

    circuit: Circuit
    layout: Layout
    shape: Shape
    ledger: Ledger
    pairs: tuple[tuple[int, int], ...]


def verify(policy: Policy, model_root: bytes, statement: Statement, claim: bytes, given: HyraxArgument, limits: Limits,
           model_rows: int | None = None) -> Ledger:
    """Return the soundness ledger if the argument shows the statement of the model with this root; `claim` are bytes that it is bound to.

    `model_rows` is how many rows a commitment states. Raises Declined `commitment-*`, `property-range`, `limit-reached`, `backend-missing`; Rejected
    `claim-vacuous`, `argument-*` or `point-invalid`.
    """
    sizes = measured(policy, statement, limits)
    curve, shape = group(limits.reference), sizes.shape
    if model_rows not in (None, shape.model_rows):
        raise Declined("commitment-root", f"the commitment states {model_rows} rows, its architecture has {shape.model_rows}",
                       where="commitment", fix="ask the owner for the file that `certify commit` wrote")
    messages = [(value,) for value in elements(given.messages, shape.messages, "messages")]
    responses = elements(given.responses, shape.responses, "responses")
    for name, array, count in (("model_rows", given.model_rows, shape.model_rows), ("rows", given.rows, shape.rows - shape.model_rows),
                               ("slots", given.slots, shape.slots), ("first", given.first, shape.first)):
        shaped(array, count, name)
    if digest(given.model_rows) != model_root:
        raise Rejected("argument-path", "the points of the model's rows are not those of the commitment", where="evidence.model_rows")
    model, rest, slots, first = (decoded(curve, array, len(array), name) for name, array in (
        ("model_rows", given.model_rows), ("rows", given.rows), ("slots", given.slots), ("first", given.first)))
    transcript = begin(policy, statement, claim, given)
    run = Padded(transcript, PrimeField(), Recorded(messages), None)
    remaining = argument.run(run, sizes.circuit, sizes.layout, public_values(policy, statement))
    equation = linear(run, shape, sizes.layout, remaining)
    verify_last(transcript, curve, generators(curve, shape.columns), shape, equation, [*model, *rest], slots, (given.first, first),
                (given.responses, responses))
    return sizes.ledger


def begin(policy: Policy, statement: Statement, claim: bytes, given: HyraxArgument) -> ScalarTranscript:
    """Return the transcript before the first challenge; of the argument the points of rows and pads must be there."""
    transcript = ScalarTranscript()
    argument.begun(transcript, PROTOCOL, policy, statement, claim, given.roots)
    return transcript


def generators(curve: Group, columns: int) -> list[Point]:
    """Return the generators: H, U, and one for each column."""
    return [curve.generator(index) for index in range(columns + 2)]


def measured(policy: Policy, statement: Statement, limits: Limits) -> Sizes:
    """Return the sizes of an argument, once they are within the limits; raises Declined as `verify` does."""
    made = circuit(policy, statement)
    limits.spend(_ROW * (made.cells // policy.columns + len(made.blocks)), "placing the cells of a circuit")
    arranged = arrangement(policy, made.blocks.values())
    require_cells(len(arranged.physical) << arranged.columns)
    limits.spend(messages_cost(made, arranged), "checking the messages of an argument")
    run = rehearsal(policy, statement, made, arranged)
    counted = counts(run, arranged)
    shape = Shape(policy.columns, len(arranged.model), len(arranged.physical), counted.messages, counted.products)
    limits.spend(_POINT * shape.points + _GENERATOR * shape.columns, "the points of an argument")
    return Sizes(made, arranged, shape, group_ledger(policy.level, PrimeField.order, counted, 2 * shape.rounds), tuple(run.pairs))


def require_cells(cells: int) -> None:
    """Raise Declined `commitment-limit` for more cells than this backend is for."""
    if cells > MOST_CELLS:
        raise Declined("commitment-limit", f"{cells} cells with hyrax, which takes at most {MOST_CELLS}", where="policy",
                       fix='commit with backend = "ligero", which is for networks of this size')


def rehearsal(policy: Policy, statement: Statement, made: Circuit, arranged: Layout) -> Padded:
    """Return the dialogue of a run on zeros."""
    run = Padded(ScalarTranscript(), PrimeField(), Silent(PrimeField.degree), None)
    argument.run(run, made, arranged, public_values(policy, statement))
    return run
