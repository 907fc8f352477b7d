# SPDX-License-Identifier: Apache-2.0
"""The policy of a commitment: the architecture, the units of all integers, the widths of all cells, and the parameters of the argument.

Notation of the fields, with that of the mathematics: weights are integers in units 2^-F (`weight_scale`), biases and bounds 2^-g
(`bias_scale`), inputs 2^-GX (`input_scale`), totals 2^-GT (`total_scale`); slopes are multiples of 2^-S (`slope_bits`) from 0 to 1.
Guarantee: a `Policy` that `require` accepts is within the limits below, and no unit that occurs in its passes is coarser than 2^-4.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor

from certify.errors import Declined

LEAST_UNIT = 4
MOST_DEPTH = 64  # hidden layers
MOST_PARAMETERS = 50_000_000
MOST_SIZE = 1 << 16
MOST_USES = 64
LEVELS = {100: 2, 128: 3}
"""The levels of soundness in bits, each with the degree of its challenge field."""
BACKENDS = ("ligero", "hyrax")
"""How rows are committed: by codes and hashes, or, for small networks, by points of a group (docs/hyrax.md)."""
HYRAX_LEVEL = 100
FLOOR_BITS = 32
FLOOR_LEAST = 20  # with fewer, a floored term could not hold what it should
FLOOR_TOP = 61
SLACK_BITS = 48
LINE_BITS = 48
ROOT_BITS = 28


Rational = Fraction | int


@dataclass(frozen=True)
class Dense:
    """z = W y + b, a layer of the architecture; a ReLU follows all but the last."""

    inputs: int
    outputs: int

    @property
    def parameters(self) -> int:
        """The number of weights and biases."""
        return (self.inputs + 1) * self.outputs

    @property
    def stored(self) -> tuple[int, int]:
        """The shape of the weights that are committed; there is a bias for each row."""
        return self.outputs, self.inputs


@dataclass(frozen=True)
class Conv:
    """A layer of the architecture whose weights are a kernel that all places of an image share; a ReLU follows all but the last.

    z[c, y, x] = b[c] + the sum over c', dy, dx of K[c, c', dy, dx] in[c', stride y + dy - padding, stride x + dx - padding], where `in` is 0 outside
    its image. Values are numbered in C order: of `in`, entry (c', u, v) has the number (c' height + u) width + v.
    """

    channels_in: int
    height: int
    width: int
    channels_out: int
    kernel: int
    stride: int = 1
    padding: int = 0

    @property
    def taps(self) -> int:
        """The number of weights between two channels."""
        return self.kernel * self.kernel

    @property
    def places(self) -> tuple[int, int]:
        """Rows and columns of the image that a channel of outputs is."""
        rows, columns = ((side + 2 * self.padding - self.kernel) // self.stride + 1 for side in (self.height, self.width))
        return rows, columns

    @property
    def inputs(self) -> int:
        """The number of entries of its input."""
        return self.channels_in * self.height * self.width

    @property
    def outputs(self) -> int:
        """The number of entries of its output."""
        rows, columns = self.places
        return self.channels_out * rows * columns

    @property
    def parameters(self) -> int:
        """The number of weights and biases."""
        return self.channels_out * (self.channels_in * self.taps + 1)

    @property
    def stored(self) -> tuple[int, int]:
        """The shape of the weights that are committed, the number of (c', dy, dx) in C order as column; there is a bias for each row."""
        return self.channels_out, self.channels_in * self.taps

    def require(self) -> None:
        """Raise Declined `commitment-limit` unless the kernel fits into the padded image, and meets the image itself everywhere."""
        least = min(self.channels_in, self.height, self.width, self.channels_out, self.kernel, self.stride)
        if least < 1 or max(self.stored) > MOST_SIZE or not 0 <= self.padding < self.kernel <= min(self.height, self.width) + 2 * self.padding:
            raise _limit(f"a convolution of {self.kernel} x {self.kernel} weights on {self.height} x {self.width} entries",
                         f"sizes are positive, a padding is less than the kernel's side, which fits, and a channel has at most {MOST_SIZE} weights")


Layer = Dense | Conv
"""The layers that an architecture may have."""


@dataclass(frozen=True)
class InputMap:
    """x -> (x - offset) scale, and the domain in the units before it: one entry for all inputs, or one an input."""

    offset: tuple[Fraction, ...]
    scale: tuple[Fraction, ...]
    lower: tuple[Fraction, ...]
    upper: tuple[Fraction, ...]

    def domain(self, inputs: int, input_scale: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return the ends of the domain, shifted and rounded outward onto the grid of inputs."""
        mapped = [((low - o) * s * (1 << input_scale), (high - o) * s * (1 << input_scale)) for o, s, low, high in self._entries(inputs)]
        lower, upper = tuple(floor(low) for low, _ in mapped), tuple(ceil(high) for _, high in mapped)
        return (lower, upper) if len(mapped) == inputs else (lower * inputs, upper * inputs)

    def require(self, inputs: int) -> None:
        """Raise Declined `commitment-limit` unless scales are positive, the domain is non-empty, begins at 0 or above, and has one form."""
        for name, values in (("offset", self.offset), ("scale", self.scale), ("lower", self.lower), ("upper", self.upper)):
            if len(values) not in (1, inputs) or (len(values) > 1 and all(value == values[0] for value in values)):
                raise _limit(f"{len(values)} entries of {name} for {inputs} inputs", "give one entry if all are equal, else one an input")
        if min(self.scale) <= 0:
            raise _limit("a scale of the inputs is not positive", "scales are above 0")
        if any(not o <= low < high for o, _, low, high in self._entries(inputs)):
            raise _limit("the domain is empty, or begins below the offset", "the smallest input must become 0 or more")

    @staticmethod
    def uniform(offset: Rational, scale: Rational, lower: Rational, upper: Rational) -> InputMap:
        """Return the map with the same numbers for all inputs."""
        return InputMap(*((Fraction(value),) for value in (offset, scale, lower, upper)))

    def different(self, inputs: int) -> int:
        """Return how many inputs may have different numbers: one, or all."""
        return inputs if any(len(values) > 1 for values in (self.offset, self.scale, self.lower, self.upper)) else 1

    def _entries(self, inputs: int) -> Iterator[tuple[Fraction, ...]]:
        """Return offset, scale, lower and upper of each input, once where all inputs have the same."""
        count, columns = self.different(inputs), (self.offset, self.scale, self.lower, self.upper)
        return zip(*(values * count if len(values) == 1 else values for values in columns), strict=True)


UNIT_CUBE = InputMap.uniform(0, 1, 0, 1)


@dataclass(frozen=True)
class Policy:
    """What a commitment fixes; pass m bounds layer m, from 1 to the number of layers, the last one bounds the asked rows.

    `modes[m - 1]` is `crown` (pass m goes back to the input), `stop:j` (to hidden layer j) or `ibp` (it stops at layer m - 1). `tau[m - 1]` has
    the bits dropped in each backward step of pass m, from layer m - 1 down. `remainder` keeps what the last step to the input drops. `queries`,
    `pads` and `codeword` are of the code of ligero, and 0 with hyrax.
    """

    layers: tuple[Layer, ...]
    modes: tuple[str, ...]
    tau: tuple[tuple[int, ...], ...]
    inputs: InputMap = UNIT_CUBE
    weight_scale: int = 12
    slope_bits: int = 12
    bias_scale: int = 12
    input_scale: int = 12
    total_scale: int = 16
    bias_bits: int = 24
    bound_bits: int = 28
    intercept_bits: int = 24
    remainder: bool = True
    level: int = 100
    uses: int = 16
    queries: int = 154
    pads: int = 2496
    columns: int = 1 << 15
    codeword: int = 1 << 17
    backend: str = "ligero"

    @property
    def depth(self) -> int:
        """The number of layers L, the last one included."""
        return len(self.layers)

    def size(self, k: int) -> int:
        """The number of entries of y_k: inputs for 0, neurons of layer k else."""
        return self.layers[k - 1].outputs if k else self.layers[0].inputs

    def stop(self, m: int) -> int:
        """Return the value y_j at which pass m ends: 0 for the input."""
        mode = self.modes[m - 1]
        return 0 if mode == "crown" else m - 1 if mode == "ibp" else int(mode.removeprefix("stop:"))

    def steps(self, m: int) -> Iterator[tuple[int, int, int]]:
        """Yield the backward steps of pass m: the layer, the unit exponent of the coefficients before it, and the bits that it drops."""
        unit = self.weight_scale
        for k, tau in zip(range(m - 1, self.stop(m), -1), self.tau[m - 1], strict=True):
            yield k, unit, tau
            unit = self.after(unit, tau)

    def after(self, unit: int, tau: int) -> int:
        """Return the unit exponent behind a step that begins with `unit`."""
        return unit + self.slope_bits + self.weight_scale - tau

    def last_unit(self, m: int) -> int:
        """Return the unit exponent of the coefficients with which pass m ends."""
        unit = self.weight_scale
        for _, before, tau in self.steps(m):
            unit = self.after(before, tau)
        return unit

    @property
    def input_top(self) -> int:
        """The largest input in units of the grid."""
        return max(self.inputs.domain(self.size(0), self.input_scale)[1])

    def require(self) -> None:
        """Raise Declined `commitment-limit` or `commitment-unit` unless the policy is one that the verifier may work with."""
        self._require_architecture()
        self._require_scales()
        self._require_passes()
        self._require_argument()

    def _require_architecture(self) -> None:
        if not 1 <= self.depth <= MOST_DEPTH + 1:
            raise _limit(f"{self.depth} layers", f"at most {MOST_DEPTH} hidden layers are taken")
        for layer in self.layers:
            if isinstance(layer, Conv):
                layer.require()
        if any(not 1 <= size <= MOST_SIZE for layer in self.layers for size in (layer.inputs, layer.outputs)):
            raise _limit("a layer is empty or too wide", f"a layer has 1 to {MOST_SIZE} inputs and outputs")
        if any(first.outputs != second.inputs for first, second in zip(self.layers, self.layers[1:], strict=False)):
            raise _limit("a layer does not fit the one before", "the outputs of a layer are the inputs of the next")
        if sum(layer.parameters for layer in self.layers) > MOST_PARAMETERS:
            raise _limit("too many parameters", f"at most {MOST_PARAMETERS} are taken")

    def _require_scales(self) -> None:
        for name, value, least, most in (
            ("weight_scale", self.weight_scale, LEAST_UNIT, 15), ("slope_bits", self.slope_bits, 1, 15), ("bias_scale", self.bias_scale, 1, 24),
            ("input_scale", self.input_scale, 1, 24), ("total_scale", self.total_scale, 1, 32), ("bias_bits", self.bias_bits, 2, 32),
            ("bound_bits", self.bound_bits, 2, 32), ("intercept_bits", self.intercept_bits, 1, 48),
        ):
            if not least <= value <= most:
                raise _limit(f"{name} is {value}", f"it must be from {least} to {most}")
        if self.total_scale < self.bias_scale:
            raise _limit("totals are coarser than biases", "total_scale must be at least bias_scale")
        self.inputs.require(self.size(0))
        if self.input_top >= 1 << 31:
            raise _limit("the inputs are too large", "the domain must be below 2^31 steps of the grid of inputs")

    def _require_passes(self) -> None:
        if len(self.modes) != self.depth or len(self.tau) != self.depth:
            raise _limit("not one mode and one list of tau for each pass", "there is one pass for each layer")
        for m, mode in enumerate(self.modes, start=1):
            allowed = ("crown", "ibp", *(f"stop:{j}" for j in range(1, m - 1))) if m > 1 else ("crown",)
            if mode not in allowed:
                raise _limit(f"pass {m} has the mode {mode}", f"it must be one of {', '.join(allowed)}")
            if len(self.tau[m - 1]) != m - 1 - self.stop(m) or any(not 0 <= tau <= 48 for tau in self.tau[m - 1]):
                raise _limit(f"pass {m} has {len(self.tau[m - 1])} values of tau", "there is one from 0 to 48 for each of its backward steps")
            for k, unit, tau in self.steps(m):
                if self.after(unit, tau) < LEAST_UNIT:
                    raise Declined("commitment-unit", f"step {k} of pass {m} ends in units of 2^-{self.after(unit, tau)}", where=f"tau of pass {m}",
                                   fix=f"a unit must be 2^-{LEAST_UNIT} or finer: commit again with smaller tau")

    def _require_argument(self) -> None:
        if self.level not in LEVELS:
            raise _limit(f"a level of {self.level} bits", "levels are 100 and 128")
        if self.backend not in BACKENDS:
            raise _limit(f"the backend {self.backend!r}", f"backends are {' and '.join(BACKENDS)}")
        if self.backend == "hyrax":
            self._require_hyrax()
            return
        if not 1 <= self.uses <= MOST_USES or self.queries < 1:
            raise _limit(f"{self.uses} uses with {self.queries} queries", f"a commitment serves 1 to {MOST_USES} certificates")
        if self.pads < self.uses * self.queries or self.pads % 64:
            raise _limit(f"{self.pads} pads for {self.uses} uses of {self.queries} queries", "each use opens as many columns as it has queries")
        if self.columns.bit_count() != 1 or not 1 << 9 <= self.columns <= 1 << 15 or self.codeword != 4 * self.columns:
            raise _limit(f"{self.columns} columns in codewords of {self.codeword}", "columns are 2^9 to 2^15, a power of two; codewords 4 times that")
        if self.columns + self.pads >= self.codeword:
            raise _limit("pads fill the codeword", "commit again with fewer uses")

    def _require_hyrax(self) -> None:
        if self.level != HYRAX_LEVEL:
            raise _limit(f"a level of {self.level} bits with hyrax", f"its group is taken for {HYRAX_LEVEL} bits: choose that level, or ligero")
        if not 1 <= self.uses <= MOST_USES or (self.queries, self.pads, self.codeword) != (0, 0, 0):
            raise _limit(f"{self.uses} uses, {self.queries} queries and {self.pads} pads with hyrax",
                         f"a commitment serves 1 to {MOST_USES} certificates, and has no code: queries, pads and codeword are 0")
        if self.columns.bit_count() != 1 or not 1 << 6 <= self.columns <= 1 << 10:
            raise _limit(f"{self.columns} columns with hyrax", "columns are 2^6 to 2^10, a power of two")


def _limit(what: str, fix: str) -> Declined:
    return Declined("commitment-limit", what, where="policy", fix=fix)
