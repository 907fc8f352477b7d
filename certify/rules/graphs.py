# SPDX-License-Identifier: Apache-2.0
"""Graphs of buses and lines: connected sets by union-find, and spanning forests."""

from __future__ import annotations

from collections.abc import Collection

from certify.readers.power import Network


class UnionFind:
    """A partition of 0 .. size - 1, at first into single nodes."""

    def __init__(self, size: int) -> None:
        self._parent = list(range(size))

    def root(self, node: int) -> int:
        """Return the node that stands for the part of a node."""
        parent = self._parent
        while parent[node] != node:
            parent[node] = parent[parent[node]]
            node = parent[node]
        return node

    def join(self, first: int, second: int) -> bool:
        """Unite the parts of two nodes; return whether they were two."""
        first, second = self.root(first), self.root(second)
        self._parent[first] = second
        return first != second


def spanning_forest(network: Network, without: Collection[int] = ()) -> tuple[list[int], list[int]]:
    """Return all buses, each after the one that leads to it, and the line [buses] that does (-1 at roots), where some lines are out."""
    lines, buses = network.lines, len(network.numbers)
    at: list[list[int]] = [[] for _ in range(buses)]
    for k, line in enumerate(lines):
        if k not in without:
            at[line.start].append(k)
            at[line.end].append(k)
    order, via, seen = [], [-1] * buses, [False] * buses
    for root in range(buses):
        stack = [] if seen[root] else [root]
        seen[root] = True
        while stack:
            bus = stack.pop()
            order.append(bus)
            for k in at[bus]:
                other = lines[k].end if lines[k].start == bus else lines[k].start
                if not seen[other]:
                    seen[other], via[other] = True, k
                    stack.append(other)
    return order, via
