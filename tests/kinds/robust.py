# SPDX-License-Identifier: Apache-2.0
"""Specimens of `robust`: random tiny classifiers with evidence, semantic mutators of the claim, and the exact truth."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

import oracle
from certify.claims import robust
from certify.errors import CertifyError
from certify.limits import Limits
from certify.readers.ball import Ball
from certify_solvers.common.prover import Effort
from certify_solvers.crown import attack
from certify_solvers.crown.domain import claim_point
from kinds import common
from toolkit import Layers, Specimen, model, npy

NUMBERS = ("radius", "scale")


def typed(given: dict[str, object]) -> dict[str, object]:
    """Return `given` decoded by the kind's own fields."""
    return dict(robust.KIND.given.decode(given, "given"))


def truth(layers: Layers, points: np.ndarray, given: dict[str, object], holds: bool, rng: np.random.Generator | None = None) -> bool:
    """Return whether a claim is true by definition: exactly over the reals; under exec32, whether no execution that was tried is unsafe."""
    g = {key: Fraction(str(value)) if key in NUMBERS else value for key, value in given.items()}
    if g["radius"] <= 0 or not 0 <= g["row"] < len(points) or g["scale"] <= 0 or (g["semantics"] == "exec32" and not holds):
        return False
    outputs = len(layers[-1][1])
    if outputs < 2 or not 0 <= g["label"] < outputs:
        return False
    x0 = [g["scale"] * Fraction(float(v)) for v in points[g["row"]]]
    reach = g["radius"] * (g["scale"] if g["radius_unit"] == "raw" else 1)
    lower, upper = [v - reach for v in x0], [v + reach for v in x0]
    if g["clip"] is not None:
        low, high = (Fraction(v) for v in g["clip"])
        if not all(low <= v <= high for v in x0):
            return False
        lower, upper = [max(v, low) for v in lower], [min(v, high) for v in upper]
    subtract, divide = ([Fraction(v) for v in value] if isinstance(value, list) else [Fraction(value)] * 2 for value in (g["subtract"], g["divide"]))
    if len(subtract) != 2 or len(divide) != 2 or min(divide) <= 0:
        return False
    lower, upper, centre = ([(v - s) / d for v, s, d in zip(side, subtract, divide, strict=True)] for side in (lower, upper, x0))
    zero, one = Fraction(0), Fraction(1)
    conjuncts = []
    for other in range(outputs):
        if other != g["label"]:
            weights = [one if k == g["label"] else -one if k == other else zero for k in range(outputs)]
            conjuncts.append([([zero, zero], weights, zero)])
    ball = None if g["norm"] == "linf" else (g["norm"], centre, divide, reach)
    if g["semantics"] == "real":
        return (oracle.reachable(common.exact(layers), lower, upper, conjuncts, ball) is None) == holds
    rng = rng or np.random.default_rng(0)
    tried = [v for conjunct in conjuncts for v in [oracle.reachable(common.exact(layers), lower, upper, [conjunct], ball)] if v is not None]
    tried += [(centre[0], centre[1])]
    for _ in range(6):
        a, b = (low + (high - low) * Fraction(int(rng.integers(0, 5)), 4) for low, high in zip(lower, upper, strict=True))
        if ball is None or Ball(ball[0], tuple(centre), tuple(divide), reach).holds((a, b)):
            tried.append((a, b))
    return not any(y[g["label"]] <= max(v for k, v in enumerate(y) if k != g["label"]) for _, y in common.shaken(layers, rng, tried))


SIDES = ("proved", "refuted")


def side(valid: Specimen) -> str:
    """Return which side of the question a specimen shows."""
    return "proved" if valid.says["holds"] else "refuted"


def specimen(rng: np.random.Generator) -> tuple[tuple[Layers, np.ndarray], Specimen] | None:
    """Return a random classifier, points, and a certificate that the checker verifies, or None where none was found."""
    layers = common.tiny_layers(rng, int(rng.integers(2, 4)))
    points = rng.integers(0, 17, (3, 2)).astype(np.uint8)
    given: dict[str, object] = {
        "row": int(rng.integers(3)), "label": 0, "norm": str(rng.choice(["linf", "l2", "l1"])),
        "radius": str(Fraction(int(rng.integers(1, 120)), 10)),
        "radius_unit": str(rng.choice(["raw", "scaled"])), "clip": ["0", "1"] if rng.random() < 0.5 else None, "scale": "1/16",
        "subtract": "0" if rng.random() < 0.5 else ["1/2", "1/4"], "divide": "1" if rng.random() < 0.5 else ["1/2", "2"],
        "semantics": "exec32" if rng.random() < 0.25 else "real",
    }
    if given["radius_unit"] == "scaled":
        given["radius"] = str(Fraction(str(given["radius"])) / 16)
    files = {"model": ("net.onnx", model(layers)), "points": ("points.npy", npy(points))}
    data = {role: content for role, (_, content) in files.items()}
    unsafe = robust.problem(typed(given), data, Limits())
    outputs = oracle.outputs_at(common.exact(layers), unsafe.network_input(robust.neighbourhoods(typed(given), data, Limits()).centre(given["row"])))
    given["label"] = outputs.index(max(outputs))
    unsafe = robust.problem(typed(given), data, Limits())
    arrays = common.split_evidence(unsafe, rng, 24)
    if arrays is not None:
        valid = Specimen("robust", files, given, {"holds": True}, "bounds-tree", {"arithmetic": "f64-gamma"}, arrays)
        valid.assumptions = ["real-arithmetic"] if given["semantics"] == "real" else []
        common.decorate(valid, rng)
        return ((layers, points), valid) if common.is_closed(valid) else None
    if given["semantics"] == "exec32":
        return None
    hit = attack.search(unsafe, {}, Effort(), Limits(), 10)
    if hit is None:
        return None
    return (layers, points), Specimen("robust", files, given, {"holds": False}, "witness", {"point": [str(v) for v in claim_point(unsafe, hit.x)]})


def reclaim(mutant: Specimen, rng: np.random.Generator) -> str:
    """Change one field of the claim, and keep the evidence."""
    given = mutant.given
    key = str(rng.choice(sorted(given)))
    if key in NUMBERS:
        value = Fraction(str(given[key]))
        choices = [value + Fraction(1, 10**30), value * 2, value + Fraction(1, 10), -value, Fraction(0), value / 2]
        given[key] = str(choices[int(rng.integers(len(choices)))])
    elif key in ("row", "label"):
        given[key] = int(rng.integers(0, 5))
    elif key == "norm":
        given[key] = str(rng.choice(["l2", "l1", "linf"]))
    elif key == "radius_unit":
        given[key] = "scaled" if given[key] == "raw" else "raw"
    elif key == "clip":
        given[key] = [None, ["0", "1"], ["-1", "2"], ["1/4", "3/4"]][int(rng.integers(4))]
    elif key in ("subtract", "divide"):
        given[key] = ["0", "1", "1/2", ["1/2", "1/4"], ["1", "2"], ["1", "2", "3"]][int(rng.integers(6))]
    else:
        return common.swap_semantics(mutant, rng)
    return f"{key} changed"


def mutate(made: tuple[Layers, np.ndarray], valid: Specimen, rng: np.random.Generator) -> tuple[Specimen, str, bool]:
    """Return a resealed mutant, what was done, and whether its claim is true."""
    layers, points = made
    mutant, words = valid.copy(), []
    for _ in range(int(rng.integers(1, 3))):
        choice = rng.random()
        if choice < 0.1:
            mutant.given["norm"] = str(rng.choice(["l2", "l1", "linf"]))
            words.append("norm swapped")
        elif choice < 0.45:
            words.append(reclaim(mutant, rng))
        elif choice < 0.55:
            points = points.copy()
            points[int(rng.integers(3)), int(rng.integers(2))] += 1
            mutant.files["points"] = ("points.npy", npy(points))
            words.append("a point changed")
        else:
            words.append(common.EVIDENCE[int(rng.integers(len(common.EVIDENCE)))](mutant, rng))
    if rng.random() < 0.5 and mutant.says["holds"]:  # push on until the claim is false
        mutant.given["radius"] = str(Fraction(str(mutant.given["radius"])) * int(rng.integers(2, 9)))
        words.append("radius enlarged")
    try:
        true = truth(layers, points, mutant.given, bool(mutant.says["holds"]), rng)
    except (CertifyError, ValueError, ZeroDivisionError):
        true = False
    return mutant, ", ".join(words), true
