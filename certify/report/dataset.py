# SPDX-License-Identifier: Apache-2.0
"""Sections of `accuracy`: counts, rows by status, margins of robust rows, some counterexamples, the trees."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from certify.certificate import Certificate, Claim
from certify.claims import accuracy
from certify.report.bounds import Margins, margins
from certify.report.drawing import ROUNDED, Bar, Share, bars, shares
from certify.report.html import Html, Section, join, number, paragraph, some, table, tag
from certify.report.inputs import grey_range, witness_pictures
from certify.report.outcome import Outcome
from certify.report.pictures import gallery, image_shape, picture
from certify.report.trees import read_forest, shown
from certify.rules.evaluation import evaluate
from certify.rules.neighbourhood import Neighbourhoods

_MOST_ROWS = 400
_MOST_BARS = 40
_MOST_SHOWN = 6
_STATUS = (("robust_row", "robust", "good", "every input within the radius gets the label"),
           ("witness_row", "not robust", "bad", "a counterexample within the radius was evaluated exactly"),
           ("wrong_row", "wrong already", "other", "the network gets the row itself wrong, evaluated exactly"))


def headline(claim: Claim) -> str:
    """Return what a verified claim is."""
    return "certified accuracy"


def not_claimed(claim: Claim) -> Sequence[str]:
    """Return sentences that say what the claim does not say."""
    return ("Rows that are open: each of them may be robust or not.",
            "That the rows are representative: accuracy on this file is not accuracy in service.",
            "That the labels are right: they are what the file says.",
            "That a row that is not robust is so at a plausible input: the radius is the question's.",
            "Float32 arithmetic: the claim is about the network over the real numbers." if claim.given["semantics"] == "real" else
            "Rows that are not robust, and runtimes that compute another way: Winograd, FFT or Strassen, TF32, bfloat16, float16 or int8.",
            "That the model is the one in service: compare the sha256 of the file that runs.")


def sections(outcome: Outcome) -> list[Section]:
    """Return the parts of the page that are this kind's own."""
    certificate = outcome.certificate
    if certificate is None:
        return []
    listed = {name: certificate.evidence.arrays[name].tolist() if name in certificate.evidence.arrays else [] for name, *_ in _STATUS}
    found: list[Section] = []
    drawn: list[Margins] = []
    if outcome.verified and outcome.files is not None:
        found.append(_counts(certificate, listed))
        near = accuracy.neighbourhoods(certificate.claim.given, outcome.files, outcome.limits.fresh())
        if listed["robust_row"]:
            parts = (near.part(row, near.label(row)) for row in listed["robust_row"])
            drawn = margins(near.network, certificate.claim.given["semantics"], parts, certificate.evidence, outcome.limits.fresh())
            found.append(_margins(listed["robust_row"], drawn))
        found += _counterexamples(near, certificate, listed["witness_row"])
    if "tree" in certificate.evidence.arrays:
        told = [margin for part in drawn for margin in part.leaves] if outcome.verified else None
        rows = listed["robust_row"]
        forest = read_forest(certificate.evidence.arrays, lambda k: f"row {rows[k]}: " if k < len(rows) else "", told)
        found.append(Section("tree", "The trees of the evidence", shown(forest, "robust rows", outcome.verified)))
    return found


def _counts(certificate: Certificate, listed: dict[str, list[int]]) -> Section:
    """Return the counts as one bar, and the rows by status."""
    of = certificate.claim.says["of"]
    drawn = [Share(name, len(listed[key]), look, meaning) for key, name, look, meaning in _STATUS]
    opened = of - sum(share.count for share in drawn)
    drawn.append(Share("open", opened, "plain", "nothing is claimed"))
    robust = drawn[0].count
    least, most = (number(Fraction(100 * count, of), 4) for count in (robust, robust + opened))
    seen = set().union(*listed.values())
    left = [row for row in range(of) if row not in seen] if of <= 10**6 else []
    lines = [(name, _rows(listed[key])) for key, name, *_ in _STATUS] + [("open", _rows(left))]
    return Section("counts", "The rows of the data set", join([
        paragraph("Certified accuracy: at least ", tag("strong", f"{least}%"), f" of {some(of, 'row')}, at most {most}%. The first counts the rows "
                  "that are shown robust, the second also those that are open."),
        shares(drawn, "Rows by status"), table(("status", "rows, numbered from 0"), lines, "Which rows they are")]))


def _rows(rows: Sequence[int]) -> str:
    told = ", ".join(map(str, rows[:_MOST_ROWS])) or "none"
    return f"{told}, and {len(rows) - _MOST_ROWS} more left out" if len(rows) > _MOST_ROWS else told


def _margins(rows: Sequence[int], drawn: Sequence[Margins]) -> Section:
    """Return the smallest bound of each robust row as bars, those with the smallest ones first where there are many."""
    known = sorted((part.smallest, row) for row, part in zip(rows, drawn, strict=True) if part.smallest is not None)
    kept = sorted(known[:_MOST_BARS], key=lambda pair: pair[1])
    parts = [paragraph("Each bar is the smallest bound, computed by the checker, of the score of the row's label minus the score of another class, "
                       "over all other classes, all inputs within the radius, and all leaves of the row's tree. Above 0, the label wins everywhere."),
             paragraph(ROUNDED, class_="note"),
             paragraph("Smallest margin: ", tag("strong", number(known[0][0] if known else Fraction(0))), ".")]
    least = known[0][1] if known else -1
    parts.append(bars([Bar(f"row {row}", value, "good", "smallest" if row == least else "") for value, row in kept],
                      ("row", "label ahead by at least"), "Smallest bound of each robust row"))
    if len(known) > len(kept):
        parts.append(paragraph(f"{some(len(known) - len(kept), 'row')} with larger bounds left out."))
    return Section("bounds", "The bounds of the check", join(parts))


def _counterexamples(near: Neighbourhoods, certificate: Certificate, rows: Sequence[int]) -> list[Section]:
    """Return the first counterexamples with their exact outputs, as pictures where the inputs are images."""
    points = certificate.evidence.arrays.get("witness")
    if points is None:
        return []
    shape, parts = image_shape(near.network.input_shape, near.network.inputs), list[Html]()
    for row, line in list(zip(rows, points, strict=True))[:_MOST_SHOWN]:
        x, centre = tuple(map(Fraction, line.tolist())), near.centre(row)
        label, y = near.label(row), evaluate(near.network, near.network_input(x), near.limits)
        best = max((k for k in range(len(y)) if k != label), key=lambda k: y[k])
        parts.append(tag("h3", f"Row {row}, label {label}"))
        parts.append(paragraph(f"At the counterexample class {best} has {number(y[best], 6)}, class {label} has {number(y[label or 0], 6)}, computed "
                               "exactly."))
        if shape is not None:
            low, high = grey_range((*centre, *x), (*centre, *x), near.given["clip"])
            parts.append(gallery(picture(centre, shape, low, high, f"row {row} as an image", f"Row {row}"),
                                 *witness_pictures(shape, centre, x, low, high)))
    if shape is not None:
        parts.insert(0, paragraph(shape.words))
    if len(rows) > _MOST_SHOWN:
        parts.append(paragraph(f"{some(len(rows) - _MOST_SHOWN, 'counterexample')} left out."))
    return [Section("counterexamples", "Counterexamples", join(parts))]
