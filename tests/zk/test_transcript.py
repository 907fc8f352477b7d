# SPDX-License-Identifier: Apache-2.0
"""The transcript: vectors computed from its definition with hashlib alone, and that everything absorbed changes what is drawn later."""

from __future__ import annotations

import hashlib

import pytest

from certify_zk import transcript as module
from certify_zk.field import P
from certify_zk.transcript import Transcript

VECTORS = {
    "start": "362f37301c12eb944196c3dab0f51e7c36eb110b4d9133a79cd38a28d38e5fcc",
    "said": "7eca776db75701c1ec0c0afb130533c79f088fa5a2d2bbf7a87b18cc8be12e4c",
    "element": "6e7a85e0c34042e97106c2049a786e984551a7e55ddce1bf06421174048c33ce",
    "gamma": ["0a19f1a9ad399a21", "e995cfbe2792347b", "efb715fef9221b1c", "0858ab3ab19c0cbf", "c9b0cbae0828c4e8", "7e561b1173ba373d"],
    "after gamma": "b95cfd080e0fda6ae51bbf7ff7f53b3ab446c89a596e9c5a9030ae526598cc0a",
    "columns": [97493, 6563, 108847, 115679, 126874, 128477, 36831, 110316, 2749],
    "end": "42c71f943e0af4a6d0a22bc72e2ef7f0bcd04c25f0d7b14efbb2fb8508a8e8a5",
}
SAID = [("protocol", b"certify/argument 1"), ("policy", b"{}"), ("claim", b'{"kind":"private-robust"}'), ("roots", bytes(range(64))), ("empty", b"")]


def _chain(state: bytes, label: bytes, data: bytes) -> bytes:
    return hashlib.sha256(state + len(label).to_bytes(4, "big") + label + len(data).to_bytes(8, "big") + data).digest()


def _spoken(said: list[tuple[str, bytes]]) -> Transcript:
    transcript = Transcript()
    for label, data in said:
        transcript.absorb(label, data)
    return transcript


def test_states_and_challenges_are_those_written_down() -> None:
    transcript = Transcript()
    assert transcript.state.hex() == VECTORS["start"]
    for label, data in SAID:
        transcript.absorb(label, data)
    assert transcript.state.hex() == VECTORS["said"]
    transcript.element("value", (1, P - 1))
    assert transcript.state.hex() == VECTORS["element"]
    assert [f"{word:016x}" for element in transcript.elements("gamma", 2, 3) for word in element] == VECTORS["gamma"]
    assert transcript.state.hex() == VECTORS["after gamma"]
    assert transcript.indices("columns", 9, 1 << 17) == VECTORS["columns"]
    assert transcript.state.hex() == VECTORS["end"]


def test_the_construction_is_the_written_one() -> None:
    state = hashlib.sha256(b"certify/argument/1").digest()
    for label, data in SAID:
        state = _chain(state, label.encode(), data)
    transcript = _spoken(SAID)
    assert transcript.state == state
    for counter in range(3):
        state = _chain(state, b"challenge/gamma", counter.to_bytes(8, "big"))
        stream = b"".join(hashlib.sha256(state + b"x" + i.to_bytes(4, "big")).digest() for i in range(8))
        words = [int.from_bytes(stream[i : i + 8], "little") for i in range(0, len(stream), 8)]
        assert max(words) < P  # none of these happens to be passed over
        assert transcript.elements("gamma", 7, 2) == [(words[2 * i], words[2 * i + 1]) for i in range(7)]
        assert transcript.state == state


def test_words_of_p_or_more_are_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    words = [P, 5, (1 << 64) - 1, P - 1, P + 1, 0, 7]
    monkeypatch.setattr(module, "_stream", lambda state: iter(words))
    assert Transcript().elements("gamma", 2, 2) == [(5, P - 1), (0, 7)]
    assert Transcript().indices("columns", 4, 4) == [P % 4, 1, 3, (P - 1) % 4]


@pytest.mark.parametrize("place", range(len(SAID)))
def test_every_absorb_changes_all_that_is_drawn_later(place: int) -> None:
    label, data = SAID[place]
    honest = _spoken(SAID)
    drawn = [honest.elements("a", 1, 2), honest.indices("b", 4, 1 << 32), honest.elements("a", 1, 2)]
    changes = [SAID[:place] + SAID[place + 1 :], [*SAID[:place], (label + "2", data), *SAID[place + 1 :]],
               [*SAID[:place], (label, data + b"\x00"), *SAID[place + 1 :]], [*SAID[:place], (label, data), *SAID[place:]]]
    for bit in range(8 * len(data)):
        flipped = bytearray(data)
        flipped[bit // 8] ^= 1 << bit % 8
        changes.append([*SAID[:place], (label, bytes(flipped)), *SAID[place + 1 :]])
    for change in changes:
        other = _spoken(change)
        again = [other.elements("a", 1, 2), other.indices("b", 4, 1 << 32), other.elements("a", 1, 2)]
        assert all(x != y for x, y in zip(drawn, again, strict=True))


def test_labels_and_data_do_not_run_into_each_other() -> None:
    states = {_spoken(said).state for said in ([("ab", b"c")], [("a", b"bc")], [("abc", b"")], [("ab", b""), ("c", b"")], [("a", b""), ("b", b"c")])}
    assert len(states) == 5


def test_challenges_of_one_label_differ_and_are_bound() -> None:
    one, two = _spoken(SAID), _spoken(SAID)
    first = one.elements("a", 3, 2)
    assert one.elements("a", 3, 2) != first
    two.elements("b", 3, 2)
    assert two.elements("a", 3, 2) != first and one.state != two.state


def test_a_challenge_that_is_not_read_is_part_of_the_transcript() -> None:
    one, two = Transcript(), Transcript()
    one.elements("a", 0, 2)
    assert one.state != two.state


def test_indices_are_drawn_below_powers_of_two_only() -> None:
    for size in (0, -4, 3, 6, 1 << 65):
        with pytest.raises(ValueError, match="power of two"):
            Transcript().indices("columns", 1, size)
    assert Transcript().indices("columns", 5, 1) == [0] * 5
    assert set(Transcript().indices("columns", 200, 8)) == set(range(8))
