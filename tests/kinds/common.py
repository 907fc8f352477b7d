# SPDX-License-Identifier: Apache-2.0
"""What the specimens of `region` and `robust` share: tiny exact networks, evidence with splits, and mutators of evidence."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

import float32_runs as runs
import oracle
from certify.errors import CertifyError
from certify.limits import Limits
from certify.readers.formula import Part
from certify.readers.network import Dense, Network, Relu
from certify.readers.onnx_ops import read_network
from certify.rules.balls import above, below
from certify.rules.float32 import Rounding
from certify.rules.relaxation import Relaxation
from certify.rules.unsafe_set import UnsafeSet
from toolkit import Layers, Specimen

Mutator = Callable[[Specimen, np.random.Generator], str]


def tiny_layers(rng: np.random.Generator, outputs: int) -> Layers:
    """Return layers of a network with two inputs, one or two hidden layers of two or three neurons, and dyadic weights."""
    sizes = [2, *(int(n) for n in rng.integers(2, 4, int(rng.integers(1, 3)))), outputs]
    return [((rng.integers(-8, 9, (m, n)) / 4).tolist(), (rng.integers(-8, 9, m) / 8).tolist()) for n, m in itertools.pairwise(sizes)]


def exact(layers: Layers) -> oracle.Net:
    """Return layers for the oracle."""
    return [([[Fraction(w) for w in row] for row in weight], [Fraction(b) for b in bias]) for weight, bias in layers]


def split_evidence(unsafe: UnsafeSet, rng: np.random.Generator, most: int) -> dict[str, np.ndarray[Any, Any]] | None:
    """Return a tree that closes every leaf by CROWN, found by halving, or None where `most` leaves don't do."""
    tree: list[int] = []
    thresholds: list[float] = []
    leaves = 0

    def grow(part: Part, lower: np.ndarray[Any, Any], upper: np.ndarray[Any, Any], room: int) -> bool:
        nonlocal leaves
        if leaves >= most:
            return False
        if _closed(unsafe, part, lower, upper) and (room < 4 or rng.random() < 0.7):
            tree.append(-1 - leaves)
            leaves += 1
            return True
        width = upper - lower
        item = int(width.argmax())
        theta = float((lower[item] + upper[item]) / 2)
        if room == 0 or not lower[item] < theta < upper[item]:
            return False
        tree.append(item)
        thresholds.append(theta)
        high, low = lower.copy(), upper.copy()
        high[item] = low[item] = theta
        return grow(part, high, upper, room - 1) and grow(part, lower, low, room - 1)

    for part in unsafe.parts:
        if not grow(part, np.array([below(v) for v in part.lower]), np.array([above(v) for v in part.upper]), 7):
            return None
    arrays: dict[str, np.ndarray[Any, Any]] = {"tree": np.array(tree, "<i4")}
    if thresholds:
        arrays |= {"split_at": np.array(thresholds, "<f8"), "recompute": np.ones(len(tree), "|u1")}
    return arrays


def _closed(unsafe: UnsafeSet, part: Part, lower: np.ndarray[Any, Any], upper: np.ndarray[Any, Any]) -> bool:
    arithmetic = Relaxation(unsafe.network, Limits(), None, Rounding(unsafe.network) if unsafe.semantics == "exec32" else None)
    arithmetic.start(part)
    bounds = arithmetic.propagate(lower[None], upper[None], None)
    for conjunct in part.conjuncts:
        rows = [arithmetic.specify([(row, Fraction(1))]) for row in conjunct]
        found = arithmetic.bound(rows, np.zeros(len(rows), np.int64), bounds, lower[None], upper[None])
        if not len(rows) or found.max() <= 1e-6:
            return False
    return True


def is_closed(specimen: Specimen) -> bool:
    """Return whether the checker closes every leaf: rarely it does not where `split_evidence` does, for inherited bounds lead to other slopes."""
    try:
        specimen.verify()
    except CertifyError as trouble:
        if trouble.code != "leaf-uncovered":
            raise
        return False
    return True


def decorate(specimen: Specimen, rng: np.random.Generator) -> None:
    """Give a tree other choices that are in its range, as far as it still verifies: integers, and sets of slopes."""
    plain = specimen.copy()
    if rng.random() < 0.35:
        specimen.items = {"arithmetic": "exact-int", "fraction_bits": int(rng.choice([16, 24, 60, 61]))}
    if rng.random() < 0.4:
        tune(specimen, rng)
    try:
        specimen.verify()
    except CertifyError:
        specimen.items, specimen.arrays = plain.items, plain.arrays


def neurons(specimen: Specimen) -> int:
    """Return the number of ReLU neurons of a specimen's model."""
    network = read_network(specimen.files["model"][1], Limits())
    return sum(network.layers[k].size for k in network.activations)


def shaken(layers: Layers, rng: np.random.Generator, points: Sequence[oracle.Point]) -> Iterator[tuple[oracle.Point, list[Fraction]]]:
    """Yield points with the outputs of float32 executions at them: each contradicts a claim about all executions if it is unsafe."""
    network = Network((1, 2), 2, tuple(layer for k, (weight, bias) in enumerate(layers) for layer in (
        Dense(np.array(weight, float), np.array(bias, float)), *([Relu(len(bias))] if k < len(layers) - 1 else []))))
    for x in points:
        for _ in range(3):
            try:
                yield x, [runs.real(v) for v in runs.execute(network, runs.inputs(rng, x), runs.machine(rng))[-1]]
            except runs.Overflow:
                continue


def rows_for(unsafe: UnsafeSet, leaves: Sequence[int], rng: np.random.Generator) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any] | None]:
    """Return arrays `row` and `mix` with random choices for every leaf and conjunct, in order."""
    row: list[int] = []
    mix: list[float] = []
    for part, count in zip(unsafe.parts, leaves, strict=True):
        for _ in range(count):
            for conjunct in part.conjuncts:
                if rng.random() < 0.5:
                    row.append(-1)
                    mix += rng.integers(1, 5, len(conjunct)).astype(float).tolist()
                else:
                    row.append(int(rng.integers(0, len(conjunct))))
    return np.array(row, "<i4"), np.array(mix, "<f8") if mix else None


# Mutators of evidence. Each changes the specimen in place and says what it did.

def drop_entry(specimen: Specimen, rng: np.random.Generator) -> str:
    """Delete one entry of one array."""
    key = _some(specimen, rng)
    array = specimen.arrays.get(key, np.zeros(0))
    if len(array):
        specimen.arrays[key] = np.delete(array, int(rng.integers(len(array))), axis=0)
    return f"an entry of {key} dropped"


def repeat_entry(specimen: Specimen, rng: np.random.Generator) -> str:
    """Repeat one entry of one array."""
    key = _some(specimen, rng)
    array = specimen.arrays.get(key, np.zeros(0))
    if len(array):
        index = int(rng.integers(len(array)))
        specimen.arrays[key] = np.insert(array, index, array[index], axis=0)
    return f"an entry of {key} repeated"


def swap_entries(specimen: Specimen, rng: np.random.Generator) -> str:
    """Swap two entries of one array."""
    key = _some(specimen, rng)
    array = specimen.arrays.get(key, np.zeros(0)).copy()
    if len(array) > 1:
        i, j = rng.choice(len(array), 2, replace=False)
        array[[i, j]] = array[[j, i]]
        specimen.arrays[key] = array
    return f"two entries of {key} swapped"


def change_entry(specimen: Specimen, rng: np.random.Generator) -> str:
    """Change one entry of one array: a little, a lot, its sign, or to zero."""
    key = _some(specimen, rng)
    stored = specimen.arrays.get(key, np.zeros(0)).copy()
    array = stored.reshape(-1)
    if len(array):
        index = int(rng.integers(len(array)))
        value = float(array[index])
        choices = [value + 1, value - 1, 0.0, value * 2, -value]
        if array.dtype.kind == "f":
            choices += [float(np.nextafter(value, np.inf)), float(np.nextafter(value, -np.inf)), value + float(rng.standard_normal()), 1e300, -0.0]
        chosen = choices[int(rng.integers(len(choices)))]
        whole = np.int64(np.clip(chosen, -(2**31), 2**31 - 1)) if array.dtype.kind != "f" else np.int64(0)
        array[index] = chosen if array.dtype.kind == "f" else whole % 256 if array.dtype.kind == "u" else whole
        specimen.arrays[key] = array.reshape(stored.shape)
    return f"an entry of {key} changed"


def prune_subtree(specimen: Specimen, rng: np.random.Generator) -> str:
    """Replace a random subtree by one leaf and renumber, as an adversary who tidies up would."""
    if "tree" not in specimen.arrays:
        return "nothing"
    tree = specimen.arrays["tree"].tolist()
    inner = [i for i, item in enumerate(tree) if item >= 0]
    if not inner:
        return "nothing"
    start = int(rng.choice(inner))
    end, need = start, 1
    while need and end < len(tree):
        need += 1 if tree[end] >= 0 else -1
        end += 1
    splits_before = sum(item >= 0 for item in tree[:start])
    splits = sum(item >= 0 for item in tree[start:end])
    shorter = [*tree[:start], -1, *tree[end:]]
    leaf = 0
    for i, item in enumerate(shorter):
        if item < 0:
            shorter[i] = -1 - leaf
            leaf += 1
    if need or len(specimen.arrays.get("split_at", [])) < splits_before + splits or len(specimen.arrays.get("recompute", tree)) != len(tree):
        return "nothing"
    specimen.arrays["tree"] = np.array(shorter, "<i4")
    thresholds = np.delete(specimen.arrays["split_at"], slice(splits_before, splits_before + splits))
    recompute = np.delete(specimen.arrays["recompute"], slice(start + 1, end)) if "recompute" in specimen.arrays else None
    for key, array in (("split_at", thresholds), ("recompute", recompute)):
        if array is None or not len(array) or not any(item >= 0 for item in shorter):
            specimen.arrays.pop(key, None)
        else:
            specimen.arrays[key] = array
    return "a subtree pruned"


def trivial_tree(specimen: Specimen, rng: np.random.Generator) -> str:
    """Replace the whole evidence by one leaf for each of one to three parts."""
    specimen.arrays = {"tree": np.array([-1 - k for k in range(int(rng.integers(1, 4)))], "<i4")}
    return "the tree replaced by bare leaves"


def drop_array(specimen: Specimen, rng: np.random.Generator) -> str:
    """Remove one array."""
    key = _some(specimen, rng)
    specimen.arrays.pop(key, None)
    return f"the array {key} removed"


def inherit(specimen: Specimen, rng: np.random.Generator) -> str:
    """Let random nodes inherit their bounds."""
    if "recompute" in specimen.arrays:
        array = specimen.arrays["recompute"].copy()
        array[1:] = rng.integers(0, 2, len(array) - 1)
        specimen.arrays["recompute"] = array
    return "nodes inherit bounds"


def move_point(specimen: Specimen, rng: np.random.Generator) -> str:
    """Move one coordinate of a witness: by 1e-30, a little, or to another coordinate's value."""
    point = specimen.items.get("point")
    if not point:
        return "nothing"
    index = int(rng.integers(len(point)))
    value = Fraction(point[index])
    choices = [value + Fraction(1, 10**30), value - Fraction(1, 10**30), value + Fraction(int(rng.integers(-9, 10)), 16), -value, Fraction(point[0])]
    point = list(point)
    point[index] = str(choices[int(rng.integers(len(choices)))])
    specimen.items["point"] = point
    return "the witness moved"


def resize_point(specimen: Specimen, rng: np.random.Generator) -> str:
    """Add or drop a coordinate of a witness."""
    if "point" in specimen.items:
        specimen.items["point"] = specimen.items["point"][:-1] if rng.random() < 0.5 else [*specimen.items["point"], "0"]
    return "the witness resized"


def deny(specimen: Specimen, rng: np.random.Generator) -> str:
    """Claim the opposite with the same evidence."""
    specimen.says = {"holds": not specimen.says["holds"]}
    return "the answer negated"


def other_arithmetic(specimen: Specimen, rng: np.random.Generator) -> str:
    """Name another arithmetic."""
    if "arithmetic" in specimen.items:
        specimen.items["arithmetic"] = str(rng.choice(["f64-fast", "exact-int", "f64", "f64-gamma"]))
    return "another arithmetic"


def other_bits(specimen: Specimen, rng: np.random.Generator) -> str:
    """Count in other units, or leave them out, or name units where there are none."""
    if "arithmetic" in specimen.items:
        bits = [0, 8, 15, 16, 17, 30, 61, 4096, 4097, 10**6, None][int(rng.integers(11))]
        specimen.items.pop("fraction_bits", None)
        if bits is not None:
            specimen.items["fraction_bits"] = bits
        if rng.random() < 0.6:
            specimen.items["arithmetic"] = "exact-int"
    return "other fraction bits"


def tune(specimen: Specimen, rng: np.random.Generator) -> str:
    """Put random sets of slopes, and choices of them that fit the tree where every part has one conjunct."""
    tree = specimen.arrays.get("tree")
    if tree is None:
        return "nothing"
    count = int(rng.integers(1, 3))
    specimen.arrays["slope"] = rng.integers(0, 256, (count, neurons(specimen))).astype("|u1")
    flags = specimen.arrays.get("recompute")
    leaves, nodes = int((tree < 0).sum()), 1 if flags is None else int(flags.sum())
    which = rng.random()
    if which < 0.7:
        specimen.arrays["node_slope"] = rng.integers(-1, count, nodes).astype("<i4")
    if which > 0.4:
        specimen.arrays["leaf_slope"] = rng.integers(-1, count, leaves * int(rng.integers(1, 3))).astype("<i4")
    return "sets of slopes"


def split_neuron(specimen: Specimen, rng: np.random.Generator) -> str:
    """Replace a leaf, or a split of an input above two leaves, by a split on a neuron, with multipliers or without."""
    tree = specimen.arrays.get("tree", np.zeros(0, "<i4")).tolist()
    places = [i for i, item in enumerate(tree) if item < 0]
    if not places:
        return "nothing"
    at, flags = int(rng.choice(places)), specimen.arrays.get("recompute")
    inner = at > 0 and tree[at - 1] >= 0 and at + 1 < len(tree) and tree[at + 1] < 0 and rng.random() < 0.6
    tree[at - 1 if inner else at : at if inner else at + 1] = [2 + int(rng.integers(neurons(specimen)))] if inner else [
        2 + int(rng.integers(neurons(specimen))), -1, -1]
    leaves = 0
    for i, item in enumerate(tree):
        if item < 0:
            tree[i] = -1 - leaves
            leaves += 1
    specimen.arrays["tree"] = np.array(tree, "<i4")
    if inner:
        splits = sum(0 <= item < 2 for item in tree[: at - 1])
        specimen.arrays["split_at"] = np.delete(specimen.arrays.get("split_at", np.zeros(0)), slice(splits, splits + 1))
        if not len(specimen.arrays["split_at"]):
            del specimen.arrays["split_at"]
    elif flags is not None and len(flags) == len(tree) - 2:
        specimen.arrays["recompute"] = np.insert(flags, at + 1, rng.integers(0, 2, 2).astype("|u1"))
    if rng.random() < 0.5:
        specimen.arrays["beta"] = np.array(rng.integers(0, 4, _on_paths(tree)) / 4)
    return "a split on a neuron"


def _on_paths(tree: Sequence[int]) -> int:
    """Return the number of splits on neurons on the ways to all leaves; trees stand one behind the other."""
    total, stack = 0, [0]
    for item in tree:
        depth = stack.pop() if stack else 0
        if item < 0:
            total += depth
        else:
            stack += [depth + (item >= 2)] * 2
    return total


def swap_semantics(specimen: Specimen, rng: np.random.Generator) -> str:
    """Claim the other semantics, mostly with the assumptions that go with it."""
    other = "exec32" if specimen.given["semantics"] == "real" else "real"
    specimen.given["semantics"] = other
    if rng.random() < 0.8:
        specimen.assumptions = ["real-arithmetic"] if other == "real" else []
    return f"semantics {other}"


def no_assumptions(specimen: Specimen, rng: np.random.Generator) -> str:
    """List no assumption."""
    specimen.assumptions = []
    return "assumptions dropped"


EVIDENCE: tuple[Mutator, ...] = (drop_entry, repeat_entry, swap_entries, change_entry, change_entry, prune_subtree, trivial_tree, drop_array, inherit,
                                 move_point, move_point, resize_point, deny, other_arithmetic, other_bits, tune, split_neuron, split_neuron,
                                 swap_semantics, no_assumptions)


def _some(specimen: Specimen, rng: np.random.Generator) -> str:
    return str(rng.choice(sorted(specimen.arrays))) if specimen.arrays else "tree"
