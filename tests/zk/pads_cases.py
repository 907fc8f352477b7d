# SPDX-License-Identifier: Apache-2.0
"""Small masked runs, a prover whose steps may be tampered with, and a verifier of the tableau of pads in Python integers, from its definition.

The verifier shares no code with those that ship but for the transcript, the order of a code's columns, and the run that says what the constraints
are; what these consist of it keeps in plain tables of coefficients.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import product as pairs_of

import numpy as np

from certify.errors import CertifyError
from certify.limits import Limits
from certify_zk import pads_prover
from certify_zk.affine import Affine
from certify_zk.dialogue import Padded, Recorded, Silent
from certify_zk.field import Element, Extension, P
from certify_zk.layout import BlockClaim
from certify_zk.pads import PadOpening, PadShape, verify_pads
from certify_zk.pads_prover import Pads, commit_pads, open_pads
from certify_zk.reed_solomon import Code
from certify_zk.transcript import Transcript

NOTHING = BlockClaim("", ())
Step = Callable[[PadShape, Pads], Pads]


class Known(Recorded):
    """The source of a prover: messages that it has chosen, and what earlier ones determine."""

    def echo(self, value: Element | None) -> Element:
        assert value is not None
        return value


@dataclass(frozen=True)
class Case:
    """A run of so many messages that are free, then claims about sums and products of them, of which those in `lies` are false by 1."""

    slots: int = 8
    pads: int = 4
    length: int = 128
    degree: int = 2
    free: int = 5
    products: int = 3
    lies: tuple[str, ...] = ()

    @property
    def field(self) -> Extension:
        return Extension(self.degree)

    @property
    def shape(self) -> PadShape:
        run = Padded(Transcript(), self.field, Silent(self.degree), None)
        self.talk(run)
        return PadShape(Code(self.slots, self.pads, self.length), self.degree, run.counts["messages"], run.counts["products"])

    @property
    def pairs(self) -> list[tuple[int, int]]:
        run = Padded(Transcript(), self.field, Silent(self.degree), None)
        self.talk(run)
        return run.pairs

    def start(self, root: bytes) -> Transcript:
        """Return a transcript that has absorbed the root of the pads."""
        return start(root)

    def talk(self, run: Padded) -> None:
        """Go through the run: one sum, products of messages, one of a message that is moved, and one of a form with a product."""
        field, names = run.field, [f"product {number}" for number in range(self.products)]
        first = [run.heard("claim", [run.source.claim(NOTHING)])[0] for _ in range(self.free)]
        challenge, other = run.challenge("point", 2, "rounds", 1)
        total = run.combined([(challenge, value) for value in first], other)
        self._same(run, total, "sum")
        for number, name in enumerate(names):
            made = run.product(first[number % self.free], first[(3 * number + 1) % self.free])
            self._same(run, made, name)
        moved = run.combined([(field.one, first[0])], other)
        made = run.product(moved, first[-1])
        self._same(run, made, "moved")
        self._same(run, run.product(total, made), "triple")
        public = run.product(Affine(challenge), first[0])
        run.check(run.product(public, Affine(other)), run.combined([(field.multiply(challenge, other), first[0])]), "x", "a multiple of a message")

    def _same(self, run: Padded, value: Affine, name: str) -> None:
        """Hear a message that should have a value, and check that it does."""
        truth = None if run.pads is None else run.tape.value(value)
        if truth is not None and name in self.lies:
            truth = run.field.add(truth, run.field.one)
        (said,) = run.heard("said", [run.source.echo(truth)])
        run.check(value, said, "x", name)

    def values(self, seed: int) -> list[Element]:
        """Return the messages that are free."""
        return elements(np.random.default_rng(seed + 1), self.free, self.degree)


@dataclass(frozen=True)
class Sent:
    """What a prover sends: the root, masked messages and the opening."""

    root: bytes
    messages: list[Element]
    opening: PadOpening


def elements(rng: np.random.Generator, count: int, degree: int) -> list[Element]:
    """Return random elements."""
    return [tuple(words) for words in rng.integers(0, P, (count, degree), dtype=np.uint64).tolist()]


def start(root: bytes) -> Transcript:
    """Return a transcript that has absorbed a root."""
    transcript = Transcript()
    transcript.absorb("roots", root)
    return transcript


def sealed(shape: PadShape, pads: Pads, rows: Sequence[pads_prover.Polynomial], seed: int = 9) -> Pads:
    """Return pads with other rows, committed anew."""
    return replace(pads, rows=list(rows), committed=pads_prover._commit(shape, rows, np.random.default_rng(seed).bytes))


def play(case: Case, seed: int = 0, committed: Step = lambda _, pads: pads, opened: Step = lambda _, pads: pads,
         commit: Callable[..., Pads] = commit_pads) -> Sent:
    """Return what a prover sends who changes its rows before it commits to them, or after that, and is honest in all else."""
    shape = case.shape
    pads = committed(shape, commit(shape, case.pairs, np.random.default_rng(seed).bytes))
    transcript = case.start(pads.committed.root)
    run = Padded(transcript, case.field, Known(case.values(seed)), pads.messages)
    case.talk(run)
    return Sent(pads.committed.root, run.sent, open_pads(transcript, shape, run, opened(shape, pads)))


def verdict(case: Case, sent: Sent, limits: Limits | None = None) -> str:
    """Return the code of the verifier that ships, or `verified`."""
    transcript = case.start(sent.root)
    run = Padded(transcript, case.field, Recorded(sent.messages), None)
    try:
        case.talk(run)
        verify_pads(transcript, case.shape, sent.root, run, sent.opening, limits or Limits())
    except CertifyError as trouble:
        return trouble.code
    return "verified"


class Explicit:
    """A tape that keeps for each node the coefficients of all leaves."""

    def __init__(self, degree: int) -> None:
        self.degree, self.nodes = degree, list[dict[int, Element]]()

    def leaf(self, value: Element | None) -> int:
        self.nodes.append({len(self.nodes): (1, *(0,) * (self.degree - 1))})
        return len(self.nodes) - 1

    def combined(self, terms: Iterable[tuple[Element, Affine]], constant: Element) -> Affine:
        found: dict[int, Element] = {}
        for coefficient, term in terms:
            constant = add(constant, times(coefficient, term.known))
            for leaf, factor in ({} if term.node is None else self.nodes[term.node]).items():
                found[leaf] = add(found.get(leaf, (0,) * self.degree), times(coefficient, factor))
        if not found:
            return Affine(constant)
        if len(found) == 1 and next(iter(found.values())) == (1, *(0,) * (self.degree - 1)):
            return Affine(constant, next(iter(found)))
        self.nodes.append(found)
        return Affine(constant, len(self.nodes) - 1)


def add(a: Element, b: Element) -> Element:
    """Return a + b."""
    return tuple((x + y) % P for x, y in zip(a, b, strict=True))


def times(a: Element, b: Element) -> Element:
    """Return a b modulo X^D - 7, by the definition."""
    found = [0] * len(a)
    for (i, x), (j, y) in pairs_of(enumerate(a), enumerate(b)):
        found[(i + j) % len(a)] += x * y * (7 if i + j >= len(a) else 1)
    return tuple(word % P for word in found)


def at(coefficients: Sequence[Element], x: int) -> Element:
    """Return the value of a polynomial at an element of F_p."""
    total = (0,) * len(coefficients[0])
    for entry in reversed(coefficients):
        total = tuple((word * x + c) % P for word, c in zip(total, entry, strict=True))
    return total


def through(values: Sequence[Element], x: int) -> Element:
    """Return the value at x of the polynomial of least degree with these values at the roots of unity of the order of their number."""
    order = len(values)
    root, total = pow(7, (P - 1) // order, P), (0,) * len(values[0])
    for slot, value in enumerate(values):
        here = pow(root, slot, P)
        factor = (pow(x, order, P) - 1) * here * pow(order * (x - here), -1, P) % P
        total = tuple((word + c * factor) % P for word, c in zip(total, value, strict=True))
    return total


def equations(case: Case, sent: Sent, first: int = 1) -> set[str]:
    """Return the names of the verifier's equations that do not hold; `first` is the power of a challenge with which weights begin."""
    shape, zero = case.shape, (0,) * case.degree
    code, degree = shape.code, case.degree
    slots, kappa = code.cells, code.cells + code.pads
    message_rows, product_rows = -(-shape.messages // slots), -(-shape.products // slots)
    witness = message_rows + 3 * product_rows
    transcript = case.start(sent.root)
    run = Padded(transcript, case.field, Recorded(sent.messages), None)
    run.tape = tape = Explicit(degree)  # type: ignore[assignment]
    case.talk(run)
    rho, rho2 = transcript.elements("pads/challenges", 2, degree)
    gammas = transcript.elements("pads/rows", witness + 5, degree)
    polynomials = [[tuple(words) for words in array.tolist()] for array in (sent.opening.u, sent.opening.linear, sent.opening.product)]
    assert [len(each) for each in polynomials] == [kappa, kappa + slots - 1, 2 * kappa - 1]
    for name, polynomial in zip(("u", "linear", "product"), polynomials, strict=True):
        transcript.absorb(f"pads/{name}", b"".join(word.to_bytes(8, "little") for entry in polynomial for word in entry))
    columns = sorted(set(transcript.indices("pads/columns", code.pads, code.length)))
    wrong = set()

    known = {}
    for column, words, salt in zip(columns, sent.opening.columns.tolist(), sent.opening.salts, strict=True):
        known[column] = hashlib.sha256(b"\x00" + salt.tobytes() + b"".join(word.to_bytes(8, "little") for word in words)).digest()
    path = iter([digest.tobytes() for digest in sent.opening.path])
    for _ in range(code.length.bit_length() - 1):
        level = {}
        for j in sorted(known):
            pair = [known[j], known[j ^ 1] if j ^ 1 in known else next(path, b"")]
            level[j // 2] = hashlib.sha256(b"\x01" + b"".join(pair[::-1] if j % 2 else pair)).digest()
        known = level
    if known[0] != sent.root or next(path, None) is not None:
        wrong.add("path")

    table, due, power = [[zero] * slots for _ in range(witness)], zero, (1, *zero[1:])
    for _ in range(first):
        power = times(power, rho)
    for constraint in run.constraints:
        for leaf, factor in ({} if constraint.node is None else tape.nodes[constraint.node]).items():
            name, number = run.where[leaf]
            above = 0 if name == "message" else message_rows + "xyz".index(name) * product_rows
            row, slot = above + number // slots, number % slots
            table[row][slot] = add(table[row][slot], times(power, factor))
        due = add(due, times(power, tuple(-word for word in constraint.known)))
        power = times(power, rho)
    root, total = pow(7, (P - 1) // slots, P), zero
    for slot in range(slots):
        total = add(total, at(polynomials[1], pow(root, slot, P)))
        if at(polynomials[2], pow(root, slot, P)) != zero:
            wrong.add("slots of product")
    if total != due:
        wrong.add("sum of linear")

    generator, bits = pow(7, (P - 1) // code.length, P), slots.bit_length() - 1
    for column, words in zip(columns, sent.opening.columns.tolist(), strict=True):
        turned = sum((column % slots >> bit & 1) << (bits - 1 - bit) for bit in range(bits))
        x = 7 * pow(generator, column // slots + code.length // slots * turned, P) % P
        rows = [tuple(words[degree * r : degree * (r + 1)]) for r in range(witness + 6)]
        mask, *parts = rows[witness:]
        sums = [mask, add(parts[0], times((pow(x, slots - 1, P), *zero[1:]), parts[1])),
                add(parts[2], add(times((pow(x, slots, P), *zero[1:]), parts[3]), times((pow(x, kappa - 1, P), *zero[1:]), parts[4])))]
        for gamma, row in zip(gammas, rows[:witness] + parts, strict=True):
            sums[0] = add(sums[0], times(gamma, row))
        for factors, row in zip(table, rows, strict=False):
            sums[1] = add(sums[1], times(through(factors, x), row))
        power = (1, *zero[1:])
        for _ in range(first):
            power = times(power, rho2)
        for x_row, y_row, z_row in zip(*(rows[message_rows + part * product_rows :][:product_rows] for part in range(3)), strict=True):
            sums[2] = add(sums[2], times(power, add(times(x_row, y_row), tuple(-word for word in z_row))))
            power = times(power, rho2)
        for name, polynomial, value in zip(("u", "linear", "product"), polynomials, sums, strict=True):
            if at(polynomial, x) != value:
                wrong.add(f"{name} in a column")
    return wrong
