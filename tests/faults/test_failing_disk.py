"""A disk that cannot read some sectors: named as damage, passed over when asked, and the rest repaired."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from eventlog import failing_disk
from eventlog.errors import DamageError
from eventlog.failing_disk import BLOCK, FailingDisk
from eventlog.reader import read_lines
from eventlog.repair import repair
from eventlog.schemas.conversation import MessageRecorded
from eventlog.segments import list_segments
from eventlog.store import Store
from eventlog.stream import StreamWriter
from eventlog.verify import verify


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """Two live segments of large frames, which compress to more than a block each."""
    made = Store.open(tmp_path / "s", create=True)
    for create in (True, False):
        with StreamWriter.open(made, "run", create=create) as writer:
            for _ in range(4):
                writer.append(MessageRecorded(role="user", text=os.urandom(10_000).hex()))
    return made


@pytest.fixture
def bad(store: Store, monkeypatch: pytest.MonkeyPatch) -> set[int]:
    """Offsets of blocks of the first segment that `os.pread` of a FailingDisk cannot read; empty at first."""
    path, blocks = list_segments(store.stream_path("run"))[0].path, set[int]()
    inode = path.stat().st_ino

    def pread(fd: int, size: int, offset: int) -> bytes:
        hit = any(offset < block + BLOCK and block < offset + size for block in blocks)
        if os.fstat(fd).st_ino == inode and hit:
            raise OSError(errno.EIO, "Input/output error")
        return real(fd, size, offset)

    real = os.pread
    monkeypatch.setattr(failing_disk.os, "pread", pread)
    return blocks


def test_only_what_cannot_be_read_is_zeros(store: Store, bad: set[int]) -> None:
    """If this failed, one bad sector would cost more than itself, or be taken for content."""
    path = list_segments(store.stream_path("run"))[0].path
    raw = path.read_bytes()
    bad.update({BLOCK, 3 * BLOCK})
    for piece in (1, 100, 5000, 1 << 20):
        with FailingDisk(path) as disk:
            got = b""
            while part := disk.read(piece):
                got += part
            assert disk.unreadable == bad
        want = bytearray(raw)
        for block in bad:
            want[block : block + BLOCK] = bytes(len(raw[block : block + BLOCK]))
        assert got == bytes(want)


def test_another_error_is_no_bad_sector(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """If this failed, a bug or a lost network disk would read as zeros."""

    def pread(*_: object) -> bytes:
        raise OSError(errno.ESTALE, "Stale file handle")

    monkeypatch.setattr(failing_disk.os, "pread", pread)
    with (
        FailingDisk(list_segments(store.stream_path("run"))[0].path) as disk,
        pytest.raises(OSError, match="Stale"),
    ):
        disk.read(1)


def test_a_repair_saves_what_the_disk_still_reads(store: Store, bad: set[int], tmp_path: Path) -> None:
    """If this failed, a repair would stop at the first bad sector, when it is needed most."""
    whole = list(read_lines(store, "run"))
    path = list_segments(store.stream_path("run"))[0].path
    raw = bytearray(path.read_bytes())
    bad.add(BLOCK)
    raw[BLOCK : 2 * BLOCK] = bytes(BLOCK)  # whoever reads in another way sees as little
    path.write_bytes(raw)
    report = repair(store, "run", tmp_path / "copy")
    assert report.lost == 1
    assert "the disk cannot read it" in report.ranges[0].cause
    assert report.ranges[0].file == path.name
    copy = Store.open(tmp_path / "copy")
    assert verify(copy).ok
    lost = report.ranges[0].first
    assert list(read_lines(copy, "run"))[: len(whole)] != whole
    assert all(
        a == b for n, (a, b) in enumerate(zip(whole, read_lines(copy, "run"), strict=False), 1) if n != lost
    )


def test_reading_names_what_cannot_be_read(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """If this failed, `Input/output error` would name no file, and nothing behind it could be read."""
    whole = list(read_lines(store, "run"))
    first = list_segments(store.stream_path("run"))[0].path
    from eventlog import segment_reading

    real = segment_reading.read_unit

    def read_unit(file: object, offset: int) -> object:
        if getattr(file, "name", None) == str(first) and offset:
            raise OSError(errno.EIO, "Input/output error")
        return real(file, offset)  # type: ignore[arg-type]

    monkeypatch.setattr(segment_reading, "read_unit", read_unit)
    with pytest.raises(
        DamageError, match=r"damaged at byte \d+: it cannot be read: Input/output error"
    ) as told:
        list(read_lines(store, "run"))
    assert told.value.path == first
    assert list(read_lines(store, "run", on_damage=lambda _: None)) == [whole[0], *whole[4:]]
    assert any(p.path == first and "cannot be read" in p.cause for p in verify(store).problems)
