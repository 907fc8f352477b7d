# SPDX-License-Identifier: Apache-2.0
"""`grid-attack`: random attacks with cuts and duals, mutants of evidence, question and case, and their truth by cuts and linear programs."""

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
    """A grid with a question about one attack."""

    grid: power.Grid


def side(valid: Specimen) -> str:
    """Return whether a specimen shows its claim by a cut or a dual."""
    return "proved" if valid.evidence == "cut" else "other"


def truth(made: power.Grid, specimen: Specimen) -> bool:
    """Return whether a claim is true and rests on what it lists, from the definition; what the linear program can't tell counts as true."""
    asked = grid.question(made, specimen.given, True)
    if asked is None or specimen.assumptions != grid.premises(made, specimen.given):
        return False
    rows, attack = {line.row: k for k, line in enumerate(asked.plain.lines)}, specimen.given["attack"]
    if not grid.ascending(attack) or not set(attack) <= set(rows):
        return False
    lines = [rows[row] for row in attack]
    if not all(asked.free[k] for k in lines) or sum(asked.costs[k] for k in lines) > asked.budget:
        return False
    wanted = Fraction(specimen.says["shed_mw_at_least"])
    if asked.transport.shed(lines) >= wanted:
        return True
    if specimen.given["operator"] == "transport":
        return False
    if asked.dc.shed(lines) < float(wanted) - grid.TOLERANCE:  # who may also open lines sheds no more
        return False
    return specimen.given["operator"] == "dc" or asked.dc.switched(lines) >= float(wanted) - grid.TOLERANCE


def specimen(rng: np.random.Generator) -> tuple[Instance, Specimen] | None:
    """Return a random instance with a certificate that the checker verifies, or None where no attack or no bound was found."""
    operator = str(rng.choice(["transport", "dc-switch", "dc", "dc", "dc"]))
    made = power.random_grid(rng, operator == "dc", (2, 5), (2, 6))
    given = {**grid.asked(rng, made, operator), "attack": []}
    asked = grid.question(made, given, True)
    if asked is None or not asked.plain.lines:
        return None
    attacks = list(power.within(asked.free, asked.costs, asked.budget))
    lines = attacks[int(rng.integers(len(attacks)))] if rng.random() < 0.5 else max(attacks, key=asked.transport.shed)
    given["attack"] = sorted(asked.plain.lines[k].row for k in lines)
    shed = asked.transport.shed(lines)
    if operator != "transport":  # limits of angles are a little loose in the checker, by its rational above pi
        shed = Fraction(int((shed - Fraction(1, 10**9)) * 10**12), 10**12)
    valid = Specimen("grid-attack", {"case": ("c.m", made.data())}, given, {"shed_mw_at_least": str(shed)}, "cut")
    valid.arrays = {"side": np.array(asked.transport.cut(lines), "|u1")}
    valid.assumptions = grid.premises(made, given)
    if operator == "dc" and rng.random() < 0.7:
        prices, around = evidence.dual(asked.dc, lines)
        found = shown(asked.plain, lines, prices, around)
        if found is None:
            return None
        valid.evidence, valid.items, valid.says = "dc-dual", {"scale": [10**9, 10**6]}, {"shed_mw_at_least": str(found)}
        valid.arrays = {"pi": np.array(prices, "<i8"), "circulation": np.array(around, "<i8")}
    return Instance(made), valid


def shown(plain: power.Plain, attack: tuple[int, ...], prices: list[int], around: list[int]) -> Fraction | None:
    """Return what a dual shows, with pi on the loose side; None where it shows nothing."""
    bound, most = Fraction(0), sum((*plain.demand, *plain.consumption), Fraction(0))
    for price, demand, supply, consumption in zip(prices, plain.demand, plain.supply, plain.consumption, strict=True):
        pi = Fraction(price, 10**9)
        bound += demand * pi - demand * max(pi - 1, Fraction(0)) - (supply * pi if pi > 0 else -consumption * pi)
    for k, line in enumerate(plain.lines):
        if k not in attack:
            u = Fraction(prices[line.a] - prices[line.b], 10**9) + Fraction(around[k], 10**6) / line.susceptance
            # the oracle's pi is between the two rational ones: allow for it below
            bound -= max(-u * (-most if line.low is None else line.low), -u * (most if line.high is None else line.high))
    less = Fraction(int((bound - Fraction(1, 10**6)) * 10**9), 10**9)
    return less if less >= 0 else None


# Mutators of evidence and claim

def entry(specimen: Specimen, rng: np.random.Generator) -> str:
    """Move one number by one, to an end of its range, or change its sign."""
    keys = [key for key, array in sorted(specimen.arrays.items()) if array.size]
    if not keys:
        return "nothing"
    key = str(rng.choice(keys))
    array = specimen.arrays[key].copy()
    index = int(rng.integers(array.size))
    value = int(array.flat[index])
    if array.dtype.kind == "u":
        array.flat[index] = int(rng.choice([1 - value if value < 2 else 0, 2, 255]))
    else:
        ends = np.iinfo(array.dtype)
        choices = [value + 1, value - 1, -value, 0, int(ends.max), int(ends.min), 2 * value]
        array.flat[index] = max(int(ends.min), min(int(ends.max), choices[int(rng.integers(len(choices)))]))
    specimen.arrays[key] = array
    return f"{key} changed"


def loop(specimen: Specimen, rng: np.random.Generator) -> str:
    """Add to all of the circulation, multiply it, or drop it."""
    if "circulation" in specimen.arrays:
        around = specimen.arrays["circulation"]
        specimen.arrays["circulation"] = [np.clip(around, -(2**61), 2**61) * 2, around * 0,
                                          np.clip(around, -(2**61), 2**61) + 1][int(rng.integers(3))]
    return "the circulation changed"


def scale(specimen: Specimen, rng: np.random.Generator) -> str:
    """Change the scales of a dual."""
    if "scale" in specimen.items:
        scales = [list(specimen.items["scale"])[::-1], [1, 1], [10**9, 10**5], [10**8, 10**6], [0, 1], [2**53 - 1, 1], [10**9, -1]]
        specimen.items = {"scale": scales[int(rng.integers(len(scales)))]}
    return "the scale changed"


def kind(specimen: Specimen, rng: np.random.Generator) -> str:
    """Call the evidence something else."""
    specimen.evidence = str(rng.choice(["cut", "dc-dual", "penalty-tree", "ac-dual"]))
    return "the kind of evidence changed"


def attack(specimen: Specimen, rng: np.random.Generator) -> str:
    """Attack another line, one less, or one twice."""
    rows = list(specimen.given["attack"])
    if rows and rng.random() < 0.5:
        rows.pop(int(rng.integers(len(rows))))
    else:
        rows.append(int(rng.choice([*rows, *range(1, 8)])))
        if rng.random() < 0.85:
            rows = sorted(rows)
    specimen.given["attack"] = rows
    return "the attack changed"


def bound(specimen: Specimen, rng: np.random.Generator) -> str:
    """Claim more shed: by a hair, by 1e-4 MW, or by a lot."""
    value = Fraction(specimen.says["shed_mw_at_least"])
    more = [value + Fraction(1, 10**30), value + Fraction(1, 10**4), value + 1, value * 2, value + 1000, value - 1, Fraction(0)]
    specimen.says = {"shed_mw_at_least": str(more[int(rng.integers(len(more)))])}
    return "the bound changed"


ATTACK = (entry, entry, loop, scale, kind, attack, attack)


def mutate(made: Instance, valid: Specimen, rng: np.random.Generator) -> tuple[Specimen, str, bool]:
    """Return a resealed mutant, what was done, and whether its claim is true."""
    return grid.mutate(made.grid, valid, rng, ATTACK, bound, truth)
