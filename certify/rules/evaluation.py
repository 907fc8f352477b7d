# SPDX-License-Identifier: Apache-2.0
"""Exact evaluation of a network at a rational point, in integers over a common denominator.

Guarantee: `evaluate` returns f(x) as rationals, with no rounding: a binary64 constant is an integer times a power of two, sums and
products are those of FLINT integers, and max(0, .) does not depend on the positive denominator.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import lcm

from flint import fmpz, fmpz_mat

from certify.limits import Limits
from certify.readers.network import Dense, Network, Scale
from certify.rules.dyadic import integers

_ROWS = 256  # a block of weight rows as Python integers, to bound memory


def evaluate(network: Network, point: Sequence[Fraction], limits: Limits) -> tuple[Fraction, ...]:
    """Return the exact outputs at `point` (one rational an input, flat C order)."""
    if len(point) != network.inputs:
        raise ValueError(f"{len(point)} coordinates for {network.inputs} inputs")
    distinct = {value.denominator for value in point}
    limits.spend(10 * _words(sum(d.bit_length() for d in distinct)) ** 2, "a common denominator of the point")
    denominator = fmpz(lcm(*distinct))
    values = [fmpz(int(value * int(denominator))) for value in point]
    for layer in network.layers:
        size = layer.weight.size if isinstance(layer, Dense) else layer.size
        limits.spend(100 * size * _words(int(denominator).bit_length()), "exact evaluation")
        if isinstance(layer, Dense):
            weight, weight_power = integers(layer.weight)
            bias, bias_power = integers(layer.bias)
            column = fmpz_mat(len(values), 1, values)
            products: list[fmpz] = []
            for start in range(0, layer.size, _ROWS):
                block = weight[start : start + _ROWS]
                products += (fmpz_mat(block.shape[0], block.shape[1], block.reshape(-1).tolist()) * column).entries()
            # products / (denominator 2^weight_power) + bias / 2^bias_power
            power = max(weight_power, bias_power)
            lift, bias_lift = fmpz(1) << (power - weight_power), denominator << (power - bias_power)
            values = [value * lift + fmpz(number) * bias_lift for value, number in zip(products, bias.tolist(), strict=True)]
            denominator <<= power
        elif isinstance(layer, Scale):
            bias, bias_power = integers(layer.bias)
            values = [layer.sign * (value << bias_power) + fmpz(number) * denominator for value, number in zip(values, bias.tolist(), strict=True)]
            denominator <<= bias_power
        else:
            values = [value if value > 0 else fmpz(0) for value in values]
    limits.spend(4 * len(values) * _words(int(denominator).bit_length()) ** 2, "exact outputs in lowest terms")
    return tuple(Fraction(int(value), int(denominator)) for value in values)


def _words(bits: int) -> int:
    return 1 + bits // 64
