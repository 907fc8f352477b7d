# SPDX-License-Identifier: Apache-2.0
"""What is easily overlooked in a question about points, told beside its answer: a certificate can be right and answer another question."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from certify.certificate import Files
from certify.limits import Limits
from certify.readers.arrays import read_npy
from certify.readers.onnx_ops import read_network


def notes(given: Mapping[str, Any], roles: Mapping[str, Any], files: Files) -> list[str]:
    """Return a line for a small radius in raw units before a scale, and for images whose axes are in another order than the network's input."""
    model, points = files.get("model"), files.get("points")
    if not isinstance(model, bytes) or not isinstance(points, bytes):
        return []
    said = []
    radius, scale = given["radius"], given["scale"]
    if radius is not None and given["radius_unit"] == "raw" and radius < 1 and scale < 1:
        said.append(f"note: the radius {radius} is in the units of the points file: after `scale` it is {float(radius * scale):.3g} "
                    f"(--set radius_unit=scaled makes it {radius} there)")
    row = [size for size in read_npy(points).shape[1:] if size > 1] if points.startswith(b"\x93NUMPY") else []
    if len(row) > 1:
        shape = [size for size in read_network(model, Limits()).input_shape if size > 1]
        if len(shape) > 1 and shape != row:
            said.append(f"note: a row of {roles['points']} has shape {row}, the network's input {shape}: the values are taken in the order of "
                        "the file, so axes may be mixed up")
    return said
