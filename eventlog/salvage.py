"""What is left of a damaged stream: every sound frame, wherever it stands, and the bytes that are none.

The reader goes by the order of the files and stops or skips where it breaks. Here every file is searched for
sound frames; then each range of events is taken from where it stands as it should, and what is missing there
from elsewhere:

| a frame | counts |
|---|---|
| in its place, by the names of the segments | always |
| of a sealed segment, out of its place | where something is missing: only acknowledged events are sealed |
| of an unsealed one, out of its place | where something is missing, if what follows it names its link |
| of another stream | never |

What follows may be a frame, the anchor or a seal. An unsealed frame out of its place that nothing names may
be what a failed write left: never acknowledged.
"""

from __future__ import annotations

import contextlib
import io
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO, NamedTuple

from eventlog import anchor as anchors
from eventlog import manifest
from eventlog.errors import DamageError
from eventlog.failing_disk import BLOCK, FailingDisk
from eventlog.frames import (
    NO_LINK,
    SEALED,
    NotAUnit,
    content_of,
    find_header,
    is_trailer,
    link_of,
    read_header,
    read_unit,
)
from eventlog.mend import mend, work
from eventlog.segments import (
    Segment,
    Trailer,
    list_segments,
    refuse_newer,
    sealed_in,
    trailer_in,
    visible_segments,
)
from eventlog.spans import SpanDigests

#: Bytes to digest, at most, in trying for flipped bits: about a minute. A frame of 120 KiB takes all of it.
MOST_WORK = 64 * 10**9


class Found(NamedTuple):
    """A sound frame: its events, its place, and the links that chain it."""

    first: int
    last: int
    path: Path
    offset: int
    stream: bytes
    synced: int
    prev: bytes
    link: bytes
    sealed: bool
    #: Header and frame as they were, where one bit in the file is not.
    mended: bytes | None = None


class Place(NamedTuple):
    """Bytes that hold no sound frame. `first` and `last` are the events they held, where a header still says so."""

    path: Path
    offset: int
    size: int
    cause: str
    first: int | None = None
    last: int | None = None


class Part(NamedTuple):
    """Events `first` to `last`, to be had from a frame."""

    first: int
    last: int
    frame: Found


class Gap(NamedTuple):
    """Events `first` to `last` of which nothing is left, and the places where they may have stood."""

    first: int
    last: int
    places: tuple[Place, ...]


@dataclass
class Salvage:
    """What there is: parts and gaps make up the events 1 to `last`. `end` says why there may have been more."""

    stream: bytes
    last: int = 0
    parts: list[Part] = field(default_factory=list)
    gaps: list[Gap] = field(default_factory=list)
    places: list[Place] = field(default_factory=list)
    finished: bool = False
    end: str | None = None


@dataclass
class _File:
    segment: Segment
    frames: list[Found] = field(default_factory=list)
    places: list[Place] = field(default_factory=list)
    trailer: Trailer | None = None


def salvage(directory: Path) -> Salvage:
    """Search a stream's directory; nothing is changed. Raises StoreError where a later hemra wrote in it."""
    files = [_search(segment) for segment in list_segments(directory)]
    mark = _mark(directory)
    found = Salvage(mark.stream if mark is not None else _stream_of(files))
    _mend(files, mark)
    for file in files:
        _disown(file, found.stream)
        found.places += file.places
    found.parts = _chosen(directory, files, mark)
    found.last = _reach(directory, files, found.parts, mark)
    found.gaps = list(_gaps(found))
    found.finished = mark is not None and mark.state == anchors.FINISHED
    if mark is None and files:
        found.end = (
            "the anchor is missing or unreadable: whether there were events after this one, nobody can say"
        )
    return found


def _mark(directory: Path) -> anchors.Mark | None:
    """The anchor's mark; None where that is lost in any way."""
    try:
        return anchors.load(directory)
    except DamageError:
        return None


def _search(segment: Segment) -> _File:
    """Every sound frame of a file, and every range of bytes between them."""
    file = _File(segment)
    disk = FailingDisk(segment.path)
    with io.BufferedReader(disk) as raw:
        bound = size = raw.seek(0, 2)
        sealed = sealed_in(raw)
        try:
            placed = trailer_in(segment, raw)
            file.trailer, bound = placed.trailer, placed.offset
        except DamageError as error:
            if sealed:
                file.places.append(Place(error.path, error.offset, size - error.offset, error.cause))
        digests = SpanDigests(file.trailer.spans) if file.trailer is not None else None
        offset = 0
        while offset < bound:
            try:
                unit = read_unit(raw, offset)
                content = content_of(unit)
            except EOFError:
                break
            except NotAUnit as stop:
                if is_trailer(raw, offset):
                    break
                refuse_newer(segment.path, raw, offset)
                place = _place(segment.path, raw, stop, bound)
                if any(place.offset - BLOCK < block < place.offset + place.size for block in disk.unreadable):
                    place = place._replace(cause="the disk cannot read it")
                file.places.append(place)
                offset, digests = place.offset + place.size, None
                continue
            h = unit.header
            kind = bool(h.flags & SEALED)
            file.frames.append(
                Found(h.first, h.last, segment.path, offset, h.stream, h.synced, h.prev, unit.link, kind)
            )
            offset = h.end
            # A whole file is also held to the digests that it was sealed with.
            for span in digests.feed(content) if digests is not None else ():
                _forget(file, span.first, span.last)
    return file


def _place(path: Path, raw: BinaryIO, stop: NotAUnit, bound: int) -> Place:
    """The bytes from a bad frame to the next good header, and what its own header says of it, if that is sound."""
    try:
        header = read_header(raw, stop.offset)
        if header.end <= bound:
            size = header.end - header.offset
            return Place(path, header.offset, size, stop.cause, header.first, header.last)
        known: tuple[int | None, int | None] = header.first, header.last
    except (NotAUnit, EOFError):
        known = None, None
    later = find_header(raw, stop.offset + 1)
    end = bound if later is None else min(later.offset, bound)
    return Place(path, stop.offset, end - stop.offset, stop.cause, *known)


def _mend(files: list[_File], mark: anchors.Mark | None) -> None:
    """Give back frames in which one bit was flipped, as far as a sound frame, a seal or the anchor names them."""
    frames = {frame for file in files for frame in file.frames}
    links = {frame.prev for frame in frames} | {bytes.fromhex(f.trailer.link) for f in files if f.trailer}
    links |= {mark.link} if mark is not None else set()
    links -= {frame.link for frame in frames} | {NO_LINK}
    left = MOST_WORK
    for file in files:
        for index, place in enumerate(file.places):
            if not links or not place.size or work(place.size) > left:
                continue
            left -= work(place.size)
            with io.BufferedReader(FailingDisk(place.path)) as raw:
                raw.seek(place.offset)
                mended = mend(raw.read(place.size), links)
            if mended is None:
                continue
            h = read_header(io.BytesIO(mended), 0)
            found = Found(h.first, h.last, place.path, place.offset, h.stream, h.synced, h.prev, link_of(mended),
                          bool(h.flags & SEALED), mended)  # fmt: skip
            file.frames.append(found)
            file.frames.sort(key=lambda frame: frame.offset)
            links = (links | {h.prev}) - {found.link}
            cause = f"one bit was flipped, and its link says which ({place.cause})"
            file.places[index] = place._replace(cause=cause, first=h.first, last=h.last)


def _forget(file: _File, first: int, last: int) -> None:
    """Frames of a span that is not what was sealed: their checksums are right, and their content is not."""
    cause = f"events {first} to {last} do not match the digest that they were sealed with"
    keep = []
    for frame in file.frames:
        if frame.first <= last and first <= frame.last:
            file.places.append(Place(frame.path, frame.offset, 0, cause, frame.first, frame.last))
        else:
            keep.append(frame)
    file.frames = keep


def _stream_of(files: Iterable[_File]) -> bytes:
    """The id that most frames name; zeros where there are none."""
    counts = Counter(frame.stream for file in files for frame in file.frames)
    return counts.most_common(1)[0][0] if counts else bytes(8)


def _disown(file: _File, stream: bytes) -> None:
    """Frames of another stream are no part of this one."""
    for frame in file.frames:
        if frame.stream != stream:
            cause = "this frame belongs to another stream"
            file.places.append(Place(frame.path, frame.offset, 0, cause))
    file.frames = [frame for frame in file.frames if frame.stream == stream]


def _chosen(directory: Path, files: list[_File], mark: anchors.Mark | None) -> list[Part]:
    """Where each event is to be had from, by the table above; in order, none twice."""
    parts: list[Part] = []
    for file, bound in _in_order(directory, files):
        position = file.segment.first
        for frame in file.frames:
            last = frame.last if bound is None else min(frame.last, bound)
            first = max(position, frame.first)
            if frame.first >= file.segment.first and first <= last:
                parts.append(Part(first, last, frame))
                position = last + 1
    return _filled(parts, files, mark)


def _filled(parts: list[Part], files: list[_File], mark: anchors.Mark | None) -> list[Part]:
    """The parts, and for what is missing between and after them the frames that stand elsewhere and count."""
    taken = {part.frame for part in parts}
    rest = {frame for file in files for frame in file.frames} - taken
    named = {(frame.first - 1, frame.prev) for frame in taken}
    named |= {(s.last, bytes.fromhex(s.end_link)) for f in files if f.trailer for s in f.trailer.spans}
    if mark is not None:
        named.add((mark.last, mark.link))
    end = max((frame.last for frame in rest), default=0)
    holes = [(first, last) for first, last, _, _ in _holes(parts, end)]
    # From the end backwards: each frame that is named vouches in turn for the one before it.
    for frame in sorted(rest, key=lambda f: (f.last, f.first), reverse=True):
        if not holes or not (frame.sealed or (frame.last, frame.link) in named):
            continue
        named.add((frame.first - 1, frame.prev))
        left: list[tuple[int, int]] = []
        for first, last in holes:
            low, high = max(first, frame.first), min(last, frame.last)
            if low > high:
                left.append((first, last))
                continue
            parts.append(Part(low, high, frame))
            left += [(a, b) for a, b in ((first, low - 1), (high + 1, last)) if a <= b]
        holes = left
    return sorted(parts)


def _in_order(directory: Path, files: list[_File]) -> Iterator[tuple[_File, int | None]]:
    """The files that a reader reads, each with the last event that should stand in it."""
    try:
        visible = {segment.first for segment in visible_segments(directory)}
    except DamageError:
        visible = {file.segment.first for file in files}
    seen = [file for file in files if file.segment.first in visible]
    yield from ((file, following.segment.first - 1) for file, following in pairwise(seen))
    if seen:
        yield seen[-1], None


def _holes(parts: Iterable[Part], end: int) -> Iterator[tuple[int, int, Part | None, Part | None]]:
    """The ranges of the events 1 to `end` that no part covers, each with the part before and after it."""
    position, before = 1, None
    for part in sorted(parts):
        if part.first > position and position <= end:
            yield position, min(part.first - 1, end), before, part
        position, before = max(position, part.last + 1), part
    if position <= end:
        yield position, end, before, None


def _reach(directory: Path, files: list[_File], parts: list[Part], mark: anchors.Mark | None) -> int:
    """The last event that there was, by whatever still speaks of it."""
    ends = [part.last for part in parts] + [part.frame.synced for part in parts]
    ends += [file.trailer.last for file in files if file.trailer is not None]
    if mark is not None:
        ends.append(mark.last)
    with contextlib.suppress(DamageError):
        ends.append(manifest.load(directory).last)
    return max(ends, default=0)


def _gaps(found: Salvage) -> Iterator[Gap]:
    """What no part covers, each with the places that lie between its neighbours."""
    for first, last, before, after in _holes(found.parts, found.last):
        low = (before.frame.path, before.frame.offset) if before is not None else None
        high = (after.frame.path, after.frame.offset) if after is not None else None
        yield Gap(first, last, tuple(p for p in found.places if _between(p, low, high, first, last)))


def _between(
    place: Place, low: tuple[Path, int] | None, high: tuple[Path, int] | None, first: int, last: int
) -> bool:
    """Whether a place may have held events `first` to `last`, whose neighbours stand at `low` and `high`."""
    if place.first is not None and place.last is not None:
        return place.first <= last and first <= place.last
    at = (place.path, place.offset)
    return (low is None or low < at) and (high is None or at < high)
