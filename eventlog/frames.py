"""The format of a segment, and the one walker that reads it.

A segment is a sequence of units; each unit is a zstd *skippable frame* (our header) followed by one
zstd frame of NDJSON. Everything is little-endian.

    header  u32  magic 0x184D2A50 (skippable, ignored by every zstd decoder)
            u32  size of what follows
            4s   tag "HMRA"
            u16  version 1
            u16  flags: 1 = sealed
            8s   stream id
            u64  first seq in the frame
            u32  number of events
            u32  bytes of content (NDJSON, uncompressed)
            u32  bytes of the zstd frame
            u64  synced seq: the last event known to be durable when this header was written
            16s  link of the unit before (zeros at the start of a stream)
            u32  number of producer marks
            n *  (16s producer, u64 number): highest number of each producer that this unit brings
            u32  CRC-32 of all header bytes before it
    frame   zstd, with content size and content checksum

The *link* of a unit is BLAKE2b-128 over its header and frame. zstd alone does not notice a frame that is
missing, doubled or swapped; the links and the dense seq do.

A sealed segment carries after its last unit a trailer (skippable frame 0x184D2A51: tag "HMRT", u16 version,
u16 zero, JSON, u32 CRC-32) and at its very end the seek table of the zstd seekable format (0x184D2A5E).
"""

from __future__ import annotations

import hashlib
import struct
import threading
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import orjson
import zstandard

from eventlog.errors import DamageError

HEADER_MAGIC = 0x184D2A50
TRAILER_MAGIC = 0x184D2A51
SEEK_MAGIC = 0x184D2A5E
SEEK_FOOTER_MAGIC = 0x8F92EAB1
TAG, TRAILER_TAG = b"HMRA", b"HMRT"
VERSION = 1
SEALED = 1
#: Largest content of a live frame: one zstd block, and what DuckDB shows as absent when it is torn.
LIVE_CONTENT = 128 * 1024
#: Content a sealed frame is filled up to.
SEALED_CONTENT = 1024 * 1024
#: No valid frame is larger; a header that claims more is not believed.
MAX_FRAME = 8 * 1024 * 1024
NO_LINK = b"\0" * 16
#: XXH64 of nothing, low 32 bits: the seek table's checksum for skippable frames.
_EMPTY_CHECKSUM = 0x51D8E999

_FIXED = struct.Struct("<II4sHH8sQIIIQ16sI")
_MARK = struct.Struct("<16sQ")
_CRC = struct.Struct("<I")
_MIN_HEADER = _FIXED.size + _CRC.size
_MAX_MARKS = 65536


class _Contexts(threading.local):
    """zstd contexts: each is one thread's own, because libzstd allows no two threads in one at a time."""

    def __init__(self) -> None:
        self.live = zstandard.ZstdCompressor(level=1, write_checksum=True, write_content_size=True)
        self.sealed = zstandard.ZstdCompressor(level=9, write_checksum=True, write_content_size=True)
        self.decompressor = zstandard.ZstdDecompressor()


_zstd = _Contexts()


class Header(NamedTuple):
    """A unit's header. `offset` is where it begins in the file."""

    offset: int
    size: int
    flags: int
    stream: bytes
    first: int
    events: int
    content_len: int
    frame_len: int
    synced: int
    prev: bytes
    marks: dict[bytes, int]

    @property
    def last(self) -> int:
        """Seq of the unit's last event."""
        return self.first + self.events - 1

    @property
    def end(self) -> int:
        """Offset of the first byte after the unit."""
        return self.offset + self.size + self.frame_len


@dataclass(frozen=True, slots=True)
class Unit:
    """One header and its zstd frame, with the link that the next unit must name."""

    header: Header
    frame: bytes
    link: bytes


class Packed(NamedTuple):
    """A unit ready to be written: its bytes are header + frame."""

    header: bytes
    frame: bytes
    link: bytes


class NotAUnit(Exception):
    """What stands at an offset is no whole valid unit (internal to the log; callers decide what it means)."""

    def __init__(self, offset: int, cause: str, *, short: bool, sound: Header | None = None) -> None:
        super().__init__(cause)
        self.offset = offset
        self.cause = cause
        #: The header that stands there, where it is whole and only in the wrong place.
        self.sound = sound
        #: The file ended before the unit did: it may be torn, or still being written.
        self.short = short


def pack_unit(
    content: bytes,
    *,
    stream: bytes,
    first: int,
    count: int,
    synced: int,
    prev: bytes,
    marks: Mapping[bytes, int],
    sealed: bool = False,
) -> Packed:
    """One unit of `count` events. `content` is whole lines, each with its newline."""
    frame = (_zstd.sealed if sealed else _zstd.live).compress(content)
    body_size = _MIN_HEADER + _MARK.size * len(marks) - 8
    head = _FIXED.pack(
        HEADER_MAGIC, body_size, TAG, VERSION, SEALED if sealed else 0, stream,
        first, count, len(content), len(frame), synced, prev, len(marks),
    )  # fmt: skip
    head += b"".join(_MARK.pack(producer, number) for producer, number in marks.items())
    head += _CRC.pack(zlib.crc32(head))
    return Packed(head, frame, link_of(head + frame))


def link_of(unit: bytes) -> bytes:
    """Link of a unit given its bytes (header and frame)."""
    return hashlib.blake2b(unit, digest_size=16).digest()


def read_header(file: BinaryIO, offset: int) -> Header:
    """The header at `offset`. Raises NotAUnit; EOFError exactly at the end of the file."""
    file.seek(offset)
    fixed = file.read(_MIN_HEADER)
    if not fixed:
        raise EOFError
    if len(fixed) < _MIN_HEADER:
        raise NotAUnit(offset, f"{len(fixed)} bytes are too few for a header", short=True)
    magic, size, tag, version, flags, stream, *numbers, prev, n_marks = _FIXED.unpack_from(fixed)
    if magic != HEADER_MAGIC or tag != TAG:
        raise NotAUnit(offset, "no frame header here", short=False)
    if n_marks > _MAX_MARKS or size != _MIN_HEADER - 8 + n_marks * _MARK.size:
        raise NotAUnit(offset, "header sizes contradict each other", short=False)
    rest = file.read(n_marks * _MARK.size)
    if len(rest) < n_marks * _MARK.size:
        raise NotAUnit(offset, "the header is cut", short=True)
    raw = fixed + rest
    if zlib.crc32(raw[: -_CRC.size]) != _CRC.unpack_from(raw, len(raw) - _CRC.size)[0]:
        raise NotAUnit(offset, "header checksum is wrong", short=False)
    if version != VERSION:
        raise NotAUnit(offset, f"frame version {version} is newer than this hemra reads", short=False)
    first, count, content_len, frame_len, synced = numbers
    if not 0 < frame_len <= MAX_FRAME or not 0 < content_len <= MAX_FRAME or count < 1:
        raise NotAUnit(offset, "header sizes are out of range", short=False)
    marks = dict(_MARK.iter_unpack(raw[_FIXED.size : len(raw) - _CRC.size]))
    return Header(offset, len(raw), flags, stream, first, count, content_len, frame_len, synced, prev, marks)


def read_unit(file: BinaryIO, offset: int) -> Unit:
    """Header and frame at `offset`. Raises NotAUnit; EOFError exactly at the end of the file."""
    header = read_header(file, offset)
    file.seek(offset)
    raw = file.read(header.size + header.frame_len)
    if len(raw) < header.size + header.frame_len:
        raise NotAUnit(offset, "the frame is cut", short=True)
    return Unit(header, raw[header.size :], link_of(raw))


def content_of(unit: Unit) -> bytes:
    """Decompressed NDJSON of a unit, checked against header and checksum. Raises NotAUnit."""
    header, frame = unit.header, unit.frame
    try:
        known = zstandard.get_frame_parameters(frame)
        if not known.has_checksum or known.content_size != header.content_len:
            raise NotAUnit(header.offset, "the frame lacks its checksum or size", short=False)
        content = _zstd.decompressor.decompress(frame, max_output_size=header.content_len)
    except zstandard.ZstdError as error:
        raise NotAUnit(header.offset, f"zstd: {error}", short=False) from error
    if len(content) != header.content_len or content.count(b"\n") != header.events or content[-1:] != b"\n":
        raise NotAUnit(header.offset, "content does not match its header", short=False)
    return content


def events_at(file: BinaryIO, offset: int) -> str:
    """`; events 5 to 9 are in it`, of a frame that cannot be read and whose header can; else nothing."""
    try:
        header = read_header(file, offset)
    except (NotAUnit, EOFError):
        return ""
    lost = f"event {header.first} is" if header.events == 1 else f"events {header.first} to {header.last} are"
    return f"; {lost} in it"


def walk(file: BinaryIO, offset: int = 0) -> Iterator[Unit]:
    """Units from `offset` to the end of the file, the trailer, or whatever is no unit (NotAUnit)."""
    while True:
        try:
            unit = read_unit(file, offset)
        except EOFError:
            return
        except NotAUnit as stop:
            if stop.offset == offset and is_trailer(file, offset):
                return
            raise
        yield unit
        offset = unit.header.end


def walk_headers(file: BinaryIO, offset: int = 0) -> Iterator[Header]:
    """As `walk`, without reading the frames."""
    while True:
        try:
            header = read_header(file, offset)
        except EOFError:
            return
        except NotAUnit:
            if is_trailer(file, offset):
                return
            raise
        yield header
        offset = header.end


def find_header(file: BinaryIO, offset: int) -> Header | None:
    """The next valid header at or after `offset`: how a reader gets past damage."""
    magic = _CRC.pack(HEADER_MAGIC)
    file.seek(offset)
    window, base = file.read(1 << 20), offset
    while window:
        at = window.find(magic)
        while at >= 0:
            try:
                return read_header(file, base + at)
            except (NotAUnit, EOFError):
                at = window.find(magic, at + 1)
        keep = window[-3:] if len(window) > 3 else b""
        base += len(window) - len(keep)
        file.seek(base + len(keep))
        piece = file.read(1 << 20)
        if not piece:
            return None
        window = keep + piece
    return None


def proven_behind(file: BinaryIO, offset: int, stream: bytes) -> int:
    """Highest seq that headers of the stream from `offset` on say was durable before them; 0 without any."""
    proven = 0
    header = find_header(file, offset)
    while header is not None:
        if header.stream == stream:
            proven = max(proven, header.synced)
        try:
            header = read_header(file, header.end)
        except (NotAUnit, EOFError):
            header = find_header(file, header.offset + 1)
    return proven


def is_trailer(file: BinaryIO, offset: int) -> bool:
    """Whether a sealed segment's trailer begins at `offset`."""
    file.seek(offset)
    head = file.read(12)
    return head[:4] == _CRC.pack(TRAILER_MAGIC) and head[8:12] == TRAILER_TAG


def pack_trailer(content: dict[str, Any]) -> bytes:
    """The trailer frame with `content` as JSON."""
    body = TRAILER_TAG + struct.pack("<HH", VERSION, 0) + orjson.dumps(content)
    return struct.pack("<II", TRAILER_MAGIC, len(body) + 4) + body + _CRC.pack(zlib.crc32(body))


def read_trailer(path: Path, file: BinaryIO, offset: int) -> tuple[dict[str, Any], int]:
    """The trailer's content and the offset after it. Raises DamageError."""
    file.seek(offset)
    head = file.read(8)
    size = struct.unpack("<II", head)[1] if len(head) == 8 else 0
    body = file.read(size)
    if len(body) != size or size < 12 or zlib.crc32(body[:-4]) != _CRC.unpack(body[-4:])[0]:
        raise DamageError(path, offset, "the sealed segment's trailer is damaged")
    content: dict[str, Any] = orjson.loads(body[8:-4])
    return content, offset + 8 + size


class SeekTable:
    """Collects the entries of the zstd seekable format (0.1.0) and writes its last frame."""

    def __init__(self) -> None:
        self._entries: list[bytes] = []

    def add_unit(self, header_len: int, content_len: int, frame: bytes) -> None:
        """One entry for the header, one for the frame (whose checksum is its last four bytes)."""
        self.add_skippable(header_len)
        self._entries.append(struct.pack("<II", len(frame), content_len) + frame[-4:])

    def add_skippable(self, size: int) -> None:
        """A frame without content still moves the offsets of all that follow."""
        self._entries.append(struct.pack("<III", size, 0, _EMPTY_CHECKSUM))

    def pack(self) -> bytes:
        """The table as the file's last skippable frame; checksum flag set in the descriptor."""
        body = b"".join(self._entries) + struct.pack("<IBI", len(self._entries), 0x80, SEEK_FOOTER_MAGIC)
        return struct.pack("<II", SEEK_MAGIC, len(body)) + body
