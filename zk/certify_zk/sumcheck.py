# SPDX-License-Identifier: Apache-2.0
"""Rounds of a sumcheck: a claim about a sum over a cube becomes a claim about one point of it.

A *plain* round has g(X) = sum of f(X, y) over the y that remain; the claim is g(0) + g(1). A round with a *coordinate* rho belongs to a sum that
has a factor eq(point, .), whose part for this variable is taken out of g: the claim is (1 - rho) g(0) + rho g(1), and what is behind it stays claimed
without that part. The message of a round has the coefficients of g but for the linear one, which the claim determines.

Guarantee: if the claim is false, g is not what is sent, so the next claim is false but for a chance of degree/|F|. A coordinate 0, for which the
claim says nothing of g(1), is refused; it has a chance of 1/|F|.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from certify.errors import Rejected
from certify_zk.dialogue import Dialogue
from certify_zk.field import Element, Extension


@dataclass(frozen=True)
class Round:
    """The degree of a round's polynomial, and the coordinate of its variable where that is split off."""

    degree: int
    coordinate: Element | None = None


def polynomial(field: Extension, claim: Element, sent: Sequence[Element], coordinate: Element | None) -> list[Element]:
    """Return all coefficients, lowest first; raises Rejected `argument-constraints` for a coordinate of 0."""
    constant, above = sent[0], list(sent[1:])
    rest = field.zero
    for coefficient in above:
        rest = field.add(rest, coefficient)
    if coordinate is None:
        linear = field.subtract(claim, field.add(field.add(constant, constant), rest))
    else:
        if not any(coordinate):
            raise Rejected("argument-constraints", "a coordinate of a random point is 0", where="evidence.messages",
                           fix="this happens by chance once in 2^100 proofs: prove again")
        linear = field.subtract(field.multiply(field.subtract(claim, constant), field.inverse(coordinate)), rest)
    return [constant, linear, *above]


def value(field: Extension, coefficients: Sequence[Element], point: Element) -> Element:
    """Return the value of a polynomial."""
    total = field.zero
    for coefficient in reversed(coefficients):
        total = field.add(field.multiply(total, point), coefficient)
    return total


def rounds(dialogue: Dialogue, label: str, entry: str, claim: Element, plan: Iterable[Round]) -> tuple[Element, list[Element]]:
    """Return what is claimed after the rounds, and their challenges in order; degrees are charged to an entry of the ledger."""
    challenges: list[Element] = []
    for each in plan:
        sent = dialogue.heard(f"{label}/round", dialogue.source.round(each.degree))
        coefficients = polynomial(dialogue.field, claim, sent, each.coordinate)
        (challenge,) = dialogue.challenge(f"{label}/point", 1, entry, each.degree)
        claim = value(dialogue.field, coefficients, challenge)
        dialogue.source.bind(challenge)
        challenges.append(challenge)
    return claim, challenges
