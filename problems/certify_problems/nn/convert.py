# SPDX-License-Identifier: Apache-2.0
"""ONNX clean-up: a model with its weights in another file (what torch writes by default) to one file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from certify.errors import CertifyError, Declined, UsageError
from certify.limits import Limits
from certify.readers.onnx_ops import read_network
from certify.readers.onnx_wire import decode_model


def onnx(inputs: Sequence[Path]) -> tuple[bytes, list[str]]:
    """Return the bytes of a single-file model and what was changed; raises UsageError, or Declined `backend-missing` without onnx."""
    if len(inputs) != 1:
        raise UsageError("role-extra", f"{len(inputs)} models", fix="convert one model at a time")
    try:
        import onnx as package
    except ImportError:
        raise Declined("backend-missing", "reading external weights needs the package onnx", fix="pip install 'certify-engine[nn]'") from None
    try:
        model = package.load(str(inputs[0]), load_external_data=False)
        external = [tensor for tensor in model.graph.initializer if tensor.data_location == package.TensorProto.EXTERNAL]
        package.external_data_helper.load_external_data_for_model(model, str(inputs[0].resolve().parent))
        data = model.SerializeToString(deterministic=True)
    except Exception as trouble:  # the package raises many kinds of exceptions on a bad file
        raise UsageError("file-unreadable", f"can't read {inputs[0]}: {type(trouble).__name__}: {trouble}",
                         fix="check the model and the data file beside it") from None
    said = [f"{len(external)} tensors were taken in from other files"]
    try:
        read_network(data, Limits())
        said.append("certify can read it")
    except CertifyError as trouble:
        said.append(f"certify can't read it yet: {trouble}")
    return data, said


def is_model(data: bytes) -> bool:
    """Return whether bytes are an ONNX model."""
    try:
        return "graph" in decode_model(data)
    except CertifyError:
        return False
