# SPDX-License-Identifier: Apache-2.0
"""Certified accuracy of a published digits network: plain CROWN gives the numbers that are known, the full search only moves what was open.

The data are not part of the repository: the tests are skipped, visibly, where the folder is missing.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pytest

from certify.certificate import Subject
from certify.claims.accuracy import KIND
from certify.limits import Limits
from certify_solvers.common.emit import certificate, checked
from certify_solvers.common.prover import Effort, Problem, Proved
from certify_solvers.crown.prover import Crown
from toolkit import npy

DATA = Path(__file__).resolve().parents[3] / "shared/data/nn/digits"
pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason="the folder ../shared/data/nn/digits with a published network is missing")
# Of all 200 rows: robust by plain CROWN, refuted by attack, open; 14 are wrong at their own points. Then: open rows that a full search may leave.
KNOWN = {"1/32": (158, 27, 1, 0), "1/16": (114, 55, 17, 2), "3/32": (35, 91, 60, 15)}
WRONG = 14


def _lists(radius: str, rows: int, method: str, seconds: float | None) -> dict[str, set[int]]:
    """Return the rows by what the checked certificate says of them."""
    files = {"model": (DATA / "digits_48x32.onnx").read_bytes(), "points": npy(np.load(DATA / "images.npy")[:rows]),
             "labels": npy(np.load(DATA / "labels.npy")[:rows])}
    given = KIND.given.decode({"norm": "linf", "radius": radius, "radius_unit": "scaled", "clip": ["0", "1"], "scale": "1/16", "subtract": "0",
                               "divide": "1", "semantics": "real"}, "given")
    subjects = tuple(Subject(role, hashlib.sha256(data).hexdigest()) for role, data in files.items())
    problem = Problem("accuracy", {role: role for role in files}, subjects, files, given, {}, {**Crown().options("accuracy"), "method": method},
                      Limits())
    found = Crown().prove(problem, Effort(seconds=seconds), lambda stage, facts: None)
    assert isinstance(found, Proved)
    result = checked(certificate(found.draft, problem, "crown", 0), problem)
    lists = {name: set(found.draft.arrays.get(f"{name}_row", np.zeros(0)).tolist()) for name in ("robust", "wrong", "witness")}
    says = result.claim.says
    assert says["robust_at_least"] == len(lists["robust"]) and says["not_robust_at_least"] == len(lists["wrong"]) + len(lists["witness"])
    assert says["robust_at_least"] + says["not_robust_at_least"] + result.figures["open"] == says["of"] == rows
    return lists


@pytest.mark.parametrize("radius", sorted(KNOWN))
def test_the_first_rows(radius: str) -> None:
    plain, full = _lists(radius, 60, "crown", None), _lists(radius, 60, "auto", 1.0)
    assert plain["robust"] <= full["robust"] and plain["wrong"] == full["wrong"]
    assert not plain["robust"] & full["witness"] and not full["robust"] & plain["witness"]  # what one proves, no attack of the other refutes


@pytest.mark.slow
@pytest.mark.parametrize("radius", sorted(KNOWN))
def test_all_rows(radius: str) -> None:
    robust, attacked, still, most = KNOWN[radius]
    plain, full = _lists(radius, 200, "crown", None), _lists(radius, 200, "auto", 10.0)
    assert (len(plain["robust"]), len(plain["wrong"])) == (robust, WRONG)
    assert len(plain["witness"]) >= attacked and 200 - robust - WRONG - len(plain["witness"]) <= still
    assert plain["robust"] <= full["robust"] and plain["witness"] <= full["witness"] and plain["wrong"] == full["wrong"]
    assert 200 - len(full["robust"]) - len(full["witness"]) - WRONG <= most
