# SPDX-License-Identifier: Apache-2.0
"""The bounds by which a check closed each condition at each leaf, as the checker itself computes them.

`bounds_tree.check` runs once more on the same evidence, with an arithmetic that hands every call on and notes what `bound` returned. So each number
here is one that the checker compared with 0; none is computed in another way. The smallest of all is the `smallest margin` of the verdict.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from certify.certificate import Evidence
from certify.limits import Limits
from certify.readers.formula import Part, Row
from certify.readers.network import Network
from certify.rules import bounds_tree
from certify.rules.unsafe_set import arithmetic


@dataclass
class Margins:
    """Of one part: for each conjunct the smallest bound over the leaves, for each leaf the smallest over the conjuncts.

    A leaf that holds no input has no bound (None).
    """

    conjuncts: list[Fraction | None]
    leaves: list[Fraction | None] = field(default_factory=list)

    @property
    def smallest(self) -> Fraction | None:
        """The smallest bound, or None where no leaf holds an input."""
        return min((value for value in self.conjuncts if value is not None), default=None)


class _Noting:
    """An arithmetic that notes the bounds it returns; everything else is the wrapped one's."""

    def __init__(self, wrapped: Any, alone: bool, splits_neurons: bool) -> None:
        self._wrapped, self._alone, self._splits_neurons = wrapped, alone, splits_neurons
        self._weights: WeakKeyDictionary[Any, Fraction] = WeakKeyDictionary()
        self.found: list[Margins] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._wrapped, name)

    def start(self, part: Part) -> Any:
        """Begin with a part."""
        self._lengths = [len(conjunct) if self._alone else 1 for conjunct in part.conjuncts]
        self.found.append(Margins([None] * len(part.conjuncts)))
        return self._wrapped.start(part)

    def specify(self, rows: Sequence[tuple[Row, Fraction]]) -> Any:
        """Return a sum of weighted rows and note its weight: margins are in the units of the rows."""
        made = self._wrapped.specify(rows)
        self._weights[made] = sum((weight for _, weight in rows), Fraction(0))
        return made

    def bound(self, rows: Sequence[Any], owner: Any, bounds: Any, *rest: Any) -> Any:
        """Return lower bounds, leaf by leaf and conjunct by conjunct, and note them."""
        values = self._wrapped.bound(rows, owner, bounds, *rest)
        per_leaf = sum(self._lengths)
        empty = np.zeros(len(bounds.lower[0]), bool)
        if self._splits_neurons:
            empty = np.any([(low > high).any(axis=1) for low, high in zip(bounds.lower, bounds.upper, strict=True)], axis=0)
        starts = np.cumsum([0, *self._lengths[:-1]])
        best = np.maximum.reduceat(values.reshape(-1, per_leaf), starts, axis=1)
        mine = self.found[-1]
        for leaf, line in enumerate(best.tolist()):
            if empty[leaf]:
                mine.leaves.append(None)
                continue
            exact = [Fraction(value) / self._wrapped.unit for value in line]
            if not self._alone:
                exact = [value / self._weights[rows[leaf * per_leaf + k]] for k, value in enumerate(exact)]
            mine.leaves.append(min(exact))
            mine.conjuncts = [value if known is None else min(known, value) for known, value in zip(mine.conjuncts, exact, strict=True)]
        return values


def margins(network: Network, semantics: str, parts: Iterable[Part], evidence: Evidence, limits: Limits) -> list[Margins]:
    """Return the bounds for each part, in order; raises what the check raises."""
    splits_neurons = bool((evidence.arrays["tree"] >= network.inputs).any())
    noting: Any = _Noting(arithmetic(network, semantics, evidence, limits), "row" not in evidence.arrays, splits_neurons)
    bounds_tree.check(noting, parts, evidence.arrays, limits)
    found: list[Margins] = noting.found
    return found
