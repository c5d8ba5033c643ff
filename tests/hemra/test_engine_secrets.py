"""Secrets do not reach the record, however they are written."""

from __future__ import annotations

import base64
import itertools
import json
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eventlog.schemas.conversation import ToolCalled
from hemra.secrets import Redactor

KEY = 'sk-te"st/0123+4567\\89é'
PLAIN = "sk-test-0123456789abcdef0123456789abcdef"
LABEL = b"[redacted:FAKE_KEY]"


@pytest.mark.parametrize("value", [KEY, PLAIN, "1234567890123"])
@pytest.mark.parametrize(
    "spell",
    [
        lambda v: v.encode(),
        lambda v: json.dumps({"env": v}).encode(),
        lambda v: json.dumps({v: 1}, ensure_ascii=False).encode(),
        lambda v: f"http://127.0.0.1:9/?api_key={quote(v, safe='')}&x=1".encode(),
        lambda v: base64.b64encode(v.encode() + b"\n"),
        lambda v: base64.b64encode(b"u:" + v.encode()),
        lambda v: base64.b64encode(b"x" + v.encode() + b"yz"),
    ],
)
def test_every_spelling_is_found_at_every_split(value: str, spell) -> None:
    """A key that is echoed in another spelling, or by two writes, would be published with the results."""
    written = spell(value)
    redactor = Redactor({"FAKE_KEY": value})
    whole = redactor.clean_bytes(written)
    assert LABEL in whole
    assert value.encode() not in whole
    for cut in range(len(written) + 1):
        stream = redactor.stream()
        assert stream.feed(written[:cut]) + stream.feed(written[cut:]) + stream.flush() == whole


def test_only_a_possible_beginning_is_held_back() -> None:
    """A prompt without newline would stay invisible in a live view until the harness ends."""
    stream = Redactor({"FAKE_KEY": PLAIN}).stream()
    assert stream.feed(b"password? ") == b"password? "
    assert stream.feed(b"it is sk-te") == b"it is "
    assert stream.feed(b"nnis!") == b"sk-tennis!"
    assert stream.feed(b"sk-") == b""
    assert stream.flush() == b"sk-"


def test_a_longer_secret_wins_over_one_that_begins_it() -> None:
    """The rest of the longer secret would stay readable."""
    stream = Redactor({"A": "abcdefgh", "B": "abcdefghijkl"}).stream()
    assert stream.feed(b"abcdefgh") == b""
    assert stream.feed(b"ijkl") == b"[redacted:B]"
    assert stream.feed(b"abcdefgh") + stream.feed(b"!") == b"[redacted:A]!"


@given(
    st.lists(st.sampled_from([b"abcabcab", b"bcab", b"abcabcabx", b"zz", b"a", b"\xff"]), max_size=12),
    st.lists(st.integers(0, 60), max_size=6),
)
def test_splitting_never_changes_the_result(pieces: list[bytes], cuts: list[int]) -> None:
    """Where a write happened to be split would decide whether a secret is found."""
    data = b"".join(pieces)
    redactor = Redactor({"ONE": "abcabcab", "TWO": "abcabcabx", "THREE": "cabcabca"})
    stream = redactor.stream()
    places = sorted({0, len(data), *(cut for cut in cuts if cut < len(data))})
    parts = [stream.feed(data[a:b]) for a, b in itertools.pairwise(places)]
    single = redactor.stream()
    assert b"".join(parts) + stream.flush() == single.feed(data) + single.flush()


def test_structured_values_stay_structured() -> None:
    """A key as a JSON key, a number or a byte string would slip through, or the JSON would break."""
    redactor = Redactor({"FAKE_KEY": PLAIN, "PIN": "12345678901"})
    called = ToolCalled(
        call="1", name="terminal", arguments={PLAIN: [f"x {PLAIN} y", 12345678901, True, None, 1.5]}, turn=2
    )
    cleaned = redactor.clean_struct(called)
    assert cleaned.arguments == {
        "[redacted:FAKE_KEY]": ["x [redacted:FAKE_KEY] y", "[redacted:PIN]", True, None, 1.5]
    }
    assert redactor.clean_struct(cleaned) is cleaned
    assert redactor.clean(b"\xff" + PLAIN.encode()) == b"\xff" + LABEL
    assert redactor.clean("lone \ud83d " + PLAIN) == "lone \ud83d [redacted:FAKE_KEY]"
    assert redactor.replaced > 0


def test_without_secrets_nothing_is_copied() -> None:
    """Every byte of every harness would be scanned for nothing."""
    redactor = Redactor({})
    data = b"x" * 1000
    assert redactor.stream().feed(data) is data
    assert not redactor
