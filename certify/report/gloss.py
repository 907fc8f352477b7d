# SPDX-License-Identifier: Apache-2.0
"""A claim about points in plain words, for the box of the verdict: how much may change, and what then stays or does not.

The words are made from the claim alone. The sentence of the claim says the same exactly; where the two seem to differ, the sentence counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from certify.report.html import number
from certify.report.pictures import Shape


def change(given: Mapping[str, Any], shape: Shape | None) -> str:
    """Return how much an input of the ball may change, in the units of the points file, as the end of "if ..."."""
    radius = given["radius"] if given["radius_unit"] == "raw" else given["radius"] / given["scale"]
    clip, noun = given["clip"], "pixel" if shape is not None else "input"
    width = (clip[1] - clip[0]) / given["scale"] if clip is not None else Fraction(0)
    if given["norm"] != "linf":
        how = "the root of the sum of their squares" if given["norm"] == "l2" else "their sum"
        return f"the changes of all {noun}s together, {how}, are at most {number(radius)} in the units of the points file"
    if width and shape is not None and shape.channels == 1 and width.denominator == 1 and radius <= width:
        return f"each pixel may change by at most {number(radius)} of {width} grey levels"
    part = f" ({number(100 * radius / width, 2)} % of the range)" if width and radius <= width else ""
    return f"each {noun} may change by at most {number(radius)} in the units of the points file{part}"


def robust_words(given: Mapping[str, Any], holds: bool, shape: Shape | None) -> str:
    """Return what a `robust` claim says."""
    who = "every float32 execution of the network" if given["semantics"] == "exec32" else "the network"
    if holds:
        return f"In plain words: {change(given, shape)}, starting from row {given['row']}, and {who} still answers {given['label']}."
    return (f"In plain words: {change(given, shape)}, starting from row {given['row']}; for at least one such change, shown below, the network does "
            f"not answer {given['label']} alone.")


def accuracy_words(given: Mapping[str, Any], says: Mapping[str, Any], shape: Shape | None) -> str:
    """Return what an `accuracy` claim says."""
    return (f"In plain words: {change(given, shape)}. On {says['robust_at_least']} of {says['of']} rows no such change brings the network off the "
            f"label; on {says['not_robust_at_least']} it is wrong already, or some such change brings it off; on the other "
            f"{says['of'] - says['robust_at_least'] - says['not_robust_at_least']} nothing was shown.")


def region_words(holds: bool) -> str:
    """Return what a `region` claim says."""
    return ("In plain words: every input within the bounds of the property was covered, and none is unsafe." if holds else
            "In plain words: an input within the bounds of the property is unsafe; it is shown below.")
