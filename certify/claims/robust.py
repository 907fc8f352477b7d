# SPDX-License-Identifier: Apache-2.0
"""`robust` v1: a classifier keeps its answer for every input near a given one, or doesn't for some.

Statement. Let f be the ONNX graph over the reals, x0 = scale * (row of the points file), B the x with |x_i - x0_i| <= radius (times
`scale` if `radius_unit` is raw) and clip_lo <= x_i <= clip_hi; the network gets (x - subtract) / divide.
`holds` true: for every x of B and every j other than label: f_label > f_j, strictly. `holds` false: for some x of B and j:
f_j >= f_label. B holds x0 (else `outside-domain`), so the claim is never vacuous; there are at least two outputs (`label-range`).
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from certify.certificate import Checked, Claim, Evidence, Files, Kind, Role
from certify.errors import Declined, Rejected
from certify.fields import Boolean, Choice, Integer, ListOf, Nullable, OneOrMany, Rational, Record
from certify.limits import Limits
from certify.readers.arrays import read_npy, read_row
from certify.readers.formula import Part, Row
from certify.readers.network import Network
from certify.readers.onnx_ops import read_network
from certify.readers.table import read_table
from certify.rules.unsafe_set import ARITHMETIC, BOUNDS_TREE, WITNESS, UnsafeSet, establish, refute

_NPY = b"\x93NUMPY"


def centre(given: Mapping[str, Any], points: bytes, network: Network, limits: Limits) -> tuple[Fraction, ...]:
    """Return x0 in scaled units: the row of the points file times `scale`; raises Rejected `claim-mismatch` where it doesn't fit."""
    row = given["row"]
    if points.startswith(_NPY):
        array = read_npy(points)
        rows, size = (array.shape[0], array[0].size if array.shape[0] else 0) if array.ndim else (0, 0)
    else:
        table = read_table(points, limits)
        rows, size = len(table.rows), len(table.columns)
    if row >= rows:
        raise Rejected("claim-mismatch", f"row {row} of a points file with {rows} rows", where="claim.given.row", fix="rows are numbered from 0")
    if size != network.inputs:
        raise Rejected("claim-mismatch", f"a row of the points file has {size} values, the network {network.inputs} inputs", where="points",
                       fix="give one row a point and one value an input, no ids or labels: .npy of shape (points, ...), or CSV with a header")
    values = read_row(array, row) if points.startswith(_NPY) else table.rows[row]
    return tuple(given["scale"] * value for value in values)


def label_in_file(labels: bytes, row: int, limits: Limits) -> int:
    """Return the label of a row in a labels file (.npy of integers, or one CSV column); raises Rejected `claim-mismatch`."""
    values: dict[int, Fraction] = {}
    try:
        if labels.startswith(_NPY):
            array = read_npy(labels)
            values = {row: Fraction(int(array[row]))} if array.ndim == 1 and array.dtype.kind in "iu" and row < len(array) else {}
        else:
            table = read_table(labels, limits)
            values = {row: table.rows[row][0]} if len(table.columns) == 1 and row < len(table.rows) else {}
    except Declined as trouble:
        trouble.where = f"labels {trouble.where}".rstrip()
        raise
    if row not in values or values[row].denominator != 1:
        raise Rejected("claim-mismatch", f"the labels file holds no integer label for row {row}", where="labels",
                       fix="give one column of integers, a row for each point")
    return int(values[row])


def problem(given: Mapping[str, Any], files: Files, limits: Limits) -> UnsafeSet:
    """Return the network and the unsafe set: inputs of the ball at which another class is at least as high; raises Declined or Rejected."""
    if given["semantics"] != "real" or given["norm"] != "linf":
        raise Declined("feature-unsupported", f"this version knows semantics real and norm linf, not {given['semantics']} and {given['norm']}",
                       fix="choose those, or use a newer version of certify")
    model, points, labels = files["model"], files["points"], files.get("labels")
    if isinstance(model, tuple) or isinstance(points, tuple) or isinstance(labels, tuple):
        raise TypeError("a role takes one file")
    network = read_network(model, limits)
    label, radius, clip = given["label"], given["radius"], given["clip"]
    if radius <= 0:
        raise Rejected("radius-sign", f"the radius {radius} is not above 0", where="claim.given.radius", fix="give a radius above 0")
    if network.outputs < 2 or label >= network.outputs:
        raise Rejected("label-range", f"label {label} of a network with {network.outputs} outputs", where="claim.given.label",
                       fix="labels are numbered from 0, and a classifier has at least two outputs")
    if labels is not None and (stored := label_in_file(labels, given["row"], limits)) != label:
        raise Rejected("claim-mismatch", f"the label is {label}, the labels file says {stored}", where="claim.given.label",
                       fix="give the label of the file, or no labels file")
    x0 = centre(given, points, network, limits)
    reach = radius * (given["scale"] if given["radius_unit"] == "raw" else 1)
    numbers = [given["scale"], radius, *(clip or ())]
    for name in ("subtract", "divide"):
        numbers += given[name] if isinstance(given[name], tuple) else [given[name]]
    words = max(v.numerator.bit_length() + v.denominator.bit_length() for v in numbers) // 16
    limits.spend(network.inputs * (2000 + 20 * words * words), "making the ball")
    lower, upper = [v - reach for v in x0], [v + reach for v in x0]
    if clip is not None and clip[0] > clip[1]:
        raise Rejected("outside-domain", f"no value lies in the clip range [{clip[0]}, {clip[1]}]: its ends are swapped", where="claim.given.clip",
                       fix="give the lower end first")
    if clip is not None:
        if not all(clip[0] <= v <= clip[1] for v in x0):
            raise Rejected("outside-domain", f"row {given['row']}, scaled, has values outside [{clip[0]}, {clip[1]}]", where="claim.given.clip",
                           fix="scale the points into the clip range (--set scale=...)")
        lower, upper = [max(v, clip[0]) for v in lower], [min(v, clip[1]) for v in upper]
    subtract, divide = (_per_input(given[name], network, name) for name in ("subtract", "divide"))
    box = [tuple((v - s) / d for v, s, d in zip(ends, subtract, divide, strict=True)) for ends in (lower, upper)]
    one = Fraction(1)
    conjuncts = tuple((Row({}, {label: one, other: -one}, Fraction(0)),) for other in range(network.outputs) if other != label)
    return UnsafeSet(network, (Part(box[0], box[1], conjuncts),), 0, divide, subtract)


def _per_input(value: Any, network: Network, name: str) -> tuple[Fraction, ...]:
    if not isinstance(value, tuple):
        return (value,) * network.inputs
    channels, repeat = network.channels
    if len(value) != channels:
        raise Rejected("claim-mismatch", f"{len(value)} values for {channels} channels", where=f"claim.given.{name}",
                       fix="give one value, or one for each channel")
    return tuple(v for v in value for _ in range(repeat))


def check(claim: Claim, evidence: Evidence, files: Files, limits: Limits) -> Checked:
    """Return what was checked if the evidence establishes the claim; raises Rejected or Declined."""
    unsafe = problem(claim.given, files, limits)
    if claim.says["holds"] != (evidence.kind == BOUNDS_TREE.kind):
        raise Rejected("evidence-kind", f"evidence of kind {evidence.kind!r} can't show this answer", where="evidence.kind")
    if not claim.says["holds"]:
        refute(unsafe, evidence, limits)
        return Checked(frozenset({"real-arithmetic"}), ("semantics real", "a point, evaluated exactly", *unsafe.network.notes))
    figures = establish(unsafe, evidence, limits)
    return Checked(frozenset({"real-arithmetic"}), ("semantics real", f"arithmetic {ARITHMETIC}", *unsafe.network.notes),
                   {"leaves": figures.leaves, "smallest_margin": figures.smallest_margin, "largest_value": figures.largest_value})


def sentence(claim: Claim) -> str:
    """Return the claim in words: the ball, and everything between the points file and the network."""
    given = claim.given
    unit = "in the units of the points file" if given["radius_unit"] == "raw" else "in scaled units"
    steps = [f"times {given['scale']}"] if given["scale"] != 1 else []
    steps += [f"clipped to [{given['clip'][0]}, {given['clip'][1]}]"] if given["clip"] is not None else []
    steps += [f"minus {_shown(given['subtract'])}"] if given["subtract"] != 0 else []
    steps += [f"divided by {_shown(given['divide'])}"] if given["divide"] != 1 else []
    ball = f"within {given['radius']} ({given['norm']}, {unit}) of row {given['row']} of {claim.roles['points']}"
    ball += f"; the network gets it {', '.join(steps)}" if steps else ""
    if not claim.says["holds"]:
        return f"{claim.roles['model']} does not answer {given['label']} alone for some input {ball}."
    whose = f"answers {given['label']}, the label in {claim.roles['labels']}," if "labels" in claim.roles else f"keeps its answer {given['label']}"
    return f"{claim.roles['model']} {whose} for every input {ball}."


def _shown(value: Any) -> str:
    return f"[{', '.join(map(str, value))}]" if isinstance(value, tuple) else str(value)


KIND = Kind(
    name="robust", version=1, roles=(Role("model"), Role("points"), Role("labels", optional=True)),
    given=Record({
        "row": Integer(), "label": Integer(), "norm": Choice(("linf", "l2", "l1")), "radius": Rational(), "radius_unit": Choice(("raw", "scaled")),
        "clip": Nullable(ListOf(Rational(), 2, 2)), "scale": Rational(positive=True), "subtract": OneOrMany(Rational()),
        "divide": OneOrMany(Rational(positive=True)),
        "semantics": Choice(("real", "exec32")),
    }),
    says=Record({"holds": Boolean()}), evidence=(BOUNDS_TREE, WITNESS), check=check, sentence=sentence,
    summary="a classifier keeps its answer for every input within a radius of a point",
)
