# SPDX-License-Identifier: Apache-2.0
"""Our CROWN passes, in this project's environment: the prover's kernel, the checker's rigorous relaxation, and that with a BLAS.

`run_certify_bounds.py kernel|checker|blas ANSWER MODEL PROPERTY MODEL PROPERTY ...`: the same answer as that of the `bounds` mode of
auto_LiRPA. What is made once a network (as its BoundedModule is) is not timed.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

import certify
from certify.claims import region
from certify.limits import Limits
from certify.readers.formula import Part
from certify.readers.network import Network
from certify.rules.relaxation import Relaxation
from certify_solvers.crown import kernel

Pass = Callable[[], Any]


def kernel_pass(network: Network, part: Part, relaxation: Relaxation) -> Pass:
    """Return one pass of the prover: all intermediate bounds, then the rows."""
    listed = [row for conjunct in part.conjuncts for row in conjunct]
    rows = np.array([[float(row.outputs.get(k, 0)) for k in range(network.outputs)] for row in listed])
    constant, owner = np.array([float(row.constant) for row in listed]), np.zeros(len(listed), np.int64)
    box = [end[None] for end in relaxation.start(part)]

    def bound() -> Any:
        return kernel.backward(network, len(network.layers), rows, constant, owner, kernel.propagate(network, *box), *box)[0]

    return bound


def checker_pass(network: Network, part: Part, relaxation: Relaxation) -> Pass:
    """Return one pass of the checker: the same with outward rounding."""
    specified = [relaxation.specify(((row, Fraction(1)),)) for conjunct in part.conjuncts for row in conjunct]
    owner = np.zeros(len(specified), np.int64)
    box = [end[None] for end in relaxation.start(part)]

    def bound() -> Any:
        return relaxation.bound(specified, owner, relaxation.propagate(*box, None), *box)

    return bound


def main() -> None:
    """Bound the rows of the first part of each instance."""
    which, target, *files = sys.argv[1:]
    found = []
    for model, text in zip(files[::2], files[1::2], strict=True):
        unsafe = region.problem({"semantics": "real", "format": "vnnlib-1"},
                                {"model": Path(model).read_bytes(), "property": Path(text).read_bytes()}, Limits())
        relaxation = Relaxation(unsafe.network, Limits(blas=which == "blas"))
        one = (kernel_pass if which == "kernel" else checker_pass)(unsafe.network, unsafe.parts[0], relaxation)
        seconds = []
        for _ in range(4):
            started = time.process_time()
            lower = one()
            seconds.append(time.process_time() - started)
        found.append({"lower": lower.tolist(), "seconds": min(seconds[1:])})
    Path(target).write_text(json.dumps({"version": certify.__version__, "problems": found}))


if __name__ == "__main__":
    main()
