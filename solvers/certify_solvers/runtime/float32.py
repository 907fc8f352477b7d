# SPDX-License-Identifier: Apache-2.0
"""What a float32 run of the network does at a counterexample: information for the user, never part of a verdict."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from certify.errors import CertifyError
from certify.readers.network import Dense, Network, Scale
from certify.rules.counterexample import violates
from certify.rules.unsafe_set import UnsafeSet


def remark(unsafe: UnsafeSet, model: bytes, x: tuple[Fraction, ...]) -> str:
    """Return one line: whether a float32 run at x, rounded to float32, lands in the unsafe set too."""
    point = np.array([float(v) for v in x], np.float32)
    name, outputs = _run(model, unsafe.network, point)
    if outputs is None:
        return f"{name} could not run the network at the counterexample"
    y = tuple(Fraction(float(v)) for v in outputs) if np.isfinite(outputs).all() else ()
    shown = bool(y) and any(violates(conjunct, x, y) for part in unsafe.parts if part.holds_input(x) for conjunct in part.conjuncts)
    return f"a float32 run ({name}) {'shows it too' if shown else 'does not show it: the violation is real, rounding hides it'}"


def _run(model: bytes, network: Network, point: np.ndarray) -> tuple[str, np.ndarray | None]:  # type: ignore[type-arg]
    try:
        import onnxruntime
    except ImportError:
        return "numpy", _numpy(network, point)
    name = f"onnxruntime {onnxruntime.__version__}"
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    try:
        session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        found = session.run(None, {session.get_inputs()[0].name: point.reshape(network.input_shape)})[0]
    except CertifyError:
        raise
    except Exception:  # whatever a runtime raises only costs us a remark
        return "numpy", _numpy(network, point)
    return name, np.asarray(found, np.float32).reshape(-1)


def _numpy(network: Network, point: np.ndarray) -> np.ndarray:  # type: ignore[type-arg]
    with np.errstate(all="ignore"):
        for layer in network.layers:
            if isinstance(layer, Dense):
                point = layer.weight.astype(np.float32) @ point + layer.bias.astype(np.float32)
            elif isinstance(layer, Scale):
                point = np.float32(layer.sign) * point + layer.bias.astype(np.float32)
            else:
                point = np.maximum(point, np.float32(0))
    return point
