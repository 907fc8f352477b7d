# SPDX-License-Identifier: Apache-2.0
"""Certificates with the backend hyrax from commitment to verdict, with both groups, and commitments that do not fit them."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from zk.hyrax_cases import by_points  # isort: skip  (skips the module where a package is missing)

from click.testing import CliRunner

import certify
from certify.certificate import Evidence
from certify.cli.main import cli
from certify.errors import CertifyError, Declined, UsageError
from certify.limits import Limits
from certify.readers.commitment import encode_commitment, read_commitment
from certify.rules.argument import HYRAX, LIGERO, establish, premises
from certify_zk import sizing
from certify_zk.preparation import prepare
from certify_zk.settings import like, read_settings
from certify_zk.statement import Box, Rows, Statement
from zk.test_argument import NETWORKS

FOLDER = Path(__file__).resolve().parents[2] / "examples/private"
PREMISES = {"random-oracle", "collision-resistant", "discrete-logarithm", "real-arithmetic"}


def run(*words: str | Path) -> str:
    """Return what a command prints that ends well."""
    done = CliRunner().invoke(cli, [str(word) for word in words])
    assert done.exit_code == 0, done.output
    return done.output


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a commitment to the credit network, its secret file, and a certificate."""
    folder = tmp_path_factory.mktemp("hyrax")
    (folder / "policy.toml").write_text('backend = "hyrax"\n' + (FOLDER / "credit-policy.toml").read_text("utf-8"), "utf-8")
    settings = ["--set", f"policy={folder / 'policy.toml'}", "--set", f"seed={folder / 'c.seed'}"]
    run("commit", FOLDER / "credit.onnx", *settings, "-o", folder / "c.commit")
    run("prove", "private-linear", folder / "c.commit", FOLDER / "credit.vnnlib", "--set", f"secret={folder / 'c.secret'}", "-o", folder / "c.cert")
    return folder


def test_a_certificate_is_verified_with_either_group(made: Path) -> None:
    subjects = [made / "c.commit", FOLDER / "credit.vnnlib"]
    found = [certify.verify(made / "c.cert", subjects, reference=reference) for reference in (False, True)]
    for verification, name in zip(found, ("py_arkworks_bls12381", "py_ecc"), strict=True):
        assert set(verification.assumptions) == PREMISES and f"sums of points by {name}" in verification.facts
        assert verification.figures["soundness_bits"] == Fraction(1169, 10)
    assert found[0].id == found[1].id and (made / "c.cert").stat().st_size < 150_000 and (made / "c.commit").stat().st_size < 6_000
    words = ["verify", made / "c.cert", *(word for path in subjects for word in ("--subject", path))]
    assert "py_ecc" in run(*words, "--reference") and "py_arkworks" in run(*words, "--json")
    allowed = CliRunner().invoke(cli, [*map(str, words), "--allow", "random-oracle,collision-resistant,real-arithmetic"])
    assert allowed.exit_code == 3 and "discrete-logarithm" in allowed.output


def test_a_certificate_that_is_made_again_is_the_same(made: Path) -> None:
    run("prove", "private-linear", made / "c.commit", FOLDER / "credit.vnnlib", "--set", f"secret={made / 'c.secret'}", "-o", made / "again.cert")
    assert (made / "again.cert").read_bytes() == (made / "c.cert").read_bytes()


def test_a_laboratory_compares_the_network_with_the_commitment(made: Path) -> None:
    told = json.loads(run("commit", made / "c.quantised.onnx", "--set", f"check={made / 'c.commit'}", "--set", f"seed={made / 'c.seed'}", "--json"))
    assert told["verdict"] == "same" and told["root"] == read_commitment((made / "c.commit").read_bytes(), Limits()).root.hex()


def test_commitments_name_their_backend(made: Path) -> None:
    data = (made / "c.commit").read_bytes()
    commitment = read_commitment(data, Limits())
    assert commitment.policy.backend == "hyrax" and encode_commitment(commitment) == data and premises(commitment) == PREMISES
    for changes in ({"backend": "ligero"}, {"level": 128}, {"queries": 154}, {"columns": 1 << 15}):
        with pytest.raises(Declined) as caught:
            read_commitment(encode_commitment(replace(commitment, policy=replace(commitment.policy, **changes))), Limits())
        assert caught.value.code == "commitment-limit"
    content = json.loads(data)
    content["backend"] = "kate"
    with pytest.raises(Declined) as caught:
        read_commitment(json.dumps(content, sort_keys=True, separators=(",", ":")).encode(), Limits())
    assert caught.value.code == "commitment-malformed"


def test_evidence_is_of_the_backend_of_its_commitment(made: Path) -> None:
    commitment = read_commitment((made / "c.commit").read_bytes(), Limits())
    statement = Statement((Box((0,) * 12, (0,) * 12),), Rows(((1,),), (0,)))
    ligero = replace(commitment, policy=replace(NETWORKS["4-4-4-3"][0]))
    for some, spec in ((commitment, LIGERO), (ligero, HYRAX)):
        with pytest.raises(CertifyError) as caught:
            establish(some, statement, b"", Evidence(spec.kind, spec.version, {}, {}), Limits())
        assert caught.value.code == "argument-malformed" and caught.value.where == "evidence.kind"
    assert premises(ligero) == PREMISES - {"discrete-logarithm"}


def test_settings_of_the_backend() -> None:
    assert read_settings(b'backend = "hyrax"').backend == "hyrax" and read_settings(b"").backend == "ligero"
    for text in (b'backend = "kate"', b"backend = 1", b'backend = "hyrax"\nlevel = 128'):
        with pytest.raises(UsageError) as caught:
            read_settings(text)
        assert caught.value.code == "policy-file"
    policy = by_points(NETWORKS["4-4-4-3"][0])
    assert like(policy).backend == "hyrax" and like(NETWORKS["4-4-4-3"][0]).backend == "ligero"
    columns = [sizing.sized(policy, cells).columns for cells in (1, 50_000, 200_000, 1 << 20)]
    assert columns == [256, 256, 512, 1024] and sizing.sized(policy, 50_000).codeword == 0


def test_a_network_that_is_too_large_is_declined() -> None:
    from toolkit import model
    rng = np.random.default_rng(1)
    sizes = (64, 256, 256, 256, 10)
    layers = [((rng.integers(-9, 10, (b, a)) / 64).tolist(), [0.0] * b) for a, b in pairwise(sizes)]
    settings = read_settings(b'backend = "hyrax"')
    with pytest.raises(Declined) as caught:
        prepare(model(layers), settings)
    assert caught.value.code == "commitment-limit" and "hyrax" in caught.value.what
    assert prepare(model(layers), replace(settings, backend="ligero")).policy.backend == "ligero"
