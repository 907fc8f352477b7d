# SPDX-License-Identifier: Apache-2.0
"""The committed vectors, read back: bytes, subjects and limits, and what each must give."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Stored:
    """One vector: `wanted` is its verdict and code ("" where it is verified)."""

    kind: str
    name: str
    wanted: tuple[str, str]
    data: bytes
    subjects: Mapping[str, list[tuple[str, bytes]]]
    allow: frozenset[str] | None
    limits: Mapping[str, int]

    @property
    def id(self) -> str:
        """The kind, the verdict and the name."""
        return f"{self.kind}/{self.wanted[0]}/{self.name}"

    def found(self) -> tuple[str, str]:
        """Return the verdict and the code that the checker gives, without its code if it doesn't say in one line what to do.

        Whatever is no error of ours leaves.
        """
        from certify.errors import CertifyError  # imported here: a mutant may have been put in its place
        from certify.limits import Limits
        from certify.verification import check
        try:
            check(self.data, self.name, self.subjects, self.allow, Limits(**self.limits).fresh())
        except CertifyError as trouble:
            return trouble.verdict, trouble.code if trouble.fix and "\n" not in str(trouble) + trouble.fix else ""
        return "verified", ""


def kinds() -> list[str]:
    """Return the kinds that have a corpus."""
    return sorted(path.parent.name for path in HERE.glob("*/index.json"))


def stored(kind: str) -> list[Stored]:
    """Return the vectors of a kind in the order of its index."""
    folder, found = HERE / kind, []
    for entry in json.loads((folder / "index.json").read_text("utf-8")):
        subjects: dict[str, list[tuple[str, bytes]]] = {}
        for subject in entry["subjects"]:
            subjects.setdefault(subject["role"], []).append((subject["file"].split("-", 1)[1], (folder / subject["file"]).read_bytes()))
        found.append(Stored(kind, entry["name"], (entry["verdict"], entry["code"]),
                            (folder / entry["verdict"] / f"{entry['name']}.cert").read_bytes(), subjects,
                            None if entry["allow"] is None else frozenset(entry["allow"]), entry["limits"]))
    return found
