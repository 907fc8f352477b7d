# SPDX-License-Identifier: Apache-2.0
"""Lower bounds for one attack: a cut read off the prices of a linear program, evaluated exactly."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from certify.readers.power import Network
from certify.rules.grid_words import rounded
from certify.rules.shedding_dual import dual_bound
from certify_solvers.grid.nodelp import Array


def best_cut(network: Network, attacked: tuple[int, ...], prices: Array) -> tuple[Fraction, np.ndarray]:
    """Return the largest bound of the cuts at a few thresholds of the prices, in MW down to a billionth, and the side of each bus (uint8)."""
    size = np.abs(prices)
    best, side = Fraction(0), np.zeros(len(prices), np.uint8)
    for threshold in sorted({0.5, *(float(v) / 2 for v in np.unique(np.round(size, 6))[:8])} - {0.0}):
        mine = (size > threshold).astype(np.uint8)
        bound = rounded(dual_bound(network, frozenset(attacked), [Fraction(int(v)) for v in mine], None), up=False)
        if bound > best:
            best, side = bound, mine
    return best, side
