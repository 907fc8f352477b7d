# SPDX-License-Identifier: Apache-2.0
"""Container, canonical JSON and fields: what is written is read back, and no other bytes are."""

from __future__ import annotations

import json
import random
import subprocess
import zipfile
from fractions import Fraction
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from certify import archive, canonical, container, files
from certify.errors import CertifyError, Rejected
from certify.fields import Integer, ListOf, Nullable, OneOrMany, Rational, Record
from certify.files import OutputError
from certify.limits import Limits
from certify_solvers.common.emit import array_entry
from kinds.region_vectors import bases
from toolkit import Specimen, pack

_JSON = st.recursive(st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.text(st.characters(exclude_categories=("Cs",))),
                     lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(st.characters(max_codepoint=127), max_size=6), inner,
                                                                                 max_size=4), max_leaves=12)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(_JSON)
def test_canonical_json_round_trips(value: object) -> None:
    assert canonical.parse(canonical.encode(value), Limits(), "x") == value


@settings(max_examples=300, deadline=None, derandomize=True)
@given(_JSON, st.booleans())
def test_other_layouts_of_the_same_json_are_malformed(value: object, ascii_only: bool) -> None:
    other = json.dumps(value, ensure_ascii=ascii_only, indent=1).encode()
    if other == canonical.encode(value):
        return
    with pytest.raises(Rejected) as caught:
        canonical.parse(other, Limits(), "x")
    assert caught.value.code == "malformed"


@settings(max_examples=500, deadline=None, derandomize=True)
@given(st.binary(max_size=200))
def test_random_bytes_are_never_json_or_an_archive_by_accident(data: bytes) -> None:
    for read in (lambda: canonical.encode(canonical.parse(data, Limits(), "x")) == data, lambda: bool(archive.read(data, Limits(), "x"))):
        try:
            assert read()
        except CertifyError as trouble:
            assert trouble.code in ("malformed", "limit-reached")


@pytest.mark.parametrize("value", [2**53, -(2**53), 1.0, float("nan"), b"x", {"\u00e9": 1}, {1: 2}, "\ud800"])
def test_values_without_a_canonical_form_are_refused(value: object) -> None:
    with pytest.raises(ValueError, match=r".*"):
        canonical.encode(value)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.lists(st.tuples(st.text("abz019._-/", min_size=1, max_size=12), st.binary(max_size=50)), min_size=1, max_size=5, unique_by=lambda m: m[0]))
def test_archives_round_trip_and_open_with_other_tools(members: list[tuple[str, bytes]]) -> None:
    data = b"".join(archive.pieces(members))
    assert [(name, bytes(part)) for name, part in archive.read(data, Limits(), "x")] == members
    with zipfile.ZipFile(BytesIO(data)) as other:
        assert [(info.filename, other.read(info)) for info in other.infolist()] == members
        assert other.testzip() is None


def _mutations(count: int, seed: int) -> None:
    rng = random.Random(seed)
    specimen = bases().mixed
    good = specimen.seal()
    files = {role: [pair] for role, pair in specimen.files.items()}
    from certify.verification import check
    for _ in range(count):
        data = bytearray(good)
        for _ in range(rng.choice((1, 1, 1, 2, 5))):
            where = rng.randrange(len(data))
            what = rng.randrange(4)
            if what == 0:
                data[where] ^= 1 << rng.randrange(8)
            elif what == 1:
                del data[where : where + rng.randrange(1, 20)]
            elif what == 2:
                data[where:where] = bytes(rng.randrange(256) for _ in range(rng.randrange(1, 8)))
            else:
                data[where : where + 4] = rng.choice((b"\0\0\0\0", b"\xff\xff\xff\xff", b"PK\1\2"))
            if not data:
                data = bytearray(b"x")
        if bytes(data) == good:
            continue
        with pytest.raises(CertifyError):  # whatever else leaves fails this test
            check(bytes(data), "mutant", files, None, Limits())


def test_every_changed_byte_is_noticed() -> None:
    specimen = bases().split
    good = specimen.seal()
    files = {role: [pair] for role, pair in specimen.files.items()}
    from certify.verification import check
    for position in range(len(good)):
        data = bytearray(good)
        data[position] ^= 0x10
        with pytest.raises(CertifyError):
            check(bytes(data), "mutant", files, None, Limits())


def test_random_mutations_raise_nothing_but_our_errors() -> None:
    _mutations(1500, 5)


@pytest.mark.slow
def test_hundred_thousand_random_mutations_raise_nothing_but_our_errors() -> None:
    _mutations(100_000, 6)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.fractions())
def test_rationals_round_trip(value: Fraction) -> None:
    field = Rational()
    assert field.decode(field.encode(value), "x") == value


@settings(max_examples=500, deadline=None, derandomize=True)
@given(st.text("0123456789/-+._e \u0661", max_size=10))
def test_a_rational_has_one_form(text: str) -> None:
    try:
        value = Rational().decode(text, "x")
    except Rejected as trouble:
        assert trouble.code == "malformed"
    else:
        assert str(value) == text


def test_fields_have_no_second_form() -> None:
    record = Record({"a": Integer(0, 5), "b": Nullable(ListOf(Rational(), 1, 2))}, optional=frozenset({"b"}))
    assert record.decode({"a": 3}, "x")["a"] == 3
    for bad in ({}, {"a": 6}, {"a": True}, {"a": "3"}, {"a": 3, "c": 1}, {"a": 3, "b": []}, {"a": 3, "b": ["1", "2", "3"]}, [], None,
                {"a": 3, "b": ["2/2"]}):
        with pytest.raises(Rejected):
            record.decode(bad, "x")
    assert OneOrMany(Rational()).decode("1/2", "x") == Fraction(1, 2)
    assert OneOrMany(Rational()).encode((Fraction(1), Fraction(2))) == ["1", "2"]


def _written(path: Path, specimen: Specimen) -> str:
    members = container.members(specimen.content(), specimen.arrays, {})
    files.save(path, archive.pieces(members))
    return container.read(path.read_bytes(), Limits(), path.name).id


def test_same_content_gives_the_same_bytes_and_id(tmp_path: Path) -> None:
    leaf = bases().leaf
    ids = {_written(tmp_path / name, leaf) for name in ("a.cert", "b.cert")}
    assert len(ids) == 1 and (tmp_path / "a.cert").read_bytes() == (tmp_path / "b.cert").read_bytes() == leaf.seal()
    assert container.read(leaf.seal(), Limits(), "x").id in ids


def test_unzip_and_file_know_a_certificate(tmp_path: Path) -> None:
    path = tmp_path / "a.cert"
    path.write_bytes(bases().leaf.seal())
    for command, wanted in ((["unzip", "-t", str(path)], "No errors"), (["file", "-b", str(path)], "application/vnd.certify.certificate+zip")):
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        except FileNotFoundError:
            pytest.skip(f"{command[0]} is not installed")
        assert wanted in done.stdout


def test_a_failed_write_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "a.cert"
    path.write_bytes(b"before")
    with pytest.raises(TypeError):
        files.save(path, [b"x", "text"])  # type: ignore[list-item]
    assert path.read_bytes() == b"before" and [p.name for p in tmp_path.iterdir()] == ["a.cert"]
    with pytest.raises(OutputError) as caught:
        files.save(tmp_path / "missing" / "a.cert", [b"x"])
    assert caught.value.code == "output-unwritable"
    (tmp_path / "folder").mkdir()
    with pytest.raises(OutputError):
        files.save(tmp_path / "folder", [b"x"])


def test_arrays_of_every_dtype_survive(tmp_path: Path) -> None:
    content = bases().leaf.content()
    for dtype in container.DTYPES:
        array = np.arange(6).astype(dtype).reshape(2, 3)
        content["predicate"]["evidence"]["arrays"] = {"a": array_entry("a", array)}
        back = container.read(pack(content, {"a": array}), Limits(), "x").arrays["a"]
        assert back.dtype.str == dtype and (back == array).all()
