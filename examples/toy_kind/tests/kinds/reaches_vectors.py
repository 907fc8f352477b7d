# SPDX-License-Identifier: Apache-2.0
"""Test vectors of `reaches`: a ramp that reaches 3/8 at a point, and the attacks on it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from kinds.attacks import Vector, ask, put, say, vector
from kinds.region_vectors import RAMP
from toolkit import Specimen, model

_HAIR = "3" + "0" * 29 + "1/8" + "0" * 30  # 3/8 and a little


def specimen() -> Specimen:
    """Return a specimen of the ramp: min(x_0+, 1/4) + x_1+/8 is 3/8 at (1/2, 1)."""
    return Specimen("reaches", {"model": ("ramp.onnx", model(RAMP))}, {"output": 0}, {"at_least": "3/8"}, "witness", {"point": ["1/2", "1"]})


def vectors() -> Iterator[Vector]:
    """Yield all vectors of `reaches`."""
    made = specimen()
    name, data = made.files["model"]
    flipped = data[:-3] + bytes([data[-3] ^ 1]) + data[-2:]

    def at(*point: str) -> Callable[[Specimen], None]:
        return say(items={"point": list(point)})

    yield vector("tight", "verified", "", made, "none: the value itself is a threshold that is reached")
    yield vector("less", "verified", "", made, "none: a lower threshold", say(says={"at_least": "-7/3"}))
    yield vector("renamed-file", "verified", "", made, "none: subjects are matched by digest", files=[("", "other.onnx", data)])
    yield vector("allowed-by-name", "verified", "", made, "none", allow=("real-arithmetic",))
    yield vector("more-by-a-hair", "rejected", "witness-fails", made, "a tolerance on the output", say(says={"at_least": _HAIR}))
    yield vector("point-moved", "rejected", "witness-fails", made, "the point is not evaluated", at("0", "0"))
    yield vector("output-beyond", "rejected", "claim-mismatch", made, "outputs wrap around", ask(output=1))
    yield vector("output-negative", "rejected", "malformed", made, "negative indices count from the end", ask(output=-1))
    yield vector("point-short", "rejected", "outside-domain", made, "missing coordinates are zero", at("1/2"))
    yield vector("point-long", "rejected", "outside-domain", made, "further coordinates are ignored", at("1/2", "1", "0"))
    yield vector("point-empty", "rejected", "malformed", made, "an empty point is evaluated somewhere", at())
    yield vector("point-with-float", "rejected", "malformed", made, "decimals in place of rationals", at("0.5", "1"))
    yield vector("threshold-not-in-lowest-terms", "rejected", "malformed", made, "a second form of a number", say(says={"at_least": "6/16"}))
    yield vector("threshold-missing", "rejected", "malformed", made, "an empty answer", say(says={}))
    yield vector("unknown-item", "rejected", "malformed", made, "unknown items are ignored", say(items={"point": ["1/2", "1"], "trust": True}))
    yield vector("unknown-array", "rejected", "unused-evidence", made, "unknown arrays are ignored", put(extra=np.array([1.0])))
    yield vector("evidence-of-region", "rejected", "evidence-kind", made, "evidence of another kind", say(evidence="bounds-tree"))
    yield vector("assumption-dropped", "rejected", "assumption-missing", made, "the list is the author's", say(assumptions=[]))
    yield vector("assumption-not-allowed", "declined", "assumption-not-allowed", made, "the auditor's list is not read", allow=())
    yield vector("claim-version-two", "declined", "version-unknown", made, "the version of the claim is not read", say(version=2))
    yield vector("model-bit-flipped", "rejected", "subject-mismatch", made, "digests are not compared", files=[("", name, flipped)])
    yield vector("model-missing", "declined", "subject-missing", made, "a missing subject is skipped", files=[])
    yield vector("work-above-the-budget", "declined", "limit-reached", made, "work is not charged before it is done", limits={"work": 50})
