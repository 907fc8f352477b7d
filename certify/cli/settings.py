# SPDX-License-Identifier: Apache-2.0
"""`--set KEY=VALUE`: text to roles, `given` and `says` fields and prover options, by the typed fields of the kind."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from certify import registry
from certify.cli.config import Config
from certify.cli.question import Question, leaves
from certify.errors import CertifyError, UsageError
from certify.fields import Boolean, Choice, Field, Integer, ListOf, Nullable, OneOrMany, Rational, Record, Text

_NUMBER = re.compile(r"[+-]?(\d{1,400}(\.\d{0,400})?|\.\d{1,400})([eE][+-]?\d{1,3})?", re.ASCII)
_QUOTIENT = re.compile(r"[+-]?\d{1,400}/\d{1,400}", re.ASCII)


@dataclass(frozen=True)
class Settings:
    """What the user asked: files by role, and the typed `given`, `says` and option texts that were set."""

    files: Mapping[str, tuple[Path, ...]]
    given: Mapping[str, Any]
    says: Mapping[str, Any]
    options: Mapping[str, str]


def _nested(fields: Mapping[str, Field], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return values by field, those of a record put together."""
    return {name: _nested(field.fields, values) if isinstance(field, Record) else values[name] for name, field in fields.items()}


def settings(kind: Question, positional: Sequence[str], pairs: Sequence[str], defaults: Mapping[str, str], options: Mapping[str, str],
             searched: Mapping[str, str], config: Config | None = None) -> Settings:
    """Return the settings of one `prove`; those of a file count where no pair has their key.

    Raises UsageError for an unknown key, a bad value or a role that is missing.
    """
    config = config or Config(Path(), kind.name)
    asked = keyed(pairs)
    texts = {**{key: text for key, text in config.texts.items() if key not in asked}, **asked}
    roles = {role.name for role in kind.roles}
    given_fields = leaves(kind.given.fields)
    known = [*roles, *given_fields, *kind.says.fields, *options]
    for text in positional:
        if text.partition("=")[0] in known and "=" in text:
            raise UsageError("setting-form", f"{text} is a setting, given as a file", fix=f"write --set {text}; a file of that name is ./{text}")
    for key in texts:
        if key not in known:
            near = difflib.get_close_matches(key, known, n=1)
            others = [name for name in registry.KINDS if key in {**leaves(registry.kind(name).given.fields), **registry.kind(name).says.fields}]
            theirs = f"{key} is a setting of {' and '.join(others)}; those of {kind.name}" if others else "its settings"
            raise UsageError("setting-unknown", f"{kind.name} has no setting {key!r}", where="" if key in asked else config.place(key),
                             fix=f"did you mean {near[0]!r}?" if near and not others else f"{theirs} are {', '.join(sorted(known))}")
    given_texts = {**defaults, **{key: text for key, text in texts.items() if key in given_fields}}
    given: dict[str, Any] = {}
    for name, field in given_fields.items():
        if name not in given_texts:
            raise UsageError("setting-missing", f"{kind.name} needs --set {name}=...", fix=f"`certify claims {kind.name}` says what it means")
        if (given_texts[name] == "auto" and defaults.get(name) == "auto") or given_texts[name] == searched.get(name):
            given[name] = None
        else:
            given[name] = parse(field, given_texts[name], name)
    says = {name: parse(kind.says.fields[name], texts[name], name) for name in kind.says.fields if name in texts}
    named = {key: (Path(text),) for key, text in texts.items() if key in roles}
    return Settings(_roles(kind, positional, named, config.files), _nested(kind.given.fields, given), says,
                    {name: texts.get(name, text) for name, text in options.items()})


def keyed(pairs: Sequence[str]) -> dict[str, str]:
    """Return the texts of KEY=VALUE pairs by key; raises UsageError `setting-form`."""
    texts: dict[str, str] = {}
    for pair in pairs:
        key, equals, text = pair.partition("=")
        if not equals:
            raise UsageError("setting-form", f"--set {pair}: expected KEY=VALUE", fix="for example --set radius=1/20")
        if key in texts:
            raise UsageError("setting-form", f"--set {key} is given twice", fix="give each key once")
        texts[key] = text
    return texts


def parse(field: Field, text: str, name: str) -> Any:
    """Return the typed value that a person's text means for a field; raises UsageError `setting-value`."""
    try:
        value = _value(field, text.strip())
        field.decode(field.encode(value), name)
    except (ValueError, ZeroDivisionError, CertifyError) as trouble:
        reason = trouble.what if isinstance(trouble, CertifyError) else "division by zero" if isinstance(trouble, ZeroDivisionError) else str(trouble)
        raise UsageError("setting-value", f"--set {name}={text}: {reason}", fix=f"give {_form(field)}") from None
    return value


def _value(field: Field, text: str) -> Any:
    if isinstance(field, Rational):
        if not (_NUMBER.fullmatch(text) or _QUOTIENT.fullmatch(text)):
            raise ValueError("not a number")
        return Fraction(text)
    if isinstance(field, Integer):
        if not re.fullmatch(r"[+-]?\d{1,16}", text, re.ASCII):
            raise ValueError("not an integer")
        return int(text)
    if isinstance(field, Boolean):
        if text not in ("true", "false"):
            raise ValueError("not true or false")
        return text == "true"
    if isinstance(field, Nullable):
        return None if text in ("null", "none") else _value(field.item, text)
    if isinstance(field, (ListOf, OneOrMany)):
        if isinstance(field, OneOrMany) and not text.startswith("["):
            return _value(field.item, text)
        if not (text.startswith("[") and text.endswith("]")):
            raise ValueError("not a list")
        return tuple(_value(field.item, part.strip()) for part in _parts(text[1:-1])) if text[1:-1].strip() else ()
    return text


def _parts(text: str) -> list[str]:
    """Return the entries between the commas that stand in no inner brackets."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter == "[") - (letter == "]")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return parts


def _form(field: Field) -> str:
    if isinstance(field, Choice):
        return f"one of {', '.join(field.words)}"
    if isinstance(field, Rational):
        return "a number above 0 such as 1/20 or 0.05" if field.positive else "a number such as 1/20 or 0.05"
    if isinstance(field, Integer):
        return f"an integer from {field.low} on"
    if isinstance(field, Boolean):
        return "true or false"
    if isinstance(field, Nullable):
        return f"null, or {_form(field.item)}"
    if isinstance(field, OneOrMany):
        return f"{_form(field.item)}, or a list of them such as [1,2,3]"
    if isinstance(field, Text) and field.pattern != Text().pattern:
        return f"a word of the form {field.pattern}"
    return "a list such as [0,1]" if isinstance(field, ListOf) else "a text" if isinstance(field, Text) else "another value"


def order_of(kind: Question) -> str:
    """Return the usage line of `prove` for a kind: its roles in order."""
    shape = " ".join(f"[{role.name}]" if role.optional else f"{role.name}..." if role.many else role.name for role in kind.roles).upper()
    return f"usage: certify prove {kind.name} {shape}"


def _roles(kind: Question, positional: Sequence[str], named: Mapping[str, tuple[Path, ...]],
           otherwise: Mapping[str, tuple[Path, ...]]) -> dict[str, tuple[Path, ...]]:
    files = dict(named)
    left = list(positional)
    for role in kind.roles:
        if role.name in files or not left:
            continue
        files[role.name], left = (tuple(map(Path, left)), []) if role.many else ((Path(left[0]),), left[1:])
    if left:
        raise UsageError("role-extra", f"{left[0]}: one file too many for {kind.name}", fix=order_of(kind))
    files = {**otherwise, **files}
    for role in kind.roles:
        if role.name not in files and not role.optional:
            raise UsageError("role-missing", f"{kind.name} needs a {role.name} file", fix=order_of(kind))
    return files
