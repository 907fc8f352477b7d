# SPDX-License-Identifier: Apache-2.0
"""The exceptions that leave certify: each is one verdict, with a stable code, one line of what is wrong and one of what to do.

Guarantee: every failure that a file or a user can cause is an instance of `CertifyError`; anything else is a bug of ours
(exit 70). `certify explain CODE` prints a page for every code.
"""

from __future__ import annotations

from typing import ClassVar


class CertifyError(Exception):
    """An outcome other than success, with a stable `code`.

    `what` says what is wrong, `where` names the file, field or node, `fix` what to do; all are single lines.
    """

    verdict: ClassVar[str] = "error"
    exit_status: ClassVar[int] = 70
    usual_fix: ClassVar[str] = ""

    def __init__(self, code: str, what: str, *, where: str = "", fix: str = "") -> None:
        super().__init__(code, what)
        self.code = code
        self.what = one_line(what)
        self.where = one_line(where)
        self.fix = one_line(fix or self.usual_fix)

    def __str__(self) -> str:
        place = f" ({self.where})" if self.where else ""
        return f"{self.code}: {self.what}{place}"


class Rejected(CertifyError):
    """The certificate is malformed, or its evidence does not establish its claim."""

    verdict = "rejected"
    exit_status = 1
    usual_fix = "ask the author for a new certificate"


class Declined(CertifyError):
    """This checker can't say: a version, a limit, a missing subject, an assumption, or a subject that its strict reader refuses."""

    verdict = "declined"
    exit_status = 3


class UsageError(CertifyError):
    """The request itself makes no sense: a missing file, an unknown option, a value outside its range."""

    verdict = "usage"
    exit_status = 2


def malformed(what: str, where: str = "", fix: str = "") -> Rejected:
    """Return the error for bytes that are no certificate of this format; `fix` is for who asked, not for who got the file."""
    return Rejected("malformed", what, where=where, fix=fix or "the file is damaged, or not made by a conforming tool: ask its author for a new one")


def one_line(text: str, most: int = 400) -> str:
    """Return `text` on one line, printable, at most `most` characters: names come from untrusted files."""
    shown = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text[: most + 1])
    return shown if len(shown) <= most else shown[: most - 1] + "\N{HORIZONTAL ELLIPSIS}"
