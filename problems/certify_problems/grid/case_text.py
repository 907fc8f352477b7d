# SPDX-License-Identifier: Apache-2.0
"""MATPOWER text that the strict reader refuses for its form, as tables: older versions, other names, block comments, unknown fields.

Guarantee: nothing is evaluated and no code is passed over: a statement that is not the assignment of a literal is refused with its line, because code
behind the matrices, such as a conversion of units, changes what the file means. Numbers stay the texts that they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from certify.errors import Declined
from certify_problems.grid.case_tables import Rows, Tables, number_text, only

_FUNCTION = re.compile(r"function\s+(?:(\w+)|\[([\w\s,]*)\])\s*=\s*\w+\s*(?:\(\s*\))?")
_ASSIGNMENT = re.compile(r"(?:(\w+)\s*\.\s*)?(\w+)\s*=\s*(.*)", re.DOTALL)
_STRING = re.compile(r"'(?:[^'\n]|'')*'|\"[^\"\n]*\"")
_OUTSIDE = re.compile(r"(?:[^%#'\"\[\](){};,.]|\.(?!\.\.))+")  # what begins or ends nothing, so that large matrices are read by the line
_WITHIN = re.compile(r"(?:[^%#'\"\[\](){}.]|\.(?!\.\.))+")
_IGNORED = ("end", "return", "define_constants")
_RUN = "load the case in MATPOWER, which runs the code, save it with savecase, and convert that"


def read_text(data: bytes) -> Tables:
    """Return the tables of a file; raises Declined with a `case-` code."""
    text = _decoded(data)
    found: dict[str, Rows] = {}
    others: list[str] = []
    said: list[str] = []
    owner: str | None = None
    started, seen = False, set[str]()
    for line, code in _statements(text):
        if not started:
            head = _FUNCTION.fullmatch(code)
            if head is None:
                raise _refused("case-version", "it starts neither with `function mpc = NAME` nor as version 1 does", line, "give a case file")
            started, owner = True, head.group(1)
            if owner is None:
                said.append("version 1 was read, and version 2 written")
            continue
        if code in _IGNORED:
            continue
        assigned = _ASSIGNMENT.fullmatch(code)
        if assigned is None or assigned.group(1) != owner:
            raise _refused("case-code", f"{_shown(code)} is code, not the assignment of a matrix", line)
        name, value = assigned.group(2), assigned.group(3).strip()
        if name in seen:
            raise _refused("case-twice", f"{name} is assigned a second time", line, "keep one of the two")
        seen.add(name)
        if name == "version":
            if value.strip("'\"") not in ("1", "2"):
                raise _refused("case-version", f"the version is {_shown(value)}", line, "give a case of version 1 or 2")
        elif value.startswith("[") and value.endswith("]"):
            found[name] = _matrix(value[1:-1], line)
        elif number_text(value) is not None:
            found[name] = [[number_text(value) or value]]
        elif _STRING.fullmatch(value):
            said.append(f"{name} was dropped: it is a text")
        elif value.startswith("{") and value.endswith("}"):
            others.append(name)
        else:
            raise _refused("case-code", f"{_shown(code)} is code, not the assignment of a literal", line)
    if not started:
        raise Declined("case-version", "the file holds no case", fix="give a case file")
    base = only(found, "baseMVA")
    del found["baseMVA"]
    return Tables(base, found, others, _comments(text), said)


def _decoded(data: bytes) -> str:
    """Return the text with plain line ends; raises Declined `case-code` for a line end that programs read in different ways."""
    try:
        text = data.removeprefix(b"\xef\xbb\xbf").decode("utf-8")
    except UnicodeDecodeError:
        text = data.decode("latin-1")
    text = text.replace("\r\n", "\n")
    strange = re.search(r"[\x00-\x08\x0b-\x1f\x85\u2028\u2029]", text)
    if strange is not None:
        raise _refused("case-code", f"the character {strange.group()!r}, at which some programs end a line", text.count("\n", 0, strange.start()) + 1,
                       "save it as plain text")
    return text


def _statements(text: str) -> Iterator[tuple[int, str]]:
    """Yield statements with the lines on which they start, without comments and continuations; line breaks within brackets stay."""
    made: list[str] = []
    depth = start = block = 0
    begun = False
    for number, line in enumerate(text.split("\n"), start=1):
        bare = line.strip()
        if bare in ("%{", "#{"):
            block += 1
        if block:
            block -= bare in ("%}", "#}")
            continue
        place, continued = 0, False
        while place < len(line):
            plain = (_WITHIN if depth else _OUTSIDE).match(line, place)
            if plain is not None:
                if not begun and not plain.group().isspace():
                    start, begun = number, True
                made.append(plain.group())
                place = plain.end()
                continue
            letter = line[place]
            if letter in "%#":
                break
            if line.startswith("...", place):
                continued = True
                break
            before = line[place - 1] if place else " "
            if letter in "'\"" and not (letter == "'" and (before.isalnum() or before in "_)]}'.")):
                string = _STRING.match(line, place)
                if string is None:
                    raise _refused("case-code", "a text without its end", number, "correct the text")
                made.append(string.group())
                place = string.end()
                continue
            depth += (letter in "[{(") - (letter in "]})")
            if depth < 0:
                raise _refused("case-code", f"a {letter!r} without its beginning", number, "correct the brackets")
            if letter in ";," and not depth:
                yield from _statement(made, start)
                made, begun = [], False
            else:
                start, begun = (start, True) if begun else (number, True)
                made.append(letter)
            place += 1
        made.append(" " if continued else "\n")
        if not depth and not continued:
            yield from _statement(made, start)
            made, begun = [], False
    if depth or block:
        raise Declined("case-code", "the file ends inside brackets or a block comment: it is cut off", fix="fetch the file again")
    yield from _statement(made, start)


def _statement(made: list[str], start: int) -> Iterator[tuple[int, str]]:
    if code := "".join(made).strip():
        yield start, code


def _matrix(body: str, line: int) -> Rows:
    """Return the rows of a matrix of literals; raises Declined `case-literal`."""
    rows: Rows = []
    for row in re.split(r"[;\n]", body):
        texts = [text for text in re.split(r"[\s,]+", row) if text]
        numbers = [number_text(text) for text in texts]
        for text, number in zip(texts, numbers, strict=True):
            if number is None:
                raise _refused("case-literal", f"{_shown(text)} is not a decimal number", line, "write numbers as 0.5 or 1e-3")
        if numbers:
            rows.append([number for number in numbers if number is not None])
    return rows


def _comments(text: str) -> list[str]:
    """Return the comment at the head of the file, which often says who made it and who may use it."""
    kept: list[str] = []
    for line in text.split("\n"):
        bare = line.strip()
        if bare.startswith("%") and bare not in ("%{", "%}"):
            kept.append(bare.lstrip("%").strip())
        elif bare and not bare.startswith("function"):
            break
    return kept


def _refused(code: str, what: str, line: int, fix: str = _RUN) -> Declined:
    return Declined(code, what, where=f"line {line}", fix=fix)


def _shown(text: str) -> str:
    return repr(text[:40])
