# SPDX-License-Identifier: Apache-2.0
"""f64-gamma deducts what its rules say, no less and no more: each term alone, where everything else cancels exactly.

A bound may be as far below the exact value as the documented sum of error terms and not further: an error term that is left out is unsound, one
that is counted twice proves less than it could.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from certify.limits import Limits
from certify.readers.ball import Ball
from certify.readers.formula import Part, Row
from certify.readers.network import Dense, Layer, Network, Relu, Scale
from certify.rules.balls import SNAP, above, below, down, up
from certify.rules.float32 import Rounding
from certify.rules.norm_ball import NormBall
from certify.rules.relaxation import Bounds, Relaxation, _lines, _snap
from toolkit import refused

U, K = Fraction(1, 1 << 53), 1 + Fraction(1, 1 << 20)
STEP = Fraction(101, 100) * U  # what one rounded product costs


def g(n: int) -> Fraction:
    """Return gamma as the checker bounds it."""
    return n * U * K


def close(found: float, wanted: Fraction) -> None:
    """Require that a bound is the documented one, but for the rounding of the error terms themselves."""
    assert abs(Fraction(float(found)) - wanted) <= abs(wanted) / 10**9 + Fraction(SNAP) * 100, (float(found), float(wanted))


def net(*layers: Layer, inputs: int) -> Network:
    """Return a network."""
    return Network((1, inputs), inputs, layers)


def row(*values: float) -> np.ndarray[Any, Any]:
    """Return one row."""
    return np.array([values])


def low(network: Network, coefficients: Any, known: list[Any], x: Any, executions: bool = False, **more: Any) -> float:
    """Return the lower bound of a form of the last value at the point x, where |value k| is bounded by `known[k]`."""
    rounding = Rounding(network) if executions else None
    relaxation = Relaxation(network, Limits(), None, rounding)
    bounds = Bounds(tuple(-h for h in known), tuple(known))
    found = relaxation.lower_bounds(coefficients, np.zeros(1), np.zeros(1, np.int64), len(network.layers), bounds, x, x, **more)
    return float(found[0])


ZERO = row(0.0, 0.0, 0.0)


def test_a_dense_layer_costs_gamma_times_growth() -> None:
    weight, bias = np.array([[1.0, -2.0, 4.0], [0.0, 3.0, -1.0]]), np.array([2.0, -2.0])
    known = row(3.0, 5.0, 7.0)
    growth = [K * (3 + 10 + 28 + 2), K * (15 + 7 + 2)]
    found = low(net(Dense(weight, bias), inputs=3), row(1.0, 1.0), [known, row(1.0, 1.0)], ZERO)
    close(found, -K * g(3) * sum(growth))
    found = low(net(Dense(weight, bias), inputs=3), row(-8.0, -8.0), [known, row(1.0, 1.0)], ZERO)
    close(found, -K * g(3) * 8 * sum(growth))


@pytest.mark.parametrize("sign", [1, -1])
def test_a_shift_costs_gamma_times_its_numbers(sign: int) -> None:
    found = low(net(Scale(sign, np.array([5.0, -5.0, 0.0])), inputs=3), row(1.0, 1.0, -3.0), [ZERO + 9, ZERO + 9], ZERO)
    close(found, -K * g(4) * 10)


def test_a_rising_line_costs_one_rounding() -> None:
    relaxation = Relaxation(net(Relu(2), inputs=2), Limits())
    bounds = Bounds((row(-1.0, -2.0), row(0.0, 0.0)), (row(3.0, 5.0), row(3.0, 5.0)))
    found = relaxation.lower_bounds(row(2.0, 4.0), np.zeros(1), np.zeros(1, np.int64), 1, bounds, row(0.0, 0.0), row(0.0, 0.0))
    close(found[0], -K * STEP * (2 * 3 + 4 * 5))


@pytest.mark.parametrize("factor", [1.0, 3.0, 8.0])
def test_a_falling_line_costs_its_offset_and_the_roundings_of_sums(factor: float) -> None:
    """On [-1, 3] the chord is 3/4 z + 3/4; one neuron, so that nothing depends on the order of a sum."""
    relaxation = Relaxation(net(Relu(1), inputs=1), Limits())
    bounds = Bounds((row(-1.0), row(0.0)), (row(3.0), row(3.0)))
    result, constant = relaxation._relu(0, row(-factor), np.zeros(1), np.zeros(1, np.int64), bounds, None, slice(None))
    offset = float(up(np.array([0.75]))[0])
    gain = -factor * offset
    lost = 1.01 * 2.0**-53 * (0.75 * factor * 3.0) - 4 * 2.0**-53 * (1 + 2.0**-20) * gain
    wanted = down(down(np.array([gain])) - (1 + 2.0**-20) * lost)
    assert result.tolist() == [[-0.75 * factor]] and constant.tolist() == wanted.tolist()


def test_the_chord_is_rounded_down_and_its_offset_covers_both_ends() -> None:
    for bottom, top in ((-1.0, 2.0), (-2.0, 1.0), (-1.0, 1e9), (-1e9, 1.0), (-3.0, 7.0)):
        relaxation = Relaxation(net(Relu(1), inputs=1), Limits())
        bounds = Bounds((row(bottom), row(0.0)), (row(top), row(top)))
        _, (constant,) = relaxation._relu(0, row(-1.0), np.zeros(1), np.zeros(1, np.int64), bounds, None, slice(None))
        chord = Fraction(int(Fraction(top) / Fraction(top - bottom) * 2**30), 2**30)
        offset = max(-chord * Fraction(bottom), (1 - chord) * Fraction(top))
        assert offset < -Fraction(float(constant)) <= offset * (1 + Fraction(1, 2**45)) + Fraction(1, 2**45) * Fraction(max(-bottom, top))


def test_lines_are_above_a_relu_at_both_ends() -> None:
    """Exactly, and also where the width of the interval, and so the chord, is rounded: then the lower end decides about the offset."""
    rng = np.random.default_rng(11)
    ends = [(-(1 + 2.0**-48), 31.0), (-(1 + 2.0**-47), 63.0), *((-2.0 ** rng.uniform(-20, 20), 2.0 ** rng.uniform(-20, 20)) for _ in range(300))]
    rounded = 0
    for bottom, top in ends:
        (crossing,), _, (chord,), (offset,) = (values.tolist() for values in _lines(np.array([bottom]), np.array([top])))
        chord, offset = Fraction(chord), Fraction(offset)
        assert crossing == 1 and chord * Fraction(bottom) + offset >= 0 and chord * Fraction(top) + offset >= Fraction(top), (bottom, top)
        rounded += chord * (Fraction(top) - Fraction(bottom)) > Fraction(top)
    assert rounded >= 2


def test_inputs_cost_gamma_times_their_reach() -> None:
    for x in (row(3.0, 3.0), row(-3.0, -3.0)):
        close(low(net(inputs=2), row(2.0, -2.0), [x], x), -K * g(14) * 12)
    close(low(net(inputs=1), row(0.0), [row(1.0)], row(1.0)), Fraction(0))


def test_the_middle_and_the_half_of_a_box_are_rounded_outward() -> None:
    for ends in ((0.0, 4.0), (-4.0, 0.0), (-1.0, 3.0), (-3.0, 1.0)):
        relaxation = Relaxation(net(inputs=2), Limits())
        lower, upper = np.full((1, 2), ends[0]), np.full((1, 2), ends[1])
        bounds = Bounds((lower,), (upper,))
        (found,) = relaxation.lower_bounds(row(1.0, -1.0), np.zeros(1), np.zeros(1, np.int64), 0, bounds, lower, upper)
        half = float(up(np.array([2.0]))[0])
        reach = max(abs(ends[0]), abs(ends[1]))
        gamma = 14 * 2.0**-53 * (1 + 2.0**-20)
        assert found == down(down(np.array([-2 * half])) - (1 + 2.0**-20) * (gamma * (2 * reach)))[0]


def test_input_coefficients_cost_one_rounding_of_a_sum() -> None:
    x = row(3.0, 3.0)
    close(low(net(inputs=2), row(1.0, -1.0), [x], x, added=row(1.0, -1.0)), -K * (STEP + g(14)) * 12)


def test_multipliers_cost_one_rounding_of_a_difference() -> None:
    relaxation = Relaxation(net(Relu(2), inputs=2), Limits())
    bounds = Bounds((row(0.0, 0.0), row(0.0, 0.0)), (row(3.0, 5.0), row(3.0, 5.0)))
    found = relaxation.lower_bounds(row(1.0, -2.0), np.zeros(1), np.zeros(1, np.int64), 1, bounds, row(0.0, 0.0), row(0.0, 0.0),
                                    multipliers={0: row(-4.0, 2.0)})
    close(found[0], -K * STEP * (1 * 3 + 2 * 5) - K * STEP * (5 * 3 + 4 * 5))


@pytest.mark.parametrize("executions", [False, True])
def test_float32_executions_cost_their_radii(executions: bool) -> None:
    """A shift by 0: exact over the reals, while float32 executions may be off by gamma32 of the sizes, and by what is flushed."""
    known, x = row(3.0, 3.0), row(3.0, 3.0)
    found = low(net(Scale(1, np.zeros(2)), inputs=2), row(2.0, -2.0), [known, known], x, executions)
    radius = K * (Fraction(5, (1 << 24) - 5) * 3 + Fraction(1, 1 << 122) * (5 + 3))
    error = K * (Fraction(3, 1 << 24) + Fraction(1, 1 << 126))
    close(found, -K * g(14) * 12 - (K * 4 * (radius + error) if executions else 0))


def _intervals(network: Network, x: Any, executions: bool = False) -> tuple[list[float], list[float]]:
    relaxation = Relaxation(network, Limits(), None, Rounding(network) if executions else None)
    found = relaxation.propagate(x, x, None)
    return found.lower[-1][0].tolist(), found.upper[-1][0].tolist()


def test_intervals_of_a_dense_layer_cost_gamma_times_growth() -> None:
    network = net(Dense(np.array([[1.0, -2.0], [-1.0, 1.0]]), np.array([1.0, 0.0])), inputs=2)
    (first, second), (above, over) = _intervals(network, row(1.0, 1.0))
    for found, sign, growth in ((first, -1, 4), (second, -1, 2), (above, 1, 4), (over, 1, 2)):
        close(found, sign * K * g(7) * K * growth)


@pytest.mark.parametrize("sign", [1, -1])
def test_intervals_of_a_shift_are_rounded_outward(sign: int) -> None:
    below, above = _intervals(net(Scale(sign, np.array([-5.0 * sign, 1.0])), inputs=2), row(5.0, 1.0))
    assert below[0] == -SNAP and above[0] == SNAP
    wanted = sign + 1.0
    assert below[1] == down(np.array([wanted]))[0] and above[1] == up(np.array([wanted]))[0]
    relaxation = Relaxation(net(Scale(sign, np.zeros(1)), inputs=1), Limits())
    found = relaxation.propagate(row(-2.0), row(7.0), None)
    ends = sorted((-2.0 * sign, 7.0 * sign))
    assert found.lower[1][0, 0] == down(np.array(ends))[0] and found.upper[1][0, 0] == up(np.array(ends))[1]


def test_intervals_of_executions_cost_their_radii() -> None:
    error = K * (Fraction(5, 1 << 24) + Fraction(1, 1 << 126))
    ours = net(Scale(1, np.array([-5.0])), inputs=1)
    size = 5 + error
    radius = K * (Fraction(5, (1 << 24) - 5) * (size + 5) + Fraction(1, 1 << 122) * (5 + size))
    for index, sign in ((0, -1), (1, 1)):
        found = _intervals(ours, row(5.0), True)[index][0]
        assert abs(Fraction(found) - sign * (error + radius)) <= Fraction(1, 2**45)
    lower, upper = _intervals(net(inputs=1), row(5.0), True)
    assert 0 <= 5 - error - Fraction(lower[0]) <= Fraction(1, 2**48) and 0 <= Fraction(upper[0]) - 5 - error <= Fraction(1, 2**48)


def test_coefficients_that_no_double_holds_cost_what_they_lack() -> None:
    relaxation = Relaxation(net(inputs=2), Limits())
    third = Fraction(1, 3)
    for form in (Row({0: third, 1: -third}, {}, Fraction(0)), Row({}, {0: third, 1: -third}, Fraction(0))):
        made = relaxation.specify([(form, Fraction(1))])
        side, residue = (made.inputs, made.input_residue) if form.inputs else (made.outputs, made.output_residue)
        lost = [abs(v - Fraction(float(c))) for v, c in zip((third, -third), side, strict=True)]
        assert all(0 < r - e <= e / 2**50 for r, e in zip(map(Fraction, residue.tolist()), lost, strict=True)) or residue.tolist() == lost
        assert all(Fraction(c) <= v for c, v in zip(side.tolist(), (third, -third), strict=True))
        x = row(4.0, 4.0)
        found = relaxation.bound([made], np.zeros(1, np.int64), Bounds((x,), (x,)), x, x)
        exact = 4 * sum(map(Fraction, side.tolist()))
        size = 4 * sum(abs(Fraction(c)) for c in side.tolist())
        close(found[0], exact - K * 4 * sum(map(Fraction, residue.tolist())) - K * size * ((STEP if form.inputs else 0) + g(14)))


def _ball(norm: Any, coefficients: tuple[float, ...], centre: tuple[Fraction, ...], weight: tuple[Fraction, ...], radius: Fraction,
          reach: float) -> float:
    ball = NormBall(Ball(norm, centre, weight, radius))
    lower, upper = np.full((1, len(centre)), -reach), np.full((1, len(centre)), reach)
    return float(ball.lower_bounds(np.array([coefficients]), np.zeros(1), lower, upper)[0])


@pytest.mark.parametrize("norm", ["l2", "l1"])
def test_a_ball_costs_its_norm_and_gamma_times_the_reach(norm: str) -> None:
    zero, weight, radius = (Fraction(0), Fraction(0)), (Fraction(1, 3), Fraction(1, 2)), Fraction(5)
    coefficients, length = (3.0, 6.0), Fraction(15 if norm == "l2" else 12)  # of (3, 6) / weight = (9, 12)
    for reach in (64.0, 2.0**40):
        found = _ball(norm, coefficients, zero, weight, radius, reach)
        size = 9 * Fraction(reach)
        close(found, -K * (g(9) * size + radius * length * (K if norm == "l2" else 1)))


def test_a_centre_that_no_double_holds_costs_what_it_lacks() -> None:
    third = Fraction(1, 3)
    lacking = third - Fraction(float(third))
    found = _ball("l2", (1.0, -1.0), (third, third), (Fraction(1), Fraction(1)), Fraction(1, 1 << 250), 1.0)
    close(found, -K * (g(9) * 2 + 2 * lacking))
    far = _ball("l2", (1.0, -1.0), (Fraction(9), Fraction(9)), (Fraction(1), Fraction(1)), Fraction(1, 1 << 250), 10.0)
    close(far, -K * g(9) * 2 * 10)


@pytest.mark.parametrize("norm", ["l2", "l1"])
def test_one_input_in_a_ball_is_rounded_outward(norm: str) -> None:
    found = _ball(norm, (1.0,), (Fraction(0),), (Fraction(1),), Fraction(3), 8.0)
    length = 1 + 2.0**-20 if norm == "l2" else float(up(np.array([1.0]))[0])
    gamma = 6 * 2.0**-53 * (1 + 2.0**-20)
    assert found == down(down(np.zeros(1)) - (1 + 2.0**-20) * (gamma * 8.0 + 0.0 + 3.0 * length))[0]


def test_sizes_at_the_limits_are_taken_and_beyond_them_refused() -> None:
    for value, fits in ((2.0**-220, True), (np.nextafter(2.0**-220, 0), False), (2.0**210, True), (np.nextafter(2.0**210, 1e300), False)):
        for layer in (Dense(np.array([[value, 1.0]]), np.zeros(1)), Dense(np.array([[1.0, 1.0]]), np.array([-value])),
                      Scale(1, np.array([value, 1.0]))):
            if not fits:
                refused("number-too-large", Relaxation, net(layer, inputs=2), Limits())
            else:
                Relaxation(net(layer, inputs=2), Limits())
    relaxation = Relaxation(net(inputs=1), Limits())
    for place in ("inputs", "outputs", "constant"):
        for sign in (1, -1):
            for value, code in ((Fraction(2) ** 300, ""), (Fraction(2) ** 300 + Fraction(2) ** 249, "number-too-large")):
                form = Row({0: sign * value} if place == "inputs" else {}, {0: sign * value} if place == "outputs" else {},
                           sign * value if place == "constant" else Fraction(0))
                if code:
                    refused(code, relaxation.specify, [(form, Fraction(1))])
                else:
                    relaxation.specify([(form, Fraction(1))])


def test_the_box_of_a_part_is_rounded_outward() -> None:
    third = Fraction(1, 3)
    lower, upper = Relaxation(net(inputs=1), Limits()).start(Part((third,), (third,), ()))
    assert Fraction(lower[0]) < third < Fraction(upper[0]) and np.nextafter(lower[0], 1) == upper[0]


def test_the_largest_value_is_that_of_any_layer() -> None:
    network = net(Scale(1, np.array([-90.0])), Scale(1, np.array([95.0])), inputs=1)
    relaxation = Relaxation(network, Limits())
    assert abs(relaxation.largest(relaxation.propagate(row(2.0), row(3.0), None)) - 88.0) < 1e-9
    two = Relaxation(net(inputs=2), Limits())
    assert two.largest(two.propagate(np.array([[1.0, -7.0]]), np.array([[2.0, 1.0]]), None)) == 7.0


def test_errors_of_float32_layers_are_those_of_the_rules() -> None:
    """relative G + absolute (fixed + the sum of H), and no sum beyond 2^120."""
    def gamma32(n: int) -> Fraction:
        return Fraction(n, (1 << 24) - n)

    dense = Rounding(net(Dense(np.array([[1.0, -2.0, 0.5]]), np.array([4.0])), inputs=3)).of(0)
    assert (dense.relative, dense.absolute, dense.largest) == (gamma32(6), 2.0**-122, 2.0**120)
    assert dense.fixed.tolist() == [(1 + 2.0**-20) * (3 + 2 + 3.5)]
    for alpha, beta, factor, power in ((4.0, 1.0, 6.0, 120), (1.0, 0.5, 3.0, 120), (0.25, 0.5, 2.0, 118), (-8.0, -1.0, 10.0, 120)):
        scaled = Rounding(net(Dense(alpha * np.array([[1.0, -2.0, 0.5]]), beta * np.array([4.0]), alpha, beta), inputs=3)).of(0)
        assert (scaled.relative, scaled.absolute, scaled.largest) == (gamma32(6), 2.0**-122 * factor, 2.0**power)
        assert scaled.fixed.tolist() == dense.fixed.tolist()  # of the stored weights
    shift = Rounding(net(Scale(-1, np.array([1.0, 9.0])), inputs=2)).of(0)
    assert (shift.relative, shift.absolute, shift.fixed.tolist(), shift.largest) == (gamma32(5), 2.0**-122, [5.0, 5.0], 2.0**120)
    relu = Rounding(net(Relu(2), inputs=2)).of(0)
    assert (relu.relative, relu.absolute, relu.fixed.tolist(), relu.largest) == (0, 2.0**-125, [1.0, 1.0], 2.0**120)


def test_radii_of_float32_layers_are_those_of_the_rules() -> None:
    size = np.array([[1.0, 2.0]])
    rounding = Rounding(net(Dense(np.array([[3.0, 1.0], [0.0, 2.0]]), np.zeros(2)), Scale(1, np.array([-7.0, 7.0])), Relu(2), inputs=2))
    for k, growth, wanted in ((0, np.array([[5.0, 4.0]]), ((5, 3), (4, 3))), (1, None, ((8, 1), (9, 2))), (2, None, ((0, 0), (0, 0)))):
        errors = rounding.of(k)
        found = rounding.radius(k, size, growth)[0]
        for i, (told, summed) in enumerate(wanted):
            exact = K * (told * errors.relative + Fraction(errors.absolute) * (Fraction(errors.fixed.tolist()[i]) + summed))
            assert abs(Fraction(found[i]) - exact) <= exact / 10**9
    refused("exec32-overflow", rounding.radius, 0, size, np.array([[1.0, 2.0**120]]))
    refused("exec32-overflow", rounding.radius, 1, np.array([[2.0**120, 1.0]]), None)
    refused("exec32-overflow", rounding.require_input, 2.0**120)
    rounding.require_input(float(np.nextafter(2.0**120, 0)))
    assert rounding.input_error(np.array([0.0, 2.0**24])).tolist() == [(1 + 2.0**-20) * 2.0**-126, (1 + 2.0**-20) * (1 + 2.0**-126)]
    rounding.radius(0, size, np.array([[1.0, np.nextafter(2.0**120, 0)]]))


def test_a_ball_becomes_doubles_outward() -> None:
    third, tiny = Fraction(1, 3), Fraction(1, 1 << 301)
    centre = (third, -third, Fraction(2), tiny, -tiny, Fraction(SNAP), Fraction(0))
    ball = NormBall(Ball("l2", centre, (Fraction(3), *[Fraction(1)] * 5, 1 / third), third))
    near = [float(third), below(-third), 2.0, 0.0, 0.0, SNAP, 0.0]
    assert ball.centre.tolist() == near
    lacking = [third - Fraction(near[0]), -third - Fraction(near[1])]
    assert ball.residue.tolist() == [above(lacking[0]), above(lacking[1]), 0.0, SNAP, SNAP, 0.0, 0.0]
    assert ball.factor.tolist() == [above(third), *[1.0] * 5, above(third)] and ball.radius == above(third)
    assert Fraction(ball.radius) > third and all(Fraction(v) >= e for v, e in zip(ball.residue.tolist()[:2], lacking, strict=True))
    small = NormBall(Ball("l1", (Fraction(0),), (Fraction(1 << 400),), tiny))
    assert small.factor.tolist() == [SNAP] and small.radius == SNAP


@pytest.mark.parametrize("ends", [(-(2.0**40), 1.0), (-1.0, 2.0**40), (-(2.0**40), 2.0**40)])
def test_the_reach_of_a_ball_is_that_of_the_farther_end(ends: tuple[float, float]) -> None:
    ball = NormBall(Ball("l2", (Fraction(0), Fraction(0)), (Fraction(1), Fraction(1)), Fraction(1, 1 << 250)))
    for sign in (1.0, -1.0):
        found = ball.lower_bounds(np.array([[sign, -sign]]), np.zeros(1), np.full((1, 2), ends[0]), np.full((1, 2), ends[1]))
        close(found[0], -K * g(9) * 2 * (1 << 40))


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_the_reach_of_a_ball_includes_its_centre(sign: float) -> None:
    ball = NormBall(Ball("l1", (Fraction(10 * int(sign)),), (Fraction(1),), Fraction(1, 1 << 250)))
    found = ball.lower_bounds(np.array([[sign]]), np.array([3.0]), np.array([[-1.0]]), np.array([[1.0]]))
    lost = 6 * 2.0**-53 * (1 + 2.0**-20) * 10.0
    wanted = down(down(np.array([13.0])) - (1 + 2.0**-20) * (lost + 0.0 + 2.0**-250 * float(up(np.array([1.0]))[0])))
    assert found.tolist() == wanted.tolist()


@pytest.mark.parametrize("value", [2.0**-310, -(2.0**-310)])
def test_tiny_ends_of_a_box_move_outward(value: float) -> None:
    bounds = Relaxation(net(Scale(1, np.zeros(1)), inputs=1), Limits()).propagate(row(value), row(value), None)
    assert bounds.lower[0].tolist() == [[0.0 if value > 0 else -SNAP]] and bounds.upper[0].tolist() == [[SNAP if value > 0 else 0.0]]


@pytest.mark.parametrize("ends", [(-(2.0**120), 0.0), (0.0, 2.0**120)])
def test_either_end_of_an_input_may_have_no_float32_near_it(ends: tuple[float, float]) -> None:
    network = net(Dense(np.zeros((1, 2)), np.zeros(1)), inputs=2)  # whose sums are small all the same
    relaxation = Relaxation(network, Limits(), None, Rounding(network))
    near, far = (np.array([[0.0, 1.0]]) + np.array([[factor, 0.0]]) * ends[0 if ends[0] else 1] for factor in (0.999, 1.0))
    zero = np.array([[0.0, 1.0]])
    pairs = [(end, zero) if ends[0] else (zero, end) for end in (near, far)]
    relaxation.propagate(*pairs[0], None)
    refused("exec32-overflow", relaxation.propagate, *pairs[1], None)


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("layers", [1, 2])
def test_bounds_of_either_sign_are_refused_above_two_to_the_300(sign: int, layers: int) -> None:
    for factor, code in ((1.0, "number-too-large"), (0.5, "")):
        weights = [2.0**200] if layers == 1 else [2.0**150, 2.0**50]
        weights[-1] *= sign * factor
        relaxation = Relaxation(net(*(Dense(np.array([[w], [0.0]])[:, :1] if k == 0 else np.array([[w, 0.0]]), np.zeros(2 - k))
                                      for k, w in enumerate(weights)), inputs=1), Limits())
        if code:
            refused(code, relaxation.propagate, row(0.0), row(2.0**100), None)
        else:
            relaxation.propagate(row(0.0), row(2.0**100), None)


def test_one_coefficient_above_two_to_the_300_is_enough() -> None:
    relaxation = Relaxation(net(inputs=2), Limits())
    for which in (0, 1):
        terms = {which: Fraction(2) ** 301, 1 - which: Fraction(1)}
        refused("number-too-large", relaxation.specify, [(Row(terms, {}, Fraction(0)), Fraction(1))])
        refused("number-too-large", relaxation.specify, [(Row({}, terms, Fraction(0)), Fraction(1))])


@pytest.mark.parametrize(("lower", "upper"), [(-2.0, 9.0), (-9.0, 2.0)])
def test_residues_are_paid_for_at_the_farther_end(lower: float, upper: float, monkeypatch: pytest.MonkeyPatch) -> None:
    relaxation = Relaxation(net(Scale(1, np.zeros(1)), inputs=1), Limits())
    specified = relaxation.specify([(Row({0: Fraction(1, 3)}, {0: Fraction(1, 7)}, Fraction(1)), Fraction(1))])
    monkeypatch.setattr(relaxation, "lower_bounds", lambda coefficients, constant, *_: constant)
    bounds = Bounds((row(0.0), row(-5.0)), (row(0.0), row(4.0)))
    found = relaxation.bound([specified], np.zeros(1, np.int64), bounds, row(lower), row(upper))
    lost = specified.output_residue[0] * 5 + specified.input_residue[0] * 9
    assert found.tolist() == down(np.array([1.0 - (1 + 2.0**-20) * lost])).tolist() and 0 < lost < 1e-15


def test_every_sum_of_nothing_rounds_a_constant_down() -> None:
    """Twice for a sum in a ReLU, once for multipliers, once for added coefficients, twice for inputs: by 2 ulp of a number just below 1 each."""
    relaxation = Relaxation(net(Relu(1), inputs=1), Limits())
    bounds = Bounds((row(0.0), row(0.0)), (row(1.0), row(1.0)))
    zero, wanted = np.zeros((1, 1)), np.ones(1)
    for split, added, count in ((None, None, 4), ({0: zero}, None, 5), (None, zero, 5), ({0: zero}, zero, 6)):
        found = relaxation.lower_bounds(zero, np.ones(1), np.zeros(1, np.int64), 1, bounds, row(0.0), row(1.0), added, None, split)
        wanted = np.ones(1)
        for _ in range(count):
            wanted = down(wanted)
        assert found.tolist() == wanted.tolist()


def test_tiny_coefficients_of_executions_are_dropped_at_the_cost_of_the_input(monkeypatch: pytest.MonkeyPatch) -> None:
    network = net(Dense(np.array([[2.0**-200]]), np.zeros(1)), inputs=1)
    rounding = Rounding(network)
    monkeypatch.setattr(rounding, "radius", lambda k, size, growth: np.zeros((1, 1)))
    monkeypatch.setattr(rounding, "input_error", lambda reach: 0.0 * reach)
    relaxation = Relaxation(network, Limits(), None, rounding)
    bounds = Bounds((row(-(2.0**20)), row(-1.0)), (row(2.0**20), row(1.0)))
    found = relaxation.lower_bounds(row(2.0**-150), np.zeros(1), np.zeros(1, np.int64), 1, bounds, row(0.0), row(0.0))
    assert -SNAP * (2**20 + 20) < found[0] < -SNAP * 2**20


@pytest.mark.parametrize(("low", "high"), [(1.0, 1 + 2.0**-52), (1 + 2.0**-52, 1 + 2.0**-51), (-1 - 2.0**-52, -1.0), (-1 - 2.0**-51, -1 - 2.0**-52)])
def test_the_half_width_is_that_of_the_farther_end(low: float, high: float) -> None:
    """The middle of two neighbouring doubles is one of them."""
    middle = (low + high) / 2
    assert middle in (low, high)
    reach, half = max(abs(low), abs(high)), float(up(np.array([2.0**-52]))[0])
    found = Relaxation(net(inputs=1), Limits()).lower_bounds(row(1.0), np.zeros(1), np.zeros(1, np.int64), 0, Bounds((row(low),), (row(high),)),
                                                             row(low), row(high))
    assert found.tolist() == down(down(np.array([middle - half])) - (1 + 2.0**-20) * (11 * 2.0**-53 * (1 + 2.0**-20) * reach)).tolist()


@pytest.mark.parametrize(("low", "high"), [(-9.0, 1.0), (-1.0, 9.0)])
def test_intervals_cost_the_growth_of_the_farther_end(low: float, high: float) -> None:
    bounds = Relaxation(net(Dense(np.array([[1.0]]), np.zeros(1)), inputs=1), Limits()).propagate(row(low), row(high), None)
    kappa = 1 + 2.0**-20
    cost = kappa * (5 * 2.0**-53 * kappa * (kappa * 9.0))
    assert bounds.lower[1].tolist() == (down(down(row(low)) - cost)).tolist() and bounds.upper[1].tolist() == (up(up(row(high)) + cost)).tolist()


def test_intervals_of_a_relu_are_exact_and_in_float32_outward() -> None:
    network = net(Relu(3), inputs=3)
    low, high = np.array([[-3.0, -2.0, 0.25]]), np.array([[-2.0, 0.5, 0.75]])
    bounds = Relaxation(network, Limits()).propagate(low, high, None)
    assert bounds.lower[1].tolist() == [[0.0, 0.0, 0.25]] and bounds.upper[1].tolist() == [[0.0, 0.5, 0.75]]
    bounds = Relaxation(network, Limits(), None, Rounding(network)).propagate(low, high, None)
    assert bounds.lower[1][0, 2] == down(bounds.lower[0])[0, 2] < 0.25 and (bounds.upper[1] == up(np.maximum(bounds.upper[0], 0)))[0, 1:].all()
    assert (bounds.lower[1][0, :2] < -(2.0**-126)).all() and bounds.upper[1][0, 0] > 2.0**-126  # what is 0 is off by 2^-125 at most


def test_tiny_bounds_behind_a_layer_move_outward() -> None:
    relaxation = Relaxation(net(Scale(1, np.zeros(1)), inputs=1), Limits())
    assert relaxation.propagate(row(SNAP), row(SNAP), None).lower[1].tolist() == [[-SNAP]]
    assert relaxation.propagate(row(-SNAP), row(-SNAP), None).upper[1].tolist() == [[SNAP]]


def test_refined_bounds_of_executions_start_below_what_float32_may_lose(monkeypatch: pytest.MonkeyPatch) -> None:
    network = net(Relu(1), Dense(np.array([[1.0]]), np.array([-0.25])), Relu(1), inputs=1)
    relaxation = Relaxation(network, Limits(), None, Rounding(network))
    seen: list[Any] = []

    def far(coefficients: Any, constant: Any, *_: Any) -> Any:
        seen.append((coefficients.tolist(), constant.tolist()))
        return np.full(constant.shape, -99.0)

    monkeypatch.setattr(relaxation, "lower_bounds", far)
    bounds = relaxation.propagate(row(-1.0), row(1.0), None)
    ((coefficients, constants),) = seen
    radius = Fraction(float(relaxation._radius(1, bounds)[0, 0]))
    assert coefficients == [[1.0], [-1.0]] and radius > 0
    for found, sign in zip(constants, (-1, 1), strict=True):
        assert Fraction(1, 1 << 60) < sign * Fraction(1, 4) - radius - Fraction(found) < Fraction(1, 1 << 50)


def test_refined_bounds_that_are_tiny_move_outward(monkeypatch: pytest.MonkeyPatch) -> None:
    relaxation = Relaxation(net(Relu(1), Dense(np.array([[1.0]]), np.array([-0.25])), Relu(1), inputs=1), Limits())
    for value, ends in ((2.0**-310, (0.0, 0.0)), (-(2.0**-310), (-SNAP, SNAP))):  # bounds of z from below, and of -z
        monkeypatch.setattr(relaxation, "lower_bounds", lambda coefficients, constant, *_, value=value: np.full(constant.shape, value))
        bounds = relaxation.propagate(row(-1.0), row(1.0), None)
        assert (bounds.lower[2][0, 0], bounds.upper[2][0, 0]) == ends


@pytest.mark.parametrize("size", [1, 2, 3, 10])
def test_offsets_cost_the_roundings_of_as_many_neurons_as_there_are(size: int) -> None:
    relaxation = Relaxation(net(Relu(size), inputs=size), Limits())
    ends = np.full((1, size), -1.0), np.full((1, size), 3.0)
    bounds = Bounds((ends[0], 0 * ends[0]), (ends[1], ends[1]))
    coefficients = np.zeros((1, size))
    coefficients[0, -1] = -8.0
    _, constant = relaxation._relu(0, coefficients, np.zeros(1), np.zeros(1, np.int64), bounds, None, slice(None))
    gain = -8.0 * float(up(np.array([0.75]))[0])
    lost = 1.01 * 2.0**-53 * (6.0 * 3.0) - (2 * size + 2) * 2.0**-53 * (1 + 2.0**-20) * gain
    assert constant.tolist() == down(down(np.array([gain])) - (1 + 2.0**-20) * lost).tolist()


def test_tiny_coefficients_of_either_sign_are_paid_for_and_large_ones_refused() -> None:
    tiny = 2.0**-310
    reach = np.array([1.0, 2.0, 5.0, 5.0, 5.0, 5.0, 5.0])
    coefficients, size, constant = _snap(np.array([[-tiny, tiny, 3.0, -4.0, 0.0, SNAP, -SNAP]]), np.zeros(1), reach)
    assert coefficients.tolist() == [[0.0, 0.0, 3.0, -4.0, 0.0, SNAP, -SNAP]] and size.tolist() == np.abs(coefficients).tolist()
    assert -SNAP * 5 < constant[0] < -SNAP * 3
    for many in ([3.0, -4.0], [-4.0], [0.0]):
        found = _snap(np.array([many]), np.ones(1), np.ones(len(many)))
        assert found[0].tolist() == [many] and found[1].tolist() == [[abs(v) for v in many]] and found[2].tolist() == [1.0]
    for value in (2.0**300, -(2.0**300)):
        _snap(np.array([[1.0, value]]), np.zeros(1), np.ones(2))
    for value in (2.0**301, -(2.0**301), float("nan"), float("inf")):
        refused("number-too-large", _snap, np.array([[1.0, value]]), np.zeros(1), np.ones(2))
