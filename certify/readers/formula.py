# SPDX-License-Identifier: Apache-2.0
"""Specifications: which (input, output) pairs are unsafe, as a union of parts, each a rational box with conjunctions of linear rows.

Guarantee: `parts` returns the disjunctive normal form of the conjunction of all assertions, exactly: (x, y) satisfies the
formula if and only if x lies in the box of some part and every row of one of its conjuncts holds there (<= 0, < 0 if strict). Equal
boxes are joined at their first occurrence; parts with an empty box are dropped and counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import product, repeat
from typing import TYPE_CHECKING, Literal

from certify.errors import Declined
from certify.limits import Limits

if TYPE_CHECKING:
    from certify.readers.ball import Ball

_MOST_DISJUNCTS = 10**5


@dataclass(frozen=True)
class Row:
    """g(x, y) = inputs.x + outputs.y + constant; a point is unsafe only if g <= 0, or g < 0 if `strict`."""

    inputs: Mapping[int, Fraction]
    outputs: Mapping[int, Fraction]
    constant: Fraction
    strict: bool = False

    def value(self, x: Mapping[int, Fraction] | tuple[Fraction, ...], y: Mapping[int, Fraction] | tuple[Fraction, ...]) -> Fraction:
        """Return g at a point, exactly."""
        return (self.constant + sum((c * x[i] for i, c in self.inputs.items()), Fraction(0))
                + sum((c * y[i] for i, c in self.outputs.items()), Fraction(0)))

    def holds(self, x: Mapping[int, Fraction] | tuple[Fraction, ...], y: Mapping[int, Fraction] | tuple[Fraction, ...]) -> bool:
        """Return whether a point satisfies the row, exactly."""
        value = self.value(x, y)
        return value < 0 or (value == 0 and not self.strict)


@dataclass(frozen=True)
class Part:
    """A box (rational ends, one pair an input, never empty), cut with `ball`, and the conjuncts that make its points unsafe.

    `open_lower` and `open_upper` are the inputs whose lower or upper end does not belong to the box.
    """

    lower: tuple[Fraction, ...]
    upper: tuple[Fraction, ...]
    conjuncts: tuple[tuple[Row, ...], ...]
    open_lower: frozenset[int] = frozenset()
    open_upper: frozenset[int] = frozenset()
    ball: Ball | None = None

    def holds_input(self, x: tuple[Fraction, ...]) -> bool:
        """Return whether x lies in the box and the ball, exactly."""
        if len(x) != len(self.lower) or not all(a <= v <= b for a, v, b in zip(self.lower, x, self.upper, strict=True)):
            return False
        on_open_end = any(x[i] == self.lower[i] for i in self.open_lower) or any(x[i] == self.upper[i] for i in self.open_upper)
        return not on_open_end and (self.ball is None or self.ball.holds(x))


@dataclass(frozen=True)
class Join:
    """The conjunction ("and") or disjunction ("or") of its items, at least one."""

    word: Literal["and", "or"]
    items: tuple[Node, ...]


Node = Row | Join


@dataclass(frozen=True)
class Specification:
    """What a property file says: the number of inputs and outputs, and its assertions in order."""

    inputs: int
    outputs: int
    assertions: tuple[Node, ...]


@dataclass(frozen=True)
class Parts:
    """The disjunctive normal form; `empty` counts the disjuncts whose box is empty."""

    parts: tuple[Part, ...]
    empty: int


_Bounds = dict[int, tuple[Fraction, bool]]  # an end, and whether it is closed (upper) or open (lower): so min and max take the tighter one


def parts(specification: Specification, limits: Limits) -> Parts:
    """Return the parts of a specification; raises Declined `vnnlib-size` and `vnnlib-unbounded`."""
    count, rows_in_all = _size(Join("and", specification.assertions))
    if count > _MOST_DISJUNCTS:
        raise Declined("vnnlib-size", f"the property has more than {_MOST_DISJUNCTS} disjuncts", fix="split the property into several files")
    limits.within(rows_in_all, "table_cells", "atoms of the property in disjunctive normal form")
    limits.spend(1000 * rows_in_all + 50 * specification.inputs * count, "normalising the property")
    choices = [list(_terms(assertion)) for assertion in specification.assertions]
    common = [row for terms in choices if len(terms) == 1 for row in terms[0]]
    lower: _Bounds = {}
    upper: _Bounds = {}
    _tighten(common, lower, upper)
    shared = [row for row in common if not _is_bound(row)]
    found: dict[frozenset[str], list[tuple[Row, ...]]] = {}
    boxes: dict[frozenset[str], tuple[_Bounds, _Bounds]] = {}
    empty = 0
    for term in product(*(terms for terms in choices if len(terms) > 1)):
        rows = [row for chosen in term for row in chosen]
        low, high = _tighten(rows, dict(lower), dict(upper)) if any(map(_is_bound, rows)) else (lower, upper)
        kept = [row for row in (*shared, *rows) if not _is_bound(row)]
        if any(not row.inputs and not row.outputs and not row.holds({}, {}) for row in kept) or any(map(_empty, low.items(), repeat(high))):
            empty += 1
            continue
        if missing := set(range(specification.inputs)) - (low.keys() & high.keys()):
            raise Declined("vnnlib-unbounded", f"the input X_{min(missing)} lacks a lower or an upper bound",
                           fix="bound every input on both sides in every disjunct")
        key = frozenset(_differences("lower", low, lower)) | frozenset(_differences("upper", high, upper))
        boxes.setdefault(key, (low, high))
        found.setdefault(key, []).append(tuple(row for row in kept if row.inputs or row.outputs))
    order = range(specification.inputs)
    return Parts(tuple(Part(tuple(low[i][0] for i in order), tuple(high[i][0] for i in order), tuple(conjuncts),
                            frozenset(i for i in order if low[i][1]), frozenset(i for i in order if not high[i][1]))
                       for conjuncts, (low, high) in ((found[key], boxes[key]) for key in found)), empty)


def _empty(end: tuple[int, tuple[Fraction, bool]], upper: _Bounds) -> bool:
    """Return whether no number lies between a lower end and the upper end of the same input, if there is one."""
    index, (low, is_open) = end
    high, closed = upper.get(index, (low + 1, True))
    return low > high or (low == high and (is_open or not closed))


def _size(node: Node) -> tuple[int, int]:
    """Return (disjuncts, rows over all disjuncts) of the normal form, without making it."""
    if isinstance(node, Row):
        return 1, 1
    sizes = [_size(item) for item in node.items]
    if node.word == "or":
        return sum(count for count, _ in sizes), sum(rows for _, rows in sizes)
    count, rows = 1, 0
    for more, more_rows in sizes:
        count, rows = count * more, rows * more + more_rows * count
        if count > _MOST_DISJUNCTS:
            break
    return count, rows


def _terms(node: Node) -> Iterator[tuple[Row, ...]]:
    """Yield the conjunctions whose union is `node`."""
    if isinstance(node, Row):
        yield (node,)
    elif node.word == "or":
        for item in node.items:
            yield from _terms(item)
    else:
        for chosen in product(*(list(_terms(item)) for item in node.items)):
            yield tuple(row for rows in chosen for row in rows)


def _is_bound(row: Row) -> bool:
    return not row.outputs and len(row.inputs) == 1


def _tighten(rows: Iterable[Row], lower: _Bounds, upper: _Bounds) -> tuple[_Bounds, _Bounds]:
    for row in rows:
        if _is_bound(row):
            (index, factor), = row.inputs.items()
            end = -row.constant / factor
            if factor > 0:
                upper[index] = min((end, not row.strict), upper.get(index, (end, True)))
            else:
                lower[index] = max((end, row.strict), lower.get(index, (end, False)))
    return lower, upper


def exact(value: Fraction) -> str:
    """Return a rational as text, to look it up by: rationals with one hash are easily found, and make a dictionary slow."""
    return f"{value.numerator:x}/{value.denominator:x}"


def _differences(side: str, bounds: _Bounds, base: _Bounds) -> Iterator[str]:
    if bounds is not base:
        yield from (f"{side} {index} {exact(end[0])} {end[1]}" for index, end in bounds.items() if base.get(index) != end)
