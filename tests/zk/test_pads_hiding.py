# SPDX-License-Identifier: Apache-2.0
"""What masked runs show: exact ranks of the tableau of pads on small instances, and a statistical comparison of the arguments of two networks."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
from flint import nmod_mat
from pads_cases import Case, Known, elements, play, start, verdict

from certify_zk import pads_prover
from certify_zk.dialogue import Padded
from certify_zk.field import P
from certify_zk.pads import Challenges
from certify_zk.pads_prover import commit_pads, open_pads
from certify_zk.prover import commit_model
from certify_zk.transcript import Transcript
from certify_zk.witness import Model
from zk.arguments import case
from zk.test_argument import NETWORKS


class Feed:
    """A source of given words, zeros after them; notes how many words were taken at a time."""

    def __init__(self, words: list[int]) -> None:
        self.words, self.taken = words, list[int]()

    def __call__(self, count: int) -> bytes:
        start = sum(self.taken)
        self.taken.append(count // 8)
        found = self.words[start : start + count // 8]
        return b"".join(word.to_bytes(8, "little") for word in [*found, *[0] * (count // 8 - len(found))])


class Fixed(Transcript):
    """A transcript whose columns are given."""

    def __init__(self, columns: list[int]) -> None:
        super().__init__()
        self.columns = columns

    def indices(self, label: str, count: int, size: int) -> list[int]:
        return self.columns


@dataclass
class View:
    """What a verifier sees of a run with fixed messages, as a function of the words from which pads, rows and masks are drawn."""

    case: Case
    columns: list[int]
    seed: int = 0

    def __post_init__(self) -> None:
        case, rng = self.case, np.random.default_rng(self.seed + 50)
        self.shape = case.shape
        feed = Feed([])
        pads = commit_pads(self.shape, case.pairs, feed)
        self.groups = feed.taken[:-1]  # the last ones are salts
        self.pads = self.groups[0]
        self.drawn = Challenges(*elements(rng, 2, case.degree), elements(rng, self.shape.rows - 1, case.degree))
        self.run = Padded(start(b""), case.field, Known(case.values(self.seed)), pads.messages)
        case.talk(self.run)

    def shown(self, words: list[int]) -> list[int]:
        """Return u, linear, product and the columns; pads of messages are 0 but for what `words` begin with."""
        pads = commit_pads(self.shape, self.case.pairs, Feed(words))
        found = open_pads(Fixed(self.columns), self.shape, self.run, pads)
        return [int(word) for array in (found.u, found.linear, found.product, found.columns) for word in array.ravel()]

    def derivative(self, base: list[int]) -> list[list[int]]:
        """Return what one more of each word makes of the view; exact, for no word is multiplied by itself."""
        there, found = self.shown(base), []
        for number in range(self.pads, len(base)):
            words = list(base)
            words[number] = (words[number] + 1) % P
            found.append([(a - b) % P for a, b in zip(self.shown(words), there, strict=True)])
        return found

    @property
    def dimension(self) -> int:
        """The words of the view less the equations of the verifier: a sum, a value in each slot, and three in each column."""
        shape = self.shape
        equations = 1 + shape.code.cells + 3 * len(self.columns)
        return (sum(shape.lengths) + len(self.columns) * shape.rows - equations) * shape.degree


def columns(case: Case, count: int, seed: int) -> list[int]:
    return sorted(np.random.default_rng(seed + 90).choice(case.length, count, replace=False).tolist())


def rank(rows: list[list[int]]) -> int:
    return int(nmod_mat(rows, P).rank())


def derivative(case: Case, count: int, seed: int, monkeypatch: pytest.MonkeyPatch) -> tuple[View, list[list[int]]]:
    """Return a view of random columns, and its derivative at 0 or, for seeds above 0, at a random point."""
    view = View(case, sorted(np.random.default_rng(seed + 90).choice(case.length, count, replace=False).tolist()), seed)
    monkeypatch.setattr(pads_prover, "challenges", lambda transcript, shape: view.drawn)
    words = sum(view.groups)
    base = [0] * words if seed == 0 else np.random.default_rng(seed).integers(0, P, words, dtype=np.uint64).tolist()
    return view, view.derivative(base)


def without(view: View, rows: list[list[int]], group: int, kept: int = 0) -> list[list[int]]:
    """Return a derivative without the words of a group, but for those from coefficient `kept` on: as if they were always 0."""
    groups, degree = view.groups[1:], view.case.degree
    start, count = sum(groups[:group]), groups[group]
    gone = {start + number for number in range(count) if not kept or number % (count // degree) < kept}
    return [row for number, row in enumerate(rows) if number not in gone]


TINY = {
    "three queries": Case(pads=3, free=2, products=1), "two rows of products": Case(slots=4, pads=3, free=3, products=3),
    "nine queries": Case(slots=8, pads=9, free=2, products=1), "one slot": Case(slots=1, pads=2, length=32, free=1, products=0),
}
"""Also with as many queries as the parts of masks allow, one more than there are slots."""


@pytest.mark.parametrize("degree", [2, 3])
@pytest.mark.parametrize("name", TINY)
def test_the_view_has_the_dimension_that_the_equations_leave(name: str, degree: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the pads of messages are: the other words map onto all views that a verifier accepts, for any t columns or fewer."""
    case = replace(TINY[name], degree=degree)
    for seed, count in enumerate((case.pads, case.pads, 1)):
        view, found = derivative(case, count, seed, monkeypatch)
        assert rank(found) == view.dimension <= min(len(found), len(found[0]))


def test_queries_beyond_the_overlap_show_something(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows have a random coefficient for each column, but with two columns more than slots the last part of a mask has too few."""
    for slots, queries, lost in ((4, 5, 0), (4, 6, 1), (4, 7, 2), (8, 10, 1)):
        view, found = derivative(Case(slots=slots, pads=queries, free=2, products=1), queries, 1, monkeypatch)
        assert rank(found) == view.dimension - 2 * lost


def test_a_column_more_than_there_are_queries_shows_something(monkeypatch: pytest.MonkeyPatch) -> None:
    case = Case(pads=3, free=2, products=1)
    view, found = derivative(case, 4, 1, monkeypatch)
    assert rank(found) < view.dimension


U, LINEAR, SOME, PRODUCT, SECOND, FREE = range(-6, 0)
"""What is drawn last: the mask of u, that of linear and its overlap, that of product, its second part, and a coefficient of the third."""


@pytest.mark.parametrize("degree", [2, 3])
def test_an_overlap_that_is_filled_with_zeros_shows_something(degree: int, monkeypatch: pytest.MonkeyPatch) -> None:
    case = Case(slots=8, pads=9, degree=degree, free=2, products=1)
    view, found = derivative(case, 9, 1, monkeypatch)
    whole, groups = view.dimension, view.groups
    assert groups[SOME] == 10 * degree and groups[SECOND] == 17 * degree and groups[FREE] == degree
    assert rank(found) == whole
    for rows in (without(view, found, SOME), without(view, found, SECOND, 9), without(view, found, FREE), without(view, found, SECOND)):
        assert rank(rows) < whole
    for group in (0, 1, 2, 3, 4, U, LINEAR, PRODUCT):  # neither is there a row without pads, nor a mask, that shows nothing
        assert rank(without(view, found, group)) < whole


def test_a_view_is_one_that_the_verifier_accepts() -> None:
    """The map whose rank is taken is that of the prover: with the challenges and columns of a transcript it gives the opening."""
    case = Case(pads=3, free=2, products=1)
    view = View(case, [])
    rng = np.random.default_rng(7)
    words = rng.integers(0, P, sum(view.groups), dtype=np.uint64).tolist()
    sent = play(case, commit=lambda shape, pairs, draw: commit_pads(shape, pairs, Feed(words)))
    assert verdict(case, sent) == "verified"
    assert len(view.groups) == 1 + case.shape.witness + 6 and sum(view.groups) > view.pads == case.degree * case.shape.messages


@pytest.mark.parametrize("degree", [2, 3])
def test_all_that_is_drawn_is_used_once(degree: int) -> None:
    """Pads and salts are the words that were drawn, and each other word changes one row that is committed."""
    case = Case(degree=degree, free=3, products=2)
    shape, rng = case.shape, np.random.default_rng(11)
    given = commit_pads(shape, case.pairs, rng.bytes)
    drawn = np.random.default_rng(11)
    words = [tuple(entry) for entry in np.frombuffer(drawn.bytes(8 * degree * shape.messages), "<u8").reshape(-1, degree).tolist()]
    assert given.messages == words and len(set(words)) == shape.messages
    salts = given.committed.salts
    assert len({salts[start : start + 16] for start in range(0, len(salts), 16)}) == shape.code.length
    feed = Feed([])
    commit_pads(shape, case.pairs, feed)
    total, kinds = sum(feed.taken[:-1]), list[int]()
    for number in range(degree * shape.messages, total):
        rows = commit_pads(shape, case.pairs, Feed([int(index == number) for index in range(total)])).rows
        kinds.append(sum(any(component.degree() >= 0 for component in row) for row in rows))
    assert kinds.count(0) == degree and max(kinds) <= 3  # parts of one mask follow from each other; a word of the linear one is what its sum needs


def test_pads_of_messages_are_in_their_slots() -> None:
    case = Case(free=9, products=6)
    shape = case.shape
    given = commit_pads(shape, case.pairs, np.random.default_rng(12).bytes)
    root = pow(7, (P - 1) // shape.code.cells, P)
    for name, values in (("message", given.messages), ("x", [given.messages[a] for a, _ in case.pairs]),
                         ("y", [given.messages[b] for _, b in case.pairs])):
        for number, value in enumerate(values):
            row, slot = shape.place(name, number)
            assert tuple(int(component(pow(root, slot, P))) for component in given.rows[row]) == value


POLICY, RANDOM, STATEMENT = NETWORKS["4-4-4-3"]
ZERO = Model(tuple(np.zeros_like(weight) for weight in RANDOM.weights), tuple(np.zeros_like(bias) for bias in RANDOM.biases))
Words = dict[str, np.ndarray]


def argued(model: Model, seed: int, padded: bool) -> Words:
    """Return all words of an argument about a network, by what they are."""
    given = case(POLICY, model, STATEMENT)
    committed = commit_model(given.policy, given.circuit.blocks, given.tables, np.random.default_rng(seed + 5000).bytes)
    made = given.prove(committed, seed, padded)
    found = {"messages": made.messages, "u1": made.opening.u1, "u2": made.opening.u2, "model": made.opening.columns[0],
             "certificate": made.opening.columns[1]}
    if made.pads is not None:
        found |= {"pads": made.pads.columns, "u": made.pads.u, "linear": made.pads.linear, "product": made.pads.product}
    return {name: array.ravel() for name, array in found.items()}


def distance(first: np.ndarray, second: np.ndarray, shift: int) -> float:
    """Return the chi-square statistic, per degree of freedom, of the counts of four bits in two samples, of which the longer one is cut."""
    size = min(len(first), len(second))
    counts = [np.bincount((sample[:size] >> np.uint64(shift) & np.uint64(15)).astype(np.int64), minlength=16) for sample in (first, second)]
    total = counts[0] + counts[1]
    return float(((counts[0] - counts[1]) ** 2 / np.maximum(total, 1)).sum() / 15)


@pytest.mark.slow
def test_arguments_about_two_networks_look_alike() -> None:
    """All weights zero against random ones: chi-square with 15 degrees of freedom exceeds 45 once in ten thousand times.

    The messages of arguments in clear mode tell which network it is.
    """
    samples = []
    for number, model in enumerate((RANDOM, ZERO)):
        made = [argued(model, 100 * number + seed, True) for seed in range(16)]
        samples.append({name: np.concatenate([each[name] for each in made]) for name in made[0]})
    assert sum(len(array) for sample in samples for array in sample.values()) > 10**6
    for name in samples[0]:
        for shift in (0, 60):
            assert distance(samples[0][name], samples[1][name], shift) < 3, (name, shift)
    uniform = np.random.default_rng(3).integers(0, P, 1 << 21, dtype=np.uint64)
    assert all(distance(array, uniform, shift) < 3 for sample in samples for array in sample.values() for shift in (0, 60))
    messages = np.concatenate([sample["messages"] for sample in samples])
    assert len(np.unique(messages)) == len(messages)
    clear = [argued(model, 7, False)["messages"] for model in (RANDOM, ZERO)]
    assert distance(*clear, 0) > 10 and distance(*clear, 60) > 10 and all(len(np.unique(each)) < len(each) for each in clear)


def test_pads_that_serve_twice_are_recognised() -> None:
    """Arguments about two networks have no word in common; with equal pads they show the same rows where both open the same columns."""
    first, second, other = argued(RANDOM, 1, True), argued(ZERO, 1, True), argued(ZERO, 2, True)
    assert not np.isin(first["messages"], other["messages"]).any()
    rows = [np.unique(each["pads"]) for each in (first, second, other)]
    assert not np.isin(rows[0], rows[2]).any() and np.isin(rows[0], rows[1]).sum() > 20
