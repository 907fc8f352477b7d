# SPDX-License-Identifier: Apache-2.0
"""The trusted base stays small, and imports nothing that it should not."""

from __future__ import annotations

import pytest

from certify.cli.trusted import code_lines
from reliability import ROOT
from reliability.trusted import core_lines, trusted_files


def test_the_core_is_within_its_budget() -> None:
    assert core_lines() <= 600


@pytest.mark.parametrize(("kind", "most"), [("region", 2640), ("robust", 2640), ("accuracy", 2700)])
def test_a_verdict_imports_a_trusted_base_within_its_budget(kind: str, most: int) -> None:
    files = trusted_files(kind)
    assert sum(map(code_lines, files)) <= most
    assert all(path.is_relative_to(ROOT / "certify") for path in files)
    assert not any("cli" in path.relative_to(ROOT / "certify").parts for path in files)


@pytest.mark.parametrize(("modules", "most"), [(("float32",), 150), (("fixed_point",), 300), (("norm_ball", "slopes", "neuron_splits"), 100)])
def test_what_some_certificates_need_beyond_that_is_small(modules: tuple[str, ...], most: int) -> None:
    always = trusted_files("accuracy")
    paths = [ROOT / f"certify/rules/{name}.py" for name in modules]
    assert not set(paths) & set(always)
    assert sum(map(code_lines, paths)) <= most


def test_modules_are_of_a_size_that_can_be_read() -> None:
    paths = [path for folder in ("certify", "solvers", "problems") for path in (ROOT / folder).rglob("*.py")]
    sizes = {path: len(path.read_text("utf-8").splitlines()) for path in paths}
    assert len(sizes) > 40
    assert {path.name: size for path, size in sizes.items() if size > 500} == {}
