# SPDX-License-Identifier: Apache-2.0
"""Typed fields: one codec, shared by all claim kinds, between canonical JSON and the values that a check works with.

Guarantee: `decode` accepts exactly the JSON that `encode` writes for some value of the type, so a field has no second form
(a rational is in lowest terms, an object has exactly its fields); everything else is `malformed` with the field's path.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import gcd
from types import MappingProxyType
from typing import Any, Protocol

from certify.canonical import Json
from certify.errors import malformed

_RATIONAL = re.compile(r"(-?)(0|[1-9][0-9]*)(?:/([1-9][0-9]*))?")
_DIGITS = 1000


class Field(Protocol):
    """A type of JSON value: `decode` to the value a check works with, `encode` back."""

    def decode(self, value: Json, where: str) -> Any:
        """Return the typed value; raises Rejected `malformed` naming `where`."""

    def encode(self, value: Any) -> Json:
        """Return the JSON of a typed value."""


class _Same:
    """A type whose values are their own JSON."""

    def encode(self, value: Any) -> Json:
        return value


@dataclass(frozen=True)
class Boolean(_Same):
    """true or false."""

    def decode(self, value: Json, where: str) -> bool:
        if not isinstance(value, bool):
            raise malformed("expected true or false", where)
        return value


@dataclass(frozen=True)
class Integer(_Same):
    """An integer from `low` to `high`, both included."""

    low: int = 0
    high: int = (1 << 53) - 1

    def decode(self, value: Json, where: str) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not self.low <= value <= self.high:
            raise malformed(f"expected an integer from {self.low} to {self.high}", where)
        return value


@dataclass(frozen=True)
class Text(_Same):
    """A string of at most `most` printable characters matching `pattern` in full."""

    pattern: str = r".*"
    most: int = 255

    def decode(self, value: Json, where: str) -> str:
        if not isinstance(value, str) or len(value) > self.most or not value.isprintable() or not re.fullmatch(self.pattern, value):
            raise malformed("expected a string of another form", where)
        return value


@dataclass(frozen=True)
class Choice(_Same):
    """One of a few words."""

    words: tuple[str, ...]

    def decode(self, value: Json, where: str) -> str:
        if not isinstance(value, str) or value not in self.words:
            raise malformed(f"expected one of {', '.join(self.words)}", where)
        return value


@dataclass(frozen=True)
class Rational:
    """An exact rational, written as a string in lowest terms: "-3", "1287/5"; above 0 if `positive`."""

    positive: bool = False

    def decode(self, value: Json, where: str) -> Fraction:
        if not isinstance(value, str) or len(value) > 2 * _DIGITS + 2:
            raise malformed('expected a rational string such as "1287/5"', where)
        match = _RATIONAL.fullmatch(value)
        if not match or not value.isascii():
            raise malformed('expected a rational string such as "1287/5"', where)
        sign, above, below = match.groups()
        if len(above) > _DIGITS or len(below or "") > _DIGITS:
            raise malformed(f"a rational of more than {_DIGITS} digits", where)
        numerator, denominator = int(above), int(below or "1")
        if (sign and numerator == 0) or below == "1" or gcd(numerator, denominator) != 1:
            raise malformed(f"the rational {value[:40]!r} is not in lowest terms", where)
        if self.positive and (sign or numerator == 0):
            raise malformed("expected a rational above 0", where)
        return Fraction(-numerator if sign else numerator, denominator)

    def encode(self, value: Fraction) -> Json:
        text = str(Fraction(value))
        if any(len(part.lstrip("-")) > _DIGITS for part in text.split("/")):
            raise ValueError(f"a rational of more than {_DIGITS} digits")
        return text


@dataclass(frozen=True)
class ListOf:
    """A list of `least` to `most` values of one type, decoded to a tuple."""

    item: Field
    least: int = 0
    most: int = 1 << 20

    def decode(self, value: Json, where: str) -> tuple[Any, ...]:
        if not isinstance(value, list) or not self.least <= len(value) <= self.most:
            raise malformed("expected a list of another length", where)
        return tuple(self.item.decode(item, f"{where}[{i}]") for i, item in enumerate(value))

    def encode(self, value: tuple[Any, ...]) -> Json:
        return [self.item.encode(item) for item in value]


@dataclass(frozen=True)
class Nullable:
    """A value or null (None)."""

    item: Field

    def decode(self, value: Json, where: str) -> Any:
        return None if value is None else self.item.decode(value, where)

    def encode(self, value: Any) -> Json:
        return None if value is None else self.item.encode(value)


@dataclass(frozen=True)
class OneOrMany:
    """One value, or a list of them (decoded to a tuple)."""

    item: Field

    def decode(self, value: Json, where: str) -> Any:
        return ListOf(self.item, least=1).decode(value, where) if isinstance(value, list) else self.item.decode(value, where)

    def encode(self, value: Any) -> Json:
        return ListOf(self.item).encode(value) if isinstance(value, tuple) else self.item.encode(value)


@dataclass(frozen=True)
class MapOf:
    """An object with at most `most` keys that match `key`, all values of one type."""

    key: str
    item: Field
    most: int = 64

    def decode(self, value: Json, where: str) -> Mapping[str, Any]:
        if not isinstance(value, dict) or len(value) > self.most:
            raise malformed("expected an object with few keys", where)
        for key in value:
            if not re.fullmatch(self.key, key):
                raise malformed(f"the key {key[:40]!r} is not of the expected form", where)
        return MappingProxyType({key: self.item.decode(item, f"{where}.{key}") for key, item in value.items()})

    def encode(self, value: Mapping[str, Any]) -> Json:
        return {key: self.item.encode(item) for key, item in value.items()}


@dataclass(frozen=True)
class Record:
    """An object with exactly the given fields, but for those in `optional`, which may be absent."""

    fields: Mapping[str, Field]
    optional: frozenset[str] = frozenset()

    def decode(self, value: Json, where: str) -> Mapping[str, Any]:
        if not isinstance(value, dict):
            raise malformed("expected an object", where)
        for key in value:
            if key not in self.fields:
                raise malformed(f"unknown field {key[:40]!r}", where)
        for key in self.fields:
            if key not in value and key not in self.optional:
                raise malformed(f"the field {key!r} is missing", where)
        return MappingProxyType({key: self.fields[key].decode(item, f"{where}.{key}") for key, item in value.items()})

    def encode(self, value: Mapping[str, Any]) -> Json:
        return {key: self.fields[key].encode(item) for key, item in value.items()}


@dataclass(frozen=True)
class Raw(_Same):
    """A JSON object that a later step decodes with the fields of its kind."""

    def decode(self, value: Json, where: str) -> Json:
        if not isinstance(value, dict):
            raise malformed("expected an object", where)
        return value
