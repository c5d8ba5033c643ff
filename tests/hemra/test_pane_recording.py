"""Terminals that a trial keeps itself: what of their files is recorded, and what of a hostile trial's is not."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Callable
from pathlib import Path

from eventlog.schemas.base import EventData
from eventlog.schemas.conversation import ArtifactStored, TerminalClosed, TerminalOpened, TerminalOutput
from hemra.recording import tmux
from hemra.recording.tmux import PaneRecorder
from hemra.secrets import Redactor
from tests.hemra.test_recording import Blob

SECRET = "s3cret-value-of-the-user"


class Recording:
    """A recorder of a folder, with what it emitted and the blobs that it began."""

    def __init__(self, folder: Path) -> None:
        self.events: list[EventData] = []
        self.blobs: list[Blob] = []
        cleaner = Redactor({"KEY": SECRET}).stream
        self.recorder = PaneRecorder(folder, cleaner, self.events.append, self._blob)

    def _blob(self) -> Blob:
        self.blobs.append(Blob())
        return self.blobs[-1]

    def of(self, kind: type[EventData]) -> list[EventData]:
        """The events of a kind."""
        return [event for event in self.events if isinstance(event, kind)]

    def opened(self) -> list[tuple[str, int | None, int | None]]:
        """Terminals in the order in which they were found."""
        return [(e.terminal, e.cols, e.rows) for e in self.events if isinstance(e, TerminalOpened)]

    async def until(self, wanted: Callable[[], bool], folder_work: Callable[[], None]) -> None:
        """Follow while `folder_work` is done, until what is wanted was recorded."""
        following = asyncio.ensure_future(self.recorder.follow())
        folder_work()
        async with asyncio.timeout(20):
            while not wanted():
                await asyncio.sleep(0.01)
        following.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await following


def test_a_pane_is_recorded_while_it_shows(tmp_path: Path) -> None:
    """Nobody could follow the trial's terminal, or its end would be missing."""
    folder, recording = tmp_path / "terminals", Recording(tmp_path / "terminals")

    def work() -> None:
        folder.mkdir()
        (folder / "0.120x40.tty").write_bytes(b"$ make\r\n")

    asyncio.run(recording.until(lambda: bool(recording.of(TerminalOutput)), work))
    assert recording.opened() == [("tmux:0", 120, 40)]
    with (folder / "0.120x40.tty").open("ab") as file:
        file.write(b"the end\r\n")
    recording.recorder.close()
    shown = [event for event in recording.events if isinstance(event, TerminalOutput)]
    assert b"".join(str(event.data).encode() for event in shown) == b"$ make\r\nthe end\r\n"
    assert [event.offset for event in shown] == [0, 8]
    (stored,) = (event for event in recording.events if isinstance(event, ArtifactStored))
    assert (stored.name, stored.size) == ("terminals/0", 17)
    assert bytes(recording.blobs[0].content) == b"$ make\r\nthe end\r\n"
    assert recording.blobs[0].state == "durable"
    assert isinstance(recording.events[-1], TerminalClosed)


def test_secrets_are_taken_out(tmp_path: Path) -> None:
    """A key that a command printed would be in the record, in halves where it came in halves."""
    file = tmp_path / "0.80x24.tty"
    file.write_bytes(b"key=" + SECRET[:9].encode())
    recording = Recording(tmp_path)
    following = recording.recorder
    following._look(1 << 20)
    with file.open("ab") as more:
        more.write(SECRET[9:].encode() + b"!\r\n")
    following.close()
    content = bytes(recording.blobs[0].content)
    assert SECRET.encode() not in content
    assert content.endswith(b"!\r\n")
    assert SECRET not in repr(recording.events)


def test_only_plain_files_of_such_names_are_read(tmp_path: Path) -> None:
    """A trial could have files of the user recorded, or hold the engine up with a pipe that nobody writes."""
    outside = tmp_path / "outside"
    outside.write_text("of the user")
    folder = tmp_path / "terminals"
    folder.mkdir()
    (folder / "link.80x24.tty").symlink_to(outside)
    os.mkfifo(folder / "pipe.80x24.tty")
    (folder / "folder.80x24.tty").mkdir()
    for name in ("0.tty", "0.0x24.tty", "..80x24.tty", "a b.80x24.tty", "0.80x24.tty.old", "0.80x99999.tty"):
        (folder / name).write_text("of no terminal")
    (folder / "good.80x24.tty").write_text("shown")
    recording = Recording(folder)
    recording.recorder.close()
    assert recording.opened() == [("tmux:good", 80, 24)]
    (tmp_path / "way").symlink_to(folder)
    aside = Recording(tmp_path / "way")
    aside.recorder.close()
    assert aside.events == []


def test_a_flood_is_bounded(tmp_path: Path) -> None:
    """A trial could fill the store's disk, or keep the engine from its other trials."""
    with (tmp_path / "0.80x24.tty").open("wb") as file:
        file.truncate(tmux.MOST_BYTES + 999)
    for number in range(tmux.MOST_PANES + 5):
        (tmp_path / f"more{number}.80x24.tty").write_bytes(b"x")
    recording = Recording(tmp_path)
    recording.recorder._look(1 << 16)
    assert len(recording.blobs[0].content) == 1 << 16
    recording.recorder.close()
    assert len(recording.opened()) == tmux.MOST_PANES
    assert len(recording.blobs[0].content) == tmux.MOST_BYTES


def test_a_trial_without_terminals_says_nothing(tmp_path: Path) -> None:
    """A harness that never started its session would break the end of the trial."""
    recording = Recording(tmp_path / "none")
    recording.recorder.close()
    recording.recorder.abort()
    assert recording.events == []


def test_what_is_given_up_is_forgotten(tmp_path: Path) -> None:
    """A blob that nobody names would stay in the store, and a descriptor open."""
    (tmp_path / "0.80x24.tty").write_bytes(b"a line\n" * 99)
    before = len(os.listdir("/proc/self/fd")) if Path("/proc/self/fd").exists() else 0
    recording = Recording(tmp_path)
    recording.recorder._look(1 << 16)
    recording.recorder.abort()
    assert recording.blobs[0].state == "forgotten"
    assert before == (len(os.listdir("/proc/self/fd")) if Path("/proc/self/fd").exists() else 0)
