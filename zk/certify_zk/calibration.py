# SPDX-License-Identifier: Apache-2.0
"""Calibration: how many bits each backward step may drop, from examples, so that a policy has room for other inputs.

Untrusted: the tau of a policy is public and checked, any value is sound. It is fixed with the commitment, since one that is fitted to a certificate
would tell the magnitude of its coefficients.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from certify.errors import Declined
from certify_zk.circuit import Circuit, circuit
from certify_zk.exact import Integers, peak
from certify_zk.policy import Policy
from certify_zk.statement import Statement
from certify_zk.width import LIMB
from certify_zk.witness import Choices, Model, Run

SPARE = 2
"""Bits that are kept free above the largest coefficient of the examples."""
LEAST_SLOPE_BITS = 8
FINEST = 20
"""Units behind a step are not finer than 2^-20: small coefficients gain nothing by it, and constants in finer units leave their floors no bits."""


def calibrate(policy: Policy, model: Model, examples: Iterable[Statement], spare: int = SPARE, choices: Choices | None = None) -> Policy:
    """Return the policy with the least tau for which coefficients of the examples leave `spare` bits of their limbs free.

    The tau of the given policy is not looked at. What is fitted is the unit behind each step, the coarsest that an example needs.
    """
    steps = [(m, k) for m in range(1, policy.depth + 1) for k in range(m - 1, policy.stop(m), -1)]
    units: dict[tuple[int, int], int] = {}
    for statement in examples:
        run = _Fit(policy, model, statement, choices or Choices(), spare)
        run.all()
        for step in steps:
            units[step] = min(units.get(step, run.units[step]), run.units[step])
    if not units and steps:
        raise ValueError("calibration needs an example")
    tau: list[list[int]] = [[] for _ in policy.layers]
    unit = policy.weight_scale
    for m, k in steps:
        unit = policy.weight_scale if k == m - 1 else unit
        tau[m - 1].append(max(0, policy.after(unit, units[m, k])))
        unit = policy.after(unit, tau[m - 1][-1])
    return replace(policy, tau=tuple(map(tuple, tau)))


def fitted(policy: Policy, model: Model, examples: Sequence[Statement], spare: int = SPARE) -> Policy:
    """Return the calibrated policy with the most slope bits, then the widest biases, for which the widths hold.

    Slope bits are those of the given policy or fewer, biases as wide or narrower, by two bits; raises Declined `commitment-width` of the last try.
    """
    needed = max(1 + peak(bias).bit_length() for bias in model.biases)
    refused: Declined | None = None
    for slope_bits in range(policy.slope_bits, min(policy.slope_bits, LEAST_SLOPE_BITS) - 1, -1):
        some = calibrate(replace(policy, slope_bits=slope_bits), model, examples, spare)
        for bias_bits in (policy.bias_bits, *range(policy.bias_bits - 2, needed - 1, -2)):
            found = replace(some, bias_bits=bias_bits)
            try:
                circuit(found, examples[0])
            except Declined as trouble:
                if trouble.code != "commitment-width":
                    raise
                refused = trouble
            else:
                return found
    raise refused or ValueError("a policy has slope bits")


class _Fit(Run):
    """A run that keeps no cells, and drops as many bits in each step as its own coefficients need."""

    def __init__(self, policy: Policy, model: Model, statement: Statement, choices: Choices, spare: int) -> None:
        super().__init__(policy, model, statement, choices, Circuit({}, {}, ()))
        self.spare = spare
        self.units: dict[tuple[int, int], int] = {}

    def put(self, name: str, values: Integers) -> None:
        """Keep nothing."""

    def tau(self, m: int, k: int, unit: int, q: Integers) -> int:
        """Return the least number of bits whose loss leaves the spare bits of a limb free, and no unit finer than is of use."""
        least = max(0, peak(q).bit_length() - LIMB + self.spare)
        least += peak(q >> least) >= 1 << (LIMB - self.spare)
        least = max(least, self.policy.after(unit, FINEST))
        self.units[m, k] = self.policy.after(unit, least)
        return least
