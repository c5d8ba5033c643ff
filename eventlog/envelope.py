"""One event, one line of JSON.

    {"seq":7,"id":"0190…","time":"2026-11-30T19:38:06.123456789Z","mono":81234567,
     "type":"trial.started","v":1,"source":"engine","trial":"0001","data":{…}}

A producer makes the line without `seq`; the stream's writer puts `seq` in front. A line holds at
most `MAX_EVENT` bytes: larger payloads are moved to blobs and the event carries digest, size and head.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import msgspec
import orjson

from eventlog import clock
from eventlog.errors import BadEvent
from eventlog.escape import Blob, escape, needs_escape, plain_keys, shown, too_deep, unescape
from eventlog.schemas.base import EventData

if TYPE_CHECKING:
    from eventlog.blobs import BlobStore

#: Largest line, in bytes, with room for `seq`.
MAX_EVENT = 64 * 1024
_ROOM = MAX_EVENT - 64
#: Payloads below this stay in the event even when it must shrink.
_SPILL_FROM = 2048
_HEAD_CHARS = 512


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
_SAFE = {
    "str", "int", "bool", "str | None", "int | None", "bool | None", "list[str]", "dict[str, int]",
}  # fmt: skip
_loose_fields: dict[type, tuple[str, ...]] = {}


def _loose(cls: type[EventData]) -> tuple[str, ...]:
    """Names of the fields whose values must be searched for what JSON cannot hold."""
    known = _loose_fields.get(cls)
    if known is None:
        hints = inspect.get_annotations(cls)
        known = tuple(n for n in cls.__struct_fields__ if hints.get(n) not in _SAFE)
        _loose_fields[cls] = known
    return known


def _default(value: Any) -> Any:
    if isinstance(value, msgspec.Struct):
        return msgspec.structs.asdict(value)
    if isinstance(value, bytes | bytearray | memoryview):
        return escape(value)
    raise TypeError(f"an event cannot hold a {type(value).__name__}")


def _data_json(data: EventData) -> bytes:
    fields = msgspec.structs.asdict(data)
    try:
        if not any(needs_escape(fields[name]) for name in _loose(type(data))):
            return orjson.dumps(fields, default=_default)
    except (TypeError, RecursionError):
        pass  # orjson refuses surrogates, huge integers, odd keys and depth: the slow form keeps them
    try:
        return orjson.dumps({name: escape(value) for name, value in fields.items()})
    except TypeError as error:
        raise BadEvent(f"event {data.type} cannot be written: {error}") from error


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

    Raises BadEvent when `data` holds something that is not JSON, bytes or a schema's struct, or when
    it is too large and `blobs` is None. OSError of the blob store passes through.
    """
    import uuid_utils

    head = b'{"id":"%s","time":"%s","mono":%d,"type":"%s","v":%d,"source":%s,"trial":%s,"data":' % (
        str(uuid_utils.uuid7()).encode(),
        clock.rfc3339(wall()).encode(),
        mono(),
        data.type.encode(),
        data.v,
        orjson.dumps(source),
        b"null" if trial is None else orjson.dumps(trial),
    )
    body = _data_json(data)
    if len(head) + len(body) > _ROOM:
        body = _spill(data, _ROOM - len(head) - 1, blobs)
    return head + body + b"}"


def with_seq(line: bytes, seq: int) -> bytes:
    """Put `seq` in front of a producer's line."""
    return b'{"seq":%d,%s' % (seq, line[1:])


def _spill(data: EventData, room: int, blobs: BlobStore | None) -> bytes:
    """JSON of `data` within `room` bytes: the largest texts go to blobs first, then whole fields."""
    if blobs is None:
        raise BadEvent(f"event {data.type} is larger than {MAX_EVENT} bytes and there is no blob store")
    fields: dict[str, Any] = {
        name: _Spilled(_json_blob(escape(value), blobs)) if too_deep(value) else _mutable(value)
        for name, value in msgspec.structs.asdict(data).items()
    }
    while len(body := _fields_json(fields)) > room:
        place = max(_leaves(fields), key=lambda leaf: leaf[0], default=None)
        if place is not None and place[0] >= _SPILL_FROM:
            _, parent, key = place
            parent[key] = _Spilled(_to_blob(parent[key], blobs))
            continue
        name = max((n for n in fields if not isinstance(fields[n], _Spilled)),
                   key=lambda n: len(_fields_json({n: fields[n]})), default=None)  # fmt: skip
        if name is None:
            raise BadEvent(f"event {data.type} has too many fields to fit {MAX_EVENT} bytes")
        fields[name] = _Spilled(_json_blob(_plain(fields[name]), blobs))
    return body


class _Spilled:
    """A payload that is in a blob already."""

    __slots__ = ("ref",)

    def __init__(self, ref: dict[str, Any]) -> None:
        self.ref = ref


def _mutable(value: Any) -> Any:
    if isinstance(value, msgspec.Struct):
        return {name: _mutable(getattr(value, name)) for name in value.__struct_fields__}
    if isinstance(value, dict):
        return {k: _mutable(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_mutable(v) for v in value]
    return value


def _plain(value: Any) -> Any:
    """Escaped form of a value in which some parts are spilled already."""
    if isinstance(value, _Spilled):
        return value.ref
    if isinstance(value, dict) and plain_keys(value):
        return {k: _plain(v) for k, v in value.items()}
    if isinstance(value, dict):
        return {"$pairs": [[escape(k), _plain(v)] for k, v in value.items()]}
    if isinstance(value, list):
        return [_plain(v) for v in value]
    return escape(value)


def _fields_json(fields: dict[str, Any]) -> bytes:
    return orjson.dumps({name: _plain(value) for name, value in fields.items()})


def _leaves(value: Any) -> Iterator[tuple[int, Any, Any]]:
    """(size, parent, key) of every text and bytes below `value`."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, child in items:
        if isinstance(child, str | bytes | bytearray):
            yield len(child), value, key
        elif isinstance(child, dict | list):
            yield from _leaves(child)


def _json_blob(plain: Any, blobs: BlobStore) -> dict[str, Any]:
    content = orjson.dumps(plain)
    ref = blobs.put(content)
    head = content[:_HEAD_CHARS].decode("utf-8", "ignore")
    return {"$blob": ref.digest, "size": ref.size, "kind": "json", "head": head}


def _to_blob(value: str | bytes, blobs: BlobStore) -> dict[str, Any]:
    if isinstance(value, str):
        raw, kind, head = value.encode("utf-8", "surrogatepass"), "text", shown(value[:_HEAD_CHARS])
    else:
        raw, kind, head = bytes(value), "bytes", bytes(value[:_HEAD_CHARS]).decode("utf-8", "replace")
    ref = blobs.put(raw)
    return {"$blob": ref.digest, "size": ref.size, "kind": kind, "head": head}


def decode_lines(content: bytes) -> list[Event]:
    """All events of a frame's content. Raises msgspec.DecodeError when a line is not an event."""
    events = _decoder.decode_lines(content)
    if b'{"$' not in content:
        return events
    return [msgspec.structs.replace(e, data=unescape(e.data)) for e in events]


def blob_refs(value: Any) -> Iterator[str]:
    """Digests of every blob that a decoded value names in place of a payload."""
    if isinstance(value, Blob):
        yield value["$blob"]
    elif isinstance(value, dict):
        for child in value.values():
            yield from blob_refs(child)
    elif isinstance(value, list):
        for child in value:
            yield from blob_refs(child)


def event_blobs(event: Event) -> set[str]:
    """Every blob an event needs: moved-out payloads and stored artifacts."""
    found = set(blob_refs(event.data))
    if event.type == "artifact.stored":
        found.add(event.data["blob"])
    return found
