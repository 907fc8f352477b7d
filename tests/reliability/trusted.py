# SPDX-License-Identifier: Apache-2.0
"""The trusted base: lines of code against their budgets, and what else a verdict imports."""

from __future__ import annotations

import json
import os
import subprocess
import sys

from certify import registry
from certify.cli.trusted import code_lines
from reliability import ROOT, Effort, Row
from trusted_base import BUDGETS, imported_by

CORE_LINES = 600
THIRD_PARTY = {"flint", "numpy"}

_PROGRAM = """
import json, sys
from vectors.stored import stored
for vector in stored(sys.argv[1]):
    vector.found()
names = {name.split(".")[0] for name, module in sys.modules.items() if getattr(module, "__file__", None)}
print(json.dumps(sorted(names - set(sys.stdlib_module_names) - {"certify", "certify_zk", "vectors", "__main__"})))
"""


def core_lines() -> int:
    """Return the code lines of the core: what every kind of certificate needs before its claim is looked at."""
    names = ("errors", "limits", "canonical", "archive", "fields", "container", "certificate", "assumptions", "signature")
    return sum(code_lines(ROOT / f"certify/{name}.py") for name in names)


def third_party(kind: str) -> list[str]:
    """Return the top-level modules, neither ours nor of the standard library, that checking all vectors of a kind imports."""
    here = {**os.environ, "PYTHONPATH": os.pathsep.join(str(ROOT / part) for part in ("", "tests", "zk"))}
    done = subprocess.run([sys.executable, "-P", "-c", _PROGRAM, kind], capture_output=True, text=True, check=True, env=here)
    found: list[str] = json.loads(done.stdout)
    return [name for name in found if not name.startswith(("_", "sitecustomize"))]


def lines(effort: Effort) -> list[Row]:
    """Measure lines of code."""
    rows = [Row("trusted lines of code: core", f"{core_lines()} (at most {CORE_LINES})", core_lines() <= CORE_LINES)]
    rows += [Row("trusted lines of code: no budget", kind, False) for kind in sorted(set(registry.KINDS) - {kind for kind, _, _ in BUDGETS})]
    for kind, name, most in BUDGETS:
        count = sum(map(code_lines, imported_by(kind, name)))
        rows.append(Row(f"trusted lines of code: all that the vector `{kind}/{name}` imports", f"{count:,} (at most {most:,})", count <= most))
    return rows


def imports(effort: Effort) -> list[Row]:
    """Measure imports."""
    rows = []
    for kind in sorted(registry.KINDS):
        found = third_party(kind)
        rows.append(Row(f"imports of the checker beside the standard library: `{kind}`", ", ".join(found), set(found) <= THIRD_PARTY))
    return rows
