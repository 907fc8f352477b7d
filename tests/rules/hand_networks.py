# SPDX-License-Identifier: Apache-2.0
"""Networks as the checker holds them, written down: lines that no case file gives, with a limit on one side only or with numbers of any size."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from certify.readers.power import Line, Network

Number = Fraction | int
End = tuple[int, int, Number | None, Number | None] | tuple[int, int, Number | None, Number | None, Number] | tuple[
    int, int, Number | None, Number | None, Number, Number]


def network(lines: Sequence[End], demand: Sequence[Number], supply: Sequence[Number]) -> Network:
    """Return the network of lines (start, end, low, high, b, shift; b is 1 and the shift is 0 unless given) between buses 1, 2 and so on."""
    made = []
    for row, (start, end, low, high, *rest) in enumerate(lines, start=1):
        b, shift = [*map(Fraction, rest), *(Fraction(1), Fraction(0))[len(rest) :]]
        made.append(Line(row, start, end, None if low is None else Fraction(low), None if high is None else Fraction(high), b, shift))
    return Network(tuple(range(1, len(demand) + 1)), tuple(map(Fraction, demand)), tuple(map(Fraction, supply)), (Fraction(0),) * len(demand),
                   tuple(made), frozenset())
