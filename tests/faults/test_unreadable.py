"""A disk that gives an error for one file: the file is named as damaged, and everything else stays readable."""

from __future__ import annotations

import errno
import io
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from eventlog import anchor as anchors
from eventlog import segments
from eventlog.bundle import export
from eventlog.errors import DamageError
from eventlog.follow import follow
from eventlog.reader import read_lines, stream_state
from eventlog.repair import repair
from eventlog.schemas.conversation import MessageRecorded
from eventlog.seal import seal
from eventlog.segments import list_segments
from eventlog.store import Store
from eventlog.stream import StreamWriter
from eventlog.verify import verify
from eventlog.verify_report import ERROR

Breaking = Callable[[Path], None]
CAUSE = "it cannot be read: Input/output error"
EVENTS = 4


class Broken(io.FileIO):
    """A file of which nothing can be read."""

    def readinto(self, _buffer: object) -> int:
        """Refused by the disk."""
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    def read(self, _size: int | None = -1) -> bytes:
        """As above."""
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    def readall(self) -> bytes:
        """As above."""
        raise OSError(errno.EIO, os.strerror(errno.EIO))


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """A sealed segment and a live one, EVENTS events each; the writer died and its anchor is open."""
    made = Store.open(tmp_path / "s", create=True)
    with StreamWriter.open(made, "run", create=True) as writer:
        for number in range(EVENTS):
            writer.append(MessageRecorded(role="user", text=f"sealed {number}"))
    seal(made, "run")
    writer = StreamWriter.open(made, "run")
    for number in range(EVENTS):
        writer.append(MessageRecorded(role="user", text=f"live {number}"))
    opened = (made.stream_path("run") / anchors.NAME).read_bytes()
    writer.close()
    (made.stream_path("run") / anchors.NAME).write_bytes(opened)
    return made


@pytest.fixture
def breaking(monkeypatch: pytest.MonkeyPatch) -> Breaking:
    """Makes a path unreadable for everybody in this process; it can still be opened, looked up and replaced."""
    broken = set[int]()
    real_open, real_pread = Path.open, os.pread

    def opened(path: Path, mode: str = "r", buffering: int = -1, *more: object, **named: object) -> object:
        if mode == "rb" and path.exists() and path.stat().st_ino in broken:
            raw = Broken(path, "rb")
            return raw if buffering == 0 else io.BufferedReader(raw)
        return real_open(path, mode, buffering, *more, **named)  # type: ignore[arg-type]

    def read_bytes(path: Path) -> bytes:
        with opened(path, "rb", 0) as file:  # type: ignore[attr-defined]
            return file.read()  # type: ignore[no-any-return]

    def pread(fd: int, size: int, offset: int) -> bytes:
        if os.fstat(fd).st_ino in broken:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return real_pread(fd, size, offset)

    monkeypatch.setattr(Path, "open", opened)
    monkeypatch.setattr(Path, "read_bytes", read_bytes)
    monkeypatch.setattr(segments.os, "pread", pread)
    return lambda path: broken.add(path.stat().st_ino)


def errors(store: Store) -> list[tuple[str, str]]:
    """File and cause of each error that verify finds."""
    return [(p.path.name, p.cause) for p in verify(store).problems if p.severity == ERROR]


def test_an_anchor_that_cannot_be_read(store: Store, breaking: Breaking, tmp_path: Path) -> None:
    """If this failed, one bad sector under the anchor would cost a sound stream, and no message would say where."""
    whole, anchor = list(read_lines(store, "run")), store.stream_path("run") / anchors.NAME
    breaking(anchor)
    told: list[DamageError] = []
    assert list(read_lines(store, "run", on_damage=told.append)) == whole
    assert {(t.path, t.cause) for t in told} == {(anchor, CAUSE)}
    for use in (
        lambda: list(read_lines(store, "run")),
        lambda: list(follow(store, "run")),
        lambda: stream_state(store, "run"),
        lambda: seal(store, "run"),
        lambda: export(store, ["run"], io.BytesIO()),
    ):
        with pytest.raises(DamageError, match=CAUSE) as damage:
            use()
        assert damage.value.path == anchor
    assert errors(store) == [(anchors.NAME, CAUSE)]
    report = repair(store, "run", tmp_path / "copy")
    assert (report.kept, report.lost) == (len(whole), 0)
    assert list(read_lines(Store.open(tmp_path / "copy"), "run"))[: len(whole)] == whole


def test_a_live_segment_that_cannot_be_read(store: Store, breaking: Breaking) -> None:
    """If this failed, the sound segments before it would not be shown and nothing would name it."""
    whole = list(read_lines(store, "run"))
    live = list_segments(store.stream_path("run"))[-1].path
    breaking(live)
    told: list[DamageError] = []
    assert list(read_lines(store, "run", on_damage=told.append)) == whole[:EVENTS]
    assert {(t.path, t.cause) for t in told} == {(live, CAUSE)}
    for use in (lambda: list(read_lines(store, "run")), lambda: seal(store, "run")):
        with pytest.raises(DamageError, match=CAUSE) as damage:
            use()
        assert damage.value.path == live
    assert errors(store) == [(live.name, CAUSE)]


def test_a_sealed_segment_that_cannot_be_read(store: Store, breaking: Breaking, tmp_path: Path) -> None:
    """If this failed, verify would blame the folder, and a sound manifest with it."""
    whole = list(read_lines(store, "run"))
    sealed = list_segments(store.stream_path("run"))[0].path
    breaking(sealed)
    told: list[DamageError] = []
    assert list(read_lines(store, "run", on_damage=told.append)) == whole[EVENTS:]
    assert {(t.path, t.cause) for t in told} == {(sealed, CAUSE)}
    assert errors(store) == [(sealed.name, CAUSE)]
    for use in (
        lambda: seal(store, "run"),
        lambda: StreamWriter.open(store, "run"),
        lambda: export(store, ["run"], io.BytesIO()),
    ):
        with pytest.raises(DamageError, match=CAUSE) as damage:
            use()
        assert damage.value.path == sealed
    report = repair(store, "run", tmp_path / "copy")
    assert (report.kept, report.lost) == (EVENTS, EVENTS)


def test_what_is_not_the_disk_is_no_damage(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """If this failed, a process without file descriptors would call a sound stream damaged."""

    def refuse(_path: Path) -> bytes:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    monkeypatch.setattr(Path, "read_bytes", refuse)
    with pytest.raises(OSError, match="Too many open files"):
        list(read_lines(store, "run", on_damage=lambda _: None))
