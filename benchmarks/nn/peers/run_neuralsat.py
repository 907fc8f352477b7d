# SPDX-License-Identifier: Apache-2.0
"""NeuralSAT through its command line (the package installs as `src`), default settings, on the CPU, in this process.

It imports torchvision for an operator that none of our networks has; an empty module stands in for that large package.
"""

from __future__ import annotations

import re
import runpy
import sys
import tempfile
import types
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from protocol import Answer, Job, serve


def load() -> Any:
    """Return the path of its `main.py`, with the verifier imported."""
    sys.modules["torchvision"] = types.ModuleType("torchvision")
    found = find_spec("src")
    if found is None or found.submodule_search_locations is None:
        raise ImportError("the package src of NeuralSAT is not installed")
    folder = found.submodule_search_locations[0]
    sys.path.insert(0, folder)
    import_module("helper.network.read_onnx")
    import_module("verifier.verifier")
    return str(Path(folder) / "main.py")


def run(tool: Any, job: Job) -> Answer:
    """Return what NeuralSAT writes to its result file for one instance."""
    with tempfile.TemporaryDirectory() as scratch:
        result = Path(scratch) / "result"
        sys.argv = [tool, "--net", job.model, "--spec", job.property, "--device", "cpu", "--timeout", str(job.seconds), "--verbosity", "0",
                    "--export_cex", "--result_file", str(result)]
        runpy.run_path(tool, run_name="__main__")
        verdict, *lines = result.read_text().splitlines()
    point = [float(value) for value in re.findall(r"\(X_\d+ ([^)\s]+)\)", "\n".join(lines))]
    return Answer(verdict, point or None)


if __name__ == "__main__":
    serve("neuralsat", load, run)
