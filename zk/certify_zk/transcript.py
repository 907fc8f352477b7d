# SPDX-License-Identifier: Apache-2.0
"""The Fiat-Shamir transcript: a chain of SHA-256 over everything that was said, from which all challenges are drawn.

    state_0 = SHA-256("certify/argument/1")
    absorb(label, data): state <- SHA-256(state || u32be |label| || label || u64be |data| || data)
    challenge(label):    absorb("challenge/" + label, u64be counter), counter += 1; then words SHA-256(state || "x" || u32be i), i = 0, 1, ...

A block of 32 bytes gives four words of 8 bytes, little-endian. Guarantee: the state determines the sequence of labels and data (labels and data have
their lengths before them, and a block's input, 37 bytes, is shorter than that of any absorb), so under collision resistance no two transcripts lead
to one state. Field elements are uniform: words of p or more are passed over. Indices are uniform where their number is a power of two.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from certify_zk.field import Element, P

START = b"certify/argument/1"


class Transcript:
    """What prover and verifier have said so far."""

    def __init__(self) -> None:
        self._state = hashlib.sha256(START).digest()
        self._counter = 0

    @property
    def state(self) -> bytes:
        """The 32 bytes that stand for everything absorbed."""
        return self._state

    def absorb(self, label: str, data: bytes) -> None:
        """Bind `data` under an ASCII label to all later challenges."""
        name = label.encode("ascii")
        self._state = hashlib.sha256(self._state + len(name).to_bytes(4, "big") + name + len(data).to_bytes(8, "big") + data).digest()

    def element(self, label: str, value: Element) -> None:
        """Absorb one field element: the coefficients as little-endian words."""
        self.absorb(label, b"".join(word.to_bytes(8, "little") for word in value))

    def elements(self, label: str, count: int, degree: int) -> list[Element]:
        """Return `count` uniform elements of the extension of this degree."""
        words = (word for word in self._words(label) if word < P)
        return [tuple(next(words) for _ in range(degree)) for _ in range(count)]

    def indices(self, label: str, count: int, size: int) -> list[int]:
        """Return `count` uniform numbers below `size`, a power of two of at most 2^64, in the order drawn, repetitions included.

        Raises ValueError for another size, whose residues would not be uniform.
        """
        if not 1 <= size <= 1 << 64 or size & (size - 1):
            raise ValueError("indices are drawn below a power of two")
        words = self._words(label)
        return [next(words) % size for _ in range(count)]

    def _words(self, label: str) -> Iterator[int]:
        self.absorb("challenge/" + label, self._counter.to_bytes(8, "big"))
        self._counter += 1
        return _stream(self._state)


def _stream(state: bytes) -> Iterator[int]:
    """Yield the words that a state gives; a separate function, because a generator's body would absorb only when it is first asked."""
    for i in range(1 << 32):
        block = hashlib.sha256(state + b"x" + i.to_bytes(4, "big")).digest()
        for start in range(0, 32, 8):
            yield int.from_bytes(block[start : start + 8], "little")
