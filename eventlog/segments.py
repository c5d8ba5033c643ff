"""The files of a stream's directory: names, order, and what a sealed segment says of itself."""

from __future__ import annotations

import os
import re
import struct
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from eventlog.errors import DamageError
from eventlog.frames import SEALED, SEEK_FOOTER_MAGIC, NotAUnit, is_trailer, read_header, read_trailer

SUFFIX = ".ndjson.zst"
_NAME = re.compile(r"(\d{20})\.ndjson\.zst")


@dataclass(frozen=True, slots=True)
class Span:
    """A range of events whose uncompressed bytes were digested once, when they were first sealed.

    `chain` is SHA-256 over the previous span's chain and this span's `sha256`; both stay the same when
    segments are merged or recompressed. `end_link` is the link of the last live unit of the range.
    """

    first: int
    last: int
    events: int
    bytes: int
    sha256: str
    chain: str
    end_link: str


@dataclass(frozen=True, slots=True)
class Trailer:
    """What a sealed segment says of itself; `marks` are the highest numbers of its producers (hex -> number)."""

    spans: list[Span]
    marks: dict[str, int] = field(default_factory=dict)

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
        spans = [{name: getattr(s, name) for name in Span.__slots__} for s in self.spans]
        return {"spans": spans, "marks": self.marks}


@dataclass(frozen=True, slots=True)
class Segment:
    """A segment file. `first` is the seq in its name."""

    path: Path
    first: int

    @property
    def size(self) -> int:
        """Bytes of the file now."""
        return self.path.stat().st_size


def name_of(first: int) -> str:
    """File name of the segment whose first event is `first`."""
    return f"{first:020d}{SUFFIX}"


def list_segments(directory: Path) -> list[Segment]:
    """Segments in order. Files with other names are not ours and are left alone."""
    found = []
    with os.scandir(directory) as entries:
        for entry in entries:
            match = _NAME.fullmatch(entry.name)
            if match:
                found.append(Segment(directory / entry.name, int(match.group(1))))
    return sorted(found, key=lambda segment: segment.first)


def is_sealed(segment: Segment) -> bool:
    """Whether the segment's first header carries the sealed flag (an unreadable one counts as not sealed)."""
    with segment.path.open("rb") as file:
        try:
            return bool(read_header(file, 0).flags & SEALED)
        except (NotAUnit, EOFError):
            return False


def trailer_of(segment: Segment) -> Trailer:
    """The trailer of a sealed segment, found through the seek table. Raises DamageError."""
    with segment.path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        offset = trailer_offset(segment.path, file.fileno(), size)
        if not is_trailer(file, offset):
            raise DamageError(segment.path, offset, "the seek table does not lead to the trailer")
        content, _ = read_trailer(segment.path, file, offset)
    return parse_trailer(segment.path, offset, content)


def parse_trailer(path: Path, offset: int, content: dict[str, Any]) -> Trailer:
    """A trailer from its JSON. Raises DamageError when it is not one."""
    try:
        spans = [Span(**span) for span in content["spans"]]
        if not spans:
            raise ValueError("no spans")
        return Trailer(spans, dict(content["marks"]))
    except (KeyError, TypeError, ValueError) as error:
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


def visible_segments(directory: Path) -> list[Segment]:
    """Segments without those that a sealed one before them already covers.

    A crash between the rename of a sealed segment and the removal of its sources leaves such doubles.
    """
    out: list[Segment] = []
    covered = 0
    for segment in list_segments(directory):
        if segment.first <= covered:
            continue
        out.append(segment)
        if is_sealed(segment):
            covered = trailer_of(segment).last
    return out
