# SPDX-License-Identifier: Apache-2.0
"""Random small networks of every layer type, with weights from 2^-148 to 2^60, and their exact evaluation in rationals."""

from __future__ import annotations

import ctypes
import mmap
import platform
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction

import numpy as np

from certify.readers.network import Dense, Layer, Network, Relu, Scale


def network(rng: np.random.Generator, wild: bool) -> Network:
    """Return a random network; `wild` ones have weights of very different sizes, the others are ordinary."""
    sizes = [int(n) for n in rng.integers(1, 6, int(rng.integers(2, 6)))]
    layers: list[Layer] = []
    if rng.random() < 0.3:
        layers.append(Scale(int(rng.choice([1, -1])), _values(rng, sizes[0], wild)))
    for m, n in zip(sizes[1:], sizes[:-1], strict=True):
        layers.append(Dense(_values(rng, (m, n), wild), _values(rng, m, wild)))
        if rng.random() < 0.2:
            layers.append(Scale(int(rng.choice([1, -1])), _values(rng, m, wild)))
        if rng.random() < 0.85:
            layers.append(Relu(m))
    return Network((1, sizes[0]), sizes[0], tuple(layers))


def with_gemm(rng: np.random.Generator, net: Network) -> Network:
    """Return a network whose dense layers have alpha and beta like a Gemm: stored weights are scaled, exactly in binary64."""
    layers: list[Layer] = []
    for layer in net.layers:
        if isinstance(layer, Dense) and rng.random() < 0.6:
            alpha, beta = (float(np.float32(rng.choice([1.0, -1.0, 1 / 3, 2.0**60, 2.0**-60, 2.0**-126, 7.5, 2.0**20]))) for _ in range(2))
            layers.append(Dense(alpha * layer.weight, beta * layer.bias, alpha, beta))
        else:
            layers.append(layer)
    return Network(net.input_shape, net.inputs, tuple(layers))


def _values(rng: np.random.Generator, shape: int | tuple[int, ...], wild: bool) -> np.ndarray:
    values = rng.standard_normal(shape)
    if wild:
        values = values * 2.0 ** rng.integers(*((-148, 60) if rng.random() < 0.5 else (-20, 20)), shape)
    values = np.where(rng.random(shape) < 0.15, 0.0, values)
    return values.astype(np.float32).astype(np.float64)


def box(rng: np.random.Generator, size: int, wild: bool) -> tuple[list[Fraction], list[Fraction]]:
    """Return the rational ends of a random box, some of them decimals that no double holds, some degenerate."""
    lower, upper = [], []
    for _ in range(size):
        scale = Fraction(2) ** int(rng.integers(-140, 60)) if wild and rng.random() < 0.3 else Fraction(1)
        a = Fraction(int(rng.integers(-1000, 1000)), 1000) * scale
        width = Fraction(int(rng.integers(0, 1000)), 700) * scale if rng.random() < 0.9 else Fraction(0)
        lower.append(a)
        upper.append(a + width)
    return lower, upper


def points(rng: np.random.Generator, lower: Sequence[Fraction], upper: Sequence[Fraction], count: int) -> Iterator[list[Fraction]]:
    """Yield points of the box: corners and inner points."""
    for k in range(count):
        shares = rng.integers(0, 2, len(lower)) * 1000 if k % 2 else rng.integers(0, 1001, len(lower))
        yield [a + (b - a) * Fraction(int(t), 1000) for a, b, t in zip(lower, upper, shares, strict=True)]


def exact_values(net: Network, point: Sequence[Fraction]) -> list[list[Fraction]]:
    """Return every value of the network at a point, in rationals, written from the definition."""
    values = [list(point)]
    for layer in net.layers:
        h = values[-1]
        if isinstance(layer, Dense):
            now = [sum((Fraction(w) * v for w, v in zip(row, h, strict=True)), Fraction(0)) + Fraction(b)
                   for row, b in zip(layer.weight.tolist(), layer.bias.tolist(), strict=True)]
        elif isinstance(layer, Scale):
            now = [layer.sign * v + Fraction(b) for v, b in zip(h, layer.bias.tolist(), strict=True)]
        else:
            now = [max(v, Fraction(0)) for v in h]
        values.append(now)
    return values


@contextmanager
def flushed_denormals() -> Iterator[bool]:
    """Run a block with flush-to-zero and denormals-are-zero set in this thread's FPU; yields False where that can't be done."""
    if platform.machine() not in ("x86_64", "AMD64"):
        yield False
        return
    code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    code.write(bytes.fromhex("0fae1fc3") + b"\x90" * 12 + bytes.fromhex("0fae17c3"))  # stmxcsr [rdi]; ret; ldmxcsr [rdi]; ret
    start = ctypes.addressof(ctypes.c_char.from_buffer(code))
    signature = ctypes.CFUNCTYPE(None, ctypes.POINTER(ctypes.c_uint32))
    store, load = signature(start), signature(start + 16)
    before = ctypes.c_uint32()
    store(ctypes.byref(before))
    load(ctypes.byref(ctypes.c_uint32(before.value | 0x8040)))
    try:
        yield True
    finally:
        load(ctypes.byref(before))
