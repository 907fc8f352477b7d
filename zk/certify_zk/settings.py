# SPDX-License-Identifier: Apache-2.0
"""What an owner may choose for a commitment: `policy.toml`, read strictly, and the policy that follows for an architecture.

Guarantee: every number is the rational that its text denotes (0.1 is 1/10, "1/255" one 255th), a key that is not read is refused, and a choice that
no policy may have is refused here, with its key; widths are for `calibration.fitted`, which tries the circuit.
"""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from certify.errors import UsageError
from certify_zk.policy import BACKENDS, HYRAX_LEVEL, LEAST_UNIT, LEVELS, MOST_USES, UNIT_CUBE, InputMap, Layer, Policy

_MOST_BYTES = 8 << 20  # a map with four numbers for each of 2^16 inputs fits
_NUMBER = re.compile(r"[+-]?(\d{1,100}(\.\d{0,100})?|\.\d{1,100})([eE][+-]?\d{1,2})?|[+-]?\d{1,100}/0*[1-9]\d{0,99}", re.ASCII)
_MODE = re.compile(r"crown|ibp|stop:[1-9]\d{0,2}", re.ASCII)
_SCALES = {"weight": ("weight_scale", LEAST_UNIT, 15), "bias": ("bias_scale", 1, 24), "input": ("input_scale", 1, 24),
           "total": ("total_scale", 1, 32)}
_MAP = ("offset", "scale", "lower", "upper")
_KEYS = ("modes", "backend", "level", "uses", "slope_bits", "bias_bits", "remainder", "calibration_radius", "scales", "input")
_MOST_SLOPE_BITS = 15

Rationals = tuple[Fraction, ...]


@dataclass(frozen=True)
class Settings:
    """The choices of a file; those that it leaves open have the defaults of `Policy`.

    `slope_bits` None: as many from 12 down to 8 as widths allow. Entries of the map are one, or one an input, in units of the network's file;
    None for what follows from the network. `radius` is that of calibration boxes in the same units, None for one step of the grid.
    """

    modes: str | tuple[str, ...] = "crown"
    level: int = Policy.level
    uses: int = Policy.uses
    slope_bits: int | None = None
    scales: Mapping[str, int] = field(default_factory=dict)
    bias_bits: int = Policy.bias_bits
    remainder: bool = Policy.remainder
    radius: Fraction | None = None
    offset: Rationals | None = None
    scale: Rationals | None = None
    lower: Rationals = UNIT_CUBE.lower
    upper: Rationals = UNIT_CUBE.upper
    backend: str = Policy.backend

    def policy(self, layers: tuple[Layer, ...], inputs: InputMap) -> Policy:
        """Return the policy for an architecture; tau is for calibration to choose, and the sizes of rows for `sizing`.

        Raises UsageError `policy-file` for modes that the passes of these layers can't have.
        """
        modes = self._modes(len(layers))
        return Policy(layers, modes, ((),) * len(layers), inputs, slope_bits=self.slope_bits or Policy.slope_bits, bias_bits=self.bias_bits,
                      remainder=self.remainder, level=self.level, uses=self.uses, backend=self.backend, **self.scales)

    def _modes(self, depth: int) -> tuple[str, ...]:
        """Return one mode a pass; a single word is that of every pass that can have it."""
        if isinstance(self.modes, str):
            if self.modes.startswith("stop:") and int(self.modes.removeprefix("stop:")) >= depth:
                raise _refused("modes", f"the mode {self.modes!r} ends at no hidden layer of {depth - 1}", 'give one of them, or "crown"')
            return tuple(_mode(self.modes, m) for m in range(1, depth + 1))
        if len(self.modes) != depth:
            raise _refused("modes", f"{len(self.modes)} modes for {depth} layers", "give one mode for all passes, or one for each layer")
        for m, mode in enumerate(self.modes, start=1):
            allowed = ("crown",) if m == 1 else ("crown", "ibp", *(f"stop:{j}" for j in range(1, m - 1)))
            if mode not in allowed:
                raise _refused("modes", f"pass {m} has the mode {mode!r}", f"it may be {', '.join(allowed[:6])}")
        return self.modes


def _mode(word: str, m: int) -> str:
    """Return the mode of pass m that ends where a word says, or as near to it as pass m can."""
    if m == 1 or word == "crown":
        return "crown"
    stop = m - 1 if word == "ibp" else int(word.removeprefix("stop:"))
    return "crown" if m <= stop else "ibp" if m == stop + 1 else word


def like(policy: Policy) -> Settings:
    """Return the choices with which a network that has the integers of a policy becomes them again."""
    inputs = policy.inputs
    scales = {name: getattr(policy, name) for name, *_ in _SCALES.values()}
    return Settings(policy.modes, policy.level, policy.uses, policy.slope_bits, scales, policy.bias_bits, policy.remainder, None, inputs.offset,
                    inputs.scale, inputs.lower, inputs.upper, policy.backend)


def read_settings(data: bytes) -> Settings:
    """Return the choices in the bytes of a policy file; raises UsageError `policy-file`, which names the key."""
    table = _table(data)
    _known(table, _KEYS, "")
    scales, given = _within(table, "scales", tuple(_SCALES)), _within(table, "input", _MAP)
    found: dict[str, Any] = {
        "scales": {_SCALES[name][0]: _integer(f"scales.{name}", value, *_SCALES[name][1:]) for name, value in scales.items()},
        **{name: _rationals(f"input.{name}", value) for name, value in given.items()},
    }
    readers: Mapping[str, Callable[[str, Any], Any]] = {
        "modes": _read_modes, "backend": _backend, "level": _level, "uses": lambda key, value: _integer(key, value, 1, MOST_USES),
        "slope_bits": _slope_bits, "bias_bits": lambda key, value: _integer(key, value, 2, 32), "remainder": _boolean,
        "calibration_radius": _radius,
    }
    found |= {"radius" if key == "calibration_radius" else key: reader(key, table[key]) for key, reader in readers.items() if key in table}
    settings = Settings(**found)
    if settings.backend == "hyrax" and settings.level != HYRAX_LEVEL:
        raise _refused("level", f"hyrax is taken for {HYRAX_LEVEL} bits", 'give level = 100, or backend = "ligero"')
    _require_scales(settings.scales)
    _require_map(settings)
    return settings


def _table(data: bytes) -> dict[str, Any]:
    if len(data) > _MOST_BYTES:
        raise _refused("file", f"{len(data)} bytes", f"a policy file has at most {_MOST_BYTES}")
    try:
        return tomllib.loads(data.decode("utf-8"), parse_float=lambda digits: digits.replace("_", ""))
    except RecursionError:
        what = "the brackets are nested too deep"
    except UnicodeDecodeError:
        what = "not UTF-8"
    except ValueError as trouble:  # of tomllib, or an integer of thousands of digits
        what = str(trouble)
    raise _refused("file", what, 'correct the TOML: texts and fractions such as "1/255" stand in quotes')


def _known(table: Mapping[str, Any], keys: Sequence[str], prefix: str) -> None:
    for name in table:
        if name not in keys:
            near = difflib.get_close_matches(name, keys, n=1)
            raise _refused(prefix + name, "there is no such key", f"did you mean {prefix + near[0]!r}?" if near else f"keys are {', '.join(keys)}")


def _within(table: Mapping[str, Any], name: str, keys: Sequence[str]) -> Mapping[str, Any]:
    found = table.get(name, {})
    if not isinstance(found, dict):
        raise _refused(name, "it is no table", f"write [{name}], and below it {', '.join(keys)}")
    _known(found, keys, f"{name}.")
    return found


def _integer(key: str, value: Any, least: int, most: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise _refused(key, "it is no integer in its range", f"give an integer from {least} to {most}")
    return value


def _boolean(key: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise _refused(key, "it is neither true nor false", "give true or false, without quotes")
    return value


def _backend(key: str, value: Any) -> str:
    if value not in BACKENDS:
        raise _refused(key, "there is no such backend", f"give one of {', '.join(BACKENDS)}")
    return str(value)


def _level(key: str, value: Any) -> int:
    if type(value) is not int or value not in LEVELS:
        raise _refused(key, "there is no such level", f"give one of {', '.join(map(str, LEVELS))}, in bits")
    return value


def _slope_bits(key: str, value: Any) -> int | None:
    return None if value == "auto" else _integer(key, value, 1, _MOST_SLOPE_BITS)


def _read_modes(key: str, value: Any) -> str | tuple[str, ...]:
    modes = value if isinstance(value, list) else [value]
    if not modes or not all(isinstance(mode, str) and _MODE.fullmatch(mode) for mode in modes):
        raise _refused(key, "a mode is none of the words for one", 'give "crown", "ibp" or "stop:J" with a hidden layer J, or a list, one a layer')
    return tuple(modes) if isinstance(value, list) else str(value)


def _radius(key: str, value: Any) -> Fraction:
    found = _exact(key, value)
    if found < 0:
        raise _refused(key, "it is negative", "give 0 or more, in units of the network's inputs")
    return found


def _rationals(key: str, value: Any) -> Rationals:
    """Return the entries, a single one where all are equal."""
    entries = value if isinstance(value, list) else [value]
    found = tuple(_exact(key, entry) for entry in entries)
    if not found:
        raise _refused(key, "the list is empty", "give one number, or one for each input")
    return found[:1] if len(set(found)) == 1 else found


def _exact(key: str, value: Any) -> Fraction:
    if isinstance(value, int) and not isinstance(value, bool):
        return Fraction(value)
    if not isinstance(value, str) or not _NUMBER.fullmatch(value):
        shown = repr(value)[:40] if isinstance(value, str) else "a value"
        raise _refused(key, f"{shown} is no exact number", 'give an integer, a decimal number such as 0.25, or a fraction in quotes: "1/255"')
    return Fraction(value)


def _require_scales(scales: Mapping[str, int]) -> None:
    total, bias = scales.get("total_scale", Policy.total_scale), scales.get("bias_scale", Policy.bias_scale)
    if total < bias:
        raise _refused("scales.total", f"totals in units of 2^-{total} are coarser than biases in 2^-{bias}", "give at least that of scales.bias")


def _require_map(settings: Settings) -> None:
    """Refuse what is wrong whatever the network is; `conversion` has compared lengths with its inputs."""
    several = {len(values) for name in _MAP if (values := getattr(settings, name)) is not None and len(values) > 1}
    if len(several) > 1:
        raise _refused("input", f"lists of {' and '.join(map(str, sorted(several)))} numbers", "give one number for each input in every list")
    count = max(several, default=1)
    lower, upper = spread(settings.lower, count), spread(settings.upper, count)
    if any(low >= high for low, high in zip(lower, upper, strict=True)):
        raise _refused("input.upper", "the domain is empty", "give ends of a domain with lower below upper for every input")
    if settings.scale is not None and min(settings.scale) <= 0:
        raise _refused("input.scale", "a scale is not positive", "give scales above 0")
    if settings.offset is not None and any(o > low for o, low in zip(spread(settings.offset, count), lower, strict=True)):
        raise _refused("input.offset", "an offset is above the lower end of the domain", "the smallest input must become 0 or more")


def spread(values: Rationals, count: int) -> Rationals:
    """Return one entry for each of `count` inputs."""
    return values * count if len(values) == 1 else values


def _refused(key: str, what: str, fix: str) -> UsageError:
    return UsageError("policy-file", f"{key}: {what}", where=f"key {key}", fix=fix)
