# SPDX-License-Identifier: Apache-2.0
"""Attacks on the checker of private claims: small files that ask for much work or memory or end in a traceback, and statements that would say less
than the question.
"""

from __future__ import annotations

import tracemalloc
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest

from certify.claims import private, private_fair
from certify.errors import CertifyError
from certify.limits import Limits
from certify.readers.commitment import Commitment, encode_commitment, read_commitment
from certify.readers.formula import Parts, parts
from certify.readers.schema import read_schema
from certify.readers.vnnlib1 import read_vnnlib1
from certify.readers.vnnlib2 import read_vnnlib2
from certify.rules import private_statement
from certify.rules.argument import PREMISES, bound, encoded
from certify_zk.circuit import assemble
from certify_zk.owner import committed
from certify_zk.policy import Dense, InputMap, Policy
from certify_zk.prover import prove
from certify_zk.statement import Ball, Box, Rows, Score, Statement, robust
from certify_zk.witness import Witness, witness
from kinds.private import NOBODY, maker
from toolkit import Specimen, canonical, refused

LONG = (1 << 61) - 1
"""Rationals whose numerators differ by multiples of this have one hash."""
WORDS = ("messages", "u1", "u2", "model_columns", "cert_columns", "pad_u", "pad_linear", "pad_product", "pad_columns")
BYTES = ("roots", "model_salts", "model_paths", "cert_salts", "cert_paths", "pad_salts", "pad_paths")
CONTEXT = dict(NOBODY)


def simple(*sizes: int, **changes: Any) -> Policy:
    """Return a policy whose hidden layers are bounded by intervals."""
    modes = ("crown", *["ibp"] * (len(sizes) - 2))
    made = Policy(tuple(Dense(a, b) for a, b in pairwise(sizes)), modes, ((),) * (len(sizes) - 1), uses=1, queries=300, pads=320, columns=512,
                  codeword=2048)
    return replace(made, **changes)


def asked(kind: str, policy: Policy, given: Mapping[str, Any], says: Mapping[str, Any], **files: bytes) -> Specimen:
    """Return a claim with evidence of the right types and next to nothing in it."""
    arrays = {name: np.zeros((1, 2), "<u8") for name in WORDS} | {name: np.zeros((2, 32), "|u1") for name in BYTES}
    named = {"commitment": ("net.commit", encode_commitment(Commitment(policy, 1, bytes(32)))), **{role: (role, files[role]) for role in files}}
    return Specimen(kind, named, {"context": CONTEXT, **given}, dict(says), "ligero", {}, arrays, sorted(PREMISES))


def text(inputs: int, outputs: int, body: str) -> bytes:
    """Return a VNN-LIB 1.0 property."""
    return ("".join(f"(declare-const X_{i} Real)\n" for i in range(inputs)) + "".join(f"(declare-const Y_{i} Real)\n" for i in range(outputs))
            + body).encode()


def code(specimen: Specimen, limits: Limits | None = None) -> str:
    """Return the code with which a certificate is refused, or nothing."""
    try:
        specimen.verify(limits)
    except CertifyError as trouble:
        return trouble.code
    return ""


def schema(features: Sequence[Mapping[str, Any]], sensitive: Sequence[str], decision: object = "argmax") -> bytes:
    """Return a schema without tolerances."""
    return canonical({"decision": decision, "features": features, "sensitive": sensitive, "tolerances": {}})


def real(name: str) -> dict[str, str]:
    return {"kind": "real", "name": name, "lower": "0", "upper": "1"}


# Small files that ended in a traceback

@pytest.mark.parametrize(("kind", "body", "answer"), [
    ("private-robust", "(assert (<= X_0 1e9999)) (assert (>= X_0 0)) (assert (>= Y_1 Y_0))", "outside-domain"),
    ("private-robust", "(assert (<= X_0 1)) (assert (>= X_0 -1e-9999)) (assert (>= Y_1 Y_0))", "outside-domain"),
    ("private-ball", "(assert (<= X_0 2e9999)) (assert (>= X_0 2e9999)) (assert (>= Y_1 Y_0))", "outside-domain"),
    ("private-linear", "(assert (<= X_0 1)) (assert (>= X_0 0)) (assert (>= (* 1e9999 Y_1) Y_0))", "property-range"),
    ("private-linear", "(assert (<= X_0 1)) (assert (>= X_0 0)) (assert (>= Y_1 1e9999))", "property-range"),
    ("private-linear", "(assert (<= X_0 1)) (assert (>= X_0 0)) (assert (>= (* 1e-9999 Y_1) 1e-9999))", "argument-malformed"),
])
def test_numbers_too_long_to_be_shown(kind: str, body: str, answer: str) -> None:
    says = {} if kind == "private-linear" else {"label": 0, "margin_at_least": "1/65536"}
    given = {"format": "vnnlib-1"} | ({"radius_l2": "1"} if kind == "private-ball" else {})
    assert code(asked(kind, simple(1, 2), given, says, property=text(1, 2, body))) == answer


def test_a_count_of_combinations_too_long_to_be_shown() -> None:
    names = [f"{i:x}" for i in range(15000)]
    data = schema([{"kind": "choice", "name": name, "values": ["0", "1"]} for name in names], names, {"favourable_above": "0"})
    points = (",".join(names) + "\n" + ",".join("0" for _ in names) + "\n").encode()
    assert code(asked("private-fair", simple(15000, 1), {"row": 0}, {"decision": 0}, schema=data, points=points)) == "property-range"


def test_days_have_ascii_digits() -> None:
    question = text(1, 2, "(assert (<= X_0 1)) (assert (>= X_0 0)) (assert (>= Y_1 Y_0))")
    says = {"label": 0, "margin_at_least": "1/65536"}
    for day, answer in (("2030-01-01", "argument-malformed"), ("２０３０-01-01", "malformed"), ("2030-01-0١", "malformed")):  # noqa: RUF001
        given = {"format": "vnnlib-1", "context": {**CONTEXT, "expires": day}}
        assert code(asked("private-robust", simple(1, 2), given, says, property=question)) == answer


# Small files that asked for much memory or work

def test_a_network_of_65536_classes_makes_no_rows() -> None:
    data = schema([real("a")], ["a"])
    assert code(asked("private-fair", simple(1, 65536), {"row": 0}, {"decision": 0}, schema=data, points=b"a\n0\n")) == "property-range"
    with pytest.raises(CertifyError, match="rows of 65536"):
        robust((Box((0,), (0,)),), 65536, 0)


def test_half_spaces_of_many_outputs_make_no_rows() -> None:
    body = "(assert (<= X_0 1)) (assert (>= X_0 0)) (assert (or" + "".join(f"(and (>= Y_{i} 1))" for i in range(4000)) + "))"
    assert code(asked("private-linear", simple(1, 30000), {"format": "vnnlib-1"}, {}, property=text(1, 30000, body))) == "property-range"


def test_one_hot_groups_are_not_spread_out() -> None:
    groups = [{"kind": "one-hot", "name": f"f{k}", "columns": [f"{k}.{i:x}" for i in range(4096)]} for k in range(20)]
    tracemalloc.start()
    found = read_schema(schema(groups, ["f0"]), Limits())
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(found.columns) == 20 * 4096 and peak < 64 << 20
    group = found.features[0]
    for values, admissible in (((1, *[0] * 4095), True), ((*[0] * 4095, 1), True), ([0] * 4096, False), ((1, 1, *[0] * 4094), False),
                               ((Fraction(1, 2), Fraction(1, 2), *[0] * 4094), False), ((2, -1, *[0] * 4094), False)):
        assert group.admits(tuple(map(Fraction, values))) == admissible


def test_many_sensitive_features_are_read_in_linear_time() -> None:
    names = [f"{i:05x}" for i in range(50000)]
    assert len(read_schema(schema([real(name) for name in names], names), Limits()).features) == 50000


@pytest.mark.parametrize("wide", [False, True])
def test_combinations_are_charged_before_they_are_made(wide: bool) -> None:
    names = [f"{i:x}" for i in range(12000)]
    features = [{"kind": "choice", "name": name, "values": ["0", "1"]} if index < 12 and not wide else real(name) for index, name in enumerate(names)]
    if wide:
        features[:4000] = [{"kind": "one-hot", "name": "group", "columns": names[:4000]}]
    data = schema(features, ["group"] if wide else names[:12], {"favourable_above": "0"})
    points = (",".join(names) + "\n" + ",".join("1" if wide and name == "0" else "0" for name in names) + "\n").encode()
    assert code(asked("private-fair", simple(12000, 1), {"row": 0}, {"decision": 0}, schema=data, points=points)) == "limit-reached"


def longs(count: int) -> tuple[Fraction, ...]:
    """Return small rationals whose denominators are long and have no common factor, as a commitment may hold them."""
    found = tuple(Fraction(1, 10**600 + 2 * k + 1) for k in range(count))
    return tuple(value * Fraction(k + 1, 1) for k, value in enumerate(found))


def test_long_numbers_of_a_commitment_are_charged_for_each_box() -> None:
    policy = simple(300, 2, inputs=InputMap(longs(300), (Fraction(1),), (Fraction(1),), (Fraction(2),)))
    corners = [((Fraction(1),) * 300, (Fraction(2),) * 300)]
    limits = Limits().fresh()
    box, = private_statement.boxes(policy, corners, limits)
    assert set(box.width) == {4097} and limits.spent > 300 * 31**2 * 32
    limits = Limits(work=1 << 28).fresh()
    refused("limit-reached", private_statement.boxes, policy, corners * 4000, limits)


def test_long_numbers_of_a_domain_are_rounded_once_or_charged_for_each_input() -> None:
    """A commitment of 8 kB took 27 seconds to read, and a minute for its circuit."""
    size = 65536
    start, scale, low = (Fraction(10**998 + k, 10**998 + 7 * k + 2) for k in (3, 5, 11))
    policy = simple(size, 1, inputs=InputMap((-start,), (scale,), (low,), (low + 1,)))
    limits = Limits(work=1 << 26).fresh()
    assert read_commitment(encode_commitment(Commitment(policy, 1, bytes(32))), limits).policy == policy
    ends = policy.inputs.domain(size, 12)
    assert len(ends[0]) == len(ends[1]) == size and ends == tuple((end,) * size for end, in policy.inputs.domain(1, 12))
    policy = replace(policy, inputs=replace(policy.inputs, offset=tuple(Fraction(-k) for k in range(1, size + 1))))
    refused("limit-reached", read_commitment, encode_commitment(Commitment(policy, 1, bytes(32))), Limits())


def test_a_ball_around_long_numbers_is_rounded_input_by_input() -> None:
    """The sum of exact squares has a denominator as long as all of them together."""
    policy = simple(2000, 2, inputs=InputMap(longs(2000), (Fraction(1),), (Fraction(1),), (Fraction(2),)))
    centre = (Fraction(3, 2) + Fraction(1, 9999),) * 2000
    ball, = private_statement.balls(policy, [centre], Fraction(1, 8), Limits())
    off = sum((float((value - start) * 4096) - near) ** 2 for value, start, near in zip(centre, policy.inputs.offset, ball.centre, strict=True))
    assert 512 + off**0.5 <= ball.radius <= 512 + off**0.5 + 1.01
    refused("limit-reached", private_statement.balls, policy, [centre] * 4000, Fraction(1, 8), Limits(work=1 << 31).fresh())
    refused("property-range", private_statement.balls, policy, [centre] * 4097, Fraction(1, 8), Limits())


def test_the_domain_is_rounded_once_for_all_regions(monkeypatch: pytest.MonkeyPatch) -> None:
    calls, real_domain = [], InputMap.domain
    monkeypatch.setattr(InputMap, "domain", lambda *args: calls.append(1) or real_domain(*args))
    assemble(simple(3, 2), Statement((Box((0,) * 3, (1,) * 3),) * 200, Rows(((1, 0),), (0,))))
    assert len(calls) < 6


def boxed(count: int, unsafe: str, outputs: int = 2) -> Parts:
    """Return a property with many boxes of one input."""
    boxes = " ".join(f"(and (>= X_0 0.{k:06d}))" for k in range(1, count + 1))
    return parts(read_vnnlib1(text(1, outputs, f"(assert (<= X_0 1)) (assert (or {boxes})) {unsafe}"), Limits()), Limits())


def test_equal_unsafe_sets_of_many_boxes_are_compared_once_each() -> None:
    wide = boxed(4000, "(assert (>= (+ " + " ".join(f"Y_{i}" for i in range(4000)) + ") 0))", 4000)
    assert len(private_statement.unsafe_rows(wide)) == 1
    one = parts(read_vnnlib1(text(1, 2, "(assert (<= X_0 1)) (assert (or " + "(and (>= X_0 0.5) (>= Y_1 Y_0)) " * 20000
                                  + " ".join(f"(and (>= X_0 0.{k:06d}) (>= Y_1 Y_0))" for k in range(1, 3000)) + "))"), Limits()), Limits())
    assert private_statement.label(one, 2) == 0 and len(one.parts) == 3000


@pytest.mark.parametrize("variable", ["X", "Y"])
def test_rationals_with_one_hash_are_told_apart_fast(variable: str) -> None:
    each = " ".join(f"(and (>= {variable}_0 {1 + k * LONG}.0))" for k in range(1, 15001))
    other = "(assert (>= Y_0 1))" if variable == "X" else "(assert (>= X_0 0))"
    found = parts(read_vnnlib1(text(1, 1, f"(assert (<= X_0 1e30)) {other} (assert (or {each}))"), Limits()), Limits())
    rows = private_statement.unsafe_rows(found)
    assert (len(found.parts), len(rows)) == ((15000, 1) if variable == "X" else (1, 15000))


def test_maps_of_inputs_with_one_hash_are_told_apart_fast() -> None:
    scale = tuple(Fraction(1, 1 + k * LONG) for k in range(1, 30001))
    InputMap((Fraction(0),), scale, (Fraction(0),), (Fraction(1),)).require(30000)
    with pytest.raises(CertifyError, match="entries of scale"):
        InputMap((Fraction(0),), scale[:1] * 30000, (Fraction(0),), (Fraction(1),)).require(30000)


# Statements that would say less than the question

def _map(rng: np.random.Generator, inputs: int, common: bool) -> InputMap:
    """Return a map of inputs with awkward rationals, tiny or huge scales among them."""
    def some(low: int, high: int) -> Fraction:
        return Fraction(int(rng.integers(low, high)), int(rng.choice([1, 3, 7, 10**18 + 9, 2**40])))
    count = 1 if common else inputs
    scale = tuple(some(1, 50) * Fraction(int(rng.choice([1, 1, 10**6]))) / int(rng.choice([1, 1, 10**25])) for _ in range(count))
    offset, wide = some(-9, 9), Fraction(int(rng.integers(1, 40)), 7)
    lower = offset + abs(some(0, 3)) * int(rng.integers(0, 2))
    wide = min(wide, Fraction(1 << 25) / max(scale) / 4096)
    return InputMap((offset,), scale if len(set(scale)) > 1 else scale[:1], (lower,), (lower + wide,))


def _decimal(value: Fraction, digits: int = 30) -> Fraction:
    return Fraction(round(value * 10**digits), 10**digits)


def _written(value: Fraction) -> str:
    """Return a rational whose denominator divides 10^30 as a decimal."""
    whole = abs(value) * 10**30
    sign, body = "-" if value < 0 else "", f"{int(whole):031d}"
    return f"{sign}{body[:-30]}.{body[-30:]}"


def _mapped(policy: Policy, point: Sequence[Fraction]) -> list[Fraction]:
    """Return an input in steps of the grid."""
    offset, scale = (private_statement.spread(policy, values) for values in (policy.inputs.offset, policy.inputs.scale))
    return [(value - o) * s * (1 << policy.input_scale) for value, o, s in zip(point, offset, scale, strict=True)]


def _within(policy: Policy, region: Box | Ball, point: Sequence[Fraction]) -> bool:
    found = _mapped(policy, point)
    if isinstance(region, Box):
        return all(low <= value <= low + width for low, width, value in zip(region.lower, region.width, found, strict=True))
    return min(found) >= 0 and sum((value - near) ** 2 for value, near in zip(found, region.centre, strict=True)) <= region.radius**2


def test_what_is_asked_follows_from_the_integers() -> None:
    """Points of the asked boxes are in the proved ones, and outputs for which the rows hold, exactly or nearly, are not unsafe."""
    rng, safe, unsafe = np.random.default_rng(5), 0, 0
    for _ in range(150):
        inputs, outputs = int(rng.integers(1, 4)), int(rng.integers(1, 4))
        policy = simple(inputs, outputs, inputs=_map(rng, inputs, False), bias_scale=int(rng.integers(1, 9)), total_scale=int(rng.integers(9, 33)),
                        input_scale=12)
        low, high = policy.inputs.lower[0], policy.inputs.upper[0]
        ends = [sorted(_decimal(low + (high - low) * Fraction(int(rng.integers(1, 1000)), 1000)) for _ in "ab") for _ in range(2 * inputs)]
        boxes = [ends[:inputs], ends[inputs:]][: int(rng.integers(1, 3))]
        rows = [([Fraction(int(c), int(rng.choice([1, 2, 5]))) for c in rng.integers(-9, 10, outputs)], Fraction(int(rng.integers(-99, 99)), 10**3),
                 str(rng.choice(["<", ">", "<=", ">="]))) for _ in range(int(rng.integers(1, 4)))]
        rows = [row for row in rows if any(row[0])]
        if not rows or any(lower == upper for box in boxes for lower, upper in box):
            continue
        terms = [" ".join(f"(* {_written(c)} Y[{i}])" for i, c in enumerate(row)) for row, *_ in rows]
        atoms = [f"({sign} (+ {term} 0) {_written(value)})" for term, (_, value, sign) in zip(terms, rows, strict=True)]
        sides = ["(and " + " ".join(f"({rng.choice(['<', '<='])} {_written(a)} X[{i}]) (<= X[{i}] {_written(b)})"
                                    for i, (a, b) in enumerate(box)) + ")" for box in boxes]
        file = (f"(vnnlib-version <2.0>)(declare-network N (declare-input X real [{inputs}]) (declare-output Y real [{outputs}]))"
                f"(assert (or {' '.join(sides)}))(assert (or {' '.join(atoms)}))")
        found = parts(read_vnnlib2(file.encode(), Limits()), Limits())
        regions = private_statement.boxes(policy, private_statement.corners(found), Limits())
        made = private_statement.rows(policy, found, Limits())
        Statement(regions, made).require_ranges(policy)
        for part, region in zip(found.parts, regions, strict=True):
            for corner in product(*zip(part.lower, part.upper, strict=True)):
                assert _within(policy, region, corner)
            for conjunct in part.conjuncts:
                assert len(conjunct) == 1
        unit = Fraction(1, 1 << policy.total_scale)
        for _ in range(40):
            y = [Fraction(int(v), 1000) for v in rng.integers(-20000, 20000, outputs)]
            index = int(rng.integers(len(made.thresholds)))
            row = made.coefficients[index]
            place = max(range(outputs), key=lambda o: abs(row[o]))
            short = made.thresholds[index] * unit - sum(c * v for c, v in zip(row, y, strict=True))
            y[place] += (short + int(rng.integers(-3, 4)) * unit * Fraction(1, int(rng.choice([1, 1000])))) / row[place]
            holds = all(sum(c * v for c, v in zip(row, y, strict=True)) >= least * unit
                        for row, least in zip(made.coefficients, made.thresholds, strict=True))
            bad = any(conjunct[0].holds({}, tuple(y)) for part in found.parts for conjunct in part.conjuncts)
            assert not (holds and bad)
            safe, unsafe = safe + holds, unsafe + bad
    assert safe > 500 and unsafe > 500


def test_balls_hold_what_they_are_asked_about() -> None:
    rng = np.random.default_rng(6)
    for _ in range(100):
        inputs = int(rng.integers(1, 5))
        policy = simple(inputs, 2, inputs=_map(rng, inputs, True), input_scale=12)
        low, high = policy.inputs.lower[0], policy.inputs.upper[0]
        centre = tuple(low + (high - low) * Fraction(int(rng.integers(0, 101)), 100) for _ in range(inputs))
        radius = (high - low) * Fraction(int(rng.integers(1, 200)), int(rng.choice([3, 100, 10**9])))
        ball, = private_statement.balls(policy, [centre], radius, Limits())
        for _ in range(20):
            way = rng.normal(size=inputs) if rng.random() < 0.5 else np.eye(inputs)[int(rng.integers(inputs))] * rng.choice([-1, 1])
            way = [Fraction(int(v), 1 << 40) for v in np.trunc(way / np.linalg.norm(way) * (1 - 1e-9) * (1 << 40))]
            point = [max(low, value + radius * step) for value, step in zip(centre, way, strict=True)]
            assert sum((a - b) ** 2 for a, b in zip(point, centre, strict=True)) <= radius**2
            assert _within(policy, ball, point)


def test_everyone_like_a_person_is_in_a_box() -> None:
    """Sensitive values at will, others within tolerances and ranges; a decision follows from the rows also where outputs are equal."""
    rng = np.random.default_rng(7)
    for _ in range(60):
        features: list[dict[str, Any]] = []
        for index in range(int(rng.integers(1, 5))):
            kind = str(rng.choice(["real", "integer", "choice", "one-hot"]))
            low, high = (Fraction(int(v)) for v in sorted(rng.choice(9, 2, False)))
            more = {"lower": str(low), "upper": str(high)} if kind in ("real", "integer") else {"values": [str(low), str(high)]}
            features.append({"kind": kind, "name": f"f{index}", **({"columns": [f"f{index}a", f"f{index}b"]} if kind == "one-hot" else more)})
        sensitive = [feature["name"] for feature in features if rng.random() < 0.5] or [features[0]["name"]]
        tolerances = {feature["name"]: str(Fraction(int(rng.integers(0, 9)), 4)) for feature in features
                      if feature["kind"] in ("real", "integer") and feature["name"] not in sensitive and rng.random() < 0.7}
        above = Fraction(int(rng.integers(-9, 9)), 7)
        found = read_schema(canonical({"decision": {"favourable_above": str(above)}, "features": features, "sensitive": sensitive,
                                       "tolerances": tolerances}), Limits())

        def one(feature: Any, near: Sequence[Fraction] | None) -> tuple[Fraction, ...]:
            if not feature.ranged:
                return tuple(near) if near and not feature.sensitive else feature.points[int(rng.integers(feature.count))]
            low, high = feature.values
            if near and not feature.sensitive:
                low, high = max(low, near[0] - feature.tolerance), min(high, near[0] + feature.tolerance)
            found = low + (high - low) * Fraction(int(rng.integers(0, 5)), 4)
            return (Fraction(round(found)) if feature.kind == "integer" and low <= round(found) <= high else
                    found if feature.kind == "real" or found.denominator == 1 else (near[0] if near else low),)  # type: ignore[index]
        parts_of = [one(feature, None) for feature in found.features]
        person = tuple(value for part in parts_of for value in part)
        policy = simple(len(found.columns), 1, inputs=InputMap((Fraction(-1, 3),), (Fraction(7, 11),), (Fraction(0),), (Fraction(9),)))
        table = ",".join(found.columns) + "\n" + ",".join(format(float(value), "f") for value in person) + "\n"
        files = {"commitment": encode_commitment(Commitment(policy, 1, bytes(32))), "points": table.encode(),
                 "schema": canonical({"decision": {"favourable_above": str(above)}, "features": features, "sensitive": sensitive,
                                      "tolerances": tolerances})}
        for decision in (0, 1):
            _, statement = private_fair.statement_of({"row": 0, "context": NOBODY}, {"decision": decision}, files, Limits())
            assert isinstance(statement.asked, Rows)
            (factor,), = statement.asked.coefficients
            least = Fraction(statement.asked.thresholds[0], 1 << policy.total_scale)
            for step in (-2, -1, 0, 1, 2):
                for score in (above + Fraction(step, 1 << 30), factor * least + Fraction(step, 1 << 20)):
                    assert factor * score < least or (score > above) == bool(decision)
        for _ in range(20):
            other = [value for feature, near in zip(found.features, parts_of, strict=True) for value in one(feature, near)]
            assert any(_within(policy, region, other) for region in statement.regions)


def test_a_gap_of_scores_is_rounded_down() -> None:
    policy = simple(1, 2, bias_scale=3)
    question = {"commitment": encode_commitment(Commitment(policy, 1, bytes(32))), "property": text(1, 2, "(assert (<= X_0 1)) (assert (>= X_0 0))")}
    for gap, units in (("1/8", 1), ("1/9", 0), ("2/9", 1), ("1", 8), ("0", 0)):
        given = {"format": "vnnlib-1", "context": NOBODY, "output": 0}
        _, statement = private.private_statement_of("private-score", given, {"score_gap_at_most": Fraction(gap)}, question, Limits())
        assert statement.asked == Score(0, units)


@pytest.mark.parametrize(("unsafe", "answer"), [
    ("(or (>= Y_1 Y_0) (>= Y_2 Y_0))", "0"), ("(or (>= Y_1 Y_0) (>= Y_2 Y_0) (>= Y_1 Y_0))", "0"),
    ("(or (>= (* 2.0 Y_1) (* 2.0 Y_0)) (<= Y_0 Y_2))", "0"),
    ("(or (>= Y_0 Y_1) (>= Y_0 Y_2))", "property-form"), ("(or (>= Y_1 Y_0) (>= Y_2 Y_1))", "property-form"), ("(>= Y_1 Y_0)", "property-form"),
    ("(or (>= Y_1 Y_0) (>= Y_2 Y_0) (>= Y_0 Y_2))", "property-form"), ("(or (>= Y_1 Y_0) (>= (* 2.0 Y_2) Y_0))", "property-form"),
    ("(or (>= Y_1 Y_0) (>= Y_2 (+ Y_0 1.0)))", "property-form"), ("(or (>= Y_1 Y_0) (and (>= Y_2 Y_0) (>= Y_2 Y_0)))", "property-disjunction"),
    ("(or (>= Y_1 Y_0) (>= Y_2 Y_0) (>= 1.0 0.0))", "property-form"), ("(or (>= Y_1 Y_0) (>= Y_2 Y_0) (>= 0.0 1.0))", "0"),
    ("(or (>= Y_1 Y_0) (>= Y_2 Y_0) (>= (* 0.0 Y_1) 0.0))", "property-form"),
])
def test_labels_of_odd_unsafe_sets(unsafe: str, answer: str) -> None:
    found = parts(read_vnnlib1(text(1, 3, f"(assert (<= X_0 1)) (assert (>= X_0 0)) (assert {unsafe})"), Limits()), Limits())
    try:
        assert str(private_statement.label(found, 3)) == answer
    except CertifyError as trouble:
        assert trouble.code == answer


def test_the_root_alone_does_not_say_which_function_is_committed() -> None:
    """One root under two files with other units is two functions: what an auditor compares is the digest of the file, which is in the verdict."""
    rng = np.random.default_rng(3)
    while (found := maker("private-score")(rng)) is None:
        pass
    made, original = found
    rows = committed(made.policy, made.model, bytes(32))
    verdicts = []
    for offset in (made.policy.inputs.offset[0], made.policy.inputs.offset[0] - Fraction(1, 7)):
        policy = replace(made.policy, inputs=replace(made.policy.inputs, offset=(offset,)))
        data = encode_commitment(Commitment(policy, read_commitment(original.files["commitment"][1], Limits()).model_rows, rows.root))
        files = {"commitment": data, "property": original.files["property"][1]}
        known = private.KINDS["private-score"]
        given, says = known.given.decode(original.given, "given"), known.says.decode(original.says, "says")
        _, statement = private.private_statement_of(known.name, given, says, files, Limits())
        seen = witness(policy, made.model, statement)
        assert isinstance(seen, Witness)
        named = {role: (original.files[role][0], content) for role, content in files.items()}
        claim = bound(known, {role: name for role, (name, _) in named.items()}, files, given, says)
        argument = prove(policy, seen.circuit, statement, claim, seen.tables, rows, rng.bytes)
        verdicts.append(replace(original, files=named, arrays=dict(encoded(argument))).verify())
    first, second = verdicts
    assert first.facts == second.facts and first.sentence == second.sentence
    assert first.subjects["commitment"][0].sha256 != second.subjects["commitment"][0].sha256
