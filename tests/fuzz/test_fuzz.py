# SPDX-License-Identifier: Apache-2.0
"""Changed seeds through every target that atheris fuzzes: a slice without atheris in every run, 100,000 inputs with it in the slow suite."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import certify.readers
from fuzz import run
from fuzz.targets import SECONDS, TARGETS, Slow, Target

_MODELS = {"ball", "__init__"}  # dataclasses, no reader


@pytest.fixture(scope="module", params=sorted(TARGETS))
def target(request: pytest.FixtureRequest) -> Target:
    return TARGETS[request.param]


def test_every_reader_is_fuzzed() -> None:
    read = {module.removeprefix("readers.") for target in TARGETS.values() for module in target.reads}
    readers = {path.stem for path in Path(certify.readers.__path__[0]).glob("*.py")}
    assert readers - _MODELS <= read


def test_seeds_are_read_or_refused(target: Target) -> None:
    seeds = list(islice(target.seeds(), 60))
    assert len(seeds) >= 2
    for seed in seeds:
        target(seed)


def test_changed_seeds_are_read_or_refused(target: Target) -> None:
    seeds = [seed for seed in islice(target.seeds(), 40) if len(seed) < 20_000]

    @settings(max_examples=60, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
    @given(st.data())
    def changed(data: st.DataObject) -> None:
        made = bytearray(data.draw(st.sampled_from(seeds)))
        for _ in range(data.draw(st.integers(1, 3))):
            at, size = data.draw(st.integers(0, len(made))), data.draw(st.integers(0, 9))
            other = data.draw(st.sampled_from(seeds))
            start = data.draw(st.integers(0, len(other)))
            made[at : at + size] = data.draw(st.binary(max_size=9) | st.just(other[start : start + 40]))
        target(bytes(made))

    changed()


def test_a_target_lets_out_what_is_no_error_of_ours() -> None:
    def wrong(data: bytes) -> object:
        return data[5]

    def endless(data: bytes) -> object:
        return sum(range(10**8)) if data else None

    with pytest.raises(IndexError):
        Target("wrong", (), wrong, lambda: [])(b"abc")
    with pytest.raises(Slow):
        Target("endless", (), endless, lambda: [])(b"abc")
    assert SECONDS <= 1


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(TARGETS))
def test_hundred_thousand_inputs_let_out_nothing_else(name: str) -> None:
    if not run.available():
        pytest.skip("atheris is not installed")
    found, = run.fuzz(100_000, 7, 1, None, print, name)
    assert found.failing is None, (found.failing, found.told)
    assert found.runs >= run.shares(100_000)[name]
