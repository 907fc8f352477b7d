# SPDX-License-Identifier: Apache-2.0
"""The tree of the evidence for reading: how many nodes, how deep, and the first of them in words.

The array may be anything, since reports show rejected certificates too: what is incomplete is said to be.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from certify.report.html import Html, Section, join, number, paragraph, some, tag
from certify.report.outcome import Outcome

MOST_LISTED = 300
MOST_DRAWN = 48
_PIECE = 1 << 16
DEEPEST_DRAWN = 16
_STEP_X, _STEP_Y, _EDGE = 46, 54, 26


@dataclass(frozen=True)
class Node:
    """A node in preorder: a split with its item, or a leaf; `side` says how it is reached from its parent."""

    depth: int
    split: bool
    label: str
    words: str


@dataclass(frozen=True)
class Forest:
    """Trees one behind the other: counts of all, whether neurons are split, and the nodes of the first that are kept."""

    nodes: tuple[Node, ...]
    roots: int
    count: int
    leaves: int
    depth: int
    complete: bool
    neurons: bool


def tree_section(outcome: Outcome, title: str, what: str, root: Callable[[int], str], margins: Sequence[Fraction | None] | None) -> list[Section]:
    """Return the section on the trees of a certificate, if it has any; `what` is the plural of what they are of, the rest as in `read_forest`."""
    arrays = outcome.certificate.evidence.arrays if outcome.certificate is not None else {}
    if "tree" not in arrays:
        return []
    count, most = len(arrays["tree"]), outcome.limits.tree_nodes
    if count > most:
        return [Section("tree", title, paragraph(f"Left out: {some(count, 'node')}, more than the limit of {most}."))]
    return [Section("tree", title, shown(read_forest(arrays, root, margins), what, outcome.verified))]


def read_forest(arrays: Mapping[str, Any], root: Callable[[int], str], margins: Sequence[Fraction | None] | None, most: int = MOST_LISTED) -> Forest:
    """Return the trees in `tree`; `root` names a tree, `margins` are the bounds of the leaves where the check succeeded."""
    tree, splits = arrays["tree"], arrays.get("split_at", np.zeros(0))
    first, thresholds = first_neuron(tree, len(splits)), splits[:most].tolist()
    pending: list[tuple[int, str]] = []
    kept: list[Node] = []
    roots = leaves = used = 0
    for item in tree[:most].tolist():
        if not pending:
            pending.append((0, root(roots)))
            roots += 1
        depth, side = pending.pop()
        if item < 0:
            margin = margins[leaves] if margins is not None and leaves < len(margins) else None
            told = "" if margins is None else f": smallest bound {number(margin)}" if margin is not None else ": no input is left"
            kept.append(Node(depth, False, str(leaves), f"{side}leaf {leaves}{told}"))
            leaves += 1
        elif item >= first:
            kept.append(Node(depth, True, f"z{item}", f"{side}split on neuron, item {item}, at 0"))
            pending += [(depth + 1, f"where z_{item} <= 0: "), (depth + 1, f"where z_{item} >= 0: ")]
        else:
            theta = f"{thresholds[used]:.9g}" if used < len(thresholds) else "?"
            used += 1
            kept.append(Node(depth, True, f"x{item}", f"{side}split input {item} at {theta}"))
            pending += [(depth + 1, f"where x_{item} <= {theta}: "), (depth + 1, f"where x_{item} >= {theta}: ")]
    return counted(tree, tuple(kept), bool((tree >= first).any()))


def first_neuron(tree: np.ndarray[Any, Any], thresholds: int) -> int:
    """Return the least item that is a neuron: splits on inputs are those with a threshold, and the items of inputs come before those of neurons."""
    splits = np.sort(tree[tree >= 0])
    return int(splits[thresholds]) if thresholds < len(splits) else 1 << 31


def counted(tree: np.ndarray[Any, Any], kept: tuple[Node, ...], neurons: bool) -> Forest:
    """Return the forest with these nodes, and the counts of all; every branching has two sides."""
    open_sides: list[int] = []
    roots = deepest = 0
    for start in range(0, len(tree), _PIECE):
        for split in (tree[start : start + _PIECE] >= 0).tolist():
            if not open_sides:
                open_sides.append(0)
                roots += 1
            depth = open_sides.pop()
            if depth > deepest:
                deepest = depth
            if split:
                open_sides += (depth + 1, depth + 1)
    return Forest(kept, roots, len(tree), int((tree < 0).sum()), deepest, not open_sides, neurons)


def shown(forest: Forest, what: str, verified: bool) -> Html:
    """Return counts, a picture where the tree is small enough, and the nodes in words, folded; `what` is the plural of what the trees are of."""
    several = f" in {forest.roots} trees, one behind the other for the {what}" if forest.roots > 1 else ""
    counts = f"{some(forest.leaves, 'leaf', 'leaves')}{several}; depth {forest.depth}; {some(forest.count, 'node')}."
    if not verified:
        parts = [paragraph(f"As the file holds it, not verified: {counts}")]
    elif forest.depth == 0:
        parts = [paragraph(f"{counts} Nothing is cut: one bound over all inputs was enough each time.")]
    else:
        parts = [paragraph(f"{counts} The checker cuts the inputs along these splits and bounds every leaf on its own; a split leaves nothing out, "
                           "since both sides are there.")]
    if not forest.complete:
        parts.append(paragraph(tag("strong", "The tree is not complete: the array ends before every branch does.")))
    small = forest.roots == 1 and forest.complete and 1 < forest.leaves <= MOST_DRAWN and forest.depth <= DEEPEST_DRAWN
    if small:
        caption = f"Tree of the evidence: {forest.leaves} leaves, depth {forest.depth}"
        parts += [drawing(forest.nodes, caption), paragraph(
            "Boxes split an input (x) or a neuron (z): the left branch has the larger values. Circles are leaves, numbered as in the evidence.",
            class_="note")]
    elif forest.count > 1 and forest.roots == 1:
        parts.append(paragraph(f"No picture: it would have more than {MOST_DRAWN} leaves or {DEEPEST_DRAWN} levels.", class_="note"))
    if forest.depth or not forest.complete:
        note = ["Items count the inputs first, then the neurons; z is the value that enters a ReLU."] if forest.neurons else []
        parts.append(outline(forest.nodes, forest.count, note))
    return join(parts)


def outline(nodes: Sequence[Node], count: int, notes: Sequence[str] = ()) -> Html:
    """Return nodes in words, folded, with the number of those that are left out of `count`."""
    left = count - len(nodes)
    lines = [tag("li", node.words, class_=f"d{min(node.depth, 12)}") for node in nodes]
    lines += [tag("li", tag("em", f"{some(left, 'node')} left out"))] if left else []
    lines += [tag("li", tag("em", note)) for note in notes]
    head = f"The tree in words ({some(len(nodes), 'node')}{f' of {count}' if left else ''})"
    return tag("details", tag("summary", head), tag("ul", *lines, class_="outline"))


def drawing(nodes: Sequence[Node], caption: str) -> Html:
    """Return a complete tree, in preorder, as a picture: splits are boxes, leaves circles; both branches of a split are named in words."""
    columns, parents = _columns(nodes)
    places = [(_EDGE + round(columns[k] * _STEP_X), _EDGE + node.depth * _STEP_Y) for k, node in enumerate(nodes)]
    lines = [tag("line", x1=places[parents[k]][0], y1=places[parents[k]][1], x2=places[k][0], y2=places[k][1], class_="edge")
             for k in range(len(nodes)) if parents[k] >= 0]
    marks = []
    for node, (x, y) in zip(nodes, places, strict=True):
        if node.split:
            shape = tag("rect", x=x - 20, y=y - 11, width=40, height=22, rx=5, class_="split")
        else:
            shape = tag("circle", cx=x, cy=y, r=13, class_="leaf")
        marks.append(tag("g", tag("title", node.words), shape, tag("text", node.label, x=x, y=y + 4)))
    width = max(x for x, _ in places) + _EDGE
    height = max(y for _, y in places) + _EDGE
    picture = tag("svg", tag("title", caption), *lines, *marks, viewBox=f"0 0 {width} {height}", width=width, height=height, role="img",
                  class_="tree")
    return tag("div", picture, class_="scroll", tabindex=0, role="group", aria_label=caption)


def _columns(nodes: Sequence[Node]) -> tuple[list[Fraction], list[int]]:
    """Return the column of each node, leaves side by side and splits above the middle of their children, and each node's parent (-1: none)."""
    columns, parents, path = [Fraction(0)] * len(nodes), [-1] * len(nodes), list[int]()
    leaves = 0
    for k, node in enumerate(nodes):
        del path[node.depth :]
        parents[k] = path[-1] if path else -1
        path.append(k)
        if not node.split:
            columns[k], leaves = Fraction(leaves), leaves + 1
    for k in reversed(range(len(nodes))):
        if nodes[k].split:
            below = [columns[c] for c in range(k + 1, len(nodes)) if parents[c] == k]
            columns[k] = sum(below, Fraction(0)) / max(1, len(below))
    return columns, parents
