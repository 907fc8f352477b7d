# SPDX-License-Identifier: Apache-2.0
"""Which combination of a conjunct's rows has the best bound, from a plane below each row: no point of a box lets all of them be <= 0.

The bound of a combination is concave in the weights, and piecewise linear along a line; so, along the line from the combination so far to a
row, it is largest at an end or where a coefficient changes its sign. Weights are multiples of a power of two: certificates stay short.
"""

from __future__ import annotations

import numpy as np

from certify_solvers.crown.kernel import Array

_ROUNDS = 3
_STEP = 2.0**12
_MOST = 8  # rows, those with the best bounds of their own, that a combination is made of


def combine(planes: Array, constants: Array, lower: Array, upper: Array) -> tuple[Array, Array]:
    """Return (bounds, weights) of a good combination of planes.x + constants, of shape (boxes, rows, ...), on each box [lower, upper].

    Weights are >= 0 with sum 1; the bound is at least that of the best row.
    """
    middle, radius = (lower + upper) / 2, (upper - lower) / 2
    own = constants + np.einsum("bri,bi->br", planes, middle) - np.einsum("bri,bi->br", np.abs(planes), radius)
    every, first = np.arange(len(own)), own.argmax(axis=1)
    best, plane, constant = own[every, first], planes[every, first], constants[every, first]
    weights = np.zeros(own.shape)
    weights[every, first] = 1.0
    rows = np.argsort(-own, axis=1, kind="stable")[:, :_MOST]
    ends, end_constants = np.take_along_axis(planes, rows[:, :, None], axis=1), np.take_along_axis(constants, rows, axis=1)
    for _ in range(_ROUNDS):
        way, rise = ends - plane[:, None], end_constants - constant[:, None]
        with np.errstate(all="ignore"):  # no kink where the coefficient does not change
            kinks = -plane[:, None] / way
        share = np.round(np.clip(np.nan_to_num(kinks), 0.0, 1.0) * _STEP) / _STEP
        there = plane[:, None, None] + share[..., None] * way[:, :, None]
        values = constant[:, None, None] + share * rise[..., None] + np.einsum("brki,bi->brk", there, middle)
        values = (values - np.einsum("brki,bi->brk", np.abs(there), radius)).reshape(len(own), -1)
        found = values.argmax(axis=1)
        step = np.where(values[every, found] > best, share.reshape(len(own), -1)[every, found], 0.0)
        row = found // share.shape[2]
        best = np.fmax(best, values[every, found])
        plane, constant = plane + step[:, None] * way[every, row], constant + step * rise[every, row]
        weights = weights * (1 - step)[:, None]
        weights[every, rows[every, row]] += step
    return best, weights
