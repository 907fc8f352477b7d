# SPDX-License-Identifier: Apache-2.0
"""The formats that `certify convert` and `certify generate` write, one entry each; modules are imported when they are used."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from certify.fields import Field, Integer

Made = tuple[bytes, list[str]]


@dataclass(frozen=True)
class Format:
    """A format of subject files: its noun, and the functions that convert to it, generate it, and know a file of it, as `module:name`.

    `settings` are those of the generator, with their default texts (None: needed).
    """

    noun: str
    known: str
    converter: str = ""
    generator: str = ""
    settings: Mapping[str, tuple[Field, str | None]] | None = None

    def convert(self, inputs: Sequence[Path]) -> Made:
        """Return the bytes that the inputs convert to, and what was changed, a line each."""
        made: Made = _load(self.converter)(inputs)
        return made

    def generate(self, settings: Mapping[str, Any]) -> Made:
        """Return the bytes of an instance, and what it is, a line each."""
        made: Made = _load(self.generator)(**settings)
        return made

    def knows(self, data: bytes) -> bool:
        """Return whether bytes are of the format, so that another file of it may replace them."""
        return bool(_load(self.known)(data))


def _load(name: str) -> Callable[..., Any]:
    module, function = name.split(":")
    found: Callable[..., Any] = getattr(import_module(module), function)
    return found


FORMATS: Mapping[str, Format] = {
    "matpower": Format("a MATPOWER case", "certify_problems.grid.convert:is_case", "certify_problems.grid.convert:matpower",
                       "certify_problems.grid.random:matpower",
                       {"buses": (Integer(2, 10_000), None), "lines": (Integer(1, 30_000), None), "seed": (Integer(0, 2**53 - 1), "0")}),
    "schema": Format("a schema", "certify_problems.schema:is_schema", "certify_problems.schema:schema"),
    "onnx": Format("an ONNX model", "certify_problems.nn.convert:is_model", "certify_problems.nn.convert:onnx"),
}
