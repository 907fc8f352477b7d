# SPDX-License-Identifier: Apache-2.0
"""The page: whatever the certificate, it is well formed, loads nothing, says the checker's verdict first, and never looks like a success it isn't."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from certify.cli.explain import pages
from certify.errors import Declined
from certify.limits import Limits
from certify.registry import KINDS
from certify.report import network
from certify.report import page as module
from certify.report.gloss import robust_words
from certify.report.html import Html, escaped, join, prose, some, tag
from certify.report.kinds import MODULES
from certify.report.outcome import examine
from certify.report.page import render
from certify.report.pictures import image_shape
from certify.report.trees import read_forest
from kinds import accuracy_vectors, region_vectors, robust_vectors
from report.reading import ROOT, Page, outcome_of, page_of
from toolkit import Specimen, pack

VECTORS = ROOT / "tests/vectors"
CORPUS = [(kind, entry) for kind in ("accuracy", "container", "grid-attack", "grid-defence-limit", "grid-shedding", "region", "robust")
          for entry in json.loads((VECTORS / kind / "index.json").read_text("utf-8"))]


@pytest.mark.parametrize(("kind", "entry"), CORPUS, ids=[f"{kind}/{entry['verdict']}/{entry['name']}" for kind, entry in CORPUS])
def test_every_vector_gives_a_page_with_its_verdict_first(kind: str, entry: dict[str, Any]) -> None:
    data = (VECTORS / kind / entry["verdict"] / f"{entry['name']}.cert").read_bytes()
    given: dict[str, list[tuple[str, bytes]]] = {}
    for subject in entry["subjects"]:
        given.setdefault(subject["role"], []).append((subject["file"].split("-", 1)[1], (VECTORS / kind / subject["file"]).read_bytes()))
    allow = None if entry["allow"] is None else set(entry["allow"])
    made = render(examine(data, f"{entry['name']}.cert", given, allow, Limits(**entry["limits"])), pages())
    found = Page(made)
    assert made == render(examine(data, f"{entry['name']}.cert", given, allow, Limits(**entry["limits"])), pages())
    assert found.headings[0][1].split(":")[0].lower() in (entry["verdict"], *(["counterexample"] if entry["verdict"] == "verified" else []))
    body = next(attributes["class"] for name, attributes in found.tags if name == "body")
    if entry["verdict"] == "verified":
        assert body in ("verified", "refuting")
        assert (body == "refuting") == found.headings[0][1].startswith("Counterexample: ")
        assert "The trusted checker (certify " in found.text and " verified th" in found.text
    else:
        assert body == entry["verdict"] and entry["code"] in found.text and "good" not in str(found.tags) and "Verified" not in found.text
        assert found.source.split("<title>")[1].startswith(entry["verdict"].upper())
        kept = "What the file claims, not established" in [text for _, text in found.headings]
        said = "certificate was not verified" if kept else "file is no certificate that could be read"
        assert found.text.strip().startswith(f"{entry['verdict']}: this {said}")


@pytest.mark.parametrize("specimen", [robust_vectors.bases().split, robust_vectors.bases().witness, region_vectors.bases().mixed,
                                      accuracy_vectors.specimen()], ids=["robust", "refuted", "region", "accuracy"])
def test_the_page_is_accessible_and_says_everything_that_the_verdict_says(specimen: Specimen) -> None:
    outcome = outcome_of(specimen)
    assert outcome.verification is not None and outcome.certificate is not None
    found = Page(render(outcome, pages()))
    assert ("html", {"lang": "en", "data-made-by": "certify report"}) in found.tags
    policy = next(attributes["content"] for name, attributes in found.tags if attributes.get("http-equiv") == "Content-Security-Policy")
    assert policy == "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
    levels = [level for level, _ in found.headings]
    assert levels[0] == 1 and levels.count(1) == 1 and all(b <= a + 1 for a, b in pairwise(levels))
    assert all(attributes.get("scope") in ("row", "col") for name, attributes in found.tags if name == "th")
    assert all(attributes["alt"] for attributes in found.images)
    pictures = re.findall(r"<svg[^>]*>(<title>[^<]+</title>)?", found.source)
    assert pictures and all(pictures) and all('role="img"' in start for start in re.findall(r"<svg[^>]*>", found.source))
    assert outcome.verification.sentence in found.text and outcome.verification.id in found.text and outcome.checker in found.text
    assert all(subject.name in found.text and subject.sha256 in found.text for subjects in outcome.verification.subjects.values()
               for subject in subjects)
    assert "real-arithmetic" in found.text and "every float32 weight is the number it encodes" in found.text
    assert all(fact in found.text for fact in outcome.verification.facts)
    titles = [text for _, text in found.headings]
    assert "What is not claimed" in titles and "Producer, not checked" in titles and "by hand" in found.text


def test_names_and_texts_of_an_author_are_escaped() -> None:
    content = robust_vectors.bases().leaf.content()
    hostile = '"><script>alert(1)</script><img src=x onerror=alert(2)>&amp;\'</style></title>'
    content["predicate"]["producer"] = {"name": hostile, "version": "</td></table>", "prover": "<svg/onload=alert(3)>",
                                        "solver": "javascript:alert(4)", "seed": 0}
    leaf = robust_vectors.bases().leaf
    outcome = examine(pack(content, leaf.arrays), '<b onclick="x">.cert', {role: [pair] for role, pair in leaf.files.items()}, None, Limits())
    made = Page(render(outcome, pages()))
    assert outcome.verified and '"><script>alert(1)</script>' in made.text and "<script" not in made.source
    hurt = examine(b"PK\3\4 nothing", '"><b onclick="x">\u202e.cert', {}, None, Limits())
    assert '"><b onclick="x">\ufffd.cert' in Page(render(hurt, pages())).text
    wrong = examine(leaf.seal(), "leaf.cert", {"": [("<img src=http://example.org/>", b"other")]}, None, Limits())
    assert "<img src=http://example.org/>" in Page(render(wrong, pages())).text


def test_a_rejected_claim_is_marked_and_has_no_bounds() -> None:
    leaf = robust_vectors.bases().leaf
    content = leaf.content()
    content["predicate"]["assumptions"] = []
    found = Page(render(examine(pack(content, leaf.arrays), "x.cert", {role: [pair] for role, pair in leaf.files.items()}, None, Limits()), pages()))
    assert "assumption-missing" in found.text and "What the file claims, not established" in [text for _, text in found.headings]
    assert "The bounds of the check" not in found.text and "not verified: 1 leaf" in found.text


def test_a_malformed_file_gives_a_page_with_the_verdict_and_the_digest() -> None:
    outcome = examine(b"no certificate", "x.cert", {}, None, Limits())
    found = Page(render(outcome, pages()))
    assert found.headings[0] == (1, "REJECTED") and "malformed" in found.text and outcome.digest in found.text
    assert [text for _, text in found.headings] == ["REJECTED", "The file"]
    assert "no well-formed certificate" in found.text and "does not establish" not in found.text
    later = Page(render(examine(robust_vectors.bases().leaf.seal(), "x.cert", {}, None, Limits(json_bytes=10)), pages()))
    assert later.headings[0] == (1, "DECLINED") and "could not be read as a certificate by this version" in later.text


def test_a_page_stays_within_its_size(monkeypatch: pytest.MonkeyPatch) -> None:
    deep = robust_vectors.bases().split
    deep.arrays = {"tree": np.concatenate([np.tile([0], 50_000), -1 - np.arange(50_001)]).astype("<i4"), "split_at": np.zeros(50_000)}
    found = page_of(deep)
    assert len(found.source) < 100_000 and "99701 nodes left out" in found.text and "depth 50000" in found.text
    whole = render(outcome_of(accuracy_vectors.specimen()), pages())
    monkeypatch.setattr(module, "MOST_BYTES", len(whole) - 100)
    cut = render(outcome_of(accuracy_vectors.specimen()), pages())
    assert len(cut) < len(whole) and "Left out: the page would be too large." in Page(cut).text
    monkeypatch.setattr(module, "MOST_BYTES", 1)
    assert Page(render(outcome_of(accuracy_vectors.specimen()), pages())).text.count("Left out: the page would be too large.") >= 3


def test_sentences_and_values_are_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    long = robust_vectors.bases().leaf.copy()
    long.given.update(radius=_long("2"), clip=[f"-{_long('9')}", _long("9")], subtract=_long("1"), divide=_long("3"), scale=_long("1"))
    outcome = outcome_of(long)
    assert outcome.claim is not None
    sentence = outcome.claim.sentence()
    found = Page(render(outcome, pages()))
    assert len(sentence) > 9000 and sentence in found.text and "\N{HORIZONTAL ELLIPSIS}" not in found.text
    for name in ("radius", "subtract", "divide", "scale"):
        cell = next(row[1] for table in found.tables for row in table if row[0] == f"given: {name}")
        assert cell.startswith(long.given[name][:60] + f"... ({len(long.given[name])} characters)") and cell.endswith(long.given[name])
    whole = len(render(outcome, pages()))
    monkeypatch.setattr(module, "MOST_BYTES", whole - 1)  # what is shown twice goes first
    cut = render(outcome, pages())
    assert len(cut) < whole and sentence in Page(cut).text
    monkeypatch.setattr(module, "MOST_BYTES", 1)
    least = Page(render(outcome, pages()))
    assert sentence in least.text and "left out: the page would be too large" in least.text


def _long(digit: str) -> str:
    return f"{digit}{'0' * 990}1/{digit}{'0' * 989}3"


def test_trees_above_the_limits_are_left_out() -> None:
    deep = robust_vectors.bases().split
    deep.arrays = {"tree": np.arange(5_000, dtype="<i4"), "recompute": np.ones(1, "|u1")}
    files = {role: [pair] for role, pair in deep.files.items()}
    outcome = examine(deep.seal(), "deep.cert", files, None, Limits(tree_nodes=4_999))
    found = Page(render(outcome, pages()))
    assert not outcome.verified and "Left out: 5000 nodes, more than the limit of 4999." in found.text
    shown = Page(render(examine(deep.seal(), "deep.cert", files, None, Limits()), pages()))
    assert "depth 4999; 5000 nodes" in shown.text and "4700 nodes left out" in shown.text


def test_what_is_shown_of_a_large_tree_takes_little_memory() -> None:
    import tracemalloc
    count = 1 << 20
    tracemalloc.start()
    forest = read_forest({"tree": np.arange(count, dtype="<i4")}, lambda k: "", None)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert forest.count == count and forest.depth == count - 1 and len(forest.nodes) == 300 and forest.neurons and not forest.complete
    assert peak < 100 << 20


def test_what_cannot_be_computed_is_left_out_and_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def exceeded(*given: object) -> None:
        raise Declined("limit-reached", "too much")

    monkeypatch.setattr(network, "margins", exceeded)
    found = page_of(robust_vectors.bases().leaf)
    assert found.headings[0] == (1, "Verified") and "Left out, because they could not be computed: limit-reached: too much" in found.text
    assert "What is not claimed" in [text for _, text in found.headings]


def test_what_it_rests_on_is_short_and_behind_the_bounds() -> None:
    found = page_of(robust_vectors.bases().leaf)
    titles = [text for _, text in found.headings]
    assert titles.index("The bounds of the check") < titles.index("What it rests on") < titles.index("The inputs")
    part = found.source.split('id="assumptions"')[1].split("</section>")[0]
    short, full = part.split("<details>")
    assert short.count("<p>") == 2 and "times one rounding of float32 at the largest value in the network" in short and "that is little" not in short
    assert "What real-arithmetic means in full" in full and "every float32 weight is the number it encodes" in full
    assert "may answer otherwise at this very point" in page_of(robust_vectors.bases().witness).text


def test_a_margin_of_the_size_of_rounding_is_told() -> None:
    outcome = outcome_of(robust_vectors.bases().leaf)
    assert outcome.verification is not None
    tiny = replace(outcome.verification, figures={**outcome.verification.figures, "smallest_margin": 1e-6})
    found = Page(render(replace(outcome, verification=tiny), pages()))
    assert "that is little, roundings can add up to it" in found.text and "--set semantics=exec32" in found.text


def test_what_was_demanded_is_said_in_the_box() -> None:
    leaf = robust_vectors.bases().leaf
    box = page_of(leaf).source.split("</header>")[0]
    assert "No key was demanded" in box and "No list of allowed assumptions was given" in box
    files = {role: [pair] for role, pair in leaf.files.items()}
    box = Page(render(examine(leaf.seal(), "x", files, {"real-arithmetic"}, Limits()), pages())).source.split("</header>")[0]
    assert "Assumptions that were allowed: real-arithmetic." in box
    outcome = outcome_of(leaf)
    assert outcome.verification is not None
    signed = replace(outcome, keys=2, threshold=1, verification=replace(outcome.verification, signed_by=("ab" * 32,)))
    assert "1 signature of 2 given keys was demanded: signed by  abababababababab." in Page(render(signed, pages())).text
    refused = Page(render(replace(examine(leaf.seal(), "x", {}, set(), Limits()), keys=1), pages())).text
    assert "1 signature of 1 given key was demanded; who signed is not said" in refused and "Assumptions that were allowed: none." in refused


@pytest.mark.parametrize(("given", "shape", "words"), [
    ({"radius": 1, "scale": Fraction(1, 16), "clip": (0, 1)}, (1, 64), "each pixel may change by at most 1 of 16 grey levels"),
    ({"radius": Fraction(1, 16), "radius_unit": "scaled", "scale": Fraction(1, 16), "clip": (0, 1)}, (1, 64),
     "each pixel may change by at most 1 of 16 grey levels"),
    ({"radius": 8, "scale": Fraction(1, 255), "clip": (0, 1)}, (3, 4, 4),
     "each pixel may change by at most 8 in the units of the points file (3.1 % of the"),
    ({"radius": 2}, (1, 8), "each input may change by at most 2 in the units of the points file"),
    ({"radius": 2, "norm": "l2"}, (1, 8), "the changes of all inputs together, the root of the sum of their squares, are at most 2"),
    ({"radius": 2, "norm": "l1"}, (1, 8), "the changes of all inputs together, their sum, are at most 2")])
def test_the_claim_in_plain_words(given: dict[str, Any], shape: tuple[int, ...], words: str) -> None:
    whole = {"norm": "linf", "radius_unit": "raw", "scale": Fraction(1), "clip": None, "row": 0, "label": 3, "semantics": "real", **given}
    for name in ("radius", "scale"):
        whole[name] = Fraction(whole[name])
    whole["clip"] = whole["clip"] and tuple(map(Fraction, whole["clip"]))
    assert robust_words(whole, True, image_shape(shape, math.prod(shape))).startswith(f"In plain words: {words}")


def test_every_kind_has_a_module_that_shows_it() -> None:
    assert set(MODULES) <= set(KINDS) and {"accuracy", "region", "robust"} <= set(MODULES)  # a new kind may do without


def test_html_is_made_only_by_its_makers() -> None:
    assert tag("p", "<b>", Html("<br>"), class_="x\"y") == '<p class="x&quot;y">&lt;b&gt;<br></p>'
    assert join(["a<", tag("em", "b")]) == "a&lt;<em>b</em>"
    assert prose("see `a<b`") == "see <code>a&lt;b</code>" and prose("one ` only") == "one ` only"
    assert escaped("x" * 5000).endswith("\N{HORIZONTAL ELLIPSIS}") and some(1, "leaf") == "1 leaf" and some(2, "leaf", "leaves") == "2 leaves"
    for name, attributes in (("script", {}), ("p", {"onclick": "x"}), ("img", {"src": "http://example.org"}), ("p", {"href": "x"}), ("a", {})):
        with pytest.raises(ValueError, match="belongs on a page"):
            tag(name, **attributes)
