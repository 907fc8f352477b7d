# SPDX-License-Identifier: Apache-2.0
"""`certify show` of commitments to private networks and of schemas: what is public, what leaks, and how sound a proof under it is."""

from __future__ import annotations

from fractions import Fraction

from certify.limits import Limits
from certify.readers.commitment import read_commitment
from certify.readers.schema import read_schema
from certify_zk import verifier
from certify_zk.policy import Policy
from certify_zk.soundness import tenths
from certify_zk.statement import Box, Rows, Statement

_SHOWN = 8


def commitment_lines(data: bytes, limits: Limits) -> list[str]:
    """Return what a commitment says, in words; raises Declined as its reader and the ledger do."""
    found = read_commitment(data, limits)
    policy = found.policy
    sizes = "-".join(str(policy.size(k)) for k in range(policy.depth + 1))
    kib = policy.columns * found.model_rows * 2 / 1024
    lines = [
        f"root      {found.root.hex()}",
        f"network   {sizes}, ReLU, {sum(layer.parameters for layer in policy.layers)} parameters, in {found.model_rows} rows of {policy.columns} "
        f"cells ({kib:.0f} KiB)",
        f"inputs    x -> (x - offset) scale, offset {_few(policy.inputs.offset)}, scale {_few(policy.inputs.scale)}",
        f"domain    from {_few(policy.inputs.lower)} to {_few(policy.inputs.upper)}",
        f"units     weights 2^-{policy.weight_scale}, biases and bounds 2^-{policy.bias_scale}, inputs 2^-{policy.input_scale}, margins "
        f"2^-{policy.total_scale}, slopes 2^-{policy.slope_bits}",
        f"passes    {', '.join(policy.modes)}; bits dropped {'; '.join(','.join(map(str, tau)) or '-' for tau in policy.tau)}",
        f"uses      {policy.uses} certificates, each opens {policy.queries} of {policy.codeword} columns; {policy.pads} random cells a row",
    ]
    ledger = verifier.measured(policy, _whole(policy), limits).ledger
    lines.append(f"sound     {_bits(ledger.union)} bits of {policy.level} for one box: "
                 + ", ".join(f"{name} {_bits(chance)}" for name, chance in ledger.entries.items()))
    return [*lines, "public    all of the above; units and dropped bits tell a few bits about the magnitude of weights and of calibration rows",
            "hidden    weights, biases, and every bound and margin of a proof, for as many certificates as there are uses"]


def schema_lines(data: bytes, limits: Limits) -> list[str]:
    """Return the features of a schema, one a line."""
    found = read_schema(data, limits)
    rule = "the highest output" if found.favourable_above is None else f"1 where the output is above {found.favourable_above}, else 0"
    lines = [f"decision  {rule}"]
    for feature in found.features:
        ends = list(map(str, feature.values))
        admissible = " to ".join(ends) if feature.ranged else f"{len(feature.columns)} columns" if feature.kind == "one-hot" else ", ".join(ends)
        lines.append(f"feature   {feature.name}: {feature.kind}, {admissible}{', sensitive' if feature.sensitive else ''}"
                     f"{f', tolerance {feature.tolerance}' if feature.tolerance else ''}")
    return lines


def _whole(policy: Policy) -> Statement:
    """Return a statement about one box, to count what its argument consists of."""
    inputs, outputs = policy.size(0), policy.size(policy.depth)
    rows = [tuple(int(index == 0) - int(index == other) for index in range(outputs)) for other in range(1, outputs)] or [(1,)]
    return Statement((Box((0,) * inputs, (0,) * inputs),), Rows(tuple(rows), (0,) * len(rows)))


def _few(values: tuple[Fraction, ...]) -> str:
    return ", ".join(map(str, values[:_SHOWN])) + (f", ... ({len(values)})" if len(values) > _SHOWN else "")


def _bits(chance: Fraction) -> str:
    return f"{tenths(chance) / 10:.1f}"
