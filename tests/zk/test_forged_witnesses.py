# SPDX-License-Identifier: Apache-2.0
"""Forged witnesses: a prover that lies about one quantity, and is honest about all that follows from it, breaks the relation that is against it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from certify.errors import Declined
from certify_zk import circuit as circuits
from certify_zk.circuit import circuit
from certify_zk.evaluation import violations
from certify_zk.policy import Policy
from certify_zk.statement import Ball, Box, Rows, Score, Statement
from certify_zk.width import PRIME
from certify_zk.witness import Choices, Integers, Model, Unknown, Witness, witness
from zk.forging import Forger, codes, forged, hand_policy, require_each_counts

Problem = tuple[Policy, Model, Statement]


def problem(modes: tuple[str, ...] = ("crown",) * 3, tau: tuple[tuple[int, ...], ...] = ((), (9,), (9, 9)), width: int = 4) -> Problem:
    """Return a network whose hidden neurons are all unstable on a box, and rows that hold."""
    sizes, rng = (3, 4, width, 3), np.random.default_rng(14)
    model = Model(tuple(rng.integers(-64, 65, (b, a)) for a, b in pairwise(sizes)), tuple(rng.integers(-16, 17, b) for b in sizes[1:]))
    x = rng.integers(4, 28, sizes[0])
    return hand_policy(sizes, modes, tau), model, Statement((Box(tuple((x - 3).tolist()), (6,) * sizes[0]),),
                                                            Rows(((1, -1, 0), (1, 0, -1)), (-(1 << 20),) * 2))


FULL, STOPPED = problem(), problem(("crown", "ibp", "ibp"), ((), (), ()))


def test_an_honest_run_breaks_nothing() -> None:
    for some in (FULL, STOPPED, problem(("crown", "crown", "stop:1"), ((), (9,), (9,))), problem(width=3)):
        assert codes(forged(*some, {}, True)) == []


def lie(**tricks: Callable[..., Any]) -> Choices:
    """Return choices that differ in the given methods."""
    return type("Lie", (Choices,), {name: staticmethod(trick) for name, trick in tricks.items()})()  # type: ignore[no-any-return]


def at(index: int, change: int) -> Callable[[Integers], Integers]:
    """Return what adds to one entry."""
    def changed(values: Integers) -> Integers:
        found = values.copy()
        found.reshape(-1)[index] += change
        return found
    return changed


class Steps(Choices):
    """Parts of the coefficients of steps, not of weights or of rows of the statement, that `change` has changed."""

    def __init__(self, change: Callable[[Integers, Integers], tuple[Integers, Integers]]) -> None:
        self.change, self.calls = change, 0

    def parts(self, coefficients: Integers) -> tuple[Integers, Integers]:
        self.calls += 1
        plus, minus = super().parts(coefficients)
        return (plus, minus) if self.calls in (1, 2, 3, 5) else self.change(plus, minus)


HONEST = Choices()
LIES: list[tuple[str, Problem, Callable[[], Choices], str, str]] = [
    ("u too tight by 3", FULL, lambda: lie(bounds=lambda k, low, high: (low, at(1, -3)(high))), "relation-lookup", "relation-closure"),
    ("l too high by 1", FULL, lambda: lie(bounds=lambda k, low, high: (at(2, 1)(low), high)), "relation-lookup", "relation-closure"),
    ("alpha above 1", FULL, lambda: lie(alpha=lambda k, low, high, one: at(0, one + 1)(HONEST.alpha(k, low, high, one))), "relation-lookup",
     "relation-step"),
    ("alpha below 0", FULL, lambda: lie(alpha=lambda k, low, high, one: at(0, -one - 1)(HONEST.alpha(k, low, high, one))), "relation-lookup",
     "relation-step"),
    ("slope above 1", FULL, lambda: lie(slope=lambda k, low, high, one: at(0, one)(HONEST.slope(k, low, high, one))), "relation-lookup",
     "relation-line"),
    ("intercept too small", FULL, lambda: lie(rise=lambda k, least: at(0, -1)(least)), "relation-lookup", "relation-line"),
    ("plus and minus less by the same, minus below 0", FULL, lambda: Steps(lambda plus, minus: (plus - (minus == 0), minus - (minus == 0))),
     "relation-lookup", "relation-step"),
    ("remainder below 0", FULL, lambda: Steps(lambda plus, minus: (plus + 1, minus)), "relation-lookup", "relation-step"),
    ("beta 2", STOPPED, lambda: lie(active=lambda k, low: 2 * HONEST.active(k, low) + 2 * (low < 0)), "relation-lookup", "relation-constant"),
    ("beta -1", STOPPED, lambda: lie(active=lambda k, low: -1 * (low < 0)), "relation-lookup", "relation-constant"),
]


@pytest.mark.parametrize(("some", "choices", "wrapped", "clipped"), [line[1:] for line in LIES], ids=[line[0] for line in LIES])
def test_lies_in_what_a_prover_may_choose(some: Problem, choices: Callable[[], Choices], wrapped: str, clipped: str) -> None:
    assert codes(forged(*some, {}, True, choices())) == [wrapped]
    assert clipped in codes(forged(*some, {}, False, choices()))
    assert "relation-lookup" not in codes(forged(*some, {}, False, choices()))


STORED: list[tuple[str, Problem, Mapping[str, Callable[[Integers], Integers]], list[str]]] = [
    ("one weight", FULL, {"weight2.plus": at(5, 1)}, ["relation-constant", "relation-step"]),
    ("one weight of the first layer", FULL, {"weight1.minus": at(5, 1)}, ["relation-constant", "relation-step"]),
    ("one bias", FULL, {"bias2": at(1, 1)}, ["relation-closure", "relation-constant"]),
    ("u", FULL, {"region0.layer1.upper": at(1, -3)}, ["relation-line", "relation-closure"]),
    ("l", FULL, {"region0.layer2.lower": at(1, 1)}, ["relation-line", "relation-closure"]),
    ("t", FULL, {"region0.layer2.intercept": at(1, -1)}, ["relation-line", "relation-constant"]),
    ("alpha", FULL, {"region0.layer1.alpha": at(1, 1)}, ["relation-step", "relation-constant"]),
    ("a coefficient", FULL, {"region0.pass3.step2.plus": at(1, 1)}, ["relation-step"]),
    ("a remainder", FULL, {"region0.pass3.step1.rest": at(1, 1)}, ["relation-step", "relation-constant"]),
    ("a coefficient of the rows", FULL, {"region0.pass3.start.minus": at(1, 1)}, ["relation-margin", "relation-constant", "relation-step"]),
    ("d", FULL, {"region0.pass3.step1.c4.floor": at(1, 1)}, ["relation-floor", "relation-margin"]),
    ("s'", FULL, {"region0.pass3.step1.c4.rest": at(1, 1)}, ["relation-floor"]),
    ("slack of a margin", FULL, {"region0.pass3.slack": at(1, 1)}, ["relation-margin"]),
    ("slack of a bound", FULL, {"region0.pass2.slack": at(1, 1)}, ["relation-closure"]),
    ("rows of both signs exchanged", FULL, {"region0.pass2.slack": lambda v: v[[0, 1, 3, 2, 4, 5, 6, 7]] + np.arange(8)}, ["relation-closure"]),
    ("u-hat", STOPPED, {"region0.layer1.hull": at(1, -1)}, ["relation-hull", "relation-constant"]),
    ("slack of u-hat", STOPPED, {"region0.layer1.hull.slack": at(1, 1)}, ["relation-hull"]),
]


@pytest.mark.parametrize(("some", "lies", "expected"), [line[1:] for line in STORED], ids=[line[0] for line in STORED])
def test_lies_in_one_value(some: Problem, lies: Mapping[str, Callable[[Integers], Integers]], expected: list[str]) -> None:
    assert codes(forged(*some, lies, True)) == expected


class Floors(Forger):
    """Terms of totals are too large by one unit, or subtracted as floors of what is subtracted."""

    def _term(self, name: str, value: Integers, unit: int) -> Integers:
        excess = unit - self.policy.total_scale
        if excess <= 0 or not name.endswith("c1"):
            return super()._term(name, value, unit)
        floored = -(-value >> excess)  # the floor of +c1, subtracted
        self.put(f"{name}.floor", floored)
        self.put(f"{name}.rest", value - (floored << excess))
        return floored


def test_the_sign_belongs_to_what_is_floored() -> None:
    for wrapped, expected in ((True, ["relation-lookup"]), (False, ["relation-floor"])):
        run = Floors(*FULL, Choices(), {}, wrapped)
        run.all()
        assert codes(run) == expected


def test_a_floor_of_the_other_sign_would_prove_what_is_false() -> None:
    """f(1) = -1/32, and in units of 1/16 that is half a unit: floor(+c1) is 0."""
    policy = replace(hand_policy((1, 1, 1), ("crown", "crown"), ((), (9,))), total_scale=4)
    model = Model((np.array([[32]]), np.array([[-1]])), (np.zeros(1, np.int64),) * 2)
    statement = Statement((Box((8,), (0,)),), Rows(((1,),), (0,)))
    flat = lie(slope=lambda k, low, high, one: np.zeros_like(low))
    assert isinstance(witness(policy, model, statement, flat), Unknown)
    for wrapped, expected in ((True, ["relation-lookup"]), (False, ["relation-floor"])):
        run = Floors(policy, model, statement, flat, {}, wrapped)
        run.all()
        assert run.margins == [(0,)] and codes(run) == expected


def test_a_floor_below_the_constant_is_only_weaker() -> None:
    run = forged(*FULL, {}, True)
    name = "region0.pass3.step1.c4"
    run.tables[f"{name}.floor.0"] -= 1
    run.tables[f"{name}.rest.0"] += 1 << 9
    run.tables["region0.pass3.slack.0"] -= 1
    assert codes(run) == []
    run.tables[f"{name}.rest.0"] += 1
    assert codes(run) == ["relation-floor"]


class Hulls(Forger):
    """Hulls are one less than what they cover, or lower ends are alpha times the lower bound with beta 1."""

    scaled = False

    def _bounds(self, prefix: str, k: int, lower: Integers, upper: Integers) -> None:
        super()._bounds(prefix, k, lower, upper)
        if self.scaled:
            self.lines["lower", k] = lower // 2
        else:
            self.lines["hull", k] = self.lines["hull", k] - 1
            self.put(f"{prefix}layer{k}.hull", self.lines["hull", k])
            self.put(f"{prefix}layer{k}.hull.slack", self.lines["hull", k] - upper)


def test_hulls_cover_their_layer() -> None:
    for wrapped, expected in ((True, ["relation-lookup"]), (False, ["relation-hull"])):
        run = Hulls(*STOPPED, Choices(), {}, wrapped)
        run.all()
        assert codes(run) == expected


def test_lower_ends_are_beta_times_the_bound() -> None:
    run = Hulls(*STOPPED, lie(active=lambda k, low: np.ones_like(low)), {}, True)
    run.scaled = True
    run.all()
    assert codes(run) == ["relation-constant"]


def test_rows_of_the_margin_are_those_of_the_statement() -> None:
    policy, model, statement = FULL
    run = Forger(policy, model, statement, Choices(), {}, True)
    run.public["rows"] = run.public["rows"][:, [1, 0, 2, 3]]
    run.all()
    assert codes(run) == ["relation-margin", "relation-constant"]


def test_a_phantom_neuron_in_the_padding_is_found() -> None:
    policy, model, statement = problem(width=3)
    run = forged(policy, model, statement, {}, True)
    run.weights[1][3] = 5
    run.parts[1] = (np.maximum(run.weights[1], 0), np.maximum(-run.weights[1], 0))
    run.biases[1][3] = 9
    run.weights[2][:, 3] = 40
    run.parts[2] = (np.maximum(run.weights[2], 0), np.maximum(-run.weights[2], 0))
    run.all()
    assert codes(run) == ["relation-padding"]
    names = [found.name for found in violations(policy, statement, run.circuit, run.tables)]
    assert names == ["weight2.plus.padding", "bias2.padding", "weight3.plus.padding"]


def test_a_cell_above_a_limb_is_found() -> None:
    for change in (65536, -65536, 1 << 40, PRIME - 65536, 1 << 70):
        run = forged(*FULL, {}, True)
        for name, more in (("region0.pass3.slack.0", change), ("region0.pass3.slack.1", -(change >> 16))):
            if change != PRIME - 65536:
                run.tables[name] = run.tables[name].astype(object) + more
        if change == PRIME - 65536:  # the same field elements as for -65536
            run.tables["region0.pass3.slack.0"] = run.tables["region0.pass3.slack.0"].astype(object) + change
            run.tables["region0.pass3.slack.1"] += 1
        assert codes(run) == ["relation-lookup"]


def test_a_huge_intercept_is_out_of_range() -> None:
    run = forged(*FULL, {}, True, lie(rise=lambda k, least: at(0, 3 << 13)(least)))
    name = "region0.layer1.intercept"
    for k in (1, 2):
        name = f"region0.layer{k}.intercept"
        run.tables[f"{name}.0"] = np.array(run.lines["intercept", k])
        run.tables[f"{name}.narrow"] = (run.tables[f"{name}.0"] << 4) & 65535
    assert codes(run) == ["relation-range"]
    with pytest.raises(Declined) as caught:
        policy = replace(FULL[0], intercept_bits=48, bias_bits=24)
        circuit(replace(policy, slope_bits=15, tau=((), (20,), (20, 20))), FULL[2])
    assert caught.value.code == "commitment-width"


class Wrapped(Forger):
    """The first constant of a step is taken modulo the prime, as the argument would take it."""

    def _term(self, name: str, value: Integers, unit: int) -> Integers:
        return super()._term(name, np.where(value < -(PRIME // 2), value.astype(object) + PRIME, value), unit)


def test_without_the_width_rule_an_intercept_proves_what_is_false(monkeypatch: pytest.MonkeyPatch) -> None:
    """Valid intercepts whose sum is the prime less a little: subtracting them adds that little. The rule refuses the policy, and has to."""
    monkeypatch.setattr(circuits, "LINE_BITS", 62)
    policy = replace(hand_policy((3, 4, 2), ("crown", "crown"), ((), (9,))), intercept_bits=48)
    weight = max(range(240, 259), key=lambda size: PRIME % (2 * 127 * size))
    model = Model((FULL[1].weights[0], np.array([[-weight] * 4, [weight] * 4])), (FULL[1].biases[0], np.zeros(2, np.int64)))
    statement = Statement(FULL[2].regions, Rows(((127, -127),), (1,)))  # false: f_0 <= 0 <= f_1 for every x
    assert isinstance(witness(replace(policy, intercept_bits=12), model, statement), Unknown)
    sums = PRIME // (2 * 127 * weight)

    def rise(k: int, least: Integers) -> Integers:
        return np.array([sums // 4 + (j < sums % 4) for j in range(4)])
    run = Wrapped(policy, model, statement, lie(slope=lambda k, low, high, one: np.zeros_like(low), rise=rise), {}, True)
    run.all()
    assert codes(run) == [] and run.margins[0][0] > 1
    with pytest.raises(Declined) as caught:
        circuit(policy, statement)
    assert caught.value.code == "commitment-width"


def test_two_boxes_have_one_pair_of_ends() -> None:
    policy, model, statement = FULL
    first = statement.regions[0]
    assert isinstance(first, Box)
    other = Box((0,) * 3, (1,) * 3)
    both = Statement((first, other), Score(1, 1 << 31))
    assert isinstance(witness(policy, model, both), Witness)
    alone = [witness(policy, model, Statement((region,), Score(1, 1 << 31))) for region in both.regions]
    assert all(isinstance(found, Witness) for found in alone)
    ends = [[int(found.tables[f"{name}.0"][0]) for name in ("least", "most")] for found in alone if isinstance(found, Witness)]
    assert ends[0] != ends[1]
    for wrapped, expected in ((True, "relation-lookup"), (False, "relation-margin")):
        run = forged(policy, model, both, {"least": at(0, 1), "gap.slack": at(0, 1), "region0.pass3.slack": lambda v: v - [16, 0],
                                           "region1.pass3.slack": lambda v: v - [16, 0]}, wrapped)
        assert codes(run) == [expected]


def test_roots_of_balls() -> None:
    policy, model, statement = FULL
    box = statement.regions[0]
    assert isinstance(box, Box)
    ball = Statement((Ball(box.lower, 5),), statement.asked)
    assert codes(forged(policy, model, ball, {}, True)) == []
    assert codes(forged(policy, model, ball, {"region0.pass2.root": at(1, 1)}, True)) == ["relation-constant"]

    class Small(Forger):
        def put(self, name: str, values: Integers) -> None:
            if name.endswith("root"):
                values -= 1  # in place: the run goes on with it
            super().put(name, values)
    for wrapped, expected in ((True, ["relation-lookup"]), (False, ["relation-constant"])):
        run = Small(policy, model, ball, Choices(), {}, wrapped)
        run.all()
        assert codes(run) == expected


@pytest.mark.parametrize("some", [FULL, STOPPED, problem(("crown", "crown", "stop:1"), ((), (9,), (9,))),
                                  (*FULL[:2], Statement(FULL[2].regions, Score(0, 1 << 30))),
                                  (*FULL[:2], Statement((Ball((9, 9, 9), 4),), FULL[2].asked))])
def test_each_cell_and_each_relation_counts(some: Problem) -> None:
    require_each_counts(*some, ("weight3", "bias3"))
