# SPDX-License-Identifier: Apache-2.0
"""Our two CROWN passes in this project's environment: the prover's kernel and the checker's rigorous relaxation.

`run_certify_bounds.py kernel|checker ANSWER MODEL PROPERTY MODEL PROPERTY ...`: the same answer as that of the `bounds` mode of auto_LiRPA.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import certify
from certify.claims import region
from certify.limits import Limits
from certify.rules.balls import above, below
from certify.rules.relaxation import Relaxation, Rows
from certify.rules.unsafe_set import UnsafeSet
from certify_solvers.crown import kernel

Pass = Callable[[], Any]


def kernel_pass(unsafe: UnsafeSet, rows: Any, constant: Any, box: Any) -> Pass:
    """Return one pass of the prover: all intermediate bounds, then the rows."""
    owner = np.zeros(len(rows), np.int64)

    def bound() -> Any:
        found = kernel.propagate(unsafe.network, *box)
        return kernel.backward(unsafe.network, len(unsafe.network.layers), rows, constant, owner, found, *box)[0]

    return bound


def checker_pass(unsafe: UnsafeSet, rows: Any, constant: Any, box: Any) -> Pass:
    """Return one pass of the checker: the same with outward rounding, without BLAS."""
    owner = np.zeros(len(rows), np.int64)

    def bound() -> Any:
        relaxation = Relaxation(unsafe.network, Limits())
        found = relaxation.propagate(*box, None)
        return relaxation.lower_bounds(Rows(rows, constant, owner), len(unsafe.network.layers), found, *box)

    return bound


def main() -> None:
    """Bound the rows of the first part of each instance."""
    which, target, *files = sys.argv[1:]
    found = []
    for model, text in zip(files[::2], files[1::2], strict=True):
        unsafe = region.problem({"semantics": "real", "format": "vnnlib-1"},
                                {"model": Path(model).read_bytes(), "property": Path(text).read_bytes()}, Limits())
        part = unsafe.parts[0]
        listed = [row for conjunct in part.conjuncts for row in conjunct]
        rows = np.array([[float(row.outputs.get(k, 0)) for k in range(unsafe.network.outputs)] for row in listed])
        box = np.array([[below(value) for value in part.lower]]), np.array([[above(value) for value in part.upper]])
        one = (kernel_pass if which == "kernel" else checker_pass)(unsafe, rows, np.array([float(row.constant) for row in listed]), box)
        seconds = []
        for _ in range(4):
            started = time.process_time()
            lower = one()
            seconds.append(time.process_time() - started)
        found.append({"lower": lower.tolist(), "seconds": min(seconds[1:])})
    Path(target).write_text(json.dumps({"version": certify.__version__, "problems": found}))


if __name__ == "__main__":
    main()
