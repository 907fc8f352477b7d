# SPDX-License-Identifier: Apache-2.0
"""From properties to integers: every asked input is in a region, every row keeps outputs safe, in exact rationals; and what is refused."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from certify.errors import CertifyError
from certify.limits import Limits
from certify.readers.commitment import Commitment, encode_commitment, read_commitment
from certify.readers.formula import Part, Parts
from certify.rules import private_statement as ps
from certify_zk.policy import Dense, InputMap, Policy
from certify_zk.statement import Rows
from kinds.private import property_text
from toolkit import refused

POLICY = Policy((Dense(2, 3), Dense(3, 3)), ("crown", "crown"), ((), (12,)), InputMap.uniform(0, 1, 0, 1))
COMMITMENT = Commitment(POLICY, 5, bytes(32))


def mapped(policy: Policy, x: Fraction, index: int) -> Fraction:
    """Return an input in steps of the grid, exactly."""
    offset, scale = (ps.spread(policy, values)[index] for values in (policy.inputs.offset, policy.inputs.scale))
    return (x - offset) * scale * (1 << policy.input_scale)


def random_policy(rng: np.random.Generator) -> Policy:
    """Return a policy with a map of its own for each input."""
    def some(low: int, high: int) -> tuple[Fraction, ...]:
        return tuple(Fraction(int(rng.integers(low, high)), int(rng.integers(1, 1000))) for _ in range(2))
    offset, scale = some(-500, 500), some(1, 3000)
    lower = tuple(value + Fraction(int(rng.integers(0, 5)), 7) for value in offset)
    upper = tuple(value + Fraction(int(rng.integers(1, 90)), 11) for value in lower)
    return replace(POLICY, inputs=InputMap(offset, scale, lower, upper), input_scale=int(rng.integers(2, 13)))


def found(text: str, format: str = "vnnlib-1") -> Parts:
    return ps.read_property(text.encode(), format, COMMITMENT, Limits())


def asked(unsafe: str, box: str = "(assert (>= X_0 0.1)) (assert (<= X_0 0.2)) (assert (>= X_1 0.5)) (assert (<= X_1 0.5))") -> Parts:
    """Return the parts of a property about two inputs and three outputs."""
    names = "".join(f"(declare-const X_{i} Real)" for i in range(2)) + "".join(f"(declare-const Y_{i} Real)" for i in range(3))
    return found(f"{names} {box} (assert {unsafe})")


def test_boxes_hold_what_is_asked_and_are_no_larger_than_the_grid_needs() -> None:
    rng = np.random.default_rng(1)
    for _ in range(2000):
        policy = random_policy(rng)
        share = [sorted(Fraction(int(v), 997) for v in rng.integers(0, 998, 2)) for _ in range(2)]
        sides = [tuple(low + part * (high - low) for part in parts)
                 for parts, low, high in zip(share, policy.inputs.lower, policy.inputs.upper, strict=True)]
        ends = list(zip(*sides, strict=True))
        (box,) = ps.boxes(policy, [(ends[0], ends[1])], Limits())
        for index, (low, width) in enumerate(zip(box.lower, box.width, strict=True)):
            first, last = (mapped(policy, end[index], index) for end in ends)
            assert low <= first <= last <= low + width and first - low < 1 and low + width - last < 1 and low >= 0
        if any(a < b for a, b in zip(*ends, strict=True)):
            refused("outside-domain", ps.boxes, policy, [(ends[1], ends[0])], Limits())
        beyond = (policy.inputs.upper[0] + Fraction(1, 10**30), ends[1][1])
        refused("outside-domain", ps.boxes, policy, [(ends[0], beyond)], Limits())


def test_rows_keep_outputs_out_of_the_unsafe_set_and_ask_for_no_more() -> None:
    rng = np.random.default_rng(2)
    for number in range(600):
        c = [Fraction(int(v), int(rng.integers(1, 5))) for v in rng.integers(-6, 7, 3)]
        bound, relation = Fraction(int(rng.integers(-999, 999)), 64), ("<=", ">=")[number % 2]
        if not any(c):
            continue
        unsafe = f"({relation} (+ {' '.join(f'(* {float(v)!r} Y_{i})' for i, v in enumerate(c))}) {float(bound)!r})"
        c = [Fraction(repr(float(v))) for v in c]
        parts = asked(unsafe)
        try:
            made = ps.rows(POLICY, parts, Limits())
        except CertifyError as trouble:
            assert trouble.code == "property-range"
            continue
        (row,), (threshold,) = made.coefficients, made.thresholds
        factor = next(Fraction(a) / b for a, b in zip(row, c, strict=True) if b)
        sign = -1 if relation == "<=" else 1
        assert factor * sign < 0 and all(a == factor * b for a, b in zip(row, c, strict=True))
        edge, unit = bound * factor, Fraction(1, 1 << POLICY.total_scale)
        assert edge < threshold * unit <= edge + unit  # equality is unsafe
        assert np.gcd.reduce(row) == 1 or max(map(abs, row)) <= 127


def test_strict_rows_of_vnnlib_2_let_equality_be_safe() -> None:
    text = ("(vnnlib-version <2.0>) (declare-network N (declare-input X float32 [2]) (declare-output Y float32 [3])) "
            "(assert (>= X[0] 0.0)) (assert (<= X[0] 0.5)) (assert (>= X[1] 0.0)) (assert (<= X[1] 0.5)) (assert ({} Y[0] 0.5))")
    for word, threshold in (("<", 1 << 15), ("<=", (1 << 15) + 1)):
        assert ps.rows(POLICY, found(text.format(word), "vnnlib-2"), Limits()) == Rows(((1, 0, 0),), (threshold,))
    with pytest.raises(CertifyError) as caught:
        ps.label(found(text.format("<"), "vnnlib-2"), 3)
    assert caught.value.code == "property-form"


def test_labels() -> None:
    for label in range(3):
        others = [c for c in range(3) if c != label]
        for rows in (f"(>= Y_{others[0]} Y_{label})", f"(<= Y_{label} Y_{others[0]})", f"(<= 0 (- (* 3 Y_{others[0]}) (* 3 Y_{label})))"):
            assert ps.label(asked(f"(or (and {rows}) (and (>= Y_{others[1]} Y_{label})))"), 3) == label
    for unsafe, code in (("(or (and (>= Y_1 Y_0)) (and (>= Y_2 Y_1)))", "property-form"), ("(>= Y_1 Y_0)", "property-form"),
                         ("(or (and (>= Y_1 Y_0)) (and (>= Y_2 Y_0) (>= Y_1 0)))", "property-disjunction"),
                         ("(or (and (>= Y_1 Y_0)) (and (>= Y_2 1)))", "property-form"),
                         ("(or (and (>= Y_1 Y_0)) (and (<= X_0 0.15)))", "property-form"),
                         ("(or (and (>= Y_1 (* 2 Y_0))) (and (>= Y_2 Y_0)))", "property-form"), ("(<= X_0 0.15)", "property-form")):
        refused(code, lambda unsafe=unsafe: ps.label(asked(unsafe), 3))
    refused("property-form", lambda: asked("(or (and (>= Y_1 X_0)) (and (>= Y_2 Y_0)))"))


def test_boxes_with_different_unsafe_outputs_are_not_joined() -> None:
    box = "(and (>= X_0 {0}) (<= X_0 {0}) (>= X_1 0.1) (<= X_1 0.1) (>= {1} Y_0))"
    refused("property-form", lambda: ps.unsafe_rows(asked(f"(or {box.format(0.1, 'Y_1')} {box.format(0.2, 'Y_2')})", "")))
    same = asked(f"(or {box.format(0.1, 'Y_1')} {box.format(0.2, 'Y_1')})", "")
    assert len(ps.unsafe_rows(same)) == 1 and len(ps.corners(same)) == 2


def test_balls_hold_every_input_of_the_asked_one() -> None:
    rng = np.random.default_rng(3)
    for _ in range(1500):
        scale, offset = Fraction(int(rng.integers(1, 50)), int(rng.integers(1, 50))), Fraction(int(rng.integers(-9, 9)), 5)
        policy = replace(POLICY, inputs=InputMap.uniform(offset, scale, offset, offset + 7), input_scale=int(rng.integers(2, 10)))
        centre = tuple(offset + Fraction(int(v), 1000) for v in rng.integers(0, 7001, 2))
        radius = Fraction(int(rng.integers(1, 3000)), 1000)
        (made,) = ps.balls(policy, [centre], radius, Limits())
        for _ in range(4):
            turn = Fraction(int(rng.integers(-1000, 1001)), 1000)
            way = (2 * turn / (1 + turn * turn), (1 - turn * turn) / (1 + turn * turn))  # of length 1, exactly
            moved = [mapped(policy, c + radius * w, i) for i, (c, w) in enumerate(zip(centre, way, strict=True))]
            assert sum((v - c) ** 2 for v, c in zip(moved, made.centre, strict=True)) <= made.radius**2
        assert made.radius <= radius * scale * (1 << policy.input_scale) + 3
    refused("property-form", ps.balls, random_policy(rng), [(Fraction(0), Fraction(0))], Fraction(1), Limits())


def test_margins_and_points_are_on_their_grids() -> None:
    assert ps.units(POLICY, Fraction(3, 1 << 16)) == 3
    for margin in (Fraction(0), Fraction(-1, 1 << 16), Fraction(1, 1 << 17), Fraction(1, 3)):
        refused("claim-mismatch", ps.units, POLICY, margin)
    assert ps.on_grid(POLICY, (Fraction(1, 4096), Fraction(1)), Limits()).lower == (1, 4096)
    refused("claim-mismatch", ps.on_grid, POLICY, (Fraction(1, 8192), Fraction(1)), Limits())
    refused("outside-domain", ps.on_grid, POLICY, (Fraction(2), Fraction(1)), Limits())


def test_commitments_are_read_in_one_form() -> None:
    data = encode_commitment(COMMITMENT)
    assert read_commitment(data, Limits()) == COMMITMENT
    for before, after in ((b'"uses":16', b'"uses":16.0'), (b'"uses":16', b'"uses": 16'), (b'"uses":16', b'"uses":16,"uses":16'),
                          (b'"root":"0', b'"root":"A'),
                          (b'"offset":["0"]', b'"offset":["0/1"]'), (b'"offset":["0"]', b'"offset":[]'), (b'"kind":"dense"', b'"kind":"conv"'),
                          (b'"version":1', b'"version":2'), (b'"remainder":true', b'"remainder":1'), (b'"modes":["crown"', b'"modes":["ibq"')):
        assert before in data
        refused("commitment-malformed", read_commitment, data.replace(before, after, 1), Limits())
    for before, after, code in ((b'"offset":["0"]', b'"offset":["0","0"]', "commitment-limit"),
                                (b'"scale":["1"]', b'"scale":["-1"]', "commitment-limit"),
                                (b'"tau":[[],[12]]', b'"tau":[[],[40]]', "commitment-unit"),
                                (b'"upper":["1"]', b'"upper":["0"]', "commitment-limit")):
        assert before in data
        refused(code, read_commitment, data.replace(before, after, 1), Limits())
    refused("commitment-malformed", read_commitment, data + b"\n", Limits())


def test_parts_with_a_ball_are_no_boxes() -> None:
    text = property_text([([Fraction(0)] * 2, [Fraction(1)] * 2)], 3, "(>= Y_0 1.0)")
    part = found(text.decode()).parts[0]
    assert isinstance(part, Part) and ps.corners(Parts((part,), 0)) == [((Fraction(0),) * 2, (Fraction(1),) * 2)]
