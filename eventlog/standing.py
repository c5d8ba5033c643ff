"""Where a stream stands: the anchor's mark, or what the segment proves beyond it after a power cut.

While its writer lives, and after that was killed, the anchor is exact. A power cut can leave it where it was
synced last, a moment behind (see `anchor`). What stands whole behind the mark is then as the next writer will
find and keep it; where that writer would refuse the stream, nothing is added here either.
"""

from __future__ import annotations

from pathlib import Path

from eventlog import anchor as anchors
from eventlog.anchor import Mark
from eventlog.errors import DamageError
from eventlog.failing_disk import refuse_lost
from eventlog.frames import NotAUnit, content_of, walk
from eventlog.lock import NAME as LOCK
from eventlog.lock import is_held
from eventlog.segments import name_of, visible_segments


def standing(directory: Path) -> Mark | None:
    """The mark up to which the stream is to be read; None where the anchor is lost.

    Raises DamageError where the disk cannot read the anchor, or the live segment behind the mark.
    """
    held = is_held(directory / LOCK)
    mark = anchors.load(directory)
    if held or mark is None or mark.state != anchors.OPEN or not mark.segment:
        return mark
    extended = _extended(directory / name_of(mark.segment), mark)
    if extended.last > mark.last and _is_sealed_over(directory, mark.segment):
        return mark  # what stands behind the mark there was refused: the seal left it out, and the writer removes it
    return extended


def _is_sealed_over(directory: Path, first: int) -> bool:
    """Whether a sealed segment holds what the one from `first` on was written for, and a crash kept that one there."""
    try:
        return all(segment.first != first for segment in visible_segments(directory))
    except DamageError:
        return False  # whoever reads that segment names it


def _extended(segment: Path, mark: Mark) -> Mark:
    try:
        with segment.open("rb") as file:
            for unit in walk(file, mark.offset):
                header = unit.header
                if (header.first, header.prev, header.stream) != (mark.last + 1, mark.link, mark.stream):
                    break
                content_of(unit)
                mark = mark._replace(offset=header.end, last=header.last, link=unit.link)
    except (NotAUnit, FileNotFoundError):
        pass  # a torn write, or sealed meanwhile: the mark is as far as anyone can say here
    except OSError as error:
        refuse_lost(segment, error)
        raise
    return mark
