# SPDX-License-Identifier: Apache-2.0
"""The witness of a circuit: bounds, lines, coefficients and floors of a CROWN certificate in exact integers, cut into cells.

Untrusted: whatever `Choices` returns, cells that break no relation prove the statement. What does not fit into its cells is never clipped: the
answer is then `Unknown`, which names the layer and the quantity, and says nothing about the network.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import isqrt
from typing import Any

import numpy as np

from certify_zk.circuit import Circuit, circuit
from certify_zk.convolution import image
from certify_zk.evaluation import padded, public_tables
from certify_zk.exact import Integers, added, integers, matmul, multiplied, scaled, summed
from certify_zk.policy import Conv, Layer, Policy
from certify_zk.relations import power_of_two
from certify_zk.statement import Ball, Box, Rows, Statement
from certify_zk.values import Value, layer_values
from certify_zk.width import LIMB

Array = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True, eq=False)
class Model:
    """The integers of a network as they are committed: weights, of the shape that their layer has `stored`, in units 2^-F, biases in units 2^-g."""

    weights: tuple[Integers, ...]
    biases: tuple[Integers, ...]

    def dense(self, layers: Sequence[Layer]) -> Model:
        """Return the same network with the matrix and the biases of each convolution written out."""
        shapes = [(layer.outputs, layer.inputs) for layer in layers]
        return Model(tuple(whole(*given) for given in zip(layers, self.weights, shapes, strict=True)),
                     tuple(whole(layer, bias, shape[:1]) for layer, bias, shape in zip(layers, self.biases, shapes, strict=True)))


def whole(layer: Layer, stored: Integers, shape: tuple[int, ...]) -> Integers:
    """Return the matrix or the biases of a layer in a cube of this shape, from what is committed of them."""
    return image(layer, stored, shape) if isinstance(layer, Conv) else padded(stored, shape)


@dataclass(frozen=True, eq=False)
class Witness:
    """Tables of all committed blocks and constants, and the least margin that each row of each region is proved with."""

    circuit: Circuit
    tables: dict[str, Integers]
    margins: tuple[tuple[Fraction, ...], ...]


@dataclass(frozen=True)
class Unknown:
    """Why there is no witness: a quantity that doesn't fit; with the margins of rows where they are what fails."""

    why: str
    quantity: str
    margins: tuple[tuple[Fraction, ...], ...] = ()


class Choices:
    """What a prover is free to choose; these are chords above, and below the identity or 0, whichever leaves less area."""

    def bounds(self, k: int, lower: Integers, upper: Integers) -> tuple[Integers, Integers]:
        """Return the bounds of layer k to use, given the tightest ones that are proved."""
        return lower, upper

    def alpha(self, k: int, lower: Integers, upper: Integers, one: int) -> Integers:
        """Return slopes below, from 0 to `one`."""
        return np.where(upper > -lower, one, 0)

    def slope(self, k: int, lower: Integers, upper: Integers, one: int) -> Integers:
        """Return slopes above, from 0 to `one`."""
        width = np.where(upper > lower, upper - lower, 1)
        chord = -(-one * upper // width)
        return np.where(lower >= 0, one, np.where(upper <= 0, 0, chord))

    def rise(self, k: int, least: Integers) -> Integers:
        """Return the intercepts of the lines above, given the least ones."""
        return least

    def active(self, k: int, lower: Integers) -> Integers:
        """Return 1 where layer k is at least its lower bound, 0 where it is at least 0."""
        return np.where(lower >= 0, 1, 0)

    def parts(self, coefficients: Integers) -> tuple[Integers, Integers]:
        """Return two non-negative arrays whose difference is given."""
        return np.maximum(coefficients, 0), np.maximum(-coefficients, 0)


class Unfit(Exception):
    """A quantity has no place in its cells."""

    def __init__(self, quantity: str, why: str) -> None:
        super().__init__(quantity, why)
        self.quantity, self.why = quantity, why


def witness(policy: Policy, model: Model, statement: Statement, choices: Choices | None = None) -> Witness | Unknown:
    """Return the witness of a statement, or what does not fit; raises as `circuit` does."""
    made = circuit(policy, statement)
    run = Run(policy, model, statement, choices or Choices(), made)
    try:
        run.all()
    except Unfit as unfit:
        return Unknown(unfit.why, unfit.quantity, tuple(run.margins))
    return Witness(made, run.tables, tuple(run.margins))


class Run:
    """One pass over all layers and regions; arrays have the shapes of their cubes, so it runs on the network padded with dead neurons."""

    def __init__(self, policy: Policy, model: Model, statement: Statement, choices: Choices, made: Circuit) -> None:
        self.policy, self.statement, self.choices, self.circuit = policy, statement, choices, made
        self.public = public_tables(policy, statement)
        self.tables: dict[str, Integers] = {}
        self.margins: list[tuple[Fraction, ...]] = []
        self.lines: dict[tuple[str, int], Integers] = {}
        sizes = [power_of_two(policy.size(k)) for k in range(policy.depth + 1)]
        shapes = [(sizes[k + 1], sizes[k]) for k in range(policy.depth)]
        self.weights = [whole(*given) for given in zip(policy.layers, model.weights, shapes, strict=True)]
        self.biases = [whole(layer, bias, shape[:1]) for layer, bias, shape in zip(policy.layers, model.biases, shapes, strict=True)]
        self.stored = [(*choices.parts(weight), bias) for weight, bias in zip(model.weights, model.biases, strict=True)]
        self.parts = [tuple(whole(layer, part, shape) for part in parts)
                      for layer, (*parts, _), shape in zip(policy.layers, self.stored, shapes, strict=True)]
        self.aligned = 1 << (policy.total_scale - policy.bias_scale)

    def all(self) -> None:
        """Fill the tables; raises Unfit."""
        for k in range(1, self.policy.depth + 1):
            dense = (*self.parts[k - 1], self.biases[k - 1])
            tables = self.stored[k - 1] if isinstance(self.policy.layers[k - 1], Conv) else dense
            for value, table in zip(layer_values(self.policy, k), tables, strict=True):
                self.put(value.name, padded(table, value.shape))
        totals = [self._region(f"region{index}.", region) for index, region in enumerate(self.statement.regions)]
        scale = Fraction(1, 1 << self.policy.total_scale)
        asked = self.statement.asked
        if isinstance(asked, Rows):
            rows = len(asked.thresholds)
            self.margins = [tuple(scale * int(value) for value in total[:rows]) for total in totals]
            bounds: Integers = self.public["thresholds"]
        else:
            self.margins = [tuple(scale * int(value) for value in total[:2]) for total in totals]
            least = min(int(total[0]) for total in totals) // self.aligned
            most = -(min(int(total[1]) for total in totals) // self.aligned)
            self.put("least", integers([least]))
            self.put("most", integers([most]))
            self.put("gap.slack", integers([asked.gap - (most - least)]))
            bounds = integers([self.aligned * least, -self.aligned * most])
        for index, total in enumerate(totals):
            self.put(f"region{index}.pass{self.policy.depth}.slack", added(total, -bounds))

    def put(self, name: str, values: Integers) -> None:
        """Cut a value into its cells; raises Unfit."""
        value = self.circuit.values[name]
        least, most = (-value.offset, (1 << value.bits) - 1 - value.offset) if value.top is None else (0, value.top)
        if values.size and (int(values.min()) < least or int(values.max()) > most):
            raise Unfit(name, f"{name} reaches {int(values.min())} to {int(values.max())}, and has room for {least} to {most}")
        self.tables |= cells(value, values)

    def tau(self, m: int, k: int, unit: int, q: Integers) -> int:
        """Return the bits that step k of pass m drops."""
        return self.policy.tau[m - 1][m - 1 - k]

    def _region(self, prefix: str, region: Box | Ball) -> Integers:
        for m in range(1, self.policy.depth):
            total = self._pass(prefix, m, region)
            lower, upper = self.choices.bounds(m, total[0::2] // self.aligned, -(total[1::2] // self.aligned))
            self.put(f"{prefix}pass{m}.slack", added(total, -self.aligned * _interleaved(lower, -upper)))
            self._bounds(prefix, m, lower, upper)
        return self._pass(prefix, self.policy.depth, region)

    def _bounds(self, prefix: str, k: int, lower: Integers, upper: Integers) -> None:
        """Fill what belongs to the bounds of a hidden layer."""
        p, one, choices = f"{prefix}layer{k}.", 1 << self.policy.slope_bits, self.choices
        self.put(f"{p}lower", lower)
        self.put(f"{p}upper", upper)
        alpha, slope = choices.alpha(k, lower, upper, one), choices.slope(k, lower, upper, one)
        ends = [(slope - one) * upper, slope * upper, (slope - one) * lower, slope * lower]
        rise = choices.rise(k, np.maximum.reduce([-(end // one) for end in ends]))
        hull, beta = np.maximum(upper, 0), choices.active(k, lower)
        self.lines |= {("alpha", k): alpha, ("slope", k): slope, ("intercept", k): rise, ("lower", k): lower, ("hull", k): hull, ("beta", k): beta}
        found = {"hull": hull, "hull.slack": hull - upper, "beta": beta, "alpha": alpha, "slope": slope,
                 "intercept": rise, **{f"line{i}": end + one * rise for i, end in enumerate(ends, start=1)}}
        for name, values in found.items():
            if f"{p}{name}" in self.circuit.values:
                self.put(f"{p}{name}", values)

    def _pass(self, prefix: str, m: int, region: Box | Ball) -> Integers:
        """Fill a pass and return its totals, biases of the layer included."""
        policy, p, unit, stop = self.policy, f"{prefix}pass{m}.", self.policy.weight_scale, self.policy.stop(m)
        plus, minus, total = self._start(p, m)
        for k in range(m - 1, stop, -1):
            q = f"{p}step{k}."
            falls = self._define(f"{q}c1", matmul(minus, self.lines["intercept", k]))
            total = added(total, self._term(f"{q}c1", -falls, unit + policy.bias_scale))
            a = added(multiplied(plus, self.lines["alpha", k]), -multiplied(minus, self.lines["slope", k]))
            sums, c2 = matmul(a, self.weights[k - 1]), self._define(f"{q}c2", matmul(a, self.biases[k - 1]))
            tau = self.tau(m, k, unit, sums)
            plus, minus = self.choices.parts(sums >> tau)
            rest = added(sums, -scaled(added(plus, -minus), 1 << tau))
            self.put(f"{q}plus", plus)
            self.put(f"{q}minus", minus)
            total = added(total, self._term(f"{q}c2", c2, unit + policy.slope_bits + policy.bias_scale))
            if tau:
                self.put(f"{q}rest", rest)
            if tau and k == 1 and policy.remainder and isinstance(region, Box):
                kept = self._define(f"{q}c4", matmul(rest, self.public[f"{prefix}start"]))
                total = added(total, self._term(f"{q}c4", kept, unit + policy.slope_bits + policy.weight_scale + policy.input_scale))
            unit = policy.after(unit, tau)
        return added(total, self._concrete(prefix, p, stop, plus, minus, unit, region))

    def _start(self, p: str, m: int) -> tuple[Integers, Integers, Integers]:
        plus, minus = self.parts[m - 1]
        bias = self.biases[m - 1]
        if m < self.policy.depth:
            return _interleaved(plus, minus), _interleaved(minus, plus), self.aligned * _interleaved(bias, -bias)
        first, second = self.choices.parts(matmul(self.public["rows"], self.weights[m - 1]))
        self.put(f"{p}start.plus", first)
        self.put(f"{p}start.minus", second)
        return first, second, self.aligned * self._define(f"{p}bias", matmul(self.public["rows"], bias))

    def _concrete(self, prefix: str, p: str, stop: int, plus: Integers, minus: Integers, unit: int, region: Box | Ball) -> Integers:
        h, scale = added(plus, -minus), self.policy.input_scale
        if stop:
            low = self.lines["beta", stop] * self.lines["lower", stop]
            c3 = self._define(f"{p}c3", added(matmul(plus, low), -matmul(minus, self.lines["hull", stop])))
            return self._term(f"{p}c3", c3, unit + self.policy.bias_scale)
        at_start = matmul(h, self.public[f"{prefix}start"])
        if isinstance(region, Box):
            c3 = self._define(f"{p}c3", added(at_start, -matmul(minus, self.public[f"{prefix}width"])))
            return self._term(f"{p}c3", c3, unit + scale)
        self._define(f"{p}centre", at_start)
        square = self._define(f"{p}square", summed(multiplied(h, h), 1))
        root = integers(np.array([_root(int(value) << 8) for value in square], object))
        self.put(f"{p}root", root)
        self.put(f"{p}root.slack", added(multiplied(root, root), -scaled(square, 1 << 8)))
        reach = self._define(f"{p}reach", scaled(root, region.radius))
        return self._term(f"{p}c3", added(scaled(at_start, 1 << 4), -reach), unit + scale + 4)

    def _term(self, name: str, value: Integers, unit: int) -> Integers:
        excess = unit - self.policy.total_scale
        if excess <= 0:
            return scaled(value, 1 << -excess)
        floored = value >> excess
        self.put(f"{name}.floor", floored)
        self.put(f"{name}.rest", added(value, -scaled(floored, 1 << excess)))
        return floored

    def _define(self, name: str, values: Integers) -> Integers:
        self.tables[name] = values
        return values


def cells(value: Value, values: Integers) -> dict[str, Integers]:
    """Return the cells of a value, by block; the caller has checked that it fits."""
    raised = values + value.offset
    found: dict[str, Integers] = {name: ((raised >> (LIMB * i)) & ((1 << LIMB) - 1)).astype(np.uint16) for i, (name, _) in enumerate(value.limbs)}
    name, bits = value.limbs[-1]
    if value.narrow is not None:
        found[value.narrow] = (found[name].astype(np.int64) << (LIMB - bits)).astype(np.uint16)
    if value.rest is not None and value.top is not None:
        found[value.rest] = (value.top - found[name].astype(np.int64)).astype(np.uint16)
    return found


def quantised(weights: Sequence[Array], biases: Sequence[Array], policy: Policy) -> Model:
    """Return the nearest integers of a network's weights and biases in the units of a policy."""
    return Model(tuple(np.rint(np.ldexp(weight, policy.weight_scale)).astype(np.int64) for weight in weights),
                 tuple(np.rint(np.ldexp(bias, policy.bias_scale)).astype(np.int64) for bias in biases))


def _interleaved(first: Integers, second: Integers) -> Integers:
    """Return rows of the first array at even places, of the second at odd ones."""
    return np.stack([first, second], axis=1).reshape(2 * first.shape[0], *first.shape[1:])


def _root(value: int) -> int:
    """Return the square root, rounded up."""
    root = isqrt(value)
    return root + (root * root != value)
