# SPDX-License-Identifier: Apache-2.0
"""Small commitments, a prover that may cheat at any step and then goes on honestly, and a verifier in Python integers that may be mutated.

Neither shares code with the prover or the verifier that are tested, but for field, transcript and hashes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from certify.errors import CertifyError, Rejected
from certify.limits import Limits
from certify_zk import merkle
from certify_zk.field import Element, Extension, P, root_of_unity
from certify_zk.ligero import Opening, Shape, verify_opening
from certify_zk.ligero_prover import Committed, commit, commit_certificate, open_claim
from certify_zk.reed_solomon import Code
from certify_zk.transcript import Transcript

Polynomial = list[Element]
Step = Callable[[Polynomial], Polynomial]


def draw(seed: int) -> Callable[[int], bytes]:
    """Return a source of random bytes."""
    return np.random.default_rng(seed).bytes


@dataclass(frozen=True)
class Case:
    """Two commitments and the claim whose point and weights the transcript gives."""

    shape: Shape
    model: Committed
    certificate: Committed

    @property
    def field(self) -> Extension:
        return Extension(self.shape.degree)

    @property
    def roots(self) -> tuple[bytes, bytes]:
        return self.model.root, self.certificate.root

    def start(self, transcript: Transcript | None = None) -> tuple[Transcript, list[Element], list[Element]]:
        """Return a transcript that has absorbed the roots, with weights and point."""
        spoken = transcript or Transcript()
        spoken.absorb("roots", self.roots[0] + self.roots[1])
        point = spoken.elements("point", self.shape.code.cells.bit_length() - 1, self.shape.degree)
        return spoken, spoken.elements("weights", self.shape.witness, self.shape.degree), point

    def rows(self) -> list[list[int]]:
        """Return the coefficients of all rows, masks last."""
        found = []
        for tableau in (self.model.tableau, self.certificate.tableau):
            cells = [*tableau.limbs.tolist(), *tableau.words.tolist()]
            found += [cell + pad for cell, pad in zip(cells, tableau.pads.tolist(), strict=True)]
        return found

    def mask(self, number: int) -> Polynomial:
        """Return m1 or m2 as a polynomial over the extension."""
        degree = self.shape.degree
        return [tuple(words) for words in zip(*self.rows()[self.shape.witness + (number - 1) * degree :][:degree], strict=True)]

    def combined(self, factors: Iterable[Element], rows: Iterable[list[int]]) -> Polynomial:
        """Return the sum of factor * row."""
        total = [self.field.zero] * self.shape.code.dimension
        for factor, row in zip(factors, rows, strict=True):
            total = [self.field.add(entry, self.field.scale(factor, c)) for entry, c in zip(total, row, strict=True)]
        return total

    def plus(self, a: Polynomial, b: Polynomial) -> Polynomial:
        return [self.field.add(x, y) for x, y in zip(a, b, strict=True)]

    def at(self, polynomial: Polynomial, point: list[Element]) -> Element:
        """Return the multilinear evaluation of the first `cells` coefficients."""
        total = self.field.zero
        for entry, weight in zip(polynomial, self.field.equality(point), strict=False):
            total = self.field.add(total, self.field.multiply(entry, weight))
        return total

    def value(self, weights: list[Element], point: list[Element]) -> Element:
        """Return the true value of the claim."""
        return self.at(self.combined(weights, self.rows()[: self.shape.witness]), point)


def case(cells: int = 8, pads: int = 6, length: int = 32, degree: int = 2, queries: int = 6, model: int = 3, limbs: int = 2, words: int = 1,
         seed: int = 0, blank: bool = False) -> Case:
    """Return commitments to random rows, or to rows of zeros."""
    code, random = Code(cells, pads, length), np.random.default_rng(seed + 1000)
    shape = Shape(code, degree, queries, model, limbs + words)
    small = [random.integers(0, 1 if blank else 1 << 16, (n, cells)).astype(np.uint16) for n in (model, limbs)]
    large = random.integers(0, 1 if blank else P, (words, cells), dtype=np.uint64)
    first = commit(code, small[0], np.zeros((0, cells), np.uint64), draw(seed))
    return Case(shape, first, commit_certificate(shape, small[1], large, draw(seed + 1)))


def honest(given: Case, value: Element | None = None) -> tuple[Element, Opening]:
    """Return the value and the opening of the prover that ships."""
    transcript, weights, point = given.start()
    true = given.value(weights, point) if value is None else value
    return true, open_claim(transcript, given.shape, given.model, given.certificate, weights, point, true, (given.field.zero,) * 2)[0]


def verdict(given: Case, value: Element, opening: Opening) -> str:
    """Return the code of the verifier that ships, or `verified`."""
    transcript, weights, point = given.start()
    try:
        verify_claim(transcript, given.shape, given.roots, weights, point, value, opening, Limits())
    except CertifyError as trouble:
        return trouble.code
    return "verified"


def reseal(tree: Committed, codewords: np.ndarray) -> Committed:
    """Return a commitment to other codewords, with the same salts."""
    leaves = [merkle.leaf(tree.salts[16 * j : 16 * (j + 1)], column.astype("<u8").tobytes()) for j, column in enumerate(codewords.T)]
    return replace(tree, codewords=codewords, tree=merkle.levels(leaves))


def play(given: Case, value: Element | None = None, u1: Step = list, mask: Callable[[Element, Element], Element] = lambda me, scale: me,
         u2: Callable[[Polynomial, list[int]], Polynomial] = lambda polynomial, columns: polynomial, early: bool = False) -> tuple[Element, Opening]:
    """Return what a prover sends that changes value, u1, mask value (it is told sc if that is drawn early) or u2, and is honest in all else."""
    field, shape = given.field, given.shape
    transcript, weights, point = given.start()
    claimed = given.value(weights, point) if value is None else value
    rows, witness = given.rows(), shape.witness
    transcript.absorb("opening/value", _bytes([claimed]))
    gammas = transcript.elements("opening/gamma", witness + shape.degree, shape.degree)
    first = u1(given.plus(given.combined(gammas, rows[:witness] + rows[witness + shape.degree :]), given.mask(1)))
    transcript.absorb("opening/u1", _bytes(first))
    scale = transcript.elements("opening/scale", 1, shape.degree)[0] if early else field.zero
    me = mask(given.at(given.mask(2), point), scale)
    transcript.absorb("opening/mask", _bytes([me]))
    scale = scale if early else transcript.elements("opening/scale", 1, shape.degree)[0]
    second = u2(given.plus(given.combined([field.multiply(scale, w) for w in weights], rows[:witness]), given.mask(2)), list(scale))
    transcript.absorb("opening/u2", _bytes(second))
    columns = sorted(set(transcript.indices("opening/columns", shape.queries, shape.code.length)))
    shown = []
    for tree in (given.model, given.certificate):
        salts = np.array([list(tree.salts[16 * j : 16 * (j + 1)]) for j in columns], np.uint8)
        path = np.array([list(digest) for digest in merkle.multiproof(tree.tree, columns)], np.uint8).reshape(-1, 32)
        shown.append((np.array([tree.codewords[:, j] for j in columns]), salts, path))
    arrays = [np.array(polynomial, np.uint64) for polynomial in (first, second)]
    return claimed, Opening(me, arrays[0], arrays[1], *((shown[0][i], shown[1][i]) for i in range(3)))  # type: ignore[arg-type]


def accepts(given: Case, value: Element, opening: Opening, early: bool = False) -> bool:
    """Return what the verifier in Python integers says; `early` mutates it: sc is drawn before the mask value."""
    field, shape = given.field, given.shape
    code, witness, degree = shape.code, shape.witness, shape.degree
    transcript, weights, point = given.start()
    first, second = ([tuple(words) for words in polynomial.tolist()] for polynomial in (opening.u1, opening.u2))
    transcript.absorb("opening/value", _bytes([value]))
    gammas = transcript.elements("opening/gamma", witness + degree, degree)
    transcript.absorb("opening/u1", _bytes(first))
    scale = transcript.elements("opening/scale", 1, degree)[0] if early else field.zero
    transcript.absorb("opening/mask", _bytes([opening.mask_value]))
    scale = scale if early else transcript.elements("opening/scale", 1, degree)[0]
    transcript.absorb("opening/u2", _bytes(second))
    columns = sorted(set(transcript.indices("opening/columns", shape.queries, code.length)))
    good = given.at(second, point) == field.add(field.multiply(scale, value), opening.mask_value)
    for tree, root in enumerate(given.roots):
        known = {}
        for i, j in enumerate(columns):
            data = b"".join(word.to_bytes(8, "little") for word in opening.columns[tree][i].tolist())
            known[j] = hashlib.sha256(b"\x00" + opening.salts[tree][i].tobytes() + data).digest()
        path = iter([digest.tobytes() for digest in opening.paths[tree]])
        for _ in range(code.length.bit_length() - 1):
            level = {}
            for j in sorted(known):
                pair = [known[j], known[j ^ 1] if j ^ 1 in known else next(path, b"")]
                level[j // 2] = hashlib.sha256(b"\x01" + b"".join(pair[::-1] if j % 2 else pair)).digest()
            known = level
        good &= known[0] == root and next(path, None) is None
    generator = root_of_unity(code.length)
    for i, j in enumerate(columns):
        bits = code.cells.bit_length() - 1
        turned = sum((j % code.cells >> b & 1) << (bits - 1 - b) for b in range(bits))
        x = pow(generator, j // code.cells + code.length // code.cells * turned, P)
        column = [*opening.columns[0][i].tolist(), *opening.columns[1][i].tolist()]
        masks = [tuple(column[witness + n * degree :][:degree]) for n in range(2)]
        sums = [masks[0], masks[1]]
        for gamma, word in zip(gammas, column[:witness] + column[witness + degree :], strict=True):
            sums[0] = field.add(sums[0], field.scale(gamma, word))
        for weight, word in zip(weights, column[:witness], strict=True):
            sums[1] = field.add(sums[1], field.scale(field.multiply(scale, weight), word))
        for polynomial, expected in zip((first, second), sums, strict=True):
            total = field.zero
            for entry in reversed(polynomial):
                total = field.add(field.scale(total, x), entry)
            good &= total == expected
    return good


def _bytes(polynomial: Polynomial) -> bytes:
    return b"".join(word.to_bytes(8, "little") for entry in polynomial for word in entry)


def verify_claim(transcript: Transcript, shape: Shape, roots: tuple[bytes, bytes], weights: Sequence[Element], point: Sequence[Element],
                 value: Element, opening: Opening, limits: Limits) -> None:
    """Return if `opening`, whose messages are not masked, shows that the sum of weights[r] f_r(point) is `value`; raises what `verify_opening`
    raises.

    Weights are in the order of the rows, model first; the transcript has absorbed or given roots, weights and point.
    """
    equation = verify_opening(transcript, shape, roots, weights, point, value, opening, limits)
    field = Extension(shape.degree)
    if field.add(field.multiply(equation.scale, value), opening.mask_value) != equation.right:
        raise Rejected("argument-opening", "the opened rows do not have the claimed value", where="evidence.u2")
