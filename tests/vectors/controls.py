# SPDX-License-Identifier: Apache-2.0
"""Checkers that are wrong on purpose: a corpus that they pass would show nothing."""

from __future__ import annotations

from certify import container
from certify.errors import CertifyError
from certify.limits import Limits
from certify.verification import decode
from vectors.stored import Stored

_PARSED_BY_KIND = ("malformed", "evidence-kind", "version-unknown", "kind-unknown", "feature-unsupported", "array-", "unused-evidence",
                   "digest-mismatch", "limit-reached")


def always_accept(vector: Stored) -> tuple[str, str]:
    """Return what a checker says that looks at nothing."""
    return "verified", ""


def parse_only(vector: Stored) -> tuple[str, str]:
    """Return what a checker says that reads the certificate in full, and believes it."""
    try:
        decode(container.read(vector.data, Limits(**vector.limits), vector.name))
    except CertifyError as trouble:
        return trouble.verdict, trouble.code
    return "verified", ""


def is_semantic(vector: Stored) -> bool:
    """Return whether a vector is refused for what it claims, not for its form: a checker has to think to find it."""
    return vector.wanted[0] != "verified" and not vector.wanted[1].startswith(_PARSED_BY_KIND) and not vector.name.startswith("role-")
