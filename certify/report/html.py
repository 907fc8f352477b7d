# SPDX-License-Identifier: Apache-2.0
"""HTML by construction: text is escaped unless it is `Html`, and only `tag` and `join` make `Html`.

Guarantee: elements are balanced, attribute values are quoted and escaped, characters that are not printable are replaced, and there is no way to
write an element or an attribute that runs a script or loads anything.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from certify.errors import one_line

_VOID = frozenset({"br", "img", "meta", "rect", "line", "circle", "path"})
_ELEMENTS = _VOID | frozenset({
    "html", "head", "title", "style", "body", "main", "header", "footer", "section", "h1", "h2", "h3", "p", "ul", "li", "table", "caption", "thead",
    "tbody", "tr", "th", "td", "code", "strong", "em", "span", "div", "details", "summary", "figure", "figcaption", "svg", "g", "text"})
_ATTRIBUTE = re.compile(r"(?!on)[a-zA-Z][a-zA-Z0-9-]*")
_LINKS = frozenset({"href", "src", "srcset", "data", "action", "formaction", "poster", "ping", "background"})
_PICTURE = "data:image/png;base64,"
_MOST = 4000


class Html(str):
    """Text that is HTML already."""

    __slots__ = ()


@dataclass(frozen=True)
class Section:
    """A part of the page under its own heading; `name` identifies it in the page."""

    name: str
    title: str
    body: Html


def escaped(text: str, most: int = _MOST) -> Html:
    """Return text for a page: on one line, printable, at most `most` characters."""
    return Html(html.escape(one_line(text, most), quote=True))


def join(parts: Iterable[str]) -> Html:
    """Return the parts one behind the other; those that are not `Html` are escaped."""
    return Html("".join(part if isinstance(part, Html) else escaped(part) for part in parts))


def tag(name: str, *children: str, **attributes: str | int) -> Html:
    """Return an element; an underscore in an attribute's name stands for a hyphen, one at its end is dropped."""
    if name not in _ELEMENTS:
        raise ValueError(f"no element {name!r} belongs on a page")
    told = []
    for key, value in attributes.items():
        shown = key.rstrip("_").replace("_", "-")
        if not _ATTRIBUTE.fullmatch(shown) or (shown in _LINKS and not (name == "img" and shown == "src" and str(value).startswith(_PICTURE))):
            raise ValueError(f"no attribute {shown!r} belongs on a page")
        told.append(f' {shown}="{html.escape(str(value), quote=True)}"')
    start = f"<{name}{''.join(told)}>"
    if name in _VOID and not children:
        return Html(f"{start[:-1]}/>" if name not in ("br", "img", "meta") else start)
    return Html(f"{start}{join(children)}</{name}>")


def paragraph(*children: str, class_: str = "") -> Html:
    """Return a paragraph."""
    return tag("p", *children, class_=class_) if class_ else tag("p", *children)


def prose(text: str) -> Html:
    """Return text in which what stands between backticks is code."""
    return join(tag("code", piece) if k % 2 else piece for k, piece in enumerate(text.split("`"))) if text.count("`") % 2 == 0 else escaped(text)


def rows(pairs: Iterable[tuple[str, str]], caption: str = "") -> Html:
    """Return a table of names and values, one pair a row."""
    body = [tag("tr", tag("th", name, scope="row"), tag("td", value)) for name, value in pairs]
    return tag("table", *([tag("caption", caption)] if caption else []), tag("tbody", *body), class_="pairs")


def table(head: Iterable[str], body: Iterable[Iterable[str]], caption: str = "") -> Html:
    """Return a table with a head; the first cell of each row names it."""
    lines = []
    for first, *rest in body:
        lines.append(tag("tr", tag("th", first, scope="row"), *(tag("td", cell) for cell in rest)))
    return tag("table", *([tag("caption", caption)] if caption else []), tag("thead", tag("tr", *(tag("th", name, scope="col") for name in head))),
               tag("tbody", *lines))


def number(value: Fraction | float | int, digits: int = 4) -> str:
    """Return a number with so many significant digits, as verdicts print it."""
    try:
        return f"{float(value):.{digits}g}"
    except OverflowError:
        return "a number beyond the range of binary64"


def some(count: int, noun: str, plural: str = "") -> str:
    """Return a count with its noun, in the plural (the noun with an s, unless given) where there is not one."""
    return f"{count} {noun if count == 1 else plural or noun + 's'}"
