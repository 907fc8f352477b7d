# SPDX-License-Identifier: Apache-2.0
"""Outward rounding in binary64 without touching the FPU's rounding mode.

u = 2^-53 is the unit roundoff, gamma_n = n u / (1 - n u), S = 2^-300 the snap size. Guarantees, for |x| <= 2^1000:
`down(fl(z)) <= z <= up(fl(z))` for one rounded operation z; `gamma(n) >= (1 + 2^-21) gamma_n` for n < 2^30; a sum of fewer
than 2^29 non-negative products and a few more rounded operations on it are below `KAPPA` times their computed value.

Proof of `down` (x = fl(z), so |z - x| <= u|x|). Let 2^e <= |x| < 2^(e+1); ulp = 2u 2^e. t = fl(fl(2u|x|) + S) >= 2u|x| >= ulp, or
>= S where 2u|x| underflows, and then u|x| < S. x - ulp is a double, and rounding is monotone, so
fl(x - t) <= x - ulp <= x - u|x| <= z. `up` is its mirror image. Source: Higham, Accuracy and Stability, 2nd ed., chapter 3.
"""

from __future__ import annotations

from fractions import Fraction
from math import inf, isinf, nextafter
from typing import Any

import numpy as np

from certify.errors import Rejected

Array = np.ndarray[Any, np.dtype[np.float64]]

U = 2.0**-53
SNAP = 2.0**-300
LARGE = 2.0**300
KAPPA = 1.0 + 2.0**-20


def down(x: Array) -> Array:
    """Return doubles below every z whose rounded value is x."""
    return x - (np.abs(x) * 2.0**-52 + SNAP)


def up(x: Array) -> Array:
    """Return doubles above every z whose rounded value is x."""
    return x + (np.abs(x) * 2.0**-52 + SNAP)


def gamma(n: int) -> float:
    """Return a double above gamma_n, with room for a few roundings; raises ValueError for n of 2^30 or more."""
    if not 0 <= n < 1 << 30:
        raise ValueError("gamma is for fewer than 2^30 operations")
    return n * U * KAPPA


def below(value: Fraction) -> float:
    """Return the largest double <= value; raises Rejected `number-too-large` where there is no finite one."""
    near = _nearest(value)
    return _finite(near if near <= value else nextafter(near, -inf))


def above(value: Fraction) -> float:
    """Return the smallest double >= value; raises Rejected `number-too-large` where there is no finite one."""
    return -below(-value)


def snap_lower(lower: Array) -> Array:
    """Return lower bounds whose entries are 0 or at least S in size, moved downward only."""
    tiny = (lower != 0) & (np.abs(lower) < SNAP)
    return np.where(tiny, np.where(lower > 0, 0.0, -SNAP), lower)


def snap_upper(upper: Array) -> Array:
    """Return upper bounds whose entries are 0 or at least S in size, moved upward only."""
    return -snap_lower(-upper)


def require_size(values: Array, what: str) -> None:
    """Raise Rejected `number-too-large` unless all values are finite and at most 2^300 in size."""
    if not bool((np.abs(values) <= LARGE).all()):
        raise Rejected("number-too-large", f"{what} exceed 2^300 in size: exactness can't be kept",
                       fix="such a network or region can't be checked in f64-gamma")


def _nearest(value: Fraction) -> float:
    try:
        near = value.numerator / value.denominator  # Python rounds the quotient of two integers correctly
    except OverflowError:
        near = inf
    return _finite(near)


def _finite(value: float) -> float:
    if isinf(value):
        raise Rejected("number-too-large", "a rational number exceeds the range of binary64",
                       fix="such a region or property can't be checked in f64-gamma")
    return value
