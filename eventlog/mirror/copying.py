"""Bringing one stream from a source to a landing: what is sealed, then what is live, then what comes.

Nothing becomes visible before it was checked and before the blobs that it names are here. All that decides
what to do next is read from the disk and from the source's head, so that a copy goes on the same way after a
broken connection and after a kill.
"""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

import msgspec

from eventlog.mirror import agreement, sealed
from eventlog.mirror import parts as aside
from eventlog.mirror.blob_arrivals import Arrivals
from eventlog.mirror.checked import check_units
from eventlog.mirror.errors import BadPeer, Changed, MirrorError, Unwritable
from eventlog.mirror.landing import PULL_ELSEWHERE, Arrived, Landing
from eventlog.mirror.messages import Head, SealedFile, Units
from eventlog.mirror.note import Note
from eventlog.mirror.owners import own_up_to
from eventlog.mirror.provenance import record
from eventlog.mirror.reach import sealed_files
from eventlog.mirror.source import Source
from eventlog.segments import Span, settled
from eventlog.store import Store

Tick = Callable[[], None]
#: How often in a row the source's files may be replaced while they are read.
_LOOKS = 20
#: Bytes of a sealed file that are brought before a follower looks for live units again.
_SLICE_BYTES = 2 * 1024 * 1024


class Copied(msgspec.Struct, frozen=True, kw_only=True):
    """What was brought, up to event `last`.

    `what`: `whole` (finished, sealed, identical), `finished` (not sealed at the source), `copied` (it is not finished
    there), `same` (nothing was lacking), `longer` (this side has more), `own` (it is recorded here, the other
    side has a copy).
    """

    stream: str
    events: int
    last: int
    blobs: int
    bytes: int
    what: str


class Copying:
    """One stream on its way. `round` is called with a new source after every broken connection."""

    def __init__(
        self, store: Store, stream: str, *, stop: threading.Event | None = None, lock_wait_s: float = 0.5,
        elsewhere: str = PULL_ELSEWHERE,
    ) -> None:  # fmt: skip
        """`elsewhere`: what a person does who wants to keep both of two runs that do not fit."""
        self._store = store
        self.stream = stream
        self._stop = stop or threading.Event()
        self._lock_wait_s = lock_wait_s
        self._elsewhere = elsewhere
        self._landing: Landing | None = None
        self._arrivals: Arrivals | None = None
        self._began_at: int | None = None
        self._bytes = 0
        self._following = False
        self._tick: Tick = lambda: None

    @property
    def last(self) -> int:
        """Seq of the last event that is here; 0 before the first round."""
        return self._landing.last if self._landing is not None else 0

    @property
    def progress(self) -> int:
        """Grows with everything that arrives."""
        return self._bytes + (self._arrivals.bytes if self._arrivals else 0)

    def round(self, source: Source, *, follow: bool, tick: Tick = lambda: None) -> Copied:
        """Bring what there is (with `follow`, until the run is finished). `tick` is called now and then.

        Raises Unreachable when the connection breaks: call again with a new source. Every other error is final:
        Parted, Refused, StreamBusy, DamageError, BadPeer, Unwritable.
        """
        self._tick, self._following = tick, False
        try:
            return self._round(source, follow)
        except OSError as error:
            raise self._failed(error) from error

    def _round(self, source: Source, follow: bool) -> Copied:
        head = source.head(self.stream)
        of = Note(of=source.name, store=head.origin or source.store)
        if self._landing is None:
            own = own_up_to(self._store, self.stream, source, head)
            if own is not None:
                return Copied(stream=self.stream, events=0, last=own, blobs=0, bytes=0, what="own")
            self._landing = Landing.open(
                self._store, self.stream, head, of, self._lock_wait_s, elsewhere=self._elsewhere
            )
            self._began_at = self._landing.last
            self._arrivals = Arrivals(self._landing, self._still_at_work)
        landing = self._landing
        agreement.check(source, head, landing, self._still_at_work)
        if head.last < landing.last and not follow:
            return self._copied("longer")
        if head.last < landing.last:
            raise MirrorError(
                f"{self.stream}: {self._store.path} has {landing.last} events of it, {source.name} only {head.last}: "
                "there is nothing to follow"
            )
        if not landing.is_copy and not self._brings(head):
            # Also with `follow`: a run of this store's own is not given away for what may never come.
            return self._copied("same")
        landing.begin(head, of)
        head = self._catch_up(source, head)
        if (follow or head.finished) and not self._is_done(head):
            head = self._follow(source, head, until_finished=follow)
        return self._end(source, head)

    def _failed(self, error: OSError) -> Unwritable:
        """What a person can do about an error of the disk here."""
        if self._landing is not None:
            self._landing.give_up()
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        remedy = (
            "make room there, then the same command goes on" if full else "the same command goes on there"
        )
        return Unwritable(
            f"{self.stream} cannot be written to {self._store.path} behind event {self.last}: "
            f"{error.strerror or error}; {remedy}"
        )

    def _still_at_work(self) -> None:
        self._tick()  # that of the connection which is open now

    def close(self) -> None:
        """Give the stream back; safe to call twice."""
        if self._landing is not None:
            self._landing.close()

    def _brings(self, head: Head) -> bool:
        """Whether the source has anything that a run of this store's own lacks."""
        assert self._landing is not None
        return head.last > self._landing.last or (head.finished and not self._landing.finished)

    def _catch_up(self, source: Source, head: Head) -> Head:
        """All that the source had when it was asked; returns a head that is no older."""
        assert self._landing is not None
        target = head.last
        for _ in range(_LOOKS):
            try:
                self._bring_sealed(source, head, only_new=True)
                if self._bring_live(source, target):
                    self._bring_sealed(source, head, only_new=False)
                    return head
            except Changed:
                pass  # what is gathered of a file that is no more goes with `forget_parts`
            head = source.head(self.stream)
            self._landing.forget_parts(head)
        raise MirrorError(f"{self.stream}: its files at {source.name} change faster than they can be read")

    def _bring_live(self, source: Source, target: int) -> bool:
        """Live units up to event `target`; False where they have been sealed meanwhile."""
        assert self._landing is not None
        while (before := self._landing.last) < target:
            if self._take_units(source, wait=False).sealed:
                return False
            if self._landing.last == before:
                raise BadPeer(f"{source.name} has event {target} and does not give event {before + 1}")
        return True

    def _take_units(self, source: Source, *, wait: bool) -> Units:
        """One batch: its blobs first, then the units themselves."""
        assert self._landing is not None
        assert self._arrivals is not None
        landing = self._landing
        units, data = source.units(self.stream, landing.last, landing.link, wait=wait)
        if data:
            end = bytes.fromhex(units.end)
            checked = check_units(data, stream=landing.stream, after=landing.last, link=landing.link, end=end)
            self._bytes += len(data)
            self._arrivals.bring(source, checked.needs)
            landing.append(units.segment, data, checked.last, checked.link)
        return units

    def _follow(self, source: Source, head: Head, *, until_finished: bool) -> Head:
        """What comes, until the run is finished and sealed, or `stop` is set.

        Sealed files are taken when nothing else comes. Without `until_finished` only the sealing is waited for.
        """
        assert self._landing is not None
        self._following = True
        while not self._stop.is_set():
            units = self._take_units(source, wait=True)
            if not units.finished and not until_finished:
                break
            idle = self._landing.last >= units.last
            if units.sealed or (idle and (units.revision != head.revision or units.finished)):
                head = self._catch_up(source, source.head(self.stream))
                if self._is_done(head):
                    break
        return head

    def _is_done(self, head: Head) -> bool:
        """Whether nothing more will come: finished, and sealed as far as anybody is at it."""
        return head.finished and self.last == head.last and (head.whole or not head.live)

    def _bring_sealed(self, source: Source, head: Head, *, only_new: bool) -> None:
        """The source's sealed files that are not here (`only_new`: only those that bring events)."""
        assert self._landing is not None
        assert self._arrivals is not None
        landing = self._landing
        here = {(f.first, f.tag) for f in settled(landing.path, lambda: sealed_files(landing.path))}
        lacking = [f for f in head.sealed if (f.first, f.tag) not in here]
        wanted = list(sealed.groups(lacking, landing.path, landing.last))
        if only_new:
            wanted = [group for group in wanted if group[-1].last > landing.last]
        before = {f.first: (head.sealed[i - 1].spans[-1] if i else None) for i, f in enumerate(head.sealed)}
        for group in wanted:
            landing.place([self._arrive(source, file, before[file.first]) for file in group])

    def _arrive(self, source: Source, file: SealedFile, before: Span | None) -> Arrived:
        """Gather a sealed file aside, from where it broke off, check it, and bring its blobs."""
        assert self._landing is not None
        assert self._arrivals is not None
        path = self._landing.part_of(file)
        self._gather(source, file, path)
        needs = sealed.check(self._landing, file, path, before, self._still_at_work)
        self._arrivals.bring(source, needs)
        return Arrived(file, path)

    def _gather(self, source: Source, file: SealedFile, path: Path) -> None:
        with aside.opened(path) as out:
            have = out.seek(0, os.SEEK_END)
            if have > file.size:
                have = out.truncate(0)
            if have < file.size:
                have = self._pieces(source, file, out, have)
                if have != file.size:
                    path.unlink()
                    raise BadPeer(
                        f"events {file.first} to {file.last} came in another size than was announced"
                    )
                aside.sync(out, path)
                return
        aside.copied_anew(path)
        with aside.opened(path) as out:
            aside.sync(out, path)

    def _pieces(self, source: Source, file: SealedFile, out: BinaryIO, have: int) -> int:
        """Bring what is lacking of a file of which `have` bytes are here; how many are here then."""
        while have < file.size:
            began = have
            for data in source.sealed_pieces(self.stream, file, have, _SLICE_BYTES):
                have += len(data)
                if not data or have > file.size:
                    break
                out.write(data)
                out.flush()
                self._bytes += len(data)
                self._tick()
            if not began < have <= file.size:
                break
            if self._following:
                # What is recorded meanwhile does not wait for the whole file.
                self._take_units(source, wait=False)
        return have

    def _end(self, source: Source, head: Head) -> Copied:
        """Say how it stands; a copy that is whole and finished becomes a run like any other."""
        assert self._landing is not None
        landing = self._landing
        finished = head.finished and landing.last == head.last
        landing.take_manifest(source.manifest(self.stream) if head.sealed else b"")
        landing.settle(finished=finished)
        here = settled(landing.path, lambda: sealed_files(landing.path))
        identical = [(f.first, f.tag) for f in here] == [(f.first, f.tag) for f in head.sealed]
        if not (finished and head.whole and identical):
            return self._copied("finished" if finished else "copied")
        whole = self._copied("whole")
        record(landing, source.name, whole.blobs)
        landing.complete()
        return whole

    def _copied(self, what: str) -> Copied:
        assert self._landing is not None
        assert self._arrivals is not None
        return Copied(
            stream=self.stream, events=self._landing.last - (self._began_at or 0), last=self._landing.last,
            blobs=self._arrivals.count, bytes=self.progress, what=what,
        )  # fmt: skip
