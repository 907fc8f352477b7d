# SPDX-License-Identifier: Apache-2.0
"""Hostile files, and what `certify-check` makes of them in its child: small ones that strike at readers, and megabytes that ask for work.

Each says which verdicts are in order; a crash, an internal error (exit 70) or a traceback never is.
"""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from onnx import TensorProto, helper

from kinds import accuracy_vectors, region_vectors, robust_vectors
from kinds.arithmetic_vectors import bits
from toolkit import Specimen, model, npy
from vectors.stored import stored

SECONDS, START_UP = 1.0, 2.0  # for one small file; for an interpreter that imports numpy, on a loaded machine
MEGABYTE_SECONDS, MEMORY = 90.0, 2 << 30

_FROM_CORPUS = {
    "container": ("nested-200000-deep", "unclosed-200000-deep", "unclosed-quotes", "number-five-thousand-digits", "number-huge-exponent",
                  "number-nan", "number-infinity", "rational-1e9999999", "rational-2-over-6", "rational-plus", "rational-underscore", "duplicate-key",
                  "two-members-of-one-name", "too-many-members", "junk-before", "junk-behind", "members-overlap", "deflated", "deflated-bomb",
                  "array-of-2-to-the-40", "array-shape-overflows", "array-of-objects", "member-outside", "member-absolute", "member-is-a-symlink"),
    "region": ("model-truncated", "property-cut-off", "property-depth-33", "2-elements-above-the-limit"),
    "robust": ("points-pickled", "npy-size-above-the-limit", "npy-header-above-the-limit"),
}


@dataclass(frozen=True)
class Hostile:
    """A certificate with its files by name; `verdicts` are those in order, `code` the code if only one is."""

    name: str
    certificate: bytes
    files: dict[str, bytes]
    verdicts: tuple[str, ...] = ("rejected", "declined")
    code: str = ""
    options: tuple[str, ...] = ()


@dataclass(frozen=True)
class Decision:
    """What `certify-check` said, after how long, and the most memory that it or its child held."""

    verdict: str
    output: str
    seconds: float
    peak: int

    def fits(self, hostile: Hostile) -> bool:
        """Return whether it is one of the verdicts in order, with the code if one is asked for."""
        first = self.output.split()[:2]
        return self.verdict in hostile.verdicts and first[:1] == [self.verdict] and (not hostile.code or first[1] == f"{hostile.code}:")


def decide(folder: Path, hostile: Hostile) -> Decision:
    """Run `certify-check` on a hostile file in a folder."""
    path = folder / "hostile.cert"
    path.write_bytes(hostile.certificate)
    command = [sys.executable, "-m", "certify.cli.check", str(path), *hostile.options]
    for name, data in hostile.files.items():
        (folder / name).write_bytes(data)
        command += ["--subject", str(folder / name)]
    started = time.monotonic()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None and running.stderr is not None
        output, errors = running.stdout.read(), running.stderr.read()
        _, status, usage = os.wait4(running.pid, 0)
        running.returncode = os.waitstatus_to_exitcode(status)
    verdict = {0: "verified", 1: "rejected", 3: "declined"}.get(running.returncode, f"exit {running.returncode}")
    return Decision(verdict if "Traceback" not in errors else "traceback", output, time.monotonic() - started, usage.ru_maxrss << 10)


def small() -> Iterator[Hostile]:
    """Yield what must be decided within a second."""
    for kind, names in _FROM_CORPUS.items():
        vectors = {vector.name: vector for vector in stored(kind)}
        for name in names:
            vector = vectors[name]
            files = {file: data for pairs in vector.subjects.values() for file, data in pairs}
            yield Hostile(f"{kind}/{name}", vector.data, files, (vector.wanted[0],), vector.wanted[1])
    yield _subject("model-of-huge-shapes", "model", _huge_shapes(), "onnx-graph")
    yield _subject("model-of-nested-lengths", "model", b"\x3a\xff\xff\xff\xff\x7f" * 1000, "onnx-wire")
    yield _subject("property-of-parentheses", "property", b"(" * 200_000, "vnnlib-size")
    yield _subject("property-of-exponents", "property", b"(assert (<= 1e9999 " + b"1" * 2000 + b"))", "vnnlib-number")
    for name, value in (("parentheses", "(" * 60_000), ("signs", "-" * 60_000 + "1"), ("brackets", "[" * 30_000 + "]" * 30_000)):
        header = f"{{'descr': '|u1', 'fortran_order': False, 'shape': {value}, }}".encode()
        data = b"\x93NUMPY\2\0" + len(header).to_bytes(4, "little") + header
        yield _points(f"npy-header-of-{name}", data, "arrays-header")
    yield _points("npy-that-claims-more-than-it-holds", npy(np.zeros((1, 2), np.uint8)).replace(b"(1, 2)", b"(9, 2)"), "arrays-length")
    yield _points("npy-of-objects", npy_of_objects(), "arrays-dtype")
    yield _points("table-of-commas", b"," * 100_000, "table-header")
    leaf = region_vectors.bases().leaf
    for name, packed in (("bomb", gzip.compress(bytes(64 << 20), mtime=0)), ("damaged", gzip.compress(b"x", mtime=0)[:-3])):
        yield Hostile(f"gzip-{name}", leaf.seal(), {"ramp.onnx.gz": packed, "ramp.vnnlib": leaf.files["property"][1]}, ("declined",),
                      "limit-reached" if name == "bomb" else "gzip-damaged")
    yield Hostile("no-memory", leaf.seal(), dict(leaf.files.values()), ("declined",), "limit-reached", ("--memory", "1"))


def _subject(name: str, role: str, data: bytes, code: str) -> Hostile:
    made = region_vectors.bases().leaf
    made.files[role] = (made.files[role][0], data)
    return Hostile(name, made.seal(), dict(made.files.values()), ("declined",), code)


def _points(name: str, data: bytes, code: str) -> Hostile:
    made = robust_vectors.specimen(2)
    made.files["points"] = ("points.npy", data)
    return Hostile(name, made.seal(), dict(made.files.values()), ("declined",), code)


def npy_of_objects() -> bytes:
    """Return a .npy file with a pickle in it."""
    return npy(np.array([{"a": 1}], object))


def _huge_shapes() -> bytes:
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 1 << 40])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 1 << 40])])
    return bytes(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString())


def megabytes() -> Iterator[Hostile]:
    """Yield files of about a megabyte that ask for as much work as they can; any verdict is in order, if it comes in time."""
    def made(name: str, specimen: Specimen) -> Hostile:
        return Hostile(name, specimen.seal(), dict(specimen.files.values()), ("verified", "rejected", "declined"))

    def leaf(*changes: Callable[[Specimen], Any], **arrays: Any) -> Specimen:
        specimen = region_vectors.bases().leaf
        specimen.arrays = arrays or specimen.arrays
        for change in changes:
            change(specimen)
        return specimen

    def text(specimen: Specimen, body: str) -> Specimen:
        specimen.files["property"] = ("ramp.vnnlib", (specimen.files["property"][1].decode().rsplit("(assert", 1)[0] + body).encode())
        return specimen

    yield made("tree-without-leaves", leaf(tree=np.zeros(250_000, "<i4"), split_at=np.linspace(0.999, -0.999, 60_000)))
    yield made("balanced-tree", leaf(**_balanced(15)))
    yield made("balanced-tree-computed-afresh", leaf(**_balanced(15, fresh=True)))
    yield made("balanced-tree-in-integers", leaf(bits(4096), **_balanced(14, fresh=True)))
    yield made("splits-on-neurons", leaf(**_neurons(3000)))
    yield made("sets-of-slopes", leaf(tree=np.array([-1], "<i4"), slope=np.zeros((300_000, 3), "|u1"), leaf_slope=np.array([0], "<i4")))
    yield made("many-disjuncts", text(leaf(), "(assert (or " + " ".join(f"(>= Y_0 {k + 2})" for k in range(65_000)) + "))"))
    yield made("normal-form-that-explodes", text(leaf(), "(assert (or (>= Y_0 2) (>= Y_0 3)))\n" * 30_000))
    yield made("exponents", text(leaf(), "(assert (or " + " ".join("(>= Y_0 1e9999)" for _ in range(60_000)) + "))"))
    yield made("long-sums", text(leaf(), f"(assert (>= Y_0 (+ 2 {'0.1 ' * 250_000})))"))
    yield made("long-combination", text(leaf(tree=np.array([-1], "<i4"), row=np.array([-1], "<i4"), mix=np.full(30_000, 2.0**-900)),
                                        "(assert (and " + " ".join(f"(>= Y_0 {k % 7 + 2})" for k in range(30_000)) + "))"))
    yield made("long-witness", _long_witness())
    yield made("dense-layer-in-integers", _dense(bits(4096)))
    yield made("dense-layer", _dense())
    yield made("labels", _labelled(120_000))
    yield made("wrong-rows", _labelled(1000, listed=True))
    yield Hostile("messages", _subject("", "model", b"\x3a\xfc\xff\x3f" + b"\x0a\x00" * ((1 << 19) - 2), "").certificate,
                  {"ramp.onnx": b"\x3a\xfc\xff\x3f" + b"\x0a\x00" * ((1 << 19) - 2), "ramp.vnnlib": leaf().files["property"][1]})
    content = leaf().content()
    content["predicate"]["claim"]["given"] = {f"k{k:06d}": k for k in range(70_000)}
    from toolkit import pack
    yield Hostile("statement-of-fields", pack(content, leaf().arrays), dict(leaf().files.values()))


def _balanced(depth: int, fresh: bool = False) -> dict[str, Any]:
    """Return a full tree of splits on inputs 0 and 1 in turn, in halves."""
    tree: list[int] = []
    at: list[float] = []

    def grow(level: int, boxes: tuple[tuple[float, float], tuple[float, float]]) -> None:
        if level == depth:
            tree.append(-1)
            return
        item = level % 2
        low, high = boxes[item]
        middle = (low + high) / 2
        tree.append(item)
        at.append(middle)
        for half in ((middle, high), (low, middle)):
            grow(level + 1, (half, boxes[1]) if item == 0 else (boxes[0], half))

    grow(0, ((-1.0, 1.0), (-1.0, 1.0)))
    leaf = iter(range(len(tree)))
    numbered = np.array([item if item >= 0 else -1 - next(leaf) for item in tree], "<i4")
    return {"tree": numbered, "split_at": np.array(at), **({"recompute": np.ones(len(tree), "|u1")} if fresh else {})}


def _neurons(depth: int) -> dict[str, Any]:
    """Return a comb of splits on the first neuron, with multipliers on the ways to its leaves, as far as a megabyte goes."""
    tree = np.array([item for k in range(depth) for item in (2, -1 - k)] + [-1 - depth], "<i4")
    return {"tree": tree, "beta": np.full(120_000, 0.5)}


def _long_witness() -> Specimen:
    count = 500
    made = region_vectors.specimen("", says={"holds": False}, evidence="witness", arrays={},
                                   items={"point": [str(Fraction(10**990 + 2 * k + 1, 10**999 + 7 * k + 1)) for k in range(count)]})
    made.files["model"] = ("m.onnx", model([([[1.0] * count], [0.0])]))
    names = "".join(f"(declare-const X_{k} Real)(assert (>= X_{k} 0))(assert (<= X_{k} 1))" for k in range(count))
    made.files["property"] = ("p.vnnlib", (names + "(declare-const Y_0 Real)(assert (>= Y_0 0))").encode())
    return made


def _dense(*changes: Callable[[Specimen], None]) -> Specimen:
    """Return a specimen of two layers of 350 neurons, and 16 leaves whose bounds are computed afresh."""
    rng, size = np.random.default_rng(3), 350
    made = region_vectors.bases().leaf
    layers = [(rng.integers(-9, 9, (size, 2)) / 8, np.zeros(size)), (rng.integers(-9, 9, (size, size)) / 8, np.zeros(size)),
              (rng.integers(-9, 9, (size, size)) / 8, np.zeros(size)), (np.ones((1, size)), np.zeros(1))]
    made.files["model"] = ("dense.onnx", model([(weight.tolist(), bias.tolist()) for weight, bias in layers]))
    made.arrays = _balanced(4, fresh=True)
    for change in changes:
        change(made)
    return made


def _labelled(rows: int, listed: bool = False) -> Specimen:
    made = accuracy_vectors.wrong_only(says=accuracy_vectors.told(0, rows if listed else 0, rows),
                                       arrays={"wrong_row": np.arange(rows, dtype="<i4")} if listed else {})
    made.files["points"] = ("points.csv", b"a,b\n" + b"0,0\n" * rows)
    made.files["labels"] = ("labels.csv", b"label\n" + b"0\n" * rows)
    return made
