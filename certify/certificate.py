# SPDX-License-Identifier: Apache-2.0
"""The certificate as values: a claim about subjects, assumptions, evidence; and what a kind of claim declares.

Guarantee: all are frozen; a `Certificate` holds the typed, decoded form of one file, and equal files give equal ids.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from certify.fields import Record
from certify.limits import Limits

if TYPE_CHECKING:
    import numpy as np

TYPE = "https://in-toto.io/Statement/v1"
PREDICATE_TYPE = "https://certify.invalid/certificate/v1"
MIMETYPE = "application/vnd.certify.certificate+zip"

Roles = Mapping[str, "str | tuple[str, ...]"]


@dataclass(frozen=True)
class Subject:
    """A file that the claim is about: its name in the sentence, and the sha256 of its (unpacked) bytes."""

    name: str
    sha256: str


@dataclass(frozen=True)
class Claim:
    """What is claimed: `given` fixes the question, `says` is what is asserted (rationals are Fractions)."""

    kind: str
    version: int
    roles: Roles
    given: Mapping[str, Any]
    says: Mapping[str, Any]
    wording: Callable[[Claim], str] = field(compare=False, repr=False)

    def sentence(self) -> str:
        """Return the claim in words, as the verdict prints it."""
        return self.wording(self)


@dataclass(frozen=True)
class Evidence:
    """Evidence for one claim: `kind` names the rule that reads the items and arrays."""

    kind: str
    version: int
    items: Mapping[str, Any]
    arrays: Mapping[str, np.ndarray[Any, Any]]


@dataclass(frozen=True)
class Certificate:
    """One certificate, decoded; `id` is the sha256 of its `certificate.json`, `signatures` the key ids that it names, not checked."""

    id: str
    subjects: tuple[Subject, ...]
    claim: Claim
    assumptions: tuple[str, ...]
    evidence: Evidence
    producer: Mapping[str, Any]
    signatures: tuple[str, ...] = ()


@dataclass(frozen=True)
class Checked:
    """What a kind's check returns on success: the assumptions its sentence rests on, facts in words, and figures."""

    assumptions: frozenset[str]
    facts: tuple[str, ...] = ()
    figures: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Role:
    """A place for a subject file in a claim; `many` roles take a list, `optional` ones may be absent."""

    name: str
    optional: bool = False
    many: bool = False


@dataclass(frozen=True)
class ArraySpec:
    """The dtype and the number of dimensions of an evidence array; lengths depend on the subject and are the rule's to check."""

    dtype: str
    ndim: int


@dataclass(frozen=True)
class EvidenceSpec:
    """Evidence that a kind accepts: typed items, arrays (those not in `required` may be absent), and names kept for later versions."""

    kind: str
    version: int
    items: Record
    arrays: Mapping[str, ArraySpec] = field(default_factory=dict)
    required: frozenset[str] = frozenset()
    reserved: frozenset[str] = frozenset()


Files = Mapping[str, "bytes | tuple[bytes, ...]"]
Check = Callable[[Claim, Evidence, Files, Limits], Checked]


@dataclass(frozen=True)
class Kind:
    """A kind of claim: its roles in declared order, its fields, the evidence it accepts, its check and its sentence."""

    name: str
    version: int
    roles: tuple[Role, ...]
    given: Record
    says: Record
    evidence: tuple[EvidenceSpec, ...]
    check: Check
    sentence: Callable[[Claim], str]
    summary: str
