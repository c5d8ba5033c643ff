"""One event, one line of JSON.

    {"seq":7,"id":"0190…","time":"2026-11-30T19:38:06.123456789Z","mono":81234567,
     "type":"trial.started","v":1,"source":"engine","trial":"0001","data":{…}}

A producer makes the line without `seq`; the stream's writer puts `seq` in front. A line holds at
most `MAX_EVENT` bytes: larger payloads are moved to blobs and the event carries digest, size and head.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import msgspec
import orjson

from eventlog import clock
from eventlog.errors import BadEvent
from eventlog.escape import LONG, is_plain, json_bytes, unescape
from eventlog.schemas.base import EventData
from eventlog.spill import fitted_json

if TYPE_CHECKING:
    from eventlog.blobs import BlobStore

#: Largest line, in bytes, with room for `seq`.
MAX_EVENT = 64 * 1024
_ROOM = MAX_EVENT - 64
#: Most bytes that the source or the trial may take of it.
_MAX_LABEL = 8 * 1024


class Event(msgspec.Struct, frozen=True, gc=False):
    """An event as it was read: escapes undone, large payloads still `{"$blob": …}`."""

    seq: int
    id: str
    time: str
    mono: int
    type: str
    v: int
    source: str
    trial: str | None
    data: dict[str, Any]


_decoder = msgspec.json.Decoder(Event)
_TEXTS = {"str", "str | None"}
_SAFE = {"int", "bool", "int | None", "bool | None", "list[str]", "dict[str, int]"}
_fields_of: dict[type, tuple[tuple[str, ...], tuple[str, ...]]] = {}


def _searched(cls: type[EventData]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Names of the fields that can be a long text, and of those that can hold what JSON cannot."""
    known = _fields_of.get(cls)
    if known is None:
        hints = inspect.get_annotations(cls)
        texts = tuple(n for n in cls.__struct_fields__ if hints.get(n) in _TEXTS)
        loose = tuple(n for n in cls.__struct_fields__ if hints.get(n) not in _TEXTS | _SAFE)
        known = _fields_of[cls] = texts, loose
    return known


def _default(value: Any) -> Any:
    """What orjson asks for: structs and bytes, which `is_plain` lets pass."""
    if isinstance(value, msgspec.Struct):
        return msgspec.structs.asdict(value)
    if isinstance(value, bytes):
        return orjson.Fragment(json_bytes(value))
    raise TypeError(f"an event cannot hold a {type(value).__name__}")


def _plain_json(data: EventData) -> bytes | None:
    """The JSON of what needs no care, which is nearly everything; None for the rest."""
    fields = msgspec.structs.asdict(data)
    texts, loose = _searched(type(data))
    try:
        for name in texts:
            text = fields[name]
            if text is not None and (type(text) is not str or len(text) > LONG):
                return None
        for name in loose:
            if not is_plain(fields[name]):
                return None
        return orjson.dumps(fields, default=_default)
    except (TypeError, RecursionError):
        return None  # surrogates and huge integers, or a full stack: the slow form, a loop, takes them


@lru_cache(maxsize=1024)
def _label(name: str, text: str) -> str:
    """JSON of an event's source or trial. Raises BadEvent: nothing here is escaped."""
    try:
        written = orjson.dumps(text)
    except TypeError:
        written = b""
    if not written.startswith(b'"'):
        raise BadEvent(f"{name} {text!r:.200} is not valid text; an event cannot be recorded under it")
    if len(written) > _MAX_LABEL:
        raise BadEvent(f"{name} {text[:40]!r}… is {len(written)} bytes long; {_MAX_LABEL} are possible")
    return written.decode()


def encode(
    data: EventData,
    *,
    source: str,
    trial: str | None,
    blobs: BlobStore | None,
    wall: Callable[[], int] = clock.wall_ns,
    mono: Callable[[], int] = clock.mono_ns,
) -> bytes:
    """The event's line without `seq`, at most `MAX_EVENT` bytes; large payloads are in `blobs` by then.

    Raises BadEvent when `data` holds something that is not JSON, bytes or a schema's struct, when it is too
    large and `blobs` is None, when `source` or `trial` is no valid text, and when the wall clock shows no year
    from 1 to 9999. OSError of the blob store passes through.
    """
    import uuid_utils

    now = wall()
    try:
        time = clock.rfc3339(now)
    except ValueError as error:
        raise BadEvent(f"event {data.type} cannot be written: {error}; set the machine's clock") from None
    written_trial = "null" if trial is None else _label("trial", trial)
    head = (
        f'{{"id":"{uuid_utils.uuid7()}","time":"{time}","mono":{mono()},"type":"{data.type}","v":{data.v},'
        f'"source":{_label("source", source)},"trial":{written_trial},"data":'
    ).encode()
    body = _plain_json(data)
    if body is None or len(head) + len(body) > _ROOM:
        body = fitted_json(data, _ROOM - len(head) - 1, blobs)
    return head + body + b"}"


def with_seq(line: bytes, seq: int) -> bytes:
    """Put `seq` in front of a producer's line."""
    return b'{"seq":%d,%s' % (seq, line[1:])


def decode_lines(content: bytes) -> list[Event]:
    """All events of a frame's content. Raises msgspec.DecodeError when a line is not an event."""
    try:
        events = _decoder.decode_lines(content)
    except RecursionError:
        raise msgspec.DecodeError("a line is nested deeper than any that hemra writes") from None
    if b'{"$' not in content:
        return events
    return [msgspec.structs.replace(e, data=_unescaped(e.data)) for e in events]


def _unescaped(data: dict[str, Any]) -> dict[str, Any]:
    return {name: unescape(value) for name, value in data.items()}
