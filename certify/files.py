# SPDX-License-Identifier: Apache-2.0
"""Writing a file whole or not at all: no fault, and no signal that can be held back, leaves half of one or a temporary file."""

from __future__ import annotations

import contextlib
import os
import signal
import stat
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from certify.errors import CertifyError, UsageError

_SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP")


class OutputError(CertifyError):
    """The result could not be written; nothing was left behind under the requested name."""

    verdict = "output"
    exit_status = 73


@contextlib.contextmanager
def uninterrupted() -> Iterator[None]:
    """Hold back Ctrl-C and its like until the block is done, where the system can."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [getattr(signal, name) for name in _SIGNALS])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def save(path: Path, pieces: Iterable[bytes | memoryview], new: bool = False) -> None:
    """Write `pieces` to `path` atomically: a temporary file beside it, flushed, then renamed; raises OutputError, nothing changed.

    A regular file that is replaced hands on its owner and its permissions; where the file must be `new`, raises UsageError `output-taken` instead.
    """
    with uninterrupted():
        temporary: str | None = None
        try:
            found = _status(path)
            if found is not None and path.exists() and not path.is_file():
                raise OSError("it exists and is not a regular file")
            handle, temporary = tempfile.mkstemp(prefix=f".{path.name[:64]}.", dir=path.parent)
            with os.fdopen(handle, "wb") as stream:
                stream.writelines(pieces)
                stream.flush()
                os.fsync(stream.fileno())
            mode = 0o666 & ~_umask()
            if found is not None and stat.S_ISREG(found.st_mode):
                mode = found.st_mode & 0o777
                with contextlib.suppress(OSError):
                    os.chown(temporary, found.st_uid, found.st_gid)
            os.chmod(temporary, mode)
            if new:
                _link(temporary, path)
            else:
                os.replace(temporary, path)
                temporary = None
        except FileExistsError:
            raise _taken(path) from None
        except OSError as trouble:
            raise _unwritable(path, trouble) from None
        finally:
            if temporary is not None:
                with contextlib.suppress(OSError):
                    os.unlink(temporary)


def create(contents: Iterable[tuple[Path, bytes, int]]) -> None:
    """Write small new files (path, bytes, mode) in order, all or none; raises UsageError `output-taken` where one exists, or OutputError.

    There are no temporary files: what is secret is nowhere but under its own name.
    """
    made: list[Path] = []
    with uninterrupted():
        try:
            for path, data, mode in contents:
                try:
                    handle = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode)
                    made.append(path)
                    with os.fdopen(handle, "wb") as stream:
                        stream.write(data)
                        stream.flush()
                        os.fsync(stream.fileno())
                except FileExistsError:
                    raise _taken(path) from None
                except OSError as trouble:
                    raise _unwritable(path, trouble) from None
            made.clear()
        finally:
            for path in made:
                with contextlib.suppress(OSError):
                    path.unlink()


def _link(temporary: str, path: Path) -> None:
    """Give a file its name unless that is taken; raises FileExistsError."""
    try:
        os.link(temporary, path)
    except FileExistsError:
        raise
    except OSError:  # a file system without links
        if os.path.lexists(path):
            raise FileExistsError from None
        os.replace(temporary, path)


def _taken(path: Path) -> UsageError:
    return UsageError("output-taken", f"{path} exists: what is overwritten is lost", fix="choose another name")


def _unwritable(path: Path, trouble: OSError) -> OutputError:
    return OutputError("output-unwritable", f"{path.name}: {trouble.strerror or trouble}", where=str(path.parent),
                       fix="choose another place, or free some space there")


def _status(path: Path) -> os.stat_result | None:
    try:
        return path.lstat()
    except FileNotFoundError:
        return None


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
