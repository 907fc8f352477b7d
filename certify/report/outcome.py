# SPDX-License-Identifier: Apache-2.0
"""What a report is about: the verdict of the trusted checker, and whatever else of the certificate could be read.

The verdict is `certify.verification.check`'s and nobody else's. Everything beside it is read again from the same bytes, for showing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass

from certify import container, registry
from certify._version import VERSION
from certify.certificate import Certificate, Claim, Files
from certify.errors import CertifyError, Declined, Rejected
from certify.limits import Limits
from certify.verification import Verification, check, decode

Given = Mapping[str, Sequence[tuple[str, bytes]]]


@dataclass(frozen=True)
class Outcome:
    """A verdict with what there is to show: exactly one of `verification` and `trouble` is there.

    `certificate` is absent where the file can't be decoded, `files` (the bytes of each role) where a subject is missing. `digest` is the sha256
    of the certificate file, `limits` bound what is computed for the page. `allow`, the number of `keys` and `threshold` are what was demanded.
    `name` is that of the file; `beside` are other certificates whose bounds stand in one table with this one's.
    """

    verification: Verification | None
    trouble: Rejected | Declined | None
    certificate: Certificate | None
    files: Files | None
    digest: str
    limits: Limits
    allow: Set[str] | None = None
    keys: int = 0
    threshold: int | None = None
    name: str = ""
    beside: tuple[Outcome, ...] = ()
    checker: str = f"certify {VERSION}"

    @property
    def word(self) -> str:
        """The verdict in one word."""
        return "verified" if self.trouble is None else self.trouble.verdict

    @property
    def verified(self) -> bool:
        """Whether the checker verified the certificate."""
        return self.verification is not None and self.trouble is None

    @property
    def needed(self) -> int:
        """How many of the given keys must have signed."""
        return self.keys if self.threshold is None else self.threshold

    @property
    def claim(self) -> Claim | None:
        """The claim, established or not."""
        return self.certificate.claim if self.certificate is not None else None

    @property
    def refutes(self) -> bool:
        """Whether the claim is that something does not hold."""
        return self.claim is not None and self.claim.says.get("holds") is False


def examine(data: bytes, name: str, given: Given, allow: Set[str] | None, limits: Limits, keys: Sequence[bytes] = (),
            threshold: int | None = None) -> Outcome:
    """Check the bytes of a certificate and return the outcome; arguments are those of `certify.verification.check`.

    Raises UsageError where the request makes no sense: there is no verdict to report then.
    """
    verification, trouble = None, None
    try:
        verification = check(data, name, given, allow, limits.fresh(), keys or None, threshold)
    except (Rejected, Declined) as found:
        trouble = found
    certificate, files = None, None
    try:
        statement = container.read(data, limits.fresh(), name)
        certificate = decode(statement)
        files = _files(certificate, given, statement.inputs)
    except CertifyError:  # the verdict says what is wrong with it
        pass
    return Outcome(verification, trouble, certificate, files, hashlib.sha256(data).hexdigest(), limits, allow, len(keys), threshold, name)


def _files(certificate: Certificate, given: Given, inputs: Mapping[str, bytes]) -> Files | None:
    """Return the bytes for every role by digest, or None where one is missing."""
    known = {**inputs, **{hashlib.sha256(data).hexdigest(): data for pairs in given.values() for _, data in pairs}}
    digests = {subject.name: subject.sha256 for subject in certificate.subjects}
    wanted = {role: [digests[name] for name in ((names,) if isinstance(names, str) else names)] for role, names in certificate.claim.roles.items()}
    if any(digest not in known for needed in wanted.values() for digest in needed):
        return None
    many = {role.name for role in registry.kind(certificate.claim.kind, certificate.claim.version).roles if role.many}
    return {role: tuple(known[d] for d in needed) if role in many else known[needed[0]] for role, needed in wanted.items()}
