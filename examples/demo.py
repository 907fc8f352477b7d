# SPDX-License-Identifier: Apache-2.0
"""The demo: prove that a classifier keeps its answer around a digit, verify, tamper, and refute a radius that is too large; then prove that a network
which stays hidden keeps its class, and that another one decides about an applicant whatever age and sex are.

Every step runs the real commands on the files of `examples`; an unexpected exit status stops the demo.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

from certify import archive
from certify.container import members
from certify.container import read as read_certificate
from certify.limits import Limits
from certify.readers.arrays import read_npy

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "demo"
MODEL, IMAGES = Path("examples/digits/digits.onnx"), Path("examples/digits/images.npy")
PRIVATE, HIDDEN = Path("examples/private"), Path("demo/private")
ROW = 3
_SHADES = " .:-=+*#%@"


def main() -> None:
    """Run the steps in order; exit 1 if one of them has another outcome than the demo promises."""
    os.chdir(ROOT)
    OUT.mkdir(exist_ok=True)
    title("A digit, as the network sees it")
    image = read_npy(IMAGES.read_bytes())[ROW]
    draw([[int(v) for v in image]])
    question = ["--set", f"row={ROW}", "--set", "scale=1/16", "--set", "clip=[0,1]"]

    title("1. Prove: every image within one grey level (of 16) in every pixel is still a 3")
    run(0, "certify", "prove", "robust", MODEL, IMAGES, *question, "--set", "radius=1", "-o", "demo/digit.cert")

    title("2. Verify with the checker alone: it runs no prover and no solver")
    run(0, "certify-check", "demo/digit.cert", "--subject", MODEL, "--subject", IMAGES)

    title("3. Tamper with the certificate: claim radius 2, and reseal every digest")
    reseal(OUT / "digit.cert", OUT / "tampered.cert", lambda given: given.update(radius="2"))
    run(1, "certify", "verify", "demo/tampered.cert", "--subject", MODEL, "--subject", IMAGES)

    title("4. Change one bit of one weight of the model")
    changed = bytearray(MODEL.read_bytes())
    changed[len(changed) // 2] ^= 1
    (OUT / "changed.onnx").write_bytes(changed)
    run(1, "certify", "verify", "demo/digit.cert", "--subject", "demo/changed.onnx", "--subject", IMAGES)

    title("5. A radius that is too large is refuted, with an exact counterexample")
    run(5, "certify", "prove", "robust", MODEL, IMAGES, *question, "--set", "radius=3", "-o", "demo/digit.cert")
    run(0, "certify-check", "demo/digit-refuted.cert", "--subject", MODEL, "--subject", IMAGES)
    refuted = read_certificate((OUT / "digit-refuted.cert").read_bytes(), Limits(), "digit-refuted.cert")
    point = [Fraction(v) for v in refuted.content["predicate"]["evidence"]["items"]["point"]]
    print("\n  the digit, and the counterexample, which the network does not call a 3:")
    draw([[int(v) for v in image], [round(16 * v) for v in point]])
    private()
    title("All eight steps came out as promised; the certificates are in demo/")


def private() -> None:
    """Commit to two networks that stay hidden, prove one robust and one fair, and refuse a proof that was made for someone else."""
    shutil.rmtree(HIDDEN, ignore_errors=True)  # a secret file is never replaced
    HIDDEN.mkdir()
    title("6. A network that stays hidden: its owner publishes a commitment, and proves that it keeps its class on a box")
    run(0, "certify", "commit", PRIVATE / "digits.onnx", "--set", f"policy={PRIVATE / 'digits-policy.toml'}",
        "--set", f"calibrate={PRIVATE / 'digits-calibration.npy'}", "-o", HIDDEN / "digits.commit")
    run(0, "certify", "prove", "private-robust", HIDDEN / "digits.commit", PRIVATE / "digits.vnnlib", "--set", f"secret={HIDDEN / 'digits.secret'}",
        "--set", "audience=the auditor", "-o", HIDDEN / "digits.cert")
    run(0, "certify-check", HIDDEN / "digits.cert", "--subject", HIDDEN / "digits.commit", "--subject", PRIVATE / "digits.vnnlib")

    title("7. The same proof for another audience, every digest resealed")
    reseal(HIDDEN / "digits.cert", HIDDEN / "replayed.cert", lambda given: given["context"].update(audience="someone else"))
    run(1, "certify", "verify", HIDDEN / "replayed.cert", "--subject", HIDDEN / "digits.commit", "--subject", PRIVATE / "digits.vnnlib")

    title("8. A hidden credit model decides the same about an applicant, whatever age and sex are")
    run(0, "certify", "commit", PRIVATE / "credit.onnx", "--set", f"policy={PRIVATE / 'credit-policy.toml'}",
        "--set", f"calibrate={PRIVATE / 'applicants.csv'}", "-o", HIDDEN / "credit.commit")
    question = [PRIVATE / "credit.schema", PRIVATE / "applicants.csv"]
    run(0, "certify", "prove", "private-fair", HIDDEN / "credit.commit", *question, "--set", "row=0", "--set", f"secret={HIDDEN / 'credit.secret'}",
        "-o", HIDDEN / "credit.cert")
    run(0, "certify-check", HIDDEN / "credit.cert", "--subject", HIDDEN / "credit.commit", "--subject", question[0], "--subject", question[1])


def title(text: str) -> None:
    """Print a heading."""
    print(f"\n== {text}", flush=True)


def run(expected: int, *command: object) -> None:
    """Print and run one command of this environment; stop the demo if its exit status is not the expected one."""
    words = [str(word) for word in command]
    print(f"$ {' '.join(f'{chr(39)}{w}{chr(39)}' if '[' in w or ' ' in w else w for w in words)}", flush=True)
    status = subprocess.run([str(Path(sys.executable).parent / words[0]), *words[1:]], check=False).returncode
    print(f"  (exit status {status})", flush=True)
    if status != expected:
        sys.exit(f"the demo expected exit status {expected}")


def draw(pictures: list[list[int]]) -> None:
    """Print 8 x 8 images of grey levels 0 to 16 side by side."""
    for y in range(8):
        print("    " + "    ".join("".join(2 * _SHADES[min(9, v * 10 // 17)] for v in picture[8 * y : 8 * y + 8]) for picture in pictures))


def reseal(source: Path, target: Path, change: Callable[[Any], None]) -> None:
    """Write the certificate with something else in what its claim is given, every digest and checksum made right again."""
    statement = read_certificate(source.read_bytes(), Limits(), source.name)
    content = json.loads(dict(archive.read(source.read_bytes(), Limits(), source.name))["certificate.json"].tobytes())
    change(content["predicate"]["claim"]["given"])
    target.write_bytes(b"".join(archive.pieces(members(content, statement.arrays, statement.inputs))))


if __name__ == "__main__":
    main()
