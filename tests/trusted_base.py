# SPDX-License-Identifier: Apache-2.0
"""What a verdict imports, measured on certificates of the corpus, against the budget of each."""

from __future__ import annotations

import json
from pathlib import Path

from certify.cli.trusted import imported

VECTORS = Path(__file__).parent / "vectors"
BUDGETS = [("region", "one-leaf", 2400), ("robust", "one-leaf", 2400), ("region", "exec32-splits", 2550), ("robust", "exec32-splits", 2550),
           ("region", "exact-int-splits", 2700), ("robust", "exact-int-splits", 2700), ("region", "counterexample", 2400),
           ("accuracy", "robust-rows-only", 2550),
           # aimed at: 1,300, with a pool 1,500 (docs/trust.md); here they are kept from growing
           ("grid-shedding", "tree", 1362), ("grid-shedding", "pool", 1619), ("grid-shedding", "forest", 1870), ("grid-attack", "cut", 1300),
           ("grid-attack", "dual", 1302), ("grid-defence-limit", "limit", 1354),
           # aimed at: 3,300
           *((f"private-{name}", "argument", 3676) for name in ("ball", "counterexample", "linear", "robust", "score")),
           ("private-fair", "argument", 3886)]
"""Kind of claim, name of a vector, and how many lines of code its verdict may rest on."""


def imported_by(kind: str, name: str) -> list[Path]:
    """Return the files of ours that a fresh interpreter imports to verify a certificate of the corpus."""
    index = json.loads((VECTORS / kind / "index.json").read_text("utf-8"))
    entry, = (entry for entry in index if (entry["name"], entry["verdict"]) == (name, "verified"))
    subjects = [VECTORS / kind / subject["file"] for subject in entry["subjects"]]
    return imported(certificate=VECTORS / kind / "verified" / f"{name}.cert", subjects=subjects)
