# SPDX-License-Identifier: Apache-2.0
"""Specimens of `region`: random tiny instances with evidence, semantic mutators of claim and subjects, and the exact truth."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

import oracle
from certify.claims import region
from certify.limits import Limits
from certify_solvers.common.prover import Effort
from certify_solvers.crown import attack
from kinds import common
from toolkit import Layers, Specimen, model

GIVEN = {"format": "vnnlib-1", "semantics": "real"}

Box = tuple[list[Fraction], list[Fraction]]
Conjunct = list[tuple[list[Fraction], list[Fraction], Fraction]]


class Instance:
    """A network and a property in the form that the oracle takes; `text` writes the property as a VNN-LIB file."""

    def __init__(self, layers: Layers, disjuncts: list[tuple[Box, Conjunct]]) -> None:
        self.layers, self.disjuncts = layers, disjuncts

    def text(self) -> bytes:
        """Return the property file."""
        lines = [f"(declare-const {letter}_{i} Real)" for letter, count in (("X", 2), ("Y", len(self.layers[-1][1]))) for i in range(count)]
        terms = []
        for (lower, upper), conjunct in self.disjuncts:
            atoms = [f"(>= X_{i} {_decimal(v)})" for i, v in enumerate(lower)] + [f"(<= X_{i} {_decimal(v)})" for i, v in enumerate(upper)]
            for inputs, outputs, constant in conjunct:
                sums = [f"(* {_decimal(c)} {letter}_{i})" for letter, side in (("X", inputs), ("Y", outputs)) for i, c in enumerate(side) if c]
                atoms.append(f"(<= (+ {' '.join(sums)} {_decimal(constant)}) 0)")
            terms.append(f"(and {' '.join(atoms)})")
        return "\n".join([*lines, f"(assert (or {' '.join(terms)}))", ""]).encode()

    def violated(self) -> bool:
        """Return whether the unsafe set is reached, exactly."""
        return any(oracle.reachable(common.exact(self.layers), lower, upper, [conjunct]) is not None for (lower, upper), conjunct in self.disjuncts)

    def shaken(self, rng: np.random.Generator) -> bool:
        """Return whether some float32 execution is seen to be unsafe: at unsafe points of the reals, corners and random points of each box."""
        for (lower, upper), conjunct in self.disjuncts:
            if any(a > b for a, b in zip(lower, upper, strict=True)):
                continue
            points: list[oracle.Point] = [v for part in oracle.unsafe(common.exact(self.layers), lower, upper, [conjunct]) for v in part][:12]
            for _ in range(4):
                a, b = (low + (high - low) * Fraction(int(rng.integers(0, 5)), 4) for low, high in zip(lower, upper, strict=True))
                points.append((a, b))
            for x, y in common.shaken(self.layers, rng, points):
                if max(sum((c * v for c, v in zip((*a, *b), (*x, *y), strict=True)), constant) for a, b, constant in conjunct) <= 0:
                    return True
        return False

    def true(self, semantics: str, holds: bool, rng: np.random.Generator) -> bool:
        """Return whether a claim is true, exactly over the reals; under exec32, whether no execution contradicts it that was tried."""
        if not self.inhabited():
            return False
        if semantics == "exec32":
            return holds and not self.shaken(rng)
        return self.violated() != holds

    def inhabited(self) -> bool:
        """Return whether some disjunct has an input at all."""
        return any(all(a <= b for a, b in zip(*box, strict=True)) for box, _ in self.disjuncts)


def _decimal(value: Fraction) -> str:
    digits = 30
    scaled = value * 10**digits
    if scaled.denominator != 1:
        raise ValueError("not a decimal of 30 digits")
    sign, whole = ("-" if scaled < 0 else ""), str(abs(int(scaled))).rjust(digits + 1, "0")
    return f"{sign}{whole[:-digits]}.{whole[-digits:].rstrip('0') or '0'}"


def instance(rng: np.random.Generator) -> Instance:
    """Return a random instance: one to three disjuncts over one or two boxes, conjuncts of one to three rows."""
    layers = common.tiny_layers(rng, int(rng.integers(1, 4)))
    outputs = len(layers[-1][1])
    boxes = []
    for _ in range(2):
        lower = [Fraction(int(v), 20) for v in rng.integers(-20, 15, 2)]
        boxes.append((lower, [a + Fraction(int(w), 20) for a, w in zip(lower, rng.integers(0, 16, 2), strict=True)]))
    disjuncts = []
    for _ in range(int(rng.integers(1, 4))):
        conjunct = []
        for _ in range(int(rng.integers(1, 4))):
            inputs = [Fraction(int(v), 4) if rng.random() < 0.3 else Fraction(0) for v in rng.integers(-4, 5, 2)]
            weights = [Fraction(int(v), 4) for v in rng.integers(-4, 5, outputs)]
            if not any(weights):
                weights[0] = Fraction(1)
            conjunct.append((inputs, weights, Fraction(int(rng.integers(-40, 80)), 10)))
        disjuncts.append((boxes[int(rng.integers(2))], conjunct))
    return Instance(layers, disjuncts)


SIDES = ("proved", "refuted")


def side(valid: Specimen) -> str:
    """Return which side of the question a specimen shows."""
    return "proved" if valid.says["holds"] else "refuted"


def specimen(rng: np.random.Generator) -> tuple[Instance, Specimen] | None:
    """Return a random instance with a certificate that the checker verifies, or None where none was found."""
    made = instance(rng)
    files = {"model": ("net.onnx", model(made.layers)), "property": ("p.vnnlib", made.text())}
    given = {**GIVEN, "semantics": "exec32"} if rng.random() < 0.25 else dict(GIVEN)
    unsafe = region.problem(given, {role: data for role, (_, data) in files.items()}, Limits())
    arrays = common.split_evidence(unsafe, rng, 24)
    if arrays is not None:
        valid = Specimen("region", files, given, {"holds": True}, "bounds-tree", {"arithmetic": "f64-gamma"}, arrays)
        valid.assumptions = ["real-arithmetic"] if given["semantics"] == "real" else []
        common.decorate(valid, rng)
        return made, valid
    if given["semantics"] == "exec32":
        return None
    hit = attack.search(unsafe, {}, Effort(), Limits(), 10)
    if hit is None:
        return None
    return made, Specimen("region", files, given, {"holds": False}, "witness", {"point": [str(v) for v in hit.x]})


def shift(made: Instance, rng: np.random.Generator) -> str:
    """Move a bound of a box or the constant of a row, by 1e-30 or by a lot."""
    step = Fraction(1, 10**30) if rng.random() < 0.4 else Fraction(int(rng.integers(1, 20)), 20)
    index = int(rng.integers(len(made.disjuncts)))
    (lower, upper), conjunct = made.disjuncts[index]
    lower, upper, conjunct = list(lower), list(upper), [*conjunct]
    which = int(rng.integers(3))
    if which == 0:
        lower[int(rng.integers(2))] -= step
    elif which == 1:
        upper[int(rng.integers(2))] += step
    else:
        row = int(rng.integers(len(conjunct)))
        conjunct[row] = (conjunct[row][0], conjunct[row][1], conjunct[row][2] + (-step if rng.random() < 0.7 else step))
    made.disjuncts[index] = ((lower, upper), conjunct)
    return "a bound or constant moved"


def weaken(made: Instance, rng: np.random.Generator) -> str:
    """Drop a row of a conjunct (the unsafe set grows), or add a disjunct."""
    index = int(rng.integers(len(made.disjuncts)))
    box, conjunct = made.disjuncts[index]
    if len(conjunct) > 1 and rng.random() < 0.7:
        made.disjuncts[index] = (box, conjunct[1:] if rng.random() < 0.5 else conjunct[:-1])
        return "a row dropped"
    made.disjuncts.append((box, [([-a for a in inputs], [-w for w in weights], -constant) for inputs, weights, constant in conjunct[:1]]))
    return "a disjunct added"


def reorder(made: Instance, rng: np.random.Generator) -> str:
    """Reverse the order of disjuncts."""
    made.disjuncts.reverse()
    return "the disjuncts reversed"


def reweigh(made: Instance, rng: np.random.Generator) -> str:
    """Change one weight or bias of the network."""
    layers: list[Any] = [([list(row) for row in weight], list(bias)) for weight, bias in made.layers]
    weight, bias = layers[int(rng.integers(len(layers)))]
    row = int(rng.integers(len(bias)))
    if rng.random() < 0.5:
        bias[row] += float(rng.choice([-0.5, 0.5, 2.0**-20]))
    else:
        column = int(rng.integers(len(weight[row])))
        weight[row][column] += float(rng.choice([-0.5, 0.5, 2.0**-20]))
    made.layers = layers
    return "a weight changed"


PROBLEM = (shift, shift, weaken, reorder, reweigh)


def mutate(made: Instance, valid: Specimen, rng: np.random.Generator) -> tuple[Specimen, str, bool]:
    """Return a resealed mutant, what was done, and whether its claim is true."""
    mutant, words = valid.copy(), []
    changed = Instance(made.layers, list(made.disjuncts))
    for _ in range(int(rng.integers(1, 3))):
        if rng.random() < 0.4:
            words.append(PROBLEM[int(rng.integers(len(PROBLEM)))](changed, rng))
        else:
            words.append(common.EVIDENCE[int(rng.integers(len(common.EVIDENCE)))](mutant, rng))
    while rng.random() < 0.8 and changed.violated() != mutant.says["holds"]:  # push on until the claim is false
        words.append(PROBLEM[int(rng.integers(len(PROBLEM)))](changed, rng))
    mutant.files = {"model": ("net.onnx", model(changed.layers)), "property": ("p.vnnlib", changed.text())}
    return mutant, ", ".join(words), changed.true(mutant.given["semantics"], mutant.says["holds"], rng)
