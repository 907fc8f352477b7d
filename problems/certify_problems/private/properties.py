# SPDX-License-Identifier: Apache-2.0
"""VNN-LIB 1.0 properties of boxes: what may not happen in them."""

from __future__ import annotations

from collections.abc import Sequence


def robustness(point: Sequence[int], radius: int, least: int, most: int, label: int, outputs: int) -> str:
    """Return the property that another output reaches the label's in the box of a radius around a point, cut to [least, most]."""
    ends = [(max(x - radius, least), min(x + radius, most)) for x in point]
    return box(ends, outputs, [f"(<= Y_{label} Y_{other})" for other in range(outputs) if other != label])


def box(ends: Sequence[tuple[int, int]], outputs: int, unsafe: Sequence[str]) -> str:
    """Return the property that one of some comparisons of outputs holds for an input between the ends."""
    lines = [f"(declare-const X_{i} Real)" for i in range(len(ends))] + [f"(declare-const Y_{o} Real)" for o in range(outputs)]
    for i, (low, high) in enumerate(ends):
        lines += [f"(assert (>= X_{i} {low}))", f"(assert (<= X_{i} {high}))"]
    lines.append(f"(assert (or {' '.join(f'(and {row})' for row in unsafe)}))")
    return "\n".join([*lines, ""])
