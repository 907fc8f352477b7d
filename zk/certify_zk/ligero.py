# SPDX-License-Identifier: Apache-2.0
"""The hiding Ligero commitment: what a verifier does to open one linear claim about all rows of two committed tableaux.

Tableaux. The *model* and the *certificate* have rows of `cells` base-field cells and `pads` random elements (`reed_solomon`). Column j of a tableau's
codewords, as little-endian 64-bit words, is the salted leaf j of its Merkle tree. The last 2 D rows of the certificate, D the degree of the challenge
field F, are masks: random polynomials m1 and m2 over F, coefficients of 1, X, ... each a row. All other rows, r = 1..R, are the witness.

Claim. sum_r weight_r f_r(point) = value, f_r the multilinear extension of the cells of row r.

Protocol. Roots, weights, point and value are absorbed or drawn before (the opening absorbs the value itself).
1. gamma_r in F, independent, for every row but those of m1: the D rows of m2 have theirs. Prover: u1 = sum_r gamma_r row_r + m1, k coefficients.
2. Prover: me = m2(point), of the cells of m2. *Then* sc in F. Prover: u2 = sc sum_r weight_r row_r + m2.
3. t uniform columns; prover: the distinct ones of both tableaux with salts, and one canonical multiproof a tree.
4. u2(point) = sc value + me; at each opened x_j the columns satisfy the equations of u1 and u2.

Soundness. Let e be the radius of the code, N its length. If rows and m1 are not within e columns of codewords in common, u1 is wrong on more than e
columns but for a chance of N/|F|, and t queries miss them with (1 - e/N)^t. Otherwise all rows, those of m2 included, decode uniquely, to polynomials
over F_p: where a wrong u2 agrees with the right one there are at most k - 1 + e <= N - e columns, and a right u2 gives sc (true - value) = me -
m2(point), of which me was fixed before sc: a chance of 1/|F|. Were m2 without gamma, or sc drawn before me, a false value could be hidden in me.

Zero knowledge. At most `pads` columns of a tableau are ever opened, so those of the witness are uniform; u1 and u2 are uniform because m1 and m2 are,
the opened columns of m1 and m2 and me follow from the equations, and unopened leaves are salted hashes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from certify.errors import Rejected
from certify.limits import Limits
from certify_zk import merkle
from certify_zk.field import Element, Extension, P, combined, evaluate
from certify_zk.reed_solomon import Code
from certify_zk.transcript import Transcript

Words = np.ndarray[Any, np.dtype[np.uint64]]
Bytes = np.ndarray[Any, np.dtype[np.uint8]]

TREES = ("model", "certificate")


@dataclass(frozen=True)
class Shape:
    """Public sizes of two committed tableaux: code, degree of F, queries, and witness rows of model and certificate (at least one each)."""

    code: Code
    degree: int
    queries: int
    model_rows: int
    certificate_rows: int

    @property
    def rows(self) -> tuple[int, int]:
        """Rows of the model and of the certificate, the masks of the latter included."""
        return self.model_rows, self.certificate_rows + 2 * self.degree

    @property
    def witness(self) -> int:
        """Number of rows that a claim weighs."""
        return self.model_rows + self.certificate_rows

    @property
    def cost(self) -> int:
        """Elementary operations of `verify_opening`, for `Limits.spend`.

        A word that becomes a Python integer and an entry of flint counts 300, a term of a polynomial's value 1, a column's hashes 2^15, and a factor
        of a row 1024 for each of its words.
        """
        columns, both, code = min(self.queries, self.code.length), sum(self.rows), self.code
        moved = columns * both + self.degree * (2 * code.dimension + code.cells)
        return 300 * moved + columns * (2 * self.degree * code.dimension + (1 << 15) + 8 * both) + 1024 * self.degree * both


@dataclass(frozen=True)
class Opening:
    """What the prover sends: two polynomials, the masked evaluation, and for each tree distinct columns (ascending), their salts and a multiproof.

    Shapes: u1 and u2 [k, D]; columns [n, rows] of n opened columns; salts |u1 [n, 16]; paths |u1 [siblings, 32]. `mask_value` is a message, given
    apart from the arrays like the claim's value.
    """

    mask_value: Element
    u1: Words
    u2: Words
    columns: tuple[Words, Words]
    salts: tuple[Bytes, Bytes]
    paths: tuple[Bytes, Bytes]


@dataclass(frozen=True)
class Equation:
    """What remains of a verified opening: scale * value + mask value = right, for the true (unmasked) value and mask value."""

    scale: Element
    right: Element


def verify_opening(transcript: Transcript, shape: Shape, roots: tuple[bytes, bytes], weights: Sequence[Element], point: Sequence[Element],
                   value: Element, opening: Opening, limits: Limits) -> Equation:
    """Return the equation between value and mask value that an opening leaves, once all else is checked; both may be masked by pads.

    Raises Rejected `argument-malformed` (shapes), `argument-noncanonical` (words of p or more), `argument-path` (columns that are not the committed
    ones) or `argument-opening` (columns that contradict u1 or u2), Declined `limit-reached`; ValueError where `weights` or `point` do not fit the
    shape.
    """
    code, field = shape.code, Extension(shape.degree)
    if len(weights) != shape.witness or 1 << len(point) != code.cells:
        raise ValueError("there is a weight for each row, and a coordinate for each bit of a cell's number")
    limits.spend(shape.cost, "opening the committed rows")
    for name, message in (("value", value), ("mask_value", opening.mask_value)):
        _element(message, shape.degree, name)
    for name, polynomial in (("u1", opening.u1), ("u2", opening.u2)):
        shaped_words(polynomial, (code.dimension, shape.degree), name)

    transcript.element("opening/value", value)
    gammas = transcript.elements("opening/gamma", shape.witness + shape.degree, shape.degree)
    transcript.absorb("opening/u1", to_bytes(opening.u1))
    transcript.element("opening/mask", opening.mask_value)
    (scale,) = transcript.elements("opening/scale", 1, shape.degree)
    transcript.absorb("opening/u2", to_bytes(opening.u2))
    columns = distinct(transcript.indices("opening/columns", shape.queries, code.length))

    for tree, name in enumerate(TREES):
        authentic(name, roots[tree], code.length, shape.rows[tree], columns, opening.columns[tree], opening.salts[tree], opening.paths[tree])
    opened = np.concatenate(opening.columns, axis=1)
    factors = zip(u1_factors(field, shape, gammas), u2_factors(field, weights, scale), strict=True)
    flat = [word for pair in factors for element in pair for word in element]
    found = combined(opened, flat, 2 * shape.degree)
    points = [code.point(column) for column in columns]
    for name, first, polynomial in (("u1", 0, opening.u1), ("u2", shape.degree, opening.u2)):
        for d in range(shape.degree):
            if evaluate(polynomial[:, d].tolist(), points) != found[first + d :: 2 * shape.degree]:
                raise Rejected("argument-opening", f"an opened column contradicts {name}", where=f"evidence.{name}")
    return Equation(scale, field.multilinear([opening.u2[: code.cells, d].tolist() for d in range(shape.degree)], point))


def u1_factors(field: Extension, shape: Shape, gammas: Sequence[Element]) -> list[Element]:
    """Return the factor of each committed row in u1; `gammas` are those of the witness rows and then of m2, in u1 m1 counts as it is."""
    return [*gammas[: shape.witness], *_units(field), *gammas[shape.witness :]]


def u2_factors(field: Extension, weights: Sequence[Element], scale: Element) -> list[Element]:
    """Return the factor of each committed row in u2, where m2 counts as it is."""
    return [*(field.multiply(scale, weight) for weight in weights), *[field.zero] * field.degree, *_units(field)]


def distinct(indices: Sequence[int]) -> list[int]:
    """Return the opened columns of drawn indices: without repetitions, ascending."""
    return sorted(set(indices))


def to_bytes(words: Words) -> bytes:
    """Return an array as little-endian words, row after row: the bytes that are hashed and absorbed."""
    return words.astype("<u8").tobytes()


def _units(field: Extension) -> list[Element]:
    return [field.unit(power) for power in range(field.degree)]


def authentic(name: str, root: bytes, length: int, rows: int, columns: Sequence[int], words: Words, salts: Bytes, path: Bytes) -> None:
    """Return if columns [n, rows] with salts and a multiproof are those of the tree with this root; raises Rejected `argument-*` if not."""
    where = f"evidence.{name}_columns"
    shaped_words(words, (len(columns), rows), f"{name}_columns")
    _shaped(salts, (len(columns), merkle.SALT_BYTES), np.dtype(np.uint8), f"{name}_salts")
    _shaped(path, (merkle.siblings(length, columns), merkle.DIGEST_BYTES), np.dtype(np.uint8), f"{name}_paths")
    leaves = [merkle.leaf(salt.tobytes(), to_bytes(column)) for salt, column in zip(salts, words, strict=True)]
    merkle.verify(root, length, columns, leaves, [digest.tobytes() for digest in path], where)


def shaped_words(array: Words, shape: tuple[int, int], name: str) -> None:
    """Return for words below p in an array of this shape; raises Rejected `argument-malformed` or `argument-noncanonical` if not."""
    _shaped(array, shape, np.dtype(np.uint64), name)
    if bool((array >= np.uint64(P)).any()):
        raise Rejected("argument-noncanonical", f"{name} has a word that is no element of the field", where=f"evidence.{name}")


def _shaped(array: Words | Bytes, shape: tuple[int, int], dtype: np.dtype[Any], name: str) -> None:
    if array.dtype == dtype and array.shape[1:] == shape[1:] and len(array) != shape[0]:
        what = f"it was made for another statement (property, context, commitment), or changed: {name} has {len(array)} entries of {shape[0]}"
        raise Rejected("argument-malformed", what, where=f"evidence.{name}",
                       fix="check that the subjects and the claim are those it was made for; else ask the author")
    if array.dtype != dtype or array.shape != shape:
        raise Rejected("argument-malformed", f"{name} has {list(array.shape)} entries of type {array.dtype}, and {list(shape)} of {dtype} are needed",
                       where=f"evidence.{name}")


def _element(value: Element, degree: int, name: str) -> None:
    if len(value) != degree:
        raise Rejected("argument-malformed", f"{name} has {len(value)} words of {degree}", where="evidence.messages")
    if not all(0 <= word < P for word in value):
        raise Rejected("argument-noncanonical", f"{name} has a word that is no element of the field", where="evidence.messages")
