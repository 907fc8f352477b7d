# SPDX-License-Identifier: Apache-2.0
"""One input that a network sends into an unsafe set, evaluated exactly, tolerance 0."""

from __future__ import annotations

from fractions import Fraction

from certify.certificate import Evidence
from certify.errors import Rejected
from certify.limits import Limits
from certify.readers.formula import Row
from certify.rules.evaluation import evaluate
from certify.rules.unsafe_set import UnsafeSet, charge_point


def violates(conjunct: tuple[Row, ...], x: tuple[Fraction, ...], y: tuple[Fraction, ...]) -> bool:
    """Return whether (x, y) satisfies all rows of a conjunct, exactly."""
    return all(row.holds(x, y) for row in conjunct)


def refute(unsafe: UnsafeSet, evidence: Evidence, limits: Limits) -> tuple[Fraction, ...]:
    """Return the exact outputs at the evidence's point if it is in the region and unsafe; raises Rejected otherwise."""
    point = evidence.items["point"]
    if unsafe.semantics != "real":
        raise Rejected("evidence-kind", "a point shows what the network does over the reals, not in every float32 execution", where="evidence.kind",
                       fix="refute it with semantics real")
    if len(point) != unsafe.network.inputs:
        raise Rejected("outside-domain", f"the point has {len(point)} coordinates, the network {unsafe.network.inputs} inputs",
                       where="evidence.items.point")
    x = unsafe.network_input(point)
    charge_point(unsafe.parts, x, (), limits)
    inside = [part for part in unsafe.parts if part.holds_input(x)]
    if not inside:
        raise Rejected("outside-domain", "the point is not in the region", where="evidence.items.point")
    y = evaluate(unsafe.network, x, limits)
    charge_point(inside, x, y, limits)
    if not any(violates(conjunct, x, y) for part in inside for conjunct in part.conjuncts):
        raise Rejected("witness-fails", "the outputs at the point, computed exactly, are not in the unsafe set", where="evidence.items.point")
    return y
