# SPDX-License-Identifier: Apache-2.0
"""`certify doctor`: what is installed, what is missing, and the one command that brings it."""

from __future__ import annotations

import os
import platform
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import click

import certify_zk
from certify._version import VERSION
from certify.cli.output import as_json, say
from certify.cli.trusted import digest

_CORE = ("numpy", "python-flint", "cryptography", "click", "rich")
_EXTRAS = {"nn": {"onnx": "converting models with external weights", "onnxruntime": "what a float32 run does at a counterexample",
                  "scipy": "points of regions with linear input constraints"},
           "zk": {"numba": "proofs about private networks", "py-arkworks-bls12381": "certificates of the backend hyrax",
                  "py-ecc": "the same, checked a second way (verify --reference)"},
           "grid": {"highspy": "proofs about power networks", "networkx": "drawings of power networks in reports"}}


@click.command()
@click.option("--json", "json_output", is_flag=True, help="As one JSON object.")
def doctor(json_output: bool) -> None:
    """Say what this installation consists of, and what is missing. Exit status 3 if certificates can't be checked with it."""
    found = {name: _version(name) for name in (*_CORE, *(name for extra in _EXTRAS.values() for name in extra))}
    told: dict[str, Any] = {"certify": VERSION, "python": platform.python_version(), "platform": platform.platform(), "cpus": os.cpu_count(),
                            "executable": sys.executable, "packages": found, "blas": _blas(), "provers": _provers(),
                            "trusted": digest(), "trusted_zk": digest(Path(certify_zk.__file__).parent)}
    missing = [name for name in _CORE if found[name] is None]
    if json_output:
        as_json(told)
    else:
        say(f"certify   {VERSION}, Python {told['python']} on {told['platform']}, {told['cpus']} CPUs")
        for name in _CORE:
            say(f"{'needs':10s}{name} {found[name] or 'MISSING'}")
        for extra, names in _EXTRAS.items():
            for name, use in names.items():
                say(f"{'optional':10s}{name} {found[name] or 'not installed'} ({use})")
            if any(found[name] is None for name in names):
                say(f'          pip install "certify-engine[{extra}]" brings what is missing')
        say(f"blas      {told['blas']} (used by provers, and by the checker with --blas only)")
        say(f"trusted   sha256 {told['trusted']} (of the modules that a verdict rests on)")
        say(f"          sha256 {told['trusted_zk']} (of certify_zk, on whose verifier private claims rest)")
        say(f"provers   {', '.join(told['provers']) or 'none: certificates can be checked, not made'}")
        say("checker   " + (f"can't run: pip install {' '.join(missing)}" if missing else "ready; `certify selftest` runs the test vectors"))
    raise SystemExit(3 if missing else 0)


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _blas() -> str:
    """Return the BLAS that numpy was built with."""
    try:
        import numpy as np
        built: Any = np.show_config(mode="dicts")
    except (ImportError, TypeError):
        return "unknown"
    blas = (built or {}).get("Build Dependencies", {}).get("blas", {})
    return f"{blas.get('name', 'unknown')} {blas.get('version', '')}".strip()


def _provers() -> list[str]:
    return sorted(point.name for point in metadata.entry_points(group="certify.provers"))
