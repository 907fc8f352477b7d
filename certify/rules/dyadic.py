# SPDX-License-Identifier: Apache-2.0
"""Binary64 arrays as integers over one power of two, exactly."""

from __future__ import annotations

import numpy as np

from certify.readers.network import Array


def integers(values: Array) -> tuple[np.ndarray, int]:
    """Return (k, p) with values = k 2^-p exactly, p >= 0, k integers (an object array where int64 is too small)."""
    mantissa, exponent = np.frexp(values)
    whole = (mantissa * 2.0**53).astype(np.int64)
    nonzero = whole != 0
    if not nonzero.any():
        return np.zeros(values.shape, np.int64), 0
    trailing = np.frexp((whole & -whole).astype(np.float64))[1] - 1  # of a power of two, exactly its logarithm
    whole = np.where(nonzero, whole >> np.where(nonzero, trailing, 0), 0)
    exponent = np.where(nonzero, exponent - 53 + trailing, 0)
    power = max(0, -int(exponent[nonzero].min()))
    shift = np.where(nonzero, exponent + power, 0)
    if int(exponent[nonzero].max()) + power + 53 < 62:
        return whole << shift, power
    return np.array([int(k) << int(s) for k, s in zip(whole.reshape(-1), shift.reshape(-1), strict=True)], object).reshape(values.shape), power
