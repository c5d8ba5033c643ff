"""What a copy is made from. Near or far, folder or object store: whoever can answer this can be copied.

`StoreSource` answers from a store of this machine; it reads as any reader does, needs no lock, and gives
nothing that is not durable. `remote.RemoteSource` asks the other side of a connection.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, NamedTuple, Protocol

from eventlog import anchor as anchors
from eventlog import manifest
from eventlog.errors import StoreError, StreamNotFound
from eventlog.lock import NAME as LOCK
from eventlog.lock import is_held
from eventlog.mirror import note
from eventlog.mirror.errors import MirrorError
from eventlog.mirror.messages import DIGEST_BYTES, PIECE_BYTES, Digested, Head, Listed, SealedFile, Units
from eventlog.mirror.reach import durable_mark, link_at, mark_of, open_sealed, revision_of, sealed_files
from eventlog.mirror.tail import Tail
from eventlog.reader import read_content
from eventlog.segments import (
    settled,
)
from eventlog.store import CATALOG, Store

Tick = Callable[[], None]


class PieceOf(NamedTuple):
    """Bytes of something that has `size` of them in all."""

    size: int
    data: bytes


class Source(Protocol):
    """Where a copy comes from. Every method may raise LogError; `Changed` means: look at the head again."""

    @property
    def name(self) -> str:
        """How a person calls it: an address, a folder."""

    @property
    def store(self) -> str:
        """The id of the store that it offers."""

    def streams(self) -> list[Listed]:
        """The runs there are."""

    def head(self, stream: str) -> Head:
        """How far a stream goes and of which sealed files it consists."""

    def link(self, stream: str, seq: int) -> bytes | None:
        """The link of the unit or span that ends with event `seq`; None where none ends there."""

    def digest(self, stream: str, first: int, last: int) -> Digested:
        """SHA-256 over the lines from `first` on, to `last` or less; what was covered is in the answer."""

    def units(self, stream: str, after: int, link: bytes, *, wait: bool) -> tuple[Units, bytes]:
        """Whole live units that follow event `after`, of one segment; with `wait`, none only after a while."""

    def sealed_pieces(self, stream: str, file: SealedFile, offset: int, most: int) -> Iterator[bytes]:
        """Bytes of a sealed file from `offset` on, about `most` of them. Raises Changed when it is another by now."""

    def manifest(self, stream: str) -> bytes:
        """The manifest as it lies there; empty where there is none."""

    def blob_pieces(self, wanted: Sequence[tuple[str, int]]) -> Iterator[PieceOf]:
        """For each (digest, offset) in turn some bytes of that blob. Raises MirrorError for one it lacks."""


class StoreSource:
    """A store of this machine as a source. One user, one thread; `tick` is called now and then in long work."""

    def __init__(self, store: Store, tick: Tick = lambda: None) -> None:
        self._store = store
        self._tick = tick
        self._tail: Tail | None = None
        self._sealed: tuple[str, str, BinaryIO] | None = None

    @property
    def name(self) -> str:
        """The store's folder."""
        return str(self._store.path)

    @property
    def store(self) -> str:
        """The store's id."""
        return self._store.id

    def streams(self) -> list[Listed]:
        """See `Source`. Cheap, for it is asked for often; what cannot be read is left out here and told by `head`."""
        found = []
        for name in self._store.streams():
            path, mark = self._store.stream_path(name), None
            with contextlib.suppress(StoreError):
                mark = durable_mark(path) if name != CATALOG else None
            if mark is not None:
                finished, live = mark.state == anchors.FINISHED, is_held(path / LOCK)
                found.append(
                    Listed(
                        stream=name, last=mark.last, finished=finished, live=live, origin=note.origin(path)
                    )
                )
        return found

    def head(self, stream: str) -> Head:
        """See `Source`. Raises StreamNotFound, DamageError."""
        path = self._path(stream)
        revision = revision_of(path)
        live = is_held(path / LOCK)
        mark = mark_of(path)
        sealed = settled(path, lambda: sealed_files(path))
        return Head(
            id=mark.stream.hex(), last=mark.last, link=mark.link.hex(), finished=mark.state == anchors.FINISHED,
            live=live, revision=revision, sealed=[f for f in sealed if f.last <= mark.last],
            origin=note.origin(path),
        )  # fmt: skip

    def link(self, stream: str, seq: int) -> bytes | None:
        """See `Source`."""
        path = self._path(stream)
        return settled(path, lambda: link_at(path, seq))

    def digest(self, stream: str, first: int, last: int) -> Digested:
        """See `Source`."""
        self._path(stream)
        return digest_lines(self._store, stream, first, last, self._tick)

    def units(self, stream: str, after: int, link: bytes, *, wait: bool) -> tuple[Units, bytes]:
        """See `Source`."""
        path = self._path(stream)
        if self._tail is None or self._tail.stream != stream:
            self._close_tail()
            self._tail = Tail(self._store, stream)
        batch = self._tail.units(after, link, wait=wait)
        mark = mark_of(path)
        answer = Units(
            segment=batch.segment, sealed=batch.sealed, end=batch.end.hex(), bytes=len(batch.data), last=mark.last,
            finished=mark.state == anchors.FINISHED, live=is_held(path / LOCK), revision=revision_of(path),
        )  # fmt: skip
        return answer, batch.data

    def sealed_pieces(self, stream: str, file: SealedFile, offset: int, most: int) -> Iterator[bytes]:
        """See `Source`."""
        for at in range(offset, min(file.size, offset + most), PIECE_BYTES):
            yield self.sealed_piece(stream, file.first, file.tag, at).data

    def sealed_piece(self, stream: str, first: int, tag: str, offset: int) -> PieceOf:
        """One piece. The file stays open between pieces: one that is replaced meanwhile is read to its end."""
        if self._sealed is None or self._sealed[:2] != (stream, tag):
            self._close_sealed()
            self._sealed = (stream, tag, open_sealed(self._path(stream), first, tag))
        opened = self._sealed[2]
        opened.seek(offset)
        return PieceOf(os.fstat(opened.fileno()).st_size, opened.read(PIECE_BYTES))

    def manifest(self, stream: str) -> bytes:
        """See `Source`."""
        try:
            return (self._path(stream) / manifest.NAME).read_bytes()
        except FileNotFoundError:
            return b""

    def blob_pieces(self, wanted: Sequence[tuple[str, int]]) -> Iterator[PieceOf]:
        """See `Source`. Raises BlobNotFound."""
        for digest, offset in wanted:
            with self._store.blobs.open(digest) as file:
                size = os.fstat(file.fileno()).st_size
                file.seek(min(offset, size))
                yield PieceOf(size, file.read(PIECE_BYTES))

    def _path(self, stream: str) -> Path:
        if stream == CATALOG:
            raise StreamNotFound(f"the {CATALOG} belongs to its store and is not carried")
        return self._store.existing_stream(stream)

    def _close_tail(self) -> None:
        if self._tail is not None:
            self._tail.close()
            self._tail = None

    def _close_sealed(self) -> None:
        if self._sealed is not None:
            self._sealed[2].close()
            self._sealed = None

    def close(self) -> None:
        """Close what is open; safe to call twice."""
        self._close_tail()
        self._close_sealed()


def digest_lines(
    store: Store, stream: str, first: int, last: int, tick: Tick = lambda: None, most: int = DIGEST_BYTES
) -> Digested:
    """SHA-256 over the lines of events `first` to `last`, or to the frame in which `most` bytes are reached."""
    running, size, covered = hashlib.sha256(), 0, first - 1
    for content in read_content(store, stream, start=first, stop=last):
        tick()
        lines, end = content.lines, content.first + content.events - 1
        if end > last:
            lines = b"".join(part + b"\n" for part in lines.split(b"\n", last - content.first + 1)[:-1])
            end = last
        running.update(lines)
        size, covered = size + len(lines), end
        if size >= most or end >= last:
            break
    if covered < first:
        raise MirrorError(f"{stream} has no event {first}")
    return Digested(last=covered, sha256=running.hexdigest())
