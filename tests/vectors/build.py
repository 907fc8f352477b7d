# SPDX-License-Identifier: Apache-2.0
"""Write the corpus of test vectors: KIND/VERDICT/NAME.cert, KIND/subjects/, and an index with what each must give and why.

The builders use no BLAS and no clock, so the same sources give the same bytes; a test compares them with what is committed.
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent.parent), str(HERE.parent.parent / "solvers"), str(HERE.parent.parent / "problems"),
                str(HERE.parent.parent / "zk")]

from kinds import (  # noqa: E402
    accuracy_vectors,
    container_vectors,
    grid_attack_vectors,
    grid_limit_vectors,
    grid_vectors,
    private_vectors,
    region_vectors,
    robust_vectors,
)

KINDS = {"accuracy": accuracy_vectors.vectors, "container": container_vectors.vectors, "grid-attack": grid_attack_vectors.attack,
         "grid-defence-limit": grid_limit_vectors.vectors, "grid-shedding": grid_vectors.shedding,
         **private_vectors.KINDS, "region": region_vectors.vectors, "robust": robust_vectors.vectors}


def corpus(kind: str) -> dict[str, bytes]:
    """Return the files of a kind's corpus by path below its folder."""
    files: dict[str, bytes] = {}
    index = []
    for vector in KINDS[kind]():
        path = f"{vector.verdict}/{vector.name}.cert"
        if path in files:
            raise ValueError(f"two vectors of {kind} are called {vector.name}")
        files[path] = vector.data
        subjects = []
        for role, name, data in vector.files:
            stored = f"subjects/{hashlib.sha256(data).hexdigest()[:16]}-{name}"
            files[stored] = data
            subjects.append({"role": role, "file": stored})
        index.append({"name": vector.name, "verdict": vector.verdict, "code": vector.code, "flags": list(vector.flags), "bug": vector.bug,
                      "effect": vector.effect,
                      "made_by": f"tests/{getattr(KINDS[kind], 'func', KINDS[kind]).__module__.replace('.', '/')}.py",
                      "subjects": subjects, "limits": vector.limits,
                      "allow": None if vector.allow is None else list(vector.allow)})
    files["index.json"] = (json.dumps(index, indent=1, sort_keys=True) + "\n").encode()
    return files


def main() -> None:
    """Write every kind's corpus and remove what is no longer part of it."""
    for kind in KINDS:
        files = corpus(kind)
        folder = HERE / kind
        for old in sorted(folder.rglob("*")) if folder.exists() else []:
            if old.is_file() and str(old.relative_to(folder)) not in files:
                old.unlink()
        for path, data in files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(data)
        print(f"{kind}: {sum(path.endswith('.cert') for path in files)} vectors")


if __name__ == "__main__":
    main()
