# SPDX-License-Identifier: Apache-2.0
"""The sizes of a commitment's rows: how long they are and, with ligero, how many columns a certificate opens, and the pads that hide them.

Untrusted: the verifier computes the soundness of a policy's sizes anew, and declines those that do not reach the level.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

from certify.errors import Declined
from certify_zk.policy import LEVELS, Policy
from certify_zk.soundness import TABLE, Counts, Parameters, choose

_COLUMNS = tuple(1 << bits for bits in range(9, 16))
_RATE = 4
_CEILING = 1 << 20
"""More than the degrees, messages and constraints of any circuit in the limits; they weigh less than a thousandth of what a level leaves for them."""
_MESSAGES, _PRODUCTS = 1 << 13, 1 << 10
_WORD, _DIGEST = 8, 32
_HYRAX_COLUMNS = 1 << 6, 1 << 10


def sized(policy: Policy, cells: int) -> Policy:
    """Return the policy with the columns, codewords, queries and pads that make a certificate with so many cells shortest, for its level and uses.

    Raises Declined `commitment-limit` where no sizes give the level.
    """
    if policy.backend == "hyrax":
        return replace(policy, queries=0, pads=0, columns=_hyrax_columns(cells), codeword=0)
    counts = Counts(cells, _CEILING, _CEILING, _CEILING, _MESSAGES, _CEILING, _PRODUCTS)
    found: list[tuple[int, Parameters]] = []
    for columns in _COLUMNS:
        with suppress(Declined):  # pads fill short rows
            some = choose(policy.level, policy.uses, columns, _RATE * columns, counts)
            found.append((_bytes(some, cells), some))
    if not found:
        raise Declined("commitment-limit", f"no sizes of rows give {policy.level} bits for {policy.uses} uses", where="policy",
                       fix="choose fewer uses")
    _, best = min(found, key=lambda entry: entry[0])
    return replace(policy, queries=best.queries, pads=best.code.pads, columns=best.code.cells, codeword=best.code.length)


def _hyrax_columns(cells: int) -> int:
    """Return the row's length for which a certificate, of a point of 48 bytes a row and a number of 32 bytes a column, is about shortest.

    It is rounded down, as a generator costs a verifier more than a point.
    """
    columns = _HYRAX_COLUMNS[0]
    while columns < _HYRAX_COLUMNS[1] and 2 * (2 * columns) ** 2 <= 3 * (cells + TABLE):
        columns *= 2
    return columns


def _bytes(given: Parameters, cells: int) -> int:
    """Return about how long a certificate is: two combinations of rows, and the opened columns with their paths."""
    rows = -(-cells // given.code.cells) + 2 * LEVELS[given.level]
    path = given.code.length.bit_length() * _DIGEST
    return 2 * _WORD * given.degree * given.code.dimension + given.queries * (_WORD * rows + 2 * path)
