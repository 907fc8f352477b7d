# SPDX-License-Identifier: Apache-2.0
"""Field products, transforms, sums, a commitment of 27 million cells and its opening: times of the prover's kernels and of the verifier."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from resource import RUSAGE_SELF, getrusage

import numpy as np
from numba import njit

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "nn"))

from machine import described, load

from certify.limits import Limits
from certify_zk import soundness
from certify_zk.field import Element, Extension, P
from certify_zk.kernels.goldilocks import multiply, multiply_cubic, multiply_quadratic
from certify_zk.kernels.ntt import encode
from certify_zk.kernels.sums import combine, equality, evaluations
from certify_zk.ligero import Opening, Shape, verify_claim
from certify_zk.ligero_prover import Committed, commit, commit_certificate, open_claim
from certify_zk.transcript import Transcript

MODEL_ROWS, CERTIFICATE_ROWS = 180, 655
COUNTS = soundness.Counts(28_500_000, 1448, 3100, 676, 2200, 4000, 130)  # about those of 784-1024-1024-1024-10 with full bounds


@njit(cache=True)
def _products(a, b, result):  # type: ignore[no-untyped-def]
    for i in range(len(a)):
        result[i] = multiply(a[i], b[i])


@njit(cache=True)
def _quadratic(a, b, result):  # type: ignore[no-untyped-def]
    for i in range(len(a)):
        result[i, 0], result[i, 1] = multiply_quadratic(a[i, 0], a[i, 1], b[i, 0], b[i, 1])


@njit(cache=True)
def _cubic(a, b, result):  # type: ignore[no-untyped-def]
    for i in range(len(a)):
        result[i, 0], result[i, 1], result[i, 2] = multiply_cubic(a[i, 0], a[i, 1], a[i, 2], b[i, 0], b[i, 1], b[i, 2])


def seconds(work: Callable[[], object], times: int = 1, warm: bool = True) -> float:
    """Return CPU seconds of one run, compilation left out."""
    if warm:
        work()
    start = time.process_time()
    for _ in range(times):
        work()
    return (time.process_time() - start) / times


def kernels(random: np.random.Generator) -> None:
    """Print rates on arrays that fit the first caches, and the transform of 2^22 cells."""
    for name, work, degree in (("products in F_p", _products, 1), ("products, degree 2", _quadratic, 2), ("products, degree 3", _cubic, 3)):
        a, b = (random.integers(0, P, (3 << 12) // degree * degree, dtype=np.uint64).reshape(-1, degree) for _ in range(2))
        operands = (a.ravel(), b.ravel(), np.empty(len(a), np.uint64)) if degree == 1 else (a, b, np.empty_like(a))
        taken = seconds(lambda work=work, operands=operands: work(*operands), 300)
        print(f"{name:32}{len(a) / taken / 1e6:10.0f} M/s")
    code = soundness.choose(100, 16, 1 << 15, 1 << 17, COUNTS).code
    cells = random.integers(0, 1 << 16, (128, code.cells), dtype=np.uint16)
    pads = random.integers(0, P, (128, code.pads), dtype=np.uint64)
    taken = seconds(lambda: encode(code, cells, pads))
    print(f"{'encoding of 2^22 cells':32}{taken:10.2f} s     rate 1/4, {code.pads} pads a row")
    weights, columns, result = random.integers(0, P, (128, 2), dtype=np.uint64), equality([(3, 5)] * 15, 2), np.zeros((code.cells, 2), np.uint64)
    print(f"{'sums over rows':32}{2 * cells.size / seconds(lambda: combine(weights, cells, result), 3) / 1e6:10.0f} M/s")
    print(f"{'sums over columns':32}{2 * cells.size / seconds(lambda: evaluations(cells, columns), 3) / 1e6:10.0f} M/s")


def commitment(random: np.random.Generator, level: int, uses: int) -> None:
    """Print the times of committing to, opening and verifying 835 rows of 2^15 cells, and the size of the opening."""
    parameters = soundness.choose(level, uses, 1 << 15, 1 << 17, COUNTS)
    code, field = parameters.code, Extension(parameters.degree)
    shape = Shape(code, parameters.degree, parameters.queries, MODEL_ROWS, CERTIFICATE_ROWS)
    kept: list[Committed] = []

    def build() -> None:
        limbs = random.integers(0, 1 << 16, (MODEL_ROWS + CERTIFICATE_ROWS - 2, code.cells), dtype=np.uint16)
        counts = random.integers(0, 1 << 24, (2, code.cells), dtype=np.uint64)
        kept.append(commit(code, limbs[:MODEL_ROWS], counts[:0], random.bytes))
        kept.append(commit_certificate(shape, limbs[MODEL_ROWS:], counts, random.bytes))

    taken = seconds(build, warm=False)
    model, certificate = kept
    print(f"{level}-bit level, {uses} uses, {shape.queries} columns opened: {shape.witness} rows of {code.cells} cells")
    print(f"{'commit':32}{taken:10.2f} s")

    def start() -> tuple[Transcript, list[Element], list[Element]]:
        transcript = Transcript()
        transcript.absorb("roots", model.root + certificate.root)
        return transcript, transcript.elements("weights", shape.witness, field.degree), transcript.elements("point", 15, field.degree)

    transcript, weights, point = start()
    table, value = equality(point, field.degree), field.zero
    values = [evaluations(rows, table).tolist() for rows in (model.tableau.limbs, certificate.tableau.limbs, certificate.tableau.words[:2])]
    for weight, row in zip(weights, (tuple(row) for part in values for row in part), strict=True):
        value = field.add(value, field.multiply(weight, row))
    shown: list[Opening] = []
    taken = seconds(lambda: shown.append(open_claim(transcript, shape, model, certificate, weights, point, value, (field.zero,) * 2)), warm=False)
    opening = shown[0]
    arrays = (opening.u1, opening.u2, *opening.columns, *opening.salts, *opening.paths)
    print(f"{'open':32}{taken:10.2f} s     {sum(array.nbytes for array in arrays) / 1e6:.2f} MB")

    def verify() -> None:
        transcript, weights, point = start()
        verify_claim(transcript, shape, (model.root, certificate.root), weights, point, value, opening, Limits())

    print(f"{'verify':32}{seconds(verify, warm=False):10.2f} s     {seconds(verify, 3):.2f} s warm; charged {shape.cost / 1e6:.0f} M operations")
    print(f"peak memory {getrusage(RUSAGE_SELF).ru_maxrss / 2**20:.2f} GiB, {load()}")


def main() -> None:
    """Print all figures, CPU seconds of one thread."""
    random = np.random.default_rng(0)
    print(described())
    kernels(random)
    for level in (100, 128):
        commitment(random, level, 16)


if __name__ == "__main__":
    main()
