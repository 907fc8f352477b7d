# SPDX-License-Identifier: Apache-2.0
"""The prover's side of the backend hyrax: commits rows as points, and shows with them what `hyrax` verifies.

Guarantee: for tables that break no relation, `hyrax.verify` accepts the proof. Tables that do are not looked at. Hiding rests on the caller: what
`draw` gives must never serve two witnesses or two statements, but for the blinding of the model's rows, which may serve any number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from certify.limits import Limits
from certify_zk import argument
from certify_zk.dialogue import MESSAGE, PAIR, Padded
from certify_zk.exact import Integers
from certify_zk.group import Group, Point, digest, encoded, group
from certify_zk.hyrax import HyraxArgument, Sizes, begin, generators, measured
from certify_zk.hyrax_equations import COLUMN, H, Linear, Shape, U, challenged, linear
from certify_zk.hyrax_source import Answers
from certify_zk.hyrax_sums import weights
from certify_zk.kernels.bls import Words, held, multiply, shown, spread, total
from certify_zk.layout import MULTIPLICITY, Layout
from certify_zk.policy import Policy
from certify_zk.prime_field import WIDE_BYTES, Bytes, PrimeField, R, inner, packed, powers, reduced
from certify_zk.publics import public_values
from certify_zk.relations import Block
from certify_zk.statement import Statement
from certify_zk.verifier import arrangement
from certify_zk.width import LIMB

Draw = Callable[[int], bytes]
Tables = Mapping[str, Integers]


@dataclass(frozen=True)
class Points:
    """Rows of integers modulo r with their blinding, and their points |u1 [., 48]."""

    rows: list[list[int]]
    blinds: list[int]
    points: Bytes

    @property
    def root(self) -> bytes:
        """The commitment."""
        return digest(self.points)


def commit_model(policy: Policy, blocks: Mapping[str, Block], tables: Tables, draw: Draw) -> Points:
    """Return the commitment to the model's blocks; `draw` gives its blinding."""
    layout = arrangement(policy, blocks.values())
    return commit(group(), filled(layout, layout.model, tables).tolist(), draw)


def commit(curve: Group, rows: Sequence[Sequence[int]], draw: Draw) -> Points:
    """Return the commitment to rows of one length, of integers modulo r, with fresh blinding."""
    base = generators(curve, len(rows[0]))
    blinds = uniform(draw, len(rows))
    points = [pedersen(curve, base, row, blind) for row, blind in zip(rows, blinds, strict=True)]
    return Points([list(row) for row in rows], blinds, encoded(curve, points))


def pedersen(curve: Group, base: Sequence[Point], row: Sequence[int], blind: int) -> Point:
    """Return Com(row; blind)."""
    return curve.combination([*base[COLUMN : COLUMN + len(row)], base[H]], [*row, blind])


def uniform(draw: Draw, count: int) -> list[int]:
    """Return random integers modulo r."""
    data = draw(WIDE_BYTES * count)
    return [reduced(data[start : start + WIDE_BYTES]) for start in range(0, len(data), WIDE_BYTES)]


def filled(layout: Layout, rows: Sequence[int], tables: Tables) -> Integers:
    """Return the cells of rows, modulo r; raises ValueError for cells that are not 0 and in no row."""
    number, width = {row: index for index, row in enumerate(rows)}, 1 << layout.columns
    found: Integers = np.zeros((len(rows), width), object)
    for name, place in layout.places.items():
        row, start = divmod(place.start, width)
        if row not in number:
            continue
        table = residues(tables[name])
        cells = (table.T if table.ndim == 2 and place.axis == 1 else table).ravel()
        if cells[place.stored :].any():
            raise ValueError(f"{name} has cells in padding that is not stored")
        for offset in range(0, place.stored, width):
            part = cells[offset : min(offset + width, place.stored)]
            found[number[row + offset // width], start : start + len(part)] = part
    return found


def multiplicities(cells: Integers) -> Integers:
    """Return how often each integer of the lookup's table occurs."""
    return np.bincount(cells[cells < 1 << LIMB].astype(np.int64), minlength=1 << LIMB)


def residues(values: Integers) -> Integers:
    """Return integers modulo r, as Python's."""
    found: Integers = np.asarray(values).astype(object) % R
    return found


def prove(policy: Policy, statement: Statement, claim: bytes, tables: Tables, model: Points, draw: Draw) -> HyraxArgument:
    """Return the argument for a witness; `draw` gives blinding, pads and masks."""
    curve, sizes = group(), measured(policy, statement, Limits())
    layout, shape = sizes.layout, sizes.shape
    ranged = filled(layout, layout.ranged, tables)
    counted = multiplicities(ranged)
    free = filled(layout, layout.free, {MULTIPLICITY: counted})
    rest = commit(curve, [*ranged[len(layout.model) :].tolist(), *free.tolist()], draw)
    pads = commit_pads(curve, sizes, draw)
    nothing = np.zeros((0, 0), np.uint8)
    sent = HyraxArgument(model.points, rest.points, pads.points, nothing, nothing, nothing)
    publics, cells = public_values(policy, statement), spread(np.concatenate([ranged, free]))
    source = Answers(sizes.circuit, layout, {**tables, **publics, MULTIPLICITY: counted}, cells)
    known = [pads.rows[index // shape.columns][index % shape.columns] for index in range(shape.messages)]
    run = Padded(begin(policy, statement, claim, sent), PrimeField(), source, [(pad,) for pad in known])
    remaining = argument.run(run, sizes.circuit, layout, publics)
    equation = linear(run, shape, layout, remaining)
    last = _combined(weights(remaining.row)[list(layout.physical)], cells)
    blind = inner(equation.weights, [*model.blinds, *rest.blinds])
    first, responses = _last(run, curve, shape, equation, Points([*pads.rows, last], [*pads.blinds, blind], pads.points), draw)
    return HyraxArgument(model.points, rest.points, pads.points, _scalars(value for (value,) in run.sent), first, responses)


def commit_pads(curve: Group, sizes: Sizes, draw: Draw) -> Points:
    """Return the commitment to uniform pads of all messages, and to those of products and their products."""
    shape = sizes.shape
    pads = uniform(draw, shape.messages)
    rows = [[0] * shape.columns for _ in range(shape.slots)]
    for number, pad in enumerate(pads):
        row, slot = shape.place(MESSAGE, number)
        rows[row][slot] = pad
    for number, (a, b) in enumerate(sizes.pairs):
        for name, value in zip(PAIR, (pads[a], pads[b], pads[a] * pads[b] % R), strict=True):
            row, slot = shape.place(name, number)
            rows[row][slot] = value
    return commit(curve, rows, draw)


def _combined(weight: Words, cells: Words) -> list[int]:
    """Return the sum of weight times row over all rows."""
    return shown(total(np.moveaxis(multiply(cells, weight[:, None]), 0, 1)))


def _last(run: Padded, curve: Group, shape: Shape, equation: Linear, rows: Points, draw: Draw) -> tuple[Bytes, Bytes]:
    """Return the points and the answers of the last proof, for rows of pads and the last one."""
    base, k, width = generators(curve, shape.columns), shape.rounds, shape.columns
    masks = [uniform(draw, width), *rows.rows]
    blinds = [uniform(draw, 1)[0], *rows.blinds]
    crossed = _crossed(equation.coefficients, masks)
    hidden = uniform(draw, 2 * k)
    points = [pedersen(curve, base, masks[0], blinds[0])]
    points += [curve.combination([base[U], base[H]], [crossed[d], hidden[d]]) for d in range(2 * k) if d != k]
    secrets = []
    for block, count in enumerate(shape.blocks):
        own = [shape.product_row(part, block) for part in range(3)]
        x, y = (rows.rows[row][:count] for row in own[:2])
        x1, y1, blind = uniform(draw, count), uniform(draw, count), uniform(draw, 4)
        mixed = [(a * d + c * b) % R for a, b, c, d in zip(x, y, x1, y1, strict=True)]
        for values, some in zip((x1, y1, mixed, [a * b % R for a, b in zip(x1, y1, strict=True)]), blind, strict=True):
            points.append(pedersen(curve, base, values, some))
        secrets.append((x, y, x1, y1, blind, [rows.blinds[row] for row in own]))
    first = encoded(curve, points)
    c = challenged(run.transcript, first)
    power = powers(c, 2 * k)
    answers = shown(total(np.moveaxis(multiply(spread(np.array(masks, object)), held(power[: k + 1])[:, None]), 0, 1)))
    answers += [inner(power[: k + 1], blinds), sum(power[d] * hidden[d] for d in range(2 * k) if d != k) % R]
    for x, y, x1, y1, blind, own in secrets:
        answers += [(b + c * a) % R for a, b in zip(x, x1, strict=True)] + [(b + c * a) % R for a, b in zip(y, y1, strict=True)]
        answers += [(blind[0] + c * own[0]) % R, (blind[1] + c * own[1]) % R, (blind[3] + c * blind[2] + c * c * own[2]) % R]
    return first, _scalars(answers)


def _crossed(coefficients: Sequence[Sequence[int]], masks: Sequence[Sequence[int]]) -> list[int]:
    """Return the coefficients of <a(X), pi(X)>."""
    k = len(coefficients)
    found = [0] * (2 * k)
    for i, row in enumerate(coefficients, start=1):
        for j, mask in enumerate(masks):
            found[k - i + j] = (found[k - i + j] + inner(row, mask)) % R
    return found


def _scalars(values: Iterable[int]) -> Bytes:
    return np.frombuffer(packed(values), np.uint8).reshape(-1, 32)
