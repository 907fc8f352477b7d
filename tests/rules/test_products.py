# SPDX-License-Identifier: Apache-2.0
"""Array products: within their error bound of the exact ones, and the only place of the checker that multiplies matrices."""

import ast
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import certify
from certify.rules.balls import gamma
from certify.rules.products import dot, matmul, matmul_transposed

_FORBIDDEN = {"dot", "matmul", "linalg", "vdot", "inner", "tensordot", "einsum", "outer", "kron", "cross"}


def _exact(rows: np.ndarray, matrix: np.ndarray) -> list[list[Fraction]]:
    return [[sum((Fraction(a) * Fraction(b) for a, b in zip(row, column, strict=True)), Fraction(0)) for column in matrix.T.tolist()]
            for row in rows.tolist()]


def test_products_are_within_gamma_of_the_exact_ones() -> None:
    rng = np.random.default_rng(3)
    for _ in range(60):
        r, m, n = (int(k) for k in rng.integers(1, 9, 3))
        rows = rng.standard_normal((r, m)) * 2.0 ** rng.integers(-100, 100, (r, m))
        matrix = rng.standard_normal((m, n)) * 2.0 ** rng.integers(-100, 100, (m, n))
        exact, size = _exact(rows, matrix), _exact(np.abs(rows), np.abs(matrix))
        for found in (matmul(rows, matrix), matmul_transposed(rows, np.ascontiguousarray(matrix.T))):
            for i in range(r):
                for j in range(n):
                    assert abs(Fraction(float(found[i, j])) - exact[i][j]) <= Fraction(gamma(m + 1)) * size[i][j]
        other = rng.standard_normal((r, m))
        for i, value in enumerate(dot(rows, other).tolist()):
            true = sum((Fraction(a) * Fraction(b) for a, b in zip(rows[i].tolist(), other[i].tolist(), strict=True)), Fraction(0))
            scale = sum((abs(Fraction(a) * Fraction(b)) for a, b in zip(rows[i].tolist(), other[i].tolist(), strict=True)), Fraction(0))
            assert abs(Fraction(value) - true) <= Fraction(gamma(m + 1)) * scale


def test_products_by_a_blas_keep_the_same_guarantee() -> None:
    rng = np.random.default_rng(17)
    rows, matrix = rng.standard_normal((5, 40)), rng.standard_normal((40, 3)) * 2.0 ** rng.integers(-30, 30, (40, 3))
    for found, right in ((matmul(rows, matrix, True), matrix), (matmul_transposed(rows, np.ascontiguousarray(matrix.T), True), matrix)):
        for i in range(5):
            for j in range(3):
                terms = [Fraction(a) * Fraction(b) for a, b in zip(rows[i].tolist(), right[:, j].tolist(), strict=True)]
                assert abs(Fraction(float(found[i, j])) - sum(terms)) <= Fraction(gamma(41)) * sum(map(abs, terms))


class _Watched(np.ndarray):
    """An array that notes whether it is multiplied by numpy's operator, which may call a BLAS."""

    used = 0

    def __matmul__(self, other: np.ndarray) -> np.ndarray:
        _Watched.used += 1
        return np.asarray(self) @ np.asarray(other)


def test_a_blas_is_used_where_it_is_allowed_and_nowhere_else(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    plain = np.einsum
    monkeypatch.setattr(np, "einsum", lambda *operands, **options: asked.append(options) or plain(*operands, **options))
    rows, matrix = np.ones((2, 3)).view(_Watched), np.ones((3, 3))
    for product in (matmul, matmul_transposed):
        for blas in (False, True):
            before = _Watched.used, len(asked)
            assert np.asarray(product(rows, matrix, blas)).tolist() == [[3.0] * 3] * 2
            assert (_Watched.used - before[0], len(asked) - before[1]) == ((1, 0) if blas else (0, 1))
    assert dot(np.ones((2, 3)), np.ones(3)).tolist() == dot(np.ones((2, 3)), np.ones((2, 3))).tolist() == [3.0, 3.0]
    assert len(asked) == 4 and all(options == {"optimize": False} for options in asked)


# products whose bounds the checker relies on stand in `products`; `island_angles` only proposes angles, which `recourse` bounds by itself
# (tests/rules/test_recourse.py: wrong angles cost coverage, never soundness)
_MAY = {"products.py", "island_angles.py"}


def test_no_other_module_of_the_checker_multiplies_matrices() -> None:
    root = Path(certify.__file__).parent
    checked = 0
    for path in sorted(root.rglob("*.py")):
        if path.relative_to(root).parts[0] == "cli":
            continue
        checked += 1
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            operator = isinstance(node, (ast.BinOp, ast.AugAssign)) and isinstance(node.op, ast.MatMult)
            named = isinstance(node, ast.Attribute) and node.attr in _FORBIDDEN and isinstance(node.value, ast.Name) and node.value.id == "np"
            assert not operator or path.name in _MAY, f"{path.name}:{node.lineno} uses @"
            assert not named or path.name in _MAY, f"{path.name} uses np.{node.attr}"
    assert checked > 20
