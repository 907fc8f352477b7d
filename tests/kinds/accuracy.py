# SPDX-License-Identifier: Apache-2.0
"""Specimens of `accuracy`: small data sets of random tiny classifiers, mutators that a cheat would try, and the exact truth of every row.

The truth of l_2 and l_1 balls is exact too: on each polygon where the network is affine the unsafe points are a polygon, and the
distance of a point from a polygon is computed in rationals.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

import oracle
from certify.claims import accuracy
from certify.errors import CertifyError
from certify.limits import Limits
from certify.rules.unsafe_set import UnsafeSet
from certify_solvers.common.prover import Effort
from certify_solvers.crown import attack
from certify_solvers.crown.domain import claim_point
from kinds import common
from kinds.robust import reclaim
from toolkit import Layers, Specimen, model, npy

ROWS = 5


@dataclass
class DataSet:
    """What a specimen is about: the truth is computed from these and the claim, never from the evidence."""

    layers: Layers
    points: np.ndarray[Any, Any]
    labels: np.ndarray[Any, Any]
    known: dict[str, bool | None] = field(default_factory=dict)  # what is known of the network at a point, for a label and a ball

    def robust(self, row: int, given: Mapping[str, Any]) -> bool | None:
        """Return whether a row is robust over the reals; None where no claim can be made about it."""
        key = f"{self.points[row].tolist()} {self.labels[row]} {sorted((name, str(value)) for name, value in given.items())}"
        if key not in self.known:
            self.known[key] = robust(self.layers, self.points[row], int(self.labels[row]), given)
        return self.known[key]

    def files(self) -> dict[str, tuple[str, bytes]]:
        """Return the subject files."""
        return {"model": ("net.onnx", model(self.layers)), "points": ("points.npy", npy(self.points)), "labels": ("labels.npy", npy(self.labels))}


def truth(made: DataSet, given: Mapping[str, Any], says: Mapping[str, Any]) -> bool:
    """Return whether a claim is true, from its definition."""
    if given["radius"] is None or Fraction(str(given["radius"])) <= 0 or Fraction(str(given["scale"])) <= 0 or len(made.points) != len(made.labels):
        return False
    known = [made.robust(row, given) for row in range(len(made.points))]
    if given["semantics"] == "exec32" and says["not_robust_at_least"]:
        return False
    return (says["of"] == len(known) and says["robust_at_least"] <= known.count(True) and says["not_robust_at_least"] <= known.count(False))


def robust(layers: Layers, point: np.ndarray[Any, Any], label: int, given: Mapping[str, Any]) -> bool | None:
    """Return whether a row is robust over the reals; None where no claim can be made about it."""
    outputs = len(layers[-1][1])
    if outputs < 2 or not 0 <= label < outputs:
        return None
    scale, radius = Fraction(str(given["scale"])), Fraction(str(given["radius"]))
    reach = radius * (scale if given["radius_unit"] == "raw" else 1)
    x0 = [scale * Fraction(float(v)) for v in point]
    lower, upper = [v - reach for v in x0], [v + reach for v in x0]
    if given["clip"] is not None:
        low, high = (Fraction(v) for v in given["clip"])
        if not all(low <= v <= high for v in x0):
            return None
        lower, upper = [max(v, low) for v in lower], [min(v, high) for v in upper]
    subtract, divide = ([Fraction(v) for v in value] if isinstance(value, list) else [Fraction(value)] * 2
                        for value in (given["subtract"], given["divide"]))
    if len(subtract) != 2 or len(divide) != 2 or min(divide) <= 0:
        return None
    low, high = ([(v - s) / d for v, s, d in zip(side, subtract, divide, strict=True)] for side in (lower, upper))
    for polygon in _unsafe(layers, low, high, label):
        moves = [((x * divide[0] + subtract[0] - x0[0]), (y * divide[1] + subtract[1] - x0[1])) for x, y in polygon]
        if given["norm"] == "linf" or nearest(moves, given["norm"]) <= (reach**2 if given["norm"] == "l2" else reach):
            return False
    return True


def _unsafe(layers: Layers, low: list[Fraction], high: list[Fraction], label: int) -> Iterator[oracle.Polygon]:
    """Yield polygons that cover the points of a box at which another class is at least as high as the label."""
    box = [(low[0], low[1]), (high[0], low[1]), (high[0], high[1]), (low[0], high[1])]
    for polygon, forms in oracle.pieces(common.exact(layers), box):
        for other, form in enumerate(forms):
            if other != label:
                ahead = forms[label]
                part = oracle.clip(polygon, (ahead[0] - form[0], ahead[1] - form[1], ahead[2] - form[2]))
                if part:
                    yield part


def nearest(polygon: oracle.Polygon, norm: str) -> Fraction:
    """Return the least l_1 norm, or square of the l_2 norm, of a point of a convex polygon, possibly a segment or a point."""
    zero = Fraction(0)
    turns = [a[0] * b[1] - a[1] * b[0] for a, b in zip(polygon, polygon[1:] + polygon[:1], strict=True)]
    area = sum(turns, zero)
    if area and (all(turn >= 0 for turn in turns) or all(turn <= 0 for turn in turns)):
        return zero  # the origin is inside
    best = []
    for a, b in zip(polygon, polygon[1:] + polygon[:1], strict=True):
        d = (b[0] - a[0], b[1] - a[1])
        shares = [zero, Fraction(1)]
        if norm == "l2" and d != (0, 0):
            shares.append(-(a[0] * d[0] + a[1] * d[1]) / (d[0] ** 2 + d[1] ** 2))
        elif norm == "l1":
            shares += [-a[i] / d[i] for i in (0, 1) if d[i]]
        for t in shares:
            x, y = a[0] + min(max(t, zero), Fraction(1)) * d[0], a[1] + min(max(t, zero), Fraction(1)) * d[1]
            best.append(x * x + y * y if norm == "l2" else abs(x) + abs(y))
    return min(best)


SIDES = ("proved", "refuted")


def side(valid: Specimen) -> str:
    """Return which side of the question a specimen shows."""
    return "proved" if valid.says["robust_at_least"] else "refuted"


def specimen(rng: np.random.Generator) -> tuple[DataSet, Specimen] | None:
    """Return a random data set and a certificate that the checker verifies, or None where none was found."""
    layers = common.tiny_layers(rng, int(rng.integers(2, 4)))
    made = DataSet(layers, rng.integers(0, 17, (ROWS, 2)).astype(np.uint8), np.zeros(ROWS, np.int64))
    given: dict[str, Any] = {
        "norm": str(rng.choice(["linf", "linf", "linf", "l2", "l1"])), "radius": str(Fraction(int(rng.integers(1, 40)), 10)),
        "radius_unit": str(rng.choice(["raw", "scaled"])), "clip": ["0", "1"] if rng.random() < 0.5 else None, "scale": "1/16",
        "subtract": "0" if rng.random() < 0.5 else ["1/2", "1/4"], "divide": "1" if rng.random() < 0.5 else ["1/2", "2"],
        "semantics": "exec32" if rng.random() < 0.15 else "real",
    }
    if rng.random() < 0.15:
        given["radius"] = str(8 * Fraction(given["radius"]))  # few rows are robust, if any
    if given["radius_unit"] == "scaled":
        given["radius"] = str(Fraction(given["radius"]) / 16)
    made.labels = np.array([_answer(made, row, given) for row in range(ROWS)])
    other = rng.random(ROWS) < 0.2
    made.labels[other] = rng.integers(0, len(layers[-1][1]), int(other.sum()))
    found = _evidence(made, given, rng)
    if not found["robust_row"] and not found["wrong_row"] and not found["witness_row"]:
        return None
    arrays = {name: np.array(found[name], "<i4") for name in ("robust_row", "wrong_row", "witness_row") if found[name]}
    if found["witness_row"]:
        arrays["witness"] = np.array(found["witness"], "<f8")
    items: dict[str, Any] = {}
    if found["robust_row"]:
        arrays |= found["trees"]
        items = {"arithmetic": "f64-gamma"} if rng.random() < 0.8 else {"arithmetic": "exact-int", "fraction_bits": 64}
    says = {"robust_at_least": len(found["robust_row"]), "not_robust_at_least": len(found["wrong_row"]) + len(found["witness_row"]), "of": ROWS}
    valid = Specimen("accuracy", made.files(), given, says, "robust-rows", items, arrays)
    valid.assumptions = [] if given["semantics"] == "exec32" else ["real-arithmetic"]
    try:
        valid.verify()
    except CertifyError:  # trees were made for the reals, boxes and binary64, where other bounds choose other slopes; points were rounded
        return None
    if not truth(made, given, says):
        raise AssertionError(f"a specimen made by the prover's means is false: {given}, {says}")
    return made, valid


def _near(made: DataSet, given: Mapping[str, Any]) -> Any:
    data = {role: content for role, (_, content) in made.files().items()}
    return accuracy.neighbourhoods(accuracy.KIND.given.decode(given, "given"), data, Limits())


def _answer(made: DataSet, row: int, given: Mapping[str, Any]) -> int:
    near = _near(made, given)
    outputs = oracle.outputs_at(common.exact(made.layers), near.network_input(near.centre(row)))
    return outputs.index(max(outputs))


def _evidence(made: DataSet, given: Mapping[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    """Return lists of rows by what was found about them, with their trees joined and their witnesses."""
    near = _near(made, given)
    found: dict[str, Any] = {"robust_row": [], "wrong_row": [], "witness_row": [], "witness": []}
    trees: list[dict[str, np.ndarray[Any, Any]]] = []
    for row in range(ROWS):
        label = int(made.labels[row])
        part = near.part(row, label)
        if rng.random() < 0.15:
            continue
        outputs = oracle.outputs_at(common.exact(made.layers), near.network_input(near.centre(row)))
        unsafe = UnsafeSet(near.network, (part,), 0, near.divide, near.subtract)
        if any(outputs[j] >= outputs[label] for j in range(len(outputs)) if j != label):
            if given["semantics"] == "real":
                found["wrong_row"].append(row)
        elif (arrays := common.split_evidence(unsafe, rng, 24)) is not None:
            found["robust_row"].append(row)
            trees.append(arrays)
        elif given["semantics"] == "real" and (hit := attack.search(unsafe, {}, Effort(), Limits(), 10)) is not None:
            point = [float(v) for v in claim_point(unsafe, hit.x)]
            if part.holds_input(near.network_input(tuple(map(Fraction, point)))):
                found["witness_row"].append(row)
                found["witness"].append(point)
    leaves = 0
    tree: list[int] = []
    for arrays in trees:
        tree += [item if item >= 0 else item - leaves for item in arrays["tree"].tolist()]
        leaves += int((arrays["tree"] < 0).sum())
    found["trees"] = {"tree": np.array(tree, "<i4")}
    thresholds = [theta for arrays in trees for theta in arrays.get("split_at", np.zeros(0)).tolist()]
    if thresholds:
        found["trees"] |= {"split_at": np.array(thresholds), "recompute": np.ones(len(tree), "|u1")}
    return found


def count_more(mutant: Specimen, rng: np.random.Generator) -> str:
    """Claim one more row of either sort, with nothing for it."""
    name = str(rng.choice(["robust_at_least", "not_robust_at_least", "of"]))
    mutant.says = {**mutant.says, name: mutant.says[name] + int(rng.choice([1, 1, 2, -1]))}
    return f"{name} changed"


def list_another(mutant: Specimen, rng: np.random.Generator) -> str:
    """List one more row, count it, and give it what costs nothing: a bare leaf, its own point, or another row's witness."""
    name = str(rng.choice(["robust_row", "wrong_row", "witness_row"]))
    arrays = mutant.arrays
    listed = arrays.get(name, np.zeros(0, "<i4")).tolist()
    taken = {row for key in ("robust_row", "wrong_row", "witness_row") for row in arrays.get(key, np.zeros(0)).tolist()}
    free = sorted(set(range(ROWS)) - taken) or list(range(ROWS))
    row = int(rng.choice(free))
    place = sum(other < row for other in listed)
    arrays[name] = np.array([*listed[:place], row, *listed[place:]], "<i4")
    count = "robust_at_least" if name == "robust_row" else "not_robust_at_least"
    mutant.says = {**mutant.says, count: mutant.says[count] + 1}
    if name == "robust_row":
        mutant.items = mutant.items or {"arithmetic": "f64-gamma"}
        _insert_leaf(arrays, place)
    elif name == "witness_row":
        points = arrays.get("witness", np.zeros((0, 2)))
        point = points[int(rng.integers(len(points)))] if len(points) else np.zeros(2)
        arrays["witness"] = np.insert(points, min(place, len(points)), point, axis=0)
    return f"row {row} added to {name}"


def _insert_leaf(arrays: dict[str, np.ndarray[Any, Any]], place: int) -> None:
    """Put a tree of one leaf in front of the tree number `place`, and number the leaves again."""
    tree = arrays.get("tree", np.zeros(0, "<i4")).tolist()
    position = 0
    for _ in range(place):
        need = 1
        while need and position < len(tree):
            need += 1 if tree[position] >= 0 else -1
            position += 1
    tree.insert(position, -1)
    numbers = itertools.count()
    arrays["tree"] = np.array([item if item >= 0 else -1 - next(numbers) for item in tree], "<i4")
    if "recompute" in arrays and len(arrays["recompute"]) == len(tree) - 1:
        arrays["recompute"] = np.insert(arrays["recompute"], position, 1)


def exchange_row(mutant: Specimen, rng: np.random.Generator) -> str:
    """Put another row in the place of a listed one: counts stay right."""
    names = [name for name in ("robust_row", "wrong_row", "witness_row") if name in mutant.arrays and len(mutant.arrays[name])]
    if not names:
        return "nothing"
    name = str(rng.choice(names))
    rows = mutant.arrays[name].copy()
    rows[int(rng.integers(len(rows)))] = int(rng.integers(-1, ROWS + 1))
    mutant.arrays[name] = np.sort(rows)
    return f"another row in {name}"


def move_witness(mutant: Specimen, rng: np.random.Generator) -> str:
    """Move a coordinate of a witness: by one unit in the last place, or a lot."""
    if "witness" not in mutant.arrays or not mutant.arrays["witness"].size:
        return "nothing"
    points = mutant.arrays["witness"].copy()
    index = tuple(int(rng.integers(n)) for n in points.shape)
    value = float(points[index])
    points[index] = [np.nextafter(value, np.inf), np.nextafter(value, -np.inf), value + 1 / 8, value - 1 / 8, -value][int(rng.integers(5))]
    mutant.arrays["witness"] = points
    return "a witness moved"


def swap_lists(mutant: Specimen, rng: np.random.Generator) -> str:
    """Call wrong rows robust and the other way round, with counts to match."""
    arrays, says = mutant.arrays, mutant.says
    one, other = arrays.pop("robust_row", None), arrays.pop("wrong_row", None)
    if one is not None:
        arrays["wrong_row"] = one
    if other is not None:
        arrays["robust_row"] = other
    witnessed = len(arrays.get("witness_row", ()))
    mutant.says = {**says, "robust_at_least": 0 if other is None else len(other), "not_robust_at_least": witnessed + (0 if one is None else len(one))}
    return "lists swapped"


OWN = (count_more, list_another, list_another, exchange_row, exchange_row, move_witness, swap_lists)
SHARED = (common.drop_entry, common.repeat_entry, common.swap_entries, common.change_entry, common.prune_subtree, common.trivial_tree,
          common.drop_array, common.inherit, common.other_arithmetic, common.no_assumptions)


def mutate(made: DataSet, valid: Specimen, rng: np.random.Generator) -> tuple[Specimen, str, bool]:
    """Return a resealed mutant, what was done, and whether its claim is true."""
    made, mutant, words = DataSet(made.layers, made.points.copy(), made.labels.copy(), made.known), valid.copy(), []
    for _ in range(int(rng.integers(1, 3))):
        choice = rng.random()
        if choice < 0.25:
            words.append(reclaim(mutant, rng))
        elif choice < 0.45:
            row = int(rng.integers(ROWS))
            if rng.random() < 0.5:
                made.points[row, int(rng.integers(2))] += 1
            else:
                made.labels[row] = int(rng.integers(-1, 4))
            mutant.files = made.files()
            words.append(f"row {row} of the data changed")
        elif choice < 0.75:
            words.append(OWN[int(rng.integers(len(OWN)))](mutant, rng))
        else:
            points = mutant.arrays.pop("witness", None)  # shared mutators are for flat arrays
            words.append(SHARED[int(rng.integers(len(SHARED)))](mutant, rng))
            if points is not None:
                mutant.arrays["witness"] = points
    if rng.random() < 0.4:  # push on until the claim is false
        mutant.given["radius"] = str(Fraction(str(mutant.given["radius"])) * int(rng.integers(2, 9)))
        words.append("radius enlarged")
    return mutant, ", ".join(words), truth(made, mutant.given, mutant.says)
