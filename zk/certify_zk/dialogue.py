# SPDX-License-Identifier: Apache-2.0
"""One run of the argument: the transcript, the prover's messages, and the checks that a verifier makes of them.

Prover and verifier run the same code on a `Dialogue`, which is why they agree on every message and every challenge; they differ in the `Source` of
messages, and in whether a check that fails raises. Guarantee: a message is absorbed, under its label, before it is returned, so each challenge
depends on all messages before it. `counts` adds up what the soundness ledger needs: the degrees of the polynomials that are compared at challenges.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from certify.errors import Rejected
from certify_zk.field import Element, Extension, P
from certify_zk.layout import BlockClaim, Claim, Point
from certify_zk.relations import Identity
from certify_zk.transcript import Transcript

Words = np.ndarray[Any, np.dtype[np.uint64]]


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


class Silent(Recorded):
    """A source of zeros, to count what a run consists of."""

    def __init__(self, degree: int) -> None:
        super().__init__(())
        self._zero = (0,) * degree

    def _next(self, count: int) -> Sequence[Element]:
        return [self._zero] * count


class Dialogue:
    """Transcript, source and checks of a run; with `strict`, a check that fails raises Rejected with its code."""

    def __init__(self, transcript: Transcript, field: Extension, source: Source, strict: bool) -> None:
        self.transcript, self.field, self.source, self.strict = transcript, field, source, strict
        self.counts: Counter[str] = Counter()

    def heard(self, label: str, messages: Sequence[Element]) -> list[Element]:
        """Absorb messages of the source and return them."""
        for message in messages:
            self.transcript.element(label, message)
        self.counts["messages"] += len(messages)
        return list(messages)

    def challenge(self, label: str, count: int, entry: str, degree: int) -> list[Element]:
        """Return challenges, and charge the degree of what is compared at them to an entry of the ledger."""
        self.counts[entry] += degree
        return self.transcript.elements(label, count, self.field.degree)

    def product(self, first: Element, second: Element) -> Element:
        """Return the product of two values that depend on messages."""
        self.counts["products"] += 1
        return self.field.multiply(first, second)

    def check(self, first: Element, second: Element, code: str, what: str) -> None:
        """Raise Rejected unless two values are equal."""
        self.counts["constraints"] += 1
        if self.strict and first != second:
            raise Rejected(code, f"{what} does not hold", where="evidence.messages")


def elements(messages: Words, degree: int) -> list[Element]:
    """Return messages as elements.

    Raises Rejected `argument-malformed` for another type or shape, `argument-noncanonical` for a word of p or more.
    """
    if messages.dtype != np.dtype(np.uint64) or messages.ndim != 2 or messages.shape[1] != degree:
        raise Rejected("argument-malformed", f"messages have the shape {list(messages.shape)} and type {messages.dtype}", where="evidence.messages")
    if bool((messages >= np.uint64(P)).any()):
        raise Rejected("argument-noncanonical", "a message has a word that is no element of the field", where="evidence.messages")
    return [tuple(words) for words in messages.tolist()]
