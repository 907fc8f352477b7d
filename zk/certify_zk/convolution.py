# SPDX-License-Identifier: Apache-2.0
"""Convolutions as dense layers: the matrix that a kernel makes, and what a claim about that matrix says of the kernel.

*Matrix.* Let i = (c, y, x) be an output and j = (c', u, v) an input of a layer, both numbered in C order. W(i, j) = K[c, c', dy, dx] with
dy = u - stride y + padding and dx = v - stride x + padding where both are sides of the kernel, 0 else, and b(i) = b[c]. Then z = W y + b for all y:
taps beside the image meet no j, as if they met a 0. (i, j) determines (c, c', dy, dx), so each entry is one weight or 0: ranges of weights are ranges
of W, and sums over k have as many terms as for a dense layer.

*Padding.* Images are not padded side by side: outputs have the numbers below channels x rows x columns, and the cube of a layer has its padding
behind them, as a dense layer's has. There W and b are 0 by definition, whatever is committed. So a neuron of the padding has z = 0, y = 0 and, by the
same definition for the next layer or by `relation-padding`, no outgoing weight: it is dead. As all relations hold on the whole cube, they speak of
the padded dense network with the matrix W, which is the committed one with dead neurons. Kernel cells outside their dimensions occur in no W; they
must be 0 all the same (`relation-padding`), so that a root is that of one network.

*Claims.* The multilinear extension of W at points (p, q) is the sum over kernel entries of K[c, c', dy, dx] w(c, c', dy, dx), where
w = sum over y, x of eq(p, (c, y, x)) eq(q, (c', stride y + dy - padding, stride x + dx - padding)): a claim about the kernel's cells with public
weights, of degree 1 in each coordinate of p and q as that of any block. The batch ends with the extension of w at coordinates (s, t) of a cell,
sum over c, c', dy, dx of eq(s, c) eq(t, (c', dy, dx)) w(c, c', dy, dx); with A(y, x) = sum over c of eq(s, c) eq(p, (c, y, x)) taken first, it
costs channels_in x height x width x taps products, in one product of matrices. Of biases, w(c) = sum over y, x of eq(p, (c, y, x)).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from certify_zk.field import Element, Field
from certify_zk.policy import Conv

Entries = np.ndarray[Any, Any]
Places = np.ndarray[Any, np.dtype[np.int64]]


def meetings(layer: Conv) -> list[tuple[Places, Places]]:
    """Return for each tap (dy, dx) the numbers of places of outputs within a channel, and those of the inputs that they meet there."""
    rows, columns = layer.places
    y, x = (axis.ravel() for axis in np.indices((rows, columns)))
    found = []
    for dy in range(layer.kernel):
        for dx in range(layer.kernel):
            u, v = layer.stride * y + dy - layer.padding, layer.stride * x + dx - layer.padding
            inside = (u >= 0) & (u < layer.height) & (v >= 0) & (v < layer.width)
            found.append((np.flatnonzero(inside), (u * layer.width + v)[inside]))
    return found


def image(layer: Conv, stored: Entries, shape: tuple[int, ...]) -> Entries:
    """Return the matrix W of a kernel, or the vector of b(i) for biases, in a cube of this shape; `stored` may have padding, which does not count."""
    found = np.zeros(shape, stored.dtype)
    rows, columns = layer.places
    if len(shape) == 1:
        found[: layer.outputs] = np.repeat(stored[: layer.channels_out], rows * columns)
        return found
    kernel = stored[: layer.channels_out, : layer.stored[1]].reshape(layer.channels_out, layer.channels_in, layer.taps)
    inner = np.zeros((layer.channels_out, rows * columns, layer.channels_in, layer.height * layer.width), stored.dtype)
    for tap, (outputs, inputs) in enumerate(meetings(layer)):
        inner[:, outputs, :, inputs] = kernel[:, :, tap]
    found[: layer.outputs, : layer.inputs] = inner.reshape(layer.outputs, layer.inputs)
    return found


def weight(field: Field, layer: Conv, points: Sequence[Sequence[Element]], cell: Sequence[Sequence[Element]]) -> Element:
    """Return the multilinear extension of w, of a claim at a point for each axis of the image, at coordinates for each axis of what is stored."""
    rows, columns = layer.places
    count = rows * columns
    outputs = field.equality(points[0])
    by_place = [outputs[c * count : (c + 1) * count] for c in range(layer.channels_out)]
    (mixed,) = field.matrices([field.equality(cell[0])[: layer.channels_out]], by_place)
    total = field.zero
    if len(points) == 1:
        for entry in mixed:
            total = field.add(total, entry)
        return total
    size = layer.height * layer.width
    inputs = field.equality(points[1])
    met = [[field.zero] * layer.taps for _ in range(size)]
    for tap, places in enumerate(meetings(layer)):
        for output, place in zip(*(numbers.tolist() for numbers in places), strict=True):
            met[place][tap] = mixed[output]
    sums = field.matrices([inputs[c * size : (c + 1) * size] for c in range(layer.channels_in)], met)
    for entry, other in zip((entry for row in sums for entry in row), field.equality(cell[1]), strict=False):
        total = field.add(total, field.multiply(entry, other))
    return total


def entries(layer: Conv, axes: int) -> int:
    """Return how many elements `weight` writes down, of a matrix or a vector, where 32 products in bulk count as one."""
    rows, columns = layer.places
    if axes == 1:
        return 4 * layer.outputs
    written = layer.taps * (rows * columns + layer.height * layer.width + 4 * layer.channels_in + 16)
    return 4 * layer.outputs + 4 * layer.inputs + written + (layer.inputs * layer.taps >> 5)
