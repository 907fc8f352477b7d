# SPDX-License-Identifier: Apache-2.0
"""Openings: honest ones of many sizes verify, and a prover who cheats in one step and goes on honestly is refused."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from ligero_cases import Case, accepts, case, draw, honest, play, reseal, verdict, verify_claim

from certify.errors import Declined, Rejected
from certify.limits import Limits
from certify_zk import soundness
from certify_zk.field import Element, Extension, P
from certify_zk.ligero import Shape, verify_opening
from certify_zk.ligero_prover import commit, mask_evaluation, open_claim, uniform
from certify_zk.reed_solomon import Code
from certify_zk.transcript import Transcript

SIZES = [dict(cells=8, pads=6, length=32, queries=6), dict(cells=8, pads=24, length=64, queries=10), dict(cells=16, pads=8, length=64, queries=8),
         dict(cells=32, pads=64, length=256, queries=30), dict(cells=32, pads=5, length=128, queries=5, model=1, limbs=0, words=1),
         dict(cells=1, pads=3, length=8, queries=3), dict(cells=2, pads=1, length=8, queries=1, model=1, limbs=1, words=0),
         dict(cells=8, pads=4, length=16, queries=200), dict(cells=4, pads=4, length=4096, queries=4, model=7, limbs=9, words=3)]


def _shifted(given: Case, by: int = 1) -> Element:
    """Return a false value."""
    _, weights, point = given.start()
    return given.field.add(given.value(weights, point), given.field.embed(by))


@pytest.mark.parametrize("degree", [2, 3])
@pytest.mark.parametrize("size", SIZES, ids=lambda size: "-".join(map(str, size.values())))
def test_honest_openings_verify(size: dict[str, int], degree: int) -> None:
    for seed in range(3):
        given = case(degree=degree, seed=seed, **size)
        value, opening = honest(given)
        assert verdict(given, value, opening) == "verified" and accepts(given, value, opening)
        again, same = play(given)
        assert again == value and same.mask_value == opening.mask_value
        for a, b in zip((opening.u1, opening.u2, *opening.columns, *opening.salts, *opening.paths),
                        (same.u1, same.u2, *same.columns, *same.salts, *same.paths), strict=True):
            assert a.dtype == b.dtype and a.shape == b.shape and (a == b).all()
        assert verdict(given, _shifted(given), opening) != "verified"


def test_a_false_value_is_refused_when_all_else_is_honest() -> None:
    for degree in (2, 3):
        given = case(degree=degree)
        for by in (1, P - 1, 1 << 32):
            value, opening = honest(given, _shifted(given, by))
            assert verdict(given, value, opening) == "argument-opening"


def test_a_value_hidden_in_the_mask_passes_only_where_the_scale_is_drawn_too_early() -> None:
    for degree in (2, 3):
        given = case(degree=degree)
        field, false = given.field, _shifted(given)

        def shifted(me: Element, scale: Element, field: Extension = field) -> Element:
            return field.subtract(me, scale)  # u2(point) = sc true + me = sc (true + 1) + (me - sc)
        value, opening = play(given, false, mask=shifted, early=True)
        assert accepts(given, value, opening, early=True) and not accepts(given, value, opening)
        assert verdict(given, value, opening) != "verified"
        for guess in (field.zero, field.one, tuple(range(1, degree + 1))):
            value, opening = play(given, false, mask=lambda me, _, guess=guess, field=field: field.subtract(me, guess))
            assert verdict(given, value, opening) == "argument-opening"


@pytest.mark.parametrize("place", [0, 3, 8, 13])
@pytest.mark.parametrize("polynomial", ["u1", "u2"])
def test_one_changed_coefficient(polynomial: str, place: int) -> None:
    given = case()

    def change(coefficients: list[Element], *_: object) -> list[Element]:
        return [given.field.add(c, given.field.unit(1)) if i == place else c for i, c in enumerate(coefficients)]
    value, opening = play(given, **{polynomial: change})  # type: ignore[arg-type]
    assert verdict(given, value, opening) == "argument-opening" and not accepts(given, value, opening)


@pytest.mark.parametrize("polynomial", ["u1", "u2"])
def test_polynomials_of_another_length(polynomial: str) -> None:
    given = case()
    for change in (lambda c, *_: [*c, (0, 0)], lambda c, *_: [*c, (1, 5)], lambda c, *_: c[:-1], lambda c, *_: []):
        value, opening = play(given, **{polynomial: change})  # type: ignore[arg-type]
        assert verdict(given, value, opening) == "argument-malformed"


def test_a_false_value_by_interpolation_passes_as_often_as_its_columns_are_all_that_are_asked() -> None:
    """u2 + c prod (X - x_j) over k - 1 columns has any value at the point; it passes with probability ((k - 1)/N)^t, here (9/16)^2 = 0.32."""
    passed, tries = 0, 150
    for seed in range(tries):
        given = case(cells=8, pads=2, length=16, queries=2, seed=seed, model=1, limbs=1, words=0)
        field, code = given.field, given.shape.code
        root = [field.one]
        for column in range(code.dimension - 1):
            x = code.point(column)
            root = [field.subtract(a, field.scale(b, x)) for a, b in zip([field.zero, *root], [*root, field.zero], strict=True)]

        def change(coefficients: list[Element], scale: list[int], given: Case = given, root: list[Element] = root) -> list[Element]:
            # the value is one too large, so u2(point) must grow by sc
            factor = given.field.multiply(tuple(scale), given.field.inverse(given.at(root, given.start()[2])))
            return [given.field.add(c, given.field.multiply(factor, r)) for c, r in zip(coefficients, root, strict=True)]
        value, opening = play(given, _shifted(given), u2=change)
        found = verdict(given, value, opening)
        assert found in ("verified", "argument-opening") and accepts(given, value, opening) == (found == "verified")
        passed += found == "verified"
    assert abs(passed / tries - (9 / 16) ** 2) < 0.12


def test_words_that_are_not_codewords_are_found_as_often_as_their_wrong_columns_are_asked() -> None:
    wrong, passed, tries = 5, 0, 150
    for seed in range(tries):
        given = case(cells=8, pads=2, length=16, queries=3, seed=seed, model=1, limbs=1, words=0)
        codewords = given.certificate.codewords.copy()
        codewords[0, :wrong] ^= np.uint64(1)
        given = replace(given, certificate=reseal(given.certificate, codewords))
        found = verdict(given, *play(given))
        assert found in ("verified", "argument-opening")
        passed += found == "verified"
    assert abs(passed / tries - (11 / 16) ** 3) < 0.12


@pytest.mark.parametrize("row", [0, 2, 3, 5, 6, 7, 8, 9])
def test_rows_that_are_no_codewords(row: int) -> None:
    """Rows of the model, of the certificate, of m1 and of m2, each wrong in half of the columns."""
    given = case(queries=20)
    tree, place = ("model", row) if row < 3 else ("certificate", row - 3)
    codewords = getattr(given, tree).codewords.copy()
    codewords[place, ::2] ^= np.uint64(1)
    broken = replace(given, **{tree: reseal(getattr(given, tree), codewords)})
    assert verdict(broken, *play(broken)) == "argument-opening"


def test_a_mask_of_higher_degree_is_refused() -> None:
    """m2 is a codeword of a longer code: u2, cut to k coefficients, and its value at the point are what they should be."""
    given = case(queries=20)
    code, codewords = given.shape.code, given.certificate.codewords.copy()
    for column in range(code.length):
        codewords[-1, column] = (int(codewords[-1, column]) + pow(code.point(column), code.dimension, P)) % P
    broken = replace(given, certificate=reseal(given.certificate, codewords))
    assert verdict(broken, *play(broken)) == "argument-opening"


def _at(arrays: tuple[np.ndarray, np.ndarray], tree: int, change: Callable[[np.ndarray], np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    return tuple(change(array) if i == tree else array for i, array in enumerate(arrays))  # type: ignore[return-value]


def _first(array: np.ndarray) -> np.ndarray:
    changed = array.copy()
    changed[0, 0] ^= 1
    return changed


def _swapped(array: np.ndarray) -> np.ndarray:
    return np.concatenate([array[1:2], array[:1], array[2:]])


def _large(array: np.ndarray) -> np.ndarray:
    changed = array.copy()
    changed[0, 0] = P
    return changed


CHANGES: dict[str, tuple[Callable[[np.ndarray], np.ndarray], tuple[str, ...], str]] = {
    "one bit": (_first, ("columns", "salts", "paths"), "argument-path"),
    "two rows exchanged": (_swapped, ("columns", "salts", "paths"), "argument-path"),
    "one row fewer": (lambda a: a[:-1], ("columns", "salts", "paths"), "argument-malformed"),
    "one row more": (lambda a: np.concatenate([a, a[:1]]), ("columns", "salts", "paths"), "argument-malformed"),
    "one word fewer": (lambda a: a[:, :-1], ("columns", "salts", "paths"), "argument-malformed"),
    "one word more": (lambda a: np.concatenate([a, a[:, :1]], axis=1), ("columns", "salts", "paths"), "argument-malformed"),
    "flat": (lambda a: a.ravel(), ("columns", "salts", "paths"), "argument-malformed"),
    "empty": (lambda a: a[:0], ("columns", "salts", "paths"), "argument-malformed"),
    "another type": (lambda a: a.astype(np.int64), ("columns", "salts", "paths"), "argument-malformed"),
    "the same bytes as words": (lambda a: np.ascontiguousarray(a).view(np.uint64), ("salts", "paths"), "argument-malformed"),
    "a word p": (_large, ("columns",), "argument-noncanonical"),
}


@pytest.mark.parametrize("tree", [0, 1])
@pytest.mark.parametrize("name", CHANGES)
def test_changed_arrays(name: str, tree: int) -> None:
    change, fields, code = CHANGES[name]
    given = case()
    value, opening = honest(given)
    assert all(len(array) > 1 for array in (*opening.columns, *opening.paths))
    for field in fields:
        changed = replace(opening, **{field: _at(getattr(opening, field), tree, change)})
        assert verdict(given, value, changed) == code, field


def test_columns_and_paths_of_the_other_tree() -> None:
    given = case(model=6, limbs=1, words=1)  # the certificate has as many rows: 2 and 4 masks
    value, opening = honest(given)
    assert opening.columns[0].shape == opening.columns[1].shape
    for field, code in (("columns", "argument-path"), ("salts", "argument-path"), ("paths", "argument-path")):
        changed = replace(opening, **{field: getattr(opening, field)[::-1]})
        assert verdict(given, value, changed) == code
    assert verdict(replace(given, model=given.certificate, certificate=given.model), value, opening) != "verified"


@pytest.mark.parametrize("tree", ["model", "certificate"])
def test_a_cell_that_is_changed_under_the_old_root(tree: str) -> None:
    """The prover goes on with one cell increased, and with the value that belongs to it."""
    given = case()
    old = getattr(given, tree)
    limbs = old.tableau.limbs.copy()
    limbs[1, 3] += 1
    changed = replace(given, **{tree: replace(old, tableau=replace(old.tableau, limbs=limbs))})
    value, opening = play(changed)
    assert value != play(given)[0] and verdict(changed, value, opening) == "argument-opening"
    assert verdict(changed, *honest(changed)) == "argument-opening"


@pytest.mark.parametrize("level", [100, 128])
def test_parameters_of_a_level(level: int) -> None:
    chosen = soundness.choose(level, 4, 1 << 9, 1 << 13, soundness.Counts(1 << 16, 500, 500, 500, 500, 500, 50))
    given = case(cells=1 << 9, pads=chosen.code.pads, length=1 << 13, degree=chosen.degree, queries=chosen.queries, model=2, limbs=2, words=1)
    value, opening = honest(given)
    assert chosen.code == given.shape.code and opening.columns[0].shape[0] > 90
    assert verdict(given, value, opening) == "verified" and verdict(given, _shifted(given), opening) != "verified"
    assert verdict(given, *honest(given, _shifted(given))) == "argument-opening"


def test_an_opening_of_other_commitments() -> None:
    given, other = case(seed=1), case(seed=2)
    value, opening = honest(given)
    assert verdict(given, value, opening) == "verified" and verdict(other, value, opening) != "verified"
    assert verdict(replace(given, model=other.model), value, opening) != "verified"
    mixed = replace(given, model=other.model)
    assert verdict(mixed, *honest(mixed)) == "verified"


def test_a_wrong_number_of_rows_of_the_model() -> None:
    given = case(words=2)
    value, opening = honest(given)
    shape = replace(given.shape, model_rows=4, certificate_rows=3)
    moved = replace(given, shape=shape)
    both = np.concatenate(opening.columns, axis=1)
    changed = replace(opening, columns=(np.ascontiguousarray(both[:, :4]), np.ascontiguousarray(both[:, 4:])))
    assert verdict(moved, value, opening) == "argument-malformed" and verdict(moved, value, changed) == "argument-path"


def test_a_word_of_p_or_more_that_was_committed() -> None:
    """The row is zero, and the committed codeword says p: its residues are right, and so are its hashes."""
    given = case()
    tableau = given.model.tableau
    limbs, padding = tableau.limbs.copy(), tableau.pads.copy()
    limbs[0], padding[0] = 0, 0
    codewords = given.model.codewords.copy()
    codewords[0] = 0
    zero = replace(given, model=reseal(replace(given.model, tableau=replace(tableau, limbs=limbs, pads=padding)), codewords))
    assert verdict(zero, *play(zero)) == "verified"
    codewords[0] = P
    large = replace(zero, model=reseal(zero.model, codewords))
    value, opening = play(large)
    assert accepts(large, value, opening) and verdict(large, value, opening) == "argument-noncanonical"


def test_words_of_p_or_more_in_messages_and_polynomials() -> None:
    given = case()
    value, opening = honest(given)
    for bad in ((P, 0), (0, P + 5), (-1, 0), (1 << 64, 0)):
        assert verdict(given, bad, opening) == "argument-noncanonical"
        assert verdict(given, value, replace(opening, mask_value=bad)) == "argument-noncanonical"
    for wrong in ((), (1,), (1, 2, 3)):
        for sent in ((wrong, opening), (value, replace(opening, mask_value=wrong))):
            transcript, weights, point = given.start()
            with pytest.raises(Rejected) as caught:
                verify_claim(transcript, given.shape, given.roots, weights, point, *sent, Limits())
            assert caught.value.code == "argument-malformed" and caught.value.where == "evidence.messages"
    for field in ("u1", "u2"):
        assert verdict(given, value, replace(opening, **{field: _large(getattr(opening, field))})) == "argument-noncanonical"
        assert verdict(given, value, replace(opening, **{field: getattr(opening, field).astype(np.float64)})) == "argument-malformed"


def test_random_flips_in_all_arrays() -> None:
    given, random = case(), np.random.default_rng(4)
    value, opening = honest(given)
    found = set()
    for _ in range(60):
        for field in ("u1", "u2", "columns", "salts", "paths"):
            whole = getattr(opening, field)
            tree = int(random.integers(2))
            array = (whole if field in ("u1", "u2") else whole[tree]).copy()
            place = int(random.integers(array.size))
            array.reshape(-1)[place] ^= array.dtype.type(1 << int(random.integers(8 * array.dtype.itemsize)))
            changed = replace(opening, **{field: array if field in ("u1", "u2") else _at(whole, tree, lambda _, array=array: array)})
            found.add(verdict(given, value, changed))
    assert "verified" not in found and found <= {"argument-path", "argument-opening", "argument-malformed", "argument-noncanonical"}


class _Recorder(Transcript):
    def __init__(self) -> None:
        super().__init__()
        self.said: list[tuple[str, int]] = []

    def absorb(self, label: str, data: bytes) -> None:
        self.said.append((label, len(data)))
        super().absorb(label, data)


def test_the_order_of_the_transcript() -> None:
    given = case()
    value, opening = honest(given)
    transcript, weights, point = given.start(_Recorder())
    verify_claim(transcript, given.shape, given.roots, weights, point, value, opening, Limits())
    assert isinstance(transcript, _Recorder)
    assert transcript.said[3:] == [("opening/value", 16), ("challenge/opening/gamma", 8), ("opening/u1", 14 * 16), ("opening/mask", 16),
                                   ("challenge/opening/scale", 8), ("opening/u2", 14 * 16), ("challenge/opening/columns", 8)]


def test_masked_messages_leave_an_equation() -> None:
    for degree in (2, 3):
        given = case(degree=degree)
        field = given.field
        hide = ((3, 1 << 40, P - 2)[:degree], (P - 9, 2, 77)[:degree])
        transcript, weights, point = given.start()
        value = given.value(weights, point)
        opening, _ = open_claim(transcript, given.shape, given.model, given.certificate, weights, point, value, hide)
        state = transcript.state
        transcript, weights, point = given.start()
        sent = field.subtract(value, hide[0])
        equation = verify_opening(transcript, given.shape, given.roots, weights, point, sent, opening, Limits())
        assert transcript.state == state
        assert field.add(opening.mask_value, hide[1]) == mask_evaluation(given.shape, given.certificate, point)
        assert field.add(field.multiply(equation.scale, value), field.add(opening.mask_value, hide[1])) == equation.right
        assert verdict(given, sent, opening) == "argument-opening"


def test_messages_may_be_zero() -> None:
    given = case()
    transcript, weights, point = given.start()
    value, mask = given.value(weights, point), given.at(given.mask(2), point)
    opening, _ = open_claim(transcript, given.shape, given.model, given.certificate, weights, point, value, (value, mask))
    assert opening.mask_value == given.field.zero
    transcript, weights, point = given.start()
    equation = verify_opening(transcript, given.shape, given.roots, weights, point, given.field.zero, opening, Limits())
    assert given.field.add(given.field.multiply(equation.scale, value), mask) == equation.right


def test_weights_and_point_have_the_sizes_of_the_shape() -> None:
    given = case()
    value, opening = honest(given)
    transcript, weights, point = given.start()
    for wrong in ((weights[1:], point), ([*weights, given.field.one], point), (weights, point[1:]), (weights, [*point, given.field.one])):
        with pytest.raises(ValueError, match="weight for each row"):
            verify_claim(transcript, given.shape, given.roots, *wrong, value, opening, Limits())


def test_the_work_is_charged_before_it_is_done() -> None:
    given = case()
    value, opening = honest(given)
    transcript, weights, point = given.start()
    with pytest.raises(Declined) as caught:
        verify_claim(transcript, given.shape, given.roots, weights, point, value, opening, Limits(work=given.shape.cost - 1))
    assert caught.value.code == "limit-reached"
    transcript, weights, point = given.start()
    verify_claim(transcript, given.shape, given.roots, weights, point, value, opening, Limits(work=given.shape.cost))
    assert Shape(Code(1 << 15, 2496, 1 << 17), 2, 154, 200, 640).cost == 130_507_616
    assert replace(given.shape, queries=100).cost == 1_191_008  # 32 columns at most


def test_trouble_names_the_array() -> None:
    given = case()
    value, opening = honest(given)
    transcript, weights, point = given.start()
    with pytest.raises(Rejected) as caught:
        verify_claim(transcript, given.shape, given.roots, weights, point, value,
                     replace(opening, salts=_at(opening.salts, 1, lambda a: a[:-1])), Limits())
    told = caught.value.what
    assert caught.value.where == "evidence.certificate_salts" and "another statement" in told and "certificate_salts has " in told
    with pytest.raises(Rejected) as caught:
        verify_claim(given.start()[0], given.shape, given.roots, weights, point, value,
                     replace(opening, salts=_at(opening.salts, 1, lambda a: a[:, :-1])), Limits())
    assert caught.value.where == "evidence.certificate_salts" and "16]" in caught.value.what


def test_uniform_passes_over_words_of_p_or_more() -> None:
    words = [P, 1, (1 << 64) - 1, P - 1, 2, 3, P + 1, 4]
    data = b"".join(word.to_bytes(8, "little") for word in words)
    taken = 0

    def source(count: int) -> bytes:
        nonlocal taken
        taken += count
        return data[taken - count : taken]
    assert uniform(source, (2, 2)).tolist() == [[1, P - 1], [2, 3]]
    assert uniform(draw(0), (0, 5)).shape == (0, 5)


def test_commitments_depend_on_every_part() -> None:
    code = Code(8, 4, 32)
    limbs, none = np.arange(16, dtype=np.uint16).reshape(2, 8), np.zeros((0, 8), np.uint64)
    root = commit(code, limbs, none, draw(0)).root
    assert commit(code, limbs, none, draw(0)).root == root != commit(code, limbs, none, draw(1)).root
    assert commit(code, limbs[::-1], none, draw(0)).root != root
    assert commit(code, limbs[:0], limbs.astype(np.uint64), draw(0)).root == root  # cells are what they are, however they are stored


def test_the_verifier_imports_nothing_compiled() -> None:
    script = ("import sys; import certify_zk.ligero, certify_zk.soundness, certify_zk.merkle\n"
              "bad = [name for name in ('numba', 'llvmlite', 'scipy', 'certify_zk.kernels') if name in sys.modules]\n"
              "sys.exit(f'imported {bad}' if bad else 0)")
    assert subprocess.run([sys.executable, "-c", script], env={"PYTHONPATH": ":".join(sys.path)}, check=False).returncode == 0
