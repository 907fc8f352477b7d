# SPDX-License-Identifier: Apache-2.0
"""A strict ZIP profile: stored members, fixed date, no comments, no extra fields, nothing before, between or behind.

Guarantee: for every list of members there is exactly one archive, and `read` accepts exactly the archives that `pieces`
writes: every header it reads is rebuilt from (name, data) alone and compared byte by byte. Any unzip tool opens them.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable, Iterator

from certify.errors import malformed
from certify.limits import Limits

Member = tuple[str, bytes | memoryview]

_LOCAL = struct.Struct("<4s5H3I2H")
_CENTRAL = struct.Struct("<4s6H3I5H2I")
_END = struct.Struct("<4s4H2IH")
_VERSION = 20  # the least that unzip tools expect
_DATE = 0x21  # 1980-01-01, the first that the format has


def pieces(members: Iterable[Member]) -> Iterator[bytes | memoryview]:
    """Yield the archive of `members` in order, without copying their data."""
    central: list[bytes] = []
    offset = 0
    for name, data in members:
        head, entry = _headers(name, data, offset)
        central.append(entry)
        offset += len(head) + len(data)
        yield head
        yield data
    directory = b"".join(central)
    yield directory
    yield _END.pack(b"PK\5\6", 0, 0, len(central), len(central), len(directory), offset, 0)


def read(data: bytes, limits: Limits, where: str) -> list[Member]:
    """Return the members of an archive in order; raises Rejected `malformed` for any byte that `pieces` would not write."""
    view = memoryview(data)
    members: list[Member] = []
    offset = 0
    while bytes(view[offset : offset + 4]) == b"PK\3\4":
        limits.within(len(members) + 1, "members", f"members of {where}")
        if offset + _LOCAL.size > len(view):
            raise malformed("the archive is cut off", where)
        fields = _LOCAL.unpack_from(view, offset)
        size, name_length = fields[7], fields[9]
        start = offset + _LOCAL.size + name_length
        if start + size > len(view):
            raise malformed("the archive is cut off", where)
        try:
            name = bytes(view[offset + _LOCAL.size : start]).decode("ascii")
        except UnicodeDecodeError:
            raise malformed("a member name is not ASCII", where) from None
        members.append((name, view[start : start + size]))
        offset = start + size
    if not members:
        raise malformed("it is no certificate: it does not start like one; a subject file is named behind --subject", where)
    position = 0
    for piece in pieces(members):
        if view[position : position + len(piece)] != piece:
            raise malformed(f"the archive departs from the strict profile at byte {position}", where)
        position += len(piece)
    if position != len(view):
        raise malformed("bytes behind the end of the archive", where)
    return members


def _headers(name: str, data: bytes | memoryview, offset: int) -> tuple[bytes, bytes]:
    raw = name.encode("ascii")
    crc, size = zlib.crc32(data), len(data)
    head = _LOCAL.pack(b"PK\3\4", _VERSION, 0, 0, 0, _DATE, crc, size, size, len(raw), 0) + raw
    entry = _CENTRAL.pack(b"PK\1\2", _VERSION, _VERSION, 0, 0, 0, _DATE, crc, size, size, len(raw), 0, 0, 0, 0, 0, offset) + raw
    return head, entry
