# SPDX-License-Identifier: Apache-2.0
"""The chain of reductions to one program: each step against the program before it, on random networks, and back."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("highspy", reason="the grid prover needs highspy")
pytest.importorskip("pyomo", reason="the chain of reductions needs pyomo")

import power_networks as power
from certify.limits import Limits
from certify.readers.matpower import read_case
from certify.readers.power import power_network
from certify.rules.attacks import Game
from certify_solvers.grid.nodelp import SolverFailed
from certify_solvers.grid.paper import dualise, linearise, relax, single
from certify_solvers.grid.paper.solve import solve
from certify_solvers.grid.paper.trilevel import TriLevel

CLOSE = 1e-5  # MW


def problem(rng: np.random.Generator, ohm: bool, **constants: float) -> tuple[TriLevel, Any, Any]:
    """Return a random problem whose limits are ratings, with its network and oracle."""
    while True:
        grid = power.random_grid(rng, True, (2, 4), (2, 6), odd=0.3)
        for branch in grid.branches:
            branch.amin = branch.amax = Fraction(0)
        operator = "dc" if ohm else "transport"
        model = power.conventions(grid, operator)
        plain, transport, dc = power.oracles(grid, operator, model)
        if not plain.lines or (ohm and any(line.high is None for line in plain.lines)):
            continue
        lines = len(plain.lines)
        played = Game(tuple(int(v) for v in rng.choice([1, 1, 2], lines)), tuple(bool(v) for v in rng.random(lines) < 0.9), int(rng.integers(1, 4)))
        network = power_network(read_case(grid.data(), Limits()), operator, model, False)
        return TriLevel(network, played, tuple(int(v) for v in rng.choice([1, 1, 2], lines)), int(rng.integers(1, 3)), ohm, **constants), plain, (
            dc if ohm else transport)


def _attacks(made: TriLevel, defence: frozenset[int] = frozenset()) -> list[tuple[int, ...]]:
    free = [may and k not in defence for k, may in enumerate(made.played.free)]
    return list(power.within(free, made.played.costs, made.played.budget))


@pytest.mark.parametrize("ohm", [False, True])
def test_the_dual_has_the_value_of_the_operator_and_gives_its_flows(ohm: bool) -> None:
    rng = np.random.default_rng(1)
    shed = 0
    for _ in range(12):
        made, plain, oracle = problem(rng, ohm)
        attack = _attacks(made)[-1]
        truth = float(oracle.shed(attack))
        assert abs(solve(dualise.operator(made, attack)) - truth) < CLOSE
        model = dualise.apply(made, attack)
        assert abs(solve(model) - truth) < CLOSE
        flows = dualise.invert(made, model)
        outflow = np.zeros(len(plain.numbers))
        for k, (value, line) in enumerate(zip(flows, plain.lines, strict=True)):
            assert k not in attack or value == 0.0
            assert line.high is None or abs(value) <= float(line.high) + CLOSE
            outflow[line.a] += value
            outflow[line.b] -= value
        lost = [max(0.0, float(d) - float(g) + out) for d, g, out in zip(plain.demand, plain.supply, outflow, strict=True)]
        sign = 1 if abs(sum(lost) - truth) < CLOSE else -1  # duals of an equation have either sign, all the same one
        lost = [max(0.0, float(d) - float(g) + sign * out) for d, g, out in zip(plain.demand, plain.supply, outflow, strict=True)]
        assert abs(sum(lost) - truth) < CLOSE
        shed += truth > 0
    assert shed > 4


def test_with_m_of_1_the_attackers_program_is_exact_for_transport() -> None:
    rng = np.random.default_rng(2)
    for _ in range(12):
        made, _, oracle = problem(rng, False)
        model = linearise.apply(made, dualise.apply(made))
        value = solve(model)
        attack = linearise.invert(made, model)
        assert attack in _attacks(made)
        assert abs(value - max(float(oracle.shed(one)) for one in _attacks(made))) < CLOSE
        assert abs(float(oracle.shed(attack)) - value) < CLOSE


def test_with_m_of_1_the_attackers_program_is_wrong_under_ohms_law() -> None:
    """Without row 12 the nine buses shed 59 MW, and the program with M1 = 1 ends with less, and status optimal; a larger M1 finds it."""
    data = (Path(__file__).resolve().parents[2] / "examples/grid/case9x.m").read_bytes()
    model = {**power.MODEL, "angle_limits": "enforced"}
    network = power_network(read_case(data, Limits()), "dc", model, False)
    lines = len(network.lines)
    only = next(k for k, line in enumerate(network.lines) if line.row == 12)
    played = Game((1,) * lines, tuple(k == only for k in range(lines)), 1)
    values = {}
    for m1 in (1.0, 50.0):
        made = TriLevel(network, played, (1,) * lines, 0, True, m1, 1e4)
        program = linearise.apply(made, dualise.apply(made))
        values[m1] = solve(program)
        assert m1 == 1.0 or linearise.invert(made, program) == (only,)
    truth = solve(dualise.operator(made, (only,)))
    assert abs(truth - 59) < 0.01 and abs(values[50.0] - truth) < 0.01 and values[1.0] < 52


@pytest.mark.parametrize("ohm", [False, True])
def test_fractional_attacks_are_a_relaxation_and_round_to_affordable_ones(ohm: bool) -> None:
    rng, above = np.random.default_rng(4), 0
    for _ in range(12):
        made, _, _ = problem(rng, ohm)
        whole = solve(linearise.apply(made, dualise.apply(made)))
        model = relax.apply(made, linearise.apply(made, dualise.apply(made)))
        value = solve(model)
        assert value >= whole - CLOSE and relax.invert(made, model) in _attacks(made)
        above += value > whole + 1
    assert above >= 2


@pytest.mark.parametrize("ohm", [False, True])
def test_the_single_program_is_the_least_relaxed_attack_over_all_defences(ohm: bool) -> None:
    rng = np.random.default_rng(5)
    for _ in range(6):
        made, plain, oracle = problem(rng, ohm)
        lines = range(len(plain.lines))
        defendable = frozenset(k for k in lines if rng.random() < 0.8)
        model = single.apply(made, defendable)
        value, defence = solve(model), single.invert(made, model)
        assert defence <= defendable and sum(made.costs[k] for k in defence) <= made.money
        relaxed = {plan: solve(relax.apply(made, linearise.apply(made, dualise.apply(made)), plan))
                   for plan in power.within([k in defendable for k in lines], made.costs, made.money)}
        assert abs(value - min(relaxed.values())) < 1e-3
        assert abs(relaxed[tuple(sorted(defence))] - value) < 1e-3
        if not ohm:  # an upper bound of what its plan guarantees
            assert max(float(oracle.shed(one)) for one in _attacks(made, defence)) <= value + CLOSE


def test_only_an_optimum_is_read(tmp_path: Path) -> None:
    made, _, _ = problem(np.random.default_rng(6), False)
    model = dualise.operator(made, ())
    model.s[0].fix(-1.0)
    model.value.deactivate()
    from pyomo.environ import Constraint, Objective
    model.impossible = Constraint(expr=sum(model.s.values()) >= 1e9)
    model.other = Objective(expr=sum(model.s.values()))
    with pytest.raises(SolverFailed, match="nfeasible"):
        solve(model)
    path = tmp_path / "program.lp"
    solve(single.apply(made, frozenset()), export=path)
    assert "eta" in path.read_text("utf-8")
