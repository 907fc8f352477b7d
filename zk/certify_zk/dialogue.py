# SPDX-License-Identifier: Apache-2.0
"""One run of the argument: the transcript, the prover's messages, and the checks that a verifier makes of them.

Prover and verifier run the same code on a `Dialogue`, which is why they agree on every message and every challenge; they differ in the `Source` of
messages. A dialogue is in clear mode, or `Padded`: only then do messages tell nothing. Guarantee: a message is absorbed, under its label, before it
is returned, so each challenge depends on all messages before it. `counts` adds up what the soundness ledger needs: the degrees of the polynomials
that are compared at challenges.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Protocol

import numpy as np

from certify.errors import Rejected
from certify_zk.affine import Affine, Tape
from certify_zk.field import Element, Field, P
from certify_zk.layout import BlockClaim, Claim, Point
from certify_zk.relations import Identity
from certify_zk.transcript import Transcript

Words = np.ndarray[Any, np.dtype[np.uint64]]

MESSAGE, PAIR = "message", ("x", "y", "z")
"""The hidden elements: pads of messages, and of each product the pads of both factors and what these give."""


class Source(Protocol):
    """Where messages come from: a prover's tables, or what a prover has sent.

    What returns nothing only tells the source which sums the rounds that follow are about.
    """

    def roots(self, challenge: Element) -> Sequence[Element]:
        """Return numerator and denominator of the cells' fractions, of the table's, and the inverse of the product of both denominators."""

    def layer(self, tree: int, row: Point, column: Point, factor: Element) -> None:
        """Begin the sumcheck of a layer of a tree, at a point of its parents."""

    def ends(self, leaf: bool) -> Sequence[Element]:
        """Return both numerators and both denominators where a layer's rounds ended, of leaves only what is not public."""

    def claim(self, claim: BlockClaim) -> Element:
        """Return the value of a claim about a block."""

    def sums(self, identity: Identity, row: Point, column: Point, summed: tuple[int, int]) -> None:
        """Begin the sumcheck of an identity at a point, over so many bits of k and of i."""

    def batch(self, claims: Sequence[Claim], factor: Element) -> None:
        """Begin the sumcheck of all claims, with powers of a factor."""

    def round(self, degree: int) -> Sequence[Element]:
        """Return the coefficients of a round's polynomial, but for the linear one."""

    def bind(self, challenge: Element) -> None:
        """End a round with its challenge."""

    def value(self) -> Element:
        """Return the multilinear extension of all cells where the rounds of the batch ended."""

    def echo(self, value: Element | None) -> Element:
        """Return a value that earlier messages determine; a prover is told which."""


class Recorded:
    """The source of a verifier: messages in the order in which they were sent; its methods are those of `Source`, and need not know what is asked.

    Raises Rejected `argument-malformed` where the messages end early.
    """

    def __init__(self, messages: Sequence[Element]) -> None:
        self._messages, self._read = messages, 0

    def _next(self, count: int) -> Sequence[Element]:
        self._read += count
        if self._read > len(self._messages):
            raise Rejected("argument-malformed", f"there are {len(self._messages)} messages, and more are needed", where="evidence.messages")
        return self._messages[self._read - count : self._read]

    def roots(self, challenge: Element) -> Sequence[Element]:
        return self._next(5)

    def layer(self, tree: int, row: Point, column: Point, factor: Element) -> None:
        """Nothing to do."""

    def ends(self, leaf: bool) -> Sequence[Element]:
        return self._next(2 if leaf else 4)

    def claim(self, claim: BlockClaim) -> Element:
        return self._next(1)[0]

    def sums(self, identity: Identity, row: Point, column: Point, summed: tuple[int, int]) -> None:
        """Nothing to do."""

    def batch(self, claims: Sequence[Claim], factor: Element) -> None:
        """Nothing to do."""

    def round(self, degree: int) -> Sequence[Element]:
        return self._next(degree)

    def bind(self, challenge: Element) -> None:
        """Nothing to do."""

    def value(self) -> Element:
        return self._next(1)[0]

    def echo(self, value: Element | None) -> Element:
        return self._next(1)[0]


class Silent(Recorded):
    """A source of zeros, to count what a run consists of."""

    def __init__(self, degree: int) -> None:
        super().__init__(())
        self._zero = (0,) * degree

    def _next(self, count: int) -> Sequence[Element]:
        return [self._zero] * count


class Dialogue:
    """Transcript, source and checks of a run in clear mode; with `strict`, a check that fails raises Rejected with its code."""

    def __init__(self, transcript: Transcript, field: Field, source: Source, strict: bool) -> None:
        self.transcript, self.field, self.source, self.strict = transcript, field, source, strict
        self.tape = Tape(field)
        self.counts: Counter[str] = Counter()

    def heard(self, label: str, messages: Sequence[Element]) -> list[Affine]:
        """Absorb messages of the source and return their values."""
        return [self._taken(label, message) for message in messages]

    def challenge(self, label: str, count: int, entry: str, degree: int) -> list[Element]:
        """Return challenges, and charge the degree of what is compared at them to an entry of the ledger."""
        self.counts[entry] += degree
        return self.transcript.elements(label, count, self.field.degree)

    def combined(self, terms: Iterable[tuple[Element, Affine]], constant: Element | None = None) -> Affine:
        """Return a constant plus the sum of coefficients times values."""
        return self.tape.combined(terms, self.field.zero if constant is None else constant)

    def product(self, first: Affine, second: Affine) -> Affine:
        """Return the product of two values."""
        return Affine(self.field.multiply(first.known, second.known))

    def check(self, first: Affine, second: Affine, code: str, what: str) -> None:
        """Raise Rejected unless two values are equal."""
        self.counts["constraints"] += 1
        if self.strict and first.known != second.known:
            raise Rejected(code, f"{what} does not hold", where="evidence.messages")

    def adopted(self, message: Element) -> Affine:
        """Return the value of a message, masked or not, that something else absorbs."""
        self.counts["messages"] += 1
        return Affine(message)

    def _taken(self, label: str, message: Element) -> Affine:
        self.transcript.element(label, message)
        return self.adopted(message)


class Padded(Dialogue):
    """A run whose messages are masked: what is sent is each message less its pad, a hidden element that was committed before.

    Checks are not decided here: they become `constraints`, values that must be 0. Of a product xy the pads alone are not enough: it counts as one of
    `pairs`, hidden elements X, Y and Z = XY of its own, tied to the pads x and y of its factors by two constraints; a factor that is no message
    becomes one, with a constraint that says what it is. `where` says of a leaf of the tape which hidden element it is.
    """

    def __init__(self, transcript: Transcript, field: Field, source: Source, pads: Sequence[Element] | None) -> None:
        super().__init__(transcript, field, source, True)
        self.pads = pads
        self.sent: list[Element] = []
        self.constraints: list[Affine] = []
        self.pairs: list[tuple[int, int]] = []
        self.where: dict[int, tuple[str, int]] = {}
        self._leaves: list[int] = []

    def product(self, first: Affine, second: Affine) -> Affine:
        """Return the product of two values."""
        field = self.field
        for some, other in ((first, second), (second, first)):
            if some.node is None:
                return self.combined([(some.known, other)])
        a, b = self._message(first), self._message(second)
        number = len(self.pairs)
        self.pairs.append((a, b))
        self.counts["products"] += 1
        hidden = [None] * 3 if self.pads is None else [self.pads[a], self.pads[b], field.multiply(self.pads[a], self.pads[b])]
        x, y, z = (self._leaf(name, number, value) for name, value in zip(PAIR, hidden, strict=True))
        for copy, message in ((x, a), (y, b)):
            self._constrain(self.combined([(field.one, Affine(field.zero, copy)), (field.negated(field.one), self._pad(message))]))
        return self.combined([(self.sent[a], self._pad(b)), (self.sent[b], self._pad(a)), (field.one, Affine(field.zero, z))],
                             field.multiply(self.sent[a], self.sent[b]))

    def check(self, first: Affine, second: Affine, code: str, what: str) -> None:
        """Note that two values must be equal."""
        self._constrain(self.combined([(self.field.one, first), (self.field.negated(self.field.one), second)]))

    def adopted(self, message: Element) -> Affine:
        """Return the value of a masked message that something else absorbs."""
        self.counts["messages"] += 1
        self.sent.append(message)
        number = len(self._leaves)
        self._leaves.append(self._leaf(MESSAGE, number, None if self.pads is None else self.pads[number]))
        return Affine(message, self._leaves[-1])

    def _taken(self, label: str, message: Element) -> Affine:
        masked = message if self.pads is None else self.field.subtract(message, self.pads[len(self.sent)])
        self.transcript.element(label, masked)
        return self.adopted(masked)

    def _constrain(self, value: Affine) -> None:
        self.counts["constraints"] += 1
        self.constraints.append(value)

    def _message(self, value: Affine) -> int:
        """Return the number of the message that has a value, made for it unless there is one."""
        name, number = self.where.get(-1 if value.node is None else value.node, ("", 0))
        if name == MESSAGE and value.known == self.sent[number]:
            return number
        truth = None if self.pads is None else self.tape.value(value)
        (made,) = self.heard("product/factor", [self.source.echo(truth)])
        self.check(made, value, "argument-constraints", "a factor of a product")
        return len(self.sent) - 1

    def _leaf(self, name: str, number: int, value: Element | None) -> int:
        node = self.tape.leaf(value)
        self.where[node] = name, number
        return node

    def _pad(self, message: int) -> Affine:
        return Affine(self.field.zero, self._leaves[message])


def elements(messages: Words, count: int, degree: int) -> list[Element]:
    """Return messages as elements.

    Raises Rejected `argument-malformed` for another type, shape or number, before any word is looked at, and `argument-noncanonical` for a word of p
    or more.
    """
    if messages.dtype != np.dtype(np.uint64) or messages.shape != (count, degree):
        raise Rejected("argument-malformed", f"messages have {list(messages.shape)} words of type {messages.dtype}, and {[count, degree]} are needed",
                       where="evidence.messages")
    if bool((messages >= np.uint64(P)).any()):
        raise Rejected("argument-noncanonical", "a message has a word that is no element of the field", where="evidence.messages")
    return [tuple(words) for words in messages.tolist()]
