"""What producers and the recorder say to each other: a fixed head, then event lines or JSON. Little-endian.

    request  u8 version · u8 kind · 16s producer · u64 first number · u32 count · lines joined by \\n
    answer   u8 version · u8 status · u64 first seq · u64 last seq · u32 duplicates · text (UTF-8)

| kind | producer | body | answer |
|---|---|---|---|
| hello | the holder's id | u32 process id | text: JSON about the recorder |
| append | producer | event lines without `seq` | seqs of what is durable now |
| finish | any | none | after everything is sealed |
| status | any | none | text: JSON about the recorder |
| bye | the holder's id | none | empty |

What a peer sends is checked before any of it is stored, so that no producer can make a segment unreadable.
"""

from __future__ import annotations

import operator
import struct
from collections.abc import Sequence
from enum import IntEnum
from typing import Any, NamedTuple

import msgspec

from eventlog.envelope import MAX_EVENT

VERSION = 1
_HEAD = struct.Struct("<BB16sQI")
_ANSWER = struct.Struct("<BBQQI")
_PID = struct.Struct("<I")
#: What `envelope.encode` writes is nested less than this; readers need not take more.
_MAX_DEPTH = 300
_MAX_NUMBER = 1 << 62


class Kind(IntEnum):
    """What a request asks for."""

    HELLO = 1
    APPEND = 2
    FINISH = 3
    STATUS = 4
    BYE = 5


class Status(IntEnum):
    """What became of a request."""

    OK = 0
    #: The disk would not take it: nothing of it is stored; it may be sent again.
    NO_ROOM = 1
    #: It is not a request, or its events are not events: sending it again will not help.
    BAD = 2
    #: The recorder is ending; the request was not looked at.
    CLOSING = 3


_APPEND = int(Kind.APPEND)  # comparing plain numbers is what the recorder does most
_STATUSES = {int(status): status for status in Status}


class BadRequest(Exception):
    """What a peer sent is not a request of this version; the text goes back to it."""


class Request(NamedTuple):
    """A checked request. `pid` is only meant in a hello."""

    kind: Kind
    producer: bytes
    first: int
    lines: Sequence[bytes]
    pid: int


class Answer(NamedTuple):
    """A recorder's answer. Seqs are 0 where nothing new was recorded."""

    status: Status
    first: int = 0
    last: int = 0
    duplicates: int = 0
    text: str = ""


class _Line(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """An event's line as a producer sends it: all of the envelope but `seq`."""

    id: str
    time: str
    mono: int
    type: str
    v: int
    source: str
    trial: str | None
    data: dict[str, Any]


_line_decoder = msgspec.json.Decoder(_Line)
_beginning = operator.itemgetter(slice(0, 2))


def pack_append(producer: bytes, first: int, lines: Sequence[bytes]) -> bytes:
    """A request to record `lines`, the producer's events number `first` and following."""
    return _HEAD.pack(VERSION, Kind.APPEND, producer, first, len(lines)) + b"\n".join(lines)


def pack_hello(holder: bytes, pid: int) -> bytes:
    """A request to keep the recorder running as long as process `pid` lives or until its bye."""
    return _HEAD.pack(VERSION, Kind.HELLO, holder, 0, 0) + _PID.pack(pid)


def pack_plain(kind: Kind, holder: bytes = b"\0" * 16) -> bytes:
    """A finish, status or bye."""
    return _HEAD.pack(VERSION, kind, holder, 0, 0)


def unpack_request(raw: bytes) -> Request:
    """Check and take apart what a peer sent. Raises BadRequest for everything that is not right."""
    if len(raw) < _HEAD.size:
        raise BadRequest(f"a request of {len(raw)} bytes is too short")
    version, kind, producer, first, count = _HEAD.unpack_from(raw)
    if version != VERSION:
        raise BadRequest(f"the recorder speaks version {VERSION} of the bus protocol, the producer {version}")
    body = raw[_HEAD.size :]
    if kind == _APPEND:
        return Request(Kind.APPEND, producer, first, _checked_lines(first, count, body), 0)
    if kind == Kind.HELLO and len(body) == _PID.size:
        return Request(Kind.HELLO, producer, 0, (), _PID.unpack(body)[0])
    if kind in (Kind.FINISH, Kind.STATUS, Kind.BYE) and not body:
        return Request(Kind(kind), producer, 0, (), 0)
    raise BadRequest(f"a request of kind {kind} with {len(body)} bytes is not known")


def _checked_lines(first: int, count: int, body: bytes) -> list[bytes]:
    lines = body.split(b"\n")
    if not count or len(lines) != count or not 0 < first <= _MAX_NUMBER:
        raise BadRequest(f"{count} events from number {first} were announced, {len(lines)} lines came")
    if count == 1 or not _all_plain(lines, body):
        for index, line in enumerate(lines):
            _check_line(first + index, line)
    return lines


def _all_plain(lines: list[bytes], body: bytes) -> bool:
    """Whether nothing is wrong with any of the lines; found without looking at each by itself. A line that is not
    plain may still be right."""
    # The writer puts `seq` after the brace, so the brace must be the first byte and something must follow.
    if max(map(len, lines)) > MAX_EVENT or set(map(_beginning, lines)) != {b'{"'}:
        return False
    try:
        events = _line_decoder.decode_lines(body)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        return False
    return len(events) == len(lines) and not any(map(_may_be_deep, lines))


def _may_be_deep(line: bytes) -> bool:
    """Whether there are brackets enough for too many levels; two bytes a level are the least."""
    return len(line) > 2 * _MAX_DEPTH and line.count(b"[") + line.count(b"{") > _MAX_DEPTH


def _check_line(number: int, line: bytes) -> None:
    """Raises BadRequest for a line that is no event."""
    if line[:2] != b'{"' or len(line) > MAX_EVENT:
        raise BadRequest(f"event {number} is not one line of JSON of at most {MAX_EVENT} bytes")
    try:
        data = _line_decoder.decode(line).data
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise BadRequest(f"event {number} does not read as an event: {error}") from None
    if _may_be_deep(line) and _deeper_than(data, _MAX_DEPTH):
        raise BadRequest(f"event {number} is nested more than {_MAX_DEPTH} levels deep")


def _deeper_than(value: Any, levels: int) -> bool:
    """Whether `value` has more than `levels` levels of objects and arrays; found without recursion."""
    level = [value]
    for _ in range(levels):
        level = [child for item in level for child in (item.values() if isinstance(item, dict) else item)
                 if isinstance(child, dict | list)]  # fmt: skip
        if not level:
            return False
    return True


def pack_answer(answer: Answer) -> bytes:
    """An answer as bytes."""
    status, first, last, duplicates, text = answer
    return _ANSWER.pack(VERSION, status, first, last, duplicates) + (
        text.encode("utf-8", "replace") if text else b""
    )


def unpack_answer(raw: bytes) -> Answer:
    """An answer from its bytes. Raises BadRequest when it is none of this version."""
    if len(raw) < _ANSWER.size:
        raise BadRequest("the recorder's answer is too short")
    version, status, first, last, duplicates = _ANSWER.unpack_from(raw)
    known = _STATUSES.get(status)
    if version != VERSION or known is None:
        raise BadRequest(
            f"the recorder answers in version {version} of the bus protocol: restart it with this hemra"
        )
    return Answer(known, first, last, duplicates, raw[_ANSWER.size :].decode("utf-8", "replace"))
