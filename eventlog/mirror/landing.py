"""Writing a copy of one stream, so that it can be read, verified and killed at any instant.

The directory of a copy is that of any stream, plus the note. Live units go to the end of an unsealed segment:
written, synced, then the anchor, as the recorder does it, so what stands above the anchor was never said to be
here. A sealed file arrives aside, is checked, and takes its place by one rename; if it brings events above the
anchor, the anchor follows. What a kill leaves in between is what recovery knows anyway: bytes above the mark.

A copy's segment ends where the source's does, and also where this process began, as at every opening of a
stream. All that is gone when the source seals: its sealed files replace the live ones.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from eventlog import anchor as anchors
from eventlog import clock, manifest
from eventlog.anchor import Anchor
from eventlog.crashpoints import crash_point
from eventlog.disk import fsync_dir, make_dir, replacing
from eventlog.errors import DamageError
from eventlog.lock import NAME as LOCK
from eventlog.lock import Lock
from eventlog.mirror import note
from eventlog.mirror.errors import MirrorError, Parted
from eventlog.mirror.messages import Head, SealedFile
from eventlog.mirror.note import Note
from eventlog.mirror.parts import PART
from eventlog.mirror.reach import sync_file
from eventlog.mirror.wakes import Wakes
from eventlog.recovery import recover, written_anew
from eventlog.segments import is_sealed, list_segments, name_of, visible_segments
from eventlog.store import CATALOG, Store

_NEW = ".mirror-"
#: What helps where two runs do not fit, by who asked for the copy.
PULL_ELSEWHERE = "pull into another store (--store)"
PUSH_ELSEWHERE = "push to a server of another store"
#: A directory of this age is being made by nobody any more: its maker was killed.
_STALE_NS = 3600 * 10**9


class Arrived(NamedTuple):
    """A sealed file that lies aside, checked: what it is, and where."""

    file: SealedFile
    path: Path


class Landing:
    """One stream's copy in one store. Holds the stream's lock until `close`."""

    def __init__(self, store: Store, name: str, lock: Lock, elsewhere: str) -> None:
        """Recover the stream; `lock` is given back by `close`. Raises DamageError."""
        self.store = store
        self.name = name
        self.path = store.stream_path(name)
        self.elsewhere = elsewhere
        self._lock = lock
        self._fd = -1
        self._segment = 0  # the source's segment that the open file continues
        self._began = 0  # seq in the open file's name
        self._size = 0
        _recover(self.path)
        mark = anchors.load(self.path)
        if mark is None:
            raise DamageError(self.path / anchors.NAME, 0, "the anchor cannot be read back")
        self._mark = mark
        self._anchor: Anchor | None = None
        self._wakes: Wakes | None = None

    @classmethod
    def open(
        cls, store: Store, name: str, head: Head, of: Note, lock_wait_s: float = 0.5, *, elsewhere: str = PULL_ELSEWHERE
    ) -> Landing:  # fmt: skip
        """Take the lock of the stream `name`, which is made where there is none. Nothing of it changes by that.

        Raises StreamBusy, DamageError; Parted when another run has that name here.
        """
        if name == CATALOG:
            raise MirrorError(f"the {CATALOG} belongs to its store and is not carried")
        path = store.stream_path(name)
        if not path.is_dir():
            _make(store, name, bytes.fromhex(head.id), of)
        lock = Lock(path / LOCK, lock_wait_s, copying=True)
        try:
            landing = cls(store, name, lock, elsewhere)
            if landing._mark.stream.hex() != head.id and landing.last:
                raise Parted(f"another run is called {name} in {store.path}: {elsewhere}", 1)
            return landing
        except BaseException:
            lock.release()
            raise

    @property
    def last(self) -> int:
        """Seq of the last event that is here for good; 0 when there is none."""
        return self._mark.last

    @property
    def link(self) -> bytes:
        """The link that the unit after `last` must name."""
        return self._mark.link

    @property
    def stream(self) -> bytes:
        """The stream's id."""
        return self._mark.stream

    @property
    def finished(self) -> bool:
        """Whether the copy counts as finished."""
        return self._mark.state == anchors.FINISHED

    @property
    def is_copy(self) -> bool:
        """Whether it is still marked as a copy."""
        return note.is_copy(self.path)

    def begin(self, head: Head, of: Note) -> None:
        """From here on it is a copy of `of`, and is changed. A run that was this store's own becomes one by that."""
        if note.load(self.path) != of:
            note.save(self.path, of)
        crash_point("mirror.after_note")
        manifest.begin(self.path)
        self.forget_parts(head)
        self._open_anchor(bytes.fromhex(head.id))
        if self._wakes is None:
            self._wakes = Wakes(self.store, self.name)

    def _open_anchor(self, stream: bytes) -> Anchor:
        if self._anchor is None:
            mark = self._mark._replace(stream=stream, state=anchors.OPEN, segment=0, offset=0)
            self._anchor = Anchor(self.path, mark)
            self._mark = self._anchor.mark
        return self._anchor

    def append(self, segment: int, data: bytes, last: int, link: bytes) -> None:
        """Add whole checked units up to event `last`, which the source has in its live segment `segment`.

        OSError passes through: the file is given up then, and the landing must be opened anew.
        """
        anchor = self._open_anchor(self.stream)
        first = self._mark.last + 1
        fresh = self._fd < 0 or segment != self._segment
        if fresh:
            self._leave_segment()
            flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND | os.O_CLOEXEC
            self._fd = os.open(self.path / name_of(first), flags, 0o644)
            self._segment, self._size, self._began = segment, 0, first
        crash_point("mirror.before_write")
        written = os.write(self._fd, data)
        if written != len(data):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))  # the next write would say so
        crash_point("mirror.before_sync")
        os.fdatasync(self._fd)
        if fresh:
            fsync_dir(self.path)
        crash_point("mirror.after_sync")
        self._size += written
        anchor.advance(segment=self._began, offset=self._size, last=last, link=link)
        self._mark = anchor.mark
        crash_point("mirror.after_anchor")
        self._wake()

    def part_of(self, file: SealedFile) -> Path:
        """Where a sealed file is gathered until it is whole: hidden, and named by what it is to be."""
        return self.path / f".{name_of(file.first)}.{file.tag[:32]}{PART}"

    def part_of_blob(self, digest: str) -> Path:
        """Where a blob is gathered until it is whole."""
        return self.path / f".blob.{digest.removeprefix('sha256:')}{PART}"

    def place(self, group: Sequence[Arrived]) -> None:
        """Put checked files in their places, highest first: see `sealed.groups` for why they belong together."""
        anchor = self._open_anchor(self.stream)
        for file, path in reversed(group):
            os.replace(path, self.path / name_of(file.first))
            fsync_dir(self.path)
            crash_point("mirror.after_rename")
        self._leave_segment()
        newest = group[-1].file
        if newest.last > self._mark.last:
            link = bytes.fromhex(newest.spans[-1].end_link)
            anchor.advance(segment=0, offset=0, last=newest.last, link=link)
            self._mark = anchor.mark
        crash_point("mirror.after_sealed_anchor")
        manifest.save(self.path, manifest.of_directory(self.path))
        crash_point("mirror.after_manifest")
        self._remove_covered()
        self._wake()

    def _wake(self) -> None:
        if self._wakes is not None:
            self._wakes.wake()

    def _remove_covered(self) -> None:
        visible = {segment.path for segment in visible_segments(self.path)}
        covered = [segment.path for segment in list_segments(self.path) if segment.path not in visible]
        for path in covered:
            path.unlink()
        if covered:
            fsync_dir(self.path)

    def take_manifest(self, content: bytes) -> None:
        """Write the source's manifest byte for byte if it names exactly what is here; else it stays our own."""
        ours = manifest.of_directory(self.path)
        with tempfile.TemporaryDirectory(prefix=_NEW, dir=self.path) as aside:
            theirs = Path(aside) / manifest.NAME
            theirs.write_bytes(content)
            with contextlib.suppress(DamageError):
                if content and manifest.load(theirs.parent) == ours:
                    with replacing(self.path / manifest.NAME) as file:
                        file.write(content)
                    return
        if manifest.load(self.path) != ours:
            manifest.save(self.path, ours)

    def settle(self, *, finished: bool) -> None:
        """Say what the source said of its state, durably: everything before this is on disk for good."""
        anchor = self._open_anchor(self.stream)
        self._leave_segment()
        anchor.advance(state=anchors.FINISHED if finished else anchors.CLOSED, segment=0, offset=0)
        self._mark = anchor.mark
        sync_file(self.path / anchors.NAME)
        self._wake()

    def complete(self) -> None:
        """It is whole and finished: from now on a run like any other of this store."""
        crash_point("mirror.before_complete")
        note.remove(self.path)

    def _leave_segment(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def forget_parts(self, head: Head) -> None:
        """Remove what was gathered of files that the source does not have any more, and what a kill left."""
        wanted = {self.part_of(file).name for file in head.sealed}
        for path in self.path.glob(f".*{PART}"):
            if path.name not in wanted and not path.name.startswith(".blob."):
                path.unlink()
        for path in self.path.glob(f"{_NEW}*"):
            shutil.rmtree(path, ignore_errors=True)

    def give_up(self) -> None:
        """After an error of the disk: what is open is closed as it is, for a sync that failed is not asked for again.

        The next landing has new files.
        """
        self._leave_segment()
        if self._anchor is not None:
            self._anchor.close()
            self._anchor = None

    def close(self) -> None:
        """Give the stream back; safe to call twice. An unfinished copy stays one."""
        self._leave_segment()
        if self._anchor is not None:
            with contextlib.suppress(OSError):
                if self._mark.state == anchors.OPEN:
                    self.settle(finished=False)
            self.give_up()
        if self._wakes is not None:
            self._wakes.close()
        self._lock.release()


def _make(store: Store, name: str, stream: bytes, of: Note) -> None:
    """The directory of a new copy, with note, anchor and manifest from its first instant."""
    make_dir(store.log)
    # Not mkdtemp, whose folder is its maker's only: who may read a run, the umask says.
    aside = store.log / f"{_NEW}{name}.{secrets.token_hex(8)}"
    aside.mkdir()
    try:
        note.save(aside, of)
        Anchor.first(aside, stream).close()
        manifest.begin(aside)
        crash_point("mirror.before_stream")
        with contextlib.suppress(OSError):
            # It fails where another process made the stream meanwhile: then that one is what we open.
            os.rename(aside, store.stream_path(name))
        fsync_dir(store.log)
    finally:
        shutil.rmtree(aside, ignore_errors=True)
    for left in store.log.glob(f"{_NEW}*"):
        with contextlib.suppress(FileNotFoundError):
            if clock.wall_ns() - left.stat().st_mtime_ns > _STALE_NS:
                shutil.rmtree(left, ignore_errors=True)


def _recover(path: Path) -> int:
    """Recover a stream, of a copy after cutting off what stands above its anchor; returns the last seq.

    A batch of a copy holds many commits of its source, whose headers each say that those before them were durable.
    So what a power cut leaves of a batch may look like damage: but nothing of it was ever said to be here.
    """
    mark = anchors.load(path)
    if mark is not None and note.is_copy(path):
        for segment in list_segments(path):
            if is_sealed(segment):
                continue
            if segment.first > mark.last:
                segment.path.unlink()
            elif segment.first == mark.segment and segment.size > mark.offset:
                written_anew(segment.path, mark.offset)
        fsync_dir(path)
    return recover(path).last


def adopt(store: Store, name: str) -> int:
    """Make an unfinished copy this store's own run; returns its last seq.

    Raises StreamNotFound, StreamBusy while something is being copied into it, DamageError, MirrorError when it
    is no copy.
    """
    path = store.existing_stream(name)
    lock = Lock(path / LOCK, copying=True)
    try:
        if not note.is_copy(path):
            raise MirrorError(f"{name} is this store's own already")
        last = _recover(path)
        for part in path.glob(f".*{PART}"):
            part.unlink()
        note.remove(path)
        return last
    finally:
        lock.release()
