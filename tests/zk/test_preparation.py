# SPDX-License-Identifier: Apache-2.0
"""What an owner prepares: rows of CSV and NumPy files alike, boxes around them, a policy that is calibrated on them and has its sizes."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from io import BytesIO
from itertools import pairwise

import numpy as np
import pytest

from certify.errors import CertifyError, Declined, UsageError
from certify_zk import preparation
from certify_zk.conversion import convert
from certify_zk.policy import LEVELS, Dense, InputMap, Policy
from certify_zk.preparation import box, examples, prepare, read_rows
from certify_zk.reed_solomon import Code
from certify_zk.settings import Settings
from certify_zk.sizing import sized
from certify_zk.soundness import Counts, Parameters, require
from certify_zk.statement import Box, Rows, robust
from certify_zk.witness import Witness, witness
from readers.onnx_models import encoded, floats, node

SIZES = (4, 12, 12, 3)
WIDE = InputMap((Fraction(-1),), (Fraction(1, 3),), (Fraction(-1),), (Fraction(2),))


def network(*sizes: int) -> bytes:
    """Return a random network."""
    rng = np.random.default_rng(5)
    nodes, tensors, value = [], [], "x"
    for k, (n, m) in enumerate(pairwise(sizes)):
        tensors += [floats(f"w{k}", rng.normal(0, 0.5, (m, n))), floats(f"b{k}", rng.normal(0, 0.1, m))]
        last = k == len(sizes) - 2
        nodes.append(node("Gemm", [value, f"w{k}", f"b{k}"], ["y" if last else f"z{k}"], transB=1))
        if not last:
            nodes.append(node("Relu", [f"z{k}"], [f"h{k}"]))
            value = f"h{k}"
    return encoded(nodes, tensors, shape=(1, sizes[0]))


def npy(values: object) -> bytes:
    """Return the bytes of an array."""
    stream = BytesIO()
    np.save(stream, np.array(values))
    return stream.getvalue()


def bare(inputs: InputMap, count: int = 2) -> Policy:
    """Return a policy of one layer."""
    return Policy((Dense(count, 1),), ("crown",), ((),), inputs)


def test_rows_are_exact_in_both_formats() -> None:
    csv = read_rows(b"a,b\n0.1,2\n-3,1e-2\n", 2)
    assert csv == ((Fraction(1, 10), Fraction(2)), (Fraction(-3), Fraction(1, 100)))
    assert read_rows(npy([[0.5, 2.0], [-3.0, 0.25]]), 2) == ((Fraction(1, 2), Fraction(2)), (Fraction(-3), Fraction(1, 4)))
    assert read_rows(npy(np.arange(8, dtype=np.uint8).reshape(2, 2, 2)), 4) == (tuple(map(Fraction, range(4))), tuple(map(Fraction, range(4, 8))))


@pytest.mark.parametrize(("data", "code"), [
    (b"a,b\n", "table-shape"), (b"a,b,c\n1,2,3\n", "table-shape"), (b"a,b\n1,nan\n", "table-number"), (npy([[1.0], [2.0]]), "arrays-length"),
    (npy(np.zeros((0, 2))), "arrays-length"), (npy(3.0), "arrays-length"), (npy([[1.0, np.inf]]), "arrays-nonfinite"),
    (b"\x93NUMPY", "arrays-header"),
])
def test_rows_that_are_refused(data: bytes, code: str) -> None:
    with pytest.raises(CertifyError) as trouble:
        read_rows(data, 2)
    assert trouble.value.code == code


def test_boxes_contain_what_is_asked_and_stay_in_the_domain() -> None:
    rng, unit = np.random.default_rng(1), Fraction(1, 4096)
    for _ in range(200):
        row = tuple(Fraction(int(v), 101) - 1 for v in rng.integers(0, 304, 2))
        radius = Fraction(int(rng.integers(0, 50)), 37)
        found = box(bare(WIDE), row, radius)
        for x, low, width in zip(row, found.lower, found.width, strict=True):
            start, end = ((max(min(x + r, Fraction(2)), Fraction(-1)) + 1) / 3 for r in (-radius, radius))
            assert low * unit <= start < (low + 1) * unit and (low + width - 1) * unit < end <= (low + width) * unit
            assert 0 <= low and low + width <= 4096
    assert box(bare(WIDE), (Fraction(1, 2), Fraction(-1))) == Box((2047, 0), (2, 1))  # one step of the grid


def test_a_row_outside_the_domain_is_named() -> None:
    policy, model = bare(WIDE), convert(network(2, 1), Settings()).model
    for row in ((Fraction(2), Fraction(201, 100)), (Fraction(-2), Fraction(0))):
        with pytest.raises(Declined) as trouble:
            examples(policy, model, [(Fraction(0), Fraction(0)), row])
        assert trouble.value.code == "property-range" and trouble.value.where == "row 2"


def test_examples_ask_about_the_networks_own_label() -> None:
    wide = Settings(lower=(Fraction(-4),), upper=(Fraction(4),))
    made = convert(network(*SIZES), wide)
    rng = np.random.default_rng(2)
    rows = [tuple(Fraction(int(v), 16) for v in rng.integers(-64, 65, 4)) for _ in range(30)]
    labels = set()
    for row, statement in zip(rows, examples(made.policy, made.model, rows), strict=True):
        y = np.array([float(v) + 4 for v in row])
        for k, (weight, bias) in enumerate(zip(made.model.weights, made.model.biases, strict=True)):
            y = weight @ y / 4096 + bias / 4096
            y = np.maximum(y, 0) if k < 2 else y
        label = int(y.argmax())
        labels.add(label)
        assert statement == robust((box(made.policy, row),), 3, label, -(1 << 46))
        uncut = tuple(v / 2 for v in row)
        near, wide_box = (examples(made.policy, made.model, [uncut], radius)[0].asked for radius in (None, Fraction(2)))
        assert near == wide_box  # the label is that of the middle
    assert len(labels) > 1
    one = convert(network(4, 5, 1), wide)
    assert examples(one.policy, one.model, rows[:1])[0].asked == Rows(((1,), (-1,)), (-(1 << 46),) * 2)


def test_a_prepared_policy_has_room_for_other_rows() -> None:
    rng = np.random.default_rng(3)
    rows = [tuple(Fraction(int(v), 64) for v in rng.integers(0, 65, 4)) for _ in range(12)]
    made = prepare(network(*SIZES), Settings(radius=Fraction(1, 20)), rows[:6])
    made.policy.require()
    assert made.policy.slope_bits == 12 and made.policy.level == 100 and made.policy.uses == 16
    for statement in examples(made.policy, made.model, rows, Fraction(1, 30)):
        assert isinstance(witness(made.policy, made.model, statement), Witness)
    narrow = prepare(network(*SIZES), Settings(), rows[:6]).policy
    assert narrow.tau <= made.policy.tau


def test_without_rows_it_is_calibrated_in_the_middle_of_the_domain(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def seen(policy: Policy, model: object, rows: object, radius: object) -> object:
        asked.append((rows, radius))
        return examples(policy, model, rows, radius)  # type: ignore[arg-type]
    monkeypatch.setattr(preparation, "examples", seen)
    made = prepare(network(*SIZES), Settings(lower=(Fraction(-1),), upper=(Fraction(0), Fraction(1), Fraction(2), Fraction(1, 2))))
    middle = [(Fraction(-1, 2), Fraction(0), Fraction(1, 2), Fraction(-1, 4))]
    made.policy.require()
    prepare(network(*SIZES), Settings(radius=Fraction(1, 8)), [(Fraction(1, 2),) * 4])
    assert asked == [(middle, None), ([(Fraction(1, 2),) * 4], Fraction(1, 8))]


def test_slope_bits_that_the_widths_do_not_allow(monkeypatch: pytest.MonkeyPatch) -> None:
    assert prepare(network(*SIZES), Settings(slope_bits=9)).policy.slope_bits == 9
    monkeypatch.setattr(preparation, "fitted", lambda policy, model, some: replace(policy, slope_bits=10))
    with pytest.raises(UsageError) as trouble:
        prepare(network(*SIZES), Settings(slope_bits=11))
    assert trouble.value.code == "policy-file" and trouble.value.where == "key slope_bits" and "10" in trouble.value.what


@pytest.mark.parametrize(("level", "uses", "queries", "pads"), [
    (100, 1, 149, 192), (100, 4, 150, 640), (100, 16, 154, 2496), (100, 64, 173, 11072), (128, 1, 190, 192), (128, 16, 198, 3200),
    (128, 64, 233, 14912),
])
def test_sizes_of_a_large_network(level: int, uses: int, queries: int, pads: int) -> None:
    found = sized(replace(bare(WIDE), level=level, uses=uses), 27_400_000)
    assert (found.columns, found.codeword, found.queries, found.pads) == (1 << 15, 1 << 17, queries, pads)


@pytest.mark.parametrize("level", [100, 128])
@pytest.mark.parametrize("uses", [1, 3, 16, 40, 64])
def test_sizes_of_small_networks_are_those_that_a_policy_may_have(level: int, uses: int) -> None:
    made = prepare(network(*SIZES), Settings(level=level, uses=uses))
    made.policy.require()
    assert made.policy.columns < 1 << 15 or (uses, level) == (64, 128)
    code = Code(made.policy.columns, made.policy.pads, made.policy.codeword)
    require(Parameters(level, LEVELS[level], uses, made.policy.queries, code), Counts(1 << 20, 1 << 16, 1 << 16, 1 << 16, 4000, 8000, 400))


def test_sizes_that_there_are_not() -> None:
    with pytest.raises(Declined, match="commitment-limit"):
        sized(replace(bare(WIDE), uses=10_000), 1000)
