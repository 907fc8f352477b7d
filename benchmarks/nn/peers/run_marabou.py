# SPDX-License-Identifier: Apache-2.0
"""Marabou through `maraboupy`: its own readers of ONNX and VNN-LIB, default options, one worker."""

from __future__ import annotations

import warnings
from typing import Any

from protocol import Answer, Job, serve


def load() -> Any:
    """Return the module; a warning about an absent TensorFlow reader is of no interest."""
    warnings.simplefilter("ignore")
    from maraboupy import Marabou  # type: ignore[import-not-found]

    return Marabou


def run(tool: Any, job: Job) -> Answer:
    """Return what Marabou says of one instance."""
    network = tool.read_onnx(job.model)
    options = tool.createOptions(timeoutInSeconds=max(1, int(job.seconds)), verbosity=0)
    verdict, values, _ = network.solve(verbose=False, options=options, propertyFilename=job.property)
    return Answer(verdict, [values[variable] for variable in network.inputVars[0].flatten()] if verdict == "sat" else None)


if __name__ == "__main__":
    serve("maraboupy", load, run)
