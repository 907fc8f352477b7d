# SPDX-License-Identifier: Apache-2.0
"""A network and an unsafe set of (input, output) pairs, and the proof by a bounds tree that it is not reached.

Shared by `region` and `robust`. `establish` proves: no x of any part and y = f(x) satisfies all rows of a conjunct of
that part. The opposite is shown by one point, `counterexample`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from certify.certificate import ArraySpec, Evidence, EvidenceSpec
from certify.errors import Declined, Rejected
from certify.fields import Field, Integer, ListOf, Rational, Record, Text
from certify.limits import Limits
from certify.readers.formula import Part
from certify.readers.network import Network

if TYPE_CHECKING:
    from certify.rules.bounds_tree import Figures
    from certify.rules.fixed_point import FixedPoint
    from certify.rules.relaxation import Relaxation

_ITEMS: Mapping[str, Field] = {"arithmetic": Text(r"[a-z0-9-]+"), "fraction_bits": Integer(), "witness": ListOf(Rational(), least=1)}
BOUNDS_TREE = EvidenceSpec(
    "bounds-tree", 1, Record(_ITEMS, optional=frozenset({"fraction_bits", "witness"})),
    {"tree": ArraySpec("<i4", 1), "split_at": ArraySpec("<f8", 1), "recompute": ArraySpec("|u1", 1), "row": ArraySpec("<i4", 1),
     "mix": ArraySpec("<f8", 1), "slope": ArraySpec("|u1", 2), "leaf_slope": ArraySpec("<i4", 1), "node_slope": ArraySpec("<i4", 1),
     "beta": ArraySpec("<f8", 1)},
    required=frozenset({"tree"}), reserved=frozenset({"upper_slope", "tangent"}),
)
EXCLUDED = (" (inputs rounded to float32, sums in any order; not meant: Winograd, FFT or Strassen, TF32, bfloat16, float16 or int8, "
            "rewritten weights)")
WITNESS = EvidenceSpec("witness", 1, Record({"point": ListOf(Rational(), least=1)}))


@dataclass(frozen=True)
class UnsafeSet:
    """The problem that the checker rebuilds from the subject files, and provers solve.

    Inputs of `network` and `parts` are what the graph gets; a point of the claim is `multiply` times that plus `add`, input by input.
    `empty` counts parts that no input belongs to. `semantics` says which function the network is: `real`, or every one of its float32
    executions (`exec32`).
    """

    network: Network
    parts: tuple[Part, ...]
    empty: int
    multiply: tuple[Fraction, ...]
    add: tuple[Fraction, ...]
    semantics: str = "real"

    @property
    def premises(self) -> frozenset[str]:
        """The assumptions on which a statement about the network rests."""
        return frozenset({"real-arithmetic"} if self.semantics == "real" else ())

    def network_input(self, point: Sequence[Fraction]) -> tuple[Fraction, ...]:
        """Return what the network gets at a point in the claim's coordinates."""
        return tuple((v - a) / m for v, a, m in zip(point, self.add, self.multiply, strict=True))


def constrained(part: Part) -> bool:
    """Return whether every conjunct of a part constrains the inputs beyond its box, so that it may be empty."""
    return all(any(not row.outputs for row in conjunct) for conjunct in part.conjuncts)


def inhabits(part: Part, x: tuple[Fraction, ...]) -> bool:
    """Return whether x lies in the part's input set: its box, and the input constraints of one of its conjuncts."""
    return part.holds_input(x) and any(all(row.outputs or row.holds(x, ()) for row in conjunct) for conjunct in part.conjuncts)


def charge_point(parts: Sequence[Part], x: Sequence[Fraction], y: Sequence[Fraction], limits: Limits) -> None:
    """Charge the tests of a point against boxes, balls and rows: sums of rationals are quadratic in the length of their denominators."""
    long, wide = _words(x), _words(y)
    for part in parts:
        rows = sum(2 + long**2 * len(row.inputs) + wide**2 * len(row.outputs) for conjunct in part.conjuncts for row in conjunct)
        limits.spend(20 * (len(x) * long ** (2 if part.ball is not None else 1) + rows) + 2000 * len(part.conjuncts), "testing a point exactly")


def _words(values: Sequence[Fraction]) -> int:
    return 1 + sum(d.bit_length() for d in {v.denominator for v in values}) // 64


def arithmetic(network: Network, semantics: str, evidence: Evidence, limits: Limits) -> Relaxation | FixedPoint:
    """Return the arithmetic that the evidence names, for the network under its semantics; raises Rejected or Declined."""
    name, bits = evidence.items["arithmetic"], evidence.items.get("fraction_bits")
    if name not in ("f64-gamma", "exact-int"):
        raise Declined("version-unknown", f"this checker doesn't know the arithmetic {name!r}", where="evidence.items.arithmetic",
                       fix="verify it with a newer version of certify")
    if name == "f64-gamma" and bits is not None:
        raise Rejected("unused-evidence", "f64-gamma has no fraction bits", where="evidence.items.fraction_bits")
    rounding = slopes = None
    if semantics == "exec32":
        from certify.rules.float32 import Rounding
        rounding = Rounding(network)
    if "slope" in evidence.arrays:
        from certify.rules.slopes import slope_sets
        slopes = slope_sets(network, evidence.arrays["slope"], limits)
    if name == "f64-gamma":
        from certify.rules.relaxation import Relaxation
        return Relaxation(network, limits, slopes, rounding)
    if bits is None or not 16 <= bits <= 4096:
        raise Rejected("evidence-range", "exact-int counts in units of 2^-fraction_bits, from 16 to 4096", where="evidence.items.fraction_bits")
    from certify.rules.fixed_point import FixedPoint
    return FixedPoint(network, limits, bits, slopes, rounding)


def establish(unsafe: UnsafeSet, evidence: Evidence, limits: Limits) -> Figures:
    """Return figures if the evidence shows that no pair of the unsafe set is reached; raises Rejected or Declined."""
    if not unsafe.parts:
        raise Rejected("claim-vacuous", "no input belongs to the region", fix="check the bounds of the property: lower ends lie above upper ends")
    point = evidence.items.get("witness")
    if (point is not None) != all(constrained(part) for part in unsafe.parts):
        raise Rejected("unused-evidence" if point is not None else "claim-vacuous",
                       "a point that shows that the region has inputs is needed where every part "
                       "constrains its inputs beyond a box, and nowhere else", where="evidence.items.witness")
    if point is not None:
        charge_point(unsafe.parts, point, (), limits)
    if point is not None and (len(point) != unsafe.network.inputs or not any(inhabits(part, unsafe.network_input(point)) for part in unsafe.parts)):
        raise Rejected("claim-vacuous", "the point that should show that the region has inputs is not in it", where="evidence.items.witness")
    from certify.rules import bounds_tree
    return bounds_tree.check(arithmetic(unsafe.network, unsafe.semantics, evidence, limits), unsafe.parts, evidence.arrays, limits)
