# SPDX-License-Identifier: Apache-2.0
"""The page of a report: the verdict first, then what it is about, what it rests on, how it was reached, and what it does not say.

Guarantee: one HTML file without script, without anything that is loaded, and of at most `MOST_BYTES`; the same outcome gives the same bytes. Only a
verdict `verified` is worded or coloured as a success.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from fractions import Fraction
from importlib.resources import files
from typing import Any

from certify import registry
from certify.certificate import Certificate
from certify.errors import CertifyError
from certify.report.html import Html, Section, join, number, paragraph, prose, rows, some, table, tag, whole
from certify.report.kinds import family, meanings
from certify.report.outcome import Outcome
from certify.report.premises import Explanations, assumptions, paragraphs
from certify.rules.grid_words import mw

MOST_BYTES = 5 << 20
START = b'<!doctype html>\n<html lang="en" data-made-by="certify report">'
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
_MOST_LINES = 100
_MOST_VALUE = 600
_MOST_FOLDED = 60
_NO_CERTIFICATE = {
    "rejected": "This file is no well-formed certificate. There is no claim in it that could be true or false, and nothing was verified.",
    "declined": "This file could not be read as a certificate by this version, within these limits. That says nothing about what is in it.",
}
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


def render(outcome: Outcome, explanations: Explanations) -> bytes:
    """Return the page; `explanations` are the pages of codes and assumptions by name, each with `title` and `text`."""
    own = _own(outcome)
    made = _page(outcome, explanations, own)
    for largest in sorted(own, key=lambda section: -len(section.body)):
        if len(made) <= MOST_BYTES:
            return made
        own = [Section(one.name, one.title, paragraph("Left out: the page would be too large.")) if one is largest else one for one in own]
        made = _page(outcome, explanations, own)
    return made if len(made) <= MOST_BYTES else _page(outcome, explanations, own, values_in_full=False)


def _page(outcome: Outcome, explanations: Explanations, own: Sequence[Section], values_in_full: bool = True) -> bytes:
    results = next((k + 1 for k, section in enumerate(own) if section.name in ("bounds", "outputs")), len(own))
    sections = [*_claim(outcome), *_subjects(outcome), *own[:results], *assumptions(outcome, explanations), *own[results:],
                *_check(outcome, values_in_full), *_question(outcome, values_in_full), *_not_claimed(outcome), *_origin(outcome)]
    thing = "certificate was not verified" if outcome.certificate is not None else "file is no certificate that could be read"
    strip = [tag("div", f"{outcome.word}: this {thing}", class_="strip")] if not outcome.verified else []
    body = tag("body", *strip, _verdict(outcome, explanations), tag("main", *map(_section, sections)), _footer(outcome), class_=_look(outcome))
    word = outcome.word.upper() if not outcome.verified else "Counterexample" if outcome.refutes else "Verified"
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
        word = "Counterexample" if outcome.refutes else "Verified"
        what = "verified this counterexample" if outcome.refutes else "verified the certificate"
        return tag("header", tag("h1", tag("span", word, class_="word"), *([": ", tag("span", kicker, class_="kicker")] if kicker else [])),
                   paragraph(whole(outcome.verification.sentence), class_="sentence"), *_gloss(outcome),
                   paragraph(f"The trusted checker ({outcome.checker}) {what} when this page was made: the sentence is true of "
                             "exactly the files below, provided that what it rests on holds."), *_demands(outcome))
    trouble = outcome.trouble
    if trouble is None:
        raise ValueError("an outcome has a verdict")
    where = [("where", trouble.where)] if trouble.where else []
    told = [("code", tag("code", trouble.code)), ("what", prose(trouble.what)), *where, ("to do", prose(trouble.fix))]
    page = explanations.get(trouble.code)
    more = [tag("details", tag("summary", f"What the code {trouble.code} means"), paragraph(tag("strong", str(page["title"]))),
                *paragraphs(str(page["text"])))] if page is not None else []
    return tag("header", tag("h1", tag("span", outcome.word.upper(), class_="word")),
               paragraph((_NOT_A_SUCCESS if outcome.certificate is not None else _NO_CERTIFICATE)[outcome.word], class_="sentence"), rows(told),
               *(_demands(outcome) if outcome.certificate is not None else []), *more)


def _gloss(outcome: Outcome) -> list[Html]:
    """Return the claim in plain words, with a picture where there is one; nothing where that can't be computed."""
    found = family(outcome.claim.kind) if outcome.claim is not None else None
    try:
        return found.gloss(outcome) if found is not None else []
    except CertifyError:  # the sections say so too
        return []


def _demands(outcome: Outcome) -> list[Html]:
    """Return what was demanded of the certificate beside its claim: signatures, and an allow list."""
    signed = outcome.verification.signed_by if outcome.verification is not None and outcome.verified else ()
    if not outcome.keys:
        who = ["No key was demanded: who made the certificate was not checked."]
    else:
        who = [f"{some(outcome.needed, 'signature')} of {some(outcome.keys, 'given key')} {'was' if outcome.needed == 1 else 'were'} demanded",
               *([": signed by ", join([part for keyid in signed for part in (" ", tag("code", keyid[:16]))]), "."] if signed else [
                   "; who signed is not said of a certificate that was not verified."])]
    names = ", ".join(sorted(outcome.allow or ())) or "none"
    allow = " No list of allowed assumptions was given: all but the opt-in ones were accepted." if outcome.allow is None else (
        f" Assumptions that were allowed: {names}.")
    return [paragraph(*who, allow, class_="note")]


def _claim(outcome: Outcome) -> list[Section]:
    """Return the claim of a certificate that was not verified; a verified one stands with the verdict."""
    if outcome.verified or outcome.certificate is None:
        return []
    return [Section("claim", "What the file claims, not established", join([
        paragraph("These are the words of the certificate. ", tag("strong", f"They were {outcome.word}, not verified.")),
        tag("p", whole(outcome.certificate.claim.sentence()), class_="claimed")]))]


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


def _check(outcome: Outcome, in_full: bool) -> list[Section]:
    """Return facts and figures of a successful check."""
    result = outcome.verification
    if result is None or not outcome.verified:
        return []
    known = meanings(result.claim.kind) or _MEANINGS
    figures = [(name.replace("_", " "), _figure(value, in_full), known.get(name, "")) for name, value in result.figures.items() if name != "work"]
    parts = [tag("ul", *(tag("li", fact) for fact in result.facts[:_MOST_LINES]))] if result.facts else []
    parts += [table(("figure", "value", "meaning"), figures[:_MOST_LINES])] if figures else []
    return [Section("check", "Facts and figures of the check", join(parts))] if parts else []


def _figure(value: Any, in_full: bool) -> str:
    return number(value) if isinstance(value, float) else _value(mw(value) if isinstance(value, Fraction) else str(value), in_full)


def _question(outcome: Outcome, in_full: bool) -> list[Section]:
    """Return all fields of the claim."""
    claim = outcome.claim
    if claim is None:
        return []
    kind = registry.kind(claim.kind, claim.version)
    told = [("kind", f"{claim.kind}, version {claim.version}")]
    for words, fields in (("given", kind.given.encode(claim.given)), ("says", kind.says.encode(claim.says))):
        told += [(f"{words}: {name}", _value(value, in_full)) for name, value in sorted(fields.items())]
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
    told: list[tuple[str, str]] = [("certificate file" if certificate is not None else "file", join(["sha256 ", tag("code", outcome.digest)]))]
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
    return [Section("origin", "The certificate" if certificate is not None else "The file", join(parts))]


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


def _value(value: Any, in_full: bool) -> str:
    """Return a value; one that is long is folded, or cut where the page has no room for it."""
    shown = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    if len(shown) <= _MOST_VALUE:
        return shown
    start = f"{shown[:_MOST_FOLDED]}... ({len(shown)} characters"
    return tag("details", tag("summary", f"{start})"), whole(shown)) if in_full else f"{start}; left out: the page would be too large)"


def _left(count: int, noun: str) -> list[Html]:
    return [paragraph(f"{some(count - _MOST_LINES, noun)} left out.")] if count > _MOST_LINES else []
