# SPDX-License-Identifier: Apache-2.0
"""Integers of a certificate as limbs: which cells hold a value, and which relations give it its range.

A value of b bits is the sum of 2^(16 i) limb_i; where b is no multiple of 16, a second cell c' = 2^(16 - b) c narrows the top limb c to the
rest of its bits. A signed value is 2^(b - 1) less than what its limbs hold. A value with a `top` has one limb and a second cell with
limb + rest = top. All cells of its cube are stored, also those of padding, so each of them is in range.
"""

from __future__ import annotations

from dataclasses import dataclass

from certify_zk.policy import Conv, Policy
from certify_zk.relations import Block, Form, Linear, Term, constant, of, power_of_two
from certify_zk.width import LIMB

RANGE = "relation-range"


@dataclass(frozen=True)
class Value:
    """An array of integers in [0, 2^bits), or [-2^(bits-1), 2^(bits-1)) if `signed`, or [0, top]; `dimensions` are those without padding."""

    name: str
    dimensions: tuple[int, ...]
    bits: int
    signed: bool = False
    top: int | None = None
    kind: str = "certificate"

    @property
    def shape(self) -> tuple[int, ...]:
        """The power-of-two cube that holds it."""
        return tuple(power_of_two(size) for size in self.dimensions)

    @property
    def limbs(self) -> tuple[tuple[str, int], ...]:
        """The names of the limbs, the least significant first, each with its bits."""
        return tuple((f"{self.name}.{i}", min(LIMB, self.bits - LIMB * i)) for i in range(-(-self.bits // LIMB)))

    @property
    def offset(self) -> int:
        """What is added to the value before it is cut into limbs."""
        return 1 << (self.bits - 1) if self.signed else 0

    @property
    def narrow(self) -> str | None:
        """The name of the cell that narrows the top limb, None where that is a full one."""
        return f"{self.name}.narrow" if self.top is None and self.bits % LIMB else None

    @property
    def rest(self) -> str | None:
        """The name of the cell that completes the limb to `top`."""
        return None if self.top is None else f"{self.name}.rest"

    @property
    def form(self) -> Form:
        """The value as a combination of its cells."""
        return Form(tuple(Term(name, 1 << (LIMB * i)) for i, (name, _) in enumerate(self.limbs))) + constant(-self.offset)

    def blocks(self) -> tuple[Block, ...]:
        """Return the blocks of its cells."""
        found = [Block(name, self.dimensions, self.kind, narrowed=self.top is not None or bits < LIMB) for name, bits in self.limbs]
        return (*found, *(Block(name, self.dimensions, self.kind) for name in (self.narrow, self.rest) if name is not None))

    def ranges(self) -> tuple[Linear, ...]:
        """Return the relations that give its cells their ranges."""
        if self.rest is not None and self.top is not None:
            return (Linear(f"{self.name}.range", RANGE, of(self.limbs[0][0]) + of(self.rest), constant(self.top), narrows=True),)
        if self.narrow is not None:
            name, bits = self.limbs[-1]
            return (Linear(f"{self.name}.range", RANGE, of(name).scaled(1 << (LIMB - bits)), of(self.narrow), narrows=True),)
        return ()


def layer_values(policy: Policy, k: int) -> tuple[Value, Value, Value]:
    """Return what is committed of layer k: both parts of its weights, and its biases."""
    layer = policy.layers[k - 1]
    name = "kernel" if isinstance(layer, Conv) else "weight"
    plus, minus = (Value(f"{name}{k}.{part}", layer.stored, LIMB, kind="model") for part in ("plus", "minus"))
    return plus, minus, Value(f"bias{k}", layer.stored[:1], policy.bias_bits, signed=True, kind="model")
