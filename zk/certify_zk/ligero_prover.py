# SPDX-License-Identifier: Apache-2.0
"""The prover's side of the Ligero commitment: encode and commit tableaux, and open a claim as `ligero` describes it.

Guarantee: given honest inputs, `verify_opening` accepts what `open_claim` returns. Hiding rests on the caller: pads, masks and salts are drawn from
`draw` and must never serve two witnesses or two statements, and a tableau is opened at no more columns in all than it has pads.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from certify_zk import merkle
from certify_zk.field import Element, Extension, P
from certify_zk.kernels.goldilocks import U64
from certify_zk.kernels.ntt import columns_of, encode_rows, tables, transpose
from certify_zk.kernels.sums import combine, equality, evaluations
from certify_zk.kernels.threads import shared
from certify_zk.ligero import Opening, Shape, distinct, to_bytes, u1_factors, u2_factors
from certify_zk.reed_solomon import Code
from certify_zk.transcript import Transcript

Words = np.ndarray[Any, np.dtype[np.uint64]]
Bytes = np.ndarray[Any, np.dtype[np.uint8]]
Limbs = np.ndarray[Any, np.dtype[np.uint16]]
Draw = Callable[[int], bytes]

KEPT = 1 << 26
"""Codewords of so many bytes are kept. Of larger tableaux, columns that are opened are computed again."""
_STRIP = 1 << 7


@dataclass(frozen=True)
class Tableau:
    """Rows before encoding: `limbs` (16-bit cells), then `words` (64-bit cells below p), and the pads of all of them in that order."""

    limbs: Limbs
    words: Words
    pads: Words


@dataclass(frozen=True)
class Committed:
    """A tableau with its codewords, the salts of the leaves and the Merkle tree; of large tableaux codewords are not kept."""

    tableau: Tableau
    codewords: Words | None
    salts: bytes
    tree: merkle.Levels

    @property
    def root(self) -> bytes:
        """The commitment."""
        return self.tree[-1][0]


def uniform(draw: Draw, shape: tuple[int, int]) -> Words:
    """Return uniform elements of F_p made of the bytes of `draw`: words of p or more are passed over."""
    count = shape[0] * shape[1]
    kept = np.empty(0, np.uint64)
    while len(kept) < count:
        more = np.frombuffer(draw(8 * (count - len(kept))), "<u8")
        kept = np.concatenate([kept, more[more < U64(P)]])
    return kept.reshape(shape)


def commit(code: Code, limbs: Limbs, words: Words, draw: Draw) -> Committed:
    """Return the commitment to rows of cells, with fresh pads and salts; `words` are rows whose cells may exceed 16 bits."""
    return committed(code, Tableau(limbs, words, uniform(draw, (len(limbs) + len(words), code.pads))), draw(merkle.SALT_BYTES * code.length))


def commit_certificate(shape: Shape, limbs: Limbs, words: Words, draw: Draw) -> Committed:
    """Return the commitment to the rows of a certificate, with the mask rows that its opening needs drawn and added."""
    masks = uniform(draw, (2 * shape.degree, shape.code.cells))
    return commit(shape.code, limbs, np.concatenate([words, masks]), draw)


def committed(code: Code, tableau: Tableau, salts: bytes) -> Committed:
    """Return the commitment to a tableau with the given salts, 16 bytes a column.

    A column is hashed when all its rows are encoded; cosets are encoded one by one, so that no more than one is in memory.
    """
    rows, cut = len(tableau.pads), len(tableau.limbs)
    part = np.empty((rows, code.cells), np.uint64)
    kept = np.empty((rows, code.length), np.uint64) if rows * code.length * part.itemsize <= KEPT else None
    leaves: list[bytes] = []
    for coset, factors in enumerate(tables(code)):
        encode_rows(tableau.limbs, tableau.pads[:cut], factors, part[:cut])
        encode_rows(tableau.words, tableau.pads[cut:], factors, part[cut:])
        first = coset * code.cells
        if kept is not None:
            kept[:, first : first + code.cells] = part
        leaves += _leaves(part, salts[merkle.SALT_BYTES * first : merkle.SALT_BYTES * (first + code.cells)])
    return Committed(tableau, kept, salts, merkle.levels(leaves))


def open_claim(transcript: Transcript, shape: Shape, model: Committed, certificate: Committed, weights: Sequence[Element], point: list[Element],
               value: Element, hide: tuple[Element, Element]) -> tuple[Opening, Element]:
    """Return the opening of a claim, and the factor of its value; the transcript and weights are as the verifier's, `hide` are the pads of value and
    mask value (zero in clear mode).

    `value` is the true one; what is absorbed, and the opening's mask value, have their pads subtracted.
    """
    field, trees = Extension(shape.degree), (model, certificate)
    transcript.element("opening/value", field.subtract(value, hide[0]))
    gammas = transcript.elements("opening/gamma", shape.witness + shape.degree, shape.degree)
    u1 = _combination(shape, trees, u1_factors(field, shape, gammas))
    transcript.absorb("opening/u1", to_bytes(u1))
    mask_value = field.subtract(mask_evaluation(shape, certificate, point), hide[1])
    transcript.element("opening/mask", mask_value)
    scale = transcript.elements("opening/scale", 1, shape.degree)[0]
    u2 = _combination(shape, trees, u2_factors(field, weights, scale))
    transcript.absorb("opening/u2", to_bytes(u2))
    columns = distinct(transcript.indices("opening/columns", shape.queries, shape.code.length))
    shown = [opened(shape.code, tree, columns) for tree in trees]
    return Opening(mask_value, u1, u2, (shown[0][0], shown[1][0]), (shown[0][1], shown[1][1]), (shown[0][2], shown[1][2])), scale


def mask_evaluation(shape: Shape, certificate: Committed, point: list[Element]) -> Element:
    """Return m2(point), the multilinear evaluation of the cells of the second mask."""
    field, total = Extension(shape.degree), Extension(shape.degree).zero
    rows = evaluations(certificate.tableau.words[-shape.degree :], equality(point, shape.degree)).tolist()
    for d, row in enumerate(rows):
        total = field.add(total, field.multiply(tuple(row), field.unit(d)))
    return total


def _combination(shape: Shape, trees: Sequence[Committed], factors: Sequence[Element]) -> Words:
    """Return the sum of factors[r] row_r over the rows of both tableaux: coefficients of cells, then of pads, shape [k, D]."""
    weights, start = np.array(factors, np.uint64), 0
    result = np.zeros((shape.code.dimension, shape.degree), np.uint64)
    for tree in trees:
        tableau = tree.tableau
        for cells in (tableau.limbs, tableau.words):
            combine(weights[start : start + len(cells)], cells, result[: shape.code.cells])
            start += len(cells)
        combine(weights[start - len(tableau.pads) : start], tableau.pads, result[shape.code.cells :])
    return result


def _leaves(codewords: Words, salts: bytes) -> list[bytes]:
    """Return the leaves' hashes, a strip of columns at a time: a column is contiguous only in a copy."""
    def hashed(first: int, last: int) -> list[bytes]:
        found = []
        strip = np.empty((min(_STRIP, last - first), len(codewords)), np.uint64)
        for start in range(first, last, _STRIP):
            some = strip[: last - start]
            transpose(codewords, start, some)
            for i, column in enumerate(some.astype("<u8", copy=False), start):
                digest = hashlib.sha256(b"\x00" + salts[merkle.SALT_BYTES * i : merkle.SALT_BYTES * (i + 1)])
                digest.update(column)
                found.append(digest.digest())
        return found
    return [leaf for part in shared(hashed, codewords.shape[1], _STRIP) for leaf in part]


def opened(code: Code, tree: Committed, columns: Sequence[int]) -> tuple[Words, Bytes, Bytes]:
    """Return the columns, their salts and their multiproof, as arrays of the evidence."""
    words = _columns(code, tree.tableau, columns) if tree.codewords is None else tree.codewords[:, columns]
    salts = np.frombuffer(tree.salts, np.uint8).reshape(-1, merkle.SALT_BYTES)[columns]
    path = np.frombuffer(b"".join(merkle.multiproof(tree.tree, columns)), np.uint8).reshape(-1, merkle.DIGEST_BYTES)
    return np.ascontiguousarray(words.T), salts, path


def _columns(code: Code, tableau: Tableau, columns: Sequence[int]) -> Words:
    """Return columns of the codewords, which are encoded again as far as they are needed."""
    factors, cut = tables(code), len(tableau.limbs)
    parts = (tableau.limbs, tableau.pads[:cut]), (tableau.words, tableau.pads[cut:])
    return np.concatenate([columns_of(code, cells, pads, factors, columns) for cells, pads in parts])
