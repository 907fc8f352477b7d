# SPDX-License-Identifier: Apache-2.0
"""From a network's file to the integers that are committed: the nearest weights and biases, and the map of its inputs.

*What is read.* The strict reader's graphs, and Mul and Div by constants in front: Sub, Add, Mul and Div of the input with constants, then Gemm, or
MatMul with Add, with a Relu between each two; Flatten, Reshape and the like anywhere; in front of them what `conversion_images` reads, which the
strict reader does not. So f(x) = g(c x + d) with a chain g of dense layers and convolutions, and rationals c, d for each input.

*What is committed.* Let x' = (x - offset) scale be the mapped inputs, which are 0 or more on the domain. The first layer takes x' and absorbs the
inverse map: with x = offset + x'/scale, its weights are W c / scale, its biases b + W (c offset + d). A convolution has one weight for all places, so
there c / scale must be the same within a channel, and so must c offset + d, which must be 0 if it has padding: the file pads c x + d with 0. Weights
of all layers are then rounded to the nearest multiple of 2^-F, biases to the nearest of 2^-g, ties to even; each once, from the exact rational. By
default offset is the lower end of the domain and scale is |c|, so the first weights are those of the file up to sign. The committed network is the
rounded one, not the file: what is proved holds for the former, which `deployment` writes as a file.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from certify.errors import Declined, UsageError
from certify.limits import Limits
from certify.readers.network import Array, Network, Scale
from certify.readers.network import Dense as Affine
from certify.readers.onnx_graph import Graph, Node, read_graph
from certify.readers.onnx_ops import live_names, read_chain
from certify_zk.conversion_images import Weights, split
from certify_zk.exact import Integers
from certify_zk.policy import MOST_DEPTH, MOST_PARAMETERS, MOST_SIZE, Conv, Dense, InputMap, Layer, Policy
from certify_zk.settings import Rationals, Settings, spread
from certify_zk.width import LIMB
from certify_zk.witness import Model

_UNIT = 2.0**-53
_MOST = 1 << 400  # far inside of what binary64 holds
_ELEMENTWISE, _PRODUCTS = ("Add", "Sub", "Mul", "Div"), ("Gemm", "MatMul")
_FIX = "commit a chain of Gemm, or MatMul with Add, with a Relu between each two, and Sub, Add, Mul or Div with constants in front only"


@dataclass(frozen=True)
class Interface:
    """The names and shapes of a network's input and output."""

    input: str
    input_shape: tuple[int, ...]
    output: str
    output_shape: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Converted:
    """A network as it is committed: the policy, whose tau is for calibration to choose, and the integers.

    `rounding` is the largest distance of a weight from its committed value, in units of mapped inputs for the first layer.
    """

    policy: Policy
    model: Model
    rounding: Fraction
    interface: Interface


@dataclass(frozen=True, eq=False)
class _Chain:
    """f(x) = g(factor x + shift), g given by its products."""

    factor: Rationals
    shift: Rationals
    products: tuple[Weights, ...]


def convert(data: bytes, settings: Settings, limits: Limits | None = None) -> Converted:
    """Return what is committed of the network in the bytes of an ONNX file.

    Raises Declined `onnx-*` as the reader does, naming the node; `onnx-weight-range` for what no commitment holds; UsageError `policy-file`.
    """
    graph, limits = read_graph(data), limits or Limits()
    parts = split(graph)
    if parts is None:
        adapted, front = _adapted(graph)
        network = read_chain(adapted, limits)
        factor, shift = _elementwise(network, front)
        products = _products(network, len(front))
    else:
        adapted, front = _adapted(parts.front, ends="input")
        network = read_chain(adapted, limits)
        factor, shift = _elementwise(network, front)
        images = parts.read(network.output_shape)
        adapted, _ = _adapted(images.tail, images.last)
        network = read_chain(adapted, limits)
        products = images.products(_products(network, 0))
    if not products:
        raise Declined("onnx-graph", "the network has no product with weights", where="Graph", fix=_FIX)
    chain = _Chain(factor, shift, tuple(products))
    layers = tuple(product.layer for product in products)
    _require_sizes(layers)
    policy = settings.policy(layers, _input_map(settings, chain))
    model, rounding = _rounded(chain, policy)
    return Converted(policy, model, rounding, Interface(graph.input, graph.input_shape, graph.output, network.output_shape))


def _adapted(graph: Graph, last: str = "input", ends: str = "product") -> tuple[Graph, list[Node]]:
    """Return the graph with Mul and Div in front written as Add, whose constants the reader lays out alike, and the elementwise nodes in front.

    Raises Declined `onnx-graph` for nodes on the way from input to output that are in no order of a chain.
    """
    live, computed = live_names(graph), {graph.input}
    front: list[Node] = []
    nodes = list(graph.nodes)
    for index, node in enumerate(nodes):
        sides = [name in computed for name in node.inputs]
        if not any(sides) or not node.outputs or node.outputs[0] not in live:
            continue
        computed.add(node.outputs[0])
        if node.operator in _ELEMENTWISE and last == "input":
            if len(sides) != 2 or all(sides) or (node.operator == "Div" and sides[1]):
                raise _unsupported(node, "only the input, combined with a constant, is supported here, and no division by it")
            front.append(node)
            nodes[index] = replace(node, operator="Add") if node.operator in ("Mul", "Div") else node
        elif node.operator in ("Mul", "Div") or (node.operator in _ELEMENTWISE and last == "Relu"):
            raise _unsupported(node, "it is supported in front of the first layer only")
        elif node.operator in _PRODUCTS or node.operator == "Relu":
            kind = "Relu" if node.operator == "Relu" else "product"
            if (last == "product") == (kind == "product"):
                raise _unsupported(node, "no Relu stands between it and the product before" if kind == "product" else "this Relu follows no product")
            last = kind
    if last == "Relu" or (ends == "input" and last != ends):
        what = "the network ends with a Relu" if ends != "input" else "a layer stands in front of the first convolution"
        raise Declined("onnx-graph", what, where=graph.output, fix=_FIX)
    return replace(graph, nodes=tuple(nodes)), front


def _unsupported(node: Node, what: str) -> Declined:
    return Declined("onnx-graph", what, where=f"node {node.name} ({node.operator})", fix=_FIX)


def _elementwise(network: Network, front: list[Node]) -> tuple[Rationals, Rationals]:
    """Return factor and shift of the nodes in front, which are the first layers of a network."""
    factor, shift = [Fraction(1)] * network.inputs, [Fraction(0)] * network.inputs
    for node, layer in zip(front, network.layers, strict=False):
        if not isinstance(layer, Scale):
            raise TypeError("the reader makes one elementwise layer of each elementwise node in front")
        constants = [Fraction(value) for value in layer.bias.tolist()]
        if node.operator == "Div" and not all(constants):
            raise _unsupported(node, "it divides by zero")
        if node.operator in ("Mul", "Div"):
            by = [1 / value for value in constants] if node.operator == "Div" else constants
            factor, shift = ([a * b for a, b in zip(values, by, strict=True)] for values in (factor, shift))
        else:
            factor = [layer.sign * a for a in factor]
            shift = [layer.sign * a + b for a, b in zip(shift, constants, strict=True)]
    return tuple(factor), tuple(shift)


def _products(network: Network, begin: int) -> list[Weights]:
    """Return the products of a network's layers, without so many first ones; what is added to a biased product joins its bias."""
    found: list[Weights] = []
    for layer in network.layers[begin:]:
        if isinstance(layer, Affine):
            found.append(Weights(Dense(*layer.weight.shape[::-1]), layer.weight, tuple(map(Fraction, layer.bias.tolist()))))
        elif isinstance(layer, Scale):
            if not found:
                raise Declined("onnx-graph", "something is added behind a convolution", where="Graph", fix="add one number a channel with Add")
            bias = tuple(layer.sign * b + Fraction(more) for b, more in zip(found[-1].bias, layer.bias.tolist(), strict=True))
            found[-1] = replace(found[-1], weight=layer.sign * found[-1].weight, bias=bias)
    return found


def _require_sizes(layers: tuple[Layer, ...]) -> None:
    parameters, widest = sum(layer.parameters for layer in layers), max(max(layer.inputs, layer.outputs) for layer in layers)
    if len(layers) - 1 > MOST_DEPTH or parameters > MOST_PARAMETERS or widest > MOST_SIZE:
        raise Declined("onnx-weight-range", f"{len(layers) - 1} hidden layers, {parameters} parameters, and {widest} in the widest layer",
                       where="Graph", fix=f"at most {MOST_DEPTH}, {MOST_PARAMETERS} and {MOST_SIZE} can be committed: train a smaller network")


def _input_map(settings: Settings, chain: _Chain) -> InputMap:
    """Return the map and domain of the settings.

    Where they leave it open, the offset is the lower end, or the largest float32 number below it, and the scale that of the file's front.
    """
    inputs = len(chain.factor)
    for name in ("offset", "scale", "lower", "upper"):
        values = getattr(settings, name)
        if values is not None and len(values) not in (1, inputs):
            raise UsageError("policy-file", f"input.{name}: {len(values)} numbers for {inputs} inputs", where=f"key input.{name}",
                             fix="give one number for all inputs, or one for each")
    own = tuple(abs(a) or Fraction(1) for a in chain.factor)
    scale = settings.scale or (own[:1] if len(set(own)) == 1 else own)
    found = InputMap(tuple(map(_single, settings.lower)) if settings.offset is None else settings.offset, scale, settings.lower, settings.upper)
    found.require(inputs)
    return found


def _single(value: Fraction) -> Fraction:
    """Return the largest float32 number that is not above a value: the deployed network subtracts it."""
    if abs(value) >= 1 << 127:
        return value
    near = np.float32(float(value))
    while Fraction(float(near)) > value:
        near = np.nextafter(near, np.float32(-np.inf))
    return Fraction(float(near))


def _rounded(chain: _Chain, policy: Policy) -> tuple[Model, Fraction]:
    """Return the integers, and the largest rounding of a weight; the first layer takes mapped inputs."""
    inputs = policy.size(0)
    offset, scale = spread(policy.inputs.offset, inputs), spread(policy.inputs.scale, inputs)
    ratio = tuple(a / s for a, s in zip(chain.factor, scale, strict=True))
    start = tuple(a * o + d for a, o, d in zip(chain.factor, offset, chain.shift, strict=True))
    if any(abs(value) >= _MOST for value in (*ratio, *start)):
        raise Declined("onnx-weight-range", "the map of the inputs has a number beyond 2^400", where="layer 1",
                       fix="choose input.scale and input.offset of the policy near those of the inputs")
    weights: list[Integers] = []
    biases: list[Integers] = []
    rounding = Fraction(0)
    for k, product in enumerate(chain.products, start=1):
        own: Rationals = () if product.factor == 1 else (product.factor,) * product.layer.stored[1]
        at: Rationals = ()
        if k == 1:
            own, at = (tuple(product.factor * value for value in values) for values in _by_column(product.layer, ratio, start))
        found, most = _weights(product.weight, own, policy.weight_scale, k)
        weights.append(found)
        biases.append(_biases(product.weight, product.bias, at, policy, k))
        rounding = max(rounding, most)
    return Model(tuple(weights), tuple(biases)), rounding


def _by_column(layer: Layer, ratio: Rationals, start: Rationals) -> tuple[Rationals, Rationals]:
    """Return ratio and start for each column of the first weights, from those of each input."""
    if not isinstance(layer, Conv):
        return ratio, start
    size = layer.height * layer.width
    if any(len(set(values[c * size : (c + 1) * size])) > 1 for values in (ratio, start) for c in range(layer.channels_in)):
        raise Declined("onnx-graph", "the map of the inputs differs within a channel of a convolution", where="layer 1",
                       fix="choose input.scale and input.offset of the policy, and constants in front, that are one number a channel")
    if layer.padding and any(start):
        raise Declined("onnx-graph", "a convolution pads with 0 an image whose lowest entries are no 0", where="layer 1",
                       fix="let the lower end of the domain, or input.offset of the policy, be what the network maps to 0; or train without padding")
    columns = [channel * size for channel in range(layer.channels_in) for _ in range(layer.taps)]
    return tuple(ratio[column] for column in columns), tuple(start[column] for column in columns)


def _weights(weight: Array, ratio: Rationals, bits: int, k: int) -> tuple[Integers, Fraction]:
    """Return weight * ratio in units of 2^-bits, rounded to nearest, and the largest rounding.

    Binary64 decides where its error can't move a value across a half; else rationals do.
    """
    factor = np.array([float(r) for r in ratio]) if ratio else np.ones(1)
    scaled = np.ldexp(weight * factor, bits)
    if (worst := float(np.abs(scaled).max())) >= (1 << LIMB) - 0.5:
        raise Declined("onnx-weight-range", f"a weight of {worst / 2**bits:.4g} in size", where=f"layer {k}",
                       fix=f"weights, of mapped inputs in the first layer, are below {Fraction(1 << LIMB, 1 << bits)} in size: train with more "
                           "weight decay, or choose a smaller scales.weight or a larger input.scale")
    exact = not ratio or bool((np.frexp(factor)[0] == 0.5).all() and all(Fraction(float(r)) == r for r in ratio))
    found = np.rint(scaled).astype(np.int64)

    def value(row: int, column: int) -> Fraction:
        return Fraction(float(weight[row, column])) * (ratio[column] if ratio else 1) * (1 << bits)

    if not exact:
        for row, column in np.argwhere(np.abs(np.abs(scaled - found) - 0.5) <= 4 * _UNIT * np.abs(scaled)).tolist():
            found[row, column] = round(value(row, column))
    row, column = (int(i) for i in np.unravel_index(np.abs(scaled - found).argmax(), found.shape))
    return found, abs(value(row, column) - int(found[row, column])) / (1 << bits)


def _biases(weight: Array, bias: Rationals, start: Rationals, policy: Policy, k: int) -> Integers:
    """Return bias + weight start in units of biases, rounded to nearest; the weights are those before they are rounded."""
    at = np.array([float(value) for value in start]) if start else np.zeros(weight.shape[1])
    own = np.array([float(b) for b in bias])
    approximate = np.ldexp(weight @ at + own, policy.bias_scale)
    error = np.ldexp(2 * (weight.shape[1] + 4) * _UNIT * (np.abs(weight) @ np.abs(at) + np.abs(own)), policy.bias_scale)
    most = (1 << (policy.bias_bits - 1)) - 1
    if (worst := float(np.abs(approximate).max())) > most:
        raise Declined("onnx-weight-range", f"a bias of {worst / 2**policy.bias_scale:.4g} in size", where=f"layer {k}",
                       fix=f"biases, which in the first layer include what the offset adds, are at most {most} / 2^{policy.bias_scale}: choose "
                           "larger bias_bits, or an offset nearer to the lower end of the domain")
    found: Integers = np.rint(approximate).astype(np.int64)
    for row in np.flatnonzero(np.abs(np.abs(approximate - found) - 0.5) <= error).tolist():
        terms = (Fraction(w) * s for w, s in zip(weight[row].tolist(), start, strict=False) if s)
        found[row] = round((bias[row] + sum(terms, Fraction(0))) * (1 << policy.bias_scale))
    return found
