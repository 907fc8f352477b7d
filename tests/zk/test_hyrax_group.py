# SPDX-License-Identifier: Apache-2.0
"""Both implementations of the group: hashing, sums and encodings agree bit for bit, and what is no point of the subgroup is refused by both."""

from __future__ import annotations

import subprocess
import sys
from hashlib import sha256

import numpy as np
import pytest

from zk.hyrax_cases import SLOW, commit, pointed, prove, verdict  # isort: skip  (skips the module where a package is missing)

import py_ecc.optimized_bls12_381 as curve
from py_arkworks_bls12381 import G1Point
from py_ecc.bls.hash_to_curve import hash_to_G1
from py_ecc.bls.point_compression import compress_G1

from certify.errors import Rejected
from certify_zk.group import GENERATOR, MODULUS, TAG, Compiled, Group, decoded, encoded
from certify_zk.prime_field import R
from zk.arguments import case
from zk.test_argument import NETWORKS

FAST = Compiled()
BOTH = pytest.mark.parametrize("group", [FAST, SLOW], ids=["compiled", "reference"])
QUUX = b"QUUX-V01-CS02-with-BLS12381G1_XMD:SHA-256_SSWU_RO_"
VECTORS = {  # RFC 9380, J.9.1
    b"": (0x052926ADD2207B76CA4FA57A8734416C8DC95E24501772C814278700EED6D1E4E8CF62D9C09DB0FAC349612B759E79A1,
          0x08BA738453BFED09CB546DBB0783DBB3A5F1F566ED67BB6BE0E8C67E2E81A4CC68EE29813BB7994998F3EAE0C9C6A265),
    b"abc": (0x03567BC5EF9C690C2AB2ECDF6A96EF1C139CC0B2F284DCA0A9A7943388A49A3AEE664BA5379A7655D3C68900BE2F6903,
             0x0B9C15F3FE6E5CF4211F346271D7B01C8F3B28BE689C8429C85B67AF215533311F0B8DFAAA154FA6B88176C229F2885D),
}


def test_constants_are_those_of_the_curve() -> None:
    assert curve.curve_order == R and curve.field_modulus == MODULUS and int(curve.b.n) == 4


@pytest.mark.parametrize("message", VECTORS)
def test_hashing_is_that_of_the_standard(message: bytes) -> None:
    x, y = VECTORS[message]
    assert tuple(int(entry.n) for entry in curve.normalize(hash_to_G1(message, QUUX, sha256))) == (x, y)
    assert bytes(G1Point.hash_to_curve(message, QUUX).to_xy_bytes_be()) == x.to_bytes(48, "big") + y.to_bytes(48, "big")


def test_generators_agree_and_are_all_different() -> None:
    assert GENERATOR == b"certify/hyrax/1" and TAG.endswith(b"BLS12381G1_XMD:SHA-256_SSWU_RO_")
    found = [FAST.encode(FAST.generator(index)) for index in range(1026)]
    for index in (*range(12), 255, 256, 1025):
        assert SLOW.encode(SLOW.generator(index)) == found[index]
    assert len(set(found)) == 1026 and not any(FAST.is_identity(FAST.generator(index)) for index in range(1026))
    assert found[3] == bytes(G1Point.hash_to_curve(b"certify/hyrax/1\x00\x00\x00\x03", TAG).to_compressed_bytes())


@pytest.mark.parametrize("count", [0, 1, 2, 5, 40])
def test_sums_agree(count: int) -> None:
    rng = np.random.default_rng(count)
    scalars = [int.from_bytes(rng.bytes(32), "little") % R for _ in range(count)]
    for some in (scalars, [scalar % (1 << 16) for scalar in scalars], [0] * count, [R - 1] * count, [*scalars[:-1], 0][:count], [1] * count):
        sums = [group.combination([group.generator(index) for index in range(count)], some) for group in (FAST, SLOW)]
        assert FAST.encode(sums[0]) == SLOW.encode(sums[1])
        slow = SLOW.combination([], [])
        for index, scalar in enumerate(some):
            slow = curve.add(slow, curve.multiply(SLOW.generator(index), scalar))
        assert SLOW.encode(slow) == SLOW.encode(sums[1])


@BOTH
def test_sums_that_vanish_are_the_identity(group: Group) -> None:
    points = [group.generator(index) for index in range(3)]
    assert group.is_identity(group.combination([*points, *points], [5, 6, 7, R - 5, R - 6, R - 7]))
    assert not group.is_identity(group.combination([*points, *points], [5, 6, 7, R - 5, R - 6, R - 8]))
    assert group.is_identity(group.combination([], [])) and group.is_identity(group.combination(points[:1] * 2, [1, R - 1]))
    assert group.encode(group.add(points[0], points[1])) == group.encode(group.combination(points[:2], [1, 1]))
    assert group.encode(group.combination([], [])) == b"\xc0" + bytes(47)


@BOTH
def test_points_are_read_as_they_are_written(group: Group) -> None:
    points = [group.combination([group.generator(0)], [scalar]) for scalar in (1, 2, 3, R - 1, R - 2, R // 2)]
    array = encoded(group, points)
    assert array.shape == (6, 48) and (encoded(group, decoded(group, array, 6, "rows")) == array).all()
    assert (array[0, 1:] == array[3, 1:]).all() and array[0, 0] ^ array[3, 0] == 0x20  # P and -P


def on_curve(x: int) -> bytes | None:
    """Return the encoding of a point of the curve with this x, if there is one."""
    square = (x**3 + 4) % MODULUS
    y = pow(square, (MODULUS + 1) // 4, MODULUS)
    return bytes(compress_G1((curve.FQ(x), curve.FQ(y), curve.FQ(1))).to_bytes(48, "big")) if y * y % MODULUS == square else None


def invalid() -> dict[str, bytes]:
    """Return encodings of what is no point of the subgroup."""
    good = FAST.encode(FAST.generator(0))
    base = SLOW.generator(0)
    three = (curve.FQ(0), curve.FQ(2), curve.FQ(1))
    some = next(found for x in range(5, 99) if (found := on_curve(x)))
    other = curve.multiply(SLOW._bytes.decompress_G1(int.from_bytes(some, "big")), R)  # of an order that divides the cofactor

    def flagged(data: bytes, flags: int) -> bytes:
        return bytes([data[0] ^ flags]) + data[1:]
    off = next(x for x in range(1, 99) if on_curve(x) is None)
    return {
        "identity": b"\xc0" + bytes(47), "identity with a sign": b"\xe0" + bytes(47), "not compressed": flagged(good, 0x80),
        "infinite": flagged(good, 0x40), "zero bytes": bytes(48), "ones": b"\xff" * 48,
        "off the curve": flagged(off.to_bytes(48, "big"), 0x80), "on the curve only": some,
        "x + p": flagged((MODULUS + 4).to_bytes(48, "big"), 0x80), "p": flagged(MODULUS.to_bytes(48, "big"), 0x80),
        **{name: int(compress_G1(point)).to_bytes(48, "big") for name, point in (
            ("of order 3", three), ("sum with one of order 3", curve.add(base, three)), ("of the cofactor's order", other),
            ("sum with one of it", curve.add(base, other)))},
    }


INVALID = invalid()


@BOTH
@pytest.mark.parametrize("name", INVALID)
def test_what_is_no_point_of_the_subgroup_is_refused(name: str, group: Group) -> None:
    with pytest.raises(Rejected) as caught:
        decoded(group, np.frombuffer(INVALID[name], np.uint8).reshape(1, 48), 1, "rows")
    assert caught.value.code == "point-invalid" and caught.value.where == "evidence.rows"


@BOTH
def test_random_points_of_the_curve_are_refused_and_random_bytes_too(group: Group) -> None:
    rng = np.random.default_rng(3)
    points = [found for _ in range(12) if (found := on_curve(int.from_bytes(rng.bytes(47), "big")))]
    for data in [*points, *(bytes([0x80 | rng.integers(26)]) + rng.bytes(47) for _ in range(12))]:
        with pytest.raises(Rejected, match="point 0 is not on the curve, or not in the subgroup"):
            decoded(group, np.frombuffer(data, np.uint8).reshape(1, 48), 1, "rows")
    assert len(points) > 2


@pytest.mark.parametrize("array", ["model_rows", "rows", "slots", "first"])
def test_invalid_points_in_arguments(array: str, monkeypatch: pytest.MonkeyPatch) -> None:
    given = pointed(case(*NETWORKS["4-4-4-3"]))
    model = commit(given)
    made = prove(given, model)
    for name, data in INVALID.items():
        points = getattr(made, array).copy()
        points[-1] = np.frombuffer(data, np.uint8)
        changed = type(made)(**{**vars(made), array: points})
        root = changed.roots[0]  # the commitment is of such a point too
        assert verdict(given, changed, root) == "point-invalid", name
        if name in ("identity", "sum with one of order 3"):
            assert verdict(given, changed, root, reference=True) == "point-invalid"


def test_the_limit_of_recursion_stays_what_it_was() -> None:
    """py_ecc raises it to 100,000 where it is imported; then nested JSON would overflow the stack in place of an error."""
    script = ("import sys; before = sys.getrecursionlimit()\n"
              "from certify_zk.group import group; group(True)\n"
              "sys.exit(0 if sys.getrecursionlimit() == before and 'py_ecc' in sys.modules else 1)")
    assert subprocess.run([sys.executable, "-c", script], env={"PYTHONPATH": ":".join(sys.path)}, check=False).returncode == 0
