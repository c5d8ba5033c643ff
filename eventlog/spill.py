"""The slow form of an event: values that JSON cannot hold are escaped, what does not fit the line goes to blobs.

The longest texts, bytes and deep structures go first, each as a blob of its own. Where that would take more than
`MAX_PARTS` of them, or is not enough, whole fields go, each as one blob of JSON.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import orjson

from eventlog.errors import BadEvent
from eventlog.escape import LONG, Apart, shown, walk
from eventlog.schemas.base import EventData

if TYPE_CHECKING:
    from eventlog.blobs import BlobRef, BlobStore

#: Payloads below this stay in the event even when it must shrink.
SPILL_FROM = 2048
#: Each blob is a file that is synced: an event of thousands of texts would take minutes.
MAX_PARTS = 50
#: A part above this has its own blob also in a field that goes as a whole.
_HUGE = 1 << 20
_HEAD = 512
#: About what is left in the line of a payload that moved.
_REFERENCE = 700
_PIECE = 1 << 20


def fitted_json(data: EventData, room: int, blobs: BlobStore | None) -> bytes:
    """JSON of `data` in at most `room` bytes; what does not fit is in `blobs`.

    Raises BadEvent when `data` holds what no event can, or does not fit and `blobs` is None. OSError passes.
    """
    try:
        fields = [_Field(name, getattr(data, name)) for name in data.__struct_fields__]
        while (over := sum(field.size + 1 for field in fields) + 1 - room) > 0:
            if blobs is None:
                raise BadEvent(
                    f"event {data.type} is larger than the {room} bytes it may have, and there is no blob store"
                )
            parts = _parts_to_move(fields, over)
            for part in parts:
                part.move(blobs)
            if not parts:
                _largest(fields, data.type).move(blobs)
        return b"{%s}" % b",".join(b"".join(field.json()) for field in fields)
    except TypeError as error:
        raise BadEvent(f"event {data.type} cannot be written: {error}") from error


class _Part:
    """A text, bytes or deep structure that can stand in the line or move to a blob."""

    def __init__(self, apart: Apart) -> None:
        self._apart = apart
        #: Its JSON in the line; None for what fits no line in any case and is better not copied.
        self.json = None if not apart.deep and len(apart.value) > LONG else apart.json()
        self.length = len(self.json if apart.deep and self.json else apart.value)
        self.moved = False

    @property
    def size(self) -> int:
        """Bytes it takes in the line, or would take at least."""
        return self.length if self.json is None else len(self.json)

    def inline(self) -> bytes:
        """Its JSON, whatever its length."""
        return self._apart.json() if self.json is None else self.json

    def move(self, blobs: BlobStore) -> None:
        """Put the content into a blob and a reference in its place."""
        value: Any = self._apart.value
        if self._apart.deep:
            content = self.inline()
            self.json = _reference(_stored([content], blobs), "json", _json_head([content]))
        elif isinstance(value, str):
            self.json = _reference(_stored(_encoded(value), blobs), "text", shown(value[:_HEAD]))
        else:
            head = value[:_HEAD].decode("utf-8", "replace")
            self.json = _reference(_stored(_sliced(value), blobs), "bytes", head)
        self.moved = True


class _Field:
    """One field of the event, written but for its parts."""

    def __init__(self, name: str, value: Any) -> None:
        self.moved = False
        self._name = b"%s:" % orjson.dumps(name)
        self._pieces: list[bytes | _Part] = []
        text = bytearray()
        for piece in walk(value, apart_from=SPILL_FROM):
            if isinstance(piece, bytes):
                text += piece
                continue
            self._pieces += [bytes(text), _Part(piece)]
            text.clear()
        self._pieces.append(bytes(text))

    @property
    def size(self) -> int:
        """Bytes it takes in the line."""
        return len(self._name) + sum(p.size if isinstance(p, _Part) else len(p) for p in self._pieces)

    @property
    def movable(self) -> bool:
        """Whether moving it as a whole makes the event smaller."""
        only = self._only_part()
        return not self.moved and not (only and only.moved) and self.size >= SPILL_FROM

    def _only_part(self) -> _Part | None:
        """The part that the whole value is."""
        first, *rest = [p for p in self._pieces if p] or [b""]
        return first if isinstance(first, _Part) and not rest else None

    def parts(self) -> Iterator[_Part]:
        """The parts that can still move."""
        return (p for p in self._pieces if isinstance(p, _Part) and not p.moved)

    def json(self) -> Iterator[bytes]:
        """Name and value as they stand in the line."""
        yield self._name
        yield from self._content()

    def _content(self) -> Iterator[bytes]:
        return (p.inline() if isinstance(p, _Part) else p for p in self._pieces)

    def move(self, blobs: BlobStore) -> None:
        """Put the whole value into one blob."""
        only = self._only_part()
        if only is not None:
            only.move(blobs)
        else:
            for part in self.parts():
                if part.length > _HUGE:
                    part.move(blobs)
            reference = _reference(_stored(self._content(), blobs), "json", _json_head(self._content()))
            self._pieces = [reference]
        self.moved = True


def _parts_to_move(fields: list[_Field], over: int) -> list[_Part]:
    """The longest parts, as many as make the event `over` bytes smaller; none when that takes too many."""
    chosen = []
    movable = [p for field in fields for p in field.parts() if p.length >= SPILL_FROM]
    for part in sorted(movable, key=lambda p: p.length, reverse=True):
        chosen.append(part)
        over -= part.size - _REFERENCE
        if over <= 0 or len(chosen) > MAX_PARTS:
            break
    return chosen if over <= 0 and len(chosen) <= MAX_PARTS else []


def _largest(fields: list[_Field], kind: str) -> _Field:
    """The largest field that can still move. Raises BadEvent when there is none."""
    movable = [field for field in fields if field.movable]
    if not movable:
        raise BadEvent(f"event {kind} has too many fields to fit its line")
    return max(movable, key=lambda field: field.size)


def _reference(ref: BlobRef, kind: str, head: str) -> bytes:
    return orjson.dumps({"$blob": ref.digest, "size": ref.size, "kind": kind, "head": head})


def _json_head(content: Iterable[bytes]) -> str:
    head = b""
    for piece in content:
        head += piece[:_HEAD]
        if len(head) >= _HEAD:
            break
    return head[:_HEAD].decode("utf-8", "ignore")


def _encoded(text: str) -> Iterator[bytes]:
    for start in range(0, len(text), _PIECE):
        yield text[start : start + _PIECE].encode("utf-8", "surrogatepass")


def _sliced(content: bytes) -> Iterator[bytes]:
    for start in range(0, len(content), _PIECE):
        yield content[start : start + _PIECE]


def _stored(content: Iterable[bytes], blobs: BlobStore) -> BlobRef:
    """A blob of the pieces of `content`, of which at most one and what is not written yet are in memory."""
    pending = bytearray()
    writer = None
    try:
        for piece in content:
            pending += piece
            if len(pending) > _PIECE:
                writer = writer or blobs.writer()
                writer.write(bytes(pending))
                pending.clear()
        if writer is None:
            return blobs.put(bytes(pending))
        writer.write(bytes(pending))
        return writer.commit()
    except BaseException:
        if writer is not None:
            writer.abort()
        raise
