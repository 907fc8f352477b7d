# SPDX-License-Identifier: Apache-2.0
"""What is written is whole, replaces nothing else and keeps its permissions; an interrupt leaves neither half a pair of keys nor a temporary file."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from click.testing import CliRunner

from certify import container
from certify.cli.main import cli
from certify.errors import CertifyError, UsageError
from certify.files import create, save
from certify.limits import Limits
from cli.test_bad_input import CERTIFY, _path, refused, run
from kinds.region_vectors import bases


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a certificate, its subjects and two pairs of keys."""
    for name, data in bases().leaf.files.values():
        (tmp_path / name).write_bytes(data)
    (tmp_path / "ok.cert").write_bytes(bases().leaf.seal())
    for name in ("one", "two"):
        assert CliRunner().invoke(cli, ["key", "new", str(tmp_path / name)]).exit_code == 0
    return tmp_path


def signers(path: Path) -> int:
    """Return how many signatures a certificate has."""
    return len(container.read(path.read_bytes(), Limits(), path.name).signatures)


def test_prove_replaces_certificates_only(folder: Path) -> None:
    question = ("prove", "region", "ramp.onnx", "ramp.vnnlib", "-o")
    with zipfile.ZipFile(folder / "thesis.docx", "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.text")
        archive.writestr("word/document.xml", "years of work")
    (folder / "start.cert").write_bytes(bases().leaf.seal()[:70])
    for name in ("thesis.docx", "start.cert"):
        before = (folder / name).read_bytes()
        refused(folder, 2, "output-taken", *question, name)
        assert (folder / name).read_bytes() == before
    (folder / "empty.cert").write_bytes(b"")
    (folder / "ok.cert").chmod(0o640)
    for name in ("empty.cert", "ok.cert", "ok.cert"):
        assert run(folder, *question, name).returncode == 0
    assert (folder / "ok.cert").stat().st_mode & 0o777 == 0o640


def test_an_answer_to_another_question_is_not_replaced_by_default(folder: Path) -> None:
    question, made = ("prove", "region", "ramp.onnx", "ramp.vnnlib"), folder / "ramp-ramp.cert"
    assert run(folder, *question).returncode == 0
    before = made.read_bytes()
    assert run(folder, *question).returncode == 0 and made.read_bytes() == before
    refused(folder, 2, "output-taken", *question, "--set", "semantics=exec32")
    (folder / "ramp.vnnlib").write_bytes((folder / "ramp.vnnlib").read_bytes() + b"; the same property in another file\n")
    refused(folder, 2, "output-taken", *question)
    assert made.read_bytes() == before
    assert run(folder, *question, "--set", "semantics=exec32", "-o", "other.cert").returncode == 0
    made.write_bytes(before[:70])
    refused(folder, 2, "output-taken", *question)  # only its first bytes are those of a certificate


def test_signing_keeps_permissions_and_links(folder: Path) -> None:
    (folder / "ok.cert").chmod(0o600)
    (folder / "link.cert").symlink_to("ok.cert")
    assert run(folder, "sign", "ok.cert", "--key", "one.pem").returncode == 0
    assert run(folder, "sign", "link.cert", "--key", "two.pem").returncode == 0
    assert (folder / "link.cert").is_symlink() and not (folder / "ok.cert").is_symlink()
    assert (folder / "ok.cert").stat().st_mode & 0o777 == 0o600 and signers(folder / "ok.cert") == 2
    refused(folder, 2, "output-taken", "sign", "ok.cert", "--key", "one.pem", "-o", "ramp.onnx")
    assert run(folder, "sign", "ok.cert", "--key", "one.pem", "-o", "link.cert").returncode == 0
    assert run(folder, "sign", "ok.cert", "--key", "one.pem", "-o", "new.cert").returncode == 0 and signers(folder / "new.cert") == 2
    assert sorted(path.name for path in folder.iterdir() if path.name.startswith(".")) == []


def test_two_signers_at_once_both_sign(folder: Path) -> None:
    plain = (folder / "ok.cert").read_bytes()
    for _ in range(4):
        (folder / "ok.cert").write_bytes(plain)
        running = [subprocess.Popen([*CERTIFY, "sign", "ok.cert", "--key", f"{name}.pem"], cwd=folder, stdout=subprocess.DEVNULL,
                                    env={**os.environ, "PYTHONPATH": _path()}) for name in ("one", "two")]
        assert [process.wait(60) for process in running] == [0, 0]
        assert signers(folder / "ok.cert") == 2


def test_one_signer_waits_for_the_other(folder: Path) -> None:
    import fcntl
    handle = os.open(folder / "ok.cert", os.O_RDONLY)
    fcntl.flock(handle, fcntl.LOCK_EX)
    process = subprocess.Popen([*CERTIFY, "sign", "ok.cert", "--key", "one.pem"], cwd=folder, stdout=subprocess.DEVNULL,
                               env={**os.environ, "PYTHONPATH": _path()})
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(3)
    assert CliRunner().invoke(cli, ["sign", str(folder / "ok.cert"), "--key", str(folder / "two.pem"), "-o", str(folder / "two.cert")]).exit_code == 0
    os.replace(folder / "two.cert", folder / "ok.cert")  # the file that was locked is no longer the one of this name
    os.close(handle)
    assert process.wait(60) == 0 and signers(folder / "ok.cert") == 2


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_signal_leaves_both_keys_or_none(folder: Path, name: str) -> None:
    script = f"""
import os, signal, sys
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # a run under nohup ignores it
whole = os.fsync
def fsync(handle):
    whole(handle)
    os.kill(os.getpid(), signal.{name})
os.fsync = fsync
sys.argv = ["certify", "key", "new", "three"]
from certify.cli.main import main
main()
"""
    before = {path.name for path in folder.iterdir()}
    done = subprocess.run([sys.executable, "-c", script], cwd=folder, capture_output=True, text=True, check=False,
                          env={**os.environ, "PYTHONPATH": _path()})
    assert done.returncode == (130 if name == "SIGINT" else -getattr(signal, name)), done.stderr
    assert {path.name for path in folder.iterdir()} - before == {"three.pem", "three.pub.pem"} and "nothing was written" not in done.stderr
    assert (folder / "three.pem").stat().st_mode & 0o777 == 0o600 and (folder / "three.pem").read_bytes().endswith(b"-----\n")


def test_a_signal_leaves_no_temporary_file(tmp_path: Path) -> None:
    script = """
import os, signal, sys
from pathlib import Path
from certify.files import save
def pieces():
    yield b"first "
    os.kill(os.getpid(), signal.SIGTERM)
    yield b"second"
save(Path("out"), pieces())
"""
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, check=False, env={**os.environ, "PYTHONPATH": _path()})
    assert done.returncode == -signal.SIGTERM and [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("out", b"first second")]


def test_keys_are_made_together_and_replace_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("half.pem", "half.pub.pem"):
        (folder / name).write_bytes(b"mine")
        refused(folder, 2, "output-taken", "key", "new", "half")
        assert (folder / name).read_bytes() == b"mine"
        (folder / name).unlink()
    written = 0

    def full(handle: int) -> None:
        nonlocal written
        written += 1
        if written == 2:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(CertifyError, match="output-unwritable"):
        create([(folder / "a", b"1", 0o666), (folder / "b", b"2", 0o600)])
    assert not (folder / "a").exists() and not (folder / "b").exists()


def test_new_files_are_new_also_without_hard_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save(tmp_path / "a", [b"1"], new=True)
    with pytest.raises(UsageError, match="output-taken"):
        save(tmp_path / "a", [b"2"], new=True)

    def none(source: str, target: Path) -> None:
        raise PermissionError(1, "no links here")

    monkeypatch.setattr(os, "link", none)
    save(tmp_path / "b", [b"3"], new=True)
    with pytest.raises(UsageError, match="output-taken"):
        save(tmp_path / "b", [b"4"], new=True)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"a": b"1", "b": b"3"}
