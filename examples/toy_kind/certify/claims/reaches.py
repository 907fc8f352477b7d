# SPDX-License-Identifier: Apache-2.0
"""`reaches` v1: for some input, one output of a network is at least a threshold.

Statement. Let f be the ONNX graph over the reals. f_output(x) >= at_least for some x, shown by a point.
Not claimed: anything about other inputs or about rounding.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from certify.certificate import Checked, Claim, Evidence, Files, Kind, Role
from certify.errors import Rejected
from certify.fields import Integer, Rational, Record
from certify.limits import Limits
from certify.readers.network import Network
from certify.readers.onnx_ops import read_network
from certify.rules.evaluation import evaluate
from certify.rules.unsafe_set import WITNESS


def problem(given: Mapping[str, Any], files: Files, limits: Limits) -> Network:
    """Return the network of a claim, for the check and for provers; raises Rejected `claim-mismatch`, or what the reader raises."""
    model = files["model"]
    if isinstance(model, tuple):
        raise TypeError("a role takes one file")
    network = read_network(model, limits)
    if given["output"] >= network.outputs:
        raise Rejected("claim-mismatch", f"output {given['output']} of a network with {network.outputs}", where="claim.given.output",
                       fix="outputs are numbered from 0")
    return network


def check(claim: Claim, evidence: Evidence, files: Files, limits: Limits) -> Checked:
    """Return what was checked if the evidence establishes the claim; raises Rejected or Declined."""
    network, point = problem(claim.given, files, limits), evidence.items["point"]
    if len(point) != network.inputs:
        raise Rejected("outside-domain", f"the point has {len(point)} coordinates", where="evidence.items.point")
    value = evaluate(network, point, limits)[claim.given["output"]]
    if value < claim.says["at_least"]:
        raise Rejected("witness-fails", "the output at the point is below the threshold", where="evidence.items.point")
    return Checked(frozenset({"real-arithmetic"}), ("semantics real", *network.notes), {"value": value})


def sentence(claim: Claim) -> str:
    """Return the claim in words."""
    return f"For some input, output {claim.given['output']} of {claim.roles['model']} is at least {claim.says['at_least']}."


KIND = Kind(
    name="reaches", version=1, roles=(Role("model"),), given=Record({"output": Integer()}),
    says=Record({"at_least": Rational()}), evidence=(WITNESS,), check=check, sentence=sentence,
    summary="an output of a network reaches a threshold for some input",
)
