# SPDX-License-Identifier: Apache-2.0
"""A point that shows that a part with linear input constraints has inputs: its centre, a corner, or a linear program's point."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from certify.readers.formula import Part, Row
from certify.rules.unsafe_set import inhabits


def find(part: Part) -> tuple[Fraction, ...] | None:
    """Return a rational point of the part's input set, checked exactly, or None where none was found."""
    centre = tuple((a + b) / 2 for a, b in zip(part.lower, part.upper, strict=True))
    for point in (centre, part.lower, part.upper):
        if inhabits(part, point):
            return point
    for conjunct in part.conjuncts:
        rows = [row for row in conjunct if not row.outputs]
        point = _deepest(part, rows)
        if point is not None and inhabits(part, point):
            return point
    return None


def _deepest(part: Part, rows: list[Row]) -> tuple[Fraction, ...] | None:
    """Return a point that keeps away from the constraints as far as it can, clamped to the box, or None without scipy."""
    try:
        from scipy.optimize import linprog
    except ImportError:
        return None
    size = len(part.lower)
    matrix, limit = np.zeros((len(rows), size + 1)), np.zeros(len(rows))
    for r, row in enumerate(rows):
        for index, value in row.inputs.items():
            matrix[r, index] = float(value)
        matrix[r, size], limit[r] = max(1e-9, float(np.abs(matrix[r]).sum())), -float(row.constant)
    box = [(float(a), float(b)) for a, b in zip(part.lower, part.upper, strict=True)] + [(None, 1.0)]
    result = linprog(np.append(np.zeros(size), -1.0), matrix, limit, bounds=box, method="highs")
    if result.status != 0:
        return None
    return tuple(min(max(Fraction(float(v)), a), b) for v, a, b in zip(result.x[:size], part.lower, part.upper, strict=True))
