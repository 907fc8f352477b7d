# SPDX-License-Identifier: Apache-2.0
"""What a verdict rests on outside the files: in two sentences, with the margin beside one rounding of float32; the whole page of it to unfold."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from certify.report.html import Html, Section, join, number, paragraph, prose, tag
from certify.report.outcome import Outcome

Explanations = Mapping[str, Mapping[str, Any]]
_LITTLE = 10**5  # a margin of fewer roundings than this is told to be little: roundings of a large network can add up to it


def assumptions(outcome: Outcome, explanations: Explanations) -> list[Section]:
    """Return the section on the assumptions that the certificate lists."""
    certificate = outcome.certificate
    if certificate is None:
        return []
    parts: list[Html] = []
    for name in certificate.assumptions:
        page = explanations.get(name)
        parts.append(tag("h3", tag("code", name), f": {page['title']}" if page is not None else ""))
        parts += [paragraph(prose(text)) for text in (_IN_SHORT[name](outcome) if name in _IN_SHORT else [])]
        parts.append(tag("details", tag("summary", f"What {name} means in full"), *paragraphs(str(page["text"]))) if page is not None else
                     paragraph("This version knows no such assumption."))
    if not parts:
        parts = [paragraph("Nothing outside the files." if outcome.verified else "The certificate lists nothing outside the files.")]
    return [Section("assumptions", "What it rests on" if outcome.verified else "What it would rest on", join(parts))]


def paragraphs(text: str) -> list[Html]:
    """Return the paragraphs of a text, which blank lines separate."""
    return [paragraph(prose(" ".join(block.split()))) for block in text.strip().split("\n\n")]


def _real_arithmetic(outcome: Outcome) -> list[str]:
    """Return two sentences on rounding; the comparison with the margin is for orientation, and no bound."""
    first = "The claim is about the network computed without rounding; a machine rounds after every step, mostly to float32."
    if outcome.verification is None or not outcome.verified:
        return [first]
    if outcome.refutes:
        return [first, "The counterexample was evaluated exactly: a machine that rounds may answer otherwise at this very point."]
    figures = outcome.verification.figures
    margin, largest = figures.get("smallest_margin"), figures.get("largest_value")
    if margin is None:
        return [first]
    if largest is None or not largest > 0:
        return [first, f"The smallest margin is {number(margin)}: where the rounding errors of the network are of that size, rounding can decide."]
    step = float(largest) * 2.0**-24
    times = float(margin) / step
    said = (f"The smallest margin, {number(margin)}, is {number(times, 2)} times one rounding of float32 at the largest value in the network "
            f"({number(largest)}: about {number(step, 2)})")
    return [first, f"{said}: that is little, roundings can add up to it (`--set semantics=exec32` asks for a claim that includes them)."
            if times < _LITTLE else f"{said}, so a machine would have to err by that many in one direction to use it up."]


def _said(*sentences: str) -> Callable[[Outcome], list[str]]:
    return lambda outcome: [" ".join(sentences)]


_IN_SHORT: Mapping[str, Callable[[Outcome], list[str]]] = {
    "real-arithmetic": _real_arithmetic,
    "transport-flow": _said(
        "The operator of the claim sends power over lines as it likes, within balance and ratings.",
        "Flows in a network follow Ohm's law, so a real operator can do less, and may shed more."),
    "dc-power-flow": _said(
        "Flows follow the DC model: angles and reactances, without losses, voltages and reactive power.",
        "A real network is bound by AC power flow, and may shed more or less."),
    "dc-switching": _said("The operator of the claim may open any line at once and redispatch.", "One who can't open lines may shed more."),
    "pmin-relaxed": _said(
        "Units of the case have a minimum output, which is not enforced: in the claim each can run down to 0.", "Where it can't, more may be shed."),
    "angle-limits-ignored": _said("The case limits angles across lines, and the claim does not.", "Where they bind, more may be shed."),
}
