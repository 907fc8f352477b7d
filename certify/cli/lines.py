# SPDX-License-Identifier: Apache-2.0
"""Text from files, names and arguments as lines of a terminal: whatever it holds, it stays on its line, and steers nothing.

Shared by `certify` and `certify-check`, so it imports neither click nor numpy.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Sequence

from certify.errors import one_line

_ASKS = ("-h", "--help", "--version")


def printable(text: str) -> str:
    """Return a text of any length on one line, without characters that a terminal would obey."""
    return text if text.isprintable() else one_line(text, len(text))


def quoted(text: str, most: int) -> str:
    """Return a text of an author as it is if it is one word, else in quotes and without runs of spaces.

    So it does not look like the next line where a terminal breaks it.
    """
    if re.fullmatch(r"[\w.+@,-]+", text) and len(text) <= most:
        return text
    shown = re.sub(" {2,}", lambda run: "\N{OPEN BOX}" * len(run.group()), printable(text))
    shown = shown.replace("\\", r"\\").replace('"', r"\"")
    return f'"{shown}"' if len(shown) <= most else f'"{shown[: most - 1]}\N{HORIZONTAL ELLIPSIS}"'


def asked_for_help(words: Sequence[str], commands: Collection[str] = ()) -> str:
    """Return "" if help or the version was all that was asked for, else why status 0 would be wrong: nothing else was done.

    `commands` are the words that only choose whose help it is. A pattern such as * can put a file's name among the words.
    """
    found = [word for word in words if word in _ASKS]
    if all(word in commands for word in words if word not in found) and not any(os.path.lexists(word) for word in found):
        return ""
    name = found[0] if found else "-h"
    return f"error: {name} was answered, and nothing else was done: a file of that name is written ./{name}, or stands behind --"
