# SPDX-License-Identifier: Apache-2.0
"""Specimens of `reaches`: tiny networks with a point, mutators of claim, evidence and model, and the exact truth."""

from __future__ import annotations

import copy
from fractions import Fraction
from typing import Any

import numpy as np

import oracle
from kinds import common
from toolkit import Layers, Specimen, model

SIDES = ("proved",)  # there are no refutations of this kind
_FAR = [Fraction(1 << 20)] * 2  # points of mutants stay within


def side(valid: Specimen) -> str:
    """Return which side of the question a specimen shows."""
    return "proved"


def value(layers: Layers, point: list[Fraction]) -> list[Fraction]:
    """Return the outputs at a point, by definition."""
    values = point
    for k, (weight, bias) in enumerate(layers):
        values = [sum((Fraction(w) * v for w, v in zip(row, values, strict=True)), Fraction(b)) for row, b in zip(weight, bias, strict=True)]
        if k < len(layers) - 1:
            values = [max(v, Fraction(0)) for v in values]
    return values


def truth(layers: Layers, output: int, at_least: Fraction) -> bool:
    """Return whether the output reaches the threshold anywhere in a large box, exactly: the oracle cuts it into polygons."""
    outputs = len(layers[-1][1])
    if not 0 <= output < outputs:
        return False
    row = ([Fraction(0)] * 2, [Fraction(-(k == output)) for k in range(outputs)], at_least)  # at_least - y <= 0
    return oracle.reachable(common.exact(layers), [-v for v in _FAR], _FAR, [[row]]) is not None


def specimen(rng: np.random.Generator) -> tuple[Layers, Specimen]:
    """Return a random network and a certificate of its value at a random point, or of a little less."""
    layers = common.tiny_layers(rng, int(rng.integers(1, 4)))
    output = int(rng.integers(len(layers[-1][1])))
    point = [Fraction(int(v), 4) for v in rng.integers(-16, 17, 2)]
    at_least = value(layers, point)[output] - int(rng.integers(0, 3))
    valid = Specimen("reaches", {"model": ("net.onnx", model(layers))}, {"output": output}, {"at_least": str(at_least)}, "witness",
                     {"point": [str(v) for v in point]})
    return layers, valid


def mutate(made: Layers, valid: Specimen, rng: np.random.Generator) -> tuple[Specimen, str, bool]:
    """Return a resealed mutant, what was done, and whether its claim is true."""
    mutant, layers, words = valid.copy(), copy.deepcopy([(list(map(list, weight)), list(bias)) for weight, bias in made]), []
    for _ in range(int(rng.integers(1, 3))):
        words.append(_change(mutant, layers, rng))
    while rng.random() < 0.5 and truth(layers, mutant.given["output"], Fraction(mutant.says["at_least"])) and len(words) < 40:
        words.append(_raise(mutant, rng))  # push on until the claim is false
    mutant.files["model"] = ("net.onnx", model(layers))
    return mutant, ", ".join(words), truth(layers, mutant.given["output"], Fraction(mutant.says["at_least"]))


def _change(mutant: Specimen, layers: Any, rng: np.random.Generator) -> str:
    which = int(rng.integers(4))
    if which == 0:
        return _raise(mutant, rng)
    if which == 1:
        mutant.given["output"] = int(rng.integers(4))
        return "another output"
    if which == 2:
        place = int(rng.integers(2))
        mutant.items["point"][place] = str(Fraction(mutant.items["point"][place]) + Fraction(int(rng.choice([-8, -1, 1, 8])), 4))
        return "the point moved"
    bias = layers[int(rng.integers(len(layers)))][1]
    row = int(rng.integers(len(bias)))
    bias[row] += float(rng.choice([-0.5, 0.5, 2.0**-20]))
    return "a bias changed"


def _raise(mutant: Specimen, rng: np.random.Generator) -> str:
    step = Fraction(1, 10**30) if rng.random() < 0.3 else Fraction(4) ** int(rng.integers(0, 24))
    mutant.says["at_least"] = str(Fraction(mutant.says["at_least"]) + step)
    return "the threshold raised"
