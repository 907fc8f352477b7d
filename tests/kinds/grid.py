# SPDX-License-Identifier: Apache-2.0
"""What the specimens of the kinds of claims about attacks share: a small random grid with a question, its truth, and mutators of both."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

import power_networks as power
from kinds import common
from toolkit import Specimen

TOLERANCE = 1e-6  # MW: by so much the linear program may be off
EVIDENCE = (common.drop_entry, common.repeat_entry, common.swap_entries, common.change_entry, common.change_entry, common.change_entry,
            common.drop_array)
Change = Callable[[power.Grid, np.random.Generator], str]


@dataclass(frozen=True)
class Question:
    """`given` read by definition: lines that may be attacked, costs, the budget; None where `given` means nothing."""

    plain: power.Plain
    transport: power.Transport
    dc: power.Dc
    free: tuple[bool, ...]
    costs: tuple[int, ...]
    budget: int


def ascending(rows: Sequence[int]) -> bool:
    """Return whether rows are in ascending order, each once."""
    return all(a < b for a, b in itertools.pairwise(rows))


def question(grid: power.Grid, given: dict[str, Any], consume: bool) -> Question | None:
    """Return what is asked; None where the operator or a convention is not covered, or rows don't name lines."""
    try:
        plain, transport, dc = power.oracles(grid, given["operator"], given["model"], consume)
    except power.Refused:
        return None
    rows = {line.row: k for k, line in enumerate(plain.lines)}
    named = [given["defended"], given["attackable"] or [], [row for row, _ in given["attack_costs"]], [row for row, _ in given["defence_costs"]]]
    if not all(ascending(part) and set(part) <= set(rows) for part in named) or 1 in {c for _,
                                                                                      c in (*given["attack_costs"], *given["defence_costs"])}:
        return None
    if given["budget"] is None and given["defence_costs"]:
        return None
    defence = dict(given["defence_costs"])
    if given["budget"] is not None and sum(defence.get(row, 1) for row in given["defended"]) > given["budget"]:
        return None
    costs = dict(given["attack_costs"])
    open_rows = set(rows if given["attackable"] is None else given["attackable"]) - set(given["defended"])
    return Question(plain, transport, dc, tuple(line.row in open_rows for line in plain.lines), tuple(costs.get(line.row, 1) for line in plain.lines),
                    given["attacks"])


def asked(rng: np.random.Generator, grid: power.Grid, operator: str) -> dict[str, Any]:
    """Return a random `given` with the fields of all claims about attacks."""
    rows = [row for row, k in enumerate(grid.branches, start=1) if k.status == 1 and _live(grid, k)]

    def some(most: int) -> list[int]:
        return sorted(int(v) for v in rng.choice(rows, min(len(rows), int(rng.integers(0, most + 1))), replace=False))

    defended = some(2) if rng.random() < 0.3 else []
    return {"operator": operator, "model": power.conventions(grid, operator, "enforced" if rng.random() < 0.8 else "ignored"),
            "attacks": int(rng.choice([0, 1, 1, 2, 2, 3])),
            "attack_costs": [[row, int(rng.integers(2, 4))] for row in some(3)] if rng.random() < 0.3 else [],
            "attackable": some(len(rows)) if rng.random() < 0.25 else None, "defended": defended,
            "budget": len(defended) + int(rng.integers(0, 2)) if rng.random() < 0.3 else None, "defence_costs": []}


def _live(grid: power.Grid, branch: power.Branch) -> bool:
    types = {bus.number: bus.type for bus in grid.buses}
    return types[branch.a] != 4 and types[branch.b] != 4


def premises(grid: power.Grid, given: dict[str, Any]) -> list[str]:
    """Return what the claim rests on, in order."""
    return sorted(power.plain(grid, given["operator"], given["model"]).premises)


# Mutators of the grid

def rate(grid: power.Grid, rng: np.random.Generator) -> str:
    """Change the rating of a branch: a little, to unlimited, or to much less."""
    branch = grid.branches[int(rng.integers(len(grid.branches)))]
    branch.rate = [branch.rate + Fraction(1, 10**9), Fraction(0), branch.rate / 2, branch.rate * 2][int(rng.integers(4))]
    return "a rating changed"


def status(grid: power.Grid, rng: np.random.Generator) -> str:
    """Take a branch out of service, or put it back."""
    branch = grid.branches[int(rng.integers(len(grid.branches)))]
    branch.status = 1 - branch.status
    return "a status changed"


def demand(grid: power.Grid, rng: np.random.Generator) -> str:
    """Raise or lower a demand."""
    bus = grid.buses[int(rng.integers(len(grid.buses)))]
    bus.pd += [Fraction(1, 10**9), Fraction(5), Fraction(-5), Fraction(40)][int(rng.integers(4))]
    return "a demand changed"


def capacity(grid: power.Grid, rng: np.random.Generator) -> str:
    """Change what a unit can produce, or take it out of service."""
    unit = grid.units[int(rng.integers(len(grid.units)))]
    if unit.pmax is None or rng.random() < 0.3:
        unit.status = 1 - unit.status
    else:
        unit.pmax = [unit.pmax / 2, unit.pmax + 10, max(unit.pmax - Fraction(1, 10**9), Fraction(0))][int(rng.integers(3))]
    return "a unit changed"


def reactance(grid: power.Grid, rng: np.random.Generator) -> str:
    """Change a reactance, a ratio, a shift or angle limits."""
    branch = grid.branches[int(rng.integers(len(grid.branches)))]
    which = int(rng.integers(5))
    if which == 0:
        branch.x = branch.x * [Fraction(2), Fraction(1, 10), Fraction(-1)][int(rng.integers(3))]
    elif which == 1:
        branch.ratio = Fraction(int(rng.integers(80, 120)), 100)
    elif which == 2:
        branch.shift = Fraction(int(rng.integers(-3, 4)))
    else:
        branch.amin, branch.amax = -Fraction(int(rng.integers(-1, 9)), 4), Fraction(int(rng.integers(0, 9)), 4)
    return "a branch's physics changed"


def bus_type(grid: power.Grid, rng: np.random.Generator) -> str:
    """Take a bus out of the network, or back."""
    bus = grid.buses[int(rng.integers(len(grid.buses)))]
    bus.type = 1 if bus.type == 4 else 4
    return "a bus type changed"


GRID: tuple[Change, ...] = (rate, rate, status, demand, demand, capacity, reactance, bus_type)


# Mutators of what is asked

def budget(specimen: Specimen, rng: np.random.Generator) -> str:
    """Let the attacker spend one more or less."""
    specimen.given["attacks"] = max(0, specimen.given["attacks"] + int(rng.choice([1, 1, -1])))
    return "K changed"


def costs(specimen: Specimen, rng: np.random.Generator) -> str:
    """Change the cost of a line, add one, or drop one."""
    listed = [list(pair) for pair in specimen.given["attack_costs"]]
    if listed and rng.random() < 0.6:
        index = int(rng.integers(len(listed)))
        if rng.random() < 0.5:
            listed.pop(index)
        else:
            listed[index][1] = int(rng.integers(1, 5))
    else:
        listed.append([int(rng.integers(1, 8)), int(rng.integers(1, 4))])
        listed.sort()
    specimen.given["attack_costs"] = listed
    return "attack costs changed"


def _rows(specimen: Specimen, key: str, rng: np.random.Generator) -> None:
    rows = list(specimen.given[key] or [])
    if rows and rng.random() < 0.6:
        rows.pop(int(rng.integers(len(rows))))
    else:
        rows.insert(int(rng.integers(len(rows) + 1)), int(rng.integers(1, 8)))
        if rng.random() < 0.85:
            rows = sorted(set(rows))
    specimen.given[key] = rows


def defended(specimen: Specimen, rng: np.random.Generator) -> str:
    """Defend a line more, or one less."""
    _rows(specimen, "defended", rng)
    return "defended lines changed"


def attackable(specimen: Specimen, rng: np.random.Generator) -> str:
    """Let more or fewer lines be attacked."""
    if rng.random() < 0.3:
        specimen.given["attackable"] = None
    else:
        _rows(specimen, "attackable", rng)
    return "attackable lines changed"


def words(specimen: Specimen, rng: np.random.Generator) -> str:
    """Change a convention of the model, or the operator."""
    model = dict(specimen.given["model"])
    if rng.random() < 0.4:
        specimen.given["operator"] = str(rng.choice(["transport", "dc", "dc-switch", "ac"]))
        if rng.random() < 0.7:
            model["angle_limits"] = "ignored" if specimen.given["operator"] == "transport" else "enforced"
    else:
        key = str(rng.choice(sorted(model)))
        model[key] = str(rng.choice(["enforced", "ignored", "counted", "uncounted", "relaxed", "as-load"]))
    specimen.given["model"] = model
    return "the model changed"


def defence(specimen: Specimen, rng: np.random.Generator) -> str:
    """Change the budget of the defence, or what a row costs to defend."""
    if rng.random() < 0.5:
        specimen.given["budget"] = None if rng.random() < 0.3 else int(rng.integers(0, 3))
    else:
        specimen.given["defence_costs"] = [] if specimen.given["defence_costs"] else [[int(rng.integers(1, 8)), int(rng.integers(1, 4))]]
    return "the defence changed"


def assumptions(specimen: Specimen, rng: np.random.Generator) -> str:
    """List another assumption, or one less."""
    names = ["angle-limits-ignored", "dc-power-flow", "dc-switching", "pmin-relaxed", "transport-flow"]
    specimen.assumptions = sorted(set(specimen.assumptions) ^ {str(rng.choice(names))})
    return "assumptions changed"


ASKED = (budget, budget, costs, costs, defended, attackable, words, defence, assumptions)


def relisted(specimen: Specimen, grid: power.Grid) -> None:
    """List the assumptions that the changed question rests on, as an adversary would."""
    try:
        specimen.assumptions = premises(grid, specimen.given)
    except power.Refused:
        return


def mutate(made: power.Grid, valid: Specimen, rng: np.random.Generator, own: Sequence[Any], bound: Any,
           truth: Callable[[power.Grid, Specimen], bool], asked: Sequence[Any] = ASKED) -> tuple[Specimen, str, bool]:
    """Return a resealed mutant, what was done, and whether its claim is true.

    `own`, `bound` and `asked` are mutators of the kind's evidence, of its claim, and of what is asked.
    """
    mutant, words = valid.copy(), []
    changed = made.copy()
    known: bool | None = None

    def push(chance: tuple[float, float, float]) -> None:
        sort = rng.random()
        group: Any
        if sort < chance[0]:
            group = own if rng.random() < 0.6 else EVIDENCE
            words.append(group[int(rng.integers(len(group)))](mutant, rng))
        elif sort < chance[1]:
            words.append(bound(mutant, rng))
        elif sort < chance[2]:
            words.append(asked[int(rng.integers(len(asked)))](mutant, rng))
        else:
            words.append(GRID[int(rng.integers(len(GRID)))](changed, rng))

    for _ in range(int(rng.integers(1, 3))):
        push((0.5, 0.65, 0.85))
    for _ in range(6):  # push on until the claim is false
        if rng.random() < 0.8:
            relisted(mutant, changed)
        known = truth(changed, mutant)
        if not known or rng.random() < 0.3:
            break
        push((0.0, 0.5, 0.8))
        known = None
    if known is None:
        known = truth(changed, mutant)
    mutant.files = {"case": ("c.m", changed.data())}
    return mutant, ", ".join(words), known
