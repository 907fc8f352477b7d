# SPDX-License-Identifier: Apache-2.0
"""The trusted base stays small, and imports nothing that it should not."""

from __future__ import annotations

import pytest

from certify.cli.trusted import code_lines
from reliability import ROOT
from reliability.trusted import CORE_LINES, core_lines
from trusted_base import BUDGETS, imported_by


def test_the_core_is_within_its_budget() -> None:
    assert core_lines() <= CORE_LINES


@pytest.mark.parametrize(("kind", "name", "most"), BUDGETS)
def test_a_verdict_imports_a_trusted_base_within_its_budget(kind: str, name: str, most: int) -> None:
    files = imported_by(kind, name)
    assert sum(map(code_lines, files)) <= most
    outside = [path for path in files if not path.is_relative_to(ROOT / "certify")]
    assert not outside if "private" not in kind else all(path.parent == ROOT / "zk/certify_zk" and "prover" not in path.stem for path in outside)
    assert not any({"cli", "report"} & set(path.relative_to(ROOT).parts) for path in files)


def test_a_refutation_rests_on_no_bounds() -> None:
    names = {path.stem for path in imported_by("region", "counterexample")}
    assert {"counterexample", "evaluation"} <= names and not {"bounds_tree", "relaxation", "signature"} & names


@pytest.mark.parametrize(("modules", "most"), [(("float32",), 150), (("fixed_point",), 300), (("norm_ball", "slopes", "neuron_splits"), 100)])
def test_what_some_certificates_need_beyond_that_is_small(modules: tuple[str, ...], most: int) -> None:
    always = imported_by("accuracy", "all-forms")
    paths = [ROOT / f"certify/rules/{name}.py" for name in modules]
    assert not set(paths) & set(always)
    assert sum(map(code_lines, paths)) <= most


def test_modules_are_of_a_size_that_can_be_read() -> None:
    paths = [path for folder in ("certify", "solvers", "problems", "zk") for path in (ROOT / folder).rglob("*.py")]
    sizes = {path: len(path.read_text("utf-8").splitlines()) for path in paths}
    assert len(sizes) > 40
    assert {path.name: size for path, size in sizes.items() if size > 500} == {}
