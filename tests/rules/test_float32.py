# SPDX-License-Identifier: Apache-2.0
"""Float32 executions: every value of every execution lies in its bounds, in both arithmetics; and each error term decides somewhere."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import float32_runs as runs
import random_networks as made
from certify.errors import CertifyError
from certify.limits import Limits
from certify.readers.formula import Part, Row
from certify.readers.network import Dense, Network, Relu, Scale
from certify.rules import fixed_point, float32, relaxation
from certify.rules.float32 import Rounding
from rules import bounding
from rules.bounding import Problem
from rules.sabotage import variant
from toolkit import refused

TINY = Fraction(1, 1 << 126)  # the smallest normal float32
U32 = Fraction(1, 1 << 24)


def _run(seeds: range) -> Counter[str]:
    counts: Counter[str] = Counter()
    for seed in seeds:
        rng = np.random.default_rng([320, seed])
        p = bounding.problem(rng, bool(rng.random() < 0.5), [None, None, "l2", "l1"][int(rng.integers(4))], bool(rng.random() < 0.4))
        for name, make in (("f64", bounding.f64(Rounding)), ("int", bounding.integers(int(rng.choice([16, 20, 60, 90, 200])), Rounding))):
            try:
                found = bounding.answer(p, make)
            except CertifyError as trouble:
                assert trouble.code in ("exec32-overflow", "number-too-large"), trouble
                counts[trouble.code] += 1
                continue
            counts[name] += 1
            for x in bounding.points(rng, p, found.theta, 4):
                for _ in range(3):
                    values = runs.execute(p.network, runs.inputs(rng, x), runs.machine(rng))  # Overflow would be a fault: it is excluded
                    counts["runs"] += 1
                    assert bounding.violations(p, found, x, [[runs.real(v) for v in level] for level in values]) == 0, (seed, name)
    return counts


@pytest.mark.parametrize("block", range(10))
def test_no_execution_leaves_its_bounds(block: int) -> None:
    counts = _run(range(30 * block, 30 * block + 30))
    assert counts["f64"] > 15 and counts["int"] > 15 and counts["runs"] > 400


def test_no_execution_leaves_its_bounds_when_denormals_are_flushed_in_the_checker() -> None:
    with made.flushed_denormals() as possible:
        if not possible:
            pytest.skip("setting the FPU's flush modes is implemented for x86-64 only")
        assert _run(range(300, 360))["runs"] > 1000


@pytest.mark.slow
@pytest.mark.parametrize("block", range(20))
def test_no_execution_leaves_its_bounds_on_ten_thousand_networks(block: int) -> None:
    assert _run(range(1000 + 500 * block, 1500 + 500 * block))["runs"] > 5000


def test_the_emulator_rounds_like_the_processor() -> None:
    """Products, sums and fused operations of random float32 numbers, denormals and ties included, against numpy."""
    rng = np.random.default_rng(1)
    plain = runs.Machine(rng, 0.0, 0.0, 0.0)
    bits = rng.integers(0, 1 << 32, 6000, dtype=np.uint64).astype(np.uint32)
    bits[:2000] &= 0x80FFFFFF  # denormals and small numbers
    values = bits.view(np.float32)
    with np.errstate(all="ignore"):
        for a, b in zip(values[::2], values[1::2], strict=True):
            if not (np.isfinite(a) and np.isfinite(b)):
                continue
            for operation, wanted in ((plain.sum, a + b), (plain.product, a * b)):
                try:
                    found = runs.real(operation(runs.number(float(a)), runs.number(float(b))))
                except runs.Overflow:
                    assert np.isinf(wanted)
                else:
                    assert found == Fraction(float(wanted))
    one, tie = runs.number(1.0), runs.number(2.0**-24)
    assert plain.sum(one, tie) == one and plain.sum(one + (one >> 23), tie) == one + (one >> 22)  # ties go to even
    assert plain.fused(one + (one >> 12), one + (one >> 12), -one) != plain.sum(plain.product(one + (one >> 12), one + (one >> 12)), -one)
    flushed = runs.Machine(rng, 1.0, 1.0, 0.0)
    assert flushed.sum(runs.TINY, runs.TINY >> 1) == runs.TINY and flushed.product(runs.TINY, one >> 1) == 0


def test_inputs_of_the_emulator_cover_what_the_claim_allows() -> None:
    rng = np.random.default_rng(2)
    for x in (Fraction(1, 10), Fraction(-3), Fraction(0), TINY * 3 / 2, Fraction(1, 1 << 149), 1 + U32):
        reach = abs(x) * U32 + TINY
        drawn = [runs.real(runs.inputs(rng, [x])[0]) for _ in range(400)]
        assert all(abs(v - x) <= reach for v in drawn)
        assert (min(drawn) < x - reach / 3 and max(drawn) > x + reach / 3) or abs(x) > TINY * 2  # normal numbers have few neighbours
    assert {runs.real(runs.inputs(rng, [1 + U32])[0]) for _ in range(200)} == {Fraction(1), 1 + 2 * U32}


# Each error term alone. A case has an execution that attains, nearly, what a variant of the rules without the term excludes.

def column(*values: float) -> np.ndarray[Any, Any]:
    """Return a float array of one dimension."""
    return np.array(values, float)


def point(network: Network, x: Sequence[Fraction], row: Row) -> Problem:
    """Return the problem of one row over a box that is a point."""
    return Problem(network, Part(tuple(x), tuple(x), ()), row)


def least(terms: dict[int, int], constant: Fraction, inputs: dict[int, int] | None = None) -> Row:
    """Return the row inputs.x + terms.y + constant."""
    return Row({i: Fraction(v) for i, v in (inputs or {}).items()}, {i: Fraction(v) for i, v in terms.items()}, constant)


def chain(network: Network, start: Sequence[Fraction], flush: bool = False) -> list[list[Fraction]]:
    """Return one execution: sums in the order of the weights, the bias last, not fused; `flush` sets FTZ and DAZ."""
    run = runs.Machine(np.random.default_rng(0), float(flush), float(flush), 0.0)
    run.total = lambda terms: _in_order(run, terms)  # type: ignore[method-assign]
    return [[runs.real(v) for v in level] for level in runs.execute(network, [runs.number(float(v)) for v in start], run)]


def _in_order(run: runs.Machine, terms: Sequence[Any]) -> int:
    total, *others = [run.product(*term) if isinstance(term, tuple) else term for term in terms]
    for term in others:
        total = run.sum(total, term)
    return total


ABSORBED = 10  # each loses up to 2 beside 1.25 * 2^25
_BIG = 1.25 * 2.0**25
CANCEL = column(*[_BIG, *([-1.75] * ABSORBED), -_BIG, 1.0])  # real sum 1 - 17.5, computed in this order 1


def _cancelling(last: bool) -> Network:
    size = CANCEL.size
    layers = [Relu(size), Dense(CANCEL[None], np.zeros(1)), *([Relu(1)] if last else [])]
    return Network((1, size), size, tuple(layers))


def _tiny(share: Fraction) -> Fraction:
    return share * TINY


def _case(name: str) -> tuple[Problem, list[list[Fraction]]]:
    """Return a problem and an execution of its network at the (only) point of its part."""
    one = Fraction(1)
    if name in ("sign", "sum"):  # a sum that absorbs its terms: negative over the reals, positive as computed
        net, ones = _cancelling(name == "sign"), [one] * CANCEL.size
        return point(net, ones, least({0: -1}, Fraction(1, 2))), chain(net, ones)
    if name == "shift":
        net = Network((1, 1), 1, (Scale(1, column(2.0**25)),))
        return point(net, [one], least({0: 1}, -Fraction(2**25) - Fraction(1, 2))), chain(net, [one])
    if name == "input":  # x = 1 + 2^-24 becomes 1; a ReLU rounds nothing
        net = Network((1, 1), 1, (Relu(1),))
        return point(net, [1 + U32], least({0: 1}, -1 - U32 / 2)), chain(net, [one])
    if name == "input against x":  # g = x' - x + a little: over the reals the terms cancel
        net = Network((1, 1), 1, (Relu(1),))
        return point(net, [1 + U32], least({0: 1}, U32 / 2, {0: -1})), chain(net, [one])
    if name == "identity":  # a network without layers yields x' itself, here 2^-126 below x
        net = Network((1, 1), 1, ())
        return point(net, [_tiny(Fraction(15, 8))], least({0: 1}, -TINY)), chain(net, [_tiny(Fraction(7, 8))])
    if name == "flushed products":  # eight products just below the smallest normal number
        net = Network((1, 8), 8, (Dense(np.full((1, 8), 2.0**-60), np.zeros(1)),))
        x = [Fraction(127, 64) / (1 << 67)] * 8
        return point(net, x, least({0: 1}, -_tiny(Fraction(1, 8)))), chain(net, x, flush=True)
    if name == "denormal operand":  # an input 2^-126 lower is a denormal, and read as 0: twice the loss of the input alone
        net = Network((1, 1), 1, (Dense(column(2.0**60)[None], np.zeros(1)),))
        return point(net, [_tiny(Fraction(15, 8))], least({0: 1}, -_tiny(Fraction(1, 8)))), chain(net, [_tiny(Fraction(7, 8))], flush=True)
    if name == "denormal weight":
        net = Network((1, 1), 1, (Dense(column(2.0**-127)[None], np.zeros(1)),))
        return point(net, [Fraction(2**60)], least({0: 1}, -Fraction(1, 1 << 80))), chain(net, [Fraction(2**60)], flush=True)
    if name == "flushed shift":
        net = Network((1, 1), 1, (Scale(1, column(-(2.0**-126))),))
        x = [_tiny(Fraction(5, 2))]
        return point(net, x, least({0: 1}, -_tiny(Fraction(1, 4)))), chain(net, [_tiny(Fraction(3, 2))], flush=True)
    if name == "flushed ReLU":
        net = Network((1, 1), 1, (Relu(1),))
        return point(net, [_tiny(Fraction(15, 8))], least({0: 1}, -_tiny(Fraction(1, 8)))), chain(net, [_tiny(Fraction(7, 8))], flush=True)
    if name == "alpha":  # a flushed sum, lifted by 2^60
        net = Network((1, 1), 1, (Dense(column(1.0)[None], np.zeros(1), 2.0**60, 1.0),))
        x = [Fraction(127, 64) / (1 << 67)]
        return point(net, x, least({0: 1}, -Fraction(1, 1 << 100))), chain(net, x, flush=True)
    if name == "beta":  # a stored bias that is denormal, lifted by 2^60
        net = Network((1, 1), 1, (Dense(np.zeros((1, 1)), column(2.0**60 * 2.0**-127), 1.0, 2.0**60),))
        return point(net, [one], least({0: 1}, -Fraction(1, 1 << 100))), chain(net, [one], flush=True)
    raise ValueError(name)


_SPEND = "constant = _spend(constant, 0.0, dot(size, _of(self._radius(j, bounds), owner)))"
_SPEND_INPUT = "constant = _spend(constant, 0.0, dot(size, self.rounding.input_error(reach)))"
_FIRST = "both = both if moved is None else down(both - np.tile(moved[owner, neuron], 2))"
_DURING = "if self.rounding is not None:\n                constant = constant - self._ceil((abs(rows) * self._radius(j, bounds)[owner]).sum(axis=1))"
F64 = {
    "intervals": ("low, high = down(low - moved), up(high + moved)", "pass"),
    "backward": (_SPEND, "pass"),
    "first row": (_FIRST, "pass"),
    "input": (_SPEND_INPUT, "pass"),
}
INT = {
    "intervals": ("moved = self._radius(k, known) if self.rounding is not None else 0", "moved = 0"),
    "backward": (_DURING, "pass"),
    "first row": (_DURING, _DURING.replace("is not None", "is not None and (j < k - 1 or added is not None)")),
    "input": ("if self.rounding is not None:\n            constant = constant - self._ceil((abs(rows) * self._input_error",
              "if False:\n            constant = constant - self._ceil((abs(rows) * self._input_error"),
}
# A variant with the input's error deducted after the terms of x were added: nothing is left to charge it to where they cancel.
_ADD = """        if added is not None:
            coefficients = coefficients + added
            constant = down(constant - KAPPA * 1.01 * U * dot(np.abs(coefficients), reach))
"""
_E = """        if self.rounding is not None:
            coefficients, size, constant = _snap(coefficients, constant, _of(self.magnitude(bounds, 0), owner))
            constant = _spend(constant, 0.0, dot(size, self.rounding.input_error(reach)))
"""
_E_INT = """        if self.rounding is not None:
            constant = constant - self._ceil((abs(rows) * self._input_error(np.maximum(abs(low), abs(high)))).sum(axis=1))
"""
_ADD_INT = "        rows = rows if added is None else rows + added\n"
RULES = {  # variant: (changes of relaxation, changes of fixed_point, changes of float32)
    "no D in the intervals": ([F64["intervals"]], [INT["intervals"]], []),
    "no D backward": ([F64["backward"]], [INT["backward"]], []),
    "no D in the first row": ([F64["first row"]], [INT["first row"]], []),
    "no E": ([F64["input"]], [INT["input"]], []),
    "E after the terms": ([(_E + _ADD, _ADD + _E)], [(_E_INT + _ADD_INT, _ADD_INT + _E_INT)], []),
    "E without 2^-126": ([], [(" + ceil(Fraction(self.unit, 1 << 126))", "")], [("2.0**-24 * reach + 2.0**-126", "2.0**-24 * reach")]),
    "E without 2^-24": ([], [("_times(reach, Fraction(1, 1 << 24))", "0 * reach")], [("2.0**-24 * reach + 2.0**-126", "2.0**-126 + 0 * reach")]),
    "no relative part": ([], [], [("return Fraction(n, (1 << 24) - n)", "return Fraction(0)")]),
    "no absolute part": ([], [], [("2.0**-122 * (np.ceil(1.0 + alpha + beta) if scaled else 1.0)", "0.0"),
                                  ("LayerRounding(_gamma(5), 2.0**-122", "LayerRounding(_gamma(5), 0.0")]),
    "no terms in fixed": ([], [], [("(terms + 2.0 + dot(stored, np.ones(terms)))", "dot(stored, np.ones(terms))")]),
    "no weights in fixed": ([], [], [("(terms + 2.0 + dot(stored, np.ones(terms)))", "np.full(layer.size, terms + 2.0)")]),
    "no sum of H": ([], [("(size.sum(axis=1, keepdims=True) if isinstance(layer, Dense) else", "(0 if isinstance(layer, Dense) else")],
                    [("size.sum(axis=1, keepdims=True) if isinstance(layer, Dense) else", "0.0 if isinstance(layer, Dense) else")]),
    "no flush of ReLU": ([], [], [("LayerRounding(Fraction(0), 2.0**-125", "LayerRounding(Fraction(0), 0.0")]),
    "no alpha": ([], [], [("np.ceil(1.0 + alpha + beta)", "np.ceil(1.0 + beta)")]),
    "no beta": ([], [], [("np.ceil(1.0 + alpha + beta)", "np.ceil(1.0 + alpha)")]),
}
DECIDES = [
    ("no D in the intervals", "sign"), ("no D in the first row", "sign"), ("no D backward", "sum"), ("no D backward", "shift"),
    ("no E", "input"), ("no E", "input against x"), ("E after the terms", "input against x"), ("E without 2^-24", "input"),
    ("E without 2^-126", "identity"),
    ("no relative part", "sum"), ("no relative part", "shift"), ("no absolute part", "flushed products"), ("no absolute part", "flushed shift"),
    ("no terms in fixed", "flushed products"), ("no weights in fixed", "denormal operand"), ("no sum of H", "denormal weight"),
    ("no flush of ReLU", "flushed ReLU"), ("no alpha", "alpha"), ("no beta", "beta"),
]


def _makers(name: str) -> dict[str, bounding.Make]:
    real, whole, error = RULES[name]
    rounding = variant(float32, *error).Rounding
    return {"f64": lambda p: variant(relaxation, *real).Relaxation(p.network, Limits(), None, rounding(p.network)),
            "int": lambda p: variant(fixed_point, *whole).FixedPoint(p.network, Limits(), 400, None, rounding(p.network))}


@pytest.mark.parametrize(("rule", "case"), DECIDES, ids=[f"{rule}: {case}" for rule, case in DECIDES])
@pytest.mark.parametrize("arithmetic", ["f64", "int"])
def test_each_error_term_decides(rule: str, case: str, arithmetic: str) -> None:
    p, values = _case(case)
    x = p.part.lower
    assert all(abs(v - w) <= abs(w) * U32 + TINY for v, w in zip(values[0], x, strict=True))
    sound = bounding.answer(p, bounding.f64(Rounding) if arithmetic == "f64" else bounding.integers(400, Rounding))
    assert bounding.violations(p, sound, x, values) == 0
    assert p.row.value(x, tuple(values[-1])) <= 0  # this execution is unsafe
    assert bounding.answer(p, _makers(rule)[arithmetic]).bound > 0  # and a checker without the term would call it safe


def test_the_input_of_the_intervals_is_the_one_that_is_run() -> None:
    p, values = _case("input")
    for real, whole in (((), ()), ((("moved = self.rounding.input_error(_reach(lower, upper))", "moved = 0.0 * _reach(lower, upper)"),),
                                   (("moved = self._input_error(reach) if self.rounding is not None else 0", "moved = 0"),))):
        made = {"f64": variant(relaxation, *real).Relaxation(p.network, Limits(), None, Rounding(p.network)),
                "int": variant(fixed_point, *whole).FixedPoint(p.network, Limits(), 400, None, Rounding(p.network))}
        for arithmetic in made.values():
            found = bounding.answer(p, lambda _, chosen=arithmetic: chosen)
            assert (found.lower[0][0] <= values[0][0]) == (not real)


@pytest.mark.parametrize("make", [bounding.f64(Rounding), bounding.integers(60, Rounding), bounding.integers(400, Rounding)])
@pytest.mark.parametrize(("network", "end"), [
    (Network((1, 1), 1, (Dense(column(2.0**100)[None], np.zeros(1)),)), Fraction(2) ** 21),
    (Network((1, 2), 2, (Dense(np.full((1, 2), 2.0**100), np.zeros(1)),)), Fraction(2) ** 19 * 3 / 2),
    (Network((1, 1), 1, (Dense(column(0.0)[None], column(2.0**121)),)), Fraction(1)),
    (Network((1, 1), 1, (Scale(1, column(2.0**120)),)), Fraction(1)),
    (Network((1, 1), 1, (Scale(-1, column(1.0)),)), Fraction(2) ** 121),
    # the sum overflows before alpha = 2^-60 makes it small
    (Network((1, 1), 1, (Dense(2.0**-60 * column(2.0**100)[None], np.zeros(1), 2.0**-60, 1.0),)), Fraction(2) ** 22),
    (Network((1, 1), 1, (Dense(column(2.0**60)[None], np.zeros(1)), Relu(1), Dense(column(2.0**60)[None], np.zeros(1)))), Fraction(2)),
])
def test_sums_that_may_overflow_are_declined(network: Network, end: Fraction, make: bounding.Make) -> None:
    x = (end,) * network.inputs
    p = Problem(network, Part(tuple(-v for v in x), x, ()), least({0: 1}, Fraction(1)))
    refused("exec32-overflow", bounding.answer, p, make)
    small = Problem(network, Part(tuple(v / 16 for v in x), tuple(v / 16 for v in x), ()), p.row)
    if not any(isinstance(layer, Dense | Scale) and layer.bias.any() and np.abs(layer.bias).max() > 1 for layer in network.layers):
        bounding.answer(small, make)


def test_a_sum_just_below_the_limit_is_bounded() -> None:
    net = Network((1, 1), 1, (Dense(column(2.0**100)[None], np.zeros(1)),))
    for end, code in ((Fraction(2) ** 20 * Fraction(99999, 100000), ""), (Fraction(2) ** 20, "exec32-overflow")):
        p = point(net, [end], least({0: 1}, Fraction(0)))
        for make in (bounding.f64(Rounding), bounding.integers(60, Rounding)):
            if code:
                refused(code, bounding.answer, p, make)
            else:
                bounding.answer(p, make)


def test_sums_that_are_too_long_and_factors_that_may_flush_are_declined() -> None:
    class Wide:  # a matrix of 2^20 + 1 columns without its memory
        shape = (1, (1 << 20) + 1)

    long = Dense(Wide(), np.zeros(1))  # type: ignore[arg-type]
    refused("exec32-size", Rounding, Network((1, 1), (1 << 20) + 1, (long,)))
    Rounding(Network((1, 1), 1 << 20, (Dense(np.ones((1, 1 << 20)), np.zeros(1)),)))
    for alpha, beta in ((0.0, 1.0), (1.0, 0.0), (2.0**-127, 1.0), (1.0, -(2.0**-140))):
        refused("exec32-operator", Rounding, Network((1, 1), 1, (Dense(column(0.0)[None], np.zeros(1), alpha, beta),)))
    for alpha, beta in ((2.0**-126, 1.0), (1.0, -(2.0**-126)), (-1.0, -1.0)):
        Rounding(Network((1, 1), 1, (Dense(column(0.0)[None], np.zeros(1), alpha, beta),)))


def test_real_bounds_do_not_cover_executions() -> None:
    """The same problems without `rounding`: the executions above do leave them, so the property tests have teeth."""
    left = 0
    for seed in range(60):
        rng = np.random.default_rng([320, seed])
        p = bounding.problem(rng, False)
        found = bounding.answer(p, bounding.f64())
        for x in bounding.points(rng, p, found.theta, 4):
            values = runs.execute(p.network, runs.inputs(rng, x), runs.machine(rng))
            left += bounding.violations(p, found, x, [[runs.real(v) for v in level] for level in values]) > 0
    assert left > 50
