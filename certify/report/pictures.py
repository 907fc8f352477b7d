# SPDX-License-Identifier: Apache-2.0
"""Inputs that are images, as small PNG files inside the page: grey or colour for points and ends of a box, red and blue for differences.

Guarantee: pixels are rounded from exact rationals, and the PNG is written uncompressed, so the same numbers give the same bytes everywhere.
"""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import isqrt

from certify.report.html import Html, tag

_MOST_PIXELS = 256 * 256
_BLOCK = 65535
_HIGHER, _LOWER = (192, 50, 43), (47, 95, 179)  # red and blue, white where nothing changed
Values = Sequence[Fraction]


@dataclass(frozen=True)
class Shape:
    """How a flat input is laid out as an image: channels first; `guessed` where only its length says that it is a square."""

    channels: int
    height: int
    width: int
    guessed: bool = False

    @property
    def words(self) -> str:
        """The size, and how it is known."""
        if self.guessed:
            return (f"Drawn as {self.height} x {self.width}, because {self.height * self.width} inputs fill a square: the model's input has no image "
                    "shape of its own.")
        colour = "in colour (3 channels)" if self.channels == 3 else "in grey"
        return f"{self.height} x {self.width} {colour}, as the shape of the model's input says."


def image_shape(input_shape: Sequence[int], inputs: int) -> Shape | None:
    """Return the layout of an input as an image, or None where it is none."""
    shape = tuple(input_shape[1:] if len(input_shape) > 2 and input_shape[0] == 1 else input_shape)
    found: Shape | None = None
    if len(shape) == 3 and shape[0] in (1, 3) and min(shape[1:]) > 1:
        found = Shape(*shape)
    elif len(shape) == 2 and min(shape) > 1:
        found = Shape(1, *shape)
    elif len([size for size in shape if size != 1]) <= 1 and inputs >= 16 and isqrt(inputs) ** 2 == inputs:
        found = Shape(1, isqrt(inputs), isqrt(inputs), guessed=True)
    if found is None or found.channels * found.height * found.width != inputs or found.height * found.width > _MOST_PIXELS:
        return None
    return found


def picture(values: Values, shape: Shape, low: Fraction, high: Fraction, alt: str, caption: str) -> Html:
    """Return a figure of the values, `low` black and `high` white."""
    span = high - low or Fraction(1)
    levels = bytes(min(255, max(0, round(255 * (value - low) / span))) for value in values)
    if shape.channels == 3:
        size = shape.height * shape.width
        levels = bytes(levels[c * size + k] for k in range(size) for c in range(3))
    return _figure(levels, shape, shape.channels, alt, caption)


def difference(values: Values, shape: Shape, alt: str, caption: str) -> Html:
    """Return a figure of signed values: white is 0, red above and blue below, full at the largest size; of several channels the largest."""
    size = shape.height * shape.width
    largest = max(map(abs, values), default=Fraction(0)) or Fraction(1)
    pixels = bytearray()
    for k in range(size):
        value = max((values[c * size + k] for c in range(shape.channels)), key=abs)
        share = abs(value) / largest
        pixels += bytes(round(255 - (255 - full) * share) for full in (_HIGHER if value > 0 else _LOWER))
    return _figure(bytes(pixels), shape, 3, alt, caption)


def gallery(*figures: Html) -> Html:
    """Return figures side by side."""
    return tag("div", *figures, class_="gallery")


def _figure(pixels: bytes, shape: Shape, channels: int, alt: str, caption: str) -> Html:
    data = base64.b64encode(png(pixels, shape.width, shape.height, channels)).decode()
    image = tag("img", src=f"data:image/png;base64,{data}", alt=alt, width=shape.width, height=shape.height)
    return tag("figure", image, tag("figcaption", caption))


def png(pixels: bytes, width: int, height: int, channels: int) -> bytes:
    """Return a PNG of 8-bit pixels, row by row, 1 channel (grey) or 3 (red, green, blue)."""
    stride = width * channels
    if len(pixels) != stride * height:
        raise ValueError("the pixels don't fill the picture")
    raw = b"".join(b"\0" + pixels[k * stride : (k + 1) * stride] for k in range(height))
    blocks = [raw[k : k + _BLOCK] for k in range(0, len(raw), _BLOCK)]
    packed = b"\x78\x01" + b"".join(struct.pack("<BHH", k == len(blocks) - 1, len(b), len(b) ^ 0xFFFF) + b for k, b in enumerate(blocks))
    packed += struct.pack(">I", zlib.adler32(raw))
    header = struct.pack(">IIBBBBB", width, height, 8, 0 if channels == 1 else 2, 0, 0, 0)
    chunks = [(b"IHDR", header), (b"IDAT", packed), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
                                           for kind, body in chunks)
