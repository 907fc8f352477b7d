# SPDX-License-Identifier: Apache-2.0
"""Merkle trees: every set of leaves of small trees opens, in one form, and nothing else does."""

from __future__ import annotations

import hashlib
from itertools import combinations

import pytest

from certify.errors import Rejected
from certify_zk import merkle


def _leaves(count: int) -> list[bytes]:
    return [merkle.leaf(bytes([i]) * merkle.SALT_BYTES, b"column %d" % i) for i in range(count)]


def _subsets(count: int) -> list[tuple[int, ...]]:
    return [chosen for size in range(1, count + 1) for chosen in combinations(range(count), size)]


def _code(root: bytes, count: int, indices: tuple[int, ...], leaves: list[bytes], proof: list[bytes]) -> str:
    try:
        merkle.verify(root, count, indices, leaves, proof, "evidence")
    except Rejected as trouble:
        return trouble.code
    return "verified"


def test_hashes_are_the_written_ones() -> None:
    salt = bytes(range(16))
    assert merkle.leaf(salt, b"ab") == hashlib.sha256(b"\x00" + salt + b"ab").digest()
    assert merkle.node(b"l" * 32, b"r" * 32) == hashlib.sha256(b"\x01" + b"l" * 32 + b"r" * 32).digest()
    leaves = _leaves(4)
    tree = merkle.levels(leaves)
    assert tree == [leaves, [merkle.node(*leaves[:2]), merkle.node(*leaves[2:])], [merkle.node(merkle.node(*leaves[:2]), merkle.node(*leaves[2:]))]]
    for wrong in (b"", bytes(15), bytes(17)):
        with pytest.raises(ValueError, match="16 bytes"):
            merkle.leaf(wrong, b"")


def test_the_order_of_a_multiproof() -> None:
    tree = merkle.levels(_leaves(8))
    assert merkle.multiproof(tree, [1, 4, 5]) == [tree[0][0], tree[1][1], tree[1][3]]
    assert merkle.multiproof(tree, [2, 7]) == [tree[0][3], tree[0][6], tree[1][0], tree[1][2]]


@pytest.mark.parametrize("count", [1, 2, 4, 8])
def test_every_set_of_leaves_opens_and_no_changed_proof_does(count: int) -> None:
    leaves, other = _leaves(count), bytes(32)
    tree = merkle.levels(leaves)
    root = tree[-1][0]
    for indices in _subsets(count):
        shown, proof = [leaves[i] for i in indices], merkle.multiproof(tree, indices)
        assert len(proof) == merkle.siblings(count, indices)
        assert _code(root, count, indices, shown, proof) == "verified"
        assert _code(other, count, indices, shown, proof) == "argument-path"
        for i in range(len(proof)):
            assert _code(root, count, indices, shown, [*proof[:i], other, *proof[i + 1 :]]) == "argument-path"
            assert _code(root, count, indices, shown, proof[:i] + proof[i + 1 :]) == "argument-malformed"
            for misshapen in (proof[i][:-1], proof[i] + b"\x00", b""):
                assert _code(root, count, indices, shown, [*proof[:i], misshapen, *proof[i + 1 :]]) == "argument-malformed"
            if i:
                assert _code(root, count, indices, shown, [*proof[: i - 1], proof[i], proof[i - 1], *proof[i + 1 :]]) == "argument-path"
        for surplus in ([*proof, other], [other, *proof], [*proof, root]):
            assert _code(root, count, indices, shown, surplus) == "argument-malformed"
        for i in range(len(shown)):
            assert _code(root, count, indices, [*shown[:i], other, *shown[i + 1 :]], proof) == "argument-path"
            if i:
                assert _code(root, count, indices, [*shown[: i - 1], shown[i], shown[i - 1], *shown[i + 1 :]], proof) == "argument-path"


@pytest.mark.parametrize("count", [2, 4, 8])
def test_a_proof_of_other_leaves_does_not_open_these(count: int) -> None:
    leaves = _leaves(count)
    tree = merkle.levels(leaves)
    for indices in _subsets(count):
        for others in _subsets(count):
            if others != indices and len(others) == len(indices) and merkle.siblings(count, others) == merkle.siblings(count, indices):
                assert _code(tree[-1][0], count, indices, [leaves[i] for i in others], merkle.multiproof(tree, others)) == "argument-path"


def test_an_inner_node_is_no_leaf_of_a_smaller_tree() -> None:
    tree = merkle.levels(_leaves(8))
    smaller = tree[1:]
    assert _code(tree[-1][0], 4, (1,), [tree[1][1]], merkle.multiproof(smaller, [1])) == "verified"  # hashes given as leaves are believed, and so
    inner = b"".join(tree[0][2:4])
    assert merkle.leaf(bytes(16), inner) != tree[1][1]  # a leaf's hash is made by the verifier: its first byte and salt are not a node's


def test_a_path_of_another_tree() -> None:
    leaves = _leaves(8)
    tree, other = merkle.levels(leaves), merkle.levels([merkle.leaf(bytes(16), leaf) for leaf in leaves])
    assert _code(tree[-1][0], 8, (2, 5), [leaves[2], leaves[5]], merkle.multiproof(other, [2, 5])) == "argument-path"


def test_what_the_verifier_itself_must_not_get_wrong() -> None:
    leaves = _leaves(4)
    tree = merkle.levels(leaves)
    for indices in ((), (0, 0), (2, 1), (-1,), (-1, 2), (4,), (0, 5)):
        for call in (lambda: merkle.multiproof(tree, indices), lambda: merkle.siblings(4, indices),  # noqa: B023
                     lambda: merkle.verify(tree[-1][0], 4, indices, leaves[: len(indices)], [], "evidence")):  # noqa: B023
            with pytest.raises(ValueError, match="ascend"):
                call()
    for shown in (leaves[:1], leaves[:3]):
        with pytest.raises(ValueError, match="one leaf"):
            merkle.verify(tree[-1][0], 4, (0, 1), shown, [], "evidence")
    for count in (0, 3, 6):
        with pytest.raises(ValueError, match="power of two"):
            merkle.levels(leaves[:1] * count)
        with pytest.raises(ValueError, match="power of two"):
            merkle.siblings(count, (0,))
