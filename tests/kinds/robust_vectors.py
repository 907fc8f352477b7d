# SPDX-License-Identifier: Apache-2.0
"""Test vectors of `robust`: a ramp against constants as a classifier of points with two features, and the attacks on it."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from fractions import Fraction

import numpy as np

from kinds import arithmetic_vectors, limit_vectors
from kinds.attacks import Bases, Vector, ask, put, say, shared, vector
from toolkit import Layers, Specimen, model, npy

POINTS = np.array([[8, 8], [0, 0], [16, 4]], np.uint8)


def classifier(*levels: float) -> Layers:
    """Return outputs min(x_0+, 1/4) + x_1+/8 against constant levels: class k + 1 wins where its level is highest."""
    return (([[1, 0], [1, 0], [0, 1]], [0, -0.25, 0]), ([[1, -1, 0.125], *[[0, 0, 0]] * len(levels)], [0, *levels]))


def specimen(*levels: float, **fields: object) -> Specimen:
    """Return a specimen: class 1 within 1 (scaled) of the point 0."""
    given = {"row": 1, "label": 1, "norm": "linf", "radius": "1", "radius_unit": "scaled", "clip": None, "scale": "1/16", "subtract": "0",
             "divide": "1", "semantics": "real"}
    made = Specimen("robust", {"model": ("ramp.onnx", model(classifier(*levels))), "points": ("points.npy", npy(POINTS))}, given, {"holds": True},
                    "bounds-tree", {"arithmetic": "f64-gamma"}, {"tree": np.array([-1], "<i4")})
    made.box = made.network_box = ([Fraction(-1)] * 2, [Fraction(1)] * 2)
    for key, value in fields.items():
        setattr(made, key, value)
    return made


def bases() -> Bases:
    """Return the valid specimens that attacks start from."""
    split = specimen(0.5, arrays={"tree": np.array([0, -1, -2], "<i4"), "split_at": np.array([0.0]), "recompute": np.ones(3, "|u1")})
    mixed = specimen(2, 1, arrays={"tree": np.array([0, -1, -2], "<i4"), "split_at": np.array([0.0]), "row": np.array([0, -1, -1, 0], "<i4"),
                                   "mix": np.array([1.5, 0.5])})
    witness = specimen(0.25, says={"holds": False}, evidence="witness", items={"point": ["1/2", "1/3"]}, arrays={})
    return Bases(specimen(2), split, mixed, witness, [str(Fraction(1, 4) - Fraction(1, 10**30)), "-1"])


def vectors() -> Iterator[Vector]:
    """Yield all vectors of `robust`."""
    yield from shared(bases())
    yield from arithmetic_vectors.shared(bases())
    yield from limit_vectors.shared(bases())
    yield from limit_vectors.memory(bases())
    yield from arithmetic_vectors.balls(lambda: specimen(2))
    yield from _long_points()
    leaf, tight = bases().leaf, specimen(0.375 + 2.0**-20)  # CROWN needs the split; the true maximum is 3/8
    halves = put(tree=("<i4", [0, -1, -2]), split_at=("<f8", [0.0]), recompute=("|u1", [1, 1, 1]))
    yield vector("tight", "verified", "", tight, "none: a margin of 2^-20", halves)
    yield vector("tight-violated-by-ties", "rejected", "leaf-uncovered", specimen(0.375), ">= 0 in place of > 0: a tie is not the label", halves)
    yield vector("tie-refutes", "verified", "", specimen(0.375, says={"holds": False}, evidence="witness", items={"point": ["1/2", "1"]}, arrays={}),
                 "none: a tie is a counterexample")
    yield vector("radius-enlarged", "rejected", "leaf-uncovered", specimen(0.375 + 2.0**-20), "the radius of the claim is not used",
                 lambda s: (halves(s), s.given.update(radius="9/8")))
    yield vector("radius-enlarged-by-a-hair", "rejected", "leaf-uncovered", specimen(0.375), "the radius is rounded to nearest",
                 lambda s: (halves(s), s.given.update(radius=str(1 + Fraction(1, 10**30)))))
    yield vector("radius-zero", "rejected", "radius-sign", leaf, "a ball of radius 0", ask(radius="0"))
    yield vector("radius-negative", "rejected", "radius-sign", leaf, "a negative radius gives an empty box", ask(radius="-1"),
                 effect="a proof of anything")
    yield vector("radius-raw", "verified", "", leaf, "none: a raw radius is multiplied by scale", ask(radius="16", radius_unit="raw"))
    yield vector("radius-unit-swapped", "rejected", "leaf-uncovered", bases().split, "the unit of the radius is not read",
                 lambda s: (s.given.update(radius="16"), put(tree=("<i4", [-1]), split_at=None, recompute=None)(s)))
    yield vector("label-other", "rejected", "leaf-uncovered", leaf, "the label of the claim is not used", ask(label=0))
    yield vector("label-beyond-outputs", "rejected", "label-range", leaf, "no other class beats a class that does not exist", ask(label=2),
                 effect="a proof of anything")
    yield vector("one-output", "rejected", "label-range", specimen(), "no other class: vacuously robust", ask(label=0), effect="a proof of anything")
    yield vector("label-negative", "rejected", "malformed", leaf, "negative indices count from the end", ask(label=-1))
    yield vector("clipped", "verified", "", specimen(0.5), "none: clipped to [0, 1] one leaf is enough", ask(clip=["0", "1"]))
    yield vector("clip-widened", "rejected", "leaf-uncovered", specimen(0.5), "the clip of the claim is not used", ask(clip=["-1", "1"]))
    yield vector("clip-removed", "rejected", "leaf-uncovered", specimen(0.5), "no clip is read as [0, 1]", ask(clip=None))
    yield vector("clip-excludes-the-point", "rejected", "outside-domain", leaf, "a clip that empties the ball", ask(clip=["1/2", "1"]),
                 effect="a proof of anything")
    yield vector("clip-reversed", "rejected", "outside-domain", leaf, "a clip that empties the ball", ask(clip=["1", "0"]),
                 effect="a proof of anything")
    yield vector("clip-of-one-value", "verified", "", specimen(0.5), "none: both ends belong to the clip range", ask(clip=["0", "0"]))
    yield vector("clip-one-end", "rejected", "malformed", leaf, "a missing end is infinite", ask(clip=["0"]))
    yield vector("clip-three-ends", "rejected", "malformed", leaf, "further ends are ignored", ask(clip=["0", "1", "2"]))
    yield vector("norm-unknown", "rejected", "malformed", leaf, "the norm is not read", ask(norm="linfty"))
    yield vector("row-swapped", "rejected", "leaf-uncovered", specimen(0.375 + 2.0**-20), "another row's ball is checked",
                 lambda s: (halves(s), s.given.update(row=0)))
    yield vector("row-beyond-the-file", "rejected", "claim-mismatch", leaf, "rows wrap around", ask(row=3))
    yield vector("scale-other", "rejected", "leaf-uncovered", specimen(0.5), "the scale of the claim is not used", ask(row=0, scale="1/8"))
    yield vector("scale-zero", "rejected", "malformed", leaf, "everything is scaled to zero", ask(scale="0"))
    yield vector("divide-zero", "rejected", "malformed", leaf, "division by zero", ask(divide="0"))
    yield vector("divide-negative", "rejected", "malformed", leaf, "a negative divisor swaps the ends", ask(divide="-1"))
    yield vector("divide-for-three-channels", "rejected", "claim-mismatch", leaf, "missing channels are 1", ask(divide=["1", "1", "1"]))
    yield vector("divide-for-one-of-two-channels", "rejected", "claim-mismatch", leaf, "missing channels are 1", ask(divide=["1"]))
    yield vector("preprocessed", "verified", "", leaf, "none: one value a channel", ask(subtract=["1/2", "1/4"], divide=["1/3", "2"]))
    for name, point, code in (("", "-1/2", ""), ("-outside", "-9/8", "outside-domain"), ("-safe", "-3/4", "witness-fails")):
        # the network gets (x_0 + 1) / 3: 1/6 at -1/2, 1/12 at -3/4
        yield vector(f"preprocessed-counterexample{name}", "rejected" if code else "verified", code,
                     specimen(1 / 6 - 2.0**-20, says={"holds": False}, evidence="witness", items={"point": [point, "-1"]}, arrays={}),
                     "preprocessing of the claim is not used for points" if code else "none: a point in the units of the claim",
                     ask(subtract="-1", divide="3"))
    yield vector("preprocessing-dropped", "rejected", "leaf-uncovered", specimen(0.5), "preprocessing of the claim is not used",
                 ask(clip=["0", "1"], subtract="-1"))
    labels = npy(np.array([0, 1, 0]))
    yield vector("labels-agree", "verified", "", leaf, "none: the label is the file's", say(files={**leaf.files, "labels": ("labels.npy", labels)}))
    yield vector("labels-disagree", "rejected", "claim-mismatch", leaf, "the labels file is not read",
                 lambda s: s.files.update(labels=("labels.npy", npy(np.array([0, 0, 0])))))
    yield vector("labels-too-few", "rejected", "claim-mismatch", leaf, "a missing label agrees",
                 lambda s: s.files.update(labels=("labels.npy", npy(np.array([1])))))
    yield vector("labels-not-integers", "rejected", "claim-mismatch", leaf, "1.0 is a label",
                 lambda s: s.files.update(labels=("labels.npy", npy(np.array([0.0, 1.0, 0.0])))))
    yield vector("labels-scalar", "rejected", "claim-mismatch", leaf, "a scalar is a label",
                 lambda s: s.files.update(labels=("labels.npy", npy(np.array(1)))))
    yield vector("labels-in-words", "declined", "table-number", leaf, "a label that can't be read agrees",
                 lambda s: s.files.update(labels=("labels.csv", b"label\n0\none\n0\n")), flags=("subject",))
    yield vector("points-csv", "verified", "", leaf, "none: a table of decimals",
                 lambda s: s.files.update(points=("points.csv", b"a,b\n8,8\n0,0\n16,4\n")))
    yield vector("points-of-another-size", "rejected", "claim-mismatch", leaf, "missing features are zero",
                 lambda s: s.files.update(points=("p.npy", npy(POINTS[:, :1]))))
    yield vector("points-with-a-further-feature", "rejected", "claim-mismatch", leaf, "further features are ignored",
                 lambda s: s.files.update(points=("p.npy", npy(np.zeros((3, 3), np.uint8)))))
    yield vector("points-with-nan", "declined", "arrays-nonfinite", leaf, "comparisons with NaN are false",
                 lambda s: s.files.update(points=("p.npy", npy(POINTS * np.nan))), flags=("subject",))
    yield vector("points-pickled", "declined", "arrays-dtype", leaf, "objects are unpickled", lambda s: s.files.update(points=("p.npy", _pickled())),
                 flags=("subject",))
    yield from _caps()
    yield vector("points-scalar", "rejected", "claim-mismatch", leaf, "a scalar is a row",
                 lambda s: s.files.update(points=("p.npy", npy(np.array(3.0)))))


def _long_points() -> Iterator[Vector]:
    """Yield the work of points, balls and clip ranges with long rationals."""
    third = str(Fraction(10**120 + 1, 3 * 10**120 + 2))
    for norm in ("linf", "l2"):
        point = [third, str(Fraction(10**90, 4 * 10**90 + 1))]
        made = specimen(0.25, 0.125, says={"holds": False}, evidence="witness", items={"point": point}, arrays={})
        made.given.update(norm=norm, scale="1/17", subtract=["1/7", "0"], divide=["1", third])
        yield from limit_vectors.pairs(("work",), **{f"long_point_{norm}": made})
    clipped = bases().leaf
    clipped.given["clip"] = ["-1", str(Fraction(2 * 10**200 + 1, 10**200))]
    yield from limit_vectors.pairs(("work",), long_clip=clipped)


def _caps() -> Iterator[Vector]:
    """Yield what is just read, and what is just not, of points, tables and numbers."""
    leaf = bases().leaf
    digits = 1 - Fraction(1, 10**999)
    yield vector("rational-of-1000-digits", "verified", "", leaf, "none: the longest rational", ask(radius=str(digits)))
    yield vector("rational-of-1001-digits", "rejected", "malformed", leaf, "rationals of any length", ask(radius=str(1 - Fraction(1, 10**1000))))

    def points(data: bytes, name: str = "points.npy") -> Callable[[Specimen], None]:
        return lambda made: made.files.update(points=(name, data))

    def header(shape: str, length: int) -> bytes:
        text = f"{{'descr': '|u1', 'fortran_order': False, 'shape': {shape}, }}".encode()
        return b"\x93NUMPY\2\0" + struct.pack("<I", length) + text.ljust(length - 1) + b"\n"

    for name, verdict, code, change in (
        ("npy-rank-8", "verified", "", points(npy(POINTS.reshape(3, 2, *[1] * 6)))),
        ("npy-rank-9", "declined", "arrays-header", points(npy(POINTS.reshape(3, 2, *[1] * 7)))),
        ("npy-size-at-the-limit", "declined", "arrays-length", points(header(f"({(1 << 48) - 1}, 2)", 118))),
        ("npy-size-above-the-limit", "declined", "arrays-header", points(header(f"({1 << 48}, 2)", 118))),
        ("npy-header-at-the-limit", "verified", "", points(header("(3, 2)", 1 << 16) + POINTS.tobytes())),
        ("npy-header-above-the-limit", "declined", "arrays-header", points(header("(3, 2)", (1 << 16) + 1) + POINTS.tobytes())),
        ("cell-of-400-digits", "verified", "", points(b"a,b\n8,8\n" + b"0" * 400 + b"." + b"0" * 400 + b",0e000\n16,4\n", "points.csv")),
        ("cell-of-401-digits", "declined", "table-number", points(b"a,b\n8,8\n" + b"0" * 401 + b",0\n16,4\n", "points.csv")),
        ("cell-of-401-decimals", "declined", "table-number", points(b"a,b\n8,8\n0." + b"0" * 401 + b",0\n16,4\n", "points.csv")),
        ("cell-with-an-exponent-of-4", "declined", "table-number", points(b"a,b\n8,8\n0,0e0000\n16,4\n", "points.csv")),
    ):
        yield vector(name, verdict, code, leaf, "none: at the limit" if not code else "sizes without a limit", change, flags=("subject",))


def _pickled() -> bytes:
    import io
    stream = io.BytesIO()
    np.save(stream, np.array([{"a": 1}], object), allow_pickle=True)
    return stream.getvalue()
