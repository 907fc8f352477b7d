# SPDX-License-Identifier: Apache-2.0
"""What can be asked for: kinds of claims, and tasks of provers that make several certificates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from certify.certificate import Role
from certify.fields import Field, Record


class Question(Protocol):
    """What `prove` needs to know of a kind of claim, or of a task that makes several certificates."""

    @property
    def name(self) -> str:
        """The word behind `prove`."""

    @property
    def roles(self) -> tuple[Role, ...]:
        """The files, in order."""

    @property
    def given(self) -> Record:
        """What is asked."""

    @property
    def says(self) -> Record:
        """What is asserted."""

    @property
    def summary(self) -> str:
        """One line on what it is."""


def leaves(fields: Mapping[str, Field]) -> dict[str, Field]:
    """Return the fields that a person sets: those of a record stand for it."""
    found: dict[str, Field] = {}
    for name, field in fields.items():
        found.update(leaves(field.fields) if isinstance(field, Record) else {name: field})
    return found
