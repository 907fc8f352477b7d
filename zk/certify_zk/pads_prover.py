# SPDX-License-Identifier: Apache-2.0
"""The prover's side of the tableau of pads: draws and commits it before a run, and shows afterwards that the run's constraints hold.

Guarantee: for a run whose constraints hold, `verify_pads` accepts what `open_pads` returns. Hiding rests on the caller, as in `ligero_prover`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from flint import nmod_poly

from certify_zk.dialogue import Padded
from certify_zk.field import GENERATOR, Element, Extension, P
from certify_zk.ligero import Words, distinct, to_bytes
from certify_zk.ligero_prover import Committed, Draw, Tableau, committed, opened, uniform
from certify_zk.merkle import SALT_BYTES
from certify_zk.pads import PadOpening, PadShape, challenges, coefficients, combination
from certify_zk.transcript import Transcript

Polynomial = list[nmod_poly]
"""The components of a polynomial over F."""


@dataclass(frozen=True)
class Pads:
    """Pads of messages, and all rows as polynomials with their commitment."""

    messages: list[Element]
    rows: list[Polynomial]
    committed: Committed


def commit_pads(shape: PadShape, pairs: Sequence[tuple[int, int]], draw: Draw) -> Pads:
    """Return fresh pads for the messages of a run whose products are those of pairs of messages."""
    field, slots, t = Extension(shape.degree), shape.code.cells, shape.code.pads
    messages = _elements(draw, shape.messages, shape.degree)
    hidden = [("message", messages)]
    for name, part in zip("xyz", _products(field, messages, pairs), strict=True):
        hidden.append((name, part))
    table = [[field.zero] * slots for _ in range(shape.witness)]
    for name, values in hidden:
        for number, value in enumerate(values):
            row, slot = shape.place(name, number)
            table[row][slot] = value
    cyclic = nmod_poly([-1 % P, *[0] * (slots - 1), 1], P)
    rows = [[nmod_poly(part, P) + cyclic * some for part, some in zip(coefficients(row, field), _random(draw, t, shape.degree), strict=True)]
            for row in table]
    rows += [_random(draw, shape.code.dimension, shape.degree), *_linear_masks(shape, draw), *_product_masks(shape, draw, cyclic)]
    return Pads(messages, rows, _commit(shape, rows, draw))


def open_pads(transcript: Transcript, shape: PadShape, run: Padded, pads: Pads) -> PadOpening:
    """Return what shows that the constraints of a run hold with its pads."""
    field, rows, count = Extension(shape.degree), pads.rows, shape.product_rows
    drawn = challenges(transcript, shape)
    witness, (mask, *parts) = rows[: shape.witness], rows[shape.witness :]
    u = mask
    for gamma, row in zip(drawn.rows, [*witness, *parts], strict=True):
        u = _add(u, _multiply(_constant(gamma), row))
    linear = _joined(parts[:2], shape.shifts[0])
    table, _ = combination(run, shape, drawn.constraint)
    for slots, row in zip(table, witness, strict=True):
        linear = _add(linear, _multiply([nmod_poly(part, P) for part in coefficients(slots, field)], row))
    product, power = _joined(parts[2:], shape.shifts[1]), field.one
    for x, y, z in zip(*(witness[shape.message_rows + part * count : shape.message_rows + (part + 1) * count] for part in range(3)), strict=True):
        power = field.multiply(power, drawn.product)
        wrong = _add(_multiply(x, y), [-part for part in z])
        product = _add(product, _multiply(_constant(power), wrong))
    first, second, third = (_words(polynomial, length) for polynomial, length in zip((u, linear, product), shape.lengths, strict=True))
    for name, polynomial in (("u", first), ("linear", second), ("product", third)):
        transcript.absorb(f"pads/{name}", to_bytes(polynomial))
    columns = distinct(transcript.indices("pads/columns", shape.code.pads, shape.code.length))
    return PadOpening(first, second, third, *opened(shape.code, pads.committed, columns))


def _products(field: Extension, messages: Sequence[Element], pairs: Sequence[tuple[int, int]]) -> tuple[list[Element], list[Element], list[Element]]:
    x, y = ([messages[pair[side]] for pair in pairs] for side in (0, 1))
    return x, y, [field.multiply(a, b) for a, b in zip(x, y, strict=True)]


def _linear_masks(shape: PadShape, draw: Draw) -> list[Polynomial]:
    """Return the parts of a mask that is random but for its sum over the slots, which is 0: that of the coefficients of 1, X^l, X^2l, ..."""
    _, length, _ = shape.lengths
    mask = [[int(c) for c in component.coeffs()] + [0] * (length - len(component.coeffs())) for component in _random(draw, length, shape.degree)]
    for component in mask:
        component[0] = -sum(component[shape.code.cells :: shape.code.cells]) % P
    (_, shift), kappa = shape.shifts[0], shape.code.dimension
    some = _random(draw, kappa - shift, shape.degree)
    second = [low + nmod_poly([*[0] * (kappa - shift), *component[kappa:]], P) for low, component in zip(some, mask, strict=True)]
    return [[nmod_poly(whole, P) - _shifted(part, shift) for whole, part in zip(mask, second, strict=True)], second]


def _product_masks(shape: PadShape, draw: Draw, cyclic: nmod_poly) -> list[Polynomial]:
    """Return the parts of a mask that is a random multiple of X^l - 1."""
    _, _, length = shape.lengths
    kappa, (_, middle, last) = shape.code.dimension, shape.shifts[1]
    mask = [cyclic * component for component in _random(draw, length - shape.code.cells, shape.degree)]
    second = _random(draw, kappa, shape.degree)
    rest = [whole - _shifted(part, middle) for whole, part in zip(mask, second, strict=True)]
    free = _random(draw, 1, shape.degree)
    third = [some + nmod_poly([0, *map(int, whole.coeffs()[last + 1 :])], P) for some, whole in zip(free, rest, strict=True)]
    return [[whole - _shifted(part, last) for whole, part in zip(rest, third, strict=True)], second, third]


def _commit(shape: PadShape, rows: Sequence[Polynomial], draw: Draw) -> Committed:
    """Return the commitment to the values of rows on the coset of 7: their coefficients times powers of 7 are the cells and pads of a codeword."""
    code, powers = shape.code, [1]
    for _ in range(code.dimension - 1):
        powers.append(powers[-1] * GENERATOR % P)
    cells = np.zeros((len(rows) * shape.degree, code.dimension), np.uint64)
    for found, component in zip(cells, (component for row in rows for component in row), strict=True):
        turned = [int(c) * power % P for c, power in zip(component.coeffs(), powers, strict=False)]
        found[: len(turned)] = turned
    low, high = (np.ascontiguousarray(part) for part in np.split(cells, [code.cells], axis=1))
    return committed(code, Tableau(np.empty((0, code.cells), np.uint16), low, high), draw(SALT_BYTES * code.length))


def _random(draw: Draw, length: int, degree: int) -> Polynomial:
    return [nmod_poly(component.tolist(), P) for component in uniform(draw, (degree, length))]


def _elements(draw: Draw, count: int, degree: int) -> list[Element]:
    return [tuple(words) for words in uniform(draw, (count, degree)).tolist()]


def _words(polynomial: Polynomial, length: int) -> Words:
    table = np.zeros((length, len(polynomial)), np.uint64)
    for d, component in enumerate(polynomial):
        found = [int(c) for c in component.coeffs()]
        table[: len(found), d] = found
    return table


def _shifted(polynomial: nmod_poly, power: int) -> nmod_poly:
    return polynomial * nmod_poly([*[0] * power, 1], P)


def _joined(parts: Sequence[Polynomial], shifts: Sequence[int]) -> Polynomial:
    total = parts[0]
    for part, shift in zip(parts[1:], shifts[1:], strict=True):
        total = _add(total, [_shifted(component, shift) for component in part])
    return total


def _constant(value: Element) -> Polynomial:
    return [nmod_poly([word], P) for word in value]


def _add(first: Polynomial, second: Polynomial) -> Polynomial:
    return [a + b for a, b in zip(first, second, strict=True)]


def _multiply(first: Polynomial, second: Polynomial) -> Polynomial:
    """Return the product over F = F_p[Y]/(Y^D - 7)."""
    degree = len(first)
    found = [nmod_poly([], P) for _ in range(degree)]
    for i, a in enumerate(first):
        for j, b in enumerate(second):
            found[(i + j) % degree] += a * b if i + j < degree else a * b * GENERATOR
    return found
