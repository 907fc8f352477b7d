# SPDX-License-Identifier: Apache-2.0
"""All that an owner needs before a commitment is made: the integers of a file, and a policy that is calibrated on rows of inputs and has its sizes.

Untrusted: rows choose how many bits backward steps drop, and every choice is sound.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from math import ceil, floor

import numpy as np

from certify.errors import Declined, UsageError
from certify.limits import Limits
from certify.readers.arrays import read_npy, read_row
from certify.readers.table import read_table
from certify_zk.calibration import fitted
from certify_zk.circuit import circuit
from certify_zk.conversion import Converted, convert
from certify_zk.hyrax import require_cells
from certify_zk.policy import Policy
from certify_zk.settings import Rationals, Settings, spread
from certify_zk.sizing import sized
from certify_zk.statement import Box, Rows, Statement, robust
from certify_zk.width import LIMB
from certify_zk.witness import Model

_NPY = b"\x93NUMPY"
_MANY = 1 << 24  # cells, until the circuit is known


def prepare(data: bytes, settings: Settings, rows: Sequence[Rationals] = (), limits: Limits | None = None) -> Converted:
    """Return what is committed of an ONNX file, with the policy calibrated on boxes around rows, or around the middle of the domain without any.

    Raises as `convert`; Declined `property-range` for a row outside the domain, `commitment-width` or `commitment-limit` where no slope bits and
    sizes do; UsageError `policy-file` where the asked slope bits don't.
    """
    made = convert(data, settings, limits)
    some = examples(made.policy, made.model, rows or [_middle(made.policy)], settings.radius)
    policy = fitted(sized(made.policy, _MANY), made.model, some)
    if settings.slope_bits is not None and policy.slope_bits < settings.slope_bits:
        raise UsageError("policy-file", f"slope_bits: widths do not hold with {settings.slope_bits} bits, and do with {policy.slope_bits}",
                         where="key slope_bits", fix=f'give {policy.slope_bits}, or "auto"')
    cells = circuit(policy, some[0]).cells
    if policy.backend == "hyrax":
        require_cells(cells + (1 << LIMB))
    return replace(made, policy=sized(policy, cells))


def read_rows(data: bytes, inputs: int, limits: Limits | None = None) -> tuple[Rationals, ...]:
    """Return the rows of a .npy or CSV file as exact rationals, in units of the network's inputs.

    Raises Declined `arrays-*` or `table-*` as the readers, `arrays-length` or `table-shape` for rows of another length than the network's inputs.
    """
    if data.startswith(_NPY):
        array = read_npy(data)
        width = array.size // len(array) if array.ndim and len(array) else 0
        if width != inputs:
            raise Declined("arrays-length", f"rows of {width} numbers for {inputs} inputs", fix="give one number for each input in every row")
        return tuple(read_row(array, row) for row in range(len(array)))
    table = read_table(data, limits or Limits())
    if len(table.columns) != inputs or not table.rows:
        raise Declined("table-shape", f"{len(table.rows)} rows of {len(table.columns)} numbers for {inputs} inputs",
                       fix="give one column for each input, and at least one row")
    return table.rows


def examples(policy: Policy, model: Model, rows: Sequence[Rationals], radius: Fraction | None = None) -> list[Statement]:
    """Return, for each row, a statement about the box of that radius around it, cut to the domain: robustness of the network's own label.

    The radius is in the units of rows, None for one step of the grid. A network with one output is bounded from both sides. No threshold is missed.
    """
    return [_example(policy, model, box(policy, row, radius, number)) for number, row in enumerate(rows, start=1)]


def box(policy: Policy, row: Rationals, radius: Fraction | None = None, number: int = 1) -> Box:
    """Return the box of a radius around a row, cut to the domain and rounded outward; raises Declined `property-range` for a row outside it."""
    inputs, domain = policy.size(0), policy.inputs
    offset, scale, lower, upper = (spread(values, inputs) for values in (domain.offset, domain.scale, domain.lower, domain.upper))
    step = Fraction(1, 1 << policy.input_scale)
    starts: list[int] = []
    widths: list[int] = []
    for x, o, s, low, high in zip(row, offset, scale, lower, upper, strict=True):
        if not low <= x <= high:
            raise Declined("property-range", f"row {number} has the value {float(x):.6g} outside the domain", where=f"row {number}",
                           fix="give rows in the units of the network's inputs, within input.lower and input.upper of the policy")
        reach = step / s if radius is None else radius
        start, end = floor((max(x - reach, low) - o) * s / step), ceil((min(x + reach, high) - o) * s / step)
        starts.append(start)
        widths.append(end - start)
    return Box(tuple(starts), tuple(widths))


def _example(policy: Policy, model: Model, region: Box) -> Statement:
    outputs, least = policy.size(policy.depth), -(1 << 46)
    if outputs == 1:
        return Statement((region,), Rows(((1,), (-1,)), (least, least)))
    return robust((region,), outputs, _label(policy, model, region), least)


def _label(policy: Policy, model: Model, region: Box) -> int:
    """Return the label in the middle of a box, in binary64."""
    value = np.ldexp(np.array(region.lower) + np.array(region.width) / 2, -policy.input_scale)
    matrices = model.dense(policy.layers)
    for k, (weight, bias) in enumerate(zip(matrices.weights, matrices.biases, strict=True), start=1):
        value = np.ldexp(weight.astype(np.float64), -policy.weight_scale) @ value + np.ldexp(bias.astype(np.float64), -policy.bias_scale)
        value = np.maximum(value, 0) if k < policy.depth else value
    return int(value.argmax())


def _middle(policy: Policy) -> Rationals:
    lower, upper = (spread(values, policy.size(0)) for values in (policy.inputs.lower, policy.inputs.upper))
    return tuple((low + high) / 2 for low, high in zip(lower, upper, strict=True))
