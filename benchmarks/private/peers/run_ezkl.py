# SPDX-License-Identifier: Apache-2.0
"""One step of EZKL in the current directory, run in its own environment: `run_ezkl.py STEP` with compile, srs, setup, witness, prove or verify.

Weights are visible to nobody and bound by a polynomial commitment (`polycommit`): with `private` a proof would speak of any weights. Inputs and
outputs are public. Scales are those that EZKL's calibration chooses for few rows (`resources`).
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import ezkl


def compile_model() -> None:
    """Choose scales and write the circuit."""
    arguments = ezkl.PyRunArgs()
    arguments.param_visibility, arguments.input_visibility, arguments.output_visibility = "polycommit", "public", "public"
    ezkl.gen_settings("model.onnx", "settings.json", py_run_args=arguments)
    ezkl.calibrate_settings("ezkl-input.json", "model.onnx", "settings.json", "resources")
    ezkl.compile_circuit("model.onnx", "circuit.ezkl", "settings.json")


def rows() -> int:
    """Return the logarithm of the number of rows of the circuit."""
    return int(json.loads(Path("settings.json").read_text())["run_args"]["logrows"])


STEPS = {
    "compile": compile_model,
    "srs": lambda: ezkl.gen_srs("kzg.srs", rows()),
    "setup": lambda: ezkl.setup("circuit.ezkl", "verifying.key", "proving.key", "kzg.srs"),
    "witness": lambda: ezkl.gen_witness("ezkl-input.json", "circuit.ezkl", "witness.json", "verifying.key", "kzg.srs"),
    "prove": lambda: ezkl.prove("witness.json", "circuit.ezkl", "proving.key", "proof.json", "kzg.srs"),
    "verify": lambda: ezkl.verify("proof.json", "settings.json", "verifying.key", "kzg.srs"),
}

if __name__ == "__main__":
    if STEPS[sys.argv[1]]() is False:
        sys.exit("EZKL said no")
