# SPDX-License-Identifier: Apache-2.0
"""Certificates of grids by hand: a triangle with a dead bus and a branch that is off, a loop, and trees, pools, cuts and duals on them.

Everything is written down, no solver and no BLAS is used. In TRIANGLE 120 MW come in at bus 1, buses 2 and 3 want 50 MW each, rows 1 and 2 lead
there with 60 MW each, and row 3 joins them with 10 MW: losing row 1 or 2 sheds 40 MW, both 100, row 3 nothing. In MESH the loop makes a third of
what goes to bus 2 go through a line of 10 MW, so that 60 of 90 MW are shed, although no cut shows it.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from power_networks import MODEL, Branch, Bus, Grid, Unit
from toolkit import Specimen

LARGEST, LEAST = 2**63 - 1, -(2**63)
HAIR = Fraction(1, 10**30)


def triangle(*rates: int, **more: Any) -> Grid:
    """Return the triangle, with other ratings of its first rows."""
    made = Grid([Bus(1, type=3), Bus(2, Fraction(50)), Bus(3, Fraction(50)), Bus(9, Fraction(5), type=4)],
                [Unit(1, Fraction(120)), Unit(3, Fraction(30), status=0), Unit(9, Fraction(30))],
                [Branch(1, 2, Fraction(60)), Branch(1, 3, Fraction(60)), Branch(2, 3, Fraction(10)), Branch(2, 3, Fraction(50), status=0),
                 Branch(3, 9, Fraction(20))])
    for branch, rate in zip(made.branches, rates, strict=False):
        branch.rate = Fraction(rate)
    for key, value in more.items():
        setattr(made, key, value)
    return made


def mesh(first: int, second: int, third: int, consumer: int = 0) -> Grid:
    """Return a loop 1-2, 1-3, 3-2 of equal reactances with 90 MW wanted at bus 2, and a unit that may consume at bus 3."""
    units = [Unit(1, Fraction(100)), *([Unit(3, Fraction(0), -Fraction(consumer))] if consumer else [])]
    return Grid([Bus(1, type=3), Bus(2, Fraction(90)), Bus(3)], units,
                [Branch(1, 2, Fraction(first)), Branch(1, 3, Fraction(second)), Branch(3, 2, Fraction(third))])


def given(operator: str, **fields: Any) -> dict[str, Any]:
    """Return the fields of a question with their defaults."""
    model = {**MODEL, "angle_limits": "ignored" if operator == "transport" else "enforced"}
    return {"operator": operator, "model": model, "attacks": 1, "attack_costs": [], "attackable": None, "defended": [], "budget": None,
            "defence_costs": [], **fields}


def _made(kind: str, grid: Grid, asked: dict[str, Any], says: dict[str, str], evidence: str, items: dict[str, Any],
          arrays: dict[str, Any]) -> Specimen:
    names = {"transport": "transport-flow", "dc": "dc-power-flow", "dc-switch": "dc-switching"}
    return Specimen(kind, {"case": ("case.m", grid.data())}, asked, says, evidence, items, arrays, [names[asked["operator"]]])


def tree(grid: Grid | None = None, bound: str = "40", nodes: tuple[int, ...] = (0, -1, 1, -2, -3),
         flow: tuple[tuple[int, ...], ...] = ((0, 60, -10), (60, 0, 10), (50, 50, 0)), scale: int = 1, **fields: Any) -> Specimen:
    """Return a worst case for transport: row 1 attacked, or row 2, or neither."""
    arrays = {"tree": np.array(nodes, "<i4"), "flow": np.array(flow, "<i8").reshape(len(flow), -1), "scale": np.full(len(flow), scale, "<i8")}
    return _made("grid-shedding", grid or triangle(), given("transport", **fields), {"shed_mw_at_most": bound}, "penalty-tree", {}, arrays)


ROUND = str(40 + Fraction(1, 10**6))


def pool(grid: Grid | None = None, bound: str = ROUND, supply: tuple[tuple[int, ...], ...] = ((60, 0, 0), (60, 0, 0), (100, 0, 0)),
         demand: tuple[tuple[int, ...], ...] = ((0, 10, 50), (0, 50, 10), (0, 50, 50)), quantum: str = "1", **fields: Any) -> Specimen:
    """Return a worst case in the DC model: a dispatch for row 1, one for row 2, and one for row 3 and for no attack."""
    arrays = {"supply": np.array(supply, "<i8").reshape(len(supply), -1), "demand": np.array(demand, "<i8").reshape(len(demand), -1)}
    return _made("grid-shedding", grid or triangle(), given("dc", **fields), {"shed_mw_at_most": bound}, "policy-pool", {"quantum_mw": quantum},
                 arrays)


def cut(grid: Grid | None = None, bound: str = "40", side: tuple[int, ...] = (0, 1, 0), operator: str = "transport", **fields: Any) -> Specimen:
    """Return an attack on row 1 with the cut around bus 2."""
    asked = given(operator, **{"attack": [1], **fields})
    return _made("grid-attack", grid or triangle(), asked, {"shed_mw_at_least": bound}, "cut", {}, {"side": np.array(side, "|u1")})


def dual(grid: Grid | None = None, bound: str = "60", pi: tuple[int, ...] = (0, 1, 2), around: tuple[int, ...] = (1000, -1000, -1000),
         scale: tuple[int, int] = (1, 1), operator: str = "dc", **fields: Any) -> Specimen:
    """Return the shed of MESH without any attack, shown by prices and a circulation around its loop."""
    asked = given(operator, **{"attack": [], **fields})
    arrays = {"pi": np.array(pi, "<i8"), "circulation": np.array(around, "<i8")}
    return _made("grid-attack", grid or mesh(100, 10, 100), asked, {"shed_mw_at_least": bound}, "dc-dual", {"scale": list(scale)}, arrays)


def text(old: str, new: str | bytes, first: bool = True) -> Callable[[Specimen], None]:
    """Return a change of the case file."""
    def change(specimen: Specimen) -> None:
        name, data = specimen.files["case"]
        if old.encode() not in data:
            raise ValueError(f"the case does not hold {old!r}")
        specimen.files["case"] = (name, data.replace(old.encode(), new.encode() if isinstance(new, str) else new, 1 if first else -1))
    return change


def both(*changes: Callable[[Specimen], None]) -> Callable[[Specimen], None]:
    """Return changes one after the other."""
    def change(specimen: Specimen) -> None:
        for one in changes:
            one(specimen)
    return change


def model(**words: str) -> Callable[[Specimen], None]:
    """Return a change of conventions."""
    def change(specimen: Specimen) -> None:
        specimen.given["model"] = {**specimen.given["model"], **words}
    return change


ROW_1 = "\t1\t2\t0.01\t0.1\t0\t60\t0\t0\t0\t0\t1\t-360\t360;"
ROW_2 = ROW_1.replace("\t1\t2", "\t1\t3")
