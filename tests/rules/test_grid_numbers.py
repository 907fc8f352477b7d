# SPDX-License-Identifier: Apache-2.0
"""Numbers of a case that are huge, tiny or long, and cases without a live bus: a verdict or an error of ours, and no warning."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import power_networks as power
from certify.errors import CertifyError
from certify.limits import Limits
from certify.readers.matpower import read_case
from certify.readers.power import power_network
from kinds.grid_hand import ROW_1, both, cut, dual, mesh, model, pool, text, tree, triangle
from toolkit import Specimen

LONG = "1" * 350 + ".5"


def decided(specimen: Specimen) -> str:
    """Return the verdict's code, "" where it is verified; anything but our own errors leaves."""
    try:
        specimen.verify()
    except CertifyError as trouble:
        return trouble.code
    return ""


@pytest.mark.parametrize(("old", "new"),
                         [("\t2\t1\t50", f"\t{LONG}\t1\t50"), ("\t2\t1\t50", f"\t2\t{LONG}\t50"),
                          (ROW_1, ROW_1.replace("\t1\t-360", f"\t{LONG}\t-360")),
                                          (ROW_1, ROW_1.replace("\t1\t2", f"\t1\t{LONG}"))], ids=["bus number", "bus type", "status", "end"])
def test_a_long_number_that_should_be_whole(old: str, new: str) -> None:
    made = tree()
    text(old, new)(made)
    with pytest.raises(CertifyError) as caught:
        read_case(made.files["case"][1], Limits().fresh())
    assert caught.value.code in ("case-row", "case-literal")


@pytest.mark.parametrize(("old", "new", "code"),
                         [("\t0.1\t", "\t-1e400\t", "susceptance-not-positive"), ("\t0\t1\t-360", "\t1e400\t1\t-360", "phase-shift-unsupported")],
                         ids=["reactance", "shift"])
def test_a_huge_number_that_dc_refuses(old: str, new: str, code: str) -> None:
    made = tree()
    text(ROW_1, ROW_1.replace(old, new))(made)
    with pytest.raises(CertifyError) as caught:
        power_network(read_case(made.files["case"][1], Limits().fresh()), "dc", power.MODEL, False)
    assert caught.value.code in (code, "case-literal")


HUGE = {
    "rating": ("\t60\t0\t0", "\t1e400\t0\t0"), "tiny rating": ("\t60\t0\t0", "\t1e-400\t0\t0"), "reactance": ("\t0.1\t", "\t1e400\t"),
    "tiny reactance": ("\t0.1\t", "\t1e-400\t"), "small reactance": ("\t0.1\t", "\t1e-307\t"), "ratio": ("\t60\t0\t0\t0\t", "\t60\t0\t0\t1e400\t"),
    "tiny ratio": ("\t60\t0\t0\t0\t", "\t60\t0\t0\t1e-400\t"), "angle limits": ("\t-360\t360", "\t-1e-400\t1e-400"),
    "rating at the limit": ("\t60\t0\t0", "\t1e50\t0\t0"), "tiny rating at the limit": ("\t60\t0\t0", "\t1e-50\t0\t0"),
    "reactance at the limit": ("\t0.1\t", "\t1e50\t"), "tiny reactance at the limit": ("\t0.1\t", "\t1e-50\t"),
    "ratio at the limit": ("\t60\t0\t0\t0\t", "\t60\t0\t0\t1e50\t"), "tiny ratio at the limit": ("\t60\t0\t0\t0\t", "\t60\t0\t0\t1e-50\t"),
    "resistance": ("\t0.01\t", "\t1e400\t"), "large reactance": ("\t0.1\t", "\t1e300\t"),
}


@pytest.mark.parametrize("name", sorted(HUGE))
@pytest.mark.parametrize("make", [tree, pool, cut, lambda: cut(operator="dc"), lambda: cut(operator="dc-switch")],
                         ids=["tree", "pool", "cut", "cut dc", "cut switch"])
def test_branches_beyond_binary64(make: Any, name: str) -> None:
    made = make()
    text(ROW_1, ROW_1.replace(*HUGE[name]))(made)
    decided(made)


@pytest.mark.parametrize(("old", "new"),
                         [("\t2\t1\t50", "\t2\t1\t1e400"), ("\t2\t1\t50", "\t2\t1\t1e-400"), ("\t2\t1\t50\t0\t0", "\t2\t1\t50\t0\t1e400"),
                                          ("\t120\t0;", "\t1e400\t0;"), ("\t120\t0;", "\t1e-400\t0;"), ("baseMVA = 100", "baseMVA = 1e400"),
                                          ("baseMVA = 100", "baseMVA = 1e-400"), ("\t2\t1\t50", "\t2\t1\t1e308")])
@pytest.mark.parametrize("make", [tree, pool, cut, lambda: cut(operator="dc")], ids=["tree", "pool", "cut", "cut dc"])
def test_amounts_beyond_binary64(make: Any, old: str, new: str) -> None:
    made = make()
    text(old, new)(made)
    decided(made)


@pytest.mark.parametrize("value", ["9" * 999, "1/" + "9" * 999, "1" + "0" * 308])
def test_a_quantum_beyond_binary64(value: str) -> None:
    made = pool(bound="100", supply=((0, 0, 0),), demand=((0, 0, 0),))  # everything is shed, whatever the quantum
    made.items = {"quantum_mw": value}
    assert decided(made) in ("", "number-too-large", "evidence-range")


@pytest.mark.parametrize("value", ["9" * 999, "-" + "9" * 999, "1/" + "9" * 999])
@pytest.mark.parametrize("make", [tree, pool, cut, dual], ids=["tree", "pool", "cut", "dual"])
def test_a_bound_beyond_binary64(make: Any, value: str) -> None:
    made = make()
    made.says = {key: value for key in made.says}
    decided(made)


def _long(lines: int) -> Specimen:
    """Return a cut across unlimited lines with angle limits, whose reactances are long: the bound has a denominator of their product."""
    grid = mesh(100, 100, 100)
    rng = np.random.default_rng(1)
    grid.branches = [power.Branch(1, 2, Fraction(0), Fraction(int("".join(map(str, rng.integers(1, 10, 300)))) * 10 + 3, 10**300),
                                  amin=Fraction(-30), amax=Fraction(30))
                     for _ in range(lines)]
    return cut(grid, "0", (0, 1, 0), "dc", attack=[])


@pytest.mark.parametrize("bound", ["0", "-" + "9" * 900], ids=["rejected", "verified"])
def test_a_bound_of_more_digits_than_python_prints(bound: str) -> None:
    made = _long(40)
    made.says = {"shed_mw_at_least": bound}
    assert decided(made) == ("bound-too-strong" if bound == "0" else "")


def test_a_shed_of_many_digits_is_told() -> None:
    made = tree(bound="40", nodes=(-1,), flow=((0, 0, 0),), attacks=0)
    both(text("\t2\t1\t50", "\t2\t1\t1e400"), model())(made)
    assert decided(made) in ("bound-too-strong", "case-literal")


@pytest.mark.parametrize("least", ["1e-50", "1e50"])
def test_numbers_of_a_network_are_normal_doubles(least: str) -> None:
    """The rounding of the recourse rule is for normal doubles: at 2^-1074, a susceptance has one bit, and the rule would serve too much."""
    made = pool()
    row = ROW_1.replace("\t0.1\t", f"\t{least}\t").replace("\t60\t0\t0\t0\t", f"\t0\t0\t0\t{least}\t").replace("\t-360\t360", "\t-1e-50\t1e-50")
    both(text(ROW_1, row), text("baseMVA = 100", "baseMVA = 1e-50" if least == "1e50" else "baseMVA = 1e50"))(made)
    line = power_network(read_case(made.files["case"][1], Limits()), "dc", power.MODEL, False).lines[0]
    for value in (line.susceptance, line.high, -line.low):  # type: ignore[operator]
        assert value is not None and 2.0**-1000 < value < 2.0**1000


@pytest.mark.parametrize("make", [lambda grid: tree(grid, "0", (-1,), ((),), attacks=0), lambda grid: pool(grid, "0", ((),), ((),), attacks=0),
                                  lambda grid: pool(grid, "1", ((),), ((),)), lambda grid: cut(grid, "0", (), attack=[]),
                                  lambda grid: dual(grid, "0", (), ())],
                         ids=["tree", "pool", "pool of a line", "cut", "dual"])
def test_a_case_without_a_live_bus(make: Any) -> None:
    grid = triangle()
    for bus in grid.buses:
        bus.type = 4
    decided(make(grid))


@pytest.mark.parametrize(("first", "second", "third"),
                         [("0.1", "0.1", "1e-30"), ("1", "1", "1e-17"), ("1e30", "1e30", "1e-30"), ("1e-30", "1e-30", "1")])
def test_reactances_of_very_different_sizes(first: str, second: str, third: str) -> None:
    """The inverse of the network is a proposal: where it is singular in floating point, nothing is covered, or the case is declined."""
    grid = triangle()
    for branch, reactance in zip(grid.branches, (first, second, third), strict=False):
        branch.x = Fraction(reactance)
    assert decided(pool(grid, "100", ((0, 0, 0),), ((0, 0, 0),))) in ("", "attack-uncovered", "number-too-large", "feature-unsupported")
