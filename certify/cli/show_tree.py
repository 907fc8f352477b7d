# SPDX-License-Identifier: Apache-2.0
"""`certify show --tree`: the first nodes of the trees of a certificate in words, indented as far as a terminal is wide. Nothing is checked."""

from __future__ import annotations

import hashlib
from itertools import count
from pathlib import Path

import numpy as np

from certify.certificate import Certificate
from certify.cli.output import say
from certify.errors import CertifyError, UsageError
from certify.limits import Limits
from certify.report.trees import first_neuron
from certify.verification import read_subject

_MOST_LINES = 10_000
_MOST_DEPTH = 40


def show_tree(certificate: Certificate, subjects: tuple[Path, ...], limits: Limits) -> None:
    """Print the tree of a certificate; raises UsageError where it has none."""
    if "tree" not in certificate.evidence.arrays:
        raise UsageError("setting-value", f"--tree: evidence of kind {certificate.evidence.kind} has no tree",
                         fix="`certify show FILE` lists its arrays")
    if certificate.claim.kind.startswith("grid-"):
        _grid_tree(certificate, subjects, limits)
    else:
        _tree(certificate)


def _tree(certificate: Certificate) -> None:
    arrays = certificate.evidence.arrays
    tree, splits = arrays["tree"], arrays.get("split_at", np.zeros(0))
    first = first_neuron(tree, len(splits))
    thresholds = iter(splits[:_MOST_LINES].tolist())
    # One more side is open behind every split, one less behind every leaf: the first tree ends where none is left.
    several = bool((np.cumsum(np.where(tree >= 0, 1, -1), dtype=np.int64)[:-1] < 0).any())
    rows = arrays.get("robust_row", np.zeros(0, "<i4"))[:_MOST_LINES].tolist()
    roots = (f"row {row}: " for row in rows) if "robust_row" in arrays else (f"part {part}: " if several else "" for part in count())
    pending: list[tuple[int, str]] = []
    for item in tree[:_MOST_LINES].tolist():
        depth, side = pending.pop() if pending else (0, next(roots, ""))
        start = f"{_indent(depth)}{side}"
        if item < 0:
            say(f"{start}leaf {-1 - item}")
        elif item >= first:
            say(f"{start}split neuron, item {item}, at 0")
            pending += [(depth + 1, f"z_{item} <= 0: "), (depth + 1, f"z_{item} >= 0: ")]
        else:
            theta = next(thresholds, "?")
            say(f"{start}split input {item} at {theta}")
            pending += [(depth + 1, f"x_{item} <= {theta}: "), (depth + 1, f"x_{item} >= {theta}: ")]
    _rest(len(tree))


def _grid_tree(certificate: Certificate, subjects: tuple[Path, ...], limits: Limits) -> None:
    """Print the first nodes of a tree over attacks or defences; with the case, rows instead of positions, and what each leaf allows."""
    from certify.report.attack_trees import ATTACKS, leaf_bounds, nodes

    evidence = certificate.evidence
    known = {subject.sha256 for subject in certificate.subjects}
    network, bounds = None, None
    for path in subjects:
        data = read_subject(path, limits)
        if hashlib.sha256(data).hexdigest() not in known:
            raise UsageError("setting-value", f"--subject {path.name}: it is not the file that the claim is about",
                             fix="`certify show FILE` prints the sha256 of the files that it is about")
        if evidence.kind in ATTACKS:
            try:
                network, bounds = leaf_bounds(certificate, {"case": data}, limits)
            except CertifyError as trouble:
                say(f"note: what the leaves allow is left out: {trouble}", err=True)
    if evidence.kind in ATTACKS and network is None:
        say("note: lines are counted from 0 in the order of the file, among those in service; --subject CASE.m names their rows", err=True)
    say(*(f"{_indent(node.depth)}{node.words}" for node in nodes(certificate, network, bounds, _MOST_LINES)))
    _rest(len(evidence.arrays["tree"]))


def _indent(depth: int) -> str:
    return f"{'  ' * min(depth, _MOST_DEPTH)}{f'[depth {depth}] ' if depth > _MOST_DEPTH else ''}"


def _rest(count: int) -> None:
    if count > _MOST_LINES:
        say(f"... {count - _MOST_LINES} of {count} nodes left out: --evidence tree prints the array")
