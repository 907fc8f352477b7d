# SPDX-License-Identifier: Apache-2.0
"""The corpus: every vector gives its verdict and exact code, is made again byte for byte, and tells broken checkers apart."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from certify import container
from certify.errors import CertifyError
from certify.limits import Limits
from certify.verification import check, decode
from vectors.build import KINDS, corpus

ROOT = Path(__file__).parent / "vectors"
_LARGE = ("accuracy", "container", "grid-attack", "grid-shedding", "region", "robust")  # kinds with evidence of many parts
_PARSED_BY_KIND = ("malformed", "evidence-kind", "version-unknown", "kind-unknown", "feature-unsupported", "array-", "unused-evidence",
                   "digest-mismatch", "limit-reached")


def _index(kind: str) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = json.loads((ROOT / kind / "index.json").read_text("utf-8"))
    return entries


ALL = [(kind, entry) for kind in KINDS for entry in _index(kind)]


def _subjects(kind: str, entry: dict[str, Any]) -> dict[str, list[tuple[str, bytes]]]:
    given: dict[str, list[tuple[str, bytes]]] = {}
    for subject in entry["subjects"]:
        given.setdefault(subject["role"], []).append((subject["file"].split("-", 1)[1], (ROOT / kind / subject["file"]).read_bytes()))
    return given


@pytest.mark.parametrize(("kind", "entry"), ALL, ids=[f"{kind}/{entry['verdict']}/{entry['name']}" for kind, entry in ALL])
def test_verdict_and_code(kind: str, entry: dict[str, Any]) -> None:
    data = (ROOT / kind / entry["verdict"] / f"{entry['name']}.cert").read_bytes()
    allow = None if entry["allow"] is None else set(entry["allow"])
    try:
        check(data, entry["name"], _subjects(kind, entry), allow, Limits(**entry["limits"]).fresh())
    except CertifyError as trouble:
        assert (trouble.verdict, trouble.code) == (entry["verdict"], entry["code"]), str(trouble)
        assert trouble.fix and "\n" not in str(trouble) + trouble.fix
    else:
        assert (entry["verdict"], entry["code"]) == ("verified", "")


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_corpus_is_made_again_byte_for_byte(kind: str) -> None:
    made = corpus(kind)
    committed = {str(path.relative_to(ROOT / kind)): path.read_bytes() for path in sorted((ROOT / kind).rglob("*")) if path.is_file()}
    assert sorted(made) == sorted(committed)
    assert [path for path in made if made[path] != committed[path]] == []


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_corpus_is_large_and_fails_a_checker_that_accepts_everything(kind: str) -> None:
    entries = _index(kind)
    negative = [entry for entry in entries if entry["verdict"] != "verified"]
    assert len(entries) >= (40 if kind in _LARGE else 15) and len(negative) >= 0.6 * len(entries)
    assert all(entry["bug"] for entry in entries)


@pytest.mark.parametrize("kind", ["accuracy", "grid-attack", "grid-shedding", "region", "robust"])
def test_a_checker_that_only_parses_accepts_every_semantic_negative(kind: str) -> None:
    semantic = 0
    for entry in _index(kind):
        if entry["verdict"] == "verified" or entry["code"].startswith(_PARSED_BY_KIND) or entry["name"].startswith("role-"):
            continue
        semantic += 1
        decode(container.read((ROOT / kind / entry["verdict"] / f"{entry['name']}.cert").read_bytes(), Limits(), entry["name"]))
    assert semantic >= 40  # and none of them raised
