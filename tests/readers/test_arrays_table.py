# SPDX-License-Identifier: Apache-2.0
"""The .npy and CSV readers: what numpy wrote and what decimals denote, exactly; every other file is refused with its code."""

from __future__ import annotations

import io
import pickle
import random
import struct
import time
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from certify.errors import CertifyError, Declined
from certify.limits import Limits
from certify.readers.arrays import DTYPES, read_npy, read_row
from certify.readers.table import Table, read_table

Case = tuple[str, bytes]
SHAPES = ((), (1,), (5,), (0,), (3, 0), (2, 3), (4, 1, 2), (2, 2, 2, 2), (1,) * 8)


def saved(array: Any, **settings: Any) -> bytes:
    """Return the bytes that numpy saves."""
    file = io.BytesIO()
    np.save(file, array, **settings)
    return file.getvalue()


def npy(header: str | bytes, body: bytes = b"", version: int = 1) -> bytes:
    """Return a .npy file with a header of our own."""
    text = header.encode("latin-1") if isinstance(header, str) else header
    return b"\x93NUMPY" + bytes([version, 0]) + struct.pack("<H" if version == 1 else "<I", len(text)) + text + body


def described(descr: str = "'<f4'", order: str = "False", shape: str = "(2,)", body: bytes = bytes(8)) -> bytes:
    """Return a .npy file whose header has these texts for its fields."""
    return npy(f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}\n", body)


def extremes(dtype: str) -> list[Any]:
    """Return the values of an element type that a careless reader changes."""
    kind = np.dtype(dtype)
    if kind.kind == "f":
        found = np.finfo(kind)
        return [0.0, -0.0, 1.0, -1.5, 0.1, found.max, found.min, found.tiny, found.smallest_subnormal, -found.smallest_subnormal, found.eps]
    limits = np.iinfo(kind)
    return [0, 1, limits.min, limits.max, limits.max - 1]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_what_numpy_saves_is_read(dtype: str, shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng([*shape, DTYPES.index(dtype)])
    array = rng.choice(np.array(extremes(dtype), dtype), shape)
    for data in (saved(array), saved(np.array(array, np.dtype(dtype).newbyteorder("=")), allow_pickle=False)):
        found = read_npy(data)
        assert (found.dtype.str, found.shape, found.tobytes()) == (dtype, array.shape, array.tobytes())
        again = np.load(io.BytesIO(data), allow_pickle=False)
        assert again.tobytes() == found.tobytes()


@pytest.mark.parametrize("version", (1, 2, 3))
def test_all_versions_of_the_format(version: int) -> None:
    file = io.BytesIO()
    np.lib.format.write_array(file, np.array([[1, 2], [3, 4]], "<i8"), (version, 0))
    assert read_npy(file.getvalue()).tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize("dtype", DTYPES)
def test_rows_are_exact(dtype: str) -> None:
    values = extremes(dtype)
    array = np.array([values, values[::-1]], dtype)
    points = read_npy(saved(array))
    expected = [Fraction(*value.as_integer_ratio()) if array.dtype.kind == "f" else Fraction(int(value)) for value in array[0]]
    assert list(read_row(points, 0)) == expected
    assert list(read_row(points, 1)) == expected[::-1]
    cube = read_npy(saved(np.arange(24, dtype=dtype).reshape(2, 3, 2, 2)))
    assert read_row(cube, 1) == tuple(map(Fraction, range(12, 24)))


def array_headers() -> Iterator[Case]:
    good = described()
    yield from {
        "an empty file": b"", "another magic": b"\x93NUMPX" + good[6:], "text": b"1,2,3\n", "a zip": b"PK\x03\x04" + bytes(40),
        "cut in the magic": good[:5], "cut behind the version": good[:8], "version 0": good[:6] + b"\x00" + good[7:],
        "version 4": good[:6] + b"\x04" + good[7:], "cut in the header": good[:40],
        "a header longer than the file": good[:8] + struct.pack("<H", 60_000) + good[10:],
        "a header above 64 KiB": npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }" + " " * (1 << 16) + "\n", bytes(8), 2),
        "a header of 4 GiB": b"\x93NUMPY\x02\x00\xff\xff\xff\xff" + good[10:], "a pickle": pickle.dumps([1, 2, 3]), "an empty header": npy(""),
        "an .npz": _npz(),
    }.items()
    for name, header in {
        "a list": "[1, 2]", "a number": "7", "a set": "{'descr', 'fortran_order', 'shape'}", "a name": "descr", "a comparison": "1 if 1 else 2",
        "a call": "dict(descr='<f4', fortran_order=False, shape=(2,))", "an import": "__import__('os').system('true')", "a product": "(2,) * 3",
        "no descr": "{'fortran_order': False, 'shape': (2,)}", "no order": "{'descr': '<f4', 'shape': (2,)}",
        "no shape": "{'descr': '<f4', 'fortran_order': False}", "one more": "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), 'extra': 1}",
        "JSON": '{"descr": "<f4", "fortran_order": false, "shape": [2]}', "cut": "{'descr': '<f4', 'fortran_order': False, 'sha",
        "two dictionaries": "{}{}", "a lambda": "{'descr': lambda: 1}", "junk": "\x00\x01\x02",
        "letters outside ASCII": "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), '\xe9': 1}", "junk behind": good[10:-9].decode() + "; 1",
        "a bad escape": "{'descr': '\\x', }", "an unknown escape": "{'\\d': 1}", "2000 parentheses": "(" * 2000,
        "20,000 brackets": "[" * 20_000 + "]" * 20_000, "20,000 signs": "-" * 20_000 + "1", "60,000 digits": "9" * 60_000,
        "a long sum": "1" + "+1j" * 20_000, "a key that is a list": "{[]: 1}", "a set of dictionaries": "{{}}",
        "a key that is a dictionary": "{{}: 1}", "a set of lists inside": "{'descr': {[]}}", "a key that holds a dictionary": "{({},): 1}",
    }.items():
        yield name, npy(header)
    for shape in ("2", "[2]", "(2)", "(2.0,)", "('2',)", "(-2,)", "(True, 2)", "(None,)", "((2,),)", "(1,)*2", "{}", "None",
                  "(1, 1, 1, 1, 1, 1, 1, 1, 2)", "(281474976710656,)", "(0, 281474976710656)", "(9223372036854775808,)"):
        yield f"shape {shape}", described(shape=shape)
    yield "Fortran order", saved(np.asfortranarray(np.arange(6.0).reshape(2, 3)))
    for order in ("True", "0", "None", "'False'", "[]"):
        yield f"order {order}", described(order=order)


def _npz() -> bytes:
    file = io.BytesIO()
    np.savez(file, a=np.arange(3.0))
    return file.getvalue()


def array_types() -> Iterator[Case]:
    for dtype in ("f2", "i1", "i2", "i4", "u2", "u4", "u8", ">f4", ">f8", ">i8", "?", "c8", "c16", "S3", "U3", "M8[s]", "m8[s]", "V4", "longdouble"):
        yield dtype, saved(np.zeros(2, dtype))
    yield "objects", saved(np.array([1, "a", None], object), allow_pickle=True)
    yield "objects, empty", saved(np.array([], object), allow_pickle=True)
    yield "records", saved(np.zeros(2, [("a", "<f4"), ("b", "<i8")]))
    for descr in ("'f4'", "'float32'", "'=f4'", "'<f4 '", "''", "1", "None", "['<f4']", "('<f4', 2)", "[('a', '<f4')]", "'|O'", "'<f4,<f4'", "{}"):
        yield f"descr {descr}", described(descr)


def array_lengths() -> Iterator[Case]:
    for dtype in DTYPES:
        whole = saved(np.zeros((3, 2), dtype))
        yield f"{dtype}, a byte short", whole[:-1]
        yield f"{dtype}, a row short", whole[: -2 * np.dtype(dtype).itemsize]
        yield f"{dtype}, a byte long", whole + b"\0"
        yield f"{dtype}, two files", whole * 2
        yield f"{dtype}, no data", whole[:128]
    largest = "(" + ", ".join(["281474976710655"] * 8) + ")"
    for shape in ("(268435456,)", "(1099511627776,)", "(4294967296, 4294967296)", "(281462092005375, 65537, 2)", largest):
        yield f"shape {shape}", described(shape=shape)
    yield "an empty array with data", described(shape="(0, 2)")
    yield "a scalar with two values", described(shape="()")
    for shape in ("(0, 2147483648, 2147483648, 2147483648)", "(1099511627776, 0, 1099511627776)"):
        yield f"an empty array of shape {shape}", described(shape=shape, body=b"")


def array_values() -> Iterator[Case]:
    for dtype in ("<f4", "<f8"):
        for value in (float("nan"), float("inf"), float("-inf")):
            yield f"{dtype} {value}", saved(np.array([[1, 2], [3, value]], dtype))
            yield f"{dtype} {value} alone", saved(np.array(value, dtype))
    yield "a NaN with a payload", described(body=struct.pack("<2I", 0x7F800001, 0))
    yield "a negative NaN", described("'<f8'", body=struct.pack("<2Q", 0, 0xFFF8000000000000))


def cases(**table: Callable[[], Iterator[Case]]) -> list[Any]:
    """Return the parameters of the cases under each code."""
    codes = {word.replace("_", "-"): rows for word, rows in table.items()}
    return [pytest.param(code, data, id=f"{code}: {name}") for code, rows in codes.items() for name, data in rows()]


@pytest.mark.parametrize(("code", "data"), cases(arrays_header=array_headers, arrays_dtype=array_types, arrays_length=array_lengths,
                                                 arrays_nonfinite=array_values))
def test_arrays_are_refused_with_their_code(code: str, data: bytes) -> None:
    started = time.process_time()
    with pytest.raises(Declined) as caught:
        read_npy(data)
    assert caught.value.code == code
    assert caught.value.fix
    assert time.process_time() - started < 1


def test_a_pickle_is_never_run() -> None:
    class Trap:
        def __reduce__(self) -> tuple[Any, ...]:
            return exec, ("raise SystemExit",)

    body = pickle.dumps(Trap())
    with pytest.raises(SystemExit):
        pickle.loads(body)  # noqa: S301  (the trap works)
    for data in (saved(np.array([Trap()], object), allow_pickle=True), described("'|O'", body=body), described(body=body), body):
        with pytest.raises(Declined) as caught:
            read_npy(data)
        assert caught.value.code.startswith("arrays-")


def test_tables_are_read_exactly() -> None:
    text = "age,income_k, score \n1,.5,-0.1\n+2,1e-3,5.\n 3 ,\t1.5E+2 ,0\n"
    expected = Table(("age", "income_k", "score"), (
        (Fraction(1), Fraction(1, 2), Fraction(-1, 10)), (Fraction(2), Fraction(1, 1000), Fraction(5)), (Fraction(3), Fraction(150), Fraction(0))))
    assert read_table(text.encode(), Limits()) == expected
    assert read_table(text.encode().rstrip(), Limits()) == expected
    assert read_table(text.replace("\n", "\r\n").encode(), Limits()) == expected


@pytest.mark.parametrize(("cell", "value"), (
    ("0.1", Fraction(1, 10)), ("-0", Fraction(0)), ("007", Fraction(7)), ("1.", Fraction(1)), (".25", Fraction(1, 4)), ("1.e1", Fraction(10)),
    ("9007199254740993", Fraction(9007199254740993)), ("1e-400", Fraction(1, 10**400)), ("1e999", Fraction(10**999)), ("-1E+0", Fraction(-1)),
    ("0." + "3" * 400, Fraction(int("3" * 400), 10**400)), ("9" * 400, Fraction(10**400 - 1)),
))
def test_cells_are_exact(cell: str, value: Fraction) -> None:
    assert read_table(f"a\n{cell}\n".encode(), Limits()).rows == ((value,),)


def test_random_tables() -> None:
    rng = random.Random(1)
    for _ in range(50):
        width, height = rng.randint(1, 5), rng.randint(0, 6)
        cells = [[(rng.randint(-10**6, 10**6), rng.randint(0, 8)) for _ in range(width)] for _ in range(height)]
        lines = [",".join(f"column {k}" for k in range(width)), *(",".join(f"{number}e-{power}" for number, power in row) for row in cells)]
        found = read_table("\n".join(lines).encode() + b"\n" * rng.randint(0, 1), Limits())
        assert found.rows == tuple(tuple(Fraction(number, 10**power) for number, power in row) for row in cells)
        assert len(found.columns) == width


def test_headers_are_any_names() -> None:
    assert read_table("é,1,a b\n1,2,3".encode(), Limits()).columns == ("é", "1", "a b")
    assert read_table(b"only", Limits()) == Table(("only",), ())


def table_shapes() -> Iterator[Case]:
    yield from {
        "an empty file": b"", "a cell too few": b"a,b\n1,2\n3\n", "a cell too many": b"a,b\n1,2,3\n", "a trailing comma": b"a,b\n1,2,\n",
        "an empty line inside": b"a,b\n1,2\n\n3,4\n", "an empty line at the end": b"a,b\n1,2\n\n", "semicolons": b"a,b\n1;2\n",
        "a quoted comma": b'a,b\n"1,2",3\n',
    }.items()


def table_headers() -> Iterator[Case]:
    yield from {
        "a line feed only": b"\n", "an empty name": b"a,,c\n1,2,3\n", "a name twice": b"a,b,a\n1,2,3\n", "a name twice up to spaces": b"a, a\n1,2\n",
        "numbers only": b"1,2\n3,4\n", "one number": b"1e5\n3\n", "an empty first line": b"\na,b\n1,2\n", "a trailing comma": b"a,b,\n1,2,3\n",
        "spaces": b"  \n1\n", "a byte order mark": b"\xef\xbb\xbfa,b\n1,2\n", "a quoted name": b'"a",b\n1,2\n',
    }.items()


def table_numbers() -> Iterator[Case]:
    for cell in ("", " ", "nan", "inf", "-inf", "NA", "null", "1/3", "0x10", "1_000", "1e", "e5", "--1", "+-1", ".", "-", "+.", "1.2.3", '"1"', "'1'",
                 "1e1234", "true", "1 2", "\u0661", "\u22121", "1e\u0661", "12\x00", "1f", "1d0", "#1", "=1"):
        yield f"{cell!r}", f"a\n1\n{cell}\n2\n".encode()
    yield "401 digits", b"a\n" + b"1" * 401 + b"\n"
    yield "401 decimals", b"a\n0." + b"1" * 401 + b"\n"
    yield "a missing cell", b"a,b\n1,\n"
    yield "a missing first cell", b"a,b\n,1\n"
    yield "an empty line in one column", b"a\n1\n\n2\n"
    yield "old line ends", b"a\r1\r2\n3\n4\rb\n"


def table_encodings() -> Iterator[Case]:
    yield from {"Latin-1": "\u00e9\n1\n".encode("latin-1"), "UTF-16": "a\n1\n".encode("utf-16"), "a stray byte": b"a\n1\n\xff\n",
                "an .npy file": saved(np.arange(3.0)), "a surrogate": b"\xed\xa0\x80\n1\n"}.items()


@pytest.mark.parametrize(("code", "data"), cases(table_shape=table_shapes, table_header=table_headers, table_number=table_numbers,
                                                 table_encoding=table_encodings))
def test_tables_are_refused_with_their_code(code: str, data: bytes) -> None:
    with pytest.raises(Declined) as caught:
        read_table(data, Limits())
    assert caught.value.code == code
    assert caught.value.fix


def test_the_line_of_a_bad_cell_is_named() -> None:
    with pytest.raises(Declined) as caught:
        read_table(b"a,b\n1,2\n3,x\n", Limits())
    assert (caught.value.where, "'x'" in caught.value.what) == ("line 3", True)
    with pytest.raises(Declined) as caught:
        read_table(b"a,b\n1,2\n3\n", Limits())
    assert caught.value.where == "line 3"


def test_large_tables_are_declined_before_they_are_read() -> None:
    for limits in (Limits(table_cells=5), Limits(work=1000)):
        with pytest.raises(Declined) as caught:
            read_table(b"a,b\n" + b"1,2\n" * 3, limits)
        assert caught.value.code == "limit-reached"
    started = time.process_time()
    with pytest.raises(Declined) as caught:
        read_table(b"a,b\n" + b"\n" * 6_000_000, Limits())
    assert caught.value.code == "limit-reached"
    assert time.process_time() - started < 2


@pytest.mark.parametrize("cell", ("1\u00a0", "\u20031", "1\r\r", "\x0b1", "1\x1f"))
def test_only_plain_spaces_stand_around_a_number(cell: str) -> None:
    with pytest.raises(Declined) as caught:
        read_table(f"a\n{cell}\n2\n".encode(), Limits())
    assert caught.value.code == "table-number"


def read_or_refuse(data: bytes) -> bool:
    """Return whether the bytes are an array or a table; an exception that is not ours goes through."""
    read = 0
    try:
        assert read_npy(data).dtype.str in DTYPES
        read += 1
    except CertifyError as error:
        assert error.code.startswith("arrays-")
    try:
        assert read_table(data, Limits()).columns
        read += 1
    except CertifyError as error:
        assert error.code.startswith("table-")
    return read > 0


BASES = [saved(np.arange(6, dtype=dtype).reshape(2, 3)) for dtype in DTYPES] + [described(), b"a,b,c\n1,2.5,-3e-2\n.5,+7,0\n", b"age\r\n1\r\n2\r\n"]
PIECES = st.sampled_from([b"(", b")", b"[", b"]", b"{", b"}", b",", b"'", b"\\", b"True", b"<f8", b"|O", b"0", b"-", b"1e5", b"\n", b"\r", b":",
                          b"\xff", b"\0", b"9" * 30])


@st.composite
def mutants(draw: st.DrawFn) -> bytes:
    """Draw a valid file with one to five bytes, words or stretches changed."""
    data = draw(st.sampled_from(BASES))
    for _ in range(draw(st.integers(1, 5))):
        start = draw(st.integers(0, len(data)))
        end = start + draw(st.integers(0, 12))
        middle = draw(st.one_of(st.just(b""), PIECES, st.binary(max_size=3), st.just(data[start:end] * 2)))
        data = data[:start] + middle + data[end:]
    return data


few = settings(derandomize=True, database=None, max_examples=300, deadline=None)
many = settings(few, max_examples=100_000, suppress_health_check=list(HealthCheck))


@few
@given(mutants())
def test_mutated_files_are_read_or_refused(data: bytes) -> None:
    assert read_or_refuse(data) in (True, False)


@few
@given(st.lists(PIECES, max_size=30))
def test_random_headers_are_refused(pieces: list[bytes]) -> None:
    try:
        read_npy(npy(b"".join(pieces)))
    except Declined as error:
        assert error.code == "arrays-header"
    else:
        raise AssertionError("a header without its fields was accepted")


@pytest.mark.slow
@many
@given(mutants())
def test_many_mutated_files_are_read_or_refused(data: bytes) -> None:
    assert read_or_refuse(data) in (True, False)
