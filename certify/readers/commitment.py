# SPDX-License-Identifier: Apache-2.0
"""Reader of `model.commit`: the public commitment to a private network, its policy and the root of its model rows.

With the backend ligero the root is that of a Merkle tree; with hyrax it is the digest of the rows' points, which each certificate carries.

Guarantee: `read_commitment` returns a `Commitment` only for the bytes that `encode_commitment` writes for it (canonical JSON, exact key set), with a
policy within all limits. The root binds one network of the policy's architecture: weights W = (W+ - W-)/2^F with 0 <= W+, W- < 2^16, biases b/2^g,
inputs x -> (x - offset) scale. Everything that an argument's verifier sizes its work by comes from here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any

from certify import canonical
from certify.errors import Declined, Rejected
from certify.fields import Boolean, Choice, Integer, ListOf, Rational, Raw, Record, Text
from certify.limits import Limits
from certify_zk.policy import BACKENDS, LEVELS, MOST_DEPTH, MOST_SIZE, Conv, Dense, InputMap, Layer, Policy

FORMAT = "certify/commitment"
_BYTE, _TIMES = 1000, 4
"""Operations for a byte; how often a check rounds the domain."""
_BITS = Integer(0, 64)
_SIZE = Integer(1, MOST_SIZE)
LAYERS = {
    "dense": Record({"kind": Choice(("dense",)), "inputs": _SIZE, "outputs": _SIZE}),
    "conv": Record({"kind": Choice(("conv",)), **dict.fromkeys(("channels_in", "height", "width", "channels_out", "kernel", "stride"), _SIZE),
                    "padding": Integer(0, MOST_SIZE)}),
}
"""The records of layers by their kind."""
_NUMBERS = ListOf(Rational(), least=1, most=MOST_SIZE)
RECORD = Record({
    "format": Choice((FORMAT,)),
    "version": Integer(1, 1),
    "layers": ListOf(Raw(), 1, MOST_DEPTH + 1),
    "modes": ListOf(Text(r"crown|ibp|stop:[1-9][0-9]?"), 1, MOST_DEPTH + 1),
    "tau": ListOf(ListOf(_BITS, most=MOST_DEPTH), 1, MOST_DEPTH + 1),
    "inputs": Record({"offset": _NUMBERS, "scale": _NUMBERS, "lower": _NUMBERS, "upper": _NUMBERS}),
    **dict.fromkeys(("weight_scale", "slope_bits", "bias_scale", "input_scale", "total_scale", "bias_bits", "bound_bits", "intercept_bits"), _BITS),
    "remainder": Boolean(),
    "level": Integer(min(LEVELS), max(LEVELS)),
    "backend": Choice(BACKENDS),
    **{name: Integer(1, 1 << 32) for name in ("uses", "columns")},
    **{name: Integer(0, 1 << 32) for name in ("queries", "pads", "codeword")},
    "model_rows": Integer(1, 1 << 32),
    "root": Text(r"[0-9a-f]{64}"),
})


@dataclass(frozen=True)
class Commitment:
    """The policy of a commitment, the number of rows that hold the network, and the root of their Merkle tree, or the digest of their points."""

    policy: Policy
    model_rows: int
    root: bytes


def read_commitment(data: bytes, limits: Limits) -> Commitment:
    """Return the commitment in a file.

    Raises Declined `commitment-malformed` for other bytes than the canonical ones, `commitment-limit` or `commitment-unit` for a policy that is not
    within the limits, `limit-reached` for the file's size.
    """
    limits.spend(_BYTE * len(data), "reading the commitment")
    try:
        found = RECORD.decode(canonical.parse(data, limits, "commitment"), "commitment")
        layers = tuple(_layer(layer, f"commitment.layers[{index}]") for index, layer in enumerate(found["layers"]))
    except Rejected as trouble:
        raise Declined("commitment-malformed", trouble.what, where=trouble.where,
                       fix="ask the owner of the network for the file that `certify commit` wrote") from None
    numbers = {name: found[name] for name in RECORD.fields if name not in ("format", "version", "layers", "modes", "tau", "inputs", "model_rows",
                                                                          "root")}
    policy = Policy(layers, found["modes"], found["tau"], InputMap(**found["inputs"]), **numbers)
    rationals = [value for values in found["inputs"].values() for value in values]
    limits.spend(_TIMES * arithmetic(policy.inputs.different(policy.size(0)), rationals), "rounding the domain of a commitment")
    policy.require()
    return Commitment(policy, found["model_rows"], bytes.fromhex(found["root"]))


def arithmetic(count: int, numbers: Sequence[Fraction]) -> int:
    """Return operations, for `Limits.spend`, of a few steps of arithmetic with `count` rationals as long as the longest of these."""
    words = max((value.numerator.bit_length() + value.denominator.bit_length() for value in numbers), default=0) // 64
    return count * ((1 << 13) + (words * words << 5))


def encode_commitment(commitment: Commitment) -> bytes:
    """Return the bytes of a commitment."""
    policy, inputs = commitment.policy, commitment.policy.inputs

    def numbers(values: tuple[Fraction, ...]) -> list[Any]:
        return [str(value) for value in values]

    return canonical.encode({
        "format": FORMAT, "version": 1,
        "layers": [{"kind": "conv" if isinstance(layer, Conv) else "dense", **asdict(layer)} for layer in policy.layers],
        "modes": list(policy.modes), "tau": [list(bits) for bits in policy.tau],
        "inputs": {name: numbers(getattr(inputs, name)) for name in ("offset", "scale", "lower", "upper")},
        **{name: getattr(policy, name) for name in RECORD.fields if hasattr(policy, name) and name not in ("layers", "modes", "tau", "inputs")},
        "model_rows": commitment.model_rows, "root": commitment.root.hex(),
    })


def _layer(value: Any, where: str) -> Layer:
    """Return a layer, read as its kind says."""
    kind = Choice(tuple(LAYERS)).decode(value.get("kind"), f"{where}.kind")
    sizes = {name: size for name, size in LAYERS[kind].decode(value, where).items() if name != "kind"}
    return Conv(**sizes) if kind == "conv" else Dense(**sizes)
