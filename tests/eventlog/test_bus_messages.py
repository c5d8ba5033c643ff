"""What peers say: whatever bytes come, they are a checked request or a refusal, never a crash and never a bad line."""

from __future__ import annotations

import contextlib

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eventlog.bus_messages import (
    Answer,
    BadRequest,
    Kind,
    Status,
    pack_answer,
    pack_append,
    pack_hello,
    pack_plain,
    unpack_answer,
    unpack_request,
)
from eventlog.envelope import MAX_EVENT, decode_lines, encode, with_seq
from eventlog.schemas.conversation import MessageRecorded
from tests.eventlog.conftest import line

PRODUCER = bytes(range(16))
GOOD = line("good")


def test_requests_come_out_as_they_went_in() -> None:
    """If this failed, producer and recorder would not understand each other."""
    lines = [line(str(n)) for n in range(3)]
    assert unpack_request(pack_append(PRODUCER, 7, lines)) == (Kind.APPEND, PRODUCER, 7, lines, 0)
    assert unpack_request(pack_hello(PRODUCER, 4321)) == (Kind.HELLO, PRODUCER, 0, (), 4321)
    for kind in (Kind.FINISH, Kind.STATUS, Kind.BYE):
        assert unpack_request(pack_plain(kind, PRODUCER))[:2] == (kind, PRODUCER)


@given(st.sampled_from(Status), st.integers(0, 2**64 - 1), st.integers(0, 2**32 - 1), st.text())
def test_answers_come_out_as_they_went_in(status: Status, seq: int, duplicates: int, text: str) -> None:
    """If this failed, a producer would take a wrong seq or outcome for its events."""
    answer = Answer(status, seq, seq, duplicates, text)
    if not any(0xD800 <= ord(c) < 0xE000 for c in text):
        assert unpack_answer(pack_answer(answer)) == answer


def envelope(**changes: object) -> bytes:
    """A good event's line with some keys changed; None removes one."""
    plain = {**orjson.loads(GOOD), **changes}
    return orjson.dumps({k: v for k, v in plain.items() if v is not ...})


DEEP = b'{"a":' * 400 + b"1" + b"}" * 400
BAD_LINES = {
    "empty": b"",
    "no object": b"[1]",
    "empty object": b"{}",
    "not JSON": GOOD[:-1],
    "two objects": GOOD + GOOD,
    "leading blank": b" " + GOOD,
    "carries its own seq": envelope(seq=1),
    "unknown key": envelope(more=1),
    "no data": envelope(data=...),
    "data is no object": envelope(data=[1]),
    "mono is text": envelope(mono="1"),
    "trial is a number": envelope(trial=1),
    "invalid UTF-8": GOOD.replace(b"good", b"\xff\xfe"),
    "lone surrogate": GOOD.replace(b"good", b"\\ud800"),
    "NaN": GOOD.replace(b'"good"', b"NaN"),
    "too deep": GOOD.replace(b'"good"', DEEP),
    "far too deep": GOOD.replace(b'"good"', b"[" * 30000 + b"]" * 30000),
    "too long": GOOD.replace(b"good", b"x" * MAX_EVENT),
}


@pytest.mark.parametrize("name", BAD_LINES)
@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_request_with_a_bad_line_is_refused_whole(name: str, place: int) -> None:
    """If this failed, one producer's bug would make a whole frame unreadable for everybody."""
    lines = [GOOD, GOOD]
    lines.insert(place, BAD_LINES[name])
    with pytest.raises(BadRequest):
        unpack_request(pack_append(PRODUCER, 1, lines))


def test_lines_that_are_only_right_together_are_refused() -> None:
    """If this failed, an object spread over two lines could hide behind two objects on one line."""
    halves = [b'{"id":[1', b"2]}", GOOD + b"," + GOOD]
    with pytest.raises(BadRequest):
        unpack_request(pack_append(PRODUCER, 1, halves))


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"\x01",
        b"\x02" + pack_plain(Kind.STATUS)[1:],
        b"\x01\x63" + pack_plain(Kind.STATUS)[2:],
        pack_plain(Kind.FINISH) + b"x",
        pack_hello(PRODUCER, 1)[:-1],
        pack_append(PRODUCER, 0, [GOOD]),
        pack_append(PRODUCER, 2**63, [GOOD]),
        pack_append(PRODUCER, 1, []),
        pack_append(PRODUCER, 1, [GOOD, GOOD])[:-1] + b"\n",
        pack_append(PRODUCER, 1, [GOOD]) + b"\n",
    ],
)
def test_what_is_no_request_is_refused(raw: bytes) -> None:
    """If this failed, a recorder would act on what nobody asked."""
    with pytest.raises(BadRequest):
        unpack_request(raw)


@given(st.binary(max_size=400))
def test_any_bytes_are_a_request_or_refused(raw: bytes) -> None:
    """If this failed, some bytes would crash the recorder."""
    with contextlib.suppress(BadRequest):
        assert unpack_request(raw).kind in Kind


@given(st.data())
def test_a_damaged_request_never_gives_lines_that_cannot_be_read(data: st.DataObject) -> None:
    """If this failed, a flipped byte would be stored as a line that readers refuse."""
    raw = bytearray(pack_append(PRODUCER, 1, [GOOD, line("second", trial="0001")]))
    for _ in range(data.draw(st.integers(1, 4))):
        raw[data.draw(st.integers(30, len(raw) - 1))] = data.draw(st.integers(0, 255))
    try:
        lines = unpack_request(bytes(raw)).lines
    except BadRequest:
        return
    content = b"".join(with_seq(one, n) + b"\n" for n, one in enumerate(lines, 1))
    assert [event.seq for event in decode_lines(content)] == list(range(1, len(lines) + 1))


def test_the_deepest_that_the_envelope_writes_is_taken() -> None:
    """If this failed, the recorder would refuse what a producer's own library made."""
    value: object = "x"
    for _ in range(260):
        value = [value]
    for wrapped in (value, {"k": value}, {1: value}):
        made = encode(MessageRecorded(role="user", text=wrapped), source="t", trial=None, blobs=None)
        assert unpack_request(pack_append(PRODUCER, 1, [made])).lines == [made]
