# SPDX-License-Identifier: Apache-2.0
"""The owner's secret file: its mode, its list of uses under kills, races and cut records, and what is refused."""

from __future__ import annotations

import multiprocessing
import os
import signal
import stat
import subprocess
import sys
import time
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest

from certify.errors import CertifyError, Declined, UsageError
from certify_zk import secret
from certify_zk.secret import Secret
from certify_zk.witness import Model

MODEL = Model((np.array([[1, -2, 3], [4, 5, -65535]]), np.array([[7, -8]])), (np.array([9, -10]), np.array([1 << 23])))
SEEDS = bytes(range(32)), bytes(range(32, 64))


def written(folder: Path) -> Secret:
    """Return a new secret file."""
    path = folder / "net.secret"
    secret.write((folder / "net.commit", b"{}"), [(path, secret.contents(*SEEDS, sha256(b"{}").digest(), MODEL))])
    return secret.read(path)


def digest(number: int) -> bytes:
    return sha256(str(number).encode()).digest()


def test_what_is_written_is_read(tmp_path: Path) -> None:
    mine = written(tmp_path)
    assert (mine.commitment_seed, mine.proof_seed, mine.commitment) == (*SEEDS, sha256(b"{}").digest())
    for first, second in zip((*mine.model.weights, *mine.model.biases), (*MODEL.weights, *MODEL.biases), strict=True):
        assert first.shape == second.shape and (first == second).all()


def test_only_the_owner_may_read_it_and_it_is_never_replaced(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        mine = written(tmp_path)
    finally:
        os.umask(before)
    assert stat.S_IMODE(mine.path.stat().st_mode) == 0o600
    kept = mine.path.read_bytes()
    with pytest.raises(UsageError) as caught:
        secret.write((tmp_path / "other.commit", b"{}"), [(mine.path, b"something else")])
    assert caught.value.code == "output-taken" and mine.path.read_bytes() == kept and not (tmp_path / "other.commit").exists()


def test_uses_are_counted_and_the_same_question_takes_no_second_one(tmp_path: Path) -> None:
    mine = written(tmp_path)
    assert [mine.take(digest(k), digest(9), 3) for k in (0, 1, 0, 1)] == [1, 2, 1, 2]
    assert mine.take(digest(0), digest(8), 3) == 3 and mine.used() == 3  # the same statement with another witness
    with pytest.raises(Declined) as caught:
        mine.take(digest(5), digest(9), 3)
    assert caught.value.code == "pad-budget-spent"
    again = secret.read(mine.path)
    assert again.take(digest(1), digest(9), 3) == 2 and again.used() == 3


@pytest.mark.parametrize("length", [1, 8, 40, 71])
def test_a_record_that_was_cut_off_is_a_use(length: int, tmp_path: Path) -> None:
    mine = written(tmp_path)
    mine.take(digest(0), digest(0), 9)
    with open(mine.path, "ab") as stream:
        stream.write(((2).to_bytes(8, "big") + digest(1) + digest(1))[:length])
    assert secret.read(mine.path).used() == 2
    assert mine.take(digest(1), digest(1), 9) == 3  # what was cut off may have been used
    assert mine.take(digest(2), digest(2), 9) == 4 and mine.take(digest(0), digest(0), 9) == 1
    assert (mine.path.stat().st_size - mine.end) == 4 * 72


def _take(path: Path, first: int, queue: multiprocessing.Queue[list[int]]) -> None:
    mine = secret.read(path)
    queue.put([mine.take(digest(first + k), digest(0), 64) for k in range(8)])


def test_no_number_is_given_twice_to_processes_at_once(tmp_path: Path) -> None:
    mine, context = written(tmp_path), multiprocessing.get_context("spawn")
    queue = context.Queue()
    running = [context.Process(target=_take, args=(mine.path, 100 * k, queue)) for k in range(3)]
    for process in running:
        process.start()
    numbers = [number for _ in running for number in queue.get(timeout=60)]
    for process in running:
        process.join()
    assert sorted(numbers) == list(range(1, 25))


_LOOP = """
import sys
from hashlib import sha256
from pathlib import Path
from certify_zk import secret
mine = secret.read(Path(sys.argv[1]))
for k in range(10**6):
    number = mine.take(sha256(f"{sys.argv[2]} {k}".encode()).digest(), bytes(32), 10**9)
    sys.stdout.write(f"{number}\\n")
    sys.stdout.flush()
"""


def test_numbers_survive_kills(tmp_path: Path) -> None:
    mine, seen = written(tmp_path), list[int]()
    for run in range(6):
        process = subprocess.Popen([sys.executable, "-c", _LOOP, str(mine.path), str(run)], stdout=subprocess.PIPE, text=True,
                                   env={**os.environ, "PYTHONPATH": ":".join(sys.path)})
        assert process.stdout is not None
        seen.append(int(process.stdout.readline()))
        time.sleep(0.02 * run)
        os.kill(process.pid, signal.SIGKILL)
        rest, _ = process.communicate()
        seen += [int(line) for line in rest.split("\n")[:-1] if line]
    assert len(set(seen)) == len(seen) and seen == sorted(seen) and mine.used() >= max(seen)


def test_files_that_are_no_secret_or_are_damaged_are_refused(tmp_path: Path) -> None:
    mine = written(tmp_path)
    data = mine.path.read_bytes()
    for place in (0, 20, len(data) // 2, len(data) - 1):
        other = bytearray(data)
        other[place] ^= 1
        mine.path.write_bytes(other)
        assert _code(mine.path) == "secret-damaged"
    for short in (b"", b"\n", data[:100], data[:-1], data[: mine.end - 40], b"{}\n" + data):
        mine.path.write_bytes(short)
        assert _code(mine.path) == "secret-damaged"
    assert _code(tmp_path / "absent") == "file-unreadable"
    mine.path.write_bytes(data[:50])
    with pytest.raises(Declined, match="become shorter"):
        mine.take(digest(0), digest(0), 3)


def test_a_file_that_can_not_be_written_gives_no_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mine = written(tmp_path)
    monkeypatch.setattr(os, "pwrite", lambda handle, data, offset: len(data) - 1)
    with pytest.raises(UsageError) as caught:
        mine.take(digest(0), digest(0), 3)
    assert caught.value.code == "secret-unwritable"
    monkeypatch.undo()
    mine.path.unlink()
    with pytest.raises(UsageError) as caught:
        mine.take(digest(0), digest(0), 3)
    assert caught.value.code == "secret-unwritable"


def _code(path: Path) -> str:
    with pytest.raises(CertifyError) as caught:
        secret.read(path)
    return caught.value.code


def test_streams_are_those_of_chacha20_and_differ_by_all_parts() -> None:
    first = secret.stream(b"a" * 32, b"x", b"y")
    assert first(5) + first(59) == secret.stream(b"a" * 32, b"x", b"y")(64)
    others = [secret.stream(b"b" * 32, b"x", b"y"), secret.stream(b"a" * 32, b"xy"), secret.stream(b"a" * 32, b"", b"xy"),
              secret.stream(b"a" * 32, b"x", b"y", b"")]
    shown = [draw(32) for draw in (secret.stream(b"a" * 32, b"x", b"y"), *others)]
    assert len(set(shown)) == len(shown)


def test_integers_of_more_than_32_bits_are_no_network() -> None:
    with pytest.raises(ValueError, match="at most 32 bits"):
        secret.contents(*SEEDS, bytes(32), Model((np.array([[1 << 31]]),), (np.array([0]),)))
