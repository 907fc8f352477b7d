# SPDX-License-Identifier: Apache-2.0
"""One question to the bounds: does any point of the parts reach the unsafe set? Holds with evidence, violated at a point, or open.

Order of work: a plain CROWN pass; the attack; tuned slopes; then branch and bound, on the inputs where few of them vary, else on neurons.
Evidence that is close to the limits of binary64 is tried in integers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np

from certify.certificate import Evidence
from certify.errors import CertifyError
from certify.limits import Limits
from certify.readers.formula import Part
from certify.rules.bounds_tree import Figures, check
from certify.rules.float32 import Rounding
from certify.rules.relaxation import Relaxation
from certify.rules.unsafe_set import BOUNDS_TREE, UnsafeSet, arithmetic
from certify_solvers.common.prover import Effort, Progress
from certify_solvers.crown import attack, neuron_split
from certify_solvers.crown.alpha import Conjunct, tune
from certify_solvers.crown.domain import Domain
from certify_solvers.crown.emission import Arrays, join, leaf
from certify_solvers.crown.input_split import Rows, search
from certify_solvers.crown.kernel import Array

_MOST_SPLIT = 20  # inputs that vary, for splits of the inputs to have a chance
_NODE_BOXES = 10  # a node of the search on neurons, with its tuning, counts as so many boxes
_SHARES = (0.0, 0.1, 1.0)  # of what float32 errors cost at the root, kept as a margin
_CLOSE = 1e-6  # a margin nearer to 0 than this, relative to the constants, is tried in integers


@dataclass(frozen=True)
class Settings:
    """How to search: `method` auto, crown or alpha; random starts of the attack; boxes a part; the arithmetic of the evidence."""

    method: str = "auto"
    restarts: int = 100
    boxes: int = 300000
    arithmetic: str = "auto"
    fraction_bits: int = 128


@dataclass(frozen=True)
class Holds:
    """No point of the parts is unsafe: evidence for a bounds tree."""

    items: Mapping[str, Any]
    arrays: Arrays
    margin: float

    @property
    def leaves(self) -> int:
        """The number of leaves."""
        return int((self.arrays["tree"] < 0).sum())


@dataclass(frozen=True)
class Violated:
    """A point is unsafe, evaluated exactly."""

    hit: attack.Hit


@dataclass(frozen=True)
class Open:
    """Neither was found; `worst` is the smallest margin of the parts that stayed open."""

    worst: float
    late: bool


Answer = Holds | Violated | Open


@dataclass(eq=False)
class _Part:
    """A part while it is worked on: its region, its rows as arrays, the best margin so far, and its evidence once it is closed."""

    part: Part
    domain: Domain
    conjuncts: list[Conjunct]
    margin: float = -np.inf
    arrays: Arrays | None = None
    corners: Array = field(default_factory=lambda: np.zeros((0, 0)))


def decide(unsafe: UnsafeSet, settings: Settings, effort: Effort, limits: Limits, progress: Progress, start: Array | None = None) -> Answer:
    """Return the answer for an unsafe set; `start` are points worth trying in the first part."""
    if unsafe.semantics == "real":
        return _decide(unsafe, settings, effort, limits, progress, start, 0.0)
    # What float32 errors cost is known for the whole region only; on small boxes they cost far less, so less is tried first.
    answer: Answer = Open(-np.inf, False)
    for share in _SHARES:
        answer = _decide(unsafe, settings, effort, limits, progress, start, share)
        refused = (accepted(unsafe, answer.items, answer.arrays, limits) is None if isinstance(answer, Holds)
                   else isinstance(answer, Open) and settings.arithmetic == "exact-int")  # integers are refused where the search ends
        if not refused or effort.left() <= 0:
            return answer
    return answer


def accepted(unsafe: UnsafeSet, items: Mapping[str, Any], arrays: Arrays, limits: Limits, semantics: str = "") -> Figures | None:
    """Return the figures of the checker's rule for evidence, or None where it refuses it; `semantics` may differ from the set's own."""
    own, made = limits.fresh(), Evidence(BOUNDS_TREE.kind, BOUNDS_TREE.version, items, arrays)
    try:
        return check(arithmetic(unsafe.network, semantics or unsafe.semantics, made, own), unsafe.parts, arrays, own)
    except CertifyError:
        return None


def _decide(unsafe: UnsafeSet, settings: Settings, effort: Effort, limits: Limits, progress: Progress, start: Array | None,
            share: float) -> Answer:
    progress("bounding", {"parts": len(unsafe.parts)})
    parts: list[_Part] = []
    for part in unsafe.parts:
        parts.append(_Part(part, Domain(part), [_conjunct(unsafe, part, rows) for rows in part.conjuncts]))
        if effort.left() > 0 and all(part.conjuncts):
            _bound(unsafe, parts[-1], limits, effort, share)
    if all(one.arrays is not None for one in parts):
        return _holds(unsafe, parts, settings, limits)
    progress("attacking", {"parts": len(parts)})
    starts = {index: one.corners for index, one in enumerate(parts) if one.corners.size}
    if start is not None:
        starts[0] = np.vstack([start, starts[0]]) if 0 in starts else start
    hit = attack.search(unsafe, starts, effort, limits, settings.restarts)
    if hit is not None:
        return Violated(hit)
    if settings.method != "crown" and all(np.isfinite(one.margin) for one in parts):
        progress("splitting", {"parts": sum(one.arrays is None for one in parts)})
        for one in parts:
            hit = None
            if one.arrays is None and settings.method != "alpha" and np.count_nonzero(one.domain.upper > one.domain.lower) <= _MOST_SPLIT:
                hit = _split_inputs(unsafe, one, settings, effort, limits, progress)
            elif one.arrays is None:
                hit = _split_neurons(unsafe, one, settings, effort, limits, progress)
            if hit is not None:
                return Violated(hit)
            if one.arrays is None:
                break
        if any("mix" in one.arrays for one in parts if one.arrays is not None):
            for one in parts:  # where a leaf names its rows, all do; the root box of the others tells theirs
                if one.arrays is not None and "row" not in one.arrays:
                    _split_inputs(unsafe, one, replace(settings, boxes=0), effort, limits, progress)
    if all(one.arrays is not None for one in parts):
        return _holds(unsafe, parts, settings, limits)
    worst = min(one.margin for one in parts if one.arrays is None)
    if settings.arithmetic == "auto" and worst > -_CLOSE:
        items, arrays = _integers(settings), _joined(unsafe, parts)
        figures = accepted(unsafe, items, arrays, limits)
        if figures is not None:
            return Holds(items, arrays, figures.smallest_margin)
    return Open(worst, effort.left() <= 0)


def _conjunct(unsafe: UnsafeSet, part: Part, rows: tuple[Any, ...]) -> Conjunct:
    return (matrix([row.inputs for row in rows], unsafe.network.inputs), matrix([row.outputs for row in rows], unsafe.network.outputs),
            np.array([float(row.constant) for row in rows]))


def matrix(terms: list[Mapping[int, Fraction]], size: int) -> Array:
    """Return linear forms as the rows of an array."""
    made = np.zeros((len(terms), size))
    for row, values in enumerate(terms):
        for index, value in values.items():
            made[row, index] = float(value)
    return made


def _bound(unsafe: UnsafeSet, one: _Part, limits: Limits, effort: Effort, share: float) -> None:
    """Bound a part by one CROWN pass; for float32 executions, move the constants by a share of what their errors cost at the root."""
    found = tune(unsafe.network, one.domain, one.conjuncts, effort, 1)
    if found is None:
        return
    if share > 0:
        lost = share * _float32_cost(unsafe, one.part, limits)
        one.conjuncts = [(inputs, outputs, constant - lost) for inputs, outputs, constant in one.conjuncts]
        found = tune(unsafe.network, one.domain, one.conjuncts, effort, 1) or found
    one.margin, one.corners = float(found.margins.min()), found.points
    if found.closed:
        one.arrays = leaf()


def _float32_cost(unsafe: UnsafeSet, part: Part, limits: Limits) -> float:
    """Return how much lower the checker's bounds over a part are for float32 executions than over the reals, at the root."""
    sums = []
    for rounding in (None, Rounding(unsafe.network)):
        rule = Relaxation(unsafe.network, limits.fresh(), None, rounding)
        lower, upper = rule.start(part)
        with np.errstate(all="ignore"):
            bounds = rule.propagate(lower[None], upper[None], None)
            rows = [rule.specify(((row, Fraction(1)),)) for conjunct in part.conjuncts for row in conjunct]
            sums.append(rule.bound(rows, np.zeros(len(rows), int), bounds, lower[None], upper[None]))
    return float(1.05 * np.abs(sums[0] - sums[1]).max())


class _Hit:
    """Whether a point that a search came by is a counterexample in a part; the first one is kept."""

    def __init__(self, unsafe: UnsafeSet, one: _Part, limits: Limits) -> None:
        self.unsafe, self.one, self.limits = unsafe, one, limits
        self.first: attack.Hit | None = None

    def __call__(self, points: Array) -> bool:
        found = attack.near(self.unsafe.network, self.one.part, self.one.domain.project(points), self.limits)
        self.first = self.first or found
        return found is not None


def _split_inputs(unsafe: UnsafeSet, one: _Part, settings: Settings, effort: Effort, limits: Limits, progress: Progress) -> attack.Hit | None:
    """Close a part by splits of its inputs, or return a counterexample met on the way."""
    hit = _Hit(unsafe, one, limits)
    starts = np.cumsum([0, *(len(constant) for *_, constant in one.conjuncts)])[:-1]
    rows = Rows(*(np.concatenate(sides) for sides in zip(*one.conjuncts, strict=True)), starts)
    closed = search(unsafe.network, rows, (one.domain.lower, one.domain.upper), effort, hit, settings.boxes, progress)
    if closed is None:
        return hit.first
    one.arrays = closed.arrays()
    return None


def _split_neurons(unsafe: UnsafeSet, one: _Part, settings: Settings, effort: Effort, limits: Limits, progress: Progress) -> attack.Hit | None:
    """Close a part by tuned slopes, then by splits on neurons, or return a counterexample met on the way."""
    hit = _Hit(unsafe, one, limits)
    found = tune(unsafe.network, one.domain, one.conjuncts, effort)
    if found is None:
        return None
    one.margin = max(one.margin, float(found.margins.min()))
    if found.closed:
        one.arrays = found.arrays()
    elif settings.method == "alpha":
        hit(found.points)
    else:
        most = max(1, settings.boxes // _NODE_BOXES)
        closed = neuron_split.search(unsafe.network, one.domain, one.conjuncts, found, effort, hit, most, progress)
        one.arrays = closed.arrays if closed is not None else None
    return hit.first


def _holds(unsafe: UnsafeSet, parts: list[_Part], settings: Settings, limits: Limits) -> Answer:
    margin, arrays = min(one.margin for one in parts), _joined(unsafe, parts)
    if settings.arithmetic != "exact-int":
        return Holds({"arithmetic": "f64-gamma"}, arrays, margin)
    figures = accepted(unsafe, _integers(settings), arrays, limits)
    return Open(margin, False) if figures is None else Holds(_integers(settings), arrays, figures.smallest_margin)


def _joined(unsafe: UnsafeSet, parts: list[_Part]) -> Arrays:
    return join([(one.arrays or leaf(), len(one.conjuncts)) for one in parts], unsafe.network.inputs)


def _integers(settings: Settings) -> dict[str, Any]:
    return {"arithmetic": "exact-int", "fraction_bits": settings.fraction_bits}
