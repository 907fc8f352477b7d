# SPDX-License-Identifier: Apache-2.0
"""`grid-defence-limit`: random grids with hitting trees, mutants of evidence, question and case, and their truth by enumeration of all plans."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

import power_evidence as evidence
import power_networks as power
from kinds import grid, grid_attack
from toolkit import Specimen

SIDES = ("proved", "other")


@dataclass
class Instance:
    """A grid with a question about every plan within a budget."""

    grid: power.Grid


@dataclass(frozen=True)
class Plans:
    """What a defender may do: lines that can be defended, their costs, and the budget."""

    free: tuple[bool, ...]
    costs: tuple[int, ...]
    budget: int

    def all(self) -> list[frozenset[int]]:
        """Return every affordable plan."""
        return [frozenset(plan) for plan in power.within(self.free, self.costs, self.budget)]


def side(valid: Specimen) -> str:
    """Return whether a specimen bounds its attacks by cuts or by duals."""
    return "proved" if "side" in valid.arrays else "other"


def _read(made: power.Grid, specimen: Specimen) -> tuple[grid.Question, Plans] | None:
    """Return what is asked of the attacker and of the defender; None where it means nothing."""
    given = specimen.given
    if "defended" in given:
        return None
    asked = grid.question(made, {**given, "defended": [], "defence_costs": [], "budget": None}, True)
    if asked is None or specimen.assumptions != grid.premises(made, given):
        return None
    rows, dear = {line.row: k for k, line in enumerate(asked.plain.lines)}, dict(given["defence_costs"])
    listed = list(rows) if given["defendable"] is None else given["defendable"]
    if not all(grid.ascending(part) and set(part) <= set(rows) for part in (listed, [row for row, _ in given["defence_costs"]])):
        return None
    if given["budget"] is None or 1 in dear.values():
        return None
    return asked, Plans(tuple(line.row in set(listed) for line in asked.plain.lines), tuple(dear.get(line.row, 1) for line in asked.plain.lines),
                        given["budget"])


def _beaten(asked: grid.Question, plan: frozenset[int], wanted: Fraction, operator: str) -> bool:
    """Return whether some attack outside of a plan sheds enough; what the linear program can't tell counts as true."""
    free = tuple(may and k not in plan for k, may in enumerate(asked.free))
    attacks = list(power.within(free, asked.costs, asked.budget))
    if any(shed >= wanted for shed in asked.transport.sheds(attacks)):
        return True
    if operator == "transport":
        return False
    enough = float(wanted) - grid.TOLERANCE
    return any(asked.dc.shed(attack) >= enough and (operator == "dc" or asked.dc.switched(attack) >= enough) for attack in attacks)


def truth(made: power.Grid, specimen: Specimen) -> bool:
    """Return whether a claim is true and rests on what it lists, from the definition."""
    read = _read(made, specimen)
    if read is None:
        return False
    asked, plans = read
    wanted = Fraction(specimen.says["shed_mw_at_least"])
    return all(_beaten(asked, plan, wanted, specimen.given["operator"]) for plan in plans.all())


def tree(attacks: Sequence[tuple[int, ...]], plans: Plans) -> tuple[list[int], list[int]] | None:
    """Return a hitting tree over the attacks and the attacks that it names, in the order of the tree's numbers; None where a plan meets all."""
    nodes: list[int] = []
    named: list[int] = []

    def grow(inside: frozenset[int], outside: frozenset[int], left: int) -> bool:
        found = next((k for k, attack in enumerate(attacks) if not inside & set(attack)), None)
        if found is None:
            return False
        if found not in named:
            named.append(found)
        nodes.append(named.index(found))
        earlier: list[int] = []
        for line in sorted(set(attacks[found]) - outside):
            if plans.free[line] and plans.costs[line] <= left:
                if not grow(inside | {line}, outside | set(earlier), left - plans.costs[line]):
                    return False
                earlier.append(line)
        return True

    return (nodes, named) if grow(frozenset(), frozenset(), plans.budget) else None


def specimen(rng: np.random.Generator) -> tuple[Instance, Specimen] | None:
    """Return a random instance with a certificate that the checker verifies, or None where nothing can be attacked."""
    operator = str(rng.choice(["transport", "transport", "dc-switch", "dc", "dc"]))
    made = power.random_grid(rng, operator == "dc", (2, 4), (2, 6))
    given = grid.asked(rng, made, operator)
    given.pop("defended")
    given.update(budget=int(rng.integers(0, 3)), defence_costs=[], defendable=None, attacks=max(1, given["attacks"]))
    valid = Specimen("grid-defence-limit", {"case": ("c.m", made.data())}, given, {}, "hitting-tree")
    try:
        valid.assumptions = grid.premises(made, given)
    except power.Refused:
        return None
    if (read := _read(made, valid)) is None or not read[0].plain.lines:
        return None
    rows = [line.row for line in read[0].plain.lines]
    if rng.random() < 0.3:
        given["defence_costs"] = [[row, int(rng.integers(2, 4))] for row in rows if rng.random() < 0.4]
    if rng.random() < 0.3:
        given["defendable"] = [row for row in rows if rng.random() < 0.7]
    read = _read(made, valid)
    if read is None:
        return None
    asked, plans = read
    attacks = sorted(power.within(asked.free, asked.costs, asked.budget), key=lambda attack: (-asked.transport.shed(attack), attack))
    worst = min(max(asked.transport.shed(attack) for attack in attacks if not plan & set(attack)) for plan in plans.all())
    grown = tree([attack for attack in attacks if asked.transport.shed(attack) >= worst], plans)
    if grown is None:
        raise AssertionError("the attacks that shed the worst are met by a plan")
    used = [attacks[k] for k in grown[1]]
    if operator != "transport":  # limits of angles are a little loose in the checker, by its rational above pi
        worst = max(Fraction(0), Fraction(int((worst - Fraction(1, 10**9)) * 10**12), 10**12))
    width = max(map(len, used), default=0)
    listed = [sorted(asked.plain.lines[k].row for k in attack) for attack in used]
    valid.arrays = {"tree": np.array(grown[0], "<i4"), "attacks": np.array([row + [-1] * (width - len(row)) for row in listed],
                                                                         "<i4").reshape(len(used), width)}
    if operator == "dc" and rng.random() < 0.8:
        duals = [evidence.dual(asked.dc, attack) for attack in used]
        shown = [grid_attack.shown(asked.plain, attack, *dual) for attack, dual in zip(used, duals, strict=True)]
        if None in shown:
            return None
        worst = min(value for value in shown if value is not None)
        valid.arrays.update(pi=np.array([prices for prices, _ in duals], "<i8"), circulation=np.array([around for _, around in duals], "<i8"))
        valid.items = {"scale": [10**9, 10**6]}
    else:
        valid.arrays["side"] = np.array([asked.transport.cut(attack) for attack in used], "|u1").reshape(len(used), -1)
    valid.says = {"shed_mw_at_least": str(worst)}
    return Instance(made), valid


# Mutators of evidence and question

def node(specimen: Specimen, rng: np.random.Generator) -> str:
    """Let a node name another attack, drop one, or repeat one."""
    nodes = specimen.arrays.get("tree", np.zeros(0, "<i4")).tolist()
    if nodes:
        at, which = int(rng.integers(len(nodes))), int(rng.integers(4))
        if which == 0:
            nodes.pop(at)
        elif which == 1:
            nodes.insert(at, nodes[at])
        else:
            nodes[at] = int(rng.integers(-1, len(specimen.arrays.get("attacks", [])) + 1))
        specimen.arrays["tree"] = np.array(nodes, "<i4")
    return "a node changed"


def cropped(specimen: Specimen, rng: np.random.Generator) -> str:
    """Keep the first node only, with the attack that it names."""
    keys = [key for key in ("attacks", "side", "pi", "circulation") if len(specimen.arrays.get(key, []))]
    nodes = specimen.arrays.get("tree", np.zeros(0, "<i4"))
    if len(nodes) and 0 <= nodes[0] and all(nodes[0] < len(specimen.arrays[key]) for key in keys):
        for key in keys:
            specimen.arrays[key] = specimen.arrays[key][nodes[:1]]
        specimen.arrays["tree"] = np.zeros(1, "<i4")
    return "a tree of one node"


def row(specimen: Specimen, rng: np.random.Generator) -> str:
    """Change a row of an attack, or widen all attacks by one."""
    attacks = specimen.arrays.get("attacks")
    if attacks is None or attacks.ndim != 2 or not len(attacks):
        return "nothing"
    attacks = attacks.copy()
    if attacks.size and rng.random() < 0.7:
        attacks.flat[int(rng.integers(attacks.size))] = int(rng.choice([-2, -1, *range(1, 8)]))
    else:
        attacks = np.hstack([attacks, np.full((len(attacks), 1), -1 if rng.random() < 0.4 else 7, "<i4")])
    if rng.random() < 0.7:
        attacks = np.array([sorted(r for r in line if r != -1) + [-1] * line.count(-1) for line in attacks.tolist()], "<i4").reshape(attacks.shape)
    specimen.arrays["attacks"] = attacks
    return "an attack changed"


def plan_budget(specimen: Specimen, rng: np.random.Generator) -> str:
    """Let the defender spend more or less."""
    specimen.given["budget"] = max(0, specimen.given["budget"] + int(rng.choice([1, 1, 2, -1])))
    return "the budget of the defence changed"


def defendable(specimen: Specimen, rng: np.random.Generator) -> str:
    """Let more or fewer lines be defended, or change what they cost."""
    if rng.random() < 0.3:
        specimen.given["defence_costs"] = [] if specimen.given["defence_costs"] else [[int(rng.integers(1, 7)), int(rng.integers(1, 4))]]
        return "costs of the defence changed"
    listed = set(specimen.given["defendable"] or []) ^ {int(rng.integers(1, 7))}
    specimen.given["defendable"] = None if rng.random() < 0.4 else sorted(listed)
    return "defendable lines changed"


OWN = (grid_attack.entry, grid_attack.entry, grid_attack.scale, grid_attack.loop, node, node, cropped, row, row)
ASKED = (plan_budget, plan_budget, defendable, defendable, grid.budget, grid.costs, grid.attackable, grid.words, grid.assumptions)


def mutate(made: Instance, valid: Specimen, rng: np.random.Generator) -> tuple[Specimen, str, bool]:
    """Return a resealed mutant, what was done, and whether its claim is true."""
    return grid.mutate(made.grid, valid, rng, OWN, grid_attack.bound, truth, ASKED)
