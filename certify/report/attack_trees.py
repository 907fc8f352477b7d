# SPDX-License-Identifier: Apache-2.0
"""Trees of claims about attacks in words: which line is taken out or left alone, which attack a defence misses, and what each leaf allows.

The arrays may be anything: reports and `certify show` read certificates that nobody has verified. The bounds of leaves are the checker's own, noted
while its rules walk the tree once more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from certify.certificate import Certificate, Files
from certify.claims.grid_defence_limit import HITTING_TREE
from certify.claims.grid_shedding import FOREST_TREE, PENALTY_TREE
from certify.limits import Limits
from certify.readers.power import Network
from certify.report.html import Html, join, paragraph, some
from certify.report.trees import DEEPEST_DRAWN, MOST_DRAWN, Node, counted, drawing, outline
from certify.rules.attack_tree import Leaf, worst_leaf
from certify.rules.attacks import defended_network
from certify.rules.flows import check_flows
from certify.rules.forests import forest_bound
from certify.rules.grid_words import listed_rows, mw, rounded

ATTACKS = (PENALTY_TREE.kind, FOREST_TREE.kind)
HITTING = HITTING_TREE.kind
_MOST_LINES = 100  # of an attack


@dataclass(frozen=True)
class LeafBound:
    """A leaf in the order of the tree: the rows that are out there, what the attacker can still spend, and the largest shed in MW.

    `counted` are the rows that the bound takes for attacked besides, those of the largest flows; None for other evidence, or where costs differ.
    """

    witness: int
    attacked: tuple[int, ...]
    budget: int
    shed: Fraction
    counted: tuple[int, ...] | None = None


def leaf_bounds(certificate: Certificate, files: Files, limits: Limits) -> tuple[Network, list[LeafBound]]:
    """Return the network and what the checker bounds at each leaf; raises what the check raises."""
    claim, evidence = certificate.claim, certificate.evidence
    network, played = defended_network(claim.given, files, limits, attack=False)
    rows = [line.row for line in network.lines]
    size: np.ndarray[Any, Any] | None = None
    if evidence.kind == FOREST_TREE.kind:
        count, bound = len(evidence.arrays["kind"]), forest_bound(network, evidence.arrays, evidence.items["quantum_mw"], limits)
    else:
        witnesses = check_flows(network, evidence.arrays["flow"], evidence.arrays["scale"], limits)
        size = witnesses.size
        count, bound = len(witnesses.scale), lambda record, leaf: witnesses.bound(record, leaf, limits)
    found: list[LeafBound] = []

    def note(record: int, leaf: Leaf) -> Fraction:
        shed = bound(record, leaf)
        spendable = leaf.budget if bool((leaf.costs <= leaf.budget).any()) else 0
        counted = None if size is None or len(set(leaf.costs.tolist())) > 1 else tuple(sorted(rows[k] for k in _counted(size[record], leaf)))
        found.append(LeafBound(record, tuple(sorted(rows[k] for k in leaf.attacked)), spendable, shed, counted))
        return shed

    worst_leaf(network, played, evidence.arrays["tree"], count, note, limits)
    return network, found


def _counted(size: np.ndarray[Any, Any], leaf: Leaf) -> list[int]:
    """Return the free lines with the largest flows that the budget of a leaf affords, all of one cost."""
    ranked = sorted(np.flatnonzero(leaf.free).tolist(), key=lambda line: -size[line])
    return [line for line in ranked[: leaf.budget // int(leaf.costs[0])] if size[line]] if ranked else []


def nodes(certificate: Certificate, network: Network | None, bounds: Sequence[LeafBound] | None, most: int) -> Iterator[Node]:
    """Yield the first nodes of a tree over attacks or defences, in preorder; rows are named where the network is known."""
    arrays, given = certificate.evidence.arrays, certificate.claim.given
    if certificate.evidence.kind == HITTING:
        yield from _defences(arrays["tree"][:most].tolist(), arrays["attacks"], given)
        return
    rows = None if network is None else [line.row for line in network.lines]
    yield from _attacks(arrays["tree"][:most].tolist(), lambda item: f"row {rows[item]}" if rows is not None and item < len(rows) else f"line {item}",
                        bounds)


def _attacks(tree: Sequence[int], name: Callable[[int], str], bounds: Sequence[LeafBound] | None) -> Iterator[Node]:
    """Yield branchings on lines and leaves with their witnesses, and what they allow where that is known."""
    pending: list[tuple[int, str]] = [(0, "")]
    leaves = 0
    for item in tree:
        if not pending:
            return
        depth, side = pending.pop()
        if item < 0:
            bound = bounds[leaves] if bounds is not None and leaves < len(bounds) else None
            shed = "" if bound is None else f", at most {mw(rounded(bound.shed, up=True))} MW shed{_further(bound.budget)}"
            yield Node(depth, False, str(leaves), f"{side}leaf {leaves}: witness {-1 - item}{shed}")
            leaves += 1
        else:
            yield Node(depth, True, name(item).removeprefix("row ").removeprefix("line "), f"{side}branch on {name(item)}")
            pending += [(depth + 1, f"{name(item)} never attacked: "), (depth + 1, f"{name(item)} attacked: ")]


def _further(budget: int) -> str:
    return f", with up to {budget} more to spend" if budget else ""


def _defences(tree: Sequence[int], attacks: np.ndarray[Any, Any], given: Mapping[str, Any]) -> Iterator[Node]:
    """Yield the attacks that nodes name, and the defences that lead to them, which follow from the attacks as in `certify.rules.hitting`."""
    costs, defendable = dict(given["defence_costs"]), given["defendable"]
    # Depth, the row defended last, what the parent leaves out and offers, the place in that, the money left; sets are made when they are used.
    pending: list[tuple[int, str, frozenset[int], Sequence[int], int, int]] = [(0, "", frozenset(), (), 0, given["budget"])]
    for item in tree:
        if not pending:
            return
        depth, side, before, offered, place, left = pending.pop()
        outside = before.union(offered[:place])
        rows = [row for row in attacks[item, :_MOST_LINES].tolist() if row >= 0] if 0 <= item < len(attacks) else []
        inside = sorted(row for row in rows if row not in outside and (defendable is None or row in defendable) and costs.get(row, 1) <= left)
        what = f"attack {item} on {listed_rows(rows)}{'' if inside else ', of which nothing more can be defended'}"
        yield Node(depth, bool(inside), str(item), f"{side}{what}")
        pending += reversed([(depth + 1, f"defend row {row}: ", outside, inside, k, left - costs.get(row, 1)) for k, row in enumerate(inside)])


def shown_tree(certificate: Certificate, kept: tuple[Node, ...], verified: bool) -> Html:
    """Return counts, what a branching means, a picture where the tree is small enough, and its first nodes in words, folded."""
    tree = certificate.evidence.arrays["tree"]
    if certificate.evidence.kind == HITTING:
        counts, depth, leaves = f"{some(len(tree), 'node')}.", max((node.depth for node in kept), default=0), sum(not node.split for node in kept)
        words = ("Each node names an attack that touches nothing defended so far. A defence leaves that attack untouched, and is refuted by it, or "
                 "goes on at the first of its lines that is defended.")
        key = "Boxes are attacks, numbered as in the evidence, with one branch for each line that could be defended; at circles nothing can."
        whole = len(kept) == len(tree)
    else:
        forest = counted(tree, kept, False)
        counts = f"{some(forest.leaves, 'leaf', 'leaves')}; depth {forest.depth}; {some(forest.count, 'node')}."
        words = "At each branching a line is attacked, or never attacked: every attack within the budget belongs to exactly one leaf."
        whole, depth, leaves = forest.complete and forest.roots == 1 and len(kept) == len(tree), forest.depth, forest.leaves
        key = "Boxes are rows: to the left the line is attacked, to the right it never is. Circles are leaves, numbered in the order of the tree."
    parts = [paragraph(f"{'' if verified else 'As the file holds it, not verified: '}{counts}" + (f" {words}" if verified else ""))]
    if whole and 1 < leaves <= MOST_DRAWN and depth <= DEEPEST_DRAWN:
        parts += [drawing(kept, f"Tree of the evidence, {counts}"), paragraph(key, class_="note")]
    elif len(tree) > 1:
        parts.append(paragraph(f"No picture: it would have more than {MOST_DRAWN} leaves or {DEEPEST_DRAWN} levels.", class_="note"))
    return join([*parts, outline(kept, len(tree))])
