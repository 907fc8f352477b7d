# SPDX-License-Identifier: Apache-2.0
"""Which of our modules a verdict rests on, found by asking a fresh interpreter what it imported, and how many lines of code they have."""

from __future__ import annotations

import ast
import hashlib
import io
import json
import os
import subprocess
import sys
import tokenize
from collections.abc import Sequence
from pathlib import Path

from certify.errors import Declined, Rejected, UsageError

_PROGRAM = """
import json, sys
from certify import registry, verification
asked = json.load(sys.stdin)
if asked["kind"]:
    registry.kind(asked["kind"])
outcome = None
if asked["certificate"]:
    from certify.errors import CertifyError
    try:
        verification.verify(asked["certificate"], asked["subjects"])
    except CertifyError as trouble:
        outcome = [trouble.exit_status, trouble.code, trouble.what, trouble.where, trouble.fix]
files = sorted({m.__file__ for n, m in sys.modules.items() if n.split(".")[0].startswith("certify") and getattr(m, "__file__", None)})
print(json.dumps([outcome, files]))
"""


def imported(kind: str = "", certificate: Path | None = None, subjects: Sequence[Path] = ()) -> list[Path]:
    """Return the files that the checker imports: for a kind of claim, or to verify a certificate; raises what `verify` raises."""
    asked = {"kind": kind, "certificate": str(certificate) if certificate is not None else "", "subjects": [str(path) for path in subjects]}
    root = Path(__file__).resolve().parents[2]
    here = {**os.environ, "PYTHONPATH": os.pathsep.join([str(root), str(root / "zk")])}  # in a checkout, certify_zk has a folder of its own
    done = subprocess.run([sys.executable, "-P", "-c", _PROGRAM], input=json.dumps(asked), capture_output=True, text=True, check=True, env=here)
    outcome, files = json.loads(done.stdout)
    if outcome is not None:
        status, code, what, where, fix = outcome
        raise {1: Rejected, 3: Declined}.get(status, UsageError)(code, what, where=where, fix=fix)
    return [Path(file) for file in files]


def digest(root: Path | None = None) -> str:
    """Return the sha256 of what `sha256sum` prints of all trusted modules: those of certify but for `certify.cli` and `certify.report`.

    In the folder of the package: find . -name '*.py' ! -path './cli/*' ! -path './report/*' | LC_ALL=C sort | xargs sha256sum | sha256sum
    """
    root = root or Path(__file__).resolve().parents[1]
    inside = [path.relative_to(root) for path in root.rglob("*.py")]
    names = sorted(f"./{path.as_posix()}" for path in inside if path.parts[0] not in ("cli", "report"))
    return hashlib.sha256("".join(f"{hashlib.sha256((root / name).read_bytes()).hexdigest()}  {name}\n" for name in names).encode()).hexdigest()


def code_lines(path: Path) -> int:
    """Return the number of lines that hold code: no blank lines, comments or docstrings."""
    source = path.read_text("utf-8")
    prose: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and node.body and isinstance(node.body[0], ast.Expr):
            first = node.body[0]
            if isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
                prose |= set(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    held: set[int] = set()
    quiet = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in quiet:
            held |= set(range(token.start[0], token.end[0] + 1))
    return len(held - prose)
