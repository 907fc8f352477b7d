# SPDX-License-Identifier: Apache-2.0
"""Lines whose flows obey Ohm's law: susceptances, and angle limits as limits of flow.

pi enters through an enclosure, on the tight side in upper claims and on the loose side in claims about attacks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

from certify.errors import Declined
from certify.readers.matpower import Branch
from certify.readers.power import Line

_FREE, _OTHER = "use operator transport (which says nothing about dc)", "use operator dc-switch or transport (which say nothing about dc)"
_PI_BELOW, _PI_ABOVE = Fraction(314159265358979, 10**14), Fraction(314159265358980, 10**14)


def bound_line(line: Line, branch: Branch, base: Fraction, operator: str, model: Mapping[str, str], attack: bool) -> Line:
    """Return the line with its susceptance and tighter limits; raises Declined where the operator does not cover it."""
    where, low, high = f"row {line.row} of mpc.branch", line.low, line.high
    if branch.x == 0 or (operator == "dc" and branch.x < 0):
        raise Declined("susceptance-not-positive", f"the reactance is {float(branch.x):g}", where=where, fix=_OTHER if branch.x else _FREE)
    if operator == "dc" and branch.shift != 0:
        raise Declined("phase-shift-unsupported", f"the phase shift is {float(branch.shift):g} degrees", where=where, fix=_OTHER)
    susceptance = base / (branch.x * (branch.ratio or 1))
    if model["angle_limits"] == "enforced" and (branch.angle_min or branch.angle_max):
        factor = susceptance * (_PI_ABOVE if attack else _PI_BELOW) / 180
        ends = [(branch.angle_min - branch.shift) * factor if branch.angle_min > -360 else None,
                (branch.angle_max - branch.shift) * factor if branch.angle_max < 360 else None]
        below, above = ends if susceptance > 0 else ends[::-1]
        low = below if low is None else low if below is None else max(low, below)
        high = above if high is None else high if above is None else min(high, above)
        if (low is not None and low >= 0) or (high is not None and high <= 0):
            raise Declined("angle-limit-excludes-zero", "its angle limits don't allow a flow of 0", where=where,
                           fix="set angle_limits to ignored, or correct them")
    return replace(line, low=low, high=high, susceptance=susceptance, shift=branch.shift)
