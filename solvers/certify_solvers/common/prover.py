# SPDX-License-Identifier: Apache-2.0
"""The prover protocol: a problem and an effort in, an outcome out.

A prover starts from the same subject models as the checker. A solver's answer counts only after its status was checked, and
what a prover returns counts only after the checker accepted it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import Any, Protocol

import numpy as np

from certify.certificate import Files, Role, Roles, Subject
from certify.fields import Record
from certify.limits import Limits

Progress = Callable[[str, Mapping[str, Any]], None]


@dataclass(frozen=True)
class Effort:
    """What a prover may spend: seconds (None: until done; of a data set, for each row), bytes, processes; `seed` fixes all random choices.

    `resume` is the folder in which finished jobs of a data set are kept.
    """

    seconds: float | None = None
    memory: int = 2 << 30
    workers: int = 1
    seed: int = 0
    resume: Path | None = None
    started: float = field(default_factory=monotonic)

    def left(self) -> float:
        """Return the seconds left, infinity without a limit."""
        return float("inf") if self.seconds is None else self.seconds - (monotonic() - self.started)


@dataclass(frozen=True)
class Problem:
    """One question: a kind of claim, its subjects and `given` (complete), and what `says` is wanted (may be empty)."""

    kind: str
    roles: Roles
    subjects: tuple[Subject, ...]
    files: Files
    given: Mapping[str, Any]
    wanted: Mapping[str, Any]
    options: Mapping[str, str]
    limits: Limits


@dataclass(frozen=True, eq=False)
class Draft:
    """A claim with evidence, not yet checked."""

    kind: str
    version: int
    given: Mapping[str, Any]
    says: Mapping[str, Any]
    assumptions: tuple[str, ...]
    evidence: str
    evidence_version: int
    items: Mapping[str, Any]
    arrays: Mapping[str, np.ndarray[Any, Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class Task:
    """A question that is answered by several certificates: it is asked like a kind of claim, and is none."""

    name: str
    roles: tuple[Role, ...]
    given: Record
    says: Record
    summary: str


@dataclass(frozen=True)
class Proved:
    """The claim holds, as the draft shows; `remarks` are for the user only.

    `beyond` is a refutation of the same claim with more asked (a larger radius), `further` are certificates of a task beside the first, each with
    a name; `found` are results beside the certificate, for programs (the worst attack). `left` says what stayed open, `interrupted` whether the
    user ended the search, `resumable` whether another run can go on from there.
    """

    draft: Draft
    remarks: tuple[str, ...] = ()
    beyond: Draft | None = None
    left: str = ""
    interrupted: bool = False
    resumable: bool = False
    further: tuple[tuple[str, Draft], ...] = ()
    found: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Refuted:
    """The claim is false, as the draft of the contradicting claim shows."""

    draft: Draft
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True)
class Unknown:
    """Neither was shown; `why` says how far the prover came."""

    why: str


Outcome = Proved | Refuted | Unknown


class Prover(Protocol):
    """An untrusted prover, registered through the entry-point group `certify.provers`."""

    name: str
    emits: tuple[str, ...]
    summary: str

    def defaults(self, kind: str) -> Mapping[str, str]:
        """Return the text of every `given` field that has a default; `auto` is filled in by `complete`."""

    def options(self, kind: str) -> Mapping[str, str]:
        """Return the prover options of a kind with their default texts."""

    def help(self, kind: str) -> Mapping[str, str]:
        """Return one line of meaning for every setting of a kind."""

    def searched(self, kind: str) -> Mapping[str, str]:
        """Return the fields of `given` that the prover can search for, with the word that asks for it, such as radius: max."""

    def complete(self, kind: str, given: Mapping[str, Any], files: Files, limits: Limits) -> Mapping[str, Any]:
        """Return `given` with its `auto` fields filled in."""

    def prove(self, problem: Problem, effort: Effort, progress: Progress) -> Outcome:
        """Return the outcome; raises only CertifyError or KeyboardInterrupt."""
