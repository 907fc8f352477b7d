# SPDX-License-Identifier: Apache-2.0
"""Rounds of a sumcheck: a claim about a sum over a cube becomes a claim about one point of it.

A *plain* round has g(X) = sum of f(X, y) over the y that remain; the claim is g(0) + g(1). A round with a *coordinate* rho belongs to a sum that
has a factor eq(point, .), whose part for this variable is taken out of g: the claim is (1 - rho) g(0) + rho g(1), and what is behind it stays claimed
without that part. The message of a round has the coefficients of g but for the linear one, which the claim determines.

Guarantee: if the claim is false, g is not what is sent, so the next claim is false but for a chance of degree/|F|. A coordinate 0, for which the
claim says nothing of g(1), is refused; it has a chance of 1/|F|.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from certify.errors import Rejected
from certify_zk.affine import Affine
from certify_zk.dialogue import Dialogue
from certify_zk.field import Element, Field


@dataclass(frozen=True)
class Round:
    """The degree of a round's polynomial, and the coordinate of its variable where that is split off."""

    degree: int
    coordinate: Element | None = None


def weights(field: Field, degree: int, coordinate: Element | None, challenge: Element) -> tuple[Element, list[Element]]:
    """Return the coefficients with which a claim and the messages of its round make g at a challenge, the next claim.

    With the linear coefficient claim - 2 g_0 - (g_2 + ...), or (claim - g_0) / rho - (g_2 + ...), g at r is linear in the claim and the messages.
    Raises Rejected `argument-constraints` for a coordinate of 0.
    """
    if coordinate is None:
        claim, twice = challenge, field.scale(challenge, 2)
    else:
        if not any(coordinate):
            raise Rejected("argument-constraints", "a coordinate of a random point is 0", where="evidence.messages",
                           fix="this happens by chance once in 2^100 proofs: prove again")
        claim = twice = field.multiply(challenge, field.inverse(coordinate))
    found, power = [field.subtract(field.one, twice)], challenge
    for _ in range(degree - 1):
        power = field.multiply(power, challenge)
        found.append(field.subtract(power, challenge))
    return claim, found


def rounds(dialogue: Dialogue, label: str, entry: str, claim: Affine, plan: Iterable[Round]) -> tuple[Affine, list[Element]]:
    """Return what is claimed after the rounds, and their challenges in order; degrees are charged to an entry of the ledger."""
    challenges: list[Element] = []
    for each in plan:
        sent = dialogue.heard(f"{label}/round", dialogue.source.round(each.degree))
        (challenge,) = dialogue.challenge(f"{label}/point", 1, entry, each.degree)
        kept, found = weights(dialogue.field, each.degree, each.coordinate, challenge)
        claim = dialogue.combined([(kept, claim), *zip(found, sent, strict=True)])
        dialogue.source.bind(challenge)
        challenges.append(challenge)
    return claim, challenges
