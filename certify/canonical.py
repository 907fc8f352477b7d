# SPDX-License-Identifier: Apache-2.0
"""Canonical JSON: RFC 8785 restricted to null, booleans, integers |n| < 2^53, strings, arrays and objects with ASCII keys.

Guarantee: `parse` accepts exactly the bytes that `encode` writes. It parses, re-encodes and compares, so a duplicate key,
a float, an escape that is not the shortest, white space, an unsorted object or a second form of anything is `malformed`.
"""

from __future__ import annotations

import json
import re
from typing import Any, NoReturn

from certify.errors import malformed
from certify.limits import Limits

Json = Any
"""None, bool, int, str, list or dict of these; narrowed by the typed fields that decode it."""

_SAFE_INTEGER = 1 << 53
_STRUCTURE = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[\[{]|[\]}]', re.DOTALL)  # possessive: linear time on unclosed strings


def encode(value: Json) -> bytes:
    """Return the only canonical bytes of `value`; raises ValueError where the restricted JSON has no form for it."""
    _require(value)
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False).encode("utf-8")


def parse(data: bytes, limits: Limits, where: str) -> Json:
    """Return the value of canonical `data`; raises Rejected `malformed`, or Declined `limit-reached` for size and depth."""
    limits.within(len(data), "json_bytes", where)
    limits.within(_depth(data), "depth", f"nesting of {where}")
    try:
        value = json.loads(data.decode("utf-8"), object_pairs_hook=_object, parse_float=_refuse, parse_constant=_refuse)
        again = encode(value)
    except (ValueError, RecursionError) as trouble:
        raise malformed(f"not canonical JSON: {trouble}", where) from None
    if again != data:
        raise malformed("not canonical JSON: it reads back as other bytes", where)
    return value


def _depth(data: bytes) -> int:
    """Return the deepest nesting, found without recursion so that a hostile file can't exhaust the parser's stack."""
    depth = deepest = 0
    for token in _STRUCTURE.finditer(data):
        mark = data[token.start()]
        if mark in b"[{":
            depth += 1
            deepest = max(deepest, depth)
        elif mark in b"]}":
            depth -= 1
    return deepest


def _require(value: Json) -> None:
    if value is None or isinstance(value, (bool, str)):
        return
    if isinstance(value, int):
        if abs(value) >= _SAFE_INTEGER:
            raise ValueError("an integer of 2^53 or more")
    elif isinstance(value, list):
        for item in value:
            _require(item)
    elif isinstance(value, dict):
        for key, item in value.items():
            if not isinstance(key, str) or not key.isascii():
                raise ValueError("an object key that is not ASCII")
            _require(item)
    else:
        raise ValueError(f"a {type(value).__name__}")


def _object(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("a key occurs twice")
    return made


def _refuse(text: str) -> NoReturn:
    raise ValueError(f"the number {text[:20]!r}: numbers are integers, rationals are strings")
