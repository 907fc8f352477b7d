# SPDX-License-Identifier: Apache-2.0
"""The circuit of a policy and a statement: the one list of relations that the width rule, the prover and the verifier work with.

Let z_k = W_k y_(k-1) + b_k, y_k = relu(z_k), y_0 = x >= 0. If all relations hold over the integers and all cells are in range, every x of a region
has lower_k <= z_k <= upper_k for each hidden layer k, and every row of the statement holds on it. In units of the policy:
- *Lines.* s = slope, S = slope_bits. By `line`, s z + 2^S t is at least 0 and 2^S z at both ends of [lower, upper], so, being convex in the
  difference, relu(z) <= (s z + 2^S t) / 2^S between them; alpha z / 2^S <= relu(z) for 0 <= alpha <= 2^S.
- *Backward step.* With R = sum of (plus_j - minus_j) y_j, plus and minus >= 0, and a_j = plus_j alpha_j - minus_j s_j: R >= sum of a_j z_j
  - sum of minus_j t_j, and sum of a_j z_j = sum of Q_k y_k + sum of a_j b_j for Q = a W. Q_k = 2^tau (plus'_k - minus'_k) + rest_k with
  rest_k >= 0 and y_k >= 0 leave sum of (plus'_k - minus'_k) y_k 2^tau, and at the input also the sum of rest_k X_k, X the lower corner.
- *Concretisation.* sum of plus L - minus U for L <= y <= U: X and X + w at the input; at a hidden layer beta lower, beta 0 or 1, and hull, which
  is at least 0 and upper. In a ball: sum of h X - E |h| for h = plus - minus, with root^2 >= 2^8 |h|^2.
- *Collecting.* A constant c in units 2^-x, x > GT, enters as d with 2^(x - GT) d + rest = c, rest >= 0. The sign belongs to c: what is
  subtracted is floored as -c. `closure`: what remains of the total above the bound is a slack >= 0; rows 2 i bound z_i, rows 2 i + 1 bound -z_i.
By induction over the layers, all bounds hold. Padding of the model is 0, so the padded network is the committed one with dead neurons.
A convolution is the dense layer with the matrix that its kernel makes, so all of this is about it too; `convolution` says why its padding is 0.
Source: Zhang et al., CROWN, 2018.
"""

from __future__ import annotations

from dataclasses import dataclass

from certify.errors import Declined
from certify_zk.policy import FLOOR_BITS, FLOOR_LEAST, FLOOR_TOP, LINE_BITS, ROOT_BITS, SLACK_BITS, Conv, Policy
from certify_zk.relations import (
    CONSTANT,
    Block,
    Factor,
    Form,
    Gated,
    Hadamard,
    Image,
    Inner,
    Linear,
    Product,
    Relation,
    Widths,
    of,
    power_of_two,
    require_widths,
)
from certify_zk.statement import COEFFICIENT, GAP, RADIUS, THRESHOLD, Ball, Box, Rows, Score, Statement
from certify_zk.values import Value, layer_values
from certify_zk.width import LIMB, Interval

MOST_CELLS = 1 << 32
MOST_STEPS = 1 << 12  # of all passes over all regions: what the checker builds, however few cells they have
STEP, FLOOR = "relation-step", "relation-floor"


@dataclass(frozen=True)
class Circuit:
    """Values and blocks by name, and the relations in the order of the argument."""

    values: dict[str, Value]
    blocks: dict[str, Block]
    relations: tuple[Relation, ...]

    @property
    def cells(self) -> int:
        """The number of committed cells."""
        return sum(block.cells for block in self.blocks.values() if block.looked_up)

    def require(self) -> Widths:
        """Return the intervals of all relations; raises Declined `commitment-width` or `commitment-limit`."""
        if self.cells + (1 << LIMB) >= MOST_CELLS:
            raise Declined("commitment-limit", f"{self.cells} cells", where="circuit", fix="the lookup counts below 2^32: commit with shorter passes")
        return require_widths(self.blocks.values(), self.relations)


def relations(policy: Policy, statement: Statement) -> tuple[Relation, ...]:
    """Return all relations of a certificate; raises as `circuit` does."""
    return circuit(policy, statement).relations


def circuit(policy: Policy, statement: Statement) -> Circuit:
    """Return the circuit, its widths checked.

    Raises Declined `commitment-limit`, `commitment-unit`, `commitment-width` or `property-range`, or Rejected `claim-vacuous`.
    """
    made = assemble(policy, statement)
    made.require()
    return made


def assemble(policy: Policy, statement: Statement) -> Circuit:
    """Return the circuit without a look at its widths, to show them; raises as `circuit` does."""
    policy.require()
    statement.require_ranges(policy)
    steps = len(statement.regions) * sum(1 + len(tau) for tau in policy.tau)
    if steps > MOST_STEPS:
        raise Declined("commitment-limit", f"{steps} steps of passes over {len(statement.regions)} regions", where="circuit",
                       fix=f"at most {MOST_STEPS} are taken: give fewer regions, or commit with shorter passes")
    return _Builder(policy, statement).build()


class _Builder:
    """Collects values, blocks and relations; names of a region's values begin with `prefix`."""

    def __init__(self, policy: Policy, statement: Statement) -> None:
        self.policy, self.statement, self.top = policy, statement, Interval(0, policy.input_top)
        self.values: dict[str, Value] = {}
        self.blocks: dict[str, Block] = {}
        self.relations: list[Relation] = []
        self.prefix: str

    def build(self) -> Circuit:
        """Return the circuit."""
        policy, asked = self.policy, self.statement.asked
        for k, layer in enumerate(policy.layers, start=1):
            plus, minus, bias = values = layer_values(policy, k)
            for value in values:
                self._model(value)
            if isinstance(layer, Conv):
                for name, value in ((f"weight{k}.plus", plus), (f"weight{k}.minus", minus)):
                    self._block(Block(name, (layer.outputs, layer.inputs), "image", image=Image(value.form, layer)))
                self._block(Block(bias.name, (layer.outputs,), "image", image=Image(bias.form, layer)))
        if isinstance(asked, Rows):
            self._public("rows", (len(asked.coefficients), policy.size(policy.depth)), COEFFICIENT)
            self._public("thresholds", (len(asked.coefficients),), THRESHOLD)
        else:
            self._public("rows", (2, policy.size(policy.depth)), COEFFICIENT)
            self._public("gap", (1,), GAP)
            least, most, slack = (self._value(Value(name, (1,), bits, signed=name != "gap.slack"))
                                  for name, bits in (("least", 32), ("most", 32), ("gap.slack", SLACK_BITS)))
            self._add(Linear("gap", "relation-margin", of("gap"), most - least + slack))
        for index, region in enumerate(self.statement.regions):
            self.prefix = f"region{index}."
            self._region(region)
        return Circuit(self.values, self.blocks, tuple(self.relations))

    def _region(self, region: Box | Ball) -> None:
        policy = self.policy
        self._public(f"{self.prefix}start", (policy.size(0),), self.top)
        if isinstance(region, Box):
            self._public(f"{self.prefix}width", (policy.size(0),), self.top)
        else:
            self._public(f"{self.prefix}radius", (1,), RADIUS)
        passes = range(1, policy.depth + 1)
        stepped = {k for m in passes for k, *_ in policy.steps(m)}
        stopped = {policy.stop(m) for m in passes}
        for k in range(1, policy.depth):
            self._bounds(k, k in stepped, k in stopped)
        for m in passes:
            self._pass(m, region)

    def _bounds(self, k: int, stepped: bool, stopped: bool) -> None:
        policy, size, p = self.policy, (self.policy.size(k),), f"{self.prefix}layer{k}."
        lower, upper = (self._value(Value(f"{p}{name}", size, policy.bound_bits, signed=True)) for name in ("lower", "upper"))
        if stopped:
            hull = self._value(Value(f"{p}hull", size, policy.bound_bits))
            gap = self._value(Value(f"{p}hull.slack", size, 2 * LIMB))
            self._value(Value(f"{p}beta", size, 1, top=1))
            self._add(Linear(f"{p}hull", "relation-hull", hull, upper + gap))
        if stepped:
            one = 1 << policy.slope_bits
            self._value(Value(f"{p}alpha", size, LIMB, top=one))
            slope = self._value(Value(f"{p}slope", size, LIMB, top=one))
            rise = self._value(Value(f"{p}intercept", size, policy.intercept_bits)).scaled(one)
            above_upper, upper_end, above_lower, lower_end = (self._value(Value(f"{p}line{i}", size, LINE_BITS)) for i in (1, 2, 3, 4))
            self._add(Linear(f"{p}line1", "relation-line", above_upper, upper_end - upper.scaled(one)))
            self._add(Linear(f"{p}line3", "relation-line", above_lower, lower_end - lower.scaled(one)))
            self._add(Hadamard(f"{p}line2", "relation-line", upper_end - rise, slope, upper))
            self._add(Hadamard(f"{p}line4", "relation-line", lower_end - rise, slope, lower))

    def _pass(self, m: int, region: Box | Ball) -> None:
        policy, p = self.policy, f"{self.prefix}pass{m}."
        rows = 2 * policy.size(m) if m < policy.depth else self.blocks["rows"].shape[0]
        plus, minus, total = self._start(m, rows)
        unit = policy.weight_scale
        for k, unit_before, tau in policy.steps(m):
            q, layer, size = f"{p}step{k}.", f"{self.prefix}layer{k}.", policy.size(k)
            falls = self._define(f"{q}c1", rows, (Product((Factor(minus, "ik"), Factor(self._form(f"{layer}intercept"), "k"))),), power_of_two(size))
            total += self._term(f"{q}c1", rows, falls.scaled(-1), unit_before + policy.bias_scale)
            matrix = (rows, policy.size(k - 1))
            plus_next, minus_next = (self._value(Value(f"{q}{name}", matrix, LIMB)) for name in ("plus", "minus"))
            rest = self._value(Value(f"{q}rest", matrix, LIMB * -(-tau // LIMB))) if tau else Form()
            weight = self._form(f"weight{k}.plus") - self._form(f"weight{k}.minus")
            self._block(Block(f"{q}c2", (rows,), "constant"))
            self._add(Gated(f"{q}step", STEP, (plus_next - minus_next).scaled(1 << tau) + rest, plus, minus, self._form(f"{layer}alpha"),
                            self._form(f"{layer}slope"), weight, self._form(f"bias{k}"), f"{q}c2", power_of_two(size)))
            total += self._term(f"{q}c2", rows, of(f"{q}c2"), unit_before + policy.slope_bits + policy.bias_scale)
            if k == 1 and tau and policy.remainder and isinstance(region, Box):
                kept = self._define(f"{q}c4", rows, (Product((Factor(rest, "ik"), Factor(of(f"{self.prefix}start"), "k"))),), policy.size(0))
                total += self._term(f"{q}c4", rows, kept, unit_before + policy.slope_bits + policy.weight_scale + policy.input_scale)
            plus, minus, unit = plus_next, minus_next, policy.after(unit_before, tau)
        total += self._concrete(p, policy.stop(m), rows, plus, minus, unit, region)
        self._close(m, rows, total)

    def _start(self, m: int, rows: int) -> tuple[Form, Form, Form]:
        """Return the coefficients of a pass at its layer's input, and the term of the layer's biases."""
        plus, minus, bias, aligned = (*(self._form(f"weight{m}.{name}") for name in ("plus", "minus")), self._form(f"bias{m}"), self._aligned)
        if m < self.policy.depth:
            return plus.on(0) + minus.on(1), minus.on(0) + plus.on(1), (bias.on(0) - bias.on(1)).scaled(aligned)
        p, outputs = f"{self.prefix}pass{m}.", self.policy.size(m)
        first, second = (self._value(Value(f"{p}start.{name}", (rows, self.policy.size(m - 1)), LIMB)) for name in ("plus", "minus"))
        asked = Factor(of("rows"), "ik")
        self._add(Inner(f"{p}start", "relation-margin", first - second, (Product((asked, Factor(plus - minus, "kj"))),), outputs))
        return first, second, self._define(f"{p}bias", rows, (Product((asked, Factor(bias, "k"))),), outputs).scaled(aligned)

    def _concrete(self, p: str, stop: int, rows: int, plus: Form, minus: Form, unit: int, region: Box | Ball) -> Form:
        """Return the term of the least value of the coefficients at the value where a pass stops."""
        policy, h = self.policy, plus - minus
        if stop:
            layer = f"{self.prefix}layer{stop}."
            active = Factor(self._form(f"{layer}beta"), "k"), Factor(self._form(f"{layer}lower"), "k")
            c3 = self._define(f"{p}c3", rows, (Product((Factor(plus, "ik"), *active)),
                                               Product((Factor(minus, "ik"), Factor(self._form(f"{layer}hull"), "k")), -1)),
                              power_of_two(policy.size(stop)))
            return self._term(f"{p}c3", rows, c3, unit + policy.bias_scale)
        at_start = Product((Factor(h, "ik"), Factor(of(f"{self.prefix}start"), "k")))
        if isinstance(region, Box):
            across = Product((Factor(minus, "ik"), Factor(of(f"{self.prefix}width"), "k")), -1)
            return self._term(f"{p}c3", rows, self._define(f"{p}c3", rows, (at_start, across), policy.size(0)), unit + policy.input_scale)
        centre = self._define(f"{p}centre", rows, (at_start,), policy.size(0))
        square = self._define(f"{p}square", rows, (Product((Factor(h, "ik"), Factor(h, "ik"))),), power_of_two(policy.size(0)))
        root = self._value(Value(f"{p}root", (rows,), ROOT_BITS))
        slack = self._value(Value(f"{p}root.slack", (rows,), 2 * LIMB))
        self._add(Hadamard(f"{p}root", CONSTANT, square.scaled(1 << 8) + slack, root, root))
        self._block(Block(f"{p}reach", (rows,), "constant"))
        self._add(Hadamard(f"{p}reach", CONSTANT, of(f"{p}reach"), of(f"{self.prefix}radius"), root, f"{p}reach"))
        return self._term(f"{p}c3", rows, centre.scaled(1 << 4) - of(f"{p}reach"), unit + policy.input_scale + 4)

    def _close(self, m: int, rows: int, total: Form) -> None:
        p = f"{self.prefix}pass{m}."
        slack = self._value(Value(f"{p}slack", (rows,), SLACK_BITS))
        if m < self.policy.depth:
            layer = f"{self.prefix}layer{m}."
            bound = self._form(f"{layer}lower").on(0) - self._form(f"{layer}upper").on(1)
            self._add(Linear(f"{p}closure", "relation-closure", bound.scaled(self._aligned) + slack, total))
        elif isinstance(self.statement.asked, Score):
            bound = self._form("least").on(0) - self._form("most").on(1)
            self._add(Linear(f"{p}closure", "relation-margin", bound.scaled(self._aligned) + slack, total))
        else:
            self._add(Linear(f"{p}closure", "relation-margin", of("thresholds") + slack, total))

    def _term(self, name: str, rows: int, value: Form, unit: int) -> Form:
        """Return a value in units 2^-unit as a term of a total, rounded down where the units of totals are coarser."""
        excess = unit - self.policy.total_scale
        if excess <= 0:
            return value.scaled(1 << -excess)
        bits = min(FLOOR_BITS, FLOOR_TOP - excess)
        if bits < FLOOR_LEAST:
            raise Declined("commitment-width", f"{name} is in units of 2^-{unit}: {bits} bits are left for its floor", where=name,
                           fix="commit again with coarser units")
        floored = self._value(Value(f"{name}.floor", (rows,), bits, signed=True))
        rest = self._value(Value(f"{name}.rest", (rows,), LIMB * -(-excess // LIMB)))
        self._add(Linear(f"{name}.floor", FLOOR, floored.scaled(1 << excess) + rest, value))
        return floored

    def _define(self, name: str, rows: int, products: tuple[Product, ...], count: int) -> Form:
        self._block(Block(name, (rows,), "constant"))
        self._add(Inner(name, CONSTANT, of(name), products, count, name))
        return of(name)

    def _model(self, value: Value) -> None:
        form = self._value(value)
        if value.shape != value.dimensions:
            self._add(Linear(f"{value.name}.padding", "relation-padding", form, Form(), outside=value.dimensions))

    def _value(self, value: Value) -> Form:
        self.values[value.name] = value
        for block in value.blocks():
            self._block(block)
        self.relations.extend(value.ranges())
        return value.form

    def _public(self, name: str, dimensions: tuple[int, ...], declared: Interval) -> None:
        """Take public integers; padding of their cubes is 0."""
        self._block(Block(name, dimensions, "public", range=declared.joined(Interval(0, 0))))

    def _block(self, block: Block) -> None:
        if block.name in self.blocks:
            raise ValueError(f"two blocks are called {block.name}")
        self.blocks[block.name] = block

    def _add(self, relation: Relation) -> None:
        self.relations.append(relation)

    def _form(self, name: str) -> Form:
        return of(name) if name in self.blocks else self.values[name].form

    @property
    def _aligned(self) -> int:
        """Bounds and biases in units of totals."""
        return 1 << (self.policy.total_scale - self.policy.bias_scale)
