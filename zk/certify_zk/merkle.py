# SPDX-License-Identifier: Apache-2.0
"""Merkle trees with salted leaves, and one canonical multiproof for any set of leaves.

leaf = SHA-256(0x00 || salt || data), the salt of 16 bytes; node = SHA-256(0x01 || left || right). The number of leaves is a power of two. A
multiproof holds the siblings that the verifier cannot compute, level by level from the leaves up, each level from left to right: it is determined by
tree and indices, and so is its length, by the indices alone.

Guarantee: whoever shows two different data (or salts) for one leaf of a root has found a collision of SHA-256; leaves and nodes differ in their first
byte, so no node passes as a leaf where data have the length that the verifier expects. An unopened leaf shows nothing but its hash, which its salt
hides. Trees of different numbers of leaves are told apart by the verifier, who knows the number.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from itertools import pairwise

from certify.errors import Rejected

SALT_BYTES = 16
DIGEST_BYTES = 32

Levels = list[list[bytes]]


def leaf(salt: bytes, data: bytes) -> bytes:
    """Return the hash of a leaf; raises ValueError for a salt of another length than 16."""
    if len(salt) != SALT_BYTES:
        raise ValueError("a salt has 16 bytes")
    return hashlib.sha256(b"\x00" + salt + data).digest()


def node(left: bytes, right: bytes) -> bytes:
    """Return the hash of an inner node."""
    return hashlib.sha256(b"\x01" + left + right).digest()


def levels(leaves: Sequence[bytes]) -> Levels:
    """Return the hashes of a tree, from the leaves to the level of the root alone; raises ValueError for a number that is no power of two."""
    _depth(len(leaves))
    tree = [list(leaves)]
    while len(tree[-1]) > 1:
        below = tree[-1]
        tree.append([node(below[i], below[i + 1]) for i in range(0, len(below), 2)])
    return tree


def multiproof(tree: Levels, indices: Sequence[int]) -> list[bytes]:
    """Return the siblings that open the leaves with these indices, which ascend strictly (else ValueError)."""
    return [tree[height][index] for height, index in _missing(len(tree[0]), indices)]


def siblings(count: int, indices: Sequence[int]) -> int:
    """Return how many hashes the multiproof of these leaves has in a tree of `count`; raises ValueError as `multiproof`."""
    return sum(1 for _ in _missing(count, indices))


def verify(root: bytes, count: int, indices: Sequence[int], leaves: Sequence[bytes], proof: Sequence[bytes], where: str) -> None:
    """Return if the leaves with these strictly ascending indices are those of the tree with this root and `count` leaves.

    Raises Rejected `argument-malformed` for a surplus, missing or misshapen hash, `argument-path` where the root differs; ValueError where indices,
    which the verifier draws itself, and the number of leaves do not fit.
    """
    places = list(_missing(count, indices))
    if len(leaves) != len(indices):
        raise ValueError("there is one leaf an index")
    if len(proof) != len(places) or any(len(digest) != DIGEST_BYTES for digest in proof):
        raise Rejected("argument-malformed", f"{len(proof)} hashes where the columns need {len(places)} of {DIGEST_BYTES} bytes", where=where)
    known = dict(zip(indices, leaves, strict=True))
    given = dict(zip(places, proof, strict=True))
    for height in range(_depth(count)):
        above = {}
        for index, digest in known.items():
            other = known[index ^ 1] if index ^ 1 in known else given[height, index ^ 1]
            above[index >> 1] = node(other, digest) if index & 1 else node(digest, other)
        known = above
    if known[0] != root:
        raise Rejected("argument-path", "the opened columns are not those of the committed root", where=where)


def _missing(count: int, indices: Sequence[int]) -> Iterable[tuple[int, int]]:
    """Yield (height, index) of every hash that cannot be computed from the leaves with these indices."""
    depth = _depth(count)
    if not indices or any(a >= b for a, b in pairwise(indices)) or indices[0] < 0 or indices[-1] >= count:
        raise ValueError("indices ascend strictly, within the tree, and there is at least one")
    known = list(indices)
    for height in range(depth):
        there = set(known)
        yield from ((height, index ^ 1) for index in known if index ^ 1 not in there)
        known = sorted({index >> 1 for index in known})


def _depth(count: int) -> int:
    if count < 1 or count & (count - 1):
        raise ValueError("a tree has a power of two leaves")
    return count.bit_length() - 1
