# SPDX-License-Identifier: Apache-2.0
"""Where the buses of a network stand in a drawing: a case file holds no coordinates, so they are laid out by networkx, the same way each time.

Guarantee: coordinates are integers in pixels, at least `EDGE` from every side; nothing depends on a random number. The drawing means nothing but
which buses are joined.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Any

from certify.readers.power import Network

MOST_BUSES = 600
EDGE = 30
_STEP = 39  # pixels a bus takes along one side, on the average, as long as an island then is not wider than a page
_HALF = 385
_GAP = 60


@dataclass(frozen=True)
class Layout:
    """The place of each bus, and the size of the drawing."""

    places: tuple[tuple[int, int], ...]
    width: int
    height: int


def lay_out(network: Network) -> Layout:
    """Return places for at most `MOST_BUSES` buses; raises ImportError without networkx, or scipy, which its layout needs."""
    import networkx

    graph = networkx.Graph()
    graph.add_nodes_from(range(len(network.numbers)))
    graph.add_edges_from(sorted({(min(line.start, line.end), max(line.start, line.end)) for line in network.lines}))
    places: dict[int, tuple[int, int]] = {}
    left = top = EDGE
    width = height = 0
    for island in sorted(map(sorted, networkx.connected_components(graph)), key=lambda buses: (-len(buses), buses)):
        points = _island(networkx, graph.subgraph(island), island)
        wide, high = (max(point[axis] for point in points) for axis in (0, 1))
        if left > EDGE and left + wide > 2 * _HALF:  # small islands stand in rows below the large ones
            left, top = EDGE, height + _GAP
        places |= {bus: (left + x, top + y) for bus, (x, y) in zip(island, points, strict=True)}
        left, width, height = left + wide + _GAP, max(width, left + wide), max(height, top + high)
    return Layout(tuple(places[bus] for bus in range(len(network.numbers))), width + EDGE, height + EDGE)


def _island(networkx: Any, graph: Any, buses: list[int]) -> list[tuple[int, int]]:
    """Return places from (0, 0), wider than high, whose distances are like the numbers of lines between the buses (Kamada and Kawai)."""
    ordered = networkx.Graph()
    ordered.add_nodes_from(buses)
    ordered.add_edges_from(sorted(map(sorted, graph.edges)))
    found = networkx.kamada_kawai_layout(ordered)
    points = [(float(found[bus][0]), float(found[bus][1])) for bus in buses]
    spans = [max(point[axis] for point in points) - min(point[axis] for point in points) for axis in (0, 1)]
    if spans[1] > spans[0]:
        points = [(y, x) for x, y in points]
    scale = min(_HALF, _STEP * sqrt(len(buses)))
    low = [min(point[axis] for point in points) for axis in (0, 1)]
    return [(round(scale * (x - low[0])), round(scale * (y - low[1]))) for x, y in points]
