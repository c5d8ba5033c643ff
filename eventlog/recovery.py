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
from dataclasses import dataclass, field
from pathlib import Path

from eventlog import anchor as anchors
from eventlog.disk import fsync_dir, make_dir, remove_temps, replacing
from eventlog.errors import DamageError
from eventlog.frames import NO_LINK, NotAUnit, content_of, proven_behind, read_header, walk
from eventlog.producers import remember
from eventlog.segments import Segment, is_sealed, list_segments, refuse_newer, trailer_of

CUT, DAMAGE = "cut", "damage"


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
            _written_anew(path)
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
    return os.urandom(8)


def _written_anew(path: Path, end: int | None = None) -> None:
    """Make a segment, or what stands before `end` in it, durable by a synced copy in its place: a sync of this file may
    have failed in the process that died, and a second one would be called good without writing what the first had
    dropped."""
    left = path.stat().st_size if end is None else end
    with path.open("rb") as file, replacing(path) as copy:
        while left and (piece := file.read(min(left, 1 << 20))):
            copy.write(piece)
            left -= len(piece)


def _walk(directory: Path, segments: list[Segment], mark: anchors.Mark | None, state: Recovered) -> None:
    durable = mark.last if mark else 0
    for index, segment in enumerate(segments):
        if segment.first != state.last + 1:
            raise DamageError(
                segment.path, 0, f"events {state.last + 1} to {segment.first - 1} are missing before it"
            )
        following = segments[index + 1].first if index + 1 < len(segments) else None
        if is_sealed(segment):
            trailer = trailer_of(segment)
            state.last, state.link = trailer.last, bytes.fromhex(trailer.spans[-1].end_link)
            remember(state.marks, {bytes.fromhex(k): n for k, n in trailer.marks.items()})
            _check_link(mark, segment, 0, state)
        else:
            _recover_live(segment, following, durable, mark, state)
    if state.last < durable:
        where = segments[-1].path if segments else directory
        raise DamageError(where, 0, f"events {state.last + 1} to {durable} were acknowledged and are missing")


def _recover_live(
    segment: Segment, following: int | None, durable: int, mark: anchors.Mark | None, state: Recovered
) -> None:
    with segment.path.open("rb") as file:
        end, cause, size = 0, "", file.seek(0, os.SEEK_END)
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
    if end < size:
        state.cut.append(_cut(segment, end))


def _check_link(mark: anchors.Mark | None, segment: Segment, offset: int, state: Recovered) -> None:
    """The anchor names the link of the last durable unit: another unit in its place is damage."""
    if mark is not None and mark.last and state.last == mark.last and state.link != mark.link:
        raise DamageError(segment.path, offset, f"event {mark.last} is not the one that the anchor names")


def _cut(segment: Segment, end: int) -> str:
    """Copy what stands from `end` on to `torn/`, then cut it off. Returns the copy's path."""
    directory = segment.path.parent
    with segment.path.open("rb") as file:
        file.seek(end)
        tail = file.read()
    make_dir(directory / "torn")
    copy = directory / "torn" / f"{segment.first:020d}-{end}.bin"
    with replacing(copy) as out:
        out.write(tail)
    if end == 0:
        segment.path.unlink()
        fsync_dir(directory)
        return str(copy)
    _written_anew(segment.path, end)
    return str(copy)


def _remove_covered(directory: Path) -> None:
    """Finish what a crash interrupted: segments that a sealed one covers go, once that one's name is durable."""
    covered = 0
    fsync_dir(directory)
    for segment in list_segments(directory):
        if segment.first <= covered:
            segment.path.unlink()
        elif is_sealed(segment):
            covered = trailer_of(segment).last
