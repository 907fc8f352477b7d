# SPDX-License-Identifier: Apache-2.0
"""Reading a page again: balanced elements, no script, nothing loaded; tables as text; PNG files as pixels. Shares no code with the page's makers."""

from __future__ import annotations

import base64
import re
import struct
import zlib
from html.parser import HTMLParser
from pathlib import Path

from certify.cli.explain import pages
from certify.limits import Limits
from certify.report.outcome import Outcome, examine
from certify.report.page import render
from toolkit import Specimen

_ALONE = {"meta", "img", "br", "rect", "line", "circle", "path"}
_LOADING = {"src", "href", "srcset", "data", "action", "formaction", "poster", "background", "xlink:href", "ping", "manifest"}


class Page(HTMLParser):
    """A page as read: requires that it is balanced and loads nothing, and keeps its headings, tables, images and text."""

    def __init__(self, data: bytes) -> None:
        super().__init__(convert_charrefs=True)
        self.source = data.decode("utf-8")
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.headings: list[tuple[int, str]] = []
        self.tables: list[list[list[str]]] = []
        self.images: list[dict[str, str]] = []
        self.text = ""
        self.feed(self.source)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        assert len(found) == len(attrs)
        assert tag not in ("script", "iframe", "object", "embed", "link", "base", "form", "a", "use", "image", "foreignobject", "animate", "set")
        for name, value in found.items():
            assert not name.startswith("on"), (tag, name)
            assert name not in _LOADING or (tag == "img" and value.startswith("data:image/png;base64,")), (tag, name, value)
            assert "url(" not in value and "javascript:" not in value.lower()
        self.tags.append((tag, found))
        if tag == "img":
            self.images.append(found)
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("th", "td"):
            self.tables[-1][-1].append("")
        elif re.fullmatch(r"h[1-6]", tag):
            self.headings.append((int(tag[1]), ""))
        if tag not in _ALONE:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in _ALONE:
            assert self.open and self.open[-1] == tag, (tag, self.open)
            self.open.pop()

    def handle_data(self, data: str) -> None:
        if "style" in self.open:
            assert "url(" not in data and "@import" not in data and "http" not in data
            return
        if "head" in self.open:
            return
        self.text += data if "title" not in self.open else ""
        if self.open and ("th" in self.open or "td" in self.open) and "title" not in self.open:
            self.tables[-1][-1][-1] += data
        if self.open and self.headings and any(re.fullmatch(r"h[1-6]", tag) for tag in self.open):
            level, text = self.headings[-1]
            self.headings[-1] = (level, text + data)

    def table(self, first: str) -> list[list[str]]:
        """Return the rows of the table whose head begins with a name, without the head."""
        return next(table[1:] for table in self.tables if table and table[0][0] == first)


def outcome_of(specimen: Specimen, **more: object) -> Outcome:
    """Return the outcome of a specimen with its own files."""
    files = {role: [pair] for role, pair in specimen.files.items()}
    return examine(specimen.seal(), "specimen", files, None, Limits(), **more)  # type: ignore[arg-type]


def page_of(specimen: Specimen) -> Page:
    """Return the page of a specimen, read again."""
    return Page(render(outcome_of(specimen), pages()))


def pixels(image: dict[str, str]) -> tuple[int, int, list[tuple[int, ...]]]:
    """Return (width, height, pixels row by row) of an image of the page."""
    data = base64.b64decode(image["src"].removeprefix("data:image/png;base64,"))
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    place, packed, header = 8, b"", b""
    while place < len(data):
        size, kind = struct.unpack(">I4s", data[place : place + 8])
        body = data[place + 8 : place + 8 + size]
        assert struct.unpack(">I", data[place + 8 + size : place + 12 + size])[0] == zlib.crc32(kind + body)
        header, packed = (body if kind == b"IHDR" else header), packed + (body if kind == b"IDAT" else b"")
        place += 12 + size
    width, height, depth, colour = struct.unpack(">IIBB", header[:10])
    channels, raw = {0: 1, 2: 3}[colour], zlib.decompress(packed)
    assert depth == 8 and len(raw) == height * (1 + width * channels) and (int(image["width"]), int(image["height"])) == (width, height)
    lines = [raw[k * (1 + width * channels) : (k + 1) * (1 + width * channels)] for k in range(height)]
    assert all(line[0] == 0 for line in lines)
    return width, height, [tuple(line[1 + c : 1 + c + channels]) for line in lines for c in range(0, width * channels, channels)]


ROOT = Path(__file__).resolve().parents[2]
