# SPDX-License-Identifier: Apache-2.0
"""The inputs near a row of a points file, as a part whose points are unsafe where the network does not answer a label alone.

x0 = scale * row; B = the x with ||x - x0|| <= radius (times `scale` if `radius_unit` is raw) in the norm, and clip_lo <= x_i <= clip_hi;
the network gets v = (x - subtract) / divide. Guarantee: v lies in `part(row, label)` if and only if x lies in B, and its conjuncts
are f_label <= f_j, one for each other j. B holds x0 (else `outside-domain`), so it is never empty.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from certify.errors import Declined, Rejected
from certify.fields import Choice, Field, ListOf, Nullable, OneOrMany, Rational
from certify.limits import Limits
from certify.readers.arrays import read_npy, read_row
from certify.readers.formula import Part, Row
from certify.readers.network import Network

if TYPE_CHECKING:
    from certify.readers.table import Table

FIELDS: Mapping[str, Field] = {
    "norm": Choice(("linf", "l2", "l1")), "radius": Rational(), "radius_unit": Choice(("raw", "scaled")),
    "clip": Nullable(ListOf(Rational(), 2, 2)), "scale": Rational(positive=True), "subtract": OneOrMany(Rational()),
    "divide": OneOrMany(Rational(positive=True)), "semantics": Choice(("real", "exec32")),
}
_NPY = b"\x93NUMPY"


class Neighbourhoods:
    """The balls of one claim: `given` holds `FIELDS`; raises Rejected or Declined where files or fields don't fit the network."""

    def __init__(self, given: Mapping[str, Any], points: bytes, labels: bytes | None, network: Network, limits: Limits) -> None:
        self.given, self.network, self.limits = given, network, limits
        radius, clip = given["radius"], given["clip"]
        if radius <= 0:
            raise Rejected("radius-sign", f"the radius {radius} is not above 0", where="claim.given.radius", fix="give a radius above 0")
        if network.outputs < 2:
            raise Rejected("label-range", "the network has one output: no class can win", where="model", fix="a classifier has at least two outputs")
        if clip is not None and clip[0] > clip[1]:
            raise Rejected("outside-domain", f"no value lies in the clip range [{clip[0]}, {clip[1]}]: its ends are swapped",
                           where="claim.given.clip", fix="give the lower end first")
        self._array = read_npy(points) if points.startswith(_NPY) else None
        self._table = None if self._array is not None else _read_table(points, limits)
        if self._table is not None:
            self.rows, size = len(self._table.rows), len(self._table.columns)
        else:
            self.rows, size = (self._array.shape[0], self._array[:1].size) if self._array is not None and self._array.ndim else (0, 0)
        if self.rows and size != network.inputs:
            raise Rejected("claim-mismatch", f"a row of the points file has {size} values, the network {network.inputs} inputs", where="points",
                           fix="give one row a point and one value an input, no ids or labels: .npy of shape (points, ...), or CSV with a header")
        self._labels = None if labels is None else _labels(labels, limits)
        self.subtract, self.divide = (_per_input(given[name], network, name) for name in ("subtract", "divide"))
        self.reach = radius * (given["scale"] if given["radius_unit"] == "raw" else 1)
        numbers = [given["scale"], radius, *(clip or ()), *self.subtract, *self.divide]
        self._words = max(v.numerator.bit_length() + v.denominator.bit_length() for v in numbers) // 16

    def centre(self, row: int) -> tuple[Fraction, ...]:
        """Return x0; raises Rejected `claim-mismatch` beyond the file, `outside-domain` outside the clip range."""
        if row >= self.rows:
            raise Rejected("claim-mismatch", f"row {row} of a points file with {self.rows} rows", where="claim.given.row",
                           fix="rows are numbered from 0")
        self.limits.spend(self.network.inputs * (2000 + 20 * self._words * self._words), "making the ball")
        values = self._table.rows[row] if self._table is not None else read_row(self._array, row) if self._array is not None else ()
        x0 = tuple(self.given["scale"] * v for v in values)
        clip = self.given["clip"]
        if clip is not None and not all(clip[0] <= v <= clip[1] for v in x0):
            raise Rejected("outside-domain", f"row {row}, scaled, has values outside [{clip[0]}, {clip[1]}]", where="claim.given.clip",
                           fix="scale the points into the clip range (--set scale=...)")
        return x0

    @property
    def labelled(self) -> int:
        """The number of labels in the labels file."""
        return len(self._labels or ())

    def label(self, row: int) -> int | None:
        """Return the label of a row in the labels file, or None without one; raises Rejected `claim-mismatch` where it has none."""
        if self._labels is None:
            return None
        if row >= len(self._labels) or self._labels[row].denominator != 1:
            raise Rejected("claim-mismatch", f"the labels file holds no integer label for row {row}", where="labels",
                           fix="give one column of integers, a row for each point")
        return int(self._labels[row])

    def part(self, row: int, label: int | None) -> Part:
        """Return the inputs near a row, unsafe where another class is at least as high as `label`; raises Rejected."""
        if label is None or not 0 <= label < self.network.outputs:
            raise Rejected("label-range", f"label {label} of a network with {self.network.outputs} outputs", where="claim.given.label",
                           fix="labels are numbered from 0")
        if (stored := self.label(row)) not in (None, label):
            raise Rejected("claim-mismatch", f"the label is {label}, the labels file says {stored}", where="claim.given.label",
                           fix="give the label of the file, or no labels file")
        self.limits.spend(15_000 * self.network.outputs, "the other classes")
        x0, clip = self.centre(row), self.given["clip"]
        lower, upper = [v - self.reach for v in x0], [v + self.reach for v in x0]
        if clip is not None:
            lower, upper = [max(v, clip[0]) for v in lower], [min(v, clip[1]) for v in upper]
        one = Fraction(1)
        conjuncts = tuple((Row({}, {label: one, other: -one}, Fraction(0)),) for other in range(self.network.outputs) if other != label)
        ball = None
        if self.given["norm"] != "linf":
            from certify.readers.ball import Ball
            ball = Ball(self.given["norm"], self.network_input(x0), self.divide, self.reach)
        return Part(self.network_input(lower), self.network_input(upper), conjuncts, ball=ball)

    def network_input(self, point: tuple[Fraction, ...] | list[Fraction]) -> tuple[Fraction, ...]:
        """Return what the network gets at x."""
        return tuple((v - s) / d for v, s, d in zip(point, self.subtract, self.divide, strict=True))


def words(given: Mapping[str, Any], points: str) -> str:
    """Return the ball around a point in words, and everything between the points file and the network; `points` names the centre."""
    unit = "in the units of the points file" if given["radius_unit"] == "raw" else "in scaled units"
    steps = [f"times {_number(given['scale'])}"] if given["scale"] != 1 else []
    steps += [f"clipped to [{_number(given['clip'][0])}, {_number(given['clip'][1])}]"] if given["clip"] is not None else []
    steps += [f"minus {_shown(given['subtract'])}"] if given["subtract"] != 0 else []
    steps += [f"divided by {_shown(given['divide'])}"] if given["divide"] != 1 else []
    ball = f"within {_number(given['radius'])} ({given['norm']}, {unit}) of {points}"
    return ball + (f"; the network gets it {', '.join(steps)}" if steps else "")


def _read_table(data: bytes, limits: Limits) -> Table:
    from certify.readers.table import read_table
    return read_table(data, limits)


def _labels(data: bytes, limits: Limits) -> list[Fraction]:
    """Return the labels in a file, a .npy of integers or one CSV column; raises Rejected `claim-mismatch` for another form."""
    try:
        array, table = (read_npy(data), None) if data.startswith(_NPY) else (None, _read_table(data, limits))
    except Declined as trouble:
        trouble.where = f"labels {trouble.where}".rstrip()
        raise
    if table is not None and len(table.columns) == 1:
        return [row[0] for row in table.rows]
    if array is not None and array.ndim == 1 and (array.dtype.kind in "iu" or not array.size):
        return [Fraction(v) for v in array.tolist()]
    form = f"{len(table.columns)} columns" if table is not None else f"shape {list(array.shape)} and type {array.dtype}" if array is not None else ""
    raise Rejected("claim-mismatch", f"the labels file has {form}", where="labels",
                   fix="give one column of integers, a row for each point (numpy: labels.astype('int64'))")


def _per_input(value: Any, network: Network, name: str) -> tuple[Fraction, ...]:
    if not isinstance(value, tuple):
        return (value,) * network.inputs
    channels, repeat = network.channels
    if len(value) != channels:
        raise Rejected("claim-mismatch", f"{len(value)} values for {channels} channels", where=f"claim.given.{name}",
                       fix="give one value, or one for each channel")
    return tuple(v for v in value for _ in range(repeat))


def _shown(value: Any) -> str:
    return f"[{', '.join(map(_number, value))}]" if isinstance(value, tuple) else _number(value)


def _number(value: Fraction) -> str:
    """Return a rational as people write it: exactly, as a short decimal where there is one and the quotient is long, such as 0.07632."""
    digits = next((k for k in range(1, 7) if (value * 10**k).denominator == 1), 0)
    if value.denominator <= 100 or not digits:
        return str(value)
    whole, part = divmod(abs(int(value * 10**digits)), 10**digits)
    return f"{'-' if value < 0 else ''}{whole}.{part:0{digits}d}"
