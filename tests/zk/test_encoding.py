# SPDX-License-Identifier: Apache-2.0
"""Codewords of long rows, single columns of them, and commitments that do not keep them."""

from __future__ import annotations

import numpy as np
import pytest

from certify_zk import ligero_prover
from certify_zk.field import P, evaluate
from certify_zk.kernels.ntt import columns_of, encode, tables
from certify_zk.reed_solomon import Code
from zk.arguments import case, verdict
from zk.test_argument import NETWORKS


def rows_of(code: Code, count: int, dtype: type) -> tuple[np.ndarray, np.ndarray]:
    random, most = np.random.default_rng(code.cells), (1 << 16) - 1 if dtype is np.uint16 else P - 1
    cells = random.integers(0, most, (count, code.cells), dtype=dtype, endpoint=True)
    pads = random.integers(0, P, (count, code.pads), dtype=np.uint64)
    cells[0], pads[0] = most, P - 1
    return cells, pads


@pytest.mark.parametrize("dtype", [np.uint16, np.uint64])
@pytest.mark.parametrize(("cells", "pads"), [(128, 300), (512, 0), (1024, 7), (1 << 13, 100)])
def test_codewords_of_long_rows(cells: int, pads: int, dtype: type) -> None:
    code = Code(cells, pads, 4 * cells)
    rows, padding = rows_of(code, 3, dtype)
    found = encode(code, rows, padding)
    columns = sorted({0, 1, cells - 1, cells, 4 * cells - 1, *np.random.default_rng(1).integers(0, 4 * cells, 20).tolist()})
    points = [code.point(column) for column in columns]
    for row, pad, codeword in zip(rows, padding, found, strict=True):
        assert codeword[columns].tolist() == evaluate(row.tolist() + pad.tolist(), points)


@pytest.mark.parametrize("dtype", [np.uint16, np.uint64])
@pytest.mark.parametrize(("cells", "pads"), [(1, 1), (2, 3), (16, 5), (32, 20), (64, 3), (128, 300), (2048, 9)])
def test_columns_alone_are_those_of_the_codewords(cells: int, pads: int, dtype: type) -> None:
    code = Code(cells, pads, 4 * cells)
    rows, padding = rows_of(code, 4, dtype)
    found, factors = encode(code, rows, padding), tables(code)
    some = sorted(set(np.random.default_rng(2).integers(0, 4 * cells, 30).tolist()))
    for columns in ([0], [4 * cells - 1], some, list(range(min(4 * cells, 200)))):
        assert (columns_of(code, rows, padding, factors, columns) == found[:, columns]).all()


@pytest.mark.parametrize("name", ["4-4-4-3", "20-40-3"])
def test_codewords_that_are_not_kept_change_nothing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    given = case(*NETWORKS[name])
    model = given.commit()
    kept = given.prove(model)
    monkeypatch.setattr(ligero_prover, "KEPT", 0)
    dropped = given.commit()
    made = given.prove(dropped)
    assert model.codewords is not None and dropped.codewords is None and dropped.root == model.root and made.root == kept.root
    assert all((a == b).all() for a, b in zip(made.opening.columns, kept.opening.columns, strict=True))
    assert (made.messages == kept.messages).all() and verdict(given, made, model.root) == "verified"
