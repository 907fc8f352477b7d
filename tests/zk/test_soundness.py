# SPDX-License-Identifier: Apache-2.0
"""The ledger: its table, its entries, its refusals, and that the decision is made in integers."""

from __future__ import annotations

import ast
from dataclasses import replace
from fractions import Fraction
from math import log2
from pathlib import Path

import pytest

from certify.errors import Declined
from certify_zk import soundness
from certify_zk.field import P
from certify_zk.reed_solomon import Code
from certify_zk.soundness import Counts, Parameters, choose, enough, ledger, missed, pad_code, pads, require, tenths

CELLS, LENGTH = 1 << 15, 1 << 17
TABLE = {
    (100, 1): (149, 192, 32960), (100, 4): (150, 640, 33408), (100, 16): (154, 2496, 35264), (100, 32): (159, 5120, 37888),
    (100, 64): (173, 11072, 43840), (128, 1): (190, 192, 32960), (128, 4): (192, 768, 33536), (128, 16): (198, 3200, 35968),
    (128, 32): (208, 6656, 39424), (128, 64): (233, 14912, 47680),
}
LARGE = Counts(ranged_cells=28_500_000, round_degrees=1448, relation_degrees=3100, batch_degrees=676, messages=2200, constraints=4000, products=130)


def _bits(error: Fraction) -> float:
    return log2(error.numerator) - log2(error.denominator)


def _code(parameters: Parameters, counts: Counts = LARGE) -> str:
    try:
        require(parameters, counts)
    except Declined as trouble:
        return trouble.code
    return "verified"


@pytest.mark.parametrize(("level", "uses"), TABLE)
def test_the_table_of_parameters(level: int, uses: int) -> None:
    found = choose(level, uses, CELLS, LENGTH, LARGE)
    assert (found.queries, found.code.pads, found.code.dimension) == TABLE[level, uses]
    assert found.degree == {100: 2, 128: 3}[level] and found.code.pads >= uses * found.queries
    for fewer in range(1, found.queries):
        assert not enough(Code(CELLS, pads(fewer, uses), LENGTH), fewer, level)
    assert -_bits(missed(found.code, found.queries)) >= level + 0.5 - 1e-9
    assert require(found, LARGE).tenths >= 10 * level


def test_the_entries_of_the_default_policy() -> None:
    entries = require(choose(100, 16, CELLS, LENGTH, LARGE), LARGE).entries
    expected = {"query": -101.1, "proximity": -111.0, "lookup": -103.2, "rounds": -117.5, "relations": -116.4, "batch": -118.6, "pad queries": -105.6,
                "pad field": -114.4}
    assert {name: round(_bits(error), 1) for name, error in entries.items()} == expected
    found = ledger(choose(100, 16, CELLS, LENGTH, LARGE), LARGE)
    assert round(_bits(found.union), 1) == -100.7 and found.tenths == 1007
    assert found.union == sum(entries.values())
    high = ledger(choose(128, 16, CELLS, LENGTH, LARGE), LARGE)
    assert round(_bits(high.entries["query"]), 1) == round(_bits(high.union), 1) == -128.7


def test_the_pad_tableau() -> None:
    parameters = choose(100, 16, CELLS, LENGTH, LARGE)
    code = pad_code(parameters, 2200)
    assert (code.cells, code.pads, code.length) == (512, 154, 8192)
    u, q, q2 = (_bits(Fraction(agreeing, 8192) ** 154) for agreeing in (8192 - code.radius, 666 + 512 - 2 + code.radius, 2 * 666 - 2 + code.radius))
    assert [round(value, 1) for value in (u, q, q2)] == [-136.6, -112.4, -105.6]
    assert pad_code(parameters, 512 * 32).cells == 512 and pad_code(parameters, 512 * 32 + 1).cells == 1024
    assert pad_code(choose(128, 16, CELLS, LENGTH, LARGE), 2200).length == 16384
    for uses, bits in ((1, -126.8), (4, -127.7)):  # why the 128-bit level has a longer code: with 16 times the slots these fall short
        tableau = Code(512, choose(128, uses, CELLS, LENGTH, LARGE).queries, 8192)
        short = Fraction(2 * tableau.dimension - 2 + tableau.radius, 8192) ** tableau.pads
        assert round(_bits(short + ledger(choose(128, uses, CELLS, LENGTH, LARGE), LARGE).entries["query"]), 1) == bits
        assert _code(choose(128, uses, CELLS, LENGTH, LARGE)) == "verified"


def test_slots_leave_room_for_the_overlap_of_product_masks() -> None:
    parameters = Parameters(100, 2, 1, 513, Code(1 << 10, 576, 1 << 14))
    assert pad_code(parameters, 10).cells == 512
    with pytest.raises(Declined) as caught:
        pad_code(replace(parameters, queries=514), 10)
    assert caught.value.code == "commitment-limit"
    assert pad_code(replace(parameters, queries=514), 512 * 32 + 1).cells == 1024


def test_entries_grow_with_what_they_count() -> None:
    parameters = choose(100, 16, CELLS, LENGTH, LARGE)
    base, order = ledger(parameters, LARGE).entries, P**2
    for field, name, more in (("ranged_cells", "lookup", 1), ("round_degrees", "rounds", 1), ("relation_degrees", "relations", 1),
                              ("batch_degrees", "batch", 1), ("constraints", "pad field", 1)):
        grown = ledger(parameters, replace(LARGE, **{field: getattr(LARGE, field) + 1})).entries
        assert {key: (grown[key] - base[key]) * order for key in base if grown[key] != base[key]} == {name: more}
    assert base["query"] == Fraction(LENGTH - (LENGTH - 35264) // 2, LENGTH) ** 154
    assert base["pad queries"] == Fraction(2 * 666 - 2 + (8192 - 666) // 2, 8192) ** 154
    assert base["proximity"] * order == LENGTH + 1 and base["lookup"] * order == LARGE.ranged_cells + (1 << 16)
    assert base["pad field"] * order == 8192 + 4000 + 1
    assert ledger(parameters, replace(LARGE, products=513)).entries["pad field"] * order == 8192 + 4000 + 2


def test_refusals() -> None:
    good = choose(100, 16, CELLS, LENGTH, LARGE)
    assert _code(good) == "verified"
    assert _code(replace(good, queries=40)) == "commitment-soundness"
    assert _code(replace(good, queries=153)) == "verified"  # half a bit less than is chosen, and the union still suffices
    assert _code(replace(good, queries=152)) == "commitment-soundness"
    assert _code(replace(good, level=128)) == "commitment-soundness"
    assert _code(replace(choose(128, 16, CELLS, LENGTH, LARGE), degree=2)) == "commitment-soundness"
    assert _code(replace(good, level=99)) == _code(replace(good, level=0)) == "commitment-soundness"
    assert _code(replace(good, uses=17)) == _code(replace(good, queries=157)) == "commitment-limit"
    assert _code(replace(good, queries=156)) == "verified"  # 16 * 156 = 2496 pads
    assert _code(replace(good, uses=0)) == _code(replace(good, queries=0)) == _code(replace(good, queries=-1)) == "commitment-limit"
    assert _code(replace(good, code=Code(CELLS, 0, LENGTH))) == "commitment-limit"
    assert _code(good, replace(LARGE, ranged_cells=(1 << 32) - (1 << 16))) == _code(good, replace(LARGE, ranged_cells=0)) == "commitment-limit"
    assert _code(choose(128, 16, CELLS, LENGTH, LARGE), replace(LARGE, ranged_cells=(1 << 32) - (1 << 16) - 1)) == "verified"
    assert _code(good, replace(LARGE, relation_degrees=1 << 28)) == "commitment-soundness"
    padded = replace(good, code=Code(CELLS, 1 << 14, LENGTH), queries=2)
    assert _code(replace(good, queries=1025, uses=1)) == _code(replace(padded, uses=4097)) == "commitment-limit"
    assert _code(replace(padded, uses=4096)) == "commitment-soundness"


def test_codes_of_a_wrong_size() -> None:
    for cells, padding, length in ((0, 1, 8), (3, 1, 8), (12, 4, 64), (8, 1, 24), (8, -1, 32), (8, 7, 16), (16, 0, 16), (32, 0, 16),
                                   (1 << 25, 1, 1 << 26),
                                   (1 << 15, 1, 1 << 25), (-8, 4, 32)):
        with pytest.raises(Declined) as caught:
            Code(cells, padding, length)
        assert caught.value.code == "commitment-limit"
    assert Code(8, 6, 16).radius == 1 and Code(1 << 15, 2496, 1 << 24).length == 1 << 24
    for column in (-1, 16):
        with pytest.raises(ValueError, match="columns"):
            Code(8, 6, 16).point(column)


def test_parameters_that_do_not_exist() -> None:
    for level, uses, cells, length in ((99, 16, CELLS, LENGTH), (100, 0, CELLS, LENGTH), (100, 4097, CELLS, LENGTH), (100, 16, 512, 2048)):
        with pytest.raises(Declined) as caught:
            choose(level, uses, cells, length, LARGE)
        assert caught.value.code == "commitment-limit"
    with pytest.raises(Declined) as caught:
        choose(128, 400, 1 << 19, 1 << 20, LARGE)  # more queries need more pads, whose longer rows make a query worth less
    assert caught.value.code == "commitment-limit" and "1024 queries" in caught.value.what


def test_the_most_uses() -> None:
    found = choose(100, 4096, CELLS, 1 << 24, LARGE)
    assert found.uses == 4096 and found.code.pads == 4096 * found.queries and _code(found) == "verified"
    assert enough(Code(CELLS, pads(105, 4096), 1 << 24), 105, 100) and found.queries > 105  # the pad tableau needs more


def test_the_choice_has_its_level_for_other_sizes_of_rows() -> None:
    for level in (100, 128):
        for cells in (1 << 9, 1 << 12, 1 << 15):
            for rate in (8, 16, 64):
                found = choose(level, 4, cells, cells * rate, LARGE)
                assert _code(found) == "verified"
                fewer = found.queries - 1
                less = replace(found, queries=fewer, code=Code(cells, pads(fewer, 4), cells * rate))
                assert not enough(less.code, fewer, level) or _code(less) == "commitment-soundness"


def test_tenths_are_exact_at_the_boundary() -> None:
    assert tenths(Fraction(1)) == 0 and tenths(Fraction(1, 2)) == 10 and tenths(Fraction(1, 1 << 100)) == 1000
    assert tenths(Fraction(1, 1 << 100) + Fraction(1, 1 << 5000)) == 999 and tenths(Fraction(1, 1 << 100) - Fraction(1, 1 << 5000)) == 1000
    assert tenths(Fraction(2)) < 0


def test_the_union_decides_at_the_last_unit() -> None:
    parameters = choose(100, 16, CELLS, LENGTH, LARGE)
    entries = ledger(parameters, replace(LARGE, relation_degrees=0)).union
    room = (Fraction(1, 1 << 100) - entries) * P**2
    most = room.numerator // room.denominator
    assert _code(parameters, replace(LARGE, relation_degrees=most)) == "verified"
    assert _code(parameters, replace(LARGE, relation_degrees=most + 1)) == "commitment-soundness"


def test_no_floating_point_number_takes_part() -> None:
    tree = ast.parse(Path(soundness.__file__).read_text("utf-8"))
    assert not [node for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, float)]
    assert not [node for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id in ("float", "log2", "log", "math")]


def test_masks_of_larger_degree_would_cost_pad_queries_fifteen_bits() -> None:
    """With parts shifted by whole multiples of the slots a mask of products may have degree 3 l + t - 1: the figures of docs/private-protocol.md."""
    code = pad_code(Parameters(100, 2, 16, 154, Code(1 << 15, 2496, 1 << 17)), 4000)
    slots, queries = code.cells, code.pads
    for degree, bits in ((2 * code.dimension - 2, 105), (3 * slots + queries - 1, 90)):
        assert tenths(Fraction(degree + code.radius, code.length) ** queries) // 10 == bits
