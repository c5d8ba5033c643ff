"""Bringing blobs: before the events that name them count as here, as on the machine where they were recorded.

A large blob is gathered in a file aside and goes on where it broke off; what is kept is what its digest says.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Callable, Iterable
from pathlib import Path

from eventlog.disk import fsync_dir, make_dir
from eventlog.errors import BadEvent
from eventlog.mirror.errors import BadPeer
from eventlog.mirror.landing import Landing
from eventlog.mirror.source import PieceOf, Source
from eventlog.payloads import Need, needs_of_payload

Tick = Callable[[], None]
#: Blobs that are asked for in one go; each may bring a piece's worth before the first is written.
_ROUND = 256


class Arrivals:
    """The blobs of one landing. `count` and `bytes` say what was brought so far."""

    def __init__(self, landing: Landing, tick: Tick) -> None:
        self._landing = landing
        self._tick = tick
        self.count = 0
        self.bytes = 0

    def bring(self, source: Source, wanted: Iterable[Need]) -> None:
        """Bring all of them, and what JSON payloads among them name in turn. Raises BadPeer, and as the source does."""
        seen: set[Need] = set()
        pending = set(wanted)
        while pending:
            seen |= pending
            self._missing(source, sorted({need.digest for need in pending if not self._holds(need.digest)}))
            named = [need.digest for need in pending if need.json]
            try:
                blobs = self._landing.store.blobs
                pending = {found for digest in named for found in needs_of_payload(blobs, digest)} - seen
            except BadEvent as error:
                raise BadPeer(str(error)) from None

    def _holds(self, digest: str) -> bool:
        file = self._landing.store.blobs.file_of(digest.removeprefix("sha256:"))
        # A file of this name is whole: nothing but a rename of a checked one puts it there.
        return file.is_file()

    def _missing(self, source: Source, digests: list[str]) -> None:
        for start in range(0, len(digests), _ROUND):
            asked = digests[start : start + _ROUND]
            parts = [self._landing.part_of_blob(digest) for digest in asked]
            offsets = [part.stat().st_size if part.exists() else 0 for part in parts]
            incomplete, folders = [], set()
            pieces = source.blob_pieces(list(zip(asked, offsets, strict=True)))
            for digest, part, piece in zip(asked, parts, pieces, strict=True):
                self._tick()
                if self._gather(part, piece):
                    folders.add(self._keep(digest, part))
                else:
                    incomplete.append(digest)
            for folder in folders:
                fsync_dir(folder)
            for digest in incomplete:
                self._rest(source, digest)

    def _rest(self, source: Source, digest: str) -> None:
        """Bring a blob that takes more than one piece."""
        part = self._landing.part_of_blob(digest)
        while True:
            self._tick()
            (piece,) = source.blob_pieces([(digest, part.stat().st_size)])
            if self._gather(part, piece):
                fsync_dir(self._keep(digest, part))
                return

    def _gather(self, part: Path, piece: PieceOf) -> bool:
        """Add a piece to the file aside; whether that makes it whole. Raises BadPeer."""
        with part.open("ab") as file:
            have = file.tell()
            if have + len(piece.data) > piece.size or (not piece.data and have < piece.size):
                part.unlink()
                raise BadPeer("a blob came in another size than was announced")
            file.write(piece.data)
        self.bytes += len(piece.data)
        return have + len(piece.data) == piece.size

    def _keep(self, digest: str, part: Path) -> Path:
        """Give a whole blob its name if it is what the name says; returns the folder to sync. Raises BadPeer."""
        running = hashlib.sha256()
        with part.open("rb") as file:
            while content := file.read(1 << 20):
                running.update(content)
            os.fsync(file.fileno())
        if f"sha256:{running.hexdigest()}" != digest:
            part.unlink()
            raise BadPeer(f"what came as blob {digest} is not it")
        target = self._landing.store.blobs.file_of(digest.removeprefix("sha256:"))
        make_dir(target.parent)
        part.chmod(0o444)
        os.replace(part, target)
        with contextlib.suppress(FileNotFoundError):
            part.unlink()
        self.count += 1
        return target.parent
