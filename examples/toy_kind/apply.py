# SPDX-License-Identifier: Apache-2.0
"""Add the kind `reaches` to a checkout: copy the files beside this script, write the registration lines of CONTRIBUTING.md, then what is made.

    python examples/toy_kind/apply.py CHECKOUT

The last step is `make vectors install docs` in the checkout: about two minutes, most of them for the packages of its `.venv`.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
FOLDERS = ("certify", "solvers", "tests", "docs")
_FIELDS = """## Claim `reaches`, version 1

[Statement and proof](claims/reaches.md). Role: `model` (ONNX).

| field of `given` | type | default of `prove` | checked |
|---|---|---|---|
| `output` | integer from 0 | none | below the number of outputs, else `claim-mismatch` |

| field of `says` | type | meaning | evidence |
|---|---|---|---|
| `at_least` | rational | f_output(x) is at least this for some x | `witness` |

Assumptions: `real-arithmetic`. Figures of a verdict: `value`, `work`.

"""
# (file, text that is there, what comes before it or takes its place)
EDITS = (
    ("certify/registry.py", '    "region": "certify.claims.region",\n',
     '    "reaches": "certify.claims.reaches",\n    "region": "certify.claims.region",\n'),
    (".importlinter", "    certify.claims.region\n", "    certify.claims.reaches\n    certify.claims.region\n"),
    (".importlinter", "    certify_solvers.runtime\n", "    certify_solvers.runtime\n    certify_solvers.sample\n"),
    ("pyproject.toml", '[project.entry-points."certify.provers"]\n',
     '[project.entry-points."certify.provers"]\nsample = "certify_solvers.sample.prover:Sample"\n'),
    ("pyproject.toml", '"tests/vectors/region" = "certify/vectors/region"\n',
     '"tests/vectors/reaches" = "certify/vectors/reaches"\n"tests/vectors/region" = "certify/vectors/region"\n'),
    ("tests/test_mutants.py", "grid_shedding, private, region, robust\n", "grid_shedding, private, reaches, region, robust\n"),
    ("tests/test_mutants.py", '"region": region,', '"reaches": reaches, "region": region,'),
    ("tests/vectors/build.py", "    region_vectors,\n", "    reaches_vectors,\n    region_vectors,\n"),
    ("tests/vectors/build.py", '"region": region_vectors.vectors,', '"reaches": reaches_vectors.vectors, "region": region_vectors.vectors,'),
    ("docs/format.md", "## Evidence `bounds-tree`, version 1\n", _FIELDS + "## Evidence `bounds-tree`, version 1\n"),
    ("docs/format.md", "| no | `accuracy`, `region`,", "| no | `accuracy`, `reaches`, `region`,"),
)


def apply(target: Path) -> None:
    """Copy the files and make the edits; raises ValueError, before anything is written, where a text is not there exactly once."""
    texts: dict[str, str] = {}
    for name, there, instead in EDITS:
        text = texts.get(name) or (target / name).read_text("utf-8")
        if text.count(there) != 1:
            raise ValueError(f"{name} has {there!r} {text.count(there)} times, not once")
        texts[name] = text.replace(there, instead)
    for name, text in texts.items():
        (target / name).write_text(text, "utf-8")
    for folder in FOLDERS:
        shutil.copytree(HERE / folder, target / folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))


if __name__ == "__main__":
    apply(Path(sys.argv[1]))
    sys.exit(subprocess.run(["make", "-C", sys.argv[1], f"PYTHON={sys.executable}", "vectors", "install", "docs"], check=False).returncode)
