# SPDX-License-Identifier: Apache-2.0
"""The corpus: every vector gives its verdict and exact code, is made again byte for byte, and tells broken checkers apart."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from certify import registry
from vectors.build import KINDS, corpus
from vectors.controls import always_accept, is_semantic, parse_only
from vectors.stored import Stored, kinds, stored

ROOT = Path(__file__).parent / "vectors"
ALL = [vector for kind in kinds() for vector in stored(kind)]
_LARGE = ("accuracy", "container", "grid-attack", "grid-shedding", "region", "robust")  # kinds with evidence of many parts


@pytest.mark.parametrize("vector", ALL, ids=[vector.id for vector in ALL])
def test_verdict_and_code(vector: Stored) -> None:
    assert vector.found() == vector.wanted


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_corpus_is_made_again_byte_for_byte(kind: str) -> None:
    made = corpus(kind)
    committed = {str(path.relative_to(ROOT / kind)): path.read_bytes() for path in sorted((ROOT / kind).rglob("*")) if path.is_file()}
    assert sorted(made) == sorted(committed)
    assert [path for path in made if made[path] != committed[path]] == []


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_corpus_is_large_and_fails_a_checker_that_accepts_everything(kind: str) -> None:
    vectors = stored(kind)
    assert len(vectors) >= (40 if kind in _LARGE else 15)
    assert sum(always_accept(vector) != vector.wanted for vector in vectors) >= 0.6 * len(vectors)
    assert all(entry["bug"] for entry in json.loads((ROOT / kind / "index.json").read_text("utf-8")))


@pytest.mark.parametrize("kind", sorted(set(registry.KINDS) & set(kinds())))
def test_a_checker_that_only_parses_accepts_every_semantic_negative(kind: str) -> None:
    semantic = [vector for vector in stored(kind) if is_semantic(vector)]
    assert len(semantic) >= (40 if kind in _LARGE else 5)
    assert [vector.name for vector in semantic if parse_only(vector)[0] != "verified"] == []


def test_every_kind_has_vectors() -> None:
    assert sorted(KINDS) == kinds() and set(registry.KINDS) <= set(kinds())
