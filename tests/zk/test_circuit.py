# SPDX-License-Identifier: Apache-2.0
"""Widths of circuits: the table of policies that are admitted, refused layouts, and ranges that nothing may use without their relation."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from certify.errors import Declined, Rejected
from certify_zk import circuit as circuits
from certify_zk import policy as policies
from certify_zk.circuit import assemble, circuit, relations
from certify_zk.policy import Dense, Policy
from certify_zk.relations import ONE, Gated, Hadamard, Inner, Linear, require_widths, widths
from certify_zk.statement import Ball, Box, Rows, Score, Statement, robust
from certify_zk.width import Interval, admitted, cell, signed
from zk.tiny import specimen

CROWN = ("crown",) * 4
IBP = ("crown", "ibp", "ibp", "crown")
FULL = ((), (20,), (19, 25), (19, 24, 25))
LAST = ((), (), (), (19, 24, 25))


def made(hidden: int, modes: tuple[str, ...] = CROWN, tau: tuple[tuple[int, ...], ...] = FULL, **fields: Any) -> tuple[Policy, Statement]:
    """Return a policy for 784-hidden-hidden-hidden-10, and the whole domain as its box."""
    sizes = (784, hidden, hidden, hidden, 10)
    return Policy(tuple(Dense(a, b) for a, b in pairwise(sizes)), modes, tau, **fields), robust((Box((0,) * 784, (4096,) * 784),), 10, 0)


def largest(policy: Policy, statement: Statement, ending: str) -> float:
    """Return the largest width of the relations whose names end so, in bits."""
    found = assemble(policy, statement)
    return max(interval.bits for name, interval in widths(found.blocks.values(), found.relations) if name.endswith(ending))


def worst(policy: Policy, statement: Statement) -> float:
    """Return the largest width of all relations, in bits."""
    return largest(policy, statement, "")


@pytest.mark.parametrize(("hidden", "fields", "expected", "taken"), [
    (1024, {"slope_bits": 8, "tau": ((), (16,), (15, 21), (15, 20, 21))}, {"": 60, "c4.floor": 60, "c2": 57}, True),
    (1024, {}, {"": 61, "c2": 61, "c4.floor": 60, "step": 54, "c3": 38.6}, True),
    (1024, {"tau": ((), (22,), (21, 27), (21, 26, 27))}, {"": 61, "c4.floor": 60}, True),
    (2048, {"modes": IBP, "tau": LAST}, {"": 62, "c2": 62, "c3": 55.6}, True),
    (4096, {"modes": IBP, "tau": LAST}, {"": 63, "c2": 63}, True),
    (8192, {"modes": IBP, "tau": LAST}, {"": 64, "c2": 64}, False),
    (8192, {"modes": IBP, "tau": ((), (), (), (17, 22, 23)), "slope_bits": 10, "bias_bits": 22}, {"": 60, "c2": 60}, True),
    (1024, {"intercept_bits": 40}, {"": 66, "c1": 66}, False),
    (1 << 20, {}, {"": 71, "c2": 71, "step": 64}, False),
])
def test_the_table_of_widths(monkeypatch: pytest.MonkeyPatch, hidden: int, fields: dict[str, Any], expected: dict[str, float], taken: bool) -> None:
    monkeypatch.setattr(policies, "MOST_PARAMETERS", 1 << 50)
    monkeypatch.setattr(policies, "MOST_SIZE", 1 << 30)
    policy, statement = made(hidden, **fields)
    for ending, bits in expected.items():
        assert abs(largest(policy, statement, ending) - bits) < 0.04, ending
    found = assemble(policy, statement)
    if taken:
        require_widths(found.blocks.values(), found.relations)
    else:
        with pytest.raises(Declined, match="can reach") as caught:
            require_widths(found.blocks.values(), found.relations)
        assert caught.value.code == "commitment-width"


def test_circuits_have_their_widths_and_sizes_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    for code, policy, statement in (("commitment-width", *made(1024, intercept_bits=40)), ("commitment-limit", *made(1024))):
        if code == "commitment-limit":
            monkeypatch.setattr(circuits, "MOST_CELLS", assemble(policy, statement).cells + (1 << 16) + 1)
            circuit(policy, statement)
            monkeypatch.setattr(circuits, "MOST_CELLS", assemble(policy, statement).cells + (1 << 16))
        with pytest.raises(Declined) as caught:
            circuit(policy, statement)
        assert caught.value.code == code


def test_the_widest_policy_that_is_admitted_has_little_room() -> None:
    found = assemble(*made(4096, modes=IBP, tau=LAST))
    most = max(interval.magnitude for _, interval in widths(found.blocks.values(), found.relations))
    assert most == 2**63 - 2**47


def test_floors_have_20_bits_or_more() -> None:
    def some(tau: int, **fields: Any) -> tuple[Policy, Statement]:
        made = Policy((Dense(2, 2),) * 3, ("crown",) * 3, ((), (24,), (tau, 24)), bias_bits=12, slope_bits=8, **fields)
        return made, robust((Box((0, 0), (1, 1)),), 2, 0)
    policy, statement = some(7)
    kept = assemble(policy, statement).values["region0.pass3.step1.c4.floor"]
    assert kept.bits == 20 and policy.after(12, 7) + 8 + 12 + 12 - 16 == 41  # bits of the total's excess
    with pytest.raises(Declined, match="19 bits are left") as caught:
        assemble(*some(6))
    assert caught.value.code == "commitment-width"
    assert assemble(*some(24)).values["region0.pass3.step1.c4.floor"].bits == 32


def test_the_lookup_counts_below_2_to_the_32() -> None:
    assert circuits.MOST_CELLS == 1 << 32  # of characteristic above 2^63, so that no multiplicity is 0 in it by chance


def test_names_are_not_given_twice() -> None:
    policy = Policy((Dense(1, 1),), ("crown",), ((),))
    builder = circuits._Builder(policy, Statement((Box((0,), (0,)),), Score(0, 0)))
    made = builder.build()
    assert [(made.values[name].bits, made.values[name].signed) for name in ("least", "most", "gap.slack")] == [(32, True), (32, True), (48, False)]
    with pytest.raises(ValueError, match="two blocks"):
        builder.build()


def test_policies_are_checked_before_circuits_are_made() -> None:
    for code, fields in (("commitment-unit", {"tau": ((), (33,))}), ("commitment-limit", {"tau": ((), (24,)), "pads": 64})):
        policy = Policy((Dense(2, 2),) * 2, ("crown",) * 2, bias_bits=12, **fields)
        for make in (assemble, circuit, relations):
            with pytest.raises(Declined) as caught:
                make(policy, robust((Box((0, 0), (1, 1)),), 2, 0))
            assert caught.value.code == code


def test_what_is_built_is_limited() -> None:
    policy = Policy((Dense(1, 1),) * 3, ("crown", "crown", "ibp"), ((), (24,), ()), bias_bits=12)  # 4 steps
    regions = (Box((0,), (1,)),) * 1025
    assert len(assemble(policy, Statement(regions[1:], Score(0, 0))).relations) > 10_000
    with pytest.raises(Declined, match="4100 steps") as caught:
        assemble(policy, Statement(regions, Score(0, 0)))
    assert caught.value.code == "commitment-limit"


def test_layouts_that_wrap_are_refused() -> None:
    limb, start, weight, h = cell(16), Interval(0, 4096), cell(16) + cell(16).scaled(-1), cell(16) + cell(16).scaled(-1)
    at_input = ((h * start) + (limb * start).scaled(-1)).summed(784)
    one_sum = at_input.scaled(1 << 25)  # 2^tau times the constant, and the remainder beside it
    assert abs(one_sum.bits - 63.62) < 0.01 and not admitted(one_sum)
    wide = cell(32) * Interval(0, 1 << 12)
    a = wide + wide.scaled(-1)
    assert round((a * signed(24)).summed(1024).bits) == 77 and round((a * weight).summed(1024).bits) == 70
    aligned = (limb * cell(32)).summed(1024).scaled(1 << 25)  # totals in the finest unit: c1 would be one of their terms
    assert round(aligned.bits) == 83 and not admitted(aligned)


def test_cells_are_those_of_the_layout() -> None:
    assert round(circuit(*made(1024)).cells / 1e6, 1) == 27.5
    assert round(circuit(*made(2048, modes=IBP, tau=LAST)).cells / 1e6, 1) == 20.7


def every_kind() -> list[tuple[Policy, Statement]]:
    """Return problems that use all values and relations."""
    rng = np.random.default_rng(5)
    return [specimen(rng)[::2] for _ in range(60)]


def test_each_range_is_needed() -> None:
    tried: set[str] = set()
    for policy, statement in every_kind():
        found = assemble(policy, statement)
        for index, relation in enumerate(found.relations):
            if not (isinstance(relation, Linear) and relation.narrows):
                continue
            rest = found.relations[:index] + found.relations[index + 1 :]
            with pytest.raises(Declined, match="unknown cell") as caught:
                widths(found.blocks.values(), rest)
            assert caught.value.code == "commitment-width"
            tried.add(relation.name.split(".", 1)[-1].lstrip("0123456789"))
    assert {"alpha", "slope", "beta", "lower", "upper"} <= {part for name in tried for part in name.split(".")}


def test_each_constant_needs_its_definition() -> None:
    for policy, statement in every_kind()[:20]:
        found = assemble(policy, statement)
        for index, relation in enumerate(found.relations):
            if isinstance(relation, Gated) or (isinstance(relation, (Inner, Hadamard)) and relation.defines):
                with pytest.raises(Declined, match="unknown cell"):
                    widths(found.blocks.values(), found.relations[:index] + found.relations[index + 1 :])


def test_cells_that_are_not_looked_up_have_no_range() -> None:
    for policy, statement in every_kind()[:3]:
        found = assemble(policy, statement)
        for name, block in found.blocks.items():
            if block.looked_up:
                others = [other for other in found.blocks.values() if other.name != name]
                with pytest.raises(Declined, match="unknown cell"):
                    widths(others, found.relations)


def test_blocks_are_what_relations_are_about() -> None:
    for policy, statement in every_kind():
        found = assemble(policy, statement)
        named = set(re.findall(r"(?:block|constant)='([^']+)'", repr(found.relations)))
        assert named == {ONE, *found.blocks}


def test_sums_over_hidden_neurons_count_the_padding_and_sums_over_inputs_do_not() -> None:
    policy = Policy((Dense(5, 6), Dense(6, 9), Dense(9, 3)), ("crown", "crown", "ibp"), ((), (20,), ()))
    found = assemble(policy, robust((Box((0,) * 5, (1,) * 5),), 3, 0))
    counts = {relation.name.removeprefix("region0."): relation.count for relation in found.relations if isinstance(relation, (Inner, Gated))}
    assert counts == {"pass1.c3": 5, "pass2.step1.c1": 8, "pass2.step1.step": 8, "pass2.step1.c4": 5, "pass2.c3": 5, "pass3.start": 3,
                      "pass3.bias": 3, "pass3.c3": 16}
    padding = {relation.name: relation.outside for relation in found.relations if isinstance(relation, Linear) and relation.outside}
    assert padding == {"weight1.plus.padding": (6, 5), "weight1.minus.padding": (6, 5), "bias1.padding": (6,), "weight2.plus.padding": (9, 6),
                       "weight2.minus.padding": (9, 6), "bias2.padding": (9,), "weight3.plus.padding": (3, 9), "weight3.minus.padding": (3, 9),
                       "bias3.padding": (3,)}


def test_relations_are_a_function_of_policy_and_statement() -> None:
    for policy, statement in every_kind()[:10]:
        assert relations(policy, statement) == assemble(policy, statement).relations


def test_widths_do_not_depend_on_the_values_of_a_statement() -> None:
    policy, statement = made(64)
    other = robust((Box((7,) * 784, (0,) * 784),), 10, 3, 1 << 40)
    assert assemble(policy, statement).require() == assemble(policy, other).require()


@pytest.mark.parametrize(("statement", "code"), [
    (Statement((Box((0, 0), (0, 0)),), Rows(((1, 0),), ((2**64 - 2**32 + 2) >> 16,))), "property-range"),  # 2^-16 modulo the prime
    (Statement((Box((0, 0), (0, 0)),), Rows(((1, 0),), (1 << 47,))), "property-range"),
    (Statement((Box((0, 0), (0, 0)),), Rows(((1, 0),), (-(1 << 47),))), "property-range"),
    (Statement((Box((0, 0), (0, 0)),), Rows(((128, 0),), (0,))), "property-range"),
    (Statement((Box((0, 0), (0, 0)),), Rows(((0, -128),), (0,))), "property-range"),
    (Statement((Box((0, 0), (0, 0)),), Rows(((1, 0, 0),), (0,))), "property-range"),
    (Statement((Box((0, 0), (0, 0)),), Rows(((1, 0),), (0, 0))), "property-range"),
    (Statement((Box((0, 0), (0, 0)),), Rows((), ())), "property-range"),
    (Statement((Box((0, 0), (0, 0)),), Rows(((1, 0),) * 4097, (0,) * 4097)), "property-range"),
    (Statement((Box((0, 0), (0, 0)),) * 4097, Rows(((1, 0),), (0,))), "property-range"),
    (Statement((), Rows(((1, 0),), (0,))), "property-range"),
    (Statement((Box((0,), (0,)),), Rows(((1, 0),), (0,))), "property-range"),
    (Statement((Box((0, 0), (0,)),), Rows(((1, 0),), (0,))), "property-range"),
    (Statement((Box((0, -1), (0, 0)),), Rows(((1, 0),), (0,))), "property-range"),
    (Statement((Box((0, 4097), (0, 0)),), Rows(((1, 0),), (0,))), "property-range"),
    (Statement((Box((0, 4000), (0, 97)),), Rows(((1, 0),), (0,))), "property-range"),
    (Statement((Box((0, 4000), (0, -1)),), Rows(((1, 0),), (0,))), "claim-vacuous"),
    (Statement((Ball((0, 0), -1),), Rows(((1, 0),), (0,))), "property-range"),
    (Statement((Ball((0, 0), 1 << 24),), Rows(((1, 0),), (0,))), "property-range"),
    (Statement((Ball((0, 5000), 1),), Rows(((1, 0),), (0,))), "property-range"),
    (Statement((Ball((0,), 1),), Rows(((1, 0),), (0,))), "property-range"),
    (Statement((Box((0, 0), (0, 0)),), Score(2, 0)), "property-range"),
    (Statement((Box((0, 0), (0, 0)),), Score(0, -1)), "property-range"),
    (Statement((Box((0, 0), (0, 0)),), Score(0, 1 << 32)), "property-range"),
])
def test_public_integers_outside_their_ranges_are_refused(statement: Statement, code: str) -> None:
    policy = Policy((Dense(2, 2),), ("crown",), ((),))
    with pytest.raises((Declined, Rejected)) as caught:
        circuit(policy, statement)
    assert caught.value.code == code


def test_public_integers_at_the_ends_of_their_ranges_are_taken() -> None:
    policy = Policy((Dense(2, 2),), ("crown",), ((),))
    for statement in (Statement((Box((0, 0), (0, 0)),), Rows(((1, 0),) * 4096, (0,) * 4096)),
                      Statement((Box((0, 4096), (4096, 0)),), Rows(((127, -127), (0, 0)), ((1 << 47) - 1, 1 - (1 << 47)))),
                      Statement((Ball((4096, 0), (1 << 24) - 1), Ball((0, 0), 0)), Score(1, (1 << 32) - 1))):
        circuit(policy, statement)
