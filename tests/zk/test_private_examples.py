# SPDX-License-Identifier: Apache-2.0
"""The example of private networks: how many of its questions have a witness, with the shipped weights, and that its files belong together."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import onnxruntime
import pytest

from certify.canonical import encode
from certify.limits import Limits
from certify.readers.arrays import read_npy
from certify.readers.formula import Part, parts
from certify.readers.table import read_table
from certify.readers.vnnlib1 import read_vnnlib1
from certify_problems.private import credit, digits
from certify_zk.conversion import Converted, convert
from certify_zk.deployment import quantised_onnx
from certify_zk.preparation import box, prepare, read_rows
from certify_zk.settings import Settings, read_settings
from certify_zk.statement import Box, Rows, Statement, robust
from certify_zk.witness import Unknown, Witness, witness
from zk.test_conversion import mapped
from zk.tiny import values

FOLDER = Path(__file__).resolve().parents[2] / "examples/private"
FULL, MIXED = ("crown", "crown", "crown"), ("crown", "ibp", "crown")
PROVED = {  # of a hundred images, by the radius in grey levels: with full passes, and with interval bounds of the second hidden layer
    (FULL, "1/4"): 97, (FULL, "1/2"): 96, (FULL, "1"): 91, (FULL, "3/2"): 68,
    (MIXED, "1/4"): 97, (MIXED, "1/2"): 96, (MIXED, "1"): 88, (MIXED, "3/2"): 49,
}
FIRST = {(FULL, "1"): 27, (FULL, "3/2"): 21, (MIXED, "1"): 27, (MIXED, "3/2"): 16}
"""The same of the first thirty."""


def read(name: str) -> bytes:
    """Return a file of the example."""
    return (FOLDER / name).read_bytes()


@dataclass(frozen=True)
class Digits:
    """The digits as they are committed with some modes, and the images that are asked about."""

    modes: tuple[str, ...] = FULL
    remainder: bool = True

    @property
    def settings(self) -> Settings:
        """The policy file with these choices."""
        return replace(read_settings(read("digits-policy.toml")), modes=self.modes, remainder=self.remainder)

    def made(self) -> Converted:
        """Return what is committed."""
        return prepare(read("digits.onnx"), self.settings, read_rows(read("digits-calibration.npy"), 64))

    def proved(self, radius: str, count: int) -> int:
        """Return how many of the first images have a witness of their label in the box of a radius in grey levels."""
        made, labels = self.made(), read_npy(read("digits-labels.npy"))
        asked = [robust((box(made.policy, row, Fraction(radius)),), 10, int(label))
                 for row, label in zip(read_rows(read("digits-images.npy"), 64)[:count], labels, strict=False)]
        found = [witness(made.policy, made.model, statement) for statement in asked]
        assert all(isinstance(one, Witness) or one.quantity == "region0.pass3.slack" for one in found)  # nothing fails for want of room
        return sum(isinstance(one, Witness) for one in found)


@pytest.mark.parametrize(("modes", "radius"), FIRST)
def test_digits_that_are_proved(modes: tuple[str, ...], radius: str) -> None:
    assert Digits(modes).proved(radius, 30) == FIRST[modes, radius]


@pytest.mark.slow
@pytest.mark.parametrize("remainder", [True, False])
@pytest.mark.parametrize(("modes", "radius"), PROVED)
def test_table_of_digits_that_are_proved(modes: tuple[str, ...], radius: str, remainder: bool) -> None:
    assert Digits(modes, remainder).proved(radius, 100) == PROVED[modes, radius]


def credit_made() -> tuple[Converted, tuple[tuple[Fraction, ...], ...]]:
    """Return the credit model as it is committed, and the applicants."""
    rows = read_rows(read("applicants.csv"), len(credit.COLUMNS))
    return prepare(read("credit.onnx"), read_settings(read("credit-policy.toml")), rows[:20]), rows


def fair(made: Converted, row: tuple[Fraction, ...], favourable: bool) -> Statement:
    """Return the statement that age and sex, whatever they are, do not change the decision about an applicant."""
    some, (low, high) = box(made.policy, row, Fraction(0)), made.policy.inputs.domain(len(row), made.policy.input_scale)
    free = [name in credit.SENSITIVE for name in credit.COLUMNS]
    region = Box(tuple(a if any_ else b for any_, a, b in zip(free, low, some.lower, strict=True)),
                 tuple(b - a if any_ else w for any_, a, b, w in zip(free, low, high, some.width, strict=True)))
    return Statement((region,), Rows(((1,),), (1,)) if favourable else Rows(((-1,),), (0,)))


def same(made: Converted, row: tuple[Fraction, ...], favourable: bool) -> bool:
    """Return whether the decision about an applicant is the same at some ages, for both sexes."""
    others = [(Fraction(age), Fraction(sex), *row[2:]) for age in range(18, 76, 3) for sex in (0, 1)]
    return all((values(made.policy, made.model, mapped(made.policy.inputs, other))[-1][0] > 0) == favourable for other in others)


def test_most_applicants_are_treated_alike_whatever_age_and_sex() -> None:
    made, rows = credit_made()
    decided = [values(made.policy, made.model, mapped(made.policy.inputs, row))[-1][0] > 0 for row in rows]
    found = [isinstance(witness(made.policy, made.model, fair(made, row, good)), Witness) for row, good in zip(rows, decided, strict=True)]
    assert (len(found), sum(decided), sum(found)) == (100, 45, 96)
    for row, good, proved in [*zip(rows, decided, found, strict=True)][::5]:
        assert same(made, row, good) or not proved
    for row, good, proved in zip(rows, decided, found, strict=True):
        assert proved or not same(made, row, good)  # what is not proved is not so


def unsafe(name: str) -> list[Part]:
    """Return the parts of a property."""
    return list(parts(read_vnnlib1(read(name), Limits()), Limits()).parts)


def region(made: Converted, part: Part) -> Box:
    """Return the box of a part."""
    low, high = (box(made.policy, ends, Fraction(0)) for ends in (part.lower, part.upper))
    return Box(low.lower, tuple(b + w - a for a, b, w in zip(low.lower, high.lower, high.width, strict=True)))


def test_the_properties_have_witnesses() -> None:
    made, some = Digits().made(), unsafe("digits.vnnlib")
    image, label = read_rows(read("digits-images.npy"), 64)[3], int(read_npy(read("digits-labels.npy"))[3])
    asked = region(made, some[0])
    assert asked == box(made.policy, image, Fraction(1))
    rows = {tuple(sorted((k, int(v)) for k, v in row.outputs.items())) for part in some for conjunct in part.conjuncts for row in conjunct}
    assert len(rows) == 9 and all(dict(row)[label] * dict(row)[other] == -1 for row in rows for other in dict(row) if other != label)
    assert isinstance(witness(made.policy, made.model, robust((asked,), 10, label)), Witness)
    credited, _ = credit_made()
    found = witness(credited.policy, credited.model, Statement((region(credited, unsafe("credit.vnnlib")[0]),), Rows(((1,),), (1,))))
    assert not isinstance(found, Unknown) and found.margins[0][0] > 1


@pytest.mark.parametrize("name", ["digits", "credit"])
def test_the_quantised_networks_decide_alike(name: str) -> None:
    made, rows = credit_made() if name == "credit" else (Digits().made(), read_rows(read("digits-images.npy"), 64))
    original, quantised = (onnxruntime.InferenceSession(data) for data in (read(f"{name}.onnx"), quantised_onnx(made)))
    x = np.array([[float(v) for v in row] for row in rows], np.float32)
    first, second = (np.vstack([session.run(None, {"input": row[None]})[0] for row in x]) for session in (original, quantised))
    assert np.abs(first - second).max() < 0.02 and made.rounding <= Fraction(1, 8192)
    exact = [[float(v) for v in values(made.policy, made.model, mapped(made.policy.inputs, row))[-1]] for row in rows[:5]]
    assert np.allclose(second[:5], exact, atol=1e-4)
    if name == "digits":
        labels = read_npy(read("digits-labels.npy"))
        assert (second.argmax(1) == labels).sum() == (first.argmax(1) == labels).sum() == 97


def test_files_are_those_that_the_scripts_write() -> None:
    images, labels = digits.data()
    asked = slice(digits.TRAINED, digits.TRAINED + digits.ASKED)
    assert np.array_equal(read_npy(read("digits-images.npy")), images[asked]) and np.array_equal(read_npy(read("digits-labels.npy")), labels[asked])
    assert np.array_equal(read_npy(read("digits-calibration.npy")), images[:20])
    assert read("digits-policy.toml").decode() == digits.POLICY and read("credit-policy.toml").decode() == credit.POLICY
    assert read("credit.schema") == credit.schema()
    rows, _ = credit.population(credit.RECORDS + credit.ASKED, np.random.default_rng(0))
    table = read_table(read("applicants.csv"), Limits())
    assert table.columns == credit.COLUMNS and np.array_equal(np.array(table.rows, np.float64), rows[credit.RECORDS:])


def test_the_schema_tells_all_columns() -> None:
    schema = json.loads(read("credit.schema"))
    columns = [column for feature in schema["features"] for column in feature.get("columns", [feature["name"]])]
    assert tuple(columns) == credit.COLUMNS and schema["sensitive"] == list(credit.SENSITIVE) and encode(schema) == read("credit.schema")
    settings = read_settings(read("credit-policy.toml"))
    for feature, low, high in zip(schema["features"], settings.lower, settings.upper, strict=False):
        if feature["kind"] == "integer":
            assert (str(low), str(high)) == (feature["lower"], feature["upper"])
    for row in read_table(read("applicants.csv"), Limits()).rows:
        assert sum(row[5:9]) == sum(row[9:12]) == 1
        assert all(low <= x <= high for low, x, high in zip(settings.lower, row, settings.upper, strict=True))


def test_the_example_is_small() -> None:
    assert sum(path.stat().st_size for path in FOLDER.iterdir()) < 1 << 20


@pytest.mark.slow
@pytest.mark.parametrize("script", [digits, credit])
def test_training_again_gives_a_network_like_the_shipped_one(script: object) -> None:
    files = script.files()  # type: ignore[attr-defined]
    for name, content in files.items():
        if not name.endswith(".onnx"):
            assert content == read(name)
        else:
            again, shipped = (convert(data, Settings()) for data in (content, read(name)))
            assert again.policy.layers == shipped.policy.layers and again.interface == shipped.interface
