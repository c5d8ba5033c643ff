"""The files of a stream's directory: names, order, and what a sealed segment says of itself.

`Span` and `Trailer` are the only ways in for what a trailer or a manifest says: what breaks a rule of theirs
is damage, wherever it comes from.
"""

from __future__ import annotations

import os
import re
import struct
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, BinaryIO, NamedTuple, TypeVar

import msgspec
from msgspec import Meta

from eventlog.errors import DamageError, StoreError, StreamNotFound
from eventlog.failing_disk import refuse_lost
from eventlog.frames import (
    HEADER_MAGIC,
    SEALED,
    SEEK_FOOTER_MAGIC,
    TAG,
    TRAILER_MAGIC,
    TRAILER_TAG,
    VERSION,
    NotAUnit,
    is_trailer,
    read_header,
    read_trailer,
)

T = TypeVar("T")

SUFFIX = ".ndjson.zst"
_NAME = re.compile(r"(\d{20})\.ndjson\.zst")
#: Passes over a directory in which segments vanish, before it is called odd instead of busy.
_LOOKS = 100
#: Seqs, sizes and producers' numbers are kept below 2^63: every JSON reader and database holds them.
HIGHEST = (1 << 63) - 1
#: How a header or trailer of any version begins: magic, size of what follows, tag, version.
_HEAD = struct.Struct("<II4sH")
_OURS = {(HEADER_MAGIC, TAG), (TRAILER_MAGIC, TRAILER_TAG)}
_LARGEST_HEAD = 64 * 1024 * 1024
_Positive = Annotated[int, Meta(ge=1, le=HIGHEST)]
_Digest = Annotated[str, Meta(pattern=r"^[0-9a-f]{64}\Z")]
_Hex16 = Annotated[str, Meta(pattern=r"^[0-9a-f]{32}\Z")]


class Span(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A range of events whose uncompressed bytes were digested once, when they were first sealed.

    `chain` is SHA-256 over the previous span's chain and this span's `sha256`; both stay the same when
    segments are merged or recompressed. `end_link` is the link of the last live unit of the range. Raises
    ValueError when the numbers contradict each other.
    """

    first: _Positive
    last: _Positive
    events: _Positive
    bytes: _Positive
    sha256: _Digest
    chain: _Digest
    end_link: _Hex16

    def __post_init__(self) -> None:
        if not 1 <= self.first <= self.last or self.events != self.last - self.first + 1 or self.bytes < 1:
            raise ValueError(
                f"events {self.first} to {self.last} cannot be {self.events} events of {self.bytes} bytes"
            )


class Trailer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a sealed segment says of itself; `marks` are the highest numbers of its producers (hex -> number).

    `link` is the link of the file's last unit: nothing after it in the file would name that. Raises ValueError
    when the spans are none or do not follow each other.
    """

    spans: list[Span]
    link: _Hex16
    marks: dict[_Hex16, Annotated[int, Meta(ge=0, le=HIGHEST)]]

    def __post_init__(self) -> None:
        check_contiguous(self.spans)

    @property
    def first(self) -> int:
        """Seq of the segment's first event."""
        return self.spans[0].first

    @property
    def last(self) -> int:
        """Seq of the segment's last event."""
        return self.spans[-1].last

    def to_json(self) -> dict[str, Any]:
        """Plain form for the file."""
        plain: dict[str, Any] = msgspec.to_builtins(self)
        return plain


def check_contiguous(spans: Sequence[Span], first: int | None = None) -> None:
    """Raises ValueError unless there are spans, each begins after the one before, and the first at `first`."""
    if not spans:
        raise ValueError("no spans")
    expected = spans[0].first if first is None else first
    for span in spans:
        if span.first != expected:
            raise ValueError(f"a span begins at event {span.first} where {expected} should follow")
        expected = span.last + 1


@dataclass(frozen=True, slots=True)
class Segment:
    """A segment file. `first` is the seq in its name."""

    path: Path
    first: int

    @property
    def size(self) -> int:
        """Bytes of the file now."""
        return self.path.stat().st_size


class Placed(NamedTuple):
    """A trailer and where it stands in its file: from `offset` up to `end`."""

    trailer: Trailer
    offset: int
    end: int


def name_of(first: int) -> str:
    """File name of the segment whose first event is `first`."""
    return f"{first:020d}{SUFFIX}"


def list_segments(directory: Path) -> list[Segment]:
    """Segments in order. Other names, and what is no file, are not ours and are left alone."""
    found = []
    with os.scandir(directory) as entries:
        for entry in entries:
            match = _NAME.fullmatch(entry.name)
            if match and entry.is_file():
                found.append(Segment(directory / entry.name, int(match.group(1))))
    return sorted(found, key=lambda segment: segment.first)


def is_sealed(segment: Segment) -> bool:
    """Whether the segment's first header carries the sealed flag (an unreadable one counts as not sealed)."""
    with segment.path.open("rb") as file:
        return sealed_in(file)


def sealed_in(file: BinaryIO) -> bool:
    """As `is_sealed`, of an open segment: it stays the same file when another takes its name."""
    try:
        return bool(read_header(file, 0).flags & SEALED)
    except (NotAUnit, EOFError, OSError):
        return False


def trailer_of(segment: Segment) -> Trailer:
    """The trailer of a sealed segment, found through the seek table. Raises DamageError."""
    with segment.path.open("rb") as file:
        return trailer_in(segment, file).trailer


def trailer_in(segment: Segment, file: BinaryIO) -> Placed:
    """As `trailer_of`, of an open segment, with its place. Raises DamageError."""
    try:
        return _trailer_in(segment, file)
    except OSError as error:
        raise DamageError(segment.path, 0, f"it cannot be read: {error.strerror or error}") from error


def _trailer_in(segment: Segment, file: BinaryIO) -> Placed:
    size = file.seek(0, os.SEEK_END)
    offset = trailer_offset(segment.path, file.fileno(), size)
    if not is_trailer(file, offset):
        raise DamageError(segment.path, offset, "the seek table does not lead to the trailer")
    try:
        content, end = read_trailer(segment.path, file, offset)
    except ValueError as error:
        raise DamageError(segment.path, offset, f"the trailer does not read as one: {error}") from error
    refuse_newer(segment.path, file, offset)
    trailer = parse_trailer(segment.path, offset, content)
    if trailer.first != segment.first:
        cause = f"the trailer begins at event {trailer.first}, the file's name at {segment.first}"
        raise DamageError(segment.path, offset, cause)
    return Placed(trailer, offset, end)


def refuse_newer(path: Path, file: BinaryIO, offset: int) -> None:
    """Raise StoreError where a whole header or trailer of a later version stands: it is not damaged, but not ours."""
    file.seek(offset)
    head = file.read(_HEAD.size)
    if len(head) < _HEAD.size:
        return
    magic, size, tag, version = _HEAD.unpack(head)
    if (magic, tag) not in _OURS or version <= VERSION or not 12 <= size <= _LARGEST_HEAD:
        return
    body = head + file.read(8 + size - len(head))
    # A header's checksum begins at the frame's magic, a trailer's after its size.
    checked = body if magic == HEADER_MAGIC else body[8:]
    if len(body) == 8 + size and zlib.crc32(checked[:-4]) == struct.unpack("<I", body[-4:])[0]:
        what = "header" if magic == HEADER_MAGIC else "trailer"
        raise StoreError(
            f"{path}: the {what} at byte {offset} is of version {version}, newer than this hemra reads "
            f"({VERSION}): upgrade hemra"
        )


def parse_trailer(path: Path, offset: int, content: Any) -> Trailer:
    """A trailer from its JSON. Raises DamageError when it is not one or breaks a rule of `Span` or `Trailer`."""
    try:
        return msgspec.convert(content, Trailer)
    except ValueError as error:
        raise DamageError(path, offset, f"the trailer does not read as one: {error}") from error


def trailer_offset(path: Path, fd: int, size: int) -> int:
    """Offset of the trailer in a sealed file of `size` bytes. Raises DamageError."""
    footer = os.pread(fd, 9, max(0, size - 9))
    if len(footer) < 9 or struct.unpack("<I", footer[5:])[0] != SEEK_FOOTER_MAGIC:
        raise DamageError(path, max(0, size - 9), "the sealed segment has no seek table at its end")
    entries: int = struct.unpack("<I", footer[:4])[0]
    table = entries * 12 + 9 + 8
    last_entry = os.pread(fd, 12, max(0, size - 9 - 12))
    if table > size or len(last_entry) < 12:
        raise DamageError(path, size - 9, "the seek table is larger than the file")
    trailer_size: int = struct.unpack("<I", last_entry[:4])[0]
    offset = size - table - trailer_size
    if offset < 0:
        raise DamageError(path, size - table, "the seek table claims more bytes than the file has")
    return offset


def settled(directory: Path, look: Callable[[], T]) -> T:
    """What `look` returns once no segment vanishes under it, as one does that is merged into another.

    Raises StreamNotFound when it is the directory that is gone.
    """
    for _ in range(_LOOKS):
        try:
            return look()
        except FileNotFoundError:
            if not directory.is_dir():
                raise StreamNotFound(
                    f"the stream {directory.name!r} is no longer in {directory.parent}"
                ) from None
    return look()


def visible_segments(directory: Path) -> list[Segment]:
    """Segments without those that a sealed one before them already covers. Raises DamageError.

    A crash between the rename of a sealed segment and the removal of its sources leaves such doubles.
    """
    return settled(directory, lambda: [segment for segment, _ in _visible(directory)])


def sealed_segments(directory: Path) -> list[tuple[Segment, Trailer]]:
    """The sealed ones of the visible segments, each with its trailer. Raises DamageError."""
    found = settled(directory, lambda: _visible(directory, surely=True))
    return [(segment, trailer) for segment, trailer in found if trailer is not None]


def _surely_sealed_in(segment: Segment, file: BinaryIO) -> bool:
    """As `sealed_in`. Raises DamageError where the disk cannot say: a manifest must not lack it for that."""
    try:
        file.seek(0)
        file.read(1)
    except OSError as error:
        refuse_lost(segment.path, error)
        raise
    return sealed_in(file)


def _visible(directory: Path, *, surely: bool = False) -> list[tuple[Segment, Trailer | None]]:
    out: list[tuple[Segment, Trailer | None]] = []
    covered = 0
    for segment in list_segments(directory):
        if segment.first <= covered:
            continue
        with segment.path.open("rb") as file:
            sealed = _surely_sealed_in(segment, file) if surely else sealed_in(file)
            trailer = trailer_in(segment, file).trailer if sealed else None
        out.append((segment, trailer))
        if trailer is not None:
            covered = trailer.last
    return out
