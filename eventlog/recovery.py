"""What a writer does with what it finds when it opens a stream.

Walking the unsealed segments in order, `last` is the seq of the last whole unit so far, and `durable` the
highest seq that the anchor or any later header says is synced. Where something stands that is no unit:

| next segment | last vs durable | verdict | why |
|---|---|---|---|
| begins at last + 1 | any | cut | what a failed write left: the writer went on in a new segment |
| begins elsewhere | any | damage | events between are missing |
| none | last >= durable | cut | a torn write that was never acknowledged |
| none | last < durable | damage | acknowledged events are unreadable |

After a power cut the anchor may be a moment behind (see `anchor`). The whole units there are kept; where one is
broken, the headers after it say what was durable. Only broken bytes with no whole header after them remain in
doubt: they were never acknowledged, unless the disk lost what it had confirmed in the last `anchor.SYNC_S`.
They are copied aside like any other, and whoever opens the stream is told.

`cut` means: the bytes are copied to `torn/`, synced, and only then removed from the segment. `damage` means:
nothing is touched, DamageError names file and offset.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from eventlog import anchor as anchors
from eventlog.disk import fsync_dir, make_dir, remove_temps, replacing
from eventlog.errors import DamageError
from eventlog.failing_disk import refuse_lost
from eventlog.frames import (
    NO_LINK,
    NotAUnit,
    content_of,
    events_at,
    proven_behind,
    read_header,
    walk,
)
from eventlog.producers import remember
from eventlog.segments import Segment, is_sealed, list_segments, refuse_newer, trailer_of

CUT, DAMAGE = "cut", "damage"
_PIECE = 1 << 20


def verdict(*, last: int, durable: int, next_first: int | None) -> str:
    """The table above. `next_first` is the first seq of the next segment, or None."""
    if next_first is not None:
        return CUT if next_first == last + 1 else DAMAGE
    return CUT if last >= durable else DAMAGE


@dataclass
class Recovered:
    """State of a stream after recovery: where to go on, and what was cut."""

    stream: bytes
    last: int = 0
    link: bytes = NO_LINK
    marks: dict[bytes, int] = field(default_factory=dict)
    cut: list[str] = field(default_factory=list)
    #: Unsealed segments with whole units above the mark: durable only once they are synced.
    unsynced: list[Path] = field(default_factory=list)


def recover(directory: Path) -> Recovered:
    """Bring the directory to a state that can be appended to or sealed. The caller holds the lock.

    Afterwards the anchor stands at the last event that is there: whole units that a dead writer left above
    the mark are synced and kept. Raises DamageError when something at or below the durable mark is wrong, StoreError
    where a later hemra wrote.
    """
    remove_temps(directory)
    remove_temps(directory / "torn")
    _remove_covered(directory)
    mark = anchors.load(directory)
    segments = list_segments(directory)
    state = Recovered(mark.stream if mark else _stream_of(segments))
    _walk(directory, segments, mark, state)
    if mark is None or mark.last != state.last or None in anchors.slots(directory):
        for path in dict.fromkeys(state.unsynced):
            written_anew(path)
        base = mark or anchors.Mark(anchors.CLOSED, 0, state.stream, 0, 0, 0, NO_LINK)
        anchors.Anchor(
            directory, base._replace(segment=0, offset=0, last=state.last, link=state.link)
        ).close()
    return state


def _stream_of(segments: list[Segment]) -> bytes:
    """The stream's id by its first frame; a new one where there is none."""
    for segment in segments[:1]:
        with segment.path.open("rb") as file:
            try:
                return read_header(file, 0).stream
            except (NotAUnit, EOFError):
                break
            except OSError as error:
                refuse_lost(segment.path, error)
                raise
    return os.urandom(8)


def written_anew(path: Path, end: int | None = None) -> None:
    """Make a segment, or what stands before `end` in it, durable by a synced copy in its place: a sync of this file may
    have failed in the process that died, and a second one would be called good without writing what the first had
    dropped."""
    with replacing(path) as copy:
        for piece in _pieces(path, 0, path.stat().st_size if end is None else end):
            copy.write(piece)


def _pieces(path: Path, start: int, end: int) -> Iterator[bytes]:
    """The bytes `start` to `end` of a file, a piece at a time. Raises DamageError where the disk has lost one."""
    with path.open("rb") as file:
        while start < end:
            try:
                file.seek(start)
                piece = file.read(min(end - start, _PIECE))
            except OSError as error:
                refuse_lost(path, error, start)
                raise
            if not piece:
                return
            yield piece
            start += len(piece)


def _walk(directory: Path, segments: list[Segment], mark: anchors.Mark | None, state: Recovered) -> None:
    durable = mark.last if mark else 0
    for index in range(len(segments)):
        try:
            _step(segments, index, durable, mark, state)
        except DamageError as error:
            raise _blamed(segments[max(0, index - 1) : index + 1], error) from error
    if state.last < durable:
        where = segments[-1].path if segments else directory
        raise DamageError(where, 0, f"events {state.last + 1} to {durable} were acknowledged and are missing")


def _step(
    segments: Sequence[Segment], index: int, durable: int, mark: anchors.Mark | None, state: Recovered
) -> None:
    """Take in one segment."""
    segment = segments[index]
    following = segments[index + 1].first if index + 1 < len(segments) else None
    if segment.first != state.last + 1:
        raise DamageError(
            segment.path, 0, f"events {state.last + 1} to {segment.first - 1} are missing before it"
        )
    if not is_sealed(segment):
        try:
            end = _whole(segment, following, durable, mark, state)
        except OSError as error:
            refuse_lost(segment.path, error)
            raise
        if end < segment.size:
            state.cut.append(_cut(segment, end))
        return
    trailer = trailer_of(segment)
    state.last, state.link = trailer.last, bytes.fromhex(trailer.spans[-1].end_link)
    remember(state.marks, {bytes.fromhex(k): n for k, n in trailer.marks.items()})
    _check_link(mark, segment, 0, state)


def _blamed(near: Sequence[Segment], error: DamageError) -> DamageError:
    """What to call damaged where a segment does not follow what was before it: the first bytes that are wrong.

    Below the mark only headers and links were looked at, and a frame that was altered shows at the next one.
    """
    for segment in near:
        try:
            with segment.path.open("rb") as file:
                for unit in walk(file):
                    if (segment.path, unit.header.offset) > (error.path, error.offset):
                        return error
                    content_of(unit)
        except NotAUnit as stop:
            if (segment.path, stop.offset) > (error.path, error.offset):
                return error
            with segment.path.open("rb") as file:
                refuse_newer(segment.path, file, stop.offset)
                return DamageError(segment.path, stop.offset, stop.cause + events_at(file, stop.offset))
        except OSError:
            return error
    return error


def _whole(
    segment: Segment, following: int | None, durable: int, mark: anchors.Mark | None, state: Recovered
) -> int:
    """Take in a live segment as far as it is whole; where what is to be cut off begins. Raises DamageError."""
    with segment.path.open("rb") as file:
        end, cause = 0, ""
        try:
            for unit in walk(file):
                header = unit.header
                if following is not None and header.first >= following:
                    cause = "left by a failed write"
                    break
                if header.first != state.last + 1 or header.prev != state.link:
                    raise NotAUnit(header.offset, "this frame does not follow the one before it", short=False)
                if header.last > durable:
                    content_of(unit)
                    state.unsynced.append(segment.path)
                state.last, state.link, end = header.last, unit.link, header.end
                remember(state.marks, header.marks)
                _check_link(mark, segment, header.offset, state)
        except NotAUnit as stop:
            refuse_newer(segment.path, file, stop.offset)
            cause = stop.cause
            durable = max(durable, proven_behind(file, stop.offset + 1, state.stream))
    if cause and verdict(last=state.last, durable=durable, next_first=following) == DAMAGE:
        raise DamageError(segment.path, end, cause)
    return end


def _check_link(mark: anchors.Mark | None, segment: Segment, offset: int, state: Recovered) -> None:
    """The anchor names the link of the last durable unit: another unit in its place is damage."""
    if mark is not None and mark.last and state.last == mark.last and state.link != mark.link:
        raise DamageError(segment.path, offset, f"event {mark.last} is not the one that the anchor names")


def _cut(segment: Segment, end: int) -> str:
    """Copy what stands from `end` on to `torn/`, then cut it off. Returns the copy's path."""
    directory = segment.path.parent
    make_dir(directory / "torn")
    copy, there = _place_of(directory / "torn" / f"{segment.first:020d}-{end}.bin", segment.path, end)
    if there:
        fsync_dir(copy.parent)  # who made it may have died before its name was durable
    else:
        with replacing(copy) as out:
            for piece in _pieces(segment.path, end, segment.size):
                out.write(piece)
    if end == 0:
        segment.path.unlink()
        fsync_dir(directory)
        return str(copy)
    written_anew(segment.path, end)
    return str(copy)


def _place_of(wanted: Path, segment: Path, end: int) -> tuple[Path, bool]:
    """Where to keep what stands from `end` on, and whether it is there already: of a recovery that was cut short.

    A segment can begin at the same event, and be torn at the same place, again and again: each has its own copy.
    """
    place, number = wanted, 1
    while place.exists():
        if _holds(place, segment, end):
            return place, True
        number += 1
        place = wanted.with_stem(f"{wanted.stem}-{number}")
    return place, False


def _holds(copy: Path, segment: Path, end: int) -> bool:
    """Whether the copy has exactly the bytes that stand from `end` on."""
    size, whole = copy.stat().st_size, segment.stat().st_size
    if size != whole - end:
        return False
    both = zip(_pieces(copy, 0, size), _pieces(segment, end, whole), strict=False)
    return all(a == b for a, b in both)


def _remove_covered(directory: Path) -> None:
    """Finish what a crash interrupted: segments that a sealed one covers go, once that one's name is durable."""
    covered = 0
    fsync_dir(directory)
    for segment in list_segments(directory):
        if segment.first <= covered:
            segment.path.unlink()
        elif is_sealed(segment):
            covered = trailer_of(segment).last
