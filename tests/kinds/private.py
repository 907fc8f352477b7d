# SPDX-License-Identifier: Apache-2.0
"""Private claims: tiny committed networks with all kinds of claims, mutants of everything that a file holds, and their truth.

An argument is bound to all that its certificate says, so the only mutant that may be verified is one that changed nothing; a claim that is verified
is compared with values of the network at points of its region, in exact rationals.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal, getcontext
from fractions import Fraction
from importlib.util import find_spec
from itertools import pairwise
from typing import Any

import numpy as np

from certify import registry
from certify.claims import private, private_fair
from certify.limits import Limits
from certify.readers.commitment import Commitment, encode_commitment
from certify.rules.argument import bound, encoded, premises
from certify_zk import owner
from certify_zk.calibration import fitted
from certify_zk.hyrax_prover import Points
from certify_zk.hyrax_prover import prove as prove_by_points
from certify_zk.policy import Dense, InputMap, Policy
from certify_zk.prover import prove
from certify_zk.soundness import choose
from certify_zk.statement import Rows, Statement
from certify_zk.witness import Model, Witness, witness
from toolkit import Specimen
from zk.arguments import COUNTS
from zk.tiny import values

getcontext().prec = 60
COSTLY = True
"""A mutant takes a tenth of a second, so fewer are tried."""
SIDES = ("proved",)
POINTS = find_spec("py_arkworks_bls12381") is not None
"""Whether some networks are committed by points."""
NOBODY: Mapping[str, Any] = {"audience": None, "nonce": None, "expires": None}


@dataclass(frozen=True)
class Instance:
    """A committed network, and the points of the claim's region at which it is looked at, with what they must satisfy."""

    policy: Policy
    model: Model
    original: Specimen

    def scores(self, point: tuple[Fraction, ...]) -> list[Fraction]:
        """Return the outputs at an input in the property's units, exactly."""
        offset, scale = self.policy.inputs.offset[0], self.policy.inputs.scale[0]
        return values(self.policy, self.model, [(value - offset) * scale for value in point])[-1]


def side(valid: Specimen) -> str:
    """Every claim is shown one way."""
    return "proved"


def network(rng: np.random.Generator, sizes: tuple[int, ...], columns: int, modes: tuple[str, ...]) -> tuple[Policy, Model]:
    """Return a policy whose inputs are shifted and scaled, with full passes or shorter ones, and integers for it."""
    offset, scale = Fraction(int(rng.integers(-3, 1))), Fraction(1, int(rng.integers(1, 4)))
    modes = ("crown", *(str(rng.choice(modes)) for _ in sizes[2:]))
    made = Policy(tuple(Dense(a, b) for a, b in pairwise(sizes)), modes, ((),) * (len(sizes) - 1),
                  InputMap.uniform(offset, scale, offset, offset + 4), input_scale=6)
    model = Model(tuple(rng.integers(-3 << 11, 3 << 11, (b, a)) for a, b in pairwise(sizes)),
                  tuple(rng.integers(-1 << 11, 1 << 11, b) for b in sizes[1:]))
    some = Statement(private.private_statement.boxes(made, [((offset,) * sizes[0], (offset + 4,) * sizes[0])], Limits()), _anything(sizes[-1]))
    chosen = choose(100, 1, columns, 4 * columns, COUNTS)
    sizes_of = {"uses": 1, "queries": chosen.queries, "pads": chosen.code.pads, "columns": columns, "codeword": 4 * columns}
    return replace(fitted(made, model, [some]), **sizes_of), model


def _anything(outputs: int) -> Any:
    return Rows((tuple(int(index == 0) for index in range(outputs)),), (-(1 << 46),))


def property_text(boxes: list[tuple[list[Fraction], list[Fraction]]], outputs: int, unsafe: str) -> bytes:
    """Return a VNN-LIB 1.0 file with a disjunction of boxes and an unsafe set."""
    inputs = len(boxes[0][0])
    lines = [f"(declare-const X_{i} Real)" for i in range(inputs)] + [f"(declare-const Y_{i} Real)" for i in range(outputs)]
    each = ["(and " + " ".join(f"(>= X_{i} {decimal(low)}) (<= X_{i} {decimal(high)})" for i, (low, high) in enumerate(zip(*box, strict=True))) + ")"
            for box in boxes]
    return "\n".join([*lines, f"(assert (or {' '.join(each)}))", f"(assert {unsafe})"]).encode() + b"\n"


def decimal(value: Fraction) -> str:
    """Return the decimal of a rational that has one."""
    text = format(Decimal(value.numerator) / Decimal(value.denominator), "f")
    if Fraction(text) != value:
        raise ValueError(f"{value} is no decimal")
    return text


def others(outputs: int, label: int) -> str:
    """Return the unsafe set that another class is at least as high."""
    return "(or " + " ".join(f"(and (>= Y_{c} Y_{label}))" for c in range(outputs) if c != label) + ")"


def sealed(policy: Policy, model: Model, kind: str, files: Mapping[str, tuple[str, bytes]], given: Mapping[str, Any],
           says: Mapping[str, Any], seed: int) -> Specimen | None:
    """Return a certificate of a claim, or None where no witness was found; randomness is that of a seed."""
    rng = np.random.default_rng(seed)
    key = rng.bytes(32)
    rows = owner.committed(policy, model, key)
    named = {"commitment": ("net.commit", encode_commitment(Commitment(policy, owner.model_rows(policy), rows.root))), **files}
    known, contents = registry.kind(kind), {role: data for role, (_, data) in named.items()}
    asked = private_fair.statement_of if kind == "private-fair" else lambda *args: private.private_statement_of(kind, *args)
    _, statement = asked(given, says, contents, Limits())
    seen = witness(policy, model, statement)
    if not isinstance(seen, Witness):
        return None
    roles = {role: name for role, (name, _) in named.items()}
    claim, made = bound(known, roles, contents, given, says), None
    if isinstance(rows, Points):
        made = prove_by_points(policy, statement, claim, seen.tables, rows, rng.bytes)
    else:
        made = prove(policy, seen.circuit, statement, claim, seen.tables, rows, rng.bytes)
    commitment = Commitment(policy, owner.model_rows(policy), rows.root)
    return Specimen(kind, named, dict(known.given.encode(given)), dict(known.says.encode(says)), policy.backend, {}, dict(encoded(made)),
                    sorted(premises(commitment)))


Maker = Callable[[np.random.Generator], tuple[Instance, Specimen] | None]


def by_points(policy: Policy) -> Policy:
    """Return the policy with the backend hyrax, which has no code."""
    return replace(policy, backend="hyrax", columns=256, queries=0, pads=0, codeword=0)


def maker(kind: str, columns: int = 512, modes: tuple[str, ...] = ("crown", "ibp")) -> Maker:
    """Return what makes a random instance of a kind, with a certificate, or None where none was found."""
    def specimen(rng: np.random.Generator) -> tuple[Instance, Specimen] | None:
        sizes = (int(rng.integers(2, 4)), *(int(rng.integers(2, 4)) for _ in range(int(rng.integers(1, 3)))), 1 if kind == "private-fair" else 3)
        policy, model = network(rng, sizes, columns, modes)
        if len(modes) > 1 and POINTS and rng.random() < 0.25:
            policy = by_points(policy)
        centre = [policy.inputs.offset[0] + Fraction(int(rng.integers(40, 360)), 100) for _ in range(sizes[0])]
        width = Fraction(int(rng.integers(0, 20)), 1000) if kind in ("private-robust", "private-linear", "private-score") else Fraction(0)
        boxes = [([c - width for c in centre], [c + width for c in centre])]
        blank = Instance(policy, model, Specimen(kind, {}, {}, {}, ""))
        files, given, says = _question(kind, rng, blank, centre, boxes)
        found = sealed(policy, model, kind, files, given, says, int(rng.integers(1 << 30)))
        if found is None:
            return None
        made = replace(blank, original=found.copy())
        require_true(made, found, [tuple(centre), *map(tuple, boxes[0])])
        return made, found
    return specimen


def _question(kind: str, rng: np.random.Generator, made: Instance, centre: list[Fraction],
              boxes: list[tuple[list[Fraction], list[Fraction]]]) -> tuple[dict[str, tuple[str, bytes]], dict[str, Any], dict[str, Any]]:
    """Return files, given and says of a claim that is likely true."""
    scores = made.scores(tuple(centre))
    best, outputs = scores.index(max(scores)), len(scores)
    given: dict[str, Any] = {"format": "vnnlib-1", "context": {**NOBODY, "nonce": str(rng.integers(100))}}
    if kind == "private-fair":
        above = Fraction(int(scores[0]) - 40 if rng.random() < 0.5 else int(scores[0]) + 40)
        low, high = made.policy.inputs.lower[0], made.policy.inputs.upper[0]
        features = [{"kind": "real", "name": f"x{i}", "lower": str(low), "upper": str(high)} for i in range(len(centre) - 1)]
        features.append({"kind": "choice", "name": "group", "values": [str(low), str(low + 1)]})
        schema = {"decision": {"favourable_above": str(above)}, "features": features, "sensitive": ["group"], "tolerances": {"x0": "1/100"}}
        table = [*(f"x{i}" for i in range(len(centre) - 1)), "group"], [*map(decimal, centre[:-1]), decimal(low + 1)]
        rows = "".join(",".join(line) + "\n" for line in table)
        files = {"schema": ("s.schema", json.dumps(schema, sort_keys=True, separators=(",", ":")).encode()), "points": ("p.csv", rows.encode())}
        return files, {"row": 0, "context": given["context"]}, {"decision": int(scores[0] > above)}
    unsafe = others(outputs, best)
    if kind == "private-linear":
        unsafe = f"(or (and (>= Y_0 {int(scores[0]) + 3})) (and (<= Y_1 {int(scores[1]) - 3})))"
    if kind == "private-counterexample":
        grid = 1 << made.policy.input_scale
        scale, offset = made.policy.inputs.scale[0], made.policy.inputs.offset[0]
        given["point"] = tuple(Fraction(round((c - offset) * scale * grid), grid) / scale + offset for c in centre)
        boxes[0] = ([c - Fraction(1, 2) for c in centre], [c + Fraction(1, 2) for c in centre])
        unsafe, wrong = others(outputs, (best + 1) % outputs), best
    files = {"property": ("p.vnnlib", property_text(boxes, outputs, unsafe))}
    if kind == "private-score":
        return files, {**given, "output": best}, {"score_gap_at_most": Fraction(5, 2)}
    if kind == "private-linear":
        return files, given, {}
    if kind == "private-counterexample":
        return files, given, {"label_wrong": wrong}
    margin = {"label": best, "margin_at_least": Fraction(int(rng.integers(1, 9)), 1 << made.policy.total_scale)}
    return files, {**given, "radius_l2": Fraction(1, 100)} if kind == "private-ball" else given, margin


def require_true(made: Instance, some: Specimen, points: list[tuple[Fraction, ...]]) -> None:
    """Raise AssertionError where a claim contradicts a value of the network."""
    found = [made.scores(point) for point in points]
    says = some.says
    if some.kind in ("private-robust", "private-ball"):
        label, margin = says["label"], Fraction(says["margin_at_least"])
        assert all(scores[label] - other >= margin for scores in found for c, other in enumerate(scores) if c != label)
    if some.kind == "private-score":
        shown = [scores[some.given["output"]] for scores in found]
        assert max(shown) - min(shown) <= Fraction(says["score_gap_at_most"])
    if some.kind == "private-counterexample":
        scores = made.scores(tuple(map(Fraction, some.given["point"])))
        assert scores[says["label_wrong"]] == max(scores)


# Mutators

def nothing(specimen: Specimen, rng: np.random.Generator) -> str:
    """Change nothing."""
    return "nothing"


def array(specimen: Specimen, rng: np.random.Generator) -> str:
    """Change one bit, add the prime, swap two rows, or cut one off, of an array."""
    key = str(rng.choice(sorted(specimen.arrays)))
    table = specimen.arrays[key].copy()
    place, how = tuple(int(rng.integers(size)) for size in table.shape), int(rng.integers(4))
    if how == 0 or (how == 1 and table.dtype != np.uint64):
        table[place] ^= table.dtype.type(1 << int(rng.integers(8 * table.dtype.itemsize)))
    elif how == 1:
        table[place] = (int(table[place]) + (1 << 64) - (1 << 32) + 1) % (1 << 64)
    elif how == 2:
        other = int(rng.integers(len(table)))
        table[[place[0], other]] = table[[other, place[0]]]
    else:
        table = table[:-1]
    specimen.arrays[key] = table
    return f"{key} changed"


def context(specimen: Specimen, rng: np.random.Generator) -> str:
    """Make it for someone else, with another nonce or another day."""
    name, text = (("audience", "someone"), ("nonce", "123456"), ("expires", "2030-01-01"))[int(rng.integers(3))]
    specimen.given = {**specimen.given, "context": {**specimen.given["context"], name: text}}
    return f"{name} changed"


def claim(specimen: Specimen, rng: np.random.Generator) -> str:
    """Say more, or something else."""
    fields = {f"given.{name}": name for name in specimen.given if name not in ("context", "format")}
    fields |= {f"says.{name}": name for name in specimen.says}
    if not fields:
        return "nothing"
    path = str(rng.choice(sorted(fields)))
    target = dict(specimen.given if path.startswith("given") else specimen.says)
    value = target[fields[path]]
    if isinstance(value, int):
        target[fields[path]] = max(0, value + int(rng.choice([-1, 1])))
    elif isinstance(value, list):
        target[fields[path]] = [value[0], *[str(Fraction(entry) + Fraction(1, 64)) for entry in value[1:]]]
    else:
        target[fields[path]] = str(Fraction(value) * Fraction(int(rng.choice([1, 3])), 2))
    specimen.given, specimen.says = (target, specimen.says) if path.startswith("given") else (specimen.given, target)
    return f"{path} changed"


def files(specimen: Specimen, rng: np.random.Generator) -> str:
    """Change a digit of a subject file, or the name of one."""
    role = str(rng.choice(sorted(specimen.files)))
    name, data = specimen.files[role]
    if rng.random() < 0.2:
        specimen.files = {**specimen.files, role: ("x" + name, data)}
        return f"{role} has another name"
    digits = [index for index, byte in enumerate(data) if byte in b"123456789"]
    place = digits[int(rng.integers(len(digits)))]
    specimen.files = {**specimen.files, role: (name, data[:place] + str(int(rng.integers(1, 10))).encode() + data[place + 1 :])}
    return f"{role} changed"


def kind(specimen: Specimen, rng: np.random.Generator) -> str:
    """Call it a claim of another kind."""
    specimen.kind = str(rng.choice(sorted(set(private.KINDS) - {specimen.kind})))
    return "the kind changed"


def assumptions(specimen: Specimen, rng: np.random.Generator) -> str:
    """List an assumption less, or one more."""
    specimen.assumptions = specimen.assumptions[1:] if rng.random() < 0.5 else [*specimen.assumptions, "dc-power-flow"]
    return "assumptions changed"


MUTATORS = (nothing, nothing, array, array, array, context, claim, claim, files, files, kind, assumptions)


def mutate(made: Instance, valid: Specimen, rng: np.random.Generator) -> tuple[Specimen, str, bool]:
    """Return a mutant, what was changed, and whether it may be verified: whether it is the original."""
    mutant = valid.copy()
    words = MUTATORS[int(rng.integers(len(MUTATORS)))](mutant, rng)
    return mutant, words, mutant.seal() == made.original.seal()


@dataclass(frozen=True)
class Mutants:
    """The mutants of one kind, as the tests of mutants take them from a module."""

    specimen: Maker
    mutate: Callable[[Instance, Specimen, np.random.Generator], tuple[Specimen, str, bool]] = mutate
    side: Callable[[Specimen], str] = side
    SIDES: tuple[str, ...] = SIDES
    COSTLY: bool = COSTLY


KINDS = {name: Mutants(maker(name)) for name in (*private.KINDS, private_fair.KIND.name)}
