# SPDX-License-Identifier: Apache-2.0
"""Schemas of tabular inputs from JSON as people write it: the same fields in any layout, numbers as numbers or as strings."""

from __future__ import annotations

import json
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from certify import canonical
from certify.container import load_bytes
from certify.errors import CertifyError, UsageError
from certify.limits import Limits
from certify.readers.schema import read_schema

_NUMBERS = ("lower", "upper", "values", "favourable_above")


def is_schema(data: bytes) -> bool:
    """Return whether bytes are a schema."""
    try:
        read_schema(data, Limits())
    except CertifyError:
        return False
    return True


def schema(inputs: Sequence[Path]) -> tuple[bytes, list[str]]:
    """Return the canonical schema of one JSON file, and what it says; raises UsageError, or as its reader does."""
    if len(inputs) != 1:
        raise UsageError("setting-form", "a schema is made of one JSON file", fix="certify convert schema draft.json -o final.schema")
    try:
        found = json.loads(load_bytes(inputs[0], Limits()).decode("utf-8"), parse_float=str)
        made = canonical.encode(_exact(found))
    except (ValueError, RecursionError) as trouble:
        raise UsageError("setting-value", f"{inputs[0].name}: {trouble}", fix="give JSON with decision, features, sensitive and tolerances") from None
    read = read_schema(made, Limits())
    return made, [f"{len(read.columns)} columns of {len(read.features)} features"]


def _exact(value: Any, rational: bool = False) -> Any:
    """Return JSON with every number that is a rational as the string of it in lowest terms."""
    if isinstance(value, dict):
        return {key: _exact(item, key in _NUMBERS or rational) if key != "tolerances" else {name: _exact(entry, True) for name, entry in item.items()}
                for key, item in value.items()}
    if isinstance(value, list):
        return [_exact(item, rational) for item in value]
    if rational and isinstance(value, (int, str)) and not isinstance(value, bool):
        return str(Fraction(value))
    return value
