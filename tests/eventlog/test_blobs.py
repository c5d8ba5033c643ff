"""Blobs: named by content, whole or absent."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from eventlog.blobs import BlobNotFound
from eventlog.errors import DamageError
from eventlog.store import Store


def temps(store: Store) -> list[Path]:
    """Temp files that were left behind."""
    return list(store.blobs.root.rglob("*.tmp"))


def test_same_content_is_stored_once(store: Store) -> None:
    """If this failed, equal payloads would take room again and again, or get two names."""
    first, second = store.blobs.put(b"x" * 1000), store.blobs.put(b"x" * 1000)
    assert first == second
    writer = store.blobs.writer()
    for _ in range(10):
        writer.write(b"x" * 100)
    assert writer.commit() == first
    assert store.blobs.get(first.digest) == b"x" * 1000
    assert store.blobs.check(first.digest) == 1000
    assert temps(store) == []


def test_altered_bytes_are_found(store: Store) -> None:
    """If this failed, a rotten blob would be handed out as what its name says."""
    ref = store.blobs.put(b"content")
    path = store.blobs.path(ref.digest)
    path.chmod(0o644)
    path.write_bytes(b"Content")
    for read in (store.blobs.get, store.blobs.check):
        with pytest.raises(DamageError, match="does not match"):
            read(ref.digest)


@pytest.mark.parametrize(
    "name", ["sha256:" + "0" * 64, "sha256:../../x", "md5:" + "0" * 64, "", "sha256:" + "g" * 64]
)
def test_names_that_are_no_blob_of_ours(store: Store, name: str) -> None:
    """If this failed, a name in a log could read a file outside the store."""
    with pytest.raises(BlobNotFound):
        store.blobs.get(name)


def test_a_full_disk_leaves_no_temp_file(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """If this failed, every refused payload would leave its bytes behind on a disk that is full already."""
    if not os.path.exists("/dev/full"):
        pytest.skip("needs /dev/full")
    writer = store.blobs.writer()
    writer.write(b"small")
    writer._file.close()
    writer._file = Path("/dev/full").open("wb")  # noqa: SIM115 - the writer closes it
    writer._file.write(b"buffered")
    with pytest.raises(OSError, match="space"):
        writer.commit()
    writer.abort()
    assert temps(store) == []
