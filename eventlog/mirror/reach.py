"""How far a stream of this machine may be copied, and of what it consists now."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import BinaryIO

from eventlog import anchor as anchors
from eventlog.errors import LogError, StreamNotFound
from eventlog.frames import NotAUnit, walk_headers
from eventlog.lock import NAME as LOCK
from eventlog.lock import Lock, is_held
from eventlog.mirror.errors import Changed
from eventlog.mirror.messages import SealedFile
from eventlog.reader import anchor_lost
from eventlog.recovery import recover
from eventlog.segments import Segment, list_segments, name_of, sealed_in, trailer_in, visible_segments
from eventlog.standing import standing


def sync_file(path: Path) -> None:
    """Make what was written to a file durable, whoever wrote it."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def durable_mark(path: Path) -> anchors.Mark | None:
    """How far a stream may be copied; None where it has no anchor.

    What stands behind the anchor of a writer that died may not be on disk yet: copied now and lost here in a power
    cut, it would be in the copy only, and the next writer would go on otherwise. So what the next writer would do is
    done first: it goes into a new file, for a sync of this one may have failed, and the anchor follows.
    """
    mark = standing(path)
    if mark is None or mark.state != anchors.OPEN or is_held(path / LOCK):
        return mark
    known = anchors.load(path)
    if known is None or known.last >= mark.last:
        return mark
    try:
        lock = Lock(path / LOCK, 0.0)
    except (LogError, OSError):
        return known  # somebody writes it by now; of a copy nothing counts behind its anchor
    try:
        recover(path)
        return anchors.load(path)
    except (LogError, OSError):
        return known  # it cannot be made sure of here
    finally:
        lock.release()


def mark_of(path: Path) -> anchors.Mark:
    """As `durable_mark`. Raises DamageError where the anchor is lost, StreamNotFound where nothing was recorded."""
    mark = durable_mark(path)
    if mark is None:
        if list_segments(path):
            raise anchor_lost(path)
        raise StreamNotFound(f"nothing was recorded in {path.name} yet")
    return mark


def revision_of(path: Path) -> str:
    """A text that changes whenever a segment appears, goes, or is replaced by its sealed form."""
    running = hashlib.sha256()
    with os.scandir(path) as entries:
        for name, inode in sorted(
            (entry.name, entry.inode()) for entry in entries if entry.name[0].isdigit()
        ):
            running.update(f"{name} {inode}\n".encode())
    return running.hexdigest()[:32]


def sealed_files(path: Path) -> list[SealedFile]:
    """The stream's sealed files, from event 1 on without a gap, by their trailers. Raises DamageError."""
    found: list[SealedFile] = []
    for segment in visible_segments(path):
        with segment.path.open("rb") as file:
            described = _described(segment, file)
        if described is None or described.first != (found[-1].last + 1 if found else 1):
            break
        found.append(described)
    return found


def _described(segment: Segment, file: BinaryIO) -> SealedFile | None:
    """What a sealed segment is, or None for a live one."""
    if not sealed_in(file):
        return None
    trailer, offset, end = trailer_in(segment, file)
    file.seek(offset)
    tag = hashlib.sha256(file.read(end - offset)).hexdigest()
    return SealedFile(first=segment.first, size=os.fstat(file.fileno()).st_size, tag=tag, spans=trailer.spans)


def open_sealed(path: Path, first: int, tag: str) -> BinaryIO:
    """The file as long as it is the wanted one. Raises Changed."""
    segment = Segment(path / name_of(first), first)
    try:
        file = segment.path.open("rb")
    except FileNotFoundError:
        raise Changed(f"{segment.path.name} is not there any more") from None
    try:
        now = _described(segment, file)
        if now is None or now.tag != tag:
            raise Changed(f"{segment.path.name} is another file by now")
    except BaseException:
        file.close()
        raise
    return file


def link_at(path: Path, seq: int) -> bytes | None:
    """The link of the unit or span that ends with event `seq`, as far as one does. Raises DamageError."""
    mark = mark_of(path)
    if seq == mark.last:
        return mark.link
    if seq > mark.last:
        return None
    segments = visible_segments(path)
    following = next((s for s in segments if s.first > seq), None)
    holding = [s for s in segments if s.first <= seq]
    if not holding:
        return None
    with holding[-1].path.open("rb") as file:
        described = _described(holding[-1], file)
        if described is not None:
            ends = {span.last: span.end_link for span in described.spans}
            return bytes.fromhex(ends[seq]) if seq in ends else None
        try:
            for header in walk_headers(file):
                if header.first == seq + 1:
                    return header.prev
        except NotAUnit:
            pass  # what no reader may read yet, or the reader will name: here it only says nothing
    if following is None or following.first != seq + 1:
        return None
    with following.path.open("rb") as file:
        begins = next(walk_headers(file), None)
    return begins.prev if begins is not None and begins.first == seq + 1 else None
