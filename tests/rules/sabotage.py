# SPDX-License-Identifier: Apache-2.0
"""Variants of a trusted module with one term of its proofs removed, to show that the term decides somewhere."""

from __future__ import annotations

import sys
from itertools import count
from pathlib import Path
from types import ModuleType

_NUMBER = count()


def variant(module: ModuleType, *changes: tuple[str, str]) -> ModuleType:
    """Return a copy of a module in which each text, which occurs exactly once in its source, is replaced by another."""
    path = Path(str(module.__file__))
    source = path.read_text("utf-8")
    for old, new in changes:
        assert source.count(old) == 1, f"{old!r} occurs {source.count(old)} times in {path.name}: this list must follow the source"
        source = source.replace(old, new)
    made = ModuleType(f"{module.__name__}_variant_{next(_NUMBER)}")
    made.__file__ = str(path)
    sys.modules[made.__name__] = made  # dataclasses look their module up
    exec(compile(source, f"variant of {path.name}", "exec"), made.__dict__)  # noqa: S102
    return made
