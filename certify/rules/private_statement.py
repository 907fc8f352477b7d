# SPDX-License-Identifier: Apache-2.0
"""From files to the integers of a private claim: regions in steps of the input grid, rows with thresholds in units of totals.

Let GX = input_scale, GT = total_scale, and x' = (x - offset) scale the policy's map of inputs. Guarantee: every x of the asked region has x' in the
region returned (ends are rounded outward), and the rows returned, if they hold at x', give what is asked of f exactly: thresholds are rounded up, and
one unit is added where equality is unsafe. What is asked is compared with the domain, and shown to have points, in the exact rationals of the file.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import repeat
from math import ceil, floor, gcd, isqrt, lcm

from certify.errors import Declined, Rejected
from certify.limits import Limits
from certify.readers.commitment import Commitment, arithmetic
from certify.readers.formula import Parts, Row, exact, parts
from certify.readers.vnnlib1 import read_vnnlib1
from certify_zk.policy import Policy
from certify_zk.statement import COEFFICIENT, MOST_BOXES, Ball, Box, Rows, require_rows

Point = tuple[Fraction, ...]


def read_property(data: bytes, format: str, commitment: Commitment, limits: Limits) -> Parts:
    """Return the parts of a VNN-LIB file about a committed network, whose inputs have constant bounds only.

    Raises Declined with a `vnnlib-` code or `property-form`, or Rejected `claim-vacuous`.
    """
    policy = commitment.policy
    if format == "vnnlib-2":
        from certify.readers.vnnlib2 import read_vnnlib2  # what a verdict doesn't need isn't imported
        found = read_vnnlib2(data, limits)
    else:
        found = read_vnnlib1(data, limits)
    inputs, outputs = policy.size(0), policy.size(policy.depth)
    if (found.inputs, found.outputs) != (inputs, outputs):
        raise Declined("vnnlib-shape", f"the property declares {found.inputs} inputs and {found.outputs} outputs, the committed network has {inputs} "
                       f"and {outputs}", fix="check that the property belongs to this network")
    made = parts(found, limits)
    if not made.parts:
        raise Rejected("claim-vacuous", "no input belongs to the region", fix="check the bounds of the property: lower ends lie above upper ends")
    for part in made.parts:
        if part.ball is not None or any(row.inputs for conjunct in part.conjuncts for row in conjunct):
            raise _form("a row of the property constrains inputs", "only bounds of single inputs are taken")
    return made


def boxes(policy: Policy, found: Sequence[tuple[Point, Point]], limits: Limits) -> tuple[Box, ...]:
    """Return boxes, of (lower, upper) corners that are not empty, on the grid of inputs; raises Rejected `outside-domain` or Declined
    `property-range` or `limit-reached`.
    """
    _require_few(len(found))
    return tuple(_box(policy, lower, upper, limits) for lower, upper in found)


def corners(found: Parts) -> list[tuple[Point, Point]]:
    """Return the corners of the boxes of a property."""
    return [(part.lower, part.upper) for part in found.parts]


def unsafe_rows(found: Parts) -> tuple[Row, ...]:
    """Return the rows g of a property such that y is unsafe where some g(y) <= 0, the same for every box.

    Raises Declined `property-disjunction` for an unsafe set that is no union of half-spaces, `property-form` for one that differs between boxes.
    """
    asked, numbers, known = found.parts[0].conjuncts, dict[str, int](), dict[int, int]()

    def number(row: Row) -> int:
        """Return the same number for equal rows; each is looked at once, however many disjuncts it is part of."""
        if id(row) not in known:
            known[id(row)] = numbers.setdefault(_key(row), len(numbers))
        return known[id(row)]

    outputs = [{tuple(map(number, conjunct)) for conjunct in part.conjuncts} for part in found.parts]
    if any(some != outputs[0] for some in outputs):
        raise _form("boxes of the property have different unsafe outputs", "ask in several files, one for each set of outputs")
    if any(not conjunct for conjunct in asked):
        raise _form("a disjunct of the property constrains no output", "all its inputs are unsafe, whatever the network does")
    if any(len(conjunct) > 1 for conjunct in asked):
        raise Declined("property-disjunction", "an unsafe set of the property is an intersection of half-spaces", where="property",
                       fix="its complement is a union, which needs a case split for each input: ask for one half-space")
    return tuple({number(row): row for (row,) in asked}.values())


def label(found: Parts, outputs: int) -> int:
    """Return the class y of a property whose unsafe set says that another class is at least as high; raises Declined `property-form`."""
    pairs = set()
    for row in unsafe_rows(found):
        signs = sorted((value, index) for index, value in row.outputs.items() if value)
        if row.constant or row.strict or len(signs) != 2 or signs[0][0] + signs[1][0] != 0:
            raise _form("a row of the property is not of the form Y_c >= Y_y", "ask for other rows with private-linear")
        pairs.add((signs[1][1], signs[0][1]))
    labels = {pair[0] for pair in pairs}
    if len(labels) != 1 or {pair[1] for pair in pairs} | labels != set(range(outputs)):
        raise _form("the unsafe set of the property is not that any other class is at least as high as one class",
                    "name every other class: (or (and (>= Y_1 Y_0)) (and (>= Y_2 Y_0)))")
    return labels.pop()


def rows(policy: Policy, found: Parts, limits: Limits) -> Rows:
    """Return the rows that keep the outputs out of the unsafe set; raises Declined `property-range`, `limit-reached` or as `unsafe_rows` does."""
    coefficients, thresholds = [], []
    for row in require_rows(unsafe_rows(found), policy.size(policy.depth)):
        values = row.outputs.values()
        spend(limits, len(values), (*values, row.constant), "rounding a row of the property")
        if not any(values):
            raise _form("a row of the property has no output", "leave it out")
        common = lcm(*(value.denominator for value in values))
        factor = Fraction(common, gcd(*(value.numerator * (common // value.denominator) for value in values)))
        dense = [0] * policy.size(policy.depth)
        for index, value in row.outputs.items():
            dense[index] = int(value * factor)
        if max(map(abs, dense)) > COEFFICIENT.high:
            raise Declined("property-range", f"a row of the property needs coefficients above {COEFFICIENT.high}", where="property",
                           fix=f"coefficients are at most {COEFFICIENT.high}, once they are integers without a common factor")
        coefficients.append(tuple(dense))
        thresholds.append(threshold(policy, -row.constant * factor, strict=not row.strict))
    return Rows(tuple(coefficients), tuple(thresholds))


def threshold(policy: Policy, value: Fraction, strict: bool) -> int:
    """Return the least threshold in units of totals that gives at least a value, or more than it if `strict`."""
    units = value * (1 << policy.total_scale)
    return floor(units) + 1 if strict else ceil(units)


def units(policy: Policy, margin: Fraction) -> int:
    """Return a margin in units of totals; raises Rejected `claim-mismatch` unless it is a positive whole number of them."""
    found = margin * (1 << policy.total_scale)
    if found.denominator != 1 or found <= 0:
        raise Rejected("claim-mismatch", f"a margin of {margin} is no positive multiple of 1/{1 << policy.total_scale}, the unit of this commitment",
                       where="claim.says.margin_at_least")
    return int(found)


def balls(policy: Policy, centres: Sequence[Point], radius: Fraction, limits: Limits) -> tuple[Ball, ...]:
    """Return balls on the grid that hold all x >= the domain's lower corner within a radius of a centre.

    Raises Rejected `outside-domain`, or Declined `property-form` where inputs have several scales, `property-range` or `limit-reached`.
    """
    _require_few(len(centres))
    if len(policy.inputs.scale) != 1:
        raise _form("the commitment has a scale for each input", "a ball needs one common scale of all inputs")
    return tuple(_ball(policy, centre, radius, limits) for centre in centres)


def _ball(policy: Policy, centre: Point, radius: Fraction, limits: Limits) -> Ball:
    spend(limits, len(centre), (*centre, *policy.inputs.offset, *policy.inputs.scale, radius), "rounding a ball of the property")
    require_domain(policy, centre, centre)
    scale, grid = policy.inputs.scale[0], 1 << policy.input_scale
    mapped = [(value - offset) * scale * grid for value, offset in zip(centre, spread(policy, policy.inputs.offset), strict=True)]
    snapped = tuple(floor(value + Fraction(1, 2)) for value in mapped)
    squares = sum(ceil((value - near) ** 2 * (1 << 40)) for value, near in zip(mapped, snapped, strict=True))
    moved = Fraction(isqrt(squares) + 1, 1 << 20) if squares else Fraction(0)
    return Ball(snapped, ceil(radius * scale * grid + moved))


def on_grid(policy: Policy, point: Point, limits: Limits) -> Box:
    """Return the box that is one point; raises Rejected `outside-domain`, or `claim-mismatch` for a point between the grid's."""
    box = _box(policy, point, point, limits)
    if any(box.width):
        raise Rejected("claim-mismatch", f"the point is not on the grid of 1/{1 << policy.input_scale} of the commitment", where="claim.given.point")
    return box


def require_domain(policy: Policy, lower: Point, upper: Point) -> None:
    """Raise Rejected `outside-domain` unless a box lies in the policy's domain, exactly."""
    ends = (spread(policy, values) for values in (policy.inputs.lower, policy.inputs.upper))
    for index, (low, high, least, most) in enumerate(zip(lower, upper, *ends, strict=True)):
        if not least <= low <= high <= most:
            raise Rejected("outside-domain", f"input {index} goes from {_shown(low)} to {_shown(high)}, and the domain from {least} to {most}",
                           where="property", fix="ask about inputs of the domain, which `certify show` of the commitment prints")


def spread(policy: Policy, values: Point) -> Point:
    """Return one entry for each input."""
    return values * policy.size(0) if len(values) == 1 else values


def spend(limits: Limits, count: int, numbers: Sequence[Fraction], what: str) -> None:
    """Charge a few steps of arithmetic with so many rationals, as long as the longest of `numbers`; raises Declined `limit-reached`."""
    limits.spend(arithmetic(count, numbers), what)


def _require_few(count: int) -> None:
    if count > MOST_BOXES:
        raise Declined("property-range", f"{count} boxes", where="property", fix=f"at most {MOST_BOXES} are taken: ask in several files")


def _shown(value: Fraction) -> str:
    """Return a rational, or a word for one that is too long to be read."""
    return "a long number" if max(value.numerator.bit_length(), value.denominator.bit_length()) > 1 << 12 else str(value)


def _box(policy: Policy, lower: Point, upper: Point, limits: Limits) -> Box:
    spend(limits, len(lower), (*lower, *upper, *policy.inputs.offset, *policy.inputs.scale), "rounding a box of the property")
    require_domain(policy, lower, upper)
    grid, offsets, scales = 1 << policy.input_scale, spread(policy, policy.inputs.offset), spread(policy, policy.inputs.scale)
    ends = list(zip(lower, upper, offsets, scales, repeat(grid)))
    low = tuple(floor((first - offset) * scale * step) for first, _, offset, scale, step in ends)
    high = tuple(ceil((last - offset) * scale * step) for _, last, offset, scale, step in ends)
    return Box(low, tuple(last - first for first, last in zip(low, high, strict=True)))


def _key(row: Row) -> str:
    """Return a row of outputs in a form that can be compared: text, for hashes of rationals are easily made to collide."""
    return " ".join((*(f"{index}:{exact(value)}" for index, value in sorted(row.outputs.items())), exact(row.constant), str(row.strict)))


def _form(what: str, fix: str) -> Declined:
    return Declined("property-form", what, where="property", fix=fix)
