# SPDX-License-Identifier: Apache-2.0
"""Attacks on the circuits of private claims: forged cells in extreme shapes, and the corners of all cells of admitted policies."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from certify.errors import CertifyError
from certify_zk.circuit import Circuit, circuit
from certify_zk.evaluation import violations
from certify_zk.field import P
from certify_zk.policy import InputMap, Policy
from certify_zk.relations import ONE, Form, Identity, Linear
from certify_zk.statement import Ball, Box, Rows, Score, Statement
from certify_zk.width import PRIME
from certify_zk.witness import Witness, witness
from test_attacks_private import simple
from zk import tiny
from zk.arguments import played, small
from zk.test_forged_arguments import expected, tidied

# Circuits of extreme shapes

def odd(rng: np.random.Generator) -> tuple[Policy, Any, Statement]:
    """Return a problem with layers of one neuron, or no hidden layer, one to five regions of both kinds, and rows or scores."""
    sizes = [int(rng.choice([1, 1, 1, 2, 3])) for _ in range(int(rng.integers(2, 6)))]
    policy = tiny.policy(rng, sizes)
    regions = tuple(tiny.region(rng, policy, bool(rng.random() < 0.4)) for _ in range(int(rng.choice([1, 1, 2, 5]))))
    if rng.random() < 0.25:
        return policy, tiny.model(rng, policy), Statement(regions, Score(int(rng.integers(sizes[-1])), (1 << 32) - 1))
    count = int(rng.integers(1, 4))
    rows = tuple(tuple(int(c) for c in rng.integers(-2, 3, sizes[-1])) for _ in range(count))
    return policy, tiny.model(rng, policy), Statement(regions, Rows(rows, (tiny.LOW,) * count))


def require_enclosed(policy: Policy, model: Any, statement: Statement, found: Witness, rng: np.random.Generator) -> None:
    """Require that bounds of hidden layers, and margins, hold at points of every region."""
    unit = Fraction(1, 1 << policy.bias_scale)
    for index, region in enumerate(statement.regions):
        for point in tiny.points(rng, policy, region, 4):
            layers = tiny.values(policy, model, point)
            for k, z in enumerate(layers[:-1], start=1):
                ends = [found.circuit.values[f"region{index}.layer{k}.{name}"] for name in ("lower", "upper")]
                low, high = (sum(found.tables[name].astype(object) << 16 * i for i, (name, _) in enumerate(end.limbs)) - end.offset for end in ends)
                assert all(unit * int(a) <= v <= unit * int(b) for a, v, b in zip(low, z, high, strict=False))
            if isinstance(statement.asked, Rows):
                for row, margin in zip(statement.asked.coefficients, found.margins[index], strict=True):
                    assert sum(c * v for c, v in zip(row, layers[-1], strict=True)) >= margin
            else:
                assert found.margins[index][0] <= layers[-1][statement.asked.output] <= -found.margins[index][1]


def attack(rng: np.random.Generator) -> str:
    """Play an honest argument in an odd circuit and one with random cells; return the verdict of the latter, which is the oracle's."""
    policy, model, statement = odd(rng)
    found = witness(small(policy), model, statement, tiny.Erratic(rng) if rng.random() < 0.5 else None)
    if not isinstance(found, Witness):
        return ""
    assert violations(small(policy), statement, found.circuit, found.tables) == ()
    require_enclosed(policy, model, statement, found, rng)
    honest = tidied(small(policy), statement, found.circuit, found.tables)
    if expected(honest) == "verified":  # coefficients of padding are cut off, which may break a loose witness
        assert played(honest) == "verified"
    tables = {name: np.array(table).astype(object) for name, table in found.tables.items()}
    for name in rng.choice(sorted(tables), int(rng.integers(1, 3))):
        table = tables[str(name)]
        place = tuple(int(rng.integers(size)) for size in table.shape)
        table[place] = (table[place] + int(rng.choice([1, -1, 256, 65536, P - 1]))) % P if rng.random() < 0.8 else int(rng.integers(1 << 16))
    forged = tidied(small(policy), statement, found.circuit, tables)
    verdict = played(forged)
    assert verdict == expected(forged)
    return verdict


def test_forged_cells_of_odd_circuits() -> None:
    rng = np.random.default_rng(11)
    assert len({attack(rng) for _ in range(6)}) > 2


@pytest.mark.slow
def test_forged_cells_of_many_odd_circuits() -> None:
    rng = np.random.default_rng(12)
    assert len({attack(rng) for _ in range(100)}) > 7


# Widths

def corner(form: Form, values: Mapping[str, int], sign: int) -> int:
    """Return a form where all entries of a block are equal, in a row of a sign."""
    return sum(term.coefficient * (1 if term.block == ONE else values[term.block]) for term in form.terms if term.sign in (None, sign))


def terms(identity: Identity, made: Circuit, index: int) -> int:
    """Return how many terms of a sum over k need not be 0: public integers are, in padding."""
    counted = [1]
    for factor in identity.products[index].factors:
        for term in factor.form.terms:
            if "k" in factor.axes and term.block != ONE:
                block, axis = made.blocks[term.block], factor.axes.index("k")
                counted.append(block.dimensions[axis] if block.kind == "public" else block.shape[axis])
    public = [size for factor in identity.products[index].factors if "k" in factor.axes for term in factor.form.terms if term.block != ONE
              for size in [made.blocks[term.block].dimensions[factor.axes.index("k")]] if made.blocks[term.block].kind == "public"]
    return min([max(counted), *public])


def widest(made: Circuit, rng: np.random.Generator) -> int:
    """Return the largest difference of two sides of a relation, over all corners of what the cells may be; ranges are those of the values alone."""
    limits: dict[str, tuple[int, int]] = {}
    for value in made.values.values():
        limits |= {name: (0, (1 << bits) - 1 if value.top is None else value.top) for name, bits in value.limbs}
        limits |= {name: (0, 65535 if value.top is None else value.top) for name in (value.narrow, value.rest) if name is not None}
    limits |= {block.name: (min(0, block.range.low), max(0, block.range.high)) for block in made.blocks.values() if block.range is not None}
    most = 0
    for relation in made.relations:
        for identity in relation.identities():
            factors = [factor.form for each in identity.products for factor in each.factors]
            forms = [*factors, *((identity.left, identity.right) if identity.defines is None else ())]
            names = sorted({term.block for form in forms for term in form.terms if term.block != ONE})
            ends = {name: (0, 65535) if isinstance(relation, Linear) and relation.narrows else limits[name] for name in names}
            corners = product((0, 1), repeat=len(names)) if len(names) < 12 else rng.integers(0, 2, (3000, len(names))).tolist()
            found = set[int]()
            for chosen, sign in product(corners, (0, 1)):
                values = {name: ends[name][side] for name, side in zip(names, chosen, strict=True)}
                total = 0
                for index, each in enumerate(identity.products):
                    part = each.coefficient * terms(identity, made, index)
                    for factor in each.factors:
                        part *= corner(factor.form, values, sign)
                    total += part
                found.add(total if identity.defines is not None else
                          corner(identity.left, values, sign) - corner(identity.right, values, sign) - total)
            if identity.defines is not None:
                limits[identity.defines] = min(found), max(found)
                assert 2 * max(map(abs, found)) < PRIME
            most = max(most, *map(abs, found))
    return most


def any_policy(rng: np.random.Generator) -> tuple[Policy, Statement]:
    """Return a policy with any numbers within the reader's limits, and a statement."""
    def some(low: int, high: int) -> int:
        return int(rng.integers(low, high + 1))
    sizes = [int(rng.choice([1, 1, 2, 3, 5, 64, 1000])) for _ in range(some(2, 4))]
    depth, weight, slope, bias = len(sizes) - 1, some(4, 15), some(1, 15), some(1, 24)
    modes = ("crown", *(str(rng.choice(["crown", "ibp", *(f"stop:{j}" for j in range(1, m - 1))])) for m in range(2, depth + 1)))
    stops = [0 if mode == "crown" else m if mode == "ibp" else int(mode[5:]) for m, mode in enumerate(modes)]
    tau: list[tuple[int, ...]] = []
    for m, stop in enumerate(stops, start=1):
        unit, dropped = weight, []
        for _ in range(m - 1 - stop):
            dropped.append(min(48, max(0, unit + slope + weight - (some(4, 16) if rng.random() < 0.6 else some(4, 60)))))
            unit += slope + weight - dropped[-1]
        tau.append(tuple(dropped))
    top = Fraction(some(1, 1 << some(1, 30)), 1 << some(0, 20))
    policy = simple(*sizes, modes=modes, tau=tuple(tau), inputs=InputMap.uniform(0, 1, 0, top), weight_scale=weight, slope_bits=slope,
                    bias_scale=bias, input_scale=some(1, 24), total_scale=some(bias, 32), bias_bits=some(2, 32),
                    bound_bits=some(2, 32), intercept_bits=some(1, 48), remainder=bool(rng.random() < 0.7))
    region = Box((0,) * sizes[0], (0,) * sizes[0]) if rng.random() < 0.6 else Ball((0,) * sizes[0], 1)
    count = some(1, 3)
    return policy, Statement((region,), Score(0, 1) if rng.random() < 0.3 else Rows(((1,) * sizes[-1],) * count, (0,) * count))


def admitted(rng: np.random.Generator, count: int) -> tuple[int, int]:
    """Return how many policies are admitted, of which none has a relation whose sides could differ by a multiple of p, and the largest difference."""
    taken, most = 0, 0
    for _ in range(count):
        try:
            made = circuit(*any_policy(rng))
        except CertifyError as trouble:
            assert trouble.code.startswith("commitment-")
            continue
        taken, most = taken + 1, max(most, widest(made, rng))
        assert most < PRIME
    return taken, most


def test_no_admitted_relation_reaches_the_prime() -> None:
    taken, most = admitted(np.random.default_rng(21), 120)
    assert taken > 40 and most > PRIME >> 4


@pytest.mark.slow
def test_no_admitted_relation_of_many_policies_reaches_the_prime() -> None:
    taken, most = admitted(np.random.default_rng(22), 4000)
    assert taken > 1500 and most > PRIME >> 2
