# SPDX-License-Identifier: Apache-2.0
"""Power networks to canonical MATPOWER cases: MATPOWER text and .mat, PYPOWER dictionaries, pandapower networks. What is dropped is said."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from certify.errors import CertifyError, UsageError
from certify.limits import Limits
from certify.readers.matpower import read_case
from certify.verification import read_subject
from certify_problems.grid.case_arrays import from_json, from_mat, from_npz, load_json
from certify_problems.grid.case_tables import Tables, canonical
from certify_problems.grid.case_text import read_text
from certify_problems.grid.pandapower_net import from_pandapower


def matpower(inputs: Sequence[Path]) -> tuple[bytes, list[str]]:
    """Return the bytes of a canonical case and what was dropped or changed; raises UsageError, or Declined with the code of what is refused."""
    if len(inputs) != 1:
        raise UsageError("role-extra", f"{len(inputs)} cases", fix="convert one case at a time")
    path = inputs[0]
    try:
        return canonical(_read(path), path.name.removesuffix(".gz").rpartition(".")[0])
    except CertifyError as trouble:
        trouble.where = f"{path.name}: {trouble.where}" if trouble.where else path.name
        raise


def is_case(data: bytes) -> bool:
    """Return whether bytes are a case that the strict reader accepts."""
    try:
        read_case(data, Limits())
    except CertifyError:
        return False
    return True


def _read(path: Path) -> Tables:
    """Return the tables of a file by the end of its name."""
    name = path.name.removesuffix(".gz").lower()
    known = {".m": read_text, ".mat": from_mat, ".npz": from_npz, ".json": _json}
    for ending, read in known.items():
        if name.endswith(ending):
            return read(read_subject(path, Limits()))
    if name.endswith(".py"):
        raise UsageError("setting-value", "a Python module is a program, and not run",
                         fix="write its dictionary with json.dump or numpy.savez, and convert that")
    raise UsageError("setting-value", "the name does not say what it is", fix=f"give a file that ends in {', '.join(known)}")


def _json(data: bytes) -> Tables:
    content = load_json(data)
    if isinstance(content, dict) and content.get("_class") == "pandapowerNet":
        return from_pandapower(content)
    if isinstance(content, dict) and {"bus", "gen", "branch"} <= content.keys():
        return from_json(content)
    raise UsageError("setting-value", "it is no PYPOWER dictionary with bus, gen and branch, and no network of pandapower.to_json",
                     fix="write it with json.dump or pandapower.to_json")
