# SPDX-License-Identifier: Apache-2.0
"""Values that a verifier knows but for pads that it does not: affine forms in hidden elements, and the record of how each was made.

A value is `known` plus a hidden part. Hidden parts are nodes of a `Tape`: a leaf is one hidden element, any other node a combination of earlier nodes
with coefficients that are known. Guarantee: whatever the leaves are, `combined` returns the combination of the values that its operands have with
these leaves; and `spread` returns, for weights of some values, the leaves' coefficients in the weighted sum of their hidden parts, in one pass over
the tape (each node hands its weight to what it is made of, latest nodes first).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from certify_zk.field import Element, Field


@dataclass(frozen=True)
class Affine:
    """`known` plus the hidden part with the number `node`, which is 0 for None."""

    known: Element
    node: int | None = None


class Tape:
    """The nodes of hidden parts; `values` are those of a prover, who knows its leaves, and `None` of a verifier."""

    def __init__(self, field: Field) -> None:
        self.field = field
        self._made: list[tuple[tuple[Element, int], ...]] = []
        self._values: list[Element | None] = []

    def leaf(self, value: Element | None) -> int:
        """Return the node of a new hidden element; `value` is None where it is not known."""
        self._made.append(())
        self._values.append(value)
        return len(self._made) - 1

    def combined(self, terms: Iterable[tuple[Element, Affine]], constant: Element) -> Affine:
        """Return the constant plus the sum of coefficients times values."""
        field, parts = self.field, []
        for coefficient, term in terms:
            constant = field.add(constant, field.multiply(coefficient, term.known))
            if term.node is not None:
                parts.append((coefficient, term.node))
        if not parts:
            return Affine(constant)
        if len(parts) == 1 and parts[0][0] == field.one:
            return Affine(constant, parts[0][1])
        self._made.append(tuple(parts))
        self._values.append(self._sum(parts))
        return Affine(constant, len(self._made) - 1)

    def value(self, some: Affine) -> Element:
        """Return known and hidden part together; raises ValueError where a leaf is not known."""
        if some.node is None:
            return some.known
        hidden = self._values[some.node]
        if hidden is None:
            raise ValueError("only who made the pads knows the value")
        return self.field.add(some.known, hidden)

    def spread(self, weights: Iterable[tuple[Element, Affine]]) -> Mapping[int, Element]:
        """Return the coefficients, by node, of the leaves in the weighted sum of the hidden parts."""
        field, found = self.field, dict[int, Element]()
        for weight, some in weights:
            if some.node is not None:
                found[some.node] = field.add(found.get(some.node, field.zero), weight)
        for node in range(len(self._made) - 1, -1, -1):
            if self._made[node] and node in found:
                weight = found.pop(node)
                for coefficient, part in self._made[node]:
                    found[part] = field.add(found.get(part, field.zero), field.multiply(weight, coefficient))
        return found

    def _sum(self, parts: Iterable[tuple[Element, int]]) -> Element | None:
        total = self.field.zero
        for coefficient, node in parts:
            value = self._values[node]
            if value is None:
                return None
            total = self.field.add(total, self.field.multiply(coefficient, value))
        return total
