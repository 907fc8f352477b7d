# SPDX-License-Identifier: Apache-2.0
"""The group G1 of BLS12-381 of order r, from one of two packages, for commitments to rows: generators, sums and the one form of a point.

`Compiled` takes it from py_arkworks_bls12381, `Reference` from py_ecc, which is plain Python and some ten times slower. Neither is imported before it
is asked for. Guarantee: `decoded` returns points only for the one encoding of points of the subgroup but the identity, and raises Rejected for all
others; both implementations agree bit for bit on generators, sums and encodings.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable, Sequence
from functools import lru_cache
from hashlib import sha256
from typing import Any, Protocol

import numpy as np

from certify.errors import Declined, Rejected
from certify_zk.prime_field import SCALAR_BYTES, Bytes

POINT_BYTES = 48
MODULUS = 0x1A0111EA397FE69A4B1BA7B6434BACD764774B84F38512BF6730D2A0F6B0F6241EABFFFEB153FFFFB9FEFFFFFFFFAAAB
GENERATOR = b"certify/hyrax/1"
TAG = b"CERTIFY-HYRAX-V01-with-BLS12381G1_XMD:SHA-256_SSWU_RO_"
DIGEST = b"certify/hyrax/points/1"
_COMPRESSED, _INFINITE = 0x80, 0x40
_LOOP = 0xD201000000010000
"""The curve's parameter is -_LOOP."""

Point = Any


class Group(Protocol):
    """What a commitment needs of a group."""

    name: str

    def generator(self, index: int) -> Point:
        """Return the generator with a number."""

    def decode(self, data: bytes) -> Point:
        """Return the point with these bytes, compressed and not the identity; raises ValueError where none in the subgroup has them."""

    def encode(self, point: Point) -> bytes:
        """Return the 48 bytes of a point."""

    def combination(self, points: Sequence[Point], scalars: Sequence[int]) -> Point:
        """Return the sum of scalars, of [0, r), times points."""

    def add(self, first: Point, second: Point) -> Point:
        """Return the sum of two points."""

    def is_identity(self, point: Point) -> bool:
        """Return whether a point is the neutral element."""


class Compiled:
    """The group of py_arkworks_bls12381."""

    name = "py_arkworks_bls12381"

    def __init__(self) -> None:
        package = importlib.import_module(self.name)
        self._points, self._scalars = package.G1Point, package.Scalar
        self._identity = self._points.identity()
        self.generator = lru_cache(maxsize=None)(self._generator)

    def _generator(self, index: int) -> Point:
        return self._points.hash_to_curve(_message(index), TAG)

    def decode(self, data: bytes) -> Point:
        """Return the point with these bytes."""
        return self._points.from_compressed_bytes(data)

    def encode(self, point: Point) -> bytes:
        """Return the 48 bytes of a point."""
        return bytes(point.to_compressed_bytes())

    def combination(self, points: Sequence[Point], scalars: Sequence[int]) -> Point:
        """Return the sum of scalars times points."""
        some = [(point, scalar) for point, scalar in zip(points, scalars, strict=True) if scalar]
        if not some:
            return self._identity
        factors = [self._scalars.from_le_bytes(scalar.to_bytes(SCALAR_BYTES, "little")) for _, scalar in some]
        return self._points.multiexp_unchecked([point for point, _ in some], factors)

    def add(self, first: Point, second: Point) -> Point:
        """Return the sum of two points."""
        return first + second

    def is_identity(self, point: Point) -> bool:
        """Return whether a point is the neutral element."""
        return bool(point == self._identity)


class Reference:
    """The group of py_ecc, with sums by buckets (Pippenger) and the test of the subgroup by the curve's endomorphism (Scott, 2021/1130)."""

    name = "py_ecc"

    def __init__(self) -> None:
        limit = sys.getrecursionlimit()
        try:
            self._curve = importlib.import_module("py_ecc.optimized_bls12_381")
            self._hash = importlib.import_module("py_ecc.bls.hash_to_curve")
            self._bytes = importlib.import_module("py_ecc.bls.point_compression")
        finally:
            sys.setrecursionlimit(limit)  # it lets recursion go as deep as the stack does not: nested JSON would end the process
        root = pow(2, (MODULUS - 1) // 3, MODULUS)
        one = self._curve.G1
        turned = self._multiplied(self._multiplied(one, _LOOP), _LOOP)
        # Of both primitive cube roots of 1, one makes f(x, y) = (root x, y) the multiplication by -loop^2 on the subgroup. Where f(P) = -loop^2 P,
        # f^2 + f + 1 = 0 gives (loop^4 - loop^2 + 1) P = r P = 0, so only points of the subgroup, whose order r divides the curve's once, have that.
        self._turn = next(found for found in (root, root * root % MODULUS)
                          if self._curve.eq(self._turned(one, found), self._curve.neg(turned)))
        self.generator = lru_cache(maxsize=None)(self._generator)

    def _generator(self, index: int) -> Point:
        return self._hash.hash_to_G1(_message(index), TAG, sha256)

    def decode(self, data: bytes) -> Point:
        """Return the point with these bytes."""
        point = self._bytes.decompress_G1(int.from_bytes(data, "big"))
        turned = self._curve.neg(self._multiplied(self._multiplied(point, _LOOP), _LOOP))
        if not self._curve.eq(self._turned(point, self._turn), turned):
            raise ValueError("the point is not in the subgroup")
        return point

    def encode(self, point: Point) -> bytes:
        """Return the 48 bytes of a point."""
        return int(self._bytes.compress_G1(point)).to_bytes(POINT_BYTES, "big")

    def combination(self, points: Sequence[Point], scalars: Sequence[int]) -> Point:
        """Return the sum of scalars times points."""
        some = [(point, scalar) for point, scalar in zip(points, scalars, strict=True) if scalar]
        total, width = self._curve.Z1, max(2, len(some).bit_length() - 2)
        for window in range(max((scalar.bit_length() for _, scalar in some), default=0) // width, -1, -1):
            for _ in range(width):
                total = self._curve.double(total)
            buckets: list[Point] = [None] * (1 << width)
            for point, scalar in some:
                digit = scalar >> window * width & (1 << width) - 1
                buckets[digit] = point if buckets[digit] is None else self._curve.add(buckets[digit], point)
            running = part = self._curve.Z1
            for bucket in buckets[:0:-1]:
                running = running if bucket is None else self._curve.add(running, bucket)
                part = self._curve.add(part, running)
            total = self._curve.add(total, part)
        return total

    def add(self, first: Point, second: Point) -> Point:
        """Return the sum of two points."""
        return self._curve.add(first, second)

    def is_identity(self, point: Point) -> bool:
        """Return whether a point is the neutral element."""
        return bool(self._curve.is_inf(point))

    def _multiplied(self, point: Point, scalar: int) -> Point:
        total = point
        for bit in bin(scalar)[3:]:
            total = self._curve.double(total)
            total = self._curve.add(total, point) if bit == "1" else total
        return total

    def _turned(self, point: Point, root: int) -> Point:
        x, y, z = point
        return x * root, y, z


def group(reference: bool = False) -> Group:
    """Return the compiled group, or the reference one where that is absent or asked for; raises Declined `backend-missing`."""
    for make in (_reference,) if reference else (_compiled, _reference):
        try:
            return make()
        except ImportError:
            continue
    raise Declined("backend-missing", f"commitments by hyrax need {Reference.name}" + ("" if reference else f" or {Compiled.name}"),
                   fix="install them: pip install 'certify-engine[zk]'")


@lru_cache(maxsize=1)
def _compiled() -> Group:
    return Compiled()


@lru_cache(maxsize=1)
def _reference() -> Group:
    return Reference()


def decoded(curve: Group, array: Bytes, count: int, name: str) -> list[Point]:
    """Return the points in an array |u1 [count, 48]; raises Rejected `argument-malformed` (shape) or `point-invalid`."""
    shaped(array, count, name)
    found = []
    for number, row in enumerate(array):
        data = row.tobytes()
        x = int.from_bytes(data, "big") & (1 << 8 * POINT_BYTES - 3) - 1
        if not data[0] & _COMPRESSED or data[0] & _INFINITE or x >= MODULUS:
            raise _invalid(name, number, "is no encoding of one, or that of the identity")
        try:
            found.append(curve.decode(data))
        except ValueError:
            raise _invalid(name, number, "is not on the curve, or not in the subgroup of prime order") from None
    return found


def shaped(array: Bytes, count: int, name: str) -> None:
    """Return for an array |u1 [count, 48]; raises Rejected `argument-malformed` if not."""
    if array.dtype != np.dtype(np.uint8) or array.shape != (count, POINT_BYTES):
        raise Rejected("argument-malformed", f"{name} has {list(array.shape)} entries of type {array.dtype}, and {[count, POINT_BYTES]} are needed",
                       where=f"evidence.{name}")


def encoded(curve: Group, points: Iterable[Point]) -> Bytes:
    """Return points as an array |u1 [., 48]."""
    return np.frombuffer(b"".join(curve.encode(point) for point in points), np.uint8).reshape(-1, POINT_BYTES)


def digest(array: Bytes) -> bytes:
    """Return the digest of points in their order, which stands for them in commitments and transcripts."""
    return sha256(DIGEST + len(array).to_bytes(8, "big") + array.tobytes()).digest()


def _message(index: int) -> bytes:
    return GENERATOR + index.to_bytes(4, "big")


def _invalid(name: str, number: int, what: str) -> Rejected:
    return Rejected("point-invalid", f"point {number} {what}", where=f"evidence.{name}")
