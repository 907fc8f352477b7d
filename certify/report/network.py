# SPDX-License-Identifier: Apache-2.0
"""Sections of `region` and `robust`: the bounds of the check or the outputs at the counterexample, the inputs, the tree."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from certify.certificate import Certificate, Claim
from certify.claims import region, robust
from certify.errors import CertifyError
from certify.readers.formula import Row
from certify.report.bounds import Margins, margins
from certify.report.conditions import conjunct_words, row_words
from certify.report.drawing import ROUNDED, Bar, bars
from certify.report.html import Section, join, number, paragraph, some, table, tag
from certify.report.inputs import Question, input_section
from certify.report.outcome import Outcome
from certify.report.trees import read_forest, shown
from certify.rules.counterexample import refute, violates

_MOST_BARS = 40


def headline(claim: Claim) -> str:
    """Return what a verified claim is."""
    if not claim.says["holds"]:
        return "a counterexample"
    return "for every float32 execution" if claim.given["semantics"] == "exec32" else ""


def not_claimed(claim: Claim) -> Sequence[str]:
    """Return sentences that say what the claim does not say."""
    if not claim.says["holds"]:
        told = ["Other inputs: the counterexample is one point; how many there are, and how likely one is, is not said.",
                "Float32 executions: the point was evaluated in exact arithmetic, and rounding may hide the violation."]
    else:
        told = ["Inputs outside the region." if claim.kind == "region" else
                "Inputs further away than the radius, outside the clip range, or near other points.",
                "Float32 arithmetic: the claim is about the network over the real numbers." if claim.given["semantics"] == "real" else
                "Runtimes that compute another way: Winograd, FFT or Strassen, TF32, bfloat16, float16 or int8, rewritten weights."]
    if claim.kind == "robust":
        told += ["That the label is right: it is what the labels file says." if "labels" in claim.roles else
                 "That the label is right: no file of labels was part of the question.",
                 "That changes of another kind (rotation, light, noise) are covered, or that all inputs within the radius look alike to people."]
    else:
        told += ["That the property says what its author meant."]
    return (*told, "Weights that are also inputs of the graph and are fed other values: the stored values count.",
            "That the model is the one in service: compare the sha256 of the file that runs.")


def sections(outcome: Outcome) -> list[Section]:
    """Return the parts of the page that are these kinds' own."""
    certificate, asked = outcome.certificate, _question(outcome)
    if certificate is None:
        return []
    found: list[Section] = []
    drawn: list[Margins] | None = None
    witness: tuple[Fraction, ...] | None = None
    if asked is not None and outcome.verified and certificate.claim.says["holds"]:
        drawn = margins(asked.unsafe.network, asked.unsafe.semantics, asked.unsafe.parts, certificate.evidence, outcome.limits.fresh())
        found.append(_bounds(certificate.claim, asked, drawn))
    elif asked is not None and outcome.verified:
        witness = certificate.evidence.items["point"]
        found.append(_outputs(certificate, asked, witness, refute(asked.unsafe, certificate.evidence, outcome.limits.fresh())))
    if asked is not None:
        found.append(input_section(asked, witness))
    if "tree" in certificate.evidence.arrays:
        told = None if drawn is None else [margin for part in drawn for margin in part.leaves]
        several = asked is not None and len(asked.unsafe.parts) > 1
        forest = read_forest(certificate.evidence.arrays, lambda k: f"part {k}: " if several else "", told)
        found.append(Section("tree", "The tree of the evidence", shown(forest, "boxes of the property", outcome.verified)))
    return found


def _question(outcome: Outcome) -> Question | None:
    """Return the problem that the subjects denote, or None where they are missing, or denote none."""
    claim, files, limits = outcome.claim, outcome.files, outcome.limits.fresh()
    if claim is None or files is None:
        return None
    try:
        if claim.kind == "region":
            return Question(region.problem(claim.given, files, limits))
        unsafe = robust.problem(claim.given, files, limits)
        centre = robust.neighbourhoods(claim.given, files, limits).centre(claim.given["row"])
        scale = claim.given["scale"]
        unit = f", in values of the points file times {scale}" if scale != 1 else ""
        return Question(unsafe, centre, claim.given["clip"], claim.given["norm"], unit)
    except CertifyError:  # the verdict says why
        return None


def _bounds(claim: Claim, asked: Question, drawn: Sequence[Margins]) -> Section:
    """Return one bar for each condition of the unsafe set: the smallest bound by which a leaf closed it."""
    several = len(asked.unsafe.parts) > 1
    every, gone = [], 0
    for k, (part, found) in enumerate(zip(asked.unsafe.parts, drawn, strict=True)):
        for conjunct, value in zip(part.conjuncts, found.conjuncts, strict=True):
            name = _other(conjunct, claim) if claim.kind == "robust" else conjunct_words(conjunct)
            if value is None:
                gone += 1
            else:
                every.append(Bar(f"part {k}: {name}" if several else name, value, "good"))
    smallest = min((bar.value for bar in every), default=None)
    kept = [bar for bar in every if bar.value == smallest][:1]
    kept += [bar for bar in sorted(every, key=lambda bar: bar.value) if bar is not kept[0]][: _MOST_BARS - 1]
    shown_bars = [Bar(bar.name, bar.value, bar.look, "smallest" if bar is kept[0] else "") for bar in every if any(bar is one for one in kept)]
    leaves = sum(len(part.leaves) for part in drawn)
    what = "every float32 execution at every input" if asked.unsafe.semantics == "exec32" else "every input"
    over = f", the smallest over the {leaves} leaves of the tree below" if leaves > 1 else ""
    if claim.kind == "robust":
        label = claim.given["label"]
        words = (f"Each bar is a lower bound, computed by the checker, of the score of class {label} minus the score of another class, for {what} of "
                 f"the box at once{over}. The claim needs all of them above 0: then no other class reaches class {label}.")
        head = ("other class", f"class {label} ahead by at least")
    else:
        words = (f"Each bar belongs to one unsafe condition. It is a lower bound, computed by the checker, of the amount by which {what} of the box "
                 f"misses the condition (one of its inequalities, or a weighted mean of them), in the units of the property{over}. The claim needs "
                 "all of them above 0 (at least 0 where the inequality is strict).")
        head = ("unsafe condition", "missed by at least")
    parts = [paragraph(words), paragraph(ROUNDED, class_="note")]
    if smallest is not None:
        parts += [paragraph("Smallest margin: ", tag("strong", number(smallest)), "."),
                  bars(shown_bars, head, "Certified bounds")]
    parts += [paragraph(f"{some(len(every) - len(shown_bars), 'condition')} with larger bounds left out.")] if len(every) > len(shown_bars) else []
    parts += [paragraph(f"{some(gone, 'condition')} left out: no input belongs to any leaf.")] if gone else []
    return Section("bounds", "The bounds of the check", join(parts))


def _other(conjunct: Sequence[Row], claim: Claim) -> str:
    other = next(index for index in conjunct[0].outputs if index != claim.given["label"])
    return f"class {other}"


def _outputs(certificate: Certificate, asked: Question, point: tuple[Fraction, ...], y: tuple[Fraction, ...]) -> Section:
    """Return the exact outputs at the counterexample as bars, and which condition they meet."""
    claim, x = certificate.claim, asked.unsafe.network_input(point)
    robustly = claim.kind == "robust"
    label = claim.given["label"] if robustly else -1
    ranked = sorted(range(len(y)), key=lambda k: (k != label, -y[k] if robustly else k))[:_MOST_BARS]
    drawn = [Bar(f"class {k}" if robustly else f"Y_{k}", y[k],
                 "other" if k == label else "bad" if robustly and y[k] >= y[label] else "plain",
                 "the label" if k == label else "reaches the label" if robustly and y[k] >= y[label] else "") for k in sorted(ranked)]
    met = [(part, conjunct) for part in asked.unsafe.parts if part.holds_input(x) for conjunct in part.conjuncts if violates(conjunct, x, y)]
    parts = [paragraph("Each bar is an output of the network at the counterexample, computed exactly in rational arithmetic and shown with six "
                       "significant digits."),
             bars(drawn, ("class" if robustly else "output", "score" if robustly else "value"), "Exact outputs at the counterexample", 6)]
    if len(y) > len(drawn):
        parts.append(paragraph(f"{some(len(y) - len(drawn), 'output')} left out."))
    if robustly:
        best = max((k for k in range(len(y)) if k != label), key=lambda k: y[k])
        parts.append(paragraph(f"Class {best} minus class {label} is {number(y[best] - y[label], 6)}, which is not below 0: the network does not "
                               f"answer {label} alone there."))
    else:
        parts.append(table(("inequality of the unsafe set", "met with room of"),
                           [(row_words(row), number(-row.value(x, y), 6)) for row in met[0][1][:_MOST_BARS]], "The condition that the point meets"))
    return Section("outputs", "The outputs at the counterexample", join(parts))
