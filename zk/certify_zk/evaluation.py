# SPDX-License-Identifier: Apache-2.0
"""Relations evaluated on tables of cells: which of them a prover's witness breaks.

`tables` has an array for each committed block and each constant, of the shape of its cube; what it has under other names is not looked at.
Guarantee: the answer is that of an honest run of the argument without its randomness: a relation is broken where its sides differ modulo the prime at
some entry of its cube, the lookup where a cell is not in [0, 2^16). So if the widths hold and nothing is broken, all relations hold over the
integers. Not part of the checker, which sees no cells.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from certify_zk.circuit import Circuit
from certify_zk.convolution import image
from certify_zk.exact import Integers, added, integers, matmul, multiplied, peak, scaled, summed
from certify_zk.policy import Policy
from certify_zk.publics import public_values
from certify_zk.relations import ONE, Form, Gated, Hadamard, Inner, Linear, Product, Relation
from certify_zk.statement import Statement
from certify_zk.width import LIMB, PRIME

Tables = Mapping[str, Integers]


@dataclass(frozen=True)
class Violation:
    """A relation that does not hold: its code, and its name."""

    code: str
    name: str


def public_tables(policy: Policy, statement: Statement) -> dict[str, Integers]:
    """Return the tables of the public blocks: the integers of the statement, 0 in padding."""
    return {name: integers(values) for name, values in public_values(policy, statement).items()}


def padded(values: Integers, shape: tuple[int, ...]) -> Integers:
    """Return an array filled up with 0 to a larger shape."""
    return np.pad(values, [(0, full - size) for full, size in zip(shape, values.shape, strict=True)])


def violations(policy: Policy, statement: Statement, circuit: Circuit, tables: Tables) -> tuple[Violation, ...]:
    """Return what the tables break, in the order of the relations, lookups first; empty for a witness.

    Raises ValueError for a table that is missing or of another shape.
    """
    known = dict(tables) | public_tables(policy, statement)
    known |= {name: image(block.image.layer, evaluate(block.image.form, known), block.shape)
              for name, block in circuit.blocks.items() if block.image is not None}
    for name, block in circuit.blocks.items():
        if name not in known or known[name].shape != block.shape:
            raise ValueError(f"the table {name} is missing, or not of the shape {block.shape}")
    found = [Violation("relation-lookup", name) for name, block in circuit.blocks.items() if block.looked_up and not _is_limb(known[name])]
    for relation in circuit.relations:
        found.extend(broken(relation, known))
    return tuple(found)


def broken(relation: Relation, tables: Tables) -> list[Violation]:
    """Return what a relation finds broken: nothing, itself, or in a step its constant."""
    if isinstance(relation, Linear):
        left, right = np.broadcast_arrays(evaluate(relation.left, tables), evaluate(relation.right, tables))
        differ = _differ(left, right)
        if relation.outside is not None:
            differ = differ.copy()
            differ[tuple(slice(size) for size in relation.outside)] = False
        sides = [(relation.code, relation.name, bool(differ.any()))]
    elif isinstance(relation, Hadamard):
        right = _times(evaluate(relation.first, tables), evaluate(relation.second, tables))
        sides = [(relation.code, relation.name, bool(_differ(evaluate(relation.left, tables), right).any()))]
    elif isinstance(relation, Gated):
        step, total = gated(relation, tables)
        sides = [(relation.code, relation.name, bool(_differ(evaluate(relation.left, tables), step).any())),
                 ("relation-constant", relation.constant, bool(_differ(tables[relation.constant], total).any()))]
    else:
        sides = [(relation.code, relation.name, bool(_differ(evaluate(relation.left, tables), inner(relation, tables)).any()))]
    return [Violation(code, name) for code, name, wrong in sides if wrong]


def evaluate(form: Form, tables: Tables) -> Integers:
    """Return the entries of a form: of rows, where it has terms with a sign."""
    total: Integers = np.zeros(1, np.int64)
    for sign in (0, 1):
        parts = [scaled(_table(tables, term.block), term.coefficient) for term in form.terms if term.sign == sign]
        if parts:
            part = _sum(parts)
            rows = np.zeros((2 * part.shape[0], *part.shape[1:]), part.dtype)
            rows[sign::2] = part
            total = added(*np.broadcast_arrays(total, rows))
    return _sum([total, *(scaled(_table(tables, term.block), term.coefficient) for term in form.terms if term.sign is None)])


def gated(relation: Gated, tables: Tables) -> tuple[Integers, Integers]:
    """Return the right side of a step, and its constant."""
    rising = multiplied(evaluate(relation.plus, tables), evaluate(relation.alpha, tables))
    falling = multiplied(evaluate(relation.minus, tables), evaluate(relation.slope, tables))
    a = added(rising, scaled(falling, -1))
    return matmul(a, evaluate(relation.weight, tables)), matmul(a, evaluate(relation.bias, tables))


def inner(relation: Inner, tables: Tables) -> Integers:
    """Return the right side of an inner product."""
    parts = [scaled(_product(product, tables), product.coefficient) for product in relation.products]
    return _sum(parts)


def _product(product: Product, tables: Tables) -> Integers:
    matrices = [evaluate(factor.form, tables) for factor in product.factors if factor.axes == "ik"]
    vector: Integers = np.ones(1, np.int64)
    for factor in product.factors:
        if factor.axes == "k":
            vector = multiplied(vector, evaluate(factor.form, tables))
    weights = [evaluate(factor.form, tables) for factor in product.factors if factor.axes == "kj"]
    left = matrices[0]
    for matrix in matrices[1:]:
        left = multiplied(left, matrix)
    if weights:
        return matmul(multiplied(left, vector), weights[0])
    return matmul(left, vector) if vector.shape[0] == left.shape[1] else summed(left, 1)


def _sum(parts: list[Integers]) -> Integers:
    total = parts[0]
    for part in parts[1:]:
        total = added(*np.broadcast_arrays(total, part))
    return total


def _table(tables: Tables, block: str) -> Integers:
    return np.ones(1, np.int64) if block == ONE else integers(tables[block])


def _times(first: Integers, second: Integers) -> Integers:
    return multiplied(*np.broadcast_arrays(first, second))


def _differ(left: Integers, right: Integers) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    """Return where two arrays differ modulo the prime."""
    left, right = np.broadcast_arrays(left, right)
    difference = added(left, scaled(right, -1))
    found: np.ndarray[tuple[int, ...], np.dtype[np.bool_]] = (
        difference != 0 if peak(difference) < PRIME else np.array(difference % PRIME != 0, np.bool_))
    return found


def _is_limb(cells: Integers) -> bool:
    return bool(cells.size == 0 or (int(cells.min()) >= 0 and int(cells.max()) < 1 << LIMB))
