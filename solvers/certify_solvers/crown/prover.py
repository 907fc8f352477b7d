# SPDX-License-Identifier: Apache-2.0
"""The crown prover: attack, interval and CROWN bounds; proved, refuted or unknown for `region` and `robust`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from certify.certificate import Files
from certify.claims import region, robust
from certify.errors import UsageError
from certify.limits import Limits
from certify.readers.formula import Part
from certify.rules.balls import above, below
from certify.rules.evaluation import evaluate
from certify.rules.unsafe_set import BOUNDS_TREE, WITNESS, UnsafeSet, constrained
from certify_solvers.common.prover import Draft, Effort, Outcome, Problem, Progress, Proved, Refuted, Unknown
from certify_solvers.crown import attack
from certify_solvers.crown.inhabitant import find as find_inhabitant
from certify_solvers.crown.input_split import Box, Rows, Search, evidence, search
from certify_solvers.crown.kernel import Array
from certify_solvers.runtime import float32

_DEFAULTS: Mapping[str, Mapping[str, str]] = {
    "region": {"format": "vnnlib-1", "semantics": "real"},
    "robust": {"label": "auto", "norm": "linf", "radius_unit": "raw", "clip": "null", "scale": "1", "subtract": "0", "divide": "1",
               "semantics": "real"},
}
_HELP: Mapping[str, str] = {
    "format": "the language of the property file (this version: vnnlib-1)",
    "semantics": "which function the network is: real numbers (this version: real)",
    "row": "the point: a row of the points file, from 0",
    "label": "the class that must win; auto: the labels file's, else the network's own answer at the point",
    "norm": "how distance is measured: linf is the largest change of any input (this version: linf)",
    "radius": "how far inputs may be from the point",
    "radius_unit": "raw: the radius is in the units of the points file; scaled: it is in those after `scale`",
    "clip": "lowest and highest value that an input can have, after `scale`, such as [0,1]",
    "scale": "what the points are multiplied with, such as 1/255",
    "subtract": "what the network's preprocessing subtracts, after `clip`: one number, or one a channel",
    "divide": "what it divides by, after `subtract`",
    "holds": "the answer that is wanted: true (a proof), false (a counterexample)",
    "method": "auto: one CROWN pass, then splits of the inputs where at most 20 of them vary; crown: no splits",
    "boxes": "how many boxes each rule of the search by splits may bound in a part",
    "restarts": "how many starting points the search for a counterexample takes, from 1 to 100000",
}
_HARDER = "try a smaller radius or region, more --set restarts=..., or another --seed"
_MOST_SPLIT = 20  # inputs that vary, for splits of the inputs to have a chance


class Crown:
    """Proves `region` and `robust` by one CROWN pass a part, refutes by attack."""

    name = "crown"
    emits = ("region", "robust")
    summary = "interval and CROWN bounds; projected gradient attack with exact replay"

    def defaults(self, kind: str) -> Mapping[str, str]:
        """Return the text of every `given` field that has a default."""
        return _DEFAULTS[kind]

    def options(self, kind: str) -> Mapping[str, str]:
        """Return the prover options with their defaults."""
        return {"method": "auto", "restarts": "100", "boxes": "300000"}

    def help(self, kind: str) -> Mapping[str, str]:
        """Return one line of meaning for every setting."""
        return _HELP

    def complete(self, kind: str, given: Mapping[str, Any], files: Files, limits: Limits) -> Mapping[str, Any]:
        """Return `given` with the label filled in: the labels file's, else the network's own answer at the point."""
        if kind != "robust" or given.get("label") is not None:
            return given
        near = robust.neighbourhoods(given, files, limits)
        label = near.label(given["row"])
        if label is None:
            outputs = evaluate(near.network, near.network_input(near.centre(given["row"])), limits)
            label = outputs.index(max(outputs))
        return {**given, "label": max(0, label)}

    def prove(self, problem: Problem, effort: Effort, progress: Progress) -> Outcome:
        """Return the outcome for one `region` or `robust` problem."""
        kind = region if problem.kind == "region" else robust
        restarts, boxes = (_count(problem.options[name], name) for name in ("restarts", "boxes"))
        if problem.options["method"] not in ("auto", "crown"):
            raise UsageError("setting-value", f"--set method={problem.options['method']}: no such method", fix="give auto or crown")
        progress("reading", {})
        unsafe = kind.problem(problem.given, problem.files, problem.limits.fresh())
        progress("bounding", {"parts": len(unsafe.parts)})
        found = _bound(unsafe, effort)
        worst, starts = min(found.margins, default=-np.inf), found.corners
        if worst > 0:
            return _holds(problem, unsafe, [None] * len(unsafe.parts), (f"smallest margin {worst:.4g}",))
        progress("attacking", {"parts": len(unsafe.parts)})
        centre = _centre(problem, unsafe)
        if centre is not None:
            starts[0] = np.vstack([np.array([[float(v) for v in centre]]), starts.get(0, np.zeros((0, unsafe.network.inputs)))])
        hit = attack.search(unsafe, starts, effort, problem.limits, restarts)
        if hit is None and problem.options["method"] == "auto" and np.isfinite(worst):
            progress("splitting", {"parts": sum(margin <= 0 for margin in found.margins)})
            answer = _split(problem, unsafe, found, effort, boxes)
            if isinstance(answer, list):
                return _holds(problem, unsafe, answer, ())
            hit = answer
        if hit is None:
            late = "the time limit was reached, " if effort.left() <= 0 else ""
            said = f"CROWN's smallest bound is {worst:.4g} and must be above 0" if np.isfinite(worst) else "no bound was found"
            return Unknown(f"{late}{said}; no counterexample was found: {_HARDER}")
        says, point = {"holds": False}, {"point": unsafe.claim_point(hit.x)}
        draft = Draft(problem.kind, 1, problem.given, says, ("real-arithmetic",), WITNESS.kind, WITNESS.version, point)
        model = problem.files["model"]
        remarks = [f"a counterexample was found and evaluated exactly: outputs {_shown(hit.y)}"]
        if problem.kind == "robust":
            label = problem.given["label"]
            best = max(range(len(hit.y)), key=lambda k: (hit.y[k], k != label))
            where = "at the point itself" if hit.x == centre else "there"
            remarks.append(f"{where} class {best} has {float(hit.y[best]):.6g}, class {label} has {float(hit.y[label]):.6g}")
        if not hit.float32:
            remarks.append("no float32 number of the region was a counterexample: the point is rational")
        remarks.append(float32.remark(unsafe, model if isinstance(model, bytes) else b"", hit.x))
        return _answer(draft, problem, False, tuple(remarks))


def _centre(problem: Problem, unsafe: UnsafeSet) -> tuple[Fraction, ...] | None:
    """Return what the network gets at the point of a `robust` claim: a wrong label shows there already."""
    if problem.kind != "robust":
        return None
    return unsafe.network_input(robust.neighbourhoods(problem.given, problem.files, problem.limits.fresh()).centre(problem.given["row"]))


def _shown(values: tuple[Fraction, ...], most: int = 10) -> str:
    texts = [f"{float(v):.4g}" for v in values[:most]]
    return f"[{', '.join(texts)}{', ...' if len(values) > most else ''}]"


def _count(text: str, name: str) -> int:
    if not re.fullmatch(r"[1-9][0-9]{0,7}", text):
        raise UsageError("setting-value", f"--set {name}={text}: not an integer from 1 to 99999999", fix="give a number such as 100")
    return int(text)


def _answer(draft: Draft, problem: Problem, holds: bool, remarks: tuple[str, ...]) -> Outcome:
    return Proved(draft, remarks) if holds == problem.wanted.get("holds", True) else Refuted(draft, remarks)


@dataclass(frozen=True, eq=False)
class _Found:
    """One CROWN pass: for each part its smallest margin, its rows, its box, and the corners that the bounds suggest."""

    margins: list[float]
    rows: list[Rows]
    boxes: list[tuple[Array, Array]]
    corners: dict[int, Array]


def _bound(unsafe: UnsafeSet, effort: Effort) -> _Found:
    """Return one CROWN pass over all parts; a part without rows, or behind the time limit, has the margin -infinity."""
    found = _Found([], [], [], {})
    network = unsafe.network
    for index, part in enumerate(unsafe.parts):
        if effort.left() <= 0 or not all(part.conjuncts):
            found.margins.append(-np.inf)
            continue
        listed = [row for conjunct in part.conjuncts for row in conjunct]
        starts = np.cumsum([0, *(len(conjunct) for conjunct in part.conjuncts)])[:-1]
        rows = Rows(_matrix([row.inputs for row in listed], network.inputs), _matrix([row.outputs for row in listed], network.outputs),
                    np.array([float(row.constant) for row in listed]), starts)
        box = np.array([below(v) for v in part.lower]), np.array([above(v) for v in part.upper])
        one = Search(network, rows, Box(*box), False)
        with np.errstate(all="ignore"):
            _, margins, slopes = one.bound([one.root])
        worst = float(np.maximum.reduceat(margins[0], starts).min())
        found.margins.append(worst if np.isfinite(worst) else -np.inf)
        found.rows.append(rows)
        found.boxes.append(box)
        found.corners[index] = np.where(slopes[0] > 0, *box)
    return found


def _split(problem: Problem, unsafe: UnsafeSet, found: _Found, effort: Effort, most: int) -> list[Box | None] | attack.Hit | None:
    """Return a closed tree for each part (None: its root is closed), or a counterexample, or None where neither was found."""
    trees: list[Box | None] = []
    hits: list[attack.Hit] = []
    for part, margin, rows, box in zip(unsafe.parts, found.margins, found.rows, found.boxes, strict=True):
        if margin > 0:
            trees.append(None)
            continue
        if np.count_nonzero(box[1] > box[0]) > _MOST_SPLIT:
            return None

        def hit(points: Array, part: Part = part) -> bool:
            one = attack.near(unsafe.network, part, points, problem.limits)
            hits.extend([one] if one is not None else [])
            return one is not None

        closed = search(unsafe.network, rows, box, effort, hit, most)
        if closed is None:
            return hits[0] if hits else None
        trees.append(closed.root)
    return trees


def _matrix(terms: list[Mapping[int, Fraction]], size: int) -> Array:
    made = np.zeros((len(terms), size))
    for row, values in enumerate(terms):
        for index, value in values.items():
            made[row, index] = float(value)
    return made


def _holds(problem: Problem, unsafe: UnsafeSet, trees: list[Box | None], remarks: tuple[str, ...]) -> Outcome:
    """Return the outcome for closed trees: unknown only where no point shows that the region has inputs."""
    items: dict[str, Any] = {"arithmetic": "f64-gamma"}
    if all(constrained(part) for part in unsafe.parts):
        x = next((x for x in map(find_inhabitant, unsafe.parts) if x is not None), None)
        if x is None:
            return Unknown("no unsafe point exists, but no point was found that shows that the region has inputs at all")
        items["witness"] = unsafe.claim_point(x)
    arrays = evidence(trees)
    leaves = int((arrays["tree"] < 0).sum())
    draft = Draft(problem.kind, 1, problem.given, {"holds": True}, tuple(sorted(unsafe.premises)), BOUNDS_TREE.kind, BOUNDS_TREE.version, items, arrays)
    return _answer(draft, problem, True, (*remarks, f"{leaves} leaves") if leaves > len(trees) else remarks)
