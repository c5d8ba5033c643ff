"""Bringing blobs: before the events that name them count as here, as on the machine where they were recorded.

A large blob is gathered in a file aside and goes on where it broke off; what is kept is what its digest says. One that
is here already is weighed too, once in a landing, and brought again when it is not what its name says.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import BinaryIO

from eventlog.disk import fsync_dir, make_dir
from eventlog.errors import BadEvent
from eventlog.mirror import parts as aside
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
        #: What is here for good: its bytes were weighed and its name was synced by this landing.
        self._sure: set[str] = set()
        self.count = 0
        self.bytes = 0

    def bring(self, source: Source, wanted: Iterable[Need]) -> None:
        """Bring all of them, and what JSON payloads among them name in turn. Raises BadPeer, and as the source does."""
        seen: set[Need] = set()
        pending = set(wanted)
        while pending:
            seen |= pending
            self._missing(source, self._lacking({need.digest for need in pending}))
            named = [need.digest for need in pending if need.json]
            try:
                blobs = self._landing.store.blobs
                pending = {found for digest in named for found in needs_of_payload(blobs, digest)} - seen
            except BadEvent as error:
                raise BadPeer(str(error)) from None

    def _lacking(self, digests: set[str]) -> list[str]:
        """Those that have to come; of the others the names are durable afterwards."""
        lacking, folders = [], set()
        for digest in sorted(digests - self._sure):
            if self._is_sound(digest):
                folders.add(self._target(digest).parent)
            else:
                lacking.append(digest)
        for folder in folders:
            fsync_dir(folder)  # who put it there may have died before its name was durable
        self._sure |= digests - set(lacking)
        return lacking

    def _is_sound(self, digest: str) -> bool:
        try:
            with self._target(digest).open("rb") as file:
                return self._weighed(file) == digest
        except OSError:
            return False  # it is not there, or cannot be read: as good as not there

    def _weighed(self, file: BinaryIO) -> str:
        running = hashlib.sha256()
        while content := file.read(1 << 20):
            self._tick()
            running.update(content)
        return f"sha256:{running.hexdigest()}"

    def _target(self, digest: str) -> Path:
        return self._landing.store.blobs.file_of(digest.removeprefix("sha256:"))

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
            self._sure.update(asked)

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
        with aside.opened(part) as file:
            have = file.seek(0, os.SEEK_END)
            if have + len(piece.data) > piece.size or (not piece.data and have < piece.size):
                part.unlink()
                raise BadPeer("a blob came in another size than was announced")
            file.write(piece.data)
        self.bytes += len(piece.data)
        whole = have + len(piece.data) == piece.size
        if whole and not piece.data:
            aside.copied_anew(part)
        return whole

    def _keep(self, digest: str, part: Path) -> Path:
        """Give a whole blob its name if it is what the name says; returns the folder to sync. Raises BadPeer."""
        with aside.opened(part) as file:
            weighed = self._weighed(file)
            aside.sync(file, part)
        if weighed != digest:
            part.unlink()
            raise BadPeer(f"what came as blob {digest} is not it")
        target = self._target(digest)
        make_dir(target.parent)
        part.chmod(0o444)
        os.replace(part, target)
        with contextlib.suppress(FileNotFoundError):
            part.unlink()
        self.count += 1
        return target.parent
