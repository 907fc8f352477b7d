# SPDX-License-Identifier: Apache-2.0
"""Schemas of tabular inputs: features with their ranges, which are sensitive, tolerances, and the rule of the decision.

Canonical JSON with the keys `decision` ("argmax", or {"favourable_above": rational} for a network with one output), `features`, `sensitive` (names,
in the order of features) and `tolerances` (by name). A feature has a `name` and a `kind`: `real` or `integer` with `lower` < `upper`, `choice` with
ascending `values` (two or more), or `one-hot` with the names of its `columns` (two or more), of which one is 1 and the others are 0.
Guarantee: columns and names occur once; a tolerance is 0 or more, and belongs to a real or integer feature that is not sensitive.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

from certify import canonical
from certify.canonical import Json
from certify.errors import Declined, Rejected, malformed
from certify.fields import Choice, Field, ListOf, MapOf, Rational, Record, Text
from certify.limits import Limits

_BYTE = 1000  # operations for a byte
_NAME = Text(r"[A-Za-z0-9_.-]+", 64)
_RANGE: Mapping[str, Field] = {"name": _NAME, "lower": Rational(), "upper": Rational()}
_KINDS = {
    "real": Record({"kind": Choice(("real",)), **_RANGE}), "integer": Record({"kind": Choice(("integer",)), **_RANGE}),
    "choice": Record({"kind": Choice(("choice",)), "name": _NAME, "values": ListOf(Rational(), 2, 1 << 12)}),
    "one-hot": Record({"kind": Choice(("one-hot",)), "name": _NAME, "columns": ListOf(_NAME, 2, 1 << 12)}),
}
_ABOVE = Record({"favourable_above": Rational()})


@dataclass(frozen=True)
class Feature:
    """One feature: its columns, and its values: both ends of a range, all of a choice, none of a one-hot group.

    `kind` is real, integer, choice or one-hot; `tolerance` is 0 but for real and integer features.
    """

    name: str
    kind: str
    columns: tuple[str, ...]
    values: tuple[Fraction, ...]
    sensitive: bool
    tolerance: Fraction

    @property
    def ranged(self) -> bool:
        """Whether values between both points are admissible."""
        return self.kind in ("real", "integer")

    @property
    def count(self) -> int:
        """The number of its admissible points, where a range counts as one."""
        return {"choice": len(self.values), "one-hot": len(self.columns)}.get(self.kind, 1)

    @property
    def points(self) -> tuple[tuple[Fraction, ...], ...]:
        """The admissible points of a choice or of a one-hot group, each one value a column."""
        if self.kind == "choice":
            return tuple((value,) for value in self.values)
        zero, one = (Fraction(0),), (Fraction(1),)
        return tuple(zero * column + one + zero * (len(self.columns) - column - 1) for column in range(len(self.columns)))

    def admits(self, values: tuple[Fraction, ...]) -> bool:
        """Return whether values of the columns are admissible."""
        if self.kind == "one-hot":
            return values.count(Fraction(1)) == 1 and values.count(Fraction(0)) == len(values) - 1
        if self.kind == "choice":
            return values[0] in self.values
        return self.values[0] <= values[0] <= self.values[1] and (self.kind == "real" or values[0].denominator == 1)


@dataclass(frozen=True)
class Schema:
    """Features in the order of their columns; a decision is favourable above a value of the only output, or (None) the highest output."""

    features: tuple[Feature, ...]
    favourable_above: Fraction | None

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of all columns, in order."""
        return tuple(column for feature in self.features for column in feature.columns)


class _Feature:
    """The JSON of a feature, by its kind."""

    def decode(self, value: Json, where: str) -> Mapping[str, Any]:
        kind = value.get("kind") if isinstance(value, dict) else None
        if not isinstance(kind, str) or kind not in _KINDS:
            raise malformed(f"expected a feature with a kind of {', '.join(_KINDS)}", where)
        return _KINDS[kind].decode(value, where)

    def encode(self, value: Mapping[str, Any]) -> Json:
        return _KINDS[value["kind"]].encode(value)


class _Decision:
    """The JSON of the rule of a decision."""

    def decode(self, value: Json, where: str) -> Fraction | None:
        found: Fraction | None = None if value == "argmax" else _ABOVE.decode(value, where)["favourable_above"]
        return found

    def encode(self, value: Fraction | None) -> Json:
        return "argmax" if value is None else _ABOVE.encode({"favourable_above": value})


_SCHEMA = Record({"decision": _Decision(), "features": ListOf(_Feature(), 1, 1 << 16), "sensitive": ListOf(_NAME, most=1 << 16),
                  "tolerances": MapOf(r"[A-Za-z0-9_.-]{1,64}", Rational(), 1 << 16)})


def read_schema(data: bytes, limits: Limits) -> Schema:
    """Return the schema in the bytes of a file; raises Declined `schema-malformed`, `schema-range` or `limit-reached`."""
    limits.spend(_BYTE * len(data), "reading the schema")
    try:
        found = _SCHEMA.decode(canonical.parse(data, limits, "schema"), "schema")
    except Rejected as trouble:
        raise Declined("schema-malformed", trouble.what, where=trouble.where,
                       fix="docs/format.md describes schemas; they are canonical JSON: sorted keys, no spaces, rationals as strings") from None
    sensitive, tolerances, chosen = found["sensitive"], found["tolerances"], frozenset(found["sensitive"])
    features = tuple(_feature(entry, entry["name"] in chosen, tolerances.get(entry["name"], Fraction(0))) for entry in found["features"])
    made = Schema(features, found["decision"])
    names = [feature.name for feature in features]
    if len(set(names)) != len(names) or len(set(made.columns)) != len(made.columns):
        raise _range("two features or columns have one name", "name each once")
    if list(sensitive) != [name for name in names if name in chosen]:
        raise _range("`sensitive` does not name features, each once and in their order", "list names of features")
    for name in sorted(set(tolerances) - set(names)):
        raise _range(f"there is no feature {name!r} for a tolerance", "give tolerances by the names of features")
    return made


def _feature(entry: Mapping[str, Any], sensitive: bool, tolerance: Fraction) -> Feature:
    name, kind, values = entry["name"], entry["kind"], tuple[Fraction, ...]()
    if kind in ("real", "integer"):
        if not entry["lower"] < entry["upper"]:
            raise _range(f"the range of {name} is empty, or one value", "give a lower end below the upper one")
        if kind == "integer" and (entry["lower"].denominator != 1 or entry["upper"].denominator != 1):
            raise _range(f"an end of the integer feature {name} is no integer", "give integers")
        values = entry["lower"], entry["upper"]
    elif kind == "choice":
        if any(first >= second for first, second in pairwise(entry["values"])):
            raise _range(f"the values of {name} do not ascend", "list each value once, the smallest first")
        values = entry["values"]
    if tolerance < 0 or (tolerance and (sensitive or kind not in ("real", "integer"))):
        raise _range(f"{name} has a tolerance that it can't have", "tolerances are 0 or more, of real and integer features that are not sensitive")
    return Feature(name, kind, entry.get("columns", (name,)), values, sensitive, tolerance)


def _range(what: str, fix: str) -> Declined:
    return Declined("schema-range", what, where="schema", fix=fix)
