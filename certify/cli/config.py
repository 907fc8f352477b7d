# SPDX-License-Identifier: Apache-2.0
"""`prove --config FILE`: a TOML file with one table a kind of claim, whose values become the texts that --set takes.

Numbers keep the digits that the file has: `radius = 0.1` is the text 0.1, so one tenth. Nothing is read that was not named on the command line.
"""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from certify import registry
from certify.certificate import Kind
from certify.container import load_bytes
from certify.errors import CertifyError, UsageError
from certify.limits import Limits

RANGES: Mapping[str, tuple[int, int]] = {"workers": (1, 256), "seed": (0, (1 << 32) - 1)}
_EFFORT, _MOST = ("time-limit", *RANGES), 1 << 20
_TIME = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h)?", re.ASCII)
_UNITS = {None: 1.0, "ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_ABOUT = re.compile(r"--set (\w+)|claim\.given\.(\w+)")


@dataclass(frozen=True)
class Config:
    """What a file says about one kind: texts of settings, files by role (relative to its folder), and options of `prove`."""

    path: Path
    kind: str
    texts: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, tuple[Path, ...]] = field(default_factory=dict)
    effort: Mapping[str, str] = field(default_factory=dict)

    def place(self, key: str) -> str:
        """Return the place of a setting, or "" where the file does not have it."""
        return f"{self.path}: [{self.kind}] {key}" if key in self.texts or key in self.files else ""

    def placed(self, trouble: CertifyError, overridden: Collection[str]) -> CertifyError:
        """Return the error with the place in this file that it is about, if it is about one."""
        found = _ABOUT.match(trouble.what) or _ABOUT.match(trouble.where)
        key = (found.group(1) or found.group(2)) if found else next(
            (role for role, paths in self.files.items() if any(str(path) in f"{trouble.what} {trouble.where}" for path in paths)), "")
        if key not in overridden and self.place(key) and not trouble.where.startswith(str(self.path)):
            trouble.what = trouble.what.removeprefix("--set ")
            trouble.where = self.place(key)
        return trouble


def read_config(path: Path, kind: Kind) -> Config:
    """Return what a file says about a kind; raises UsageError: `config-syntax`, `setting-unknown` for a table of no kind, `setting-value`."""
    tables = _tables(path)
    for name, table in tables.items():
        if not isinstance(table, dict):
            raise UsageError("setting-unknown", f"{name!r} stands in no table", where=str(path), fix=f"write it below [prove] or [{kind.name}]")
        if name != "prove" and name not in registry.KINDS:
            near = difflib.get_close_matches(name, ["prove", *registry.KINDS], n=1)
            raise UsageError("setting-unknown", f"there is no claim of kind {name!r}", where=f"{path}: [{name}]",
                             fix=f"did you mean [{near[0]}]?" if near else f"tables are [prove] and the kinds: {', '.join(registry.KINDS)}")
    for name in tables.get("prove", {}):
        if name not in _EFFORT:
            near = difflib.get_close_matches(name, _EFFORT, n=1)
            raise UsageError("setting-unknown", f"[prove] has no setting {name!r}", where=str(path),
                             fix=f"did you mean {near[0]!r}?" if near else f"its settings are {', '.join(_EFFORT)}")
    effort = {name: _text(value, f"{path}: [prove] {name}") for name, value in tables.get("prove", {}).items()}
    texts: dict[str, str] = {}
    files: dict[str, tuple[Path, ...]] = {}
    roles = {role.name: role for role in kind.roles}
    for key, value in tables.get(kind.name, {}).items():
        where = f"{path}: [{kind.name}] {key}"
        if key not in roles:
            texts[key] = _text(value, where)
            continue
        named = value if roles[key].many and isinstance(value, list) else [value]
        if not named or not all(isinstance(name, str) for name in named):
            raise UsageError("setting-value", f"{key} takes the path of a file", where=where,
                             fix=f'write {key} = "FILE", relative to the folder of {path.name}')
        files[key] = tuple(path.parent / name for name in named)
    return Config(path, kind.name, texts, files, effort)


def effort(config: Config, time_limit: str | None, workers: int | None, seed: int | None) -> tuple[float | None, int, int]:
    """Return (seconds, workers, seed): what the command line gives, else what the file gives, else no limit, 1 and 0; raises UsageError."""
    number: dict[str, int] = {"workers": 1 if workers is None else workers, "seed": 0 if seed is None else seed}
    for name, given in (("workers", workers), ("seed", seed)):
        if given is None and name in config.effort:
            given_text, (low, high) = config.effort[name], RANGES[name]
            if not re.fullmatch(r"\d{1,10}", given_text, re.ASCII) or not low <= int(given_text) <= high:
                raise UsageError("setting-value", f"{name} = {given_text}: not an integer from {low} to {high}",
                                 where=f"{config.path}: [prove] {name}",
                                 fix="correct it there, or give the option")
            number[name] = int(given_text)
    if time_limit is not None:
        return seconds(time_limit, "--time-limit "), number["workers"], number["seed"]
    text = config.effort.get("time-limit")
    limit = None if text is None else seconds(text, "time-limit = ", f"{config.path}: [prove] time-limit")
    return limit, number["workers"], number["seed"]


def seconds(text: str, before: str = "", where: str = "") -> float:
    """Return the seconds in "90", "90s", "10m" or "1h"; raises UsageError `setting-value`."""
    match = _TIME.fullmatch(text)
    if not match or float(match.group(1)) <= 0:
        raise UsageError("setting-value", f"{before}{text}: not a time", where=where, fix="give a time such as 90s, 10m or 1h")
    return float(match.group(1)) * _UNITS[match.group(2)]


def _tables(path: Path) -> dict[str, Any]:
    data = load_bytes(path, Limits())
    if len(data) > _MOST:
        raise UsageError("config-syntax", f"{len(data)} bytes are too many for settings", where=str(path), fix="give a TOML file with --config")
    try:
        text = data.decode("utf-8")
        return tomllib.loads(text, parse_float=lambda digits: digits.replace("_", ""))
    except RecursionError:
        what = "the brackets are nested too deep"
    except UnicodeDecodeError as trouble:
        what = f"not UTF-8 (at line {data.count(10, 0, trouble.start) + 1})"
    except ValueError as trouble:  # of tomllib, or an integer of thousands of digits
        what = str(trouble).replace("at end of document", f"at line {max(1, len(text.splitlines()))}, the end")
    raise UsageError("config-syntax", what, where=str(path), fix="correct the TOML: texts and fractions such as \"1/20\" stand in quotes")


def _text(value: object, where: str) -> str:
    """Return the text that --set takes for a value of TOML."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return value
    if isinstance(value, int):
        try:
            return str(value)
        except ValueError:  # Python writes no integers of thousands of digits
            raise UsageError("setting-value", "an integer of too many digits", where=where, fix="give a smaller number") from None
    if isinstance(value, list) and not any(isinstance(item, (list, dict)) for item in value):
        items = [_text(item, where) for item in value]
        if not any(mark in item for item in items for mark in ",[]"):
            return f"[{','.join(items)}]"
    raise UsageError("setting-value", "a value is a number, a text, true, false, or a list of numbers or texts", where=where,
                     fix="`certify claims KIND` says what each setting takes")
