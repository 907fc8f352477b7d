# SPDX-License-Identifier: Apache-2.0
"""A power network as a one-line diagram: buses sized by demand, lines by what the claim says of them, one side of a cut shaded. Inline SVG.

Guarantee: coordinates are integers, colours come from the style sheet, and every bus and line says what it is to whoever points at it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from fractions import Fraction
from math import hypot, sqrt

from certify.readers.power import Line, Network
from certify.report.html import Html, join, number, paragraph, tag
from certify.report.layout import MOST_BUSES, Layout, lay_out

_MOST_LABELS = 150
_RADII, _SMALL_RADII = (4, 15), (3, 10)
_APART = 5  # pixels between parallel circuits
_LOOKS = {"attacked": "attacked", "defended": "defended", "unlimited": "without a rating", "plain": "other lines"}


@dataclass(frozen=True)
class Marks:
    """What is drawn in colour: rows of lines, and positions of buses; `attacked_words` says what the attacked lines are."""

    attacked: Collection[int] = ()
    defended: Collection[int] = ()
    side: Collection[int] = ()
    attacked_words: str = "attacked"
    side_words: str = "the side of the cut that is short of supply"


def one_line(network: Network, marks: Marks, caption: str) -> Html:
    """Return the diagram with its legend, or a paragraph that says why there is none."""
    if len(network.numbers) > MOST_BUSES:
        return paragraph(f"No drawing: the network has more than {MOST_BUSES} buses.", class_="note")
    try:
        layout = lay_out(network)
    except ImportError as missing:
        return paragraph(f"No drawing: the package {(missing.name or 'networkx').split('.')[0]} is not installed. ",
                         tag("code", "pip install 'certify-engine[grid]'"), " brings what is missing.", class_="note")
    looks = [_look(line, marks) for line in network.lines]
    named = _named(network, looks, marks)
    picture = tag("svg", tag("title", caption), *_shade(network, layout, marks), *_lines(network, layout, looks),
                  *(_bus(network, layout, bus, bus in named) for bus in range(len(network.numbers))), *_labels(network, layout, looks),
                  viewBox=f"0 0 {layout.width} {layout.height}", width=layout.width, height=layout.height, role="img", class_="grid")
    return join([tag("div", picture, class_="scroll", tabindex=0, role="group", aria_label=caption), _legend(looks, marks, network)])


def _look(line: Line, marks: Marks) -> str:
    if line.row in marks.attacked:
        return "attacked"
    return "defended" if line.row in marks.defended else "unlimited" if line.high is None else "plain"


def _named(network: Network, looks: list[str], marks: Marks) -> set[int]:
    """Return the buses that get their number: all where there is room, else the ends of lines that are attacked or defended."""
    if len(network.numbers) <= _MOST_LABELS:
        return set(range(len(network.numbers)))
    return {bus for line, look in zip(network.lines, looks, strict=True) if look in ("attacked", "defended") for bus in (line.start, line.end)}


def _shade(network: Network, layout: Layout, marks: Marks) -> list[Html]:
    """Return a band around the buses of a side and the lines between them."""
    if not marks.side:
        return []
    inner = sorted({(min(line.start, line.end), max(line.start, line.end)) for line in network.lines
                    if line.start in marks.side and line.end in marks.side})
    shapes = [tag("line", x1=layout.places[a][0], y1=layout.places[a][1], x2=layout.places[b][0], y2=layout.places[b][1]) for a, b in inner]
    shapes += [tag("circle", cx=layout.places[bus][0], cy=layout.places[bus][1], r=22) for bus in sorted(marks.side)]
    return [tag("g", tag("title", marks.side_words), *shapes, class_="side")]


def _ends(network: Network, layout: Layout) -> list[tuple[int, int, int, int]]:
    """Return the ends of each line as drawn: parallel circuits stand side by side."""
    together = Counter(frozenset((line.start, line.end)) for line in network.lines)
    drawn: Counter[frozenset[int]] = Counter()
    found = []
    for line in network.lines:
        pair = frozenset((line.start, line.end))
        (x1, y1), (x2, y2) = (layout.places[bus] for bus in sorted(pair))
        shift = _APART * (drawn[pair] - (together[pair] - 1) / 2)
        drawn[pair] += 1
        long = hypot(x2 - x1, y2 - y1) or 1.0
        dx, dy = round(-shift * (y2 - y1) / long), round(shift * (x2 - x1) / long)
        found.append((x1 + dx, y1 + dy, x2 + dx, y2 + dy))
    return found


def _lines(network: Network, layout: Layout, looks: list[str]) -> list[Html]:
    """Return the lines, those that are marked above the others."""
    drawn = []
    for line, look, (x1, y1, x2, y2) in zip(network.lines, looks, _ends(network, layout), strict=True):
        limit = "without a rating" if line.high is None else f"{number(line.high, 6)} MW"
        words = f"row {line.row}: bus {network.numbers[line.start]} to bus {network.numbers[line.end]}, {limit}"
        told = f"{words}, {look}" if look in ("attacked", "defended") else words
        drawn.append((look != "plain", tag("line", tag("title", told), x1=x1, y1=y1, x2=x2, y2=y2, class_=f"branch {look}")))
    return [shape for above in (False, True) for marked, shape in drawn if marked == above]


def _bus(network: Network, layout: Layout, bus: int, named: bool) -> Html:
    demand, supply = network.demand[bus], network.supply[bus]
    largest = max(network.demand, default=Fraction(0)) or Fraction(1)
    least, most = _RADII if len(network.numbers) <= _MOST_LABELS else _SMALL_RADII
    radius = max(least, round(most * sqrt(demand / largest)))
    x, y = layout.places[bus]
    words = f"bus {network.numbers[bus]}: demand {number(demand, 6)} MW, supply up to {number(supply, 6)} MW"
    looks = ["bus", *(["demand"] if demand else []), *(["supply"] if supply else [])]
    parts = [tag("title", words), tag("circle", cx=x, cy=y, r=radius, class_=" ".join(looks))]
    if named:
        parts.append(tag("text", str(network.numbers[bus]), x=x, y=y + 3 if radius > 9 else y - radius - 3))
    return tag("g", *parts)


def _labels(network: Network, layout: Layout, looks: list[str]) -> list[Html]:
    """Return the rows of lines that are attacked or defended, at their middles."""
    return [tag("text", str(line.row), x=(x1 + x2) // 2, y=(y1 + y2) // 2 - 4, class_=f"row {look}")
            for line, look, (x1, y1, x2, y2) in zip(network.lines, looks, _ends(network, layout), strict=True) if look in ("attacked", "defended")]


def _legend(looks: list[str], marks: Marks, network: Network) -> Html:
    shown = []
    for look, words in _LOOKS.items():
        if look in looks:
            told = marks.attacked_words if look == "attacked" else words
            shown += [tag("span", class_=f"swatch {look}"), told]
    if marks.side:
        shown += [tag("span", class_="swatch side"), marks.side_words]
    largest = number(max(network.demand, default=Fraction(0)), 6)
    return join([paragraph(*shown, class_="legend"), paragraph(
        f"Circles are buses, sized by their demand (the largest has {largest} MW), with a thick rim where there is supply. Numbers in "
        "colour are rows of mpc.branch. The file holds no coordinates: where a bus stands says nothing.", class_="note")])
