# SPDX-License-Identifier: Apache-2.0
"""Splits on the sign of a neuron: on the part of a region on which sigma z_i >= 0, sigma = 1 or -1, z the input of a ReLU.

There the lower (sigma = 1) or the upper (sigma = -1) bound of z_i may be raised or lowered to 0. For any beta >= 0, spec >= spec - beta sigma z_i,
so a row may lose beta sigma from its coefficient of z_i. Coverage: every point lies in the part with z_i >= 0 or in that with z_i <= 0; in
float32 executions z is the computed value, and a region is a set of executions. Where a lower bound lies above an upper one, no point is left.
Source: Wang et al., beta-CROWN, NeurIPS 2021.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from certify.readers.network import Network
from certify.rules.relaxation import Bounds, clamp

Array = np.ndarray[Any, Any]
Path = tuple[tuple[int, int], ...]
"""(neuron, sigma) of each split on the way to a node; neurons are numbered through the ReLU layers in order."""


def signs(network: Network, paths: Sequence[Path]) -> dict[int, Array]:
    """Return, for each ReLU layer, sigma of each neuron of each region, 0 where it is not split, or on both sides."""
    return _spread(network, paths, np.int16)


def multipliers(network: Network, rows: Sequence[tuple[Path, Sequence[Any]]], dtype: Any) -> dict[int, Array]:
    """Return, for each ReLU layer, the sum of beta sigma of each neuron for each row, given its path and the betas along it."""
    return _spread(network, [[(neuron, beta * sigma) for (neuron, sigma), beta in zip(path, betas, strict=True)] for path, betas in rows], dtype)


def clamped(bounds: Bounds, sigma: Mapping[int, Array]) -> tuple[Bounds, Array]:
    """Return bounds on the selected parts, and which of them hold no point."""
    lower, upper = list(bounds.lower), list(bounds.upper)
    for k, chosen in sigma.items():
        lower[k], upper[k] = clamp(lower[k], upper[k], chosen)
    empty: Array = np.any([(low > high).any(axis=1) for low, high in zip(lower, upper, strict=True)], axis=0)
    return Bounds(tuple(lower), tuple(upper)), empty


def _spread(network: Network, rows: Sequence[Sequence[tuple[int, Any]]], dtype: Any) -> dict[int, Array]:
    ends = np.cumsum([network.layers[k].size for k in network.activations])
    made = np.zeros((len(rows), int(ends[-1])), dtype)
    for index, row in enumerate(rows):
        for neuron, value in row:
            made[index, neuron] += value
    return dict(zip(network.activations, np.split(made, ends[:-1], axis=1), strict=True))
