# SPDX-License-Identifier: Apache-2.0
"""Points and labels from `.npy` files, by a header reader of our own: no pickle, listed element types only.

Guarantee: `read_npy` returns exactly the array that numpy saved, of dtype |u1, <f4, <f8 or <i8, C order, with finite values; every
other header, length or element type is refused with an `arrays-` code. Source: the NPY format, versions 1 to 3.
"""

from __future__ import annotations

import ast
import struct
from fractions import Fraction
from math import prod
from typing import Any

import numpy as np

from certify.errors import Declined

Array = np.ndarray[Any, Any]

DTYPES = ("|u1", "<f4", "<f8", "<i8")
_MOST_HEADER = 1 << 16
_FIX = "save it with numpy.save, as uint8, int64, float32 or float64 in C order"


def read_npy(data: bytes) -> Array:
    """Return the array in the bytes of a .npy file; raises Declined with an `arrays-` code."""
    if data[:6] != b"\x93NUMPY" or len(data) < 12 or data[6] not in (1, 2, 3):
        raise Declined("arrays-header", "not a .npy file of version 1 to 3", fix=_FIX)
    start = 10 if data[6] == 1 else 12
    length = struct.unpack_from("<H" if data[6] == 1 else "<I", data, 8)[0]
    header = data[start : start + length]
    if length > _MOST_HEADER or len(header) != length:
        raise Declined("arrays-header", "the header is cut off or too long", fix=_FIX)
    try:
        found = ast.literal_eval(header.decode("ascii").strip())
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        raise Declined("arrays-header", "the header is not of numpy's form", fix=_FIX) from None
    if not isinstance(found, dict) or set(found) != {"descr", "fortran_order", "shape"}:
        raise Declined("arrays-header", "the header has other fields than numpy's", fix=_FIX)
    descr, shape = found["descr"], found["shape"]
    if not isinstance(descr, str) or descr not in DTYPES:
        raise Declined("arrays-dtype", f"element type {str(descr)[:40]!r} is not one of {', '.join(DTYPES)}", fix=_FIX)
    if found["fortran_order"] is not False or not isinstance(shape,
                                                             tuple) or len(shape) > 8 or not all(type(n) is int and 0 <= n < 1 << 48 for n in shape):
        raise Declined("arrays-header", "the array is not in C order, or has no ordinary shape", fix=_FIX)
    if header.rstrip(b" \n") != f"{{'descr': {descr!r}, 'fortran_order': False, 'shape': {shape!r}, }}".encode():
        raise Declined("arrays-header", "the header is not written as numpy writes it", fix=_FIX)
    dtype = np.dtype(descr)
    body = memoryview(data)[start + length :]
    if len(body) != prod(shape) * dtype.itemsize:
        raise Declined("arrays-length", f"{len(body)} bytes of data don't fill the shape {list(shape)} of {descr}",
                       fix="the file is cut off: fetch it again")
    try:
        array: Array = np.frombuffer(body, dtype).reshape(shape)
    except ValueError:  # an empty array with dimensions that numpy can't hold
        raise Declined("arrays-length", f"the shape {list(shape)} is too large", fix=_FIX) from None
    if dtype.kind == "f" and not np.isfinite(array).all():
        raise Declined("arrays-nonfinite", "it holds a NaN or an infinity", fix="remove the rows with missing values")
    return array


def read_row(points: Array, row: int) -> tuple[Fraction, ...]:
    """Return row `row` of a points array, flattened in C order, as exact rationals."""
    return tuple(Fraction(value) for value in points[row].reshape(-1).tolist())
