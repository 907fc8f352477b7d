# SPDX-License-Identifier: Apache-2.0
"""Rows of a tableau to codewords: number-theoretic transforms over the cosets of the domain.

Guarantee: `encode` writes, for every row, the values of its polynomial at the points of `Code.point` in the order of the columns.

The points of coset c are the roots of X^K - s, K = cells and s = g^(c K), so a row is first taken modulo that: the coefficient of X^(q K + i) is
added, times s^q, to that of X^i. Then X^(2 h) - r^2 = (X^h - r)(X^h + r) splits every block of 2 h coefficients in two, (a + r b, a - r b), until h =
1. In block j of a level with h, whose points have index m = rev(j) in their lowest bits, r = (g^c w^rev(j))^h: the shift of the coset costs nothing,
and natural order becomes bit-reversed order. Two levels are done at a time. Loops run along a block, so that they are made of vector instructions;
where blocks have become short, of `_SHORT` coefficients, loops run from block to block instead, on a copy that has them side by side.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numba import njit

from certify_zk.field import P as PRIME
from certify_zk.field import root_of_unity
from certify_zk.kernels.goldilocks import U64
from certify_zk.kernels.lanes import below, minus_loosely, plus_loosely, product, product_plus
from certify_zk.kernels.threads import shared
from certify_zk.reed_solomon import Code

Words = np.ndarray[Any, np.dtype[np.uint64]]
_SHORT = 1 << 5
_STRIP = 1 << 7


def encode(code: Code, cells: np.ndarray[Any, Any], pads: Words) -> Words:
    """Return the codewords of rows of cells (16-bit or 64-bit words below p, shape [rows, cells]) and pads ([rows, pads]), shape [rows, length]."""
    codewords = np.empty((len(cells), code.length), np.uint64)
    part = np.empty((len(cells), code.cells), np.uint64)
    for coset, factors in enumerate(tables(code)):
        encode_rows(cells, pads, factors, part)
        codewords[:, coset * code.cells : (coset + 1) * code.cells] = part
    return codewords


def encode_rows(cells: np.ndarray[Any, Any], pads: Words, factors: Words, codewords: Words) -> None:
    """Write the part of a coset of the codewords of rows, [rows, cells]; `factors` are those of the coset, as `tables` returns them."""
    shared(lambda first, last: _encode(cells, pads, factors, codewords, first, last), len(cells))


def columns_of(code: Code, cells: np.ndarray[Any, Any], pads: Words, factors: Words, columns: Sequence[int]) -> Words:
    """Return columns of the codewords of rows, shape [rows, columns], in a fraction of the time of encoding; `factors` as `tables` returns them."""
    found = np.empty((len(cells), len(columns)), np.uint64)
    for coset in range(code.cosets):
        places = np.array([index for index, column in enumerate(columns) if column // code.cells == coset], np.int64)
        inner = np.array([columns[index] % code.cells for index in places], np.int64)
        points = np.array([code.point(columns[index]) for index in places], np.uint64)
        wanted, short = np.zeros(2 * code.cells, np.bool_), min(code.cells, _SHORT)
        block = code.cells // short + inner // short
        while block.size and block[0]:
            wanted[block] = True
            block = block // 2
        shared(lambda first, last, some=(factors[coset], wanted, inner, places, points): _encode_columns(cells, pads, *some, found, first, last),
               len(cells))
    return found


def tables(code: Code) -> Words:
    """Return the factors r of every coset, shape [cosets, cells]: entry 0 is s, entry b + j that of block j on the level with b blocks.

    On that level h = K / (2 b), so r = g^(c h) times u_j, u_j the root of unity of order 2 b to the power of rev(j). u_j is the same on all levels
    that have a block j, and u_(b/2 + j) is u_j times the root of order 2 b, because rev(b/2 + j) is 1 more than twice the reversal of j among b/2
    blocks. Where the b blocks are parts of n short ones, the factors of the first parts of all of these are together, then those of the second ones.
    """
    generator, turned = root_of_unity(code.length), np.ones(code.cells, np.uint64)
    factors = np.empty((code.cosets, code.cells), np.uint64)
    blocks, short = 1, max(1, code.cells // _SHORT)
    while blocks < code.cells:
        turned[blocks : 2 * blocks] = scaled(turned[:blocks], U64(root_of_unity(4 * blocks)))
        order = np.arange(blocks).reshape(min(blocks, short), -1).T.ravel()
        for coset in range(code.cosets):
            factor = U64(pow(generator, coset * code.cells // (2 * blocks), PRIME))
            factors[coset, blocks : 2 * blocks] = scaled(turned[:blocks], factor)[order]
        blocks *= 2
    factors[:, 0] = [pow(generator, coset * code.cells, PRIME) for coset in range(code.cosets)]
    return factors


@njit(cache=True, nogil=True)
def scaled(values, factor):  # type: ignore[no-untyped-def]
    """Return all values times one factor."""
    result = np.empty_like(values)
    for i in range(len(values)):
        result[i] = product(values[i], factor)
    return result


@njit(cache=True, nogil=True)
def _encode(cells, pads, factors, codewords, first, last):  # type: ignore[no-untyped-def]
    size = cells.shape[1]
    values, tile, wanted = np.empty(size, np.uint64), np.empty((_SHORT, _STRIP), np.uint64), np.ones(2 * size, np.bool_)
    for row in range(first, last):
        _long_blocks(cells[row], pads[row], factors, wanted, values)
        _short_blocks(values, factors, tile, codewords[row])


@njit(cache=True, nogil=True)
def _encode_columns(cells, pads, factors, wanted, columns, places, points, found, first, last):  # type: ignore[no-untyped-def]
    """Write the values of rows [first, last) in columns of a coset, from the short blocks that have them in their places; the points are x."""
    size = cells.shape[1]
    short = min(size, _SHORT)
    values = np.empty(size, np.uint64)
    for row in range(first, last):
        _long_blocks(cells[row], pads[row], factors, wanted, values)
        for k in range(len(columns)):
            start, total = columns[k] // short * short, U64(0)
            for m in range(short):
                total = product_plus(total, points[k], values[start + short - 1 - m])
            found[row, places[k]] = total


@njit(cache=True, nogil=True)
def _long_blocks(cells, pads, factors, wanted, values):  # type: ignore[no-untyped-def]
    """Write a row modulo X^K - s, and do the levels until blocks are short; between levels words may be p or more.

    Block j on the level with b blocks is passed over unless wanted[b + j].
    """
    size, power = len(values), factors[0]
    for i in range(size):
        values[i] = cells[i]
    for start in range(0, len(pads), size):
        some = pads[start : min(start + size, len(pads))]
        for i in range(len(some)):
            values[i] = product_plus(some[i], power, values[i])
        power = product(power, factors[0])

    short, half, blocks, levels = min(size, _SHORT), size // 2, 1, 0
    while half >> levels >= short:
        levels += 1
    if levels % 2:
        _split(values[:half], values[half:], factors[1])
        half, blocks = half // 2, 2
    while half >= short:
        quarter = half // 2
        for block in range(blocks):
            start, at = 2 * half * block, blocks + block
            if wanted[at]:
                _split_twice(values[start : start + quarter], values[start + quarter : start + half], values[start + half : start + half + quarter],
                             values[start + half + quarter : start + 2 * half], factors[at], factors[2 * at], factors[2 * at + 1])
        half, blocks = half // 4, blocks * 4


@njit(cache=True, nogil=True)
def _split(first, second, r):  # type: ignore[no-untyped-def]
    for i in range(len(first)):
        a, b = first[i], product(second[i], r)
        first[i], second[i] = plus_loosely(a, b), minus_loosely(a, b)


@njit(cache=True, nogil=True)
def _split_twice(first, second, third, fourth, r, left, right):  # type: ignore[no-untyped-def]
    for i in range(len(first)):
        c, d = product(third[i], r), product(fourth[i], r)
        a, c = plus_loosely(first[i], c), minus_loosely(first[i], c)
        b, d = product(plus_loosely(second[i], d), left), product(minus_loosely(second[i], d), right)
        first[i], second[i] = plus_loosely(a, b), minus_loosely(a, b)
        third[i], fourth[i] = plus_loosely(c, d), minus_loosely(c, d)


@njit(cache=True, nogil=True)
def _short_blocks(values, factors, tile, result):  # type: ignore[no-untyped-def]
    """Do the levels within short blocks, coefficient m of a strip of them in row m of `tile`, and write words below p."""
    short = min(len(values), _SHORT)
    count = len(values) // short
    for start in range(0, count, _STRIP):
        n = min(_STRIP, count - start)
        for x in range(n):
            for m in range(short):
                tile[m, x] = values[(start + x) * short + m]
        half, parts = short // 2, 1
        while half:
            for part in range(parts):
                r = factors[(parts + part) * count + start : (parts + part) * count + start + n]
                for m in range(2 * half * part, 2 * half * part + half):
                    _split_strips(tile[m, :n], tile[m + half, :n], r)
            half, parts = half // 2, parts * 2
        for x in range(n):
            for m in range(short):
                result[(start + x) * short + m] = below(tile[m, x])


@njit(cache=True, nogil=True)
def _split_strips(first, second, r):  # type: ignore[no-untyped-def]
    for i in range(len(first)):
        a, b = first[i], product(second[i], r[i])
        first[i], second[i] = plus_loosely(a, b), minus_loosely(a, b)


@njit(cache=True, nogil=True)
def transpose(codewords, start, strip):  # type: ignore[no-untyped-def]
    """Write columns of the codewords, from `start` on, as rows of `strip`; eight at a time, a cache line of its rows."""
    rows = len(codewords)
    for first in range(0, rows, 8):
        last = min(first + 8, rows)
        for i in range(len(strip)):
            for row in range(first, last):
                strip[i, row] = codewords[row, start + i]
