# SPDX-License-Identifier: Apache-2.0
"""vibecheck (`vibecheck-nn`) through its Python interface, default settings, on the CPU."""

from __future__ import annotations

from typing import Any

from protocol import Answer, Job, serve


def load() -> Any:
    """Return the `verify` function, with the pipeline behind it imported."""
    import vibecheck.pipeline  # type: ignore[import-not-found]

    return vibecheck.verify


def run(tool: Any, job: Job) -> Answer:
    """Return what vibecheck says of one instance."""
    result = tool(net=job.model, spec=job.property, timeout=job.seconds)
    return Answer(result.verdict, result.counterexample["X"].reshape(-1) if result.verdict == "sat" else None)


if __name__ == "__main__":
    serve("vibecheck-nn", load, run)
