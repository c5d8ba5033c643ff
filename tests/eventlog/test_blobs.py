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


@pytest.mark.parametrize("left", [b"", b"con", b"content and more"])
def test_a_blob_that_was_cut_is_written_anew(store: Store, left: bytes) -> None:
    """If this failed, a blob that a full disk or a copy cut short could never be made good by storing it again."""
    ref = store.blobs.put(b"content")
    path = store.blobs.path(ref.digest)
    for again in (store.blobs.put, lambda data: store.blobs.put_file(written(store.path / "file", data))):
        path.chmod(0o644)
        path.write_bytes(left)
        assert not store.blobs.holds(ref.digest.partition(":")[2], ref.size)
        assert again(b"content") == ref
        assert store.blobs.get(ref.digest) == b"content"
    assert temps(store) == []


def written(path: Path, data: bytes) -> Path:
    """A file with this content."""
    path.write_bytes(data)
    return path


def test_temp_files_of_the_dead_go_and_those_of_the_living_stay(store: Store) -> None:
    """If this failed, every killed trial would leave its bytes for ever, or a living one would lose its blob."""
    dead = store.blobs.writer()
    dead.write(b"dead")
    os.utime(dead._temp, (0, 0))
    living = store.blobs.writer()
    living.write(b"living")
    assert store.blobs.remove_temps(older_than_s=3600) == 1
    assert temps(store) == [living._temp]
    assert store.blobs.get(living.commit().digest) == b"living"
    dead.abort()


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
