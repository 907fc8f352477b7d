# SPDX-License-Identifier: Apache-2.0
"""Measurements of how the checker holds: the rows of docs/reliability.md, each with whether it is as it must be."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Row:
    """One line of the table; `sound` is False where what was measured breaks a rule."""

    what: str
    measured: str
    sound: bool = True


@dataclass(frozen=True)
class Effort:
    """How much is tried, and by how many processes."""

    mutants: int
    fuzz: int
    jobs: int


Part = Callable[[Effort], list[Row]]


def tell(text: str) -> None:
    """Print progress."""
    print(text, file=sys.stderr, flush=True)
