# SPDX-License-Identifier: Apache-2.0
"""Exact truth for tiny networks with two inputs: the plane is cut into polygons on which the network is affine, in rationals.

Written from the definition and sharing no code with the checker or the provers: a network is a list of (weight, bias) with max(0, .) between
them; a polygon is a list of vertices; closed half planes keep their boundary, so a polygon may shrink to a segment or a point.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction

Point = tuple[Fraction, Fraction]
Polygon = list[Point]
Affine = tuple[Fraction, Fraction, Fraction]  # a x + b y + c
Net = Sequence[tuple[Sequence[Sequence[Fraction]], Sequence[Fraction]]]
Row = tuple[Sequence[Fraction], Sequence[Fraction], Fraction]  # inputs, outputs, constant: unsafe where <= 0


def at(form: Affine, point: Point) -> Fraction:
    """Return the value of an affine form at a point."""
    return form[0] * point[0] + form[1] * point[1] + form[2]


def clip(polygon: Polygon, form: Affine) -> Polygon:
    """Return the part of a convex polygon on which form <= 0, boundary included."""
    kept: Polygon = []
    for here, there in zip(polygon, polygon[1:] + polygon[:1], strict=True):
        a, b = at(form, here), at(form, there)
        if a <= 0:
            kept.append(here)
        if (a < 0 < b) or (b < 0 < a):
            t = a / (a - b)
            kept.append((here[0] + t * (there[0] - here[0]), here[1] + t * (there[1] - here[1])))
    return kept


def pieces(net: Net, polygon: Polygon) -> Iterator[tuple[Polygon, list[Affine]]]:
    """Yield polygons that cover the given one, with the affine forms of the outputs on each."""
    one, zero = Fraction(1), Fraction(0)
    yield from _layers(net, 0, polygon, [(one, zero, zero), (zero, one, zero)])


def _layers(net: Net, k: int, polygon: Polygon, values: list[Affine]) -> Iterator[tuple[Polygon, list[Affine]]]:
    weight, bias = net[k]
    forms = [_combine(row, values, b) for row, b in zip(weight, bias, strict=True)]
    if k == len(net) - 1:
        yield polygon, forms
        return
    yield from _neurons(net, k, polygon, forms, [])


def _neurons(net: Net, k: int, polygon: Polygon, forms: list[Affine], done: list[Affine]) -> Iterator[tuple[Polygon, list[Affine]]]:
    if len(done) == len(forms):
        yield from _layers(net, k + 1, polygon, done)
        return
    form = forms[len(done)]
    off = clip(polygon, form)
    on = clip(polygon, (-form[0], -form[1], -form[2]))
    if off:
        yield from _neurons(net, k, off, forms, [*done, (Fraction(0), Fraction(0), Fraction(0))])
    if on:
        yield from _neurons(net, k, on, forms, [*done, form])


def _combine(row: Sequence[Fraction], values: list[Affine], constant: Fraction) -> Affine:
    sums = [sum((w * v[i] for w, v in zip(row, values, strict=True)), Fraction(0)) for i in range(3)]
    return (sums[0], sums[1], sums[2] + constant)


def unsafe(net: Net, lower: Sequence[Fraction], upper: Sequence[Fraction], conjuncts: Sequence[Sequence[Row]]) -> Iterator[Polygon]:
    """Yield polygons that cover the points of the box at which all rows of some conjunct are <= 0."""
    if any(a > b for a, b in zip(lower, upper, strict=True)):
        return
    box: Polygon = [(lower[0], lower[1]), (upper[0], lower[1]), (upper[0], upper[1]), (lower[0], upper[1])]
    for polygon, outputs in pieces(net, box):
        for conjunct in conjuncts:
            part = polygon
            for inputs, weights, constant in conjunct:
                form = _combine(weights, outputs, constant)
                part = clip(part, (form[0] + inputs[0], form[1] + inputs[1], form[2])) if part else part
            if part:
                yield part


def reachable(net: Net, lower: Sequence[Fraction], upper: Sequence[Fraction], conjuncts: Sequence[Sequence[Row]],
              ball: tuple[str, Sequence[Fraction], Sequence[Fraction], Fraction] | None = None) -> Point | None:
    """Return a point of the box, and of the ball (norm, centre, weight, radius), at which all rows of some conjunct are <= 0, or None."""
    for part in unsafe(net, lower, upper, conjuncts):
        if ball is None:
            return part[0]
        norm, centre, weight, radius = ball
        if norm == "l1":
            for first in (1, -1):
                for second in (1, -1):
                    a, b = first * weight[0], second * weight[1]
                    part = clip(part, (a, b, -a * centre[0] - b * centre[1] - radius)) if part else part
            if part:
                return part[0]
            continue
        moved = [((x - centre[0]) * weight[0], (y - centre[1]) * weight[1]) for x, y in part]
        x, y = nearest(moved)
        if x * x + y * y <= radius * radius:
            return centre[0] + x / weight[0], centre[1] + y / weight[1]
    return None


def nearest(polygon: Polygon) -> Point:
    """Return the point of a convex polygon, a segment or a point, that is nearest to the origin: inside, or on an edge, in rationals."""
    zero, edges = Fraction(0), list(zip(polygon, polygon[1:] + polygon[:1], strict=True))
    turns = [a[0] * b[1] - a[1] * b[0] for a, b in edges]
    if sum(turns, zero) and (min(turns) >= 0 or max(turns) <= 0):
        return zero, zero
    best = polygon[0]
    for a, b in edges:
        d = (b[0] - a[0], b[1] - a[1])
        length = d[0] * d[0] + d[1] * d[1]
        t = min(max(-(a[0] * d[0] + a[1] * d[1]) / length, zero), Fraction(1)) if length else zero
        here = (a[0] + t * d[0], a[1] + t * d[1])
        best = min(best, here, key=lambda v: v[0] * v[0] + v[1] * v[1])
    return best


def minimum(net: Net, lower: Sequence[Fraction], upper: Sequence[Fraction], row: Row) -> Fraction:
    """Return the least value of a row over the box, exactly."""
    box: Polygon = [(lower[0], lower[1]), (upper[0], lower[1]), (upper[0], upper[1]), (lower[0], upper[1])]
    least: list[Fraction] = []
    for polygon, outputs in pieces(net, box):
        form = _combine(row[1], outputs, row[2])
        least += [at((form[0] + row[0][0], form[1] + row[0][1], form[2]), vertex) for vertex in polygon]
    return min(least)


def outputs_at(net: Net, point: Sequence[Fraction]) -> list[Fraction]:
    """Return the outputs at a point of any dimension."""
    values = list(point)
    for k, (weight, bias) in enumerate(net):
        values = [sum((w * v for w, v in zip(row, values, strict=True)), Fraction(0)) + b for row, b in zip(weight, bias, strict=True)]
        if k < len(net) - 1:
            values = [max(v, Fraction(0)) for v in values]
    return values


Truth = Callable[[], bool]
