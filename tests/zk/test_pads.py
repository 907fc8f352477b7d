# SPDX-License-Identifier: Apache-2.0
"""The tableau of pads: honest runs of many sizes against a verifier in Python integers, and provers who cheat in one step and go on honestly."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from flint import nmod_poly
from ligero_cases import reseal
from pads_cases import NOTHING, Case, at, elements, equations, play, sealed, start, through, verdict

from certify.errors import Rejected
from certify.limits import Limits
from certify_zk import pads, pads_prover
from certify_zk.affine import Affine
from certify_zk.dialogue import Padded, Recorded, Silent
from certify_zk.field import Element, P, root_of_unity
from certify_zk.ligero_prover import opened
from certify_zk.pads import Challenges, PadOpening, PadShape, coefficients, verify_pads
from certify_zk.pads_prover import Pads, commit_pads
from certify_zk.reed_solomon import Code
from certify_zk.soundness import Parameters, pad_code
from certify_zk.transcript import Transcript

SIZES = {
    "small": Case(), "three queries": Case(pads=3), "as many queries as the overlap takes": Case(pads=9), "one query": Case(pads=1),
    "two slots": Case(slots=2, pads=3, length=64), "one slot": Case(slots=1, pads=2, length=32), "long": Case(slots=8, pads=4, length=1024),
    "many": Case(free=40, products=30), "many queries": Case(slots=16, pads=12, length=64), "no rest": Case(free=11, products=6),
}


def level(bits: int) -> Case:
    """Return a case with the code that arguments have."""
    code = pad_code(Parameters(bits, {100: 2, 128: 3}[bits], 1, 176, Code(512, 192, 2048)), 1000)
    return Case(code.cells, code.pads, code.length, {100: 2, 128: 3}[bits])


def lagrange(slots: int, slot: int) -> nmod_poly:
    """Return the polynomial of degree below `slots` that is 1 in one slot and 0 in all others."""
    back = pow(root_of_unity(slots), -slot, P)
    return nmod_poly([pow(back, k, P) * pow(slots, -1, P) % P for k in range(slots)], P)


def shifted(shape: PadShape, given: Pads, row: int, slot: int) -> Pads:
    """Return pads with 1 more in a slot of a row, committed anew."""
    rows = [list(polynomial) for polynomial in given.rows]
    rows[row][0] = rows[row][0] + lagrange(shape.code.cells, slot)
    return sealed(shape, given, rows)


@pytest.mark.parametrize("degree", [2, 3])
@pytest.mark.parametrize("name", SIZES)
def test_honest_runs_are_verified(name: str, degree: int) -> None:
    given = replace(SIZES[name], degree=degree)
    for seed in range(3):
        sent = play(given, seed)
        assert verdict(given, sent) == "verified" and equations(given, sent) == set()
    shape = given.shape
    assert shape.rows == shape.witness + 6 and sent.opening.columns.shape == (len(sent.opening.salts), shape.rows * degree)
    assert sent.opening.u.shape == (shape.code.dimension, degree) and len(sent.opening.columns) <= given.pads


@pytest.mark.parametrize("bits", [100, pytest.param(128, marks=pytest.mark.slow)])
def test_honest_runs_with_the_codes_of_arguments_are_verified(bits: int) -> None:
    given = level(bits)
    sent = play(given)
    assert verdict(given, sent) == "verified" and equations(given, sent) == set()


@pytest.mark.parametrize("degree", [2, 3])
@pytest.mark.parametrize("name", ["small", "many"])
def test_false_claims_are_refused_by_their_equation(name: str, degree: int) -> None:
    given = replace(SIZES[name], degree=degree)
    for lie in ("sum", "product 0", "product 2", "moved", "triple"):
        false = replace(given, lies=(lie,))
        sent = play(false)
        assert verdict(false, sent) == "argument-constraints" and equations(false, sent) == {"sum of linear"}


class Bare(Case):
    """A run without products, in which a message equals itself, and values that all know are compared."""

    def talk(self, run: Padded) -> None:
        field = run.field
        heard = [run.heard("claim", [run.source.claim(NOTHING)])[0] for _ in range(self.free)]
        run.check(heard[0], heard[0], "x", "what is the same")
        run.check(Affine(field.embed(2)), run.product(Affine(field.embed(2)), Affine(field.embed(1 + len(self.lies)))), "x", "what all know")


@pytest.mark.parametrize("degree", [2, 3])
def test_runs_without_products_and_constraints_without_a_hidden_part(degree: int) -> None:
    """A false constraint in which nothing is hidden is noticed, a true one does no harm."""
    given = Bare(degree=degree)
    assert given.shape.products == 0
    for lies, code, wrong in (((), "verified", set()), (("all",), "argument-constraints", {"sum of linear"})):
        false = replace(given, lies=lies)
        assert verdict(false, play(false)) == code and equations(false, play(false)) == wrong


@pytest.mark.parametrize("degree", [2, 3])
def test_which_factors_become_messages(degree: int) -> None:
    """A message is one already, and so is what has its node and its value; a form, and a message that is moved, becomes one each time."""
    given = Case(degree=degree)
    field, run = given.field, Padded(Transcript(), given.field, Silent(degree), None)
    a, b = run.heard("claim", elements(np.random.default_rng(1), 2, degree))
    five = field.embed(5)
    for first, second, pair, sent in (
            (a, b, (0, 1), 2), (a, a, (0, 0), 2), (b, run.combined([(field.one, a)]), (1, 0), 2),
            (run.combined([(field.one, a)], five), b, (2, 1), 3), (Affine(five, a.node), b, (3, 1), 4),
            (run.combined([(five, a)]), run.combined([(field.one, a), (field.one, b)]), (4, 5), 6)):
        before = len(run.constraints)
        run.product(first, second)
        assert run.pairs[-1] == pair and len(run.sent) == sent
        assert len(run.constraints) == before + 2 + sum(number > 1 for number in pair)  # two ties, and what a new message is
    count = len(run.pairs)
    known = Affine(five)
    assert run.product(known, known) == Affine(field.embed(25)) and run.product(known, a).known == field.multiply(five, a.known)
    assert run.product(a, Affine(field.one)) == a and run.product(Affine(field.zero), a).known == field.zero and len(run.pairs) == count
    z = run.product(a, b)  # hidden elements of a product are not messages, whatever their numbers are
    assert z.node is not None and run.product(z, a).node != z.node and run.pairs[-1] == (6, 0)


def test_slots_and_points_are_apart() -> None:
    for slots, queries, length in ((1, 2, 32), (8, 4, 128), (16, 3, 64), (512, 176, 8192), (512, 200, 16384)):
        shape = PadShape(Code(slots, queries, length), 2, 1, 1)
        points = [shape.point(column) for column in range(length)]
        assert len(set(points)) == length and 0 not in points
        assert all(pow(point, slots, P) != 1 and pow(point, length, P) == pow(7, length, P) != 1 for point in points)
        assert all(pow(point, 1 << 32, P) != 1 for point in points)  # none has a power of two as order
        assert {shape.place(name, number) for name in ("message", "x", "y", "z") for number in range(slots)} == {
            (row, slot) for row in range(4) for slot in range(slots)}


@pytest.mark.parametrize("degree", [2, 3])
def test_coefficients_are_those_of_lagrange(degree: int) -> None:
    rng, field = np.random.default_rng(5), Case(degree=degree).field
    for slots in (1, 2, 8, 32):
        values = elements(rng, slots, degree)
        found = coefficients(values, field)
        polynomial = list(zip(*found, strict=True))
        assert [at(polynomial, pow(root_of_unity(slots), slot, P)) for slot in range(slots)] == values
        assert at(polynomial, 7) == through(values, 7)


def test_masks_have_no_larger_degree_than_what_they_hide_whatever_their_parts_are() -> None:
    """With parts at multiples of l a mask of products could have degree 3 l + t - 1, and more columns would agree than the ledger says."""
    for given in SIZES.values():
        shape, rng = given.shape, np.random.default_rng(6)
        kappa, slots = shape.code.dimension, shape.code.cells
        assert shape.lengths == (kappa, kappa + slots - 1, 2 * kappa - 1)
        for shifts, length in zip(shape.shifts, shape.lengths[1:], strict=True):
            parts = [[nmod_poly([int(word) for word in rng.integers(1, P, kappa, dtype=np.uint64)], P)] for _ in shifts]
            (mask,) = pads_prover._joined(parts, shifts)
            assert mask.degree() == length - 1
            assert all(next_ - shift <= kappa for shift, next_ in pairwise(shifts))  # no gap between parts
        assert (2 * slots + kappa > 2 * kappa - 1) == (slots >= given.pads)


@pytest.mark.parametrize("degree", [2, 3])
def test_masks_are_what_the_docstring_says(degree: int) -> None:
    shape = Case(degree=degree).shape
    slots, kappa = shape.code.cells, shape.code.dimension
    rows = commit_pads(shape, Case().pairs, np.random.default_rng(3).bytes).rows
    assert all(component.degree() < kappa for row in rows for component in row)
    linear, product = (pads_prover._joined(parts, shifts) for parts, shifts in zip((rows[-5:-3], rows[-3:]), shape.shifts, strict=True))
    at_slots = [[int(component(pow(root_of_unity(slots), slot, P))) for slot in range(slots)] for component in (*linear, *product)]
    assert all(sum(values) % P == 0 and any(values) for values in at_slots[:degree])
    assert not any(any(values) for values in at_slots[degree:])


@pytest.mark.parametrize("degree", [2, 3])
@pytest.mark.parametrize("row", ["message", "x", "y", "z"])
def test_a_slot_that_differs_from_what_a_run_says_is_found(row: str, degree: int) -> None:
    """The pad of a message changes, and its copies do not; or the other way round."""
    given = Case(degree=degree)
    sent = play(given, committed=lambda shape, some: shifted(shape, some, *shape.place(row, 0)))
    assert verdict(given, sent) == "argument-constraints"
    assert equations(given, sent) == {"sum of linear"} | (set() if row == "message" else {"slots of product"})


@pytest.mark.parametrize("degree", [2, 3])
def test_a_product_that_is_not_one_is_found(degree: int) -> None:
    """Z is 1 more than XY, and so is what is said of the product: all linear constraints hold."""
    given = Case(degree=degree, lies=("product 1",))
    sent = play(given, committed=lambda shape, some: shifted(shape, some, *shape.place("z", 1)))
    assert verdict(given, sent) == "argument-products" and equations(given, sent) == {"slots of product"}
    more = Case(degree=degree, free=20, products=20, lies=("product 19",))  # in the third row of products
    assert verdict(more, play(more, committed=lambda shape, some: shifted(shape, some, *shape.place("z", 19)))) == "argument-products"


def test_unused_slots_of_products_must_be_products_too() -> None:
    given = Case()
    for name, number, code in (("z", 0, "argument-products"), ("x", 0, "verified"), ("message", 8, "verified")):
        sent = play(given, committed=lambda shape, some, place=(name, number): shifted(shape, some, shape.place(*place)[0], 7))
        assert given.shape.products < 7 and verdict(given, sent) == code


def edited(monkeypatch: pytest.MonkeyPatch, index: int, change: Callable[[np.ndarray, PadShape], np.ndarray]) -> None:
    """Let provers change u, linear or product before they send it."""
    real, number = pads_prover._words, [0]

    def words(polynomial: pads_prover.Polynomial, length: int) -> np.ndarray:
        found = real(polynomial, length)
        number[0] += 1
        return change(found, Case().shape) if (number[0] - 1) % 3 == index else found
    monkeypatch.setattr(pads_prover, "_words", words)


def _plus(array: np.ndarray, *changes: tuple[int, int]) -> np.ndarray:
    """Return an array with something added to coefficients."""
    found = array.copy()
    for place, by in changes:
        found[place, 1] = (int(found[place, 1]) + by) % P
    return found


POLYNOMIALS: list[tuple[int, list[tuple[int, int]], str, set[str]]] = [
    (0, [(0, 1)], "argument-lowdegree", {"u in a column"}), (0, [(11, 5)], "argument-lowdegree", {"u in a column"}),
    (1, [(1, 1)], "argument-constraints", {"linear in a column"}), (1, [(0, 1), (8, P - 1)], "argument-constraints", {"linear in a column"}),
    (1, [(8, 1)], "argument-constraints", {"linear in a column", "sum of linear"}),
    (2, [(3, 1)], "argument-products", {"product in a column", "slots of product"}),
    (2, [(3, 1), (19, P - 1)], "argument-products", {"product in a column"}),
    (2, [(22, 1), (14, P - 1)], "argument-products", {"product in a column"}),
]


@pytest.mark.parametrize(("index", "changes", "code", "wrong"), POLYNOMIALS)
def test_changed_coefficients(index: int, changes: list[tuple[int, int]], code: str, wrong: set[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that keep the sum over the slots, or the value in each, are found in the opened columns."""
    given = Case()
    edited(monkeypatch, index, lambda array, _: _plus(array, *changes))
    sent = play(given)
    assert verdict(given, sent) == code and equations(given, sent) == wrong


@pytest.mark.parametrize("index", [0, 1, 2])
def test_polynomials_of_another_length(index: int, monkeypatch: pytest.MonkeyPatch) -> None:
    changes: list[Callable[[np.ndarray], np.ndarray]] = [
        lambda a: np.concatenate([a, np.zeros((1, 2), np.uint64)]), lambda a: np.concatenate([a, a[:1]]), lambda a: a[:-1], lambda a: a[:0],
        lambda a: a[:, :1], lambda a: a.ravel()]
    for change in changes:
        edited(monkeypatch, index, lambda array, _, change=change: change(array))
        assert verdict(Case(), play(Case())) == "argument-malformed"
        monkeypatch.undo()


def test_a_false_product_that_is_hidden_by_interpolation_is_found_in_the_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is wrong in the slots is taken away from product: its columns tell."""
    given = Case(pads=6, lies=("product 1",))

    def vanishing(array: np.ndarray, shape: PadShape) -> np.ndarray:
        found = array.copy()
        for place in range(8):
            for d in range(2):
                found[place, d] = (int(found[place, d]) - sum(map(int, array[place::8, d]))) % P
        return found
    edited(monkeypatch, 2, vanishing)
    sent = play(given, committed=lambda shape, some: shifted(shape, some, *shape.place("z", 1)))
    assert verdict(given, sent) == "argument-products" and equations(given, sent) == {"product in a column"}


def _with_roots(points: list[int]) -> nmod_poly:
    """Return the polynomial with these roots."""
    found = nmod_poly([1], P)
    for point in points:
        found *= nmod_poly([-point, 1], P)
    return found


@pytest.mark.parametrize("index", [1, 2])
def test_a_wrong_polynomial_passes_as_often_as_the_columns_in_which_it_is_right_are_all_that_are_asked(index: int,
                                                                                                     monkeypatch: pytest.MonkeyPatch) -> None:
    """What is added to linear makes its sum right and is 0 in kappa + l - 2 columns; to product, 0 in every slot, in l + 2 t - 1 columns.

    The ledger counts e columns more, and for product as many as the degree has roots.
    """
    given = Case(slots=4, pads=2, length=16, free=3, products=1, lies=("sum",) if index == 1 else ("product 0",))
    shape, passed, tries = given.shape, 0, 300
    kappa, slots = shape.code.dimension, 4
    right = kappa + slots - 2 if index == 1 else slots + 2 * 2 - 1
    vanishing = _with_roots([shape.point(column) for column in range(right)])
    root = root_of_unity(slots)
    cyclic = nmod_poly([-1, *[0] * (slots - 1), 1], P)

    def summed(polynomial: nmod_poly) -> int:
        return sum(int(polynomial(pow(root, slot, P))) for slot in range(slots))

    def hide(array: np.ndarray, _: PadShape) -> np.ndarray:
        found = array.copy()
        for d in range(2):
            polynomial = nmod_poly(array[:, d].tolist(), P)
            if index == 1:
                more = vanishing * ((due[d] - summed(polynomial)) * pow(summed(vanishing), -1, P) % P)
            else:
                values = [-int(polynomial(at_slot)) * pow(int(vanishing(at_slot)), -1, P) % P for at_slot in (pow(root, s, P) for s in range(slots))]
                more = vanishing * sum((lagrange(slots, slot) * value for slot, value in enumerate(values)), nmod_poly([0], P))
            polynomial += more
            assert polynomial.degree() < len(array) and (index == 1 or polynomial % cyclic == 0)
            found[:, d] = [int(polynomial[place]) for place in range(len(array))]
        return found
    real = pads.combination

    def noted(run: Padded, shape: PadShape, challenge: Element) -> tuple[list[list[Element]], Element]:
        nonlocal due
        table, due = real(run, shape, challenge)
        return table, due
    due: Element = (0, 0)
    monkeypatch.setattr(pads_prover, "combination", noted)
    edited(monkeypatch, index, hide)
    codes = "verified", ("argument-constraints", "argument-products")[index - 1]
    for seed in range(tries):
        sent = play(given, seed, committed=lambda shape, some: some if index == 1 else shifted(shape, some, *shape.place("z", 0)))
        found = verdict(given, sent)
        assert found in codes and (found == "verified") is (not equations(given, sent))
        passed += found == "verified"
    assert abs(passed / tries - (right / 16) ** 2) < 0.09
    assert (right / 16) ** 2 < ((2 * kappa - 2 + shape.code.radius) / 16) ** 2


@pytest.mark.parametrize("row", range(11))
def test_a_row_that_is_changed_after_it_was_committed(row: int) -> None:
    """The commitment and what is opened are those of the old row; what is computed is of the new one, with the same slots."""
    given = Case(pads=6)
    assert given.shape.rows == 11

    def change(shape: PadShape, some: Pads) -> Pads:
        rows = [list(polynomial) for polynomial in some.rows]
        rows[row][1] = rows[row][1] + nmod_poly([-1, *[0] * 7, 1], P)
        return replace(some, rows=rows)
    sent = play(given, opened=change)
    assert verdict(given, sent) == "argument-lowdegree" and "u in a column" in equations(given, sent)


@pytest.mark.parametrize("row", range(11))
def test_a_row_of_higher_degree(row: int) -> None:
    """The row is a codeword of a longer code; u, cut to its length, is what it should be but for this."""
    given = Case(pads=6)

    def change(shape: PadShape, some: Pads) -> Pads:
        codewords = some.committed.codewords.copy()
        for column in range(shape.code.length):
            codewords[2 * row, column] = (int(codewords[2 * row, column]) + pow(shape.point(column), shape.code.dimension, P)) % P
        return replace(some, committed=reseal(some.committed, codewords))
    assert verdict(given, play(given, committed=change)) == "argument-lowdegree"


def test_codewords_that_are_wrong_somewhere_are_found_as_often_as_it_is_asked() -> None:
    wrong, passed, tries = 12, 0, 200
    given = Case(slots=4, pads=3, length=32, free=3, products=1)
    for seed in range(tries):
        def change(shape: PadShape, some: Pads) -> Pads:
            codewords = some.committed.codewords.copy()
            codewords[0, :wrong] ^= np.uint64(1)
            return replace(some, committed=reseal(some.committed, codewords))
        found = verdict(given, play(given, seed, committed=change))
        assert found in ("verified", "argument-lowdegree", "argument-noncanonical")
        passed += found == "verified"
    assert abs(passed / tries - (20 / 32) ** 3) < 0.11


@pytest.mark.parametrize("degree", [2, 3])
def test_a_mask_that_cancels_a_false_constraint(degree: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first constraint is -1, and the mask's sum 1: a verifier whose weights begin with 1 accepts that, the real one does not."""
    given = Case(degree=degree, lies=("sum",))

    def cancel(shape: PadShape, some: Pads) -> Pads:
        rows = [list(polynomial) for polynomial in some.rows]
        rows[shape.witness + 1][0] = rows[shape.witness + 1][0] + pow(shape.code.cells, -1, P)
        return sealed(shape, some, rows)
    real = pads.combination

    def lower(run: Padded, shape: PadShape, challenge: Element) -> tuple[list[list[Element]], Element]:
        table, due = real(run, shape, challenge)
        back = run.field.inverse(challenge)
        return [[run.field.multiply(back, entry) for entry in row] for row in table], run.field.multiply(back, due)
    sent = play(given, committed=cancel)
    assert verdict(given, sent) == "argument-constraints" and equations(given, sent) == {"sum of linear"}
    for module in (pads, pads_prover):
        monkeypatch.setattr(module, "combination", lower)
    fitted = play(given, committed=cancel)
    assert verdict(given, fitted) == "verified" and equations(given, fitted) == {"linear in a column", "sum of linear"}
    assert equations(given, fitted, 0) == {"product in a column"}  # its products have the weights of the real one
    assert verdict(given, play(given)) == "argument-constraints"
    monkeypatch.undo()
    assert verdict(given, fitted) == "argument-constraints"


@pytest.mark.parametrize("degree", [2, 3])
def test_a_mask_that_cancels_a_false_product(degree: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Z - XY is 1 in a slot, and the mask too: a verifier with the weight 1 accepts that, the real one does not."""
    given = Case(degree=degree, lies=("product 1",))
    assert given.shape.product_rows == 1

    def cancel(shape: PadShape, some: Pads) -> Pads:
        first = shifted(shape, some, *shape.place("z", 1))
        return shifted(shape, first, shape.witness + 3, 1)
    real = pads.challenges

    def one(transcript: Transcript, shape: PadShape) -> Challenges:
        return replace(real(transcript, shape), product=given.field.one)
    sent = play(given, committed=cancel)
    assert verdict(given, sent) == "argument-products" and equations(given, sent) == {"slots of product"}
    for module in (pads, pads_prover):
        monkeypatch.setattr(module, "challenges", one)
    fitted = play(given, committed=cancel)
    assert verdict(given, fitted) == "verified" and equations(given, fitted) == {"product in a column"}
    assert verdict(given, play(given, committed=lambda shape, some: shifted(shape, some, *shape.place("z", 1)))) == "argument-products"
    monkeypatch.undo()
    assert verdict(given, fitted) == "argument-products"


def test_masks_with_a_sum_or_with_values_in_slots_are_found_where_nothing_is_false() -> None:
    given = Case()
    for row, code, wrong in ((1, "argument-constraints", "sum of linear"), (3, "argument-products", "slots of product"),
                             (4, "argument-products", "slots of product"), (5, "argument-products", "slots of product")):
        sent = play(given, committed=lambda shape, some, row=row: shifted(shape, some, shape.witness + row, 2))
        assert verdict(given, sent) == code and equations(given, sent) == {wrong}


def _first(array: np.ndarray) -> np.ndarray:
    changed = array.copy()
    changed[0, 0] ^= 1
    return changed


def _large(array: np.ndarray) -> np.ndarray:
    changed = array.copy()
    changed[-1, -1] = P
    return changed


CHANGES: dict[str, tuple[Callable[[np.ndarray], np.ndarray], tuple[str, ...], str]] = {
    "one bit": (_first, ("columns", "salts", "path"), "argument-path"),
    "two exchanged": (lambda a: np.concatenate([a[1:2], a[:1], a[2:]]), ("columns", "salts", "path"), "argument-path"),
    "one row fewer": (lambda a: a[:-1], ("u", "linear", "product", "columns", "salts", "path"), "argument-malformed"),
    "one row more": (lambda a: np.concatenate([a, a[:1]]), ("u", "linear", "product", "columns", "salts", "path"), "argument-malformed"),
    "one word fewer": (lambda a: a[:, :-1], ("u", "linear", "product", "columns", "salts", "path"), "argument-malformed"),
    "one word more": (lambda a: np.concatenate([a, a[:, :1]], axis=1), ("u", "linear", "product", "columns", "salts", "path"), "argument-malformed"),
    "empty": (lambda a: a[:0], ("u", "linear", "product", "columns", "salts", "path"), "argument-malformed"),
    "another type": (lambda a: a.astype(np.int64), ("u", "linear", "product", "columns", "salts", "path"), "argument-malformed"),
    "a word p": (_large, ("u", "linear", "product", "columns"), "argument-noncanonical"),
    "the largest word": (lambda a: a | np.uint64((1 << 64) - 1), ("u", "linear", "product", "columns"), "argument-noncanonical"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_changed_arrays(name: str) -> None:
    change, names, code = CHANGES[name]
    given = Case()
    sent = play(given)
    assert min(len(array) for array in (sent.opening.columns, sent.opening.path)) > 1
    for field in names:
        changed = replace(sent, opening=replace(sent.opening, **{field: change(getattr(sent.opening, field))}))
        assert verdict(given, changed) == code, field


def test_columns_of_another_tree_and_another_root() -> None:
    given = Case(length=64, pads=6)
    first, second = play(given, 1), play(given, 2)
    assert verdict(given, replace(first, root=second.root)) != "verified" and verdict(given, replace(first, opening=second.opening)) != "verified"
    transcript = start(first.root)
    run = Padded(transcript, given.field, Recorded(first.messages), None)
    given.talk(run)
    shape = given.shape
    other = commit_pads(shape, given.pairs, np.random.default_rng(8).bytes)
    pads.challenges(transcript, shape)
    for name, array in (("u", first.opening.u), ("linear", first.opening.linear), ("product", first.opening.product)):
        transcript.absorb(f"pads/{name}", array.astype("<u8").tobytes())
    columns = sorted(set(transcript.indices("pads/columns", 6, 64)))
    shown = dict(zip(("columns", "salts", "path"), opened(shape.code, other.committed, columns), strict=True))
    for names in (["columns"], ["salts"], ["path"], list(shown)):
        changed = replace(first.opening, **{name: shown[name] for name in names})
        assert verdict(given, replace(first, opening=changed)) == "argument-path"


def test_fewer_queries_and_messages_of_another_run() -> None:
    given = Case()
    sent = play(given)
    assert verdict(replace(given, pads=3), sent) == verdict(replace(given, length=64), sent) == "argument-malformed"
    assert verdict(given, replace(sent, messages=sent.messages[:-1])) == "argument-malformed"
    for number in range(len(sent.messages)):
        messages = list(sent.messages)
        messages[number] = given.field.add(messages[number], given.field.unit(1))
        assert verdict(given, replace(sent, messages=messages)) in ("argument-constraints", "argument-malformed", "argument-path")


@pytest.mark.parametrize("label", ["claim", "said", "product/factor", "pads/u", "pads/linear", "pads/product", "challenge/point", "roots",
                                   "challenge/pads/challenges", "challenge/pads/rows"])
def test_a_verifier_that_does_not_absorb_something_rejects_what_is_honest(label: str, monkeypatch: pytest.MonkeyPatch) -> None:
    given = Case(pads=6)
    sent, real = play(given), Transcript.absorb
    monkeypatch.setattr(Transcript, "absorb", lambda self, name, data: None if name == label else real(self, name, data))
    assert verdict(given, sent) != "verified"


def test_random_flips_in_all_arrays() -> None:
    given, rng, found = Case(pads=6), np.random.default_rng(4), set()
    sent = play(given)
    for _ in range(60):
        for field in fields(PadOpening):
            array = getattr(sent.opening, field.name).copy()
            array.view(np.uint8).reshape(-1)[rng.integers(array.nbytes)] ^= np.uint8(1 << rng.integers(8))
            found.add(verdict(given, replace(sent, opening=replace(sent.opening, **{field.name: array}))))
    assert found == {"argument-path", "argument-malformed"}  # another polynomial has other columns


def test_the_work_is_charged_before_it_is_done() -> None:
    given = Case()
    sent, limits = play(given), Limits()
    assert verdict(given, sent, limits) == "verified" and limits.spent == given.shape.cost
    assert verdict(given, sent, Limits(work=limits.spent)) == "verified"
    assert verdict(given, sent, Limits(work=limits.spent - 1)) == "limit-reached"


def test_what_is_wrong_is_named() -> None:
    given = Case()
    sent = play(given)
    for field, where in (("u", "evidence.pad_u"), ("columns", "evidence.pad_columns"), ("path", "evidence.pad_paths")):
        transcript = start(sent.root)
        run = Padded(transcript, given.field, Recorded(sent.messages), None)
        given.talk(run)
        array: Any = getattr(sent.opening, field)
        with pytest.raises(Rejected) as caught:
            verify_pads(transcript, given.shape, sent.root, run, replace(sent.opening, **{field: array[:-1]}), Limits())
        assert caught.value.where == where
