# SPDX-License-Identifier: Apache-2.0
"""Whether the file that a certificate would be written to by default answers the same question: if not, it stays."""

from __future__ import annotations

from collections.abc import Mapping, Set
from pathlib import Path
from typing import Any

from certify import registry
from certify.cli.question import Question
from certify.errors import CertifyError, UsageError
from certify.limits import Limits
from certify.verification import load


def require_same_question(path: Path, kind: Question, given: Mapping[str, Any], searched: Set[str], subjects: Mapping[str, str]) -> None:
    """Raise UsageError `output-taken` where `path` holds a certificate of another kind, about other files or with other settings.

    `searched` are the fields that the prover may choose, `subjects` the sha256 of each file by its name. What can't be read as a certificate of
    this version does not count.
    """
    if not path.exists():
        return
    try:
        claim = (found := load(path, Limits())).claim
    except CertifyError:
        return
    task = kind.name not in registry.KINDS  # its answer is a certificate of a kind, with more settings than were asked
    same = ((task or claim.kind == kind.name) and {subject.name: subject.sha256 for subject in found.subjects} == subjects
            and all(claim.given[name] == value for name, value in given.items() if name not in searched and (not task or name in claim.given)))
    if not same:
        raise UsageError("output-taken", f"{path} exists and answers another question: it would be lost", fix="give this answer a name with -o")
