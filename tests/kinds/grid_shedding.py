# SPDX-License-Identifier: Apache-2.0
"""`grid-shedding`: random grids with trees and pools, mutants of evidence, question and case, and their truth by enumeration of all attacks."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

import power_evidence as evidence
import power_networks as power
from kinds import grid
from toolkit import Specimen

SIDES = ("proved", "other")


@dataclass
class Instance:
    """A grid with a question about its worst case."""

    grid: power.Grid


def side(valid: Specimen) -> str:
    """Return whether a specimen shows its claim by a tree or a pool."""
    return "proved" if valid.evidence == "penalty-tree" else "other"


def truth(made: power.Grid, specimen: Specimen) -> bool:
    """Return whether a claim is true and rests on what it lists, from the definition; what the linear program can't tell counts as true."""
    asked = grid.question(made, specimen.given, False)
    if asked is None or specimen.assumptions != grid.premises(made, specimen.given):
        return False
    limit = Fraction(specimen.says["shed_mw_at_most"])
    if specimen.given["operator"] == "transport":
        return asked.transport.worst(asked.free, asked.costs, asked.budget) <= limit
    if asked.transport.worst(asked.free, asked.costs, asked.budget) > limit:  # no operator can do more than transport
        return False
    if specimen.given["operator"] == "dc-switch":
        return all(asked.dc.switched(attack) <= float(limit) + grid.TOLERANCE for attack in power.within(asked.free, asked.costs, asked.budget))
    return all(asked.dc.shed(attack) <= float(limit) + grid.TOLERANCE for attack in power.within(asked.free, asked.costs, asked.budget))


def specimen(rng: np.random.Generator) -> tuple[Instance, Specimen] | None:
    """Return a random instance with a certificate that the checker verifies, or None where nothing can be attacked."""
    operator = str(rng.choice(["transport", "dc", "dc-switch"], p=[0.5, 0.3, 0.2]))
    small = operator != "transport"
    made = power.random_grid(rng, operator == "dc" or (small and rng.random() < 0.7), (2, 4) if small else (2, 5),
                             (3, 6) if small else (2, 8))
    given = grid.asked(rng, made, operator)
    asked = grid.question(made, given, False)
    if asked is None or not asked.plain.lines:
        return None
    valid = Specimen("grid-shedding", {"case": ("c.m", made.data())}, given, {}, "")
    valid.assumptions = grid.premises(made, given)
    if operator == "transport":
        worst = asked.transport.worst(asked.free, asked.costs, asked.budget)
        grown = evidence.tree(asked.plain, asked.free, asked.costs, asked.budget, worst, rng if rng.random() < 0.2 else None)
        valid.evidence, valid.says = "penalty-tree", {"shed_mw_at_most": str(grown.worst)}
        valid.arrays = {"tree": np.array(grown.nodes, "<i4"), "flow": np.array(grown.flows, "<i8"),
                        "scale": np.full(len(grown.flows), evidence.unit_of(asked.plain), "<i8")}
    elif operator == "dc-switch":
        _switched(asked, valid, rng)
    else:
        bound = Fraction(round((asked.dc.worst(asked.free, asked.costs, asked.budget) + 1e-5) * 10**6), 10**6)
        supply, served = evidence.pool(asked.dc, asked.free, asked.costs, asked.budget)
        valid.evidence, valid.items, valid.says = "policy-pool", {"quantum_mw": "1/1000000000"}, {"shed_mw_at_most": str(bound)}
        valid.arrays = {"supply": np.array(supply, "<i8"), "demand": np.array(served, "<i8")}
    return Instance(made), valid


def _switched(asked: grid.Question, valid: Specimen, rng: np.random.Generator) -> None:
    """Give a specimen a tree of forests."""
    attacks = list(power.within(asked.free, asked.costs, asked.budget))
    scale = evidence.unit_of(asked.plain)
    scale = scale if scale < 10**9 else 10**6
    bound = max(asked.dc.switched(attack) for attack in attacks) + 1e-5
    grown = evidence.forest_tree(asked.dc, asked.free, asked.costs, asked.budget, bound, scale, rng)
    buses = len(asked.plain.numbers)
    valid.evidence, valid.items, valid.says = "forest-tree", {"quantum_mw": "1/1000000000"}, {"shed_mw_at_most": str(grown.worst)}
    valid.arrays = {"tree": np.array(grown.nodes, "<i4"), "flow": np.array(grown.flows, "<i8"), "scale": np.full(len(grown.kind), scale, "<i8"),
                    "closed": np.array(grown.closed, "|u1"), "kind": np.array(grown.kind, "|u1"),
                    "supply": np.array(grown.supply, "<i8").reshape(-1, buses), "demand": np.array(grown.demand, "<i8").reshape(-1, buses)}


# Mutators of evidence and claim

def shut(specimen: Specimen, rng: np.random.Generator) -> str:
    """Close or open lines of a forest, or call a flow a dispatch."""
    if "closed" in specimen.arrays and specimen.arrays["closed"].size:
        closed = specimen.arrays["closed"].copy()
        which = int(rng.integers(4))
        if which == 0:
            closed[int(rng.integers(len(closed)))] = 1
        elif which == 1:
            closed[int(rng.integers(len(closed)))] = 0
        else:
            closed.flat[int(rng.integers(closed.size))] ^= 1
        specimen.arrays["closed"] = closed
        if which == 0 and "kind" in specimen.arrays and len(specimen.arrays["kind"]) and rng.random() < 0.5:
            kind_of = specimen.arrays["kind"].copy()
            kind_of[int(rng.integers(len(kind_of)))] ^= 1
            specimen.arrays["kind"] = kind_of
    return "closed lines changed"


def quantum(specimen: Specimen, rng: np.random.Generator) -> str:
    """Move one flow or one dispatch by a quantum, to an end of int64, or change its sign."""
    keys = [key for key in ("flow", "supply", "demand") if specimen.arrays.get(key, np.zeros(0)).size]
    if not keys:
        return "nothing"
    key = str(rng.choice(keys))
    array = specimen.arrays[key].copy()
    flat = array.reshape(-1)
    index = int(rng.integers(len(flat)))
    value = int(flat[index])
    flat[index] = [value + 1 if value < 2**62 else value, value - 1 if value > -(2**62) else value, -value if value > -(2**63) else value,
                   2**63 - 1, -(2**63), 0, 2**62][int(rng.integers(7))]
    specimen.arrays[key] = array
    return f"{key} changed"


def scale(specimen: Specimen, rng: np.random.Generator) -> str:
    """Change the scale of a flow, or the quantum of a pool."""
    if "scale" in specimen.arrays and len(specimen.arrays["scale"]):
        array = specimen.arrays["scale"].copy()
        index = int(rng.integers(len(array)))
        array[index] = [0, -1, 1, min(2**63 - 1, max(-(2**63), int(array[index]) * 2)), 2**63 - 1, 2**62][int(rng.integers(6))]
        specimen.arrays["scale"] = array
    elif "quantum_mw" in specimen.items:
        specimen.items = {"quantum_mw": str(rng.choice(["1/1000000000", "1/500000000", "1/2000000000", "1", "1/999999999999999999"]))}
    return "the scale changed"


def lone_leaf(specimen: Specimen, rng: np.random.Generator) -> str:
    """Replace the tree, or a random subtree, by a leaf that names some flow; flows that nothing names are dropped."""
    if "tree" not in specimen.arrays or "flow" not in specimen.arrays:
        return "nothing"
    nodes = specimen.arrays["tree"].tolist()
    inner = [k for k, node in enumerate(nodes) if node >= 0]
    if inner:
        start = int(rng.choice(inner))
        end, need = start, 1
        while need and end < len(nodes):
            need += 1 if nodes[end] >= 0 else -1
            end += 1
        nodes[start:end] = [-1 - int(rng.integers(max(1, len(specimen.arrays["flow"]))))]
    used = sorted({-1 - node for node in nodes if node < 0})
    if used and used[-1] < len(specimen.arrays["flow"]) and len(specimen.arrays["flow"]) == len(specimen.arrays.get("scale", [])):
        nodes = [-1 - used.index(-1 - node) if node < 0 else node for node in nodes]
        for key in ("flow", "scale", "closed", "kind"):
            if len(specimen.arrays.get(key, [])) > used[-1]:
                specimen.arrays[key] = specimen.arrays[key][used]
    specimen.arrays["tree"] = np.array(nodes, "<i4")
    return "a subtree replaced by a leaf"


def leaf_flow(specimen: Specimen, rng: np.random.Generator) -> str:
    """Replace the flows of a witness by those of another, by none, or let a leaf name another witness."""
    if "flow" not in specimen.arrays or not len(specimen.arrays["flow"]) or "tree" not in specimen.arrays:
        return "nothing"
    flow, tree = specimen.arrays["flow"].copy(), specimen.arrays["tree"].copy()
    if rng.random() < 0.6:
        flow[int(rng.integers(len(flow)))] = 0 if rng.random() < 0.5 else flow[int(rng.integers(len(flow)))]
    elif (tree < 0).any():
        tree[int(rng.choice(np.flatnonzero(tree < 0)))] = -1 - int(rng.integers(len(flow) + 1))
    specimen.arrays["flow"], specimen.arrays["tree"] = flow, tree
    return "the flow of a leaf changed"


def branch(specimen: Specimen, rng: np.random.Generator) -> str:
    """Let a node branch on another line, or swap its children."""
    tree = specimen.arrays.get("tree", np.zeros(0, "<i4")).copy()
    if (tree >= 0).any():
        tree[int(rng.choice(np.flatnonzero(tree >= 0)))] = int(rng.choice([0, 1, 2, 3, 4, 8, 2**31 - 1]))
        specimen.arrays["tree"] = tree
    return "a branching line changed"


def dispatch(specimen: Specimen, rng: np.random.Generator) -> str:
    """Keep one dispatch only, demand or supply everything, or swap supply and demand."""
    if "supply" not in specimen.arrays or "demand" not in specimen.arrays:
        return "nothing"
    supply, demand = specimen.arrays["supply"], specimen.arrays["demand"]
    which = int(rng.integers(4))
    if which == 0 and len(supply) == len(demand) and len(supply):
        keep = int(rng.integers(len(supply)))
        specimen.arrays.update(supply=supply[keep : keep + 1], demand=demand[keep : keep + 1])
    elif which == 1:
        specimen.arrays.update(supply=demand, demand=supply)
    elif which == 2:
        specimen.arrays["demand"] = np.maximum(demand, demand.max(axis=0, initial=0)).astype("<i8")
    else:
        specimen.arrays["supply"] = np.maximum(supply, 10**11).astype("<i8")
    return "dispatches changed"


def kind(specimen: Specimen, rng: np.random.Generator) -> str:
    """Call the evidence something else."""
    specimen.evidence = str(rng.choice(["penalty-tree", "policy-pool", "forest-tree", "cut", "dc-dual"]))
    if specimen.evidence in ("policy-pool", "forest-tree") and rng.random() < 0.5:
        specimen.items = {"quantum_mw": "1"}
    return "the kind of evidence changed"


def bound(specimen: Specimen, rng: np.random.Generator) -> str:
    """Claim less shed: by a hair, by a quantum, by a lot, or a negative one."""
    value = Fraction(specimen.says["shed_mw_at_most"])
    less = [value - Fraction(1, 10**30), value - Fraction(1, 10**4), value - 1, value / 2, Fraction(0), Fraction(-1), value + 1]
    specimen.says = {"shed_mw_at_most": str(less[int(rng.integers(len(less)))])}
    return "the bound changed"


SHEDDING = (quantum, quantum, scale, shut, shut, lone_leaf, lone_leaf, leaf_flow, leaf_flow, branch, dispatch, dispatch, kind)


def mutate(made: Instance, valid: Specimen, rng: np.random.Generator) -> tuple[Specimen, str, bool]:
    """Return a resealed mutant, what was done, and whether its claim is true."""
    return grid.mutate(made.grid, valid, rng, SHEDDING, bound, truth)
