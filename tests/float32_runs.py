# SPDX-License-Identifier: Apache-2.0
"""Float32 executions of a network, emulated from the definition: any order of sums, fused or not, denormals kept or flushed.

A float32 is an integer in units of 2^-149. Every operation is evaluated exactly and rounded to nearest, ties to even. Shares no code with
the checker. `execute` draws one execution at random; `inputs` draws float32 inputs that a real input may be rounded to.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from certify.readers.network import Dense, Network, Scale

UNIT = 149  # values are integers times 2^-UNIT
TINY = 1 << (UNIT - 126)  # the smallest normal number
_TOP = 1 << (UNIT + 128)


class Overflow(Exception):
    """A float32 operation gave an infinity."""


def number(value: float) -> int:
    """Return a float32 in units."""
    exact = Fraction(value) * (1 << UNIT)
    if exact.denominator != 1 or nearest(int(exact), UNIT) != int(exact):
        raise ValueError(f"{value} is no float32")
    return int(exact)


def real(value: int) -> Fraction:
    """Return the number that an integer in units stands for."""
    return Fraction(value, 1 << UNIT)


def nearest(whole: int, unit: int) -> int:
    """Return the float32 nearest to whole times 2^-unit, in units."""
    size = abs(whole)
    drop = max(size.bit_length() - 24, unit - UNIT)
    if drop > 0:
        kept, rest = size >> drop, size & ((1 << drop) - 1)
        half = 1 << (drop - 1)
        kept += rest > half or (rest == half and kept & 1)
        size = kept << drop
    size = size >> (unit - UNIT)
    if size >= _TOP:
        raise Overflow
    return size if whole >= 0 else -size


class Machine:
    """How one execution rounds; `ftz` and `daz` are chances that an operation flushes its result, or an operand that is denormal."""

    def __init__(self, rng: np.random.Generator, ftz: float, daz: float, fma: float) -> None:
        self.rng, self.ftz, self.daz, self.fma = rng, ftz, daz, fma

    def operand(self, value: int) -> int:
        """Return an operand as the machine sees it."""
        return 0 if 0 < abs(value) < TINY and self.rng.random() < self.daz else value

    def result(self, whole: int, unit: int = UNIT) -> int:
        """Return the rounded result of an operation; tininess is found before or after rounding."""
        found = nearest(whole, unit)
        small = abs(found) < TINY or (abs(whole) < TINY << (unit - UNIT) and self.rng.random() < 0.5)
        return 0 if small and self.rng.random() < self.ftz else found

    def product(self, a: int, b: int) -> int:
        """Return a times b."""
        return self.result(self.operand(a) * self.operand(b), 2 * UNIT)

    def sum(self, a: int, b: int) -> int:
        """Return a plus b."""
        return self.result(self.operand(a) + self.operand(b))

    def fused(self, a: int, b: int, c: int) -> int:
        """Return a times b plus c, rounded once."""
        return self.result(self.operand(a) * self.operand(b) + (self.operand(c) << UNIT), 2 * UNIT)

    def total(self, terms: Sequence[int | tuple[int, int]]) -> int:
        """Return the sum of numbers and products in a random tree."""
        items = [terms[i] for i in self.rng.permutation(len(terms))]
        if self.rng.random() < 0.3:
            items.append(0)  # an accumulator starts at zero
        shape = self.rng.random()
        while len(items) > 1:
            if shape < 0.4:  # one after the other
                first, second = 0, 1
            elif shape < 0.7:  # any tree
                first, second = sorted(self.rng.choice(len(items), 2, replace=False).tolist())
            else:  # lanes
                first, second = 0, len(items) // 2 if len(items) > 3 else 1
            right, left = items.pop(second), items.pop(first)
            items.insert(first, self._add(left, right))
        return self._value(items[0]) if items else 0

    def _value(self, item: int | tuple[int, int]) -> int:
        return self.product(*item) if isinstance(item, tuple) else item

    def _add(self, left: int | tuple[int, int], right: int | tuple[int, int]) -> int:
        if isinstance(left, tuple) and self.rng.random() < self.fma:
            return self.fused(*left, self._value(right))
        if isinstance(right, tuple) and self.rng.random() < self.fma:
            return self.fused(*right, self._value(left))
        return self.sum(self._value(left), self._value(right))


def machine(rng: np.random.Generator) -> Machine:
    """Return a random machine; flushing and fusing happen never, always, or operation by operation."""
    ftz, daz, fma = (float(rng.choice([0.0, 1.0, 0.5], p=[0.4, 0.4, 0.2])) for _ in range(3))
    return Machine(rng, ftz, daz, fma)


def execute(network: Network, point: Sequence[int], run: Machine) -> list[list[int]]:
    """Return every value of one execution, in units; raises Overflow."""
    values = [list(point)]
    for layer in network.layers:
        h = values[-1]
        if isinstance(layer, Dense):
            alpha, beta = number(layer.alpha), number(layer.beta)
            now = []
            for row, bias in zip((layer.weight / layer.alpha).tolist(), (layer.bias / layer.beta).tolist(), strict=True):
                products: list[int | tuple[int, int]] = [(number(w), v) for w, v in zip(row, h, strict=True)]
                if (layer.alpha, layer.beta) == (1.0, 1.0):
                    now.append(run.total([*products, number(bias)]))
                else:
                    now.append(run.total([(alpha, run.total(products)), (beta, number(bias))]))
        elif isinstance(layer, Scale):
            now = [run.sum(layer.sign * v, number(b)) for v, b in zip(h, layer.bias.tolist(), strict=True)]
        else:
            now = [run.result(max(run.operand(v), 0)) for v in h]
        values.append(now)
    return values


def inputs(rng: np.random.Generator, point: Sequence[Fraction]) -> list[int]:
    """Return a float32 input for a real one: within 2^-24 |x| + 2^-126 of it; raises Overflow beyond the range of float32."""
    return [_input(rng, x) for x in point]


def _input(rng: np.random.Generator, x: Fraction) -> int:
    reach = abs(x) / (1 << 24) + Fraction(1, 1 << 126)
    near = nearest((x.numerator << 600) // x.denominator, 600)  # 2^-600 is far below half a unit: the tie cases are given exactly
    kind = rng.random()
    if kind < 0.4:
        wanted = real(near)
    elif kind < 0.7:
        wanted = x + reach * int(rng.choice([-1, 1]))
    elif kind < 0.85:
        wanted = Fraction(0)  # a denormal is flushed
    else:
        wanted = x + reach * Fraction(int(rng.integers(-1000, 1001)), 1000)
    whole = wanted * (1 << UNIT)
    for found in {nearest(whole.numerator // whole.denominator, UNIT), nearest(-(-whole.numerator // whole.denominator), UNIT)}:
        for _ in range(2):  # one step towards x may be needed
            if abs(real(found) - x) <= reach:
                return found
            found = nearest(found + (1 if real(found) < x else -1) * max(1, 1 << max(0, abs(found).bit_length() - 24)), UNIT)
    assert abs(real(near) - x) <= reach
    return near
