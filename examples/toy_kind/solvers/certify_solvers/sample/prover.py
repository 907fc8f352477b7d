# SPDX-License-Identifier: Apache-2.0
"""The sample prover: `reaches`, by the best of some random points."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from certify.certificate import Files
from certify.claims import reaches
from certify.limits import Limits
from certify.rules.evaluation import evaluate
from certify.rules.unsafe_set import WITNESS
from certify_solvers.common.prover import Draft, Effort, Outcome, Problem, Progress, Proved, Unknown

_POINTS = 200


class Sample:
    """Proves by a point; it can't refute, because that would need a bound on all inputs."""

    name = "sample"
    emits = ("reaches",)
    summary = "the best of some random points, evaluated exactly"

    def defaults(self, kind: str) -> Mapping[str, str]:
        """Return the text of every `given` field that has a default."""
        return {}

    def options(self, kind: str) -> Mapping[str, str]:
        """Return the prover options with their defaults."""
        return {}

    def help(self, kind: str) -> Mapping[str, str]:
        """Return one line of meaning for every setting."""
        return {"output": "which output, from 0", "at_least": "the threshold that it must reach; without one, the best that is found"}

    def searched(self, kind: str) -> Mapping[str, str]:
        """Return the fields of `given` that the prover can search for."""
        return {}

    def complete(self, kind: str, given: Mapping[str, Any], files: Files, limits: Limits) -> Mapping[str, Any]:
        """Return `given` with its `auto` fields filled in."""
        return given

    def prove(self, problem: Problem, effort: Effort, progress: Progress) -> Outcome:
        """Return the outcome of one problem."""
        network, output = reaches.problem(problem.given, problem.files, problem.limits.fresh()), problem.given["output"]
        rng = np.random.default_rng(effort.seed)
        best, point = None, None
        for number in range(_POINTS):
            progress("searching", {"done": number, "of": _POINTS})
            x = tuple(Fraction(int(v), 4) for v in rng.integers(-16, 17, network.inputs))
            value = evaluate(network, x, problem.limits.fresh())[output]
            if best is None or value > best:
                best, point = value, x
            if effort.left() <= 0:
                break
        if best is None or best < problem.wanted.get("at_least", best):
            return Unknown(f"the best value of {_POINTS} points is {_shown(best)}: a larger value may exist")
        wanted = problem.wanted.get("at_least", best)
        return Proved(Draft("reaches", 1, problem.given, {"at_least": wanted}, ("real-arithmetic",), WITNESS.kind, WITNESS.version, {"point": point}),
                      (f"the value at the point is {_shown(best)}",))


def _shown(value: Fraction | None) -> str:
    return "unknown" if value is None else f"{float(value):.6g}"
