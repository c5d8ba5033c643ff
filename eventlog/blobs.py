"""Content-addressed bytes: `blobs/sha256/ab/<62 hex digits>`.

A blob is written to a temp file, synced, renamed, and its directory synced, all before the event that
names it is handed over: a name in the log always has its bytes on disk.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
from pathlib import Path
from typing import BinaryIO, NamedTuple

from eventlog.disk import fsync_dir, make_dir, new_temp, remove_temps
from eventlog.errors import DamageError, LogError


class BlobRef(NamedTuple):
    """`digest` is `sha256:<64 hex>`; `size` in bytes."""

    digest: str
    size: int


class BlobNotFound(LogError):
    """A digest that this store has no bytes for."""


class BlobWriter:
    """Writes one blob piece by piece; memory does not grow with its size."""

    def __init__(self, store: BlobStore) -> None:
        self._store = store
        self._hash = hashlib.sha256()
        fd, self._temp = new_temp(store.temp_dir() / "blob", 0o666)
        self._file = os.fdopen(fd, "wb")
        self._mode = os.fstat(fd).st_mode
        self.size = 0

    def write(self, data: bytes) -> None:
        """Append bytes. OSError (disk full) passes through; `abort` then removes the temp file."""
        self._file.write(data)
        self._hash.update(data)
        self.size += len(data)

    def commit(self) -> BlobRef:
        """Make the blob durable and return its reference. The same content is stored once."""
        digest = self._hash.hexdigest()
        target = self._store.file_of(digest)
        if self._store.keeps(digest, self.size):
            self.abort()
            return BlobRef(f"sha256:{digest}", self.size)
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        make_dir(target.parent)
        os.chmod(self._temp, 0o444 & self._mode)
        os.replace(self._temp, target)
        fsync_dir(target.parent)
        return BlobRef(f"sha256:{digest}", self.size)

    def abort(self) -> None:
        """Forget what was written; safe to call twice."""
        with contextlib.suppress(OSError):
            self._file.close()  # on a full disk this tries to write what is still buffered
        self._temp.unlink(missing_ok=True)


class BlobStore:
    """All blobs of a store."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def temp_dir(self) -> Path:
        """Where blobs are written before they have a name."""
        make_dir(self.root)
        return self.root

    def file_of(self, hex_digest: str) -> Path:
        """The path of the blob with this hex digest, whether or not it exists."""
        return self.root / "sha256" / hex_digest[:2] / hex_digest[2:]

    def holds(self, hex_digest: str, size: int) -> bool:
        """Whether the blob is there with all its `size` bytes. One that a full disk or a copy cut short is not."""
        try:
            found = self.file_of(hex_digest).stat()
        except FileNotFoundError:
            return False
        return stat.S_ISREG(found.st_mode) and found.st_size == size

    def keeps(self, hex_digest: str, size: int) -> bool:
        """As `holds`, and after a power cut too: who put it there may have died before its name was durable."""
        held = self.holds(hex_digest, size)
        if held:
            fsync_dir(self.file_of(hex_digest).parent)
        return held

    def remove_temps(self, older_than_s: float) -> int:
        """Remove the temp files of writers that died, last written to that many seconds ago or longer; how many."""
        return remove_temps(self.root, older_than_s=older_than_s)

    def path(self, digest: str) -> Path:
        """The existing file of `sha256:<hex>`. Raises BlobNotFound."""
        algorithm, _, hex_digest = digest.partition(":")
        if algorithm != "sha256" or len(hex_digest) != 64 or not set(hex_digest) <= set("0123456789abcdef"):
            raise BlobNotFound(f"{digest!r} is not a blob reference (sha256:<64 hex digits>)")
        file = self.file_of(hex_digest)
        if not file.is_file():
            raise BlobNotFound(f"blob {digest} is not in this store ({file})")
        return file

    def writer(self) -> BlobWriter:
        """A writer for content that comes in pieces."""
        return BlobWriter(self)

    def put(self, data: bytes) -> BlobRef:
        """Store bytes durably and return their reference."""
        digest = hashlib.sha256(data).hexdigest()
        if self.keeps(digest, len(data)):
            return BlobRef(f"sha256:{digest}", len(data))
        writer = self.writer()
        try:
            writer.write(data)
            return writer.commit()
        except BaseException:
            writer.abort()
            raise

    def put_file(self, path: Path) -> BlobRef:
        """Store a file's bytes without holding them in memory."""
        writer = self.writer()
        try:
            with path.open("rb") as file:
                while piece := file.read(1 << 20):
                    writer.write(piece)
            return writer.commit()
        except BaseException:
            writer.abort()
            raise

    def open(self, digest: str) -> BinaryIO:
        """Open a blob for reading; the digest is not checked (see `get` and `check`)."""
        return self.path(digest).open("rb")

    def get(self, digest: str) -> bytes:
        """A blob's bytes, checked against its digest. Raises BlobNotFound or DamageError."""
        path = self.path(digest)
        try:
            data = path.read_bytes()
        except OSError as error:
            raise DamageError(path, 0, f"it cannot be read: {error.strerror or error}") from error
        if hashlib.sha256(data).hexdigest() != digest.partition(":")[2]:
            raise DamageError(path, 0, f"content does not match {digest}")
        return data

    def check(self, digest: str) -> int:
        """Verify a blob without holding it in memory; returns its size. Raises as `get` does."""
        path = self.path(digest)
        size, running = 0, hashlib.sha256()
        try:
            with path.open("rb") as file:
                while piece := file.read(1 << 20):
                    running.update(piece)
                    size += len(piece)
        except OSError as error:
            raise DamageError(path, 0, f"it cannot be read: {error.strerror or error}") from error
        if running.hexdigest() != digest.partition(":")[2]:
            raise DamageError(path, 0, f"content does not match {digest}")
        return size
