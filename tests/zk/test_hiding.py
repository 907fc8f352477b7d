# SPDX-License-Identifier: Apache-2.0
"""What an opening shows: exact ranks on small instances, and a statistical comparison of the openings of two witnesses."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from flint import nmod_mat
from ligero_cases import Case, case, honest

from certify_zk.field import Extension, P
from certify_zk.kernels.ntt import encode
from certify_zk.ligero import Shape, u1_factors, u2_factors
from certify_zk.reed_solomon import Code
from certify_zk.transcript import Transcript


@pytest.mark.parametrize(("cells", "pads", "length"), [(1, 3, 8), (2, 2, 8), (4, 3, 16), (8, 4, 16)])
def test_pads_reach_every_value_of_any_opened_columns(cells: int, pads: int, length: int) -> None:
    code = Code(cells, pads, length)
    values = encode(code, np.zeros((pads, cells), np.uint64), np.eye(pads, dtype=np.uint64))
    for columns in combinations(range(length), pads):
        assert nmod_mat(values[:, columns].tolist(), P).rank() == pads
    for columns in combinations(range(length), pads + 1):
        assert nmod_mat(values[:, columns].tolist(), P).rank() == pads  # one column more shows something of the cells
        break


@pytest.mark.parametrize("degree", [2, 3])
def test_the_view_has_the_dimension_of_the_simulator(degree: int) -> None:
    """Pads and masks map onto opened witness columns, u1 and u2; the opened masks and me follow from those."""
    code = Code(4, 3, 16)
    shape = Shape(code, degree, 3, 1, 2)
    field, transcript, columns = Extension(degree), Transcript(), [1, 6, 11]
    gammas = transcript.elements("gamma", shape.witness + degree, degree)
    factors = [u1_factors(field, shape, gammas), u2_factors(field, transcript.elements("weights", shape.witness, degree), (5, 3, 2)[:degree])]
    point = transcript.elements("point", 2, degree)
    rows = shape.witness + 2 * degree
    free = [(row, i) for row in range(rows) for i in range(code.dimension) if row >= shape.witness or i >= code.cells]
    shown, masks = [], []
    for row, i in free:
        coefficients = np.zeros((rows, code.dimension), np.uint64)
        coefficients[row, i] = 1
        codewords = encode(code, np.ascontiguousarray(coefficients[:, : code.cells]), np.ascontiguousarray(coefficients[:, code.cells :]))
        polynomials = [[word if j == i else 0 for j in range(code.dimension) for word in each[row]] for each in factors]
        shown.append([*codewords[: shape.witness, columns].ravel().tolist(), *polynomials[0], *polynomials[1]])
        me = field.zero
        if row >= rows - degree and i < code.cells:
            me = field.multiply(field.equality(point)[i], field.unit(row - rows + degree))
        masks.append([*codewords[shape.witness :, columns].ravel().tolist(), *me])
    dimension = 3 * shape.witness + 2 * degree * code.dimension
    assert len(free) == dimension == len(shown[0])
    assert nmod_mat(shown, P).rank() == dimension
    assert nmod_mat([a + b for a, b in zip(shown, masks, strict=True)], P).rank() == dimension


def _words(given: Case) -> np.ndarray:
    """Return all words that an opening shows of rows, polynomials and mask, in an order that does not depend on the witness."""
    _, opening = honest(given)
    return np.concatenate([opening.u1.ravel(), opening.u2.ravel(), *(each[:5].ravel() for each in opening.columns),
                           np.array(opening.mask_value, np.uint64)])


def _distance(words: list[np.ndarray], others: list[np.ndarray], shift: int) -> float:
    """Return the chi-square statistic, per degree of freedom, of the counts of four bits in two samples of one size."""
    counts = [np.bincount((np.concatenate(sample) >> np.uint64(shift) & np.uint64(15)).astype(np.int64), minlength=16) for sample in (words, others)]
    total = counts[0] + counts[1]
    return float(((counts[0] - counts[1]) ** 2 / np.maximum(total, 1)).sum() / 15)


def test_openings_of_two_witnesses_look_alike() -> None:
    """Zero cells against random ones: chi-square with 15 degrees of freedom exceeds 45 once in ten thousand times. It sees missing pads."""
    samples = [[_words(case(queries=6, pads=6, length=64, seed=2 * seed + other, blank=not other)) for seed in range(150)] for other in range(2)]
    assert all(_distance(*samples, shift) < 3 for shift in (0, 4, 30, 60))
    bare = [[honest(case(queries=6, pads=0, length=64, seed=2 * seed + other, blank=not other))[1].columns[0][:5].ravel() for seed in range(20)]
            for other in range(2)]
    assert _distance(*bare, 0) > 10


def test_repeated_openings_of_one_model_show_no_more_than_its_pads() -> None:
    """Three uses of six columns, of rows with 18 pads: the map from pads to all that was opened is still onto."""
    code, opened = Code(8, 18, 64), set()
    for seed in range(3):
        opened |= set(Transcript().indices(f"use {seed}", 6, 64))
    values = encode(code, np.zeros((18, 8), np.uint64), np.eye(18, dtype=np.uint64))
    assert nmod_mat(values[:, sorted(opened)].tolist(), P).rank() == len(opened) <= 18
