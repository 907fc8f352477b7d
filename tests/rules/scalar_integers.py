# SPDX-License-Identifier: Apache-2.0
"""The arithmetic exact-int once more, for one box and one row, in Python's integers and rationals, written from the rules that it documents.

No matrices, no batches, no powers of two of a layer: weights are rationals, and every floor and ceiling is taken where the rules say. The bounds
must be the same to the last unit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from math import ceil, floor, isqrt

from certify.readers.formula import Part, Row
from certify.readers.network import Dense, Network, Relu, Scale
from certify.rules.float32 import Rounding

Numbers = list[int]


class ScalarIntegers:
    """The rules for one network and one part; `slopes` are the slopes a of each ReLU layer, or None for the default ones."""

    def __init__(self, network: Network, part: Part, bits: int, executions: bool) -> None:
        self.network, self.part, self.bits, self.unit = network, part, bits, 1 << bits
        self.rounding = Rounding(network) if executions else None
        self.lower, self.upper = [floor(v * self.unit) for v in part.lower], [ceil(v * self.unit) for v in part.upper]

    def _shift(self, total: int, direction: Callable[[Fraction], int]) -> int:
        """Return a sum of products of two numbers in units, in units."""
        return direction(Fraction(total, self.unit))

    def propagate(self, inherited: tuple[list[Numbers], list[Numbers]] | None, slopes: Mapping[int, Sequence[int]] | None,
                  signs: Mapping[int, Sequence[int]] | None, lower: Numbers, upper: Numbers) -> tuple[list[Numbers], list[Numbers]]:
        """Return bounds on every value over a box."""
        reach = [max(abs(a), abs(b)) for a, b in zip(lower, upper, strict=True)]
        moved = [self._input_error(v) for v in reach]
        lows, highs = [[a - m for a, m in zip(lower, moved, strict=True)]], [[b + m for b, m in zip(upper, moved, strict=True)]]
        for k, layer in enumerate(self.network.layers):
            if signs is not None and isinstance(layer, Relu):
                lows[k] = [max(v, 0) if s > 0 else v for v, s in zip(lows[k], signs[k], strict=True)]
                highs[k] = [min(v, 0) if s < 0 else v for v, s in zip(highs[k], signs[k], strict=True)]
            low, high = self._interval(k, lows, highs)
            if inherited is not None:
                low = [max(a, b) for a, b in zip(low, inherited[0][k + 1], strict=True)]
                high = [min(a, b) for a, b in zip(high, inherited[1][k + 1], strict=True)]
            lows.append(low)
            highs.append(high)
            if self._refined(k):
                open_ = [i for i in range(len(low)) if low[i] < 0 < high[i]]
                for sign in (1, -1):
                    units = {i: [sign * self.unit if i == n else 0 for n in range(len(low))] for i in open_}
                    found = {i: self._backward(unit, 0, k + 1, lows, highs, lower, upper, None, slopes, None) for i, unit in units.items()}
                    for i, value in found.items():  # all upper ends are bounded with the lower ends that were just found
                        if sign > 0:
                            low[i] = max(low[i], value)
                        else:
                            high[i] = min(high[i], -value)
        return lows, highs

    def bound(self, rows: Sequence[tuple[Row, Fraction]], lows: list[Numbers], highs: list[Numbers], lower: Numbers, upper: Numbers,
              slopes: Mapping[int, Sequence[int]] | None, multipliers: Mapping[int, Numbers] | None) -> int:
        """Return a lower bound of a sum of weighted rows over the box [lower, upper]."""
        constant = floor(sum((weight * row.constant for row, weight in rows), Fraction(0)) * self.unit)
        sides = []
        for size, which, reach in ((self.network.outputs, "outputs", [max(abs(a), abs(b)) for a, b in zip(lows[-1], highs[-1], strict=True)]),
                                   (self.network.inputs, "inputs", [max(abs(a), abs(b)) for a, b in zip(lower, upper, strict=True)])):
            exact = [sum((weight * getattr(row, which).get(i, 0) for row, weight in rows), Fraction(0)) * self.unit for i in range(size)]
            sides.append([floor(v) for v in exact])
            constant -= self._shift(sum(r for v, r in zip(exact, reach, strict=True) if v != floor(v)), ceil)
        return self._backward(sides[0], constant, len(self.network.layers), lows, highs, lower, upper, sides[1], slopes, multipliers)

    def _backward(self, row: Numbers, constant: int, k: int, lows: list[Numbers], highs: list[Numbers], lower: Numbers, upper: Numbers,
                  added: Numbers | None, slopes: Mapping[int, Sequence[int]] | None, multipliers: Mapping[int, Numbers] | None) -> int:
        for j in range(k - 1, -1, -1):
            layer, size = self.network.layers[j], self._size(lows[j], highs[j])
            constant -= self._shift(sum(abs(a) * d for a, d in zip(row, self._radius(j, size), strict=True)), ceil)
            if isinstance(layer, Relu):
                exact, gain = self._relu(row, lows[j], highs[j], None if slopes is None else slopes[j])
                constant += self._shift(gain, floor)
            elif isinstance(layer, Dense):
                exact = [sum((a * Fraction(w) for a, w in zip(row, column, strict=True)), Fraction(0)) for column in layer.weight.T.tolist()]
                constant += floor(sum((a * Fraction(b) for a, b in zip(row, layer.bias.tolist(), strict=True)), Fraction(0)))
            else:
                exact = [Fraction(layer.sign * a) for a in row]
                constant += floor(sum((a * Fraction(b) for a, b in zip(row, layer.bias.tolist(), strict=True)), Fraction(0)))
            row = [floor(a) for a in exact]
            constant -= self._shift(sum(h for a, h in zip(exact, size, strict=True) if a != floor(a)), ceil)
            if isinstance(layer, Relu) and multipliers is not None:
                row = [a - m for a, m in zip(row, multipliers[j], strict=True)]
        error = [self._input_error(max(abs(a), abs(b))) for a, b in zip(lower, upper, strict=True)]
        constant -= self._shift(sum(abs(a) * e for a, e in zip(row, error, strict=True)), ceil)
        row = row if added is None else [a + b for a, b in zip(row, added, strict=True)]
        best = constant + self._shift(sum(a * (low if a > 0 else high) for a, low, high in zip(row, lower, upper, strict=True)), floor)
        return best if self.part.ball is None else max(best, constant + self._ball(row, lower, upper))

    def _relu(self, row: Numbers, low: Numbers, high: Numbers, slopes: Sequence[int] | None) -> tuple[list[Fraction], int]:
        """Return the exact coefficients before the ReLUs, and the sum of coefficients times offsets."""
        exact, gain = [], 0
        for i, (a, bottom, top) in enumerate(zip(row, low, high, strict=True)):
            if bottom >= 0 or top <= 0:
                exact.append(Fraction(a if bottom >= 0 else 0))
            elif a < 0:
                chord = floor(Fraction(top << 16, top - bottom))
                exact.append(Fraction(a * chord, 1 << 16))
                gain += a * ceil(max(Fraction(-chord * bottom, 1 << 16), Fraction(((1 << 16) - chord) * top, 1 << 16)))
            else:
                default = 255 if top >= -bottom else 0
                exact.append(Fraction(a * (default if slopes is None else slopes[i]), 255))
        return exact, gain

    def _ball(self, row: Numbers, lower: Numbers, upper: Numbers) -> int:
        """Return a lower bound of a form over the ball and the box, of two splits of its coefficients the better."""
        ball = self.part.ball
        assert ball is not None
        centre, factor = [floor(v * self.unit) for v in ball.centre], [ceil(self.unit / w) for w in ball.weight]
        radius, best = ceil(ball.radius * self.unit), None
        for near in (False, True):
            total = norm = lost = 0
            for a, c, f, v, low, high in zip(row, centre, factor, ball.centre, lower, upper, strict=True):
                room = c - low if a > 0 else high - c
                if room > (floor(Fraction(f * radius, self.unit)) * 999 // 1000 if near else 0):
                    total += a * c
                    norm = norm + (a * f) ** 2 if ball.norm == "l2" else max(norm, abs(a) * f)
                    lost += abs(a) * (v * self.unit != floor(v * self.unit))
                else:
                    total += a * (low if a > 0 else high)
            if ball.norm == "l2":
                norm = isqrt(norm - 1) + 1 if norm else 0
            found = self._shift(total, floor) - self._shift(lost, ceil) - ceil(Fraction(norm * radius, self.unit**2))
            best = found if best is None else max(best, found)
        assert best is not None
        return best

    def _interval(self, k: int, lows: list[Numbers], highs: list[Numbers]) -> tuple[Numbers, Numbers]:
        """Return interval bounds of value k + 1."""
        layer, low, high = self.network.layers[k], lows[k], highs[k]
        moved = self._radius(k, self._size(low, high))
        if isinstance(layer, Relu):
            ends = [(max(a, 0), max(b, 0)) for a, b in zip(low, high, strict=True)]
        else:
            weights = layer.weight.tolist() if isinstance(layer, Dense) else [[float(layer.sign) if i == j else 0.0 for j in range(len(low))]
                                                                              for i in range(len(low))]
            ends = []
            for row, b in zip(weights, layer.bias.tolist(), strict=True):
                small = sum((Fraction(w) * (a if w > 0 else c) for w, a, c in zip(row, low, high, strict=True)), Fraction(b) * self.unit)
                large = sum((Fraction(w) * (c if w > 0 else a) for w, a, c in zip(row, low, high, strict=True)), Fraction(b) * self.unit)
                ends.append((floor(small), ceil(large)))
        return [a - m for (a, _), m in zip(ends, moved, strict=True)], [b + m for (_, b), m in zip(ends, moved, strict=True)]

    def _radius(self, k: int, size: Numbers) -> Numbers:
        """Return how far a float32 execution of layer k is off, 0 over the reals."""
        layer = self.network.layers[k]
        if self.rounding is None:
            return [0] * layer.size
        errors, found = self.rounding.of(k), []
        for i, fixed in enumerate(errors.fixed.tolist()):
            growth, summed = 0, ceil(Fraction(fixed) * self.unit)
            if isinstance(layer, Dense):
                products = (abs(Fraction(w)) * h for w, h in zip(layer.weight[i].tolist(), size, strict=True))
                growth = ceil(sum(products, abs(Fraction(layer.bias[i])) * self.unit))
                summed += sum(size)
            elif isinstance(layer, Scale):
                growth, summed = size[i] + ceil(abs(Fraction(layer.bias[i])) * self.unit), summed + size[i]
            found.append(ceil(growth * errors.relative) + ceil(summed * Fraction(errors.absolute)))
        return found

    def _input_error(self, reach: int) -> int:
        return 0 if self.rounding is None else ceil(Fraction(reach, 1 << 24)) + ceil(Fraction(self.unit, 1 << 126))

    def _refined(self, k: int) -> bool:
        layers = self.network.layers
        enters = k + 1 < len(layers) and isinstance(layers[k + 1], Relu) and not isinstance(layers[k], Relu)
        return enters and (self.part.ball is not None or any(isinstance(layer, Relu) for layer in layers[:k]))

    def _size(self, low: Numbers, high: Numbers) -> Numbers:
        return [max(abs(a), abs(b)) for a, b in zip(low, high, strict=True)]
