# SPDX-License-Identifier: Apache-2.0
"""The crown prover: attack, interval and CROWN bounds; proved, refuted or unknown for `region` and `robust`."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from certify.certificate import Files
from certify.claims import region, robust
from certify.errors import UsageError
from certify.limits import Limits
from certify.readers.onnx_ops import read_network
from certify.rules.balls import above, below
from certify.rules.evaluation import evaluate
from certify.rules.unsafe_set import ARITHMETIC, BOUNDS_TREE, WITNESS, UnsafeSet, constrained
from certify_solvers.common.prover import Draft, Effort, Outcome, Problem, Progress, Proved, Refuted, Unknown
from certify_solvers.crown import attack
from certify_solvers.crown.inhabitant import find as find_inhabitant
from certify_solvers.crown.kernel import Array, backward, propagate
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
    "restarts": "how many starting points the search for a counterexample takes, from 1 to 100000",
}
_HARDER = "try a smaller radius or region, more --set restarts=..., or another --seed"
_MARGIN = 1e-9  # below this, rounding may hide the margin from the checker on another machine


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
        return {"restarts": "100"}

    def help(self, kind: str) -> Mapping[str, str]:
        """Return one line of meaning for every setting."""
        return _HELP

    def complete(self, kind: str, given: Mapping[str, Any], files: Files, limits: Limits) -> Mapping[str, Any]:
        """Return `given` with the label filled in: the labels file's, else the network's own answer at the point."""
        if kind != "robust" or given.get("label") is not None:
            return given
        model, points, labels = files["model"], files["points"], files.get("labels")
        if not isinstance(model, bytes) or not isinstance(points, bytes):
            raise TypeError("a role takes one file")
        if isinstance(labels, bytes):
            label = robust.label_in_file(labels, given["row"], limits)
            return {**given, "label": max(0, label)}
        network = read_network(model, limits)
        unsafe = robust.problem({**given, "label": 0}, {"model": model, "points": points}, limits)
        outputs = evaluate(network, unsafe.network_input(robust.centre(given, points, network, limits)), limits)
        return {**given, "label": outputs.index(max(outputs))}

    def prove(self, problem: Problem, effort: Effort, progress: Progress) -> Outcome:
        """Return the outcome for one `region` or `robust` problem."""
        kind = region if problem.kind == "region" else robust
        restarts = _restarts(problem.options["restarts"])
        progress("reading", {})
        unsafe = kind.problem(problem.given, problem.files, problem.limits.fresh())
        progress("bounding", {"parts": len(unsafe.parts)})
        worst, starts = _bound(unsafe, effort)
        if worst > 0:
            draft = _holds(problem, unsafe)
            if draft is None:
                return Unknown("no unsafe point exists, but no point was found that shows that the region has inputs at all")
            return _answer(draft, problem, True, (f"smallest margin {worst:.4g}",))
        progress("attacking", {"parts": len(unsafe.parts)})
        centre = _centre(problem, unsafe)
        if centre is not None:
            starts[0] = np.vstack([np.array([[float(v) for v in centre]]), starts.get(0, np.zeros((0, unsafe.network.inputs)))])
        hit = attack.search(unsafe, starts, effort, problem.limits, restarts)
        if hit is None:
            late = "the time limit was reached, " if effort.left() <= 0 else ""
            found = f"CROWN's smallest bound is {worst:.4g} and must be above 0" if np.isfinite(worst) else "no bound was found"
            return Unknown(f"{late}{found}; no counterexample was found: {_HARDER}")
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
    points = problem.files.get("points")
    if problem.kind != "robust" or not isinstance(points, bytes):
        return None
    return unsafe.network_input(robust.centre(problem.given, points, unsafe.network, problem.limits.fresh()))


def _shown(values: tuple[Fraction, ...], most: int = 10) -> str:
    texts = [f"{float(v):.4g}" for v in values[:most]]
    return f"[{', '.join(texts)}{', ...' if len(values) > most else ''}]"


def _restarts(text: str) -> int:
    if not re.fullmatch(r"[1-9][0-9]{0,4}|100000", text):
        raise UsageError("setting-value", f"--set restarts={text}: not an integer from 1 to 100000",
                         fix="give the number of starting points, such as 100")
    return int(text)


def _answer(draft: Draft, problem: Problem, holds: bool, remarks: tuple[str, ...]) -> Outcome:
    return Proved(draft, remarks) if holds == problem.wanted.get("holds", True) else Refuted(draft, remarks)


def _bound(unsafe: UnsafeSet, effort: Effort) -> tuple[float, dict[int, Array]]:
    """Return the smallest bound over all conjuncts, less the margin, and for each part the corners that the bounds suggest."""
    worst, starts = np.inf, {}
    network = unsafe.network
    for index, part in enumerate(unsafe.parts):
        if effort.left() <= 0 or not all(part.conjuncts):
            return -np.inf, starts
        lower, upper = np.array([[below(v) for v in part.lower]]), np.array([[above(v) for v in part.upper]])
        with np.errstate(all="ignore"):
            bounds = propagate(network, lower, upper)
            rows = [row for conjunct in part.conjuncts for row in conjunct]
            first = _matrix([row.outputs for row in rows], network.outputs)
            constant = np.array([float(row.constant) for row in rows])
            owner = np.zeros(len(rows), np.int64)
            added = _matrix([row.inputs for row in rows], network.inputs)
            found, coefficients = backward(network, len(network.layers), first, constant, owner, bounds, lower * 0, upper * 0)
            total = coefficients + added
            found = found + np.einsum("rn,n->r", np.maximum(total, 0), lower[0]) + np.einsum("rn,n->r", np.minimum(total, 0), upper[0])
        ends = np.cumsum([0, *(len(conjunct) for conjunct in part.conjuncts)])
        margins = found - _MARGIN * (1 + np.abs(constant))
        best = [margins[a:b].max() for a, b in itertools.pairwise(ends)]
        worst = min(worst, *best) if np.isfinite(best).all() else -np.inf
        starts[index] = np.where(total > 0, lower, upper)
    return float(worst), starts


def _matrix(terms: list[Mapping[int, Fraction]], size: int) -> Array:
    made = np.zeros((len(terms), size))
    for row, values in enumerate(terms):
        for index, value in values.items():
            made[row, index] = float(value)
    return made


def _holds(problem: Problem, unsafe: UnsafeSet) -> Draft | None:
    """Return the draft of a certificate without splits, or None where no point shows that a part has inputs."""
    items: dict[str, Any] = {"arithmetic": ARITHMETIC}
    if all(constrained(part) for part in unsafe.parts):
        found = (find_inhabitant(part) for part in unsafe.parts)
        x = next((x for x in found if x is not None), None)
        if x is None:
            return None
        items["witness"] = unsafe.claim_point(x)
    tree = np.array([-1 - leaf for leaf in range(len(unsafe.parts))], "<i4")
    return Draft(problem.kind, 1, problem.given, {"holds": True}, ("real-arithmetic",), BOUNDS_TREE.kind, BOUNDS_TREE.version, items, {"tree": tree})
