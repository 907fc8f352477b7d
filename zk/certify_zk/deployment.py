# SPDX-License-Identifier: Apache-2.0
"""The committed network as an ONNX file, in the units of the original one's inputs: the network to deploy, and to show to a laboratory.

Guarantee: read over the reals, the file denotes exactly the committed network behind the policy's map of inputs. Weights are W/2^F and biases b/2^g
as float32, which holds them exactly; what a bias has beyond 24 bits is added behind its layer. The map is Sub of the offset, Mul of the scale's
numerator and Div by its denominator in front, each left out where it does nothing, and constants exact too: a map that has none is refused. Scales
that are powers of two go into the first weights instead, so where they all are, readers without Mul and Div take the file.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from certify.errors import Declined, UsageError
from certify_zk.conversion import Converted, Interface
from certify_zk.policy import Conv, Layer
from certify_zk.settings import Rationals, spread

_OPSET, _IR = 17, 8


class _Writer:
    """Nodes and initialisers so far, and the name of the last value."""

    def __init__(self, interface: Interface) -> None:
        try:
            from onnx import helper, numpy_helper
        except ImportError:
            raise Declined("backend-missing", "writing a network needs the package onnx", fix="pip install 'certify-engine[nn]'") from None
        self.helper, self.numpy_helper = helper, numpy_helper
        self.nodes: list[Any] = []
        self.tensors: list[Any] = []
        self.value, self.shape = interface.input, interface.input_shape
        self.prefix = "q"
        while any(name.startswith(self.prefix) for name in (interface.input, interface.output)):
            self.prefix += "q"

    def node(self, operator: str, name: str, constants: Sequence[np.ndarray[Any, Any]] = (), **attributes: Any) -> None:
        """Append a node that takes the last value and constants."""
        name = f"{self.prefix}.{name}"
        names = [f"{name}.constant{index}" for index in range(len(constants))]
        self.tensors += [self.numpy_helper.from_array(constant, label) for label, constant in zip(names, constants, strict=True)]
        self.nodes.append(self.helper.make_node(operator, [self.value, *names], [f"{name}.out"], name, **attributes))
        self.value = f"{name}.out"

    def shaped(self, shape: tuple[int, ...], name: str) -> None:
        """Append what gives the last value a shape, unless it has that one."""
        if self.shape != shape:
            self.node("Reshape", name, [np.array(shape, np.int64)])
            self.shape = shape


def quantised_onnx(made: Converted) -> bytes:
    """Return the ONNX bytes of a committed network; names and shapes of input and output are those of the file that was converted.

    Raises UsageError `policy-file` for a map of inputs that float32 constants can't hold, Declined `backend-missing` without the package onnx.
    """
    policy, interface = made.policy, made.interface
    inputs = policy.size(0)
    writer = _Writer(interface)
    scale = spread(policy.inputs.scale, inputs)
    factors = _by_column(policy.layers[0], scale)
    inside = factors is not None and all(s.numerator & (s.numerator - 1) == 0 and s.denominator & (s.denominator - 1) == 0 for s in scale)
    _map(writer, spread(policy.inputs.offset, inputs), (Fraction(1),) * inputs if inside else scale)
    for k, (weight, bias) in enumerate(zip(made.model.weights, made.model.biases, strict=True), start=1):
        real = np.ldexp(weight.astype(np.float64), -policy.weight_scale)
        if k == 1 and inside and factors is not None:
            real = real * np.array([float(s) for s in factors])
        most = np.ldexp(bias.astype(np.float64), -policy.bias_scale)
        first = most.astype(np.float32)
        rest = (most - first).astype(np.float32)
        with np.errstate(over="ignore"):
            single = real.astype(np.float32)
        _require(np.array_equal(single, real))
        layer = policy.layers[k - 1]
        if isinstance(layer, Conv):
            side = layer.kernel
            writer.shaped((1, layer.channels_in, layer.height, layer.width), f"image{k}")
            writer.node("Conv", f"conv{k}", [single.reshape(layer.channels_out, layer.channels_in, side, side), first], kernel_shape=[side] * 2,
                        strides=[layer.stride] * 2, pads=[layer.padding] * 4)
            writer.shape, rest = (1, layer.channels_out, *layer.places), rest.reshape(1, -1, 1, 1)
        else:
            writer.shaped((1, layer.inputs), "flat" if k == 1 else f"flat{k}")
            writer.node("Gemm", f"dense{k}", [single, first], transB=1)
            writer.shape = (1, layer.outputs)
        if rest.any():
            writer.node("Add", f"rest{k}", [rest])
        if k < policy.depth:
            writer.node("Relu", f"relu{k}")
    writer.shaped(interface.output_shape, "shaped")
    writer.nodes[-1].output[0] = interface.output
    return _file(writer, made)


def _map(writer: _Writer, offset: Rationals, scale: Rationals) -> None:
    """Append x -> (x - offset) scale; an offset that float32 does not hold is subtracted from a multiple of x."""
    if _float32(offset) is None:
        first = tuple(Fraction(o.denominator) for o in offset)
        _elementwise(writer, "Mul", "spread", first)
        offset = tuple(o * by for o, by in zip(offset, first, strict=True))
        scale = tuple(s / by for s, by in zip(scale, first, strict=True))
    _elementwise(writer, "Sub", "offset", offset)
    _elementwise(writer, "Mul", "numerator", tuple(Fraction(s.numerator) for s in scale))
    _elementwise(writer, "Div", "denominator", tuple(Fraction(s.denominator) for s in scale))


def _by_column(layer: Layer, scale: Rationals) -> Rationals | None:
    """Return a scale for each column of the first weights, None where a convolution would need several for one."""
    if not isinstance(layer, Conv):
        return scale
    size = layer.height * layer.width
    channels = [scale[c * size : (c + 1) * size] for c in range(layer.channels_in)]
    return None if any(len(set(values)) > 1 for values in channels) else tuple(values[0] for values in channels for _ in range(layer.taps))


def _elementwise(writer: _Writer, operator: str, name: str, constants: Rationals) -> None:
    if set(constants) == {Fraction(operator != "Sub")}:  # it changes nothing
        return
    found = _float32(constants)
    _require(found is not None)
    writer.shaped((1, len(constants)), "flat")
    writer.node(operator, name, [np.array([found])])


def _float32(values: Rationals) -> np.ndarray[Any, Any] | None:
    """Return the values as float32, None if one is not exact."""
    if max(abs(value) for value in values) >= 1 << 127:
        return None
    found = np.array([float(value) for value in values]).astype(np.float32)
    return found if all(Fraction(float(a)) == b for a, b in zip(found, values, strict=True)) else None


def _require(exact: bool) -> None:
    if not exact:
        raise UsageError("policy-file", "input: the map of the inputs has a number that no float32 constant holds", where="key input.scale",
                         fix="choose offsets and scales with numerators and denominators below 2^24")


def _file(writer: _Writer, made: Converted) -> bytes:
    from onnx import TensorProto

    helper, interface = writer.helper, made.interface
    graph = helper.make_graph(writer.nodes, "quantised", [helper.make_tensor_value_info(interface.input, TensorProto.FLOAT, interface.input_shape)],
                              [helper.make_tensor_value_info(interface.output, TensorProto.FLOAT, interface.output_shape)], writer.tensors)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", _OPSET)], ir_version=_IR)
    return bytes(model.SerializeToString(deterministic=True))
