# SPDX-License-Identifier: Apache-2.0
"""Policy files: every number is exact, what is left open has the defaults of a policy, and everything else is refused with its key."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from certify.errors import UsageError
from certify_zk.policy import UNIT_CUBE, Dense, Policy
from certify_zk.settings import Settings, read_settings

FULL = """
modes = ["crown", "ibp", "stop:1"]
level = 128
uses = 4
slope_bits = 10
bias_bits = 20
remainder = false
calibration_radius = "2/255"
[scales]
weight = 11
bias = 10
input = 9
total = 15
[input]
offset = [-1, 0.1, "-1/3"]
scale = "1/255"
lower = [-1.0, 0.25, 0]
upper = [1e2, 1_000.5, "7/2"]
"""


def layers(*sizes: int) -> tuple[Dense, ...]:
    """Return an architecture."""
    return tuple(Dense(a, b) for a, b in pairwise(sizes))


def test_an_empty_file_is_the_default_policy() -> None:
    found = read_settings(b"")
    assert found == Settings() and (found.slope_bits, found.radius, found.offset, found.scale) == (None,) * 4
    assert (found.lower, found.upper) == (UNIT_CUBE.lower, UNIT_CUBE.upper)
    assert found.policy(layers(4, 5, 3), UNIT_CUBE) == Policy(layers(4, 5, 3), ("crown",) * 2, ((),) * 2)


def test_a_full_file_is_read_exactly() -> None:
    found = read_settings(FULL.encode())
    assert found.offset == (Fraction(-1), Fraction(1, 10), Fraction(-1, 3)) and found.scale == (Fraction(1, 255),)
    assert found.lower == (Fraction(-1), Fraction(1, 4), Fraction(0)) and found.upper == (Fraction(100), Fraction(2001, 2), Fraction(7, 2))
    assert found.radius == Fraction(2, 255)
    policy = found.policy(layers(3, 4, 4, 2), UNIT_CUBE)
    assert policy == Policy(layers(3, 4, 4, 2), ("crown", "ibp", "stop:1"), ((),) * 3, UNIT_CUBE, weight_scale=11, slope_bits=10, bias_scale=10,
                            input_scale=9, total_scale=15, bias_bits=20, remainder=False, level=128, uses=4)


def test_every_key_alone_changes_one_setting() -> None:
    changed = set()
    for line in FULL.split("[scales]")[0].strip().splitlines():
        found, bare = read_settings(line.encode()), Settings()
        differs = [name for name in vars(bare) if getattr(found, name) != getattr(bare, name)]
        assert len(differs) == 1
        changed |= set(differs)
    assert changed == {"modes", "level", "uses", "slope_bits", "bias_bits", "remainder", "radius"}
    assert read_settings(b'slope_bits = "auto"') == Settings()


def test_equal_entries_are_one() -> None:
    assert read_settings(b"[input]\nlower = [0, 0.0, '0']\nupper = [2, 3, 2]") == replace(
        Settings(), upper=(Fraction(2), Fraction(3), Fraction(2)))


@pytest.mark.parametrize(("word", "depth", "modes"), [
    ("crown", 3, "crown crown crown"), ("ibp", 3, "crown ibp ibp"), ("ibp", 1, "crown"), ("stop:1", 4, "crown ibp stop:1 stop:1"),
    ("stop:2", 5, "crown crown ibp stop:2 stop:2"), ("stop:1", 2, "crown ibp"), ("stop:2", 3, "crown crown ibp"),
])
def test_one_word_is_the_mode_of_all_passes(word: str, depth: int, modes: str) -> None:
    policy = read_settings(f'modes = "{word}"'.encode()).policy(layers(*range(2, 3 + depth)), UNIT_CUBE)
    assert policy.modes == tuple(modes.split())
    lengths = [m - 1 - policy.stop(m) for m in range(1, depth + 1)]
    replace(policy, tau=tuple((12,) * length for length in lengths)).require()


@given(st.lists(st.fractions(max_denominator=10**9), min_size=1, max_size=4))
@settings(max_examples=50, deadline=None)
def test_fractions_come_back(values: list[Fraction]) -> None:
    text = ", ".join(f'"{value}"' for value in values)
    upper = max(values) + 1
    found = read_settings(f'[input]\nlower = [{text}]\nupper = "{upper}"'.encode())
    assert found.lower == (tuple(values) if len(set(values)) > 1 else tuple(values[:1])) and found.upper == (upper,)


@pytest.mark.parametrize(("text", "key", "said"), [
    ("depth = 3", "depth", "no such key"), ("mode = 'crown'", "mode", "no such key"), ("[scales]\nweights = 3", "scales.weights", "no such key"),
    ("[input]\nlow = 3", "input.low", "no such key"), ("[inputs]\nlower = 3", "inputs", "no such key"), ("scales = 3", "scales", "no table"),
    ("input = [1]", "input", "no table"), ("level = 99", "level", "level"), ("level = true", "level", "level"), ("level = '100'", "level", "level"),
    ("level = 100.5", "level", "level"), ("level = [100]", "level", "level"), ("uses = 0", "uses", "integer"), ("uses = 65", "uses", "integer"),
    ("uses = 1.0", "uses", "integer"), ("uses = true", "uses", "integer"), ("slope_bits = 0", "slope_bits", "integer"),
    ("slope_bits = 16", "slope_bits", "integer"), ("slope_bits = 'most'", "slope_bits", "integer"), ("bias_bits = 33", "bias_bits", "integer"),
    ("bias_bits = 1", "bias_bits", "integer"), ("remainder = 1", "remainder", "true"), ("remainder = 'false'", "remainder", "true"),
    ("[scales]\nweight = 3", "scales.weight", "integer"), ("[scales]\nweight = 16", "scales.weight", "integer"),
    ("[scales]\ninput = 0", "scales.input", "integer"), ("[scales]\nbias = 17", "scales.total", "coarser"),
    ("[scales]\ntotal = 11", "scales.total", "coarser"), ("modes = 'alpha'", "modes", "mode"), ("modes = []", "modes", "mode"),
    ("modes = ['crown', 3]", "modes", "mode"), ("modes = 'stop:0'", "modes", "mode"), ("modes = 'stop:1234'", "modes", "mode"),
    ("calibration_radius = -1", "calibration_radius", "negative"), ("calibration_radius = 'wide'", "calibration_radius", "exact"),
    ("calibration_radius = [1]", "calibration_radius", "exact"), ("[input]\nlower = []", "input.lower", "empty"),
    ("[input]\nlower = true", "input.lower", "exact"), ("[input]\nlower = ['1/0']", "input.lower", "exact"),
    ("[input]\nlower = '0x1'", "input.lower", "exact"), ("[input]\nlower = ' 1'", "input.lower", "exact"),
    ("[input]\nlower = '1/-2'", "input.lower", "exact"), ("[input]\nlower = '1.5/2'", "input.lower", "exact"),
    ("[input]\nlower = 1979-05-27", "input.lower", "exact"), ("[input]\nlower = '1e400'", "input.lower", "exact"),
    ("[input]\nlower = {a = 1}", "input.lower", "exact"), ("[input]\nlower = 2", "input.upper", "empty"),
    ("[input]\nupper = 0", "input.upper", "empty"),
    ("[input]\nlower = [0, 1]\nupper = [1, 1]", "input.upper", "empty"), ("[input]\nlower = [0, 1]\nupper = [2, 2, 3]", "input", "2 and 3"),
    ("[input]\nscale = 0", "input.scale", "positive"), ("[input]\nscale = [1, -2]", "input.scale", "positive"),
    ("[input]\noffset = 0.5", "input.offset", "above"), ("[input]\noffset = [0, 1]", "input.offset", "above"),
    ("[input]\nlower = 1e999", "input.lower", "exact"), ("[input]\nlower = nan", "input.lower", "exact"), ("uses = -inf", "uses", "integer"),
    ("uses =", "file", "end of document"), ("uses = 1\nuses = 2", "file", "overwrite"), ("uses = " + "9" * 5000, "file", "digits"),
    ("a = " + "[" * 5000, "file", ""),
])
def test_what_is_refused_names_its_key(text: str, key: str, said: str) -> None:
    with pytest.raises(UsageError) as trouble:
        read_settings(text.encode())
    assert trouble.value.code == "policy-file" and trouble.value.what.startswith(f"{key}: ") and said in trouble.value.what
    assert trouble.value.where == f"key {key}" and trouble.value.fix


@pytest.mark.parametrize("data", [b"\xff", b"# " + b"x" * (8 << 20)])
def test_bytes_that_are_no_policy_file(data: bytes) -> None:
    with pytest.raises(UsageError, match="policy-file: file"):
        read_settings(data)


@pytest.mark.parametrize(("modes", "depth"), [
    ('["crown"]', 2), ('["crown", "crown", "crown"]', 2), ('["ibp", "crown"]', 2), ('["crown", "stop:1"]', 2), ('["crown", "ibp", "stop:2"]', 3),
    ('"stop:2"', 2), ('"stop:1"', 1), ('"stop:9"', 4),
])
def test_modes_that_the_passes_cannot_have(modes: str, depth: int) -> None:
    found: Any = read_settings(f"modes = {modes}".encode())
    with pytest.raises(UsageError, match="policy-file: modes"):
        found.policy(layers(*range(2, 3 + depth)), UNIT_CUBE)
