# SPDX-License-Identifier: Apache-2.0
"""`region` v1: a network's inputs of a region never reach an unsafe set of outputs, or one does.

Statement. Let U be the asserted formula of the VNN-LIB file and f the ONNX graph over the reals (semantics `real`).
`holds` true: for every x and y = f(x): not U(x, y). `holds` false: U(x, f(x)) for some x, shown by a point.
Semantics `exec32` (`holds` true only): for every x, every float32 x' with |x'_i - x_i| <= 2^-24 |x_i| + 2^-126 and every float32
execution y of the graph at x' (sums in any order, each operation rounded to nearest, with or without FMA and flushing of denormals): not U(x, y).
The set of inputs is shown non-empty, else `claim-vacuous`. Not claimed: anything about inputs outside the region.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from certify.certificate import Checked, Claim, Evidence, Files, Kind, Role
from certify.errors import Declined, Rejected
from certify.fields import Boolean, Choice, Record
from certify.limits import Limits
from certify.readers.formula import parts
from certify.readers.onnx_ops import read_network
from certify.readers.vnnlib1 import read_vnnlib1
from certify.rules.unsafe_set import BOUNDS_TREE, EXCLUDED, WITNESS, UnsafeSet, constrained, establish


def problem(given: Mapping[str, Any], files: Files, limits: Limits) -> UnsafeSet:
    """Return the network and the unsafe set that the subject files denote; raises Declined or Rejected."""
    model, text = files["model"], files["property"]
    if isinstance(model, tuple) or isinstance(text, tuple):
        raise TypeError("a role takes one file")
    network = read_network(model, limits)
    if given["format"] == "vnnlib-2":
        from certify.readers.vnnlib2 import read_vnnlib2  # what a verdict doesn't need isn't imported
        specification = read_vnnlib2(text, limits, network.input_shape, network.output_shape)
    else:
        specification = read_vnnlib1(text, limits)
    if (specification.inputs, specification.outputs) != (network.inputs, network.outputs):
        raise Declined("vnnlib-shape", f"the property declares {specification.inputs} inputs and {specification.outputs} outputs, "
                       f"the network has {network.inputs} and {network.outputs}", fix="check that the property belongs to this network")
    found = parts(specification, limits)
    if not found.parts:
        raise Rejected("claim-vacuous", "no input belongs to the region", fix="check the bounds of the property: lower ends lie above upper ends")
    zeros, ones = (Fraction(0),) * network.inputs, (Fraction(1),) * network.inputs
    return UnsafeSet(network, found.parts, found.empty, ones, zeros, given["semantics"])


def check(claim: Claim, evidence: Evidence, files: Files, limits: Limits) -> Checked:
    """Return what was checked if the evidence establishes the claim; raises Rejected or Declined."""
    unsafe = problem(claim.given, files, limits)
    facts = [*unsafe.network.notes]
    if unsafe.empty:
        facts.append(f"{unsafe.empty} disjuncts of the property admit no input")
    if not all(all(part.conjuncts) for part in unsafe.parts):
        facts.append("a disjunct constrains no output: every input of its box is unsafe")
    if beyond := sum(map(constrained, unsafe.parts)):
        facts.append(f"{beyond} parts constrain their inputs beyond a box, and may be empty beside others")
    if claim.says["holds"] != (evidence.kind == BOUNDS_TREE.kind):
        raise Rejected("evidence-kind", f"evidence of kind {evidence.kind!r} can't show this answer", where="evidence.kind")
    if not claim.says["holds"]:
        from certify.rules.counterexample import refute
        refute(unsafe, evidence, limits)
        return Checked(unsafe.premises, ("semantics real", "a point, evaluated exactly", *facts))
    figures = establish(unsafe, evidence, limits)
    return Checked(unsafe.premises, (f"semantics {unsafe.semantics}", f"arithmetic {evidence.items['arithmetic']}", *facts),
                   {"parts": len(unsafe.parts), "leaves": figures.leaves, "smallest_margin": figures.smallest_margin,
                    "largest_value": figures.largest_value})


def sentence(claim: Claim) -> str:
    """Return the claim in words."""
    model, text = claim.roles["model"], claim.roles["property"]
    if claim.says["holds"]:
        which, end = (model, "") if claim.given["semantics"] == "real" else (f"any float32 execution of {model}", EXCLUDED)
        return f"No input of the region of {text} makes {which} reach its unsafe set{end}."
    return f"An input of the region of {text} makes {model} reach its unsafe set."


KIND = Kind(
    name="region", version=1, roles=(Role("model"), Role("property")),
    given=Record({"format": Choice(("vnnlib-1", "vnnlib-2")), "semantics": Choice(("real", "exec32"))}),
    says=Record({"holds": Boolean()}), evidence=(BOUNDS_TREE, WITNESS), check=check, sentence=sentence,
    summary="no input of a VNN-LIB region makes the network reach the unsafe set",
)
