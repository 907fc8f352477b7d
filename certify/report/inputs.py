# SPDX-License-Identifier: Apache-2.0
"""The inputs that a claim is about: as pictures where they are images, else as a table of ranges.

Values are those of the claim's x: behind `scale`, before `subtract` and `divide`. What a picture shows is said below it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from certify.report.html import Html, Section, join, number, paragraph, some, table
from certify.report.pictures import Shape, difference, gallery, image_shape, picture
from certify.rules.unsafe_set import UnsafeSet

_MOST_INPUTS = 24
Values = tuple[Fraction, ...]


@dataclass(frozen=True)
class Question:
    """The problem that the subjects denote; `centre` is the point that the inputs are near, `clip` the range of the claim, where there is one;
    `unit` says in words what the values are.
    """

    unsafe: UnsafeSet
    centre: Values | None = None
    clip: tuple[Fraction, Fraction] | None = None
    norm: str = "linf"
    unit: str = ""

    @property
    def shape(self) -> Shape | None:
        """The layout of the input as an image, or None."""
        return image_shape(self.unsafe.network.input_shape, self.unsafe.network.inputs)

    def ends(self, part: int) -> tuple[Values, Values]:
        """Return the lower and the upper ends of a part's box, in the claim's coordinates."""
        box = self.unsafe.parts[part]
        multiply, add = self.unsafe.multiply, self.unsafe.add
        lower, upper = (tuple(v * m + a for v, m, a in zip(corner, multiply, add, strict=True)) for corner in (box.lower, box.upper))
        return lower, upper


def input_section(question: Question, witness: Values | None) -> Section:
    """Return the section on the inputs: the point, the box around it, and the counterexample where there is one."""
    body = _tables(question, witness) if question.shape is None else _pictures(question, question.shape, witness)
    parts = len(question.unsafe.parts)
    if parts > 1:
        body = join([body, paragraph(f"The property consists of {parts} boxes; the first is shown, {some(parts - 1, 'box', 'boxes')} "
                                     "left out.")])
    return Section("input", "The inputs", body)


def grey_range(lower: Sequence[Fraction], upper: Sequence[Fraction], clip: tuple[Fraction, Fraction] | None) -> tuple[Fraction, Fraction]:
    """Return the values that are drawn black and white: the clip range, or the ends of the box."""
    return clip if clip is not None else (min(lower), max(upper))


def witness_pictures(shape: Shape, centre: Values | None, witness: Values, low: Fraction, high: Fraction) -> list[Html]:
    """Return the counterexample, and how it differs from the point where there is one."""
    found = [picture(witness, shape, low, high, "the counterexample as an image", "Counterexample")]
    if centre is not None:
        change = tuple(a - b for a, b in zip(witness, centre, strict=True))
        largest = max(map(abs, change))
        found.append(difference(change, shape, "the counterexample minus the point as an image",
                                f"Counterexample minus point: red is higher, blue lower, full colour {number(largest)}"))
    return found


def _pictures(question: Question, shape: Shape, witness: Values | None) -> Html:
    lower, upper = question.ends(0)
    low, high = grey_range(lower, upper, question.clip)
    figures = []
    if question.centre is not None:
        figures.append(picture(question.centre, shape, low, high, "the point as an image", "The point"))
    if witness is not None:
        figures += witness_pictures(shape, question.centre, witness, low, high)
    width = tuple(b - a for a, b in zip(lower, upper, strict=True))
    figures += [picture(lower, shape, low, high, "the lowest value of each pixel as an image", "Lower corner: the lowest value of each pixel"),
                picture(upper, shape, low, high, "the highest value of each pixel as an image", "Upper corner: the highest value of each pixel"),
                picture(width, shape, Fraction(0), max(width), "the width of the range of each pixel as an image",
                        f"Width of each pixel's range: black 0, white {number(max(width))}")]
    box = "" if question.norm == "linf" else f" The inputs are those of the box that are also in the {question.norm} ball around the point."
    return join([paragraph(f"{shape.words} Black is {number(low)}, white {number(high)}{question.unit}.{box}"), gallery(*figures)])


def _tables(question: Question, witness: Values | None) -> Html:
    lower, upper = question.ends(0)
    box = question.unsafe.parts[0]
    columns = [("lowest", [f"{number(v, 9)}{' (excluded)' if i in box.open_lower else ''}" for i, v in enumerate(lower[:_MOST_INPUTS])]),
               ("highest", [f"{number(v, 9)}{' (excluded)' if i in box.open_upper else ''}" for i, v in enumerate(upper[:_MOST_INPUTS])])]
    if question.centre is not None:
        columns.insert(0, ("point", [number(v, 9) for v in question.centre[:_MOST_INPUTS]]))
    if witness is not None:
        columns.append(("counterexample", [number(v, 9) for v in witness[:_MOST_INPUTS]]))
    lines = [[f"X_{i}", *(values[i] for _, values in columns)] for i in range(min(len(lower), _MOST_INPUTS))]
    parts = [table(["input", *(name for name, _ in columns)], lines, f"Ranges of the inputs{question.unit}, with nine significant digits")]
    if len(lower) > _MOST_INPUTS:
        parts.append(paragraph(f"{some(len(lower) - _MOST_INPUTS, 'input')} of {len(lower)} left out."))
    if question.norm != "linf":
        parts.append(paragraph(f"The inputs are those of the box that are also in the {question.norm} ball around the point."))
    return join(parts)
