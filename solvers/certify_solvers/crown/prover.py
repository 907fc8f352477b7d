# SPDX-License-Identifier: Apache-2.0
"""The crown prover: `region`, `robust` (also the largest radius) and `accuracy` by bounds and attack."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from certify.certificate import Files
from certify.claims import region, robust
from certify.errors import UsageError
from certify.limits import Limits
from certify.readers.vnnlib2 import declared_format
from certify.rules.counterexample import violates
from certify.rules.evaluation import evaluate
from certify.rules.unsafe_set import BOUNDS_TREE, WITNESS, UnsafeSet, constrained
from certify_solvers.common.prover import Draft, Effort, Outcome, Problem, Progress, Proved, Refuted, Unknown
from certify_solvers.crown import dataset
from certify_solvers.crown.attack import Hit
from certify_solvers.crown.decide import Answer, Holds, Open, Settings, Violated, accepted, decide
from certify_solvers.crown.domain import claim_point
from certify_solvers.crown.inhabitant import find as find_inhabitant
from certify_solvers.crown.radius import bracket, on_grid
from certify_solvers.runtime import float32

_BALL: Mapping[str, str] = {"norm": "linf", "radius_unit": "raw", "clip": "null", "scale": "1", "subtract": "0", "divide": "1", "semantics": "real"}
_DEFAULTS: Mapping[str, Mapping[str, str]] = {
    "region": {"format": "auto", "semantics": "real"}, "robust": {"label": "auto", **_BALL}, "accuracy": _BALL,
}
_HELP: Mapping[str, str] = {
    "format": "the language of the property file: vnnlib-1 or vnnlib-2; auto: told by its first command",
    "semantics": "which function the network is: real (real numbers), or exec32 (every float32 execution; can't be refuted)",
    "row": "the point: a row of the points file, from 0",
    "label": "the class that must win; auto: the labels file's, else the network's own answer at the point",
    "norm": "how distance is measured: linf (the largest change of any input), l2 or l1",
    "radius": "how far inputs may be from the point; max (for robust only): search for the largest radius that can be proved",
    "radius_unit": "raw: the radius is in the units of the points file, such as grey levels; scaled: it is in those after `scale`",
    "clip": "lowest and highest value that an input can have, after `scale`, such as [0,1]",
    "scale": "what the points are multiplied with, such as 1/255",
    "subtract": "what the network's preprocessing subtracts, after `clip`: one number, or one a channel",
    "divide": "what it divides by, after `subtract`",
    "holds": "the answer that is wanted: true (a proof), false (a counterexample)",
    "robust_at_least": "the number of robust rows that is wanted",
    "not_robust_at_least": "the number of rows that are not robust that is wanted",
    "of": "the number of rows of the points file",
    "method": "auto: CROWN, then splits of inputs where at most 20 vary, else tuned slopes and splits of neurons; alpha: no splits; crown: neither",
    "boxes": "how many boxes the search by splits may bound in a part; without a proof, more take longer and may find one",
    "restarts": "how many starting points the search for a counterexample takes, from 1 to 100000",
    "arithmetic": "of the evidence: f64-gamma, exact-int, or auto: f64-gamma, and integers where a margin is near 0",
    "fraction_bits": "exact-int counts in units of 2^-fraction_bits, from 16 to 4096",
}
_METHODS, _ARITHMETICS = ("auto", "alpha", "crown"), ("auto", "f64-gamma", "exact-int")
_SMALL = 8  # leaves, up to which evidence is tried for float32 executions too


class Crown:
    """Proves by interval and CROWN bounds, tuned slopes and splits; refutes by attack."""

    name = "crown"
    emits = ("accuracy", "region", "robust")
    summary = "interval, CROWN and alpha-CROWN bounds, branch and bound; projected gradient attack with exact replay"

    def defaults(self, kind: str) -> Mapping[str, str]:
        """Return the text of every `given` field that has a default."""
        return _DEFAULTS[kind]

    def options(self, kind: str) -> Mapping[str, str]:
        """Return the prover options with their defaults."""
        return {"method": "auto", "restarts": "100", "boxes": "300000", "arithmetic": "auto", "fraction_bits": "128"}

    def help(self, kind: str) -> Mapping[str, str]:
        """Return one line of meaning for every setting."""
        return _HELP

    def searched(self, kind: str) -> Mapping[str, str]:
        """Return the fields of `given` that the prover can search for."""
        return {"radius": "max"} if kind == "robust" else {}

    def complete(self, kind: str, given: Mapping[str, Any], files: Files, limits: Limits) -> Mapping[str, Any]:
        """Return `given` with its `auto` fields filled in: format, or the label (the labels file's, else the network's own answer)."""
        text = files.get("property")
        if kind == "region" and given.get("format") is None and isinstance(text, bytes):
            return {**given, "format": declared_format(text)}
        if kind != "robust" or given.get("label") is not None:
            return given
        near = robust.neighbourhoods({**given, "radius": given["radius"] or Fraction(1)}, files, limits)
        label = near.label(given["row"])
        if label is None:
            outputs = evaluate(near.network, near.network_input(near.centre(given["row"])), limits)
            label = outputs.index(max(outputs))
        return {**given, "label": max(0, label)}

    def prove(self, problem: Problem, effort: Effort, progress: Progress) -> Outcome:
        """Return the outcome of one problem."""
        settings = _settings(problem.options)
        if effort.resume is not None and problem.kind != "accuracy":
            raise UsageError("setting-value", f"--resume: {problem.kind} asks one question, and has no rows to keep", fix="leave it out")
        progress("reading", {})
        if problem.kind == "accuracy":
            return _accuracy(problem, settings, effort, progress)
        if problem.given.get("radius", 0) is None:
            return _largest_radius(problem, settings, effort, progress)
        return _one(problem, settings, effort, progress)


def _settings(options: Mapping[str, str]) -> Settings:
    numbers = {name: _count(options[name], name) for name in ("restarts", "boxes", "fraction_bits")}
    for name, known in (("method", _METHODS), ("arithmetic", _ARITHMETICS)):
        if options[name] not in known:
            raise UsageError("setting-value", f"--set {name}={options[name]}: not one of {', '.join(known)}", fix=f"give {known[0]}")
    if not 16 <= numbers["fraction_bits"] <= 4096:
        raise UsageError("setting-value", f"--set fraction_bits={numbers['fraction_bits']}: not from 16 to 4096", fix="give 128")
    return Settings(options["method"], numbers["restarts"], numbers["boxes"], options["arithmetic"], numbers["fraction_bits"])


def _count(text: str, name: str) -> int:
    if not re.fullmatch(r"[1-9][0-9]{0,7}", text):
        raise UsageError("setting-value", f"--set {name}={text}: not an integer from 1 to 99999999", fix="give a number such as 100")
    return int(text)


def _one(problem: Problem, settings: Settings, effort: Effort, progress: Progress) -> Outcome:
    """Return the outcome of `region`, or of `robust` at a fixed radius."""
    kind = region if problem.kind == "region" else robust
    unsafe = kind.problem(problem.given, problem.files, problem.limits.fresh())
    answer = decide(unsafe, settings, effort, problem.limits, progress, _start(problem, unsafe))
    if isinstance(answer, Holds):
        made = _proof(problem, unsafe, answer)
        if isinstance(made, Unknown):
            return made
        said = f"smallest margin {answer.margin:.4g}"
        if answer.leaves > len(unsafe.parts):
            said = f"{answer.leaves} leaves: pieces of the region, each bounded on its own"
        return _answer(made, problem, True, (said, *_also_float32(unsafe, made, problem)))
    if isinstance(answer, Open):
        late = "the time limit was reached; " if answer.late else ""
        said = f"the best lower bound of the margin is {answer.worst:.4g} and must be above 0" if np.isfinite(answer.worst) else "no bound was found"
        return Unknown(f"{late}{said}; no counterexample was found: {_advice(problem, settings, answer.late)}")
    if unsafe.semantics != "real":
        return Unknown(f"over the reals there is a counterexample, with outputs {_shown(answer.hit.y)}; a claim about every float32 execution "
                       "can't be refuted: ask with --set semantics=real for the counterexample")
    return _answer(_refutation(problem, unsafe, answer), problem, False, tuple(_remarks(problem, unsafe, answer)))


def _also_float32(unsafe: UnsafeSet, made: Draft, problem: Problem) -> tuple[str, ...]:
    """Return a remark where small evidence holds for every float32 execution too: the rule of the checker is asked."""
    small = unsafe.semantics == "real" and int((made.arrays["tree"] < 0).sum()) <= _SMALL
    holds = small and accepted(unsafe, made.items, dict(made.arrays), problem.limits, "exec32") is not None
    return ("it also holds for every float32 execution (--set semantics=exec32 claims that)",) if holds else ()


def _largest_radius(problem: Problem, settings: Settings, effort: Effort, progress: Progress) -> Outcome:
    """Return the certificate at the largest radius that was proved, with the counterexample at the smallest that was refuted."""
    def at(radius: Fraction) -> Problem:
        return replace(problem, given={**problem.given, "radius": radius})

    def ask(radius: Fraction, only_attack: bool) -> Answer:
        unsafe = robust.problem(at(radius).given, problem.files, problem.limits.fresh())
        quick = replace(settings, method="crown" if only_attack else settings.method, boxes=min(settings.boxes, 20000))
        return decide(unsafe, quick, effort, problem.limits, lambda stage, facts: None, _start(at(radius), unsafe))

    given = problem.given
    if problem.wanted.get("holds") is False:
        raise UsageError("setting-value", "--set holds=false: the search for the largest radius looks for a counterexample anyway",
                         fix="leave it out, or give a radius")
    clip, real = given["clip"], given["semantics"] == "real"
    width = (clip[1] - clip[0] if clip is not None and clip[1] > clip[0] else Fraction(1)) / (given["scale"] if given["radius_unit"] == "raw" else 1)
    first = on_grid(width / 16)
    unsafe = robust.problem(at(first).given, problem.files, problem.limits.fresh())
    if (hit := _at_point(at(first), unsafe)) is not None:
        if not real:
            return Unknown("the label does not win at the point itself, over the reals: no radius can be proved")
        return Refuted(_refutation(at(first), unsafe, Violated(hit)),
                       ("the label does not win at the point itself: no radius can be proved", *_remarks(at(first), unsafe, Violated(hit))))
    # A ball of any norm holds the whole clip range from this radius on.
    most = None if clip is None else width * (1 if given["norm"] == "linf" else unsafe.network.inputs)
    found = bracket(ask, first, effort, progress, most)
    beyond = None
    remarks: list[str] = []
    if found.upper is not None and not real:
        remarks = [f"over the reals a counterexample exists at radius {_decimal(found.upper[0])}; about float32 executions it says nothing"]
    if found.upper is not None and real:
        unsafe = robust.problem(at(found.upper[0]).given, problem.files, problem.limits.fresh())
        beyond = _refutation(at(found.upper[0]), unsafe, found.upper[1])
        remarks = [f"a counterexample exists at radius {_decimal(found.upper[0])}", *_remarks(at(found.upper[0]), unsafe, found.upper[1])]
    if found.lower is not None and most is not None and found.lower[0] >= most:
        remarks = ["this radius holds every input of the clip range: larger ones say no more"]
    if found.lower is None:
        if beyond is not None:
            return Refuted(beyond, ("no radius was proved", *remarks))
        return Unknown(f"no radius was proved or refuted: {_advice(problem, settings, effort.left() <= 0)}")
    unsafe = robust.problem(at(found.lower[0]).given, problem.files, problem.limits.fresh())
    made = _proof(at(found.lower[0]), unsafe, found.lower[1])
    if isinstance(made, Unknown):
        return made
    late = ("the time limit was reached before the search for the largest radius was done",) if effort.left() <= 0 else ()
    missing = ("not shown for every float32 execution (--set semantics=exec32 asks for that)",) if real else ()
    rounded = _also_float32(unsafe, made, problem) or missing
    return Proved(made, (f"the largest radius that was proved is {_decimal(found.lower[0])}", *rounded, *late, *remarks), beyond)


def _accuracy(problem: Problem, settings: Settings, effort: Effort, progress: Progress) -> Outcome:
    """Return the certificate with what was found about every row."""
    settings = replace(settings, arithmetic="f64-gamma" if settings.arithmetic == "auto" else settings.arithmetic)
    table = dataset.collect(problem, settings, effort, progress)
    made = dataset.draft(problem, table, settings)
    if not made.says["robust_at_least"] and not made.says["not_robust_at_least"]:
        if table.interrupted:
            raise KeyboardInterrupt  # nothing was found yet, so nothing is written
        return Unknown("; ".join((*table.remarks(), *_open_rows(problem, table))))
    wanted = problem.wanted
    short = [f"{name} is {made.says[name]}, wanted {wanted[name]}: leave it out to get the certificate of what was found" for name in wanted
             if (made.says[name] < wanted[name] if name != "of" else made.says[name] != wanted[name])]
    if short:
        if table.interrupted:
            raise KeyboardInterrupt
        return Unknown("; ".join((*table.remarks(), *_open_rows(problem, table), *short)))
    left = table.size - made.says["robust_at_least"] - made.says["not_robust_at_least"]
    return Proved(made, (*table.remarks(), *_open_rows(problem, table)), left=f"{left} rows are open: of them nothing is claimed" if left else "",
                  interrupted=table.interrupted, resumable=True)


def _open_rows(problem: Problem, table: dataset.Table) -> tuple[str, ...]:
    """Return why rows can be open that were not refused: they were not reached, or a claim of this semantics is never refuted."""
    missing = table.size - len(table.rows)
    said = (f"{missing} of the open rows were not reached before the interrupt",) if missing else ()
    if problem.given["semantics"] != "real" and table.count("open"):
        said += ("a claim about every float32 execution can't be refuted: rows that are wrong or not robust over the reals are open here "
                 "(--set semantics=real counts them)",)
    return said


def _advice(problem: Problem, settings: Settings, late: bool) -> str:
    """Return what could be tried where a question stayed open, the most promising first."""
    words = ["more time (--time-limit)"] if late else []
    if settings.method != "auto":
        words.append("--set method=auto")
    elif not late:
        words.append(f"more than the {settings.boxes} boxes of the search (--set boxes=...)")
    words.append("a smaller region" if problem.kind == "region" else "a smaller radius")
    words.append("more starting points of the attack (--set restarts=...)" if problem.given["semantics"] == "real" else "--set semantics=real")
    return f"try {', '.join(words[:-1])}, or {words[-1]}"


def _at_point(problem: Problem, unsafe: UnsafeSet) -> Hit | None:
    """Return the point of a `robust` claim if the label does not win there, evaluated exactly."""
    near = robust.neighbourhoods(problem.given, problem.files, problem.limits.fresh())
    x = near.network_input(near.centre(problem.given["row"]))
    y = evaluate(unsafe.network, x, problem.limits.fresh())
    if not any(violates(conjunct, x, y) for part in unsafe.parts for conjunct in part.conjuncts):
        return None
    return Hit(x, y, all(abs(v) < 2**127 and Fraction(float(np.float32(float(v)))) == v for v in x))


def _start(problem: Problem, unsafe: UnsafeSet) -> np.ndarray[Any, Any] | None:
    """Return what the network gets at the point of a `robust` claim: a wrong label shows there already."""
    if problem.kind != "robust":
        return None
    near = robust.neighbourhoods(problem.given, problem.files, problem.limits.fresh())
    return np.array([[float(v) for v in near.network_input(near.centre(problem.given["row"]))]])


def _proof(problem: Problem, unsafe: UnsafeSet, answer: Holds) -> Draft | Unknown:
    """Return the draft of a proof; unknown only where no point shows that the region has inputs."""
    items = dict(answer.items)
    if all(constrained(part) for part in unsafe.parts):
        x = next((x for x in map(find_inhabitant, unsafe.parts) if x is not None), None)
        if x is None:
            return Unknown("no unsafe point exists, but no point was found that shows that the region has inputs at all")
        items["witness"] = claim_point(unsafe, x)
    return Draft(problem.kind, 1, problem.given, {"holds": True}, tuple(sorted(unsafe.premises)), BOUNDS_TREE.kind, BOUNDS_TREE.version, items,
                 answer.arrays)


def _refutation(problem: Problem, unsafe: UnsafeSet, answer: Violated) -> Draft:
    return Draft(problem.kind, 1, problem.given, {"holds": False}, ("real-arithmetic",), WITNESS.kind, WITNESS.version,
                 {"point": claim_point(unsafe, answer.hit.x)})


def _remarks(problem: Problem, unsafe: UnsafeSet, answer: Violated) -> list[str]:
    """Return what a user wants to know of a counterexample."""
    hit, model = answer.hit, problem.files["model"]
    remarks = [f"a counterexample was found and evaluated exactly: outputs {_shown(hit.y)}"]
    if problem.kind == "robust":
        label = problem.given["label"]
        best = max(range(len(hit.y)), key=lambda k: (hit.y[k], k != label))
        near = robust.neighbourhoods(problem.given, problem.files, problem.limits.fresh())
        itself = hit.x == near.network_input(near.centre(problem.given["row"]))
        remarks.append(f"{'at the point itself' if itself else 'there'} class {best} has {float(hit.y[best]):.6g}, class {label} has "
                       f"{float(hit.y[label]):.6g}")
        own = hit if itself else _at_point(problem, unsafe)
        if own is not None and (answer_there := max(range(len(own.y)), key=lambda k: own.y[k])) != label:
            remarks.append(f"the network answers {answer_there} at row {problem.given['row']} itself; labels are numbered from 0")
    elif any(not any(row.outputs for row in conjunct) for part in unsafe.parts for conjunct in part.conjuncts):
        remarks.append("the property has a case that constrains no output: every input of that case is unsafe, whatever the network does")
    if not hit.float32:
        remarks.append("no float32 number of the region was a counterexample: the point is rational")
    return [*remarks, float32.remark(unsafe, model if isinstance(model, bytes) else b"", hit.x)]


def _decimal(value: Fraction) -> str:
    return f"{float(value):.4g}"


def _shown(values: tuple[Fraction, ...], most: int = 10) -> str:
    texts = [f"{float(v):.4g}" for v in values[:most]]
    return f"[{', '.join(texts)}{', ...' if len(values) > most else ''}]"


def _answer(draft: Draft, problem: Problem, holds: bool, remarks: tuple[str, ...]) -> Outcome:
    return Proved(draft, remarks) if holds == problem.wanted.get("holds", True) else Refuted(draft, remarks)
