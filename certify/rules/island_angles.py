# SPDX-License-Identifier: Apache-2.0
"""Proposals of angles after attacks: one inverse of the intact network, low-rank updates, islands by random labels. Nothing here is trusted.

With Z = X A' (X an inverse of A' diag(b) A, grounded in every island) and T = diag(b) A Z, taking out the lines S changes theta by Z_S psi, where
(I - T_SS) psi = f_S. That is singular where S cuts the network. S cuts it if and only if the labels of a subset of S add up to zero: each line
outside of a spanning forest has a random label, each line of the forest the sum (XOR) of the labels of the lines that close a cycle through it.
The lines of such subsets are the core of S; a spanning forest of core lines between the islands stays in as links that carry no flow, since
supply and demand are scaled to balance in every island.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from certify.limits import Limits
from certify.readers.power import Network
from certify.rules.balls import Array
from certify.rules.graphs import UnionFind, spanning_forest

Integers = np.ndarray[Any, Any]
BLOCK = 1536
"""Attacks that are looked at together, at most."""
_KEPT = 1 << 22  # islands and links of lines that are remembered, in all


@dataclass(frozen=True, eq=False)
class Shape:
    """A block of attacks [attacks, size], which of their lines are taken out numerically, and the partition of each: a column of `islands`."""

    attacks: Integers
    removed: Integers
    islands: Integers
    kind: Integers


class Proposals:
    """Angles for one network; costs one inverse."""

    def __init__(self, network: Network, limits: Limits) -> None:
        self.network, self.limits = network, limits
        lines, buses = len(network.lines), len(network.numbers)
        limits.within(8 * (4 * buses * buses + lines * lines + 3 * lines * buses + BLOCK * (10 * lines + 6 * buses)), "memory",
                      "memory for the inverse of the network and a block of attacks in bytes")
        limits.spend(10 * (buses**3 + lines * buses * (lines + buses)), "inverting the network")
        self.start, self.end = (np.array(ends, np.int64) for ends in ([line.start for line in network.lines], [line.end for line in network.lines]))
        self.susceptance = np.array([float(line.susceptance) for line in network.lines])
        self.islands = components(network, frozenset())
        incidence = np.zeros((lines, buses))
        incidence[np.arange(lines), self.start] = 1.0
        incidence[np.arange(lines), self.end] = -1.0
        try:
            self.inverse = np.linalg.inv(laplacian(network, np.ones(lines, bool), self.islands))
        except np.linalg.LinAlgError:  # susceptances of very different sizes: any angles will do
            self.inverse = np.zeros((buses, buses))
        self.columns = incidence @ self.inverse.T  # Z', one row a line
        self.transfer = incidence @ self.columns.T
        self.transfer *= self.susceptance[:, None]
        self.labels = self._labels()
        self.keys = np.random.default_rng(1).integers(1, 1 << 62, lines)
        self.known: dict[int, tuple[Integers, Integers]] = {}

    def _labels(self) -> Integers:
        """Return a random label a line whose XOR over a set is 0 where removing the set splits an island, and else almost surely not."""
        lines, buses = self.network.lines, len(self.network.numbers)
        labels = np.random.default_rng(0).integers(1, 1 << 62, len(lines))
        order, via = spanning_forest(self.network)
        above = np.zeros(buses, np.int64)  # XOR of the labels of chords with one end in the subtree: they close a cycle through its line up
        forest = set(via)
        for k, line in enumerate(lines):
            if k not in forest:
                above[line.start] ^= labels[k]
                above[line.end] ^= labels[k]
        for bus in reversed(order):
            if (k := via[bus]) >= 0:
                labels[k] = above[bus]
                above[lines[k].end if lines[k].start == bus else lines[k].start] ^= above[bus]
        return labels

    def shapes(self, attacks: Integers) -> Iterator[tuple[Integers, Shape]]:
        """Yield the attacks that keep the islands of the network, and those that split one, each with their shape, where there are any."""
        size = attacks.shape[1]
        labels = self.labels[attacks]
        core = np.zeros(attacks.shape, bool)
        for some in range(1, size + 1):
            for subset in combinations(range(size), some):
                cut = np.bitwise_xor.reduce(labels[:, subset], axis=1) == 0
                core[:, subset] |= cut[:, None]
        cutting = core.any(axis=1)
        whole = np.flatnonzero(~cutting)
        if whole.size:
            yield whole, Shape(attacks[whole], np.ones((whole.size, size), bool), self.islands[:, None], np.zeros(whole.size, np.int64))
        split = np.flatnonzero(cutting)
        if split.size:
            attacks, core = attacks[split], core[split]
            keys = np.bitwise_xor.reduce(np.where(core, self.keys[attacks], 0), axis=1)
            kinds, first, kind = np.unique(keys, return_index=True, return_inverse=True)
            parts = []
            for key, row in zip(kinds.tolist(), first.tolist(), strict=True):
                if key not in self.known:
                    self.limits.spend(5000 * (len(self.labels) + len(self.islands)), "islands after an attack")
                    if len(self.known) * (len(self.labels) + len(self.islands)) > _KEPT:
                        self.known.clear()
                    self.known[key] = self._split(attacks[row][core[row]].tolist())
                parts.append(self.known[key])
            links = np.stack([links for _, links in parts])
            removed = ~links[kind[:, None], attacks]
            yield split, Shape(attacks, removed, np.stack([islands for islands, _ in parts], axis=1), kind)

    def _split(self, core: list[int]) -> tuple[Integers, Integers]:
        """Return the islands without the core lines, and which lines are a forest of core lines between them."""
        islands = components(self.network, frozenset(core))
        joined = UnionFind(int(islands.max()) + 1)
        links = np.zeros(len(self.network.lines), bool)
        for k in core:
            links[k] = joined.join(int(islands[self.network.lines[k].start]), int(islands[self.network.lines[k].end]))
        return islands, links

    def angles(self, shape: Shape, supply: Array, demand: Array) -> tuple[Array, Array, Array]:
        """Return angles [buses, attacks], and supply and demand [buses, attacks or 1] balanced in every island, which lead to them."""
        count, size = shape.attacks.shape
        given, taken = balanced(shape.islands, supply[:, None], demand[:, None])
        theta = self.inverse @ (given - taken)
        if theta.shape[1] > 1:
            theta, given, taken = theta[:, shape.kind], given[:, shape.kind], taken[:, shape.kind]
        if not size:
            return np.broadcast_to(theta, (len(theta), count)), given, taken
        starts, ends = self.start[shape.attacks], self.end[shape.attacks]
        columns = np.arange(count)[:, None] if theta.shape[1] > 1 else 0
        flow = self.susceptance[shape.attacks] * (theta[starts, columns] - theta[ends, columns])
        matrix = -self.transfer[shape.attacks[:, :, None], shape.attacks[:, None, :]] * (shape.removed[:, :, None] & shape.removed[:, None, :])
        matrix[:, np.arange(size), np.arange(size)] += 1.0
        try:
            psi = np.linalg.solve(matrix, np.where(shape.removed, flow, 0.0)[:, :, None])[:, :, 0]
        except np.linalg.LinAlgError:  # labels that are wrong, or a matrix that is singular in floating point: any angles will do
            psi = np.zeros((count, size))
        change = psi[:, 0, None] * self.columns[shape.attacks[:, 0]]
        for k in range(1, size):
            change += psi[:, k, None] * self.columns[shape.attacks[:, k]]
        return theta + np.ascontiguousarray(change.T), given, taken


def angles_on(network: Network, closed: Integers, supply: Array, demand: Array) -> tuple[Array, Array, Array]:
    """Return angles, supply and demand [buses, 1] on the closed lines alone, balanced in each of their islands."""
    islands = components(network, frozenset(np.flatnonzero(~closed).tolist()))
    given, taken = balanced(islands[:, None], supply[:, None], demand[:, None])
    try:
        theta: Array = np.linalg.solve(laplacian(network, closed, islands), given - taken).astype(np.float64)
    except np.linalg.LinAlgError:
        theta = np.zeros_like(given)
    return theta, given, taken


def laplacian(network: Network, closed: Integers, islands: Integers) -> Array:
    """Return A' diag(b) A of the closed lines, grounded at one bus of every island."""
    found = np.zeros((len(islands), len(islands)))
    ends = [(line.start, line.end, float(line.susceptance)) for line, shut in zip(network.lines, closed.tolist(), strict=True) if shut]
    for start, end, susceptance in ends:
        found[start, start] += susceptance
        found[end, end] += susceptance
        found[start, end] -= susceptance
        found[end, start] -= susceptance
    ground = np.unique(islands, return_index=True)[1]
    found[ground, ground] += max([1.0, *(susceptance for _, _, susceptance in ends)])
    return found


def components(network: Network, without: frozenset[int]) -> Integers:
    """Return the island of each bus when some lines are out."""
    joined = UnionFind(len(network.numbers))
    for k, line in enumerate(network.lines):
        if k not in without:
            joined.join(line.start, line.end)
    return np.unique([joined.root(bus) for bus in range(len(network.numbers))], return_inverse=True)[1]


def balanced(islands: Integers, supply: Array, demand: Array) -> tuple[Array, Array]:
    """Return supply and demand [buses, attacks or 1] scaled down so that each island [buses, attacks or 1] is in balance."""
    count = int(islands.max(initial=0)) + 1
    place = islands + count * np.arange(islands.shape[1])
    given, taken = (np.bincount(place.ravel(), np.broadcast_to(part, place.shape).ravel()) for part in (supply, demand))
    least = np.minimum(given, taken)
    up = np.divide(least, given, out=np.zeros_like(given), where=given > 0)
    down = np.divide(least, taken, out=np.zeros_like(taken), where=taken > 0)
    return supply * up[place], demand * down[place]
