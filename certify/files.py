# SPDX-License-Identifier: Apache-2.0
"""Writing a file whole or not at all."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

from certify.errors import CertifyError


class OutputError(CertifyError):
    """The result could not be written; nothing was left behind under the requested name."""

    verdict = "output"
    exit_status = 73


def save(path: Path, pieces: Iterable[bytes | memoryview], mode: int = 0o666) -> None:
    """Write `pieces` to `path` atomically: a temporary file beside it, flushed, then renamed; raises OutputError, nothing changed."""
    temporary: str | None = None
    try:
        if path.exists() and not path.is_file():
            raise OSError("it exists and is not a regular file")
        handle, temporary = tempfile.mkstemp(prefix=f".{path.name[:64]}.", dir=path.parent)
        with os.fdopen(handle, "wb") as stream:
            stream.writelines(pieces)
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(temporary, mode & ~_umask())
        os.replace(temporary, path)
        temporary = None
    except OSError as trouble:
        raise OutputError("output-unwritable", f"{path.name}: {trouble.strerror or trouble}", where=str(path.parent),
                          fix="choose another place with -o, or free some space there") from None
    finally:
        if temporary is not None:
            with contextlib.suppress(OSError):
                os.unlink(temporary)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
