# SPDX-License-Identifier: Apache-2.0
"""Attacks on the checker of private claims: small files that ask for much work or memory or end in a traceback, statements that would say less than
the question, and forged cells in circuits of extreme shapes.
"""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Mapping, Sequence
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
from certify_zk.circuit import Circuit, assemble, circuit
from certify_zk.evaluation import violations
from certify_zk.field import P
from certify_zk.owner import committed
from certify_zk.policy import Dense, InputMap, Policy
from certify_zk.prover import prove
from certify_zk.relations import ONE, Form, Identity, Linear
from certify_zk.statement import Ball, Box, Rows, Score, Statement, robust
from certify_zk.width import PRIME
from certify_zk.witness import Witness, witness
from kinds.private import KINDS, NOBODY, maker
from toolkit import Specimen, canonical, refused
from zk import tiny
from zk.arguments import played, small
from zk.test_forged_arguments import expected, tidied

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
    named = {"commitment": ("net.commit", encode_commitment(Commitment(policy, 1, bytes(32)))), **{role: (role, data) for role, data in files.items()}}
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
    assert set(box.width) == {4097} and limits.spent > 300 * 31**2 * 64
    limits = Limits(work=1 << 28).fresh()
    refused("limit-reached", private_statement.boxes, policy, corners * 4000, limits)


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
