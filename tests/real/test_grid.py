# SPDX-License-Identifier: Apache-2.0
"""Published power networks: worst cases as the design expects them, proved, re-checked, and not a hair better.

The data are not part of the repository, and the provers need a solver: the tests are skipped, visibly, where one is missing.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from certify.errors import CertifyError
from certify.fields import Record
from certify.limits import Limits
from certify.readers.matpower import read_case
from certify.readers.power import power_network
from certify.registry import kind as kind_of
from certify.rules.attacks import Game
from certify.verification import Verification
from toolkit import Specimen

DATA = Path(__file__).resolve().parents[3] / "shared/data/grid/pglib"
pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason="the folder ../shared/data/grid with published networks is missing")
OFF = Fraction(1, 10**4)  # MW: listed values are rounded

TRANSPORT = {  # MW by number of lines
    "3_lmbd": [45, 95], "24_ieee_rts": [0, 194, 309, 516, 842, 1017], "30_ieee": [54, "191.4", "191.4", "261.7"],
    "39_epri": [172, "792.23", "1517.23", "2204.23", "2856.23", "3493.03"], "57_ieee": ["3.8", "109.8", "276.8", "276.8", None, "331.6"],
    "73_ieee_rts": [None, 194, 309, 516, None, 1017], "118_ieee": [184, 252, 436, 621, 805, 982],
}
DC = {
    "3_lmbd": [45, 95], "24_ieee_rts": [0, 194, 309, 516, 842, 1017], "30_ieee": [54, "191.4", "191.4", "261.7"],
    "39_epri": ["188.222", "803.0888", "1517.23", "2204.23"], "57_ieee": ["3.8", "109.8", "276.8", "276.8"], "73_ieee_rts": [None, 194, 309],
    "118_ieee": [184, "334.1321", "528.1514"],
}
QUICK = {("transport", name, k) for name,
         most in (("3_lmbd", 2), ("24_ieee_rts", 6), ("30_ieee", 4), ("39_epri", 4), ("57_ieee", 4), ("73_ieee_rts", 2),
                                                   ("118_ieee", 3)) for k in range(1, most + 1)}
QUICK |= {("dc", name, k) for name, most in (("3_lmbd", 2), ("24_ieee_rts", 3), ("30_ieee", 2), ("39_epri", 2), ("57_ieee", 2), ("73_ieee_rts", 2),
                                             ("118_ieee", 1)) for k in range(1, most + 1)}
CASES = [pytest.param(operator, name, k, value, marks=() if (operator, name, k) in QUICK else (pytest.mark.slow,), id=f"{operator}-{name}-{k}")
         for operator, table in (("transport", TRANSPORT), ("dc", DC)) for name, values in table.items()
         for k, value in enumerate(values, start=1) if value is not None]
COSTS_24 = [[row, 2] for row in range(3, 39, 3)]
COSTS_39 = [[row, 2] for row in range(3, 47, 3)]
WITH_COSTS = [("transport", "24_ieee_rts", 2, 194), ("transport", "24_ieee_rts", 3, 212), ("dc", "24_ieee_rts", 2, 194),
              ("dc", "24_ieee_rts", 3, 212),
              ("transport", "39_epri", 2, "792.23"), ("dc", "39_epri", 2, "803.0888"), ("transport", "39_epri", 3, "1517.23"),
              ("dc", "39_epri", 3, "1517.23")]


def proved(kind: str, name: str, given: Mapping[str, Any], wanted: Mapping[str, Any] | None = None) -> Specimen:
    """Return the certificate that the prover makes, as a specimen."""
    pytest.importorskip("highspy", reason="the grid prover needs highspy")
    from certify_solvers.common.prover import Effort, Problem, Proved
    from certify_solvers.grid.prover import Grid

    data = (DATA / f"pglib_opf_case{name}.m").read_bytes()
    transport = given["operator"] == "transport"
    model = {"pmin": "relaxed", "angle_limits": "ignored" if transport else "enforced", "dispatchable": "counted", "shunts": "as-load"}
    plan = {} if kind.startswith("grid-defence") else {"defended": (), "budget": None}
    asked = {"model": model, "attack_costs": (), "attackable": None, "defence_costs": (), **plan, **given}
    asked["attack_costs"] = tuple(tuple(pair) for pair in asked["attack_costs"])
    outcome = Grid().prove(Problem(kind, {"case": "case.m"}, (), {"case": data}, asked, wanted or {}, dict(Grid().options(kind)), Limits()),
                           Effort(), lambda stage,
                           facts: None)
    assert isinstance(outcome, Proved), outcome
    draft = outcome.draft
    kind = draft.kind
    fields = kind_of(kind)
    assert isinstance(fields.given, Record)
    spec = next(spec for spec in fields.evidence if spec.kind == draft.evidence)
    return Specimen(kind, {"case": ("case.m", data)}, fields.given.encode(draft.given), fields.says.encode(draft.says), draft.evidence,
                    spec.items.encode(draft.items), dict(draft.arrays), list(draft.assumptions))


def rejected(specimen: Specimen) -> str:
    """Return the code with which a certificate is refused."""
    try:
        specimen.verify()
    except CertifyError as trouble:
        return trouble.code
    raise AssertionError("accepted")


def upper(operator: str, name: str, attacks: int, listed: Fraction, **given: Any) -> Verification:
    """Require a certificate at the listed worst case, which does not hold a little below."""
    made = proved("grid-shedding", name, {"operator": operator, "attacks": attacks, **given})
    found = made.verify()
    value = Fraction(made.says["shed_mw_at_most"])
    assert listed - OFF <= value <= listed + OFF, float(value)
    low = made.copy()
    low.says = {"shed_mw_at_most": str(listed - Fraction(1, 100) - OFF)}
    assert rejected(low) == ("bound-too-strong" if operator == "transport" else "attack-uncovered")
    return found


@pytest.mark.parametrize(("operator", "name", "attacks", "listed"), CASES)
def test_worst_cases(operator: str, name: str, attacks: int, listed: int | str) -> None:
    upper(operator, name, attacks, Fraction(listed))


@pytest.mark.parametrize(("operator", "name", "attacks", "listed"), WITH_COSTS)
def test_worst_cases_with_costs(operator: str, name: str, attacks: int, listed: int | str) -> None:
    upper(operator, name, attacks, Fraction(listed), attack_costs=COSTS_24 if name.startswith("24") else COSTS_39)


ATTACKED = [(operator, name, k, value) for operator, name, k, value in (
    ("transport", "24_ieee_rts", 3, 309), ("transport", "30_ieee", 2, "191.4"), ("transport", "39_epri", 3, "1517.23"),
    ("transport", "57_ieee", 2, "109.8"),
    ("transport", "118_ieee", 3, 436), ("dc", "24_ieee_rts", 2, 194), ("dc", "39_epri", 1, "188.222"), ("dc", "39_epri", 2, "803.0888"),
    ("dc", "118_ieee", 2, "334.1321"), ("dc", "3_lmbd", 1, 45))]


@pytest.mark.parametrize(("operator", "name", "attacks", "listed"), ATTACKED)
def test_worst_attacks(operator: str, name: str, attacks: int, listed: int | str) -> None:
    made = proved("grid-attack", name, {"operator": operator, "attacks": attacks, "attack": None})
    made.verify()
    value = Fraction(made.says["shed_mw_at_least"])
    assert Fraction(listed) - OFF <= value <= Fraction(listed) + OFF
    high = made.copy()
    high.says = {"shed_mw_at_least": str(Fraction(listed) + Fraction(1, 1000))}
    assert rejected(high) == "bound-too-strong"
    fewer = made.copy()
    fewer.given = {**made.given, "attacks": attacks - 1}
    assert rejected(fewer) == "attack-over-budget"


@pytest.mark.parametrize(("name", "code"),
                         [("60_c", "susceptance-not-positive"), ("240_pserc", "susceptance-not-positive"), ("89_pegase", "phase-shift-unsupported"),
                                            ("300_ieee", "susceptance-not-positive")])
def test_cases_that_the_dc_model_does_not_cover(name: str, code: str) -> None:
    data = (DATA / f"pglib_opf_case{name}.m").read_bytes()
    model = {"pmin": "relaxed", "angle_limits": "enforced", "dispatchable": "uncounted", "shunts": "as-load"}
    given = {"operator": "dc", "model": model, "attacks": 0, "attack_costs": [], "attackable": None, "defended": [], "budget": None,
             "defence_costs": []}
    arrays = {key: np.zeros((1, 1), "<i8") for key in ("supply", "demand")}
    made = Specimen("grid-shedding", {"case": ("case.m", data)}, given, {"shed_mw_at_most": "1000000"}, "policy-pool", {"quantum_mw": "1"}, arrays)
    assert rejected(made) == code


def test_a_transport_certificate_says_nothing_about_dc() -> None:
    """118_ieee: two lines shed at most 252 MW by balance alone, and 334 MW in the DC model."""
    made = proved("grid-shedding", "118_ieee", {"operator": "transport", "attacks": 2})
    made.verify()
    for operator, assumption in (("dc", "dc-power-flow"), ("dc-switch", "dc-switching")):
        other = made.copy()
        other.given = {**made.given, "operator": operator, "model": {**made.given["model"], "angle_limits": "enforced"}}
        other.assumptions = [assumption]
        assert rejected(other) == "evidence-kind"


def test_more_lines_and_a_file_with_another_rating() -> None:
    made = proved("grid-shedding", "24_ieee_rts", {"operator": "transport", "attacks": 2})
    more = made.copy()
    more.given = {**made.given, "attacks": 3}
    assert rejected(more) == "bound-too-strong"
    assert made.assumptions == ["pmin-relaxed", "transport-flow"]
    name, data = made.files["case"]
    off = made.copy()
    rows = data.split(b"\n")
    start = next(k for k, row in enumerate(rows) if row.startswith(b"mpc.branch"))
    rows[start + 1] = rows[start + 1].replace(b"\t 1\t -", b"\t 0\t -", 1)
    assert b"\n".join(rows) != data
    off.files["case"] = (name, b"\n".join(rows))
    assert rejected(off) in ("array-shape", "branch-invalid", "leaf-balance")


def test_angle_limits_of_three_buses_change_nothing() -> None:
    for angles in ("enforced", "ignored"):
        model = {"pmin": "relaxed", "angle_limits": angles, "dispatchable": "counted", "shunts": "as-load"}
        for attacks, listed in ((1, 45), (2, 95)):
            upper("dc", "3_lmbd", attacks, Fraction(listed), model=model)


@pytest.mark.slow
def test_attacks_on_118_ieee_that_shed_at_least_as_much_as_listed() -> None:
    for attacks, listed in ((4, "712.966"), (5, "896.966"), (6, "1043.223")):
        made = proved("grid-attack", "118_ieee", {"operator": "dc", "attacks": attacks, "attack": None})
        made.verify()
        assert Fraction(made.says["shed_mw_at_least"]) >= Fraction(listed) - OFF


PLANS = [  # lines attacked and defended; value of the single-level program, optimum, the same with Ohm's law
    ("24_ieee_rts", 2, "246.8", 74, "309.3"), ("24_ieee_rts", 3, 309, 180, "445.9"), ("24_ieee_rts", 4, 387, 309, "581.2"),
    ("57_ieee", 2, "66.4", 42, "121.1"), ("57_ieee", 3, "82.7", "47.3", "150.1"), ("57_ieee", 4, "100.1", 81, "158.4"),
    ("39_epri", 2, "965.7", "617.23", "1031.2"), ("118_ieee", 3, "374.5", 281, "601.4"),
]
SINGLE = [("24_ieee_rts", 2, 339, ""), ("24_ieee_rts", 3, "508.5", ""), ("39_epri", 1, "582.17", ""), ("39_epri", 2, "1164.34", ""),
          ("118_ieee", 1, 184, "265.46"), ("118_ieee", 2, "343.6", "526.96")]
"""The same without anything defended: the relaxed attack."""


def program(name: str, attacks: int, budget: int, ohm: bool) -> float:
    """Return the value of the single-level program with M1 = 1."""
    pytest.importorskip("pyomo", reason="the single-level program needs pyomo")
    from certify_solvers.grid.paper import single
    from certify_solvers.grid.paper.solve import solve
    from certify_solvers.grid.paper.trilevel import TriLevel

    data = (DATA / f"pglib_opf_case{name}.m").read_bytes()
    model = {"pmin": "relaxed", "angle_limits": "enforced" if ohm else "ignored", "dispatchable": "counted", "shunts": "as-load"}
    network = power_network(read_case(data, Limits()), "dc" if ohm else "transport", model, False)
    lines = len(network.lines)
    problem = TriLevel(network, Game((1,) * lines, (True,) * lines, attacks), (1,) * lines, budget, ohm)
    return solve(single.apply(problem, frozenset(range(lines))))


@pytest.mark.parametrize(("name", "size", "value", "optimum", "ohm"), [
    pytest.param(*row, marks=() if row[:2] in (("24_ieee_rts", 2), ("39_epri", 2), ("57_ieee", 2)) else (pytest.mark.slow,)) for row in PLANS])
def test_plans(name: str, size: int, value: int | str, optimum: int | str, ohm: str) -> None:
    pytest.importorskip("highspy", reason="the grid prover needs highspy")
    found = proved("grid-defence", name, {"operator": "transport", "attacks": size, "budget": size, "defendable": None})
    found.verify()
    best = Fraction(found.says["shed_mw_at_most"])
    assert abs(best - Fraction(optimum)) <= OFF
    limit = proved("grid-defence-limit", name, {"operator": "transport", "attacks": size, "budget": size, "defendable": None})
    limit.verify()
    assert Fraction(limit.says["shed_mw_at_least"]) == best
    limit.says = {"shed_mw_at_least": str(best + Fraction(1, 1000))}
    assert rejected(limit) == "bound-too-strong"
    assert abs(program(name, size, size, False) - float(Fraction(value))) < 0.06
    assert abs(program(name, size, size, True) - float(Fraction(ohm))) < 0.06


def test_a_plan_in_the_dc_model_is_optimal_where_duals_lose_more_than_usual() -> None:
    given = {"operator": "dc", "attacks": 3, "budget": 3, "defendable": None}
    plan, limit = proved("grid-defence", "39_epri", given), proved("grid-defence-limit", "39_epri", given)
    plan.verify()
    limit.verify()
    best, least = Fraction(plan.says["shed_mw_at_most"]), Fraction(limit.says["shed_mw_at_least"])
    assert least <= best <= least + Fraction(1, 10**4) and abs(best - Fraction("1230.52474")) <= OFF


@pytest.mark.parametrize(("name", "attacks", "value", "ohm"), SINGLE)
def test_relaxed_attacks(name: str, attacks: int, value: int | str, ohm: str) -> None:
    assert abs(program(name, attacks, 0, False) - float(Fraction(value))) < 0.01
    if ohm:
        assert abs(program(name, attacks, 0, True) - float(Fraction(ohm))) < 0.01


@pytest.mark.slow
@pytest.mark.parametrize(("attacks", "most"), [(3, "528.66"), (4, 786)])
def test_switching_on_118_ieee(attacks: int, most: int | str) -> None:
    made = proved("grid-shedding", "118_ieee", {"operator": "dc-switch", "attacks": attacks})
    made.verify()
    assert Fraction(made.says["shed_mw_at_most"]) <= Fraction(most)
