# SPDX-License-Identifier: Apache-2.0
"""What a prover needs of claims through a convolution: the weights with which they count the entries of its kernel or biases.

Guarantee: the weights are those of `convolution`, in the cube of what is stored, 0 in its padding.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from certify_zk.convolution import meetings
from certify_zk.field import Element
from certify_zk.form_prover import Table
from certify_zk.kernels.sums import equality
from certify_zk.kernels.vectors import Words, multiply, scale, total
from certify_zk.layout import Place
from certify_zk.policy import Conv
from certify_zk.relations import power_of_two
from certify_zk.sumcheck_prover import element


def weights(layer: Conv, points: Sequence[Sequence[Element]], degree: int) -> Words:
    """Return the weights [rows, columns, degree] of a kernel, or [rows, degree] of biases, for a claim at a point for each axis of the image."""
    rows, columns = layer.places
    outputs = equality(list(points[0]), degree)[: layer.outputs].reshape(layer.channels_out, rows * columns, degree)
    if len(points) == 1:
        found = np.zeros((power_of_two(layer.channels_out), degree), np.uint64)
        found[: layer.channels_out] = total(outputs)
        return found
    inputs = equality(list(points[1]), degree)[: layer.inputs].reshape(layer.channels_in, layer.height * layer.width, degree)
    found = np.zeros((*map(power_of_two, layer.stored), degree), np.uint64)
    for tap, (some, met) in enumerate(meetings(layer)):
        here = np.ascontiguousarray(inputs[:, met])
        for channel in range(layer.channels_out):
            found[channel, tap : layer.stored[1] : layer.taps] = total(multiply(outputs[channel, some], here))
    return found


def value(layer: Conv, points: Sequence[Sequence[Element]], stored: Table, degree: int) -> Element:
    """Return the value of a claim at a point for each axis of the image, from what is stored."""
    counted = scale(weights(layer, points, degree), stored.astype(np.uint64)[..., None])
    return element(total(counted.reshape(-1, degree)))


def placed(layer: Conv, points: Sequence[Sequence[Element]], place: Place, degree: int) -> Words:
    """Return the weights by major and minor index of a place, [major, minor, degree]."""
    found = weights(layer, points, degree)
    return found[:, None] if found.ndim == 2 else np.ascontiguousarray(found.swapaxes(0, place.axis))
