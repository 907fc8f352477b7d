# SPDX-License-Identifier: Apache-2.0
"""Rounds of layers of fractions against the sums that they stand for, in Python integers: stored layers, and layers made of cells."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from certify_zk.field import Element, Extension, P
from certify_zk.lookup_prover import Layer, tree, tree_of_cells

Fraction = tuple[Element, Element]


def joined(field: Extension, first: Fraction, second: Fraction) -> Fraction:
    (p0, q0), (p1, q1) = first, second
    return field.add(field.multiply(p0, q1), field.multiply(p1, q0)), field.multiply(q0, q1)


def parents(field: Extension, children: list[Fraction]) -> list[Fraction]:
    """Return the sums of entries i and i + n/2."""
    half = len(children) // 2
    return [joined(field, children[i], children[i + half]) for i in range(half)]


def played(field: Extension, children: list[Fraction], point: Sequence[Element], factor: Element,
           challenges: Sequence[Element]) -> tuple[list[list[Element]], list[Element]]:
    """Return constant and quadratic coefficient of each round, and the ends; the most significant variable is set first."""
    half, messages = len(children) // 2, []
    parts = [[child[k] for child in children[start : start + half]] for k in range(2) for start in (0, half)]
    for bits, challenge in zip(reversed(range(len(point))), challenges, strict=True):
        weights, found = field.equality(tuple(point[:bits])), [field.zero, field.zero]
        for i, weight in enumerate(weights):
            low = [part[i] for part in parts]
            slope = [field.subtract(part[i + (1 << bits)], part[i]) for part in parts]
            for k, (p0, p1, q0, q1) in enumerate((low, slope)):
                crossed, both = joined(field, (p0, q0), (p1, q1))
                found[k] = field.add(found[k], field.multiply(weight, field.add(crossed, field.multiply(factor, both))))
        messages.append(found)
        parts = [[field.add(part[i], field.multiply(challenge, field.subtract(part[i + (1 << bits)], part[i]))) for i in range(1 << bits)]
                 for part in parts]
    return messages, [part[0] for part in parts]


def laid(field: Extension, numerators: np.ndarray, denominators: np.ndarray, existing: Sequence[int], rows: int) -> list[Fraction]:
    """Return leaves of all virtual rows, by the number column 2^rows + row."""
    columns = numerators.shape[1]
    found = [(field.zero, field.one)] * (columns << rows)
    for index, row in enumerate(existing):
        for column in range(columns):
            found[(column << rows) + row] = tuple(numerators[index, column].tolist()), tuple(denominators[index, column].tolist())
    return found


@pytest.mark.parametrize(("existing", "rows", "columns", "degree"), [((0, 1, 4), 3, 4, 2), ((0, 1, 4), 3, 3, 3), ((0,), 0, 6, 2), ((1,), 1, 4, 3),
                                                                     (tuple(range(300)), 9, 3, 2)])
@pytest.mark.parametrize("kind", ["stored", "limbs", "words"])
def test_all_rounds_of_all_layers(existing: tuple[int, ...], rows: int, columns: int, degree: int, kind: str) -> None:
    field, random = Extension(degree), np.random.default_rng(columns)

    def drawn(count: int) -> list[Element]:
        return [tuple(row) for row in random.integers(0, P, (count, degree), dtype=np.uint64).tolist()]
    shape = len(existing), 1 << columns
    if kind == "stored":
        p, q = (random.integers(0, P, (*shape, degree), dtype=np.uint64) for _ in range(2))
        grown = tree(p.copy(), q.copy(), existing, rows)
    else:
        cells = random.integers(0, 1 << 16 if kind == "limbs" else P, shape, dtype=np.uint64)
        cells[0, 1:4] = 0, (1 << 16) - 1, 0 if kind == "limbs" else P - 1
        (pole,) = drawn(1)
        p = np.broadcast_to(np.array(field.one, np.uint64), (*shape, degree))
        q = np.array([[field.subtract(pole, field.embed(cell)) for cell in line] for line in cells.tolist()], np.uint64)
        grown = tree_of_cells(cells.astype(np.uint16) if kind == "limbs" else cells, pole, existing, rows)
    layers = [laid(field, p, q, existing, rows)]
    while len(layers[-1]) > 1:
        layers.append(parents(field, layers[-1]))
    assert grown.root == layers[-1][0]
    if len(existing) > 8:  # the lowest layers are enough
        del layers[4:], grown.layers[4:]
    for layer in reversed(layers[:-1]):
        depth = len(layer).bit_length() - 2
        point, challenges, (factor,) = drawn(depth), drawn(depth), drawn(1)
        messages, ends = played(field, layer, point, factor, challenges)
        running = Layer(field, grown, tuple(point[:rows]), tuple(point[rows:]), factor)
        for message, challenge in zip(messages, challenges, strict=True):
            assert running.round() == message
            running.bind(challenge)
        assert running.ends() == ends
