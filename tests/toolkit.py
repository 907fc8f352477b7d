# SPDX-License-Identifier: Apache-2.0
"""Specimens: certificates as editable parts, resealed so that every digest and checksum is right; and small models and properties."""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from certify import archive, container
from certify.certificate import PREDICATE_TYPE, TYPE
from certify.errors import CertifyError
from certify.limits import Limits
from certify.verification import Verification, check
from certify_solvers.common.emit import array_entry

Layers = Sequence[tuple[Sequence[Sequence[float]], Sequence[float]]]


def model(layers: Layers, name: str = "net", shape: Sequence[int] | None = None) -> bytes:
    """Return the ONNX bytes of dense layers (weight rows, biases) with Relu between them."""
    nodes, tensors, value = [], [], "x"
    for k, (weight, bias) in enumerate(layers):
        tensors += [numpy_helper.from_array(np.array(weight, np.float32), f"w{k}"), numpy_helper.from_array(np.array(bias, np.float32), f"b{k}")]
        last = k == len(layers) - 1
        nodes.append(helper.make_node("Gemm", [value, f"w{k}", f"b{k}"], ["y" if last else f"z{k}"], transB=1))
        if not last:
            nodes.append(helper.make_node("Relu", [f"z{k}"], [f"h{k}"]))
            value = f"h{k}"
    inputs, outputs = len(layers[0][0][0]), len(layers[-1][1])
    graph = helper.make_graph(nodes, name, [helper.make_tensor_value_info("x", TensorProto.FLOAT, list(shape or (1, inputs)))],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, outputs])], tensors)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8, producer_name="")
    return bytes(made.SerializeToString(deterministic=True))


def npy(array: np.ndarray[Any, Any]) -> bytes:
    """Return the bytes that numpy.save writes."""
    from io import BytesIO
    stream = BytesIO()
    np.save(stream, array)
    return stream.getvalue()


@dataclass
class Specimen:
    """One certificate in parts: `claim` and `evidence` as JSON, arrays, and the subject files by role (name, bytes)."""

    kind: str
    files: dict[str, tuple[str, bytes]]
    given: dict[str, Any]
    says: dict[str, Any]
    evidence: str
    items: dict[str, Any] = field(default_factory=dict)
    arrays: dict[str, np.ndarray[Any, Any]] = field(default_factory=dict)
    assumptions: list[str] = field(default_factory=lambda: ["real-arithmetic"])
    version: int = 1
    evidence_version: int = 1
    inputs: dict[str, bytes] = field(default_factory=dict)
    box: tuple[list[Any], list[Any]] | None = None  # the region in the claim's coordinates, for builders of vectors
    network_box: tuple[list[Any], list[Any]] | None = None  # the same at the network's input

    def copy(self) -> Specimen:
        """Return an independent copy."""
        return copy.deepcopy(self)

    def content(self) -> dict[str, Any]:
        """Return the statement as JSON, with right digests."""
        names = {name: hashlib.sha256(data).hexdigest() for name, data in self.files.values()}
        return {
            "_type": TYPE, "predicateType": PREDICATE_TYPE,
            "subject": [{"name": name, "digest": {"sha256": names[name]}} for name in sorted(names)],
            "predicate": {
                "claim": {"kind": self.kind, "version": self.version, "roles": {role: name for role, (name, _) in self.files.items()},
                          "given": self.given, "says": self.says},
                "assumptions": sorted(self.assumptions),
                "evidence": {"kind": self.evidence, "version": self.evidence_version, "items": self.items,
                             "arrays": {key: array_entry(key, array) for key, array in self.arrays.items()}},
                "producer": {"name": "tests", "version": "1", "prover": "by hand", "solver": "", "seed": 0},
            },
        }

    def seal(self) -> bytes:
        """Return the bytes of the certificate file."""
        return pack(self.content(), self.arrays, self.inputs)

    def verify(self, limits: Limits | None = None) -> Verification:
        """Verify the sealed certificate against its own files."""
        return check(self.seal(), "specimen", {role: [pair] for role, pair in self.files.items()}, None, (limits or Limits()).fresh())


def pack(content: Mapping[str, Any], arrays: Mapping[str, np.ndarray[Any, Any]], inputs: Mapping[str, bytes] | None = None) -> bytes:
    """Return the bytes of a certificate with exactly this statement, canonical where the statement allows it."""
    return b"".join(bytes(piece) for piece in archive.pieces(container.members(content, arrays, inputs or {})))


def refused(code: str, action: Callable[..., object], *arguments: object) -> None:
    """Require that an action raises our error with exactly this code."""
    try:
        action(*arguments)
    except CertifyError as error:
        assert error.code == code, (error.code, code)
        return
    raise AssertionError("accepted")


def zipped(members: Sequence[tuple[str, bytes]]) -> bytes:
    """Return an archive of the strict profile with any members."""
    return b"".join(bytes(piece) for piece in archive.pieces(members))


def canonical(value: Any) -> bytes:
    """Return JSON in canonical layout, for values that the restricted JSON does not allow too."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode()
