# SPDX-License-Identifier: Apache-2.0
"""Strips of elements of the extensions, stored in planes: coordinate d of element i of an array [degree, n] is at [d, i].

A function on strips takes arrays with the number of the first element, and the number of elements. Words below p give the results of the field, below
p. Strips must not overlap, but for those that are said to be changed. A product with a constant c takes the matrix [degree, degree] of the map
a -> a c, which `matrix` returns: entry [d, e] is how often coordinate e counts in coordinate d.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from certify_zk.field import Element, Extension
from certify_zk.kernels.lanes import minus, product_loosely, product_plus, seven_loosely

Words = np.ndarray[Any, np.dtype[np.uint64]]


def matrix(constant: Element) -> Words:
    """Return the matrix of products with a constant."""
    field = Extension(len(constant))
    return np.ascontiguousarray(np.array([field.multiply(constant, field.unit(power)) for power in range(field.degree)], np.uint64).T)


@njit(cache=True, nogil=True)
def matrices(constants):  # type: ignore[no-untyped-def]
    """Return the matrices of products with constants [n, degree], shape [n, degree, degree]."""
    count, degree = constants.shape
    found = np.empty((count, degree, degree), np.uint64)
    for i in range(count):
        for d in range(degree):
            for e in range(degree):
                word = constants[i, d - e if d >= e else degree + d - e]
                found[i, d, e] = word if d >= e else product_plus(np.uint64(7), word, np.uint64(0))
    return found


@njit(cache=True, nogil=True)
def multiply(out, o, a, i, b, j, n):  # type: ignore[no-untyped-def]
    """Write products."""
    for d in range(len(out)):
        out[d, o : o + n] = np.uint64(0)
    multiply_add(out, o, a, i, b, j, n)


@njit(cache=True, nogil=True)
def multiply_add(out, o, a, i, b, j, n):  # type: ignore[no-untyped-def]
    """Add products to a strip."""
    a0, a1, b0, b1, out0, out1 = a[0, i : i + n], a[1, i : i + n], b[0, j : j + n], b[1, j : j + n], out[0, o : o + n], out[1, o : o + n]
    if len(out) == 2:
        for x in range(n):
            out0[x] = product_plus(a0[x], b0[x], product_plus(a1[x], seven_loosely(b1[x]), out0[x]))
        for x in range(n):
            out1[x] = product_plus(a0[x], b1[x], product_plus(a1[x], b0[x], out1[x]))
    else:
        a2, b2, out2 = a[2, i : i + n], b[2, j : j + n], out[2, o : o + n]
        for x in range(n):
            more = product_plus(a1[x], b2[x], product_loosely(a2[x], b1[x]))
            out0[x] = product_plus(a0[x], b0[x], product_plus(more, np.uint64(7), out0[x]))
        for x in range(n):
            out1[x] = product_plus(a0[x], b1[x], product_plus(a1[x], b0[x], product_plus(a2[x], seven_loosely(b2[x]), out1[x])))
        for x in range(n):
            out2[x] = product_plus(a0[x], b2[x], product_plus(a1[x], b1[x], product_plus(a2[x], b0[x], out2[x])))


@njit(cache=True, nogil=True)
def weigh(out, o, a, i, m, n):  # type: ignore[no-untyped-def]
    """Add products with the constant of a matrix to a strip."""
    for d in range(len(out)):
        row, a0, a1, m0, m1 = out[d, o : o + n], a[0, i : i + n], a[1, i : i + n], m[d, 0], m[d, 1]
        for x in range(n):
            row[x] = product_plus(a0[x], m0, product_plus(a1[x], m1, row[x]))
        if len(out) == 3:
            a2, m2 = a[2, i : i + n], m[d, 2]
            for x in range(n):
                row[x] = product_plus(a2[x], m2, row[x])


@njit(cache=True, nogil=True)
def subtract(out, o, a, i, b, j, n):  # type: ignore[no-untyped-def]
    """Write differences."""
    for d in range(len(out)):
        row, first, second = out[d, o : o + n], a[d, i : i + n], b[d, j : j + n]
        for x in range(n):
            row[x] = minus(first[x], second[x])


@njit(cache=True, nogil=True)
def bind(a, i, j, m, n):  # type: ignore[no-untyped-def]
    """Change the strip at i to a + t (b - a), b the strip at j of the same array, t the constant of a matrix."""
    a0, a1, b0, b1 = a[0, i : i + n], a[1, i : i + n], a[0, j : j + n], a[1, j : j + n]
    if len(a) == 2:
        for x in range(n):
            d0, d1 = minus(b0[x], a0[x]), minus(b1[x], a1[x])
            first, second = product_plus(d0, m[0, 0], product_plus(d1, m[0, 1], a0[x])), product_plus(d0, m[1, 0], product_plus(d1, m[1, 1], a1[x]))
            a0[x], a1[x] = first, second
    else:
        a2, b2 = a[2, i : i + n], a[2, j : j + n]
        for x in range(n):
            d0, d1, d2 = minus(b0[x], a0[x]), minus(b1[x], a1[x]), minus(b2[x], a2[x])
            first = product_plus(d0, m[0, 0], product_plus(d1, m[0, 1], product_plus(d2, m[0, 2], a0[x])))
            second = product_plus(d0, m[1, 0], product_plus(d1, m[1, 1], product_plus(d2, m[1, 2], a1[x])))
            third = product_plus(d0, m[2, 0], product_plus(d1, m[2, 1], product_plus(d2, m[2, 2], a2[x])))
            a0[x], a1[x], a2[x] = first, second, third
