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
from certify.readers.commitment import Commitment
from certify.readers.formula import Part, Parts, Row, parts
from certify.readers.vnnlib1 import read_vnnlib1
from certify_zk.policy import Policy
from certify_zk.statement import COEFFICIENT, MOST_BOXES, Ball, Box, Rows

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


def boxes(policy: Policy, found: Sequence[tuple[Point, Point]]) -> tuple[Box, ...]:
    """Return boxes, of (lower, upper) corners that are not empty, on the grid of inputs; raises Rejected `outside-domain` or Declined
    `property-range`.
    """
    if len(found) > MOST_BOXES:
        raise Declined("property-range", f"{len(found)} boxes", where="property", fix=f"at most {MOST_BOXES} are taken: ask in several files")
    return tuple(_box(policy, lower, upper) for lower, upper in found)


def corners(found: Parts) -> list[tuple[Point, Point]]:
    """Return the corners of the boxes of a property."""
    return [(part.lower, part.upper) for part in found.parts]


def unsafe_rows(found: Parts) -> tuple[Row, ...]:
    """Return the rows g of a property such that y is unsafe where some g(y) <= 0, the same for every box.

    Raises Declined `property-disjunction` for an unsafe set that is no union of half-spaces, `property-form` for one that differs between boxes.
    """
    asked = found.parts[0].conjuncts
    if any(_outputs(part) != _outputs(found.parts[0]) for part in found.parts):
        raise _form("boxes of the property have different unsafe outputs", "ask in several files, one for each set of outputs")
    if any(not conjunct for conjunct in asked):
        raise _form("a disjunct of the property constrains no output", "all its inputs are unsafe, whatever the network does")
    if any(len(conjunct) > 1 for conjunct in asked):
        raise Declined("property-disjunction", "an unsafe set of the property is an intersection of half-spaces", where="property",
                       fix="its complement is a union, which needs a case split for each input: ask for one half-space")
    return tuple({_key(row): row for (row,) in asked}.values())


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


def rows(policy: Policy, found: Parts) -> Rows:
    """Return the rows that keep the outputs out of the unsafe set; raises Declined `property-range` or as `unsafe_rows` does."""
    outputs = policy.size(policy.depth)
    coefficients, thresholds = [], []
    for row in unsafe_rows(found):
        dense = [row.outputs.get(index, Fraction(0)) for index in range(outputs)]
        if not any(dense):
            raise _form("a row of the property has no output", "leave it out")
        common = lcm(*(value.denominator for value in dense))
        whole = [int(value * common) for value in dense]
        factor = Fraction(common, gcd(*whole))
        scaled = tuple(int(value * factor) for value in dense)
        if max(map(abs, scaled)) > COEFFICIENT.high:
            raise Declined("property-range", f"a row of the property needs coefficients of {max(map(abs, scaled))}", where="property",
                           fix=f"coefficients are at most {COEFFICIENT.high}, once they are integers without a common factor")
        coefficients.append(scaled)
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


def ball(policy: Policy, centre: Point, radius: Fraction) -> Ball:
    """Return a ball on the grid that holds all x >= the domain's lower corner within a radius of a centre.

    Raises Rejected `outside-domain`, or Declined `property-form` where inputs have several scales.
    """
    if len(policy.inputs.scale) != 1:
        raise _form("the commitment has a scale for each input", "a ball needs one common scale of all inputs")
    require_domain(policy, centre, centre)
    scale, grid = policy.inputs.scale[0], 1 << policy.input_scale
    exact = [(value - offset) * scale * grid for value, offset in zip(centre, spread(policy, policy.inputs.offset), strict=True)]
    snapped = tuple(floor(value + Fraction(1, 2)) for value in exact)
    squares = sum(((value - near) ** 2 for value, near in zip(exact, snapped, strict=True)), Fraction(0))
    moved = Fraction(isqrt(ceil(squares * (1 << 40))) + 1, 1 << 20) if squares else Fraction(0)
    return Ball(snapped, ceil(radius * scale * grid + moved))


def on_grid(policy: Policy, point: Point) -> Box:
    """Return the box that is one point; raises Rejected `outside-domain`, or `claim-mismatch` for a point between the grid's."""
    box = _box(policy, point, point)
    if any(box.width):
        raise Rejected("claim-mismatch", f"the point is not on the grid of 1/{1 << policy.input_scale} of the commitment", where="claim.given.point")
    return box


def require_domain(policy: Policy, lower: Point, upper: Point) -> None:
    """Raise Rejected `outside-domain` unless a box lies in the policy's domain, exactly."""
    ends = (spread(policy, values) for values in (policy.inputs.lower, policy.inputs.upper))
    for index, (low, high, least, most) in enumerate(zip(lower, upper, *ends, strict=True)):
        if not least <= low <= high <= most:
            raise Rejected("outside-domain", f"input {index} goes from {low} to {high}, and the commitment's domain from {least} to {most}",
                           where="property", fix="ask about inputs of the domain, which `certify show` of the commitment prints")


def spread(policy: Policy, values: Point) -> Point:
    """Return one entry for each input."""
    return values * policy.size(0) if len(values) == 1 else values


def _box(policy: Policy, lower: Point, upper: Point) -> Box:
    require_domain(policy, lower, upper)
    grid, offsets, scales = 1 << policy.input_scale, spread(policy, policy.inputs.offset), spread(policy, policy.inputs.scale)
    ends = list(zip(lower, upper, offsets, scales, repeat(grid)))
    low = tuple(floor((first - offset) * scale * step) for first, _, offset, scale, step in ends)
    high = tuple(ceil((last - offset) * scale * step) for _, last, offset, scale, step in ends)
    return Box(low, tuple(last - first for first, last in zip(low, high, strict=True)))


_Key = tuple[tuple[tuple[int, Fraction], ...], Fraction, bool]


def _key(row: Row) -> _Key:
    """Return a row of outputs in a form that can be compared."""
    return tuple(sorted(row.outputs.items())), row.constant, row.strict


def _outputs(part: Part) -> frozenset[tuple[_Key, ...]]:
    return frozenset(tuple(map(_key, conjunct)) for conjunct in part.conjuncts)


def _form(what: str, fix: str) -> Declined:
    return Declined("property-form", what, where="property", fix=fix)
