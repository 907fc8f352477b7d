# SPDX-License-Identifier: Apache-2.0
"""Cases as arrays in a file: a PYPOWER dictionary as JSON or .npz, a MATPOWER structure as .mat. Read as data: nothing in them is run.

A Python module with a case is a program, so it is not read; `json.dump` or `numpy.savez` of its dictionary is.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from io import BytesIO
from typing import Any

import numpy as np

from certify.errors import Declined, UsageError
from certify_problems.grid.case_tables import Rows, Tables, literal, number_text, only

_NAMES = ("mpc", "ppc")
_BINARY = "numbers are binary64, written with the fewest digits that give them back"


def from_json(content: Mapping[str, Any]) -> Tables:
    """Return the tables of a PYPOWER dictionary whose numbers are texts (json.loads with parse_float=str, parse_int=str)."""
    return _tables({name: _listed(name, value) for name, value in content.items()}, [])


def from_npz(data: bytes) -> Tables:
    """Return the tables of an archive of arrays; raises UsageError `file-unreadable`."""
    try:
        with np.load(BytesIO(data), allow_pickle=False) as archive:
            return _tables({name: _array(archive[name]) for name in archive.files}, [_BINARY])
    except (ValueError, OSError, KeyError, EOFError) as trouble:
        raise UsageError("file-unreadable", f"it is no archive of plain arrays: {trouble}", fix="save it with numpy.savez(file, **ppc)") from None


def from_mat(data: bytes) -> Tables:
    """Return the tables of a .mat file; raises Declined `backend-missing` without scipy, UsageError `file-unreadable`."""
    try:
        from scipy.io import loadmat
    except ImportError:
        raise Declined("backend-missing", "reading .mat files needs the package scipy", fix="pip install 'certify-engine[grid]'") from None
    try:
        content = {name: value for name, value in loadmat(BytesIO(data), squeeze_me=False).items() if not name.startswith("__")}
    except Exception as trouble:  # the package raises many kinds of exceptions on a bad file
        raise UsageError("file-unreadable", f"it is no .mat file of version 4 to 7: {type(trouble).__name__}: {trouble}",
                         fix="save it in MATLAB with -v7") from None
    for name in _NAMES:
        if name in content and content[name].dtype.names:
            structure = content[name].reshape(-1)[0]
            content = {field: structure[field] for field in content[name].dtype.names}
            break
    return _tables({name: _array(value) for name, value in content.items()}, [_BINARY])


def _tables(content: Mapping[str, Rows | None], said: list[str]) -> Tables:
    matrices = {name: rows for name, rows in content.items() if rows is not None and name not in ("version", "baseMVA")}
    others = [name for name, rows in content.items() if rows is None and name != "version"]
    return Tables(only({name: rows for name, rows in content.items() if rows is not None}, "baseMVA"), matrices, others, (), said)


def _listed(name: str, value: Any) -> Rows | None:
    """Return a number, a list of numbers or a list of lists as rows; None for what is no matrix of numbers."""
    value = value if isinstance(value, list) else [value]
    rows = [row if isinstance(row, list) else [row] for row in value]
    texts = [[_text(entry) for entry in row] for row in rows]
    return None if any(text is None for row in texts for text in row) else [[text or "" for text in row] for row in texts]


def _text(entry: Any) -> str | None:
    if isinstance(entry, bool):
        return str(int(entry))
    return number_text(entry) if isinstance(entry, str) else None


def _array(value: np.ndarray[Any, Any]) -> Rows | None:
    """Return an array of numbers as rows of texts; None for what is none."""
    if value.dtype.kind not in "fiub" or value.ndim > 2:
        return None
    return [[literal(float(entry)) for entry in row] for row in np.atleast_2d(value).tolist()] if value.size else []


def load_json(data: bytes) -> Any:
    """Return the content of a JSON file with numbers as texts; raises UsageError `file-unreadable`."""
    try:
        return json.loads(data.decode("utf-8"), parse_float=str, parse_int=str, parse_constant=str)
    except (ValueError, RecursionError) as trouble:
        raise UsageError("file-unreadable", f"it is no JSON file: {trouble}", fix="check the file") from None
