# SPDX-License-Identifier: Apache-2.0
"""What one check may cost: sizes, counts, and a work budget that is charged before the work is done.

Guarantee: a rule that charges its cost formula through `spend` never starts work above the budget; the check is *declined*
(`limit-reached`) and the message names the `--work` that would do. Limits never turn into a verdict about the claim.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from certify.errors import Declined


@dataclass
class _Meter:
    spent: int = 0


@dataclass(frozen=True)
class Limits:
    """Sizes in bytes, counts, and `work` in elementary array operations (about a nanosecond each).

    `blas` lets this run take products from a BLAS, which is assumed to sum ordinary binary64 products (no Strassen, no lower precision): it
    buys time only, is no part of a certificate, and the verdict names it. `reference` takes the group of `hyrax` evidence from py_ecc, plain Python.
    """

    file_bytes: int = 2 << 30
    json_bytes: int = 4 << 20
    segment_bytes: int = 64 << 20
    members: int = 4096
    depth: int = 32
    table_cells: int = 10**7
    tree_nodes: int = 1 << 22
    tree_depth: int = 4096
    memory: int = 2 << 30
    work: int = 1 << 36
    blas: bool = False
    reference: bool = False
    _meter: _Meter = field(default_factory=_Meter, repr=False, compare=False)

    def fresh(self) -> Limits:
        """Return the same limits with nothing spent."""
        return replace(self, _meter=_Meter())

    @property
    def spent(self) -> int:
        """Work charged so far."""
        return self._meter.spent

    def spend(self, cost: int, what: str) -> None:
        """Charge `cost` operations for `what`; raises Declined `limit-reached` before the work if the budget doesn't cover it."""
        if cost < 0:
            raise ValueError("a cost is not negative")
        total = self._meter.spent + cost
        if total > self.work:
            raise Declined("limit-reached", f"{what} needs {total} operations in all, the budget is {self.work}",
                           fix=f"allow more work with --work {_round_up(total)}")
        self._meter.spent = total

    def within(self, amount: int, limit: str, what: str) -> None:
        """Raise Declined `limit-reached` if `amount` of `what` exceeds the limit named `limit`."""
        if amount > (most := getattr(self, limit)):
            raise Declined("limit-reached", f"{what}: {amount} exceeds the limit {limit} = {most}",
                           fix="raise the limit in the Python API (certify.Limits) if you trust the source of the file")


def _round_up(amount: int) -> int:
    """Return the power of two at or above `amount`: a figure a person can type."""
    return 1 << (amount - 1).bit_length()
