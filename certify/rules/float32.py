# SPDX-License-Identifier: Apache-2.0
"""How far a float32 execution of a layer can be from the layer over the reals, whatever the order of its sums, FMA, FTZ or DAZ.

u = 2^-24, gamma32_n = n u / (1 - n u). Layer k computes v = f(h) + d with |d_i| <= D_i = relative G_i + absolute (fixed_i + sum H):
- a sum of n products and a bias, in any tree: each term passes at most n + 1 roundings (two more for Gemm's alpha, beta other than 1), so
  relative = gamma32_(n+3) on G = |W|H + |b|. Flush-to-zero loses at most 2^-126 an operation; denormals-are-zero replaces an operand by 0,
  which costs 2^-126 |h_j| or 2^-126 |W_ij| in a product and 2^-126 in a sum; later roundings amplify by at most (1 + u)^n <= 2.
  Hence 2^-122 (n + 2 + sum_j |W_ij| + sum_j H_j), W as stored, and times 1 + |alpha| + |beta| where the sum is scaled afterwards.
- Add, Sub (no bias): the sum formula with two terms and W = 1. Relu: one flush, 2^-125.
No overflow: G, and G without alpha, are at most 2^120. Source: Higham, Accuracy and Stability, 2nd ed., section 3.1.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from certify.errors import Declined
from certify.readers.network import Dense, Layer, Network, Scale
from certify.rules.balls import KAPPA, Array, above
from certify.rules.products import dot

_MOST_TERMS = 1 << 20
_LARGEST = 2.0**120


@dataclass(frozen=True, eq=False)
class LayerRounding:
    """D = relative G + absolute (fixed + the sum of H); `fixed` is rounded up, the others are exact."""

    relative: Fraction
    absolute: float
    fixed: Array
    largest: float

    def require(self, growth: float) -> None:
        """Raise Declined `exec32-overflow` if G, rounded to a double, may exceed 2^120 in size."""
        if not growth < self.largest:
            raise Declined("exec32-overflow", f"a sum in the network may exceed {self.largest:.3g} in size, and overflow in float32",
                           fix="prove it with --set semantics=real")


class Rounding:
    """The float32 errors of a network: how far a layer, or the input that is run, can be off.

    Raises Declined `exec32-operator` or `exec32-size` where a layer is outside the rules above.
    """

    def __init__(self, network: Network) -> None:
        self._network = network
        self._layers = [_rounding(layer, index) for index, layer in enumerate(network.layers)]

    def of(self, k: int) -> LayerRounding:
        """Return the errors of layer k."""
        return self._layers[k]

    def radius(self, k: int, size: Array, growth: Array | None) -> Array:
        """Return D of layer k on regions where H = `size` bounds its input, one row a region, and G = `growth` for a dense layer."""
        layer, rounding = self._network.layers[k], self._layers[k]
        if isinstance(layer, Scale):
            growth = size + np.abs(layer.bias)
        growth = growth if growth is not None else 0.0 * size
        rounding.require(float(growth.max()))
        summed = size.sum(axis=1, keepdims=True) if isinstance(layer, Dense) else size if isinstance(layer, Scale) else 0.0
        found: Array = KAPPA * (above(rounding.relative) * growth + rounding.absolute * (rounding.fixed + summed))
        return found

    def require_input(self, reach: float) -> None:
        """Raise Declined `exec32-overflow` unless every input is of a size that float32 holds: a claim about no execution is vacuous."""
        if not reach < _LARGEST:
            raise Declined("exec32-overflow", "an input may exceed 2^120 in size, and has no float32 near it",
                           fix="prove it with --set semantics=real")

    def input_error(self, reach: Array) -> Array:
        """Return E where |x| <= `reach`."""
        return KAPPA * (2.0**-24 * reach + 2.0**-126)


def _rounding(layer: Layer, index: int) -> LayerRounding:
    if isinstance(layer, Scale):
        return LayerRounding(_gamma(5), 2.0**-122, np.full(layer.size, 5.0), _LARGEST)
    if not isinstance(layer, Dense):
        return LayerRounding(Fraction(0), 2.0**-125, np.ones(layer.size), _LARGEST)
    terms = layer.weight.shape[1]
    if terms > _MOST_TERMS:
        raise Declined("exec32-size", f"layer {index} sums {terms} products, at most {_MOST_TERMS} are allowed",
                       fix="prove it with --set semantics=real")
    alpha, beta = abs(layer.alpha), abs(layer.beta)
    if min(alpha, beta) < 2.0**-126:
        raise Declined("exec32-operator", f"layer {index} is a Gemm with alpha or beta below 2^-126: float32 executions are not bounded",
                       fix="prove it with --set semantics=real")
    stored = np.abs(layer.weight) / alpha  # exactly the stored weights: the products with alpha were exact
    fixed = KAPPA * (terms + 2.0 + dot(stored, np.ones(terms)))
    scaled = (alpha, beta) != (1.0, 1.0)
    return LayerRounding(_gamma(terms + 3), 2.0**-122 * (np.ceil(1.0 + alpha + beta) if scaled else 1.0), fixed, _LARGEST * min(1.0, alpha))


def _gamma(n: int) -> Fraction:
    """Return gamma32_n, exactly, for n below 2^24: sums of more than 2^20 products are declined before."""
    return Fraction(n, (1 << 24) - n)
