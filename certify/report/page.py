# SPDX-License-Identifier: Apache-2.0
"""The page of a report: the verdict first, then what it is about, what it rests on, how it was reached, and what it does not say.

Guarantee: one HTML file without script, without anything that is loaded, and of at most `MOST_BYTES`; the same outcome gives the same bytes. Only a
verdict `verified` is worded or coloured as a success.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

from certify import registry
from certify.certificate import Certificate
from certify.errors import CertifyError
from certify.report.html import Html, Section, escaped, join, number, paragraph, prose, rows, some, table, tag
from certify.report.kinds import family
from certify.report.outcome import Outcome

MOST_BYTES = 5 << 20
START = b'<!doctype html>\n<html lang="en" data-made-by="certify report">'
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
_MOST_LINES = 100
_MOST_VALUE = 600
_MEANINGS = {
    "leaves": "pieces into which the evidence cuts the inputs; the checker bounds each on its own",
    "parts": "boxes of inputs of which the property consists",
    "smallest_margin": "the least amount by which a piece is safe, in the units of the property; for a classifier, of the difference of two outputs",
    "largest_value": "how large values in the network can become",
    "wrong": "rows that the network gets wrong at the point itself",
    "open": "rows of which nothing is claimed",
}
_NOT_A_SUCCESS = {
    "rejected": "The checker rejected this certificate: with the files that were given, it does not establish its claim. That does not mean that the "
                "claim is false.",
    "declined": "The checker declined this certificate: it cannot say whether the claim is established. That says nothing about the claim.",
}
Explanations = Mapping[str, Mapping[str, Any]]


def render(outcome: Outcome, explanations: Explanations) -> bytes:
    """Return the page; `explanations` are the pages of codes and assumptions by name, each with `title` and `text`."""
    own = _own(outcome)
    whole = _page(outcome, explanations, own)
    for largest in sorted(own, key=lambda section: -len(section.body)):
        if len(whole) <= MOST_BYTES:
            break
        own = [Section(one.name, one.title, paragraph("Left out: the page would be too large.")) if one is largest else one for one in own]
        whole = _page(outcome, explanations, own)
    return whole


def _page(outcome: Outcome, explanations: Explanations, own: Sequence[Section]) -> bytes:
    sections = [*_claim(outcome), *_subjects(outcome), *_assumptions(outcome, explanations), *own, *_check(outcome), *_question(outcome),
                *_not_claimed(outcome), *_origin(outcome)]
    strip = [tag("div", f"{outcome.word}: this certificate was not verified", class_="strip")] if not outcome.verified else []
    body = tag("body", *strip, _verdict(outcome, explanations), tag("main", *map(_section, sections)), _footer(outcome), class_=_look(outcome))
    word = outcome.word.capitalize() if outcome.verified else outcome.word.upper()
    head = tag("head", tag("meta", charset="utf-8"), tag("meta", http_equiv="Content-Security-Policy", content=_POLICY),
               tag("meta", name_="viewport", content="width=device-width, initial-scale=1"), tag("meta", name_="color-scheme", content="light dark"),
               tag("title", f"{word} - certify report"), tag("style", Html((files("certify.report") / "page.css").read_text("utf-8"))))
    return START + f"\n{head}\n{body}\n</html>\n".encode()


def _section(section: Section) -> Html:
    return tag("section", tag("h2", section.title, id=section.name), section.body)


def _look(outcome: Outcome) -> str:
    return "refuting" if outcome.verified and outcome.refutes else outcome.word


def _own(outcome: Outcome) -> list[Section]:
    """Return the sections of the claim's kind; what can't be computed for them is said in their place."""
    found = family(outcome.claim.kind) if outcome.claim is not None else None
    if found is None:
        return []
    try:
        return found.sections(outcome)
    except CertifyError as trouble:
        return [Section("figures", "Figures", paragraph(f"Left out, because they could not be computed: {trouble}"))]


def _verdict(outcome: Outcome, explanations: Explanations) -> Html:
    if outcome.verification is not None and outcome.verified:
        claim = outcome.verification.claim
        found = family(claim.kind)
        kicker = found.headline(claim) if found is not None else ""
        return tag("header", tag("h1", tag("span", "Verified", class_="word"), *([": ", tag("span", kicker, class_="kicker")] if kicker else [])),
                   paragraph(escaped(outcome.verification.sentence), class_="sentence"),
                   paragraph(f"The trusted checker ({outcome.checker}) verified the certificate when this page was made: the sentence is true of "
                             "exactly the files below, provided that what it rests on holds."))
    trouble = outcome.trouble
    if trouble is None:
        raise ValueError("an outcome has a verdict")
    where = [("where", trouble.where)] if trouble.where else []
    told = [("code", tag("code", trouble.code)), ("what", prose(trouble.what)), *where, ("to do", prose(trouble.fix))]
    page = explanations.get(trouble.code)
    more = [tag("details", tag("summary", f"What the code {trouble.code} means"), paragraph(tag("strong", str(page["title"]))),
                *_paragraphs(str(page["text"])))] if page is not None else []
    return tag("header", tag("h1", tag("span", outcome.word.upper(), class_="word")),
               paragraph(_NOT_A_SUCCESS[outcome.word], class_="sentence"), rows(told), *more)


def _claim(outcome: Outcome) -> list[Section]:
    """Return the claim of a certificate that was not verified; a verified one stands with the verdict."""
    if outcome.verified or outcome.certificate is None:
        return []
    return [Section("claim", "What the file claims, not established", join([
        paragraph("These are the words of the certificate. ", tag("strong", f"They were {outcome.word}, not verified.")),
        tag("p", escaped(outcome.certificate.claim.sentence()), class_="claimed")]))]


def _subjects(outcome: Outcome) -> list[Section]:
    certificate = outcome.certificate
    if certificate is None:
        return []
    digests = {subject.name: subject.sha256 for subject in certificate.subjects}
    lines = [(role, join([tag("strong", name), tag("br"), tag("span", "sha256 ", tag("code", digests[name]))]))
             for role, names in certificate.claim.roles.items() for name in ((names,) if isinstance(names, str) else names)]
    words = ("The files had these digests when the certificate was checked. " if outcome.verified else "These files are named by the certificate. ")
    return [Section("subjects", "The files", join([
        paragraph(f"{words}Names are the author's; only the sha256 identifies a file."), rows(lines[:_MOST_LINES]), *_left(len(lines), "file")]))]


def _assumptions(outcome: Outcome, explanations: Explanations) -> list[Section]:
    certificate = outcome.certificate
    if certificate is None:
        return []
    parts: list[Html] = []
    for name in certificate.assumptions:
        page = explanations.get(name)
        parts.append(tag("h3", tag("code", name), f": {page['title']}" if page is not None else ""))
        parts += _paragraphs(str(page["text"])) if page is not None else [
            paragraph("This version knows no such assumption.")]
    if not parts:
        parts = [paragraph("Nothing outside the files." if outcome.verified else "The certificate lists nothing outside the files.")]
    return [Section("assumptions", "What it rests on" if outcome.verified else "What it would rest on", join(parts))]


def _check(outcome: Outcome) -> list[Section]:
    """Return facts and figures of a successful check."""
    result = outcome.verification
    if result is None or not outcome.verified:
        return []
    figures = [(name.replace("_", " "), number(value) if isinstance(value, float) else str(value), _MEANINGS.get(name, ""))
               for name, value in result.figures.items() if name != "work"]
    parts = [tag("ul", *(tag("li", fact) for fact in result.facts[:_MOST_LINES]))] if result.facts else []
    parts += [table(("figure", "value", "meaning"), figures[:_MOST_LINES])] if figures else []
    return [Section("check", "Facts and figures of the check", join(parts))] if parts else []


def _question(outcome: Outcome) -> list[Section]:
    """Return all fields of the claim."""
    claim = outcome.claim
    if claim is None:
        return []
    kind = registry.kind(claim.kind, claim.version)
    told = [("kind", f"{claim.kind}, version {claim.version}")]
    for words, fields in (("given", kind.given.encode(claim.given)), ("says", kind.says.encode(claim.says))):
        told += [(f"{words}: {name}", _value(value)) for name, value in sorted(fields.items())]
    return [Section("question", "The claim, field by field", join([
        paragraph("Under ", tag("em", "given"), " stands what was asked, under ", tag("em", "says"), " what is asserted; numbers are exact."),
        rows(told[:_MOST_LINES]), *_left(len(told), "field")]))]


def _not_claimed(outcome: Outcome) -> list[Section]:
    claim = outcome.claim
    found = family(claim.kind) if claim is not None else None
    if claim is None or found is None:
        return []
    more = paragraph(f"More: docs/claims/{claim.kind}.md and docs/trust.md of certify.", class_="note")
    return [Section("not-claimed", "What is not claimed", join([tag("ul", *(tag("li", line) for line in found.not_claimed(claim))), more]))]


def _origin(outcome: Outcome) -> list[Section]:
    """Return what identifies the certificate and says where it comes from."""
    certificate = outcome.certificate
    told: list[tuple[str, str]] = [("certificate file", join(["sha256 ", tag("code", outcome.digest)]))]
    if certificate is not None:
        told.insert(0, ("certificate id", tag("code", certificate.id)))
        told.append(("evidence", f"{certificate.evidence.kind}, version {certificate.evidence.version}"))
    told.append(("checker", f"{outcome.checker}: {outcome.word}"))
    parts = [rows(told)]
    if certificate is not None:
        made = certificate.producer
        parts.append(tag("h3", "Signatures"))
        parts.append(_signatures(outcome, certificate))
        parts.append(tag("h3", "Producer, not checked"))
        parts.append(paragraph("What the author wrote about the making of the file. The verdict does not depend on it."))
        parts.append(rows((name, str(made[name])[:_MOST_VALUE] or "-") for name in ("name", "version", "prover", "solver", "seed") if name in made))
    return [Section("origin", "The certificate", join(parts))]


def _signatures(outcome: Outcome, certificate: Certificate) -> Html:
    signed = outcome.verification.signed_by if outcome.verification is not None and outcome.verified else ()
    others = [keyid for keyid in certificate.signatures if keyid not in signed]
    if not signed and not others:
        return paragraph("The file carries no signature.")
    lines: list[tuple[str, str]] = [(tag("code", keyid), "checked: this key was given, and it signed the certificate") for keyid in signed]
    lines += [(tag("code", keyid), "not checked: " + ("no key with this id was given" if outcome.verified else "the certificate was not verified"))
              for keyid in others]
    return join([table(("key id", "signature"), lines[:_MOST_LINES], "A signature says who; the checker says whether"),
                 *_left(len(lines), "signature")])


def _footer(outcome: Outcome) -> Html:
    return tag("footer", paragraph(f"Made by certify report ({outcome.checker}). This page is for reading: whoever relies on the verdict checks the "
                                   "certificate with certify-check, which runs the trusted checker alone."))


def _paragraphs(text: str) -> list[Html]:
    return [paragraph(prose(" ".join(block.split()))) for block in text.strip().split("\n\n")]


def _value(value: Any) -> str:
    shown = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return shown if len(shown) <= _MOST_VALUE else f"{shown[:_MOST_VALUE]}... ({len(shown)} characters)"


def _left(count: int, noun: str) -> list[Html]:
    return [paragraph(f"{some(count - _MOST_LINES, noun)} left out.")] if count > _MOST_LINES else []
